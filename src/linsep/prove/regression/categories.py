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
from linsep.prove.regression.families import constraints_of, differences, integers

_CELLS = 1 << 27  # of the rows in the other unknowns: a gigabyte of machine numbers
_LONG_CELLS = 1 << 24  # integers of Python
_WORD = 1 << 62  # sums below it are machine integers
_WORTH = 2  # times as many categories as other unknowns: between fewer, pairs are as hard as rows
_PAIRS = 2  # of every category to begin with: fewer take more rounds, more a larger problem
_DIMENSIONS = 2000  # a basis of more takes gigabytes


@dataclass(frozen=True, eq=False)
class Categories:
    """Rows by category, -1 for none, and their cells in the other unknowns."""

    system: Constraints
    block: Array  # the unknown of every category
    category: Array  # of every row
    others: list[int]  # the other unknowns
    x: Array  # (rows, others) integers: machine ones, or objects that are the cells times a power of two
    power: int = 0  # its exponent

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """Which rows bound the unknown of their category from below, and which from above; equations do both."""
        y, equal = self.system.data.y, self.system.equal
        return (y == 1) | equal, (y == 0) | equal

    @cached_property
    def pivots(self) -> Array:
        """The first row of every category."""
        numbers, first = np.unique(self.category, return_index=True)
        return first[numbers >= 0]

    @cached_property
    def without_pivots(self) -> tuple[Array, Array]:
        """The other rows of the categories, and rows without one."""
        left = np.ones(len(self.category), dtype=bool)
        left[self.pivots] = False
        return np.flatnonzero(left & (self.category >= 0)), np.flatnonzero(self.category < 0)

    def products(self, gamma: list[int], rows: Any = slice(None)) -> Any:
        """Return ``x·γ`` of rows: machine integers, or objects where they are too long."""
        x = self.x[rows]
        if x.dtype != object and int(np.abs(x).max(initial=0)) * sum(map(abs, gamma)) < _WORD:
            return x @ np.array(gamma, dtype=np.int64)
        total: Any = np.zeros(len(x), dtype=object)
        for j, value in enumerate(gamma):
            self.system.clock.check()
            total = total + x[:, j].astype(object) * value
        return total

    def lifted(self, gamma: list[int], rows: Array) -> list[int]:
        """Return ``γ`` with unknowns of categories that make one row of each of these zero."""
        full = [0] * self.system.unknowns
        for value, u in zip(gamma, self.others, strict=True):
            full[u] = value << self.power
        if any(gamma):
            for u, score in zip(self.block[self.category[rows]].tolist(), self.products(gamma, rows), strict=True):
                full[u] = -int(score)
        return full

    def extremes(self, values: Any, which: Array, sign: int) -> Array:
        """Return for every category the row of the least value (sign 1) or the largest (-1) of some; -1 if none."""
        rows = np.flatnonzero(which & (self.category >= 0))
        order = rows[np.lexsort((values[rows] * sign, self.category[rows]))]
        first = np.full(len(self.block), -1, dtype=np.intp)
        first[self.category[order[::-1]]] = order[::-1]
        return first

    def constraints(self, first: Array, second: Array, ungrouped: Array) -> Constraints:
        """Return rows ``x_first - x_second >= 0``, and some rows without a category, in the other unknowns."""
        y = np.concatenate((np.ones(len(first), dtype=np.intp), self.system.data.y[ungrouped]))
        equal = np.concatenate((np.zeros(len(first), dtype=bool), self.system.equal[ungrouped]))
        if self.x.dtype == object:
            nothing = np.full(len(ungrouped), -1)
            cells = differences(self.x, np.concatenate((first, ungrouped)), np.concatenate((second, nothing)))
            system = constraints_of(cells, y, equal=equal)
            system.clock = self.system.clock
            return system
        X = np.vstack((self.x[first] - self.x[second], self.x[ungrouped]))
        data = Data(Dense(np.ascontiguousarray(X)), y, X.shape[1], 2, False)
        return Constraints(data, equal, clock=self.system.clock)


