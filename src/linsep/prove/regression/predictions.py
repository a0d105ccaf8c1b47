"""Results after separation: fitted probabilities of 0 or 1, and the limiting conditional model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from flint import fmpz_mat

from linsep.clock import Clock
from linsep.data.arrays import is_sparse
from linsep.errors import DataError
from linsep.problem import Array
from linsep.prove.numbers.exact_numbers import BINARY, exact_rows
from linsep.prove.regression.cone import columns_of, reduce
from linsep.prove.regression.families import modeled
from linsep.prove.regression.inputs import new_design
from linsep.prove.regression.responses import ORDERED, numbers
from linsep.prove.regression.statuses import ALIASED, DOWN, FINITE, UNDETERMINED, UP

INSIDE = "inside"
_LINEAR = ("conditional", "cox")


def predicted(result: Any, X: Any) -> Array:
    """Return for every new row what is known of its probability."""
    given = result.given
    X = new_design(given, X)
    matrix = X if is_sparse(X) else np.asarray(X, dtype=object if given.values != BINARY else None)
    if matrix.ndim != 2 or matrix.shape[1] != len(given.names):
        why = f"new rows must have the {len(given.names)} columns of the design, got shape {matrix.shape}"
        if result.listed < len(result.names):
            why += "; a column for every level of the absorbed factors is among them: put the factors into the model"
        raise DataError("", why)
    if not is_sparse(matrix) and matrix.dtype == object and given.values == BINARY:
        matrix = matrix.astype(np.float64)
    rows = list(exact_rows(matrix, given.values, given.names))
    if given.offset:
        rows = [[Fraction(1), *row] for row in rows]
    statuses = {key: _row_status(result, list(key)) for key in dict.fromkeys(map(tuple, rows))}
    return np.array([statuses[tuple(row)] for row in rows], dtype=object)


def _row_status(result: Any, x: list[Fraction]) -> Any:
    """Return what is known of one row."""
    family = result.given.family
    if family == "multinomial":
        return _nominal_statuses(result, x)
    if family == "ordinal":
        return _ordinal_statuses(result, x)
    status = result.status_of(x)
    if family in _LINEAR:
        return status
    top = "1" if family == "binomial" else "infinite"
    return {FINITE: INSIDE, UP: top, DOWN: "0"}.get(status, status)


def _nominal_statuses(result: Any, x: list[Fraction]) -> list[str]:
    """Return for every class of a multinomial model whether its probability is 0, 1 or inside."""
    C, block = len(result.model.classes), len(x)
    pairs: dict[tuple[int, int], str] = {}
    for a in range(C):
        for b in range(a):
            c = [Fraction(0)] * ((C - 1) * block)
            c[(a - 1) * block : a * block] = x
            if b:
                c[(b - 1) * block : b * block] = [-value for value in x]
            pairs[a, b] = result.status_of(c)
            pairs[b, a] = {UP: DOWN, DOWN: UP}.get(pairs[a, b], pairs[a, b])
    statuses = []
    for a in range(C):
        others = [pairs[a, b] for b in range(C) if b != a]
        status = _joint(DOWN in others, all(each == UP for each in others), others)
        if status == UNDETERMINED and others.count(UNDETERMINED) > 1 and not _possible(result, x, a):
            status = "0"
        statuses.append(status)
    return statuses if statuses.count("0") < C - 1 else ["0" if each == "0" else "1" for each in statuses]


def _joint(never: bool, always: bool, statuses: list[str]) -> str:
    if never:
        return "0"
    if always:
        return "1"
    for each in (ALIASED, UNDETERMINED):
        if each in statuses:
            return each
    return INSIDE


def _possible(result: Any, x: list[Fraction], a: int) -> bool:
    """Return whether a class may have a positive probability in the limit, which several rivals together may prevent.

    It may exactly if a row of it, added to the data, leaves all separated constraints separated.
    """
    given = result.given
    x = x[1:] if given.offset else x
    X = np.empty((given.n + 1, len(x)), dtype=object)
    for i, row in enumerate([*exact_rows(given.X, given.values, given.names), x]):
        X[i] = row
    codes = np.append(given.labels[0], a)
    order, which = tuple(range(len(result.model.classes))), np.append(given.which, given.n)
    model, _ = modeled(replace(given, X=X, y=codes, n=given.n + 1, which=which, order=order, weights=None), Clock())
    separated = reduce(model.system, model.order).separated[model.system.ids]
    return np.array_equal(separated[model.first != given.n], result.split)


def _ordinal_statuses(result: Any, x: list[Fraction]) -> list[str]:
    """Return for every category of an ordinal model whether its probability is 0, 1 or inside."""
    cuts, shut = len(result.model.classes) - 1, _shut(result)
    above = [UP, *(result.status_of([*(Fraction(-(j == k)) for j in range(cuts)), *x]) for k in range(cuts)), DOWN]
    statuses = []
    for k, (lower, upper) in enumerate(pairwise(above)):  # x·g - t_(k-1) and x·g - t_k
        never = k in shut or lower == DOWN or upper == UP
        statuses.append(_joint(never, lower == UP and upper == DOWN, [lower, upper]))
    return statuses


def _shut(result: Any) -> list[int]:
    """Return the inner categories of an ordinal model without rows whose two thresholds are one in the limit."""
    last, direction = len(result.model.classes) - 1, result.direction
    return [k for k in result.empty if 0 < k < last and direction[k] == direction[k - 1]]


# ---------------------------------------------------------------------------------------------------------------
# The limiting conditional model


_STATSMODELS = {
    "binomial": "Logit",
    "multinomial": "MNLogit",
    "poisson": "Poisson",
    "negative-binomial": "NegativeBinomial",
}


@dataclass(frozen=True, eq=False)
class Refit:
    """The limiting conditional model: the part that maximum likelihood can still estimate.

    Attributes
    ----------
    rows : ndarray
        Observations that stay.
    columns : list of str
        Columns that stay, the intercept among them.
    X : ndarray or sparse array
        The rows and columns that stay; a column of ones where the intercept is among them.
    y : ndarray
    dropped_rows, dropped_columns : dict
        The rows and columns left out, with the reason for each.
    choices : ndarray or None
        Multinomial models: which classes are still possible, by row. Ordinal models: whether the lower and the upper
        threshold of a row is still in reach.
    family : str
    ordinary : bool
        Whether the rows and columns that stay are a model of the family: no class out of reach, no stratum apart.
    strata : ndarray or None
        Conditional and Cox models: the group of every row, by number. A risk set of a Cox model loses the rows that are
        infinitely far below its event, so a stratum may fall apart into several.

    Examples
    --------
    >>> import linsep
    >>> found = linsep.separation([[0], [0], [1], [1]], [0, 1, 1, 1])
    >>> left = found.refit()
    >>> left.rows.tolist(), left.columns, left.dropped_columns
    ([0, 1], ['Intercept'], {'x0': 'on the rows that are left it is zero'})
    """

    rows: Array
    columns: list[str]
    X: Any
    y: Any
    dropped_rows: dict[int, str]
    dropped_columns: dict[str, str]
    choices: Array | None = None
    strata: Array | None = None
    family: str = "binomial"
    ordinary: bool = True

    def fit(self, **options: Any) -> Any:
        """Fit what is left with statsmodels; coefficients have the names of the columns.

        Parameters
        ----------
        **options
            Of statsmodels' ``fit``.

        Returns
        -------
        results : statsmodels results

        Raises
        ------
        ValueError
            If no row is left, or what is left is no model that statsmodels fits.

        Examples
        --------
        >>> import linsep
        >>> left = linsep.separation([[0], [0], [0], [1], [1]], [0, 1, 1, 1, 1], names=["dose"]).refit()
        >>> left.fit(disp=False).params.round(4).to_dict()  # log(2 / 1)
        {'Intercept': 0.6931}
        """
        if len(self.rows) == 0:
            raise ValueError("no row is left to fit: every one of them is fitted perfectly in the limit")
        if not self.ordinary or self.family not in _STATSMODELS or np.ndim(self.y) != 1:
            raise ValueError(
                f"statsmodels has no model for what is left of this {self.family} one: use X, y and choices"
            )
        import pandas as pd
        import statsmodels.api as sm

        X = pd.DataFrame(self.X.toarray() if hasattr(self.X, "toarray") else self.X, columns=self.columns).astype(float)
        y = self.y
        if self.family in ("binomial", "multinomial"):
            y = np.unique(y, return_inverse=True)[1]
        return getattr(sm, _STATSMODELS[self.family])(y, X).fit(**options)

    def __repr__(self) -> str:
        return (
            f"Refit({len(self.rows)} rows, columns {self.columns}; left out: {len(self.dropped_rows)} rows, "
            f"{len(self.dropped_columns)} columns)"
        )


def limiting(result: Any) -> Refit:
    """Return the rows and columns that are left, and why the others are not."""
    given = result.given
    rows, strata = _strata(result) if given.family in _LINEAR else (result.rest, None)
    kept, reasons = _columns(result)
    dropped = uncounted(given) | dict.fromkeys(given.which.tolist(), "it is held against no other row")
    dropped |= dict.fromkeys(result.separated.tolist(), "separated: fitted perfectly in the limit")
    staying = set(rows.tolist())
    dropped = {i: why for i, why in dropped.items() if i not in staying}
    y = np.asarray(given.y)[rows]
    choices = _choices(result)
    ordinary = _is_ordinary(given, rows, choices, strata)
    return Refit(rows, kept, _design(given, rows, kept), y, dropped, reasons, choices, strata, given.family, ordinary)


def _is_ordinary(given: Any, rows: Array, choices: Array | None, strata: Array | None) -> bool:
    """Return whether leaving out rows and columns is all that the limiting model asks for."""
    if strata is not None:
        return len(np.unique(strata)) == (1 if given.strata is None else len(np.unique(given.strata[rows])))
    if choices is None or len(rows) == 0:
        return True
    codes = given.labels[0][rows]
    if given.family == "multinomial":
        return bool(choices[:, np.unique(codes)].all())
    ends = np.column_stack((codes == codes.min(), codes == codes.max()))
    return bool((choices | ends).all())


def uncounted(given: Any) -> dict[int, str]:
    """Return the rows that do not count, and why."""
    weights = np.ones(given.n) if given.weights is None else numbers(given.weights)
    rows = np.setdiff1d(np.arange(given.n), given.which)
    return {int(i): "its weight is 0" if weights[i] == 0 else "it has no trials" for i in rows}


def _columns(result: Any) -> tuple[list[str], dict[str, str]]:
    """Return the columns that the rows that are left determine, and why the others are not among them."""
    given, model, face = result.given, result.model, result.face
    ids = model.system.ids
    left = ids[~face.separated[ids]]
    reasons = {
        each: f"it depends on {', '.join(parts) or 'nothing: it is zero'}" for each, parts in result.aliased.items()
    }
    first = [*model.order[result.listed :], *model.order[: result.listed]]  # columns may depend on absorbed factors
    system, shown = face.system, [result.position[u] for u in first if u in result.position]
    name = {k: model.names[j] for j, u in enumerate(model.order) if (k := result.position.get(u)) is not None}
    shut = _shut(result)
    for k in shut:  # the two thresholds of the category are one; if they can go apart for ever, neither is left
        reasons[name[k]] = f"it equals {name[k - 1]}: no row has the category {model.classes[k]}"
    if shut:
        below = {k: next(j for j in range(k, -1, -1) if j not in shut) for k in shut}
        free = [k for k in shown if k not in shut]
        cells = [int(j == below.get(k, k)) for k in range(system.unknowns) for j in free]
        system = system.through(fmpz_mat(system.unknowns, len(free), cells))
        name, shown = {at: name[k] for at, k in enumerate(free)}, list(range(len(free)))
    columns, V = columns_of(system, left, shown)
    how = _WHERE.get(given.family, "on the rows that are left it {}")
    determined = set(columns)
    for k in range(V.ncols()):
        entries = [int(V[j, k]) for j in range(V.nrows())]
        dependent = next(j for j in shown if entries[j] and j not in determined)
        used = [name[j] for j in shown if entries[j] and j != dependent]
        why = how.format(f"depends on {', '.join(used)}" if used else _NOTHING.get(given.family, "is zero"))
        reasons[name[dependent]] = why if len(left) else "no row is left"
    kept = {name[j] for j in columns}
    return [each for each in model.names if each in kept], reasons


_WHERE = dict.fromkeys(_LINEAR, "within the strata that are left it {}")
_NOTHING = dict.fromkeys(_LINEAR, "is constant") | dict.fromkeys(ORDERED, "makes no difference")


def _strata(result: Any) -> tuple[Array, Array]:
    """Return the rows that are still held against others, and their groups: those that such pairs connect."""
    import scipy.sparse as sp
    from scipy.sparse.csgraph import connected_components

    model, n = result.model, result.given.n
    first, second = model.first[~result.split], model.second[~result.split]
    graph = sp.csr_array((np.ones(len(first)), (first, second)), shape=(n, n))
    _, group = connected_components(graph, directed=False)
    rows = np.unique(np.concatenate((first, second)))
    return rows, np.unique(group[rows], return_inverse=True)[1].ravel()


def _design(given: Any, rows: Array, kept: list[str]) -> Any:
    """Return rows and columns of the design; for models with several blocks, all columns."""
    X = given.X[rows]
    if given.family in ORDERED:
        return X
    number = {name: j for j, name in enumerate(given.names)}
    X = X[:, [number[each] for each in kept if each in number]]
    if not kept or kept[0] in number:
        return X if kept else np.zeros((len(rows), 0))
    ones = np.ones((len(rows), 1))  # the intercept, which is the first
    if is_sparse(X):
        import scipy.sparse as sp

        return sp.csr_array(sp.hstack((sp.csr_array(ones), X)))
    return np.hstack((ones, X))


def _choices(result: Any) -> Array | None:
    """Return which classes of a multinomial model, or thresholds of an ordinal one, still matter for the rows left."""
    given, model, ids = result.given, result.model, result.model.system.ids
    if given.family not in ORDERED:
        return None
    C, codes = len(model.classes), model.system.data.y
    number = np.full(given.n, -1)
    number[result.rest] = np.arange(len(result.rest))
    row = np.where(model.first < 0, -1, number[model.first])  # the order of thresholds is nobody's
    choices = np.zeros((len(result.rest), C if given.family == "multinomial" else 2), dtype=bool)
    if given.family == "ordinal":
        some = (row >= 0) & ~result.split
        choices[row[some], 1 - codes[some]] = True
        return choices
    some = row >= 0
    choices[row[some], codes[ids[some] // C]] = True
    some &= ~result.split
    choices[row[some], ids[some] % C] = True
    return choices
