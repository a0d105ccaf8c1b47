"""Newton's method where no Hessian of all unknowns fits: its systems are solved by conjugate gradients.

Rows are only ever multiplied by vectors. They belong to two or more classes, and are dense or sparse; the system of
dense rows is preconditioned by the blocks of single classes, that of sparse ones by its diagonal.

- ``least_slacks`` minimizes ``Σ max(0, 1 - h)²`` over the scores ``h`` of all inequalities: 0 if weights separate the
  classes; else the slacks cancel at the minimum.
- ``widest`` minimizes ``½‖w‖²`` subject to scores of at least 1: the plane of largest margin.

After Keerthi & DeCoste (2005), *A modified finite Newton method*, JMLR 6; Levenberg (1944); and Rockafellar (1976),
*Augmented Lagrangians and applications of the proximal point algorithm*, Mathematics of Operations Research 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.data.parallel import in_parallel, scipy_linalg
from linsep.problem import Array, Floats
from linsep.prove.core import newton

_STEPS, _GRADIENTS = 300, 1000  # of Newton, and of conjugate gradients in each
_ACCURACY = 0.1  # by how much conjugate gradients bring the error down
_DAMPING, _LEAST_DAMPING = 0.1, 1e-6  # in mean squares of the rows
_KEPT = 6  # steps of before that a step may be combined with
_ENOUGH = 0.3  # score above which all rows are well above a plane
_SLOW, _STEPS_TO_JUDGE = 0.9, 12  # what is left of the sum after so many steps where it will not come down to 0
_FINE = 1e-7  # slacks that would move by no more are at the minimum
_OUTER, _STEEP = 100, 1e14  # steps of the multipliers; penalty, in rows' sizes, at which systems say nothing any more
_CELLS = 1 << 25  # of dense rows, of the blocks of all classes, and of inequalities by directions: each at most
_LIKELY = 35  # times the normal equations of all rows: what a search with success takes
_NOTHING = 1e-9  # a point of the hull this near to the origin, in rows' sizes, cannot be told from it

Product = Callable[[Floats], Floats]


def squared(Z: Any) -> Any:
    """Return a CSR matrix with the squares of its cells."""
    return type(Z)((np.square(Z.data), Z.indices, Z.indptr), Z.shape)


class Inequalities:
    """Rows of some classes, each of size about 1: ``(w_y - w_r)·z`` for every rival r; of two classes ``±w·z``."""

    def __init__(self, rows: Any, y: Array, classes: int) -> None:
        self.rows, self.y, self.classes = rows, y, classes
        self.blocks = 1 if classes == 2 else classes
        others = np.arange(classes) != y[:, None]
        self.ids = np.flatnonzero(others)  # a row times the classes, and a rival
        self.shape = len(self.ids), self.blocks * rows.shape[1]
        self.cells = rows.size
        self.squares = None if isinstance(rows, np.ndarray) else squared(rows)

    def scores(self, v: Floats) -> Floats:
        """Return the score of every inequality."""
        S = self._scores(self.rows, v)
        if self.blocks == 1:
            return np.where(self.y == 1, S[:, 0], -S[:, 0]).astype(np.float64)
        return np.asarray((_own(S, self.y) - S).ravel()[self.ids], dtype=np.float64)

    def _scores(self, rows: Any, v: Floats) -> Floats:
        return np.asarray(rows @ v.reshape(self.blocks, -1).T.astype(rows.dtype))

    def system(self, slack: Floats, damping: float) -> tuple[Floats, Product, Product]:
        """Return ``Σ s_i z_i``, the damped matrix ``Σ z_i z_i'`` over positive slacks, and a preconditioner of it."""
        pull = np.zeros((len(self.y), self.classes))
        pull.ravel()[self.ids] = slack
        some = np.flatnonzero(pull.any(axis=1))
        Z, y, pull = self.rows[some], self.y[some], pull[some].astype(self.rows.dtype)
        active = (pull > 0).astype(Z.dtype)
        ridge = damping * max(1.0, float(active.sum())) / self.shape[1]
        if self.blocks == 1:
            pull, counts = (pull.sum(axis=1) * np.where(y == 1, 1, -1))[:, None], np.ones((len(y), 1), Z.dtype)
        else:
            line = np.arange(len(y))
            pull, counts = -pull, active.copy()
            pull[line, y], counts[line, y] = -pull.sum(axis=1), active.sum(axis=1)

        def curvature(p: Floats) -> Floats:
            S = self._scores(Z, p)
            if self.blocks > 1:
                S = active * (S - _own(S, y))
                S[np.arange(len(y)), y] -= S.sum(axis=1)
            return np.asarray((Z.T @ S).T.ravel() + ridge * p)

        if self.squares is None:
            eased = self._by_blocks(Z, counts, ridge)
        else:
            of_all = np.zeros((len(self.y), counts.shape[1]))
            of_all[some] = counts
            diagonal = ridge + np.asarray(self.squares.T @ of_all).T.ravel()
            eased = lambda r: r / diagonal  # noqa: E731
        return np.asarray(Z.T @ pull).T.ravel().astype(np.float64), curvature, eased

    def _by_blocks(self, Z: Floats, counts: Floats, ridge: float) -> Product:
        """Return the solution of the systems of single classes; of the same one for all where all rows are active."""
        if counts.all():
            counts = counts[:, :1].mean() * np.ones((len(Z), 1), Z.dtype)
        factors = [np.empty(0)] * counts.shape[1]

        def work(start: int, stop: int) -> None:
            for c in range(start, stop):
                which = np.flatnonzero(counts[:, c])
                part = Z[which] * np.sqrt(counts[which, c])[:, None]
                H = part.T @ part
                H.flat[:: len(H) + 1] += ridge
                factors[c] = scipy_linalg().cholesky(H, lower=True, overwrite_a=True, check_finite=False)

        in_parallel(work, len(factors), Z.shape[1] ** 2)
        factors *= self.blocks // len(factors)

        def eased(r: Floats) -> Floats:
            parts = zip(factors, r.reshape(self.blocks, -1), strict=True)
            return np.concatenate([scipy_linalg().cho_solve((L, True), v, check_finite=False) for L, v in parts])

        return eased


