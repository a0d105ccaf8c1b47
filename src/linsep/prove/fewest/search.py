"""The search for the fewest errors: planes from above, packings of refutations from below, a tree.

Upper bound: exact line search on floats (``line_search``); a plane counts with the rows that exact arithmetic finds not
strictly right. Lower bound: a tree of cases, best bound first; at each node a packing of refutations (``node_bounds``).
Where no more are found, the node is split on an item: right, or wrong, and then its inequality holds in reverse, which
makes more refutations possible.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from linsep.clock import OPERATION, Clock, OutOfTime, UntilStopped
from linsep.problem import Array, Floats, take
from linsep.prove.check.exact_signs import sides, signs
from linsep.prove.claims import Claim, Data, Separator
from linsep.prove.fewest import line_search
from linsep.prove.fewest.certificates import Pool
from linsep.prove.fewest.items import Items
from linsep.prove.fewest.node_bounds import EPS, Bounding, Budget, Node
from linsep.prove.verdict.decide import decide

_STEPS = 1500  # line searches to begin with, where they cost little
_WORK = 3e7  # cells that line searches may look at in one go
_ROUND_WORK, _WANDER_STEPS = 5e6, 400  # cells, and line searches, in each round of the packing program: more time for
# the plane is less for the bound below; 3e5 cells left planes of 1 to 6 % more errors after 10 s
_PROGRAM, _SHARE = 20, 3  # cells that a linear program looks at, in rows, about; of these to one of a line search
_TURN = 0.1  # by how much a plane is turned, at most; 1 found fewer of the planes that 0.1 found
_IDLE = 50  # rounds without gain after which the search begins elsewhere
CLOSING, FORCED = 50, 100_000  # operations for each cell, and for equal rows that contradict each other, to write and
# check what is known, about
_DEPTH = 400  # splits on the way to a node, at most


class Search:
    """One search. Its bounds leave out what the forced refutations cost.

    With a ``goal`` it looks for a proof that every plane costs at least that, and ends when a plane costs less.
    """

    def __init__(self, items: Items, clock: Budget, *, goal: int | None = None) -> None:
        self.items, self.clock, self.goal = items, clock, goal
        self.pool = Pool(items)
        self.rng = np.random.default_rng(0)
        self.upper, self.w = int(items.cost.sum()) + 1, np.zeros(items.Z.shape[1])
        self.plane = Separator(np.zeros(0), 0.0)
        self.nodes = self.rounds = 0
        m = len(items.cost)
        self.root = Node(np.zeros(m, dtype=np.int8), self.w, np.zeros(m), np.zeros(0, dtype=np.intp))
        self.open: list[tuple[float, int, Node]] = [(0.0, 0, self.root)]
        self.bases: dict[tuple[int, int], Array] = {}  # where the program through a row ended last
        self.pace = 1e-4 * items.Z.shape[1]  # seconds to make a refutation exact, about
        self.closing = 0.02 + OPERATION * (CLOSING * items.Z.size + FORCED * len(items.forced))
        self._begun, self._allowed = False, 0.0
        self._wandering, self._cost, self._idle = np.zeros(items.Z.shape[1]), 0, 0

    @property
    def target(self) -> int:
        """The cost that every case must be shown to reach."""
        return self.upper if self.goal is None else self.goal

    @property
    def lower(self) -> int:
        """The bound that the open nodes leave."""
        bound = min((node.bound for _, _, node in self.open), default=math.inf)
        if bound == math.inf:
            return self.target
        return min(self.target, max(0, math.ceil(bound - EPS)))

    def run(self) -> None:
        """Search until the bounds meet or the clock says to end; again, if nodes were opened again."""
        with UntilStopped(self.clock):
            if not self._begun:
                self._begin()
                self._begun = True
            while self.open and self.lower < self.target <= self.upper and self.nodes < self.clock.max_nodes:
                self.clock.check()
                self._step()
                self._report()

    def _report(self) -> None:
        self.clock.tell(lower=self.items.base + self.lower, upper=self.items.base + self.upper)

    def _step(self) -> None:
        """Bound the most promising node and split it if it stays open."""
        node = self.open[0][2]
        self.nodes += 1
        if Bounding(self, node).run():
            heapq.heappop(self.open)
            return
        if node.depth == _DEPTH:
            heapq.heapreplace(self.open, (node.bound, 0, node))
            raise OutOfTime
        node.split = self._choose(node)
        node.children = tuple(self._child(node, held) for held in (1, -1))
        for place, child in enumerate(node.children):
            heapq.heappush(self.open, (child.bound, 2 * self.nodes + place, child))
        heapq.heappop(self.open)  # the node itself, last: wherever Ctrl-C falls, no case is lost

    def _child(self, node: Node, held: int) -> Node:
        """Return the case of a node in which the item it is split on is held right or wrong."""
        state = node.state.copy()
        state[node.split] = held
        spent = node.spent + (int(self.items.cost[node.split]) if held < 0 else 0)
        return Node(state, node.w, node.y, node.cuts, spent, node.bound, depth=node.depth + 1)

    def _choose(self, node: Node) -> int:
        """Return the item to split a node on: covered by about 0.6, and much used by the packing."""
        load = np.zeros(len(node.state))
        for number, u in node.packing:
            load[self.pool.cuts[number].items] += u
        score = (1.0 - np.abs(node.y - 0.6)) * (0.2 + load / self.items.cost)
        score[(node.y < 1e-6) | (node.y > 1 - 1e-6)] *= 1e-3
        score[node.state != 0] = -1.0
        return int(score.argmax())

    def reopen(self, node: Node, bound: float) -> None:
        """Take up a node again that turned out to prove less than it promised."""
        node.dead, node.children, node.packing, node.bound = None, (), [], bound
        tree = [self.root]  # what is left of it without the children of the node
        for each in tree:
            tree += each.children
        alive = {id(each) for each in tree}
        self.open = [entry for entry in self.open if id(entry[2]) in alive and entry[2] is not node]
        self.open.append((bound, 0, node))
        heapq.heapify(self.open)

    # -----------------------------------------------------------------------------------------------------------
    # Planes

    def _begin(self) -> None:
        """Find a first plane: one class right, an exact verdict, then line searches from least squares."""
        data = self.items.data
        for c in range(data.classes):
            self.offer(one_class_plane(c, data.classes, data.n_features, data.offset))
        self._report()
        if self.upper == 0:
            return
        verdict = self.decide(np.ones(len(self.items.rows), dtype=bool))
        if verdict is not None and verdict.kind == "separable" and verdict.separator is not None:
            self.upper, self.plane = 0, verdict.separator
            return
        w = self.items.Z.mean(axis=0)  # least squares, in whitened coordinates
        if not np.abs(w).max(initial=0.0) > 0:
            w = self.rng.normal(size=len(w))
        steps = 1 + min(_STEPS, int(_WORK / (self.items.Z.size + 1)))
        self.walk(w, steps, 0)
        self.root.w = self.w.copy() if self.w.any() else w

    def walk(self, w: Floats, steps: int, seed: int) -> None:
        """Improve a plane by line searches, a few at a time, and adopt it if it is the best."""
        items = self.items
        piece = max(1, min(steps, int(_WORK / (10 * items.Z.size + 1))))
        for start in range(0, steps, piece):
            count = min(piece, steps - start)
            if line_search.improve(items.Z, items.cost, items.V, w, count, seed * 1009 + start) < self.upper:
                self.adopt(w)
            self.clock.check()

    def wander_after(self, programs: int) -> None:
        """Wander as often as the work on some linear programs allows: planes get about a quarter of it."""
        Z = self.items.Z
        self._allowed += programs * _PROGRAM * min(len(Z), 2048) * Z.shape[1]
        while self._allowed > _SHARE * _ROUND_WORK:
            self._allowed -= _SHARE * _ROUND_WORK
            self.wander()

    def wander(self) -> None:
        """Look for a better plane by iterated local search: turn a plane a little, improve it, keep it if not worse.

        After a while without gain the next one is the best plane so far or, as often, least squares with random
        weights of the items.
        """
        Z = self.items.Z
        if not self._wandering.any() or self._idle > _IDLE:
            self._idle, self._wandering = 0, self.w.copy()
            if not self.w.any() or self.rng.random() < 0.5:
                weighted = Z * self.rng.exponential(size=len(Z))[:, None]
                self._wandering = np.linalg.lstsq(Z.T @ weighted, weighted.sum(axis=0), rcond=None)[0]
            self._cost = self.float_cost(self._wandering)
        self.rounds += 1
        w = self._wandering / (float(np.linalg.norm(self._wandering)) or 1.0)
        w += _TURN * self.rng.random() ** 2 / math.sqrt(len(w)) * self.rng.normal(size=len(w))
        steps = 1 + min(_WANDER_STEPS, int(_ROUND_WORK / (Z.size + 1)))
        self.walk(w, steps, self.rounds)
        cost = self.float_cost(w)
        self._idle = 0 if cost < self._cost else self._idle + 1
        if cost <= self._cost:
            self._wandering, self._cost = w, cost

    def adopt(self, w: Floats) -> bool:
        """Take a plane if exact arithmetic confirms that it is better than the best one."""
        size = float(np.abs(w).max(initial=0.0))
        if not (size > 0 and math.isfinite(size)):
            return False
        w = w / size
        plane = self.items.plane(w)
        cost, hoped = self.price(plane), self.float_cost(w)
        if hoped < min(cost, self.upper):  # rows on the plane, or nearly: ask for a plane of those that are right
            verdict = self.decide(self.right(w))
            if verdict is not None and verdict.kind == "separable" and verdict.separator is not None:
                plane, cost = verdict.separator, self.price(verdict.separator)
        if cost >= self.upper:
            return False
        self.upper, self.w, self.plane = cost, w, plane
        return True

    def offer(self, plane: Separator) -> None:
        """Take a plane that was found by exact means, if it is better than the best one."""
        cost = self.price(plane)
        if cost < self.upper:
            self.upper, self.plane = cost, plane

    def price(self, plane: Separator) -> int:
        """Return the cost of the items that a plane has not strictly right, exactly."""
        return int(self.items.cost[wrong_rows(self.items.data, self.items.rows, plane)].sum())

    def right(self, w: Floats) -> Array:
        """Return which items are right, as floats see them."""
        scores = line_search.scored(self.items.Z, w)
        return np.asarray((scores.reshape(-1, self.items.V) > 0).all(axis=1))

    def float_cost(self, w: Floats) -> int:
        """Return the cost of the wrong items, as floats see them."""
        return int(self.items.cost[~self.right(w)].sum())

    def decide(self, which: Array) -> Claim | None:
        """Return the exact verdict on some items alone; None if one class is left, which planes with offset have right.

        Raises OutOfTime or Cancelled.
        """
        data = self.items.data
        rows = self.items.rows[which]
        if data.offset and len(np.unique(data.y[rows])) == 1:
            return None
        limit = self.clock.spare
        clock = Clock(None if limit == math.inf else max(0.0, limit))
        part = data._replace(rows=take(data.rows, rows), y=data.y[rows])
        verdict = decide(part, tuple(range(data.classes)), clock)
        self.clock.check()
        return verdict


def one_class_plane(c: int, classes: int, n_features: int, offset: bool) -> Separator:
    """Return the plane that has all rows of a class right, where planes have offsets; else zeros."""
    b = np.where(np.arange(classes) == c, float(offset), 0.0)
    if classes == 2:
        return Separator(np.zeros(n_features), float(b[1] - b[0]))
    return Separator(np.zeros((classes, n_features)), b)


def wrong_rows(data: Data, rows: Array, plane: Separator) -> Array:
    """Return which of some rows are not strictly on their side, exactly."""
    y = data.y[rows]
    side = sides(plane, y, data.classes, lambda some, normal: signs(data.rows, rows[some], normal))
    side[np.arange(len(rows)), y] = 1
    return np.asarray(side.min(axis=1, initial=1) <= 0)
