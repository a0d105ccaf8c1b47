"""The mistake bound, the audit of its proof along runs, and bounds on the error of new rows."""

import math
import warnings
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom, poisson
from sklearn.exceptions import ConvergenceWarning

from data import few, quiet
from linsep import (
    KernelPerceptron,
    NotSeparable,
    PassiveAggressive,
    Perceptron,
    audit,
    from_liblinear,
    generalization,
    largest_margin,
    mistake_bound,
    teacher,
    to_liblinear,
)
from linsep.learn.weights import Weights
from linsep.prove.bounds.audits import retrace, run_margin
from linsep.prove.bounds.intervals import clopper_pearson, log_choices, upwards
from oracle import argmax, dot, perceptron

SQUARE = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
XOR = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
LINE = teacher(60, 2, margin=0.2, random_state=5)[:2]  # 60 rows that a line separates


@st.composite
def separable(draw, classes=2):
    """Whole-number rows that a hidden plane, or one per class, labels strictly."""
    d = draw(st.integers(1, 3))
    value = st.integers(-6, 6)
    W = draw(st.lists(st.lists(value, min_size=d + 1, max_size=d + 1), min_size=classes, max_size=classes))
    rows = draw(st.lists(st.lists(value, min_size=d, max_size=d), min_size=4, max_size=12))
    X, y = [], []
    for x in rows:
        s = [dot([*x, 1], w) for w in W]
        if s.count(max(s)) == 1:
            X.append(x)
            y.append(s.index(max(s)))
    assume(len(set(y)) == classes)
    return X, y


# ---------------------------------------------------------------------------------------------------------------
# The bound


def test_worked_example():
    bound = mistake_bound(*SQUARE, fit_intercept=False)
    assert bound.mistakes == 2 == Perceptron(fit_intercept=False, shuffle=False).fit(*SQUARE).mistakes_
    assert bound.radius == 1
    assert bound.margin.form == "origin"
    assert bound.margin.lower == largest_margin(*SQUARE, form="origin").lower
    assert bound.lower <= 2 <= bound.upper == pytest.approx(2)
    with_offset = mistake_bound(*SQUARE)
    assert with_offset.margin.form == "augmented"
    assert with_offset.radius == 1
    assert with_offset.largest_update == pytest.approx(math.sqrt(2))
    assert with_offset.mistakes == 4


@pytest.mark.parametrize("c", [1, 7, 1e-3, 2.0**600, 2.0**-600])
def test_the_interval_encloses_the_true_number(c):
    """Two points (c, 1) and (c, -1) with labels told apart by the second feature: R² = c² + 1, γ = 1 exactly."""
    X, y = [[c, 1.0], [c, -1.0]], [1, 0]
    if abs(math.log2(c)) > 100:
        X = [[c, c], [c, -c]]
    bound = mistake_bound(X, y, fit_intercept=False)
    true = Fraction(c) ** 2 + 1 if abs(math.log2(c)) < 100 else Fraction(2)
    assert Fraction(bound.lower) <= true <= Fraction(bound.upper)
    assert bound.upper <= float(true) * (1 + 1e-5)
    assert bound.mistakes >= math.floor(true)
    square = sum(Fraction(v) ** 2 for v in X[0])
    assert Fraction(bound.radius) ** 2 >= square
    assert Fraction(math.nextafter(bound.radius, 0)) ** 2 <= square


@given(separable(), st.sampled_from(["cyclic", "first", "worst"]), st.booleans(), st.integers(0, 3))
def test_no_run_makes_more_mistakes(data, order, offset, margin):
    X, y = data
    signs = [2 * label - 1 for label in y]
    try:
        bound = mistake_bound(X, y, fit_intercept=offset, update_margin=margin)
    except NotSeparable:
        assume(False)  # through the origin these need not be separable
    _, _, trace = perceptron(X, signs, offset=offset, order=order, margin=margin, passes=5000)
    assert len(trace) <= bound.mistakes
    points = [[*x, 1] if offset else x for x in X]
    squared = max(dot(p, p) for p in points)
    # the margin of any plane is at most the largest one, so its bound is at least the reported one
    unit = np.append(bound.margin.w, bound.margin.b) if offset else bound.margin.w
    reached = min(s * dot(p, unit) for s, p in zip(signs, points, strict=True)) / np.linalg.norm(unit)
    assert bound.upper == pytest.approx((squared + 2 * margin) / reached**2, rel=1e-5)


