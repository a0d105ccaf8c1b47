"""Where the rows of a source are: their numbers, also where rows between them were dropped, and their lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from linsep.problem import Array

_NONE = np.empty(0, dtype=np.int64)
_SHOWN = 5  # columns that a note names


class Location(NamedTuple):
    """Where a row of a text begins."""

    file: str
    line: int


@dataclass(frozen=True, eq=False)
class Dropped:
    """The rows of a source that were dropped; all rows count from 0."""

    numbers: Array = field(default_factory=lambda: _NONE)  # of the rows that were dropped, in the source, in order
    rows: int = 0  # of the source in all
    cells: tuple[tuple[str, int], ...] = ()  # how many cells were missing, by column

    def __len__(self) -> int:
        return len(self.numbers)

    def in_source(self, rows: Any) -> Array:
        """Return the numbers in the source of rows that are numbered among those that are left."""
        rows = np.asarray(rows, dtype=np.intp)
        before = self.numbers - np.arange(len(self.numbers))  # how many rows are left before each dropped one
        return np.asarray(rows + np.searchsorted(before, rows, side="right"), dtype=np.intp)

    def among_kept(self, rows: Any) -> Array:
        """Return the numbers among the rows that are left of rows of the source."""
        rows = np.asarray(rows, dtype=np.intp)
        return np.asarray(rows - np.searchsorted(self.numbers, rows), dtype=np.intp)

    def words(self) -> str:
        """Return how many rows were dropped, and why."""
        counts = [f"{count:,} in column {name!r}" for name, count in self.cells[:_SHOWN]]
        more = len(self.cells) - _SHOWN
        counts += [f"{more:,} more column{'s' * (more > 1)}"] if more > 0 else []
        why = f": {', '.join(counts)}" if counts else ""
        return f"{len(self):,} of {self.rows:,} rows because of missing cells{why}"

    @classmethod
    def joined(cls, parts: Iterable[Dropped]) -> Dropped:
        """Return what was dropped in parts of a source that follow each other."""
        numbers: list[Array] = []
        rows, cells = 0, Counter[str]()
        for part in parts:
            numbers.append(part.numbers + rows)
            rows += part.rows
            cells.update(dict(part.cells))
        return cls(np.concatenate(numbers) if numbers else _NONE, rows, tuple(cells.most_common()))


def both(first: Array | None, then: Array | None) -> Array | None:
    """Return which rows are left after two steps, the second of which saw only those that the first one left."""
    if first is None or then is None:
        return then if first is None else first
    left = first.copy()
    left[first] = then
    return left
