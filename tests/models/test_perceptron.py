"""The estimator: against the textbook in plain Python, the theorem, and scikit-learn's contract."""

import io
import math
import pickle
import re
from contextlib import redirect_stderr, redirect_stdout

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oracle
from data import few, integers, quiet
from linsep import (
    AROW,
    FewestErrorsClassifier,
    KernelPerceptron,
    MaxMarginClassifier,
    PassiveAggressive,
    Perceptron,
    teacher,
)
from linsep.data.arrays import to_rows
from linsep.learn.evaluation import held_out
from oracle import alike

SQUARE = ([[1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [-1.0, 0.0]], [1, -1, 1, -1])
ORDERS = [{"shuffle": False}, {"shuffle": True}, {"order": "first"}, {"order": "worst"}]


# ---------------------------------------------------------------------------------------------------------------
# To the letter


def test_worked_example():
    model = Perceptron(fit_intercept=False, shuffle=False).fit(*SQUARE)
    assert model.coef_.tolist() == [[1.0, 1.0]]
    assert model.intercept_.tolist() == [0.0]
    assert model.trace_.tolist() == [0, 1]
    assert model.mistake_counts_.tolist() == [1, 1, 0, 0]
    assert model.mistakes_ == 2
    assert model.radius_ == 1
    assert model.margin_ == pytest.approx(1 / math.sqrt(2), rel=1e-15)
    assert (model.radius_ / model.margin_) ** 2 == pytest.approx(2, rel=1e-15)  # the bound, met with equality
    assert model.stop_reason_ == "separated"
    assert model.n_iter_ == 2
    assert model.history_["mistakes"].tolist() == [2, 0]


@pytest.mark.parametrize("order", ["cyclic", "first", "worst"])
@given(seed=st.integers(0, 10**6), offset=st.booleans(), eta=st.sampled_from([1, 2, 0.5]), margin=st.integers(0, 5))
def test_equals_the_textbook(order, seed, offset, eta, margin):
    X, y = integers(seed)
    start, b = [1, -2, 0], 2 * offset
    w, b, trace = oracle.perceptron(
        X.tolist(), (2 * y - 1).tolist(), eta=eta, offset=offset, order=order, passes=40, w=start, b=b, margin=margin
    )
    model = Perceptron(
        fit_intercept=offset, eta0=eta, shuffle=False, order=None if order == "cyclic" else order, max_iter=40,
        update_margin=margin, prove=False,
    )  # fmt: skip
    extra = {"coef_init": start} | ({"intercept_init": 2} if offset else {})
    quiet(model, X, y, **extra)
    assert model.coef_.tolist() == [w]
    assert model.intercept_.tolist() == [b]
    assert model.trace_.tolist() == trace


@given(seed=st.integers(0, 10**6), offset=st.booleans(), classes=st.integers(3, 5))
def test_argmax_equals_the_textbook(seed, offset, classes):
    X, y = integers(seed, classes=classes)
    W, b, trace = oracle.argmax(X.tolist(), y.tolist(), classes, offset=offset, passes=30)
    model = quiet(Perceptron(fit_intercept=offset, shuffle=False, max_iter=30, prove=False), X, y)
    assert model.coef_.tolist() == W
    assert model.intercept_.tolist() == b
    assert model.trace_.tolist() == trace


@pytest.mark.parametrize("order", ORDERS[:2])
@given(seed=st.integers(0, 10**6))
def test_one_against_rest_is_binary_perceptrons(order, seed):
    X, y = integers(seed, n=20, classes=3)
    together = quiet(Perceptron(multi_class="ovr", max_iter=20, prove=False, **order), X, y)
    counts = np.zeros(len(X), int)
    for c in range(3):
        alone = quiet(Perceptron(max_iter=20, prove=False, **order), X, y == c)
        assert np.array_equal(alone.coef_[0], together.coef_[c])
        assert alone.intercept_[0] == together.intercept_[c]
        counts += alone.mistake_counts_
    assert np.array_equal(together.mistake_counts_, counts)
    assert together.mistakes_ == counts.sum()


def test_appending_minus_one_learns_the_threshold():
    X, y = integers(5)
    offset = quiet(Perceptron(shuffle=False, max_iter=50), X, y)
    appended = np.column_stack((X, np.full(len(X), -1)))
    threshold = quiet(Perceptron(fit_intercept=False, shuffle=False, max_iter=50), appended, y)
    assert np.array_equal(threshold.coef_[0, :-1], offset.coef_[0])
    assert threshold.coef_[0, -1] == -offset.intercept_[0]
    assert np.array_equal(threshold.trace_, offset.trace_)


def test_plane_conventions():
    model = Perceptron(fit_intercept=True)
    quiet(model, [[1.0, 0.0], [3.0, 0.0]], ["left", "right"])
    model.coef_, model.intercept_ = np.array([[3.0, 4.0]]), np.array([-10.0])
    assert model.distance([[0.0, 0.0], [6.0, 8.0]]).tolist() == [-2.0, 8.0]  # plane at +2 along w, as b < 0
    assert model.predict([[2.0, 1.0], [6.0, 8.0], [0, 0]]).tolist() == ["left", "right", "left"]  # first is on it
    assert model.set_params(on_plane=1).predict([[2.0, 1.0]]).tolist() == ["right"]
    X, y = [[2.0, 1.0], [6.0, 8.0], [0.0, 0.0]], ["right", "right", "right"]
    assert model.margin(X, y) == -2.0
    assert model.loss(X, y) == 10.0


# ---------------------------------------------------------------------------------------------------------------
# One answer whatever the storage


def wide_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def frozen(X):
    X = X.copy()
    X.flags.writeable = False
    return X


KINDS = {
    "list": lambda X: X.tolist(),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "frozen": frozen,
    "other bytes": lambda X: X.astype(">f8"),
    "long": lambda X: X.astype("g"),
    "pandas": pd.DataFrame,
    "polars": lambda X: pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])]),
    "csr matrix": sp.csr_matrix,
    "csc array": sp.csc_array,
    "csc 64-bit": lambda X: wide_indices(sp.csc_matrix(X)),
    "coo array": sp.coo_array,
    "lil array": sp.lil_array,
    # what is read as it is: each of these compiles the loops again
    "float32": lambda X: X.astype("f4"),
    "csr 64-bit": lambda X: wide_indices(sp.csr_array(X)),
    "float16": lambda X: X.astype("f2"),
    "csr int": lambda X: sp.csr_array(X.astype(np.uint8)),
    **{kind: lambda X, kind=kind: X.astype(kind) for kind in ("i8", "i1", "u8")},
}


