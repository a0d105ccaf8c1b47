"""Checks the first rows of a table for row numbers, IDs, and labels that are measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linsep.data.layout import listed

_COUNTERS = frozenset(("index", "id", "rownames", "row.names", "row_names", "unnamed: 0", "__index_level_0__"))
_ENOUGH = 10  # cells before words that all differ are taken for ids
_MOST = 50  # distinct whole numbers that may be labels
_FEW = 20  # distinct values of a column that could be meant as the label


def counts_rows(name: str, place: int, cells: Sequence[Any]) -> bool:
    """Say whether a column only counts the rows: its name says so, and it holds 0, 1, 2, ... or 1, 2, 3, ..."""
    if not ((name == "" and place == 0) or name.strip().lower() in _COUNTERS) or len(cells) < 2:
        return False
    numbers = [_whole(cell) for cell in cells]
    return numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _whole(cell: Any) -> int:
    """Return a cell as a whole number, -1 if it is none."""
    text = str(cell).strip().strip('"')
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else -1


def is_id(cells: Sequence[Any]) -> bool:
    """Say whether almost every cell holds another word."""
    return len(cells) >= _ENOUGH and 10 * len(set(cells)) >= 9 * len(cells)


def measurement(values: Sequence[Any]) -> str | None:
    """Say why a column of numbers, or of dates as they are written, looks like a measurement, None if it does not."""
    if values and isinstance(values[0], str):
        distinct = len(set(values))
        many = distinct > _MOST and 10 * distinct > len(values)
        return f"it holds {distinct} different dates in {len(values)} rows" if many else None
    numbers = [float(value) for value in values]
    distinct = len(set(numbers))
    broken = [number for number in numbers if not number.is_integer()]
    if broken:
        return f"it holds numbers with fractions, such as {broken[0]:g}"
    if distinct > _MOST and 10 * distinct > len(numbers):
        return f"it holds {distinct} different numbers in {len(numbers)} rows"
    return None


def could_be_labels(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> list[str]:
    """Return the names of the columns that have few distinct values, those with the fewest first."""
    found = []
    for name, cells in zip(names, columns, strict=True):
        distinct = len(set(cells))
        if 2 <= distinct <= min(_FEW, max(2, len(cells) // 2)):
            found.append((distinct, name))
    return [name for _, name in sorted(found, key=lambda one: one[0])]


def refusal(name: str, why: str, candidates: list[str]) -> tuple[str, tuple[str, Any]]:
    """Return the words for a label that looks like a measurement, and the setting that takes it or another."""
    hint = f"; columns with few values: {listed(candidates)}" if candidates else ""
    what = f"the label would be the last column, {name!r}, but {why}: name the label column with {{0}}{hint}"
    return what, ("target", candidates[0] if candidates else name)
