"""Finds weights for several classes at once, by Newton's method on squared slacks, with implicit inequalities.

Problem: minimize ``Σ max(0, 1 - (w_y - w_r)·z)²`` over one weight vector per class, summed over rows ``z`` of class
``y`` and their rivals ``r``; if some weights separate the classes, the least value is 0. A step solves Newton's
equations for the inequalities below 1, damped (Levenberg 1944), by conjugate gradients; these are preconditioned by the
blocks of single classes, so that no matrix is larger than the columns squared. The step is then taken to the minimum
over the plane through its direction, the weights themselves, whose scale is free, and the last few steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.data.arrays import to_floats
from linsep.data.parallel import in_parallel, scipy_linalg
from linsep.problem import Array, Floats
from linsep.prove.core import newton
from linsep.prove.core.constraints import Constraints

CELLS = 1 << 25  # of all rows, of the blocks of all classes, and of inequalities by directions: each at most
SHORT_FLOATS = 1 << 22  # cells of the rows from which on they are floats of 32 bits
STEPS = 80
FIRST_RIDGE = 1e-3  # of least squares, in mean squares of the rows
FIRST_DAMPING, LEAST_DAMPING = 0.1, 1e-4  # likewise
CONJUGATE, NEAR = 60, 0.1  # steps of conjugate gradients, at most, and by how much they are to bring the error down
KEPT = 3  # steps of before
SLOW, STEPS_TO_JUDGE = 0.9, 4  # what is left of the sum after so many steps where it will not come down to 0
ENOUGH = 0.3  # height above which all rows are well above a plane
LIKELY = 35  # times the time of the normal equations of all rows: what a search with success takes
SHORT_PRODUCT = 1 / 64  # as newton.PRODUCT, for floats of 32 bits
FACTOR = 1 / 100  # operations of the factor of a block for every column three times
SOLVED = 8  # and of conjugate gradients with all factors, for every column twice


def of_a_size(rows: int, classes: int, block: int) -> bool:
    """Return whether this way suits this number of rows, classes, and weights of each class."""
    return classes > 2 and max(rows * block, classes * block**2, rows * classes * (KEPT + 2)) <= CELLS


def likely_work(rows: int, block: int) -> float:
    """Return about how long a search takes that finds weights."""
    return LIKELY * _product(rows, block) * rows * block**2


def block_newton(constraints: Constraints) -> Floats | None:
    """Look for scaled weights that separate several classes; None where they do not seem to exist."""
    data, view, clock = constraints.data, constraints.view, constraints.clock
    n, C, block = len(data.y), data.classes, view.block
    if not of_a_size(n, C, block):
        return None
    clock.check()
    scaled = _Scaled(constraints)
    if not np.isfinite(scaled.rows).all():
        return None
    search = _Search(scaled.rows, data.y, C, clock)
    sums: list[float] = []
    for _ in range(STEPS):
        slack = np.maximum(1 - search.heights, 0)
        if search.heights.min() > ENOUGH:
            break
        sums.append(float(slack @ slack))
        if len(sums) > STEPS_TO_JUDGE and sums[-1] > SLOW * sums[-1 - STEPS_TO_JUDGE]:
            break
        search.step(slack)
    w = scaled.weights(search.W)
    below = np.flatnonzero(slack)
    if len(below) and w.any():
        constraints.best = w, search.pairs[below], slack[below]
    return w if search.heights.min() > 0 and view.sweep(w)[0].min() > 0 else None


class _Scaled:
    """All rows, of size 1, their columns centered and scaled: a column of few values that are not zero counts, too."""

    def __init__(self, constraints: Constraints) -> None:
        data, self.view = constraints.data, constraints.view
        n, d = len(data.y), data.n_features
        self.rows = np.empty((n, self.view.block), np.float32 if _short(n, self.view.block) else np.float64)
        part = to_floats(data.rows, np.arange(n), d) * self.view.unit - self.view.center
        self.center = part.mean(axis=0) if data.offset else np.zeros(d)
        part -= self.center
        self.unit = np.sqrt(np.einsum("ij,ij->j", part, part) / n)
        self.unit[self.unit == 0] = 1.0
        part /= self.unit
        sizes = np.linalg.norm(part, axis=1)
        self.constant = float(np.median(sizes)) or 1.0
        sizes = np.hypot(sizes, self.constant * data.offset)
        sizes[sizes == 0] = 1.0
        part /= sizes[:, None]
        self.rows[:, :d] = part
        self.rows[:, d:] = (self.constant / sizes)[:, None]

    def weights(self, W: Floats) -> Floats:
        """Return weights of each class as the view has them."""
        d = len(self.unit)
        V = (W[1:] - W[0]).astype(np.float64)
        V[:, :d] /= self.unit
        if V.shape[1] > d:
            V[:, d] = (V[:, d] * self.constant - V[:, :d] @ self.center) / self.view.constant
        return np.asarray(V.ravel())


class _Step(NamedTuple):
    """Weights of each class, and what they add to the heights of all inequalities."""

    W: Floats  # (C, block)
    heights: Floats  # (n (C - 1),)


class _Search:
    """Weights, the heights of all inequalities, and the last steps."""

    def __init__(self, rows: Floats, y: Array, classes: int, clock: Clock) -> None:
        self.rows, self.y, self.clock = rows, y, clock
        n = len(y)
        others = np.ones((n, classes), dtype=bool)
        others[np.arange(n), y] = False
        self.pairs = np.flatnonzero(others)  # a row times the classes, and a rival
        self.damping, self.last = FIRST_DAMPING, list[_Step]()
        self.W, self.heights = np.zeros((classes, rows.shape[1])), np.zeros(len(self.pairs))
        self._take(self._least_squares())

    def _least_squares(self) -> Floats:
        """Return weights that make the score of the own class about 1 and every other 0."""
        Z, C = self.rows, len(self.W)
        goal = np.zeros((len(Z), C), Z.dtype)
        goal[np.arange(len(Z)), self.y] = 1
        self.clock.check(_product(*Z.shape) * len(Z) * Z.shape[1] ** 2)
        factor = _factor(Z, FIRST_RIDGE * len(Z) / Z.shape[1])
        return np.ascontiguousarray(scipy_linalg().cho_solve((factor, True), Z.T @ goal).T)

    def _leads(self, W: Floats) -> Floats:
        """Return what weights add to the height of every inequality."""
        scores = self.rows @ W.T.astype(self.rows.dtype)
        leads = scores[np.arange(len(scores)), self.y][:, None] - scores
        return leads.ravel()[self.pairs].astype(np.float64)

    def step(self, slack: Floats) -> None:
        """Make one step, given how far the inequalities are below 1."""
        C = len(self.W)
        table = np.zeros((len(self.y), C))
        table.ravel()[self.pairs] = slack
        some = np.flatnonzero(table.any(axis=1))
        Z, y, line = self.rows[some], self.y[some], np.arange(len(some))
        pull = table[some].astype(Z.dtype)
        active = (pull > 0).astype(Z.dtype)
        pull[line, y] = -pull.sum(axis=1)
        ridge = self.damping * float(active.sum()) / self.W.size
        counts = active.copy()
        counts[line, y] = active.sum(axis=1)
        factors = self._factors(Z, counts, ridge)

        def curvature(V: Floats) -> Floats:
            scores = Z @ V.T
            change = active * (scores - scores[line, y][:, None])
            change[line, y] = -change.sum(axis=1)
            return change.T @ Z + np.asarray(ridge, Z.dtype) * V

        self.clock.check((2.4 * Z.size + SOLVED * Z.shape[1] ** 2) * C)
        share = self._take(_solved(curvature, factors, -(pull.T @ Z)))
        if share < 0.2:
            self.damping *= 3
        elif share > 0.8:
            self.damping = max(self.damping / 3, LEAST_DAMPING)

    def _factors(self, Z: Floats, counts: Floats, ridge: float) -> list[Floats]:
        """Return the factors of the blocks of all classes."""
        C, block = self.W.shape
        factors = [np.empty(0)] * C
        self.clock.check((_product(*self.rows.shape) * np.count_nonzero(counts) + FACTOR * C * block) * block**2)

        def work(start: int, stop: int) -> None:
            for c in range(start, stop):
                which = np.flatnonzero(counts[:, c])
                factors[c] = _factor(Z[which] * np.sqrt(counts[which, c])[:, None], ridge)

        in_parallel(work, C, block * block)
        return factors

    def _take(self, V: Floats) -> float:
        """Go to the minimum in the directions of V, the weights and the last steps; return how far along V."""
        steps = [_Step(V, self._leads(V)), _Step(self.W, self.heights), *self.last]
        sizes = [float(np.linalg.norm(step.heights)) for step in steps]
        steps = [step for step, size in zip(steps, sizes, strict=True) if size > 0]
        sizes = [size for size in sizes if size > 0]
        if sizes == []:
            return 0.0
        B = np.column_stack([step.heights / size for step, size in zip(steps, sizes, strict=True)])
        start = np.zeros(len(steps))
        if self.heights.any():
            start[1] = sizes[1]
        self.clock.check(20 * B.size)
        found = newton.fit(B, start, enough=2.0, steps=30, clock=self.clock)
        shares = (found.w - start) / sizes
        change = _Step(
            np.sum([share * step.W for share, step in zip(shares, steps, strict=True)], axis=0),
            B @ (found.w - start),
        )
        self.W, self.heights = self.W + change.W, self.heights + change.heights
        self.last = [*self.last, change][-KEPT:]
        return float(shares[0])


def _short(rows: int, block: int) -> bool:
    return rows * block > SHORT_FLOATS


def _product(rows: int, block: int) -> float:
    """Return how long normal equations take for every row, column, and column again."""
    return SHORT_PRODUCT if _short(rows, block) else newton.PRODUCT


def _factor(Z: Floats, ridge: float) -> Floats:
    """Return the lower Cholesky factor of ``Z'Z + ridge``."""
    H = Z.T @ Z
    H.flat[:: len(H) + 1] += ridge
    return np.asarray(scipy_linalg().cholesky(H, lower=True, overwrite_a=True, check_finite=False))


def _solved(curvature: Callable[[Floats], Floats], factors: list[Floats], b: Floats) -> Floats:
    """Return about the solution of ``curvature(V) = b`` by preconditioned conjugate gradients."""
    solve = scipy_linalg().cho_solve

    def eased(V: Floats) -> Floats:
        return np.stack([solve((L, True), v, check_finite=False) for L, v in zip(factors, V, strict=True)])

    V, r = np.zeros_like(b), b
    z = eased(r)
    p, size = z, float((r * z).sum())
    first = size
    for _ in range(CONJUGATE):
        image = curvature(p)
        along = size / float((p * image).sum())
        V = V + along * p
        r = r - along * image
        z = eased(r)
        before, size = size, float((r * z).sum())
        if not size > NEAR**2 * first:
            break
        p = z + size / before * p
    return V
