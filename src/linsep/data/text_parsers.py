"""LIBSVM text to sparse rows, and plain tables to dense ones: a compiled walk over bytes, exact to the last bit.

A line is ``label index:value index:value ...``; a ``#`` starts a comment, ``qid:n`` is skipped, blank lines are no
rows. A number of at most 19 digits goes into an integer ``m``. When ``m < 2^53`` and its power of ten is at most
``10^22``, both are exact as doubles and a single division or multiplication rounds correctly (Clinger 1990, "How to
read floating point numbers accurately"). Every other spelling is left to libraries that round correctly as well.
Tables of numbers take the same way; those with anything else in them are not for here.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numba import njit

from linsep.problem import Array, Floats

compiled = njit(cache=True, nogil=True, error_model="numpy")  # strict arithmetic: one rounding for a number
inlined = njit(inline="always", error_model="numpy")

_POWERS = np.array([10.0**k for k in range(23)])
_EXACT = np.uint64(1 << 53)
_ZERO, _ONE, _TEN = np.uint64(48), np.uint64(1), np.uint64(10)
_BLANK = np.uint8(32)
_LARGEST = (1 << 31) - 2  # column numbers fit 32 bits, and so does the number of columns

_NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)

# what the walk may stumble over
_FINE, _NO_COLON, _HUGE, _BELOW_BASE, _NO_LABEL, _NO_VALUE, _BEYOND = range(7)
# what a label looks like
_INTEGER, _DECIMAL, _WORD = range(3)


class LineError(ValueError):
    """Something wrong in a line of text: ``str()`` says what, ``offset`` where, in bytes from the start of the text."""

    def __init__(self, offset: int, what: str) -> None:
        super().__init__(what)
        self.offset = offset


class Parsed(NamedTuple):
    """Rows of a piece of text."""

    X: sp.csr_array  # (n, widest), indices sorted
    y: Array | None  # (n,) int64, float64, or objects where some label is a word
    starts: Array  # (n,) where the row begins in the text
    zero: bool  # some index was 0
    qid: bool  # some line has a query number
    missing: bool  # some value is NaN
    lines: int  # how many lines there are, rows or not


def parse(text: Any, *, base: int = 0, labels: bool = True, n_features: int | None = None) -> Parsed:
    r"""Parse whole lines of LIBSVM text.

    Parameters
    ----------
    text : bytes-like
        The lines.
    base : {0, 1}
        What is subtracted from every index to give its column.
    labels : bool
        Whether every line must have a label; otherwise labels are skipped where there are any.
    n_features : int or None
        How many columns there are; an index beyond them is an error. None lets the largest index decide.

    Returns
    -------
    Parsed

    Raises
    ------
    LineError
        For the first thing that is wrong.

    Examples
    --------
    >>> from linsep.data.text_parsers import parse
    >>> X, y, *_ = parse(b"+1 1:0.5 3:2\n-1 2:1e-3 # no spam\n", base=1)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 0.001, 0.0]], [1, -1])
    """
    view = np.frombuffer(text, dtype=np.uint8)
    if len(view) == 0 or view[-1] != 10:
        view = np.append(view, np.uint8(10))  # every loop below ends at a newline at the latest
    lines, colons = _measure(view)
    numbers, kinds, starts = np.empty(lines), np.empty(lines, np.uint8), np.empty(lines, np.int64)
    indptr, indices, values = np.zeros(lines + 1, np.int32), np.empty(colons, np.int32), np.empty(colons)
    # pages of an empty array cost nothing until they are written: few numbers come this way as a rule
    late, late_starts = np.empty(colons, np.int64), np.empty(colons, np.int64)
    largest = _LARGEST if n_features is None else min(_LARGEST, n_features - 1 + base)
    code, place, (rows, stored, postponed, widest), zero, qid, unsorted = _walk(
        view, base, labels, largest, numbers, kinds, starts, indptr, indices, values, late, late_starts
    )
    bad = None if code == _FINE else LineError(place, _complaint(code, view, place, base, n_features))
    starts = starts[:rows]
    try:  # an earlier line may hold a number that turns out to be none
        values[late[:postponed]] = others = _numbers(view, late_starts[:postponed])
        y = _labels(view, numbers[:rows], kinds[:rows], starts) if labels else None
    except LineError as earlier:
        raise (bad if bad is not None and bad.offset < earlier.offset else earlier) from None
    if bad is not None:
        raise bad
    shape = (rows, widest if n_features is None else n_features)
    X = sp.csr_array((values[:stored], indices[:stored], indptr[: rows + 1]), shape=shape)
    if unsorted:
        X.has_sorted_indices = False
        X.sort_indices()
        row = int(_first_repeat(X.indptr, X.indices))
        if row >= 0:
            own = X.indices[X.indptr[row] : X.indptr[row + 1]]
            repeated = int(own[:-1][own[1:] == own[:-1]][0]) + base
            raise LineError(int(starts[row]), f"index {repeated} occurs twice")
    X.has_canonical_format = True
    return Parsed(X, y, starts, zero, qid, bool(np.isnan(others).any()), lines)


@compiled
def _measure(text):
    """Count lines and colons: there are at most so many rows and stored values."""
    lines, colons = 0, 0
    for i in range(len(text)):
        lines += text[i] == 10
        colons += text[i] == 58
    return lines, colons


@inlined
def _ends(c, delimiter=32):
    """Say whether a byte ends a token: a blank, tab, newline, carriage return, delimiter, or start of a comment."""
    return c == 32 or c == 10 or c == 9 or c == 13 or c == 35 or c == delimiter


@inlined
def _digits(text, p):
    """Read the digits at ``p``; return the number they make, if it fits 64 bits, and where they end."""
    m = np.uint64(0)
    d = np.uint64(text[p]) - _ZERO  # whatever is below the digit 0 wraps round to a large number
    while d < _TEN:
        m = m * _TEN + d
        p += _ONE
        d = np.uint64(text[p]) - _ZERO
    return m, p


@inlined
def _plain(text, p):
    """Read digits and a point at ``p``: is there a minus, all digits as a number, where the point is, the end."""
    minus = np.uint64(text[p] == 45)
    p += minus
    m, p = _digits(text, p)
    point = p
    if text[p] == 46:
        p += _ONE
        d = np.uint64(text[p]) - _ZERO
        while d < _TEN:
            m = m * _TEN + d
            p += _ONE
            d = np.uint64(text[p]) - _ZERO
    return minus, m, point, p


@compiled
def _long_quotient(m, k):
    """Return ``m / 10^k`` for a number of up to 64 bits, and whether it is certain to be rounded correctly.

    ``m`` is the sum of two doubles ``h + l``. The remainder of the rounded quotient ``q`` of ``h`` is exact, its
    product being split after Dekker (1971), so that ``q + q2`` with ``q2 = (remainder + l) / 10^k`` is true to a
    relative error of 2^-52 in ``q2``. If a much larger error either way changes nothing in the sum, the sum is right.
    """
    divisor = _POWERS[k]
    h = np.float64(m)
    low = np.float64(np.int64(m - np.uint64(h)))
    q = h / divisor
    c = 134217729.0 * q  # 2^27 + 1: cuts a double in two halves
    q_high = c - (c - q)
    q_low = q - q_high
    c = 134217729.0 * divisor
    d_high = c - (c - divisor)
    d_low = divisor - d_high
    product = q * divisor
    rest = ((q_high * d_high - product) + q_high * d_low + q_low * d_high) + q_low * d_low
    q2 = (((h - product) - rest) + low) / divisor
    slack = abs(q2) * 2.0**-48
    return q + q2, q + (q2 - slack) == q + (q2 + slack)


@compiled
def _number(text, p, delimiter):
    """Read any number at ``p``; return where it ends, its value, whether it is whole, and whether all that is exact."""
    minus = text[p] == 45
    if minus or text[p] == 43:
        p += _ONE
    first = p
    m, p = _digits(text, p)
    digits = p - first
    power = np.int64(0)
    whole = text[p] != 46
    if not whole:
        p += _ONE
        first = p
        d = np.uint64(text[p]) - _ZERO
        while d < _TEN:
            m = m * _TEN + d
            p += _ONE
            d = np.uint64(text[p]) - _ZERO
        power -= np.int64(p - first)
        digits += p - first
    exact = digits > np.uint64(0) and digits < np.uint64(20)
    if text[p] == 101 or text[p] == 69:
        whole = False
        p += _ONE
        down = text[p] == 45
        if down or text[p] == 43:
            p += _ONE
        first = p
        shift, p = _digits(text, p)
        exact = exact and p > first and p - first < np.uint64(8)
        power += -np.int64(shift) if down else np.int64(shift)
    exact = exact and (m < _EXACT or power <= 0) and -22 <= power <= 22 and _ends(text[p], delimiter)
    value = np.float64(m)
    if exact:
        if m >= _EXACT:
            value, exact = _long_quotient(m, -power)
        elif power < 0:
            value /= _POWERS[-power]
        else:
            value *= _POWERS[power]
    while not _ends(text[p], delimiter):
        p += _ONE
    return p, -value if minus else value, whole, exact


@compiled
def _walk(text, base, labelled, largest, numbers, kinds, starts, indptr, indices, values, late, late_starts):
    """Walk over the text once, row by row; stop at the first thing that is wrong and say what and where."""
    p, stop = np.uint64(0), np.uint64(len(text))
    row, stored, postponed = np.uint64(0), np.uint64(0), np.uint64(0)
    base, largest = np.uint64(base), np.uint64(largest)
    widest = np.uint64(0)  # columns seen
    zero, qid, unsorted = False, False, False
    code = _FINE
    place = p
    while p < stop:
        while text[p] == 32 or text[p] == 9 or text[p] == 13:
            p += _ONE
        if text[p] == 10:
            p += _ONE
            continue
        if text[p] == 35:
            while text[p] != 10:
                p += _ONE
            continue
        place = p
        starts[row] = place
        p, numbers[row], whole, exact = _number(text, place, _BLANK)
        kinds[row] = _WORD if not exact or abs(numbers[row]) >= 2.0**53 else _INTEGER if whole else _DECIMAL
        if not exact:
            q = place
            while q < p and text[q] != 58:
                q += _ONE
            if q < p:  # the first token is index:value already
                if labelled:
                    code = _NO_LABEL
                    break
                p = place
        after = np.uint64(0)  # the column after the last one
        while True:
            while text[p] == 32 or text[p] == 9 or text[p] == 13:
                p += _ONE
            if text[p] == 10:
                break
            if text[p] == 35:
                while text[p] != 10:
                    p += _ONE
                break
            place = p
            j, p = _digits(text, p)
            if text[p] != 58 or p == place or p - place > _TEN or j > largest or j < base:
                if p == place and text[p] == 113 and text[p + _ONE] == 105 and text[p + np.uint64(2)] == 100:
                    while text[p] != 58 and not _ends(text[p]):
                        p += _ONE
                    if p - place == np.uint64(3) and text[p] == 58:
                        qid = True
                        while not _ends(text[p]):
                            p += _ONE
                        continue
                code = _NO_COLON if text[p] != 58 or p == place else _HUGE
                if code == _HUGE and p - place <= _TEN:
                    code = _BELOW_BASE if j < base else _BEYOND if j <= np.uint64(_LARGEST) else _HUGE
                break
            p += _ONE
            start = p
            # most numbers are few digits, with or without a point, and a blank
            minus, m, point, p = _plain(text, p)
            exact = text[p] <= 32 and p > point + _ONE and p - start < np.uint64(21) + minus  # at most 19 digits
            if exact and m < _EXACT:
                value = np.float64(np.int64(m)) / _POWERS[p - point - _ONE]
                values[stored] = -value if minus else value
            elif text[p] <= 32 and p == point and point > start + minus and p - start < np.uint64(16):
                value = np.float64(np.int64(m))
                values[stored] = -value if minus else value
            else:
                if exact:
                    value, exact = _long_quotient(m, p - point - _ONE)
                    values[stored] = -value if minus else value
                if not exact:
                    p, values[stored], whole, exact = _number(text, start, _BLANK)
                if p == start:
                    code = _NO_VALUE
                    break
                if not exact:
                    late[postponed] = stored
                    late_starts[postponed] = start
                    postponed += _ONE
            column = j - base
            indices[stored] = column
            stored += _ONE
            unsorted |= column < after
            after = column + _ONE
            zero |= j == np.uint64(0)
            widest = max(widest, after)
        if code != _FINE:
            break
        p += _ONE
        row += _ONE
        indptr[row] = stored
    found = (np.int64(row), np.int64(stored), np.int64(postponed), np.int64(widest))
    return code, np.int64(place), found, zero, qid, unsorted


@compiled
def _first_repeat(indptr, indices):
    """Return the first row in which an index occurs twice, -1 if there is none; indices are sorted."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i] + 1, indptr[i + 1]):
            if indices[p] == indices[p - 1]:
                return i
    return -1


