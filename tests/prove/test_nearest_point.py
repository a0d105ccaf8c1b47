import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import nnls

from exact_hull import squared_distance
from linsep.prove.core.nearest_point import nearest_point


def by_least_squares(Z):
    """The nearest point by nonnegative least squares: the μ >= 0 that brings (Σ μ z, c Σ μ) next to (0, c), scaled."""
    c = np.linalg.norm(Z) / math.sqrt(len(Z)) or 1.0
    mu, _ = nnls(np.vstack((Z.T, np.full(len(Z), c))), np.r_[np.zeros(Z.shape[1]), c])
    return mu / mu.sum() @ Z


def check(Z, nearest, tol=1e-9):
    """What holds of any answer: weights, independence of the support, and the plane through the point."""
    assert (nearest.weights >= 0).all()
    assert math.isclose(nearest.weights.sum(), 1.0, rel_tol=1e-12)
    np.testing.assert_array_equal(nearest.support, np.flatnonzero(nearest.weights))
    np.testing.assert_allclose(nearest.point, nearest.weights @ Z, atol=1e-14 * np.abs(Z).max())
    support = Z[nearest.support]
    assert len(support) <= Z.shape[1] + 1
    assert np.linalg.matrix_rank(support[1:] - support[0]) == len(support) - 1
    if nearest.w.any():
        heights = Z @ nearest.w
        np.testing.assert_allclose(heights[nearest.support], 1.0, atol=tol)
        assert heights.min() >= 1.0 - tol
        assert nearest.lowest == pytest.approx(heights.min(), abs=tol)


small = st.integers(1, 4).flatmap(
    lambda d: st.integers(1, 6).flatmap(lambda m: arrays(np.float64, (m, d), elements=st.integers(-4, 4).map(float)))
)


@given(small)
@settings(deadline=None, max_examples=120)
def test_small_integer_hulls_against_fractions(Z):
    nearest = nearest_point(Z)
    check(Z, nearest)
    exact = squared_distance(Z)
    assert float(np.dot(nearest.point, nearest.point)) == pytest.approx(float(exact), rel=1e-12, abs=1e-28)
    assert nearest.w.any() == (exact > 0)


@given(small, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=80)
def test_two_groups_against_fractions(Z, random):
    group = np.array([random.randrange(2) for _ in Z])
    assume(0 < group.sum() < len(group))
    nearest = nearest_point(Z, group)
    exact = squared_distance(Z, group)
    for g in (0, 1):
        assert math.isclose(nearest.weights[group == g].sum(), 0.5, rel_tol=1e-12)
    assert float(np.dot(nearest.point, nearest.point)) == pytest.approx(float(exact), rel=1e-12, abs=1e-28)
    assert nearest.w.any() == (exact > 0)
    if exact > 0:
        heights = Z @ nearest.w + nearest.b * np.where(group == 0, 1, -1)
        np.testing.assert_allclose(heights[nearest.support], 1.0, atol=1e-10)
        assert heights.min() >= 1 - 1e-10


@pytest.mark.parametrize(
    ("m", "d", "shift"), [(300, 5, 3), (300, 40, 3), (15, 200, 0), (40, 40, 1), (1, 7, 0), (9, 1, 4)]
)
def test_random_hulls_against_least_squares(m, d, shift):
    rng = np.random.default_rng(m + d)
    for _ in range(5):
        Z = rng.standard_normal((m, d))
        Z[:, 0] += shift
        nearest = nearest_point(Z)
        check(Z, nearest)
        np.testing.assert_allclose(nearest.point, by_least_squares(Z), atol=1e-9)


@pytest.mark.parametrize("grown", [None, 0.3])
def test_dependent_and_repeated_rows(grown):
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((80, 4)) @ rng.standard_normal((4, 12)) + 2.0  # rows of rank 5 in 12 dimensions
    Z = np.vstack((Z, Z, Z[:10]))
    if grown is not None:
        Z[:, -1] = grown  # a constant column
    nearest = nearest_point(Z)
    check(Z, nearest)
    np.testing.assert_allclose(nearest.point, by_least_squares(Z), atol=1e-9)