@pytest.mark.parametrize("kind", few(list(KINDS), 14))
def test_storage_does_not_show(kind):
    X, y = integers(7, low=0, high=8)
    model, expected = (quiet(Perceptron(max_iter=20), rows, y) for rows in (KINDS[kind](X), X))
    assert alike(model, expected)
    assert np.array_equal(model.decision_function(KINDS[kind](X)), expected.decision_function(X))
    assert model.radius_ == expected.radius_


def test_stored_twice_in_a_sparse_matrix_counts_as_the_sum():
    doubled = sp.csr_matrix((np.ones(6), [0, 0, 1, 1, 0, 1], [0, 3, 5, 6]), shape=(3, 2))
    y = [1, 0, 1]
    assert alike(quiet(Perceptron(max_iter=9), doubled, y), quiet(Perceptron(max_iter=9), doubled.toarray(), y))
    assert quiet(Perceptron(max_iter=9), doubled, y).radius_ == math.sqrt(5)
    assert doubled.nnz == 6  # the caller's matrix is left alone


def test_the_order_of_columns_within_sparse_rows_does_not_matter():
    X, y = integers(5, d=4)
    indices, starts = np.tile([3, 2, 1, 0], len(X)), np.arange(0, X.size + 1, 4)
    indices, starts = indices.astype(np.int32), starts.astype(np.int32)
    backwards = sp.csr_array((X[:, ::-1].ravel(), indices, starts), shape=X.shape)
    assert not backwards.has_sorted_indices
    assert np.shares_memory(to_rows(backwards).data, backwards.data)
    assert alike(quiet(Perceptron(max_iter=5), backwards, y), quiet(Perceptron(max_iter=5), X, y))


@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize("classes", [2, 4])
def test_size_of_the_pieces_does_not_show(monkeypatch, storage, classes):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((500, 7)), np.arange(500) % classes
    whole = quiet(Perceptron(max_iter=4), np.ascontiguousarray(X), y)
    monkeypatch.setattr("linsep.learn.evaluation.CHUNK", 1)
    monkeypatch.setattr("linsep.learn.evaluation.GATHER", 1)
    pieces = quiet(Perceptron(max_iter=4), storage(X), y)
    if storage is sp.csr_array:  # sums in another order: to rounding
        np.testing.assert_allclose(pieces.coef_, whole.coef_, rtol=1e-9)
    else:
        assert alike(pieces, whole)
    assert np.array_equal(pieces.history_["loss"], whole.history_["loss"]) or storage is sp.csr_array


