"""Opens files: paths, globs, URLs and standard input, decompressed; writes them as a whole or not at all.

pyarrow's file systems serve URLs (S3, Google, Azure, Hadoop), fsspec the rest (HTTP, memory, ...). They take
credentials from the environment, and try again where a network fails. A URL may hold secrets: errors and notes name
it ``masked``.
"""

from __future__ import annotations

import codecs
import errno
import fnmatch
import glob
import hashlib
import io
import mmap
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from linsep.errors import ReadError as ReadError

Place = str | os.PathLike[str]
Cut = Callable[[mmap.mmap, int], int]  # a buffer and how much of it is filled -> where its last whole line ends

_LONGEST = 1 << 26  # bytes of one line; a longer one is a mistake, such as a quote that is never closed
_PRIVATE: dict[str, Any] = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if os.name == "posix" else {}
_LARGEST = 1 << 30  # bytes of a piece
_SAMPLE = 1 << 16  # bytes of a file's beginning and end that name it
_FAR = 1 << 20  # bytes that are fetched from a URL at least
_OBJECTS = ("s3", "gcs", "abfs")  # where a file appears when it is complete, and folders do not exist
_DENIED = re.compile("ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT|CLIENT|EXPIRED_TOKEN|HTTP status 40[13]")
_ABSENT = re.compile("NO_SUCH_KEY|RESOURCE_NOT_FOUND")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # two letters at least: one is a drive of Windows
_SECRETS = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]+://)"
    r"(?:[^\s/@'\"]*@|[^\s/@'\"]*:[^\s@'\"]*@)?"  # who asks; a secret may have slashes in it
    r"([^\s?'\"]*)(?:\?[^\s'\"]*)?"  # where; a query may hold a token
)


def is_url(path: Place) -> bool:
    """Say whether a path is the URL of a file elsewhere."""
    return bool(_URL.match(os.fspath(path)))


def masked(text: str) -> str:
    """Return a text with everything left out of its URLs that could be a secret: user, password and query."""
    return _SECRETS.sub(r"\1\2", text) if "://" in text else text


def one_line(error: BaseException) -> str:
    """Return the first line of an error's text, not too long and without secrets."""
    text = masked((str(error).splitlines() or [""])[0]) or type(error).__name__
    return text if len(text) <= 200 else text[:197] + "..."


@contextmanager
def complaints(name: str) -> Iterator[None]:
    """Turn what goes wrong below, in opening, decompressing or decoding a file, into one line that names the file."""
    try:
        yield
    except ReadError:
        raise
    except FileNotFoundError:
        raise ReadError(name, "no such file") from None
    except IsADirectoryError:
        raise ReadError(name, "is a folder, not a file") from None
    except PermissionError as error:
        raise ReadError(name, (is_url(name) and error.strerror) or "no permission to read it") from None
    except MemoryError:  # Arrow's is one, too
        raise MemoryError(f"to read {name}") from None
    except Exception as error:
        arrow = sys.modules.get("pyarrow")  # which need not be loaded
        if not isinstance(error, OSError) and (arrow is None or not isinstance(error, arrow.ArrowException)):
            raise
        if getattr(error, "errno", None) == errno.ENOMEM:  # a file that was to be mapped
            raise MemoryError(f"to read {name}") from None
        raise ReadError(name, getattr(error, "strerror", None) or one_line(error)) from None


# ---------------------------------------------------------------------------------------------------------------
# URLs


@contextmanager
def _answers(url: str) -> Iterator[None]:
    """Turn what a storage says into an OSError of one line, without secrets."""
    name = masked(url)
    try:
        yield
    except ReadError:
        raise
    except Exception as error:
        text = one_line(error)
        if isinstance(error, OSError) and error.filename == name:
            raise  # ours already
        if isinstance(error, PermissionError) or getattr(error, "status", 0) in (401, 403) or _DENIED.search(text):
            raise PermissionError(errno.EACCES, f"no permission: {text}", name) from None
        if isinstance(error, FileNotFoundError) or _ABSENT.search(text):
            raise FileNotFoundError(errno.ENOENT, "no such file", name) from None
        if "NO_SUCH_BUCKET" in text:
            raise OSError(errno.ENXIO, "there is no such bucket", name) from None
        if isinstance(error, NotImplementedError):
            raise OSError(errno.EROFS, "this storage cannot be written to", name) from None
        if isinstance(error, OSError):
            raise OSError(errno.EIO, f"the storage does not answer: {text}", name) from None
        raise ReadError(name, text) from None