@given(separable(), st.lists(st.integers(-9, 9), min_size=4, max_size=4), st.sampled_from([0.5, 1, 3]))
def test_first_weights_enter_as_the_formula_says(data, start, eta):
    X, y = data
    w0, b0 = start[: len(X[0])], start[-1]
    bound = mistake_bound(X, y, eta0=eta, coef_init=w0, intercept_init=[b0])
    u = np.append(bound.margin.w, bound.margin.b)
    u /= np.linalg.norm(u)
    first = np.append(w0, b0).astype(float)
    squared = max(dot(x, x) + 1 for x in X)

    def short(k, gamma, ahead):
        return ahead + k * eta * gamma <= math.sqrt(first @ first + k * eta**2 * squared)

    # the largest k of the formula lies inside the interval, up to the accuracy of u
    away = 3 * np.linalg.norm(first) * math.sqrt(max(0, 2 * bound.margin.gap))
    assert not short(bound.upper * (1 + 1e-6) + 1e-6, bound.margin.lower, first @ u + away)
    assert bound.lower == 0 or short(bound.lower * (1 - 1e-6), bound.margin.upper, first @ u - away)
    _, _, trace = perceptron(X, [2 * label - 1 for label in y], eta=eta, w=w0, b=b0, passes=5000)
    assert len(trace) <= bound.mistakes


@given(separable(classes=3), st.booleans())
def test_many_classes(data, offset):
    X, y = data
    try:
        bound = mistake_bound(X, y, fit_intercept=offset)
    except NotSeparable:
        assume(False)
    assert len(argmax(X, y, 3, offset=offset, passes=5000)[2]) <= bound.mistakes
    squared = max(dot(x, x) for x in X) + offset
    assert bound.upper == pytest.approx(2 * squared / bound.margin.lower**2, rel=1e-9)


def test_inseparable_rows_carry_their_refutation():
    with pytest.raises(NotSeparable, match="4 rows contradict") as caught:
        mistake_bound(*XOR)
    assert sorted(caught.value.refutation.rows) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta0": 0}, "eta0 must be positive"),
        ({"fit_intercept": False, "intercept_init": [1]}, "learns no offset"),
        ({"coef_init": [1, 2, 3]}, r"coef_init has shape \(3,\)"),
        ({"coef_init": [1, np.nan]}, "NaN"),
        (
            {"fit_intercept": False, "margin": largest_margin(*SQUARE)},
            "needs the margin in the origin form, got 'affine'",
        ),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        mistake_bound(*SQUARE, **options)


def test_first_weights_that_are_already_right():
    """Of w_0 = u/2 on the line, ``1/2 + k <= sqrt(1/4 + k)`` holds for k = 0 alone."""
    X, y = [[1.0], [-1.0]], [1, -1]
    bound = mistake_bound(X, y, fit_intercept=False, coef_init=[0.5])
    assert bound.mistakes == 0 <= bound.upper < 1
    assert Perceptron(fit_intercept=False).fit(X, y, coef_init=[0.5]).mistakes_ == 0


def test_a_margin_below_double_precision_bounds_nothing():
    tiny = 5e-324
    with pytest.warns(RuntimeWarning, match="the relative gap of the bounds"):
        bound = mistake_bound([[1.0, tiny], [1.0, 0.0]], [1, 0])
    assert bound.mistakes == math.inf
    assert not bound.covers_floats


def test_a_bound_says_when_doubles_may_exceed_it():
    X, y = [[1e-170, 0], [0, -1e-170]], [1, -1]
    bound = mistake_bound(X, y, fit_intercept=False)
    with pytest.warns(ConvergenceWarning, match="scores of the rows underflow"):
        model = Perceptron(fit_intercept=False, shuffle=False, max_iter=100).fit(X, y)
    assert model.mistakes_ > bound.mistakes == 2
    assert not bound.covers_floats
    assert "rounding or underflow" in repr(bound)
    assert "about exact arithmetic" in audit(model, X, y).violation


