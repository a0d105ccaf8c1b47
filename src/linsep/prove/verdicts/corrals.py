"""Compiled loops of Wolfe's algorithm: corrals, and the plane through the point of one.

A *corral* is a set of affinely independent rows whose affine minimum has all weights positive. The outer loop adds the
row that lies farthest below the plane through the point; the inner loop goes back to a corral by dropping rows. With
``A`` the columns ``(c e_g, z)`` of the corral's rows, ``g`` the group and ``c`` near the size of a row, affine
independence is linear independence of ``A = Q R``; a row comes in by Gram-Schmidt, twice, and goes out by rotations.

Most loops are written out, into arrays that are there: assignments to slices and sums of arrays would take Numba most
of the time to compile.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from linsep import compiling
from linsep.problem import Array, Floats

_compiled = compiling.compiled(error_model="numpy")
_inner = compiling.compiled(error_model="numpy", no_cpython_wrapper=True)  # called by compiled code only

_EPS = 2.0**-52
_STALLS = 30  # additions in a row that may fail to shorten the point before rounding is taken to be the reason
_GOOD = 1e-9  # largest residual of a normal that needs no refinement before the last


class Corral(NamedTuple):
    """Rows of the current corral and ``A = Q R``; only the first k entries of everything are in use."""

    Q: Floats  # (K, p + d) orthonormal rows, which are the columns of the mathematician's Q
    R: Floats  # (K, K) upper triangular
    rows: Array  # (K,)
    weights: Floats  # (K,)


class Search(NamedTuple):
    """Where a search stands between two stretches of it, and room to work in."""

    w: Floats  # (d,)
    basis: Floats  # (p, K)
    barred: Array  # (m,) rows that could not be added to the present corral
    numbers: Floats  # (5,) b and the lowest row of the plane, the shortest point, rounds without a shorter one, begun
    heights: Floats  # (m,) of the rows above the plane
    r: Floats  # (K,) residuals, or changes of weights
    change: Floats  # (d,) of w
    trial: Floats  # (d,) a point or normal
    low: Floats  # (d,) the low digits of a point

    @classmethod
    def begun(cls, shape: tuple[int, int], p: int, K: int) -> Search:
        """Return a search that has not begun."""
        m, d = shape
        state = np.zeros(d), np.zeros((p, K)), np.zeros(m, dtype=np.bool_), np.full(5, np.nan)
        return cls(*state, np.zeros(m), np.zeros(K), np.zeros(d), np.zeros(d), np.zeros(d))


# ---------------------------------------------------------------------------------------------------------------
# The factorization


@_compiled
def insert(Z: Any, sign: Any, corral: Any, k: int, p: int, c: float, row: int) -> bool:
    """Append a row to the factorization of k rows, unless it depends on them.

    Its column of A is c in the place of its group, then the row.
    """
    Q, R = corral.Q, corral.R
    if k == Q.shape[0]:
        return False
    q, n = Q[k], Q.shape[1]
    for j in range(n):
        q[j] = Z[row, j - p] if j >= p else 0.0
    q[0 if p == 1 or sign[row] > 0 else 1] = c
    size = math.sqrt(np.dot(q, q))
    before = rest = size
    for i in range(k):
        R[i, k] = 0.0
    for turn in range(2):
        if k > 0:
            h = np.dot(Q[:k], q)
            for i in range(k):
                R[i, k] += h[i]
            back = np.dot(h, Q[:k])
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


@_inner
def _remove(corral: Any, k: int, out: int) -> None:
    """Drop column ``out`` of k: close the gap in R and rotate it back to a triangle."""
    Q, R, rows, weights = corral
    for j in range(out, k - 1):
        rows[j] = rows[j + 1]
        weights[j] = weights[j + 1]
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


@_inner
def _solve_transposed(R: Any, k: int, t: Any) -> None:
    """Solve ``Rᵀ t' = t`` in place, up to k."""
    for j in range(k):
        t[j] /= R[j, j]
        for i in range(j + 1, k):
            t[i] -= t[j] * R[j, i]


@_inner
def _solve(R: Any, k: int, t: Any) -> None:
    """Solve ``R t' = t`` in place, up to k."""
    for i in range(k - 1, -1, -1):
        t[i] = (t[i] - np.dot(R[i, i + 1 : k], t[i + 1 : k])) / R[i, i]


