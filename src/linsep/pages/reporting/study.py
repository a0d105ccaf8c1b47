"""Computes everything that a report shows."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from linsep.clock import Clock, OutOfTime
from linsep.data.labels import at_least_two_classes, check_same_length, class_labels
from linsep.data.matrices import as_matrix
from linsep.data.row_numbers import Dropped, Location
from linsep.errors import DataError, NotSeparable, ParameterError
from linsep.models.estimators import Perceptron
from linsep.models.online import Online
from linsep.pages.checker import proof_of, table_of
from linsep.problem import Array, MarginForm, Stop, Values, machines_for
from linsep.prove.bounds.audits import Audit, Trail, as_trained, audit_trail, retrace, run_margin
from linsep.prove.bounds.error_bounds import Generalization, generalization
from linsep.prove.bounds.margins import Margin, largest_margin
from linsep.prove.bounds.mistake_bounds import Bound
from linsep.prove.claims import NOT_SEPARABLE, SEPARABLE, UNKNOWN
from linsep.prove.class_pairs import Ties, tied_classes
from linsep.prove.fewest.results import Fewest, fewest_errors
from linsep.prove.numbers.cells import nearest_doubles
from linsep.prove.numbers.exact_numbers import BINARY, DECIMAL, is_exact
from linsep.prove.numbers.tables import refuse_rounding
from linsep.prove.verdict.one_column import telling_columns
from linsep.prove.verdict.separability import separator
from linsep.prove.verdicts import Verdict, separate

Learner = TypeVar("Learner", bound=Online)

_TRAINING = 0.1  # share of the time for one run, which may search for a proof as long again; passes beyond are cut off
_PASS, _VISIT, _CELL = 5e-5, 2e-8, 1e-9  # seconds of a pass, of every row in it, and of every cell
_LEAST_PASSES = 10  # that all runs of a report make, with what they cost beside
_DRAWING, _DRAWING_SECONDS = 0.4, 20.0  # share of the time for held-out rows and figures, and at most
_LEAST_DRAWING, _MOST_DRAWING = 1.5, 0.6  # seconds that figures take in any case, but at most this share
_FEWEST_SECONDS = 10.0  # for the fewest errors of any plane
_FEW_CELLS = 5_000_000  # up to which they are searched for
_WIDE = 2000  # weights from which on the largest margin is bounded by the run, not searched for


@dataclass
class Study:
    """Everything that a report tells of some rows."""

    rows: int
    features: int
    stored: int  # cells that are not zero, or all of a dense array
    sparse: bool
    classes: list[Any]
    sizes: list[int]
    name: Callable[[int], str]
    fit_intercept: bool
    delta: float
    X: Any = field(repr=False)  # doubles, or integers
    exact: Any = field(repr=False)  # the same numbers as they are meant, of which the proofs are
    y: Any = field(repr=False)
    model: Perceptron = field(repr=False)
    trail: Trail = field(repr=False)
    verdict: Verdict
    reading: dict[str, Any] | None = field(default=None, repr=False)  # how a file became these rows, if one did
    dropped: Dropped = field(default_factory=Dropped, repr=False)  # rows of the file that are not here
    locate: Callable[[Any], list[Location] | None] = field(default=lambda _: None, repr=False)  # lines of rows
    document: str | None = field(default=None, repr=False)  # the proof of the verdict, if it has one
    documents: dict[str, str] = field(default_factory=dict, repr=False)  # the proofs that can be checked on the page
    table: dict[str, Any] | None = field(default=None, repr=False)  # rows and labels for the checker on the page
    ties: Ties | None = None  # of a quasi verdict on several classes
    fewest: Fewest | None = field(default=None, repr=False)  # of rows that no plane separates
    margin: Margin | None = None  # augmented, or origin without offset: the one of the theorem
    searched: bool = True  # whether the margin was searched for, or comes from the run
    affine: Margin | None = None  # the one that people draw
    bound: Bound | None = None
    audit: Audit | None = None
    trained: Online | None = None  # the model of the page: on a part of the rows, so that the others judge it
    split: tuple[Any, Any, Any, Any] | None = field(default=None, repr=False)  # X, y, X_test, y_test
    unseen: Generalization | None = None
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Note how long something takes."""
        started = time.perf_counter()
        yield
        self.seconds[what] = self.seconds.get(what, 0.0) + time.perf_counter() - started


