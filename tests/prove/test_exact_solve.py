"""Exact solutions of float systems, and planes or contradictions by Newton's method, against fractions."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpz_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from linsep.clock import Clock
from linsep.prove.core import newton
from linsep.prove.core.newton import corners, fit
from linsep.prove.linear_algebra import algebra, exact_solve
from linsep.prove.linear_algebra.exact_solve import dependency, solve

patient = Clock()


class SpentError(Exception):
    """The clock of ``hasty`` has run out."""


class hasty(Clock):  # noqa: N801
    """A clock that runs out at the look after so many."""

    def __init__(self, looks):
        super().__init__()
        self.left_looks = iter(range(looks))

    def check(self):
        if next(self.left_looks, None) is None:
            raise SpentError


def solves(F, f, found):
    numerators, denominator = ([int(value) for value in found[0]], int(found[1]))
    return denominator > 0 and all(
        sum(Fraction(a) * x for a, x in zip(row, numerators, strict=True)) == denominator * Fraction(right)
        for row, right in zip(F.tolist(), f.tolist(), strict=True)
    )


def system(rng, kind, n):
    F, f = rng.normal(size=(n, n)), rng.normal(size=n)
    if kind == "integers":
        F, f = rng.integers(-9, 10, size=(n, n)).astype(float), rng.integers(-9, 10, size=n).astype(float)
    elif kind == "offset":
        F += 1000.0
    elif kind == "rows of all sizes":
        scale = 10.0 ** rng.integers(-30, 30, size=n)
        F, f = F * scale[:, None], f * scale
    elif kind == "zeros":
        F, f = F * (rng.random((n, n)) < 0.4) + np.eye(n), f * 0
    return F, f


@pytest.mark.parametrize("kind", ["normal", "integers", "offset", "rows of all sizes", "zeros"])
@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_solution_is_exact(kind, n):
    F, f = system(np.random.default_rng(n), kind, n)
    found = solve(F, f, patient)
    if found is None:  # random integers may be singular
        assert kind == "integers"
        assert abs(np.linalg.det(F)) < 0.5
    else:
        assert solves(F, f, found)


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 60))
@settings(deadline=None, max_examples=60)
def test_solution_is_exact_or_declined(seed, n, wild):
    rng = np.random.default_rng(seed)
    F = np.ldexp(rng.integers(-(2**53), 2**53, size=(n, n)).astype(float), rng.integers(-wild, wild + 1, size=(n, n)))
    f = rng.integers(-(2**53), 2**53, size=n).astype(float)
    found = solve(F, f, patient)
    assert found is None or solves(F, f, found)
    assert found is not None or wild > 5 or np.linalg.cond(F) > 1e6


def test_singular_systems_are_declined():
    assert solve(np.ones((3, 3)), np.ones(3), patient) is None
    assert solve(np.zeros((2, 2)), np.ones(2), patient) is None
    F = np.random.default_rng(0).normal(size=(4, 4))
    assert solve(F * 10.0 ** np.arange(0, -160, -40), np.ones(4), patient) is None


@pytest.mark.parametrize("extra", [0, 3])
def test_rows_that_cancel_get_exact_multipliers(extra):
    rng = np.random.default_rng(1)
    X = rng.integers(-99, 100, size=(6, 5)).astype(float)
    weights = np.append(rng.integers(1, 50, size=5), 1).astype(float)
    X[5] = -(weights[:5] @ X[:5])
    X = np.column_stack((X, X[:, :extra] * 3.0)) * 2.0 ** np.arange(6)[:, None]  # with columns that depend on others
    found = dependency(X, weights * 1.01, patient)
    assert found.rows.tolist() == list(range(6))
    assert [Fraction(w, found.multipliers[5]) * 2**k / 32 for k, w in enumerate(found.multipliers)] == weights.tolist()


def test_multipliers_of_both_signs_are_declined():
    assert dependency(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.ones(3), patient) is None
    assert dependency(np.array([[1.0, 0.0], [0.0, 1.0]]), np.ones(2), patient) is None  # of rank 2


@pytest.mark.parametrize("d", [2, 10, 40])
def test_newton_finds_a_plane_above_all_rows(d):
    rng = np.random.default_rng(d)
    w = rng.normal(size=d)
    Z = rng.normal(size=(20 * d, d))
    Z *= np.sign(Z @ w)[:, None]
    found = fit(Z, np.zeros(d), enough=0.3, steps=60, clock=patient)
    assert found.ended
    assert (Z @ found.w).min() > 0.29
    assert np.allclose(found.scores, Z @ found.w)


@pytest.mark.parametrize(("d", "rank"), [(1, 1), (5, 5), (20, 20), (20, 12)])
def test_newton_finds_a_contradiction_and_its_corners(d, rank):
    rng = np.random.default_rng(d)
    Z = rng.normal(size=(12 * d, rank)) @ (np.eye(d) if rank == d else rng.normal(size=(rank, d)))
    found = fit(Z, np.zeros(d), enough=0.3, steps=60, clock=patient)
    assert found.ended
    assert found.scores.min() <= 0
    slack = np.maximum(1 - found.scores, 0)
    below = np.flatnonzero(slack)
    assert np.abs(slack @ Z).max() < 1e-6 * slack.sum()
    kept, weights = corners(Z[below], slack[below], patient)
    assert len(kept) <= rank + 1
    assert weights.min() > 0
    assert np.abs(weights @ Z[below][kept]).max() < 1e-6 * weights.sum()


def test_corners_of_light_rows_that_heavy_ones_do_not_span():
    """Many heavy rows have no third coordinate; in that of the light ones the rows kept must cancel, too."""
    heavy = np.array([[1.0, 1e-4, 0.0], [-1.0, 1e-4, 0.0]] * 20)
    Z, weights = np.vstack((heavy, [[0, -1, 1], [0, -1, -1]])), np.append(np.ones(40), [2e-3, 2e-3])
    kept, found = corners(Z, weights, patient)
    assert np.abs(found @ Z[kept]).max() < 1e-12 * found.sum()
    assert found.min() > 0


def test_rows_that_do_not_cancel_have_no_corners():
    kept, weights = corners(np.eye(3), np.ones(3), patient)
    assert len(kept) == len(weights) == 0


@pytest.mark.parametrize("looks", [0, 1, 3, 8])
def test_a_solution_hears_the_clock(looks, monkeypatch):
    monkeypatch.setattr(exact_solve, "_PIECE", 500)
    F, f = system(np.random.default_rng(0), "normal", 20)
    with pytest.raises(SpentError):
        solve(F, f, hasty(looks))


@pytest.mark.parametrize("looks", [0, 1, 3])
def test_corners_hear_the_clock(looks, monkeypatch):
    monkeypatch.setattr(newton, "_PIECE", 100)
    Z = np.random.default_rng(0).normal(size=(60, 10))
    with pytest.raises(SpentError):
        corners(np.vstack((Z, -Z)), np.ones(120), hasty(looks))


@given(st.integers(0, 10**6))
@settings(deadline=None, max_examples=20)
def test_pieces_change_nothing(seed):
    F, f = system(np.random.default_rng(seed), "normal", 8)
    whole, size = solve(F, f, patient), exact_solve._PIECE
    try:
        exact_solve._PIECE = 64
        assert solve(F, f, patient) == whole
    finally:
        exact_solve._PIECE = size


# ---------------------------------------------------------------------------------------------------------------
# Integers of any length


def product(A, columns):
    """Return a matrix times columns, in Python's integers."""
    return [[sum(a * x for a, x in zip(row, column, strict=True)) for row in A] for column in columns]


