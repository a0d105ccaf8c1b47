"""The fast check of a proof about a model with absorbed factors: whole numbers in arrays.

It asks for the same as ``plain_absorbed``: sums over all rows at once, in 64 bits where they fit, else in Python's own
integers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.problem import Array
from linsep.prove.check.plain_document import numbers, whole
from linsep.prove.exact.exact_values import cells
from linsep.prove.regression.fixed_effects import level_numbers, signed_rows
from linsep.prove.regression.inputs import Given

_LIMIT = 1 << 62


def absorbed_holds(given: Given, certificate: dict[str, Any]) -> bool:
    """Return whether all that a certificate claims of a model is true."""
    try:
        return _Check(given, certificate).run()
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, ZeroDivisionError, OverflowError):
        return False


class _Check:
    """The constraints as columns of whole numbers, the levels of every row, and the parts of a certificate."""

    def __init__(self, given: Given, certificate: dict[str, Any]) -> None:
        self.parts, which = certificate, given.which
        design = cells(given.X, given.values, list(given.names))
        matrix = design.matrix[which]
        table = matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
        code, self.equal = signed_rows(given)
        self.signs = np.where(code == 1, 1, -1)
        if design.basis is not None:
            raise ValueError("no cell may be that long")
        found = [_integers(table[:, j]) for j in range(table.shape[1])]
        self.columns = [values for values, _ in found]
        self.units = [unit / scale for (_, unit), scale in zip(found, design.scales, strict=True)]
        self.listed, self.n = len(self.columns), len(which)
        self.levels = level_numbers([factor.codes[which] for factor in given.absorb], self.listed)
        self.coefficients = int(self.levels.max()) + 1

    def run(self) -> bool:
        """Check every claim."""
        parts = self.parts
        self.direction = numbers(parts["direction"])
        self.dropped = {each["column"] for each in parts["aliased"]}
        if not self._aliased() or (heights := self._in_cone(self.direction)) is None:
            return False
        self.separated = heights > 0
        said = [np.arange(first, last + 1) for first, last in parts["separated"] if first <= last < self.n]
        claimed = np.concatenate([np.empty(0, dtype=np.intp), *said])
        if len(said) < len(parts["separated"]) or not np.array_equal(claimed, np.flatnonzero(self.separated)):
            return False
        kind = "overlap" if not self.separated.any() else "complete" if self.separated.all() else "quasi"
        return bool(parts["claim"] == kind) and self._rest() and self._coefficients()

    def _heights(self, g: list[Fraction]) -> Array:
        """Return every constraint on a vector, times a positive number."""
        if len(g) != self.coefficients:
            raise ValueError("a direction has a number for every coefficient")
        head = [value * unit for value, unit in zip(g[: self.listed], self.units, strict=True)]
        exact = whole([*head, *g[self.listed :]])[0]
        first, levels = exact[: self.listed], exact[self.listed :]
        bound = sum(abs(a) * _largest(x) for a, x in zip(first, self.columns, strict=True))
        bound += self.levels.shape[1] * max(map(abs, levels), default=0)
        kind: Any = np.int64 if bound < _LIMIT else object
        total = np.array(levels, dtype=kind)[self.levels - self.listed].sum(axis=1)
        for a, x in zip(first, self.columns, strict=True):
            if a:
                total = total + x.astype(kind) * a
        found: Array = total * self.signs
        return found

    def _in_cone(self, g: list[Fraction]) -> Array | None:
        if any(g[j] for j in self.dropped):
            return None
        heights = self._heights(g)
        return None if (heights < 0).any() or (heights[self.equal] != 0).any() else heights

    def _aliased(self) -> bool:
        self.aliases: list[list[Fraction]] = []
        for each in self.parts["aliased"]:
            v, own = [Fraction(0)] * self.coefficients, each["column"]
            for j, value in zip(each["columns"], numbers(each["multipliers"]), strict=True):
                v[j] = value
            other = any(v[j] for j in self.dropped if j != own)
            if not 0 <= own < self.listed or v[own] == 0 or other or self._heights(v).any():
                return False
            if len(set(each["columns"])) < len(each["columns"]):
                return False
            self.aliases.append(v)
        return len(self.dropped) == len(self.aliases)

    def _rest(self) -> bool:
        rows, named = self.parts["rest"]["rows"], numbers(self.parts["rest"]["multipliers"])
        if len(set(rows)) < len(rows) or len(rows) != len(named) or self.separated[rows].any():
            return False
        exact, common = whole([*named, Fraction(1)])
        largest = max(map(abs, exact))
        times = np.full(self.n, common, dtype=np.int64 if largest * self.n < _LIMIT else object)
        times[rows] = exact[:-1]
        left = np.flatnonzero(~self.separated)
        return not (times[left] <= 0)[~self.equal[left]].any() and not self._total(left, times[left])

    def _total(self, rows: Array, times: Array) -> dict[int, Fraction]:
        """Return the sum of constraints times their numbers, where it is not 0, in the columns that are kept."""
        signed = times * self.signs[rows]
        often = sum(map(abs, times.tolist())) if times.dtype == object else int(np.abs(times).sum())
        found = {}
        for j, x in enumerate(self.columns):
            if j not in self.dropped:
                kind: Any = np.int64 if often * _largest(x) < _LIMIT and times.dtype != object else object
                total = (x[rows].astype(kind) * signed.astype(kind)).sum()
                if total:
                    found[j] = int(total) * self.units[j]
        sums = np.zeros(self.coefficients, dtype=np.int64 if often < _LIMIT and times.dtype != object else object)
        for f in range(self.levels.shape[1]):
            np.add.at(sums, self.levels[rows, f], signed)
        return found | {j: Fraction(int(sums[j])) for j in np.flatnonzero(sums).tolist()}

    def _coefficients(self) -> bool:
        listed, keep = self.parts["coefficients"], self.parts["alias"] == "keep"
        if len(listed) != self.listed or self.parts["alias"] not in ("drop", "keep"):
            return False
        for j, each in enumerate(listed):
            shared = j in self.dropped or (keep and any(v[j] for v in self.aliases))
            if (each["status"] == "aliased") != shared or (not shared and not self._evidence(each, j)):
                return False
        return True

    def _evidence(self, each: dict[str, Any], j: int) -> bool:
        sign = {"finite": 0, "undetermined": 0, "+inf": 1, "-inf": -1}[each["status"]]
        rows, multipliers = each["rows"], numbers(each["multipliers"])
        if len(set(rows)) < len(rows) or len(rows) != len(multipliers) or min(rows, default=0) < 0:
            return False
        exact, common = whole(multipliers)
        times = np.empty(len(exact), dtype=object)
        times[:] = exact
        which = np.array(rows, dtype=np.intp)
        if {i: v / common for i, v in self._total(which, times).items()} != {j: sign or 1}:
            return False
        if sign:
            return sign * self.direction[j] > 0 and not (times < 0)[~self.equal[which]].any()
        if each["status"] == "finite":
            return not self.separated[which].any()
        up, down = numbers(each["up"]), numbers(each["down"])
        return self._in_cone(up) is not None and self._in_cone(down) is not None and up[j] > 0 > down[j]


def _largest(x: Array) -> int:
    return max(abs(int(x.max(initial=0))), abs(int(x.min(initial=0))))


def _integers(x: Array) -> tuple[Array, Fraction]:
    """Return a column as whole numbers and the unit that they are multiples of."""
    if x.dtype.kind != "f":
        return x.astype(np.int64) if x.dtype.kind == "b" else x, Fraction(1)
    if np.abs(x).max(initial=0.0) < 2.0**53 and (x == np.rint(x)).all():
        return x.astype(np.int64), Fraction(1)
    mantissas, exponents = np.frexp(x.astype(np.float64))
    lowest = int(exponents[x != 0].min())
    found = np.empty(len(x), dtype=object)
    parts = zip((mantissas * 2.0**53).astype(np.int64).tolist(), (exponents - lowest).tolist(), strict=True)
    found[:] = [m << e if m else 0 for m, e in parts]
    return found, Fraction(2) ** (lowest - 53)
