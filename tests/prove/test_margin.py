import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.svm import SVC

from data import few
from exact_hull import squared_distance
from linsep import NotSeparable, largest_margin, mistake_bound, teacher
from linsep.clock import Clock, OutOfTime
from linsep.prove.bounds import margin_bracket
from linsep.prove.check.integers import over_power
from linsep.prove.core.nearest_point import nearest_point

FORMS = ("affine", "origin", "augmented")


def exact_rows(X):
    """Every row as a dict of exact numbers, column -> Fraction."""
    X = sp.coo_array(X)
    rows = [{} for _ in range(X.shape[0])]
    for i, j, value in zip(*X.coords, X.data.tolist(), strict=True):
        rows[i][int(j)] = Fraction(value)
    return rows


def certify(margin, X, y):
    """Check both bounds in fractions: the plane keeps ``lower`` from every row, the multipliers refute what is above.

    By duality the largest margin lies between what the two prove, so nothing needs to be known about it.
    """
    rows = exact_rows(X)
    codes = [int(np.flatnonzero(margin.classes == label)[0]) for label in y]
    if margin.rivals is None:
        W, b = [[Fraction(float(a)) for a in margin.w]], [Fraction(float(margin.b))]
        signs = [{0: 1 if code == 1 else -1} for code in codes]  # by which the row enters each weight vector
        pairs = [(i, signs[i]) for i in range(len(rows))]
        support = [signs[i] for i in margin.support]
    else:
        W = [[Fraction(float(a)) for a in w] for w in margin.w]
        b = [Fraction(float(a)) for a in margin.b]
        pairs = [(i, {codes[i]: 1, r: -1}) for i in range(len(rows)) for r in range(len(W)) if r != codes[i]]
        support = [{codes[i]: 1, int(r): -1} for i, r in zip(margin.support, margin.rivals, strict=True)]
    if margin.form == "origin":
        assert not any(b)
    square = sum(a * a for w in W for a in w) + (sum(a * a for a in b) if margin.form == "augmented" else 0)
    assert float(square) == pytest.approx(1.0, rel=1e-12)

    def height(i, marks):
        return sum(s * (sum(W[c][j] * x for j, x in rows[i].items()) + b[c]) for c, s in marks.items())

    least = min(height(i, marks) for i, marks in pairs)
    lower = Fraction(margin.lower)
    assert (least > 0 and least**2 >= lower**2 * square) if lower > 0 else least**2 <= lower**2 * square or least > 0

    multipliers = [Fraction(float(a)) for a in margin.multipliers]
    assert min(multipliers) > 0
    assert float(sum(multipliers)) == pytest.approx(1.0, rel=1e-12)
    total, offsets = {}, [Fraction(0)] * len(W)
    for i, marks, a in zip(margin.support, support, multipliers, strict=True):
        for c, s in marks.items():
            offsets[c] += s * a
            for j, x in rows[i].items():
                total[c, j] = total.get((c, j), Fraction(0)) + s * a * x
    if margin.form == "affine":
        assert not any(offsets)
    square = sum(t * t for t in total.values()) + (sum(o * o for o in offsets) if margin.form == "augmented" else 0)
    assert square <= Fraction(margin.upper) ** 2 * sum(multipliers) ** 2
    assert margin.lower <= margin.upper


def exact_square(X, signs, form):
    """The squared largest margin of a small set, by trying every support in fractions."""
    Z = [[s * x for x in row] + ([s] if form == "augmented" else []) for row, s in zip(X.tolist(), signs, strict=True)]
    return squared_distance(Z, [int(s < 0) for s in signs] if form == "affine" else None)


small = st.integers(1, 3).flatmap(
    lambda d: st.integers(2, 6).flatmap(lambda n: arrays(np.int64, (n, d), elements=st.integers(-3, 3)))
)


