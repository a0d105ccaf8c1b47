"""Searches for planes and contradictions in floats, with growing working sets."""

from __future__ import annotations

import numpy as np

from linsep.clock import Clock
from linsep.data.conversions import to_floats
from linsep.problem import Array, Dense
from linsep.prove.verdicts import newton
from linsep.prove.verdicts.case import Best, Case, Contradiction, Plane
from linsep.prove.verdicts.nearest_point import Nearest, nearest_plane
from linsep.prove.verdicts.scaled import ScaledView, lowest
from linsep.prove.verdicts.sparse_search import Descent, contradiction

# rows of a working set whose height is this many times that of the support only cost time
_FAR_ABOVE = 3.0

DESCENT_PASSES = 10


def by_descent(case: Case, clock: Clock) -> Plane | None:
    """Try some passes of coordinate descent on sparse rows, which they cost little."""
    if isinstance(case.data.rows, Dense) or case.data.classes > 2:
        return None
    descent = Descent(case.view, case.rng)
    return Plane(descent.weights()) if descent.go_on(DESCENT_PASSES, clock) else None


ROWS_TO_CONTRADICT = (20, 50, 100, 200, 400, 800, 800, 800)  # that pull most, after ten more passes each time


def by_long_descent(case: Case, clock: Clock) -> Plane | Contradiction | None:
    """Go on with coordinate descent, and look for a contradiction among the rows that pull most."""
    descent = Descent(case.view, case.rng)
    for most in ROWS_TO_CONTRADICT:
        if descent.go_on(10, clock):
            return Plane(descent.weights())
        found = contradiction(descent, most, clock)
        if found is not None:
            return Contradiction(*found)
    return None


LEAST_SQUARES_CELLS = 4_000_000


def by_least_squares(case: Case, clock: Clock) -> Plane | None:
    """Ask of few rows of several classes that their own class scores 1 and every other 0, by least squares."""
    data = case.data
    n, d = len(data.y), data.n_features
    if data.classes == 2 or n > d + data.offset or n * (d + 1) > LEAST_SQUARES_CELLS:
        return None
    clock.check(1e-9 * n * n * d)
    X = to_floats(data.rows, np.arange(n), d) * case.view.unit - case.view.center
    X = np.column_stack((X, np.full(n, case.view.constant))) if data.offset else X
    goal = np.zeros((n, data.classes))
    goal[np.arange(n), data.y] = 1.0
    W = np.linalg.lstsq(X, goal, rcond=None)[0].T
    w = (W[1:] - W[0]).ravel()
    return Plane(w) if np.isfinite(w).all() and case.view.sweep(w)[0].min() > 0 else None


NEWTON_UNKNOWNS = 3000  # at most
NEWTON_ROWS_AT_LEAST = 2000  # that it begins with
NEWTON_ROWS = 35  # times the unknowns
NEWTON_FIRST_ROWS = 10  # times the unknowns, for the steps far from the goal
NEWTON_SETS = 12  # working sets
NEWTON_STEPS = 100  # on each
ENOUGH = 0.3  # height above which all rows are well above a plane
DEEP = 8.0  # a row so far on the wrong side makes a contradiction likely, for which
ROWS_FOR_CONTRADICTION = 6  # times the unknowns suffice
MAY_COME_DOWN = 0.5  # times the deepest row: rows that high may come down when the plane turns to meet it


