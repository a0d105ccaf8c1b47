"""Shortens proofs: rounds planes to few digits.

A plane that separates with room to spare does so with its weights rounded. One digit is tried first, then more. Every
candidate is checked exactly, and what does not hold is not used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from linsep.problem import Array, Floats
from linsep.prove.check.integers import over_common
from linsep.prove.claims import SEPARABLE, Claim
from linsep.prove.numbers.cells import exact_plane

_DIGITS = (1, 2, 3, 4, 6, 8, 12)  # that are tried: each try checks all rows, and a gap makes a plane a digit longer
_SHORT = 10**15  # whole numbers up to here are rounded the short way

Scores = Callable[[Floats], Floats]  # weights -> w·x of every row, as far as floats tell


def shorter(verdict: Claim, codes: Array, scores: Scores, holds: Callable[[Claim], bool]) -> Claim:
    """Return a verdict with as short a plane as still holds; a weak plane is only written in whole numbers."""
    if verdict.separator is None:
        return verdict
    W, b = verdict.separator.exactly()
    if verdict.kind != SEPARABLE:
        candidates = iter([_whole(W, b)])
    elif len(W) == 1 and verdict.fit_intercept:
        candidates = _with_best_offset(W[0], codes, scores)
    else:
        candidates = (([[rounded(v, k) for v in w] for w in W], [rounded(c, k) for c in b]) for k in _DIGITS)
    length = _length(W, b)
    for w, c in candidates:
        if _length(w, c) >= length:
            continue
        other = replace(verdict, separator=exact_plane(w, c, np.ndim(verdict.separator.w)))
        if holds(other):
            return other
    return verdict


Plane = tuple[list[list[Fraction]], list[Fraction]]


def _length(W: list[list[Fraction]], b: list[Fraction]) -> int:
    """Return how long numbers are, about."""
    numbers = [value for w in W for value in w] + b
    return sum(abs(value.numerator).bit_length() + value.denominator.bit_length() for value in numbers)


def _whole(W: list[list[Fraction]], b: list[Fraction]) -> Plane:
    """Return a plane in whole numbers without a common divisor."""
    numbers = [value for w in W for value in w] + b
    whole, common = over_common(numbers)
    factor = Fraction(common, math.gcd(*whole) or 1)
    return [[value * factor for value in w] for w in W], [value * factor for value in b]


def _with_best_offset(w: list[Fraction], codes: Array, scores: Scores) -> Iterator[Plane]:
    """Yield rounded weights, each with the shortest offset that lies well between the two classes."""
    for k in _DIGITS:
        v = [rounded(value, k) for value in w]
        try:
            reached = scores(np.array([float(value) for value in v]))
        except OverflowError:
            continue
        low, high = float(reached[codes == 0].max()), float(reached[codes == 1].min())
        if math.isfinite(low) and math.isfinite(high) and low < high:
            yield [v], [-_between(low, high)]
        if v == w:  # more digits change nothing
            return


def rounded(value: Fraction, digits: int) -> Fraction:
    """Return a number rounded to ``digits`` significant decimal digits."""
    if value.denominator == 1 and abs(value) < _SHORT:  # as the weights of rows of counts are, which may be very many
        beyond = len(str(abs(value.numerator))) - digits
        return Fraction(round(value.numerator, -beyond)) if beyond > 0 else value
    size = math.floor((abs(value.numerator).bit_length() - value.denominator.bit_length()) * math.log10(2))
    step = Fraction(10) ** (size + 1 - digits)
    if abs(value) >= 10 ** (digits) * step:
        step *= 10
    return round(value / step) * step


def _between(low: float, high: float) -> Fraction:
    """Return the shortest decimal in the middle of an interval."""
    a, c = Fraction(low), Fraction(high)
    a, c = a + (c - a) / 8, c - (c - a) / 8
    step = Fraction(10) ** math.ceil(math.log10(max(abs(low), abs(high), high - low)) + 1)
    while True:
        value = math.ceil(a / step) * step
        if value <= c:
            return value
        step /= 10
