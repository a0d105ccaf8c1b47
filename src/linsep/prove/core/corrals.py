"""Wolfe's algorithm with compiled loops: corrals, and the plane through the point of one.

A *corral* is a set of affinely independent rows whose affine minimum has all weights positive. The outer loop adds the
row that lies farthest below the plane through the point; the inner loop goes back to a corral by dropping rows. With
``A`` the columns ``(c e_g, z)`` of the corral's rows, ``g`` the group and ``c`` near the size of a row, affine
independence is linear independence of ``A = Q R``; a row comes in by Gram-Schmidt, twice, and goes out by rotations.

The compiled loops are written out, into arrays that are there, and none calls another: new arrays, assignments to
slices and sums of arrays would make them take several times as long to compile, and so would parts that are compiled
for themselves and once more in their callers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linsep import compiling
from linsep.problem import Floats

_compiled = compiling.compiled(error_model="numpy")

_EPS = 2.0**-52
_STALLS = 30  # additions in a row that may fail to shorten the point before rounding is taken to be the reason
_GOOD = 1e-9  # largest residual of a normal that needs no refinement before the last


# ---------------------------------------------------------------------------------------------------------------
# The factorization


@_compiled
def _insert(Z: Any, sign: Any, Q: Any, R: Any, k: int, c: float, row: int) -> bool:
    """Append a row to the factorization of k rows, unless it depends on them.

    Its column of A is c in the place of its group, then the row.
    """
    if k == R.shape[0]:
        return False
    q, n, p = Q[k], Q.shape[1], Q.shape[1] - Z.shape[1]
    for j in range(n):
        q[j] = Z[row, j - p] if j >= p else 0.0
    q[0 if p == 1 or sign[row] > 0 else 1] = c
    size = math.sqrt(np.dot(q, q))
    before = rest = size
    for i in range(k):
        R[i, k] = 0.0
    for turn in range(2):
        if k > 0:
            h, back = R[k, :k], Q[-1]
            np.dot(Q[:k], q, h)
            for i in range(k):
                R[i, k] += h[i]
            np.dot(h, Q[:k], back)
            for j in range(n):
                q[j] -= back[j]
        rest = math.sqrt(np.dot(q, q))
        if turn == 0:
            before = rest
    if not (rest > 4 * _EPS * size and rest > 0.5 * before):  # what is left is rounding
        return False
    R[k, k] = rest
    for i in range(k):
        R[k, i] = 0.0
    for j in range(n):
        q[j] /= rest
    return True


@_compiled
def _remove(Q: Any, R: Any, S: Any, rows: Any, k: int, out: int) -> None:
    """Drop column ``out`` of k: close the gap in R and rotate it back to a triangle."""
    for j in range(out, k - 1):
        rows[j], S[0, j], S[1, j] = rows[j + 1], S[0, j + 1], S[1, j + 1]
        for i in range(j + 2):
            R[i, j] = R[i, j + 1]
    for j in range(out, k - 1):
        r = math.hypot(R[j, j], R[j + 1, j])
        cosine, sine = R[j, j] / r, R[j + 1, j] / r
        for i in range(j, k - 1):
            upper, lower = R[j, i], R[j + 1, i]
            R[j, i] = cosine * upper + sine * lower
            R[j + 1, i] = cosine * lower - sine * upper
        R[j + 1, j] = 0.0
        for i in range(Q.shape[1]):
            upper, lower = Q[j, i], Q[j + 1, i]
            Q[j, i] = cosine * upper + sine * lower
            Q[j + 1, i] = cosine * lower - sine * upper


# ---------------------------------------------------------------------------------------------------------------
# The plane through the point of a corral


@_compiled
def _level(Z: Any, rows: Any, S: Any, T: Any, k: int, w: Any) -> tuple[float, float]:
    """Scale ``w`` so that ``z·w + b s`` is 1 in the mean of each group; note in the last row of T what each row lacks.

    Returns b and the largest residual, which is infinite if there is no such scale.
    """
    p, r = T.shape[0] - 1, T[-1]
    first = second = 0.0  # mean of z·w in each group
    for i in range(k):
        r[i] = np.dot(Z[rows[i]], w)
        if p == 1 or S[1, i] > 0:
            first += p * S[0, i] * r[i]
        else:
            second += p * S[0, i] * r[i]
    level = first if p == 1 else (first + second) / 2
    if not level > 0.0:
        return 0.0, np.inf
    b = 0.0 if p == 1 else (second - first) / (2 * level)
    for j in range(w.size):
        w[j] /= level
    worst = 0.0
    for i in range(k):
        r[i] = 1.0 - r[i] / level - b * S[1, i]
        worst = max(worst, abs(r[i]))
    return b, worst


@_compiled
def _advance(Q: Any, R: Any, S: Any, T: Any, k: int, w: Any, bounded: bool) -> int:
    """Change ``w`` and the weights so as to remove the residuals; return the row whose weight reaches zero, or k.

    With ``t = R⁻ᵀ r`` made orthogonal to the ``R⁻ᵀ 1_g``, where ``1_g`` marks the rows of group g, ``w += Q t`` and
    ``λ/‖x‖² += R⁻¹ t`` raise every row by its residual, up to a common amount in each group, and keep the sums of the
    weights in every group. If ``bounded``, they go only as far as no weight becomes negative.
    """
    p, square, theta, out = T.shape[0] - 1, np.dot(w, w), 1.0, k
    for g in range(p + 1):
        t = T[g]
        for i in range(k):
            if g < p:
                t[i] = 1.0 if p == 1 or (S[1, i] > 0) == (g == 0) else 0.0
        for j in range(k):
            t[j] /= R[j, j]
            for i in range(j + 1, k):
                t[i] -= t[j] * R[j, i]
        for h in range(g + 1):
            along = np.dot(T[h, :k], t[:k])
            for i in range(k):
                if h < g:
                    t[i] -= along * T[h, i]
                elif g < p:
                    t[i] /= math.sqrt(along)
    r = T[p]
    change = Q[-1]
    np.dot(r[:k], Q[:k], change)
    for i in range(k - 1, -1, -1):
        r[i] = (r[i] - np.dot(R[i, i + 1 : k], r[i + 1 : k])) / R[i, i]
    for i in range(k):
        r[i] /= square
        if bounded and S[0, i] + r[i] <= 0.0:
            reach = -S[0, i] / r[i] if r[i] < 0.0 else 0.0
            if out == k or reach < theta:
                theta, out = reach, i
    for i in range(k):
        S[0, i] = max(S[0, i] + theta * r[i], 0.0)
    for j in range(w.size):
        w[j] += theta * change[p + j]
    return out


@_compiled
def _point(Z: Any, rows: Any, weights: Any, x: Any, low: Any) -> None:
    """Sum ``Σ λ z`` of some rows into x, in about twice the working precision; ``low`` is room for the low digits.

    Near the origin the sum cancels, and a plain one would leave an error of a rounding of the rows, which lies outside
    their span where no correction can reach it. Error-free products after Dekker (1971), sums after Knuth.
    """
    for j in range(x.size):
        x[j] = low[j] = 0.0
    for i in range(rows.size):
        row, weight = rows[i], weights[i]
        head = 134217729.0 * weight  # 2**27 + 1
        head -= head - weight
        tail = weight - head
        for j in range(x.size):
            z = Z[row, j]
            product = weight * z
            upper = 134217729.0 * z
            upper -= upper - z
            lower = z - upper
            lost = ((head * upper - product) + head * lower + tail * upper) + tail * lower
            total = x[j] + product
            part = total - x[j]
            low[j] += lost + ((x[j] - (total - part)) + (product - part))
            x[j] = total
    for j in range(x.size):
        x[j] += low[j]


# ---------------------------------------------------------------------------------------------------------------
# The algorithm


@_compiled
def _lowest(
    heights: Any, sign: Any, norms: Any, barred: Any, b: float, slack: float, raised: float
) -> tuple[int, float]:
    """Return the lowest row below 1 that is not barred, -1 if there is none, and the height of the lowest of all.

    Heights are raised by what rounding may have taken off.
    """
    row, value, lowest = -1, 1.0, np.inf
    for i in range(heights.size):
        height = heights[i]
        if b != 0.0:
            height += b * sign[i]
        lowest = min(lowest, height)
        height += slack + raised * norms[i]
        if height < value and not barred[i]:
            row, value = i, height
    return row, lowest


class Search:
    """A search for the corral that holds the nearest point: its rows and ``A = Q R``, and the plane through its point.

    Only the first k entries of everything about the corral are in use.
    """

    def __init__(self, Z: Floats, sign: Floats, norms: Floats, p: int, c: float) -> None:
        (m, d), self.Z, self.sign, self.norms, self.p, self.c, self.k = Z.shape, Z, sign, norms, p, c, 0
        K = min(m, d + p)
        self.Q = np.zeros((K + 1, p + d))  # orthonormal rows, the columns of the mathematician's Q; the last is room
        self.R = np.zeros((K, K))  # upper triangular
        self.S = np.zeros((2, K))  # the weights of rows, and their signs
        self.T = np.zeros((p + 1, K))  # room for vectors, the last of them residuals
        self.rows = np.zeros(K, np.intp)
        self.barred = np.zeros(m, dtype=np.bool_)  # rows that could not be added to the present corral
        self.w, self.b, self.lowest = np.zeros(d), 0.0, 0.0  # the plane, and the lowest row
        self.shortest, self.stalls = math.inf, 0  # the shortest point, and rounds without a shorter one

    def insert(self, row: int, weight: float) -> bool:
        """Add a row to the corral, unless it depends on those that are there."""
        k = self.k
        if not _insert(self.Z, self.sign, self.Q, self.R, k, self.c, row):
            return False
        self.rows[k], self.S[0, k], self.S[1, k] = row, weight, self.sign[row]
        self.k = k + 1
        return True

    def begin(self) -> None:
        """Bring the weights of every group to one sum, and take the plane through the point."""
        weights, sign = self.S[:, : self.k]
        for s in (1.0, -1.0)[: self.p]:
            weights[sign == s] /= self.p * weights[sign == s].sum()
        x = self._point()
        self.w = x / (x @ x)

    def round(self, tol: float) -> bool:
        """Go on to a corral, and add the lowest row to it; return whether the search has ended."""
        self.b, residual = self._to_corral()
        good = residual < _GOOD  # enough to choose the next row; such a normal is refined at the end only
        added: bool | None = None
        for turn in range(2):
            if turn > 0 or not good:
                residual = self._refine()
            if not residual < 0.5:  # the plane cannot be told from one through the origin
                self.w[:] = 0.0
                self.b, self.lowest = 0.0, -math.inf
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
        """Add the lowest row below the plane that is independent; say whether there is one, None if none is below."""
        heights, added = self.Z @ self.w, None
        while not added:
            row, self.lowest = _lowest(heights, self.sign, self.norms, self.barred, self.b, slack, raised)
            if row < 0:
                return added
            self.barred[row] = True
            added = self.insert(row, 0.0)
        return added

    def _to_corral(self) -> tuple[float, float]:
        """Walk to the lowest point of the affine hull; where a weight reaches zero first, drop that row, turn anew.

        Returns b and the largest residual.
        """
        Z, rows, Q, R, S, T, w, settled = self.Z, self.rows, self.Q, self.R, self.S, self.T, self.w, False
        while True:
            found: tuple[float, float] = _level(Z, rows, S, T, self.k, w)
            if settled or not found[1] < math.inf:
                return found
            out = _advance(Q, R, S, T, self.k, w, True)
            settled = out == self.k or self.k <= self.p
            if not settled:
                _remove(Q, R, S, rows, self.k, out)
                self.k -= 1

    def _refine(self) -> float:
        """Find the plane through the point of the corral as well as floats can; return the largest residual."""
        best, trial = math.inf, self._point()
        trial /= trial @ trial
        self.b = 0.0
        for _ in range(6):
            b, worst = _level(self.Z, self.rows, self.S, self.T, self.k, trial)
            if not worst < best:
                break
            self.w[:], self.b = trial, b
            enough, best = worst > 0.25 * best or worst < 1e-13, worst
            if enough:
                break
            _advance(self.Q, self.R, self.S, self.T, self.k, trial, False)
        return best

    def _point(self) -> Floats:
        """Return the point of the weights."""
        x = np.empty_like(self.w)
        _point(self.Z, self.rows[: self.k], self.S[0, : self.k], x, np.empty_like(x))
        return x