def test_partial_fit_in_blocks_of_floats_has_the_same_bits():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((300, 9)), rng.integers(0, 2, 300)
    whole = quiet(Perceptron(shuffle=False, max_iter=1), X, y)
    for size in (1, 7, 64, 300):
        online = Perceptron(shuffle=False)
        for start in range(0, 300, size):
            online.partial_fit(X[start : start + size], y[start : start + size])
        assert alike(online, whole)


def test_classes_may_appear_late():
    X, y = integers(13, n=60, classes=2)
    binary = Perceptron(shuffle=False).partial_fit(X, np.array(["b", "d"])[y])
    w, b = binary.coef_.copy(), binary.intercept_.copy()
    binary.partial_fit([[0.0, 0.0, 0.0]], ["a"], sample_weight=[1.0])
    assert binary.classes_.tolist() == ["a", "b", "d"]
    # as if there had been one weight vector per class all along: -w for the negative class, w for the positive one
    assert np.array_equal(binary.coef_[2], w[0])
    assert np.array_equal(binary.coef_[1], -w[0])
    # a row of zeros is scored by the offsets (0, -b, b) alone: a mistake, as "a" is not the highest
    expected = np.array([0, -b[0], b[0]])
    rival = 1 + np.argmax(expected[1:])
    expected[[0, rival]] += [1, -1]
    assert np.array_equal(binary.intercept_, expected)
    assert len(binary.mistake_counts_) == 61
    ovr = Perceptron(shuffle=False, multi_class="ovr").partial_fit(X, y).partial_fit(X, y + 1).partial_fit(X, y + 2)
    assert ovr.coef_.shape == (4, 3)
    assert ovr.mistake_counts_.sum() == ovr.mistakes_


def test_one_class_alone_waits_for_a_second():
    model = Perceptron(shuffle=False).partial_fit([[2.0, 1.0]], ["z"])
    assert model.predict([[-5.0, 0.0]]).tolist() == ["z"]
    model.partial_fit([[1.0, 0.0]], ["a"])
    both = quiet(Perceptron(shuffle=False, max_iter=1), [[2.0, 1.0], [1.0, 0.0]], ["z", "a"])
    assert alike(model, both)
    model = Perceptron(shuffle=False).partial_fit([[2.0, 1.0]], ["a"]).partial_fit([[1.0, 0.0]], ["z"])
    assert alike(model, quiet(Perceptron(shuffle=False, max_iter=1), [[2.0, 1.0], [1.0, 0.0]], ["a", "z"]))


def test_same_call_twice_gives_the_same_bits_and_another_seed_another_order():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((200, 5)), rng.integers(0, 3, 200)
    model = Perceptron(max_iter=5)
    assert alike(quiet(clone(model), X, y), quiet(clone(model), X, y))
    assert not alike(quiet(clone(model), X, y), quiet(clone(model).set_params(random_state=1), X, y))
    state = np.random.RandomState(0)
    assert not alike(*(quiet(Perceptron(max_iter=5, random_state=state), X, y) for _ in range(2)))


# ---------------------------------------------------------------------------------------------------------------
# The theorem


@st.composite
def lessons(draw):
    """Separable data with a known plane, and a way to train on it."""
    offset = draw(st.booleans())
    X, y, plane = teacher(
        draw(st.integers(2, 60)),
        draw(st.integers(1, 8)),
        margin=draw(st.floats(0.05, 0.4)),
        offset=offset,
        random_state=draw(st.integers(0, 10**6)),
    )
    order = draw(st.sampled_from(ORDERS))
    eta = draw(st.floats(0.01, 100))
    return X, y, plane, Perceptron(fit_intercept=offset, eta0=eta, max_iter=100_000, **order)


