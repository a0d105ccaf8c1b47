"""Reads LIBSVM files as a source."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from linsep.data.byte_streams import File, ReadError, cores, pieces, side_by_side
from linsep.data.cache import Buffers
from linsep.data.libsvm_text import LineError, Parsed, parse
from linsep.data.source import SHORT, Options, Piece, Source
from linsep.data.text_lines import Location, has_blank_lines, line_numbers, locate


class SvmSource(Source):
    """Rows of LIBSVM text; indices start at 1, or with ``zero_based`` at 0."""

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        self._width = options.n_features or 0  # features seen so far
        self._told = False  # the notice about query numbers has been given

    @property
    def n_features(self) -> int:
        """How many features there are, or have been seen so far."""
        return self._width

    def take_width(self, n_features: int) -> None:
        """Know how many features the parts, which were read elsewhere, have together."""
        self._width = n_features

    def state(self) -> dict[str, Any]:
        """Return what a model keeps to read other data in the same way."""
        return super().state() | {"zero_based": self.options.zero_based}

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
        work = partial(
            parse,
            base=int(not options.zero_based),
            labels=options.labels,
            n_features=options.n_features,
            max_features=options.max_features,
            empty=Buffers().empty,
        )
        line = 1
        texts = pieces(file, options.block_bytes, last=True, buffers=cores() + 1)
        for piece, result in side_by_side(texts, work):
            try:
                parsed = result.result()
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
