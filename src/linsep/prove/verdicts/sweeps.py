"""Searches for a refutation in sweeps over rows that need not be in memory.

A part is the one batch of an array, a block of a file, or a shard on some worker; the functions here answer for one
part, and who asks puts the answers together. No answer depends on where one part ends and the next begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from linsep.learn.surveys import scores, squared_norms
from linsep.problem import Array, Dense, Floats, Rows, Sparse, take
from linsep.prove.check.fast_check import separates
from linsep.prove.claims import Data, Separator
from linsep.prove.core.presolve import fingerprints

Ask = Callable[[Callable[..., Any], Any], Iterable[Any]]  # a function of a part and what it is told: answers in order


class Part(NamedTuple):
    """Some consecutive rows."""

    first_row: int  # its number among all
    rows: Rows  # as the user has them
    y: Array  # (n,) class numbers
    n_features: int
    used: Array | None = None  # places of the rows that are trained on, None for all


class Made(NamedTuple):
    """Mistakes of a run, each pair of a row and the weight vector concerned once; empty if they are not known."""

    rows: Array  # sorted
    machines: Array
    counts: Array


class Size(NamedTuple):
    """How much there is, and of which class."""

    rows: int
    cells: int  # stored values
    itemsize: int
    sparse: bool
    n_features: int
    members: Array  # (classes,) rows that are trained on
    between: Array  # (classes, weight vectors) mistakes

    def plus(self, other: Size) -> Size:
        """Return the size of both together."""
        wide, wider = max(self.itemsize, other.itemsize), max(self.n_features, other.n_features)
        members, between = self.members + other.members, self.between + other.between
        return Size(
            self.rows + other.rows, self.cells + other.cells, wide, self.sparse or other.sparse, wider, members, between
        )


class Wish(NamedTuple):
    """Rows to return: all of the classes asked about, or some."""

    codes: Array  # (classes,) class numbers in the question, -1 for a class that is no part of it
    numbers: Array | None = None  # of these numbers,
    every: int = 0  # and with every so-manyth number


class Some(NamedTuple):
    """Rows that were returned."""

    numbers: Array
    rows: Rows
    y: Array  # as the question numbers the classes


class Doubt(NamedTuple):
    """A plane to be checked."""

    plane: Separator
    codes: Array
    offset: bool
    most: int = 0  # rows to be named that are on the wrong side


# ---------------------------------------------------------------------------------------------------------------
# Answers for a part


def measure(part: Part, told: tuple[int, int, Made]) -> Size:
    """Return the size of a part, and which classes its mistakes are between."""
    classes, machines, made = told
    y = part.y if part.used is None else part.y[part.used]
    between = np.zeros((classes, machines), dtype=np.int64)
    start, stop = np.searchsorted(made.rows, (part.first_row, part.first_row + len(part.y)))
    own = part.y[made.rows[start:stop] - part.first_row]
    np.add.at(between, (own, made.machines[start:stop]), made.counts[start:stop])
    values = part.rows.data
    members = np.bincount(y, minlength=classes)
    sparse = isinstance(part.rows, Sparse)
    return Size(len(part.y), values.size, values.dtype.itemsize, sparse, part.n_features, members, between)


def keys(part: Part, told: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Return hashes of rows, their numbers and classes: those hashes that leave a remainder when divided."""
    remainder, divisor = told
    found = fingerprints(part.rows, part.n_features)
    which = np.arange(len(part.y)) if part.used is None else part.used
    if divisor > 1:
        which = which[found[which] % np.uint64(divisor) == remainder]
    return found[which], part.first_row + which, part.y[which]


def collect(part: Part, wish: Wish) -> Some:
    """Return the rows of a wish."""
    y = wish.codes[part.y]
    wanted = y >= 0
    if part.used is not None:
        trained = np.zeros(len(y), dtype=bool)
        trained[part.used] = True
        wanted &= trained
    numbers = np.arange(part.first_row, part.first_row + len(y))
    if wish.numbers is not None:
        named = np.isin(numbers, wish.numbers, assume_unique=True)
        wanted &= named | (numbers % wish.every == 0) if wish.every else named
    if wanted.all():
        return Some(numbers, part.rows, y)
    which = np.flatnonzero(wanted)
    return Some(numbers[which], take(part.rows, which), y[which])


