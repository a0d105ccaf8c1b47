"""Turns each family of regression models into inequalities and equations on the coefficients.

A family says, for every direction ``g`` in which coefficients could go, when the likelihood never falls: ``z·g >= 0``
for its inequalities and ``z·g = 0`` for its equations (Albert & Anderson 1984; Geyer 2009; Correia, Guimarães &
Zylkin 2019).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpz_mat

from linsep.clock import Clock
from linsep.data.arrays import is_sparse, to_rows
from linsep.errors import DataError, ParameterError
from linsep.problem import Array
from linsep.prove.check.integers import over_power
from linsep.prove.claims import Data
from linsep.prove.core.constraints import Constraints, LongConstraints
from linsep.prove.numbers.cells import (
    Cells,
    ExactRows,
    LongDecimals,
    cells,
    nearest_doubles,
    short_cells,
    whole_table,
)
from linsep.prove.numbers.exact_numbers import BINARY, DECIMAL, all_finite, exact_rows, nearest
from linsep.prove.regression.responses import column_name, in_order, numbers, refuse_negative, trials

if TYPE_CHECKING:
    from linsep.prove.regression.inputs import Given

INTERCEPT = "Intercept"
_PAIRS = 20_000_000  # rows of differences that memory holds
_CELLS = 1 << 26  # of a sparse matrix whose differences may be written out as Python's integers
_LARGEST = 2.0**900  # doubles up to here leave space for sums
_WIDE = 12_000  # unknowns; an exact basis of more takes gigabytes
_FEW_CELLS = 1 << 12  # which are integers at once; of more the doubles near to them come first
_DENSE = 10_000_000  # cells of a sparse matrix that may be written out
_BLOCK = 1000  # rows that are Python's integers at a time
_SAMPLE = 1000  # rows that show whether a matrix has columns of categories
_ZEROS = 0.75  # share of its cells then
_ROWS_EACH = 10  # for every column: fewer take no time as they are


@dataclass(frozen=True)
class Model:
    """A model's rows: the system, and what its unknowns and its rows stand for."""

    system: Constraints
    names: list[str]  # of the coefficients, in the order in which they are shown
    order: list[int]  # the unknown of each coefficient
    scales: list[int]  # by coefficient: what its column was multiplied by
    first: Array  # by constraint: an observation
    second: Array  # the other observation of a difference, or -1
    classes: tuple[Any, ...] = ()


def modeled(given: Given, clock: Clock) -> tuple[Model, Cells]:
    """Return the rows of the model that is given, and its design in exact cells."""
    design = exact_design(given)
    clock.check()
    model: Model = FAMILIES[given.family](given, design)
    model.system.clock = clock
    if len(model.names) > _WIDE:
        raise DataError(
            "", f"the model has {len(model.names):,} coefficients, those of absorbed factors among them, more than "
            f"{_WIDE:,}: leave out a factor, or merge its rare levels"
        )  # fmt: skip
    return model, design


def constraints_of(
    design: Cells, code: Array, offset: bool = False, classes: int = 2, equal: Any = None
) -> Constraints:
    """Return the constraints of rows of some classes, in the exact numbers that the matrix may only be near to."""
    matrix = design.matrix.tocsr() if is_sparse(design.matrix) else np.ascontiguousarray(design.matrix)
    data = Data(to_rows(matrix), code.astype(np.intp), matrix.shape[1], classes, offset)
    if design.exact is None:
        return Constraints(data, equal)
    basis = None
    if design.rough:  # with a basis, the core uses no floats
        unknowns = (classes - 1) * (matrix.shape[1] + offset)
        basis = fmpz_mat(unknowns, unknowns, [int(i == j) for i in range(unknowns) for j in range(unknowns)])
    return LongConstraints(design.exact, design.scales, data, equal, basis)


# ---------------------------------------------------------------------------------------------------------------
# One observation at a time


