"""Checks a linsep proof against a table without linsep: python linsep_check.py PROOF.json DATA.csv.

Several files are one table. It needs Python 3.11 and nothing else, reads CSV text (also .gz), and follows
docs/proof-format.md section by section. The exit code is 0 if the proof holds, 1 if it does not hold for these data,
2 if the document or the data cannot be used.

To see why a proof is to be believed, read part 3, the four facts, then the part of its kind: 4 for verdicts, 5 for the
fewest errors, 6 for separation in regression models. They define the claims and say which facts each needs. The other
parts turn the document and the table into numbers, and refuse what is not of the form that the page lays down.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import itertools
import json
import math
import re
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from operator import mul, sub
from typing import Any, TypeAlias

Exact: TypeAlias = tuple[list[int], int]  # a row times its least common denominator, and that denominator
Rows: TypeAlias = Sequence[Exact]
Sides: TypeAlias = tuple[frozenset[int], frozenset[int]]  # the groups of a refutation that are right, and wrong

# Part 1: what a document claims, its form, its numbers, its labels.
STRICTLY = ("plane{} has every row strictly on its side", "{} score the true class of every row strictly highest")
NONE = (f"no {STRICTLY[0]}", f"no {STRICTLY[1]}")
MEANING = {  # by kind: of planes for two classes, of weight vectors for several
    "separable": (f"a {STRICTLY[0]}", f"some {STRICTLY[1]}"),
    "quasi": (f"{NONE[0]}, but one has none on the wrong side",
              f"{NONE[1]}, but some never score another class higher"),
    "overlap": ("every plane{} has rows on the wrong side, or all rows on it",
                "whatever the {}, another class scores higher on some row, or all scores are equal"),
    "not-separable": NONE,
    "fewest-errors": ("of all planes{} the best has {bounds}", "of all {} the best have {bounds}"),
}  # fmt: skip
SEPARATED = {  # by claim
    "complete": "complete separation: the maximum likelihood estimate does not exist",
    "quasi": "quasi-complete separation: the maximum likelihood estimate does not exist",
    "overlap": "overlap: the maximum likelihood estimate exists",
}


def meaning_of(content: dict[str, Any]) -> str:
    """Return the sentence of a document."""
    if content["kind"] == "separation":
        return SEPARATED[content["claim"]]
    several, offset = len(content["classes"]) > 2, content["fit_intercept"]
    planes, vectors = ("", "weight vectors") if offset else (" through the origin", "weight vectors without offsets")
    counted = "" if content.get("sample_weight") is None else ", rows counted by their weights"
    bounds = f"at least {content.get('lower')} and at most {content.get('upper')} errors{counted}"
    return MEANING[content["kind"]][several].format(vectors if several else planes, bounds=bounds)


LARGEST, LONGEST, WIDEST = 1 << 26, 100_000, 200_000  # characters of a document, a number; bits of a denominator


class Malformed(ValueError):  # noqa: N818 (what is wrong, not that something is)
    """The document is not a proof, or the data cannot be read."""


class Fails(Exception):  # noqa: N818
    """The proof does not prove its claim about these data."""


def require(condition: Any, message: str, error: type[Exception] = Fails) -> None:
    """Raise an error unless something holds."""
    if not condition:
        raise error(message)


well = partial(require, error=Malformed)


def form(value: Any, shape: Any, name: str = "the document") -> None:
    """Refuse a value that does not have a shape.

    A shape is a type; None; a pattern; a set of texts; a function that refuses; ``[shape]`` for a list of such and
    ``[shape, shape]`` for a pair; ``(shape, ...)`` for any of these; ``{field: shape}`` for an object with exactly
    these fields, of which ``"field?"`` may be missing, and ``{str: shape}`` for one with any fields.
    """
    if isinstance(shape, tuple):
        for each in shape[:-1]:
            with suppress(Malformed):
                return form(value, each, name)
        shape = shape[-1]
    if isinstance(shape, dict) and str in shape and type(value) is dict:
        value, shape = list(value.values()), [shape[str]]
    if isinstance(shape, dict) and type(value) is dict:
        fields = {field.rstrip("?"): kind for field, kind in shape.items()}
        odd = {field for field in shape if not field.endswith("?")} - set(value) | set(value) - set(fields)
        well(not odd, f"{name} has a field that is not known, or lacks one: {min(odd, default='')[:40]!r}")
        for field, item in value.items():
            form(item, fields[field], f"the field {field!r}")
    elif isinstance(shape, list) and type(value) is list:
        well(len(shape) in (1, len(value)), f"{name} must hold {len(shape)} items")
        for item in value:
            form(item, shape[0], name)
    elif callable(shape) and not isinstance(shape, type):
        shape(value)
    else:
        if isinstance(shape, set | re.Pattern):
            fits = type(value) is str and (value in shape if isinstance(shape, set) else shape.fullmatch(value))
        else:
            fits = value is None if shape is None else type(value) is shape
        well(fits, f"{name} does not have the required value")
    return None


def natural(value: Any, most: float = 2**53) -> None:
    """Refuse what is not a whole number from 0 that a double holds: of a row, a class, how many; True is none."""
    well(type(value) is int and 0 <= value < most, f"{str(value)[:40]} is not a whole number from 0, or too large")


CELL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?0*[0-9]{1,4})?")  # a number in a text
NUMBER = re.compile(  # one in a document
    r"-?([0-9]{1,4000}([/.][0-9]{1,4000})?|0x[0-9a-f]+(/0x[0-9a-f]+)?|0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4})"
)


def number(text: Any) -> Fraction:
    """Return what a text spells: 7, -3/7, 0.25; 0xff/0x3 for long numbers; 0x1.8p-1 for 3/4, as %a of C does."""
    fits = type(text) is str and len(text) <= LONGEST and NUMBER.fullmatch(text)
    well(fits and ("/" not in text or text.partition("/")[2].strip("0x")), f"{str(text)[:40]!r} is not a number")
    if "p" not in text:
        return Fraction(*(int(part, 16) for part in text.split("/"))) if "x" in text else Fraction(text)
    head, _, tail = text.partition(".")
    digits, _, power = tail.partition("p")
    exact = int(head + digits, 16) * Fraction(2) ** (int(power) - 4 * len(digits))
    well(abs(exact) < 2**1024 and exact == Fraction(float.fromhex(text)), f"{text} is not a double")
    return exact


ENCODINGS = {"utf-8", "utf-16", "latin-1", "cp1252"}
KIND = re.compile(  # how the cells of a column are written
    "number|boolean|percent|category|text|grouped:[,.'_ \u00a0\u2019\u202f]|"
    "unit:[^0-9:.,+-]{1,8}(:[,.'_ \u00a0\u2019\u202f])?|date:(iso|%H:%M(:%S([.]%f)?)?|"
    "(%[Yy][-/.]%m[-/.]%d|%[Yy][-/.]%d[-/.]%m|%m[-/.]%d[-/.]%[Yy]|%d[-/.]%m[-/.]%[Yy])( %H:%M(:%S)?)?)"
)
PLANE = {"w": [[number]], "b": [number]}
REFUTATION = {"rows": [natural], "rivals": [natural], "multipliers": [number]}
COLUMN = {"column": str, "level?": (None, str), "hashed?": natural, "kind?": KIND}
READING = {
    "columns": [COLUMN], "target": str, "delimiter": re.compile("[\t -!#-~]"), "encoding": ENCODINGS,
    "header": bool, "point": {".", ","}, "gaps": [str], "missing": {"error", "zero", "drop", "indicator"},
    "skip?": natural, "comment?": re.compile("[\t -!#-~]"),
}  # fmt: skip
DATA = {
    "n_rows": natural, "n_features": natural, "sha256": re.compile("[0-9a-f]{64}"), "reading": (None, READING),
    "files?": [str],
}  # fmt: skip
COMMON: dict[str, Any] = {  # fields of every document; each kind has others beside them
    "format": {"linsep proof 1"}, "kind": str, "meaning": str, "fit_intercept": bool,
    "classes": [(str, bool, int, float)], "n_features": natural, "values": {"binary", "decimal"}, "data": DATA,
    "made": {"by": str, "time": str, "options": {str: str}, "note": (None, str)}, "digest": str,
}  # fmt: skip


def numbers(texts: Sequence[str]) -> list[Fraction]:
    """Return the numbers of a list of a document, whose common denominator must not be too long."""
    values = [number(text) for text in texts]
    whole(values)
    return values


def whole(values: Sequence[int | Fraction]) -> Exact:
    """Return numbers times their least common denominator, which must not be too long, and it: no sign changes."""
    common = 1
    for bottom in {value.denominator for value in values}:
        common = math.lcm(common, bottom)
        well(common.bit_length() <= WIDEST, "the common denominator of these numbers is too long")
    return [value.numerator * (common // value.denominator) for value in values], common


def label_text(label: Any) -> str:
    """Return the one spelling of a label: a text that reads as a number is that number, 1.0 is 1."""
    if isinstance(label, str):
        word = label.strip()
        if not CELL.fullmatch(word) or not abs(float(word)) < 2**53:
            return word
        label = float(word)
    if isinstance(label, bool):
        return str(label)
    return str(int(label)) if label == int(label) else repr(float(label))


def class_numbers(labels: Sequence[Any], classes: Sequence[Any], empty: int = 0) -> list[int]:
    """Return the number of each label among the classes, of which ``empty`` may have no row."""
    index = {label_text(label): code for code, label in enumerate(classes)}
    known = {(type(label), label): index.get(label_text(label), -1) for label in labels}  # True is not 1
    fits = -1 not in known.values() and len(index) - len(set(known.values())) <= empty
    require(fits, "the labels of the data are not exactly the classes")
    return [known[type(label), label] for label in labels]


# Part 2: the numbers of the data, how a text becomes rows, the fingerprint of a table.
MOST_CELLS = 10**8
GAPS = ("", "?", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None")
ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
TOKEN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")  # a word of a text


def cell_value(text: str, kind: str, point: str, values: str) -> Fraction:
    """Return a cell of text as an exact number: the decimal that it shows, or the double that is nearest to it."""
    name, _, detail = kind.partition(":")
    shown = text[:40]
    if name == "boolean":
        well(text.lower() in ("true", "false"), f"{shown!r} is neither true nor false")
        return Fraction(text.lower() == "true")
    if name == "date":
        exact = days_or_seconds(text, detail)
        return exact if values == "decimal" else Fraction(float(exact))
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


def days_or_seconds(text: str, pattern: str) -> Fraction:
    """Return the days from 1970 to a date, or the seconds from midnight to a time of day."""
    iso, is_date = pattern == "iso", "%d" in pattern or pattern == "iso"
    odd = text.count(" ") != pattern.count(" ") or re.search(":[0-9](?![0-9])", text)
    tidy = ISO.fullmatch(text) if iso else not odd
    well(tidy and text.isascii(), f"{text[:40]!r} is not a date of this form")
    filled, form = (text, pattern) if is_date else (f"1 {text}", f"%d {pattern}")
    digits = re.search(r"\.[0-9]+", text) if iso else None  # datetime knows 6 of them
    try:
        moment = (
            datetime.fromisoformat(text.replace(digits[0], "") if digits else text)
            if iso
            else datetime.strptime(filled, form)
        )
    except ValueError:
        raise Malformed(f"{text[:40]!r} is not a date") from None
    start = datetime(1970 if is_date else 1900, 1, 1, tzinfo=moment.tzinfo and UTC)
    seconds = Fraction((moment - start) // timedelta(microseconds=1), 10**6) + Fraction(digits[0] if digits else 0)
    return seconds / 86400 if is_date else seconds


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
        for name in [*(each["column"] for each in factors_of(how["columns"])), *response]:
            well(names.count(name) == 1, f"there is no column {name[:40]!r}, or more than one")
        for line in lines if how["header"] else itertools.chain([first], lines):
            well(len(line) == len(names), f"a row has {len(line)} cells where {len(names)} are expected")
            cells = dict(zip(names, line, strict=True))
            if any(cells[name].strip() in how["gaps"] for name in [*how["needed"], *response]):
                well(how["missing"] == "drop", "a cell has no value")
                continue
            well(len(rows) * len(how["columns"]) <= MOST_CELLS, "the table is too large for this program")
            rows.append(whole([number_in(cells, column, how) for column in how["columns"]]))
            parts = tuple(cells[name].strip() for name in response)
            if how["model"]:  # its numbers get a decimal point whatever the file has
                pointed = [(text, text.replace(how["point"], ".")) for text in parts]
                parts = tuple(dotted if CELL.fullmatch(dotted) else text for text, dotted in pointed)
            labels.append(parts if len(parts) > 1 else parts[0])
    return rows, labels


def csv_lines(file: Any, how: Any) -> Iterator[list[str]]:
    """Yield the cells of every line that is not empty."""
    how = how or {"delimiter": ",", "encoding": "utf-8"}
    delimiter, encoding, comment = how["delimiter"], how["encoding"], how.get("comment", "")
    well(encoding in ENCODINGS, f"the encoding {encoding[:40]!r} is not known")
    csv.field_size_limit(1 << 20)
    with (gzip.open if str(file).endswith(".gz") else open)(file, "rb") if isinstance(file, str) else file as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig" if encoding == "utf-8" else encoding, newline="")
        kept = itertools.islice(text, how.get("skip", 0), None)
        rows = (line for line in kept if not comment or line.lstrip(" \t")[:1] != comment)
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
    drop, strict = how["missing"] == "drop", how["missing"] == "error"
    needed = [each for each in how["columns"] if drop or (strict and "level" not in each)]  # where a gap has no value
    for each in factors_of(how["columns"]):
        fits = "hashed" not in each and (each.get("kind") not in ("category", "text") or "level" in each)
        well(fits, "some columns are hashed: linsep verify can read them")
    how |= {"gaps": frozenset(how["gaps"]), "others": how.get("others", []), "values": content["values"]}
    return {**how, "names": names, "needed": [each["column"] for each in factors_of(needed)], "model": model}


def factors_of(columns: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the columns of a text that features use: one each, or those that are multiplied."""
    return [each for column in columns for each in column.get("product", [column])]


