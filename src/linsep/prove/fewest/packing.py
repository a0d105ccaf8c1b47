"""The packing program: the total weight of refutations when no row carries more than its copies.

``max Σ u`` with ``Σ_{I ∋ i} u_I ≤ c_i``, solved as its dual, the fractional cover ``min Σ c_i y_i`` with
``Σ_{i ∈ I} y_i ≥ 1``: refutations come as new rows and the dual simplex of HiGHS goes on from where it was
(Huangfu & Hall 2018). Costs are perturbed a little against stalling. The floats it returns are rounded to dyadic
weights that keep the capacities exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linsep.problem import Array, Floats

if TYPE_CHECKING:
    from linsep.prove.fewest.search import Budget

BITS = 20  # weights of a packing are multiples of 2**-BITS

_PERTURBED = 1e-5  # costs, by so much at most, relatively
_SLICE = 5.0  # seconds after which a long program is interrupted to see whether it should go on
_OPTIONS: dict[str, Any] = {
    "output_flag": False,
    "threads": 1,
    "presolve": "off",
    "solver": "simplex",
    "random_seed": 0,
}


class Cover:
    """The fractional cover of refutations, each given as the items it uses, and the packing that is its dual."""

    def __init__(self, cost: Array) -> None:
        import highspy

        self.solver = highspy.Highs()
        for name, value in _OPTIONS.items():
            self.solver.setOptionValue(name, value)
        self.cost, self.rows = cost, 0
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
        self.rows += len(sets)

    def drop(self, which: Array) -> None:
        """Remove refutations by their numbers, the others move up; the next program goes on without them."""
        basis = self.solver.getBasis()
        keep = np.ones(self.rows, dtype=bool)
        keep[which] = False
        status = basis.row_status
        basis.row_status = [status[k] for k in np.flatnonzero(keep).tolist()]
        self.solver.deleteRows(len(which), which.astype(np.int32))
        self.solver.setBasis(basis)
        self.rows -= len(which)

    def solve(self, clock: Budget) -> tuple[Floats, Floats] | None:
        """Return the cover ``y`` and the packing ``u``; None if the solver gave up.

        Raises OutOfTime or Cancelled.
        """
        import highspy

        if self.rows == 0:
            return np.zeros(self.solver.getNumCol()), np.zeros(0)
        tries = 2
        while tries:
            self.solver.setOptionValue("time_limit", self.solver.getRunTime() + max(0.01, min(clock.spare, _SLICE)))
            self.solver.run()
            status = self.solver.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                found = self.solver.getSolution()
                return np.maximum(found.col_value, 0.0), np.maximum(found.row_dual, 0.0) * (1.0 - _PERTURBED)
            clock.check()
            if status != highspy.HighsModelStatus.kTimeLimit:  # else it goes on from where it was
                self.solver.clearSolver()  # from scratch, once
                tries -= 1
        return None
