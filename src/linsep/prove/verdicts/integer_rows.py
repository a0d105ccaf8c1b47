"""Inequalities as rows of integers, in flint's matrices, for exact algebra."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import nmod_mat

from linsep.clock import Clock
from linsep.problem import Array, Dense, Rows, Sparse, mantissas, take
from linsep.prove.claims import Data
from linsep.prove.exact import algebra
from linsep.prove.verdicts import kesler

_CELL = 2e-7  # seconds to write out a number
_WORD = 62  # binary digits that fit into a machine integer


def integer_rows(data: Data, pairs: Array, clock: Clock) -> tuple[Any, list[int]]:
    """Return inequalities in the weights themselves as integer rows, and the power of two each was divided by."""
    clock.check(_CELL * len(pairs) * (data.classes - 1) * (data.n_features + data.offset))
    numbers, shifts = _whole(data.rows, pairs // data.classes, np.arange(data.n_features), data.offset)
    return algebra.matrix(_blocks(data, pairs, numbers)), shifts


def packed_rows(data: Data, pairs: Array, clock: Clock) -> tuple[Any, list[int], Array]:
    """Return integer rows and powers of two as ``integer_rows`` does, in the columns in use, and these."""
    part = take(data.rows, pairs // data.classes)
    used = np.unique(part.indices).astype(np.intp) if isinstance(part, Sparse) else np.arange(data.n_features)
    clock.check(_CELL * len(pairs) * (data.classes - 1) * (len(used) + data.offset))
    numbers, shifts = _whole(part, np.arange(len(pairs)), used, data.offset)
    block = np.append(used, data.n_features) if data.offset else used
    places = np.arange(data.classes - 1)[:, None] * (data.n_features + data.offset) + block
    return algebra.matrix(_blocks(data, pairs, numbers)), shifts, places.ravel()


def _blocks(data: Data, pairs: Array, numbers: Array) -> Array:
    return kesler.differences(numbers, kesler.marks(pairs, data.y, data.classes, data.classes - 1))


def _whole(rows: Rows, which: Array, columns: Array, offset: bool) -> tuple[Array, list[int]]:
    """Return some rows in some columns as integers, each times a power of two, and these: int64 if they fit into it."""
    part = take(rows, which)
    if isinstance(part, Dense):
        cells = part.data[:, columns]
    else:
        cells = np.zeros((len(which), len(columns)), dtype=part.data.dtype)
        lines = np.repeat(np.arange(len(which)), np.diff(part.indptr).astype(np.intp))
        places = np.searchsorted(columns, part.indices.astype(np.int64))
        there = columns[np.minimum(places, len(columns) - 1)] == part.indices if len(columns) else places < 0
        cells[lines[there], places[there]] = part.data[there]
    if cells.dtype.kind != "f":
        numbers = cells.astype(np.int64 if cells.dtype.itemsize < 8 else object)  # -2**63 has no opposite
        return (np.column_stack((numbers, np.ones(len(cells), numbers.dtype))) if offset else numbers), [0] * len(cells)
    digits, exponents = mantissas(cells)
    # a number that is short in binary need not be written out to 53 digits
    trailing = np.where(digits == 0, 0, np.frexp((digits & -digits).astype(np.float64))[1] - 1)
    exponents = np.where(digits == 0, 2000, exponents + trailing)
    digits >>= trailing
    shifts = exponents.min(axis=1, initial=2000)
    shifts = np.minimum(shifts, 0) if offset else np.where(shifts == 2000, 0, shifts)
    up = np.where(digits == 0, 0, exponents - shifts[:, None])
    lengths = np.frexp(np.abs(digits).astype(np.float64))[1] + up
    if max(lengths.max(initial=0), -int(shifts.min(initial=0)) if offset else 0) < _WORD:
        numbers = digits << up
        ones = np.left_shift(1, -shifts) if offset else None
    else:
        numbers = digits.astype(object) << up.astype(object)
        ones = np.array([1 << -int(shift) for shift in shifts], dtype=object) if offset else None
    return (numbers if ones is None else np.column_stack((numbers, ones))), shifts.tolist()


def independent_columns(data: Data, clock: Clock) -> Array:
    """Return features that, with the constant of the offset, all others depend on: almost surely.

    What rows cancel in these, they cancel in all columns, so that no others are needed to decide.
    """
    n = len(data.y)
    kept = np.empty(0, np.intp)
    if isinstance(data.rows, Sparse):  # the fullest first
        left = np.argsort(-np.bincount(data.rows.indices.astype(np.intp), minlength=data.n_features), kind="stable")
    else:
        left = np.arange(data.n_features)
    everyone = np.arange(n)
    while len(left) and len(kept) < n:
        size = max(64, n)
        some, left = np.concatenate((kept, left[:size])), left[size:]
        clock.check(1e-9 * n**2 * len(some))
        order = np.argsort(some)
        numbers, _ = _whole(data.rows, everyone, some[order], data.offset)
        back = np.argsort(order)
        numbers = numbers[:, np.append(len(back), back) if data.offset else back]
        found = algebra.leading(*nmod_mat(algebra.matrix(numbers), algebra.PRIME).rref())
        kept = some[[k - data.offset for k in found if k >= data.offset]]
    return np.sort(kept)
