"""The fast check of a ``separation`` certificate: floats with error bounds, integers where in doubt.

It asks for the same of the rows of a ``Model`` as part 6 of ``linsep_check``, which says what a certificate claims.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpz_mat

from linsep.problem import Array
from linsep.prove.check.fast_facts import normals, sparse_rank, total
from linsep.prove.check.integers import over_common
from linsep.prove.check.linsep_check import numbers
from linsep.prove.core.constraints import Constraints, packed_rows
from linsep.prove.regression.families import Model

_BLOCK = 64  # rows that are looked at together: they have few columns in use


class _Fails(Exception):  # noqa: N818 (it is an answer)
    """A claim does not hold."""


def holds(model: Model, certificate: dict[str, Any]) -> bool:
    """Return whether all that a certificate claims of the rows of a model is true."""
    try:
        check = _Check(model, certificate)
        check.columns_are_right()
        check.split_is_right()
        check.rest_is_right()
        check.coefficients_are_right()
    except (_Fails, ValueError, KeyError, TypeError, IndexError, AttributeError, ZeroDivisionError, OverflowError):
        return False
    return True


def _require(condition: Any) -> None:
    if not condition:
        raise _Fails


class _Check:
    """The rows of a model, and the parts of a certificate as numbers."""

    def __init__(self, model: Model, certificate: dict[str, Any]) -> None:
        self.model, self.system, self.parts = model, model.system, certificate
        self.width, self.ids = len(model.names), model.system.ids
        self.equal = model.system.is_equation(self.ids)
        self.kept: list[int] = certificate["columns"]
        self.known, self.column = set(self.kept), {unknown: j for j, unknown in enumerate(model.order)}
        self.direction = numbers(certificate["direction"])
        self.aliased: dict[int, list[Fraction]] = {}

    def _vector(self, columns: list[int], values: list[Fraction]) -> list[Fraction]:
        """Return a vector with these numbers in these columns, each once."""
        _require(len(columns) == len(values) == len(set(columns)))
        parts = dict(zip(columns, values, strict=True))
        return [parts.get(j, Fraction(0)) for j in range(self.width)]

    def _signs(self, g: list[Fraction]) -> Array:
        """Return the sign of every row on a vector."""
        inner = [Fraction(0)] * self.width
        for j, unknown in enumerate(self.model.order):
            inner[unknown] = g[j] / self.model.scales[j]  # the column is that much larger here
        signs: Array = self.system.signs(fmpz_mat(self.width, 1, over_common(inner)[0]))[self.ids]
        return signs

    def _in_cone(self, g: list[Fraction]) -> Array:
        """Return the sign of every row on a vector that must be in the cone."""
        _require(len(g) == self.width and not any(g[j] for j in set(range(self.width)) - set(self.kept)))
        signs = self._signs(g)
        _require(not (signs < 0)[~self.equal].any() and not signs[self.equal].any())
        return signs

    def _rows(self, which: list[int]) -> tuple[Any, list[int], list[int]]:
        """Return some rows as integers, the powers of two left out of each, and the columns: those in use, or all."""
        _require(all(type(i) is int and i >= 0 for i in which))
        ids, system = self.ids[np.array(which, dtype=np.intp)], self.system
        if type(system) is not Constraints or system.basis is not None or not which:
            return *system.rows(ids), [self.column[unknown] for unknown in range(self.width)]
        A, shifts, used = packed_rows(system.data, ids)
        return A, shifts, [self.column[unknown] for unknown in used.tolist()]

    def _rank(self, which: list[int]) -> int:
        """Return the rank of some rows in the columns kept."""
        rows: list[dict[int, int]] = []
        for start in range(0, len(which), _BLOCK):
            A, _, columns = self._rows(which[start : start + _BLOCK])
            kept = [(k, j) for k, j in enumerate(columns) if j in self.known]
            rows += [{j: int(row[k]) for k, j in kept if row[k]} for row in A.tolist()]
        quick = sparse_rank(rows)
        return quick if quick == len(self.kept) else int(self._inner(which).rank())

    def _inner(self, which: list[int]) -> Any:
        """Return some rows in the columns that are kept, as integers."""
        A, _, columns = self._rows(which)
        place = {j: k for k, j in enumerate(columns)}
        some = [place.get(j) for j in self.kept]
        cells = [0 if k is None else row[k] for row in A.tolist() for k in some]
        return fmpz_mat(len(which), len(some), cells)

    def _combined(self, part: dict[str, Any], least: int | None) -> dict[int, Fraction]:
        """Return what is not 0 of a sum, by column; only columns kept count.

        Multipliers of inequalities are above 0 (``least`` 1), not below (0) or any (None).
        """
        which, multipliers = list(part["rows"]), numbers(part["multipliers"])
        _require(len(which) == len(multipliers) == len(set(which)))
        sums: dict[int, Fraction] = {}
        for start in range(0, len(which), _BLOCK):
            A, shifts, columns = self._rows(which[start : start + _BLOCK])
            for k, value in total(multipliers[start : start + _BLOCK], A, shifts).items():
                sums[columns[k]] = sums.get(columns[k], Fraction(0)) + value
        for i, m in zip(which, multipliers, strict=True):
            _require(least is None or self.equal[i] or m > 0 or (m == 0 and least == 0))
        return {j: value / self.model.scales[j] for j, value in sums.items() if value and j in self.known}

    def columns_are_right(self) -> None:
        """Check that some rows are independent in the columns kept, and all are 0 on a vector of each other column."""
        kept, chosen = set(self.kept), self.parts["independent"]
        _require(len(kept) == len(self.kept) == len(chosen) and kept <= set(range(self.width)))
        _require(not chosen or self._rank(chosen) == len(kept))
        for each in self.parts["aliased"]:
            j, columns = each["column"], each["columns"]
            _require(j not in kept | set(self.aliased) and set(columns) <= kept | {j})
            v = self.aliased[j] = self._vector(columns, numbers(each["multipliers"]))
            _require(v[j] != 0 and not self._signs(v).any())
        _require(set(self.aliased) == set(range(self.width)) - kept)

    def split_is_right(self) -> None:
        """Check that the direction is in the cone and separates what is claimed."""
        self.separated = self._in_cone(self.direction) > 0
        stretches = np.array(self.parts["separated"], dtype=np.int64).reshape(-1, 2)
        first, last = stretches.T
        _require((first <= last).all() and (first[1:] > last[:-1]).all())
        _require(first.min(initial=0) >= 0 and last.max(initial=-1) < len(self.ids))
        claimed = np.zeros(len(self.ids), dtype=bool)
        for start, stop in stretches.tolist():
            claimed[start : stop + 1] = True
        _require(np.array_equal(claimed, self.separated))
        kind = "overlap" if not claimed.any() else "complete" if claimed.all() else "quasi"
        _require(self.parts["claim"] == kind)

    def rest_is_right(self) -> None:
        """Check that rows that are not separated cancel with positive multipliers, and span all such."""
        which = self.parts["rest"]["rows"]
        _require(not self._combined(self.parts["rest"], 1) and not self.separated[which].any())
        for normal in () if self._rank(which) == len(self.kept) else normals(self._inner(which)):
            values = [Fraction(value) * self.model.scales[j] for value, j in zip(normal, self.kept, strict=True)]
            _require(not self._signs(self._vector(self.kept, values))[~self.separated].any())

    def coefficients_are_right(self) -> None:
        """Check the evidence of every coefficient."""
        keep = self.parts["alias"] == "keep"
        _require(len(self.parts["coefficients"]) == self.width and self.parts["alias"] in ("drop", "keep"))
        for j, each in enumerate(self.parts["coefficients"]):
            status = each["status"]
            shared = j in self.aliased or (keep and any(v[j] for v in self.aliased.values()))
            _require((status == "aliased") == shared)
            if status == "undetermined":
                up, down = numbers(each["up"]), numbers(each["down"])
                self._in_cone(up)
                self._in_cone(down)
                _require(up[j] > 0 > down[j])
            elif not shared:
                sign = {"finite": 0, "+inf": 1, "-inf": -1}[status]
                _require(self._combined(each, 0 if sign else None) == {j: Fraction(sign or 1)})
                _require(sign * self.direction[j] > 0 if sign else not self.separated[each["rows"]].any())
