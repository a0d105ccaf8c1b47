"""Confidence intervals for a proportion, and logarithms of counts, in the ball arithmetic of Arb (Johansson 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from flint import arb, ctx

_BITS = 192  # of a ball: the logarithms cancel, and their size is about that of the number of rows
_TERMS = 1 << 16  # of a sum that are added at a time


def clopper_pearson(
    wrong: int, rows: int, confidence: float = 0.95, *, delta: float | None = None
) -> tuple[float, float]:
    """Return the exact interval for a share of which ``wrong`` of ``rows`` were seen (Clopper & Pearson 1934).

    Its ends are the doubles from which on an upper bound on the binomial tail is no more than half of one minus the
    confidence: the interval is never too narrow.

    Parameters
    ----------
    wrong, rows : int
    confidence : float, default=0.95
    delta : float, default=None
        One minus the confidence, which says it more precisely where that is next to 1.

    Returns
    -------
    low, high : float

    Examples
    --------
    >>> from linsep.prove.bounds.intervals import clopper_pearson
    >>> low, high = clopper_pearson(0, 10, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.0, 0.3085)
    """
    tail = (1 - confidence if delta is None else delta) / 2
    low = high = 0.0
    if wrong > 0:
        low = _last(0.0, 1.0, lambda share: at_most(rows - wrong, rows, share, mirrored=True) <= tail)
    if wrong < rows:
        high = _last(1.0, 0.0, lambda share: at_most(wrong, rows, share) <= tail)
    return low, high if wrong < rows else 1.0


def _last(good: float, bad: float, holds: Callable[[float], bool]) -> float:
    """Return the last double on the way from ``good`` to ``bad`` at which something holds."""
    while (middle := (good + bad) / 2) not in (good, bad):
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


def at_most(count: int, rows: int, share: float, *, mirrored: bool = False) -> float:
    """Return an upper bound on the probability of at most ``count`` of ``rows`` events.

    They are independent, each of probability ``share``, or of 1 - ``share`` if ``mirrored``. The bound is tight to a
    billionth, or 1 where the probability is more than one half. The largest term is that of ``count``; the others
    follow by their ratios ``j q / ((n - j + 1) p)``, which fall: what is left out is at most a geometric series.
    """
    with ctx.workprec(_BITS):
        p, q = arb(share), 1 - arb(share)
        p, q = (q, p) if mirrored else (p, q)
        if not count <= (rows + 1) * p:
            return 1.0
        first = upwards((log_choices(rows, count) + count * p.log() + (rows - count) * q.log()).exp())
        odds = upwards(q / p)
    total, last, added = 1.0, 1.0, 0
    for start in range(count, 0, -_TERMS):
        j = np.arange(start, max(0, start - _TERMS), -1, dtype=np.float64)
        ratios = j / (rows - j + 1) * odds
        terms = last * np.cumprod(ratios)
        total, last, added = total + float(terms.sum()), float(terms[-1]), added + len(j)
        if ratios[-1] < 1 and last * ratios[-1] / (1 - ratios[-1]) < 1e-17 * total:
            total += 1e-17 * total
            break
    return min(1.0, math.nextafter(first * total * (1 + (8 * added + 16) * 2.0**-53), 1.0))


def log_choices(n: int, s: int) -> arb:
    """Return the logarithm of the number of ways to choose ``s`` of ``n``."""
    with ctx.workprec(_BITS):
        return arb(n + 1).lgamma() - arb(s + 1).lgamma() - arb(n - s + 1).lgamma()


def upwards(number: arb) -> float:
    """Return a double that is not below a number."""
    return math.nextafter(float(number.upper()), math.inf)
