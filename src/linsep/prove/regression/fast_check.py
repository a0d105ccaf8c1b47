"""The fast check of a ``separation`` certificate: floats with error bounds, integers where in doubt.

It asks for the same of the rows of a ``Model`` as part 6 of ``linsep_check``, which says what a certificate claims.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpz_mat

from linsep.problem import Array
from linsep.prove.check.fast_facts import normals, rank, total
from linsep.prove.check.integers import over_common
from linsep.prove.check.linsep_check import numbers
from linsep.prove.regression.families import Model


def holds(model: Model, certificate: dict[str, Any]) -> bool:
    """Return whether all that a certificate claims of the rows of a model is true."""
    try:
        return _Check(model, certificate).run()
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, ZeroDivisionError, OverflowError):
        return False


class _Check:
    """The rows of a model, and the parts of a certificate as numbers."""

    def __init__(self, model: Model, certificate: dict[str, Any]) -> None:
        self.model, self.system, self.parts = model, model.system, certificate
        self.coefficients, self.ids = len(model.names), model.system.ids
        self.equal = model.system.is_equation(self.ids)
        self.columns: list[int] = certificate["columns"]
        self.direction = numbers(certificate["direction"])

    def run(self) -> bool:
        """Check every claim."""
        return self._columns() and self._split() and self._rest() and self._coefficients()

    def _signs(self, g: list[Fraction]) -> Array:
        """Return the sign of every row on a vector."""
        inner = [Fraction(0)] * self.coefficients
        for j, unknown in enumerate(self.model.order):
            inner[unknown] = g[j] / self.model.scales[j]  # the column is that much larger here
        signs: Array = self.system.signs(fmpz_mat(self.coefficients, 1, over_common(inner)[0]))[self.ids]
        return signs

    def _inner(self, which: list[int]) -> tuple[Any, list[int]]:
        """Return some rows in the columns that are kept, as integers, and the powers of two left out of each."""
        if any(not isinstance(i, int) or isinstance(i, bool) or i < 0 for i in which):
            raise ValueError("a row number is an integer from 0")
        A, shifts = self.system.rows(self.ids[np.array(which, dtype=np.intp)])
        unknowns = [self.model.order[j] for j in self.columns]
        flat = [row[k] for row in A.tolist() for k in unknowns]
        return fmpz_mat(len(which), len(unknowns), flat), shifts

    def _columns(self) -> bool:
        parts, kept = self.parts, set(self.columns)
        if (
            len(kept) != len(self.columns)
            or not kept <= set(range(self.coefficients))
            or len(self.direction) != self.coefficients
        ):
            return False
        chosen = parts["independent"]
        if len(chosen) != len(kept) or (chosen and rank(self._inner(chosen)[0], len(kept)) != len(kept)):
            return False
        others, self.aliased = [], []
        for each in parts["aliased"]:
            v = [Fraction(0)] * self.coefficients
            own, columns, values = each["column"], each["columns"], each["multipliers"]
            if len(columns) != len(values) or len(set(columns)) != len(columns) or own in kept:
                return False
            for j, value in zip(columns, values, strict=True):
                v[j] = numbers([value])[0]
            others.append(own)
            if v[own] == 0 or any(v[j] for j in range(self.coefficients) if j not in kept and j != own):
                return False
            if self._signs(v).any():
                return False
            self.aliased.append(v)
        return len(set(others)) == len(others) and set(others) == set(range(self.coefficients)) - kept

    def _in_cone(self, g: list[Fraction]) -> Array | None:
        """Return the sign of every row, or None if an inequality is negative or an equation not zero."""
        if len(g) != self.coefficients or any(g[j] for j in range(self.coefficients) if j not in self.columns):
            return None
        signs = self._signs(g)
        return None if (signs < 0)[~self.equal].any() or signs[self.equal].any() else signs

    def _split(self) -> bool:
        signs = self._in_cone(self.direction)
        if signs is None:
            return False
        self.separated = (signs > 0) & ~self.equal
        stretches = np.array(self.parts["separated"], dtype=np.int64).reshape(-1, 2)
        if len(stretches) and ((stretches[:, 0] > stretches[:, 1]).any() or stretches[:, 1].max() >= len(self.ids)):
            return False
        runs = [np.arange(first, last + 1) for first, last in stretches.tolist()]
        claimed = np.concatenate(runs) if runs else np.empty(0, dtype=np.int64)
        kind = "overlap" if not self.separated.any() else "complete" if self.separated.all() else "quasi"
        return np.array_equal(claimed, np.flatnonzero(self.separated)) and self.parts["claim"] == kind

    def _rest(self) -> bool:
        which, total, fair = self._combined(self.parts["rest"], strictly=True)
        if not fair or any(total) or self.separated[which].any():
            return False
        left = np.flatnonzero(~self.separated)
        for normal in normals(self._inner(which)[0]):
            v = [Fraction(0)] * self.coefficients
            for j, value in zip(self.columns, normal, strict=True):
                v[j] = Fraction(value) * self.model.scales[j]
            if self._signs(v)[left].any():
                return False
        return True

    def _combined(self, part: dict[str, Any], *, strictly: bool) -> tuple[list[int], list[Fraction], bool]:
        """Return rows, their sum in the columns that are kept, and whether the signs of the multipliers are right."""
        which, multipliers = list(part["rows"]), numbers(part["multipliers"])
        if len(which) != len(multipliers) or len(set(which)) != len(which):
            raise ValueError("as many multipliers as rows")
        sums = total(multipliers, *self._inner(which))
        found = [value / self.model.scales[j] for value, j in zip(sums, self.columns, strict=True)]
        equal = self.equal[which].tolist() if which else []
        fair = all(e or m > 0 or (m == 0 and not strictly) for e, m in zip(equal, multipliers, strict=True))
        return which, found, fair

    def _coefficients(self) -> bool:
        listed = self.parts["coefficients"]
        place = {j: k for k, j in enumerate(self.columns)}
        if len(listed) != self.coefficients:
            return False
        for j, each in enumerate(listed):
            estimable = j in place and (self.parts["alias"] == "drop" or not any(v[j] for v in self.aliased))
            if (each["status"] == "aliased") == estimable:
                return False
            if estimable and not self._evidence(each, j, [Fraction(int(k == place[j])) for k in range(len(place))]):
                return False
        return self.parts["alias"] in ("drop", "keep")

    def _evidence(self, each: dict[str, Any], j: int, c: list[Fraction]) -> bool:
        status = each["status"]
        if status == "undetermined":
            up, down = (numbers(each[name]) for name in ("up", "down"))
            return self._in_cone(up) is not None and self._in_cone(down) is not None and up[j] > 0 > down[j]
        which, total, fair = self._combined(each, strictly=False)
        if status == "finite":
            return total == c and not self.separated[which].any()
        sign = {"+inf": 1, "-inf": -1}[status]
        return fair and total == [sign * value for value in c] and sign * self.direction[j] > 0
