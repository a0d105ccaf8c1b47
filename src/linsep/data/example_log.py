"""The log of a served learner: its examples in the order in which they were learned, in one SQLite file.

Examples are kept as the learner saw them: numbers under columns, labels under class numbers, both counted in the order
in which they first appeared. Tables beside them say what the columns and classes are called.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from linsep.data.arrays import sorted_csr
from linsep.data.files import File
from linsep.data.labels import object_array, tidy
from linsep.data.options import Options
from linsep.data.schema import CATEGORY, NUMBER, TEXT, WORD, Layout
from linsep.data.source import Piece, Source
from linsep.errors import DataError, ReadError
from linsep.problem import Array

UNKNOWN = -1  # a column that has not been seen
LARGEST = 1e100  # of a number: its square, and sums of many, stay finite
_HEADER = struct.Struct("<4sBBHIIQ")  # mark, sparse, served, -, rows, columns, stored numbers: 24 bytes
_MARK = b"LSx1"
_AT_A_TIME = 1 << 14  # examples that a replay learns at a time


class Rows(NamedTuple):
    """Rows of numbers under columns: an array, or the parts of a CSR matrix."""

    data: Array  # (n, d) float64, or (nnz,)
    indices: Array | None = None  # (nnz,) int32
    indptr: Array | None = None  # (n + 1,) int32

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.data) if self.indptr is None else len(self.indptr) - 1

    def matrix(self, width: int) -> Any:
        """Return the rows as an array, or as a CSR array with this number of columns."""
        if self.indices is None or self.indptr is None:
            return self.data
        return sorted_csr((self.data, self.indices, self.indptr), (self.rows, width))

    def sparse(self) -> Rows:
        """Return the rows in CSR, without zeros."""
        if self.indices is not None:
            return self
        at = np.nonzero(self.data)
        indptr = np.zeros(len(self.data) + 1, np.int32)
        np.cumsum(np.count_nonzero(self.data, axis=1), out=indptr[1:])
        return Rows(self.data[at], at[1].astype(np.int32), indptr)

    def part(self, start: int, stop: int) -> Rows:
        """Return some of the rows."""
        if (start, stop) == (0, self.rows):
            return self
        if self.indptr is None or self.indices is None:
            return Rows(self.data[start:stop])
        own = slice(int(self.indptr[start]), int(self.indptr[stop]))
        return Rows(self.data[own], self.indices[own], self.indptr[start : stop + 1] - self.indptr[start])

    @classmethod
    def joined(cls, parts: list[Rows]) -> Rows:
        """Return rows of one form as one."""
        if len(parts) == 1:
            return parts[0]
        if parts[0].indptr is None:
            return cls(np.concatenate([part.data for part in parts]))
        lengths = np.concatenate([np.diff(part.indptr) for part in parts if part.indptr is not None])
        indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        data, indices = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        return cls(data, indices, indptr)


class Table(NamedTuple):
    """Rows of numbers under the same columns, which have names or are numbered."""

    names: tuple[str, ...] | None
    X: Array  # (n, d)


class Record(NamedTuple):
    """Consecutive examples of the log."""

    rows: Rows
    width: int  # columns of the log by then
    y: Array  # (n,) int32 class numbers
    served: Array | None = None  # (n,) int32 class that had been predicted for a row that was kept, -1 for the others

    def pack(self) -> bytes:
        """Return the record as bytes, with a checksum."""
        rows, sparse = self.rows, self.rows.indptr is not None
        head = _HEADER.pack(_MARK, sparse, self.served is not None, 0, len(self.y), self.width, rows.data.size)
        parts: list[Array] = [np.ascontiguousarray(rows.data, np.float64), self.y.astype(np.int32)]
        parts += [] if self.served is None else [self.served.astype(np.int32)]
        parts += [part.astype(np.int32) for part in (rows.indices, rows.indptr) if part is not None]
        body = b"".join([head, *(part.tobytes() for part in parts)])
        return body + zlib.crc32(body).to_bytes(4, "little")

    @classmethod
    def unpack(cls, body: bytes) -> Record:
        """Return the record that bytes hold; refuse damaged ones."""
        if len(body) < _HEADER.size + 4 or zlib.crc32(body[:-4]) != int.from_bytes(body[-4:], "little"):
            raise DataError("", "a record of the log is damaged: its checksum is wrong")
        mark, sparse, served, _, n, width, size = _HEADER.unpack_from(body)
        numbers = n + n * served + (size + n + 1) * sparse
        if mark != _MARK or not (sparse or size == n * width) or len(body) != _HEADER.size + 8 * size + 4 * numbers + 4:
            raise DataError("", "a record of the log is of another version, or damaged")
        data = np.frombuffer(body, np.float64, size, _HEADER.size)
        whole = np.frombuffer(body, np.int32, numbers, _HEADER.size + 8 * size)
        y, whole = whole[:n], whole[n:]
        before, whole = (whole[:n], whole[n:]) if served else (None, whole)
        rows = Rows(data, whole[:size], whole[size:]) if sparse else Rows(data.reshape(n, width))
        return cls(rows, width, y, before)


class Columns:
    """The columns of the log: positions of lists, names of numbers, and words under a name.

    They are numbered as they appear, so that nothing moves when more come. As long as all rows have the same columns
    of numbers, they are ``dense``.
    """

    def __init__(self) -> None:
        self.width = 0
        self.dense = True
        self.entries: list[tuple[int, int, int | None, str | None, str | None]] = []  # as the table has them
        self.positions = np.empty(0, np.int32)  # column of each position
        self.in_place = True  # whether every position has the column of its number
        self.names: dict[str, int | dict[str, int]] = {}  # the column of a number, or of each word
        self.n_words = 0  # columns that have names
        self.is_word = bytearray()  # of every column, whether it stands for a word

    @classmethod
    def load(cls, entries: Iterable[tuple[int, int, int | None, str | None, str | None]], dense: bool) -> Columns:
        """Return the columns that a table has."""
        self = cls()
        for entry in entries:
            self._add(*entry)
        self.dense = dense
        return self

    @classmethod
    def of_model(cls, memory: Mapping[str, Any], names: Any, n_features: int) -> Columns:
        """Return the columns that a model has learned from, by what it knows of its files, their names and number."""
        columns = cls()
        if "names" in memory:
            layout = Layout.from_state(memory)
            if any(kind in (CATEGORY, TEXT) for _, kind in layout.columns):
                raise DataError("", "the model hashes words, and a log has one column per word: fit it again")
            for name, kind in layout.columns:
                if kind != WORD:
                    columns.add_number(name)
            for place, word in layout.levels:
                columns.add_word(layout.columns[place][0], word or "missing")
            columns.dense = not layout.words and not layout.levels
        elif names is not None:
            for name in names.tolist():
                columns.add_number(name)
        else:
            columns.add_positions(n_features)
            columns.dense = memory.get("format") != "libsvm"
        return columns

    def _add(self, first: int, count: int, position: int | None, name: str | None, word: str | None) -> None:
        if first != self.width:
            raise DataError("", f"the log is damaged: column {first} follows column {self.width - 1}")
        self.entries.append((first, count, position, name, word))
        if name is None:
            self.in_place = self.in_place and position == first
            self.positions = np.append(self.positions, np.arange(first, first + count, dtype=np.int32))
        elif word is None:
            self.names[name] = first
        else:
            self.names.setdefault(name, {})[word] = first  # type: ignore[index]
        self.n_words += name is not None
        self.is_word.extend(bytes([word is not None]) * count)
        self.width += count

    def cut(self, entries: int, dense: bool) -> None:
        """Forget all columns after the first entries."""
        kept = self.load(self.entries[:entries], dense)
        self.__dict__.update(kept.__dict__)

    def add_positions(self, count: int) -> None:
        """Make room for lists of this length."""
        known = len(self.positions)
        if count > known:
            self._add(self.width, count - known, known, None, None)

    def add_number(self, name: str) -> int:
        """Return the column of a number, a new one if there is none."""
        found = self.names.get(name)
        if found is None:
            self._add(self.width, 1, None, name, None)
            return self.width - 1
        if isinstance(found, dict):
            raise DataError("", f"{name!r} is a number here, but was a word before: send it as a string")
        return found

    def add_word(self, name: str, word: str) -> int:
        """Return the column of a word, a new one if there is none."""
        found = self.names.get(name)
        if isinstance(found, int):
            raise DataError("", f"{name!r} is the word {word[:40]!r} here, but was a number before")
        if found is None or word not in found:
            self._add(self.width, 1, None, name, word)
            return self.width - 1
        return found[word]

    def find(self, name: str, word: str | None) -> int:
        """Return the column of a number or word, `UNKNOWN` if there is none."""
        found = self.names.get(name, UNKNOWN)
        if isinstance(found, dict):
            return UNKNOWN if word is None else found.get(word, UNKNOWN)
        return found if word is None else UNKNOWN

    def keys(self) -> tuple[str, ...] | None:
        """Return the names of columns that are all numbers with names; None if they are positions, or a mixture."""
        if len(self.positions) or self.n_words != self.width or any(self.is_word):
            return None
        return tuple(self.names)

    def order(self) -> Array | None:
        """Return the columns in the order of a model's features, numbers before words; None if that is their own."""
        words = np.frombuffer(self.is_word, np.uint8)
        order = np.argsort(words, kind="stable")
        return None if len(order) == 0 or bool((order[1:] > order[:-1]).all()) else order

    def layout(self) -> Layout | None:
        """Return what a model keeps to read files with these columns; None where they are positions only."""
        if self.n_words == 0:
            return None
        columns: dict[str, str] = {}
        for _, count, position, name, word in self.entries:
            if name is None:
                own = (str(position + j) for j in range(count))  # type: ignore[operator]
                columns |= {f"[{j}]" if j in self.names else j: NUMBER for j in own}
            else:
                columns.setdefault(name, NUMBER if word is None else WORD)
        places = {name: place for place, name in enumerate(columns)}
        levels = [(places[name], word) for *_, name, word in self.entries if name is not None and word is not None]
        return Layout(tuple(columns.items()), levels=tuple(levels))

    def reading(self) -> dict[str, Any]:
        """Return how a model is to read files with these columns."""
        layout = self.layout()
        known: dict[str, Any] = {"format": "csv" if self.dense or layout else "libsvm", "missing": "error"}
        return known if layout is None else known | layout.state()


