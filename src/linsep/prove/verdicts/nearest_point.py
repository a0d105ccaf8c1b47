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
from typing import Any, NamedTuple

import numpy as np

from linsep import compiling
from linsep.clock import Clock
from linsep.problem import Array, Floats

compiled = compiling.compiled(error_model="numpy")

_EPS = 2.0**-52
_STALLS = 30  # additions in a row that may fail to shorten the point before rounding is taken to be the reason
_ANY_PLANE = 0.7  # tolerance with which a plane that all rows are above by a good deal will do
_PACE = 3e-10  # seconds that a round takes for every number in the rows
_TICK, _FIRST_ROUNDS = 0.05, 8  # seconds between two looks at the clock, about; rounds before the first
_STRETCH = 500  # rounds between two looks at the clock
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

    def __repr__(self) -> str:
        if not self.w.any():
            return f"Nearest(origin in the hull of {len(self.support)} of {len(self.weights)} rows)"
        return (
            f"Nearest(distance={float(1 / np.linalg.norm(self.w)):.6g}, "
            f"support={len(self.support)} of {len(self.weights)} rows, lowest={self.lowest:.6g})"
        )


class _Corral(NamedTuple):
    """Rows of the current corral and ``A = Q R``; only the first k entries of everything are in use."""

    Q: Floats  # (K, p + d) orthonormal rows, which are the columns of the mathematician's Q
    R: Floats  # (K, K) upper triangular
    rows: Array  # (K,)
    weights: Floats  # (K,)


class _Search(NamedTuple):
    """Where a search stands between two stretches of it."""

    w: Floats  # (d,)
    basis: Floats  # (p, K)
    barred: Array  # (m,) rows that could not be added to the present corral
    numbers: Floats  # (5,) b and the lowest row of the plane, the shortest point, rounds without a shorter one, begun


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
        Asked between stretches of the search, which change nothing in the result.

    Returns
    -------
    nearest : Nearest

    Examples
    --------
    >>> import numpy as np
    >>> from linsep.prove.verdicts.nearest_point import nearest_point
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
    corral, k = _corral(Z, sign, p, c, rows, weights)
    rounds = 1 + (20 * (min(m, d + p) + 50) if max_iter is None else max_iter)
    done, stretch = 0, rounds if clock is None else _FIRST_ROUNDS
    w, weights = np.zeros(d), np.zeros(m)
    search = _Search(w, np.zeros((p, len(corral.rows))), np.zeros(m, dtype=np.bool_), np.full(5, np.nan))
    with np.errstate(all="ignore"):  # compiled code warns of nothing; nor shall it without a compiler
        norms, ended = np.sqrt(squares), False
        while not ended and done < rounds:
            began = 0.0 if clock is None else clock.elapsed
            now = min(stretch, rounds - done)
            k, ended = _wolfe((Z, sign, norms), corral, (k, p, c, tol, now), search)
            done += now
            if clock is not None:
                clock.check()
                stretch = max(1, min(2 * now, int(now * _TICK / max(clock.elapsed - began, 1e-6))))
        b, lowest = search.numbers[:2].tolist()
        weights[corral.rows[:k]] = corral.weights[:k]
        point = weights @ Z
        if scaled:  # weights of a margin below all floats overflow
            point, w = np.ldexp(point, exponent), np.ldexp(w, -exponent)
    return Nearest(weights, point, np.flatnonzero(weights), w, b, lowest)


def nearest_plane(Z: Floats, start: Floats | None, clock: Clock) -> Nearest:
    """Find any plane that has all rows on its positive side, in stretches that are short enough to ask the clock."""
    patient = math.isinf(clock.left)
    rounds, shortest = _STRETCH if patient else _STRETCH // 25, math.inf
    while True:
        began = clock.elapsed
        clock.check(0.0 if patient else _PACE * rounds * Z.size)
        near = nearest_point(Z, start=start, tol=_ANY_PLANE, max_iter=rounds)
        distance = float(np.linalg.norm(near.point))
        if not near.w.any() or near.lowest > 0 or not distance < shortest * (1 - 1e-9):
            return near
        start, shortest = near.weights, distance
        if not patient:
            fitting = rounds * 0.05 * clock.left / max(clock.elapsed - began, 1e-6)
            rounds = min(max(5, int(fitting)), 2 * rounds, _STRETCH)


def _first_rows(Z: Floats, squares: Floats, sign: Floats, p: int) -> tuple[Array, Floats]:
    """Return the rows to start from: the shortest one, or one of each group that lie close together."""
    if p == 1:
        return np.array([squares.argmin()]), np.ones(1)
    first, second = np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)
    middle = Z[second].mean(axis=0)
    i = first[(squares[first] + 2 * (Z[first] @ middle)).argmin()]  # ‖z_i + middle‖² up to a constant
    j = second[(squares[second] + 2 * (Z[second] @ Z[i])).argmin()]
    return np.array([i, j]), np.array([0.5, 0.5])


