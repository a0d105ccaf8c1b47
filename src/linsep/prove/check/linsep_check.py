"""Checks a linsep proof against a table without linsep: python linsep_check.py PROOF.json DATA.csv.

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
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from linsep.prove.check.plain import MEANING, NOTHING, VERDICT, Fails, Malformed, Row, check_verdict, form, natural
from linsep.prove.check.plain_fewest import ERRORS, check_errors, form_of_errors, meaning_of_errors
from linsep.prove.check.plain_regression import CLAIMS, MODELS, check_separation, form_of_separation

LARGEST = 1 << 26  # bytes of a document
GAPS = ("", "?", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None")
CELL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")


def texts_by_name(value: Any) -> None:
    """Refuse what is not an object of texts."""
    form(list(value.values()) if type(value) is dict else None, [str], "options")


def fingerprint_text(value: Any) -> None:
    """Refuse what is not a SHA-256 in hexadecimal."""
    if type(value) is not str or not re.fullmatch("[0-9a-f]{64}", value):
        raise Malformed("the fingerprint is not what it should be")


READING = {
    "columns": [dict], "target": str, "delimiter": str, "header": bool, "point": {".", ","}, "gaps": [str],
    "missing": {"error", "zero", "drop", "indicator"}, "encoding": str, "others?": [str],
}  # fmt: skip
COMMON = {
    "format": {"linsep proof 1", "linsep proof 2"}, "kind": str, "meaning": str, "fit_intercept": bool,
    "classes": [(str, bool, int, float)], "n_features": natural, "values": {"binary", "decimal"}, "digest": str,
    "data": {
        "n_rows": natural, "n_features": natural, "sha256": fingerprint_text, "reading": (NOTHING, READING),
        "files?": [str],
    },
    "made": {"by": str, "time": str, "options": texts_by_name, "note": (NOTHING, str)},
}  # fmt: skip
KINDS: dict[str, dict[str, Any]] = dict.fromkeys(MEANING, VERDICT)  # their own fields
KINDS |= {"fewest-errors": ERRORS, **MODELS}


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
    if type(found) is not dict or found.get("digest") != digest_of(found):
        raise Malformed("it has no digest, or was altered: its digest does not fit its content")
    content = renewed(found) if found.get("format") == "linsep proof 1" else found
    kind = content.get("kind")
    if type(kind) is not str or kind not in KINDS:
        raise Malformed(f"the kind {str(kind)[:40]!r} is not known")
    form(content, COMMON | KINDS[kind])
    spelled = [label_text(label) for label in content["classes"]]
    if len(set(spelled)) < len(spelled):
        raise Malformed("two classes have the same name")
    if content["data"]["n_features"] != content["n_features"]:
        raise Malformed("two numbers of features")
    if content["meaning"] != meaning_of(content):
        raise Malformed("its sentence is not what it proves")
    if kind in MODELS:
        form_of_separation(content, spelled)
    elif kind == "fewest-errors":
        form_of_errors(content)
    return content


def meaning_of(content: dict[str, Any]) -> str:
    """Return the sentence of a document."""
    if content["kind"] in MODELS:
        return CLAIMS[content["claim"]]
    if content["kind"] == "fewest-errors":
        return meaning_of_errors(content)
    return MEANING[content["kind"]].format("" if content["fit_intercept"] else " through the origin")


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
    content = {name: value for name, value in old.items() if name not in ("verdict", "bracket")}
    content |= {"kind": old.get("verdict"), "values": "binary"}
    content |= {"made": {"by": "", "time": "", "options": {}, "note": None}}
    if type(refutation := old.get("refutation")) is dict:
        content["refutation"] = {"multipliers" if name == "weights" else name: v for name, v in refutation.items()}
    if type(old.get("data")) is dict:
        content["data"] = {**old["data"], "reading": None}
    return content | ({"meaning": meaning_of(content)} if content["kind"] in [*MEANING] else {})


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
            words = role == "stratum" or role.startswith("factor")
            found.append([label_text(value) if words else response_number(value) for value in column])
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


COLUMN = {"column": str, "kind?": str, "level?": (NOTHING, str)}
FACTOR = {**COLUMN, "equals?": str}


def reading_of(content: dict[str, Any], first: list[str]) -> dict[str, Any]:
    """Return how the document says its table is to be read; if it does not, all but the last columns are numbers.

    ``first`` is the first line of the table. In a model, products of columns are columns, too.
    """
    how, model = content["data"]["reading"], content.get("kind") in MODELS
    parts = len(content["response"]) if model else 1
    if how is None:
        header = not any(CELL.fullmatch(cell.strip()) for cell in first)
        names = names_in(first, header)
        last = max(0, len(names) - parts)
        columns = [{"column": name} for name in names[:last]]
        how = {"columns": columns, "target": names[last], "others": names[last + 1 :], "header": header}
        return {**how, "missing": "error", "point": ".", "gaps": GAPS, "model": model}
    if any("hashed" in column for column in how["columns"]):
        raise Malformed("some columns of this proof are hashed: linsep verify can read them")
    for column in how["columns"]:
        form(column, FACTOR if model and "product" not in column else {"product": [FACTOR]} if model else COLUMN)
    if len(how.get("others", [])) + 1 != parts:
        raise Malformed("it does not say where the response is")
    return {"others": [], **how, "model": model}


def names_in(first: list[str], header: bool) -> list[str]:
    """Return the names of the columns of a table."""
    return [cell.strip() for cell in first] if header else [str(j) for j in range(len(first))]


def used_columns(columns: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of the columns that a reading uses."""
    return [each["column"] for column in columns for each in column.get("product", [column])]


