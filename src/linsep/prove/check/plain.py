"""The plain check, part 4: verdicts, whether a plane has every row of each class on its side.

Rows are lists of integers, each with a denominator, ``codes`` their class numbers 0, 1, ... A row x of class y asks of
weights W and offsets b, one vector and one number per class, for one *inequality* against each other class r:

    (W[y] - W[r])·x + b[y] - b[r] > 0        (b = 0 for planes through the origin)

For two classes W = (0, w): a row of class 1 asks for w·x + b > 0, one of class 0 for w·x + b < 0.
- separable: weights under which all inequalities hold (signs).
- quasi: weights under which all hold with >= and some with > (signs); and a *refutation* of "separable": inequalities
  with positive multipliers whose left sides add up to 0 for all weights (sum). They are not all positive.
- overlap: a refutation whose inequalities span all others. Where no left side is negative, those of the refutation are
  0, and hence all are. All together have rank (classes - 1) q, where q is the rank of the rows with the offset's 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from operator import sub
from typing import Any, TypeAlias

from linsep.prove.check.plain_document import PLANE, REFUTATION, Exact, Fails, form, numbers, require, well, whole
from linsep.prove.check.plain_facts import independent, normals, signs, total

Codes: TypeAlias = Sequence[int]
Rows: TypeAlias = Sequence[Exact]

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


def check_verdict(content: dict[str, Any], rows: Rows, codes: Codes) -> list[str]:
    """Return what has been checked, line by line; raise Fails or Malformed if the claim is not proved."""
    form_of_verdict(content)
    kind, plane, classes = content["kind"], content["separator"], len(content["classes"])
    exact = exact_rows(rows, codes, content)
    lines = [f"{len(rows)} rows of {content['n_features']} features in {classes} classes"]
    if plane is not None:
        some, strictly = False, kind == "separable"
        for i, sign in sides(normals_of(plane, content), exact, codes):
            if sign < strictly:
                raise Fails(f"row {i} is {'on the plane' if sign == 0 else 'on the wrong side'}")
            some = some or sign > 0
        require(some, "every row is on the plane")
        weakly = "no row is on the wrong side, and not all on the plane"
        lines.append("every row is strictly on its side" if strictly else weakly)
    if content["refutation"] is not None:
        lines += check_refutation(content["refutation"], classes, exact, codes, spanning=kind == "overlap")
    return lines


def exact_rows(rows: Rows, codes: Codes, content: dict[str, Any]) -> Rows:
    """Return the rows with the 1 of the offset; refuse data of other classes or numbers of features."""
    fits = len(rows) == len(codes) and set(codes) == set(range(max(2, len(content["classes"]))))
    require(fits, "the classes are not those of the rows")
    require(all(len(x) == content["n_features"] for x, _ in rows), "the rows do not have as many features")
    return [([*x, bottom], bottom) for x, bottom in rows] if content["fit_intercept"] else rows


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
        what = "the plane has an offset, but the proof is about planes through the origin"
        require(not any(w.pop() for w in W), what)
    return [[whole(list(map(sub, own, W[r])))[0] for r in range(len(W)) if r != c] for c, own in enumerate(W)]


def sides(normals: list[list[list[int]]], exact: Sequence[Exact], codes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield every row with the sign of each of its inequalities."""
    for code, own in enumerate(normals):
        which = [i for i, label in enumerate(codes) if label == code]
        for normal in own:
            yield from zip(which, signs(normal, (exact[i] for i in which)), strict=True)


def form_of_refutation(refutation: Any) -> None:
    """Refuse a refutation without parts: row, rival class, multiplier each."""
    form(refutation, REFUTATION, "the refutation")
    fits = 0 < len(refutation["rows"]) == len(refutation["rivals"]) == len(refutation["multipliers"])
    well(fits, "a refutation must name a row and a rival for each of its multipliers, at least one")


def check_refutation(refutation: Any, classes: int, exact: Rows, codes: Codes, *, spanning: bool) -> list[str]:
    """Check that inequalities with positive multipliers add up to 0 > 0 and, if asked, that they span all others."""
    form_of_refutation(refutation)
    which, rivals, multipliers = (refutation[name] for name in REFUTATION)
    for i, rival, value in zip(which, rivals, factors := numbers(multipliers), strict=True):
        require(i < len(exact) and rival < classes, "the refutation names a row or class that does not exist")
        require(rival != codes[i] and value > 0, "a row is held against its own class, or not with a positive number")
    parts = inequalities(which, rivals, exact, codes, classes)
    require(not any(total(factors, parts)), "the rows of the refutation do not add up to zero")
    some = sorted(set(which))
    what = "rows with positive multipliers add up to zero: no plane has them all strictly on their sides"
    lines = [f"{len(some)} {what}"]
    if spanning:
        width = len(exact[0][0])
        outside = normals([exact[i] for i in some], width)
        for normal in outside:
            for i, sign in enumerate(signs(normal, exact)):
                require(sign == 0, f"row {i} is not in the span of the rows of the refutation")
        q = width - len(outside)
        fits = independent(parts, (classes - 1) * q)
        require(fits, "the inequalities of the refutation do not span all others")
        lines.append(f"they span all rows, of rank {q}: a plane with no row on the wrong side has all rows on it")
    return lines


def inequalities(which: Codes, rivals: Codes, exact: Rows, codes: Codes, classes: int) -> list[Exact]:
    """Return the left sides of inequalities, each of a row against a rival class."""
    chosen = [(exact[i], codes[i], rival) for i, rival in zip(which, rivals, strict=True)]
    return [(inequality(x, own, rival, classes), bottom) for (x, bottom), own, rival in chosen]


def inequality(x: list[Any], own: int, rival: int, classes: int) -> list[Any]:
    """Return the left side of an inequality, as what multiplies the weights of classes 1, 2, ...: those of 0 are 0."""
    blocks = {own: x, rival: [-value for value in x]}
    return [value for c in range(1, classes) for value in blocks.get(c, [0] * len(x))]
