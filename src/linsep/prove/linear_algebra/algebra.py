"""Exact linear algebra on integer rows: systems, dependencies, null spaces, and Wolfe's algorithm without rounding.

Rows are ``fmpz_mat`` matrices; a row may carry any positive factor. Ranks and pivots are found modulo a prime, which
can only be too small, so whatever is built on them is checked over the integers. Systems are solved by lifting, digit
by digit (Dixon 1982, *Exact solution of linear equations using p-adic expansions*, Numerische Mathematik 40): short
solutions come early, and a deadline ends the search for a long one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq, fmpz, fmpz_mat, nmod_mat

from linsep.clock import Clock
from linsep.problem import Array, Floats
from linsep.prove.check.integers import over_power

PRIME = 2**63 - 25
_FEW, _SOON = 100, 10**9  # unknowns, and bits for three times the unknowns, that flint solves for in a moment
_DIGIT, _INVERSE = 6.0, 0.7  # operations of a digit for every cell and right side, and of an inverse for n³
_MORE = 4  # times as many digits as this share of those at hand are found before they are looked at again
_ROOM = 16  # bits that fractions are shorter than what chance would show


class Dependency(NamedTuple):
    """Rows that cancel: ``Σ multipliers[k] row[k] = 0`` with all multipliers positive."""

    rows: Array  # (m,) their positions
    multipliers: list[int]


def matrix(numbers: Array) -> Any:
    """Return an array of integers (m, n) as a matrix of flint's; only the numbers that are not zero if they are few."""
    (m, n), filled = numbers.shape, numbers != 0
    if np.count_nonzero(filled) * 8 > numbers.size:
        return fmpz_mat(m, n, numbers.ravel().tolist())
    A = fmpz_mat(m, n)
    for i, j, value in zip(*(part.tolist() for part in np.nonzero(filled)), numbers[filled].tolist(), strict=True):
        A[i, j] = value
    return A


def column(values: Floats, exponents: Array | int = 0) -> Any:
    """Return ``values * 2**exponents`` times a positive power of two, in integers."""
    return one_column(over_power(values, exponents)[0].tolist())


def pivots(A: Any) -> tuple[list[int], list[int]]:
    """Return rows and columns of ``A``, as many as its rank, that cross in an invertible matrix."""
    return first_independent(A), first_independent(A.transpose())


def first_independent(A: Any) -> list[int]:
    """Return the first rows that all others depend on."""
    return leading(*nmod_mat(A, PRIME).transpose().rref()) if A.nrows() and A.ncols() else []


def leading(echelon: Any, rank: int) -> list[int]:
    """Return the columns in which the rows of an echelon form begin: independent ones, the first possible."""
    pivots: list[int] = []
    j = 0
    for i in range(rank):
        while echelon[i, j] == 0:
            j += 1
        pivots.append(j)
        j += 1
    return pivots


def select(A: Any, rows: list[int], columns: list[int]) -> Any:
    """Return the part of ``A`` where some rows and columns cross."""
    table = A.tolist()
    return fmpz_mat(len(rows), len(columns), [table[i][j] for i in rows for j in columns])


# ---------------------------------------------------------------------------------------------------------------
# Systems


