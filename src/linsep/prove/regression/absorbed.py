"""The result of ``separation`` for models with many absorbed levels, and its proof as a document."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from linsep.errors import DataError
from linsep.problem import Array
from linsep.prove.check.plain_document import label_text
from linsep.prove.documents import number_written
from linsep.prove.regression.contrasts import contrast
from linsep.prove.regression.documents import claimed, stretches
from linsep.prove.regression.fixed_effects import Effects, level_numbers
from linsep.prove.regression.inputs import Given
from linsep.prove.regression.level_statuses import LevelStatuses, Proved, Sum, Vector
from linsep.prove.regression.predictions import uncounted
from linsep.prove.regression.results import COMPLETE, OVERLAP, QUASI, Coefficient, Refit, Separation
from linsep.prove.regression.statuses import ALIASED, FINITE


class AbsorbedSeparation(Separation):
    """Separation in a model whose factors have too many levels to be columns."""

    def __init__(self, given: Given, effects: Effects) -> None:
        self._given, self._effects = given, effects
        self.names, self.notes, self.family = list(given.names), list(given.notes), given.family
        self.listed = len(self.names)
        self._levels = LevelStatuses(effects, given.alias)
        self.statuses = [self._levels.status(self._unit_vector(j)) for j in range(self.listed)]
        self.levels = sum(len(np.unique(each.codes[given.which])) for each in given.absorb)
        effects.clock.check()
        strict = ~effects.left
        self.kind = OVERLAP if not strict.any() else COMPLETE if strict.all() else QUASI
        self.rank = self._forest(np.ones(effects.n, dtype=bool)) + self._levels.rank
        self.dimension = self.rank - self._forest(effects.left) - self._levels.rank_rest

    def _forest(self, rows: Array) -> int:
        """Return the number of arcs in a forest that spans the levels of some rows."""
        effects = self._effects
        parts, _ = connected_components(effects.arcs.of(rows).graph(effects.nodes), directed=False)
        return effects.nodes - int(parts)

    def _unit_vector(self, j: int) -> list[Fraction]:
        return [Fraction(self._effects.design.scales[j] * (i == j)) for i in range(self._effects.k)]

    @cached_property
    def separated(self) -> Array:
        """Rows that are fitted perfectly in the limit."""
        return self._given.which[~self._effects.left]

    @cached_property
    def rest(self) -> Array:
        """Rows that still matter."""
        return self._given.which[self._effects.left]

    @cached_property
    def direction(self) -> tuple[int, ...]:
        """The part of a generic direction that is about the listed columns."""
        gamma = self._levels.direction[0]
        return tuple(g * s for g, s in zip(gamma[: self.listed], self._effects.design.scales, strict=False))

    @cached_property
    def coefficients(self) -> list[Coefficient]:
        """Name, status and the rows that prove it; of undetermined ones the separated rows."""
        found = []
        for name, proved in zip(self.names, self.evidence, strict=True):
            rows = self.separated if proved.up is not None else np.sort(self._given.which[list(proved.rows)])
            found.append(Coefficient(name, proved.status, tuple(rows.tolist())))
        return found

    @cached_property
    def evidence(self) -> list[Proved]:
        """The evidence for every listed coefficient."""
        return [self._levels.proved(self._unit_vector(j)) for j in range(self.listed)]

    @property
    def aliased(self) -> dict[str, dict[str, Fraction]]:
        """Columns that depend on the factors and on earlier columns."""
        scales, found = self._effects.design.scales, {}
        for j, v in self._levels.aliases.items():
            if j < self.listed:
                parts = {self.names[i]: Fraction(-v[i] * scales[i], v[j] * scales[j]) for i in range(self.listed)}
                own = {name: value for name, value in parts.items() if value and name != self.names[j]}
                found[self.names[j]] = {**own, "the absorbed factors": Fraction(1)}
        return found

    def _status(self, c: list[Fraction]) -> str:
        scales, extra = self._effects.design.scales, self._effects.k - self.listed
        return self._levels.status([*(a * s for a, s in zip(c, scales, strict=False)), *[Fraction(0)] * extra])

    def status(self, c: Any) -> str:
        """Return the status of a linear function of the listed coefficients."""
        return self._status([Fraction(0), *contrast(c, self.names)][1:])

    @property
    def estimable(self) -> list[dict[str, Fraction]]:
        """The listed coefficients that are finite."""
        return [{n: Fraction(1)} for n, s in zip(self.names, self.statuses, strict=True) if s == FINITE]

    def predict_status(self, X: Any) -> Array:  # noqa: ARG002
        """Refuse: a prediction would need the levels of new rows."""
        raise DataError("", "new rows need the levels of the absorbed factors: put the factors into the model instead")

    def refit(self) -> Refit:
        """Return the rows that are left, with the columns that they determine beside the absorbed factors."""
        given = self._given
        reasons = {name: f"it depends on {', '.join(parts)}" for name, parts in self.aliased.items()}
        for j, gamma in self._levels.left_over.items():
            if j < self.listed and self.names[j] not in reasons:
                used = [self.names[i] for i in range(self.listed) if gamma[i] and i != j]
                parts = ", ".join([*used, "the absorbed factors"])
                reasons[self.names[j]] = f"on the rows that are left it depends on {parts}"
        columns = [j for j, name in enumerate(self.names) if name not in reasons]
        dropped = dict.fromkeys(self.separated.tolist(), "separated: fitted perfectly in the limit") | uncounted(given)
        kept = [self.names[j] for j in columns]
        return Refit(self.rest, kept, given.X[self.rest][:, columns], np.asarray(given.y)[self.rest], dropped, reasons)

    # -----------------------------------------------------------------------------------------------------------
    # The proof

    def certificate(self) -> dict[str, Any]:
        """Return all claims with their evidence: a direction, sums of rows, and multipliers that cancel the rest."""
        return dict(self._certificate)

    @cached_property
    def _certificate(self) -> dict[str, Any]:
        for name, _, levels in self._given.absorb:
            if len({label_text(level) for level in levels}) < len(levels):
                raise DataError("", f"two levels of {name!r} are spelled the same: a proof cannot tell them apart")
        aliased = []
        for j, v in self._levels.aliases.items():
            if j < self.listed:
                whole = self._numbers((v, self._effects.potentials_of(v)))
                used = [i for i, value in enumerate(whole) if value]
                aliased.append({"column": j, "columns": used, "multipliers": [number_written(whole[i]) for i in used]})
        return {
            **claimed(self, "separation-absorbed"),
            "aliased": sorted(aliased, key=lambda each: each["column"]),
            "direction": self._written(self._levels.direction),
            "separated": stretches(np.flatnonzero(~self._effects.left)),
            "rest": _sum_written(self._levels.canceling()),
            "coefficients": [
                {"name": name, "status": each.status, **self._evidence(each)}
                for name, each in zip(self.names, self.evidence, strict=True)
            ],
        }

    def _evidence(self, proved: Proved) -> dict[str, Any]:
        if proved.status == ALIASED:
            return {}
        found: dict[str, Any] = _sum_written(proved.rows)
        if proved.up is not None and proved.down is not None:
            found |= {"up": self._written(proved.up), "down": self._written(proved.down)}
        return found

    def _written(self, vector: Vector) -> list[str]:
        return [number_written(value) for value in self._numbers(vector)]

    @cached_property
    def _places(self) -> tuple[Array, dict[int, int]]:
        """By node, and by column of a further factor, the number of its level in a document."""
        effects, given = self._effects, self._given
        numbers = level_numbers([each.codes[given.which] for each in given.absorb], self.listed)
        column = {name: k for k, (name, *_) in enumerate(given.absorb)}
        nodes = np.full(effects.nodes, -1, dtype=np.intp)
        for end, factor in zip(effects.ends, effects.factors, strict=False):
            nodes[end] = numbers[:, column[factor.name]]
        columns, at = {}, self.listed
        for factor in effects.further:
            for code, number in zip(factor.codes[given.which], numbers[:, column[factor.name]], strict=True):
                columns[at + int(code)] = int(number)
            at += len(factor.levels)
        return nodes, columns

    def _numbers(self, vector: Vector) -> list[Fraction]:
        """Return a direction as a document has it: of the columns, then of the levels."""
        (gamma, pi), effects = vector, self._effects
        nodes, columns = self._places
        count = self.listed + int((nodes >= 0).sum()) + len(columns)
        found = [Fraction(0)] * count
        for j in range(self.listed):
            found[j] = Fraction(gamma[j] * effects.design.scales[j])
        for j, number in columns.items():
            found[number] = Fraction(gamma[j])
        first = int(effects.ends[0].max()) + 1
        shift = Fraction(pi[first]) if len(effects.factors) == 1 else Fraction(0)  # a node that all rows have
        for node, number in enumerate(nodes.tolist()):
            if number >= 0:
                found[number] = Fraction(pi[node]) - shift if node < first else -Fraction(pi[node])
        return found


def _sum_written(rows: Sum) -> dict[str, Any]:
    return {"rows": list(rows), "multipliers": [number_written(value) for value in rows.values()]}
