"""Runs a function on every shard of a Dask cluster and returns the results in order.

Shards are persisted on the workers as futures of tasks that read them. If a worker dies, the scheduler makes another
one read the shard again, so nothing is lost for good. Data for the workers (the weights of a round) is sent once and
passed on among them. Results are used in the order of the shards, so the assignment of shards and the death of workers
do not change the final result.
"""

from __future__ import annotations

import logging
import os
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from copy import copy
from itertools import compress
from typing import Any, NamedTuple

import dask
import numpy as np
from distributed import Client, Future, KilledWorker, LocalCluster, wait
from distributed.comm import CommClosedError
from distributed.core import Status

from linsep.cluster.shards import Shard, cut, quotes
from linsep.data.row_numbers import Dropped
from linsep.data.source import Block, Source
from linsep.errors import ReadError

_FAILURES = 10  # of workers that a task survives, on a cluster of our own; by default 3 elsewhere
_LOOK = 2.0  # seconds after which to see whether anybody is still at work
_PATIENCE = 60  # looks without any worker that works
_SMALLER = "make the shards smaller, or give the workers more memory"


class ClusterError(OSError):
    """The cluster cannot go on: it is not there, it has gone away, or its workers die at a shard again and again.

    Examples
    --------
    >>> from linsep.cluster import ClusterError
    >>> issubclass(ClusterError, OSError)
    True
    """


class LoadedShard(NamedTuple):
    """A shard in memory, as it was read."""

    name: str
    blocks: list[Block]
    n_features: int
    digest: int  # of rows and labels
    notes: list[str]  # what there was to warn of
    dropped: Dropped = Dropped()  # rows that are not here

    def check(self, digest: int) -> None:
        """Refuse a shard that was read again, after a worker has died, and is not what it was."""
        if self.digest != digest:
            raise ReadError(self.name, "the file has changed since the run began")


@contextmanager
def connect(address: str = "local", workers: int | None = None) -> Iterator[Client]:
    """Connect to a cluster, or start one on this machine, for as long as the block lasts.

    Parameters
    ----------
    address : str
        Of a Dask scheduler, such as ``"tcp://host:8786"``, or ``"local"`` for processes on this machine. A
        ``ClusterError`` says so if there is none.
    workers : int, optional
        How many processes to start, by default one for each core. An existing cluster has the workers it has.

    Yields
    ------
    client : distributed.Client

    Examples
    --------
    >>> from linsep.cluster import connect
    >>> with connect("local", workers=1) as client:
    ...     print(len(client.nthreads()))
    1
    """
    if address != "local":
        if workers is not None:
            raise ValueError("workers needs address 'local': an existing cluster sets its own number of workers")
        try:
            client = Client(address, timeout=10, set_as_default=False)
        except OSError as error:
            raise ClusterError(f"no cluster at {address}: {error}") from None
        except ValueError as error:
            raise ClusterError(f"{address!r} is neither 'local' nor an address like tcp://host:8786: {error}") from None
        with _silence():
            try:
                yield client
            finally:
                _close(client)
        return
    try:
        with dask.config.set({"distributed.scheduler.allowed-failures": _FAILURES}):
            local = LocalCluster(
                n_workers=workers or os.cpu_count(),
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",  # any free port
                silence_logs=logging.CRITICAL,
            )
    except RuntimeError as error:
        raise ClusterError(
            f"the workers did not start ({error}); run the program from a file, with its code under "
            "if __name__ == '__main__'"
        ) from None
    try:
        client = Client(local, set_as_default=False, direct_to_workers=True)
        try:
            yield client
        finally:
            _close(client)
    finally:
        local.close()


