"""A thread that prepares the next items while the caller uses the current one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

Item = TypeVar("Item")

_PATIENCE = 0.3  # seconds to wait for a thread that is not needed any more; it may wait for input that never comes
_at_work: WeakKeyDictionary[Any, threading.Thread] = WeakKeyDictionary()  # who reads what


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
