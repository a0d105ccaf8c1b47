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

A model with *absorbed* factors has also a coefficient for every level of them, which gets no status. Its document needs
no rank: all constraints that are not separated cancel with positive multipliers, which are 1 where ``rest`` names no
other, and an undetermined coefficient, too, is shown to be a sum of constraints.
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
    more = SUM if status == "undetermined" and "rows" in value else {}  # needed if factors are absorbed
    form(value, {"name": str, "status": set(STATUSES), **own, **more}, "a coefficient")


SEPARATION = {
    "family": set(FAMILIES), "response": [str], "alias": {"drop", "keep"}, "names": [str], "claim": set(CLAIMS),
    "columns": [natural], "independent": [natural], "direction": [number], "separated": [stretch], "rest": SUM,
    "aliased": [{"column": natural, "columns": [natural], "multipliers": [number]}], "coefficients": [coefficient],
}  # fmt: skip
LEVELS = ("binomial", "log-binomial", "poisson", "negative-binomial")  # families with absorbed factors
ABSORBED = {name: own for name, own in SEPARATION.items() if name not in ("columns", "independent")}
MODELS: dict[str, dict[str, Any]] = {"separation": SEPARATION, "separation-absorbed": ABSORBED}


def form_of_separation(content: dict[str, Any], classes: Sequence[str]) -> None:
    """Refuse a document whose fields do not go together; ``classes`` are spelled."""
    family, factors = content["family"], factors_of(content)
    absorbed = content["kind"] == "separation-absorbed"
    roles = content["response"][: len(content["response"]) - len(factors)]
    if bool(factors) != absorbed or (absorbed and (content["fit_intercept"] or family not in LEVELS)):
        raise Malformed("absorbed factors do not go with the kind, the family or an intercept")
    for each in content["coefficients"]:
        if each["status"] == "undetermined" and ("rows" in each) != absorbed:
            raise Malformed("an undetermined coefficient is not told in full")
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


def factors_of(content: dict[str, Any]) -> list[str]:
    """Return the last roles of a response, "factor 1", "factor 2" and so on."""
    roles, count = content["response"], sum(role.startswith("factor") for role in content["response"])
    factors = [f"factor {k + 1}" for k in range(count)]
    if roles[len(roles) - count :] != factors:
        raise Malformed("the factors are not the last columns of the response")
    return factors


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
    model = (content["family"], answers, len(content["classes"]), content["fit_intercept"])
    if content["kind"] == "separation":
        return Claims(content, constraints(model[0], rows, *model[1:])).check()
    return Absorbed(content, constraints(model[0], [[*row, 1] for row in rows], *model[1:]), answers).check()