@given(lesson=lessons(), start=st.sampled_from([0.0, 1.0, 30.0]))
def test_mistakes_are_bounded_along_the_trace(lesson, start):
    X, y, plane, model = lesson
    d, eta = X.shape[1], model.eta0
    w0 = start * eta * np.random.default_rng(0).standard_normal(d)
    model.fit(X, y, coef_init=w0)
    assert model.stop_reason_ == "separated"
    assert (model.predict(X) == y).all()

    # the points of the theorem: with an offset (x, 1), and its plane scaled to length 1
    Z = np.column_stack((X, np.ones(len(X)))) if model.fit_intercept else X
    u = np.append(plane.w, plane.b) if model.fit_intercept else plane.w
    u = u / np.linalg.norm(u)
    gamma, radius = (y * (Z @ u)).min(), np.linalg.norm(Z, axis=1).max()

    k, counts = model.mistakes_, model.mistake_counts_
    assert counts.sum() == k == len(model.trace_)
    start_w = np.append(w0, 0.0) if model.fit_intercept else w0
    end = np.append(model.coef_[0], model.intercept_[0]) if model.fit_intercept else model.coef_[0]
    np.testing.assert_allclose(end, start_w + eta * (counts * y) @ Z, rtol=1e-9, atol=1e-9 * eta)

    w = start_w.copy()
    for step, i in enumerate(model.trace_, start=1):
        assert y[i] * (Z[i] @ w) <= 1e-9 * eta  # a violation indeed
        w += eta * y[i] * Z[i]
        assert w @ u >= (start_w @ u + step * eta * gamma) - 1e-9 * eta * step
        assert w @ w <= (start_w @ start_w + step * eta**2 * radius**2) * (1 + 1e-9)
        if start == 0:
            assert np.linalg.norm(w) / (eta * step) >= gamma * (1 - 1e-9)  # the running bound on the margin
    assert start_w @ u + k * eta * gamma <= math.sqrt(start_w @ start_w + k * eta**2 * radius**2) * (1 + 1e-9)
    if start == 0:
        assert k <= (radius / gamma) ** 2 * (1 + 1e-9)


@given(seed=st.integers(0, 10**6), n=st.integers(2, 200), d=st.integers(1, 50), offset=st.booleans())
def test_default_run_separates_what_a_plane_separates(seed, n, d, offset):
    X, y, _ = teacher(n, d, margin=0.01, offset=offset, random_state=seed)
    model = Perceptron().fit(X, y)
    assert model.stop_reason_ == "separated"
    assert model.score(X, y) == 1.0
    assert model.margin_ > 0
    assert model.margin_ == model.margin(X, y)
    assert model.history_["mistakes"][-1] == 0
    assert model.history_["loss"][-1] == model.loss(X, y) == 0


def test_argmax_mistakes_are_bounded():
    rng = np.random.default_rng(6)
    centres = np.eye(4) * 3
    y = rng.integers(0, 4, 300)
    X = centres[y] + rng.uniform(-1, 1, (300, 4))
    theta = np.eye(4) / 2  # norm 1 over all classes
    S = X @ theta.T
    own = S[np.arange(300), y]
    S[np.arange(300), y] = -np.inf
    gamma, radius = (own - S.max(axis=1)).min(), np.linalg.norm(X, axis=1).max()
    assert gamma > 0
    for order in ORDERS:
        model = Perceptron(fit_intercept=False, **order).fit(X, y)
        assert model.stop_reason_ == "separated"
        assert model.mistakes_ <= 2 * radius**2 / gamma**2
        leads = model.decision_function(X)
        expected = min(leads[i, y[i]] - max(np.delete(leads[i], y[i])) for i in range(300))
        assert model.margin_ == pytest.approx(expected / np.linalg.norm(model.coef_), rel=1e-12)


# ---------------------------------------------------------------------------------------------------------------
# Stop reasons

XOR = (np.array([[0.0, 0.0], [1, 1], [0, 1], [1, 0]]), np.array([0, 0, 1, 1]))


def test_spent_updates_warn():
    with pytest.warns(ConvergenceWarning, match="max_updates=5"):
        model = Perceptron(max_updates=5).fit(*XOR)
    assert model.stop_reason_ == "max_updates"
    assert model.mistakes_ == 5
    X, y = integers(1, classes=3)
    for order in ORDERS:
        for multi_class in ("argmax",) if "order" in order else ("argmax", "ovr"):
            model = quiet(Perceptron(max_updates=11, multi_class=multi_class, prove=False, **order), X, y)
            assert model.mistakes_ == 11
            assert model.stop_reason_ == "max_updates"


def test_loss_plateau_only_when_asked():
    model = Perceptron(tol=1e-3, n_iter_no_change=3).fit(*XOR)
    assert model.stop_reason_ == "loss_plateau"
    loss = model.history_["loss"]
    best = np.minimum.accumulate(loss)
    assert (loss[-3:] >= best[-4] - 1e-3).all()
    assert quiet(Perceptron(max_iter=200, prove=False), *XOR).n_iter_ == 200  # never by default


