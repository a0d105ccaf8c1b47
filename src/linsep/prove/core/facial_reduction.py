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
from flint import fmpz_mat

from linsep.data.parallel import scipy_linalg
from linsep.problem import Array, Dense, Floats
from linsep.prove.core import newton
from linsep.prove.core.constraints import Constraints, rounded
from linsep.prove.core.exact_steps import Outcome, exact_steps
from linsep.prove.core.oracles import NEWTON_UNKNOWNS, Cancel, OraclePlane, oracle
from linsep.prove.linear_algebra import algebra

_DEPENDENT = 1e-10  # what is left of a row of size 1 that depends on others
_VANISHING = 1e-9  # slack, in sizes of rows and weights, of a row that is zero on the whole face
_NOISE = 1e-7  # multipliers this far below the largest are rounding: keeping them made exact ones negative
_STEPS = 200  # of a reduction, which takes a handful: more are left to exact steps
_SAMPLE = 4000  # rows that most often show the same as very many
_DIRECTION_BITS, _MULTIPLIER_BITS = 30, 40  # of the numbers that a proof may choose freely: fewer make it shorter


class Question(NamedTuple):
    """What is asked about constraints, and what is known."""

    pairs: Array | None = None  # (m, 2) equal rows of different classes, as far as they are known
    first: Array | None = None  # inequalities that working sets begin with
    all_multipliers: bool = False  # rows that cancel must span all that are not strict even if some are
    any_contradiction: bool = False  # any rows that cancel will do as an answer: ``strict`` then says nothing


def solve(constraints: Constraints, **asked: Any) -> Outcome:
    """Decide which inequalities can be strict; options are those of `Question`."""
    question = Question(**asked)
    outcome = solve_in_floats(constraints, **asked)
    if outcome is not None:
        return outcome
    constraints.refuse_not_finite()
    first = question.first
    if first is None and constraints.best is not None:
        first = constraints.best[1]
    return exact_steps(constraints, first, question.any_contradiction)


def solve_in_floats(constraints: Constraints, **asked: Any) -> Outcome | None:
    """Decide as ``solve`` does, by means of floats; None where they do not suffice."""
    if not constraints.equal.any() and constraints.zero_rows.all():
        return nothing_strict(constraints, np.empty(0, np.intp), [])
    if not constraints.has_floats:
        return None
    with np.errstate(all="ignore"):
        return _FloatSteps(constraints, Question(**asked)).run()


