"""Reads LIBSVM files as a source."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from linsep.data.byte_streams import File, ReadError, cores, pieces, side_by_side
from linsep.data.libsvm_text import LineError, Parsed, parse
from linsep.data.recycling import Recycler
from linsep.data.source import SHORT, Options, Piece, Source
from linsep.data.text_lines import Location, has_blank_lines, line_numbers, locate


class SvmSource(Source):
    """Rows of LIBSVM text.

    Whether indices start at 0 or at 1 shows only when a 0 turns up, perhaps in the last line. Unless it is given,
    columns therefore have the numbers that the indices have in the file: in a file that starts at 1, column 0 stays
    empty, which changes no score. `features` says which columns are meant once the whole file has been seen.
    """

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        self._width = 0  # columns of X seen so far
        self._zero = False  # some index was 0
        self._ended = False  # all has been seen
        self._told = False  # the notice about query numbers has been given

    @property
    def zero_based(self) -> bool | None:
        """Whether indices start at 0, None while that is open."""
        if self.options.zero_based is not None:
            return self.options.zero_based
        return True if self._zero else False if self._ended else None

    @property
    def n_features(self) -> int:
        """How many features have been seen so far."""
        if self.options.n_features is not None:
            return self.options.n_features
        return max(0, self._width - int(self.features.start))

    @property
    def features(self) -> slice:
        """The columns of `Block.X` that are features."""
        start = int(self.options.zero_based is None and not self._zero)
        wanted = self.options.n_features
        return slice(start, self._width if wanted is None else start + wanted)

    @property
    def extent(self) -> tuple[int, bool]:
        """How wide `Block.X` has been so far, and whether an index was 0."""
        return self._width, self._zero

    def take_note(self, width: int, zero: bool) -> None:
        """Know what the parts, which were read elsewhere, have found together."""
        self._width, self._zero, self._ended = width, zero, True

    def state(self) -> dict[str, Any]:
        """Return what a model keeps to read other data in the same way."""
        return super().state() | {"zero_based": bool(self.zero_based)}

    def locate(self, rows: Sequence[int]) -> list[Location] | None:
        """Return the file and the line of rows of the source."""

        def lines_of(text: bytes, line: int) -> Iterator[int] | None:
            if b"#" not in text and not has_blank_lines(text):
                return None
            lines = enumerate(text.split(b"\n")[:-1], line)
            return (number for number, content in lines if content.partition(b"#")[0].strip())

        def find(file: File, wanted: list[int]) -> tuple[dict[int, int], int]:
            return line_numbers(pieces(file, self.options.block_bytes), 1, lines_of, wanted)

        return locate(self.files, rows, find)

    def _read(self, file: File) -> Iterator[Piece]:
        options = self.options
        limit = options.n_features
        if limit is not None and options.zero_based is None:
            limit += 1  # the largest index is n_features in a file that starts at 1
        work = partial(
            parse,
            base=int(options.zero_based is False),
            labels=options.labels,
            n_features=limit,
            max_features=options.max_features,
            empty=Recycler().empty,
        )

        line = 1
        texts = pieces(file, options.block_bytes, last=True, buffers=cores() + 1)
        for piece, result in side_by_side(texts, work):
            try:
                parsed = result.result()
                self._zero = self._zero or parsed.zero
                if self._zero and limit != options.n_features:
                    _refuse(parsed, options.n_features)
                X, y, kept = _complete(parsed, options.missing)
            except LineError as error:
                number = line + bytes(piece[: error.offset]).count(b"\n")
                raise ReadError(f"{file.name}:{number}", str(error), *error.settings) from None
            line += parsed.lines
            self.long_numbers |= parsed.longest > SHORT
            if parsed.qid and not self._told:
                warnings.warn(f"{file.name}: linsep ignores the query numbers (qid)", UserWarning, stacklevel=3)
                self._told = True
            self._width = max(self._width, X.shape[1])
            X.resize(X.shape[0], self._width)
            X.has_canonical_format = True
            yield Piece(X, y, kept)
        self._ended = self._ended or file is self.files[-1]


def _refuse(parsed: Parsed, beyond: int | None) -> None:
    """Refuse an index that is one too large now that indices are known to start at 0."""
    places = np.flatnonzero(parsed.X.indices == beyond)
    if len(places):
        row = np.searchsorted(parsed.X.indptr, places[0], "right") - 1
        raise LineError(
            int(parsed.starts[row]), f"index {beyond} is too large: the {beyond} features are numbered from 0"
        )


def _complete(parsed: Parsed, missing: str) -> Piece:
    """Deal with values that are NaN, which is how this format writes a missing one."""
    X, y = parsed.X, parsed.y
    if not parsed.missing:
        return Piece(X, y)
    absent = np.isnan(X.data)
    if missing == "zero":
        X.data[absent] = 0.0
        return Piece(X, y)
    rows = np.unique(np.searchsorted(X.indptr, np.flatnonzero(absent), "right") - 1)
    if missing == "error":
        raise LineError(int(parsed.starts[rows[0]]), "nan is a missing value", ("missing", "zero"), ("missing", "drop"))
    kept = np.ones(X.shape[0], dtype=bool)
    kept[rows] = False
    return Piece(X[np.flatnonzero(kept)], None if y is None else y[kept], kept)
