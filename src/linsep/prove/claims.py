"""Verdicts on linear separability, their proofs, and the exact check of a proof: the whole trusted base.

What a proof claims is a statement about the numbers as they are stored, every float being a rational number. Nothing
here has a tolerance. Row ``i`` of class ``y`` asks of the weights ``W`` (one vector a class) and offsets ``b`` that
``(W[y] - W[r])·x_i + b[y] - b[r] > 0`` for every rival class ``r`` (Kesler's construction; Duda & Hart 1973, section
5.12). For two classes ``W = (0, w)``, which is the usual ``y (w·x + b) > 0``.

- A **Separator** meets all these inequalities: strictly for the verdict "separable"; with ``>=``, and ``>`` somewhere,
  for "quasi".
- A **Refutation** is a combination of them with positive weights whose left side vanishes identically. Then weights
  that meet all of them with ``>=`` meet those combined with equality, and none meets all with ``>``.
- If moreover the combined inequalities span all others, only weights without any effect meet all with ``>=``:
  "overlap".

The search for proofs shares no code with this file.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import flint
import numpy as np
import scipy.sparse as sp
from numba import njit

from linsep.data.threads import in_parallel
from linsep.problem import Array, Dense, Rows, Sparse, count, take

SEPARABLE, QUASI, OVERLAP, UNKNOWN = "separable", "quasi", "overlap", "unknown"
_PRIME = 2**63 - 25


class Data(NamedTuple):
    """What a proof is about: rows of ``n_features`` features, their class numbers, and whether planes have offsets."""

    rows: Rows
    y: Array  # (n,)
    n_features: int
    classes: int
    offset: bool

    @property
    def constant(self) -> int | None:
        """The column of the constant 1 that the offset multiplies, if there is one."""
        return self.n_features if self.offset else None


# ---------------------------------------------------------------------------------------------------------------
# What is claimed


@dataclass(frozen=True, eq=False)
class Separator:
    """A plane ``w·x + b = 0``, or one weight vector and offset per class.

    Attributes
    ----------
    w : ndarray of shape (d,) or (classes, d)
        float64; dtype object with ``Fraction`` entries where floats cannot do it.
    b : float or Fraction, or ndarray of shape (classes,)

    Examples
    --------
    >>> import linsep
    >>> plane = linsep.separate([[0.0], [1.0], [2.0]], [0, 0, 1]).separator
    >>> bool(plane.w[0] * 1.0 + plane.b < 0 < plane.w[0] * 2.0 + plane.b)
    True
    """

    w: Array
    b: Any

    def __repr__(self) -> str:
        numbers = "rational" if self.w.dtype == object else "float"
        shape = f"{self.w.shape[0]} classes x {self.w.shape[1]}" if self.w.ndim == 2 else f"{self.w.shape[0]}"
        return f"Separator({numbers} w of {shape} features)"

    def per_class(self) -> tuple[Array, Array]:
        """Return weights (classes, d) and offsets (classes,); of two classes the first has weights 0."""
        if self.w.ndim == 2:
            return self.w, np.asarray(self.b)
        return np.stack((np.zeros_like(self.w), self.w)), np.array([0, self.b], dtype=self.w.dtype)


@dataclass(frozen=True, eq=False)
class Refutation:
    """Rows that contradict each other: ``Σ λ_k y_i x_i = 0`` and ``Σ λ_k y_i = 0`` with ``i = rows[k]``.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Row numbers.
    multipliers : tuple of Fraction
        The ``λ_k``: positive and exact.
    rivals : ndarray of shape (m,)
        Class number that the row is told from; with two classes the other one. For more classes the sum over rows
        of a class minus the sum over rows held against it vanishes, class by class.

    Examples
    --------
    >>> import linsep
    >>> refutation = linsep.separate([[0.0], [2.0], [1.0]], [0, 0, 1]).refutation  # 1 lies between 0 and 2
    >>> refutation.rows.tolist(), [str(multiplier) for multiplier in refutation.multipliers]
    ([0, 1, 2], ['1', '1', '2'])
    """

    rows: Array
    multipliers: tuple[Fraction, ...]
    rivals: Array

    def __repr__(self) -> str:
        return f"Refutation({len(self.rows)} rows: {np.array2string(self.rows, threshold=12)})"


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether some plane separates the classes, with the proof.

    Attributes
    ----------
    kind : {"separable", "quasi", "overlap", "unknown"}
        "quasi": not separable, but a plane has all rows on the right side or on it, and some not on it. "unknown"
        only when a time limit was given and spent.
    separator : Separator or None
        For "separable" and "quasi".
    refutation : Refutation or None
        For "quasi" and "overlap".
    classes : tuple
        Labels; of two, the second is the positive one.
    n_features : int
    fit_intercept : bool
    bracket : tuple of float
        Bounds on the largest margin known when the search ended; see ``separate``.

    Examples
    --------
    >>> import linsep
    >>> linsep.separate([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1])  # the classes touch
    Verdict(quasi, Separator(float w of 1 features), Refutation(2 rows: [1 2]))
    """

    kind: str
    separator: Separator | None
    refutation: Refutation | None
    classes: tuple[Any, ...]
    n_features: int
    fit_intercept: bool
    bracket: tuple[float, float] = (0.0, math.inf)

    def __repr__(self) -> str:
        parts = [self.kind, *(repr(part) for part in (self.separator, self.refutation) if part is not None)]
        return f"Verdict({', '.join(parts)})"

    def check(self, X: Any, y: Any) -> bool:
        """Return whether the proof holds for these data, in exact arithmetic.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)

        Returns
        -------
        holds : bool
            False for "unknown", which proves nothing.

        Examples
        --------
        >>> import linsep
        >>> verdict = linsep.separate([[0.0], [1.0], [2.0]], [0, 0, 1])
        >>> verdict.kind, verdict.check([[0.0], [1.0], [2.0]], [0, 0, 1])
        ('separable', True)
        >>> verdict.check([[0.0], [3.0], [2.0]], [0, 0, 1])
        False
        """
        data = read(X, y, self.classes, self.fit_intercept)
        return data is not None and data.n_features == self.n_features and holds(self, data)


