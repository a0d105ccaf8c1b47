"""The float oracles: a plane above all open rows within a subspace, or open rows that cancel up to its complement.

Every oracle takes constraints, which inequalities are open (None: all), and an orthonormal basis ``Q`` of a subspace
of the scaled unknowns (None: all of them); it returns a OraclePlane, a Cancel, or None where it cannot tell.
``oracle`` picks:

- least squares, where rows are not more than the unknowns of a class;
- Newton's method by conjugate gradients, for sparse rows of very many columns, and several classes of many unknowns;
- Newton's method on squared slacks of a working set that grows by the lowest rows: nearly everything.

Where that does not end, ``exact_steps`` goes on from the same rows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from linsep.data.arrays import to_floats
from linsep.data.parallel import scipy_linalg
from linsep.learn.evaluation import squared_norms
from linsep.problem import Array, Floats
from linsep.prove.core import newton
from linsep.prove.core.constraints import Constraints
from linsep.prove.core.newton_cg import Inequalities, fits, least_slacks
from linsep.prove.core.scaled_view import lowest
from linsep.prove.core.wide_rows import all_that_cancel, contradiction, scaled_rows

NEWTON_UNKNOWNS = 3000  # beyond that no Hessian is written out
SEVERAL_UNKNOWNS = 100  # of several classes, from which on blocks of single classes are much smaller than the whole
_ENOUGH = 0.3  # score above which all rows are well above a plane: rows have size about 1, the goal is 1
_VANISHING = 1e-9  # slack, in sizes of rows and weights, of a row that is on the plane but for rounding
_CELLS = 1 << 25  # of the rows of a working set, at most
_SETS, _STEPS = 14, 100  # working sets, and Newton's steps on each
_DEEP = 8.0  # a row so far on the wrong side makes a contradiction likely, for which 6 rows per unknown suffice
_FAR_ABOVE = 3.0  # rows of a working set whose score is this many times that of the goal only cost time
_INEQUALITIES = 1 << 25  # of sparse rows of several classes, each with some numbers beside it: more take gigabytes
_SURELY = 0.5  # of a bound on margins that is to be shown: rounding is not in what is computed here
_SHORT_FLOATS = 1 << 22  # cells of dense rows from which on they are floats of 32 bits
_ANY_RANK_CELLS = 1 << 22  # of dependent rows, for which least squares take ten times as long: more go to Newton
_LEAST_SQUARES_CELLS = 1 << 25  # 5,800 rows of as many columns: less than ten times the time of an LU factorization


class OraclePlane(NamedTuple):
    """Weights, in scaled unknowns, that all open rows are above as far as floats tell."""

    w: Floats


class Cancel(NamedTuple):
    """Inequalities that about cancel with positive weights, beyond the complement of the subspace."""

    ids: Array
    weights: Floats  # of the rows as gathered
    rows: Floats | None  # as gathered; None for very many columns
    multipliers: list[Fraction] | None = None  # exact ones, where they are known


def oracle(
    constraints: Constraints, among: Array | None, Q: Floats | None, first: Array | None = None
) -> OraclePlane | Cancel | None:
    """Return what the oracle says that suits the constraints; ``first`` are inequalities to begin with."""
    c = constraints
    k = c.unknowns if Q is None else Q.shape[1]
    whole = Q is None and among is None
    if whole and c.n <= c.block and not c.wide_sparse:
        plane = least_squares(c)
        if plane is not None:
            return plane
    if whole and (c.wide_sparse or (c.classes > 2 and k > SEVERAL_UNKNOWNS)):
        answer = truncated_newton(c)
        if answer is not None:
            return answer
    if k > NEWTON_UNKNOWNS:
        return None
    return working_set_newton(c, among, Q, first)


def few_rows(constraints: Constraints) -> OraclePlane | None:
    """Return a plane for fewer rows than columns, which most often exists."""
    answer = truncated_newton(constraints) if constraints.wide_sparse else least_squares(constraints)
    return answer if isinstance(answer, OraclePlane) else None


def least_squares(constraints: Constraints) -> OraclePlane | None:
    """Ask of few rows that their own class scores 1 and every other 0, which most often is possible."""
    c, data, view = constraints, constraints.data, constraints.view
    if c.n * c.block > _LEAST_SQUARES_CELLS:
        return None
    c.clock.check()
    X, goal = _dense(c), np.eye(c.classes)[data.y]
    for solve in (_by_gram_matrix, np.linalg.lstsq):  # the second takes ten times as long, but for any rank
        try:
            W = solve(X, goal, rcond=None)[0].T
        except np.linalg.LinAlgError:
            continue
        w = (W[1:] - W[0]).ravel()
        if np.isfinite(w).all() and view.sweep(w)[0].min() > 0:
            return OraclePlane(w)
        if X.size > _ANY_RANK_CELLS:
            return None
        c.clock.check()
    return None


def _dense(constraints: Constraints) -> Floats:
    """Return all rows as the view shows them."""
    c, data, view = constraints, constraints.data, constraints.view
    X = to_floats(data.rows, np.arange(c.n), data.n_features) * view.unit - view.center
    return np.column_stack((X, np.full(c.n, view.constant))) if data.offset else X


def _by_gram_matrix(X: Floats, goal: Floats, rcond: None) -> tuple[Floats]:  # noqa: ARG001
    """Return the shortest solution for independent rows, refined once; raises LinAlgError if they depend."""
    linalg = scipy_linalg()
    factor = np.linalg.cholesky(X @ X.T), True
    W = X.T @ linalg.cho_solve(factor, goal, check_finite=False)
    return (W + X.T @ linalg.cho_solve(factor, goal - X @ W, check_finite=False),)


def truncated_newton(constraints: Constraints) -> OraclePlane | Cancel | None:
    """Return what Newton's method by conjugate gradients says of all rows; it is run once."""
    if constraints.of_newton is None:
        constraints.of_newton = (_truncated_newton(constraints),)
    answer: OraclePlane | Cancel | None = constraints.of_newton[0]
    return answer