@compiled
def _gather(text, starts):
    """Copy the tokens at ``starts`` one after another, without a leading plus; return them and where each begins."""
    offsets = np.zeros(len(starts) + 1, dtype=np.int32)
    for i in range(len(starts)):
        p = starts[i] + (text[starts[i]] == 43)
        first = p
        while not _ends(text[p]):
            p += 1
        offsets[i + 1] = offsets[i] + (p - first)
    tokens = np.empty(offsets[-1], dtype=np.uint8)
    for i in range(len(starts)):
        first = starts[i] + (text[starts[i]] == 43)
        for k in range(offsets[i + 1] - offsets[i]):
            tokens[offsets[i] + k] = text[first + k]
    return tokens, offsets


# ---------------------------------------------------------------------------------------------------------------
# Tables

LABEL, UNWANTED = -1, -2  # what a cell may be that is no number


def parse_table(text: Any, delimiter: int, places: Array) -> tuple[Floats, pa.StringArray] | None:
    r"""Read a table of plain numbers, written as most programs write them.

    Parameters
    ----------
    text : bytes-like
        Whole lines, the last of which ends in a newline as well.
    delimiter : int
        The byte between cells.
    places : ndarray of int
        For every cell of a row the column that its number goes to, or `LABEL`, or `UNWANTED`.

    Returns
    -------
    X, labels : ndarray of shape (n, d), pyarrow.StringArray
        None if something needs a closer look: quotes, a missing cell or one too many, letters beyond ASCII.

    Examples
    --------
    >>> import numpy as np
    >>> from linsep.data.text_parsers import LABEL, parse_table
    >>> X, labels = parse_table(b"0.5,1,yes\n2,1e-3,no\n", ord(","), np.array([0, 1, LABEL]))
    >>> X.tolist(), labels.to_pylist()
    ([[0.5, 1.0], [2.0, 0.001]], ['yes', 'no'])
    """
    view = np.frombuffer(text, dtype=np.uint8)
    n = _measure(view)[0]
    X = np.empty((n, max(0, int(places.max()) + 1)))
    label, bounds = np.zeros((n, 2), np.int32), np.empty((X.size, 2), np.int32)  # where words begin and end
    late = np.empty(X.size, np.int64)
    rows, postponed = _table(view, np.uint8(delimiter), places, X, label, late, bounds)
    if rows != n:
        return None
    if postponed:
        try:
            X.ravel()[late[:postponed]] = values = _strings(view, bounds[:postponed]).cast(pa.float64()).to_numpy()
        except pa.ArrowInvalid:
            return None
        if not np.isfinite(values).all():
            return None
    return X, _strings(view, label)