def _corral(Z: Floats, sign: Floats, p: int, c: float, rows: Array, weights: Floats) -> tuple[_Corral, int]:
    """Factorize the rows to start from, leaving out those that depend on the ones before."""
    K = min(len(Z), Z.shape[1] + p)
    corral = _Corral(np.zeros((K, p + Z.shape[1])), np.zeros((K, K)), np.zeros(K, np.intp), np.zeros(K))
    k = 0
    for i, weight in zip(rows, weights, strict=True):
        if k < K and _insert(corral, k, _column(Z, sign, p, c, i)):
            corral.rows[k], corral.weights[k] = i, weight
            k += 1
    for s in (1.0, -1.0)[:p]:
        mine = np.flatnonzero((sign[corral.rows[:k]] == s) | (p == 1))
        corral.weights[mine] /= p * corral.weights[mine].sum()
    return corral, k


# ---------------------------------------------------------------------------------------------------------------
# The factorization


@compiled
def _column(Z: Any, sign: Any, p: int, c: float, i: int) -> Any:
    """Return the column of A for row i: c in the place of its group, then the row."""
    a = np.zeros(p + Z.shape[1])
    a[p:] = Z[i]
    a[0 if p == 1 or sign[i] > 0 else 1] = c
    return a


@compiled
def _insert(corral: Any, k: int, a: Any) -> bool:
    """Append column ``a`` to the factorization of k columns, unless it depends on them."""
    Q, R = corral.Q, corral.R
    if k == Q.shape[0]:
        return False
    size = math.sqrt(np.dot(a, a))
    q, before = a, size
    R[:k, k] = 0.0
    for turn in range(2):
        if k > 0:
            h = np.dot(Q[:k], q)
            q = q - np.dot(h, Q[:k])
            for i in range(k):
                R[i, k] += h[i]
        rest = math.sqrt(np.dot(q, q))
        if turn == 0:
            before = rest
    if not (rest > 4 * _EPS * size and rest > 0.5 * before):  # what is left is rounding
        return False
    R[k, k] = rest
    R[k, :k] = 0.0
    Q[k] = q / rest
    return True


@compiled
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


@compiled
def _solve_transposed(R: Any, t: Any) -> None:
    """Solve ``Rᵀ t' = t`` in place."""
    k = t.size
    for j in range(k):
        t[j] /= R[j, j]
        for i in range(j + 1, k):
            t[i] -= t[j] * R[j, i]


@compiled
def _solve(R: Any, t: Any) -> None:
    """Solve ``R t' = t`` in place."""
    for i in range(t.size - 1, -1, -1):
        t[i] = (t[i] - np.dot(R[i, i + 1 : t.size], t[i + 1 :])) / R[i, i]


# ---------------------------------------------------------------------------------------------------------------
# The algorithm


@compiled
def _point(Z: Any, corral: Any, k: int, x: Any) -> None:
    """Sum ``Σ λ z`` over the corral in about twice the working precision.

    Near the origin the sum cancels, and a plain one would leave an error of a rounding of the rows, which lies outside
    their span where no correction can reach it. Error-free products after Dekker (1971), sums after Knuth.
    """
    x[:] = 0.0
    low = np.zeros(x.size)
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
    x += low


@compiled
def _basis(corral: Any, k: int, sign: Any, p: int, basis: Any) -> None:
    """Put an orthonormal basis of the ``R⁻ᵀ 1_g`` into ``basis`` (p, K); ``1_g`` marks the rows of group g.

    Weights ``R⁻¹ t`` sum to zero in every group when ``t`` is orthogonal to it.
    """
    for g in range(p):
        u = basis[g, :k]
        for i in range(k):
            u[i] = 1.0 if p == 1 or (sign[corral.rows[i]] > 0) == (g == 0) else 0.0
        _solve_transposed(corral.R, u)
        if g == 1:
            u -= np.dot(basis[0, :k], u) * basis[0, :k]
        u /= math.sqrt(np.dot(u, u))


@compiled
def _level(Z: Any, sign: Any, corral: Any, k: int, p: int, w: Any, r: Any) -> tuple[float, float]:
    """Scale ``w`` so that ``z·w + b s`` is 1 in the mean of each group; ``r`` receives what each row lacks.

    Returns b and the largest residual, which is infinite if there is no such scale.
    """
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
    w /= level
    worst = 0.0
    for i in range(k):
        r[i] = 1.0 - r[i] / level - b * sign[corral.rows[i]]
        worst = max(worst, abs(r[i]))
    return b, worst


@compiled
def _towards_level(corral: Any, k: int, p: int, basis: Any, r: Any) -> Any:
    """Turn residuals ``r`` into the change of weights that removes them, in place; return the change of ``w``.

    With ``t = R⁻ᵀ r`` made orthogonal to the basis, ``w += Q t`` and ``λ/‖x‖² += R⁻¹ t`` raise every row by its
    residual, up to a common amount in each group, and keep the sums of the weights.
    """
    _solve_transposed(corral.R, r)
    for g in range(p):
        u = basis[g, :k]
        r -= np.dot(u, r) * u
    change = np.dot(r, corral.Q[:k])[p:]
    _solve(corral.R, r)
    return change


