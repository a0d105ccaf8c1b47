"""The online learner of a log: predicts, then learns, example by example; and replays of a log.

Rows come in batches of any size, and the result has the bits of one at a time: a batch is cut where a class is seen for
the first time, and nothing else of how rows come together reaches the weights.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import tempfile
from contextlib import closing
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from linsep.data.arrays import to_rows
from linsep.data.example_log import Columns, Record, Rows, connect, load_classes, load_columns, merged, records
from linsep.data.labels import class_codes, class_labels, classes_and_codes, labels_of, object_array
from linsep.data.read import LOG
from linsep.errors import DataError
from linsep.learn import driver
from linsep.learn.evaluation import scores
from linsep.learn.passes import Hooks, State, TrainingLog
from linsep.learn.problems import array_problem
from linsep.learn.rules import Foresight
from linsep.learn.voting import TRACKERS, Vote
from linsep.learn.weights import Weights
from linsep.models.constructors import LEARNERS
from linsep.models.files import load_plain, save
from linsep.models.online import Online
from linsep.models.record import FittedRecord, PartialRun
from linsep.problem import Array, Floats, Pass, Run, Stop

NOTHING = -1  # predicted, while nothing is known
START = "start.linsep"  # the model that a log began with, if it began with one
_ONE_PASS = {"early_stopping": False, "target_margin": None, "max_updates": None, "tol": None, "order": None}


class Outcome(NamedTuple):
    """What was predicted for some examples before they were learned, and what came of it."""

    predicted: Array  # (n,) int32 class numbers of the log, or `NOTHING`
    mistake: Array  # (n,) bool, whether the weights changed

    def codes(self, y: Array) -> Array:
        """Return one number each: 4 times one more than the class, plus 2 for a wrong one, plus 1 for a mistake."""
        found: Array = 4 * (self.predicted + 1) + 2 * (self.predicted != y) + self.mistake
        return found


class Predictor:
    """A model that does not change: what readers use while learning goes on."""

    def __init__(self, learner: Learner) -> None:
        self.number, self.model = learner.number, learner.model
        self.labels, self.classes = list(learner.labels), learner.classes
        self.vote: Vote | None = None
        if isinstance(learner.tracker, Vote):
            state = {name: array.copy() for name, array in learner.tracker.state().items()}
            self.vote = Vote.from_state(state, learner.weights)
        self.plane = learner.tracker.plane(learner.weights).copy() if self.classes is not None else Weights.zero(1)
        self.norm, self.mistakes, self.radius = learner.weights.norm, learner.mistakes, learner.radius

    def scores(self, rows: Rows) -> Floats:
        """Return the score of every row, shape (n,) for two classes, else (n, classes)."""
        X = _fitted(rows, self.plane.n_features)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.vote is not None:
                S = self.vote.votes(X, self.model.on_plane)
            else:
                S = scores(to_rows(X), self.plane.W, self.plane.b)
        return S[:, 0] if S.shape[1] == 1 else S

    def predict(self, S: Floats) -> list[Any]:
        """Return the labels of rows by their scores, None while nothing is known."""
        if self.classes is None:
            return [None] * len(S)
        found: list[Any] = labels_of(S, self.classes, self.model.on_plane).tolist()
        return found

    def distances(self, rows: Rows) -> Floats:
        """Return the distances of rows to the plane, or to the boundaries of every class."""
        model = type(self.model)()
        assert self.classes is not None
        model.start_with(self.classes, self.plane)
        return model.distance(_fitted(rows, self.plane.n_features))


class Learner:
    """What has been learned from the first examples of a log, and how to learn from the next ones.

    Parameters
    ----------
    model : Online
        Its parameters say how to learn; if it is fitted, learning goes on from its weights.
    classes : list, optional
        Labels that are known before the first example.
    """

    def __init__(self, model: Online, classes: list[Any] | None = None) -> None:
        self.model = model
        self.parameters = model._parameters(0, once=True)._replace(shuffle=False, **_ONE_PASS)  # type: ignore[arg-type]
        self.number = self.mistakes = 0
        self.loss = 0.0
        self.labels: list[Any] = []  # by the class numbers of the log
        self.classes: Array | None = None  # in the order of the weights
        self.codes = np.empty(0, np.intp)  # place in ``classes`` of each class number
        self.begun = hasattr(model, "record_")
        if self.begun:
            self.weights, self.tracker = model.record_.weights, model.record_.tracker
            self.radius = model.radius_
            self.weights.keep_only((*self.parameters.rule.companions, *self.tracker.companions))
            self.classes, self.labels = model.classes_, model.classes_.tolist()
            self.codes = np.arange(len(self.labels))
        else:
            self.weights, self.tracker, self.radius = Weights.zero(1), model._new_tracker(), 0.0
        self.base = list(model.record_.runs) if self.begun else []
        self.base_rows = model.record_.rows if self.begun else 0
        self.first = model.record_.first if self.begun else None
        for label in classes or ():
            if label not in self.labels:
                self.labels.append(label)
        if classes:
            self._grow(self.labels)

    # -----------------------------------------------------------------------------------------------------------
    # Learning

    def learn(self, record: Record, labels: list[Any]) -> Outcome:
        """Predict and learn each example of a record in turn; ``labels`` are those of the log by class number."""
        n, y = len(record.y), np.asarray(record.y)
        outcome = Outcome(np.full(n, NOTHING, np.int32), np.zeros(n, bool))
        start = 0
        if n and int(y.max()) >= len(self.labels):  # classes are numbered as they appear
            new = np.flatnonzero(y > np.maximum.accumulate(np.append(len(self.labels) - 1, y[:-1])))
        else:
            new = np.empty(0, np.intp)
        for stop in (*new, n):
            if stop > start:
                self._visit(record, start, int(stop), outcome)
            if stop < n:  # a class without a weight vector: what is predicted is one of the others
                outcome.predicted[stop] = self._predicted(record.rows.part(int(stop), int(stop) + 1))
                self._grow(labels[: int(y[stop]) + 1])
                self._visit(record, int(stop), int(stop) + 1, outcome, foresee=False)
            start = int(stop) + 1
        if record.served is not None:
            kept = record.served >= 0
            outcome.predicted[kept] = record.served[kept]
            outcome.mistake[kept] = record.served[kept] != y[kept]
        return outcome

    def _grow(self, labels: list[Any]) -> None:
        """Know these labels; the weights get room for those that are new."""
        merged, _ = classes_and_codes(class_labels(list(labels)))
        if self.classes is None:
            self.weights, self.tracker = Weights.zero(1 if len(merged) <= 2 else len(merged)), self.model._new_tracker()
        elif len(merged) > len(self.classes):
            known = object_array(self.classes.tolist())
            places = class_codes(known, merged)
            self.tracker.grow(places, len(merged))
            self.weights.grow(places, len(merged))
        else:
            merged = self.classes
        self.labels, self.classes = list(labels), merged
        self.codes = class_codes(object_array(self.labels), merged)

    def _predicted(self, rows: Rows) -> int:
        """Return the class number that the model as it is predicts for one row."""
        if self.classes is None or not (self.begun or self.number or self.mistakes):
            return NOTHING
        served = Predictor(self)
        (label,) = served.predict(served.scores(rows))
        return self.labels.index(label)

    def _visit(self, record: Record, start: int, stop: int, outcome: Outcome, foresee: bool = True) -> None:
        """Learn from some examples of known classes, and note what was predicted for them."""
        in_one_go = self.tracker.kind in ("last", "average")
        if stop - start > 1 and not in_one_go:  # what the best or the vote predict changes with every example
            for i in range(start, stop):
                self._visit(record, i, i + 1, outcome)
            return
        rows = record.rows.part(start, stop)
        if foresee and not in_one_go:
            outcome.predicted[start] = self._predicted(rows)
        assert self.classes is not None
        codes = self.codes[record.y[start:stop]]
        X = rows.matrix(max(record.width, self.weights.n_features))
        state = State(self.weights, self.tracker, TrainingLog(loss=np.array([self.loss])))  # one sum, however it is cut
        problem = array_problem(X, codes, self.classes, None, self.parameters, self.weights)
        seen = (
            Foresight(np.zeros(stop - start, np.int64), float(self.model.on_plane)) if foresee and in_one_go else None
        )
        fitted = driver.fit(problem, self.parameters, state, Hooks(foresight=seen))
        if seen is not None:
            ids = np.empty(len(self.codes), np.int32)
            ids[self.codes] = np.arange(len(self.codes))
            outcome.predicted[start:stop] = ids[np.minimum(seen.codes, len(self.classes) - 1)]
            if not (self.begun or self.number):
                outcome.predicted[start] = NOTHING
        wrong = (fitted.run.trace // np.uint64(self.weights.machines)).astype(np.intp)
        outcome.mistake[start + wrong] = True
        self.number += stop - start
        self.mistakes += fitted.run.mistakes
        self.loss = fitted.run.passes[-1].loss
        self.radius = max(self.radius, fitted.evaluation.radius)

    # -----------------------------------------------------------------------------------------------------------
    # Files

    def saved(self, columns: Columns | None = None) -> Online:
        """Return the model that has been learned; with columns, one that reads files as the log has them."""
        kind = type(self.model)
        model = kind(**self.model.get_params())
        stop = Stop.MAX_ITER if self.mistakes else Stop.SEPARATED
        run = Run(stop, (Pass(self.mistakes, self.loss, math.nan, 0.0),), np.empty(0, np.uint32))
        runs = [*self.base, PartialRun(run, self.weights.machines, self.base_rows)]
        weights, tracker = self.weights, self.tracker
        if columns is not None:
            weights, tracker = (
                weights.copy(),
                TRACKERS[tracker.kind].from_state(
                    {name: array.copy() for name, array in tracker.state().items()}, weights
                ),
            )
            weights.widen(columns.width)
            tracker.widen(columns.width)
            if (order := columns.order()) is not None:
                weights = weights.restricted(order)
                tracker.reorder(order)
        record = FittedRecord(
            seed=0, rows=self.base_rows + self.number, runs=runs, n_passes=sum(len(each.run.passes) for each in runs),
            weights=weights, tracker=tracker, first=self.first,
        )  # fmt: skip
        if self.classes is None or weights.n_features == 0:
            raise DataError("", "nothing has been learned yet")
        model.record_, model.radius_, model.missing_rows_ = record, float(self.radius), np.empty(0, np.int64)
        model.classes_, model.n_features_in_ = self.classes, weights.n_features
        if columns is not None:
            model.reading_ = columns.reading()
            layout = columns.layout()
            if layout is not None:
                model.feature_names_in_ = object_array(layout.names)
        return model

    def save(self, path: str | os.PathLike[str], columns: Columns | None = None) -> None:
        """Write the model to a file."""
        save(self.saved(columns), path)

    def counters(self) -> dict[str, Any]:
        """Return what a snapshot keeps beside the model."""
        return {"number": self.number, "mistakes": self.mistakes, "loss": self.loss, "labels": self.labels}

    @classmethod
    def load(cls, path: str | os.PathLike[str], counters: dict[str, Any], model: Online) -> Learner:
        """Return the learner that a snapshot is of; ``model`` is the one that the log began with."""
        self = cls(model)
        saved: Online = load_plain(path)
        record = saved.record_
        self.weights, self.tracker, self.radius = record.weights, record.tracker, saved.radius_
        self.number, self.mistakes, self.loss = (counters[name] for name in ("number", "mistakes", "loss"))
        self.labels, self.classes = counters["labels"], saved.classes_
        self.codes = class_codes(object_array(self.labels), self.classes)
        return self

    def same(self, other: Learner) -> bool:
        """Say whether two learners have the same weights, to the bit, and all that goes with them."""

        def bits(learner: Learner) -> Any:
            state = learner.weights.state() | {f"tracker_{k}": v for k, v in learner.tracker.state().items()}
            arrays = {name: value.tobytes() for name, value in state.items() if isinstance(value, np.ndarray)}
            return arrays, learner.counters(), learner.radius

        return bool(bits(self) == bits(other))


def _fitted(rows: Rows, width: int) -> Any:
    """Return rows as a matrix of as many columns as a model has; what it has not learned is left out."""
    if rows.indices is None and rows.data.shape[1] == width:
        return rows.data
    data, indices, indptr = rows.sparse()
    assert indices is not None
    assert indptr is not None
    beyond = indices >= width
    if beyond.any():
        numbers = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))[~beyond]
        lengths = np.bincount(numbers, minlength=len(indptr) - 1)
        data, indices = data[~beyond], indices[~beyond]
        indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return Rows(data, indices, indptr).matrix(width)


# ---------------------------------------------------------------------------------------------------------------
# What a log begins with


def plain() -> Online:
    """Return the learner that is used unless another one is asked for."""
    found: Online = import_module(LEARNERS["Perceptron"].module).Perceptron(shuffle=False)
    return found


def about_start(model: Online | None, classes: list[Any] | None) -> dict[str, Any]:
    """Return what a learner begins with, as it is written down."""
    model = plain() if model is None else model
    weights, start = model.class_weight, None
    if hasattr(model, "record_"):
        with tempfile.TemporaryDirectory() as folder:
            save(model, path := os.path.join(folder, START))
            with open(path, "rb") as file:
                start = hashlib.sha256(file.read()).hexdigest()
    parameters = {name: value for name, value in model.get_params().items() if name != "class_weight"}
    about = {"kind": type(model).__name__, "parameters": parameters, "classes": list(classes or ()), "start": start}
    about["class_weight"] = None if weights is None else [list(pair) for pair in weights.items()]
    found: dict[str, Any] = json.loads(json.dumps(about))
    return found


def first_learner(folder: str, about: dict[str, Any]) -> Learner:
    """Return the learner that a log began with."""
    if about["start"]:
        return Learner(load_plain(os.path.join(folder, START)), about["classes"])
    kind = getattr(import_module(LEARNERS[about["kind"]].module), about["kind"])
    weights = None if about["class_weight"] is None else dict(about["class_weight"])
    return Learner(kind(**about["parameters"], class_weight=weights), about["classes"])


def warm_up(learner: Learner) -> None:
    """Load, or compile, what learning and predicting take, so that no request waits for it."""
    rows = Rows(np.eye(2))
    for form in (rows, rows.sparse()):
        twin = Learner(type(learner.model)(**learner.model.get_params()))
        twin.learn(Record(form, 2, np.array([0, 1], np.int32)), ["a", "b"])
        Predictor(twin).scores(form)


# ---------------------------------------------------------------------------------------------------------------
# The log alone


class Replay(NamedTuple):
    """What the log alone gives."""

    learner: Learner
    columns: Columns
    compared: int | None  # number of the newest snapshot that was compared
    same: bool  # whether it has the same bits
    problems: list[str]


def replay(folder: str | os.PathLike[str], until: int | None = None, *, check: bool = False) -> Replay:
    """Make the model from the log alone, and compare it with the newest snapshot on the way.

    With ``check`` every snapshot and every answer is compared, and SQLite examines its file.
    """
    problems: list[str] = []
    with closing(connect(os.path.join(folder, LOG))) as log:
        about = log.execute("SELECT value FROM settings WHERE key = 'learner'").fetchone()
        if about is None:
            raise DataError(str(folder), "nothing has been learned here yet")
        learner = first_learner(os.fspath(folder), json.loads(about[0]))
        columns, labels = load_columns(log), load_classes(log)
        saved = {
            n: json.loads(text) for n, text in log.execute("SELECT number, counters FROM snapshots ORDER BY number")
        }

        def load(number: int) -> Learner:
            return Learner.load(os.path.join(folder, f"snapshot-{number}.linsep"), saved[number], learner.model)

        first = log.execute("SELECT min(first) FROM batches").fetchone()[0]
        base = 0 if first is None and not saved else (max(saved) if first is None else first - 1)
        if base:
            learner = load(base)
        last = log.execute('SELECT max(first + "count" - 1) FROM batches').fetchone()[0] or base
        end = last if until is None else until
        if not base <= end <= last:
            raise DataError(str(folder), f"the log has examples {base + 1} to {last}, and no example {end}")
        if check and (found := log.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
            problems.append(f"SQLite finds: {found}")
        marks = sorted(n for n in saved if base < n <= end)
        compared, same = None, True
        for mark in [*(marks if check else marks[-1:]), end]:
            for number, record in merged(records(log, learner.number, mark)):
                codes = learner.learn(record, labels).codes(record.y)
                if check:
                    problems += _compare(log, number, codes)
            if mark in saved and mark > base and mark != compared:
                compared, same = mark, learner.same(load(mark))
                if not same:
                    problems.append(f"the snapshot of example {mark} is not what the log gives")
    return Replay(learner, columns, compared, same, problems)


def _compare(log: sqlite3.Connection, first: int, codes: Array) -> list[str]:
    """Say which answers are not those that the log gives; the last ones may not be there yet."""
    end = first + len(codes)
    start = log.execute("SELECT max(first) FROM answers WHERE first <= ?", (first,)).fetchone()[0] or first
    for number, body in log.execute("SELECT first, body FROM answers WHERE first >= ? AND first < ?", (start, end)):
        given = np.frombuffer(body, np.int32)
        low, high = max(first, number), min(end, number + len(given))
        if not np.array_equal(given[low - number : high - number], codes[low - first : high - first]):
            return [f"the answers to examples {low} to {high - 1} are not those that the log gives"]
    return []
