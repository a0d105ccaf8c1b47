"""Turns the bodies of requests into examples: JSON, NDJSON, CSV, LIBSVM text and Arrow streams.

Whatever is wrong is a `DataError` with the position and the reason. Nothing of a body is evaluated.
"""

from __future__ import annotations

import io
import json
import re
from typing import Any, NamedTuple

import numpy as np

from linsep.data.example_log import LARGEST, Columns, ExampleTable, LogRows
from linsep.data.labels import label as read_label
from linsep.data.libsvm import parse_libsvm
from linsep.data.text_parsers import LineError
from linsep.errors import DataError

LONGEST = 1024  # characters of a label, a name, a word, an id
JSON, NDJSON, CSV, LIBSVM = "application/json", "application/x-ndjson", "text/csv", "text/x-libsvm"
ARROW = "application/vnd.apache.arrow.stream"
_SAME = {
    "application/ndjson": NDJSON, "application/jsonl": NDJSON, "application/x-jsonlines": NDJSON,
    "text/libsvm": LIBSVM, "application/x-libsvm": LIBSVM, "application/csv": CSV, "text/json": JSON,
}  # fmt: skip


class Refused(DataError):  # noqa: N818 - what the client reads
    """A request that is not done: why, where in it, and with which HTTP status."""

    def __init__(self, message: str, at: str = "", status: int = 400) -> None:
        super().__init__(at, message)
        self.status = status


class Limits(NamedTuple):
    """What a request may have."""

    body: int = 64 << 20  # bytes
    features: int = 1 << 22  # columns of the model
    words: int = 1 << 20  # columns that have names
    classes: int = 1000
    batch: int = 100_000  # examples of a request


class ParsedBody(NamedTuple):
    """The examples of a request."""

    x: list[Any] | ExampleTable | LogRows  # lists and dicts, or None for a row that was kept; or rows under positions
    y: list[Any] | None
    ids: list[str | None] | None

    def __len__(self) -> int:
        x = self.x
        return x.rows if isinstance(x, LogRows) else len(x.X if isinstance(x, ExampleTable) else x)

    def listed(self) -> list[Any]:
        """Return the rows as lists, or as dicts where they have names."""
        x = self.x
        if isinstance(x, list):
            return x
        if isinstance(x, LogRows):
            width = int(x.indices.max(initial=0)) + 1 if x.indices is not None else 0
            return [row.tolist() for row in x.matrix(width).toarray()]
        rows: list[Any] = x.X.tolist()
        return rows if x.names is None else [dict(zip(x.names, row, strict=True)) for row in rows]


def parse_body(
    body: bytes, kind: str, options: dict[str, str], limits: Limits, columns: Columns, *, labeled: bool
) -> ParsedBody:
    """Return the examples in a body of this media type; ``options`` are parameters of the type and of the query."""
    kind = _SAME.get(kind, kind)
    if kind == JSON:
        parsed = _examples(_json(body, None), labeled)
    elif kind == NDJSON:
        lines = [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]
        parsed = _examples([_json(line, f"line {number}") for number, line in lines], labeled)
    elif kind == CSV:
        parsed = _csv(body, options, columns, labeled)
    elif kind == LIBSVM:
        parsed = _libsvm(body, limits, labeled)
    elif kind == ARROW:
        parsed = _arrow(body, options, limits, labeled)
    else:
        types = ", ".join((JSON, NDJSON, CSV, LIBSVM, ARROW))
        raise Refused(f"the content type {kind[:100]!r} is not among {types}", "Content-Type", 415)
    if len(parsed) > limits.batch:
        raise Refused(f"{len(parsed)} examples in one request, more than {limits.batch}", status=413)
    if len(parsed) == 0:
        raise DataError("", "no examples")
    return parsed


# ---------------------------------------------------------------------------------------------------------------
# JSON


