"""The face of a regression's constraints: which rows are separated, in which direction, and why the rest is not.

``C`` is the set of ``g`` with ``z·g >= 0`` for all inequalities and ``= 0`` for all equations. Its *separated* rows
``S`` are positive for some ``g`` in ``C``, the *rest* ``N`` for none. The core finds a *generic* ``g`` that is positive
on all of ``S`` and zero on ``N``, and few rows of ``N`` with positive multipliers that cancel (those of equations have
any sign), and that span ``N``. Here columns that all others depend on are chosen first, and the others get weight 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz_mat

from linsep.data.cache import some_rows
from linsep.data.parallel import quiet_algebra
from linsep.problem import Array, Sparse
from linsep.prove.check.integers import over_common
from linsep.prove.core import facial_reduction
from linsep.prove.core.constraints import Constraints, LongConstraints
from linsep.prove.core.exact_steps import Outcome
from linsep.prove.core.presolve import peel
from linsep.prove.linear_algebra import algebra
from linsep.prove.linear_algebra.algebra import Solver, entries, first_independent, one_column, primitive
from linsep.prove.regression.categories import EliminatedFace, categories_of, kept_columns

_POWERS = (2, 3, 5, 9, 17, 65, 1025)  # of these sizes of a direction may be powers
_BITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)  # of a direction that might do


class ConeCombination(NamedTuple):
    """Rows of a system by number, with multipliers of the rows as given."""

    rows: Array
    multipliers: list[Fraction]


@dataclass(frozen=True, eq=False)
class RegressionFace:
    """What facial reduction finds; vectors are in the unknowns of ``columns``."""

    system: Constraints  # in the unknowns of ``columns`` alone
    columns: list[int]  # that all others depend on
    aliases: Any  # null space of all rows: one column for each of the other unknowns
    spanning: Array  # rows that all others depend on
    direction: list[int]  # generic
    separated: Array  # by number
    canceling: ConeCombination  # rows of N that cancel and span it, independent equations first
    eliminated: EliminatedFace | None = None  # what answers instead if columns of categories were eliminated

    @property
    def dimension(self) -> int:
        """In how many independent directions the likelihood can grow for ever."""
        return int(self.span.ncols())

    @cached_property
    def span(self) -> Any:
        """The null space of N, the linear hull of C, as columns of a basis."""
        if self.eliminated is not None:
            return self.eliminated.span
        unknowns = len(self.columns)
        return algebra.echelon(self.rest[1], list(range(unknowns)), self.system.clock)[1]

    @cached_property
    def independent(self) -> Array:
        """As many rows as there are columns that are independent."""
        if self.eliminated is not None:
            return self.spanning
        rows: Array = self.spanning[first_independent(self.system.rows(self.spanning)[0])]
        return rows

    @cached_property
    def rest(self) -> tuple[Array, Any, list[int]]:
        """Few rows of ``N`` that span it, as integers, and the exponents left out."""
        return self.canceling.rows, *self.system.rows(self.canceling.rows)

    @cached_property
    def solver(self) -> Solver:
        """Expresses what is in the span of ``N`` by the rows of ``rest``."""
        return Solver(self.rest[1], self.system.clock)

    def express(self, c: dict[int, Fraction]) -> dict[int, Fraction]:
        """Return by number multipliers of rows of the contradiction, as given, whose sum is ``c``, in their span."""
        if self.eliminated is not None:
            return self.eliminated.express(c)
        ids, _, shifts = self.rest
        if not c:
            return {}
        numbers, common = over_common([c.get(k, Fraction(0)) for k in range(len(self.columns))])
        numerators, (q,) = self.solver.express(fmpz_mat(1, len(numbers), numbers))
        return {
            i: Fraction(int(numerators[0, k]), int(q) * common) / Fraction(2) ** shift
            for k, (i, shift) in enumerate(zip(ids.tolist(), shifts, strict=True))
            if numerators[0, k]
        }

    @cached_property
    def contradiction(self) -> ConeCombination:
        """The rows of ``rest`` in the order of their numbers."""
        order = np.argsort(self.canceling.rows, kind="stable")
        return ConeCombination(self.canceling.rows[order], [self.canceling.multipliers[k] for k in order.tolist()])


def reduce(system: Constraints, order: list[int]) -> RegressionFace:
    """Find columns, separated rows, a generic direction and the contradiction that proves the rest to be the rest."""
    with quiet_algebra():
        wide = categories_of(system)
        if wide is not None:
            columns, aliases = kept_columns(wide, order)
            narrow = system.within(columns)
            wide = categories_of(narrow) if aliases.ncols() else wide
            if wide is not None:
                face = EliminatedFace(wide, _outcome)
                separated = np.zeros(2 * system.n, dtype=bool)
                separated[system.ids] = face.strict
                direction = face.direction if face.strict.any() else [0] * len(columns)
                canceling = ConeCombination(*face.canceling)
                return RegressionFace(narrow, columns, aliases, face.spanning, direction, separated, canceling, face)
        spanning, columns, aliases = system.span(system.ids, order)
        outcome = _outcome(system)
        narrow = system.within(columns)
        direction = [0] * len(columns)
        if outcome.g is not None:
            full = _without_aliases(outcome.g, columns, aliases)
            direction = _shortened(narrow, primitive([full[j] for j in columns]), outcome)
        canceling = ConeCombination(outcome.ids.astype(np.intp), outcome.multipliers)
        return RegressionFace(narrow, columns, aliases, spanning, direction, outcome.strict, canceling)


def columns_of(system: Constraints, ids: Array, order: list[int]) -> tuple[list[int], Any]:
    """Return the first columns in ``order`` that all others depend on in some rows, and a basis of their null space."""
    data = system.data
    if not isinstance(data.rows, Sparse) or system.basis is not None or data.classes > 2 or len(ids) == 0:
        return system.span(ids, order)[1:]
    which = ids // 2
    rows: Any = some_rows(data.rows, which)
    part = Constraints(data._replace(rows=rows, y=data.y[which]), system.equal[which], clock=system.clock)
    counts = np.bincount(rows.indices[rows.data != 0].astype(np.intp), minlength=data.n_features)
    used = np.append(np.flatnonzero(counts), [data.n_features] if data.offset else []).astype(int).tolist()
    position = {u: k for k, u in enumerate(used)}
    wide = categories_of(part.within(used))
    if wide is None:
        return system.span(ids, order)[1:]
    columns, inner = kept_columns(wide, [position[u] for u in order if u in position])
    empty = [u for u in range(system.unknowns) if u not in position]
    V = fmpz_mat(system.unknowns, inner.ncols() + len(empty))
    for k in range(inner.ncols()):
        system.clock.check()
        for i, u in enumerate(used):
            V[u, k] = inner[i, k]
    for k, u in enumerate(empty):
        V[u, inner.ncols() + k] = 1
    return [used[k] for k in columns], V


def _outcome(system: Constraints) -> Outcome:
    """Ask the core, after rows that columns alone separate have been peeled off."""
    data = system.data
    if data.classes > 2 or isinstance(system, LongConstraints):
        return facial_reduction.solve(system, all_multipliers=True)
    peeled = peel(data, system.clock, equal=system.equal)
    if not peeled.planes:
        return facial_reduction.solve(system, all_multipliers=True)
    left = peeled.left
    strict = np.zeros(2 * len(data.y), dtype=bool)
    strict[system.ids] = True
    inner = facial_reduction.sample_settles(system, left)
    if inner is None:
        part = system.with_rows(left)
        inner = facial_reduction.solve(part, all_multipliers=True)
        strict[left * 2 + 1 - data.y[left]] = inner.strict[part.ids]
        inner = inner._replace(ids=left[inner.ids // 2] * 2 + inner.ids % 2)
    else:
        strict[left * 2 + 1 - data.y[left]] = False
    g = inner.g if inner.g is not None else fmpz_mat(system.unknowns, 1)
    for plane, gone in zip(reversed(peeled.planes), reversed(peeled.gone), strict=True):
        step = algebra.column(np.append(plane.w, plane.b) if data.offset else plane.w)
        some = Constraints(data._replace(rows=some_rows(data.rows, gone), y=data.y[gone]), clock=system.clock)
        shift = 0
        while (some.signs(g + step * (1 << shift))[some.ids] <= 0).any():
            shift = 2 * shift + 1
        g = g + step * (1 << shift)
    return Outcome(strict, g, inner.ids.astype(np.intp), inner.multipliers)


def _without_aliases(g: Any, columns: list[int], aliases: Any) -> list[int]:
    """Return a positive multiple of ``g`` plus what has no effect, with zeros outside of some columns."""
    kept = set(columns)
    for k in range(aliases.ncols()):
        j = next(j for j in range(aliases.nrows()) if j not in kept and aliases[j, k])
        if g[j, 0]:
            v = fmpz_mat(aliases.nrows(), 1, [aliases[i, k] for i in range(aliases.nrows())])
            g = g * abs(aliases[j, k]) - v * (g[j, 0] * (1 if aliases[j, k] > 0 else -1))
    return entries(g)


def _shortened(system: Constraints, exact: list[int], outcome: Outcome) -> list[int]:
    """Return a direction of small integers with the same signs, if rounding to a few binary digits will do.

    It is rounded in coordinates of the null space of the rows that cancel, on which it has to vanish. Where these are
    of very different sizes, as in a sum of planes that each settle what those before leave open, or differ by little,
    only their order counts: they are tried as powers of a small number, and as 1, 2, 3 in this order.
    """
    A, _ = system.rows(outcome.ids)
    V = algebra.echelon(A, list(range(system.unknowns)), system.clock)[1]
    u = coordinates(V, exact)
    top = max(map(abs, u))
    strict = outcome.strict[system.ids]
    sizes = sorted({abs(value) for value in u if value})
    rank = {size: sum(b > 4 * a for a, b in pairwise(sizes[: k + 1])) for k, size in enumerate(sizes)}
    tries = [[round(value / top * 2**bits) for value in u] for bits in _BITS]
    signs = [(value > 0) - (value < 0) for value in u]
    tries += [[s * n ** rank.get(abs(value), 0) for s, value in zip(signs, u, strict=True)] for n in _POWERS]
    position = {size: k + 1 for k, size in enumerate(sizes)}
    tries += [[s * (n + position.get(abs(value), 0)) for s, value in zip(signs, u, strict=True)] for n in (0, 2, 8)]
    for numbers in sorted(tries, key=lambda numbers: max(map(abs, numbers))):
        values = primitive(entries(V * one_column(numbers)))
        if max(map(abs, values), default=0) >= max(map(abs, exact)):
            continue
        side = system.signs(one_column(values))[system.ids]
        if side.min() >= 0 and np.array_equal(side > 0, strict):
            return values
    return exact


def whole(values: list[Fraction]) -> list[int]:
    """Return fractions times the least positive number that makes them integers without a common divisor."""
    return primitive(over_common(values)[0])


def coordinates(V: Any, g: list[int]) -> list[Fraction]:
    """Return the coefficients of ``g`` in the columns of a basis that ``echelon`` has made."""
    single, table = own_rows(V), V.tolist()
    return [Fraction(g[single[k]], int(table[single[k]][k])) for k in range(V.ncols())]


def own_rows(V: Any) -> dict[int, int]:
    """Return for each column of a basis that ``echelon`` has made the last row in which it alone has an entry."""
    used = [[k for k, value in enumerate(row) if value] for row in V.tolist()]
    return {columns[0]: j for j, columns in enumerate(used) if len(columns) == 1}
