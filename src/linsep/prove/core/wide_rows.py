"""Sparse rows of very many columns and two classes: contradictions among few of them, and weak planes around these."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq, fmpz_mat

from linsep.clock import Clock
from linsep.data.arrays import to_scipy
from linsep.data.parallel import scipy_linalg
from linsep.problem import Array, Floats, Sparse, take
from linsep.prove.claims import Data, Separator
from linsep.prove.core.constraints import as_plane, packed_rows
from linsep.prove.core.nearest_point import nearest_plane
from linsep.prove.core.newton_cg import Inequalities, least_slacks
from linsep.prove.core.scaled_view import ScaledView
from linsep.prove.linear_algebra import algebra
from linsep.prove.linear_algebra.modular import vanishing

_ROWS_TO_CONTRADICT = (20, 50, 100, 200, 400, 800)  # that pull most
_TURNED = 0.3  # operations of turning rows, for every row, row again, and column


def scaled_rows(view: ScaledView) -> tuple[Any, Floats]:
    """Return sparse rows in scaled columns, of size 1, and by what each was divided."""
    import scipy.sparse as sp

    Z = to_scipy(view.data.rows, view.data.n_features).multiply(view.unit)
    if view.data.offset:
        Z = sp.hstack((Z, np.full((len(view.data.y), 1), view.constant)))
    return _of_size_one(Z.tocsr())


def _of_size_one(Z: Any) -> tuple[Any, Floats]:
    import scipy.sparse as sp

    sizes = np.sqrt(np.asarray(Z.multiply(Z).sum(axis=1)).ravel())
    sizes[sizes == 0] = 1.0  # a row of zeros is on every plane
    return sp.csr_array(sp.diags_array(1 / sizes) @ Z), sizes


def contradiction(view: ScaledView, ids: Array, weights: Floats, clock: Clock) -> tuple[Array, Floats] | None:
    """Look for a contradiction among the inequalities of the largest weights: few of them, then more."""
    data, order = view.data, np.argsort(-weights, kind="stable")
    for most in _ROWS_TO_CONTRADICT:
        some = np.sort(ids[order[:most]])
        part = take(data.rows, some // 2)
        assert isinstance(part, Sparse)
        used, columns = np.unique(part.indices, return_inverse=True)
        clock.check(_TURNED * len(some) ** 2 * len(used))
        Z = np.zeros((len(some), len(used) + 1))
        lines = np.repeat(np.arange(len(some)), np.diff(part.indptr).astype(np.intp))
        Z[lines, columns] = part.data * view.unit[part.indices]
        Z[:, -1] = view.constant
        Z *= np.where(data.y[some // 2] == 1, 1.0, -1.0)[:, None]
        if Z.shape[1] > len(some):  # angles are all that counts: turn the rows into as many dimensions as there are
            Z = np.ascontiguousarray(scipy_linalg().qr(Z.T, mode="r")[0][: len(some)].T)
        near = nearest_plane(Z, None, clock)
        # turning has rounded the rows: what is left of a contradiction is not quite the origin
        if not near.lowest > 0 or np.linalg.norm(near.point) <= 1e-9 * np.linalg.norm(Z) / len(some) ** 0.5:
            return some[near.support], near.weights[near.support]
    return None


def weak_plane(data: Data, face: Array, rng: np.random.Generator, clock: Clock) -> Separator:
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
    keep = np.ones(block)
    keep[columns] = 0
    Z, _ = _of_size_one(sp.csr_array((X - X[:, columns] @ spread.tocsr()) @ sp.diags_array(keep)))
    v, _ = least_slacks(Inequalities(Z, data.y[off], 2), clock, patient=False)
    return as_plane(data, exact(v))
