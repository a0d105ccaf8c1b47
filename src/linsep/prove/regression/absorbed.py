"""The result of ``separation`` for models with many absorbed levels."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from linsep.errors import DataError
from linsep.problem import Array
from linsep.prove.regression.cone import whole
from linsep.prove.regression.fixed_effects import Effects, echelon_of
from linsep.prove.regression.inputs import Given
from linsep.prove.regression.level_graph import spanning_trees
from linsep.prove.regression.results import COMPLETE, OVERLAP, QUASI, Coefficient, Refit, Separation
from linsep.prove.regression.statuses import ALIASED, FINITE


class AbsorbedSeparation(Separation):
    """Separation in a model whose factors have too many levels to be columns.

    It has no document of its proof: ``check`` proves every answer again, from the direction found and from few closed
    walks through the levels.
    """

    def __init__(self, given: Given, effects: Effects) -> None:
        self._given, self._effects = given, effects
        self.names, self.notes, self.family = list(given.names), list(given.notes), given.family
        self.listed = len(self.names)
        self.statuses = effects.statuses()
        effects.clock.check()
        strict = ~effects.left
        self.kind = OVERLAP if not strict.any() else COMPLETE if strict.all() else QUASI
        self.rank = self._forest(np.ones(effects.n, dtype=bool)) + effects.rank_x
        self.dimension = self.rank - self._forest(effects.left) - effects.rank_rest

    def _forest(self, rows: Array) -> int:
        """Return the number of arcs in a forest that spans the levels of some rows."""
        effects = self._effects
        parts, _ = connected_components(effects.arcs.of(rows).graph(effects.nodes), directed=False)
        return effects.nodes - int(parts)

    @cached_property
    def separated(self) -> Array:
        """Rows that are fitted perfectly in the limit."""
        return self._given.which[~self._effects.left]

    @cached_property
    def rest(self) -> Array:
        """Rows that still matter."""
        return self._given.which[self._effects.left]

    @cached_property
    def _whole(self) -> tuple[list[int], Any]:
        """A generic direction: coefficients of the columns, and potentials of the levels."""
        effects = self._effects
        gamma, pi, slack = [0] * effects.k, np.zeros(effects.nodes, dtype=object), np.zeros(effects.n, dtype=object)
        for each in reversed(effects.rounds):
            own = effects.slack(each.gamma, each.potentials).astype(object)
            times = 1
            for i in each.strict.tolist():
                if own[i] * times + slack[i] <= 0:
                    times = -slack[i] // own[i] + 1
            gamma = [times * a + b for a, b in zip(each.gamma, gamma, strict=True)]
            pi = pi + np.asarray(each.potentials).astype(object) * times
            slack = slack + own * times
        return gamma, pi

    @cached_property
    def direction(self) -> tuple[int, ...]:
        """The part of a generic direction that is about the listed columns."""
        gamma = self._whole[0]
        return tuple(g * s for g, s in zip(gamma[: self.listed], self._effects.design.scales, strict=False))

    @cached_property
    def coefficients(self) -> list[Coefficient]:
        """Name, status and, where there are any, the separated rows."""
        rows = tuple(self.separated.tolist())
        return [
            Coefficient(name, status, () if status in (FINITE, ALIASED) else rows)
            for name, status in zip(self.names, self.statuses, strict=True)
        ]

    @property
    def aliased(self) -> dict[str, dict[str, Fraction]]:
        """Columns that depend on the factors and on earlier columns."""
        return {
            n: {"the absorbed factors": Fraction(1)}
            for n, s in zip(self.names, self.statuses, strict=True)
            if s == ALIASED
        }

    def check(self, X: Any = None, y: Any = None, plain: bool = False, **others: Any) -> bool:  # noqa: ARG002
        """Return whether direction and closed walks prove the split into separated rows and the rest."""
        if X is not None or plain or others:
            raise DataError("", "a model with many absorbed levels can only be checked by check() without arguments")
        effects, (gamma, pi) = self._effects, self._whole
        arcs = effects.arcs
        own = arcs.first
        length = effects._exact_lengths(gamma).astype(object) * arcs.sign
        slack = length + pi[arcs.tail[own]] - pi[arcs.head[own]]
        if not ((slack > 0) == ~effects.left).all() or (slack < 0).any():
            return False
        left = arcs.of(effects.left)
        _, label = connected_components(left.graph(effects.nodes), directed=True, connection="strong")
        if (label[left.tail] != label[left.head]).any():
            return False
        return effects.k == 0 or not effects.left.any() or self._walks_span(left)

    def _walks_span(self, left: Any) -> bool:
        """Return whether closed walks cancel with positive multipliers, and span all closed walks of the rest."""
        effects = self._effects
        ids, multipliers = effects.face().contradiction
        walks = [effects.pool[i // 2] for i in ids.tolist()]
        vectors = [effects.vector(walk) for walk in walks]
        table = [whole(row) if any(row) else row for row in vectors]  # times positive numbers, as in the face
        total = [
            sum((m * row[j] for m, row in zip(multipliers, table, strict=True)), Fraction(0)) for j in range(effects.k)
        ]
        if any(total) or any(m <= 0 for m in multipliers) or not all(self._closed(walk) for walk in walks):
            return False
        basis = echelon_of(table, effects.k, effects.clock)
        free = [[int(basis[j, k]) for j in range(effects.k)] for k in range(basis.ncols())]
        return effects._moved(left, spanning_trees(left, effects.nodes, effects.clock), free) is None

    def _closed(self, walk: tuple[Array, Array]) -> bool:
        """Return whether rows of the rest, each in a direction that it allows, lead back to where they begin."""
        rows, signs = walk
        arcs, at, start = self._effects.arcs, None, None
        for i, sign in zip(rows.tolist(), signs.tolist(), strict=True):
            place = np.flatnonzero((arcs.row == i) & (arcs.direction == sign))
            if len(place) == 0 or not self._effects.left[i]:
                return False
            tail, head = int(arcs.tail[place[0]]), int(arcs.head[place[0]])
            start = tail if start is None else start
            if at is not None and at != tail:
                return False
            at = head
        return at == start

    def certificate(self) -> dict[str, Any]:
        """Refuse: the levels are too many for a document."""
        raise DataError("", "a model with absorbed factors has no proof file; list its factors in the formula")

    def status(self, c: Any) -> str:
        """Return the status of a listed coefficient."""
        if isinstance(c, str) and c in self.names:
            return self.statuses[self.names.index(c)]
        raise DataError("", "with many absorbed levels only the listed coefficients have a status")

    @property
    def estimable(self) -> list[dict[str, Fraction]]:
        """The listed coefficients that are finite."""
        return [{n: Fraction(1)} for n, s in zip(self.names, self.statuses, strict=True) if s == FINITE]

    def predict_status(self, X: Any) -> Array:  # noqa: ARG002
        """Refuse: a prediction would need the levels of new rows."""
        raise DataError("", "new rows need the levels of the absorbed factors: put the factors into the model instead")

    def refit(self) -> Refit:
        """Return the rows that are left, with the columns that are finite."""
        given = self._given
        kept = [n for n, s in zip(self.names, self.statuses, strict=True) if s == FINITE]
        places = [given.names.index(name) for name in kept]
        reasons = {n: s for n, s in zip(self.names, self.statuses, strict=True) if s != FINITE}
        dropped = dict.fromkeys(self.separated.tolist(), "separated: fitted perfectly in the limit")
        return Refit(self.rest, kept, given.X[self.rest][:, places], np.asarray(given.y)[self.rest], dropped, reasons)