def categories_of(system: Constraints) -> Categories | None:
    """Return the categories of a sparse system; None unless most of its unknowns are theirs."""
    data, rows, d = system.data, system.data.rows, system.data.n_features
    if system.basis is not None or data.classes != 2 or not isinstance(rows, Sparse):
        return None
    indices, n = rows.indices.astype(np.intp), len(data.y)
    counts = np.bincount(indices[rows.data != 0], minlength=d)
    ones = np.bincount(indices[rows.data == 1], minlength=d)
    lines = np.repeat(np.arange(n), np.diff(rows.indptr).astype(np.intp))
    columns = np.split(np.argsort(indices, kind="stable"), np.cumsum(np.bincount(indices, minlength=d))[:-1])
    category = np.full(n, -1, dtype=np.intp)
    block: list[int] = []
    for j in np.argsort(counts, kind="stable").tolist():  # rare ones first: they are the most
        if counts[j] == 0 or ones[j] != counts[j]:
            continue
        members = lines[columns[j][rows.data[columns[j]] != 0]]
        if (category[members] < 0).all():
            category[members] = len(block)
            block.append(j)
    others = np.setdiff1d(np.arange(d), block)
    if len(block) <= _WORTH * len(others) or n * (len(others) + 1) > _CELLS:
        return None
    position = np.full(d, -1, dtype=np.intp)
    position[others] = np.arange(len(others))
    inside = position[indices] >= 0
    x = np.zeros((n, len(others) + data.offset), dtype=rows.data.dtype)
    x[lines[inside], position[indices[inside]]] = rows.data[inside]
    if data.offset:
        x[:, -1] = 1
    power = 0
    if (np.rint(x) == x).all() and float(np.abs(x.astype(np.float64)).max(initial=0)) < 2.0**53:
        x = x.astype(np.int64)
    elif x.size <= _LONG_CELLS:
        x, power = integers(x)
    else:
        return None
    unknowns = [*others.tolist(), *([d] if data.offset else [])]
    return Categories(system, np.array(block, dtype=np.intp), category, unknowns, x, power)


def kept_columns(c: Categories, order: list[int]) -> tuple[list[int], Any]:
    """Return the first columns in ``order`` that all others depend on, and a basis of the vectors all rows are 0 on."""
    grouped, ungrouped = c.without_pivots
    rows = c.constraints(grouped, c.pivots[c.category[grouped]], ungrouped)
    V = rows.span(rows.ids, list(range(rows.unknowns)))[2]
    back = order[::-1]  # of several columns that depend on each other the last is not kept
    vectors = [c.lifted([int(V[i, k]) for i in range(V.nrows())], c.pivots) for k in range(V.ncols())]
    R, _, rank = fmpz_mat(len(vectors), len(back), [vector[u] for vector in vectors for u in back]).rref()
    dropped = {back[k] for k in algebra.leading(R, rank)}
    aliases = fmpz_mat(c.system.unknowns, rank)
    for k in range(rank):
        line = algebra.primitive([int(R[rank - 1 - k, j]) for j in range(len(back))])
        for u, value in zip(back, line, strict=True):
            if value:
                aliases[u, k] = value
    return [u for u in range(c.system.unknowns) if u not in dropped], aliases


