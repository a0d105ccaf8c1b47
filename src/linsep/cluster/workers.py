"""Runs a function on every shard of a Dask cluster and returns the results in order.

The worker that holds a shard reads it from its path, in a task. If the worker dies, the scheduler makes another one
read the shard again, so nothing is lost for good. Data for the workers (the weights of a round) is sent once and passed
on among them. Results are used in the order of the shards, so the assignment of shards and the death of workers do not
change the final result.
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
from typing import Any, NamedTuple

import dask
import numpy as np
from distributed import Client, Future, KilledWorker, LocalCluster, wait
from distributed.comm import CommClosedError
from distributed.core import Status

from linsep.cluster.shards import Shard, cut, quotes
from linsep.data.files import ReadError
from linsep.data.row_numbers import Dropped
from linsep.data.source import Block, Source

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


class Raw(NamedTuple):
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


class Farm:
    """All shards of a source, each held by some worker."""

    def __init__(self, client: Client, source: Source, shard_bytes: int) -> None:
        self.client = client
        with self._faults("the data"):
            _check_versions(client)
            self.source, self.shards = cut(source, shard_bytes, lambda pieces: self._spread(quotes, pieces))
            if source.grows:
                found = self._spread(words_of, [(self.source, shard) for shard in self.shards])
                source.take_levels(found)
                self.source.take_levels(found)
        self._held: list[Future | None] = [None] * len(self.shards)
        self._made: tuple[Farm, Callable[..., Any], Sequence[Any], Any] | None = None  # from what, how

    def hold(self, make: Callable[[Any, Any, Any], Any], each: Sequence[Any], told: Any) -> Farm:
        """Return a farm that holds what workers make of what they hold of each shard now, with an argument for each."""
        other = copy(self)
        other._made = (self, make, each, told)
        other._held = [None] * len(self.shards)
        return other

    def release(self) -> None:
        """Let go of what is held; if it is needed again, the shards are read again."""
        self._held = [None] * len(self.shards)

    def drop_empty(self, sizes: Sequence[int]) -> None:
        """Forget shards of no rows."""
        self._held = [held for held, size in zip(self._held, sizes, strict=True) if size]
        self.shards = [shard for shard, size in zip(self.shards, sizes, strict=True) if size]

    def no_rows(self) -> ReadError:
        """Return what is to be said where no shard has a row."""
        one, *more = self.source.files
        return ReadError("" if more else one.name, "no rows in any of the files" if more else "no rows")

    def ask(self, question: Callable[[Any, Any], Any], told: Any = None) -> Iterator[Any]:
        """Yield the answers of all shards in their order."""
        with self._faults("all shards"):
            everyone = range(len(self.shards))
            self._submit_held(everyone)
            futures = self._map(question, self._held, [self._tell(told)] * len(everyone))
        for i in everyone:
            future, futures[i] = futures[i], None
            yield self._answer(i, future, question, told)

    def ask_once(self, question: Callable[[Shard, Any], Any], told: Any) -> Iterator[Any]:
        """Yield the answers of all shards in their order, without holding any."""
        with self._faults("all shards"):
            futures = self._map(question, self.shards, [self._tell((self.source, told))] * len(self.shards))
        for i in range(len(self.shards)):
            future, futures[i] = futures[i], None
            yield self._answer(i, future, question, (self.source, told), held=False)

    # -----------------------------------------------------------------------------------------------------------
    # Futures

    def _map(self, function: Callable[..., Any], *columns: Sequence[Any], **how: Any) -> list[Any]:
        """Submit one task for each row of arguments, in one message."""
        token = uuid.uuid4().hex
        keys = [f"linsep-{function.__name__}-{i}-{token}" for i in range(len(columns[0]))]
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):  # weights may be many
            return list(self.client.map(function, *columns, key=keys, pure=False, **how))

    def _tell(self, told: Any) -> Any:
        """Send something to the workers once; whoever needs it gets it from one who has it."""
        return None if told is None else self._map(_same, [told])[0]

    def _submit_held(self, which: Iterable[int]) -> None:
        """Have shards read, and made into what is to be held of them, unless they are."""
        missing = [i for i in which if self._held[i] is None]
        if not missing:
            return
        if self._made is None:
            futures = self._load(missing)
        else:
            before, make, each, told = self._made
            before._submit_held(missing)
            columns = [before._held[i] for i in missing], [each[i] for i in missing], [self._tell(told)] * len(missing)
            futures = self._map(make, *columns)
        for i, future in zip(missing, futures, strict=True):
            self._held[i] = future

    def _load(self, which: list[int]) -> list[Any]:
        """Have shards read, each worker its share; whoever is left takes over from one who dies."""
        threads = self.client.nthreads()
        everyone = [address for address in sorted(threads) for _ in range(threads[address])] or [None]
        source = self._tell(self.source)
        loaded: dict[int, Any] = {}
        for place, address in enumerate(everyone):
            own = which[place :: len(everyone)]
            if own:
                how = {} if address is None else {"workers": [address], "allow_other_workers": True}
                futures = self._map(load, [self.shards[i] for i in own], [source] * len(own), **how)
                loaded.update(zip(own, futures, strict=True))
        return [loaded[i] for i in which]

    def _answer(self, i: int, future: Future, question: Callable[..., Any], told: Any, held: bool = True) -> Any:
        """Wait for the answer of a shard; start anew if too many workers have died at it."""
        for _ in range(_ATTEMPTS):
            with self._faults(str(self.shards[i])):
                try:
                    return self._result(future)
                except KilledWorker:
                    self._forget(i)
                    if held:
                        self._submit_held([i])
                    future = self._map(question, [self._held[i] if held else self.shards[i]], [self._tell(told)])[0]
        raise ClusterError(f"{self.shards[i]}: several workers died on this shard, perhaps out of memory: {_SMALLER}")

    def _forget(self, i: int) -> None:
        """Let go of one shard, and of what it was made from: some of it may have been given up."""
        self._held[i] = None
        if self._made is not None:
            self._made[0]._forget(i)

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
        """Apply a function to each item, on the workers."""
        return [self._result(future) for future in self._map(function, items)]

    @contextmanager
    def _faults(self, what: str) -> Iterator[None]:
        """Say in one line what has happened to the cluster."""
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
    return source.levels


def load(shard: Shard, source: Source) -> Raw:
    """Read a shard from its files."""
    source = copy(source)
    with warnings.catch_warnings(record=True) as notes:
        blocks = list(shard.read(source))
    told = [str(note.message) for note in notes]
    return Raw(str(shard), blocks, source.n_features, _digest(blocks), told, source.dropped)


def _digest(blocks: list[Block]) -> int:
    """Return a checksum of rows and labels."""
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


def _same(told: Any) -> Any:
    return told


def _at_work(dask_scheduler: Any) -> tuple[int, int]:
    """Return how many workers there are, and how many of them take up tasks, or are at one; on the scheduler."""
    workers = dask_scheduler.workers.values()
    return len(workers), sum(worker.status is Status.running or bool(worker.executing) for worker in workers)