def test_a_run_that_is_merely_unfinished_is_not_said_to_underflow():
    with pytest.warns(ConvergenceWarning, match="linsep.separate tells which"):
        Perceptron(max_iter=20).fit([[2**53], [2**53 + 1]], [0, 1])


@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([1.0, 1e-3, 1e-100]), st.booleans())
@settings(deadline=None, max_examples=30)
@pytest.mark.filterwarnings("ignore:the relative gap of the bounds:RuntimeWarning")
def test_no_run_exceeds_a_bound_that_covers_floats(seed, d, scale, offset):
    X, y, _ = teacher(40, d, margin=0.05, random_state=seed)
    X = X * scale
    bound = mistake_bound(X, y, fit_intercept=offset, gap=0.01)
    if bound.covers_floats:
        for shuffle in (False, True):
            run = Perceptron(fit_intercept=offset, shuffle=shuffle, max_iter=10**5, max_updates=10**5).fit(X, y)
            assert run.mistakes_ <= bound.mistakes
    assert bound.covers_floats or scale < 1 or bound.mistakes > 10**4


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_printed_formula_gives_the_printed_bound(offset, classes):
    X, y = np.array([[1.0, 0.2], [0.1, 1.0], [-1.0, -1.0], [-0.9, -1.2]]), np.array([0, 1, classes - 1, classes - 1])
    bound = mistake_bound(X, y, fit_intercept=offset)
    values = {"R²": bound.radius**2, "γ²": bound.margin.lower**2}
    text = bound.formula.replace("2(", "2*(").replace("2R", "2*R")
    for name, value in values.items():
        text = text.replace(name, repr(value))
    assert eval(text) == pytest.approx(bound.upper, rel=1e-9)
    assert f"R = {bound.radius:.9g}" in repr(bound)
    assert bound.formula in repr(bound)
    assert bound.radius == max(np.linalg.norm(X, axis=1))


def test_many_rows_of_one_norm_do_not_shrink_the_radius():
    angles = np.linspace(0.1, 1.4, 1000)
    X = np.column_stack((np.cos(angles), np.sin(angles)))
    y = angles > 0.7
    bound = mistake_bound(X, y)
    assert all(Fraction(bound.radius) ** 2 >= Fraction(a) ** 2 + Fraction(b) ** 2 for a, b in X)
    assert bound.radius == pytest.approx(1)


# ---------------------------------------------------------------------------------------------------------------
# The audit


@given(
    separable(),
    st.sampled_from([{}, {"shuffle": False}, {"order": "first"}, {"order": "worst"}]),
    st.sampled_from([1.0, 0.1, 1e-3, 7.3]),
    st.booleans(),
    st.sampled_from([0.0, 0.0, 0.7]),
    st.lists(st.floats(-5, 5, allow_subnormal=False), min_size=4, max_size=4),
    st.booleans(),
)
def test_the_proof_holds_along_every_run(data, order, eta, offset, margin, start, from_zero):
    X, y = np.array(data[0], float) / 3, data[1]
    first = {} if from_zero else {"coef_init": start[: X.shape[1]]}
    if offset and not from_zero:
        first["intercept_init"] = start[-1:]
    model = Perceptron(eta0=eta, fit_intercept=offset, update_margin=margin, max_iter=20000, **order)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # through the origin some of these are not separable
        model.fit(X, y, **first)
    try:
        found = audit(model, X, y, **first)
    except NotSeparable:
        assume(False)
    assert found.holds, found
    assert found.mistakes == model.mistakes_ <= found.bound.mistakes
    assert len(found.progress) == len(found.squared_norm_bound) == len(found.margin_upper) == model.mistakes_ + 1
    # the running sums end where the model is
    end = np.append(model.coef_, model.intercept_)
    assert found.squared_norm[-1] == pytest.approx(end @ end, rel=1e-6, abs=1e-9)
    u = np.append(found.bound.margin.w, found.bound.margin.b)
    assert found.progress[-1] == pytest.approx(end @ u / np.linalg.norm(u), rel=1e-6, abs=1e-9)


@given(separable(classes=3), st.booleans())
def test_the_proof_holds_for_many_classes(data, offset):
    model = Perceptron(fit_intercept=offset, max_iter=20000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*data)
    try:
        assert audit(model, *data).holds
    except NotSeparable:
        assume(False)


