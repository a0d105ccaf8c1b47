"""The trusted page: what a verdict claims and how to check it, in integers and fractions only.

Rows are lists of numbers (``int`` or ``Fraction``), ``codes`` their class numbers 0, 1, ... A row x of class y asks of
weights W and offsets b, one vector and one number per class, that its *lead* over every rival class r is positive:

    lead(x, y, r) = (W[y] - W[r])·x + b[y] - b[r] > 0        (b = 0 for planes through the origin)

For two classes W = (0, w): a row of class 1 asks for w·x + b > 0, one of class 0 for w·x + b < 0.

- separable: weights for which every lead is positive.
- quasi: weights for which no lead is negative and some are positive; and a *refutation* of "separable": leads with
  positive multipliers whose sum vanishes for all weights. Numbers that add up to zero are not all positive.
- overlap: a refutation whose leads span all others. Where no lead is negative, those of the refutation are zero, as
  they add up to zero, and hence all are zero: no weights are right about any row without being wrong about another.

As linear functions of the weights, the leads of all rows together have rank (classes - 1) q, where q is the rank of
the rows with a 1 appended for the offset. Every number is exact; there is no tolerance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from operator import mul
from typing import Any, TypeAlias

Row: TypeAlias = Sequence[int | Fraction]
Exact: TypeAlias = tuple[list[int], int]  # a row times its common denominator, and that denominator

LONGEST = 100_000  # characters of a number
WIDEST = 200_000  # bits of a common denominator
PRIME = 2**61 - 1
DECIMAL = re.compile(r"-?[0-9]{1,4000}([/.][0-9]{1,4000})?")  # 7, -3/7, 0.25
HEXADECIMAL = re.compile(r"-?0x[0-9a-f]+(/0x[0-9a-f]+)?")  # 0xff/0x3, for long ones
BINARY = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}")  # 0x1.8p-1 is 3/4, as %a of C writes it

MEANING = {
    "separable": "a plane{} has every row strictly on its side",
    "quasi": "no plane{} has every row strictly on its side, but one has none on the wrong side",
    "overlap": "every plane{} has rows on the wrong side, or all rows on it",
    "not-separable": "no plane{} has every row strictly on its side",
}


class Malformed(ValueError):  # noqa: N818 (what is wrong, not that something is)
    """The document is not a proof."""


class Fails(Exception):  # noqa: N818
    """The proof does not prove what it claims about these data."""


def number(text: Any) -> Fraction:
    """Return the number that a string of a document stands for."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise Malformed("a number must be a string of at most 100,000 characters")
    try:
        if BINARY.fullmatch(text):
            return Fraction(float.fromhex(text))
        if HEXADECIMAL.fullmatch(text):
            return Fraction(*(int(digits, 16) for digits in text.split("/")))
        if DECIMAL.fullmatch(text):
            return Fraction(text)
    except (OverflowError, ZeroDivisionError):
        pass
    raise Malformed(f"{text[:40]!r} is not a number")


def part(of: Any, name: str, kind: type) -> Any:
    """Return a field, which must be there and of this type; True is not a whole number here."""
    if not isinstance(of, dict) or name not in of:
        raise Malformed(f"the field {name!r} is missing")
    if type(of[name]) is not kind:
        raise Malformed(f"the field {name!r} is of the wrong type")
    return of[name]


def numbers(of: Any, name: str) -> list[Fraction]:
    """Return a field that is a list of numbers."""
    return [number(text) for text in part(of, name, list)]


def integers(of: Any, name: str) -> list[int]:
    """Return a field that is a list of whole numbers, not below 0."""
    found: list[int] = part(of, name, list)
    if not all(type(value) is int and 0 <= value < 2**53 for value in found):
        raise Malformed(f"the field {name!r} must hold whole numbers from 0")
    return found


