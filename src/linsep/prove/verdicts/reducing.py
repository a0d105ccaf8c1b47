"""Removes columns and rows that cannot change a verdict: zero, constant and equal columns, repeated rows.

It drops columns that are zero in every row, constant (the offset does the same) or equal to another, and counts
repeated rows once. The proof for the rest is then extended to all data: dropped columns get weight zero, and the first
of several equal rows stands for all. Hashes decide equality of whole columns and rows; the proof is checked on all of
the data in the end, so a collision does no harm.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.compiling import compiled
from linsep.data.scratch import renumbered, some_columns, some_rows
from linsep.problem import Array, Dense, Rows, Sparse, take
from linsep.prove.claims import Data, Refutation, Separator
from linsep.prove.verdicts.case import Certificate
from linsep.prove.verdicts.scaled import in_chunks

SAMPLE = 1024  # rows that show whether a look at all of them is worth while
FEW = 64  # rows that most often show that nothing can be left out
PLANE_CELLS = 1 << 32  # weights of a plane, at most
COPY_CELLS = 1 << 24  # dense data are copied for the sake of a few columns only if they are not larger
COPY_SHARE = 0.1  # else only for this share of columns; and of rows for those that repeat


class Reduction(NamedTuple):
    """Data without what has no say, and how to speak of all of them again."""

    data: Data
    whole: Data
    columns: Array | None  # numbers of the columns that are left, None for all
    rows: Array | None  # numbers of the rows that are left, None for all
    contradicting: Array  # (m, 2) rows, as they are numbered here, that are equal but of different classes

    @property
    def changed(self) -> bool:
        """Whether anything was left out."""
        return self.columns is not None or self.rows is not None

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

    def put_back(self, found: Certificate) -> Certificate:
        """Return a certificate for all of the data."""
        plane, refutation = found.separator, found.refutation
        if refutation is not None and self.rows is not None:
            refutation = Refutation(self.rows[refutation.rows], refutation.multipliers, refutation.rivals)
        return Certificate(found.kind, None if plane is None else self.plane(plane), refutation)


def reduced(data: Data, clock: Clock) -> Reduction:
    """Leave out columns and rows that have no say."""
    clock.check((1e-9 if isinstance(data.rows, Dense) else 2e-8) * data.rows.data.size)
    narrow, columns = _without_columns(data)
    numbers = np.empty(0, dtype=np.intp)
    n = len(data.y)
    some = np.arange(0, n, -(-n // SAMPLE))
    rows, contradicting = None, np.empty((0, 2), np.intp)
    if _repeating(narrow, some):
        numbers, contradicting = _repeats(narrow)
        if len(numbers) <= (1 - COPY_SHARE) * n:
            rows = numbers
            narrow = narrow._replace(rows=some_rows(narrow.rows, rows), y=narrow.y[rows])
            contradicting = np.searchsorted(rows, contradicting)
    return Reduction(narrow, data, columns, rows, contradicting)


def _repeating(data: Data, some: Array) -> bool:
    """Return whether two of some rows are equal."""
    if isinstance(data.rows, Dense) and data.n_features and len(np.unique(data.rows.data[some, 0])) == len(some):
        return False  # their first cells tell them apart
    return len(np.unique(fingerprints(take(data.rows, some), data.n_features))) < len(some)


def _repeats(data: Data) -> tuple[Array, Array]:
    """Return the first of all rows that are equal and of one class, and pairs of equal rows of different classes."""
    keys = fingerprints(data.rows, data.n_features)
    order = np.lexsort((data.y, keys))  # stable: the first comes first
    same = keys[order[1:]] == keys[order[:-1]]
    again = same & (data.y[order[1:]] == data.y[order[:-1]])
    first = order[~np.concatenate(([False], again))]
    # neighbors of one key among the first ones differ in class
    apart = keys[first[1:]] == keys[first[:-1]]
    pairs = np.sort(np.column_stack((first[:-1][apart], first[1:][apart])), axis=1)
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
        used, places = None, rows.indices
        if data.n_features > 2 * len(rows.data) + SAMPLE:  # no array is to have so many entries
            used, inverse = np.unique(rows.indices, return_inverse=True)
            places = inverse.astype(rows.indices.dtype)
        kept = _sparse_columns(rows, places, data.n_features if used is None else len(used), data.offset)
        if len(kept) == data.n_features:
            return data, None
        position = np.full(data.n_features if used is None else len(used), -1, dtype=np.int64)
        position[kept] = np.arange(len(kept))
        part = renumbered(rows, places, position)
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


def _sparse_columns(rows: Sparse, places: Array, d: int, offset: bool) -> Array:
    """Return the columns that are not zero throughout, not constant, nor equal to one before."""
    n = len(rows.indptr) - 1
    counts, keys = np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.uint64)
    words = np.ascontiguousarray(rows.data).view(f"u{rows.data.dtype.itemsize}")
    _column_keys(rows.data, words, places, rows.indptr, counts, keys)
    live = counts > 0
    if offset:  # a constant column has all n values, and the key that they give
        full = np.flatnonzero(counts == n)
        spread = np.zeros(d, dtype=bool)
        spread[full] = True
        _not_constant(rows.data, places, spread, np.zeros(d), np.zeros(d, dtype=bool))
        live[spread] = False
    numbers = np.flatnonzero(live)
    _, first = np.unique(keys[numbers], return_index=True)
    kept = np.sort(numbers[first])
    return kept if len(kept) else np.arange(min(1, d))


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
    """Return a hash of what came before and one word more."""
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
def _column_keys(data, words, places, indptr, counts, keys):
    """Count the values of each column that are not zero, and add up a hash of them and the rows they are in."""
    for i in range(indptr.size - 1):
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            if data[p] != 0:
                j = places[p]
                counts[j] += 1
                keys[j] += _mixed(_mixed(np.uint64(i + 1), np.uint64(words[p])), np.uint64(1))


@_compiled
def _not_constant(data, places, spread, values, met):
    """Take columns out of ``spread`` in which two values differ."""
    for p in range(data.size):
        j = places[p]
        if spread[j]:
            if not met[j]:
                met[j] = True
                values[j] = data[p]
            elif values[j] != data[p]:
                spread[j] = False
