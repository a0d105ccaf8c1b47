"""Finds the cheapest refutation through a given row with a compiled primal simplex.

``min Σ price_i λ_i`` subject to ``Σ λ_i a_i = b``, ``λ ≥ 0``: as many equations as unknown weights of a plane, one
column per row of data. A basic solution is a circuit: at most ``D`` rows that combine to ``b``. The revised method with
an explicit inverse (Dantzig & Orchard-Hays 1954), artificial columns ``±e_j`` of a price that nothing real has, and
partial pricing. Nothing here is exact; what it returns is made exact, or dropped, elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.compiling import compiled

_compiled = compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
DEAR = 1e5  # price of an artificial column; what still uses one has no solution, or none worth having
_ZERO, _PIVOT = 1e-9, 1e-8  # a reduced price, or a pivot, no larger is rounding
_BLOCK = 2048  # columns looked at before the best of them enters
_AFRESH = 60  # changes of the basis between two inversions

OPTIMAL, INFEASIBLE, LOST = 0, 1, 2


@_compiled
def _column(A: Any, j: int, a: Any) -> None:
    """Put column ``j`` into ``a``; beyond the last row of ``A`` come ``e_0 …`` and then ``-e_0 …``."""
    n, D = A.shape
    if j < n:
        for i in range(D):
            a[i] = A[j, i]
    else:
        a[:] = 0.0
        a[(j - n) % D] = 1.0 if j < n + D else -1.0


@_compiled
def _invert(A: Any, b: Any, basis: Any, inverse: Any, level: Any) -> bool:
    """Compute the inverse of the basis and the levels; False if the basis is not fit to go on from."""
    D = basis.size
    work = np.zeros((D, 2 * D))  # by Gauss and Jordan
    for k in range(D):
        _column(A, basis[k], level)
        work[:, k] = level
        work[k, D + k] = 1.0
    for k in range(D):
        p = k + np.abs(work[k:, k]).argmax()
        if abs(work[p, k]) < 1e-11:
            return False
        for j in range(k, 2 * D):
            work[k, j], work[p, j] = work[p, j], work[k, j]
        work[k, k:] /= work[k, k]
        for i in range(D):
            factor = work[i, k]
            if i != k and factor != 0.0:
                for j in range(k, 2 * D):
                    work[i, j] -= factor * work[k, j]
    inverse[:] = work[:, D:]
    level[:] = np.dot(inverse, b)
    if level.min() < -1e-7:
        return False
    np.maximum(level, 0.0, level)
    return True


@_compiled
def _enter(A: Any, price: Any, pi: Any, first: int) -> Any:
    """Return the column of most negative reduced price in the first block that has one, and where the block ends."""
    n, D = A.shape
    best, value, looked, j = -1, -_ZERO, 0, first
    while looked < n and best < 0:
        stop = min(n, j + _BLOCK, j + n - looked)
        for i in range(j, stop):
            if price[i] == np.inf:
                continue
            reduced = price[i]
            for k in range(D):
                reduced -= pi[k] * A[i, k]
            if reduced < value:
                best, value = i, reduced
        looked += stop - j
        j = stop if stop < n else 0
    return best, j


@_compiled
def _leave(direction: Any, level: Any) -> int:
    """Return the place whose level falls to zero first, among near ties that of the largest pivot; -1 for none."""
    limit = np.inf
    for i in range(level.size):
        if direction[i] > _PIVOT:
            limit = min(limit, (level[i] + 1e-10) / direction[i])
    out = -1
    for i in range(level.size):
        if direction[i] > _PIVOT and level[i] / direction[i] <= limit and (out < 0 or direction[i] > direction[out]):
            out = i
    return out


@_compiled
def cheapest(A: Any, price: Any, b: Any, basis: Any, level: Any, pi: Any) -> int:
    """Solve from ``basis`` (or from scratch if it starts with -1 or does not fit); basis, levels and prices are set.

    A price of infinity bars a column.
    """
    n, D = A.shape
    inverse, a, direction = np.empty((D, D)), np.empty(D), np.empty(D)
    fit = basis[0] >= 0
    for i in range(D):
        fit = fit and (basis[i] >= n or price[basis[i]] < np.inf)
    if not (fit and _invert(A, b, basis, inverse, level)):
        for i in range(D):
            basis[i] = n + i if b[i] >= 0.0 else n + D + i
        _invert(A, b, basis, inverse, level)
    at = 0
    for turn in range(60 * D + 400):
        if turn % _AFRESH == _AFRESH - 1 and not _invert(A, b, basis, inverse, level):
            return LOST
        pi[:] = 0.0
        for i in range(D):
            c = price[basis[i]] if basis[i] < n else DEAR
            for j in range(D):
                pi[j] += c * inverse[i, j]
        entering, at = _enter(A, price, pi, at)
        if entering < 0:
            return INFEASIBLE if (level[basis >= n] > 1e-7).any() else OPTIMAL
        _column(A, entering, a)
        for i in range(D):
            direction[i] = 0.0
            for j in range(D):
                direction[i] += inverse[i, j] * a[j]
        out = _leave(direction, level)
        if out < 0:
            return LOST
        step = level[out] / direction[out]
        for i in range(D):
            level[i] = max(level[i] - step * direction[i], 0.0)
        level[out] = step
        inverse[out] /= direction[out]
        for i in range(D):
            if i != out and direction[i] != 0.0:
                for j in range(D):
                    inverse[i, j] -= direction[i] * inverse[out, j]
        basis[out] = entering
    return LOST


@_compiled
def batch(A: Any, price: Any, through: Any, bases: Any, levels: Any, states: Any, pis: Any) -> None:
    """Solve for several rows: ``b = -A[through[k]]``; basis ``k`` is where to start from, -1 for from scratch."""
    price = price.copy()  # other threads have it too
    for k in range(through.size):
        kept = price[through[k]]
        price[through[k]] = np.inf
        states[k] = cheapest(A, price, -A[through[k]], bases[k], levels[k], pis[k])
        price[through[k]] = kept