@given(small, st.sampled_from(FORMS), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=250)
def test_small_sets_against_fractions(X, form, random):
    y = np.array([1, -1] + [random.choice((1, -1)) for _ in X[2:]])
    exact = exact_square(X, y, form)
    if exact == 0:
        with pytest.raises(NotSeparable) as caught:
            largest_margin(X, y, form=form)
        assert 0 <= caught.value.upper < 1e-14
        rows = set(caught.value.refutation.rows.tolist())
        assert rows <= set(range(len(X)))
        return
    margin = largest_margin(X, y, form=form)
    assert Fraction(margin.lower) ** 2 <= exact <= Fraction(margin.upper) ** 2
    assert margin.gap <= 1e-6
    certify(margin, X, y)


def test_the_worked_example():
    margin = largest_margin([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1], form="origin")
    assert Fraction(margin.lower) ** 2 <= Fraction(1, 2) <= Fraction(margin.upper) ** 2
    assert margin.gap < 1e-12
    np.testing.assert_allclose(margin.w, [math.sqrt(0.5)] * 2)
    assert "<= margin <=" in repr(margin)
    assert "origin" in repr(margin)


def test_two_points_and_their_three_margins():
    X, y = np.array([[3.0, 4.0], [0.0, 0.0]]), ["far", "near"]  # sorted: "near" is the positive class
    affine = largest_margin(X, y)
    assert affine.lower <= 2.5 <= affine.upper
    np.testing.assert_allclose(affine.w, [-0.6, -0.8])
    assert affine.b == pytest.approx(2.5)
    np.testing.assert_array_equal(affine.support, [0, 1])
    np.testing.assert_array_equal(affine.multipliers, [0.5, 0.5])
    with pytest.raises(NotSeparable, match="above 0"):  # the point at the origin lies on every plane through it
        largest_margin(X, y, form="origin")
    # nearest point of the segment from (-3, -4, -1) to (0, 0, 1): weights 3/14, 11/14
    augmented = largest_margin(X, y, form="augmented")
    exact = Fraction(25, 29)
    assert Fraction(augmented.lower) ** 2 <= exact <= Fraction(augmented.upper) ** 2
    certify(augmented, X, y)


def real_sets():
    (X, y), (A, kinds), (B, irises), (C, digits) = (
        load(return_X_y=True) for load in (load_breast_cancer, load_wine, load_iris, load_digits)
    )
    few = digits < 4
    thin = np.array([[0.0, 0.0], [1.0, 0.0], [1000.0, 0.0], [1001.0, 1.0]]), np.array([0, 1, 2, 2])
    return {
        "cancer": (X, y), "wine": (A, kinds == 1), "iris": (B, irises == 0), "three wines": (A, kinds),
        "four digits": (C[few, ::3], digits[few]), "a class that no support row touches": thin,
    }  # fmt: skip


@pytest.mark.parametrize("name", real_sets())
def test_real_sets_are_bracketed(name):
    X, y = real_sets()[name]
    margins = {form: largest_margin(X, y, form=form) for form in FORMS if len(X[0]) > 2 or form == "affine"}
    for margin in margins.values():
        assert margin.gap <= 1e-6
        certify(margin, X, y)
        classes = len(set(y.tolist()))
        assert margin.w.shape == ((X.shape[1],) if classes == 2 else (classes, X.shape[1]))
    if len(margins) == 3:
        assert margins["origin"].lower <= margins["augmented"].upper  # b = 0 is allowed in the augmented form
        assert margins["augmented"].lower <= margins["affine"].upper  # and ‖w‖ <= ‖(w, b)‖


def test_agrees_with_a_support_vector_machine():
    X, y = load_iris(return_X_y=True)
    margin = largest_margin(X, y == 0)
    peer = SVC(kernel="linear", C=1e8, tol=1e-8).fit(X, y == 0)
    assert margin.lower == pytest.approx(1 / np.linalg.norm(peer.coef_), rel=1e-5)
    np.testing.assert_array_equal(margin.support, np.sort(peer.support_))
    np.testing.assert_allclose(margin.w, peer.coef_[0] / np.linalg.norm(peer.coef_), atol=1e-4)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_a_working_set_of_many_rows(form, storage):
    X, y, plane = teacher(6000, 4, margin=0.02, offset=form != "origin", random_state=3)
    margin = largest_margin(storage(X), y, form=form)
    assert margin.gap <= 1e-6
    certify(margin, X, y)
    kept = 0.02 / math.hypot(1, plane.b) if form == "augmented" else 0.02
    assert margin.upper >= kept
    assert len(margin.support) <= 6