@compiled
def _table(text, delimiter, places, X, label, late, bounds):
    """Walk over a table once; return how many rows are plain from the first one on, and how many numbers come late."""
    p, stop = np.uint64(0), np.uint64(len(text))
    row, postponed = 0, 0
    last = len(places) - 1
    while p < stop:
        for j in range(last + 1):
            place = places[j]
            start = p
            if place >= 0:
                minus, m, point, p = _plain(text, p)
                plain = (text[p] == delimiter or text[p] == 10 or text[p] == 13) and point > start + minus
                exact = plain and p > point + _ONE and p - start < np.uint64(21) + minus  # at most 19 digits
                if exact and m < _EXACT:
                    value = np.float64(np.int64(m)) / _POWERS[p - point - _ONE]
                    X[row, place] = -value if minus else value
                elif plain and p == point and p - start < np.uint64(16):
                    value = np.float64(np.int64(m))
                    X[row, place] = -value if minus else value
                else:
                    if point == start + minus:
                        return row, postponed
                    if exact:
                        value, exact = _long_quotient(m, p - point - _ONE)
                        X[row, place] = -value if minus else value
                    if not exact:
                        p, X[row, place], _, exact = _number(text, start, delimiter)
                    if not exact:
                        late[postponed] = row * X.shape[1] + place
                        bounds[postponed, 0], bounds[postponed, 1] = start, p
                        postponed += 1
            else:
                while text[p] != delimiter and text[p] != 10 and text[p] != 13:
                    if text[p] == 34 or text[p] > 127:
                        return row, postponed
                    p += _ONE
                if place == LABEL:
                    label[row, 0], label[row, 1] = start, p
            if text[p] == 13 and p + _ONE < stop:
                p += _ONE
            if text[p] != (delimiter if j < last else 10) or p == start:
                return row, postponed
            p += _ONE
        row += 1
    return row, postponed


