"""Finds the point of a convex hull nearest to the origin: Wolfe's algorithm with an updated QR.

Problem: minimize ``‖Σ λ_i z_i‖`` over ``λ >= 0, Σ λ_i = 1``, where ``z_i`` are the rows of ``Z``. With two groups of
rows the weights of each group sum to one half: the shortest line between two hulls when ``z_i = ±x_i``.

A *corral* is a set of affinely independent rows whose affine minimum has all weights positive. The outer loop adds the
row that lies farthest below the plane through the point; the inner loop goes back to a corral by dropping rows. With
``A`` the columns ``(c e_g, z)`` of the corral's rows, ``g`` the group and ``c`` near the size of a row, affine
independence is linear independence of ``A = Q R``; a row comes in by Gram-Schmidt, twice, and goes out by rotations.

After Wolfe (1976), *Finding the nearest point in a polytope*, Mathematical Programming 11; the factorization after
Daniel, Gragg, Kaufman & Stewart (1976), Mathematics of Computation 30.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.compiling import compiled
from linsep.data.parallel import hush
from linsep.problem import Array, Floats

_ANY_PLANE = 0.7  # tolerance with which a plane that all rows are above by a good deal will do
_ROUND = 0.3  # operations of a round for every number in the rows
_EPS = 2.0**-52
_STALLS = 30  # additions in a row that may fail to shorten the point before rounding is taken to be the reason
_GOOD = 1e-9  # largest residual of a normal that needs no refinement before the last


class Nearest(NamedTuple):
    """The point of a hull nearest to the origin, and the plane through it.

    ``Z @ w + b * sign`` is 1 on the support and, if no row was found below the plane, at least ``lowest`` everywhere;
    ``sign`` is +1 in the first group and -1 in the second. ``w`` is zero when the origin lies in the hull as far as
    double precision can tell; the support rows are affinely independent in either case.
    """

    weights: Floats  # (m,) not negative, of sum 1
    point: Floats  # (d,) weights @ Z
    support: Array  # (k,) rows of positive weight, in order
    w: Floats  # (d,) the point divided by its squared norm, refined
    b: float  # 0 unless there are two groups
    lowest: float  # smallest Z @ w + b * sign; -inf with w = 0


def nearest_point(
    Z: Floats,
    group: Array | None = None,
    *,
    start: Floats | None = None,
    tol: float = 1e-12,
    max_iter: int | None = None,
    clock: Clock | None = None,
) -> Nearest:
    """Find the point of the hull of some rows that is nearest to the origin.

    Parameters
    ----------
    Z : ndarray of shape (m, d)
        Rows, all finite; the largest value not subnormal, as the plane could not be expressed.
    group : ndarray of shape (m,), optional
        0 or 1 for every row, both present: the weights of each group then sum to one half.
    start : ndarray of shape (at most m,), optional
        Weights to start from, those of an earlier call to which rows have since been appended.
    tol : float, default=1e-12
        Stop when every row has ``z·w >= 1 - tol``, up to rounding. A large value such as 0.7 stops at any plane that
        has all rows on its positive side.
    max_iter : int, optional
        Largest number of rows to add; by default a generous multiple of what is ever needed.
    clock : Clock, optional
        Asked after every row.

    Returns
    -------
    nearest : Nearest

    Examples
    --------
    >>> import numpy as np
    >>> from linsep.prove.core.nearest_point import nearest_point
    >>> nearest = nearest_point(np.array([[2.0, 0.0], [0.0, 2.0], [3.0, 3.0]]))
    >>> nearest.point, nearest.support
    (array([1., 1.]), array([0, 1]))
    """
    m, d = Z.shape
    largest = max(-float(Z.min(initial=0.0)), float(Z.max(initial=0.0)))
    exponent = math.frexp(largest)[1]
    scaled = abs(exponent) > 200  # squares would overflow or underflow
    Z = np.ldexp(Z, -exponent) if scaled else np.ascontiguousarray(Z, dtype=np.float64)
    squares = np.einsum("ij,ij->i", Z, Z)
    sign = np.ones(m) if group is None else np.where(group == 0, 1.0, -1.0)
    p = 1 if group is None else 2
    c = math.sqrt(float(squares.mean())) or 1.0

    rows = np.flatnonzero(start) if start is not None else np.empty(0, np.intp)
    if len(rows) == 0 or len(rows) > d + p or (p == 2 and abs(sign[rows].sum()) == len(rows)):
        rows, weights = _first_rows(Z, squares, sign, p)
    else:
        assert start is not None
        weights = start[rows].astype(np.float64)
    rounds = 1 + (20 * (min(m, d + p) + 50) if max_iter is None else max_iter)
    with np.errstate(all="ignore"):
        search = _Search(Z, sign, np.sqrt(squares), p, c)
        for row, weight in zip(rows.tolist(), weights.tolist(), strict=True):
            search.insert(row, weight)
        hush()
        search.begin()
        for _ in range(rounds):
            if search.round(tol):
                break
            if clock is not None:
                clock.count(_ROUND * Z.size)
        weights, w = np.zeros(m), search.w
        weights[search.rows[: search.k]] = search.weights[: search.k]
        point = weights @ Z
        if scaled:  # weights of a margin below all floats overflow
            point, w = np.ldexp(point, exponent), np.ldexp(w, -exponent)
    return Nearest(weights, point, np.flatnonzero(weights), w, search.b, search.lowest)


def nearest_plane(Z: Floats, start: Floats | None, clock: Clock) -> Nearest:
    """Find any plane that has all rows on its positive side."""
    return nearest_point(Z, start=start, tol=_ANY_PLANE, clock=clock)


def _first_rows(Z: Floats, squares: Floats, sign: Floats, p: int) -> tuple[Array, Floats]:
    """Return the rows to start from: the shortest one, or one of each group that lie close together."""
    if p == 1:
        return np.array([squares.argmin()]), np.ones(1)
    first, second = np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)
    middle = Z[second].mean(axis=0)
    i = first[(squares[first] + 2 * (Z[first] @ middle)).argmin()]  # ‖z_i + middle‖² up to a constant
    j = second[(squares[second] + 2 * (Z[second] @ Z[i])).argmin()]
    return np.array([i, j]), np.array([0.5, 0.5])


# ---------------------------------------------------------------------------------------------------------------
# The search


class _Search:
    """A search for the corral that holds the nearest point: its rows, ``A = Q R``, and the plane through its point."""

    def __init__(self, Z: Floats, sign: Floats, norms: Floats, p: int, c: float) -> None:
        (m, d), self.Z, self.sign, self.norms, self.p, self.c = Z.shape, Z, sign, norms, p, c
        self.most, self.k = min(m, d + p), 0  # rows of a corral: at most, and now
        self.rows, self.weights, self.groups = np.empty(self.most, np.intp), np.empty(self.most), np.empty(self.most)
        self.Q, self.R = np.zeros((p + d, self.most), order="F"), np.zeros((self.most, self.most), order="F")
        self.T = np.zeros((p + 1, self.most))  # room for vectors, the last of them residuals
        self.barred = np.zeros(m, dtype=bool)  # rows that could not be added to the present corral
        self.w, self.b, self.lowest = np.zeros(d), 0.0, 0.0  # the plane, and the lowest row
        self.shortest, self.stalls = math.inf, 0  # the shortest point, and rounds without a shorter one

    def insert(self, row: int, weight: float) -> bool:
        """Add a row to the corral, unless it depends on those that are there."""
        k, group = self.k, 0 if self.p == 1 or self.sign[row] > 0 else 1
        if k == self.most or not _insert(self.Q, self.R, k, self.Z[row], self.p, group, self.c):
            return False
        self.rows[k], self.weights[k], self.groups[k] = row, weight, self.sign[row]
        self.k = k + 1
        return True

    def begin(self) -> None:
        """Bring the weights of every group to one sum, and take the plane through the point."""
        weights, groups = self.weights[: self.k], self.groups[: self.k]
        for s in (1.0, -1.0)[: self.p]:
            weights[groups == s] /= self.p * weights[groups == s].sum()
        x = self._point()
        self.w = x / (x @ x)

    def round(self, tol: float) -> bool:
        """Go on to a corral, and add the lowest row to it; return whether the search has ended."""
        residual = self._to_corral()
        good = residual < _GOOD  # enough to choose the next row; such a normal is refined at the end only
        added: bool | None = None
        for turn in range(2):
            if turn > 0 or not good:
                residual = self._refine()
            if not residual < 0.5:  # the plane cannot be told from one through the origin
                self.w, self.b, self.lowest = np.zeros_like(self.w), 0.0, -math.inf
                return True
            size = math.sqrt(self.w @ self.w)
            if turn == 0:
                self.stalls += 1
                if 1.0 / size < self.shortest:
                    self.shortest, self.stalls = 1.0 / size, 0
                    self.barred[:] = False
            added = self._add_lowest(tol + residual, 4 * _EPS * size)
            if added is not None or not good:
                break
        return not added or self.stalls > _STALLS

    def _add_lowest(self, slack: float, raised: float) -> bool | None:
        """Add the lowest row below the plane that is independent; say whether there is one, None if none is below.

        Heights are raised by what rounding may have taken off.
        """
        scores, added = self.Z @ self.w, None
        while not added:
            row, self.lowest = _lowest(scores, self.sign, self.norms, self.barred, self.b, slack, raised)
            if row < 0:
                return added
            self.barred[row] = True
            added = self.insert(row, 0.0)
        return added

    def _to_corral(self) -> float:
        """Walk to the lowest point of the affine hull; where a weight reaches zero first, drop that row, turn anew.

        Returns the largest residual.
        """
        settled = False
        while True:
            self.b, residual = self._leveled(self.w)
            if settled or not residual < math.inf:
                return residual
            out = self._advanced(self.w, bounded=True)
            settled = out == self.k or self.k <= self.p
            if not settled:
                _remove(self.Q, self.R, self.k, out)
                self.k -= 1
                for each in (self.rows, self.weights, self.groups):
                    each[out : self.k] = each[out + 1 : self.k + 1]

    def _refine(self) -> float:
        """Find the plane through the point of the corral as well as floats can; return the largest residual."""
        best, trial = math.inf, self._point()
        trial /= trial @ trial
        self.b = 0.0
        for _ in range(6):
            b, worst = self._leveled(trial)
            if not worst < best:
                break
            self.w, self.b = trial.copy(), b
            enough, best = worst > 0.25 * best or worst < 1e-13, worst
            if enough:
                break
            self._advanced(trial, bounded=False)
        return best

    def _leveled(self, w: Floats) -> tuple[float, float]:
        level: tuple[float, float] = _level(self.Z, self.rows[: self.k], self.weights, self.groups, self.T, w)
        return level

    def _advanced(self, w: Floats, *, bounded: bool) -> int:
        out: int = _advance(self.Q, self.R, self.weights[: self.k], self.groups, self.T, w, bounded)
        return out

    def _point(self) -> Floats:
        """Return ``Σ λ z`` in about twice the working precision.

        Near the origin the sum cancels, and a plain one would leave an error of a rounding of the rows, which lies
        outside their span where no correction can reach it. Error-free products after Dekker (1971), sums after Knuth.
        """
        Z, weights = self.Z[self.rows[: self.k]], self.weights[: self.k, None]
        high = weights * Z
        (a, b), (c, d) = _split(weights), _split(Z)
        low = ((a * c - high) + a * d + b * c) + b * d
        while len(high) > 1:  # in pairs
            half = len(high) // 2
            one, other, odd = high[:half], high[half : 2 * half], slice(2 * half, None)
            total = one + other
            part = total - one
            lost = (one - (total - part)) + (other - part)
            low = np.concatenate((low[:half] + low[half : 2 * half] + lost, low[odd]))
            high = np.concatenate((total, high[odd]))
        return np.asarray(high[0] + low[0])


def _split(values: Floats) -> tuple[Floats, Floats]:
    """Return the upper and the lower half of the digits."""
    upper = 134217729.0 * values  # 2**27 + 1
    upper = upper - (upper - values)
    return upper, values - upper


# ---------------------------------------------------------------------------------------------------------------
# Compiled loops, into arrays that are there: thousands of turns with few rows each


_compiled = compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@_compiled
def _insert(Q, R, k, z, p, group, c):
    """Append the column ``(c e_g, z)`` to the factorization of k, unless it depends on them: Gram-Schmidt, twice."""
    q, before, rest = Q[:, k], 0.0, c * c
    for j in range(p):
        q[j] = 0.0
    q[group] = c
    for j in range(z.size):
        q[p + j] = z[j]
        rest += z[j] * z[j]
    size = rest = math.sqrt(rest)
    for i in range(k + 1):
        R[i, k] = 0.0
        R[k, i] = 0.0
    for _ in range(2):
        before = rest
        for i in range(k):
            along = 0.0
            for j in range(q.size):
                along += Q[j, i] * q[j]
            R[i, k] += along
            for j in range(q.size):
                q[j] -= along * Q[j, i]
        rest = 0.0
        for j in range(q.size):
            rest += q[j] * q[j]
        rest = math.sqrt(rest)
    if not (rest > 4 * _EPS * size and rest > 0.5 * before):  # what is left is rounding
        return False
    R[k, k] = rest
    for j in range(q.size):
        q[j] /= rest
    return True


@_compiled
def _remove(Q, R, k, out):
    """Drop column ``out`` of k: close the gap in R, and rotate it back to a triangle."""
    for j in range(out, k - 1):
        for i in range(j + 2):
            R[i, j] = R[i, j + 1]
    for j in range(out, k - 1):
        r = math.hypot(R[j, j], R[j + 1, j])
        cosine, sine = R[j, j] / r, R[j + 1, j] / r
        for i in range(j, k - 1):
            upper, lower = R[j, i], R[j + 1, i]
            R[j, i] = cosine * upper + sine * lower
            R[j + 1, i] = cosine * lower - sine * upper
        for i in range(Q.shape[0]):
            upper, lower = Q[i, j], Q[i, j + 1]
            Q[i, j] = cosine * upper + sine * lower
            Q[i, j + 1] = cosine * lower - sine * upper


@_compiled
def _lowest(scores, sign, norms, barred, b, slack, raised):
    """Return the lowest row below 1 that is not barred, -1 if there is none, and the score of the lowest of all."""
    row, value, lowest = -1, 1.0, np.inf
    for i in range(scores.size):
        score = scores[i] + b * sign[i]
        lowest = min(lowest, score)
        score += slack + raised * norms[i]
        if score < value and not barred[i]:
            row, value = i, score
    return row, lowest


@_compiled
def _level(Z, rows, weights, groups, T, w):
    """Scale ``w`` so that ``z·w + b s`` is 1 in the mean of each group; note in the last row of T what each row lacks.

    Returns b and the largest residual, which is infinite if there is no such scale.
    """
    p, r, level, tilt = T.shape[0] - 1, T[-1], 0.0, 0.0
    for i in range(rows.size):
        z, score = Z[rows[i]], 0.0
        for j in range(w.size):
            score += z[j] * w[j]
        r[i] = score
        level += weights[i] * score
        tilt += weights[i] * score * groups[i]
    if not level > 0.0:
        return 0.0, np.inf
    b = 0.0 if p == 1 else -tilt / level
    for j in range(w.size):
        w[j] /= level
    worst = 0.0
    for i in range(rows.size):
        r[i] = 1.0 - r[i] / level - b * groups[i]
        worst = max(worst, abs(r[i]))
    return b, worst


@_compiled
def _advance(Q, R, weights, groups, T, w, bounded):
    """Change ``w`` and the weights so as to remove the residuals; return the row whose weight reaches zero, or k.

    With ``t = R⁻ᵀ r`` made orthogonal to the ``R⁻ᵀ 1_g``, where ``1_g`` marks the rows of group g, ``w += Q t`` and
    ``λ/‖x‖² += R⁻¹ t`` raise every row by its residual, up to a common amount in each group, and keep the sums of the
    weights in every group. If ``bounded``, they go only as far as no weight becomes negative.
    """
    k, p, square, theta = weights.size, T.shape[0] - 1, 0.0, 1.0
    for j in range(w.size):
        square += w[j] * w[j]
    for g in range(p + 1):
        t = T[g]
        for i in range(k):
            total = t[i] if g == p else (1.0 if p == 1 or (groups[i] > 0) == (g == 0) else 0.0)
            for j in range(i):
                total -= R[j, i] * t[j]
            t[i] = total / R[i, i]
        for h in range(g + 1):
            along = 0.0
            for i in range(k):
                along += T[h, i] * t[i]
            for i in range(k):
                if h < g:
                    t[i] -= along * T[h, i]
                elif g < p:
                    t[i] /= math.sqrt(along)
    out, r = k, T[p]
    step = T[0]  # the group's vector is used up
    for i in range(k):
        step[i] = r[i]
    for i in range(k - 1, -1, -1):
        step[i] /= R[i, i]
        for j in range(i):
            step[j] -= R[j, i] * step[i]
    for i in range(k):
        step[i] /= square
        if bounded and weights[i] + step[i] <= 0.0:
            reach = -weights[i] / step[i] if step[i] < 0.0 else 0.0
            if out == k or reach < theta:
                theta, out = reach, i
    for i in range(k):
        weights[i] = max(weights[i] + theta * step[i], 0.0)
        along = theta * r[i]
        for j in range(w.size):
            w[j] += along * Q[p + j, i]
    return out
