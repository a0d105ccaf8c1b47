"""Detects how a delimited text is written, and what the columns of a table are for: row numbers, IDs, the label."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from linsep.data.cells import NumberFormat, decimal_sign, is_number, written_kind
from linsep.data.files import File
from linsep.data.schema import WORD
from linsep.errors import ParameterError, ReadError

# ---------------------------------------------------------------------------------------------------------------
# How a text is written


_HEAD = 1 << 18  # bytes that tell delimiter, header and a first guess of what the columns are
_LONGEST = 1 << 24  # bytes in which a header and a row must come to their end
_ROWS = 1000  # at most so many rows are looked at
WIDEST = 1 << 17  # columns, which are handled one by one
_DELIMITERS = ",\t;|"
_LONE = 5  # of so many words above and below, at most one may stand alone for the first to be a name
_LETTER = re.compile(r"[^\W\d_]")
_MARKUP = re.compile(rb"<(\?xml|!doctype html|html|table)[\s>]", re.IGNORECASE)
_JSON = re.compile(rb"\{\s*(\"|\}|$)|\[\s*([\[{\"]|$)")


class Line(NamedTuple):
    """A row of text with the number of its first line."""

    number: int
    cells: list[str]


class Form(NamedTuple):
    """How a delimited text is written."""

    delimiter: str
    number_format: NumberFormat  # with the sign before fractions
    header: bool
    names: list[str]
    body: list[Line]  # the first rows below the header
    counted: bool = False  # whether the header was recognized although numbers are in it
    doubtful: bool = False  # whether the first row may be a header although it is read as data


def form_of(file: File, delimiter: str | None, header: bool | None, number_format: NumberFormat) -> Form:
    """Find out by the first rows of a text how it is written, as far as nobody has said so."""
    text, whole = head(file)
    delimiter = delimiter or sniff(text, file.name)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ParameterError("delimiter", delimiter, "one character")
    rows = parse_first_rows(text, delimiter, whole)
    if not rows:
        raise ReadError(file.name, "is empty")
    first = rows[0].cells
    if len(first) > WIDEST:
        raise ReadError(
            file.name, f"has {len(first):,} columns; a CSV file may have {WIDEST:,}: use another format, such as NPY"
        )
    point = number_format.point
    if number_format.decimal is None and ("," in text if delimiter != "," else '"' in text):
        point = decimal_sign(columns_of(rows[1:], range(len(first)), number_format.missing), delimiter)
    number_format = number_format._replace(decimal=point)
    mixed = mixes_names(rows, number_format) if header is None else False
    counted = header is None and (bool(mixed) or counts_columns(rows, number_format.missing, point))
    named = header if header is not None else counted or is_header(rows, number_format.missing, point)
    names = [cell.strip() for cell in first] if named else [str(j) for j in range(len(first))]
    repeated = [column for column, count in Counter(names).items() if count > 1]
    if repeated:
        raise ReadError(f"{file.name}:1", f"two columns are named {repeated[0]!r}")
    return Form(delimiter, number_format, named, names, rows[named:], counted, mixed is None and not counted)


def is_encoding(encoding: str | None) -> bool:
    """Say whether an encoding is known, or none is named."""
    with suppress(LookupError, UnicodeError):
        "".encode(encoding or "utf-8")  # not every codec is one of texts
        return codecs.getincrementaldecoder(encoding or "utf-8") is not None
    return False


def encoding_name(encoding: str) -> str:
    """Return one name for all spellings of an encoding; ASCII is UTF-8."""
    name = codecs.lookup(encoding).name
    return {"iso8859-1": "latin-1", "utf-8-sig": "utf-8", "ascii": "utf-8"}.get(name, name)


def preamble(file: File) -> int:
    """Return how many lines before a table begin with #; the last is a header if it has as many cells as the next."""
    lines = file.head(1 << 16).removeprefix(codecs.BOM_UTF8).split(b"\n")
    count = next((number for number, line in enumerate(lines) if not line.startswith(b"#")), 0)
    if count and any(
        lines[count - 1].count(sign.encode()) == lines[count].count(sign.encode()) > 0 for sign in _DELIMITERS
    ):
        count -= 1
    return count


def columns_of(rows: list[Line], places: Iterable[int], missing: Sequence[str]) -> list[list[str]]:
    """Return the cells of some columns, those that mark a missing value left out."""
    left_out = frozenset(missing)
    return [
        [row.cells[j] for row in rows if j < len(row.cells) and row.cells[j].strip() not in left_out] for j in places
    ]


