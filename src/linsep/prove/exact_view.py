"""The data seen exactly: unknowns ``u`` with weights ``basis u``, where ``basis`` is an integer matrix.

A change of basis restricts the planes (to those through given rows) or only shows the data in another light (nearly
dependent columns made orthogonal), and loses nothing: rows are multiplied out in integers before they become floats.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz, fmpz_mat, nmod_mat
from scipy.linalg import qr, solve_triangular

from linsep.problem import Array, Floats
from linsep.prove import algebra
from linsep.prove.algebra import Dependency, Tick
from linsep.prove.claims import Data, Separator, difference, exact_rows, signs
from linsep.prove.nearest_point import nearest_point
from linsep.prove.scaled import in_classes

_ROUNDS = 40  # working sets tried before stronger means
_LEVELS = 10  # lenses tried before the search goes on without floats


class Lens:
    """Exact inequalities in the unknowns ``u``; only those of ``open`` (n, classes) are asked for."""

    def __init__(self, data: Data, basis: Any, open_: Array) -> None:
        self.data, self.basis, self.open = data, basis, open_
        self.block = data.n_features + data.offset
        self.dimension = basis.ncols()
        self.column_exponents: Array | None = None

    def seconds(self, count: int) -> float:
        """Return about how long it takes to write out so many inequalities."""
        rows, columns = self.basis.nrows(), self.dimension
        bits = max((int(self.basis[j, k].bit_length()) for j in (0, rows - 1) for k in range(columns)), default=0)
        return float(count * columns * (1e-6 + 1e-10 * rows * (bits + 60)))

    def rows(self, ids: Array) -> Any:
        """Return inequalities as integer rows in the unknowns, each times a positive power of two."""
        return raw_rows(self.data, ids)[0] * self.basis

    def gather(self, ids: Array) -> Floats:
        """Return inequalities as float rows of size about 1, their columns scaled to a common size."""
        mantissas, exponents = _binary(self.rows(ids))
        used = mantissas != 0
        if self.column_exponents is None:
            median = [np.median(exponents[used[:, j], j]) if used[:, j].any() else 0 for j in range(self.dimension)]
            self.column_exponents = np.array(median, dtype=np.int64)
        exponents = np.where(used, exponents - self.column_exponents, -(10**9))
        tops = exponents.max(axis=1, initial=-(10**9))
        Z: Floats = np.ldexp(mantissas, np.maximum(exponents - tops[:, None], -2000).astype(np.int32))
        return Z

    def weights(self, u: Floats) -> Any:
        """Return the exact weights that float unknowns in the scaled columns stand for, times a positive number."""
        assert self.column_exponents is not None
        mantissas, exponents = np.frexp(u)
        places = exponents.astype(np.int64) - 53 - self.column_exponents
        lowest = int(places[mantissas != 0].min())
        whole = (mantissas * 2.0**53).astype(np.int64).tolist()
        v = [fmpz(a) << (int(p) - lowest) if a else fmpz(0) for a, p in zip(whole, places.tolist(), strict=True)]
        return self.basis * fmpz_mat(len(v), 1, v)

    def scaled(self, x: Any) -> Floats:
        """Return exact unknowns, a row, as floats in the scaled columns, times a positive number."""
        assert self.column_exponents is not None
        mantissas, exponents = _binary(x)
        exponents = np.where(mantissas != 0, exponents + self.column_exponents, -(10**9))
        u: Floats = np.ldexp(mantissas, np.maximum(exponents - exponents.max(), -2000).astype(np.int32))[0]
        return u

    def unmet(self, w: Any) -> Array:
        """Return the open inequalities that weights do not meet strictly."""
        return np.flatnonzero((pair_signs(self.data, w).ravel() <= 0) & self.open)

    def zoomed(self, u: Floats, critical: Array) -> Lens:
        """Return a lens with one unknown replaced by the length along ``u``, in which small products with ``u`` show.

        Of the ``critical`` inequalities, the products with ``u`` come out as large as their other entries.
        """
        assert self.column_exponents is not None
        j = int(np.abs(u).argmax())
        w = self.weights(u)
        basis = fmpz_mat(self.basis)
        for i in range(basis.nrows()):
            basis[i, j] = w[i, 0]
        lens = Lens(self.data, basis, self.open)
        mantissas, exponents = _binary(lens.rows(critical))
        used = mantissas != 0
        others = np.where(used, exponents - self.column_exponents, -(10**9))
        others[:, j] = -(10**9)
        seen = used[:, j] & (others.max(axis=1) > -(10**9))
        lens.column_exponents = self.column_exponents.copy()
        if seen.any():
            lens.column_exponents[j] = int(np.median(exponents[seen, j] - others[seen].max(axis=1)))
        return lens

    def whitened(self, Z: Floats) -> Lens:
        """Return a lens in whose unknowns the columns of ``Z``, as this one gathers them, are about orthonormal."""
        assert self.column_exponents is not None
        R, order = qr(Z, mode="r", pivoting=True)
        r = min(R.shape)
        R = R[:r, :r]
        size = np.abs(np.diag(R))
        R[np.diag_indices(r)] = np.where(size > 1e-15 * size.max(), np.diag(R), 1e-15 * size.max())
        T = np.zeros((self.dimension, self.dimension))
        T[order[:r], :r] = solve_triangular(R, np.eye(r))
        T[order[r:], np.arange(r, self.dimension)] = 1.0  # fewer rows than unknowns: the others stay as they are
        columns = [self.weights(T[:, k]) for k in range(self.dimension)]
        table = [[column[i, 0] for column in columns] for i in range(self.basis.nrows())]
        return Lens(self.data, fmpz_mat(table), self.open)


def raw_rows(data: Data, ids: Array) -> tuple[Any, list[int]]:
    """Return inequalities in the weights themselves as integer rows, and the power of two each was divided by."""
    matrix, shifts, _ = packed_rows(data, ids, range((data.classes - 1) * (data.n_features + data.offset)))
    return matrix, shifts


def packed_rows(data: Data, ids: Array, columns: Sequence[int] | None) -> tuple[Any, list[int], Sequence[int]]:
    """Return integer rows, exponents as ``raw_rows`` does, and the columns: those given, or those in use."""
    block = data.n_features + data.offset
    shifts, cells = [], []
    own, rival = data.y[ids // data.classes].tolist(), (ids % data.classes).tolist()
    for k, row in enumerate(exact_rows(data.rows, ids // data.classes, data.constant)):
        shifts.append(row.shift)
        for c, sign in ((own[k] - 1, 1), (rival[k] - 1, -1)):
            if c >= 0:
                cells += [(k, c * block + j, sign * v) for j, v in zip(row.columns, row.values, strict=True)]
    columns = columns if columns is not None else sorted({j for _, j, _ in cells})
    place = {column: position for position, column in enumerate(columns)}
    matrix = fmpz_mat(len(ids), len(columns))
    for k, j, value in cells:
        matrix[k, place[j]] = value
    return matrix, shifts, columns


def independent_columns(data: Data, tick: Tick) -> list[int]:
    """Return columns that all others depend on, the constant of the offset first: almost surely.

    What rows cancel in these, they cancel in all columns, so that no others are needed to decide.
    """
    cells: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for i, row in enumerate(exact_rows(data.rows, np.arange(len(data.y)), data.constant)):
        for j, value in zip(row.columns, row.values, strict=True):
            if value:
                cells[j].append((i, value % algebra.PRIME))
    kept: list[int] = []
    left = sorted(cells, key=lambda j: -len(cells[j]))  # the constant is nowhere zero, and the last of such columns
    left.sort(key=lambda j: j != data.constant)
    while left and len(kept) < len(data.y):
        size = max(64, len(data.y))
        some, left = kept + left[:size], left[size:]
        tick(1e-9 * len(data.y) ** 2 * len(some))
        table = nmod_mat(len(data.y), len(some), algebra.PRIME)
        for k, j in enumerate(some):
            for i, value in cells[j]:
                table[i, k] = value
        kept = [some[k] for k in algebra.leading(table)]
    return kept


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
# The search through a lens


def decide(lens: Lens, ids: Array, rng: np.random.Generator, tick: Tick) -> tuple[Any, Array, Dependency | None]:
    """Return exact weights that meet all open inequalities strictly, or inequalities with a positive dependency.

    Floats first, then floats on whitened rows, then zooming in on the plane that floats could not tell from a better
    one, at last Wolfe's algorithm without rounding, which always ends.
    """
    for level in range(_LEVELS):
        result = _chase(lens, ids, rng, tick)
        if result.certain:
            return result.w, result.ids, result.found
        ids = result.ids
        tick(lens.seconds(lens.dimension + len(ids)))
        lens = lens.whitened(lens.gather(ids)) if level == 0 else lens.zoomed(result.u, result.critical)
    near = nearest_point(lens.gather(ids))
    start, weights = near.support.tolist(), near.weights[near.support]
    while True:
        x, found = algebra.nearest(lens.rows(ids), start, weights, tick)
        if found is not None:
            return None, ids, found
        w = lens.basis * x.transpose()
        more = lens.unmet(w)
        if len(more) == 0:
            return w, ids, None
        ids = np.concatenate((ids, _some(lens, np.setdiff1d(more, ids), None, rng)))


class _Chase(NamedTuple):
    """How a search with floats ended: for certain, or at a plane ``u`` that critical inequalities are too close to."""

    certain: bool
    ids: Array
    w: Any = None
    found: Dependency | None = None
    u: Floats = np.empty(0)
    critical: Array = np.empty(0, dtype=np.intp)


def _chase(lens: Lens, ids: Array, rng: np.random.Generator, tick: Tick) -> _Chase:
    """Search with floats on a working set that grows by inequalities not met."""
    tick(lens.seconds(len(ids)))
    Z = lens.gather(ids)
    start: Floats | None = None
    for _ in range(_ROUNDS):
        tick(0.0)
        near = nearest_point(Z, start=start, tol=0.7)
        if not near.w.any() or not near.lowest > 0:
            support = ids[near.support]
            A = lens.rows(support)
            tick(algebra.seconds(A))
            found = algebra.dependency(A)
            if found is not None:
                return _Chase(True, support, found=found)
            x, found = algebra.lowest_point(A, near.weights[near.support], tick)
            if found is not None:
                return _Chase(True, support, found=found)
            return _Chase(False, ids, u=lens.scaled(x), critical=support)
        w = lens.weights(near.w)
        unmet = lens.unmet(w)
        if len(unmet) == 0:
            return _Chase(True, ids, w=w)
        more = np.setdiff1d(unmet, ids)
        if len(more) == 0:
            return _Chase(False, ids, u=near.w, critical=unmet)
        more = _some(lens, more, near.w, rng)
        ids, Z, start = np.concatenate((ids, more)), np.vstack((Z, lens.gather(more))), near.weights
    return _Chase(False, ids, u=near.w, critical=unmet)


def _some(lens: Lens, ids: Array, u: Floats | None, rng: np.random.Generator) -> Array:
    """Return so many of the inequalities as a round adds: the lowest of a random choice."""
    most = 2 * lens.dimension + 8
    if len(ids) > 4 * most:
        ids = np.sort(rng.choice(ids, 4 * most, replace=False))
    if len(ids) <= most or u is None:
        return ids[:most]
    heights = lens.gather(ids) @ u
    return ids[np.argpartition(heights, most)[:most]]
