"""Reads a whole table into memory with its exact cells, for regression models."""

from __future__ import annotations

import os
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from linsep.data.arrow_arrays import numpy_view, word, words, zero
from linsep.data.layout import find
from linsep.data.places import is_url, local_copy, masked
from linsep.errors import DataError
from linsep.problem import Array

GAPS = ("", "NA", "NaN", "nan", "null", "NULL", "?")
_SURE = 16  # characters, of which at most 15 are digits of a number that a float holds


class Frame:
    """Columns by name: arrays of numbers, of ``Decimal`` where floats are too short, or of words."""

    def __init__(self, columns: dict[str, Array], gaps: dict[str, Array], text: bool, delimiter: str = ",") -> None:
        self._columns, self.gaps, self.text, self.delimiter = columns, gaps, text, delimiter
        self.dates: list[str] = []  # columns that are days since 1970-01-01

    @property
    def columns(self) -> list[str]:
        """The names."""
        return list(self._columns)

    def __getitem__(self, name: str) -> Array:
        return self._columns[name]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()))) if self._columns else 0

    def named(self, wanted: str) -> str:
        """Return the name of a column that is asked for by name or number, or an error with near names."""
        return self.columns[find(wanted, self.columns)]

    def only(self, names: list[str], *, missing: str, others: bool = False) -> Frame:
        """Return some columns, or all, without the rows with gaps in some, or an error that names the first gap."""
        open_ = np.zeros(len(self), dtype=bool)
        for name in names:
            gap = self.gaps.get(name)
            if gap is not None and gap.any():
                if missing == "error":
                    row = int(np.flatnonzero(gap)[0])
                    raise DataError(f"row {row}, column {name!r}", "the cell is empty", ("missing", "drop"))
                open_ |= gap
        kept = np.flatnonzero(~open_)
        if len(kept) == 0:
            raise DataError("", "every row has an empty cell")
        names = self.columns if others else names
        found = Frame({name: self._columns[name][kept] for name in names}, {}, self.text, self.delimiter)
        found.dates = [name for name in self.dates if name in names]
        return found

    def to_pandas(self) -> Any:
        """Return a frame of pandas."""
        import pandas as pd

        return pd.DataFrame(self._columns)


def read_frame(path: str, *, format: str | None = None, delimiter: str | None = None) -> Frame:  # noqa: A002
    """Read a table of text (CSV, TSV, also compressed; ``-`` is standard input), Parquet or Arrow, from a URL, too."""
    if is_url(path):
        with local_copy(path) as here:
            try:
                return read_frame(os.fspath(here), format=format, delimiter=delimiter)
            except DataError as error:
                raise DataError(masked(path), error.what, *error.settings) from None
    base = path.removesuffix(".gz").removesuffix(".zst").lower()
    if format == "parquet" or (format is None and base.endswith(".parquet")):
        import pyarrow.parquet as pq

        return _from_arrow(_guarded(path, lambda: pq.read_table(path)))
    if format == "arrow" or (format is None and base.endswith((".arrow", ".feather"))):
        import pyarrow.feather as feather

        return _from_arrow(_guarded(path, lambda: feather.read_table(path)))
    if format not in (None, "csv"):
        raise DataError(path, f"{format} files have no column names: use CSV, Parquet or Arrow")
    return _from_text(path, delimiter or ("\t" if base.endswith(".tsv") else None))


def _guarded(path: str, work: Any) -> Any:
    if not os.path.exists(path):
        raise FileNotFoundError(2, "no such file", path)
    try:
        return work()
    except pa.ArrowException as error:
        raise DataError(path, str(error).split("\n")[0]) from None


def _from_text(path: str, delimiter: str | None) -> Frame:
    """Read text with every cell as it is written."""
    raw: Any
    if path == "-":
        raw = pa.BufferReader(sys.stdin.buffer.read())
    else:
        raw = _guarded(path, lambda: pa.input_stream(path, compression="detect"))
    data = raw.read()
    line = data[: data.find(b"\n")] if b"\n" in data else data
    if delimiter is None:
        delimiter = max(",;\t", key=lambda each: line.count(each.encode()))
    parse = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)

    def table(types: dict[str, Any]) -> Any:
        convert = pacsv.ConvertOptions(column_types=types, strings_can_be_null=False)
        return pacsv.read_csv(pa.BufferReader(data), parse_options=parse, convert_options=convert)

    try:
        first = data.find(b"\n", len(line) + 1)
        head = data[: first if first >= 0 else len(data)]
        names = pacsv.read_csv(pa.BufferReader(head), parse_options=parse).column_names
        found = table({name: pa.string() for name in names})
    except pa.ArrowException as error:
        raise DataError(path, str(error).split("\n")[0]) from None
    if len(set(names)) < len(names):
        raise DataError(path, "two columns have the same name")
    frame = Frame({}, {}, True, delimiter)
    for name in names:
        cells = pc.utf8_trim_whitespace(found[name].combine_chunks())
        gap = pc.is_in(cells, value_set=words(GAPS))
        frame.gaps[name] = numpy_view(gap)
        days = _days(cells, gap)
        frame._columns[name] = _column(cells, gap) if days is None else days
        if days is not None:
            frame.dates.append(name)
    return frame


def _days(cells: Any, gap: Any) -> Array | None:
    """Return days since 1970-01-01 if all cells are dates such as 2026-11-17."""
    if not pc.any(pc.match_substring_regex(cells, r"^\d{4}-\d\d-\d\d$")).as_py():
        return None
    try:
        days = pc.if_else(gap, word("1970-01-01"), cells).cast(pa.date32()).cast(pa.int32())
    except pa.ArrowInvalid:
        return None
    return numpy_view(days).astype(np.int64)


def _column(cells: Any, gap: Any) -> Array:
    """Return cells of text as numbers if all are, else as words."""
    filled = pc.if_else(gap, word("0"), cells)
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = numpy_view(filled.cast(kind))
        except pa.ArrowInvalid:
            continue
        if kind == pa.float64():
            if not np.isfinite(numbers).all():
                break
            if (pc.max(pc.utf8_length(filled)).as_py() or 0) > _SURE:
                return np.array([Decimal(cell) for cell in filled.to_pylist()], dtype=object)
        return numbers
    return np.array(cells.to_pylist(), dtype=object)


def _from_arrow(table: Any) -> Frame:
    columns, gaps = {}, {}
    for name in table.column_names:
        cells = table[name].combine_chunks()
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        gap = (
            pc.or_kleene(pc.is_null(cells), pc.is_nan(cells)) if pa.types.is_floating(cells.type) else pc.is_null(cells)
        )
        gaps[name] = numpy_view(gap)
        if pa.types.is_decimal(cells.type):
            columns[name] = np.array([Decimal(0) if v is None else v for v in cells.to_pylist()], dtype=object)
        elif pa.types.is_date32(cells.type):
            columns[name] = numpy_view(pc.if_else(gap, zero(pa.int32()), cells.cast(pa.int32()))).astype(np.int64)
        elif pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type) or pa.types.is_boolean(cells.type):
            columns[name] = numpy_view(pc.if_else(gap, zero(cells.type), cells))
        else:
            columns[name] = np.array([str(v) for v in cells.to_pylist()], dtype=object)
    return Frame(columns, gaps, False)
