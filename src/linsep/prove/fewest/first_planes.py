"""Finds a first plane for very many rows in the time of a few passes, by least squares near the plane.

Rows far from a plane say little about its direction. Among those within a band of width h around the plane, labels
change within h, so the error of least squares shrinks like the square root of h, until too few rows are left.
"""

from __future__ import annotations

import numpy as np

from linsep.clock import Cancelled, Clock, OutOfTime
from linsep.problem import Array, Dense, Floats
from linsep.prove.claims import Data, Separator
from linsep.prove.core.scaled_view import sums

_ROWS = 1 << 18  # fewer are searched by better means in no time
_BANDS = (0.3, 0.1)  # widths, in standard deviations of the heights
_PACE = 4e-9  # seconds for each number


def first_plane(data: Data, weights: Array, clock: Clock) -> Separator | None:
    """Return a plane that does well on very many dense rows of two classes; None for others, or without time."""
    if len(data.y) < _ROWS or data.classes > 2 or not isinstance(data.rows, Dense):
        return None
    x, sign = data.rows.data, np.where(data.y == 1, 1.0, -1.0)
    best, fewest, near = None, np.inf, np.ones(len(sign), dtype=bool)
    try:
        for band in (*_BANDS, 0.0):
            clock.check(_PACE * near.sum() * x.shape[1])
            w = _least_squares(x if near.all() else x[near], sign[near], data.offset)
            heights = sums(data, w[:-1]) + w[-1]
            wrong = int(weights[sign * heights <= 0].sum())
            if not wrong < fewest:
                break
            best, fewest = Separator(w[:-1], float(w[-1])), wrong
            near = np.abs(heights) < band * heights.std()
            if near.sum() < 100 * len(w):
                break
    except (OutOfTime, Cancelled):
        pass
    return best


def _least_squares(x: Array, sign: Floats, offset: bool) -> Floats:
    """Return the weights, and the offset, with which sums are nearest to the labels 1 and -1."""
    values = x.astype(np.float64, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = values.T @ values
    if not np.isfinite(squares).all():
        return np.zeros(x.shape[1] + 1)  # too large for squares: the search has better means
    total = values.sum(axis=0) * float(offset)
    gram = np.block([[squares, total[:, None]], [total, float(len(x))]])
    size = np.sqrt(np.diag(gram))
    size[size == 0] = 1.0
    right = np.append(values.T @ sign, sign.sum() * float(offset))
    found: Floats = np.linalg.lstsq(gram / np.outer(size, size), right / size, rcond=None)[0] / size
    return found