def _by_class(
    given: Given, design: Cells, code: Array, equal: Any = None, classes: Sequence[Any] = (), prefixes: Any = ("",)
) -> Model:
    """Return a model with one row for every observation or, of several classes, one against each rival."""
    which, d, C = given.which, design.n_features, len(prefixes) + 1
    if len(which) < given.n:
        exact = None if design.exact is None else design.exact.take(which)
        design = design._replace(matrix=design.matrix[which], exact=exact)
    if C == 2 and design.exact is None and _has_categories(design.matrix):
        import scipy.sparse as sp

        design = design._replace(matrix=sp.csr_array(design.matrix))  # whose columns of categories can be eliminated
    system = constraints_of(design, code, given.offset, C, equal)
    names, columns, scales = list(given.names), list(range(d)), design.scales
    if given.offset:
        names, columns, scales = [INTERCEPT, *names], [d, *columns], [1, *scales]
    order = [c * (d + given.offset) + j for c in range(C - 1) for j in columns]
    first = which[system.ids // C]
    prefixed = [prefix + name for prefix in prefixes for name in names]
    return Model(system, prefixed, order, scales * (C - 1), first, np.full(len(first), -1), tuple(classes))


def _has_categories(matrix: Any) -> bool:
    """Return whether most columns of a dense matrix are 0 and 1, and most cells 0, by some of its many rows."""
    if is_sparse(matrix) or len(matrix) < _ROWS_EACH * matrix.shape[1]:
        return False
    some = matrix[:: len(matrix) // _SAMPLE + 1]
    zero = some == 0
    return bool(np.count_nonzero(zero) > _ZEROS * some.size and np.mean((zero | (some == 1)).all(axis=0)) > 0.5)


def _binomial(given: Given, design: Cells) -> Model:
    ones, zeros = trials(given.y, given.which, given.order, given.response)
    if ones.all() or zeros.all():
        value = "all successes" if ones.all() else "all failures"
        if given.y.ndim == 1 and len(given.which):
            value = repr(given.y[given.which[:1]].tolist()[0])
        raise DataError("", f"{given.name} is constant: every row is {value}, nothing to model")
    classes = given.labels[1] if given.y.ndim == 1 and given.y.dtype.kind != "f" else ()
    return _by_class(given, design, ones, ~ones & ~zeros, classes if len(classes) == 2 else (0, 1))


def _counts(given: Given, design: Cells) -> Model:
    y = numbers(given.y, *given.response)
    if y.ndim != 1:
        raise DataError("", f"{given.name} must be one column of counts, got shape {y.shape}")
    y = y[given.which]
    refuse_negative(y, given.which, given.name)
    if not y.any():
        raise DataError("", f"{given.name} is 0 in every row: nothing to model")
    return _by_class(given, design, np.zeros(len(y)), y > 0)


def _classes(given: Given) -> tuple[Array, tuple[Any, ...]]:
    """Return the class numbers of the rows that count, and the labels, at least two."""
    codes, classes = given.labels
    if len(classes) < 2:
        raise DataError("", f"{given.name} is constant: every row is {classes[0]!r}, nothing to model")
    return codes[given.which], classes


def _multinomial(given: Given, design: Cells) -> Model:
    codes, classes = _classes(given)
    return _by_class(given, design, codes, None, classes, [f"{label}:" for label in classes[1:]])


def _ordinal(given: Given, design: Cells) -> Model:
    """Rows between their thresholds, and the order of these: it is not in the rows if a category has none."""
    codes, classes = _classes(given)
    K = len(classes)
    upper, lower = np.flatnonzero(codes < K - 1), np.flatnonzero(codes > 0)
    at = np.concatenate((upper, lower))
    sign = np.repeat([0, 1], (len(upper), len(lower)))  # t - x·g >= 0 and x·g - t >= 0
    by_row = np.lexsort((sign, at))
    at, sign = at[by_row], sign[by_row]
    owners, m = given.which[at], len(at)
    steps = np.eye(K - 2, K - 1, 1, dtype=np.int8) - np.eye(K - 2, K - 1, dtype=np.int8)  # t_k - t_(k-1)
    left = np.vstack((-(np.arange(K - 1) == (codes[at] - sign)[:, None]).astype(np.int8), steps))
    scales, exact = [1] * (K - 1) + design.scales, None
    if (base := design.exact) is not None:

        def read(rows: list[int]) -> list[list[Any]]:
            cells = iter(base.exact(owners[[row for row in rows if row < m]]))
            zeros = [0] * design.n_features
            return [[*left[row].tolist(), *(next(cells) if row < m else zeros)] for row in rows]

        near = _beside(left, base.near.data[owners])
        exact = ExactRows(LongDecimals(near, read, lambda: design.rough), DECIMAL)
    wide = Cells(_beside(left, design.matrix[owners]), scales, [Fraction(0)] * len(scales), exact, design.rough)
    names = [f"{low}|{high}" for low, high in itertools.pairwise(classes)] + list(given.names)
    first = np.concatenate((owners, np.full(K - 2, -1)))
    system = constraints_of(wide, np.concatenate((sign, np.ones(K - 2))))
    return Model(system, names, list(range(len(names))), scales, first, np.full(len(first), -1), classes)


def _beside(left: Array, x: Any) -> Any:
    """Return columns of small integers and others, which have 0 in the last rows, as one matrix."""
    more = len(left) - x.shape[0]
    if is_sparse(x):
        import scipy.sparse as sp

        return sp.csr_array(sp.hstack((sp.csr_array(left), sp.vstack((x, sp.csr_array((more, x.shape[1])))))))
    return np.hstack((left, np.vstack((x, np.zeros((more, x.shape[1]), x.dtype)))))


# ---------------------------------------------------------------------------------------------------------------
# Differences of observations


def _conditional(given: Given, design: Cells) -> Model:
    if given.strata is None:
        raise ParameterError("strata", None, "given for the family conditional: one group label for every row")
    y, which = numbers(given.y, *given.response), given.which
    if y.ndim != 1 or not np.isin(y[which], (0.0, 1.0)).all():
        what = f"{given.name} of the family conditional must be 0 and 1"
        raise DataError("", f"{what}: 1 for the rows that were chosen")
    groups, codes = in_order(given.strata[which])
    case = y[which] == 1
    cases, sizes = np.bincount(codes[case], minlength=len(groups)), np.bincount(codes, minlength=len(groups))
    if (cases == 0).any():
        at = int(np.flatnonzero(cases == 0)[0])
        raise DataError(f"stratum {groups[at].item()!r}", f"no row has {given.name} = 1: leave the stratum out")
    if (cases == sizes).all():
        raise DataError("", f"{given.name} is constant within every stratum: nothing to model")
    first, second = [], []
    for members in np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1]):
        chosen, others = members[case[members]], members[~case[members]]
        first.append(np.repeat(chosen, len(others)))
        second.append(np.tile(others, len(chosen)))
    return _differences(given, design, np.concatenate(first), np.concatenate(second))


