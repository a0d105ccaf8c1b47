"""Facial reduction without rounding: the last resort, which cannot fail.

Step by step the unknowns are restricted to a subspace on which the rows known to cancel vanish. In it, floats on exact
coordinates decide almost everything: rows are multiplied out in integers before they become floats, and a change of
coordinates loses nothing (nearly dependent columns made orthogonal). At last Wolfe's algorithm in rational numbers
decides, which always ends.
"""

from __future__ import annotations

import math
from copy import copy
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz_mat

from linsep.clock import OutOfTime
from linsep.data.parallel import scipy_linalg
from linsep.problem import Array, Floats
from linsep.prove.claims import Separator
from linsep.prove.core.constraints import Constraints
from linsep.prove.core.nearest_point import nearest_plane, nearest_point
from linsep.prove.linear_algebra import algebra
from linsep.prove.linear_algebra.algebra import Dependency

_ROUNDS = 40  # working sets tried before stronger means
_FEW = 400_000  # numbers that are all written out
UNKNOWNS, _BYTES = 6000, 160  # of more, four rows for each of them take many gigabytes: so many bytes a pair


class Outcome(NamedTuple):
    """Which inequalities can be strict, and the two halves of its proof."""

    strict: Array  # by number
    g: Any  # integer column: positive on all of these, zero on the others; None if there are none
    ids: Array  # rows that cancel and span all that are not strict; only the first found unless all were asked for
    multipliers: list[Fraction]  # of the rows as given: positive for inequalities, of any sign for equations
    plane: Separator | None = None  # where the fast check has found all rows strictly on their side of it


def exact_steps(constraints: Constraints, first: Array | None = None, any_contradiction: bool = False) -> Outcome:
    """Decide which inequalities can be strict; ``first`` are those that a working set begins with.

    With ``any_contradiction`` the first rows that cancel are the answer, and ``strict`` is empty.
    """
    clock, rng = constraints.clock, constraints.rng
    if constraints.unknowns > UNKNOWNS:
        if clock.deadline < math.inf:  # what is known by then is an answer
            raise OutOfTime
        size = max(1, constraints.unknowns**2 * _BYTES >> 30)
        raise MemoryError(
            f"double precision cannot decide these data, and an exact search in {constraints.unknowns} unknowns takes "
            f"about {size} GB: leave out columns, or use fewer classes at a time"
        )
    equations = constraints.ids[constraints.is_equation(constraints.ids)]
    equations, _, V = constraints.span(equations, list(range(constraints.unknowns)))
    if len(equations):
        equations = equations[algebra.first_independent(constraints.rows(equations)[0])]
    left, steps, g = constraints.live.copy(), list[tuple[Array, list[int]]](), None
    while True:
        clock.check()
        left &= ~constraints.vanish(V) if V.ncols() else False
        if not left.any():
            break
        view = ExactView(constraints, V, left)
        most = 4 * view.dimension + 8
        if first is not None and len(preferred := first[left[first]]) > view.dimension:
            ids = preferred[:most]
        else:
            ids = constraints.sample(most, left)
        w, some, dependency = _decide(view, ids, rng)
        if dependency is None:
            g = V * w
            break
        steps.append((some[dependency.rows], dependency.multipliers))
        if any_contradiction:
            left[:] = False
            break
        V = V * algebra.echelon(constraints.rows(steps[-1][0])[0] * V, list(range(V.ncols())), clock)[1]
        columns = [algebra.primitive([int(value) for value in column]) for column in V.transpose().tolist()]
        V = fmpz_mat(columns).transpose() if columns else V
    ids, multipliers = joined(constraints, equations, steps)
    return Outcome(left, g, ids, multipliers)


