"""The table of a regression model: whole columns with their exact cells, of a source that every command reads."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linsep.data import cells
from linsep.data.arrays import numpy_view, word, words, zero
from linsep.data.row_numbers import Dropped
from linsep.data.schema import BOOLEAN, DATE, TEXT, WORD, is_numeric
from linsep.data.tables import TableSource, is_string
from linsep.errors import DataError
from linsep.problem import Array, Floats
from linsep.prove.numbers.text import some_rounded

_SOME = 1000  # cells that nearly always show whether doubles round some number
_SURE = 16  # characters, of which at most 15 are digits of a number that a float holds,
_TINY = "[eE]-0*[0-9]{3}"  # unless it is tiny
_BEYOND = "[eE][+-]?0*[0-9]{5}"  # exponents that no exact search takes
_MOST_CHARACTERS = 4000  # of a number


class ColumnCategories(NamedTuple):
    """The categories that a column carries beside its cells, and whether they are in order."""

    labels: tuple[Any, ...]
    ordered: bool


class LongColumn:
    """Decimals that doubles round: an array of ``Decimal`` whose cells are made of their text when they are asked for.

    Parameters
    ----------
    near : ndarray of shape (n,)
        The doubles nearest to them.
    texts : array of Arrow
    """

    dtype = np.dtype(object)

    def __init__(self, near: Floats, texts: Any) -> None:
        self.near, self.texts = near, texts

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
    """Columns by name: arrays of numbers, exact where floats are too short, or of words, in which None is missing.

    Attributes
    ----------
    kinds : dict
        What each column holds, in the words of the schema.
    missing : dict
        Which cells have no value, of the columns where some have none.
    categories : dict
        Those of the columns that carry some.
    source : TableSource or None
        Where the rows come from.
    dropped : Dropped
        Rows of the source that are not here.
    """

    cells: dict[str, Any]
    kinds: dict[str, str]
    missing: dict[str, Array] = field(default_factory=dict)
    categories: dict[str, ColumnCategories] = field(default_factory=dict)
    source: TableSource | None = None
    dropped: Dropped = field(default_factory=Dropped)

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
        places = None if self.source is None else self.source.locate([number])
        if places is not None:
            return f"{places[0].file}:{places[0].line}"
        return f"row {number}" if self.source is None else f"{self.source.files[0].name}: row {number}"

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
        counts = tuple((name, int(mask.sum())) for name, mask in self.missing.items())
        dropped = Dropped(np.flatnonzero(absent), rows, counts)
        if len(kept) == 0:
            raise DataError("", f"no row is left: linsep drops {dropped.words()}")
        found = {name: column[kept] for name, column in self.cells.items()}
        return replace(self, cells=found, missing={}, dropped=dropped)

    def nearest_doubles(self) -> ModelTable:
        """Return the table with the doubles nearest to numbers that are longer."""
        found = copy(self)
        found.cells = {name: c.near if isinstance(c, LongColumn) else c for name, c in self.cells.items()}
        return found

    def to_pandas(self) -> Any:
        """Return a frame of pandas; a word that is missing is the word "missing"."""
        import pandas as pd

        made: dict[str, Any] = {}
        for name, column in self.cells.items():
            if name in self.categories:
                each = self.categories[name]
                made[name] = pd.Categorical(column, categories=list(each.labels), ordered=each.ordered)
            elif name in self.missing and not is_numeric(self.kinds[name]):
                made[name] = np.where(self.missing[name], "missing", column)
            else:
                made[name] = np.asarray(column)
        return pd.DataFrame(made)


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
    found = ModelTable({}, dict(kinds), source=source)
    for name, kind in kinds.items():
        column = whole.column(name).combine_chunks()
        whole = whole.drop_columns([name])  # the memory of each is free again
        if pa.types.is_dictionary(column.type):
            known, ordered = column.dictionary, column.type.ordered
            if not pa.types.is_temporal(known.type):
                labels = [str(label) for label in known.to_pylist() if label is not None]
                found.categories[name] = ColumnCategories(tuple(labels), bool(ordered))
            known = known.cast(pa.large_string()) if is_string(known.type) else known
            column = known.take(column.indices)
        written = is_string(column.type) or pa.types.is_null(column.type)
        values, absent = (
            _of_text(found, name, kind, column, deciding, name in response) if written else _of_types(column)
        )
        if not is_numeric(found.kinds[name]):
            values = _spelled(values, absent)
        if absent.any():
            found.missing[name] = absent
        found.cells[name] = values
    return found


def _spelled(values: Array, absent: Array) -> Array:
    """Return the cells of a column of words as strings, None where they are missing."""
    found = np.array([value if isinstance(value, str) else str(value) for value in values.tolist()], dtype=object)
    found[absent] = None
    return found


def _of_types(column: Any) -> tuple[Any, Array]:
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
    kind = column.type
    if pa.types.is_date(kind):
        ticks, unit = column.cast(pa.date32()).view(pa.int32()), 1
    else:
        ticks = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
        unit = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        unit *= 1 if pa.types.is_time(kind) else 86_400
    numbers = numpy_view(pc.if_else(gap, zero(ticks.type), ticks)).astype(np.int64)
    if (numbers % unit == 0).all():
        return numbers // unit
    found = np.empty(len(numbers), dtype=object)
    found[:] = [Fraction(number, unit) for number in numbers.tolist()]
    return found


def _of_text(found: ModelTable, name: str, kind: str, column: Any, deciding: int, response: bool) -> tuple[Any, Array]:
    """Return written cells as numbers or words, and which are missing; a late word may change the kind."""
    source = found.source
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
            raise DataError(f"{found.where(error.args[0])}, column {name!r}", what) from None
        if numbers is not None:
            found.kinds[name] = kind
            return numbers, absent
        if response:
            break
        row = _odd_row(bare, absent, kind, point)
        where = f"{found.where(row)}, column {source.named(name)}"
        kind = source.change_kind(source.wrong_kind(where, name, bare[row].as_py()), row < deciding)
    found.kinds[name] = WORD if is_numeric(kind) else kind
    if found.kinds[name] == TEXT:
        return np.array(column.fill_null(word("").cast(column.type)).to_pylist(), dtype=object), absent
    coded = (bare if response else column.fill_null(word("").cast(column.type))).dictionary_encode()
    return np.array(coded.dictionary.to_pylist(), dtype=object)[numpy_view(coded.indices)], absent


def _odd_row(column: Any, absent: Array, kind: str, point: str) -> int:
    """Return the first row whose cell is not of a kind."""
    for row, (cell, gap) in enumerate(zip(column.to_pylist(), absent.tolist(), strict=True)):
        if not gap and not cells.fits_kind(kind, cell, point):
            return row
    return 0


def _numbers(column: Any, gap: Any, kind: str, point: str) -> Any:
    """Return cells of text as numbers, 0 for gaps; None if some are none; raise the row of one that is not finite."""
    there = pc.replace_with_mask(column, gap, pa.nulls(pc.sum(gap).as_py() or 0, pa.string()))
    if kind == BOOLEAN or kind.startswith(DATE):
        found = cells.values(there, f"{DATE}:iso" if kind == DATE else kind, point)
        if found is None:
            return None
        days: Array = np.nan_to_num(found)
        return days.astype(np.int64) if (days == np.rint(days)).all() else days
    plain = cells.plain_numbers(there, kind, point)
    if plain is None:
        return None
    filled = pc.if_else(gap, word("0"), plain)
    longest = pc.max(pc.utf8_length(filled)).as_py() or 0
    for type_ in (pa.int64(), pa.float64()):
        try:
            numbers = numpy_view(filled.cast(type_))
        except pa.ArrowInvalid:
            continue
        if type_ == pa.float64():
            if not np.isfinite(numbers).all():
                raise FloatingPointError(int(np.argmin(np.isfinite(numbers))))
            if longest > _SURE or pc.any(pc.match_substring_regex(filled, _TINY)).as_py():
                if longest > _MOST_CHARACTERS or pc.any(pc.match_substring_regex(filled, _BEYOND)).as_py():
                    beyond = pc.or_(
                        pc.greater(pc.utf8_length(filled), _MOST_CHARACTERS), pc.match_substring_regex(filled, _BEYOND)
                    )
                    raise FloatingPointError(beyond.to_pylist().index(True))
                if some_rounded(filled[:_SOME]) or some_rounded(filled, numbers):
                    return LongColumn(numbers, filled)
        return numbers
    return None
