"""Reads tables with typed columns: Parquet, Arrow and Feather files, and frames."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from linsep.data import cells
from linsep.data.files import File, complaints, one_line
from linsep.data.options import MISSING, Options
from linsep.data.parallel import side_by_side
from linsep.data.schema import DATE, HASHED_TEXT, NUMBER, TEXT, WORD, CellError, ColumnError, Layout, find, is_numeric
from linsep.data.sniffing import index_columns, quoted
from linsep.data.source import Piece
from linsep.data.tables import (
    RawRows,
    Sample,
    TableSource,
    WrongKindError,
    feature_rows,
    is_plain,
    is_string,
    label_column,
    raw_rows,
    typed_kind,
    value_type,
)
from linsep.data.words import WordIndex
from linsep.errors import DataError, ReadError
from linsep.problem import Array

_ROWS = 1000  # that show what the columns are
Span = tuple[int, int] | None  # of the parts of a file


class HeldTable(File):
    """A table in memory as an input."""

    def __init__(self, table: pa.Table, *, read: bool = False) -> None:
        super().__init__(io.BytesIO(), spool=False)
        self.table, self.name = table, "X"
        self.read = read  # whether it was given to `linsep.read`, which has options

    @property
    def size(self) -> int | None:
        """Bytes in memory."""
        return int(self.table.nbytes)

    def fingerprint(self) -> str:
        """Return a name for the content: its columns and some of its rows."""
        n = self.table.num_rows
        some = [self.table.slice(start, 1000).to_pylist() for start in (0, n // 2, max(0, n - 1000))]
        return hashlib.sha256(repr((str(self.table.schema), n, some)).encode()).hexdigest()


def arrow_table(X: Any, names: Sequence[str] | None = None) -> pa.Table:
    """Return a frame, or records, as a table of Arrow, with some of its columns or all; cells of many types are words.

    A column that is not in some records is missing there.
    """
    if isinstance(X, Mapping):
        X = [X]
    if isinstance(X, list | tuple):
        names = list(dict.fromkeys(key for record in X for key in record)) if names is None else names
        return pa.table({str(name): _column(name, [record.get(name) for record in X]) for name in names})
    if hasattr(X, "iloc"):  # pandas
        columns = [str(name) for name in X.columns]
        if len(set(columns)) < len(columns):
            raise DataError("X", "two columns have the same name")
        wanted = columns if names is None else _known(names, columns)
        return pa.table({name: _column(name, X.iloc[:, columns.index(name)]) for name in wanted})
    table = pa.table(X)
    if names is not None:
        table = table.select(_known(names, table.column_names))
    plain = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return table.cast(pa.schema([field.with_type(plain.get(field.type, field.type)) for field in table.schema]))


def _known(names: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return the names; one that is not among the columns is an error."""
    for name in names:
        if name not in columns:
            find(name, columns)
    return list(names)


def _column(name: Any, values: Any) -> Any:
    """Return cells as a column; where no type fits all of them, they are words, as they would be in a file."""
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        kinds = {type(cell) for cell in values if cell is not None and cell == cell}
    odd = next((kind for kind in kinds if not issubclass(kind, str | int | float | bool)), None)
    if odd is not None:
        message = f"holds values of type {odd.__name__}, which are neither numbers nor words nor dates"
        raise DataError(f"X, column {str(name)!r}", message)
    return pa.array([None if cell is None or cell != cell else str(cell) for cell in values], pa.large_string())


