"""One 0/1 feature for every word of a column, named ``column=word``.

Features are numbered in the order in which the words first appear, row by row and within a row column by column, so a
word that appears late gets the next number and nothing before it moves. Cells are coded by pyarrow; only words that a
piece of the table has not had before are looked at one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
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
        tables: list[Array] = []
        new: list[Array] = []  # first row, which of the columns, place of the word
        for k, (column, words, places) in enumerate(coded):
            known = self._numbers[column]
            table = np.array([*(known.get(word, -2) for word in words), -1], dtype=np.int64)  # the last one: no word
            tables.append(table)
            unknown = np.flatnonzero(table == -2)
            if len(unknown):
                first = np.full(len(table), len(places), dtype=np.int64)
                first[places[::-1]] = np.arange(len(places))[::-1]
                used = unknown[first[unknown] < len(places)]
                new.append(np.stack([first[used], np.full(len(used), k), used], axis=1))
        if new and not self.fixed:
            found = np.concatenate(new)
            for _, k, j in found[np.lexsort((found[:, 1], found[:, 0]))].tolist():
                tables[k][j] = self._add(coded[k].column, coded[k].words[j])
        n = len(coded[0].places) if coded else 0
        found = np.empty((n, len(coded)), dtype=np.int64)
        for k, table in enumerate(tables):
            found[:, k] = table[coded[k].places]
        if self.fixed and new:
            self.unseen += int(np.count_nonzero(found == -2))
            found[found == -2] = -1
        return found


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
