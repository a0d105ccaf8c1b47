"""The data as the search sees them: every column centred and scaled, every inequality a row of size about 1.

With the weights of class 0 fixed at zero there are ``classes - 1`` blocks of unknowns, one weight per feature and an
offset each. The inequality that tells row ``i`` from rival ``r`` is the number ``i * classes + r``; it is written out
only for those in the working set.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit

from linsep.problem import Array, Dense, Floats, Rows, Sparse, take
from linsep.proof import Data, Separator

_compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
_CHUNK = 1 << 21  # cells in one compiled call: short, so that Ctrl-C is heard
_SAMPLE = 4096
WIDE = 2000  # columns of sparse data from which on working sets are not written out


def in_chunks(rows: Rows, n: int, width: int, work: Callable[[Any, int, int], None]) -> None:
    """Call ``work(part, start, stop)`` on stretches of rows, on all processors when there is enough to do."""
    cells = n * width if isinstance(rows, Dense) else len(rows.data)
    pieces = max(1, -(-cells // _CHUNK))
    edges = np.linspace(0, n, pieces + 1).astype(np.int64).tolist()
    ordered = not isinstance(rows, Dense) or rows.data.flags.c_contiguous

    def one(k: int) -> None:
        start, stop = edges[k], edges[k + 1]
        if isinstance(rows, Dense):
            part = rows.data[start:stop] if ordered else np.ascontiguousarray(rows.data[start:stop])
            work(Dense(part), start, stop)
        else:
            work(Sparse(rows.data, rows.indices, rows.indptr[start : stop + 1]), start, stop)

    if pieces == 1:
        one(0)
        return
    with ThreadPoolExecutor(min(pieces, os.cpu_count() or 1)) as pool:
        for _ in pool.map(one, range(pieces)):
            pass


class Field:
    """A float view of the data: ``z = (x unit - centre, constant)`` per row, then differences of classes."""

    def __init__(self, data: Data, rng: np.random.Generator) -> None:
        self.data = data
        # found by trial on text: rare columns then count for half as much, and the offset for little
        self.wide = isinstance(data.rows, Sparse) and data.width > WIDE
        self.finite = True
        largest = self._largest()
        if not self.finite:
            return
        exponents = np.frexp(largest)[1].astype(np.int64)
        n = len(data.y)
        if isinstance(data.rows, Sparse):  # centred columns would be dense
            centre = np.zeros(data.width)
            squares = np.zeros(data.width)
            _column_squares(data.rows.data, data.rows.indices, np.ldexp(1.0, -exponents), squares)
            spread = np.sqrt(squares / n)
        else:
            sample = np.sort(rng.choice(n, _SAMPLE, replace=False)) if n > _SAMPLE else np.arange(n)
            x = np.ldexp(dense_rows(data, sample), -exponents)
            centre = x.mean(axis=0) if data.offset else np.zeros(data.width)
            spread = np.sqrt(np.square(x - centre).mean(axis=0))
        powers = np.log2(np.where(spread > 0, spread, 1.0))
        steps = -np.round(0.5 * powers if self.wide else powers).astype(np.int64)
        steps = np.minimum(steps, 60)  # a column that is constant in the sample but for rounding
        self.shift = np.clip(steps - exponents, -1020, 1020)
        self.unit = np.ldexp(1.0, self.shift)
        self.centre = np.ldexp(centre, self.shift + exponents)
        self.constant = 0.0
        if data.offset:  # the size of a typical row: rare columns make a few rows of sparse data very long
            if isinstance(data.rows, Sparse):
                squares = np.empty(n)
                squares_of: Any = row_squares
                squares_of(*data.rows, self.unit, 0.0, squares)
            else:
                squares = np.square(np.ldexp(x - centre, steps)).sum(axis=1)
            self.constant = 2.0 ** (round(0.5 * np.log2(max(float(np.median(squares)), 1.0))) - 3 * self.wide)
        self.radius = math.hypot(*largest.tolist())  # at least the size of any row
        self.block = data.width + data.offset
        self.dimension = (data.classes - 1) * self.block

    def _largest(self) -> Floats:
        """Return the largest absolute value of every column; note whether all values are finite."""
        data = self.data
        largest = np.zeros(data.width)
        if isinstance(data.rows, Sparse):
            self.finite = not np.isnan(_column_tops(data.rows.data, data.rows.indices, largest))
            return largest
        parts: list[Floats] = []

        def work(part: Dense, _start: int, _stop: int) -> None:
            top = np.zeros((2, data.width))
            _tops(part.data, top)
            parts.append(top)

        in_chunks(data.rows, len(data.y), data.width, work)
        self.finite = not any(np.isnan(top[1]).any() for top in parts)
        largest[:] = np.max([top[0] for top in parts], axis=0)
        return largest

    def part(self, which: Array) -> Field:
        """Return the same view of some rows."""
        some = copy(self)
        some.data = self.data._replace(rows=take(self.data.rows, which), y=self.data.y[which])
        return some

    def gather(self, ids: Array) -> Floats:
        """Return inequalities as rows of size about 1, shape (m, dimension)."""
        data = self.data
        i, rival = ids // data.classes, ids % data.classes
        t = np.empty((len(ids), self.block))
        t[:, : data.width] = dense_rows(data, i) * self.unit - self.centre
        t[:, data.width :] = self.constant
        Z = as_differences(t, data.y[i], rival, data.classes)
        top = np.abs(Z).max(axis=1, initial=0.0)
        Z[:] = np.ldexp(Z, -np.frexp(top)[1][:, None])
        return Z

    def sweep(self, w: Floats) -> tuple[Floats, Array]:
        """Return for every row the lowest of its inequalities under ``w``, divided by its size, and the rival."""
        data = self.data
        W = w.reshape(data.classes - 1, self.block)
        if data.classes > 2:
            W = np.vstack((np.zeros(self.block), W))
        b = W[:, data.width] * self.constant if data.offset else np.zeros(len(W))
        W = np.ascontiguousarray(W[:, : data.width])
        scores, rivals = np.empty(len(data.y)), np.zeros(len(data.y) if data.classes > 2 else 0, dtype=np.intp)
        if isinstance(data.rows, Dense):

            def work(part: Any, start: int, stop: int) -> None:
                view = (self.unit, self.centre, self.constant)
                _sweep_dense(part.data, data.y[start:stop], W, b, view, scores[start:stop], rivals[start:stop])
        else:
            W, b = W * self.unit, b - W @ self.centre
            sweep: Any = _sweep_sparse

            def work(part: Any, start: int, stop: int) -> None:
                view = (self.unit, self.constant)
                sweep(*part, data.y[start:stop], W, b, view, scores[start:stop], rivals[start:stop])

        in_chunks(data.rows, len(data.y), data.width * len(W), work)
        return scores, rivals if data.classes > 2 else 1 - data.y

    def raw(self, w: Floats) -> tuple[Floats, list[Fraction]]:
        """Return weights (classes - 1, d) and exact offsets for the data as given; float weights may overflow."""
        data = self.data
        W = w.reshape(data.classes - 1, self.block)
        offsets = [Fraction(0)] * len(W)
        if data.offset:
            for c, row in enumerate(W):
                parts = (
                    Fraction(a) * Fraction(m) for a, m in zip(row.tolist(), self.centre.tolist(), strict=False) if m
                )
                offsets[c] = Fraction(float(row[-1])) * Fraction(self.constant) - sum(parts)
        with np.errstate(over="ignore"):
            return np.ldexp(W[:, : data.width], self.shift), offsets

    def plane(self, w: Floats, *, exact: bool = False) -> Separator:
        """Return the plane for the data as given, with floats or, which loses nothing, with fractions."""
        W, offsets = self.raw(w)
        if not exact:
            return in_classes(W, np.array([_nearest_float(b) for b in offsets]), self.data)
        unit = [Fraction(2) ** int(s) for s in self.shift]
        rows = w.reshape(self.data.classes - 1, self.block)[:, : self.data.width].tolist()
        table = np.array([[Fraction(v) * u for v, u in zip(row, unit, strict=True)] for row in rows], dtype=object)
        return in_classes(table.reshape(W.shape), np.array(offsets, dtype=object), self.data)


def _nearest_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf


def in_classes(W: Array, b: Array, data: Data) -> Separator:
    """Return weights (classes - 1, d) as a Separator: a plane, or with the zeros of class 0 in front."""
    if data.classes == 2:
        return Separator(W[0], b[0] if W.dtype == object else float(b[0]))
    return Separator(np.vstack((np.zeros_like(W[:1]), W)), np.concatenate((np.zeros_like(b[:1]), b)))


def dense_rows(data: Data, which: Array) -> Floats:
    """Return some rows as float64 with all their columns."""
    part = take(data.rows, which)
    if isinstance(part, Dense):
        return part.data.astype(np.float64)
    x = np.zeros((len(which), data.width))
    x[np.repeat(np.arange(len(which)), np.diff(part.indptr).astype(np.intp)), part.indices] = part.data
    return x


def as_differences(t: Floats, own: Array, rival: Array, classes: int) -> Floats:
    """Return rows ``t`` with + in the block of the own class and - in that of the rival; class 0 has no block."""
    if classes == 2:
        return np.where(own == 1, 1.0, -1.0)[:, None] * t
    Z = np.zeros((len(t), classes, t.shape[1]))
    Z[np.arange(len(t)), own] = t
    Z[np.arange(len(t)), rival] = -t
    return np.ascontiguousarray(Z[:, 1:].reshape(len(t), -1))


def lowest(scores: Floats, most: int, below: float) -> Array:
    """Return the rows of the ``most`` lowest scores among those not above ``below``."""
    low = np.flatnonzero(scores <= below)
    if len(low) > most:
        low = low[np.argpartition(scores[low], most)[:most]]
    return low


@_compiled
def _tops(data, top):
    """Put the largest absolute value of each column into top[0], and into top[1] NaN if one is not finite, else 0."""
    n, d = data.shape
    for i in range(n):
        x = data[i]
        for j in range(d):
            top[0, j] = max(top[0, j], abs(float(x[j])))
            top[1, j] += 0.0 * float(x[j])


@_compiled
def _column_tops(data, indices, top):
    """Put the largest absolute value of each column into ``top``; return NaN if one is not finite, else 0."""
    flaw = 0.0
    for p in range(data.size):
        x = float(data[p])
        flaw += 0.0 * x
        top[indices[p]] = max(top[indices[p]], abs(x))
    return flaw


@_compiled
def _column_squares(data, indices, unit, squares):
    """Add the squares of the values of each column, in its unit, to ``squares``."""
    for p in range(data.size):
        x = data[p] * unit[indices[p]]
        squares[indices[p]] += x * x


@_compiled
def row_squares(data, indices, indptr, unit, constant, squares):
    """Put the squared norm of each row, its values in the units of their columns, into ``squares``."""
    for i in range(squares.size):
        q = constant * constant
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            x = data[p] * unit[indices[p]]
            q += x * x
        squares[i] = q


@_compiled
def _sweep_dense(data, y, W, b, view, scores, rivals):
    """Lowest inequality of every row under W and b, divided by the size of the row, and the rival in it."""
    unit, centre, constant = view
    d = data.shape[1]
    for i in range(data.shape[0]):
        x = data[i]
        w = W[0]
        s = 0.0
        q = constant * constant + 1e-300
        for j in range(d):
            t = x[j] * unit[j] - centre[j]
            s += t * w[j]
            q += t * t
        s += b[0]
        if b.size == 1:
            scores[i] = (2 * y[i] - 1) * s / np.sqrt(q)
            continue
        own, rival, highest = 0.0, 0, -np.inf
        for c in range(b.size):
            if c > 0:
                w = W[c]
                s = 0.0
                for j in range(d):
                    s += (x[j] * unit[j] - centre[j]) * w[j]
                s += b[c]
            if c == y[i]:
                own = s
            elif s > highest:
                rival, highest = c, s
        scores[i] = (own - highest) / np.sqrt(q)
        rivals[i] = rival


@_compiled
def _sweep_sparse(data, indices, indptr, y, W, b, view, scores, rivals):
    """As the dense one, with the units already in W and the centre in b; the size leaves the centre out."""
    unit, constant = view
    one = np.uint64(1)
    for i in range(indptr.size - 1):
        start = np.uint64(indptr[i])
        end = np.uint64(indptr[i + 1])
        q = constant * constant + 1e-300
        p = start
        while p < end:
            t = data[p] * unit[indices[p]]
            q += t * t
            p += one
        own, rival, highest, s = 0.0, 0, -np.inf, 0.0
        for c in range(b.size):
            s = b[c]
            p = start
            while p < end:
                s += data[p] * W[c, indices[p]]
                p += one
            if c == y[i]:
                own = s
            elif s > highest:
                rival, highest = c, s
        if b.size == 1:
            scores[i] = (2 * y[i] - 1) * s / np.sqrt(q)
        else:
            scores[i] = (own - highest) / np.sqrt(q)
            rivals[i] = rival
