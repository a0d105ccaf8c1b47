"""Scales features, and converts learned weights back to the units of the file."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from linsep.compiling import compiled as _compiled
from linsep.data.arrays import csr_array, is_sparse
from linsep.errors import DataError, ParameterError
from linsep.problem import Array, Floats

UNEVEN = 10  # times as large as the range of another column: numbers that are to be scaled

compiled = _compiled(error_model="numpy")  # strict order of sums: blocks must not show in them


class Sums(NamedTuple):
    """Sums of rows, feature by feature."""

    total: Floats  # (d,)
    counts: Floats  # (d,) how many values there are; those of sparse rows that are not stored do not count
    rows: int
    sparse: bool

    def mean(self) -> Floats:
        """Return the mean of every feature."""
        return self.total / max(1, self.rows)

    def plus(self, other: Sums) -> Sums:
        """Return the sums of these rows and others."""
        d = max(len(self.total), len(other.total))
        total, counts = (
            _widened(a, d) + _widened(b, d) for a, b in ((self.total, other.total), (self.counts, other.counts))
        )
        return Sums(total, counts, self.rows + other.rows, self.sparse or other.sparse)


def column_sums(source: Iterable[Any]) -> Sums:
    """Return the sums of all rows of a source, added in the order of the rows."""
    total, counts, n, sparse = np.zeros(0), np.zeros(0), 0, False
    for X, *_ in source:
        sparse = is_sparse(X)
        total, counts = _widened(total, X.shape[1]), _widened(counts, X.shape[1])
        _add(*_parts(X), total, counts)
        n += X.shape[0]
    return Sums(total, counts, n, sparse)


def column_squares(source: Iterable[Any], mean: Floats) -> Floats:
    """Return the sums of squared distances from a mean, of stored values only."""
    squares = np.zeros(len(mean))
    for X, *_ in source:
        _add_squares(*_parts(X), mean, squares)
    return squares


class Ranges(NamedTuple):
    """The smallest and the largest value of every feature; a value that is not stored is 0."""

    low: Floats  # (d,)
    high: Floats  # (d,)
    stored: Array  # (d,) how many values are stored
    rows: int

    @classmethod
    def of(cls, source: Iterable[Any]) -> Ranges:
        """Return those of all rows of a source."""
        return cls.joined(map(cls._of_block, source))

    @classmethod
    def _of_block(cls, block: Any) -> Ranges:
        X = block[0]
        n, d = X.shape
        if is_sparse(X):
            low, high = np.full(d, np.inf), np.full(d, -np.inf)
            np.minimum.at(low, X.indices, X.data)
            np.maximum.at(high, X.indices, X.data)
            return cls(low, high, np.bincount(X.indices, minlength=d), n)
        return cls(X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64), np.full(d, n), n)

    @classmethod
    def joined(cls, parts: Iterable[Ranges]) -> Ranges:
        """Return those of rows in several parts, of which later ones may have more features."""
        total = cls(np.zeros(0), np.zeros(0), np.zeros(0, np.int64), 0)
        for part in parts:
            d = max(len(total.low), len(part.low))
            low = np.minimum(_widened(total.low, d, np.inf), _widened(part.low, d, np.inf))
            high = np.maximum(_widened(total.high, d, -np.inf), _widened(part.high, d, -np.inf))
            total = cls(low, high, _widened(total.stored, d) + _widened(part.stored, d), total.rows + part.rows)
        return total

    def uneven(self, counts: Array | None = None) -> bool:
        """Say whether the largest number is more than 10 times the range of a feature; of many, of a tenth of them.

        Features that are ``counts`` of words in texts are together one feature that is 0 or 1.
        """
        absent = self.stored < self.rows
        low = np.where(absent, np.minimum(self.low, 0), self.low)
        high = np.where(absent, np.maximum(self.high, 0), self.high)
        if counts is not None and len(counts):
            low, high = np.append(np.delete(low, counts), 0.0), np.append(np.delete(high, counts), 1.0)
        ranges = (high - low)[high > low]
        if len(ranges) == 0:
            return False
        largest = max(float(np.abs(low).max()), float(np.abs(high).max()))
        return largest > UNEVEN * float(np.quantile(ranges, 0.1, method="lower"))


def largest_norm(source: Iterable[Any]) -> float:
    """Return the largest norm of a row of a source."""
    return max((float(_largest_norm(*_parts(block[0])[::2])) for block in source), default=0.0)


@dataclass(frozen=True)
class Scaler:
    """Scaling of features, and its undoing in what was learned: ``x -> (x - shift) / scale``.

    ``unit`` divides everything by the radius R, the largest norm of a row. ``standard`` gives each feature mean 0 and
    deviation 1; features of sparse rows keep their mean, since taking it off would make them dense, but for the columns
    of numbers beside words. A feature that never changes is not scaled, nor is a word of a text. Sums run in the order
    of the rows, so that they have the same bits however the rows come in blocks.
    """

    kind: str  # none, unit or standard
    shift: Floats  # (d,) features beyond its end are not shifted
    scale: Floats  # (d,), for ``unit`` (1,)

    @classmethod
    def fit(cls, source: Iterable[Any], kind: str = "standard", *, numbers: int = 0, center: bool = True) -> Scaler:
        """Find out how to scale the rows of a source, in one pass for ``unit`` and two for ``standard``.

        ``numbers`` are the first columns of sparse rows that are to have mean 0, too; ``center=False`` shifts nothing.
        """
        if kind == "none":
            return cls(kind, np.zeros(0), np.ones(0))
        if kind == "unit":
            return cls.of_radius(largest_norm(source))
        if kind != "standard":
            raise ParameterError("scale", kind, "'none', 'unit' or 'standard'")
        sums = column_sums(source)
        return cls.of_sums(sums, column_squares(source, sums.mean()), numbers if center else None)

    @classmethod
    def of_radius(cls, radius: float) -> Scaler:
        """Return the scaling to norms of at most 1."""
        return cls("unit", np.zeros(0), np.array([_usable(radius) or 1.0]))

    @classmethod
    def of_sums(cls, sums: Sums, squares: Floats, numbers: int | None = 0) -> Scaler:
        """Return the standard scaling of rows with these sums, and squared distances from their mean.

        ``numbers`` are the first columns of sparse rows that are shifted; None shifts nothing.
        """
        n, mean = sums.rows, sums.mean()
        squares = _widened(squares, len(mean))
        with np.errstate(over="ignore", invalid="ignore"):
            variance = (squares + (n - sums.counts) * mean**2) / max(1, n)
        _usable(float(np.max(variance, initial=0.0)))
        # what rounding alone makes of a feature that never changes
        constant = variance <= n * 2**-52 * variance + (n * 2**-52 * mean) ** 2
        shift = mean[:0] if numbers is None else mean[:numbers] if sums.sparse else mean
        return cls("standard", shift, np.where(constant, 1.0, np.sqrt(variance)))

    def sparing(self, counts: Array) -> Scaler:
        """Return a standard scaling that leaves these features alone: counts of words, of which rare ones weigh least.

        By their deviation they would weigh most.
        """
        if self.kind != "standard" or len(counts) == 0:
            return self
        scale = self.scale.copy()
        scale[counts] = 1.0
        return replace(self, scale=scale)

    def apply(self, X: Any) -> Any:
        """Return scaled rows, float64; rows wider than those seen keep what is beyond as it is."""
        if self.kind == "none":
            return X
        d = X.shape[1]
        scale = np.broadcast_to(self.scale, d) if self.kind == "unit" else _widened(self.scale, d, 1.0)[:d]
        shift = _widened(self.shift, d)[:d]
        if not is_sparse(X):
            return (X - shift) / scale
        centered = np.flatnonzero(shift)  # which have a value in every row then
        if len(centered) == 0:
            return csr_array((X.data / scale[X.indices], X.indices, X.indptr), shape=X.shape)
        size = X.data.size + X.shape[0] * len(centered)
        data, indices, indptr = np.empty(size), np.empty(size, X.indices.dtype), np.zeros(X.shape[0] + 1, np.int64)
        _center(X.data, X.indices, X.indptr, shift, scale, centered, data, indices, indptr)
        index = np.int64 if indptr[-1] > np.iinfo(X.indptr.dtype).max else X.indptr.dtype
        return csr_array((data[: indptr[-1]], indices[: indptr[-1]], indptr.astype(index)), shape=X.shape)

    def undo(self, w: Any, b: Any) -> tuple[Any, Any]:
        """Return the plane for rows as they were; ``w`` may hold several, one in each row, with as many in ``b``."""
        if self.kind == "none":
            return w, b
        d = w.shape[-1]
        scale = self.scale if self.kind == "unit" else _widened(self.scale, d, 1.0)[:d]
        if is_sparse(w):
            w = w.tocsr(copy=True)
            w.data = w.data * (1 / np.broadcast_to(scale, d))[w.indices]
        else:
            w = w / scale
        shift = w @ _widened(self.shift, d)[:d]
        return w, b - (float(shift) if w.ndim == 1 else shift)


def _parts(X: Any) -> tuple[Array, Array, Array]:
    """Return rows as values, indices and pointers; dense ones have two dimensions and no indices."""
    if is_sparse(X):
        return X.data[None], X.indices, X.indptr
    return X, np.empty(0, np.int32), np.empty(0, np.int32)


def _widened(values: Floats, width: int, fill: float = 0.0) -> Floats:
    """Return values for at least ``width`` features."""
    return np.append(values, np.full(width - len(values), fill)) if width > len(values) else values


def _usable(size: float) -> float:
    if math.isfinite(size):
        return size
    raise DataError("", "the values are too large to scale")


@compiled
def _largest_norm(data, indptr):
    """Return the largest norm of a row; squares that overflow or vanish are taken of scaled values."""
    dense = len(indptr) == 0
    largest = 0.0
    for i in range(len(data) if dense else len(indptr) - 1):
        row = data[i] if dense else data[0, indptr[i] : indptr[i + 1]]
        s = 0.0
        for x in row:
            s += np.float64(x) * x
        if not 1e-280 < s < 1e300:
            m = 0.0
            for x in row:
                m = max(m, abs(np.float64(x)))
            s = 0.0
            for x in row:
                s += (x / m) ** 2 if m > 0 else 0.0
            largest = max(largest, m * math.sqrt(s))
        else:
            largest = max(largest, math.sqrt(s))
    return largest


@compiled
def _center(data, indices, indptr, shift, scale, centered, new_data, new_indices, new_indptr):
    """Write rows, whose column numbers go up, with ``(x - shift) / scale``; all centered columns are written out."""
    p = 0
    for i in range(len(indptr) - 1):
        k = 0
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            while k < len(centered) and centered[k] < j:
                new_indices[p] = centered[k]
                new_data[p] = (0.0 - shift[centered[k]]) / scale[centered[k]]
                p += 1
                k += 1
            if k < len(centered) and centered[k] == j:
                k += 1
            new_indices[p] = j
            new_data[p] = (data[q] - shift[j]) / scale[j]
            p += 1
        while k < len(centered):
            new_indices[p] = centered[k]
            new_data[p] = (0.0 - shift[centered[k]]) / scale[centered[k]]
            p += 1
            k += 1
        new_indptr[i + 1] = p


@compiled
def _add(data, indices, indptr, total, counts):
    if len(indptr) == 0:
        for i in range(data.shape[0]):
            for j in range(data.shape[1]):
                total[j] += data[i, j]
                counts[j] += 1
    else:
        for p in range(indptr[0], indptr[-1]):
            total[indices[p]] += data[0, p]
            counts[indices[p]] += 1


@compiled
def _add_squares(data, indices, indptr, mean, total):
    """Add up the squared distances from the mean, those of values that are not stored left out."""
    if len(indptr) == 0:
        for i in range(data.shape[0]):
            for j in range(data.shape[1]):
                total[j] += (data[i, j] - mean[j]) ** 2
    else:
        for p in range(indptr[0], indptr[-1]):
            total[indices[p]] += (data[0, p] - mean[indices[p]]) ** 2
