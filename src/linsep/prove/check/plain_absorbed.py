"""The plain check, part 6: separation in regression models with absorbed factors.

Such a model has its columns, and a coefficient for every level of some factors, the same in all constraints with that
level. Levels get no status and may be very many, so no rank is asked for. What is claimed differs in three places:

- ``aliased`` are the columns that are not kept; all levels are.
- ``rest`` names multipliers of some constraints that are not separated; all others of these have the multiplier 1. With
  them, positive for inequalities, all constraints that are not separated cancel. So no direction in the cone is
  positive on any of them.
- For an undetermined coefficient, too, some constraints add up to its unit vector: it depends on nothing else.

Levels are numbered after the columns, in the order in which they first occur: by rows, and in a row by factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from linsep.prove.check.plain import dot
from linsep.prove.check.plain_document import KINDS, Row, numbers, require, well, whole
from linsep.prove.check.plain_regression import (
    COEFFICIENT,
    SEPARATION,
    SUM,
    Answer,
    Claims,
    answers,
    constraints,
    factors_of,
    form_of_separation,
)

# ---------------------------------------------------------------------------------------------------------------
# Absorbed factors

ABSORBED = {name: shape for name, shape in SEPARATION.items() if name not in ("columns", "independent")}
ABSORBED["coefficients"] = [(COEFFICIENT[0], {**COEFFICIENT[1], **SUM}, COEFFICIENT[2])]


def form_of_absorbed(content: dict[str, Any]) -> None:
    """Refuse a document whose fields do not go together."""
    one_row = ("binomial", "poisson", "negative-binomial")
    well(
        content["family"] in one_row and not content["fit_intercept"], "this family or intercept does not allow factors"
    )
    factors = factors_of(content)
    last = content["response"][len(content["response"]) - len(factors) :]
    well(factors and last == factors, "the factors are not the last columns of the response")
    form_of_separation(content)


def check_absorbed(content: dict[str, Any], rows: Sequence[Row], said: Sequence[Answer]) -> list[str]:
    """Return what has been checked, line by line; raise Fails or Malformed if a claim is not proved."""
    full = [[*row, 1] for row in rows]  # the last entry is that of every level
    found = constraints(content["family"], full, said, len(content["classes"]), False)
    counted = [a for a in said if a.get("weight", 1) > 0 and not a.get("failures") == a.get("number") == 0]
    claims = Absorbed(content, found, [tuple((role, a[role]) for role in factors_of(content)) for a in counted])
    lines = claims.check()
    levels = claims.width - claims.listed
    return [f"{len(claims.rows)} constraints on {claims.listed} coefficients and {levels} levels", *lines]


class Absorbed(Claims):
    """Constraints whose last entry is that of their levels, and the numbers of these."""

    def __init__(self, content: dict[str, Any], found: Any, levels: Sequence[tuple[Any, ...]]) -> None:
        super().__init__({**content, "columns": []}, found)
        number: dict[Any, int] = {}
        self.levels = [[number.setdefault(each, self.listed + len(number)) for each in level] for level in levels]
        self.width = self.listed + len(number)
        dropped = {each["column"] for each in content["aliased"]}
        self.columns = [j for j in range(self.width) if j not in dropped]

    def heights(self, g: list[Fraction]) -> list[int]:
        """Return z·g of every constraint, times positive numbers."""
        vector = whole(g)[0]
        head = vector[: self.listed]
        sums = ([*head, sum(vector[level] for level in levels)] for levels in self.levels)
        return [dot(row, own) for row, own in zip(self.rows, sums, strict=True)]

    def combined(self, evidence: dict[str, Any], least: int | None) -> tuple[list[int], list[Fraction]]:
        """Return constraints and their sum in the columns that are kept; inequalities with multipliers of a sign."""
        return evidence["rows"], self.total(evidence["rows"], numbers(evidence["multipliers"]), least)

    def total(self, which: list[int], multipliers: list[Fraction], least: int | None) -> list[Fraction]:
        """Return the sum of constraints in the columns that are kept."""
        require(len(which) == len(multipliers) == len(set(which)), "there are not as many multipliers as constraints")
        require(max(which, default=-1) < len(self.rows), "it names a constraint that does not exist")
        factors, common = whole([m / self.scales[i] for i, m in zip(which, multipliers, strict=True)])
        sums = [0] * self.width
        for i, m, factor in zip(which, multipliers, factors, strict=True):
            fits = least is None or self.equal[i] or m > 0 or (m == 0 and least == 0)
            require(fits, f"the multiplier of constraint {i} has the wrong sign")
            for j, value in enumerate(self.rows[i][:-1]):
                sums[j] += factor * value
            for level in self.levels[i]:
                sums[level] += factor * self.rows[i][-1]
        return [Fraction(sums[j], common) for j in self.columns]

    def check_columns(self) -> None:
        """Check that all constraints are 0 on aliased vectors."""
        require(len(self.direction) == self.width, "a direction has a number for every coefficient")
        self.check_aliased(set(self.columns))
        require(max(self.aliased, default=-1) < self.listed, "a level is aliased")

    def check_rest(self) -> str:
        """Check that all constraints that are not separated cancel with positive multipliers."""
        said = self.content["rest"]
        require(
            len(said["rows"]) == len(said["multipliers"]) == len(set(said["rows"])),
            "the proof of the rest is incomplete",
        )
        told = dict(zip(said["rows"], numbers(said["multipliers"]), strict=True))
        rest = [i for i in range(len(self.rows)) if i not in self.separated]
        require(set(told) <= set(rest), "a constraint of the rest is separated")
        total = self.total(rest, [told.get(i, Fraction(1)) for i in rest], 1)
        require(not any(total), "the constraints of the rest do not cancel")
        return f"all {len(rest)} others cancel with positive multipliers"


KINDS["separation-absorbed"] = (ABSORBED, form_of_absorbed, answers, check_absorbed)
