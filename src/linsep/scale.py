"""Rows brought to a common scale for training, and weights brought back to the units of the data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from linsep.encode import to_rows
from linsep.problem import Examples, Floats
from linsep.train import view


@dataclass(frozen=True)
class Scaler:
    """The map ``x -> (x - shift) * factor``, column by column.

    Sparse columns are not shifted, as that would fill them: there ``shift`` is 0.
    """

    kind: str  # "unit" or "standard"
    shift: Floats  # (d,)
    factor: Floats  # (d,)

    @classmethod
    def fit(cls, source: Iterable[Any], kind: str) -> Self:
        r"""Read all rows of a source, twice for ``standard``, to find the map.

        Parameters
        ----------
        source : re-iterable of blocks
        kind : {"unit", "standard"}
            "unit" divides by the largest norm of a row; "standard" takes out mean and deviation of every column.

        Examples
        --------
        >>> import io
        >>> from linsep.read import read
        >>> from linsep.scale import Scaler
        >>> scaler = Scaler.fit(read(io.BytesIO(b"3,4,yes\n0,1,no\n"), format="csv"), "unit")
        >>> scaler.factor.tolist()
        [0.2, 0.2]
        """
        if kind == "unit":
            radius, d = 0.0, 0
            for X, *_ in source:
                d = max(d, X.shape[1])
                radius = max(radius, largest_norm(X))
            return cls(kind, np.zeros(d), np.full(d, 1 / radius if radius else 1.0))
        total, rows, sparse = np.zeros(0), 0, False
        for X, *_ in source:
            sparse = sparse or sp.issparse(X)
            total = _sum(total, np.asarray(X.sum(axis=0, dtype=np.float64)).ravel())
            rows += X.shape[0]
        mean = total / max(1, rows)
        spread = np.zeros(len(mean))
        for X, *_ in source:
            if sp.issparse(X):
                columns = X.tocsc()
                there = np.diff(columns.indptr)
                apart = columns.data - np.repeat(mean[: len(there)], there)
                each = np.add.reduceat(np.append(apart * apart, 0.0), columns.indptr[:-1]) * (there > 0)
                spread[: len(there)] += each
                spread += X.shape[0] * mean**2
                spread[: len(there)] -= there * mean[: len(there)] ** 2
            else:
                spread += np.square(X - mean).sum(axis=0)
        deviation = np.sqrt(np.maximum(0.0, spread) / max(1, rows))
        factor = 1 / np.where(deviation > 0, deviation, 1.0)
        return cls(kind, np.zeros(len(mean)) if sparse else mean, factor)

    def apply(self, X: Any) -> Any:
        """Return rows as they are trained on.

        Examples
        --------
        >>> import numpy as np
        >>> from linsep.scale import Scaler
        >>> Scaler("standard", np.array([1.0]), np.array([2.0])).apply(np.array([[3.0]])).tolist()
        [[4.0]]
        """
        if sp.issparse(X):
            return sp.csr_array((X.data * self.factor[X.indices], X.indices, X.indptr), shape=X.shape)
        return np.ascontiguousarray((X - self.shift) * self.factor)

    def undo(self, W: Any, b: Floats) -> tuple[Any, Floats]:
        """Return weights and offsets that give the rows as they were the same scores.

        Examples
        --------
        >>> import numpy as np
        >>> from linsep.scale import Scaler
        >>> W, b = Scaler("standard", np.array([1.0]), np.array([2.0])).undo(np.array([[5.0]]), np.array([0.5]))
        >>> W.tolist(), b.tolist()  # 5 · 2(x - 1) + 0.5
        ([[10.0]], [-9.5])
        """
        d = W.shape[1]
        W = W @ sp.diags_array(self.factor[:d]) if sp.issparse(W) else W * self.factor[:d]
        return W, b - W @ self.shift[:d]


def largest_norm(X: Any) -> float:
    """Return the largest norm of a row."""
    n, d = X.shape
    return view(Examples(to_rows(X), np.ones(n, np.int8), np.ones(n)), np.zeros((1, d)), np.zeros(1)).radius


def _sum(total: Floats, more: Floats) -> Floats:
    """Add two rows of sums, of which the second may be wider."""
    wide = np.zeros(max(len(total), len(more)))
    wide[: len(total)] += total
    wide[: len(more)] += more
    return wide
