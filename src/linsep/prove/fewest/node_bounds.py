"""Bounds one node of the search tree with a packing program that grows by cheap refutations.

For every inequality that the node's plane has wrong, the cheapest refutation through it and otherwise right ones
(``simplex``), at the prices of the present cover: it has exactly one wrong row, as those of a tight packing must. The
prices are smoothed over the rounds (Wentges 1997) and perturbed, against going round in circles. Where there is none
through a row, the row can come back: the prices are a plane that has it right and loses no other.

The packing program is ``max Σ u`` with ``Σ_{I ∋ i} u_I ≤ c_i``: no row carries more than its copies. It is solved as
its dual, the fractional cover ``min Σ c_i y_i`` with ``Σ_{i ∈ I} y_i ≥ 1``: refutations come as new rows, and the dual
simplex of HiGHS goes on from where it was (Huangfu & Hall 2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter as now
from typing import TYPE_CHECKING, Any

import numpy as np

from linsep import compiling
from linsep.clock import OPERATION, Clock
from linsep.data.parallel import in_parallel
from linsep.problem import Array, Floats
from linsep.prove.fewest import line_search, simplex

if TYPE_CHECKING:
    from linsep.prove.fewest.search import Search

EPS = 1e-4  # how far a packing must be above the bound it proves: dyadic weights lose less
_LOOSE = 0.3  # refutations covered by so much more than 1 are not passed on to the cases of a node
_SMOOTH = 0.7  # the share of earlier prices in those that new refutations are found at
_NOISE = 0.01  # added to prices
_MOST = 400  # programs of one round
_FREE = 30  # of them through rows that are right but priced: without them bounds come out up to 7 % lower
_PATIENCE = 6.0  # rounds that must gain something together; one asks for a refutation through every wrong row
_GAIN = 0.002  # of the bound
_NODE_STEPS = 60  # line searches at a node
_NODE_WORK = 5e7  # cells that they may look at
_SHORT = 1e-4  # less is as good as covered
_PERTURBED = 1e-5  # costs, by so much at most, relatively
_SLICE = 5.0  # seconds after which a long program is interrupted to see whether it should go on
_OPTIONS: dict[str, Any] = {
    "output_flag": False,
    "threads": 1,
    "presolve": "off",
    "solver": "simplex",
    "random_seed": 0,
}


class Budget(Clock):
    """A clock that also counts nodes, and keeps back the time that the proof of what is known will take."""

    def __init__(
        self,
        seconds: float | None = None,
        max_nodes: float | None = None,
        show: Callable[..., None] | None = None,
    ) -> None:
        super().__init__(seconds, show)
        self.max_nodes = math.inf if max_nodes is None else max_nodes
        self.reserve = 0.0  # seconds
        self._compiled = compiling.seconds()

    @property
    def left(self) -> float:
        """Seconds until the deadline; compiling, once in a lifetime, does not count."""
        return super().left + compiling.seconds() - self._compiled

    @property
    def spare(self) -> float:
        """Seconds that the search may still take."""
        return self.left - self.reserve

    def allows(self, operations: float) -> bool:
        """Return whether there is time for this number of operations, and for the proof after them."""
        return self.deadline == math.inf or self.spare >= OPERATION * operations


@dataclass(eq=False)
class Node:
    """A part of all cases: items held right (1) and wrong (-1), and what is proved of it."""

    state: Array  # (m,) int8
    w: Floats  # a plane that does well here
    y: Floats  # (m,) the fractional cover, of the parent at first
    cuts: Array  # refutations worth beginning with
    spent: int = 0  # cost of the items held wrong
    bound: float = 0.0  # spent and the packing
    packing: list[tuple[int, float]] = field(default_factory=list)  # refutations and their weights
    dead: int | None = None  # a refutation that leaves no case
    split: int = -1  # the item whose cases are the children
    children: tuple[Node, ...] = ()  # held right, held wrong
    depth: int = 0


class Cover:
    """The fractional cover of refutations, each given as the items it uses, and the packing that is its dual."""

    def __init__(self, cost: Array) -> None:
        import highspy

        self.solver = highspy.Highs()
        for name, value in _OPTIONS.items():
            self.solver.setOptionValue(name, value)
        self.cost = cost
        n = len(cost)
        none: Any = np.zeros(0)
        zeros, top = np.zeros(n), np.full(n, highspy.kHighsInf)
        self.solver.addCols(n, zeros, zeros, top, 0, np.zeros(n, np.int32), none, none)
        self.favor(np.zeros(n, dtype=bool))

    def favor(self, which: Array) -> None:
        """Have the cover take some items rather than others that would do as well."""
        n = len(which)
        noise = 0.5 * _PERTURBED * (np.random.default_rng(2).random(n) + ~which)
        self.solver.changeColsCost(n, np.arange(n, dtype=np.int32), self.cost * (1.0 + noise))

    def add(self, sets: Sequence[Array]) -> None:
        """Add refutations."""
        import highspy

        if not sets:
            return
        lengths = np.array([len(each) for each in sets])
        starts = np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.int32)
        indices = np.concatenate(sets).astype(np.int32)
        top = np.full(len(sets), highspy.kHighsInf)
        self.solver.addRows(len(sets), np.ones(len(sets)), top, len(indices), starts, indices, np.ones(len(indices)))

    def solve(self, clock: Budget) -> tuple[Floats, Floats] | None:
        """Return the cover ``y`` and the packing ``u``; None if the solver gave up.

        Raises OutOfTime or Cancelled.
        """
        import highspy

        if self.solver.getNumRow() == 0:
            return np.zeros(self.solver.getNumCol()), np.zeros(0)
        tries = 2
        while tries:
            self.solver.setOptionValue("time_limit", self.solver.getRunTime() + max(0.01, min(clock.spare, _SLICE)))
            self.solver.run()
            status = self.solver.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                solution = self.solver.getSolution()
                return np.maximum(solution.col_value, 0.0), np.maximum(solution.row_dual, 0.0) * (1.0 - _PERTURBED)
            clock.check()
            if status != highspy.HighsModelStatus.kTimeLimit:  # else it goes on from where it was
                self.solver.clearSolver()  # from scratch, once
                tries -= 1
        return None


class Bounding:
    """The work at one node."""

    def __init__(self, search: Search, node: Node) -> None:
        self.search, self.node, self.items, self.pool = search, node, search.items, search.pool
        self.state, self.V = node.state, search.items.V
        self.held = np.repeat(node.state, self.V)  # the state of every inequality
        self.A = search.items.Z
        if (node.state < 0).any():
            self.A = search.items.Z.copy()
            self.A[self.held < 0] *= -1.0  # of a wrong item the reverse holds
        # one of several inequalities of a wrong item fails, nobody knows which
        self.barred = self.held < 0 if self.V > 1 else np.zeros(len(self.held), dtype=bool)
        self.cover = Cover(search.items.cost)
        self.active: dict[int, None] = {}  # refutations in the program, in its order
        self.asked = 0  # linear programs solved
        self.prices = node.y.copy()

    def run(self) -> bool:
        """Add refutations until the node is closed or they gain too little; return whether it is closed."""
        node = self.node
        closed = self._grow()
        if node.dead is None:
            closed = self._confirm() > self.search.target - 1 and closed
        elif self.pool.multipliers(node.dead) is None:  # floats were wrong
            node.dead, closed = None, False
        if not closed:
            covered = self.pool.covered(node.y, self.state)
            keep = [k for k in self.active if covered[k] < 1 + _LOOSE and self.pool.exact.get(k, ()) is not None]
            node.cuts = np.array(keep, dtype=np.intp)
        return closed

    def _grow(self) -> bool:
        """Add refutations; return whether the bound is high enough, as floats see it."""
        search, node = self.search, self.node
        self._walk()
        self._enlist(node.cuts[self.pool.usable(self.state)[node.cuts]])
        if node is search.root and not self.active:
            self._first_refutations()
        wrong: Array = np.asarray((self._scores().reshape(-1, self.V) <= 0).any(axis=1))
        self.cover.favor(wrong)  # a refutation of a tight packing has one wrong row
        before, effort = 0.0, 0.0
        while node.dead is None:
            search.clock.check()
            value = self._solve()
            if value is None:  # the solver gave up: what is proved so far holds
                return False
            if node.spent + value > search.target - 1 + EPS:
                break
            if value - before > _GAIN * max(1.0, value):
                before, effort = value, 0.0
            if effort > _PATIENCE:
                return False
            asked = self.asked
            if not (self._priced() or self._settled()):
                return False
            effort += 0.25 + (self.asked - asked) / max(1, int(wrong.sum()))
        return True

    def _confirm(self) -> float:
        """Make the refutations of the packing exact; return what they prove, at least."""
        node = self.node
        started, new = now(), 0
        kept = []
        for number, u in node.packing:
            new += number not in self.pool.exact
            if self.pool.multipliers(number) is not None:
                kept.append((number, u))
            self.search.clock.check()
        if new:
            self.search.pace = (now() - started) / new
        if len(kept) < len(node.packing):
            node.packing = kept
            node.bound = max(node.spent, node.spent + sum(u for _, u in kept) - EPS)
        return node.bound

    def _walk(self) -> None:
        """Look for a good plane that has the decided items as they are held."""
        search, node = self.search, self.node
        if self.V == 1 and node is not search.root:
            w = node.w.copy()
            steps = 1 + min(_NODE_STEPS, int(_NODE_WORK / (self.A.size + 1)))
            line_search.improve(self.A, self._costs(), 1, w, steps, search.nodes)
            node.w = w
            if search.float_cost(w) < search.upper:
                search.adopt(w)
        if node is search.root:  # a first guess at the prices: rows near the plane are scarce
            scores, typical = self._scores(), self._typical()
            guess = np.where(scores > 0, 0.3 / (1.0 + 8.0 * np.abs(scores) / typical), 0.7)
            self.prices = guess.reshape(-1, self.V).max(axis=1)

    def _scores(self) -> Floats:
        """Return ``z·w`` of every inequality under the node's plane."""
        scores: Floats = line_search.scored(self.A, self.node.w)
        return scores

    def _typical(self) -> float:
        """Return the median score of the inequalities that are right."""
        right = (scores := self._scores())[scores > 0]
        return float(np.median(right)) if len(right) else 1.0

    def _costs(self) -> Array:
        """Return costs that put decided items above all."""
        cost = self.items.cost.copy()
        cost[self.state != 0] = cost.sum()
        return cost

    def _enlist(self, numbers: Any) -> int:
        """Add refutations to the program; return how many were new to it."""
        new = [int(k) for k in numbers if int(k) not in self.active]
        sets = []
        for k in new:
            items = self.pool.cuts[k].items
            free = items[self.state[items] == 0]
            if len(free) == 0:
                self.node.dead = k
                return 1
            sets.append(free)
        self.cover.add(sets)
        self.active.update(dict.fromkeys(new))
        return len(new)

    def _solve(self) -> float | None:
        """Solve the packing program, note its bound, and return it; None if that could not be done."""
        clock, node = self.search.clock, self.node
        solution = self.cover.solve(clock)
        if solution is None:
            return None
        node.y, u = solution
        value = float(u.sum())
        if node.spent + value >= node.bound or not node.packing:
            node.bound = max(node.bound, node.spent + value)
            node.packing = [(k, float(u[p])) for p, k in enumerate(self.active) if u[p] > 1e-9]
            exact = sum(k not in self.pool.exact for k, _ in node.packing)
            clock.reserve = 1.2 * self.search.pace * exact + self.search.closing
        return value

    def _priced(self) -> int:
        """Add the cheapest refutations through rows that the node's plane has wrong, and through some others."""
        rng, y = self.search.rng, self.node.y
        self.prices = _SMOOTH * self.prices + (1 - _SMOOTH) * y
        prices = np.repeat(self.prices, self.V)
        prices[self.held != 0] = 0.0
        prices += _NOISE * rng.random(len(prices))
        prices[self.barred] = np.inf
        covered = np.repeat(y, self.V)
        wrong = self._scores() <= 0
        through = np.flatnonzero(wrong & ~self.barred & ((covered < 1 - _SHORT) | (self.held != 0)))
        if len(through) > _MOST:
            through = np.sort(rng.choice(through, _MOST, replace=False))
        numbers = self._refuted(np.where(wrong, np.inf, prices), through, warm=True)
        others = np.flatnonzero(~wrong & (self.held == 0) & (covered > 0.1) & (covered < 0.9))
        if len(others) > _FREE:
            others = np.sort(rng.choice(others, _FREE, replace=False))
        if len(others):
            numbers += self._refuted(prices, others, warm=False)
        return self._enlist(dict.fromkeys(numbers))

    def _refuted(self, prices: Floats, through: Array, *, warm: bool) -> list[int]:
        """Return refutations through some inequalities that the cover lacks; ``warm`` ones go on from the last."""
        (n, D), bases = self.A.shape, self.search.bases if warm else {}
        self.asked += len(through)
        keys = [(j, int(self.held[j])) for j in through.tolist()]
        scratch = np.full(D, -1, dtype=np.int64)
        basis = np.array([bases.get(key, scratch) for key in keys], dtype=np.int64).reshape(-1, D)
        values, pi, states = np.zeros(basis.shape), np.zeros(basis.shape), np.zeros(len(through), dtype=np.int64)

        def work(start: int, stop: int) -> None:
            self.search.clock.check()
            part = slice(start, stop)
            simplex.batch(self.A, prices, through[part], basis[part], values[part], states[part], pi[part])

        in_parallel(work, len(through), 4 * D * D * D + 20 * min(n, 2048) * D)
        self.search.wander_after(len(through))
        numbers = []
        for p, key in enumerate(keys):
            if states[p] == simplex.INFEASIBLE and warm:
                self._put_back(pi[p])
            if states[p] != simplex.OPTIMAL:
                continue
            bases[key] = basis[p]
            number = self._new(np.append(basis[p][(values[p] > 1e-9) & (basis[p] < n)], key[0]))
            if number is not None:
                numbers.append(number)
        return numbers

    def _new(self, inequalities: Array) -> int | None:
        """Return the number of a refutation if the cover lacks it."""
        held = self.held[inequalities]
        plus, minus = inequalities[held >= 0], inequalities[held < 0]
        if len(plus) == 0:
            return None
        items = np.unique(plus // self.V)
        short = float(self.node.y[items[self.state[items] == 0]].sum()) < 1 - _SHORT
        number = self.pool.add(plus, minus) if short else None
        return None if number is None or self.pool.exact.get(number, ()) is None else number

    def _put_back(self, pi: Floats) -> bool:
        """Try the prices of a program without solution as a plane, mixed with the one at hand; return if it helps."""
        node, search = self.node, self.search
        size, other = float(np.abs(node.w).max()), float(np.abs(pi).max())
        if not (size > 0 and other > 0):
            return False
        cost = self._costs()
        now_at = line_search.wrong_cost(self._scores(), cost, self.V)
        for share in (1e-1, 1e-3, 1e-5):
            w = share * node.w / size - pi / other
            if line_search.wrong_cost(line_search.scored(self.A, w), cost, self.V) < now_at:
                node.w = w
                if search.float_cost(w) < search.upper:
                    search.adopt(w)
                return True
        return False

    def _settled(self) -> bool:
        """Where the cover is integral, ask for the exact verdict on what it leaves; return whether that was news."""
        node, search = self.node, self.search
        y = node.y
        if ((y > 1e-6) & (y < 1 - 1e-6)).any():
            return False
        left = (self.state >= 0) & (y < 0.5)
        verdict = search.decide(left)
        if verdict is None or verdict.refutation is None:
            if verdict is not None and verdict.separator is not None:
                search.offer(verdict.separator)
            return False
        items, rivals = np.flatnonzero(left)[verdict.refutation.rows], verdict.refutation.rivals
        rival = rivals - (rivals > self.items.data.y[self.items.rows[items]]) if self.V > 1 else 0
        number = self._new(items * self.V + rival)
        return number is not None and self._enlist([number]) > 0

    def _first_refutations(self) -> None:
        """Add disjoint refutations, one per wrong row if possible, unless the row can come back.

        Rows near the plane are scarce: they have a high price, and wrong rows near it, which need them, come first.
        """
        for pair in self.items.pairs:
            self._enlist([self.pool.add(np.array(pair), np.zeros(0, dtype=np.intp))])
        scores = self._scores()
        through = np.flatnonzero(scores <= 0)
        prices = np.where(scores > 0, 1.0 / (0.05 + np.maximum(scores, 0.0) / self._typical()), np.inf)
        left, D, n = self.items.cost.copy(), self.A.shape[1], len(self.A)
        for j in through[np.argsort(-scores[through], kind="stable")].tolist():
            self.search.clock.check()
            if self.A[j] @ self.node.w > 0:  # it came back with another
                continue
            basis, level, pi = np.full(D, -1, dtype=np.int64), np.zeros(D), np.zeros(D)
            state = simplex.cheapest(self.A, prices, -self.A[j], basis, level, pi)
            self.search.wander_after(1)
            if state == simplex.INFEASIBLE:
                self._put_back(pi)
            if state != simplex.OPTIMAL:
                continue
            number = self.pool.add(np.append(basis[(level > 1e-9) & (basis < n)], j), np.zeros(0, dtype=np.intp))
            self._enlist([number])
            used = self.pool.cuts[number].items
            left[used] -= 1
            for item in used[left[used] <= 0].tolist():
                prices[item * self.V : (item + 1) * self.V] = np.inf