def refuse_other_formats(name: str, data: bytes) -> None:
    """Refuse a file that begins as one of a known format does that linsep does not read, by the name of the format."""
    other = _other_format(data)
    if other is not None:
        message, pandas = other
        remedy = (
            f"convert it to CSV or Parquet first, for example with pandas.{pandas}" if pandas else "unpack it first"
        )
        raise ReadError(name, f"is {message}, not CSV or another format that linsep reads: {remedy}")


def _other_format(data: bytes) -> tuple[str, str] | None:
    """Return the format that a file begins as, and what reads it; None for all others."""
    if data.startswith(b"PK\x03\x04"):
        if b"[Content_Types].xml" in data[:4096] or b"xl/" in data[:4096]:
            return "Excel", "read_excel"
        return None if b".npy" in data[:4096] else ("a zip archive", "")
    if data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return "Excel", "read_excel"
    if data.startswith(b"SQLite format 3\x00"):
        return "SQLite", "read_sql"
    if data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a pickle", "read_pickle"
    text = data.removeprefix(codecs.BOM_UTF8).lstrip()
    if _MARKUP.match(text):
        return ("XML", "read_xml") if text.startswith(b"<?xml") else ("HTML", "read_html")
    if not text.startswith((b"{", b"[")):
        return None
    lines = [line for line in text.split(b"\n") if line.strip()]
    if all(map(_is_json, lines[:2])):
        one = len(lines) == 1
        return ("JSON", "read_json") if one else ("JSON Lines", "read_json(..., lines=True)")
    return ("JSON", "read_json") if _JSON.match(text) else None


def is_json_lines(data: bytes) -> bool:
    """Say whether a text begins as JSON Lines do: an object on each of the first lines."""
    lines = [line for line in data.removeprefix(codecs.BOM_UTF8).split(b"\n") if line.strip()]
    whole = lines[:-1]  # the last one may be torn
    return bool(whole) and all(line.lstrip().startswith(b"{") and _is_json(line) for line in whole[:2])


def numbered_lines(text: bytes, line: int) -> list[int]:
    """Return the numbers of the lines that are not empty; the first one has this number."""
    return [number for number, each in enumerate(text.split(b"\n"), line) if each.strip()]


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return False


def head(file: File) -> tuple[str, bool]:
    """Return the first text of a file, and whether it is all of it."""
    size = _HEAD
    data = file.head(size)
    refuse_other_formats(file.name, data)
    while len(data) == size < _LONGEST and data.count(b"\n") < 2:  # not even a header and a row
        size *= 8
        data = file.head(size)
    whole = len(data) < size
    if b"\x00" in data:
        raise ReadError(file.name, "is neither text nor a file of a known format")
    if not whole and b"\n" not in data:
        raise ReadError(f"{file.name}:1", f"the line has more than {size:,} bytes; is this a text file?")
    data = data.removeprefix(codecs.BOM_UTF8)
    for number, line in enumerate(data.split(b"\n"), 1):
        if len(line) > WIDEST and max(line.count(sign.encode()) for sign in _DELIMITERS) >= WIDEST:
            message = f"the line has more than {WIDEST:,} columns, the most for CSV: use another format, such as NPY"
            raise ReadError(f"{file.name}:{number}", message)
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(data, final=whole), whole
    except UnicodeDecodeError as bad:
        raise not_utf8(file.name, 1 + data[: bad.start].count(b"\n")) from None


def not_utf8(name: str, line: int) -> ReadError:
    """Return the error that a text is in another encoding than was thought."""
    message = "the text is not UTF-8: give its encoding, such as {0}"
    return ReadError(f"{name}:{line}", message, ("encoding", "latin-1"))


def parse_first_rows(text: str, delimiter: str, whole: bool, most: int | None = _ROWS) -> list[Line]:
    """Return the cells of the first rows; the last row of a text that is not whole may be torn."""
    csv.field_size_limit(1 << 28)
    try:
        rows = list(islice(numbered(text, 1, delimiter), most))
    except csv.Error:  # something that only the real parser can judge
        lines = enumerate(text.splitlines()[:most], 1)
        rows = [Line(number, line.split(delimiter)) for number, line in lines if line]
    return rows if whole or len(rows) < 2 else rows[:-1]


def more_rows(file: File, delimiter: str, header: bool) -> list[Line]:
    """Return the cells of all rows in the first text of a file."""
    text, whole = head(file)
    rows = parse_first_rows(text, delimiter, whole, most=None)
    return rows[1:] if header else rows