@pytest.mark.parametrize(
    "dtype", few([np.int8, np.float32, np.longdouble, bool, np.uint8, np.int64, np.uint64, np.float16], 3)
)
def test_any_dtype_and_storage_gives_the_same_bracket(dtype):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (60, 8))
    y = np.where(X[:, 0] + X[:, 1] > 1, "b", "a")
    expected = largest_margin(X.astype(float), y)
    long = sp.csr_array(X.astype(float if dtype in (np.float16, np.longdouble) else dtype))
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    for Y in (X.astype(dtype), np.asfortranarray(X.astype(dtype)), long, long.tocsc()):
        margin = largest_margin(Y, y)
        assert (margin.lower, margin.upper) == pytest.approx((expected.lower, expected.upper), rel=1e-12)
        certify(margin, X, y)


@pytest.mark.parametrize("form", FORMS)
def test_sparse_rows_of_very_many_columns(form):
    rng = np.random.default_rng(1)
    X = sp.random_array((900, 1300), density=0.01, rng=rng, format="csr")
    y = np.where(rng.random(900) < 0.5, 1, -1)
    margin = largest_margin(X, y, form=form)
    assert margin.gap <= 1e-6
    certify(margin, X, y)
    rival = rng.integers(0, 3, 400)
    margin = largest_margin(X[:400], rival, form=form)
    assert margin.gap <= 1e-6
    certify(margin, X[:400], rival)


def test_sparse_rows_of_very_many_columns_without_a_plane():
    rng = np.random.default_rng(1)
    X = sp.random_array((900, 1300), density=0.01, rng=rng, format="csr") + sp.csr_array(np.eye(1, 1300).repeat(900, 0))
    y = np.where(rng.random(900) < 0.5, 1, -1)
    X, y = sp.vstack((X, X[:5])).tocsr(), np.r_[y, -y[:5]]  # five rows with both labels
    for form in FORMS:
        with pytest.raises(NotSeparable) as caught:
            largest_margin(X, y, form=form)
        assert 0 <= caught.value.upper < 1e-7


@given(arrays(np.int64, (4, 2), elements=st.integers(-3, 3)), st.sampled_from(["origin", "augmented"]))
@settings(deadline=None, max_examples=40)
def test_many_classes_against_fractions(X, form):
    y = np.array([0, 1, 2, 1])
    Z = []
    for x, own in zip(X.tolist(), y, strict=True):
        x = [*x, 1] if form == "augmented" else x
        for rival in {0, 1, 2} - {own}:
            Z += [[a if c == own else -a if c == rival else 0 for c in range(3) for a in x]]
    exact = squared_distance(Z)
    if exact == 0:
        with pytest.raises(NotSeparable):
            largest_margin(X, y, form=form)
    else:
        margin = largest_margin(X, y, form=form)
        assert Fraction(margin.lower) ** 2 <= exact <= Fraction(margin.upper) ** 2
        assert margin.gap <= 1e-6


@pytest.mark.parametrize("exponent", [-900, -400, 400, 900])
@pytest.mark.parametrize("form", ["affine", "origin"])
def test_extreme_ranges(exponent, form):
    X, y, _ = teacher(50, 3, margin=0.1)
    plain, scaled = largest_margin(X, y, form=form), largest_margin(np.ldexp(X, exponent), y, form=form)
    assert math.ldexp(scaled.lower, -exponent) == pytest.approx(plain.lower, rel=1e-9)
    assert scaled.gap <= 1e-6
    certify(scaled, np.ldexp(X, exponent), y)


