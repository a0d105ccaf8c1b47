"""The columns of a table and how each is used: as numbers, as one feature per word, or hashed."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linsep.data.labels import object_array
from linsep.errors import DataError

# Kinds of columns. Those of numbers say how a cell is written; what comes after a colon is the date's format, the sign
# between thousands, or the unit and that sign. A "word" has its own feature, and so has every word of a "text"; a
# "category" and a "hashed text" are hashed.
NUMBER, BOOLEAN, PERCENT, GROUPED, UNIT, DATE = "number", "boolean", "percent", "grouped", "unit", "date"
WORD, HASHED_WORD, TEXT, HASHED_TEXT = "word", "category", "text", "hashed text"
_NUMERIC = frozenset((NUMBER, BOOLEAN, PERCENT, GROUPED, UNIT, DATE))
_KINDS = _NUMERIC | {WORD, HASHED_WORD, TEXT, HASHED_TEXT}


class CellError(ValueError):
    """Something wrong in a cell: ``str()`` says what; ``row`` counts from 0, ``column`` is its name or number."""

    def __init__(self, row: int, column: str, message: str, *settings: tuple[str, object]) -> None:
        super().__init__(message)
        self.row, self.column, self.settings = row, column, settings


class ColumnError(ValueError):
    """A column that is not there, or cannot be used: ``str()`` says why, ``settings`` what would help."""

    def __init__(self, message: str, *settings: tuple[str, object]) -> None:
        super().__init__(message)
        self.settings = settings


class Column(NamedTuple):
    """A column of a table: a line of what ``Source.describe`` returns."""

    name: str
    kind: str  # number, boolean, date, word, text, label, ...
    levels: int | None  # how many words there are, for words
    range: tuple[float, float] | None  # the smallest and the largest number, for numbers
    gaps: int  # cells without a value
    usage: str  # what became of it


def find(wanted: str | int, names: Sequence[str]) -> int:
    """Return the place of a column that is asked for by name or by number, from 0 or, below 0, from the end."""
    if isinstance(wanted, str) and wanted in names:
        return list(names).index(wanted)
    try:
        place = int(wanted)
    except ValueError:
        near = difflib.get_close_matches(str(wanted), names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {listed(names)}"
        raise ColumnError(f"no column is named {wanted!r}; {hint}") from None
    if not -len(names) <= place < len(names):
        raise ColumnError(f"no column has the number {place}; there are {len(names)}, counted from 0")
    return place % len(names)


def listed(names: Sequence[str]) -> str:
    """Return names in quotes, not too many of them."""
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def is_numeric(kind: str) -> bool:
    """Say whether a column of this kind is one feature, a number."""
    return kind.partition(":")[0] in _NUMERIC


def kind_shown(kind: str) -> str:
    """Return a kind as users see it: ``grouped:,`` is a number written like 1,000."""
    name, _, sign = kind.partition(":")
    if name == UNIT:
        return f"number ({sign.partition(':')[0]})"
    return f"number (1{sign}000)" if name == GROUPED else name


@dataclass(frozen=True)
class Layout:
    """The columns of a table that are features, in order, and what becomes of each.

    Numbers come first and keep their order; whatever is hashed shares ``2 ** hash_bits`` features after them; then
    come the words, a feature for each, in the order in which they first appeared.
    """

    columns: tuple[tuple[str, str], ...]  # names and kinds, such as "number", "grouped:,", "unit:kg", "word"
    hash_bits: int = 18  # how many features there are for what is hashed, as a power of two
    named: bool = True  # whether the names are the user's own; otherwise they are numbers, from 0
    target: str | None = None  # the name of the column with the labels
    categories: tuple[tuple[int, str | None], ...] = ()  # words that have features, by column; None is a missing cell

    @property
    def numbers(self) -> list[str]:
        """Names of the columns that are numbers."""
        return [name for name, kind in self.columns if is_numeric(kind)]

    @property
    def words(self) -> list[str]:
        """Names of the columns that are words or texts, with a feature for each word."""
        return [name for name, kind in self.columns if kind in (WORD, TEXT)]

    @property
    def hashed(self) -> bool:
        """Whether some column is hashed."""
        return any(kind in (HASHED_WORD, HASHED_TEXT) for _, kind in self.columns)

    @property
    def first_category(self) -> int:
        """The number of the first feature that stands for a word."""
        return len(self.numbers) + (1 << self.hash_bits if self.hashed else 0)

    @property
    def width(self) -> int:
        """How many features a row has."""
        return self.first_category + len(self.categories)

    @property
    def names(self) -> list[str]:
        """Names of the features, those of hashed columns left out."""
        return [*self.numbers, *(self.category_name(category) for category in self.categories)]

    def category_name(self, category: tuple[int, str | None]) -> str:
        """Return the name of a feature that stands for a word."""
        column, word = category
        return f"{self.columns[column][0]}={'missing' if word is None else word}"

    def state(self) -> dict[str, Any]:
        """Return arrays and plain values that a model file can hold."""
        names, kinds = zip(*self.columns, strict=True) if self.columns else ((), ())
        return {
            "names": object_array(list(names)),
            "kinds": object_array(list(kinds)),
            "hash_bits": self.hash_bits,
            "named": self.named,
            "target": self.target,
            # a missing cell has the complement of its column's number
            "level_columns": np.array([~j if word is None else j for j, word in self.categories], dtype=np.int32),
            "level_words": object_array([word or "" for _, word in self.categories]),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Layout:
        """Return the layout that ``state`` was taken of; one that makes no sense is an error."""
        try:
            names, kinds = [str(name) for name in state["names"]], [str(kind) for kind in state["kinds"]]
            places = [int(place) for place in state.get("level_columns", ())]
            words = [str(word) for word in state.get("level_words", ())]
            target = state["target"]
            layout = cls(
                tuple(zip(names, kinds, strict=True)),
                int(state["hash_bits"]),
                bool(state["named"]),
                None if target is None else str(target),
                tuple((~j, None) if j < 0 else (j, word) for j, word in zip(places, words, strict=True)),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DataError("", f"the model's record of its columns is damaged ({error!r})") from None
        in_range = all(0 <= j < len(names) for j, _ in layout.categories)
        if not (in_range and 1 <= layout.hash_bits <= 30 and {k.partition(":")[0] for k in kinds} <= _KINDS):
            raise DataError("", "the model's record of its columns is damaged")
        return layout
