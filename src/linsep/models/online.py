"""The base class of online classifiers: runs, partial fits, and the record of mistakes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from linsep.data.arrays import is_sparse, refuse_rounding
from linsep.data.labels import at_least_two_classes, class_codes, example_weights
from linsep.data.row_numbers import Dropped
from linsep.errors import DataError
from linsep.learn import driver
from linsep.learn.averaging import WeightTracker
from linsep.learn.driver import Fitted
from linsep.learn.parameters import Parameters
from linsep.learn.passes import Hooks, State
from linsep.learn.problems import array_problem
from linsep.learn.rules import Rule
from linsep.learn.state_files import must
from linsep.learn.surveys import norm
from linsep.learn.voting import TRACKERS, Vote, new_tracker
from linsep.learn.weights import Companion, Weights
from linsep.models.linear import Linear
from linsep.models.proving import Prover, check_kept, refutation_of, saved_proof
from linsep.models.saved_state import Savable
from linsep.models.telling import advice_after, progress
from linsep.problem import Array, Floats, Pass, Run, Stop, all_finite

if TYPE_CHECKING:
    from linsep.prove.verdicts.run_refutations import RunRefutation

_OF_A_RUN = tuple(name for name in Parameters._fields if name not in ("rule", "seed", "once"))


class Stretch(NamedTuple):
    """A run that is part of a longer one: with one call of fit the whole, with partial_fit one of many."""

    run: Run
    machines: int
    first_row: int

    @staticmethod
    def tables(stretches: list[Stretch]) -> dict[str, Array]:
        """Return many stretches as three tables."""
        stops = list(Stop)
        passes = [entry for stretch in stretches for entry in stretch.run.passes]
        table = [(stops.index(s.run.stop), len(s.run.passes), len(s.run.trace), *s[1:]) for s in stretches]
        return {
            "trace": np.concatenate([np.empty(0, np.uint32), *(stretch.run.trace for stretch in stretches)]),
            "passes": np.array(passes, dtype=np.float64).reshape(-1, len(Pass._fields)),
            "table": np.array(table, dtype=np.int64).reshape(-1, 5),
        }

    @staticmethod
    def from_tables(trace: Any, passes: Any, table: Any) -> list[Stretch]:
        """Return the stretches that were written as these tables; refuse anything else."""
        must(all(isinstance(part, np.ndarray) for part in (trace, passes, table)), "its run")
        must(table.shape[1:] == (5,) and table.dtype == np.int64 and trace.ndim == 1, "its run")
        must(trace.dtype in (np.uint32, np.uint64), "its run")
        must(bool((table >= 0).all()) and bool((table[:, 3] > 0).all()), "negative counts in its run")
        # as Python integers, which cannot overflow
        counted = sum(table[:, 1].tolist()) == len(passes) and sum(table[:, 2].tolist()) == len(trace)
        must(counted, "the counts of its run")
        stops, entries = list(Stop), Pass.from_table(passes)
        stretches, first_pass, first_mistake = [], 0, 0
        for stop, made, kept, machines, first_row in table.tolist():
            part = entries[first_pass : first_pass + made], trace[first_mistake : first_mistake + kept]
            stretches.append(Stretch(Run(stops[stop], tuple(part[0]), part[1]), machines, first_row))
            first_pass, first_mistake = first_pass + made, first_mistake + kept
        return stretches


class Online(Linear, ABC):
    """What the online classifiers share; a kind of them says how to train by its ``_rule``."""

    fit_intercept: bool
    shuffle: bool
    max_iter: int
    max_updates: int | None
    tol: float | None
    n_iter_no_change: int
    early_stopping: bool
    validation_fraction: float
    keep: Any
    multi_class: Any
    class_weight: Any
    warm_start: bool
    scaling_: dict[str, Any]  # how rows were scaled in training, if they were
    mixing_: dict[str, Any]  # how shards were mixed, on a cluster
    missing_rows_: Array  # rows of the files that missing="drop" left out of training
    verbose: int
    prove: bool
    _weights: Weights  # the last ones, with what is kept beside them
    _tracker: WeightTracker  # of those that are returned
    _plane: Weights | None  # which they are, once they were asked for
    _first: Weights | None  # the first ones, unless zero
    radius_: float
    _stretches: list[Stretch]
    _passes_made: int
    _seed: int
    _rows_seen: int
    _needs = frozenset(
        {"classes_", "n_features_in_", "radius_", "_seed", "_rows_seen", "missing_rows_", "_smallest", "_proof"}
    )
    _may_have = Linear._may_have | {"training_errors_", "training_rows_", "scaling_", "mixing_"}
    # of the perceptron alone
    eta0: float = 1.0
    order: Any = None
    target_margin: float | None = None

    @abstractmethod
    def _rule(self) -> Rule:
        """Return when an example changes the weights, and by how much."""

    def _parameters(self, seed: int, once: bool = False) -> Parameters:
        """Return all that is asked of a run, or of a pass over rows that are then gone."""
        own = {name: getattr(self, name) for name in _OF_A_RUN} | ({"max_iter": 1} if once else {})
        return Parameters(rule=self._rule(), seed=seed, once=once, **own)

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
        if getattr(self, "prove", False) or getattr(self, "target_margin", None) is not None:  # a proof is about X
            refuse_rounding(X)
        X, y = self._rows_and_labels(X, y, reset=True)
        classes, y = at_least_two_classes(y)
        start = self._first_weights(X.shape[1], classes, coef_init, intercept_init)
        parameters = self._parameters(self._draw_seed())
        weight = None if sample_weight is None else example_weights(X, sample_weight, None, classes, y)
        fitted = self._train(X, y, classes, weight, parameters, State.begin(start, self._new_tracker()))
        self.adopt(fitted)
        self._advise(advice_after(self))
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

        Returns
        -------
        self : the classifier

        Notes
        -----
        The weights are changed in place. Rows and labels are checked before: if they are refused, nothing changes.
        """
        self._check_parameters()
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
            self._make_room(X)
        try:
            X, y = self._rows_and_labels(X, y, reset=fresh)
            if not all_finite(X.data if is_sparse(X) else X):
                self._explain(X, np.zeros((1, 1)))
            merged, codes = self._classes_and_codes(None if fresh else self.classes_, classes, y)
            weight = None if sample_weight is None else example_weights(X, sample_weight, None, merged, codes)
        except BaseException:
            if not fresh:
                self.n_features_in_ = known
            raise
        if fresh:
            start = Weights.zero(_machines(merged), X.shape[1])
            seed, state = self._draw_seed(), State.begin(start, self._new_tracker())
        else:
            self._make_room_for(merged)
            seed, state = self._seed, State(self._weights, self._tracker, first_pass=self.n_iter_)
        fitted = self._train(X, codes, merged, weight, self._parameters(seed, once=True), state)
        self.adopt(fitted, going_on=not fresh)
        return self

    def _make_room_for(self, classes: Array) -> None:
        """Give the weights, and what is kept beside them, room for classes and columns that were not there before."""
        if self._tracker.kind != self.keep:
            self._tracker = self._new_tracker()
            self._weights.keep_only(self._rule().companions)
        self._weights.widen(self.n_features_in_)
        self._plane = None
        if len(classes) > len(self.classes_):
            places = class_codes(self.classes_, classes)
            self._tracker.grow(places, len(classes))
            self._weights.grow(places, len(classes))
        self.classes_ = classes

    def _train(
        self, X: Any, codes: Array, classes: Array, weight: Floats | None, parameters: Parameters, state: State
    ) -> Fitted:
        """Train from rows in memory."""
        W = state.weights.W
        try:
            with progress(self.verbose, parameters.max_iter) as watch:
                problem = array_problem(X, codes, classes, weight, parameters, state.weights)
                prover = None if parameters.once else self._prover(parameters)
                return driver.fit(problem, parameters, state, Hooks(watch, prover=prover))
        except FloatingPointError:
            self._explain(X, W)

    def _prover(self, parameters: Parameters, **others: Any) -> Prover | None:
        """Return who looks for a proof that no plane separates the rows, if anybody is to."""
        return Prover(parameters, **others) if self.prove else None

    def _new_tracker(self) -> WeightTracker:
        """Return what tracks the weights that are asked for."""
        return new_tracker(self.keep, self.multi_class == "ovr")

    def adopt(self, fitted: Fitted, going_on: bool = False) -> None:
        """Take over what a run has learned, and note what it recorded."""
        seen = fitted.survey
        if not going_on:
            self._begin_record(fitted.seed)
        self.classes_, self._weights, self._tracker = fitted.classes, fitted.weights, fitted.tracker
        self._plane = None if going_on else self._tracker.plane(self._weights)  # else when it is asked for
        self._proof = None if fitted.proof is None else saved_proof(fitted.proof)
        self._first = self._first if fitted.first is None else fitted.first
        self._stretches.append(Stretch(fitted.run, fitted.weights.machines, self._rows_seen))
        self._rows_seen += fitted.rows
        if not math.isnan(self.radius_):
            self.radius_ = max(seen.radius, self.radius_)  # NaN from now on, if the first of them is
        self._smallest, self._passes_made = seen.smallest, self._passes_made + len(fitted.run.passes)
        self.training_errors_, self.training_rows_ = seen.wrong, seen.rows

    def _begin_record(self, seed: int) -> None:
        """Begin a new record: no rows, no passes."""
        self._seed, self._stretches, self._rows_seen, self._passes_made = seed, [], 0, 0
        self.radius_, self._smallest, self._proof, self._first = 0.0, math.nan, None, None
        self.missing_rows_ = np.empty(0, np.int64)
        for name in ("scaling_", "mixing_", "reading_"):
            if hasattr(self, name):
                delattr(self, name)

    def start_with(self, classes: Array, weights: Weights) -> None:
        """Take over weights that were learned elsewhere, without a record of a run."""
        self._begin_record(0)
        self.classes_, self.n_features_in_ = classes, weights.n_features
        self._weights, self._tracker, self._plane = weights, WeightTracker(), weights

    def last_weights(self) -> Weights:
        """Return a copy of the weights to go on from, whichever ones were returned."""
        self._recorded()
        return self._weights.plain().copy()

    def beside(self, name: str) -> Companion:
        """Return what a rule keeps beside the weights under this name."""
        self._recorded()
        return self._weights.companions[name]

    def first_weights(self) -> Weights:
        """Return the weights that the run began with, as far as they are of the present classes and columns."""
        zero = Weights.zero(_machines(self.classes_), self.n_features_in_)
        if self._first is None or self._first.machines != zero.machines:
            return zero
        first = self._first.copy()
        first.widen(zero.n_features)
        return first

    def _first_weights(self, d: int, classes: Array, coef_init: Any, intercept_init: Any) -> Weights:
        """Return the weights and offsets to start from: given ones, those there are (warm start), or zero."""
        start = Weights.zero(_machines(classes), d)
        if self.warm_start and hasattr(self, "coef_"):
            if self._weights.W.shape != start.W.shape or not np.array_equal(self.classes_, classes):
                what = "{0} needs the same classes and number of features as the previous fit"
                raise DataError("", what, ("warm_start",))
            start = self.last_weights()
        start.start_at(coef_init, intercept_init, self.fit_intercept)
        return start

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
        self._check_fitted("coef_")
        if not isinstance(self._tracker, Vote):
            return super().decision_function(X)
        X = self._matrix(X, reset=False)
        if not np.isfinite(X.data if is_sparse(X) else X).all():
            self._explain(X, self.coef_)
        V = self._tracker.votes(X, self.on_plane)
        return V[:, 0] if V.shape[1] == 1 else V

    # -----------------------------------------------------------------------------------------------------------
    # What a run recorded

    @property
    def coef_(self) -> Floats:
        """The weights that the run returns."""
        return self._returned().W

    @coef_.setter
    def coef_(self, W: Floats) -> None:
        self._replace(W, self._returned().b)

    @property
    def intercept_(self) -> Floats:
        """The offsets that the run returns."""
        return self._returned().b

    @intercept_.setter
    def intercept_(self, b: Floats) -> None:
        self._replace(self._returned().W, b)

    def _returned(self) -> Weights:
        """Return the weights that the run returns; after ``partial_fit`` they are worked out on demand."""
        self._recorded()
        if self._plane is None:
            self._plane = self._tracker.plane(self._weights)
        return self._plane

    def _replace(self, W: Floats, b: Floats) -> None:
        """Take other weights, which a user gives."""
        self._plane = Weights(W, b)
        if self._tracker.is_last:
            self._weights = self._plane

    @property
    def margin_(self) -> float:
        """The smallest ``y s(x)/‖w‖`` of the training rows."""
        self._recorded()
        return self._smallest / (norm(self.coef_) or math.nan)

    @property
    def n_iter_(self) -> int:
        """Passes made."""
        self._recorded()
        return self._passes_made

    @property
    def stop_reason_(self) -> str:
        """Why the run ended."""
        recorded = self._recorded()
        if not recorded:
            raise AttributeError("the weights of this model were imported: there was no run")
        return str(recorded[-1].run.stop)

    @property
    def refutation_(self) -> RunRefutation | None:
        """The proof that no plane separates the rows, None unless the run ended with it."""
        self._recorded()
        return None if self._proof is None else refutation_of(self, self._proof, self._dropped())

    @property
    def mistakes_(self) -> int:
        """Mistakes made in training."""
        return sum(stretch.run.mistakes for stretch in self._recorded())

    @property
    def trace_(self) -> Array:
        """The row of each mistake, in order, with the number that it has in the arrays or files of the training."""
        parts = [s.run.trace // np.uint64(s.machines) + np.uint64(s.first_row) for s in self._recorded()]
        trace: Array = np.concatenate([np.empty(0, np.uint64), *parts]).astype(np.intp)
        if len(trace) != self.mistakes_:
            why = "it is too long, or several workers made them at the same time"
            raise AttributeError(f"the model does not hold the trace of its {self.mistakes_} mistakes: {why}")
        return self._dropped().in_source(trace)

    @property
    def mistake_counts_(self) -> Array:
        """Mistakes made on each row; 0 on a row that was left out because of missing cells."""
        return np.bincount(self.trace_, minlength=self._rows_seen + len(self.missing_rows_))

    def _dropped(self) -> Dropped:
        """Return the rows of the files that are not among those that were learned."""
        return Dropped(self.missing_rows_, self._rows_seen + len(self.missing_rows_))

    @property
    def history_(self) -> dict[str, Array]:
        """For each pass its mistakes, loss, validation error, seconds, and what a search after it took and proved."""
        passes = [entry for stretch in self._recorded() for entry in stretch.run.passes]
        return {name: np.array([getattr(entry, name) for entry in passes]) for name in Pass._fields}

    def _recorded(self) -> list[Stretch]:
        if not hasattr(self, "_stretches"):
            self._check_fitted("_stretches")
        return self._stretches

    # -----------------------------------------------------------------------------------------------------------
    # Checks

    def saved_state(self) -> dict[str, Any]:
        """Return the values to save: besides, the weights, what is kept beside them, and the run."""
        state = super().saved_state()
        state["weights"], state["first"] = self._weights.state(), None if self._first is None else self._first.state()
        state["tracker"] = {"kind": self._tracker.kind, **self._tracker.state()}
        state["run"] = Stretch.tables(self._stretches)
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Take over values that were saved; refuse, besides, a run that does not belong to the weights."""
        own = {name: state[name] for name in ("weights", "tracker", "first", "run")}
        super().restore({name: value for name, value in state.items() if name not in own})
        must(all(isinstance(own[name], dict) for name in ("weights", "tracker", "run")), "its weights or its run")
        machines, shape = _machines(self.classes_), (_machines(self.classes_), self.n_features_in_)
        self._weights = Weights.from_state(own["weights"], machines)
        must(self._weights.W.shape == shape, "shapes of its weights")
        self._first = None if own["first"] is None else Weights.from_state(own["first"], machines)
        kept = {name: value for name, value in own["tracker"].items() if name != "kind"}
        kind = own["tracker"]["kind"]
        must(kind in TRACKERS and all(isinstance(array, np.ndarray) for array in kept.values()), "what it keeps")
        self._tracker = TRACKERS[kind].from_state(kept, self._weights)
        self._plane = self._tracker.plane(self._weights)
        self._stretches = Stretch.from_tables(**own["run"])
        self._passes_made = sum(len(stretch.run.passes) for stretch in self._stretches)
        for stretch in self._stretches:
            must(stretch.first_row <= self._rows_seen, "its run")
            last = stretch.first_row + int(stretch.run.trace.max(initial=0)) // stretch.machines
            seen = len(stretch.run.trace) == 0 or last < self._rows_seen
            must(seen, "a mistake on a row that was not seen")

    def _check_state(self) -> None:
        """Refuse, besides, numbers that cannot be."""
        Savable._check_state(self)
        rows = self._rows_seen
        must(type(self._seed) is int and 0 <= self._seed < 2**32, "seed")
        must(type(rows) is int and 0 <= rows < 2**62, "number of rows")
        must(isinstance(self.radius_, float) and isinstance(self._smallest, float), "radius and margin")
        missing = self.missing_rows_
        right = isinstance(missing, np.ndarray) and missing.dtype == np.int64 and missing.ndim == 1
        must(right and bool((np.diff(missing, prepend=-1) > 0).all()), "rows that were left out")
        must(len(missing) == 0 or int(missing[-1]) < rows + len(missing), "rows that were left out")
        if self._proof is not None:
            check_kept(self._proof, rows, len(self.classes_))


def _machines(classes: Array) -> int:
    """Return the number of weight vectors for a number of classes."""
    return 1 if len(classes) <= 2 else len(classes)
