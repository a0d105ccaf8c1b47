"""Confidence intervals for a proportion."""

from __future__ import annotations


def clopper_pearson(
    wrong: int, rows: int, confidence: float = 0.95, *, delta: float | None = None
) -> tuple[float, float]:
    """Return the exact interval for a share of which ``wrong`` of ``rows`` were seen (Clopper & Pearson 1934).

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
    return low, high
