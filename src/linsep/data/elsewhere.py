"""Reads and writes files by URL: in ranges, as a whole, and with retries.

pyarrow's file systems come first (S3, Google, Azure, Hadoop); fsspec serves the rest (HTTP, memory, ...). These
libraries take credentials from the environment.
"""

from __future__ import annotations

import errno
import fnmatch
import io
import os
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, TypeVar
from urllib.parse import quote

import pyarrow as pa
from pyarrow import fs as arrow_fs

from linsep.data.places import masked
from linsep.errors import ReadError

Result = TypeVar("Result")

_TRIES = 6  # of anything that a network may disturb
_FIRST_WAIT = 0.2  # seconds before the second try; twice as long before each one after it
_BUFFER = 1 << 20  # bytes of a small read
_OBJECTS = ("s3", "gcs", "abfs")  # where a file appears when it is complete, and folders do not exist

# Amazon's names for what no other try can change
_DENIED = (
    "ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "INVALID_CLIENT_TOKEN_ID",
    "UNRECOGNIZED_CLIENT", "EXPIRED_TOKEN", "HTTP status 401", "HTTP status 403",
)  # fmt: skip
_ABSENT = ("NO_SUCH_KEY", "RESOURCE_NOT_FOUND")
_FINAL = (IsADirectoryError, NotADirectoryError, ValueError, TypeError, ImportError)
_abandoned: list[Any] = []  # uploads that failed: to close them would show what has arrived of them


class Elsewhere:
    """One file elsewhere, or a pattern of such files.

    Its URL may hold secrets; ``name`` holds none, and is what errors and notes have.
    """

    def __init__(self, url: str) -> None:
        self.url, self.name = url, masked(url)
        self._found: tuple[Any, str] | None = None  # file system and path, when they are asked for

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_found": None}  # whoever gets a copy looks for its own way there

    @property
    def _storage(self) -> tuple[Any, str]:
        """The file system, in pyarrow's words, and the path in it."""
        if self._found is None:
            self._found = self.tried(lambda: _storage(self.url))
        return self._found

    def info(self) -> Any:
        """Return what the storage says of this file; raises OSError if there is none."""
        system, path = self._storage
        found = self.tried(lambda: system.get_file_info(path))
        if found.type == arrow_fs.FileType.NotFound:
            self._check_bucket()
            raise FileNotFoundError(errno.ENOENT, "no such file", self.name)
        if found.type == arrow_fs.FileType.Directory:
            raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", self.name)
        return found

    @property
    def size(self) -> int:
        """How many bytes it has."""
        found = self.info()
        return _length(found, self) if found.size is None else int(found.size)

    def exists(self) -> bool:
        """Say whether there is such a file or folder."""
        try:
            self.info()
        except (FileNotFoundError, IsADirectoryError) as error:
            return isinstance(error, IsADirectoryError)
        return True

    def _check_bucket(self) -> None:
        """Say so if not even the bucket is there."""
        system, path = self._storage
        bucket = path.partition("/")[0]
        if system.type_name in _OBJECTS and bucket != path:
            with suppress(PermissionError):  # who may not look at it may still use it
                found = self.tried(lambda: system.get_file_info(bucket))
                if found.type == arrow_fs.FileType.NotFound:
                    raise OSError(errno.ENXIO, f"there is no bucket {bucket}", self.name)

    def check_writable(self) -> None:
        """Refuse a place that cannot be written to, as far as it shows beforehand."""
        system, path = self._storage
        if system.type_name in _OBJECTS:
            self._check_bucket()
            return
        folder = path.rpartition("/")[0]
        if folder and system.type_name != "py::fsspec+memory":
            found = self.tried(lambda: system.get_file_info(folder))
            if found.type == arrow_fs.FileType.NotFound:
                raise OSError(errno.ENXIO, f"no such folder: {masked(self.url.rpartition('/')[0])}", self.name)

    def open(self) -> io.BufferedReader:
        """Open the file; a range of it is fetched when it is read."""
        return io.BufferedReader(_Ranges(self), _BUFFER)

    def input(self) -> tuple[Any, tuple[int, Any]]:
        """Return the file as pyarrow opens it, and its size and time, by which a change shows."""
        system, path = self._storage
        found = self.info()
        return system.open_input_file(path), (_length(found, self), found.mtime_ns)

    def replace(self, draft: IO[bytes]) -> None:
        """Put the bytes of a draft in the place of this file: all of them, or none."""
        system, path = self._storage
        folder, slash, name = path.rpartition("/")
        aside = system.type_name not in _OBJECTS
        target = f"{folder}{slash}.{name[:200]}.{secrets.token_hex(6)}.part" if aside else path

        def send() -> None:
            draft.seek(0)
            out = system.open_output_stream(target, compression=None)  # by default the name would say it
            try:
                shutil.copyfileobj(draft, out, 1 << 20)
                out.close()
            except BaseException:
                _abandoned.append(out)
                raise
            if aside:
                system.move(target, path)

        try:
            self.tried(send)
        except BaseException:
            if aside:
                with suppress(Exception):
                    system.delete_file(target)
            raise

    def matching(self) -> list[str]:
        """Return the URLs of the files that this pattern stands for, in order of name."""
        pattern, mark, query = self.url.partition("?")
        base = pattern[: pattern.index("*")].rpartition("/")[0]
        rest = pattern[len(base) + 1 :]
        system, folder = self.tried(lambda: _storage(f"{base}{mark}{query}"))
        deep = "/" in rest
        selector = arrow_fs.FileSelector(folder, recursive=deep)
        try:
            found = self.tried(lambda: system.get_file_info(selector))
        except FileNotFoundError:
            self._found = system, f"{folder}/{rest}"
            self._check_bucket()
            return []
        files = [one.path for one in found if one.type == arrow_fs.FileType.File]
        names = [path[len(folder.rstrip("/")) + 1 :] for path in files]
        return [f"{base}/{quote(name)}{mark}{query}" for name in sorted(names) if _fits(name, rest)]

    def tried(self, job: Callable[[], Result]) -> Result:
        """Do a job, again after a while where the network may be to blame; raises OSError with one line."""
        wait = _FIRST_WAIT
        for left in reversed(range(_TRIES)):
            try:
                return job()
            except ReadError:
                raise
            except Exception as error:
                final = self._final(error)
                if final is not None:
                    raise final from None
                if not left:
                    what = f"the storage does not answer, after {_TRIES} tries: {_line(error)}"
                    raise OSError(errno.EIO, what, self.name) from None
            time.sleep(wait)
            wait *= 2
        raise AssertionError

    def _final(self, error: Exception) -> OSError | ReadError | None:
        """Return the error to end with, None if another try may help."""
        text = _line(error)
        if isinstance(error, OSError) and error.filename == self.name:
            return error  # ours already
        status = getattr(error, "status", None)  # of HTTP
        if isinstance(error, PermissionError) or status in (401, 403) or any(word in text for word in _DENIED):
            return PermissionError(errno.EACCES, f"no permission: {text}", self.name)
        if isinstance(error, FileNotFoundError) or any(word in text for word in _ABSENT):
            return FileNotFoundError(errno.ENOENT, "no such file", self.name)
        if "NO_SUCH_BUCKET" in text:
            return OSError(errno.ENXIO, "there is no such bucket", self.name)
        if isinstance(error, NotImplementedError):
            return OSError(errno.EROFS, "this storage cannot be written to", self.name)
        if isinstance(error, _FINAL):
            return ReadError(self.name, text)
        return None


