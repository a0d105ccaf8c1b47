"""Opens paths, globs and standard input, decompresses them, and splits them at line ends."""

from __future__ import annotations

import codecs
import errno
import hashlib
import io
import os
import stat
import sys
import tempfile
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any, TypeVar

from linsep.data.places import elsewhere, exists, has_wildcards, is_folder, is_url, masked, matching
from linsep.errors import ReadError as ReadError

if TYPE_CHECKING:
    from linsep.data.elsewhere import Elsewhere

Item = TypeVar("Item")
Result = TypeVar("Result")
Cut = Callable[[bytearray, int], int]  # a buffer and how much of it is filled -> where its last whole line ends

_LONGEST = 1 << 26  # bytes of one line; a longer one is a mistake, such as a quote that is never closed
_SMALL = 1 << 16  # bytes of the first buffer
_SAMPLE = 1 << 16  # bytes of a file's beginning and end that name it


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
    except PermissionError:
        raise ReadError(name, "no permission to read it") from None
    except MemoryError:  # Arrow's is one, too
        raise MemoryError(f"to read {name}") from None
    except (OSError, ValueError, RuntimeError, TypeError, KeyError, IndexError, NotImplementedError) as error:
        if not isinstance(error, OSError) and not _is_arrows(error):
            raise
        if getattr(error, "errno", None) == errno.ENOMEM:  # a file that was to be mapped
            raise MemoryError(f"to read {name}") from None
        raise ReadError(name, getattr(error, "strerror", None) or one_line(error)) from None


def _is_arrows(error: Exception) -> bool:
    """Say whether an error is one of pyarrow's, which need not be loaded."""
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(error, arrow.ArrowException)


def one_line(error: BaseException) -> str:
    """Return the first line of an error's text, not too long."""
    text = (str(error).splitlines() or [type(error).__name__])[0]
    return text if len(text) <= 200 else text[:197] + "..."


class File:
    """One input: a path, a URL, or a stream, whose bytes are kept in an anonymous temporary file to be read again.

    ``part`` says which part of a path is meant, from where and up to where: bytes of text, rows of an array, row groups
    or batches of a table. What is asked of the whole file, such as its size, does not mind it.
    """

    def __init__(self, path: Any, *, spool: bool = True, part: tuple[int, int] | None = None) -> None:
        self.path: str | None = None
        self.part = part
        self.encoding: str | None = None  # of a text that is not UTF-8
        self.peeking = False  # whether a stream is read to be read again
        self.position = 0  # bytes taken from the disk since the file was opened last
        self._far: Elsewhere | None = None
        if isinstance(path, str | os.PathLike) and os.fspath(path) != "-":
            self.name = masked(str(os.fspath(path)))
            if is_url(path) or not (os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode)):
                self.path = str(os.fspath(path))
                self._far = elsewhere(path)
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
        return self._far is not None

    @property
    def is_spent(self) -> bool:
        """Whether it is a stream whose bytes are gone."""
        return self.path is None and self._spent

    @property
    def size(self) -> int | None:
        """Bytes on disk; None for a stream whose end has not been seen."""
        if self.path is not None:
            with complaints(self.name):
                return os.stat(self.path).st_size if self._far is None else self._far.size
        return self._length if self._ended and not self._spent else None

    @contextmanager
    def open(self, *, last: bool = False) -> Iterator[IO[bytes]]:
        """Open the bytes, decompressed, from the beginning; ``last`` says that they need not be kept."""
        with complaints(self.name), self.raw(last=last) as raw:
            self.position = 0
            magic = raw.peek(4)[:4]
            codec = "gzip" if magic[:2] == b"\x1f\x8b" else "zstd" if magic == b"\x28\xb5\x2f\xfd" else None
            counted = _Counted(self, raw)
            if codec is None:
                yield self._recoded(counted)  # type: ignore[arg-type]
            else:
                import pyarrow as pa  # slow to import, and not needed for plain text

                with pa.CompressedInputStream(pa.PythonFile(counted, "r"), codec) as stream:
                    yield self._recoded(stream)

    def _recoded(self, stream: IO[bytes]) -> IO[bytes]:
        """Return a text in UTF-8, whatever it is written in."""
        if self.encoding is None or codecs.lookup(self.encoding).name == "utf-8":
            return stream
        return _Recoded(stream, self.encoding, self.name)  # type: ignore[return-value]

    @contextmanager
    def raw(self, *, last: bool = False) -> Iterator[io.BufferedReader]:
        """Open the bytes as they are on disk, from the beginning."""
        if self.path is not None:
            with self._bytes() if self.part is None else _span(self._bytes(), self.part) as file:
                yield file
        elif self._spent:
            raise ReadError(self.name, "this stream can be read only once: save it to a file first")
        else:
            with io.BufferedReader(_Kept(self, keep=self._spool or self.peeking or not last), 1 << 16) as file:
                yield file  # type: ignore[misc]

    def _bytes(self) -> io.BufferedReader:
        """Open the file that the path names."""
        assert self.path is not None
        return open(self.path, "rb") if self._far is None else self._far.open()

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
            return self.path if self._far is None else self._far.open()
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


class _Span(io.RawIOBase):
    """Some bytes of a file."""

    def __init__(self, file: io.BufferedReader, start: int, stop: int) -> None:
        self._file = file
        self._file.seek(start)
        self._left = stop - start

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        taken = self._file.readinto(memoryview(buffer)[: self._left])
        self._left -= taken
        return taken

    def close(self) -> None:
        self._file.close()
        super().close()


def _span(file: io.BufferedReader, part: tuple[int, int]) -> io.BufferedReader:
    """Open some bytes of an open file."""
    return io.BufferedReader(_Span(file, *part), 1 << 16)


