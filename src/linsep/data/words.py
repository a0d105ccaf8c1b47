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
from typing import Any, NamedTuple

import numpy as np

from linsep.compiling import compiled as _compiled
from linsep.data.arrays import csr_array, numpy_view
from linsep.data.schema import HASHED_TEXT, HASHED_WORD, Layout
from linsep.problem import Array, Floats

compiled = _compiled()

Category = tuple[int, str | None]  # number of the column, and the word; None is a missing cell


class CodedColumn(NamedTuple):
    """A column of a piece of a table: its words, and the code of each cell, its word's place among them or -1."""

    column: int
    words: list[str | None]
    codes: Array  # (n,)


class Bag(NamedTuple):
    """A column of texts in a piece of a table: its words, and the code and the row of each that occurs, in order."""

    column: int
    words: list[str]
    codes: Array  # (occurrences,)
    rows: Array  # (occurrences,)


class WordIndex:
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

    def numbered(self, coded: Sequence[CodedColumn], bags: Sequence[Bag], n: int) -> tuple[Array, list[Array]]:
        """Return the feature of every cell of ``n`` rows, and of every word of the texts, -1 where there is none."""
        parts: list[CodedColumn | Bag] = [*coded, *bags]
        tables = []  # the feature of each word, -2 for those that have none; the last one, -1, is that of no word
        new: list[Array] = []  # first row, column, place in the row, which of the parts, code of the word
        for k, part in enumerate(parts):
            known = self._numbers[part.column]
            tables.append(np.array([*(known.get(word, -2) for word in part.words), -1], dtype=np.int64))
            unknown = np.flatnonzero(tables[k] == -2)
            if len(unknown):
                codes = part.codes
                first = np.full(len(tables[k]), len(codes), dtype=np.int64)
                first[codes[::-1]] = np.arange(len(codes))[::-1]
                used = unknown[first[unknown] < len(codes)]
                rows = part.rows[first[used]] if isinstance(part, Bag) else first[used]
                same = np.ones(len(used), dtype=np.int64)
                new.append(np.stack([rows, part.column * same, first[used], k * same, used], axis=1))
        if new and not self.fixed:
            words = np.concatenate(new)
            for _, column, _, k, code in words[np.lexsort(words[:, 2::-1].T)].tolist():
                tables[k][code] = self._add(column, parts[k].words[code])
        features = np.empty((n, len(coded)), dtype=np.int64)
        for k, part in enumerate(coded):
            features[:, k] = tables[k][part.codes]
        texts = [table[bag.codes] for bag, table in zip(bags, tables[len(coded) :], strict=True)]
        if self.fixed and new:
            for numbers in (features, *texts):
                self.unseen += int(np.count_nonzero(numbers == -2))
                numbers[numbers == -2] = -1
        return features, texts


def assemble(numbers: Array, features: Array) -> tuple[Floats, Array, Array]:
    """Return numbers, and a 1 at each of the features, as the parts of a CSR matrix with sorted columns."""
    n = len(numbers)
    stored = np.count_nonzero(numbers) + np.count_nonzero(features >= 0)
    data, indices = np.empty(stored), np.empty(stored, dtype=np.int32)
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
def hash_values(prefix, data, offsets, mask):
    """Hash ``column=value`` for every value; ``prefix`` is the bytes of ``column=``."""
    start = _absorb(_START, prefix, 0, len(prefix))
    features = np.empty(len(offsets) - 1, dtype=np.int32)
    for i in range(len(features)):
        features[i] = _finish(_absorb(start, data, offsets[i], offsets[i + 1])) & mask
    return features


def hashed_rows(table: Any, layout: Layout) -> Any:
    """Return the hashed columns of a table as CSR rows, after empty columns for the numbers; a missing cell is 0."""
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
        _, offsets, letters = column.buffers()
        bounds = np.frombuffer(offsets, dtype=np.int64, count=len(column) + 1, offset=8 * column.offset)
        letters = np.frombuffer(b"" if letters is None else letters, dtype=np.uint8)
        present = bounds[1:] != bounds[:-1]
        indptr = np.concatenate(([0], np.cumsum(np.bincount(rows[present], minlength=n)))).astype(np.int32)
        prefix = np.frombuffer(f"{name}=".encode(), dtype=np.uint8)
        features = hash_values(prefix, letters, bounds, np.uint64(mask))[present]
        words = csr_array((np.ones(len(features)), features + np.int32(first), indptr), shape)
        words.sum_duplicates()
        X = X + words
    return X
