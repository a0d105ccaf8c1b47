"""Separation with many fixed effects: factors with a coefficient per level, absorbed rather than listed.

A row with levels ``a`` and ``b`` asks that ``g_a + g_b + x·γ`` is not negative (not positive, zero). With potentials
``π_a = g_a`` and ``π_b = -g_b`` that is an arc of a graph whose nodes are the levels: ``π_head <= π_tail + v·γ`` where
``v = ±x``; an equation is an arc in both directions. Hence:

- with ``γ = 0``, a row can be strict exactly if its arc is in no directed cycle: strongly connected components decide
  all that the factors decide alone (a level whose rows all have y = 0 is the simplest case);
- ``γ`` is possible exactly if no directed cycle has a negative sum ``Σ v·γ``: in the few unknowns ``γ`` this is the
  problem of ``cone`` with one row for every cycle, of which only those are written down that shortest paths find to be
  violated (Bellman 1958; Ford 1956);
- rows that some ``g`` makes strict are set aside, and what is left is decided again.

A few factors of few levels are just columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from linsep.clock import Clock
from linsep.errors import DataError, ParameterError
from linsep.problem import Array, Dense
from linsep.prove.claims import Data
from linsep.prove.core.constraints import Constraints
from linsep.prove.exact.algebra import echelon
from linsep.prove.exact.exact_values import Cells, cells
from linsep.prove.regression.cone import Face, reduce
from linsep.prove.regression.families import numbers, trials
from linsep.prove.regression.inputs import Factor, Given
from linsep.prove.regression.level_graph import Arcs, potentials, spanning_trees

_LEVELS = 400  # of all factors together that are just columns
_EXTRA = 250  # levels of a third factor that are just columns: some ten seconds
_CELLS = 10**8  # of the columns of such levels
_FAMILIES = ("binomial", "poisson", "negative-binomial")
_LIMIT = 1 << 62
_POOL = 8  # cycles for every unknown to begin with


def absorbed(given: Given, clock: Clock) -> Any:
    """Decide a model with absorbed factors."""
    from linsep.prove.regression.absorbed import AbsorbedSeparation
    from linsep.prove.regression.results import Separation
    from linsep.prove.regression.separations import modeled

    if given.family == "multinomial":
        raise ParameterError("absorb", [name for name, *_ in given.absorb], "None for the family multinomial")
    levels = sum(len(np.unique(codes[given.which])) for _, codes, _ in given.absorb)
    if levels <= _LEVELS or given.family not in _FAMILIES:
        wide = with_columns(given, given.absorb)
        model, _ = modeled(wide, clock)
        listed = len(model.names) - (len(wide.names) - len(given.names))
        face = reduce(model.system, model.order[listed:] + model.order[:listed])  # columns may depend on factors
        return Separation(wide, model, face, list(given.notes), listed=listed)
    factors = sorted(given.absorb, key=lambda each: -len(each.levels))
    if len(factors) > 2:
        extra = sum(len(each.levels) for each in factors[2:])
        most = min(_EXTRA, _CELLS // given.n)
        if extra > most:
            raise DataError(
                "", f"the factors after the two largest have {extra} levels, more than the {most} that {given.n:,} "
                "rows allow: leave one out, merge levels, or cross two factors"
            )  # fmt: skip
    base = with_columns(given, tuple(factors[2:]))
    return AbsorbedSeparation(given, Effects(base, factors, len(given.names), clock))


def with_columns(given: Given, factors: Any) -> Given:
    """Return a model with a column for every level of some factors, after its own columns and without an intercept."""
    blocks, names = [], []
    for name, codes, levels in factors:
        ones = np.ones(len(codes), dtype=np.int64)
        blocks.append(sp.csr_array((ones, (np.arange(len(codes)), codes)), shape=(len(codes), len(levels))))
        names += [f"{name}={level}" for level in levels]
    if not blocks:
        return replace(given, absorb=(), offset=False)
    X = given.X
    if sp.issparse(X):
        joined: Any = sp.csr_array(sp.hstack([X, *blocks]))
    else:
        kind = X.dtype if X.dtype.kind in "fO" else np.int64
        joined = np.hstack([X.astype(kind), *(block.toarray().astype(kind) for block in blocks)])
    return replace(given, X=joined, names=(*given.names, *names), absorb=(), offset=False)


@dataclass(frozen=True)
class Round:
    """A direction: ``γ`` and potentials, and the rows that it makes strict among those that were left."""

    gamma: list[int]
    potentials: Any  # (nodes,) integers
    strict: Array  # rows


class Effects:
    """The graph of levels, and what is decided on it."""

    def __init__(self, given: Given, factors: list[Factor], listed: int, clock: Clock) -> None:
        self.given, self.listed, self.clock = given, listed, clock
        self.factors, self.further = factors[:2], factors[2:]  # nodes, and columns of ``given``
        design = cells(given.X, given.values, list(given.names))
        if design.basis is not None:
            raise DataError("", "cells of more than 18 digits cannot be combined with absorbed factors")
        which = given.which
        matrix = design.matrix[which]
        self.x = (matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix))[:, : len(given.names)]
        self.design, self.k = design, self.x.shape[1]
        self.top = int(max((np.abs(part).max(initial=0) for part in np.array_split(self.x, 64)), default=0))
        self.order = [*range(listed, self.k), *range(listed)]  # columns may depend on factors
        clock.check()
        code, equal = signed_rows(given)
        self.equal, self.signs = equal, np.where(code == 1, 1, -1)  # the factor of every row in its constraint
        first = np.unique(factors[0].codes[which], return_inverse=True)[1].ravel()
        second = np.zeros_like(first)
        if len(factors) > 1:
            second = np.unique(factors[1].codes[which], return_inverse=True)[1].ravel()
        clock.check()
        nodes = int(first.max()) + 1
        self.ends = (first, second + nodes)
        self.arcs = Arcs.of_rows(*self.ends, code, equal)
        self.nodes = nodes + int(second.max()) + 1
        self.n = len(which)
        self.left = np.ones(self.n, dtype=bool)
        self.rounds: list[Round] = []
        self.pool: list[tuple[Array, Array]] = []  # closed walks: rows and their signs
        self.rng = np.random.default_rng(0)
        self._run()

    # -----------------------------------------------------------------------------------------------------------
    # The split

    def _run(self) -> None:
        while True:
            self.clock.check()
            self._set_aside([0] * self.k, np.zeros(self.nodes, dtype=np.int64))
            if self.k == 0 or not self.left.any() or not self._turn():
                return

    def _set_aside(self, gamma: list[int], pi: Any) -> bool:
        """Set aside the rows that a direction, with its potentials moved a little, makes strict."""
        arcs = self.arcs.of(self.left)
        slack = self.slack(gamma, pi)
        self.clock.check()
        tight = arcs.take(slack[arcs.row] == 0)
        parts, label = connected_components(tight.graph(self.nodes), directed=True, connection="strong")
        self.clock.check()
        within = np.zeros(self.n, dtype=bool)
        inner = tight.take(label[tight.tail] == label[tight.head])
        within[inner.row] = True
        strict = np.flatnonzero(self.left & ~within)
        if len(strict) == 0:
            return False
        down = _downward(tight, label, parts, self.clock)
        loose = arcs.take(slack[arcs.row] > 0)  # these stay positive if the direction is taken often enough
        times = max(1, int(((down[loose.head] - down[loose.tail]) // slack[loose.row]).max(initial=0)) + 1)
        moved = np.asarray(pi) * times + down
        self.rounds.append(Round([times * value for value in gamma], moved, strict))
        self.left[strict] = False
        return True

    def slack(self, gamma: list[int], pi: Any) -> Any:
        """Return how far every row is above zero, in integers; an equation, which is zero, in either direction."""
        length = self._exact_lengths(gamma) * self.arcs.sign
        own = self.arcs.first
        return length + pi[self.arcs.tail[own]] - pi[self.arcs.head[own]]

    def lengths(self, gamma: list[int]) -> Any:
        """Return ``v·γ`` of the first arc of every row, exactly; None if a column that counts has fractions."""
        used = [j for j, value in enumerate(gamma) if value]
        columns = [self.x[:, j] for j in used]
        if any(c.dtype.kind == "f" and not (c == np.rint(c)).all() for c in columns):
            return None
        tops = [int(np.abs(c).max(initial=0)) for c in columns]
        if sum(top * abs(gamma[j]) for top, j in zip(tops, used, strict=True)) * (self.nodes + 2) >= _LIMIT:
            return None
        total: Any = np.zeros(self.n, dtype=np.int64)
        for j, c in zip(used, columns, strict=True):
            total += c.astype(np.int64) * gamma[j]
        return total * self.arcs.sign

    def shortest(self, arcs: Arcs, gamma: list[int]) -> tuple[list[int], Any]:
        """Return potentials for ``γ``, exactly, or a closed walk whose sum is negative on it; and ``γ`` as it was used.

        Floats look for the walk first where 64 bits do not hold the sums; then integers of any length decide.
        """
        length = self.lengths(gamma)
        if length is not None:
            return gamma, potentials(arcs, length, self.nodes, 0, self.clock)
        top = max(map(abs, gamma))
        about = sum(self.x[:, j].astype(np.float64) * (value / top) for j, value in enumerate(gamma) if value)
        found = potentials(arcs, about * self.arcs.sign, self.nodes, 1e-9 * float(np.abs(about).max()), self.clock)
        if found.cycle is not None:
            total = self.vector((arcs.row[found.cycle], arcs.direction[found.cycle]))
            if sum(a * b for a, b in zip(total, gamma, strict=True)) < 0:
                return gamma, found
        exact = self._exact_lengths(gamma)
        unit = math.lcm(*(value.denominator for value in exact.tolist()))
        whole = np.array([int(value * unit) for value in exact.tolist()], dtype=object)
        return [unit * value for value in gamma], potentials(arcs, whole * self.arcs.sign, self.nodes, 0, self.clock)

    def _turn(self) -> bool:
        """Look for a direction that moves ``γ``; return whether some rows were set aside."""
        arcs = self.arcs.of(self.left)
        trees = spanning_trees(arcs, self.nodes, self.clock)
        self._fill(arcs, trees)
        while True:
            self.clock.check()
            face = self.face()
            if face.dimension:
                gamma = spread(face, self.k)
                gamma, found = self.shortest(arcs, gamma)
                if found.cycle is None:
                    return self._set_aside(gamma, found.pi)
                self._add(arcs, found.cycle)
                continue
            moved = self._moved(arcs, trees, _columns(face.aliases))
            if moved is None:
                return False
            self._add(arcs, moved)

    def _fill(self, arcs: Arcs, trees: Any) -> None:
        """Begin with the closed walks of some arcs."""
        most = _POOL * (self.k + 1)
        self.pool = [each for each in self.pool if self.left[each[0]].all()]
        some = self.rng.choice(len(arcs.row), most, replace=False) if len(arcs.row) > most else np.arange(len(arcs.row))
        for e in some.tolist():
            self.clock.check()
            self._add(arcs, trees.walk(arcs, e))

    def _add(self, arcs: Arcs, walk: Array) -> None:
        self.pool.append((arcs.row[walk], arcs.direction[walk]))

    def vector(self, walk: tuple[Array, Array]) -> list[Any]:
        """Return ``Σ v`` of a closed walk, exactly: integers or fractions."""
        rows, signs = walk
        self.clock.check()
        part = self.x[rows]
        if part.dtype.kind != "f" and self.top * len(rows) < _LIMIT:
            whole: list[Any] = (signs @ part.astype(np.int64)).tolist()
            return whole
        total = [Fraction(0)] * self.k
        for row, sign in zip(part.tolist(), signs.tolist(), strict=True):
            total = [a + sign * Fraction(b) for a, b in zip(total, row, strict=True)]
        return total

    def face(self) -> Face:
        """Return the face of the cone that the closed walks found leave for ``γ``."""
        table = [self.vector(walk) for walk in self.pool]
        return face_of(table, self.order, self.clock)

    def _moved(self, arcs: Arcs, trees: Any, free: list[list[int]]) -> Array | None:
        """Return a closed walk whose sum is not zero on one of some ``γ``."""
        for gamma in free:
            self.clock.check()
            length = self._exact_lengths(gamma)
            pi = trees.heights(arcs, length, self.clock)
            off = np.flatnonzero((length[arcs.row] * arcs.direction + pi[arcs.tail] - pi[arcs.head]) != 0)
            if len(off):  # the walks through the arc, and through the tree to its head, differ by what it is off
                walk: Array = trees.walk(arcs, int(off[0]))
                if (length[arcs.row[walk]] * arcs.direction[walk]).sum() == 0:
                    walk = trees.walk(arcs, int(trees.arc_out[arcs.head[off[0]]]))
                return walk
        return None

    def _exact_lengths(self, gamma: list[int]) -> Any:
        """Return ``x·γ`` of every row as exact numbers: integers, or fractions in an array of objects."""
        signed = self.lengths(gamma)
        if signed is not None:
            return signed * self.arcs.sign
        found = np.empty(self.n, dtype=object)
        for i, row in enumerate(self.x.tolist()):
            self.clock.check()
            total = sum((Fraction(v) * g for v, g in zip(row, gamma, strict=True) if g), Fraction(0))
            found[i] = total.numerator if total.denominator == 1 else total
        return found

    def spanned(self, arcs: Arcs) -> tuple[list[tuple[Array, Array]], list[list[int]]]:
        """Return closed walks that span all cycles, whatever their direction, and a basis of the ``γ`` zero on them."""
        arcs = arcs.both_ways()
        if self.k == 0 or len(arcs.row) == 0:
            return [], [[int(i == j) for j in range(self.k)] for i in range(self.k)]
        trees = spanning_trees(arcs, self.nodes, self.clock)
        self.clock.check()
        some = self.rng.choice(len(arcs.row), min(len(arcs.row), 2 * self.k + 4), replace=False)
        walks = [trees.walk(arcs, int(e)) for e in some]
        while True:
            found = [(arcs.row[walk], arcs.direction[walk]) for walk in walks]
            free = _columns(_echelon_of([self.vector(walk) for walk in found], self.order, self.clock))
            moved = self._moved(arcs, trees, free)
            if moved is None:
                return found, free
            walks.append(moved)

    def potentials_of(self, gamma: list[int]) -> Any:
        """Return potentials that, with a ``γ`` that is zero on all cycles, make every row zero: exact numbers."""
        arcs = self.arcs.both_ways()
        trees = spanning_trees(arcs, self.nodes, self.clock)
        return trees.heights(arcs, self._exact_lengths(gamma), self.clock)


def signed_rows(given: Given) -> tuple[Array, Array]:
    """Return for every row that counts whether it asks for a sum not below 0 (1) or not above (0), or for zero."""
    if given.family == "binomial":
        ones, zeros = trials(given.y, given.which, given.order)
        if ones.all() or zeros.all():
            raise DataError("", "y is constant: nothing to model")
        return ones.astype(np.int64), ~ones & ~zeros
    y = numbers(given.y)[given.which]
    if y.min(initial=0.0) < 0:
        raise DataError(f"row {int(given.which[int(y.argmin())])}", f"y is {y.min():g}; it cannot be negative")
    if not y.any():
        raise DataError("", "y is 0 in every row: nothing to model")
    return np.zeros(len(y), dtype=np.int64), y > 0


def level_numbers(codes: list[Array], first: int) -> Array:
    """Return the level numbers of every row, counted in the order of their first row and, within it, by factor."""
    found = np.empty((len(codes[0]), len(codes)), dtype=np.intp)
    starts: list[Array] = []
    owners: list[Array] = []
    for f, column in enumerate(codes):
        _, start, inverse = np.unique(column, return_index=True, return_inverse=True)
        found[:, f] = inverse.ravel() + sum(len(each) for each in starts)
        starts.append(start)
        owners.append(np.full(len(start), f))
    order = np.lexsort((np.concatenate(owners), np.concatenate(starts)))
    number = np.empty(len(order), dtype=np.intp)
    number[order] = first + np.arange(len(order))
    return number[found]


def _downward(tight: Arcs, label: Array, parts: int, clock: Clock) -> Array:
    """Return a number for every node that is lower at the head of every arc between components."""
    across = tight.take(label[tight.tail] != label[tight.head])
    tail, head = label[across.tail], label[across.head]
    if len(tail) == 0:
        return np.zeros(len(label), dtype=np.int64)
    if (tail > head).all():  # the order in which they are found
        return label.astype(np.int64)
    if (tail < head).all():
        return -label.astype(np.int64)
    depth = np.zeros(parts, dtype=np.int64)
    while True:
        clock.check()
        deeper = depth.copy()
        np.maximum.at(deeper, head, depth[tail] + 1)
        if np.array_equal(deeper, depth):
            return -depth[label]
        depth = deeper


def face_of(table: list[list[Any]], order: list[int], clock: Clock) -> Face:
    """Return the face of a few exact rows, whose columns are kept in an order."""
    exact = _cells(table, len(order))
    n, n_features = exact.matrix.shape
    data = Data(Dense(exact.matrix), np.ones(n, dtype=np.intp), n_features, 2, False)
    return reduce(Constraints(data, np.zeros(n, dtype=bool), exact.basis, clock), order)


def _cells(table: list[list[Any]], k: int) -> Cells:
    """Return exact rows in machine cells; every row may be multiplied by a positive number."""
    from linsep.prove.regression.cone import whole

    if all(type(value) is int for row in table for value in row) and table and k:
        small = np.array(table, dtype=object)
        if np.abs(small).max() < _LIMIT:
            divisors = np.gcd.reduce(small.astype(np.int64), axis=1)
            return Cells(small.astype(np.int64) // np.maximum(divisors, 1)[:, None], [1] * k, None)
    rows = np.empty((len(table), k), dtype=object)
    for i, row in enumerate(table):
        rows[i] = whole([Fraction(value) for value in row]) if any(row) else [0] * k
    return cells(rows, "decimal", [str(j) for j in range(k)])


def _echelon_of(table: Any, order: list[int], clock: Clock) -> Any:
    """Return a basis of the vectors on which exact rows are zero."""
    from flint import fmpz_mat

    from linsep.prove.regression.cone import whole

    rows = [whole([Fraction(v) for v in row]) for row in table if any(row)]
    return echelon(fmpz_mat(len(rows), len(order), [v for row in rows for v in row]), order, clock)[1]


def _columns(V: Any) -> list[list[int]]:
    """Return the columns of a matrix."""
    return [[int(V[j, k]) for j in range(V.nrows())] for k in range(V.ncols())]


def spread(face: Face, k: int) -> list[int]:
    """Return the generic direction of a face in all unknowns."""
    full = [0] * k
    for place, j in enumerate(face.columns):
        full[j] = face.direction[place]
    return full
