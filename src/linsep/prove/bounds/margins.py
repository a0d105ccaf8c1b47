"""The largest margin between certified bounds, as a nearest point of a convex hull.

The set grows by the worst rows of each full pass; what the search ends with is then bounded in arithmetic that rounding
cannot fool: ``margin_bracket`` has the vectors and the bounds, ``newton_cg`` solves for sparse rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock, OutOfTime
from linsep.data.arrays import refuse_not_finite, to_rows
from linsep.data.labels import at_least_two_classes, check_same_length, class_labels, refuse_measurements
from linsep.data.matrices import as_matrix
from linsep.data.parallel import quiet_algebra
from linsep.errors import NotSeparable, ParameterError
from linsep.learn.evaluation import squared_norms
from linsep.problem import Array, Floats, MarginForm, Rows
from linsep.prove.bounds import margin_bracket
from linsep.prove.bounds.margin_bracket import Hull
from linsep.prove.claims import Data
from linsep.prove.core.nearest_point import nearest_point
from linsep.prove.core.newton_cg import widest
from linsep.prove.notebook_tables import notebook_html
from linsep.prove.numbers.tables import refuse_rounding
from linsep.prove.verdict.decide import decide

_FORMS = ("affine", "origin", "augmented")
SPARSE_COORDINATES = 1024  # from which on rows are kept sparse and only multiplied by vectors
_MOST_LOST = 0.9  # share of the upper bound from which on a plane is worth fractions, which are slow to work with
CHEAP_OFFSET = 2.0**17  # offsets that must not count are measured in this many radii: they count for 1e-10 then


@dataclass(frozen=True, repr=False)
class Margin:
    """The largest margin of some rows, between two bounds that hold in exact arithmetic.

    Attributes
    ----------
    lower, upper : float
        Bounds: the plane ``w, b`` keeps at least ``lower`` from every row, and no plane keeps more than ``upper``.
    form : {"affine", "origin", "augmented"}
        Which of the three margins it is.
    w : ndarray of shape (d,) or (classes, d)
        Weights, of norm 1 (with ``b`` in the augmented form). Fractions where doubles lose much of a tiny margin.
    b : float or ndarray of shape (classes,)
        Offset.
    rows : ndarray of shape (k,)
        Numbers of the support rows, which determine the plane. With more than two classes a row occurs once per rival.
    multipliers : ndarray of shape (k,)
        Positive numbers λ for these rows, of sum 1, with ``upper >= ‖Σ λ y x‖ / Σ λ`` and, in the affine form, equal
        sums in both classes, exactly.
    rivals : ndarray of shape (k,) or None
        With more than two classes: the number of the rival class.
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
    form: MarginForm
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

    def _repr_html_(self) -> str:
        rows = [
            ("at least", f"{self.lower:.12g}"),
            ("at most", f"{self.upper:.12g}"),
            ("gap", f"{self.gap:.1e}"),
            ("support", f"{len(np.unique(self.rows)):,} rows"),
        ]
        proof = "Both bounds are certified: the plane has the lower one, the rows and multipliers prove the upper one."
        return notebook_html(f"The largest margin ({self.form}) is about {self.lower:.6g}", proof, rows)


# (working set, what is new in it, tolerance) -> vector of the plane, offset, multipliers of the set
Solver = Callable[[Array, Array, float], tuple[Floats, float, Floats]]


class MarginPoint(NamedTuple):
    """What a search returns: weights for the plane and for the hull."""

    W: Floats  # (classes, d), all zero where the origin is in the hull
    b: Floats  # (classes,)
    pairs: Array  # (k,)
    multipliers: Floats  # (k,)


