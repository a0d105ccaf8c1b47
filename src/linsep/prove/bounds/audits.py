"""Checks every inequality of the mistake bound's proof at every step of a run.

A run is its mistakes, so the trace gives everything. If mistake t adds ``η z`` to the weights (``z = y x``, with offset
``y (x, 1)``; for more than two classes ``x`` in the place of the true class and ``-x`` in that of its rival), then
``w·u`` grows by ``η z·u >= η γ`` and ``‖w‖²`` by ``2 η w·z + η² ‖z‖² <= 2 η m + η² Q``, because ``w·z <= m`` is what
makes it a mistake. Only ``w·z``, the lead, needs the weights of that moment; the rest are running sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.data.arrays import to_rows
from linsep.data.labels import as_examples, check_same_length, class_codes, class_labels
from linsep.data.matrices import as_matrix, matrix_for
from linsep.data.scaling import Scaler
from linsep.errors import NotSeparable
from linsep.learn import kernels
from linsep.learn.evaluation import held_out, scores, separations, squared_norms
from linsep.learn.rules import MarginRule
from linsep.learn.weights import norm
from linsep.problem import Array, Dense, Examples, Floats, MarginForm, Stop, take
from linsep.prove.bounds import margin_bracket
from linsep.prove.bounds.margin_bracket import Hull, most_terms, root
from linsep.prove.bounds.margins import Margin, in_range
from linsep.prove.bounds.mistake_bounds import Bound, mistake_bound, squared_radius
from linsep.prove.claims import Data
from linsep.prove.notebook_tables import notebook_html

_UNIT = 2.0**-53  # relative error of one operation


@dataclass(frozen=True, repr=False)
class Audit:
    """The two inequalities of the mistake bound along a run, and whether all of its steps hold.

    All arrays have one entry for every k from 0 to the number of mistakes. Entries that need the plane of largest
    margin are NaN if there is none.

    Attributes
    ----------
    holds : bool
        Whether every step of the proof holds, up to the rounding of doubles.
    violation : str or None
        The first violation, if any; it means altered data, other first weights, or a bug.
    step : int or None
        The number of mistakes before the violation, if a single step violates the proof.
    mistakes : int
        Mistakes made.
    bound : Bound or None
        The mistake bound; None if no plane separates the rows.
    progress, progress_bound : ndarray of shape (mistakes + 1,)
        ``w_k·u``, with u the plane of largest margin, and its lower bound ``w_0·u + k η γ``.
    squared_norm, squared_norm_bound : ndarray of shape (mistakes + 1,)
        ``‖w_k‖²`` and its upper bound ``‖w_0‖² + k (η² Q + 2 η m)``.
    cosine, cosine_bound : ndarray of shape (mistakes + 1,)
        Cosine of the angle between ``w_k`` and u, and its lower bound; from zero weights ``√k γ/R``.
    margin_upper : ndarray of shape (mistakes + 1,)
        ``‖w_k - w_0‖/(η k)``, above the largest margin at every moment.
    leads : ndarray of shape (mistakes,)
        ``y s(x)`` of the row at each mistake, never above the update margin.

    Examples
    --------
    >>> from linsep import Perceptron, audit
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> audit(Perceptron(fit_intercept=False, shuffle=False).fit(X, y), X, y)
    Audit(holds; 2 mistakes, bound 2)
    """

    holds: bool
    violation: str | None
    step: int | None
    mistakes: int
    bound: Bound | None
    progress: Floats
    progress_bound: Floats
    squared_norm: Floats
    squared_norm_bound: Floats
    cosine: Floats
    cosine_bound: Floats
    margin_upper: Floats
    leads: Floats

    def __repr__(self) -> str:
        allowed = "none known" if self.bound is None else f"{self.bound.mistakes}"
        outcome = "holds" if self.holds else f"violated: {self.violation}"
        return f"Audit({outcome}; {self.mistakes} mistakes, bound {allowed})"

    def _repr_html_(self) -> str:
        allowed = "none: no plane separates the rows" if self.bound is None else f"{self.bound.mistakes:,}"
        rows = [("mistakes", f"{self.mistakes:,}"), ("bound", allowed)]
        headline = "Every step of the proof holds along this run" if self.holds else f"Violated: {self.violation}"
        return notebook_html(headline, "Checked at every mistake, up to the rounding of doubles.", rows)


class Trail(NamedTuple):
    """A run made again from its trace."""

    examples: Examples  # the rows it looked at, each with the learning rate as its step
    trace: Array  # (k,) row * machines + the rival, or + 0 for two classes
    rule: MarginRule
    eta: float
    start: Floats  # (machines, d + 1) first weights, offsets last
    end: Floats  # (machines, d + 1) weights after the last mistake
    leads: Floats  # (k,) w·z at each mistake
    squares: Floats  # (n,) squared norm of the update on each row, at learning rate 1
    kept: Array | None  # numbers of the rows it looked at, None for all

    @property
    def growth(self) -> Floats:
        """Squared norm of the weights after k mistakes, for every k."""
        first = float(np.square(self.start).sum())
        return np.cumsum(np.concatenate(([first], self._steps(self.leads))))

    @property
    def moved(self) -> Floats:
        """Distance of the weights from the first ones after k mistakes, for every k."""
        if not self.start.any():
            return np.asarray(np.sqrt(np.maximum(self.growth, 0.0)))
        squares = np.cumsum(np.concatenate(([0.0], self._steps(self.leads - self.along(self.start)))))
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def along(self, plane: Floats) -> Floats:
        """Return ``z·v`` of every update with some weights v of the same shape as the first ones."""
        S = scores(self.examples.rows, np.ascontiguousarray(plane[:, :-1]), plane[:, -1] * self.rule.offset)
        rows, rivals = np.divmod(self.trace.astype(np.intp), len(plane))
        if len(plane) == 1:
            return np.asarray(self.examples.y[rows] * S[rows, 0])
        return np.asarray(S[rows, self.examples.y[rows]] - S[rows, rivals])

    def number(self, row: int) -> int:
        """Return the number that a row has among all that were given."""
        return row if self.kept is None else int(self.kept[row])

    def weights_after(self, counts: Iterable[int]) -> Iterator[tuple[Floats, Floats]]:
        """Yield weights (machines, d) and offsets after each number of mistakes, for counts in ascending order."""
        W, b = self.start[:, :-1].copy(), self.start[:, -1].copy()
        done = 0
        for k in counts:
            part = self.trace[done:k]
            kernels.replay(self.examples, part, self.rule.offset, W, b, np.empty(len(part)))
            done = k
            yield W.copy(), b.copy()

    def _steps(self, leads: Floats) -> Floats:
        updated = self.squares[self.trace.astype(np.intp) // len(self.start)]
        return np.asarray(self.eta * (2 * leads + self.eta * updated))


def retrace(model: Any, X: Any, y: Any, *, coef_init: Any = None, intercept_init: Any = None) -> Trail:
    """Make the updates of a fitted perceptron again; the rows must be those it was trained on, in their order."""
    codes = _recorded(model)
    machines, d = model.coef_.shape
    if machines > 1 and model.multi_class != "argmax":
        raise ValueError("one-against-rest trains one run per class: audit a two-class Perceptron for each")
    X = as_trained(model, matrix_for(model, X))
    labels, kept = class_codes(class_labels(y), model.classes_), None
    check_same_length(X, labels)
    if len(labels) != model.record_.rows:
        raise ValueError(
            f"the model was trained on {model.record_.rows} rows, but X has {len(labels)}: give the same rows"
        )
    rows = to_rows(X)
    if model.early_stopping:
        kept = np.flatnonzero(~held_out(model.record_.seed, 0, len(labels), model.validation_fraction))
        if not np.isin(codes // machines, kept).all():
            raise ValueError("the run made mistakes on rows held out here: these are not the rows of the run")
        codes = np.searchsorted(kept, codes // machines) * machines + codes % machines
        rows, labels = take(rows, kept), labels[kept]
    if isinstance(rows, Dense) and not rows.data.flags.c_contiguous:
        rows = take(rows, slice(None))
    first = model.first_weights()
    if coef_init is not None or intercept_init is not None:
        first = model.start_weights(d, model.classes_, coef_init, intercept_init)
    rule = MarginRule(float(model.update_margin), float(model.fit_intercept))
    examples = as_examples(rows, labels, machines, np.full(len(labels), float(model.eta0)))
    W, b = first.W.copy(), first.b.copy()
    trace, leads = codes.astype(np.uint64), np.empty(len(codes))
    kernels.replay(examples, trace, rule.offset, W, b, leads)
    squares = squared_norms(examples.rows) + rule.offset
    return Trail(
        examples, trace, rule, float(model.eta0), np.column_stack((first.W, first.b)), np.column_stack((W, b)), leads,
        squares if machines == 1 else 2 * squares, kept,
    )  # fmt: skip


def as_trained(model: Any, X: Any) -> Any:
    """Return rows in the units in which a model learned from them: scaled, if ``fit_source`` scaled them."""
    scaling = getattr(model, "scaling_", None)
    return X if scaling is None else Scaler(**scaling).apply(as_matrix(X))


def first_of(model: Any) -> tuple[Floats, Floats]:
    """Return the weights and offsets that a run began with, in the units in which it learned."""
    first = model.first_weights()
    return _in_units_of_run(model, first.W, first.b)


def _in_units_of_run(model: Any, W: Floats, b: Floats) -> tuple[Floats, Floats]:
    scaling = getattr(model, "scaling_", None)
    if scaling is None:
        return W, b
    shift = scaling["shift"]
    return W * scaling["scale"], b + W[:, : len(shift)] @ shift


def own_trail(model: Any, X: Any, y: Any, *, coef_init: Any = None, intercept_init: Any = None) -> Trail:
    """Make the updates of a fitted perceptron again, and refuse rows that do not lead to its weights."""
    trail = retrace(model, X, y, coef_init=coef_init, intercept_init=intercept_init)
    if not leads_to(trail, model):
        raise ValueError(
            "the mistakes of the run do not lead to its weights on these rows: the rows or their order differ, or "
            "fit received first weights (coef_init) or row weights"
        )
    return trail


def _recorded(model: Any) -> Array:
    """Return the trace of a perceptron that learned as the theorem says, or say why it cannot be followed."""
    runs = model.record_.runs if hasattr(model, "record_") else None
    if runs is None or not hasattr(model, "update_margin"):
        raise ValueError(f"{type(model).__name__} has no trace of a perceptron's mistakes: fit a Perceptron first")
    if not runs:
        raise ValueError("the weights of this Perceptron were imported: there is no run to follow")
    if model.class_weight is not None:
        raise ValueError("classes of different weight take different steps: the audit needs class_weight=None")
    machines = len(model.coef_)
    if not model.run_parameters(0).textbook:
        raise ValueError(f"{type(model).__name__} does not take the steps that the theorem is about")
    if any(part.machines != machines for part in runs):
        raise ValueError("classes appeared during the run: the theorem is about a fixed set of classes")
    if len(model.trace_) == 0:
        return np.empty(0, np.intp)
    return np.concatenate([part.run.trace.astype(np.intp) + part.first_row * machines for part in runs])


def audit(
    model: Any,
    X: Any,
    y: Any,
    *,
    coef_init: Any = None,
    intercept_init: Any = None,
    gap: float = 1e-6,
    margin: Margin | None = None,
) -> Audit:
    """Check every step in the proof of the mistake bound along the run of a perceptron.

    Parameters
    ----------
    model : Perceptron
        Fitted, with its trace; any order, learning rate and update margin. Not one-against-rest, no class weights.
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
        The rows it was trained on, in the same order.
    coef_init, intercept_init : array-like, default=None
        The first weights, if ``fit`` received any.
    gap : float, default=1e-6
        Largest relative gap between the bounds on the margin.
    margin : Margin, default=None
        Bounds on the largest margin, if known already; the audit then follows the proof for the plane that comes with
        them, whatever its margin.

    Returns
    -------
    audit : Audit

    Raises
    ------
    NotSeparable
        If no plane separates the rows, and the run does not contradict this.

    Notes
    -----
    The audit checks: each row of the trace was a mistake when it was visited; (i) progress towards the plane of largest
    margin; (ii) growth of the norm; the cosine that follows; the running upper bound on the margin; the number of
    mistakes; that the trace leads to the weights of the model; and what the model says of its rows. Comparisons allow
    for the rounding of sums in doubles, which is bounded, and for nothing else. With sample weights in ``fit`` the
    trace does not lead to the weights.

    Examples
    --------
    >>> from linsep import Perceptron, audit, teacher
    >>> X, y, _ = teacher(100, 3, margin=0.2)
    >>> audit(Perceptron().fit(X, y), X, y).holds
    True
    """
    trail = retrace(model, X, y, coef_init=coef_init, intercept_init=intercept_init)
    return audit_trail(model, trail, X, y, gap=gap, margin=margin)


def audit_trail(model: Any, trail: Trail, X: Any, y: Any, *, gap: float = 1e-6, margin: Margin | None = None) -> Audit:
    """Check the proof of the mistake bound along a run that has been followed already."""
    X = as_trained(model, X)
    used_X, used_y = (X, y) if trail.kept is None else (as_matrix(X)[trail.kept], class_labels(y)[trail.kept])
    try:
        bound = mistake_bound(
            used_X, used_y, fit_intercept=model.fit_intercept, eta0=trail.eta, coef_init=trail.start[:, :-1],
            intercept_init=trail.start[:, -1] if model.fit_intercept else None,
            update_margin=trail.rule.margin, gap=gap, margin=margin,
        )  # fmt: skip
        error = None
    except NotSeparable as not_separable:
        bound, error = None, not_separable
    result = follow(model, trail, bound)
    if error is not None and result.holds:
        raise error
    return result


def run_margin(model: Any, trail: Trail, clock: Clock | None = None) -> Margin | None:
    """Return the bounds on the largest margin that a run gives free of charge, None if it did not separate the rows.

    Above: ``‖w - w_0‖/(ηk)`` at its least. Below: the margin of the plane found, certified.
    """
    if model.stop_reason_ != Stop.SEPARATED or len(trail.trace) == 0:
        return None
    machines = len(trail.start)
    form: MarginForm = "augmented" if model.fit_intercept else "origin"
    rows = trail.examples.rows
    W, b = np.ascontiguousarray(trail.end[:, :-1]), trail.end[:, -1].copy()
    norms = in_range(rows).norms(trail.start.shape[1] - 1)
    codes = ((trail.examples.y + 1) // 2 if machines == 1 else trail.examples.y).astype(np.intp)
    data = Data(rows, codes, trail.start.shape[1] - 1, max(2, machines), bool(model.fit_intercept))
    lower = margin_bracket.lower(Hull(data, form), W, b, norms, 0.0, clock or Clock())
    k = np.arange(1.0, len(trail.trace) + 1)
    best = int((trail.moved[1:] / (trail.eta * k)).argmin()) + 1  # in floats: any choice gives a bound
    upper = _moved_at_most(trail, sorted({best, len(k)}))
    pairs, weights = np.unique(trail.trace.astype(np.intp), return_counts=True)
    plane = np.column_stack((W, b)) / np.linalg.norm(trail.end)
    two = machines == 1
    return Margin(
        lower, upper, form, plane[0, :-1] if two else plane[:, :-1], float(plane[0, -1]) if two else plane[:, -1],
        pairs // machines, weights / len(trail.trace), None if two else pairs % machines, model.classes_,
    )  # fmt: skip


def _moved_at_most(trail: Trail, counts: list[int]) -> float:
    """Return the least ``‖w - w_0‖/(ηk)`` after some numbers of mistakes, with all rounding upwards.

    Each of k updates is off by at most ``u(‖w‖ + η‖z‖)`` and, where products underflow, ``√d 2**-1074`` (Higham 2002,
    section 3.1); and ``‖w‖`` is at most ``‖w_0‖ + kη‖z‖``, up to factors that the twofold of all covers.
    """
    longest = root(squared_radius(trail.examples.rows)[1] + int(trail.rule.offset), up=True)
    longest *= 1.0 if len(trail.start) == 1 else math.sqrt(2) * (1 + _UNIT)
    first, size, least = norm(trail.start), trail.start.size, math.inf
    for k, (W, b) in zip(counts, trail.weights_after(counts), strict=True):
        moved = norm(np.column_stack((W, b)) - trail.start) / (trail.eta * k) * (1 + (size + 8) * _UNIT)
        off = 2 * _UNIT * (first / trail.eta + (k + 2) * longest) + 2 * math.sqrt(size) * 2.0**-1074 / trail.eta
        least = min(least, moved + off)
    return math.nextafter(least * (1 + 4 * _UNIT), math.inf)


def follow(model: Any, trail: Trail, bound: Bound | None) -> Audit:
    """Compare the running sums of a run with their bounds."""
    k = np.arange(len(trail.trace) + 1.0)
    eta, m, largest = trail.eta, trail.rule.margin, float(trail.squares.max())
    growth, first = trail.growth, float(np.square(trail.start).sum())
    growth_bound = first + k * (eta * (eta * largest + 2 * m))
    if bound is None:
        progress = progress_bound = np.full(len(k), np.nan)
        gamma, along = np.nan, 0.0
    else:
        plane = np.column_stack((np.atleast_2d(bound.margin.w), np.atleast_1d(bound.margin.b))).astype(np.float64)
        plane /= np.linalg.norm(plane)
        gamma, along = bound.margin.lower, float(np.sum(trail.start * plane))
        progress = np.cumsum(np.concatenate(([along], eta * trail.along(plane))))
        progress_bound = along + k * (eta * gamma)
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = progress / np.sqrt(growth)
        cosine_bound = np.where(progress_bound >= 0, progress_bound / np.sqrt(growth_bound), -1.0)
        margin_upper = np.where(k > 0, trail.moved / (eta * k), np.inf)

    # rounding: of a score (Higham 2002, section 3.1) with weights that have themselves been rounded k times
    terms = 16 + most_terms(trail.examples.rows)  # of a score, and some for what goes with them
    of_lead = (2 * terms + 8 * k) * _UNIT * np.sqrt(growth_bound * largest)
    of_growth = k * (2 * eta * of_lead + 4 * _UNIT * growth_bound) + terms * _UNIT * growth_bound
    of_progress = (2 * terms + k) * _UNIT * (math.sqrt(first) + k * eta * math.sqrt(largest))

    safe = (progress_bound - of_progress) / np.sqrt(growth_bound + of_growth + 1e-300)
    reached = np.square(trail.moved * (1 + 8 * _UNIT)) + 4 * of_growth
    mistakes = np.concatenate(([True], trail.leads <= m + of_lead[:-1]))
    free = bound is None  # then there is no plane to compare with, and NaN stands for what it would tell
    facts = {
        "the row was not a mistake when it was visited": mistakes,
        "(i) progress w·u is less than w₀·u + kηγ": free | (progress >= progress_bound - of_progress),
        "(ii) ‖w‖² is more than ‖w₀‖² + k(η²R² + 2ηm)": growth <= growth_bound + of_growth,
        "the cosine is below its bound": free | (safe < 0) | ~(cosine < safe * (1 - 8 * _UNIT)),
        "‖w - w₀‖/(ηk) is below the largest margin": free | (reached >= np.square(k * eta * gamma) * (1 - 8 * _UNIT)),
    }
    if bound is not None:
        facts[f"more mistakes than the bound of {bound.mistakes}"] = k <= bound.mistakes
    report: list[tuple[int | None, str]] = [(int(np.argmin(x)), what) for what, x in facts.items() if not x.all()]
    report.sort(key=lambda entry: entry[0] or 0)  # the first step first, then what is wrong as a whole
    report += [(None, what) for what in _as_a_whole(model, trail, float(of_lead[-1]), terms)]
    step, violation = (None, None) if not report else (report[0][0], report[0][1])
    if step is not None:
        row = f" (row {trail.number(int(trail.trace[step - 1]) // len(trail.start))})" if step > 0 else ""
        violation = f"step {step}{row}: {violation}"
        if bound is not None and not bound.covers_floats:
            violation += "; the theorem is about exact arithmetic, and this run lost scores to rounding or underflow"
    return Audit(
        not report, violation, step, len(trail.trace), bound, progress, progress_bound, growth, growth_bound,
        cosine, cosine_bound, margin_upper, trail.leads,
    )  # fmt: skip


def leads_to(trail: Trail, model: Any) -> bool:
    """Say whether a trail ends with the weights of a model, up to rounding; if not, these were not its rows."""
    if not model.returns_last:  # other weights are returned, or were on the way
        return True
    end, k = np.column_stack(_in_units_of_run(model, model.coef_, model.intercept_)), len(trail.trace)
    size = math.sqrt(float(np.square(trail.start).sum()) + k * trail.eta**2 * float(trail.squares.max()))
    size = max(size, float(np.abs(trail.end).max()))
    return bool(np.abs(end - trail.end).max() <= (8 * k + 16 + most_terms(trail.examples.rows)) * _UNIT * size)


def _as_a_whole(model: Any, trail: Trail, of_lead: float, terms: int) -> list[str]:
    """Say what does not fit between the rows, the trace and the model."""
    wrong = []
    if not leads_to(trail, model):
        wrong.append(
            "the trace does not lead from the first weights to those of the model: the rows or their order differ, or "
            "fit received first weights (then pass them as coef_init and intercept_init)"
        )
    machines = len(trail.start)
    radius = math.sqrt(float(trail.squares.max()) / (1 if machines == 1 else 2) - trail.rule.offset)
    slack = (terms + 8) * _UNIT * (model.radius_**2 + 1)
    if not hasattr(model, "scaling_") and not abs(radius**2 - model.radius_**2) <= slack:
        wrong.append(f"the largest norm of a row is {radius:.6g}, the model saw {model.radius_:.6g}")
    if model.stop_reason_ == Stop.SEPARATED and len(model.record_.runs) == 1:  # else it is said of the last piece
        scores = separations(trail.examples, np.ascontiguousarray(trail.end[:, :-1]), trail.end[:, -1])
        nearest = int(scores.argmin())
        if not scores[nearest] > trail.rule.margin - of_lead:
            row = trail.number(nearest)
            wrong.append(f"the run ended separated, but row {row} is on the wrong side of its plane")
    return wrong
