"""Constraints of numbers that floats only come near to: floats search, and integers of few rows decide.

A decimal differs from its nearest double by at most half a unit in the last place, one more error in the bound on a
sum of products. So the signs of nearly all rows follow from floats; integers settle those in doubt, and are the rows of
every certificate.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import fmpz_mat

from linsep.clock import Clock
from linsep.problem import Array, Dense, Floats
from linsep.prove.check.exact_signs import difference, signs
from linsep.prove.claims import Data
from linsep.prove.core.constraints import Constraints, as_plane
from linsep.prove.core.scaled_view import WIDE, block_signs, differences
from linsep.prove.exact import algebra
from linsep.prove.numbers.exact_rows import ExactRows


class LongConstraints(Constraints):
    """Rows of two or more classes whose exact numbers are integers of any length."""

    def __init__(
        self,
        exact: ExactRows,
        data: Data,
        equal: Array | None = None,
        basis: Any = None,
        clock: Clock | None = None,
        wide: int = WIDE,
    ) -> None:
        super().__init__(data, equal, basis, clock, wide)
        self.exact = exact

    @classmethod
    def of(cls, exact: ExactRows, y: Array, classes: int, offset: bool, equal: Array | None = None) -> LongConstraints:
        """Return the constraints of rows of some classes."""
        near = exact.near
        near.flags.writeable = False
        return cls(exact, Data(Dense(near), y.astype(np.intp), near.shape[1], classes, offset), equal)

    def through(self, M: Any) -> Constraints:
        """Return the same constraints in other unknowns, of which ``M`` makes the present ones."""
        basis = M if self.basis is None else self.basis * M
        return LongConstraints(self.exact, self.data, self.equal, basis, self.clock)

    def rows(self, ids: Array) -> tuple[Any, list[int]]:
        """Return rows as integers in the unknowns."""
        self.clock.check()
        if len(ids) == 0:
            return fmpz_mat(0, self.unknowns), []
        numbers = self.exact.integers(ids // self.classes)
        if self.data.offset:
            numbers = np.column_stack((numbers, np.full(len(ids), 1, dtype=object)))
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
                    normal = difference(full[own], full[rival])
                    sides[members, rival] = signs(data.rows, members, normal, partial(self._settled, normal))
        return sides.ravel()

    def _settled(self, normal: Array, which: Array) -> Array:
        """Return the signs of rows in integers."""
        v = [Fraction(value) for value in normal.tolist()]
        found = np.empty(len(which), dtype=np.int8)
        for start in range(0, len(which), _TOGETHER):
            self.clock.check()
            for k, row in enumerate(self.exact.integers(which[start : start + _TOGETHER]).tolist(), start):
                total = sum((a * x for a, x in zip(v, row, strict=False) if a and x), v[-1])
                found[k] = (total > 0) - (total < 0)
        return found

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


_TOGETHER = 1000  # rows in integers
