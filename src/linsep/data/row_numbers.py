"""Rows keep the numbers that they have in their source, also where others were dropped; their lines in a text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from linsep.data.files import File
from linsep.problem import Array

_NONE = np.empty(0, dtype=np.int64)
_SHOWN = 5  # columns that a note names


@dataclass(frozen=True, eq=False)
class Dropped:
    """The rows of a source that were dropped; all rows count from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from linsep.data.row_numbers import Dropped
    >>> dropped = Dropped(np.array([1, 4]), 7)  # rows 0, 2, 3, 5, 6 are left
    >>> dropped.in_source([0, 1, 2, 3, 4]).tolist(), dropped.among_kept([5, 6]).tolist()
    ([0, 2, 3, 5, 6], [3, 4])
    """

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
        found = [f"{count:,} in column {name!r}" for name, count in self.cells[:_SHOWN]]
        found += [f"{len(self.cells) - _SHOWN} more columns"] if len(self.cells) > _SHOWN else []
        why = f": {', '.join(found)}" if found else ""
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


# ---------------------------------------------------------------------------------------------------------------
# Lines


_BLANK = re.compile(rb"(?:\A|\n)[ \t\r]*\n")


def line_numbers(
    texts: Iterable[Any], line: int, lines_of: Callable[[bytes, int], Iterator[int] | None], wanted: Sequence[int]
) -> tuple[dict[int, int], int]:
    """Return the line of each wanted row of a text, and how many rows it has.

    Parameters
    ----------
    texts : iterable of bytes-like
        Whole rows, in order.
    line : int
        Number of the first line.
    lines_of : callable
        Of whole rows and the number of their first line: the line in which each row begins, None if each is one line.
    wanted : sequence of int
        Row numbers, from 0, in order.
    """
    found: dict[int, int] = {}
    place = row = 0
    for piece in texts:
        text = bytes(piece)
        length, each = text.count(b"\n"), lines_of(text, line)
        numbers = None if each is None else list(each)
        end = row + (length if numbers is None else len(numbers))
        while place < len(wanted) and wanted[place] < end:
            at = wanted[place] - row
            found[wanted[place]] = line + at if numbers is None else numbers[at]
            place += 1
        row, line = end, line + length
    return found, row


def has_blank_lines(text: bytes) -> bool:
    """Say whether some line of a text is empty."""
    if text[:1] not in b"\n\r \t" and not any(start in text for start in (b"\n\n", b"\n\r", b"\n ", b"\n\t")):
        return False  # much faster
    return _BLANK.search(text) is not None


class Location(NamedTuple):
    """Where a row of a text begins."""

    file: str
    line: int


def locate(files: list[File], rows: Sequence[int], find: Callable[[File, list[int]], Any]) -> list[Location] | None:
    """Return where rows of several files begin; ``find`` finds lines in one of them and counts its rows.

    None for files at URLs, which are not read once more for it, and for streams that can be read only once.
    """
    if any(file.is_far or file.is_spent for file in files):
        return None
    wanted = sorted(set(rows))
    found: dict[int, Location] = {}
    first = 0
    for file in files:
        here = [row - first for row in wanted if row >= first and row not in found]
        if not here:
            break
        lines, count = find(file, here)
        found |= {first + row: Location(file.name, line) for row, line in lines.items()}
        first += count
    return [found[row] for row in rows]
