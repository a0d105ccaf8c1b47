"""Work on many rows, shared out among the processors: compiled code that releases the interpreter's lock."""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import TypeVar

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
    todo = deque(itertools.pairwise(n * k // pieces for k in range(pieces + 1)))

    def toil() -> None:
        while True:
            try:
                start, stop = todo.popleft()
            except IndexError:  # nothing is left
                return
            work(start, stop)

    helpers = min(pieces, os.cpu_count() or 1) - 1
    if helpers == 0:
        toil()
        return
    with ThreadPoolExecutor(helpers) as pool:
        others = [pool.submit(toil) for _ in range(helpers)]
        try:
            toil()
        finally:
            todo.clear()  # this thread may have been interrupted
        for other in others:
            other.result()


def together(one: Callable[[], One], other: Callable[[], Other]) -> tuple[One, Other]:
    """Return the results of two jobs, the first of which runs in a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(one)
        second = other()
        return first.result(), second


def quiet_algebra() -> AbstractContextManager[object]:
    """Return a context in which matrix products of the libraries below NumPy and SciPy stay in the thread they are in.

    Their own threads go on spinning for some milliseconds after a product, on the processors that ``in_parallel``
    wants; and sums then do not depend on the number of processors.
    """
    limit: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limit


@cache
def _libraries() -> ThreadpoolController:
    """Return the libraries that are loaded; to look for them takes milliseconds."""
    return ThreadpoolController()
