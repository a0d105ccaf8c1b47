"""The plain check, part 6: separation in regression models.

A family of models turns observations into *constraints* on a direction ``g`` of the coefficients, ``z·g >= 0`` or
``z·g = 0`` (equations): exactly the directions along which the likelihood never falls. Vectors have an entry for every
coefficient; those outside ``columns`` are 0 in directions, and not summed up. A document claims four things:

- Columns: ``independent`` constraints have the rank of ``columns``; on the vector of each other column all are 0.
- Split: ``direction`` is in the cone, z·g >= 0 or = 0; ``separated`` are the constraints with z·g > 0.
- Rest: others, with multipliers that are positive for inequalities, cancel and span all that are not separated.
- Coefficients: *finite* is a sum of constraints that are not separated; *+inf*, *-inf* a sum with multipliers not
  negative for inequalities, and ``direction`` has that sign; *undetermined* goes up and down in the cone.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from linsep.prove.check.plain import Rows, inequality
from linsep.prove.check.plain_document import (
    CELL,
    COLUMN,
    DATA,
    READING,
    Exact,
    class_numbers,
    form,
    label_text,
    natural,
    numbers,
    require,
    spelled,
    well,
    whole,
)  # fmt: skip
from linsep.prove.check.plain_facts import independent, normals, signs, total

FAMILIES = {  # what the response of each may be
    "binomial": (["label"], ["number"], ["number", "failures"]),
    "poisson": (["number"],), "negative-binomial": (["number"],), "multinomial": (["label"],), "ordinal": (["label"],),
    "conditional": (["number", "stratum"],), "cox": (["number", "event"], ["number", "event", "stratum"]),
}  # fmt: skip


def factors(value: Any) -> None:
    """Refuse what is not a list of features to be multiplied."""
    form(value, [FACTOR], "a product")
    well(len(value) <= 100, "a product has too many factors")


FACTOR = {**COLUMN, "equals?": re.compile(".{0,4000}", re.S)}
READING_OF_MODEL = {**READING, "columns": [({"product": factors}, FACTOR)], "others": [str]}
STATUSES = ("finite", "+inf", "-inf", "undetermined", "aliased")
SUM = {"rows": [natural], "multipliers": [spelled]}  # of constraints
COEFFICIENT = (
    {"name": str, "status": {"finite", "+inf", "-inf"}, **SUM},
    {"name": str, "status": {"undetermined"}, "up": [spelled], "down": [spelled]},
    {"name": str, "status": {"aliased"}},
)
SEPARATION = {
    "family": set(FAMILIES), "response": [str], "alias": {"drop", "keep"}, "names": [str],
    "claim": {"complete", "quasi", "overlap"}, "columns": [natural], "independent": [natural], "direction": [spelled],
    "separated": [[natural, natural]], "rest": SUM,
    "aliased": [{"column": natural, "columns": [natural], "multipliers": [spelled]}],
    "coefficients": [COEFFICIENT], "data": {**DATA, "reading": (None, READING_OF_MODEL)},
}  # fmt: skip

MOST_EMPTY = 1000  # classes without rows
Found = list[tuple[Exact, bool]]  # constraints, and whether each is an equation
Answer = dict[str, Any]  # by role: "label" a class number, "stratum" a text, all others numbers


def form_of_separation(content: dict[str, Any]) -> None:
    """Refuse a document whose fields do not go together."""
    family, roles, classes = content["family"], content["response"], [*map(label_text, content["classes"])]
    known = [[*own, *more] for own in FAMILIES[family] for more in ([], ["weight"])]
    well(roles in known, f"this is not a response of the family {family}")
    fits = len(classes) == 2 or (len(classes) > 2 and family != "binomial") if roles[0] == "label" else not classes
    well(fits, "a response of labels has two classes or more, one of numbers none")
    well(not content["fit_intercept"] or family not in ("ordinal", "conditional", "cox"), f"{family} has no intercept")
    well(len(content["names"]) == content["n_features"], "names must be texts, one for every feature")
    own = coefficient_names(family, content["names"], classes, content["fit_intercept"])
    well([each["name"] for each in content["coefficients"]] == own, "the coefficients are not named as in the model")


def coefficient_names(family: str, names: Sequence[str], classes: Sequence[str], offset: bool) -> list[str]:
    """Return the names of the coefficients, in order; ``classes`` are spelled."""
    own = ["Intercept", *names] if offset else list(names)
    if family == "multinomial":
        return [f"{label}:{name}" for label in classes[1:] for name in own]
    return [*(f"{low}|{high}" for low, high in itertools.pairwise(classes)), *own] if family == "ordinal" else own


def answers(content: dict[str, Any], labels: Sequence[Any]) -> list[Answer]:
    """Return the response of every row, by role."""
    roles = content["response"]
    columns = list(zip(*(label if isinstance(label, tuple) else (label,) for label in labels), strict=True))
    require(len(columns) == len(roles), f"the response has {len(columns)} columns, not {len(roles)}")
    empty = 0 if content["family"] == "binomial" else MOST_EMPTY
    found: list[Sequence[Any]] = []
    for role, column in zip(roles, columns, strict=True):
        if role == "label":
            found.append(class_numbers(column, content["classes"], empty))
        else:
            found.append([label_text(value) if role == "stratum" else response_number(value) for value in column])
    return [dict(zip(roles, values, strict=True)) for values in zip(*found, strict=True)]


def response_number(value: Any) -> float:
    """Return a number of the response, as a double."""
    require(not isinstance(value, str) or CELL.fullmatch(value.strip()), f"{str(value)[:40]!r} is not a number")
    require(math.isfinite(float(value)), f"{str(value)[:40]} is out of range")
    return float(value)


def constraints(family: str, X: Rows, answers: Sequence[Answer], classes: int, offset: bool) -> Found:
    """Return the constraints of a model, and whether each is an equation; raise Fails where a family has none."""
    require(all(answer.get("weight", 0) >= 0 for answer in answers), "a weight is negative")
    counted = [i for i, answer in enumerate(answers) if answer.get("weight", 1) > 0]
    full = [(([q, *x], q) if offset else (x, q), answers[i]) for i in counted for x, q in [X[i]]]
    if family == "multinomial":  # x·(g_y - g_k) >= 0 for every other class k, with g = 0 for class 0
        rivals = [(x, answer["label"], k) for x, answer in full for k in range(classes) if k != answer["label"]]
        found = [((inequality(x, own, k, classes), q), False) for (x, q), own, k in rivals]
    elif family == "ordinal":
        found = [(row, False) for x, answer in full for row in between_thresholds(x, answer["label"], classes)]
        width = len(found[0][0][0]) if found else 0  # t_k - t_(k-1) >= 0, whether or not class k has rows
        found += [(([(j == k) - (j == k - 1) for j in range(width)], 1), False) for k in range(1, classes - 1) if found]
    elif family in ("conditional", "cox"):
        groups: dict[Any, list[int]] = {}
        for i in counted:
            groups.setdefault(answers[i].get("stratum"), []).append(i)
        pairs: Callable[..., Any] = chosen if family == "conditional" else at_risk
        both = [(X[i], X[j]) for members in groups.values() for i, j in pairs(members, answers)]
        gaps = ([Fraction(a, q) - Fraction(b, p) for a, b in zip(x, z, strict=True)] for (x, q), (z, p) in both)
        found = [(whole(gap), False) for gap in gaps]
    else:
        found = one_each(family, full)
    require(found, "there is nothing to model")
    return found


def one_each(family: str, observed: list[tuple[Exact, Answer]]) -> Found:
    """Return x for all successes, -x for none, an equation for some of both; for counts above 0 an equation."""
    found, ups, downs, shares = [], 0, 0, family == "binomial"
    for (x, q), answer in observed:
        value = answer["label"] if "label" in answer else answer["number"]
        fits = value >= 0 and answer.get("failures", 0) >= 0 and (value <= 1 or not shares or "failures" in answer)
        require(fits, "there is no such response")
        if value == answer.get("failures") == 0:
            continue
        low, high = value == 0, answer["failures"] == 0 if "failures" in answer else value == 1
        ups, downs = ups + (high if shares else not low), downs + low
        high = high and shares
        found.append(((x if high else [-v for v in x], q), not (low or high)))
    require(len(found) not in (ups, downs) if shares else ups > 0, "the response is constant")
    return found


def between_thresholds(row: Exact, own: int, classes: int) -> Iterator[Exact]:
    """Yield t_y - x·g >= 0 and x·g - t_(y-1) >= 0, where there are such thresholds."""
    x, q = row
    for k, sign in ((own, q), (own - 1, -q)):
        if 0 <= k < classes - 1:
            yield [*(sign * (j == k) for j in range(classes - 1)), *(-value if sign > 0 else value for value in x)], q


def chosen(members: list[int], answers: Sequence[Answer]) -> list[tuple[int, int]]:
    """Return the pairs of a stratum: each row that was chosen against each that was not."""
    y = {i: answers[i]["number"] for i in members}
    require(set(y.values()) <= {0, 1} and 1 in y.values(), "a stratum has no row that was chosen")
    return [(i, j) for i in members if y[i] for j in members if not y[j]]


def at_risk(members: list[int], answers: Sequence[Answer]) -> list[tuple[int, int]]:
    """Return differences within risk sets that all others are sums of, latest times first."""
    require(all(answers[i]["event"] in (0, 1) for i in members), "an event is 1, or 0 if censored")
    pairs: list[tuple[int, int]] = []
    waiting, later, by_time = list[int](), list[int](), dict[float, list[int]]()
    for i in members:
        by_time.setdefault(answers[i]["number"], []).append(i)
    for time in sorted(by_time, reverse=True):
        events = [i for i in by_time[time] if answers[i]["event"] == 1]
        waiting += [i for i in by_time[time] if answers[i]["event"] == 0]
        if events:  # the first against all that leave up to the next later event, and against the first one then
            pairs += [(events[0], j) for j in (*waiting, *later)]
            for other in events[1:]:
                pairs += [(events[0], other), (other, events[0])]
            waiting, later = [], events[:1]
    return pairs


def check_separation(content: dict[str, Any], rows: Rows, answers: Sequence[Answer]) -> list[str]:
    """Return what has been checked, line by line; raise Fails or Malformed if a claim is not proved."""
    model = (content["family"], rows, answers, len(content["classes"]), content["fit_intercept"])
    claims = Claims(content, constraints(*model))
    aliased = claims.check_columns()
    separated = claims.check_split()
    rest = claims.check_rest(separated)
    claims.check_coefficients(aliased, separated)
    statuses = [each["status"] for each in content["coefficients"]]
    counts = ", ".join(f"{statuses.count(status)} {status}" for status in STATUSES if status in statuses)
    return [
        f"{len(claims.rows)} constraints on {claims.width} coefficients of rank {len(claims.columns)}",
        f"a direction separates {len(separated)} of them and leaves the others at 0",
        f"{rest} of the others cancel with positive multipliers and span them",
        f"every coefficient has the status that the proof states: {counts}",
    ]


class Claims:
    """The constraints of a model, which of them are equations, and a document about them."""

    def __init__(self, content: dict[str, Any], found: Found) -> None:
        self.content, self.columns = content, content["columns"]
        self.rows, self.equal = [row for row, _ in found], [is_equal for _, is_equal in found]
        self.width = len(found[0][0][0])

    def inner(self, which: Sequence[int]) -> list[Exact]:
        """Return constraints that a document names, in the columns that are kept."""
        require(max(which, default=-1) < len(self.rows), "it names a constraint that does not exist")
        return [([self.rows[i][0][j] for j in self.columns], self.rows[i][1]) for i in which]

    def in_cone(self, g: list[Fraction]) -> list[int]:
        """Return the sign of every constraint on a vector that must be in the cone."""
        fits = len(g) == self.width and not any(g[j] for j in set(range(self.width)) - set(self.columns))
        require(fits, "a direction has numbers in columns that are not kept, or too few")
        sides = list(signs(g, self.rows))
        for i, (side, is_equal) in enumerate(zip(sides, self.equal, strict=True)):
            require(side == 0 or (side > 0 and not is_equal), f"constraint {i} does not hold on a direction")
        return sides

    def combined(self, evidence: dict[str, Any], least: int | None) -> list[Fraction]:
        """Return a sum in the columns kept; multipliers of inequalities above 0 (1), not below (0) or any (None)."""
        which, multipliers = evidence["rows"], numbers(evidence["multipliers"])
        require(len(which) == len(multipliers) == len(set(which)), "there are not as many multipliers as constraints")
        some = self.inner(which)
        for i, m in zip(which, multipliers, strict=True):
            fits = least is None or self.equal[i] or m > 0 or (m == 0 and least == 0)
            require(fits, f"the multiplier of constraint {i} has the wrong sign")
        return total(multipliers, some) or [Fraction(0)] * len(self.columns)

    def check_columns(self) -> dict[int, list[Fraction]]:
        """Step 1: some constraints are independent in the columns kept, all are 0 on a vector of each other column."""
        kept, chosen = set(self.columns), self.content["independent"]
        require(len(kept) == len(self.columns) and max(kept, default=-1) < self.width, "a column stands twice")
        require(len(chosen) == len(kept), "there are not as many independent constraints as columns")
        require(independent(self.inner(chosen), len(kept)), "some constraints are not independent")
        aliased: dict[int, list[Fraction]] = {}
        for each in self.content["aliased"]:
            own, places, values = each["column"], each["columns"], numbers(each["multipliers"])
            fits = own < self.width and own not in kept | set(aliased) and set(places) <= kept | {own}
            fits = fits and len(places) == len(values) == len(set(places))
            require(fits, "the proof of an aliased column is incomplete")
            v = aliased[own] = [Fraction(0)] * self.width
            for j, value in zip(places, values, strict=True):
                v[j] = value
            require(v[own] and not any(signs(v, self.rows)), f"column {own} does not depend on the others")
        require(len(aliased) + len(kept) == self.width, "some column is neither kept nor aliased")
        require(len(self.content["coefficients"]) == self.width, "not every coefficient has a status")
        return aliased

    def check_split(self) -> set[int]:
        """Step 2: the direction is in the cone, and separates what is claimed."""
        separated = [i for i, sign in enumerate(self.in_cone(numbers(self.content["direction"]))) if sign]
        claimed: list[int] = []
        for first, last in self.content["separated"]:
            require(
                (not claimed or first > claimed[-1]) and first <= last < len(self.rows),
                "the stretches are not in order",
            )
            claimed += range(first, last + 1)
        require(claimed == separated, "the direction does not separate these constraints")
        kind = "overlap" if not claimed else "complete" if len(claimed) == len(self.rows) else "quasi"
        require(self.content["claim"] == kind, f"the claim is not {kind}")
        return set(separated)

    def check_rest(self, separated: set[int]) -> int:
        """Step 3: constraints that are not separated cancel with positive multipliers, and span all such."""
        which = self.content["rest"]["rows"]
        require(not any(self.combined(self.content["rest"], 1)), "the constraints of the rest do not cancel")
        require(separated.isdisjoint(which), "a constraint of the rest is separated")
        others = [row for i, row in enumerate(self.rows) if i not in separated]
        for normal in normals(self.inner(which), len(self.columns)):
            place = dict(zip(self.columns, normal, strict=True))
            spanned = not any(signs([place.get(j, 0) for j in range(self.width)], others))
            require(spanned, "the constraints of the rest do not span all that are not separated")
        return len(which)

    def check_coefficients(self, aliased: dict[int, list[Fraction]], separated: set[int]) -> None:
        """Step 4: the evidence of every coefficient."""
        keep, direction = self.content["alias"] == "keep", numbers(self.content["direction"])
        for j, each in enumerate(self.content["coefficients"]):
            shared = j in aliased or (keep and any(v[j] for v in aliased.values()))
            require((each["status"] == "aliased") == shared, f"coefficient {j} is {'' if shared else 'not '}aliased")
            if each["status"] == "undetermined":
                up, down = numbers(each["up"]), numbers(each["down"])
                require(self.in_cone(up) and self.in_cone(down) and up[j] > 0 > down[j], f"{j} does not go both ways")
            if "rows" in each:
                sign = {"+inf": 1, "-inf": -1}.get(each["status"], 0)
                unit = [(sign or 1) * (column == j) for column in self.columns]
                found = self.combined(each, 0 if sign else None)
                require(found == unit, f"the constraints do not add up to coefficient {j}")
                require(sign == 0 or sign * direction[j] > 0, f"the direction leaves coefficient {j} at 0")
                fits = each["status"] != "finite" or separated.isdisjoint(each["rows"])
                require(fits, f"coefficient {j} is proved with separated constraints")