def read(X: Any, y: Any, classes: tuple[Any, ...], offset: bool) -> Data | None:
    """Return data as they are stored, or None if a label is not among the classes or the shapes do not fit."""
    if sp.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        values, unsigned = _stored(X.data), np.dtype(f"u{X.indices.dtype.itemsize}")
        rows: Rows = Sparse(values, X.indices.view(unsigned), X.indptr.view(unsigned))
    else:
        X = _stored(np.asarray(X))
        rows = Dense(X)
    given = y if isinstance(y, list | tuple) and any(isinstance(label, tuple) for label in y) else np.ravel(y).tolist()
    index = {label: code for code, label in enumerate(classes)}
    numbers = np.array([index.get(label, -1) for label in given], dtype=np.intp)
    if X.ndim != 2 or X.shape[0] != len(numbers) or (numbers < 0).any():
        return None
    return Data(rows, numbers, X.shape[1], len(classes), offset)


def _stored(values: Array) -> Array:
    """Return a read-only view of real numbers, as 8- to 64-bit integers, float32 or float64."""
    if values.dtype.kind not in "iuf" or values.dtype.itemsize > 8 or not values.dtype.isnative:
        values = values.astype(np.float64)  # also objects and texts, as far as they are numbers
    elif values.dtype == np.float16:
        values = values.astype(np.float32)
    view = values.view()
    view.flags.writeable = False
    return view


# ---------------------------------------------------------------------------------------------------------------
# The check


def holds(verdict: Verdict, data: Data) -> bool:
    """Return whether the parts that a verdict of its kind needs are there and right."""
    plane, contradiction = verdict.separator, verdict.refutation
    plane, data = _in_use(plane, data)
    if verdict.kind == SEPARABLE:
        return plane is not None and contradiction is None and separates(plane, data, strictly=True)
    if verdict.kind == QUASI:
        return plane is not None and separates(plane, data, strictly=False) and contradicts(contradiction, data)
    if verdict.kind == OVERLAP:
        return plane is None and contradicts(contradiction, data, spanning=True)
    return False


