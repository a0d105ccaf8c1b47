"""Finds the plane of largest margin in very many sparse columns, or rows that about cancel, by conjugate gradients.

Problem: minimize ``½‖w‖²`` subject to ``z_i·v >= 1``, where ``v`` is ``w`` followed by coordinates that are free. Each
outer step minimizes ``½‖w‖² + Σ max(0, λ_i + C (1 - z_i·v))²/2C`` over v and sets ``λ_i`` to what stands in brackets.
The function is smooth and piecewise quadratic; its Newton systems involve only rows of the active set, and are solved
by conjugate gradients, so that rows are only ever multiplied by vectors.

After Rockafellar (1976), *Augmented Lagrangians and applications of the proximal point algorithm*, Mathematics of
Operations Research 1, and Keerthi & DeCoste (2005), *A modified finite Newton method*, JMLR 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.problem import Floats

_OUTER, _NEWTON, _GRADIENTS = 100, 60, 1000  # largest numbers of steps of each kind
_LIKELY = 300  # visits to all rows in a search, about
_FIRM, _FINE = 1e6, 1e-6  # penalty in rows' sizes with which slacks cancel up to about 1e-8 of them, and the accuracy
_STEEP = 1e14  # penalty, in rows' sizes, at which Newton's systems say nothing any more
_NOTHING = 1e-9  # a point of the hull this near to the origin, in rows' sizes, cannot be told from it


class Plane(NamedTuple):
    """A plane and the multipliers of its rows; ``v`` is zero where the origin is in the hull."""

    v: Floats  # (D,)
    multipliers: Floats  # (m,)
    penalty: float


def widest(Z: Any, free: int, clock: Clock, *, start: Plane | None = None, tol: float = 1e-8) -> Plane:
    """Find the shortest ``w`` with ``z·v >= 1 - tol`` for every row of a sparse matrix; the last of v may be free.

    ``start`` is the plane of an earlier call, to whose rows some have since been appended.
    """
    m, D = Z.shape
    Z2 = Z.multiply(Z).tocsr()
    size = math.sqrt(float(Z2.sum()) / m) or 1.0
    counted = np.ones(D)
    counted[D - free :] = 0.0
    v, multipliers, C = np.zeros(D), np.zeros(m), 10.0 / size**2
    if start is not None:
        v, C = start.v.copy(), start.penalty
        multipliers[: len(start.multipliers)] = start.multipliers
    h = Z @ v
    before, accuracy = 1.0, 0.03
    for _ in range(_OUTER):
        clock.check()
        _minimize((Z, Z2, counted, multipliers, C), v, h, max(tol, accuracy * before), clock)
        renewed = np.maximum(0.0, multipliers + C * (1.0 - h))
        worst = float(np.abs(renewed - multipliers).max()) / C  # by how much a row with a multiplier is off its plane
        multipliers = renewed
        if worst <= tol or C * size**2 > _STEEP:
            break
        if worst > 0.4 * before:
            C *= 5.0
        if worst > 0.8 * before:  # perhaps no plane is there, and the multipliers grow for ever
            accuracy *= 0.1
            if float(np.linalg.norm(Z.T @ multipliers)) < _NOTHING * size * float(multipliers.sum()):
                return Plane(np.zeros(D), multipliers, C)
        before = worst
    return Plane(v, multipliers, C)


def likely_work(cells: int) -> float:
    """Return about how much work ``least_slacks`` takes on rows with this number of cells."""
    return _LIKELY * cells


def least_slacks(Z: Any, clock: Clock) -> Plane:
    """Minimize the squared slacks of all rows, with a touch of ``‖v‖²``: the multipliers are the slacks.

    Where rows contradict each other the slacks about cancel: ``‖Σ s_i z_i‖`` is ``‖v‖`` over the penalty.
    """
    m, D = Z.shape
    Z2 = Z.multiply(Z).tocsr()
    penalty = _FIRM / (float(Z2.sum()) / m or 1.0)
    v, h = np.zeros(D), np.zeros(m)
    _minimize((Z, Z2, np.ones(D), np.zeros(m), penalty), v, h, _FINE, clock)
    return Plane(v, np.maximum(0.0, 1.0 - h), penalty)


def _minimize(problem: tuple[Any, Any, Floats, Floats, float], v: Floats, h: Floats, tol: float, clock: Clock) -> None:
    """Minimize the augmented Lagrangian over ``v`` by Newton's method, in place together with ``h = Z v``."""
    Z, Z2, counted, multipliers, C = problem
    for _ in range(_NEWTON):
        clock.check(4 * Z.nnz)
        pull = np.maximum(0.0, multipliers + C * (1.0 - h))
        gradient = counted * v - Z.T @ pull
        active = np.flatnonzero(pull)
        diagonal = counted + C * (Z2.T @ (pull > 0).astype(np.float64))
        diagonal[diagonal == 0.0] = 1.0
        length = math.sqrt(_inner(gradient, gradient / diagonal))
        if length <= 0.1 * tol * math.sqrt(C):  # no row would move by more than a tenth of the tolerance
            break
        A = Z[active]
        p = _gradients((A, counted, C), diagonal, -gradient, 0.05, clock)
        q = Z @ p
        t = _step(counted, multipliers, C, v, h, p, q)
        if t == 0.0:
            break
        v += t * p
        h += t * q


