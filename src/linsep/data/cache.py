"""Keeps arrays in mapped files without names: the rows of a source between passes, and arrays as large as the data.

How much of them stays in memory is up to the page cache of the system, and nothing is left of them when the process
ends, however it ends. A disk is not filled up.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import tempfile
import weakref
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linsep.compiling import compiled
from linsep.data.arrays import is_sparse, sorted_csr, stack
from linsep.data.labels import classes_and_codes, join_labels, object_array
from linsep.errors import ParameterError
from linsep.problem import Array, Dense, Rows, Sparse, count, take

IN_MEMORY = 1 << 25  # bytes of an array that is simply allocated
_PIECE = 1 << 22  # bytes that are copied at a time
_SPARE = 1 << 28  # bytes that stay free on the disk
_ALIGNED = 8  # bytes: no number is larger
_WIDEST = 2**31 - 1  # of 32 bits
_ROW_CELLS = 1 << 7  # stored numbers for each row that is asked for: blocks of longer rows have fewer of them
_VALUES, _COLUMNS, _ENDS, _LABELS = range(4)  # files of a store
_SLACK = 8  # a new buffer is an eighth larger than asked for, so that the next block fits, too


class NoRoomError(OSError):
    """The disk has no room for the rows."""


def check_cache(cache: str) -> None:
    """Refuse what says nothing about where to keep rows."""
    if cache not in ("auto", "none") and not os.path.isdir(cache):
        raise ParameterError("cache", cache, "'auto', 'none' or a folder that exists")


def folder_of(cache: str) -> str:
    """Return the folder for temporary files that ``cache`` means."""
    return tempfile.gettempdir() if cache in ("auto", "none") else cache


def _has_room(folder: str, size: int) -> bool:
    try:
        return shutil.disk_usage(folder).free >= size + _SPARE
    except OSError:
        return False


# ---------------------------------------------------------------------------------------------------------------
# Rows of a source


class _Kind(NamedTuple):
    """Types of the rows and labels of a segment."""

    values: np.dtype[Any]
    columns: np.dtype[Any] | None  # of column numbers, None for dense rows
    width: int | None  # of dense rows
    labels: np.dtype[Any] | None  # None without labels
    coded: bool  # labels are objects, and the file has their codes


@dataclass
class _Segment:
    """Consecutive rows of one kind."""

    kind: _Kind
    offsets: list[int]  # in bytes, in each file
    first_row: int
    rows: int = 0
    stored: int = 0  # numbers of sparse rows


class RowStore:
    """Rows and labels in mapped files of a folder: appended block by block, then read in any number of passes."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.rows = self.n_features = 0
        self.read = 0  # bytes of the files that the rows come from
        self._files = [
            tempfile.TemporaryFile(dir=folder, prefix="linsep-", buffering=0)  # noqa: SIM115 - see close
            for _ in (_VALUES, _COLUMNS, _ENDS, _LABELS)
        ]
        self._lengths = [0] * len(self._files)
        self._segments: list[_Segment] = []
        self._codes: dict[Any, int] = {}  # of labels that are objects
        self._maps: dict[int, mmap.mmap] = {}

    def append(self, X: Any, y: Array | None) -> None:
        """Add a copy of some rows at the end; raises NoRoomError."""
        coded = y is not None and y.dtype.hasobject
        if y is not None and coded:
            classes, codes = classes_and_codes(y)
            known = [self._codes.setdefault(label, len(self._codes)) for label in classes.tolist()]
            y = np.array(known, np.int32)[codes]
        sparse = is_sparse(X)
        index, width = (X.indices.dtype, None) if sparse else (None, X.shape[1])
        kind = _Kind(X.dtype, index, width, None if y is None else y.dtype, coded)
        if not self._segments or self._segments[-1].kind != kind:
            for place, length in enumerate(self._lengths):
                self._write(place, np.zeros(-length % _ALIGNED, np.uint8))
            self._segments.append(_Segment(kind, list(self._lengths), self.rows))
        segment = self._segments[-1]
        self._write(_VALUES, X.data if sparse else X)
        if sparse:
            self._write(_COLUMNS, X.indices)
            self._write(_ENDS, X.indptr[1:] + np.int64(segment.stored - X.indptr[0]))
            segment.stored += len(X.data)
        if y is not None:
            self._write(_LABELS, y)
        segment.rows += X.shape[0]
        self.rows += X.shape[0]
        self.n_features = max(self.n_features, X.shape[1])

    def _write(self, place: int, array: Array) -> None:
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        if len(data) and not _has_room(self.folder, len(data)):
            raise NoRoomError(errno.ENOSPC, "no space left for rows", self.folder)
        self._lengths[place] += len(data)
        try:
            while data:
                data = data[self._files[place].write(data) :]
        except OSError as error:  # somebody else may have filled the disk
            raise NoRoomError(error.errno, error.strerror, self.folder) from error

    @property
    def bytes(self) -> int:
        """How large the files are together."""
        return sum(self._lengths)

    def close(self) -> None:
        """Let go of the files; arrays that were returned stay."""
        for file in self._files:
            file.close()

    def blocks(self, most: int) -> Iterator[tuple[Any, Array | None, int]]:
        """Yield rows, labels and the number of the first row, ``most`` rows at a time, fewer if they are long.

        The rows lie in their files and cannot be written to.
        """
        for segment in self._segments:
            start = 0
            while start < segment.rows:
                stop = min(start + most, self._stop(segment, start, most * _ROW_CELLS))
                X = self._rows(segment, start, stop)
                for array in (X.data, X.indices, X.indptr) if is_sparse(X) else (X,):
                    array.flags.writeable = False
                yield X, self._labels(segment, start, stop), segment.first_row + start
                start = stop

    def whole(self) -> tuple[Any, Array | None]:
        """Return all rows and all labels, of one kind without a copy."""
        parts = [self._rows(segment, 0, segment.rows) for segment in self._segments]
        labels = [self._labels(segment, 0, segment.rows) for segment in self._segments]
        y = join_labels([part for part in labels if part is not None])
        if is_sparse(parts[0]):
            return parts[0] if len(parts) == 1 else stack(parts, self.n_features), y
        return parts[0] if len(parts) == 1 else np.concatenate(parts), y

    def _stop(self, segment: _Segment, start: int, cells: int) -> int:
        """Return where rows with about this number of cells end, one row at least."""
        if segment.kind.width is not None:
            return min(segment.rows, start + max(1, cells // max(1, segment.kind.width)))
        ends = self._array(_ENDS, segment, np.int64, 0, segment.rows)
        first = int(ends[start - 1]) if start else 0
        return max(start + 1, int(np.searchsorted(ends, first + cells, side="right")))

    def _rows(self, segment: _Segment, start: int, stop: int) -> Any:
        values, index, width = segment.kind[:3]
        if width is not None:
            return self._array(_VALUES, segment, values, start * width, stop * width).reshape(stop - start, width)
        ends = self._array(_ENDS, segment, np.int64, 0, stop)
        first, last = int(ends[start - 1]) if start else 0, int(ends[-1])
        columns = self._array(_COLUMNS, segment, index, first, last)
        if last - first > _WIDEST:
            columns = columns.astype(np.int64, copy=False)
        indptr = np.zeros(stop - start + 1, columns.dtype)
        np.subtract(ends[start:], first, out=indptr[1:], casting="unsafe")
        return sorted_csr(
            (self._array(_VALUES, segment, values, first, last), columns, indptr), (stop - start, self.n_features)
        )

    def _labels(self, segment: _Segment, start: int, stop: int) -> Array | None:
        if segment.kind.labels is None:
            return None
        y = self._array(_LABELS, segment, segment.kind.labels, start, stop)
        return object_array(list(self._codes))[y] if segment.kind.coded else y

    def _array(self, place: int, segment: _Segment, dtype: Any, start: int, stop: int) -> Array:
        if start == stop:
            return np.empty(0, dtype)
        if place not in self._maps:
            self._maps[place] = mmap.mmap(self._files[place].fileno(), self._lengths[place])
        offset = segment.offsets[place] + start * np.dtype(dtype).itemsize
        return np.frombuffer(self._maps[place], dtype, stop - start, offset)


# ---------------------------------------------------------------------------------------------------------------
# Arrays as large as the data


def mapped_array(shape: tuple[int, ...], dtype: Any) -> Array:
    """Return an array of undefined content, in a mapped file if it is large."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    folder = folder_of("auto")
    if size > IN_MEMORY and _has_room(folder, size):
        with tempfile.TemporaryFile(dir=folder, prefix="linsep-") as file:
            os.ftruncate(file.fileno(), size)
            return np.frombuffer(mmap.mmap(file.fileno(), size), dtype).reshape(shape)
    return np.empty(shape, dtype)


def some_rows(rows: Rows, which: Array) -> Rows:
    """Copy some rows, as ``take`` does, without holding many of them in memory."""
    n = count(rows)
    row_bytes = sum(part.nbytes for part in rows) // max(1, n)
    if isinstance(rows, Dense) and len(which) * row_bytes <= IN_MEMORY:
        return take(rows, which)
    if isinstance(rows, Dense):
        copied = mapped_array((len(which), rows.data.shape[1]), rows.data.dtype)
        step = max(1, _PIECE // max(1, row_bytes))
        for start in range(0, len(which), step):
            copied[start : start + step] = rows.data[which[start : start + step]]
        copied.flags.writeable = False
        return Dense(copied)
    indptr = np.zeros(len(which) + 1, rows.indptr.dtype)
    np.cumsum(np.diff(rows.indptr)[which], out=indptr[1:])
    data, indices = (mapped_array((int(indptr[-1]),), part.dtype) for part in rows[:2])
    _copy_rows(rows.data, rows.indices, rows.indptr, which, data, indices)
    for array in (data, indices, indptr):
        array.flags.writeable = False
    return Sparse(data, indices, indptr)


def some_columns(x: Array, columns: Array) -> Array:
    """Copy some columns of an array, in C order, without holding many of them in memory."""
    copied = mapped_array((len(x), len(columns)), x.dtype)
    step = max(1, _PIECE // max(1, x.shape[1] * x.dtype.itemsize))
    for start in range(0, len(x), step):
        copied[start : start + step] = x[start : start + step, columns]
    return copied


def renumbered(rows: Sparse, places: Array, position: Array) -> Sparse:
    """Copy sparse rows with ``position[place]`` for the place of every value, leaving out those below 0."""
    indptr = np.zeros_like(rows.indptr)
    _count_kept(rows.indptr, places, position, indptr)
    data, indices = (mapped_array((int(indptr[-1]),), part.dtype) for part in rows[:2])
    _copy_kept(rows.data, rows.indptr, places, position, data, indices)
    return Sparse(data, indices, indptr)


@compiled(error_model="numpy")
def _copy_rows(data, indices, indptr, which, some, columns):  # type: ignore[no-untyped-def]
    q = 0
    for k in range(which.size):
        for p in range(indptr[which[k]], indptr[which[k] + 1]):
            some[q] = data[p]
            columns[q] = indices[p]
            q += 1


@compiled(error_model="numpy")
def _count_kept(indptr, places, position, kept):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            total += position[places[p]] >= 0
        kept[i + 1] = total


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


# ---------------------------------------------------------------------------------------------------------------
# Memory for block after block


class Buffers:
    """Allocates arrays; an array's memory is used again once neither it nor a view of it exists.

    New memory comes from the system page by page, each of them cleared: for text, a tenth of the time of reading.
    """

    def __init__(self) -> None:
        self._free: defaultdict[np.dtype[Any], list[Array]] = defaultdict(list)

    def empty(self, size: int, dtype: Any = float) -> Array:
        """Return an array of undefined content."""
        free = self._free[np.dtype(dtype)]
        try:  # not "if free": another thread may take the last piece in between
            memory = free.pop()
        except IndexError:
            memory = np.empty(0, dtype)
        if len(memory) < size:
            memory = np.empty(size + size // _SLACK, dtype)
        # a memoryview is no array, so views of the array keep the array itself, not what lies below
        array = np.frombuffer(memory.data, dtype, size)
        weakref.finalize(array, free.append, memory).atexit = False
        return array
