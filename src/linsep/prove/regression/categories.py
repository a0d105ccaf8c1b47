"""The face of a model with a factor of many categories, whose columns are eliminated rather than computed with.

Columns of 0 and 1 of which a row has at most one, as those of a factor: a row of category ``j`` asks that
``a_j + x·γ`` is not negative (not positive, zero). Some ``a_j`` does it for all rows of the category exactly if
``(x_u - x_l)·γ >= 0`` for every row ``u`` that bounds it from below and ``l`` that bounds it from above (Fourier 1826).
So the core decides about the few unknowns ``γ``, with one row for each of some such pairs; of all others those are
added that a direction violates, or that it leaves at zero without the pairs at hand saying why.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpz_mat

from linsep.errors import DataError
from linsep.problem import Array, Dense, Sparse
from linsep.prove.check.integers import over_common
from linsep.prove.claims import Data
from linsep.prove.core.constraints import Constraints
from linsep.prove.core.exact_steps import Outcome
from linsep.prove.linear_algebra import algebra
from linsep.prove.linear_algebra.algebra import Solver, entries, first_independent, one_column

FEWEST = 300  # unknowns for which it is worth while
_OTHERS = 100  # unknowns beside the categories, at most
_CELLS = 1 << 27  # of the rows in these
_WORD = 1 << 62
_PAIRS = 2  # of every category to begin with
_DIMENSIONS = 2000  # a basis of more takes gigabytes


@dataclass(frozen=True, eq=False)
class Categories:
    """Rows by category, -1 for none, and their cells in the other unknowns."""

    system: Constraints
    block: Array  # the unknown of every category
    category: Array  # of every row
    others: list[int]  # the other unknowns
    x: Array  # (rows, others) integers

    @property
    def size(self) -> int:
        """How many categories there are."""
        return len(self.block)

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """Which rows bound the unknown of their category from below, and which from above; equations do both."""
        y, equal = self.system.data.y, self.system.equal
        return (y == 1) | equal, (y == 0) | equal

    @cached_property
    def pivots(self) -> Array:
        """One row of every category."""
        found = np.zeros(self.size, dtype=np.intp)
        own = np.flatnonzero(self.category >= 0)
        found[self.category[own[::-1]]] = own[::-1]
        return found

    @cached_property
    def without_pivots(self) -> tuple[Array, Array]:
        """The other rows of the categories, and rows without one."""
        left = np.ones(len(self.category), dtype=bool)
        left[self.pivots] = False
        return np.flatnonzero(left & (self.category >= 0)), np.flatnonzero(self.category < 0)

    def products(self, gamma: list[int]) -> Any:
        """Return ``x·γ`` of every row: machine integers, or objects where they are too long."""
        top = int(np.abs(self.x).max(initial=0))
        if top * sum(map(abs, gamma)) < _WORD:
            return self.x @ np.array(gamma, dtype=np.int64)
        found: Any = np.zeros(len(self.x), dtype=object)
        for j, value in enumerate(gamma):
            self.system.clock.check()
            found = found + self.x[:, j].astype(object) * value
        return found

    def extremes(self, values: Any, which: Array, sign: int) -> Array:
        """Return for every category the row of the least value (sign 1) or the largest (-1) of some; -1 if none."""
        rows = np.flatnonzero(which & (self.category >= 0))
        keys = values[rows] if sign > 0 else -values[rows]
        order = rows[np.lexsort((keys, self.category[rows]))] if keys.dtype != object else rows[_sorted(keys)]
        if keys.dtype == object:
            order = order[np.argsort(self.category[order], kind="stable")]
        found = np.full(self.size, -1, dtype=np.intp)
        found[self.category[order[::-1]]] = order[::-1]
        return found

    def constraints(self, first: Array, second: Array, alone: Array) -> Constraints:
        """Return rows ``x_first - x_second >= 0``, and some rows without a category, in the other unknowns."""
        data = self.system.data
        X = np.vstack((self.x[first] - self.x[second], self.x[alone]))
        y = np.concatenate((np.ones(len(first), dtype=np.intp), data.y[alone]))
        equal = np.concatenate((np.zeros(len(first), dtype=bool), self.system.equal[alone]))
        return Constraints(
            Data(Dense(np.ascontiguousarray(X)), y, X.shape[1], 2, False), equal, clock=self.system.clock
        )


def _sorted(keys: Any) -> Array:
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.intp)


def categories_of(system: Constraints, fewest: int | None = None) -> Categories | None:
    """Return the categories of a wide sparse system; None if it has too many unknowns beside them, or is not one."""
    data, rows = system.data, system.data.rows
    fewest = FEWEST if fewest is None else fewest
    if system.basis is not None or data.classes != 2 or not isinstance(rows, Sparse) or system.unknowns <= fewest:
        return None
    indices, n = rows.indices.astype(np.intp), len(data.y)
    counts = np.bincount(indices[rows.data != 0], minlength=data.n_features)
    ones = np.bincount(indices[rows.data == 1], minlength=data.n_features)
    lines = np.repeat(np.arange(n), np.diff(rows.indptr).astype(np.intp))
    by_column = np.argsort(indices, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(indices, minlength=data.n_features))))
    category = np.full(n, -1, dtype=np.intp)
    block: list[int] = []
    for j in np.argsort(counts, kind="stable").tolist():  # rare ones first: they are the most
        if counts[j] == 0 or ones[j] != counts[j]:
            continue
        own = by_column[starts[j] : starts[j + 1]]
        own = lines[own[rows.data[own] != 0]]
        if (category[own] < 0).all():
            category[own] = len(block)
            block.append(j)
        elif counts[j] * 2 > n and len(block) > fewest:
            break
    inside = np.zeros(data.n_features, dtype=bool)
    inside[block] = True
    others = np.flatnonzero(~inside)
    if len(others) > _OTHERS or n * (len(others) + 1) > _CELLS:
        return None
    place = np.full(data.n_features, -1, dtype=np.intp)
    place[others] = np.arange(len(others))
    x = np.zeros((n, len(others) + data.offset), dtype=np.int64)
    there = place[indices] >= 0
    cells = rows.data[there]
    if cells.dtype.kind == "f" and not (np.rint(cells) == cells).all():
        return None
    if len(cells) and not float(np.abs(cells.astype(np.float64)).max()) < 2.0**53:
        return None
    x[lines[there], place[indices[there]]] = cells.astype(np.int64)
    if data.offset:
        x[:, -1] = 1
    unknowns = [*others.tolist(), *([data.n_features] if data.offset else [])]
    return Categories(system, np.array(block, dtype=np.intp), category, unknowns, x)


def kept_columns(c: Categories, order: list[int]) -> tuple[list[int], Any]:
    """Return the first columns in ``order`` that all others depend on, and a basis of the vectors all rows are 0 on."""
    owned, alone = c.without_pivots
    rows = c.constraints(owned, c.pivots[c.category[owned]], alone)
    V = rows.span(rows.ids, list(range(rows.unknowns)))[2]
    back = order[::-1]  # of several columns that depend on each other the last is not kept
    full = [_full(c, [int(V[i, k]) for i in range(V.nrows())]) for k in range(V.ncols())]
    R, _, rank = fmpz_mat(len(full), len(back), [vector[u] for vector in full for u in back]).rref()
    dropped = {back[k] for k in algebra.leading(R, rank)}
    aliases = fmpz_mat(c.system.unknowns, rank)
    for k in range(rank):
        for u, value in zip(back, algebra.primitive([int(R[rank - 1 - k, j]) for j in range(len(back))]), strict=True):
            if value:
                aliases[u, k] = value
    return [u for u in range(c.system.unknowns) if u not in dropped], aliases


def _full(c: Categories, gamma: list[int]) -> list[int]:
    """Return ``γ`` with the unknowns of the categories that make one row of each zero."""
    found = [0] * c.system.unknowns
    for value, u in zip(gamma, c.others, strict=True):
        found[u] = value
    if any(gamma):
        scores = Categories(c.system, c.block, c.category, c.others, c.x[c.pivots]).products(gamma)
        for u, score in zip(c.block.tolist(), scores.tolist(), strict=True):
            found[u] = -int(score)
    return found


# ---------------------------------------------------------------------------------------------------------------
# The face


class EliminatedFace:
    """Separated rows, a direction, and rows that cancel and span the rest, found without the categories' unknowns."""

    def __init__(self, c: Categories, decide: Any) -> None:
        self.c, self.clock, self.rng = c, c.system.clock, np.random.default_rng(0)
        self.first, self.second = self._some_pairs()
        self.alone = np.flatnonzero(c.category < 0)
        while True:
            self.clock.check()
            self.inner = c.constraints(self.first, self.second, self.alone)
            self.outcome: Outcome = decide(self.inner)
            A, self.shifts = self.inner.rows(self.outcome.ids)
            self.A = A
            unknowns = list(range(self.inner.unknowns))
            self.null = algebra.echelon(A, unknowns, self.clock)[1]  # of the pairs that cancel
            if not self._add_pairs():
                break
        dimension = self.null.ncols() + int(np.count_nonzero(~self.tight))
        if dimension > _DIMENSIONS:
            raise DataError(
                "", f"the likelihood rises forever in {dimension:,} independent directions, more than {_DIMENSIONS:,}, "
                "as it does where all rows of a level have one response: leave out such levels, or merge them"
            )  # fmt: skip

    def _some_pairs(self) -> tuple[Array, Array]:
        """Return random rows that bound the unknowns of their categories from below and from above."""
        below, above = self.c.sides
        found = []
        for _ in range(_PAIRS):
            random = self.rng.integers(0, 1 << 62, len(self.c.category))
            found.append(self._different(self.c.extremes(random, below, 1), self.c.extremes(random, above, 1)))
        first, second = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return first, second

    @staticmethod
    def _different(first: Array, second: Array) -> tuple[Array, Array]:
        fair = (first >= 0) & (second >= 0) & (first != second)
        return first[fair], second[fair]

    def _add_pairs(self) -> bool:
        """Add pairs that the direction violates or leaves at zero without reason; return whether there are any."""
        c, (below, above) = self.c, self.c.sides
        g = self.outcome.g
        self.gamma = [0] * self.inner.unknowns if g is None else entries(g)
        self.values = c.products(self.gamma)
        self.low, self.high = c.extremes(self.values, below, 1), c.extremes(self.values, above, -1)
        both = (self.low >= 0) & (self.high >= 0)
        least, most = self.values[self.low], self.values[self.high]
        wrong = both & (least < most)
        self.clock.check()
        if wrong.any():
            return self._more(self.low[wrong], self.high[wrong])
        self.tight = both & (least == most)
        at = c.category >= 0
        self.tied = np.zeros(len(c.category), dtype=bool)
        own = c.category[at]
        self.tied[at] = self.tight[own] & (self.values[at] == least[own])
        if self.null.ncols() == 0:
            return False
        factors = self.rng.integers(1, 1 << 20, self.null.ncols()).tolist()
        test = c.products(entries(self.null * one_column(factors)))
        rows = np.flatnonzero(self.tied)
        off = rows[test[rows] != test[self.high[c.category[rows]]]]
        lower, upper = off[below[off]], off[above[off]]
        return self._more(
            np.concatenate((lower, self.low[c.category[upper]])), np.concatenate((self.high[c.category[lower]], upper))
        )

    def _more(self, first: Array, second: Array) -> bool:
        first, second = self._different(first, second)
        known = set(zip(self.first.tolist(), self.second.tolist(), strict=True))
        pairs = [pair for pair in dict.fromkeys(zip(first.tolist(), second.tolist(), strict=True)) if pair not in known]
        if pairs:
            new = np.array(pairs, dtype=np.intp)
            self.first, self.second = np.append(self.first, new[:, 0]), np.append(self.second, new[:, 1])
        return bool(pairs)

    @cached_property
    def strict(self) -> Array:
        """By row, which inequalities are positive on the direction."""
        c = self.c
        found = np.zeros(len(c.category), dtype=bool)
        found[c.category >= 0] = ~self.tied[c.category >= 0]
        found[self.alone] = self.outcome.strict[self.inner.ids][len(self.first) :]
        return found & ~c.system.equal

    @cached_property
    def direction(self) -> list[int]:
        """The generic direction: between the bounds of every category."""
        c = self.c
        found = [0] * c.system.unknowns
        for value, u in zip(self.gamma, c.others, strict=True):
            found[u] = 2 * value
        for j, u in enumerate(c.block.tolist()):
            low, high = int(self.low[j]), int(self.high[j])
            if low >= 0 and high >= 0:
                found[u] = -int(self.values[low]) - int(self.values[high])
            else:
                found[u] = -2 * int(self.values[low]) + 2 if low >= 0 else -2 * int(self.values[high]) - 2
        return algebra.primitive(found)

    @cached_property
    def span(self) -> Any:
        """The null space of the rest: ``γ`` on which pairs vanish, and the unknowns of categories that have no rest."""
        c = self.c
        free = np.flatnonzero(~self.tight)
        V = fmpz_mat(c.system.unknowns, self.null.ncols() + len(free))
        tied = Categories(c.system, c.block, c.category, c.others, c.x[self.low[self.tight]])
        for k in range(self.null.ncols()):
            gamma = [int(self.null[i, k]) for i in range(self.null.nrows())]
            for value, u in zip(gamma, c.others, strict=True):
                V[u, k] = value
            for u, score in zip(c.block[self.tight].tolist(), tied.products(gamma).tolist(), strict=True):
                V[u, k] = -int(score)
        for k, j in enumerate(free.tolist()):
            V[int(c.block[j]), self.null.ncols() + k] = 1
        return V

    # -----------------------------------------------------------------------------------------------------------
    # Sums of rows

    @cached_property
    def solver(self) -> Solver:
        """Expresses what is in the span of the pairs that cancel."""
        return Solver(self.A, self.clock)

    def _of_pairs(self, target: list[Fraction]) -> list[Fraction]:
        """Return multipliers of the inner rows that cancel, as given, whose sum is a target in their span."""
        found = [Fraction(0)] * len(self.outcome.ids)
        if any(target):
            whole, common = over_common(target)
            numbers, (q,) = self.solver.express(fmpz_mat(1, len(target), whole))
            for k, shift in enumerate(self.shifts):
                found[k] = Fraction(int(numbers[0, k]), int(q) * common) / Fraction(2) ** shift
        return found

    def _into(self, found: dict[int, Fraction], multipliers: list[Fraction]) -> None:
        """Add a combination of inner rows to multipliers of the rows without their signs."""
        for number, m in zip(self.outcome.ids.tolist(), multipliers, strict=True):
            i = number // 2
            if i < len(self.first):
                u, low = int(self.first[i]), int(self.second[i])
                found[u] = found.get(u, Fraction(0)) + m
                found[low] = found.get(low, Fraction(0)) - m
            else:
                row = int(self.alone[i - len(self.first)])
                found[row] = found.get(row, Fraction(0)) + m * (1 if self.c.system.data.y[row] == 1 else -1)

    def _signed(self, found: dict[int, Fraction]) -> tuple[Array, list[Fraction]]:
        """Return the numbers of inequalities and multipliers of rows with their signs."""
        y = self.c.system.data.y
        rows = sorted(found)
        ids = np.array([2 * i + 1 - int(y[i]) for i in rows], dtype=np.intp)
        return ids, [found[i] if y[i] == 1 else -found[i] for i in rows]

    @cached_property
    def canceling(self) -> tuple[Array, list[Fraction]]:
        """Rows of the rest that cancel and span it, by number: two of each category that has any."""
        c = self.c
        low, high = self.low[self.tight], self.high[self.tight]
        total = (c.x[high].astype(object) - c.x[low].astype(object)).sum(axis=0) if len(low) else [0] * c.x.shape[1]
        back = self._of_pairs([Fraction(int(value)) for value in total])
        weights = self.outcome.multipliers
        free = self.inner.is_equation(self.outcome.ids).tolist()
        short = [1 - m / w for m, w, f in zip(back, weights, free, strict=True) if not f and m <= 0]
        times = max(short, default=Fraction(1))
        found: dict[int, Fraction] = {}
        for u, v in zip(low.tolist(), high.tolist(), strict=True):
            found[u] = found.get(u, Fraction(0)) + 1
            found[v] = found.get(v, Fraction(0)) - 1
        self._into(found, [m + times * w for m, w in zip(back, weights, strict=True)])
        return self._signed(found)

    @cached_property
    def _rows_of(self) -> dict[int, int]:
        """A row of the rest by the unknown of its category."""
        own = self.c.block[self.tight]
        return dict(zip(own.tolist(), self.low[self.tight].tolist(), strict=True))

    def express(self, c: dict[int, Fraction]) -> dict[int, Fraction]:
        """Return multipliers, by number, of rows that cancel, whose sum is a function in their span."""
        cats, found = self.c, dict[int, Fraction]()
        left = [c.get(u, Fraction(0)) for u in cats.others]
        for u, value in c.items():
            row = self._rows_of.get(u)
            if row is not None:
                found[row] = found.get(row, Fraction(0)) + value
                left = [a - value * int(b) for a, b in zip(left, cats.x[row].tolist(), strict=True)]
        self._into(found, self._of_pairs(left))
        ids, multipliers = self._signed(found)
        return dict(zip(ids.tolist(), multipliers, strict=True))

    @cached_property
    def spanning(self) -> Array:
        """As many independent rows as there are unknowns, by number."""
        c, y = self.c, self.c.system.data.y
        owned, alone = c.without_pivots
        rows = c.constraints(owned, c.pivots[c.category[owned]], alone)
        some = rows.span(rows.ids, list(range(rows.unknowns)))[0]
        some = some[first_independent(rows.rows(some)[0])]
        which = np.concatenate((c.pivots, np.concatenate((owned, alone))[some // 2]))
        return np.sort(which * 2 + 1 - y[which])