# ---------------------------------------------------------------------------------------------------------------
# Rows under columns


def encode(x: list[Any] | Table | Rows, columns: Columns, limits: tuple[int, int] | None) -> Rows:
    """Return rows under the columns of the log; new columns are added if there are limits, else left out.

    Rows are lists of numbers and dicts of numbers and words, or a table, or sparse under positions. The limits are on
    all columns, and on those that have names.
    """
    grow = limits is not None
    places: Array | None = None
    if isinstance(x, list):
        width = len(x[0]) if type(x[0]) is list else 0
        if width and all(type(each) is list and len(each) == width for each in x):
            x = Table(None, _array(x))
    if isinstance(x, Table):
        _check_width(len(x.names or ()), x.X.shape[1], limits)
        before = columns.width
        if grow:
            _add_all(x, columns)
        places = _places(x, columns)
        order: Any = np.argsort(places, kind="stable") if x.names else slice(None)
        known = len(places) == x.X.shape[1] == columns.width and before in (0, columns.width) and (places >= 0).all()
        if columns.dense and known and not any(columns.is_word):
            return Rows(np.ascontiguousarray(x.X[:, order]))
        columns.dense = columns.dense and not grow
        rows, places = Rows(x.X[:, order]).sparse(), places[order]
    elif isinstance(x, Rows):
        rows = x
        if grow:
            columns.dense = False
            columns.add_positions(int(x.indices.max(initial=-1)) + 1)  # type: ignore[union-attr]
        places = None if columns.in_place and len(columns.positions) == columns.width else columns.positions
    else:
        columns.dense = columns.dense and not grow
        rows = _encode_each(x, columns, grow)
    if limits is not None:
        _check_width(columns.n_words, columns.width, limits)
    return rows if places is None else _moved(rows, places)


