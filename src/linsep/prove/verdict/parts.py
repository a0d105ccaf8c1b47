"""Rows that are not all in memory, in parts: what a search may ask of them, and the answers put together.

A part is the one batch of an array, a block of a file, a stretch of a mapped table, or a shard on some worker. A
function answers for one part; `Parts` asks all of them. No answer depends on where one part ends and the next begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from linsep.data.cache import mapped_array
from linsep.problem import Array, Dense, Floats, Rows, Sparse, take
from linsep.prove.check.exact_signs import sides, signs
from linsep.prove.claims import Data, Separator
from linsep.prove.core.scaled_view import ScaledView
from linsep.prove.numbers.cells import ExactRows

Ask = Callable[[Callable[..., Any], Any], Iterable[Any]]  # a function of a part and what it is told: answers in order


class Part(NamedTuple):
    """RowsResult consecutive rows."""

    first_row: int  # its number among all
    rows: Rows  # as the user has them, or the doubles nearest to them
    y: Array  # (n,) class numbers
    n_features: int
    used: Array | None = None  # places of the rows that are trained on, None for all
    exact: ExactRows | None = None  # the numbers themselves, where doubles are only near them


class RunMistakes(NamedTuple):
    """Mistakes of a run, each pair of a row and the weight vector concerned once; empty if they are not known."""

    rows: Array  # sorted
    machines: Array
    counts: Array


NO_MISTAKES = RunMistakes(*(np.empty(0, np.int64) for _ in range(3)))


class Size(NamedTuple):
    """How much there is, and of which class."""

    rows: int
    cells: int  # stored values
    itemsize: int
    sparse: bool
    n_features: int
    members: Array  # (classes,) rows that are trained on
    first: Array  # (classes,) number of the first of these
    between: Array  # (classes, weight vectors) mistakes

    def plus(self, other: Size) -> Size:
        """Return the size of both together."""
        return Size(
            self.rows + other.rows,
            self.cells + other.cells,
            max(self.itemsize, other.itemsize),
            self.sparse or other.sparse,
            max(self.n_features, other.n_features),
            self.members + other.members,
            np.minimum(self.first, other.first),
            self.between + other.between,
        )


class RowsTask(NamedTuple):
    """Rows to return: all of the classes asked about, or some."""

    codes: Array  # (classes,) class numbers in the question, -1 for a class that is no part of it
    numbers: Array | None = None  # those of these numbers, which are sorted


class RowsResult(NamedTuple):
    """Rows that were returned."""

    numbers: Array
    rows: Rows
    y: Array  # as the question numbers the classes


class PlaneTask(NamedTuple):
    """A plane to be checked, and how to choose among the rows that it is wrong on."""

    plane: Separator
    strictly: bool
    codes: Array
    view: ScaledView  # how to see rows, without any of them
    w: Floats  # the plane as the view shows it
    below: float  # rows of such scores are returned, too
    most: int


class SpanTask(NamedTuple):
    """What some rows span."""

    columns: Array  # (d,) whether they have values there
    normals: list[Array]  # (d + 1,) each orthogonal to all of them
    most: int  # rows to be returned that are outside


# ---------------------------------------------------------------------------------------------------------------
# Answers for a part


def measure(part: Part, setting: tuple[int, int, RunMistakes]) -> Size:
    """Return the size of a part, and which classes its mistakes are between."""
    classes, machines, made = setting
    y = part.y if part.used is None else part.y[part.used]
    between = np.zeros((classes, machines), dtype=np.int64)
    start, stop = np.searchsorted(made.rows, (part.first_row, part.first_row + len(part.y)))
    labels = part.y[made.rows[start:stop] - part.first_row]
    np.add.at(between, (labels, made.machines[start:stop]), made.counts[start:stop])
    values, members = part.rows.data, np.bincount(y, minlength=classes)
    first = np.full(classes, np.iinfo(np.int64).max)
    for c in np.flatnonzero(members).tolist():
        place = int(np.argmax(y == c))
        first[c] = part.first_row + (place if part.used is None else part.used[place])
    sparse = isinstance(part.rows, Sparse)
    return Size(len(part.y), values.size, values.dtype.itemsize, sparse, part.n_features, members, first, between)


def collect(part: Part, task: RowsTask) -> RowsResult:
    """Return the rows of a task."""
    n, start = len(part.y), part.first_row
    which = np.arange(n) if part.used is None else part.used
    if task.numbers is not None:
        low, high = np.searchsorted(task.numbers, (start, start + n))
        named = task.numbers[low:high] - start
        which = named if part.used is None else np.intersect1d(named, which, assume_unique=True)
    if task.codes.min() < 0:
        which = which[task.codes[part.y[which]] >= 0]
    if len(which) == n:
        return RowsResult(start + which, part.rows, task.codes[part.y])
    return RowsResult(start + which, take(part.rows, which), task.codes[part.y[which]])


def worst(part: Part, task: PlaneTask) -> tuple[int, Array, Array, Floats]:
    """Count the rows that a plane is wrong on, exactly; name the worst of them, then some next to the plane."""
    some = collect(part, RowsTask(task.codes))
    if len(some.y) == 0:
        return 0, some.numbers, np.empty(0, bool), np.empty(0)
    view = copy(task.view)
    view.data = view.data._replace(rows=some.rows, y=some.y)
    exact = part.exact.signs if part.exact is not None else partial(signs, some.rows)
    side = sides(task.plane, some.y, view.data.classes, exact)
    side[np.arange(len(side)), some.y] = 1
    wrong = side.min(axis=1) < (1 if task.strictly else 0)
    scores, _ = view.sweep(task.w)
    which = np.flatnonzero(wrong | (scores <= task.below))
    which = which[np.lexsort((scores[which], ~wrong[which]))[: task.most]]
    return int(wrong.sum()), some.numbers[which], wrong[which], scores[which]


def outside(part: Part, span: SpanTask) -> Array:
    """Return the numbers of rows that some others do not span: one for every new column, and others."""
    rows, everyone = part.rows, np.arange(len(part.y))
    off = np.zeros(len(everyone), dtype=bool)
    if span.columns.all():
        pass
    elif isinstance(rows, Sparse):
        ends = rows.indptr.astype(np.int64)
        cells = slice(int(ends[0]), int(ends[-1]))
        new = np.flatnonzero(~span.columns[rows.indices[cells]] & (rows.data[cells] != 0))
        first = new[np.unique(rows.indices[cells][new], return_index=True)[1]]
        off[np.searchsorted(ends, first + ends[0], side="right") - 1] = True
    else:
        cells = rows.data[:, ~span.columns] != 0
        off[cells.argmax(axis=0)[cells.any(axis=0)]] = True
    for normal in span.normals:
        off |= (signs(rows, everyone, normal) if part.exact is None else part.exact.signs(everyone, normal)) != 0
    return part.first_row + np.flatnonzero(off)[: span.most]


# ---------------------------------------------------------------------------------------------------------------
# Answers put together


class Parts:
    """All rows, wherever they are.

    Parameters
    ----------
    ask : callable
        Has a function answer for every part of the rows, in their order.
    classes : int
    offset : bool
    machines : int
        Weight vectors of the run that the mistakes are from.
    made : RunMistakes
    """

    def __init__(
        self, ask: Ask, classes: int, offset: bool, machines: int = 1, made: RunMistakes = NO_MISTAKES
    ) -> None:
        self.ask, self.classes, self.offset = ask, classes, offset
        self.size: Size = reduce(Size.plus, ask(measure, (classes, machines, made)))
        self.work = 0.0  # operations of asking all parts, where they are counted

    def sample(self, most: int) -> Array:
        """Return the numbers of about ``most`` rows, and of one of every class."""
        n, first = self.size.rows, self.size.first
        some = np.random.default_rng(0).choice(n, most, replace=False, shuffle=False) if most < n else np.arange(n)
        return np.union1d(some, first[self.size.members > 0])

    def rows(self, task: RowsTask) -> tuple[Array, Data]:
        """Return the numbers of the rows of a task, and the rows as data."""
        parts: list[RowsResult] = [some for some in self.ask(collect, task) if len(some.numbers)]
        classes, d = int(task.codes.max()) + 1, self.size.n_features
        if not parts:
            return np.empty(0, np.intp), Data(Dense(np.empty((0, d))), np.empty(0, np.intp), d, classes, self.offset)
        y = np.concatenate([some.y for some in parts]).astype(np.intp)
        data = Data(joined([some.rows for some in parts]), y, d, classes, self.offset)
        return np.concatenate([some.numbers for some in parts]), data

    def worst(self, task: PlaneTask) -> tuple[int, Array]:
        """Return how many rows a plane is wrong on, exactly, and the worst of them, with others next to the plane."""
        counts, numbers, wrong, scores = zip(*self.ask(worst, task), strict=True)
        order = np.lexsort((np.concatenate(scores), ~np.concatenate(wrong)))[: task.most]
        return sum(counts), np.concatenate(numbers)[order]

    def outside(self, span: SpanTask) -> Array:
        """Return the numbers of some rows that others do not span."""
        return np.concatenate(list(self.ask(outside, span)))[: span.most]


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
    values = _one_array([part.data[place] for part, place in zip(sparse, places, strict=True)])
    indices = _one_array([part.indices[place] for part, place in zip(sparse, places, strict=True)])
    values.flags.writeable = False
    return Sparse(values, indices, ends.astype(sparse[0].indptr.dtype))


def _one_array(parts: list[Array]) -> Array:
    whole = mapped_array((sum(map(len, parts)),), np.result_type(*parts))
    return np.concatenate(parts, out=whole)
