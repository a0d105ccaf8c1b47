"""Takes numbers as they are given: keeps what doubles would round as Python's exact numbers, or refuses it.

``values="binary"`` takes a float as the number it stores, ``"decimal"`` as the shortest decimal that reads back as it,
which is the number in the text that it was read from (up to 15 digits). Integers, fractions and decimals are
themselves in either case.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.data.arrays import check_cells, is_sparse
from linsep.data.matrices import is_table, named_matrix, native, table_source
from linsep.data.parallel import in_parallel
from linsep.errors import DataError
from linsep.problem import Array, Values
from linsep.prove.numbers.decimals import in_doubles

BINARY: Values = "binary"
DECIMAL: Values = "decimal"
_EXACT = 2**53  # floats hold integers up to here
_LONG = 128  # binary digits, from which on hexadecimal ones are shorter, and nobody reads them anyway
_CELLS = 1 << 20  # that are looked at together


# ---------------------------------------------------------------------------------------------------------------
# One number


def is_float(value: Any) -> bool:
    """Say whether a double holds a number exactly."""
    try:
        return bool(float(value) == value)
    except OverflowError:
        return False


def nearest(value: Any) -> float:
    """Return the double nearest to a number, infinite beyond their range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


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


def shown(value: Any, row: int, name: str, values: Values = DECIMAL) -> Any:
    """Return the number that a cell shows or, with binary values, the float that it is or that is nearest to a text.

    Whole numbers, fractions and decimals of a program are themselves in either case.
    """
    if type(value) is int or isinstance(value, Fraction):
        return value
    try:
        if isinstance(value, Decimal | int):
            return Fraction(value)
        return Fraction(float(value)) if values == BINARY else Fraction(Decimal(str(value).strip()))
    except (InvalidOperation, ValueError, OverflowError):
        raise DataError(f"row {row}, column {name!r}", f"{value!r} is not a number") from None


def number_written(value: Fraction) -> str:
    """Return a number so that it reads back exactly: as a short decimal, a float in hexadecimal, or a fraction."""
    p, q = value.as_integer_ratio()
    if q == 1 and abs(p) < 10**17:
        return str(p)
    places = next((k for k in range(1, 13) if 10**k % q == 0), None)
    if places is not None and abs(p) * 10**places < 10**16 * q:
        digits = f"{abs(p) * (10**places // q):0{places + 1}d}"
        return f"{'-' * (p < 0)}{digits[:-places]}.{digits[-places:]}"
    if is_float(value):
        return float(value).hex()
    if max(abs(p), q).bit_length() < _LONG:
        return str(value)
    return f"{p:#x}" if q == 1 else f"{p:#x}/{q:#x}"


# ---------------------------------------------------------------------------------------------------------------
# Tables


def exact_array(values: list[Any]) -> Array:
    """Return numbers as float64 if it holds all of them, else as fractions."""
    if all(is_float(value) for value in values):
        return np.array([float(value) for value in values])
    return np.array([Fraction(value) for value in values], dtype=object)


def is_exact(X: Any) -> bool:
    """Say whether an array holds whole numbers and fractions of Python."""
    return isinstance(X, np.ndarray) and X.dtype == object and all(hasattr(v, "denominator") for v in X.flat)