def _cox(given: Given, design: Cells) -> Model:
    """Differences within risk sets (Breslow's for ties): those that all others are sums of.

    The risk set of an event holds that of every later one, so an event is held against the rows that leave before the
    next event, and against one row of that next event, which is held against all later ones.
    """
    table, which = numbers(given.y, *given.response), given.which
    if table.ndim != 2 or table.shape[1] != 2:
        two = "must have two columns: the time, and 1 for an event or 0 if censored"
        raise DataError("", f"{given.name} of the family cox {two}")
    odd = which[~np.isin(table[which, 1], (0.0, 1.0))]
    if len(odd):
        name = column_name(given.response, (int(odd[0]), 1))
        what = f"the event {name} is {table[odd[0], 1]:g}; it must be 1 for an event or 0 if censored"
        raise DataError(f"row {int(odd[0])}", what)
    time, event = table[which, 0], table[which, 1] == 1
    if not event.any():
        raise DataError("", "no row has an event: nothing to model")
    codes = np.zeros(len(which), dtype=np.intp) if given.strata is None else in_order(given.strata[which])[1]
    first: list[int] = []
    second: list[int] = []
    for members in np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1]):
        members = members[np.argsort(-time[members], kind="stable")]
        waiting: list[int] = []
        later: list[int] = []  # an event of the next later time
        for same in np.split(members, np.flatnonzero(np.diff(time[members])) + 1):
            events = same[event[same]].tolist()
            waiting += same[~event[same]].tolist()
            if events:
                first += [events[0]] * (len(waiting) + len(later))
                second += waiting + later
                for other in events[1:]:  # tied events are equal
                    first += [events[0], other]
                    second += [other, events[0]]
                waiting, later = [], events[:1]
    if not first:
        raise DataError("", "no event has another row at risk: nothing to model")
    return _differences(given, design, first, second)


def _differences(given: Given, design: Cells, first: Any, second: Any) -> Model:
    """Return a model of rows ``(x_first - x_second)·g >= 0``, each exactly, of pairs of rows that count."""
    first, second = given.which[np.asarray(first, dtype=np.intp)], given.which[np.asarray(second, dtype=np.intp)]
    if len(first) > _PAIRS:
        raise DataError("", f"{len(first):,} pairs within strata do not fit into memory: make the strata smaller")
    scales, names = design.scales, list(given.names)
    difference = None if design.exact is not None else _exact_difference(design.matrix[first], design.matrix[second])
    if difference is not None:
        cells = Cells(difference, scales, design.shifts)
    else:
        whole, scales = _integers(design)
        cells = differences(whole, first, second)
    return Model(constraints_of(cells, np.ones(len(first))), names, list(range(len(names))), scales, first, second)


def differences(whole: Array, first: Array, second: Array) -> Cells:
    """Return rows of integers of any length minus others, or minus nothing where the number of these is -1."""

    def read(rows: Any) -> list[list[int]]:
        owners, others = first[rows], second[rows]
        found: list[list[int]] = (whole[owners] - np.where((others < 0)[:, None], 0, whole[others])).tolist()
        return found

    near: Array = np.empty((len(first), whole.shape[1]))
    for k in range(0, len(first), _BLOCK):
        near[k : k + _BLOCK] = [[nearest(value) for value in row] for row in read(slice(k, k + _BLOCK))]
    width = whole.shape[1]
    exact = ExactRows(LongDecimals(near, read, lambda: False), DECIMAL)
    rough = not (np.abs(near) <= _LARGEST).all()
    return Cells(near, [1] * width, [Fraction(0)] * width, exact, rough)


