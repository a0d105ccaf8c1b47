"""Finds the lines of a text in which its rows begin."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from linsep.data.byte_streams import File

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
