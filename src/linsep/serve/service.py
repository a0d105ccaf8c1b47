"""The served learner: one thread writes and learns, any number read.

The writing thread takes all requests that wait, gives their examples the next numbers of the log, commits them in one
transaction, learns from them in order, and only then answers. A request that is refused leaves no trace. The answers
are kept with the next commit: until then the log itself is enough to work them out again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import closing
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from linsep.data.example_log import Columns, Record, Rows, connect, encode, load_classes, load_columns, records
from linsep.data.read import LOG
from linsep.data.schema import CATEGORY, TEXT, WORD, Layout
from linsep.errors import DataError
from linsep.models.constructors import LEARNERS
from linsep.models.files import load_plain, save
from linsep.models.online import Online
from linsep.problem import Array
from linsep.prove.bounds.intervals import clopper_pearson
from linsep.serve.learner import Learner, Predictor
from linsep.serve.parsing import Limits, Parsed, Refused
from linsep.serve.store import START, Store

WINDOWS = (100, 1000, 10_000)  # last examples over which the running error is told
_GROUP = 50_000  # examples that are written in one transaction
_AT_A_TIME = 1 << 14  # examples that a replay learns at a time
_MANY, _OFTEN, _SELDOM = 200_000, 10.0, 300.0  # examples, and seconds, between two snapshots
_COPYING = 0.05  # share of the time that may go into copies for readers while requests wait
_RECENT = 200  # mistakes that are listed
FULL = "the server cannot write to its disk (perhaps it is full): nothing of this request was learned; try again later"


class Answer(NamedTuple):
    """The answer to a request to learn: numbers of the examples, and of each what was predicted and what came of it."""

    numbers: Iterable[int]
    codes: list[int]  # 4 times one more than the predicted class, plus 2 for a wrong label, plus 1 for a mistake

    def text(self, labels: list[str]) -> str:
        """Return the answer as JSON; ``labels`` are those of the log, in JSON."""
        known = ["null", *labels]
        parts = [
            f'{{"number":{number},"predicted":{known[code >> 2]},"mistake":{"true" if code & 1 else "false"}}}'
            for number, code in zip(self.numbers, self.codes, strict=True)
        ]
        return f'{{"examples":[{",".join(parts)}]}}'


class Job:
    """A request to learn that waits for its answer."""

    __slots__ = ("digest", "future", "key", "parsed")

    def __init__(self, parsed: Parsed, key: str | None, digest: bytes, future: Any) -> None:
        self.parsed, self.key, self.digest, self.future = parsed, key, digest, future


class _Plan:
    """What the present group adds to the log."""

    def __init__(self, number: int) -> None:
        self.first = self.number = number
        self.parts: list[tuple[Rows, list[int], list[int] | None]] = []
        self.keys: dict[str, tuple[bytes, list[int]]] = {}
        self.ids: dict[str, int] = {}
        self.labeled: list[str] = []  # ids of rows that waited
        self.done: list[tuple[Job, list[int]]] = []

    def records(self, width: int) -> list[Record]:
        """Return the examples as records, of consecutive rows of one form each."""
        found: list[Record] = []
        start = 0
        for stop in range(1, len(self.parts) + 1):
            if stop < len(self.parts) and (self.parts[stop][0].indptr is None) == (self.parts[start][0].indptr is None):
                continue
            some = self.parts[start:stop]
            rows = Rows.joined([part for part, _, _ in some])
            y = np.array([code for _, codes, _ in some for code in codes], np.int32)
            served = None
            if any(each is not None for _, _, each in some):
                served = np.array([c for _, y, each in some for c in (each or [-1] * len(y))], np.int32)
            found.append(Record(rows, width if rows.indptr is not None else rows.data.shape[1], y, served))
            start = stop
        return found


class Service:
    """A learner with its folder.

    Parameters
    ----------
    folder : path
    model : Online, optional
        What a new folder begins with: parameters, and weights if it is fitted.
    classes : list, optional
        Labels that are known from the start.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        model: Online | None = None,
        classes: list[Any] | None = None,
        *,
        limits: Limits | None = None,
        waiting: int = 200_000,
        pending_days: float = 7.0,
        keep_days: float | None = None,
    ) -> None:
        self.limits, self.most = limits or Limits(), waiting
        self.pending_days, self.keep_days = pending_days, keep_days
        self.store = Store(folder)
        try:
            known = self.store.get("learner")
            if known is None:
                _begin(self.store, model, classes)
            elif (model is not None or classes) and json.loads(known) != _about(model, classes):
                what = "has a learner already, which began with another model, other parameters or other classes: "
                raise DataError(str(folder), f"{what}leave these out to go on with it, or choose another folder")
            self.notes = self.store.notes
            self._open()
        except BaseException:
            self.store.close()
            raise
        self.deliver: Callable[[list[tuple[Job, Any]]], None] = _deliver
        self.listeners = 0
        self.started, self.refused, self.groups = time.time(), 0, 0
        self.broken: str | None = None
        self._queue: deque[Job] = deque()
        self._waiting = 0  # examples in the queue
        self._wake = threading.Condition()
        self._learning = threading.Lock()  # held while the weights change
        self._closing = False
        self._kept: deque[tuple[list[tuple[str, Any, Any]], Any]] = deque()
        self._keep_wake = threading.Condition()
        self._labeled: list[str] = []
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._write, self._keep)]
        for thread in self._threads:
            thread.start()

    def _open(self) -> None:
        """Bring the learner to the end of the log: the newest snapshot, and a replay of what came after it."""
        store, start = self.store, _start(self.store.folder, json.loads(self.store.get("learner") or ""))
        snapshots = store.snapshots()
        self.learner, self.errors = start, 0
        if snapshots:
            number, counters = snapshots[0]
            self.learner = Learner.load(store.snapshot_path(number), counters, start.model)
            self.errors = counters["errors"]
        elif store.first > 1:
            raise DataError(store.folder, "the snapshot is missing that the log, which was cut, begins with")
        self.snapshot_number, self.snapshot_time = self.learner.number, time.monotonic()
        self.columns, self.labels = store.columns, store.labels
        self.class_ids = {_key(label): number for number, label in enumerate(self.labels)}
        self.label_texts = [json.dumps(label) for label in self.labels]
        self.recent: deque[dict[str, Any]] = deque(maxlen=_RECENT)
        self._ring = np.zeros(max(WINDOWS), np.uint8)
        self._fresh: list[tuple[int, Array]] = []
        for first, codes in store.answers(max(1, self.learner.number + 1 - max(WINDOWS)), self.learner.number):
            self._remember(first, codes)
        answered = store.answered()
        for first, record in merged(store.records(self.learner.number)):
            try:
                codes = self._learned(first, record)
            except FloatingPointError as error:
                raise DataError(store.folder, f"learning stops at example {first} of the log: {error}") from None
            if first + len(codes) - 1 > answered:
                self._fresh.append((max(first, answered + 1), codes[max(0, answered + 1 - first) :]))
        self.number = self.learner.number
        self.predictor = Predictor(self.learner)
        _warm(start)

    # -----------------------------------------------------------------------------------------------------------
    # Requests, from any thread

    def submit(self, parsed: Parsed, key: str | None = None, body: bytes = b"", future: Any = None) -> Any:
        """Have examples learned; return the future answer, an `Answer` or a `Refused`."""
        digest = hashlib.sha256(body).digest()[:16] if key is not None else b""
        job = Job(parsed, key, digest, Future() if future is None else future)
        with self._wake:
            if self._closing or self.broken:
                raise Refused(self.broken or "the server is shutting down", status=503)
            if self._waiting + len(parsed) > self.most and self._waiting:
                self.refused += 1
                raise Refused("too many examples wait to be learned", status=429)
            self._waiting += len(parsed)
            self._queue.append(job)
            self._wake.notify()
        return job.future

    def keep(self, rows: list[tuple[str, Any, Any]], future: Any = None) -> Any:
        """Keep rows with their ids and predicted labels until these are known; return a future."""
        future = Future() if future is None else future
        with self._keep_wake:
            if self._closing:
                raise Refused("the server is shutting down", status=503)
            if len(self._kept) > 10_000:
                raise Refused("too many rows wait to be kept", status=429)
            self._kept.append((rows, future))
            self._keep_wake.notify()
        return future

    def close(self) -> None:
        """Finish what was accepted, take a snapshot, and close the folder."""
        for wake in (self._wake, self._keep_wake):
            with wake:
                self._closing = True
                wake.notify()
        for thread in self._threads:
            thread.join()
        if self.learner.number > self.snapshot_number or self._fresh:
            try:
                self.snapshot()
            except (sqlite3.Error, OSError) as error:
                self.notes.append(f"no snapshot could be written ({error}); the log has everything")
        self.store.close()

    # -----------------------------------------------------------------------------------------------------------
    # The writing thread

    def _write(self) -> None:
        published, copying = time.monotonic(), 0.0
        with closing(self.store.pending_reader()) as self._pending:
            while True:
                with self._wake:
                    while not self._queue and not self._closing:
                        if not self._wake.wait(_OFTEN) and self._due():
                            break
                    jobs: list[Job] = []
                    taken = 0
                    while self._queue and (not jobs or taken + len(self._queue[0].parsed) <= _GROUP):
                        jobs.append(self._queue.popleft())
                        taken += len(jobs[-1].parsed)
                    self._waiting -= taken
                    if not jobs and self._closing:
                        return
                with self._learning:
                    done = self._group(jobs) if jobs else []
                if self.learner.number > self.predictor.number:
                    began = time.monotonic()
                    if not self._queue or copying <= _COPYING * (began - published):
                        self._publish()
                        published, copying = began, time.monotonic() - began
                if done:
                    self.groups += 1
                    self.deliver(done)
                if self._due():
                    self._try_snapshot()

    def _publish(self) -> None:
        """Give readers the newest model."""
        try:
            self.predictor = Predictor(self.learner)
        except Exception as error:
            self._break(error)

    def _break(self, error: Exception) -> str:
        """Learn no more after an overflow, or a bug; return why."""
        if not isinstance(error, FloatingPointError):
            traceback.print_exception(error)
        self.broken = f"learning has stopped after example {self.learner.number}: {error or type(error).__name__}"
        return self.broken

    def _due(self) -> bool:
        """Say whether it is time for a snapshot."""
        new, passed = self.learner.number - self.snapshot_number, time.monotonic() - self.snapshot_time
        return new > 0 and (passed > _SELDOM or (new >= _MANY and passed > _OFTEN))

    def _try_snapshot(self) -> None:
        self.snapshot_time = time.monotonic()
        try:
            self.snapshot()
        except (sqlite3.Error, OSError) as error:
            self.notes.append(f"no snapshot could be written ({error})")

    def snapshot(self) -> None:
        """Write the model beside the log, so that a restart need not replay it, and drop what is too old."""
        if self.learner.number == self.snapshot_number and not self._fresh:
            return
        if self.learner.classes is not None and self.learner.weights.n_features:
            self.learner.save(self.store.snapshot_path(self.learner.number))
            with self.store.transaction():
                self.store.add_answers(self._fresh)
                self.store.add_snapshot(self.learner.number, self.learner.counters() | {"errors": self.errors})
            self._fresh = []
            self.snapshot_number = self.learner.number
            self.store.drop(self.keep_days)

    def _group(self, jobs: list[Job]) -> list[tuple[Job, Any]]:
        """Write, learn and answer some requests."""
        plan, answers = _Plan(self.number), list[tuple[Job, Any]]()
        columns, dense, classes = len(self.columns.entries), self.columns.dense, len(self.labels)
        try:
            with self.store.transaction():
                self.store.add_answers(self._fresh)
                for job in jobs:
                    before = (len(self.columns.entries), self.columns.dense, len(self.labels), plan.number)
                    try:
                        self._plan(job, plan)
                    except (Refused, DataError) as error:
                        self._cut(*before[:3])
                        plan.number = before[3]
                        answers.append((job, error if isinstance(error, Refused) else Refused.of(error)))
                batch = plan.records(self.columns.width)
                if batch:
                    self.store.add(plan.first + 1, batch, self.labels, columns)
                for key, (digest, numbers) in plan.keys.items():
                    self.store.add_key(key, digest, numbers)
                self.store.add_ids(plan.ids.items())
        except (sqlite3.Error, OSError):
            self._cut(columns, dense, classes)
            refused = {id(job) for job, _ in answers}
            return answers + [(job, Refused(FULL, status=503)) for job in jobs if id(job) not in refused]
        self._fresh = []
        self.number, first = plan.number, plan.first + 1
        fresh: dict[int, int] = {}
        try:
            for record in batch:
                codes = self._learned(first, record)
                self._fresh.append((first, codes))
                fresh.update(zip(range(first, first + len(codes)), codes.tolist(), strict=True))
                first += len(codes)
        except Exception as error:  # the log has the examples, and readers their model
            what = self._break(error)
            return answers + [(job, Refused(what, status=503)) for job, _ in plan.done]
        with self._keep_wake:
            self._labeled += plan.labeled
        for job, numbers in plan.done:
            found = [fresh[n] if n in fresh else self.store.answer(n) or 0 for n in numbers]
            answers.append((job, Answer(numbers, found)))
        return answers

    def _plan(self, job: Job, plan: _Plan) -> None:
        """Give the examples of a request their numbers; those that were learned before keep theirs."""
        parsed, key = job.parsed, job.key
        if key is not None:
            found = plan.keys.get(key) or self.store.find_key(key)
            if found is not None:
                if found[0] != job.digest:
                    raise Refused("this Idempotency-Key was used for another request", "Idempotency-Key", 422)
                plan.done.append((job, found[1]))
                return
        assert parsed.y is not None
        x, y, served, ids = parsed.x, parsed.y, None, {}
        numbers = list(range(plan.number + 1, plan.number + 1 + len(y)))
        labeled: list[str] = []
        if parsed.ids is not None:
            x, y, served, ids, labeled, numbers = self._by_id(parsed, plan)
        if y:
            rows = encode(x, self.columns, (self.limits.features, self.limits.words))
            plan.parts.append((rows, [self._class(label) for label in y], served))
            plan.number += len(y)
        if key is not None:
            plan.keys[key] = (job.digest, numbers)
        plan.ids |= ids
        plan.labeled += labeled
        plan.done.append((job, numbers))

    def _by_id(self, parsed: Parsed, plan: _Plan) -> Any:
        """Return the examples of a request that are new: rows, labels, labels served, ids; and all their numbers."""
        assert parsed.ids is not None
        assert parsed.y is not None
        x = as_lists(parsed)
        rows: list[Any] = []
        y: list[Any] = []
        served: list[int] = []
        ids: dict[str, int] = {}
        labeled: list[str] = []
        numbers: list[int] = []
        for place, (name, row, label) in enumerate(zip(parsed.ids, x, parsed.y, strict=True), 1):
            known = None
            if name is not None:
                if name in ids:
                    raise Refused("an id that occurs twice in this request", f"example {place}, id")
                known = plan.ids.get(name) or self.store.find_id(name)
            if known is not None:
                numbers.append(known)
                continue
            kept = None if name is None else self.store.waiting(self._pending, name)
            if row is None and kept is None:
                what = (
                    f"no row waits under this id: it was never predicted, or more than {self.pending_days:g} days ago"
                )
                raise Refused(what, f"example {place}, id")
            rows.append(kept.x if row is None and kept is not None else row)
            y.append(label)
            before = None if kept is None or kept.label is None else self.class_ids.get(_key(kept.label))
            served.append(-1 if before is None else before)
            numbers.append(plan.number + len(y))
            if name is not None:
                ids[name] = numbers[-1]
            if kept is not None and name is not None:
                labeled.append(name)
        return rows, y, served if max(served, default=-1) >= 0 else None, ids, labeled, numbers

    def _class(self, label: Any) -> int:
        """Return the class number of a label, a new one if there is none."""
        key = _key(label)
        found = self.class_ids.get(key)
        if found is None:
            if len(self.labels) >= self.limits.classes:
                raise Refused(f"more than {self.limits.classes} classes: the server allows no more")
            other = (not key[0], key[1])
            if other in self.class_ids:
                raise Refused(f"the label {json.dumps(label)} beside {json.dumps(self.labels[self.class_ids[other]])}")
            found = self.class_ids[key] = len(self.labels)
            self.labels.append(label)
            self.label_texts.append(json.dumps(label))
        return found

    def _cut(self, columns: int, dense: bool, classes: int) -> None:
        """Forget columns and labels that were not committed."""
        if len(self.columns.entries) > columns or self.columns.dense != dense:
            self.columns.cut(columns, dense)
        for label in self.labels[classes:]:
            del self.class_ids[_key(label)]
        del self.labels[classes:], self.label_texts[classes:]

    def _learned(self, first: int, record: Record) -> Array:
        """Learn from a record; return the codes of its answer."""
        predicted, mistake = self.learner.learn(record, self.labels)
        codes: Array = 4 * (predicted + 1) + 2 * (predicted != record.y) + mistake
        self.errors += int(np.count_nonzero(codes & 2))
        self._remember(first, codes, record.y)
        return codes

    def _remember(self, first: int, codes: Array, y: Array | None = None) -> None:
        """Keep the errors for the windows, and the last mistakes."""
        last = codes[-len(self._ring) :]
        start = first + len(codes) - len(last)
        self._ring[np.arange(start, start + len(last)) % len(self._ring)] = (last & 2) > 0
        if y is not None:
            wrong = np.flatnonzero(codes & 1)[-_RECENT:]
            labels = [None, *self.labels]
            self.recent.extend(
                {"number": first + i, "predicted": labels[codes[i] >> 2], "y": self.labels[y[i]]}
                for i in wrong.tolist()
            )

    # -----------------------------------------------------------------------------------------------------------
    # The thread that keeps rows

    def _keep(self) -> None:
        swept = 0.0
        while True:
            with self._keep_wake:
                while not self._kept and not self._closing:
                    self._keep_wake.wait(1.0)
                    if self._labeled or time.time() - swept > 600:
                        break
                some, labeled = list(self._kept), self._labeled
                self._kept.clear()
                self._labeled = []
                if not some and not labeled and self._closing:
                    return
            now, result = time.time(), None
            try:
                if some:
                    self.store.keep([row for rows, _ in some for row in rows], now)
                if labeled or now - swept > 600:
                    self.store.forget(labeled, now - 86400 * self.pending_days)
                    swept = now
            except (sqlite3.Error, OSError):
                result = Refused("the server cannot write to its disk (perhaps it is full)", status=503)
            self.deliver([(Job(None, None, b"", future), result) for _, future in some])  # type: ignore[arg-type]

    # -----------------------------------------------------------------------------------------------------------
    # What there is to say

    def stats(self) -> dict[str, Any]:
        """Return where the learner stands."""
        learner, predictor = self.learner, self.predictor
        number, errors = learner.number, self.errors
        windows = []
        for size in WINDOWS:
            if number >= size:
                wrong = int(self._ring[np.arange(number - size + 1, number + 1) % len(self._ring)].sum())
                windows.append({"last": size} | _share(wrong, size))
        textbook = learner.parameters.textbook and learner.first is None and learner.model.class_weight is None
        textbook = textbook and learner.parameters.multi_class == "argmax"
        k = predictor.mistakes + sum(part.run.mistakes for part in learner.base)
        bound = predictor.norm / (k * learner.parameters.eta0) if textbook and k else None
        found = _share(errors, number) if number else {"error": None, "errors": 0, "interval": None}
        return {
            "examples": number, "mistakes": learner.mistakes, **found, "windows": windows,
            "classes": list(self.labels) or [], "features": self.columns.width, "radius": float(predictor.radius),
            "norm": predictor.norm, "margin_at_most": bound, "snapshot": self.snapshot_number,
            "predicting_with": predictor.number, "waiting": self._waiting,
        }  # fmt: skip

    @property
    def waiting(self) -> int:
        """How many examples wait to be learned."""
        return self._waiting

    def export(self, path: str) -> int:
        """Write the model as `linsep predict` reads it; return its number in the log."""
        with self._learning:
            self.learner.save(path, self.columns)
            return self.learner.number

    def mistakes(self, after: int, most: int) -> list[dict[str, Any]]:
        """Return the examples after a number that were mistakes, from the log."""
        found: list[dict[str, Any]] = []
        with closing(connect(self.store.path(LOG))) as log:
            labels = load_classes(log)
            shown = [None, *labels]
            fresh = dict(self._fresh)
            for first, record in records(log, after):
                row = log.execute(
                    "SELECT first, body FROM answers WHERE first <= ? ORDER BY first DESC LIMIT 1", (first,)
                )
                start, body = row.fetchone() or (first, b"")
                codes = np.frombuffer(body, np.int32)[first - start :][: len(record.y)]
                if len(codes) < len(record.y):
                    codes = next((c[first - n :] for n, c in fresh.items() if n <= first < n + len(c)), codes)
                for i in np.flatnonzero(codes[: len(record.y)] & 1).tolist():
                    y = labels[record.y[i]]
                    found.append({"number": first + i, "predicted": shown[codes[i] >> 2], "y": y})
                    if len(found) == most:
                        return found
        return found