@dataclass(frozen=True)
class ReportOptions:
    """What a report is asked for; see ``report``."""

    fit_intercept: bool = True
    feature_names: Any = None
    delta: float = 0.05
    test_size: float = 0.2
    time_limit: float = 60.0
    random_state: int = 0
    learner: Online | None = None
    scale: str = "auto"
    word_counts: Any = ()  # features that count words of texts
    reading: dict[str, Any] | None = None
    values: Values = "binary"
    dropped: Dropped = field(default_factory=Dropped)
    locate: Callable[[Any], list[Location] | None] = lambda _: None


def study(X: Any, y: Any, **asked: Any) -> Study:
    """Find out everything that a report tells; the keywords are those of ``ReportOptions``."""
    options = ReportOptions(**asked)
    limit = options.time_limit
    clock = Clock(limit).sooner(min(max(_DRAWING * limit, _LEAST_DRAWING), _MOST_DRAWING * limit, _DRAWING_SECONDS))
    if not 0 < options.test_size < 1:
        raise ParameterError("test_size", options.test_size, "between 0 and 1")
    names = options.feature_names if options.feature_names is not None else getattr(X, "columns", None)
    exact = X if options.values == DECIMAL and is_exact(X) else None
    X = X if exact is None else nearest_doubles(exact)
    refuse_rounding(X)
    X, y = as_matrix(X), class_labels(y)
    if sp.issparse(X) and not X.has_canonical_format:  # once, not in every function that is called below
        X = X.copy()
        X.sum_duplicates()
    exact = X if exact is None else exact
    check_same_length(X, y)
    classes, codes = at_least_two_classes(y)
    stored = X.nnz if sp.issparse(X) else X.size
    machines = machines_for(len(classes))
    work = _PASS + _VISIT * X.shape[0] + _CELL * stored * machines
    if _LEAST_PASSES * work > max(limit, _LEAST_DRAWING):
        message = f"{X.shape[0]:,} rows and {len(classes):,} classes take about {work:.1f} s a pass: "
        needed = ("time_limit", 10 * math.ceil(_LEAST_PASSES * work / 10))
        raise DataError("", message + "a report about them needs {0}, fewer rows, or another label", needed)
    passes = int(np.clip(_TRAINING * limit / work, 2, 1000))
    offset, seconds = options.fit_intercept, {}
    started = time.perf_counter()
    model = Perceptron(fit_intercept=offset, max_iter=passes, random_state=options.random_state, on_plane=-1)
    model = _fitted(model, X, y)
    seconds["training"] = time.perf_counter() - started
    started = time.perf_counter()
    notes = []
    try:
        verdict = _verdict(model, X, exact, y, options, clock)
    except DataError:
        if exact is X:
            raise
        notes.append("The numbers have too many digits to decide exactly: this page is about the nearest doubles.")
        exact, options = X, replace(options, values=BINARY)
        verdict = _verdict(model, X, exact, y, options, clock)
    seconds["verdict"] = time.perf_counter() - started
    results = Study(
        rows=X.shape[0], features=X.shape[1], stored=stored, sparse=sp.issparse(X), classes=classes.tolist(),
        sizes=np.bincount(codes).tolist(), name=_names(names), fit_intercept=offset, delta=options.delta, X=X,
        exact=exact, y=y, model=model, trail=retrace(model, X, y), verdict=verdict, seconds=seconds, notes=notes,
    )  # fmt: skip
    results.reading, results.dropped, results.locate = options.reading, options.dropped, options.locate
    if len(results.dropped):
        results.notes.append(f"Dropped: {results.dropped.words()}. Rows have the numbers that they have in the file.")
    rules = telling_columns(exact, codes, verdict.classes, [results.name(j) for j in range(X.shape[1])], clock)
    results.notes += [f"{rule.sentence()}. Is it a copy of the label?" for rule in rules[:3]]
    results.document = proof_of(verdict, exact, y, options.reading)
    results.table = None if results.document is None else table_of(exact, y)
    if verdict.kind == SEPARABLE:
        _study_margins(results, clock)
    elif verdict.kind != UNKNOWN and stored <= _FEW_CELLS:
        with results.timed("verdict"):
            results.ties = tied_classes(verdict, exact, y, clock)
        _study_errors(results, clock)
    with results.timed("held-out rows"):
        _study_new_rows(results, codes, options)
    return results