# ---------------------------------------------------------------------------------------------------------------
# The algorithm


@_inner
def _point(Z: Any, corral: Any, k: int, x: Any, low: Any) -> None:
    """Sum ``Σ λ z`` over the corral into x, in about twice the working precision; ``low`` is room for the low digits.

    Near the origin the sum cancels, and a plain one would leave an error of a rounding of the rows, which lies outside
    their span where no correction can reach it. Error-free products after Dekker (1971), sums after Knuth.
    """
    for j in range(x.size):
        x[j] = low[j] = 0.0
    for i in range(k):
        row, weight = corral.rows[i], corral.weights[i]
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


@_inner
def _basis(corral: Any, k: int, sign: Any, p: int, basis: Any) -> None:
    """Put an orthonormal basis of the ``R⁻ᵀ 1_g`` into ``basis`` (p, K); ``1_g`` marks the rows of group g.

    Weights ``R⁻¹ t`` sum to zero in every group when ``t`` is orthogonal to it.
    """
    for g in range(p):
        for i in range(k):
            basis[g, i] = 1.0 if p == 1 or (sign[corral.rows[i]] > 0) == (g == 0) else 0.0
        _solve_transposed(corral.R, k, basis[g])
        if g == 1:
            along = np.dot(basis[0, :k], basis[1, :k])
            for i in range(k):
                basis[1, i] -= along * basis[0, i]
        size = math.sqrt(np.dot(basis[g, :k], basis[g, :k]))
        for i in range(k):
            basis[g, i] /= size


@_inner
def _level(Z: Any, sign: Any, corral: Any, k: int, p: int, w: Any, r: Any) -> tuple[float, float]:
    """Scale ``w`` so that ``z·w + b s`` is 1 in the mean of each group; ``r`` receives what each row lacks.

    Returns b and the largest residual, which is infinite if there is no such scale.
    """
    d = Z.shape[1]
    first = second = 0.0  # mean of z·w in each group
    for i in range(k):
        row = corral.rows[i]
        r[i] = np.dot(Z[row], w)
        if p == 1 or sign[row] > 0:
            first += p * corral.weights[i] * r[i]
        else:
            second += p * corral.weights[i] * r[i]
    level = first if p == 1 else (first + second) / 2
    if not level > 0.0:
        return 0.0, np.inf
    b = 0.0 if p == 1 else (second - first) / (2 * level)
    for j in range(d):
        w[j] /= level
    worst = 0.0
    for i in range(k):
        r[i] = 1.0 - r[i] / level - b * sign[corral.rows[i]]
        worst = max(worst, abs(r[i]))
    return b, worst


@_inner
def _towards_level(corral: Any, k: int, p: int, search: Any) -> None:
    """Turn residuals ``r`` into the change of weights that removes them, up to a factor; and put that of ``w`` beside.

    With ``t = R⁻ᵀ r`` made orthogonal to the basis, ``w += Q t`` and ``λ/‖x‖² += R⁻¹ t`` raise every row by its
    residual, up to a common amount in each group, and keep the sums of the weights.
    """
    r, basis, change = search.r, search.basis, search.change
    _solve_transposed(corral.R, k, r)
    for g in range(p):
        along = np.dot(basis[g, :k], r[:k])
        for i in range(k):
            r[i] -= along * basis[g, i]
    found = np.dot(r[:k], corral.Q[:k])
    for j in range(change.size):
        change[j] = found[p + j]
    _solve(corral.R, k, r)


@_inner
def _to_corral(Z: Any, sign: Any, corral: Any, k: int, p: int, search: Any) -> int:
    """Walk to the lowest point of the affine hull; where a weight reaches zero first, drop that row and turn anew."""
    weights, w, r, d = corral.weights, search.w, search.r, Z.shape[1]
    while True:
        _basis(corral, k, sign, p, search.basis)
        _, worst = _level(Z, sign, corral, k, p, w, r)
        if not worst < np.inf:
            return k
        _towards_level(corral, k, p, search)
        square = np.dot(w, w)
        theta, out = 1.0, k
        for i in range(k):
            r[i] /= square
            if weights[i] + r[i] <= 0.0:
                reach = -weights[i] / r[i] if r[i] < 0.0 else 0.0
                if out == k or reach < theta:
                    theta, out = reach, i
        for i in range(k):
            weights[i] += theta * r[i]
        for j in range(d):
            w[j] += theta * search.change[j]
        if out == k or k <= p:
            return k
        _remove(corral, k, out)
        k -= 1
        for i in range(k):
            weights[i] = max(weights[i], 0.0)


