"""The perceptron as a scikit-learn classifier."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from linsep import encode, kernels
from linsep.estimators.linear import Linear
from linsep.kernels import Rule
from linsep.problem import Array, Examples, Floats, Pass, Run, Stop, count, take
from linsep.train import Plan, View, Watch, Weights, allowed_mistakes, held_out, norm, train, view


class _Stretch(NamedTuple):
    """A run that is part of a longer one: with one call of fit the whole, with partial_fit one of many."""

    run: Run
    machines: int
    first_row: int


class Perceptron(Linear):
    """The perceptron, to the letter.

    Looks at one example at a time. It is a mistake when ``y (w·x + b) <= 0``; then ``w <- w + eta0 y x`` and
    ``b <- b + eta0 y``. A run on separable data ends with a full pass without a mistake, unless its budget is spent
    first, which it says. Dense and sparse rows of any real dtype are used as they are, without a float copy.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to learn an offset; without one the plane goes through the origin.
    eta0 : float, default=1.0
        Learning rate. From zero weights it scales the weights and changes nothing else.
    shuffle : bool, default=True
        Whether every pass looks at the rows in a fresh random order, or in the order given.
    order : {None, "first", "worst"}, default=None
        None: passes in cyclic or shuffled order, by ``shuffle``. "first": after every update start again from the
        first row. "worst": take the row with the smallest ``y s(x)`` each time. Both make at most one update a pass.
    max_iter : int, default=1000
        Largest number of passes.
    max_updates : int, default=None
        Largest number of updates.
    tol : float, default=None
        If given, stop when the loss of a pass has not gone down by more than this for ``n_iter_no_change`` passes.
    n_iter_no_change : int, default=5
        Passes without improvement that end a run, for ``tol`` and ``early_stopping``.
    early_stopping : bool, default=False
        Hold out rows and stop when the error on them has not improved for ``n_iter_no_change`` passes.
    validation_fraction : float, default=0.1
        Share of the rows to hold out: each is drawn by its number and the seed, so that reading the rows from a file,
        in blocks of any size, holds out the same.
    target_margin : float, default=None
        If given, stop as soon as the number of mistakes proves that no plane has this margin. With an offset it is
        the margin of the points ``(x, 1)``.
    keep : {"last"}, default="last"
        Which weights the run hands over: the last ones.
    update_margin : float, default=0.0
        Update also when ``y s(x)`` is positive but at most this: the perceptron with margins.
    multi_class : {"argmax", "ovr"}, default="argmax"
        More than two classes: one machine that compares all classes, or one binary perceptron per class.
    on_plane : {-1, 1}, default=-1
        The side to predict for a point on the plane: -1 is the first class, +1 the second.
    class_weight : dict or "balanced", default=None
        Factors of the learning rate by class.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the weights it has.
    random_state : int, RandomState or None, default=0
        Seed of the shuffling and of the rows held out.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (classes, d)
        Weights.
    intercept_ : ndarray of shape (1,) or (classes,)
        Offsets.
    classes_ : ndarray of shape (classes,)
        Labels; of two, the second is the positive one.
    n_iter_ : int
        Passes made.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows came with names.
    stop_reason_ : str
        Why the run ended: "separated", "max_iter", "max_updates", "loss_plateau", "validation" or "margin_refuted".
    mistakes_ : int
        Mistakes made in training, which is also the number of updates.
    mistake_counts_ : ndarray of shape (n,)
        Mistakes made on each row.
    trace_ : ndarray of shape (mistakes,)
        Rows on which the mistakes fell, in order.
    history_ : dict of ndarray
        For each pass its mistakes, loss (of each row at the moment it was looked at), validation error, seconds.
    radius_ : float
        Largest norm of a training row.
    margin_ : float
        Smallest ``y s(x)/‖w‖`` of the training rows, negative if some are wrong.
    training_errors_ : int
        Training rows that are predicted wrong; not to be confused with the mistakes made on the way.

    Notes
    -----
    After Rosenblatt (1958), *The perceptron*, Psychological Review 65. On data that some plane separates with margin
    γ and whose norms are at most R, at most (R/γ)² mistakes are made (Novikoff 1962).

    ``partial_fit`` counts rows and passes from its first call on: a row given twice is two rows.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> model = Perceptron(fit_intercept=False, shuffle=False).fit(X, y)
    >>> model.coef_, model.mistakes_, model.stop_reason_
    (array([[1., 1.]]), 2, 'separated')
    """

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        eta0: float = 1.0,
        shuffle: bool = True,
        order: str | None = None,
        max_iter: int = 1000,
        max_updates: int | None = None,
        tol: float | None = None,
        n_iter_no_change: int = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        target_margin: float | None = None,
        keep: str = "last",
        update_margin: float = 0.0,
        multi_class: str = "argmax",
        on_plane: int = -1,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.eta0 = eta0
        self.shuffle = shuffle
        self.order = order
        self.max_iter = max_iter
        self.max_updates = max_updates
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.target_margin = target_margin
        self.keep = keep
        self.update_margin = update_margin
        self.multi_class = multi_class
        self.on_plane = on_plane
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

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
        self : Perceptron
        """
        self._check_parameters()
        X, y = self._rows_and_labels(X, y, reset=True)
        classes, y = encode.number(y)
        if len(classes) < 2:
            raise ValueError(f"y has one class only ({classes[0]!r}): a plane separates two classes or more")
        weight = encode.weights(X, sample_weight, self.class_weight, classes, y)
        W, b = self._first_weights(X.shape[1], classes, coef_init, intercept_init)
        seed = self._draw_seed()
        held = np.flatnonzero(held_out(seed, 0, len(y), self.validation_fraction)) if self.early_stopping else None
        run, data = self._train(X, y, weight, W, b, seed, held=held)

        seen = self._look_back(X, data, W, b)
        self._forget(seed)
        self._adopt(classes, W, b, run, len(y), seen)
        if run.stop in (Stop.MAX_ITER, Stop.MAX_UPDATES):
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
        self : Perceptron
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
        expected = [] if classes is None else [encode.labels(classes)]
        merged, _ = encode.number(np.concatenate([*known, *expected, y]))
        if not fresh and len(merged) == len(self.classes_):
            merged = self.classes_  # in the order they have, which need not be the sorted one
        weight = encode.weights(X, sample_weight, self.class_weight, merged, encode.codes(y, merged))
        W, b = self._first_weights(X.shape[1], merged, None, None) if fresh else self._grown(merged)
        # a class without a rival is the positive one until a second class is seen
        y = encode.codes(y, merged) if len(merged) > 1 else np.ones(len(y), np.intp)
        seed = self._draw_seed() if fresh else self._seed
        first_pass = 0 if fresh else self.n_iter_
        run, data = self._train(X, y, weight, W, b, seed, max_iter=1, first_pass=first_pass)

        seen = self._look_back(X, data, W, b)
        if fresh:
            self._forget(seed)
        self._adopt(merged, W, b, run, len(y), seen)
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
    ) -> tuple[Run, Examples]:
        """Train ``W`` and ``b`` in place; return the run and the examples as the run saw them."""
        rows = encode.to_rows(X)
        validation_error = None
        if held is not None:
            if not 0 < len(held) < len(y):
                raise ValueError(
                    f"validation_fraction={self.validation_fraction} holds out {len(held)} of {len(y)} rows"
                )
            unseen = encode.examples(take(rows, held), y[held], len(b), np.ones(len(held)))
            weight = weight.copy()
            weight[held] = 0.0

            def validation_error() -> float:
                return view(unseen, W, b, on_plane=self.on_plane).wrong / count(unseen.rows)

        data = encode.examples(rows, y, len(b), self.eta0 * weight)
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
                )
            if not (np.isfinite(W).all() and np.isfinite(b).all()):
                raise FloatingPointError
        return run, data

    def _plan(self, machines: int, seed: int) -> Plan:
        """Return how to train so many weight vectors, as the parameters say."""
        many = kernels.argmax if self.multi_class == "argmax" else kernels.one_vs_rest
        return Plan(
            kernel=kernels.perceptron if machines == 1 else many,
            rule=Rule(float(self.update_margin), float(self.fit_intercept)),
            order=self.order or ("shuffled" if self.shuffle else "cyclic"),
            max_iter=self.max_iter,
            max_updates=self.max_updates,
            tol=self.tol,
            n_iter_no_change=self.n_iter_no_change,
            seed=seed,
        )

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

    def _adopt(self, classes: Array, W: Floats, b: Floats, run: Run, rows: int, seen: View) -> None:
        """Take over what a run has learnt, and note what it recorded."""
        self.classes_, self.coef_, self.intercept_ = classes, W, b
        self._stretches.append(_Stretch(run, len(b), self._rows_seen))
        self._rows_seen += rows
        self.radius_ = max(self.radius_, seen.radius)
        self.margin_ = seen.smallest / (norm(W) or math.nan)
        self.training_errors_ = seen.wrong

    def _first_weights(self, d: int, classes: Array, coef_init: Any, intercept_init: Any) -> tuple[Floats, Floats]:
        """Return the weights and offsets to start from: given ones, those there are (warm start), or zero."""
        machines = 1 if len(classes) <= 2 else len(classes)
        W, b = np.zeros((machines, d)), np.zeros(machines)
        if self.warm_start and hasattr(self, "coef_"):
            if self.coef_.shape != W.shape or not np.array_equal(self.classes_, classes):
                raise ValueError("warm_start needs the same classes and number of features as the fit before")
            W, b = self.coef_.copy(), self.intercept_.copy()
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

    def _grown(self, classes: Array) -> tuple[Floats, Floats]:
        """Return a copy of the weights with room for classes that were not there before.

        A binary perceptron is the argmax machine with ``W = (-w, w)``, and likewise two opposite binary ones: so
        training goes on as if there had been one weight vector per class from the start.
        """
        old_W, old_b, old = self.coef_, self.intercept_, self.classes_
        if len(classes) == len(old):
            return old_W.copy(), old_b.copy()
        places = encode.codes(old, classes)
        if len(classes) == 2:  # of one class known so far, which was taken as the positive one
            sign = 1.0 if places[0] == 1 else -1.0
            return sign * old_W, sign * old_b
        if len(old_W) == 1:
            signs = np.array([1.0] if len(old) == 1 else [-1.0, 1.0])
            old_W, old_b = signs[:, None] * old_W, signs * old_b
        W, b = np.zeros((len(classes), old_W.shape[1])), np.zeros(len(classes))
        W[places], b[places] = old_W, old_b
        return W, b

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
            raise AttributeError("the weights of this Perceptron came from elsewhere: there was no run")
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
            raise AttributeError(f"the trace of {self.mistakes_} mistakes was too long to be kept")
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
            raise AttributeError("this Perceptron is not fitted yet: call fit first") from None

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
        X = encode.matrix(self, X, reset=reset)
        y = encode.labels(y)
        encode.same_length(X, y)
        return X, y

    def _check_parameters(self) -> None:
        def need(right: bool, name: str, what: str) -> None:
            if not right:
                raise ValueError(f"{name} must be {what}, got {getattr(self, name)!r}")

        def number(value: Any) -> bool:
            return isinstance(value, Real) and value is not True and value is not False and math.isfinite(value)

        def whole(value: Any) -> bool:
            return isinstance(value, Integral) and value is not True and value is not False

        need(number(self.eta0) and self.eta0 > 0, "eta0", "a positive number")
        need(self.order in (None, "first", "worst"), "order", 'None, "first" or "worst"')
        need(whole(self.max_iter) and self.max_iter >= 1, "max_iter", "a positive whole number")
        need(
            self.max_updates is None or (whole(self.max_updates) and self.max_updates >= 1),
            "max_updates",
            "None or a positive whole number",
        )
        need(self.tol is None or (number(self.tol) and self.tol >= 0), "tol", "None or a number that is not negative")
        need(whole(self.n_iter_no_change) and self.n_iter_no_change >= 1, "n_iter_no_change", "a positive whole number")
        need(
            number(self.validation_fraction) and 0 < self.validation_fraction < 1,
            "validation_fraction",
            "between 0 and 1",
        )
        need(
            self.target_margin is None or (number(self.target_margin) and self.target_margin > 0),
            "target_margin",
            "None or a positive number",
        )
        need(self.keep == "last", "keep", '"last"')
        need(number(self.update_margin) and self.update_margin >= 0, "update_margin", "a number that is not negative")
        need(self.multi_class in ("argmax", "ovr"), "multi_class", '"argmax" or "ovr"')
        need(self.on_plane in (-1, 1), "on_plane", "-1 or +1")
