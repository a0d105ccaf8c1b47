"""Shortens proofs: rounds planes to few digits, and exchanges rows of refutations whose multipliers are long.

A plane that separates with room to spare does so with its weights rounded. One digit is tried first, then more. Of the
refutations with equally many rows, those whose rows have cells in common have shorter multipliers. Every candidate is
checked exactly, and what does not hold is not used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from linsep.problem import Array, Dense, Floats
from linsep.prove.check.fast_check import combined
from linsep.prove.claims import SEPARABLE, Data, Refutation, Separator, Verdict
from linsep.prove.exact import algebra
from linsep.prove.exact.given_numbers import exact_array

_DIGITS = (1, 2, 3, 4, 6, 8, 12)
_SHORT = 10**15  # whole numbers up to here are rounded the short way
_LONG = 64  # bits of a multiplier that is worth the search for others
_POOL, _TRIED, _ROUNDS = 5000, 300, 3  # rows that are looked at, inequalities that are tried, and how often
_WORK = 300_000  # of one round: inequalities that are tried times the third power of their length

Heights = Callable[[Floats], Floats]  # weights -> w·x of every row, as far as floats tell


def shorter(verdict: Verdict, codes: Array, heights: Heights, holds: Callable[[Verdict], bool]) -> Verdict:
    """Return a verdict with as short a plane as still holds; a weak plane is only written in whole numbers."""
    if verdict.separator is None:
        return verdict
    W, b = verdict.separator.exactly()
    if verdict.kind != SEPARABLE:
        candidates = iter([_whole(W, b)])
    elif len(W) == 1 and verdict.fit_intercept:
        candidates = _with_best_offset(W[0], codes, heights)
    else:
        candidates = (([[rounded(v, k) for v in w] for w in W], [rounded(c, k) for c in b]) for k in _DIGITS)
    length = _length(W, b)
    for w, c in candidates:
        if _length(w, c) >= length:
            continue
        table = exact_array([*(value for row in w for value in row), *c])
        plane = Separator(table[: -len(c)].reshape(len(w), -1), table[-len(c) :])
        if np.ndim(verdict.separator.w) == 1:
            plane = Separator(plane.w[0], plane.b.tolist()[0])
        other = replace(verdict, separator=plane)
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
    common = math.lcm(*(value.denominator for value in numbers))
    divisor = math.gcd(*(int(value * common) for value in numbers)) or 1
    factor = Fraction(common, divisor)
    return [[value * factor for value in w] for w in W], [value * factor for value in b]


def _with_best_offset(w: list[Fraction], codes: Array, heights: Heights) -> Iterator[Plane]:
    """Yield rounded weights, each with the shortest offset that lies well between the two classes."""
    for k in _DIGITS:
        v = [rounded(value, k) for value in w]
        try:
            reached = heights(np.array([float(value) for value in v]))
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


# ---------------------------------------------------------------------------------------------------------------
# Refutations


def with_short_multipliers(refutation: Refutation, data: Data) -> Refutation:
    """Return a refutation with as many rows and, if some of its multipliers are long, perhaps shorter ones.

    Each round brings in one row for another, as the simplex method does: the ratio test, in floats, says for which. The
    multipliers of the rows are then solved for exactly.
    """
    for _ in range(_ROUNDS):
        if max(map(_bits, refutation.multipliers)) < _LONG:
            break
        other = min(_neighbors(refutation, data), key=_size, default=refutation)
        if _size(other) >= _size(refutation):
            break
        refutation = other
    return refutation


def _bits(value: Fraction) -> int:
    return value.numerator.bit_length() + value.denominator.bit_length()


def _size(refutation: Refutation) -> int:
    return sum(map(_bits, refutation.multipliers))


def _neighbors(refutation: Refutation, data: Data) -> Iterator[Refutation]:
    """Yield refutations in which one row was exchanged for another."""
    own, new = len(refutation.rows), _alike(refutation, data)
    rows = np.append(refutation.rows, np.tile(new, data.classes - 1))
    against = ((data.y[new] + step) % data.classes for step in range(1, data.classes))
    rivals = np.concatenate([refutation.rivals, *against])
    matrix, shifts = combined(Refutation(rows, (), rivals), data)
    lengths = [max(abs(int(v)) for v in row) or 1 for row in matrix.tolist()]
    table = np.array([[int(v) / size for v in row] for row, size in zip(matrix.tolist(), lengths, strict=True)])
    sizes = [m * lengths[k] * Fraction(2) ** shifts[k] for k, m in enumerate(refutation.multipliers)]
    scaled = np.array([float(size / max(sizes)) for size in sizes])
    told = np.linalg.pinv(table[:own].T) @ table[own:].T  # (own, new): each new row as a sum of those of the refutation
    spanned = np.abs(table[:own].T @ told - table[own:].T).max(axis=0, initial=0) < 1e-9
    for k in np.flatnonzero(spanned).tolist():
        with np.errstate(divide="ignore", invalid="ignore"):
            leaves = int(np.argmax(told[:, k] / scaled))
        which = [i for i in range(own) if i != leaves] + [own + k]
        solved = algebra.dependency(algebra.select(matrix, which, list(range(matrix.ncols()))))
        if solved is not None and len(solved.multipliers) == own:
            exact = [m * Fraction(2) ** -shifts[i] for i, m in zip(which, solved.multipliers, strict=True)]
            yield Refutation(rows[which], _without_divisor(exact), rivals[which])


def _alike(refutation: Refutation, data: Data) -> Array:
    """Return rows that have cells in common with those of a refutation, most first."""
    if not isinstance(data.rows, Dense):
        return np.empty(0, dtype=np.intp)
    length = (data.n_features + data.offset) * (data.classes - 1)
    most = min(_TRIED, _WORK // length**3) // (data.classes - 1)
    pool = np.setdiff1d(np.linspace(0, len(data.y) - 1, _POOL).astype(np.intp), refutation.rows)
    cells, own = data.rows.data[pool], data.rows.data[refutation.rows]
    shared = np.array([np.isin(cells[:, j], own[:, j]) for j in range(data.n_features)]).sum(axis=0)
    order = np.argsort(-shared, kind="stable")[:most]
    return np.asarray(pool[order[shared[order] > 0]])


def _without_divisor(values: list[Fraction]) -> tuple[Fraction, ...]:
    """Return positive numbers times the factor that makes them whole, without a common divisor."""
    (numbers,), _ = _whole([values], [])
    return tuple(numbers)
