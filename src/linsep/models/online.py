"""What the online classifiers share: runs over rows that look at one example at a time, and what they record."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from numbers import Integral, Real
from typing import Any, NamedTuple, ParamSpec, Self

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from linsep.data.labels import (
    as_examples,
    at_least_two_classes,
    check_same_length,
    class_codes,
    classes_and_codes,
    example_weights,
)
from linsep.data.matrices import refuse_not_finite, to_rows
from linsep.learn.driver import (
    Keeper,
    Plan,
    View,
    Watch,
    Weights,
    allowed_mistakes,
    errors,
    held_out,
    norm,
    total,
    train,
    view,
)
from linsep.learn.hypotheses import Average, Best, Vote
from linsep.models.linear import Linear
from linsep.models.validation import checked_labels, checked_matrix
from linsep.problem import Array, Examples, Floats, Pass, Run, Stop, count, take

P = ParamSpec("P")


class _Stretch(NamedTuple):
    """A run that is part of a longer one: with one call of fit the whole, with partial_fit one of many."""

    run: Run
    machines: int
    first_row: int


class Online(Linear, ABC):
    """What the online classifiers share; a kind of them says how to train by its ``_plan``."""

    fit_intercept: bool
    shuffle: bool
    max_iter: int
    max_updates: int | None
    tol: float | None
    n_iter_no_change: int
    early_stopping: bool
    validation_fraction: float
    keep: str
    multi_class: str
    class_weight: Any
    warm_start: bool
    random_state: Any
    verbose: int
    # of the perceptron alone
    eta0: float = 1.0
    order: str | None = None
    target_margin: float | None = None
    _mistakes_are_errors = True  # every update was made on a row that was on the wrong side

    @abstractmethod
    def _plan(self, machines: int, seed: int) -> Plan:
        """Return how to train so many weight vectors, as the parameters say."""

    # -----------------------------------------------------------------------------------------------------------
    # Training

    def fit(self, X: Any, y: Any, sample_weight: Any = None, coef_init: Any = None, intercept_init: Any = None) -> Self:
        """Train until a rule ends the run.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
            Labels of any hashable type, at least two different ones.
        sample_weight : array-like of shape (n,), default=None
            Factors of the learning rate; a row of weight 0 is not looked at.
        coef_init : array-like of shape (d,), (1, d) or (classes, d), default=None
            First weights, zero unless given.
        intercept_init : array-like of shape (1,) or (classes,), default=None
            First offsets, zero unless given.

        Returns
        -------
        self : the classifier
        """
        self._check_parameters()
        X, y = self._rows_and_labels(X, y, reset=True)
        classes, y = at_least_two_classes(y)
        weight = example_weights(X, sample_weight, self.class_weight, classes, y)
        W, b = self._first_weights(X.shape[1], classes, coef_init, intercept_init)
        seed = self._draw_seed()
        held = np.flatnonzero(held_out(seed, 0, len(y), self.validation_fraction)) if self.early_stopping else None
        run, data, keeper = self._train(X, y, weight, W, b, seed, held=held)

        seen = self._look_back(X, data, *keeper.plane(Weights(W, b)))
        self._forget(seed)
        self._adopt(classes, W, b, run, len(y), seen, keeper)
        if run.stop in (Stop.MAX_ITER, Stop.MAX_UPDATES) and (seen.wrong or self._mistakes_are_errors):
            self._warn(run, seen.wrong, int(np.count_nonzero(data.step)))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over some more rows, going on from the weights there are.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        classes : array-like, default=None
            Labels to expect. Not needed: a label that was never seen before starts a new class.
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        self : the classifier
        """
        self._check_parameters()
        for name in ("early_stopping", "target_margin", "max_updates", "tol"):
            if getattr(self, name):
                raise ValueError(f"{name} ends a run of many passes: use fit, partial_fit makes one pass")
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight 'balanced' is not supported for partial_fit: it needs all labels at once. "
                "Give the weights as a dict."
            )
        fresh = not hasattr(self, "coef_")
        X, y = self._rows_and_labels(X, y, reset=fresh)
        known = [] if fresh else [self.classes_]
        expected = [] if classes is None else [checked_labels(classes)]
        merged, _ = classes_and_codes(np.concatenate([*known, *expected, y]))
        if not fresh and len(merged) == len(self.classes_):
            merged = self.classes_  # in the order they have, which need not be the sorted one
        weight = example_weights(X, sample_weight, self.class_weight, merged, class_codes(y, merged))
        if fresh:
            W, b = self._first_weights(X.shape[1], merged, None, None)
            keeper = self._new_keeper()
        else:
            W, b, keeper = self._grown(merged)
        # a class without a rival is the positive one until a second class is seen
        y = class_codes(y, merged) if len(merged) > 1 else np.ones(len(y), np.intp)
        seed = self._draw_seed() if fresh else self._seed
        first_pass = 0 if fresh else self.n_iter_
        run, data, keeper = self._train(X, y, weight, W, b, seed, max_iter=1, first_pass=first_pass, keeper=keeper)

        seen = self._look_back(X, data, *keeper.plane(Weights(W, b)))
        if fresh:
            self._forget(seed)
        self._adopt(merged, W, b, run, len(y), seen, keeper)
        return self

    def _train(
        self,
        X: Any,
        y: Array,
        weight: Floats,
        W: Floats,
        b: Floats,
        seed: int,
        *,
        held: Array | None = None,
        max_iter: int | None = None,
        first_pass: int = 0,
        keeper: Keeper | None = None,
    ) -> tuple[Run, Examples, Keeper]:
        """Train ``W`` and ``b`` in place; return the run, the examples as it saw them, and what it keeps."""
        rows = to_rows(X)
        if keeper is None:
            keeper = self._new_keeper(lambda W, b: total(errors(data, W, b, self.on_plane)))
        validation_error = None
        if held is not None:
            if not 0 < len(held) < len(y):
                raise ValueError(
                    f"validation_fraction={self.validation_fraction} holds out {len(held)} of {len(y)} rows"
                )
            unseen = as_examples(take(rows, held), y[held], len(b), np.ones(len(held)))
            weight = weight.copy()
            weight[held] = 0.0

            def validation_error() -> float:
                return keeper.wrong(unseen, Weights(W, b), self.on_plane) / count(unseen.rows)

        data = as_examples(rows, y, len(b), self.eta0 * weight)
        plan = self._plan(len(b), seed)
        if max_iter is not None:
            plan = replace(plan, max_iter=max_iter)
        with self._explained(X, W), np.errstate(over="ignore", invalid="ignore"):
            if self.target_margin is not None:
                used = data.step[data.step > 0]
                start = norm(np.column_stack((W, b)))
                radius = view(data, W, b).radius
                allowed = allowed_mistakes(plan, radius, self.target_margin, (used.min(), used.max()), start)
                plan = replace(plan, allowed=allowed)
            with self._progress(plan.max_iter) as watch:
                run = train(
                    [(0, data)],
                    Weights(W, b),
                    plan,
                    first_pass=first_pass,
                    validation_error=validation_error,
                    watch=watch,
                    keeper=keeper,
                )
            if not (np.isfinite(W).all() and np.isfinite(b).all()):
                raise FloatingPointError
        return run, data, keeper

    def _new_keeper(self, evaluate: Callable[[Floats, Floats], float] | None = None) -> Keeper:
        """Return what keeps the hypothesis that is asked for; ``evaluate`` weighs the errors of weights on all rows."""
        if self.keep == "average":
            return Average()
        if self.keep == "best":
            return Best(evaluate)
        return Vote(self.multi_class == "ovr") if self.keep == "vote" else Keeper()

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _look_back(self, X: Any, data: Examples, W: Floats, b: Floats) -> View:
        """Look at the rows just learnt from with the weights that came out."""
        with self._explained(X, W):
            return view(data, W, b, on_plane=self.on_plane)

    def _forget(self, seed: int) -> None:
        """Start a new record."""
        self._stretches: list[_Stretch] = []
        self._seed, self._rows_seen, self.radius_ = seed, 0, 0.0

    def _adopt(
        self, classes: Array, W: Floats, b: Floats, run: Run, rows: int, seen: View, keeper: Keeper | None = None
    ) -> None:
        """Take over what a run has learnt, of which ``W`` and ``b`` came last, and note what it recorded."""
        keeper = keeper or Keeper()
        keeper.done()
        self.classes_ = classes
        self.coef_, self.intercept_ = keeper.plane(Weights(W, b))
        if type(keeper) is not Keeper:
            self._last, self._keeper = (W, b), keeper
        else:
            self.__dict__.pop("_last", None)
            self.__dict__.pop("_keeper", None)
        self._stretches.append(_Stretch(run, len(b), self._rows_seen))
        self._rows_seen += rows
        self.radius_ = max(self.radius_, seen.radius)
        self.margin_ = seen.smallest / (norm(self.coef_) or math.nan)
        self.training_errors_ = seen.wrong

    def _first_weights(self, d: int, classes: Array, coef_init: Any, intercept_init: Any) -> tuple[Floats, Floats]:
        """Return the weights and offsets to start from: given ones, those there are (warm start), or zero."""
        machines = 1 if len(classes) <= 2 else len(classes)
        W, b = np.zeros((machines, d)), np.zeros(machines)
        if self.warm_start and hasattr(self, "coef_"):
            if self.coef_.shape != W.shape or not np.array_equal(self.classes_, classes):
                raise ValueError("warm_start needs the same classes and number of features as the fit before")
            W, b = (part.copy() for part in self._last_weights())
        for name, given, target in (("coef_init", coef_init, W), ("intercept_init", intercept_init, b)):
            if given is not None:
                values = np.asarray(given, dtype=np.float64)
                if values.size != target.size or (values.ndim > 1 and values.shape != target.shape):
                    raise ValueError(f"{name} has shape {values.shape}, expected {target.shape}")
                if not np.isfinite(values).all():
                    raise ValueError(f"{name} contains NaN or infinity")
                target[...] = values.reshape(target.shape)
        if intercept_init is not None and not self.fit_intercept:
            raise ValueError("intercept_init is given, but fit_intercept=False learns no offset")
        return W, b

    def _last_weights(self) -> tuple[Floats, Floats]:
        """Return the weights and offsets to go on from, whichever ones were handed over."""
        W, b = self.__dict__.get("_last", (self.coef_, self.intercept_))
        return W, b

    def _grown(self, classes: Array) -> tuple[Floats, Floats, Keeper]:
        """Return a copy of the weights, and of what is kept, with room for classes that were not there before."""
        keeper = self.__dict__.get("_keeper")
        fits = type(keeper) is type(self._new_keeper())
        keeper = keeper.copy() if keeper is not None and fits else self._new_keeper()
        old, (W, b) = self.classes_, self._last_weights()
        if len(classes) == len(old):
            return W.copy(), b.copy(), keeper
        places = class_codes(old, classes)

        def grow(W: Floats, b: Floats) -> tuple[Floats, Floats]:
            return _grown(W, b, places, len(classes))

        keeper.grow(grow, places, len(classes))
        return *grow(W, b), keeper

    # -----------------------------------------------------------------------------------------------------------
    # Prediction

    def decision_function(self, X: Any) -> Floats:
        """Return the score ``w·x + b`` of every row: shape (n,) for two classes, (n, classes) for more.

        With ``keep="vote"`` the score is the weighted vote: votes for the second class less those for the first; of
        more classes the votes for each, or for ``multi_class="ovr"`` those for it less those against it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        scores : ndarray of shape (n,) or (n, classes)
        """
        keeper = self.__dict__.get("_keeper")
        if not isinstance(keeper, Vote):
            return super().decision_function(X)
        check_is_fitted(self, "coef_")
        X = checked_matrix(self, X, reset=False)
        if not np.isfinite(X.data if sp.issparse(X) else X).all():
            refuse_not_finite(X, self.coef_, getattr(self, "feature_names_in_", None))
        V = keeper.votes(X, self.on_plane)
        return V[:, 0] if V.shape[1] == 1 else V

    # -----------------------------------------------------------------------------------------------------------
    # What a run recorded

    @property
    def n_iter_(self) -> int:
        """Passes made."""
        return sum(len(stretch.run.passes) for stretch in self._recorded())

    @property
    def stop_reason_(self) -> str:
        """Why the run ended."""
        recorded = self._recorded()
        if not recorded:
            raise AttributeError("the weights of this model came from elsewhere: there was no run")
        return str(recorded[-1].run.stop)

    @property
    def mistakes_(self) -> int:
        """Mistakes made in training."""
        return sum(stretch.run.mistakes for stretch in self._recorded())

    @property
    def trace_(self) -> Array:
        """Rows on which the mistakes fell, in order."""
        parts = [s.run.trace // np.uint64(s.machines) + np.uint64(s.first_row) for s in self._recorded()]
        trace: Array = np.concatenate([np.empty(0, np.uint64), *parts]).astype(np.intp)
        if len(trace) != self.mistakes_:
            why = "it is too long, or several shards made them side by side"
            raise AttributeError(f"the trace of {self.mistakes_} mistakes was not kept: {why}")
        return trace

    @property
    def mistake_counts_(self) -> Array:
        """Mistakes made on each row."""
        return np.bincount(self.trace_, minlength=self._rows_seen)

    @property
    def history_(self) -> dict[str, Array]:
        """For each pass its mistakes, loss, validation error and seconds."""
        passes = [entry for stretch in self._recorded() for entry in stretch.run.passes]
        return {name: np.array([getattr(entry, name) for entry in passes]) for name in Pass._fields}

    def _recorded(self) -> list[_Stretch]:
        try:
            return self.__dict__["_stretches"]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit first") from None

    # -----------------------------------------------------------------------------------------------------------
    # Words to the user

    def _warn(self, run: Run, wrong: int, rows: int) -> None:
        budget = f"{run.stop}={self.max_iter if run.stop is Stop.MAX_ITER else self.max_updates}"
        last = run.passes[-1].mistakes
        warnings.warn(
            f"{budget} ended the run while the last pass still made {last} mistake{'s' * (last != 1)}; "
            f"{wrong} of {rows} rows are on the wrong side. If some plane separates the data, a larger {run.stop} or "
            "scaled features (StandardScaler) will find one. If none does, no number of passes will: set tol or "
            "early_stopping to stop sooner. linsep.separate tells which, with a proof.",
            ConvergenceWarning,
            stacklevel=3,
        )

    @contextmanager
    def _progress(self, passes: int) -> Iterator[Watch | None]:
        """Show a progress bar on standard error while training, if asked to."""
        if not self.verbose:
            yield None
            return
        columns = (
            TextColumn("pass {task.completed}/{task.total}"),
            BarColumn(),
            TextColumn("{task.fields[made]} mistakes, loss {task.fields[loss]:.4g}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=Console(stderr=True)) as progress:
            task = progress.add_task("", total=passes, made=0, loss=0.0)
            yield lambda number, _, made, loss: progress.update(task, completed=number + 1, made=made, loss=loss)

    # -----------------------------------------------------------------------------------------------------------
    # Checks

    def _rows_and_labels(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Array]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = checked_matrix(self, X, reset=reset)
        y = checked_labels(y)
        check_same_length(X, y)
        return X, y

    def _check_parameters(self) -> None:
        need(self, whole(self.max_iter) and self.max_iter >= 1, "max_iter", "a positive whole number")
        most = self.max_updates
        need(self, most is None or (whole(most) and most >= 1), "max_updates", "None or a positive whole number")
        tol = self.tol
        need(self, tol is None or (number(tol) and tol >= 0), "tol", "None or a number that is not negative")
        patience = self.n_iter_no_change
        need(self, whole(patience) and patience >= 1, "n_iter_no_change", "a positive whole number")
        share = self.validation_fraction
        need(self, number(share) and 0 < share < 1, "validation_fraction", "between 0 and 1")
        one_of(self, "multi_class", ("argmax", "ovr"))
        one_of(self, "on_plane", (-1, 1))


_NO_PENALTY = (
    'there is no penalty here; where classes overlap use keep="average" or PassiveAggressive(C=...), or '
    "scikit-learn's SGDClassifier for a penalty"
)
_ELSEWHERE = {
    "penalty": _NO_PENALTY,
    "alpha": _NO_PENALTY,
    "l1_ratio": _NO_PENALTY,
    "n_jobs": "leave it out: a run looks at one example after the other",
    "average": 'say keep="average"',
    "loss": 'say PassiveAggressive(variant="pa1") for the hinge loss, "pa2" for its square',
}


def advising(init: Callable[P, None]) -> Callable[P, None]:
    """Have a constructor say what to do about a parameter that scikit-learn's namesake has and ours has not."""

    @wraps(init)
    def checked(*given: P.args, **named: P.kwargs) -> None:
        for name in named:
            if name in _ELSEWHERE:
                raise TypeError(f"{type(given[0]).__name__} has no parameter {name}: {_ELSEWHERE[name]}")
        init(*given, **named)

    return checked


def need(model: Any, right: bool, name: str, what: str) -> None:
    """Refuse the value of a parameter."""
    if not right:
        raise ValueError(f"{name} must be {what}, got {getattr(model, name)!r}")


def one_of(model: Any, name: str, choices: tuple[Any, ...]) -> None:
    """Refuse the value of a parameter that is none of these."""
    *most, last = map(repr, choices)
    need(model, getattr(model, name) in choices, name, f"{', '.join(most)} or {last}")


def number(value: Any) -> bool:
    """Say whether this is a finite number."""
    return isinstance(value, Real) and value is not True and value is not False and math.isfinite(value)


def whole(value: Any) -> bool:
    """Say whether this is a whole number."""
    return isinstance(value, Integral) and value is not True and value is not False


def _grown(W: Floats, b: Floats, places: Array, classes: int) -> tuple[Floats, Floats]:
    """Return weights and offsets with room for more classes, where the old ones take these places.

    A binary perceptron is the argmax machine with ``W = (-w, w)``, and likewise two opposite binary ones: so training
    goes on as if there had been one weight vector per class from the start.
    """
    if classes == 2:  # of one class known so far, which was taken as the positive one
        sign = 1.0 if places[0] == 1 else -1.0
        return sign * W, sign * b
    if len(W) == 1:
        signs = np.array([1.0] if len(places) == 1 else [-1.0, 1.0])
        W, b = signs[:, None] * W, signs * b
    grown_W, grown_b = np.zeros((classes, W.shape[1])), np.zeros(classes)
    grown_W[places], grown_b[places] = W, b
    return grown_W, grown_b