def whole_numbers(rng, shape, bits):
    return [[int(value) << max(0, bits - 20) for value in row] for row in rng.integers(-(2**20), 2**20, shape)]


@pytest.mark.parametrize(("n", "bits", "short"), [(5, 20, False), (105, 20, False), (102, 300, False), (120, 30, True)])
def test_a_system_is_solved_whatever_its_numbers(n, bits, short):
    rng = np.random.default_rng(n + bits)
    A, m = whole_numbers(rng, (n, n), bits), 3
    A = [[value + int(rng.integers(-9, 10)) for value in row] for row in A]
    right = product(A, rng.integers(-9, 10, (m, n)).tolist()) if short else whole_numbers(rng, (m, n), bits)
    B = fmpz_mat([list(row) for row in zip(*right, strict=True)])
    X, bottoms = algebra.Square(fmpz_mat(A), patient).solve(B)
    columns = [[int(value) for value in column] for column in X.transpose().tolist()]
    assert all(bottom > 0 for bottom in bottoms)
    assert product(A, columns) == [
        [int(q) * value for value in column] for q, column in zip(bottoms, right, strict=True)
    ]
    assert not short or max(int(abs(q)).bit_length() for q in bottoms) == 1


def test_a_long_solution_ends_with_the_time():
    rng = np.random.default_rng(0)
    A, b = fmpz_mat(whole_numbers(rng, (120, 120), 60)), fmpz_mat(120, 1, [1] * 120)
    square = algebra.Square(A, hasty(50))
    with pytest.raises(SpentError):
        square.solve(b)
    with pytest.raises(ZeroDivisionError):
        algebra.Square(fmpz_mat(120, 120), patient).solve(b)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 9), st.integers(0, 9))
def test_null_spaces_hold_all_that_vanishes(seed, m, n, rank):
    rng = np.random.default_rng(seed)
    rank = min(rank, m, n)
    A = fmpz_mat(rng.integers(-3, 4, (m, rank)).tolist()) * fmpz_mat(rng.integers(-3, 4, (rank, n)).tolist())
    if rank == 0:
        A = fmpz_mat(m, n)
    order = rng.permutation(n).tolist()
    columns, V = algebra.echelon(A, order, patient)
    assert fmpz_mat(m, V.ncols()) == A * V
    assert V.ncols() == V.rank() == n - A.rank()
    kept = []  # the first columns, as they are ordered, that do not depend on those before
    for j in order:
        if algebra.select(A, list(range(m)), [*kept, j]).rank() > len(kept):
            kept.append(j)
    assert columns == sorted(kept)
    start = fmpz_mat(n, 2, rng.integers(-9, 10, 2 * n).tolist())
    vectors = algebra.null_vectors(A, start, patient)
    assert A * vectors == fmpz_mat(m, 2)
    solver = algebra.Solver(A, patient)
    mixed = fmpz_mat(2, m, rng.integers(-9, 10, 2 * m).tolist()) * A
    factors, bottoms = solver.express(mixed)
    assert factors * A == algebra.times(mixed.transpose(), bottoms).transpose()


def test_the_exact_nearest_point_asks_the_clock():
    rng = np.random.default_rng(1)
    A = fmpz_mat(rng.integers(1, 100, (30, 12)).tolist())
    with pytest.raises(SpentError):
        algebra.nearest(A, [], np.empty(0), hasty(0))
