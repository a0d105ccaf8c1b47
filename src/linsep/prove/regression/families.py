"""Turns each family of regression models into inequalities and equations on the coefficients.

A family says, for every direction ``g`` in which coefficients could go, when the likelihood never falls: ``z·g >= 0``
for its inequalities and ``z·g = 0`` for its equations (Albert & Anderson 1984; Geyer 2009; Correia, Guimarães &
Zylkin 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpz_mat

from linsep.data.arrays import is_sparse, to_rows
from linsep.errors import DataError, ParameterError
from linsep.problem import Array, Rows
from linsep.prove.check.plain_document import label_text
from linsep.prove.claims import Data
from linsep.prove.core.constraints import Constraints, LongConstraints
from linsep.prove.numbers.cells import Cells, ExactRows, derived

INTERCEPT = "Intercept"
_PAIRS = 20_000_000  # rows of differences that memory holds


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
    base: tuple[str, ...] = ()  # names of the columns of a design, for new rows


@dataclass(frozen=True)
class Response:
    """What is given beside the design: the response, groups, and which rows count."""

    y: Any
    strata: Array | None
    which: Array  # numbers of the observations that count
    order: tuple[Any, ...] | None = None  # the labels in their order; None if sorting tells it


def build(family: str, design: Cells, names: list[str], offset: bool, response: Response) -> Model:
    """Return the rows of a family."""
    return FAMILIES[family](design, names, offset, response)


# ---------------------------------------------------------------------------------------------------------------
# Responses


def numbers(y: Any, what: str = "y") -> Array:
    """Return a response as floats, or an error that names the row."""
    try:
        found = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("", f"{what} must be numbers, got {np.asarray(y).ravel()[:1].tolist()}") from None
    bad = np.argwhere(~np.isfinite(found))
    if len(bad):
        raise DataError(f"row {int(bad[0][0])}", f"{what} is {found[tuple(bad[0])]}; drop the row or fill in the value")
    return found


def labels(y: Any, order: tuple[Any, ...] | None = None) -> tuple[Array, tuple[Any, ...]]:
    """Return the class number of every label, and the labels in their order: that given, or as they sort."""
    column = np.asarray(y)
    if column.ndim != 1:
        raise DataError("", f"y must be one column of labels, got shape {column.shape}")
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        numbers(column)
    if column.dtype == object:
        gaps = [i for i, value in enumerate(column.tolist()) if value is None or value != value]
        if gaps:
            raise DataError(f"row {gaps[0]}", f"y is {column[gaps[0]]!r}; drop the row or fill in the value")
        if len({isinstance(value, bool) for value in column.tolist()}) > 1:
            raise DataError("", "y has both booleans and other labels: True and 1 are not the same label")
    if order is not None:
        return _placed(column, order), order
    if column.dtype.kind in "iu" and column.dtype != np.uint64 and len(column):
        low = int(column.min())
        if int(column.max()) - low < len(column):  # no need to sort
            places = column.astype(np.int64) - low
            there = np.bincount(places) > 0
            return (np.cumsum(there) - 1)[places], tuple((np.flatnonzero(there) + low).tolist())
    try:
        found, codes = np.unique(column, return_inverse=True)
    except TypeError:
        raise DataError("", "y has labels of several types, which have no order") from None
    return codes.ravel(), tuple(found.tolist())


def _placed(column: Array, order: tuple[Any, ...]) -> Array:
    """Return the place of every label in an order, by its spelling."""
    place = {label_text(label): k for k, label in enumerate(order)}
    if column.dtype == object:
        cells = column.tolist()
        known = {(type(label), label): place.get(label_text(label), -1) for label in cells}
        codes = np.array([known[type(label), label] for label in cells], dtype=np.intp)
    else:
        found, inverse = np.unique(column, return_inverse=True)
        codes = np.array([place.get(label_text(label), -1) for label in found.tolist()], dtype=np.intp)[inverse.ravel()]
    if codes.min(initial=0) < 0:
        i = int(np.argmin(codes))
        raise DataError(f"row {i}", f"y is {column[i : i + 1].tolist()[0]!r}, which {{0}} does not name", ("order",))
    return codes


def is_share(y: Array) -> bool:
    """Return whether a response, of the rows that count, is 0 and 1, or proportions, and not labels."""
    if y.dtype.kind not in "fiu" and (y.dtype != object or not all(isinstance(v, int | float) for v in y.tolist())):
        return False
    values = numbers(y)
    return bool(len(values) and values.min() >= 0 and values.max() <= 1)


def trials(y: Any, which: Array, order: tuple[Any, ...] | None = None) -> tuple[Array, Array]:
    """Return which rows that count are all successes and which all failures; the others are some of both."""
    table = np.asarray(y)
    if table.ndim == 2 and table.shape[1] == 2:
        counts = numbers(table)[which]
        _not_negative(counts.min(axis=1, initial=np.inf), which, "a count of successes or failures")
        return (counts[:, 1] == 0), (counts[:, 0] == 0)
    if table.ndim != 1:
        raise DataError("", f"y must be one column, or two columns of successes and failures, got shape {table.shape}")
    if is_share(table[which]):
        values = numbers(table)[which]
        return values == 1, values == 0
    codes, classes = labels(y, order)
    if len(classes) > 2:
        raise DataError("", f"y has {len(classes)} labels; the family binomial has two", ("family", "multinomial"))
    if len(classes) < 2:
        return np.ones(len(which), dtype=bool), np.zeros(len(which), dtype=bool)
    return codes[which] == 1, codes[which] == 0


def _not_negative(values: Array, which: Array, what: str) -> None:
    if len(values) and values.min() < 0:
        i = int(which[int(values.argmin())])
        raise DataError(f"row {i}", f"{what} is {values.min():g}; it cannot be negative")


# ---------------------------------------------------------------------------------------------------------------
# Rows


def _rows(matrix: Any) -> Rows:
    """Return a matrix as rows for compiled code, which wants C order."""
    return to_rows(matrix.tocsr() if is_sparse(matrix) else np.ascontiguousarray(matrix))


def _system(
    matrix: Any,
    code: Array,
    offset: bool = False,
    classes: int = 2,
    equal: Array | None = None,
    basis: Any = None,
    exact: ExactRows | None = None,
    scales: Sequence[int] = (),
) -> Constraints:
    """Return the constraints of rows of some classes; those of ``exact`` numbers if the matrix is only near to them."""
    data = Data(_rows(matrix), code.astype(np.intp), matrix.shape[1], classes, offset)
    if exact is None:
        return Constraints(data, equal, basis)
    return LongConstraints(exact, list(scales), data, equal, basis)


def _single(design: Cells, names: list[str], offset: bool, code: Array, equal: Array, which: Array) -> Model:
    """Return a model with one row for every observation."""
    matrix = design.matrix if len(which) == design.matrix.shape[0] else design.matrix[which]
    basis, n_features = design.basis, design.n_features
    if basis is not None and offset:  # the offset is an unknown of its own
        rows = [[*row, 0] for row in basis.tolist()] + [[0] * n_features + [1]]
        basis = fmpz_mat(rows)
    exact = None if design.exact is None else design.exact.take(which)
    system = _system(matrix, code, offset, 2, equal, basis, exact, design.scales)
    order = [n_features, *range(n_features)] if offset else list(range(n_features))
    shown = [INTERCEPT, *names] if offset else names
    scales = [1, *design.scales] if offset else design.scales
    return Model(system, shown, order, scales, which, np.full(len(which), -1), (), tuple(names))


def _refuse_constant(ones: Array, zeros: Array, response: Response) -> None:
    if ones.all() or zeros.all():
        y = np.asarray(response.y)
        what = "all successes" if ones.all() else "all failures"
        value = repr(y[response.which[0]].item()) if y.ndim == 1 and len(response.which) else what
        raise DataError("", f"y is constant: every row is {value}, nothing to model")


def _binomial(design: Cells, names: list[str], offset: bool, response: Response) -> Model:
    ones, zeros = trials(response.y, response.which, response.order)
    _refuse_constant(ones, zeros, response)
    model = _single(design, names, offset, ones, ~ones & ~zeros, response.which)
    table = np.asarray(response.y)
    found = labels(response.y, response.order)[1] if table.ndim == 1 and table.dtype.kind not in "f" else ()
    return _with(model, classes=found if len(found) == 2 else (0, 1))


def _with(model: Model, **changes: Any) -> Model:
    from dataclasses import replace

    return replace(model, **changes)


def _counts(design: Cells, names: list[str], offset: bool, response: Response) -> Model:
    y = numbers(response.y)
    if y.ndim != 1:
        raise DataError("", f"y must be one column of counts, got shape {y.shape}")
    y = y[response.which]
    _not_negative(y, response.which, "y")
    if not y.any():
        raise DataError("", "y is 0 in every row: nothing to model")
    return _single(design, names, offset, np.zeros(len(y)), y > 0, response.which)


def _multinomial(design: Cells, names: list[str], offset: bool, response: Response) -> Model:
    codes, classes = labels(response.y, response.order)
    which = response.which
    if len(classes) < 2:
        raise DataError("", f"y is constant: every row is {classes[0]!r}, nothing to model")
    C, n_features = len(classes), design.n_features
    matrix = design.matrix[which]
    basis = design.basis
    if basis is not None:
        block, pieces = n_features + offset, matrix.shape[1] + offset
        whole = fmpz_mat((C - 1) * pieces, (C - 1) * block)
        for c in range(C - 1):
            for k in range(matrix.shape[1]):
                for j in range(n_features):
                    whole[c * pieces + k, c * block + j] = basis[k, j]
            if offset:
                whole[c * pieces + pieces - 1, c * block + block - 1] = 1
        basis = whole
    exact = None if design.exact is None else design.exact.take(which)
    system = _system(matrix, codes[which], offset, C, None, basis, exact, design.scales)
    block = n_features + offset
    inner = [n_features, *range(n_features)] if offset else list(range(n_features))
    own = [INTERCEPT, *names] if offset else names
    scales = ([1, *design.scales] if offset else design.scales) * (C - 1)
    shown = [f"{classes[c]}:{name}" for c in range(1, C) for name in own]
    order = [c * block + j for c in range(C - 1) for j in inner]
    observations = which[system.ids // C]
    return Model(system, shown, order, scales, observations, np.full(len(observations), -1), classes, tuple(names))


def _ordinal(design: Cells, names: list[str], offset: bool, response: Response) -> Model:
    """Rows between their thresholds, and the order of these: it is not in the rows if a category has none."""
    del offset  # the thresholds are it
    codes, classes = labels(response.y, response.order)
    which = response.which
    codes = codes[which]
    if len(classes) < 2:
        raise DataError("", f"y is constant: every row is {classes[0]!r}, nothing to model")
    K, n_features = len(classes), design.n_features
    upper, lower = np.flatnonzero(codes < K - 1), np.flatnonzero(codes > 0)
    at = np.concatenate((upper, lower))
    threshold = np.concatenate((codes[upper], codes[lower] - 1))
    sign = np.concatenate((np.zeros(len(upper)), np.ones(len(lower))))  # t - x·g >= 0 and x·g - t >= 0
    by_row = np.lexsort((sign, at))
    at, threshold, sign = at[by_row], threshold[by_row], sign[by_row]
    owners = np.concatenate((which[at], np.full(K - 2, -1)))
    sign = np.concatenate((sign, np.ones(K - 2)))
    x = design.matrix[which[at]]
    if is_sparse(x):
        import scipy.sparse as sp

        cells = sp.csr_array((np.full(len(at), -1), (np.arange(len(at)), threshold)), shape=(len(at), K - 1))
        between = sp.csr_array(sp.hstack((sp.csr_array(_steps(K)), sp.csr_array((K - 2, x.shape[1])))))
        matrix: Any = sp.vstack((sp.hstack((cells, x)), between)).tocsr()
    else:
        left = np.zeros((len(at), K - 1), x.dtype if x.dtype.kind in "if" else np.int64)
        left[np.arange(len(at)), threshold] = -1
        below = np.hstack((_steps(K), np.zeros((K - 2, x.shape[1]), dtype=np.int64))).astype(left.dtype)
        matrix = np.vstack((np.hstack((left, x)), below.astype(x.dtype) if x.dtype.kind == "O" else below))
    basis = design.basis
    if basis is not None:
        rows = [[int(i == j) for j in range(K - 1 + n_features)] for i in range(K - 1)]
        basis = fmpz_mat(rows + [[0] * (K - 1) + row for row in basis.tolist()])
    scales, exact = [1] * (K - 1) + design.scales, None
    if (base := design.exact) is not None:
        own, steps = which[at], _steps(K).tolist()

        def read(rows: list[int]) -> list[list[Any]]:
            ends = base.exact(own[[row for row in rows if row < len(at)]])
            heads = [[-int(k == threshold[row]) for k in range(K - 1)] for row in rows if row < len(at)]
            found = [[*head, *end] for head, end in zip(heads, ends, strict=True)]
            return found + [[*steps[row - len(at)], *[0] * n_features] for row in rows if row >= len(at)]

        exact = derived(np.vstack((np.hstack((left, base.near.data[own])), below)), read)
    system = _system(matrix, sign, basis=basis, exact=exact, scales=scales)
    shown = [f"{classes[k]}|{classes[k + 1]}" for k in range(K - 1)] + names
    return Model(
        system, shown, list(range(len(shown))), scales, owners, np.full(len(owners), -1), classes, tuple(names)
    )


def _steps(K: int) -> Array:
    """Return ``t_k - t_(k-1)`` for all categories between two thresholds."""
    found: Array = np.eye(K - 2, K - 1, 1, dtype=np.int64) - np.eye(K - 2, K - 1, dtype=np.int64)
    return found


def differences(design: Cells, first: Array, second: Array, names: list[str]) -> Model:
    """Return a model of rows ``(x_first - x_second)·g >= 0``, each exactly."""
    if len(first) > _PAIRS:
        raise DataError("", f"{len(first):,} pairs within strata do not fit into memory: make the strata smaller")
    matrix, basis, exact = design.matrix, design.basis, None
    a, b = matrix[first], matrix[second]
    if is_sparse(matrix):
        import scipy.sparse as sp

        joined: Any = sp.hstack((a, b)).tocsr()
    elif (base := design.exact) is not None:
        joined = np.hstack((a, b))

        def read(rows: list[int]) -> list[list[Any]]:
            return [[*x, *z] for x, z in zip(base.exact(first[rows]), base.exact(second[rows]), strict=True)]

        exact = derived(np.hstack((base.near.data[first], base.near.data[second])), read)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            a, b = (v.astype(np.int64 if v.dtype.kind in "iub" and v.dtype.itemsize < 8 else v.dtype) for v in (a, b))
            joined = a - b if _exact_difference(a, b) else np.hstack((a, b))
    if joined.shape[1] != matrix.shape[1]:  # (g, -g) on the two rows side by side
        inner = basis if basis is not None else _identity(design.n_features)
        basis = fmpz_mat(inner.tolist() + (-inner).tolist())
    system = _system(joined, np.ones(len(first)), basis=basis, exact=exact, scales=design.scales * 2)
    return Model(system, names, list(range(len(names))), design.scales, first, second, (), tuple(names))


def _identity(size: int) -> Any:
    return fmpz_mat([[int(i == j) for j in range(size)] for i in range(size)])


def _exact_difference(a: Array, b: Array) -> bool:
    """Return whether ``a - b`` has no rounding error (Knuth's two-sum)."""
    if a.dtype.kind in "iu":
        limit = 1 << 61
        return a.dtype.kind == "i" and all(abs(int(v)) < limit for x in (a, b) if x.size for v in (x.min(), x.max()))
    gap = a - b
    part = gap - a
    return bool(np.isfinite(gap).all() and not ((a - (gap - part)) - (b + part)).any())


def in_order(strata: Array) -> tuple[Array, Array]:
    """Return the groups in the order of their first rows, and the number of the group of every row."""
    spelled = np.array([label_text(label) for label in strata.tolist()])
    _, first, codes = np.unique(spelled, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return strata[first[order]], place[codes.ravel()]


def _conditional(design: Cells, names: list[str], offset: bool, response: Response) -> Model:
    del offset  # it cancels
    if response.strata is None:
        raise ParameterError("strata", None, "given for the family conditional: one group label for every row")
    y, which = numbers(response.y), response.which
    if y.ndim != 1 or not np.isin(y[which], (0.0, 1.0)).all():
        raise DataError("", "y of the family conditional must be 0 and 1: 1 for the rows that were chosen")
    groups, codes = in_order(response.strata[which])
    case = y[which] == 1
    cases, sizes = np.bincount(codes[case], minlength=len(groups)), np.bincount(codes, minlength=len(groups))
    if (cases == 0).any():
        at = int(np.flatnonzero(cases == 0)[0])
        raise DataError(f"stratum {groups[at].item()!r}", "no row has y = 1: leave the stratum out")
    if (cases == sizes).all():
        raise DataError("", "y is constant within every stratum: nothing to model")
    by_group = np.argsort(codes, kind="stable")
    first, second = [], []
    for members in np.split(by_group, np.cumsum(sizes)[:-1]):
        chosen, others = members[case[members]], members[~case[members]]
        first.append(np.repeat(chosen, len(others)))
        second.append(np.tile(others, len(chosen)))
    return differences(design, which[np.concatenate(first)], which[np.concatenate(second)], names)


def _cox(design: Cells, names: list[str], offset: bool, response: Response) -> Model:
    """Differences within risk sets (Breslow's for ties): those that all others are sums of.

    The risk set of an event holds that of every later one, so an event is held against the rows that leave before the
    next event, and against one row of that next event, which is held against all later ones.
    """
    del offset  # it cancels
    table, which = numbers(response.y), response.which
    if table.ndim != 2 or table.shape[1] != 2 or not np.isin(table[which, 1], (0.0, 1.0)).all():
        raise DataError("", "y of the family cox must have two columns: the time, and 1 for an event or 0 if censored")
    time, event = table[which, 0], table[which, 1] == 1
    if not event.any():
        raise DataError("", "no row has an event: nothing to model")
    strata = response.strata[which] if response.strata is not None else np.zeros(len(which), dtype=np.intp)
    first: list[int] = []
    second: list[int] = []
    groups, codes = in_order(strata)
    by_group = np.argsort(codes, kind="stable")
    for members in np.split(by_group, np.cumsum(np.bincount(codes, minlength=len(groups)))[:-1]):
        members = members[np.argsort(-time[members], kind="stable")]
        waiting: list[int] = []
        head = -1  # an event of the next later time
        for same in np.split(members, np.flatnonzero(np.diff(time[members])) + 1):
            events = same[event[same]].tolist()
            waiting += same[~event[same]].tolist()
            if events:
                others = waiting + ([head] if head >= 0 else [])
                first += [events[0]] * len(others)
                second += others
                for other in events[1:]:  # tied events are equal
                    first += [events[0], other]
                    second += [other, events[0]]
                waiting, head = [], events[0]
    if not first:
        raise DataError("", "no event has another row at risk: nothing to model")
    return differences(design, which[np.array(first)], which[np.array(second)], names)


Builder = Callable[[Cells, list[str], bool, Response], Model]
FAMILIES: dict[str, Builder] = {
    "binomial": _binomial,
    "poisson": _counts,
    "negative-binomial": _counts,
    "multinomial": _multinomial,
    "ordinal": _ordinal,
    "conditional": _conditional,
    "cox": _cox,
}
WITHOUT_INTERCEPT = ("ordinal", "conditional", "cox")
