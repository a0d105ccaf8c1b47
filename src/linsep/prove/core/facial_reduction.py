"""Which of some inequalities can be strict: facial reduction in floats, proved once at the end.

Rows ``z_i·g >= 0`` and equations ``e_j·g = 0``. Wanted: the largest set S of inequalities that some ``g`` makes strict
while it meets all others, such a ``g``, and multipliers, positive for inequalities, with which rows of the rest cancel
and span it. If S is everything the rows are separable, if it is empty they overlap, else quasi.

    face = equations, pairs of equal rows with opposite labels
    loop: an oracle looks, where the face vanishes, for a plane above all rows that do not vanish there
        a plane           -> rounded so that the face vanishes exactly; signs checked exactly; done
        rows that cancel  -> they belong to the face, and so do all that the same slacks cancel beyond it (absorb)
        nothing is left   -> overlap

The oracle works in floats; what it says is made exact by one linear solve each for ``g`` and the multipliers, and
checked. Where that fails, ``exact_steps`` decides without rounding.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from flint import nmod_mat

from linsep.data.parallel import scipy_linalg
from linsep.problem import Array, Floats
from linsep.prove.core import newton
from linsep.prove.core.constraints import Constraints, rounded
from linsep.prove.core.exact_steps import Outcome, exact_steps
from linsep.prove.core.oracles import NEWTON_UNKNOWNS, Cancel, Plane, oracle, wolfe
from linsep.prove.numbers import algebra

_DEPENDENT = 1e-10  # what is left of a row of size 1 that depends on others
_VANISHING = 1e-9  # slack, in sizes of rows and weights, of a row that is zero on the whole face
_NOISE = 1e-7  # multipliers this far below the largest are rounding: keeping them made exact ones negative
_STEPS = 200
_DIRECTION_BITS, _MULTIPLIER_BITS = 30, 40  # of the numbers that a proof may choose freely: fewer make it shorter


def solve(
    constraints: Constraints,
    *,
    pairs: Array | None = None,
    first: Array | None = None,
    all_multipliers: bool = False,
    any_contradiction: bool = False,
) -> Outcome:
    """Decide which inequalities can be strict.

    Parameters
    ----------
    constraints : Constraints
    pairs : ndarray of shape (m, 2), optional
        Equal rows of different classes, as far as they are known.
    first : ndarray, optional
        Inequalities that working sets begin with.
    all_multipliers : bool
        Whether the rows that cancel must span all that are not strict even if some are; else the first that were found
        to cancel suffice beside a ``g``.
    any_contradiction : bool
        Whether any rows that cancel will do as an answer: ``strict`` is then empty and says nothing.
    """
    found = solve_in_floats(
        constraints, pairs=pairs, first=first, all_multipliers=all_multipliers, any_contradiction=any_contradiction
    )
    if found is not None:
        return found
    if first is None and constraints.best is not None:
        first = constraints.best[1]
    return exact_steps(constraints, first, any_contradiction)


def solve_in_floats(
    constraints: Constraints,
    *,
    pairs: Array | None = None,
    first: Array | None = None,
    all_multipliers: bool = False,
    any_contradiction: bool = False,
) -> Outcome | None:
    """Decide as ``solve`` does, by means of floats; None where they do not suffice."""
    if not constraints.live.any() and not constraints.equal.any():
        return nothing_strict(constraints, np.empty(0, np.intp), [])
    if not constraints.has_floats:
        return None
    with np.errstate(all="ignore"):
        found = _FloatSteps(constraints, pairs, first, all_multipliers, any_contradiction).run()
        if found is None and constraints.misled:
            constraints.see_all()
            found = _FloatSteps(constraints, pairs, first, all_multipliers, any_contradiction).run()
    return found


def nothing_strict(constraints: Constraints, ids: Array, multipliers: list[Fraction]) -> Outcome:
    """Return the outcome in which no inequality can be strict."""
    return Outcome(np.zeros(len(constraints.live), dtype=bool), None, ids, multipliers)


class _FloatSteps:
    """One run of facial reduction in floats."""

    def __init__(
        self, constraints: Constraints, pairs: Array | None, first: Array | None, all_: bool, any_: bool
    ) -> None:
        self.constraints, self.clock, self.first = constraints, constraints.clock, first
        self.all_multipliers, self.any_contradiction = all_, any_
        self.face = Face(constraints)
        self.pairs = np.empty((0, 2), np.intp) if pairs is None else pairs
        self.exact: tuple[Array, list[Fraction]] | None = None  # of the first rows found to cancel

    def run(self) -> Outcome | None:
        """Return the outcome, None where floats do not suffice."""
        c, face = self.constraints, self.face
        if c.equal.any() and not self._add_equations():
            return None
        if len(self.pairs) and c.unknowns <= NEWTON_UNKNOWNS:
            self._add_pairs(self.pairs[~c.zero_rows[self.pairs[:, 0]]])
        everything = not c.equal.any() and not c.zero_rows.any()
        for _ in range(_STEPS):
            self.clock.check()
            among = None if everything and face.Q is None else c.live
            if face.Q is not None:
                if face.Q.shape[1] == 0:
                    return self._overlap()
                random = c.rng.normal(size=face.Q.shape[1]) / math.sqrt(face.Q.shape[1])
                among = c.live & (np.abs(c.slacks(face.Q @ random)) > _VANISHING)
            if among is not None and not among.any():
                return self._overlap()
            found = oracle(c, among, face.Q, self.first)
            if isinstance(found, Plane):
                return self._plane(found.w, among)
            if found is None or len(found.ids) == 0:
                return None
            before = face.rank
            if not face.steps and self.exact is None:
                outcome, found = self._first_contradiction(found, among)
                if outcome is not None or found is None:
                    return outcome
                if face.Q is not None and face.Q.shape[1] == 0:
                    continue
            face.absorb(found.ids, found.weights)
            if face.rank == before:
                return None
        return None

    def _first_contradiction(self, found: Cancel, among: Array | None) -> tuple[Outcome | None, Cancel | None]:
        """Make the first rows that cancel exact and put them into the face; the outcome if they settle everything."""
        c, face = self.constraints, self.face
        few = found
        if not c.wide_sparse:
            kept, weights = newton.corners(c.gather(found.ids), found.weights, self.clock)
            few = Cancel(found.ids[kept], weights)
        self.exact = c.dependency(few.ids, few.weights) if len(few.ids) else None
        if self.exact is None:  # floats were wrong: the slower way has better weights
            again = wolfe(c, among, None, c.sample(4 * c.unknowns + 8, among))
            if isinstance(again, Plane):
                return self._plane(again.w, among), None
            if again is None or len(again.ids) == 0:
                return None, None
            found = again
            self.exact = c.dependency(found.ids, found.weights)
        if self.exact is None:
            return None, None
        ids, multipliers = self.exact
        if self.any_contradiction or len(ids) - 1 == c.most_rank:  # as many as span all rows
            return nothing_strict(c, ids, multipliers), None
        if c.unknowns > 2 * NEWTON_UNKNOWNS:
            return None, None
        top = max(multipliers)
        weights = np.array([float(value / top) for value in multipliers])
        face.add(ids, weights / c.factors(ids, c.gather(ids)))
        return None, found

    def _plane(self, w: Floats, among: Array | None) -> Outcome | None:
        """Check a plane exactly; with the face, its multipliers."""
        c, face = self.constraints, self.face
        strict = None
        for g in (self.face.direction(w),) if face.steps else c.candidates(w):
            if g is None:
                continue
            side = np.where(c.live, c.signs(g), 0)
            if side.min() >= 0 and (side > 0).any():
                strict = side > 0
                if face.steps or np.array_equal(strict, c.live):
                    break
                strict = None
        if strict is None or (face.steps and among is not None and not np.array_equal(strict, among)):
            return None
        if not face.steps:
            return Outcome(strict, g, np.empty(0, np.intp), [])
        rest = self.exact
        if rest is None or (self.all_multipliers and len(rest[0]) < len(face.ids)):
            rest = face.exact_multipliers()
        if rest is None or (self.all_multipliers and not spanned(c, rest[0], strict, g)):
            return None
        return Outcome(strict, g, *rest)

    def _overlap(self) -> Outcome | None:
        c, face = self.constraints, self.face
        if not face.steps:
            return nothing_strict(c, np.empty(0, np.intp), [])
        rest = self.exact
        if rest is None or len(rest[0]) < len(face.ids):
            rest = face.exact_multipliers()
        nothing = np.zeros(len(c.live), dtype=bool)
        return None if rest is None or not spanned(c, rest[0], nothing, None) else nothing_strict(c, *rest)

    def _add_equations(self) -> bool:
        """Put independent equations into the face: of a sample, then those that do not vanish where these do."""
        c, face = self.constraints, self.face
        ids = c.ids[c.is_equation(c.ids)]
        some = np.sort(c.rng.choice(ids, min(len(ids), 2 * c.unknowns + 16), replace=False))
        for _ in range(50):
            self.clock.check()
            Z = c.gather(some)
            chosen = independent(Z if face.Q is None else Z @ face.Q)
            if len(chosen) == 0:
                return True
            face.add(some[np.sort(chosen)], np.zeros(len(chosen)), equations=True)
            assert face.Q is not None
            if face.Q.shape[1] == 0:
                return True
            off = ids[np.abs(c.slacks(face.Q @ c.rng.normal(size=face.Q.shape[1]))[ids]) > _VANISHING]
            if len(off) == 0:
                return True
            some = np.sort(c.rng.choice(off, min(len(off), 2 * c.unknowns), replace=False))
        return False

    def _add_pairs(self, pairs: Array) -> None:
        """Put equal rows of different classes, each pair of which cancels, into the face: as many as span them all."""
        c, y, C = self.constraints, self.constraints.data.y, self.constraints.classes
        one, other = pairs[:, 0] * C + y[pairs[:, 1]], pairs[:, 1] * C + y[pairs[:, 0]]
        chosen, left, Q = np.empty(0, np.intp), np.arange(len(pairs)), None
        while len(left):
            self.clock.check()
            few = len(left) <= 2 * c.unknowns
            some = left if few else np.sort(c.rng.choice(left, 2 * c.unknowns, replace=False))
            Z = c.gather(one[some])
            chosen = np.concatenate((chosen, some[independent(Z if Q is None else Z @ Q)]))
            if few or len(chosen) == 0:
                break
            Q = scipy_linalg().qr(c.gather(one[chosen]).T, mode="full", pivoting=True)[0][:, len(chosen) :]
            if Q.shape[1] == 0:
                break
            v = Q @ c.rng.normal(size=Q.shape[1])
            slack = np.concatenate([c.gather(one[left[k : k + 4096]]) @ v for k in range(0, len(left), 4096)])
            left = left[np.abs(slack) > _VANISHING]
        if len(chosen):
            both = np.concatenate((one[chosen], other[chosen]))
            self.face.add(both, 1.0 / c.factors(both, c.gather(both)))
            self.exact = both, [Fraction(1)] * len(both)


def independent(Z: Floats) -> Array:
    """Return rows, of size about 1, that all others depend on."""
    _, R, order = scipy_linalg().qr(Z.T, mode="economic", pivoting=True, check_finite=False)
    rank = int(np.count_nonzero(np.abs(np.diag(R)) > 10 * _DEPENDENT))
    return np.asarray(order[:rank])


# ---------------------------------------------------------------------------------------------------------------
# The face


class Step(NamedTuple):
    """Rows that cancel up to the span of the steps before."""

    ids: Array
    rows: Floats  # as gathered
    weights: Floats  # multipliers of these, about
    U: Floats  # orthonormal: what the step adds to the span
    equations: bool  # multipliers may have any sign


class Face:
    """Rows known to be zero wherever all constraints are met, step by step; ``Q`` spans what is orthogonal to them."""

    def __init__(self, constraints: Constraints) -> None:
        self.constraints = constraints
        self.steps: list[Step] = []
        self.Q: Floats | None = None
        self.rank = 0

    @property
    def ids(self) -> Array:
        """The numbers of all rows."""
        return np.concatenate([np.empty(0, np.intp), *(step.ids for step in self.steps)]).astype(np.intp)

    def add(self, ids: Array, weights: Floats, equations: bool = False) -> None:
        """Add rows that cancel up to the span of the face."""
        rows = self.constraints.gather(ids)
        inner = rows if self.Q is None else rows @ self.Q
        size = np.linalg.norm(inner, axis=1, keepdims=True)
        inner = inner / np.where(size > 0, size, 1.0)
        P, R, _ = scipy_linalg().qr(inner.T, mode="full", pivoting=True, check_finite=False)
        size = np.abs(np.diag(R))
        r = int(np.count_nonzero(size > _DEPENDENT * size.max(initial=0.0)))
        U, Q = P[:, :r], P[:, r:]
        if self.Q is not None:
            U, Q = self.Q @ U, self.Q @ Q
        self.steps.append(Step(ids, rows, weights / max(np.abs(weights).max(initial=0.0), 1e-300), U, equations))
        self.Q, self.rank = Q, self.rank + r

    def absorb(self, ids: Array, weights: Floats) -> None:
        """Add all rows of a contradiction, few at a time: what cancels still does beyond the span of some of it."""
        clock, rows = self.constraints.clock, self.constraints.gather(ids)
        while self.Q is None or self.Q.shape[1]:
            inner = rows if self.Q is None else rows @ self.Q
            size = np.linalg.norm(inner, axis=1)
            off = np.flatnonzero(size > _VANISHING)
            if len(off) < 2:
                return
            kept, found = newton.corners(inner[off] / size[off, None], weights[off] * size[off], clock)
            heavy = found > _NOISE * found.max(initial=0.0)
            kept, found = kept[heavy], found[heavy]
            if len(kept) < 2:
                return
            before = self.rank
            self.add(ids[off[kept]], found / size[off[kept]])
            if self.rank == before:
                return

    def exact_multipliers(self) -> tuple[Array, list[Fraction]] | None:
        """Return exact multipliers of all rows, positive for inequalities; None if floats led astray."""
        c, rest, about = self.constraints, np.zeros(self.constraints.unknowns), list[Floats]()
        for step in reversed(self.steps):  # what cancels all that comes after, and is positive
            fix = np.asarray(np.linalg.lstsq((step.rows @ step.U).T, step.U.T @ rest, rcond=None)[0], np.float64)
            weights = -fix
            if not step.equations:
                weights = (1 + max(0.0, float((fix / step.weights).max(initial=0.0)))) * step.weights - fix
            rest = rest + weights @ step.rows
            about.append(weights)
        ids, weights = self.ids, np.concatenate(about[::-1])
        free = np.concatenate([np.full(len(step.ids), step.equations) for step in self.steps])
        wanted = weights * c.factors(ids, np.vstack([step.rows for step in self.steps]))
        if not np.isfinite(wanted).all():
            return None
        # the first possible become pivots, whose multipliers are solved for: equations, then large ones
        order = np.lexsort((-weights, ~free))
        A, shifts = c.rows(ids[order])
        c.clock.check(algebra.operations(A))
        start = algebra.column(rounded(wanted[order], _MULTIPLIER_BITS), np.array(shifts))
        values = algebra.entries(algebra.null_vector(A.transpose(), start))
        if any(value <= 0 for value, k in zip(values, order.tolist(), strict=True) if not free[k]):
            return None
        return ids[order], [Fraction(v) / Fraction(2) ** s for v, s in zip(values, shifts, strict=True)]

    def direction(self, w: Floats) -> Any:
        """Return exact unknowns near scaled weights on which all rows of the face vanish."""
        start = self.constraints.exact_weights(w, _DIRECTION_BITS)
        if start is None:
            return None
        A, _ = self.constraints.rows(self.ids)
        self.constraints.clock.check(algebra.operations(A))
        return algebra.null_vector(A, start)


# ---------------------------------------------------------------------------------------------------------------
# Exact numbers


def spanned(constraints: Constraints, ids: Array, strict: Array, g: Any) -> bool:
    """Return whether all rows that are not strict are in the span of some: almost surely, by a random null vector."""
    c = constraints
    A, _ = c.rows(ids)
    left = c.unknowns - nmod_mat(A, algebra.PRIME).rank()
    if left == 0 or (left == 1 and g is not None):  # then g is the only null vector
        return True
    start = algebra.one_column(c.rng.integers(1, 2**10, c.unknowns).tolist())
    c.clock.check(algebra.operations(A))
    flat = c.vanish(algebra.null_vector(A, start))
    rest = c.live & ~strict
    rest[c.ids[c.is_equation(c.ids)]] = True
    return bool(flat[rest].all())