def test_validation_holds_rows_out():
    X, y, _ = teacher(300, 5, margin=0.02, flip=0.2, random_state=0)
    model = Perceptron(early_stopping=True, n_iter_no_change=4).fit(X, y)
    assert model.stop_reason_ == "validation"
    errors = model.history_["validation_error"]
    assert errors[-4:].min() >= errors[:-4].min()
    held = held_out(model.record_.seed, 0, 300, 0.1)
    assert 15 <= held.sum() <= 45  # three deviations
    shares = errors * held.sum()
    np.testing.assert_allclose(shares, shares.round(), atol=1e-9)
    assert model.mistake_counts_[held].sum() == 0
    assert model.score(X[held], y[held]) == pytest.approx(1 - errors[-1])
    with pytest.raises(ValueError, match="holds out 0 of 4 rows"):
        Perceptron(early_stopping=True, validation_fraction=1e-9).fit(*SQUARE)


def test_held_out_rows_do_not_depend_on_blocks():
    whole = held_out(7, 0, 10_000, 0.25)
    assert whole.mean() == pytest.approx(0.25, abs=0.02)
    assert np.array_equal(np.concatenate([held_out(7, a, 100, 0.25) for a in range(0, 10_000, 100)]), whole)
    assert not np.array_equal(held_out(8, 0, 10_000, 0.25), whole)


def test_target_margin_is_refuted_by_counting():
    X, y, _ = teacher(200, 2, margin=0.1, random_state=1)
    true = 0.1
    reached = Perceptron(fit_intercept=False, target_margin=true).fit(X, y)
    assert reached.stop_reason_ == "separated"
    refuted = Perceptron(fit_intercept=False, target_margin=0.9).fit(X, y)
    assert refuted.stop_reason_ == "margin_refuted"
    assert refuted.mistakes_ == math.floor((refuted.radius_ / 0.9) ** 2) + 1
    exact = Perceptron(fit_intercept=False, shuffle=False, target_margin=1 / math.sqrt(2)).fit(*SQUARE)
    assert exact.stop_reason_ == "separated"  # two mistakes are what that margin allows
    for multi_class in ("argmax", "ovr"):
        X3, y3 = load_iris(return_X_y=True)
        model = Perceptron(target_margin=5.0, multi_class=multi_class).fit(X3, y3)
        assert model.stop_reason_ == "margin_refuted"


@given(lesson=lessons(), start=st.sampled_from([0.0, 5.0]), margin=st.sampled_from([0.0, 0.3]))
def test_target_margin_is_never_refuted_when_it_is_there(lesson, start, margin):
    X, y, plane, model = lesson
    b = plane.b if model.fit_intercept else 0.0
    true = (y * (X @ plane.w + b)).min() / math.hypot(1, b)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    model.set_params(target_margin=true, update_margin=margin * model.eta0, max_iter=3000)
    quiet(model, X, y, sample_weight=weights, coef_init=start * model.eta0 * np.ones(X.shape[1]))
    assert model.stop_reason_ in ("separated", "max_iter")


# ---------------------------------------------------------------------------------------------------------------
# Weights, starts, labels


def test_weight_is_a_factor_of_the_step():
    X, y = integers(21)
    doubled = quiet(Perceptron(shuffle=False, max_iter=5, eta0=2), X, y)
    assert alike(quiet(Perceptron(shuffle=False, max_iter=5), X, y, sample_weight=np.full(25, 2)), doubled)
    assert alike(quiet(Perceptron(shuffle=False, max_iter=5, class_weight={0: 2, 1: 2}), X, y), doubled)
    weights = np.where(np.arange(25) % 3, 1.0, 0.0)  # a row of weight 0 is as good as absent
    without = quiet(Perceptron(shuffle=False, max_iter=5), X[weights > 0], y[weights > 0])
    within = quiet(Perceptron(shuffle=False, max_iter=5), X, y, sample_weight=weights)
    assert np.array_equal(without.coef_, within.coef_)
    assert within.mistake_counts_[weights == 0].sum() == 0
    assert without.radius_ == within.radius_
    balanced = quiet(Perceptron(shuffle=False, max_iter=5, class_weight="balanced"), X, y)
    factors = {c: 25 / (2 * np.count_nonzero(y == c)) for c in (0, 1)}
    assert alike(balanced, quiet(Perceptron(shuffle=False, max_iter=5, class_weight=factors), X, y))


