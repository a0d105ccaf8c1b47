"""Decides what a column of text cells holds, and converts the cells to numbers.

A column gets the first kind that fits all of its cells: numbers, true and false, percentages, numbers with thousands
separators, numbers with one unit or currency, dates and times; otherwise it holds words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linsep.data.arrays import decoded, numpy_view, word, words, zero
from linsep.data.options import MISSING
from linsep.data.schema import BOOLEAN, DATE, GROUPED, NUMBER, PERCENT, UNIT, WORD

if TYPE_CHECKING:
    import pyarrow as pa

_SIGNS = (",", ".", "'", "\u2019", " ", "\u00a0", "\u202f")  # between thousands

# units by what they measure: some of one line may stand in one column, and are then to be converted
_UNITS = (
    "kg g mg µg ug t lb lbs oz", "km m cm mm µm um nm mi ft in yd", "ms s sec secs min mins h hr hrs d day days",
    "l L ml mL cl dl gal", "°C °F C F K", "km/h kmh mph m/s", "mpg km/l",
    "W kW MW GW", "Wh kWh MWh J kJ MJ cal kcal", "V mV kV",
    "A mA", "Hz kHz MHz GHz", "B kB KB MB GB TB", "Pa hPa kPa bar mbar psi mmHg", "m² m2 km² ha ft² sqft sqm",
    "mg/dl mg/dL mmol/l mmol/L", "bpm", "rpm", "px pt", "€ $ £ ¥ EUR USD GBP CHF JPY CAD AUD SEK NOK DKK PLN CZK INR",
)  # fmt: skip
_MEASURES = {unit: number for number, line in enumerate(_UNITS) for unit in line.split()}
_MONEY = frozenset(_UNITS[-1].split())
_UNIT = "|".join(re.escape(unit) for unit in sorted(_MEASURES, key=len, reverse=True))
_BEFORE = "|".join(re.escape(sign) for sign in sorted(_MONEY, key=len, reverse=True))
_DIGITS = "[+-]?[0-9.,'\u2019 \u00a0\u202f]*[0-9]"
_WITH_UNIT = re.compile(rf"\s*([+-]?)({_BEFORE})?\s*({_DIGITS})\s*({_UNIT})?\s*")

# how dates are written: what each looks like, and its format; where two fit, the first one counts
_DAYS = (
    (r"\d{4}-\d{1,2}-\d{1,2}", "%Y-%m-%d"),
    (r"\d{4}/\d{1,2}/\d{1,2}", "%Y/%m/%d"),
    (r"\d{1,2}\.\d{1,2}\.\d{4}", "%d.%m.%Y"),
    (r"\d{1,2}/\d{1,2}/\d{4}", "%m/%d/%Y"),
    (r"\d{1,2}/\d{1,2}/\d{4}", "%d/%m/%Y"),
    (r"\d{1,2}-\d{1,2}-\d{4}", "%d-%m-%Y"),
    (r"\d{1,2}-\d{1,2}-\d{4}", "%m-%d-%Y"),
    (r"\d{1,2}\.\d{1,2}\.\d{2}", "%d.%m.%y"),
    (r"\d{1,2}/\d{1,2}/\d{2}", "%m/%d/%y"),
    (r"\d{1,2}/\d{1,2}/\d{2}", "%d/%m/%y"),
)
_TIMES = ((r"\d{1,2}:\d{2}", "%H:%M"), (r"\d{1,2}:\d{2}:\d{2}", "%H:%M:%S"))
_FRACTION = ".%f"  # of a second, at the end of a time of day
_SHAPES = {
    **{form: shape for shape, form in (*_DAYS, *_TIMES, (r"\d{1,2}:\d{2}:\d{2}\.\d{1,6}", f"%H:%M:%S{_FRACTION}"))},
    **{f"{day} {time}": f"{shape} {clock}" for shape, day in _DAYS for clock, time in _TIMES},
}
_ISO = "iso"  # a date and a time with a T, fractions of seconds or a zone
_ISO_SHAPE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?"


class NumberFormat(NamedTuple):
    """How numbers and missing values are written, as far as the user has said so."""

    decimal: str | None = None  # the sign before fractions, None to find out
    thousands: str | None = None  # the sign between thousands, "" if there is none, None to find out
    dates: str | bool = True  # whether dates are looked for, or their format
    missing: tuple[str, ...] = MISSING

    @property
    def point(self) -> str:
        """The sign before fractions."""
        return self.decimal or "."


@cache
def number_pattern(point: str) -> re.Pattern[str]:
    """Return the pattern of a plain number."""
    dot = re.escape(point)
    return re.compile(rf"\s*[+-]?((\d+({dot}\d*)?|{dot}\d+)([eE][+-]?\d+)?|inf(inity)?)\s*", re.ASCII | re.IGNORECASE)


@cache
def _grouped_pattern(sign: str, point: str) -> str:
    """Return the pattern of a number with signs between thousands, which numbers below 1000 do not have."""
    s, dot = re.escape(sign), re.escape(point)
    return rf"^\s*[+-]?\d{{1,3}}({s}\d{{3}})*({dot}\d*)?\s*$"


def is_number(cell: str, point: str) -> bool:
    """Say whether a cell is a plain number."""
    return number_pattern(point).fullmatch(cell) is not None


def fits_kind(kind: str, cell: str, point: str) -> bool:
    """Say whether a cell may stand in a column of this kind."""
    if kind in (NUMBER, WORD):
        return kind == WORD or is_number(cell, point)
    return values(words([cell]), kind, point) is not None


def split_unit(cell: str) -> tuple[str, str] | None:
    """Return the number and the unit of a cell as they are written; None if it has not exactly one unit."""
    parts = _WITH_UNIT.fullmatch(cell)
    if parts is None or (parts[2] is None) == (parts[4] is None) or (parts[1] and parts[3][0] in "+-"):
        return None
    return parts[1] + parts[3].strip(), parts[2] or parts[4]


def mixed_units(cells: Sequence[str]) -> list[str]:
    """Return the units of a column in which every cell has one, if they are several of the same quantity."""
    units = {}
    for cell in cells:
        parts = split_unit(cell)
        if parts is None:
            return []
        units[parts[1]] = _MEASURES[parts[1]]
    return list(units) if len(units) > 1 and len(set(units.values())) == 1 else []


# a number with a minus sign of print, behind it, or as parentheses, or with a percent sign that others lack
_NUMBER_LIKE = re.compile(r"[(]?\s*[-+−–]?\s*(?:\d{1,3}(?:[,.' ]\d{3})+|\d+)(?:[.,]\d+)?\s*%?\s*-?\s*[)]?")
_ODD_SIGN = re.compile(r"[−–()%]|-$")


def unread_number(cells: Sequence[str]) -> str | None:
    """Return the first cell of words that all look like numbers whose notation is not one that is read, if they do."""
    odd = next((cell for cell in cells if _ODD_SIGN.search(cell.strip())), None)
    return odd if odd is not None and all(_NUMBER_LIKE.fullmatch(cell.strip()) for cell in cells) else None


def is_time(kind: str) -> bool:
    """Say whether a column of this kind holds times of day: they count seconds, dates count days."""
    name, _, form = kind.partition(":")
    return name == DATE and form not in ("", _ISO) and re.search("%[^HIMSTRrpf]", form) is None


def written_kind(cells: Sequence[str], number_format: NumberFormat) -> str:
    """Return the first kind that fits every cell; words fit always."""
    point = number_format.point
    if all(map(number_pattern(point).fullmatch, cells)):
        return NUMBER
    column = words(cells)
    for kind in _kinds(cells, number_format):  # the first cell alone rules out most of them
        if values(column[:1], kind, point) is not None and values(column, kind, point) is not None:
            return kind
    return WORD


def _kinds(cells: Sequence[str], number_format: NumberFormat) -> Iterator[str]:
    """Yield the kinds that may fit beside plain numbers, in their order."""
    first = cells[0].strip()
    yield BOOLEAN
    if first.endswith("%"):
        yield PERCENT
    known = _SIGNS if number_format.thousands is None else (number_format.thousands,)
    signs = [s for s in known if s and s != number_format.point and any(s in cell.strip() for cell in cells)]
    yield from (f"{GROUPED}:{sign}" for sign in signs)
    parts = split_unit(first)
    if parts is not None:
        yield from (f"{UNIT}:{parts[1]}", *(f"{UNIT}:{parts[1]}:{sign}" for sign in signs))
    if isinstance(number_format.dates, str):
        yield f"{DATE}:{number_format.dates}"
    elif number_format.dates:
        shapes = (*_SHAPES.items(), (_ISO, _ISO_SHAPE))
        yield from (f"{DATE}:{form}" for form, shape in shapes if re.fullmatch(shape, first, re.ASCII))


def decimal_sign(columns: Iterable[Sequence[str]], delimiter: str) -> str:
    """Return the sign before fractions: a comma if it makes numbers of columns that would otherwise be words.

    A comma that stands before three digits each time may as well be one between thousands; it is the decimal sign if
    something else cuts the cells, as programs that write decimal commas do, or if one stands behind a 0 alone.
    """
    comma, grouped, by_thousand = False, _grouped_pattern(".", ","), _grouped_pattern(",", ".")
    for written in columns:
        cells = [_bare(cell) for cell in written]
        if not any("," in cell for cell in cells):
            if any("." in cell for cell in cells) and all(is_number(cell, ".") for cell in cells):
                return "."
        elif all(is_number(cell, ",") or re.match(grouped, cell, re.ASCII) for cell in cells):
            ambiguous = all(re.match(by_thousand, cell, re.ASCII) for cell in cells if "," in cell)
            ambiguous &= not any(re.match("[+-]?0,", cell) for cell in cells)
            comma |= not ambiguous or delimiter != ","
    return "," if comma else "."


def _bare(cell: str) -> str:
    parts = split_unit(cell)
    return cell.strip().removesuffix("%") if parts is None else parts[0]


# ---------------------------------------------------------------------------------------------------------------
# Columns of strings to numbers


def values(column: pa.StringArray, kind: str, point: str) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """Return the numbers in a column of strings, NaN for missing ones; None if some cell is not of the kind."""
    import pyarrow as pa
    import pyarrow.compute as pc

    name, _, form = kind.partition(":")
    column = pc.utf8_trim_whitespace(column)
    try:
        if name == BOOLEAN:
            cells = pc.utf8_lower(column)
            if not _all(pc.is_in(cells, words(["true", "false"])), column):
                return None
            numbers = pc.cast(pc.equal(cells, word("true")), pa.float64())
        elif name == DATE:
            stamps = None if is_time(kind) else moments(column, form)
            numbers = _seconds(column, form) if is_time(kind) else None if stamps is None else days(stamps)
        else:
            plain = plain_numbers(column, kind, point)
            numbers = None if plain is None else pc.cast(plain, pa.float64())
    except pa.ArrowInvalid:
        return None
    return None if numbers is None else np.asarray(numpy_view(numbers), dtype=np.float64)


def without_missing(column: Any, marks: Collection[str]) -> Any:
    """Return a column of strings with null for texts that mark a missing value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = decoded(column)
    marked = pc.is_in(pc.utf8_trim_whitespace(column), value_set=words(sorted(marks)).cast(column.type))
    return pc.if_else(marked, pa.scalar(None, column.type), column) if pc.any(marked).as_py() else column


