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
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.lib import format as npy

from linsep.data.arrays import csr_array
from linsep.data.files import File, complaints, one_line
from linsep.data.options import Options
from linsep.data.schema import ColumnError, find
from linsep.data.source import Piece, Source, complete_rows
from linsep.errors import ReadError
from linsep.problem import Array

_RELEASE = 1 << 26  # bytes of a mapped file that may be held
_LARGE = 1 << 28  # bytes, from which on an archive is not believed if it is compressed more than so many times
_DENSEST = 200  # times the size of its file that a sparse array may take: what claims more is refused
_LONGEST_LABEL = 1 << 12  # bytes
_SPARSE = {"data", "indices", "indptr", "shape"}  # arrays of a CSR matrix

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
# what NumPy has for headers that are not right
_HEADER = (ValueError, LookupError, EOFError, SyntaxError, TypeError, OverflowError, MemoryError, tokenize.TokenError)


class NpySource(Source):
    """Rows of a two-dimensional array; a column of it holds the labels."""

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        self._width = int(mapped(files[0]).shape[1])
        try:
            wanted = -1 if options.target is None else options.target
            self.target = find(wanted, [str(j) for j in range(self._width)]) if options.labels else None
        except ColumnError as error:
            raise ReadError(files[0].name, str(error), *error.settings) from None
        self.n_features = self._width - options.labels
        self._check_width()

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
            if self.target is not None:
                y = np.array(block[:, self.target])
                block = np.delete(block, self.target, axis=1)
            file.position = min(start + height, len(array)) * self._width * array.itemsize
            if file.position > released + _RELEASE:
                _release(array)
                released = file.position
            yield _complete(np.ascontiguousarray(block), y, self.options.missing, file.name, start)


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
        self.shape, fortran, self.dtype = _HEADERS[npy.read_magic(file)](file)
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


def _complete(X: Any, y: Array | None, missing: str, name: str, start: int) -> Piece:
    """Deal with NaN and infinity in rows of a file, of which the first has the number ``start``."""
    if y is not None and y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ReadError(name, f"row {start + int(np.argmax(~np.isfinite(y)))}: the label is not a finite number")

    def wrong(row: int, column: int, value: float) -> ReadError:
        where = f"{name}: row {start + row}, column {column}"
        if math.isnan(value):
            return ReadError(where, "a missing value", ("missing", "zero"), ("missing", "drop"))
        return ReadError(where, "infinity")

    return complete_rows(X, y, missing, wrong)


class NpzSource(Source):
    """Rows of an archive, read as a whole: arrays ``X`` and ``y``, or those of ``scipy.sparse.save_npz``, and ``y``."""

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        with _opened(files[0]) as archive:
            self.n_features = _check_archive(archive, files[0].name, options.labels)
        self._check_width()

    def _read(self, file: File) -> Iterator[Piece]:
        with _opened(file) as archive:
            if _check_archive(archive, file.name, self.options.labels) != self.n_features:
                raise ReadError(file.name, f"has other features than {self.files[0].name}")
            dense = "indptr" not in archive.files
            X: Any = np.ascontiguousarray(archive["X"]) if dense else _sparse_rows(archive, file.name)
            y = archive["y"] if self.options.labels else None
        if y is not None and y.dtype.kind in "SU":  # strings of Python, as everywhere
            y = (np.char.decode(y, "utf-8", "replace") if y.dtype.kind == "S" else y).astype(object)
        n = X.shape[0]
        if y is not None and len(y) != n:
            raise ReadError(file.name, f"has {n} rows, but y has shape {y.shape}")
        row = (X.nbytes if dense else 12 * X.nnz) // max(1, n)
        height = max(1, self.options.block_bytes // max(8, row))
        for start in range(0, n, height):
            rows = slice(start, start + height)
            file.position = (file.size or 0) * min(n, rows.stop) // n
            yield _complete(X[rows], None if y is None else y[rows], self.options.missing, file.name, start)


@contextmanager
def _opened(file: File) -> Iterator[Any]:
    """Open an archive of arrays; whatever is wrong with it shows here or while it is read."""
    try:
        with complaints(file.name):
            whole = file.whole()
            opened = open(whole, "rb") if isinstance(whole, str) else whole  # noqa: SIM115 - NumPy might not close it
            with opened as raw, np.load(raw, allow_pickle=False) as archive:
                yield archive
    except ReadError:
        raise
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, *_HEADER, AttributeError) as error:
        raise ReadError(file.name, f"is damaged, or not an archive of arrays ({one_line(error)})") from None