def all_finite(values: Array) -> bool:
    """Say whether all numbers are finite, a stretch at a time."""
    finite: list[bool] = []

    def work(start: int, stop: int) -> None:
        part = values[start:stop]
        with np.errstate(all="ignore"):  # a finite sum has finite terms, which is soon seen; others may overflow
            finite.append(math.isfinite(part.sum()) or bool(np.isfinite(part).all()))

    in_parallel(work, len(values), values.size // max(1, len(values)))
    return all(finite)


def exact_rows(X: Any, values: Values, names: Any = None) -> Iterator[list[Any]]:
    """Yield the rows of a validated array or CSR matrix as exact Python numbers; ``names`` are for errors."""
    exact = Fraction if values == BINARY else decimal
    X = in_doubles(X) if values == DECIMAL else X
    for i in range(X.shape[0]):
        row = X[[i]].toarray()[0] if is_sparse(X) else X[i]
        if row.dtype.kind == "f":
            if not np.isfinite(row).all():
                raise ValueError(f"X contains NaN or infinity at row {i}, column {int(np.argmin(np.isfinite(row)))}")
            row = row.astype(np.float64)
            if (np.rint(row) == row).all() and np.abs(row).max(initial=0) < _EXACT:
                yield row.astype(np.int64).tolist()
            else:
                yield [exact(value) for value in row.tolist()]
        elif row.dtype == object:
            yield [shown(value, i, "" if names is None else names[j], values) for j, value in enumerate(row.tolist())]
        else:
            yield row.astype(int).tolist() if row.dtype == bool else row.tolist()


def decimal(value: float) -> Fraction:
    """Return the shortest decimal that reads back as a float."""
    return Fraction(repr(value))


def unrounded(X: Any) -> Any:
    """Return ``X`` itself, or an array of Python numbers where NumPy would round some; refuse what is no number."""
    X = native(X)
    if is_table(X):
        return from_table(X, DECIMAL).X
    if isinstance(X, np.ma.MaskedArray):
        raise ValueError("X is a masked array: fill its gaps first, as X.filled(0) does")
    if is_sparse(X):
        _refuse(X.dtype)
        if X.dtype == np.longdouble and (X.astype(np.float64).astype(np.longdouble) != X).nnz:
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


def refuse_rounding(X: Any) -> None:
    """Refuse numbers that double precision would round: what is proved of the rounded ones is not about these.

    Whole numbers of 64 bits are taken as they are, unless a column of fractions stands beside them.
    """
    check_cells(X)
    X = native(X)
    if is_table(X):
        from linsep.prove.numbers.text import exact_features  # which loads pyarrow

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever learns from the table will say how it is read
            source = table_source(X)
            names, features = source.names, source.to_arrays()[0]
        known = exact_columns(X)
        tables = [exact_features(source, features, values, Clock(), known) for values in (BINARY, DECIMAL)]
        rounded = [exact for exact in tables if exact is not features]
    else:
        exact, names = unrounded(X), None
        rounded = [exact] if exact is not X and is_exact(exact) else []
    for exact in rounded:
        for (i, j), cell in np.ndenumerate(exact):
            if not is_float(cell):
                text = str(cell) if len(str(cell)) < 60 else f"{str(cell)[:60]}…"
                advice = "does not fit into double precision: round it, or use linsep.separate, which takes it as it is"
                raise DataError(f"X, row {i}, column {j if names is None else repr(names[j])}", f"{text} {advice}")


class Meant(NamedTuple):
    """What users pass as ``X``, with the names of its columns, and how its floats are meant."""

    X: Any
    names: list[str] | None
    values: Values


def from_table(X: Any, values: Values | None) -> Meant:
    """Return ``X``; a table becomes features, exact numbers where doubles would round.

    If ``values`` does not say how floats are meant, then as decimals where a column of numbers is one of texts.
    """
    X = native(X)
    if not is_table(X):
        return Meant(*named_matrix(X), values or BINARY)
    from linsep.prove.numbers.text import default_values, exact_features  # which load pyarrow

    source = table_source(X)
    features, values = source.to_arrays()[0], values or default_values(source)
    exact = exact_features(source, features, values, Clock(), exact_columns(X))
    return Meant(exact if exact is features else _objects(exact, features), source.names, values)


def exact_columns(X: Any) -> dict[str, Array]:
    """Return the columns of records, or of a frame of pandas, whose exact numbers of Python no type of Arrow holds."""
    if isinstance(X, list | tuple | Mapping):
        records = [X] if isinstance(X, Mapping) else X
        names = dict.fromkeys(key for record in records for key in record)
        columns = {str(name): [record.get(name) for record in records] for name in names}
    else:
        kept = [j for j in range(X.shape[1]) if X.iloc[:, j].dtype == object] if hasattr(X, "iloc") else []
        columns = {str(X.columns[j]): X.iloc[:, j].tolist() for j in kept}
    return {
        name: np.array([*cells, None], dtype=object)[:-1]
        for name, cells in columns.items()
        if all(isinstance(cell, Decimal | Fraction | int | float) and cell == cell for cell in cells)
        and not all(map(is_float, cells))
    }


def _refuse(kind: np.dtype[Any]) -> None:
    if kind.kind == "c":
        raise ValueError("Complex data not supported: X must be real numbers")
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
