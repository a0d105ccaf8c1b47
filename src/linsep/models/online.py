"""The base class of online classifiers: runs, partial fits, and the record of mistakes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, Self

import numpy as np

from linsep.data.labels import at_least_two_classes, class_codes, example_weights
from linsep.data.matrices import refuse_rounding
from linsep.data.row_numbers import Dropped
from linsep.data.sparse import is_sparse
from linsep.errors import DataError
from linsep.learn import driver
from linsep.learn.driver import Fitted
from linsep.learn.hypotheses import Keeper, grown
from linsep.learn.parameters import Parameters, start_from
from linsep.learn.passes import Hooks, State
from linsep.learn.problems import array_problem
from linsep.learn.rules import AnyRule
from linsep.learn.state_files import must
from linsep.learn.surveys import norm
from linsep.learn.touched import AllOrNothing, few_columns
from linsep.learn.votes import KEEPERS, Vote, new_keeper
from linsep.models.linear import Linear
from linsep.models.parameter_checks import need, number, one_of, whole
from linsep.models.proving import Outlook, Prover, check_kept, refutation_of, saved_proof
from linsep.models.telling import advice_after, progress
from linsep.problem import Array, Floats, Pass, Run, Stop, Weights, wide

if TYPE_CHECKING:
    from linsep.prove.verdicts.run_refutations import RunRefutation

P = ParamSpec("P")


class Stretch(NamedTuple):
    """A run that is part of a longer one: with one call of fit the whole, with partial_fit one of many."""

    run: Run
    machines: int
    first_row: int

    @staticmethod
    def tables(stretches: list[Stretch]) -> tuple[dict[str, Array], list[str]]:
        """Return many stretches as three tables, and the names of the reasons to stop that one of them numbers."""
        stops = list(Stop)
        passes = [entry for stretch in stretches for entry in stretch.run.passes]
        table = [(stops.index(s.run.stop), len(s.run.passes), len(s.run.trace), *s[1:]) for s in stretches]
        tables = {
            "trace": np.concatenate([stretch.run.trace for stretch in stretches]),
            "passes": np.array(passes, dtype=np.float64).reshape(-1, len(Pass._fields)),
            "table": np.array(table, dtype=np.int64),
        }
        return tables, [str(stop) for stop in stops]

    @staticmethod
    def from_tables(trace: Array, passes: Array, table: Array, stops: Any) -> list[Stretch]:
        """Return the stretches that were written as these tables; refuse anything else."""
        must(table.shape[1:] == (5,) and trace.dtype in (np.uint32, np.uint64), "its run")
        must(bool((table >= 0).all()) and bool((table[:, 3] > 0).all()), "negative counts in its run")
        # as Python integers, which cannot overflow
        counted = sum(table[:, 1].tolist()) == len(passes) and sum(table[:, 2].tolist()) == len(trace)
        must(counted, "the counts of its run")
        entries = Pass.from_table(passes)
        stretches, first_pass, first_mistake = [], 0, 0
        for stop, made, kept, machines, first_row in table.tolist():
            part = entries[first_pass : first_pass + made], trace[first_mistake : first_mistake + kept]
            stretches.append(Stretch(Run(Stop(stops[stop]), tuple(part[0]), part[1]), machines, first_row))
            first_pass, first_mistake = first_pass + made, first_mistake + kept
        return stretches


class SavedKeeper(NamedTuple):
    """What a run kept beside its last weights, as it was read from a file."""

    kind: Any
    arrays: dict[str, Array]


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
    keep: str
    multi_class: str
    class_weight: Any
    warm_start: bool
    scaling_: dict[str, Any]  # how rows were scaled in training, if they were
    mixing_: dict[str, Any]  # how shards were mixed, on a cluster
    missing_rows_: Array  # rows of the files that missing="drop" left out of training
    verbose: int
    prove: bool
    _needs = Linear._needs | {"_seed", "_stretches", "_rows_seen", "missing_rows_", "radius_", "margin_"}
    # of the perceptron alone
    eta0: float = 1.0
    order: str | None = None
    target_margin: float | None = None

    @abstractmethod
    def _rule(self) -> AnyRule:
        """Return when an example changes the weights, and by how much."""

    def _parameters(self, seed: int, once: bool = False) -> Parameters:
        """Return all that is asked of a run, or of a pass over rows that are then gone."""
        return Parameters(
            rule=self._rule(),
            multi_class=self.multi_class,
            order=self.order or ("shuffled" if self.shuffle else "cyclic"),
            eta=self.eta0,
            max_iter=1 if once else self.max_iter,
            max_updates=self.max_updates,
            tol=self.tol,
            patience=self.n_iter_no_change,
            validation_fraction=self.validation_fraction if self.early_stopping else None,
            target_margin=self.target_margin,
            keep=self.keep,
            on_plane=self.on_plane,
            class_weight=self.class_weight,
            seed=seed,
            once=once,
        )

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
        start = Weights(*self._first_weights(X.shape[1], classes, coef_init, intercept_init))
        parameters = self._parameters(self._draw_seed())
        weight = None if sample_weight is None else example_weights(X, sample_weight, None, classes, y)
        fitted = self._train(X, y, classes, weight, parameters, State.begin(start, self._new_keeper()))
        self._adopt(fitted)
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
        Where sparse rows have few of very many columns, ``coef_`` is changed in place, as a copy would take longer.
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
        if fresh:
            return self._one_pass(X, y, classes, sample_weight, fresh)
        known = self.n_features_in_
        self._make_room(X)
        try:
            return self._one_pass(X, y, classes, sample_weight, fresh)
        except BaseException:  # if nothing can be learned from the rows, nothing changes
            self.n_features_in_ = known
            raise

    def _one_pass(self, X: Any, y: Any, classes: Any, sample_weight: Any, fresh: bool) -> Self:
        """Make a pass for ``partial_fit``."""
        X, y = self._rows_and_labels(X, y, reset=fresh)
        merged, codes = self._classes_and_codes(None if fresh else self.classes_, classes, y)
        weight = None if sample_weight is None else example_weights(X, sample_weight, None, merged, codes)
        columns = few_columns(X, X.shape[1])
        shared: list[Weights] = []
        if fresh:
            weights, keeper = Weights.zero(_machines(merged), X.shape[1]), self._new_keeper()
            seed, state = self._draw_seed(), State.begin(weights, keeper)
        else:
            weights, keeper, shared = self._grown(merged, columns)
            seed, state = self._seed, State(weights, keeper, first_pass=self.n_iter_)
        parameters = self._parameters(seed, once=True)
        with nullcontext() if columns is None else AllOrNothing(shared, columns):
            fitted = self._train(X, codes, merged, weight, parameters, state)
        self._adopt(fitted, going_on=not fresh)
        return self

    def _train(
        self, X: Any, codes: Array, classes: Array, weight: Floats | None, parameters: Parameters, state: State
    ) -> Fitted:
        """Train from rows in memory."""
        W = state.weights.W
        try:
            with progress(self.verbose, parameters.max_iter) as told:
                problem = array_problem(X, codes, classes, weight, parameters, state.weights)
                prover = None if parameters.once else self._prover(parameters, told.outlook)
                return driver.fit(problem, parameters, state, Hooks(told.watch, prover=prover))
        except FloatingPointError:
            self._explain(X, W)

    def _prover(self, parameters: Parameters, outlook: Outlook | None = None, **others: Any) -> Prover | None:
        """Return who looks for a proof that no plane separates the rows, if anybody is to."""
        return Prover(parameters, outlook, **others) if self.prove else None

    def _new_keeper(self) -> Keeper:
        """Return what keeps the hypothesis that is asked for."""
        return new_keeper(self.keep, self.multi_class == "ovr")

    def _adopt(self, fitted: Fitted, going_on: bool = False) -> None:
        """Take over what a run has learned, and note what it recorded."""
        if not going_on:
            self._stretches: list[Stretch] = []
            self._seed, self._rows_seen, self._passes_made, self.radius_ = fitted.seed, 0, 0, 0.0
            self.missing_rows_ = np.empty(0, np.int64)
            for name in ("scaling_", "mixing_", "reading_", "_first"):
                self.__dict__.pop(name, None)
        keeper, seen = fitted.keeper, fitted.survey
        self.classes_ = fitted.classes
        for name in ("_last", "_keeper", "_proof", "coef_", "intercept_", "margin_"):
            self.__dict__.pop(name, None)
        if keeper.is_last or not going_on:  # else it is worked out when it is asked for
            self.coef_, self.intercept_ = keeper.plane(fitted.weights)
        if fitted.proof is not None:
            self._proof = saved_proof(fitted.proof)
        if keeper.kind != "last":
            self._last, self._keeper = (fitted.weights.W, fitted.weights.b), keeper
        if fitted.first is not None:
            self._first = (fitted.first.W, fitted.first.b)
        elif "_first" in self.__dict__:
            self._first = (wide(self._first[0], (len(self._first[0]), self.n_features_in_)), self._first[1])
        self._stretches.append(Stretch(fitted.run, len(fitted.weights.b), self._rows_seen))
        self._rows_seen += fitted.rows
        if not math.isnan(self.radius_):
            self.radius_ = max(seen.radius, self.radius_)  # NaN from now on, if the first of them is
        self._smallest, self._passes_made = seen.smallest, self._passes_made + len(fitted.run.passes)
        self.training_errors_, self.training_rows_ = seen.wrong, seen.rows

    def _first_weights(self, d: int, classes: Array, coef_init: Any, intercept_init: Any) -> tuple[Floats, Floats]:
        """Return the weights and offsets to start from: given ones, those there are (warm start), or zero."""
        W, b = np.zeros((_machines(classes), d)), np.zeros(_machines(classes))
        if self.warm_start and hasattr(self, "coef_"):
            if self.coef_.shape != W.shape or not np.array_equal(self.classes_, classes):
                what = "{0} needs the same classes and number of features as the previous fit"
                raise DataError("", what, ("warm_start",))
            W, b = (part.copy() for part in self._last_weights())
        start_from(W, b, coef_init, intercept_init, self.fit_intercept)
        return W, b

    def _last_weights(self) -> tuple[Floats, Floats]:
        """Return the weights and offsets to go on from, whichever ones were returned."""
        last: tuple[Floats, Floats] | None = self.__dict__.get("_last")
        return (self.coef_, self.intercept_) if last is None else last

    def _grown(self, classes: Array, columns: Array | None) -> tuple[Weights, Keeper, list[Weights]]:
        """Return the weights, and a copy of what is kept, with room for classes and columns that were not there before.

        The weights are a copy, too, unless only some columns of them are to change: then what is shared comes third.
        """
        keeper, shared = self.__dict__.get("_keeper"), []
        old, (W, b) = self.classes_, self._last_weights()
        W = wide(W, (len(W), self.n_features_in_))
        same = len(classes) == len(old)
        if keeper is None or keeper.kind != self.keep:
            keeper = self._new_keeper()
        elif same and columns is not None:
            keeper, shared = keeper.share()
        else:
            keeper = keeper.copy()
        if same and columns is not None and W.flags.writeable:
            return Weights(W, b), keeper, [Weights(W, b), *shared]
        if same:
            return Weights(W.copy(), b.copy()), keeper, shared
        places = class_codes(old, classes)
        keeper.grow(lambda W, b: grown(W, b, places, len(classes)), places, len(classes))
        return Weights(*grown(W, b, places, len(classes))), keeper, []

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
        self._check_fitted("coef_")
        X = self._matrix(X, reset=False)
        if not np.isfinite(X.data if is_sparse(X) else X).all():
            self._explain(X, self.coef_)
        V = keeper.votes(X, self.on_plane)
        return V[:, 0] if V.shape[1] == 1 else V

    # -----------------------------------------------------------------------------------------------------------
    # What a run recorded

    # what takes as long as the weights are wide is computed when it is asked for

    @cached_property
    def coef_(self) -> Floats:  # type: ignore[override]
        """The weights that the run returns."""
        W, self.intercept_ = self._plane()
        return W

    @cached_property
    def intercept_(self) -> Floats:  # type: ignore[override]
        """The offsets that the run returns."""
        self.coef_, b = self._plane()
        return b

    @cached_property
    def margin_(self) -> float:
        """The smallest ``y s(x)/‖w‖`` of the training rows."""
        self._recorded()
        return self._smallest / (norm(self.coef_) or math.nan)

    def _plane(self) -> tuple[Floats, Floats]:
        """Return the weights and offsets that a run returns, of a partial fit that has not computed them yet."""
        self._recorded()
        return self._keeper.plane(Weights(*self._last))

    def _state(self) -> dict[str, Any]:
        """Return the fitted attributes, all of them worked out."""
        if "_smallest" in self.__dict__:
            _ = self.margin_, self.intercept_
        return {key: value for key, value in super()._state().items() if key not in ("_smallest", "_passes_made")}

    @property
    def n_iter_(self) -> int:
        """Passes made."""
        recorded = self._recorded()
        if "_passes_made" not in self.__dict__:
            self._passes_made = sum(len(stretch.run.passes) for stretch in recorded)
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
        proof = self.__dict__.get("_proof")
        return None if proof is None else refutation_of(self, proof, self._dropped())

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
        if "_stretches" not in self.__dict__:
            self._check_fitted("_stretches")
        return self._stretches

    # -----------------------------------------------------------------------------------------------------------
    # Checks

    def _check_state(self) -> None:
        """Refuse, besides, a run that does not belong to the rows that were seen, or to the weights."""
        super()._check_state()
        rows, weights = self._rows_seen, Weights(self.coef_, self.intercept_)
        must(type(self._seed) is int and 0 <= self._seed < 2**32, "seed")
        must(type(rows) is int and 0 <= rows < 2**62, "number of rows")
        must(isinstance(self.radius_, float) and isinstance(self.margin_, float), "radius and margin")
        must(isinstance(self._stretches, list), "its run")
        for stretch in self._stretches:
            must(type(stretch) is Stretch and stretch.first_row <= rows, "its run")
            last = int(stretch.run.trace.max(initial=0)) // stretch.machines
            must(len(stretch.run.trace) == 0 or stretch.first_row + last < rows, "a mistake on a row that was not seen")
        for name in ("_last", "_first"):
            pair = self.__dict__.get(name)
            must(pair is None or (type(pair) is tuple and len(pair) == 2), "weights that it keeps")
            if pair is not None:
                kept = Weights.from_state(dict(zip("Wb", pair, strict=True)), len(weights.b))
                must(kept.W.shape == weights.W.shape, "weights that it keeps")
        saved: Any = self.__dict__.get("_keeper")
        must((saved is None) == ("_last" not in self.__dict__), "what it keeps")
        if saved is not None:
            must(type(saved) is SavedKeeper and saved.kind in KEEPERS, "what it keeps")
            self._keeper = KEEPERS[saved.kind].from_state(saved.arrays, weights)
        missing = self.missing_rows_
        right = isinstance(missing, np.ndarray) and missing.dtype == np.int64 and missing.ndim == 1
        must(right and bool((np.diff(missing, prepend=-1) > 0).all()), "rows that were left out")
        must(len(missing) == 0 or int(missing[-1]) < rows + len(missing), "rows that were left out")
        if "_proof" in self.__dict__:
            check_kept(self._proof, rows, len(self.classes_))

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
        one_of(self, "prove", (True, False))
        one_of(self, "on_plane", (-1, 1))


_NO_PENALTY = (
    'linsep has no penalty; where classes overlap use keep="average" or PassiveAggressive(C=...), or '
    "scikit-learn's SGDClassifier for a penalty"
)
_ELSEWHERE = {
    "penalty": _NO_PENALTY,
    "alpha": _NO_PENALTY,
    "l1_ratio": _NO_PENALTY,
    "n_jobs": "leave it out: a run visits one row at a time",
    "average": 'say keep="average"',
    "loss": 'use PassiveAggressive(variant="pa1") for the hinge loss, "pa2" for its square',
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


def _machines(classes: Array) -> int:
    """Return the number of weight vectors for a number of classes."""
    return 1 if len(classes) <= 2 else len(classes)
