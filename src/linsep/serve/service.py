"""The served learner without a network: one caller at a time has it learn, any number predict.

The requests that wait are learned as one group: their examples get the next numbers of the log, are learned in order,
and are committed with their answers in one transaction; only then does anybody hear of them. A request that is refused
leaves no trace. If the group cannot be committed, what is in memory is made anew from the log.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections import deque
from contextlib import closing
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from linsep.data.bodies import Limits, ParsedBody, Refused
from linsep.data.example_log import Columns, LogRows, Record, encode, load_classes, open_log, read_records
from linsep.data.options import LOG
from linsep.errors import DataError
from linsep.models.constructors import LEARNERS
from linsep.models.files import save
from linsep.models.online import Online
from linsep.models.progressive import (
    START,
    Predictor,
    about_start,
    first_learner,
    load_snapshot,
    plain,
    snapshot_path,
    warm_up,
)
from linsep.problem import Array
from linsep.prove.bounds.intervals import clopper_pearson
from linsep.serve.store import Key, Store

WINDOWS = (100, 1000, 10_000)  # last examples over which the running error is told
_MANY, _OFTEN, _SELDOM = 200_000, 10.0, 300.0  # examples, and seconds, between two snapshots
_COPYING = 0.05  # share of the time that may go into copies for readers while requests wait
_RECENT = 200  # mistakes that are listed
FULL = "the server cannot write to its disk (perhaps it is full): try again later"


class Request(NamedTuple):
    """A request to learn."""

    parsed: ParsedBody
    key: str | None = None  # of a request that may come again
    digest: bytes = b""  # of its body


class _Group:
    """What some requests add to the log."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.rows: list[LogRows] = []
        self.y: list[int] = []
        self.served: list[int] = []
        self.keys: dict[str, Key] = {}
        self.ids: dict[str, int] = {}

    def record(self, width: int) -> Record:
        """Return the new examples as one record."""
        served, y = np.array(self.served, np.int32), np.array(self.y, np.int32)
        return Record(LogRows.joined(self.rows), width, y, served if (served >= 0).any() else None)