def by_newton(case: Case, clock: Clock) -> Plane | Contradiction | None:
    """Minimize squared slacks on a working set: surest where there are many more rows than columns."""
    view, C, dimension = case.view, case.data.classes, case.view.dimension
    n = len(case.data.y)
    most = min(max(NEWTON_ROWS_AT_LEAST, NEWTON_ROWS * dimension, n // 250), case.room())
    if n * (C - 1) <= 4 * dimension + 8 or dimension > NEWTON_UNKNOWNS:
        return None
    few = len(case.preferred) > 0 and n * (C - 1) > most  # of so many rows those with mistakes tell most
    pairs = case.sample(min(most, ROWS_FOR_CONTRADICTION * dimension) if few else most)
    clock.check(2e-9 * len(pairs) * dimension)
    Z, w = view.gather(pairs), np.zeros(dimension)
    first = NEWTON_FIRST_ROWS * dimension
    if first < len(pairs) // 2:
        some = case.rng.permutation(len(pairs))[:first]
        w = newton.fit(Z[some], w, enough=ENOUGH, steps=3, clock=clock).w
    for _ in range(NEWTON_SETS):
        found = newton.fit(Z, w, enough=ENOUGH, steps=NEWTON_STEPS, clock=clock)
        w, slack = found.w, np.maximum(1 - found.heights, 0)
        below = np.flatnonzero(slack)
        if w.any() and len(below):
            case.best = Best(w, pairs[below], slack[below])
        if found.heights.min() <= 0:
            case.working = pairs[np.sort(np.argsort(found.heights)[: 4 * dimension + 8])]
            if not found.ended:
                return None
            kept, multipliers = newton.corners(Z[below], slack[below], clock)
            return Contradiction(pairs[below[kept]], multipliers)
        clock.check()
        scores, rivals = view.sweep(w)
        if scores.min() > 0:
            return Plane(w)
        # of rows about as long as those in the set
        low = lowest(scores, most if scores.min() > -DEEP else ROWS_FOR_CONTRADICTION * dimension, 1.0)
        new = np.setdiff1d(low * C + rivals[low], pairs, assume_unique=True)
        if len(new) == 0 or not np.isfinite(scores).all():
            return None
        keep = found.heights < max(_FAR_ABOVE, -MAY_COME_DOWN * float(scores.min()))
        pairs, Z = np.concatenate((pairs[keep], new)), np.vstack((Z[keep], view.gather(new)))
    return None


FIRST_SHARE = 32  # the first working set is found on this share of the rows
PASSES = 60  # over all rows


def by_nearest_point(case: Case, clock: Clock) -> Plane | Contradiction | None:
    """Find the nearest point of the hull of a growing working set; first on a sample of the rows."""
    n, pairs = len(case.data.y), case.working
    near: Nearest | None = None
    few = max(n // FIRST_SHARE, 100 * case.view.dimension)
    if few < n // 2:
        which = np.sort(case.rng.choice(n, few, replace=False))
        pairs, near, _ = _chase(case, case.view.part(which), which, pairs, near, clock)
    pairs, near, met = _chase(case, case.view, np.arange(n), pairs, near, clock)
    case.working = pairs
    if not near.w.any() or not near.lowest > 0:
        return Contradiction(pairs[near.support], near.weights[near.support])
    return Plane(near.w) if met else None


def _chase(
    case: Case, view: ScaledView, which: Array, pairs: Array, near: Nearest | None, clock: Clock
) -> tuple[Array, Nearest, bool]:
    """Let the working set grow by the lowest rows of ``view`` until all are met, or no plane meets the set.

    ``which`` are the numbers of those rows among all. Returns the working set, its nearest point, and whether its
    plane met all rows.
    """
    C = case.data.classes
    Z = case.view.gather(pairs)
    if near is None:
        near = nearest_plane(Z, None, clock)
    for turn in range(PASSES):
        if not near.w.any() or not near.lowest > 0:
            return pairs, near, False
        case.working = pairs
        case.best = Best(near.w, pairs[near.support], near.weights[near.support])
        scores, rivals = view.sweep(near.w)
        if scores.min() > 0:
            return pairs, near, True
        low = lowest(scores, min(2 * view.dimension + 8, case.room()), ENOUGH / float(np.linalg.norm(near.w)))
        new = np.setdiff1d(which[low] * C + rivals[low], pairs)
        if len(new) == 0 or not np.isfinite(scores).all():
            return pairs, near, False
        keep, start = np.ones(len(pairs), dtype=bool), near.weights
        if turn < PASSES // 3:  # later rows far above the plane stay, lest they come and go
            keep = (start > 0) | (Z @ near.w < _FAR_ABOVE)
        pairs, Z = np.concatenate((pairs[keep], new)), np.vstack((Z[keep], case.view.gather(new)))
        near = nearest_plane(Z, start[keep], clock)
    return pairs, near, False
