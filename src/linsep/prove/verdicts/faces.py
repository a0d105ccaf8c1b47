"""Turns a plane or contradiction in floats into an exact certificate.

Every plane that is weakly right holds the contradicting rows. Restrict to planes that do, drop the inequalities that
then hold with equality, decide again: a plane means quasi, nothing left means overlap; otherwise the contradiction
has grown. The levels of this reduction are gone through in floats, and what comes out is proved once; where that
fails, every level is made exact.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz_mat

from linsep.clock import Clock
from linsep.data.threads import scipy_linalg
from linsep.learn.surveys import scores
from linsep.problem import Array, Floats
from linsep.prove.check.fast_check import contradicts
from linsep.prove.claims import Data, Refutation, Separator
from linsep.prove.exact import algebra, exact_solve
from linsep.prove.exact.modular import vanishing
from linsep.prove.verdicts import newton
from linsep.prove.verdicts.case import Case, Certificate, Contradiction, Plane, refutation
from linsep.prove.verdicts.exact_view import ExactView, as_plane, decide, pair_signs, whole_basis
from linsep.prove.verdicts.integer_rows import integer_rows, packed_rows
from linsep.prove.verdicts.nearest_point import nearest_plane
from linsep.prove.verdicts.scaled import raw_differences, sums


def settle(case: Case, found: Plane | Contradiction | None, clock: Clock) -> Certificate | None:
    """Return the certificate that a float search has led to, if the exact check agrees."""
    if isinstance(found, Plane):
        return separated(case, found.w)
    if found is None or len(found.pairs) == 0:
        return None
    quick = _likely_multipliers(case.data, found, clock)
    if quick is not None:
        certificate = _at_once(case, as_refutation(case.data, quick))  # most often there is nothing else to check
        if certificate is not None:
            return certificate
    exact = _confirmed_multipliers(case.data, found, quick, clock)
    if exact is None:
        return None
    return _by_levels(case, exact, clock) if exact is quick else refuted(case, exact, clock)


def separated(case: Case, w: Floats) -> Certificate | None:
    """Confirm a plane: as floats, with its offset moved, at last in fractions."""
    plane = case.view.plane(w)
    found = case.confirmed("separable", plane, None)
    if found is None and case.data.offset and case.data.classes == 2:
        found = case.confirmed("separable", _midway(case.data, plane), None)
    return found or case.confirmed("separable", case.view.plane(w, exact=True), None)


def _midway(data: Data, plane: Separator) -> Separator:
    """Return the plane with its offset midway between the two classes, as far as floats tell."""
    heights = sums(data, plane.w)
    upper, lower = heights[data.y == 1].min(initial=np.inf), heights[data.y == 0].max(initial=-np.inf)
    with np.errstate(over="ignore", invalid="ignore"):  # the exact check refuses what is not finite
        return Separator(plane.w, float(-(lower + (upper - lower) / 2)))


class Exact(NamedTuple):
    """Inequalities that contradict each other, with integer multipliers of the rows as given."""

    pairs: Array
    multipliers: list[int]


def exact_multipliers(data: Data, found: Contradiction, clock: Clock) -> Exact | None:
    """Make the multipliers of a contradiction exact, if it is one with independent rows but for one relation."""
    return _confirmed_multipliers(data, found, _likely_multipliers(data, found, clock), clock)


def _likely_multipliers(data: Data, found: Contradiction, clock: Clock) -> Exact | None:
    """Return multipliers that have yet to be checked."""
    if data.rows.data.dtype.itemsize == 8 and data.rows.data.dtype.kind != "f":  # floats may not hold the rows
        return None
    rows = exact_solve.dependency(raw_differences(data, found.pairs), found.multipliers, clock)
    return None if rows is None else Exact(found.pairs[rows.rows], rows.multipliers)


def _confirmed_multipliers(data: Data, found: Contradiction, likely: Exact | None, clock: Clock) -> Exact | None:
    """Return the likely multipliers if they are right, else those that exact elimination finds."""
    if likely is not None and contradicts(as_refutation(data, likely), data):
        return likely
    A, shifts, _ = packed_rows(data, found.pairs, clock)
    clock.check(algebra.seconds(A))
    rows = algebra.dependency(A)
    if rows is None:
        return None
    kept = [shifts[k] for k in rows.rows.tolist()]
    exact_rows = [value << (max(kept) - shift) for value, shift in zip(rows.multipliers, kept, strict=True)]
    return Exact(found.pairs[rows.rows], exact_rows)


def as_refutation(data: Data, found: Exact) -> Refutation:
    """Return a contradiction as a refutation."""
    return refutation(data, found.pairs, found.multipliers, [0] * len(found.pairs))


def refuted(case: Case, found: Exact, clock: Clock) -> Certificate | None:
    """Tell quasi from overlap, given inequalities that contradict each other."""
    return _at_once(case, as_refutation(case.data, found)) or _by_levels(case, found, clock)


def _at_once(case: Case, first: Refutation) -> Certificate | None:
    """Return the certificate if a known plane makes it quasi, or if the rows of the refutation span all."""
    quasi = None if case.weak is None else case.confirmed("quasi", case.weak, first)
    return quasi or case.confirmed("overlap", None, first)


def _by_levels(case: Case, found: Exact, clock: Clock) -> Certificate | None:
    """Go down the levels, in floats if they can."""
    if case.view.wide:
        return None
    face, first = _with_equal_rows(case, found), as_refutation(case.data, found)
    certificate = _by_floats(case, face, first, clock)
    if certificate is None and case.view.dimension <= case.limits.unknowns:
        certificate = _exactly(case, face, first, clock)
    return certificate


def _with_equal_rows(case: Case, found: Exact) -> Exact:
    """Add equal rows of different classes to a contradiction; each such pair is one itself."""
    i, j = case.contradicting.T
    if len(i) == 0:
        return found
    C, y = case.data.classes, case.data.y
    both = np.concatenate((i * C + y[j], j * C + y[i]))
    new = ~np.isin(both, found.pairs)
    new = np.tile(new[: len(i)] & new[len(i) :], 2)
    more = both[new]
    return Exact(np.concatenate((found.pairs, more)), [*found.multipliers, *[max(found.multipliers)] * len(more)])


# ---------------------------------------------------------------------------------------------------------------
# Levels in floats, one proof

LEVELS = 200
FLOAT_UNKNOWNS = 3000  # at most
DEPENDENT = 1e-10  # what is left of a row of size 1 that depends on others
VANISHING = 1e-9  # height, in sizes of rows and weights, of a row that is on all planes
ROUNDED = 40  # binary digits of the numbers that a proof may choose freely


class _Face(NamedTuple):
    """Inequalities that hold with equality on every weakly right plane, with positive multipliers that cancel them."""

    pairs: Array
    rows: Floats  # (k, dimension) as the scaled view sees them
    multipliers: Floats


def _by_floats(case: Case, found: Exact, first: Refutation, clock: Clock) -> Certificate | None:
    """Go down the levels in floats, then prove what was found."""
    if case.view.dimension > FLOAT_UNKNOWNS or case.view.misled or not case.limits.float_searches:
        return None
    rows = case.view.gather(found.pairs)
    largest = max(found.multipliers)
    multipliers = np.array([value / largest for value in found.multipliers]) / _factors(case, found.pairs, rows)
    if not (np.isfinite(multipliers).all() and (multipliers > 0).all()):
        return None
    face = _Face(found.pairs, rows, multipliers / multipliers.max())
    for _ in range(LEVELS):
        clock.check(1e-9 * len(face.rows) ** 2 * case.view.dimension)
        Q, R, _ = scipy_linalg().qr(face.rows.T, mode="full", pivoting=True, check_finite=False)
        size = np.abs(np.diag(R))
        N = Q[:, int(np.count_nonzero(size > DEPENDENT * size.max(initial=0.0))) :]
        left = _off_face(case, N)
        if len(left) == 0:
            return _overlap(case, face, clock)
        level = _decide(case, N, left, clock)
        if isinstance(level, Plane):
            plane = _through(case, face, level.w, clock)
            return None if plane is None else case.confirmed("quasi", plane, first)
        if level is None or len(level.pairs) == 0:
            return None
        face = _joined(case, face, level)
    return None


def _factors(case: Case, pairs: Array, rows: Floats) -> Floats:
    """Return what the scaled view has multiplied each inequality by, to make its size about 1."""
    C, y = case.data.classes, case.data.y
    blocks = (y[pairs // C] > 0).astype(np.float64) + (pairs % C > 0)  # in which the row stands; class 0 has none
    with np.errstate(all="ignore"):
        return np.asarray(np.linalg.norm(rows, axis=1) / (case.view.row_sizes()[pairs // C] * np.sqrt(blocks)))


def _off_face(case: Case, N: Floats) -> Array:
    """Return the inequalities that do not vanish for weights in the span of the columns of N."""
    if N.shape[1] == 0:
        return np.empty(0, np.intp)
    heights = _heights(case, N @ case.rng.normal(size=N.shape[1]) / math.sqrt(N.shape[1]))
    heights[np.arange(len(heights)), case.data.y] = 0.0
    return np.flatnonzero(np.abs(heights.ravel()) > VANISHING)


def _heights(case: Case, w: Floats) -> Floats:
    """Return every inequality under weights in scaled columns, in sizes of the row, (n, classes)."""
    data, view = case.data, case.view
    W = np.vstack((np.zeros(view.block), w.reshape(data.classes - 1, view.block)))
    b = W[:, data.n_features] * view.constant if data.offset else np.zeros(len(W))
    V = W[:, : data.n_features]
    S = scores(data.rows, np.ascontiguousarray(V * view.unit), b - V @ view.center)
    own = S[np.arange(len(S)), data.y]
    sizes = np.maximum(view.row_sizes(), 1e-300)  # a row of zeros is on every plane
    return np.asarray((own[:, None] - S) / sizes[:, None])


def _decide(case: Case, N: Floats, left: Array, clock: Clock) -> Plane | Contradiction | None:
    """Look for weights in the span of N that meet all inequalities that are left, on a growing working set."""
    k = N.shape[1]
    most = max(2000, 10 * k)
    pairs = np.sort(case.rng.choice(left, most, replace=False)) if len(left) > most else left
    for _ in range(40):
        clock.check(2e-10 * len(pairs) * case.view.dimension * k)
        Z = case.view.gather(pairs) @ N
        found = newton.fit(Z, np.zeros(k), enough=0.3, steps=60, clock=clock)
        u, lowest = found.w, found.heights.min()
        if lowest <= 0:
            slack = np.maximum(1 - found.heights, 0)
            below = np.flatnonzero(slack)
            if found.ended:
                kept, multipliers = newton.corners(Z[below], slack[below], clock)
                if len(kept):
                    return Contradiction(pairs[below[kept]], multipliers)
            near = nearest_plane(Z, None, clock)
            if not near.w.any() or not near.lowest > 0:
                return Contradiction(pairs[near.support], near.weights[near.support])
            u = near.w
        heights = _heights(case, N @ u).ravel()[left] / np.linalg.norm(u)
        if heights.min() > VANISHING:
            return Plane(N @ u)
        new = np.setdiff1d(left[np.argsort(heights, kind="stable")[:most]], pairs)
        if len(new) == 0 or not np.isfinite(heights).all():
            return None
        pairs = np.concatenate((pairs, new))
    return None


def _joined(case: Case, face: _Face, level: Contradiction) -> _Face:
    """Add inequalities that cancel up to the span of the face, with multipliers of the face that make up for it."""
    rows = case.view.gather(level.pairs)
    multipliers = level.multipliers / level.multipliers.max()
    rest = np.linalg.lstsq(face.rows.T, multipliers @ rows, rcond=None)[0]
    times = 1 + max(0.0, float((rest / face.multipliers).max()))
    joined = np.concatenate((times * face.multipliers - rest, multipliers))
    return _Face(np.concatenate((face.pairs, level.pairs)), np.vstack((face.rows, rows)), joined / joined.max())


def _rounded(values: Floats) -> Floats:
    """Return floats of few binary digits."""
    fractions, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(fractions, ROUNDED)), exponents - ROUNDED))


def _through(case: Case, face: _Face, w: Floats, clock: Clock) -> Separator | None:
    """Return the plane of weights near to ``w`` that the inequalities of the face vanish on exactly."""
    A, _ = integer_rows(case.data, face.pairs, clock)
    W, offsets = case.view.raw(w)
    raw = np.column_stack((W, [float(b) for b in offsets])).ravel() if case.data.offset else W.ravel()
    if not np.isfinite(raw).all():
        return None
    clock.check(algebra.seconds(A))
    return as_plane(case.data, algebra.null_vector(A, algebra.column(_rounded(raw))))


def _overlap(case: Case, face: _Face, clock: Clock) -> Certificate | None:
    """Make the multipliers of a face that spans everything exact."""
    wanted = face.multipliers * _factors(case, face.pairs, face.rows)
    if not (np.isfinite(wanted).all() and (wanted > 0).all()):
        return None
    A, shifts = integer_rows(case.data, face.pairs, clock)
    clock.check(algebra.seconds(A))
    found = algebra.null_vector(A.transpose(), algebra.column(_rounded(wanted), np.array(shifts)))
    multipliers = [int(found[k, 0]) for k in range(found.nrows())]
    if min(multipliers) <= 0:
        return None
    return case.confirmed("overlap", None, refutation(case.data, face.pairs, multipliers, shifts))


# ---------------------------------------------------------------------------------------------------------------
# Every level exact


def _exactly(case: Case, found: Exact, first: Refutation, clock: Clock) -> Certificate:
    """Go down the levels without rounding."""
    data, face = case.data, found
    while True:
        A, _ = integer_rows(data, face.pairs, clock)
        clock.check(algebra.seconds(A))
        basis = algebra.null_basis(A)
        left = _exactly_off_face(case, basis)
        if not left.any():
            return case.certain("overlap", None, as_refutation(data, face))
        view = ExactView(data, basis, left, clock)
        pairs, most = np.flatnonzero(left), 4 * view.dimension + 8
        pairs = np.sort(case.rng.choice(pairs, most, replace=False)) if len(pairs) > most else pairs
        w, more, level = decide(view, pairs, case.rng, case.limits.exact_views)
        if level is None:
            return shortest(case, "quasi", w, first)
        face = _lifted(data, face, more[level.rows], level.multipliers, clock)


def _must_fit(case: Case) -> None:
    """Refuse to write out an exact basis that no memory holds."""
    unknowns, data = case.view.dimension, case.data
    if unknowns > case.limits.unknowns:
        case.view.look()
        raise MemoryError(
            f"double precision cannot decide these data, and an exact search in {unknowns} unknowns ({data.n_features} "
            f"columns in use, {data.classes} classes) takes about {max(1, unknowns**2 * 24 >> 30)} GB: leave out "
            f"columns, or use fewer classes at a time"
        )


def _exactly_off_face(case: Case, basis: Any) -> Array:
    """Return which inequalities are not in the span of those that the basis is orthogonal to: almost surely."""
    data = case.data
    left = np.zeros((len(data.y), data.classes), dtype=bool)
    if basis.ncols():
        random = fmpz_mat(basis.ncols(), 1, case.rng.integers(1, 2**62, basis.ncols()).tolist())
        exactly = data.rows.data.dtype == np.uint64
        left = pair_signs(data, basis * random) != 0 if exactly else ~vanishing(data, basis * random)
        left[np.arange(len(data.y)), data.y] = False
    return left.ravel()


def _lifted(data: Data, face: Exact, more: Array, multipliers: list[int], clock: Clock) -> Exact:
    """Join a refutation and inequalities that cancel up to the span of its own into one refutation."""
    A, shifts = integer_rows(data, face.pairs, clock)
    B, others = integer_rows(data, more, clock)
    c, q = algebra.express(A, fmpz_mat(1, len(multipliers), multipliers) * B)  # q Σ multipliers b = Σ c a
    lowest = min(*shifts, *others)
    own = [m << (shift - lowest) for m, shift in zip(face.multipliers, shifts, strict=True)]  # of the integer rows
    times = 1 + max(0, *(value // m + 1 for value, m in zip(c, own, strict=True)))
    joined = [times * m - value for m, value in zip(own, c, strict=True)] + [q * value for value in multipliers]
    highest = max(*shifts, *others)
    joined = [value << (highest - shift) for value, shift in zip(joined, [*shifts, *others], strict=True)]
    divisor = math.gcd(*joined)
    return Exact(np.concatenate((face.pairs, more)), [value // divisor for value in joined])


def exactly(case: Case, clock: Clock) -> Certificate:
    """Decide through an exact view of the data: the strategy that cannot fail."""
    data = case.data
    _must_fit(case)
    everything = np.ones((len(data.y), data.classes), dtype=bool)
    everything[np.arange(len(data.y)), data.y] = False
    view = ExactView(data, whole_basis(data), everything.ravel(), clock)
    w, pairs, found = decide(view, case.working, case.rng, case.limits.exact_views)
    if found is None:
        return shortest(case, "separable", w, None)
    pairs = pairs[found.rows]
    _, shifts = integer_rows(data, pairs, clock)
    exact = Exact(pairs, [m << (max(shifts) - shift) for m, shift in zip(found.multipliers, shifts, strict=True)])
    certificate = refuted(case, exact, clock)
    return certificate or _exactly(case, exact, as_refutation(data, exact), clock)


def shortest(case: Case, kind: str, w: Any, refutation: Refutation | None) -> Certificate:
    """Return a certificate with exact weights, rounded to as few digits as confirm."""
    plane = as_plane(case.data, w)
    if plane.w.dtype == object and kind == "separable":
        for bits in (53, 80, 106, 212, 424):
            top = max(abs(int(w[j, 0])).bit_length() for j in range(w.nrows()))
            if top <= bits:
                break
            short = fmpz_mat(w.nrows(), 1, [(w[j, 0] >> (top - bits)) for j in range(w.nrows())])
            found = case.confirmed(kind, as_plane(case.data, short), refutation)
            if found is not None:
                return found
    return case.certain(kind, plane, refutation)
