"""Checks the first rows of a table for row numbers, IDs, and labels that are measurements."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from linsep.data.layout import listed

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")  # of a name: patient_id, PassengerId
_IDS = frozenset(("id", "uid", "uuid", "guid"))
_KEYS = _IDS | {"key", "pk"}
_INDEXES = frozenset((
    "index", "idx", "row", "row index", "row number", "row num", "row nr", "row no", "rownum", "row name", "row names",
    "rowname", "rownames", "index level 0", "level 0",
))  # fmt: skip
_JOINED = re.compile(
    r"(row|rec|record|case|obs|sample|subject|patient|person|user|member|client|cust|customer|emp|employee|student|player|"
    r"item|product|prod|order|object|device|session|account|unique)id"
)
_WHOLE = re.compile(r"\s*\"?[+-]?[0-9]+(\.0*)?\"?\s*")
_ENOUGH = 10  # cells before words that all differ are taken for ids
_MOST = 50  # distinct whole numbers that may be labels
_FEW = 20  # distinct values of a column that could be meant as the label


def numbers_rows(name: str, cells: Sequence[Any], *, index: bool = False) -> bool:
    """Say whether a column only numbers the rows: its name, or who wrote it, says so, and its integers differ."""
    if not (index or names_rows(name)) or len(cells) < 2 or not all(_WHOLE.fullmatch(str(cell)) for cell in cells):
        return False
    distinct = len({int(str(cell).strip().strip('"').partition(".")[0]) for cell in cells})
    return distinct == len(cells) or (len(cells) >= _ENOUGH and 10 * distinct >= 9 * len(cells))


def names_rows(name: str) -> bool:
    """Say whether a name is that of an index, an ID or a key, or of a column that has none."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return name.strip() in ("", "#")
    unnamed = words[0] == "unnamed" and all(map(str.isdigit, words[1:]))
    joined = len(words) == 1 and _JOINED.fullmatch(words[0]) is not None
    return unnamed or joined or " ".join(words) in _INDEXES or words[0] in _IDS or words[-1] in _KEYS


def index_columns(metadata: Mapping[bytes, bytes] | None) -> set[str]:
    """Return the names of the columns of a Parquet or Arrow file that were the index of a pandas frame."""
    try:
        found = json.loads((metadata or {}).get(b"pandas", b"{}"))["index_columns"]
        return {name for name in found if isinstance(name, str)}
    except (ValueError, KeyError, TypeError, RecursionError):
        return set()


def is_id(cells: Sequence[Any]) -> bool:
    """Say whether almost every cell holds another word."""
    return len(cells) >= _ENOUGH and 10 * len(set(cells)) >= 9 * len(cells)


Reason = tuple[str, tuple[str, Any]]  # why a column is left out, and the setting that keeps it


def left_out(columns: Sequence[tuple[str, bool, Sequence[Any]]], index: set[str]) -> dict[str, Reason]:
    """Return which columns only name the rows, by name.

    ``columns`` are names, whether they hold numbers, and the cells of the first rows; ``index`` are known indexes.
    """
    reasons: dict[str, Reason] = {}
    for name, numeric, cells in columns:
        if numeric and numbers_rows(name, cells, index=name in index):
            reasons[name] = "it only numbers the rows", ("keep_index", True)
        elif not numeric and is_id(cells):
            reasons[name] = "almost every row has a different word, as in an ID", ("categorical", name)
    return reasons


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