class Claims:
    """Constraints times their denominators, which of them are equations, and a document about them."""

    def __init__(self, content: dict[str, Any], found: list[tuple[list[Any], bool]]) -> None:
        exact = [whole(row) for row, _ in found]
        self.content, self.equal, self.width = content, [is_equal for _, is_equal in found], len(found[0][0])
        self.rows, self.scales = [row for row, _ in exact], [scale for _, scale in exact]
        self.direction = numbers(content["direction"])

    def check(self) -> list[str]:
        """Check every claim; return what was checked."""
        self.check_columns()
        self.check_split()
        rest = self.check_rest()
        self.check_coefficients()
        statuses = [each["status"] for each in self.content["coefficients"]]
        told = ", ".join(f"{statuses.count(status)} {status}" for status in STATUSES if status in statuses)
        return [
            self.told(),
            f"a direction separates {len(self.separated)} of them and leaves the others at 0",
            rest,
            f"every coefficient has the status that the proof states: {told}",
        ]

    def told(self) -> str:
        """Return what the model is."""
        return f"{len(self.rows)} constraints on {self.width} coefficients of rank {len(self.columns)}"

    def inner(self, which: Sequence[int]) -> list[list[int]]:
        """Return some constraints in the columns that are kept, as whole numbers."""
        return [[self.row(i)[j] for j in self.columns] for i in which]

    def row(self, i: int) -> list[int]:
        """Return a constraint that a document names."""
        require(i < len(self.rows), f"there is no constraint {i}")
        return self.rows[i]

    def heights(self, g: list[int]) -> list[int]:
        """Return the constraints on a vector, each times its denominator."""
        return [dot(row, g) for row in self.rows]

    def entries(self, i: int) -> Iterator[tuple[int, int]]:
        """Yield the coefficients in a constraint that a document names, and the entry of each."""
        return enumerate(self.row(i))

    def check_columns(self) -> None:
        """Check that some constraints are independent in the columns that are kept, and the other columns aliased."""
        self.columns, chosen_ = self.content["columns"], self.content["independent"]
        kept = self.kept = set(self.columns)
        require(len(kept) == len(self.columns) and max(kept, default=-1) < self.width, "a column stands twice")
        require(len(chosen_) == len(kept), "there are not as many independent constraints as columns")
        require(not kept or rank(self.inner(chosen_), len(kept)) == len(kept), "some constraints are not independent")
        self.check_aliased()

    def check_aliased(self) -> None:
        """Check that all constraints are 0 on the vectors of the columns that are not kept."""
        require(len(self.direction) == self.width, "a direction has a number for every coefficient")
        self.aliased: dict[int, list[Fraction]] = {}
        for each in self.content["aliased"]:
            own, places, values = each["column"], each["columns"], numbers(each["multipliers"])
            fair = own < self.width and len(places) == len(values) == len(set(places))
            require(fair, "an aliased column is not told in full")
            v = [Fraction(0)] * self.width
            for j, value in zip(places, values, strict=True):
                require(j == own or j in self.kept, "an aliased column is told by another one")
                v[j] = value
            require(v[own] != 0 and own not in self.aliased, "an aliased column is not told")
            require(not any(self.heights(whole(v)[0])), f"column {own} does not depend on the others")
            self.aliased[own] = v
        require(set(self.aliased) == set(range(self.width)) - self.kept, "some column is neither kept nor aliased")

    def in_cone(self, g: list[Fraction]) -> list[int]:
        """Return the height of every constraint on a vector that must be in the cone, times positive numbers."""
        fair = len(g) == self.width and not any(value for j, value in enumerate(g) if j not in self.kept)
        require(fair, "a direction has numbers in columns that are not kept")
        heights = self.heights(whole(g)[0])
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

    def check_rest(self) -> str:
        """Check that constraints that are not separated cancel with positive multipliers, and span all such."""
        which = self.content["rest"]["rows"]
        total = self.combined(which, numbers(self.content["rest"]["multipliers"]), 1)
        require(not total, "the constraints of the rest do not cancel")
        require(not self.separated & set(which), "a constraint of the rest is separated")
        others = self.inner([i for i in range(len(self.rows)) if i not in self.separated])
        normals = orthogonal(self.inner(which)) if which and self.columns else None
        for row in others:
            off = any(row) if normals is None else any(dot(row, normal) for normal in normals)
            require(not off, "the constraints of the rest do not span all that are not separated")
        return f"{len(which)} of the others cancel with positive multipliers and span them"

    def combined(self, which: list[int], multipliers: list[Fraction], least: int | None) -> dict[int, Fraction]:
        """Return the sum of constraints, where it is not 0, in the columns that are kept.

        ``least`` is 1 for positive multipliers of inequalities, 0 for those not negative, None for any.
        """
        require(len(which) == len(multipliers) == len(set(which)), "there are not as many multipliers as constraints")
        require(max(which, default=-1) < len(self.rows), "there is no such constraint")
        factors, common = whole([m / self.scales[i] for i, m in zip(which, multipliers, strict=True)])
        sums: dict[int, int] = {}
        for i, m, factor in zip(which, multipliers, factors, strict=True):
            fair = least is None or self.equal[i] or m > 0 or (m == 0 and least == 0)
            require(fair, f"the multiplier of constraint {i} has the wrong sign")
            for j, value in self.entries(i):
                sums[j] = sums.get(j, 0) + factor * value
        return {j: Fraction(value, common) for j, value in sums.items() if value and j in self.kept}

    def check_coefficients(self) -> None:
        """Check the evidence of every coefficient."""
        keep = self.content["alias"] == "keep"
        for j, each in enumerate(self.content["coefficients"]):
            shared = j in self.aliased or (keep and any(v[j] for v in self.aliased.values()))
            require((each["status"] == "aliased") == shared, f"coefficient {j} is {'' if shared else 'not '}aliased")
            if not shared:
                self.check_status(each, j)

    def check_status(self, each: dict[str, Any], j: int) -> None:
        """Check what the table above asks of a status."""
        sign = {"finite": 0, "+inf": 1, "-inf": -1, "undetermined": 0}[each["status"]]
        if "rows" in each:
            total = self.combined(each["rows"], numbers(each["multipliers"]), 0 if sign else None)
            require(total == {j: sign or 1}, f"the constraints do not add up to coefficient {j}")
        if each["status"] == "undetermined":
            up, down = numbers(each["up"]), numbers(each["down"])
            self.in_cone(up), self.in_cone(down)
            require(up[j] > 0 > down[j], f"coefficient {j} does not go both ways")
        elif sign:
            require(sign * self.direction[j] > 0, f"the direction leaves coefficient {j} at 0")
        else:
            require(not self.separated & set(each["rows"]), f"coefficient {j} is told by separated constraints")