class TypedSource(TableSource):
    """Rows of Parquet, Arrow or Feather files, or of a frame."""

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        with self.opened(files[0]) as table:
            names = self.column_names = list(table.schema.names)
            if len(set(names)) < len(names):
                raise ReadError(files[0].name, "two columns have the same name")
            try:
                self.target, chosen = self._choose(index_columns(table.schema.metadata))
                self._name = None if self.target is None or not options.labels else names[self.target]
                layout = self._decide(table, chosen) if options.layout is None else Layout(())
            except ColumnError as error:
                raise ReadError(files[0].name, str(error), *error.settings) from None
        self._arrange(layout)

    def opened(self, file: File) -> Any:
        """Open a file: a context in which its columns are."""
        return open_table(file, self.options.format)

    @property
    def _is_argument(self) -> bool:
        """Whether the rows are a frame that was given to a function without options of its own for reading it."""
        return isinstance(self.files[0], HeldTable) and not self.files[0].read

    def note(self, where: str, message: str, *settings: tuple[str, Any]) -> None:
        """Tell of a decision; options are those of `linsep.read`."""
        super().note(where, message.replace("{0}", "linsep.read(X, {0})") if self._is_argument else message, *settings)

    def _decide(self, table: OpenTable, chosen: list[int]) -> Layout:
        """Decide by the types, and by the first rows, what becomes of each column."""
        schema, names, asked, where = table.schema, self.column_names, self._asked(), self.files[0].name
        for j in chosen:
            kind = schema.field(j).type
            if pa.types.is_dictionary(kind) and is_plain(kind.value_type):
                asked.setdefault(j, WORD)  # categories that are numbers are no quantities
        kinds = {j: typed_kind(names[j], schema.field(j).type, asked.get(j)) for j in chosen}
        wanted = [*chosen, *([] if self.target is None else [self.target])]
        batch = table.first_rows([names[j] for j in wanted])
        first = {j: [] if batch is None else batch.column(names[j]).to_pylist() for j in wanted}
        samples = [Sample(j, names[j], kinds[j], [cell for cell in first[j] if cell is not None]) for j in chosen]
        samples = self._written_kinds(table, samples, asked)
        if self._name is not None and self.target is not None:
            values = [cell for cell in first[self.target] if cell is not None and cell == cell]
            finite = all(isinstance(cell, int | float) and abs(cell) < float("inf") for cell in values)
            self._check_label(self._name, values, samples, measurable=bool(values) and finite)
        columns = self._without_ids(samples, asked, index_columns(schema.metadata))
        for name, kind in columns:
            written = is_string(value_type(schema.field(name).type))
            message, settings = self.explained(name, kind) if written else ("", ())
            if kind == NUMBER and written:
                message, settings = (
                    "numbers that are written as text ({0} reads them as words)",
                    (("categorical", name),),
                )
            elif kind == DATE:
                time = pa.types.is_time(schema.field(name).type)
                message = "times of day" if time else "dates or times"
                message += f": read as {'seconds since midnight' if time else 'days since 1970-01-01'}"
                message, settings = f"{message} ({{0}} leaves it out)", (("ignore", name),)
            if message:
                self.note(where, f"column {name!r} holds {message}", *settings)
        return self._new_layout(columns, True, self._name)

    def _written_kinds(self, table: OpenTable, samples: list[Sample], asked: Mapping[int, str]) -> list[Sample]:
        """Return the columns with the kinds of those whose strings are numbers or dates, as they would be in a CSV."""
        marks = frozenset(self.number_format.missing)
        strings = {
            sample.place: [cell for cell in sample.cells if cell.strip() not in marks]
            for sample in samples
            if sample.kind == WORD
            and asked.get(sample.place) != WORD
            and is_string(value_type(table.schema.field(sample.place).type))
        }
        if self.number_format.decimal is None and strings:
            self.number_format = self.number_format._replace(decimal=cells.decimal_sign(strings.values(), ","))
            self._note_decimal_comma()
        decided = []
        for sample in samples:
            (j, name, kind, _), written = sample, strings.get(sample.place)
            if written:
                kind = self._written_kind(j, written, asked)
                if table.held is not None and is_numeric(kind) and j not in asked:
                    whole = cells.without_missing(table.held.column(name).combine_chunks(), marks)
                    if cells.values(whole, kind, self.number_format.point) is None:
                        kind = WORD  # not all of them are
                odd = self._first_odd(written) if kind == WORD else None
                if odd is not None:
                    self._note_word(self.files[0].name, name, written[odd])
            decided.append(sample._replace(kind=self._hash(kind)))
        return decided

    def _read(self, file: File) -> Iterator[Piece]:
        kinds = dict(self._layout.columns)
        wanted = [*kinds, *([] if self._name is None else [self._name])]
        first = 0
        with self.opened(file) as table:
            schema = table.schema
            for name in wanted:
                try:
                    if name not in schema.names:
                        find(name if not name.lstrip("-").isdigit() else "", schema.names)
                    elif name != self._name:
                        check_kind(name, kinds[name], schema.field(name).type)
                except ColumnError as error:
                    raise ReadError(file.name, str(error), *error.settings) from None
            if file.part is not None:
                first = table.rows_before(file.part[0])
            parts = table.batches(wanted, self.options.block_bytes, file.part)
            for (batch, share), taken in side_by_side(parts, lambda part: self._take(part[0])):
                file.position = int((file.size or 0) * share)
                try:
                    yield self._piece(*taken.result())
                except CellError as error:
                    where = f"{file.name}: row {first + error.row}, column {error.column!r}"
                    raise self._cell_error(where, error) from None
                first += batch.num_rows

    def _cell_error(self, where: str, error: CellError) -> ReadError:
        if isinstance(error, WrongKindError):
            return self.wrong_kind(where, error.column, str(error))
        return self.error(where, str(error), *error.settings)

    def error(self, where: str, message: str, *settings: tuple[str, Any]) -> ReadError:
        """Return an error; the options of a frame are those of `linsep.read`."""
        if self._is_argument and settings:
            message, settings = f"{message}; linsep.read(X, {settings[0][0]}=...) can take it", ()
        return ReadError(where, message, *settings)

    def cells(self, names: list[str]) -> Iterator[Any]:
        """Yield the cells of some columns, a block at a time."""
        for file in self.files:
            with self.opened(file) as table:
                yield from (batch for batch, _ in table.batches(names, self.options.block_bytes))

    def _take(self, batch: pa.RecordBatch) -> tuple[RawRows, Array | None, Array | None]:
        """Return rows and labels of a batch, and which of its rows have a label, None for all of them."""
        rows, point = batch, self.number_format.point
        for name in self._layout.numbers:
            place = batch.schema.get_field_index(name)
            if place >= 0 and is_string(value_type(batch.schema.field(place).type)):
                column = cells.without_missing(batch.column(place), self.number_format.missing)
                rows = rows.set_column(place, name, column)
        y = labeled = None
        if self._name is not None:
            y, labeled = label_column(batch.column(self._name), self._name, self.options.missing)
        return self._raw_rows(rows, self._name, labeled, point), y, labeled


