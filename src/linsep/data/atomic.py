"""Writes files atomically: the whole file appears, or none of it."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from linsep.data.places import is_url, written_here

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of ``path`` when the block ends well, and leaves no trace when it does not.

    The bytes go to a new file in the same folder, are brought to the disk, and then take the name in one step. A
    symbolic link is followed; what is not a regular file (a pipe, a terminal) is written to as it is. What goes to a
    URL is complete before any of it is sent.

    Examples
    --------
    >>> import os, tempfile
    >>> from linsep.data.atomic import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(os.path.join(folder, "note.txt")) as file:
    ...         _ = file.write(b"whole")
    ...     os.listdir(folder)
    ['note.txt']
    """
    if is_url(path):
        with written_here(path) as draft:
            yield draft
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path}: is a folder, not a file")
    if target.exists() and not target.is_file():
        with _named(path), open(target, "wb") as file:
            yield file
        return
    part = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.part")
    try:
        file = open(part, "xb")  # noqa: SIM115  closed below, before the rename
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such folder: {os.path.dirname(path)}") from None
    try:
        with _named(path), file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            os.chmod(part, stat.S_IMODE(target.stat().st_mode))  # what was there keeps its permissions
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # the new name, too, must survive a loss of power
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Have an error tell which file there is no room for: a write knows no name."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL and error.filename is None:
            error.filename = os.fspath(path)
        raise
