"""Reads NPY files, mapped into memory, and NPZ files with dense or sparse rows."""

from __future__ import annotations

import lzma
import math
import mmap
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from linsep.data.byte_streams import File, ReadError, complaints, one_line
from linsep.data.layout import ColumnError, find
from linsep.data.source import Options, Piece, Source
from linsep.data.sparse import csr_array, is_sparse
from linsep.problem import Array

_RELEASE = 1 << 26  # bytes of a mapped file that may be held
_WHOLE = 1 << 29  # bytes of an array that has to be read as a whole
_LARGE = 1 << 28  # bytes, from which on an archive is not believed if it is compressed more than so many times
_DENSEST = 200
_LONGEST_LABEL = 1 << 12  # bytes

# what NumPy has for headers that are not right
_HEADER = (ValueError, LookupError, EOFError, SyntaxError, TypeError, OverflowError, MemoryError, tokenize.TokenError)


class NpySource(Source):
    """Rows of a two-dimensional array; a column of it holds the labels."""

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        self._width = int(mapped(files[0]).shape[1])
        _check_width(self._width - options.labels, files[0].name, options)
        try:
            wanted = -1 if options.target is None else options.target
            self._target = find(wanted, [str(j) for j in range(self._width)]) if options.labels else None
        except ColumnError as error:
            raise ReadError(files[0].name, str(error), *error.settings) from None
        if options.n_features not in (None, self.n_features):
            raise ReadError(files[0].name, f"has {self.n_features} features, but {options.n_features} are expected")

    @property
    def target(self) -> int | None:
        """The column of the labels."""
        return self._target

    @property
    def n_features(self) -> int:
        """How many features a row has."""
        return self._width - (self._target is not None)

    def _read(self, file: File) -> Iterator[Piece]:
        array = mapped(file)
        if array.shape[1] != self._width:
            raise ReadError(file.name, f"has {array.shape[1]} columns, but {self.files[0].name} has {self._width}")
        height = max(1, self.options.block_bytes // max(1, array.itemsize * self._width))
        released = 0
        first, end = (0, len(array)) if file.part is None else file.part
        for start in range(first, end, height):
            block = array[start : min(start + height, end)]
            y = None
            if self._target is not None:
                y = np.array(block[:, self._target])
                block = np.delete(block, self._target, axis=1)
            file.position = min(start + height, len(array)) * self._width * array.itemsize
            if file.position > released + _RELEASE:
                _release(array)
                released = file.position
            yield complete(np.ascontiguousarray(block), y, self.options.missing, file.name, start)


def mapped(file: File) -> Any:
    """Map an NPY file into memory, or its rows at a URL; nothing in it is ever executed."""
    array: Any
    with complaints(file.name):
        try:
            whole = file.whole()
            if file.is_far:
                array = _FarRows(whole, file.name)
            else:
                array = np.load(whole, mmap_mode="r" if isinstance(whole, str) else None, allow_pickle=False)
        except _HEADER as error:
            raise ReadError(file.name, f"not an NPY file of numbers ({one_line(error)})") from None
    if not isinstance(array, np.ndarray | _FarRows) or len(array.shape) != 2 or array.dtype.kind not in "biuf":
        raise ReadError(file.name, "expected a two-dimensional array of real numbers")
    return array


class _FarRows:
    """Rows of an NPY file at a URL, fetched when they are asked for."""

    base = None

    def __init__(self, file: Any, name: str) -> None:
        version = npy.read_magic(file)
        header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        self.shape, fortran, self.dtype = header(file)
        if fortran or self.dtype.hasobject:
            raise ReadError(name, "at a URL an NPY file must hold numbers, row by row (C order)")
        self._file, self._first, self._name = file, file.tell(), name
        self.itemsize, self.nbytes = self.dtype.itemsize, math.prod(self.shape) * self.dtype.itemsize

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: slice) -> Array:
        start, stop, _ = rows.indices(len(self))
        row = self.shape[1] * self.itemsize
        self._file.seek(self._first + start * row)
        data = self._file.read((stop - start) * row)
        if len(data) < (stop - start) * row:
            raise ReadError(self._name, "is shorter than its header says")
        return np.frombuffer(data, dtype=self.dtype).reshape(stop - start, self.shape[1])


