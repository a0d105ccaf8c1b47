"""The vectors of a margin in each of its three forms, and bounds on the largest margin that stay valid under rounding.

Below: a plane in doubles is an exact object, and so is its margin. A pass in doubles with an error bound known in
advance settles which rows can be the nearest; those few are computed in integers where the bound is too coarse.
Above: multipliers on a grid of powers of two are integers, so ``‖Σ λ z‖ / Σ λ`` is the root of a fraction.
"""

from __future__ import annotations

import math
from fractions import Fraction
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.data.arrays import to_floats, to_scipy
from linsep.learn.evaluation import scores
from linsep.problem import Array, Dense, Floats, MarginForm, Rows, take
from linsep.prove.check.integers import over_common, over_power
from linsep.prove.claims import Data
from linsep.prove.core.scaled_view import block_signs, differences
from linsep.prove.linear_algebra import algebra

GRID = 2**53  # multipliers are whole multiples of 1/GRID
_UNIT = 2.0**-53  # relative error of one operation
_TINY = 2.0**-1074  # absolute error of one product that underflows
_EXACT_SUPPORT = 200  # rows whose plane is solved for in integers
_EXACT_BLOCK = 64  # rows computed in integers at a time


# ---------------------------------------------------------------------------------------------------------------
# The vectors whose nearest point gives the margin


class Slacks(NamedTuple):
    """How far every row is on its right side: for more than two classes over its nearest rival."""

    values: Floats  # (n,)
    rivals: Array  # (n,) the class that gives the value

    def pairs(self, which: Array, classes: int) -> Array:
        """Return the pairs that give the values of some rows."""
        return which * classes + self.rivals[which]