class Absorbed(Claims):
    """The same with levels: the last entry of a constraint, which is that of its levels, and the number of each.

    Levels are numbered after the columns as they first occur, by rows and in these by factors.
    """

    def __init__(
        self, content: dict[str, Any], found: list[tuple[list[Any], bool]], answers: Sequence[Answer]
    ) -> None:
        super().__init__(content, found)
        self.listed, places = content["n_features"], dict[Any, int]()
        counted = [a for a in answers if a.get("weight", 1) > 0 and not a.get("failures") == a.get("number") == 0]
        self.levels = [
            [places.setdefault((role, answer[role]), self.listed + len(places)) for role in factors_of(content)]
            for answer in counted
        ]
        self.width = self.listed + len(places)

    def told(self) -> str:
        """Return what the model is."""
        return f"{len(self.rows)} constraints on {self.listed} coefficients and {self.width - self.listed} levels"

    def heights(self, g: list[int]) -> list[int]:
        """Return the constraints on a vector, each times its denominator."""
        head = g[: self.listed]
        return [
            dot(row, [*head, sum(g[level] for level in levels)])
            for row, levels in zip(self.rows, self.levels, strict=True)
        ]

    def entries(self, i: int) -> Iterator[tuple[int, int]]:
        """Yield the coefficients in a constraint that a document names, and the entry of each."""
        yield from enumerate(self.rows[i][:-1])
        yield from ((level, self.rows[i][-1]) for level in self.levels[i])

    def check_columns(self) -> None:
        """Check that all constraints are 0 on aliased vectors."""
        self.kept = set(range(self.width)) - {each["column"] for each in self.content["aliased"]}
        self.check_aliased()
        require(max(self.aliased, default=-1) < self.listed, "a level is aliased")

    def check_rest(self) -> str:
        """Check that all constraints that are not separated cancel with positive multipliers."""
        said = self.content["rest"]
        told = dict(zip(said["rows"], numbers(said["multipliers"]), strict=True))
        rest = [i for i in range(len(self.rows)) if i not in self.separated]
        require(len(told) == len(said["rows"]) and set(told) <= set(rest), "a constraint of the rest is separated")
        total = self.combined(rest, [told.get(i, Fraction(1)) for i in rest], 1)
        require(not total, "the constraints of the rest do not cancel")
        return f"all {len(rest)} others cancel with positive multipliers"
