"""Threads: work on many rows split among the cores, jobs side by side, and reading ahead."""

from __future__ import annotations

import itertools
import os
import queue
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")
Other = TypeVar("Other")
_CHUNK = 1 << 20  # cells in one call: a fraction of a millisecond, so that Ctrl-C is heard
_PATIENCE = 0.3  # seconds to wait for a thread that is not needed any more; it may wait for input that never comes
_at_work: WeakKeyDictionary[Any, threading.Thread] = WeakKeyDictionary()  # who reads what


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parallel(work: Callable[[int, int], object], n: int, cells: int) -> None:
    """Call ``work(start, stop)`` on stretches of ``n`` rows of ``cells`` cells each, in any order.

    This thread takes its part, so that nothing is waited for where there is little to do. What ``work`` computes of a
    row must not depend on where stretches begin; then nothing depends on the number of processors.
    """
    pieces = max(1, -(-n * cells // _CHUNK))
    on_all_cores(lambda span: work(*span), itertools.pairwise(n * k // pieces for k in range(pieces + 1)))


def on_all_cores(work: Callable[[Item], object], items: Iterable[Item]) -> None:
    """Call ``work`` on every item, in any order; this thread takes its part."""
    todo = deque(items)

    def toil() -> None:
        while True:
            try:
                item = todo.popleft()
            except IndexError:  # nothing is left
                return
            work(item)

    if len(todo) < 2:
        toil()
        return
    helpers = min(len(todo), cores()) - 1
    others = [_helpers().submit(toil) for _ in range(helpers)]
    try:
        toil()
    finally:
        todo.clear()  # this thread may have been interrupted
        at_work = [other for other in others if not other.cancel()]  # none is needed that has not begun
        wait(at_work)
    for other in at_work:
        other.result()


@cache
def _helpers() -> ThreadPoolExecutor:
    """Return the threads that help, which are started once: that takes as long as many a piece of work."""
    return ThreadPoolExecutor(max(1, cores() - 1), "linsep")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # a fork has none of the threads


def step_back() -> None:
    """Let this thread have what others leave of the processors, where each thread has a priority of its own."""
    with suppress(AttributeError, OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)


def together(one: Callable[[], Result], other: Callable[[], Other]) -> tuple[Result, Other]:
    """Return the results of two jobs, the first of which runs in a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(one)
        second = other()
        return first.result(), second


def side_by_side(items: Iterable[Item], job: Callable[[Item], Result]) -> Iterator[tuple[Item, Future[Result]]]:
    """Do a job on every item, as many at a time as there are cores, and yield the items in their order.

    Of the items that have been asked for, at most ``cores() + 1`` are still in use.
    """
    with ThreadPoolExecutor(cores()) as pool:
        waiting: deque[tuple[Item, Future[Result]]] = deque()
        try:
            try:
                for item in items:
                    waiting.append((item, pool.submit(job, item)))
                    if len(waiting) > cores():
                        yield waiting.popleft()
            except Exception:  # something may be wrong in what came before, and is to be told first
                yield from waiting
                raise
            yield from waiting
        finally:
            pool.shutdown(cancel_futures=True)


def ahead(items: Iterable[Item], depth: int = 2, owner: Any = None) -> Generator[Item]:
    """Yield the items while a thread gets the next ones ready.

    The ``owner`` of the items, by default they themselves, is read by one thread at a time: one that was left before
    its end is waited for until it lets go.
    """
    owner = items if owner is None else owner
    ready: queue.Queue[Any] = queue.Queue(depth)
    unwanted = threading.Event()
    end = object()

    def put(item: Any) -> None:
        while not unwanted.is_set():
            with suppress(queue.Full):
                ready.put(item, timeout=0.1)
                return

    def work() -> None:
        try:
            for item in items:
                put(item)
                if unwanted.is_set():
                    return
            put(end)
        except BaseException as error:  # raised again in the caller's thread
            put(error)

    with suppress(KeyError, TypeError):  # what cannot be a key, such as a list, is not changed by its iteration
        _at_work.pop(owner).join()
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    with suppress(TypeError):
        _at_work[owner] = thread
    try:
        while (item := ready.get()) is not end:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        unwanted.set()
        thread.join(_PATIENCE)


# ---------------------------------------------------------------------------------------------------------------
# Threads of the libraries for linear algebra

_quiet: dict[ExitStack, bool] = {}  # contexts of quiet_algebra that are open, and whether they know SciPy's library


@contextmanager
def quiet_algebra() -> Iterator[None]:
    """Have matrix products of the libraries below NumPy and SciPy stay in the thread they are in.

    Their own threads go on spinning for some milliseconds after a product, on the processors that ``in_parallel``
    wants; and sums then do not depend on the number of processors.
    """
    with ExitStack() as stack:
        _limit(stack)
        try:
            yield
        finally:
            del _quiet[stack]


def scipy_linalg() -> Any:
    """Return ``scipy.linalg``, loaded when first used; it brings a library of its own, which is as quiet as others."""
    import scipy.linalg

    hush()
    return scipy.linalg


def hush() -> None:
    """Quiet the library of SciPy, too, if it has been loaded by now: compiled code loads it for its first product."""
    if "scipy.linalg" in sys.modules:
        for stack in [stack for stack, known in _quiet.items() if not known]:
            _limit(stack)


def _limit(stack: ExitStack) -> None:
    _quiet[stack] = "scipy.linalg" in sys.modules
    stack.enter_context(_libraries(_quiet[stack]).limit(limits=1, user_api="blas"))


@cache  # to look for them takes milliseconds
def _libraries(_scipy: bool) -> ThreadpoolController:
    """Return the libraries that are loaded, with or without those of SciPy."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
