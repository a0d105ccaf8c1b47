"""The search for a verdict: cheap means first, stronger ones where the exact check says no.

1. Floats on a working set: a plane above some rows, a pass over all rows, add the lowest ones. All rows above the
   plane: a candidate separator. No plane above those in the set: candidate multipliers, made exact. By Newton's method
   (``newton``) where there are many more rows than columns; by Wolfe's nearest point (``hull``), which is surer.
2. The same through an exact lens, and in the end Wolfe's algorithm in rational numbers, which cannot fail.
3. Not separable: every plane that is weakly right holds the contradicting rows. Restrict to planes that do, drop the
   inequalities that then hold with equality, decide again: a plane means quasi, nothing left means overlap.

Nothing is returned that ``proof`` does not confirm.
"""

from __future__ import annotations

import math
from fractions import Fraction
from time import monotonic as clock
from typing import Any

import numpy as np
from flint import fmpz_mat
from numba import njit

from linsep.problem import Array, Dense, Floats, Rows
from linsep.prove import algebra, exact_solve, newton
from linsep.prove.claims import Data, Refutation, Separator, Verdict, holds
from linsep.prove.exact_view import (
    Lens,
    as_plane,
    decide,
    independent_columns,
    packed_rows,
    pair_signs,
    raw_rows,
    whole_basis,
)
from linsep.prove.modular import vanishing
from linsep.prove.nearest_point import Nearest, nearest_point
from linsep.prove.scaled import Field, Unforeseen, dense_rows, in_chunks, lowest, on_grid, raw_differences
from linsep.prove.sparse_search import Descent, contradiction, weak_plane

_SHARE = 32  # a first working set is found on this share of the rows
_TOL = 0.7  # any plane that the working set is well above will do
_CELLS = 1 << 25  # of the rows that a working set grows by
_FAR = 3.0  # times the height of the support
_DEPTH = 0.5  # times the deepest row: rows that high may come down when the plane turns to meet it
_DEEP = 8.0  # as far on the wrong side
_SUFFICE = 6  # times the unknowns: rows that are then added
_UNKNOWNS = 12_000  # an exact basis of so many takes gigabytes
_FEW = 2000  # inequalities that Newton's method begins with, at least
_MANY = 35  # times the unknowns: rows for those that follow
_SOME = 10  # times the unknowns: rows for its first steps
_CHEAP = 10  # passes of coordinate descent
_NEWTON = 3000  # unknowns, at most, for Newton's method
_TURNS = 12  # working sets that Newton's method tries
_STEPS = 40  # of Newton's method on one
_STRETCH = 500  # rounds of the nearest point at a time
_PASSES = 60  # over all rows with floats before stronger means


class OutOfTime(Exception):  # noqa: N818, it is not an error
    """The time limit is spent."""


class TooWide(Exception):  # noqa: N818, there may be another way
    """An exact search in all columns does not fit into memory."""


