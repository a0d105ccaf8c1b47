"""Converts floats to the decimals nearest to them, as integers scaled by powers of ten."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.compiling import compiled
from linsep.data.arrays import csr_array, is_sparse
from linsep.data.cache import mapped_array
from linsep.data.parallel import in_parallel
from linsep.problem import Array, Floats

_DIGITS = 10.0**15  # two decimals of 15 digits never read back as the same float
_POWERS = np.array([float(10**k) for k in range(23)])  # all that are floats
_FIRST = 1 << 16  # cells that nearly always know how many places their columns have


def decimal_doubles(values: Array) -> Array:
    """Return short floats as the doubles nearest to the shortest decimals that read back in their own type.

    These have at most 9 digits, so that such a double is the only one that shows this decimal.
    """
    if values.dtype.itemsize >= 8:
        return values
    import pyarrow as pa

    if values.dtype.itemsize < 4:
        shown = np.array([float(str(value)) for value in values.ravel()])
    else:
        cells = pa.array(np.ascontiguousarray(values).ravel().astype(np.float32))
        shown = cells.cast(pa.string()).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return shown.reshape(values.shape)


def in_doubles(X: Any) -> Any:
    """Return an array or CSR matrix of short floats, which are decimals, as doubles; any other as it is."""
    if X.dtype.kind != "f" or X.dtype.itemsize >= 8:
        return X
    return csr_array((decimal_doubles(X.data), X.indices, X.indptr), X.shape) if is_sparse(X) else decimal_doubles(X)


def as_decimals(cells: Array, columns: Array | None, d: int) -> tuple[Floats, Array] | None:
    """Return floats as whole numbers, each column times a power of ten, and these powers; None beyond 15 digits.

    A whole number below 10**15 divided by a power of ten up to 10**22 is rounded once, so that equality says that the
    float is the one nearest to this decimal; there is no other of so few digits. ``cells`` are rows of ``d`` numbers,
    or the values of sparse rows, which are in ``columns``.
    """
    cells = decimal_doubles(cells)
    table = np.ascontiguousarray(cells) if columns is None else cells[:, None]  # (n, d), or (values, 1)
    n, width = table.shape
    places, whole = np.zeros(d, dtype=np.int64), mapped_array(cells.shape, np.float64)
    out = whole.reshape(table.shape)
    first = max(1, _FIRST // max(1, width))
    if not _settle(table[:first], _own(columns, 0, first), places):
        return None
    while True:
        odd: list[tuple[int, int]] = []  # stretches that need more places

        def work(start: int, stop: int, odd: list[tuple[int, int]] = odd) -> None:
            here = slice(start, stop)
            if not odd and not _write_wholes(table[here], _own(columns, start, stop), _POWERS[places], out[here]):
                odd.append((start, stop))

        in_parallel(work, n, width)
        if not odd:
            return whole, places
        for start, stop in odd:
            if not _settle(table[start:stop], _own(columns, start, stop), places):
                return None


def _own(columns: Array | None, start: int, stop: int) -> Array:
    """Return the columns of some values, none for those of dense rows."""
    return np.empty(0, np.uint32) if columns is None else columns[start:stop]


@compiled(error_model="numpy")
def _settle(cells, columns, places):
    """Raise the powers of ten until all cells are whole with them; say whether that can be done."""
    for i in range(cells.shape[0]):
        for k in range(cells.shape[1]):
            j = np.int64(columns[i]) if columns.size else k
            x = float(cells[i, k])
            while True:
                whole = np.rint(x * _POWERS[places[j]])
                if not abs(whole) < _DIGITS:
                    return False
                if whole / _POWERS[places[j]] == x:
                    break
                if places[j] == _POWERS.size - 1:
                    return False
                places[j] += 1
    return True


@compiled(error_model="numpy")
def _write_wholes(cells, columns, unit, out):
    """Write cells times the units of their columns; say whether all are whole numbers then."""
    wrong = 0
    for i in range(cells.shape[0]):
        for k in range(cells.shape[1]):
            power = unit[columns[i]] if columns.size else unit[k]
            whole = np.rint(cells[i, k] * power)
            wrong += (whole / power != cells[i, k]) | (not abs(whole) < _DIGITS)
            out[i, k] = whole
    return wrong == 0
