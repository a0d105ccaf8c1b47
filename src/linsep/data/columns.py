"""Columns of a table become rows of numbers: as they are, hashed one-hot, or as a hashed bag of words; and scaling.

The hash of ``column=value`` is fixed for ever, so that a model finds its features again on any machine: FNV-1a over the
UTF-8 bytes in 64 bits (Fowler, Noll & Vo, 1991), then the finisher of MurmurHash3 (Appleby, 2011), of which the lowest
``hash_bits`` bits are the number of the feature. There are no signs: a value stands for 1.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numba import njit

from linsep.problem import Array, Floats

compiled = njit(cache=True, nogil=True, error_model="numpy")  # strict order of sums: blocks must not show in them

NUMBER, CATEGORY, TEXT = "number", "category", "text"

_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}( .*)?|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?")


class CellError(ValueError):
    """Something wrong in a cell: ``str()`` says what; ``row`` counts from 0, ``column`` is its name or number."""

    def __init__(self, row: int, column: str, what: str) -> None:
        super().__init__(what)
        self.row, self.column = row, column


class ColumnError(ValueError):
    """A column that is not there, or cannot be used."""


def find(wanted: str | int, names: Sequence[str]) -> int:
    """Return the place of a column that is asked for by name or by number, from 0 or, below 0, from the end."""
    if isinstance(wanted, str) and wanted in names:
        return list(names).index(wanted)
    try:
        place = int(wanted)
    except ValueError:
        near = difflib.get_close_matches(str(wanted), names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {listed(names)}"
        raise ColumnError(f"no column is named {wanted!r}; {hint}") from None
    if not -len(names) <= place < len(names):
        raise ColumnError(f"no column has the number {place}; there are {len(names)}, counted from 0")
    return place % len(names)


def listed(names: Sequence[str]) -> str:
    """Return names in quotes, not too many of them."""
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


@dataclass(frozen=True)
class Layout:
    """The columns of a table that are features, in order, and what becomes of each.

    Numbers come first and keep their order; whatever is hashed shares ``2 ** hash_bits`` features after them.

    Parameters
    ----------
    columns : tuple of (name, kind)
        ``kind`` is ``"number"``, ``"category"`` or ``"text"``.
    hash_bits : int
        How many features there are for what is hashed, as a power of two.
    named : bool
        Whether the names are the user's own; otherwise they are numbers, from 0.
    target : str or None
        The name of the column with the labels.

    Examples
    --------
    >>> from linsep.data.columns import Layout
    >>> Layout((("age", "number"), ("town", "category")), hash_bits=4).width
    17
    """

    columns: tuple[tuple[str, str], ...]
    hash_bits: int = 18
    named: bool = True
    target: str | None = None

    @property
    def numbers(self) -> list[str]:
        """Names of the columns that are numbers."""
        return [name for name, kind in self.columns if kind == NUMBER]

    @property
    def width(self) -> int:
        """How many features a row has."""
        hashed = len(self.numbers) < len(self.columns)
        return len(self.numbers) + (1 << self.hash_bits if hashed else 0)


def hash_name(name: str) -> int:
    """Return the 64-bit hash of ``column=value``.

    Examples
    --------
    >>> from linsep.data.columns import hash_name
    >>> hex(hash_name("town=Ulm"))
    '0x8e3621a1493a6f7b'
    """
    return int(_hash(np.frombuffer(name.encode(), dtype=np.uint8)))


_START = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)


@compiled
def _absorb(state, data, first, stop):
    """Continue FNV-1a over some bytes."""
    for i in range(first, stop):
        state = (state ^ np.uint64(data[i])) * _PRIME
    return state


@compiled
def _finish(state):
    """Mix the bits so that any of them can be used."""
    state = (state ^ (state >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    state = (state ^ (state >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return state ^ (state >> np.uint64(33))


@compiled
def _hash(data):
    """Hash some bytes."""
    return _finish(_absorb(_START, data, 0, len(data)))


@compiled
def _hash_values(prefix, data, offsets, mask):
    """Hash ``column=value`` for every value; ``prefix`` is the bytes of ``column=``."""
    start = _absorb(_START, prefix, 0, len(prefix))
    found = np.empty(len(offsets) - 1, dtype=np.int32)
    for i in range(len(found)):
        found[i] = _finish(_absorb(start, data, offsets[i], offsets[i + 1])) & mask
    return found


@compiled
def _blank(data, p, stop):
    """Return how many bytes at ``p`` lie between words: 0 inside a word."""
    c = data[p]
    if c < 128:
        return 0 if 48 <= c <= 57 or 97 <= c <= 122 or 65 <= c <= 90 or c == 95 or c == 39 else 1
    if c == 0xC2 and p + 1 < stop and data[p + 1] not in (0xAA, 0xB5, 0xBA):
        return 2  # signs of Latin-1, but for its three odd letters
    if p + 2 < stop and ((c == 0xE2 and data[p + 1] <= 0x81) or (c == 0xE3 and data[p + 1] == 0x80)):
        return 3  # dashes, quotes, ideographic punctuation
    return 0


@compiled
def _hash_words(prefix, data, offsets, mask):
    """Hash ``column=word`` for every word of every text; return where each text's words begin, and the features."""
    start = _absorb(_START, prefix, 0, len(prefix))
    indptr = np.zeros(len(offsets), dtype=np.int32)
    found = np.empty((offsets[-1] - offsets[0]) // 2 + len(offsets), dtype=np.int32)  # a word and a blank: two bytes
    count = 0
    for i in range(len(offsets) - 1):
        p, stop = offsets[i], offsets[i + 1]
        while p < stop:
            blank = _blank(data, p, stop)
            if blank:
                p += blank
                continue
            state = start
            while p < stop and _blank(data, p, stop) == 0:
                state = (state ^ np.uint64(data[p])) * _PRIME
                p += 1
            found[count] = _finish(state) & mask
            count += 1
        indptr[i + 1] = count
    return indptr, found[:count]


def _strings(column: pa.Array) -> tuple[Array, Array]:
    """Return the bytes of a column of strings and where each begins and ends; a missing one is empty."""
    column = column.cast(pa.large_string()).fill_null("")
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64, count=len(column) + 1, offset=8 * column.offset)
    letters = np.empty(0, np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    return letters, bounds


def rows(table: pa.Table, layout: Layout, missing: str, seen: dict[int, set[str]] | None) -> tuple[Any, Array | None]:
    """Return the rows of a table as the layout has it, and which ones are kept, None for all of them.

    Parameters
    ----------
    table : pyarrow.Table or pyarrow.RecordBatch
        At least the columns of the layout; others are not looked at.
    layout : Layout
        What becomes of them.
    missing : {"error", "zero", "drop"}
        What becomes of a cell without a value.
    seen : dict or None
        Where to record the names that were hashed to each feature.
    """
    n = table.num_rows
    dropped = np.zeros(n, dtype=bool)
    X = _numbers(table, layout, missing, dropped)
    if len(layout.numbers) < len(layout.columns):
        X = _hashed(table, layout, X, missing, dropped, seen)
    kept = None if not dropped.any() else ~dropped
    return (X if kept is None else X[kept]), kept


def _numbers(table: pa.Table, layout: Layout, missing: str, dropped: Array) -> Array:
    """Return the columns that are numbers side by side, in a dtype that holds them all."""
    part = table.select(layout.numbers)
    if len(part.schema) and set(part.schema.types) in ({pa.float64()}, {pa.float32()}):  # the usual case, and quick
        batches = part.combine_chunks().to_batches() if isinstance(part, pa.Table) else [part]
        if batches:
            X = batches[0].to_tensor(null_to_nan=True, row_major=True).to_numpy()
            return _finite(X, layout.numbers, missing, dropped)
    columns = [_whole(column) for column in part.columns]
    kinds = [
        np.dtype(column.type.to_pandas_dtype()) if _is_plain(column.type) else np.dtype(float) for column in columns
    ]
    kind = np.result_type(*kinds) if kinds else np.dtype(float)
    X = np.empty((table.num_rows, len(columns)), dtype=kind)
    for j, (column, name) in enumerate(zip(columns, layout.numbers, strict=True)):
        if not _is_plain(column.type):
            column = column.cast(pa.float64())
        if column.null_count:
            absent = column.is_null().to_numpy(zero_copy_only=False)
            _absent(absent, name, missing, dropped)
            column = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
        X[:, j] = column.to_numpy(zero_copy_only=False)
    return _finite(X, layout.numbers, missing, dropped)


def _finite(X: Array, names: list[str], missing: str, dropped: Array) -> Array:
    """Deal with NaN, which counts as missing, and refuse infinity."""
    if X.dtype.kind != "f" or np.isfinite(X).all():
        return X
    X = X.copy()
    for j, name in enumerate(names):
        absent = np.isnan(X[:, j])
        if absent.any():
            _absent(absent, name, missing, dropped)
            X[absent, j] = 0
    bad = np.argwhere(np.isinf(X))
    if len(bad):
        raise CellError(int(bad[0, 0]), names[bad[0, 1]], "an infinite number")
    return X


def _is_plain(kind: pa.DataType) -> bool:
    """Say whether NumPy has the same type of number."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _whole(column: Any) -> pa.Array:
    """Return a column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _absent(absent: Array, name: str, missing: str, dropped: Array) -> None:
    """Do with missing cells of a column as the user wants it."""
    if missing == "error":
        raise CellError(int(np.argmax(absent)), name, "a missing value (missing='zero' or missing='drop' allows it)")
    if missing == "drop":
        dropped |= absent


def _hashed(
    table: pa.Table, layout: Layout, numbers: Array, missing: str, dropped: Array, seen: dict[int, set[str]] | None
) -> sp.csr_array:
    """Put hashed columns beside those that are numbers."""
    n, first = numbers.shape
    mask = (1 << layout.hash_bits) - 1
    shape = (n, layout.width)
    categories = [name for name, kind in layout.columns if kind == CATEGORY]
    indices = np.empty((n, first + len(categories)), dtype=np.int32)
    values = np.ones(indices.shape)
    indices[:, :first] = np.arange(first)
    values[:, :first] = numbers
    for j, name in enumerate(categories, first):
        letters, bounds = _strings(_whole(table.column(name)))
        prefix = np.frombuffer(f"{name}=".encode(), dtype=np.uint8)
        indices[:, j] = _hash_values(prefix, letters, bounds, np.uint64(mask)) + first
        absent = bounds[1:] == bounds[:-1]
        if absent.any():
            _absent(absent, name, missing, dropped)
            values[absent, j] = 0.0
        if seen is not None:
            for word in pc.unique(table.column(name).cast(pa.string())).to_pylist():
                if word:
                    seen.setdefault((hash_name(f"{name}={word}") & mask) + first, set()).add(f"{name}={word}")
    indptr = (
        np.arange(0, indices.size + 1, indices.shape[1], dtype=np.int32) if indices.size else np.zeros(n + 1, np.int32)
    )
    X = sp.csr_array((values.ravel(), indices.ravel(), indptr), shape=shape)
    X.sum_duplicates()
    X.eliminate_zeros()
    for name in (name for name, kind in layout.columns if kind == TEXT):
        column = pc.utf8_lower(_whole(table.column(name)).cast(pa.large_string()))
        letters, bounds = _strings(column)
        prefix = np.frombuffer(f"{name}=".encode(), dtype=np.uint8)
        indptr, found = _hash_words(prefix, letters, bounds, np.uint64(mask))
        words = sp.csr_array((np.ones(len(found)), found + first, indptr), shape=shape)
        words.sum_duplicates()
        X = X + words
        if seen is not None:
            _record(letters, bounds, name, mask, first, seen)
    return X


def _record(letters: Array, bounds: Array, name: str, mask: int, first: int, seen: dict[int, set[str]]) -> None:
    """Record the words of texts, found as the compiled code finds them."""
    text = bytes(letters[bounds[0] : bounds[-1]])
    ends = set((bounds - bounds[0]).tolist())
    view = np.frombuffer(text, dtype=np.uint8)
    start = p = 0
    while p <= len(text):
        blank = 1 if p == len(text) else _blank(view, p, len(text))
        if (blank or p in ends) and p > start:
            word = f"{name}={text[start:p].decode('utf-8', 'replace')}"
            seen.setdefault((hash_name(word) & mask) + first, set()).add(word)
            start = p
        p += blank or 1
        if blank:
            start = p


def labels(column: Any, name: str, missing: str) -> tuple[Array, Array | None]:
    """Return the labels in a column of a table as they are, and which rows are kept, None for all of them."""
    column = _whole(column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if not (_is_plain(column.type) or pa.types.is_null(column.type)):
        column = column.cast(pa.string())
    absent = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    if absent.any():
        if missing != "drop":
            raise CellError(int(np.argmax(absent)), name, "a missing label")
        column = column.filter(~absent)
    y = column.to_numpy(zero_copy_only=False)
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise CellError(int(np.flatnonzero(~absent)[np.argmax(np.isinf(y))]), name, "an infinite label")
    return y, ~absent if absent.any() else None


def kind_of(name: str, kind: pa.DataType, *, category: bool, text: bool) -> str:
    """Return what becomes of a column of a typed table."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_string = pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"
    if text:
        if not is_string:
            raise ColumnError(f"column {name!r} cannot be a text: its type is {kind}")
        return TEXT
    if is_string or category:
        return CATEGORY
    if _is_plain(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return NUMBER
    if pa.types.is_temporal(kind):
        raise dates(name, str(kind))
    raise ColumnError(f"column {name!r} has type {kind}, which is neither a number nor a string")


def dates(name: str, example: str) -> ColumnError:
    """Say that dates are no features."""
    return ColumnError(
        f"column {name!r} holds dates or times ({example}): turn them into numbers, or leave it out (ignore={name!r})"
    )


def is_date(cell: str) -> bool:
    """Say whether a cell looks like a date or a time."""
    return _DATE.fullmatch(cell.strip()) is not None


# ---------------------------------------------------------------------------------------------------------------
# Scaling


class Sums(NamedTuple):
    """Sums of rows, feature by feature."""

    total: Floats  # (d,)
    counts: Floats  # (d,) how many values there are; those of sparse rows that are not stored do not count
    rows: int
    sparse: bool

    def mean(self) -> Floats:
        """Return the mean of every feature."""
        return self.total / max(1, self.rows)

    def plus(self, other: Sums) -> Sums:
        """Return the sums of these rows and others."""
        d = max(len(self.total), len(other.total))
        total, counts = (
            _widened(a, d) + _widened(b, d) for a, b in ((self.total, other.total), (self.counts, other.counts))
        )
        return Sums(total, counts, self.rows + other.rows, self.sparse or other.sparse)


def column_sums(source: Iterable[Any]) -> Sums:
    """Return the sums of all rows of a source, added in the order of the rows."""
    total, counts, n, sparse = np.zeros(0), np.zeros(0), 0, False
    for X, *_ in source:
        sparse = sp.issparse(X)
        total, counts = _widened(total, X.shape[1]), _widened(counts, X.shape[1])
        _add(*_parts(X), total, counts)
        n += X.shape[0]
    return Sums(total, counts, n, sparse)


def column_squares(source: Iterable[Any], mean: Floats) -> Floats:
    """Return the sums of squared distances from a mean, those of values that are not stored left out."""
    squares = np.zeros(len(mean))
    for X, *_ in source:
        _add_squares(*_parts(X), mean, squares)
    return squares


def largest_norm(source: Iterable[Any]) -> float:
    """Return the largest norm of a row of a source."""
    return max((float(_largest_norm(*_parts(block[0])[::2])) for block in source), default=0.0)


@dataclass(frozen=True)
class Scaler:
    """Scaling of features, and its undoing in what was learnt: ``x -> (x - shift) / scale``.

    Sums run in the order of the rows, so that they have the same bits however the rows come in blocks.

    Parameters
    ----------
    kind : {"none", "unit", "standard"}
        ``unit`` divides everything by the radius R, the largest norm of a row. ``standard`` gives each feature mean 0
        and deviation 1; sparse rows keep their mean, since taking it off would make them dense. A feature that never
        changes is not scaled.
    shift, scale : ndarray of shape (d,)
        ``scale`` has shape (1,) for ``unit``.

    Examples
    --------
    >>> import numpy as np
    >>> from linsep.data.columns import Scaler
    >>> X = np.array([[1.0, 10.0], [3.0, 10.0]])
    >>> scaler = Scaler.fit([(X, None, 0)], "standard")
    >>> scaler.apply(X).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    >>> w, b = scaler.undo(np.array([2.0, 0.0]), 1.0)  # the same plane, for rows as they were
    >>> w.tolist(), b
    ([2.0, 0.0], -3.0)
    """

    kind: str
    shift: Floats
    scale: Floats

    @classmethod
    def fit(cls, source: Iterable[Any], kind: str = "standard") -> Scaler:
        """Find out how to scale the rows of a source, in one pass for ``unit`` and two for ``standard``."""
        if kind == "none":
            return cls(kind, np.zeros(0), np.ones(0))
        if kind == "unit":
            return cls.of_radius(largest_norm(source))
        if kind != "standard":
            raise ValueError(f"scale must be 'none', 'unit' or 'standard', got {kind!r}")
        sums = column_sums(source)
        return cls.of_sums(sums, column_squares(source, sums.mean()))

    @classmethod
    def of_radius(cls, radius: float) -> Scaler:
        """Return the scaling to norms of at most 1."""
        return cls("unit", np.zeros(0), np.array([_usable(radius) or 1.0]))

    @classmethod
    def of_sums(cls, sums: Sums, squares: Floats) -> Scaler:
        """Return the standard scaling of rows with these sums, and squared distances from their mean."""
        n, mean = sums.rows, sums.mean()
        squares = _widened(squares, len(mean))
        with np.errstate(over="ignore", invalid="ignore"):
            variance = (squares + (n - sums.counts) * mean**2) / max(1, n)
        _usable(float(np.max(variance, initial=0.0)))
        # what rounding alone makes of a feature that never changes
        constant = variance <= n * 2**-52 * variance + (n * 2**-52 * mean) ** 2
        return cls("standard", np.zeros(0) if sums.sparse else mean, np.where(constant, 1.0, np.sqrt(variance)))

    def apply(self, X: Any) -> Any:
        """Return scaled rows, float64; rows wider than those seen keep what is beyond as it is."""
        if self.kind == "none":
            return X
        d = X.shape[1]
        scale = np.broadcast_to(self.scale, d) if self.kind == "unit" else _widened(self.scale, d, 1.0)[:d]
        if sp.issparse(X):
            return sp.csr_array((X.data / scale[X.indices], X.indices, X.indptr), shape=X.shape)
        return (X - _widened(self.shift, d)[:d]) / scale

    def undo(self, w: Any, b: Any) -> tuple[Any, Any]:
        """Return the plane for rows as they were; ``w`` may hold several, one in each row, with as many in ``b``."""
        if self.kind == "none":
            return w, b
        d = w.shape[-1]
        scale = self.scale if self.kind == "unit" else _widened(self.scale, d, 1.0)[:d]
        w = w @ sp.diags_array(1 / np.broadcast_to(scale, d)) if sp.issparse(w) else w / scale
        shift = w @ _widened(self.shift, d)[:d]
        return w, b - (float(shift) if w.ndim == 1 else shift)


def _parts(X: Any) -> tuple[Array, Array, Array]:
    """Return rows as values, indices and pointers; dense ones have two dimensions and no indices."""
    if sp.issparse(X):
        return X.data[None], X.indices, X.indptr
    return X, np.empty(0, np.int32), np.empty(0, np.int32)


def _widened(values: Floats, width: int, fill: float = 0.0) -> Floats:
    """Return values for at least ``width`` features."""
    return np.append(values, np.full(width - len(values), fill)) if width > len(values) else values


def _usable(size: float) -> float:
    """Refuse to scale by what is not finite."""
    if math.isfinite(size):
        return size
    raise ValueError("the values are too large to be scaled")


@compiled
def _largest_norm(data, indptr):
    """Return the largest norm of a row; squares that overflow or vanish are taken of scaled values."""
    dense = len(indptr) == 0
    largest = 0.0
    for i in range(len(data) if dense else len(indptr) - 1):
        row = data[i] if dense else data[0, indptr[i] : indptr[i + 1]]
        s = 0.0
        for x in row:
            s += np.float64(x) * x
        if not 1e-280 < s < 1e300:
            m = 0.0
            for x in row:
                m = max(m, abs(np.float64(x)))
            s = 0.0
            for x in row:
                s += (x / m) ** 2 if m > 0 else 0.0
            largest = max(largest, m * math.sqrt(s))
        else:
            largest = max(largest, math.sqrt(s))
    return largest


@compiled
def _add(data, indices, indptr, total, counts):
    """Add up each feature, and count its values."""
    if len(indptr) == 0:
        for i in range(data.shape[0]):
            for j in range(data.shape[1]):
                total[j] += data[i, j]
                counts[j] += 1
    else:
        for p in range(indptr[0], indptr[-1]):
            total[indices[p]] += data[0, p]
            counts[indices[p]] += 1


@compiled
def _add_squares(data, indices, indptr, mean, total):
    """Add up the squared distances from the mean, those of values that are not stored left out."""
    if len(indptr) == 0:
        for i in range(data.shape[0]):
            for j in range(data.shape[1]):
                total[j] += (data[i, j] - mean[j]) ** 2
    else:
        for p in range(indptr[0], indptr[-1]):
            total[indices[p]] += (data[0, p] - mean[indices[p]]) ** 2