def test_the_quantities_are_those_of_the_textbook():
    found = audit(Perceptron(fit_intercept=False, shuffle=False, eta0=2.0).fit(*SQUARE), *SQUARE)
    half = math.sqrt(0.5)
    np.testing.assert_allclose(found.progress, [0, 2 * half, 4 * half])
    np.testing.assert_allclose(found.progress_bound, [0, 2 * half, 4 * half], rtol=1e-5)
    np.testing.assert_allclose(found.squared_norm, [0, 4, 8])
    np.testing.assert_allclose(found.squared_norm_bound, [0, 4, 8])
    np.testing.assert_allclose(found.cosine[1:], [half, 1])
    np.testing.assert_allclose(found.cosine_bound[1:], [half, 1], rtol=1e-5)
    np.testing.assert_allclose(found.margin_upper, [np.inf, 1, half])
    np.testing.assert_array_equal(found.leads, [0, 0])
    assert "holds" in repr(found)
    assert "bound 2" in repr(found)


@pytest.mark.parametrize("storage", few([np.asfortranarray, sp.csr_array, np.float32], 2))
def test_any_storage(storage):
    X, y, _ = teacher(200, 5, margin=0.1, offset=True, random_state=4)
    X = storage(X)
    assert audit(Perceptron().fit(X, y), X, y).holds


def test_rows_held_out_are_left_out():
    X, y, _ = teacher(300, 3, margin=0.1, random_state=4)
    model = Perceptron(early_stopping=True, n_iter_no_change=100).fit(X, y)
    found = audit(model, X, y)
    assert found.holds
    y = y.copy()
    y[0] = -y[0]  # of the rows that were looked at
    assert not audit(model, X, y).holds


def _retold(model, change):
    """Let a model tell another trace."""
    part = model.record_.runs[0]
    trace = part.run.trace.copy()
    change(trace)
    model.record_.runs[0] = part._replace(run=part.run._replace(trace=trace))


@given(st.integers(0, 2**32 - 1), st.data())
def test_tampering_shows(seed, data):
    X, y, _ = teacher(30, 3, margin=0.05, offset=True, random_state=seed)
    model = Perceptron().fit(X, y)
    place = data.draw(st.integers(0, model.mistakes_ - 1))
    row = int(model.trace_[place])
    what = data.draw(st.sampled_from(["trace", "row", "label"]))
    X, y = X.copy(), y.copy()
    if what == "trace":
        other = data.draw(st.integers(0, 29).filter(lambda i: i != row))
        _retold(model, lambda trace: trace.__setitem__(place, other))
    elif what == "row":
        X[row, data.draw(st.integers(0, 2))] += data.draw(st.sampled_from([1e-6, -0.1, 3.0]))
    else:
        y[row] = -y[row]
    found = audit(model, X, y)
    assert not found.holds
    assert found.violation in repr(found)


def test_a_violation_names_the_step():
    X = [[1.0, 0.0], [1.0, 1.0], [-1.0, 0.5]]
    model = Perceptron(shuffle=False, fit_intercept=False).fit(X, [1, 1, 0])
    _retold(model, lambda trace: trace.__setitem__(0, 2))
    good = Perceptron(shuffle=False, max_iter=50).fit(X, [1, 1, 0])
    _retold(good, lambda trace: trace.__setitem__(slice(None), 0))
    found = audit(good, X, [1, 1, 0])
    assert found.step == 2
    assert found.violation.startswith("step 2 (row 0): the row was not a mistake when it was visited")
    assert not audit(model, X, [1, 1, 0]).holds


def test_moved_rows_and_other_first_weights_show():
    X, y = LINE
    model = Perceptron().fit(X, y)
    clean = int(np.flatnonzero(model.mistake_counts_ == 0)[0])
    moved = X.copy()
    moved[clean] = -moved[clean]
    assert f"row {clean} is on the wrong side" in audit(model, moved, y).violation
    model = Perceptron().fit(X, y, coef_init=[0.3, -2.0])
    assert audit(model, X, y, coef_init=[0.3, -2.0]).holds
    assert not audit(model, X, y, coef_init=[0.0, 0.0]).holds
    model.record_.first = Weights(np.array([[0.3, -2.0]]), np.zeros(1))  # as a model remembers them
    assert audit(model, X, y).holds