def _array(x: list[list[Any]]) -> Array:
    """Return lists of numbers as an array; refuse numbers that are too large."""
    try:
        X = np.array(x, dtype=np.float64)
        bad = ~(np.abs(X) <= LARGEST)
    except OverflowError:
        X, bad = np.zeros((1, 1)), np.array([[abs(value) > LARGEST for value in row] for row in x])
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise DataError(f"example {i + 1}, x[{j}]", "a number that is too large")
    return X


def _check_width(words: int, width: int, limits: tuple[int, int] | None) -> None:
    if limits is not None and (width > limits[0] or words > limits[1]):
        what = f"{limits[0]} columns" if width > limits[0] else f"{limits[1]} columns with names"
        raise DataError("", f"more than {what}: the server allows no more")


def _add_all(x: Table, columns: Columns) -> None:
    if x.names is None:
        columns.add_positions(x.X.shape[1])
    for name in x.names or ():
        columns.add_number(name)


def _places(x: Table, columns: Columns) -> Array:
    """Return the column of each column of a table."""
    if x.names is not None:
        return np.array([columns.find(name, None) for name in x.names], np.int32)
    return columns.positions[: x.X.shape[1]]


def _moved(rows: Rows, places: Array) -> Rows:
    """Return rows with their columns at other places; those that have none are left out."""
    data, indices, indptr = rows
    assert indices is not None
    assert indptr is not None
    padded = np.append(places, np.int32(UNKNOWN))
    found = padded[np.minimum(indices, len(places))]
    kept = found >= 0
    if not kept.all():
        ends = np.concatenate(([0], np.cumsum(kept)))
        indptr = ends[indptr].astype(np.int32)
        data, found = data[kept], found[kept]
    return Rows(data, found, indptr)


