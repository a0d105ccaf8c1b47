"""Finds a plane with few errors by exact line search, compiled.

Item ``k`` owns the rows ``k V … (k + 1) V - 1`` of ``Z`` and is right when ``z·w > 0`` for all of them (``V = 1`` for
two classes). Along ``w + a δ`` an item is right on one open interval of ``a``; all ends sorted, one sweep finds the
stretch of least cost (the line search of Nguyen & Sanner 2013, *Algorithms for direct 0-1 loss optimization*, ICML,
there coordinate by coordinate). Ties are accepted, which lets the plane drift along plateaus.
"""

# ruff: noqa: NPY002 - a generator cannot be made in compiled code
from __future__ import annotations

import math
from typing import Any

import numpy as np

from linsep.compiling import compiled

_compiled = compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
_REFRESH = 40  # steps after which scores are computed anew
_MET = 6  # wrong rows of which the nearest is taken
_SORTED = 4096  # break points that are sorted, at most: those of the smallest steps


@_compiled
def scores(Z: Any, w: Any, s: Any) -> None:
    """Put ``z·w`` of every row into ``s``."""
    for i in range(Z.shape[0]):
        total = 0.0
        for j in range(w.size):
            total += Z[i, j] * w[j]
        s[i] = total


def scored(Z: Any, w: Any) -> Any:
    """Return ``z·w`` of every row."""
    s = np.empty(len(Z))
    scores(Z, w, s)
    return s


@_compiled
def wrong_cost(s: Any, cost: Any, V: int) -> int:
    """Return the cost of the items that are not right."""
    total = 0
    for k in range(cost.size):
        for v in range(k * V, k * V + V):
            if not s[v] > 0.0:
                total += cost[k]
                break
    return total


@_compiled
def _ends(s: Any, t: Any, cost: Any, V: int, reach: float, at: Any, change: Any) -> Any:
    """List where items become right or wrong for steps within ``reach``; return how many, and the cost right at 0-."""
    m = 0
    always = 0  # right at the lower end of the stretch looked at
    for k in range(cost.size):
        lo, hi = -np.inf, np.inf
        for v in range(k * V, k * V + V):
            if t[v] > 0.0:
                lo = max(lo, -s[v] / t[v])
            elif t[v] < 0.0:
                hi = min(hi, -s[v] / t[v])
            elif not s[v] > 0.0:
                hi = -np.inf
        if not lo < hi or hi <= -reach or lo >= reach:
            continue
        if lo <= -reach:
            always += cost[k]
        else:
            at[m], change[m] = lo, cost[k]
            m += 1
        if hi < reach:
            at[m], change[m] = hi, -cost[k]
            m += 1
    return m, always


@_compiled
def _best_step(at: Any, change: Any, m: int, always: int, reach: float) -> Any:
    """Return the middle of a stretch where the cost of right items is largest, and that cost; ties at random."""
    order = np.argsort(at[:m])
    right = best = always
    if m == 0:
        return 0.0, best
    first = at[order[0]]
    step = max(-reach, first - 1.0 - abs(first))
    step = 0.5 * (first + step) if step > -np.inf else first - 1.0 - abs(first)
    ties = 1
    for p in range(m):
        right += change[order[p]]
        here = at[order[p]]
        last = p + 1 == m
        there = min(reach, here + 1.0 + abs(here)) if last else at[order[p + 1]]
        if not there > here:
            continue
        middle = 0.5 * (here + there)
        if not here < middle < there:
            continue
        if right > best:
            best, step, ties = right, middle, 1
        elif right == best:
            ties += 1
            if np.random.random() * ties < 1.0:
                step = middle
    return step, best


@_compiled
def _reach(s: Any, t: Any) -> float:
    """Return a step with only a few break points within, as a sample shows; infinite for few rows."""
    n = s.size
    if n <= _SORTED:
        return np.inf
    sample = np.empty(512)
    for k in range(512):
        i = np.random.randint(n)
        sample[k] = abs(s[i] / t[i]) if t[i] != 0.0 else np.inf
    sample.sort()
    reach = sample[min(511, max(2, int(512.0 * _SORTED / n)))]
    return reach if reach > 0.0 else np.inf


@_compiled
def _nearest(s: Any, wrong: Any, count: int) -> int:
    """Return the nearest to the plane of a few wrong rows met at random."""
    pick = wrong[np.random.randint(count)]
    for _ in range(min(count, _MET) - 1):
        row = wrong[np.random.randint(count)]
        if s[row] > s[pick]:
            pick = row
    return int(pick)


@_compiled
def _direction(Z: Any, pick: int, delta: Any) -> None:
    """Choose a direction: towards a row, if there is one, at random, or along an axis."""
    D = delta.size
    dice = np.random.random()
    if dice < 0.6 and pick >= 0:
        size = 0.0
        for j in range(D):
            delta[j] = Z[pick, j]
            size += delta[j] * delta[j]
        if dice < 0.3:
            size = math.sqrt(size / D)
            for j in range(D):
                delta[j] += 0.5 * size * np.random.normal()
        return
    if dice < 0.8:
        for j in range(D):
            delta[j] = np.random.normal()
        return
    delta[:] = 0.0
    delta[np.random.randint(D)] = 1.0


@_compiled
def _list_wrong(s: Any, wrong: Any) -> int:
    """List the rows that are not right, and return how many."""
    count = 0
    for i in range(s.size):
        if not s[i] > 0.0:
            wrong[count] = i
            count += 1
    return count


@_compiled
def improve(Z: Any, cost: Any, V: int, w: Any, steps: int, seed: int) -> int:
    """Lower the cost of wrong items by ``steps`` line searches; the best plane found goes into ``w``.

    Returns the cost of the wrong items under it, as floats see them.
    """
    np.random.seed(seed)
    n, D = Z.shape
    s, t, delta = np.empty(n), np.empty(n), np.empty(D)
    at, change = np.empty(2 * cost.size), np.empty(2 * cost.size, dtype=np.int64)
    wrong = np.empty(n, dtype=np.int64)
    here = w.copy()
    scores(Z, here, s)
    count = _list_wrong(s, wrong)
    best = wrong_cost(s, cost, V)
    now, everything = best, cost.sum()
    for step in range(steps):
        if best == 0:
            break
        if step % _REFRESH == _REFRESH - 1:
            size = math.sqrt(np.dot(here, here))
            here /= size if size > 0.0 else 1.0
            scores(Z, here, s)
            count = _list_wrong(s, wrong)
        _direction(Z, _nearest(s, wrong, count) if count > 0 else -1, delta)
        scores(Z, delta, t)
        reach = _reach(s, t)
        m, always = _ends(s, t, cost, V, reach, at, change)
        move, right = _best_step(at, change, m, always, reach)
        if reach < np.inf:  # rows beyond are as they were
            s_new = s + move * t
            found = wrong_cost(s_new, cost, V)
        else:
            found = everything - right
        if found <= now:
            now = found
            here += move * delta
            for i in range(n):
                s[i] += move * t[i]
            count = _list_wrong(s, wrong)
        if now < best:
            best = now
            w[:] = here
    scores(Z, w, s)
    return int(wrong_cost(s, cost, V))
