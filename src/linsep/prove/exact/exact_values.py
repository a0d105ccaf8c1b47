"""Stores cells as exact numbers: decimals as shown, or floats as binary fractions.

A column of decimals times a power of ten (or any common denominator) is a column of integers, and the factor only
changes the unit of its coefficient. Integers beyond 64 bits are cut into pieces of 62 bits, one column each.
"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz, fmpz_mat

from linsep.data.arrays import csr_array, is_sparse
from linsep.errors import DataError
from linsep.problem import Array
from linsep.prove.exact.decimals import as_decimals, decimal_doubles
from linsep.prove.numbers.exact_rows import ExactRows, exact_rows

DECIMAL, BINARY = "decimal", "binary"
_DIGITS = 10.0**15  # two decimals of at most 15 digits never have the same nearest float
_PLACES = 16  # after the point
_PIECE = 62  # bits
FEW_CELLS = 1 << 12  # that are integers at once
_DENSE = 10_000_000  # cells of a sparse matrix that may be written out


class Cells(NamedTuple):
    """A matrix of machine numbers; column ``j`` of the data times ``scales[j]`` is made of columns of it."""

    matrix: Any  # ndarray or CSR
    scales: list[int]
    basis: Any  # how the columns of the matrix make up those of the data; None if they are the same
    exact: ExactRows | None = None  # the integers, where the matrix is only near them

    @property
    def n_features(self) -> int:
        """How many columns the data have."""
        return len(self.scales)


def cells(X: Any, values: str, names: list[str], *, near: bool = False) -> Cells:
    """Return a matrix as exact numbers; ``names`` are for errors.

    With ``near``, floats near to numbers that are too long for 64 bits may stand for them.
    """
    _refuse_gaps(X, names)
    n_features = X.shape[1]
    if values == BINARY and X.dtype != object:
        return Cells(X, [1] * n_features, None)
    if is_sparse(X):
        return _sparse_decimals(X.tocsr())
    if X.dtype.kind in "iub":
        return Cells(X, [1] * n_features, None)
    if X.dtype.kind == "f" and X.dtype.itemsize < 8:
        X = decimal_doubles(X)
    if X.dtype == np.float64 and (decimals := as_decimals(X, None, n_features)) is not None:
        return Cells(decimals[0].astype(np.int64), [10 ** int(k) for k in decimals[1]], None)
    if near and X.size > FEW_CELLS and X.dtype.kind in "fO" and not (values == BINARY and X.dtype == object):
        rows = exact_rows(X)
        if rows is not None:
            return Cells(rows.near, rows.scales, None, rows)
    columns, scales = [], []
    for j in range(n_features):
        found = short_decimals(X[:, j]) if X.dtype == np.float64 else None
        if found is None:
            found = _fractions(X[:, j], names[j], values)
        columns.append(found[0])
        scales.append(found[1])
    return _joined(columns, scales, len(X))


def short_decimals(x: Array) -> tuple[Array, int] | None:
    """Return floats as integers over a power of ten: the shortest decimals that they are nearest to; None if long."""
    for places in range(_PLACES):
        power = 10.0**places
        whole = np.rint(x * power)
        if not np.abs(whole).max(initial=0.0) < _DIGITS:
            return None
        if (whole / power == x).all():
            return whole.astype(np.int64), 10**places
    return None


def is_binary(found: Cells, X: Any) -> bool:
    """Return whether the exact decimals are the binary numbers that the floats are."""
    if X.dtype == object or found.basis is not None or found.exact is not None:
        return False
    if all(scale == 1 for scale in found.scales):
        return True
    matrix = found.matrix.tocoo() if is_sparse(found.matrix) else None
    if matrix is not None:
        return False
    for j, scale in enumerate(found.scales):
        twos = scale & -scale  # a decimal that is a binary fraction has a numerator divisible by the odd part
        odd = min(scale // twos, (1 << 63) - 1)  # no cell but 0 is a multiple of a larger one
        if (found.matrix[:, j] % odd).any():
            return False
    return True


def _joined(columns: list[Any], scales: list[int], n: int) -> Cells:
    """Put columns of integers together; those too long for a cell in pieces."""
    pieces: list[Array] = []
    owners: list[tuple[int, int]] = []  # column of the data, power of two
    for j, column in enumerate(columns):
        if column.dtype != object:
            pieces.append(column)
            owners.append((j, 0))
            continue
        left, power = [int(value) for value in column.tolist()], 0
        while True:
            last = max((abs(value) for value in left), default=0) < 1 << _PIECE
            low = left if last else [value & ((1 << _PIECE) - 1) for value in left]
            pieces.append(np.array(low, dtype=np.int64))
            owners.append((j, power))
            if last:
                break
            left, power = [value >> _PIECE for value in left], power + _PIECE
    matrix = np.column_stack(pieces) if pieces else np.zeros((n, 0), dtype=np.int64)
    if len(pieces) == len(columns):
        return Cells(np.ascontiguousarray(matrix), scales, None)
    basis = fmpz_mat(len(pieces), len(columns))
    for k, (j, power) in enumerate(owners):
        basis[k, j] = fmpz(1) << power
    return Cells(np.ascontiguousarray(matrix), scales, basis)


def _fractions(column: Array, name: str, values: str) -> tuple[Array, int]:
    """Return cells one by one as integers over a common denominator."""
    found = [fraction(value, i, name, values) for i, value in enumerate(column.tolist())]
    scale = math.lcm(*(value.denominator for value in found)) if found else 1
    whole = [value.numerator * (scale // value.denominator) for value in found]
    if max((abs(value) for value in whole), default=0) < 1 << _PIECE:
        return np.array(whole, dtype=np.int64), scale
    table = np.empty(len(whole), dtype=object)
    table[:] = whole
    return table, scale


def fraction(value: Any, row: int, name: str, values: str = DECIMAL) -> Fraction:
    """Return the number that a cell shows or, with binary values, the float that it is or that is nearest to a text.

    Whole numbers, fractions and decimals of a program are themselves in either case.
    """
    if isinstance(value, Fraction | Decimal | int):
        return Fraction(value)
    try:
        return Fraction(float(value)) if values == BINARY else Fraction(Decimal(str(value).strip()))
    except (InvalidOperation, ValueError, OverflowError):
        raise DataError(f"row {row}, column {name!r}", f"{value!r} is not a number") from None


def _sparse_decimals(X: Any) -> Cells:
    """Return the stored cells of a sparse matrix as integers over powers of ten."""
    data = decimal_doubles(X.data) if X.data.dtype.kind == "f" else X.data.astype(np.float64)
    places = np.zeros(len(data), dtype=np.int64)
    left = np.arange(len(data))
    for k in range(_PLACES):
        power = 10.0**k
        whole = np.rint(data[left] * power)
        left = left[~((whole / power == data[left]) & (np.abs(whole) < _DIGITS))]
        if len(left) == 0:
            break
        places[left] = k + 1
    most = np.zeros(X.shape[1], dtype=np.int64)
    np.maximum.at(most, X.indices, places)
    scaled = np.rint(data * 10.0 ** most[X.indices])
    if len(left) or not np.abs(scaled).max(initial=0.0) < _DIGITS:
        if X.shape[0] * X.shape[1] <= _DENSE:
            return cells(X.toarray(), DECIMAL, [f"x{j}" for j in range(X.shape[1])])
        raise DataError("X", "a sparse matrix has decimals of more than 15 digits: use {0}", ("values", BINARY))
    matrix = csr_array((scaled.astype(np.int64), X.indices, X.indptr), X.shape)
    return Cells(matrix, [10 ** int(k) for k in most], None)


def _refuse_gaps(X: Any, names: list[str]) -> None:
    """Refuse NaN and infinity, with their place."""
    stored = X.data if is_sparse(X) else X
    if stored.dtype == object:
        for i, j in np.ndindex(stored.shape) if stored.ndim == 2 else ():
            value = stored[i, j]
            if value is None or (isinstance(value, float | Decimal) and not math.isfinite(value)):
                raise DataError(f"row {i}, column {names[j]!r}", f"the cell holds {value!r}, which is not a number")
        return
    if stored.dtype.kind != "f" or math.isfinite(stored.sum()) or np.isfinite(stored).all():
        return
    if is_sparse(X):
        found = X.tocoo()
        k = int(np.flatnonzero(~np.isfinite(found.data))[0])
        i, j = int(found.coords[0][k]), int(found.coords[1][k])
        value = found.data[k]
    else:
        i, j = (int(v) for v in np.argwhere(~np.isfinite(X))[0])
        value = X[i, j]
    what = "NaN" if np.isnan(value) else "infinity"
    raise DataError(f"row {i}, column {names[j]!r}", f"the cell holds {what}; drop the row or fill in the value")
