"""Reads a whole table into memory with its exact cells, for regression models."""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from linsep.data import arrow_arrays, cells
from linsep.data.arrow_arrays import numpy_view, word, words, zero
from linsep.data.files import files, has_blank_lines, is_url, local_copy, masked
from linsep.data.json_lines import table_of
from linsep.data.options import Options
from linsep.data.row_numbers import Dropped
from linsep.data.schema import BOOLEAN, DATE, NUMBER, WORD, find
from linsep.data.sniffing import (
    Reason,
    check_encoding,
    columns_of,
    encoding_name,
    form_of,
    index_columns,
    is_json_lines,
    is_utf16,
    left_out,
    numbered,
    preamble,
    shown,
)
from linsep.errors import DataError
from linsep.problem import Array, Floats

_LOOK = 1000  # rows that show whether a column of words is one of numbers but for some
_SURE = 16  # characters, of which at most 15 are digits of a number that a float holds,
_TINY = "[eE]-0*[0-9]{3}"  # unless it is tiny
_BEYOND = "[eE][+-]?0*[0-9]{5}"  # exponents that no exact search takes
MOST_CHARACTERS = 4000  # of a number
_USUAL = {"delimiter": ",", "header": True, "point": ".", "gaps": list(cells.GAPS), "encoding": "utf-8"}


class Categories(NamedTuple):
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


class Frame:
    """Columns by name: arrays of numbers, of ``Decimal`` where floats are too short, or of words."""

    def __init__(self, columns: dict[str, Any], gaps: dict[str, Array], text: dict[str, Any] | None = None) -> None:
        self._columns, self.gaps = columns, gaps
        self.text = text is not None
        self.reading = text or _USUAL  # how a text of such a table is read, as documents tell it
        self.categories: dict[str, Categories] = {}  # of the columns that carry some
        self.kinds: dict[str, str] = {}  # of columns whose numbers are not written as such, as dates are
        self.index: set[str] = set()  # columns that were the index of a pandas frame
        self.counted = False  # whether numbers in the first row of a text were taken for names
        self.odd: dict[str, tuple[int, str]] = {}  # a word among the numbers of a column that is read as words
        self.where: Callable[[int], str] = lambda row: f"row {row}"
        self.dropped = Dropped()  # rows of the table that are not here
        self.lines: Callable[[Array], list[int] | None] = lambda _: None  # of rows of a text

    @property
    def columns(self) -> list[str]:
        """The names."""
        return list(self._columns)

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()))) if self._columns else 0

    def named(self, wanted: str) -> str:
        """Return the name of a column that is asked for by name or number, or an error with near names."""
        return self.columns[find(wanted, self.columns)]

    def naming_rows(self, names: list[str]) -> dict[str, Reason]:
        """Return which of some columns only name the rows, with the reason and the setting that keeps each."""
        columns = []
        for name in names:
            cells = self._columns[name][:_LOOK]
            gap = self.gaps.get(name)
            some = (cells if gap is None else cells[~gap[:_LOOK]]).tolist()
            number = cells.dtype.kind in "iuf" and name not in self.kinds
            if number or (cells.dtype == object and isinstance(next(iter(some), None), str)):
                columns.append((name, number, some))
        found = left_out(columns, self.index)
        words = [name for name, number, _ in columns if name in found and not number and len(self) > _LOOK]
        whole = left_out([(name, False, self._columns[name].tolist()) for name in words], self.index)
        return {name: why for name, why in found.items() if name not in words or name in whole}

    def only(self, names: list[str], *, missing: str, others: bool = False) -> Frame:
        """Return some columns, or all, without the rows with gaps in some, or an error that names the first gap."""
        open_ = np.zeros(len(self), dtype=bool)
        for name in names:
            gap = self.gaps.get(name)
            if gap is not None and gap.any():
                if missing == "error":
                    row = int(np.flatnonzero(gap)[0])
                    raise DataError(f"{self.where(row)}, column {name!r}", "the cell is empty", ("missing", "drop"))
                open_ |= gap
        kept = np.flatnonzero(~open_)
        if len(kept) == 0:
            raise DataError("", "every row has an empty cell: no row is left")
        names = self.columns if others else names
        some = slice(None) if len(kept) == len(self) else kept  # which copies nothing
        found = Frame({name: self._columns[name][some] for name in names}, {}, self.reading if self.text else None)
        found.kinds = {name: kind for name, kind in self.kinds.items() if name in names}
        found.categories = {name: each for name, each in self.categories.items() if name in names}
        found.odd, found.where = self.odd, lambda row: self.where(int(kept[row]))
        numbers = np.union1d(self.dropped.numbers, self.dropped.in_source(np.flatnonzero(open_)))
        rows, cells = len(self) + len(self.dropped), [(n, int(self.gaps[n].sum())) for n in names if n in self.gaps]
        found.dropped = Dropped(numbers, rows, tuple((n, count) for n, count in cells if count))
        found.lines = self.lines
        return found

    def nearest_doubles(self) -> Frame:
        """Return the table with the doubles nearest to numbers that are longer."""
        found = copy(self)
        found._columns = {name: c.near if isinstance(c, LongColumn) else c for name, c in self._columns.items()}
        return found

    def to_pandas(self) -> Any:
        """Return a frame of pandas."""
        import pandas as pd

        made = {
            name: pd.Categorical(self._columns[name], categories=list(each.labels), ordered=each.ordered)
            for name, each in self.categories.items()
        }
        return pd.DataFrame({name: np.asarray(column) for name, column in self._columns.items()} | made)