class _Kept(io.RawIOBase):
    """A stream read from its beginning, as often as one likes."""

    def __init__(self, file: File, *, keep: bool) -> None:
        self._file, self._keep, self._place = file, keep, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        self._place = place + (0, self._place, self._file.size or 0)[whence]
        return self._place

    def readinto(self, buffer: Any) -> int:
        taken = self._file.take(self._place, memoryview(buffer), self._keep)
        self._place += taken
        return taken


class _Recoded(io.RawIOBase):
    """A text in another encoding, as UTF-8."""

    def __init__(self, stream: IO[bytes], encoding: str, name: str) -> None:
        self._stream, self._name, self._encoding = stream, name, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and not self._ended:
            data = self._stream.read(1 << 18)
            self._ended = not data
            try:
                self._ready = self._decoder.decode(data, final=self._ended).encode("utf-8", "surrogatepass")
            except UnicodeError as error:
                raise ReadError(self._name, f"the text is not {self._encoding}: {one_line(error)}") from None
        taken = min(len(buffer), len(self._ready))
        memoryview(buffer)[:taken] = self._ready[:taken]
        self._ready = self._ready[taken:]
        return taken


class _Counted(io.RawIOBase):
    """A stream that tells its file how far it has been read."""

    def __init__(self, file: File, raw: io.BufferedReader) -> None:
        self._file, self._raw = file, raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        taken = self._raw.readinto(buffer)
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


def last_newline(buffer: bytearray, filled: int) -> int:
    """Return where the last whole line ends."""
    return buffer.rfind(b"\n", 0, filled) + 1


def pieces(
    file: File, size: int, *, cut: Cut = last_newline, last: bool = False, buffers: int = 1
) -> Iterator[memoryview]:
    """Yield whole lines, about ``size`` bytes at a time.

    Each piece ends in a newline and lies in one of ``buffers`` buffers, which are used in turn.
    """
    with file.open(last=last) as stream:
        buffer = bytearray(min(size, _SMALL) + 1)  # a large one takes longer than a small file
        spare: deque[bytearray] = deque()
        begun = 0  # bytes carried over from the piece before
        skip_mark = True
        while True:
            room = memoryview(buffer)
            filled = begun + _fill(stream, room[begun:-1])
            if filled == len(buffer) - 1 < size:
                buffer = buffer + bytearray(size + 1 - len(buffer))
                room = memoryview(buffer)
                filled += _fill(stream, room[filled:-1])
            ended = filled < len(buffer) - 1
            if skip_mark and buffer.startswith(b"\xef\xbb\xbf"):  # byte order mark
                room[: filled - 3] = room[3:filled]
                filled -= 3
            skip_mark = False
            end = cut(buffer, filled)
            if ended and end < filled:
                if buffer[filled - 1] != 10:
                    buffer[filled] = 10
                    filled += 1
                end = filled
            if end:
                yield room[:end]
                spare.append(buffer)
                buffer = spare.popleft() if len(spare) == buffers else bytearray(0)
                if len(buffer) != len(room):  # new, or from before a line that needed more room
                    buffer = bytearray(len(room))
                begun = filled - end
                memoryview(buffer)[:begun] = room[end:filled]
            elif not ended:
                if len(buffer) > _LONGEST:
                    raise ReadError(file.name, f"a line has more than {_LONGEST:,} bytes; is this a text file?")
                longer = bytearray(2 * len(buffer))
                longer[:filled] = room[:filled]
                buffer, begun = longer, filled
            if ended:
                return


def side_by_side(items: Iterable[Item], job: Callable[[Item], Result]) -> Iterator[tuple[Item, Future[Result]]]:
    """Do a job on every item, as many at a time as there are cores, and yield the items in their order.

    Of the items that have been asked for, at most ``cores() + 1`` are still in use.
    """
    items = iter(items)
    first, problem = list(islice(items, 1)), None
    try:
        first += islice(items, 1)
    except Exception as error:  # what is wrong in what came before is to be told first
        problem = error
    if len(first) < 2:  # not worth a thread
        for item in first:
            done: Future[Result] = Future()
            try:
                done.set_result(job(item))
            except Exception as error:
                done.set_exception(error)
            yield item, done
        if problem is not None:
            raise problem
        return
    with ThreadPoolExecutor(cores()) as pool:
        waiting: deque[tuple[Item, Future[Result]]] = deque()
        try:
            try:
                for item in chain(first, items):
                    waiting.append((item, pool.submit(job, item)))
                    if len(waiting) > cores():
                        yield waiting.popleft()
            except Exception:  # something may be wrong in what came before, and is to be told first
                yield from waiting
                raise
            yield from waiting
        finally:
            pool.shutdown(cancel_futures=True)


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def files(path: Any, *, spool: bool = True) -> list[File]:
    """Return the files that a path, a glob, a stream, or a list of them stands for."""
    found: list[File] = []
    for one in path if isinstance(path, list | tuple) else [path]:
        if isinstance(one, str | os.PathLike) and has_wildcards(one):
            name = masked(os.fspath(one))
            with complaints(name):
                names = matching(one)
            if not names:
                raise ReadError(name, "no file matches this pattern")
            found += [File(name) for name in names]
        else:
            found.append(File(one, spool=spool))
    if not found:
        raise ReadError("", "no files given")
    for file in found:
        if file.path is not None and is_folder(file.path):
            raise ReadError(file.name, "is a folder, not a file")
        if file.path is not None:
            with complaints(file.name):
                if not exists(file.path):
                    raise ReadError(file.name, "no such file")
    return found
