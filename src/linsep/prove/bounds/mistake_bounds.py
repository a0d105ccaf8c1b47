"""The mistake bound (R/γ)² and its variants, never rounded down.

With u a plane of margin γ, after k mistakes (Novikoff 1962) ``w_k·u >= w_0·u + k η γ``: every mistake is progress
toward u. And ``‖w_k‖² <= ‖w_0‖² + k (η² Q + 2 η m)``, Q the largest squared norm of an update and m the update margin:
the weights cannot grow fast. As ``w_k·u <= ‖w_k‖``, the larger root of a quadratic bounds k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.data.arrays import to_rows
from linsep.data.matrices import as_matrix
from linsep.errors import NotSeparable
from linsep.learn.weights import Weights
from linsep.problem import Floats, MarginForm, Rows, Sparse, take
from linsep.prove.bounds.margin_bracket import most_terms, root, rounded
from linsep.prove.bounds.margins import Margin, in_range, largest_margin
from linsep.prove.check.integers import over_power
from linsep.prove.notebook_tables import notebook_html
from linsep.prove.numbers.tables import refuse_rounding
from linsep.wording import squared_update

_EXACT_ROWS = 256  # longest rows whose norms are computed in fractions before an error bound has to do


@dataclass(frozen=True, repr=False)
class Bound:
    """An upper bound on the mistakes of the perceptron on some rows, visited in any order.

    Attributes
    ----------
    mistakes : int or float
        No run makes more mistakes than this. Infinite if double precision cannot bound the margin from below.
    lower, upper : float
        Bounds on the theorem's number, which need not be a whole number; ``mistakes`` is the whole
        part of ``upper``. They differ because the largest margin is known between two bounds.
    radius : float
        R, the largest norm of a row.
    largest_update : float
        Norm of the largest update with learning rate 1: R; with offset that of the point ``(x, 1)``; for more than
        two classes √2 times as much. From zero weights the bound is ``(largest_update / margin)²``.
    margin : Margin
        Largest margin γ, of the points ``x`` or, with offset, ``(x, 1)``.
    formula : str
        The bound as a formula in R and γ. With these numbers, and γ at its lower bound, it gives ``upper``.
    covers_floats : bool
        Whether the bound also holds for runs in double precision. The theorem is about exact arithmetic: where scores
        underflow, or the margin is as small as their rounding, a run may err more often.

    Examples
    --------
    >>> from linsep import mistake_bound
    >>> bound = mistake_bound([[3.0, 1.0], [3.0, -1.0]], [1, 0], fit_intercept=False)
    >>> bound.mistakes, bound.lower <= 10 <= bound.upper
    (10, True)
    """

    mistakes: float
    lower: float
    upper: float
    radius: float
    largest_update: float
    margin: Margin
    formula: str = "R²/γ²"
    covers_floats: bool = True

    def __repr__(self) -> str:
        doubt = "" if self.covers_floats else ", in exact arithmetic: rounding or underflow may lead to more"
        return (
            f"Bound(mistakes <= {self.mistakes}, {self.lower:.9g} <= {self.formula} <= {self.upper:.9g}, "
            f"R = {self.radius:.9g}, {self.margin.lower:.9g} <= γ <= {self.margin.upper:.9g}{doubt})"
        )

    def _repr_html_(self) -> str:
        rows = [
            (self.formula, f"{self.lower:.9g} to {self.upper:.9g}"),
            ("R", f"{self.radius:.9g}"),
            (f"γ ({self.margin.form})", f"{self.margin.lower:.9g} to {self.margin.upper:.9g}"),
        ]
        floats = "Proved, also for double precision." if self.covers_floats else "Proved for exact arithmetic only."
        return notebook_html(f"No run makes more than {self.mistakes:,} mistakes", floats, rows)


def mistake_bound(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    eta0: float = 1.0,
    coef_init: Any = None,
    intercept_init: Any = None,
    update_margin: float = 0.0,
    gap: float = 1e-6,
    margin: Margin | None = None,
    clock: Clock | None = None,
) -> Bound:
    """Bound the mistakes of the perceptron on some rows: Novikoff's theorem with certified numbers.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Moments of a frame are the doubles nearest to their days.
    y : array-like of shape (n,)
        Labels. For more than two classes the bound is that of the argmax machine, 2R²/γ².
    fit_intercept : bool, default=True
        Whether the perceptron learns an offset; the bound is then about the points ``(x, 1)``.
    eta0 : float, default=1.0
        Learning rate. It matters only with first weights or an update margin.
    coef_init, intercept_init : array-like, default=None
        First weights and offsets, zero unless given.
    update_margin : float, default=0.0
        The perceptron updates whenever ``y s(x) <=`` this.
    gap : float, default=1e-6
        Largest relative gap between the bounds on the margin; a larger one is faster.
    margin : Margin, default=None
        Bounds on the largest margin of these rows, if known already, in the form that ``fit_intercept`` asks for; then
        no search is needed.
    clock : Clock, default=None
        Checked during the search for the margin; it ends the search with an exception when the time is up.

    Returns
    -------
    bound : Bound

    Raises
    ------
    NotSeparable
        If no plane separates the rows; its ``refutation`` is the proof.

    Notes
    -----
    Novikoff (1962), *On convergence proofs for perceptrons*. The arithmetic is exact up to a final rounding upwards.

    Examples
    --------
    >>> from linsep import mistake_bound
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> bound = mistake_bound(X, y, fit_intercept=False)
    >>> bound.mistakes, bound.radius
    (2, 1.0)
    """
    if not (math.isfinite(eta0) and eta0 > 0 and math.isfinite(update_margin) and update_margin >= 0):
        raise ValueError(f"eta0 must be positive and update_margin not negative, got {eta0!r} and {update_margin!r}")
    form: MarginForm = "augmented" if fit_intercept else "origin"
    try:
        margin = largest_margin(X, y, form=form, gap=gap, clock=clock) if margin is None else margin
    except NotSeparable as error:
        rows = len(np.unique(error.refutation.rows))
        raise NotSeparable(
            f"no plane separates the classes, so the mistakes never end: {rows} rows contradict each other, see "
            ".refutation",
            refutation=error.refutation,
        ) from None
    if margin.form != form:
        raise ValueError(f"the bound needs the margin in the {form} form, got {margin.form!r}")
    refuse_rounding(X)
    data = to_rows(as_matrix(X))
    machines = len(np.atleast_2d(margin.w))
    low, high = squared_radius(data)
    low_update, high_update = (square + fit_intercept for square in (low, high))
    if machines > 1:
        low_update, high_update = 2 * low_update, 2 * high_update

    start = first_weights(margin, coef_init, intercept_init, fit_intercept)
    ahead, size = _start(margin, start)
    # the plane found is not quite the one of largest margin: the two enclose an angle that the bracket bounds
    ratio = Fraction(max(margin.lower, 0.0)) / Fraction(margin.upper)
    away = 2 * Fraction(root(1 - ratio**2, up=True)) * Fraction(root(size, up=True))
    eta, extra = Fraction(eta0), 2 * Fraction(update_margin) / Fraction(eta0)
    lower = _largest_count(low_update + extra, Fraction(margin.upper), (ahead + away) / eta, size / eta**2, up=False)
    upper, covered = math.inf, False
    if margin.lower > 0:
        run = _Run(high_update + extra, Fraction(margin.lower), (ahead - away) / eta, size / eta**2)
        upper = _largest_count(*run, up=True)
        covered = _covers_floats(run, upper, eta, data)
    return Bound(
        mistakes=math.floor(upper) if math.isfinite(upper) else upper,
        lower=min(lower, upper),
        upper=upper,
        radius=_root(high),
        largest_update=_root(high_update),
        margin=margin,
        formula=_formula(fit_intercept, machines, bool(size), update_margin > 0),
        covers_floats=covered,
    )


class _Run(NamedTuple):
    """What the bound depends on, in units of the learning rate."""

    update: Fraction  # largest growth of the squared norm by one mistake
    gamma: Fraction
    ahead: Fraction  # of the first weights along the plane
    size: Fraction  # their squared norm


def _formula(offset: bool, machines: int, first: bool, margin: bool) -> str:
    """Return the bound in terms of R and γ."""
    update = squared_update(offset, machines > 1)
    if not first and not margin:
        return f"{update}/γ²"
    update = f"η²{update} + 2ηm" if margin else f"η²{update}"
    if not first:
        return f"({update})/(ηγ)²"
    return f"largest k with w₀·u + kηγ ≤ √(‖w₀‖² + k({update}))"


def _covers_floats(run: _Run, upper: float, eta: Fraction, rows: Rows) -> bool:
    """Return whether a run whose scores and weights are rounded cannot make one mistake more than the bound.

    Suppose it made K of them, one more. A score is off by at most ``(d + 8) u ‖w‖‖z‖`` and, where products underflow,
    ``(d + 8) 2**-1074``; an update by ``2 u ‖w‖`` and ``√d 2**-1074`` (Higham 2002, section 3.1); and ``‖w‖`` is at
    most ``‖w_0‖ + K η ‖z‖``, up to factors that the twofold of all covers. With growth and progress worse by that
    much, fewer than K must come out.
    """
    if not math.isfinite(upper):
        return False
    made, unit, tiny = math.floor(upper) + 1, Fraction(1, 2**53), Fraction(1, 2**1074)
    d = most_terms(rows)
    root_d = math.isqrt(d) + 2
    longest = Fraction(root(run.update, up=True))  # at least the norm of an update
    reach = Fraction(root(run.size, up=True)) + 2 * made * longest
    growth = 2 * 2 * (d + 8) * (unit * reach * longest + tiny / eta)
    loss = 2 * (2 * unit * reach + root_d * tiny / eta)
    if loss >= run.gamma:
        return False
    return _largest_count(run.update + growth, run.gamma - loss, run.ahead, run.size, up=True) < made


def first_weights(margin: Margin, coef_init: Any, intercept_init: Any, fit_intercept: bool) -> Floats:
    """Return first weights with their offsets as a last column, shape (machines, d + 1)."""
    W = np.atleast_2d(margin.w)
    start = np.zeros((W.shape[0], W.shape[1] + 1))
    Weights(start[:, :-1], start[:, -1]).start_at(coef_init, intercept_init, fit_intercept)
    return start


def _start(margin: Margin, start: Floats) -> tuple[Fraction, Fraction]:
    """Return how far the first weights go along the unit plane, next to exactly, and their squared norm, exactly."""
    if not start.any():
        return Fraction(0), Fraction(0)
    numbers, power = over_power(start.ravel())
    plane = [Fraction(v) for v in np.column_stack((np.atleast_2d(margin.w), np.atleast_1d(margin.b))).ravel().tolist()]
    along = sum((p * q for p, q in zip(numbers, plane, strict=True)), Fraction(0)) * Fraction(2) ** power
    norm = sum((p * p for p in plane), Fraction(0))
    ahead = along / Fraction(root(norm, up=along > 0))
    return ahead, Fraction(sum(p * p for p in numbers)) * Fraction(4) ** power


def _largest_count(update: Fraction, gamma: Fraction, ahead: Fraction, size: Fraction, *, up: bool) -> float:
    """Return the largest k with ``ahead + k γ <= sqrt(size + k update)``, all in units of the learning rate.

    Squared: ``k² γ² + k (2 ahead γ - update) - (size - ahead²) <= 0``, of which the larger root is wanted.
    """
    half = (update - 2 * ahead * gamma) / (2 * gamma**2)
    rest = (size - ahead**2) / gamma**2
    under = half**2 + rest
    if under <= 0:
        return max(0.0, rounded(half, up=up))
    return max(0.0, rounded(half + Fraction(root(under, up=up)), up=up))


# ---------------------------------------------------------------------------------------------------------------
# The radius


def _root(square: Fraction) -> float:
    """Return the least double that is not below the root, which is the root itself where it is a double."""
    below = root(square, up=False)
    return below if Fraction(below) ** 2 == square else root(square, up=True)


def squared_radius(rows: Rows) -> tuple[Fraction, Fraction]:
    """Return bounds on the largest squared norm of a row; they are equal unless very many rows come near to it."""
    near = in_range(rows)
    rows, squares, largest = near.rows, near.squares, float(near.squares.max())
    error = (most_terms(rows) + 2) * 2.0**-52  # relative, of a sum of squares (Higham 2002, section 3.1), twice over
    longest = np.flatnonzero(squares >= largest * (1 - 2 * error))
    scale = Fraction(4) ** near.exponent
    if len(longest) > _EXACT_ROWS:
        return Fraction(largest) * Fraction(1 - error) * scale, Fraction(largest) * Fraction(1 + error) * scale
    part = take(rows, longest)
    values, power = over_power(np.asarray(part.data))
    table = np.split(values, part.indptr[1:-1].astype(np.intp)) if isinstance(part, Sparse) else values
    exact = max(sum(int(v) * int(v) for v in row) for row in table) * Fraction(4) ** power * scale
    return exact, exact
