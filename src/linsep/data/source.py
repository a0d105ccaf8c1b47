"""The base class of all readers: blocks of rows and labels, iterable any number of times."""

from __future__ import annotations

import hashlib
import itertools
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields, replace
from typing import Any, NamedTuple, Self

import numpy as np

from linsep.clock import Clock
from linsep.data.arrays import is_sparse, stack
from linsep.data.cache import NoRoomError, RowStore, check_cache, folder_of
from linsep.data.files import File
from linsep.data.labels import join_labels, label, measured, object_array
from linsep.data.options import MISSING, REMEMBERED
from linsep.data.options import Options as Options
from linsep.data.parallel import ahead
from linsep.data.row_numbers import Dropped, Location
from linsep.data.schema import TEXT, Column, Layout, listed
from linsep.errors import DataNote, ReadError
from linsep.problem import Array

SHORT = 15  # characters of a number that always comes back from a double


class Piece(NamedTuple):
    """Rows of a file as they are read, without those that are dropped."""

    X: Any
    y: Array | None
    kept: Array | None = None  # (rows of the file,) which of them are here, None for all


def left_out(rows: int, kept: Array | None) -> Dropped:
    """Return what is missing of a piece with this number of rows."""
    return Dropped(rows=rows) if kept is None else Dropped(np.flatnonzero(~kept), len(kept))


def complete_rows(X: Any, y: Array | None, missing: str, wrong: Callable[[int, int, float], Exception]) -> Piece:
    """Deal with NaN, the missing value of arrays, and refuse infinity; ``wrong`` returns the error of a cell."""
    values = X.data if is_sparse(X) else X
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return Piece(X, y)
    refused = np.isinf(values) if missing != "error" else ~np.isfinite(values)
    absent = np.flatnonzero(refused if refused.any() else np.isnan(values))
    if is_sparse(X):
        rows, columns = np.searchsorted(X.indptr, absent, "right") - 1, X.indices[absent]
    else:
        rows, columns = np.divmod(absent, X.shape[1])
    if refused.any():
        raise wrong(int(rows[0]), int(columns[0]), float(values.flat[absent[0]]))
    if missing == "zero":
        values = np.nan_to_num(values, nan=0.0)
        if not is_sparse(X):
            return Piece(values, y)
        X.data = values
        return Piece(X, y)
    kept = np.ones(X.shape[0], dtype=bool)
    kept[rows] = False
    return Piece(X[np.flatnonzero(kept)], None if y is None else y[kept], kept)


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


