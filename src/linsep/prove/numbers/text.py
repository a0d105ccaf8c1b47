"""Reads tables for exact verdicts: a number in a text is the decimal that it shows."""

from __future__ import annotations

import io
import itertools
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linsep.clock import Clock
from linsep.data.arrays import arrow_numbers, decoded, numpy_view, to_rows
from linsep.data.cache import mapped_array
from linsep.data.cells import is_time, moments, plain_numbers, ticks, without_missing
from linsep.data.delimited import DelimitedSource
from linsep.data.labels import class_codes
from linsep.data.options import FORMATS, MISSING
from linsep.data.parallel import ahead
from linsep.data.schema import (
    BOOLEAN,
    DATE,
    GROUPED,
    HASHED_TEXT,
    HASHED_WORD,
    NUMBER,
    TEXT,
    UNIT,
    WORD,
    Layout,
    is_numeric,
)
from linsep.data.sniffing import encoding_name
from linsep.data.source import Source
from linsep.data.tables import TableSource, is_string
from linsep.errors import DataError
from linsep.problem import Array, Values
from linsep.prove.check.linsep_check import table
from linsep.prove.claims import Claim
from linsep.prove.numbers.cells import LongDecimals
from linsep.prove.numbers.decimals import as_decimals
from linsep.prove.numbers.exact_numbers import BINARY, DECIMAL, is_float
from linsep.prove.numbers.fingerprints import Fingerprint

# 15 digits always come back from a double, unless they are those of a tiny number
_LONG = re.compile(rb"[0-9][0-9.]{15,}(?:[eE][+-]?[0-9]+)?|[0-9.]+[eE]-[0-9]{3,}")
_TINY = re.compile(rb"[eE]-0*[0-9]{3}|0{200}")
_PIECE = 1 << 22
_ALL = slice(None)
FEW_CELLS = 1 << 16  # that are fractions at once
_MOST_OBJECTS = 1 << 24  # cells of a table that are Python's numbers, a gigabyte or two
_WRITTEN = ("string", "large_string", "dictionary<values=string", "dictionary<values=large_string")  # types of Arrow


def default_values(source: Source) -> Values:
    """Return how numbers of a source are meant: as decimals in a text, or if some are decimals, written or moments."""
    exact = ("decimal", "timestamp", "duration", *_WRITTEN)
    decimals = any(str(kind).startswith(exact) for _, kind in _typed_columns(source))
    return DECIMAL if FORMATS[source.options.format].is_text or decimals else BINARY


def exact_table(
    source: Source, values: Values, clock: Clock | None = None, *, lazily: bool = False
) -> tuple[Any, Array]:
    """Return all rows and labels of a source, the numbers as they are meant; refuse what would be rounded.

    Decimals that doubles round are fractions; ``lazily``, they may be `LongDecimals`, which read the text again for
    the rows that are asked for. Raises OutOfTime if the clock says so.
    """
    clock = clock or Clock()
    X, y = source.to_arrays(clock=clock)
    if y is None:
        raise DataError(source.files[0].name, "there are no labels")
    if FORMATS[source.options.format].is_text:
        long = values == DECIMAL and source.long_numbers and _may_round(source, clock)
        dated = values == DECIMAL and len(_parts_of_days(source, X)) > 0
        decimals = _long_decimals(source, X, clock, dated) if long or dated else None
        if decimals is not None:
            lazily = lazily and not hasattr(X, "indptr") and X.size > FEW_CELLS
            return (decimals if lazily else decimals.whole()), y
        if long and not _are_shortest(source, clock):
            raise _too_long(source)
        return (exact_features(source, X, values, clock, lazily=lazily) if dated else X), y
    return exact_features(source, X, values, clock, lazily=lazily), y


