"""From a finished search to a certificate: exact multipliers, dyadic weights, the smallest tree that will do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from linsep.prove.fewest_search import Node, Search
from linsep.prove.items import Items
from linsep.prove.packing import BITS

Tree = list[Any]  # a node, then the case that its row is right, then the case that it is wrong, each as a tree


@dataclass(frozen=True)
class Combination:
    """A conditional refutation: rows, the classes they are told from (if more than two), integer multipliers not 0."""

    rows: tuple[int, ...]
    rivals: tuple[int, ...]
    multipliers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Proof:
    """Why no plane has fewer errors: refutations, those used in every leaf, and the tree of cases.

    Attributes
    ----------
    refutations : tuple of Combination
    common : tuple of (int, int)
        Refutations and weights that belong to every packing of the tree in which they may be used.
    tree : list of lists
        ``["split", row]`` is followed by the case that the row is right and the case that it is wrong; ``["dead", k]``
        is a leaf in which refutation ``k`` leaves no case; ``["packing", [k, units], …]`` one with weights on
        refutations, in units of ``2**-20``.
    """

    refutations: tuple[Combination, ...]
    common: tuple[tuple[int, int], ...]
    tree: Tree

    @property
    def cases(self) -> int:
        """How many leaves the tree has."""
        return sum(entry[0] != "split" for entry in self.tree)

    def __repr__(self) -> str:
        return f"Proof({len(self.refutations)} refutations, {self.cases} {'case' if self.cases == 1 else 'cases'})"


class Unproved(Exception):  # noqa: N818, the search goes on
    """Floats promised more at a node than exact arithmetic keeps."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.node = node


class Writer:
    """Writes the proof that every plane costs at least ``lower``, what is forced left out."""

    def __init__(self, search: Search, lower: int) -> None:
        self.search, self.items, self.lower = search, search.items, lower
        self.table: dict[int, int] = {}  # number in the pool to number in the proof
        self.refutations: list[Combination] = []
        self.common: list[tuple[int, int]] = []
        for each in self.items.forced:
            self.common.append((len(self.refutations), each.amount << BITS))
            self.refutations.append(combination(self.items, list(each.ids), [1] * len(each.ids)))

    def proof(self) -> Proof:
        """Return the proof; raise Unproved where floats promised too much."""
        return self._ordered(self._tree(self.search.root))

    def _tree(self, root: Node) -> Tree:
        """Return the nodes in the order of a proof; a node whose packing reaches the bound needs no children."""
        entries: Tree = []
        stack = [root]
        while stack:
            node = stack.pop()
            if node.dead is not None:
                entries.append(["dead", self._number(node, node.dead)])
            elif node.spent + sum(u for _, u in node.packing) > self.lower - 1 or not node.children:
                entries.append(self._packing(node))
            else:
                entries.append(["split", int(self.items.rows[node.split])])
                stack += reversed(node.children)
        return entries

    def _packing(self, node: Node) -> list[Any]:
        """Return as much of a packing as the bound needs, the largest weights first."""
        need = (self.lower - 1 - node.spent) << BITS
        if need < 0:
            return ["packing"]
        numbers, u = exact_weights(self.search, node)
        if sum(u) <= need:
            raise Unproved(node)
        chosen: list[Any] = ["packing"]
        total = 0
        for number, units in sorted(zip(numbers, u, strict=True), key=lambda pair: (-pair[1], pair[0])):
            if total > need:
                break
            plus = self._true_items(number)
            if all(node.state[k] > 0 for k in plus):
                return ["dead", self._number(node, number)]
            chosen.append([self._number(node, number), units])
            total += units
        return chosen

    def _true_items(self, number: int) -> set[int]:
        """Return the items whose multipliers are really positive."""
        multipliers = self.search.pool.multipliers(number) or []
        plus = self.search.pool.cuts[number].plus.tolist()
        return {place // self.items.V for place, value in zip(plus, multipliers, strict=False) if value > 0}

    def _number(self, node: Node, number: int) -> int:
        """Return the number of a refutation in the proof."""
        if number not in self.table:
            multipliers = self.search.pool.multipliers(number)
            if multipliers is None:
                raise Unproved(node)
            cut = self.search.pool.cuts[number]
            ids = self.items.ids[[*cut.plus.tolist(), *cut.minus.tolist()]].tolist()
            self.table[number] = len(self.refutations)
            self.refutations.append(combination(self.items, ids, multipliers))
        return self.table[number]

    def _ordered(self, tree: Tree) -> Proof:
        """Give the refutations used most the smallest numbers."""
        uses = [0] * len(self.refutations)
        for word, *rest in tree:
            for k in _named(word, rest):
                uses[k] += 1
        order = sorted(range(len(uses)), key=lambda k: (-uses[k], k))
        new = {k: place for place, k in enumerate(order)}
        return Proof(
            tuple(self.refutations[k] for k in order),
            tuple((new[k], units) for k, units in self.common),
            [_renamed(entry, new) for entry in tree],
        )


def _named(word: str, rest: list[Any]) -> list[int]:
    """Return the refutations that a node of the tree names."""
    return [] if word == "split" else rest if word == "dead" else [k for k, _ in rest]


def _renamed(entry: list[Any], new: dict[int, int]) -> list[Any]:
    """Return a node of the tree with other numbers of refutations."""
    word, *rest = entry
    if word == "packing":
        return [word, *([new[k], units] for k, units in rest)]
    return [word, new[rest[0]]] if word == "dead" else entry


def combination(items: Items, ids: list[int], multipliers: list[int]) -> Combination:
    """Return rows and multipliers, those that are 0 left out, in the order of the rows."""
    C = items.data.classes
    parts = sorted((number, value) for number, value in zip(ids, multipliers, strict=True) if value)
    return Combination(
        tuple(number // C for number, _ in parts),
        tuple(number % C for number, _ in parts) if C > 2 else (),
        tuple(value for _, value in parts),
    )


def exact_weights(search: Search, node: Node) -> tuple[list[int], list[int]]:
    """Return the refutations of a node's packing that are exact, and dyadic weights that no item's cost forbids."""
    pool, cost = search.pool, search.items.cost
    kept = [(number, u) for number, u in node.packing if pool.multipliers(number) is not None]
    units = [int(u * (1 << BITS)) for _, u in kept]
    sets = [[i for i in pool.cuts[number].items.tolist() if node.state[i] == 0] for number, _ in kept]
    for _ in range(50):
        load: dict[int, int] = {}
        for each, unit in zip(sets, units, strict=True):
            for i in each:
                load[i] = load.get(i, 0) + unit
        over = {i: (total, int(cost[i]) << BITS) for i, total in load.items() if total > int(cost[i]) << BITS}
        if not over:
            break
        for k, each in enumerate(sets):
            for i in each:
                if i in over:
                    total, room = over[i]
                    units[k] = min(units[k], units[k] * room // total)
    else:
        units = [0] * len(units)
    return [number for number, _ in kept], units


def exact_bound(search: Search, node: Node) -> float:
    """Return what a node's packing really proves."""
    _, units = exact_weights(search, node)
    return node.spent + math.fsum(units) / (1 << BITS)
