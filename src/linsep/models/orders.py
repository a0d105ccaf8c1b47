"""Searches for an order of visits in which the perceptron makes many mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linsep.clock import Clock
from linsep.data.arrays import is_sparse
from linsep.data.labels import at_least_two_classes, class_labels
from linsep.data.matrices import as_matrix
from linsep.errors import DataError
from linsep.models.perceptron import Perceptron
from linsep.problem import Array, Floats
from linsep.prove.bounds.margins import largest_margin
from linsep.prove.bounds.mistake_bounds import Bound, mistake_bound
from linsep.prove.numbers.tables import refuse_rounding

_MOST_ROWS = 5000  # all of which are looked at before every mistake


@dataclass(frozen=True, repr=False)
class HardOrder:
    """An order of visits with many mistakes, and what bounds them.

    Attributes
    ----------
    order : ndarray of shape (mistakes,)
        Rows to visit one after the other: each is a mistake when its turn comes. After them no row is wrong.
    mistakes : int
        How many there are.
    bound : Bound
        The mistake bound, which no order can exceed.
    tried : int
        Orders that the search has tried.

    Examples
    --------
    >>> from linsep import hardest_order
    >>> hardest_order([[1, 0], [0, -1]], [1, -1], fit_intercept=False, time_limit=0).mistakes
    2
    """

    order: Array
    mistakes: int
    bound: Bound
    tried: int

    def __repr__(self) -> str:
        return f"HardOrder({self.mistakes} mistakes, bound {self.bound.mistakes}, best of {self.tried} orders)"


def hardest_order(
    X: Any, y: Any, *, fit_intercept: bool = True, time_limit: float = 3.0, random_state: int = 0
) -> HardOrder:
    """Search for an order in which the perceptron makes as many mistakes as it can find, of two classes.

    If no plane separates the rows, ``NotSeparable`` says so: then there are orders without an end.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
    fit_intercept : bool, default=True
    time_limit : float, default=3.0
        Seconds; at least one order is tried.
    random_state : int, default=0

    Returns
    -------
    found : HardOrder
        ``Perceptron(order=found.order).fit(X, y)`` makes these mistakes.

    Notes
    -----
    Each try picks among the rows that are mistakes the one that helps least: with little progress toward the plane of
    largest margin and little overlap with the present weights, weighted at random. It is a search, not a proof that no
    order has more.

    Examples
    --------
    >>> from linsep import Perceptron, hardest_order, teacher
    >>> X, y, _ = teacher(30, 2, margin=0.05)
    >>> found = hardest_order(X, y, time_limit=0.2)
    >>> Perceptron(order=found.order).fit(X, y).mistakes_ == found.mistakes <= found.bound.mistakes
    True
    """
    clock = Clock(time_limit)
    refuse_rounding(X)
    matrix = as_matrix(X)
    matrix = np.asarray(matrix.toarray() if is_sparse(matrix) else matrix, dtype=np.float64)
    classes, codes = at_least_two_classes(class_labels(y))
    if len(classes) != 2:
        raise DataError("", f"an order is searched for two classes, but there are {len(classes)}")
    if len(matrix) > _MOST_ROWS:
        raise DataError("", f"there are {len(matrix)} rows; the search takes {_MOST_ROWS} at most")
    bound = mistake_bound(X, y, fit_intercept=fit_intercept)
    best = largest_margin(X, y, form="augmented" if fit_intercept else "origin")
    Z = np.column_stack((matrix, np.ones(len(codes)))) if fit_intercept else matrix
    Z = np.where(codes == 1, 1.0, -1.0)[:, None] * Z
    u = np.append(np.asarray(best.w, np.float64), float(best.b))[: Z.shape[1]]
    toward = Z @ u / np.linalg.norm(u)
    toward /= toward.max()
    rng, order, tried = np.random.default_rng(random_state), np.empty(0, np.intp), 0
    while tried == 0 or clock.left > 0:
        candidate = _one_order(Z, toward, float(rng.normal()) if tried else 0.0, clock if tried else Clock())
        tried += 1
        if len(candidate) > len(order):
            order = candidate
    # what the compiled loop makes of it: a score that rounds to another sign is no mistake there
    made = Perceptron(order=order.tolist(), fit_intercept=fit_intercept, prove=False).fit(X, y).trace_
    return HardOrder(made, len(made), bound, tried)


def _one_order(Z: Floats, toward: Floats, weight: float, clock: Clock) -> Array:
    """Return mistakes until no row is one; none if the clock ends that."""
    w, order = np.zeros(Z.shape[1]), list[int]()
    longest = float(np.linalg.norm(Z, axis=1).max())
    while True:
        slacks = Z @ w
        wrong = np.flatnonzero(slacks <= 0)
        if len(wrong) == 0:
            return np.array(order, dtype=np.intp)
        if clock.left <= 0:
            return np.empty(0, np.intp)
        size = float(np.linalg.norm(w)) * longest or 1.0
        i = int(wrong[(toward[wrong] - weight * slacks[wrong] / size).argmin()])
        order.append(i)
        w += Z[i]
