"""The shared vocabulary: rows, examples, problems, planes, and how a run ended.

Rows are NamedTuples of arrays so that compiled code can take them as they are and pick the storage by type.
Everything here is plain data; nothing computes more than a property.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Array = NDArray[Any]
Values = Literal["binary", "decimal"]  # whether 0.1 is the nearest double, or the decimal that it shows
MarginForm = Literal["affine", "origin", "augmented"]


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
    positions = np.arange(indptr[-1]) + np.repeat(starts[numbers] - indptr[:-1], lengths)
    taken = Sparse(rows.data[positions], rows.indices[positions], indptr.astype(rows.indptr.dtype))
    for array in taken:
        array.flags.writeable = False  # one compiled version serves all callers
    return taken


class Examples(NamedTuple):
    """Rows with what is to be learned of them.

    ``y`` holds the signs -1 and +1 (int8) for two classes and class numbers (intp) for more; ``step`` is the learning
    rate times the weight of each example. An example of weight 0 is never visited.
    """

    rows: Rows
    y: Array  # (n,)
    step: Floats  # (n,)


class Batch(NamedTuple):
    """Some consecutive rows of a problem: an array is one batch, a file is many, a shard is some."""

    first_row: int  # its number in the whole problem
    examples: Examples  # scaled, if rows are; of step 0 where a row is held out
    n_features: int  # that the rows may have; sparse rows may grow wider from batch to batch
    rows: Rows  # as the user has them


def machines_for(classes: int) -> int:
    """Return how many weight vectors some classes take: one for two of them, else one for each."""
    return 1 if classes <= 2 else classes


class Problem(NamedTuple):
    """What is to be learned from: classes, and batches that can be asked for again and again.

    To iterate over the batches changes nothing: it may stop anywhere, and be done twice.
    """

    classes: Array  # (C,) labels; of two, the second is the positive one
    batches: Iterable[Batch]
    factors: Floats  # (C,) weight of each class, which the steps have in them
    scaling: Any = None  # how rows were scaled; its ``undo`` brings weights into the units of the user
    held_out: Callable[[int, int], Array] | None = None  # says of rows from one number to another which are held out
    allowed: float = float("inf")  # mistakes that a plane of the target margin allows, for each separate machine
    in_memory: bool = True

    @property
    def machines(self) -> int:
        """How many weight vectors there are."""
        return machines_for(len(self.classes))


def all_finite(array: Array) -> bool:
    """Say whether an array has neither NaN nor infinity."""
    finite = np.isfinite(array)
    return finite.size == 0 or bool(finite.item(finite.argmin()))  # sooner than ``all``, which takes a call in Python


class Stop(StrEnum):
    """Why a run ended; every run reports exactly one reason."""

    SEPARATED = "separated"  # a full pass without a mistake, and the plane separates strictly
    NO_MISTAKES = "no_mistakes"  # a full pass without a mistake, but some row lies on the plane
    MAX_ITER = "max_iter"  # the pass budget is spent
    MAX_UPDATES = "max_updates"  # the update budget is spent
    LOSS_PLATEAU = "loss_plateau"  # the loss at the end of a pass has not gone down by more than tol for some passes
    VALIDATION = "validation"  # the error on held-out rows has not improved for some passes
    NOT_SEPARABLE = "not_separable"  # it is proved that no plane separates the rows
    MARGIN_REFUTED = "margin_refuted"  # no plane has the asked margin, by the mistakes made, or any but a tiny one
    VISITED = "visited"  # all rows of a given order have been visited


class Pass(NamedTuple):
    """What one pass over the data recorded."""

    mistakes: int
    loss: float  # each example's loss at the moment it was visited, summed; with tol that of the weights at the end
    validation_error: float  # NaN when nothing is held out
    seconds: float
    proof_work: float = 0.0  # of a search for a proof after it, in operations, which are counted
    separable: bool = False  # whether that search proved that some plane separates the rows
    margin_bound: float = math.nan  # or that no plane has a margin above this, which is tiny

    @staticmethod
    def from_table(table: Array) -> list[Pass]:
        """Return the passes of a saved table."""
        if table.dtype != np.float64 or table.ndim != 2 or table.shape[1] != len(Pass._fields):
            raise ValueError("the passes of its run")
        return [
            Pass(int(made), a, b, c, work, bool(known), bound) for made, a, b, c, work, known, bound in table.tolist()
        ]


class Run(NamedTuple):
    """A training run: why it ended, its passes, and its mistakes in order, which determine every weight vector."""

    stop: Stop
    passes: tuple[Pass, ...]
    trace: Array  # (k,) row * (number of weight vectors) + the weight vector concerned; empty if not kept

    @property
    def mistakes(self) -> int:
        """How many mistakes were made, which is how many updates."""
        return sum(entry.mistakes for entry in self.passes)