def _all(true: Any, column: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    return bool(pc.all(pc.or_(pc.is_null(column), pc.fill_null(true, zero(pa.bool_()))), min_count=0).as_py())


def plain_numbers(column: Any, kind: str, point: str) -> Any:
    """Return numbers, still as text, without the signs beside or between the digits; None if some are not of the kind.

    Blanks around the cells are gone already.
    """
    import pyarrow.compute as pc

    name, _, sign = kind.partition(":")
    if name == PERCENT:
        if not _all(pc.ends_with(column, "%"), column):
            return None
        column = pc.utf8_trim_whitespace(pc.utf8_rtrim(column, "%"))
    if name == UNIT:
        unit, _, sign = sign.partition(":")
        name, column = GROUPED if sign else NUMBER, _without_unit(column, unit)
        if column is None:
            return None
    if name == GROUPED:
        if not _all(pc.match_substring_regex(column, _grouped_pattern(sign, point)), column):
            return None
        column = pc.replace_substring(column, sign, "")
    if point != ".":
        if not _all(pc.invert(pc.match_substring(column, ".")), column):  # 1.234 is not 1,234
            return None
        column = pc.replace_substring(column, point, ".")
    return column


def _without_unit(column: Any, unit: str) -> Any:
    """Return numbers, still as text, without their unit, which stands behind them or, of money, before them."""
    import pyarrow.compute as pc

    written, blank = f"(?:{re.escape(unit)})?", "[ \u00a0\u202f]*"
    shape = rf"^(?P<sign>[+-]?)(?P<before>{written}){blank}(?P<number>{_DIGITS}){blank}(?P<after>{written})$"
    parts = pc.extract_regex(column, shape)
    sign, before, number, after = (pc.struct_field(parts, name) for name in ("sign", "before", "number", "after"))
    if not _all(pc.not_equal(pc.equal(before, word("")), pc.equal(after, word(""))), column):
        return None
    return pc.binary_join_element_wise(sign, pc.utf8_trim_whitespace(number), word("").cast(number.type))


def moments(column: Any, form: str) -> Any:
    """Return dates with or without times as Arrow's moments, None if some cell is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if form == _ISO:
        if not _all(pc.match_substring_regex(column, f"^{_ISO_SHAPE}$"), column):
            return None
        fine = pc.any(pc.match_substring_regex(column, r"\.[0-9]{7}")).as_py()
        unit = "ns" if fine else "us"  # nanoseconds reach from 1677 to 2262 only
        try:
            stamps = column.cast(pa.timestamp(unit))
        except pa.ArrowInvalid:
            stamps = column.cast(pa.timestamp(unit, "UTC"))  # with zones
        return stamps
    if form in _SHAPES and not _all(pc.match_substring_regex(column, f"^{_SHAPES[form]}$"), column):
        return None
    if "%d" not in form:
        column, form = _on_first_day(column), f"%Y-%m-%d {form}"
    stamps = pc.strptime(column, format=form, unit="s")
    if "%d" in form:  # Arrow takes February 30 for a day of March
        digits = re.sub("%.", ".+?", re.escape(form).replace("%d", "(?P<day>[0-9]+)"))
        day = pc.struct_field(pc.extract_regex(column, f"^{digits}$"), "day")
        if not _all(pc.equal(pc.cast(day, pa.int64()), pc.day(stamps)), column):
            return None
    return stamps


def _seconds(column: Any, form: str) -> Any:
    """Return seconds since midnight: whole numbers, unless the text has fractions; None if some cell is no time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if form in _SHAPES and not _all(pc.match_substring_regex(column, f"^{_SHAPES[form]}$"), column):
        return None
    fraction = None
    if form.endswith(_FRACTION):
        parts = pc.extract_regex(column, r"^(?P<whole>[^.]*)(?P<fraction>\.[0-9]{1,6})$")
        column, fraction = pc.struct_field(parts, "whole"), pc.struct_field(parts, "fraction")
        form = form.removesuffix(_FRACTION)
    whole = pc.strptime(_on_first_day(column), format=f"%Y-%m-%d {form}", unit="s").view(pa.int64())
    if fraction is None:
        return pc.cast(whole, pa.float64())
    kind = fraction.type
    return pc.cast(pc.binary_join_element_wise(pc.cast(whole, kind), fraction, word("").cast(kind)), pa.float64())


def _on_first_day(times: Any) -> Any:
    """Return times of day with a date before them."""
    import pyarrow.compute as pc

    day, blank = (word(text).cast(times.type) for text in ("1970-01-01", " "))
    return pc.binary_join_element_wise(day, times, blank)


def days(stamps: pa.Array) -> pa.Array:
    """Return dates or durations as days since 1970-01-01, times of day as seconds since midnight: nearest doubles."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole, unit = ticks(stamps)
    micro = pc.divide(whole, 1000) if unit == 86400 * 10**9 else None  # doubles would round nanoseconds
    if micro is not None and pc.all(pc.equal(pc.multiply(micro, 1000), whole), min_count=0).as_py():
        whole, unit = micro, unit // 1000
    elif micro is not None:
        return pa.array([None if count is None else count / unit for count in whole.to_pylist()], pa.float64())
    return pc.divide(pc.cast(whole, pa.float64(), safe=False), float(unit))


def ticks(stamps: Any) -> tuple[Any, int]:
    """Return moments or durations as whole numbers, or times of day, and how many are a day or, of times, a second."""
    import pyarrow as pa

    kind = stamps.type
    if pa.types.is_date(kind):
        return stamps.cast(pa.date32()).view(pa.int32()), 1
    second = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}[kind.unit]
    whole = stamps.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    return whole, second if pa.types.is_time(kind) else 86400 * second
