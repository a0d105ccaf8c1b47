"""Check a proof of linsep against a table without linsep: python linsep_check.py PROOF.json DATA.csv.

Several files are one table. It needs Python 3.11 and nothing else, reads CSV text (also .gz), and follows
docs/proof-format.md step by step. The exit code is 0 if the proof holds, 1 if it does not hold for these data, 2 if the
document or the data cannot be used.
"""

from __future__ import annotations

import codecs
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
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from linsep.prove.check.plain import MEANING, Fails, Malformed, Row, check_verdict, part
from linsep.prove.check.plain_fewest import ERRORS_FIELDS, check_errors, meaning_of_errors
from linsep.prove.check.plain_regression import (
    SEPARATION_FIELDS,
    check_separation,
    coefficient_names,
    form_of_separation,
    meaning_of_separation,
)

LARGEST = 1 << 26  # bytes of a document
COMMON = {"format", "kind", "meaning", "fit_intercept", "classes", "n_features", "values", "data", "made", "digest"}
READING = {"columns", "target", "delimiter", "header", "missing", "point", "gaps", "encoding"}
GAPS = ("", "?", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None")
CELL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")


class Kind(NamedTuple):
    """A kind of proof: the fields of its own, its check (claim, rows, class numbers or answers), and what it means."""

    fields: set[str]
    check: Callable[[dict[str, Any], Sequence[Row], Sequence[Any]], list[str]]
    meaning: Callable[[dict[str, Any]], str]


def meaning_of_verdict(content: dict[str, Any]) -> str:
    """Return the sentence of a verdict."""
    return MEANING[content["kind"]].format("" if part(content, "fit_intercept", bool) else " through the origin")


KINDS = {kind: Kind({"separator", "refutation"}, check_verdict, meaning_of_verdict) for kind in MEANING}
KINDS["fewest-errors"] = Kind(ERRORS_FIELDS, check_errors, meaning_of_errors)
KINDS["separation"] = Kind(SEPARATION_FIELDS, check_separation, meaning_of_separation)


# ---------------------------------------------------------------------------------------------------------------
# The document


def load(text: str) -> dict[str, Any]:
    """Return the content of a document, in the words of format 2; raise Malformed if it is not a proof."""
    if len(text) > LARGEST:
        raise Malformed(f"it is longer than {LARGEST} characters")
    try:
        found: Any = json.loads(
            text, object_pairs_hook=unique, parse_int=short, parse_float=finite, parse_constant=finite
        )
    except RecursionError:
        raise Malformed("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise Malformed(f"it is not JSON: {error}") from None
    if not isinstance(found, dict) or found.get("format") not in ("linsep proof 1", "linsep proof 2"):
        raise Malformed('it does not say "format": "linsep proof 2"')
    content: dict[str, Any] = found
    if part(content, "digest", str) != digest_of(content):
        raise Malformed("it was altered: its digest does not fit its content")
    if content["format"] == "linsep proof 1":
        content = renewed(content)
    kind = KINDS.get(part(content, "kind", str))
    if kind is None:
        raise Malformed(f"the kind {content['kind'][:40]!r} is not known")
    if odd := set(content) ^ (COMMON | kind.fields):
        raise Malformed(f"a field is missing, or not one of a proof: {min(odd)[:40]!r}")
    part(content, "fit_intercept", bool)
    if part(content, "meaning", str) != kind.meaning(content):
        raise Malformed("its sentence is not what it proves")
    if part(content, "values", str) not in ("binary", "decimal"):
        raise Malformed("values must be 'binary' or 'decimal'")
    labels = part(content, "classes", list)
    if not all(type(label) in (str, bool, int, float) for label in labels):
        raise Malformed("classes must be texts or numbers")
    if len({label_text(label) for label in labels}) < len(labels):
        raise Malformed("two classes have the same name")
    about = part(content, "data", dict)
    if part(about, "n_features", int) != part(content, "n_features", int):
        raise Malformed("two numbers of features")
    part(about, "n_rows", int), part(about, "sha256", str), part(content, "made", dict)
    form_of_data(about, content["made"])
    if content["kind"] == "separation":
        form_of_separation(content)
        spelled = [label_text(label) for label in labels]
        own = coefficient_names(content["family"], content["names"], spelled, content["fit_intercept"])
        if [each["name"] for each in content["coefficients"]] != own:
            raise Malformed("the coefficients are not named as those of the model")
    return content


def form_of_data(about: dict[str, Any], made: dict[str, Any]) -> None:
    """Refuse a document that does not say in the right form what its data are, and who made it."""
    if set(about) - {"files"} != {"n_rows", "n_features", "sha256", "reading"} or not are_texts(about.get("files", [])):
        raise Malformed("data has not the fields that it must have")
    if not re.fullmatch("[0-9a-f]{64}", about["sha256"]) or not min(about["n_rows"], about["n_features"]) >= 0:
        raise Malformed("the numbers of the data, or their fingerprint, are not what they should be")
    how = about["reading"]
    if how is not None and (type(how) is not dict or set(how) - {"others"} != READING or not are_texts(how["gaps"])):
        raise Malformed("the reading of the data is not told in full")
    if set(made) != {"by", "time", "options", "note"} or not are_texts([made["by"], made["time"], made["note"] or ""]):
        raise Malformed("it does not say in the right form who made it")
    if not are_texts(list(part(made, "options", dict).values())) or made["note"] not in (None, made["note"] or ""):
        raise Malformed("options must be texts")


def are_texts(values: Any) -> bool:
    """Say whether something is a list of texts."""
    return type(values) is list and all(type(value) is str for value in values)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, in which no key stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Malformed("a key stands twice in an object")
    return found


def short(text: str) -> int:
    """Return a whole number of at most 20 digits."""
    if len(text) > 20:
        raise Malformed("a whole number is too long")
    return int(text)


def finite(text: str) -> float:
    """Return a float that is a number."""
    value = float(text) if len(text) <= 40 else math.nan
    if not math.isfinite(value):
        raise Malformed(f"{text[:40]} is not a number")
    return value


def digest_of(content: dict[str, Any]) -> str:
    """Return the digest of a document: of all fields but itself, as JSON with sorted keys and without blanks."""
    rest = {name: value for name, value in content.items() if name != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def renewed(old: dict[str, Any]) -> dict[str, Any]:
    """Return a document of format 1 in the words of format 2."""
    kind, through = part(old, "verdict", str), "" if old.get("fit_intercept") else " through the origin"
    refutation = old.get("refutation")
    if isinstance(refutation, dict):
        refutation = {{"weights": "multipliers"}.get(name, name): value for name, value in refutation.items()}
    content = {name: value for name, value in old.items() if name not in ("verdict", "bracket")}
    content |= {"kind": kind, "refutation": refutation, "values": "binary"}
    content |= {"made": {"by": "", "time": "", "options": {}, "note": None}}
    if isinstance(content.get("data"), dict):
        content["data"] = {**content["data"], "reading": None}
    return content | {"meaning": MEANING.get(kind, "").format(through)}


# ---------------------------------------------------------------------------------------------------------------
# The data


def label_text(label: Any) -> str:
    """Return the one spelling of a label: a text that reads as a number is that number, 1.0 is 1."""
    if isinstance(label, bool):
        return str(label)
    if isinstance(label, str):
        word = label.strip()
        if not CELL.fullmatch(word) or not abs(float(word)) < 2**53:
            return word
        label = float(word)
    return str(int(label)) if label == int(label) else repr(float(label))


def class_numbers(labels: Sequence[Any], classes: Sequence[Any]) -> list[int]:
    """Return the number of each label among the classes."""
    index = {label_text(label): code for code, label in enumerate(classes)}
    known: dict[Any, int] = {}
    for label in set(labels):
        if label_text(label) not in index:
            raise Fails(f"the label {str(label)[:40]!r} is not among the classes")
        known[label] = index[label_text(label)]
    return [known[label] for label in labels]


def answers(content: dict[str, Any], labels: Sequence[Any]) -> list[dict[str, Any]]:
    """Return what a model says of every row, by role: the number of a class, the name of a stratum, or a number."""
    roles = content["response"]
    columns = list(zip(*(label if isinstance(label, tuple) else (label,) for label in labels), strict=True))
    if len(columns) != len(roles):
        raise Fails(f"the response has {len(columns)} columns, not {len(roles)}")
    found: list[Sequence[Any]] = []
    for role, column in zip(roles, columns, strict=True):
        if role == "label":
            found.append(class_numbers(column, content["classes"]))
            if set(found[-1]) != set(range(len(content["classes"]))):
                raise Fails("some class has no row")
        else:
            found.append([label_text(value) if role == "stratum" else response_number(value) for value in column])
    return [dict(zip(roles, values, strict=True)) for values in zip(*found, strict=True)]


def response_number(value: Any) -> float:
    """Return a number of the response, as a double."""
    if isinstance(value, str) and not CELL.fullmatch(value.strip()):
        raise Fails(f"{value[:40]!r} is not a number")
    number = float(value)
    if not math.isfinite(number):
        raise Fails(f"{str(value)[:40]} is out of range")
    return number


def cell_value(text: str, kind: str, point: str, values: str) -> Fraction:
    """Return a cell of text as an exact number: the decimal that it shows, or the double that is nearest to it."""
    name, _, form = kind.partition(":")
    if name == "boolean" and text.lower() in ("true", "false"):
        return Fraction(text.lower() == "true")
    if name == "date":
        days = repr(seconds_since_1970(text, form) / 86400)
        return Fraction(days) if values == "decimal" else Fraction(float(days))
    text = (
        text.removesuffix("%").strip() if name == "percent" else text.replace(form, "") if name == "grouped" else text
    )
    text = text.replace(point, ".")
    if not CELL.fullmatch(text) or len(text) > 4000:
        raise Malformed(f"{text[:40]!r} is not a number")
    if values == "decimal":
        return Fraction(*Decimal(text).as_integer_ratio())
    if math.isinf(float(text)):
        raise Malformed(f"{text[:40]} is out of range")
    return Fraction(float(text))


def seconds_since_1970(text: str, form: str) -> float:
    """Return when a date is, or how long after midnight a time of the day."""
    try:
        if form == "iso":
            moment = datetime.fromisoformat(text)
        else:
            moment = datetime.strptime(text if "%d" in form else f"1 {text}", form if "%d" in form else f"%d {form}")
    except ValueError:
        raise Malformed(f"{text[:40]!r} is not a date") from None
    start = datetime(1970, 1, 1, tzinfo=moment.tzinfo and UTC)
    start = start if "%d" in form or form == "iso" else start.replace(year=1900)
    return (moment - start) / timedelta(seconds=1)


class Reading(NamedTuple):
    """How a table becomes rows: as the document says, or if it does not, every column but the last is a number."""

    columns: list[dict[str, Any]]  # "column": its name; "kind" of numbers; or "level": 1 where the cell is that word
    target: str  # or, with `others`, the first of several columns of the response
    delimiter: str = ","
    header: bool = True
    missing: str = "error"
    point: str = "."
    gaps: tuple[str, ...] = GAPS
    others: tuple[str, ...] = ()
    model: bool = False  # a gap in any column that is used is one, and products of columns are columns


def reading_of(content: dict[str, Any], first: list[str]) -> Reading:
    """Return how the document says its table is to be read; ``first`` is the first line of the table."""
    how = content["data"].get("reading")
    model = content.get("kind") == "separation"
    if how is None:
        header = not any(CELL.fullmatch(cell.strip()) for cell in first)
        names = [cell.strip() for cell in first] if header else [str(j) for j in range(len(first))]
        last = len(names) - (len(content["response"]) if model else 1)
        columns = [{"column": name} for name in names[: max(0, last)]]
        return Reading(columns, names[last], header=header, others=tuple(names[last + 1 :]), model=model)
    columns, missing, gaps = part(how, "columns", list), part(how, "missing", str), part(how, "gaps", list)
    for column in columns:
        form_of_column(column, model)
    others = part({"others": [], **how}, "others", list)
    parts = len(content["response"]) if model else 1
    if not all(isinstance(name, str) for name in others) or len(others) + 1 != parts:
        raise Malformed("it does not say where the response is")
    if missing not in ("error", "zero", "drop", "indicator") or not all(isinstance(gap, str) for gap in gaps):
        raise Malformed("it does not say what becomes of cells without a value")
    signs = (part(how, "delimiter", str), part(how, "header", bool), missing, part(how, "point", str))
    return Reading(columns, part(how, "target", str), *signs, tuple(gaps), tuple(others), model)


def form_of_column(column: Any, model: bool) -> None:
    """Refuse what is not a column of a reading."""
    if model and isinstance(column, dict) and set(column) == {"product"}:
        for each in part(column, "product", list):
            if isinstance(each, dict) and "product" in each:
                raise Malformed("a product of products")
            form_of_column(each, model)
        return
    if not isinstance(column, dict) or not set(column) <= {"column", "kind", "level", *(["equals"] if model else [])}:
        raise Malformed("some columns of this proof are hashed: linsep verify can read them")
    part(column, "column", str), part({"kind": "number", **column}, "kind", str)
    if "equals" in column:
        part(column, "equals", str)


def used_columns(columns: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of the columns that a reading uses."""
    flat = [each for column in columns for each in column.get("product", [column])]
    return [column["column"] for column in flat]


def table(content: dict[str, Any], files: Sequence[Any]) -> tuple[list[Row], list[Any]]:
    """Return the rows of CSV files, given as paths or binary streams, and their labels as texts."""
    rows: list[Row] = []
    labels: list[Any] = []
    for file in files:
        lines = csv_lines(file, content["data"].get("reading"))
        first = next(lines, None)
        if first is None:
            raise Malformed("a file is empty")
        reading = reading_of(content, first)
        names = [cell.strip() for cell in first] if reading.header else [str(j) for j in range(len(first))]
        place = {name: j for j, name in enumerate(names)}
        for name in [*used_columns(reading.columns), reading.target, *reading.others]:
            if name not in place:
                raise Fails(f"there is no column {name[:40]!r}")
        for cells in lines if reading.header else itertools.chain([first], lines):
            if len(cells) != len(names):
                raise Malformed(f"a row has {len(cells)} cells where {len(names)} are expected")
            row = row_of(cells, reading, place, content["values"])
            if row is not None:
                rows.append(row)
                said = tuple(response_text(cells[place[name]], reading) for name in (reading.target, *reading.others))
                labels.append(said if reading.others else said[0])
    return rows, labels


def response_text(cell: str, reading: Reading) -> str:
    """Return a cell of the response; a number of a model is written with a decimal point whatever the file has."""
    text = cell.strip()
    number = text.replace(reading.point, ".")
    return number if reading.model and CELL.fullmatch(number) else text


def csv_lines(file: Any, how: Any) -> Iterator[list[str]]:
    """Yield the cells of every line that is not empty."""
    delimiter, encoding = part(how, "delimiter", str) if how else ",", part(how, "encoding", str) if how else "utf-8"
    if len(delimiter) != 1:
        raise Malformed("a delimiter is one character")
    try:
        encoding = codecs.lookup(encoding).name
    except LookupError:
        raise Malformed(f"the encoding {encoding[:40]!r} is not known") from None
    csv.field_size_limit(1 << 20)
    with (
        gzip.open(file) if str(file).endswith(".gz") else open(file, "rb") if isinstance(file, str) else file as stream
    ):
        text = io.TextIOWrapper(stream, "utf-8-sig" if encoding == "utf-8" else encoding, newline="")
        yield from filter(None, csv.reader(text, delimiter=delimiter))


def row_of(cells: list[str], reading: Reading, place: dict[str, int], values: str) -> Row | None:
    """Return a line as a row, None if it has gaps and such lines are left out."""
    absent = {name for name, j in place.items() if cells[j].strip() in reading.gaps}
    gap = not absent.isdisjoint((reading.target, *reading.others))
    for column in reading.columns:
        if reading.model or ("level" not in column and reading.missing in ("error", "drop")):
            gap = gap or not absent.isdisjoint(used_columns([column]))
    if gap:
        if reading.missing != "drop":
            raise Malformed("a cell has no value")
        return None
    return [number_in(cells, column, reading, place, values) for column in reading.columns]


def number_in(cells: list[str], column: dict[str, Any], reading: Reading, place: dict[str, int], values: str) -> Any:
    """Return the number of a column in a line; with binary values a product is that of doubles, from left to right."""
    if "product" in column:
        found: Any = 1
        for each in column["product"]:
            found = found * number_in(cells, each, reading, place, values)
            if values != "decimal":
                found = nearest(found)
                if math.isinf(found):
                    raise Malformed("a product is out of range")
                found = Fraction(found)
        return found
    cell = cells[place[column["column"]]]
    absent = cell.strip() in reading.gaps
    if "level" in column:
        word = cell.strip() if reading.model else cell
        return int(column["level"] == (None if absent else word))
    if absent:
        return 0
    found = cell_value(cell.strip(), column.get("kind", "number"), reading.point, values)
    return int(found == cell_value(column["equals"], "number", ".", values)) if "equals" in column else found


def fingerprint(rows: Sequence[Row], labels: Sequence[Any]) -> str:
    """Return the name of a table: a hash of its labels and of its values wherever they are not zero."""
    names, counts, cells, rest = (hashlib.sha256() for _ in range(4))
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        for said in label if isinstance(label, tuple) else (label,):
            text = label_text(said).encode()
            names.update(struct.pack("<q", len(text)) + text)
        near = [nearest(value) if value else 0.0 for value in row]
        used = [j for j, value in enumerate(row) if value]
        counts.update(struct.pack("<q", len(used)))
        if 2 * len(used) > len(row):
            cells.update(struct.pack(f"<{len(row)}d", *near))
        else:
            cells.update(b"".join(struct.pack("<qd", j, near[j]) for j in used))
        for j in used:
            if not is_told_by(row[j], near[j]):
                rest.update(f"{i},{j},{row[j].numerator}/{row[j].denominator}\n".encode())
    return hashlib.sha256(b"".join(part.digest() for part in (names, counts, cells, rest))).hexdigest()


def is_told_by(value: Any, near: float) -> bool:
    """Say whether a number is a double, or the shortest decimal that reads back as it."""
    if math.isinf(near):
        return False
    ratio = value.as_integer_ratio()
    return bool(ratio == near.as_integer_ratio() or ratio == Decimal(repr(near)).as_integer_ratio())


def nearest(value: Any) -> float:
    """Return the double nearest to an exact number."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def first_fingerprint(rows: Sequence[Row], codes: Sequence[int], step: int, long: bool) -> str:
    """Return the hash of format 1, which took ``step`` rows together; ``long``: large whole numbers were integers."""
    found = hashlib.sha256(struct.pack(f"<{len(codes)}q", *codes))
    for start in range(0, len(rows), step):
        some = [(i, j, v) for i in range(start, min(len(rows), start + step)) for j, v in enumerate(rows[i]) if v]
        for column in (0, 1):
            found.update(struct.pack(f"<{len(some)}q", *(cell[column] for cell in some)))
        if long and any(abs(nearest(v)) >= 2**53 for _, _, v in some):
            found.update(repr([v.as_integer_ratio() for _, _, v in some]).encode())
        else:
            found.update(struct.pack(f"<{len(some)}d", *(nearest(v) for _, _, v in some)))
    return found.hexdigest()


# ---------------------------------------------------------------------------------------------------------------
# The check


def check(content: dict[str, Any], rows: Sequence[Row], labels: Sequence[Any]) -> list[str]:
    """Return what has been checked, line by line; raise Fails if the proof does not hold for these rows."""
    about, d = content["data"], content["n_features"]
    if about["n_rows"] != len(rows) or any(len(row) != d for row in rows):
        raise Fails(f"it was written for {about['n_rows']} rows of {d} features, these are {len(rows)}")
    codes: Sequence[Any] = (
        answers(content, labels) if content["kind"] == "separation" else class_numbers(labels, content["classes"])
    )
    if content["format"] == "linsep proof 1":
        steps = (max(1, (1 << 20) // max(1, d)), 4096)
        names = [first_fingerprint(rows, codes, step, long) for step in steps for long in (False, True)]
    else:
        names = [fingerprint(rows, labels)]
    if about["sha256"] not in names:
        raise Fails("these are not the data it was written for: a value or label differs, or the order of the rows")
    return ["the fingerprint is that of these data", *KINDS[content["kind"]].check(content, rows, codes)]


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
