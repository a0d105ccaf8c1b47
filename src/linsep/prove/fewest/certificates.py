"""Turns the result of a fewest-errors search into a certificate with exact numbers, and results into documents."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from linsep.prove.check.check_fewest import HEAVIEST
from linsep.prove.check.plain_document import meaning_of, numbers, whole
from linsep.prove.claims import Separator
from linsep.prove.fewest.packing import BITS
from linsep.prove.numbers.given import exact_array, number_written

if TYPE_CHECKING:
    from linsep.prove.fewest.items import Items
    from linsep.prove.fewest.results import Fewest
    from linsep.prove.fewest.search import Node, Search

Tree = Any  # a dead leaf is the number of a refutation; a packing leaf a list of [refutation, units] pairs; an inner
# node is [row, case that it is right, case that it is wrong]


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
    tree : nested lists
        A number is a leaf in which this refutation leaves no case; a list of pairs is a packing, weights in units of
        ``2**-bits``; ``[row, right, wrong]`` splits a case.
    bits : int
    """

    refutations: tuple[Combination, ...]
    common: tuple[tuple[int, int], ...]
    tree: Tree
    bits: int = BITS

    def __repr__(self) -> str:
        leaves = count_leaves(self.tree)
        return f"Proof({len(self.refutations)} refutations, {leaves} {'case' if leaves == 1 else 'cases'})"


def count_leaves(tree: Tree) -> int:
    """Return how many leaves a tree has."""
    total, stack = 0, [tree]
    while stack:
        here = stack.pop()
        if isinstance(here, list) and here and isinstance(here[0], int):
            stack += here[1:]
        else:
            total += 1
    return total


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
        tree = self._tree(self.search.root)
        return self._ordered(tree)

    def _tree(self, node: Node) -> Tree:
        if node.dead is not None:
            return self._number(node, node.dead)
        if node.spent + sum(u for _, u in node.packing) > self.lower - 1 or not node.children:
            return self._packing(node)
        row = int(self.items.rows[node.split])
        return [row, *(self._tree(child) for child in node.children)]

    def _packing(self, node: Node) -> Tree:
        """Return as much of a packing as the bound needs, the largest weights first."""
        need = (self.lower - 1 - node.spent) << BITS
        if need < 0:
            return []
        numbers, u = exact_weights(self.search, node)
        if sum(u) <= need:
            raise Unproved(node)
        chosen: list[list[int]] = []
        total = 0
        for number, units in sorted(zip(numbers, u, strict=True), key=lambda pair: (-pair[1], pair[0])):
            if total > need:
                break
            plus = self._true_items(number)
            if all(node.state[k] > 0 for k in plus):
                return self._number(node, number)
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
        stack = [tree]
        while stack:
            here = stack.pop()
            if isinstance(here, int):
                uses[here] += 1
            elif here and isinstance(here[0], int):
                stack += here[1:]
            else:
                for k, _ in here:
                    uses[k] += 1
        order = sorted(range(len(uses)), key=lambda k: (-uses[k], k))
        new = {k: place for place, k in enumerate(order)}
        return Proof(
            tuple(self.refutations[k] for k in order),
            tuple((new[k], units) for k, units in self.common),
            _renamed(tree, new),
        )


def _renamed(tree: Tree, new: dict[int, int]) -> Tree:
    """Return the tree with other numbers of refutations."""
    if isinstance(tree, int):
        return new[tree]
    if tree and isinstance(tree[0], int):
        return [tree[0], _renamed(tree[1], new), _renamed(tree[2], new)]
    return [[new[k], units] for k, units in tree]


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


# ---------------------------------------------------------------------------------------------------------------
# Documents


def fewest_to_json(fewest: Fewest) -> dict[str, Any]:
    """Return what a document says about a result, without the data."""
    W, b = fewest.plane.exactly()
    two = len(fewest.classes) == 2
    content: dict[str, Any] = {
        "kind": fewest.kind,
        "meaning": "",
        "fit_intercept": fewest.fit_intercept,
        "classes": list(fewest.classes),
        "n_features": fewest.n_features,
        "values": fewest.values,
        "lower": fewest.lower,
        "upper": fewest.upper,
        "sample_weight": None if fewest.weights is None else fewest.weights.tolist(),
        "separator": {"w": [[number_written(v) for v in w] for w in W], "b": [number_written(v) for v in b]},
        "wrong": fewest.rows.tolist(),
        "bits": fewest.certificate.bits,
        "refutations": [
            {
                "rows": list(each.rows),
                **({} if two else {"rivals": list(each.rivals)}),
                "multipliers": [number_written(Fraction(value)) for value in each.multipliers],
            }
            for each in fewest.certificate.refutations
        ],
        "common": [list(pair) for pair in fewest.certificate.common],
        "tree": _flat(fewest.certificate.tree),
    }
    return content | {"meaning": meaning_of(content)}


def _flat(tree: Any) -> list[dict[str, Any]]:
    """Return the nodes of a tree one after the other, the case that a row is right before the one that it is wrong."""
    found: list[dict[str, Any]] = []
    stack = [tree]
    while stack:
        here = stack.pop()
        if isinstance(here, int):
            found.append({"dead": here})
        elif here and isinstance(here[0], int):
            found.append({"row": here[0]})
            stack += [here[2], here[1]]
        else:
            found.append({"packing": [list(pair) for pair in here]})
    return found


def fewest_from_json(content: dict[str, Any], note: str = "") -> Fewest:
    """Return the result that a document tells; nothing it claims is checked here. Depths are not in it, and NaN."""
    from linsep.prove.fewest.results import Fewest

    classes, plane, wrong = tuple(content["classes"]), content["separator"], content["wrong"]
    table = exact_array([value for texts in (*plane["w"], plane["b"]) for value in numbers(texts)])
    W, b = table[: -len(plane["b"])].reshape(len(plane["w"]), -1), table[-len(plane["b"]) :]
    refutations = []
    for each in content["refutations"]:
        multipliers = whole(numbers(each["multipliers"]))[0]
        refutations.append(Combination(tuple(each["rows"]), tuple(each.get("rivals", ())), tuple(multipliers)))
    counted, common = content["sample_weight"], tuple((k, u) for k, u in content["common"])
    if counted is not None and not sum(counted) < HEAVIEST:
        raise ValueError("its weights add up to 2^53 or more")
    return Fewest(
        content["lower"],
        content["upper"],
        np.array(wrong, dtype=np.intp),
        np.full(len(wrong), np.nan),
        Separator(W[0], b.tolist()[0]) if len(classes) == 2 else Separator(W, b),
        Proof(tuple(refutations), common, _nested(content["tree"]), content["bits"]),
        classes,
        content["n_features"],
        content["fit_intercept"],
        None if counted is None else np.array(counted, dtype=np.int64),
        note,
        content["values"],
    )


def _nested(nodes: list[dict[str, Any]]) -> Any:
    """Return a tree that is written node by node: the number of a refutation, pairs, or ``[row, right, wrong]``."""
    top: list[Any] = [None]
    places = [(top, 0)]  # of the nodes to come
    for node in nodes:
        into, place = places.pop()
        if "row" in node:
            into[place] = [node["row"], None, None]
            places += [(into[place], 2), (into[place], 1)]
        else:
            into[place] = node["dead"] if "dead" in node else node["packing"]
    return top[0]


def fewest_size(fewest: Fewest) -> int:
    """Return how many bytes the certificate takes as a document, about."""
    return len(json.dumps(fewest_to_json(fewest), separators=(",", ":"), default=str))