def unfollowed(tmp_path):
    """What an audit refuses: models with their rows, and why."""
    X, y = LINE
    yield Perceptron().fit(X, y), X[:59], y[:59], "trained on 60 rows, but X has 59"
    yield Perceptron(class_weight="balanced").fit(X, y), X, y, "class_weight=None"
    three = [[0, 0], [5, 0], [0, 5]], [0, 1, 2]
    yield Perceptron(multi_class="ovr").fit(*three), *three, "one run per class"
    yield object(), X, y, "no trace"
    yield PassiveAggressive().fit(X, y), X, y, "no trace of a perceptron"
    to_liblinear(Perceptron(fit_intercept=False).fit(X, (y > 0).astype(int)), tmp_path / "model")
    yield from_liblinear(tmp_path / "model"), X, y, "were imported"
    grown = Perceptron(shuffle=False).partial_fit(X[:30], y[:30]).partial_fit(X[30:], np.where(y[30:] > 0, 7, -1))
    yield grown, X, np.where((y > 0) & (np.arange(60) >= 30), 7, y), "classes appeared during the run"
    stopped = Perceptron(early_stopping=True, shuffle=False, random_state=0).fit(X, y)
    stopped.record_.seed += 1  # other rows would have been held out
    yield stopped, X, y, "made mistakes on rows held out here"


def test_what_cannot_be_followed_is_said(tmp_path):
    for model, X, y, message in unfollowed(tmp_path):
        with pytest.raises(ValueError, match=message):
            audit(model, X, y)
    with pytest.raises(NotSeparable) as caught:
        audit(quiet(Perceptron(max_iter=20), *XOR), *XOR)
    assert caught.value.refutation is not None


def test_partial_fit_is_one_run_over_all_rows_given():
    X, y, _ = teacher(90, 3, margin=0.2, random_state=6)
    assert audit(_in_pieces(Perceptron(), X, y, length=30), X, y).holds
    X, y = np.array([[1, 0], [0, -1], [-3, 2], [1, 1]]), np.array([1, -1, 1, 1])
    model = _in_pieces(Perceptron(fit_intercept=False, shuffle=False), X, y, length=1)
    assert model.stop_reason_ == "separated"  # of the last row alone
    assert model.score(X, y) < 1
    assert audit(model, X, y).holds  # it does not ask the last plane about all rows


# ---------------------------------------------------------------------------------------------------------------
# New rows


def test_formulas():
    X, y, _ = teacher(500, 2, margin=0.25, random_state=1)
    model = Perceptron(shuffle=False, fit_intercept=False).fit(X, y)
    known = generalization(model, X, y, delta=0.1, radius=1.0)
    s = np.count_nonzero(model.mistake_counts_)
    assert known.compression.value == pytest.approx((math.log(math.comb(500, s)) + math.log(500 / 0.1)) / (500 - s))
    leads = y * (X @ model.coef_[0]) / np.linalg.norm(model.coef_)
    bounds = [
        np.clip(1 - leads / rho, 0, 1).mean()
        + 4 / (rho * math.sqrt(500))
        + math.sqrt(math.log(math.log2(2 / rho)) / 500)
        + math.sqrt(math.log(2 / 0.1) / 1000)
        for rho in np.linspace(0.001, 0.999, 999)
    ]
    assert known.margin.value == pytest.approx(min(bounds), rel=2e-3)
    assert not known.held_out.applies
    assert math.isnan(known.held_out.value)
    assert "needs held-out rows" in repr(known)
    assert [part.name for part in known] == [*BOUNDS]


def test_vacuous_is_said():
    X, y, _ = teacher(30, 8, margin=0.01, random_state=1)
    known = generalization(Perceptron(shuffle=False).fit(X, y), X, y, X_test=X, y_test=-y)
    assert known.margin.vacuous
    assert "vacuous" in repr(known.margin)
    assert known.held_out.value == 1
    assert known.held_out.lower > 0.5