def largest_margin(
    X: Any, y: Any, *, form: MarginForm = "affine", gap: float = 1e-6, clock: Clock | None = None
) -> Margin:
    """Find the plane with the largest margin, with certified bounds on that margin.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Rows of any real dtype. Moments of a frame are the doubles nearest to their days.
    y : array-like of shape (n,)
        Labels, of two or more classes.
    form : {"affine", "origin", "augmented"}, default="affine"
        Which margin: of planes ``w·x + b = 0`` with ``‖w‖ = 1``; of planes through the origin; or of planes through
        the origin for the points ``(x, 1)``, the one in the mistake bound with offset. For more than two classes it
        is the smallest ``(w_c - w_r)·x + b_c - b_r`` over rows of class c and rivals r, all weights together of norm 1.
    gap : float, default=1e-6
        Largest relative gap between the bounds. linsep warns if double precision does not reach it.
    clock : Clock, default=None
        Checked in every long loop; it ends the search with an exception when the time is up.

    Returns
    -------
    margin : Margin

    Raises
    ------
    NotSeparable
        If no plane separates the rows; its ``refutation`` proves it.

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
        raise ParameterError("form", form, f"one of {_FORMS}")
    if not (isinstance(gap, float | int) and 0 < gap < 1):
        raise ParameterError("gap", gap, "between 0 and 1")
    refuse_rounding(X)
    X = as_matrix(X)
    refuse_measurements(y)
    labels = class_labels(y)
    check_same_length(X, labels)
    classes, codes = at_least_two_classes(labels)
    data = Data(to_rows(X), codes.astype(np.intp, copy=False), X.shape[1], len(classes), form != "origin")
    try:
        margin = replace(of_data(data, form, gap, clock), classes=classes)
    except FloatingPointError:
        refuse_not_finite(X, np.zeros(1))
    warn_if_wide(margin, gap)
    return margin


def warn_if_wide(margin: Margin, gap: float) -> None:
    """Warn, where the caller was called, of a bracket that is wider than was asked for."""
    if margin.gap > gap:
        warnings.warn(
            f"the relative gap of the bounds is {margin.gap:.1e}, not {gap:.1e}: double precision allows no smaller "
            f"gap at a margin of {margin.upper:.3g}; both bounds are true",
            RuntimeWarning,
            stacklevel=3,
        )


class InRange(NamedTuple):
    """Rows times a power of two that brings their squares into the range of doubles."""

    rows: Rows
    exponent: int  # of the power of two left out
    squares: Floats  # (n,) squared norms

    def norms(self, d: int) -> Floats:
        """Return more than the norm of any row as given: squares round, and those of tiny values underflow."""
        with np.errstate(over="ignore"):
            sizes: Floats = np.sqrt(self.squares)
            sizes *= 1 + 1e-6
            sizes += math.sqrt(d) * 2.0**-500
            return np.ldexp(sizes, self.exponent, out=sizes)


def in_range(rows: Rows) -> InRange:
    """Bring rows into range; raises FloatingPointError if some value is not finite."""
    with np.errstate(over="ignore", under="ignore"):
        squares = squared_norms(rows)
    if 1e-200 < float(squares.max()) < 1e200:
        return InRange(rows, 0, squares)
    peak = float(np.abs(rows.data).max(initial=0))
    if not math.isfinite(peak):
        raise FloatingPointError("a value is not finite")
    exponent = math.frexp(peak)[1]
    near = rows._replace(data=np.ldexp(rows.data.astype(np.float64), -exponent))
    return InRange(near, exponent, squared_norms(near))


def of_data(
    data: Data, form: MarginForm, gap: float, clock: Clock | None = None, *, in_doubles: bool = False
) -> Margin:
    """Search in rows brought into range, then bound with the rows as they are: ``largest_margin`` without the labels.

    ``in_doubles``: a plane of fractions is returned only where double precision finds none.
    Raises FloatingPointError if some value is not finite.
    """
    clock = clock or Clock()
    near = in_range(data.rows)
    scaled = Hull(data._replace(rows=near.rows), form)
    rms, radius = (math.sqrt(float(value)) or 1.0 for value in (near.squares.mean(), near.squares.max()))
    many = scaled.size > SPARSE_COORDINATES and len(data.y) * (data.classes - 1) * scaled.size > SPARSE_COORDINATES**2
    if form == "augmented":
        scaled = scaled._replace(unit=math.ldexp(1.0, max(-1000, min(1000, -near.exponent))))
    elif form == "affine" and (many or data.classes > 2):
        scaled = scaled._replace(unit=rms if many else CHEAP_OFFSET * radius)
    solver = (_by_lagrangian if many else _by_nearest_point)(scaled, clock)
    with quiet_algebra(), np.errstate(over="ignore", invalid="ignore"):  # weights of a tiny margin overflow
        point = _search(scaled, gap, solver, clock)
    return _bracket(Hull(data, form), near, point, gap, clock, in_doubles)


def _bracket(hull: Hull, near: InRange, point: MarginPoint, gap: float, clock: Clock, in_doubles: bool) -> Margin:
    """Bound the largest margin with what a search returned; where it has no plane, ask for an exact verdict."""
    data, form, one = hull.data, hull.form, hull.blocks == 1
    a = margin_bracket.on_grid(hull, point.pairs, point.multipliers)
    upper = margin_bracket.upper(hull, point.pairs, a, clock)
    W: Any = point.W
    b: Any = np.ldexp(point.b, near.exponent) if form != "origin" else np.zeros(hull.blocks)
    lower = -math.inf
    norms = near.norms(data.n_features)
    if W.any():
        lower = margin_bracket.lower(hull, W, b, norms, upper * (1 - gap / 2), clock)
    if not lower > 0:  # raises NotSeparable where there is no plane
        W, b = _decided(data, clock)
        b = margin_bracket.middle(hull, W, b, np.arange(len(data.y)), clock)
        lower = margin_bracket.lower(hull, W, b, norms, 0.0, clock)
    pairs = point.pairs
    enough = lower >= upper * (1 - gap) or (in_doubles and W.dtype == object)
    exact = None if enough else margin_bracket.optimum(hull, pairs, clock)
    if exact is not None:
        multipliers = margin_bracket.on_grid(hull, exact.pairs, exact.multipliers)
        bound = margin_bracket.upper(hull, exact.pairs, multipliers, clock)
        if bound < upper:
            pairs, a, upper = exact.pairs, multipliers, bound
        rows = exact.pairs // data.classes
        plane: Any = exact.W.astype(np.float64)
        offsets: Any = margin_bracket.middle(hull, plane, exact.b, rows, clock).astype(np.float64)
        bound = margin_bracket.lower(hull, plane, offsets, norms, upper * (1 - gap / 2), clock)
        if max(bound, lower) < (0 if in_doubles else _MOST_LOST) * upper:
            plane = exact.W
            offsets = margin_bracket.middle(hull, plane, exact.b, np.arange(len(data.y)), clock)
            bound = margin_bracket.lower(hull, plane, offsets, norms, 0.0, clock)
        if bound > lower:
            W, b, lower = plane, offsets, bound
    kept = np.flatnonzero(a)
    pairs = pairs[kept]
    order = np.argsort(pairs)
    return Margin(
        lower,
        upper,
        form,
        W[0] if one else W,
        (b[0] if W.dtype == object else float(b[0])) if one else b,
        (pairs // data.classes)[order],
        (a[kept] / margin_bracket.GRID).astype(np.float64)[order],
        None if one else (pairs % data.classes)[order],
    )


def _decided(data: Data, clock: Clock) -> tuple[Array, Array]:
    """Return the plane of an exact verdict, in fractions, or raise NotSeparable with the proof that there is none."""
    verdict = decide(data, tuple(range(data.classes)), clock)
    if verdict.kind != "separable" or verdict.separator is None:
        if verdict.refutation is None:
            raise OutOfTime
        rows = len(np.unique(verdict.refutation.rows))
        raise NotSeparable(
            f"no plane separates the classes by a margin above 0: they are not linearly separable, {rows} rows "
            "contradict each other, as .refutation proves. linsep.Perceptron fits such data.",
            refutation=verdict.refutation,
        )
    W, b = verdict.separator.per_class()
    first = 1 if data.classes == 2 else 0
    exact = np.vectorize(Fraction, otypes=[object])
    return exact(W[first:]), exact(b[first:])


# ---------------------------------------------------------------------------------------------------------------
# Search


def _nowhere(hull: Hull, pairs: Array, multipliers: Floats) -> MarginPoint:
    """Return what is found where no plane is: only the multipliers."""
    return MarginPoint(np.zeros((hull.blocks, hull.data.n_features)), np.zeros(hull.blocks), pairs, multipliers)


def _search(hull: Hull, gap: float, solve: Solver, clock: Clock) -> MarginPoint:
    """Grow a working set by the worst rows of each full pass until no row is nearer than those in it."""
    pool = fresh = _first_pairs(hull)
    tol = 0.0
    while True:
        clock.check()
        v, b, multipliers = solve(pool, fresh, max(tol, gap / 16))
        used = np.flatnonzero(multipliers)
        pairs, multipliers = pool[used], multipliers[used]
        size = float(np.linalg.norm(v[: hull.size - _free(hull)]))
        if not 0 < size < math.inf:
            return _nowhere(hull, pairs, multipliers)
        W, offsets = hull.weights(v / size, b / size)
        slacks = hull.slacks(W, offsets)
        below = np.flatnonzero(slacks.values * size < 1 - gap / 4)
        fresh = np.setdiff1d(slacks.pairs(below, hull.data.classes), pool)
        if len(fresh) == 0 and tol <= gap / 16:
            if hull.form == "affine" and hull.blocks == 1:  # to the middle between the classes
                ahead, behind = (slacks.values[hull.data.y == c].min() for c in (1, 0))
                offsets = offsets + (behind - ahead) / 2
            return MarginPoint(W, offsets, pairs, multipliers)
        # no use in solving much better than the set is known; but if it is known, as well as can be
        tol = 0.1 * float(max(0.0, 1 - slacks.values.min() * size)) if len(fresh) else 0.0
        step = max(1000, min(2 * hull.size, len(pool) // 2))
        if len(fresh) > step:
            fresh = fresh[np.argpartition(slacks.values[fresh // hull.data.classes], step)[:step]]
        pool = np.concatenate((pool, fresh))


def _free(hull: Hull) -> int:
    """Return how many of the last coordinates the norm of the plane leaves out."""
    return hull.blocks if hull.form == "affine" and hull.unit else 0


def _by_nearest_point(hull: Hull, clock: Clock) -> Solver:
    """Solve by the nearest point of the hull of the working set, which is kept in dense rows."""
    C, d = hull.blocks, hull.data.n_features
    Z, start, middle = np.empty((0, hull.size)), np.empty(0), None

    def solve(pool: Array, fresh: Array, tol: float) -> tuple[Floats, float, Floats]:
        nonlocal Z, start, middle
        new = hull.vectors(fresh)
        if hull.form == "affine":  # where the origin lies does not matter then, except for rounding
            marks = hull.marks(fresh)
            if middle is None:
                middle = (new[:, : C * d].reshape(-1, C, d) * marks[:, :, None]).sum(axis=1).mean(axis=0)
                middle /= min(2, C)
            new[:, : C * d] -= (marks[:, :, None] * middle).reshape(-1, C * d)
        Z = np.concatenate((Z, new))
        group = 1 - hull.data.y[pool // 2] if hull.form == "affine" and C == 1 else None
        nearest = nearest_point(Z, group, start=start, tol=tol, clock=clock)
        start = nearest.weights
        v, b = nearest.w, nearest.b
        if middle is not None:
            shift = v[: C * d].reshape(C, d) @ middle
            b -= float(shift[0])
            v[C * d :] -= shift / (hull.unit or 1.0) if C > 1 else 0.0
        return v, b, nearest.weights

    return solve


def _by_lagrangian(hull: Hull, clock: Clock) -> Solver:
    """Solve by an augmented Lagrangian, with the working set in sparse rows: for very many coordinates."""
    import scipy.sparse as sp

    Z, plane = hull.sparse_vectors(np.empty(0, np.intp)), None

    def solve(pool: Array, fresh: Array, tol: float) -> tuple[Floats, float, Floats]:  # noqa: ARG001
        nonlocal Z, plane
        clock.check()
        Z = sp.vstack((Z, hull.sparse_vectors(fresh)), format="csr")
        plane = widest(Z, _free(hull), clock, start=plane, tol=tol)
        return plane.v, 0.0, plane.multipliers

    return solve


def _first_pairs(hull: Hull) -> Array:
    """Return the pairs to begin with: all of them if they are few, else a sample in which every class occurs."""
    n = len(hull.data.y)
    few = max(512, 4 * hull.size)
    if len(hull.data.y) * (hull.data.classes - 1) <= 2 * few:
        return np.flatnonzero(np.tile(np.arange(hull.data.classes), n) != np.repeat(hull.data.y, hull.data.classes))
    rng = np.random.default_rng(0)
    first_of_each = np.unique(hull.data.y, return_index=True)[1]
    rows = np.unique(np.concatenate((first_of_each, rng.choice(n, min(n, few), replace=False))))
    if hull.blocks == 1:
        return rows * 2 + 1 - hull.data.y[rows]
    rival = (hull.data.y[rows] + rng.integers(1, hull.blocks, len(rows))) % hull.blocks
    return rows * hull.blocks + rival
