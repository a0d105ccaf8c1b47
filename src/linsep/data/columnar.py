"""Tables with typed columns: Parquet, Arrow and Feather files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from linsep.data import columns
from linsep.data.byte_streams import File, ReadError, complaints, one_line, side_by_side
from linsep.data.columns import CellError, ColumnError, Layout, find
from linsep.data.source import Options, Source
from linsep.problem import Array


def choose(names: list[str], options: Options) -> tuple[int | None, list[int]]:
    """Return which column is the target, None if there is none, and which are features."""
    target: int | None = None
    if options.labels or options.target is not None:
        try:
            target = find(-1 if options.target is None else options.target, names)
        except ColumnError:
            if options.labels:
                raise
    ignored = {find(name, names) for name in options.ignore}
    return target, [j for j in range(len(names)) if j != target and j not in ignored]


class TableSource(Source):
    """Rows of a table: what is common to typed and to delimited ones."""

    layout: Layout

    def _arrange(self, layout: Layout) -> None:
        """Take the layout, the user's if there is one, and let it say what the features are."""
        self.layout = self.options.layout or layout
        self.names = self.layout.numbers if self.layout.named else None
        wanted = self.options.n_features
        if wanted is not None and wanted != self.layout.width:
            raise ReadError(f"{self.files[0].name}: has {self.layout.width} features, but {wanted} are expected")

    @property
    def n_features(self) -> int:
        """How many features a row has."""
        return self.layout.width

    def _rows(self, table: Any, target: Array | None) -> tuple[Any, Array | None]:
        """Return rows and labels of a piece of the table; raises CellError."""
        X, kept = columns.rows(table, self.layout, self.options.missing, self.seen)
        return X, target if target is None or kept is None else target[kept]


class TypedSource(TableSource):
    """Rows of Parquet, Arrow or Feather files."""

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        with opened(files[0], options.format) as table:
            schema = table.schema_arrow if options.format == "parquet" else table.schema
        names = list(schema.names)
        try:
            self._target, chosen = choose(names, options)
            categories = {find(name, names) for name in options.categorical}
            texts = {find(name, names) for name in options.text}
            kinds = (
                tuple(
                    (
                        names[j],
                        columns.kind_of(names[j], schema.field(j).type, category=j in categories, text=j in texts),
                    )
                    for j in chosen
                )
                if options.layout is None
                else ()
            )
        except ColumnError as error:
            raise ReadError(f"{files[0].name}: {error}") from None
        if len(set(names)) < len(names):
            raise ReadError(f"{files[0].name}: two columns have the same name")
        self._name = None if self._target is None or not options.labels else names[self._target]
        self._arrange(Layout(kinds, options.hash_bits, target=self._name))

    def _read(self, file: File) -> Iterator[tuple[Any, Array | None]]:
        wanted = [name for name, _ in self.layout.columns] + ([] if self._name is None else [self._name])
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
                    raise ReadError(f"{file.name}: {error}") from None
            batches = _parquet if self.options.format == "parquet" else _arrow
            if file.part is not None:
                first = rows_before(table, self.options.format, file.part[0])
            parts = batches(table, wanted, self.options.block_bytes, file.size or 0, file.part)
            for (batch, position), taken in side_by_side(parts, lambda part: self._take(part[0])):
                file.position = position
                try:
                    yield taken.result()
                except CellError as error:
                    raise ReadError(f"{file.name}: row {first + error.row}, column {error.column!r}: {error}") from None
                first += batch.num_rows

    def _agrees(self, name: str, kind: pa.DataType) -> None:
        """Refuse a column that has another kind here than the layout says."""
        own = dict(self.layout.columns)[name]
        found = columns.kind_of(name, kind, category=own == columns.CATEGORY, text=own == columns.TEXT)
        if found != own:
            raise ColumnError(f"column {name!r} is a {found} here, but a {own} was expected")

    def _take(self, batch: pa.RecordBatch) -> tuple[Any, Array | None]:
        """Return rows and labels of a batch."""
        if self._name is None:
            return self._rows(batch, None)
        y, kept = columns.labels(batch.column(self._name), self._name, self.options.missing)
        return self._rows(batch if kept is None else batch.filter(pa.array(kept)), y)


@contextmanager
def opened(file: File, kind: str) -> Iterator[Any]:
    """Open a file of record batches; whatever is wrong with it shows here or while it is read."""
    try:
        with complaints(file.name), _open(file.whole(), kind) as table:
            yield table
    except ReadError:
        raise
    except (ValueError, LookupError, NotImplementedError, OverflowError, TypeError) as error:
        raise ReadError(f"{file.name}: a damaged file, or not one of its format ({one_line(error)})") from None


def _open(whole: Any, kind: str) -> Any:
    """Open a path or a stream as Parquet, as an Arrow file, or as a stream of Arrow batches."""
    if kind == "parquet":
        # without buffers a whole column of a row group would be held at once
        return pq.ParquetFile(whole, pre_buffer=False, buffer_size=1 << 16)
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
    size = min(size, 1 << 19)  # the decoder holds pages of every column beside the rows
    height = max(1, size // row)
    for batch in opened.iter_batches(batch_size=height, row_groups=list(groups), columns=wanted, use_threads=False):
        done += batch.num_rows
        yield batch, length * done // total
    if done != promised:
        raise ValueError(f"{done} rows where {promised} are promised")


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
