"""Takes the numbers of a table exactly as given: keeps what doubles would round in another form, or refuses it.

``values="binary"`` takes a float as the number it stores, ``"decimal"`` as the shortest decimal that reads back as it,
which is the number in the text that it was read from (up to 15 digits). Integers, fractions and decimals are
themselves in either case. Compiled code and the search want floats or 64-bit integers. Multiplying a column by a
positive number, or with an offset also adding one, changes no verdict, so a column of fractions becomes one of
integers, and a plane is carried over exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.data.arrays import csr_array, is_sparse, refuse_not_finite
from linsep.data.cache import mapped_array
from linsep.problem import Array, Dense, Rows, Sparse
from linsep.prove.claims import Separator
from linsep.prove.exact.decimals import as_decimals, decimal_doubles
from linsep.prove.numbers.long_decimals import LongDecimals

BINARY, DECIMAL = "binary", "decimal"
_EXACT = 2**53  # floats hold integers up to here
_CELLS = 1 << 20  # that are looked at together
_STRETCH = 1 << 14  # numbers that are fractions at a time


class Held(NamedTuple):
    """Rows in floats or 64-bit integers: column ``j`` holds ``(value - shift[j]) * scale[j]``, exactly."""

    rows: Rows
    shape: tuple[int, int]
    scale: tuple[Fraction, ...] | None = None  # None: the values themselves
    shift: tuple[Fraction, ...] | None = None

    def inside(self, plane: Separator) -> Separator:
        """Return a plane for the values as one for the rows that hold them."""
        if self.scale is None or self.shift is None or plane.w.shape[-1] != len(self.scale):
            return plane
        W, b = plane.exactly()
        b = [c + sum(map(_product, w, self.shift)) for w, c in zip(W, b, strict=True)]
        return _plane([[v / s for v, s in zip(w, self.scale, strict=True)] for w in W], b, plane)

    def outside(self, plane: Separator) -> Separator:
        """Return a plane for the rows as one for the values that they hold."""
        if self.scale is None or self.shift is None:
            return plane
        W, b = plane.exactly()
        W = [[v * s for v, s in zip(w, self.scale, strict=True)] for w in W]
        b = [c - sum(map(_product, w, self.shift)) for w, c in zip(W, b, strict=True)]
        return _plane(W, b, plane)


def _product(a: Fraction, b: Fraction) -> Fraction:
    return a * b if a and b else Fraction(0)


def _plane(W: list[list[Fraction]], b: list[Fraction], like: Separator) -> Separator:
    """Return a Separator of the shape of another, in floats where that changes nothing."""
    table = exact_array([*(value for w in W for value in w), *b])
    w, c = table[: -len(b)].reshape(len(W), -1), table[-len(b) :]
    return Separator(w, c) if like.w.ndim == 2 else Separator(w[0], c.tolist()[0])


def exact_array(values: list[Any]) -> Array:
    """Return numbers as float64 if it holds all of them, else as fractions."""
    if all(is_float(value) for value in values):
        return np.array([float(value) for value in values])
    return np.array([Fraction(value) for value in values], dtype=object)


def is_exact(X: Any) -> bool:
    """Say whether an array holds whole numbers and fractions of Python."""
    return isinstance(X, np.ndarray) and X.dtype == object and all(hasattr(v, "denominator") for v in X.flat)


def nearest_doubles(X: Any) -> Any:
    """Return ``X`` with the doubles nearest to its fractions, for what is trained, measured or drawn, not proved."""
    return X.astype(np.float64) if is_exact(X) or isinstance(X, LongDecimals) else X


def is_float(value: Any) -> bool:
    """Say whether a double holds a number exactly."""
    try:
        return bool(float(value) == value)
    except OverflowError:
        return False


# ---------------------------------------------------------------------------------------------------------------
# What is given


def unrounded(X: Any) -> Any:
    """Return ``X`` itself, or an array of Python numbers where NumPy would round some; refuse what is no number."""
    if isinstance(X, np.ma.MaskedArray):
        raise ValueError("X is a masked array: fill its gaps first, as X.filled(0) does")
    if is_sparse(X):
        _refuse(X.data.dtype)
        if X.dtype == np.longdouble and not (X.data.astype(np.float64) == X.data).all():
            raise ValueError("X has long doubles that double precision would round: pass them as an array of Fraction")
        return X
    if hasattr(X, "columns") and any(hasattr(X, name) for name in ("iloc", "to_series", "column_names")):
        return _from_frame(X)
    try:
        A = np.asarray(X)
    except (ValueError, OverflowError):
        return X  # ragged: whoever validates says where
    _refuse(A.dtype)
    if A.ndim != 2:
        return X
    if A.dtype == object or A.dtype == np.longdouble or A.dtype.kind in "US":
        return _objects(A, X)
    if isinstance(X, list | tuple) and A.dtype.kind == "f":  # integers beside floats are rounded by now
        for i, j in np.argwhere(np.abs(A) >= _EXACT).tolist():
            if X[i][j] != float(A[i, j]):  # Python compares them exactly
                return _objects(np.array([[*row] for row in X], dtype=object), X)
    return X


def _refuse(kind: np.dtype[Any]) -> None:
    if kind.kind == "c":
        raise ValueError("X has complex numbers: linsep separates real ones only")
    if kind.kind in "mM":
        raise ValueError("X has dates or times: turn them into numbers first, such as days")


def _from_frame(X: Any) -> Any:
    """Return a frame itself, or its numbers where one type for all columns would round some."""
    nth = X.to_series if hasattr(X, "to_series") else X.column if hasattr(X, "column_names") else None
    columns = [np.asarray(X.iloc[:, j] if nth is None else nth(j)) for j in range(X.shape[1])]
    for column in columns:
        _refuse(column.dtype)
    if not columns or not any(column.dtype.kind == "O" for column in columns):
        common = np.result_type(*columns) if columns else np.dtype(float)
        large = (column for column in columns if column.dtype.kind in "iu" and column.dtype.itemsize == 8)
        if common.kind != "f" or not any(len(c) and max(abs(int(c.min())), abs(int(c.max()))) > _EXACT for c in large):
            return X
    A = np.empty(X.shape, dtype=object)
    for j, column in enumerate(columns):
        A[:, j] = column.tolist()
    return _objects(A, X)


def _objects(A: Array, X: Any) -> Any:
    """Return Python numbers, unless doubles hold all of them or some cell is no number: then ``X`` itself."""
    exact = np.empty(A.shape, dtype=object)
    try:
        cells = zip(np.ndindex(A.shape), A.ravel().tolist() if A.dtype != np.longdouble else A.ravel(), strict=True)
        for place, cell in cells:
            exact[place] = number(cell)
    except (ValueError, TypeError, OverflowError):
        return X
    return X if all(is_float(value) for value in exact.ravel().tolist()) else exact


def number(cell: Any) -> int | Fraction:
    """Return a cell as an exact number; a text is the decimal it shows if that is whole, else the nearest double."""
    if isinstance(cell, str | bytes):
        text = cell.decode() if isinstance(cell, bytes) else cell
        return int(text) if text.strip().lstrip("+-").isdecimal() else Fraction(float(text))
    if isinstance(cell, Fraction):
        return cell
    if isinstance(cell, bool | int | np.bool_ | np.integer):
        return int(cell)
    if isinstance(cell, float | np.floating | Decimal):
        if isinstance(cell, Decimal) and abs(cell.adjusted()) > 5000:
            raise ValueError(f"{cell} is out of range")
        return Fraction(*cell.as_integer_ratio())
    raise TypeError(f"{cell!r} is not a real number")


# ---------------------------------------------------------------------------------------------------------------
# What compiled code computes with


def held(X: Any, values: str, *, offset: bool, clock: Clock | None = None) -> Held | None:
    """Return a validated array or CSR matrix as rows that hold its values, None if 64 bits do not suffice.

    Raises OutOfTime or Cancelled if the clock says so.
    """
    clock = clock or Clock()
    if not is_sparse(X) and X.dtype == object:
        return _in_integers(X, offset, clock)
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if values == BINARY or X.dtype.kind != "f":
        return Held(as_rows(X), X.shape)
    X = in_doubles(X, values)
    found = as_decimals(X.data if is_sparse(X) else X, X.indices if is_sparse(X) else None, X.shape[1])
    if found is not None:
        whole, places = found
        if not places.any():
            return Held(as_rows(X), X.shape)
        table = csr_array((whole, X.indices, X.indptr), X.shape) if is_sparse(X) else whole
        scale = tuple(Fraction(10**k) for k in places.tolist())
        return Held(as_rows(table), X.shape, scale, (Fraction(0),) * X.shape[1])
    if not all_finite(X.data if is_sparse(X) else X):
        refuse_not_finite(X, np.zeros(0))
    return None if _in_integers(X[:64], offset, clock) is None else _in_integers(X, offset, clock)


def in_doubles(X: Any, values: str) -> Any:
    """Return an array or CSR matrix of short floats that are decimals as doubles; any other as it is."""
    if values == BINARY or X.dtype.kind != "f" or X.dtype.itemsize >= 8:
        return X
    return csr_array((decimal_doubles(X.data), X.indices, X.indptr), X.shape) if is_sparse(X) else decimal_doubles(X)


def all_finite(values: Array) -> bool:
    """Say whether all numbers are finite, a stretch at a time."""
    step = max(1, _CELLS * len(values) // max(1, values.size))
    return all(bool(np.isfinite(values[start : start + step]).all()) for start in range(0, len(values), step))


def _in_integers(X: Any, offset: bool, clock: Clock) -> Held | None:
    """Return fractions, or floats as the decimals they are nearest to, as integers; None if 64 bits do not suffice."""
    d = X.shape[1]
    scales, shifts, largest = [1] * d, [Fraction(0)] * d, 0
    cells = X.data if is_sparse(X) else X
    table = mapped_array(cells.shape, np.int64)
    if is_sparse(X):
        offset, largest = False, math.ceil(np.abs(cells).max(initial=0))  # what is not stored stays zero
        if largest >= 2**63:
            return None
        table[:] = cells
    for j, own in _fractional(X) if is_sparse(X) else ((j, (slice(None), j)) for j in range(d)):
        whole = table[own]
        found = _fill(whole, cells[own], offset, clock)
        if found is None:
            return None
        table[own] = whole
        scales[j], shifts[j] = found[0], Fraction(found[1], found[0])
        largest = max(largest, found[2])
    if largest < _EXACT:
        floats, step = table.view(np.float64), max(1, _CELLS * len(table) // max(1, table.size))
        for start in range(0, len(table), step):
            floats[start : start + step] = table[start : start + step].copy()
        table = floats
    rows = csr_array((table, X.indices, X.indptr), X.shape) if is_sparse(X) else table
    return Held(as_rows(rows), X.shape, tuple(map(Fraction, scales)), tuple(shifts))


def _fractional(X: Any) -> Iterator[tuple[int, Array]]:
    """Yield the columns of a CSR matrix that hold fractions, each with the places of its cells."""
    some = np.bincount(X.indices, X.data != np.rint(X.data), X.shape[1]) > 0
    cells = np.flatnonzero(some[X.indices])
    cells = cells[np.argsort(X.indices[cells], kind="stable")]
    columns, counts = np.unique(X.indices[cells], return_counts=True)
    if len(columns):
        yield from zip(columns.tolist(), np.split(cells, np.cumsum(counts)[:-1]), strict=True)


def _fill(whole: Array, column: Array, offset: bool, clock: Clock) -> tuple[int, int, int] | None:
    """Write the numbers of a column as integers; return their scale, shift and largest size, None if it has 64 bits.

    A stretch of the column at a time, as fractions take twenty times the memory.
    """
    if column.dtype != object:
        return _fill_decimals(whole, column, offset, clock)
    parts = partial(_fractions, column, clock)
    if len(column) <= 4 * _STRETCH:  # so few may be fractions all at once
        parts = partial(iter, list(parts()))
    scale = math.lcm(*(math.lcm(*{value.denominator for value in part}) for _, part in parts()))
    ends = [end(_whole(part, scale)) for _, part in parts() for end in (min, max)] or [0]
    shift = min(ends) if offset and max(map(abs, ends)) >= _EXACT else 0
    largest = max(max(ends) - shift, shift - min(ends))
    if largest >= 2**63:
        return None
    for start, part in parts():
        whole[start : start + len(part)] = [value - shift for value in _whole(part, scale)]
    return scale, shift, largest


def _fill_decimals(whole: Array, column: Array, offset: bool, clock: Clock) -> tuple[int, int, int] | None:
    """Do the same for floats, each of which is the shortest decimal that reads back as it.

    Times the power of ten that makes all of them whole, they are integers; their common divisor comes off again.
    """
    values, places = np.unique(column, return_inverse=True)  # each number once
    decimals: list[Decimal] = []
    for start in range(0, len(values), _STRETCH):
        clock.check()
        decimals += [Decimal(repr(value)) for value in values[start : start + _STRETCH].tolist()]
    exponents = [-int(exponent) for each in decimals if (exponent := each.as_tuple().exponent) < 0]  # type: ignore[operator]
    scale, context = 10 ** max(exponents, default=0), Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
    numbers: list[int] = []
    for start in range(0, len(decimals), _STRETCH):
        clock.check()
        numbers += [int(context.multiply(each, scale)) for each in decimals[start : start + _STRETCH]]
    common = math.gcd(scale, *numbers)
    scale //= common
    ends = [min(numbers, default=0) // common, max(numbers, default=0) // common]
    shift = ends[0] if offset and max(map(abs, ends)) >= _EXACT else 0
    largest = max(ends[1] - shift, shift - ends[0])
    if largest >= 2**63:
        return None
    clock.check()
    whole[:] = np.array([number // common - shift for number in numbers], dtype=np.int64)[places]
    return scale, shift, largest


def _whole(values: list[Fraction], scale: int) -> list[int]:
    """Return fractions times a multiple of their denominators."""
    return [value.numerator * (scale // value.denominator) for value in values]


def _fractions(column: Array, clock: Clock) -> Iterator[tuple[int, list[Fraction]]]:
    """Yield the numbers of a column, a stretch at a time, and where it begins."""
    for start in range(0, len(column), _STRETCH):
        clock.check()
        yield start, [Fraction(value) for value in column[start : start + _STRETCH].tolist()]


def as_rows(X: Any) -> Rows:
    """Return an array or canonical CSR matrix of real numbers as rows, without a copy wherever its type allows."""
    if is_sparse(X):
        unsigned = np.dtype(f"u{X.indices.dtype.itemsize}")
        return Sparse(_native(X.data), X.indices.view(unsigned), X.indptr.view(unsigned))
    return Dense(_native(X))


def _native(values: Array) -> Array:
    """Return a read-only view as 8- to 64-bit integers, float32 or float64."""
    if values.dtype == bool:
        values = values.view(np.uint8)
    elif values.dtype == np.float16:
        values = values.astype(np.float32)
    elif values.dtype.itemsize > 8 or not values.dtype.isnative:
        values = values.astype(np.float64 if values.dtype.kind == "f" else values.dtype.newbyteorder("="))
    view = values.view()
    view.flags.writeable = False
    return view


# ---------------------------------------------------------------------------------------------------------------
# One row after the other, as fractions


def decimal(value: float) -> Fraction:
    """Return the shortest decimal that reads back as a float."""
    return Fraction(repr(value))


def rational_rows(X: Any, values: str) -> Iterator[list[Any]]:
    """Yield the rows of a validated array or CSR matrix as exact Python numbers."""
    exact = decimal if values == DECIMAL else Fraction
    X = in_doubles(X, values)
    for i in range(X.shape[0]):
        row = X[[i]].toarray()[0] if is_sparse(X) else X[i]
        if row.dtype.kind == "f":
            if not np.isfinite(row).all():
                raise ValueError(f"X contains NaN or infinity at row {i}, column {int(np.argmin(np.isfinite(row)))}")
            yield [exact(value) for value in row.astype(np.float64).tolist()]
        else:
            yield row.tolist() if row.dtype != bool else row.astype(int).tolist()