def _fitted(model: Learner, X: Any, y: Any, scale: str = "none", word_counts: Any = ()) -> Learner:
    """Fit without a warning: the report says how the run ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y) if scale == "none" else model.fit_scaled(X, y, scale, word_counts)


def _names(names: Any) -> Callable[[int], str]:
    if callable(names):
        return lambda j: str(names(j))
    if names is None:
        return lambda j: f"x{j + 1}"
    listed = [str(name) for name in names]
    return lambda j: listed[j]


def _verdict(model: Perceptron, X: Any, exact: Any, y: Array, options: ReportOptions, clock: Clock) -> Verdict:
    """Return the verdict: the plane of a run that separated the rows is proof enough, else one is searched for."""
    plane = separator(model, X, y) if model.stop_reason_ == Stop.SEPARATED else None
    if plane is not None:
        classes = tuple(model.classes_.tolist())
        verdict = Verdict(SEPARABLE, plane, None, classes, X.shape[1], options.fit_intercept, values=options.values)
        if options.values == "binary" or verdict.check(exact, y):
            return verdict
    offset, limit = options.fit_intercept, max(0.0, clock.left)
    verdict = separate(exact, y, fit_intercept=offset, time_limit=limit, values=options.values)
    if verdict.kind == UNKNOWN and model.stop_reason_ == Stop.NOT_SEPARABLE:  # the run has refuted it
        known = replace(verdict, kind=NOT_SEPARABLE, refutation=model.refutation_)
        return known if known.check(exact, y) else verdict
    return verdict


def _study_errors(results: Study, clock: Clock) -> None:
    """Search for the plane with the fewest errors; if the numbers have too many digits, for the nearest doubles."""

    def search(X: Any, values: Values) -> Fewest:
        limit = min(_FEWEST_SECONDS, max(0.0, clock.left))
        return fewest_errors(X, results.y, fit_intercept=results.fit_intercept, time_limit=limit, values=values)

    with results.timed("fewest errors"):
        try:
            results.fewest = search(results.exact, results.verdict.values)
        except DataError:
            if results.verdict.values == BINARY:
                raise
            results.notes.append(
                "The fewest errors are those of the nearest doubles: the numbers have too many digits."
            )
            results.fewest = search(results.X, BINARY)


def _study_margins(results: Study, clock: Clock) -> None:
    """Bound the margins and the mistakes, and follow the proof along the run."""
    with warnings.catch_warnings(record=True) as notes, results.timed("margins"):
        warnings.simplefilter("always")
        try:
            results.margin, results.searched = theorem_margin(results.model, results.trail, results.X, results.y, clock)
            if results.searched and results.fit_intercept:
                results.affine = largest_margin(results.X, results.y, form="affine", clock=clock)
        except NotSeparable as error:  # separable, but by less than double precision can tell
            results.notes.append(str(error))
        except OutOfTime:
            results.notes.append("The search for the largest margin ran out of time.")
            if results.margin is None:
                results.margin, results.searched = run_margin(results.model, results.trail), False
    results.notes += [str(warning.message) for warning in notes]
    if results.margin is None:
        return
    with results.timed("bound and audit"):
        results.audit = audit_trail(results.model, results.trail, results.X, results.y, margin=results.margin)
        results.bound = results.audit.bound


def theorem_margin(model: Any, trail: Trail, X: Any, y: Any, clock: Clock | None = None) -> tuple[Margin | None, bool]:
    """Return bounds on the margin of the theorem, searched for or, where that would take long, those of the run.

    Raises NotSeparable if the search finds that no plane separates the rows, OutOfTime if the clock ends it.
    """
    if trail.start.size <= _WIDE:
        form: MarginForm = "augmented" if model.fit_intercept else "origin"
        return largest_margin(as_trained(model, X), y, form=form, clock=clock), True
    return run_margin(model, trail), False


def _study_new_rows(results: Study, codes: Array, options: ReportOptions) -> None:
    """Train on some rows in random but fixed order, and see how well the others are predicted."""
    order = np.random.default_rng(options.random_state).permutation(results.rows)
    kept = results.rows - max(1, round(options.test_size * results.rows))
    if kept < 2 or len(np.unique(codes[order[:kept]])) < len(results.classes):
        results.notes.append("Too few rows to hold some out: every class must occur among the training rows.")
        return
    train, test = order[:kept], order[kept:]
    results.split = X, y, X_test, y_test = results.X[train], results.y[train], results.X[test], results.y[test]
    learner, passes = options.learner, results.model.max_iter
    if learner is None:
        learner = Perceptron(fit_intercept=results.fit_intercept, shuffle=False, keep="auto", max_iter=passes)
        if results.verdict.kind not in (SEPARABLE, UNKNOWN):
            learner.max_iter = min(100, passes)
    learner.max_iter = min(learner.max_iter, passes)
    results.trained = _fitted(learner, X, y, options.scale, options.word_counts)
    results.unseen = generalization(results.trained, X, y, delta=results.delta, X_test=X_test, y_test=y_test)
