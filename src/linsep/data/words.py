"""Words as features: one for each word of a column, named ``column=word``, or hashed; of texts, how often each occurs.

Features of words are numbered in the order in which the words first appear, row by row and within a row column by
column, so a word that appears late gets the next number and nothing before it moves. Cells are coded by pyarrow; only
words that a piece of the table has not had before are looked at one by one.

The hash of ``column=value`` never changes, so a model finds its features again on any machine: FNV-1a over the UTF-8
bytes in 64 bits (Fowler, Noll & Vo, 1991), then the finisher of MurmurHash3 (Appleby, 2011), of which the lowest
``hash_bits`` bits are the number of the feature. There are no signs: a value stands for 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linsep.compiling import compiled as _compiled
from linsep.data.arrays import csr_array
from linsep.data.arrow_arrays import numpy_view
from linsep.data.schema import HASHED_TEXT, HASHED_WORD, Layout
from linsep.problem import Array, Floats

if TYPE_CHECKING:
    import pyarrow as pa

compiled = _compiled()

Category = tuple[int, str | None]  # number of the column, and the word; None is a missing cell


class Coded(NamedTuple):
    """A column of a piece of a table: its words, and the place of each cell's word among them, -1 for no word."""

    column: int
    words: list[str | None]
    places: Array  # (n,)


class Bag(NamedTuple):
    """A column of texts in a piece of a table: its words, and the place and the row of each that occurs, in order."""

    column: int
    words: list[str]
    places: Array  # (occurrences,)
    rows: Array  # (occurrences,)


class Categories:
    """The words that have features, in their order: numbers count from ``first``, ``known`` words have theirs already.

    When they are ``fixed``, as for a model that has learned from others, a new word gets no feature, and ``unseen``
    counts such cells.
    """

    def __init__(self, first: int, known: Iterable[Category] = (), *, fixed: bool = False) -> None:
        self.first, self.fixed = first, fixed
        self.order: list[Category] = []
        self.unseen = 0
        self._numbers: defaultdict[int, dict[str | None, int]] = defaultdict(dict)
        for category in known:
            self._add(*category)

    def __len__(self) -> int:
        return len(self.order)

    def _add(self, column: int, word: str | None) -> int:
        """Return the feature of a word, the next one if it has none."""
        following = self.first + len(self.order)
        number = self._numbers[column].setdefault(word, following)  # what is missing may be written in two ways
        if number == following:
            self.order.append((column, word))
        return number

    def numbered(self, coded: Sequence[Coded], bags: Sequence[Bag]) -> tuple[Array, list[Array]]:
        """Return the feature of every cell, and of every word of the texts, -1 where there is none."""
        parts: list[Coded | Bag] = [*coded, *bags]
        tables = []  # the feature of each word, -2 for those that have none; the last one, -1, is that of no word
        for part in parts:
            known = self._numbers[part.column]
            tables.append(np.array([*(known.get(word, -2) for word in part.words), -1], dtype=np.int64))
        new: list[Array] = []  # first row, column, place in the row, which of the parts, place of the word
        for k, (part, table) in enumerate(zip(parts, tables, strict=True)):
            unknown = np.flatnonzero(table == -2)
            if len(unknown):
                places = part.places
                first = np.full(len(table), len(places), dtype=np.int64)
                first[places[::-1]] = np.arange(len(places))[::-1]
                used = unknown[first[unknown] < len(places)]
                rows = part.rows[first[used]] if isinstance(part, Bag) else first[used]
                same = np.ones(len(used), dtype=np.int64)
                new.append(np.stack([rows, part.column * same, first[used], k * same, used], axis=1))
        if new and not self.fixed:
            found = np.concatenate(new)
            for _, column, _, k, j in found[np.lexsort(found[:, 2::-1].T)].tolist():
                tables[k][j] = self._add(column, parts[k].words[j])
        n = len(coded[0].places) if coded else 0
        features = np.empty((n, len(coded)), dtype=np.int64)
        for k, part in enumerate(coded):
            features[:, k] = tables[k][part.places]
        texts = [table[bag.places] for bag, table in zip(bags, tables[len(coded) :], strict=True)]
        if self.fixed and new:
            for found in (features, *texts):
                self.unseen += int(np.count_nonzero(found == -2))
                found[found == -2] = -1
        return features, texts


