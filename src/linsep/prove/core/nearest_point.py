"""Finds the point of a convex hull nearest to the origin: Wolfe's algorithm with an updated QR.

Problem: minimize ``‖Σ λ_i z_i‖`` over ``λ >= 0, Σ λ_i = 1``, where ``z_i`` are the rows of ``Z``. With two groups of
rows the weights of each group sum to one half: the shortest line between two hulls when ``z_i = ±x_i``.

The rounds are in ``corrals``.

After Wolfe (1976), *Finding the nearest point in a polytope*, Mathematical Programming 11; the factorization after
Daniel, Gragg, Kaufman & Stewart (1976), Mathematics of Computation 30.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.data.parallel import hush
from linsep.problem import Array, Floats
from linsep.prove.core.corrals import Search

_ANY_PLANE = 0.7  # tolerance with which a plane that all rows are above by a good deal will do
_ROUND = 0.3  # operations of a round for every number in the rows
_STRETCH = 500  # rounds between two looks at the clock


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
        search = Search(Z, sign, np.sqrt(squares), p, c)
        for row, weight in zip(rows.tolist(), weights.tolist(), strict=True):
            search.insert(row, weight)
        hush()
        search.begin()
        for _ in range(rounds):
            if search.round(tol):
                break
            if clock is not None:
                clock.check()
        weights, w = np.zeros(m), search.w
        weights[search.rows[: search.k]] = search.S[0, : search.k]
        point = weights @ Z
        if scaled:  # weights of a margin below all floats overflow
            point, w = np.ldexp(point, exponent), np.ldexp(w, -exponent)
    return Nearest(weights, point, np.flatnonzero(weights), w, search.b, search.lowest)


def nearest_plane(Z: Floats, start: Floats | None, clock: Clock) -> Nearest:
    """Find any plane that has all rows on its positive side, in stretches that are short enough to ask the clock."""
    patient = math.isinf(clock.left)
    rounds, shortest = _STRETCH if patient else _STRETCH // 25, math.inf
    while True:
        began = clock.elapsed
        clock.check(0.0 if patient else _ROUND * rounds * Z.size)
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
