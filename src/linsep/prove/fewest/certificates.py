"""The refutations that a search for the fewest errors knows, made exact, and the proof that it writes of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from flint import fmpz_mat

from linsep.clock import Clock  # without a limit: refutations have few rows
from linsep.data.row_numbers import Dropped
from linsep.problem import Array, Floats, Values
from linsep.prove.claims import Separator
from linsep.prove.core.constraints import cancels, integer_rows
from linsep.prove.core.scaled_view import raw_differences
from linsep.prove.fewest.items import Items
from linsep.prove.linear_algebra import algebra, exact_solve

if TYPE_CHECKING:
    from linsep.prove.fewest.node_bounds import Node
    from linsep.prove.fewest.search import Search

BITS = 20  # weights of a packing are multiples of 2**-BITS
_SHORT = 10  # rows up to which integers of full length are as fast as digits that floats find


@dataclass(frozen=True)
class Combination:
    """A conditional refutation: rows, the classes they are held against (if more than two), integers not 0."""

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
    tree : list of dict
        Its nodes one after the other, as in a document: ``{"row": i}`` splits a case, that the row is right comes
        before that it is wrong; ``{"dead": k}`` is a leaf in which refutation ``k`` leaves no case; ``{"packing":
        [[k, units], ...]}`` is one with weights in units of ``2**-bits``.
    bits : int
    """

    refutations: tuple[Combination, ...]
    common: tuple[tuple[int, int], ...]
    tree: list[dict[str, Any]]
    bits: int = BITS

    def __repr__(self) -> str:
        leaves = sum("row" not in node for node in self.tree)
        return f"Proof({len(self.refutations)} refutations, {leaves} {'case' if leaves == 1 else 'cases'})"


@dataclass(frozen=True, eq=False)
class ErrorsClaim:
    """What is claimed of the fewest errors, and the evidence: the fields of a result."""

    lower: int
    upper: int
    rows: Array
    depths: Array
    plane: Separator
    certificate: Proof
    classes: tuple[Any, ...]
    n_features: int
    fit_intercept: bool
    weights: Array | None = None
    note: str = ""
    values: Values = "binary"
    dropped: Dropped = field(default_factory=Dropped, repr=False)

    kind: ClassVar[str] = "fewest-errors"

    def among_kept(self) -> ErrorsClaim:
        """Return this result with the numbers that rows have among those that are left, as in arrays and documents."""
        if len(self.dropped) == 0:
            return self
        return replace(self, rows=self.dropped.among_kept(self.rows), dropped=Dropped())


NOTHING = Proof((), (), [{"packing": []}])  # proves that there are no fewer errors than 0


def row_counts(weights: Array | None, n: int) -> Array:
    """Return how often each row counts: its weight, or once."""
    return np.ones(n, dtype=np.int64) if weights is None else np.asarray(weights)


# ---------------------------------------------------------------------------------------------------------------
# The refutations of a search


@dataclass(frozen=True, eq=False)
class Cut:
    """A conditional refutation: places in ``Items.ids`` with positive and with negative multipliers."""

    plus: Array
    minus: Array
    items: Array  # (k,) items of ``plus``, each once
    wrong: Array  # (k,) items of ``minus``, each once

    @cached_property
    def places(self) -> Array:
        """All places, positive ones first."""
        return np.concatenate((self.plus, self.minus))


