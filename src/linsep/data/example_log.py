"""The log of a served learner: its examples in the order in which they were learned, in one SQLite file.

Examples are kept as the learner saw them: numbers under columns, labels under class numbers, both counted in the order
in which they first appeared. Tables beside them say what the columns and classes are called.
"""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from linsep.data.arrays import sorted_csr
from linsep.data.files import File
from linsep.data.labels import object_array, tidy
from linsep.data.options import Options
from linsep.data.schema import HASHED_WORD, NUMBER, TEXT, WORD, Layout
from linsep.data.source import Piece, Source
from linsep.errors import DataError, ReadError
from linsep.problem import Array

UNKNOWN = -1  # a column that has not been seen
LARGEST = 1e100  # of a number: its square, and sums of many, stay finite
_HEADER = struct.Struct("<4sBBHIIQ")  # mark, sparse, served, -, rows, columns, stored numbers: 24 bytes
_MARK = b"LSx1"
Entry = tuple[int, int, int | None, str | None, str | None]  # first, count, position, name, word
COVERING = """batches WHERE first >= coalesce((SELECT max(first) FROM batches WHERE first <= ?), 0) AND first <= ?
ORDER BY first"""  # from the one with the first of some examples to the one with the last; perhaps one before
_AT_A_TIME = 1 << 14  # examples that a replay learns at a time


class LogRows(NamedTuple):
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

    def sparse(self) -> LogRows:
        """Return the rows in CSR, without zeros."""
        if self.indices is not None:
            return self
        at = np.nonzero(self.data)
        indptr = np.zeros(len(self.data) + 1, np.int32)
        np.cumsum(np.count_nonzero(self.data, axis=1), out=indptr[1:])
        return LogRows(self.data[at], at[1].astype(np.int32), indptr)

    def part(self, start: int, stop: int) -> LogRows:
        """Return some of the rows."""
        if (start, stop) == (0, self.rows):
            return self
        if self.indptr is None or self.indices is None:
            return LogRows(self.data[start:stop])
        stored = slice(int(self.indptr[start]), int(self.indptr[stop]))
        return LogRows(self.data[stored], self.indices[stored], self.indptr[start : stop + 1] - self.indptr[start])

    def only(self, kept: Array) -> LogRows:
        """Return sparse rows with some of their stored numbers."""
        if kept.all():
            return self
        assert self.indices is not None
        ends = np.concatenate(([0], np.cumsum(kept))).astype(np.int32)
        return LogRows(self.data[kept], self.indices[kept], ends[self.indptr])

    @classmethod
    def joined(cls, parts: list[LogRows]) -> LogRows:
        """Return all rows as one, sparse if any of them are."""
        if len(parts) == 1:
            return parts[0]
        if all(part.indptr is None for part in parts):
            return cls(np.concatenate([part.data for part in parts]))
        parts = [part.sparse() for part in parts]
        data, indices = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        lengths = np.concatenate([np.diff(part.indptr) for part in parts if part.indptr is not None])
        return cls(data, indices, np.concatenate(([0], np.cumsum(lengths))).astype(np.int32))


class ExampleTable(NamedTuple):
    """Rows of numbers under the same columns, which have names or are numbered."""

    names: tuple[str, ...] | None
    X: Array  # (n, d)


