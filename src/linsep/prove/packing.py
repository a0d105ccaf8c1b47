"""The packing program: how much weight fits on known refutations when no row may carry more than its copies.

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
