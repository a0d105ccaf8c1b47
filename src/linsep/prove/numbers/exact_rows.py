"""Rows of numbers too long for 64 bits: floats near them, and integers of the rows that are asked for."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from linsep.problem import Array, Floats

_SMALLEST, _LARGEST = 2.0**-900, 2.0**900  # floats between these are off by a share of themselves only
_DIGITS = 17  # of the shortest decimal that reads back as a double, at most


class ExactRows:
    """A table in which column ``j`` is multiplied by ``scales[j]``, so that all cells are integers.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Doubles, each of which is the shortest decimal that reads back as it, or exact numbers of Python.
    scales : list of int
    near : ndarray of shape (n, d)
        The integers, each off by at most 2**-51 of itself.
    """

    def __init__(self, X: Array, scales: list[int], near: Floats) -> None:
        self.X, self.scales, self.near = X, scales, near

    def take(self, which: Array) -> ExactRows:
        """Return some of the rows."""
        return self if len(which) == len(self.X) else ExactRows(self.X[which], self.scales, self.near[which])

    def integers(self, which: Array) -> Array:
        """Return some rows as integers."""
        found = np.empty((len(which), len(self.scales)), dtype=object)
        for k, row in enumerate(self.X[which].tolist()):
            exact = [Fraction(Decimal(repr(v)) if isinstance(v, float) else v) for v in row]
            found[k] = [v.numerator * (s // v.denominator) for v, s in zip(exact, self.scales, strict=True)]
        return found


def exact_rows(X: Array) -> ExactRows | None:
    """Return decimals, or Python's exact numbers, as rows; None if they are out of the range of floats."""
    if X.dtype != object:
        scales = [_power(X[:, j]) for j in range(X.shape[1])]
        near = X.astype(np.float64)
    else:
        scales = [_common(X[:, j].tolist()) for j in range(X.shape[1])]
        try:
            near = X.astype(np.float64)
        except OverflowError:
            return None
    try:
        near = near * np.array([float(scale) for scale in scales])
    except OverflowError:
        return None
    sizes = np.abs(near)
    if not (sizes <= _LARGEST).all() or (sizes.min(initial=1.0) < _SMALLEST and _some_tiny(X, sizes)):
        return None
    return ExactRows(X, scales, near)


def _some_tiny(X: Array, sizes: Floats) -> bool:
    """Say whether some cell that is not zero is too small."""
    return bool(((sizes < _SMALLEST) & (X != 0)).any())


def _common(column: list[Any]) -> int:
    """Return a common multiple of the denominators of exact numbers."""
    if all(isinstance(value, Decimal) for value in column):
        return int(10 ** max(0, *(-int(value.as_tuple().exponent) for value in column)))
    return math.lcm(*{Fraction(value).denominator for value in column})


def _power(column: Floats) -> int:
    """Return a power of ten with which the shortest decimals of all doubles of a column are integers."""
    sizes = np.abs(column)
    least = float(np.min(sizes, initial=1.0, where=sizes > 0))
    return int(10 ** max(0, _DIGITS - 1 - math.floor(math.log10(least)) + 1))