class Record(NamedTuple):
    """Consecutive examples of the log."""

    rows: LogRows
    width: int  # columns of the log by then
    y: Array  # (n,) int32 class numbers
    served: Array | None = None  # (n,) int32 class that had been predicted for a row that was kept, -1 for the others
    answers: Array | None = None  # (n,) int32: 4 (1 + predicted class) + 2 (label is wrong) + (weights changed)

    def part(self, start: int, stop: int) -> Record:
        """Return some of the examples."""
        stop = min(stop, len(self.y))
        served, answers = (None if each is None else each[start:stop] for each in self[3:])
        return Record(self.rows.part(start, stop), self.width, self.y[start:stop], served, answers)

    @classmethod
    def joined(cls, parts: list[Record]) -> Record:
        """Return records of one form as one."""
        if len(parts) == 1:
            return parts[0]
        served = None
        if any(part.served is not None for part in parts):
            served = np.concatenate([np.full(len(p.y), -1, np.int32) if p.served is None else p.served for p in parts])
        y, answers = (np.concatenate([part[i] for part in parts]) for i in (2, 4))
        return cls(LogRows.joined([part.rows for part in parts]), parts[-1].width, y, served, answers)

    def pack(self) -> bytes:
        """Return all but the answers as bytes, with a checksum."""
        rows, sparse = self.rows, self.rows.indptr is not None
        head = _HEADER.pack(_MARK, sparse, self.served is not None, 0, len(self.y), self.width, rows.data.size)
        body = head + b"".join(part.tobytes() for part in (rows.data, *self[2:4], *rows[1:]) if part is not None)
        return body + zlib.crc32(body).to_bytes(4, "little")

    @classmethod
    def unpack(cls, body: bytes, answers: bytes) -> Record:
        """Return the record that bytes hold; refuse damaged ones."""
        if len(body) < _HEADER.size + 4 or zlib.crc32(memoryview(body)[:-4]) != int.from_bytes(body[-4:], "little"):
            raise DataError("", "a record of the log is damaged: its checksum is wrong")
        mark, sparse, has_served, _, n, width, size = _HEADER.unpack_from(body)
        numbers = n + n * has_served + (size + n + 1) * sparse
        if mark != _MARK or not (sparse or size == n * width) or len(body) != _HEADER.size + 8 * size + 4 * numbers + 4:
            raise DataError("", "a record of the log is of another version, or damaged")
        if len(answers) != 4 * n:
            raise DataError("", "a record of the log is damaged: it has more examples than answers, or fewer")
        data = np.frombuffer(body, np.float64, size, _HEADER.size)
        y, served, indices, indptr = np.split(
            np.frombuffer(body, np.int32, numbers, _HEADER.size + 8 * size),
            np.cumsum([n, n * has_served, size * sparse]),
        )
        rows = LogRows(data, indices, indptr) if sparse else LogRows(data.reshape(n, width))
        return cls(rows, width, y, served if has_served else None, np.frombuffer(answers, np.int32))


class Columns:
    """The columns of the log: positions of lists, names of numbers, and words under a name.

    They are numbered as they appear, so that nothing moves when more come. As long as all rows have the same columns
    of numbers, they are ``dense``. The first ``listed`` ones are those of a model that knows their names: lists mean
    them. If there are none, lists have columns of their own.
    """

    def __init__(self, entries: Iterable[Entry] = (), dense: bool = True, listed: int = 0) -> None:
        self.width, self.dense, self.listed = 0, dense, listed
        self.entries: list[Entry] = []  # as the table has them
        self.positions = np.empty(0, np.int32)  # column of each position
        self.names: dict[str, int | dict[str, int]] = {}  # the column of a number, or of each word
        for entry in entries:
            if entry[0] != self.width:
                raise DataError("", f"the log is damaged: column {entry[0]} follows column {self.width - 1}")
            self._add(*entry[1:])

    @classmethod
    def of_model(cls, memory: Mapping[str, Any], names: Any, n_features: int) -> Columns:
        """Return the columns that a model has learned from, by what it knows of its files, their names and number."""
        columns = cls()
        if "names" in memory:
            layout = Layout.from_state(memory)
            if any(kind in (HASHED_WORD, TEXT) for _, kind in layout.columns):
                raise DataError("", "the model hashes words, and a log has one column per word: fit it again")
            for name, kind in layout.columns:
                if kind != WORD:
                    columns.number(name, grow=True)
            for place, word in layout.categories:
                columns.word(layout.columns[place][0], word or "missing", grow=True)
            columns.dense = not layout.words and not layout.categories
        elif names is not None:
            for name in names.tolist():
                columns.number(name, grow=True)
        else:
            columns.grow(n_features)
            columns.dense = memory.get("format") != "libsvm"
        columns.listed = columns.named
        return columns

    def _add(self, count: int, position: int | None, name: str | None, word: str | None) -> int:
        first = self.width
        self.entries.append((first, count, position, name, word))
        if name is None:
            self.positions = np.append(self.positions, np.arange(first, first + count, dtype=np.int32))
        elif word is None:
            self.names[name] = first
        else:
            self.names.setdefault(name, {})[word] = first  # type: ignore[index]
        self.width += count
        return first

    def cut(self, entries: int, dense: bool) -> None:
        """Forget all columns after the first entries."""
        while len(self.entries) > entries:
            self.width, _, position, name, word = self.entries.pop()
            if name is None:
                self.positions = self.positions[:position]
            elif word is None or len(self.names[name]) == 1:  # type: ignore[arg-type]
                del self.names[name]
            else:
                del self.names[name][word]  # type: ignore[union-attr]
        self.dense = dense

    @property
    def named(self) -> int:
        """How many columns have names."""
        return self.width - len(self.positions)

    @property
    def plain(self) -> bool:
        """Whether all rows so far were lists of one length."""
        return self.dense and self.width == len(self.positions) > 0

    def grow(self, count: int) -> None:
        """Make room for lists of this length."""
        known = len(self.positions)
        if count > known:
            self._add(count - known, known, None, None)

    def of_lists(self, count: int, grow: bool) -> Array:
        """Return the columns of lists of this length, as far as there are any."""
        if self.listed == 0:
            if grow:
                self.grow(count)
            return self.positions[:count]
        if any(word is not None for *_, word in self.entries[: self.listed]):
            raise DataError("", "the model has columns of words, which a list cannot give: send objects with names")
        if count != self.listed:
            what = f"a list of length {count}, but the model has {self.listed} columns"
            raise DataError("", f"{what}: send {self.listed} numbers in their order, or an object with names")
        return np.arange(count, dtype=np.int32)

    def number(self, name: str, grow: bool) -> int:
        """Return the column of a number; if there is none, a new one, or `UNKNOWN`."""
        known = self.names.get(name)
        if type(known) is int:
            return known
        if not grow:
            return UNKNOWN
        if known is not None:
            raise DataError("", f"{name!r} is a number here, but was a word before: send it as a string")
        return self._add(1, None, name, None)

    def word(self, name: str, word: str, grow: bool) -> int:
        """Return the column of a word; if there is none, a new one, or `UNKNOWN`."""
        known = self.names.get(name, {})
        if isinstance(known, dict) and word in known:
            return known[word]
        if not grow:
            return UNKNOWN
        if not isinstance(known, dict):
            raise DataError("", f"{name!r} is the word {word[:40]!r} here, but was a number before")
        return self._add(1, None, name, word)

    def order(self) -> Array | None:
        """Return the columns in the order of a model's features, numbers before words; None if that is their own."""
        is_word = np.repeat([word is not None for *_, word in self.entries], [entry[1] for entry in self.entries])
        order = np.argsort(is_word, kind="stable")
        return None if bool((order[1:] > order[:-1]).all()) else order

    def layout(self) -> Layout | None:
        """Return what a model keeps to read files with these columns; None where they are positions only."""
        if self.named == 0:
            return None
        columns: dict[str, str] = {}
        for _, count, position, name, word in self.entries:
            if name is None:
                numbers = (str(position + j) for j in range(count))  # type: ignore[operator]
                columns |= {f"[{j}]" if j in self.names else j: NUMBER for j in numbers}
            else:
                columns.setdefault(name, NUMBER if word is None else WORD)
        places = {name: place for place, name in enumerate(columns)}
        categories = [(places[name], word) for *_, name, word in self.entries if name is not None and word is not None]
        return Layout(tuple(columns.items()), categories=tuple(categories))

    def reading(self) -> dict[str, Any]:
        """Return how a model is to read files with these columns."""
        layout = self.layout()
        known: dict[str, Any] = {"format": "csv" if self.dense or layout else "libsvm", "missing": "error"}
        return known if layout is None else known | layout.state()