def read_frame(path: str, options: Options, kinds: dict[str, str] | None = None) -> Frame:
    """Read a table of text (CSV, TSV, also compressed; ``-`` is standard input), Parquet or Arrow, from a URL, too.

    The format of the options may be empty: then the name tells it. ``kinds`` of columns are detected where not given.
    """
    base, form = path.removesuffix(".gz").removesuffix(".zst").lower(), options.format
    columnar = form in ("parquet", "arrow") or (not form and base.endswith((".parquet", ".arrow", ".feather")))
    if not columnar:
        if form not in ("", "csv", "jsonl"):
            raise DataError(path, f"{form} files have no column names: use CSV, Parquet or Arrow")
        lines = _json_lines(path, form)
        return _from_text(path, options, kinds or {}) if lines is None else _from_arrow(lines)
    if is_url(path):
        with local_copy(path) as here:
            try:
                return read_frame(os.fspath(here), options)
            except DataError as error:
                raise DataError(masked(path), error.what, *error.settings) from None
    if not os.path.exists(path):
        raise FileNotFoundError(2, "no such file", path)
    try:
        if form == "parquet" or base.endswith(".parquet"):
            import pyarrow.parquet as pq

            return _from_arrow(pq.read_table(path))
        import pyarrow.feather as feather

        return _from_arrow(feather.read_table(path))
    except pa.ArrowException as error:
        raise DataError(path, str(error).split("\n")[0]) from None


def _json_lines(path: str, form: str) -> Any:
    """Return the table of JSON Lines, None if a file is none."""
    (file,) = files(path)
    name = file.name.removesuffix(".gz").removesuffix(".zst").lower()
    csv = form == "csv" or path == "-" or name.endswith((".csv", ".tsv", ".tab"))
    named = form == "jsonl" or name.endswith((".jsonl", ".ndjson"))
    if csv or not (named or is_json_lines(file.head(1 << 16))):
        return None
    with file.open() as stream:
        return table_of(file.name, stream.read())


def _from_text(path: str, options: Options, kinds: dict[str, str]) -> Frame:
    """Read text with every cell as it is written."""
    check_encoding(options.encoding)
    (file,) = files(path)
    file.encoding = options.encoding or ("utf-16" if is_utf16(file) else None)
    file.comment = (options.comment or "").encode()
    file.skip_rows = options.skip_rows or 0
    if options.skip_rows is None and options.comment is None:
        file.skip_rows = preamble(file)
    spelling = cells.Spelling(options.decimal, options.thousands, options.dates, options.gaps)
    form = form_of(file, options.delimiter, options.header, spelling)
    with file.open() as stream:
        data = stream.read()
    try:
        found = pacsv.read_csv(
            pa.BufferReader(data.lstrip(b"\r\n")),
            pacsv.ReadOptions(column_names=form.names, skip_rows_after_names=int(form.header)),
            pacsv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True),
            pacsv.ConvertOptions(column_types=dict.fromkeys(form.names, pa.string()), strings_can_be_null=False),
        )
    except pa.ArrowException as error:
        hint = [("encoding", "latin-1")] if "UTF8" in str(error) else []
        raise DataError(file.name, str(error).split("\n")[0], *hint) from None
    signs: dict[str, Any] = {"delimiter": form.delimiter, "header": form.header, "point": form.spelling.point}
    signs |= {"gaps": list(options.gaps), "encoding": encoding_name(file.encoding or "utf-8")}
    signs |= {"skip": file.skip_rows} if file.skip_rows else {}
    frame = Frame({}, {}, signs | ({"comment": file.comment.decode()} if file.comment else {}))
    frame.counted = form.counted
    frame.where = lambda row: f"{file.name}:{_lines(data, form, np.array([row]))[0]}"
    frame.lines = lambda rows: _lines(data, form, rows)
    asked, numeric = ({find(each, form.names) for each in some} for some in (options.categorical, options.numeric))
    texts = found.columns[::-1]
    del found
    for j, name in enumerate(form.names):
        column = pc.utf8_trim_whitespace(texts.pop().combine_chunks())  # the memory of each is free again
        gap = pc.is_in(column, value_set=words(options.gaps))
        kind = kinds.get(name) or cells.kind_of(columns_of(form.body, [j], options.gaps)[0], form.spelling)
        if j in asked or (kind == BOOLEAN and name not in kinds and j not in numeric):
            kind = WORD
        try:
            numbers = _numbers(column, gap, kind, form.spelling.point)
        except FloatingPointError as error:
            raise DataError(
                f"{frame.where(error.args[0])}, column {name!r}",
                "the number is out of range; drop the row or correct the number",
            ) from None
        if numbers is None and j not in asked:
            odd, most = _odd(column, gap, form.spelling.point, kind == NUMBER or j in numeric)
            if j in numeric:
                what = f"{shown(odd[1])} is not a number ({{0}} reads the column as words)"
                raise DataError(f"{frame.where(odd[0])}, column {name!r}", what, ("categorical", name))
            if most:
                frame.odd[name] = odd
        if numbers is not None and kind != NUMBER:
            frame.kinds[name] = kind
        frame.gaps[name] = numpy_view(gap)
        frame._columns[name] = np.array(column.to_pylist(), dtype=object) if numbers is None else numbers
    return frame


