"""Compiled parsers for LIBSVM text and plain tables of numbers, exact to the last bit.

A number of at most 19 digits goes into an integer ``m``. When ``m < 2^53`` and its power of ten is at most ``10^22``,
both are exact as doubles and a single division or multiplication rounds correctly (Clinger 1990, "How to read floating
point numbers accurately"). Every other spelling is left to libraries that round correctly as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from linsep.compiling import compiled as _compiled
from linsep.data.arrays import numpy_view
from linsep.problem import Array, Floats

if TYPE_CHECKING:
    import pyarrow as pa

compiled = _compiled(error_model="numpy")  # strict arithmetic: one rounding for a number
inlined = njit(inline="always", error_model="numpy")

_POWERS = np.array([10.0**k for k in range(23)])
_EXACT = np.uint64(1 << 53)
_ZERO, _ONE, _TEN = np.uint64(48), np.uint64(1), np.uint64(10)
_BLANK = np.uint8(32)
LARGEST = (1 << 31) - 2  # column numbers fit 32 bits, and so does the number of columns

# what the walk over LIBSVM text may stumble over
FINE, NO_COLON, HUGE, BELOW_BASE, NO_LABEL, NO_VALUE, BEYOND = range(7)
# what a label looks like
INTEGER, DECIMAL, WORD = range(3)
# what a cell of a table may be that is no number
LABEL, UNWANTED = -1, -2


class LineError(ValueError):
    """Something wrong in a line of text: ``str()`` says what, ``offset`` where, in bytes from the start of the text."""

    def __init__(self, offset: int, message: str, *settings: tuple[str, object]) -> None:
        super().__init__(message)
        self.offset, self.settings = offset, settings


@compiled
def count_lines(text):
    """Count lines and colons: upper bounds on rows and stored values."""
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
    if text[p] == 46:  # the loop of `_digits` again: if that begins with ``m``, a third more time for all numbers
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
            value, exact = _long_quotient(m, np.uint64(-power))
        elif power < 0:
            value /= _POWERS[-power]
        else:
            value *= _POWERS[power]
    while not _ends(text[p], delimiter):
        p += _ONE
    return p, -value if minus else value, whole, exact


@compiled
def walk_libsvm(text, base, labeled, largest, numbers, kinds, starts, indptr, indices, values, late, bounds):
    """Walk over the text once, row by row; stop at the first thing that is wrong and say what and where."""
    p, stop = np.uint64(0), np.uint64(len(text))
    row, stored, postponed = np.uint64(0), np.uint64(0), np.uint64(0)
    base, largest = np.uint64(base), np.uint64(largest)
    widest, longest = np.uint64(0), np.uint64(0)  # columns seen, and characters of a number
    qid, unsorted = False, False
    code = FINE
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
        kinds[row] = WORD if not exact or abs(numbers[row]) >= 2.0**53 else INTEGER if whole else DECIMAL
        if not exact:
            q = place
            while q < p and text[q] != 58:
                q += _ONE
            if q < p:  # the first token is index:value already
                if labeled:
                    code = NO_LABEL
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
                code = NO_COLON if text[p] != 58 or p == place else HUGE
                if code == HUGE and p - place <= _TEN:
                    code = BELOW_BASE if j < base else BEYOND if j <= np.uint64(LARGEST) else HUGE
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
                    code = NO_VALUE
                    break
                if not exact:
                    late[postponed] = stored
                    bounds[postponed, 0], bounds[postponed, 1] = start + np.uint64(text[start] == 43), p
                    postponed += _ONE
            longest = max(longest, p - start)
            column = j - base
            indices[stored] = column
            stored += _ONE
            unsorted |= column < after
            after = column + _ONE
            widest = max(widest, after)
        if code != FINE:
            break
        p += _ONE
        row += _ONE
        indptr[row] = stored
    counts = (np.int64(row), np.int64(stored), np.int64(postponed), np.int64(widest), np.int64(longest))
    return code, np.int64(place), counts, qid, unsorted


@compiled
def first_repeat(indptr, indices):
    """Return the first row in which an index occurs twice, -1 if there is none; indices are sorted."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i] + 1, indptr[i + 1]):
            if indices[p] == indices[p - 1]:
                return i
    return -1