def fits(n: int, classes: int, block: int) -> bool:
    """Return whether dense rows of several classes, and what is computed from them, are not too large."""
    return classes > 2 and max(n * block, classes * block**2, n * classes * (_KEPT + 2)) <= _CELLS


def likely_work(rows: int, block: int) -> float:
    """Return about how long a search in dense rows takes that finds weights."""
    return _LIKELY * newton.PRODUCT * rows * block**2


def _own(S: Floats, y: Array) -> Floats:
    return S[np.arange(len(S)), y][:, None]


def least_slacks(
    rows: Inequalities, clock: Clock, *, patient: bool, enough: Callable[[Floats, Floats], bool] | None = None
) -> tuple[Floats, Floats]:
    """Return weights and scores at the least squared slacks, or as soon as all rows are well above.

    Where the sum will not come down to 0 the search ends, unless it is ``patient``; also as soon as the slacks, which
    it is given with their ``Σ s_i z_i``, are ``enough``. Each step goes to the minimum over its direction, the weights
    themselves, whose scale is free, and the last few steps.
    """
    v, h, damping = np.zeros(rows.shape[1]), np.zeros(rows.shape[0]), _DAMPING
    last, sums = list[tuple[Floats, Floats]](), list[float]()
    for _ in range(_STEPS):
        clock.count(4 * rows.cells)
        slack = np.maximum(1 - h, 0)
        sums.append(float(slack @ slack))
        slow = len(sums) > _STEPS_TO_JUDGE and sums[-1] > _SLOW * sums[-1 - _STEPS_TO_JUDGE]
        if h.min() > _ENOUGH or (slow and not patient):
            break
        pull, curvature, eased = rows.system(slack, damping)
        cells = rows.cells * np.count_nonzero(slack) / len(slack)  # of the rows in the system
        if _inner(pull, eased(pull)) <= _FINE**2 or (enough is not None and enough(pull, slack)):
            break
        p = _conjugate_gradients(curvature, eased, pull, _ACCURACY, partial(clock.count, 2 * cells))
        steps = [(p, rows.scores(p)), *([(v, h)] if h.any() else []), *last]
        sizes = np.array([np.linalg.norm(scores) for _, scores in steps])
        steps, sizes = [step for step, size in zip(steps, sizes, strict=True) if size > 0], sizes[sizes > 0]
        start = np.zeros(len(steps))
        if h.any():
            start[1] = sizes[1]
        B = np.column_stack([scores for _, scores in steps]) / sizes
        moved = newton.fit(B, start, enough=2.0, steps=30, clock=clock).w - start
        change = np.sum([a * w for a, (w, _) in zip(moved / sizes, steps, strict=True)], axis=0), B @ moved
        v, h, last = v + change[0], h + change[1], [*last, change][-_KEPT:]
        share = float(moved[0] / sizes[0])
        damping = 3 * damping if share < 0.2 else max(damping / 3, _LEAST_DAMPING) if share > 0.8 else damping
    return v, h


