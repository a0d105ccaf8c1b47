"""The largest margin with a certified bracket: the nearest point of the hull of ``y x``, found on a working set of rows.

The set grows by the worst rows of each full pass; what the search ends with is then bounded in arithmetic that rounding
cannot fool. ``task`` says what the rows of the hull are, ``bracket`` bounds.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from linsep import encode
from linsep.hull import nearest_point
from linsep.margin import bracket
from linsep.margin.task import Task, heights, row_numbers, vectors, weights
from linsep.problem import Array, Dense, Floats, NotSeparable, Rows, count
from linsep.train import squared_norms

__all__ = ["Margin", "largest_margin"]

_FORMS = ("affine", "origin", "augmented")
_CHEAP = 2.0**17  # offsets that must not count are measured in this many radii: they count for 1e-10 then


@dataclass(frozen=True, repr=False)
class Margin:
    """The largest margin of some rows, between two bounds that are true in exact arithmetic.

    Attributes
    ----------
    lower, upper : float
        Bounds: the plane ``w, b`` keeps at least ``lower`` from every row, and no plane keeps more than ``upper``.
    form : {"affine", "origin", "augmented"}
        Which of the three margins it is.
    w : ndarray of shape (d,) or (classes, d)
        Weights, of norm 1 (with ``b`` in the augmented form).
    b : float or ndarray of shape (classes,)
        Offset.
    support : ndarray of shape (k,)
        Rows that hold the plane in its place. For more than two classes a row is there once for every rival.
    multipliers : ndarray of shape (k,)
        Positive weights λ of these rows, of sum 1, with ``upper >= ‖Σ λ y x‖ / Σ λ`` and, in the affine form, equal
        sums in both classes, exactly.
    rivals : ndarray of shape (k,) or None
        For more than two classes the number of the class from which the row is to be told.
    classes : ndarray
        Labels; of two, the second is on the positive side.
    """

    lower: float
    upper: float
    form: str
    w: Floats
    b: Any
    support: Array
    multipliers: Floats
    rivals: Array | None = None
    classes: Array = field(default_factory=lambda: np.array([-1, 1]))

    @property
    def gap(self) -> float:
        """Relative width of the bracket."""
        return (self.upper - self.lower) / self.upper if self.upper > 0 else math.inf

    def __repr__(self) -> str:
        return (
            f"Margin({self.lower:.12g} <= margin <= {self.upper:.12g}, form={self.form!r}, "
            f"gap={self.gap:.1e}, support={len(np.unique(self.support))} rows)"
        )


class Found(NamedTuple):
    """What a search hands over: weights for the plane and for the hull."""

    W: Floats  # (classes, d), all zero where the origin is in the hull
    b: Floats  # (classes,)
    items: Array  # (k,)
    multipliers: Floats  # (k,)


def largest_margin(X: Any, y: Any, *, form: str = "affine", gap: float = 1e-6) -> Margin:
    """Find the plane that keeps farthest from all rows, and prove how far the best one can keep.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Rows of any real dtype.
    y : array-like of shape (n,)
        Labels, of two or more classes.
    form : {"affine", "origin", "augmented"}, default="affine"
        Which margin: of planes ``w·x + b = 0`` with ``‖w‖ = 1``; of planes through the origin; or of planes through
        the origin for the points ``(x, 1)``, the one in the mistake bound with offset. For more than two classes it
        is the smallest ``(w_c - w_r)·x + b_c - b_r`` over rows of class c and rivals r, all weights together of norm 1.
    gap : float, default=1e-6
        Largest relative width of the bracket. A warning says when double precision does not get there.

    Returns
    -------
    margin : Margin

    Raises
    ------
    NotSeparable
        If no plane separates the rows, as far as double precision can tell; its ``upper`` is proved.

    Notes
    -----
    The largest margin is the distance of the origin from the hull of the ``y_i x_i``, half the distance of the two
    classes' hulls in the affine form: the hard-margin support vector machine, Boser, Guyon & Vapnik (1992).

    Examples
    --------
    >>> from linsep import largest_margin
    >>> margin = largest_margin([[0, 0], [1, 0], [3, 0], [3, 2]], [-1, -1, 1, 1])
    >>> margin.w, margin.b, margin.support
    (array([1., 0.]), -2.0, array([1, 2]))
    >>> margin.lower <= 1 <= margin.upper
    True
    """
    if form not in _FORMS:
        raise ValueError(f"form must be one of {_FORMS}, got {form!r}")
    if not (isinstance(gap, float | int) and 0 < gap < 1):
        raise ValueError(f"gap must be between 0 and 1, got {gap!r}")
    X = encode.table(X)
    labels = encode.labels(y)
    encode.same_length(X, labels)
    classes, codes = encode.number(labels)
    if len(classes) < 2:
        raise ValueError(f"a margin needs two classes, y has only {classes.tolist()}")
    machines = 1 if len(classes) == 2 else len(classes)
    signs = np.where(codes == 1, 1, -1).astype(np.int8) if machines == 1 else codes.astype(np.intp)
    margin = _solve(encode.to_rows(X), signs, X.shape[1], machines, form, gap, X)
    object.__setattr__(margin, "classes", classes)
    if margin.gap > gap:
        warnings.warn(
            f"the bracket is {margin.gap:.1e} wide, not {gap:.1e}: the margin is {margin.upper:.3g} and double "
            "precision cannot place a plane more exactly for rows of this size; both bounds are true",
            RuntimeWarning,
            stacklevel=2,
        )
    return margin


def _solve(rows: Rows, y: Array, d: int, classes: int, form: str, gap: float, X: Any) -> Margin:
    """Search in rows brought into range, then bound with the rows as they are."""
    with np.errstate(over="ignore", under="ignore"):
        squares = squared_norms(rows, d)
    near, exponent = rows, 0
    largest = float(squares.max())
    if not 1e-200 < largest < 1e200:
        peak = float(np.abs(rows.data).max(initial=0))
        if not math.isfinite(peak):
            encode.refuse(X, np.zeros(1))
        exponent = math.frexp(peak)[1]
        near = rows._replace(data=np.ldexp(rows.data.astype(np.float64), -exponent))
        squares = squared_norms(near, d)
    radius = math.sqrt(float(squares.max())) or 1.0
    one = math.ldexp(1.0, max(-1000, min(1000, -exponent)))
    unit = {"origin": 0.0, "affine": 0.0 if classes == 1 else _CHEAP * radius, "augmented": one}[form]
    scaled = Task(near, y, d, classes, form, unit)
    found = _search(scaled, gap)

    exact = scaled._replace(rows=rows)
    with np.errstate(over="ignore"):
        norms = np.ldexp(np.sqrt(squares) * (1 + 1e-6), exponent) + d * 2.0**-1000
    a = bracket.on_grid(exact, found.items, found.multipliers)
    upper = bracket.upper(exact, found.items, a)
    if not found.W.any():
        raise NotSeparable(
            f"no plane separates the classes by a margin above {upper:.3g}: they are not linearly separable, as far as "
            f"double precision can tell. linsep.separate decides it exactly and names the rows that contradict each "
            "other; linsep.Perceptron fits data that no plane separates.",
            upper=upper,
        )
    b = np.ldexp(found.b, exponent if form == "affine" else 0)
    if form == "origin":
        b = np.zeros(classes)
    lower = bracket.lower(exact, found.W, b, norms, upper * (1 - gap / 2))
    kept = np.flatnonzero(a)
    items = found.items[kept]
    numbers = row_numbers(exact, items)
    order = np.argsort(items)
    return Margin(
        lower,
        upper,
        form,
        found.W[0] if classes == 1 else found.W,
        float(b[0]) if classes == 1 else b,
        numbers[order],
        (a[kept] / bracket.GRID).astype(np.float64)[order],
        None if classes == 1 else (items % classes)[order],
    )


# ---------------------------------------------------------------------------------------------------------------
# Search


def _search(task: Task, gap: float) -> Found:
    """Grow a working set by the worst rows of each full pass until no row is nearer than those in it."""
    pool = _first_items(task)
    Z = vectors(task, pool)
    start = None
    binary_affine = task.form == "affine" and task.classes == 1
    step = max(64, 2 * task.size)
    best = -math.inf
    while True:
        group = np.where(task.y[pool] > 0, 0, 1) if binary_affine else None
        nearest = nearest_point(Z, group, start=start, tol=gap / 16)
        items, multipliers = pool[nearest.support], nearest.weights[nearest.support]
        if not nearest.w.any():
            return Found(np.zeros((task.classes, task.d)), np.zeros(task.classes), items, multipliers)
        size = float(np.linalg.norm(nearest.w))
        W, b = weights(task, nearest.w / size, nearest.b / size)
        looked = heights(task, W, b)
        below = np.flatnonzero(looked.values * size < 1 - gap / 4)
        fresh = np.setdiff1d(looked.items[below], pool)
        lowest = float(looked.values.min())
        if len(fresh) == 0:
            return Found(*_centred(task, W, b, looked.values), items, multipliers)
        if len(fresh) > step:
            value = looked.values[row_numbers(task, fresh)]
            fresh = fresh[np.argpartition(value, step)[:step]]
        best = max(best, lowest)
        pool = np.concatenate((pool, fresh))
        Z = np.concatenate((Z, vectors(task, fresh)))
        start = nearest.weights


def _first_items(task: Task) -> Array:
    """Return the items to begin with: all of them if they are few, else a sample in which every class occurs."""
    n = count(task.rows)
    few = max(512, 4 * task.size)
    if task.items <= 2 * few:
        items = np.arange(n * task.classes)
        return items if task.classes == 1 else items[items % task.classes != task.y[items // task.classes]]
    rng = np.random.default_rng(0)
    rows = np.unique(np.concatenate((rng.choice(n, min(n, few), replace=False), np.unique(task.y, return_index=True)[1])))
    if task.classes == 1:
        return rows
    rival = (task.y[rows] + rng.integers(1, task.classes, len(rows))) % task.classes
    return rows * task.classes + rival


def _centred(task: Task, W: Floats, b: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Move the plane to the middle between the two classes, where it may be moved."""
    if task.form != "affine" or task.classes > 1:
        return W, b
    ahead, behind = values[task.y > 0].min(), values[task.y < 0].min()
    return W, b + (behind - ahead) / 2