def test_warm_start_goes_on():
    X, y = integers(22)
    once = quiet(Perceptron(shuffle=False, max_iter=6), X, y)
    twice = Perceptron(shuffle=False, max_iter=3, warm_start=True)
    quiet(twice, X, y)
    quiet(twice, X, y)
    assert np.array_equal(once.coef_, twice.coef_)
    assert np.array_equal(once.intercept_, twice.intercept_)


@pytest.mark.parametrize("labels", [
    ["no", "yes"],
    [False, True],
    [-1, 1],
    [0.0, 1.0],
    [("a", 1), ("b", 2)],
    [frozenset(), "x"],
    ["one", 1],
    [np.datetime64("2020-01-01"), np.datetime64("2021-01-01")],
])  # fmt: skip
def test_labels_of_any_hashable_type(labels):
    X, y = integers(23)
    given_labels = [labels[c] for c in y]
    model = quiet(Perceptron(max_iter=5), X, given_labels)
    assert len(model.classes_) == 2
    assert all(label in labels for label in model.classes_)
    predicted = model.predict(X)
    assert all(label in labels for label in predicted)
    assert model.margin(X, given_labels) == model.margin_


def test_the_worst_row_on_the_plane_is_one_that_is_predicted_wrong():
    X, y = [[1.0, 0.0], [0, 1], [-1, 0], [0, -1]], [1, 1, -1, -1]  # at w = 0 all are on the plane, and 1 is predicted
    model = Perceptron(fit_intercept=False, order="worst", mistake="prediction", on_plane=1).fit(X, y)
    assert model.stop_reason_ == "separated"
    assert model.trace_.tolist() == [2, 3]
    assert model.coef_.tolist() == [[1.0, 1.0]]


def test_distance_for_many_classes():
    iris = load_iris()
    model = quiet(Perceptron(max_iter=50), iris.data, iris.target)
    distances, S = model.distance(iris.data), model.decision_function(iris.data)
    assert distances.shape == S.shape == (150, 3)
    assert np.array_equal(distances.argmax(axis=1), S.argmax(axis=1))
    assert ((distances > 0).sum(axis=1) <= 1).all()
    i = 70  # moving row i along its nearest boundary's normal by that distance makes a tie
    c = S[i].argmax()
    rivals = [r for r in range(3) if r != c]
    gaps = [(S[i, c] - S[i, r]) / np.linalg.norm(model.coef_[c] - model.coef_[r]) for r in rivals]
    assert distances[i, c] == pytest.approx(min(gaps), rel=1e-12)


# ---------------------------------------------------------------------------------------------------------------
# Bad input


def test_bad_values_are_named_with_their_place():
    X, y = np.zeros((300, 5)), np.arange(300) % 2
    X[217, 3] = np.nan
    with pytest.raises(ValueError, match="NaN at row 217, column 3"):
        Perceptron().fit(X, y)
    X[217, 3] = -np.inf
    with pytest.raises(ValueError, match="infinity at row 217, column 3"):
        Perceptron().fit(sp.csr_array(X), y)
    frame = pd.DataFrame(X, columns=list("abcde"))
    with pytest.raises(ValueError, match="infinity at row 217, column 'd'"):
        Perceptron().fit(frame, y)
    frame["b"] = "word"
    with pytest.raises(ValueError, match="row 217, column 'd': an infinite number"):  # words are features
        Perceptron().fit(frame, y)
    model = quiet(Perceptron(max_iter=2), np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="NaN at row 1, column 2"):
        model.predict([[0, 0, 0, 0], [0, 0, np.nan, 0]])
    with pytest.raises(ValueError, match="NaN at row 1, column 2"):
        model.partial_fit([[0, 0, 0, 0], [0, 0, np.nan, 0]], [0, 1])
    assert np.isfinite(model.coef_).all()  # a refused block leaves the model as it was
    with pytest.raises(ValueError, match="NaN at row 0"):  # also on rows that training never looks at
        Perceptron().fit([[np.nan], [1], [2]], [0, 0, 1], sample_weight=[0, 1, 1])