def joined(
    constraints: Constraints, equations: Array, steps: list[tuple[Array, list[int]]]
) -> tuple[Array, list[Fraction]]:
    """Return all rows of some steps with multipliers that cancel, positive for inequalities.

    The inequalities of a step cancel, as integer rows, up to rows of the steps before, which are added often enough to
    stay positive: from the last step to the first.
    """
    ids = np.concatenate((equations, *(ids for ids, _ in steps))).astype(np.intp)
    if not steps:
        return equations[:0].astype(np.intp) if not len(equations) else ids, [Fraction(0)] * len(ids)
    A, shifts = constraints.rows(ids)
    starts = np.cumsum([len(equations), *(len(each) for each, _ in steps)])
    rows = fmpz_mat(len(steps), len(ids))
    for k, (start, (_, weights)) in enumerate(zip(starts.tolist(), steps, strict=False)):
        for i, value in enumerate(weights):
            rows[k, start + i] = value
    lower, common = algebra.Solver(A, constraints.clock).express(rows * A)  # in the first rows: of the steps before
    multipliers = [0] * len(ids)
    for k in range(len(steps) - 1, -1, -1):
        constraints.clock.check()
        start, weights = int(starts[k]), steps[k][1]
        least = min((Fraction(multipliers[start + i], value) for i, value in enumerate(weights)), default=Fraction(0))
        times = max(1, 1 - math.floor(least / int(common[k])))
        for i, value in enumerate(weights):
            multipliers[start + i] += times * int(common[k]) * value
        for i in range(start):
            multipliers[i] -= times * int(lower[k, i])
    exact = algebra.primitive(multipliers)
    return ids, [Fraction(m) / Fraction(2) ** shift for m, shift in zip(exact, shifts, strict=True)]


# ---------------------------------------------------------------------------------------------------------------
# Exact coordinates


class ExactView:
    """Open inequalities in coordinates ``u`` of the subspace spanned by the columns of V: unknowns ``V inner u``."""

    def __init__(self, constraints: Constraints, V: Any, open_: Array) -> None:
        self.constraints, self.V, self.clock = constraints, V, constraints.clock
        self.open = np.flatnonzero(open_)
        self.dimension = V.ncols()
        self.inner = fmpz_mat([[int(i == j) for j in range(self.dimension)] for i in range(self.dimension)])
        self.column_exponents: Array | None = None
        self.table: Any = None  # few rows are written out once, in the coordinates of V
        if len(self.open) * self.dimension <= _FEW:
            self.table = (constraints.rows(self.open)[0] * V).tolist()

    def rows(self, ids: Array) -> Any:
        """Return inequalities as integer rows in the coordinates, each times a positive power of two."""
        self.clock.check()
        if self.table is None:
            return self.constraints.rows(ids)[0] * self.V * self.inner
        return fmpz_mat([self.table[k] for k in np.searchsorted(self.open, ids).tolist()]) * self.inner

    def unmet(self, w: Any) -> Array:
        """Return the open inequalities that are not positive on coordinates of V, a column."""
        if self.table is None:
            return self.open[self.constraints.signs(self.V * w)[self.open] <= 0]
        scores = fmpz_mat(self.table) * w
        return self.open[[k for k, (value,) in enumerate(scores.tolist()) if value <= 0]]

    def gather(self, pairs: Array) -> Floats:
        """Return inequalities as float rows of size about 1, their columns scaled to a common size."""
        numbers, exponents = algebra.binary(self.rows(pairs))
        used = numbers != 0
        if self.column_exponents is None:
            median = [np.median(exponents[used[:, j], j]) if used[:, j].any() else 0 for j in range(self.dimension)]
            self.column_exponents = np.array(median, dtype=np.int64)
        exponents = np.where(used, exponents - self.column_exponents, -(10**9))
        tops = exponents.max(axis=1, initial=-(10**9))
        Z: Floats = np.ldexp(numbers, np.maximum(exponents - tops[:, None], -2000).astype(np.int32))
        return Z

    def weights(self, u: Floats) -> Any:
        """Return the coordinates of V that float unknowns in the scaled columns stand for, times a positive number."""
        assert self.column_exponents is not None
        return self.inner * algebra.column(u, -self.column_exponents)

    def whitened(self, Z: Floats) -> ExactView:
        """Return a view in whose unknowns the columns of ``Z``, as this one gathers them, are about orthonormal."""
        assert self.column_exponents is not None
        R, order = scipy_linalg().qr(Z, mode="r", pivoting=True)
        r = min(R.shape)
        R = R[:r, :r]
        size = np.abs(np.diag(R))
        R[np.diag_indices(r)] = np.where(size > 1e-15 * size.max(), np.diag(R), 1e-15 * size.max())
        T = np.zeros((self.dimension, self.dimension))
        T[order[:r], :r] = scipy_linalg().solve_triangular(R, np.eye(r))
        T[order[r:], np.arange(r, self.dimension)] = 1.0  # fewer rows than unknowns: the others stay as they are
        self.clock.check()
        columns = [self.weights(T[:, k]) for k in range(self.dimension)]
        view = copy(self)
        view.inner = fmpz_mat([[column[i, 0] for column in columns] for i in range(self.inner.nrows())])
        view.column_exponents = None
        return view