@_inner
def _direction(Z: Any, sign: Any, corral: Any, k: int, p: int, search: Any) -> tuple[float, float]:
    """Put into ``w`` the normal of the plane through the point of the corral; return b and the largest residual."""
    w, trial, r, d, b, best = search.w, search.trial, search.r, Z.shape[1], 0.0, np.inf
    _point(Z, corral, k, trial, search.low)
    square = np.dot(trial, trial)
    if not square > 0.0:
        return 0.0, np.inf
    for j in range(d):
        trial[j] /= square
    for _ in range(6):
        shift, worst = _level(Z, sign, corral, k, p, trial, r)
        if not worst < best:
            break
        for j in range(d):
            w[j] = trial[j]
        b, enough = shift, worst > 0.25 * best or worst < 1e-13
        best = worst
        if enough:
            break
        _towards_level(corral, k, p, search)
        for j in range(d):
            trial[j] += search.change[j]
        square = np.dot(w, w)
        for i in range(k):
            corral.weights[i] = max(corral.weights[i] + r[i] / square, 0.0)
    return b, best


@_inner
def _heights(rows: Any, p: int, search: Any, size: float, b: float, slack: float) -> float:
    """Note how high rows are above the plane, raised by what rounding may have taken off; return the lowest as is."""
    Z, sign, norms = rows
    lowest, raised = np.inf, 4 * _EPS * size
    heights = np.dot(Z, search.w)
    for i in range(Z.shape[0]):
        height = heights[i]
        if p == 2:
            height += b * sign[i]
        lowest = min(lowest, height)
        search.heights[i] = height + (slack + raised * norms[i])
    return lowest


@_inner
def _lowest(heights: Any, barred: Any) -> int:
    """Return the lowest row below 1 that is not barred, or their number if there is none."""
    lowest: int = heights.size
    value = 1.0
    for i in range(heights.size):
        if heights[i] < value and not barred[i]:
            lowest, value = i, heights[i]
    return lowest


@_compiled
def wolfe(rows: Any, corral: Any, settings: Any, search: Any) -> tuple[int, bool]:
    """Go on to the corral that holds the nearest point for some rounds; return its size, and whether it is the one."""
    Z, sign, _ = rows
    k, p, c, tol, rounds = settings
    w, barred, numbers, (m, d) = search.w, search.barred, search.numbers, Z.shape
    if math.isnan(numbers[4]):  # the first stretch
        numbers[0] = numbers[1] = numbers[3] = numbers[4] = 0.0
        numbers[2] = np.inf
        _point(Z, corral, k, search.trial, search.low)
        square = np.dot(search.trial, search.trial)
        for j in range(d):
            w[j] = search.trial[j] / square
    for _ in range(rounds):
        k = _to_corral(Z, sign, corral, k, p, search)
        b, residual = _level(Z, sign, corral, k, p, w, search.r)
        good = residual < _GOOD  # enough to choose the next row; such a normal is refined at the end only
        size, entering = 0.0, m
        for turn in range(2):
            if turn > 0 or not good:
                b, residual = _direction(Z, sign, corral, k, p, search)
            if not residual < 0.5:  # the plane cannot be told from one through the origin
                for j in range(d):
                    w[j] = 0.0
                numbers[0], numbers[1] = 0.0, -np.inf
                return k, True
            size = math.sqrt(np.dot(w, w))
            if turn == 0:
                shorter = 1.0 / size < numbers[2]
                numbers[2] = min(numbers[2], 1.0 / size)
                numbers[3] = 0.0 if shorter else numbers[3] + 1.0
                for i in range(m):
                    barred[i] = barred[i] and not shorter
            numbers[0], numbers[1] = b, _heights(rows, p, search, size, b, tol + residual)
            entering = _lowest(search.heights, barred)
            if entering < m or not good:
                break
        while entering < m and not insert(Z, sign, corral, k, p, c, entering):
            barred[entering] = True
            entering = _lowest(search.heights, barred)
        if entering == m or numbers[3] > _STALLS:
            return k, True
        barred[entering] = True
        corral.rows[k], corral.weights[k] = entering, 0.0
        k += 1
    return k, False
