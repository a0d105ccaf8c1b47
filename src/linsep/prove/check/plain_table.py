"""The plain check, part 2: the numbers of the data, how a text becomes rows, the fingerprint of a table."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import itertools
import math
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from linsep.prove.check.plain_document import CELL, ENCODINGS, Exact, Malformed, label_text, well, whole

MOST_CELLS = 10**8
GAPS = ("", "?", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None")
ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
TOKEN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")  # a word of a text
ONE_DIGIT = re.compile(":[0-9](?![0-9])")  # minutes and seconds have two


def cell_value(text: str, kind: str, point: str, values: str) -> Fraction:
    """Return a cell of text as an exact number: the decimal that it shows, or the double that is nearest to it."""
    name, _, detail = kind.partition(":")
    shown = text[:40]
    if name == "boolean":
        well(text.lower() in ("true", "false"), f"{shown!r} is neither true nor false")
        return Fraction(text.lower() == "true")
    if name == "date":
        moment = days_or_seconds(text, detail)
        return Fraction(repr(moment)) if values == "decimal" else Fraction(moment)
    if name == "percent":
        well(text.endswith("%"), f"{shown!r} has no sign %")
        text = text.rstrip("%").strip()
    elif name == "unit":
        unit, _, detail = detail.partition(":")
        sign, bare = (text[0], text[1:]) if text[:1] in ("+", "-") and text[1:].startswith(unit) else ("", text)
        before, after = bare.startswith(unit), bare.endswith(unit)
        well(before != after, f"{shown!r} has not the unit {unit!r}, or twice")
        text = sign + (bare[len(unit) :] if before else bare[: -len(unit)]).strip()
        name = "grouped" if detail else "number"
    if name == "grouped":
        grouped = rf"[+-]?[0-9]{{1,3}}({re.escape(detail)}[0-9]{{3}})*({re.escape(point)}[0-9]*)?"
        well(re.fullmatch(grouped, text), f"{shown!r} is not a number with {detail!r} between thousands")
        text = text.replace(detail, "")
    text = text.replace(point, ".")
    well(CELL.fullmatch(text) and len(text) <= 4000, f"{shown!r} is not a number")
    well(math.isfinite(float(text)), f"{shown} is out of range")
    return Fraction(*Decimal(text).as_integer_ratio()) if values == "decimal" else Fraction(float(text))


def days_or_seconds(text: str, pattern: str) -> float:
    """Return the days from 1970 to a date, or the seconds from midnight to a time of day, as the nearest double."""
    is_date, blanks = "%d" in pattern or pattern == "iso", pattern.count(" ")
    tidy = ISO.fullmatch(text) if pattern == "iso" else text.count(" ") == blanks and not ONE_DIGIT.search(text)
    well(tidy and text.isascii(), f"{text[:40]!r} is not a date of this form")
    try:
        if pattern == "iso":
            moment = datetime.fromisoformat(text)
        else:
            moment = datetime.strptime(text if is_date else f"1 {text}", pattern if is_date else f"%d {pattern}")
    except ValueError:
        raise Malformed(f"{text[:40]!r} is not a date") from None
    start = datetime(1970 if is_date else 1900, 1, 1, tzinfo=moment.tzinfo and UTC)
    return (moment - start) / (timedelta(days=1) if is_date else timedelta(seconds=1))


def nearest(top: int, bottom: int) -> float:
    """Return the double nearest to a fraction."""
    try:
        return top / bottom
    except OverflowError:
        return math.inf if top > 0 else -math.inf


def table(content: dict[str, Any], files: Sequence[Any]) -> tuple[list[Exact], list[Any]]:
    """Return the rows of CSV files, given as paths or binary streams, and their labels as texts."""
    rows: list[Exact] = []
    labels: list[Any] = []
    for file in files:
        lines = csv_lines(file, content["data"]["reading"])
        first: list[str] = next(lines, [])
        well(first, "a file is empty")
        how = reading_of(content, first)
        names, response = how["names"], [how["target"], *how["others"]]
        for name in [*used_columns(how["columns"]), *response]:
            well(names.count(name) == 1, f"there is no column {name[:40]!r}, or more than one")
        for line in lines if how["header"] else itertools.chain([first], lines):
            well(len(line) == len(names), f"a row has {len(line)} cells where {len(names)} are expected")
            cells = dict(zip(names, line, strict=True))
            if any(cells[name].strip() in how["gaps"] for name in [*how["needed"], *response]):
                well(how["missing"] == "drop", "a cell has no value")
                continue
            well(len(rows) * len(how["columns"]) <= MOST_CELLS, "the table is too large for this program")
            rows.append(whole([number_in(cells, column, how) for column in how["columns"]]))
            parts = tuple(response_text(cells[name].strip(), how) for name in response)
            labels.append(parts if len(parts) > 1 else parts[0])
    return rows, labels


def csv_lines(file: Any, how: Any) -> Iterator[list[str]]:
    """Yield the cells of every line that is not empty."""
    delimiter, encoding = (how["delimiter"], how["encoding"]) if how else (",", "utf-8")
    well(encoding in ENCODINGS, f"the encoding {encoding[:40]!r} is not known")
    csv.field_size_limit(1 << 20)
    with (gzip.open if str(file).endswith(".gz") else open)(file, "rb") if isinstance(file, str) else file as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig" if encoding == "utf-8" else encoding, newline="")
        skip, comment = (how.get("skip", 0), how.get("comment", "")) if how else (0, "")
        rows = (
            line for i, line in enumerate(text) if i >= skip and not (comment and line.lstrip(" \t")[:1] == comment)
        )
        for cells in filter(None, csv.reader(marked(rows, delimiter), delimiter=delimiter)):
            if cells == ["\0", "\0"]:
                return
            well(not cells[-1].endswith("\0"), "a quote opens but never closes")
            yield cells


def marked(lines: Iterable[str], delimiter: str) -> Iterator[str]:
    """Yield lines of text, which has no character 0, and a last line of two such: a row of its own, if all is well."""
    for line in lines:
        well("\0" not in line, "the file is not a text")
        yield line
    yield f"\0{delimiter}\0"


def reading_of(content: dict[str, Any], first: list[str]) -> dict[str, Any]:
    """Return how a table is read: as the document says or, if it does not, all but the last columns as numbers."""
    how, model = dict(content["data"]["reading"] or {}), content.get("kind", "").startswith("separation")
    parts = len(content["response"]) if model else 1
    header = how["header"] if how else not any(CELL.fullmatch(cell.strip()) for cell in first)
    names = [cell.strip() for cell in first] if header else [str(j) for j in range(len(first))]
    if not how:
        last = max(0, len(names) - parts)
        how = {"columns": [{"column": name} for name in names[:last]], "header": header, "missing": "error"}
        how |= {"target": names[last], "others": names[last + 1 :], "point": ".", "gaps": GAPS}
    well(len(how.get("others", [])) == parts - 1, "it does not say where the response is")
    strict = how["missing"] in ("error", "drop")  # a gap has no value in the columns that are needed
    words = how["missing"] == "drop"  # a gap is none in columns of words, either
    needed = [column for column in how["columns"] if words or (strict and "level" not in column)]
    factors = [each for column in how["columns"] for each in column.get("product", [column])]
    odd = any(
        "hashed" in each or (each.get("kind") in ("category", "text") and "level" not in each) for each in factors
    )
    well(not odd, "some columns are hashed: linsep verify can read them")
    how |= {"gaps": frozenset(how["gaps"]), "others": how.get("others", [])}
    return {**how, "names": names, "needed": used_columns(needed), "model": model, "values": content["values"]}


def used_columns(columns: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of the columns that a reading uses."""
    return [each["column"] for column in columns for each in column.get("product", [column])]