@contextmanager
def _silence() -> Iterator[None]:
    """Keep Dask from logging what goes wrong with a connection: our errors say it in one line."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] == "distributed"]
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _close(client: Client) -> None:
    with suppress(OSError, TimeoutError, CancelledError):
        client.close(timeout=5)


def _check_versions(client: Client) -> None:
    """Refuse a cluster that lacks linsep, or has another version of it: its workers would die, or learn otherwise."""
    versions = client.get_versions(packages=["linsep"])
    own = versions["client"]["packages"]["linsep"]
    everyone = {"the scheduler": versions["scheduler"]}
    everyone |= {f"the worker {address}": about for address, about in versions["workers"].items()}
    for who, about in everyone.items():
        version = about["packages"].get("linsep")
        if version != own:
            has = "does not have linsep" if version is None else f"has linsep {version}"
            raise ClusterError(f"{who} {has}: install linsep {own} there, as on this machine")


class ShardPool:
    """All shards of a source, each persisted on some worker: as it was read, or as something else was made of it."""

    def __init__(self, client: Client, source: Source, shard_bytes: int) -> None:
        self.client = client
        self._persisted: list[Future] | None = None  # read when they are asked for
        with self._faults("the data"):
            _check_versions(client)
            self.source, self.shards = cut(source, shard_bytes, lambda pieces: self._all_of(quotes, pieces))
            if source.grows:
                words = self._all_of(words_of, [(self.source, shard) for shard in self.shards])
                source.take_categories(words)
                self.source.take_categories(words)

    def then(self, make: Callable[[Any, Any, Any], Any], each: Sequence[Any], common: Any) -> ShardPool:
        """Return a pool of what workers make of each shard, with an argument for each and one for all."""
        other = copy(self)
        other._persisted = self._map(make, self._futures(), each, [self._sent(common)] * len(each))
        return other

    def release(self) -> None:
        """Let go of the shards; if they are needed again, they are read again."""
        self._persisted = None

    def keep(self, which: Sequence[bool]) -> None:
        """Forget all other shards."""
        futures = self._futures()
        self.shards, self._persisted = list(compress(self.shards, which)), list(compress(futures, which))

    def no_rows(self) -> ReadError:
        """Return the error that no shard has a row."""
        one, *more = self.source.files
        return ReadError("" if more else one.name, "no rows in any of the files" if more else "no rows")

    def ask(self, question: Callable[[Any, Any], Any], common: Any = None) -> Iterator[Any]:
        """Yield the results of a function of each shard and of something that is the same for all, in order."""
        return self._results(question, self._futures(), common)

    def ask_once(self, question: Callable[[Shard, Any], Any], common: Any) -> Iterator[Any]:
        """Yield the results of a function of each shard's place, in order; no shard is persisted."""
        return self._results(question, self.shards, (self.source, common))

    def _results(self, question: Callable[..., Any], inputs: Sequence[Any], common: Any) -> Iterator[Any]:
        with self._faults("all shards"):
            futures = self._map(question, inputs, [self._sent(common)] * len(inputs))
        for i, shard in enumerate(self.shards):
            future, futures[i] = futures[i], None
            with self._faults(str(shard)):
                yield self._result(future)

    # -----------------------------------------------------------------------------------------------------------
    # Futures

    def _map(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):  # weights may be many
            return list(self.client.map(function, *columns, pure=False))

    def _sent(self, data: Any) -> Any:
        """Send something to the workers once; whoever needs it gets it from one who has it."""
        return None if data is None else self._map(_same, [data])[0]

    def _futures(self) -> list[Future]:
        """Have the shards read, unless they are; the scheduler has a shard read again if its worker dies."""
        if self._persisted is None:
            self._persisted = self._map(load, self.shards, [self._sent(self.source)] * len(self.shards))
        return self._persisted

    def _result(self, future: Future) -> Any:
        """Wait for a result, and see now and then whether anybody is still at work."""
        idle = 0  # looks in a row: a clock would also count the time for which this process was stopped
        while True:
            with suppress(TimeoutError), self.client.as_current():
                wait([future], timeout=_LOOK)
            if future.done():
                return future.result()  # without a timeout: Dask does not survive a result that is given up half-way
            there, able = self.client.run_on_scheduler(_at_work)
            idle = 0 if able else idle + 1
            if idle == 2:
                reason = "its workers have paused, low on memory" if there else "it has no workers"
                warnings.warn(f"the cluster is stalled: {reason}", UserWarning, stacklevel=2)
            if idle > _PATIENCE:
                reason = "all workers have paused" if there else "the cluster has lost all its workers"
                raise ClusterError(f"{reason}, perhaps out of memory: {_SMALLER}")

    def _all_of(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return [self._result(future) for future in self._map(function, items)]

    @contextmanager
    def _faults(self, what: str) -> Iterator[None]:
        """Say in our words what goes wrong on a cluster."""
        try:
            yield
        except KilledWorker:
            raise ClusterError(
                f"{what}: several workers died on this shard, perhaps out of memory: {_SMALLER}"
            ) from None
        except (CancelledError, CommClosedError):
            raise ClusterError(f"the connection to the scheduler {self.client.scheduler.address} is lost") from None
        except MemoryError as error:
            raise ClusterError(f"{what}: not enough memory on a worker {error}: {_SMALLER}") from None


def words_of(wanted: tuple[Source, Shard]) -> list[tuple[int, str | None]]:
    """Return the words of a shard that get features, in the order in which they appear."""
    source, shard = copy(wanted[0]), wanted[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in shard.read(source):
            pass
    return source.categories


def load(shard: Shard, source: Source) -> LoadedShard:
    """Read a shard from its files."""
    source = copy(source)
    with warnings.catch_warnings(record=True) as notes:
        blocks = list(shard.read(source))
    texts = [str(note.message) for note in notes]
    return LoadedShard(str(shard), blocks, source.n_features, _digest(blocks), texts, source.dropped)


def _digest(blocks: list[Block]) -> int:
    digest = 0
    for X, y, _ in blocks:
        for array in (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,):
            digest = zlib.crc32(np.ascontiguousarray(array).data, digest)
        if y is not None:
            digest = zlib.crc32(
                repr(y.tolist()).encode() if y.dtype.hasobject else np.ascontiguousarray(y).data, digest
            )
    return digest


def repeat(notes: Iterable[str]) -> None:
    """Warn here of what workers have warned of; the same words once."""
    for note in dict.fromkeys(notes):
        warnings.warn(note, UserWarning, stacklevel=3)


def _same(data: Any) -> Any:
    return data


def _at_work(dask_scheduler: Any) -> tuple[int, int]:
    """Return how many workers there are, and how many of them take up tasks, or are at one; on the scheduler."""
    workers = dask_scheduler.workers.values()
    return len(workers), sum(worker.status is Status.running or bool(worker.executing) for worker in workers)
