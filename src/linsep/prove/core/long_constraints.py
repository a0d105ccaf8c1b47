"""Constraints of numbers that floats only come near to: floats search, and integers of few rows decide.

A decimal differs from its nearest double by at most half a unit in the last place, one more error in the bound on a
sum of products. So the signs of nearly all rows follow from floats; integers settle those in doubt, and are the rows of
every certificate.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpz_mat

from linsep.clock import Clock
from linsep.problem import Array, Dense, Floats
from linsep.prove.check.exact_signs import difference
from linsep.prove.claims import Data
from linsep.prove.core.constraints import Constraints, as_plane
from linsep.prove.core.scaled_view import WIDE, block_signs, differences
from linsep.prove.numbers import algebra
from linsep.prove.numbers.cells import ExactRows


class LongConstraints(Constraints):
    """Rows of two or more classes whose numbers, times the scale of their column, are integers of any length."""

    def __init__(
        self,
        exact: ExactRows,
        scales: list[int],
        data: Data,
        equal: Array | None = None,
        basis: Any = None,
        clock: Clock | None = None,
        wide: int = WIDE,
    ) -> None:
        super().__init__(data, equal, basis, clock, wide)
        self.exact, self.scales = exact, scales

    @classmethod
    def of(
        cls, exact: ExactRows, scaled: tuple[list[int], Floats], y: Array, classes: int, offset: bool, equal: Any = None
    ) -> LongConstraints:
        """Return the constraints of rows of some classes, given their scales and the doubles near to the integers."""
        scales, near = scaled
        near.flags.writeable = False
        return cls(exact, scales, Data(Dense(near), y.astype(np.intp), near.shape[1], classes, offset), equal)

    def through(self, M: Any) -> Constraints:
        """Return the same constraints in other unknowns, of which ``M`` makes the present ones."""
        basis = M if self.basis is None else self.basis * M
        return LongConstraints(self.exact, self.scales, self.data, self.equal, basis, self.clock)

    def rows(self, ids: Array) -> tuple[Any, list[int]]:
        """Return rows as integers in the unknowns."""
        self.clock.check()
        if len(ids) == 0:
            return fmpz_mat(0, self.unknowns), []
        rows = self.exact.exact(ids // self.classes)
        numbers = np.ones((len(ids), self.block), dtype=object)
        for k, row in enumerate(rows):
            ratios = (value.as_integer_ratio() for value in row)
            numbers[k, : len(row)] = [p * (scale // q) for (p, q), scale in zip(ratios, self.scales, strict=True)]
        matrix = algebra.matrix(differences(numbers, block_signs(ids, self.data.y, self.classes)))
        return (matrix if self.basis is None else matrix * self.basis), [0] * len(ids)

    def signs(self, g: Any) -> Array:
        """Return by number the exact sign of every row on unknowns, a column; 0 for the own class."""
        self.clock.check()
        data = self.data
        W, b = as_plane(data, self.weights(g)).per_class()
        full, sides = np.column_stack((W, b)), np.zeros((self.n, self.classes), dtype=np.int8)
        for own in range(self.classes):
            members = np.flatnonzero(data.y == own)
            for rival in range(self.classes):
                if rival != own and len(members):
                    normal = difference(full[own], full[rival]).tolist()
                    unscaled = [Fraction(v) * scale for v, scale in zip(normal, [*self.scales, 1], strict=True)]
                    sides[members, rival] = self.exact.signs(members, np.array(unscaled, dtype=object), self.clock)
        return sides.ravel()

    def vanish(self, V: Any) -> Array:
        """Return by number which rows are zero on all columns of a matrix: almost surely, by a random combination."""
        factors = self.rng.integers(1, 2**62, V.ncols()).tolist()
        return np.asarray(self.signs(V * algebra.one_column(factors)) == 0)

    def dependency(self, ids: Array, _weights: Floats) -> tuple[Array, list[Fraction]] | None:
        """Return positive multipliers of rows that are independent but for one relation; those of multiplier 0 go."""
        A, _ = self.rows(ids)
        self.clock.check(algebra.operations(A))
        found = algebra.dependency(A)
        return None if found is None else (ids[found.rows], [Fraction(value) for value in found.multipliers])
