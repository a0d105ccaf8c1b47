"""Splits compiled work on many rows among threads."""

from __future__ import annotations

import itertools
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

One = TypeVar("One")
Other = TypeVar("Other")
_CHUNK = 1 << 20  # cells in one call: a fraction of a millisecond, so that Ctrl-C is heard


def in_parallel(work: Callable[[int, int], object], n: int, cells: int) -> None:
    """Call ``work(start, stop)`` on stretches of ``n`` rows of ``cells`` cells each, in any order.

    This thread takes its part, so that nothing is waited for where there is little to do. What ``work`` computes of a
    row must not depend on where stretches begin; then nothing depends on the number of processors.
    """
    pieces = max(1, -(-n * cells // _CHUNK))
    on_all_cores(lambda span: work(*span), itertools.pairwise(n * k // pieces for k in range(pieces + 1)))


def on_all_cores(work: Callable[[One], object], items: Iterable[One]) -> None:
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
    helpers = min(len(todo), os.cpu_count() or 1) - 1
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
    return ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), "linsep")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # a fork has none of the threads


def together(one: Callable[[], One], other: Callable[[], Other]) -> tuple[One, Other]:
    """Return the results of two jobs, the first of which runs in a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(one)
        second = other()
        return first.result(), second


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


@cache
def _libraries(_scipy: bool) -> ThreadpoolController:
    """Return the libraries that are loaded, with or without those of SciPy; to look for them takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
