"""Splits a source into shards by the data alone, so the result does not depend on the workers."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise

from linsep.data.columnar import open_table
from linsep.data.files import File, exists, is_url, masked, open_bytes
from linsep.data.numpy_files import mapped
from linsep.data.options import FORMATS
from linsep.data.row_numbers import Dropped
from linsep.data.source import Block, Source, left_out
from linsep.data.source import Piece as RowPiece
from linsep.errors import ParameterError, ReadError

Span = tuple[int, int] | None  # of a file: bytes of text, rows, row groups, batches; None for all of it
Piece = tuple[str, Span, int]  # path, span, bytes

_CODECS = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # gzip, zstd


@dataclass(frozen=True)
class Shard:
    """A stretch of a source that one worker reads, holds, and passes over: some files, or part of one.

    Attributes
    ----------
    number : int
        Its place among all shards, which is also the order of their rows.
    pieces : tuple of (path, span, bytes)
        What it consists of. The span is in bytes of text, rows of an array, row groups or batches of a table; None
        stands for the whole file.

    Examples
    --------
    >>> from linsep.cluster import Shard
    >>> shard = Shard(0, (("a.csv", None, 500), ("b.csv", (0, 200), 200)))
    >>> print(shard, shard.size)
    shard 0 (a.csv and 1 more) 700
    """

    number: int
    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        """Bytes, as they lie on the disk or in the row groups."""
        return sum(size for _, _, size in self.pieces)

    def __str__(self) -> str:
        path, span, _ = self.pieces[0]
        where = "" if span is None else f" from {span[0]} to {span[1]}"
        more = f" and {len(self.pieces) - 1} more" if len(self.pieces) > 1 else ""
        return f"shard {self.number} ({masked(path)}{where}{more})"

    def read(self, source: Source) -> Iterator[Block]:
        """Yield the blocks of this shard, read as the source is; rows are numbered from 0."""
        first_row = 0
        parts: list[Dropped] = []
        for X, y, kept in self.pieces_of(source):
            parts.append(left_out(X.shape[0], kept))
            if X.shape[0]:
                yield Block(X, y, first_row)
                first_row += X.shape[0]
        source.dropped = replace(Dropped.joined(parts), cells=source.missing_cells())

    def pieces_of(self, source: Source) -> Iterator[RowPiece]:
        """Yield the rows of this shard as they are read; a piece knows which rows were dropped."""
        source.files = [source.files[0], *(File(path, part=span) for path, span, _ in self.pieces)]
        for file in source.files[1:]:
            try:
                yield from source.read_file(file)
            except ReadError as error:
                raise _placed(error, file) from None


def _placed(error: ReadError, file: File) -> ReadError:
    """Return what is wrong in part of a file with its line in the whole file, or say which machine lacks the file."""
    path = str(file.path)
    if is_url(path):
        path = file.name
    elif not exists(path):
        return ReadError(path, f"no such file on {platform.node()}; all workers must find it under this path")
    line = re.match(re.escape(path) + r":(\d+)", error.where)
    if line is None or file.part is None:
        return error
    number = int(line[1]) + _count(str(file.path), (0, file.part[0]), b"\n")
    return ReadError(f"{path}:{number}{error.where[line.end() :]}", error.what, *error.settings)


def cut(
    source: Source, shard_bytes: int, count: Callable[[list[Piece]], Iterable[int]] | None = None
) -> tuple[Source, list[Shard]]:
    r"""Cut a source into shards of about a given size, in the order of its rows.

    Parameters
    ----------
    source : Source
        Of files; what comes from a stream cannot be cut.
    shard_bytes : int
        Larger files are cut: text at line ends, NPY between rows, Parquet between row groups, Arrow files between
        batches. Compressed text, NPZ and Arrow streams stay whole. Smaller files that follow each other share a shard.
    count : callable, optional
        Counts the quotes in pieces of CSV; by default they are counted here.

    Returns
    -------
    source : Source
        The same with absolute paths, fit to be sent to workers.
    shards : list of Shard

    Examples
    --------
    >>> import os, tempfile
    >>> from linsep.cluster import cut
    >>> from linsep import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "data.svm")
    ...     with open(path, "w") as file:
    ...         _ = file.write("1 1:1\n-1 2:1\n" * 50)
    ...     _, shards = cut(read(path), shard_bytes=300)
    >>> [shard.size for shard in shards]
    [221, 214, 215]
    """
    if shard_bytes < 1:
        raise ParameterError("shard_bytes", shard_bytes, "positive")
    if source.options.format == "csv":
        source.first_block()  # decides what the columns are, for all shards
    source = copy(source)
    if any(file.path is None for file in source.files):
        raise ValueError("a cluster cannot read a stream: give files that all workers can open")
    source.files = [
        File(path if is_url(path) else os.path.abspath(path)) for path in (str(file.path) for file in source.files)
    ]
    for file in source.files:
        file.encoding = source.options.encoding
    pieces: list[Piece] = []
    for file in source.files:
        pieces += _pieces(file, source.options.format, shard_bytes)
    if source.options.format == "csv" and any(span is not None for _, span, _ in pieces):
        pieces = _unquoted(pieces, list(count(pieces) if count else map(quotes, pieces)))
    groups: list[list[Piece]] = []
    left = 0
    for piece in pieces:
        left -= piece[2]
        if not groups or left < 0:
            groups.append([])
            left = shard_bytes - piece[2]
        groups[-1].append(piece)
    return source, [Shard(number, tuple(group)) for number, group in enumerate(groups)]


def _pieces(file: File, form: str, most: int) -> list[Piece]:
    path, size = str(file.path), file.size or 0
    if form == "npy":
        array = mapped(file)
        return _even(path, len(array), array.nbytes, most)
    if form == "parquet":
        with open_table(file, form) as table:
            groups = table.part_bytes
        if sum(groups) <= most:
            return [(path, None, sum(groups))]
        return [(path, (k, k + 1), size) for k, size in enumerate(groups)]
    if form == "arrow":
        with open_table(file, form) as table:
            batches = len(table.part_bytes)
        return _even(path, batches, size, most)
    if not FORMATS[form].by_lines or size <= most or _is_compressed(path) or file.encoding is not None:
        return [(path, None, size)]
    edges = [0]
    with open_bytes(path) as text:
        for k in range(1, -(-size // most)):
            text.seek(k * size // -(-size // most))
            text.readline()
            edges.append(text.tell())
    return [(path, (start, stop), stop - start) for start, stop in pairwise([*edges, size]) if stop > start]


def _even(path: str, units: int, size: int, most: int) -> list[Piece]:
    parts = max(1, min(units, -(-size // most)))
    if parts == 1:
        return [(path, None, size)]
    edges = [k * units // parts for k in range(parts + 1)]
    return [(path, (start, stop), size * (stop - start) // units) for start, stop in pairwise(edges)]


def quotes(piece: Piece) -> int:
    """Return how many quotes a piece of text has."""
    path, span, _ = piece
    return 0 if span is None else _count(path, span, b'"')


def _count(path: str, span: tuple[int, int], byte: bytes) -> int:
    number, left = 0, span[1] - span[0]
    try:
        with open_bytes(path) as text:
            text.seek(span[0])
            while left > 0 and (data := text.read(min(left, 1 << 22))):
                number += data.count(byte)
                left -= len(data)
    except OSError as error:
        raise ReadError(masked(path), f"{error.strerror}") from None
    return number


def _unquoted(pieces: list[Piece], counts: list[int]) -> list[Piece]:
    """Join pieces that were cut inside of a quoted cell: an odd number of quotes comes before the cut."""
    joined: list[Piece] = []
    odd = False
    for (path, span, size), number in zip(pieces, counts, strict=True):
        if odd and span is not None and span[0] > 0:
            _, before, length = joined[-1]
            assert before is not None
            joined[-1] = (path, (before[0], span[1]), length + size)
        else:
            joined.append((path, span, size))
            odd = False
        odd ^= bool(number % 2)
    return joined


def _is_compressed(path: str) -> bool:
    with open_bytes(path) as file:
        return file.read(4).startswith(_CODECS)
