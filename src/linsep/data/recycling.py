"""Memory for block after block of rows: the next one takes over what the one before no longer needs.

New memory comes from the system page by page, each of them cleared: for text, a tenth of the time that reading takes.
"""

from __future__ import annotations

import weakref
from collections import defaultdict
from typing import Any

import numpy as np

from linsep.problem import Array

_SLACK = 8  # a new piece of memory is an eighth larger than asked for, so that the next block fits, too


class Recycler:
    """Allocates arrays; an array's memory is used again once neither it nor a view of it exists.

    Examples
    --------
    >>> from linsep.data.recycling import Recycler
    >>> memory = Recycler()
    >>> first = memory.empty(1000)
    >>> place, first = first.ctypes.data, None
    >>> memory.empty(900).ctypes.data == place
    True
    """

    def __init__(self) -> None:
        self._free: defaultdict[np.dtype[Any], list[Array]] = defaultdict(list)

    def empty(self, size: int, dtype: Any = float) -> Array:
        """Return an array of undefined content."""
        free = self._free[np.dtype(dtype)]
        try:  # not "if free": another thread may take the last piece in between
            memory = free.pop()
        except IndexError:
            memory = np.empty(0, dtype)
        if len(memory) < size:
            memory = np.empty(size + size // _SLACK, dtype)
        # a memoryview is no array, so views of the array keep the array itself, not what lies below
        array = np.frombuffer(memory.data, dtype, size)
        weakref.finalize(array, free.append, memory).atexit = False
        return array