def _in_use(plane: Separator | None, data: Data) -> tuple[Separator | None, Data]:
    """Leave out columns in which no row has anything, where nearly all are such: their weights do not matter."""
    rows = data.rows
    if isinstance(rows, Dense) or data.n_features < 2 * len(rows.data):
        return plane, data
    if plane is not None and (plane.w.shape[-1] != data.n_features or not _finite(plane.w)):
        return plane, data
    used, places = np.unique(rows.indices, return_inverse=True)
    data = data._replace(rows=rows._replace(indices=places.astype(rows.indices.dtype)), n_features=len(used))
    return None if plane is None else Separator(plane.w[..., used.astype(np.intp)], plane.b), data


def _finite(w: Array) -> bool:
    return w.dtype == object or bool(np.isfinite(w).all())


def separates(plane: Separator, data: Data, *, strictly: bool) -> bool:
    """Return whether every row is on its side; unless ``strictly``, rows may be on the plane, but not all of them."""
    W, b = plane.per_class()
    if W.shape != (data.classes, data.n_features) or b.shape != (data.classes,) or (b.any() and not data.offset):
        return False
    if W.dtype != object and not (np.isfinite(W).all() and np.isfinite(b).all()):
        return False
    full, some, two = np.column_stack((W, b)), False, data.classes == 2
    for own, rival in ((1, 0),) if two else itertools.permutations(range(data.classes), 2):
        which = np.arange(len(data.y)) if two else np.flatnonzero(data.y == own)
        side = signs(data.rows, which, difference(full[own], full[rival]))
        if two:  # rows of class 0 ask for the opposite sign
            side[data.y == 0] *= -1
        if side.min(initial=1) < (1 if strictly else 0):
            return False
        some |= bool(side.max(initial=0) > 0)
    return some


def contradicts(refutation: Refutation | None, data: Data, *, spanning: bool = False) -> bool:
    """Return whether the multipliers are positive, the sum vanishes and, if asked, the inequalities span all."""
    if refutation is None or not _well_formed(refutation, data):
        return False
    matrix, shifts = combined(refutation, data)
    return _cancels(refutation, matrix, shifts) and (not spanning or _spans(refutation, data, matrix))


def _well_formed(refutation: Refutation, data: Data) -> bool:
    """Return whether there are multipliers, all positive, and each names a row and a class other than the row's."""
    i, r, multipliers = refutation.rows, refutation.rivals, refutation.multipliers
    if not (0 < len(multipliers) == len(i) == len(r)) or i.min() < 0 or i.max() >= len(data.y):
        return False
    fair = r.min() >= 0 and r.max() < data.classes and (data.y[i] != r).all()
    return bool(fair) and all(isinstance(value, Fraction) and value > 0 for value in multipliers)


def combined(refutation: Refutation, data: Data) -> tuple[Any, list[int]]:
    """Return the inequalities of a refutation as integer rows, and the exponent of the power of two left out of each.

    The columns are the weights and offsets that occur, for each class but 0: adding one vector to the weights of all
    classes has no effect, so that without loss of generality those of class 0 are zero.
    """
    rows = exact_rows(data.rows, refutation.rows, data.constant)
    dense, owns = isinstance(data.rows, Dense), data.y[refutation.rows].tolist()
    used = range(data.n_features + data.offset) if dense else sorted({j for row in rows for j in row.columns})
    place = {column: position for position, column in enumerate(used)}
    table, zeros = [], [0] * len(used)
    for own, rival, row in zip(owns, refutation.rivals.tolist(), rows, strict=True):
        values = row.values if dense else [0] * len(used)
        for j, value in () if dense else zip(row.columns, row.values, strict=True):
            values[place[j]] = value
        blocks = [zeros] * data.classes
        blocks[own] = values
        if rival:
            blocks[rival] = [-value for value in values]
        table.append([*itertools.chain.from_iterable(blocks[1:])])
    return flint.fmpz_mat(table), [row.shift for row in rows]


