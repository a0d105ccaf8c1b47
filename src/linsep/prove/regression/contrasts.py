"""Parses linear functions of coefficients: numbers, mappings, or texts like ``"2*a - b/3"``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from linsep.errors import DataError

_NUMBER = re.compile(r"\d+(\.\d*)?([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?")


def contrast(c: Any, names: Sequence[str]) -> list[Fraction]:
    """Return the number by which every coefficient is multiplied."""
    if isinstance(c, str):
        return _parsed(c, names)
    if isinstance(c, Mapping):
        found = [Fraction(0)] * len(names)
        for name, value in c.items():
            found[place(name, names)] += _exact(value)
        return found
    values = [_exact(value) for value in c]
    if len(values) != len(names):
        raise DataError("", f"a function of the coefficients needs {len(names)} numbers, got {len(values)}")
    return values


def _exact(value: Any) -> Fraction:
    try:
        return Fraction(value if isinstance(value, int | Fraction | Decimal | str) else float(value))
    except (TypeError, ValueError, OverflowError):
        raise DataError("", f"{value!r} is not a number") from None


def place(name: str, names: Sequence[str]) -> int:
    """Return the place of a coefficient, or an error with near names."""
    if name in names:
        return list(names).index(name)
    raise unknown(name, names, "coefficient")


def unknown(name: str, names: Sequence[str], what: str = "column") -> DataError:
    """Return the error that there is no such name."""
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    shown = ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {shown}"
    return DataError("", f"no {what} is named {name!r}; {hint}")


def _parsed(text: str, names: Sequence[str]) -> list[Fraction]:
    """Read terms: a sign, perhaps a number and ``*``, a name, perhaps ``/`` and a number."""
    found = [Fraction(0)] * len(names)
    longest = sorted(range(len(names)), key=lambda j: -len(names[j]))
    at, first = 0, True
    while True:
        at = _blank(text, at)
        if at == len(text):
            break
        sign = 1
        if text[at] in "+-":
            sign = -1 if text[at] == "-" else 1
            at = _blank(text, at + 1)
        elif not first:
            raise DataError("", f"{text!r}: a sign is missing before {text[at:]!r}")
        j = _named(text, at, names, longest)
        factor, number = Fraction(1), None if j is not None else _NUMBER.match(text, at)
        if number:
            factor = Fraction(number[0])
            at = _blank(text, number.end())
            if text[at : at + 1] == "/" and (below := _NUMBER.match(text, _blank(text, at + 1))):
                factor /= Fraction(below[0])
                at = _blank(text, below.end())
            if text[at : at + 1] == "*":
                at = _blank(text, at + 1)
            j = _named(text, at, names, longest)
        if j is None:
            raise unknown(re.split(r"\s[+-]|\s*$", text[at:])[0], names, "coefficient")
        at = _blank(text, at + len(names[j]))
        if text[at : at + 1] == "/" and (below := _NUMBER.match(text, _blank(text, at + 1))):
            factor /= Fraction(below[0])
            at = below.end()
        found[j] += sign * factor
        first = False
    if first:
        raise DataError("", "a function of the coefficients is empty")
    return found


def _blank(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _named(text: str, at: int, names: Sequence[str], longest: list[int]) -> int | None:
    """Return the longest name that stands here, and does not go on as a longer word."""
    for j in longest:
        end = at + len(names[j])
        if text.startswith(names[j], at) and not re.match(r"\w", text[end : end + 1]):
            return j
    return None
