"""From data to a verdict: presolve, the exact core, and its outcome as a certificate that is checked again.

Several classes are one question (Kesler's construction), but often a smaller one settles it: a contradiction within
two classes is one of all, and a column that one class is weakly beyond makes it quasi.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from linsep.clock import OPERATION, Clock, OutOfTime
from linsep.data.arrays import to_floats, to_scipy
from linsep.data.cache import some_rows
from linsep.learn.evaluation import squared_norms
from linsep.problem import Array, Floats, Sparse, take
from linsep.prove.check.integers import over_common
from linsep.prove.claims import OVERLAP, QUASI, SEPARABLE, Claim, Data, Refutation, Separator
from linsep.prove.core import presolve
from linsep.prove.core.constraints import Constraints, as_plane, independent_columns
from linsep.prove.core.exact_steps import Outcome
from linsep.prove.core.facial_reduction import solve, solve_in_floats
from linsep.prove.core.oracles import SEVERAL_UNKNOWNS, few_rows
from linsep.prove.core.presolve import Certificate, Presolved, peel, presolved, unpeeled, weakly_beyond
from linsep.prove.core.scaled_view import WIDE, sums
from linsep.prove.core.wide_rows import weak_plane
from linsep.prove.linear_algebra import algebra

NO_MARGIN = 1e-6  # a training run takes a margin of a smaller share of the radius for none


def decide(data: Data, classes: tuple[Any, ...], clock: Clock, wide: int = WIDE) -> Claim:
    """Return the verdict, confirmed by the exact check; "unknown" if the time is up first.

    ``wide`` is the number of sparse columns from which on working sets are not written out. Raises FloatingPointError
    if some value is not finite.
    """
    spare = 0.0
    if clock.deadline < math.inf:  # the bounds on the margin, at the end, take some passes
        spare = 0.05 * clock.left + min(
            OPERATION * data.rows.data.size * (data.classes + 1), 0.5 * max(clock.left, 0.0)
        )
    search = VerdictSearch(data, clock.sooner(spare), wide)
    try:
        certificate = search.certificate()
        assert certificate is not None
        search.first.refuse_not_finite()  # the check of a plane does not look at columns whose weight is zero
        proof = certificate.refutation if certificate.kind == OVERLAP else certificate.separator
        holds = (proof is not None and proof is search.checked) or certificate.holds(data)
    except OutOfTime:
        search.last.refuse_not_finite()
        return Claim("unknown", None, None, classes, data.n_features, data.offset, search.bracket())
    except ValueError:  # what is exact cannot be made of a value that is not finite
        search.first.refuse_not_finite()
        raise
    if not holds:
        raise ArithmeticError(f"a proof of {certificate.kind!r} does not hold: please report these data")
    return Claim(*certificate, classes, data.n_features, data.offset, (-math.inf, math.inf))


class VerdictSearch:
    """The search for one verdict; ``known`` is what presolve left, ``last`` the constraints searched last."""

    def __init__(
        self,
        data: Data,
        clock: Clock,
        wide: int = WIDE,
        *,
        any_contradiction: bool = False,
        exact: bool = True,
        mistakes: Array | None = None,
    ) -> None:
        self.data, self.clock, self.wide = data, clock, wide
        self.any_contradiction, self.exact = any_contradiction, exact
        self.known = presolved(data, Clock())
        self.first = self.last = Constraints(self.known.data, clock=clock, wide=wide)
        if not exact:  # for a training run
            self.first.no_margin = NO_MARGIN
        self.mistakes = mistakes if mistakes is None or self.known.rows is None else mistakes[self.known.rows]
        self.peels = True  # whether no rows have been peeled off before
        self.checked: Separator | Refutation | None = None  # what has passed the exact check on all of the data

    def certificate(self) -> Certificate | None:
        """Return a certificate for all of the data; None only without ``exact`` means, if floats do not suffice."""
        inner = self._of_presolved()
        return None if inner is None else self.known.postsolve(inner)

    def _of_presolved(self) -> Certificate | None:
        """Decide on what presolve left."""
        data, pairs = self.known.data, self.known.contradicting
        self.clock.check()
        certificate = self._of_several(data, pairs) if data.classes > 2 else self._of_two(data, pairs)
        return certificate or self._narrow(data, pairs) or self._solved(data, pairs)

    def _of_two(self, data: Data, pairs: Array) -> Certificate | None:
        """Peel two classes; what is left decides."""
        peeled = peel(data, self.clock, rounds=1 if len(pairs) else presolve.PEELINGS) if self.peels else None
        if peeled is None or not peeled.planes:
            return None
        weak = peeled.planes[0]
        if len(pairs):
            return Certificate(QUASI, weak, _of_equal_rows(data, pairs[0]))
        left, y = peeled.left, data.y[peeled.left]
        if len(np.unique(y)) < 2:
            if len(left) and not data.offset:
                return None
            inner: Certificate | None = Certificate(SEPARABLE, _one_class(data, y), None)
        else:
            inner = self._part(data._replace(rows=some_rows(data.rows, left), y=y), left, peels=False)
        if inner is None:
            return None
        if inner.refutation is not None:
            return Certificate(QUASI, weak, replace(inner.refutation, rows=left[inner.refutation.rows]))
        assert inner.separator is not None
        return self._confirmed(Certificate(SEPARABLE, unpeeled(data, peeled, inner.separator), None), data)

    def _part(self, data: Data, which: Array, *, peels: bool = True) -> Certificate | None:
        """Decide on some of the rows; any rows that cancel will do."""
        mistakes = None if self.mistakes is None else self.mistakes[which]
        search = VerdictSearch(data, self.clock, self.wide, any_contradiction=True, exact=self.exact, mistakes=mistakes)
        search.peels = peels
        return search.certificate()

    def _narrow(self, data: Data, pairs: Array) -> Certificate | None:
        """Decide in columns that all others depend on, if columns outnumber rows."""
        if len(data.y) >= data.n_features + data.offset:
            return None
        self.first.refuse_not_finite()
        plane = None if len(pairs) else few_rows(self.first)
        if plane is not None:
            separable = self._confirmed(Certificate(SEPARABLE, self.first.view.plane(plane.w), None), data)
            if separable is not None:
                return separable
        columns = independent_columns(data, self.clock)
        if len(columns) == data.n_features:
            return None
        inner = self._solved(presolve.narrowed(data, columns), pairs)
        if inner is None:
            return None
        return self._confirmed(Presolved(data, data, columns, None, pairs).postsolve(inner), data)

    def _confirmed(self, certificate: Certificate, data: Data) -> Certificate | None:
        """Return a certificate if the exact check agrees."""
        if not certificate.holds(data):
            return None
        self.checked = certificate.separator if data is self.data else None
        return certificate

    def _solved(self, data: Data, pairs: Array) -> Certificate | None:
        """Ask the core."""
        self.last = self.first if data is self.first.data else Constraints(data, clock=self.clock, wide=self.wide)
        first = None
        if self.mistakes is not None and len(self.mistakes) == self.last.n:
            first = np.argsort(-self.mistakes.ravel(), kind="stable")[: np.count_nonzero(self.mistakes)]
        search = solve if self.exact else solve_in_floats
        any_will_do = self.any_contradiction or self.last.view.wide
        outcome = search(self.last, pairs=pairs, first=first, any_contradiction=any_will_do)
        if outcome is None:
            return None
        if self.last.view.wide and not self.any_contradiction and outcome.g is None and len(outcome.ids):
            return self._wide(outcome, data)
        if data is self.data:
            self.checked = outcome.plane
        return certificate(self.last, outcome)

    def _wide(self, outcome: Outcome, data: Data) -> Certificate:
        """Tell quasi from overlap, given rows of very many columns that cancel."""
        overlap = certificate(self.last, outcome)
        assert overlap.refutation is not None
        if overlap.holds(data):
            self.checked = overlap.refutation if data is self.data else None
            return overlap
        if data.classes == 2:
            quasi = Certificate(QUASI, weak_plane(data, outcome.ids, self.last.rng, self.clock), overlap.refutation)
            if quasi.holds(data):
                return quasi
        outcome = solve(self.last)
        return certificate(self.last, outcome)

    # -----------------------------------------------------------------------------------------------------------
    # Several classes

    def _of_several(self, data: Data, pairs: Array) -> Certificate | None:
        """Settle more classes by two near ones that contradict each other, and a column that one of all is beyond."""
        many = (data.classes - 1) * (data.n_features + data.offset) > SEVERAL_UNKNOWNS
        if self.any_contradiction or not (len(pairs) or (many and len(data.y) > data.n_features)):
            return None
        contradiction = None if len(pairs) == 0 else _of_equal_rows(data, pairs[0])
        for a, b in nearest_classes(data) if contradiction is None else ():
            which = np.flatnonzero((data.y == a) | (data.y == b))
            codes = (data.y[which] == b).astype(np.intp)
            pair = self._part(data._replace(rows=some_rows(data.rows, which), y=codes, classes=2), which)
            if pair is not None and pair.refutation is not None:
                rivals = np.where(pair.refutation.rivals == 1, b, a)
                contradiction = replace(pair.refutation, rows=which[pair.refutation.rows], rivals=rivals)
                break
        weak = None if contradiction is None else weakly_beyond(data, self.clock)
        return None if weak is None else Certificate(QUASI, weak, contradiction)

    # -----------------------------------------------------------------------------------------------------------
    # Out of time

    def margin_bound(self) -> tuple[float, float]:
        """Return a bound on the margins of all planes, of the points (x, 1) with an offset, and the radius of these.

        It is infinite unless rows were found that about cancel.
        """
        data, known = self.data, self.known
        if self.last.cancel is None or self.last.data is not known.data:
            return math.inf, 0.0
        ids, weights = self.last.cancel
        i = ids // 2 if known.rows is None else known.rows[ids // 2]
        x = to_scipy(take(data.rows, i), data.n_features)
        signed = weights / weights.sum() * (2.0 * data.y[i] - 1)
        point = np.append(np.asarray(x.T @ signed).ravel(), signed.sum() * data.offset)
        radius = math.sqrt(float(squared_norms(data.rows).max()) + data.offset)
        return float(np.linalg.norm(point)) * (1 + 1e-9) + (len(i) + 10) * 2.0**-52 * radius * (1 + 1e-6), radius

    def bracket(self) -> tuple[float, float]:
        """Return bounds on the largest margin from the last plane tried and the points it was found from.

        With two classes the margin of ``w·x + b = 0`` (offset) or ``w·x = 0``, with more the smallest lead of the true
        class for weights of norm 1 altogether.
        """
        data, known = self.data, self.known
        with np.errstate(over="ignore"):
            radius = math.sqrt(float(squared_norms(data.rows).max())) * (1 + 1e-6) + 1e-150
        upper = radius * (1 if data.classes == 2 else math.sqrt(2) * (1 + 2.0**-50))
        if self.last.best is None or self.last.data is not known.data:
            return -upper, upper
        w, ids, multipliers = self.last.best
        W, b = known.plane(self.last.view.plane(w)).per_class()
        lower = max(-upper, _least_lead(data, W, b, radius))
        cancel = [(ids, multipliers), *([] if self.last.cancel is None else [self.last.cancel])]
        for ids, multipliers in cancel if data.classes == 2 else ():
            i = ids // 2 if known.rows is None else known.rows[ids // 2]
            upper = min(upper, _distance(data, i, multipliers / multipliers.sum(), radius))
        return lower, upper


def _of_equal_rows(data: Data, pair: Array) -> Refutation:
    return Refutation(pair.astype(np.intp), (Fraction(1), Fraction(1)), data.y[pair[::-1]].astype(np.intp))


def _one_class(data: Data, y: Array) -> Separator:
    """Return the plane that has all points on one side, or, if there are no rows, any."""
    return Separator(np.zeros(data.n_features), (1.0 if y.any() else -1.0) if data.offset else 0.0)


def certificate(constraints: Constraints, outcome: Outcome) -> Certificate:
    """Return the outcome of the core as a verdict with its proof."""
    data, C = constraints.data, constraints.classes
    plane = None if outcome.g is None else _shortest(constraints, outcome)
    refutation = None
    if len(outcome.ids):
        whole = algebra.primitive(over_common(outcome.multipliers)[0])
        order = np.argsort(outcome.ids, kind="stable")
        rows, rivals = np.divmod(outcome.ids[order], C)
        multipliers = tuple(Fraction(whole[k]) for k in order.tolist())
        refutation = Refutation(rows.astype(np.intp), multipliers, rivals.astype(np.intp))
    zeros = np.flatnonzero(constraints.zero_rows)[:1]
    if len(zeros) and refutation is None:  # a row of zeros is on every plane
        refutation = Refutation(zeros, (Fraction(1),), np.where(data.y[zeros] == 0, 1, 0))
    if not outcome.strict.any():
        return Certificate(OVERLAP, None, refutation)
    return Certificate(SEPARABLE if refutation is None else QUASI, plane, refutation)


def _shortest(constraints: Constraints, outcome: Outcome) -> Separator:
    """Return the plane of an outcome, of as few digits as hold if all rows are strictly on their side."""
    g = outcome.g
    plane = outcome.plane or as_plane(constraints.data, g)
    if plane.w.dtype == object and not len(outcome.ids):
        top = max(abs(value).bit_length() for value in algebra.entries(g))
        for bits in (bits for bits in (53, 80, 106, 212, 424) if bits < top):
            short = algebra.one_column([value >> (top - bits) for value in algebra.entries(g)])
            if (constraints.signs(short)[constraints.live] > 0).all():
                return as_plane(constraints.data, short)
    return plane


def nearest_classes(data: Data) -> list[tuple[int, int]]:
    """Return pairs of classes, in turns those of nearest means and those of near means and many rows.

    As many as have about as many rows together as there are in all: these cost little beside all.
    """
    sizes = np.bincount(data.y, minlength=data.classes)
    present = np.sort(np.argsort(-sizes, kind="stable")[: min(_NEAR_CLASSES, int((sizes > 0).sum()))])
    rng, means = np.random.default_rng(0), []
    for c in present.tolist():
        members = np.flatnonzero(data.y == c)
        some = np.sort(rng.choice(members, 200, replace=False)) if len(members) > 200 else members
        means.append(to_floats(data.rows, some, data.n_features).mean(axis=0))
    i, j = np.tril_indices(len(present), -1)
    distances = np.array([np.linalg.norm(means[a] - means[b]) for a, b in zip(i.tolist(), j.tolist(), strict=True)])
    crowded = distances / np.minimum(sizes[present][i], sizes[present][j])
    orders = np.stack((np.argsort(distances, kind="stable"), np.argsort(crowded, kind="stable")), axis=1)
    pairs = [(int(present[j[k]]), int(present[i[k]])) for k in dict.fromkeys(orders.ravel().tolist())]
    return pairs[: worth_of_all(pairs, sizes)]


_NEAR_CLASSES = 300  # those with the most rows, in which a contradiction is likeliest


def worth_of_all(pairs: list[tuple[int, int]], sizes: Array) -> int:
    """Return how many pairs of classes have about as many rows as there are in all."""
    return int(np.searchsorted(np.cumsum([sizes[a] + sizes[b] for a, b in pairs]), sizes.sum()))


def _least_lead(data: Data, W: Array, b: Array, radius: float) -> float:
    """Return the smallest lead of the true class, for weights of norm 1, less what rounding may add."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.stack([sums(data, v) + c for v, c in zip(W, b, strict=True)])
        true = scores[data.y, np.arange(len(data.y))].copy()
        scores[data.y, np.arange(len(data.y))] = -np.inf
        size = np.linalg.norm(W)
        rounding = (data.n_features + 10) * 2.0**-51 * (radius + np.abs(b).max() / size)
        return float(np.nan_to_num((true - scores.max(axis=0)).min() / size - rounding, nan=-math.inf))


def _distance(data: Data, i: Array, multipliers: Floats, radius: float) -> float:
    """Return the distance of a point of the hull from the origin, or half that between points of the two hulls."""
    sign = 2.0 * data.y[i] - 1
    if data.offset:
        if abs(sign.sum()) == len(sign):
            return math.inf
        for side in (-1.0, 1.0):
            multipliers[sign == side] /= 2 * multipliers[sign == side].sum()
    x = to_scipy(take(data.rows, i), data.n_features) if isinstance(data.rows, Sparse) else to_floats(data.rows, i, 0)
    point = np.asarray(x.T @ (multipliers * sign)).ravel()
    return float(np.linalg.norm(point)) * (1 + 1e-9) + (len(i) + 10) * 2.0**-52 * radius