def number_in(cells: dict[str, str], column: dict[str, Any], how: dict[str, Any]) -> Any:
    """Return the number of a feature in a line; with binary values a product is that of doubles, from left to right."""
    if "product" in column:
        value: Any = 1
        for each in column["product"]:
            value = value * number_in(cells, each, how)
            if how["values"] != "decimal":
                well(math.isfinite(near := nearest(*value.as_integer_ratio())), "a product is out of range")
                value = Fraction(near)
        return value
    cell, kind = cells[column["column"]], column.get("kind", "number")
    word = cell.strip()
    if "level" in column and kind == "text":
        return 0 if word in how["gaps"] else TOKEN.findall(cell.lower()).count(column["level"])
    if "level" in column:
        return int(column["level"] == (None if word in how["gaps"] else cell))
    if word in how["gaps"]:
        return 0
    value = cell_value(cell.strip(" \t") if kind == "number" else word, kind, how["point"], how["values"])
    return int(value == cell_value(column["equals"], "number", ".", how["values"])) if "equals" in column else value


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
        pairs = (struct.pack("<qd", j, near[j]) for j in used)
        cells.update(struct.pack(f"<{len(row)}d", *near) if 2 * len(used) > len(row) else b"".join(pairs))
    return hashlib.sha256(b"".join(part.digest() for part in (names, counts, cells))).hexdigest()


