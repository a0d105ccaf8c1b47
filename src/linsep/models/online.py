"""The base class of online classifiers: runs, partial fits, and the record of mistakes."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from linsep.data.arrays import is_sparse
from linsep.data.labels import at_least_two_classes, class_codes, example_weights
from linsep.data.scaling import Ranges, Scaler
from linsep.errors import DataError
from linsep.learn import driver
from linsep.learn.averaging import WeightTracker
from linsep.learn.driver import Fitted
from linsep.learn.parameters import Parameters
from linsep.learn.passes import Hooks, State
from linsep.learn.problems import array_problem
from linsep.learn.rules import Rule
from linsep.learn.serialization import must
from linsep.learn.voting import Vote, new_tracker
from linsep.learn.weights import Companion, Weights, norm
from linsep.models.constructors import OnlineParameters
from linsep.models.learner import Field, Learner, takes_records
from linsep.models.linear import Linear
from linsep.models.progress import advice_after, progress
from linsep.models.proving import Prover, refutation_of, saved_proof
from linsep.models.record import FittedRecord, Recorded
from linsep.models.visit_records import Steps
from linsep.problem import Array, Floats, all_finite, machines_for

if TYPE_CHECKING:
    from linsep.prove.verdict.run_refutations import RunRefutation

_OF_A_RUN = tuple(name for name in Parameters._fields if name not in ("rule", "seed", "once"))


class Online(Recorded, Linear, OnlineParameters, ABC):
    """What the online classifiers share; a kind of them says how to train by its ``rule``.

    Attributes
    ----------
    stop_reason_ : str
        Why the run ended: "separated", "no_mistakes", "max_iter", "max_updates", "loss_plateau", "validation",
        "not_separable", "margin_refuted" or "visited" (a list as ``order`` is done). "no_mistakes" is a full pass
        without a mistake after which some row lies on the plane, as ``mistake="prediction"`` and "strict" allow.
    radius_ : float
        Largest norm of a training row.
    training_errors_ : int
        Training rows predicted wrong by the final model; the mistakes during training are ``mistakes_``.
    majority_rows_ : int
        Training rows of the most frequent class: who always says its label is wrong on all others.
    """

    scaling_: dict[str, Any]  # how rows were scaled in training, if they were
    mixing_: dict[str, Any]  # how shards were mixed, on a cluster
    radius_: float
    training_errors_: int
    training_rows_: int
    majority_rows_: int
    record_: FittedRecord
    saved_fields = Learner.saved_fields | {
        "radius_": Field(float),
        "missing_rows_": Field("i"),
        "training_errors_": Field(int, optional=True),
        "training_rows_": Field(int, optional=True),
        "majority_rows_": Field(int, optional=True),
        "scaling_": Field(dict, optional=True),
        "mixing_": Field(dict, optional=True),
    }
    # that not all of them let the user choose
    prove: bool = False
    eta0: float = 1.0
    order: Any = None
    learning_rate: Any = "constant"
    target_margin: float | None = None

    @abstractmethod
    def rule(self) -> Rule:
        """Return when an example changes the weights, and by how much."""

    def run_parameters(self, seed: int, once: bool = False) -> Parameters:
        """Return all that is asked of a run, or of a pass over rows that are then gone."""
        values = {name: getattr(self, name) for name in _OF_A_RUN} | ({"max_iter": 1} if once else {})
        return Parameters(rule=self.rule(), seed=seed, once=once, **values)

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
        """
        self.check_parameters()
        if getattr(self, "prove", False) or getattr(self, "target_margin", None) is not None:  # a proof is about X
            from linsep.prove.numbers.tables import refuse_rounding  # slow to import, and seldom needed

            refuse_rounding(X)
        X, y = self.rows_and_labels(X, y, reset=True)
        classes, y = at_least_two_classes(y)
        start = self.start_weights(X.shape[1], classes, coef_init, intercept_init)
        parameters = self.run_parameters(self.draw_seed())
        weight = None if sample_weight is None else example_weights(X, sample_weight, None, classes, y)
        fitted = self._train(X, y, classes, weight, parameters, State.begin(start, self.new_tracker()))
        self.adopt(fitted)
        self.advise(advice_after(self))
        return self

    def steps(self, X: Any, y: Any, *, plane: Any = "best", coef_init: Any = None, intercept_init: Any = None) -> Steps:
        """Return the visits of a run on these rows, one record each; the model itself stays as it is.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        plane : Plane, (w, b), "best" or None, default="best"
            The plane to measure the angle to: by default that of largest margin.
        coef_init, intercept_init : array-like, default=None
            First weights and offsets, zero unless given.

        Returns
        -------
        steps : Steps
            An iterable of `Step`, with ``weights()`` and ``to_frame()``.
        """
        model = type(self)(**self.get_params(deep=False) | {"warm_start": False, "verbose": 0})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a run without success: what it did is the question here
            model.fit(X, y, coef_init=coef_init, intercept_init=intercept_init)
        X, y = model.rows_and_labels(X, y, reset=False)
        return Steps(model, X, y, (coef_init, intercept_init), plane)

    def fit_scaled(self, X: Any, y: Any, scale: str = "auto", word_counts: Any = ()) -> Self:
        """Train on rows that are scaled while it learns, as `fit_source` does; the model is of rows as they are.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        scale : {"none", "unit", "standard", "auto"}, default="auto"
        word_counts : array-like of int, default=()
            The columns that count words of texts, which "standard" leaves as they are.
        """
        self.check_parameters()
        counts = np.asarray(word_counts, dtype=np.intp)
        X, y = self.rows_and_labels(X, y, reset=True)
        X = X.astype(np.float64) if is_sparse(X) else np.ascontiguousarray(X, dtype=np.float64)
        classes, y = at_least_two_classes(y)
        if scale == "auto":
            fixed = self.target_margin is not None or not Ranges.of([(X,)]).uneven(counts)
            scale = "none" if fixed else "standard"
        scaler = Scaler.fit([(X,)], scale, center=self.fit_intercept).sparing(counts)
        start = State.begin(Weights.zero(machines_for(len(classes)), X.shape[1]), self.new_tracker())
        self.adopt(self._train(X, y, classes, None, self.run_parameters(self.draw_seed()), start, scaler))
        self.advise(advice_after(self))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over some more rows, going on from the weights there are.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Sparse rows may have more columns than those before, as words that first appear late make them.
        y : array-like of shape (n,)
        classes : array-like, default=None
            Labels to expect. Not needed: a label that was never seen before starts a new class.
        sample_weight : array-like of shape (n,), default=None

        Notes
        -----
        The weights are changed in place. Rows and labels are checked before: if they are refused, nothing changes.
        """
        self.check_parameters()
        for name in ("early_stopping", "target_margin", "max_updates", "tol"):
            if getattr(self, name):
                raise DataError("", "{0} ends a run of many passes, but partial_fit makes only one: use fit", (name,))
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight 'balanced' is not supported for partial_fit: it needs all labels at once. "
                "Give the weights as a dict."
            )
        fresh = not hasattr(self, "classes_")
        known = 0 if fresh else self.n_features_in_
        if not fresh:
            self._take_more_columns(X)
        try:
            X, y = self.rows_and_labels(X, y, reset=fresh)
            if not all_finite(X.data if is_sparse(X) else X):
                self._explain(X, np.zeros((1, 1)))
            merged, codes = self._classes_and_codes(None if fresh else self.classes_, classes, y)
            weight = None if sample_weight is None else example_weights(X, sample_weight, None, merged, codes)
        except BaseException:
            if not fresh:
                self.n_features_in_ = known
            raise
        if fresh:
            start = Weights.zero(machines_for(len(merged)), X.shape[1])
            seed, state = self.draw_seed(), State.begin(start, self.new_tracker())
        else:
            self.grow_to(merged)
            record = self.record_
            seed, state = (
                record.seed,
                State(record.weights, record.tracker, first_pass=record.n_passes, first_visit=record.rows),
            )
        fitted = self._train(X, codes, merged, weight, self.run_parameters(seed, once=True), state)
        self.adopt(fitted, going_on=not fresh)
        return self

    def grow_to(self, classes: Array) -> None:
        """Give the weights, and what is kept beside them, room for classes and columns that were not there before."""
        record = self.record_
        if record.tracker.kind != self.keep:
            record.tracker = self.new_tracker()
            record.weights.keep_only(self.rule().companions)
        record.weights.widen(self.n_features_in_)
        record.plane = None
        if len(classes) > len(self.classes_):
            codes = class_codes(self.classes_, classes)
            record.tracker.grow(codes, len(classes))
            record.weights.grow(codes, len(classes))
        self.classes_ = classes

    def _train(
        self,
        X: Any,
        codes: Array,
        classes: Array,
        weight: Floats | None,
        parameters: Parameters,
        state: State,
        scaler: Scaler | None = None,
    ) -> Fitted:
        W = state.weights.W
        try:
            with progress(self.verbose, parameters.max_iter) as watch:
                problem = array_problem(X, codes, classes, weight, parameters, state.weights, scaler)
                prover = None if parameters.once else self.prover(parameters)
                return driver.fit(problem, parameters, state, Hooks(watch, prover=prover))
        except FloatingPointError:
            self._explain(X, W)

    def prover(self, parameters: Parameters, **others: Any) -> Prover | None:
        """Return who looks for a proof that no plane separates the rows, if anybody is to."""
        return Prover(parameters, **others) if self.prove else None

    def new_tracker(self) -> WeightTracker:
        """Return what tracks the weights to keep."""
        return new_tracker(self.keep, self.multi_class == "ovr")

    def adopt(self, fitted: Fitted, going_on: bool = False) -> None:
        """Take over what a run has learned, and note what it recorded."""
        seen, weights, tracker = fitted.evaluation, fitted.weights, fitted.tracker
        if not going_on:
            self.begin_record(FittedRecord(seed=fitted.seed, weights=weights, tracker=tracker))
        record = self.record_
        self.classes_, record.weights, record.tracker = fitted.classes, weights, tracker
        record.plane = None if going_on else tracker.plane(weights)  # else when it is asked for
        record.proof = None if fitted.proof is None else saved_proof(fitted.proof)
        record.first = record.first if fitted.first is None else fitted.first
        record.add(fitted.run, weights.machines, fitted.rows)
        record.smallest = seen.smallest
        if fitted.scaling is not None:
            d, scaling = self.n_features_in_, fitted.scaling
            shift, factor = np.zeros(d), np.broadcast_to(scaling.scale, d) if scaling.kind == "unit" else scaling.scale
            shift[: len(scaling.shift)] = scaling.shift
            self.scaling_ = {"kind": scaling.kind, "shift": shift, "scale": factor[:d].copy()}
        if not math.isnan(self.radius_):
            self.radius_ = max(seen.radius, self.radius_)  # NaN from now on, if the first of them is
        self.training_errors_, self.training_rows_ = seen.wrong, seen.rows
        self.majority_rows_ = max(seen.counts, default=0)

    def begin_record(self, record: FittedRecord) -> None:
        """Begin a new record: no rows, no passes."""
        self.record_, self.radius_, self.missing_rows_ = record, 0.0, np.empty(0, np.int64)
        for name in ("scaling_", "mixing_"):
            if hasattr(self, name):
                delattr(self, name)

    def start_with(self, classes: Array, weights: Weights) -> None:
        """Take over weights that were learned elsewhere, without a record of a run."""
        self._forget_reading()
        self.begin_record(FittedRecord(seed=0, weights=weights, tracker=WeightTracker(), plane=weights))
        self.classes_, self.n_features_in_ = classes, weights.n_features

    def last_weights(self) -> Weights:
        """Return a copy of the weights to go on from, whichever ones were returned."""
        self.recorded()
        return self.record_.weights.plain().copy()

    def beside(self, name: str) -> Companion:
        """Return what a rule keeps beside the weights under this name."""
        self.recorded()
        return self.record_.weights.companions[name]

    def first_weights(self) -> Weights:
        """Return the weights that the run began with, as far as they are of the present classes and columns."""
        zero = Weights.zero(machines_for(len(self.classes_)), self.n_features_in_)
        if self.record_.first is None or self.record_.first.machines != zero.machines:
            return zero
        first = self.record_.first.copy()
        first.widen(zero.n_features)
        return first

    def start_weights(self, d: int, classes: Array, coef_init: Any, intercept_init: Any) -> Weights:
        """Return the weights and offsets to start from: given ones, those there are (warm start), or zero."""
        start = Weights.zero(machines_for(len(classes)), d)
        if self.warm_start and hasattr(self, "coef_"):
            if self.record_.weights.W.shape != start.W.shape or not np.array_equal(self.classes_, classes):
                message = "{0} needs the same classes and number of features as the previous fit"
                raise DataError("", message, ("warm_start",))
            start = self.last_weights()
        start.start_at(coef_init, intercept_init, self.fit_intercept)
        return start

    # -----------------------------------------------------------------------------------------------------------
    # Prediction

    @takes_records
    def decision_function(self, X: Any) -> Floats:
        """Return the score ``w·x + b`` of every row: shape (n,) for two classes, (n, classes) for more.

        With ``keep="vote"`` the score is the weighted vote: votes for the second class less those for the first; of
        more classes the votes for each, or for ``multi_class="ovr"`` those for it less those against it.
        """
        self._check_fitted("coef_")
        if not isinstance(self.record_.tracker, Vote):
            return super().decision_function(X)
        X = self._matrix(X, reset=False)
        if not np.isfinite(X.data if is_sparse(X) else X).all():
            self._explain(X, self.coef_)
        V = self.record_.tracker.votes(X, self.on_plane)
        return V[:, 0] if V.shape[1] == 1 else V

    # -----------------------------------------------------------------------------------------------------------
    # What a run recorded

    @property
    def coef_(self) -> Floats:
        """The weights that the run returns, shape (1, d) or (classes, d).

        With ``keep="vote"`` they are the last ones, and so for all that is measured against a plane (``margin_``,
        ``training_errors_``, ``distance``, ``margin``, ``loss``), while the vote predicts.
        """
        return self._returned().W

    @coef_.setter
    def coef_(self, W: Floats) -> None:
        self._replace(W, self._returned().b)

    @property
    def intercept_(self) -> Floats:
        """The offsets that the run returns, shape (1,) or (classes,)."""
        return self._returned().b

    @intercept_.setter
    def intercept_(self, b: Floats) -> None:
        self._replace(self._returned().W, b)

    @property
    def returns_last(self) -> bool:
        """Whether the model predicts with the last weights of its run."""
        self.recorded()
        tracker = self.record_.tracker
        return tracker.is_last and tracker.kind != "vote"

    def _returned(self) -> Weights:
        self.recorded()
        return self.record_.returned()

    def _replace(self, W: Floats, b: Floats) -> None:
        self.record_.plane = Weights(W, b)
        if self.record_.tracker.is_last:
            self.record_.weights = self.record_.plane

    @property
    def margin_(self) -> float:
        """The smallest ``y s(x)/‖w‖`` of the training rows, negative if some are wrong."""
        self.recorded()
        return self.record_.smallest / (norm(self.coef_) or math.nan)

    @property
    def refutation_(self) -> RunRefutation | None:
        """The proof that ended a run as "not_separable": its ``check(X, y)`` checks it again; otherwise None."""
        self.recorded()
        proof = self.record_.proof
        return None if proof is None else refutation_of(self, proof, self.dropped_rows())

    # -----------------------------------------------------------------------------------------------------------
    # Checks

    def saved_state(self) -> dict[str, Any]:
        """Return the values to save: besides, the record."""
        return super().saved_state() | self.record_.state()

    def restore(self, state: dict[str, Any]) -> None:
        """Take over values that were saved; refuse, besides, a record that does not belong to them."""
        fields = FittedRecord.state_fields
        super().restore({name: value for name, value in state.items() if name not in fields})
        for name in fields:
            must(name in state, f"no {name}")
        self.record_ = FittedRecord.from_fields(state, len(self.classes_), self.n_features_in_)
        missing = self.missing_rows_
        must(bool((np.diff(missing, prepend=-1) > 0).all()), "rows that were left out")
        must(len(missing) == 0 or int(missing[-1]) < self.record_.rows + len(missing), "rows that were left out")

    def _check_state(self) -> None:
        Learner._check_state(self)
