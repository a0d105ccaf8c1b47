"""The vocabulary: rows, examples, planes, and how a training run ended.

Rows are NamedTuples of arrays so that compiled code can take them as they are and pick the storage by type.
Everything here is plain data; nothing computes more than a property.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Array = NDArray[Any]


class Dense(NamedTuple):
    """Rows of a matrix: ``data[i, j]`` is feature ``j`` of row ``i``, any real dtype; compiled code wants C order."""

    data: Array  # (n, d)


class Sparse(NamedTuple):
    """Rows in CSR: row ``i`` has ``data[p]`` at column ``indices[p]`` for ``indptr[i] <= p < indptr[i + 1]``.

    Indices and pointers are unsigned: compiled code then need not ask whether one is negative.
    """

    data: Array  # (nnz,)
    indices: Array  # (nnz,)
    indptr: Array  # (n + 1,)


Rows = Dense | Sparse


def count(rows: Rows) -> int:
    """Return how many rows there are."""
    return len(rows.data) if isinstance(rows, Dense) else len(rows.indptr) - 1


def take(rows: Rows, which: slice | Array) -> Rows:
    """Copy some rows, in the order asked; dense ones come out in C order whatever the order they were in."""
    if isinstance(rows, Dense):
        part = np.ascontiguousarray(rows.data[which])
        part.flags.writeable = False
        return Dense(part)
    numbers = np.arange(count(rows))[which]
    starts = rows.indptr.astype(np.int64)  # unsigned 64-bit numbers do not mix with signed ones
    lengths = np.diff(starts)[numbers]
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    # position of each stored value: its place in its row, counted from where the row starts
    places = np.arange(indptr[-1]) + np.repeat(starts[numbers] - indptr[:-1], lengths)
    data = rows.data[places]
    data.flags.writeable = False
    return Sparse(data, rows.indices[places], indptr.astype(rows.indptr.dtype))


def mantissas(values: Array) -> tuple[Array, Array]:
    """Return integers (int64) and exponents of floats: ``values = integers * 2**exponents`` without rounding."""
    fractions, exponents = np.frexp(values.astype(np.float64))
    return np.ldexp(fractions, 53).astype(np.int64), exponents.astype(np.int64) - 53


class Examples(NamedTuple):
    """Rows with what is to be learnt of them: one block of a problem.

    ``y`` holds the signs -1 and +1 (int8) for two classes and class numbers (intp) for more; ``step`` is the learning
    rate times the weight of each example. An example of weight 0 is never looked at.
    """

    rows: Rows
    y: Array  # (n,)
    step: Floats  # (n,)


class Plane(NamedTuple):
    """The plane ``w·x + b = 0``; ``w`` points to its positive side.

    Examples
    --------
    >>> from linsep import teacher
    >>> X, y, plane = teacher(100, 2, margin=0.1, random_state=0)
    >>> bool((y * (X @ plane.w + plane.b) >= 0.1).all())  # w has length 1
    True
    """

    w: Floats  # (d,)
    b: float


class Stop(StrEnum):
    """Why a run ended; every run reports exactly one reason."""

    SEPARATED = "separated"  # a full pass without a mistake
    MAX_ITER = "max_iter"  # the pass budget is spent
    MAX_UPDATES = "max_updates"  # the update budget is spent
    LOSS_PLATEAU = "loss_plateau"  # the loss has not gone down by more than tol for some passes
    VALIDATION = "validation"  # the error on held-out rows has not improved for some passes
    MARGIN_REFUTED = "margin_refuted"  # more mistakes than any plane of the asked margin allows


class Pass(NamedTuple):
    """What one pass over the data recorded."""

    mistakes: int
    loss: float  # each example's loss at the moment it was looked at, summed
    validation_error: float  # NaN when nothing is held out
    seconds: float


@dataclass(frozen=True)
class Run:
    """A training run: why it ended, its passes, and its mistakes in order, which determine every weight vector."""

    stop: Stop
    passes: tuple[Pass, ...]
    trace: Array  # (k,) row * (number of weight vectors) + the weight vector concerned; empty if not kept

    @property
    def mistakes(self) -> int:
        """How many mistakes were made, which is how many updates."""
        return sum(entry.mistakes for entry in self.passes)