def numbered(text: str, line: int, delimiter: str) -> Iterator[Line]:
    """Yield the rows of a text, whose first line has this number."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    before = 0
    for cells in reader:
        if cells:
            yield Line(line + before, cells)
        before = reader.line_num


def sniff(text: str, name: str) -> str:
    """Return the delimiter: the one that cuts the first lines into equally many cells, and the most.

    A comma inside of numbers cuts cells as well as a semicolon between them; where both cut evenly, and a comma is in
    every cell that the semicolon makes a number of, the semicolon is the delimiter.
    """
    lines = [line for line in text.splitlines()[:20] if line.strip()]
    if name.removesuffix(".gz").removesuffix(".zst").endswith((".tsv", ".tab")):
        return "\t"
    best, most = ",", 1
    for delimiter in _DELIMITERS + " ":
        counts = {len(row.cells) for row in parse_first_rows("\n".join(lines), delimiter, True)}
        if len(counts) == 1 and max(counts) > most:
            best, most = delimiter, max(counts)
    if best == "," and most > 1:
        best = next((sign for sign in ";\t|" if _decimal_commas(lines, sign)), best)
    if most == 1 and lines:  # ragged rows, perhaps: what the first line has most of
        best = max(_DELIMITERS, key=lines[0].count)
    return best


def _decimal_commas(lines: list[str], delimiter: str) -> bool:
    """Say whether a delimiter cuts lines evenly, and leaves numbers with decimal commas between."""
    rows = [row.cells for row in parse_first_rows("\n".join(lines), delimiter, True)]
    if len({len(cells) for cells in rows}) != 1 or len(rows[0]) < 2:
        return False
    with_comma = [cell for cells in rows[1:] or rows for cell in cells if "," in cell]
    return bool(with_comma) and all(is_number(cell, ",") for cell in with_comma)


def is_header(rows: Sequence[Line], missing: Sequence[str], point: str) -> bool:
    """Say whether the first row names the columns.

    It does if none of its cells is a number, and either they all differ or some column has numbers below.
    """
    first, rest = rows[0].cells, [row.cells for row in rows[1:]]
    if any(is_number(cell, point) for cell in first):
        return False
    if len(set(first)) == len(first):
        return True
    return any(
        all(is_number(cells[j], point) or cells[j] in missing for cells in rest if j < len(cells)) and bool(rest)
        for j in range(len(first))
    )


def counts_columns(rows: list[Line], missing: Sequence[str], point: str) -> bool:
    """Say whether the first row numbers the columns 0, 1, 2, ..., perhaps with words among them, as pandas does.

    Its words occur nowhere below in their columns. A row of numbers alone may be data: below, the last column repeats
    its values, as labels do, and the number above is none of them.
    """
    first, rest = [cell.strip() for cell in rows[0].cells], [row.cells for row in rows[1:]]
    numbers = [cell for cell in first if is_number(cell, point)]
    if not numbers or numbers != [str(j) for j in range(len(numbers))] or len(set(first)) < len(first) or not rest:
        return False
    below = columns_of(rows[1:], range(len(first)), missing)
    below = [[cell.strip() for cell in column] for column in below]
    if len(numbers) == len(first):
        distinct = set(below[-1])
        return len(first) > 2 and first[-1] not in distinct and len(distinct) < len(below[-1])
    words = [j for j, cell in enumerate(first) if cell not in numbers and cell not in missing]
    indexed = first[0] == "" and len(numbers) == len(first) - 1 and len(below[0]) == len(rest)
    return indexed or (bool(words) and all(first[j] not in set(below[j]) for j in words))


def mixes_names(rows: list[Line], number_format: NumberFormat) -> bool | None:
    """Say whether the first row names the columns although some of its cells are numbers, such as years; None: perhaps.

    All its cells differ. A word stands above numbers alone; or no word occurs below in its column, and one stands above
    words most of which repeat, as labels do: a row of data would seldom hold the only one of its kind.
    """
    first, point, missing = [cell.strip() for cell in rows[0].cells], number_format.point, number_format.missing
    if len(set(first)) < len(first) or not any(is_number(cell, point) for cell in first):
        return False
    words = [j for j, cell in enumerate(first) if _LETTER.search(cell) and cell not in missing]
    words = [j for j in words if written_kind([first[j]], number_format) == WORD]
    below = {
        j: Counter(map(str.strip, cells)) for j, cells in zip(words, columns_of(rows[1:], words, missing), strict=True)
    }
    if any(counts and all(is_number(cell, point) for cell in counts) for counts in below.values()):
        return True
    labels = [counts for counts in below.values() if len(counts) < counts.total()]
    if not labels or any(first[j] in counts for j, counts in below.items()):
        return False
    lone = [_LONE * (1 + list(counts.values()).count(1)) > 1 + counts.total() for counts in labels if len(counts) > 1]
    return None if all(lone) else True


def quoted(cell: str) -> str:
    """Return a cell in quotes, not too long."""
    return repr(cell if len(cell) <= 40 else cell[:40] + "...")


# ---------------------------------------------------------------------------------------------------------------
# What columns are for


_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")  # of a name: patient_id, PassengerId
_IDS = frozenset(("id", "uid", "uuid", "guid"))
_KEYS = _IDS | {"key", "pk"}
_INDEXES = frozenset((
    "index", "idx", "row", "row index", "row number", "row num", "row nr", "row no", "rownum", "row name", "row names",
    "rowname", "rownames", "index level 0", "level 0",
))  # fmt: skip
_JOINED = re.compile(
    r"(row|rec|record|case|obs|sample|subject|patient|person|user|member|client|cust|customer|emp|employee|student|player|"
    r"item|product|prod|order|object|device|session|account|unique)id"
)
_WHOLE = re.compile(r"\s*\"?[+-]?[0-9]+(\.0*)?\"?\s*")
_ENOUGH = 10  # cells before words that all differ are taken for ids
_MOST = 50  # distinct whole numbers that may be labels
_FEW = 20  # distinct values of a column that could be meant as the label


def numbers_rows(name: str, cells: Sequence[Any], *, index: bool = False) -> bool:
    """Say whether a column only numbers the rows: its name, or who wrote it, says so, and its integers differ."""
    if not (index or names_rows(name)) or len(cells) < 2 or not all(_WHOLE.fullmatch(str(cell)) for cell in cells):
        return False
    distinct = len({int(str(cell).strip().strip('"').partition(".")[0]) for cell in cells})
    return distinct == len(cells) or (len(cells) >= _ENOUGH and 10 * distinct >= 9 * len(cells))


def names_rows(name: str) -> bool:
    """Say whether a name is that of an index, an ID or a key, or of a column that has none."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return name.strip() in ("", "#")
    unnamed = words[0] == "unnamed" and all(map(str.isdigit, words[1:]))
    joined = len(words) == 1 and _JOINED.fullmatch(words[0]) is not None
    return unnamed or joined or " ".join(words) in _INDEXES or words[0] in _IDS or words[-1] in _KEYS


