"""The clock of every long job: its deadline, cancellation and progress.

A loop that can take long calls ``clock.check()`` at every turn, or ``clock.count(operations)`` where searches may be
limited by work instead of time: an operation is a visit of a compiled loop to a number in memory, about.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

OPERATION = 1e-9  # seconds set aside for one, where something is left to do after a search


class OutOfTime(Exception):  # noqa: N818 (it ends a search, which is no error)
    """The deadline has come, or the next step would end after it."""


class Cancelled(Exception):  # noqa: N818
    """Somebody has called ``Clock.cancel``."""


class Interrupted(BaseException):
    """The user has pressed Ctrl-C, as the commands tell it."""


class Clock:
    """When a job must end, whether it was cancelled, and whom it tells how far it is.

    Parameters
    ----------
    seconds : float or None
        From now on; None sets no limit.
    show : callable, default=None
        Called with keyword arguments that say how far the job is, at most ten times a second.
    """

    def __init__(self, seconds: float | None = None, show: Callable[..., None] | None = None) -> None:
        self.started = time.perf_counter()
        self.deadline = math.inf if seconds is None else self.started + seconds
        self._cancelled = threading.Event()
        self._show, self._shown = show, -math.inf

    @property
    def left(self) -> float:
        """Seconds until the deadline, infinite without one."""
        return self.deadline - time.perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since the clock was started."""
        return time.perf_counter() - self.started

    def check(self) -> None:
        """Raise if the time is up, or somebody has called ``cancel``."""
        if self._cancelled.is_set():
            raise Cancelled
        if self.left < 0:
            raise OutOfTime

    def count(self, operations: float) -> None:  # noqa: ARG002
        """Check; where work is limited, count that of the next step."""
        self.check()

    def sooner(self, seconds: float) -> Clock:
        """Return the same clock with an earlier deadline, for work that leaves something to do after it."""
        earlier = copy(self)
        earlier.deadline = self.deadline - seconds
        return earlier

    def cancel(self) -> None:
        """Have the next ``check`` raise, in whatever thread."""
        self._cancelled.set()

    def tell(self, **facts: Any) -> None:
        """Say how far the job is."""
        if self._show is not None and time.perf_counter() - self._shown > 0.1:
            self._shown = time.perf_counter()
            self._show(**facts)


class UntilStopped:
    """Let a search end where it is when its time is up, somebody cancels it, or Ctrl-C is pressed."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        if isinstance(error, KeyboardInterrupt | Interrupted):
            self.clock.cancel()
        return isinstance(error, OutOfTime | Cancelled | KeyboardInterrupt | Interrupted)


@contextmanager
def limited(seconds: float | None) -> Iterator[Clock]:
    """Have a job end in time or with a ``TimeoutError``; what is asked of its result later has no limit."""
    clock = Clock(seconds)
    try:
        yield clock
    except OutOfTime:
        raise TimeoutError(f"undecided after {seconds:g} second{'s' * (seconds != 1)}: allow more time") from None
    finally:
        clock.deadline = math.inf
