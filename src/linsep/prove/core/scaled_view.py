"""The data in floats for the search: centered and scaled columns, inequalities of size about 1.

With the weights of class 0 fixed at zero there are ``classes - 1`` blocks of unknowns, one weight per feature and an
offset each. The inequality that tells row ``i`` from rival ``r`` is the number ``i * classes + r``; it is written out
only for those in the working set.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np

from linsep.compiling import compiled
from linsep.data.arrays import to_floats
from linsep.data.parallel import in_parallel
from linsep.problem import Array, Dense, Floats, Rows, Sparse
from linsep.prove.claims import Data, Separator

_compiled = compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
_SAMPLE = 512  # rows that show the scale of a column well enough: a look at all of many rows costs a pass
_NEAR = 2.0**16  # times its spread: a center so far out may be left to rounding when rows are only looked at
_ORDINARY = 900  # powers of two that leave room for weights
WIDE = 2000  # columns of sparse data from which on working sets are not written out


def in_chunks(rows: Rows, n: int, width: int, work: Callable[[Any, int, int], None]) -> None:
    """Call ``work(part, start, stop)`` on stretches of rows, on all processors when there is enough to do."""

    def one(start: int, stop: int) -> None:
        if isinstance(rows, Dense):
            work(Dense(np.ascontiguousarray(rows.data[start:stop])), start, stop)
        else:
            work(Sparse(rows.data, rows.indices, rows.indptr[start : stop + 1]), start, stop)

    in_parallel(one, n, width if isinstance(rows, Dense) else len(rows.data) // max(1, n) + 1)


class ScaledView:
    """A float view of the data: ``z = (x unit - center, constant)`` per row, then differences of classes.

    Of many dense rows a sample shows the range, center and spread of the columns. Raises FloatingPointError on coming
    upon a value that is not finite. Sparse rows of more than ``wide`` columns get other scales.
    """

    def __init__(self, data: Data, rng: np.random.Generator, wide: int = WIDE) -> None:
        self.data = data
        # found by trial on text: rare columns then count for half as much, and the offset for little
        self.wide = isinstance(data.rows, Sparse) and data.n_features > wide
        n = len(data.y)
        self.all_finite = isinstance(data.rows, Sparse) or n <= 4 * _SAMPLE  # whether all values are known to be
        if isinstance(data.rows, Sparse):  # centered columns would be dense
            exponents = np.frexp(self._largest())[1].astype(np.int64)
            center = np.zeros(data.n_features)
            squares = np.zeros(data.n_features)
            _column_squares(data.rows.data, data.rows.indices, np.ldexp(1.0, -exponents), squares)
            spread = np.sqrt(squares / n)
        else:
            sample = np.sort(rng.choice(n, _SAMPLE, replace=False)) if n > _SAMPLE else np.arange(n)
            x = to_floats(data.rows, sample, data.n_features)
            largest = self._largest() if self.all_finite else _finite(np.abs(x).max(axis=0))
            exponents = np.frexp(largest)[1].astype(np.int64)
            half = -exponents // 2  # of the power of two, which itself may be out of range
            x = x * np.ldexp(1.0, half) * np.ldexp(1.0, -exponents - half)
            center = x.mean(axis=0) if data.offset else np.zeros(data.n_features)
            spread = np.sqrt(np.square(x - center).mean(axis=0))
        powers = np.log2(np.where(spread > 0, spread, 1.0))
        steps = -np.round(0.5 * powers if self.wide else powers).astype(np.int64)
        steps = np.minimum(steps, 60)  # a column that is constant in the sample but for rounding
        self.shift = np.clip(steps - exponents, -1020, 1020)
        self.unit = np.ldexp(1.0, self.shift)
        self.center = np.ldexp(center, self.shift + exponents)
        if isinstance(data.rows, Sparse):
            squares = np.empty(n)
            _row_squares(*data.rows, self.unit, 0.0, squares)
        else:
            x = (x - center) * np.ldexp(1.0, steps)
            squares = np.einsum("ij,ij->i", x, x)
        # the size of a typical row: rare columns make a few rows of sparse data very long
        typical = math.sqrt(max(float(np.median(squares)), 1.0))
        self.constant = 2.0 ** (round(math.log2(typical)) - 3 * self.wide) if data.offset else 0.0
        self.high = 1.25 * math.hypot(typical, self.constant)  # most rows are shorter
        self.block = data.n_features + data.offset
        self.dimension = (data.classes - 1) * self.block
        near = np.abs(self.center).max(initial=0.0) < _NEAR and np.abs(self.shift).max(initial=0) < _ORDINARY
        self.plain = isinstance(data.rows, Sparse) or bool(near)  # whether units and center can go into the weights

    def refuse_not_finite(self) -> None:
        """Raise FloatingPointError if some value is not finite, where not all were looked at."""
        if not self.all_finite:
            self._largest()
            self.all_finite = True

    def _largest(self) -> Floats:
        """Return the largest absolute value of every column."""
        data, top = self.data, np.zeros(self.data.n_features)
        if isinstance(data.rows, Sparse):
            return _finite(top + _sparse_tops(data.rows.data, data.rows.indices, top))
        for start in range(0, len(data.y), 4096):
            part = np.asarray(data.rows.data[start : start + 4096], dtype=np.float64)
            np.maximum(top, np.abs(part).max(axis=0), out=top)
        return _finite(top)

    def row_sizes(self) -> Floats:
        """Return the size of every row, as this view shows it."""
        data, squares = self.data, np.empty(len(self.data.y))

        def work(part: Any, start: int, stop: int) -> None:
            if isinstance(part, Dense):
                x = part.data * self.unit - self.center
                squares[start:stop] = np.einsum("ij,ij->i", x, x) + self.constant**2
            else:
                _row_squares(*part, self.unit, self.constant, squares[start:stop])

        in_chunks(data.rows, len(data.y), data.n_features, work)
        return np.sqrt(squares)

    def gather(self, pairs: Array) -> Floats:
        """Return inequalities as rows of size about 1, shape (m, dimension)."""
        data = self.data
        i, rival = pairs // data.classes, pairs % data.classes
        Z = np.zeros((len(pairs), self.dimension))
        rows, positions = data.rows, i
        if not isinstance(rows, Dense) or not rows.data.flags.c_contiguous:
            rows, positions = Dense(to_floats(data.rows, i, data.n_features)), np.arange(len(i))
        view, labels = (self.unit, self.center, self.constant), data.y[i]

        def work(start: int, stop: int) -> None:
            here = slice(start, stop)
            _gather(rows.data, positions[here], labels[here], rival[here], view, np.empty(self.block), Z[here])

        in_parallel(work, len(pairs), 4 * self.dimension)  # rows from all over the memory are slow to come
        return Z

    def sweep(self, w: Floats) -> tuple[Floats, Array]:
        """Return for every row the lowest of its inequalities under ``w``, divided by its size, and the rival.

        Of rows well above the plane, whose score is more than 1, it is about that.
        """
        data = self.data
        W = w.reshape(data.classes - 1, self.block)
        if data.classes > 2:
            W = np.vstack((np.zeros(self.block), W))
        b = W[:, data.n_features] * self.constant if data.offset else np.zeros(len(W))
        W = np.ascontiguousarray(W[:, : data.n_features])
        scores, rivals = np.empty(len(data.y)), np.zeros(len(data.y) if data.classes > 2 else 0, dtype=np.intp)
        unit, center = self.unit, self.center
        if self.plain:
            W, b = W * unit, b - W @ center
        else:
            unit, center = np.ones(data.n_features), np.zeros(data.n_features)

        def work(part: Any, start: int, stop: int) -> None:
            here = slice(start, stop)
            if not isinstance(part, Dense):
                _sweep_sparse(part, data.y[here], W, b, (unit, self.constant), scores[here], rivals[here])
                return
            x = part.data if self.plain else part.data * self.unit - self.center
            view = (unit, center, self.constant, self.high, np.empty((2, len(b))))
            _sweep_dense(x, data.y[here], W, b, view, scores[here], rivals[here])

        in_chunks(data.rows, len(data.y), data.n_features * len(W), work)
        if not self.all_finite:  # whatever is not finite leads to such a score
            self.all_finite = math.isfinite(float(scores.sum()))
            self.refuse_not_finite()
        return scores, rivals if data.classes > 2 else 1 - data.y

    def raw(self, w: Floats) -> Floats:
        """Return weights for the data as given, (classes - 1, block); they may overflow."""
        W, d = w.reshape(self.data.classes - 1, self.block), self.data.n_features
        with np.errstate(all="ignore"):
            weights: Floats = np.ldexp(W[:, :d], self.shift)
            if not self.data.offset:
                return weights
            moved = np.column_stack((W[:, :d] * -self.center, W[:, d] * self.constant))
            if not np.isfinite(moved).all():
                return np.full(W.shape, np.inf)
            return np.column_stack((weights, [math.fsum(row) for row in moved.tolist()]))

    def plane(self, w: Floats) -> Separator:
        """Return the plane for the data as given, in floats."""
        return as_separator(self.raw(w) if self.data.classes == 2 else on_grid(self.raw(w)), self.data)

    def exact(self, w: Floats) -> list[Fraction]:
        """Return weights for the data as given, those of each class followed by its offset, without rounding."""
        weights, unit = [], [Fraction(2) ** int(s) for s in self.shift]
        center = [-Fraction(c) for c in self.center.tolist()]
        for row in w.reshape(self.data.classes - 1, self.block).tolist():
            exact = [Fraction(v) for v in row]
            weights += [v * u for v, u in zip(exact, unit, strict=False)]
            if self.data.offset:
                weights.append(sum(map(mul, exact, center), exact[-1] * Fraction(self.constant)))
        return weights


def _finite(values: Floats) -> Floats:
    if not np.isfinite(values).all():
        raise FloatingPointError("a value is not finite")
    return np.asarray(values)


def as_separator(table: Array, data: Data) -> Separator:
    """Return weights (classes - 1, block) as a Separator: a plane, or with the zeros of class 0 in front."""
    zero = Fraction(0) if table.dtype == object else 0.0
    if data.classes == 2:
        return Separator(table[0, : data.n_features], table[0, data.n_features :].tolist()[0] if data.offset else zero)
    W = np.full((data.classes, data.n_features + 1), zero, dtype=table.dtype)
    W[1:, : table.shape[1]] = table
    return Separator(W[:, :-1], W[:, -1])


def on_grid(values: Floats) -> Floats:
    """Return floats, in each column rounded to the 50th binary digit of the largest: floats hold their differences.

    The check then needs no fractions; but what was to be zero exactly may be so no more.
    """
    exponents = np.frexp(np.abs(values).max(axis=0, initial=0.0))[1]
    grid: Floats = np.ldexp(np.rint(np.ldexp(values, 50 - exponents)), exponents - 50)
    return grid


def block_signs(ids: Array, y: Array, classes: int, blocks: int | None = None) -> Array:
    """Return the signs (ids, blocks) with which a row goes into the block of each class; of class 0 only if asked."""
    signs = np.zeros((len(ids), classes), np.int64)
    every = np.arange(len(ids))
    signs[every, y[ids // classes]] = 1
    signs[every, ids % classes] = -1
    return signs[:, classes - (blocks or classes - 1) :]


def differences(t: Array, signs: Array) -> Array:
    """Return rows ``t`` (m, d) times their signs in each block, shape (m, blocks * d); floats or integers."""
    if signs.shape[1] == 1:
        return signs.astype(t.dtype) * t
    vectors = signs.astype(t.dtype)[:, :, None] * t[:, None, :]
    return np.ascontiguousarray(vectors.reshape(len(t), signs.shape[1] * t.shape[1]))


def raw_differences(data: Data, ids: Array) -> Floats:
    """Return inequalities in the weights and offsets themselves, as floats."""
    t = np.ones((len(ids), data.n_features + data.offset))
    t[:, : data.n_features] = to_floats(data.rows, ids // data.classes, data.n_features)
    return differences(t, block_signs(ids, data.y, data.classes))


def sums(data: Data, w: Floats, which: Array | None = None) -> Floats:
    """Return ``w·x`` of all rows or some; the same for equal rows."""
    rows, numbers = data.rows, np.arange(len(data.y)) if which is None else which
    scores = np.empty(len(numbers))

    def work(start: int, stop: int) -> None:
        here = slice(start, stop)
        if isinstance(rows, Sparse):
            _scores_sparse(*rows, numbers[here], w, scores[here])
            return
        part = np.ascontiguousarray(rows.data[here if which is None else which[here]])
        part.flags.writeable = False  # one compiled version serves all
        _scores_dense(part, w, scores[here])

    cells = data.n_features if isinstance(rows, Dense) else len(rows.data) // max(1, len(data.y)) + 1
    in_parallel(work, len(numbers), cells)
    return scores


def lowest(scores: Floats, most: int, below: float) -> Array:
    """Return the rows of the ``most`` lowest scores among those not above ``below``."""
    low = np.flatnonzero(scores <= below)
    if len(low) > most:
        low = low[np.argpartition(scores[low], most)[:most]]
    return low


@_compiled
def _gather(data, which, labels, rival, view, t, Z):
    """Write inequalities into ``Z``: + in the block of the own class, - in that of the rival, each of size about 1.

    ``t`` has room for a block: an array made here would take long to compile.
    """
    unit, center, constant = view
    d, block = data.shape[1], t.size
    for k in range(which.size):
        x = data[which[k]]
        q = 0.0
        for j in range(d):
            t[j] = x[j] * unit[j] - center[j]
            q += t[j] * t[j]
        for j in range(d, block):
            t[j] = constant
            q += constant * constant
        size = math.sqrt(q)
        if not 1e-140 < size < 1e140:  # squares are out of range
            size = 0.0
            for j in range(block):
                size = max(size, abs(t[j]))
        factor = math.ldexp(1.0, -max(min(math.frexp(size)[1], 1000), -1000))
        if labels[k] > 0:
            start = (labels[k] - 1) * block
            for j in range(block):
                Z[k, start + j] = t[j] * factor
        if rival[k] > 0:
            start = (rival[k] - 1) * block
            for j in range(block):
                Z[k, start + j] = -t[j] * factor


@_compiled
def _sparse_tops(data, indices, top):
    """Put the largest absolute value of each column into ``top``; return NaN if one is not finite, else 0."""
    flaw = 0.0
    for p in range(data.size):
        x = float(data[p])
        flaw += 0.0 * x
        top[indices[p]] = max(top[indices[p]], abs(x))
    return flaw


@_compiled
def _column_squares(data, indices, unit, squares):
    for p in range(data.size):
        x = data[p] * unit[indices[p]]
        squares[indices[p]] += x * x


@_compiled
def _row_squares(data, indices, indptr, unit, constant, squares):
    for i in range(squares.size):
        q = constant * constant
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            x = data[p] * unit[indices[p]]
            q += x * x
        squares[i] = q


@_compiled
def _sweep_dense(data, y, W, b, view, scores, rivals):
    """Lowest inequality of every row under W and b, divided by the size of the row, and the rival in it."""
    unit, center, constant, high, products = view  # the last is for two rows
    n, d = data.shape
    for start in range(0, n, 2):
        for c in range(b.size):
            first, second = _two_products(data[start], data[min(start + 1, n - 1)], W[c])
            products[0, c] = first + b[c]
            products[1, c] = second + b[c]
        for i in range(start, min(start + 2, n)):
            lead = (2 * y[i] - 1) * products[i - start, 0]
            if b.size > 1:
                highest = -np.inf
                for c in range(b.size):
                    if c != y[i] and products[i - start, c] > highest:
                        highest = products[i - start, c]
                        rivals[i] = c
                lead = products[i - start, y[i]] - highest
            size = high
            if not lead > high:  # only then does its size matter
                q = constant * constant + 1e-300
                for j in range(d):
                    t = data[i, j] * unit[j] - center[j]
                    q += t * t
                size = math.sqrt(q)
            scores[i] = lead / size


@_compiled
def _two_products(first, second, w):
    """Return the products of two rows with ``w``: with one at a time the processor would wait for each sum."""
    s = 0.0
    t = 0.0
    for j in range(w.size):
        s += first[j] * w[j]
        t += second[j] * w[j]
    return s, t


@_compiled
def _sweep_sparse(rows, y, W, b, view, scores, rivals):
    """Lowest inequality of every row under W and b, divided by the size of the row, and the rival in it."""
    data, indices, indptr = rows
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
        true, rival, highest, s = 0.0, 0, -np.inf, 0.0
        for c in range(b.size):
            s = b[c]
            p = start
            while p < end:
                s += data[p] * W[c, indices[p]]
                p += one
            if c == y[i]:
                true = s
            elif s > highest:
                rival, highest = c, s
        if b.size == 1:
            scores[i] = (2 * y[i] - 1) * s / np.sqrt(q)
        else:
            scores[i] = (true - highest) / np.sqrt(q)
            rivals[i] = rival


_in_order = compiled(error_model="numpy")  # equal rows must give equal sums


@_in_order
def _scores_dense(data, w, scores):
    for i in range(data.shape[0]):
        x = data[i]
        s = 0.0
        for j in range(w.size):
            s += x[j] * w[j]
        scores[i] = s


@_in_order
def _scores_sparse(data, indices, indptr, which, w, scores):
    for k in range(which.size):
        i = which[k]
        s = 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            s += data[p] * w[indices[p]]
        scores[k] = s
