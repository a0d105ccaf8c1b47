"""Exact signs of many sums of integer products at once, in floats that cannot round.

Numbers are cut into pieces (limbs) of so few binary digits that sums of products of pieces stay below ``2**53``: then
a product of matrices has no rounding errors, and carrying from the lowest digits to the highest leaves the sign.
"""

from __future__ import annotations

import numpy as np

from linsep.problem import Array

_DIGITS = 52  # binary digits of sums that are exact
_WORD = 62


def integer_cells(cells: Array, constant: bool) -> tuple[Array, Array]:
    """Return rows times powers of two as 64-bit integers, perhaps with a 1 behind them, and which rows fit."""
    m = len(cells)
    if cells.dtype.kind != "f" or bool((cells == np.rint(cells)).all() and np.abs(cells).max(initial=0) < 2.0**53):
        fits = np.ones(m, dtype=bool)
        if cells.dtype.kind != "f" and cells.dtype.itemsize == 8:
            fits = (np.abs(cells.astype(float)) < 2.0**61).all(axis=1)
        table = np.ones((m, cells.shape[1] + constant), dtype=np.int64)
        table[:, : cells.shape[1]] = cells
        return table, fits
    mantissas, exponents = np.frexp(cells.astype(np.float64))
    digits = (mantissas * 2.0**53).astype(np.int64)
    low = digits & -digits
    twos = np.where(digits == 0, 0, np.frexp(low.astype(np.float64))[1] - 1)  # short numbers stay short
    digits >>= twos
    places = np.where(digits == 0, 5000, exponents - 53 + twos)
    shift = places.min(axis=1, initial=5000)
    shift = np.minimum(shift, 0) if constant else np.where(shift == 5000, 0, shift)
    up = np.where(digits == 0, 0, places - shift[:, None])
    sizes = np.frexp(np.abs(digits).astype(np.float64))[1] + up
    fits = (sizes.max(axis=1, initial=0) < _WORD) & ((shift > -_WORD) if constant else True)
    table = digits << np.where(fits[:, None], up, 0)
    if constant:
        table = np.column_stack((table, np.left_shift(np.int64(1), np.where(fits, -shift, 0).astype(np.int64))))
    return table, fits


def sum_signs(table: Array, weights: list[int]) -> Array:
    """Return the sign of ``Σ_j table[i, j] weights[j]`` for every row of 64-bit integers."""
    most = int(np.abs(table).max(initial=0))
    longest = max((abs(value).bit_length() for value in weights), default=0)
    if most == 0 or longest == 0:
        return np.zeros(len(table), dtype=np.int8)
    spare = (table.shape[1] * (most.bit_length() // 8 + 1)).bit_length()
    bits = (_DIGITS - spare) // 2
    P, L = -(-most.bit_length() // bits), -(-longest // bits)
    mask = (1 << bits) - 1
    limbs = np.array(
        [[(abs(v) >> (bits * k) & mask) * (1 if v > 0 else -1) for k in range(L)] for v in weights], dtype=np.float64
    )
    sums = np.zeros((len(table), P + L - 1))
    sizes, signs = np.abs(table), np.sign(table)
    for p in range(P):
        sums[:, p : p + L] += ((sizes >> (bits * p) & mask) * signs).astype(np.float64) @ limbs
    digits = sums.astype(np.int64)
    left = np.zeros(len(table), dtype=bool)  # whether something positive is left below
    carry = np.zeros(len(table), dtype=np.int64)
    for k in range(digits.shape[1]):
        total = digits[:, k] + carry
        carry = total >> bits
        left |= (total & mask) != 0
    found: Array = np.where(carry < 0, -1, np.where((carry > 0) | left, 1, 0)).astype(np.int8)
    return found