def table(content: dict[str, Any], files: Sequence[Any]) -> tuple[list[Row], list[Any]]:
    """Return the rows of CSV files, given as paths or binary streams, and their labels as texts."""
    rows: list[Row] = []
    labels: list[Any] = []
    for file in files:
        lines = csv_lines(file, content["data"]["reading"])
        first = next(lines, None)
        if first is None:
            raise Malformed("a file is empty")
        how = reading_of(content, first)
        names, response = names_in(first, how["header"]), [how["target"], *how["others"]]
        for name in [*used_columns(how["columns"]), *response]:
            if name not in names:
                raise Fails(f"there is no column {name[:40]!r}")
        for line in lines if how["header"] else itertools.chain([first], lines):
            if len(line) != len(names):
                raise Malformed(f"a row has {len(line)} cells where {len(names)} are expected")
            cells = dict(zip(names, line, strict=True))
            row = row_of(cells, how, response, content["values"])
            if row is not None:
                rows.append(row)
                said = tuple(response_text(cells[name].strip(), how) for name in response)
                labels.append(said if len(said) > 1 else said[0])
    return rows, labels


def response_text(text: str, how: dict[str, Any]) -> str:
    """Return a cell of the response; a number of a model gets a decimal point whatever the file has."""
    number = text.replace(how["point"], ".")
    return number if how["model"] and CELL.fullmatch(number) else text


def csv_lines(file: Any, how: Any) -> Iterator[list[str]]:
    """Yield the cells of every line that is not empty."""
    delimiter, encoding = (how["delimiter"], how["encoding"]) if how else (",", "utf-8")
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


def row_of(cells: dict[str, str], how: dict[str, Any], response: list[str], values: str) -> Row | None:
    """Return a line as a row, None if it has gaps and such lines are left out."""
    needed = list(response)
    for column in how["columns"]:
        if how["model"] or ("level" not in column and how["missing"] in ("error", "drop")):
            needed += used_columns([column])
    if any(cells[name].strip() in how["gaps"] for name in needed):
        if how["missing"] != "drop":
            raise Malformed("a cell has no value")
        return None
    return [number_in(cells, column, how, values) for column in how["columns"]]


def number_in(cells: dict[str, str], column: dict[str, Any], how: dict[str, Any], values: str) -> Any:
    """Return the number of a column in a line; with binary values a product is that of doubles, from left to right."""
    if "product" in column:
        found: Any = 1
        for each in column["product"]:
            found = found * number_in(cells, each, how, values)
            if values != "decimal":
                if math.isinf(nearest(found)):
                    raise Malformed("a product is out of range")
                found = Fraction(nearest(found))
        return found
    cell = cells[column["column"]]
    absent = cell.strip() in how["gaps"]
    if "level" in column:
        word = cell.strip() if how["model"] else cell
        return int(column["level"] == (None if absent else word))
    if absent:
        return 0
    found = cell_value(cell.strip(), column.get("kind", "number"), how["point"], values)
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
        answers(content, labels) if content["kind"] in MODELS else class_numbers(labels, content["classes"])
    )
    if content["format"] == "linsep proof 1":
        steps = (max(1, (1 << 20) // max(1, d)), 4096)
        names = [first_fingerprint(rows, codes, step, long) for step in steps for long in (False, True)]
    else:
        names = [fingerprint(rows, labels)]
    if about["sha256"] not in names:
        raise Fails("these are not the data it was written for: a value or label differs, or the order of the rows")
    checks: dict[str, Any] = {"fewest-errors": check_errors, **dict.fromkeys(MODELS, check_separation)}
    lines = checks.get(content["kind"], check_verdict)(content, rows, codes)
    return ["the fingerprint is that of these data", *lines]


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
