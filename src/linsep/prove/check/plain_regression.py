"""The plain check of a ``separation`` proof, in integers, fractions and the standard library only.

A family of models turns observations into *constraints* on a direction ``g`` of the coefficients, ``z·g >= 0`` or
``z·g = 0`` (equations): exactly the directions along which the likelihood never falls. A document claims of them:

- ``columns`` are coefficients that all others depend on, ``independent`` as many constraints that are independent in
  them; for each other column ``aliased`` has a vector v, not 0 there and else 0 outside ``columns``, with z·v = 0 for
  all constraints.
- ``direction`` is a vector g in the cone: z·g >= 0 for inequalities, = 0 for equations. ``separated`` are the
  constraints with z·g > 0, as stretches: all ("complete"), some ("quasi") or none ("overlap").
- ``rest`` are others with multipliers, positive for inequalities, that cancel and span all that are not separated.
- Each coefficient c, the unit vector of its column, has a status. *finite*: a sum of constraints, none separated, is
  c. *+inf*, *-inf*: a sum with multipliers not negative for inequalities is c or -c, and g·c has that sign.
  *undetermined*: ``up`` and ``down`` are in the cone, up·c > 0 > down·c. *aliased*: c is outside ``columns`` or, if
  ``alias`` is "keep", some v of ``aliased`` has v·c ≠ 0.

Vectors have an entry for every coefficient; those outside ``columns`` are 0 in directions, and not summed up.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from linsep.prove.check.plain import Fails, Malformed, Row, dot, form, lead, natural, number, orthogonal, rank, whole

CLAIMS = {
    "complete": "complete separation: the maximum likelihood estimate does not exist",
    "quasi": "quasi-complete separation: the maximum likelihood estimate does not exist",
    "overlap": "overlap: the maximum likelihood estimate exists",
}
FAMILIES = {  # what the response of each may be
    "binomial": (["label"], ["number"], ["number", "failures"]),
    "log-binomial": (["label"], ["number"], ["number", "failures"]),
    "poisson": (["number"],),
    "negative-binomial": (["number"],),
    "multinomial": (["label"],),
    "ordinal": (["label"],),
    "conditional": (["number", "stratum"],),
    "cox": (["number", "event"], ["number", "event", "stratum"]),
}
WITHOUT_OFFSET = ("ordinal", "conditional", "cox")
SUM = {"rows": [natural], "multipliers": [number]}  # of constraints
STATUSES: dict[str, dict[str, Any]] = {
    "finite": SUM, "+inf": SUM, "-inf": SUM, "undetermined": {"up": [number], "down": [number]}, "aliased": {},
}  # fmt: skip

Answer = dict[str, Any]  # by role: "label" a class number, "stratum" a text, all others numbers


def stretch(value: Any) -> None:
    """Refuse what is not the first and the last number of a stretch."""
    form(value, [natural], "a stretch")
    if len(value) != 2:
        raise Malformed("separated rows are stretches of a first and a last one")


def coefficient(value: Any) -> None:
    """Refuse what is not a coefficient with its status and the evidence for it."""
    status = value.get("status") if type(value) is dict else None
    own = STATUSES[status] if type(status) is str and status in STATUSES else {}
    form(value, {"name": str, "status": set(STATUSES), **own}, "a coefficient")


SEPARATION = {
    "family": set(FAMILIES), "response": [str], "alias": {"drop", "keep"}, "names": [str], "claim": set(CLAIMS),
    "columns": [natural], "independent": [natural], "direction": [number], "separated": [stretch], "rest": SUM,
    "aliased": [{"column": natural, "columns": [natural], "multipliers": [number]}], "coefficients": [coefficient],
}  # fmt: skip


def form_of_separation(content: dict[str, Any], classes: Sequence[str]) -> None:
    """Refuse a document whose fields do not go together; ``classes`` are spelled."""
    family, roles = content["family"], content["response"]
    if roles not in [[*own, *more] for own in FAMILIES[family] for more in ([], ["weight"])]:
        raise Malformed(f"this is no response of the family {family}")
    if (len(classes) < 2 or (len(classes) > 2 and "binomial" in family)) if roles[0] == "label" else classes:
        raise Malformed("a response of labels has two classes or more, one of numbers none")
    if content["fit_intercept"] and family in WITHOUT_OFFSET:
        raise Malformed(f"the family {family} has no intercept")
    if len(content["names"]) != content["n_features"]:
        raise Malformed("names must be texts, one for every feature")
    own = coefficient_names(family, content["names"], classes, content["fit_intercept"])
    if [each["name"] for each in content["coefficients"]] != own:
        raise Malformed("the coefficients are not named as those of the model")


def numbers(texts: list[str]) -> list[Fraction]:
    """Return numbers of a document."""
    return [number(text) for text in texts]


def coefficient_names(family: str, names: Sequence[str], classes: Sequence[str], offset: bool) -> list[str]:
    """Return the names of the coefficients, in order; ``classes`` are spelled."""
    own = ["Intercept", *names] if offset else list(names)
    if family == "multinomial":
        return [f"{label}:{name}" for label in classes[1:] for name in own]
    if family == "ordinal":
        return [*(f"{low}|{high}" for low, high in itertools.pairwise(classes)), *own]
    return own


# ---------------------------------------------------------------------------------------------------------------
# Constraints of the families


def constraints(
    family: str, X: Sequence[Row], answers: Sequence[Answer], classes: int, offset: bool
) -> list[tuple[list[Any], bool]]:
    """Return the constraints of a model, and whether each is an equation; raise Fails where a family has none.

    Observations of weight 0 do not count, nor do those of no trial. Constraints stand in the order of the observations;
    of strata, in the order of their first observation.
    """
    for i, answer in enumerate(answers):
        require(all(answer.get(role, 0) >= 0 for role in ("weight", "failures")), f"row {i} has a negative weight")
    counted = [i for i, answer in enumerate(answers) if answer.get("weight", 1) > 0]
    full = [([1, *X[i]] if offset else list(X[i]), answers[i]) for i in counted]
    if family in ("multinomial", "ordinal"):
        several = against_rivals if family == "multinomial" else between_thresholds
        found = [(row, False) for x, answer in full for row in several(x, answer["label"], classes)]
    elif family in ("conditional", "cox"):
        groups: dict[Any, list[int]] = {}
        for i in counted:
            groups.setdefault(answers[i].get("stratum"), []).append(i)
        pairs = chosen if family == "conditional" else at_risk
        both = [pair for members in groups.values() for pair in pairs(members, answers)]
        found = [([a - b for a, b in zip(X[i], X[j], strict=True)], False) for i, j in both]
    else:
        found = one_each(family, full)
    require(bool(found), "there is nothing to model")
    return found


def require(condition: bool, what: str) -> None:
    """Raise Fails unless something holds."""
    if not condition:
        raise Fails(what)


def one_each(family: str, observed: list[tuple[list[Any], Answer]]) -> list[tuple[list[Any], bool]]:
    """Return x for all successes, -x for none, an equation for some of both; for counts above 0 an equation."""
    found, ups, downs, shares = [], 0, 0, family in ("binomial", "log-binomial")
    for x, answer in observed:
        value = answer["label"] if "label" in answer else answer["number"]
        require(value >= 0 and (value <= 1 or not shares or "failures" in answer), "there is no such response")
        if value == answer.get("failures") == 0:
            continue
        low, high = value == 0, answer["failures"] == 0 if "failures" in answer else value == 1
        ups, downs = ups + (high if shares else not low), downs + low
        high = high and family == "binomial"
        found.append((x if high else [-v for v in x], not (low or high)))
    constant = len(found) in (ups, downs) if shares else ups == 0
    require(not constant, "the response is constant")
    return found


def against_rivals(x: list[Any], own: int, classes: int) -> Iterator[list[Any]]:
    """Yield x·(g_y - g_k) >= 0 for every other class k, with g = 0 for class 0."""
    return (lead(x, own, rival, classes) for rival in range(classes) if rival != own)


def between_thresholds(x: list[Any], own: int, classes: int) -> Iterator[list[Any]]:
    """Yield t_y - x·g >= 0 and x·g - t_(y-1) >= 0, where there are such thresholds."""
    for k, sign in ((own, 1), (own - 1, -1)):
        if 0 <= k < classes - 1:
            yield [*(sign * (j == k) for j in range(classes - 1)), *(-sign * value for value in x)]


def chosen(members: list[int], answers: Sequence[Answer]) -> list[tuple[int, int]]:
    """Return the pairs of a stratum: each row that was chosen against each that was not."""
    y = [answers[i]["number"] for i in members]
    require(all(value in (0, 1) for value in y) and 1 in y, "a stratum has no row that was chosen")
    return [(i, j) for i, a in zip(members, y, strict=True) if a for j, b in zip(members, y, strict=True) if not b]


def at_risk(members: list[int], answers: Sequence[Answer]) -> list[tuple[int, int]]:
    """Return differences within risk sets that all others are sums of, latest times first.

    The first event of a time is held against the rows that leave between it and the next later event, against the
    first event then, and both ways against other events of its time.
    """
    require(all(answers[i]["event"] in (0, 1) for i in members), "an event is 1, or 0 if censored")
    pairs: list[tuple[int, int]] = []
    waiting: list[int] = []
    later: list[int] = []
    for time in sorted({answers[i]["number"] for i in members}, reverse=True):
        same = [i for i in members if answers[i]["number"] == time]
        events = [i for i in same if answers[i]["event"] == 1]
        waiting += [i for i in same if answers[i]["event"] == 0]
        if events:
            pairs += [(events[0], j) for j in (*waiting, *later)]
            for other in events[1:]:
                pairs += [(events[0], other), (other, events[0])]
            waiting, later = [], events[:1]
    return pairs


# ---------------------------------------------------------------------------------------------------------------
# The check


def check_separation(content: dict[str, Any], rows: Sequence[Row], answers: Sequence[Answer]) -> list[str]:
    """Return what has been checked, line by line; raise Fails if a claim is not proved."""
    model = (content["family"], rows, answers, len(content["classes"]), content["fit_intercept"])
    return Claims(content, constraints(*model)).check()


class Claims:
    """Constraints times their denominators, which of them are equations, and a document about them."""

    def __init__(self, content: dict[str, Any], found: list[tuple[list[Any], bool]]) -> None:
        exact = [whole(row) for row, _ in found]
        self.content, self.equal, self.width = content, [is_equal for _, is_equal in found], len(found[0][0])
        self.rows, self.scales = [row for row, _ in exact], [scale for _, scale in exact]
        self.columns, self.direction = content["columns"], numbers(content["direction"])

    def check(self) -> list[str]:
        """Check every claim; return what was checked."""
        self.check_columns()
        self.check_split()
        self.check_rest()
        self.check_coefficients()
        statuses = [each["status"] for each in self.content["coefficients"]]
        told = ", ".join(f"{statuses.count(status)} {status}" for status in STATUSES if status in statuses)
        return [
            f"{len(self.rows)} constraints on {self.width} coefficients of rank {len(self.columns)}",
            f"a direction separates {len(self.separated)} of them and leaves the others at 0",
            f"{len(self.content['rest']['rows'])} of the others cancel with positive multipliers and span them",
            f"every coefficient has the status that the proof states: {told}",
        ]

    def inner(self, which: Sequence[int]) -> list[list[int]]:
        """Return some constraints in the columns that are kept, as whole numbers."""
        return [[self.row(i)[j] for j in self.columns] for i in which]

    def row(self, i: int) -> list[int]:
        """Return a constraint that a document names."""
        require(i < len(self.rows), f"there is no constraint {i}")
        return self.rows[i]

    def check_columns(self) -> None:
        """Check that all constraints are 0 on aliased vectors, and some independent in the columns that are left."""
        kept, chosen_ = set(self.columns), self.content["independent"]
        require(len(kept) == len(self.columns) and max(kept, default=-1) < self.width, "a column stands twice")
        require(len(self.direction) == self.width, "a direction has a number for every coefficient")
        require(len(chosen_) == len(kept), "there are not as many independent constraints as columns")
        require(not kept or rank(self.inner(chosen_), len(kept)) == len(kept), "some constraints are not independent")
        self.aliased: dict[int, list[Fraction]] = {}
        for each in self.content["aliased"]:
            own, places, values = each["column"], each["columns"], numbers(each["multipliers"])
            fair = own < self.width and len(places) == len(values) == len(set(places))
            require(fair, "an aliased column is not told in full")
            v = [Fraction(0)] * self.width
            for j, value in zip(places, values, strict=True):
                require(j == own or j in kept, "an aliased column is told by another one")
                v[j] = value
            require(v[own] != 0 and own not in self.aliased, "an aliased column is not told")
            exact = whole(v)[0]
            require(not any(dot(row, exact) for row in self.rows), f"column {own} does not depend on the others")
            self.aliased[own] = v
        require(set(self.aliased) == set(range(self.width)) - kept, "some column is neither kept nor aliased")

    def in_cone(self, g: list[Fraction]) -> list[int]:
        """Return the height of every constraint on a vector that must be in the cone, times positive numbers."""
        fair = len(g) == self.width and not any(g[j] for j in range(self.width) if j not in self.columns)
        require(fair, "a direction has numbers in columns that are not kept")
        exact = whole(g)[0]
        heights = [dot(row, exact) for row in self.rows]
        for i, (height, is_equal) in enumerate(zip(heights, self.equal, strict=True)):
            require(height == 0 or (height > 0 and not is_equal), f"constraint {i} does not hold on a direction")
        return heights

    def check_split(self) -> None:
        """Check that the direction is in the cone, and separates what it is said to."""
        heights = self.in_cone(self.direction)
        self.separated = {i for i, height in enumerate(heights) if height > 0}
        said: list[int] = []
        for first, last in self.content["separated"]:
            require((not said or first > said[-1]) and first <= last < len(self.rows), "the stretches are not in order")
            said += range(first, last + 1)
        require(said == sorted(self.separated), "the direction does not separate these constraints")
        kind = "overlap" if not said else "complete" if len(said) == len(self.rows) else "quasi"
        require(self.content["claim"] == kind, f"the claim is not {kind}")

    def check_rest(self) -> None:
        """Check that constraints that are not separated cancel with positive multipliers, and span all such."""
        which, total = self.combined(self.content["rest"], 1)
        require(not any(total), "the constraints of the rest do not cancel")
        require(not self.separated & set(which), "a constraint of the rest is separated")
        others = self.inner([i for i in range(len(self.rows)) if i not in self.separated])
        if not self.columns:
            return
        normals = orthogonal(self.inner(which)) if which else None
        for row in others:
            off = any(row) if normals is None else any(dot(row, normal) for normal in normals)
            require(not off, "the constraints of the rest do not span all that are not separated")

    def combined(self, evidence: dict[str, Any], least: int | None) -> tuple[list[int], list[Fraction]]:
        """Return constraints and their sum in the columns that are kept; inequalities with multipliers of a sign.

        ``least`` is 1 for positive multipliers, 0 for those not negative, None for any.
        """
        which, multipliers = evidence["rows"], numbers(evidence["multipliers"])
        require(len(which) == len(multipliers) == len(set(which)), "there are not as many multipliers as constraints")
        table = self.inner(which)
        factors, common = whole([m / self.scales[i] for i, m in zip(which, multipliers, strict=True)])
        for i, m in zip(which, multipliers, strict=True):
            fair = least is None or self.equal[i] or m > 0 or (m == 0 and least == 0)
            require(fair, f"the multiplier of constraint {i} has the wrong sign")
        sums = [sum(f * row[k] for f, row in zip(factors, table, strict=True)) for k in range(len(self.columns))]
        return which, [Fraction(value, common) for value in sums]

    def check_coefficients(self) -> None:
        """Check the evidence of every coefficient."""
        listed, keep = self.content["coefficients"], self.content["alias"] == "keep"
        require(len(listed) == self.width, "not every coefficient has a status")
        for j, each in enumerate(listed):
            shared = j in self.aliased or (keep and any(v[j] for v in self.aliased.values()))
            require((each["status"] == "aliased") == shared, f"coefficient {j} is {'' if shared else 'not '}aliased")
            if not shared:
                self.check_status(each, j)

    def check_status(self, each: dict[str, Any], j: int) -> None:
        """Check what the table above asks of a status."""
        if each["status"] == "undetermined":
            up, down = numbers(each["up"]), numbers(each["down"])
            self.in_cone(up), self.in_cone(down)
            require(up[j] > 0 > down[j], f"coefficient {j} does not go both ways")
            return
        sign = {"finite": 0, "+inf": 1, "-inf": -1}[each["status"]]
        which, total = self.combined(each, 0 if sign else None)
        unit = [Fraction((sign or 1) * (column == j)) for column in self.columns]
        require(total == unit, f"the constraints do not add up to coefficient {j}")
        if sign:
            require(sign * self.direction[j] > 0, f"the direction leaves coefficient {j} at 0")
        else:
            require(not self.separated & set(which), f"coefficient {j} is told by separated constraints")
