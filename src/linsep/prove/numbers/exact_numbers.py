"""One number, exactly: what a cell of any type holds, how it is written in a document, and rows of such numbers.

``values="binary"`` takes a float as the number it stores, ``"decimal"`` as the shortest decimal that reads back as it,
which is the number in the text that it was read from (up to 15 digits). Integers, fractions and decimals are
themselves in either case.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from linsep.data.arrays import is_sparse
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
