"""Computes the fingerprint of a table, which depends only on its numbers and labels.

What is hashed is laid down in docs/proof-format.md; ``plain_table`` does the same in plain Python.
"""

from __future__ import annotations

import hashlib
import struct
from fractions import Fraction
from typing import Any

import numpy as np

from linsep.compiling import compiled
from linsep.data.arrays import as_scipy
from linsep.problem import Array, Dense, Rows, Sparse, count
from linsep.prove.check.plain_document import label_text

_CELLS = 1 << 17  # that are hashed together: they stay in the cache of a processor


class Fingerprint:
    """The fingerprint of rows that come in parts."""

    def __init__(self, n_features: int, classes: tuple[Any, ...]) -> None:
        self.n_features, self.rows = n_features, 0
        self._labels = [_spelled(label) for label in classes]
        self._names, self._counts, self._cells, self._rest = (hashlib.sha256() for _ in range(4))

    def add(self, rows: Rows, y: Array) -> None:
        """Take up some rows with their class numbers; refuse what is not finite."""
        n = count(rows)
        if isinstance(rows, Sparse):
            rows = _in_order(rows, self.n_features)
        step = max(1, _CELLS * n // max(1, rows.data.size))
        words = np.empty(0)
        for start in range(0, n, step):
            stop = min(start + step, n)
            self._names.update(self._spelled(y[start:stop]))
            counts = np.empty(stop - start, dtype="<i8")
            if isinstance(rows, Dense):
                words = _room(words, counts.size * self.n_features)
                length = _dense_words(np.ascontiguousarray(rows.data[start:stop]), counts, words)
            else:
                words = _room(words, 2 * int(rows.indptr[stop] - rows.indptr[start]))
                length = _sparse_words(*rows, start, self.n_features, counts, words)
            if length < 0:
                raise ValueError("X contains NaN or infinity")
            self._counts.update(counts.data)
            self._cells.update(words[:length].data)
        if rows.data.dtype.kind in "iu" and rows.data.dtype.itemsize == 8:
            self._add_long(rows)
        self.rows += n

    def _spelled(self, y: Array) -> bytes:
        """Return the labels of rows."""
        if len({len(text) for text in self._labels}) == 1:
            return bytes(np.array(self._labels, dtype=f"V{len(self._labels[0])}")[y].tobytes())
        return b"".join([self._labels[code] for code in y.tolist()])

    def _add_long(self, rows: Rows) -> None:
        """Take up the integers that no double is equal to."""
        values = rows.data.ravel()
        for k in np.flatnonzero(np.abs(values.astype(np.float64)) >= 2.0**53).tolist():
            i, j = divmod(k, max(1, self.n_features))
            if isinstance(rows, Sparse):
                i, j = int(np.searchsorted(rows.indptr, k, side="right")) - 1, int(rows.indices[k])
            value, near = int(values[k]), float(values[k])
            if value not in (Fraction(near), Fraction(repr(near))):
                self._rest.update(f"{self.rows + i},{j},{value}/1\n".encode())

    def result(self, *rounded: bytes) -> dict[str, Any]:
        """Return the numbers of rows and features, and the hash; ``rounded`` are lines of rounded numbers."""
        for lines in rounded:
            self._rest.update(lines)
        parts = (self._names, self._counts, self._cells, self._rest)
        name = hashlib.sha256(b"".join(part.digest() for part in parts)).hexdigest()
        return {"n_rows": self.rows, "n_features": self.n_features, "sha256": name}


_DECIMAL = r"^[+]?(?P<sign>-?)0*(?P<whole>[0-9]*)\.?(?P<part>[0-9]*)(?:[eE](?P<power>[+-]?[0-9]+))?$"
_FITS = 19  # digits that an unsigned word always holds


def rounded_lines(texts: Any, near: Array, first_row: int, column: int) -> tuple[Array, Any] | None:
    """Return the rows of the numbers in a column that doubles round, and the line of each; None if some are too long.

    A number is ``p / q`` in lowest terms, of which ``q`` has only factors 2 and 5.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    shortest = pa.array(near).cast(pa.string())
    rows = np.flatnonzero(pc.fill_null(pc.not_equal(shortest, texts), True).to_numpy(zero_copy_only=False))
    if len(rows) == 0:
        return rows, pa.array([], pa.string())
    which = pa.array(rows)
    given, plain = _in_lowest_terms(texts.take(which)), _in_lowest_terms(shortest.take(which))
    if given is None or plain is None:
        return None
    sign, p, twos, fives = given
    same = (p == plain[1]) & (twos == plain[2]) & (fives == plain[3])
    same |= (fives == 0) & ((p < 2**53) | (twos == 0) & (p == near[rows].astype(np.float64)))  # the double itself
    left = np.flatnonzero(~same)
    pairs, kind = np.unique(twos[left] * 1000 + fives[left], return_inverse=True)
    bottoms = pa.array([str(2 ** (k // 1000) * 5 ** (k % 1000)) for k in pairs.tolist()], pa.string())
    parts = [
        pa.array(rows[left] + first_row).cast(pa.string()),
        pa.scalar(f",{column},"),
        sign.take(pa.array(left)),
        pa.array(p[left]).cast(pa.string()),
        pa.scalar("/"),
        bottoms.take(pa.array(kind)),
        pa.scalar("\n"),
    ]
    return rows[left] + first_row, pc.binary_join_element_wise(*parts, "")


def _in_lowest_terms(texts: Any) -> tuple[Any, Array, Array, Array] | None:
    """Return decimals as signs and ``p / (2**i 5**j)``, i and j not negative; None if some are no such short ones."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.extract_regex(pc.utf8_trim_whitespace(texts), _DECIMAL)
    if found.null_count:
        return None
    sign, whole, part, power = (found.field(k) for k in range(4))
    digits = pc.utf8_ltrim(pc.binary_join_element_wise(whole, part, ""), "0")
    digits = pc.if_else(pc.equal(digits, ""), "0", digits)
    if pc.max(pc.utf8_length(digits)).as_py() > _FITS:
        return None
    powers = pc.if_else(pc.equal(power, ""), "0", pc.utf8_ltrim(power, "+")).cast(pa.int64()).to_numpy()
    places = pc.utf8_length(part).cast(pa.int64()).to_numpy() - powers
    if places.min() < 0 or places.max() > 300:
        return None
    p = digits.cast(pa.uint64()).to_numpy().copy()
    left = []
    for base in (np.uint64(2), np.uint64(5)):
        over = places.copy()
        while (more := (over > 0) & (p % base == 0)).any():
            p[more] //= base
            over[more] -= 1
        left.append(over)
    return sign, p, left[0], left[1]


def _spelled(label: Any) -> bytes:
    """Return a label, or all parts of one, with lengths before them."""
    texts = [label_text(each).encode() for each in (label if isinstance(label, tuple) else (label,))]
    return b"".join(struct.pack("<q", len(text)) + text for text in texts)


def _room(words: Array, most: int) -> Array:
    """Return the same array if it is long enough, else a longer one."""
    return words if len(words) >= most else np.empty(most, dtype="<f8")


def _in_order(rows: Sparse, n_features: int) -> Sparse:
    """Return rows with the columns of each in order."""
    matrix = as_scipy(rows, n_features)
    if matrix.has_sorted_indices:
        return rows
    matrix = matrix.copy()
    matrix.sort_indices()
    return rows._replace(data=matrix.data, indices=matrix.indices.view(rows.indices.dtype))


@compiled()
def _dense_words(data, counts, words):
    """Write what is hashed of the cells of rows, in words of 8 bytes; return how many, or -1 if one is not finite."""
    numbers = words.view(np.int64)
    k = 0
    for i in range(data.shape[0]):
        c = 0
        finite = True
        for j in range(data.shape[1]):
            value = float(data[i, j])
            c += value != 0.0
            finite &= value - value == 0.0
        if not finite:
            return -1
        counts[i] = c
        if 2 * c > data.shape[1]:
            for j in range(data.shape[1]):
                words[k + j] = float(data[i, j]) + 0.0  # 0 for -0
            k += data.shape[1]
            continue
        for j in range(data.shape[1]):
            if data[i, j] != 0:
                numbers[k] = j
                words[k + 1] = float(data[i, j])
                k += 2
    return k


@compiled()
def _sparse_words(data, indices, indptr, start, n_features, counts, words):
    """Write the same of some rows, from ``start``, that are given by their columns in order."""
    numbers = words.view(np.int64)
    k = 0
    for i in range(counts.size):
        first, end = int(indptr[start + i]), int(indptr[start + i + 1])
        c = 0
        for p in range(first, end):
            c += data[p] != 0
            if not np.isfinite(data[p]):
                return -1
        counts[i] = c
        full = 2 * c > n_features
        if full:
            words[k : k + n_features] = 0.0
        for p in range(first, end):
            if data[p] == 0:
                continue
            if full:
                words[k + indices[p]] = float(data[p])
            else:
                numbers[k] = indices[p]
                words[k + 1] = float(data[p])
                k += 2
        if full:
            k += n_features
    return k