@compiled
def walk_table(text, delimiter, places, X, label, late, bounds):
    """Walk over a table once; return how many rows are plain, how many numbers late, and how long the longest is."""
    p, stop = np.uint64(0), np.uint64(len(text))
    row, postponed, longest = 0, 0, np.uint64(0)
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
                        return row, postponed, longest
                    if exact:
                        value, exact = _long_quotient(m, p - point - _ONE)
                        X[row, place] = -value if minus else value
                    if not exact:
                        p, X[row, place], _, exact = _number(text, start, delimiter)
                    if not exact:
                        late[postponed] = row * X.shape[1] + place
                        bounds[postponed, 0], bounds[postponed, 1] = start, p
                        postponed += 1
                longest = max(longest, p - start)
            else:
                while text[p] != delimiter and text[p] != 10 and text[p] != 13:
                    if text[p] == 34 or text[p] > 127:
                        return row, postponed, longest
                    p += _ONE
                if place == LABEL:
                    label[row, 0], label[row, 1] = start, p
            if text[p] == 13 and p + _ONE < stop:
                p += _ONE
            if text[p] != (delimiter if j < last else 10) or p == start:
                return row, postponed, longest
            p += _ONE
        row += 1
    return row, postponed, longest


@compiled
def copy_words(text, bounds, words):
    """Copy the words between bounds one after another."""
    end = 0
    for i in range(len(bounds)):
        for k in range(bounds[i, 0], bounds[i, 1]):
            words[end] = text[k]
            end += 1


@compiled
def last_record(text, delimiter):
    """Return where the last whole row ends, 0 if there is none: newlines between quotes end no row."""
    end = i = 0
    while i < len(text):
        c = text[i]
        if c == 34:
            before = text[i - 1] if i else 10
            if before == 34 or before == delimiter or before == 10 or before == 13:  # a doubled quote opens again
                i += 1
                while i < len(text) and text[i] != 34:
                    i += 1
        elif c == 10:
            end = i + 1
        i += 1
    return end


# ---------------------------------------------------------------------------------------------------------------
# Plain tables of numbers


def parse_table(
    text: Any, delimiter: int, places: Array, empty: Callable[..., Array] = np.empty
) -> tuple[Floats, pa.StringArray, int] | None:
    """Return the numbers and the labels in whole lines of plain numbers, and the characters of the longest number.

    ``places`` says for every cell of a row to which column its number goes, or that it is the `LABEL`, or `UNWANTED`.
    None if something needs a closer look: quotes, a missing cell or one too many, letters beyond ASCII.
    """
    view = np.frombuffer(text, dtype=np.uint8)
    n, d = count_lines(view)[0], max(0, int(places.max()) + 1)
    X = empty(n * d).reshape(n, d)
    label, bounds = np.zeros((n, 2), np.int32), np.empty((X.size, 2), np.int32)  # where words begin and end
    late = np.empty(X.size, np.int64)
    rows, postponed, longest = walk_table(view, np.uint8(delimiter), places, X, label, late, bounds)
    if rows != n:
        return None
    if postponed:
        import pyarrow as pa  # slow to import, and not needed for LIBSVM text

        try:
            X.ravel()[late[:postponed]] = values = numpy_view(strings(view, bounds[:postponed]).cast(pa.float64()))
        except pa.ArrowInvalid:
            return None
        if not np.isfinite(values).all():
            return None
        longest = max(longest, rounded_length(values))
    return X, strings(view, label), int(longest)


def rounded_length(values: Array) -> int:
    """Return how long the texts of numbers may count: tiny ones are rounded, even if they have few characters."""
    return 1000 if (np.abs(values) < 1e-290).any() else 0


def strings(text: Array, bounds: Array) -> pa.StringArray:
    """Return the words between bounds."""
    import pyarrow as pa

    offsets = np.zeros(len(bounds) + 1, np.int32)
    np.cumsum(bounds[:, 1] - bounds[:, 0], out=offsets[1:])
    words = np.empty(offsets[-1], np.uint8)
    copy_words(text, bounds, words)
    return pa.StringArray.from_buffers(len(bounds), pa.py_buffer(offsets), pa.py_buffer(words))