@compiled
def _to_corral(Z: Any, sign: Any, corral: Any, k: int, p: int, basis: Any, w: Any) -> int:
    """Walk to the lowest point of the affine hull; where a weight reaches zero first, drop that row and turn anew."""
    while True:
        weights, r = corral.weights[:k], np.empty(k)
        _basis(corral, k, sign, p, basis)
        _, worst = _level(Z, sign, corral, k, p, w, r)
        if not worst < np.inf:
            return k
        change = _towards_level(corral, k, p, basis, r)
        r /= np.dot(w, w)
        theta, out = 1.0, -1
        for i in range(k):
            if weights[i] + r[i] <= 0.0:
                reach = -weights[i] / r[i] if r[i] < 0.0 else 0.0
                if out < 0 or reach < theta:
                    theta, out = reach, i
        weights += theta * r
        w += theta * change
        if out < 0 or k <= p:
            return k
        _remove(corral, k, out)
        k -= 1
        for i in range(k):
            weights[i] = max(weights[i], 0.0)


@compiled
def _direction(Z: Any, sign: Any, corral: Any, k: int, p: int, basis: Any, w: Any) -> tuple[float, float]:
    """Put into ``w`` the normal of the plane through the point of the corral; return b and the largest residual."""
    trial, r, b, best = np.empty(w.size), np.empty(k), 0.0, np.inf
    _point(Z, corral, k, trial)
    square = np.dot(trial, trial)
    if not square > 0.0:
        return 0.0, np.inf
    trial /= square
    for _ in range(6):
        shift, worst = _level(Z, sign, corral, k, p, trial, r)
        if not worst < best:
            break
        w[:], b, enough = trial, shift, worst > 0.25 * best or worst < 1e-13
        best = worst
        if enough:
            break
        trial += _towards_level(corral, k, p, basis, r)
        r /= np.dot(w, w)
        for i in range(k):
            corral.weights[i] = max(corral.weights[i] + r[i], 0.0)
    return b, best


@compiled
def _heights(Z: Any, sign: Any, norms: Any, p: int, w: Any, b: float, slack: float) -> Any:
    """Return how high each row is above the plane, raised by what rounding may have taken off, and the lowest as is."""
    heights = np.dot(Z, w)
    if p == 2:
        heights += b * sign
    lowest = heights.min()
    heights += slack + 4 * _EPS * math.sqrt(np.dot(w, w)) * norms
    return heights, lowest


@compiled
def _lowest(heights: Any, barred: Any) -> int:
    """Return the lowest row below 1 that is not barred, or -1."""
    lowest, value = -1, 1.0
    for i in range(heights.size):
        if heights[i] < value and not barred[i]:
            lowest, value = i, heights[i]
    return lowest


@compiled
def _wolfe(rows: Any, corral: Any, settings: Any, search: Any) -> tuple[int, bool]:
    """Go on to the corral that holds the nearest point for some rounds; return its size, and whether it is the one."""
    Z, sign, norms = rows
    k, p, c, tol, rounds = settings
    w, basis, barred, numbers = search
    if math.isnan(numbers[4]):  # the first stretch
        numbers[:] = 0.0
        numbers[2] = np.inf
        _point(Z, corral, k, w)
        w /= np.dot(w, w)
    shortest, stalls = numbers[2], int(numbers[3])
    ended = False
    b = lowest = 0.0
    for _ in range(rounds):
        k = _to_corral(Z, sign, corral, k, p, basis, w)
        b, residual = _level(Z, sign, corral, k, p, w, np.empty(k))
        refined = not residual < _GOOD  # a normal that is good enough to choose the next row is refined at the end only
        if refined:
            b, residual = _direction(Z, sign, corral, k, p, basis, w)
        if not residual < 0.5:  # the plane cannot be told from one through the origin
            w[:] = 0.0
            numbers[0], numbers[1] = 0.0, -np.inf
            return k, True
        size = math.sqrt(np.dot(w, w))
        if 1.0 / size < shortest:
            shortest, stalls = 1.0 / size, 0
            barred[:] = False
        else:
            stalls += 1
        heights, lowest = _heights(Z, sign, norms, p, w, b, tol + residual)
        entering = _lowest(heights, barred)
        if entering < 0 and not refined:
            b, residual = _direction(Z, sign, corral, k, p, basis, w)
            if not residual < 0.5:
                w[:] = 0.0
                numbers[0], numbers[1] = 0.0, -np.inf
                return k, True
            heights, lowest = _heights(Z, sign, norms, p, w, b, tol + residual)
            entering = _lowest(heights, barred)
        while entering >= 0 and not _insert(corral, k, _column(Z, sign, p, c, entering)):
            barred[entering] = True
            entering = _lowest(heights, barred)
        if entering < 0 or stalls > _STALLS:
            ended = True
            break
        barred[entering] = True
        corral.rows[k], corral.weights[k] = entering, 0.0
        k += 1
    numbers[0], numbers[1], numbers[2], numbers[3] = b, lowest, shortest, stalls
    return k, ended
