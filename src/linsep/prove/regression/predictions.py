"""Results after separation: fitted probabilities of 0 or 1, and the limiting conditional model."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from linsep.data.sparse import is_sparse
from linsep.errors import DataError
from linsep.problem import Array
from linsep.prove.exact.exact_values import BINARY
from linsep.prove.regression.families import INTERCEPT, WITHOUT_INTERCEPT
from linsep.prove.regression.inputs import new_design
from linsep.prove.regression.statuses import ALIASED, DOWN, FINITE, UNDETERMINED, UP

INSIDE = "inside"
_LINEAR = ("conditional", "cox")


def predicted(result: Any, X: Any) -> Array:
    """Return for every new row what is known of its probability."""
    from linsep.prove.regression.documents import exact_table

    given, model = result._given, result._model
    X = new_design(given, X)
    matrix = X if is_sparse(X) else np.asarray(X, dtype=object if given.values != BINARY else None)
    if matrix.ndim != 2 or matrix.shape[1] != len(model.base):
        raise DataError("", f"new rows must have the {len(model.base)} columns of the design, got shape {matrix.shape}")
    if not is_sparse(matrix) and matrix.dtype == object and given.values == BINARY:
        matrix = matrix.astype(np.float64)
    rows = exact_table(matrix, given.values, model.base)
    if given.offset and given.family not in WITHOUT_INTERCEPT:
        rows = [[Fraction(1), *row] for row in rows]
    known: dict[tuple[Fraction, ...], Any] = {}
    for row in rows:
        key = tuple(row)
        if key not in known:
            known[key] = _one(result, row)
    found = [known[tuple(row)] for row in rows]
    return np.array(found, dtype=object) if found else np.empty(0, dtype=object)


def _one(result: Any, x: list[Fraction]) -> Any:
    """Return what is known of one row."""
    family = result._given.family
    if family == "multinomial":
        return _of_classes(result, x)
    if family == "ordinal":
        return _of_levels(result, x)
    status = result._status(x)
    if family in _LINEAR:
        return status
    top = "1" if family in ("binomial", "log-binomial") else "infinite"
    return {FINITE: INSIDE, UP: top, DOWN: "0"}.get(status, status)


def _of_classes(result: Any, x: list[Fraction]) -> list[str]:
    """Return for every class whether its probability is 0, 1 or inside."""
    C, block = len(result._model.classes), len(x)
    leads: dict[tuple[int, int], str] = {}
    for a in range(C):
        for b in range(a):
            c = [Fraction(0)] * ((C - 1) * block)
            c[(a - 1) * block : a * block] = x
            if b:
                c[(b - 1) * block : b * block] = [-value for value in x]
            leads[a, b] = result._status(c)
            leads[b, a] = {UP: DOWN, DOWN: UP}.get(leads[a, b], leads[a, b])
    found = []
    for a in range(C):
        others = [leads[a, b] for b in range(C) if b != a]
        found.append(_joint(DOWN in others, all(each == UP for each in others), others))
    return found


def _joint(never: bool, always: bool, statuses: list[str]) -> str:
    if never:
        return "0"
    if always:
        return "1"
    for each in (ALIASED, UNDETERMINED):
        if each in statuses:
            return each
    return INSIDE


def _of_levels(result: Any, x: list[Fraction]) -> list[str]:
    """Return for every level whether its probability is 0, 1 or inside."""
    cuts = len(result._model.classes) - 1
    above = [UP, *(result._status([*(Fraction(-(j == k)) for j in range(cuts)), *x]) for k in range(cuts)), DOWN]
    found = []
    for k in range(cuts + 1):  # x·g - t_(k-1) and x·g - t_k
        lower, upper = above[k], above[k + 1]
        found.append(_joint(lower == DOWN or upper == UP, lower == UP and upper == DOWN, [lower, upper]))
    return found


# ---------------------------------------------------------------------------------------------------------------
# The limiting conditional model


def limiting(result: Any) -> Any:
    """Return the rows and columns that are left, and why the others are not."""
    from linsep.prove.regression.results import Refit

    given, model, face = result._given, result._model, result._face
    ids = model.system.ids
    inner = [result._position[unknown] for unknown in model.order if unknown in result._position]
    left = ids[~face.separated[ids]]
    _, columns, V = face.system.span(left, inner)
    name = {k: model.names[j] for j, u in enumerate(model.order) if (k := result._position.get(u)) is not None}
    kept = [name[k] for k in inner if k in columns]
    reasons = {each: f"it depends on {_sum(parts)}" for each, parts in result.aliased.items()}
    for k in range(V.ncols()):
        entries = [int(V[j, k]) for j in range(V.nrows())]
        free = next(j for j in range(len(entries)) if entries[j] and j not in columns)
        used = [name[j] for j in inner if entries[j] and j != free]
        why = f"on the rows that are left it {'depends on ' + ', '.join(used) if used else 'is zero'}"
        reasons[name[free]] = why if len(left) else "no row is left"
    dropped = {int(i): "separated: fitted perfectly in the limit" for i in result.separated}
    counted = set(given.which.tolist())
    dropped |= {i: "its weight is 0" for i in range(given.n) if i not in counted}
    rows = result.rest
    return Refit(
        rows, kept, _design(given, model, rows, kept), np.asarray(given.y)[rows], dropped, reasons, _choices(result)
    )


def _sum(parts: dict[str, Fraction]) -> str:
    return ", ".join(parts) or "nothing: it is zero"


def _design(given: Any, model: Any, rows: Array, kept: list[str]) -> Any:
    """Return rows and columns of the design; for models with several blocks, all columns."""
    X = given.X[rows]
    if model.base and not set(kept) <= {INTERCEPT, *given.names}:
        return X
    parts = []
    for each in kept:
        if each == INTERCEPT and each not in given.names:
            parts.append(np.ones((len(rows), 1)))
        else:
            parts.append(X[:, [given.names.index(each)]])
    if not parts:
        return np.zeros((len(rows), 0))
    if is_sparse(X):
        import scipy.sparse as sp

        return sp.csr_array(sp.hstack(parts))
    return np.hstack(parts)


def _choices(result: Any) -> Array | None:
    """Return which classes of a multinomial model, or thresholds of an ordinal one, still matter for the rows left."""
    given, model = result._given, result._model
    place = {int(i): k for k, i in enumerate(result.rest)}
    open_ = ~result._split
    if given.family == "multinomial":
        C = len(model.classes)
        found = np.zeros((len(place), C), dtype=bool)
        codes = model.system.data.y
        for t, number in enumerate(model.system.ids.tolist()):
            k = place.get(int(model.first[t]))
            if k is not None:
                found[k, codes[number // C]] = True
                found[k, number % C] |= open_[t]
        return found
    if given.family == "ordinal":
        found = np.zeros((len(place), 2), dtype=bool)
        for t in range(len(model.first)):
            k = place.get(int(model.first[t]))
            if k is not None and open_[t]:
                found[k, 1 - int(model.system.data.y[t])] = True
        return found
    return None