class Search:
    """One search: the data, the clock, and the best bounds on the margin so far."""

    def __init__(self, data: Data, classes: tuple[Any, ...], time_limit: float | None) -> None:
        self.data, self.classes = data, classes
        self.time_limit = time_limit
        self.deadline = math.inf
        if time_limit is not None:  # the bounds on the margin, at the end, take some passes
            last = min(1e-9 * data.rows.data.size * (data.classes + 1), 0.5 * time_limit)
            self.deadline = clock() + 0.95 * time_limit - last
        self.bracket = (-math.inf, math.inf)
        self.rng = np.random.default_rng(0)
        self.last: tuple[Floats, Array, Floats] | None = None  # the last plane tried, its support and multipliers
        self._begin(whole=False)

    def _begin(self, *, whole: bool) -> None:
        """Look at the data, or at a sample, and choose inequalities to begin with."""
        self.field = Field(self.data, self.rng, whole=whole)
        self.ids: Array = self._first()

    def tick(self, seconds: float) -> None:
        """Raise OutOfTime if the time limit is spent, or would be within so many seconds."""
        if clock() + seconds > self.deadline:
            raise OutOfTime

    def run(self) -> Verdict:
        """Return the verdict, confirmed by the exact check; "unknown" if the time limit is spent first.

        Raises FloatingPointError if some value is not finite.
        """
        try:
            try:
                return self._decide()
            except Unforeseen:
                self._begin(whole=True)
                return self._decide()
            except TooWide:
                return self._narrowed()
        except OutOfTime:
            self.bracket = self._bounds()
            return self._verdict("unknown", None, None)

    def _decide(self) -> Verdict:
        """Try one means after the other: cheap ones first."""
        if self.field.wide:
            return (self._wide() if self.data.classes == 2 else self._each_against_rest()) or self._exactly()
        return self._by_descent() or self._by_newton() or self._with_floats() or self._exactly()

    def _verdict(self, kind: str, plane: Separator | None, refutation: Refutation | None) -> Verdict:
        data = self.data
        self.field.look()
        return Verdict(kind, plane, refutation, self.classes, data.n_features, data.offset, self.bracket)

    def _confirmed(self, kind: str, plane: Separator | None, refutation: Refutation | None) -> Verdict | None:
        verdict = self._verdict(kind, plane, refutation)
        return verdict if holds(verdict, self.data) else None

    def _bounds(self) -> tuple[float, float]:
        """Return bounds on the largest margin from the last plane tried and the points it was found from.

        With two classes the margin of ``w·x + b = 0`` (offset) or ``w·x = 0``, with more the smallest lead of the true
        class for weights of norm 1 altogether.
        """
        data, radius = self.data, self.field.radius
        upper = radius * (1 if data.classes == 2 else math.sqrt(2) * (1 + 2.0**-50))
        lower = -upper
        if self.last is not None:
            w, support, weights = self.last
            W, b = self.field.plane(w).per_class()
            with np.errstate(over="ignore", invalid="ignore"):
                scores = np.stack([sums(data, v) + c for v, c in zip(W, b, strict=True)])
                own = scores[data.y, np.arange(len(data.y))].copy()
                scores[data.y, np.arange(len(data.y))] = -np.inf
                size = np.linalg.norm(W)
                rounding = (data.n_features + 10) * 2.0**-51 * (radius + np.abs(b).max() / size)
                lower = max(lower, float((own - scores.max(axis=0)).min() / size - rounding))
            if data.classes == 2:
                i, weights = support // 2, weights / weights.sum()
                sign = 2.0 * data.y[i] - 1
                if data.offset and abs(sign.sum()) < len(sign):  # half the distance between a point of either hull
                    for side in (-1.0, 1.0):
                        weights[sign == side] /= 2 * weights[sign == side].sum()
                if not data.offset or abs(sign.sum()) < len(sign):
                    point = (weights * sign) @ dense_rows(data, i)
                    upper = min(upper, float(np.linalg.norm(point)) + (len(i) + 10) * 2.0**-52 * radius)
        return lower, upper

    def _nearest(self, Z: Floats, start: Floats | None) -> Nearest:
        """Find the nearest point in stretches that are short enough to look at the clock and hear Ctrl-C."""
        rounds, shortest = _STRETCH if self.time_limit is None else 20, math.inf
        while True:
            self.tick(0.0)
            began = clock()
            near = nearest_point(Z, start=start, tol=_TOL, max_iter=rounds)
            distance = float(np.linalg.norm(near.point))
            if not near.w.any() or near.lowest > 0 or not distance < shortest * (1 - 1e-9):
                return near
            start, shortest = near.weights, distance
            if self.time_limit is not None:
                fitting = rounds * 0.05 * self.time_limit / max(clock() - began, 1e-6)
                rounds = min(max(5, int(fitting)), 2 * rounds, _STRETCH)

    # -----------------------------------------------------------------------------------------------------------
    # Floats

    def _first(self) -> Array:
        """Return some inequalities to begin with."""
        return self._sample(min(4 * self.field.dimension + 8, self._room()))

    def _sample(self, most: int) -> Array:
        """Return so many random inequalities, or all if there are not more."""
        data, rng, n = self.data, self.rng, len(self.data.y)
        if n * (data.classes - 1) <= most:
            i, rival = np.divmod(np.arange(n * data.classes), data.classes)
            return np.flatnonzero(data.y[i] != rival)
        i = np.sort(rng.choice(n, most, replace=False)) if n > most else rng.integers(0, n, most)
        if data.classes == 2:
            return i * 2 + 1 - data.y[i]
        rival = (data.y[i] + rng.integers(1, data.classes, len(i))) % data.classes
        return np.unique(i * data.classes + rival)

    def _room(self) -> int:
        """Return how many inequalities can be written out at a time without taking much memory."""
        return max(100, _CELLS // self.field.dimension)

    def _by_descent(self) -> Verdict | None:
        """Try some passes of coordinate descent on sparse rows, which they cost little."""
        if isinstance(self.data.rows, Dense) or self.data.classes > 2:
            return None
        descent = Descent(self.field, self.rng)
        return self._separated(descent.weights()) if descent.go_on(_CHEAP, self.tick) else None

    def _by_newton(self) -> Verdict | None:
        """Decide by Newton's method on a working set, if the exact check agrees."""
        field, C = self.field, self.data.classes
        most = min(max(_FEW, _MANY * field.dimension, len(self.data.y) // 250), self._room())
        if len(self.data.y) * (C - 1) <= 4 * field.dimension + 8 or field.dimension > _NEWTON:
            return None
        ids = self._sample(most)
        self.tick(2e-9 * len(ids) * field.dimension)
        Z, w = field.gather(ids), np.zeros(field.dimension)
        few = _SOME * field.dimension
        if few < len(ids) // 2:  # the steps far from the goal are made with fewer rows
            first = self.rng.permutation(len(ids))[:few]
            w = newton.fit(Z[first], w, enough=1 - _TOL, steps=3, tick=self.tick).w
        for _ in range(_TURNS):
            found = newton.fit(Z, w, enough=1 - _TOL, steps=_STEPS, tick=self.tick)
            w, slack = found.w, np.maximum(1 - found.heights, 0)
            below = np.flatnonzero(slack)
            if w.any() and len(below):
                self.last = w, ids[below], slack[below]
            if found.heights.min() <= 0:
                self.ids = ids[np.sort(np.argsort(found.heights)[: 4 * field.dimension + 8])]
                if not found.ended:
                    return None
                kept, weights = newton.corners(Z[below], slack[below], self.tick)
                return self._refuted(ids[below[kept]], weights)
            self.tick(0.0)
            scores, rivals = field.sweep(w)
            if scores.min() > 0:
                return self._separated(w)
            # of rows about as long as those in the set; fewer will do for a contradiction, which is likely if one of
            # them is far on the wrong side
            low = lowest(scores, most if scores.min() > -_DEEP else _SUFFICE * field.dimension, 1.0)
            new = np.setdiff1d(low * C + rivals[low], ids, assume_unique=True)
            if len(new) == 0 or not np.isfinite(scores).all():
                return None
            keep = found.heights < max(_FAR, -_DEPTH * float(scores.min()))
            ids, Z = np.concatenate((ids[keep], new)), np.vstack((Z[keep], field.gather(new)))
        return None

    def _with_floats(self) -> Verdict | None:
        """Decide by floats on a growing working set, if the exact check agrees; first on a sample of the rows."""
        n, ids = len(self.data.y), self.ids
        near: Nearest | None = None
        few = max(n // _SHARE, 100 * self.field.dimension)
        if few < n // 2:
            which = np.sort(self.rng.choice(n, few, replace=False))
            ids, near, _ = self._chase(self.field.part(which), which, ids, near)
        self.ids, near, met = self._chase(self.field, np.arange(n), ids, near)
        if not near.w.any() or not near.lowest > 0:
            return self._refuted(self.ids[near.support], near.weights[near.support])
        return self._separated(near.w) if met else None

    def _chase(self, field: Field, which: Array, ids: Array, near: Nearest | None) -> tuple[Array, Nearest, bool]:
        """Let the working set grow by the lowest rows of ``field`` until all are met, or no plane meets the set.

        ``which`` are the numbers of those rows among all. Returns the working set, its nearest point, and whether its
        plane met all rows.
        """
        C = self.data.classes
        Z = self.field.gather(ids)
        near = near or self._nearest(Z, None)
        for turn in range(_PASSES):
            self.tick(0.0)
            if not near.w.any() or not near.lowest > 0:
                return ids, near, False
            self.ids, self.last = ids, (near.w, ids[near.support], near.weights[near.support])
            scores, rivals = field.sweep(near.w)
            if scores.min() > 0:
                return ids, near, True
            low = lowest(scores, min(2 * field.dimension + 8, self._room()), 0.3 / float(np.linalg.norm(near.w)))
            new = np.setdiff1d(which[low] * C + rivals[low], ids)
            if len(new) == 0 or not np.isfinite(scores).all():
                return ids, near, False
            keep, start = np.ones(len(ids), dtype=bool), near.weights
            if turn < _PASSES // 3:  # rows far above the plane only cost time; later they stay, lest they come and go
                keep = (start > 0) | (Z @ near.w < _FAR)
            ids, Z = np.concatenate((ids[keep], new)), np.vstack((Z[keep], self.field.gather(new)))
            near = self._nearest(Z, start[keep])
        return ids, near, False

    def _each_against_rest(self) -> Verdict | None:
        """Try planes between each class and all others: where they all separate, so do their scores."""
        data, found = self.data, []
        for c in range(data.classes):
            field = Field(data._replace(y=(data.y == c).astype(np.intp), classes=2), self.rng)
            descent = Descent(field, self.rng)
            if not descent.go_on(40, self.tick):
                return None
            found.append(field.plane(descent.weights()))
        W, b = np.stack([plane.w for plane in found]), np.array([plane.b for plane in found])
        planes = Separator(on_grid(W), on_grid(b))
        return self._confirmed("separable", planes, None)

    def _wide(self) -> Verdict | None:
        """Decide sparse rows of many columns by coordinate descent, if the exact check agrees."""
        descent = Descent(self.field, self.rng)
        for most in (20, 50, 100, 200, 400, 800, 800, 800):
            if descent.go_on(10, self.tick):
                return self._separated(descent.weights())
            ids, found = contradiction(self.field, descent.alpha, descent.sizes, most, self.tick)
            if found is not None:
                break
        else:
            return None
        ids = ids[found.places]
        _, shifts, _ = packed_rows(self.data, ids, None)
        first = refutation(self.data, ids, found.weights, shifts)
        overlap = self._confirmed("overlap", None, first)
        if overlap is not None:
            return overlap
        face, _ = self._with_duplicates(ids, found.weights)
        plane = weak_plane(self.data, face, self.rng, self.tick)
        return None if plane is None else self._confirmed("quasi", plane, first)

    def _separated(self, w: Floats) -> Verdict | None:
        """Confirm a plane: as floats, with its offset moved, at last in fractions."""
        plane = self.field.plane(w)
        found = self._confirmed("separable", plane, None)
        if found is None and self.data.offset and self.data.classes == 2:
            found = self._confirmed("separable", midway(self.data, plane), None)
        return found or self._confirmed("separable", self.field.plane(w, exact=True), None)

    def _refuted(self, support: Array, weights: Floats) -> Verdict | None:
        """Make multipliers exact; go on to quasi or overlap."""
        if len(support) == 0:
            return None
        found = exact_solve.dependency(raw_differences(self.data, support), weights, self.tick)
        if found is not None:
            ids = support[found.places]
            overlap = self._confirmed("overlap", None, refutation(self.data, ids, found.weights, [0] * len(ids)))
            if overlap is not None:
                return overlap
        A, _ = raw_rows(self.data, support)
        self.tick(algebra.seconds(A))
        found = algebra.dependency(A)
        if found is None:
            return None
        return self._weakly(support[found.places], found.weights)

    # -----------------------------------------------------------------------------------------------------------
    # Exact

    def _exactly(self) -> Verdict:
        """Decide through an exact lens."""
        data = self.data
        self._must_fit()
        everything = np.ones((len(data.y), data.classes), dtype=bool)
        everything[np.arange(len(data.y)), data.y] = False
        lens = Lens(data, whole_basis(data), everything.ravel())
        w, ids, found = decide(lens, self.ids, self.rng, self.tick)
        if found is not None:
            return self._weakly(ids[found.places], found.weights)
        return self._shortest("separable", w, None)

    def _must_fit(self) -> None:
        """Refuse to write out an exact basis that no memory holds."""
        if self.field.dimension > _UNKNOWNS:
            self.field.look()
            raise TooWide

    def _narrowed(self) -> Verdict:
        """Decide on columns that all others depend on: many fewer where there are fewer rows than columns."""
        data = self.data
        few = len(data.y) * (data.classes - 1) <= _UNKNOWNS
        columns = [j for j in independent_columns(data, self.tick) if j < data.n_features] if few else []
        if not few or (data.classes - 1) * (len(columns) + data.offset) > _UNKNOWNS:
            raise MemoryError(
                f"floats could not decide these data, and an exact search in {self.field.dimension} unknowns does not "
                f"fit into memory: leave out columns until {_UNKNOWNS // (data.classes - 1)} are left"
            )
        narrow = data._replace(rows=Dense(narrowed(data.rows, columns, data.n_features)), n_features=len(columns))
        inner = Search(narrow, self.classes, self.time_limit)
        inner.deadline = self.deadline
        found = inner.run()
        if found.kind == "unknown":
            raise OutOfTime
        plane = found.separator
        if plane is not None:
            w = np.zeros((*plane.w.shape[:-1], data.n_features), dtype=plane.w.dtype)
            w[..., columns] = plane.w
            plane = Separator(w, plane.b)
        return self._certain(found.kind, plane, found.refutation)

    def _certain(self, kind: str, plane: Separator | None, refutation: Refutation | None) -> Verdict:
        """Return a verdict that exact means have led to, hence must be confirmed but for one chance in 2**60."""
        verdict = self._confirmed(kind, plane, refutation)
        if verdict is None:
            raise ArithmeticError(f"a proof of {kind!r} was found but does not hold: please report these data")
        return verdict

    def _shortest(self, kind: str, w: Any, refutation: Refutation | None) -> Verdict:
        """Return a verdict with exact weights, rounded to as few digits as confirm."""
        data = self.data
        plane = as_plane(data, w)
        if plane.w.dtype == object and kind == "separable":
            for bits in (53, 80, 106, 212, 424):
                top = max(abs(int(w[j, 0])).bit_length() for j in range(w.nrows()))
                if top <= bits:
                    break
                short = fmpz_mat(w.nrows(), 1, [(w[j, 0] >> (top - bits)) for j in range(w.nrows())])
                verdict = self._confirmed(kind, as_plane(data, short), refutation)
                if verdict is not None:
                    return verdict
        return self._certain(kind, plane, refutation)

    def _weakly(self, ids: Array, weights: list[int]) -> Verdict:
        """Tell quasi from overlap, given inequalities that contradict each other.

        Face reduction: all inequalities in the span of those in the refutation hold with equality on every plane that
        is weakly right. Each level either finds a plane for the rest or adds to the refutation.
        """
        data = self.data
        A, shifts = raw_rows(data, ids)
        first = refutation(data, ids, weights, shifts)
        face, multipliers = ids, weights
        if len(algebra.pivots(A)[0]) < A.ncols():
            self._must_fit()
            face, multipliers = self._with_duplicates(ids, weights)
        while True:
            A, shifts = raw_rows(data, face)
            self.tick(algebra.seconds(A))
            basis = algebra.null_basis(A)
            left = self._off_face(basis)
            if not left.any():
                return self._certain("overlap", None, refutation(data, face, multipliers, shifts))
            lens = Lens(data, basis, left)
            w, more, found = decide(lens, self._some(left, lens.dimension), self.rng, self.tick)
            if found is None:
                return self._shortest("quasi", w, first)
            face, multipliers = lifted(data, face, multipliers, more[found.places], found.weights)

    def _off_face(self, basis: Any) -> Array:
        """Return which inequalities are not in the span of those that the basis is orthogonal to: almost surely."""
        data = self.data
        left = np.zeros((len(data.y), data.classes), dtype=bool)
        if basis.ncols():
            random = fmpz_mat(basis.ncols(), 1, self.rng.integers(1, 2**62, basis.ncols()).tolist())
            exactly = data.rows.data.dtype == np.uint64
            on = pair_signs(data, basis * random) == 0 if exactly else vanishing(data, basis * random)
            left = ~on
            left[np.arange(len(data.y)), data.y] = False
        return left.ravel()

    def _some(self, left: Array, dimension: int) -> Array:
        """Return some of the inequalities that are left."""
        ids = np.flatnonzero(left)
        most = 4 * dimension + 8
        return np.sort(self.rng.choice(ids, most, replace=False)) if len(ids) > most else ids

    def _with_duplicates(self, ids: Array, weights: list[int]) -> tuple[Array, list[int]]:
        """Add equal rows of different classes to a refutation, so far as they raise its rank."""
        pairs = contradicting(self.data)
        if len(pairs) == 0:
            return ids, weights
        A, _, _ = packed_rows(self.data, np.concatenate((ids, pairs[:, 0])), None)
        kept = algebra.pivots(A)[0]
        known = set(ids.tolist())
        extra = [pairs[k - len(ids)] for k in kept if k >= len(ids) and not known & set(pairs[k - len(ids)].tolist())]
        if not extra:
            return ids, weights
        more = np.concatenate(extra)
        return np.concatenate((ids, more)), [*weights, *[1] * len(more)]


def narrowed(rows: Rows, columns: list[int], n_features: int) -> Array:
    """Return some columns of the rows as they are."""
    if isinstance(rows, Dense):
        return np.ascontiguousarray(rows.data[:, columns])
    place = np.full(n_features, -1)
    place[columns] = np.arange(len(columns))
    dense = np.zeros((len(rows.indptr) - 1, len(columns)), dtype=rows.data.dtype)
    lines = np.repeat(np.arange(len(dense)), np.diff(rows.indptr).astype(np.intp))
    kept = place[rows.indices] >= 0
    dense[lines[kept], place[rows.indices[kept]]] = rows.data[kept]
    return dense


def lifted(data: Data, face: Array, multipliers: list[int], more: Array, weights: list[int]) -> tuple[Array, list[int]]:
    """Join a refutation and inequalities that cancel up to the span of its own into one refutation."""
    A, _ = raw_rows(data, face)
    B, _ = raw_rows(data, more)
    c, q = algebra.express(A, fmpz_mat(1, len(weights), weights) * B)  # q Σ weights b = Σ c a
    times = 1 + max(0, *(value // m + 1 for value, m in zip(c, multipliers, strict=True)))
    joined = [times * m - value for m, value in zip(multipliers, c, strict=True)] + [q * value for value in weights]
    divisor = math.gcd(*joined)
    return np.concatenate((face, more)), [value // divisor for value in joined]


def refutation(data: Data, ids: Array, weights: list[int], shifts: list[int]) -> Refutation:
    """Return multipliers of integer rows as multipliers of the rows as given, in integers without a common divisor."""
    highest = max(shifts)
    exact = [weight << (highest - shift) for weight, shift in zip(weights, shifts, strict=True)]
    divisor = math.gcd(*exact)
    order = np.argsort(ids, kind="stable")
    return Refutation(
        (ids[order] // data.classes).astype(np.intp),
        tuple(Fraction(exact[k] // divisor) for k in order.tolist()),
        (ids[order] % data.classes).astype(np.intp),
    )


def midway(data: Data, plane: Separator) -> Separator:
    """Return the plane with its offset midway between the two classes, as far as floats tell."""
    heights = sums(data, plane.w)
    upper, lower = heights[data.y == 1].min(), heights[data.y == 0].max()
    with np.errstate(over="ignore", invalid="ignore"):  # the exact check refuses what is not finite
        return Separator(plane.w, -(lower + (upper - lower) / 2))


def sums(data: Data, w: Floats) -> Floats:
    """Return ``w·x`` of every row; the same for equal rows."""
    heights = np.empty(len(data.y))

    def work(part: Any, start: int, stop: int) -> None:
        loop: Any = _heights_dense if isinstance(part, Dense) else _heights_sparse
        loop(*part, w, heights[start:stop])

    in_chunks(data.rows, len(data.y), data.n_features, work)
    return heights


def contradicting(data: Data) -> Array:
    """Return pairs of inequalities (m, 2) of equal rows of different classes, one pair for each such row."""
    keys = sums(data, np.random.default_rng(1).normal(size=data.n_features) / 256)
    order = np.lexsort((data.y, keys))
    same = (keys[order[1:]] == keys[order[:-1]]) & (data.y[order[1:]] != data.y[order[:-1]])
    first, second = order[:-1][same], order[1:][same]
    equal = np.array(
        [_equal_rows(data, i, j) for i, j in zip(first.tolist(), second.tolist(), strict=True)], dtype=bool
    )
    first, second = first[equal], second[equal]
    C = data.classes
    return np.column_stack((first * C + data.y[second], second * C + data.y[first]))


def _equal_rows(data: Data, i: int, j: int) -> bool:
    if isinstance(data.rows, Dense):
        return bool((data.rows.data[i] == data.rows.data[j]).all())
    a, b = (slice(int(data.rows.indptr[k]), int(data.rows.indptr[k + 1])) for k in (i, j))
    return np.array_equal(data.rows.indices[a], data.rows.indices[b]) and np.array_equal(
        data.rows.data[a], data.rows.data[b]
    )


_in_order = njit(cache=True, nogil=True, error_model="numpy")  # equal rows must give equal sums


@_in_order
def _heights_dense(data, w, heights):
    """Put ``w·x`` of every row into ``heights``."""
    for i in range(data.shape[0]):
        x = data[i]
        s = 0.0
        for j in range(w.size):
            s += x[j] * w[j]
        heights[i] = s


@_in_order
def _heights_sparse(data, indices, indptr, w, heights):
    """Put ``w·x`` of every row into ``heights``."""
    for i in range(indptr.size - 1):
        s = 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            s += data[p] * w[indices[p]]
        heights[i] = s
