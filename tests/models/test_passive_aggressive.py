"""Passive-aggressive learning: against the paper in plain Python, its theorem, and scikit-learn on the same order."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import oracle
from data import few, integers, quiet
from linsep import PassiveAggressive, fit_source, load, read, save, teacher

VARIANTS = ["pa", "pa1", "pa2"]
STORAGE = [np.asarray, sp.csr_array]


def numbers(seed, classes=2):
    X, y = integers(seed, n=40, d=4, classes=classes)
    X[3] = 0  # a row of zeros changes nothing
    return X, y


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), offset=st.booleans(), C=st.sampled_from([0.01, 0.5, 3.0]))
def test_equals_the_paper(storage, variant, seed, offset, C):
    parameters = {"variant": variant, "C": C, "fit_intercept": offset, "shuffle": False, "max_iter": 3}
    X, y = numbers(seed)
    w, b = oracle.passive_aggressive(X.tolist(), (2 * y - 1).tolist(), variant=variant, C=C, passes=3, offset=offset)
    model = quiet(PassiveAggressive(**parameters), storage(X), y)
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.intercept_[0], b, rtol=1e-10, atol=1e-12)
    X, y = numbers(seed, classes=3)
    X = X + 0.01 * np.random.default_rng(seed).standard_normal(X.shape)  # rivals that tie are told apart by rounding
    model = quiet(PassiveAggressive(**parameters), storage(X), y)
    W, b = oracle.passive_aggressive_argmax(X.tolist(), y.tolist(), 3, variant=variant, C=C, passes=3, offset=offset)
    np.testing.assert_allclose(model.coef_, W, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(model.intercept_, b, rtol=1e-9, atol=1e-11)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), margin=st.floats(0.05, 0.4))
def test_squared_losses_are_bounded(seed, margin):
    """Crammer et al. 2006, theorem 2, with u scaled to a margin of 1."""
    X, y, plane = teacher(50, 4, margin=margin, random_state=seed)
    u = plane.w / (y * (X @ plane.w)).min()
    bound = (X * X).sum(axis=1).max() * (u @ u)
    model = PassiveAggressive(variant="pa", fit_intercept=False, shuffle=False)
    for i in [*range(len(X))] * 3:
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1, 1])
    losses = model.history_["loss"]
    assert len(losses) == 150
    assert (losses**2).sum() <= bound * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("keep", "classes", "multi_class"),
    few(
        [
            *[("average", 2, "argmax"), ("last", 3, "argmax"), ("best", 3, "ovr")],
            *[("average", 3, "argmax"), ("average", 3, "ovr")],
        ],
        3,
    ),
)
def test_one_answer_however_the_rows_come(tmp_path, variant, keep, classes, multi_class):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((150, 5)), rng.integers(0, classes, 150)
    model = PassiveAggressive(variant=variant, C=0.5, keep=keep, multi_class=multi_class, shuffle=False, max_iter=1)
    whole = quiet(model, X, y)
    online = PassiveAggressive(variant=variant, C=0.5, keep=keep, multi_class=multi_class, shuffle=False)
    for start in range(0, 150, 7):
        online.partial_fit(X[start : start + 7], y[start : start + 7], classes=range(classes))
    np.save(tmp_path / "data.npy", np.column_stack((X, y)))
    source = read(tmp_path / "data.npy", block_bytes=999)
    streamed = fit_source(PassiveAggressive(**model.get_params()), source)
    save(whole, tmp_path / "model")
    for other in (online, streamed, load(tmp_path / "model")):
        assert np.array_equal(other.coef_, whole.coef_)
        assert np.array_equal(other.intercept_, whole.intercept_)
        assert np.array_equal(other.trace_, whole.trace_)
        assert other.classes_.tolist() == list(range(classes))
    loaded = load(tmp_path / "model")
    assert np.array_equal(loaded.partial_fit(X, y + 1).coef_, whole.partial_fit(X, y + 1).coef_)


def test_separable_data_is_separated_and_warns_of_nothing():
    X, y, _ = teacher(300, 5, margin=0.1, offset=True, random_state=1)
    for variant in VARIANTS:
        model = PassiveAggressive(variant=variant, C=100.0).fit(X, y)  # warnings are errors
        assert model.training_errors_ == 0
        assert model.score(X, y) == 1
    assert PassiveAggressive(variant="pa1", C=1e6).fit(X[:4], y[:4]).stop_reason_ in ("separated", "max_iter")
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        PassiveAggressive(max_iter=3).fit([[0.0], [0.0], [1.0]], [0, 1, 1])


@pytest.mark.parametrize("variant", ["pa1", "pa2"])
@pytest.mark.parametrize(("classes", "multi_class"), [(2, "argmax"), (3, "argmax"), (3, "ovr")])
def test_weights_are_factors_of_the_aggressiveness(variant, classes, multi_class):
    X, y = numbers(5, classes=classes)
    common = {"variant": variant, "multi_class": multi_class, "max_iter": 3}
    quarter = quiet(PassiveAggressive(C=0.25, **common), X, y)
    weighted = quiet(PassiveAggressive(C=1.0, **common), X, y, sample_weight=np.full(len(y), 0.25))
    assert np.array_equal(quarter.coef_, weighted.coef_)
    by_class = quiet(PassiveAggressive(C=1.0, class_weight=dict.fromkeys(range(classes), 0.25), **common), X, y)
    assert np.array_equal(quarter.coef_, by_class.coef_)
    used = np.arange(len(y)) % 3 > 0
    some = quiet(PassiveAggressive(shuffle=False, **common), X, y, sample_weight=used)
    assert np.array_equal(some.coef_, quiet(PassiveAggressive(shuffle=False, **common), X[used], y[used]).coef_)


@pytest.mark.parametrize(("classes", "multi_class"), [(2, "argmax"), (3, "argmax"), (3, "ovr")])
def test_spent_updates_and_overflow(classes, multi_class):
    model = quiet(PassiveAggressive(C=0.01, max_updates=11, multi_class=multi_class), *numbers(3, classes=classes))
    assert (model.mistakes_, model.stop_reason_) == (11, "max_updates")
    # tau = lacking/‖x‖² makes w about 1e150 from the first row, and the second has a score of about 1e350
    X = [[1e-150], [1e200], [-1e200]][:classes]
    for storage in STORAGE if multi_class == "argmax" else (np.asarray,):
        model = PassiveAggressive(variant="pa", multi_class=multi_class, fit_intercept=False, shuffle=False)
        with pytest.raises(ValueError, match="overflowed to infinity"):
            model.fit(storage(np.array(X)), range(classes))
