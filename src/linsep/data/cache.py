"""Blocks that have been read once, kept for later passes: in memory up to a budget, beyond it in a mapped file.

The file has no name, so that nothing is left of it when the process ends, however it ends. Nothing is kept when the
disk would fill up: the source is then read again in every pass, and a note says so.
"""

from __future__ import annotations

import mmap
import shutil
import tempfile
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np

from linsep.data.labels import classes_and_codes
from linsep.data.sparse import csr_array, is_sparse
from linsep.errors import ParameterError
from linsep.problem import Array

_ALIGNED = 64  # bytes: where arrays begin in the file
_SPARE = 1 << 28  # bytes that stay free on the disk


class _Place(NamedTuple):
    """Where an array lies in the file."""

    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class _Kept(NamedTuple):
    """One block: the parts of its rows, its labels, and where it belongs."""

    parts: tuple[Array | _Place, ...]  # one array, or values, column numbers and row pointers
    width: int
    y: Array | _Place | None
    classes: Array | None  # of labels that are objects; y has their numbers
    first_row: int


class BlockCache:
    """The blocks of a source, as they were in the first pass.

    Parameters
    ----------
    cache : str
        ``"auto"``: the file is in the folder for temporary files; otherwise its folder.
    cache_mb : int
        Megabytes that are kept in memory.
    """

    def __init__(self, cache: str = "auto", cache_mb: int = 256) -> None:
        if cache_mb < 0:
            raise ParameterError("cache_mb", cache_mb, "0 or more")
        self.folder = tempfile.gettempdir() if cache == "auto" else cache
        self.complete = self.refused = False
        self.size = 0  # bytes of the files
        self._room = self._budget = cache_mb << 20
        self._blocks: list[_Kept] = []
        self._file: IO[bytes] | None = None
        self._length = 0
        self._map: mmap.mmap | None = None

    def add(self, X: Any, y: Array | None, first_row: int) -> bool:
        """Keep a block; say whether there was room for it. Kept arrays must not be changed any more."""
        classes = None
        if y is not None and y.dtype.hasobject:
            classes, y = classes_and_codes(y)
        arrays = [X.data, X.indices, X.indptr] if is_sparse(X) else [np.ascontiguousarray(X)]
        size = sum(array.nbytes for array in arrays) + (0 if y is None else y.nbytes)
        if size <= self._room:
            self._room -= size
            kept = [_frozen(array) for array in arrays]
            self._blocks.append(_Kept(tuple(kept), X.shape[1], None if y is None else _frozen(y), classes, first_row))
            return True
        self._room = 0  # what follows goes to the file, too
        try:
            if shutil.disk_usage(self.folder).free < size + _SPARE:
                raise OSError
            places = tuple(self._write(array) for array in arrays)
            labels = None if y is None else self._write(y)
        except OSError:  # somebody else may have filled the disk
            self.refused = True
            return False
        self._blocks.append(_Kept(places, X.shape[1], labels, classes, first_row))
        return True

    def _write(self, array: Array) -> _Place:
        """Append an array to the file."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self.folder, prefix="linsep-")  # noqa: SIM115 - see close
        gap = -self._length % _ALIGNED
        self._file.write(bytes(gap))
        place = _Place(self._length + gap, array.dtype, array.shape)
        self._file.write(np.ascontiguousarray(array).data)
        self._length += gap + array.nbytes
        return place

    def finish(self, size: int) -> None:
        """Note that all blocks are there, and the size of the files."""
        self.size = size
        if self._file is not None and self._length:
            self._file.flush()
            self._map = mmap.mmap(self._file.fileno(), self._length, access=mmap.ACCESS_READ)
        self.complete = True

    def __len__(self) -> int:
        return len(self._blocks)

    def blocks(self, width: int) -> Iterator[tuple[Any, Array | None, int]]:
        """Yield rows, labels and the number of the first row of every block; sparse rows are ``width`` wide."""
        for parts, own, y, classes, first_row in self._blocks:
            arrays = [self._array(part) for part in parts]
            labels = None if y is None else self._array(y)
            if labels is not None and classes is not None:
                labels = classes[labels]
            if len(arrays) == 1:
                yield arrays[0], labels, first_row
            else:
                data, indices, indptr = arrays
                shape = (len(indptr) - 1, max(own, width))
                yield csr_array((data, indices, indptr), shape, canonical=True), labels, first_row

    def _array(self, part: Array | _Place) -> Array:
        """Return an array that is kept in memory, or a view of one in the file."""
        if not isinstance(part, _Place):
            return part
        count = int(np.prod(part.shape))
        if count == 0:
            return np.empty(part.shape, part.dtype)
        assert self._map is not None
        return np.frombuffer(self._map, part.dtype, count, part.offset).reshape(part.shape)

    def clear(self) -> None:
        """Forget all blocks."""
        self._blocks.clear()
        self.complete = False
        self._room, self._length, self._map = self._budget, 0, None
        if self._file is not None:
            self._file.close()
            self._file = None


def _frozen(array: Array) -> Array:
    """Return a view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view