def thin(margin, m, d, rng):
    """Rows at least ``margin`` above a plane through the origin, many of them at it, the rest up to norm about √d."""
    u = rng.standard_normal(d)
    u /= np.linalg.norm(u)
    Z = rng.standard_normal((m, d))
    Z -= np.outer(Z @ u, u)
    above = np.where(np.arange(m) < m // 3, 0.0, np.abs(rng.standard_normal(m)))
    return Z + np.outer(margin * (1 + above), u)


@pytest.mark.parametrize("margin", [1e-2, 1e-5, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize(("m", "d"), [(200, 20), (8, 20), (60, 3)])
def test_thin_margins_are_found(margin, m, d):
    rng = np.random.default_rng(d)
    for _ in range(2):
        Z = thin(margin, m, d, rng)
        nearest = nearest_point(Z)
        rounding = 1e-15 * d / margin
        assert nearest.lowest >= 1 - max(1e-10, rounding)
        check(Z, nearest, tol=max(1e-10, rounding))
        if m == 200:  # enough rows to surround the foot of the perpendicular
            assert 1 / np.linalg.norm(nearest.w) == pytest.approx(margin, rel=max(0.2, rounding))


def test_rows_of_very_different_length():
    Z = np.array([[1e-20, 0.0], [1.0, 1.0], [1.0, -1.0]])
    nearest = nearest_point(Z)
    np.testing.assert_allclose(nearest.point, [1e-20, 0.0])
    assert nearest.support.tolist() == [0]


@pytest.mark.parametrize("exponent", [-1000, -600, 600, 1000])
def test_extreme_ranges_scale_exactly(exponent):
    Z = np.array([[4.0, 1.0], [1.0, 5.0], [7.0, 7.0]])
    plain, scaled = nearest_point(Z), nearest_point(np.ldexp(Z, exponent))
    np.testing.assert_array_equal(plain.weights, scaled.weights)
    np.testing.assert_allclose(np.ldexp(plain.point, exponent), scaled.point, rtol=1e-15)


def test_a_zero_row_is_the_answer():
    nearest = nearest_point(np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 1.0]]))
    assert nearest.weights.tolist() == [0.0, 1.0, 0.0]
    assert not nearest.point.any()
    assert not nearest.w.any()
    assert nearest.lowest == -math.inf


def test_origin_inside_a_simplex_gives_a_small_independent_support():
    rng = np.random.default_rng(0)
    for d in (1, 2, 5, 30):
        Z = np.vstack((np.eye(d), -np.ones((1, d)), rng.standard_normal((50, d))))
        nearest = nearest_point(Z)
        check(Z, nearest)
        assert not nearest.w.any()
        assert np.abs(nearest.point).max() < 1e-14


def test_origin_on_a_face_is_found_with_the_rows_of_the_face_only():
    Z = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.5, 2.0, 1.0], [1.0, 3.0, 0.0]])
    nearest = nearest_point(Z)
    assert nearest.support.tolist() == [0, 1]
    assert not nearest.w.any()


def test_a_start_saves_work_and_does_not_change_the_answer():
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((400, 30))
    Z[:, 0] += 3
    part = nearest_point(Z[:200])
    again = nearest_point(Z, start=part.weights)
    fresh = nearest_point(Z)
    np.testing.assert_allclose(again.point, fresh.point, atol=1e-12)
    np.testing.assert_array_equal(again.support, fresh.support)
    at_once = nearest_point(Z, start=fresh.weights, max_iter=0)
    np.testing.assert_allclose(at_once.point, fresh.point, atol=1e-12)


def test_a_bad_start_is_mended():
    Z = np.array([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0], [5.0, 5.0]])
    nearest = nearest_point(Z, start=np.array([0.2, 0.2, 0.2, 0.4]))  # a repeated row, a row that is not needed
    np.testing.assert_allclose(nearest.point, [1.0, 1.0])
    nearest = nearest_point(Z, np.array([0, 0, 0, 1]), start=np.array([1.0, 0, 0, 0]))  # no row of the second group
    assert nearest.weights[3] == 0.5


def test_a_large_tolerance_stops_at_any_plane():
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((2000, 20))
    Z[:, 0] = np.abs(Z[:, 0]) + 0.01
    rough = nearest_point(Z, tol=0.7)
    assert (Z @ rough.w).min() >= 0.3
    assert len(rough.support) <= len(nearest_point(Z).support)


def test_decision_list_needs_weights_that_double():
    for d in (5, 10, 20):  # row j asks that weight j outweigh all later ones
        Z = np.eye(d) - np.triu(np.ones((d, d)), 1)
        nearest = nearest_point(Z)
        check(Z, nearest)
        np.testing.assert_allclose(nearest.w, 2.0 ** np.arange(d - 1, -1, -1), rtol=1e-9)


def test_the_arguments_are_left_alone():
    Z = np.asfortranarray(np.random.default_rng(0).standard_normal((20, 3)) + 2)
    before = Z.copy()
    start = np.full(20, 0.05)
    nearest_point(Z, start=start)
    np.testing.assert_array_equal(Z, before)
    assert (start == 0.05).all()
