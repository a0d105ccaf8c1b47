"""A system of inequalities ``z·g >= 0`` and equations ``z·g = 0``, in exact form.

The rows are data of two or more classes (a class is the sign of its rows, or Kesler's differences), so that no row is
copied or rounded. Unknowns are the weights themselves or, through an integer ``basis``, what the weights are made of:
differences of two rows (``(g, -g)`` on the two side by side) and numbers too long for one cell (a high and a low part)
become exact this way. An inequality has the number ``row * classes + rival``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq, fmpz, fmpz_mat, nmod_mat

from linsep.clock import Clock
from linsep.problem import Array, Dense
from linsep.prove.claims import Data
from linsep.prove.exact import algebra
from linsep.prove.exact.algebra import PRIME
from linsep.prove.exact.modular import vanishing
from linsep.prove.verdicts.exact_view import pair_signs
from linsep.prove.verdicts.integer_rows import integer_rows

_EXACT = 2.0**53  # integers below are floats
_SMALL = 26  # bits of numbers whose sums with random factors are floats
_SPARE = 16  # rows beyond the rank that a sample has


class System:
    """Rows with signs, which of them are equations, and the unknowns that their weights are made of."""

    def __init__(self, data: Data, equal: Array, basis: Any = None, clock: Clock | None = None) -> None:
        self.data, self.equal, self.basis, self.clock = data, equal, basis, clock or Clock()
        self.block = data.n_features + data.offset
        self.unknowns = int(basis.ncols()) if basis is not None else (data.classes - 1) * self.block

    @cached_property
    def ids(self) -> Array:
        """The numbers of all inequalities and equations."""
        C = self.data.classes
        if C == 2:
            return np.arange(len(self.data.y)) * 2 + 1 - self.data.y
        i, rival = np.divmod(np.arange(len(self.data.y) * C), C)
        return np.flatnonzero(self.data.y[i] != rival)

    def is_equation(self, ids: Array) -> Array:
        """Return which of the numbers are equations."""
        found: Array = self.equal[ids // self.data.classes]
        return found

    def within(self, columns: list[int]) -> System:
        """Return the same system with all unknowns but some set to zero."""
        if len(columns) == self.unknowns:
            return self
        return self.through(
            fmpz_mat(self.unknowns, len(columns), [int(i == j) for i in range(self.unknowns) for j in columns])
        )

    def through(self, M: Any) -> System:
        """Return the same system in other unknowns, of which ``M`` makes the present ones."""
        return System(self.data, self.equal, M if self.basis is None else self.basis * M, self.clock)

    def rows(self, ids: Array) -> tuple[Any, list[int]]:
        """Return rows as integers in the unknowns, each times a power of two, and the exponents left out."""
        self.clock.check()
        if len(ids) == 0:
            return fmpz_mat(0, self.unknowns), []
        matrix, shifts = self._whole(ids)
        if matrix is None:
            matrix, shifts = integer_rows(self.data, ids, self.clock)
        return (matrix if self.basis is None else matrix * self.basis), shifts

    def _whole(self, ids: Array) -> tuple[Any, list[int]]:
        """Return rows of integers at once, without looking at every cell; None if some cell is no integer."""
        data = self.data
        if data.classes != 2 or not isinstance(data.rows, Dense):
            return None, []
        x = data.rows.data[ids // 2]
        shifts = [0] * len(ids)
        if x.dtype.kind == "f":
            if not (np.abs(x).max(initial=0.0) < _EXACT and (x == np.rint(x)).all()):
                return None, []
            x = x.astype(np.int64)
            if not data.offset:  # a row has one power of two, whichever rows it is written out with
                x, shifts = _without_twos(x)
        elif x.dtype == np.uint64:
            return None, []
        table = np.ones((len(ids), self.block), dtype=np.int64)
        table[:, : data.n_features] = x
        if data.y[ids // 2].min(initial=1) == 0:
            if len(table) and table.min() == np.iinfo(np.int64).min:
                return None, []
            table *= np.where(data.y[ids // 2] == 1, 1, -1)[:, None]
        return fmpz_mat(len(ids), self.block, table.ravel().tolist()), shifts

    def zero_rows(self) -> Array:
        """Return which rows of the data are zero in every column."""
        rows, n = self.data.rows, len(self.data.y)
        if self.data.offset:
            return np.zeros(n, dtype=bool)
        if isinstance(rows, Dense):
            return np.asarray(~rows.data.any(axis=1))
        lines = np.repeat(np.arange(n), np.diff(rows.indptr).astype(np.intp))
        return np.asarray(np.bincount(lines[rows.data != 0], minlength=n) == 0)

    def weights(self, g: Any) -> Any:
        """Return the weights in the columns of the data that unknowns, a column, stand for."""
        return g if self.basis is None else self.basis * g

    def vanish(self, V: Any, rng: np.random.Generator) -> Array:
        """Return by number which rows are zero on all columns of a matrix: almost surely.

        Small numbers are summed up exactly, three times with random factors; else residues of one sum tell.
        """
        self.clock.check()
        k = V.ncols()
        size = max((int(value.bit_length()) for row in self.weights(V).tolist() for value in row), default=0)
        if size <= _SMALL or self.data.rows.data.dtype == np.uint64:
            found = np.ones(len(self.data.y) * self.data.classes, dtype=bool)
            for _ in range(3 if k > 1 else 1):
                factors = rng.integers(1, 2**22, k).tolist() if k > 1 else [1]
                found &= self.signs(V * column(factors)) == 0
            return found
        return vanishing(self.data, self.weights(V * column(rng.integers(1, 2**62, k).tolist()))).ravel()

    def signs(self, g: Any) -> Array:
        """Return by number the exact sign of every row on unknowns, a column."""
        self.clock.check()
        data, w = self.data, self.weights(g)
        if isinstance(data.rows, Dense) and data.classes == 2:
            values = entries(w)
            used = [j for j in range(data.n_features) if values[j]]
            if 0 < len(used) <= data.n_features // 4:  # the other columns do not matter
                part = Dense(np.ascontiguousarray(data.rows.data[:, used]))
                data = data._replace(rows=part, n_features=len(used))
                w = column([values[j] for j in [*used, *range(self.data.n_features, len(values))]])
        return pair_signs(data, w).ravel()


def _without_twos(x: Array) -> tuple[Array, list[int]]:
    """Return integer rows without their common powers of two, and the exponents of these, as ``integer_rows`` does."""
    bits = np.bitwise_or.reduce(x, axis=1) if x.shape[1] else np.zeros(len(x), dtype=np.int64)
    lowest = np.where(bits == 0, 1, bits & -bits)
    return x // lowest[:, None], (np.frexp(lowest.astype(np.float64))[1] - 1).tolist()


def column(values: list[Any]) -> Any:
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
    clock.check(algebra.modular_seconds(A))
    reduced, rank = nmod_mat(A, PRIME).rref() if A.nrows() else (None, 0)
    lead = algebra.leading(reduced, rank)
    free = sorted(set(range(n)) - set(lead))
    clock.check()
    V = _reconstructed(reduced, lead, free, n, clock)
    if V is None or (A.nrows() and free and fmpz_mat(A.nrows(), len(free)) != A * V):
        clock.check(algebra.seconds(A))
        V = algebra.null_basis(A)
    if order != list(range(n)):
        table = V.tolist()
        V = fmpz_mat(n, len(free), [value for j in range(n) for value in table[place[j]]])
    return sorted(order[j] for j in lead), V


def _reconstructed(reduced: Any, lead: list[int], free: list[int], n: int, clock: Clock) -> Any:
    """Return the null space that an echelon form modulo a prime shows, with short fractions; None if there are none."""
    V = fmpz_mat(n, len(free))
    for k, j in enumerate(free):
        clock.check()
        fractions = []
        for i in range(len(lead)):
            found = _fraction(int(reduced[i, j])) if lead[i] < j else (0, 1)
            if found is None:
                return None
            fractions.append(found)
        common = fmpz(1)
        for _, denominator in fractions:
            common = common.lcm(denominator)
        V[j, k] = common
        for i, (numerator, denominator) in zip(lead, fractions, strict=True):
            if numerator:
                V[i, k] = -numerator * (common // denominator)
    return V


_SHORT = 1 << 31


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


def span(system: System, ids: Array, order: list[int], rng: np.random.Generator) -> tuple[Array, list[int], Any]:
    """Return some rows that all of the given ones depend on, independent columns, and a basis of their null space.

    The columns are the first possible in ``order``; that all rows depend on the ones returned is almost sure.
    """
    q = system.unknowns
    chosen = ids if len(ids) <= 3 * q + _SPARE else np.sort(rng.choice(ids, q + _SPARE, replace=False))
    while True:
        A, _ = system.rows(chosen)
        columns, V = echelon(A, order, system.clock)
        if V.ncols() == 0 or len(chosen) == len(ids):
            return chosen, columns, V
        off = ids[~system.vanish(V, rng)[ids]]
        if len(off) == 0:
            return chosen, columns, V
        chosen = chosen[first_independent(A)]
        most = V.ncols() + _SPARE
        chosen = np.concatenate((chosen, rng.choice(off, most, replace=False) if len(off) > most else off))


def first_independent(A: Any) -> list[int]:
    """Return the first rows that all others depend on."""
    return algebra.leading(*nmod_mat(A, PRIME).transpose().rref()) if A.nrows() and A.ncols() else []


class Solver:
    """Rows that others are to be expressed by; what is needed for all of them is computed once."""

    def __init__(self, A: Any, clock: Clock) -> None:
        clock.check(2 * algebra.modular_seconds(A))
        self.A, self.clock = A, clock
        self.rows = first_independent(A)
        self.columns = algebra.leading(*nmod_mat(A, PRIME).rref()) if self.rows else []
        self.square = algebra.select(A, self.rows, self.columns).transpose()

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
        found, common = fmpz_mat(m, self.A.nrows()), [fmpz(1)] * m
        for k in range(m):
            self.clock.check()
            fractions = [_fraction(int(solved[i, k])) for i in range(len(self.rows))]
            if any(each is None for each in fractions):
                return self._exactly(right)
            self._put(found, common, k, [fmpq(*each) for each in fractions if each is not None])
        total = fmpz_mat(m, targets.ncols(), [common[k] * value for k, row in enumerate(table) for value in row])
        return (found, common) if found * self.A == total else self._exactly(right)

    def _exactly(self, right: Any) -> tuple[Any, list[Any]]:
        self.clock.check(algebra.seconds(self.square))
        m = right.ncols()
        found, common = fmpz_mat(m, self.A.nrows()), [fmpz(1)] * m
        solved = self.square.solve(right)
        for k in range(m):
            self.clock.check()
            self._put(found, common, k, [solved[i, k] for i in range(len(self.rows))])
        return found, common

    def _put(self, found: Any, common: list[Any], k: int, fractions: list[Any]) -> None:
        for each in fractions:
            common[k] = common[k].lcm(each.q)
        for i, each in zip(self.rows, fractions, strict=True):
            found[k, i] = each.p * (common[k] // each.q)
