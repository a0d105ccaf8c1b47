"""Searches in sparse rows of many columns by dual coordinate descent, for two classes.

The hard-margin problem ``min ‖w‖² with z_i·w >= 1`` by its dual, one multiplier at a time (Hsieh, Chang, Lin, Keerthi &
Sundararajan 2008, algorithm 1). Rows that pull most when it does not end are where a contradiction is looked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq, fmpz_mat

from linsep.clock import Clock
from linsep.compiling import compiled
from linsep.data.arrays import to_scipy
from linsep.data.parallel import scipy_linalg
from linsep.problem import Array, Floats, Sparse, take
from linsep.prove.claims import Data, Separator
from linsep.prove.core.constraints import as_plane, packed_rows
from linsep.prove.core.nearest_point import nearest_plane
from linsep.prove.core.scaled_view import ScaledView, row_squares
from linsep.prove.numbers import algebra
from linsep.prove.numbers.modular import vanishing

_PASSES = 60  # over all rows, at most, to find a plane that is weakly right
_TURNED = 0.3  # operations of turning rows, for every row, row again, and column
_CELL = 3  # operations of a visit to a cell
_INNER = 3  # over rows with a multiplier, after each


class Descent:
    """A run of coordinate descent that can be gone on with."""

    def __init__(self, view: ScaledView, rng: np.random.Generator) -> None:
        n = len(view.data.y)
        self.view, self.rng = view, rng
        self.multipliers, self.w, self.b = np.zeros(n), np.zeros(view.data.n_features), np.zeros(1)
        self.squares = (view.unit * view.unit, view.constant * view.constant)
        self.sizes = np.empty(n)
        squares_of: Any = row_squares
        squares_of(*view.data.rows, view.unit, view.constant, self.sizes)
        self.sizes += 1e-300  # a row of zeros is never met, and must not divide by zero

    def go_on(self, passes: int, clock: Clock) -> bool:
        """Make some passes over all rows; return whether all are above the plane as far as floats tell."""
        for _ in range(passes):
            if (
                self._pass(np.arange(len(self.multipliers)), clock) == 0
                and self.view.sweep(self.weights())[0].min() > 0
            ):
                return True
            for _ in range(_INNER):
                if self._pass(np.flatnonzero(self.multipliers), clock) == 0:
                    break
        return False

    def _pass(self, order: Array, clock: Clock) -> int:
        data = self.view.data
        clock.check(_CELL * len(data.rows.data) * len(order) / len(data.y))
        order = self.rng.permutation(order)
        return int(_pass(data.rows, data.y, order, self.squares, self.sizes, self.multipliers, (self.w, self.b)))

    def weights(self) -> Floats:
        """Return the weights in the scaled columns of the view."""
        scaled = np.ldexp(self.w, -self.view.shift)
        return np.append(scaled, self.b[0] / self.view.constant) if self.view.data.offset else scaled


def contradiction(view: ScaledView, weights: Floats, most: int, clock: Clock) -> tuple[Array, Floats] | None:
    """Look for a contradiction among the rows of the largest weights."""
    data = view.data
    which = np.sort(np.argsort(-weights, kind="stable")[: min(most, np.count_nonzero(weights))])
    some = take(data.rows, which)
    assert isinstance(some, Sparse)
    used, columns = np.unique(some.indices, return_inverse=True)
    clock.check(_TURNED * len(which) ** 2 * len(used))
    Z = np.zeros((len(which), len(used) + 1))
    lines = np.repeat(np.arange(len(which)), np.diff(some.indptr).astype(np.intp))
    Z[lines, columns] = some.data * view.unit[some.indices]
    Z[:, -1] = view.constant
    Z *= np.where(data.y[which] == 1, 1.0, -1.0)[:, None]
    if Z.shape[1] > len(which):  # angles are all that counts: turn the rows into as many dimensions as there are rows
        Z = np.ascontiguousarray(scipy_linalg().qr(Z.T, mode="r")[0][: len(which)].T)
    near = nearest_plane(Z, None, clock)
    pairs = which[near.support] * 2 + 1 - data.y[which[near.support]]
    # turning has rounded the rows: what is left of a contradiction is not quite the origin
    if near.lowest > 0 and np.linalg.norm(near.point) > 1e-9 * np.linalg.norm(Z) / len(which) ** 0.5:
        return None
    return pairs, near.weights[near.support]


def weak_plane(data: Data, face: Array, rng: np.random.Generator, clock: Clock) -> Separator | None:
    """Look for a plane that holds the rows of ``face``, and all rows that they span, and has all others on their side.

    With pivot columns J of the face A, weights w on the other columns F determine ``w_J = -A_J⁻¹ A_F w_F``; rows in the
    remaining unknowns are ``x_F - x_J A_J⁻¹ A_F``.
    """
    import scipy.sparse as sp

    A, _, used = packed_rows(data, face)
    clock.check(algebra.operations(A) * (1 + A.ncols() / (1 + A.nrows())))
    rows, pivots = algebra.pivots(A)
    others = sorted(set(range(len(used))) - set(pivots))
    columns, rest = used[pivots].tolist(), used[others].tolist()
    solved, common = algebra.select(A, rows, pivots).solve(algebra.select(A, rows, others)).numer_denom()
    block = data.n_features + data.offset
    assert isinstance(data.rows, Sparse)

    def exact(w: Floats) -> Any:
        """Return the integer weights on all columns, from floats on those that are free."""
        entries = algebra.column(w)
        bound = solved * fmpz_mat(len(rest), 1, [entries[j, 0] for j in rest])
        entries = entries * common
        for k, j in enumerate(columns):
            entries[j, 0] = -bound[k, 0]
        return entries

    guess = rng.integers(1, 2**20, block).astype(np.float64)
    guess[columns] = 0
    off = np.flatnonzero(~vanishing(data, exact(guess))[np.arange(len(data.y)), 1 - data.y])
    X = to_scipy(data.rows, data.n_features)
    X = sp.hstack((X, np.ones((len(data.y), 1))) if data.offset else (X,)).tocsr()[off]
    spread = sp.lil_array((len(columns), block))  # the columns of the face may determine each other altogether
    for i in range(len(columns)):
        spread[i, rest] = [float(fmpq(solved[i, k], common)) for k in range(len(rest))]
    spread = spread.tocsr()
    reduced = X - X[:, columns] @ spread
    keep = np.ones(block)
    keep[columns] = 0
    reduced = sp.csr_array(reduced @ sp.diags_array(keep))
    reduced.eliminate_zeros()
    reduced.sort_indices()
    stored = Sparse(reduced.data, reduced.indices.astype(np.uint64), reduced.indptr.astype(np.uint64))
    view = ScaledView(Data(stored, data.y[off], block, 2, False), rng)
    descent = Descent(view, rng)
    descent.go_on(_PASSES, clock)
    return as_plane(data, exact(descent.w))


_compiled = compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@_compiled
def _pass(rows, y, order, view, sizes, multipliers, plane):
    """Move one multiplier after the other to where its row is met, or to 0; return how many rows were not above 0.

    A row is met at the root of its norm, halfway between all rows alike and all rows scaled to norm 1, which took the
    fewest passes on text; ``w`` are the weights of the rows as given.
    """
    data, indices, indptr = rows
    squares, square = view
    w, b = plane
    wrong = 0
    for k in range(order.size):
        i = order[k]
        start = np.uint64(indptr[i])
        end = np.uint64(indptr[i + 1])
        s = b[0]
        for p in range(start, end):
            s += data[p] * w[indices[p]]
        sign = 2.0 * y[i] - 1.0
        if sign * s <= 0.0:
            wrong += 1
        moved = max(multipliers[i] + (sizes[i] ** 0.25 - sign * s) / sizes[i], 0.0)
        step = (moved - multipliers[i]) * sign
        multipliers[i] = moved
        if step != 0.0:
            for p in range(start, end):
                w[indices[p]] += step * data[p] * squares[indices[p]]
            b[0] += step * square
    return wrong
