"""The vectors whose nearest point gives the margin: rows times labels, in each of the three forms.

Offsets are further coordinates: ``unit`` times the signs, where the form counts them (augmented) or where they are made
so cheap that they count for nothing (affine, more than two classes).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linsep.data.arrays import to_floats, to_scipy
from linsep.learn.evaluation import scores
from linsep.problem import Array, Floats, Rows, take
from linsep.prove.claims import Data
from linsep.prove.core.scaled_view import block_signs, differences


class Heights(NamedTuple):
    """How far every row is on its right side: for more than two classes over its nearest rival."""

    values: Floats  # (n,)
    rivals: Array  # (n,) the class that gives the value

    def pairs(self, which: Array, classes: int) -> Array:
        """Return the pairs that give the values of some rows."""
        return which * classes + self.rivals[which]


class Hull(NamedTuple):
    """Rows and labels, and the form of margin that is asked for."""

    data: Data
    form: str
    unit: float = 0.0  # of the offset coordinates; 0 where there are none

    @property
    def rows(self) -> Rows:
        """The rows."""
        return self.data.rows

    @property
    def blocks(self) -> int:
        """Number of weight vectors: two classes share one."""
        return 1 if self.data.classes == 2 else self.data.classes

    @property
    def size(self) -> int:
        """Number of coordinates of a vector."""
        return self.blocks * (self.data.n_features + (self.unit > 0))

    def marks(self, pairs: Array) -> Array:
        """Return the signs (pairs, blocks) with which a row goes into each weight vector."""
        return block_signs(pairs, self.data.y, self.data.classes, self.blocks)

    def vectors(self, pairs: Array) -> Floats:
        """Return pairs as dense vectors, shape (pairs, size)."""
        marks = self.marks(pairs)
        x = to_floats(self.rows, pairs // self.data.classes, self.data.n_features)
        Z = differences(x, marks)
        return np.hstack((Z, self.unit * marks)) if self.unit else Z

    def sparse_vectors(self, pairs: Array) -> Any:
        """Return pairs as rows of a sparse matrix, shape (pairs, size)."""
        import scipy.sparse as sp

        x = to_scipy(take(self.rows, pairs // self.data.classes), self.data.n_features)
        marks = self.marks(pairs).astype(np.float64)
        blocks = [sp.diags_array(marks[:, c]) @ x for c in range(self.blocks)]
        if self.unit:
            blocks.append(sp.csr_array(self.unit * marks))
        Z = sp.hstack(blocks, format="csr")
        Z.eliminate_zeros()
        return Z

    def weights(self, v: Floats, b: float = 0.0) -> tuple[Floats, Floats]:
        """Split a vector into weights (blocks, d) and offsets (blocks,)."""
        d = self.data.n_features
        W = v[: self.blocks * d].reshape(self.blocks, d)
        offsets = self.unit * v[self.blocks * d :] if self.unit else np.full(self.blocks, b)
        return np.ascontiguousarray(W), offsets

    def heights(self, W: Floats, b: Floats) -> Heights:
        """Return ``y (w·x + b)`` of every row, or its lead over the nearest rival; one pass over the rows."""
        S, y = scores(self.rows, W, b), self.data.y
        if self.blocks == 1:
            values = S[:, 0]
            np.negative(values, out=values, where=y == 0)
            return Heights(values, y == 0)
        every = np.arange(len(S))
        own = S[every, y].copy()
        S[every, y] = -np.inf
        rival = S.argmax(axis=1)
        return Heights(own - S[every, rival], rival)