def _check_archive(archive: Any, name: str, labels: bool) -> int:
    """Refuse an archive without the arrays that are wanted, or with ones that cannot be; return the number of columns.

    Headers are not believed: an array may not be larger than its bytes, nor a compressed one much larger.
    """
    keys = set(archive.files)
    wanted = sorted(_SPARSE if keys >= _SPARSE else {"X"}) + ["y"] * labels
    if not keys >= set(wanted[: -1 if labels else None]):
        listing = ", ".join(sorted(keys)) or "nothing"
        raise ReadError(name, f"expected arrays X and y, or those of a sparse matrix and y; the file holds {listing}")
    if labels and "y" not in keys:
        raise ReadError(name, "has no labels: expected an array y")
    shapes: dict[str, tuple[int, ...]] = {}
    for key in wanted:
        info = archive.zip.getinfo(f"{key}.npy")
        with archive.zip.open(info) as member:
            shapes[key], _, kind = _HEADERS[npy.read_magic(member)](member)
            stored = info.file_size - member.tell()
        claimed = math.prod(shapes[key]) * kind.itemsize
        if kind.hasobject or kind.names is not None:
            raise ReadError(name, f"{key} holds Python objects or records, which linsep does not read")
        if key == "X" and (len(shapes["X"]) != 2 or kind.kind not in "biuf"):
            raise ReadError(name, "X must be a two-dimensional array of real numbers")
        if claimed > stored or min(shapes[key], default=0) < 0:
            raise ReadError(name, f"{key} is shorter than its header says")
        if kind.itemsize > _LONGEST_LABEL:
            raise ReadError(name, f"its labels take {kind.itemsize:,} bytes each, more than {_LONGEST_LABEL:,}")
        if claimed > max(_LARGE, _DENSEST * info.compress_size):
            message = (
                f"{key} would grow from {info.compress_size:,} to {claimed:,} bytes, as only an array of nearly equal "
            )
            raise ReadError(name, message + "numbers does; if it is one, save it uncompressed (numpy.savez)")
    if "X" not in shapes and (shapes["shape"] != (2,) or archive["shape"].dtype.kind not in "iu"):
        raise ReadError(name, "shape must be two numbers")
    if labels and len(shapes["y"]) != 1:
        raise ReadError(name, f"y has shape {shapes['y']}, not one label for each row")
    return int(shapes["X"][1] if "X" in shapes else archive["shape"][1])


def _sparse_rows(archive: Any, name: str) -> Any:
    """Return the CSR matrix of an archive; compiled code follows its indices unchecked."""
    if "format" in archive.files and archive["format"].item() not in (b"csr", "csr"):
        raise ReadError(name, "holds a sparse matrix that is not in CSR format: convert it with .tocsr()")
    data, indices, ends = archive["data"], archive["indices"], archive["indptr"].astype(np.int64)
    n, d = (int(size) for size in archive["shape"])
    if not (data.ndim == indices.ndim == 1 and len(data) == len(indices) and len(ends) == n + 1 and 0 <= d < 2**31):
        raise ReadError(name, "the arrays of the CSR matrix do not fit together")
    if {indices.dtype.kind, archive["indptr"].dtype.kind} - {"i", "u"} or data.dtype.kind not in "biuf":
        raise ReadError(name, "the arrays of the CSR matrix do not have the right types")
    if ends[0] != 0 or (np.diff(ends) < 0).any() or ends[-1] > len(data):
        raise ReadError(name, "the row pointers of the CSR matrix are wrong")
    if len(indices) and (indices.min() < 0 or indices.max() >= d):
        raise ReadError(name, f"a column of the CSR matrix is not among its {d} columns")
    kind = np.int32 if ends[-1] < 2**31 else np.int64
    X = csr_array((data[: ends[-1]], indices[: ends[-1]].astype(kind), ends.astype(kind)), (n, d))
    X.sum_duplicates()
    return X