class EliminatedFace:
    """Separated rows, a direction, and rows that cancel and span the rest, found without the categories' unknowns."""

    def __init__(self, c: Categories, decide: Any) -> None:
        self.c, self.clock, self.rng = c, c.system.clock, np.random.default_rng(0)
        self.first, self.second = self._random_pairs()
        self.ungrouped = np.flatnonzero(c.category < 0)
        while True:
            self.clock.check()
            self.inner = c.constraints(self.first, self.second, self.ungrouped)
            self.outcome: Outcome = decide(self.inner)
            self.A, self.shifts = self.inner.rows(self.outcome.ids)  # of the pairs that cancel
            self.null = algebra.echelon(self.A, list(range(self.inner.unknowns)), self.clock)[1]
            if not self._add_pairs():
                break
        dimension = self.null.ncols() + int(np.count_nonzero(~self.tight))
        if dimension > _DIMENSIONS:
            reason = (
                f"the likelihood rises forever in {dimension:,} independent directions, more than {_DIMENSIONS:,}, "
            )
            how = "as it does where all rows of a level have one response: leave out such levels, or merge them"
            raise DataError("", reason + how)

    def _random_pairs(self) -> tuple[Array, Array]:
        """Return rows that bound the unknowns of their categories from below and from above."""
        below, above = self.c.sides
        pairs = []
        for _ in range(_PAIRS):
            random = self.rng.integers(0, 1 << 62, len(self.c.category))
            first, second = self.c.extremes(random, below, 1), self.c.extremes(random, above, 1)
            both = (first >= 0) & (second >= 0) & (first != second)
            pairs.append((first[both], second[both]))
        first, second = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        return first, second

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
        self.tied = np.zeros(len(c.category), dtype=bool)
        rows = np.flatnonzero(c.category >= 0)
        self.tied[rows] = self.tight[c.category[rows]] & (self.values[rows] == least[c.category[rows]])
        if self.null.ncols() == 0:
            return False
        factors = self.rng.integers(1, 1 << 20, self.null.ncols()).tolist()
        test = c.products(entries(self.null * one_column(factors)))
        rows = np.flatnonzero(self.tied)
        unexplained = rows[test[rows] != test[self.high[c.category[rows]]]]
        lower, upper = unexplained[below[unexplained]], unexplained[above[unexplained]]
        return self._more(
            np.concatenate((lower, self.low[c.category[upper]])), np.concatenate((self.high[c.category[lower]], upper))
        )

    def _more(self, first: Array, second: Array) -> bool:
        known = set(zip(self.first.tolist(), self.second.tolist(), strict=True))
        pairs = dict.fromkeys(zip(first.tolist(), second.tolist(), strict=True))
        new = [pair for pair in pairs if pair not in known and pair[0] != pair[1]]
        if new:
            table = np.array(new, dtype=np.intp)
            self.first, self.second = np.append(self.first, table[:, 0]), np.append(self.second, table[:, 1])
        return bool(new)

    @cached_property
    def strict(self) -> Array:
        """By row, which inequalities are positive on the direction."""
        strict = (self.c.category >= 0) & ~self.tied
        strict[self.ungrouped] = self.outcome.strict[self.inner.ids][len(self.first) :]
        return strict & ~self.c.system.equal

    @cached_property
    def direction(self) -> list[int]:
        """The generic direction: between the bounds of every category."""
        c = self.c
        direction = [0] * c.system.unknowns
        for value, u in zip(self.gamma, c.others, strict=True):
            direction[u] = 2 * value << c.power
        for u, low, high in zip(c.block.tolist(), self.low.tolist(), self.high.tolist(), strict=True):
            if low >= 0 and high >= 0:
                direction[u] = -int(self.values[low]) - int(self.values[high])
            else:
                direction[u] = -2 * int(self.values[low]) + 2 if low >= 0 else -2 * int(self.values[high]) - 2
        return algebra.primitive(direction)

    @cached_property
    def span(self) -> Any:
        """The null space of the rest: ``γ`` on which pairs vanish, and the unknowns of categories that have no rest."""
        c, n, zero_rows = self.c, self.null.nrows(), self.low[self.tight]
        columns = [c.lifted([int(self.null[i, k]) for i in range(n)], zero_rows) for k in range(self.null.ncols())]
        free = c.block[~self.tight].tolist()
        V = fmpz_mat(c.system.unknowns, len(columns) + len(free))
        for k, column in enumerate(columns):
            for u, value in enumerate(column):
                if value:
                    V[u, k] = value
        for k, u in enumerate(free, len(columns)):
            V[u, k] = 1
        return V

    # -----------------------------------------------------------------------------------------------------------
    # Sums of rows

    @cached_property
    def solver(self) -> Solver:
        """Expresses what is in the span of the pairs that cancel."""
        return Solver(self.A, self.clock)

    def _of_pairs(self, target: list[Fraction]) -> list[Fraction]:
        """Return multipliers of the inner rows that cancel, as given, whose sum is a target in their span."""
        if not any(target):
            return [Fraction(0)] * len(self.outcome.ids)
        whole, common = over_common(target)
        numbers, (q,) = self.solver.express(fmpz_mat(1, len(target), whole))
        return [Fraction(int(numbers[0, k]), int(q) * common) / Fraction(2) ** s for k, s in enumerate(self.shifts)]

    def _of_rows(self, total: dict[int, Fraction], multipliers: list[Fraction]) -> tuple[Array, list[Fraction]]:
        """Return by inequality multipliers of rows and of the pairs that cancel, added to those of ``total``."""
        y = self.c.system.data.y

        def add(row: int, m: Fraction) -> None:
            total[row] = total.get(row, Fraction(0)) + m

        for k, m in zip((self.outcome.ids // 2).tolist(), multipliers, strict=True):
            if k < len(self.first):
                add(int(self.first[k]), m)
                add(int(self.second[k]), -m)
            else:
                row = int(self.ungrouped[k - len(self.first)])
                add(row, m if y[row] == 1 else -m)
        rows = sorted(total)
        ids = np.array([2 * i + 1 - int(y[i]) for i in rows], dtype=np.intp)
        return ids, [total[i] if y[i] == 1 else -total[i] for i in rows]

    @cached_property
    def canceling(self) -> tuple[Array, list[Fraction]]:
        """Rows of the rest that cancel and span it, by number: two of each category that has any."""
        c, low, high = self.c, self.low[self.tight], self.high[self.tight]
        sums = (c.x[high].astype(object) - c.x[low].astype(object)).sum(axis=0) if len(low) else [0] * c.x.shape[1]
        back = self._of_pairs([Fraction(int(value)) for value in sums])
        weights = self.outcome.multipliers
        free = self.inner.is_equation(self.outcome.ids).tolist()
        short = [1 - m / w for m, w, f in zip(back, weights, free, strict=True) if not f and m <= 0]
        times = max(short, default=Fraction(1))
        total: dict[int, Fraction] = {}
        for rows, sign in ((low, 1), (high, -1)):
            for i in rows.tolist():
                total[i] = total.get(i, Fraction(0)) + sign
        return self._of_rows(total, [m + times * w for m, w in zip(back, weights, strict=True)])

    def express(self, c: dict[int, Fraction]) -> dict[int, Fraction]:
        """Return multipliers, by number, of rows that cancel, whose sum is a function in their span."""
        zero_rows = dict(zip(self.c.block[self.tight].tolist(), self.low[self.tight].tolist(), strict=True))
        left = [c.get(u, Fraction(0)) * (1 << self.c.power) for u in self.c.others]
        total = dict[int, Fraction]()
        for u, value in c.items():
            if u in zero_rows:
                row = zero_rows[u]
                total[row] = total.get(row, Fraction(0)) + value
                left = [a - value * int(b) for a, b in zip(left, self.c.x[row].tolist(), strict=True)]
        ids, multipliers = self._of_rows(total, self._of_pairs(left))
        return dict(zip(ids.tolist(), multipliers, strict=True))

    @cached_property
    def spanning(self) -> Array:
        """As many independent rows as there are unknowns, by number."""
        c, y = self.c, self.c.system.data.y
        grouped, ungrouped = c.without_pivots
        rows = c.constraints(grouped, c.pivots[c.category[grouped]], ungrouped)
        some = rows.span(rows.ids, list(range(rows.unknowns)))[0]
        some = some[first_independent(rows.rows(some)[0])]
        which = np.concatenate((c.pivots, np.concatenate((grouped, ungrouped))[some // 2]))
        return np.sort(which * 2 + 1 - y[which])
