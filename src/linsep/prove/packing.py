"""The packing programme: how much weight fits on known refutations when no row may carry more than its copies.

``max Σ u`` with ``Σ_{I ∋ i} u_I ≤ c_i``, solved as its dual, the fractional cover ``min Σ c_i y_i`` with
``Σ_{i ∈ I} y_i ≥ 1``: refutations come as new rows and the dual simplex of HiGHS goes on from where it was
(Huangfu & Hall 2018). Costs are perturbed a little against stalling. The floats it returns are rounded to dyadic
weights that keep the capacities exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linsep.problem import Array, Floats

BITS = 20  # weights of a packing are multiples of 2**-BITS

_PERTURBED = 1e-5  # costs, by so much at most, relatively
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
        n = len(cost)
        prices = cost * (1.0 + _PERTURBED * np.random.default_rng(2).random(n))
        none: Any = np.zeros(0)
        self.solver.addCols(n, prices, np.zeros(n), np.full(n, highspy.kHighsInf), 0, np.zeros(n, np.int32), none, none)
        self.rows = 0

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
        """Remove refutations by their numbers; the others move up."""
        self.solver.deleteRows(len(which), which.astype(np.int32))
        self.rows -= len(which)

    def solve(self, seconds: float) -> tuple[Floats, Floats] | None:
        """Return the cover ``y`` and the packing ``u``; None if the solver gave up or took too long."""
        import highspy

        if self.rows == 0:
            return np.zeros(self.solver.getNumCol()), np.zeros(0)
        for _ in range(2):
            self.solver.setOptionValue("time_limit", self.solver.getRunTime() + max(0.01, min(seconds, 2.0)))
            self.solver.run()
            if self.solver.getModelStatus() == highspy.HighsModelStatus.kOptimal:
                found = self.solver.getSolution()
                return np.maximum(found.col_value, 0.0), np.maximum(found.row_dual, 0.0) * (1.0 - _PERTURBED)
            self.solver.clearSolver()  # from scratch, once
        return None