# Part 3: the four facts that every proof consists of. This page is the one to read first.
#
# A *row* z is a list of integers with the denominator that they were multiplied with. Every number is exact; there is
# no tolerance. docs/proof-format.md says which facts a claim of each kind needs, and why they suffice.
#
# 1. ``total``: the sum Σ λ z, to be compared with the claim; the signs of λ are seen at once.
# 2. ``signs``: the sign of g·z for each of many rows.
# 3. ``independent``: some rows have at least a given rank.
# 4. ``spanned``: some rows span others, as whatever is orthogonal to the former is orthogonal to the latter, too.

PRIME = 2**61 - 1


def total(multipliers: Sequence[Fraction], rows: Sequence[Exact]) -> list[Fraction]:
    """Fact 1: return Σ λ z, nothing for no rows."""
    factors, common = whole([value / bottom for value, (_, bottom) in zip(multipliers, rows, strict=True)])
    columns = zip(*(z for z, _ in rows), strict=True)
    return [Fraction(sum(map(mul, factors, column)), common) for column in columns]


def signs(g: Sequence[int | Fraction], rows: Iterable[Exact]) -> Iterator[int]:
    """Fact 2: yield the sign of g·z of every row; denominators, which are positive, do not change it."""
    vector, _ = whole(g)
    for z, _ in rows:
        value = sum(map(mul, vector, z))
        yield (value > 0) - (value < 0)


def independent(rows: Sequence[Exact], least: int) -> bool:
    """Fact 3: say whether rows have this rank at least. Modulo a prime the rank is never larger."""
    return parities(rows) >= least or len(echelon(rows, PRIME)) >= least or len(echelon(rows)) >= least


def spanned(some: Sequence[Exact], rows: Sequence[Exact], width: int) -> int | None:
    """Fact 4: return the rank of some rows of this width if all rows are in their span, else None."""
    if parities(some) == width or len(echelon(some, PRIME)) == width:
        return width
    form = echelon(some)
    for k in (k for k in range(width) if k not in form):
        if any(signs([-form[j][k] if j in form else Fraction(j == k) for j in range(width)], rows)):
            return None
    return len(form)


def parities(rows: Sequence[Exact]) -> int:
    """Return the rank modulo 2; a row is one integer, whose bits are its cells: seconds for thousands of columns."""
    done: dict[int, int] = {}  # by the number of bits
    for z, _ in rows:
        v = int("".join("1" if value % 2 else "0" for value in z), 2)
        while v and v.bit_length() in done:
            v ^= done[v.bit_length()]
        done[v.bit_length()] = v
    return len(done.keys() - {0})


def echelon(rows: Sequence[Exact], p: int = 0) -> dict[int, list[Any]]:
    """Return the reduced echelon form by pivot columns (Gauss and Jordan): modulo the prime p, or in fractions."""
    done: dict[int, list[Any]] = {}
    for z, _ in rows:
        v: list[Any] = [value % p for value in z] if p else [Fraction(value) for value in z]
        for j, row in done.items():
            v = minus(v, v[j], row, p)
        pivot = next((j for j, value in enumerate(v) if value), None)
        if pivot is not None:
            inverse = pow(v[pivot], -1, p) if p else 1 / v[pivot]
            v = [value * inverse % p if p else value * inverse for value in v]
            done = done if p else {j: minus(row, row[pivot], v, p) for j, row in done.items()}
            done[pivot] = v
        if len(done) == len(v):
            break
    return done


