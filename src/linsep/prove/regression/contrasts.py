"""Parses linear functions of coefficients: numbers, mappings, or texts like ``"2*a - b/3"``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from linsep.errors import DataError

_NUMBER = r"(?>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"  # whole: not the first digits of a longer one
_FACTOR = rf"({_NUMBER})\s*(?:/\s*({_NUMBER})\s*)?\*?\s*"
_SIGN = r"\s*([+-]?)\s*"


def contrast(c: Any, names: Sequence[str]) -> list[Fraction]:
    """Return the number by which every coefficient is multiplied."""
    if isinstance(c, str):
        return _parsed(c, names)
    if isinstance(c, Mapping):
        found = [Fraction(0)] * len(names)
        for name, value in c.items():
            if name not in names:
                raise unknown(name, names, "coefficient")
            found[list(names).index(name)] += _exact(value)
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


def unknown(name: str, names: Sequence[str], what: str = "column") -> DataError:
    """Return the error that there is no such name."""
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    shown = ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {shown}"
    return DataError("", f"no {what} is named {name!r}; {hint}")


def _parsed(text: str, names: Sequence[str]) -> list[Fraction]:
    """Read terms: a sign, perhaps a number and ``*``, a name, perhaps ``/`` and a number."""
    found = [Fraction(0)] * len(names)
    place = {name: j for j, name in enumerate(names)}
    longest = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    term = re.compile(rf"{_SIGN}(?:{_FACTOR})??({longest})(?!\w)\s*(?:/\s*({_NUMBER}))?\s*")
    at = 0
    while at < len(text.rstrip()) or not at:
        read = term.match(text, at)
        if read is None and not text.strip():
            raise DataError("", "a function of the coefficients is empty")
        sign = re.compile(_SIGN).match(text, at)
        assert sign is not None
        if at and not sign[1]:
            raise DataError("", f"{text!r}: a sign is missing before {text[at:]!r}")
        if read is None:
            factor = re.compile(f"(?:{_FACTOR})?").match(text, sign.end())
            assert factor is not None
            raise unknown(re.split(r"\s[+-]|\s*$", text[factor.end() :])[0], names, "coefficient")
        _, times, over, name, under = read.groups()
        value = Fraction(times or 1) / Fraction(over or 1) / Fraction(under or 1)
        found[place[name]] += -value if sign[1] == "-" else value
        at = read.end()
    return found
