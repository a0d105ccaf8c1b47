"""The plain check, part 3: what a verdict claims and how to check it. This page is the one to read first.

Rows are lists of numbers (``int`` or ``Fraction``), ``codes`` their class numbers 0, 1, ... A row x of class y asks of
weights W and offsets b, one vector and one number per class, for one *inequality* against each other class r:

    (W[y] - W[r])·x + b[y] - b[r] > 0        (b = 0 for planes through the origin)

For two classes W = (0, w): a row of class 1 asks for w·x + b > 0, one of class 0 for w·x + b < 0.
- separable: weights under which all inequalities hold.
- quasi: weights under which all hold with >= and some with >; and a *refutation* of "separable": inequalities with
  positive multipliers whose left sides add up to 0 for all weights. Numbers that add up to 0 are not all positive.
- overlap: a refutation whose inequalities span all others. Where no left side is negative, those of the refutation are
  0, as they add up to 0, and hence all are 0: no weights are right about any row without being wrong about another.

As linear functions of the weights, the left sides of all inequalities together have rank (classes - 1) q, where q is
the rank of the rows with a 1 appended for the offset. Every number is exact; there is no tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from operator import mul, sub
from typing import Any, TypeAlias

from linsep.prove.check.plain_document import (
    KINDS,
    PLANE,
    Fails,
    Row,
    codes_of,
    form,
    natural,
    numbers,
    require,
    spelled,
    well,
    whole,
)

# ---------------------------------------------------------------------------------------------------------------
# What has to be checked, and why that suffices

Exact: TypeAlias = tuple[list[int], int]  # a row times its common denominator, and that denominator

PRIME = 2**61 - 1
REFUTATION = {"rows": [natural], "rivals": [natural], "multipliers": [spelled]}
VERDICT = {"separator": (None, PLANE), "refutation": (None, REFUTATION)}  # the fields of its own


def form_of_verdict(content: dict[str, Any]) -> None:
    """Refuse a document whose fields do not go together."""
    kind, plane, refutation = content["kind"], content["separator"], content["refutation"]
    given = ((plane is None) != (kind in ("overlap", "not-separable")), (refutation is None) != (kind == "separable"))
    well(not any(given) and len(content["classes"]) > 1, f"the proof of {kind!r} does not have the required parts")
    if plane is not None:
        form_of_plane(plane, len(content["classes"]), content["n_features"])
    if refutation is not None:
        form_of_refutation(refutation)


def check_verdict(content: dict[str, Any], rows: Sequence[Row], codes: Sequence[int]) -> list[str]:
    """Return what has been checked, line by line; raise Fails or Malformed if the claim is not proved."""
    form_of_verdict(content)
    kind, plane, classes = content["kind"], content["separator"], len(content["classes"])
    exact = exact_rows(rows, codes, content)
    lines = [f"{len(rows)} rows of {content['n_features']} features in {classes} classes"]
    if plane is not None:
        normals, some = normals_of(plane, content), False
        for i, ((x, _), code) in enumerate(zip(exact, codes, strict=True)):
            sides = [dot(normal, x) for normal in normals[code]]  # left sides of its inequalities
            if min(sides) < 0 or (kind == "separable" and min(sides) == 0):
                raise Fails(f"row {i} is {'on the plane' if min(sides) == 0 else 'on the wrong side'}")
            some = some or max(sides) > 0
        require(some, "every row is on the plane")
        weakly = "no row is on the wrong side, and not all on the plane"
        lines.append("every row is strictly on its side" if kind == "separable" else weakly)
    if content["refutation"] is not None:
        lines += check_refutation(content["refutation"], classes, exact, codes, spanning=kind == "overlap")
    return lines


# ---------------------------------------------------------------------------------------------------------------
# Separator


def exact_rows(rows: Sequence[Row], codes: Sequence[int], content: dict[str, Any]) -> list[Exact]:
    """Return the rows, with the 1 of the offset, in integers; refuse data of other classes or numbers of features."""
    fits = len(rows) == len(codes) and set(codes) == set(range(max(2, len(content["classes"]))))
    require(fits, "the classes are not those of the rows")
    require(all(len(row) == content["n_features"] for row in rows), "the rows do not have as many features")
    return [whole([*row, 1] if content["fit_intercept"] else row) for row in rows]


def form_of_plane(plane: Any, classes: int, n_features: int) -> None:
    """Refuse a plane that does not have a weight per feature and an offset, for each class (once for two)."""
    form(plane, PLANE, "the separator")
    fits = {len(plane["w"]), len(plane["b"])} == {1 if classes == 2 else classes}
    fits = fits and all(len(w) == n_features for w in plane["w"])
    well(fits, "a separator must have one weight per feature and one offset, for each class (once for two)")


def normals_of(plane: Any, content: dict[str, Any]) -> list[list[list[int]]]:
    """Return, for each class, what a row is multiplied with for each of its inequalities, up to positive factors."""
    W = [numbers([*w, c]) for w, c in zip(plane["w"], plane["b"], strict=True)]
    if len(content["classes"]) == 2:  # the first has the weights 0
        W.insert(0, [Fraction(0)] * len(W[0]))
    if not content["fit_intercept"]:
        require(
            not any(w.pop() for w in W), "the plane has an offset, but the proof is about planes through the origin"
        )
    return [[whole(list(map(sub, own, W[r])))[0] for r in range(len(W)) if r != c] for c, own in enumerate(W)]


def dot(u: Sequence[int], v: Sequence[int]) -> int:
    """Return the inner product."""
    return sum(map(mul, u, v))


# ---------------------------------------------------------------------------------------------------------------
# Refutation


def check_refutation(
    refutation: Any, classes: int, exact: Sequence[Exact], codes: Sequence[int], *, spanning: bool
) -> list[str]:
    """Check that inequalities with positive multipliers add up to 0 > 0 and, if asked, that they span all others."""
    form_of_refutation(refutation)
    which, rivals, multipliers = (refutation[name] for name in REFUTATION)
    parts = list(zip(which, rivals, numbers(multipliers), strict=True))
    for i, rival, multiplier in parts:
        require(i < len(exact) and rival < classes, "the refutation names a row or class that does not exist")
        require(
            rival != codes[i] and multiplier > 0, "a row is held against its own class, or not with a positive number"
        )
    require(cancels(parts, exact, codes, classes), "the rows of the refutation do not add up to zero")
    which = sorted(set(which))
    lines = [
        f"{len(which)} rows with positive multipliers add up to zero: no plane has them all strictly on their sides"
    ]
    if spanning:
        lines.append(check_span(parts, which, exact, codes, classes))
    return lines


def form_of_refutation(refutation: Any) -> None:
    """Refuse a refutation without parts: row, rival class, multiplier each."""
    form(refutation, REFUTATION, "the refutation")
    fits = 0 < len(refutation["rows"]) == len(refutation["rivals"]) == len(refutation["multipliers"])
    well(fits, "a refutation must name a row and a rival for each of its multipliers, at least one")


def cancels(parts: Sequence[Any], exact: Sequence[Exact], codes: Sequence[int], classes: int) -> bool:
    """Say whether inequalities, (row, rival, multiplier) each, add up to 0 > 0 whatever the weights are."""
    factors, _ = whole([value / exact[i][1] for i, _, value in parts])
    total = [[0] * len(exact[0][0]) for _ in range(classes)]  # what the weights of each class are multiplied with
    for (i, rival, _), f in zip(parts, factors, strict=True):
        for c, sign in ((codes[i], f), (rival, -f)):
            total[c] = [a + sign * x for a, x in zip(total[c], exact[i][0], strict=True)]
    return not any(map(any, total))


# ---------------------------------------------------------------------------------------------------------------
# Span


def check_span(
    parts: Sequence[Any], which: list[int], exact: Sequence[Exact], codes: Sequence[int], classes: int
) -> str:
    """Check that the rows of a refutation span all rows, and its inequalities all inequalities."""
    normals = orthogonal([exact[i][0] for i in which])
    for i, (x, _) in enumerate(exact) if normals else ():
        if any(dot(normal, x) for normal in normals):
            raise Fails(f"row {i} is not in the span of the rows of the refutation")
    rank_of_rows = len(exact[0][0]) - len(normals)
    needed = (classes - 1) * rank_of_rows
    found = rank([inequality(exact[i][0], codes[i], rival, classes) for i, rival, _ in parts], needed)
    require(found >= needed, "the inequalities of the refutation do not span all others")
    return f"they span all rows, of rank {rank_of_rows}: a plane with no row on the wrong side has all rows on it"


def inequality(x: list[int], own: int, rival: int, classes: int) -> list[int]:
    """Return the left side of an inequality, as what multiplies the weights of classes 1, 2, ...: those of 0 are 0."""
    blocks = {own: x, rival: [-value for value in x]}
    return [value for c in range(1, classes) for value in blocks.get(c, [0] * len(x))]


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
    return [(a - f * b) % p if p else a - f * b if b else a for a, b in zip(v, row, strict=True)] if f else v


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
    free = [k for k in range(d) if k not in reduced]
    return [whole([-reduced[j][k] if j in reduced else Fraction(j == k) for j in range(d)])[0] for k in free]


VERDICTS = ["separable", "quasi", "overlap", "not-separable"]
KINDS.update(dict.fromkeys(VERDICTS, (VERDICT, form_of_verdict, codes_of, check_verdict)))
