"""Statuses in models with absorbed factors, and the rows that prove them: sums of closed walks through the levels."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz_mat

from linsep.problem import Array
from linsep.prove.exact.algebra import Solver
from linsep.prove.regression.cone import Face
from linsep.prove.regression.fixed_effects import Effects, face_of, spread
from linsep.prove.regression.level_graph import spanning_trees
from linsep.prove.regression.statuses import ALIASED, DOWN, FINITE, UNDETERMINED, UP, Statuses, whole_with_scale

Walk = tuple[Array, Array]  # rows, and the direction in which each is taken
Sum = dict[int, Fraction]  # rows with their multipliers
Vector = tuple[list[int], Any]  # a direction: of the columns, and potentials of the nodes


class Proved(NamedTuple):
    """A status, rows that add up to the function or its opposite, and for undetermined ones two directions."""

    status: str
    rows: Sum
    up: Vector | None = None
    down: Vector | None = None


class LevelStatuses:
    """What maximum likelihood says about functions ``c`` of the columns, in the units in which they are stored."""

    def __init__(self, effects: Effects, alias: str) -> None:
        self.effects, self.keeps = effects, alias == "keep"
        self._walks, self.free = effects.spanned(effects.arcs)
        self.aliases = self._by_last(self.free)  # by column: a vector zero on all cycles
        self.columns = [j for j in effects.order if j not in self.aliases]
        self._rest, inner = effects.spanned(effects.arcs.of(effects.left))
        self.rank, self.rank_rest = len(self.columns), effects.k - len(inner)
        self.left_over = self._by_last(inner)  # by column: a vector zero on all cycles of the rows that are left
        self._moving = [self._reduced(gamma) for gamma in inner]

    def _by_last(self, vectors: list[list[int]]) -> dict[int, list[int]]:
        """Return vectors by the last column of each, in the order in which columns are kept."""
        place = {j: k for k, j in enumerate(self.effects.order)}
        return {max((j for j, value in enumerate(v) if value), key=lambda j: place[j]): v for v in vectors}

    def _reduced(self, gamma: list[int]) -> list[Fraction]:
        """Return a vector that is zero in the columns that depend on others, and the same on all cycles."""
        left = [Fraction(value) for value in gamma]
        for j, vector in self.aliases.items():
            factor = left[j] / vector[j]
            left = [a - factor * b for a, b in zip(left, vector, strict=True)]
        return left

    # -----------------------------------------------------------------------------------------------------------
    # Directions

    @cached_property
    def direction(self) -> Vector:
        """A generic direction: positive on every separated row, zero on the others."""
        effects = self.effects
        gamma, pi, slack = [0] * effects.k, np.zeros(effects.nodes, dtype=object), np.zeros(effects.n, dtype=object)
        for each in reversed(effects.rounds):
            own = effects.slack(each.gamma, each.potentials).astype(object)
            effects.clock.check()
            lift = np.floor_divide(-slack[each.strict], own[each.strict])
            times = max(1, int(lift.max()) + 1)
            gamma = [times * a + b for a, b in zip(each.gamma, gamma, strict=True)]
            pi = pi + np.asarray(each.potentials).astype(object) * times
            slack = slack + own * times
        return gamma, pi

    def status(self, c: list[Fraction]) -> str:
        """Return the status of a function of all columns."""
        return self._decided(c)[0]

    def _decided(self, c: list[Fraction]) -> tuple[str, Any, Vector | None, Vector | None]:
        """Return a status with what shows it: closed walks that span or combine to the function, or directions."""
        odd = self.keeps or any(c[j] for j in self.aliases)
        if odd and any(_dot(gamma, c) for gamma in self.free):
            return ALIASED, None, None, None
        c = self._inner(c)
        if not any(_dot(gamma, c) for gamma in self._moving):
            return FINITE, self._rest, None, None
        height = _dot(self.direction[0], c)
        if height == 0:
            down, up = (self._side(c, sign)[1] for sign in (1, -1))
            return UNDETERMINED, self._walks, up, down
        sign = 1 if height > 0 else -1
        walks, other = self._side(c, sign)
        if other is None:
            return (UP if sign > 0 else DOWN), walks, None, None
        up, down = (self.direction, other) if sign > 0 else (other, self.direction)
        return UNDETERMINED, self._walks, up, down

    def _inner(self, c: list[Fraction]) -> list[Fraction]:
        return [value if j not in self.aliases else Fraction(0) for j, value in enumerate(c)]

    def _side(self, c: list[Fraction], sign: int) -> tuple[list[Walk], Vector | None]:
        """Return closed walks that combine to ``c``, or to its opposite, or a direction that is negative on it."""
        effects, walks = self.effects, list(self.effects.pool)
        target = whole_with_scale([sign * c[j] for j in self.columns])[0]
        while True:
            effects.clock.check()
            table = [self._kept(walk) for walk in walks]
            face = face_of([*table, [-value for value in target]], list(range(len(target))), effects.clock)
            if not face.separated[face.system.ids[-1]]:
                return walks, None
            gamma = [0] * effects.k
            for j, value in zip(self.columns, spread(face, len(target)), strict=True):
                gamma[j] = value
            gamma, found = effects.shortest(effects.arcs, gamma)
            if found.cycle is None:
                return walks, (gamma, found.pi)
            walks.append((effects.arcs.row[found.cycle], effects.arcs.direction[found.cycle]))

    def _kept(self, walk: Walk) -> list[Fraction]:
        """Return the sum of a closed walk in the columns that are kept."""
        total = self.effects.vector(walk)
        return [total[j] for j in self.columns]

    # -----------------------------------------------------------------------------------------------------------
    # Rows that add up to a function

    def proved(self, c: list[Fraction]) -> Proved:
        """Return the status of a function with its evidence."""
        status, walks, up, down = self._decided(c)
        if status == ALIASED:
            return Proved(status, {})
        inner = self._inner(c)
        if status in (UP, DOWN):
            sign = 1 if status == UP else -1
            return Proved(status, self._within(walks, [sign * inner[j] for j in self.columns]))
        return Proved(status, self._spanned(walks, [inner[j] for j in self.columns]), up, down)

    def _spanned(self, walks: list[Walk], c: list[Fraction]) -> Sum:
        """Return rows that add up to ``c``, which is in the span of closed walks."""
        some = [(walk, vector) for walk in walks if any(vector := self._kept(walk))]
        numbers, scale = whole_with_scale(c)
        parts = [whole_with_scale(vector) for _, vector in some]
        A = fmpz_mat(len(some), len(c), [value for row, _ in parts for value in row])
        found, (q,) = Solver(A, self.effects.clock).express(fmpz_mat(1, len(c), numbers))
        factors = [Fraction(int(found[0, k])) * scale / (int(q) * parts[k][1]) for k in range(len(some))]
        return self._rows([walk for walk, _ in some], factors)

    def _within(self, walks: list[Walk], c: list[Fraction]) -> Sum:
        """Return rows that add up to ``c``, none with a negative multiplier, from closed walks that combine to it."""
        table = [self._kept(walk) for walk in walks]
        face = face_of(table, list(range(len(c))), self.effects.clock)
        numbers, scale = whole_with_scale([c[j] for j in face.columns])
        found = Statuses(face).proved(numbers).combination
        assert found is not None
        return self._combined(walks, table, found, scale)

    def _combined(self, walks: list[Walk], table: list[list[Fraction]], found: Any, scale: Fraction) -> Sum:
        """Return the rows of a combination of closed walks, which a face has without their common factors."""
        numbers = [i // 2 for i in found.rows.tolist()]
        factors = [m * scale / whole_with_scale(table[i])[1] for i, m in zip(numbers, found.multipliers, strict=True)]
        return self._rows([walks[i] for i in numbers], factors)

    def _rows(self, walks: list[Walk], factors: list[Fraction]) -> Sum:
        """Return the rows of some closed walks, as their constraints are signed."""
        total: Sum = {}
        for (rows, directions), factor in zip(walks, factors, strict=True):
            self.effects.clock.check()
            if factor:
                for i, sign in zip(rows.tolist(), (directions * self.effects.signs[rows]).tolist(), strict=True):
                    total[i] = total.get(i, Fraction(0)) + sign * factor
        return {i: value for i, value in sorted(total.items()) if value}

    def canceling(self) -> Sum:
        """Return multipliers, all positive for inequalities, with which all rows that are left cancel.

        A row that is not named has the multiplier 1. Trees to and from a root of every component balance the levels
        (only upward, so that multipliers stay positive), and closed walks then balance the columns.
        """
        effects, times = self.effects, self._balanced()
        total = {i: Fraction(int(times[i])) for i in np.flatnonzero(times != 1).tolist()}
        if effects.k and effects.left.any():
            face = effects.face()
            signed = np.where(effects.left, times * effects.signs, 0)
            left = [-_exact_sum(signed, effects.x[:, j]) for j in face.columns]
            for i, value in self._filled(face, left).items():
                total[i] = total.get(i, Fraction(1)) + value
        return dict(sorted(total.items()))

    def _filled(self, face: Face, inner: list[Fraction]) -> Sum:
        """Return rows that add up to a vector, in the columns of a face: closed walks of the rest, none backwards."""
        finder, walks = Statuses(face), self.effects.pool
        table = [self.effects.vector(walk) for walk in walks]
        rest = face.contradiction
        factors = dict.fromkeys(rest.rows.tolist(), Fraction(0))
        if any(inner):
            numbers, scale = whole_with_scale(inner)
            found = finder.combined(numbers, np.empty(0, dtype=np.intp), [])
            factors |= {i: m * scale for i, m in zip(found.rows.tolist(), found.multipliers, strict=True)}
        short = max((-factors[i] / m for i, m in zip(rest.rows.tolist(), rest.multipliers, strict=True)), default=0)
        often = max(short, Fraction(0))
        full = [factors[i] + often * m for i, m in zip(rest.rows.tolist(), rest.multipliers, strict=True)]
        return self._combined(walks, table, rest._replace(multipliers=full), Fraction(1))

    def _balanced(self) -> Array:
        """Return multipliers of all rows that balance the levels, as constraints are signed; most are 1."""
        effects = self.effects
        arcs = effects.arcs.of(effects.left)
        own = arcs.direction == effects.signs[arcs.row]  # equations have two arcs
        excess = np.bincount(arcs.head[own], minlength=effects.nodes) - np.bincount(
            arcs.tail[own], minlength=effects.nodes
        )
        trees = spanning_trees(arcs, effects.nodes, effects.clock)
        total: Array = np.ones(effects.n, dtype=np.int64)
        for order, arc, further, sign in (
            (trees.order_in, trees.arc_in, arcs.head, 1), (trees.order_out, trees.arc_out, arcs.tail, -1)
        ):  # fmt: skip
            flow = np.maximum(sign * excess, 0)
            for node in order[::-1].tolist():
                if (e := arc[node]) >= 0 and flow[node]:
                    flow[further[e]] += flow[node]
                    total[arcs.row[e]] += flow[node] * arcs.direction[e] * effects.signs[arcs.row[e]]
            effects.clock.check()
        return total


def _dot(a: Any, b: Any) -> Any:
    return sum(x * y for x, y in zip(a, b, strict=True) if x and y)


def _exact_sum(times: Array, x: Array) -> Fraction:
    """Return the sum of numbers, each times its count."""
    used = np.flatnonzero(times)
    times, x = times[used], x[used]
    if x.dtype.kind != "f" and int(np.abs(times).sum()) * int(np.abs(x).max(initial=0)) < 1 << 62:
        return Fraction(int(times @ x.astype(np.int64)))
    return sum((m * Fraction(v) for m, v in zip(times.tolist(), x.tolist(), strict=True)), Fraction(0))