def _encode_each(x: list[Any], columns: Columns, grow: bool) -> Rows:
    """Return lists and dicts as sparse rows, numbers before words, each in the order in which they first appeared."""
    data: list[float] = []
    indices: list[int] = []
    indptr = [0]
    for number, row in enumerate(x, 1):
        cells: list[tuple[int, float]] = []
        words: list[int] = []
        try:
            if type(row) is list:
                if grow:
                    columns.add_positions(len(row))
                cells = [(int(c), float(v)) for c, v in zip(columns.positions, row, strict=False) if v != 0]
            else:
                for name, value in row.items():
                    if type(value) is not str:
                        c = columns.add_number(name) if grow else columns.find(name, None)
                        if value != 0 and c >= 0:
                            cells.append((c, float(value)))
                for name, value in row.items():
                    if type(value) is str:
                        c = columns.add_word(name, value) if grow else columns.find(name, value)
                        words += [c] if c >= 0 else []
        except DataError as error:
            raise DataError(f"example {number}", error.what) from None
        except OverflowError:
            raise DataError(f"example {number}", "a number that is too large") from None
        cells.sort()
        for _, value in cells:
            if not abs(value) <= LARGEST or math.isnan(value):
                raise DataError(f"example {number}", "a number that is too large")
        data += [value for _, value in cells] + [1.0] * len(words)
        indices += [c for c, _ in cells] + sorted(words)
        indptr.append(len(data))
    return Rows(np.array(data, np.float64), np.array(indices, np.int32), np.array(indptr, np.int32))


# ---------------------------------------------------------------------------------------------------------------
# Files


def connect(path: str | os.PathLike[str]) -> sqlite3.Connection:
    """Open a log to read it."""
    if not os.path.isfile(path):
        raise ReadError(str(path), "no log of a served learner is there")
    connection = sqlite3.connect(f"file:{os.path.abspath(path)}?mode=ro", uri=True, timeout=30)
    try:
        if connection.execute("SELECT value FROM settings WHERE key = 'format'").fetchone() != ("1",):
            raise ReadError(str(path), "a log of another version of linsep")
    except sqlite3.Error as error:
        connection.close()
        raise ReadError(str(path), f"not the log of a served learner, or a damaged one: {error}") from None
    return connection


def load_columns(connection: sqlite3.Connection) -> Columns:
    """Return the columns of a log."""
    entries = connection.execute('SELECT first, "count", position, name, word FROM columns ORDER BY first')
    dense = connection.execute("SELECT value FROM settings WHERE key = 'dense'").fetchone()
    return Columns.load(entries, dense is None or dense[0] == "1")