@lru_cache(64)
def _share(wrong: int, rows: int) -> dict[str, Any]:
    """Return a share of examples that were predicted wrong, with its exact interval at 95%."""
    return {"error": wrong / rows, "errors": wrong, "interval": list(clopper_pearson(wrong, rows))}


def _key(label: Any) -> tuple[bool, Any]:
    """Return what tells labels apart: true is not 1."""
    return (type(label) is bool, label)


def _deliver(done: list[tuple[Job, Any]]) -> None:
    """Give answers to those who wait in a thread."""
    for job, result in done:
        if isinstance(result, Exception):
            job.future.set_exception(result)
        else:
            job.future.set_result(result)


def as_lists(parsed: Parsed) -> list[Any]:
    """Return the rows of a table as lists, or as dicts where they have names."""
    x: Any = parsed.x
    if isinstance(x, list):
        return x
    if isinstance(x, Rows):
        width = int(x.indices.max(initial=0)) + 1 if x.indices is not None else 0
        return [row.tolist() for row in x.matrix(width).toarray()]
    rows = x.X.tolist()
    return rows if x.names is None else [dict(zip(x.names, row, strict=True)) for row in rows]


# ---------------------------------------------------------------------------------------------------------------
# Beginnings, and the log alone


def _plain() -> Online:
    """Return the learner that is used unless another one is asked for."""
    found: Online = import_module(LEARNERS["Perceptron"].module).Perceptron(shuffle=False)
    return found