class Square:
    """An invertible matrix, and what solving with it takes; one that is singular raises ZeroDivisionError."""

    def __init__(self, A: Any, clock: Clock) -> None:
        self.A, self.n, self.clock = A, A.nrows(), clock

    @cached_property
    def inverse(self) -> Any:
        """The inverse modulo the prime."""
        self.clock.count(_INVERSE * self.n**3)
        return nmod_mat(self.A, PRIME).inv()

    def solve(self, B: Any) -> tuple[Any, list[Any]]:
        """Return integers X and denominators: ``A`` times column k of X is denominator k times column k of ``B``."""
        n, m = self.n, B.ncols()
        if n == 0 or m == 0:
            return fmpz_mat(n, m), [fmpz(1)] * m
        bits = max(self.A[0, j].bit_length() for j in range(n))
        if n <= _FEW and n**3 * bits < _SOON:
            self.clock.check()
            X, bottom = self.A.solve(B).numer_denom()
            return (X, [bottom]) if m == 1 else _shortened(X, bottom)
        X, power, left, digits, goal = fmpz_mat(n, m), fmpz(1), B, list[Any](), 1
        while True:
            self.clock.count(_DIGIT * n * n * m)
            digits.append(fmpz_mat(n, m, list(map(int, (self.inverse * nmod_mat(left, PRIME)).entries()))))
            left = (left - self.A * digits[-1]) / fmpz(PRIME)
            if len(digits) < goal:
                continue
            X, power = X + _joined(digits) * power, power * fmpz(PRIME) ** len(digits)
            digits, goal = [], 1 + power.bit_length() // (_MORE * PRIME.bit_length())
            fractions = _fractions(X, power, self.clock)
            if fractions is not None:
                numerators, bottoms = fractions
                if self.A * numerators == times(B, bottoms):
                    return fractions


