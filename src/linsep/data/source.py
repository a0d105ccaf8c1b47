"""The base class of all readers: blocks of rows and labels, iterable any number of times."""

from __future__ import annotations

import hashlib
import itertools
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from linsep.clock import Clock
from linsep.data.byte_streams import File
from linsep.data.cache import BlockCache
from linsep.data.cache import join as join
from linsep.data.labels import label, measured, object_array
from linsep.data.layout import Column, Layout, listed
from linsep.data.options import GAPS
from linsep.data.options import Options as Options
from linsep.data.row_numbers import Dropped
from linsep.data.sparse import Csr
from linsep.data.text_lines import Location
from linsep.errors import DataNote, ReadError
from linsep.problem import Array

Result = TypeVar("Result")
SHORT = 15  # characters of a number that always comes back from a double


class RereadError(ReadError):
    """A cell shows that its column is of another kind than the rows before it said.

    The source knows by now, and gives other rows when it is read again; whoever has used rows of it must begin again.
    ``until_settled`` does so.
    """

    column: str
    cell: str


def until_settled(job: Callable[[], Result]) -> Result:
    """Do a job that reads a source, again from the beginning whenever a column turns out to be of another kind."""
    while True:
        try:
            return job()
        except RereadError:
            continue


class Piece(NamedTuple):
    """Rows of a file as they are read, without those that are dropped."""

    X: Any
    y: Array | None
    kept: Array | None = None  # (rows of the file,) which of them are here, None for all


def left_out(rows: int, kept: Array | None) -> Dropped:
    """Return what is missing of a piece with this number of rows."""
    return Dropped(rows=rows) if kept is None else Dropped(np.flatnonzero(~kept), len(kept))


class Block(NamedTuple):
    r"""Some rows of a source.

    Examples
    --------
    >>> import io
    >>> from linsep import read
    >>> from linsep.data.source import Block
    >>> X, y, first_row = next(iter(read(io.BytesIO(b"1,2,yes\n3,4,no\n"), format="csv")))
    >>> Block(X, y, first_row).y.tolist()
    ['yes', 'no']
    """

    X: Any  # (n, d) array in C order, or CSR array with sorted indices
    y: Array | None  # (n,) labels as the user wrote them, None when the source has no target
    first_row: int  # number of the block's first row among all rows that are not dropped, from 0