def test_the_compression_bound_checks_its_premise():
    X, y, _ = teacher(300, 3, margin=0.05, random_state=2)
    for order in ({"shuffle": False}, {"order": "first"}, {"order": "worst"}):
        assert generalization(Perceptron(**order).fit(X, y), X, y).compression.applies, order
    steps = np.random.default_rng(4).uniform(0.5, 2.0, 300)  # the second run takes equal ones
    for model, reason in (
        (Perceptron(shuffle=True).fit(X, y), "leads to other weights"),
        (Perceptron(shuffle=False).fit(X, y, coef_init=[9.0, 9.0, 9.0]), "did not begin from zero weights"),
        (quiet(Perceptron(shuffle=False, max_iter=1), X, y), "of the 300 rows are predicted wrong"),
        (Perceptron(shuffle=False, early_stopping=True).fit(X, y), "held-out rows decided"),
        (Perceptron(shuffle=False).fit(X, y, sample_weight=steps), "weight"),
        (Perceptron(shuffle=False, class_weight={-1: 3.0}).fit(X, y), "weight"),
    ):
        bound = generalization(model, X, y).compression
        assert not bound.applies
        assert reason in bound.reason
    two = Perceptron(shuffle=False, fit_intercept=False).fit([[1, 0], [0, -1]], [1, 0])
    assert two.mistake_counts_.tolist() == [1, 1]
    assert "every row had a mistake" in generalization(two, [[1, 0], [0, -1]], [1, 0]).compression.reason


def test_compression_counts_no_row_that_was_never_required_to_be_right():
    """Labels that x0 does not explain, on rows of weight 0: the others alone are separated."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 2))
    y = np.where(rng.random(1000) < 0.4, -1, 1) * np.sign(X[:, 0])
    X[:, 0] += np.sign(X[:, 0])
    weight = (y == np.sign(X[:, 0])).astype(float)
    model = Perceptron(shuffle=False).fit(X, y, sample_weight=weight)
    assert model.stop_reason_ == "separated"
    bound = generalization(model, X, y).compression
    assert not bound.applies
    assert math.isnan(bound.value)
    assert f"{round(1000 * (1 - model.score(X, y)))} of the 1000 rows are predicted wrong" in bound.reason
    some = weight > 0
    alone = generalization(Perceptron(shuffle=False).fit(X[some], y[some]), X[some], y[some]).compression
    assert alone.applies  # of the rows that were learned


def test_compression_of_partial_fits_is_about_all_pieces():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 3))
    noisy, clean = np.where(rng.random(300) < 0.5, -1.0, 1.0), np.sign(X[300:, 0])
    y = np.concatenate((noisy, clean))
    model = Perceptron(shuffle=False)
    model.partial_fit(X[:300], y[:300])
    pieces = [np.arange(300)]
    while model.stop_reason_ != "separated":  # which is true of the last piece only
        model.partial_fit(X[300:], y[300:])
        pieces.append(np.arange(300, 400))
    rows = np.concatenate(pieces)
    bound = generalization(model, X[rows], y[rows]).compression
    assert not bound.applies
    assert "rows are predicted wrong" in bound.reason
    whole = Perceptron(shuffle=False)  # one row after another is the cyclic pass, and here the first one suffices
    X, y, _ = teacher(200, 2, margin=0.4, random_state=1)
    for i in range(200):
        whole.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1, 1])
    known = generalization(whole, X, y).compression
    again = generalization(Perceptron(shuffle=False).fit(X, y), X, y).compression
    assert known.applies == (whole.score(X, y) == 1)
    assert known.value == again.value


@pytest.mark.parametrize(("n", "s"), [(10, 3), (500, 17), (5000, 2500), (10**6, 1), (10**6, 400)])
def test_the_number_of_choices_is_rounded_upwards(n, s):
    found = upwards(log_choices(n, s))
    log = lambda number: Decimal(number).ln(Context(prec=60))  # noqa: E731
    exact = log(math.comb(n, s))
    assert exact <= Decimal(found) <= exact * (1 + Decimal("1e-13"))


@pytest.mark.parametrize("seed", few(range(20), 5))
def test_intervals_are_never_too_narrow(seed):
    """The binomial tails at both ends, in fractions."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 400))
    wrong, delta = int(rng.integers(0, rows + 1)), float(rng.choice([0.5, 0.05, 1e-3, 1e-9, 1e-15]))
    wrong = {0: 0, 1: rows}.get(seed, wrong)
    low, high = clopper_pearson(wrong, rows, delta=delta)

    def tail(p, counts):
        share = Fraction(p)
        return sum(math.comb(rows, k) * share**k * (1 - share) ** (rows - k) for k in counts)

    assert low == 0 if wrong == 0 else tail(low, range(wrong, rows + 1)) <= Fraction(delta) / 2
    assert high == 1 if wrong == rows else tail(high, range(wrong + 1)) <= Fraction(delta) / 2
    near = 1 - 1e-9  # nor wider than need be
    assert low == 0 if wrong == 0 else tail(low, range(wrong, rows + 1)) >= Fraction(delta / 2 * near)
    assert high == 1 if wrong == rows else tail(high, range(wrong + 1)) >= Fraction(delta / 2 * near)


