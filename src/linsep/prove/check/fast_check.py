"""The fast check of a verdict, which decides exactly as the plain check does, on 100,000 rows in milliseconds.

Who believes its answer trusts this file, ``fast_facts``, ``exact_signs``, and python-flint; who does not runs the plain
check.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import flint
import numpy as np

from linsep.problem import Array, Dense, Sparse
from linsep.prove.check.exact_signs import exact_rows, signs
from linsep.prove.check.fast_facts import (
    SHORT_PRIME,
    cancel,
    inequalities,
    normals,
    rank,
    sparse_inequalities,
    sparse_rank,
    total,
)
from linsep.prove.check.integers import difference
from linsep.prove.claims import NOT_SEPARABLE, OVERLAP, QUASI, SEPARABLE, Claim, Data, Refutation, Separator

_MANY = 1000  # rows of a contradiction whose rank is worth a look at the columns first
_SIGNS = np.array([-1, 1], dtype=np.int8)
SignsOf = Callable[[Array, Array], Array]


def holds(verdict: Claim, data: Data, *, certain: bool = False) -> bool:
    """Return whether the parts that a verdict of its kind needs are there and right.

    What holds, holds. Unless ``certain``, a right proof of "overlap" may be refused with one chance in 2**60: ranks
    are computed modulo a prime, which the search, that tries many, need not wait for.
    """
    plane, contradiction = verdict.separator, verdict.refutation
    plane, data = _in_use(plane, data)
    if verdict.kind == SEPARABLE:
        return plane is not None and contradiction is None and separates(plane, data, strictly=True)
    if verdict.kind == QUASI:
        return plane is not None and separates(plane, data, strictly=False) and contradicts(contradiction, data)
    if verdict.kind == OVERLAP:
        return plane is None and contradicts(contradiction, data, spanning=True, certain=certain)
    if verdict.kind == NOT_SEPARABLE:
        return plane is None and contradicts(contradiction, data)
    return False


def _in_use(plane: Separator | None, data: Data) -> tuple[Separator | None, Data]:
    """Leave out columns in which no row has anything, where nearly all are such: their weights do not matter."""
    rows = data.rows
    if isinstance(rows, Dense) or data.n_features < 2 * len(rows.data):
        return plane, data
    if plane is not None and (plane.w.shape[-1] != data.n_features or not _finite(plane.w)):
        return plane, data
    used, columns = np.unique(rows.indices, return_inverse=True)
    data = data._replace(rows=rows._replace(indices=columns.astype(rows.indices.dtype)), n_features=len(used))
    return None if plane is None else Separator(plane.w[..., used.astype(np.intp)], plane.b), data


def _finite(w: Array) -> bool:
    return w.dtype == object or bool(np.isfinite(w).all())


def separates(plane: Separator, data: Data, *, strictly: bool, signs_of: SignsOf | None = None) -> bool:
    """Return whether every row is on its side; unless ``strictly``, rows may be on the plane, but not all of them.

    ``signs_of`` returns the exact signs of some rows, by number, on a plane, where the rows are only near the numbers.
    """
    signs_of = signs_of or partial(signs, data.rows)
    try:
        W, b = plane.per_class()
    except (AttributeError, OverflowError, ValueError):  # not numbers, or not finite
        return False
    if not plane_fits(W, b, data.classes, data.n_features, data.offset):
        return False
    full, some, two = np.column_stack((W, b)), False, data.classes == 2
    first: dict[Any, int] = {}  # of the classes with the same weights, which need one look
    like = np.array([first.setdefault(_key(row), c) for c, row in enumerate(full)])
    if strictly and not two and (np.bincount(like)[like[data.y]] > 1).any():
        return False  # such a row is on the plane between its class and another
    for label, rival in ((1, 0),) if two else itertools.permutations(sorted(first.values()), 2):
        which = np.arange(len(data.y)) if two else np.flatnonzero(like[data.y] == label)
        side = signs_of(which, difference(full[label], full[rival]))
        if two:  # rows of class 0 ask for the opposite sign
            side *= _SIGNS[data.y]
        if side.min(initial=1) < (1 if strictly else 0):
            return False
        some |= bool(side.max(initial=0) > 0)
    return some


def plane_fits(W: Array, b: Array, classes: int, n_features: int, offset: bool) -> bool:
    """Return whether there are a weight for each feature and an offset, 0 unless there may be one, for each class."""
    if W.shape != (classes, n_features) or b.shape != (classes,) or (b.any() and not offset):
        return False
    return W.dtype == object or bool(np.isfinite(W).all() and np.isfinite(b).all())


def _key(row: Array) -> Any:
    return tuple(row) if row.dtype == object else row.tobytes()


def contradicts(refutation: Refutation | None, data: Data, *, spanning: bool = False, certain: bool = False) -> bool:
    """Return whether the multipliers are positive, the sum vanishes and, if asked, the inequalities span all."""
    if refutation is None or not refutation_fits(refutation, data.y, data.classes):
        return False
    rows = exact_rows(data.rows, refutation.rows, data.offset_column)
    labels, rivals = data.y[refutation.rows].tolist(), refutation.rivals.tolist()
    if isinstance(data.rows, Sparse):
        some, shifts = sparse_inequalities(rows, labels, rivals, data.n_features + 1), [row.shift for row in rows]
        if not cancel(refutation.multipliers, some, shifts):
            return False
        if not spanning or (len(some) > _MANY and _some_span(some, (data.classes - 1) * _most_rank(data))):
            return True
        matrix, _ = inequalities(rows, labels, rivals, data.classes)
    else:
        matrix, shifts = inequalities(rows, labels, rivals, data.classes)
        if total(refutation.multipliers, matrix, shifts):
            return False
    return not spanning or _spans(refutation, data, matrix, certain)


def _some_span(rows: list[dict[int, int]], enough: int) -> bool:
    """Return whether inequalities span all columns, as a few more than are needed show modulo a short prime."""
    for most in (enough + enough // 4, 3 * enough):
        some = np.unique(np.linspace(0, len(rows) - 1, most).astype(np.intp)).tolist()
        if len(some) < enough:
            return False
        if sparse_rank([rows[k] for k in some], SHORT_PRIME) == enough:
            return True
    return False


def _most_rank(data: Data) -> int:
    """Return the number of columns of sparse rows that are neither 0 nor equal to another, the 1 of an offset included.

    The rank of the rows is no larger.
    """
    assert isinstance(data.rows, Sparse)
    values, indices, ends = data.rows
    cells = np.arange(int(ends[0]), int(ends[-1]))
    cells = cells[values[cells] != 0]
    lines = np.searchsorted(ends, cells, side="right") - 1
    order = np.argsort(indices[cells], kind="stable")
    cells, lines = cells[order], lines[order]
    starts = np.flatnonzero(np.diff(indices[cells], prepend=np.inf)).tolist()
    spans = itertools.starmap(slice, itertools.pairwise([*starts, len(cells)]))
    columns = {(lines[span].tobytes(), values[cells[span]].tobytes()) for span in spans}
    n = len(data.y)
    if data.offset:
        columns.add((np.arange(n).tobytes(), np.ones(n, values.dtype).tobytes()))
    return len(columns)


def refutation_fits(refutation: Refutation, y: Array, classes: int) -> bool:
    """Return whether there are multipliers, all positive, and each names a row and a class other than the row's."""
    rows, rivals, multipliers = refutation.rows, refutation.rivals, refutation.multipliers
    if not (0 < len(multipliers) == len(rows) == len(rivals)) or rows.dtype.kind not in "iu":
        return False
    if rivals.dtype.kind not in "iu" or min(rows) < 0 or max(rows) >= len(y):
        return False
    fair = min(rivals) >= 0 and max(rivals) < classes and (y[rows] != rivals).all()
    return bool(fair) and all(isinstance(value, Fraction) and value > 0 for value in multipliers)