class Pool:
    """All refutations found so far, as flat arrays that a node can be compared with at once."""

    def __init__(self, items: Items) -> None:
        self.items = items
        self.cuts: list[Cut] = []
        self.known: dict[tuple[bytes, bytes], int] = {}
        self.exact: dict[int, list[int] | None] = {}  # multipliers by inequality, plus first; None: floats were wrong
        self._flat: tuple[Array, ...] | None = None

    def add(self, plus: Array, minus: Array) -> int:
        """Return the number of a refutation, new or not."""
        plus, minus = np.sort(plus), np.sort(minus)
        number = self.known.setdefault((plus.tobytes(), minus.tobytes()), len(self.cuts))
        if number == len(self.cuts):
            self.cuts.append(Cut(plus, minus, np.unique(plus // self.items.V), np.unique(minus // self.items.V)))
            self._flat = None
        return number

    def usable(self, state: Array) -> Array:
        """Return which refutations may be used where ``state`` is 1 for items held right, -1 wrong, 0 undecided."""
        plus, plus_of, minus, minus_of = self._arrays()
        usable = np.ones(len(self.cuts), dtype=bool)
        usable[plus_of[state[plus] < 0]] = False
        usable[minus_of[state[minus] >= 0]] = False
        usable[[number for number, multipliers in self.exact.items() if multipliers is None]] = False
        return usable

    def covered(self, y: Floats, state: Array) -> Floats:
        """Return for every refutation how much of it ``y`` covers, rows held right left out."""
        plus, plus_of, _, _ = self._arrays()
        total = np.bincount(plus_of, weights=np.where(state[plus] == 0, y[plus], 0.0), minlength=len(self.cuts))
        return np.asarray(total, dtype=np.float64)

    def _arrays(self) -> tuple[Array, ...]:
        """Return the items of all refutations and whose they are: of those held right, then of those held wrong."""
        if self._flat is None:
            self._flat = ()
            for parts in ([cut.items for cut in self.cuts], [cut.wrong for cut in self.cuts]):
                items = np.concatenate((np.zeros(0, dtype=np.intp), *parts)).astype(np.intp)
                self._flat += items, np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return self._flat

    def multipliers(self, number: int) -> list[int] | None:
        """Return exact multipliers of a refutation, plus before minus, or None if the floats were wrong."""
        if number not in self.exact:
            self.exact[number] = self._solved(self.cuts[number])
        return self.exact[number]

    def _solved(self, cut: Cut) -> list[int] | None:
        """Solve for multipliers of the right signs; 0 for rows that turn out not to be needed."""
        data, ids = self.items.data, self.items.ids[cut.places]
        signs = np.repeat([1, -1], (len(cut.plus), len(cut.minus)))
        A, shifts = integer_rows(data, ids)
        if len(ids) > _SHORT:
            solution = exact_solve.dependency(raw_differences(data, ids) * signs[:, None], np.ones(len(ids)), Clock())
            exact = _signed(solution, signs)
            if max(exact) > 0 and cancels(A, shifts, exact):
                return algebra.primitive(exact)
        turned = fmpz_mat([[int(sign) * v for v in row] for sign, row in zip(signs.tolist(), A.tolist(), strict=True)])
        clock = Clock()
        exact = _signed(algebra.dependency(turned, clock) or algebra.nearest(turned, [], np.zeros(0), clock)[1], signs)
        if max(exact) <= 0:
            return None
        highest = max(shifts)
        return algebra.primitive([value << (highest - shift) for value, shift in zip(exact, shifts, strict=True)])


def _signed(dependency: Any, signs: Array) -> list[int]:
    """Return the multipliers of a dependency by row, with the signs of the rows; 0 for those it does not name."""
    exact = [0] * len(signs)
    if dependency is not None:
        for row, value in zip(dependency.rows.tolist(), dependency.multipliers, strict=True):
            exact[row] = int(value) * int(signs[row])
    return exact


# ---------------------------------------------------------------------------------------------------------------
# The proof


class Unproved(Exception):  # noqa: N818, the search goes on
    """Floats promised more at a node than exact arithmetic keeps."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.node = node


def write_proof(search: Search, lower: int) -> Proof:
    """Return the proof that every plane costs at least ``lower``, what is forced left out.

    Raises Unproved where floats promised too much.
    """
    items, pool, C = search.items, search.pool, search.items.data.classes
    refutations: list[Combination] = []
    numbers: dict[int, int] = {}  # number in the pool to number in the proof

    def write(ids: list[int], multipliers: list[int]) -> int:
        parts = sorted((number, value) for number, value in zip(ids, multipliers, strict=True) if value)
        rivals = tuple(number % C for number, _ in parts) if C > 2 else ()
        refutations.append(Combination(tuple(i // C for i, _ in parts), rivals, tuple(value for _, value in parts)))
        return len(refutations) - 1

    def number_of(node: Node, k: int) -> int:
        if k not in numbers:
            multipliers = pool.multipliers(k)
            if multipliers is None:
                raise Unproved(node)
            numbers[k] = write(items.ids[pool.cuts[k].places].tolist(), multipliers)
        return numbers[k]

    def leaf(node: Node) -> dict[str, Any]:
        """Return as much of a packing as the bound needs, the largest weights first."""
        need = (lower - 1 - node.spent) << BITS
        weights = exact_weights(search, node) if need >= 0 else []
        if need >= 0 and sum(units for _, units in weights) <= need:
            raise Unproved(node)
        chosen: list[list[int]] = []
        for k, units in sorted(weights, key=lambda pair: (-pair[1], pair[0])):
            if need < 0:
                break
            held = zip(pool.cuts[k].plus.tolist(), pool.multipliers(k) or [], strict=False)
            if all(node.state[place // items.V] > 0 for place, value in held if value > 0):
                return {"dead": number_of(node, k)}
            chosen.append([number_of(node, k), units])
            need -= units
        return {"packing": chosen}

    common = [(write(list(each.ids), [1] * len(each.ids)), each.amount << BITS) for each in items.forced]
    tree, stack = [], [search.root]
    while stack:
        node = stack.pop()
        if node.dead is not None:
            tree.append({"dead": number_of(node, node.dead)})
        elif node.spent + sum(u for _, u in node.packing) > lower - 1 or not node.children:
            tree.append(leaf(node))
        else:
            tree.append({"row": int(items.rows[node.split])})
            stack += reversed(node.children)
    return Proof(tuple(refutations), tuple(common), tree)


def exact_weights(search: Search, node: Node) -> list[tuple[int, int]]:
    """Return the refutations of a node's packing that are exact, with dyadic weights that no item's cost forbids."""
    pool, cost = search.pool, search.items.cost
    weights = {number: int(u * (1 << BITS)) for number, u in node.packing if pool.multipliers(number) is not None}
    undecided = {k: [i for i in pool.cuts[k].items.tolist() if node.state[i] == 0] for k in weights}
    load = dict.fromkeys((i for items in undecided.values() for i in items), 0)
    for k, unit in weights.items():
        for i in undecided[k]:
            load[i] += unit
    exact = []
    for k, unit in weights.items():
        limits = ((int(cost[i]) << BITS, load[i]) for i in undecided[k])
        exact.append((k, min((unit * most // total for most, total in limits if total > most), default=unit)))
    return exact