def _truncated_newton(constraints: Constraints) -> OraclePlane | Cancel | None:
    """Newton's method by conjugate gradients on all rows; of sparse rows, a contradiction among those that pull most.

    Where that finds none, the rows of two classes that about cancel are noted: they bound the margins of all planes.
    """
    c, data, clock = constraints, constraints.data, constraints.clock
    if c.wide_sparse:
        inequalities = c.n * (c.classes if c.classes > 2 else 1)
        if inequalities > _INEQUALITIES:
            return None
        Z, sizes = scaled_rows(c.view)
    elif fits(c.n, c.classes, c.block):
        clock.check()
        Z = _dense(c)
        sizes = _sizes(Z)
        Z = (Z / sizes[:, None]).astype(np.float32 if Z.size > _SHORT_FLOATS else np.float64)
    else:
        return None
    if not np.isfinite(Z.data).all():
        return None
    rows = Inequalities(Z, data.y, c.classes)
    enough = partial(_no_margin, c, sizes) if c.wide_sparse and c.no_margin else None
    v, h = least_slacks(rows, clock, patient=c.classes == 2, enough=enough)
    W = v.reshape(-1, c.block)
    w = (W if c.classes == 2 else W[1:] - W[0]).ravel()
    if h.min() > 0 and c.view.sweep(w)[0].min() > 0:
        return OraclePlane(w)
    below = np.flatnonzero(h < 1)
    ids, slack = rows.ids[below], 1 - h[below]
    if w.any():
        c.best = w, ids, slack
    if c.classes > 2:
        return None
    c.cancel = ids, slack / sizes[below]
    some = contradiction(c.view, ids, slack, clock)
    if some is not None:
        return Cancel(*some, None)
    exact = None if c.no_margin else all_that_cancel(c.view, *c.cancel, clock)
    if exact is None:
        return None
    ids, multipliers = exact
    top = max(multipliers)
    return Cancel(ids, np.array([float(value / top) for value in multipliers]), None, multipliers)


def _no_margin(constraints: Constraints, sizes: Floats, pull: Floats, slack: Floats) -> bool:
    """Say whether slacks, and the sum ``pull`` of the scaled rows that they weigh, bound all margins well enough."""
    c, view = constraints, constraints.view
    d = c.data.n_features
    raw = np.append(pull[:d] / view.unit, pull[d:] / view.constant if c.data.offset else 0.0)
    radius = math.sqrt(float(squared_norms(c.data.rows).max()) + c.data.offset)
    return float(np.linalg.norm(raw)) < _SURELY * c.no_margin * radius * float((slack / sizes).sum())


def working_set_newton(
    constraints: Constraints, among: Array | None, Q: Floats | None, first: Array | None
) -> OraclePlane | Cancel | None:
    """Minimize squared slacks on a working set that grows by the lowest of all rows."""
    c, clock = constraints, constraints.clock

    def rows(ids: Array) -> Floats:
        """Return rows in the coordinates of Q, of size 1 there."""
        Z = c.gather(ids)
        if Q is not None:
            Z = Z @ Q
            Z /= _sizes(Z)[:, None]
        return Z

    k = c.unknowns if Q is None else Q.shape[1]
    most = min(max(2000, 35 * k, c.n // 250), max(100, _CELLS // max(1, c.unknowns)))
    if first is not None and among is not None:
        first = first[among[first]]
    if first is None or not len(first) or c.n * max(1, c.classes - 1) <= most:
        ids = c.sample(most, among)
    else:  # of so many rows those asked for tell most
        few = min(most, 6 * k)
        ids = np.union1d(first[:few], c.sample(max(few - len(first), k), among))
    Z, w = rows(ids), np.zeros(k)
    if not np.isfinite(Z).all():
        return None
    for _ in range(_SETS):
        clock.check()
        fitted = newton.fit(Z, w, enough=_ENOUGH, steps=_STEPS, clock=clock)
        w, slack = fitted.w, np.maximum(1 - fitted.scores, 0)
        below = np.flatnonzero(slack > 1e-7 * slack.max(initial=0.0))  # others are met but for rounding
        if Q is None and len(below) and w.any():
            c.best = w, ids[below], slack[below]
        if fitted.scores.min() <= 0:
            if not fitted.ended:
                return None
            if Q is None:
                return Cancel(ids[below], slack[below], Z[below])
            gathered = c.gather(ids[below])
            return Cancel(ids[below], slack[below] / _sizes(gathered @ Q), gathered)
        full = w if Q is None else Q @ w
        low, rivals = c.lowest_slacks(full, among)
        least = float(low.min())
        if least > (0 if Q is None else _VANISHING * np.linalg.norm(full)):
            return OraclePlane(full)
        if not (np.isfinite(full).all() and np.isfinite(least)):
            return None
        worst = lowest(low, most if least > -_DEEP else 6 * k, 1.0)
        new = np.setdiff1d(worst * c.classes + rivals[worst], ids, assume_unique=True)
        if len(new) == 0:
            return None
        keep = Z @ w < max(_FAR_ABOVE, -0.5 * least)
        ids, Z = np.concatenate((ids[keep], new)), np.vstack((Z[keep], rows(new)))
    return None


def _sizes(Z: Floats) -> Floats:
    """Return the norms of rows; 1 for a row of zeros."""
    size = np.linalg.norm(Z, axis=1)
    return np.asarray(np.where(size == 0, 1.0, size))