def _about(model: Online | None, classes: list[Any] | None) -> dict[str, Any]:
    """Return what a learner begins with, as it is written down."""
    model = _plain() if model is None else model
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


def _begin(store: Store, model: Online | None, classes: list[Any] | None) -> None:
    """Write down what a new learner begins with."""
    model = _plain() if model is None else model
    if type(model).__name__ not in LEARNERS or not LEARNERS[type(model).__name__].online:
        raise DataError("", f"{type(model).__name__} does not learn online: Perceptron and PassiveAggressive do")
    if model.class_weight == "balanced":
        raise DataError("", "{0} needs all labels at once: give a weight for each class", ("class_weight", "balanced"))
    columns, labels = Columns(), list(classes or ())
    if hasattr(model, "record_"):
        columns, known = _columns_of(model), model.classes_.tolist()
        labels = [*known, *(label for label in labels if label not in known)]
        save(model, store.path(START))
    with store.transaction():
        store.set("learner", json.dumps(_about(model, classes)))
        store.columns, store.labels = columns, labels
        store.add(1, [], labels, 0)


def _columns_of(model: Online) -> Columns:
    """Return the columns that a model has learned from."""
    columns, memory = Columns(), getattr(model, "reading_", {})
    names = getattr(model, "feature_names_in_", None)
    if "names" in memory:
        layout = Layout.from_state(memory)
        if any(kind in (CATEGORY, TEXT) for _, kind in layout.columns):
            raise DataError("", "the model hashes words, and a served learner has one feature per word: fit it again")
        for name, kind in layout.columns:
            if kind != WORD:
                columns.add_number(name)
        for place, word in layout.levels:
            columns.add_word(layout.columns[place][0], word or "missing")
        columns.dense = not layout.words and not layout.levels
    elif names is not None:
        for name in names.tolist():
            columns.add_number(name)
    else:
        columns.add_positions(model.n_features_in_)
        columns.dense = memory.get("format") != "libsvm"
    return columns