def _storage(url: str) -> tuple[Any, str]:
    """Return the file system that knows a URL, in pyarrow's words, and the path in it."""
    import pyarrow as pa
    from pyarrow import fs

    with _answers(url):
        try:
            system, path = fs.FileSystem.from_uri(quote(url, safe="%:/?#[]@!$&'()*+,;=~"))
            return system, path
        except pa.ArrowInvalid as error:
            if "nrecognized filesystem type" not in str(error):
                raise
        try:
            import fsspec
        except ModuleNotFoundError:
            scheme = url.partition("://")[0]
            raise ImportError(f"files of {scheme}:// need fsspec: pip install 'linsep[storage]'") from None
        system, path = fsspec.core.url_to_fs(url)
        return fs.PyFileSystem(fs.FSSpecHandler(system)), path


def _stored(url: str) -> tuple[Any, Any]:
    """Return the file system of a URL and what it says of the file; raises OSError if there is none."""
    from pyarrow.fs import FileType

    system, path = _storage(url)
    with _answers(url):
        info = system.get_file_info(path)
        if info.type == FileType.NotFound:
            _check_bucket(system, path, url)
            raise FileNotFoundError(errno.ENOENT, "no such file", masked(url))
        if info.type == FileType.Directory:
            raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", masked(url))
    return system, info


def _check_bucket(system: Any, path: str, url: str) -> None:
    """Say so if not even the bucket is there."""
    from pyarrow.fs import FileType

    bucket = path.partition("/")[0]
    if system.type_name in _OBJECTS and bucket != path:
        with suppress(PermissionError), _answers(url):  # who may not look at it may still use it
            if system.get_file_info(bucket).type == FileType.NotFound:
                raise OSError(errno.ENXIO, f"there is no bucket {bucket}", masked(url))


def check_writable(url: str) -> None:
    """Refuse a URL that cannot be written to, as far as it shows beforehand."""
    from pyarrow.fs import FileType

    system, path = _storage(url)
    folder = path.rpartition("/")[0]
    if system.type_name in _OBJECTS:
        _check_bucket(system, path, url)
    elif folder and system.type_name != "py::fsspec+memory":
        with _answers(url):
            if system.get_file_info(folder).type == FileType.NotFound:
                raise OSError(errno.ENXIO, f"no such folder: {masked(url.rpartition('/')[0])}", masked(url))


def _matching_urls(url: str) -> list[str]:
    """Return the URLs of the files that a pattern stands for, in order of name."""
    from pyarrow.fs import FileSelector, FileType

    pattern, mark, query = url.partition("?")
    base = pattern[: pattern.index("*")].rpartition("/")[0]
    rest = pattern[len(base) + 1 :]
    system, folder = _storage(f"{base}{mark}{query}")
    try:
        with _answers(url):
            infos = system.get_file_info(FileSelector(folder, recursive="/" in rest))
    except FileNotFoundError:
        _check_bucket(system, f"{folder}/{rest}", url)
        return []
    files = [one.path for one in infos if one.type == FileType.File]
    names = [path[len(folder.rstrip("/")) + 1 :] for path in files]
    return [f"{base}/{quote(name)}{mark}{query}" for name in sorted(names) if _fits(name, rest)]


def _fits(name: str, pattern: str) -> bool:
    """Say whether a name fits a pattern, part by part; two stars stand for any folders."""
    if "**" in pattern:
        return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name, pattern.replace("**/", ""))
    names, parts = name.split("/"), pattern.split("/")
    return len(names) == len(parts) and all(map(fnmatch.fnmatchcase, names, parts))


