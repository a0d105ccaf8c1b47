"""Reads LIBSVM files.

A line is ``label index:value index:value ...``; a ``#`` starts a comment, ``qid:n`` is skipped, blank lines are no
rows. The walk over the bytes is compiled; labels that are words, and numbers in odd spellings, come after it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linsep.data.arrays import numpy_view, sorted_csr
from linsep.data.cache import Buffers
from linsep.data.files import File, pieces
from linsep.data.labels import NOT_FINITE, NUMBER, label, tidy
from linsep.data.options import Options
from linsep.data.parallel import cores, side_by_side
from linsep.data.source import SHORT, Piece, Source, complete_rows
from linsep.data.text_parsers import (
    BELOW_BASE,
    BEYOND,
    FINE,
    HUGE,
    INTEGER,
    LARGEST,
    NO_COLON,
    NO_LABEL,
    NO_VALUE,
    WORD,
    LineError,
    count_lines,
    first_repeat,
    rounded_length,
    strings,
    walk_libsvm,
)
from linsep.errors import ReadError
from linsep.problem import Array, Floats

# ---------------------------------------------------------------------------------------------------------------
# Text


class Parsed(NamedTuple):
    """Rows of a piece of text."""

    X: Any  # (n, widest), indices sorted
    y: Array | None  # (n,) int64, float64, or objects where some label is a word
    starts: Array  # (n,) where the row begins in the text
    qid: bool  # some line has a query number
    missing: bool  # some value is NaN
    lines: int  # how many lines there are, rows or not
    longest: int  # how many characters the longest number has


def parse_libsvm(
    text: Any,
    *,
    base: int = 0,
    labels: bool = True,
    n_features: int | None = None,
    max_features: int = LARGEST + 1,
    empty: Callable[..., Array] = np.empty,
) -> Parsed:
    """Parse whole lines of LIBSVM text; raises LineError for the first thing that is wrong.

    ``base`` is subtracted from every index to give its column. Without ``labels`` they are skipped where there are
    any. An index beyond ``n_features`` is an error; None lets the largest decide, up to ``max_features``: weights for
    all of them will take memory, however short the text is. ``empty`` allocates arrays, as `numpy.empty` does.
    """
    view = np.frombuffer(text, dtype=np.uint8)
    if len(view) == 0 or view[-1] != 10:
        view = np.append(view, np.uint8(10))  # every loop below ends at a newline at the latest
    lines, colons = count_lines(view)
    numbers, kinds, starts = np.empty(lines), np.empty(lines, np.uint8), np.empty(lines, np.int64)
    indptr, indices, values = np.zeros(lines + 1, np.int32), empty(colons, np.int32), empty(colons)
    # pages of an empty array cost nothing until they are written: few numbers come this way as a rule
    late, bounds = np.empty(colons, np.int64), np.empty((colons, 2), np.int64)
    largest = min(LARGEST, (max_features if n_features is None else n_features) - 1 + base)
    code, place, (rows, stored, postponed, widest, longest), qid, unsorted = walk_libsvm(
        view, base, labels, largest, numbers, kinds, starts, indptr, indices, values, late, bounds
    )
    bad = None if code == FINE else _complaint(code, view, place, n_features)
    starts = starts[:rows]
    try:  # an earlier line may hold a number that turns out to be none
        values[late[:postponed]] = others = _numbers(view, bounds[:postponed])
        y = _labels(view, numbers[:rows], kinds[:rows], starts) if labels else None
    except LineError as earlier:
        raise (bad if bad is not None and bad.offset < earlier.offset else earlier) from None
    if bad is not None:
        raise bad
    shape = (rows, widest if n_features is None else n_features)
    X: Any = sorted_csr((values[:stored], indices[:stored], indptr[: rows + 1]), shape)
    if unsorted:
        X.has_canonical_format = X.has_sorted_indices = False
        X.sort_indices()
        row = int(first_repeat(X.indptr, X.indices))
        if row >= 0:
            columns = X.indices[X.indptr[row] : X.indptr[row + 1]]
            repeated = int(columns[:-1][columns[1:] == columns[:-1]][0]) + base
            raise LineError(int(starts[row]), f"index {repeated} occurs twice")
        X.has_canonical_format = True
    return Parsed(X, y, starts, qid, bool(np.isnan(others).any()), lines, max(longest, rounded_length(others)))


def _numbers(text: Array, bounds: Array) -> Floats:
    """Return the numbers between bounds, however they are written; NaN stays NaN, infinity is refused."""
    if not len(bounds):
        return np.empty(0)
    import pyarrow as pa  # slow to import, and seldom needed

    try:
        values: Floats = numpy_view(strings(text, bounds).cast(pa.float64()))
        if np.isfinite(values).all():
            return values
    except pa.ArrowInvalid:
        pass
    return np.array([_careful(token(text, start), start) for start in bounds[:, 0].tolist()])


def _careful(word: bytes, start: int) -> float:
    if NUMBER.fullmatch(word):
        value = float(word)
        if np.isfinite(value):
            return value
        raise LineError(start, f"{_shown(word)} is too large for a number")
    if NOT_FINITE.fullmatch(word):
        if word.lstrip(b"+-")[:1].lower() == b"n":
            return float("nan")
        raise LineError(start, f"{_shown(word)} is not a finite number")
    raise LineError(start, f"{_shown(word)} is not a number")


def token(text: Any, start: int) -> bytes:
    """Return the token that begins at ``start``."""
    near = re.split(rb"[ \t\r\n#]", bytes(text[start : start + 64]), maxsplit=1)
    return near[0] if len(near) > 1 else re.split(rb"[ \t\r\n#]", bytes(text[start:]), maxsplit=1)[0]


def _shown(word: bytes) -> str:
    """Return a token as an error line shows it: printable, in quotes, and not too long."""
    shown = repr(word.decode("utf-8", "replace"))
    return shown if len(shown) <= 60 else shown[:56] + "...'"


def _labels(text: Array, numbers: Floats, kinds: Array, starts: Array) -> Array:
    """Return the labels as the user wrote them, in the narrowest of int64, float64 and objects that holds them."""
    words = np.flatnonzero(kinds == WORD)
    if not len(words):
        return numbers.astype(np.int64) if not kinds.any() else numbers
    y = np.empty(len(numbers), dtype=object)
    whole = kinds == INTEGER
    y[whole] = numbers[whole].astype(np.int64)
    y[~whole] = numbers[~whole]
    known: dict[bytes, int | float | str] = {}
    for i in words.tolist():
        word = token(text, int(starts[i]))
        if word not in known:
            written = word.decode("utf-8", "replace")
            if "\ufffd" in written or not written.isprintable():
                raise LineError(int(starts[i]), f"the label {_shown(word)} is not text; is this a LIBSVM file?")
            if NOT_FINITE.fullmatch(word):
                raise LineError(int(starts[i]), f"the label {_shown(word)} is not a finite number")
            known[word] = label(written)
        y[i] = known[word]
    return tidy(y)


def _complaint(code: int, text: Array, place: int, n_features: int | None) -> LineError:
    written = token(text, place)
    word = _shown(written)
    if code == BEYOND and n_features is None:
        wanted = 1 << int(written.partition(b":")[0]).bit_length()
        return LineError(place, f"the index of {word} is above the limit on features", ("max_features", wanted))
    if code == BELOW_BASE:
        return LineError(place, f"{word} has index 0, but indices start at 1 unless {{0}}", ("zero_based", True))
    messages = {
        NO_COLON: f"{word} is not index:value",
        HUGE: f"the index of {word} is above {LARGEST}, the largest allowed",
        NO_LABEL: f"no label before {word}",
        NO_VALUE: f"{word} has no value",
        BEYOND: f"the index of {word} is beyond the {n_features} features expected",
    }
    return LineError(place, messages[code])


# ---------------------------------------------------------------------------------------------------------------
# Files


class SvmSource(Source):
    """Rows of LIBSVM text; indices start at 1, or with ``zero_based`` at 0."""

    def __init__(self, files: list[File], options: Options) -> None:
        super().__init__(files, options)
        self.n_features = options.n_features or 0  # features seen so far
        self._warned = False  # of query numbers

    def take_width(self, n_features: int) -> None:
        """Know how many features the parts, which were read elsewhere, have together."""
        self.n_features = n_features

    def state(self) -> dict[str, Any]:
        """Return what a model keeps to read other data in the same way."""
        return super().state() | {"zero_based": self.options.zero_based}

    def row_lines(self, file: File) -> Iterator[list[int]]:
        """Yield the lines in which rows begin, a piece of the file at a time."""
        line = 1
        for piece in pieces(file, self.options.block_bytes):
            lines = bytes(piece).split(b"\n")
            yield [number for number, text in enumerate(lines, line) if text.partition(b"#")[0].strip()]
            line += len(lines) - 1

    def _read(self, file: File) -> Iterator[Piece]:
        options = self.options
        work = partial(
            parse_libsvm,
            base=int(not options.zero_based),
            labels=options.labels,
            n_features=options.n_features,
            max_features=options.max_features,
            empty=Buffers().empty,
        )

        def missing(row: int, *_: Any) -> LineError:  # NaN is how this format writes it
            return LineError(
                int(parsed.starts[row]), "nan is a missing value", ("missing", "zero"), ("missing", "drop")
            )

        line = 1
        texts = pieces(file, options.block_bytes, last=True, buffers=cores() + 1)
        for piece, result in side_by_side(texts, work):
            try:
                parsed = result.result()
                X, y, kept = Piece(parsed.X, parsed.y)
                if parsed.missing:
                    X, y, kept = complete_rows(X, y, options.missing, missing)
            except LineError as error:
                number = line + bytes(piece[: error.offset]).count(b"\n")
                raise ReadError(f"{file.name}:{number}", str(error), *error.settings) from None
            line += parsed.lines
            self.long_numbers |= parsed.longest > SHORT
            if parsed.qid and not self._warned:
                warnings.warn(f"{file.name}: linsep ignores the query numbers (qid)", UserWarning, stacklevel=3)
                self._warned = True
            self.n_features = max(self.n_features, X.shape[1])
            X.resize(X.shape[0], self.n_features)
            X.has_canonical_format = True
            yield Piece(X, y, kept)
