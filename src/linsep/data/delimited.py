"""CSV and its relatives: cells between delimiters, quoted or not, with a header or without.

What a column is, a number or a category, is decided by the first rows of the first file, the same ones whatever the
block size. From then on every number is read as float64, so that it makes no difference where a decimal point first
turns up; a word in a column of numbers is an error that says where.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numba import njit

from linsep.data import columns
from linsep.data.byte_streams import File, ReadError, cores, last_newline, pieces, side_by_side
from linsep.data.columnar import TableSource, choose
from linsep.data.columns import CATEGORY, NUMBER, TEXT, CellError, ColumnError, Layout, find
from linsep.data.source import Options
from linsep.data.text_parsers import LABEL, UNWANTED, LineError, label, parse_table, tidy
from linsep.problem import Array

compiled = njit(cache=True, nogil=True)

_HEAD = 1 << 18  # bytes that decide what the columns are
_ROWS = 1000  # and at most so many rows of them
_WIDEST = 1 << 17  # columns, which are handled one by one
_DELIMITERS = ",\t;|"
_PLAIN = frozenset(_DELIMITERS + " :")  # none of them occurs in a number
_MISSING = frozenset(["", "?", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None"])
_NUMBER = re.compile(r"\s*[+-]?((\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|inf(inity)?)\s*", re.ASCII | re.IGNORECASE)


class DelimitedSource(TableSource):
    """Rows of CSV or TSV text."""

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        name = files[0].name
        text, whole = _head(files[0])
        self._delimiter = options.delimiter or _sniff(text, name)
        if len(self._delimiter) != 1 or self._delimiter in '"\r\n':
            raise ReadError(f"delimiter must be one character, got {self._delimiter!r}")
        rows = _cells(text, self._delimiter, whole)
        if not rows:
            raise ReadError(f"{name}: is empty")
        first = rows[0]
        if len(first) > _WIDEST:
            raise ReadError(f"{name}: {len(first)} columns; for more than {_WIDEST} take another format, such as NPY")
        self._header = _is_header(rows) if options.header is None else options.header
        self._all = [cell.strip() for cell in first] if self._header else [str(j) for j in range(len(first))]
        repeated = [column for column, count in Counter(self._all).items() if count > 1]
        if repeated:
            raise ReadError(f"{name}:1: two columns are named {repeated[0]!r}")
        try:
            self._target, chosen = self._choose()
            self._arrange(self._layout(rows[self._header :], chosen))
            known = set(self._all)
            for column, _ in self.layout.columns:
                if column not in known:
                    find(column if self.layout.named else int(column), self._all)
        except ColumnError as error:
            raise ReadError(f"{name}: {error}") from None
        types = {column: pa.float64() if kind == NUMBER else pa.string() for column, kind in self.layout.columns}
        if self._target is not None and options.labels:
            types[self._all[self._target]] = pa.string()
        self._places = self._plain_places()
        self._convert = pa.csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=sorted(_MISSING),
            strings_can_be_null=False,
        )

    def _choose(self) -> tuple[int | None, list[int]]:
        """Return the column of the target and those of the features."""
        given = self.options.layout
        if given is not None and not given.named and not self.options.labels and len(self._all) == len(given.columns):
            # no header and no target: the features are all there is
            self._all = [name for name, _ in given.columns]
            return None, list(range(len(self._all)))
        return choose(self._all, self.options)

    def _layout(self, rows: list[list[str]], chosen: list[int]) -> Layout:
        """Decide by the first rows what each column is."""
        categories = {find(name, self._all) for name in self.options.categorical}
        texts = {find(name, self._all) for name in self.options.text}
        kinds = []
        for j in chosen if self.options.layout is None else []:
            cells = [row[j] for row in rows if j < len(row) and row[j] not in _MISSING]
            numbers = sum(_NUMBER.fullmatch(cell) is not None for cell in cells)
            if j in texts or j in categories:
                kinds.append(TEXT if j in texts else CATEGORY)
            elif 2 * numbers >= len(cells):  # a few words among numbers are an error, found when they are read
                kinds.append(NUMBER)
            elif 2 * sum(map(columns.is_date, cells)) >= len(cells):
                raise columns.dates(self._all[j], cells[0])
            else:
                kinds.append(CATEGORY)
        target = None if self._target is None else self._all[self._target]
        pairs = tuple((self._all[j], kind) for j, kind in zip(chosen, kinds, strict=False))
        return Layout(pairs, self.options.hash_bits, named=self._header, target=target)

    def _plain_places(self) -> Array | None:
        """Return what becomes of every cell of a row; None where only pyarrow can tell, because some are words."""
        if len(self.layout.numbers) < len(self.layout.columns) or self._delimiter not in _PLAIN:
            return None
        places = {name: place for place, name in enumerate(self.layout.numbers)}
        if self._target is not None and self.options.labels:
            places[self._all[self._target]] = LABEL
        return np.array([places.get(name, UNWANTED) for name in self._all], dtype=np.int64)

    def _read(self, file: File) -> Iterator[tuple[Any, Array | None]]:
        inside = file.part is not None and file.part[0] > 0
        skip = self._check_header(file) if self._header and not inside else 0
        line = 1 + skip
        for piece, result in side_by_side(self._texts(file, skip), self._parse):
            try:
                X, y, lines = result.result()
            except pa.ArrowInvalid as error:
                raise self._locate(file, bytes(piece), line, error) from None
            except LineError as error:
                raise ReadError(f"{file.name}:{line + bytes(piece[: error.offset]).count(10)}: {error}") from None
            except CellError as error:
                rows = islice(_numbered(bytes(piece), line, self._delimiter), error.row, None)
                raise self._complaint(file, next(rows)[0], error.column, str(error)) from None
            line += lines
            if X is not None:
                yield X, y

    def _texts(self, file: File, skip: int) -> Iterator[memoryview]:
        """Yield whole rows without the header, which takes so many lines; buffers are used again, see `pieces`."""
        delimiter = ord(self._delimiter)

        def cut(buffer: bytearray, filled: int) -> int:
            if buffer.find(b'"', 0, filled) < 0:
                return last_newline(buffer, filled)
            return int(_last_record(np.frombuffer(buffer, dtype=np.uint8, count=filled), delimiter))

        for piece in pieces(file, self.options.block_bytes, cut=cut, last=True, buffers=cores() + 1):
            start = 0
            if skip:
                text = bytes(piece)
                try:
                    _check_quotes(text, delimiter)
                except LineError as error:
                    raise ReadError(f"{file.name}:{1 + text.count(10, 0, error.offset)}: {error}") from None
                while skip and start < len(text):
                    start, skip = text.index(b"\n", start) + 1, skip - 1
            if start < len(piece):
                yield piece[start:]

    def _check_header(self, file: File) -> int:
        """Return how many lines the header takes; it must be the same in every file."""
        text, _ = _head(file)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter)
        for cells in reader:
            if cells:
                if file is not self.files[0] and [cell.strip() for cell in cells] != self._all:
                    raise ReadError(f"{file.name}:{reader.line_num}: the header is not that of {self.files[0].name}")
                return reader.line_num
        raise ReadError(f"{file.name}: is empty")

    def _parse(self, piece: memoryview) -> tuple[Any, Array | None, int]:
        """Return the rows of whole lines, None if there are none, their labels, and how many lines they take."""
        target = None if self._target is None or not self.options.labels else self._all[self._target]
        y = kept = None
        plain = None if self._places is None else parse_table(piece, ord(self._delimiter), self._places)
        if plain is not None:
            X, words = plain
            if target is not None:
                y, kept = self._labels(words)
            return X if kept is None else X[kept], y, len(X)
        text = bytes(piece)
        lines = text.count(b"\n")
        if text.isspace():
            return None, None, lines
        _check_quotes(text, ord(self._delimiter))
        table = pa.csv.read_csv(
            pa.BufferReader(pa.py_buffer(text)),
            read_options=pa.csv.ReadOptions(column_names=self._all, block_size=len(text) + 1, use_threads=False),
            parse_options=pa.csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=b'"' in text),
            convert_options=self._convert,
        )
        if target is not None:
            y, kept = self._labels(table.column(target).combine_chunks())
            table = table if kept is None else table.filter(pa.array(kept))
        return *self._rows(table, y), lines

    def _labels(self, column: pa.StringArray) -> tuple[Array, Array | None]:
        """Return labels as the user wrote them, and which rows are kept, None for all of them."""
        assert self._target is not None
        coded = column.dictionary_encode()
        words = [word.strip() for word in coded.dictionary.to_pylist()]
        codes = coded.indices.to_numpy()
        absent = np.isin(codes, [code for code, word in enumerate(words) if word in _MISSING])
        if absent.any():
            if self.options.missing != "drop":
                raise CellError(int(np.argmax(absent)), self._all[self._target], "a missing label")
            codes = codes[~absent]
        present = np.bincount(codes, minlength=len(words)) > 0
        values = np.empty(present.sum(), dtype=object)
        values[:] = [label(word) for word, there in zip(words, present.tolist(), strict=True) if there]
        return tidy(values)[(np.cumsum(present) - 1)[codes]], ~absent if absent.any() else None

    def _complaint(self, file: File, line: int, column: str, what: str) -> ReadError:
        """Say what is wrong in a cell, and where."""
        named = repr(column) if self._header else str(int(column) + 1)
        return ReadError(f"{file.name}:{line}, column {named}: {what}")

    def _locate(self, file: File, piece: bytes, line: int, error: pa.ArrowInvalid) -> ReadError:
        """Find the cell that pyarrow could not make sense of."""
        places = {name: j for j, name in enumerate(self._all)}
        numbers = [(places[name], name) for name in self.layout.numbers]
        try:
            for where, cells in _numbered(piece, line, self._delimiter):
                if len(cells) != len(self._all):
                    return ReadError(f"{file.name}:{where}: {len(cells)} cells where {len(self._all)} are expected")
                for j, name in numbers:
                    if cells[j] not in _MISSING and not _NUMBER.fullmatch(cells[j]):
                        shown = repr(cells[j] if len(cells[j]) <= 40 else cells[j][:40] + "...")
                        hint = "" if len(cells[j]) > 40 else f" (categorical={name!r} takes all of the column as words)"
                        return self._complaint(file, where, name, f"{shown} is not a number{hint}")
        except UnicodeDecodeError as bad:
            number = line + piece[: bad.start].count(b"\n")
            return ReadError(f"{file.name}:{number}: the text is not UTF-8")
        return ReadError(f"{file.name}: after line {line}: {error}")


def _head(file: File) -> tuple[str, bool]:
    """Return the first text of a file, and whether it is all of it."""
    size = _HEAD
    data = file.head(size)
    while len(data) == size < 1 << 28 and data.count(b"\n") < 2:  # not even a header and a row
        size *= 8
        data = file.head(size)
    if b"\x00" in data:
        raise ReadError(f"{file.name}: is neither text nor a file of a known format")
    whole = len(data) < size
    data = data.removeprefix(b"\xef\xbb\xbf")
    return data.decode("utf-8", "replace"), whole


def _cells(text: str, delimiter: str, whole: bool) -> list[list[str]]:
    """Return the cells of the first rows; the last row of a text that is not whole may be torn."""
    csv.field_size_limit(1 << 28)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        rows = [row for row in islice(reader, _ROWS) if row]
    except csv.Error:  # something that only the real parser can judge
        rows = [line.split(delimiter) for line in text.splitlines()[:_ROWS] if line]
    return rows if whole or len(rows) < 2 else rows[:-1]


def _sniff(text: str, name: str) -> str:
    """Return the delimiter: the one that cuts the first lines into equally many cells, and the most."""
    lines = [line for line in text.splitlines()[:20] if line.strip()]
    if name.removesuffix(".gz").removesuffix(".zst").endswith((".tsv", ".tab")):
        return "\t"
    best, most = ",", 1
    for delimiter in _DELIMITERS + " ":
        counts = {len(row) for row in _cells("\n".join(lines), delimiter, True)}
        if len(counts) == 1 and max(counts) > most:
            best, most = delimiter, max(counts)
    if most == 1 and lines:  # ragged rows, perhaps: what the first line has most of
        best = max(_DELIMITERS, key=lines[0].count)
    return best


def _is_header(rows: list[list[str]]) -> bool:
    """Say whether the first row names the columns.

    It does if none of its cells is a number, and either they all differ or some column has numbers below.
    """
    first, rest = rows[0], rows[1:]
    if any(_NUMBER.fullmatch(cell) for cell in first):
        return False
    if len(set(first)) == len(first):
        return True
    return any(
        all(_NUMBER.fullmatch(row[j]) or row[j] in _MISSING for row in rest if j < len(row)) and bool(rest)
        for j in range(len(first))
    )


def _numbered(piece: bytes, line: int, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a text, each with the number of its first line."""
    reader = csv.reader(io.StringIO(piece.decode(), newline=""), delimiter=delimiter)
    before = 0
    for cells in reader:
        if cells:
            yield line + before, cells
        before = reader.line_num


def _check_quotes(text: bytes, delimiter: int) -> None:
    """Refuse whole rows that end between quotes."""
    if b'"' in text:
        end = int(_last_record(np.frombuffer(text, dtype=np.uint8), delimiter))
        if end < len(text):
            raise LineError(end, "a quote is opened but never closed")


@compiled
def _last_record(text, delimiter):
    """Return where the last whole row ends, 0 if there is none: newlines between quotes end no row."""
    end = 0
    inside, begins = False, True  # between quotes; at the beginning of a cell
    for i in range(len(text)):
        c = text[i]
        if inside:
            inside = c != 34  # a doubled quote closes and opens again
        elif c == 34 and (begins or text[i - 1] == 34):
            inside = True
        elif c == 10:
            end = i + 1
        begins = not inside and (c == delimiter or c == 10 or c == 13)
    return end