def _cancels(refutation: Refutation, matrix: Any, shifts: list[int]) -> bool:
    """Return whether the weighted sum of the combined inequalities vanishes."""
    common = math.lcm(*(weight.denominator for weight in refutation.multipliers))
    lowest = min(shifts)
    factors = [
        weight.numerator * (common // weight.denominator) << (shift - lowest)
        for weight, shift in zip(refutation.multipliers, shifts, strict=True)
    ]
    total = flint.fmpz_mat(1, len(factors), factors) * matrix
    return bool(total == flint.fmpz_mat(1, matrix.ncols()))


def _spans(refutation: Refutation, data: Data, matrix: Any) -> bool:
    """Return whether the combined inequalities span all others.

    All together have rank ``(classes - 1) q`` where ``q`` is the rank of the rows. That of the combined ones is at
    least the rank of their residues modulo a prime; powers of two left out do not matter to it.
    """
    rivals, columns = data.classes - 1, data.n_features + data.offset
    rank = flint.nmod_mat(matrix, _PRIME).rank()
    if rank == rivals * columns:
        return True
    return rank % rivals == 0 and _rank_at_most(rank // rivals, sorted(set(refutation.rows.tolist())), data)


def _rank_at_most(q: int, some: list[int], data: Data) -> bool:
    """Return whether the rows have rank ``q`` at most, given some rows that span them all if so.

    Among the columns in use there must then be as many independent vectors beyond ``q`` to which every row is
    orthogonal.
    """
    used = _used_columns(data)
    probe = np.unique(np.linspace(0, len(data.y) - 1, 2 * q + 10).astype(np.intp)).tolist()
    if flint.nmod_mat(integer_matrix(data, probe, used), _PRIME).rank() > q:
        return False  # without a look at all of them
    if len(data.y) <= len(used):
        return bool(integer_matrix(data, list(range(len(data.y))), used).rank() <= q)
    basis, nullity = integer_matrix(data, some, used).nullspace()  # its first `nullity` columns
    if nullity < len(used) - q:
        return False
    everyone = np.arange(len(data.y))
    for k in range(nullity):
        normal = np.full(data.n_features + 1, Fraction(0), dtype=object)
        divisor = math.gcd(*(int(basis[j, k]) for j in range(len(used))))
        normal[used] = [Fraction(int(basis[j, k]) // divisor) for j in range(len(used))]
        if signs(data.rows, everyone, normal).any():
            return False
    return True


def _used_columns(data: Data) -> list[int]:
    """Return the columns that are not zero throughout, the constant of the offset included."""
    if isinstance(data.rows, Sparse):
        used = np.unique(data.rows.indices[data.rows.data != 0])
    else:
        blocks = (data.rows.data[start : start + 4096] for start in range(0, len(data.y), 4096))
        used = np.flatnonzero(np.any([block.any(axis=0) for block in blocks], axis=0))
    return [int(j) for j in used] + [data.n_features] * data.offset


# ---------------------------------------------------------------------------------------------------------------
# Exact numbers


class Row(NamedTuple):
    """A row in integers: ``values[k] * 2**shift`` in column ``columns[k]``, the offset's 1 being the last column."""

    columns: list[int]
    values: list[int]
    shift: int


def exact_rows(rows: Rows, which: Array, constant: int | None) -> list[Row]:
    """Return some rows in integers, with a 1 in column ``constant`` if there is one."""
    last = [] if constant is None else [constant]
    if isinstance(rows, Dense):
        cells, d = rows.data[which].ravel(), rows.data.shape[1]
        columns = [[*range(d), *last]] * len(which)
        edges = [d * k for k in range(len(which) + 1)]
    else:
        spans = [slice(int(rows.indptr[i]), int(rows.indptr[i + 1])) for i in which.tolist()]
        cells = np.concatenate([rows.data[span] for span in spans])
        columns = [[*rows.indices[span].tolist(), *last] for span in spans]
        edges = np.cumsum([0, *(span.stop - span.start for span in spans)]).tolist()
    whole, places = cells, np.zeros(0, dtype=np.int32)
    if cells.dtype.kind == "f":
        if not np.isfinite(cells).all():
            k = int(np.flatnonzero(~np.isfinite(cells))[0])
            row = int(np.searchsorted(edges, k, side="right")) - 1
            raise ValueError(f"X contains NaN or infinity at row {which[row]}, column {columns[row][k - edges[row]]}")
        mantissas, exponents = np.frexp(cells.astype(np.float64))
        whole = (mantissas * 2.0**53).astype(np.int64)
        places = np.where(mantissas == 0, 1100, exponents - 53)  # zeros have no say in the shift
    found = []
    for k, (start, stop) in enumerate(itertools.pairwise(edges)):
        values, shift = whole[start:stop], 0
        if len(places):
            shift = int(places[start:stop].min(initial=0 if last else 1100))
            up = places[start:stop] - shift
            values = values << up if up.max(initial=0) <= 10 else values.astype(object) << up  # into 63 bits, or more
        found.append(Row(columns[k], [*values.tolist(), *(1 << -shift for _ in last)], shift))
    return found


def integer_matrix(data: Data, which: list[int], columns: list[int]) -> Any:
    """Return some rows, each times a power of two, as integers in some columns, which hold all that is not 0."""
    matrix = flint.fmpz_mat(len(which), len(columns))
    place = {column: position for position, column in enumerate(columns)}
    for k, row in enumerate(exact_rows(data.rows, np.array(which), data.constant)):
        for j, value in zip(row.columns, row.values, strict=True):
            if value:
                matrix[k, place[j]] = value
    return matrix


def difference(u: Array, v: Array) -> Array:
    """Return ``u - v`` without rounding: floats where that is possible, else fractions."""
    if u.dtype != object and v.dtype != object:
        with np.errstate(over="ignore", invalid="ignore"):
            gap = u - v
            part = gap - u  # Knuth's two-sum: the rounding error of u - v is exactly (u - (gap - part)) - (v + part)
            if np.isfinite(gap).all() and not ((u - (gap - part)) - (v + part)).any():
                return gap
    return np.array([Fraction(a) - Fraction(c) for a, c in zip(u.tolist(), v.tolist(), strict=True)], dtype=object)


def signs(rows: Rows, which: Array, w: Array) -> Array:
    """Return the exact signs of ``w·(x_i, 1)`` for the rows asked, as int8.

    Floats settle nearly all: a sum whose rounding errors are bounded by less than its size has the right sign. The
    few in doubt are summed again with the rounding errors kept, and what is still in doubt in integers.
    """
    whole = [] if w.dtype != object else _integers(w)
    nearest, faithful = _floats(w, whole)
    dense = isinstance(rows, Dense)
    first_look: Any = _filter_dense if dense else _filter_sparse
    second_look: Any = _exact_dense if dense else _exact_sparse
    limit = math.inf if rows.data.dtype.kind == "f" else 2.0**53
    sides = np.full(len(which), _DOUBT, dtype=np.int8)

    def settle(start: int, stop: int) -> None:
        chunk, side = which[start:stop], sides[start:stop]
        if nearest is not None:
            part, places = rows, chunk.astype(np.uint64)
            if dense and not rows.data.flags.c_contiguous:
                part, places = take(rows, chunk), np.arange(len(chunk), dtype=np.uint64)
            first_look(*part, places, nearest, side)
            doubt = np.flatnonzero(side == 0)
            side[doubt] = _DOUBT
            if faithful and len(doubt):
                again = side[doubt]
                second_look(*part, places[doubt], nearest, limit, again)
                side[doubt] = again
        doubt = np.flatnonzero(side == _DOUBT)
        v = whole or (_integers(w) if len(doubt) else [])
        for k in doubt.tolist():
            (row,) = exact_rows(rows, chunk[k : k + 1], len(w) - 1)
            total = sum(value * v[j] for j, value in zip(row.columns, row.values, strict=True))
            side[k] = (total > 0) - (total < 0)

    in_parallel(settle, len(which), len(w) if dense else len(rows.data) // max(1, count(rows)) + 1)
    return sides


def _integers(w: Array) -> list[int]:
    """Return ``w`` times a positive number, in integers."""
    ratios = [value.as_integer_ratio() for value in w.tolist()]
    common = math.lcm(*(denominator for _, denominator in ratios))
    return [numerator * (common // denominator) for numerator, denominator in ratios]


def _floats(w: Array, whole: list[int]) -> tuple[Array | None, bool]:
    """Return ``w`` times a positive number, each entry rounded to the nearest float, and whether none had to be.

    None if an entry is out of the range in which rounding changes it by at most a factor ``1 ± 2**-53``.
    """
    if w.dtype != object:
        return w.astype(np.float64), True
    unit = 1 << max(abs(value) for value in whole).bit_length()
    nearest = [value / unit for value in whole]
    if any(value and abs(near) < 2.0**-1000 for value, near in zip(whole, nearest, strict=True)):
        return None, False
    return np.array(nearest), all(Fraction(near) * unit == value for value, near in zip(whole, nearest, strict=True))


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
_any_order = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
_in_order = njit(cache=True, nogil=True, error_model="numpy")


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
def _add_product(x, v, state):
    """Add ``x v`` to the sum state[0], its rounding errors to state[1], its size to state[2]; note what went wrong."""
    if x == 0.0 or v == 0.0:
        return
    if not (_SMALL < abs(x) < _LARGE and _SMALL < abs(v) < _LARGE):
        state[3] = 1.0
        return
    product = x * v
    t = 134217729.0 * x
    x_high = t - (t - x)
    x_low = x - x_high
    t = 134217729.0 * v
    v_high = t - (t - v)
    v_low = v - v_high
    product_error = x_low * v_low - (((product - x_high * v_high) - x_low * v_high) - x_high * v_low)
    s = state[0]
    total = s + product
    part = total - s
    sum_error = (s - (total - part)) + (product - part)
    state[0] = total
    state[1] += product_error + sum_error
    state[2] += abs(product)
    if product_error != 0.0 or sum_error != 0.0:
        state[4] = 1.0


@_in_order
def _settle_again(state, terms):
    """Return the sign of the sum that ``state`` holds, or doubt."""
    if state[3] != 0.0:
        return _DOUBT
    if state[4] == 0.0:
        return 1 if state[0] > 0.0 else (-1 if state[0] < 0.0 else 0)
    error = 2.1 * (terms + 2.0) * (terms + 2.0) * 2.0**-106 * state[2]
    s = state[0] + state[1]
    return 1 if s > error else (-1 if s < -error else _DOUBT)


@_in_order
def _exact_dense(data, which, w, limit, side):
    d = data.shape[1]
    state = np.empty(5)
    for k in range(which.size):
        i = which[k]
        state[:] = 0.0
        for j in range(d):
            x = float(data[i, j])
            if abs(x) >= limit:
                state[3] = 1.0
            _add_product(x, w[j], state)
        _add_product(1.0, w[d], state)
        side[k] = _settle_again(state, float(d + 1))


@_in_order
def _exact_sparse(data, indices, indptr, which, w, limit, side):
    one = np.uint64(1)
    state = np.empty(5)
    for k in range(which.size):
        p = np.uint64(indptr[which[k]])
        end = np.uint64(indptr[which[k] + one])
        terms = float(end - p + one)
        state[:] = 0.0
        while p < end:
            x = float(data[p])
            if abs(x) >= limit:
                state[3] = 1.0
            _add_product(x, w[indices[p]], state)
            p += one
        _add_product(1.0, w[w.size - 1], state)
        side[k] = _settle_again(state, terms)