class _Ranges(io.RawIOBase):
    """A file elsewhere, of which a range at a time is fetched; one that is lost on the way is fetched again."""

    def __init__(self, place: Elsewhere) -> None:
        self._place, self._at = place, 0
        self._file, self._version = place.tried(place.input)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + (0, self._at, self._version[0])[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), max(0, self._version[0] - self._at))
        data = self._place.tried(lambda: self._fetch(wanted)) if wanted else b""
        memoryview(buffer)[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _fetch(self, wanted: int) -> bytes:
        """Return bytes from here on; what fails leaves no connection behind."""
        try:
            if self._file is None:
                self._file, version = self._place.input()
                if version != self._version:
                    raise ReadError(self._place.name, "changed while linsep was reading it")
            self._file.seek(self._at)
            data: bytes = self._file.read(wanted)
            if not data:
                raise ConnectionError("the connection ended early")
            return data
        except BaseException:
            if self._file is not None:
                with suppress(Exception):
                    self._file.close()
            self._file = None
            raise

    def close(self) -> None:
        if not self.closed and self._file is not None:
            with suppress(Exception):
                self._file.close()
        super().close()


def _storage(url: str) -> tuple[Any, str]:
    """Return the file system that knows a URL, and the path in it."""
    safe = quote(url, safe="%:/?#[]@!$&'()*+,;=~")
    try:
        found: tuple[Any, str] = arrow_fs.FileSystem.from_uri(safe)
        return found
    except pa.ArrowInvalid as error:
        if "nrecognized filesystem type" not in str(error):
            raise
    try:
        import fsspec
    except ModuleNotFoundError:
        scheme = url.partition("://")[0]
        raise ImportError(f"files of {scheme}:// need fsspec: pip install 'linsep[storage]'") from None
    system, path = fsspec.core.url_to_fs(url)
    return arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(system)), path


def _length(found: Any, place: Elsewhere) -> int:
    """Return the size of a file; some servers tell it for an open file alone."""
    if found.size is not None:
        return int(found.size)
    raise ReadError(place.name, "the server does not report the size of the file: download it first")


def _fits(name: str, pattern: str) -> bool:
    """Say whether a name fits a pattern, part by part; two stars stand for any folders."""
    if "**" in pattern:
        return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name, pattern.replace("**/", ""))
    names, parts = name.split("/"), pattern.split("/")
    return len(names) == len(parts) and all(map(fnmatch.fnmatchcase, names, parts))


def _line(error: BaseException) -> str:
    """Return the first line of an error's text, without secrets."""
    text = masked((str(error).splitlines() or [""])[0]) or type(error).__name__
    return text if len(text) <= 200 else text[:197] + "..."