def join_blocks(parts: list[Block]) -> Block:
    """Return consecutive blocks as one."""
    if len(parts) == 1:
        return parts[0]
    y = join_labels([part.y for part in parts if part.y is not None])
    if not is_sparse(parts[0].X):
        return Block(np.concatenate([part.X for part in parts]), y, parts[0].first_row)
    X = stack([part.X for part in parts], max(part.X.shape[1] for part in parts))
    return Block(X, y, parts[0].first_row)


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

    _store: RowStore | None = None  # while rows are cached
    long_numbers = False  # whether some number of a text may have had more characters than SHORT
    layout: Layout | None = None
    target: int | None = None  # the place of the label among the columns
    n_features: int  # or how many have been seen so far
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
        return {**self.__dict__, "_store": None}  # a copy, or a source sent to a worker, caches nothing

    def with_options(self, **changes: Any) -> Self:
        """Return the same files as a source with some other options."""
        return type(self)(self.files, replace(self.options, **changes))

    def note(self, where: str, message: str, *settings: tuple[str, Any]) -> None:
        """Tell of a decision that was taken for the user, once."""
        note = DataNote(where, message, *settings)
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
        return self.blocks()

    def _check_width(self) -> None:
        """Refuse another number of features than the user wants, none, and more than the user allows."""
        name, wanted, width = self.files[0].name, self.options.n_features, self.n_features
        if wanted is not None and wanted != width:
            raise ReadError(name, f"has {width} features, but {wanted} are expected")
        if width < 1 and self.layout is None:
            raise ReadError(name, "the rows have no columns")
        if wanted is None and width > self.options.max_features:
            raise self._too_wide()

    def _too_wide(self) -> ReadError:
        message = f"{self.n_features:,} columns are more than the limit"
        return ReadError(self.files[0].name, message, ("max_features", self.n_features))

    def blocks(self, most: int | None = None) -> Generator[Block]:
        """Yield what an iteration does; while rows are cached, ``most`` rows at a time."""
        store = self._store
        if store is None:
            yield from self._blocks()
            return
        if most is None:
            most = max(1, self.options.block_bytes // max(1, store.bytes // max(1, store.rows)))
        for block in itertools.starmap(Block, store.blocks(most)):
            self._done = store.read * (block.first_row + block.X.shape[0]) // store.rows
            yield block

    def first_block(self) -> Block:
        """Return the first of these blocks; a text has decided by then what its columns are."""
        for file in self.files:
            file.peeking = True
        try:
            with closing(self.blocks()) as blocks:
                return next(blocks)
        finally:
            for file in self.files:
                file.peeking = False

    @property
    def is_cached(self) -> bool:
        """Whether the rows are cached: an iteration parses nothing."""
        return self._store is not None

    @contextmanager
    def caching(self, cache: str | None = None, *, clock: Clock | None = None) -> Iterator[Self]:
        r"""Read all rows once, and take them from temporary files as long as the context lasts.

        Parameters
        ----------
        cache : str, optional
            ``"auto"`` or the folder for these files; ``"none"`` reads the source anew each time. By default as `read`
            was told. NPY files are mapped as they are.
        clock : Clock, optional
            May end the reading.

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
        check_cache(cache)
        keeps = cache != "none" and self.options.format != "npy" and self._store is None
        store = self._read_into_store(cache, "every pass reads them again", clock) if keeps else None
        if store is None:
            yield self
            return
        self._store = store
        try:
            yield self
        finally:
            self._store = None
            store.close()

    def _read_into_store(self, cache: str, otherwise: str, clock: Clock | None) -> RowStore | None:
        """Return all rows in mapped files; None, and a note of what happens instead, if there is no room for them."""
        store = RowStore(folder_of(cache))
        try:
            with closing(ahead(self.blocks(), owner=self)) as blocks:
                for block in blocks:
                    store.append(block.X, block.y)
                    if clock is not None:
                        clock.tell(read=store.rows)
                        clock.check()
        except NoRoomError:
            store.close()
            self.note(self.files[0].name, f"{store.folder} has no space left for the rows: {otherwise}")
            return None
        except BaseException:
            store.close()
            raise
        store.read = self.position
        return store

    def _blocks(self) -> Generator[Block]:
        first_row = 0
        parts: list[Dropped] = []
        labels: set[Any] = set()
        for X, y, kept in self.pieces():
            parts.append(left_out(X.shape[0], kept))
            if X.shape[0] == 0:
                continue
            if y is not None and self.options.target is None and self.options.layout is None:
                message = measured(y)
                if message is not None:
                    raise ReadError(self.files[0].name if self._current is None else self._current.name, message)
            if self.positive is not None and y is not None and self.positive not in labels:
                labels.update(y.tolist())
            yield Block(X, y, first_row)
            first_row += X.shape[0]
        self.take_dropped(parts)
        if first_row == 0:
            name = self.files[0].name
            raise ReadError("", "no rows in any of the files") if len(self.files) > 1 else ReadError(name, "no rows")
        if self.positive is not None and self.options.labels and self.positive not in labels:
            known = listed(sorted(map(str, labels)))
            raise ReadError(self.files[0].name, f"no row has the label {self.options.positive!r}; there are {known}")

    def pieces(self) -> Generator[Piece]:
        """Yield the rows of all files as they are read; a piece knows which rows were dropped."""
        self._done, self._current = 0, None
        for file in self.files:
            self._current = file
            yield from self._read(file)
            self._done, self._current = self._done + (file.size or file.position), None

    def read_file(self, file: File) -> Iterator[Piece]:
        """Yield the rows and labels of one file, or of a part of it."""
        return self._read(file)

    @abstractmethod
    def _read(self, file: File) -> Iterator[Piece]:
        """Yield the rows of one file, a piece at a time."""

    def take_dropped(self, parts: Iterable[Dropped]) -> None:
        """Know which rows were dropped in parts of the source, in their order, and tell of them."""
        dropped = Dropped.joined(parts)
        self.dropped = replace(dropped, cells=dropped.cells or self.missing_cells())
        if len(dropped):
            where = self.files[0].name if len(self.files) == 1 else f"{len(self.files)} files"
            message = f"linsep drops {self.dropped.words()} ({{0}})"
            if len(dropped) == dropped.rows:
                raise ReadError(where, f"no row is left: {message}", ("missing", "drop"))
            self.note(where, message, ("missing", "drop"))

    def missing_cells(self) -> tuple[tuple[str, int], ...]:
        """Return how many cells of the rows that were dropped are missing, by column."""
        return ()

    def cells_of(self, columns: Sequence[str | int]) -> Iterator[list[Any]]:
        """Return the cells of some columns of a table, row by row, as they are in the files."""
        message = f"{self.options.format} files have no columns beside labels and features: there is no {columns[0]!r}"
        raise ReadError(self.files[0].name, message)

    def locate(self, rows: Sequence[int]) -> list[Location] | None:
        """Return the file and the line of rows of the source, numbered from 0; None where there are no lines.

        The files are read for it, unless they are at URLs, or streams that can be read only once.
        """
        if any(file.is_far or file.is_spent for file in self.files):
            return None
        wanted = sorted(set(rows), reverse=True)
        places: dict[int, Location] = {}
        first = 0
        for file in self.files:
            texts = self.row_lines(file)
            if texts is None:
                return None
            for lines in texts if wanted else ():
                while wanted and wanted[-1] < first + len(lines):
                    row = wanted.pop()
                    places[row] = Location(file.name, lines[row - first])
                first += len(lines)
                if not wanted:
                    break
        return [places[row] for row in rows]

    def place(self, row: int) -> str:
        """Return where a row of the source is, as messages name it."""
        places = self.locate([row])
        return f"{self.files[0].name}: row {row}" if places is None else f"{places[0].file}:{places[0].line}"

    def row_lines(self, file: File) -> Iterator[list[int]] | None:  # noqa: ARG002
        """Return the lines in which rows begin, a piece of the file at a time; None where there are no lines."""
        return None

    @property
    def n_numbers(self) -> int:
        """How many of the first features are columns of numbers in a table; beside words their rows are sparse."""
        return 0 if self.layout is None else len(self.layout.numbers)

    @property
    def word_counts(self) -> Array:
        """The features that count words of texts, as far as they have been seen."""
        if self.layout is None:
            return np.empty(0, np.intp)
        texts = [kind == TEXT for _, kind in self.layout.columns]
        first = self.layout.first_category
        return np.array([j for j, (column, _) in enumerate(self.categories, first) if texts[column]], dtype=np.intp)

    @property
    def categories(self) -> list[tuple[int, str | None]]:
        """The words that have features so far, by the number of their column; only tables have any."""
        return []

    def take_categories(self, parts: list[list[tuple[int, str | None]]]) -> None:  # noqa: B027
        """Know the words that the parts, which were read elsewhere, have found, in the order of the parts."""

    def take_width(self, n_features: int) -> None:  # noqa: B027, most know it
        """Know how many features the parts, which were read elsewhere, have together."""

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
        names = [field.name for field in fields(Options) if field.name not in ("positive", "cache")]
        how = [(name, getattr(self.options, name)) for name in names]
        digest = hashlib.sha256(repr(how).encode())
        for file in self.files:
            digest.update(file.fingerprint().encode())
        return digest.hexdigest()

    def to_arrays(self, *, clock: Clock | None = None) -> tuple[Any, Array | None]:
        r"""Return all rows and labels at once: an array or a CSR array ``X``, and ``y`` or None.

        The arrays are maps of temporary files, unless the source was opened with ``cache="none"``.
        A ``clock``, which some functions of linsep pass, may end the reading.

        Examples
        --------
        >>> import io
        >>> from linsep import read
        >>> X, y = read(io.BytesIO(b"a,b,class\n1,2,yes\n3,4,no\n"), format="csv").to_arrays()
        >>> X.tolist(), y.tolist()
        ([[1.0, 2.0], [3.0, 4.0]], ['yes', 'no'])
        """
        store = None
        if self.options.cache != "none":
            store = self._read_into_store(self.options.cache, "all of them are held in memory", clock)
        if store is not None:
            arrays = store.whole()
            store.close()
            return arrays
        blocks = []
        for block in self.blocks():
            blocks.append(block)
            if clock is not None:
                clock.check()
        X, y, _ = join_blocks(blocks)
        return X, y

    def state(self) -> dict[str, Any]:
        """Return what a model keeps to read other data in the same way: arrays and plain values."""
        options = self.options
        memory: dict[str, Any] = {"format": options.format, "missing": options.missing}
        layout = self.layout
        if layout is not None:
            memory |= layout.state()
        memory |= {name: value for name in REMEMBERED if (value := getattr(options, name)) is not None}
        if options.gaps != MISSING:
            memory["gaps"] = object_array(list(options.gaps))
        return memory

    @property
    def grows(self) -> bool:
        """Whether rows may have features that come up while they are read, so that parts must agree on them."""
        return False

    def describe(self) -> list[Column]:
        """Read all rows, and return what there is to say of every column; only tables have something to say."""
        return []
