"""Sparse rows of very many columns and two classes: contradictions among few or all, and weak planes around these."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpz_mat

from linsep.clock import Clock
from linsep.data.arrays import to_scipy
from linsep.data.parallel import scipy_linalg
from linsep.problem import Array, Floats, Rows, Sparse, take
from linsep.prove.check.integers import mantissas
from linsep.prove.claims import Data, Separator
from linsep.prove.core.constraints import as_plane, packed_rows
from linsep.prove.core.nearest_point import nearest_plane
from linsep.prove.core.newton_cg import Inequalities, least_slacks, squared
from linsep.prove.core.scaled_view import ScaledView
from linsep.prove.linear_algebra import algebra, exact_solve
from linsep.prove.linear_algebra.modular import vanishing

_ROWS_TO_CONTRADICT = (20, 50, 100, 200, 400, 800)  # that pull most
_MOST_SOLVED = 6000  # columns of which a table is written out, about a minute's work
_SHORT, _COARSE = 40, 12  # bits of sums, so that a solution in floats can begin, and at least of multipliers
_TRIED, _OF_A_COLUMN = 1.5, 3  # rows among which pivots are looked for, for each column, and those that have it
_TURNED = 0.3  # operations of turning rows, for every row, row again, and column


def scaled_rows(view: ScaledView) -> tuple[Any, Floats]:
    """Return sparse rows in scaled columns, of size 1, and by what each was divided."""
    Z = _with_ones(view.data, view.data.rows)
    Z.data *= np.append(view.unit, view.constant)[Z.indices]
    return Z, _to_size_one(Z)


def _with_ones(data: Data, rows: Rows) -> Any:
    """Return a copy of sparse rows as a matrix, with the 1 of the offset, if there is one, at the end of each."""
    import scipy.sparse as sp

    X = to_scipy(rows, data.n_features)
    if not data.offset:
        return X.copy()
    cells, columns = (np.insert(part, X.indptr[1:], last) for part, last in ((X.data, 1), (X.indices, X.shape[1])))
    return sp.csr_array((cells, columns, X.indptr + np.arange(len(X.indptr))), (X.shape[0], X.shape[1] + 1))


def _to_size_one(Z: Any) -> Floats:
    """Divide each sparse row by its size; return by what."""
    sizes: Floats = np.sqrt(np.asarray(squared(Z).sum(axis=1)).ravel())
    sizes[sizes == 0] = 1.0  # a row of zeros is on every plane
    Z.data /= np.repeat(sizes, np.diff(Z.indptr))
    return sizes


def contradiction(view: ScaledView, ids: Array, weights: Floats, clock: Clock) -> tuple[Array, Floats] | None:
    """Look for a contradiction among the inequalities of the largest weights: few of them, then more."""
    data, order = view.data, np.argsort(-weights, kind="stable")
    for most in _ROWS_TO_CONTRADICT:
        some = np.sort(ids[order[:most]])
        part = take(data.rows, some // 2)
        assert isinstance(part, Sparse)
        used, columns = np.unique(part.indices, return_inverse=True)
        clock.count(_TURNED * len(some) ** 2 * len(used))
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


def all_that_cancel(view: ScaledView, ids: Array, weights: Floats, clock: Clock) -> tuple[Array, list[Fraction]] | None:
    """Return exact multipliers of inequalities that about cancel and span all columns, where few would not do.

    As many as there are columns, independent and of large weights, are solved for; the others keep theirs, rounded.
    Numbers must be so short that floats hold the sums: counts, zeros and ones, few decimals in binary.
    """
    import scipy.sparse as sp

    data, order = view.data, np.argsort(-weights, kind="stable")
    n = data.n_features + data.offset
    if not n < len(ids) or n > _MOST_SOLVED or not isinstance(data.rows, Sparse):
        return None
    clock.check()
    ids, weights = ids[order], weights[order] / weights.max()
    X = _with_ones(data, take(data.rows, ids // 2))
    X.data *= np.repeat(np.where(data.y[ids // 2] == 1, 1.0, -1.0), np.diff(X.indptr))
    X.eliminate_zeros()
    X.data = np.ldexp(X.data, -int(mantissas(X.data)[1].min()))
    grid = _SHORT - math.ceil(math.log2(float((weights @ abs(X)).max())))  # in bits
    if grid < _COARSE:
        return None
    by_column = sp.csc_array(X)
    by_column.sort_indices()
    firsts = np.minimum(by_column.indptr[:-1, None] + np.arange(_OF_A_COLUMN), by_column.indptr[1:, None] - 1)
    some = np.union1d(np.arange(min(len(ids), int(_TRIED * n))), by_column.indices[firsts])
    scale = np.append(view.unit, view.constant) if data.offset else view.unit
    W = (sp.diags_array(weights[some]) @ X[some] @ sp.diags_array(scale)).toarray(order="F")
    swaps = scipy_linalg().lapack.dgetrf(W, overwrite_a=True)[1]
    clock.check()
    del W
    for k, other in enumerate(swaps.tolist()):
        some[[k, other]] = some[[other, k]]
    pivots, rest = some[:n], np.rint(np.ldexp(weights, grid))
    rest[pivots] = 0
    M, f = sp.csr_array(X[pivots].T), -(rest @ X)
    solution = exact_solve.solve_integers(M, f, M.data.astype(np.int64), f.astype(np.int64), _SHORT + 1, clock)
    if solution is None or min(solution[0]) <= 0:
        return None
    numerators = (rest.astype(np.int64).astype(object) * int(solution[1])).tolist()
    for k, value in zip(pivots.tolist(), solution[0], strict=True):
        numerators[k] = int(value)
    kept = np.flatnonzero(numerators)
    return ids[kept], [Fraction(numerators[k]) for k in kept.tolist()]


def weak_plane(data: Data, face: Array, rng: np.random.Generator, clock: Clock) -> Separator:
    """Look for a plane that holds the rows of ``face``, and all rows that they span, and has all others on their side.

    With pivot columns J of the face A, weights w on the other columns F determine ``w_J = -A_J⁻¹ A_F w_F``; rows in the
    remaining unknowns are ``x_F - x_J A_J⁻¹ A_F``.
    """
    import scipy.sparse as sp

    A, _, used = packed_rows(data, face)
    clock.check()
    rows, pivots = algebra.pivots(A)
    others = sorted(set(range(len(used))) - set(pivots))
    columns, rest = used[pivots].tolist(), used[others].tolist()
    square = algebra.Square(algebra.select(A, rows, pivots), clock)
    solved, common = algebra.over_one(*square.solve(algebra.select(A, rows, others)))
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
    X = _with_ones(data, take(data.rows, off))
    spread = sp.lil_array((len(columns), block))  # the columns of the face may determine each other altogether
    for i in range(len(columns)):
        spread[i, rest] = [float(fmpq(solved[i, k], common)) for k in range(len(rest))]
    keep = np.ones(block)
    keep[columns] = 0
    Z = sp.csr_array((X - X[:, columns] @ spread.tocsr()) @ sp.diags_array(keep))
    _to_size_one(Z)
    v, _ = least_slacks(Inequalities(Z, data.y[off], 2), clock, patient=False)
    return as_plane(data, exact(v))