@pytest.mark.parametrize("form", ["affine", "origin"])
def test_rows_whose_norms_are_beyond_doubles(form):
    """No pass in doubles bounds their slacks: all of them are computed in integers."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 1.0, (300, 3)) * 1.7e308 * rng.choice([-1, 1], (300, 1))
    certify(largest_margin(X, X[:, 0] > 0, form=form), X, X[:, 0] > 0)


def test_extreme_ranges_beside_a_constant_of_one():
    X, y, _ = teacher(50, 3, margin=0.1)
    with pytest.warns(RuntimeWarning, match="the relative gap of the bounds"):  # doubles see nothing but the constant
        tiny = largest_margin(np.ldexp(X, -400), y, form="augmented")
    assert 0 < tiny.lower <= tiny.upper < math.ldexp(1.0, -400)
    assert all(isinstance(value, Fraction) for value in tiny.w)
    plain, scaled = largest_margin(X, y, form="origin"), largest_margin(np.ldexp(X, 400), y, form="augmented")
    assert math.ldexp(scaled.lower, -400) == pytest.approx(plain.lower, rel=1e-9)  # nothing of the constant is left
    certify(scaled, np.ldexp(X, 400), y)


@pytest.mark.parametrize("thin", [1e-6, 1e-8, 1e-9])
def test_thin_margins_are_bracketed(thin):
    X, y, _ = teacher(300, 6, margin=thin, offset=True, random_state=1)
    X[:20] -= (y[:20] * (y[:20] * (X[:20] @ _.w + _.b) - thin))[:, None] * _.w  # some rows onto the margin itself
    margin = largest_margin(X, y)
    assert margin.gap <= 1e-6
    assert margin.upper < 1e4 * thin
    certify(margin, X, y)


@pytest.mark.filterwarnings("ignore:the relative gap of the bounds:RuntimeWarning")
@pytest.mark.parametrize("thin", [1e-12, 1e-14, 1e-16, 0.0])
def test_what_doubles_cannot_place_is_said_and_never_lied_about(thin):
    rng = np.random.default_rng(2)
    w = np.array([0.6, -0.8, 0.0, 0.0])
    X = rng.standard_normal((200, 4))
    y = np.where(np.arange(200) % 2, 1, -1)
    X += np.outer(thin * y - X @ w, w)
    try:
        margin = largest_margin(X, y, form="origin")
    except NotSeparable as error:
        margin, upper = None, error.upper
    else:
        upper = margin.upper
        certify(margin, X, y)
    assert upper < 1.1 * thin + 1e-15
    assert margin is not None or thin < 1e-13


def test_a_warning_says_when_the_gap_is_not_reached():
    X = np.array([[1e6, 3.0], [1e6 + 2e-9, 3.0], [1e6, -3.0], [1e6 + 2e-9, -2.0]])
    with pytest.warns(RuntimeWarning, match="double precision"):
        margin = largest_margin(X, [0, 1, 0, 1], gap=1e-15)
    assert margin.gap > 1e-15
    certify(margin, X, [0, 1, 0, 1])


def test_very_many_rows_as_near_as_the_nearest_beside_moments_in_seconds():
    """Rounding leaves all of these rows in doubt: integers settle every one."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 5_000)
    X = np.column_stack((1e9 + 3600.0 * rng.integers(0, 1000, len(y)), y))
    margin = largest_margin(X, y)
    assert margin.gap <= 1e-9
    certify(margin, X, y)


