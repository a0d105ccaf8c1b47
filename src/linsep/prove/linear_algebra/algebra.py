"""Exact linear algebra on integer rows: dependencies, null spaces, and Wolfe's algorithm without rounding.

Rows are ``fmpz_mat`` matrices; a row may carry any positive factor. Ranks and pivots are found modulo a prime, which
can only be too small, so whatever is built on them is checked over the integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq, fmpz, fmpz_mat, nmod_mat

from linsep.clock import Clock
from linsep.problem import Array, Floats
from linsep.prove.check.integers import over_power

PRIME = 2**63 - 25
_EXACT = 0.5  # operations of exact elimination for every row, column, column again, and bit: no call of it can be
# interrupted, so that a time limit is kept only by not beginning what would take too long
_MODULAR = 0.3  # the same modulo a prime, for every row, column, and column again


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


def operations(A: Any) -> float:
    """Return about how many operations it takes to solve exactly for one right side, with the rows of ``A``."""
    ends = {0, A.nrows() - 1} if A.nrows() else ()
    bits = max((A[i, j].bit_length() for i in ends for j in range(A.ncols())), default=0)
    return float(_EXACT * min(A.nrows(), A.ncols()) ** 3 * (bits + 30))


def modular_operations(A: Any) -> float:
    """Return about how many operations elimination modulo a prime takes."""
    return float(_MODULAR * A.nrows() * A.ncols() * min(A.nrows(), A.ncols()))


def pivots(A: Any) -> tuple[list[int], list[int]]:
    """Return rows and columns of ``A``, as many as its rank, that cross in an invertible matrix."""
    columns = leading(*nmod_mat(A, PRIME).rref())
    rows = leading(*nmod_mat(A, PRIME).transpose().rref())
    return rows, columns


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


def dependency(A: Any, near: Sequence[Any] | None = None) -> Dependency | None:
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
            numerators, common = left.solve(-right).numer_denom()
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


def null_basis(A: Any) -> Any:
    """Return the columns of a matrix that span the null space of ``A``, primitive integer vectors."""
    rows, columns = pivots(A)
    n = A.ncols()
    free = sorted(set(range(n)) - set(columns))
    basis = fmpz_mat(n, len(free))
    if not free:
        return basis
    solution: Any = select(A, rows, columns).solve(select(A, rows, free)) if rows else None
    for k, j in enumerate(free):
        entries = whole([fmpq(1), *(-solution[i, k] for i in range(len(rows)))])
        basis[j, k] = entries[0]
        for column, entry in zip(columns, entries[1:], strict=True):
            basis[column, k] = entry
    return basis


def null_vectors(A: Any, start: Any, clock: Clock) -> Any:
    """Return columns that ``A`` takes to zero: positive multiples of those of ``start`` where these are free."""
    form, rank = nmod_mat(A, PRIME).rref()
    columns, width = leading(form, rank), start.ncols()
    free = sorted(set(range(A.ncols())) - set(columns))
    if not free:
        return fmpz_mat(start.nrows(), width)
    if not columns:
        return start
    V = _reconstructed(form, columns, free, A.ncols(), clock)
    if V is not None and fmpz_mat(A.nrows(), len(free)) == A * V:
        common = fmpz(1)
        for k, j in enumerate(free):
            common = common.lcm(V[j, k])
        shares = [start[j, c] * (common // V[j, k]) for k, j in enumerate(free) for c in range(width)]
        return V * fmpz_mat(len(free), width, shares)
    rows = leading(*nmod_mat(A, PRIME).transpose().rref())
    chosen = select(start, free, list(range(width)))
    bound, common = select(A, rows, columns).solve(-(select(A, rows, free) * chosen)).numer_denom()
    vectors = start * common
    for k, j in enumerate(columns):
        for c in range(width):
            vectors[j, c] = bound[k, c]
    return vectors


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
        x = _combined(A, S, mu)
        scores = [row[0] for row in (A * x.transpose()).tolist()]
        lowest = min(range(len(scores)), key=scores.__getitem__)
        if scores[lowest] > 0:
            return x, None
        S.append(lowest)
        multipliers.append(fmpq(0))


def _combined(A: Any, S: list[int], mu: list[Any]) -> Any:
    """Return ``Σ mu_i a_i`` times a positive number, in integers."""
    table = A.tolist()
    return fmpz_mat(1, len(S), whole(mu)) * fmpz_mat([table[i] for i in S])


def _independent(A: Any, start: list[int], weights: Floats) -> tuple[list[int], list[Any]]:
    """Return those of the rows to start from that are linearly independent, with weights of sum 1."""
    table = A.tolist()
    keep = leading(*nmod_mat(fmpz_mat([table[i] for i in start]), PRIME).transpose().rref()) if start else []
    if not keep:
        return [0], [fmpq(1)]
    multipliers = [fmpq(1 + int(weights[k] * 2**60), 1) for k in keep]
    total = sum(multipliers, fmpq(0))
    return [start[k] for k in keep], [value / total for value in multipliers]


def _corral(G: Any, S: list[int], multipliers: list[Any], clock: Clock) -> tuple[list[int], list[Any], list[Any], bool]:
    """Walk to the lowest point of the affine hull of ``S``, dropping rows whose weight reaches zero on the way.

    Returns the rows, their weights, the solution of ``G mu = 1`` on them, and whether the point is the origin.
    """
    while True:
        part = fmpz_mat([[G[i, j] for j in S] for i in S])
        clock.check(operations(part))
        try:
            solved = part.solve(fmpz_mat(len(S), 1, [1] * len(S)))
            mu = [solved[k, 0] for k in range(len(S))]
            origin = False
        except ZeroDivisionError:  # the origin lies in the affine hull
            basis, _ = part.nullspace()
            mu = [fmpq(basis[k, 0]) for k in range(len(S))]
            origin = True
        total = sum(mu, fmpq(0))
        wanted = [value / total for value in mu]
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


# ---------------------------------------------------------------------------------------------------------------
# Spans and null spaces


def echelon(A: Any, order: list[int], clock: Clock) -> tuple[list[int], Any]:
    """Return the columns, first ones in ``order``, that all depend on, and a basis of the null space of ``A``.

    The basis has one column for every other column of ``A``, with one entry outside the first ones. It is read off
    the echelon form modulo a prime, which is right if its fractions are short, and checked; else solved for.
    """
    n = A.ncols()
    place = {j: k for k, j in enumerate(order)}
    if order != list(range(n)):
        table = A.tolist()
        A = fmpz_mat(A.nrows(), n, [row[j] for row in table for j in order])
    clock.check(modular_operations(A))
    form, rank = nmod_mat(A, PRIME).rref() if A.nrows() else (None, 0)
    lead = leading(form, rank)
    free = sorted(set(range(n)) - set(lead))
    clock.check()
    V = _reconstructed(form, lead, free, n, clock)
    if V is None or (A.nrows() and free and fmpz_mat(A.nrows(), len(free)) != A * V):
        clock.check(operations(A))
        V = null_basis(A)
    if order != list(range(n)):
        table = V.tolist()
        V = fmpz_mat(n, len(free), [value for j in range(n) for value in table[place[j]]])
    return sorted(order[j] for j in lead), V


def _reconstructed(form: Any, lead: list[int], free: list[int], n: int, clock: Clock) -> Any:
    """Return the null space that an echelon form modulo a prime shows, with short fractions; None if there are none."""
    V = fmpz_mat(n, len(free))
    for k, j in enumerate(free):
        clock.check()
        fractions = []
        for i in range(len(lead)):
            fraction = _fraction(int(form[i, j])) if lead[i] < j else (0, 1)
            if fraction is None:
                return None
            fractions.append(fraction)
        common = fmpz(1)
        for _, denominator in fractions:
            common = common.lcm(denominator)
        V[j, k] = common
        for i, (numerator, denominator) in zip(lead, fractions, strict=True):
            if numerator:
                V[i, k] = -numerator * (common // denominator)
    return V


_SHORT = 1 << 31  # numerators and denominators that are told from their residues modulo the prime


def _fraction(residue: int) -> tuple[int, int] | None:
    """Return the fraction of numbers below 2**31 that a residue modulo the prime stands for (Wang 1981)."""
    if residue < _SHORT:
        return residue, 1
    if PRIME - residue < _SHORT:
        return residue - PRIME, 1
    r0, r1, t0, t1 = PRIME, residue, 0, 1
    while r1 >= _SHORT:
        q = r0 // r1
        r0, r1, t0, t1 = r1, r0 - q * r1, t1, t0 - q * t1
    if not 0 < abs(t1) < _SHORT:
        return None
    return (r1, t1) if t1 > 0 else (-r1, -t1)


def first_independent(A: Any) -> list[int]:
    """Return the first rows that all others depend on."""
    return leading(*nmod_mat(A, PRIME).transpose().rref()) if A.nrows() and A.ncols() else []


class Solver:
    """Rows that others are to be expressed by; what is needed for all of them is computed once."""

    def __init__(self, A: Any, clock: Clock) -> None:
        clock.check(2 * modular_operations(A))
        self.A, self.clock = A, clock
        self.rows = first_independent(A)
        self.columns = leading(*nmod_mat(A, PRIME).rref()) if self.rows else []
        self.square = select(A, self.rows, self.columns).transpose()

    def express(self, targets: Any) -> tuple[Any, list[Any]]:
        """Return integers and denominators: row ``k`` of the first times ``A`` is ``q[k]`` times target ``k``.

        Solved modulo a prime, which is right if the fractions are short, and checked; else over the integers.
        """
        m = targets.nrows()
        if not self.rows:
            return fmpz_mat(m, self.A.nrows()), [fmpz(1)] * m
        table = targets.tolist()
        right = fmpz_mat(len(self.columns), m, [row[j] for j in self.columns for row in table])
        solved = nmod_mat(self.square, PRIME).solve(nmod_mat(right, PRIME))
        factors, common = fmpz_mat(m, self.A.nrows()), [fmpz(1)] * m
        for k in range(m):
            self.clock.check()
            fractions = [_fraction(int(solved[i, k])) for i in range(len(self.rows))]
            if any(each is None for each in fractions):
                return self._exactly(right)
            self._put(factors, common, k, [fmpq(*each) for each in fractions if each is not None])
        total = fmpz_mat(m, targets.ncols(), [common[k] * value for k, row in enumerate(table) for value in row])
        return (factors, common) if factors * self.A == total else self._exactly(right)

    def _exactly(self, right: Any) -> tuple[Any, list[Any]]:
        self.clock.check(operations(self.square))
        m = right.ncols()
        factors, common = fmpz_mat(m, self.A.nrows()), [fmpz(1)] * m
        solved = self.square.solve(right)
        for k in range(m):
            self.clock.check()
            self._put(factors, common, k, [solved[i, k] for i in range(len(self.rows))])
        return factors, common

    def _put(self, factors: Any, common: list[Any], k: int, fractions: list[Any]) -> None:
        for each in fractions:
            common[k] = common[k].lcm(each.q)
        for i, each in zip(self.rows, fractions, strict=True):
            factors[k, i] = each.p * (common[k] // each.q)


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
    parts, exponents = np.zeros((M.nrows(), M.ncols())), np.zeros((M.nrows(), M.ncols()), dtype=np.int64)
    for i, row in enumerate(M.tolist()):
        for j, value in enumerate(row):
            if value:
                number = int(value)
                size = number.bit_length()
                parts[i, j] = math.ldexp(number >> (size - 64), -64) if size > 64 else math.ldexp(number, -size)
                exponents[i, j] = size
    return parts, exponents
