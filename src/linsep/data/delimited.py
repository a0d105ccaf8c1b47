"""Reads CSV and other delimited text, quoted or not, with or without a header.

The first 16 MB of the files decide whether a column holds numbers or words; the block size has no influence. All
numbers are read as float64, so it makes no difference where the first decimal point appears. A word that appears later
in a column of numbers is an error, which names the option that makes words of the column.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from mmap import mmap
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from linsep.data import cells
from linsep.data.arrays import numpy_view, word, words
from linsep.data.cache import Buffers
from linsep.data.files import File, last_newline, pieces
from linsep.data.labels import label, tidy
from linsep.data.options import MISSING, Options
from linsep.data.parallel import cores, side_by_side
from linsep.data.schema import DATE, NUMBER, WORD, CellError, ColumnError, Layout, find, is_numeric
from linsep.data.sniffing import (
    Line,
    columns_of,
    form_of,
    head,
    is_id,
    more_rows,
    not_utf8,
    numbered,
    preamble,
    quoted,
)
from linsep.data.source import SHORT, Piece
from linsep.data.tables import RawRows, Sample, TableSource, WrongKindError
from linsep.data.text_parsers import LABEL, UNWANTED, LineError, last_record, parse_table
from linsep.errors import ReadError
from linsep.problem import Array

_PLAIN = frozenset(",\t;| :")  # none of them occurs in a number
_EMPTY = (b"", b"\r")  # lines that are no rows
_DECIDING = 1 << 24  # bytes of text that decide what the columns are


class Shape(NamedTuple):
    """How the columns lie in one file."""

    names: list[str]
    places: Array | None  # what becomes of every cell of a row; None where only pyarrow can tell
    lines: int  # that the header takes


class OddCellError(ReadError):
    """A cell that is not of the kind that its column is taken for."""

    column: str
    cell: str


class DelimitedSource(TableSource):
    """Rows of CSV or TSV text."""

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        name = files[0].name
        if options.encoding is None and files[0].head(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            self.options = options = replace(options, encoding="utf-16")
            self.note(name, "the text is UTF-16 ({0} reads it as UTF-8)", ("encoding", "utf-8"))
        self._prepare(files[0])
        if files[0].skip_rows and options.skip_rows is None:
            count = files[0].skip_rows
            lines = "first line, which begins" if count == 1 else f"first {count} lines, which begin"
            self.note(name, f"linsep skips the {lines} with # ({{0}} reads them)", ("skip_rows", 0))
        form = form_of(files[0], options.delimiter, options.header, self.number_format)
        self.delimiter, self.number_format, self.has_header, self.column_names, body, *first_row = form
        self._counted, self._doubtful = first_row
        self._evidence: dict[str, list[str]] = {}  # cells by which the kind of a column was decided
        self._decided = options.layout is not None  # whether the kinds of the columns are final
        self._taken = 0  # bytes of text that have been read to decide them
        try:
            self.target, chosen = self._choose()
            self._arrange(self._decide(body, chosen) if options.layout is None else Layout(()))
            known = set(self.column_names)
            for column, _ in self._layout.columns:
                if column not in known:
                    find(column if self._layout.named else int(column), self.column_names)
        except ColumnError as error:
            raise ReadError(name, str(error), *error.settings) from None

    def _prepare(self, file: File) -> None:
        options = self.options
        file.encoding, file.comment = options.encoding, (options.comment or "").encode()
        file.skip_rows = 0
        if options.skip_rows is not None:
            file.skip_rows = options.skip_rows
        elif options.comment is None and not file.begins_inside:
            file.skip_rows = preamble(file)

    # -----------------------------------------------------------------------------------------------------------
    # What the columns are

    def _choose(self, index: Collection[str] = ()) -> tuple[int | None, list[int]]:
        layout = self.options.layout
        unnamed = layout is not None and not layout.named and not self.options.labels
        if unnamed and len(self.column_names) == len(layout.columns):  # no target: the features are all there is
            self.column_names = [name for name, _ in layout.columns]
            return None, list(range(len(self.column_names)))
        return super()._choose(index)

    def _decide(self, rows: list[Line], chosen: list[int]) -> Layout:
        asked, marks, names = self._asked(), self.number_format.missing, self.column_names
        samples = []
        for j, column in zip(chosen, columns_of(rows, chosen, marks), strict=True):
            self._evidence[names[j]] = column
            kind = self._written_kind(j, column, asked)
            if kind == WORD and is_id(column):  # a factor of thousands of words looks like that in few rows
                (column,) = columns_of(more_rows(self.files[0], self.delimiter, self.has_header), [j], marks)
            samples.append(Sample(j, names[j], self._hash(kind), column))
        if self.target is not None:
            labels: list[Any] = columns_of(rows, [self.target], marks)[0]
            kind = cells.written_kind(labels, self.number_format) if labels else WORD
            dates, values = kind.startswith(DATE), None
            if is_numeric(kind) and not dates:
                values = cells.values(words(labels), kind, self.number_format.point)
            labels = values.tolist() if values is not None else labels if dates else [cell.strip() for cell in labels]
            self._check_label(names[self.target], labels, samples, measurable=dates or values is not None)
        columns = self._without_ids(samples, asked)
        if self._counted:
            message = "linsep reads the first row as the names of columns ({0} reads it as data)"
            self.note(self.files[0].name, message, ("header", False))
        elif self._doubtful:
            message = "linsep reads the first row as data ({0} reads it as the names of columns)"
            self.note(self.files[0].name, message, ("header", True))
        self._note_decimal_comma()
        for name, kind in columns:
            self._explain(name, kind)
            if kind == WORD and asked.get(j := names.index(name)) != WORD:
                there = [row for row in rows if j < len(row.cells) and row.cells[j].strip() not in marks]
                odd = self._first_odd([row.cells[j] for row in there])
                if odd is not None:
                    self._note_word(f"{self.files[0].name}:{there[odd].number}", name, there[odd].cells[j])
        return self._new_layout(columns, self.has_header, None if self.target is None else names[self.target])

    def _explain(self, column: str, kind: str) -> None:
        message, settings = self.explained(column, kind)
        if message:
            self.note(self.files[0].name, f"column {self.named(column)} holds {message}", *settings)

    def pieces(self) -> Generator[Piece]:
        """Yield the rows of all files as they are read, once the first of them have decided what the columns are."""
        held: list[Piece] = []
        pieces = super().pieces()
        while not self._decided:
            self._taken = 0
            try:
                for piece in pieces:
                    held.append(piece)
                    if not self.is_deciding:
                        break
                self._decided = True
            except OddCellError as late:
                if any(file.is_spent for file in self.files):
                    raise
                self.change_kind(late, True)
                held, pieces = [], super().pieces()
        yield from held
        del held
        yield from pieces

    @property
    def is_deciding(self) -> bool:  # type: ignore[override]
        """Whether what has been read so far may still change what a column is taken for."""
        return self._taken < _DECIDING

    def change_kind(self, error: ReadError, early: bool) -> str:
        """Take a column for the next kind that fits, words if there is none, from now on, unless it is too late."""
        if not (early and isinstance(error, OddCellError)):
            raise error
        late, column = error, error.column
        kind = cells.written_kind([*self._evidence[column], late.cell], self.number_format)
        if kind == dict(self._layout.columns)[column]:
            kind = WORD  # it does not serve after all: no column is read again and again
        if kind == WORD and is_id(self._evidence[column]):
            message = f"{quoted(late.cell)} is not a number, and as words almost all cells of the column would differ"
            raise ReadError(late.where, message, ("categorical", column), ("ignore", column)) from None
        self._evidence[column].append(late.cell)
        columns = tuple((n, self._hash(kind) if n == column else k) for n, k in self._layout.columns)
        self._arrange(replace(self._layout, columns=columns, categories=()))
        if kind == WORD:
            self._note_word(late.where.partition(", column")[0], column, late.cell)
        else:
            self._explain(column, kind)
        return kind

    # -----------------------------------------------------------------------------------------------------------
    # Rows

    def _read(self, file: File) -> Iterator[Piece]:
        self._prepare(file)
        shape = self._shape(file)
        skip = 0 if file.begins_inside else shape.lines
        line = 1 + skip
        empty = Buffers().empty
        for piece, result in side_by_side(self._texts(file, skip), lambda piece: self._parse(piece, shape, empty)):
            with self._faults(file, shape, piece, line):
                raw, y, lines, labeled = result.result()
            line += lines
            self._taken += len(piece)
            if raw is not None:
                yield self._piece(raw, y, labeled)

    @contextmanager
    def _faults(self, file: File, shape: Shape, piece: Any, line: int) -> Iterator[None]:
        """Name file, line and column of what is wrong with a piece, whose first line has this number."""
        try:
            yield
        except pa.ArrowInvalid as error:
            raise self._locate(file, shape, bytes(piece), line, error) from None
        except LineError as error:
            raise ReadError(f"{file.name}:{line + bytes(piece[: error.offset]).count(10)}", str(error)) from None
        except CellError as error:
            rows = islice(numbered(bytes(piece).decode(), line, self.delimiter), error.row, None)
            where = f"{file.name}:{next(rows).number}, column {self.named(error.column)}"
            if isinstance(error, WrongKindError):
                raise self.wrong_kind(where, error.column, str(error)) from None
            raise ReadError(where, str(error), *error.settings) from None

    def _shape(self, file: File) -> Shape:
        """Return how the columns lie in a file; those that are wanted must be there, in whatever order."""
        names, lines = self.column_names, 0
        if self.has_header:
            first = file
            if file.begins_inside:  # the header is at the beginning of the file
                first = File(file.path)
                self._prepare(first)
            header = next(numbered(head(first)[0], 1, self.delimiter), None)
            if header is None:
                raise ReadError(file.name, "is empty")
            lines = header.number + sum(cell.count("\n") for cell in header.cells)
            if file is not self.files[0]:
                names = [cell.strip() for cell in header.cells]
            there, target = set(names), self._target_name
            for name in [*(name for name, _ in self._layout.columns), *([target] if target else [])]:
                if name not in there and file is not self.files[0]:
                    message = f"the header differs from that of {self.files[0].name}: no column is named {name!r}"
                    raise ReadError(f"{file.name}:1", message)
            if len(there) < len(names):
                raise ReadError(f"{file.name}:1", "two columns have the same name")
        wanted = {name: place for place, name in enumerate(self._layout.numbers)}
        if self._target_name is not None:
            wanted[self._target_name] = LABEL
        plain = all(kind == NUMBER for _, kind in self._layout.columns) and self.delimiter in _PLAIN
        if not plain or self.number_format.point != "." or self.number_format.missing != MISSING:
            return Shape(names, None, lines)
        return Shape(names, np.array([wanted.get(name, UNWANTED) for name in names], dtype=np.int64), lines)

    @property
    def _target_name(self) -> str | None:
        """The name of the column with the labels, if they are wanted."""
        return None if self.target is None or not self.options.labels else self.column_names[self.target]

    def row_lines(self, file: File) -> Iterator[list[int]]:
        """Yield the lines in which rows begin, a piece of the file at a time."""
        skip = self._shape(file).lines
        line = 1 + skip
        for piece in self._texts(file, skip):
            text = bytes(piece)
            if b'"' in text:
                yield [row.number for row in numbered(text.decode(), line, self.delimiter)]
            else:
                yield [number for number, row in enumerate(text.split(b"\n"), line) if row not in _EMPTY]
            line += text.count(b"\n")

    def cells(self, names: list[str]) -> Iterator[pa.Table]:
        """Yield the cells of some columns as they are written, a block at a time."""
        conversion = pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), include_columns=names, include_missing_columns=True
        )
        self._taken = 0
        for file in self.files:
            self._prepare(file)
            shape = self._shape(file)
            line = 1 + shape.lines
            parse = partial(self._table, shape=shape, conversion=conversion)
            for piece, table in side_by_side(self._texts(file, shape.lines), parse):
                with self._faults(file, shape, piece, line):
                    block = table.result()
                line += bytes(piece).count(b"\n")
                size = len(piece)  # its buffer is used again
                if block is not None:
                    yield block
                self._taken += size

    def excerpts(self, rows: Sequence[int]) -> Iterator[bytes]:
        """Yield for every file that has some of these rows of the source, in order, its header and their text."""
        row = place = 0
        for file in self.files:
            shape = self._shape(file)
            written = io.StringIO(newline="")
            writer = csv.writer(written, delimiter=self.delimiter)
            if self.has_header:
                writer.writerow(shape.names)
            some = [written.getvalue().encode()]
            for piece in self._texts(file, shape.lines):
                if place == len(rows):
                    break
                lines = _records(bytes(piece), self.delimiter)
                while place < len(rows) and rows[place] < row + len(lines):
                    some.append(lines[rows[place] - row])
                    place += 1
                row += len(lines)
            if len(some) > 1:
                yield b"".join(some)

    def _texts(self, file: File, skip: int) -> Iterator[memoryview]:
        """Yield whole rows without the lines of the header; buffers are used again, see `pieces`."""
        delimiter = ord(self.delimiter)

        def cut(buffer: mmap, filled: int) -> int:
            if buffer.find(b'"', 0, filled) < 0:
                return last_newline(buffer, filled)
            return int(last_record(np.frombuffer(buffer, dtype=np.uint8, count=filled), delimiter))

        for piece in pieces(file, self.options.block_bytes, cut=cut, last=True, buffers=cores() + 1):
            start = 0
            if skip:
                text = bytes(piece)
                try:
                    _check_quotes(text, delimiter)
                except LineError as error:
                    raise ReadError(f"{file.name}:{1 + text.count(10, 0, error.offset)}", str(error)) from None
                while skip and start < len(text):
                    start, skip = text.index(b"\n", start) + 1, skip - 1
                if re.search(rb"\r(?!\n)", text[:start]):
                    message = "the line ends in CR alone: convert the line endings to LF or CR LF"
                    raise ReadError(f"{file.name}:1", message)
            if start < len(piece):
                yield piece[start:]

    def _parse(
        self, piece: memoryview, shape: Shape, empty: Callable[..., Array]
    ) -> tuple[RawRows | None, Array | None, int, Array | None]:
        """Return the rows of whole lines, None if there are none, their labels, their lines, and who has a label."""
        target = self._target_name
        y = labeled = None
        plain = None if shape.places is None else parse_table(piece, ord(self.delimiter), shape.places, empty)
        if plain is not None:
            X, words, longest = plain
            self.long_numbers |= longest > SHORT
            if target is not None:
                y, labeled = self._labels(words)
            if labeled is None:
                return RawRows(X), y, len(X), None
            missing = {str(target): int(np.count_nonzero(~labeled))}
            return RawRows(X[labeled], missing=missing), y, len(X), labeled
        self.long_numbers = True  # for all that is known
        table, lines = self._table(piece, shape, self._conversion()), bytes(piece).count(b"\n")
        if table is None:
            return None, None, lines, None
        if target is not None:
            y, labeled = self._labels(table.column(target).combine_chunks())
        return self._raw_rows(table, target, labeled, self.number_format.point), y, lines, labeled

    def _table(self, piece: memoryview, shape: Shape, conversion: pa.csv.ConvertOptions) -> pa.Table | None:
        """Return some columns of whole rows of text, None if there are none."""
        text = bytes(piece)
        if text.isspace():
            return None
        _check_quotes(text, ord(self.delimiter))
        return pa.csv.read_csv(
            pa.BufferReader(pa.py_buffer(text)),
            read_options=pa.csv.ReadOptions(column_names=shape.names, block_size=len(text) + 1, use_threads=False),
            parse_options=pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=b'"' in text),
            convert_options=conversion,
        )

    def _conversion(self) -> pa.csv.ConvertOptions:
        words = pa.dictionary(pa.int32(), pa.string())
        types = {
            name: pa.float64() if kind == NUMBER else words if kind == WORD else pa.string()
            for name, kind in self._layout.columns
        }
        if self._target_name is not None:
            types[self._target_name] = pa.string()
        return pa.csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=sorted(self._missing_marks()),
            strings_can_be_null=True,
            decimal_point=self.number_format.point,
        )

    def _missing_marks(self) -> set[str]:
        """Return the texts that mark a missing value, also after a blank."""
        return {blank + mark for mark in self.number_format.missing for blank in ("", " ")}

    def _labels(self, column: pa.StringArray) -> tuple[Array, Array | None]:
        """Return labels as the user wrote them, and which rows are kept, None for all of them."""
        assert self.target is not None
        # to fill nothing would load pandas, if it is there
        coded = (column.fill_null(word("")) if column.null_count else column).dictionary_encode()
        words = [word.strip() for word in coded.dictionary.to_pylist()]
        codes = numpy_view(coded.indices)
        absent = np.isin(codes, [code for code, word in enumerate(words) if word in self.number_format.missing])
        if absent.any():
            if self.options.missing != "drop":
                raise CellError(
                    int(np.argmax(absent)), self.column_names[self.target], "a missing label", ("missing", "drop")
                )
            codes = codes[~absent]
        present = np.bincount(codes, minlength=len(words)) > 0
        values = np.empty(present.sum(), dtype=object)
        values[:] = [label(word) for word, there in zip(words, present.tolist(), strict=True) if there]
        return tidy(values)[(np.cumsum(present) - 1)[codes]], ~absent if absent.any() else None

    # -----------------------------------------------------------------------------------------------------------
    # Complaints

    def wrong_kind(self, where: str, column: str, cell: str) -> ReadError:
        """Return the error of a cell that is not of its column's kind."""
        numeric = {self.column_names[find(name, self.column_names)] for name in self.options.numeric}
        if self.options.layout is not None or column in numeric:
            hint = (("categorical", column),) if len(cell) <= 40 and self.options.layout is None else ()
            message = f"{quoted(cell)} is not a number" + (" ({0} reads the column as words)" if hint else "")
            return ReadError(where, message, *hint)
        message = f"{quoted(cell)} differs in kind from the cells above ({{0}} reads the column as words)"
        late = OddCellError(where, message, ("categorical", column))
        late.column, late.cell = column, cell
        return late

    def _locate(self, file: File, shape: Shape, piece: bytes, line: int, error: pa.ArrowInvalid) -> ReadError:
        kinds = dict(self._layout.columns)
        numbers = [(j, name) for j, name in enumerate(shape.names) if is_numeric(kinds.get(name, WORD))]
        marks = self._missing_marks()
        try:
            for number, row in numbered(piece.decode(), line, self.delimiter):
                where = f"{file.name}:{number}"
                if len(row) != len(shape.names):
                    message = f"the row has {len(row)} cell{'s' * (len(row) != 1)}"
                    return ReadError(where, f"{message}, but the table has {len(shape.names)} columns")
                for j, name in numbers:
                    if row[j] not in marks and not cells.fits_kind(kinds[name], row[j], self.number_format.point):
                        return self.wrong_kind(f"{where}, column {self.named(name)}", name, row[j])
        except UnicodeDecodeError as bad:
            return not_utf8(file.name, line + piece[: bad.start].count(b"\n"))
        return ReadError(file.name, f"after line {line}: {error}")


def _check_quotes(text: bytes, delimiter: int) -> None:
    if b'"' in text:
        end = int(last_record(np.frombuffer(text, dtype=np.uint8), delimiter))
        if end < len(text):
            raise LineError(end, "a quote opens but never closes")


def _records(text: bytes, delimiter: str) -> list[bytes]:
    if b'"' not in text:
        return [line + b"\n" for line in text.split(b"\n") if line not in _EMPTY]
    rows = []
    for line in numbered(text.decode(), 1, delimiter):
        written = io.StringIO(newline="")
        csv.writer(written, delimiter=delimiter).writerow(line.cells)
        rows.append(written.getvalue().encode())
    return rows