def _refuse(constant: str) -> None:
    raise DataError("", f"{constant} is not a number of JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _json(text: bytes, at: str | None) -> Any:
    try:
        return _DECODER.decode(text.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise DataError(where if at is None else f"{at}, column {error.colno}", f"not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        reason = error.what if isinstance(error, DataError) else f"not JSON: {str(error)[:200] or 'nested too deeply'}"
        raise DataError(at or "", reason) from None


def _examples(content: Any, labeled: bool) -> ParsedBody:
    examples = content if isinstance(content, list) else [content]
    xs: list[Any] = []
    ys: list[Any] = []
    ids: list[str | None] = []
    for number, each in enumerate(examples, 1):
        if not isinstance(each, dict):
            raise DataError(f"example {number}", "an example is an object with x, y and perhaps id")
        unknown = each.keys() - _FIELDS
        if unknown:
            raise DataError(f"example {number}", f"unknown field {min(unknown)[:40]!r}: an example has x, y and id")
        name = each.get("id")
        if name is not None:
            _check_id(name, number)
        x = each.get("x")
        if x is None and not (labeled and name is not None):
            raise DataError(f"example {number}", "no x")
        if type(x) is list:
            if not x or not _NUMBERS.issuperset(map(type, x)) or max(x) > LARGEST or min(x) < -LARGEST:
                _check_list(x, number)
        elif x is not None:
            _check_dict(x, number)
        xs.append(x)
        ids.append(name)
        if labeled:
            y = each.get("y")
            ys.append(y if type(y) is str and 0 < len(y) <= LONGEST else check_label(y, f"example {number}"))
    return ParsedBody(xs, ys if labeled else None, ids if any(name is not None for name in ids) else None)


_FIELDS = frozenset(("x", "y", "id"))
_NUMBERS = frozenset((int, float))


def _check_id(name: Any, number: int) -> None:
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST or _lone(name):
        raise DataError(f"example {number}, id", f"an id is a text of 1 to {LONGEST} characters")


def _check_list(x: list[Any], number: int) -> None:
    if not x:
        raise DataError(f"example {number}, x", "a row without numbers")
    for j, value in enumerate(x):
        if type(value) not in (int, float, bool):
            raise DataError(f"example {number}, x[{j}]", f"{_shown(value)} is not a number")
        if not abs(value) <= LARGEST:
            raise DataError(f"example {number}, x[{j}]", "a number that is too large")


def _check_dict(x: Any, number: int) -> None:
    if not isinstance(x, dict):
        raise DataError(f"example {number}, x", "x is a list of numbers, or an object of numbers and words")
    for name, value in x.items():
        if not 0 < len(name) <= LONGEST or _lone(name):
            raise DataError(f"example {number}, x", f"a name has 1 to {LONGEST} characters")
        if type(value) is str:
            if not 0 < len(value) <= LONGEST or _lone(value):
                raise DataError(f"example {number}, x.{name[:40]}", f"a word has 1 to {LONGEST} characters")
        elif type(value) not in (int, float, bool):
            raise DataError(f"example {number}, x.{name[:40]}", f"{_shown(value)} is neither a number nor a word")
        elif not abs(value) <= LARGEST:
            raise DataError(f"example {number}, x.{name[:40]}", "a number that is not finite, or too large")


def _lone(text: str) -> bool:
    """Say whether a text has half a surrogate pair, which no UTF-8 holds."""
    return not text.isascii() and re.search("[\ud800-\udfff]", text) is not None


def _shown(value: Any) -> str:
    return "a missing value (null)" if value is None else json.dumps(value, default=str)[:40]


def check_label(y: Any, at: str) -> Any:
    """Return a label as the learner has it; refuse what is none."""
    if y is None:
        raise DataError(at or "", "no label y")
    if type(y) is bool:
        return y
    if type(y) is str:
        if not 0 < len(y) <= LONGEST or _lone(y):
            raise DataError(f"{at}, y", f"a label has 1 to {LONGEST} characters")
        return y
    if type(y) not in (int, float) or not abs(y) < 2**53:
        raise DataError(f"{at}, y", "a label is a text, a whole number of at most 53 bits, true or false")
    if y != int(y):
        raise DataError(f"{at}, y", f"the label {y} has a fraction: it looks like a measurement")
    return int(y)


# ---------------------------------------------------------------------------------------------------------------
# Text and tables


def _libsvm(body: bytes, limits: Limits, labeled: bool) -> ParsedBody:
    try:
        X, y, _, _, missing, *_ = parse_libsvm(body, base=1, labels=labeled, max_features=limits.features)
    except LineError as error:
        line = body.count(b"\n", 0, error.offset) + 1
        raise DataError(f"line {line}", str(error)) from None
    except DataError as error:
        raise DataError("", str(error)) from None
    if missing or (len(X.data) and not np.abs(X.data).max() <= LARGEST):
        bad = int(np.searchsorted(X.indptr, np.argmin(np.abs(X.data) <= LARGEST), "right"))
        raise DataError(f"example {bad}", "a number that is missing, or too large")
    labels = None
    if y is not None:
        labels = y.tolist()
        if not (y.dtype.kind == "i" and len(y) and np.abs(y).max() < 2**53):
            labels = [check_label(each, f"example {number}") for number, each in enumerate(labels, 1)]
    indices, indptr = (part.astype(np.int32, copy=False) for part in (X.indices, X.indptr))
    return ParsedBody(LogRows(X.data.astype(np.float64, copy=False), indices, indptr), labels, None)


def _csv(body: bytes, options: dict[str, str], columns: Columns, labeled: bool) -> ParsedBody:
    import pyarrow as pa
    from pyarrow import csv

    target = options.get("target", "y")
    types = {target: pa.string(), "id": pa.string()}
    for name, column in list(columns.names.items()):
        types.setdefault(name, pa.string() if isinstance(column, dict) else pa.float64())
    try:
        convert = csv.ConvertOptions(column_types=types, true_values=[], false_values=[])
        read = csv.ReadOptions(use_threads=False)
        table = csv.read_csv(io.BytesIO(body), read_options=read, convert_options=convert)
    except (pa.ArrowException, ValueError) as error:
        row = re.search(r"Row #(\d+)", str(error))
        raise DataError(f"line {row[1]}" if row else "", f"not CSV: {str(error).splitlines()[0][:200]}") from None
    return _from_table(table, target, labeled)


def _arrow(body: bytes, options: dict[str, str], limits: Limits, labeled: bool) -> ParsedBody:
    import pyarrow as pa

    try:
        with pa.ipc.open_stream(body) as stream:
            parts = []
            for batch in stream:
                batch.validate(full=True)
                parts.append(batch)
                if sum(part.nbytes for part in parts) > 4 * limits.body:
                    raise Refused("the stream is too large", status=413)
            table = pa.Table.from_batches(parts, stream.schema)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("", f"not an Arrow stream: {(str(error) or 'empty').splitlines()[0][:200]}") from None
    return _from_table(table, options.get("target", "y"), labeled)


def _from_table(table: Any, target: str, labeled: bool) -> ParsedBody:
    """Return the examples of a table of Arrow: numbers and words, the labels in the target column, ids in ``id``."""
    import pyarrow as pa

    try:
        names = table.column_names
    except UnicodeDecodeError:
        raise DataError("", "a column whose name is not UTF-8") from None
    if len(set(names)) < len(names):
        raise DataError("", "two columns have the same name")
    if labeled and target not in names:
        raise DataError("", f"no column is named {target[:40]!r}: the query parameter target names the labels")
    y = ids = None
    if labeled:
        labels = [read_label(each) if type(each) is str and each else each for each in _values(table.column(target))]
        y = [check_label(each, f"example {number}") for number, each in enumerate(labels, 1)]
    if "id" in names and target != "id":
        ids = [each if each is None else str(each) for each in _values(table.column("id"))]
        for number, each in enumerate(ids, 1):
            if each is not None:
                _check_id(each, number)
    features = [name for name in names if name not in (target, "id")]
    if not features:
        raise DataError("", "no columns of numbers or words")
    table = table.select(features)
    if all(pa.types.is_floating(kind) or pa.types.is_integer(kind) for kind in table.schema.types):
        X = np.column_stack([column.to_numpy() for column in table.columns]).astype(np.float64, order="C")
        if (np.abs(X) <= LARGEST).all():  # else the cells are looked at one by one
            return ParsedBody(ExampleTable(tuple(features), X), y, ids)
    rows = [dict(zip(features, cells, strict=True)) for cells in zip(*map(_values, table.columns), strict=True)]
    for number, row in enumerate(rows, 1):
        _check_dict(row, number)
    return ParsedBody(rows, y, ids)


def _values(column: Any) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist()
    except (UnicodeDecodeError, ValueError, OverflowError) as error:
        raise DataError("", f"a column that cannot be read: {str(error)[:100]}") from None
    return values
