"""Which inequalities of a system can be strict: exact face reduction.

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
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz_mat

from linsep.problem import Array
from linsep.prove.claims import Data, Verdict
from linsep.prove.systems import System, column, echelon, entries, primitive, span
from linsep.prove import algebra
from linsep.prove.algebra import Tick
from linsep.prove.exact_view import Lens, decide
from linsep.prove.search import Search

_LARGE = 100_000  # cells from which on floats look first
_BITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)  # of a direction that might do


def no_limit(_: float) -> None:
    """Do not mind how long something takes."""


class Combination(NamedTuple):
    """Rows of a system by number, with multipliers of the rows as given."""

    ids: Array
    multipliers: list[Fraction]


class Face(NamedTuple):
    """What face reduction finds; vectors have an entry for every unknown, zero outside ``columns``."""

    system: System  # in the unknowns of ``columns`` alone
    columns: list[int]  # that all others depend on
    aliases: Any  # null space of all rows: one column for each of the other unknowns
    independent: Array  # rows that all others depend on
    direction: list[int]  # generic, in the unknowns of ``columns``
    separated: Array  # by number
    contradiction: Combination  # of rows of N, which they span
    span: Any  # null space of N: the linear hull of C, in the unknowns of ``columns``

    @property
    def dimension(self) -> int:
        """In how many independent directions the likelihood can grow for ever."""
        return int(self.span.ncols())


class View(Lens):
    """Rows of a system in the unknowns of a subspace."""

    def __init__(self, system: System, basis: Any, open_: Array) -> None:
        super().__init__(system.data, basis, open_)
        self.system = system

    def rows(self, ids: Array) -> Any:
        """Return rows as integers in the unknowns of the subspace, each times a positive power of two."""
        return self.system.rows(ids)[0] * self.basis

    def unmet(self, w: Any) -> Array:
        """Return the open inequalities that are not positive on unknowns of the system, a column."""
        return np.flatnonzero((self.system.signs(w) <= 0) & self.open)


def reduce(system: System, order: list[int], *, tick: Tick = no_limit) -> Face:
    """Find columns, separated rows, a generic direction and the contradiction that proves the rest to be the rest."""
    rng = np.random.default_rng(0)
    ids = system.ids
    independent, columns, aliases = span(system, ids, order, rng, tick)
    narrow = system.within(columns)
    equations = ids[narrow.is_equation(ids)]
    face, _, V = span(narrow, equations, list(range(narrow.unknowns)), rng, tick)
    levels = _Levels(narrow, face, V, rng, tick)
    direction = levels.run(ids[~narrow.is_equation(ids)])
    return Face(
        narrow, columns, aliases, independent, direction, levels.left, levels.contradiction(), levels.V
    )


class _Levels:
    """The rows known to be in ``N``, the subspace they leave, and the inequalities that do not vanish on it."""

    def __init__(self, system: System, face: Array, V: Any, rng: np.random.Generator, tick: Tick) -> None:
        self.system, self.face, self.V, self.rng, self.tick = system, face, V, rng, tick
        self.multipliers = [0] * len(face)  # of the rows as integers
        self.left = np.zeros(len(system.data.y) * system.data.classes, dtype=bool)

    def run(self, ids: Array) -> list[int]:
        """Go down until some direction is positive on all that is left; return it."""
        system = self.system
        self.left[ids] = True
        self._drop_vanishing()
        everything = self.V.ncols() == system.unknowns
        if everything and system.basis is None and len(ids) * system.unknowns >= _LARGE and not system.equal.any():
            verdict, first = _look(system)
            if verdict is not None and verdict.separator is not None:
                return _as_unknowns(verdict, system)
            if first is not None:
                self._add(*first)
        while True:
            self._drop_vanishing()
            if not self.left.any():
                return [0] * system.unknowns
            view = View(system, self.V, self.left)
            w, some, found = decide(view, self._some(view.dimension), self.rng, self.tick)
            if found is None:
                return shortened(view, w, some)
            self._add(some[found.places], found.weights)

    def _some(self, dimension: int) -> Array:
        """Return some of the inequalities that are left."""
        ids, most = np.flatnonzero(self.left), 4 * dimension + 8
        return np.sort(self.rng.choice(ids, most, replace=False)) if len(ids) > most else ids

    def _drop_vanishing(self) -> None:
        """Take out the inequalities that are zero on the whole subspace."""
        if self.V.ncols() == 0:
            self.left[:] = False
        elif self.V.ncols() == self.system.unknowns and self.system.basis is None:
            self.left &= ~np.repeat(self.system.zero_rows(), self.system.data.classes)
        else:
            random = column(self.rng.integers(1, 2**62, self.V.ncols()).tolist())
            self.left &= ~self.system.vanish(self.V * random)

    def _add(self, more: Array, weights: list[int]) -> None:
        """Join inequalities that cancel up to the span of the face, and restrict the subspace to where they vanish."""
        B, _ = self.system.rows(more)
        if len(self.face):
            A, _ = self.system.rows(self.face)
            c, q = algebra.express(A, fmpz_mat(1, len(weights), weights) * B)  # q Σ weights b = Σ c a
            free = self.system.is_equation(self.face).tolist()
            times = 1 + max(
                (value // m for value, m, any_sign in zip(c, self.multipliers, free, strict=True) if not any_sign),
                default=0,
            )
            times = max(times, 1)
            self.multipliers = [times * m - value for m, value in zip(self.multipliers, c, strict=True)]
            weights = [q * value for value in weights]
        self.multipliers = primitive([*self.multipliers, *weights])
        self.face = np.concatenate((self.face, more))
        inner = B * self.V
        self.V = self.V * echelon(inner, list(range(inner.ncols())))[1]
        table = self.V.transpose().tolist()
        columns = [primitive([int(value) for value in row]) for row in table]
        self.V = fmpz_mat(len(columns), self.V.nrows(), [value for row in columns for value in row]).transpose()

    def contradiction(self) -> Combination:
        """Return the face with the multipliers of the rows as given."""
        _, shifts = self.system.rows(self.face)
        order = np.argsort(self.face, kind="stable")
        exact = [Fraction(m) / Fraction(2) ** shift for m, shift in zip(self.multipliers, shifts, strict=True)]
        return Combination(self.face[order], [exact[k] for k in order.tolist()])


class _Look(Search):
    """The search for a verdict, ended where it has a contradiction."""

    first: tuple[Array, list[int]] | None = None

    def _weakly(self, ids: Array, weights: list[int]) -> Verdict:
        self.first = ids, weights
        return self._verdict("unknown", None, None)


def _look(system: System) -> tuple[Verdict | None, tuple[Array, list[int]] | None]:
    """Return a verdict, or inequalities that cancel as integer rows, by floats on many rows; None of both is fine."""
    search = _Look(system.data, (0, 1), None)
    verdict = search.run()
    if verdict.kind == "separable":
        return verdict, None
    if verdict.refutation is not None:
        found = verdict.refutation
        ids = found.indices * system.data.classes + found.rivals
        _, shifts = system.rows(ids)
        exact = [weight * Fraction(2) ** shift for weight, shift in zip(found.weights, shifts, strict=True)]
        return None, (ids, whole(exact))
    return None, search.first


def whole(values: list[Fraction]) -> list[int]:
    """Return fractions times the least positive number that makes them integers without a common divisor."""
    common = math.lcm(*(value.denominator for value in values))
    return primitive([value.numerator * (common // value.denominator) for value in values])


def _as_unknowns(verdict: Verdict, system: System) -> list[int]:
    """Return the plane of a verdict as integers in the unknowns."""
    assert verdict.separator is not None
    W, b = verdict.separator.per_class()
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