def assemble(numbers: Array, features: Array) -> tuple[Floats, Array, Array]:
    """Return numbers, and a 1 at each of the features, as the parts of a CSR matrix with sorted columns."""
    n = len(numbers)
    room = np.count_nonzero(numbers) + np.count_nonzero(features >= 0)
    data, indices = np.empty(room), np.empty(room, dtype=np.int32)
    indptr = np.zeros(n + 1, dtype=np.int32)
    _assemble(np.ascontiguousarray(numbers, dtype=np.float64), features, data, indices, indptr)
    return data, indices, indptr


@compiled
def _assemble(numbers, features, data, indices, indptr):
    """Put the numbers that are not zero first, then the features in order."""
    p = 0
    for i in range(len(numbers)):
        for j in range(numbers.shape[1]):
            if numbers[i, j] != 0:
                data[p] = numbers[i, j]
                indices[p] = j
                p += 1
        start = p
        for k in range(features.shape[1]):
            feature = features[i, k]
            if feature >= 0:
                q = p
                while q > start and indices[q - 1] > feature:
                    indices[q] = indices[q - 1]
                    q -= 1
                indices[q] = feature
                data[p] = 1.0
                p += 1
        indptr[i + 1] = p


# ---------------------------------------------------------------------------------------------------------------
# Hashed words


def hash_name(name: str) -> int:
    """Return the 64-bit hash of ``column=value``."""
    return int(_hash(np.frombuffer(name.encode(), dtype=np.uint8)))


_BETWEEN = r"[^\pL\pM\pN_']+"  # what lies between the words of a text
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
    return _finish(_absorb(_START, data, 0, len(data)))


@compiled
def hash_values(prefix, data, offsets, mask):
    """Hash ``column=value`` for every value; ``prefix`` is the bytes of ``column=``."""
    start = _absorb(_START, prefix, 0, len(prefix))
    found = np.empty(len(offsets) - 1, dtype=np.int32)
    for i in range(len(found)):
        found[i] = _finish(_absorb(start, data, offsets[i], offsets[i + 1])) & mask
    return found


def hashed_rows(table: Any, layout: Layout) -> Any:
    """Return the hashed columns of a table as CSR rows, after room for the numbers; a missing cell is nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    n, first = table.num_rows, len(layout.numbers)
    mask = (1 << layout.hash_bits) - 1
    shape = (n, first + mask + 1)
    X = csr_array((np.empty(0), np.empty(0, np.int32), np.zeros(n + 1, np.int32)), shape)
    for name, kind in layout.columns:
        if kind not in (HASHED_WORD, HASHED_TEXT):
            continue
        column = table.column(name)
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        column, rows = column.cast(pa.large_string()).fill_null(""), np.arange(n)
        if kind == HASHED_TEXT:
            texts = pc.split_pattern_regex(pc.utf8_lower(column), pattern=_BETWEEN)
            column, rows = texts.flatten(), numpy_view(pc.list_parent_indices(texts))
        letters, bounds = _letters(column)
        present = bounds[1:] != bounds[:-1]
        indptr = np.concatenate(([0], np.cumsum(np.bincount(rows[present], minlength=n)))).astype(np.int32)
        prefix = np.frombuffer(f"{name}=".encode(), dtype=np.uint8)
        features = hash_values(prefix, letters, bounds, np.uint64(mask))[present]
        words = csr_array((np.ones(len(features)), features + np.int32(first), indptr), shape)
        words.sum_duplicates()
        X = X + words
    return X


def _letters(column: pa.Array) -> tuple[Array, Array]:
    """Return the bytes of a column of long strings and where each begins and ends."""
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64, count=len(column) + 1, offset=8 * column.offset)
    return np.empty(0, np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8), bounds
