"""The largest margin with a certified bracket: the nearest point of the hull of ``y x``, by way of a working set.

The set grows by the worst rows of each full pass; what the search ends with is then bounded in arithmetic that rounding
cannot fool. ``task`` says what the rows of the hull are, ``lagrangian`` solves for sparse rows, ``bracket`` bounds.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.data.labels import at_least_two_classes, check_same_length, class_labels
from linsep.data.matrices import as_matrix, refuse_not_finite, to_rows
from linsep.errors import NotSeparable
from linsep.learn.driver import squared_norms
from linsep.problem import Array, Floats, Rows, count, take
from linsep.prove import margin_bracket
from linsep.prove.lagrangian import widest
from linsep.prove.margin_rows import Task, coefficients, heights, row_numbers, sparse_vectors, vectors, weights
from linsep.prove.nearest_point import nearest_point

_FORMS = ("affine", "origin", "augmented")
_MANY = 1024  # coordinates from which on rows are kept sparse and only multiplied by vectors
_ROUNDING = 1e-13  # of the radius: a margin below this, with no plane found, cannot be told from none
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
    rows : ndarray of shape (k,)
        Rows that hold the plane in its place, by number. For more than two classes a row is there once for every rival.
    multipliers : ndarray of shape (k,)
        Positive numbers λ for these rows, of sum 1, with ``upper >= ‖Σ λ y x‖ / Σ λ`` and, in the affine form, equal
        sums in both classes, exactly.
    rivals : ndarray of shape (k,) or None
        For more than two classes the number of the class from which the row is to be told.
    classes : ndarray
        Labels; of two, the second is on the positive side.

    Examples
    --------
    >>> from linsep import largest_margin
    >>> margin = largest_margin([[0], [2], [5]], ["a", "b", "b"])
    >>> margin.rows, margin.multipliers
    (array([0, 1]), array([0.5, 0.5]))
    >>> margin.lower <= 1 <= margin.upper
    True
    """

    lower: float
    upper: float
    form: str
    w: Floats
    b: Any
    rows: Array
    multipliers: Floats
    rivals: Array | None = None
    classes: Array = field(default_factory=lambda: np.array([-1, 1]))

    @property
    def support(self) -> Array:
        """The rows, by the name that support vector machines have for them."""
        return self.rows

    @property
    def gap(self) -> float:
        """Relative width of the bracket."""
        return (self.upper - self.lower) / self.upper if self.upper > 0 else math.inf

    def __repr__(self) -> str:
        return (
            f"Margin({self.lower:.12g} <= margin <= {self.upper:.12g}, form={self.form!r}, "
            f"gap={self.gap:.1e}, support={len(np.unique(self.rows))} rows)"
        )