def minus(v: list[Any], f: Any, row: list[Any], p: int) -> list[Any]:
    """Return v - f row."""
    return [(a - f * b) % p if p else a - f * b if b else a for a, b in zip(v, row, strict=True)] if f else v


# Part 4: verdicts, whether a plane has every row of each class on its side.
#
# Rows are lists of integers, each with a denominator, ``codes`` their class numbers 0, 1, ... A row x of class y asks
# of weights W and offsets b, one vector and one number per class, for an *inequality* against each other class r:
#
#     (W[y] - W[r])·x + b[y] - b[r] > 0        (b = 0 for planes through the origin)
#
# For two classes W = (0, w): a row of class 1 asks for w·x + b > 0, one of class 0 for w·x + b < 0.
# - separable: weights under which all inequalities hold (signs).
# - quasi: weights under which all hold with >= and some with > (signs); and a *refutation* of "separable": inequalities
#   with positive multipliers whose left sides add up to 0 for all weights (sum). They are not all positive.
# - overlap: a refutation whose inequalities span all others. Where no left side is negative, those of the refutation
#   are 0, and hence all are. All together have rank (classes - 1) q, q being the rank of the rows with the offset's 1.

VERDICT = {"separator": (None, PLANE), "refutation": (None, REFUTATION)}  # the fields of its own


def form_of_verdict(content: dict[str, Any]) -> None:
    """Refuse a document whose fields do not go together."""
    kind, plane, refutation = content["kind"], content["separator"], content["refutation"]
    flaws = ((plane is None) != (kind in ("overlap", "not-separable")), (refutation is None) != (kind == "separable"))
    well(not any(flaws) and len(content["classes"]) > 1, f"the proof of {kind!r} does not have the required parts")
    if plane is not None:
        form_of_plane(plane, len(content["classes"]), content["n_features"])
    if refutation is not None:
        fits = 0 < len(refutation["rows"]) == len(refutation["rivals"]) == len(refutation["multipliers"])
        well(fits, "a refutation must name a row and a rival for each of its multipliers, at least one")


def form_of_plane(plane: Any, classes: int, n_features: int) -> None:
    """Refuse a plane that does not have a weight per feature and an offset, for each class (once for two)."""
    fits = {len(plane["w"]), len(plane["b"])} == {1 if classes == 2 else classes}
    fits = fits and all(len(w) == n_features for w in plane["w"])
    well(fits, "a separator must have one weight per feature and one offset, for each class (once for two)")


def check_verdict(content: dict[str, Any], rows: Rows, codes: Sequence[int]) -> list[str]:
    """Return what has been checked, line by line; raise Fails or Malformed if the claim is not proved."""
    kind, classes, strictly = content["kind"], len(content["classes"]), content["kind"] == "separable"
    exact = [([*x, bottom], bottom) for x, bottom in rows] if content["fit_intercept"] else rows
    lines = [f"{len(rows)} rows of {content['n_features']} features in {classes} classes"]
    if content["separator"] is not None:
        some = False
        for i, sign in sides(content, exact, codes):
            require(sign >= strictly, f"row {i} is {'on the plane' if sign == 0 else 'on the wrong side'}")
            some = some or sign > 0
        require(some, "every row is on the plane")
        weakly = "no row is on the wrong side, and not all on the plane"
        lines.append("every row is strictly on its side" if strictly else weakly)
    if content["refutation"] is not None:
        multipliers, parts = canceling(content["refutation"], exact, codes, classes)
        require(min(multipliers) > 0, "a multiplier of the refutation is not positive")
        which = sorted(set(content["refutation"]["rows"]))
        message = "rows with positive multipliers add up to zero: no plane has them all strictly on their sides"
        lines.append(f"{len(which)} {message}")
        if kind == "overlap":
            q = spanned([exact[i] for i in which], exact, len(exact[0][0]))
            fits = q is not None and independent(parts, (classes - 1) * q)
            require(fits, "the inequalities of the refutation do not span all others")
            lines.append(f"they span all rows, of rank {q}: a plane with no row on the wrong side has all rows on it")
    return lines