@pytest.mark.parametrize("form", FORMS)
def test_what_no_plane_separates(form):
    square = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    twins = [[1.0, 2.0], [1.0, 2.0], [5.0, 5.0]]
    for X, y in ((square, [0, 0, 1, 1]), (twins, [0, 1, 1]), load_iris(return_X_y=True)):
        with pytest.raises(NotSeparable, match="not linearly separable") as caught:
            largest_margin(X, y, form=form)
        assert isinstance(caught.value, ValueError)
        assert caught.value.upper < 1e-15 or len(y) == 150


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        ([[1.0], [2.0]], [1, 1], {}, "only one class"),
        ([[1.0], [2.0]], [0, 1], {"form": "round"}, "form"),
        ([[1.0], [2.0]], [0, 1], {"gap": 0}, "gap"),
        ([[1.0], [np.nan]], [0, 1], {}, "NaN at row 1, column 0"),
        ([[np.inf], [1.0]], [0, 1], {}, "infinity at row 0"),
        ([[1.0], [2.0]], [0, 1, 1], {}, "2 rows but y has 3 labels"),
    ],
)
def test_bad_input_is_refused(X, y, options, message):
    with pytest.raises(ValueError, match=message):
        largest_margin(X, y, **options)


# ---------------------------------------------------------------------------------------------------------------
# Arithmetic of the bracket


@given(st.fractions(min_value=0), st.integers(-1100, 1000))
@settings(deadline=None)
def test_roots_are_on_the_side_asked_for(value, exponent):
    value *= Fraction(2) ** exponent
    low, high = margin_bracket.root(value, up=False), margin_bracket.root(value, up=True)
    assert Fraction(low) ** 2 <= value
    assert math.isinf(high) or Fraction(high) ** 2 >= value
    assert high <= math.nextafter(math.nextafter(low, math.inf), math.inf) or math.isinf(high)


@given(arrays(np.float64, 5, elements=st.floats(allow_nan=False, allow_infinity=False)))
@settings(deadline=None)
def test_doubles_become_whole_numbers_exactly(values):
    numbers, exponent = over_power(values)
    assert [int(n) * Fraction(2) ** exponent for n in numbers] == [Fraction(float(v)) for v in values]


class CountingClock(Clock):
    """A clock that counts how often it is asked, and has enough of it at some time."""

    def __init__(self, most: float = math.inf) -> None:
        super().__init__()
        self.asked, self.most = 0, most

    def check(self) -> None:
        self.asked += 1
        if self.asked > self.most:
            raise OutOfTime
        super().check()


def test_stretches_change_nothing():
    """A search that asks a clock on its way finds the same point, to the bit."""
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(60, 25)) + 0.7
    group = rng.integers(0, 2, 60)
    for kind in (None, group):
        clock = CountingClock()
        at_once, in_stretches = nearest_point(Z, kind), nearest_point(Z, kind, clock=clock)
        assert clock.asked > 1
        for one, other in zip(at_once, in_stretches, strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("form", ["affine", "origin", "augmented"])
@pytest.mark.parametrize("classes", [2, 4])
def test_a_clock_can_end_the_search_at_any_time(form, classes):
    rng = np.random.default_rng(5)
    y = np.arange(40) % classes
    X = rng.normal(size=(40, 6)) + 8 * np.eye(classes, 6)[y]
    whole = CountingClock()
    expected = largest_margin(X, y, form=form, clock=whole)
    assert whole.asked > 2
    for most in range(whole.asked):
        with pytest.raises(OutOfTime):
            largest_margin(X, y, form=form, clock=CountingClock(most))
        if form != "affine":
            with pytest.raises(OutOfTime):
                mistake_bound(X, y, fit_intercept=form == "augmented", clock=CountingClock(most))
    again = largest_margin(X, y, form=form)
    assert (again.lower, again.upper) == (expected.lower, expected.upper)


@pytest.mark.parametrize("form", ["affine", "origin", "augmented"])
def test_brackets_of_tiny_margins_are_narrow(form):
    """Doubles of the weights lose much of a margin of 1e-11 of the rows' size; the plane is then solved for exactly."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(2, 6))
        X, w = rng.integers(-(10**5), 10**5, (3 * d + 4, d)).astype(float), rng.normal(size=d)
        w /= np.linalg.norm(w)
        y = np.where(X @ w > 0, 1, -1)
        X += np.outer(y * 1e-6 - X @ w, w)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = largest_margin(X, y, form=form)
            except NotSeparable:  # rounding has mixed the classes
                continue
        assert 0.95 * found.upper < found.lower <= found.upper