class _Raw(io.RawIOBase):
    """Bytes that can be read."""

    def readable(self) -> bool:
        return True


class _Far(_Raw):
    """A file at a URL, whose errors are one line without secrets."""

    def __init__(self, url: str) -> None:
        system, info = _stored(url)
        self._url = url
        with _answers(url):
            self._file = system.open_input_file(info.path)

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        with _answers(self._url):
            return int(self._file.seek(offset, whence))

    def readinto(self, buffer: Any) -> int:
        with _answers(self._url):
            return int(self._file.readinto(buffer))

    def close(self) -> None:
        if not self.closed:
            with suppress(Exception):
                self._file.close()
        super().close()


@contextmanager
def _uploading(url: str) -> Iterator[IO[bytes]]:
    """Open a temporary file whose bytes take the place of a URL when the block ends well: all of them, or none."""
    with tempfile.TemporaryFile() as draft:
        yield draft
        draft.flush()
        whole = mmap.mmap(draft.fileno(), 0, access=mmap.ACCESS_READ) if draft.seek(0, os.SEEK_END) else b""
        system, path = _storage(url)
        folder, slash, name = path.rpartition("/")
        aside = system.type_name not in _OBJECTS
        target = f"{folder}{slash}.{name[:200]}.{secrets.token_hex(6)}.part" if aside else path
        try:

            def send() -> None:  # by default the name would say how to compress it
                with system.open_output_stream(target, compression=None) as out:
                    out.write(whole)

            with _answers(url):
                # in a thread, which no signal interrupts: to close a stream early would show what has arrived of it
                with ThreadPoolExecutor(1) as pool:
                    pool.submit(send).result()
                if aside:
                    system.move(target, path)
        except BaseException:
            if aside:
                with suppress(Exception):
                    system.delete_file(target)
            raise


# ---------------------------------------------------------------------------------------------------------------
# Paths and URLs alike


def open_bytes(path: Place) -> io.BufferedReader:
    """Open a file to be read from anywhere in it."""
    return io.BufferedReader(_Far(os.fspath(path)), _FAR) if is_url(path) else open(path, "rb")


def size(path: Place) -> int:
    """Return how many bytes a file has."""
    if not is_url(path):
        return os.stat(path).st_size
    length = _stored(os.fspath(path))[1].size
    if length is None:
        raise ReadError(masked(os.fspath(path)), "the server does not report the size of the file: download it first")
    return int(length)


def exists(path: Place) -> bool:
    """Say whether there is such a file, or a folder of this name."""
    if not is_url(path):
        return os.path.exists(path)
    with suppress(IsADirectoryError):
        try:
            _stored(os.fspath(path))
        except FileNotFoundError:
            return False
    return True


@contextmanager
def local_copy(path: Place) -> Iterator[Place]:
    """Give a path of this machine, to which a file elsewhere is copied for as long as the block lasts."""
    if not is_url(path):
        yield path
        return
    ending = os.path.basename(masked(os.fspath(path)))[-40:]  # says what the file is
    with tempfile.NamedTemporaryFile(suffix=ending) as copy:
        with open_bytes(path) as file:
            shutil.copyfileobj(file, copy, 1 << 20)
        copy.flush()
        yield copy.name


@contextmanager
def replacing(path: Place) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of ``path`` when the block ends well, and leaves no trace when it does not.

    The bytes go to a new file in the same folder, are brought to the disk, and then take the name in one step. A
    symbolic link is followed; what is not a regular file (a pipe, a terminal) is written to as it is. What goes to a
    URL is complete before any of it is sent.
    """
    if is_url(path):
        with _uploading(os.fspath(path)) as draft:
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
def _named(path: Place) -> Iterator[None]:
    """Have an error tell which file there is no room for: a write knows no name."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL and error.filename is None:
            error.filename = os.fspath(path)
        raise


# ---------------------------------------------------------------------------------------------------------------
# Inputs