def sample_settles(constraints: Constraints, which: Array) -> Outcome | None:
    """Return the outcome for very many rows if few of them cancel and span them all, so that none can be strict."""
    c, rows = constraints, constraints.data.rows
    step = len(which) // max(_SAMPLE, 40 * c.unknowns)
    if step < 2 or not isinstance(rows, Dense) or c.classes > 2 or c.equal.any():
        return None
    some = which[::step]
    part = c.with_rows(some)
    contradiction = solve_in_floats(part, any_contradiction=True)
    if contradiction is None or contradiction.g is not None or len(contradiction.ids) - 1 != part.most_rank:
        return None
    empty = np.flatnonzero(~part.data.rows.data.any(axis=0))
    if any(rows.data[which, j].any() for j in empty.tolist()):  # columns that only the sample has nothing in
        return None
    return Outcome(
        np.zeros(2 * c.n, dtype=bool),
        None,
        some[contradiction.ids // 2] * 2 + contradiction.ids % 2,
        contradiction.multipliers,
    )


def nothing_strict(constraints: Constraints, ids: Array, multipliers: list[Fraction]) -> Outcome:
    """Return the outcome in which no inequality can be strict."""
    return Outcome(np.zeros(constraints.n * constraints.classes, dtype=bool), None, ids, multipliers)


class _FloatSteps:
    """One run of facial reduction in floats."""

    def __init__(self, constraints: Constraints, asked: Question) -> None:
        self.constraints, self.clock, self.asked = constraints, constraints.clock, asked
        self.face = Face(constraints)
        self.exact: tuple[Array, list[Fraction]] | None = None  # of the first rows found to cancel

    def run(self) -> Outcome | None:
        """Return the outcome, None where floats do not suffice."""
        c, face = self.constraints, self.face
        if c.equal.any():
            equations = self._independent(c.ids[c.is_equation(c.ids)])
            face.add(equations, np.zeros(len(equations)), equations=True)
        if self.asked.pairs is not None and len(self.asked.pairs) and c.unknowns <= NEWTON_UNKNOWNS:
            self._add_pairs(self.asked.pairs)
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
            answer = oracle(c, among, face.Q, self.asked.first)
            if isinstance(answer, OraclePlane):
                return self._plane(answer.w, among)
            if answer is None or len(answer.ids) == 0:
                return None
            before = face.rank
            if not face.steps and self.exact is None:
                outcome, answer = self._first_contradiction(answer)
                if outcome is not None or answer is None:
                    return outcome
                if face.Q is not None and face.Q.shape[1] == 0:
                    continue
            face.absorb(answer)
            if face.rank == before:
                return None
        return None

    def _first_contradiction(self, cancel: Cancel) -> tuple[Outcome | None, Cancel | None]:
        """Make the first rows that cancel exact and put them into the face; the outcome if they settle everything."""
        c, face = self.constraints, self.face
        ids, weights = cancel.ids, cancel.weights
        if cancel.rows is not None:
            kept, weights = newton.corners(cancel.rows, weights, self.clock)
            ids = ids[kept]
        if cancel.multipliers is not None:
            self.exact = ids, cancel.multipliers
        else:
            self.exact = c.dependency(ids, weights) if len(ids) else None
        if self.exact is None:
            return None, None
        ids, multipliers = self.exact
        if self.asked.any_contradiction or len(ids) - 1 == c.most_rank:  # as many as span all rows
            return nothing_strict(c, ids, multipliers), None
        if c.unknowns > 2 * NEWTON_UNKNOWNS:
            return None, None
        top = max(multipliers)
        weights = np.array([float(value / top) for value in multipliers])
        face.add(ids, weights / c.factors(ids, c.gather(ids)))
        return None, cancel

    def _plane(self, w: Floats, among: Array | None) -> Outcome | None:
        """Check a plane exactly; with the face, its multipliers."""
        c, face = self.constraints, self.face
        if not face.steps:
            plane = c.strict_plane(w)
            return None if plane is None else Outcome(c.live, plane[0], np.empty(0, np.intp), [], plane[1])
        g, generic = face.direction(w)
        if g is None or among is None:
            return None
        side = np.where(c.live, c.signs(g), 0)
        strict = side > 0
        if side.min() < 0 or not strict.any() or not np.array_equal(strict, among):
            return None
        rest = self.exact
        if rest is None or (self.asked.all_multipliers and len(rest[0]) < len(face.ids)):
            rest = face.exact_multipliers()
        if rest is None or (self.asked.all_multipliers and not _spanned(c, generic, strict)):
            return None
        return Outcome(strict, g, *rest)

    def _overlap(self) -> Outcome | None:
        c, face = self.constraints, self.face
        if not face.steps:
            return nothing_strict(c, np.empty(0, np.intp), [])
        rest = self.exact
        if rest is None or len(rest[0]) < len(face.ids):
            rest = face.exact_multipliers()
        if rest is None or not _spanned(c, face.generic(), np.zeros(len(c.live), dtype=bool)):
            return None
        return nothing_strict(c, *rest)

    def _independent(self, ids: Array) -> Array:
        """Return independent rows that all of some depend on: of a sample, then of those that do not vanish with it."""
        c, chosen, left, Q = self.constraints, np.empty(0, np.intp), ids, None
        while True:
            self.clock.check()
            most = 2 * c.unknowns + 16
            some = left if len(left) <= most else np.sort(c.rng.choice(left, most, replace=False))
            Z = c.gather(some)
            more = newton.spanning(Z if Q is None else Z @ Q, np.arange(len(Z)), self.clock)[0]
            chosen = np.concatenate((chosen, some[more]))
            if len(some) == len(left) or len(more) == 0:
                return np.sort(chosen)
            Q = scipy_linalg().qr(c.gather(chosen).T, mode="full", pivoting=True)[0][:, len(chosen) :]
            if Q.shape[1]:
                left = left[np.abs(c.slacks(Q @ c.rng.normal(size=Q.shape[1]))[left]) > _VANISHING]
            if Q.shape[1] == 0 or len(left) == 0:
                return np.sort(chosen)

    def _add_pairs(self, pairs: Array) -> None:
        """Put equal rows of different classes, each pair of which cancels, into the face: as many as span them all."""
        c, y, C = self.constraints, self.constraints.data.y, self.constraints.classes
        pairs = pairs[~c.zero_rows[pairs[:, 0]]]
        one, other = pairs[:, 0] * C + y[pairs[:, 1]], pairs[:, 1] * C + y[pairs[:, 0]]
        chosen = np.isin(one, self._independent(one))
        if chosen.any():
            both = np.concatenate((one[chosen], other[chosen]))
            self.face.add(both, 1.0 / c.factors(both, c.gather(both)))
            self.exact = both, [Fraction(1)] * len(both)


def _spanned(constraints: Constraints, generic: Any, strict: Array) -> bool:
    """Return whether all rows that are not strict are in a span: almost surely, by a random vector orthogonal to it."""
    rest = constraints.live & ~strict
    rest[constraints.ids[constraints.is_equation(constraints.ids)]] = True
    return bool(constraints.vanish(generic)[rest].all())


# ---------------------------------------------------------------------------------------------------------------
# The face


class ReductionStep(NamedTuple):
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
        self.steps: list[ReductionStep] = []
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
        self.steps.append(
            ReductionStep(ids, rows, weights / max(np.abs(weights).max(initial=0.0), 1e-300), U, equations)
        )
        self.Q, self.rank = Q, self.rank + r

    def absorb(self, cancel: Cancel) -> None:
        """Add all rows of a contradiction, few at a time: what cancels still does beyond the span of some of it."""
        clock, (ids, weights, rows, _) = self.constraints.clock, cancel
        rows = self.constraints.gather(ids) if rows is None else rows
        while self.Q is None or self.Q.shape[1]:
            inner = rows if self.Q is None else rows @ self.Q
            size = np.linalg.norm(inner, axis=1)
            off = np.flatnonzero(size > _VANISHING)
            if len(off) < 2:
                return
            kept, lighter = newton.corners(inner[off] / size[off, None], weights[off] * size[off], clock)
            heavy = lighter > _NOISE * lighter.max(initial=0.0)
            kept, lighter = kept[heavy], lighter[heavy]
            if len(kept) < 2:
                return
            before = self.rank
            self.add(ids[off[kept]], lighter / size[off[kept]])
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
        start = algebra.column(rounded(wanted[order], _MULTIPLIER_BITS), np.array(shifts))
        values = algebra.entries(algebra.null_vectors(A.transpose(), start, c.clock))
        if any(value <= 0 for value, k in zip(values, order.tolist(), strict=True) if not free[k]):
            return None
        return ids[order], [Fraction(v) / Fraction(2) ** s for v, s in zip(values, shifts, strict=True)]

    def direction(self, w: Floats) -> tuple[Any, Any]:
        """Return exact unknowns near scaled weights, and random ones, on which all rows of the face vanish."""
        start = self.constraints.exact_weights(w, _DIRECTION_BITS)
        if start is None:
            return None, None
        both = zip(algebra.entries(start), self._random(), strict=True)
        rows = self._vanishing(fmpz_mat(start.nrows(), 2, [value for pair in both for value in pair])).tolist()
        return algebra.one_column([row[0] for row in rows]), algebra.one_column([row[1] for row in rows])

    def generic(self) -> Any:
        """Return random exact unknowns on which all rows of the face vanish."""
        return self._vanishing(algebra.one_column(self._random()))

    def _random(self) -> list[int]:
        numbers: list[int] = self.constraints.rng.integers(1, 2**10, self.constraints.unknowns).tolist()
        return numbers

    def _vanishing(self, start: Any) -> Any:
        A, _ = self.constraints.rows(self.ids)
        return algebra.null_vectors(A, start, self.constraints.clock)
