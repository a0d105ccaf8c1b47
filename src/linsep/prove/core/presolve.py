"""Presolve and postsolve of verdicts: what cannot change the answer is left out, and put back into its proof.

- *columns*: zero in every row, constant (the offset does the same), or equal to another: their weight is zero;
- *rows*: repeated ones count once. Hashes decide equality of whole columns and rows; the proof is checked on all of
  the data in the end, so a collision does no harm;
- *peeling* (two classes): a column and a threshold that is weakly right for all rows. Rows off the threshold can be
  strict for certain, so they leave; the plane of what is left gets a large multiple of the column added;
- *narrowing*: where columns outnumber rows, as many columns as the rows have rank.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.compiling import compiled
from linsep.data.cache import renumbered, some_columns, some_rows
from linsep.data.parallel import in_parallel
from linsep.problem import Array, Dense, Floats, Rows, Sparse, take
from linsep.prove.check.fast_check import holds
from linsep.prove.claims import Claim, Data, Refutation, Separator
from linsep.prove.core.scaled_view import in_chunks, sums

SAMPLE = 1024  # rows that show whether a look at all of them is worth while
FEW = 64  # rows that most often show that nothing can be left out
PLANE_CELLS = 1 << 32  # weights of a plane, at most
COPY_CELLS = 1 << 24  # dense data are copied for the sake of a few columns only if they are not larger
COPY_SHARE = 0.1  # else only for this share of columns; and of rows for those that repeat


class Certificate(NamedTuple):
    """A verdict and its proof."""

    kind: str
    separator: Separator | None
    refutation: Refutation | None

    def holds(self, data: Data) -> bool:
        """Return whether the exact check agrees."""
        return holds(Claim(*self, (), data.n_features, data.offset), data)


class Presolved(NamedTuple):
    """Data without what has no say, and how to speak of all of them again."""

    data: Data
    whole: Data
    columns: Array | None  # numbers of the columns that are left, None for all
    rows: Array | None  # numbers of the rows that are left, None for all
    contradicting: Array  # (m, 2) rows, as they are numbered here, that are equal but of different classes

    def plane(self, plane: Separator) -> Separator:
        """Return a plane for all columns."""
        if self.columns is None:
            return plane
        cells = math.prod(plane.w.shape[:-1]) * self.whole.n_features
        if cells > PLANE_CELLS:
            raise MemoryError(
                f"the weights of a plane in {self.whole.n_features} columns take {cells * 8 >> 30} GB, but only "
                f"{len(self.columns)} of the columns matter: renumber the columns in use from 0"
            )
        zero: Any = Fraction(0) if plane.w.dtype == object else 0.0
        w = np.full((*plane.w.shape[:-1], self.whole.n_features), zero, dtype=plane.w.dtype)
        w[..., self.columns] = plane.w
        return Separator(w, plane.b)

    def postsolve(self, certificate: Certificate) -> Certificate:
        """Return a certificate for all of the data."""
        plane, refutation = certificate.separator, certificate.refutation
        if refutation is not None and self.rows is not None:
            refutation = Refutation(self.rows[refutation.rows], refutation.multipliers, refutation.rivals)
        return Certificate(certificate.kind, None if plane is None else self.plane(plane), refutation)


def presolved(data: Data, clock: Clock) -> Presolved:
    """Leave out columns and rows that have no say."""
    clock.check()
    narrow, columns = _without_columns(data)
    n = len(data.y)
    some = np.arange(0, n, -(-n // SAMPLE))
    rows, contradicting = None, np.empty((0, 2), np.intp)
    dense = isinstance(narrow.rows, Dense) and narrow.n_features > 0
    if dense and len(np.unique(narrow.rows.data[some, 0])) == len(some):
        pass  # their first cells tell rows apart
    elif len(np.unique(fingerprints(take(narrow.rows, some), narrow.n_features))) < len(some):
        numbers, contradicting = _repeats(narrow)
        if len(numbers) <= (1 - COPY_SHARE) * n:
            rows = numbers
            narrow = narrow._replace(rows=some_rows(narrow.rows, rows), y=narrow.y[rows])
            contradicting = np.searchsorted(rows, contradicting)
    return Presolved(narrow, data, columns, rows, contradicting)


def _repeats(data: Data) -> tuple[Array, Array]:
    """Return the first of all rows that are equal and of one class, and pairs of equal rows of different classes."""
    keys = fingerprints(data.rows, data.n_features)
    order = np.lexsort((data.y, keys))  # stable: the first comes first
    same = keys[order[1:]] == keys[order[:-1]]
    again = same & (data.y[order[1:]] == data.y[order[:-1]])
    first = order[~np.concatenate(([False], again))]
    # neighbors of one key among the first ones differ in class
    equal = keys[first[1:]] == keys[first[:-1]]
    pairs = np.sort(np.column_stack((first[:-1][equal], first[1:][equal])), axis=1)
    return np.sort(first), pairs[np.lexsort(pairs.T[::-1])]


# ---------------------------------------------------------------------------------------------------------------
# Columns


def _without_columns(data: Data) -> tuple[Data, Array | None]:
    """Return data without the columns that have no say, and the numbers of those that are left."""
    rows = data.rows
    if isinstance(rows, Dense):
        kept = _dense_columns(rows.data, data.offset)
        dropped = data.n_features - len(kept)
        if dropped == 0 or (rows.data.size > COPY_CELLS and dropped < COPY_SHARE * data.n_features):
            return data, None
        part: Rows = Dense(some_columns(rows.data, kept))
    else:
        used, positions = None, rows.indices
        if data.n_features > 2 * len(rows.data) + SAMPLE:  # no array is to have so many entries
            used, inverse = np.unique(rows.indices, return_inverse=True)
            positions = inverse.astype(rows.indices.dtype)
        kept = _sparse_columns(rows, positions, data.n_features if used is None else len(used))
        if len(kept) == data.n_features:
            return data, None
        position = np.full(data.n_features if used is None else len(used), -1, dtype=np.int64)
        position[kept] = np.arange(len(kept))
        part = renumbered(rows, positions, position)
        kept = kept if used is None else used[kept].astype(np.int64)
    return data._replace(rows=part, n_features=len(kept)), kept


def _dense_columns(x: Array, offset: bool) -> Array:
    """Return the columns that are neither constant (zero if there is no offset) nor equal to one before."""
    n, d = x.shape
    for most in (FEW, SAMPLE):
        some = x[np.arange(0, n, -(-n // most))]
        still = (some == some[0]).all(axis=0) if offset else (some == 0).all(axis=0)
        _, first, group = np.unique(
            fingerprints(Dense(np.ascontiguousarray(some.T)), len(some)), return_index=True, return_inverse=True
        )
        if len(first) == d and not still.any():
            return np.arange(d)
    twin = first[group]  # the first column like this one
    for start in range(0, n if len(some) < n else 0, 4096):
        part = x[start : start + 4096]
        doubtful = np.flatnonzero(still)
        still[doubtful] = (part[:, doubtful] == (x[0, doubtful] if offset else 0)).all(axis=0)
        doubtful = np.flatnonzero(twin != np.arange(d))
        equal = (part[:, doubtful] == part[:, twin[doubtful]]).all(axis=0)
        twin[doubtful[~equal]] = doubtful[~equal]
        if not still.any() and (twin == np.arange(d)).all():
            break
    kept = np.flatnonzero(~still & (twin == np.arange(d)))
    return kept if len(kept) else np.arange(min(1, d))


def _sparse_columns(rows: Sparse, columns: Array, d: int) -> Array:
    """Return the columns that are not zero throughout, nor equal to one before."""
    counts, keys = np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.uint64)
    words = np.ascontiguousarray(rows.data).view(f"u{rows.data.dtype.itemsize}")
    _column_keys(rows.data, words, columns, rows.indptr, counts, keys)
    live = counts > 0
    numbers = np.flatnonzero(live)
    _, first = np.unique(keys[numbers], return_index=True)
    kept = np.sort(numbers[first])
    return kept if len(kept) else np.arange(min(1, d))


# ---------------------------------------------------------------------------------------------------------------
# Peeling


PEELINGS = 40  # rounds at most; each takes a look at some columns, and most tables need fewer than five
TABLE_CELLS = 1 << 24  # classes times columns, at most


class Peeled(NamedTuple):
    """Planes of one column or several, each weakly right for the rows that those before it hold."""

    planes: list[Separator]
    gone: list[Array]  # the rows that each of them has strictly on their side
    left: Array  # the rows that all of them hold: no other can be part of a contradiction


@np.errstate(all="ignore")
def peel(data: Data, clock: Clock, rounds: int = PEELINGS, equal: Array | None = None) -> Peeled:
    """Take away, again and again, the rows that a plane of one column has strictly on their side; for two classes.

    Rows marked ``equal`` are equations: they must lie on every such plane.
    """
    planes, gone, left = list[Separator](), list[Array](), np.arange(len(data.y))
    if equal is not None and equal.any():
        data = data._replace(y=np.where(equal, 2, data.y), classes=3)
    for _ in range(rounds if 2 * data.n_features <= TABLE_CELLS else 0):
        clock.check()
        if planes and np.count_nonzero(np.bincount(data.y[left], minlength=2)[:2]) < 2:
            break
        promising = _promising(data, left)
        numbers, upward, thresholds = _one_sided(*_ranges(data, left, promising), data.offset)
        if len(numbers) == 0:
            break
        chosen = np.flatnonzero(thresholds == 0)  # sums of several thresholds would round; most are zero
        if len(chosen) == 0:
            chosen = np.zeros(1, np.intp)
        columns, first = np.unique(promising[numbers[chosen]], return_index=True)
        w = np.zeros(data.n_features)
        w[columns] = np.where(upward[chosen[first]], 1.0, -1.0)
        b = -float(thresholds[chosen[0]] * w[columns[0]]) if thresholds[chosen[0]] else 0.0
        off = _scores(data, Separator(w, b), left) != 0
        if not off.any():
            break
        planes.append(Separator(w, b))
        gone.append(left[off])
        left = left[~off]
    return Peeled(planes, gone, left)


def _promising(data: Data, left: Array) -> Array:
    """Return the columns in which few of the rows that are left do not show that the classes overlap: most do so."""
    columns = np.arange(data.n_features)
    for size in (FEW, SAMPLE) if isinstance(data.rows, Dense) and len(left) > 2 * SAMPLE else ():
        some = left[:: -(-len(left) // size)]
        if np.count_nonzero(np.bincount(data.y[some], minlength=2)[:2]) == 2:  # labels may come in a pattern
            low, high = _ranges(data, some, columns)
            flat = np.flatnonzero(low.min(axis=0) == high.max(axis=0))  # what is rare may not be in the sample
            columns = columns[np.union1d(_one_sided(low, high, data.offset)[0], flat)]
    return columns


def _scores(data: Data, plane: Separator, which: Array) -> Floats:
    """Return ``w·x + b`` of some rows, where a plane of few columns looks at no others of dense rows."""
    columns = np.flatnonzero(plane.w)
    if isinstance(data.rows, Dense) and len(columns) < data.n_features:
        return np.asarray(_cells(data.rows.data, which, columns) @ plane.w[columns] + plane.b)
    return np.asarray(sums(data, plane.w, which) + plane.b)


def _cells(table: Array, which: slice | Array, columns: Array) -> Array:
    every = len(columns) == table.shape[1]
    part = table[which] if every or isinstance(which, slice) else table[which[:, None], columns]
    return np.ascontiguousarray(part if part.shape[1] == len(columns) else part[:, columns])


def _one_sided(low: Floats, high: Floats, offset: bool) -> tuple[Array, Array, Floats]:
    """Return columns in which one class is not below the other, whether it is the second, and a threshold between."""
    sides = []
    if len(low) > 2:  # equations belong to both sides
        low, high = np.minimum(low[:2], low[2]), np.maximum(high[:2], high[2])
    for upper in (1, 0):
        below, above = high[1 - upper], low[upper]
        fits = (below <= above) & np.isfinite(below) & np.isfinite(above) & (low.min(axis=0) < high.max(axis=0))
        middle = below / 2 + above / 2
        middle = np.where((middle < below) | (middle > above), above, middle)
        if not offset:
            fits, middle = fits & (below <= 0) & (above >= 0), np.zeros(len(middle))
        columns = np.flatnonzero(fits)
        sides.append((columns, np.full(len(columns), upper == 1), middle[columns]))
    columns, upward, thresholds = (np.concatenate(parts) for parts in zip(*sides, strict=True))
    return columns, upward, thresholds


@np.errstate(all="ignore")
def unpeeled(data: Data, peeled: Peeled, plane: Separator) -> Separator:
    """Return a plane that separates all rows, given one that does so with those that were left."""
    w, b = plane.w.astype(np.float64), float(plane.b)
    for step, gone in zip(reversed(peeled.planes), reversed(peeled.gone), strict=True):
        sign = 2.0 * data.y[gone] - 1
        ahead, behind = sign * _scores(data, step, gone), sign * _scores(data, Separator(w, b), gone)
        times = 2.0 ** np.ceil(np.log2(max(1.0, 2 * float((-behind / ahead).max(initial=0.0)))))
        w, b = w + times * step.w, b + times * step.b
    return Separator(w, b)


def weakly_beyond(data: Data, clock: Clock) -> Separator | None:
    """Return a plane of one column that one class is beyond or on, and no other beyond; rare classes first."""
    if data.classes * data.n_features > TABLE_CELLS:
        return None
    some = np.arange(0, len(data.y), -(-len(data.y) // (2 * SAMPLE)))
    low, high = _ranges(data, some, np.arange(data.n_features))
    flat = (low.min(axis=0) == high.max(axis=0)).any()  # what is rare may not be in the sample
    (least, next_least), (next_largest, largest) = np.sort(low, axis=0)[:2], np.sort(high, axis=0)[-2:]
    above = np.where(high == largest, next_largest, largest) <= low  # all other classes
    below = high <= np.where(low == least, next_least, least)
    promising = flat | (above | below).any(axis=1)  # a class that is not in the sample is above and below all
    sizes = np.bincount(data.y, minlength=data.classes)
    for c in [c for c in np.argsort(sizes, kind="stable").tolist() if sizes[c]][:CLASSES_TRIED]:
        if not promising[c]:
            continue
        peeled = peel(data._replace(y=(data.y == c).astype(np.intp), classes=2), clock, rounds=1)
        if peeled.planes:
            W, b = np.zeros((data.classes, data.n_features)), np.zeros(data.classes)
            W[c], b[c] = peeled.planes[0].w, peeled.planes[0].b
            return Separator(W, b)
    return None


CLASSES_TRIED = 40  # rare ones first: each takes a look at its promising columns


def _ranges(data: Data, which: Array, columns: Array) -> tuple[Floats, Floats]:
    """Return the least and largest value of columns in each class, (classes, columns) both.

    NaN spoils its own column, and so do integers that floats round.
    """
    tables: list[tuple[Floats, Floats]] = []
    shape = (data.classes, len(columns))

    def work(start: int, stop: int) -> None:
        low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
        if isinstance(data.rows, Dense):
            some = slice(start, stop) if len(which) == len(data.y) else which[start:stop]
            _dense_ranges(_cells(data.rows.data, some, columns), data.y[some], low, high)
        else:
            counts, rows = np.zeros(shape, dtype=np.int64), np.bincount(data.y[which], minlength=data.classes)
            _sparse_ranges(data.rows, which, data.y, low, high, counts, rows)
        tables.append((low, high))

    if isinstance(data.rows, Sparse):
        work(0, len(data.y))
    else:
        in_parallel(work, len(which), len(columns))
    low, high = np.min([low for low, _ in tables], axis=0), np.max([high for _, high in tables], axis=0)
    if data.rows.data.dtype.kind in "iu" and data.rows.data.dtype.itemsize == 8:
        large = ((np.abs(low) >= 2.0**53) & np.isfinite(low)) | ((np.abs(high) >= 2.0**53) & np.isfinite(high))
        low[:, large.any(axis=0)] = high[:, large.any(axis=0)] = np.nan
    return low, high


# ---------------------------------------------------------------------------------------------------------------
# Narrowing


def narrowed(data: Data, columns: Array) -> Data:
    """Return the data with some of their columns, dense."""
    if isinstance(data.rows, Dense):
        cells = np.ascontiguousarray(data.rows.data[:, columns])
    else:
        place = np.full(data.n_features, -1)
        place[columns] = np.arange(len(columns))
        cells = np.zeros((len(data.y), len(columns)), dtype=data.rows.data.dtype)
        lines = np.repeat(np.arange(len(cells)), np.diff(data.rows.indptr).astype(np.intp))
        kept = place[data.rows.indices] >= 0
        cells[lines[kept], place[data.rows.indices[kept]]] = data.rows.data[kept]
    cells.flags.writeable = False
    return data._replace(rows=Dense(cells), n_features=len(columns))


# ---------------------------------------------------------------------------------------------------------------
# Hashes


def fingerprints(rows: Rows, n_features: int) -> Array:
    """Return a hash of every row; rows of one storage that are equal, bit by bit, have equal ones."""
    n = len(rows.data) if isinstance(rows, Dense) else len(rows.indptr) - 1
    keys = np.zeros(n, dtype=np.uint64)

    def work(part: Any, start: int, stop: int) -> None:
        if isinstance(part, Dense):
            if part.data.shape[1]:
                size = math.gcd(part.data.shape[1] * part.data.dtype.itemsize, 8)
                words = part.data.view(f"u{size}")
                words.flags.writeable = False  # one compiled version serves all
                _hash_dense(words, keys[start:stop])
        else:
            words = part.data.view(f"u{part.data.dtype.itemsize}")
            _hash_sparse(words, part.indices, part.indptr, keys[start:stop])

    in_chunks(rows, n, n_features, work)
    return keys


_compiled = compiled(error_model="numpy")
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio, as in Knuth's multiplicative hashing


@_compiled
def _mixed(key, word):
    key = (key ^ word) * _MULTIPLIER
    return key ^ (key >> np.uint64(29))


@_compiled
def _hash_dense(words, keys):
    for i in range(keys.size):
        key = np.uint64(1)
        for j in range(words.shape[1]):
            key = _mixed(key, np.uint64(words[i, j]))
        keys[i] = key


@_compiled
def _hash_sparse(words, indices, indptr, keys):
    for i in range(keys.size):
        key = np.uint64(1)
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            key = _mixed(_mixed(key, np.uint64(indices[p])), np.uint64(words[p]))
        keys[i] = key


@_compiled
def _column_keys(data, words, columns, indptr, counts, keys):
    """Count the values of each column that are not zero, and add up a hash of them and the rows they are in."""
    for i in range(indptr.size - 1):
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            if data[p] != 0:
                j = columns[p]
                counts[j] += 1
                keys[j] += _mixed(_mixed(np.uint64(i + 1), np.uint64(words[p])), np.uint64(1))


@_compiled
def _dense_ranges(data, y, low, high):
    for i in range(y.size):
        for j in range(data.shape[1]):
            x = float(data[i, j])
            low[y[i], j] = min(low[y[i], j], x)
            high[y[i], j] = max(high[y[i], j], x)


@_compiled
def _sparse_ranges(stored, which, y, low, high, counts, rows):
    data, indices, indptr = stored
    for i in which:
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = indices[p]
            x = float(data[p])
            low[y[i], j] = min(low[y[i], j], x)
            high[y[i], j] = max(high[y[i], j], x)
            counts[y[i], j] += 1
    for c in range(low.shape[0]):
        for j in range(low.shape[1]):
            if counts[c, j] < rows[c]:  # the others are zero
                low[c, j] = min(low[c, j], 0.0)
                high[c, j] = max(high[c, j], 0.0)