def _start(folder: str, about: dict[str, Any]) -> Learner:
    """Return the learner that a log began with."""
    if about["start"]:
        return Learner(load_plain(os.path.join(folder, START)), about["classes"])
    kind = getattr(import_module(LEARNERS[about["kind"]].module), about["kind"])
    weights = None if about["class_weight"] is None else dict(about["class_weight"])
    return Learner(kind(**about["parameters"], class_weight=weights), about["classes"])


def _warm(learner: Learner) -> None:
    """Load, or compile, what learning and predicting take, so that no request waits for it."""
    rows = Rows(np.eye(2))
    for form in (rows, rows.sparse()):
        twin = Learner(type(learner.model)(**learner.model.get_params()))
        twin.learn(Record(form, 2, np.array([0, 1], np.int32)), ["a", "b"])
        Predictor(twin).scores(form)


def merged(found: Iterable[tuple[int, Record]]) -> Iterator[tuple[int, Record]]:
    """Yield consecutive records of one form as one: how examples come together does not matter."""
    waiting: list[Record] = []
    start = rows = 0

    def joined() -> tuple[int, Record]:
        if len(waiting) == 1:
            return start, waiting[0]
        served = None
        if any(each.served is not None for each in waiting):
            none = [np.full(len(each.y), -1, np.int32) if each.served is None else each.served for each in waiting]
            served = np.concatenate(none)
        y = np.concatenate([each.y for each in waiting])
        return start, Record(Rows.joined([each.rows for each in waiting]), waiting[-1].width, y, served)

    for first, record in found:
        other = waiting and (waiting[0].rows.indptr is None) != (record.rows.indptr is None)
        if waiting and (other or rows + len(record.y) > _AT_A_TIME):
            yield joined()
            waiting, rows = [], 0
        start = start if waiting else first
        waiting.append(record)
        rows += len(record.y)
    if waiting:
        yield joined()


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
        learner = _start(os.fspath(folder), json.loads(about[0]))
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
                predicted, mistake = learner.learn(record, labels)
                if check:
                    codes = 4 * (predicted + 1) + 2 * (predicted != record.y) + mistake
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
