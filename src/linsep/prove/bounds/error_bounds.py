"""Bounds on the error on new rows: from held-out rows, and from the training rows alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

from linsep.data.arrays import to_rows
from linsep.data.labels import as_examples, check_same_length, class_codes, class_labels
from linsep.data.matrices import matrix_for
from linsep.errors import ParameterError
from linsep.learn.averaging import WeightTracker
from linsep.learn.driver import fit
from linsep.learn.evaluation import separations
from linsep.learn.passes import Hooks, State
from linsep.learn.weights import Weights, norm
from linsep.problem import Array, Batch, Examples, Problem, Stop, take
from linsep.prove.bounds.audits import Trail, retrace
from linsep.prove.bounds.intervals import clopper_pearson, log_choices, upwards
from linsep.prove.bounds.margin_bracket import most_terms, root
from linsep.prove.bounds.mistake_bounds import squared_radius
from linsep.prove.notebook_tables import notebook_html

_IID = "the rows were drawn independently from one distribution, and new rows come from the same"
_UP = 1 + 1e-12  # a bound is rounded upwards
_SUMMED = 2000  # binomial coefficients that are added one by one


@dataclass(frozen=True, repr=False)
class ErrorBound:
    """A statement about the share of new rows that a classifier gets wrong.

    Attributes
    ----------
    name : str
    value : float
        With probability 1 - δ the error on new rows is at most this; NaN if the bound does not apply.
    lower : float
        Lower bound on the error: 0 except for held-out rows.
    formula : str
        The formula, with its numbers.
    assumptions : tuple of str
        The assumptions under which it holds.
    reason : str or None
        Why it does not apply, if it does not.
    vacuous : bool
        Whether the bound is 1 or more, so that it says nothing.

    Examples
    --------
    >>> from linsep import ErrorBound
    >>> ErrorBound("guess", 1.5, "a guess", ("none",))
    ErrorBound(guess: error <= 1.5, vacuous: every error is at most 1)
    """

    name: str
    value: float
    formula: str
    assumptions: tuple[str, ...]
    lower: float = 0.0
    reason: str | None = None

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing, because it is 1 or more."""
        return self.value >= 1

    @property
    def applies(self) -> bool:
        """Whether the premise of the bound is met."""
        return self.reason is None

    def __repr__(self) -> str:
        if self.reason is not None:
            return f"ErrorBound({self.name}: does not apply: {self.reason})"
        least = f"{self.lower:.4g} <= " if self.lower > 0 else ""
        most = ", vacuous: every error is at most 1" if self.vacuous and not least else ""
        return f"ErrorBound({self.name}: {least}error <= {self.value:.4g}{most})"


@dataclass(frozen=True, repr=False)
class Generalization:
    """Bounds on the error on new rows, each of which holds with probability 1 - δ.

    Attributes
    ----------
    delta : float
    held_out, compression, margin, vc, finite_class : ErrorBound

    Examples
    --------
    >>> from linsep import Perceptron, generalization
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> [bound.name for bound in generalization(Perceptron().fit(X, y), X, y)]
    ['held-out rows', 'compression', 'margin', 'VC dimension', 'finite class']
    """

    delta: float
    held_out: ErrorBound
    compression: ErrorBound
    margin: ErrorBound
    vc: ErrorBound
    finite_class: ErrorBound

    def __iter__(self) -> Iterator[ErrorBound]:
        return iter((self.held_out, self.compression, self.margin, self.vc, self.finite_class))

    def __repr__(self) -> str:
        lines = "".join(f"\n  {part!r}" for part in self)
        return f"Generalization(each with probability at least {1 - self.delta:g}:{lines})"

    def _repr_html_(self) -> str:
        rows = [(part.name, f"{part.value:.4g}" if part.applies else "—", part.reason or part.formula) for part in self]
        proof = f"Each bound holds with probability at least {1 - self.delta:g}, under its assumptions."
        return notebook_html("The error on new rows is at most", proof, rows, ("bound", "error", "why"))