def _lines(data: bytes, form: Any, rows: Array) -> list[int]:
    """Return the numbers of the lines in which rows of a text begin."""
    if b'"' not in data and not has_blank_lines(data):
        return (rows + 1 + int(form.header)).tolist()  # type: ignore[no-any-return]
    lines = islice(numbered(data.decode(errors="replace"), 1, form.delimiter), int(form.header), None)
    wanted = set(rows.tolist())
    found = {row: line.number for row, line in enumerate(lines) if row in wanted}
    return [found[row] for row in rows.tolist()]


def _odd(column: Any, gap: Any, point: str, every: bool) -> tuple[tuple[int, str], bool]:
    """Return the row and the text of the first cell that is no number, and whether most others are numbers."""
    some = column if every else column[:_LOOK]
    there = [(i, cell) for i, (cell, g) in enumerate(zip(some.to_pylist(), gap.to_pylist(), strict=False)) if not g]
    odd = [(i, cell) for i, cell in there if not cells.fits(NUMBER, cell, point)]
    return next(iter(odd), (0, "")), 0 < 2 * len(odd) < len(there)


def _numbers(column: Any, gap: Any, kind: str, point: str) -> Any:
    """Return cells of text as numbers, 0 for gaps; None if some are none; raise the row of one that is not finite."""
    if kind == WORD:
        return None
    there = pc.replace_with_mask(column, gap, pa.nulls(pc.sum(gap).as_py() or 0, pa.string()))
    if kind == BOOLEAN or kind.startswith(DATE):
        found = cells.values(there, kind, point)
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
                if longest > MOST_CHARACTERS or pc.any(pc.match_substring_regex(filled, _BEYOND)).as_py():
                    beyond = pc.or_(
                        pc.greater(pc.utf8_length(filled), MOST_CHARACTERS), pc.match_substring_regex(filled, _BEYOND)
                    )
                    raise FloatingPointError(beyond.to_pylist().index(True))
                if not (_are_shortest(filled[:_LOOK], numbers[:_LOOK]) and _are_shortest(filled, numbers)):
                    return LongColumn(numbers, filled)
        return numbers
    return None


def _are_shortest(texts: Any, numbers: Array) -> bool:
    """Say whether every text is the shortest decimal of its double, perhaps spelled in another way."""
    odd = pc.not_equal(arrow_arrays.numbers(numbers).cast(pa.string()), texts)
    pairs = zip(texts.filter(odd).to_pylist(), numbers[numpy_view(odd)].tolist(), strict=True)
    return all(Decimal(text) == Decimal(repr(number)) for text, number in pairs)


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


def _from_arrow(table: Any) -> Frame:
    columns, gaps, categories = {}, {}, {}
    for name in table.column_names:
        cells = table[name].combine_chunks()
        if pa.types.is_dictionary(cells.type):
            if not pa.types.is_temporal(cells.type.value_type):
                categories[name] = Categories(tuple(cells.dictionary.to_pylist()), bool(cells.type.ordered))
            cells = cells.cast(cells.type.value_type)
        gap = (
            pc.or_kleene(pc.is_null(cells), pc.is_nan(cells)) if pa.types.is_floating(cells.type) else pc.is_null(cells)
        )
        gaps[name] = numpy_view(gap)
        if pa.types.is_decimal(cells.type):
            columns[name] = np.array([Decimal(0) if v is None else v for v in cells.to_pylist()], dtype=object)
        elif pa.types.is_temporal(cells.type) and not pa.types.is_interval(cells.type):
            columns[name] = _moments(cells, gap)
        elif pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type) or pa.types.is_boolean(cells.type):
            columns[name] = numpy_view(pc.if_else(gap, zero(cells.type), cells))
        else:
            columns[name] = np.array([str(v) for v in cells.to_pylist()], dtype=object)
    frame = Frame(columns, gaps)
    frame.categories, frame.index = categories, index_columns(table.schema.metadata)
    return frame