class Hull(NamedTuple):
    """Rows times labels in the form of margin that is asked for.

    Offsets are further coordinates: ``unit`` times the signs, where the form counts them (augmented) or where they are
    made so cheap that they count for nothing (affine, more than two classes).
    """

    data: Data
    form: MarginForm
    unit: float = 0.0  # of the offset coordinates; 0 where there are none

    @property
    def rows(self) -> Rows:
        """The rows."""
        return self.data.rows

    @property
    def blocks(self) -> int:
        """Number of weight vectors: two classes share one."""
        return 1 if self.data.classes == 2 else self.data.classes

    @property
    def size(self) -> int:
        """Number of coordinates of a vector."""
        return self.blocks * (self.data.n_features + (self.unit > 0))

    def marks(self, pairs: Array) -> Array:
        """Return the signs (pairs, blocks) with which a row goes into each weight vector."""
        return block_signs(pairs, self.data.y, self.data.classes, self.blocks)

    def vectors(self, pairs: Array) -> Floats:
        """Return pairs as dense vectors, shape (pairs, size)."""
        marks = self.marks(pairs)
        x = to_floats(self.rows, pairs // self.data.classes, self.data.n_features)
        Z = differences(x, marks)
        return np.hstack((Z, self.unit * marks)) if self.unit else Z

    def sparse_vectors(self, pairs: Array) -> Any:
        """Return pairs as rows of a sparse matrix, shape (pairs, size)."""
        import scipy.sparse as sp

        x = to_scipy(take(self.rows, pairs // self.data.classes), self.data.n_features)
        marks = self.marks(pairs).astype(np.float64)
        blocks = [sp.diags_array(marks[:, c]) @ x for c in range(self.blocks)]
        if self.unit:
            blocks.append(sp.csr_array(self.unit * marks))
        Z = sp.hstack(blocks, format="csr")
        Z.eliminate_zeros()
        return Z

    def weights(self, v: Floats, b: float = 0.0) -> tuple[Floats, Floats]:
        """Split a vector into weights (blocks, d) and offsets (blocks,)."""
        d = self.data.n_features
        W = v[: self.blocks * d].reshape(self.blocks, d)
        offsets = self.unit * v[self.blocks * d :] if self.unit else np.full(self.blocks, b)
        return np.ascontiguousarray(W), offsets

    def slacks(self, W: Floats, b: Floats) -> Slacks:
        """Return ``y (w·x + b)`` of every row, or its score beyond that of the nearest rival, in one pass."""
        S, y = scores(self.rows, W, b), self.data.y
        if self.blocks == 1:
            values = S[:, 0]
            np.negative(values, out=values, where=y == 0)
            return Slacks(values, y == 0)
        every = np.arange(len(S))
        true = S[every, y].copy()
        S[every, y] = -np.inf
        rival = S.argmax(axis=1)
        return Slacks(true - S[every, rival], rival)


# ---------------------------------------------------------------------------------------------------------------
# Rounding


def root(square: Fraction, *, up: bool) -> float:
    """Return a double next to the square root of a fraction, on the side asked for."""
    if square == 0:
        return 0.0
    # scale by a power of four so that the whole part of the root has more than 64 bits
    shift = 70 - (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    scaled = square.numerator << max(0, 2 * shift), square.denominator << max(0, -2 * shift)
    whole = math.isqrt(scaled[0] // scaled[1]) + up
    return rounded(Fraction(whole) / Fraction(2) ** shift, up=up)


def rounded(value: Fraction, *, up: bool) -> float:
    """Return the double next to a fraction on the side asked for."""
    try:
        near = float(value)
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    if math.isinf(near) or (Fraction(near) < value if up else Fraction(near) > value):
        towards = math.inf if up else -math.inf
        return near if near == towards else math.nextafter(near, towards)
    return near


# ---------------------------------------------------------------------------------------------------------------
# Below


def lower(hull: Hull, W: Array, b: Array, norms: Floats, target: float, clock: Clock) -> float:
    """Return a lower bound on the margin of a plane.

    That of a plane of doubles is good to ``target`` if a pass in doubles is, else by way of integers for the rows that
    it leaves in doubt; that of a plane of fractions comes from all rows in integers.
    """
    numbers, scale = _whole(np.column_stack((W, b)))
    square = sum(int(v) * int(v) for v in (numbers if hull.form == "augmented" else numbers[:, :-1]).ravel()) * scale**2
    if W.dtype == object:
        value = _least_of(hull, numbers, scale, np.arange(len(hull.data.y)), clock)
    else:
        sure = hull.slacks(W, b).values
        with np.errstate(over="ignore", invalid="ignore"):
            sure -= _errors(hull, W, b, norms)
        sure[~np.isfinite(sure)] = -np.inf
        least = float(sure.min())
        if least <= 0 or least < target * root(square, up=True):
            value = _least_exactly(hull, numbers, scale, sure, clock)
        else:
            value = Fraction(least)
    if value <= 0:
        return -root(value * value / square, up=True)
    return root(value * value / square, up=False)


def middle(hull: Hull, W: Array, b: Array, which: Array, clock: Clock) -> Array:
    """Return the offsets of a plane, moved to the middle between some rows where they may be, as fractions."""
    if hull.form != "affine" or hull.blocks > 1:
        return b
    numbers, scale = _whole(np.column_stack((W, np.zeros(1, dtype=W.dtype))))
    scores = [score[0] for score in _exact_scores(hull, numbers, scale, which, clock)]
    ahead, behind = (
        min(t * s for s, c in zip(scores, hull.data.y[which], strict=True) if c == (t > 0)) for t in (1, -1)
    )
    return np.array([(behind - ahead) / 2], dtype=object)


def _whole(table: Array) -> tuple[Array, Fraction]:
    """Return doubles or fractions as whole numbers, and what these are multiples of."""
    numbers, common = over_common(table.ravel().tolist())
    return np.array(numbers, dtype=object).reshape(table.shape), Fraction(1, common)


def _least_of(hull: Hull, numbers: Array, scale: Fraction, which: Array, clock: Clock) -> Fraction:
    """Return the least slack of some rows under whole multiples of ``scale``, in exact arithmetic."""
    values: list[Fraction] = []
    scores = _exact_scores(hull, numbers, scale, which, clock)
    for score, y in zip(scores, hull.data.y[which].tolist(), strict=True):
        if hull.blocks == 1:
            values.append((2 * y - 1) * score[0])
        else:
            values.append(score[y] - max(s for c, s in enumerate(score) if c != y))
    return min(values)


def most_terms(rows: Rows) -> int:
    """Return how many products a score is a sum of, at most."""
    return rows.data.shape[1] if isinstance(rows, Dense) else int(np.diff(rows.indptr).max(initial=0))


def _errors(hull: Hull, W: Floats, b: Floats, norms: Floats) -> Floats:
    """Bound the rounding of every slack (Higham 2002, section 3.1): n u Σ|w_j x_j|, and Σ|w_j x_j| <= ‖w‖‖x‖."""
    terms = most_terms(hull.rows)
    scale = float(np.abs(W).max(initial=0.0)) or 1.0
    largest = scale * float(np.sqrt(np.square(W / scale).sum(axis=1)).max())
    bounds: Floats = largest * norms
    bounds += float(np.abs(b).max())
    bounds *= (terms + 8) * _UNIT * (1 + 1e-6) * (2 if hull.blocks > 1 else 1)
    bounds += 2 * (terms + 8) * _TINY
    return bounds


def _least_exactly(hull: Hull, numbers: Array, scale: Fraction, sure: Floats, clock: Clock) -> Fraction:
    """Return the least slack in exact arithmetic, of rows in turn while their bound lies below what others have."""
    order, least = np.argsort(sure), Fraction(0)
    for start in range(0, len(order), _EXACT_BLOCK):
        if start and float(sure[order[start]]) >= least:
            break
        nearest = _least_of(hull, numbers, scale, order[start : start + _EXACT_BLOCK], clock)
        least = min(least, nearest) if start else nearest
    return least


def _exact_scores(hull: Hull, numbers: Array, scale: Fraction, which: Array, clock: Clock) -> list[list[Fraction]]:
    """Return the scores of some rows in exact arithmetic, one per weight vector."""
    part = take(hull.rows, which)
    values, power = over_power(part.data)
    fine = Fraction(2) ** power * scale
    scores = []
    for k in range(len(which)):
        clock.check()
        row, columns = _row(part, values, k)
        scores.append([sum(map(mul, w[:-1][columns], row)) * fine + w[-1] * scale for w in numbers])
    return scores


def _row(rows: Rows, values: Any, k: int) -> tuple[Any, Any]:
    """Return the whole numbers of row ``k`` and the columns they stand in."""
    if isinstance(rows, Dense):
        return values[k], slice(None)
    span = slice(int(rows.indptr[k]), int(rows.indptr[k + 1]))
    return values[span], rows.indices[span].astype(np.intp)


# ---------------------------------------------------------------------------------------------------------------
# Beyond double precision


class ExactPlane(NamedTuple):
    """The plane that is equally far from some rows, and multipliers that prove it optimal for these."""

    W: Array  # (blocks, d) fractions, of norm about 1
    b: Array  # (blocks,) fractions
    pairs: Array  # (k,)
    multipliers: Floats  # (k,)


def optimum(hull: Hull, pairs: Array, clock: Clock) -> ExactPlane | None:
    """Return the plane of largest margin of a few rows, solved for in integers; None if that is not settled so.

    With vectors Z, marks F of free offsets, multipliers λ and margin m: ``Z Z'λ + F b = m, F'λ = 0, Σ λ = 1``.
    Rows whose multiplier comes out negative are left out.
    """
    while 1 < len(pairs) <= _EXACT_SUPPORT:
        part, marks, k = take(hull.rows, pairs // hull.data.classes), hull.marks(pairs), len(pairs)
        values, power = over_power(part.data)
        x = np.zeros((k, hull.data.n_features + 1), dtype=object)
        for i in range(k):
            row, columns = _row(part, values, i)
            x[i, :-1][columns] = row
        x, power = (x << power, 0) if power > 0 else (x, power)
        x[:, -1] = (1 << -power) * (hull.form == "augmented")
        Z = differences(x, marks)
        free = marks[:, hull.blocks > 1 :] if hull.form == "affine" else marks[:, :0]
        f, ones = free.shape[1], np.ones((k, 1), dtype=object)
        conditions = np.hstack((free, ones)).T
        system = np.block([[Z @ Z.T, free, -ones], [conditions, np.zeros((f + 1, f + 1), dtype=object)]])
        A, right = algebra.matrix(system), algebra.one_column([0] * (k + f) + [1])
        clock.check()
        try:
            solved = [Fraction(int(v.p), int(v.q)) for v in A.solve(right).entries()]
        except ZeroDivisionError:
            return None
        worst = min(range(k), key=solved.__getitem__)
        if solved[worst] >= 0:
            table = (np.array(solved[:k], dtype=object) @ Z).reshape(hull.blocks, -1)
            offsets = [Fraction(0)] * (hull.blocks - f) + [v * Fraction(2) ** power for v in solved[k:-1]]
            b = table[:, -1] if hull.form == "augmented" else np.array(offsets, dtype=object)
            if solved[-1] <= 0:
                return None
            counted = table if hull.form == "augmented" else table[:, :-1]
            top = max(map(abs, counted.ravel()))
            size = top * Fraction(float(np.linalg.norm((counted / top).astype(np.float64))))
            near = np.array([float(v) for v in solved[:k]])
            return ExactPlane(table[:, :-1] / size, b / size, pairs, near)
        pairs = np.delete(pairs, worst)
    return None


# ---------------------------------------------------------------------------------------------------------------
# Above


def upper(hull: Hull, pairs: Array, multipliers: Any, clock: Clock) -> float:
    """Bound the largest margin from above: ``‖Σ λ z‖ / Σ λ`` for whole-number multipliers, in exact arithmetic.

    Infinite if some multiplier is negative, which bounds nothing.
    """
    if min(multipliers) < 0:
        return math.inf
    part = take(hull.rows, pairs // hull.data.classes)
    values, power = over_power(part.data)
    marks = hull.marks(pairs)
    total = np.zeros((hull.blocks, hull.data.n_features), dtype=object)
    for k, a in enumerate(multipliers):
        clock.check()
        row, columns = _row(part, values, k)
        for c in np.flatnonzero(marks[k]):
            total[c, columns] += (int(a) * int(marks[k, c])) * row
    square = Fraction(sum(t * t for t in total.ravel())) * Fraction(4) ** power
    offsets = [sum(int(a) * int(m) for a, m in zip(multipliers, marks[:, c], strict=True)) for c in range(hull.blocks)]
    if hull.form == "augmented":
        square += sum(o * o for o in offsets)
    elif hull.form == "affine" and any(offsets):
        raise AssertionError("multipliers of the affine form must balance exactly")
    return root(square / Fraction(sum(map(int, multipliers))) ** 2, up=True)


def on_grid(hull: Hull, pairs: Array, multipliers: Floats) -> Any:
    """Round multipliers to whole multiples of 1/GRID, not negative, balanced exactly where the form asks for it."""
    a = np.rint(np.maximum(multipliers, 0.0) / multipliers.sum() * GRID).astype(np.int64).astype(object)
    if hull.form != "affine":
        a[a.argmax()] += GRID - sum(a)
        return a
    if hull.blocks == 1:
        positive = hull.data.y[pairs // 2] > 0
        for side in (np.flatnonzero(positive), np.flatnonzero(~positive)):
            share = sum(a[side])
            if share:
                a[side] = [int(v) * (GRID // 2) // int(share) for v in a[side]]
                a[side[a[side].argmax()]] += GRID // 2 - sum(a[side])
        return a
    a = _circulation(hull, pairs, a)
    total = sum(a)  # no longer GRID: scale back, after which there is next to nothing to balance
    return _circulation(hull, pairs, np.array([int(v) * GRID // total for v in a], dtype=object))


def _circulation(hull: Hull, pairs: Array, a: Any) -> Any:
    """Balance what flows into and out of every class along a spanning forest of the strongest pairs of classes.

    Item (class, rival) with multiplier a is a flow of a from the rival to the class; offsets drop out of the bound when
    the flow is a circulation. Leaves of the forest pass their excess on towards its roots.
    """
    import scipy.sparse as sp
    from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree

    classes, excess = hull.data.y[pairs // hull.data.classes], hull.marks(pairs).astype(object).T @ a  # (classes,)
    ends = np.sort(np.column_stack((classes, pairs % hull.blocks)), axis=1)
    strongest: dict[tuple[int, ...], int] = {}
    for k in np.argsort(a.astype(np.float64))[::-1].tolist():
        strongest.setdefault(tuple(ends[k].tolist()), k)
    ranks = np.arange(1, len(strongest) + 1)
    forest = minimum_spanning_tree(sp.csr_array((ranks, np.array(list(strongest)).T), (hull.blocks, hull.blocks)))
    for root in np.unique(connected_components(forest, directed=False)[1], return_index=True)[1]:
        reached, parents = breadth_first_order(forest, root, directed=False)
        for c in reached[:0:-1].tolist():
            parent = int(parents[c])
            k = strongest[min(c, parent), max(c, parent)]
            a[k] += -excess[c] if classes[k] == c else excess[c]
            excess[parent] += excess[c]
            excess[c] = 0
    return a