def generalization(
    model: Any,
    X: Any,
    y: Any,
    *,
    delta: float = 0.05,
    X_test: Any = None,
    y_test: Any = None,
    radius: float | None = None,
) -> Generalization:
    """Bound the error of a perceptron on new rows.

    Parameters
    ----------
    model : Perceptron
        Fitted, with its trace.
    X, y : array-like or sparse matrix of shape (n, d), array-like of shape (n,)
        The rows it was trained on, in their order.
    delta : float, default=0.05
        Each of the bounds may fail with this probability.
    X_test, y_test : array-like, default=None
        Rows that took no part in training nor in any choice about it.
    radius : float, default=None
        A norm that no row ever exceeds, for the margin bound. By default that of the longest training row, which makes
        it an assumption.

    Returns
    -------
    generalization : Generalization
        ``held_out``, ``compression``, ``margin``, ``vc`` and ``finite_class``, each with its value, formula and
        assumptions.

    Notes
    -----
    Held out: Clopper & Pearson (1934). Compression: Littlestone & Warmuth (1986); Shalev-Shwartz & Ben-David (2014),
    chapter 30; its premise is checked by a second run on the support rows. Margin: Mohri, Rostamizadeh & Talwalkar
    (2018), *Foundations of Machine Learning*, 2nd edition, equation 5.41 (theorem 5.9) with theorem 5.10 for planes of
    norm 1: Rademacher complexity, for all ρ at once. VC dimension: Blumer, Ehrenfeucht, Haussler & Warmuth (1989) where
    all rows are right, else Anthony & Bartlett (1999), theorem 4.3. Finite class: Hoeffding (1963) and a union over the
    planes whose weights are doubles; halfspaces themselves are infinitely many, so the bound of a lecture for finite
    classes says nothing of them.

    Examples
    --------
    >>> from linsep import Perceptron, generalization, teacher
    >>> X, y, _ = teacher(2000, 2, margin=0.3)
    >>> model = Perceptron(shuffle=False).fit(X[:1000], y[:1000])
    >>> known = generalization(model, X[:1000], y[:1000], X_test=X[1000:], y_test=y[1000:])
    >>> known.held_out.value < known.compression.value < 0.1
    True
    """
    if not hasattr(model, "classes_"):
        raise TypeError(f"generalization needs a fitted classifier; this {type(model).__name__} is not one")
    if not 0 < delta < 1:
        raise ParameterError("delta", delta, "between 0 and 1")
    if (X_test is None) != (y_test is None):
        raise ValueError("give both X_test and y_test, or neither")
    return Generalization(
        delta,
        _held_out(model, X_test, y_test, delta),
        _compression(model, X, y, delta),
        _margin(model, X, y, delta, radius),
        *_of_halfspaces(model, X, y, delta),
    )


# ---------------------------------------------------------------------------------------------------------------
# Held-out rows


def _held_out(model: Any, X: Any, y: Any, delta: float) -> ErrorBound:
    """Return the error on held-out rows with its interval."""
    name = "held-out rows"
    words = "exact binomial (Clopper-Pearson) interval around the share of held-out rows predicted wrong"
    assumptions = (_IID, "the held-out rows took no part in training, nor in any choice about it")
    labels = class_labels([] if X is None else y)
    predicted, rows = model.predict(X) if X is not None else labels, len(labels)
    if len(predicted) != rows:
        raise ValueError(f"X_test has {len(predicted)} rows but y_test has {rows} labels")
    if rows == 0:
        return ErrorBound(name, math.nan, words, assumptions, reason="it needs held-out rows")
    if set(model.classes_.tolist()).isdisjoint(labels.tolist()):
        raise ValueError(
            f"no label of y_test is a class of the model: y_test has {type(labels.tolist()[0]).__name__} labels like "
            f"{labels.tolist()[0]!r}, the model has {type(model.classes_.tolist()[0]).__name__} labels like "
            f"{model.classes_.tolist()[0]!r}"
        )
    wrong = sum(guess != label for guess, label in zip(predicted.tolist(), labels.tolist(), strict=True))
    low, high = clopper_pearson(wrong, rows, delta=delta)
    words = f"{wrong} of {rows} held-out rows are predicted wrong; {words}"
    return ErrorBound(name, high, words, assumptions, lower=low)


# ---------------------------------------------------------------------------------------------------------------
# Compression


