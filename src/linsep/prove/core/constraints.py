"""Inequalities ``z·g >= 0`` and equations ``z·g = 0`` about one vector ``g``: their exact rows, exact signs, floats.

Rows are data of two or more classes, never copied or rounded. Row ``i`` of class ``c`` asks of the weights ``W`` (one
vector a class) that ``(W[c] - W[r])·x_i >= 0`` for each rival ``r`` (Kesler's construction; Duda & Hart 1973, section
5.12): the inequality of number ``i * classes + r``. Only differences of weights count, so those of class 0 are fixed
at zero: ``classes - 1`` blocks of unknowns remain, one weight per feature and an offset each. Of two classes the row
is ``±(x, 1)``; the sign is the class. Rows marked ``equal`` are equations.

Unknowns are the weights themselves or, through an integer ``basis``, what the weights are made of: differences of two
rows (``(g, -g)`` on the two side by side) and numbers too long for one cell (a high and a low part) stay exact so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from flint import fmpz_mat

from linsep.clock import Clock
from linsep.data.arrays import to_floats
from linsep.data.cache import renumbered, some_rows
from linsep.learn.evaluation import scores
from linsep.problem import Array, Dense, Floats, Rows, Sparse, take
from linsep.prove.check.exact_signs import sides, signs
from linsep.prove.check.fast_check import separates
from linsep.prove.check.integers import WORD, Normal, aligned, over_common
from linsep.prove.claims import Data, Separator
from linsep.prove.core.scaled_view import (
    WIDE,
    ScaledView,
    as_separator,
    block_signs,
    differences,
    on_grid,
    raw_differences,
)
from linsep.prove.linear_algebra import algebra, exact_solve
from linsep.prove.linear_algebra.modular import vanishing
from linsep.prove.numbers.cells import ExactRows

_FEW_ROWS = 14  # that integers solve as fast as floats and a lift do, for which SciPy must be loaded
_SPARE = 16  # rows beyond the rank that a sample has
_ELIMINATED = 0.3  # operations of elimination modulo a prime for every row, column, and column again


class Constraints:
    """Rows, which of them are equations, and the unknowns that their weights are made of."""

    is_stored = True  # whether the data are the rows themselves, not doubles near to them

    def __init__(
        self, data: Data, equal: Array | None = None, basis: Any = None, clock: Clock | None = None, wide: int = WIDE
    ) -> None:
        self.data, self.basis, self.clock, self.wide = data, basis, clock or Clock(), wide
        self.classes, self.n = data.classes, len(data.y)
        self.equal = np.zeros(self.n, dtype=bool) if equal is None else equal
        self.block = data.n_features + data.offset
        self.unknowns = int(basis.ncols()) if basis is not None else (data.classes - 1) * self.block
        self.best: tuple[Floats, Array, Floats] | None = None  # the last float plane, and the slacks that hold it
        self.cancel: tuple[Array, Floats] | None = None  # inequalities that about cancel, with their weights
        self.of_newton: tuple[Any] | None = None  # what truncated Newton said of all rows, once it was asked
        self.no_margin = 0.0  # as a share of the largest row: a bound on all margins that need not be any lower

    # -----------------------------------------------------------------------------------------------------------
    # Numbers of inequalities

    @cached_property
    def rng(self) -> np.random.Generator:
        """Random numbers, the same every time."""
        return np.random.default_rng(0)

    @cached_property
    def ids(self) -> Array:
        """The numbers of all inequalities and equations."""
        if self.classes == 2:
            return np.arange(self.n) * 2 + 1 - self.data.y
        return np.flatnonzero(np.tile(np.arange(self.classes), self.n) != np.repeat(self.data.y, self.classes))

    @cached_property
    def zero_rows(self) -> Array:
        """Which rows of the data are zero in every column, so that they are zero on all unknowns."""
        rows = self.data.rows
        if self.data.offset:
            return np.zeros(self.n, dtype=bool)
        if isinstance(rows, Dense):
            return np.asarray(~rows.data.any(axis=1))
        lines = np.repeat(np.arange(self.n), np.diff(rows.indptr).astype(np.intp))
        return np.asarray(np.bincount(lines[rows.data != 0], minlength=self.n) == 0)

    @cached_property
    def most_rank(self) -> int:
        """The unknowns but those of dense columns that are zero in every row: the rank of the rows is no larger."""
        rows = self.data.rows
        if self.basis is not None or not isinstance(rows, Dense):
            return self.unknowns
        some = np.flatnonzero(~rows.data[:: max(1, self.n // 512)].any(axis=0))
        empty = sum(not rows.data[:, j].any() for j in some.tolist())
        return (self.classes - 1) * (self.block - empty)

    @cached_property
    def live(self) -> Array:
        """By number: inequalities of rows that are not zero."""
        marked = np.zeros(self.n * self.classes, dtype=bool)
        marked[self.ids] = True
        table = marked.reshape(self.n, self.classes)
        table[self.equal | self.zero_rows] = False
        return marked

    def is_equation(self, ids: Array) -> Array:
        """Return which of the numbers are equations."""
        mask: Array = self.equal[ids // self.classes]
        return mask

    def sample(self, most: int, among: Array | None = None) -> Array:
        """Return at most ``most`` random inequalities, of those marked in ``among`` or of all."""
        if among is not None:
            ids = np.flatnonzero(among)
            return np.sort(self.rng.choice(ids, most, replace=False)) if len(ids) > most else ids
        if self.n * (self.classes - 1) <= most:
            return np.flatnonzero(self.live)
        few = self.n > most
        i = np.sort(self.rng.choice(self.n, most, replace=False)) if few else self.rng.integers(0, self.n, most)
        rival = (self.data.y[i] + self.rng.integers(1, self.classes, len(i))) % self.classes
        ids = i * self.classes + rival
        return ids if few else np.unique(ids)

    # -----------------------------------------------------------------------------------------------------------
    # Exact numbers

    def within(self, columns: list[int]) -> Constraints:
        """Return the same constraints with all unknowns but some set to zero."""
        if len(columns) == self.unknowns:
            return self
        if self.basis is None and isinstance(self.data.rows, Sparse) and self.classes == 2:
            features = np.array([j for j in columns if j < self.data.n_features], dtype=np.intp)
            position = np.full(self.data.n_features, -1, dtype=np.int64)
            position[features] = np.arange(len(features))
            rows = renumbered(self.data.rows, self.data.rows.indices, position)
            offset = len(features) < len(columns)
            data = self.data._replace(rows=rows, n_features=len(features), offset=offset)
            return Constraints(data, self.equal, None, self.clock, self.wide)
        identity = [int(i == j) for i in range(self.unknowns) for j in columns]
        return self.through(fmpz_mat(self.unknowns, len(columns), identity))

    def with_rows(self, which: Array) -> Constraints:
        """Return the constraints of some rows of data that are stored."""
        assert self.is_stored
        data = self.data._replace(rows=some_rows(self.data.rows, which), y=self.data.y[which])
        return Constraints(data, self.equal[which], self.basis, self.clock, self.wide)

    def through(self, M: Any) -> Constraints:
        """Return the same constraints in other unknowns, of which ``M`` makes the present ones."""
        return Constraints(self.data, self.equal, M if self.basis is None else self.basis * M, self.clock)

    def rows(self, ids: Array) -> tuple[Any, list[int]]:
        """Return rows as integers in the unknowns, each times a power of two, and the exponents left out."""
        self.clock.check()
        if len(ids) == 0:
            return fmpz_mat(0, self.unknowns), []
        matrix, shifts = integer_rows(self.data, ids)
        return (matrix if self.basis is None else matrix * self.basis), shifts

    def weights(self, g: Any) -> Any:
        """Return the weights in the columns of the data that unknowns, a column, stand for."""
        return g if self.basis is None else self.basis * g

    def signs(self, g: Any) -> Array:
        """Return by number the exact sign of every row on unknowns, a column; 0 for the own class."""
        self.clock.check()
        data, w = self.data, self.weights(g)
        return sides(as_plane(data, w), data.y, data.classes, partial(signs, data.rows)).ravel()

    def strict_plane(self, w: Floats) -> tuple[Any, Separator | None] | None:
        """Return exact unknowns near scaled weights that all rows but those of zeros are strictly above.

        And the plane, where the fast check has made sure of it. None if there are none.
        """
        fast = self.is_stored and not (self.equal.any() or self.zero_rows.any()) and self.basis is None
        for values in self.candidates(w):
            self.clock.check()
            floats = isinstance(values, np.ndarray)
            if floats and not np.isfinite(values).all():
                continue
            if fast:
                plane = as_separator(values, self.data) if floats else as_plane(self.data, values)
                if separates(plane, self.data, strictly=True):
                    return (algebra.column(values.ravel()) if floats else values), plane
            else:
                g = algebra.column(values.ravel()) if floats else values
                if (self.signs(g)[self.live] > 0).all():
                    return g, None
        return None

    def vanish(self, V: Any) -> Array:
        """Return by number which rows are zero on all columns of a matrix: almost surely, by a random combination."""
        self.clock.check()
        one = V * algebra.one_column(self.rng.integers(1, 2**62, V.ncols()).tolist())
        if not self.is_stored or self.data.rows.data.dtype == np.uint64:
            return np.asarray(self.signs(one) == 0)
        return vanishing(self.data, self.weights(one)).ravel()

    def span(self, ids: Array, order: list[int]) -> tuple[Array, list[int], Any]:
        """Return some rows that all of the given ones depend on, independent columns, and a basis of their null space.

        The columns are the first possible in ``order``; that all rows depend on the ones returned is almost sure.
        """
        q, rng = self.unknowns, self.rng
        chosen = ids if len(ids) <= 3 * q + _SPARE else np.sort(rng.choice(ids, q + _SPARE, replace=False))
        while True:
            A, _ = self.rows(chosen)
            columns, V = algebra.echelon(A, order, self.clock)
            if V.ncols() == 0 or len(chosen) == len(ids):
                return chosen, columns, V
            off = ids[~self.vanish(V)[ids]]
            if len(off) == 0:
                return chosen, columns, V
            chosen = chosen[algebra.first_independent(A)]
            most = V.ncols() + _SPARE
            chosen = np.concatenate((chosen, rng.choice(off, most, replace=False) if len(off) > most else off))

    # -----------------------------------------------------------------------------------------------------------
    # Floats: columns scaled, inequalities of size about 1; for constraints without a basis

    @cached_property
    def view(self) -> ScaledView:
        """The float view of the data."""
        assert self.basis is None
        return ScaledView(self.data, self.rng, self.wide)

    def refuse_not_finite(self) -> None:
        """Raise FloatingPointError if some value of the data is not finite."""
        if self.has_floats and not ("view" in vars(self) and self.view.all_finite):
            with np.errstate(all="ignore"):
                total = float(np.sum(self.data.rows.data, dtype=np.float64))
            if not math.isfinite(total):  # very large values may add up to infinity
                self.view.refuse_not_finite()

    def gather(self, ids: Array) -> Floats:
        """Return inequalities as float rows of size about 1, shape (m, unknowns)."""
        return self.view.gather(ids)

    def factors(self, ids: Array, Z: Floats) -> Floats:
        """Return by how much gathered rows were multiplied to have size about 1."""
        y, some, view = self.data.y, ids // self.classes, self.view
        x = to_floats(self.data.rows, some, self.data.n_features) * view.unit - view.center
        size = np.sqrt(np.einsum("ij,ij->i", x, x) + view.constant**2)
        blocks = (y[some] > 0).astype(np.float64) + (ids % self.classes > 0)
        return np.asarray(np.linalg.norm(Z, axis=1) / (size * np.sqrt(blocks)))

    def slacks(self, w: Floats) -> Floats:
        """Return by number every inequality under scaled weights, in sizes of its row."""
        view, data = self.view, self.data
        if self.classes == 2:
            by_number = np.zeros(2 * self.n)
            by_number[self.ids] = view.sweep(w)[0]
            return by_number
        W = np.vstack((np.zeros(self.block), w.reshape(self.classes - 1, self.block)))
        b = W[:, data.n_features] * view.constant if data.offset else np.zeros(len(W))
        V = W[:, : data.n_features]
        S = scores(data.rows, np.ascontiguousarray(V * view.unit), b - V @ view.center)
        true = S[np.arange(self.n), data.y]
        sizes = np.maximum(view.row_sizes(), 1e-300)  # a row of zeros is on every plane
        return np.asarray((true[:, None] - S) / sizes[:, None]).ravel()

    def lowest_slacks(self, w: Floats, among: Array | None) -> tuple[Floats, Array]:
        """Return for every row its lowest inequality of those marked (infinite if there is none), and its rival."""
        if among is None or self.classes == 2:
            low, rivals = self.view.sweep(w)
            if among is not None:
                low[~among.reshape(self.n, self.classes).any(axis=1)] = np.inf
            return low, rivals
        table = self.slacks(w).reshape(self.n, self.classes)
        table[~among.reshape(table.shape)] = np.inf
        rivals = table.argmin(axis=1)
        return table[np.arange(self.n), rivals], rivals

    @property
    def has_floats(self) -> bool:
        """Whether there is a float view."""
        return self.basis is None

    @property
    def wide_sparse(self) -> bool:
        """Whether rows are sparse with too many columns for working sets that are written out."""
        return self.view.wide

    def candidates(self, w: Floats) -> Iterator[Any]:
        """Yield unknowns near scaled weights: as floats, and as integers without any rounding."""
        W = self.view.raw(w)
        yield W if self.classes == 2 else on_grid(W)  # floats hold the differences of all classes
        if np.isfinite(w).all():
            yield algebra.one_column(over_common(self.view.exact(w))[0])

    def dependency(self, ids: Array, weights: Floats) -> tuple[Array, list[Fraction]] | None:
        """Return positive multipliers of rows that are independent but for one relation; those of multiplier 0 go."""
        stored = self.data.rows.data.dtype if self.is_stored else np.dtype(object)
        if len(ids) > _FEW_ROWS and (stored.itemsize < 8 or stored.kind == "f"):  # floats hold the rows
            rows = exact_solve.dependency(raw_differences(self.data, ids), weights, self.clock)
            if rows is not None:
                some = ids[rows.rows]
                A, shifts, _ = packed_rows(self.data, some)
                if cancels(A, shifts, rows.multipliers):
                    return some, [Fraction(value) for value in rows.multipliers]
        A, shifts = packed_rows(self.data, ids)[:2] if self.is_stored else self.rows(ids)
        rows = algebra.dependency(A, self.clock)
        if rows is None:
            return None
        kept = rows.rows.tolist()
        exact = [Fraction(v) / Fraction(2) ** shifts[k] for v, k in zip(rows.multipliers, kept, strict=True)]
        return ids[rows.rows], exact

    def exact_weights(self, w: Floats, bits: int | None = None) -> Any:
        """Return scaled weights as exact unknowns, a column; rounded to ``bits`` bits each, if given."""
        flat = self.view.raw(w).ravel()
        if not np.isfinite(flat).all():
            return None
        return algebra.column(flat if bits is None else rounded(flat, bits))


def cancels(A: Any, shifts: list[int], multipliers: list[int]) -> bool:
    """Return whether the sum of integer rows, each divided by a power of two, with multipliers vanishes."""
    factors = [value << (shift - min(shifts)) for value, shift in zip(multipliers, shifts, strict=True)]
    return bool(fmpz_mat(1, len(factors), factors) * A == fmpz_mat(1, A.ncols()))


class TableConstraints(Constraints):
    """Few rows written out as integers of any length; the number of a row is its place."""

    def __init__(self, table: Any, equal: Array | None = None, clock: Clock | None = None) -> None:
        self.table, self.clock = table, clock or Clock()
        self.basis, self.best = None, None
        self.n, self.unknowns, self.classes, self.block = table.nrows(), table.ncols(), 1, 0
        self.equal = np.zeros(self.n, dtype=bool) if equal is None else equal
        self.ids = np.arange(self.n)
        self.lines = table.tolist()
        self.zero_rows = np.array([not any(row) for row in self.lines], dtype=bool)
        self.live = ~(self.equal | self.zero_rows)
        numbers, exponents = algebra.binary(table)
        used = numbers != 0
        counts, largest = np.maximum(used.sum(axis=0), 1), exponents.max(axis=1, initial=0)
        sizes = np.where(used, exponents - largest[:, None], 0)  # rows may carry any factor
        self.column_exponents = np.rint(sizes.sum(axis=0) / counts).astype(np.int64)
        self.Z, self.tops = self._scaled(numbers, exponents)

    def _scaled(self, numbers: Floats, exponents: Array) -> tuple[Floats, Array]:
        """Return rows in scaled columns, of size about 1, and by which power of two each was divided."""
        used = numbers != 0
        exponents = np.where(used, exponents - self.column_exponents, -(10**9))
        tops = np.where(used.any(axis=1), exponents.max(axis=1, initial=-(10**9)), 0)
        return np.ldexp(numbers, np.maximum(exponents - tops[:, None], -2000).astype(np.int32)), tops

    def with_row(self, row: list[int]) -> TableConstraints:
        """Return the same rows and one more inequality."""
        more = copy(self)
        line = fmpz_mat([row])
        Z, tops = self._scaled(*algebra.binary(line))
        more.n, more.ids, more.best = self.n + 1, np.arange(self.n + 1), None
        more.table, more.lines = None, [*self.lines, *line.tolist()]
        more.equal = np.append(self.equal, False)
        more.zero_rows = np.append(self.zero_rows, not any(row))
        more.live = np.append(self.live, any(row))
        more.Z, more.tops = np.vstack((self.Z, Z)), np.append(self.tops, tops)
        return more

    has_floats, wide_sparse, is_stored = True, False, False

    def refuse_not_finite(self) -> None:
        """Integers are finite."""

    def _whole(self) -> Any:
        if self.table is None:
            self.table = fmpz_mat(self.lines)
        return self.table

    def within(self, columns: list[int]) -> Constraints:
        """Return the same constraints with all unknowns but some set to zero."""
        return TableConstraints(algebra.select(self._whole(), list(range(self.n)), columns), self.equal, self.clock)

    def rows(self, ids: Array) -> tuple[Any, list[int]]:
        """Return rows as integers, which they are."""
        self.clock.check()
        if len(ids) == 0:
            return fmpz_mat(0, self.unknowns), []
        return fmpz_mat([self.lines[k] for k in ids.tolist()]), [0] * len(ids)

    def signs(self, g: Any) -> Array:
        """Return the exact sign of every row on unknowns, a column."""
        return np.array([(v > 0) - (v < 0) for (v,) in (self._whole() * g).tolist()], dtype=np.int8)

    def vanish(self, V: Any) -> Array:
        """Return which rows are zero on all columns of a matrix."""
        return np.array([not any(row) for row in (self._whole() * V).tolist()], dtype=bool)

    def gather(self, ids: Array) -> Floats:
        """Return rows as floats of size about 1."""
        return self.Z[ids]

    def factors(self, ids: Array, _Z: Floats) -> Floats:
        """Return by how much gathered rows were multiplied, but for one factor."""
        powers = np.clip(self.tops.min(initial=0) - self.tops[ids], -1000, 0)
        return np.asarray(np.ldexp(np.ones(len(ids)), powers.astype(np.int32)))

    def slacks(self, w: Floats) -> Floats:
        """Return every inequality under scaled weights."""
        return np.asarray(self.Z @ w)

    def lowest_slacks(self, w: Floats, among: Array | None) -> tuple[Floats, Array]:
        """Return every inequality of those marked, infinite for the others."""
        low = self.slacks(w)
        return low if among is None else np.where(among, low, np.inf), np.zeros(self.n, np.intp)

    def sample(self, most: int, among: Array | None = None) -> Array:
        """Return at most ``most`` random inequalities, of those marked in ``among`` or of all."""
        return super().sample(most, self.live if among is None else among)

    def candidates(self, w: Floats) -> Iterator[Any]:
        """Yield exact unknowns near scaled weights, of few digits first."""
        if np.isfinite(w).all():
            for bits in (1, 2, 4, 8, 16, 30):
                yield self.exact_weights(np.rint(np.ldexp(w / np.abs(w).max(), bits)))
            yield self.exact_weights(w)

    def exact_weights(self, w: Floats, bits: int | None = None) -> Any:
        """Return scaled weights as exact unknowns, a column; rounded to ``bits`` bits each, if given."""
        if not np.isfinite(w).all():
            return None
        return algebra.column(w if bits is None else rounded(w, bits), -self.column_exponents)


class LongConstraints(Constraints):
    """Rows of two or more classes whose numbers, times the scale of their column, are integers of any length.

    Floats search, and integers of few rows decide. A decimal differs from its nearest double by at most half a unit in
    the last place, one more error in the bound on a sum of products: the signs of nearly all rows follow from floats.
    """

    is_stored = False

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

        def signs_of(some: Array, normal: Normal) -> Array:
            unscaled = [Fraction(v) * scale for v, scale in zip(normal.w.tolist(), [*self.scales, 1], strict=True)]
            return self.exact.signs(some, np.array(unscaled, dtype=object), self.clock)

        return sides(as_plane(self.data, self.weights(g)), self.data.y, self.classes, signs_of).ravel()


def rounded(values: Floats, bits: int) -> Floats:
    """Return floats rounded to ``bits`` binary digits."""
    fractions, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(fractions, bits)), exponents - bits))


def as_plane(data: Data, w: Any) -> Separator:
    """Return exact weights, an integer column, as a Separator: of floats if that loses nothing, else of fractions."""
    values = algebra.primitive(algebra.entries(w))
    top = max((abs(value).bit_length() for value in values), default=0)
    shift = max(0, top - 1000)
    trailing = [max(0, (value & -value).bit_length() - 1) for value in values]
    pairs = list(zip(values, trailing, strict=True))
    if all(abs(value) >> z < 1 << 53 and (value == 0 or z - shift >= -1074) for value, z in pairs):
        table: Array = np.array([math.ldexp(value >> z, z - shift) for value, z in pairs])
    else:
        table = np.array([Fraction(value, 1 << shift) for value in values], dtype=object)
    return as_separator(table.reshape(data.classes - 1, data.n_features + data.offset), data)


# ---------------------------------------------------------------------------------------------------------------
# Rows as integers


def integer_rows(data: Data, ids: Array) -> tuple[Any, list[int]]:
    """Return inequalities in the weights themselves as integer rows, and the power of two each was divided by."""
    numbers, shifts = _whole(data.rows, ids // data.classes, np.arange(data.n_features), data.offset)
    return algebra.matrix(differences(numbers, block_signs(ids, data.y, data.classes))), shifts


def packed_rows(data: Data, ids: Array) -> tuple[Any, list[int], Array]:
    """Return integer rows and powers of two as ``integer_rows`` does, in the columns in use, and these."""
    part = take(data.rows, ids // data.classes)
    if isinstance(part, Sparse):
        used = np.unique(part.indices).astype(np.intp)
    else:
        used = np.flatnonzero(part.data.any(axis=0))
    numbers, shifts = _whole(part, np.arange(len(ids)), used, data.offset)
    block = np.append(used, data.n_features) if data.offset else used
    columns = np.arange(data.classes - 1)[:, None] * (data.n_features + data.offset) + block
    return algebra.matrix(differences(numbers, block_signs(ids, data.y, data.classes))), shifts, columns.ravel()


def _whole(rows: Rows, which: Array, columns: Array, offset: bool) -> tuple[Array, list[int]]:
    """Return some rows in some columns as integers, each times a power of two, and these: int64 if they fit into it."""
    part = take(rows, which)
    if isinstance(part, Dense):
        cells = part.data[:, columns]
    else:
        cells = np.zeros((len(which), len(columns)), dtype=part.data.dtype)
        lines = np.repeat(np.arange(len(which)), np.diff(part.indptr).astype(np.intp))
        position = np.searchsorted(columns, part.indices.astype(np.int64))
        there = columns[np.minimum(position, len(columns) - 1)] == part.indices if len(columns) else position < 0
        cells[lines[there], position[there]] = part.data[there]
    if cells.dtype.kind != "f":
        numbers = cells.astype(np.int64 if cells.dtype.itemsize < 8 else object)  # -2**63 has no opposite
        return (np.column_stack((numbers, np.ones(len(cells), numbers.dtype))) if offset else numbers), [0] * len(cells)
    digits, up, shifts, longest = aligned(cells, offset)
    if longest.max(initial=0) < WORD:
        numbers = digits << up
        ones = np.left_shift(1, -shifts) if offset else None
    else:
        numbers = digits.astype(object) << up.astype(object)
        ones = np.array([1 << -int(shift) for shift in shifts], dtype=object) if offset else None
    return (numbers if ones is None else np.column_stack((numbers, ones))), shifts.tolist()


def independent_columns(data: Data, clock: Clock) -> Array:
    """Return features that, with the constant of the offset, all others depend on: almost surely.

    What rows cancel in these, they cancel in all columns, so that no others are needed to decide.
    """
    n = len(data.y)
    kept = np.empty(0, np.intp)
    if isinstance(data.rows, Sparse):  # the fullest first
        left = np.argsort(-np.bincount(data.rows.indices.astype(np.intp), minlength=data.n_features), kind="stable")
    else:
        left = np.arange(data.n_features)
    everyone = np.arange(n)
    while len(left) and len(kept) < n:
        size = max(64, n)
        some, left = np.concatenate((kept, left[:size])), left[size:]
        order = np.argsort(some)
        numbers, _ = _whole(data.rows, everyone, some[order], data.offset)
        back = np.argsort(order)
        matrix = algebra.matrix(numbers[:, np.append(len(back), back) if data.offset else back])
        clock.count(_ELIMINATED * n * matrix.ncols() * min(n, matrix.ncols()))
        independent = algebra.first_independent(matrix.transpose())
        kept = some[[k - data.offset for k in independent if k >= data.offset]]
    return np.sort(kept)