def low(part: Part, doubt: Doubt) -> tuple[int, Array, Floats]:
    """Count the rows that floats see on the wrong side of a plane; name those that are farthest on it."""
    some = collect(part, Wish(doubt.codes))
    W, b = (np.ascontiguousarray(values, dtype=np.float64) for values in doubt.plane.per_class())
    S = scores(some.rows, np.ascontiguousarray(W[:, : part.n_features]), b)
    own = S[np.arange(len(S)), some.y].copy()
    S[np.arange(len(S)), some.y] = -np.inf
    lead = (own - S.max(axis=1, initial=-np.inf)) / np.sqrt(squared_norms(some.rows) + 1.0)
    wrong = np.flatnonzero(~(lead > 0))
    worst = wrong[np.argsort(lead[wrong], kind="stable")[: doubt.most]]
    return len(wrong), some.numbers[worst], lead[worst]


def right(part: Part, doubt: Doubt) -> bool:
    """Say whether a plane has all rows strictly on their side, exactly."""
    some = collect(part, Wish(doubt.codes))
    width = doubt.plane.w.shape[-1]
    data = Data(some.rows, some.y, width, 2 if doubt.plane.w.ndim == 1 else len(doubt.plane.w), doubt.offset)
    return len(some.y) == 0 or separates(doubt.plane, data, strictly=True)


# ---------------------------------------------------------------------------------------------------------------
# Answers put together


def gathered(ask: Ask, wish: Wish, n_features: int, offset: bool) -> tuple[Array, Data]:
    """Return the numbers of the rows of a wish, and the rows as data."""
    parts: list[Some] = [some for some in ask(collect, wish) if len(some.numbers)]
    classes = int(wish.codes.max()) + 1
    if not parts:
        return np.empty(0, np.intp), Data(Dense(np.empty((0, n_features))), np.empty(0, np.intp), 0, classes, offset)
    rows = joined([some.rows for some in parts])
    y = np.concatenate([some.y for some in parts]).astype(np.intp)
    return np.concatenate([some.numbers for some in parts]), Data(rows, y, n_features, classes, offset)


def joined(parts: list[Rows]) -> Rows:
    """Put rows one below the other."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], Dense):
        data = np.concatenate([part.data for part in parts])
        data.flags.writeable = False  # one compiled version serves all callers
        return Dense(data)
    sparse = [part for part in parts if isinstance(part, Sparse)]
    lengths = np.concatenate([np.diff(part.indptr.astype(np.int64)) for part in sparse])
    ends = np.concatenate(([0], np.cumsum(lengths)))
    places = [slice(int(part.indptr[0]), int(part.indptr[-1])) for part in sparse]
    values = np.concatenate([part.data[place] for part, place in zip(sparse, places, strict=True)])
    indices = np.concatenate([part.indices[place] for part, place in zip(sparse, places, strict=True)])
    values.flags.writeable = False
    return Sparse(values, indices, ends.astype(sparse[0].indptr.dtype))


def equal_rows(ask: Ask, rows: int, most: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return the numbers and classes of two rows of different classes that have one hash, if there are such.

    Not more than about ``most`` hashes are held at a time.
    """
    divisor = -(-rows // most)
    for remainder in range(divisor):
        answers = list(ask(keys, (remainder, divisor)))
        hashes, numbers, y = (np.concatenate(column) for column in zip(*answers, strict=True))
        order = np.argsort(hashes, kind="stable")  # equal ones in the order of their numbers
        hashes, numbers, y = hashes[order], numbers[order], y[order]
        apart = np.flatnonzero((hashes[1:] == hashes[:-1]) & (y[1:] != y[:-1]))
        if len(apart):
            i = apart[np.argmin(numbers[apart])]
            return (int(numbers[i]), int(numbers[i + 1])), (int(y[i]), int(y[i + 1]))
    return None


def lowest(ask: Ask, doubt: Doubt) -> tuple[int, Array]:
    """Return how many rows are on the wrong side of a plane, as far as floats tell, and the worst of them."""
    answers = list(ask(low, doubt))
    numbers = np.concatenate([answer[1] for answer in answers])
    leads = np.concatenate([answer[2] for answer in answers])
    return sum(answer[0] for answer in answers), numbers[np.argsort(leads, kind="stable")[: doubt.most]]
