"""Confidence intervals for a proportion."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np

_DIGITS = 60  # of the logarithms, which cancel: their size is about that of the number of rows
_ROUNDED = Decimal("1e-30")  # more than rounding to so many digits can add up to
_STIRLING = 64  # from which on n! is not computed
_LOG_ROOT_TWO_PI = Decimal("0.918938533204672741780329736405617639861397473637783412817151540")
_TERMS = 1 << 16  # of a sum that are added at a time


def clopper_pearson(
    wrong: int, rows: int, confidence: float = 0.95, *, delta: float | None = None
) -> tuple[float, float]:
    """Return the exact interval for a share of which ``wrong`` of ``rows`` were seen (Clopper & Pearson 1934).

    SciPy computes the ends. Each is then moved outward until a bound on the binomial tail at it, with all rounding
    upwards, is no more than half of one minus the confidence: the interval is never too narrow.

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
    from scipy.special import betainccinv, betaincinv

    tail = (1 - confidence if delta is None else delta) / 2
    low = 0.0 if wrong == 0 else float(betaincinv(wrong, rows - wrong + 1, tail))
    high = 1.0 if wrong == rows else float(betainccinv(wrong + 1, rows - wrong, tail))
    step = math.ulp(low)
    while low > 0 and at_most(rows - wrong, rows, low, mirrored=True) > tail:
        low, step = max(0.0, low - step), 2 * step
    step = math.ulp(high)
    while high < 1 and at_most(wrong, rows, high) > tail:
        high, step = min(1.0, high + step), 2 * step
    return low, high


def at_most(count: int, rows: int, share: float, *, mirrored: bool = False) -> float:
    """Return an upper bound, tight to a billionth, on the probability of at most ``count`` of ``rows`` events.

    They are independent, each of probability ``share``, or of 1 - ``share`` if ``mirrored``. The largest term is
    computed in decimals, the others by their ratios ``j q / ((n - j + 1) p)``, which fall:
    what is left out is at most a geometric series.
    """
    with localcontext(prec=_DIGITS):
        p, q = Decimal(share), 1 - Decimal(share)
        p, q = (q, p) if mirrored else (p, q)
        first = upwards((log_choices(rows, count) + count * p.ln() + (rows - count) * q.ln()).exp())
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


def log_choices(n: int, s: int) -> Decimal:
    """Return an upper bound on the logarithm of the number of ways to choose ``s`` of ``n``, off by 1e-13 at most."""
    with localcontext(prec=_DIGITS):
        return _log_factorial(n)[1] - _log_factorial(s)[0] - _log_factorial(n - s)[0]


def _log_factorial(n: int) -> tuple[Decimal, Decimal]:
    """Return bounds on ``ln n!``: Stirling's series, whose error has the sign of the first term left out."""
    if n < _STIRLING:
        exact = Decimal(math.factorial(n)).ln()
        return exact - _ROUNDED, exact + _ROUNDED
    x = Decimal(n)
    near = (x + Decimal("0.5")) * x.ln() - x + _LOG_ROOT_TWO_PI + 1 / (12 * x) - 1 / (360 * x**3) + 1 / (1260 * x**5)
    return near - 1 / (1680 * x**7) - _ROUNDED, near + _ROUNDED


def upwards(number: Decimal) -> float:
    """Return a double that is not below a number, nor below what rounding may have taken from it."""
    return math.nextafter(float(number), math.inf)