def _inner(a: Floats, b: Floats) -> float:
    """Return the inner product; BLAS would start threads for it, which costs more than the sum where others compute."""
    return float((a * b).sum())


def _gradients(matrix: tuple[Any, Floats, float], diagonal: Floats, r: Floats, accuracy: float, clock: Clock) -> Floats:
    """Solve ``(D + C AᵀA) p = r`` by conjugate gradients with its diagonal as preconditioner."""
    A, counted, C = matrix
    p = np.zeros(len(r))
    s = r / diagonal
    direction = s.copy()
    rho = _inner(r, s)
    goal = accuracy**2 * rho
    for _ in range(_GRADIENTS):
        if rho <= goal or rho == 0.0:
            break
        clock.check(2 * A.nnz)
        image = counted * direction + C * (A.T @ (A @ direction))
        length = rho / _inner(direction, image)
        p += length * direction
        r = r - length * image
        s = r / diagonal
        rho, last = _inner(r, s), rho
        direction = s + (rho / last) * direction
    return p


def _step(counted: Floats, multipliers: Floats, C: float, v: Floats, h: Floats, p: Floats, q: Floats) -> float:
    """Minimize exactly along a direction: the slope is increasing and piecewise linear in t."""
    along, curve = _inner(counted * v, p), _inner(counted * p, p)

    def slope(t: float) -> float:
        return along + t * curve - _inner(np.maximum(0.0, multipliers + C * (1.0 - h - t * q)), q)

    return _root(slope)


def _root(slope: Callable[[float], float]) -> float:
    """Return where an increasing function that is negative at 0 crosses zero, by doubling and regula falsi."""
    low, high = 0.0, 1.0
    at_low, at_high = slope(0.0), slope(1.0)
    if at_low >= 0.0:
        return 0.0
    if abs(at_high) <= 1e-3 * -at_low:
        return 1.0
    while at_high < 0.0:
        low, at_low, high = high, at_high, 2 * high
        if high > 1e12:
            return low
        at_high = slope(high)
    scale = abs(slope(0.0))
    for _ in range(60):
        t = (low * at_high - high * at_low) / (at_high - at_low)
        value = slope(t)
        if abs(value) <= 1e-6 * scale:
            return t
        if value < 0.0:
            low, at_low, at_high = t, value, at_high / 2  # the Illinois rule keeps both ends moving
        else:
            high, at_high, at_low = t, value, at_low / 2
    return low
