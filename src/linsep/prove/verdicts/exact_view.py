"""The data in exact coordinates: unknowns ``u`` with weights ``basis u``, an integer matrix.

A change of basis restricts the planes (to those through given rows) or only shows the data in another light (nearly
dependent columns made orthogonal), and loses nothing: rows are multiplied out in integers before they become floats.
"""

from __future__ import annotations

import math
from copy import copy
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz_mat

from linsep.clock import Clock
from linsep.data.threads import scipy_linalg
from linsep.problem import Array, Floats
from linsep.prove.check.exact_signs import difference, signs
from linsep.prove.claims import Data, Separator
from linsep.prove.exact import algebra
from linsep.prove.exact.algebra import Dependency
from linsep.prove.verdicts.integer_rows import integer_rows
from linsep.prove.verdicts.nearest_point import nearest_plane, nearest_point
from linsep.prove.verdicts.scaled import in_classes

_ROUNDS = 40  # working sets tried before stronger means


class ExactView:
    """Exact inequalities in the unknowns ``u``; only those of ``open`` (n, classes) are asked for."""

    def __init__(self, data: Data, basis: Any, open_: Array, clock: Clock) -> None:
        self.data, self.basis, self.open, self.clock = data, basis, open_, clock
        self.block = data.n_features + data.offset
        self.dimension = basis.ncols()
        self.column_exponents: Array | None = None

    def _seconds(self, count: int) -> float:
        """Return about how long it takes to write out this number of inequalities."""
        rows, columns = self.basis.nrows(), self.dimension
        bits = max((int(self.basis[j, k].bit_length()) for j in (0, rows - 1) for k in range(columns)), default=0)
        return float(count * columns * (1e-6 + 1e-10 * rows * (bits + 60)))

    def rows(self, pairs: Array) -> Any:
        """Return inequalities as integer rows in the unknowns, each times a positive power of two."""
        self.clock.check(self._seconds(len(pairs)))
        return integer_rows(self.data, pairs, self.clock)[0] * self.basis

    def gather(self, pairs: Array) -> Floats:
        """Return inequalities as float rows of size about 1, their columns scaled to a common size."""
        numbers, exponents = _binary(self.rows(pairs))
        used = numbers != 0
        if self.column_exponents is None:
            median = [np.median(exponents[used[:, j], j]) if used[:, j].any() else 0 for j in range(self.dimension)]
            self.column_exponents = np.array(median, dtype=np.int64)
        exponents = np.where(used, exponents - self.column_exponents, -(10**9))
        tops = exponents.max(axis=1, initial=-(10**9))
        Z: Floats = np.ldexp(numbers, np.maximum(exponents - tops[:, None], -2000).astype(np.int32))
        return Z

    def weights(self, u: Floats) -> Any:
        """Return the exact weights that float unknowns in the scaled columns stand for, times a positive number."""
        assert self.column_exponents is not None
        return self.basis * algebra.column(u, -self.column_exponents)

    def scaled(self, x: Any) -> Floats:
        """Return exact unknowns, a row, as floats in the scaled columns, times a positive number."""
        assert self.column_exponents is not None
        numbers, exponents = _binary(x)
        exponents = np.where(numbers != 0, exponents + self.column_exponents, -(10**9))
        u: Floats = np.ldexp(numbers, np.maximum(exponents - exponents.max(), -2000).astype(np.int32))[0]
        return u

    def unmet(self, w: Any) -> Array:
        """Return the open inequalities that weights do not meet strictly."""
        return np.flatnonzero((pair_signs(self.data, w).ravel() <= 0) & self.open)

    def zoomed(self, u: Floats, critical: Array) -> ExactView:
        """Return a view with one unknown replaced by the length along ``u``, in which small products with ``u`` show.

        Of the ``critical`` inequalities, the products with ``u`` come out as large as their other entries.
        """
        assert self.column_exponents is not None
        j = int(np.abs(u).argmax())
        w = self.weights(u)
        basis = fmpz_mat(self.basis)
        for i in range(basis.nrows()):
            basis[i, j] = w[i, 0]
        view = self.through(basis)
        numbers, exponents = _binary(view.rows(critical))
        used = numbers != 0
        others = np.where(used, exponents - self.column_exponents, -(10**9))
        others[:, j] = -(10**9)
        seen = used[:, j] & (others.max(axis=1) > -(10**9))
        view.column_exponents = self.column_exponents.copy()
        if seen.any():
            view.column_exponents[j] = int(np.median(exponents[seen, j] - others[seen].max(axis=1)))
        return view

    def whitened(self, Z: Floats) -> ExactView:
        """Return a view in whose unknowns the columns of ``Z``, as this one gathers them, are about orthonormal."""
        assert self.column_exponents is not None
        R, order = scipy_linalg().qr(Z, mode="r", pivoting=True)
        r = min(R.shape)
        R = R[:r, :r]
        size = np.abs(np.diag(R))
        R[np.diag_indices(r)] = np.where(size > 1e-15 * size.max(), np.diag(R), 1e-15 * size.max())
        T = np.zeros((self.dimension, self.dimension))
        T[order[:r], :r] = scipy_linalg().solve_triangular(R, np.eye(r))
        T[order[r:], np.arange(r, self.dimension)] = 1.0  # fewer rows than unknowns: the others stay as they are
        self.clock.check(self._seconds(self.dimension))
        columns = [self.weights(T[:, k]) for k in range(self.dimension)]
        table = [[column[i, 0] for column in columns] for i in range(self.basis.nrows())]
        return self.through(fmpz_mat(table))

    def through(self, basis: Any) -> ExactView:
        """Return a view of the same inequalities in other unknowns."""
        view = copy(self)
        view.basis, view.dimension, view.column_exponents = basis, basis.ncols(), None
        return view


