"""The table of a regression model: whole columns with their exact cells, of a source that every command reads."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linsep.data import cells
from linsep.data.arrays import numpy_view, word, words, zero
from linsep.data.read import read
from linsep.data.row_numbers import Dropped
from linsep.data.schema import BOOLEAN, DATE, TEXT, WORD, Layout, is_numeric, listed
from linsep.data.source import SHORT
from linsep.data.tables import TableSource, is_string
from linsep.errors import DataError
from linsep.problem import Array, Floats
from linsep.prove.numbers.text import some_rounded

_SAMPLE = 1000  # cells that nearly always show whether doubles round some number
_TINY = "[eE]-0*[0-9]{3}"  # unless it is tiny
_BEYOND = "[eE][+-]?0*[0-9]{5}"  # exponents that no exact search takes
_MOST_CHARACTERS = 4000  # of a number


class ColumnCategories(NamedTuple):
    """The categories that a column carries beside its cells, and whether they are in order."""

    labels: tuple[Any, ...]
    ordered: bool


def unknown(name: str, names: Sequence[str], what: str = "column") -> DataError:
    """Return the error that there is no such name."""
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {listed(names)}"
    return DataError("", f"no {what} is named {name!r}; {hint}")


class LongColumn:
    """Decimals that doubles round: an array of ``Decimal`` whose cells are made of their text when asked for."""

    dtype = np.dtype(object)

    def __init__(self, near: Floats, texts: Any) -> None:
        self.near, self.texts = near, texts  # the nearest doubles, and an array of Arrow

    def __len__(self) -> int:
        return len(self.near)

    def __getitem__(self, which: Any) -> LongColumn:
        if isinstance(which, slice):
            return LongColumn(self.near[which], self.texts[which])
        numbers = np.arange(len(self))[which]
        return LongColumn(self.near[numbers], self.texts.take(pa.array(numbers)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        del copy  # it is always a new one
        return np.array(self.tolist(), dtype=object).astype(dtype or object)

    def tolist(self) -> list[Decimal]:
        """Return the numbers."""
        return [Decimal(cell) for cell in self.texts.to_pylist()]

    @property
    def tiny(self) -> bool:
        """Whether the double nearest to some number is 0, and the number is not."""
        return any(self[self.near == 0].tolist())

    @property
    def digits(self) -> int:
        """How many significant digits a number has at most: no more than its text has characters."""
        return int(pc.max(pc.utf8_length(self.texts)).as_py() or 1)


@dataclass
class ModelTable:
    """Columns by name: arrays of numbers, exact where floats are too short, or of words, in which None is missing."""

    cells: dict[str, Any]
    kinds: dict[str, str]  # what each column holds, in the words of the schema
    missing: dict[str, Array] = field(default_factory=dict)  # which cells have no value, where some have none
    categories: dict[str, ColumnCategories] = field(default_factory=dict)  # of columns that carry some
    source: TableSource | None = None
    dropped: Dropped = field(default_factory=Dropped)  # rows of the source that are not here

    @property
    def columns(self) -> list[str]:
        """The names."""
        return list(self.cells)

    def __getitem__(self, name: str) -> Any:
        return self.cells[name]

    def __len__(self) -> int:
        return len(next(iter(self.cells.values()))) if self.cells else 0

    def where(self, row: int) -> str:
        """Return what a row is called: its file and line, or its number in the source."""
        (number,) = self.dropped.in_source([row]).tolist()
        if self.source is None:
            return f"row {number}"
        places = self.source.locate([number])
        if places is None:
            return f"{self.source.files[0].name}: row {number}"
        return f"{places[0].file}:{places[0].line}"

    def lines(self, rows: Array) -> list[int] | None:
        """Return the lines in which rows of the source begin; None if it has no lines."""
        places = None if self.source is None else self.source.locate(rows.tolist())
        return None if places is None else [place.line for place in places]

    def only(self, names: list[str]) -> ModelTable:
        """Return some columns."""
        return replace(
            self,
            cells={name: self.cells[name] for name in names},
            kinds={name: self.kinds[name] for name in names},
            missing={name: mask for name, mask in self.missing.items() if name in names},
            categories={name: each for name, each in self.categories.items() if name in names},
        )

    def complete(self, needed: list[str], how: str) -> ModelTable:
        """Return the rows in which no cell is missing that is needed, or an error that names the first.

        ``how`` is the option ``missing``. Beside the columns that are needed in any case, those of numbers are with
        ``"error"``, and with ``"drop"`` all are.
        """
        absent = np.zeros(len(self), dtype=bool)
        for name, mask in self.missing.items():
            if how == "drop":
                absent |= mask
            elif name in needed or (how == "error" and is_numeric(self.kinds[name])):
                settings = [("missing", each) for each in ("zero", "drop", "indicator")]
                where = f"{self.where(int(np.argmax(mask)))}, column {name!r}"
                assert self.source is not None
                raise self.source.error(where, "a missing value", *(settings if name not in needed else settings[1:2]))
        if not absent.any():
            words = {name for name, kind in self.kinds.items() if not is_numeric(kind)}
            marks = {name: mask for name, mask in self.missing.items() if name in words or how == "indicator"}
            return replace(self, missing=marks)
        kept, rows = np.flatnonzero(~absent), len(self)
        order = [] if self.source is None else self.source.column_names
        missing = sorted(self.missing, key=lambda name: order.index(name) if name in order else -1)
        counts = Counter({name: int(self.missing[name].sum()) for name in missing})
        dropped = Dropped(np.flatnonzero(absent), rows, tuple(counts.most_common()))
        if len(kept) == 0:
            raise DataError("", f"no row is left: linsep drops {dropped.words()}")
        cells = {name: column[kept] for name, column in self.cells.items()}
        return replace(self, cells=cells, missing={}, dropped=dropped)

    def nearest_doubles(self) -> ModelTable:
        """Return the table with the doubles nearest to numbers that are longer."""
        cells = {name: c.near if isinstance(c, LongColumn) else c for name, c in self.cells.items()}
        return replace(self, cells=cells)

    def to_pandas(self) -> Any:
        """Return a frame of pandas; a word that is missing is the word "missing"."""
        import pandas as pd

        columns: dict[str, Any] = {}
        for name, column in self.cells.items():
            if name in self.categories:
                each = self.categories[name]
                columns[name] = pd.Categorical(column, categories=list(each.labels), ordered=each.ordered)
            elif name in self.missing and not is_numeric(self.kinds[name]):
                columns[name] = np.where(self.missing[name], "missing", column)
            else:
                columns[name] = np.asarray(column)
        return pd.DataFrame(columns)


def open_columns(file: Any, **options: Any) -> TableSource:
    """Open a file of which nothing is known yet but the names of its columns."""
    source = read(file, labels=False, layout=Layout(()), **options)
    if not isinstance(source, TableSource):
        message = f"{source.options.format} files have no column names: use CSV, JSON Lines, Parquet or Arrow"
        raise DataError(source.files[0].name, message)
    return source


def read_table(source: TableSource, kinds: Mapping[str, str], response: frozenset[str] = frozenset()) -> ModelTable:
    """Read some columns of a source as a table; ``kinds`` are those that the source, or a document, has decided on.

    A column of the ``response`` is one of words unless all its cells are of its kind.
    """
    blocks, deciding = [], 0
    for block in source.cells(list(kinds)):
        blocks.append(pa.table(block) if isinstance(block, pa.RecordBatch) else block)
        deciding += block.num_rows if source.is_deciding else 0
    if not blocks:
        raise DataError(source.files[0].name, "no rows")
    whole = pa.concat_tables(blocks, promote_options="permissive").unify_dictionaries()
    del blocks
    table = ModelTable({}, dict(kinds), source=source)
    for name in kinds:
        column = whole.column(name).combine_chunks()
        whole = whole.drop_columns([name])  # the memory of each is free again
        if pa.types.is_dictionary(column.type):
            known, ordered = column.dictionary, column.type.ordered
            if not pa.types.is_temporal(known.type):
                labels = [str(label) for label in known.to_pylist() if label is not None]
                table.categories[name] = ColumnCategories(tuple(labels), bool(ordered))
            known = known.cast(pa.large_string()) if is_string(known.type) else known
            column = known.take(column.indices)
        if is_string(column.type) or pa.types.is_null(column.type):
            values, absent = _written_cells(table, name, column, deciding, name in response)
        else:
            values, absent = _typed_cells(column)
        if not is_numeric(table.kinds[name]):
            values = np.array([value if isinstance(value, str) else str(value) for value in values.tolist()], object)
            values[absent] = None
        if absent.any():
            table.missing[name] = absent
        table.cells[name] = values
    return table


def _typed_cells(column: Any) -> tuple[Any, Array]:
    """Return typed cells as numbers or words, and which are missing."""
    kind = column.type
    gap = pc.or_kleene(pc.is_null(column), pc.is_nan(column)) if pa.types.is_floating(kind) else pc.is_null(column)
    absent = numpy_view(gap)
    if pa.types.is_decimal(kind):
        return np.array([Decimal(0) if v is None else v for v in column.to_pylist()], dtype=object), absent
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return _moments(column, gap), absent
    return numpy_view(pc.if_else(gap, zero(kind), column)), absent


def _moments(column: Any, gap: Any) -> Array:
    """Return dates, moments and durations in days and times of day in seconds: integers, or fractions if need be."""
    ticks, unit = cells.ticks(column)
    numbers = numpy_view(pc.if_else(gap, zero(ticks.type), ticks)).astype(np.int64)
    if (numbers % unit == 0).all():
        return numbers // unit
    moments = np.empty(len(numbers), dtype=object)
    moments[:] = [Fraction(number, unit) for number in numbers.tolist()]
    return moments


def _written_cells(table: ModelTable, name: str, column: Any, deciding: int, response: bool) -> tuple[Any, Array]:
    """Return written cells as numbers or words, and which are missing; a late word may change the kind."""
    source, kind = table.source, table.kinds[name]
    assert source is not None
    if response and (kind == BOOLEAN or not is_numeric(kind)):
        kind = WORD
    bare = pc.fill_null(pc.utf8_trim_whitespace(column.cast(pa.string())), word(""))
    marks = source.number_format.missing if is_numeric(kind) or source.options.format == "csv" else ("",)
    gap = pc.is_in(bare, value_set=words(marks))
    absent, point = numpy_view(gap), source.number_format.point
    while is_numeric(kind):
        try:
            numbers = _numbers(bare, gap, kind, point)
        except FloatingPointError as error:
            what = "the number is out of range; drop the row or correct the number"
            raise DataError(f"{table.where(error.args[0])}, column {name!r}", what) from None
        if numbers is not None:
            table.kinds[name] = kind
            return numbers, absent
        if response:
            break
        some = (row for row in np.flatnonzero(~absent).tolist() if not cells.fits_kind(kind, bare[row].as_py(), point))
        row = next(some, 0)
        where = f"{table.where(row)}, column {source.named(name)}"
        kind = source.change_kind(source.wrong_kind(where, name, bare[row].as_py()), row < deciding)
    table.kinds[name] = WORD if is_numeric(kind) else kind
    words_of_rows = bare if response and table.kinds[name] != TEXT else column.fill_null(word("").cast(column.type))
    coded = words_of_rows.dictionary_encode()
    return np.array(coded.dictionary.to_pylist(), dtype=object)[numpy_view(coded.indices)], absent


def _numbers(column: Any, gap: Any, kind: str, point: str) -> Any:
    """Return cells of text as numbers, 0 for gaps; None if some are none; raise the row of one that is not finite."""
    given = pc.replace_with_mask(column, gap, pa.nulls(pc.sum(gap).as_py() or 0, pa.string()))
    if kind.startswith(DATE) and not cells.is_time(kind):
        try:
            stamps = cells.moments(given, kind.partition(":")[2] or "iso")
        except pa.ArrowInvalid:
            return None
        return None if stamps is None else _moments(stamps, gap)
    if kind == BOOLEAN or kind.startswith(DATE):
        values = cells.values(given, kind, point)
        if values is None:
            return None
        seconds: Array = np.nan_to_num(values)
        return seconds.astype(np.int64) if (seconds == np.rint(seconds)).all() else seconds
    plain = cells.plain_numbers(given, kind, point)
    if plain is None:
        return None
    filled = pc.if_else(gap, word("0"), plain)
    try:
        return numpy_view(filled.cast(pa.int64()))
    except pa.ArrowInvalid:
        pass
    try:
        numbers = numpy_view(filled.cast(pa.float64()))
    except pa.ArrowInvalid:
        return None
    beyond = ~np.isfinite(numbers)
    lengths = pc.utf8_length(filled)
    if (pc.max(lengths).as_py() or 0) > SHORT or pc.any(pc.match_substring_regex(filled, _TINY)).as_py():
        beyond |= numpy_view(lengths) > _MOST_CHARACTERS  # a scalar of Arrow would load pandas
        beyond |= numpy_view(pc.match_substring_regex(filled, _BEYOND))
        if not beyond.any() and (some_rounded(filled[:_SAMPLE]) or some_rounded(filled, numbers)):
            return LongColumn(numbers, filled)
    if beyond.any():
        raise FloatingPointError(int(np.argmax(beyond)))
    return numbers
