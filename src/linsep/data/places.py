"""Tells local paths from URLs; all files are opened through this module.

Local paths need no other module; ``linsep.data.elsewhere`` handles URLs.
"""

from __future__ import annotations

import glob
import io
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from linsep.data.elsewhere import Elsewhere

Place = str | os.PathLike[str]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # two letters at least: one is a drive of Windows
_SECRETS = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]+://)"
    r"(?:[^\s/@'\"]*@|[^\s/@'\"]*:[^\s@'\"]*@)?"  # who asks; a secret may have slashes in it
    r"([^\s?'\"]*)(?:\?[^\s'\"]*)?"  # where; a query may hold a token
)


def is_url(path: Place) -> bool:
    r"""Say whether a path is the URL of a file elsewhere.

    Examples
    --------
    >>> from linsep.data.places import is_url
    >>> is_url("s3://bucket/data.csv"), is_url(r"C:\data.csv"), is_url("data:1.csv")
    (True, False, False)
    """
    return bool(_URL.match(os.fspath(path)))


def masked(text: str) -> str:
    """Return a text with everything left out of its URLs that could be a secret: user, password and query.

    Examples
    --------
    >>> from linsep.data.places import masked
    >>> masked("s3://key:secret@bucket/a.csv"), masked("https://host/a.csv?token=1 is gone")
    ('s3://bucket/a.csv', 'https://host/a.csv is gone')
    """
    return _SECRETS.sub(r"\1\2", text) if "://" in text else text


def elsewhere(path: Place) -> Elsewhere | None:
    """Return the file elsewhere that a path names, None for a path of this machine."""
    if not is_url(path):
        return None
    from linsep.data.elsewhere import Elsewhere

    return Elsewhere(os.fspath(path))


def open_bytes(path: Place) -> io.BufferedReader:
    """Open a file to be read from anywhere in it."""
    far = elsewhere(path)
    return open(path, "rb") if far is None else far.open()


def size(path: Place) -> int:
    """Return how many bytes a file has."""
    far = elsewhere(path)
    return os.stat(path).st_size if far is None else far.size


def exists(path: Place) -> bool:
    """Say whether there is such a file, or a folder of this name."""
    far = elsewhere(path)
    return os.path.exists(path) if far is None else far.exists()


def is_folder(path: Place) -> bool:
    """Say whether a path is a folder of this machine; storage elsewhere says so when a file is opened."""
    return not is_url(path) and os.path.isdir(path)


def has_wildcards(path: Place) -> bool:
    """Return whether a path is a pattern for several files, and not the name of an existing one."""
    text = os.fspath(path)
    if is_url(path):
        return "*" in text.partition("?")[0]  # a question mark begins a query
    return glob.has_magic(text) and not os.path.exists(text)


def matching(pattern: Place) -> list[str]:
    """Return the files that a pattern stands for, in order of name."""
    far = elsewhere(pattern)
    return sorted(glob.glob(os.fspath(pattern), recursive=True)) if far is None else far.matching()


@contextmanager
def local_copy(path: Place) -> Iterator[Place]:
    """Give a path of this machine, to which a file elsewhere is copied for as long as the block lasts."""
    far = elsewhere(path)
    if far is None:
        yield path
        return
    ending = os.path.basename(masked(os.fspath(path)))[-40:]  # says what the file is
    with tempfile.NamedTemporaryFile(suffix=ending) as copy:
        with far.open() as file:
            shutil.copyfileobj(file, copy, 1 << 20)
        copy.flush()
        yield copy.name


@contextmanager
def written_here(path: Place) -> Iterator[IO[bytes]]:
    """Open a temporary file whose bytes are sent to a URL when the block ends well."""
    far = elsewhere(path)
    assert far is not None
    with tempfile.SpooledTemporaryFile(1 << 23) as draft:
        yield draft
        far.replace(draft)