def _exact_difference(a: Any, b: Any) -> Any:
    """Return ``a - b``, None if it has a rounding error (Knuth's two-sum)."""
    if a.dtype.kind in "iub":
        sizes = [abs(int(value)) for x in map(_stored, (a, b)) if x.size for value in (x.min(), x.max())]
        return a.astype(np.int64) - b.astype(np.int64) if max(sizes, default=0) < 1 << 61 else None
    with np.errstate(over="ignore", invalid="ignore"):
        difference = a - b
        part = difference - a
        error = (a - (difference - part)) - (b + part)
    return None if _stored(error).any() or not np.isfinite(_stored(difference)).all() else difference


def _stored(matrix: Any) -> Array:
    found: Array = matrix.data if is_sparse(matrix) else matrix
    return found


def _integers(design: Cells) -> tuple[Array, list[int]]:
    """Return all rows of a design as integers of Python, and what each column was multiplied by."""
    X, scales = design.matrix, design.scales
    if design.exact is not None:
        ratios = ((value.as_integer_ratio() for value in row) for row in design.exact.exact(slice(None)))
        rows = [[p * (scale // q) for (p, q), scale in zip(row, scales, strict=True)] for row in ratios]
        return np.array(rows, dtype=object).reshape(X.shape), scales
    if is_sparse(X) and X.shape[0] * X.shape[1] > _CELLS:
        raise DataError("X", "differences of rows of a sparse matrix have more digits than 64 bits hold: round it")
    whole, power = integers(X.toarray() if is_sparse(X) else X)
    return whole, [scale << power for scale in scales]


def integers(x: Array) -> tuple[Array, int]:
    """Return numbers times one power of two as integers of Python, and its exponent: directions stay short."""
    columns = [over_power(column) for column in x.T]
    power = max((-exponent for _, exponent in columns if exponent < 0), default=0)
    table = [whole << (exponent + power) for whole, exponent in columns]
    return np.array(table, dtype=object).reshape(x.shape[::-1]).T, power


FAMILIES: dict[str, Any] = {
    "binomial": _binomial,
    "poisson": _counts,
    "negative-binomial": _counts,
    "multinomial": _multinomial,
    "ordinal": _ordinal,
    "conditional": _conditional,
    "cox": _cox,
}
WITHOUT_INTERCEPT = ("ordinal", "conditional", "cox")


# ---------------------------------------------------------------------------------------------------------------
# The design in exact cells


def exact_design(given: Given) -> Cells:
    """Return a design in exact cells; doubles near to numbers too long for 64 bits may stand for them."""
    X, values = given.X, given.values
    _refuse_not_finite(X, given.names)
    design = short_cells(X, values)
    if design is not None:
        return design
    if is_sparse(X):
        if X.shape[0] * X.shape[1] > _DENSE:
            raise DataError("X", "a sparse matrix has decimals of more than 15 digits: use {0}", ("values", BINARY))
        return exact_design(replace(given, X=X.toarray()))
    lazily = isinstance(X, LongDecimals)
    if X.dtype == object and not lazily and any(isinstance(value, str | bytes) for value in X.flat):
        X = np.array(list(exact_rows(X, values, given.names)), dtype=object).reshape(X.shape)
    if not lazily and X.size <= _FEW_CELLS and (design := cells(X, values)) is not None:
        return design
    exact, zero = ExactRows(X, values), [Fraction(0)] * X.shape[1]
    scaled = exact.scaled()
    if scaled is not None:
        return Cells(scaled[1], scaled[0], zero, exact)
    X = whole_table(X)
    exact = ExactRows(X, values)
    signs = (X > 0).astype(np.float64) - (X < 0)
    return Cells(signs, [exact.scale(j) for j in range(X.shape[1])], zero, exact, rough=True)


def _refuse_not_finite(X: Any, names: Sequence[str]) -> None:
    """Refuse NaN and infinity, with their place."""
    table = nearest_doubles(X) if isinstance(X, LongDecimals) else X
    if table.dtype == object:
        bad = (
            place for place, value in np.ndenumerate(table)
            if value is None or (isinstance(value, float | Decimal) and not math.isfinite(value))
        )  # fmt: skip
        for i, j in bad:
            raise DataError(f"row {i}, column {names[j]!r}", f"the cell holds {table[i, j]!r}, which is not a number")
    elif table.dtype.kind == "f" and not all_finite(_stored(table)):
        import scipy.sparse as sp

        coordinates = sp.coo_array(table)
        k = int(np.flatnonzero(~np.isfinite(coordinates.data))[0])
        i, j = (int(axis[k]) for axis in coordinates.coords)
        what = "NaN" if np.isnan(coordinates.data[k]) else "infinity"
        raise DataError(f"row {i}, column {names[j]!r}", f"the cell holds {what}; drop the row or fill in the value")