@compiled
def _cut(text, bounds):
    """Copy the words between bounds one after another; return them and where each begins."""
    offsets = np.zeros(len(bounds) + 1, dtype=np.int32)
    for i in range(len(bounds)):
        offsets[i + 1] = offsets[i] + bounds[i, 1] - bounds[i, 0]
    words = np.empty(offsets[-1], dtype=np.uint8)
    for i in range(len(bounds)):
        for k in range(offsets[i + 1] - offsets[i]):
            words[offsets[i] + k] = text[bounds[i, 0] + k]
    return words, offsets


def _strings(text: Array, bounds: Array) -> pa.StringArray:
    """Return the words between bounds."""
    words, offsets = _cut(text, bounds)
    return pa.StringArray.from_buffers(len(bounds), pa.py_buffer(offsets), pa.py_buffer(words))


# ---------------------------------------------------------------------------------------------------------------
# Words


def _numbers(text: Array, starts: Array) -> Floats:
    """Return the numbers at ``starts``, however they are written; NaN stays NaN, infinity is refused."""
    if not len(starts):
        return np.empty(0)
    tokens, offsets = _gather(text, starts)
    strings = pa.StringArray.from_buffers(len(starts), pa.py_buffer(offsets), pa.py_buffer(tokens))
    try:
        values: Floats = strings.cast(pa.float64()).to_numpy()
        if np.isfinite(values).all():
            return values
    except pa.ArrowInvalid:
        pass
    return np.array([_careful(token(text, start), start) for start in starts.tolist()])


