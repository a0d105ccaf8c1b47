"""Caches blocks of rows between passes: in memory up to a budget, then in mapped files.

Blocks lie one after another, so that all of them together are one matrix, too. The files have no names, so that nothing
is left of them when the process ends, however it ends. Nothing is kept when the disk would fill up.
"""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np

from linsep.data.labels import classes_and_codes, tidy
from linsep.data.sparse import Csr, is_sparse
from linsep.errors import ParameterError
from linsep.problem import Array

_SPARE = 1 << 28  # bytes that stay free on the disk
_ASKED = 1 << 25  # bytes of room that are asked for at a time
_ALIGNED = 8  # bytes: no item is larger
_TIMES = 4  # the bytes of a text: rows seldom take more
_UNKNOWN = 1 << 24  # bytes of a text whose end has not been seen
_PIECE = 1 << 20  # column numbers that are renumbered at a time
_WIDEST = 2**31 - 1  # of 32 bits


def folder_of(cache: str) -> str:
    """Return the folder for temporary files that ``cache`` means."""
    return tempfile.gettempdir() if cache in ("auto", "none") else cache


def check_cache(cache: str, cache_mb: int) -> None:
    """Refuse what says nothing about where to keep rows."""
    if cache not in ("auto", "none") and not os.path.isdir(cache):
        raise ParameterError("cache", cache, "'auto', 'none' or a folder that exists")
    if cache_mb < 0:
        raise ParameterError("cache_mb", cache_mb, "0 or more")


def has_room(folder: str, size: int) -> bool:
    """Say whether a disk has this number of bytes free, and some to spare."""
    try:
        return shutil.disk_usage(folder).free >= size + _SPARE
    except OSError:
        return False


class _Place(NamedTuple):
    """Where an array lies in its stream."""

    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def end(self) -> int:
        """Where the next array begins, if it follows at once."""
        return self.offset + int(np.prod(self.shape)) * self.dtype.itemsize


class _Stream:
    """Arrays one after another, in memory or in a file."""

    def __init__(self, room: int) -> None:
        self.length = 0
        self._room = room  # bytes to reserve; pages cost nothing until they are written
        self._memory = np.empty(0, np.uint8)
        self._file: IO[bytes] | None = None
        self._view: Any = None

    def append(self, array: Array) -> _Place:
        """Add an array at the end."""
        array = np.ascontiguousarray(array)
        gap = -self.length % min(array.dtype.itemsize, _ALIGNED)
        place = _Place(self.length + gap, array.dtype, array.shape)
        if self._file is None:
            self._memory = _with_room(self._memory, self.length, place.end, self._room)
            self._memory[place.offset : place.end] = array.reshape(-1).view(np.uint8)
        else:
            self._file.write(bytes(gap))
            self._file.write(array.reshape(-1).view(np.uint8).data)
        self.length = place.end
        return place

    def move(self, folder: str) -> None:
        """Go on in a file without a name."""
        self._file = tempfile.TemporaryFile(dir=folder, prefix="linsep-")  # noqa: SIM115 - see close
        self._file.write(self._memory[: self.length].data)
        self._memory = np.empty(0, np.uint8)

    def array(self, place: _Place) -> Array:
        """Return an array as it lies here; nothing can be added any more."""
        count = int(np.prod(place.shape))
        if count == 0:
            return np.empty(place.shape, place.dtype)
        if self._view is None:
            self._view = self._memory
            if self._file is not None:
                self._file.flush()
                self._view = mmap.mmap(self._file.fileno(), self.length)
        return np.frombuffer(self._view, place.dtype, count, place.offset).reshape(place.shape)

    def close(self) -> None:
        """Let go; arrays that were returned stay."""
        if self._file is not None:
            self._file.close()


def _with_room(memory: Array, used: int, wanted: int, first: int) -> Array:
    """Return memory of at least the wanted size, which begins with what is used of the one there is."""
    if wanted <= len(memory):
        return memory
    more = np.empty(max(first, wanted, 2 * len(memory)), np.uint8)
    more[:used] = memory[:used]
    return more


