"""Decides which inequalities of a system can be strict, by exact face reduction.

``C`` is the set of ``g`` with ``z·g >= 0`` for all inequalities and ``= 0`` for all equations. Its *separated* rows
``S`` are positive for some ``g`` in ``C``, the *rest* ``N`` for none. Found here:

- columns that all others depend on, the first possible in the order given;
- a *generic* ``g`` that is positive on all of ``S`` and zero on ``N``;
- few rows of ``N`` with positive multipliers that cancel (those of equations have any sign), and that span ``N``.

Level by level: the equations restrict ``g`` to their null space; rows that then vanish belong to ``N``; for the others
either some ``g`` is positive on all of them, or some cancel, which belong to ``N`` too and restrict ``g`` further.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat

from linsep.problem import Array
from linsep.prove.claims import Separator
from linsep.prove.regression.systems import Solver, System, column, echelon, entries, first_independent, primitive, span
from linsep.prove.verdicts import faces
from linsep.prove.verdicts.case import Case
from linsep.prove.verdicts.case import Plane as FloatPlane
from linsep.prove.verdicts.exact_view import ExactView, decide
from linsep.prove.verdicts.float_searches import by_nearest_point, by_newton

_VIEWS = 10  # exact views tried before the search goes on without floats
_LARGE = 100_000  # cells from which on floats look first
_FEW = 400_000  # numbers that are all written out
_BITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)  # of a direction that might do


class Combination(NamedTuple):
    """Rows of a system by number, with multipliers of the rows as given."""

    rows: Array
    multipliers: list[Fraction]


@dataclass(frozen=True, eq=False)
class Face:
    """What face reduction finds; vectors are in the unknowns of ``columns``."""

    system: System  # in the unknowns of ``columns`` alone
    columns: list[int]  # that all others depend on
    aliases: Any  # null space of all rows: one column for each of the other unknowns
    spanning: Array  # rows that all others depend on
    direction: list[int]  # generic
    separated: Array  # by number
    equations: Array  # that all equations depend on
    levels: list[tuple[Array, list[int]]]  # inequalities that cancel, as integer rows, up to the span of those before
    span: Any  # null space of N: the linear hull of C

    @property
    def dimension(self) -> int:
        """In how many independent directions the likelihood can grow for ever."""
        return int(self.span.ncols())

    @cached_property
    def independent(self) -> Array:
        """As many rows as there are columns that are independent."""
        found: Array = self.spanning[first_independent(self.system.rows(self.spanning)[0])]
        return found

    @cached_property
    def rest(self) -> tuple[Array, Any, list[int]]:
        """Few rows of ``N`` that span it, as integers, and the exponents left out: independent equations first."""
        first = self.equations
        if len(first):
            first = first[first_independent(self.system.rows(first)[0])]
        ids = np.concatenate((first, *(ids for ids, _ in self.levels)))
        return ids, *self.system.rows(ids)

    @cached_property
    def solver(self) -> Solver:
        """Expresses what is in the span of ``N`` by the rows of ``rest``."""
        return Solver(self.rest[1], self.system.clock)

    @cached_property
    def contradiction(self) -> Combination:
        """The rows of ``rest`` with multipliers that cancel, positive for inequalities.

        The inequalities of a level cancel up to rows of the levels before, which are added often enough to stay
        positive: from the last level to the first.
        """
        ids, A, shifts = self.rest
        multipliers = [0] * len(ids)
        starts = np.cumsum([len(ids) - sum(len(each) for each, _ in self.levels), *(len(e) for e, _ in self.levels)])
        rows = fmpz_mat(len(self.levels), len(ids))
        for k, (start, (_, weights)) in enumerate(zip(starts.tolist(), self.levels, strict=False)):
            for i, value in enumerate(weights):
                rows[k, start + i] = value
        lower, common = self.solver.express(rows * A)  # in the first rows possible: those of the levels before
        for k in range(len(self.levels) - 1, -1, -1):
            self.system.clock.check()
            start, weights = int(starts[k]), self.levels[k][1]
            least = min(
                (Fraction(multipliers[start + i], value) for i, value in enumerate(weights)), default=Fraction(0)
            )
            times = max(1, 1 - math.floor(least / int(common[k])))
            for i, value in enumerate(weights):
                multipliers[start + i] += times * int(common[k]) * value
            for i in range(start):
                multipliers[i] -= times * int(lower[k, i])
        exact = [Fraction(m) / Fraction(2) ** shift for m, shift in zip(primitive(multipliers), shifts, strict=True)]
        order = np.argsort(ids, kind="stable")
        return Combination(ids[order], [exact[k] for k in order.tolist()])


class View(ExactView):
    """Rows of a system in the unknowns of a subspace."""

    def __init__(self, system: System, basis: Any, open_: Array) -> None:
        super().__init__(system.data, basis, open_, system.clock)
        self.system = system

    def rows(self, pairs: Array) -> Any:
        """Return rows as integers in the unknowns of the subspace, each times a positive power of two."""
        return self.system.rows(pairs)[0] * self.basis

    def unmet(self, w: Any) -> Array:
        """Return the open inequalities that are not positive on unknowns of the system, a column."""
        return np.flatnonzero((self.system.signs(w) <= 0) & self.open)


class Table(ExactView):
    """Few rows in the unknowns of a subspace, all written out; inequalities are numbered by their place."""

    def __init__(self, system: System, table: Any) -> None:
        k = table.ncols()
        identity = fmpz_mat(k, k, [int(i == j) for i in range(k) for j in range(k)])
        super().__init__(system.data, identity, np.ones(table.nrows(), dtype=bool), system.clock)
        self.table = table

    def rows(self, pairs: Array) -> Any:
        """Return rows as integers in the present unknowns."""
        every = self.table.tolist()
        return fmpz_mat([every[i] for i in pairs.tolist()]) * self.basis

    def unmet(self, w: Any) -> Array:
        """Return the rows that are not positive on unknowns, a column."""
        return np.array([i for i, (value,) in enumerate((self.table * w).tolist()) if value <= 0], dtype=np.intp)


def reduce(system: System, order: list[int]) -> Face:
    """Find columns, separated rows, a generic direction and the contradiction that proves the rest to be the rest."""
    rng = np.random.default_rng(0)
    ids = system.ids
    spanning, columns, aliases = span(system, ids, order, rng)
    narrow = system.within(columns)
    equal = narrow.is_equation(ids)
    equations, _, V = span(narrow, ids[equal], list(range(narrow.unknowns)), rng)
    levels = _Levels(narrow, V, rng)
    direction = levels.run(ids[~equal])
    return Face(narrow, columns, aliases, spanning, direction, levels.left, equations, levels.found, levels.V)


class _Levels:
    """The subspace that the rows known to be in ``N`` leave, and the inequalities that do not vanish on it."""

    def __init__(self, system: System, V: Any, rng: np.random.Generator) -> None:
        self.system, self.V, self.rng = system, V, rng
        self.found: list[tuple[Array, list[int]]] = []
        self.left = np.zeros(len(system.data.y) * system.data.classes, dtype=bool)

    def run(self, ids: Array) -> list[int]:
        """Go down until some direction is positive on all that is left; return it."""
        system = self.system
        self.left[ids] = True
        everything = self.V.ncols() == system.unknowns
        if everything and system.basis is None and len(ids) * system.unknowns >= _LARGE:
            self.left &= ~np.repeat(system.zero_rows(), system.data.classes)
            plane, first = _look(system)
            if plane is not None:
                view = View(system, self.V, self.left)
                return shortened(view, column(_as_unknowns(plane, system)), self._some(view.dimension))
            if first is not None:
                self._add(*first)
        while True:
            system.clock.check()
            if self.V.ncols() <= 1:
                return self._on_a_line()
            if np.count_nonzero(self.left) * self.V.ncols() <= _FEW:
                return self._of_few(np.flatnonzero(self.left))
            self._drop_vanishing()
            view = View(system, self.V, self.left)
            w, some, found = decide(view, self._some(view.dimension), self.rng, _VIEWS)
            if found is None:
                return shortened(view, w, some)
            self._add(some[found.rows], found.multipliers)

    def _on_a_line(self) -> list[int]:
        """Look at the two directions that are left, or at none."""
        if self.V.ncols() == 0:
            self.left[:] = False
            return [0] * self.system.unknowns
        signs = self.system.signs(self.V)
        self.left &= signs != 0
        up, down = np.flatnonzero(self.left & (signs > 0)), np.flatnonzero(self.left & (signs < 0))
        if len(up) and len(down):
            pair = np.array([up[0], down[0]])
            heights = entries(self.system.rows(pair)[0] * self.V)
            self._add(pair, primitive([-heights[1], heights[0]]))
        if not (len(up) or len(down)) or self.V.ncols() == 0:
            self.left[:] = False
            return [0] * self.system.unknowns
        return [value if len(up) else -value for value in entries(self.V)]

    def _of_few(self, ids: Array) -> list[int]:
        """Write the rows that are left out and decide among them."""
        table = self.system.rows(ids)[0] * self.V
        while True:
            self.system.clock.check()
            rows = table.tolist()
            kept = [k for k, row in enumerate(rows) if any(row)]
            ids = ids[kept]
            self.left[:] = False
            self.left[ids] = True
            if not kept:
                self._restrict(table)
                return [0] * self.system.unknowns
            table = fmpz_mat([rows[k] for k in kept])
            view = Table(self.system, table)
            some = np.arange(len(ids))
            most = 8 * view.dimension + 8
            some = np.sort(self.rng.choice(some, most, replace=False)) if len(some) > most else some
            w, some, found = decide(view, some, self.rng, _VIEWS)
            if found is None:
                whole_view = View(self.system, self.V, self.left)
                return shortened(whole_view, self.V * w, ids[some])
            more = some[found.rows]
            rows = table.tolist()
            W = self._restrict(fmpz_mat([rows[k] for k in more.tolist()]))
            self.found.append((ids[more], found.multipliers))
            table = (fmpq_mat(table) * W).numer_denom()[0]  # rows times the new basis: integers

    def _some(self, dimension: int) -> Array:
        """Return some of the inequalities that are left."""
        ids, most = np.flatnonzero(self.left), 4 * dimension + 8
        return np.sort(self.rng.choice(ids, most, replace=False)) if len(ids) > most else ids

    def _drop_vanishing(self) -> None:
        """Take out the inequalities that are zero on the whole subspace."""
        if self.V.ncols() == self.system.unknowns and self.system.basis is None:
            self.left &= ~np.repeat(self.system.zero_rows(), self.system.data.classes)
        else:
            self.left &= ~self.system.vanish(self.V, self.rng)

    def _add(self, more: Array, weights: list[int]) -> None:
        """Take note of inequalities that cancel up to the span of those before, and restrict the subspace."""
        self.found.append((more, weights))
        self._restrict(self.system.rows(more)[0] * self.V)

    def _restrict(self, inner: Any) -> Any:
        """Restrict the subspace to where rows in its unknowns vanish; return the new unknowns in the old ones.

        Its columns are kept without common divisors: the matrix returned is one of fractions.
        """
        W = echelon(inner, list(range(inner.ncols())), self.system.clock)[1]
        V = self.V * W
        divisors = [_divisor(row) for row in V.transpose().tolist()]
        for k in [k for k, divisor in enumerate(divisors) if divisor > 1]:
            for i in range(V.nrows()):
                V[i, k] = V[i, k] // divisors[k]
        self.V = V
        return fmpq_mat(W) * fmpq_mat(len(divisors), len(divisors), _diagonal([fmpq(1, d) for d in divisors]))


def _divisor(values: list[Any]) -> int:
    """Return the greatest common divisor."""
    found = fmpz(0)
    for value in values:
        found = found.gcd(value)
        if found == 1:
            return 1
    return int(found)


def _diagonal(values: list[Any]) -> list[Any]:
    return [value if i == j else 0 for i, value in enumerate(values) for j in range(len(values))]


def _look(system: System) -> tuple[Separator | None, tuple[Array, list[int]] | None]:
    """Return a plane, or inequalities that cancel as integer rows, by floats on many rows; None of both is fine."""
    case, clock = Case(system.data), system.clock
    if case.view.wide:
        return None, None
    found = by_newton(case, clock) or by_nearest_point(case, clock)
    clock.check()
    if isinstance(found, FloatPlane):
        certificate = faces.separated(case, found.w)
        return (None if certificate is None else certificate.separator), None
    exact = None if found is None or len(found.pairs) == 0 else faces.exact_multipliers(system.data, found, clock)
    if exact is None:
        return None, None
    _, shifts = system.rows(exact.pairs)
    multipliers = [m * Fraction(2) ** shift for m, shift in zip(exact.multipliers, shifts, strict=True)]
    return None, (exact.pairs, whole(multipliers))


def whole(values: list[Fraction]) -> list[int]:
    """Return fractions times the least positive number that makes them integers without a common divisor."""
    common = math.lcm(*(value.denominator for value in values))
    return primitive([value.numerator * (common // value.denominator) for value in values])


def _as_unknowns(plane: Separator, system: System) -> list[int]:
    """Return a plane as integers in the unknowns."""
    W, b = plane.per_class()
    values = []
    for k in range(1, len(W)):
        block = [*W[k].tolist(), *([b[k]] if system.data.offset else [])]
        start = [*W[0].tolist(), *([b[0]] if system.data.offset else [])]
        values += [Fraction(a) - Fraction(c) for a, c in zip(block, start, strict=True)]
    return whole(values)


def shortened(view: View, w: Any, some: Array) -> list[int]:
    """Return a direction of small integers that is positive on all open inequalities, as ``w`` is.

    It is ``w`` rounded to a few binary digits in the unknowns of the subspace, if that will do.
    """
    exact = primitive(entries(w))
    if view.dimension > 1:
        Z = view.gather(some)
        u = view.scaled(fmpz_mat(1, view.dimension, whole(coordinates(view.basis, exact))))
        u = u / np.abs(u).max()
        for bits in _BITS:
            short = np.rint(u * 2.0**bits)
            if (Z @ short).min(initial=1.0) <= 0:
                continue
            values = primitive(entries(view.weights(short)))
            if max(map(abs, values)) >= max(map(abs, exact)):
                break
            if len(view.unmet(column(values))) == 0:
                return values
    return exact


def coordinates(V: Any, g: list[int]) -> list[Fraction]:
    """Return the coefficients of ``g`` in the columns of a basis that ``echelon`` has made."""
    found = [Fraction(0)] * V.ncols()
    for j, row in enumerate(V.tolist()):
        used = [k for k, value in enumerate(row) if value]
        if len(used) == 1:  # every column has an entry of its own
            found[used[0]] = Fraction(g[j], int(row[used[0]]))
    return found