class File:
    """One input: a path, a URL, or a stream, whose bytes are kept in an anonymous temporary file to be read again.

    ``part`` says which part of a path is meant, from where and up to where: bytes of text, rows of an array, row groups
    or batches of a table. What is asked of the whole file, such as its size, does not mind it.
    """

    def __init__(self, path: Any, *, spool: bool = True, part: tuple[int, int] | None = None) -> None:
        self.path: str | None = None
        self.part = part
        self.encoding: str | None = None  # of a text that is not UTF-8
        self.comment = b""  # with which lines begin that are read as empty ones
        self.skip_rows = 0  # lines at the beginning that are, too
        self.peeking = False  # whether a stream is read to be read again
        self.position = 0  # bytes taken from the disk since the file was opened last
        if isinstance(path, str | os.PathLike) and os.fspath(path) != "-":
            self.name = masked(str(os.fspath(path)))
            if is_url(path) or not (os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode)):
                self.path = str(os.fspath(path))
                return
            path = open(path, "rb")  # noqa: SIM115 - a named pipe is a stream
            weakref.finalize(self, path.close)
        self._stream: IO[bytes] = _standard_input() if isinstance(path, str | os.PathLike) else path
        if not hasattr(self._stream, "read") or isinstance(self._stream, io.TextIOBase):
            raise TypeError(f"expected a path, a list of paths or a binary stream, got {type(path).__name__}")
        name = getattr(self._stream, "name", None)
        self.name = "standard input" if name in ("<stdin>", "-", 0) else name if isinstance(name, str) else "input"
        self._kept: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
        weakref.finalize(self, self._kept.close)
        self._length = 0  # bytes kept
        self._spool = spool
        self._spent = False  # the stream has been read beyond what is kept
        self._ended = False

    @property
    def is_far(self) -> bool:
        """Whether it is a URL."""
        return self.path is not None and is_url(self.path)

    @property
    def begins_inside(self) -> bool:
        """Whether it is a part that does not begin where the file does."""
        return self.part is not None and self.part[0] > 0

    @property
    def is_spent(self) -> bool:
        """Whether it is a stream whose bytes are gone."""
        return self.path is None and self._spent

    @property
    def size(self) -> int | None:
        """Bytes on disk; None for a stream whose end has not been seen."""
        if self.path is not None:
            with complaints(self.name):
                return size(self.path)
        return self._length if self._ended and not self._spent else None

    @contextmanager
    def open(self, *, last: bool = False) -> Iterator[Any]:
        """Open the bytes, decompressed and in UTF-8, from the beginning; ``last`` says that they need not be kept."""
        with complaints(self.name), self.raw(last=last) as raw:
            self.position = 0
            magic = raw.peek(4)[:4]
            codec = "gzip" if magic[:2] == b"\x1f\x8b" else "zstd" if magic == b"\x28\xb5\x2f\xfd" else None
            recoded = self.encoding is not None and codecs.lookup(self.encoding).name != "utf-8"
            stream: Any = _Counted(self, raw)
            if codec is not None or recoded:
                import pyarrow as pa  # slow to import, and not needed for plain text

                stream = pa.PythonFile(stream, "r")
                stream = stream if codec is None else pa.CompressedInputStream(stream, codec)
            if recoded:
                stream = pa.transcoding_input_stream(stream, self.encoding, "utf-8")
            if self.comment or self.skip_rows:
                skip = 0 if self.begins_inside else self.skip_rows
                stream = io.BufferedReader(_Blanked(stream, self.comment, skip), 1 << 16)
            try:
                yield stream
            except UnicodeError as error:
                if not recoded:
                    raise
                raise ReadError(self.name, f"the text is not {self.encoding}: {one_line(error)}") from None

    @contextmanager
    def raw(self, *, last: bool = False) -> Iterator[io.BufferedReader]:
        """Open the bytes as they are on disk, from the beginning."""
        if self.path is not None:
            with open_bytes(self.path) as file:
                if self.part is None:
                    yield file
                else:
                    file.seek(self.part[0])
                    yield io.BufferedReader(_Counted(None, file, self.part[1] - self.part[0]), 1 << 16)
        elif self._spent:
            raise ReadError(self.name, "this stream can be read only once: save it to a file first")
        else:
            with io.BufferedReader(_Kept(self, keep=self._spool or self.peeking or not last), 1 << 16) as kept:
                yield kept  # type: ignore[misc]

    def take(self, place: int, buffer: memoryview, keep: bool) -> int:
        """Read a stream's bytes at ``place`` into ``buffer``: those that are kept, or else new ones."""
        if place < self._length:
            self._kept.seek(place)
            return self._kept.readinto(buffer[: self._length - place])  # type: ignore[attr-defined, no-any-return]
        # what is there, and no more: while a longer read waits for the rest, Ctrl-C is not heard
        data = getattr(self._stream, "read1", self._stream.read)(len(buffer))
        buffer[: len(data)] = data
        if not data:
            self._ended = True
        elif keep:
            self._kept.seek(place)
            self._kept.write(data)
            self._length += len(data)
        else:
            self._spent = True
        return len(data)

    def whole(self) -> str | IO[bytes]:
        """Return something that can be read in any order: a path, an open URL, or a stream in a temporary file."""
        if self.path is not None:
            return open_bytes(self.path) if self.is_far else self.path
        with self.raw() as raw:
            while raw.read(1 << 20):
                pass
        return io.BufferedReader(_Kept(self, keep=True))

    def head(self, size: int) -> bytes:
        """Return the first bytes, decompressed, without using them up."""
        with self.open() as stream:
            buffer = bytearray(size)
            return bytes(buffer[: _fill(stream, memoryview(buffer))])

    def fingerprint(self) -> str:
        """Return a name for the content: its length, its beginning and its end, and some of what lies between."""
        with complaints(self.name):
            whole = self.whole()
            with open(whole, "rb") if isinstance(whole, str) else whole as raw:
                length = raw.seek(0, os.SEEK_END)
                digest = hashlib.sha256(str(length).encode())
                for start in sorted({0, length // 4, length // 2, 3 * length // 4, max(0, length - _SAMPLE)}):
                    raw.seek(start)
                    digest.update(raw.read(_SAMPLE))
        return digest.hexdigest()


def _standard_input() -> IO[bytes]:
    """Return standard input with a buffer of its own.

    The interpreter closes that of ``sys.stdin`` when it ends, which fails while a thread still waits for more input.
    """
    raw = getattr(sys.stdin.buffer, "raw", None)
    return sys.stdin.buffer if raw is None else io.BufferedReader(io.FileIO(raw.fileno(), closefd=False))


class _Blanked(_Raw):
    """A text in which some lines are empty: the first ones, and those that begin with a sign."""

    def __init__(self, text: Any, comment: bytes, skip: int) -> None:
        self.text, self.skip = text, skip
        self.comment = re.compile(rb"^[ \t]*" + re.escape(comment) + rb"[^\n]*", re.MULTILINE) if comment else None
        self.ready, self.rest, self.ended = b"", b"", False

    def readinto(self, buffer: Any) -> int:
        while not self.ready and not self.ended:
            data = self.text.read(1 << 16)
            self.ended = not data
            whole, newline, self.rest = (self.rest + data).rpartition(b"\n")
            whole += newline
            if self.ended:
                whole, self.rest = whole + self.rest, b""
            while self.skip and whole:
                _, newline, whole = whole.partition(b"\n")
                self.ready += newline
                self.skip -= bool(newline)
            self.ready += whole if self.comment is None else self.comment.sub(b"", whole)
        size = min(len(buffer), len(self.ready))
        buffer[:size], self.ready = self.ready[:size], self.ready[size:]
        return size


class _Kept(_Raw):
    """A stream read from its beginning, as often as one likes."""

    def __init__(self, file: File, *, keep: bool) -> None:
        self._file, self._keep, self._place = file, keep, 0

    def seekable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        self._place = place + (0, self._place, self._file.size or 0)[whence]
        return self._place

    def readinto(self, buffer: Any) -> int:
        taken = self._file.take(self._place, memoryview(buffer), self._keep)
        self._place += taken
        return taken


class _Counted(_Raw):
    """The next bytes of a stream; it tells its file, if it has one, how many were read."""

    def __init__(self, file: File | None, raw: io.BufferedReader, most: int = sys.maxsize) -> None:
        self._file, self._raw, self._left = file, raw, most

    def readinto(self, buffer: Any) -> int:
        taken = self._raw.readinto(memoryview(buffer)[: self._left])
        self._left -= taken
        if self._file is not None:
            self._file.position += taken
        return taken


def _fill(stream: IO[bytes], buffer: memoryview) -> int:
    """Read until the buffer is full or the stream ends: how pieces are cut must not depend on how a pipe delivers."""
    filled = 0
    while filled < len(buffer):
        taken = stream.readinto(buffer[filled:])  # type: ignore[attr-defined]
        if not taken:
            break
        filled += taken
    return filled


def _buffer(size: int) -> mmap.mmap:
    """Return memory that comes page by page: a small file takes little of it."""
    return mmap.mmap(-1, size, **_PRIVATE)


def last_newline(buffer: mmap.mmap, filled: int) -> int:
    """Return where the last whole line ends."""
    return buffer.rfind(b"\n", 0, filled) + 1


def pieces(
    file: File, size: int, *, cut: Cut = last_newline, last: bool = False, buffers: int = 1
) -> Iterator[memoryview]:
    """Yield whole lines, about ``size`` bytes at a time.

    Each piece ends in a newline and lies in one of ``buffers`` buffers, which are used in turn.
    """
    with file.open(last=last) as stream:
        buffer = _buffer(min(size, _LARGEST) + 1)  # a byte more, for a newline at the end of the file
        spare: deque[mmap.mmap] = deque()
        begun, ended, is_first = 0, False, True  # bytes carried over from the piece before
        while not ended:
            view = memoryview(buffer)
            filled = begun + _fill(stream, view[begun:-1])
            ended = filled < len(buffer) - 1
            if is_first and buffer[:3] == codecs.BOM_UTF8:
                view[: filled - 3] = view[3:filled]
                filled -= 3
            is_first = False
            end = cut(buffer, filled)
            if ended and end < filled:
                if buffer[filled - 1] != 10:
                    buffer[filled] = 10
                    filled += 1
                end = filled
            begun = filled - end
            if end:
                yield view[:end]
                spare.append(buffer)
                following = spare.popleft() if len(spare) == buffers else None
                if following is None or len(following) != len(buffer):  # or from before a line that needed more room
                    following = _buffer(len(buffer))
            elif ended:
                return
            elif len(buffer) > _LONGEST:
                raise ReadError(file.name, f"a line has more than {_LONGEST:,} bytes; is this a text file?")
            else:
                following = _buffer(2 * len(buffer))
            memoryview(following)[:begun] = view[end:filled]
            buffer = following


def files(path: Any, *, spool: bool = True) -> list[File]:
    """Return the files that a path, a glob, a stream, or a list of them stands for."""
    opened: list[File] = []
    for one in path if isinstance(path, list | tuple) else [path]:
        pattern = os.fspath(one) if isinstance(one, str | os.PathLike) else ""
        # in a URL a question mark begins a query; the name of an existing file is no pattern
        if "*" in pattern.partition("?")[0] if is_url(pattern) else glob.has_magic(pattern) and not os.path.exists(one):
            name = masked(pattern)
            with complaints(name):
                names = _matching_urls(pattern) if is_url(pattern) else sorted(glob.glob(pattern, recursive=True))
            if not names:
                raise ReadError(name, "no file matches this pattern")
            opened += [File(name) for name in names]
        else:
            opened.append(File(one, spool=spool))
    if not opened:
        raise ReadError("", "no files given")
    for file in opened:
        if file.path is not None:
            if not is_url(file.path) and os.path.isdir(file.path):
                raise ReadError(file.name, "is a folder, not a file")
            with complaints(file.name):
                if not exists(file.path):
                    raise ReadError(file.name, "no such file")
    return opened