def number_in(cells: dict[str, str], column: dict[str, Any], how: dict[str, Any]) -> Any:
    """Return the number of a feature in a line; with binary values a product is that of doubles, from left to right."""
    if "product" in column:
        found: Any = 1
        for each in column["product"]:
            found = found * number_in(cells, each, how)
            if how["values"] != "decimal":
                found = nearest(*found.as_integer_ratio())
                well(math.isfinite(found), "a product is out of range")
                found = Fraction(found)
        return found
    cell, kind = cells[column["column"]], column.get("kind", "number")
    word = cell.strip()
    if "level" in column and kind == "text":
        return 0 if word in how["gaps"] else TOKEN.findall(cell.lower()).count(column["level"])
    if "level" in column:
        return int(column["level"] == (None if word in how["gaps"] else cell))
    if word in how["gaps"]:
        return 0
    found = cell_value(cell.strip(" \t") if kind == "number" else word, kind, how["point"], how["values"])
    return int(found == cell_value(column["equals"], "number", ".", how["values"])) if "equals" in column else found


def response_text(text: str, how: dict[str, Any]) -> str:
    """Return a cell of the response; a number of a model gets a decimal point whatever the file has."""
    number = text.replace(how["point"], ".")
    return number if how["model"] and CELL.fullmatch(number) else text


def fingerprint(rows: Iterable[Exact], labels: Sequence[Any]) -> str:
    """Return the name of a table: a hash of its labels and of the doubles nearest to its values."""
    names, counts, cells = (hashlib.sha256() for _ in range(3))
    for (row, bottom), label in zip(rows, labels, strict=True):
        for part in label if isinstance(label, tuple) else (label,):
            text = label_text(part).encode()
            names.update(struct.pack("<q", len(text)) + text)
        near = [nearest(value, bottom) + 0.0 for value in row]  # 0 for -0
        used = [j for j, value in enumerate(near) if value]
        counts.update(struct.pack("<q", len(used)))
        if 2 * len(used) > len(row):
            cells.update(struct.pack(f"<{len(row)}d", *near))
        else:
            cells.update(b"".join(struct.pack("<qd", j, near[j]) for j in used))
    return hashlib.sha256(b"".join(part.digest() for part in (names, counts, cells))).hexdigest()