# (working set, what is new in it, tolerance) -> vector of the plane, offset, multipliers of the set
Solver = Callable[[Array, Array, float], tuple[Floats, float, Floats]]


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
    >>> margin.w, margin.b, margin.rows
    (array([1., 0.]), -2.0, array([1, 2]))
    >>> margin.lower <= 1 <= margin.upper
    True
    """
    if form not in _FORMS:
        raise ValueError(f"form must be one of {_FORMS}, got {form!r}")
    if not (isinstance(gap, float | int) and 0 < gap < 1):
        raise ValueError(f"gap must be between 0 and 1, got {gap!r}")
    X = as_matrix(X)
    labels = class_labels(y)
    check_same_length(X, labels)
    classes, codes = at_least_two_classes(labels)
    machines = 1 if len(classes) == 2 else len(classes)
    signs = np.where(codes == 1, 1, -1).astype(np.int8) if machines == 1 else codes.astype(np.intp)
    try:
        margin = replace(of_rows(to_rows(X), signs, X.shape[1], machines, form, gap), classes=classes)
    except FloatingPointError:
        refuse_not_finite(X, np.zeros(1))
    return margin


def of_rows(rows: Rows, y: Array, d: int, classes: int, form: str, gap: float) -> Margin:
    """Search in rows brought into range, then bound with the rows as they are: ``largest_margin`` without the labels.

    ``y`` holds signs and ``classes`` is 1 for two classes, class numbers and their count for more. Raises
    FloatingPointError if some value is not finite.
    """
    with np.errstate(over="ignore", under="ignore"):
        squares = squared_norms(rows)
    near, exponent = rows, 0
    largest = float(squares.max())
    if not 1e-200 < largest < 1e200:
        peak = float(np.abs(rows.data).max(initial=0))
        if not math.isfinite(peak):
            raise FloatingPointError("a value is not finite")
        exponent = math.frexp(peak)[1]
        near = rows._replace(data=np.ldexp(rows.data.astype(np.float64), -exponent))
        squares = squared_norms(near)
    rms = math.sqrt(float(squares.mean())) or 1.0
    radius = math.sqrt(float(squares.max())) or 1.0
    scaled = Task(near, y, d, classes, form, 0.0)
    many = scaled.size > _MANY and scaled.items * scaled.size > _MANY**2
    if form == "augmented":
        scaled = scaled._replace(unit=math.ldexp(1.0, max(-1000, min(1000, -exponent))))
    elif form == "affine" and (many or classes > 1):
        scaled = scaled._replace(unit=rms if many else _CHEAP * radius)
    solver = _by_lagrangian(scaled) if many else _by_hull(scaled)
    with np.errstate(over="ignore", invalid="ignore"):  # weights of a margin below all floats overflow
        found = _zero_row(scaled, squares) or _search(scaled, gap, solver)

    exact = scaled._replace(rows=rows)
    with np.errstate(over="ignore"):
        # more than any norm: squares round, and those of tiny values underflow
        norms = np.ldexp(np.sqrt(squares) * (1 + 1e-6) + math.sqrt(d) * 2.0**-500, exponent)
    a = margin_bracket.on_grid(exact, found.items, found.multipliers)
    upper = margin_bracket.upper(exact, found.items, a)
    b = np.ldexp(found.b, exponent) if form != "origin" else np.zeros(classes)
    plane = found.W.any()
    lower = margin_bracket.lower(exact, found.W, b, norms, upper * (1 - gap / 2)) if plane else -math.inf
    if not plane or (lower <= 0 and upper <= _ROUNDING * float(norms.max())):
        raise NotSeparable(
            f"no plane separates the classes by a margin above {upper:.3g}: they are not linearly separable, as far as "
            "double precision can tell. linsep.separate decides it exactly and names the rows that contradict each "
            "other; linsep.Perceptron fits data that no plane separates.",
            upper=upper,
        )
    kept = np.flatnonzero(a)
    items = found.items[kept]
    numbers = row_numbers(exact, items)
    order = np.argsort(items)
    margin = Margin(
        lower,
        upper,
        form,
        found.W[0] if classes == 1 else found.W,
        float(b[0]) if classes == 1 else b,
        numbers[order],
        (a[kept] / margin_bracket.GRID).astype(np.float64)[order],
        None if classes == 1 else (items % classes)[order],
    )
    if margin.gap > gap:
        warnings.warn(
            f"the bracket is {margin.gap:.1e} wide, not {gap:.1e}: the search in double precision got no nearer to a "
            f"margin of {margin.upper:.3g} for rows up to {float(norms.max()):.3g}; both bounds are true",
            RuntimeWarning,
            stacklevel=3,
        )
    return margin


# ---------------------------------------------------------------------------------------------------------------
# Search


def _zero_row(task: Task, squares: Floats) -> Found | None:
    """Return the hull of one row that is zero, where there is one and nothing can lift it off the plane."""
    if task.form == "origin":
        for i in np.flatnonzero(squares == 0):  # the squares of tiny rows underflow to zero
            if not take(task.rows, np.array([i])).data.any():
                item = np.array([i * task.classes + (task.y[i] == 0 if task.classes > 1 else 0)])
                return _nowhere(task, item, np.ones(1))
    return None


def _nowhere(task: Task, items: Array, multipliers: Floats) -> Found:
    """Return what is found where no plane is: only the multipliers."""
    return Found(np.zeros((task.classes, task.d)), np.zeros(task.classes), items, multipliers)


def _search(task: Task, gap: float, solve: Solver) -> Found:
    """Grow a working set by the worst rows of each full pass until no row is nearer than those in it."""
    pool = fresh = _first_items(task)
    tol = 0.0
    while True:
        v, b, multipliers = solve(pool, fresh, max(tol, gap / 16))
        used = np.flatnonzero(multipliers)
        items, multipliers = pool[used], multipliers[used]
        size = float(np.linalg.norm(v[: task.size - _free(task)]))
        if not 0 < size < math.inf:
            return _nowhere(task, items, multipliers)
        W, offsets = weights(task, v / size, b / size)
        looked = heights(task, W, offsets)
        below = np.flatnonzero(looked.values * size < 1 - gap / 4)
        fresh = np.setdiff1d(looked.items[below], pool)
        if len(fresh) == 0 and tol <= gap / 16:
            return Found(*_centred(task, W, offsets, looked.values), items, multipliers)
        # no use in solving much better than the set is known; but if it is known, as well as can be
        tol = 0.1 * float(max(0.0, 1 - looked.values.min() * size)) if len(fresh) else 0.0
        step = max(1000, min(2 * task.size, len(pool) // 2))
        if len(fresh) > step:
            fresh = fresh[np.argpartition(looked.values[row_numbers(task, fresh)], step)[:step]]
        pool = np.concatenate((pool, fresh))


def _free(task: Task) -> int:
    """Return how many of the last coordinates the norm of the plane leaves out."""
    return task.classes if task.form == "affine" and task.unit else 0


def _by_hull(task: Task) -> Solver:
    """Solve by the nearest point of the hull of the working set, which is kept in dense rows."""
    C, d = task.classes, task.d
    Z, start, middle = np.empty((0, task.size)), np.empty(0), None

    def solve(pool: Array, fresh: Array, tol: float) -> tuple[Floats, float, Floats]:
        nonlocal Z, start, middle
        new = vectors(task, fresh)
        if task.form == "affine":  # where the origin lies does not matter then, except for rounding
            marks = coefficients(task, fresh)
            if middle is None:
                middle = (new[:, : C * d].reshape(-1, C, d) * marks[:, :, None]).sum(axis=1).mean(axis=0)
                middle /= min(2, C)
            new[:, : C * d] -= (marks[:, :, None] * middle).reshape(-1, C * d)
        Z = np.concatenate((Z, new))
        group = np.where(task.y[pool] > 0, 0, 1) if task.form == "affine" and C == 1 else None
        nearest = nearest_point(Z, group, start=start, tol=tol)
        start = nearest.weights
        v, b = nearest.w, nearest.b
        if middle is not None:
            shift = v[: C * d].reshape(C, d) @ middle
            b -= float(shift[0])
            v[C * d :] -= shift / (task.unit or 1.0) if C > 1 else 0.0
        return v, b, nearest.weights

    return solve


def _by_lagrangian(task: Task) -> Solver:
    """Solve by an augmented Lagrangian, with the working set in sparse rows: for very many coordinates."""
    Z, plane = sparse_vectors(task, np.empty(0, np.intp)), None

    def solve(pool: Array, fresh: Array, tol: float) -> tuple[Floats, float, Floats]:  # noqa: ARG001
        nonlocal Z, plane
        Z = sp.vstack((Z, sparse_vectors(task, fresh)), format="csr")
        plane = widest(Z, _free(task), start=plane, tol=tol)
        return plane.v, 0.0, plane.multipliers

    return solve


def _first_items(task: Task) -> Array:
    """Return the items to begin with: all of them if they are few, else a sample in which every class occurs."""
    n = count(task.rows)
    few = max(512, 4 * task.size)
    if task.items <= 2 * few:
        items = np.arange(n * task.classes)
        return items if task.classes == 1 else items[items % task.classes != task.y[items // task.classes]]
    rng = np.random.default_rng(0)
    first_of_each = np.unique(task.y, return_index=True)[1]
    rows = np.unique(np.concatenate((first_of_each, rng.choice(n, min(n, few), replace=False))))
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
