"""Runs a function on every shard of a Dask cluster and returns the results in order.

Shards are persisted on the workers as futures of tasks that read them. If a worker dies, the scheduler makes another
one read the shard again, so nothing is lost for good. Data for the workers (the weights of a round) is sent once and
passed on among them. Results are used in the order of the shards, so the assignment of shards and the death of workers
do not change the final result.
"""

from __future__ import annotations

import logging
import os
import uuid
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

_ATTEMPTS = 2  # at one shard, each of which ends when several workers in a row have died at it
_FAILURES = 5  # of workers that a task survives, on a cluster of our own; by default 3 elsewhere
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
        Of a Dask scheduler, such as ``"tcp://host:8786"``, or ``"local"`` for processes on this machine.
    workers : int, optional
        How many processes to start, by default one for each core. An existing cluster has the workers it has.

    Yields
    ------
    client : distributed.Client

    Raises
    ------
    ClusterError
        If there is no scheduler at the address.

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
    found = client.get_versions(packages=["linsep"])
    own = found["client"]["packages"]["linsep"]
    everyone = {"the scheduler": found["scheduler"]}
    everyone |= {f"the worker {address}": about for address, about in found["workers"].items()}
    for who, about in everyone.items():
        version = about["packages"].get("linsep")
        if version != own:
            has = "does not have linsep" if version is None else f"has linsep {version}"
            raise ClusterError(f"{who} {has}: install linsep {own} there, as on this machine")


class ShardStep(NamedTuple):
    """How something is made of a shard: by a function of what there is, an argument for each shard, and one for all."""

    make: Callable[[Any, Any, Any], Any]
    each: Sequence[Any]
    common: Any


class ShardPool:
    """All shards of a source, each persisted on some worker: as it was read, or as some steps have made it."""

    def __init__(self, client: Client, source: Source, shard_bytes: int) -> None:
        self.client, self.steps = client, tuple[ShardStep, ...]()
        with self._faults("the data"):
            _check_versions(client)
            self.source, self.shards = cut(source, shard_bytes, lambda pieces: self._spread(quotes, pieces))
            if source.grows:
                found = self._spread(words_of, [(self.source, shard) for shard in self.shards])
                source.take_categories(found)
                self.source.take_categories(found)
        self._futures: list[Future] | None = None

    def then(self, make: Callable[[Any, Any, Any], Any], each: Sequence[Any], common: Any) -> ShardPool:
        """Return a pool of what workers make of each shard, with an argument for each and one for all."""
        other = copy(self)
        other.steps, other._futures = (*self.steps, ShardStep(make, each, common)), None
        if self._futures is not None:
            other._futures = self._made(other.steps[-1:], self._futures, range(len(self.shards)))
        return other

    def release(self) -> None:
        """Let go of the shards; if they are needed again, they are read again."""
        self._futures = None

    def keep(self, which: Sequence[bool]) -> None:
        """Forget all other shards."""
        self.shards = list(compress(self.shards, which))
        self._futures = None if self._futures is None else list(compress(self._futures, which))

    def no_rows(self) -> ReadError:
        """Return the error that no shard has a row."""
        one, *more = self.source.files
        return ReadError("" if more else one.name, "no rows in any of the files" if more else "no rows")

    def ask(self, question: Callable[[Any, Any], Any], common: Any = None) -> Iterator[Any]:
        """Yield the results of a function of each shard and of something that is the same for all, in order."""

        def persisted(which: Sequence[int], anew: bool) -> list[Any]:
            if self._futures is None:
                self._futures = self._persisted(range(len(self.shards)))
            elif anew:
                for i, future in zip(which, self._persisted(which), strict=True):
                    self._futures[i] = future
            return [self._futures[i] for i in which]

        return self._results(question, common, persisted)

    def ask_once(self, question: Callable[[Shard, Any], Any], common: Any) -> Iterator[Any]:
        """Yield the results of a function of each shard's place, in order; no shard is persisted."""
        return self._results(question, (self.source, common), lambda which, _: [self.shards[i] for i in which])

    def _results(
        self, question: Callable[..., Any], common: Any, inputs: Callable[[Sequence[int], bool], list[Any]]
    ) -> Iterator[Any]:
        """Yield results in order; submit again what more workers have died at than the scheduler allows."""

        def submit(which: Sequence[int], anew: bool) -> list[Any]:
            return self._map(question, inputs(which, anew), [self._sent(common)] * len(which))

        with self._faults("all shards"):
            futures = submit(range(len(self.shards)), False)
        for i, shard in enumerate(self.shards):
            future, futures[i] = futures[i], None
            for attempt in range(_ATTEMPTS):
                with self._faults(str(shard)):
                    try:
                        result = self._result(submit([i], True)[0] if attempt else future)
                        break
                    except KilledWorker:
                        future = None
            else:
                raise ClusterError(f"{shard}: several workers died on this shard, perhaps out of memory: {_SMALLER}")
            yield result

    # -----------------------------------------------------------------------------------------------------------
    # Futures

    def _map(self, function: Callable[..., Any], *columns: Sequence[Any], **how: Any) -> list[Any]:
        token = uuid.uuid4().hex
        keys = [f"linsep-{function.__name__}-{i}-{token}" for i in range(len(columns[0]))]
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):  # weights may be many
            return list(self.client.map(function, *columns, key=keys, pure=False, **how))

    def _sent(self, data: Any) -> Any:
        """Send something to the workers once; whoever needs it gets it from one who has it."""
        return None if data is None else self._map(_same, [data])[0]

    def _persisted(self, which: Sequence[int]) -> list[Future]:
        """Have shards read, each worker its share, and the steps made; whoever is left takes over from one who dies."""
        threads = self.client.nthreads()
        everyone = [address for address in sorted(threads) for _ in range(threads[address])] or [None]
        source, loaded = self._sent(self.source), dict[int, Future]()
        for place, address in enumerate(everyone):
            share = which[place :: len(everyone)]
            if share:
                how = {} if address is None else {"workers": [address], "allow_other_workers": True}
                futures = self._map(load, [self.shards[i] for i in share], [source] * len(share), **how)
                loaded.update(zip(share, futures, strict=True))
        return self._made(self.steps, [loaded[i] for i in which], which)

    def _made(self, steps: Sequence[ShardStep], futures: list[Future], which: Sequence[int]) -> list[Future]:
        """Have steps made of shards."""
        for make, each, common in steps:
            futures = self._map(make, futures, [each[i] for i in which], [self._sent(common)] * len(which))
        return futures

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
                what = "its workers have paused, low on memory" if there else "it has no workers"
                warnings.warn(f"the cluster is stalled: {what}", UserWarning, stacklevel=2)
            if idle > _PATIENCE:
                what = "all workers have paused" if there else "the cluster has lost all its workers"
                raise ClusterError(f"{what}, perhaps out of memory: {_SMALLER}")

    def _spread(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return [self._result(future) for future in self._map(function, items)]

    @contextmanager
    def _faults(self, what: str) -> Iterator[None]:
        try:
            yield
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
    found = 0
    for X, y, _ in blocks:
        for array in (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,):
            found = zlib.crc32(np.ascontiguousarray(array).data, found)
        if y is not None:
            found = zlib.crc32(repr(y.tolist()).encode() if y.dtype.hasobject else np.ascontiguousarray(y).data, found)
    return found


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
