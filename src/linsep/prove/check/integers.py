"""Floats and fractions as integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from linsep.problem import Array

WORD = 62  # binary digits of integers that leave room to add two of them
_FAR = 5000  # beyond every exponent of a float


def mantissas(values: Array) -> tuple[Array, Array]:
    """Return integers, odd or zero, and exponents of floats: ``values = integers * 2**exponents`` without rounding."""
    fractions, exponents = np.frexp(values.astype(np.float64))
    digits = np.ldexp(fractions, 53).astype(np.int64)
    twos = lengths(digits & -digits) - 1
    used = digits != 0
    return digits >> np.where(used, twos, 0), np.where(used, exponents - 53 + twos, 0)


def lengths(integers: Array) -> Array:
    """Return how many binary digits integers of at most 53 have, 0 for 0."""
    bits: Array = np.frexp(np.abs(integers).astype(np.float64))[1].astype(np.int64)
    return bits


def aligned(cells: Array, constant: bool) -> tuple[Array, Array, Array, Array]:
    """Return rows of floats as integers: digits, by how many places each moves up, a shift and a length for each row.

    Row ``i`` is ``(digits[i] << up[i]) * 2**shifts[i]``. With a ``constant`` behind each row, which is 1, no shift is
    positive, and the length, in binary digits, is also its.
    """
    digits, exponents = mantissas(cells)
    used = digits != 0
    shifts = exponents.min(axis=1, initial=_FAR, where=used)
    shifts = np.minimum(shifts, 0) if constant else np.where(shifts == _FAR, 0, shifts)
    up = np.where(used, exponents - shifts[:, None], 0)
    longest = (lengths(digits) + up).max(axis=1, initial=0)
    return digits, up, shifts, np.maximum(longest, -shifts) if constant else longest


def over_power(values: Array, exponents: Array | int = 0) -> tuple[Array, int]:
    """Return Python's integers and one exponent for all: ``integers * 2**exponent = values * 2**exponents`` exactly."""
    if values.dtype.kind in "iub":
        return values.astype(object), 0
    digits, powers = mantissas(values)
    used, powers = digits != 0, powers + exponents
    lowest = int(powers.min(initial=_FAR, where=used))
    return digits.astype(object) << np.where(used, powers - lowest, 0).astype(object), lowest


def over_common(values: Sequence[Any]) -> tuple[list[int], int]:
    """Return numbers, each an integer ratio, as integers over a common denominator, and it."""
    ratios = [value.as_integer_ratio() for value in values]
    common = math.lcm(*{denominator for _, denominator in ratios})
    return [numerator * (common // denominator) for numerator, denominator in ratios], common


def difference(u: Array, v: Array) -> Array:
    """Return ``u - v`` without rounding: floats where that is possible, else fractions."""
    if u.dtype != object and v.dtype != object:
        with np.errstate(over="ignore", invalid="ignore"):
            gap = u - v
            part = gap - u  # Knuth's two-sum: the rounding error of u - v is exactly (u - (gap - part)) - (v + part)
            if np.isfinite(gap).all() and not ((u - (gap - part)) - (v + part)).any():
                return gap
    if u.dtype == v.dtype == object:
        return np.asarray(u - v)
    return np.array([Fraction(a) - Fraction(c) for a, c in zip(u.tolist(), v.tolist(), strict=True)], dtype=object)


class Normal:
    """Weights and an offset, and what exact signs are found with: computed once, however many parts a table has."""

    def __init__(self, w: Array) -> None:
        self.w = w

    @cached_property
    def whole(self) -> list[int]:
        """The weights times a positive number, as integers."""
        return over_common(self.w.tolist())[0]

    @cached_property
    def floats(self) -> tuple[Array | None, bool]:
        """The weights times a positive number, each rounded to the nearest float, and whether none had to be.

        None if a weight is out of the range in which rounding changes it by at most a factor ``1 ± 2**-53``.
        """
        if self.w.dtype != object:
            return self.w.astype(np.float64), True
        unit = 1 << max(abs(value) for value in self.whole).bit_length()
        nearest = [value / unit for value in self.whole]
        if any(value and abs(near) < 2.0**-1000 for value, near in zip(self.whole, nearest, strict=True)):
            return None, False
        faithful = all(Fraction(near) * unit == value for value, near in zip(self.whole, nearest, strict=True))
        return np.array(nearest), faithful