class ReadRows(NamedTuple):
    """Rows of a table, read as those that a model has learned from."""

    X: Any  # those that can be read
    kept: Array | None  # which of all rows these are, None for all of them
    why: str  # the others cannot be
    unseen: int  # cells with words that did not occur in training


class RowReader:
    """Reads frames and records as the rows that a model has learned from; ``state`` is what it remembers of them."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.layout = Layout.from_state(state)
        self.missing, self.point = str(state.get("missing", "error")), str(state.get("point", "."))
        self.marks = frozenset(state.get("gaps", MISSING))  # of missing values
        self.names = [name for name, _ in self.layout.columns]
        self._categories = WordIndex(self.layout.first_category, self.layout.categories, fixed=True)
        self._words = {word for _, word in self.layout.categories}

    def _iso_dates(self, column: Any, kind: str) -> Any:
        """Return dates as days where they are not written as in training, but as ISO 8601 has it."""
        iso = f"{DATE}:iso"
        if not kind.startswith(DATE) or cells.values(column, iso if kind == DATE else kind, self.point) is not None:
            return column
        days = cells.values(column, iso, self.point)
        return column if days is None else pa.array(days, from_pandas=True)

    def read(self, X: Any) -> ReadRows:
        """Return the rows of a frame or of records; a missing number leaves out its row, if training took none."""
        try:
            table = arrow_table(X, self.names)
            for place, (name, kind) in enumerate(self.layout.columns):
                stored = table.schema.field(place).type
                if pa.types.is_null(stored):
                    table = table.set_column(place, name, pa.nulls(len(table), pa.string()))
                    continue
                check_kind(name, kind, stored)
                if is_string(value_type(stored)):
                    marks = self.marks if is_numeric(kind) else self.marks - self._words
                    column = cells.without_missing(table.column(place).combine_chunks(), marks)
                    table = table.set_column(place, name, self._iso_dates(column, kind))
        except ColumnError as error:
            raise DataError("X", f"{error}; the model learned from it") from None
        categories = copy(self._categories)
        try:
            raw = raw_rows(table, self.layout, "skip" if self.missing == "error" else self.missing, point=self.point)
        except CellError as error:
            message = f"{quoted(str(error))} is not a number" if isinstance(error, WrongKindError) else str(error)
            raise DataError(f"X: row {error.row}, column {error.column!r}", message) from None
        X = feature_rows(raw, self.layout, categories, self.missing)
        if raw.kept is None or raw.kept.all():
            return ReadRows(X, None, "", categories.unseen)
        lost = int(np.argmin(raw.kept))
        empty = [name for name in self.layout.numbers if table.column(name)[lost].as_py() in (None, "")]
        why = f"row {lost} has no value in column {empty[0]!r}" if empty else f"row {lost} has an empty cell"
        return ReadRows(X, raw.kept, why, categories.unseen)


def check_kind(name: str, expected: str, stored: pa.DataType) -> None:
    """Refuse a column of another kind than was expected; numbers and dates may be written as text."""
    asked = None if is_numeric(expected) else TEXT if expected in (TEXT, HASHED_TEXT) else WORD
    kind = typed_kind(name, stored, asked)
    if is_numeric(kind) != is_numeric(expected) and not is_string(value_type(stored)):
        wanted = NUMBER if is_numeric(expected) else expected
        raise ColumnError(f"column {name!r} is a {kind} here, but a {wanted} was expected")
    if kind == DATE and not expected.startswith(DATE):
        raise ColumnError(f"column {name!r} is a date here, but a number was expected")


# ---------------------------------------------------------------------------------------------------------------
# Formats


class ParquetTable:
    """A Parquet file that is open; other formats have the same methods, and ``TABLES`` their names.

    ``part_bytes`` are the bytes of the parts that can be read by themselves (row groups, batches), 0 if unknown; a
    table in memory is ``held``.
    """

    held: pa.Table | None = None

    def __init__(self, whole: Any) -> None:
        import pyarrow.parquet as pq  # slow to import

        # without buffers a whole column of a row group would be held at once; from afar small ones take too long
        buffer_size = 1 << (16 if isinstance(whole, str) else 18)
        self._file = pq.ParquetFile(whole, pre_buffer=False, buffer_size=buffer_size)
        self.schema, metadata = self._file.schema_arrow, self._file.metadata
        self._groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        self.part_bytes = [group.total_byte_size for group in self._groups]

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def first_rows(self, names: list[str]) -> pa.RecordBatch | None:
        """Return the first rows of some columns."""
        return next(self._file.iter_batches(batch_size=_ROWS, columns=names, use_threads=False), None)

    def batches(self, names: list[str], size: int, span: Span = None) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Yield batches of some columns, and the share of the file that they reach to."""
        wanted = range(*span or (0, len(self._groups)))
        promised, done = sum(self._groups[number].num_rows for number in wanted), 0
        stored = sum(self.part_bytes[number] for number in wanted)
        row = max(_least(self.schema, names), stored // max(1, promised))
        height = max(1, min(size, 1 << 21) // row)  # the decoder holds pages of every column beside the rows
        for batch in self._file.iter_batches(height, list(wanted), names, use_threads=False):
            done += batch.num_rows
            yield batch, done / max(1, promised)
        if done != promised:
            raise ValueError(f"{done} rows, but the file promises {promised}")

    def rows_before(self, number: int) -> int:
        """Return how many rows lie before a part."""
        return sum(group.num_rows for group in self._groups[:number])


class ArrowTable:
    """An Arrow file, a stream of batches, or a table in memory."""

    def __init__(self, whole: Any) -> None:
        self.held: pa.Table | None = whole if isinstance(whole, pa.Table) else None
        self._stream: Any = None
        if self.held is not None:
            parts = self.held.to_batches()
            self.schema, self._get, count = self.held.schema, parts.__getitem__, len(parts)
        else:
            self._file = pa.memory_map(whole) if isinstance(whole, str) else pa.PythonFile(whole, "r")
            magic = self._file.read(6)
            self._file.seek(0)
            if magic == b"ARROW1":
                file = pa.ipc.open_file(self._file)
                self.schema, self._get, count = file.schema, file.get_batch, file.num_record_batches
            else:
                self._stream = pa.ipc.open_stream(self._file)
                self.schema, count = self._stream.schema, 1
        self.part_bytes = [0] * count

    def close(self) -> None:
        """Let go of the file."""
        if self.held is None:
            self._file.close()

    def first_rows(self, names: list[str]) -> pa.RecordBatch | None:
        """Return the first rows of some columns."""
        batch = next(iter(self._stream), None) if self._stream else self._get(0) if self.part_bytes else None
        if batch is None:
            return None
        part = batch.select(names).slice(0, _ROWS)
        part.validate(full=True)
        return part

    def batches(self, names: list[str], size: int, span: Span = None) -> Iterator[tuple[pa.RecordBatch, float]]:
        """Yield batches of some columns, and the share of the file that they reach to."""
        batches = self._stream or map(self._get, range(*span or (0, len(self.part_bytes))))
        for number, batch in enumerate(batches, 1):
            part = batch.select(names)
            if self.held is None:
                part.validate(full=True)  # offsets are taken as they lie in the file: they might point anywhere
            row = max(_least(self.schema, names), part.nbytes // max(1, part.num_rows))
            height = max(1, size // row)
            for start in range(0, part.num_rows, height):
                yield part.slice(start, height), 0 if self._stream else number / len(self.part_bytes)

    def rows_before(self, number: int) -> int:
        """Return how many rows lie before a part."""
        return sum(self._get(k).num_rows for k in range(number))


OpenTable = ParquetTable | ArrowTable
TABLES: dict[str, type[OpenTable]] = {"parquet": ParquetTable, "arrow": ArrowTable}


@contextmanager
def open_table(file: File, form: str) -> Iterator[OpenTable]:
    """Open a file of a typed format; whatever is wrong with it shows here or while it is read."""
    if isinstance(file, HeldTable):
        yield ArrowTable(file.table)
        return
    try:
        with complaints(file.name), closing(TABLES[form](file.whole())) as table:
            yield table
    except ReadError:
        raise
    except (ValueError, LookupError, NotImplementedError, OverflowError, TypeError) as error:
        raise ReadError(file.name, f"is damaged, or not a file of this format ({one_line(error)})") from None


def _least(schema: pa.Schema, wanted: list[str]) -> int:
    """Return the least number of bytes that a row takes in memory; a string counts as 16."""
    kinds = [schema.field(name).type for name in wanted]
    return max(1, sum(kind.bit_width // 8 if pa.types.is_primitive(kind) else 16 for kind in kinds))