class Source(ABC):
    r"""Blocks of rows from one file or several; every iteration opens the files anew and holds one block at a time.

    Where the blocks begin depends on the data and ``block_bytes`` alone. Sparse rows may grow wider from block to
    block: `n_features` counts the features seen so far, and is final once an iteration has come to its end.

    Attributes
    ----------
    notes : list of DataNote
        Decisions that were taken for the user; each was also a warning.
    layout : Layout or None
        The columns of a table and what becomes of them, to read other data in the same way.
    seen : dict of int to set of str, or None
        For ``invert=True``: the names that were hashed to each feature so far.
    positive : label or None
        The label to be learned as +1, as it appears in `y`.
    dropped : Dropped
        Rows that ``missing="drop"`` has left out of the last whole iteration: ``dropped.numbers`` are their numbers,
        and ``dropped.in_source(rows)`` returns the numbers in the source of rows of the arrays.

    Examples
    --------
    >>> import io
    >>> from linsep import read
    >>> source = read(io.BytesIO(b"x,z,class\n1,2,yes\n3,4,no\n"), format="csv")
    >>> source, source.names
    (<Source input, csv>, ['x', 'z'])
    """

    _cache: BlockCache | None = None  # while blocks are kept
    _begun: Iterator[Block] | None = None  # an iteration that `peek` has begun
    long_numbers = False  # whether some number of a text may have had more characters than SHORT
    layout: Layout | None = None
    seen: dict[int, set[str]] | None = None
    dropped = Dropped()

    def __init__(self, files: list[File], options: Options) -> None:
        self.files = files
        self.options = options
        positive = options.positive
        self.positive = label(positive) if isinstance(positive, str) else positive
        self._done = 0  # bytes of the files that have been read to their end
        self._current: File | None = None
        self.notes: list[DataNote] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": None, "_begun": None}  # a copy, or a source sent to a worker, keeps nothing

    def note(self, where: str, what: str, *settings: tuple[str, Any]) -> None:
        """Tell of a decision that was taken for the user, once."""
        note = DataNote(where, what, *settings)
        if str(note) not in map(str, self.notes):
            self.notes.append(note)
            warnings.warn(note, stacklevel=3)

    @property
    def names(self) -> list[str] | None:
        """Names of the features, those of columns that are hashed left out; None where the data has none."""
        return None

    def __repr__(self) -> str:
        names = self.files[0].name if len(self.files) == 1 else f"{len(self.files)} files"
        return f"<Source {names}, {self.options.format}>"

    def __iter__(self) -> Iterator[Block]:
        for block in self.blocks():
            yield block._replace(X=block.X.tocsr()) if isinstance(block.X, Csr) else block

    def blocks(self) -> Iterator[Block]:
        """Return what an iteration yields, but sparse rows need not be SciPy's: training does without."""
        begun, self._begun = self._begun, None
        return self._iterate() if begun is None else begun

    def peek(self) -> Block:
        """Return the first of these blocks; the next iteration goes on from here, and parses nothing again."""
        blocks = self.blocks()
        first = next(blocks)
        self._begun = itertools.chain([first], blocks)
        return first

    def _iterate(self) -> Iterator[Block]:
        if self._cache is not None and self._cache.complete:
            yield from self._again(self._cache, 1)
            return
        while True:
            given = False
            try:
                for block in self._blocks() if self._cache is None else self._recorded(self._cache):
                    given = True
                    yield block
                return
            except RereadError as late:
                self.adapt(late)
                if given:  # whoever has those rows must begin again
                    raise

    def stretches(self, most: int) -> Iterator[Block]:
        """Yield these blocks; where rows are kept, several of them as one, up to this number of rows."""
        if self._cache is not None and self._cache.complete:
            yield from self._again(self._cache, most)
        else:
            yield from self.blocks()

    @contextmanager
    def caching(self, cache: str | None = None, cache_mb: int | None = None) -> Iterator[Self]:
        r"""Keep the blocks of the first whole iteration for later ones, as long as the context lasts.

        Parameters
        ----------
        cache : str, optional
            ``"auto"`` keeps blocks in memory and, if there are more, in temporary files, a folder says where these are,
            ``"none"`` reads the source again each time. By default as `read` was told.
        cache_mb : int, optional
            How many megabytes of blocks stay in memory. By default as `read` was told.

        Examples
        --------
        >>> import io
        >>> from linsep import read
        >>> source = read(io.BytesIO(b"1,2,yes\n3,4,no\n"), format="csv")
        >>> with source.caching():
        ...     print([block.X.tolist() for _ in range(2) for block in source])  # parsed once
        [[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]]
        """
        cache = self.options.cache if cache is None else cache
        cache_mb = self.options.cache_mb if cache_mb is None else cache_mb
        own = BlockCache(cache, cache_mb, self.size)
        if cache != "none" and self._cache is None and self.options.format != "npy":  # NPY is mapped as it is
            self._cache = own
        try:
            yield self
        finally:
            self._begun = None
            own.clear()
            self._cache = None if self._cache is own else self._cache

    def _recorded(self, cache: BlockCache) -> Iterator[Block]:
        """Yield the blocks of the files, and keep them."""
        cache.clear()  # what an iteration that was given up has left
        keep = not cache.refused
        try:
            for block in self._blocks():
                if keep and not cache.add(*block):
                    keep = False
                    cache.clear()
                    self._tell_of_room(cache, "every pass reads them again")
                yield block
            if keep:
                cache.finish(self.position)
        finally:
            if not cache.complete:
                cache.clear()

    def _tell_of_room(self, cache: BlockCache, what: str) -> None:
        """Note that the disk has no room for the rows."""
        self.note(self.files[0].name, f"{cache.folder} has no space left for the rows: {what}")

    def _again(self, cache: BlockCache, most: int) -> Iterator[Block]:
        """Yield the blocks that are kept, several as one up to a number of rows."""
        for block in itertools.starmap(Block, cache.blocks(self.extent[0], most)):
            self._done, self._current = cache.done(block.first_row + block.X.shape[0]), None
            yield block

    def adapt(self, late: RereadError) -> None:
        """Take a column for another kind from now on."""
        raise late

    def _blocks(self) -> Iterator[Block]:
        """Yield the blocks of all files."""
        self._done, self._current = 0, None
        first_row = 0
        parts: list[Dropped] = []
        labels: set[Any] = set()
        for file in self.files:
            self._current = file
            for X, y, kept in self._read(file):
                parts.append(left_out(X.shape[0], kept))
                if X.shape[0] == 0:
                    continue
                if y is not None and self.options.target is None and self.options.layout is None:
                    what = measured(y)
                    if what is not None:
                        raise ReadError(file.name, what)
                if self.positive is not None and y is not None and self.positive not in labels:
                    labels.update(y.tolist())
                yield Block(X, y, first_row)
                first_row += X.shape[0]
            self._done, self._current = self._done + (file.size or file.position), None
        self.take_dropped(parts)
        if first_row == 0:
            name = self.files[0].name
            raise ReadError("", "no rows in any of the files") if len(self.files) > 1 else ReadError(name, "no rows")
        if self.positive is not None and self.options.labels and self.positive not in labels:
            known = listed(sorted(map(str, labels)))
            raise ReadError(self.files[0].name, f"no row has the label {self.options.positive!r}; there are {known}")

    @abstractmethod
    def _read(self, file: File) -> Iterator[Piece]:
        """Yield the rows of one file, a piece at a time."""

    def take_dropped(self, parts: Iterable[Dropped]) -> None:
        """Know which rows were dropped in parts of the source, in their order, and tell of them."""
        found = Dropped.joined(parts)
        self.dropped = replace(found, cells=found.cells or self._missing_cells())
        if len(found):
            where = self.files[0].name if len(self.files) == 1 else f"{len(self.files)} files"
            what = f"linsep drops {self.dropped.words()} ({{0}})"
            if len(found) == found.rows:
                raise ReadError(where, f"no row is left: {what}", ("missing", "drop"))
            self.note(where, what, ("missing", "drop"))

    def _missing_cells(self) -> tuple[tuple[str, int], ...]:
        """Return how many cells of the rows that were dropped are missing, by column."""
        return ()

    def locate(self, rows: Sequence[int]) -> list[Location] | None:  # noqa: ARG002, only text has lines
        """Return the file and the line of rows of the source, numbered from 0; None where there are no lines.

        The files are read for it.
        """
        return None

    @property
    @abstractmethod
    def n_features(self) -> int:
        """How many features there are, or have been seen so far."""

    @property
    def n_numbers(self) -> int:
        """How many of the first features are columns of numbers in a table; beside words their rows are sparse."""
        return 0 if self.layout is None else len(self.layout.numbers)

    @property
    def features(self) -> slice:
        """The columns of `Block.X` that are features.

        All of them, except where it is open whether the indices of a LIBSVM file start at 0 or at 1: then ``X`` has a
        column for either case, and once an iteration has come to its end ``w[source.features]`` leaves out the one
        that is not needed.
        """
        return slice(0, self.n_features)

    @property
    def extent(self) -> tuple[int, bool]:
        """How wide `Block.X` has been so far, and whether an index was 0; parts read elsewhere must agree on it."""
        return self.n_features, False

    @property
    def levels(self) -> list[tuple[int, str | None]]:
        """The words that have features so far, by the number of their column; only tables have any."""
        return []

    def take_levels(self, found: list[list[tuple[int, str | None]]]) -> None:  # noqa: B027
        """Know the words that the parts, which were read elsewhere, have found, in the order of the parts."""

    def take_note(self, width: int, zero: bool) -> None:  # noqa: B027, most have nothing to take note of
        """Know what the parts, which were read elsewhere, have found together; only LIBSVM text leaves it open."""

    @property
    def size(self) -> int | None:
        """Bytes on disk, None for a stream whose end has not been seen."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    @property
    def position(self) -> int:
        """Bytes consumed so far in the current iteration."""
        return self._done + (0 if self._current is None else self._current.position)

    def fingerprint(self) -> str:
        """Return a name for the data and how it is read, which does not depend on file names and times.

        It is made of the length and of samples of each file, so it is quick, but cannot notice every change.
        """
        names = [field.name for field in fields(Options) if field.name not in ("positive", "cache", "cache_mb")]
        how = [(name, getattr(self.options, name)) for name in names]
        digest = hashlib.sha256(repr(how).encode())
        for file in self.files:
            digest.update(file.fingerprint().encode())
        return digest.hexdigest()

    def to_arrays(self, *, clock: Clock | None = None) -> tuple[Any, Array | None]:
        r"""Return all rows and labels at once: an array or a CSR array ``X``, and ``y`` or None.

        Rows that take more than ``cache_mb`` megabytes are not in memory: the arrays are maps of temporary files.
        A ``clock``, which some functions of linsep pass, may end the reading.

        Examples
        --------
        >>> import io
        >>> from linsep import read
        >>> X, y = read(io.BytesIO(b"a,b,class\n1,2,yes\n3,4,no\n"), format="csv").to_arrays()
        >>> X.tolist(), y.tolist()
        ([[1.0, 2.0], [3.0, 4.0]], ['yes', 'no'])
        """
        cache = BlockCache(self.options.cache, self.options.cache_mb, self.size)
        found = until_settled(lambda: self._gathered(cache, clock))
        if found is None:
            self._tell_of_room(cache, "all of them are held in memory")
            found = until_settled(lambda: self._gathered(BlockCache("none"), clock))
            assert found is not None
        return found

    def _gathered(self, cache: BlockCache, clock: Clock | None) -> tuple[Any, Array | None] | None:
        """Return the rows and labels of all blocks, None if there is no room for them."""
        try:
            cache.clear()
            for block in self.blocks():
                if not cache.add(*block):
                    return None
                if clock is not None:
                    clock.check()
            return cache.whole(self.features)
        finally:
            cache.clear()

    def state(self) -> dict[str, Any]:
        """Return what a model keeps to read other data in the same way: arrays and plain values."""
        options = self.options
        memory: dict[str, Any] = {"format": options.format, "missing": options.missing}
        layout = self.layout
        if layout is not None:
            memory |= layout.state()
        for name in ("decimal", "thousands", "encoding"):
            if getattr(options, name) is not None:
                memory[name] = getattr(options, name)
        if options.gaps != GAPS:
            memory["gaps"] = object_array(list(options.gaps))
        if self.seen:
            places = sorted(self.seen)
            memory["seen"] = np.array(places, dtype=np.int64)
            memory["seen_names"] = object_array([" ".join(sorted(self.seen[j])) for j in places])
        return memory

    @property
    def grows(self) -> bool:
        """Whether rows may have features that come up while they are read, so that parts must agree on them."""
        return False

    def describe(self) -> list[Column]:
        """Read all rows, and return what there is to say of every column; only tables have something to say."""
        return []