def _careful(word: bytes, start: int) -> float:
    """Return one number through Python's float, or say why it is none."""
    if _NUMBER.fullmatch(word):
        value = float(word)
        if np.isfinite(value):
            return value
        raise LineError(start, f"{_shown(word)} is too large for a number")
    if _NOT_FINITE.fullmatch(word):
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


def label(word: str) -> int | float | str:
    """Return what a label written as ``word`` is: an int or a float where it reads as a finite one, else the word.

    Each label is looked at by itself, so that what it becomes cannot depend on its neighbours; ``1`` and ``+1`` are the
    same label, and so are ``1`` and ``1.0``. Integers of more than 53 bits stay words: none must become another.
    """
    written = word.encode("utf-8", "replace")
    if not _NUMBER.fullmatch(written):
        return word
    value = float(written)
    if abs(value) >= 2**53:
        return word
    return int(value) if word.lstrip("+-").isdigit() else value


def _labels(text: Array, numbers: Floats, kinds: Array, starts: Array) -> Array:
    """Return the labels as the user wrote them, in the narrowest of int64, float64 and objects that holds them."""
    words = np.flatnonzero(kinds == _WORD)
    if not len(words):
        return numbers.astype(np.int64) if not kinds.any() else numbers
    y = np.empty(len(numbers), dtype=object)
    whole = kinds == _INTEGER
    y[whole] = numbers[whole].astype(np.int64)
    y[~whole] = numbers[~whole]
    known: dict[bytes, int | float | str] = {}
    for i in words.tolist():
        word = token(text, int(starts[i]))
        if word not in known:
            written = word.decode("utf-8", "replace")
            if "\ufffd" in written or not written.isprintable():
                raise LineError(int(starts[i]), f"the label {_shown(word)} is not text; is this a LIBSVM file?")
            if _NOT_FINITE.fullmatch(word):
                raise LineError(int(starts[i]), f"the label {_shown(word)} is not a finite number")
            known[word] = label(written)
        y[i] = known[word]
    return tidy(y)


def tidy(y: Array) -> Array:
    """Return labels in the narrowest of int64, float64 and objects that holds them."""
    types = set(map(type, y.tolist()))
    if types <= {int}:
        return y.astype(np.int64)
    return y.astype(np.float64) if types <= {int, float} else y


def _complaint(code: int, text: Array, place: int, base: int, n_features: int | None) -> str:
    """Say in words what the walk stumbled over."""
    word = _shown(token(text, place))
    return {
        _NO_COLON: f"{word} is not index:value",
        _HUGE: f"the index of {word} is above {_LARGEST}, the largest that can be held",
        _BELOW_BASE: f"{word} has index 0, but indices were said to start at {base}",
        _NO_LABEL: f"no label before {word}",
        _NO_VALUE: f"{word} has no value",
        _BEYOND: f"the index of {word} is beyond the {n_features} features expected",
    }[code]
