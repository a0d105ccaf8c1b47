"""Finds a plane for a working set of rows, or a contradiction among them, by Newton's method.

Problem: minimize ``Σ max(0, 1 - z_i·w)²`` over ``w``. If some plane has all rows strictly above it, the least value is
0 and every row ends at a score of 1 at least; if not, then at the minimum ``Σ s_i z_i = 0`` where ``s_i >= 0`` are the
slacks, so that the rows below 1 contradict each other. The function is a quadratic one between changes of the set of
rows below 1, each step goes to the minimum along the way to that of the present quadratic, and few are needed.

After Mangasarian (2002), *A finite Newton method for classification*, Optimization Methods and Software 17, and
Keerthi & DeCoste (2005), *A modified finite Newton method for fast solution of large scale linear SVMs*, Journal of
Machine Learning Research 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.compiling import compiled
from linsep.data.parallel import scipy_linalg
from linsep.problem import Array, Floats
from linsep.prove.linear_algebra.exact_solve import ROOM

_RIDGE = 1e-12  # of the mean square of the rows below 1: keeps the weights finite where few rows are
PRODUCT = 1 / 18  # operations of normal equations for every row, column, and column again: BLAS does many at once
_ELIMINATION = 0.4  # and of elimination, for every column three times
_PIECE, _PRODUCTS = 5_000_000, 10_000_000_000  # of these, and products, between two looks at the clock
_SINGULAR = 1e-11  # pivots this much below the largest count as zero
_FAR_OFF, _OFF = 1e-2, 1e-9  # what is left of a row of size about 1 that is well outside the span of others, or at all
_BLOCK, _BLOCK_CELLS = 512, 1 << 20  # rows looked at together, at least: few columns take as much time for more
_NO_PART = 1e-9  # of a row of the basis in another: with rounding for a pivot, rows of the basis came to depend
_SHORT, _FIRST_DAMPING = 0.1, 1e-8  # steps after which the next are damped, and by how much of the mean square
_FREE_STEPS = 40  # without damping: most often they suffice
_SAME = 1e-6  # steps this near to 1 are whole steps
_ROUNDING = 1e-14  # steps this short lead nowhere
_STILL = 1e-9  # changes so much smaller than the weights are none


class Fit(NamedTuple):
    """Weights, the scores of all rows, and whether they are at the minimum or above 0 by so much as was asked."""

    w: Floats  # (d,)
    scores: Floats  # (m,)
    ended: bool


def fit(Z: Floats, w: Floats, *, enough: float, steps: int, clock: Clock) -> Fit:
    """Go from ``w`` toward the minimum until all rows are above ``enough``, it is reached, or no steps are left."""
    scores, damping = Z @ w, 0.0
    below = np.flatnonzero(scores < 1)
    for number in range(steps):
        if scores.min() > enough:
            return Fit(w, scores, True)
        clock.count(PRODUCT * len(below) * Z.shape[1] ** 2)
        A = Z if len(below) == len(Z) else Z[below]
        H = _gram(A, clock)
        size = float(np.trace(H)) / max(1, len(H))
        ridge = 0.0 if damping else _RIDGE * size
        H.flat[:: len(H) + 1] += ridge + damping * size
        change = (1 - scores[below]) @ A if damping else A.sum(axis=0)
        try:
            _substitute(np.linalg.cholesky(H), change)
        except np.linalg.LinAlgError:  # not positive definite
            if damping > _SHORT:
                return Fit(w, scores, False)
            damping = max(100 * damping, _FIRST_DAMPING)
            continue
        if not damping:
            change = change - w
        if damping <= _FIRST_DAMPING and np.abs(change).max() <= _STILL * np.abs(w).max():
            return Fit(w, scores, True)
        rise = Z @ change
        step = best_step(scores, rise, ridge * float(w @ change), ridge * float(change @ change))
        if not 0 < step < np.inf:
            return Fit(w, scores, False)
        if step < _ROUNDING:  # no way down is left but for rounding
            return Fit(w, scores, True)
        w = w + step * change
        scores += step * rise
        before, below = below, np.flatnonzero(scores < 1)
        if abs(step - 1) < _SAME and damping <= _FIRST_DAMPING and np.array_equal(before, below):
            return Fit(w, scores, True)
        # after short steps the quadratic is trusted near by only (Levenberg 1944), after long ones farther away again
        if step < _SHORT and number >= _FREE_STEPS:
            damping = max(10 * damping, _FIRST_DAMPING)
        elif step > 0.5 and damping:
            damping = damping / 10 if damping > _FIRST_DAMPING else 0.0
    return Fit(w, scores, False)


def _gram(A: Floats, clock: Clock) -> Floats:
    """Return ``A.T @ A``, in pieces between which the clock is asked."""
    piece = 1 + _PRODUCTS // (1 + A.shape[1] ** 2)
    H: Floats = A[:piece].T @ A[:piece]
    for start in range(piece, len(A), piece):
        clock.check()
        H += A[start : start + piece].T @ A[start : start + piece]
    return H


def corners(Z: Floats, weights: Floats, clock: Clock) -> tuple[Array, Floats]:
    """Return as few of some rows that cancel as still do, and their weights, given positive weights of all.

    Carathéodory's theorem as an algorithm: rows beyond a basis are taken out one by one, the weights of the basis
    making up for them; where one of these would become negative, the row goes into the basis in its place.
    """
    d = Z.shape[1]
    clock.count(_ELIMINATION * d**3)
    basis, Y, inverse = _basis(Z, weights, clock)
    others = np.setdiff1d(np.arange(len(Z)), basis)
    if len(basis) == 0 or len(others) == 0:
        return np.empty(0, np.intp), np.empty(0)
    others = others[np.argsort(weights[others], kind="stable")]
    weights = weights.copy()
    piece, part = max(1, _PIECE // d**2), np.empty(len(basis))
    for start in range(0, len(others) - 1, piece):
        clock.count(d**2 * min(piece, len(others) - start))
        _take_out(Y, weights, basis, others[start : min(start + piece, len(others) - 1)], inverse, part)
    kept = np.append(basis, others[-1])
    kept = np.sort(kept[weights[kept] > 0])
    return kept, weights[kept]


def _basis(Z: Floats, weights: Floats, clock: Clock) -> tuple[Array, Floats, Floats]:
    """Return heavy rows that span all, all rows in as many coordinates, and the inverse of those of the basis."""
    lapack = scipy_linalg().lapack
    d = Z.shape[1]
    heavy = np.argsort(-weights, kind="stable")[: 2 * d + 8]
    A = Z[heavy] * weights[heavy, None]
    if len(heavy) >= d:
        lu, swaps, _ = lapack.dgetrf(A)
        size = np.abs(np.diag(lu))
        if size.min() > _SINGULAR * size.max():
            order = np.arange(len(heavy))
            for k, other in enumerate(swaps.tolist()):
                order[[k, other]] = order[[other, k]]
            basis = heavy[order[:d]]
            clock.check()
            inverse = lapack.dgetri(lu[:d], np.arange(d), lwork=ROOM * d)[0]
            return basis, Z, np.ascontiguousarray(inverse * weights[basis])
    basis, Q = spanning(Z, np.argsort(-weights, kind="stable"), clock)
    Y = Z @ Q
    try:
        return basis, Y, np.asarray(np.linalg.inv(Y[basis]), np.float64)
    except np.linalg.LinAlgError:  # rows that depend on each other but for rounding
        return basis[:0], Y, Y[:0]


def spanning(Z: Floats, order: Array, clock: Clock) -> tuple[Array, Floats]:
    """Return rows of size about 1 that span all, the first in ``order``, and an orthonormal basis of their span.

    Those that are far from the span of the ones before come first, so that they are not nearly dependent.
    """
    basis, Q, size = np.empty(0, np.intp), np.empty((Z.shape[1], 0)), max(_BLOCK, _BLOCK_CELLS // max(1, Z.shape[1]))
    for least in (_FAR_OFF, _OFF):
        for start in range(0, len(order) if Z.shape[1] else 0, size):
            some = order[start : start + size]
            clock.count(4 * _ELIMINATION * len(some) * Z.shape[1] * (Q.shape[1] + 1))
            off = _beyond(Z[some], Q)
            far = np.flatnonzero(np.linalg.norm(off, axis=1) > least)
            if len(far):
                P, R, first = scipy_linalg().qr(off[far].T, mode="economic", pivoting=True, check_finite=False)
                rank = int(np.count_nonzero(np.abs(np.diag(R)) > least))
                basis = np.concatenate((basis, some[far[first[:rank]]]))
                Q = np.hstack((Q, scipy_linalg().qr(_beyond(P[:, :rank].T, Q).T, mode="economic")[0]))
            if Q.shape[1] == Z.shape[1]:
                return basis, Q
    return basis, Q


def _beyond(rows: Floats, Q: Floats) -> Floats:
    """Return what is left of rows beyond the span of orthonormal columns: projected twice, for the sake of rounding."""
    for _ in range(2 if Q.shape[1] else 0):
        rows = rows - (rows @ Q) @ Q.T
    return rows


@compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _substitute(L, x):
    """Solve ``L Lᵀ x = g`` in the place of ``g``; L is lower triangular (NumPy cannot, SciPy takes long to load)."""
    for i in range(x.size):
        total = x[i]
        for k in range(i):
            total -= L[i, k] * x[k]
        x[i] = total / L[i, i]
    for i in range(x.size - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]


@compiled(error_model="numpy")
def best_step(scores, rise, slope, curvature):
    """Return where ``½ Σ max(0, 1 - h - t r)² + slope t + ½ curvature t²`` is least over t > 0.

    Its derivative rises, in straight pieces: Newton's method, with bisection where that leaves what is known.
    """
    t, low, high = 1.0, 0.0, np.inf
    for _ in range(100):
        first, second = slope + curvature * t, curvature
        for i in range(scores.size):
            slack = 1.0 - scores[i] - t * rise[i]
            if slack > 0.0:
                first -= rise[i] * slack
                second += rise[i] * rise[i]
        if first > 0.0:
            high = t
        else:
            low = t
        following = t - first / second
        if not low < following < high:
            if abs(following - t) <= 1e-12 * t:
                return t
            following = 0.5 * (low + high) if high < np.inf else 2.0 * t
        if abs(following - t) <= 1e-12 * t:
            return following
        t = following
    return t


@compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _take_out(Y, weights, basis, others, inverse, part):
    """Bring the weights of ``others`` to 0 with the sum kept, exchanging rows of the basis where necessary.

    ``part`` is room: row k is ``part @ Y[basis]``. Loops compile in a third of the time that products of arrays take.
    """
    rank = basis.size
    for k in others:
        y, odd = Y[k], rank % 4
        for b in range(rank):
            part[b] = 0.0
            for i in range(odd):
                part[b] += y[i] * inverse[i, b]
        for i in range(odd, rank, 4):  # four rows at a time: the sums are read and written less often
            for b in range(rank):
                part[b] += (y[i] * inverse[i, b] + y[i + 1] * inverse[i + 1, b]) + (
                    y[i + 2] * inverse[i + 2, b] + y[i + 3] * inverse[i + 3, b]
                )
        reach, out = weights[k], -1
        for b in range(rank):
            if part[b] < -_NO_PART and weights[basis[b]] < -part[b] * reach:
                reach, out = weights[basis[b]] / -part[b], b
        for b in range(rank):
            weights[basis[b]] = max(weights[basis[b]] + reach * part[b], 0.0)
        weights[k] -= reach
        if out < 0:
            weights[k] = 0.0
            continue
        weights[basis[out]] = 0.0
        basis[out] = k
        pivot = part[out]
        part[out] -= 1.0
        for i in range(rank):
            factor = inverse[i, out] / pivot
            for b in range(rank):
                inverse[i, b] -= factor * part[b]
