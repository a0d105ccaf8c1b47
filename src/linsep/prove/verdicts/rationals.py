"""Verdicts on rows with numbers too long for 64 bits, such as decimals of 17 digits.

The search uses the nearest doubles. A plane found there is used as it is; for a refutation, the multipliers are solved
again on the exact rows. Where the exact check does not confirm the outcome, the core decides on the exact rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import fmpz_mat

from linsep.clock import Clock, OutOfTime
from linsep.data.arrays import is_sparse
from linsep.data.parallel import in_parallel, quiet_algebra
from linsep.errors import DataError
from linsep.problem import Array, Rows
from linsep.prove.check.exact_signs import difference, signs
from linsep.prove.check.plain import check_refutation, inequality
from linsep.prove.check.plain_document import Fails, Malformed, whole
from linsep.prove.claims import NOT_SEPARABLE, OVERLAP, SEPARABLE, UNKNOWN, Refutation, Separator, Verdict
from linsep.prove.core.facial_reduction import solve
from linsep.prove.core.long_constraints import LongConstraints
from linsep.prove.exact import algebra
from linsep.prove.exact.given_numbers import BINARY, Held, all_finite, as_rows, held, in_doubles, rational_rows
from linsep.prove.numbers.exact_rows import exact_rows
from linsep.prove.numbers.long_decimals import LongDecimals
from linsep.prove.verdicts.decide import certificate

_WRITTEN_OUT = 1 << 22  # cells of sparse rows that are
_SMALLEST = 2.0**-900  # below, the nearest double may be off by more than a share of itself


class Rationals(Sequence[tuple[list[int], int]]):
    """Rows as whole numbers with their denominators, made when they are asked for, and the doubles nearest to them."""

    def __init__(self, X: Any, values: str, offset: bool) -> None:
        self.X, self.values, self.offset = X, values, offset
        self.rough = False  # the doubles are not near enough
        if isinstance(X, LongDecimals):
            X = X.near
        elif not is_sparse(X) and X.dtype == object:
            X = np.array([[_nearest(value) for value in row] for row in X.tolist()])
        X = in_doubles(X, values) if X.dtype != object else X
        self.near: Rows = as_rows(X)
        cells = self.near.data

        def look(start: int, stop: int) -> None:
            sizes = np.abs(cells[start:stop])
            if sizes.min(initial=1.0) < _SMALLEST:
                self.rough |= bool(((sizes < _SMALLEST) & (sizes > 0)).any())

        in_parallel(look, len(cells), 16 * cells.size // max(1, len(cells)))  # the sizes stay in the processor's cache

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __getitem__(self, i: Any) -> Any:
        (row,) = rational_rows(self.X[[i]], self.values)
        return whole([*row, 1] if self.offset else row)

    def signs(self, which: Array, normal: Array) -> Array:
        """Return the exact signs of ``normal·(x_i, 1)`` for the rows asked."""
        exactly = partial(self._exact_signs, normal)
        return exactly(which) if self.rough else signs(self.near, which, normal, exactly)

    def _exact_signs(self, normal: Array, which: Array) -> Array:
        """Return them without a look at the doubles: in 64 bits if these hold the numbers, else in Python's."""
        found = held(self.X[which], self.values, offset=True)
        if found is not None:
            plane = found.inside(Separator(normal[:-1], normal.tolist()[-1]))
            return signs(found.rows, np.arange(len(which)), np.append(plane.w, plane.b))
        v = whole([Fraction(value) for value in normal.tolist()])[0]
        totals = [sum(a * c for a, c in zip(v, self.with_one(i), strict=True)) for i in which.tolist()]
        return np.array([(total > 0) - (total < 0) for total in totals], dtype=np.int8)

    def with_one(self, i: int) -> list[int]:
        """Return a row with the 1 of the offset, times a positive number."""
        values, common = self[i]
        return values if self.offset else [*values, common]


