"""Exact signs of ``w·x + b``: floats with error bounds first, integers where they leave a doubt.

The fast check of proofs and the search both use this file; the plain check (``linsep_check``) does not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from linsep.compiling import compiled
from linsep.data.parallel import in_parallel
from linsep.problem import Array, Dense, Rows, count, take
from linsep.prove.check.integers import WORD, Normal, lengths, mantissas

_TOGETHER = 256  # rows that are Python's integers at a time
_FAR = 5000  # beyond every exponent of a float
Exact = Callable[[Array], Array]  # numbers of rows -> the signs asked for


class Row(NamedTuple):
    """A row in integers: ``values[k] * 2**shift`` in column ``columns[k]``, the offset's 1 being the last column."""

    columns: list[int]
    values: list[int]
    shift: int


def exact_rows(rows: Rows, which: Array, offset_column: int | None) -> list[Row]:
    """Return some rows in integers, with a 1 in column ``offset_column`` if there is one."""
    last = [] if offset_column is None else [offset_column]
    if isinstance(rows, Dense):
        cells, d = rows.data[which].ravel(), rows.data.shape[1]
        columns = [[*range(d), *last]] * len(which)
        edges = [d * k for k in range(len(which) + 1)]
    else:
        spans = [slice(int(rows.indptr[i]), int(rows.indptr[i + 1])) for i in which.tolist()]
        cells = np.concatenate([rows.data[span] for span in spans])
        columns = [[*rows.indices[span].tolist(), *last] for span in spans]
        edges = np.cumsum([0, *(span.stop - span.start for span in spans)]).tolist()
    exponents = None
    if cells.dtype.kind == "f":
        if not np.isfinite(cells).all():
            k = int(np.flatnonzero(~np.isfinite(cells))[0])
            row = int(np.searchsorted(edges, k, side="right")) - 1
            raise ValueError(f"X contains NaN or infinity at row {which[row]}, column {columns[row][k - edges[row]]}")
        cells, exponents = mantissas(cells)
    result = []
    for k, (start, stop) in enumerate(itertools.pairwise(edges)):
        values, shift = cells[start:stop], 0
        if exponents is not None:
            used = values != 0
            shift = int(exponents[start:stop].min(initial=0 if last else _FAR, where=used))
            up = np.where(used, exponents[start:stop] - shift, 0)
            values = values << up if (lengths(values) + up).max(initial=0) < WORD else values.astype(object) << up
        result.append(Row(columns[k], [*values.tolist(), *(1 << -shift for _ in last)], shift))
    return result


def sides(plane: Any, y: Array, classes: int, signs_of: Callable[[Array, Normal], Array]) -> Array:
    """Return the exact sign (n, classes) of every row against every rival, 0 against its own class.

    ``signs_of`` returns the signs of some rows, by number, on a normal with its offset.
    """
    n = len(y)
    table = np.zeros((n, classes), dtype=np.int8)
    if classes == 2:
        side = signs_of(np.arange(n), plane.between(1, 0))
        table[np.arange(n), 1 - y] = np.where(y == 1, side, -side)
        return table
    for label, rival in itertools.permutations(range(classes), 2):
        members = np.flatnonzero(y == label)
        if len(members):
            table[members, rival] = signs_of(members, plane.between(label, rival))
    return table