def _compression(model: Any, X: Any, y: Any, delta: float) -> ErrorBound:
    """Return the bound for a run that its support rows determine, after a second run on them alone."""
    name = "compression"
    words = "(ln C(n, s) + ln(n/δ)) / (n - s), n rows of which s had mistakes"
    assumptions = (
        _IID,
        "the order and the learning rate were not chosen by looking at these rows",
        "the classes were known before the rows were seen",
        "checked: all n rows are predicted right, and a run on the s support rows alone leads to the same weights",
    )
    try:
        trail = retrace(model, X, y)
    except ValueError as error:
        return ErrorBound(name, math.nan, words, assumptions, reason=str(error))
    machines, n = len(trail.start), len(trail.examples.y)
    support = np.unique(trail.trace.astype(np.intp) // machines)
    s = len(support)
    reason = None
    if not model.returns_last:
        reason = f"it applies to the last weights of a run, not to keep={model.keep!r}"
    elif getattr(model, "scaling_", None) is not None:
        reason = "the scale of the columns was computed from all rows, so the run depends on all of them"
    elif trail.kept is not None:
        reason = "held-out rows decided when to stop, so the run depends on them as well"
    elif trail.start.any():
        reason = "the run did not begin from zero weights, and the first weights may come from these rows"
    elif wrong := _wrong(model, X, y):
        stop = model.stop_reason_
        others = ", which says nothing of rows of weight 0 or of earlier partial fits" if stop == Stop.SEPARATED else ""
        reason = f"{wrong} of the {n} rows are predicted wrong, and it needs all right (the run ended {stop}{others})"
    elif s == n:
        reason = "every row had a mistake, so no row is left to test on"
    elif not _retraces(model, trail, support):
        reason = (
            "a run on the support rows alone leads to other weights, as shuffling, row weights or several partial fits "
            "make it: use shuffle=False and one fit without weights"
        )
    if reason is not None:
        return ErrorBound(name, math.nan, words, assumptions, reason=reason)
    value = upwards((log_choices(n, s) + (n / arb(delta)).log()) / (n - s))
    return ErrorBound(name, value, f"{words}; here n = {n}, s = {s}", assumptions)


def _wrong(model: Any, X: Any, y: Any) -> int:
    """Return how many rows a model predicts wrong, whatever part they had in its training."""
    codes = (class_codes(class_labels(labels), model.classes_) for labels in (model.predict(X), y))
    return int(np.count_nonzero(np.not_equal(*codes)))


def _retraces(model: Any, trail: Trail, support: Array) -> bool:
    """Say whether a run on the support rows alone ends separated, with exactly the weights of the model.

    It must be one algorithm for all sets of rows, which nothing but the parameters determines: so it goes on until a
    pass has no mistake, and the limits below only end a run that has gone astray.
    """
    examples, d = trail.examples, trail.start.shape[1] - 1
    part = Examples(take(examples.rows, support), examples.y[support], examples.step[support])
    problem = Problem(model.classes_, [Batch(0, part, d, part.rows)], np.ones(len(model.classes_)))
    parameters = model.run_parameters(model.record_.seed)._replace(
        max_updates=model.mistakes_ + 1, max_iter=model.n_iter_ + 1, keep="last"
    )
    state = State(Weights.zero(len(trail.start), d), WeightTracker())
    run = fit(problem, parameters, state, Hooks(evaluate=False)).run
    if run.stop not in (Stop.SEPARATED, Stop.NO_MISTAKES):
        return False
    return np.array_equal(state.weights.W, model.coef_) and np.array_equal(state.weights.b, model.intercept_)


def _no_single_plane(model: Any) -> str | None:
    """Return why the bounds for one plane do not apply to a model, if they do not."""
    if not hasattr(model, "coef_") or getattr(model, "keep", "last") == "vote":
        return "the model does not predict with a single plane"
    return "it needs two classes" if len(model.coef_) > 1 else None


# ---------------------------------------------------------------------------------------------------------------
# Margin


def _margin(model: Any, X: Any, y: Any, delta: float, radius: float | None) -> ErrorBound:
    """Return the margin bound at its best ρ; it holds for all ρ at once, so that choosing one is free."""
    name = "margin"
    words = (
        "share of rows short of margin ρ (ramp loss) + 4 r/(ρ√n) + √(ln log₂(2r/ρ)/n) + √(ln(2/δ)/(2n)), "
        "least over all ρ up to r"
    )
    known = "r was known before the rows were seen" if radius is not None else (
        "no row is ever longer than the longest training row (give radius= if a bound is known)"
    )  # fmt: skip
    assumptions = (_IID, known)
    if reason := _no_single_plane(model):
        return ErrorBound(name, math.nan, words, assumptions, reason=reason)
    X = matrix_for(model, X)
    labels = class_codes(class_labels(y), model.classes_)
    check_same_length(X, labels)
    rows = to_rows(X)
    data = as_examples(rows, labels, 1, np.ones(len(labels)))
    offset = bool(model.fit_intercept)
    size = norm(np.append(model.coef_, model.intercept_ if offset else 0.0))
    longest = root(squared_radius(rows)[1], up=True)
    if radius is not None and longest > radius * (1 + 1e-9):
        raise ValueError(f"a row has norm {longest:.6g}, more than the given radius of {radius:.6g}")
    r = math.hypot(max(longest, radius or 0.0), 1.0 if offset else 0.0) * _UP
    if size == 0 or r == 0:
        return ErrorBound(name, math.nan, words, assumptions, reason="there is no plane: w = 0")
    distances = separations(data, model.coef_, model.intercept_) / size
    distances -= (most_terms(rows) + 8) * (2.0**-52 * r + 2.0**-1074 / size)  # of rounding and underflow
    n = len(distances)
    rho = r * np.geomspace(1e-4, 1.0, 400)
    short = np.array([np.clip(1 - distances / each, 0.0, 1.0).mean() for each in rho])
    values = short + 4 * r / (rho * math.sqrt(n)) + np.sqrt(np.maximum(np.log(np.log2(2 * r / rho)), 0.0) / n)
    values += math.sqrt(math.log(2 / delta) / (2 * n))
    best = int(values.argmin())
    words = f"{words}; here n = {n}, r = {r:.4g}, ρ = {rho[best]:.4g}, of which the loss is {short[best]:.4g}"
    return ErrorBound(name, float(values[best]) * _UP, words, assumptions)


# ---------------------------------------------------------------------------------------------------------------
# All halfspaces at once


def _of_halfspaces(model: Any, X: Any, y: Any, delta: float) -> tuple[ErrorBound, ErrorBound]:
    """Return the bounds that hold for every halfspace at once, by its dimension and by the doubles that write it."""
    vc, finite = "VC dimension", "finite class"
    growth = (
        "with Π = Σ C(2n, i) for i up to the VC dimension D of halfspaces: 2 log₂(4Π/δ)/n if all rows are right, "
        "or share of wrong rows + √(8 ln(8Π/δ)/n), whichever is less"
    )
    count = (
        "with H = 2^(64 D) planes whose D weights are doubles: ln(2H/δ)/n if all rows are right, or share of wrong "
        "rows + √(ln(2H/δ)/(2n)), whichever is less"
    )
    plain = (_IID,)
    written = (_IID, "the plane is one of finitely many: its weights are doubles; halfspaces are infinitely many")
    reason = _no_single_plane(model)
    if reason is None and (
        getattr(model, "scaling_", None) is not None or getattr(model, "reading_", {}).get("levels")
    ):
        reason = "the columns were chosen or scaled by these rows"
    if reason is not None:
        return (
            ErrorBound(vc, math.nan, growth, plain, reason=reason),
            ErrorBound(finite, math.nan, count, written, reason=reason),
        )
    n, wrong = len(class_labels(y)), _wrong(model, X, y)
    D = model.coef_.shape[1] + bool(model.fit_intercept)
    log_growth, bits = _log_growth(2 * n, D), 64 * D * arb(2).log()
    doubled = upwards((8 * (log_growth + (8 / arb(delta)).log()) / n).sqrt() + arb(wrong) / n)
    listed = upwards(((bits + (2 / arb(delta)).log()) / (2 * n)).sqrt() + arb(wrong) / n)
    if wrong == 0:
        doubled = min(doubled, upwards(2 * (log_growth + (4 / arb(delta)).log()) / (n * arb(2).log())))
        listed = min(listed, upwards((bits + (2 / arb(delta)).log()) / n))
    here = f"; here n = {n}, D = {D}, {wrong} rows wrong"
    return ErrorBound(vc, doubled, growth + here, plain), ErrorBound(finite, listed, count + here, written)


def _log_growth(m: int, D: int) -> arb:
    """Return the logarithm of the most ways in which halfspaces of VC dimension D can label m points (Sauer 1972)."""
    if m <= D:
        return m * arb(2).log()
    if D > _SUMMED:
        return D * (m * arb(1).exp() / D).log()  # an upper bound
    total = term = 1
    for i in range(D):
        term = term * (m - i) // (i + 1)
        total += term
    return arb(total).log()
