"""Arrays as large as the data: beyond a few megabytes in unnamed mapped files, not in memory."""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import Any

import numpy as np

from linsep.compiling import compiled
from linsep.data.cache import folder_of, has_room
from linsep.problem import Array, Dense, Rows, Sparse, count, take

IN_MEMORY = 1 << 26  # bytes of an array that is simply allocated
_PIECE = 1 << 22  # bytes that are copied at a time


def scratch(shape: tuple[int, ...], dtype: Any) -> Array:
    """Return room for an array; what is in it at first is not defined."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    folder = folder_of("auto")
    if size > IN_MEMORY and has_room(folder, size):
        with tempfile.TemporaryFile(dir=folder, prefix="linsep-") as file:
            os.ftruncate(file.fileno(), size)
            return np.frombuffer(mmap.mmap(file.fileno(), size), dtype).reshape(shape)
    return np.empty(shape, dtype)


def some_rows(rows: Rows, which: Array) -> Rows:
    """Copy some rows, as ``take`` does, without holding many of them in memory."""
    n = count(rows)
    row_bytes = sum(part.nbytes for part in rows) // max(1, n)
    if len(which) * row_bytes <= IN_MEMORY:
        return take(rows, which)
    if isinstance(rows, Dense):
        found = scratch((len(which), rows.data.shape[1]), rows.data.dtype)
        step = max(1, _PIECE // max(1, row_bytes))
        for start in range(0, len(which), step):
            found[start : start + step] = rows.data[which[start : start + step]]
        found.flags.writeable = False
        return Dense(found)
    indptr = np.zeros(len(which) + 1, rows.indptr.dtype)
    _lengths(rows.indptr, which, indptr)
    data, indices = scratch((int(indptr[-1]),), rows.data.dtype), scratch((int(indptr[-1]),), rows.indices.dtype)
    _copy_rows(rows.data, rows.indices, rows.indptr, which, data, indices)
    data.flags.writeable = False
    return Sparse(data, indices, indptr)


def some_columns(x: Array, columns: Array) -> Array:
    """Copy some columns of an array, in C order, without holding many of them in memory."""
    found = scratch((len(x), len(columns)), x.dtype)
    step = max(1, _PIECE // max(1, x.shape[1] * x.dtype.itemsize))
    for start in range(0, len(x), step):
        found[start : start + step] = x[start : start + step, columns]
    return found


def renumbered(rows: Sparse, places: Array, position: Array) -> Sparse:
    """Copy sparse rows with ``position[place]`` for the place of every value, leaving out those below 0."""
    indptr = np.zeros_like(rows.indptr)
    _count_kept(rows.indptr, places, position, indptr)
    data, indices = scratch((int(indptr[-1]),), rows.data.dtype), scratch((int(indptr[-1]),), rows.indices.dtype)
    _copy_kept(rows.data, rows.indptr, places, position, data, indices)
    return Sparse(data, indices, indptr)


@compiled(error_model="numpy")
def _lengths(indptr, which, found):  # type: ignore[no-untyped-def]
    for k in range(which.size):
        found[k + 1] = found[k] + (indptr[which[k] + 1] - indptr[which[k]])


@compiled(error_model="numpy")
def _copy_rows(data, indices, indptr, which, some, columns):  # type: ignore[no-untyped-def]
    q = 0
    for k in range(which.size):
        for p in range(indptr[which[k]], indptr[which[k] + 1]):
            some[q] = data[p]
            columns[q] = indices[p]
            q += 1


@compiled(error_model="numpy")
def _count_kept(indptr, places, position, found):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            total += position[places[p]] >= 0
        found[i + 1] = total


@compiled(error_model="numpy")
def _copy_kept(data, indptr, places, position, some, columns):  # type: ignore[no-untyped-def]
    q = 0
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            j = position[places[p]]
            if j >= 0:
                some[q] = data[p]
                columns[q] = j
                q += 1