def signs(rows: Rows, which: Array, w: Array | Normal, exact: Exact | None = None) -> Array:
    """Return the exact signs of ``w·(x_i, 1)`` for the rows asked, as int8.

    Floats settle nearly all: a sum whose rounding errors are bounded by less than its size has the right sign. The
    few in doubt are summed again with the rounding errors kept, and what is still in doubt in integers. With
    ``exact``, the rows are the doubles nearest to numbers that it knows, which is within the bound too, and it settles
    all doubts.
    """
    normal = w if isinstance(w, Normal) else Normal(w)
    w = normal.w
    if not w.any():  # two classes that tie everywhere
        return np.zeros(len(which), dtype=np.int8)
    nearest, faithful = normal.floats
    dense = isinstance(rows, Dense)
    first_look: Any = _filter_dense if dense else _filter_sparse
    second_look: Any = _exact_dense if dense else _exact_sparse
    limit = math.inf if rows.data.dtype.kind == "f" else 2.0**53
    sides = np.full(len(which), _DOUBT, dtype=np.int8)

    def settle(start: int, stop: int) -> None:
        chunk, side = which[start:stop], sides[start:stop]
        if nearest is not None:
            part, positions = rows, chunk.astype(np.uint64)
            if dense and not rows.data.flags.c_contiguous:
                part, positions = take(rows, chunk), np.arange(len(chunk), dtype=np.uint64)
            first_look(*part, positions, nearest, side)
            doubt = np.flatnonzero(side == 0)
            side[doubt] = _DOUBT
            if exact is not None:
                return
            if faithful and len(doubt):
                again = side[doubt]
                second_look(*part, positions[doubt], nearest, limit, again)
                side[doubt] = again
        elif exact is not None:
            return
        doubt = np.flatnonzero(side == _DOUBT)
        for some in np.split(doubt, range(_TOGETHER, len(doubt), _TOGETHER)):
            for k, row in zip(
                some.tolist(), exact_rows(rows, chunk[some], len(w) - 1) if len(some) else (), strict=True
            ):
                total = sum(map(mul, row.values, map(normal.whole.__getitem__, row.columns)))
                side[k] = (total > 0) - (total < 0)

    in_parallel(settle, len(which), len(w) if dense else len(rows.data) // max(1, count(rows)) + 1)
    doubt = np.flatnonzero(sides == _DOUBT)
    if exact is not None and len(doubt):
        sides[doubt] = exact(which[doubt])
    return sides


# ---------------------------------------------------------------------------------------------------------------
# Floats with a bound on their error
#
# Let u = 2**-53 and e = 2**-1074. A product is off by u times itself plus e/2 (underflow), an entry of w or an integer
# cell by u times itself (conversion), a sum by u times itself. However the m products and the offset are added up, with
# or without fused operations, the result is off by at most k A + m e, where A is the sum of absolute values and
# k = (1 + u)**(m + 4) - 1 (Higham 2002, section 3.1); the computed A is too small by no more than that. For m < 2**40
# the bound 1.01 (m + 8) u A + 2**-1000 with the computed A covers it, its own rounding included (a term nearer to m e
# would be subnormal, which the processor is slow to add). If anything overflowed or is NaN, the comparison fails and
# the row stays in doubt.

_DOUBT = 2
_any_order = compiled(error_model="numpy", fastmath={"reassoc", "contract"})
_in_order = compiled(error_model="numpy")


@_any_order
def _settle(s, a, terms):
    """Return the sign of a sum ``s`` of products whose absolute values add up to ``a``, or 0 for doubt."""
    error = (terms + 8) * (1.01 * 2.0**-53) * a + 2.0**-1000
    return np.int8(s > error) - np.int8(s < -error)  # signs alternate: a branch would be mispredicted


@_any_order
def _filter_dense(data, which, w, side):
    d = data.shape[1]
    for k in range(which.size):
        x = data[which[k]]
        s = 0.0
        a = 0.0
        for j in range(d):
            product = x[j] * w[j]
            s += product
            a += abs(product)
        side[k] = _settle(s + w[d], a + abs(w[d]), d)


@_any_order
def _filter_sparse(data, indices, indptr, which, w, side):
    one = np.uint64(1)
    d = w.size - 1
    for k in range(which.size):
        p = np.uint64(indptr[which[k]])
        end = np.uint64(indptr[which[k] + one])
        terms = end - p
        s = 0.0
        a = 0.0
        while p < end:
            product = data[p] * w[indices[p]]
            s += product
            a += abs(product)
            p += one
        side[k] = _settle(s + w[d], a + abs(w[d]), float(terms))


# The second look keeps every rounding error: two-product by Dekker's splitting and two-sum by Knuth (Ogita, Rump &
# Oishi 2005, algorithm 5.3). If all errors are zero the sum is exact, and its sign too, be it zero. Otherwise the sum
# plus the summed errors is off by at most 2 m (m + 1) u² A (1 + small). All this holds while nothing under- or
# overflows: cells and weights of ordinary size only, integers up to 2**53 only.

_LARGE, _SMALL = 2.0**400, 2.0**-400


@_in_order
def _add_product(x, v, sum_so_far):
    """Return the sum with ``x v`` added, what rounding lost in that (NaN: unknown), and the size of ``x v``."""
    if x == 0.0 or v == 0.0:
        return sum_so_far, 0.0, 0.0
    if not (_SMALL < abs(x) < _LARGE and _SMALL < abs(v) < _LARGE):
        return sum_so_far, np.nan, 0.0
    product = x * v
    t = 134217729.0 * x
    x_high = t - (t - x)
    x_low = x - x_high
    t = 134217729.0 * v
    v_high = t - (t - v)
    v_low = v - v_high
    product_error = x_low * v_low - (((product - x_high * v_high) - x_low * v_high) - x_high * v_low)
    total = sum_so_far + product
    part = total - sum_so_far
    return total, product_error + ((sum_so_far - (total - part)) + (product - part)), abs(product)


@_in_order
def _settle_again(s, lost, rounded, size, terms):
    """Return the sign of a sum and what rounding ``lost`` of it, in all and in absolute values, or doubt."""
    if rounded == 0.0:
        return 1 if s > 0.0 else (-1 if s < 0.0 else 0)
    error = 2.1 * (terms + 2.0) * (terms + 2.0) * 2.0**-106 * size
    return 1 if s + lost > error else (-1 if s + lost < -error else _DOUBT)  # doubt also if lost is NaN


@_in_order
def _exact_dense(data, which, w, limit, side):
    d = data.shape[1]
    used = np.flatnonzero(w[:d])
    for k in range(which.size):
        i = which[k]
        s, lost, size = w[d], 0.0, abs(w[d])
        rounded = 0.0
        for j in used:
            x = float(data[i, j])
            s, error, product = _add_product(x if abs(x) < limit else np.nan, w[j], s)
            lost += error
            rounded += abs(error)
            size += product
        side[k] = _settle_again(s, lost, rounded, size, float(d + 1))


@_in_order
def _exact_sparse(data, indices, indptr, which, w, limit, side):
    one = np.uint64(1)
    for k in range(which.size):
        p = np.uint64(indptr[which[k]])
        end = np.uint64(indptr[which[k] + one])
        terms = float(end - p + one)
        s, lost, size = w[w.size - 1], 0.0, abs(w[w.size - 1])
        rounded = 0.0
        while p < end:
            x = float(data[p])
            s, error, product = _add_product(x if abs(x) < limit else np.nan, w[indices[p]], s)
            lost += error
            rounded += abs(error)
            size += product
            p += one
        side[k] = _settle_again(s, lost, rounded, size, terms)
