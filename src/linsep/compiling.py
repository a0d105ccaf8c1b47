"""Compiles functions with Numba and keeps the machine code on disk where it can.

Numba keeps compiled code beside the source, or else in the user's cache folder. Where it can write to neither, or the
disk is full, the code is compiled in every process, and one note says so.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile, InTreeCacheLocator, UserProvidedCacheLocator
from numba.core.runtime.nrt import rtsys

_SHORT: dict[str, Any] = {"no_cfunc_wrapper": True}  # no wrapper for C, which nobody calls, is compiled
_watch = event.TimingListener()
event.register("numba:compile", _watch)


def seconds() -> float:
    """Return how long this process has been compiling."""
    return float(_watch.duration) if _watch.done else 0.0


def compiled(*inlined: str, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator: Numba's ``njit`` without the interpreter's lock, cached on disk where possible.

    A compiled function calls compiled functions of its own file, and inlined ones of the files that are given here:
    Numba itself would not notice that these have changed.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = njit(nogil=True, **options, **_SHORT)(function)
        if hasattr(dispatcher, "_cache"):  # not with the compiler off
            try:
                dispatcher._cache = _Cache(function, inlined)
            except RuntimeError:  # no folder can be written
                dispatcher._cache.save_overload = lambda *_: _note("no writable folder")
        return dispatcher

    return decorate


class _Files(IndexDataCacheFile):
    """The files with the code of one function, one for each of its types and named after them.

    Numba numbers them: two processes that compile a function for different types at the same time then write one file,
    and the index names it for both. The index comes last, so that it names no file that is not there yet.
    """

    def save(self, key: Any, data: Any) -> None:
        """Write compiled code."""
        kind = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        name = f"{self._index_name.removesuffix('.nbi')}.{kind}.nbc"
        self._save_data(name, data)
        self._save_index(self._load_index() | {key: name})


class _Cache(FunctionCache):
    """The code of one function on disk; what goes wrong there costs time, and nothing else."""

    def __init__(self, function: Callable[..., Any], inlined: tuple[str, ...]) -> None:
        super().__init__(function)
        stamps = [(file.st_mtime, file.st_size) for file in map(os.stat, inlined)]
        stamp = (self._impl.locator.get_source_stamp(), *stamps)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, stamp)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write compiled code."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _note(f"{self.cache_path}: {error.strerror or error}")
            return
        if not isinstance(self._impl.locator, InTreeCacheLocator | UserProvidedCacheLocator):
            _say_once(f"linsep keeps compiled code in {self.cache_path}: the folder of the package is not writable")

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Read compiled code, if it is there.

        Numba would load all that it takes to compile first, which takes longer than most commands do; finished code
        needs its runtime only.
        """
        rtsys.initialize(target_context)
        try:
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except (AttributeError, ImportError):  # the index names a class of ours that is gone: begin a new one
            self._cache_file.flush()
            return None


def _note(reason: str) -> None:
    """Say once that compiled code is not kept."""
    _say_once(
        f"linsep cannot keep compiled code ({reason}), so every process compiles it again; "
        "set NUMBA_CACHE_DIR to a writable folder"
    )


_said: set[str] = set()


def _say_once(text: str) -> None:
    """Warn, the first time in this process."""
    if not _said:
        _said.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=2)
