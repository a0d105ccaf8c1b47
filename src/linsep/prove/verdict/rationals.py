"""Verdicts on rows with numbers too long for 64 bits, such as decimals of 17 digits.

The search uses the nearest doubles. A plane found there is used as it is; for a refutation, the multipliers are solved
again on the exact rows. Where the exact check does not confirm the outcome, the core decides on the exact rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpz_mat

from linsep.clock import Clock, OutOfTime
from linsep.data.arrays import is_sparse
from linsep.data.parallel import quiet_algebra
from linsep.errors import DataError
from linsep.problem import Array, Rows, Values
from linsep.prove.check.exact_signs import Row
from linsep.prove.check.fast_check import refutation_fits, separates
from linsep.prove.check.fast_facts import inequalities, normals, rank, total
from linsep.prove.check.integers import over_common
from linsep.prove.claims import NOT_SEPARABLE, OVERLAP, SEPARABLE, UNKNOWN, Claim, Data, Refutation
from linsep.prove.core.constraints import LongConstraints
from linsep.prove.core.facial_reduction import solve
from linsep.prove.linear_algebra import algebra
from linsep.prove.numbers.cells import Cells, ExactRows
from linsep.prove.numbers.exact_numbers import BINARY, all_finite
from linsep.prove.verdict.decide import certificate

_WRITTEN_OUT = 1 << 22  # cells of sparse rows that are

Decide = Callable[[Rows], Claim]


def decide(X: Any, values: Values, codes: Array, search: Decide, clock: Clock) -> Claim:
    """Return the verdict on numbers that no 64 bits hold, by way of the nearest doubles."""
    rows = ExactRows(X, values)
    if not all_finite(rows.near.data):
        raise ValueError("X has numbers beyond the range of double precision: scale its columns")
    verdict = replace(search(rows.near), values=values)
    if verdict.kind == UNKNOWN:
        return verdict
    return carried_over(verdict, rows, codes) or _exactly(verdict, rows, codes, clock)


def carried_over(verdict: Claim, rows: ExactRows, codes: Array) -> Claim | None:
    """Return a verdict on the nearest doubles as one on the numbers themselves, None if that fails."""
    if verdict.refutation is not None:
        refutation = verdict.refutation
        _, matrix, denominators = _inequalities(refutation, rows, codes, len(verdict.classes), verdict.fit_intercept)
        near = [value / bottom for value, bottom in zip(refutation.multipliers, denominators, strict=True)]
        solved = algebra.dependency(matrix, Clock(), near)
        if solved is None:
            return None
        kept = solved.rows.tolist()
        exact = [weight * denominators[k] for k, weight in zip(kept, solved.multipliers, strict=True)]
        whole = tuple(map(Fraction, algebra.primitive(exact)))
        verdict = replace(verdict, refutation=Refutation(refutation.rows[kept], whole, refutation.rivals[kept]))
    return verdict if holds_rationally(verdict, rows, codes) else None


def _inequalities(
    refutation: Refutation, rows: ExactRows, codes: Array, classes: int, offset: bool
) -> tuple[list[Row], Any, list[int]]:
    """Return the rows of a refutation in integers, its inequalities, and the denominators left out of these."""
    columns = list(range(rows.X.shape[1] + offset))
    exact = rows.exact(refutation.rows)
    whole = [over_common([*row, 1] if offset else row) for row in exact]
    some = [Row(columns, values, 0) for values, _ in whole]
    matrix, _ = inequalities(some, codes[refutation.rows].tolist(), refutation.rivals.tolist(), classes)
    return some, matrix, [common for _, common in whole]


def holds_rationally(verdict: Claim, rows: ExactRows, codes: Array) -> bool:
    """Return whether the parts that a verdict of its kind needs are there and right."""
    plane, refutation = verdict.separator, verdict.refutation
    if (plane is None) != (verdict.kind in (OVERLAP, NOT_SEPARABLE)) or (refutation is None) != (
        verdict.kind == SEPARABLE
    ):
        return False
    data = Data(rows.near, codes, verdict.n_features, len(verdict.classes), verdict.fit_intercept)
    if plane is not None and not separates(plane, data, strictly=verdict.kind == SEPARABLE, signs_of=rows.signs):
        return False
    return refutation is None or _contradicts(verdict, refutation, rows, codes)


def _contradicts(verdict: Claim, refutation: Refutation, rows: ExactRows, codes: Array) -> bool:
    """Return whether multipliers are positive, the sum vanishes and, for an overlap, the inequalities span all."""
    classes, offset = len(verdict.classes), verdict.fit_intercept
    if not refutation_fits(refutation, codes, classes):
        return False
    some, matrix, denominators = _inequalities(refutation, rows, codes, classes, offset)
    factors = [value / bottom for value, bottom in zip(refutation.multipliers, denominators, strict=True)]
    if total(factors, matrix, [0] * len(factors)):
        return False
    if verdict.kind != OVERLAP:
        return True
    outside = normals(fmpz_mat([row.values for row in some]))
    for vector in outside:
        normal = np.array([*map(Fraction, vector), *([] if offset else [Fraction(0)])], dtype=object)
        if rows.signs(np.arange(len(codes)), normal).any():
            return False
    q = (classes - 1) * (rows.X.shape[1] + offset - len(outside))
    return bool(rank(matrix, q) == q)


def _exactly(verdict: Claim, rows: ExactRows, codes: Array, clock: Clock) -> Claim:
    """Return the verdict where that on the nearest doubles is another: doubles search, but the exact rows decide."""
    X, (n, d) = rows.X, rows.X.shape
    exact = rows if not is_sparse(X) else ExactRows(X.toarray(), rows.values) if n * d <= _WRITTEN_OUT else None
    scaled = None if exact is None else exact.scaled()
    if exact is None or scaled is None:
        reason = "the verdict on these rows depends on digits beyond double precision"
        raise DataError("", reason + "; {0} decides for the nearest doubles", ("values", BINARY))
    system = LongConstraints.of(exact, scaled, codes, len(verdict.classes), verdict.fit_intercept)
    system.clock = clock
    try:
        with quiet_algebra():
            exact_certificate = certificate(system, solve(system))
    except OutOfTime:
        return replace(verdict, kind=UNKNOWN, separator=None, refutation=None, bracket=(-math.inf, math.inf))
    inside = Cells(X, scaled[0], [Fraction(0)] * d)
    plane = None if exact_certificate.separator is None else inside.outside(exact_certificate.separator)
    verdict = replace(verdict, kind=exact_certificate.kind, separator=plane, refutation=exact_certificate.refutation)
    if not holds_rationally(verdict, rows, codes):
        raise ArithmeticError(f"a proof of {verdict.kind!r} does not hold: please report these data")
    return verdict
