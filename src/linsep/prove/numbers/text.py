"""Reads tables for exact verdicts: a number in a text is the decimal that it shows."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from linsep.clock import Clock
from linsep.data.arrays import arrow_numbers, to_rows
from linsep.data.cache import mapped_array
from linsep.data.cells import plain_numbers, without_missing
from linsep.data.delimited import DelimitedSource
from linsep.data.labels import class_codes
from linsep.data.options import FORMATS, MISSING
from linsep.data.parallel import ahead
from linsep.data.schema import BOOLEAN, DATE, HASHED_TEXT, HASHED_WORD, NUMBER, TEXT, WORD, Layout, is_numeric
from linsep.data.sniffing import encoding_name
from linsep.data.source import Source
from linsep.data.tables import TableSource
from linsep.errors import DataError
from linsep.problem import Array, Values
from linsep.prove.check.linsep_check import table
from linsep.prove.claims import Claim
from linsep.prove.numbers.cells import LongDecimals
from linsep.prove.numbers.fingerprints import Fingerprint
from linsep.prove.numbers.given import BINARY, DECIMAL

# 15 digits always come back from a double, unless they are those of a tiny number
_LONG = re.compile(rb"[0-9][0-9.]{15,}(?:[eE][+-]?[0-9]+)?|[0-9.]+[eE]-[0-9]{3,}")
_TINY = re.compile(rb"[eE]-0*[0-9]{3}|0{200}")
_PIECE = 1 << 22
FEW_CELLS = 1 << 16  # that are fractions at once


def default_values(source: Source) -> Values:
    """Return how numbers of a source are meant: as decimals in a text or in columns of decimals."""
    decimals = any(pa.types.is_decimal(kind) for _, kind in _typed_columns(source))
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
    name = source.files[0].name
    if FORMATS[source.options.format].is_text:
        if values == DECIMAL and source.long_numbers and any(_long_numbers(source, clock)):
            found = _long_decimals(source, X, clock)
            if found is not None:
                lazily = lazily and not hasattr(X, "indptr") and X.size > FEW_CELLS
                return (found if lazily else found.whole()), y
            if not _are_shortest(source, clock):
                raise _too_long(source)
        return X, y
    columns = _typed_columns(source)
    for column, kind in columns:
        if pa.types.is_decimal(kind) and (values != DECIMAL or kind.precision > 15):
            raise DataError(name, f"column {column!r} has decimals with more digits than doubles hold: leave it out")
    large = {column for column, kind in columns if kind in (pa.int64(), pa.uint64())}
    if large and X.dtype.kind == "f" and not hasattr(X, "indptr"):
        tops = np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0))
        for j in np.flatnonzero(tops >= 2.0**53).tolist():
            if source.names is not None and source.names[j] in large:
                raise DataError(
                    name,
                    f"column {source.names[j]!r} has whole numbers above 2^53, which doubles cannot hold beside "
                    "columns of fractions: leave it out, or store all columns as integers",
                )
    return X, y


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
    found: dict[tuple[str, Any], None] = {}
    for file in source.files:
        with open_table(file, source.options.format) as table:
            found |= {(field.name, field.type): None for field in table.schema if field.name in wanted}
    return list(found)


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


def _are_shortest(source: Source, clock: Clock) -> bool:
    """Say whether every number of a text is the shortest decimal of its double."""
    texts = (pa.array(found, pa.string()) for found in _long_numbers(source, clock))
    for some in _number_texts(source) if isinstance(source, DelimitedSource) else texts:
        clock.check()
        if some is None or some_rounded(some):
            return False
    return True


def _number_texts(source: DelimitedSource) -> Iterator[Any]:
    """Yield the numbers of a table as they are written, without units and signs between thousands."""
    import pyarrow.compute as pc  # slow to load

    kinds = {name: kind for name, kind in source.layout.columns if is_numeric(kind)}
    kinds = {name: kind for name, kind in kinds.items() if kind != BOOLEAN and not kind.startswith(DATE)}
    for block in source.cells(list(kinds)) if kinds else ():
        for name, kind in kinds.items():
            column = without_missing(block.column(name).combine_chunks(), source.number_format.missing)
            yield plain_numbers(pc.utf8_trim_whitespace(column), kind, source.number_format.point)


def _integers(source: Any, near: Array, clock: Clock) -> tuple[Array, list[int]] | None:
    """Return all numbers of a table as 64-bit integers over powers of ten; None if these do not hold them.

    ``near`` are the doubles nearest to them. Columns of words or dates, and rows left out, are not for this way.
    """
    columns = [name for name, _ in source.layout.columns]
    plain = all(kind == NUMBER for _, kind in source.layout.columns)
    if not plain or hasattr(near, "indptr") or near.shape[1] != len(columns):
        return None
    tops = np.abs(near).max(axis=0, initial=0.0)
    places = [min(37, math.floor(math.log10(2.0**62.9 / top))) if top > 0 else 18 for top in tops.tolist()]
    found, column, start = mapped_array(near.shape, np.int64), 0, 0
    for texts in _number_texts(source):
        clock.check()
        stop = start + len(texts)
        try:
            exact = texts.cast(pa.decimal128(38, places[column]))
        except pa.ArrowInvalid:  # more digits than that
            return None
        if stop > len(found) or exact.null_count:
            return None
        words = np.frombuffer(exact.buffers()[1], np.int64)[2 * exact.offset : 2 * (exact.offset + len(exact))]
        low, high = words[::2], words[1::2]
        if (high != low >> 63).any():
            return None
        found[start:stop, column] = low
        column = (column + 1) % len(columns)
        start = stop if column == 0 else start
    return (found, [10**k for k in places]) if start == len(found) else None


def some_rounded(texts: Any, near: Array | None = None) -> bool:
    """Say whether a double rounds some of these numbers; ``near`` are the doubles, if they are known.

    Arrow writes a double as its shortest decimal, ten times as fast as Python does: only numbers that are written in
    another way are looked at one by one.
    """
    import pyarrow.compute as pc  # slow to load

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


def _long_decimals(source: Any, near: Array, clock: Clock) -> LongDecimals | None:
    """Return the decimals of a text, which the plain check reads; None if it cannot."""
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
        are_shortest=partial(_are_shortest, source, clock),
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
    levels: list[dict[str, Any]] = []
    for j, word in layout.categories:
        name, kind = layout.columns[j]
        levels.append({"column": name, "level": word} | ({"kind": TEXT} if kind == TEXT else {}))
    return {
        "columns": [*plain, *hashed, *levels],
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
    levels = tuple((names.index(c["column"]), c["level"]) for c in reading["columns"] if "level" in c)
    return Layout(tuple(kinds.items()), bits, reading["header"], reading["target"], levels)


def fingerprint_of(source: Source, verdict: Claim) -> dict[str, Any]:
    """Return the fingerprint of all rows, for the file of a proof; they are read here, one block at a time."""
    classes = np.array(verdict.classes, dtype=object)
    hashed = Fingerprint(verdict.n_features, verdict.classes)
    for block in ahead(source):
        X = block.X
        assert block.y is not None
        hashed.add(to_rows(X), class_codes(block.y, classes))
    return hashed.result()