def _inner(a: Floats, b: Floats) -> float:
    """Return the inner product; BLAS would start threads for it, which costs more than the sum where others compute."""
    return float((a * b).sum())


def _conjugate_gradients(
    curvature: Product, eased: Product, r: Floats, accuracy: float, check: Callable[[], None]
) -> Floats:
    """Return about the solution of ``curvature(p) = r`` by preconditioned conjugate gradients."""
    p, s = np.zeros(len(r)), eased(r)
    direction, rho = s, _inner(r, s)
    goal = accuracy**2 * rho
    for _ in range(_GRADIENTS):
        check()
        image = curvature(direction)
        length = rho / _inner(direction, image)
        p = p + length * direction
        r = r - length * image
        s = eased(r)
        rho, before = _inner(r, s), rho
        if not rho > goal:
            break
        direction = s + (rho / before) * direction
    return p


# ---------------------------------------------------------------------------------------------------------------
# The largest margin


class MarginPlane(NamedTuple):
    """A plane and the multipliers of its rows; ``v`` is zero where the origin is in the hull."""

    v: Floats  # (D,)
    multipliers: Floats  # (m,)
    penalty: float


def widest(Z: Any, free: int, clock: Clock, *, start: MarginPlane | None = None, tol: float = 1e-8) -> MarginPlane:
    """Find the shortest ``w`` with ``z·v >= 1 - tol`` for every row of a sparse matrix; the last of v may be free.

    Each outer step minimizes ``½‖w‖² + Σ max(0, λ_i + C (1 - z_i·v))²/2C`` over v, which is w followed by the free
    coordinates, and sets ``λ_i`` to what stands in brackets. ``start`` is the plane of an earlier call, to whose rows
    some have since been appended.
    """
    m, D = Z.shape
    Z2 = Z.multiply(Z).tocsr()
    size = math.sqrt(float(Z2.sum()) / m) or 1.0
    counted = np.ones(D)
    counted[D - free :] = 0.0
    v, multipliers, C = np.zeros(D), np.zeros(m), 10.0 / size**2
    if start is not None:
        v, C = start.v.copy(), start.penalty
        multipliers[: len(start.multipliers)] = start.multipliers
    h = Z @ v
    before, accuracy = 1.0, 0.03
    for _ in range(_OUTER):
        clock.check()
        v, h = _minimized(Z, Z2, counted / C, multipliers / C, v, h, max(tol, accuracy * before), clock)
        renewed = np.maximum(0.0, multipliers + C * (1.0 - h))
        worst = float(np.abs(renewed - multipliers).max()) / C  # by how much a row with a multiplier is off its plane
        multipliers = renewed
        if worst <= tol or C * size**2 > _STEEP:
            break
        if worst > 0.4 * before:
            C *= 5.0
        if worst > 0.8 * before:  # perhaps no plane is there, and the multipliers grow for ever
            accuracy *= 0.1
            if float(np.linalg.norm(Z.T @ multipliers)) < _NOTHING * size * float(multipliers.sum()):
                return MarginPlane(np.zeros(D), multipliers, C)
        before = worst
    return MarginPlane(v, multipliers, C)


def _minimized(
    Z: Any, Z2: Any, ridge: Floats, shift: Floats, v: Floats, h: Floats, tol: float, clock: Clock
) -> tuple[Floats, Floats]:
    """Return ``v`` and ``h = Z v`` where ``½ Σ ridge v² + ½ Σ max(0, 1 + shift - h)²`` is least."""
    for _ in range(_STEPS):
        clock.check()
        slack = np.maximum(0.0, 1.0 + shift - h)
        gradient = ridge * v - Z.T @ slack
        diagonal = ridge + Z2.T @ (slack > 0).astype(np.float64)
        diagonal[diagonal == 0.0] = 1.0
        if math.sqrt(_inner(gradient, gradient / diagonal)) <= 0.1 * tol:  # no row would move by more than a tenth
            break
        p = _direction(Z[np.flatnonzero(slack)], ridge, diagonal, -gradient, clock)
        q = Z @ p
        t = newton.best_step(h - shift, q, _inner(ridge * v, p), _inner(ridge * p, p))
        if not 0 < t < math.inf:
            break
        v, h = v + t * p, h + t * q
    return v, h


def _direction(A: Any, ridge: Floats, diagonal: Floats, r: Floats, clock: Clock) -> Floats:
    """Return about the solution of ``(ridge + A'A) p = r``."""

    def curvature(p: Floats) -> Floats:
        return np.asarray(ridge * p + A.T @ (A @ p))

    return _conjugate_gradients(curvature, lambda r: r / diagonal, r, 0.05, clock.check)