class Service:
    """A learner with its folder, which a fitted model or the parameters of one begin.

    ``classes`` are labels known from the start; rows that were predicted wait ``pending_days`` for their labels, and
    examples stay in the log for ``keep_days``, all of them unless it is given.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        model: Online | None = None,
        classes: list[Any] | None = None,
        *,
        limits: Limits | None = None,
        pending_days: float = 7.0,
        keep_days: float | None = None,
    ) -> None:
        self.limits, self.pending_days, self.keep_days = limits or Limits(), pending_days, keep_days
        self.store = Store(folder)
        try:
            known = self.store.get("learner")
            if known is None:
                _begin(self.store, model, classes)
            elif (model is not None or classes) and json.loads(known) != about_start(model, classes):
                message = "has a learner already, which began with another model, other parameters or other classes: "
                raise DataError(str(folder), f"{message}leave these out to go on with it, or choose another folder")
            self.notes = self.store.notes
            self._open()
            warm_up(self.learner)
        except BaseException as error:
            self.store.close()
            if isinstance(error, sqlite3.Error):
                raise DataError(str(folder), f"cannot be read or written: {error}") from None
            raise
        self.snapshot_time, self._published, self._copying = time.monotonic(), 0.0, 0.0

    def _open(self) -> None:
        """Bring the learner to the end of the log: the newest snapshot, and a replay of what came after it."""
        store = self.store
        self.columns, self.labels = store.load()
        self.class_ids = {(type(label), label): number for number, label in enumerate(self.labels)}
        self.label_texts = [json.dumps(label) for label in self.labels]
        self.errors = self.snapshot_number = 0
        for number, errors in store.snapshots():
            try:
                self.learner = load_snapshot(store.folder, number, self.labels)
            except ValueError as error:
                self.notes.append(f"{error}; it goes on from what was before, and the log")
                continue
            self.snapshot_number, self.errors = number, errors
            break
        else:
            if store.first > 1:
                raise DataError(store.folder, "the snapshot is missing that the log, which was cut, begins with")
            self.learner = first_learner(store.folder, json.loads(store.get("learner") or ""))
        self._ring = np.zeros(max(WINDOWS), np.uint8)  # whether each of the last examples was predicted wrong
        self.recent: deque[dict[str, Any]] = deque(maxlen=_RECENT)
        for first, answers in store.answers(self.snapshot_number + 1 - len(self._ring), self.snapshot_number):
            self._remember(first, answers)
        for first, record in read_records(store.log, self.snapshot_number):
            self._remember(first, answers := self.learner.learn(record, self.labels), record.y)
            self.errors += int(np.count_nonzero(answers & 2))
        self.number, self.mistakes = self.learner.number, self.learner.mistakes
        self.predictor, self.stale = Predictor(self.learner), False

    def close(self) -> None:
        """Take a snapshot, and close the folder."""
        self.snapshot()
        self.store.close()

    def learn(self, requests: list[Request], more: bool = False) -> list[Any]:
        """Learn from requests in order; return of each its answer in JSON, or why it is refused.

        ``more`` says that others wait: then readers may get the new weights a little later.
        """
        if self.stale and not self._recovered():
            return [Refused(f"{FULL}: nothing of this request was learned", status=503)] * len(requests)
        group, results = _Group(self.number), list[Any]()
        before = len(self.columns.entries), self.columns.dense, len(self.labels)
        for request in requests:
            known = len(self.columns.entries), self.columns.dense, len(self.labels)
            try:
                results.append(self._add(request, group))
            except DataError as error:
                self._cut(*known)
                results.append(error)
        record = None
        try:
            self.stale = True
            if group.y:
                record = group.record(self.columns.width)
                record = record._replace(answers=self.learner.learn(record, self.labels).astype(np.int32))
            with self.store.transaction():
                if record is not None:
                    self.store.add(self.number + 1, record, group.keys, group.ids)
                else:
                    self.store.add_keys(group.keys)
            self.stale = False
        except FloatingPointError:
            self._recovered()
            if len(requests) > 1:
                return [self.learn([request])[0] for request in requests]
            return [Refused("the weights would overflow: none of these examples is learned; scale the numbers")]
        except (sqlite3.Error, OSError):
            self._cut(*before)
            return [r if isinstance(r, Exception) else Refused(FULL, status=503) for r in results]
        if record is not None:
            self._publish(record, more)
        return [r if isinstance(r, Exception) else self._answer(r, record) for r in results]

    def _recovered(self) -> bool:
        """Make what is in memory anew from the log, as soon as that can be written again; say whether it can."""
        try:
            with self.store.transaction():
                self.store.set("recovered", str(time.time()))
            self._open()
        except (sqlite3.Error, OSError):
            return False
        return True

    def _add(self, request: Request, group: _Group) -> list[int]:
        """Add what is new in a request to the group; return the numbers of all its examples."""
        parsed, key = request.parsed, request.key
        if key is not None and (found := group.keys.get(key) or self.store.find_key(key)) is not None:
            if found[0] != request.digest:
                raise Refused("this Idempotency-Key was used for another request", "Idempotency-Key", 422)
            return found[1]
        x, y, served, ids = parsed.x, parsed.y, [-1] * len(parsed), dict[str, int]()
        assert y is not None
        next_number = group.number + 1
        numbers = list(range(next_number, next_number + len(y)))
        if parsed.ids is not None:
            x, y, served, ids, numbers = self._by_id(parsed, group)
        if y:
            rows = encode(x, self.columns, grow=True)
            if self.columns.width > self.limits.features or self.columns.named > self.limits.words:
                most = f"{self.limits.features} columns, or {self.limits.words} with names"
                raise Refused(f"more than {most}: the server allows no more")
            codes = self._classes(y)
            group.rows.append(rows)
            group.y += codes
            group.served += served
            group.number += len(y)
        if key is not None:
            group.keys[key] = (request.digest, numbers)
        group.ids |= ids
        return numbers

    def _by_id(
        self, parsed: ParsedBody, group: _Group
    ) -> tuple[list[Any], list[Any], list[int], dict[str, int], list[int]]:
        """Return the examples of a request that are new: rows, labels, labels served, ids; and the numbers of all."""
        assert parsed.ids is not None
        assert parsed.y is not None
        rows, y, served, numbers = list[Any](), list[Any](), list[int](), list[int]()
        ids: dict[str, int] = {}
        for place, (name, row, label) in enumerate(zip(parsed.ids, parsed.listed(), parsed.y, strict=True), 1):
            kept = known = None
            if name is not None:
                if name in ids:
                    raise Refused("an id that occurs twice in this request", f"example {place}, id")
                known = group.ids.get(name) or self.store.find_id(name)
                kept = None if known else self.store.waiting(name, self.pending_days)
            if known is not None:
                numbers.append(known)
                continue
            if row is None and kept is None:
                message = f"no row waits under this id: it was not predicted in the last {self.pending_days:g} days"
                raise Refused(message, f"example {place}, id")
            waited, label_served = kept or (None, None)
            rows.append(waited if row is None else row)
            y.append(label)
            served.append(self.class_ids.get((type(label_served), label_served), -1))
            numbers.append(group.number + len(y))
            if name is not None:
                ids[name] = numbers[-1]
        return rows, y, served, ids, numbers

    def _classes(self, y: list[Any]) -> list[int]:
        """Return the class numbers of labels, new ones where there are none."""
        pairs = list(zip(map(type, y), y, strict=True))  # true is not 1
        for kind, label in dict.fromkeys(pairs):
            if (kind, label) not in self.class_ids:
                if len(self.labels) >= self.limits.classes:
                    raise Refused(f"more than {self.limits.classes} classes: the server allows no more")
                other = self.class_ids.get((int if kind is bool else bool, label))
                if other is not None:
                    raise Refused(f"the label {json.dumps(label)} beside {self.label_texts[other]}")
                self.class_ids[kind, label] = len(self.labels)
                self.labels.append(label)
                self.label_texts.append(json.dumps(label))
        return [self.class_ids[pair] for pair in pairs]

    def _cut(self, columns: int, dense: bool, classes: int) -> None:
        """Forget columns and labels of a request that is refused."""
        self.columns.cut(columns, dense)
        for label in self.labels[classes:]:
            del self.class_ids[type(label), label]
        del self.labels[classes:], self.label_texts[classes:]

    def _publish(self, record: Record, more: bool) -> None:
        """Let readers know of examples that are on disk."""
        assert record.answers is not None
        self._remember(self.number + 1, record.answers, record.y)
        self.errors += int(np.count_nonzero(record.answers & 2))
        self.number, self.mistakes = self.learner.number, self.learner.mistakes
        now = time.monotonic()
        if not more or self._copying <= _COPYING * (now - self._published):
            self.predictor = Predictor(self.learner)
            self._published, self._copying = now, time.monotonic() - now

    def _remember(self, first: int, answers: Array, y: Array | None = None) -> None:
        """Keep the errors for the windows, and the last mistakes."""
        last = answers[-len(self._ring) :]
        start = first + len(answers) - len(last)
        self._ring[np.arange(start, start + len(last)) % len(self._ring)] = (last & 2) > 0
        if y is not None:
            self.recent.extend(_mistakes(first, answers, y, self.labels, _RECENT))

    def _answer(self, numbers: list[int], record: Record | None) -> str:
        """Return the answer to a request in JSON."""
        first = self.number + 1 - (0 if record is None else len(record.y))
        if record is not None and record.answers is not None and min(numbers) >= first:
            codes = record.answers[np.array(numbers) - first].tolist()
        else:
            codes = [next(self.store.answers(n, n), (n, [0]))[1][0] for n in numbers]
        known = ["null", *self.label_texts]
        parts = [
            f'{{"number":{number},"predicted":{known[code >> 2]},"mistake":{"true" if code & 1 else "false"}}}'
            for number, code in zip(numbers, codes, strict=True)
        ]
        return f'{{"examples":[{",".join(parts)}]}}'

    def keep(self, rows: list[list[tuple[str, Any, Any]]], _more: bool = False) -> list[Any]:
        """Keep rows with their ids and predicted labels until these are known."""
        try:
            self.store.keep([row for some in rows for row in some], self.pending_days)
        except (sqlite3.Error, OSError):
            return [Refused(FULL, status=503)] * len(rows)
        return [None] * len(rows)

    @property
    def due(self) -> bool:
        """Whether it is time for a snapshot."""
        new, passed = self.number - self.snapshot_number, time.monotonic() - self.snapshot_time
        return new > 0 and (passed > _SELDOM or (new >= _MANY and passed > _OFTEN))

    def snapshot(self) -> None:
        """Write the model beside the log, so that a restart need not replay it, and drop what is too old."""
        self.snapshot_time = time.monotonic()
        if self.stale or self.number == self.snapshot_number or self.learner.model.n_features_in_ == 0:
            return
        try:
            save(self.learner.saved(), snapshot_path(self.store.folder, self.number))
            self.store.add_snapshot(self.number, self.errors)
            self.snapshot_number = self.number
            self.store.drop(self.keep_days)
        except (sqlite3.Error, OSError) as error:
            log("no snapshot", error=str(error))  # the log has everything

    def export(self, path: str) -> int:
        """Write the model as `linsep predict` reads it; return its number in the log."""
        if self.stale and not self._recovered():
            raise Refused(FULL, status=503)
        if self.number == 0 or self.columns.width == 0:
            raise Refused("nothing has been learned yet", status=404)
        save(self.learner.saved(self.columns), path)
        return self.number

    def stats(self) -> dict[str, Any]:
        """Return where the learner stands."""
        learner, number = self.learner, self.number
        windows = []
        for size in WINDOWS:
            if number >= size:
                wrong = int(self._ring[np.arange(number - size + 1, number + 1) % len(self._ring)].sum())
                windows.append({"last": size} | _share(wrong, size))
        textbook = learner.parameters.textbook and learner.parameters.multi_class == "argmax"
        textbook = textbook and learner.model.class_weight is None and learner.from_zero
        k = learner.mistakes + sum(part.run.mistakes for part in learner.base)
        norm = 0.0 if learner.classes is None else learner.model.record_.weights.norm
        bound = norm / (k * learner.parameters.eta0) if textbook and k and not self.stale else None
        error = _share(self.errors, number) if number else {"error": None, "errors": 0, "interval": None}
        radius = getattr(learner.model, "radius_", 0.0)
        return {
            "examples": number, "mistakes": self.mistakes, **error, "windows": windows, "classes": list(self.labels),
            "features": self.columns.width, "radius": radius, "norm": norm, "margin_at_most": bound,
            "snapshot": self.snapshot_number, "predicting_with": self.predictor.number,
        }  # fmt: skip

    def mistakes_after(self, number: int, most: int) -> list[dict[str, Any]]:
        """Return the mistakes after an example, from the log."""
        mistakes: list[dict[str, Any]] = []
        with closing(open_log(self.store.path(LOG))) as log:
            labels, first = load_classes(log), log.execute("SELECT min(first) FROM batches").fetchone()[0] or 1
            for start, record in read_records(log, max(number, first - 1)):
                assert record.answers is not None
                mistakes += _mistakes(start, record.answers, record.y, labels)
                if len(mistakes) >= most:
                    break
        return mistakes[:most]


def log(event: str, **facts: Any) -> None:
    """Write one line about the server itself, never about what is in requests."""
    print(json.dumps({"event": event, **facts}), file=sys.stderr, flush=True)


def _mistakes(first: int, answers: Array, y: Array, labels: list[Any], last: int = 0) -> list[dict[str, Any]]:
    """Return the examples that changed the weights, or the last ones of them."""
    shown = [None, *labels]
    return [
        {"number": first + i, "predicted": shown[answers[i] >> 2], "y": labels[y[i]]}
        for i in np.flatnonzero(answers & 1)[-last:].tolist()
    ]


@lru_cache(64)
def _share(wrong: int, rows: int) -> dict[str, Any]:
    """Return a share of examples that were predicted wrong, with its exact interval at 95%."""
    return {"error": wrong / rows, "errors": wrong, "interval": list(clopper_pearson(wrong, rows))}


def _begin(store: Store, model: Online | None, classes: list[Any] | None) -> None:
    """Write down what a new learner begins with."""
    model = plain() if model is None else model
    if type(model).__name__ not in LEARNERS or not LEARNERS[type(model).__name__].online:
        online = ", ".join(name for name, kind in LEARNERS.items() if kind.online)
        raise DataError("", f"{type(model).__name__} does not learn online; these do: {online}")
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
        store.set("listed", str(columns.listed))
        store.columns, store.labels = columns, labels
        store.add_known()
