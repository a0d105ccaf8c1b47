"""Decides whether a linear function ``c·β`` is finite, infinite or undetermined, with evidence.

Given the face of a system (``cone``): ``c`` is finite when it is zero on the linear hull of ``C``. Otherwise it is
``+inf`` when ``c`` is in the cone of the rows, ``-inf`` when ``-c`` is, and else undetermined. A generic ``g`` is
positive on every separated row, so its sign on ``c`` tells which of the two to ask for; and if ``c·g = 0``, neither is
the case.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz_mat

from linsep.errors import DataError
from linsep.problem import Array
from linsep.prove.core.constraints import TableConstraints
from linsep.prove.core.facial_reduction import solve
from linsep.prove.linear_algebra.algebra import entries, one_column, primitive
from linsep.prove.regression.cone import ConeCombination, RegressionFace
from linsep.prove.regression.table import unknown

FINITE, UP, DOWN, UNDETERMINED, ALIASED = "finite", "+inf", "-inf", "undetermined", "aliased"

_NUMBER = r"(?>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"  # whole: not the first digits of a longer one
_FACTOR = rf"({_NUMBER})\s*(?:/\s*({_NUMBER})\s*)?\*?\s*"
_SIGN = r"\s*([+-]?)\s*"


class Status(NamedTuple):
    """A status with what proves it: rows that combine to ``c`` or ``-c``, or two directions."""

    status: str
    combination: ConeCombination | None = None
    directions: tuple[list[int], list[int]] | None = None  # positive and negative on c, both in C


class Statuses:
    """Answers for one face; vectors are in the unknowns of its columns."""

    def __init__(self, face: RegressionFace) -> None:
        self.face, self.system = face, face.system
        self.rng = np.random.default_rng(0)
        self._answers: dict[tuple[int, ...], ConeCombination | list[int]] = {}
        self._hull = [[int(value) for value in row] for row in face.span.tolist()]
        if face.dimension:
            ids = np.flatnonzero(face.separated)
            some = min(len(ids), 4 * face.dimension + 8)  # and those that a direction misses
            self._gather(np.sort(self.rng.choice(ids, some, replace=False)))

    def status(self, c: dict[int, int]) -> str:
        """Return the status of a function of integer coefficients, by column."""
        return self._decided(c)[0]

    def proved(self, c: dict[int, int]) -> Status:
        """Return the status of a function of integer coefficients with its evidence."""
        status, target, answer = self._decided(c)
        if status == UNDETERMINED:
            return Status(status, None, self._opposite_directions(c, target, answer))
        sign = -1 if status == DOWN else 1
        goal = {k: sign * value for k, value in c.items()}
        if not isinstance(answer, ConeCombination):
            return Status(status, self._combined(goal, np.empty(0, dtype=np.intp), []))
        factor = math.gcd(*target)  # that the question to the core leaves out
        return Status(status, self._combined(goal, answer.rows, [factor * m for m in answer.multipliers]))

    def _decided(self, c: dict[int, int]) -> tuple[str, list[int], ConeCombination | list[int] | None]:
        """Return the status of a function, its values on the hull, and the answer of the core, if it was asked."""
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
        if key not in self._answers:
            self._answers[key] = self._member(key)
        answer = self._answers[key]
        return UNDETERMINED if isinstance(answer, list) else UP if sign > 0 else DOWN, target, answer

    def _opposite_directions(self, c: dict[int, int], target: list[int], answer: Any) -> tuple[list[int], list[int]]:
        """Return directions in ``C`` that are positive and negative on ``c``."""
        g = self.face.direction
        if answer is not None:
            return (g, answer) if _dot(c, g) > 0 else (answer, g)
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
        others = self.face.express({j: value for j, value in left.items() if value})
        if len(ids):
            weights = dict(zip(rest.rows.tolist(), rest.multipliers, strict=True))
            free = dict(zip(rest.rows.tolist(), system.is_equation(rest.rows).tolist(), strict=True))
            times = max((-m / weights[i] for i, m in others.items() if not free[i]), default=Fraction(0))
            if times > 0:  # the contradiction adds nothing, as often as it takes
                others = {i: others.get(i, Fraction(0)) + times * weight for i, weight in weights.items()}
        pairs = list(others.items())
        pairs += [(i, m / Fraction(2) ** shift) for i, m, shift in zip(ids.tolist(), multipliers, shifts, strict=True)]
        pairs = sorted((i, m) for i, m in pairs if m)
        return ConeCombination(np.array([i for i, _ in pairs], dtype=np.intp), [m for _, m in pairs])

    # -----------------------------------------------------------------------------------------------------------
    # Is a target in the cone of the separated rows, in the unknowns of the hull?

    def _gather(self, pool: Array) -> None:
        """Write out some separated rows in the unknowns of the hull, without those that are multiples of others."""
        lines = (self.system.rows(pool)[0] * self.face.span).tolist()
        self._lines: dict[tuple[int, ...], int] = {}
        kept: list[int] = []
        for k, row in enumerate(lines):
            self.system.clock.check()
            key = tuple(primitive([int(value) for value in row]))
            if key not in self._lines:
                self._lines[key] = len(kept)
                kept.append(k)
        self.pool = pool[kept]
        self.table = TableConstraints(fmpz_mat([lines[k] for k in kept]), clock=self.system.clock)

    def _member(self, target: tuple[int, ...]) -> ConeCombination | list[int]:
        """Return rows that combine to the target, or a direction positive on all separated rows and negative on it.

        The separated rows cannot cancel among themselves, so that rows that cancel hold the target.
        """
        while True:
            line = self._lines.get(target)
            if line is not None:  # it is a multiple of a row
                times = next(Fraction(a, int(b)) for a, b in zip(target, self.table.lines[line], strict=True) if a)
                return ConeCombination(self.pool[[line]], [times])
            outcome = solve(self.table.with_row([-value for value in target]), any_contradiction=True)
            if len(outcome.ids):
                weights = dict(zip(outcome.ids.tolist(), outcome.multipliers, strict=True))
                total = weights.pop(len(self.pool))
                return ConeCombination(self.pool[sorted(weights)], [weights[k] / total for k in sorted(weights)])
            direction = primitive(entries(self.face.span * outcome.g))
            more = self._unmet(direction)
            if len(more) == 0:
                return direction
            most = 2 * self.face.dimension + 8
            more = self.rng.choice(more, most, replace=False) if len(more) > most else more
            self._gather(np.concatenate((self.pool, more)))

    def _unmet(self, direction: list[int]) -> Array:
        """Return the separated rows that are not positive on a direction."""
        signs = self.system.signs(one_column(direction))
        return np.flatnonzero((signs <= 0) & self.face.separated)


def _dot(c: dict[int, int], g: list[int]) -> int:
    return sum(value * g[k] for k, value in c.items())


# ---------------------------------------------------------------------------------------------------------------
# Functions as users write them: numbers, mappings, or texts like "2*a - b/3"


def contrast(c: Any, names: Sequence[str]) -> list[Fraction]:
    """Return the number by which every coefficient is multiplied."""
    if isinstance(c, str):
        c = _parsed(c, names)
    if isinstance(c, Mapping):
        numbers = [Fraction(0)] * len(names)
        for name, value in c.items():
            if name not in names:
                raise unknown(name, names, "coefficient")
            numbers[names.index(name)] += _exact(value)
        return numbers
    values = [_exact(value) for value in c]
    if len(values) != len(names):
        raise DataError("", f"a function of the coefficients needs {len(names)} numbers, got {len(values)}")
    return values


def _exact(value: Any) -> Fraction:
    try:
        return Fraction(value if isinstance(value, int | Fraction | Decimal | str) else float(value))
    except (TypeError, ValueError, OverflowError):
        raise DataError("", f"{value!r} is not a number") from None


def _parsed(text: str, names: Sequence[str]) -> dict[str, Fraction]:
    """Read terms: a sign, perhaps a number and ``*``, a name, perhaps ``/`` and a number."""
    if not text.strip():
        raise DataError("", "a function of the coefficients is empty")
    terms: dict[str, Fraction] = {}
    longest = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    term = re.compile(rf"{_SIGN}(?:{_FACTOR})??({longest})(?!\w)\s*(?:/\s*({_NUMBER}))?\s*")
    at = 0
    while at < len(text.rstrip()):
        sign = re.compile(_SIGN).match(text, at)
        assert sign is not None
        if at and not sign[1]:
            raise DataError("", f"{text!r}: a sign is missing before {text[at:]!r}")
        read = term.match(text, at)
        if read is None:
            factor = re.compile(f"(?:{_FACTOR})?").match(text, sign.end())
            assert factor is not None
            raise unknown(re.split(r"\s[+-]|\s*$", text[factor.end() :])[0], names, "coefficient")
        _, times, over, name, under = read.groups()
        value = Fraction(times or 1) / Fraction(over or 1) / Fraction(under or 1)
        terms[name] = terms.get(name, Fraction(0)) + (-value if sign[1] == "-" else value)
        at = read.end()
    return terms
