"""Reads tables with typed columns: Parquet, Arrow and Feather files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from linsep.data.files import File, complaints, one_line
from linsep.data.options import Options
from linsep.data.parallel import side_by_side
from linsep.data.row_numbers import both
from linsep.data.schema import (
    BOOLEAN,
    CATEGORY,
    DATE,
    GROUPED,
    NUMBER,
    PERCENT,
    TEXT,
    CellError,
    ColumnError,
    Layout,
    find,
    is_numeric,
)
from linsep.data.sniffing import index_columns
from linsep.data.source import Piece
from linsep.data.tables import Parts, TableSource, choose, kept_rows, kind_of, labels
from linsep.errors import ReadError
from linsep.problem import Array

_ROWS = 1000  # that show what the columns are
_SPELLED = (BOOLEAN, PERCENT, GROUPED, DATE)  # kinds of numbers that may be written as strings


class TypedSource(TableSource):
    """Rows of Parquet, Arrow or Feather files."""

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        with opened(files[0], options.format) as table:
            schema = table.schema_arrow if options.format == "parquet" else table.schema
            names = list(schema.names)
            if len(set(names)) < len(names):
                raise ReadError(files[0].name, "two columns have the same name")
            try:
                self._target, chosen = choose(names, options, index_columns(schema.metadata))
                self._name = None if self._target is None or not options.labels else names[self._target]
                layout = self._decide(table, schema, chosen) if options.layout is None else Layout(())
            except ColumnError as error:
                raise ReadError(files[0].name, str(error), *error.settings) from None
        self._arrange(layout)

    @property
    def target(self) -> int | None:
        """The place of the label among the columns."""
        return self._target

    def _decide(self, table: Any, schema: pa.Schema, chosen: list[int]) -> Layout:
        """Decide by the types, and by the first rows, what becomes of each column."""
        names, options = list(schema.names), self.options
        categories, texts, numeric = (
            {find(name, names) for name in group} for group in (options.categorical, options.text, options.numeric)
        )
        hashed = options.hash_bits is not None
        kinds = {
            j: kind_of(names[j], schema.field(j).type, category=j in categories, text=j in texts, hashed=hashed)
            for j in chosen
        }
        wanted = [*chosen, *([] if self._target is None else [self._target])]
        first = _first_rows(table, options.format, [names[j] for j in wanted])
        columns = [(j, names[j], kinds[j], [cell for cell in first[names[j]] if cell is not None]) for j in chosen]
        if self._name is not None:
            values = [cell for cell in first[self._name] if cell is not None and cell == cell]
            if values and all(isinstance(cell, int | float) and abs(cell) < float("inf") for cell in values):
                self._check_label(self._name, values, columns)
        taken = self._leave_out(columns, categories | texts | numeric, index_columns(schema.metadata))
        for name, kind in taken:
            if kind == DATE:
                time = pa.types.is_time(schema.field(name).type)
                what = "times of day" if time else "dates or times"
                unit = "seconds since midnight" if time else "days since 1970-01-01"
                said = f"column {name!r} holds {what}: read as {unit} ({{0}} leaves it out)"
                self.note(self.files[0].name, said, ("ignore", name))
        return self._new_layout(taken, True, self._name)

    def _read(self, file: File) -> Iterator[Piece]:
        wanted = [name for name, _ in self._layout.columns] + ([] if self._name is None else [self._name])
        first = 0
        with opened(file, self.options.format) as table:
            schema = table.schema_arrow if self.options.format == "parquet" else table.schema
            for name in wanted:
                try:
                    if name not in schema.names:
                        find(name if not name.lstrip("-").isdigit() else "", schema.names)
                    elif name != self._name:
                        self._agrees(name, schema.field(name).type)
                except ColumnError as error:
                    raise ReadError(file.name, str(error), *error.settings) from None
            batches = _parquet if self.options.format == "parquet" else _arrow
            if file.part is not None:
                first = rows_before(table, self.options.format, file.part[0])
            parts = batches(table, wanted, self.options.block_bytes, file.size or 0, file.part)
            for (batch, position), taken in side_by_side(parts, lambda part: self._take(part[0])):
                file.position = position
                try:
                    found, y, labeled = taken.result()
                except CellError as error:
                    where = f"{file.name}: row {first + error.row}, column {error.column!r}"
                    raise ReadError(where, str(error), *error.settings) from None
                yield Piece(self._finish(found), kept_rows(y, found.kept), both(labeled, found.kept))
                first += batch.num_rows

    def _agrees(self, name: str, kind: pa.DataType) -> None:
        """Refuse a column that has another kind here than the layout says."""
        own = dict(self._layout.columns)[name]
        words = own in (CATEGORY, TEXT) or not is_numeric(own)
        found = kind_of(name, kind, category=words and own != TEXT, text=own == TEXT, hashed=own == CATEGORY)
        spelled = own.partition(":")[0] in _SPELLED and not is_numeric(found)
        if is_numeric(found) != is_numeric(own) and not spelled:
            shown = NUMBER if is_numeric(own) else own
            raise ColumnError(f"column {name!r} is a {found} here, but a {shown} was expected")

    def _take(self, batch: pa.RecordBatch) -> tuple[Parts, Array | None, Array | None]:
        """Return rows and labels of a batch, and which of its rows have a label, None for all of them."""
        if self._name is None:
            return self._parts(batch), None, None
        y, kept = labels(batch.column(self._name), self._name, self.options.missing)
        return self._labeled_parts(batch, self._name, kept), y, kept


def _first_rows(table: Any, form: str, wanted: list[str]) -> dict[str, list[Any]]:
    """Return the first cells of some columns."""
    if form == "parquet":
        batch = next(table.iter_batches(batch_size=_ROWS, columns=wanted, use_threads=False), None)
    elif isinstance(table, pa.RecordBatchStreamReader):
        batch = next(iter(table), None)
    else:
        batch = table.get_batch(0) if table.num_record_batches else None
    if batch is None:
        return {name: [] for name in wanted}
    part = batch.select(wanted).slice(0, _ROWS)
    part.validate(full=True)
    return {name: part.column(name).to_pylist() for name in wanted}


@contextmanager
def opened(file: File, kind: str) -> Iterator[Any]:
    """Open a file of record batches; whatever is wrong with it shows here or while it is read."""
    try:
        with complaints(file.name), _open(file.whole(), kind) as table:
            yield table
    except ReadError:
        raise
    except (ValueError, LookupError, NotImplementedError, OverflowError, TypeError) as error:
        raise ReadError(file.name, f"is damaged, or not a file of this format ({one_line(error)})") from None


def _open(whole: Any, kind: str) -> Any:
    """Open a path or a stream as Parquet, as an Arrow file, or as a stream of Arrow batches."""
    if kind == "parquet":
        import pyarrow.parquet as pq  # slow to import

        # without buffers a whole column of a row group would be held at once; from afar small ones take too long
        return pq.ParquetFile(whole, pre_buffer=False, buffer_size=1 << (16 if isinstance(whole, str) else 18))
    source = pa.memory_map(whole) if isinstance(whole, str) else pa.PythonFile(whole, "r")
    magic = source.read(6)
    source.seek(0)
    return pa.ipc.open_file(source) if magic == b"ARROW1" else pa.ipc.open_stream(source)


Part = tuple[int, int] | None


def _parquet(
    opened: Any, wanted: list[str], size: int, length: int, span: Part
) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield batches of about ``size`` bytes, and how far into the file they reach."""
    groups = range(opened.metadata.num_row_groups) if span is None else range(*span)
    stored = promised = done = 0
    for number in groups:
        stored += opened.metadata.row_group(number).total_byte_size
        promised += opened.metadata.row_group(number).num_rows
    total = max(1, promised)
    row = max(_least(opened.schema_arrow, wanted), stored // total)
    size = min(size, 1 << 21)  # the decoder holds pages of every column beside the rows
    height = max(1, size // row)
    for batch in opened.iter_batches(batch_size=height, row_groups=list(groups), columns=wanted, use_threads=False):
        done += batch.num_rows
        yield batch, length * done // total
    if done != promised:
        raise ValueError(f"{done} rows, but the file promises {promised}")


def _arrow(opened: Any, wanted: list[str], size: int, length: int, span: Part) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield batches of about ``size`` bytes, and how far into the file they reach."""
    stream = isinstance(opened, pa.RecordBatchStreamReader)
    batches = opened if stream else map(opened.get_batch, range(*span or (0, opened.num_record_batches)))
    for number, batch in enumerate(batches, 1):
        part = batch.select(wanted)
        part.validate(full=True)  # offsets are taken as they lie in the file: they might point anywhere
        row = max(_least(opened.schema, wanted), part.nbytes // max(1, part.num_rows))
        height = max(1, size // row)
        for start in range(0, part.num_rows, height):
            yield part.slice(start, height), 0 if stream else length * number // opened.num_record_batches


def rows_before(opened: Any, kind: str, number: int) -> int:
    """Return how many rows lie before a row group of a Parquet file, or before a batch of an Arrow file."""
    if kind == "parquet":
        return sum(opened.metadata.row_group(k).num_rows for k in range(number))
    return sum(opened.get_batch(k).num_rows for k in range(number))


def _least(schema: pa.Schema, wanted: list[str]) -> int:
    """Return the least number of bytes that a row takes in memory; a string counts as 16."""
    kinds = [schema.field(name).type for name in wanted]
    return max(1, sum(kind.bit_width // 8 if pa.types.is_primitive(kind) else 16 for kind in kinds))
