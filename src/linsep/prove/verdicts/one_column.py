"""Finds thresholds on a single column that separate the classes.

One sweep finds, for every column, the least and the largest value in each class. If the classes fall into two groups
with all values of the one not above those of the other, then the threshold between them, with weight 1 for the upper
group, meets every inequality at least weakly: a pixel that is never on in one class is such a column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.compiling import compiled
from linsep.data.scratch import some_rows
from linsep.problem import Array, Dense, Floats, Sparse, take
from linsep.prove.claims import Data, Separator
from linsep.prove.verdicts.reducing import FEW, SAMPLE
from linsep.prove.verdicts.scaled import in_chunks, sums

TABLE_CELLS = 1 << 24  # classes times columns, at most


@np.errstate(over="ignore", invalid="ignore")
def plane_of_one_column(data: Data) -> tuple[Separator | None, bool]:
    """Return a plane of one column that all rows are on the right side of or on, and whether none is on it.

    Among several columns one that keeps all rows off the plane, if there is one, else one that keeps the most.
    """
    if data.classes * data.n_features > TABLE_CELLS or not len(data.y):
        return None, False
    columns = np.arange(data.n_features)
    n, step = len(data.y), -(-len(data.y) // SAMPLE)
    if step > 1:  # of most columns a few rows show that they are not of this kind
        some = np.arange(0, n, step)
        few = some[:: -(-len(some) // FEW)]
        part = data._replace(rows=take(data.rows, few), y=data.y[few])
        if data.classes == 2 and _all_overlap(_ranges(part, columns)):
            return None, False
        part = data._replace(rows=take(data.rows, some), y=data.y[some])
        if part.y.min() < part.y.max():  # labels may come in a pattern that shows one class only
            columns = _fit(_ranges(part, columns), part)[0]
    if len(columns) == 0:
        return None, False
    table = _ranges(data, columns)
    found, upper, thresholds, strict = _fit(table, data)
    if len(found) == 0:
        return None, False
    best = int(np.lexsort((-(table[1] - table[0])[:, found].max(axis=0), ~strict))[0])
    w = np.zeros((data.classes, data.n_features))
    w[upper[:, best], columns[found[best]]] = 1.0
    b = np.where(upper[:, best], -thresholds[best] if data.offset else 0.0, 0.0)
    if data.classes == 2:
        return Separator(w[1] - w[0], float(b[1] - b[0])), bool(strict[best])
    return Separator(w, b), False  # classes in one group are not told from each other


def _all_overlap(table: tuple[Floats, Floats]) -> bool:
    """Return whether the values of two classes overlap in every column."""
    low, high = table
    return bool(((high[0] > low[1]) & (high[1] > low[0])).all())


class Peeled(NamedTuple):
    """Planes of one column or several, each weakly right for the rows that those before it hold."""

    planes: list[Separator]
    gone: list[Array]  # the rows that each of them has strictly on their side
    left: Array  # the rows that all of them hold: no other can be part of a contradiction


PEELINGS = 30


@np.errstate(over="ignore", invalid="ignore")
def peeled(data: Data, clock: Clock) -> Peeled:
    """Take away, again and again, the rows that a plane of one column has strictly on their side; for two classes."""
    planes: list[Separator] = []
    gone: list[Array] = []
    left, rest = np.arange(len(data.y)), data
    for _ in range(PEELINGS):
        clock.check((2e-9 if isinstance(rest.rows, Dense) else 1e-8) * rest.rows.data.size)
        if len(np.unique(rest.y)) < 2:
            break
        columns, upper, thresholds, _ = _fit(_ranges(rest, np.arange(data.n_features)), rest)
        if len(columns) == 0:
            break
        # sums of several thresholds would round; most are zero
        chosen = np.flatnonzero(thresholds == 0) if (thresholds == 0).any() else np.zeros(1, np.intp)
        w = np.zeros(data.n_features)
        w[columns[chosen]] = np.where(upper[1, chosen], 1.0, -1.0)
        plane = Separator(w, -float(thresholds[chosen[0]] * w[columns[chosen[0]]]))
        on = sums(rest, w) + plane.b == 0
        if on.all():
            break
        planes.append(plane)
        gone.append(left[~on])
        left = left[on]
        rest = data._replace(rows=some_rows(data.rows, left), y=data.y[left])
    return Peeled(planes, gone, left)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def with_peelings(data: Data, found: Peeled, plane: Separator) -> Separator:
    """Return a plane that separates all rows, given one that does so with those that were left."""
    w, b = plane.w.astype(np.float64), float(plane.b)
    for peeling, gone in zip(reversed(found.planes), reversed(found.gone), strict=True):
        part = data._replace(rows=some_rows(data.rows, gone), y=data.y[gone])
        sign = 2.0 * part.y - 1
        ahead, behind = sign * (sums(part, peeling.w) + peeling.b), sign * (sums(part, w) + b)
        times = 2.0 ** np.ceil(np.log2(max(1.0, 2 * float((-behind / ahead).max()))))
        w, b = w + times * peeling.w, b + times * peeling.b
    return Separator(w, b)


@np.errstate(over="ignore", invalid="ignore")
def _fit(table: tuple[Floats, Floats], data: Data) -> tuple[Array, Array, Floats, Array]:
    """Return columns with a threshold, which classes are above it (classes, columns), it, and whether none is on it."""
    low, high = table
    present = np.bincount(data.y, minlength=data.classes) > 0
    low, high = low[present], high[present]  # (classes there are, columns)
    order = np.argsort(high, axis=0, kind="stable")
    order = np.take_along_axis(order, np.argsort(np.take_along_axis(low, order, 0), axis=0, kind="stable"), 0)
    low, high = np.take_along_axis(low, order, 0), np.take_along_axis(high, order, 0)
    reach = np.maximum.accumulate(high, axis=0)[:-1]  # of the lowest so many classes
    following = low[1:]
    fits = reach <= following
    if not data.offset:
        fits &= (reach <= 0) & (following >= 0)
    fits &= low[0] < high.max(axis=0)  # else the column is constant
    gap = np.where(fits, following - reach, -1.0)
    split = gap.argmax(axis=0)
    columns = np.flatnonzero(fits.any(axis=0) & np.isfinite(low).all(axis=0) & np.isfinite(high).all(axis=0))
    rank = np.argsort(order, axis=0)[:, columns]
    upper = np.zeros((data.classes, len(columns)), dtype=bool)
    upper[present] = rank > split[columns]
    below, above = reach[split[columns], columns], following[split[columns], columns]
    strict = (below < above) if data.offset else (below < 0) & (above > 0)
    middle = below / 2 + above / 2  # may round to either: the check decides
    return columns, upper, np.where(strict, middle, below), strict & (present.sum() == 2)


def _ranges(data: Data, columns: Array) -> tuple[Floats, Floats]:
    """Return the least and largest value of some columns in each class, (classes, columns) both; NaN spoils its own."""
    tables: list[tuple[Floats, Floats]] = []
    shape = (data.classes, len(columns))

    def work(part: Any, start: int, stop: int) -> None:
        low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
        if isinstance(part, Dense):
            _dense_ranges(part.data, data.y[start:stop], columns, low, high)
        else:
            counts, rows = np.zeros(shape, dtype=np.int64), np.bincount(data.y[start:stop], minlength=data.classes)
            _sparse_ranges(part, data.y[start:stop], position, low, high, counts, rows)
        tables.append((low, high))

    if isinstance(data.rows, Sparse):
        position = np.full(data.n_features, -1)
        position[columns] = np.arange(len(columns))
        work(data.rows, 0, len(data.y))
    else:
        in_chunks(data.rows, len(data.y), data.n_features, work)
    return np.min([low for low, _ in tables], axis=0), np.max([high for _, high in tables], axis=0)


_compiled = compiled(error_model="numpy")


@_compiled
def _dense_ranges(data, y, columns, low, high):
    for i in range(y.size):
        for k in range(columns.size):
            x = float(data[i, columns[k]])
            low[y[i], k] = min(low[y[i], k], x)
            high[y[i], k] = max(high[y[i], k], x)


@_compiled
def _sparse_ranges(stored, y, position, low, high, counts, rows):
    data, indices, indptr = stored
    for i in range(y.size):
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            k = position[indices[p]]
            if k >= 0:
                x = float(data[p])
                low[y[i], k] = min(low[y[i], k], x)
                high[y[i], k] = max(high[y[i], k], x)
                counts[y[i], k] += 1
    for c in range(low.shape[0]):
        for k in range(low.shape[1]):
            if counts[c, k] < rows[c]:  # the others are zero
                low[c, k] = min(low[c, k], 0.0)
                high[c, k] = max(high[c, k], 0.0)