# ---------------------------------------------------------------------------------------------------------------
# The search through a view


def _decide(view: ExactView, pairs: Array, rng: np.random.Generator) -> tuple[Any, Array, Dependency | None]:
    """Return coordinates of V that meet all open inequalities strictly, or inequalities with a positive dependency.

    Floats first, then floats on whitened rows; at last Wolfe's algorithm without rounding, which always ends.
    """
    for whitened in (False, True):
        if whitened:
            view = view.whitened(view.gather(pairs))
        certain, *result = _chase(view, pairs, rng)
        if certain:
            return tuple(result)
        pairs = result[1]
    near = nearest_point(view.gather(pairs), clock=view.clock)
    start, weights = near.support.tolist(), near.weights[near.support]
    while True:
        x, dependency = algebra.nearest(view.rows(pairs), start, weights, view.clock)
        if dependency is not None:
            return None, pairs, dependency
        w = view.inner * x.transpose()
        more = view.unmet(w)
        if len(more) == 0:
            return w, pairs, None
        pairs = np.concatenate((pairs, _some(view, np.setdiff1d(more, pairs), None, rng)))


def _chase(view: ExactView, pairs: Array, rng: np.random.Generator) -> tuple[bool, Any, Array, Dependency | None]:
    """Search with floats on a working set that grows by inequalities not met; return whether that is certain, first."""
    Z = view.gather(pairs)
    start: Floats | None = None
    for _ in range(_ROUNDS):
        near = nearest_plane(Z, start, view.clock)
        if not near.w.any() or not near.lowest > 0:
            support = pairs[near.support]
            A = view.rows(support)
            dependency = algebra.dependency(A, view.clock)
            return (False, None, pairs, None) if dependency is None else (True, None, support, dependency)
        w = view.weights(near.w)
        unmet = view.unmet(w)
        if len(unmet) == 0:
            return True, w, pairs, None
        more = np.setdiff1d(unmet, pairs)
        if len(more) == 0:
            break
        more = _some(view, more, near.w, rng)
        pairs, Z, start = np.concatenate((pairs, more)), np.vstack((Z, view.gather(more))), near.weights
    return False, None, pairs, None


def _some(view: ExactView, pairs: Array, u: Floats | None, rng: np.random.Generator) -> Array:
    """Return the inequalities that a round adds: the lowest of a random choice."""
    most = 2 * view.dimension + 8
    if len(pairs) > 4 * most:
        pairs = np.sort(rng.choice(pairs, 4 * most, replace=False))
    if len(pairs) <= most or u is None:
        return pairs[:most]
    scores = view.gather(pairs) @ u
    return pairs[np.argpartition(scores, most)[:most]]
