"""The items of a fewest-errors problem: groups of equal rows, without contradictions, as whitened floats.

Equal rows of one class are one item that costs as much as they weigh. Of two classes, a point with weight ``p`` of one
label and ``q`` of the other costs ``min(p, q)`` whatever the plane, and stays as one item of cost ``|p - q|``. Without
an offset a row of zeros is wrong under every plane. The search never sees these; the proof has them as refutations of
two rows or one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linsep.clock import Clock
from linsep.problem import Array, Floats
from linsep.prove.claims import Data, Separator
from linsep.prove.core.constraints import Constraints
from linsep.prove.core.presolve import fingerprints
from linsep.prove.core.scaled_view import ScaledView

_MANY, _CELL = 1_000_000, 10  # cells from which on a step takes long, and operations for each
_TINY = 1e-11  # a singular value that small, against the largest, stands for a dependent column


@dataclass(frozen=True)
class Forced:
    """A refutation that needs no search: inequality numbers, all with multiplier 1, and the weight it carries."""

    ids: tuple[int, ...]
    amount: int


@dataclass(frozen=True, eq=False)
class Items:
    """Items that a plane may have right or wrong, as whitened float rows ``Z`` (``V`` of them per item)."""

    data: Data
    rows: Array  # (m,) a row that stands for the item
    of_row: Array  # (n,) the item of every row, -1 if it has none
    cost: Array  # (m,) int64, above 0
    ids: Array  # (m V,) inequality numbers, row * classes + rival
    Z: Floats  # (m V, D)
    forced: tuple[Forced, ...]
    pairs: tuple[tuple[int, int], ...]  # of more than two classes: places in ids that contradict each other
    field: ScaledView
    turn: Floats  # (field.dimension, D): weights in the field are turn @ w

    @property
    def V(self) -> int:  # noqa: N802
        """Inequalities per item."""
        return self.data.classes - 1

    @property
    def base(self) -> int:
        """What every plane gets wrong, as the forced refutations prove."""
        return sum(each.amount for each in self.forced)

    def plane(self, w: Floats) -> Separator:
        """Return the plane of whitened weights for the data as they are."""
        return self.field.plane(self.turn @ w)


def _points(data: Data) -> Array:
    """Return for every row the number of its point; hashes tell points apart, and the proof is checked in the end."""
    rows = data.rows
    if rows.data.dtype.kind == "f":
        rows = rows._replace(data=rows.data + 0.0)  # zero has two signs
    return np.unique(fingerprints(rows, data.n_features), return_inverse=True)[1]


def make_items(data: Data, weights: Array, clock: Clock) -> Items:
    """Count equal rows together, settle contradictions, and whiten what is left.

    Raises OutOfTime or Cancelled, before a step that takes long; the others are done even without time.
    """
    _ask(clock, len(data.y) * data.n_features)
    C = data.classes
    kinds, rows, kind = np.unique(_points(data) * C + data.y, return_index=True, return_inverse=True)
    whole = np.bincount(kind, weights=weights, minlength=len(kinds)).astype(np.int64)
    keep, points = whole > 0, kinds // C
    cost, forced, pairs = whole.copy(), [], []
    for k in np.flatnonzero(keep & Constraints(data).zero_rows[rows]).tolist():
        rival = int(data.y[rows[k]] == 0)
        forced.append(Forced((int(rows[k]) * C + rival,), int(cost[k])))
        cost[k] = 0
    twins = np.flatnonzero((points[1:] == points[:-1]) & (cost[1:] > 0) & (cost[:-1] > 0))
    for k in twins.tolist() if C == 2 else ():
        amount = int(min(cost[k], cost[k + 1]))
        forced.append(Forced((int(rows[k]) * C + 1, int(rows[k + 1]) * C), amount))
        cost[k : k + 2] -= amount
    chosen = np.flatnonzero(keep & (cost > 0))
    if C > 2:
        pairs = _pairs(points[chosen], data.y[rows[chosen]], C)
    place = np.full(len(kinds), -1)
    place[chosen] = np.arange(len(chosen))
    rows, cost = rows[chosen], cost[chosen]
    ids = (rows[:, None] * C + np.arange(C))[np.arange(C) != data.y[rows][:, None]]
    _ask(clock, len(ids) * data.n_features)
    field = ScaledView(data, np.random.default_rng(0))
    field.refuse_not_finite()
    Z, turn = np.zeros((0, 1)), np.zeros((field.dimension, 1))
    if len(ids):
        gathered = field.gather(ids)
        _ask(clock, gathered.size)
        Z, turn = _whitened(gathered, clock)
    return Items(data, rows, place[kind], cost, ids, Z, tuple(forced), tuple(pairs), field, turn)


def _ask(clock: Clock, cells: int) -> None:
    """Ask the clock before a step that looks at many cells."""
    if cells > _MANY:
        clock.check()


def _pairs(points: Array, classes: Array, C: int) -> list[tuple[int, int]]:
    """Return places of inequalities that tell equal rows of different classes from each other."""
    V, pairs = C - 1, []
    for k in range(len(points)):
        j = k + 1
        while j < len(points) and points[j] == points[k]:
            a, b = int(classes[k]), int(classes[j])
            pairs.append((k * V + b - (b > a), j * V + a - (a > b)))
            j += 1
    return pairs


def _whitened(Z: Floats, clock: Clock) -> tuple[Floats, Floats]:
    """Return rows in coordinates in which their columns are orthonormal times √n, and the map of weights back."""
    gram: Any = Z.T @ Z
    _ask(clock, Z.size)
    values, vectors = np.linalg.eigh(gram)
    if not values[0] > 1e-7 * values[-1]:  # squares have lost the small directions
        _, singular, across = np.linalg.svd(np.linalg.qr(Z, mode="r"), full_matrices=False)
        values, vectors = singular[::-1] ** 2, across[::-1].T
    _ask(clock, Z.size)
    keep = values > _TINY**2 * values[-1]
    turn = vectors[:, keep] * np.sqrt(len(Z) / values[keep])
    return np.ascontiguousarray(Z @ turn), turn