def _release(array: Array) -> None:
    """Let go of the pages of a mapped array that have been read; whoever looks at them again gets them back."""
    mapping: Any = array.base
    if isinstance(mapping, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


def complete(X: Array, y: Array | None, missing: str, name: str, start: int) -> Piece:
    """Deal with NaN, the missing value of arrays, and refuse infinity."""
    if y is not None and y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ReadError(name, f"row {start + int(np.argmax(~np.isfinite(y)))}: the label is not a finite number")
    if X.dtype.kind != "f" or np.isfinite(X).all():
        return Piece(X, y)
    bad = np.argwhere(np.isinf(X) if missing != "error" else ~np.isfinite(X))
    if len(bad):
        raise _bad(name, start + bad[0, 0], bad[0, 1], X[tuple(bad[0])])
    if missing == "zero":
        return Piece(np.nan_to_num(X, nan=0.0), y)
    kept = np.asarray(~np.isnan(X).any(axis=1))
    return Piece(X[kept], None if y is None else y[kept], kept)


def _check_width(width: int, name: str, options: Options) -> None:
    """Refuse rows without columns, and more of them than the user allows."""
    if width < 1:
        raise ReadError(name, "the rows have no columns")
    if options.n_features is None and width > options.max_features:
        raise ReadError(name, f"{width:,} columns are more than the limit", ("max_features", width))


def _bad(name: str, row: int, column: int, value: Any) -> ReadError:
    """Say that a value is NaN or infinite."""
    where = f"{name}: row {row}, column {column}"
    if np.isnan(value):
        return ReadError(where, "a missing value", ("missing", "zero"), ("missing", "drop"))
    return ReadError(where, "infinity")


class NpzSource(Source):
    """Rows of an archive: arrays ``X`` and ``y``, or the ``data, indices, indptr, shape`` of a CSR matrix, and ``y``.

    Arrays are read as they lie in the archive, a block at a time. An ``X`` in Fortran order is the exception: it has to
    be read as a whole.
    """

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        with _opened(files[0]) as archive:
            self._sparse, self._width = _kind(archive, files[0].name)
        _check_width(self._width, files[0].name, options)
        if options.n_features not in (None, self._width):
            raise ReadError(files[0].name, f"has {self._width} features, but {options.n_features} are expected")

    @property
    def n_features(self) -> int:
        """How many features a row has."""
        return self._width

    def _read(self, file: File) -> Iterator[Piece]:
        with _opened(file) as archive:
            if _kind(archive, file.name) != (self._sparse, self._width):
                raise ReadError(file.name, f"has other features than {self.files[0].name}")
            names = archive.namelist()
            if self.options.labels and "y.npy" not in names:
                raise ReadError(file.name, "has no labels: expected an array y")
            labels = _Member(archive, "y", file.name) if self.options.labels else None
            blocks = self._csr(archive, file.name) if self._sparse else self._dense(archive, file.name)
            done = 0
            for X, n in blocks:
                y = None
                if labels is not None:
                    if labels.shape != (n,):
                        raise ReadError(file.name, f"has {n} rows, but y has shape {labels.shape}")
                    if labels.dtype.itemsize > _LONGEST_LABEL:
                        raise ReadError(
                            file.name,
                            f"its labels take {labels.dtype.itemsize:,} bytes each, more than {_LONGEST_LABEL:,}",
                        )
                    y = _named(labels.take(X.shape[0]))
                done += X.shape[0]
                file.position = (file.size or 0) * done // n
                if is_sparse(X):
                    yield complete_sparse(X, y, self.options.missing, file.name, done - X.shape[0])
                else:
                    yield complete(X, y, self.options.missing, file.name, done - X.shape[0])

    def _dense(self, archive: zipfile.ZipFile, name: str) -> Iterator[tuple[Array, int]]:
        """Yield dense rows, and how many there are in all."""
        member = _Member(archive, "X", name)
        n, d = member.shape
        height = max(1, self.options.block_bytes // max(8, member.dtype.itemsize * d))
        if member.fortran and n * d * member.dtype.itemsize > _WHOLE:
            size = n * d * member.dtype.itemsize
            what = f"X is in Fortran order, which takes {size:,} bytes of memory at once: save it in C order"
            raise ReadError(name, what)
        whole = member.take(n * d).reshape(d, n).T if member.fortran else None
        for start in range(0, n, height):
            count = min(height, n - start)
            if whole is not None:
                yield np.ascontiguousarray(whole[start : start + count]), n
            else:
                yield member.take(count * d).reshape(count, d), n

    def _csr(self, archive: zipfile.ZipFile, name: str) -> Iterator[tuple[Any, int]]:
        """Yield sparse rows, and how many there are in all."""
        n, d = _shape(archive, name)
        data, indices, pointers = (_Member(archive, key, name) for key in ("data", "indices", "indptr"))
        if pointers.shape != (n + 1,) or data.shape != indices.shape or len(data.shape) != 1:
            raise ReadError(name, "the arrays of the CSR matrix do not fit together")
        if indices.dtype.kind not in "iu" or pointers.dtype.kind not in "iu" or data.dtype.kind not in "biuf":
            raise ReadError(name, "the arrays of the CSR matrix do not have the right types")
        bound = max(1, self.options.block_bytes // (data.dtype.itemsize + indices.dtype.itemsize))
        last = int(pointers.take(1)[0])
        for start in range(0, n, bound):
            ends = pointers.take(min(bound, n - start)).astype(np.int64)
            ends = np.concatenate(([last], ends))
            if (last != 0 and start == 0) or np.any(np.diff(ends) < 0) or ends[-1] > data.shape[0]:
                raise ReadError(name, "the row pointers of the CSR matrix are wrong")
            first = 0
            while first < len(ends) - 1:  # as many rows as make a block
                stop = max(first + 1, int(np.searchsorted(ends, ends[first] + bound, "right")) - 1)
                nnz = int(ends[stop] - ends[first])
                if nnz > max(bound, d):  # a single row
                    raise ReadError(name, f"a row of the CSR matrix has {nnz} values in {d} columns")
                columns = indices.take(nnz)
                if len(columns) and (columns.min() < 0 or columns.max() >= d):
                    raise ReadError(name, f"a column of the CSR matrix is not among its {d} columns")
                pointer = (ends[first : stop + 1] - ends[first]).astype(np.int32)
                X = csr_array((data.take(nnz), columns.astype(np.int32), pointer), (stop - first, d))
                if not X.has_canonical_format:
                    X = X.copy()  # what was read is read-only
                    X.sum_duplicates()
                yield X, n
                first = stop
            last = int(ends[-1])


class _Member:
    """An array in an archive, to be taken from its beginning to its end."""

    def __init__(self, archive: zipfile.ZipFile, key: str, name: str) -> None:
        self._stream: IO[bytes] = archive.open(f"{key}.npy")
        self._name, self._key = name, key
        try:
            version = npy.read_magic(self._stream)
            header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
            self.shape, self.fortran, self.dtype = header(self._stream)
        except _HEADER as error:
            raise ReadError(self._name, f"{self._key} is not an array that can be read ({one_line(error)})") from None
        if self.dtype.hasobject or self.dtype.names is not None:
            raise ReadError(self._name, f"{self._key} holds Python objects or records, which linsep does not read")
        claimed, member = math.prod(self.shape) * self.dtype.itemsize, archive.getinfo(f"{key}.npy")
        if claimed > member.file_size:
            raise ReadError(self._name, f"{self._key} is shorter than its header says")
        if claimed > max(_LARGE, _DENSEST * member.compress_size):
            raise ReadError(
                self._name,
                f"{self._key} would grow from {member.compress_size:,} to {claimed:,} bytes, as only an array of "
                "nearly equal numbers does; if it is one, save it uncompressed (numpy.savez)",
            )

    def take(self, count: int) -> Array:
        """Return the next ``count`` items."""
        size = count * self.dtype.itemsize
        data = self._stream.read(size)
        if len(data) < size:
            raise ReadError(self._name, f"{self._key} is shorter than its header says")
        return np.frombuffer(data, dtype=self.dtype)


@contextmanager
def _opened(file: File) -> Iterator[zipfile.ZipFile]:
    """Open an archive; whatever is wrong with it shows here or while it is read."""
    try:
        with complaints(file.name), ExitStack() as stack:
            whole = file.whole()
            if isinstance(whole, str):  # to be closed here: members that an error leaves open would keep it open
                whole = stack.enter_context(open(whole, "rb"))
            yield stack.enter_context(zipfile.ZipFile(whole))
    except ReadError:
        raise
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error) as error:
        raise ReadError(file.name, f"is damaged ({one_line(error)})") from None
    except (EOFError, LookupError, RuntimeError, ValueError) as error:  # what the zipfile module has for odd headers
        raise ReadError(file.name, f"is not a readable archive ({one_line(error)})") from None


def _kind(archive: zipfile.ZipFile, name: str) -> tuple[bool, int]:
    """Return whether an archive has sparse rows, and how many features."""
    keys = {key.removesuffix(".npy") for key in archive.namelist()}
    if {"data", "indices", "indptr", "shape"} <= keys:
        if "format" in keys and bytes(_Member(archive, "format", name).take(1).tobytes()).strip(b"\x00") != b"csr":
            raise ReadError(name, "holds a sparse matrix that is not in CSR format: convert it with .tocsr()")
        return True, _shape(archive, name)[1]
    if "X" not in keys:
        found = ", ".join(sorted(keys)) or "nothing"
        raise ReadError(name, f"expected arrays X and y, or data, indices, indptr, shape and y; the file holds {found}")
    member = _Member(archive, "X", name)
    if len(member.shape) != 2 or member.dtype.kind not in "biuf":
        raise ReadError(name, "X must be a two-dimensional array of real numbers")
    return False, int(member.shape[1])


def _shape(archive: zipfile.ZipFile, name: str) -> tuple[int, int]:
    """Return the shape of a CSR matrix."""
    member = _Member(archive, "shape", name)
    if member.shape != (2,) or member.dtype.kind not in "iu":
        raise ReadError(name, "shape must be two numbers")
    n, d = member.take(2).tolist()
    if n < 0 or not 0 <= d < 2**31:
        raise ReadError(name, f"{n} rows of {d} columns do not fit into memory")
    return int(n), int(d)


def _named(y: Array) -> Array:
    """Return labels, those that are strings as Python's."""
    if y.dtype.kind == "S":
        y = np.char.decode(y, "utf-8", "replace")
    return y.astype(object) if y.dtype.kind == "U" else y


def complete_sparse(X: Any, y: Array | None, missing: str, name: str, start: int) -> Piece:
    """Deal with NaN and infinity in sparse rows."""
    y = complete(np.empty((X.shape[0], 0)), y, missing, name, start).y
    if X.dtype.kind != "f" or np.isfinite(X.data).all():
        return Piece(X, y)
    coordinates = X.tocoo()
    bad = np.flatnonzero(np.isinf(X.data) if missing != "error" else ~np.isfinite(X.data))
    if len(bad):
        raise _bad(name, start + coordinates.row[bad[0]], coordinates.col[bad[0]], X.data[bad[0]])
    if missing == "zero":
        X.data = np.nan_to_num(X.data, nan=0.0)
        return Piece(X, y)
    kept = np.ones(X.shape[0], dtype=bool)
    kept[coordinates.row[np.isnan(X.data)]] = False
    return Piece(X[np.flatnonzero(kept)], None if y is None else y[kept], kept)