def _shortened(X: Any, bottom: Any) -> tuple[Any, list[Any]]:
    """Return columns over a common denominator, and the denominators, without common divisors."""
    table = []
    for line in X.transpose().tolist():
        divisor = bottom
        for value in line:
            if divisor == 1:
                break
            divisor = divisor.gcd(value)
        table.append((bottom // divisor, [value // divisor for value in line] if divisor != 1 else line))
    return fmpz_mat([line for _, line in table]).transpose(), [bottom for bottom, _ in table]


def _joined(digits: list[Any]) -> Any:
    """Return the numbers that some digits in the base of the prime are, the first one last."""
    if len(digits) == 1:
        return digits[0]
    half = len(digits) // 2
    return _joined(digits[:half]) + _joined(digits[half:]) * fmpz(PRIME) ** half


def _fractions(X: Any, power: Any, clock: Clock) -> tuple[Any, list[Any]] | None:
    """Return short fractions, of one denominator in each column, that residues modulo a power of the prime stand for.

    None if there are none (Wang 1981): the denominator of the entries before most often is that of the next.
    """
    longest, half = (power.bit_length() - _ROOM) // 2, power >> 1

    def residue(value: Any) -> Any:
        value %= power
        return value - power if value > half else value

    table, bottoms = list[list[Any]](), list[Any]()
    for line in X.transpose().tolist():
        clock.check()
        bottom, tops = fmpz(1), list[Any]()
        for value in line:
            top = residue(value * bottom)
            if abs(top).bit_length() > longest:
                short = fmpz_mat([[top, 1], [power, 0]]).lll()
                factor = abs(short[0, 1] if short[0, 1] else short[1, 1])
                bottom, top = bottom * factor, residue(top * factor)
                if max(bottom.bit_length(), abs(top).bit_length()) > longest:
                    return None
                tops = [factor * each for each in tops]
            tops.append(top)
        table.append(tops)
        bottoms.append(bottom)
    return fmpz_mat(table).transpose(), bottoms


def times(B: Any, factors: list[Any]) -> Any:
    """Return a matrix with every column times a factor."""
    table = [value * factor for row in B.tolist() for value, factor in zip(row, factors, strict=True)]
    return fmpz_mat(B.nrows(), B.ncols(), table)


def over_one(X: Any, bottoms: list[Any]) -> tuple[Any, Any]:
    """Return columns of fractions over a common denominator."""
    common = fmpz(1)
    for bottom in bottoms:
        common = common.lcm(bottom)
    return times(X, [common // bottom for bottom in bottoms]), common


def dependency(A: Any, clock: Clock, near: Sequence[Any] | None = None) -> Dependency | None:
    """Return the positive dependency of rows that are independent but for one relation, or None if there is none.

    Of several relations, the result is that with the multipliers ``near`` at the rows that depend on the others.
    """
    rows, columns = pivots(A)
    others = sorted(set(range(A.nrows())) - set(rows))
    if len(others) != 1 and (near is None or not others):
        return None
    scale = 1 if near is None else (1 << 53) / max(near)
    weights = [fmpz(0)] * A.nrows()
    for o in others:
        weights[o] = fmpz(1) if near is None else fmpz(max(1, round(near[o] * scale)))
    if rows:  # Σ_P λ_i a_i = -Σ_O λ_o a_o in the pivot columns, times the common denominator
        left = select(A, rows, columns).transpose()
        right = select(A, others, columns).transpose() * fmpz_mat(len(others), 1, [weights[o] for o in others])
        try:
            numerators, (common,) = Square(left, clock).solve(-right)
        except ZeroDivisionError:
            return None
        for o in others:
            weights[o] *= common
        for k, i in enumerate(rows):
            weights[i] = numerators[k, 0]
    if min(weights) < 0 or fmpz_mat(1, len(weights), weights) * A != fmpz_mat(1, A.ncols()):
        return None
    return _positive(list(range(A.nrows())), weights)


def _positive(rows: list[int], multipliers: list[Any]) -> Dependency:
    """Return the rows of positive multipliers as a dependency, leaving out those of multiplier zero."""
    keep = [k for k, value in enumerate(multipliers) if value > 0]
    return Dependency(np.array([rows[k] for k in keep]), [int(multipliers[k]) for k in keep])


def whole(values: list[Any]) -> list[Any]:
    """Return rationals times a common positive factor, in integers."""
    common = fmpz(1)
    for value in values:
        common = common.lcm(value.q)
    return [value.p * (common // value.q) for value in values]


def null_vectors(A: Any, start: Any, clock: Clock) -> Any:
    """Return columns that ``A`` takes to zero: positive multiples of those of ``start`` where these are free."""
    rows, columns = pivots(A)
    width, free = start.ncols(), sorted(set(range(A.ncols())) - set(columns))
    if not free:
        return fmpz_mat(start.nrows(), width)
    if not columns:
        return start
    right = select(A, rows, free) * select(start, free, list(range(width)))
    bound, common = over_one(*Square(select(A, rows, columns), clock).solve(-right))
    vectors = start * common
    for k, j in enumerate(columns):
        for c in range(width):
            vectors[j, c] = bound[k, c]
    return vectors


def echelon(A: Any, order: list[int], clock: Clock) -> tuple[list[int], Any]:
    """Return the columns, first ones in ``order``, that all depend on, and a basis of the null space of ``A``.

    The basis has one column for every other column of ``A``, with one entry outside the first ones.
    """
    n = A.ncols()
    clock.check()
    ordered = A if order == list(range(n)) else select(A, list(range(A.nrows())), order)
    lead = first_independent(ordered.transpose())
    free = sorted(set(range(n)) - set(lead))
    basis = fmpz_mat(n, len(free))
    if not free:
        return sorted(order), basis
    rows = first_independent(ordered)
    V, bottoms = Square(select(ordered, rows, lead), clock).solve(select(ordered, rows, free))
    for k, j in enumerate(free):
        basis[order[j], k] = bottoms[k]
        for i, own in enumerate(lead):
            basis[order[own], k] = -V[i, k]
    return sorted(order[k] for k in lead), basis


class Solver:
    """Rows that others are to be expressed by; what is needed for all of them is computed once."""

    def __init__(self, A: Any, clock: Clock) -> None:
        self.A = A
        self.rows, self.columns = pivots(A)
        self.square = Square(select(A, self.rows, self.columns).transpose(), clock)

    def express(self, targets: Any) -> tuple[Any, list[Any]]:
        """Return integers and denominators: row ``k`` of the first times ``A`` is ``q[k]`` times target ``k``."""
        m = targets.nrows()
        factors = fmpz_mat(m, self.A.nrows())
        X, bottoms = self.square.solve(select(targets, list(range(m)), self.columns).transpose())
        for i, row in enumerate(self.rows):
            for k in range(m):
                factors[k, row] = X[i, k]
        return factors, bottoms


# ---------------------------------------------------------------------------------------------------------------
# Wolfe's algorithm over the rationals


def nearest(A: Any, start: list[int], weights: Floats, clock: Clock) -> tuple[Any, Dependency | None]:
    """Return a vector with a positive product with every row of ``A`` or, if there is none, a positive dependency.

    Wolfe (1976), without rounding and hence finite; ended as soon as all products are positive. ``start`` are rows to
    begin with and their weights.
    """
    G = A * A.transpose()
    S, multipliers = _independent(A, start, weights)
    while True:
        S, multipliers, mu, origin = _corral(G, S, multipliers, clock)
        if origin:
            return None, _positive(S, whole(multipliers))
        x = fmpz_mat(1, len(S), primitive(mu)) * select(A, S, list(range(A.ncols())))
        scores = [row[0] for row in (A * x.transpose()).tolist()]
        lowest = min(range(len(scores)), key=scores.__getitem__)
        if scores[lowest] > 0:
            return x, None
        S.append(lowest)
        multipliers.append(fmpq(0))


def _independent(A: Any, start: list[int], weights: Floats) -> tuple[list[int], list[Any]]:
    """Return those of the rows to start from that are linearly independent, with weights of sum 1."""
    table = A.tolist()
    keep = first_independent(fmpz_mat([table[i] for i in start])) if start else []
    if not keep:
        return [0], [fmpq(1)]
    multipliers = [fmpq(1 + int(weights[k] * 2**60), 1) for k in keep]
    total = sum(multipliers, fmpq(0))
    return [start[k] for k in keep], [value / total for value in multipliers]


def _corral(G: Any, S: list[int], multipliers: list[Any], clock: Clock) -> tuple[list[int], list[Any], list[Any], bool]:
    """Walk to the lowest point of the affine hull of ``S``, dropping rows whose weight reaches zero on the way.

    Returns the rows, their weights, these times an integer, and whether the point is the origin.
    """
    while True:
        part = fmpz_mat([[G[i, j] for j in S] for i in S])
        try:
            solved, origin = Square(part, clock).solve(fmpz_mat(len(S), 1, [1] * len(S)))[0], False
        except ZeroDivisionError:  # the origin lies in the affine hull
            solved, origin = part.nullspace()[0], True
        mu = [solved[k, 0] for k in range(len(S))]
        total = sum(mu, fmpz(0))
        wanted = [fmpq(value, total) for value in mu]
        worst, theta = -1, fmpq(1)
        for k, value in enumerate(wanted):
            if value < 0 or (value == 0 and not origin):
                reach = multipliers[k] / (multipliers[k] - value) if multipliers[k] != value else fmpq(0)
                if worst < 0 or reach < theta:
                    worst, theta = k, reach
        if worst < 0:
            return S, wanted, mu, origin
        multipliers = [a + theta * (c - a) for a, c in zip(multipliers, wanted, strict=True)]
        keep = [k for k in range(len(S)) if k != worst]
        S, multipliers = [S[k] for k in keep], [multipliers[k] for k in keep]


def one_column(values: list[Any]) -> Any:
    """Return integers as a matrix of one column."""
    return fmpz_mat(len(values), 1, values)


def entries(M: Any) -> list[int]:
    """Return a matrix of one column, or one row, as integers."""
    return [int(value) for row in M.tolist() for value in row]


def primitive(values: list[int]) -> list[int]:
    """Return integers divided by their greatest common divisor."""
    divisor = fmpz(0)
    for value in values:
        divisor = divisor.gcd(value)
        if divisor == 1:
            return values
    return [value // int(divisor) for value in values] if divisor else values


def binary(M: Any) -> tuple[Floats, Array]:
    """Return mantissas in ±[1/2, 1] and exponents of the entries of an integer matrix."""
    values, shape = list(map(int, M.entries())), (M.nrows(), M.ncols())
    try:
        short, cut = np.array(values, dtype=np.int64), np.zeros(len(values), dtype=np.int64)
    except OverflowError:
        cut = np.array([max(0, value.bit_length() - 62) for value in values], dtype=np.int64)
        short = np.array([value >> beyond for value, beyond in zip(values, cut.tolist(), strict=True)], dtype=np.int64)
    parts, exponents = np.frexp(short.astype(np.float64))
    return parts.reshape(shape), (exponents + cut).reshape(shape)