def whole_basis(data: Data) -> Any:
    """Return the identity: all weights are unknowns."""
    size = (data.classes - 1) * (data.n_features + data.offset)
    basis = fmpz_mat(size, size)
    for j in range(size):
        basis[j, j] = 1
    return basis


def as_plane(data: Data, w: Any) -> Separator:
    """Return exact weights as a Separator of fractions, or of floats if that changes nothing."""
    block = data.n_features + data.offset
    values = [int(w[j, 0]) for j in range(w.nrows())]
    divisor = math.gcd(*values) or 1
    values = [value // divisor for value in values]
    scale = max(0, max(abs(value).bit_length() for value in values) - 1000)
    table = np.array([Fraction(value, 1 << scale) for value in values], dtype=object).reshape(data.classes - 1, block)
    try:
        nearest = table.astype(np.float64)
        if all(Fraction(a) == c for a, c in zip(nearest.ravel().tolist(), table.ravel().tolist(), strict=True)):
            table = nearest
    except OverflowError:
        pass
    zero = np.zeros(data.classes - 1) if table.dtype != object else np.full(data.classes - 1, Fraction(0), dtype=object)
    return in_classes(table[:, : data.n_features], table[:, -1] if data.offset else zero, data)


def pair_signs(data: Data, w: Any) -> Array:
    """Return the exact sign of every inequality, shape (n, classes); 1 in the place of the own class."""
    W, b = as_plane(data, w).per_class()
    sides = np.ones((len(data.y), data.classes), dtype=np.int8)
    for own in range(data.classes):
        members = np.flatnonzero(data.y == own)
        for rival in range(data.classes):
            if rival != own and len(members):
                normal = difference(np.append(W[own], b[own]), np.append(W[rival], b[rival]))
                sides[members, rival] = signs(data.rows, members, normal)
    return sides


def _binary(M: Any) -> tuple[Floats, Array]:
    """Return mantissas in ±[1/2, 1] and exponents of the entries of an integer matrix."""
    mantissas, exponents = np.zeros((M.nrows(), M.ncols())), np.zeros((M.nrows(), M.ncols()), dtype=np.int64)
    for i, row in enumerate(M.tolist()):
        for j, value in enumerate(row):
            if value:
                number = int(value)
                size = number.bit_length()
                mantissas[i, j] = math.ldexp(number >> (size - 64), -64) if size > 64 else math.ldexp(number, -size)
                exponents[i, j] = size
    return mantissas, exponents


# ---------------------------------------------------------------------------------------------------------------
# The search through a view


def decide(
    view: ExactView, pairs: Array, rng: np.random.Generator, levels: int
) -> tuple[Any, Array, Dependency | None]:
    """Return exact weights that meet all open inequalities strictly, or inequalities with a positive dependency.

    Floats first, then floats on whitened rows, then zooming in on the plane that floats could not tell from a better
    one, in up to ``levels`` levels; at last Wolfe's algorithm without rounding, which always ends.
    """
    for level in range(levels):
        view.clock.check()
        result = _chase(view, pairs, rng)
        if result.certain:
            return result.w, result.pairs, result.found
        pairs = result.pairs
        view = view.whitened(view.gather(pairs)) if level == 0 else view.zoomed(result.u, result.critical)
    near = nearest_point(view.gather(pairs), clock=view.clock)
    start, weights = near.support.tolist(), near.weights[near.support]
    while True:
        x, found = algebra.nearest(view.rows(pairs), start, weights, view.clock)
        if found is not None:
            return None, pairs, found
        w = view.basis * x.transpose()
        more = view.unmet(w)
        if len(more) == 0:
            return w, pairs, None
        pairs = np.concatenate((pairs, _some(view, np.setdiff1d(more, pairs), None, rng)))


class _Chase(NamedTuple):
    """How a search with floats ended: for certain, or at a plane ``u`` that critical inequalities are too close to."""

    certain: bool
    pairs: Array
    w: Any = None
    found: Dependency | None = None
    u: Floats = np.empty(0)
    critical: Array = np.empty(0, dtype=np.intp)


def _chase(view: ExactView, pairs: Array, rng: np.random.Generator) -> _Chase:
    """Search with floats on a working set that grows by inequalities not met."""
    Z = view.gather(pairs)
    start: Floats | None = None
    for _ in range(_ROUNDS):
        near = nearest_plane(Z, start, view.clock)
        if not near.w.any() or not near.lowest > 0:
            support = pairs[near.support]
            A = view.rows(support)
            view.clock.check(algebra.seconds(A))
            found = algebra.dependency(A)
            if found is not None:
                return _Chase(True, support, found=found)
            x, found = algebra.lowest_point(A, near.weights[near.support], view.clock)
            if found is not None:
                return _Chase(True, support, found=found)
            return _Chase(False, pairs, u=view.scaled(x), critical=support)
        w = view.weights(near.w)
        unmet = view.unmet(w)
        if len(unmet) == 0:
            return _Chase(True, pairs, w=w)
        more = np.setdiff1d(unmet, pairs)
        if len(more) == 0:
            return _Chase(False, pairs, u=near.w, critical=unmet)
        more = _some(view, more, near.w, rng)
        pairs, Z, start = np.concatenate((pairs, more)), np.vstack((Z, view.gather(more))), near.weights
    return _Chase(False, pairs, u=near.w, critical=unmet)


def _some(view: ExactView, pairs: Array, u: Floats | None, rng: np.random.Generator) -> Array:
    """Return the inequalities that a round adds: the lowest of a random choice."""
    most = 2 * view.dimension + 8
    if len(pairs) > 4 * most:
        pairs = np.sort(rng.choice(pairs, 4 * most, replace=False))
    if len(pairs) <= most or u is None:
        return pairs[:most]
    heights = view.gather(pairs) @ u
    return pairs[np.argpartition(heights, most)[:most]]