def sides(content: dict[str, Any], exact: Rows, codes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield every row with the sign of each of its inequalities under the plane of a document."""
    W = [numbers([*w, c]) for w, c in zip(content["separator"]["w"], content["separator"]["b"], strict=True)]
    if len(content["classes"]) == 2:  # the first has the weights 0
        W.insert(0, [Fraction(0)] * len(W[0]))
    if not content["fit_intercept"]:
        require(not any(w.pop() for w in W), "the plane has an offset, and the proof is about planes through 0")
    for label, rival in itertools.permutations(range(len(W)), 2):
        which = [i for i, code in enumerate(codes) if code == label]
        yield from zip(which, signs(list(map(sub, W[label], W[rival])), (exact[i] for i in which)), strict=True)


def canceling(
    refutation: dict[str, Any], exact: Rows, codes: Sequence[int], classes: int
) -> tuple[list[Fraction], list[Exact]]:
    """Return the multipliers of a refutation and its inequalities, each of a row against a rival, which add up to 0."""
    which, multipliers = refutation["rows"], numbers(refutation["multipliers"])
    require(max(which) < len(exact), "a refutation names a row that does not exist")
    rivals = refutation.get("rivals", [1 - codes[i] for i in which])
    fits = all(codes[i] != rival < classes for i, rival in zip(which, rivals, strict=True))
    require(fits, "a refutation holds a row against its own class, or one that does not exist")
    chosen = [(exact[i], codes[i], rival) for i, rival in zip(which, rivals, strict=True)]
    parts = [(inequality(x, label, rival, classes), bottom) for (x, bottom), label, rival in chosen]
    require(not any(total(multipliers, parts)), "the rows of a refutation do not add up to zero")
    return multipliers, parts


def inequality(x: list[Any], label: int, rival: int, classes: int) -> list[Any]:
    """Return the left side of an inequality, as what multiplies the weights of classes 1, 2, ...: those of 0 are 0."""
    blocks = {label: x, rival: [-value for value in x]}
    return [value for c in range(1, classes) for value in blocks.get(c, [0] * len(x))]


# Part 5: bounds on the fewest errors of any plane.
#
# A row is wrong unless all its inequalities hold. A plane with the rows that it has wrong bounds the fewest errors
# from above (signs); from below a tree of cases does, in each of which *conditional refutations*, sums that are 0,
# leave enough rows wrong: if the rows N with negative multipliers are wrong, one of the others, P, is wrong, too.
# Rows that are equal are right or wrong together: a *group*, named by its first row.

DEEPEST = 1000  # splits above a case
HEAVIEST = 2**53  # all weights together are less
BUSIEST = 10**8  # cases times refutations common to all of them
PAIRS = [[partial(natural, most=math.inf)] * 2]  # numbers of refutations with their weights
ERRORS = {
    "lower": natural, "upper": natural, "sample_weight": (None, [natural]), "separator": PLANE, "wrong": [natural],
    "refutations": [{"rows": [natural], "multipliers": [number], "rivals?": [natural]}], "bits": natural,
    "common": PAIRS, "tree": [({"row": natural}, {"dead": natural}, {"packing": PAIRS})],
}  # fmt: skip


def form_of_errors(content: dict[str, Any]) -> None:
    """Refuse a document whose fields do not go together."""
    classes, nodes = len(content["classes"]), content["tree"]
    well(classes > 1, "it must name two classes")
    fits = content["lower"] <= content["upper"] and content["bits"] < 4096
    well(fits, "its lower bound is above the upper, or its bits are too many")
    well(sum(content["sample_weight"] or [0]) < HEAVIEST, "its weights add up to 2^53 or more")
    form_of_plane(content["separator"], classes, content["n_features"])
    for each in content["refutations"]:
        rivals = each.get("rivals", each["rows"])
        fits = 0 < len(each["rows"]) == len(each["multipliers"]) == len(rivals) and ("rivals" in each) == (classes > 2)
        well(fits, "a refutation must have rows and multipliers, and for more than two classes rivals")
    well(len(nodes) * (len(content["common"]) + 1) <= BUSIEST, "the tree has too many cases")
    depths = [0]  # of the cases that are still to come
    for each in nodes:
        well(depths and depths[-1] + ("row" in each) <= DEEPEST, "a tree goes too deep, or on after its last case")
        depth = depths.pop()
        depths += [depth + 1] * (2 * ("row" in each))
    well(not depths, "the tree ends too early")


def check_errors(content: dict[str, Any], rows: Rows, codes: Sequence[int]) -> list[str]:
    """Return what has been checked, line by line; raise Fails or Malformed if the claim is not proved."""
    exact = [([*x, bottom], bottom) for x, bottom in rows] if content["fit_intercept"] else rows
    wrong, classes = set(content["wrong"]), len(content["classes"])
    counted = [1] * len(rows) if content["sample_weight"] is None else content["sample_weight"]
    require(len(counted) == len(rows), "there are not as many weights as rows")
    first: dict[Any, int] = {}
    group = [first.setdefault((code, *x, q), i) for i, (code, (x, q)) in enumerate(zip(codes, rows, strict=True))]
    capacity = dict.fromkeys(group, 0)
    for g, weight in zip(group, counted, strict=True):
        capacity[g] += weight
    fits = len(wrong) == len(content["wrong"]) and max(wrong, default=0) < len(exact)
    require(fits, "a wrong row is listed twice or does not exist")
    for i, sign in sides(content, exact, codes):
        require(sign > 0 or i in wrong or not counted[i], f"row {i} is not strictly right, and not listed as wrong")
    require(sum(counted[i] for i in wrong) == content["upper"], "the wrong rows do not weigh upper")
    table = [conditional(each, exact, codes, group, classes) for each in content["refutations"]]
    cases = check_cases(content, table, group, capacity)
    return [
        f"{len(rows)} rows of {content['n_features']} features in {classes} classes",
        f"every row is strictly on its side of the plane given, but for {len(wrong)}",
        f"{len(table)} refutations add up to zero; in each of {cases} cases they leave no fewer errors",
    ]


def conditional(each: dict[str, Any], exact: Rows, codes: Sequence[int], group: Sequence[int], classes: int) -> Sides:
    """Return P and N, the groups with positive and with negative multipliers, of a refutation that cancels."""
    multipliers, _ = canceling(each, exact, codes, classes)
    fits = all(multipliers) and (classes == 2 or min(multipliers) > 0)
    require(fits, "a multiplier is 0, or negative with more than two classes")
    pairs = list(zip(each["rows"], multipliers, strict=True))
    P, N = (frozenset(group[i] for i, m in pairs if sign * m > 0) for sign in (1, -1))
    require(P and not P & N, "a refutation has no positive row, or a row of both signs")
    return P, N


def check_cases(content: dict[str, Any], table: list[Sides], group: Sequence[int], capacity: dict[int, int]) -> int:
    """Check every case of the tree, in which the groups K are held right and R wrong; return how many there are."""
    nodes, common, bits = content["tree"], content["common"], content["bits"]

    def named(k: int) -> Sides:
        require(k < len(table), "a case names a refutation that does not exist")
        return table[k]

    def usable(k: int) -> bool:  # it shows that a group outside K and R is wrong
        P, N = named(k)
        return N <= R and not P & R and not P <= K

    stack: list[Sides] = [(frozenset(), frozenset())]
    for each in nodes:
        K, R = stack.pop()
        if "row" in each:
            require(each["row"] < len(group), "the tree splits on a row that does not exist")
            g = group[each["row"]]
            require(g not in K | R, f"row {g} is split on twice")
            stack += [(K, R | {g}), (K | {g}, R)]  # the last one comes first
        elif "dead" in each:
            P, N = named(each["dead"])
            require(N <= R and P <= K, f"refutation {each['dead']} does not end a case")
        else:
            require(all(usable(k) for k, _ in each["packing"]), "a refutation may not be used in a case")
            load: dict[int, int] = {}
            reached = sum(capacity[g] for g in R) << bits
            for k, units in [(k, u) for k, u in common if usable(k)] + each["packing"]:
                reached += units
                for g in table[k][0] - K:
                    load[g] = load.get(g, 0) + units
            for g, units in load.items():
                require(units <= capacity[g] << bits, f"row {g} carries more than its copies")
            require(reached > (content["lower"] - 1) << bits, "a case is not shown to reach the lower bound")
    return sum("row" not in each for each in nodes)


# Part 6: separation in regression models.
#
# A family of models turns observations into *constraints* on a direction ``g`` of the coefficients, ``z·g >= 0`` or
# ``z·g = 0`` (equations): just the directions along which the likelihood never falls. Vectors have an entry for every
# coefficient; those outside ``columns`` are 0 in directions, and not summed up. A document claims four things:
#
# - Columns: ``independent`` constraints have the rank of ``columns``; on the vector of each other column all are 0.
# - Split: ``direction`` is in the cone, z·g >= 0 or = 0; ``separated`` are the constraints with z·g > 0.
# - Rest: others, with multipliers that are positive for inequalities, cancel and span all that are not separated.
# - Coefficients: *finite* is a sum of constraints that are not separated; *+inf*, *-inf* a sum with multipliers not
#   negative for inequalities, and ``direction`` has that sign; *undetermined* goes up and down in the cone.

FAMILIES = {  # what the response of each may be
    "binomial": (["label"], ["number"], ["number", "failures"]),
    "poisson": (["number"],), "negative-binomial": (["number"],), "multinomial": (["label"],), "ordinal": (["label"],),
    "conditional": (["number", "stratum"],), "cox": (["number", "event"], ["number", "event", "stratum"]),
}  # fmt: skip


FACTOR = {**COLUMN, "equals?": re.compile(".{0,4000}", re.S)}
READING_OF_MODEL = {**READING, "columns": [({"product": [FACTOR]}, FACTOR)], "others": [str]}
SUM = {"rows": [natural], "multipliers": [number]}  # of constraints
COEFFICIENT = (
    {"name": str, "status": {"finite", "+inf", "-inf"}, **SUM},
    {"name": str, "status": {"undetermined"}, "up": [number], "down": [number]},
    {"name": str, "status": {"aliased"}},
)
SEPARATION = {
    "family": set(FAMILIES), "response": [str], "alias": {"drop", "keep"}, "names": [str],
    "claim": {"complete", "quasi", "overlap"}, "columns": [natural], "independent": [natural], "direction": [number],
    "separated": [[natural, natural]], "rest": SUM,
    "aliased": [{"column": natural, "columns": [natural], "multipliers": [number]}],
    "coefficients": [COEFFICIENT], "data": {**DATA, "reading": (None, READING_OF_MODEL)},
}  # fmt: skip
MOST_EMPTY = 1000  # classes without rows
Found = list[tuple[Exact, bool]]  # constraints, and whether each is an equation
Answer = dict[str, Any]  # by role: "label" a class number, "stratum" a text, all others numbers


def form_of_separation(content: dict[str, Any]) -> None:
    """Refuse a document whose fields do not go together."""
    family, roles, classes = content["family"], content["response"], [*map(label_text, content["classes"])]
    known = [[*names, *more] for names in FAMILIES[family] for more in ([], ["weight"])]
    well(roles in known, f"this is not a response of the family {family}")
    fits = len(classes) == 2 or (len(classes) > 2 and family != "binomial") if roles[0] == "label" else not classes
    well(fits, "a response of labels has two classes or more, one of numbers none")
    well(not content["fit_intercept"] or family not in ("ordinal", "conditional", "cox"), f"{family} has no intercept")
    for column in (content["data"]["reading"] or {"columns": []})["columns"]:
        well(len(column.get("product", ())) <= 100, "a product has too many factors")
    well(len(content["names"]) == content["n_features"], "names must be texts, one for every feature")
    names = coefficient_names(family, content["names"], classes, content["fit_intercept"])
    well([each["name"] for each in content["coefficients"]] == names, "the coefficients are not named as in the model")


def coefficient_names(family: str, names: Sequence[str], classes: Sequence[str], offset: bool) -> list[str]:
    """Return the names of the coefficients, in order; ``classes`` are spelled."""
    wanted = ["Intercept", *names] if offset else list(names)
    if family == "multinomial":
        return [f"{label}:{name}" for label in classes[1:] for name in wanted]
    return [*(f"{low}|{high}" for low, high in itertools.pairwise(classes)), *wanted] if family == "ordinal" else wanted


def answers(content: dict[str, Any], labels: Sequence[Any]) -> list[Answer]:
    """Return the response of every row, by role."""
    roles = content["response"]
    columns = list(zip(*(label if isinstance(label, tuple) else (label,) for label in labels), strict=True))
    require(len(columns) == len(roles), f"the response has {len(columns)} columns, not {len(roles)}")
    empty = 0 if content["family"] == "binomial" else MOST_EMPTY
    result: list[Sequence[Any]] = []
    for role, column in zip(roles, columns, strict=True):
        if role in ("label", "stratum"):
            names = class_numbers(column, content["classes"], empty) if role == "label" else map(label_text, column)
            result.append(list(names))
            continue
        for value in column:
            fits = not isinstance(value, str) or CELL.fullmatch(value.strip())
            require(fits and math.isfinite(float(value)), f"{str(value)[:40]!r} is not a number, or out of range")
        result.append([float(value) for value in column])
    return [dict(zip(roles, values, strict=True)) for values in zip(*result, strict=True)]


def constraints(content: dict[str, Any], X: Rows, answers: Sequence[Answer]) -> Found:
    """Return the constraints of a model, and whether each is an equation; raise Fails where a family has none."""
    family, classes, offset = content["family"], len(content["classes"]), content["fit_intercept"]
    require(all(answer.get("weight", 0) >= 0 for answer in answers), "a weight is negative")
    counted = [i for i, answer in enumerate(answers) if answer.get("weight", 1) > 0]
    full = [(([q, *x], q) if offset else (x, q), answers[i]) for i in counted for x, q in [X[i]]]
    if family == "multinomial":  # x·(g_y - g_k) >= 0 for every other class k, with g = 0 for class 0
        rivals = [(x, answer["label"], k) for x, answer in full for k in range(classes) if k != answer["label"]]
        result = [((inequality(x, label, k, classes), q), False) for (x, q), label, k in rivals]
    elif family == "ordinal":
        result = []
        for (x, q), answer in full:  # t_y - x·g >= 0 and x·g - t_(y-1) >= 0, where there are such thresholds
            for k, sign in ((answer["label"], 1), (answer["label"] - 1, -1)):
                row = [*(sign * q * (j == k) for j in range(classes - 1)), *(-sign * value for value in x)]
                result += [((row, q), False)] * (0 <= k < classes - 1)
        width = len(result[0][0][0]) if result else 0  # t_k - t_(k-1) >= 0, whether or not class k has rows
        result += [
            (([(j == k) - (j == k - 1) for j in range(width)], 1), False) for k in range(1, classes - 1) if result
        ]
    elif family in ("conditional", "cox"):
        groups: dict[Any, list[int]] = {}
        for i in counted:
            groups.setdefault(answers[i].get("stratum"), []).append(i)
        both = [(X[i], X[j]) for members in groups.values() for i, j in compared(family, members, answers)]
        gaps = ([Fraction(a, q) - Fraction(b, p) for a, b in zip(x, z, strict=True)] for (x, q), (z, p) in both)
        result = [(whole(gap), False) for gap in gaps]
    else:
        result = one_each(family, full)
    require(result, "there is nothing to model")
    return result


def one_each(family: str, observed: list[tuple[Exact, Answer]]) -> Found:
    """Return x for all successes, -x for none, an equation for some of both; for counts above 0 an equation."""
    result, ups, downs, shares = [], 0, 0, family == "binomial"
    for (x, q), answer in observed:
        value = answer["label"] if "label" in answer else answer["number"]
        fits = value >= 0 and answer.get("failures", 0) >= 0 and (value <= 1 or not shares or "failures" in answer)
        require(fits, "there is no such response")
        if value == answer.get("failures") == 0:
            continue
        low, high = value == 0, answer["failures"] == 0 if "failures" in answer else value == 1
        ups, downs = ups + (high if shares else not low), downs + low
        high = high and shares
        result.append(((x if high else [-v for v in x], q), not (low or high)))
    require(len(result) not in (ups, downs) if shares else ups > 0, "the response is constant")
    return result


def compared(family: str, members: list[int], answers: Sequence[Answer]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of a stratum: chosen rows against others, or those within risk sets that all are sums of."""
    if family == "conditional":
        y = {i: answers[i]["number"] for i in members}
        require(set(y.values()) <= {0, 1} and 1 in y.values(), "a stratum has no row that was chosen")
        yield from ((i, j) for i in members if y[i] for j in members if not y[j])
        return
    require(all(answers[i]["event"] in (0, 1) for i in members), "an event is 1, or 0 if censored")
    waiting, later, by_time = list[int](), list[int](), dict[float, list[int]]()
    for i in members:
        by_time.setdefault(answers[i]["number"], []).append(i)
    for time in sorted(by_time, reverse=True):
        events = [i for i in by_time[time] if answers[i]["event"] == 1]
        waiting += [i for i in by_time[time] if answers[i]["event"] == 0]
        if events:  # the first against all that leave up to the next later event, and against the first one then
            yield from ((events[0], j) for j in (*waiting, *later))
            for other in events[1:]:
                yield from ((events[0], other), (other, events[0]))
            waiting, later = [], events[:1]


def check_separation(content: dict[str, Any], rows: Rows, answers: Sequence[Answer]) -> list[str]:
    """Return what has been checked, line by line; raise Fails or Malformed if a claim is not proved."""
    claims = Claims(content, constraints(content, rows, answers))
    claims.check_columns()
    claims.check_split()
    claims.check_rest()
    claims.check_coefficients()
    statuses = [each["status"] for each in content["coefficients"]]
    order = ("finite", "+inf", "-inf", "undetermined", "aliased")
    counts = ", ".join(f"{statuses.count(status)} {status}" for status in order if status in statuses)
    return [
        f"{len(claims.rows)} constraints on {claims.width} coefficients of rank {len(claims.columns)}",
        f"a direction separates {len(claims.separated)} of them and leaves the others at 0",
        f"{len(content['rest']['rows'])} of the others cancel with positive multipliers and span them",
        f"every coefficient has the status that the proof states: {counts}",
    ]


class Claims:
    """The constraints of a model, which of them are equations, and a document about them."""

    def __init__(self, content: dict[str, Any], rows: Found) -> None:
        self.content, self.columns = content, content["columns"]
        self.rows, self.equal = [row for row, _ in rows], [is_equal for _, is_equal in rows]
        self.width, self.direction = len(rows[0][0][0]), numbers(content["direction"])
        self.aliased: dict[int, list[Fraction]] = {}  # by column, a vector that all constraints are 0 on

    def inner(self, which: Sequence[int]) -> list[Exact]:
        """Return constraints that a document names, in the columns that are kept."""
        require(max(which, default=-1) < len(self.rows), "it names a constraint that does not exist")
        return [([self.rows[i][0][j] for j in self.columns], self.rows[i][1]) for i in which]

    def in_cone(self, g: list[Fraction]) -> list[int]:
        """Return the sign of every constraint on a vector that must be in the cone."""
        fits = len(g) == self.width and not any(g[j] for j in set(range(self.width)) - set(self.columns))
        require(fits, "a direction has numbers in columns that are not kept, or too few")
        sides = list(signs(g, self.rows))
        for i, (side, is_equal) in enumerate(zip(sides, self.equal, strict=True)):
            require(side == 0 or (side > 0 and not is_equal), f"constraint {i} does not hold on a direction")
        return sides

    def combined(self, evidence: dict[str, Any], least: int | None) -> list[Fraction]:
        """Return a sum in the columns kept; multipliers of inequalities above 0 (1), not below (0) or any (None)."""
        which, multipliers = evidence["rows"], numbers(evidence["multipliers"])
        require(len(which) == len(multipliers) == len(set(which)), "there are not as many multipliers as constraints")
        some = self.inner(which)
        for i, m in zip(which, multipliers, strict=True):
            fits = least is None or self.equal[i] or m > 0 or (m == 0 and least == 0)
            require(fits, f"the multiplier of constraint {i} has the wrong sign")
        return total(multipliers, some) or [Fraction(0)] * len(self.columns)

    def check_columns(self) -> None:
        """Step 1: some constraints are independent in the columns kept, all are 0 on a vector of each other column."""
        kept, chosen = set(self.columns), self.content["independent"]
        require(len(kept) == len(self.columns) and max(kept, default=-1) < self.width, "a column stands twice")
        require(len(chosen) == len(kept), "there are not as many independent constraints as columns")
        require(independent(self.inner(chosen), len(kept)), "some constraints are not independent")
        for each in self.content["aliased"]:
            j, columns, values = each["column"], each["columns"], numbers(each["multipliers"])
            fits = j < self.width and j not in kept | set(self.aliased) and set(columns) <= kept | {j}
            fits = fits and len(columns) == len(values) == len(set(columns))
            require(fits, "the proof of an aliased column is incomplete")
            parts = dict(zip(columns, values, strict=True))
            v = self.aliased[j] = [parts.get(j, Fraction(0)) for j in range(self.width)]
            require(v[j] and not any(signs(v, self.rows)), f"column {j} does not depend on the others")
        require(len(self.aliased) + len(kept) == self.width, "some column is neither kept nor aliased")
        require(len(self.content["coefficients"]) == self.width, "not every coefficient has a status")

    def check_split(self) -> None:
        """Step 2: the direction is in the cone, and separates what is claimed."""
        self.separated = {i for i, sign in enumerate(self.in_cone(self.direction)) if sign}
        last = -1
        for start, stop in self.content["separated"]:
            require(last < start <= stop < len(self.rows), "the stretches are not in order")
            last = stop
        claimed = {i for start, stop in self.content["separated"] for i in range(start, stop + 1)}
        require(claimed == self.separated, "the direction does not separate these constraints")
        kind = "overlap" if not claimed else "complete" if len(claimed) == len(self.rows) else "quasi"
        require(self.content["claim"] == kind, f"the claim is not {kind}")

    def check_rest(self) -> None:
        """Step 3: constraints that are not separated cancel with positive multipliers, and span all such."""
        which = self.content["rest"]["rows"]
        require(not any(self.combined(self.content["rest"], 1)), "the constraints of the rest do not cancel")
        require(self.separated.isdisjoint(which), "a constraint of the rest is separated")
        others = self.inner([i for i in range(len(self.rows)) if i not in self.separated])
        fits = spanned(self.inner(which), others, len(self.columns)) is not None
        require(fits, "the constraints of the rest do not span all that are not separated")

    def check_coefficients(self) -> None:
        """Step 4: the evidence of every coefficient."""
        keep = self.content["alias"] == "keep"
        for j, each in enumerate(self.content["coefficients"]):
            shared = j in self.aliased or (keep and any(v[j] for v in self.aliased.values()))
            require((each["status"] == "aliased") == shared, f"coefficient {j} is {'' if shared else 'not '}aliased")
            if each["status"] == "undetermined":
                up, down = numbers(each["up"]), numbers(each["down"])
                require(self.in_cone(up) and self.in_cone(down) and up[j] > 0 > down[j], f"{j} does not go both ways")
            if "rows" in each:
                sign = {"+inf": 1, "-inf": -1}.get(each["status"], 0)
                unit = [(sign or 1) * (column == j) for column in self.columns]
                total = self.combined(each, 0 if sign else None)
                require(total == unit, f"the constraints do not add up to coefficient {j}")
                require(sign == 0 or sign * self.direction[j] > 0, f"the direction leaves coefficient {j} at 0")
                require(sign or self.separated.isdisjoint(each["rows"]), f"coefficient {j} needs separated constraints")


# Part 7: the program.
KINDS: dict[str, tuple[Any, ...]] = {  # by kind: its own fields, whether all go together, the check
    **dict.fromkeys(("separable", "quasi", "overlap", "not-separable"), (VERDICT, form_of_verdict, check_verdict)),
    "fewest-errors": (ERRORS, form_of_errors, check_errors),
    "separation": (SEPARATION, form_of_separation, check_separation),
}


def load(text: str) -> dict[str, Any]:
    """Return the content of a document; raise Malformed if it is not a proof."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        well(len(pairs) == len(result := dict(pairs)), "a key stands twice in an object")
        return result

    def numeral(text: str, kind: type = int, most: int = 20) -> Any:  # none of the proof: those are texts
        well(len(text) <= most and math.isfinite(value := kind(text)), f"{text[:40]} is too long, or not a number")
        return value

    well(len(text) <= LARGEST, f"it is longer than {LARGEST} characters")
    try:
        real = partial(numeral, kind=float, most=40)
        hooks: dict[str, Any] = {"parse_int": numeral, "parse_float": real, "parse_constant": real}
        content: Any = json.loads(text, object_pairs_hook=unique, **hooks)
        sealed = type(content) is dict and content.get("digest") == digest_of(content)
    except RecursionError:
        raise Malformed("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise Malformed(f"it is not JSON: {error}") from None
    well(sealed, "it has no digest, or was altered: its digest does not fit its content")
    kind = str(content.get("kind"))
    well(kind in KINDS, f"the kind {kind[:40]!r} is not one that this program checks")
    fields, form_of_kind, _ = KINDS[kind]
    form(content, COMMON | fields)
    well(len(set(map(label_text, content["classes"]))) == len(content["classes"]), "two classes have the same name")
    well(content["data"]["n_features"] == content["n_features"], "its numbers of features differ")
    well(content["meaning"] == meaning_of(content), "its sentence does not match what it proves")
    form_of_kind(content)
    return dict(content)


def digest_of(content: dict[str, Any]) -> str:
    """Return the digest of a document: of all fields but itself, as JSON with sorted keys and without blanks."""
    rest = {name: value for name, value in content.items() if name != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def check(content: dict[str, Any], rows: Sequence[Exact], labels: Sequence[Any]) -> list[str]:
    """Return what has been checked, line by line; raise Fails or Malformed if the proof does not hold."""
    about, d = content["data"], content["n_features"]
    fits = about["n_rows"] == len(rows) and all(len(row) == d for row, _ in rows)
    require(fits, f"it was written for {about['n_rows']} rows of {d} features, these are {len(rows)}")
    model = content["kind"] == "separation"
    response: Sequence[Any] = answers(content, labels) if model else class_numbers(labels, content["classes"])
    what = "these are not the data it was written for: a value or label differs, or the order of the rows"
    require(about["sha256"] == fingerprint(rows, labels), what)
    return ["the fingerprint is that of these data", *KINDS[content["kind"]][-1](content, rows, response)]


def main(arguments: Sequence[str]) -> int:
    """Check a proof; print what was checked."""
    if len(arguments) < 2:
        print(__doc__.splitlines()[0])
        return 2
    try:
        with open(arguments[0], "rb") as file:
            content = load(file.read(LARGEST + 1).decode("utf-8"))
        lines = check(content, *table(content, arguments[1:]))
    except Fails as error:
        print(f"the proof does not hold: {error}")
        return 1
    except (OSError, EOFError, ValueError, csv.Error) as error:
        print(f"not usable: {error}", file=sys.stderr)
        return 2
    print(f"the proof holds: {content['kind']}, {content['meaning']}")
    print(*(f"- {line}" for line in lines), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
