"""The plain check, part 1: what a document claims, its form, its numbers, its labels."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

STRICTLY = ("plane{} has every row strictly on its side", "{} score the true class of every row strictly highest")
NONE = (f"no {STRICTLY[0]}", f"no {STRICTLY[1]}")
MEANING = {  # by kind: of planes for two classes, of weight vectors for several
    "separable": (f"a {STRICTLY[0]}", f"some {STRICTLY[1]}"),
    "quasi": (f"{NONE[0]}, but one has none on the wrong side",
              f"{NONE[1]}, but some never score another class higher"),
    "overlap": ("every plane{} has rows on the wrong side, or all rows on it",
                "whatever the {}, another class scores higher on some row, or all scores are equal"),
    "not-separable": NONE,
    "fewest-errors": ("of all planes{} the best has {bounds}", "of all {} the best have {bounds}"),
}  # fmt: skip
SEPARATED = {  # by claim
    "complete": "complete separation: the maximum likelihood estimate does not exist",
    "quasi": "quasi-complete separation: the maximum likelihood estimate does not exist",
    "overlap": "overlap: the maximum likelihood estimate exists",
}


def meaning_of(content: dict[str, Any]) -> str:
    """Return the sentence of a document."""
    if content["kind"] == "separation":
        return SEPARATED[content["claim"]]
    several, offset = len(content["classes"]) > 2, content["fit_intercept"]
    planes, vectors = ("", "weight vectors") if offset else (" through the origin", "weight vectors without offsets")
    counted = "" if content.get("sample_weight") is None else ", rows counted by their weights"
    bounds = f"at least {content.get('lower')} and at most {content.get('upper')} errors{counted}"
    return MEANING[content["kind"]][several].format(vectors if several else planes, bounds=bounds)


Exact: TypeAlias = tuple[list[int], int]  # a row times its least common denominator, and that denominator

LARGEST = 1 << 26  # characters of a document
LONGEST, WIDEST = 100_000, 200_000  # characters of a number, bits of a common denominator


class Malformed(ValueError):  # noqa: N818 (what is wrong, not that something is)
    """The document is not a proof, or the data cannot be read."""


class Fails(Exception):  # noqa: N818
    """The proof does not prove its claim about these data."""


def well(condition: Any, what: str) -> None:
    """Raise Malformed unless something holds."""
    if not condition:
        raise Malformed(what)


def require(condition: Any, what: str) -> None:
    """Raise Fails unless something holds."""
    if not condition:
        raise Fails(what)


def form(value: Any, shape: Any, name: str = "the document") -> None:
    """Refuse a value that does not have a shape.

    A shape is a type; None; a pattern; a set of texts; a function that refuses; ``[shape]`` for a list of such and
    ``[shape, shape]`` for a pair; ``(shape, ...)`` for any of these; ``{field: shape}`` for an object with exactly
    these fields, of which ``"field?"`` may be missing, and ``{str: shape}`` for one with any fields.
    """
    if isinstance(shape, tuple):
        for each in shape[:-1]:
            with suppress(Malformed):
                return form(value, each, name)
        return form(value, shape[-1], name)
    if isinstance(shape, dict) and type(value) is dict:
        if str in shape:
            return form(list(value.values()), [shape[str]], name)
        fields = {field.rstrip("?"): own for field, own in shape.items()}
        odd = {field for field in shape if not field.endswith("?")} - set(value) | set(value) - set(fields)
        well(not odd, f"{name} has a field that is not known, or lacks one: {min(odd, default='')[:40]!r}")
        for field, item in value.items():
            form(item, fields[field], f"the field {field!r}")
    elif isinstance(shape, list) and type(value) is list:
        well(len(shape) in (1, len(value)), f"{name} must hold {len(shape)} items")
        for item in value:
            form(item, shape[0], name)
    elif callable(shape) and not isinstance(shape, type):
        shape(value)
    elif isinstance(shape, set | re.Pattern):
        known = type(value) is str and (value in shape if isinstance(shape, set) else shape.fullmatch(value))
        well(known, f"{name} does not have the required value")
    else:
        well(value is None if shape is None else type(value) is shape, f"{name} does not have the required value")
    return None


def natural(value: Any, most: float = 2**53) -> None:
    """Refuse what is not a whole number from 0 that a double holds: of a row, a class, how many; True is none."""
    well(type(value) is int and 0 <= value < most, f"{str(value)[:40]} is not a whole number from 0, or too large")


whole_number = partial(natural, most=math.inf)
NUMBER = re.compile(
    r"-?([0-9]{1,4000}([/.][0-9]{1,4000})?|0x[0-9a-f]+(/0x[0-9a-f]+)?|0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4})"
)


def spelled(text: Any) -> None:
    """Refuse what does not spell a number: 7, -3/7, 0.25; 0xff/0x3 for long ones; 0x1.8p-1 for 3/4, as %a of C does."""
    fits = type(text) is str and len(text) <= LONGEST and NUMBER.fullmatch(text)
    well(fits and ("/" not in text or text.partition("/")[2].strip("0x")), f"{str(text)[:40]!r} is not a number")
    if "p" in text:
        head, _, tail = text.partition(".")
        digits, _, power = tail.partition("p")
        exact = int(head + digits, 16) * Fraction(2) ** (int(power) - 4 * len(digits))
        well(abs(exact) < 2**1024 and exact == Fraction(float.fromhex(text)), f"{text} is not a double")


ENCODINGS = {"utf-8", "utf-16", "latin-1", "cp1252"}
KIND = re.compile(  # how the cells of a column are written
    "number|boolean|percent|category|text|grouped:[,.'_ \u00a0\u2019\u202f]|"
    "unit:[^0-9:.,+-]{1,8}(:[,.'_ \u00a0\u2019\u202f])?|date:(iso|%H:%M(:%S([.]%f)?)?|"
    "(%[Yy][-/.]%m[-/.]%d|%[Yy][-/.]%d[-/.]%m|%m[-/.]%d[-/.]%[Yy]|%d[-/.]%m[-/.]%[Yy])( %H:%M(:%S)?)?)"
)
PLANE = {"w": [[spelled]], "b": [spelled]}
REFUTATION = {"rows": [natural], "rivals": [natural], "multipliers": [spelled]}
COLUMN = {"column": str, "level?": (None, str), "hashed?": natural, "kind?": KIND}
READING = {
    "columns": [COLUMN], "target": str, "delimiter": re.compile("[\t -!#-~]"), "encoding": ENCODINGS,
    "header": bool, "point": {".", ","}, "gaps": [str], "missing": {"error", "zero", "drop", "indicator"},
    "skip?": natural, "comment?": re.compile("[\t -!#-~]"),
}  # fmt: skip
DATA = {
    "n_rows": natural, "n_features": natural, "sha256": re.compile("[0-9a-f]{64}"), "reading": (None, READING),
    "files?": [str],
}  # fmt: skip
COMMON: dict[str, Any] = {  # fields of every document; each kind has others beside them
    "format": {"linsep proof 1"}, "kind": str, "meaning": str, "fit_intercept": bool,
    "classes": [(str, bool, int, float)], "n_features": natural, "values": {"binary", "decimal"}, "data": DATA,
    "made": {"by": str, "time": str, "options": {str: str}, "note": (None, str)}, "digest": str,
}  # fmt: skip


def numbers(texts: Sequence[str]) -> list[Fraction]:
    """Return the numbers of a list of a document, whose common denominator must not be too long."""
    found: list[Fraction] = []
    for text in texts:
        spelled(text)
        if "p" in text:
            found.append(Fraction(float.fromhex(text)))
        else:
            parts = (int(part, 16) for part in text.split("/"))
            found.append(Fraction(*parts) if "x" in text else Fraction(text))
    whole(found)
    return found


def whole(values: Sequence[int | Fraction]) -> Exact:
    """Return numbers times their least common denominator, which must not be too long, and it: no sign changes."""
    common = 1
    for value in values:
        common = math.lcm(common, value.denominator)
        well(common.bit_length() <= WIDEST, "the common denominator of these numbers is too long")
    return [value.numerator * (common // value.denominator) for value in values], common


CELL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?0*[0-9]{1,4})?")  # a number in a text


def label_text(label: Any) -> str:
    """Return the one spelling of a label: a text that reads as a number is that number, 1.0 is 1."""
    if isinstance(label, bool):
        return str(label)
    if isinstance(label, str):
        word = label.strip()
        if not CELL.fullmatch(word) or not abs(float(word)) < 2**53:
            return word
        label = float(word)
    return str(int(label)) if label == int(label) else repr(float(label))


def class_numbers(labels: Sequence[Any], classes: Sequence[Any], empty: int = 0) -> list[int]:
    """Return the number of each label among the classes, of which ``empty`` may have no row."""
    index = {label_text(label): code for code, label in enumerate(classes)}
    known = {(type(label), label): index.get(label_text(label), -1) for label in labels}  # True is not 1
    fits = -1 not in known.values() and len(index) - len(set(known.values())) <= empty
    require(fits, "the labels of the data are not exactly the classes")
    return [known[type(label), label] for label in labels]
