"""The online learner of a log: predicts, then learns, example by example; and replays of a log.

Rows come in batches of any size, and the result has the bits of one at a time: a batch is cut where a class is seen for
the first time, and nothing else of how rows come together reaches the weights.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import os
import tempfile
from contextlib import closing
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from linsep.data.arrays import to_rows
from linsep.data.example_log import Columns, LogRows, Record, load_classes, load_columns, open_log, read_records
from linsep.data.labels import class_codes, class_labels, classes_and_codes, labels_of, object_array
from linsep.data.options import LOG
from linsep.errors import DataError
from linsep.learn import driver
from linsep.learn.evaluation import scores
from linsep.learn.passes import Hooks, State, TrainingLog
from linsep.learn.problems import array_problem
from linsep.learn.rules import Foresight
from linsep.learn.voting import Vote
from linsep.learn.weights import Weights
from linsep.models.constructors import LEARNERS
from linsep.models.files import load_plain, save
from linsep.models.online import Online
from linsep.models.record import FittedRecord, PartialRun
from linsep.problem import Array, Floats, Pass, Run, Stop, machines_for

NOTHING = -1  # predicted, while nothing is known
START = "start.linsep"  # the model that a log began with, if it began with one
_ONE_PASS = {"early_stopping": False, "target_margin": None, "max_updates": None, "tol": None, "order": None}


class Predictor:
    """A model that does not change: what readers use while learning goes on."""

    def __init__(self, learner: ProgressiveLearner) -> None:
        self.number, self.model = learner.number, learner.model
        self.labels, self.classes, self.vote = list(learner.labels), learner.classes, None
        self.plane = Weights.zero(1)
        if self.classes is not None:
            record = learner.model.record_
            self.plane = record.tracker.plane(record.weights).copy()
            if isinstance(record.tracker, Vote):
                state = {name: array.copy() for name, array in record.tracker.state().items()}
                self.vote = Vote.from_state(state, record.weights)

    def scores(self, rows: LogRows) -> Floats:
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
        labels: list[Any] = labels_of(S, self.classes, self.model.on_plane).tolist()
        return labels

    def distances(self, rows: LogRows) -> Floats:
        """Return the distances of rows to the plane, or to the boundaries of every class."""
        model = type(self.model)()
        assert self.classes is not None
        model.start_with(self.classes, self.plane)
        return model.distance(_fitted(rows, self.plane.n_features))


def _fitted(rows: LogRows, width: int) -> Any:
    """Return rows as a matrix of as many columns as a model has; what it has not learned is left out."""
    if rows.indices is None and rows.data.shape[1] == width:
        return rows.data
    rows = rows.sparse()
    assert rows.indices is not None
    return rows.only(rows.indices < width).matrix(width)


class ProgressiveLearner:
    """What has been learned from the first examples of a log, and how to learn from the next ones.

    Parameters
    ----------
    model : Online
        Its parameters say how to learn; if it is fitted, learning goes on from its weights.
    labels : list
        Those that are known, by their class numbers in the log.
    snapshot : bool
        Whether the last run of the model is that of the log.
    """

    def __init__(self, model: Online, labels: list[Any], *, snapshot: bool = False) -> None:
        self.model: Online = type(model)(**model.get_params())
        self.parameters = model.run_parameters(0, once=True)._replace(shuffle=False, **_ONE_PASS)  # type: ignore[arg-type]
        self.number = self.mistakes = self.base_rows = 0
        self.loss, self.from_zero = 0.0, True
        self.labels: list[Any] = []
        self.base: list[PartialRun] = []  # before the log
        self.codes = np.empty(0, np.intp)  # place among the classes of each class number
        if hasattr(model, "record_"):
            known, fresh = model.record_, self.model
            fresh.begin_record(FittedRecord(seed=0, weights=known.weights, tracker=known.tracker, first=known.first))
            fresh.classes_, fresh.n_features_in_, fresh.radius_ = model.classes_, model.n_features_in_, model.radius_
            known.weights.keep_only((*self.parameters.rule.companions, *known.tracker.companions))
            self.base, self.base_rows, self.from_zero = list(known.runs), known.rows, known.first is None
            if snapshot:
                run, _, self.base_rows = self.base.pop()
                self.number = known.rows - self.base_rows
                self.mistakes, self.loss = run.passes[-1].mistakes, run.passes[-1].loss
        if labels:
            self._grow(labels)

    @property
    def classes(self) -> Array | None:
        """The labels in the order of the weights, None while there are none."""
        return getattr(self.model, "classes_", None)

    # -----------------------------------------------------------------------------------------------------------
    # Learning

    def learn(self, record: Record, labels: list[Any]) -> Array:
        """Predict and learn each example of a record in turn; return the answers, as a record has them.

        ``labels`` are those of the log, by class number; classes are numbered as they appear.
        """
        y, n, start = record.y, len(record.y), 0
        predicted, mistake = np.full(n, NOTHING, np.int32), np.zeros(n, bool)
        new: Array = np.empty(0, np.intp)
        if int(y.max()) >= len(self.labels):
            new = np.flatnonzero(y > np.maximum.accumulate(np.append(len(self.labels) - 1, y[:-1])))
        for stop in (*new.tolist(), n):
            if stop > start:
                self._visit(record, start, stop, predicted, mistake)
            if stop < n:  # a class without a weight vector: what is predicted is one of the others
                predicted[stop] = self._predicted(record.rows.part(stop, stop + 1))
                self._grow(labels[: int(y[stop]) + 1])
                self._visit(record, stop, stop + 1, None, mistake)
            start = stop + 1
        if record.served is not None:
            kept = record.served >= 0
            predicted[kept] = record.served[kept]
            mistake[kept] = record.served[kept] != y[kept]
        answers: Array = 4 * (predicted + 1) + 2 * (predicted != y) + mistake
        return answers

    def _grow(self, labels: list[Any]) -> None:
        """Know these labels; the weights get room for those that are new."""
        classes, _ = classes_and_codes(class_labels(list(labels)))
        model = self.model
        if self.classes is None:
            weights = Weights.zero(machines_for(len(classes)))
            model.begin_record(FittedRecord(seed=0, weights=weights, tracker=model.new_tracker()))
            model.classes_, model.n_features_in_ = classes, 0
        else:
            model.classes_ = object_array(model.classes_.tolist())
            model.grow_to(classes)
        self.labels, self.codes = list(labels), class_codes(object_array(labels), classes)

    def _predicted(self, rows: LogRows) -> int:
        if self.classes is None or not (self.base_rows or self.number):
            return NOTHING
        now = Predictor(self)
        return self.labels.index(now.predict(now.scores(rows))[0])

    def _visit(self, record: Record, start: int, stop: int, predicted: Array | None, mistake: Array) -> None:
        """Learn from some examples of known classes, and note what was predicted for them."""
        known = self.model.record_
        in_one_go = known.tracker.kind in ("last", "average")
        if stop - start > 1 and not in_one_go:  # what the best or the vote predict changes with every example
            for i in range(start, stop):
                self._visit(record, i, i + 1, predicted, mistake)
            return
        rows, weights, classes = record.rows.part(start, stop), known.weights, self.model.classes_
        seen = None
        if predicted is not None and in_one_go:
            seen = Foresight(np.zeros(stop - start, np.int64), float(self.model.on_plane))
        elif predicted is not None:
            predicted[start] = self._predicted(rows)
        X = rows.matrix(max(record.width, weights.n_features))
        state = State(weights, known.tracker, TrainingLog(loss=np.array([self.loss])))  # one sum, however it is cut
        problem = array_problem(X, self.codes[record.y[start:stop]], classes, None, self.parameters, weights)
        fitted = driver.fit(problem, self.parameters, state, Hooks(foresight=seen))
        if seen is not None and predicted is not None:
            predicted[start:stop] = np.argsort(self.codes)[np.minimum(seen.codes, len(classes) - 1)]
            if not (self.base_rows or self.number):
                predicted[start] = NOTHING
        mistake[start + (fitted.run.trace // np.uint64(weights.machines)).astype(np.intp)] = True
        self.number += stop - start
        self.mistakes += fitted.run.mistakes
        self.loss = fitted.run.passes[-1].loss
        self.model.radius_ = max(self.model.radius_, fitted.evaluation.radius)
        self.model.n_features_in_ = weights.n_features

    # -----------------------------------------------------------------------------------------------------------
    # Files

    def saved(self, columns: Columns | None = None) -> Online:
        """Return the model that has been learned; with columns, one that reads files as the log has them."""
        if self.classes is None or self.model.n_features_in_ == 0:
            raise DataError("", "nothing has been learned yet")
        model = self.model if columns is None else copy.deepcopy(self.model)
        record = model.record_
        stop = Stop.MAX_ITER if self.mistakes else Stop.SEPARATED
        run = Run(stop, (Pass(self.mistakes, self.loss, math.nan, 0.0),), np.empty(0, np.uint32))
        record.runs = [*self.base, PartialRun(run, record.weights.machines, self.base_rows)]
        record.rows, record.n_passes = self.base_rows + self.number, len(record.passes)
        if columns is not None:
            for part in (record.weights, record.tracker):
                part.widen(columns.width)
            if (order := columns.order()) is not None:
                record.weights = record.weights.restricted(order)
                record.tracker.reorder(order)
            model.n_features_in_, model.reading_ = columns.width, columns.reading()
            if (layout := columns.layout()) is not None:
                model.feature_names_in_ = object_array(layout.names)
        record.plane = record.tracker.plane(record.weights)
        return model

    def bits(self) -> Any:
        """Return all that a snapshot holds, to compare it to the bit."""
        return _bits(self.saved().saved_state())


def _bits(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _bits(each) for name, each in value.items()}
    if isinstance(value, float | np.ndarray) and np.asarray(value).dtype != object:
        return np.asarray(value).tobytes()
    return value.tolist() if isinstance(value, np.ndarray) else value


# ---------------------------------------------------------------------------------------------------------------
# What a log begins with


def plain() -> Online:
    """Return the learner that is used unless another one is asked for."""
    learner: Online = import_module(LEARNERS["Perceptron"].module).Perceptron(shuffle=False)
    return learner


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
    described: dict[str, Any] = json.loads(json.dumps(about))
    return described


def first_learner(folder: str, about: dict[str, Any]) -> ProgressiveLearner:
    """Return the learner that a log began with."""
    if about["start"]:
        model = load_plain(os.path.join(folder, START))
        known = model.classes_.tolist()
        return ProgressiveLearner(model, [*known, *(label for label in about["classes"] if label not in known)])
    kind = getattr(import_module(LEARNERS[about["kind"]].module), about["kind"])
    weights = None if about["class_weight"] is None else dict(about["class_weight"])
    return ProgressiveLearner(kind(**about["parameters"], class_weight=weights), about["classes"])


def snapshot_path(folder: str | os.PathLike[str], number: int) -> str:
    """Return the path of the model file of a snapshot."""
    return os.path.join(folder, f"snapshot-{number}.linsep")


def load_snapshot(folder: str | os.PathLike[str], number: int, labels: list[Any]) -> ProgressiveLearner:
    """Return the learner that a snapshot is of; ``labels`` are all those of the log, by class number."""
    model = load_plain(snapshot_path(folder, number))
    return ProgressiveLearner(model, labels[: len(model.classes_)], snapshot=True)


def warm_up(learner: ProgressiveLearner) -> None:
    """Load, or compile, what learning and predicting take, so that no request waits for it."""
    rows = LogRows(np.eye(2))
    for form in (rows, rows.sparse()):
        twin = ProgressiveLearner(type(learner.model)(**learner.model.get_params()), [])
        for _ in range(2):  # the first time both classes are new
            twin.learn(Record(form, 2, np.array([0, 1], np.int32)), ["a", "b"])
        Predictor(twin).scores(form)


# ---------------------------------------------------------------------------------------------------------------
# The log alone


class Replay(NamedTuple):
    """What the log alone gives."""

    learner: ProgressiveLearner
    columns: Columns
    compared: int | None  # number of the newest snapshot that was compared
    same: bool  # whether it has the same bits
    problems: list[str]


def replay(folder: str | os.PathLike[str], until: int | None = None, *, check: bool = False) -> Replay:
    """Make the model from the log alone, and compare it with the newest snapshot on the way.

    With ``check`` every snapshot and every answer is compared, and SQLite examines its file.
    """
    problems: list[str] = []
    with closing(open_log(os.path.join(folder, LOG))) as log:
        about = log.execute("SELECT value FROM settings WHERE key = 'learner'").fetchone()
        if about is None:
            raise DataError(str(folder), "nothing has been learned here yet")
        columns, labels = load_columns(log), load_classes(log)
        saved = [number for (number,) in log.execute("SELECT number FROM snapshots ORDER BY number")]
        first, last = log.execute('SELECT min(first), max(first + "count" - 1) FROM batches').fetchone()
        base = max(saved, default=0) if first is None else first - 1
        learner = (
            load_snapshot(folder, base, labels) if base else first_learner(os.fspath(folder), json.loads(about[0]))
        )
        last = last or base
        end = last if until is None else until
        if not base <= end <= last:
            raise DataError(str(folder), f"the log has examples {base + 1} to {last}, and no example {end}")
        if check and (report := log.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
            problems.append(f"SQLite finds: {report}")
        marks = [number for number in saved if base < number <= end]
        compared, same = None, True
        for mark in [*(marks if check else marks[-1:]), end]:
            for number, record in read_records(log, learner.number, mark):
                wrong = np.flatnonzero(learner.learn(record, labels) != record.answers)
                if check and len(wrong):
                    problems.append(f"the answer to example {number + wrong[0]} is not the one that the log gives")
            if mark in marks and mark != compared:
                compared, same = mark, learner.bits() == load_snapshot(folder, mark, labels).bits()
                if not same:
                    problems.append(f"the snapshot of example {mark} is not what the log gives")
    return Replay(learner, columns, compared, same, problems)