# ---------------------------------------------------------------------------------------------------------------
# Rows under columns


def encode(x: list[Any] | ExampleTable | LogRows, columns: Columns, *, grow: bool = False) -> LogRows:
    """Return rows under the columns of the log; what has no column gets one, or is left out.

    Rows are lists of numbers and dicts of numbers and words, or a table, or sparse under positions.
    """
    if isinstance(x, list):
        if len(x) == 1 and type(x[0]) is list and columns.plain and len(x[0]) == columns.width:
            return LogRows(np.array(x, dtype=np.float64))  # the usual case, and quick
        widths = {len(row) if type(row) is list else 0 for row in x}
        if len(widths) > 1 or 0 in widths:
            columns.dense = columns.dense and not grow
            return _encode_each(x, columns, grow)
        x = ExampleTable(None, np.array(x, dtype=np.float64))
    if isinstance(x, LogRows):
        columns.dense = columns.dense and not grow
        count = int(x.indices.max(initial=-1)) + 1  # type: ignore[union-attr]
        places = columns.of_lists(max(count, columns.listed), grow)  # zeros are not written
        return x if columns.named == 0 else _moved(x, places)
    X, d, before = x.X, x.X.shape[1], columns.width
    if x.names is None:
        places = columns.of_lists(d, grow)
    else:
        places = np.array([columns.number(name, grow) for name in x.names], np.int32)
        order = np.argsort(places, kind="stable")
        X, places = X[:, order], places[order]
    same = d == len(places) == columns.width and places[0] == 0 and places[-1] == d - 1
    if columns.dense and same and before in (0, d):
        return LogRows(np.ascontiguousarray(X))
    columns.dense = columns.dense and not grow
    return _moved(LogRows(X).sparse(), places)