def exact_features(
    source: Any,
    X: Any,
    values: Values,
    clock: Clock,
    known: Mapping[str, Array] | None = None,
    *,
    lazily: bool = False,
) -> Any:
    """Return the features of a typed table, with exact numbers in an array of objects where doubles round some.

    With decimal values what is written is the decimal that it shows, and a moment the fraction of days that it is;
    integers and columns of decimals are themselves in any case. The cells of some columns are ``known``. ``lazily``,
    moments may be made fractions when they are asked for.
    """
    if source.layout is None:
        return X
    known = {name: cells for name, cells in (known or {}).items() if name in source.layout.numbers}
    kinds, place = dict(source.layout.columns), {name: j for j, name in enumerate(source.layout.numbers)}

    def may_round(name: str, type_: Any) -> bool:
        if name in known or not _is_plain(kinds[name]) or pa.types.is_floating(type_):
            return False
        if str(type_).startswith(_WRITTEN):
            return values == DECIMAL
        decimals = pa.types.is_decimal(type_)
        return X.dtype.kind == "f" and bool(decimals or abs(X[:, [place[name]]]).max() >= 2.0**53)

    doubtful = list(dict.fromkeys(name for name, type_ in _typed_columns(source) if may_round(name, type_)))
    rounded = {
        name
        for block in (source.cells(doubtful) if doubtful else ())
        for name in doubtful
        if _rounds(_plain(source, block, name), values, clock)
    }
    dated = _parts_of_days(source, X) if values == DECIMAL else []
    if not rounded and not known and not dated:
        return X
    left = np.delete(np.arange(X.shape[0] + len(source.dropped)), source.dropped.numbers)
    if lazily and not rounded and not known and not hasattr(X, "indptr") and X.size > FEW_CELLS:
        moments_of = {place[name]: _moments_of(source, name, left) for name in dated}
        if all(abs(counts).max() < 2**53 for counts, _ in moments_of.values()):
            return _with_moments(X, moments_of)
    if math.prod(X.shape) > _MOST_OBJECTS:
        column = min({*rounded, *known, *dated})
        message = f"column {column!r} has numbers of more digits than a double holds, too many to keep them exact"
        raise DataError(source.files[0].name, message)
    A = np.array(X.toarray() if hasattr(X, "indptr") else X, dtype=object)
    for name in rounded:
        cells = [cell for block in source.cells([name]) for cell in _number_cells(source, block, name)]
        A[:, place[name]] = [cells[i] for i in left.tolist()]
    for name in dated:
        counts, unit = _moments_of(source, name, left)
        A[:, place[name]] = [Fraction(count, unit) for count in counts.tolist()]
    for name, exact in known.items():
        A[:, place[name]] = exact[left]
    return A


def _parts_of_days(source: Any, X: Any) -> list[str]:
    """Return the columns of dates that have times: parts of a day are fractions, which no double and no decimal is."""
    if source.layout is None:
        return []
    kinds = dict(source.layout.columns)
    dates = [(j, n) for j, n in enumerate(source.layout.numbers) if kinds[n].startswith(DATE) and not is_time(kinds[n])]
    columns = ((name, X[:, [j]]) for j, name in dates)
    cells = ((name, column.data if hasattr(column, "indptr") else column) for name, column in columns)
    fine = {name for name, type_ in _typed_columns(source) if "[ns" in str(type_)}

    def near_midnight(name: str) -> bool:  # a nanosecond after midnight, the nearest double is a whole day
        counts, unit = _moments_of(source, name)
        return bool((counts % unit != 0).any())

    return [
        name
        for name, some in cells
        if (some != np.rint(some)).any() or ((name in fine or kinds[name] == f"{DATE}:iso") and near_midnight(name))
    ]


def _number_cells(source: Any, block: Any, name: str) -> list[Any]:
    """Return the cells of a column of numbers, 0 for a missing one."""
    cells = _plain(source, block, name).to_pylist()
    return [cell if isinstance(cell, float) else Decimal(cell or 0) for cell in cells]