@pytest.mark.parametrize(("wrong", "rows"), [(1000, 10**9), (1000, 10**10), (1, 10**12), (10**6, 10**10)])
def test_intervals_of_very_many_rows_are_narrow(wrong, rows):
    """Rare events are all but Poisson's."""
    low, high = clopper_pearson(wrong, rows)
    assert poisson.sf(wrong - 1, low * rows) == pytest.approx(0.025, rel=1e-2)
    assert poisson.cdf(wrong, high * rows) == pytest.approx(0.025, rel=1e-2)


WAYS = {
    "cyclic": lambda X, y, _: Perceptron(shuffle=False).fit(X, y),
    "shuffled": lambda X, y, rng: Perceptron(random_state=int(rng.integers(99))).fit(X, y),
    "rows of weight 0": lambda X, y, rng: Perceptron(shuffle=False).fit(X, y, sample_weight=rng.integers(0, 2, len(y))),
    "doubtful rows of weight 0": lambda X, y, _: Perceptron(shuffle=False).fit(X, y, sample_weight=_plausible(X, y)),
    "row by row": lambda X, y, _: _in_pieces(Perceptron(shuffle=False), X, y, length=1),
    "row weights": lambda X, y, rng: Perceptron(shuffle=False).fit(X, y, sample_weight=rng.uniform(0.5, 2, len(y))),
    "class weights": lambda X, y, _: Perceptron(shuffle=False, class_weight={1: 3.0}).fit(X, y),
    "balanced": lambda X, y, _: Perceptron(shuffle=False, class_weight="balanced").fit(X, y),
    "validation": lambda X, y, _: Perceptron(shuffle=False, early_stopping=True, validation_fraction=0.4).fit(X, y),
    "warm": lambda X, y, _: Perceptron(shuffle=False, warm_start=True, max_iter=5).fit(X, y).fit(X, y),
    "first": lambda X, y, _: Perceptron(order="first").fit(X, y),
    "prediction": lambda X, y, _: Perceptron(shuffle=False, mistake="prediction").fit(X, y),
    "average": lambda X, y, _: Perceptron(shuffle=False, keep="average").fit(X, y),
    "plateau": lambda X, y, _: Perceptron(shuffle=False, tol=1e-3, n_iter_no_change=2).fit(X, y),
    "pieces": lambda X, y, _: _in_pieces(Perceptron(shuffle=False), X, y),
    "pieces and weights": lambda X, y, rng: _in_pieces(Perceptron(shuffle=False), X, y, rng.integers(0, 2, len(y))),
}


BOUNDS = ("held-out rows", "compression", "margin", "VC dimension", "finite class")


def _plausible(X, y):
    """1 for the rows that a plane fitted to all of them gets right, else 0."""
    return (np.sign(X @ np.linalg.lstsq(X, y, rcond=None)[0]) == y).astype(float)


def _in_pieces(model, X, y, weight=None, length=40):
    for start in range(0, len(y), length):
        part = slice(start, start + length)
        given = {} if weight is None else {"sample_weight": weight[part]}
        model.partial_fit(X[part], y[part], classes=[-1, 1], **given)
    return model