def _spans(refutation: Refutation, data: Data, matrix: Any, certain: bool) -> bool:
    """Return whether the combined inequalities span all others.

    All together have rank ``(classes - 1) q`` where ``q`` is the rank of the rows, those that are combined no more.
    """
    rivals, some = data.classes - 1, sorted(set(refutation.rows.tolist()))
    enough = rivals * (data.n_features + data.offset)
    lower = rank(matrix, enough, certain=False)
    if lower == enough or (lower % rivals == 0 and _rank_at_most(lower // rivals, some, data)):
        return True
    if not certain or (exact := rank(matrix, enough)) == lower:
        return False
    return exact % rivals == 0 and _rank_at_most(exact // rivals, some, data)


def _rank_at_most(q: int, some: list[int], data: Data) -> bool:
    """Return whether the rows have rank ``q`` at most, given some rows that span them all if so.

    Among the columns in use there must then be as many independent vectors beyond ``q`` to which every row is
    orthogonal.
    """
    used = _used_columns(data)
    probe = np.unique(np.linspace(0, len(data.y) - 1, 2 * q + 10).astype(np.intp)).tolist()
    if rank(integer_matrix(data, probe, used), 0, certain=False) > q:
        return False  # without a look at all of them
    if len(data.y) <= len(used):
        return rank(integer_matrix(data, list(range(len(data.y))), used), len(used)) <= q
    outside = normals(integer_matrix(data, some, used))
    for vector in outside:
        normal = np.full(data.n_features + 1, Fraction(0), dtype=object)
        normal[used] = [Fraction(value) for value in vector]
        if signs(data.rows, np.arange(len(data.y)), normal).any():
            return False
    return len(outside) >= len(used) - q


def _used_columns(data: Data) -> list[int]:
    """Return the columns that are not zero throughout, the constant of the offset included."""
    if isinstance(data.rows, Sparse):
        used = np.unique(data.rows.indices[data.rows.data != 0])
    else:
        blocks = (data.rows.data[start : start + 4096] for start in range(0, len(data.y), 4096))
        used = np.flatnonzero(np.any([block.any(axis=0) for block in blocks], axis=0))
    return [int(j) for j in used] + [data.n_features] * data.offset


def integer_matrix(data: Data, which: list[int], columns: list[int]) -> Any:
    """Return some rows, each times a power of two, as integers in some columns, which hold all that is not 0."""
    matrix = flint.fmpz_mat(len(which), len(columns))
    place = {column: position for position, column in enumerate(columns)}
    for k, row in enumerate(exact_rows(data.rows, np.array(which), data.offset_column)):
        for j, value in zip(row.columns, row.values, strict=True):
            if value:
                matrix[k, place[j]] = value
    return matrix
