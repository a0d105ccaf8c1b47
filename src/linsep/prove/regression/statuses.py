"""Decides whether a linear function ``c·β`` is finite, infinite or undetermined, with evidence.

Given the face of a system (``cone``): ``c`` is finite when it is zero on the linear hull of ``C``. Otherwise it is
``+inf`` when ``c`` is in the cone of the rows, ``-inf`` when ``-c`` is, and else undetermined. A generic ``g`` is
positive on every separated row, so its sign on ``c`` tells which of the two to ask for; and if ``c·g = 0``, neither is
the case.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import fmpz_mat

from linsep.problem import Array
from linsep.prove.core.constraints import TableConstraints
from linsep.prove.core.facial_reduction import solve
from linsep.prove.linear_algebra.algebra import entries, one_column, primitive
from linsep.prove.regression.cone import ConeCombination, RegressionFace

FINITE, UP, DOWN, UNDETERMINED, ALIASED = "finite", "+inf", "-inf", "undetermined", "aliased"
_POOL = 2000  # different inequalities that are all kept in view


class Status(NamedTuple):
    """A status with what proves it: rows that combine to ``c`` or ``-c``, or two directions."""

    status: str
    combination: ConeCombination | None = None
    directions: tuple[list[int], list[int]] | None = None  # positive and negative on c, both in C


class _Membership(NamedTuple):
    """Whether a target is in the cone: multipliers of integer rows, or a direction that is negative on it."""

    rows: Array
    multipliers: list[Fraction]
    direction: list[int] | None = None


class Statuses:
    """Answers for one face; vectors are in the unknowns of its columns."""

    def __init__(self, face: RegressionFace) -> None:
        self.face, self.system = face, face.system
        self.rng = np.random.default_rng(0)
        self._known: dict[tuple[int, ...], _Membership] = {}
        self._hull = [[int(value) for value in row] for row in face.span.tolist()]
        if face.dimension:
            ids = np.flatnonzero(face.separated)
            few = 1 if face.dimension == 1 else 4 * face.dimension + 8
            few = few if few == 1 or len(ids) > _POOL else len(ids)
            self._gather(np.sort(self.rng.choice(ids, few, replace=False)))

    def status(self, c: dict[int, int]) -> str:
        """Return the status of a function of integer coefficients, by column."""
        return self._decided(c)[0]

    def _decided(self, c: dict[int, int]) -> tuple[str, list[int], _Membership | None]:
        """Return the status of a function, its values on the hull, and whether it, or its opposite, is in the cone."""
        self.system.clock.check()
        target = [0] * self.face.dimension
        for k, value in c.items():
            target = [a + value * b for a, b in zip(target, self._hull[k], strict=True)]
        if not any(target):
            return FINITE, target, None
        slope = _dot(c, self.face.direction)
        if slope == 0:
            return UNDETERMINED, target, None
        sign = 1 if slope > 0 else -1
        key = tuple(primitive([sign * value for value in target]))
        if key not in self._known:
            self._known[key] = self._member(key)
        found = self._known[key]
        return UNDETERMINED if found.direction is not None else UP if sign > 0 else DOWN, target, found

    def proved(self, c: dict[int, int]) -> Status:
        """Return the status of a function of integer coefficients with its evidence."""
        status, target, found = self._decided(c)
        if status == UNDETERMINED:
            return Status(status, None, self._both(c, target, found))
        sign = -1 if status == DOWN else 1
        rows, multipliers, _ = found or _Membership(np.empty(0, dtype=np.intp), [])
        factor = math.gcd(*target)  # that the question to the core leaves out
        goal = {k: sign * value for k, value in c.items()}
        return Status(status, self._combined(goal, rows, [factor * m for m in multipliers]))

    def _both(self, c: dict[int, int], target: list[int], found: _Membership | None) -> tuple[list[int], list[int]]:
        """Return directions in ``C`` that are positive and negative on ``c``."""
        g = self.face.direction
        if found is not None:
            assert found.direction is not None
            return (g, found.direction) if _dot(c, g) > 0 else (found.direction, g)
        k = next(k for k, value in enumerate(target) if value)
        sign = 1 if target[k] > 0 else -1
        times = 1
        while True:  # the generic direction is positive on all that a vector of the hull may be negative on
            up = [times * a + sign * row[k] for a, row in zip(g, self._hull, strict=True)]
            down = [times * a - sign * row[k] for a, row in zip(g, self._hull, strict=True)]
            if all(not len(self._unmet(each)) for each in (up, down)):
                return primitive(up), primitive(down)
            times *= 4

    def _combined(self, c: dict[int, int], ids: Array, multipliers: list[Fraction]) -> ConeCombination:
        """Return rows that combine to ``c``: some with known multipliers of their integer rows, and rows of N."""
        system, rest = self.system, self.face.contradiction
        A, shifts = system.rows(ids)
        left = {k: Fraction(value) for k, value in c.items()}
        for row, m in zip(A.tolist(), multipliers, strict=True):
            system.clock.check()
            for j, value in enumerate(row):
                if value:
                    left[j] = left.get(j, Fraction(0)) - m * int(value)
        found = self.face.express({j: value for j, value in left.items() if value})
        if len(ids):
            weights = dict(zip(rest.rows.tolist(), rest.multipliers, strict=True))
            free = dict(zip(rest.rows.tolist(), system.is_equation(rest.rows).tolist(), strict=True))
            short = [-m / weights[i] for i, m in found.items() if not free[i] and m < 0]
            if short:  # the contradiction adds nothing, as often as it takes
                times = max(short)
                found = {i: found.get(i, Fraction(0)) + times * weight for i, weight in weights.items()}
        pairs = list(found.items())
        pairs += [(i, m / Fraction(2) ** shift) for i, m, shift in zip(ids.tolist(), multipliers, shifts, strict=True)]
        pairs = sorted((i, m) for i, m in pairs if m)
        return ConeCombination(np.array([i for i, _ in pairs], dtype=np.intp), [m for _, m in pairs])

    # -----------------------------------------------------------------------------------------------------------
    # Is a target in the cone of the separated rows, in the unknowns of the hull?

    def _gather(self, pool: Array) -> None:
        """Write out some separated rows in the unknowns of the hull, without those that are multiples of others."""
        lines = (self.system.rows(pool)[0] * self.face.span).tolist()
        self._places: dict[tuple[int, ...], int] = {}
        kept: list[int] = []
        for k, row in enumerate(lines):
            self.system.clock.check()
            key = tuple(primitive([int(value) for value in row]))
            if key not in self._places:
                self._places[key] = len(kept)
                kept.append(k)
        self.pool = pool[kept]
        self.table = TableConstraints(fmpz_mat([lines[k] for k in kept]), clock=self.system.clock)

    def _member(self, target: tuple[int, ...]) -> _Membership:
        """Ask the core for a direction that is positive on all separated rows and negative on the target.

        The separated rows cannot cancel among themselves, so that rows that cancel hold the target.
        """
        while True:
            place = self._places.get(target)
            if place is not None:  # it is a multiple of a row
                times = next(Fraction(a, int(b)) for a, b in zip(target, self.table.lines[place], strict=True) if a)
                return _Membership(self.pool[[place]], [times])
            found = solve(self.table.with_row([-value for value in target]), any_contradiction=True)
            if len(found.ids):
                weights = dict(zip(found.ids.tolist(), found.multipliers, strict=True))
                total = weights.pop(len(self.pool))
                return _Membership(self.pool[sorted(weights)], [weights[k] / total for k in sorted(weights)])
            direction = primitive(entries(self.face.span * found.g))
            more = self._unmet(direction)
            if len(more) == 0:
                return _Membership(more, [], direction)
            most = 2 * self.face.dimension + 8
            more = self.rng.choice(more, most, replace=False) if len(more) > most else more
            self._gather(np.concatenate((self.pool, more)))

    def _unmet(self, direction: list[int]) -> Array:
        """Return the separated rows that are not positive on a direction."""
        signs = self.system.signs(one_column(direction))
        return np.flatnonzero((signs <= 0) & self.face.separated)


def _dot(c: dict[int, int], g: list[int]) -> int:
    return sum(value * g[k] for k, value in c.items())