@pytest.mark.parametrize(("X", "y", "message"), [
    ([[1.0], [2.0]], [1, 1], "there is only one class, 1: nothing to separate"),
    ([[1.0, 2.0], [3.0]], [0, 1], "row 1 of X has 1 values, row 0 has 2"),
    ([["1", "2"], ["3", "a"]], [0, 1], "not a number: 'a' at row 1, column 1"),
    (np.empty((0, 3)), [], "0 sample"),
    (np.empty((3, 0)), [0, 1, 0], "0 feature"),
    ([1.0, 2.0], [0, 1], "Expected 2D array"),
    ([[1.0], [2.0]], [0, 1, 0], "X has 2 rows but y has 3 labels"),
    ([[1.0], [2.0]], None, "y to be passed"),
    ([[1.0], [2.0]], [0.5, np.nan], "NaN"),
    ([[1.0], [2.0], [3.0]], [0.5, 1.7, 2.2], "Unknown label type"),
    ([[1j], [2]], [0, 1], "Complex data"),
])  # fmt: skip
def test_bad_rows_and_labels(X, y, message):
    with pytest.raises(ValueError, match=message):
        Perceptron().fit(X, y)


def test_wrong_number_of_features_and_unknown_labels():
    model = Perceptron().fit(*SQUARE)
    with pytest.raises(ValueError, match="X has 3 features, but Perceptron is expecting 2 features"):
        model.predict([[1, 2, 3]])
    with pytest.raises(ValueError, match="label 7, which is not among the classes"):
        model.loss([[1, 2]], [7])
    with pytest.raises(NotFittedError):
        Perceptron().predict([[1, 2]])
    assert not hasattr(Perceptron(), "trace_")


@pytest.mark.parametrize(
    ("classes", "multi_class", "storage"),
    [(2, "argmax", sp.csr_array), (3, "argmax", sp.csr_array), (3, "ovr", np.asarray)],
)
def test_overflow_is_an_error(classes, multi_class, storage):
    X = np.full((6, 2), 1e307) * np.arange(1, 7)[:, None]
    for rows in (X, storage(X)):
        with pytest.raises(ValueError, match="overflowed to infinity"):
            Perceptron(multi_class=multi_class).fit(rows, np.arange(6) % classes)


@pytest.mark.parametrize("max_iter", [1, 9])
def test_weights_that_overflow_by_the_last_update_or_before(max_iter):
    model = Perceptron(eta0=1e300, shuffle=False, fit_intercept=False, max_iter=max_iter)
    with pytest.raises(ValueError, match="the weights overflowed to infinity: scale X down"):
        model.fit([[0.0], [1e10]], [1, 0])


@pytest.mark.parametrize("model", [PassiveAggressive(), PassiveAggressive(variant="pa2"), AROW()])
def test_rows_whose_squares_overflow_are_an_error_not_a_step_of_zero(model):
    with pytest.raises(ValueError, match="the weights overflowed to infinity: scale X down"):
        model.fit([[1e200, 1.0], [-1e200, 2.0], [1.0, 1.0]], [1, 0, 1])


def test_extreme_but_finite_rows():
    X = np.array([[3e200, 4e200], [-3e200, 4e200]])
    model = quiet(Perceptron(fit_intercept=False, eta0=1e-200, max_iter=3), X, [0, 1])
    assert model.radius_ == pytest.approx(5e200, rel=1e-15)
    tiny = quiet(Perceptron(fit_intercept=False, max_iter=3), sp.csr_array(X * 1e-400**0.5 * 1e-200), [0, 1])
    assert tiny.radius_ == pytest.approx(5 * 1e-400**0.5, rel=1e-12)


@pytest.mark.parametrize(("kind", "wrong"), [
    (Perceptron, {
        "eta0": (0, np.inf, True), "order": ["random"], "max_iter": (0, 2.5, True), "max_updates": [-1], "tol": [-1.0],
        "n_iter_no_change": [0], "validation_fraction": [1.5], "target_margin": [0.0], "keep": ["first"],
        "update_margin": [-0.1], "multi_class": ["ovo"], "on_plane": [0], "prove": ["yes"],
    }),
    (PassiveAggressive, {"variant": ["pa3"], "C": [0.0], "keep": ["vote"]}),
    (AROW, {"r": [0.0], "keep": ["vote"]}),
    (KernelPerceptron, {"kernel": ["cubic"], "degree": [0], "gamma": [-1.0], "keep": ["best"], "cache_size": [0]}),
    (MaxMarginClassifier, {"gap": (0, 1), "on_overlap": ["warn"], "time_limit": [-1]}),
    (FewestErrorsClassifier, {"max_nodes": [-1], "time_limit": [-1]}),
])  # fmt: skip
def test_bad_parameters_are_named(kind, wrong):
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match=f"^{name} must be .*, got "):
                kind(**{name: value}).fit(*SQUARE)


