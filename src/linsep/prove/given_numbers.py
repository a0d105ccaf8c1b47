"""The numbers of a table exactly as they are given: what would be rounded is held otherwise, or refused.

``values="binary"`` takes a float as the number it stores, ``"decimal"`` as the shortest decimal that reads back as it,
which is the number in the text that it was read from (up to 15 digits). Integers, fractions and decimals are
themselves in either case. Compiled code and the search want floats or 64-bit integers. Multiplying a column by a
positive number, or with an offset also adding one, changes no verdict, so a column of fractions becomes one of
integers, and a plane is carried over exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from linsep.data.sparse import csr_array, is_sparse
from linsep.problem import Array, Dense, Rows, Sparse
from linsep.prove.claims import Separator

BINARY, DECIMAL = "binary", "decimal"
_EXACT = 2**53  # floats hold integers up to here
_DIGITS = 10.0**15  # two decimals of 15 digits never read back as the same float


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
            raise ValueError("X has long doubles that double precision would round: give them as an array of fractions")
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
        raise ValueError("X has complex numbers: only real ones can be separated")
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


def held(X: Any, values: str, *, offset: bool) -> Held | None:
    """Return a validated array or CSR matrix as rows that hold its values, None if 64 bits do not suffice."""
    if not is_sparse(X) and X.dtype == object:
        return _from_fractions([list(column) for column in X.T.tolist()], X.shape, offset)
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if values == BINARY or X.dtype.kind != "f":
        return Held(as_rows(X), X.shape)
    found = _as_decimals(X.data if is_sparse(X) else X, X.indices if is_sparse(X) else None, X.shape[1])
    if found is not None:
        whole, places = found
        if not places.any():
            return Held(as_rows(X), X.shape)
        table = csr_array((whole, X.indices, X.indptr), X.shape) if is_sparse(X) else whole
        scale = tuple(Fraction(10**k) for k in places.tolist())
        return Held(as_rows(table), X.shape, scale, (Fraction(0),) * X.shape[1])
    return None if is_sparse(X) or _in_integers(X[:64], offset) is None else _in_integers(X, offset)


def _in_integers(X: Array, offset: bool) -> Held | None:
    """Return decimals as integers, None if 64 bits do not suffice."""
    columns = [[decimal(value) for value in column] for column in X.T.astype(np.float64).tolist()]
    return _from_fractions(columns, X.shape, offset)


def _as_decimals(cells: Array, columns: Array | None, d: int) -> tuple[Array, Array] | None:
    """Return floats as whole numbers, each column times a power of ten, and these powers; None beyond 15 digits.

    A whole number below 10**15 divided by a power of ten up to 10**22 is rounded once, so that equality says that the
    float is the one nearest to this decimal; there is no other of so few digits.
    """
    cells = cells.astype(np.float64, copy=False)
    places = np.zeros(d, dtype=np.int64)
    for part in (cells[:256], cells):  # the first rows nearly always know
        while True:
            unit = 10.0**places
            unit = unit if columns is None else unit[columns[: len(part)]]
            with np.errstate(over="ignore"):
                whole = np.rint(part * unit)
            if not np.abs(whole).max(initial=0.0) < _DIGITS:
                return None
            off = np.nonzero(whole / unit != part)[-1]
            if not len(off):
                break
            places[np.unique(off) if columns is None else np.unique(columns[off])] += 1
            if places.max() > 22:
                return None
    return whole, places


def _from_fractions(columns: list[list[Any]], shape: tuple[int, int], offset: bool) -> Held | None:
    """Return columns of fractions as floats or integers, whichever holds them all after shift and scale."""
    whole, scales, shifts = [], [], []
    for column in columns:
        scale = math.lcm(*(Fraction(value).denominator for value in column))
        numbers = [int(value * scale) for value in column]
        shift = min(numbers) if offset and max(map(abs, numbers), default=0) >= _EXACT else 0
        whole.append([value - shift for value in numbers])
        scales.append(Fraction(scale))
        shifts.append(Fraction(shift, scale))
    largest = max((max(map(abs, column), default=0) for column in whole), default=0)
    if largest >= 2**63:
        return None
    table = np.array(whole, dtype=np.float64 if largest < _EXACT else np.int64).T
    return Held(as_rows(np.ascontiguousarray(table.reshape(shape))), shape, tuple(scales), tuple(shifts))


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
    for i in range(X.shape[0]):
        row = X[[i]].toarray()[0] if is_sparse(X) else X[i]
        if row.dtype.kind == "f":
            if not np.isfinite(row).all():
                raise ValueError(f"X contains NaN or infinity at row {i}, column {int(np.argmin(np.isfinite(row)))}")
            yield [exact(value) for value in row.astype(np.float64).tolist()]
        else:
            yield row.tolist() if row.dtype != bool else row.astype(int).tolist()