def _moved(rows: LogRows, places: Array) -> LogRows:
    """Return rows with their columns at other places; those that have none are left out."""
    assert rows.indices is not None
    moved = np.append(places, np.int32(UNKNOWN))[np.minimum(rows.indices, len(places))]
    return rows._replace(indices=moved).only(moved >= 0)


def _encode_each(x: list[Any], columns: Columns, grow: bool) -> LogRows:
    """Return lists and dicts as sparse rows, with columns for numbers before those for words."""
    data: list[float] = []
    indices: list[int] = []
    indptr = [0]
    for number, row in enumerate(x, 1):
        try:
            if type(row) is list:
                cells = list(zip(columns.of_lists(len(row), grow).tolist(), row, strict=False))
            else:
                numbers = [(columns.number(name, grow), v) for name, v in row.items() if type(v) is not str]
                words = [(columns.word(name, v, grow), 1.0) for name, v in row.items() if type(v) is str]
                cells = sorted(numbers) + sorted(words)
        except DataError as error:
            raise DataError(f"example {number}", error.what) from None
        cells = [(column, value) for column, value in cells if value != 0 and column != UNKNOWN]
        indices += [column for column, _ in cells]
        data += [value for _, value in cells]
        indptr.append(len(data))
    return LogRows(np.array(data, np.float64), np.array(indices, np.int32), np.array(indptr, np.int32))


# ---------------------------------------------------------------------------------------------------------------
# Files


def open_log(path: str | os.PathLike[str]) -> sqlite3.Connection:
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
    settings = dict(connection.execute("SELECT key, value FROM settings WHERE key IN ('dense', 'listed')"))
    return Columns(entries, settings.get("dense", "1") == "1", int(settings.get("listed", "0")))


def load_classes(connection: sqlite3.Connection) -> list[Any]:
    """Return the labels of a log, by their class numbers."""
    return [json.loads(label) for (label,) in connection.execute("SELECT label FROM classes ORDER BY id")]


def read_records(
    connection: sqlite3.Connection, after: int = 0, until: int | None = None
) -> Iterator[tuple[int, Record]]:
    """Yield the examples of a log from number ``after + 1`` to ``until``, many at a time, with the first one's number.

    How they came together does not matter: consecutive records of one form are joined.
    """
    end = 2**62 if until is None else until
    waiting: list[Record] = []
    start = number = after + 1
    for first, body, answers in connection.execute(f"SELECT first, body, answers FROM {COVERING}", (start, end)):
        if first + len(answers) // 4 <= number:
            continue
        record = Record.unpack(body, answers)
        if first > number:
            raise DataError("", f"the log is damaged: example {first} follows example {number - 1}")
        record = record.part(number - first, end + 1 - first)
        other = waiting and (waiting[0].rows.indptr is None) != (record.rows.indptr is None)
        if other or number - start + len(record.y) > _AT_A_TIME:
            if waiting:
                yield start, Record.joined(waiting)
            waiting, start = [], number
        waiting.append(record)
        number += len(record.y)
    if waiting:
        yield start, Record.joined(waiting)


class LogSource(Source):
    """The examples of a log as any other rows: in their order, each column under the number that a model gives it."""

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        with self._opened(files[0]) as connection:
            self._columns = load_columns(connection)
        self.n_features = self._columns.width
        self.layout = self._columns.layout()

    def _opened(self, file: File) -> closing[sqlite3.Connection]:
        if file.path is None or file.is_far:
            raise ReadError(file.name, "the log of a served learner is read from a local folder")
        return closing(open_log(file.path))

    @property
    def names(self) -> list[str] | None:
        """Names of the features."""
        return None if self.layout is None else self.layout.names

    def state(self) -> dict[str, Any]:
        """Return what a model keeps to read other data in the same way."""
        return self._columns.reading()

    def _read(self, file: File) -> Iterator[Piece]:
        with self._opened(file) as connection:
            first = connection.execute("SELECT min(first) FROM batches").fetchone()[0] or 1
            self._columns = columns = load_columns(connection)
            self.n_features = columns.width
            self.layout = columns.layout()
            labels, order = object_array(load_classes(connection)), columns.order()
            places = None if order is None else np.argsort(order).astype(np.int32)
            for _, record in read_records(connection, first - 1):
                rows = record.rows if columns.dense else record.rows.sparse()
                if places is not None and rows.indices is not None:
                    rows = rows._replace(indices=places[rows.indices])
                yield Piece(rows.matrix(columns.width), tidy(labels[record.y]) if self.options.labels else None)
