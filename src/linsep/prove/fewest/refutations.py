"""The refutations known to the search: their items, their use at a node, their exact multipliers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import fmpz_mat

from linsep.clock import Clock  # without a limit: refutations have few rows
from linsep.problem import Array, Floats
from linsep.prove.core.constraints import integer_rows
from linsep.prove.core.scaled_view import raw_differences
from linsep.prove.fewest.items import Items
from linsep.prove.numbers import algebra, exact_solve

_SHORT = 10  # rows up to which integers of full length are as fast as digits found by floats


@dataclass(frozen=True, eq=False)
class Cut:
    """A conditional refutation: places in ``Items.ids`` with positive and with negative multipliers."""

    plus: Array
    minus: Array
    items: Array  # (k,) items of ``plus``, each once
    wrong: Array  # (k,) items of ``minus``, each once

    @property
    def key(self) -> tuple[bytes, bytes]:
        """The same for the same refutation."""
        return self.plus.tobytes(), self.minus.tobytes()


class Pool:
    """All refutations found so far, as flat arrays that a node can be compared with at once."""

    def __init__(self, items: Items) -> None:
        self.items = items
        self.cuts: list[Cut] = []
        self.known: dict[tuple[bytes, bytes], int] = {}
        self.exact: dict[int, list[int] | None] = {}  # multipliers by inequality, plus first; None: floats were wrong
        self._flat: tuple[Array, ...] = ()  # items of all refutations, and which of them each belongs to
        self._listed = -1

    def add(self, plus: Array, minus: Array) -> int:
        """Return the number of a refutation, new or not."""
        plus, minus = np.sort(plus), np.sort(minus)
        cut = Cut(plus, minus, np.unique(plus // self.items.V), np.unique(minus // self.items.V))
        number = self.known.setdefault(cut.key, len(self.cuts))
        if number == len(self.cuts):
            self.cuts.append(cut)
        return number

    def usable(self, state: Array) -> Array:
        """Return which refutations may be used where ``state`` is 1 for items held right, -1 wrong, 0 undecided."""
        plus, plus_of, minus, minus_of = self._arrays()
        usable = np.ones(len(self.cuts), dtype=bool)
        usable[plus_of[state[plus] < 0]] = False
        usable[minus_of[state[minus] >= 0]] = False
        for number, found in self.exact.items():
            if found is None:
                usable[number] = False
        return usable

    def covered(self, y: Floats, state: Array) -> Floats:
        """Return for every refutation how much of it ``y`` covers, rows held right left out."""
        plus, plus_of, _, _ = self._arrays()
        total = np.bincount(plus_of, weights=np.where(state[plus] == 0, y[plus], 0.0), minlength=len(self.cuts))
        return np.asarray(total, dtype=np.float64)

    def _arrays(self) -> tuple[Array, ...]:
        """Return the items of all refutations and whose they are: of those held right, then of those held wrong."""
        if self._listed != len(self.cuts):
            self._flat, self._listed = (), len(self.cuts)
            for parts in ([cut.items for cut in self.cuts], [cut.wrong for cut in self.cuts]):
                items = np.concatenate((np.zeros(0, dtype=np.intp), *parts)).astype(np.intp)
                self._flat += items, np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return self._flat

    def multipliers(self, number: int) -> list[int] | None:
        """Return exact multipliers of a refutation, plus before minus, or None if the floats were wrong."""
        if number not in self.exact:
            self.exact[number] = self._solved(self.cuts[number])
        return self.exact[number]

    def _solved(self, cut: Cut) -> list[int] | None:
        """Solve for multipliers of the right signs; 0 for rows that turn out not to be needed."""
        data = self.items.data
        places = np.concatenate((cut.plus, cut.minus))
        ids, signs = self.items.ids[places], np.where(np.arange(len(places)) < len(cut.plus), 1, -1)
        if len(ids) > _SHORT:
            X = raw_differences(data, ids) * signs[:, None]
            quick = exact_solve.dependency(X, np.ones(len(ids)), Clock())
            if quick is not None:
                exact = [0] * len(ids)
                for place, value in zip(quick.rows.tolist(), quick.multipliers, strict=True):
                    exact[place] = int(value) * int(signs[place])
                if self._cancels(ids, exact):
                    return algebra.primitive(exact)
        A, shifts = integer_rows(data, ids)
        turned = fmpz_mat([[int(sign) * v for v in row] for sign, row in zip(signs.tolist(), A.tolist(), strict=True)])
        found = algebra.dependency(turned) or algebra.nearest(turned, [], np.zeros(0), Clock())[1]
        if found is None:
            return None
        exact = [0] * len(ids)
        for place, value in zip(found.rows.tolist(), found.multipliers, strict=True):
            exact[place] = int(value) * int(signs[place])
        if not any(value > 0 for value in exact):
            return None
        highest = max(shifts)
        return algebra.primitive([value << (highest - shift) for value, shift in zip(exact, shifts, strict=True)])

    def _cancels(self, ids: Array, multipliers: list[int]) -> bool:
        """Return whether the rows as given cancel."""
        A, shifts = integer_rows(self.items.data, ids)
        lowest = min(shifts)
        factors = [value << (shift - lowest) for value, shift in zip(multipliers, shifts, strict=True)]
        return any(value > 0 for value in factors) and not any((fmpz_mat(1, len(factors), factors) * A).entries())