def index_columns(metadata: Mapping[bytes, bytes] | None) -> set[str]:
    """Return the names of the columns of a Parquet or Arrow file that were the index of a pandas frame."""
    try:
        columns = json.loads((metadata or {}).get(b"pandas", b"{}"))["index_columns"]
        return {name for name in columns if isinstance(name, str)}
    except (ValueError, KeyError, TypeError, RecursionError):
        return set()


def is_id(cells: Sequence[Any]) -> bool:
    """Say whether almost every cell holds another word."""
    return len(cells) >= _ENOUGH and 10 * len(set(cells)) >= 9 * len(cells)


_TOKEN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_SENTENCE = 4  # words that half of the texts have at least


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case: letters and digits, and apostrophes between them."""
    return _TOKEN.findall(text.lower())


def is_text(cells: Sequence[str]) -> bool:
    """Say whether a column holds sentences: almost all cells differ, have several words, and most are in lower case."""
    if not is_id(cells):
        return False
    texts = [_TOKEN.findall(cell) for cell in cells]
    lengths = sorted(map(len, texts))
    small = sum(word[0].islower() for words in texts for word in words)
    return lengths[len(lengths) // 2] >= _SENTENCE and 2 * small >= sum(lengths)


def measurement(values: Sequence[Any]) -> str | None:
    """Say why a column of numbers, or of dates as they are written, looks like a measurement, None if it does not."""
    if values and isinstance(values[0], str):
        distinct = len(set(values))
        many = distinct > _MOST and 10 * distinct > len(values)
        return f"it holds {distinct} different dates in {len(values)} rows" if many else None
    numbers = [float(value) for value in values]
    distinct = len(set(numbers))
    broken = [number for number in numbers if not number.is_integer()]
    if broken:
        return f"it holds numbers with fractions, such as {broken[0]:g}"
    if distinct > _MOST and 10 * distinct > len(numbers):
        return f"it holds {distinct} different numbers in {len(numbers)} rows"
    return None


def too_many_classes(values: Sequence[Any]) -> str | None:
    """Say that a column has many distinct values, and few rows of each, as labels seldom do; None if it has not."""
    distinct = len(set(values))
    if distinct <= _FEW or 5 * distinct <= len(values):
        return None
    return f"{distinct} classes in {len(values)} rows"


def could_be_labels(columns: Iterable[tuple[str, Sequence[Any]]]) -> list[str]:
    """Return the names of the columns that have few distinct values, those with the fewest first."""
    counts = {}
    for name, cells in columns:
        distinct = len(set(cells))
        if 2 <= distinct <= min(_FEW, max(2, len(cells) // 2)):
            counts[name] = distinct
    return sorted(counts, key=counts.__getitem__)