def _nearest(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def holds_rationally(verdict: Verdict, rows: Rationals, codes: Array) -> bool:
    """Return whether the parts that a verdict of its kind needs are there and right."""
    plane, refutation = verdict.separator, verdict.refutation
    if (plane is None) != (verdict.kind in (OVERLAP, NOT_SEPARABLE)) or (refutation is None) != (
        verdict.kind == SEPARABLE
    ):
        return False
    if plane is not None and not _separates(verdict, rows, codes):
        return False
    if refutation is None:
        return True
    claim = {
        "rows": refutation.rows.tolist(),
        "rivals": refutation.rivals.tolist(),
        "multipliers": [str(value) for value in refutation.multipliers],
    }
    try:
        check_refutation(claim, len(verdict.classes), rows, codes.tolist(), spanning=verdict.kind == OVERLAP)
    except (Fails, Malformed, ValueError):
        return False
    return True


def _separates(verdict: Verdict, rows: Rationals, codes: Array) -> bool:
    """Return whether every row is on its side, strictly if that is claimed, or not all on the plane."""
    assert verdict.separator is not None
    W, b = verdict.separator.per_class()
    classes = len(verdict.classes)
    if W.shape != (classes, verdict.n_features) or b.shape != (classes,) or (b.any() and not verdict.fit_intercept):
        return False
    if W.dtype != object and not (np.isfinite(W).all() and np.isfinite(b).all()):
        return False
    full, some = np.column_stack((W, b)), False
    for own, rival in itertools.permutations(range(classes), 2):
        which, normal = np.flatnonzero(codes == own), difference(full[own], full[rival])
        side = rows.signs(which, normal)
        if side.min(initial=1) < (verdict.kind == SEPARABLE):
            return False
        some |= bool(side.max(initial=0) > 0)
    return some


def carried_over(verdict: Verdict, rows: Rationals, codes: Array, values: str) -> Verdict | None:
    """Return a verdict on the nearest doubles as one on the numbers themselves, None if that fails."""
    if verdict.refutation is not None:
        found = verdict.refutation
        pairs = list(zip(found.rows.tolist(), found.rivals.tolist(), strict=True))
        table = [inequality(rows[i][0], int(codes[i]), rival, len(verdict.classes)) for i, rival in pairs]
        near = [value / rows[i][1] for value, (i, _) in zip(found.multipliers, pairs, strict=True)]
        solved = algebra.dependency(fmpz_mat(table), near)
        if solved is None:
            return None
        kept = solved.rows.tolist()
        exact = [weight * rows[pairs[k][0]][1] for k, weight in zip(kept, solved.multipliers, strict=True)]
        numbers, _ = whole([Fraction(value, exact[0]) for value in exact])
        verdict = replace(
            verdict, refutation=Refutation(found.rows[kept], tuple(map(Fraction, numbers)), found.rivals[kept])
        )
    verdict = replace(verdict, values=values)
    return verdict if holds_rationally(verdict, rows, codes) else None


Decide = Callable[[Rows], Verdict]


def decide(X: Any, values: str, offset: bool, codes: Array, search: Decide, clock: Clock) -> Verdict:
    """Return the verdict on numbers that no 64 bits hold, by way of the nearest doubles."""
    rows = Rationals(X, values, offset)
    if not all_finite(rows.near.data):
        raise ValueError("X has numbers beyond the range of double precision: scale its columns")
    verdict = search(rows.near)
    if verdict.kind == UNKNOWN:
        return replace(verdict, values=values)
    return carried_over(verdict, rows, codes, values) or _exactly(verdict, rows, codes, clock)


def _exactly(verdict: Verdict, rows: Rationals, codes: Array, clock: Clock) -> Verdict:
    """Return the verdict where that on the nearest doubles is another: doubles search, but the exact rows decide."""
    X, (n, d) = rows.X, rows.X.shape
    table = None
    if not is_sparse(X) or n * d <= _WRITTEN_OUT:
        table = exact_rows(in_doubles(X.toarray() if is_sparse(X) else X, rows.values))
    if table is None:
        what = "the verdict on these rows depends on digits beyond double precision"
        raise DataError("", what + "; {0} decides for the nearest doubles", ("values", BINARY))
    system = LongConstraints.of(table, codes, len(verdict.classes), rows.offset)
    system.clock = clock
    try:
        with quiet_algebra():
            found = certificate(system, solve(system))
    except OutOfTime:
        return replace(
            verdict, kind=UNKNOWN, separator=None, refutation=None, values=rows.values, bracket=(-math.inf, math.inf)
        )
    inside = Held(rows.near, X.shape, tuple(map(Fraction, table.scales)), (Fraction(0),) * d)
    plane = None if found.separator is None else inside.outside(found.separator)
    verdict = replace(verdict, kind=found.kind, separator=plane, refutation=found.refutation, values=rows.values)
    if not holds_rationally(verdict, rows, codes):
        raise ArithmeticError(f"a proof of {verdict.kind!r} does not hold: please report these data")
    return verdict
