"""Decides whether a linear function ``c·β`` is finite, infinite or undetermined, with evidence.

Given the face of a system (``cone``): ``c`` is finite when it is zero on the linear hull of ``C``. Otherwise it is
``+inf`` when ``c`` is in the cone of the rows, ``-inf`` when ``-c`` is, and else undetermined. A generic ``g`` is
positive on every separated row, so its sign on ``c`` tells which of the two to ask for; and if ``c·g = 0``, neither is
the case.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import fmpz_mat

from linsep.problem import Array
from linsep.prove.core.constraints import TableConstraints
from linsep.prove.core.facial_reduction import solve
from linsep.prove.numbers.algebra import entries, one_column, primitive
from linsep.prove.regression.cone import ConeCombination, RegressionFace

FINITE, UP, DOWN, UNDETERMINED, ALIASED = "finite", "+inf", "-inf", "undetermined", "aliased"
_POOL = 2000  # different inequalities that are all kept in view


class Status(NamedTuple):
    """A status with what proves it: rows that combine to ``c`` or ``-c``, or two directions."""

    status: str
    combination: ConeCombination | None = None
    directions: tuple[list[int], list[int]] | None = None  # positive and negative on c, both in C


class _Answer(NamedTuple):
    """Whether a target is in the cone: multipliers of integer rows, or a direction that is negative on it."""

    rows: Array
    multipliers: list[Fraction]
    direction: list[int] | None


class Statuses:
    """Answers for one face; vectors are in the unknowns of its columns."""

    def __init__(self, face: RegressionFace) -> None:
        self.face, self.system = face, face.system
        self.rng = np.random.default_rng(0)
        self._known: dict[tuple[int, ...], _Answer] = {}
        self._hull = [[int(value) for value in row] for row in face.span.tolist()]
        self.pool: Array = np.empty(0, dtype=np.intp)
        if face.dimension > 1:
            self.pool = self._first()
            self._gather()

    # -----------------------------------------------------------------------------------------------------------
    # The status

    def status(self, c: dict[int, int]) -> str:
        """Return the status of a function of integer coefficients, by column."""
        return self._decided(c)[0]

    def proved(self, c: dict[int, int]) -> Status:
        """Return the status of a function of integer coefficients with its evidence."""
        status, target, answer = self._decided(c)
        face = self.face
        if status == FINITE:
            return Status(status, self.combined(c, np.empty(0, dtype=np.intp), []))
        if status == UNDETERMINED:
            return Status(status, None, self._both(c, target, answer))
        sign = 1 if status == UP else -1
        goal = {k: sign * value for k, value in c.items()}
        if answer is None:  # one dimension: any separated row will do
            ids = np.flatnonzero(face.separated)[:1]
            A, _ = self.system.rows(ids)
            per_row = int((A * one_column(face.direction))[0, 0])
            found = [Fraction(_dot(goal, face.direction), per_row)]
        else:
            ids, found = answer.rows, answer.multipliers
        return Status(status, self.combined(goal, ids, found))

    def _decided(self, c: dict[int, int]) -> tuple[str, list[int], _Answer | None]:
        self.system.clock.check()
        target = [0] * self.face.dimension
        for k, value in c.items():
            target = [a + value * b for a, b in zip(target, self._hull[k], strict=True)]
        if not any(target):
            return FINITE, target, None
        height = _dot(c, self.face.direction)
        if height == 0:
            return UNDETERMINED, target, None
        sign = 1 if height > 0 else -1
        if self.face.dimension == 1:
            return (UP if sign > 0 else DOWN), target, None
        answer = self.member([sign * value for value in target])
        if answer.direction is not None:
            return UNDETERMINED, target, answer
        return (UP if sign > 0 else DOWN), target, answer

    def _both(self, c: dict[int, int], target: list[int], answer: _Answer | None) -> tuple[list[int], list[int]]:
        """Return directions in ``C`` that are positive and negative on ``c``."""
        g = self.face.direction
        if answer is not None:
            assert answer.direction is not None
            return (g, answer.direction) if _dot(c, g) > 0 else (answer.direction, g)
        k = next(k for k, value in enumerate(target) if value)
        v = [int(self.face.span[j, k]) for j in range(len(g))]
        sign = 1 if target[k] > 0 else -1
        times = 1
        while True:  # the generic direction is positive on all that v may be negative on
            up = [times * a + sign * b for a, b in zip(g, v, strict=True)]
            down = [times * a - sign * b for a, b in zip(g, v, strict=True)]
            if all(not len(self._unmet(each)) for each in (up, down)):
                return primitive(up), primitive(down)
            times *= 4

    # -----------------------------------------------------------------------------------------------------------
    # Combinations of rows

    def combined(self, c: dict[int, int], ids: Array, multipliers: list[Fraction]) -> ConeCombination:
        """Return rows that combine to ``c``: some given with multipliers of their integer rows, and rows of N."""
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
    # Is a target in the cone of the separated rows, in the unknowns of the subspace?

    def _first(self) -> Array:
        """Return different separated rows to begin with: all if there are not many."""
        ids = np.flatnonzero(self.face.separated)
        if len(ids) <= _POOL:
            return ids
        return np.sort(self.rng.choice(ids, min(_POOL, 4 * self.face.dimension + 8), replace=False))

    def _gather(self) -> None:
        """Write out the rows of the pool, without those that are multiples of others."""
        A = self.system.rows(self.pool)[0] * self.face.span
        seen: dict[tuple[int, ...], int] = {}
        for k, row in enumerate(A.tolist()):
            self.system.clock.check()
            seen.setdefault(tuple(primitive([int(value) for value in row])), k)
        kept = sorted(seen.values())
        self.pool = self.pool[kept]
        self._places = {row: place for place, row in enumerate(sorted(seen, key=seen.__getitem__))}
        table = A.tolist()
        self.table = TableConstraints(fmpz_mat([table[k] for k in kept]), clock=self.system.clock)

    def member(self, target: list[int]) -> _Answer:
        """Decide whether a target, on which the generic direction is positive, is in the cone."""
        key = tuple(primitive(target))
        if key not in self._known:
            self._known[key] = self._member(list(key))
        answer = self._known[key]
        if answer.direction is not None:
            return answer
        factor = next(Fraction(a, b) for a, b in zip(target, key, strict=True) if b)
        return _Answer(answer.rows, [factor * m for m in answer.multipliers], None)

    def _member(self, target: list[int]) -> _Answer:
        """Ask the core for a direction that is positive on the pool and negative on the target.

        The separated rows cannot cancel among themselves, so that rows that cancel hold the target.
        """
        if tuple(target) in self._places:
            return _Answer(self.pool[[self._places[tuple(target)]]], [self._unit_of(target)], None)
        while True:
            found = solve(self.table.with_row([-value for value in target]), any_contradiction=True)
            last = len(self.pool)
            if len(found.ids):
                weights = dict(zip(found.ids.tolist(), found.multipliers, strict=True))
                total = weights.pop(last)
                rows = sorted(weights)
                return _Answer(self.pool[rows], [weights[k] / total for k in rows], None)
            direction = primitive(entries(self.face.span * found.g))
            more = self._unmet(direction)
            if len(more) == 0:
                return _Answer(self.pool[:0], [], direction)
            most = 2 * self.face.dimension + 8
            more = self.rng.choice(more, most, replace=False) if len(more) > most else more
            self.pool = np.concatenate((self.pool, more))
            self._gather()

    def _unit_of(self, target: list[int]) -> Fraction:
        """Return by how much the row of the pool that is a multiple of a target has to be multiplied."""
        row = self.table.lines[self._places[tuple(target)]]
        return next(Fraction(value, int(other)) for value, other in zip(target, row, strict=True) if value)

    def _unmet(self, direction: list[int]) -> Array:
        """Return the separated rows that are not positive on a direction."""
        signs = self.system.signs(one_column(direction))
        return np.flatnonzero((signs <= 0) & self.face.separated)


def _dot(c: dict[int, int], g: list[int]) -> int:
    return sum(value * g[k] for k, value in c.items())
