"""One 0/1 feature for every word of a column, named ``column=word``; of texts, how often each word occurs.

Features are numbered in the order in which the words first appear, row by row and within a row column by column, so a
word that appears late gets the next number and nothing before it moves. Cells are coded by pyarrow; only words that a
piece of the table has not had before are looked at one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from linsep.compiling import compiled
from linsep.problem import Array, Floats

Level = tuple[int, str | None]  # number of the column, and the word; None is a gap


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


class Levels:
    """The words that have their own features, in the order of the features.

    Parameters
    ----------
    first : int
        The number of the first feature.
    known : iterable of (column, word)
        Words that have features already.
    fixed : bool
        Whether a new word is left without a feature, as for a model that has learned from others; ``unseen`` counts
        such cells.

    Examples
    --------
    >>> import numpy as np
    >>> from linsep.data.one_hot import Coded, Levels
    >>> levels = Levels(first=2)
    >>> town, color = Coded(0, ["Ulm", "Bonn"], np.array([0, 0, 1])), Coded(1, ["red"], np.array([0, 0, 0]))
    >>> levels.features([town, color]).tolist()
    [[2, 3], [2, 3], [4, 3]]
    >>> levels.order
    [(0, 'Ulm'), (1, 'red'), (0, 'Bonn')]
    """

    def __init__(self, first: int, known: Iterable[Level] = (), *, fixed: bool = False) -> None:
        self.first, self.fixed = first, fixed
        self.order: list[Level] = []
        self.unseen = 0
        self._numbers: defaultdict[int, dict[str | None, int]] = defaultdict(dict)
        for level in known:
            self._add(*level)

    def __len__(self) -> int:
        return len(self.order)

    def _add(self, column: int, word: str | None) -> int:
        """Return the feature of a word, the next one if it has none."""
        following = self.first + len(self.order)
        number = self._numbers[column].setdefault(word, following)  # a gap may have been spelled in two ways
        if number == following:
            self.order.append((column, word))
        return number

    def features(self, coded: list[Coded]) -> Array:
        """Return the feature of every cell, -1 where there is none."""
        return self.numbered(coded, [])[0]

    def numbered(self, coded: list[Coded], bags: list[Bag]) -> tuple[Array, list[Array]]:
        """Return the feature of every cell, and of every word of the texts, -1 where there is none."""
        parts: list[Coded | Bag] = [*coded, *bags]
        tables = [self._table(part.column, part.words) for part in parts]
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

    def _table(self, column: int, words: Sequence[str | None]) -> Array:
        """Return the feature of each word, -2 for those that have none; the last one, -1, is that of no word."""
        known = self._numbers[column]
        return np.array([*(known.get(word, -2) for word in words), -1], dtype=np.int64)


def assemble(numbers: Array, features: Array) -> tuple[Floats, Array, Array]:
    """Return numbers, and a 1 at each of the features, as the parts of a CSR matrix with sorted columns."""
    n = len(numbers)
    room = np.count_nonzero(numbers) + np.count_nonzero(features >= 0)
    data, indices = np.empty(room), np.empty(room, dtype=np.int32)
    indptr = np.zeros(n + 1, dtype=np.int32)
    _assemble(np.ascontiguousarray(numbers, dtype=np.float64), features, data, indices, indptr)
    return data, indices, indptr


@compiled()
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
