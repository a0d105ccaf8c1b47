"""Hashes words into features, for text and for columns with very many words.

The hash of ``column=value`` never changes, so a model finds its features again on any machine: FNV-1a over the
UTF-8 bytes in 64 bits (Fowler, Noll & Vo, 1991), then the finisher of MurmurHash3 (Appleby, 2011), of which the lowest
``hash_bits`` bits are the number of the feature. There are no signs: a value stands for 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linsep.compiling import compiled as _compiled
from linsep.data.arrays import csr_array
from linsep.data.schema import CATEGORY, HASHED, Layout
from linsep.problem import Array

compiled = _compiled()


def hash_name(name: str) -> int:
    """Return the 64-bit hash of ``column=value``.

    Examples
    --------
    >>> from linsep.data.hashing import hash_name
    >>> hex(hash_name("town=Ulm"))
    '0x8e3621a1493a6f7b'
    """
    return int(_hash(np.frombuffer(name.encode(), dtype=np.uint8)))


_START = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)


@compiled
def _absorb(state, data, first, stop):
    """Continue FNV-1a over some bytes."""
    for i in range(first, stop):
        state = (state ^ np.uint64(data[i])) * _PRIME
    return state


@compiled
def _finish(state):
    """Mix the bits so that any of them can be used."""
    state = (state ^ (state >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    state = (state ^ (state >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return state ^ (state >> np.uint64(33))


@compiled
def _hash(data):
    """Hash some bytes."""
    return _finish(_absorb(_START, data, 0, len(data)))


@compiled
def hash_values(prefix, data, offsets, mask):
    """Hash ``column=value`` for every value; ``prefix`` is the bytes of ``column=``."""
    start = _absorb(_START, prefix, 0, len(prefix))
    found = np.empty(len(offsets) - 1, dtype=np.int32)
    for i in range(len(found)):
        found[i] = _finish(_absorb(start, data, offsets[i], offsets[i + 1])) & mask
    return found


@compiled
def _blank(data, p, stop):
    """Return how many bytes at ``p`` lie between words: 0 inside a word."""
    c = data[p]
    if c < 128:
        return 0 if 48 <= c <= 57 or 97 <= c <= 122 or 65 <= c <= 90 or c == 95 or c == 39 else 1
    if c == 0xC2 and p + 1 < stop and data[p + 1] not in (0xAA, 0xB5, 0xBA):
        return 2  # signs of Latin-1, but for its three odd letters
    if p + 2 < stop and ((c == 0xE2 and data[p + 1] <= 0x81) or (c == 0xE3 and data[p + 1] == 0x80)):
        return 3  # dashes, quotes, ideographic punctuation
    return 0


@compiled
def hash_words(prefix, data, offsets, mask):
    """Hash ``column=word`` for every word of every text; return where each text's words begin, and the features."""
    start = _absorb(_START, prefix, 0, len(prefix))
    indptr = np.zeros(len(offsets), dtype=np.int32)
    found = np.empty((offsets[-1] - offsets[0]) // 2 + len(offsets), dtype=np.int32)  # a word and a blank: two bytes
    count = 0
    for i in range(len(offsets) - 1):
        p, stop = offsets[i], offsets[i + 1]
        while p < stop:
            blank = _blank(data, p, stop)
            if blank:
                p += blank
                continue
            state = start
            while p < stop and _blank(data, p, stop) == 0:
                state = (state ^ np.uint64(data[p])) * _PRIME
                p += 1
            found[count] = _finish(state) & mask
            count += 1
        indptr[i + 1] = count
    return indptr, found[:count]


def strings(column: pa.Array) -> tuple[Array, Array]:
    """Return the bytes of a column of strings and where each begins and ends; a missing one is empty."""
    column = column.cast(pa.large_string()).fill_null("")
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64, count=len(column) + 1, offset=8 * column.offset)
    letters = np.empty(0, np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    return letters, bounds


def hashed_rows(table: Any, layout: Layout) -> Any:
    """Return the hashed columns of a table as CSR rows, after room for the numbers; a gap stands for nothing."""
    n, first = table.num_rows, len(layout.numbers)
    mask = (1 << layout.hash_bits) - 1
    shape = (n, first + mask + 1)
    X = csr_array((np.empty(0), np.empty(0, np.int32), np.zeros(n + 1, np.int32)), shape)
    for name, kind in layout.columns:
        if kind not in (CATEGORY, HASHED):
            continue
        column = table.column(name)
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        column = column.cast(pa.large_string())
        letters, bounds = strings(pc.utf8_lower(column) if kind == HASHED else column)
        prefix = np.frombuffer(f"{name}=".encode(), dtype=np.uint8)
        if kind == HASHED:
            indptr, found = hash_words(prefix, letters, bounds, np.uint64(mask))
        else:
            present = bounds[1:] != bounds[:-1]
            indptr = np.concatenate(([0], np.cumsum(present))).astype(np.int32)
            found = hash_values(prefix, letters, bounds, np.uint64(mask))[present]
        words = csr_array((np.ones(len(found)), found + np.int32(first), indptr), shape)
        words.sum_duplicates()
        X = X + words
    return X