class _Kept(NamedTuple):
    """One block: where its rows and labels are."""

    parts: tuple[_Place, ...]  # values; of sparse rows also column numbers and row pointers
    width: int
    y: _Place | None
    classes: Array | None  # of labels that are objects; y has their numbers
    first_row: int
    rows: int


class BlockCache:
    """The blocks of a source, as they were in the first pass.

    Parameters
    ----------
    cache : str
        ``"auto"``: files are in the folder for temporary files; ``"none"``: there are no files; otherwise their folder.
    cache_mb : int
        Megabytes that are kept in memory.
    expected : int, optional
        Bytes that there will be, as far as one can tell: too many for the memory go into files at once.
    """

    def __init__(self, cache: str = "auto", cache_mb: int = 256, expected: int | None = None) -> None:
        check_cache(cache, cache_mb)
        self.folder, self._files = folder_of(cache), cache != "none"
        self.complete = self.refused = False
        self.size = 0  # bytes of the files that were read
        self._budget, self._expected = cache_mb << 20, expected or 0
        self._reserve = _TIMES * (self._expected or _UNKNOWN)
        if self._files:
            self._reserve = min(self._reserve, self._budget)
        self.clear()

    def clear(self) -> None:
        """Forget all blocks."""
        for stream in getattr(self, "_streams", ()):
            stream.close()
        self._streams = [_Stream(self._reserve) for _ in range(4)]  # labels, then the parts of rows
        self._blocks: list[_Kept] = []
        self.complete = self._moved = False
        self.rows = self._room = 0  # bytes of room on the disk that are known of

    def add(self, X: Any, y: Array | None, first_row: int) -> bool:
        """Keep a copy of a block; say whether there was room for it."""
        classes = None
        if y is not None and y.dtype.hasobject:
            classes, y = classes_and_codes(y)
        arrays = [X.data, X.indices, X.indptr] if is_sparse(X) else [X]
        size = sum(array.nbytes for array in arrays) + (0 if y is None else y.nbytes)
        held = sum(stream.length for stream in self._streams)
        try:
            if self._files and not self._moved and max(held + size, self._expected) > self._budget:
                self._make_room(held + size)
                for stream in self._streams:
                    stream.move(self.folder)
                self._moved = True
            if self._moved:
                self._make_room(size)
            places = tuple(stream.append(array) for stream, array in zip(self._streams[1:], arrays, strict=False))
            labels = None if y is None else self._streams[0].append(y)
        except OSError:  # somebody else may have filled the disk
            self.refused = True
            return False
        self._blocks.append(_Kept(places, X.shape[1], labels, classes, first_row, X.shape[0]))
        self.rows = first_row + X.shape[0]
        return True

    def _make_room(self, size: int) -> None:
        if self._room < size:
            self._room = max(size, _ASKED)
            if not has_room(self.folder, self._room):
                raise OSError
        self._room -= size

    def finish(self, size: int) -> None:
        """Note that all blocks are there, and the size of the files."""
        self.size, self.complete = size, True

    def blocks(self, width: int, most: int = 1) -> Iterator[tuple[Any, Array | None, int]]:
        """Yield rows, labels and the number of the first row of every block; sparse rows are ``width`` wide.

        Blocks that lie side by side are one as long as they have at most ``most`` rows together.
        """
        start = 0
        while start < len(self._blocks):
            stop = self._stretch(start, most)
            blocks = self._blocks[start:stop]
            first, rows = blocks[0], [_frozen(array) for array in self._side_by_side(blocks)]
            X: Any = rows[0]
            if len(rows) == 3:
                X = Csr((X, rows[1], rows[2]), (len(rows[2]) - 1, max(blocks[-1].width, width)))
            yield X, self._labels(blocks), first.first_row
            start = stop

    def done(self, first_row: int) -> int:
        """Return how many bytes of the files the rows up to one are, about."""
        return self.size * first_row // max(1, self.rows)

    def _stretch(self, start: int, most: int) -> int:
        """Return where the blocks end that can be one with this one."""
        rows = cells = 0
        for stop in range(start, len(self._blocks)):
            block = self._blocks[stop]
            rows, cells = rows + block.rows, cells + block.parts[0].shape[0]
            many = rows > most or cells > _WIDEST
            if stop > start and (many or not _follows(self._blocks[start], block)):
                return stop
        return len(self._blocks)

    def _side_by_side(self, blocks: list[_Kept]) -> list[Array]:
        """Return the parts of the rows of some blocks as one; row pointers begin at 0."""
        parts = list(zip(*(block.parts for block in blocks), strict=True))
        arrays = [self._joined(stream, places) for stream, places in zip(self._streams[1:], parts[:2], strict=False)]
        if len(parts) == 3:
            arrays.append(self._pointers(parts[2], parts[2][0].dtype))
        return arrays

    def _labels(self, blocks: list[_Kept]) -> Array | None:
        """Return the labels of some blocks that lie side by side."""
        places = [block.y for block in blocks if block.y is not None]
        if not places:
            return None
        labels = _frozen(self._joined(self._streams[0], tuple(places)))
        return labels if blocks[0].classes is None else blocks[0].classes[labels]

    def _pointers(self, places: tuple[_Place, ...], index: np.dtype[Any]) -> Array:
        """Return the row pointers of blocks as if they were one."""
        pointers = [self._streams[3].array(place) for place in places]
        if len(pointers) == 1 and pointers[0].dtype == index:
            return pointers[0]
        indptr = np.zeros(1 + sum(len(own) - 1 for own in pointers), index)
        row = 0
        for own in pointers:
            np.add(own[1:], indptr[row], out=indptr[row + 1 : row + len(own)], casting="unsafe")
            row += len(own) - 1
        return indptr

    def whole(self, features: slice) -> tuple[Any, Array | None]:
        """Return all rows, of sparse ones some columns, and all labels; blocks must not be asked for any more."""
        parts = list(zip(*(block.parts for block in self._blocks), strict=True))
        arrays = [self._joined(stream, places) for stream, places in zip(self._streams[1:], parts[:2], strict=False)]
        y = join([labels for block in self._blocks if (labels := self._labels([block])) is not None])
        if len(arrays) == 1:
            return arrays[0], y
        data, indices = arrays
        index = np.dtype(np.int32 if len(data) <= _WIDEST and indices.dtype.itemsize == 4 else np.int64)
        indptr = self._pointers(parts[2], index)
        indices = indices.astype(index, copy=False)
        first = features.start or 0
        for start in range(0, len(indices) if first else 0, _PIECE):
            indices[start : start + _PIECE] -= first  # columns before are empty
        shape = (len(indptr) - 1, max(0, features.stop - first))
        return Csr((data, indices, indptr), shape).tocsr(), y

    def _joined(self, stream: _Stream, places: tuple[_Place, ...]) -> Array:
        """Return arrays as one, without a copy where they are alike."""
        first, last = places[0], places[-1]
        alike = {(place.dtype, place.shape[1:]) for place in places}
        if len(alike) == 1 and last.end - first.offset == sum(place.end - place.offset for place in places):
            return stream.array(first._replace(shape=(sum(place.shape[0] for place in places), *first.shape[1:])))
        return np.concatenate([stream.array(place) for place in places])


def _follows(first: _Kept, block: _Kept) -> bool:
    """Say whether blocks are of one kind."""
    kinds = [
        [None if kept.classes is None else kept.classes.tolist()]
        + [None if place is None else (place.dtype, place.shape[1:]) for place in (kept.y, *kept.parts)]
        for kept in (first, block)
    ]
    return kinds[0] == kinds[1]


def join(labels: list[Array]) -> Array | None:
    """Put labels of several blocks together; words and numbers side by side stay what they are."""
    if not labels:
        return None
    if len({part.dtype.kind for part in labels}) == 1:
        return np.concatenate(labels)
    return tidy(np.concatenate([part.astype(object) for part in labels]))


def _frozen(array: Array) -> Array:
    """Return a view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view