def test_a_parameter_says_what_it_may_be():
    with pytest.raises(
        ValueError, match="kernel must be 'rbf', 'poly', 'linear', 'precomputed' or a callable, got 'a'"
    ):
        KernelPerceptron("a").fit(*SQUARE)
    with pytest.raises(ValueError, match="max_updates must be None or a whole number that is not negative, got -1"):
        Perceptron(max_updates=-1).fit(*SQUARE)


def test_the_reference_has_every_parameter_and_what_bases_say_of_attributes():
    for kind in (Perceptron, PassiveAggressive, AROW, KernelPerceptron, MaxMarginClassifier, FewestErrorsClassifier):
        parameters, attributes = kind.__doc__.split("Parameters\n----------\n")[1].split("Attributes\n----------\n")
        assert {*re.findall(r"^(\w+) : .*, default=", parameters, re.M)} == {*kind().get_params(deep=False)}
        for name in ("classes_", "n_features_in_"):
            assert re.search(rf"^{name} : .*\n    \S", attributes, re.M), (kind, name)
    assert "default='pa1'\n    \"pa\" corrects every example fully" in PassiveAggressive.__doc__
    assert "variance_ : ndarray\n    The variance of each weight" in AROW.__doc__
    assert 'class_weight : dict or "balanced", default=None\n    Divides ``r`` by class' in AROW.__doc__
    assert "random_state : int, RandomState or None, default=0\n    Seed of the shuffling" in AROW.__doc__


def test_bad_starts_and_weights():
    with pytest.raises(ValueError, match=r"coef_init has shape \(3,\), expected \(1, 2\)"):
        Perceptron().fit(*SQUARE, coef_init=[1, 2, 3])
    with pytest.raises(ValueError, match="coef_init contains NaN"):
        Perceptron().fit(*SQUARE, coef_init=[1, np.nan])
    with pytest.raises(ValueError, match="learns no offset"):
        Perceptron(fit_intercept=False).fit(*SQUARE, intercept_init=1)
    with pytest.raises(ValueError, match="at least one non-zero"):
        Perceptron().fit(*SQUARE, sample_weight=[0, 0, 0, 0])
    with pytest.raises(ValueError, match="weight 0: nothing to learn"):
        Perceptron(class_weight={1: 0, -1: 0}).fit(*SQUARE)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        Perceptron().fit(*SQUARE, sample_weight=[1, 1, 1, -1])
    with pytest.raises(ValueError, match="not supported for partial_fit"):
        Perceptron(class_weight="balanced").partial_fit(*SQUARE)
    with pytest.raises(ValueError, match="early_stopping ends a run of many passes"):
        Perceptron(early_stopping=True).partial_fit(*SQUARE)
    with pytest.raises(ValueError, match="warm_start needs the same classes"):
        Perceptron(warm_start=True).fit(*SQUARE).fit([[1, 2, 3], [3, 4, 5]], [1, -1])
    with pytest.warns(DataConversionWarning):
        Perceptron().fit(SQUARE[0], [[label] for label in SQUARE[1]])


# ---------------------------------------------------------------------------------------------------------------
# scikit-learn's contract


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_works_in_pipelines_searches_and_processes():
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    search = GridSearchCV(
        make_pipeline(StandardScaler(), Perceptron(max_iter=20)),
        {"perceptron__multi_class": ["argmax", "ovr"], "perceptron__eta0": [0.1, 1.0]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.8
    assert cross_val_score(Perceptron(max_iter=20), X, y, cv=3).mean() > 0.8
    models = joblib.Parallel(n_jobs=2)(joblib.delayed(quiet)(Perceptron(max_iter=3), X, y) for _ in range(2))
    assert alike(*models)
    model = models[0]
    assert alike(pickle.loads(pickle.dumps(model)), model)
    assert clone(model).get_params() == model.get_params()


def test_library_calls_are_silent_and_verbose_shows_a_bar():
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        Perceptron().fit(*SQUARE)
    assert out.getvalue() == err.getvalue() == ""
    with redirect_stdout(out), redirect_stderr(err):
        Perceptron(verbose=1, fit_intercept=False, shuffle=False, max_iter=9).fit(*SQUARE)
    assert out.getvalue() == ""
    assert "pass 2/9" in err.getvalue()
    assert "2 mistakes" in err.getvalue()


@pytest.mark.parametrize("order", ["first", "worst"])
def test_an_order_that_picks_rows_has_one_machine(order):
    X, y = integers(1, classes=3)
    with pytest.raises(ValueError, match=f"order='{order}' .*multi_class='ovr'"):
        Perceptron(order=order, multi_class="ovr").fit(X, y)