def load_classes(connection: sqlite3.Connection) -> list[Any]:
    """Return the labels of a log, by their class numbers."""
    return [json.loads(label) for (label,) in connection.execute("SELECT label FROM classes ORDER BY id")]


def records(connection: sqlite3.Connection, after: int = 0, until: int | None = None) -> Iterator[tuple[int, Record]]:
    """Yield the records of a log with the number of their first example, from example ``after + 1`` to ``until``."""
    end = 2**62 if until is None else until
    query = 'SELECT first, body FROM batches WHERE first + "count" > ? AND first <= ? ORDER BY first'
    expected = None
    for first, body in connection.execute(query, (after + 1, end)):
        if expected is not None and first != expected:
            raise DataError("", f"the log is damaged: example {first} follows example {expected - 1}")
        record = Record.unpack(body)
        expected = first + len(record.y)
        start, stop = max(0, after + 1 - first), min(len(record.y), end + 1 - first)
        if (start, stop) != (0, len(record.y)):
            record = _part(record, start, stop)
        yield first + start, record


def _part(record: Record, start: int, stop: int) -> Record:
    """Return some examples of a record."""
    served = None if record.served is None else record.served[start:stop]
    return Record(record.rows.part(start, stop), record.width, record.y[start:stop], served)


def merged(found: Iterable[tuple[int, Record]]) -> Iterator[tuple[int, Record]]:
    """Yield consecutive records of one form as one: how examples come together does not matter."""
    waiting: list[Record] = []
    start = rows = 0

    def joined() -> tuple[int, Record]:
        if len(waiting) == 1:
            return start, waiting[0]
        served = None
        if any(each.served is not None for each in waiting):
            none = [np.full(len(each.y), -1, np.int32) if each.served is None else each.served for each in waiting]
            served = np.concatenate(none)
        y = np.concatenate([each.y for each in waiting])
        return start, Record(Rows.joined([each.rows for each in waiting]), waiting[-1].width, y, served)

    for first, record in found:
        other = waiting and (waiting[0].rows.indptr is None) != (record.rows.indptr is None)
        if waiting and (other or rows + len(record.y) > _AT_A_TIME):
            yield joined()
            waiting, rows = [], 0
        start = start if waiting else first
        waiting.append(record)
        rows += len(record.y)
    if waiting:
        yield joined()


class LogSource(Source):
    """The examples of a log as any other rows: in their order, each column under the number that a model gives it."""

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        with self._opened(files[0]) as connection:
            self._columns = load_columns(connection)

    def _opened(self, file: File) -> Any:
        from contextlib import closing

        if file.path is None or file.is_far:
            raise ReadError(file.name, "the log of a served learner is read from a local folder")
        return closing(connect(file.path))

    @property
    def layout(self) -> Layout | None:  # type: ignore[override]
        """The columns, where they have names."""
        return self._columns.layout()

    @property
    def names(self) -> list[str] | None:
        """Names of the features."""
        layout = self.layout
        return None if layout is None else layout.names

    @property
    def n_features(self) -> int:
        """How many columns there are."""
        return self._columns.width

    def state(self) -> dict[str, Any]:
        """Return what a model keeps to read other data in the same way."""
        return self._columns.reading()

    def _read(self, file: File) -> Iterator[Piece]:
        with self._opened(file) as connection:
            self._columns = columns = load_columns(connection)
            labels, order = object_array(load_classes(connection)), columns.order()
            places = None if order is None else np.argsort(order).astype(np.int32)
            waiting: list[Record] = []
            size = 0

            def piece() -> Piece:
                parts = [record.rows if columns.dense else record.rows.sparse() for record in waiting]
                rows = Rows.joined(parts)
                if places is not None and rows.indices is not None:
                    rows = rows._replace(indices=places[rows.indices])
                y = tidy(labels[np.concatenate([record.y for record in waiting])]) if self.options.labels else None
                waiting.clear()
                return Piece(rows.matrix(columns.width), y)

            for _, record in records(connection):
                waiting.append(record)
                size += record.rows.data.nbytes
                if size >= self.options.block_bytes:
                    yield piece()
                    size = 0
            if waiting:
                yield piece()