def weights(plane: Any, classes: int, n_features: int) -> list[list[Fraction]]:
    """Return the weights of each class with its offset last; of two classes the first has zeros."""
    if not isinstance(plane, dict) or set(plane) != {"w", "b"}:
        raise Malformed("a separator must have the fields 'w' and 'b'")
    W, b = [numbers({"w": w}, "w") for w in part(plane, "w", list)], numbers(plane, "b")
    given = 1 if classes == 2 else classes
    if len(W) != given or len(b) != given or any(len(w) != n_features for w in W):
        raise Malformed("a separator must have one weight per feature and one offset, for each class (once for two)")
    full = [[*w, c] for w, c in zip(W, b, strict=True)]
    return [[Fraction(0)] * (n_features + 1), *full] if classes == 2 else full


def whole(values: Row) -> tuple[list[int], int]:
    """Return numbers times their least common denominator, and that denominator."""
    common = 1
    for value in values:
        common = math.lcm(common, value.denominator)
        if common.bit_length() > WIDEST:
            raise Malformed("the common denominator of these numbers is too long")
    return [value.numerator * (common // value.denominator) for value in values], common


def dot(u: Sequence[int], v: Sequence[int]) -> int:
    """Return the inner product."""
    return sum(map(mul, u, v))


def eliminate(vectors: list[list[int]], p: int = 0) -> dict[int, list[Any]]:
    """Return the reduced echelon form by pivot columns (Gauss and Jordan): modulo the prime p, or in fractions."""
    done: dict[int, list[Any]] = {}
    for vector in vectors:
        v: list[Any] = [value % p for value in vector] if p else [Fraction(value) for value in vector]
        for j, row in done.items():
            v = minus(v, v[j], row, p)
        pivot = next((j for j, value in enumerate(v) if value), None)
        if pivot is not None:
            inverse = pow(v[pivot], -1, p) if p else 1 / v[pivot]
            v = [value * inverse % p if p else value * inverse for value in v]
            done = done if p else {j: minus(row, row[pivot], v, p) for j, row in done.items()}
            done[pivot] = v
        if len(done) == len(v):
            break
    return done


def minus(v: list[Any], f: Any, row: list[Any], p: int) -> list[Any]:
    """Return v - f row."""
    if p and f:
        return [(a - f * b) % p for a, b in zip(v, row, strict=True)]
    return [a - f * b if b else a for a, b in zip(v, row, strict=True)] if f else v


def rank(vectors: list[list[int]], enough: int) -> int:
    """Return the rank, quickly if it is ``enough``: the rank modulo a prime is never larger."""
    quick = len(eliminate(vectors, PRIME))
    return quick if quick >= enough else len(eliminate(vectors))


def orthogonal(vectors: list[list[int]]) -> list[list[int]]:
    """Return vectors that span what is orthogonal to all of these."""
    d = len(vectors[0])
    if len(eliminate(vectors, PRIME)) == d:
        return []
    reduced = eliminate(vectors)
    found = []
    for free in (j for j in range(d) if j not in reduced):
        v = [-reduced[j][free] if j in reduced else Fraction(int(j == free)) for j in range(d)]
        found.append(whole(v)[0])
    return found


def check_verdict(claim: dict[str, Any], rows: Sequence[Row], codes: Sequence[int]) -> list[str]:
    """Return what has been checked, line by line; raise Fails or Malformed if the claim is not proved."""
    kind, offset = part(claim, "kind", str), part(claim, "fit_intercept", bool)
    classes, d = len(part(claim, "classes", list)), part(claim, "n_features", int)
    plane, refutation = claim.get("separator"), claim.get("refutation")
    if kind not in MEANING:
        raise Malformed(f"the kind {kind[:40]!r} is not known")
    if (plane is None) != (kind in ("overlap", "not-separable")) or (refutation is None) != (kind == "separable"):
        raise Malformed(f"the proof of {kind!r} does not have the required parts")
    if classes < 2 or set(codes) != set(range(classes)):
        raise Fails("the classes are not those of the rows")
    if any(len(row) != d for row in rows):
        raise Fails(f"not every row has {d} features")
    exact = [whole([*row, 1] if offset else row) for row in rows]
    lines = [f"{len(rows)} rows of {d} features in {classes} classes"]
    if plane is not None:
        lines += check_separator(weights(plane, classes, d), offset, exact, codes, strictly=kind == "separable")
    if refutation is not None:
        lines += check_refutation(refutation, classes, exact, codes, spanning=kind == "overlap")
    return lines


def check_separator(
    W: list[list[Fraction]], offset: bool, exact: Sequence[Exact], codes: Sequence[int], *, strictly: bool
) -> list[str]:
    """Check that no lead is negative, and all (strictly) or some are positive."""
    if not offset:
        if any(w[-1] for w in W):
            raise Fails("the plane has an offset, but the proof says that it goes through the origin")
        W = [w[:-1] for w in W]
    leads = [[whole([a - b for a, b in zip(own, other, strict=True)])[0] for other in W] for own in W]
    some = 0
    for i, ((x, _), code) in enumerate(zip(exact, codes, strict=True)):
        for rival in range(len(W)):
            if rival != code:
                lead = dot(leads[code][rival], x)
                if lead < 0 or (strictly and lead == 0):
                    raise Fails(f"row {i} is {'on the plane' if lead == 0 else 'on the wrong side'}")
                some += lead > 0
    if not some:
        raise Fails("every row is on the plane")
    return [f"{some} of {len(exact) * (len(W) - 1)} leads are positive, none is negative, by the weights given"]


def check_refutation(
    refutation: Any, classes: int, exact: Sequence[Exact], codes: Sequence[int], *, spanning: bool
) -> list[str]:
    """Check that leads with positive multipliers add up to zero and, if asked, span all leads."""
    if not isinstance(refutation, dict) or set(refutation) != {"rows", "rivals", "multipliers"}:
        raise Malformed("a refutation must have the fields 'rows', 'rivals' and 'multipliers'")
    which, rivals = integers(refutation, "rows"), integers(refutation, "rivals")
    multipliers = numbers(refutation, "multipliers")
    if not 0 < len(which) == len(rivals) == len(multipliers):
        raise Malformed("a refutation must name a row and a rival for each of its multipliers, at least one")
    if max(which) >= len(exact) or max(rivals) >= classes or any(value <= 0 for value in multipliers):
        raise Fails("the refutation names rows or classes that do not exist, or a multiplier is not positive")
    if any(codes[i] == rival for i, rival in zip(which, rivals, strict=True)):
        raise Fails("the refutation holds a row against its own class")
    factors, _ = whole([value / exact[i][1] for i, value in zip(which, multipliers, strict=True)])
    d = len(exact[0][0])
    total = [[0] * d for _ in range(classes)]  # what the weights of each class are multiplied with
    for i, rival, f in zip(which, rivals, factors, strict=True):
        for c, sign in ((codes[i], f), (rival, -f)):
            total[c] = [a + sign * x for a, x in zip(total[c], exact[i][0], strict=True)]
    if any(map(any, total)):
        raise Fails("the rows of the refutation do not add up to zero")
    lines = [f"{len(which)} leads with positive multipliers, of {len(set(which))} rows, add up to zero"]
    if spanning:
        normals = orthogonal([exact[i][0] for i in sorted(set(which))])
        for i, (x, _) in enumerate(exact) if normals else ():
            if any(dot(normal, x) for normal in normals):
                raise Fails(f"row {i} is not in the span of the rows of the refutation")
        needed = (classes - 1) * (d - len(normals))
        if rank([lead(exact[i][0], codes[i], r, classes) for i, r in zip(which, rivals, strict=True)], needed) < needed:
            raise Fails("the leads of the refutation do not span all leads")
        lines.append(f"they span the leads of all rows, of rank {needed}")
    return lines


def lead(x: list[int], own: int, rival: int, classes: int) -> list[int]:
    """Return a lead as a vector of what multiplies the weights of classes 1, 2, ...; those of class 0 may be zero."""
    blocks = {own: x, rival: [-value for value in x]}
    return [value for c in range(1, classes) for value in blocks.get(c, [0] * len(x))]