@pytest.mark.compiled
@pytest.mark.parametrize("noise", few([0.3, 0.0, 0.03], 2))
@pytest.mark.parametrize("way", few(WAYS, 3))
def test_every_bound_covers_whatever_the_training(way, noise):
    """Training sets drawn from one pool: a bound that is not refused fails in at most a share δ of them."""
    rng = np.random.default_rng(7)
    pool, labels, _ = teacher(4000, 2, margin=0.02, offset=0.2, random_state=11)
    labels = np.where(rng.random(len(labels)) < noise, -labels, labels)
    delta, rounds, missed = 0.2, 60, dict.fromkeys(BOUNDS, 0)
    for _ in range(rounds):
        train, test = rng.integers(len(pool), size=(2, 120))
        X, y = pool[train], labels[train]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = WAYS[way](X, y, rng)
        error = 1 - model.score(pool, labels)
        for part in generalization(model, X, y, delta=delta, X_test=pool[test], y_test=labels[test], radius=1.0):
            assert part.applies or noise or way != "cyclic"
            missed[part.name] += part.applies and not part.lower <= error <= part.value
    assert all(binom.sf(count - 1, rounds, delta) > 1e-3 for count in missed.values()), missed
    assert missed["held-out rows"] > 0 or (way, noise) != ("cyclic", 0.3)  # the interval is not simply everything


def test_other_classifiers_have_the_bounds_that_are_theirs():
    X, y, _ = teacher(200, 3, margin=0.05, offset=0.2, random_state=1)
    for model in (KernelPerceptron(), PassiveAggressive(), Perceptron(shuffle=False, keep="vote")):
        known = generalization(model.fit(X[:150], y[:150]), X[:150], y[:150], X_test=X[150:], y_test=y[150:])
        assert known.held_out.applies
        assert not known.compression.applies
        assert known.margin.applies == isinstance(model, PassiveAggressive)
    assert audit(Perceptron(keep="average").fit(X, y), X, y).holds  # of the run, whatever it hands over


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 0}, "delta must be between 0 and 1"),
        ({"X_test": LINE[0]}, "give both X_test and y_test"),
        ({"radius": 0.1}, "more than the given radius"),
        ({"X_test": LINE[0], "y_test": [1]}, "X_test has 60 rows but y_test has 1 labels"),
        ({"X_test": LINE[0], "y_test": LINE[1].astype(str)}, "no label of y_test is a class of the model"),
    ],
)
def test_parameters_of_generalization(options, message):
    with pytest.raises(ValueError, match=message):
        generalization(Perceptron().fit(*LINE), *LINE, **options)
    for unfit in (Perceptron(), "model"):
        with pytest.raises(TypeError, match="needs a fitted classifier"):
            generalization(unfit, *LINE)


def test_generalization_of_three_classes():
    data = [[0, 0], [5, 0], [0, 5], [0, 6]], [0, 1, 2, 2]
    known = generalization(Perceptron(shuffle=False).fit(*data), *data)
    assert known.margin.reason == "it needs two classes"
    assert known.compression.value == pytest.approx(math.log(math.comb(4, 3)) + math.log(4 / 0.05))
    assert known.compression.vacuous


@pytest.mark.parametrize("power", [-1000, -560, -540, -535, -520, -300, 0, 300])
@pytest.mark.parametrize("eta", [2.0**-400, 1.0, 2.0**300])
@pytest.mark.filterwarnings("ignore")
def test_the_margin_bounds_of_a_run_hold_where_squares_underflow(power, eta):
    """Rows times a power of two have exactly that power times the margin, whatever their squares do in doubles."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        X = rng.integers(-5, 6, (12, 2))
        w = rng.integers(-5, 6, 2)
        X = X[X @ w != 0]
        y = np.sign(X @ w)
        if len(set(y)) < 2:
            continue
        tiny = np.ldexp(X.astype(float), power)
        model = Perceptron(fit_intercept=False, shuffle=False, eta0=eta, prove=False, max_iter=200).fit(tiny, y)
        if model.stop_reason_ != "separated":  # the scores underflow
            continue
        found, true = run_margin(model, retrace(model, tiny, y)), largest_margin(X, y, form="origin")
        scale = Fraction(2) ** power
        assert Fraction(found.upper) >= Fraction(true.lower) * scale
        assert Fraction(found.lower) <= Fraction(true.upper) * scale