def _moments_of(source: Any, name: str, left: Array | slice = _ALL) -> tuple[Array, int]:
    """Return the moments of some rows, or all, as integers, 0 for a missing one, and how many of them are a day."""
    parts = [ticks(_stamps(source, block, name)) for block in source.cells([name])]
    finest = max(unit for _, unit in parts)  # of a text, blocks without nanoseconds may be coarser
    counts = [numpy_view(counts.cast(pa.int64()).fill_null(0)) for counts, _ in parts]
    alike = all(unit == finest for _, unit in parts)
    counts = (
        counts
        if alike
        else [part.astype(object) * (finest // unit) for part, (_, unit) in zip(counts, parts, strict=True)]
    )
    return np.concatenate(counts)[left], finest


def _with_moments(X: Array, moments_of: Mapping[int, tuple[Array, int]]) -> LongDecimals:
    """Return features of which the doubles in some columns are only near to the fractions that moments are."""

    def some(which: list[int]) -> list[Any]:
        rows: list[list[Any]] = X[which].tolist()
        for j, (counts, unit) in moments_of.items():
            for row, count in zip(rows, counts[which].tolist(), strict=True):
                row[j] = Fraction(count, unit)
        return rows

    def integers(_: Clock) -> tuple[Array, list[int]] | None:
        others = [j for j in range(X.shape[1]) if j not in moments_of]
        short = as_decimals(X[:, others], None, len(others))
        if short is None:
            return None
        table, scales = np.empty(X.shape, dtype=np.int64), [1] * X.shape[1]
        table[:, others] = short[0]
        for j, power in zip(others, short[1].tolist(), strict=True):
            scales[j] = 10**power
        for j, (counts, unit) in moments_of.items():
            table[:, j], scales[j] = counts, unit
        return table, scales

    return LongDecimals(X, some, lambda: False, integers=integers)


def _column(block: Any, name: str) -> Any:
    """Return a column of a block in one piece."""
    column = block.column(name)
    return decoded(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


def _stamps(source: Any, block: Any, name: str) -> Any:
    """Return the cells of a column of dates as Arrow's moments."""
    column = _column(block, name)
    if not is_string(column.type):
        return column
    column = pc.utf8_trim_whitespace(without_missing(column.cast(pa.string()), source.number_format.missing))
    return moments(column, dict(source.layout.columns)[name].partition(":")[2] or "iso")


def _is_plain(kind: str) -> bool:
    """Say whether a column of numbers holds what its cells show: truth values and moments are made numbers of."""
    return kind != BOOLEAN and not kind.startswith(DATE)


def _plain(source: Any, block: Any, name: str) -> Any:
    """Return the cells of a column of numbers as Arrow has them; written ones as plain decimals."""
    column = _column(block, name)
    if not is_string(column.type):
        return column
    column = pc.utf8_trim_whitespace(without_missing(column.cast(pa.string()), source.number_format.missing))
    return plain_numbers(column, dict(source.layout.columns)[name], source.number_format.point)


def _rounds(column: Any, values: Values, clock: Clock) -> bool:
    """Say whether doubles, or with decimal values the shortest decimals of doubles, are not these numbers."""
    clock.check()
    kind = column.type
    if values == DECIMAL and pa.types.is_decimal(kind):
        return bool(kind.precision > 15)
    if values == DECIMAL and is_string(kind):
        return some_rounded(column)
    if pa.types.is_integer(kind):
        return not all(map(is_float, pc.unique(column.filter(_beyond(column))).to_pylist()))
    cells = pc.unique(column).to_pylist()
    return not all(is_float(Decimal(cell)) for cell in cells if cell is not None)


def _beyond(column: Any) -> Any:
    """Return which integers are so large that a double may round them."""
    limit = pa.scalar(2**53, column.type)
    large = pc.greater(column, limit)
    return large if column.type == pa.uint64() else pc.or_(large, pc.less(column, pa.scalar(-(2**53), column.type)))


def refuse_rounded(source: Source, values: Values) -> None:
    """Refuse decimals that doubles round in a text of which only the doubles are known, as of JSON Lines."""
    only_doubles = FORMATS[source.options.format].is_text and not isinstance(source, DelimitedSource)
    if values == DECIMAL and only_doubles and not _are_shortest(source, Clock()):
        raise _too_long(source)


def _too_long(source: Source) -> DataError:
    return DataError(source.files[0].name, "has numbers of more digits than a double holds", ("values", BINARY))


def _typed_columns(source: Source) -> list[tuple[str, Any]]:
    """Return names and types of the columns of Parquet or Arrow files that are numbers."""
    from linsep.data.columnar import TABLES, open_table

    if source.options.format not in TABLES or source.layout is None:
        return []
    wanted = {name for name, kind in source.layout.columns if is_numeric(kind)}
    columns: dict[tuple[str, Any], None] = {}
    for file in source.files:
        with open_table(file, source.options.format) as table:
            columns |= {(field.name, field.type): None for field in table.schema if field.name in wanted}
    return list(columns)


def _long_numbers(source: Source, clock: Clock, long: re.Pattern[bytes] = _LONG) -> Iterator[list[bytes]]:
    """Yield the numbers of a text that a double may round, some at a time."""
    for file in source.files:
        with file.open() as stream:
            rest = b""
            while piece := stream.read(_PIECE):
                clock.check()
                text = rest + piece
                cut = max(text.rfind(b"\n"), len(text) - 4096) + 1
                yield long.findall(text, 0, cut)
                rest = text[cut:]
            yield long.findall(rest)


def _may_round(source: Source, clock: Clock) -> bool:
    """Say whether a text has numbers so long that a double may round them."""
    grouped = (text for some in _number_texts(source, GROUPED, UNIT) for text in some.to_pylist() if text)
    return any(_long_numbers(source, clock)) or any(_LONG.search(text.encode()) for text in grouped)


def _are_shortest(source: Source, clock: Clock) -> bool:
    """Say whether every number of a text is the shortest decimal of its double."""
    texts = (pa.array(part, pa.string()) for part in _long_numbers(source, clock))
    numbers = _number_texts(source) if isinstance(source, DelimitedSource) else _number_texts(source, GROUPED, UNIT)
    for some in itertools.chain(() if isinstance(source, DelimitedSource) else texts, numbers):
        clock.check()
        if some is None or some_rounded(some):
            return False
    return True


def _number_texts(source: Any, *only: str) -> Iterator[Any]:
    """Yield the numbers of a table as they are written, of some kinds or all, without units and signs of thousands."""
    kinds = {} if source.layout is None else dict(source.layout.columns)
    kinds = {name: kind for name, kind in kinds.items() if is_numeric(kind) and _is_plain(kind)}
    kinds = {name: kind for name, kind in kinds.items() if not only or kind.startswith(only)}
    for block in source.cells(list(kinds)) if kinds else ():
        for name in kinds:
            yield _plain(source, block, name)


def _integers(source: Any, near: Array, clock: Clock) -> tuple[Array, list[int]] | None:
    """Return all numbers of a table as 64-bit integers, and what each column was multiplied with; None if not possible.

    ``near`` are the doubles nearest to them. Columns of words, and rows left out, are not for this way.
    """
    kinds = dict(source.layout.columns)
    plain = all(kind == NUMBER or (kind.startswith(DATE) and not is_time(kind)) for kind in kinds.values())
    if not plain or hasattr(near, "indptr") or near.shape[1] != len(kinds):
        return None
    tops = np.abs(near).max(axis=0, initial=0.0)
    places = [min(37, math.floor(math.log10(2.0**62.9 / top))) if top > 0 else 18 for top in tops.tolist()]
    integers, scales, start = mapped_array(near.shape, np.int64), [10**k for k in places], 0
    for block in source.cells(list(kinds)):
        clock.check()
        stop = start + block.num_rows
        for j, (name, kind) in enumerate(kinds.items()):
            if kind == NUMBER:
                whole = _in_64_bits(_plain(source, block, name), places[j])
            else:
                counts, unit = ticks(_stamps(source, block, name))
                whole = None if counts.null_count or (start and unit != scales[j]) else numpy_view(counts)
                scales[j] = unit
            if whole is None or stop > len(integers):
                return None
            integers[start:stop, j] = whole
        start = stop
    return (integers, scales) if start == len(integers) else None


def _in_64_bits(texts: Any, places: int) -> Array | None:
    """Return decimals times a power of ten as 64-bit integers, None if these do not hold them."""
    try:
        exact = texts.cast(pa.decimal128(38, places))
    except pa.ArrowInvalid:  # more digits than that
        return None
    words = np.frombuffer(exact.buffers()[1], np.int64)[2 * exact.offset : 2 * (exact.offset + len(exact))]
    low, high = words[::2], words[1::2]
    return None if exact.null_count or (high != low >> 63).any() else low


def some_rounded(texts: Any, near: Array | None = None) -> bool:
    """Say whether a double rounds some of these numbers; ``near`` are the doubles, if they are known.

    Arrow writes a double as its shortest decimal, ten times as fast as Python does: only numbers that are written in
    another way are looked at one by one.
    """
    try:
        doubles = texts.cast(pa.float64()) if near is None else arrow_numbers(near)
        texts = texts.filter(pc.not_equal(doubles.cast(pa.string()), texts))
    except pa.ArrowInvalid:  # dates and addresses among them
        pass
    return any(_is_rounded(text) for text in texts.to_pylist() if text is not None and _LONG.search(text.encode()))


def _is_rounded(text: str) -> bool:
    """Say whether a number is another than the shortest decimal of its double."""
    text = text.strip()
    if text.count(".") > 1:
        return False  # a date or an address
    near = repr(float(text))
    return near != text and Decimal(near) != Decimal(text)


def _long_decimals(source: Any, near: Array, clock: Clock, dated: bool) -> LongDecimals | None:
    """Return the decimals of a text, and its moments, which the plain check reads; None if it cannot."""
    reading = reading_of(source)
    if source.options.format != "csv" or reading is None or any("hashed" in column for column in reading["columns"]):
        return None
    content = {"data": {"reading": {**reading, "encoding": "utf-8"}}, "values": DECIMAL}  # as a file opens it

    def some(which: list[int]) -> list[Any]:
        texts = source.excerpts(source.dropped.in_source(which).tolist())
        rows, _ = table(content, list(map(io.BytesIO, texts)))
        return [[Fraction(value, bottom) for value in row] for row, bottom in rows]

    def everything() -> Iterator[tuple[list[int], int]]:
        for file in source.files:
            clock.check()
            with file.open() as stream:
                yield from table(content, [io.BytesIO(stream.read())])[0]

    return LongDecimals(
        near,
        some,
        lambda: any(_long_numbers(source, clock, _TINY)),
        read_all=everything,
        are_shortest=lambda: not dated and _are_shortest(source, clock),
        integers=partial(_integers, source, near),
    )


def reading_of(source: Source) -> dict[str, Any] | None:
    """Return how a table becomes rows, as a document tells it to other checkers; None where there is no text."""
    layout, options = source.layout, source.options
    if not isinstance(source, DelimitedSource) or layout is None or layout.target is None:
        return None
    if len({(file.skip_rows, file.comment) for file in source.files}) > 1:
        return None  # a document has one way for all files
    plain: list[dict[str, Any]] = []
    hashed: list[dict[str, Any]] = []
    for name, kind in layout.columns:
        if is_numeric(kind):
            plain.append({"column": name} if kind == NUMBER else {"column": name, "kind": kind})
        elif kind in (HASHED_WORD, HASHED_TEXT):
            written = TEXT if kind == HASHED_TEXT else kind
            hashed.append({"column": name, "kind": written, "hashed": layout.hash_bits})
    categories: list[dict[str, Any]] = []
    for j, word in layout.categories:
        name, kind = layout.columns[j]
        categories.append({"column": name, "level": word} | ({"kind": TEXT} if kind == TEXT else {}))
    return {
        "columns": [*plain, *hashed, *categories],
        "target": layout.target,
        "missing": options.missing,
        **signs_of(source),
    }


def signs_of(source: Source) -> dict[str, Any]:
    """Return how the text of a table is written, as a document tells it; of another table, how its text would be."""
    if not isinstance(source, DelimitedSource):
        point = source.number_format.point if isinstance(source, TableSource) else "."
        return {"delimiter": ",", "header": True, "point": point, "gaps": list(MISSING), "encoding": "utf-8"}
    file = source.files[0]
    signs: dict[str, Any] = {
        "delimiter": source.delimiter,
        "header": source.has_header,
        "point": source.number_format.point,
        "gaps": list(source.options.gaps),
        "encoding": encoding_name(source.options.encoding or "utf-8"),
    }
    signs |= {"skip": file.skip_rows} if file.skip_rows or source.options.skip_rows is not None else {}
    return signs | ({"comment": file.comment.decode()} if file.comment else {})


def layout_of(reading: dict[str, Any]) -> Layout:
    """Return the layout by which other files are read as a document says."""
    kinds: dict[str, str] = {}
    for column in reading["columns"]:
        kind = column.get("kind", WORD if "level" in column else NUMBER)
        kinds.setdefault(column["column"], HASHED_TEXT if kind == TEXT and "hashed" in column else kind)
    names = list(kinds)
    bits = next((column["hashed"] for column in reading["columns"] if "hashed" in column), 18)
    categories = tuple((names.index(c["column"]), c["level"]) for c in reading["columns"] if "level" in c)
    return Layout(tuple(kinds.items()), bits, reading["header"], reading["target"], categories)


def fingerprint_of(source: Source, verdict: Claim) -> dict[str, Any]:
    """Return the fingerprint of all rows, for the file of a proof; they are read here, one block at a time."""
    classes = np.array(verdict.classes, dtype=object)
    hashed = Fingerprint(verdict.n_features, verdict.classes)
    for block in ahead(source):
        X = block.X
        assert block.y is not None
        hashed.add(to_rows(X), class_codes(block.y, classes))
    return hashed.result()
