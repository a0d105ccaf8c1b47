"""Decides whether a linear function ``c·β`` is finite, infinite or undetermined, with evidence.

Given the face of a system (``cone``): ``c`` is finite when it is zero on the linear hull of ``C``. Otherwise it is
``+inf`` when ``c`` is in the cone of the rows, ``-inf`` when ``-c`` is, and else undetermined. A generic ``g`` is
positive on every separated row, so its sign on ``c`` tells which of the two to ask for; and if ``c·g = 0``, neither is
the case.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz_mat

from linsep.problem import Array, Floats
from linsep.prove.exact import algebra
from linsep.prove.regression.cone import Combination, Face, View, coordinates, whole
from linsep.prove.regression.systems import column, entries, primitive
from linsep.prove.verdicts.nearest_point import nearest_plane

FINITE, UP, DOWN, UNDETERMINED, ALIASED = "finite", "+inf", "-inf", "undetermined", "aliased"
_POOL = 2000  # different inequalities that are all kept in view
_NEAR = 1e-9  # relative distances that may be zero
_SMALL = 1e-10  # multipliers so much smaller than the largest
_BITS = (4, 12, 30)


class Status(NamedTuple):
    """A status with what proves it: rows that combine to ``c`` or ``-c``, or two directions."""

    status: str
    combination: Combination | None = None
    directions: tuple[list[int], list[int]] | None = None  # positive and negative on c, both in C


class _Answer(NamedTuple):
    """Whether a target is in the cone: multipliers of integer rows, or a direction that is negative on it."""

    rows: Array
    multipliers: list[Fraction]
    direction: list[int] | None


class Statuses:
    """Answers for one face; vectors are in the unknowns of its columns."""

    def __init__(self, face: Face) -> None:
        self.face, self.system = face, face.system
        self.rng = np.random.default_rng(0)
        self._known: dict[tuple[int, ...], _Answer] = {}
        self._hull = [[int(value) for value in row] for row in face.span.tolist()]
        self.view = View(face.system, face.span, face.separated)
        self.pool: Array = np.empty(0, dtype=np.intp)
        if face.dimension > 1:
            self.pool = self._first()
            self._gather()

    # -----------------------------------------------------------------------------------------------------------
    # The status

    def status(self, c: list[int]) -> str:
        """Return the status of a function of integer coefficients."""
        return self._decided(c)[0]

    def proved(self, c: list[int]) -> Status:
        """Return the status of a function of integer coefficients with its evidence."""
        status, target, answer = self._decided(c)
        face = self.face
        if status == FINITE:
            return Status(status, self.combined(c, np.empty(0, dtype=np.intp), []))
        if status == UNDETERMINED:
            return Status(status, None, self._both(c, target, answer))
        sign = 1 if status == UP else -1
        goal = [sign * value for value in c]
        if answer is None:  # one dimension: any separated row will do
            ids = np.flatnonzero(face.separated)[:1]
            A, _ = self.system.rows(ids)
            per_row = int((A * column(face.direction))[0, 0])
            found = [Fraction(_dot(goal, face.direction), per_row)]
        else:
            ids, found = answer.rows, answer.multipliers
        return Status(status, self.combined(goal, ids, found))

    def _decided(self, c: list[int]) -> tuple[str, list[int], _Answer | None]:
        self.system.clock.check()
        target = [0] * self.face.dimension
        for value, row in zip(c, self._hull, strict=True) if self.face.dimension else ():
            if value:
                target = [a + value * b for a, b in zip(target, row, strict=True)]
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

    def _both(self, c: list[int], target: list[int], answer: _Answer | None) -> tuple[list[int], list[int]]:
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
            if all(not len(self.view.unmet(column(each))) for each in (up, down)):
                return primitive(up), primitive(down)
            times *= 4

    # -----------------------------------------------------------------------------------------------------------
    # Combinations of rows

    def combined(self, c: list[int], ids: Array, multipliers: list[Fraction]) -> Combination:
        """Return rows that combine to ``c``: some given with multipliers of their integer rows, and rows of N."""
        system, rest = self.system, self.face.contradiction
        A, shifts = system.rows(ids)
        left = [Fraction(value) for value in c]
        for k, m in enumerate(multipliers):
            system.clock.check()
            left = [value - m * int(A[k, j]) for j, value in enumerate(left)]
        exact = [m / Fraction(2) ** shift for m, shift in zip(multipliers, shifts, strict=True)]
        others = self._from_rest(left)
        free = system.is_equation(rest.rows).tolist() if len(ids) else [True] * len(others)
        short = [-m / weight for m, weight, f in zip(others, rest.multipliers, free, strict=True) if not f and m < 0]
        if short:  # the contradiction adds nothing, as often as it takes
            times = max(short)
            others = [m + times * weight for m, weight in zip(others, rest.multipliers, strict=True)]
        pairs = [(int(i), m) for i, m in zip([*ids, *rest.rows], [*exact, *others], strict=True) if m]
        pairs.sort()
        return Combination(np.array([i for i, _ in pairs], dtype=np.intp), [m for _, m in pairs])

    def _from_rest(self, c: list[Fraction]) -> list[Fraction]:
        """Return multipliers of the rows of the contradiction, as given, whose sum is ``c``, which is in their span."""
        ids, _, shifts = self.face.rest
        found = [Fraction(0)] * len(ids)
        if any(c):
            numbers, scale = whole_with_scale(c)
            numerators, (q,) = self.face.solver.express(fmpz_mat(1, len(c), numbers))
            for k, shift in enumerate(shifts):
                if numerators[0, k]:
                    found[k] = Fraction(int(numerators[0, k])) * scale / (int(q) * Fraction(2) ** shift)
        order = np.argsort(ids, kind="stable")
        return [found[k] for k in order.tolist()]

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
        A = self.view.rows(self.pool)
        seen: dict[tuple[int, ...], int] = {}
        for k, row in enumerate(A.tolist()):
            self.system.clock.check()
            seen.setdefault(tuple(primitive([int(value) for value in row])), k)
        kept = sorted(seen.values())
        self.pool = self.pool[kept]
        table = A.tolist()
        self.A = fmpz_mat([table[k] for k in kept])
        self.Z = self.view.gather(self.pool)
        self.Z /= np.linalg.norm(self.Z, axis=1, keepdims=True)

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
        row = fmpz_mat(1, len(target), target)
        while True:
            self.system.clock.check()
            a = self._projected(row)
            answer = self._by_floats(row, a) or self._by_nearest_point(row) or self._exactly(row, a)
            if answer.direction is None:
                return answer
            more = self.view.unmet(column(answer.direction))
            if len(more) == 0:
                return answer
            most = 2 * self.face.dimension + 8
            more = self.rng.choice(more, most, replace=False) if len(more) > most else more
            self.pool = np.concatenate((self.pool, more))
            self._gather()

    def _projected(self, row: Any) -> Floats:
        """Return about the multipliers of the point of the cone that is nearest to the target."""
        from scipy.optimize import nnls  # a tenth of a second, which most questions do not need

        try:
            a: Floats = nnls(self.Z.T, self._scaled_row(row))[0]
        except RuntimeError:  # too many steps
            return np.zeros(len(self.Z))
        return a

    def _by_floats(self, row: Any, a: Floats) -> _Answer | None:
        """Tell from the nearest point whether the target is in the cone: what is left of it tells it from the cone."""
        t = self._scaled_row(row)
        if float(np.linalg.norm(self.Z.T @ a - t)) > _NEAR:
            return self._apart(row, t, a)
        for least in (_SMALL, 0.0):  # what rounding has left of a zero
            support = np.flatnonzero(a > least * a.max())
            found = self._inside(row, support[np.argsort(-a[support], kind="stable")])
            if found is not None:
                return found
        return None

    def _by_nearest_point(self, row: Any) -> _Answer | None:
        """Decide by Wolfe's algorithm in floats, which is slower and surer, on the rows and the target's opposite."""
        t = self._scaled_row(row)
        near = nearest_plane(np.vstack((self.Z, -t)), None, self.system.clock)
        if near.w.any() and near.lowest > 0:
            return self._checked(row, near.w / np.abs(near.w).max())
        support = near.support[near.support < len(self.Z)]
        return self._inside(row, support[np.argsort(-near.weights[support], kind="stable")])

    def _scaled_row(self, row: Any) -> Floats:
        """Return an integer row as floats in the scaled columns of the view, of norm 1."""
        from linsep.prove.verdicts.exact_view import _binary

        mantissas, exponents = _binary(row)
        assert self.view.column_exponents is not None
        exponents = np.where(mantissas != 0, exponents - self.view.column_exponents, -(10**9))
        t: Floats = np.ldexp(mantissas, np.maximum(exponents - exponents.max(), -2000).astype(np.int32))[0]
        return t / np.linalg.norm(t)

    def _inside(self, row: Any, support: Array) -> _Answer | None:
        """Solve exactly for multipliers of some rows of the pool; None if some would be negative."""
        if len(support) == 0:
            return None
        table = self.A.tolist()
        B = fmpz_mat([table[k] for k in support.tolist()])
        rows, _ = algebra.pivots(B)
        if len(rows) < len(support):
            support = support[rows]
            B = fmpz_mat([table[k] for k in support.tolist()])
        c, q = algebra.express(B, row)
        if min(c) < 0 or fmpz_mat(1, len(c), c) * B != q * row:
            return None
        kept = [k for k, value in enumerate(c) if value]
        return _Answer(self.pool[support[kept]], [Fraction(c[k], q) for k in kept], None)

    def _apart(self, row: Any, t: Floats, a: Floats) -> _Answer | None:
        """Return a direction that is positive on the pool and negative on the target; None if floats cannot tell."""
        u = self.Z.T @ a - t
        generic = self.view.scaled(fmpz_mat(1, self.face.dimension, self._generic))
        heights = self.Z @ generic
        along = float(t @ generic)
        if not (heights.min() > 0 and along > 0):
            return None
        u = u + 0.5 * float(u @ u) / along * generic
        return self._checked(row, u / np.abs(u).max())

    def _checked(self, row: Any, u: Floats) -> _Answer | None:
        """Return a direction near ``u``, of few digits, that exactly is positive on the pool and not on the target."""
        for bits in (*_BITS, 52):
            short = np.rint(u * 2.0**bits)
            if (self.Z @ short).min() <= 0:
                continue
            inner = self._coordinates(short)
            if _all_positive(self.A * inner) and int((row * inner)[0, 0]) < 0:
                return _Answer(self.pool[:0], [], primitive(entries(self.view.basis * inner)))
        return None

    def _coordinates(self, u: Floats) -> Any:
        """Return the integers, in the unknowns of the subspace, that floats in the scaled columns stand for."""
        assert self.view.column_exponents is not None
        places = -self.view.column_exponents
        lowest = int(places.min())
        whole_ = [int(v) << int(p - lowest) for v, p in zip(u.tolist(), places.tolist(), strict=True)]
        return column(whole_)

    @cached_property
    def _generic(self) -> list[int]:
        """The generic direction in the unknowns of the subspace."""
        return whole(coordinates(self.face.span, self.face.direction))

    def _exactly(self, row: Any, a: Floats) -> _Answer:
        """Decide by Wolfe's algorithm in rational numbers, which always ends, beginning with the nearest point."""
        m = self.A.nrows()
        joined = fmpz_mat([*self.A.tolist(), (-row).tolist()[0]])
        near = np.flatnonzero(a > _SMALL * a.max())
        start = np.append(1.0, a[near])
        x, found = algebra.nearest(joined, [m, *near.tolist()], start / start.sum(), self.system.clock)
        if found is None:
            return _Answer(self.pool[:0], [], primitive(entries(self.view.basis * x.transpose())))
        weights = dict(zip(found.rows.tolist(), found.multipliers, strict=True))
        last = weights.pop(m)  # the rows of the pool cannot cancel among themselves
        rows = sorted(weights)
        return _Answer(self.pool[rows], [Fraction(weights[k], last) for k in rows], None)


def whole_with_scale(values: list[Fraction]) -> tuple[list[int], Fraction]:
    """Return integers and the factor by which fractions are multiples of them."""
    numbers = whole(values)
    return numbers, next(Fraction(value) / n for value, n in zip(values, numbers, strict=True) if n)


def _dot(a: list[int], b: list[int]) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True) if x and y)


def _all_positive(M: Any) -> bool:
    return all(value > 0 for row in M.tolist() for value in row)
