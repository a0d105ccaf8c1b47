"""The fast check of a fewest-errors certificate, in exact signs and integers.

The same claims as in ``linsep_check``, on the data as they are stored: compiled exact signs for the plane, and rows
turned into integers once for all refutations that use them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.problem import Array, Dense, Rows
from linsep.prove.check.exact_signs import exact_rows, signs
from linsep.prove.check.fast_check import plane_fits
from linsep.prove.check.integers import difference
from linsep.prove.claims import Data, Separator

HEAVIEST = 2**53  # all weights together are less
_BLOCK = 4096  # rows that are looked at together
Claim = Any  # a Fewest: lower, upper, rows, plane, weights, certificate


def holds(claim: Claim, data: Data, weights: Array) -> bool:
    """Return whether a claim about the fewest errors holds for these data."""
    if not 0 <= claim.lower <= claim.upper or len(weights) != len(data.y) or (weights < 0).any():
        return False
    if not sum(weights.tolist()) < HEAVIEST:  # as Python integers; below it no sum of int64 can overflow
        return False
    return upper_holds(claim.plane, claim.rows, claim.upper, data, weights) and lower_holds(
        claim.certificate, claim.lower, data, weights
    )


def upper_holds(plane: Separator, rows: Array, upper: int, data: Data, weights: Array) -> bool:
    """Return whether a plane has all rows right but those listed, and they weigh ``upper``."""
    W, b = plane.per_class()
    if not plane_fits(W, b, data.classes, data.n_features, data.offset):
        return False
    if len(rows) and not (rows.min() >= 0 and rows.max() < len(data.y) and len(np.unique(rows)) == len(rows)):
        return False
    listed = np.zeros(len(data.y), dtype=bool)
    listed[rows] = True
    full: Any = np.column_stack((W, b))
    for label in range(data.classes):
        for rival in range(data.classes):
            which = np.flatnonzero((data.y == label) & ~listed & (weights > 0))
            if (
                label != rival
                and len(which)
                and signs(data.rows, which, difference(full[label], full[rival])).min() < 1
            ):
                return False
    return int(weights[rows].sum()) == upper


def lower_holds(proof: Any, lower: int, data: Data, weights: Array, right: tuple[int, ...] = ()) -> bool:
    """Return whether the tree proves that every plane has rows of weight ``lower`` wrong.

    With ``right``: every plane that has these rows right.
    """
    try:
        return _Tables(proof, data, weights, right).hold(lower, right)
    except (_Malformed, IndexError, KeyError, TypeError, ValueError, AttributeError):
        return False


class _Malformed(Exception):  # noqa: N818 (it is an answer)
    """The certificate is not one."""


class _Tables:
    """Refutations, the rows they use, and which rows are equal to those."""

    def __init__(self, proof: Any, data: Data, weights: Array, right: tuple[int, ...]) -> None:
        self.proof, self.data, self.weights = proof, data, weights
        used = {i for each in proof.refutations for i in each.rows} | set(right)
        used |= {node["row"] for node in proof.tree if "row" in node}
        if used and not (min(used) >= 0 and max(used) < len(data.y)):
            raise _Malformed
        which = np.array(sorted(used), dtype=np.intp)
        exact = exact_rows(data.rows, which, data.offset_column) if used else []
        self.rows = dict(zip(which.tolist(), exact, strict=True))
        self.group, self.capacity = self._groups(which)
        self.sides = [self._sides(each) for each in proof.refutations]

    def _groups(self, used: Array) -> tuple[dict[int, int], dict[int, int]]:
        """Return for rows in use the first row that is equal, and what all rows equal to that weigh together."""
        rows, y = self.data.rows, self.data.y
        first: dict[tuple[int, bytes], int] = {}
        keyed = zip(used.tolist(), y[used].tolist(), _keys(rows, used), strict=True)
        group = {i: first.setdefault((code, key), i) for i, code, key in keyed}
        capacity = dict.fromkeys(first.values(), 0)
        like = np.arange(len(y))
        if isinstance(rows, Dense) and rows.data.shape[1]:  # most rows differ in their first cell
            like = np.flatnonzero(np.isin(rows.data[:, 0], rows.data[used, 0]))
        for start in range(0, len(like), _BLOCK):
            some = like[start : start + _BLOCK]
            for i, code, key in zip(some.tolist(), y[some].tolist(), _keys(rows, some), strict=True):
                g = first.get((code, key))
                if g is not None:
                    capacity[g] += int(self.weights[i])
        return group, capacity

    def _sides(self, each: Any) -> tuple[frozenset[int], frozenset[int]]:
        """Return the groups of positive and negative rows of a refutation, having seen that it cancels.

        Its sum is zero in the weights of every class but 0, whose may be zero.
        """
        classes, y = self.data.classes, self.data.y
        rivals = each.rivals if classes > 2 else (1 - y[list(each.rows)]).tolist()
        if not 0 < len(each.rows) == len(each.multipliers):
            raise _Malformed
        lowest, sums = min(self.rows[i].shift for i in each.rows), dict[tuple[int, int], int]()
        for i, rival, value in zip(each.rows, rivals, each.multipliers, strict=True):
            if not (0 <= rival < classes and rival != y[i] and type(value) is int and value != 0):
                raise _Malformed
            if value < 0 and classes > 2:
                raise _Malformed
            row = self.rows[i]
            factor = value << (row.shift - lowest)
            for c, times in ((int(y[i]), factor), (rival, -factor)):
                for j, cell in zip(row.columns, row.values, strict=True) if c else ():
                    sums[c, j] = sums.get((c, j), 0) + times * cell
        pairs = list(zip(each.rows, each.multipliers, strict=True))
        P = frozenset(self.group[i] for i, value in pairs if value > 0)
        N = frozenset(self.group[i] for i, value in pairs if value < 0)
        if not P or P & N or any(sums.values()):
            raise _Malformed
        return P, N

    def hold(self, lower: int, right: tuple[int, ...]) -> bool:
        """Return whether no case of the tree, rows held ``right``, costs less."""
        stack = [(frozenset(self.group[i] for i in right), frozenset[int]())]
        for node in self.proof.tree:
            K, R = stack.pop()
            if "row" in node:
                g = self.group[node["row"]]
                if g in K or g in R:
                    return False
                stack += [(K, R | {g}), (K | {g}, R)]  # the last one comes first
            elif not self.leaf(node, K, R, lower):
                return False
        return not stack

    def leaf(self, node: Any, K: frozenset[int], R: frozenset[int], lower: int) -> bool:
        """Return whether no case is left in a leaf, or its packing reaches the bound."""
        if "dead" in node:
            P, N = self._side(node["dead"])
            return N <= R and P <= K
        bits = self.proof.bits
        used = [pair for pair in self.proof.common if self._usable(pair[0], K, R)]
        load: dict[int, int] = {}
        total = sum(self.capacity[g] for g in R) << bits
        for k, units in [*used, *node["packing"]]:
            if not self._usable(k, K, R) or type(units) is not int or units < 0:
                return False
            total += units
            for g in self._side(k)[0] - K:
                load[g] = load.get(g, 0) + units
        return total > (lower - 1) << bits and all(units <= self.capacity[g] << bits for g, units in load.items())

    def _side(self, k: int) -> tuple[frozenset[int], frozenset[int]]:
        if type(k) is not int or not 0 <= k < len(self.sides):
            raise _Malformed
        return self.sides[k]

    def _usable(self, k: int, K: frozenset[int], R: frozenset[int]) -> bool:
        P, N = self._side(k)
        return N <= R and not P & R and bool(P - K)


def _keys(rows: Rows, which: Array) -> list[bytes]:
    """Return for each of some rows its cells as bytes, the same for equal rows only."""
    if isinstance(rows, Dense):
        return [row.tobytes() for row in np.ascontiguousarray(rows.data[which] + 0)]  # zero has two signs
    spans = zip(rows.indptr[which].tolist(), rows.indptr[which + 1].tolist(), strict=True)
    parts = ((rows.indices[a:b], rows.data[a:b]) for a, b in spans)
    return [columns[cells != 0].tobytes() + cells[cells != 0].tobytes() for columns, cells in parts]
