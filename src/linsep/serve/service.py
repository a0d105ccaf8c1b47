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
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import closing
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from linsep.data.bodies import Limits, Parsed
from linsep.data.example_log import Columns, Record, connect, encode, load_classes, merged, records
from linsep.data.read import LOG
from linsep.errors import DataError
from linsep.models.constructors import LEARNERS
from linsep.models.files import save
from linsep.models.online import Online
from linsep.models.progressive import START, Learner, Predictor, about_start, first_learner, plain, warm_up
from linsep.problem import Array
from linsep.prove.bounds.intervals import clopper_pearson
from linsep.serve.store import Store

WINDOWS = (100, 1000, 10_000)  # last examples over which the running error is told
_GROUP = 50_000  # examples that are written in one transaction
_MANY, _OFTEN, _SELDOM = 200_000, 10.0, 300.0  # examples, and seconds, between two snapshots
_LINGER = 0.002  # seconds to wait for more requests, where several come at a time
_COPYING = 0.05  # share of the time that may go into copies for readers while requests wait
_RECENT = 200  # mistakes that are listed
FULL = "the server cannot write to its disk (perhaps it is full): nothing of this request was learned; try again later"


class Refused(ValueError):  # noqa: N818 - what the client reads
    """A request that is not done: why, where in it, and with which HTTP status."""

    def __init__(self, what: str, at: str | None = None, status: int = 400) -> None:
        super().__init__(what)
        self.at, self.status = at, status


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
        self.parts: list[Record] = []
        self.keys: dict[str, tuple[bytes, list[int]]] = {}
        self.ids: dict[str, int] = {}
        self.labeled: list[str] = []  # ids of rows that waited
        self.done: list[tuple[Job, list[int]]] = []


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
            elif (model is not None or classes) and json.loads(known) != about_start(model, classes):
                what = "has a learner already, which began with another model, other parameters or other classes: "
                raise DataError(str(folder), f"{what}leave these out to go on with it, or choose another folder")
            self.notes = self.store.notes
            self._open()
        except BaseException:
            self.store.close()
            raise
        self.deliver: Callable[[list[tuple[Job, Any]]], None] = _deliver
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
        store, start = self.store, first_learner(self.store.folder, json.loads(self.store.get("learner") or ""))
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
        for first, record in merged(records(store.log, self.learner.number)):
            try:
                codes = self._learned(first, record)
            except FloatingPointError as error:
                raise DataError(store.folder, f"learning stops at example {first} of the log: {error}") from None
            if first + len(codes) - 1 > answered:
                self._fresh.append((max(first, answered + 1), codes[max(0, answered + 1 - first) :]))
        self.number = self.learner.number
        self.predictor = Predictor(self.learner)
        warm_up(start)

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
        self._try_snapshot()
        self.store.close()

    # -----------------------------------------------------------------------------------------------------------
    # The writing thread

    def _write(self) -> None:
        published, copying, linger = time.monotonic(), 0.0, 0.0
        with closing(self.store.pending_reader()) as self._pending:
            while True:
                with self._wake:
                    while not self._queue and not self._closing:
                        if not self._wake.wait(_OFTEN) and self._due():
                            break
                if linger:  # others are about to come: one commit for all of them
                    time.sleep(linger)
                with self._wake:
                    jobs: list[Job] = []
                    taken = 0
                    while self._queue and (not jobs or taken + len(self._queue[0].parsed) <= _GROUP):
                        jobs.append(self._queue.popleft())
                        taken += len(jobs[-1].parsed)
                    self._waiting -= taken
                    if not jobs and self._closing:
                        return
                began = time.monotonic()
                with self._learning:
                    done = self._group(jobs) if jobs else []
                linger = min(_LINGER, (time.monotonic() - began) / 4) if len(jobs) > 1 else 0.0
                if self.learner.number > self.predictor.number:
                    began = time.monotonic()
                    if not self._queue or copying <= _COPYING * (began - published):
                        try:
                            self.predictor = Predictor(self.learner)
                        except Exception as error:
                            self._break(error)
                        published, copying = began, time.monotonic() - began
                if done:
                    self.groups += 1
                    self.deliver(done)
                if self._due():
                    self._try_snapshot()

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
            self.notes.append(f"no snapshot could be written ({error}); the log has everything")

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
        known = len(self.columns.entries), self.columns.dense, len(self.labels)
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
                        answers.append((job, error))
                batch = [record for _, record in merged((0, part) for part in plan.parts)]
                if batch:
                    self.store.add(plan.first + 1, batch, self.labels, known)
                for key, (digest, numbers) in plan.keys.items():
                    self.store.add_key(key, digest, numbers)
                self.store.add_ids(plan.ids.items())
        except (sqlite3.Error, OSError):
            self._cut(*known)
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
            found = [fresh[n] if n in fresh else self.store.answer(n) for n in numbers]
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
            codes = np.array([self._class(label) for label in y], np.int32)
            plan.parts.append(Record(rows, self.columns.width, codes, served))
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
        rows, y, served, labeled, numbers, ids = (
            list[Any](),
            list[Any](),
            list[int](),
            list[str](),
            list[int](),
            dict[str, int](),
        )
        for place, (name, row, label) in enumerate(zip(parsed.ids, parsed.listed(), parsed.y, strict=True), 1):
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
                what = f"no row waits under this id: it was not predicted in the last {self.pending_days:g} days"
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
        return rows, y, np.array(served, np.int32) if max(served, default=-1) >= 0 else None, ids, labeled, numbers

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
        codes = self.learner.learn(record, self.labels).codes(record.y)
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
                query = "SELECT first, body FROM answers WHERE first <= ? ORDER BY first DESC LIMIT 1"
                start, body = log.execute(query, (first,)).fetchone() or (first, b"")
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
        (job.future.set_exception if isinstance(result, Exception) else job.future.set_result)(result)


def _begin(store: Store, model: Online | None, classes: list[Any] | None) -> None:
    """Write down what a new learner begins with."""
    model = plain() if model is None else model
    if type(model).__name__ not in LEARNERS or not LEARNERS[type(model).__name__].online:
        raise DataError("", f"{type(model).__name__} does not learn online: Perceptron and PassiveAggressive do")
    if model.class_weight == "balanced":
        raise DataError("", "{0} needs all labels at once: give a weight for each class", ("class_weight", "balanced"))
    columns, labels = Columns(), list(classes or ())
    if hasattr(model, "record_"):
        names, known = getattr(model, "feature_names_in_", None), model.classes_.tolist()
        columns = Columns.of_model(getattr(model, "reading_", {}), names, model.n_features_in_)
        labels = [*known, *(label for label in labels if label not in known)]
        save(model, store.path(START))
    with store.transaction():
        store.set("learner", json.dumps(about_start(model, classes)))
        store.columns, store.labels = columns, labels
        store.add(1, [], labels, (0, True, 0))
