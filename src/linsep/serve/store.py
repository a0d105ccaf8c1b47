"""The folder of a served learner on disk: the log, the answers, the rows that wait for a label, the snapshots.

One SQLite file in WAL mode with ``synchronous=FULL`` is the log: what is committed survives a crash of the process and
of the machine, and what is not leaves no trace. Rows that wait for a label are in a file of their own, so that keeping
one never waits for learning. A snapshot is a model file and a line in the log; it saves a replay and nothing depends
on it.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import numpy as np

from linsep.data.example_log import COVERING, Columns, Record, load_classes, load_columns
from linsep.data.options import LOG
from linsep.errors import DataError
from linsep.models.progressive import snapshot_path
from linsep.problem import Array

PENDING, LOCK = "pending.db", "lock"
_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=4000", "journal_size_limit=0")
_LOG_TABLES = """
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE batches (first INTEGER PRIMARY KEY, "count" INTEGER NOT NULL, time REAL NOT NULL, answers BLOB NOT NULL,
                      body BLOB NOT NULL);
CREATE TABLE keys (key TEXT PRIMARY KEY, digest BLOB NOT NULL, last INTEGER NOT NULL, numbers TEXT NOT NULL)
WITHOUT ROWID;
CREATE TABLE ids (id TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE classes (id INTEGER PRIMARY KEY, label TEXT NOT NULL);
CREATE TABLE columns (first INTEGER PRIMARY KEY, "count" INTEGER NOT NULL, position INTEGER, name TEXT, word TEXT);
CREATE TABLE snapshots (number INTEGER PRIMARY KEY, time REAL NOT NULL, errors INTEGER NOT NULL);
"""
_PENDING_TABLES = """
CREATE TABLE IF NOT EXISTS pending (id TEXT PRIMARY KEY, time REAL NOT NULL, x TEXT NOT NULL, label TEXT NOT NULL)
WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS pending_time ON pending (time);
"""
_SWEEP = 600.0  # seconds between two looks for rows that have waited for too long


Key = tuple[bytes, list[int]]  # the digest of a request, and the numbers of its examples


class Store:
    """The files of one learner, held by one process at a time."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.path.abspath(folder)
        os.makedirs(self.folder, exist_ok=True)
        self.notes: list[str] = []
        self._lock = open(self.path(LOCK), "a")  # noqa: SIM115 - held until the process ends
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise DataError(str(folder), "another linsep serve uses this folder: stop it, or choose another") from None
        try:
            self.log = _connect(self.path(LOG))
            unfinished = torn_tail(self.log, self.path(LOG))
            if self.log.execute("SELECT 1 FROM sqlite_master WHERE name = 'settings'").fetchone() is None:
                with self.transaction():
                    for statement in _LOG_TABLES.split(";"):
                        self.log.execute(statement)
                    self.set("format", "1")
            elif self.get("format") != "1":
                raise DataError(self.path(LOG), "the log of another version of linsep")
            self.load()
            self._swept = 0.0
            self._pending, self._pending_reader = (_connect(self.path(PENDING)) for _ in range(2))
            self._pending.executescript(_PENDING_TABLES)
        except sqlite3.DatabaseError as error:
            self._lock.close()
            raise DataError(self.path(LOG), f"not the log of a served learner, or a damaged one: {error}") from None
        except BaseException:
            self._lock.close()
            raise
        if unfinished:
            self.notes.append(
                f"{unfinished} bytes at the end of the log were not committed when the machine or the process went "
                f"down: the log is cut back to example {self.count}, the last one that was"
            )

    def path(self, name: str) -> str:
        """Return the path of a file in the folder."""
        return os.path.join(self.folder, name)

    def close(self) -> None:
        """Close all files; the folder is free for another process."""
        for file in (self.log, self._pending, self._pending_reader, self._lock):
            file.close()

    def transaction(self) -> AbstractContextManager[None]:
        """Write all of what the block writes to the log, or nothing."""
        return _committed(self.log)

    def get(self, key: str) -> str | None:
        """Return a setting."""
        row = self.log.execute("SELECT value FROM settings WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def set(self, key: str, value: str) -> None:
        """Write a setting."""
        self.log.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, value))

    def load(self) -> tuple[Columns, list[Any]]:
        """Return the columns and the labels of the log."""
        self.columns, self.labels = load_columns(self.log), load_classes(self.log)
        self._known = len(self.columns.entries), self.columns.dense, len(self.labels)
        return self.columns, self.labels

    @property
    def count(self) -> int:
        """The number of the last example."""
        query = 'SELECT max(first + "count" - 1) FROM batches UNION SELECT max(number) FROM snapshots'
        return max(number or 0 for (number,) in self.log.execute(query))

    @property
    def first(self) -> int:
        """The number of the first example that the log still has; 1 unless some were dropped."""
        first = self.log.execute("SELECT min(first) FROM batches").fetchone()[0]
        return self.count + 1 if first is None else int(first)

    def add_known(self) -> None:
        """Write down the columns and labels that were not there before."""
        columns, dense, classes = self._known
        if len(self.labels) > classes:
            new = [(number, json.dumps(label)) for number, label in enumerate(self.labels)][classes:]
            self.log.executemany("INSERT INTO classes VALUES (?, ?)", new)
        if len(self.columns.entries) > columns:
            self.log.executemany("INSERT INTO columns VALUES (?, ?, ?, ?, ?)", self.columns.entries[columns:])
        if self.columns.dense != dense:
            self.set("dense", str(int(self.columns.dense)))
        self._known = len(self.columns.entries), self.columns.dense, len(self.labels)

    def add(self, first: int, record: Record, keys: dict[str, Key], ids: dict[str, int]) -> None:
        """Append a record, and what makes a retry of its requests safe."""
        self.add_known()
        assert record.answers is not None
        values = (first, len(record.y), time.time(), record.answers.tobytes(), record.pack())
        self.log.execute("INSERT INTO batches VALUES (?, ?, ?, ?, ?)", values)
        self.add_keys(keys)
        if ids:
            self.log.executemany("INSERT INTO ids VALUES (?, ?)", ids.items())

    def add_keys(self, keys: dict[str, Key]) -> None:
        """Keep the numbers of the examples of requests, by their keys."""
        if keys:
            lines = [(key, digest, max(numbers), json.dumps(numbers)) for key, (digest, numbers) in keys.items()]
            self.log.executemany("INSERT INTO keys VALUES (?, ?, ?, ?)", lines)

    def answers(self, first: int, last: int) -> Iterator[tuple[int, Array]]:
        """Yield the answers to some examples, with the number of the first one of each part."""
        for number, answers in self.log.execute(f"SELECT first, answers FROM {COVERING}", (first, last)):
            start = max(first, number)
            part = np.frombuffer(answers, np.int32)[start - number : last + 1 - number]
            if len(part):
                yield start, part

    def find_key(self, key: str) -> Key | None:
        """Return the digest of the request with this key, and the numbers of its examples."""
        row = self.log.execute("SELECT digest, numbers FROM keys WHERE key = ?", (key,)).fetchone()
        return None if row is None else (row[0], json.loads(row[1]))

    def find_id(self, name: str) -> int | None:
        """Return the number of the example with this id."""
        row = self.log.execute("SELECT number FROM ids WHERE id = ?", (name,)).fetchone()
        return None if row is None else int(row[0])

    def keep(self, rows: list[tuple[str, Any, Any]], days: float) -> None:
        """Keep rows with the labels that were predicted for them, durably; drop those that have waited for too long."""
        now = time.time()
        lines = [(name, now, json.dumps(x), json.dumps(label)) for name, x, label in rows]
        with _committed(self._pending):
            self._pending.executemany("INSERT OR REPLACE INTO pending VALUES (?, ?, ?, ?)", lines)
            if now - self._swept > _SWEEP:
                self._pending.execute("DELETE FROM pending WHERE time < ?", (now - 86400 * days,))
        self._swept = now if now - self._swept > _SWEEP else self._swept

    def waiting(self, name: str, days: float) -> tuple[Any, Any] | None:
        """Return the row that waits under an id, and the label that was served; None if it has waited for too long."""
        query = "SELECT x, label FROM pending WHERE id = ? AND time > ?"
        row = self._pending_reader.execute(query, (name, time.time() - 86400 * days)).fetchone()
        return None if row is None else (json.loads(row[0]), json.loads(row[1]))

    def add_snapshot(self, number: int, errors: int) -> None:
        """Note a snapshot whose file is on disk."""
        with self.transaction():
            self.log.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (number, time.time(), errors))

    def snapshots(self) -> list[tuple[int, int]]:
        """Return the numbers of the snapshots whose files are there, and of the errors by then, the newest first."""
        rows = self.log.execute("SELECT number, errors FROM snapshots ORDER BY number DESC").fetchall()
        return [(number, errors) for number, errors in rows if os.path.isfile(snapshot_path(self.folder, number))]

    def drop(self, days: float | None) -> None:
        """Drop snapshots that nothing needs, and examples older than some days.

        Examples are dropped up to a snapshot only, which is then where a replay begins.
        """
        snapshots = self.log.execute("SELECT number, time FROM snapshots ORDER BY number").fetchall()
        base = self.first - 1
        if days is not None:
            cutoff = time.time() - 86400 * days
            old = self.log.execute('SELECT max(first + "count" - 1) FROM batches WHERE time < ?', (cutoff,)).fetchone()
            base = max([n for n, _ in snapshots[:-1] if n <= (old[0] or 0)], default=base)
        needed, last = {base, *(n for n, _ in snapshots[-2:])}, 0.0
        for number, taken in snapshots:  # one a day may become where a replay begins
            if days is not None and number > base and taken - last >= 86400:
                needed.add(number)
                last = taken
        gone = [n for n, _ in snapshots if n not in needed]
        with self.transaction():
            self.log.executemany("DELETE FROM snapshots WHERE number = ?", [(number,) for number in gone])
            for table, column in (("batches", "first"), ("ids", "number"), ("keys", "last")):
                self.log.execute(f"DELETE FROM {table} WHERE {column} <= ?", (base,))
        for number in gone:
            with suppress(FileNotFoundError):
                os.remove(snapshot_path(self.folder, number))


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    return connection


@contextmanager
def _committed(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def torn_tail(connection: sqlite3.Connection, path: str) -> int:
    """Return how many bytes at the end of a log, just opened, are of a transaction that was not committed.

    SQLite leaves them out by itself: frames of its write-ahead log count up to the last one that ends a transaction
    and has the right salt and checksum (https://www.sqlite.org/walformat.html). Those of an earlier round, which have
    another salt, are no loss.
    """
    try:
        with open(f"{path}-wal", "rb") as file:
            _, counted, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            head = file.read(32)
            size = int.from_bytes(head[8:12], "big") + 24
            file.seek(32 + max(0, counted) * size)
            rest = file.read(16)
            length = file.seek(0, os.SEEK_END)
    except FileNotFoundError:
        return 0
    torn = len(head) < 32 or (len(rest) > 0 and rest[8:16] == head[16 : 16 + len(rest[8:16])])
    return length - (32 + max(0, counted) * size if len(head) == 32 else 0) if torn else 0
