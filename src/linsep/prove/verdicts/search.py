"""The search for a verdict: cheap methods first, stronger ones when the exact check fails.

First it leaves out columns and rows that cannot matter (``reducing``) and tries planes of one column (``one_column``).
Then it tries these strategies in order:

1. floats (``float_searches``, ``sparse_search``): a plane above all rows is a candidate separator, rows that no plane
   is above are candidate multipliers, made exact, and lead on to quasi or overlap (``faces``);
2. several classes at once (``several_classes``), and by way of two: a contradiction within a pair of classes;
3. where columns outnumber rows, the same in columns that all others depend on;
4. an exact view of the data and in the end Wolfe's algorithm in rational numbers, which cannot fail.

Nothing is returned that ``fast_check`` does not confirm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from linsep.clock import Clock, OutOfTime
from linsep.data.conversions import to_floats
from linsep.data.scratch import some_rows
from linsep.learn.surveys import squared_norms
from linsep.problem import Array, Dense, Floats, Rows, Sparse
from linsep.prove.claims import Data, Separator, Verdict
from linsep.prove.verdicts import faces
from linsep.prove.verdicts.case import Case, Certificate, Contradiction, FloatSearch, Limits, Plane, Strategy
from linsep.prove.verdicts.float_searches import (
    by_descent,
    by_least_squares,
    by_long_descent,
    by_nearest_point,
    by_newton,
)
from linsep.prove.verdicts.integer_rows import independent_columns
from linsep.prove.verdicts.one_column import peeled, plane_of_one_column, with_peelings
from linsep.prove.verdicts.reducing import Reduction, reduced
from linsep.prove.verdicts.scaled import ScaledView, on_grid, sums
from linsep.prove.verdicts.several_classes import by_classes
from linsep.prove.verdicts.sparse_search import Descent, weak_plane


def decide(data: Data, classes: tuple[Any, ...], clock: Clock, limits: Limits | None = None) -> Verdict:
    """Return the verdict, confirmed by the exact check; "unknown" if the time is up first.

    Raises FloatingPointError if some value is not finite.
    """
    spare = 0.0
    if clock.deadline < math.inf:  # the bounds on the margin, at the end, take some passes
        spare = 0.05 * clock.left + min(1e-9 * data.rows.data.size * (data.classes + 1), 0.5 * max(clock.left, 0.0))
    known = reduced(data, Clock())
    case = Case(known.data, limits)
    try:
        found = certify(case, known, clock.sooner(spare))
    except OutOfTime:
        case.view.look()
        bracket = _bounds(case, known)
        return Verdict("unknown", None, None, classes, data.n_features, data.offset, bracket)
    if known.changed:
        found = known.put_back(found)
        if not found.holds(data):
            raise ArithmeticError(f"a proof of {found.kind!r} does not hold for all rows: please report these data")
    return Verdict(*found, classes, data.n_features, data.offset, (-math.inf, math.inf))


def certify(case: Case, known: Reduction, clock: Clock) -> Certificate:
    """Return a certificate for what is left of the data."""
    case.contradicting = known.contradicting
    if isinstance(case.data.rows, Sparse):  # a few passes that decide most of such data
        found = case.attempt(_settled(by_descent), clock)
        if found is not None:
            return found
    clock.check()
    case.weak, strictly = plane_of_one_column(case.data)
    if strictly:
        found = case.confirmed("separable", case.weak, None)
        if found is not None:
            return found
    return solved(case, clock)


def solved(case: Case, clock: Clock) -> Certificate:
    """Return the certificate of the first strategy that has one."""
    for strategy in strategies(case):
        found = case.attempt(strategy, clock)
        if found is not None:
            return found
    return faces.exactly(case, clock)


PEELED_UNKNOWNS = 64  # from which on fewer rows and columns pay for looking at all columns again and again


def strategies(case: Case) -> Iterator[Strategy]:
    """Yield what to try on a case, cheap means first; what cannot fail comes after all of them."""
    data = case.data
    several, few = data.classes > 2, len(data.y) < data.n_features + data.offset
    if several and few:
        yield _settled(by_least_squares)
    if not few:
        yield of_equal_rows
    if not several and case.weak is not None and case.limits.float_searches and case.view.dimension > PEELED_UNKNOWNS:
        yield after_planes_of_one_column
    if case.view.wide:
        yield each_against_rest if several else after_long_descent
    if few and (several or isinstance(data.rows, Sparse) or case.view.dimension > case.limits.unknowns):
        yield in_independent_columns
    if few:
        yield of_equal_rows
    if case.view.wide or not case.limits.float_searches:
        return
    if several and case.view.dimension > SEVERAL_UNKNOWNS:
        pairs = nearest_classes(data)[: 2 * data.classes]
        first = worth_of_all(pairs, np.bincount(data.y, minlength=data.classes))
        yield lambda case, clock: of_two_classes(case, pairs[:first], clock)
        yield _settled(by_classes)
        yield lambda case, clock: of_two_classes(case, pairs[first:], clock)
    yield _settled(by_newton)
    yield _settled(by_nearest_point)


def _settled(search: FloatSearch) -> Strategy:
    """Return the strategy that makes exact what a float search finds."""
    return lambda case, clock: faces.settle(case, search(case, clock), clock)


def of_equal_rows(case: Case, clock: Clock) -> Certificate | None:
    """Refute by two equal rows of different classes, where such are known."""
    if len(case.contradicting) == 0:
        return None
    C, y = case.data.classes, case.data.y
    i, j = case.contradicting[0].tolist()
    return faces.refuted(case, faces.Exact(np.array([i * C + y[j], j * C + y[i]]), [1, 1]), clock)


def after_planes_of_one_column(case: Case, clock: Clock) -> Certificate | None:
    """Search among the rows that no plane of one column has strictly on their side."""
    data = case.data
    peelings = peeled(data, clock)
    left, y = peelings.left, data.y[peelings.left]
    if len(np.unique(y)) < 2:
        if not data.offset and len(left):
            return None
        inner = Separator(np.zeros(data.n_features), 1.0 if data.offset and y.any() else -1.0 * data.offset)
        return case.confirmed("separable", with_peelings(data, peelings, inner), None)
    known = reduced(data._replace(rows=some_rows(data.rows, left), y=y), clock)
    rest = Case(known.data, case.limits)
    found = by_descent(rest, clock) or by_newton(rest, clock) or by_nearest_point(rest, clock)
    if isinstance(found, Plane):
        plane = known.plane(rest.view.plane(found.w))
        return case.confirmed("separable", with_peelings(data, peelings, plane), None)
    exact = None if found is None else faces.exact_multipliers(rest.data, found, clock)
    if exact is None:
        return None
    rows, rivals = np.divmod(exact.pairs, 2)
    numbers = left[rows if known.rows is None else known.rows[rows]]
    return faces.refuted(case, faces.Exact(numbers * 2 + rivals, exact.multipliers), clock)


# ---------------------------------------------------------------------------------------------------------------
# Sparse rows of many columns


def after_long_descent(case: Case, clock: Clock) -> Certificate | None:
    """Decide sparse rows of two classes and many columns by coordinate descent, if the exact check agrees."""
    found = by_long_descent(case, clock)
    certificate = faces.settle(case, found, clock)
    if certificate is not None or not isinstance(found, Contradiction):
        return certificate
    exact = faces.exact_multipliers(case.data, found, clock)
    if exact is None:
        return None
    plane = weak_plane(case.data, exact.pairs, case.rng, clock)
    return None if plane is None else case.confirmed("quasi", plane, faces.as_refutation(case.data, exact))


# ---------------------------------------------------------------------------------------------------------------
# Several classes by way of two

DESCENT_PASSES_EACH = 40


def each_against_rest(case: Case, clock: Clock) -> Certificate | None:
    """Try planes between each class of sparse rows and all others: where they all separate, so do their scores."""
    data, found = case.data, []
    for c in range(data.classes):
        against = data._replace(y=(data.y == c).astype(np.intp), classes=2)
        view = ScaledView(against, case.rng, wide=case.limits.wide)
        descent = Descent(view, case.rng)
        if not descent.go_on(DESCENT_PASSES_EACH, clock):
            return None
        found.append(view.plane(descent.weights()))
    W, b = np.stack([plane.w for plane in found]), np.array([plane.b for plane in found])
    return case.confirmed("separable", Separator(on_grid(W), on_grid(b)), None)


SEVERAL_UNKNOWNS = 100  # from which on problems of two classes at a time are much smaller than the whole


def worth_of_all(pairs: list[tuple[int, int]], sizes: Array) -> int:
    """Return how many pairs of classes have about as many rows as there are in all: these cost little beside all."""
    return int(np.searchsorted(np.cumsum([sizes[a] + sizes[b] for a, b in pairs]), sizes.sum()))


def of_two_classes(case: Case, chosen: list[tuple[int, int]], clock: Clock) -> Certificate | None:
    """Look for a contradiction within some pair of classes, and for a plane that one class is weakly beyond.

    With both the answer is quasi.
    """
    data = case.data
    for a, b in chosen:
        which = np.flatnonzero((data.y == a) | (data.y == b))
        codes = (data.y[which] == b).astype(np.intp)
        pair = Case(data._replace(rows=some_rows(data.rows, which), y=codes, classes=2), case.limits)
        found = by_newton(pair, clock) or by_nearest_point(pair, clock)
        if isinstance(found, Contradiction):
            exact = faces.exact_multipliers(pair.data, found, clock)
            if exact is not None:
                rows, rivals = np.divmod(exact.pairs, 2)
                pairs = which[rows] * data.classes + np.where(rivals == 1, b, a)
                if case.weak is None:
                    case.weak = weakly_beyond(case, clock)
                return faces.refuted(case, faces.Exact(pairs, exact.multipliers), clock)
    return None


CLASSES_TRIED = 40


def weakly_beyond(case: Case, clock: Clock) -> Separator | None:
    """Return a plane that all rows of one class are beyond or on, and all others not beyond; rare classes first."""
    data = case.data
    sizes = np.bincount(data.y, minlength=data.classes)
    for c in [c for c in np.argsort(sizes, kind="stable").tolist() if sizes[c]][:CLASSES_TRIED]:
        against = data._replace(y=(data.y == c).astype(np.intp), classes=2)
        one = Case(against, case.limits)
        one.weak, _ = plane_of_one_column(against)
        plane = one.weak if one.weak is not None else solved(one, clock).separator
        if plane is None:
            continue
        w = np.zeros((data.classes, data.n_features), dtype=plane.w.dtype)
        b = np.zeros(data.classes, dtype=np.array(plane.b).dtype)
        w[c], b[c] = plane.w, plane.b
        return Separator(w, b)
    return None


NEAR_CLASSES = 300  # those with the most rows, in which a contradiction is likeliest


def nearest_classes(data: Data) -> list[tuple[int, int]]:
    """Return pairs of classes: in turns the one of nearest means, and one of near means and many rows."""
    sizes = np.bincount(data.y, minlength=data.classes)
    present = np.sort(np.argsort(-sizes, kind="stable")[: min(NEAR_CLASSES, int((sizes > 0).sum()))]).tolist()
    rng = np.random.default_rng(0)
    means = []
    for c in present:
        members = np.flatnonzero(data.y == c)
        some = np.sort(rng.choice(members, 200, replace=False)) if len(members) > 200 else members
        means.append(to_floats(data.rows, some, data.n_features).mean(axis=0))
    i, j = np.tril_indices(len(present), -1)
    apart = np.array([np.linalg.norm(means[a] - means[b]) for a, b in zip(i.tolist(), j.tolist(), strict=True)])
    crowded = apart / np.minimum(sizes[present][i], sizes[present][j])
    orders = np.stack((np.argsort(apart, kind="stable"), np.argsort(crowded, kind="stable")), axis=1)
    return [(present[j[k]], present[i[k]]) for k in dict.fromkeys(orders.ravel().tolist())]


# ---------------------------------------------------------------------------------------------------------------
# More columns than rows


def in_independent_columns(case: Case, clock: Clock) -> Certificate | None:
    """Decide on columns that all others depend on: not more than there are rows."""
    data = case.data
    if len(data.y) * (data.classes - 1) > case.limits.unknowns:
        return None
    columns = independent_columns(data, clock)
    cells = _cells(data.rows, columns, data.n_features)
    narrow = Case(data._replace(rows=Dense(cells), n_features=len(columns)), case.limits)
    narrow.contradicting = case.contradicting
    if case.weak is not None:
        narrow.weak = plane_of_one_column(narrow.data)[0]
    found = solved(narrow, clock)
    return case.certain(*Reduction(narrow.data, data, columns, None, case.contradicting).put_back(found))


def _cells(rows: Rows, columns: Array, n_features: int) -> Array:
    """Return some columns of the rows as they are."""
    if isinstance(rows, Dense):
        return np.ascontiguousarray(rows.data[:, columns])
    place = np.full(n_features, -1)
    place[columns] = np.arange(len(columns))
    cells = np.zeros((len(rows.indptr) - 1, len(columns)), dtype=rows.data.dtype)
    lines = np.repeat(np.arange(len(cells)), np.diff(rows.indptr).astype(np.intp))
    kept = place[rows.indices] >= 0
    cells[lines[kept], place[rows.indices[kept]]] = rows.data[kept]
    return cells


# ---------------------------------------------------------------------------------------------------------------
# Out of time


def _bounds(case: Case, known: Reduction) -> tuple[float, float]:
    """Return bounds on the largest margin from the last plane tried and the points it was found from.

    With two classes the margin of ``w·x + b = 0`` (offset) or ``w·x = 0``, with more the smallest lead of the true
    class for weights of norm 1 altogether.
    """
    data = known.whole
    with np.errstate(over="ignore"):
        radius = math.sqrt(float(squared_norms(data.rows).max())) * (1 + 1e-6) + 1e-150
    upper = radius * (1 if data.classes == 2 else math.sqrt(2) * (1 + 2.0**-50))
    if case.best is None:
        return -upper, upper
    w, pairs, multipliers = case.best
    W, b = known.plane(case.view.plane(w)).per_class()
    lower = max(-upper, _least_lead(data, W, b, radius))
    if data.classes == 2:
        i = pairs // 2 if known.rows is None else known.rows[pairs // 2]
        upper = min(upper, _distance(data, i, multipliers / multipliers.sum(), radius))
    return lower, upper


def _least_lead(data: Data, W: Array, b: Array, radius: float) -> float:
    """Return the smallest lead of the true class, for weights of norm 1, less what rounding may add."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.stack([sums(data, v) + c for v, c in zip(W, b, strict=True)])
        own = scores[data.y, np.arange(len(data.y))].copy()
        scores[data.y, np.arange(len(data.y))] = -np.inf
        size = np.linalg.norm(W)
        rounding = (data.n_features + 10) * 2.0**-51 * (radius + np.abs(b).max() / size)
        return float(np.nan_to_num((own - scores.max(axis=0)).min() / size - rounding, nan=-math.inf))


def _distance(data: Data, i: Array, multipliers: Floats, radius: float) -> float:
    """Return the distance of a point of the hull from the origin, or half that between points of the two hulls."""
    sign = 2.0 * data.y[i] - 1
    if data.offset:
        if abs(sign.sum()) == len(sign):
            return math.inf
        for side in (-1.0, 1.0):
            multipliers[sign == side] /= 2 * multipliers[sign == side].sum()
    point = (multipliers * sign) @ to_floats(data.rows, i, data.n_features)
    return float(np.linalg.norm(point)) + (len(i) + 10) * 2.0**-52 * radius
