"""The perceptron in dual form: the linear one is the perceptron, the others are it in a space of features."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels

from data import few, integers, quiet
from linsep import KernelPerceptron, Perceptron, load, save

KEEP = ["last", "average", "vote"]


def normals(seed, n=60, d=3):
    """Return rows on which no sum is exact, so that no score is zero but the first ones."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.integers(0, 2, n)


def polynomial(X):
    """Return the features of (1 + x·z)², with weights that are whole when squared."""
    columns = [np.ones(len(X))] + [np.sqrt(2) * x for x in X.T] + [x * x for x in X.T]
    columns += [np.sqrt(2) * X[:, i] * X[:, j] for i in range(X.shape[1]) for j in range(i)]
    return np.column_stack(columns)


@pytest.mark.parametrize(("storage", "multi_class"), few([(np.asarray, "argmax"), (sp.csr_array, "ovr")], 1))
@pytest.mark.parametrize("keep", KEEP)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), classes=st.integers(2, 4), shuffle=st.booleans(), cache=st.sampled_from([1e-9, 200]))
def test_linear_is_the_perceptron_without_offset(storage, multi_class, keep, seed, classes, shuffle, cache):
    X, y = integers(seed, n=300, classes=classes)
    rows, common = storage(X), {"multi_class": multi_class, "keep": keep, "shuffle": shuffle, "max_iter": 3}
    dual = quiet(KernelPerceptron("linear", cache_size=cache, **common), rows, y)
    primal = quiet(Perceptron(fit_intercept=False, **common), rows, y)
    assert np.array_equal(dual.trace_, primal.trace_)
    assert np.array_equal(dual.mistake_counts_, primal.mistake_counts_)
    assert (dual.n_iter_, dual.stop_reason_) == (primal.n_iter_, primal.stop_reason_)
    assert np.array_equal(dual.history_["mistakes"], primal.history_["mistakes"])
    np.testing.assert_allclose(dual.decision_function(rows), primal.decision_function(rows), rtol=1e-9, atol=1e-9)
    if keep != "vote":
        np.testing.assert_allclose(dual.dual_coef_ @ X[dual.support_], primal.coef_, rtol=1e-9, atol=1e-9)


def test_exclusive_or():
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "no"]
    for parameters in ({"kernel": "poly", "degree": 2, "gamma": 1.0}, {"kernel": "rbf"}):
        model = KernelPerceptron(**parameters).fit(X, y)
        assert model.stop_reason_ == "separated"
        assert model.predict(X).tolist() == y
    with pytest.warns(ConvergenceWarning, match="max_iter=50 ended the run"):
        KernelPerceptron("linear", max_iter=50).fit(X, y)


@pytest.mark.parametrize("keep", ["last", "vote"])
def test_polynomial_is_the_perceptron_on_products(keep):
    X, y = normals(2)
    dual = quiet(KernelPerceptron("poly", gamma=1.0, keep=keep, max_iter=4), X, y)
    primal = quiet(Perceptron(fit_intercept=False, keep=keep, max_iter=4), polynomial(X), y)
    assert np.array_equal(dual.trace_, primal.trace_)
    new = normals(3)[0]
    np.testing.assert_allclose(dual.decision_function(new), primal.decision_function(polynomial(new)), rtol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_kernels_are_those_of_scikit_learn(kernel, storage):
    X, y = normals(4)
    common = {"degree": 3, "gamma": 0.3, "coef0": 0.5}
    model = quiet(KernelPerceptron(kernel, max_iter=5, **common), storage(X), y)
    expected = pairwise_kernels(X, X[model.support_], metric=kernel, filter_params=True, **common) @ model.dual_coef_[0]
    np.testing.assert_allclose(model.decision_function(storage(X)), expected, rtol=1e-9, atol=1e-12)
    K = pairwise_kernels(X, metric=kernel, filter_params=True, **common)
    given_values = quiet(KernelPerceptron("precomputed", max_iter=5), K, y)
    called = quiet(KernelPerceptron(lambda A, B: pairwise_kernels(A, B, metric=kernel, filter_params=True, **common),
                                    max_iter=5), storage(X), y)  # fmt: skip
    for other, rows in ((given_values, K), (called, storage(X))):
        assert np.array_equal(other.trace_, model.trace_)
        np.testing.assert_allclose(other.decision_function(rows), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("multi_class", ["argmax", "ovr"])
def test_one_class_alone_and_then_two_more(multi_class):
    X, y = integers(6, n=60, classes=3)
    X = np.column_stack((X, np.eye(3, dtype=int)[y] * 9))  # which a plane for each class can tell apart
    model = KernelPerceptron("linear", multi_class=multi_class, shuffle=False).partial_fit(X[:2], [1, 1])
    assert model.predict(X).tolist() == [1] * len(X)
    for _ in range(30):
        model.partial_fit(X, y)
    assert np.array_equal(model.predict(X), y)
    # of machines of their own, the first knew its rows as the perceptron in the plane does
    plain = Perceptron(multi_class="ovr", fit_intercept=False, shuffle=False).partial_fit(X[:2], [1, 1])
    model = KernelPerceptron("linear", multi_class="ovr", shuffle=False).partial_fit(X[:2], [1, 1])
    assert np.array_equal(model.partial_fit(X, y).decision_function(X), plain.partial_fit(X, y).decision_function(X))


def test_sparse_rows_after_dense_ones():
    X, y = integers(7, n=60, classes=3)
    known = {"classes": [0, 1, 2]}
    dense = KernelPerceptron("linear").partial_fit(X[:30], y[:30], **known).partial_fit(X[30:], y[30:])
    mixed = KernelPerceptron("linear").partial_fit(X[:30], y[:30], **known).partial_fit(sp.csr_array(X[30:]), y[30:])
    assert np.array_equal(mixed.decision_function(X), dense.decision_function(X))
    assert np.array_equal(mixed.decision_function(sp.csr_array(X)), dense.decision_function(X))


def test_balanced_weights_need_all_labels_at_once():
    with pytest.raises(ValueError, match="'balanced' is not supported for partial_fit"):
        KernelPerceptron(class_weight="balanced").partial_fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("multi_class", ["argmax", "ovr"])
def test_partial_fit_row_by_row_is_one_pass(tmp_path, keep, classes, multi_class):
    X, y = integers(5, n=60, classes=classes)
    parameters = {"kernel": "poly", "gamma": 1.0, "keep": keep, "multi_class": multi_class, "shuffle": False}
    whole = quiet(KernelPerceptron(max_iter=1, **parameters), X, y)
    online = KernelPerceptron(**parameters)
    for i in range(len(X)):
        online.partial_fit(X[i : i + 1], y[i : i + 1], classes=range(classes))
    if classes == 2:
        waiting = KernelPerceptron(**parameters)
        for i in range(len(X)):
            waiting.partial_fit(X[i : i + 1], y[i : i + 1])
        assert np.array_equal(waiting.decision_function(X), whole.decision_function(X))
    save(online, tmp_path / "model")
    for other in (online, load(tmp_path / "model")):
        assert np.array_equal(other.trace_, whole.trace_)
        assert np.array_equal(other.decision_function(X), whole.decision_function(X))
        assert np.array_equal(other.support_vectors_, X[whole.support_])
    loaded = load(tmp_path / "model")
    for model in (online, loaded):  # a class that was not there before
        model.partial_fit(X, y + 1)
    assert np.array_equal(loaded.decision_function(X), online.decision_function(X))
    assert online.classes_.tolist() == list(range(classes + 1))


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("multi_class", ["argmax", "ovr"])
def test_classes_grow_as_those_of_the_perceptron(keep, multi_class):
    X, y = integers(6, n=60)
    dual = KernelPerceptron("linear", keep=keep, multi_class=multi_class, shuffle=False)
    primal = Perceptron(fit_intercept=False, keep=keep, multi_class=multi_class, shuffle=False)
    for model in (dual, primal):
        model.partial_fit(X, np.array([1, 3])[y]).partial_fit(X[::-1], y * 2)
    assert dual.classes_.tolist() == [0, 1, 2, 3]
    assert np.array_equal(dual.trace_, primal.trace_)
    np.testing.assert_allclose(dual.decision_function(X), primal.decision_function(X), rtol=1e-9, atol=1e-9)


def hypotheses(K, y, weight, classes, alone):
    """Yield the factors after every look of three passes, as Freund & Schapire 1999 have them, in plain loops."""
    D = np.zeros((classes, len(y)))
    for i in [*range(len(y))] * 3:
        s, D = D @ K[:, i], D.copy()
        rival = max((c for c in range(classes) if c != y[i]), key=lambda c: (s[c], -c))
        if alone:
            for c in range(classes):
                sign = 1 if c == y[i] else -1
                D[c, i] += weight[i] * sign * (sign * s[c] <= 0)
        elif s[y[i]] <= s[rival]:
            D[y[i], i] += weight[i]
            D[rival, i] -= weight[i]
        yield D


@pytest.mark.parametrize("multi_class", ["argmax", "ovr"])
@pytest.mark.parametrize("keep", KEEP)
def test_weights_of_classes_and_rows_equal_plain_loops(multi_class, keep):
    X, y = integers(10, n=60, classes=3)
    by_class, by_row = {0: 1.0, 1: 2.0, 2: 0.5}, np.arange(len(y)) % 3 + 1.0
    parameters = {"gamma": 1.0, "keep": keep, "multi_class": multi_class, "shuffle": False, "max_iter": 3}
    model = KernelPerceptron("poly", class_weight=by_class, **parameters)
    model = quiet(model, X, y, sample_weight=by_row)
    K, weight, alone = (X @ X.T + 1.0) ** 2, by_row * [by_class[c] for c in y], multi_class == "ovr"
    scores = [(D @ K).T for D in hypotheses(K, y, weight, 3, alone)]
    if keep == "vote":
        scores = [np.where(S > 0, 1, -1) if alone else S.argmax(axis=1)[:, None] == np.arange(3) for S in scores]
    expected = {"last": scores[-1], "average": np.mean(scores, axis=0), "vote": np.sum(scores, axis=0)}[keep]
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "precomputed"])
def test_files_keep_every_kernel(tmp_path, kernel):
    X, y = integers(11, n=60)
    rows = X @ X.T if kernel == "precomputed" else X
    model = quiet(KernelPerceptron(kernel, max_iter=3), rows, y)
    save(model, tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").decision_function(rows), model.decision_function(rows))


def test_memory_for_kernel_values_is_limited():
    X, y = integers(7, n=3000)
    counted = []

    def kernel(A, B):
        counted.append(len(A) * len(B))
        return A @ B.T

    small = quiet(KernelPerceptron(kernel, cache_size=1, max_iter=2), X, y)  # room for 43 rows of 3000
    most, calls = max(counted), len(counted)
    assert most <= 2**17
    counted.clear()
    small.decision_function(X)
    assert max(counted) <= 2**17
    counted.clear()
    large = quiet(KernelPerceptron(kernel, cache_size=100, max_iter=2), X, y)
    assert np.array_equal(small.trace_, large.trace_)
    assert len(counted) < calls


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("keep", KEEP)
def test_files(tmp_path, storage, keep):
    X, y = integers(8, n=60, classes=3)
    labels = np.array(["red", "green", "blue"])[y]
    model = quiet(KernelPerceptron(keep=keep, max_iter=3), storage(X), labels)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.get_params() == model.get_params()
    for name in ("n_iter_", "mistakes_", "stop_reason_", "n_features_in_"):
        assert getattr(loaded, name) == getattr(model, name)
    model._mistakes.trace[0] = model._mistakes.trace[0] + np.uint64(1000)
    save(model, tmp_path / "model")
    with pytest.raises(ValueError, match="a mistake on a row or class that is not there"):
        load(tmp_path / "model")
    with pytest.raises(ValueError, match="which a model file cannot hold"):
        save(quiet(KernelPerceptron(lambda A, B: A @ B.T, max_iter=2), X, y), tmp_path / "other")


@pytest.mark.parametrize("keep", KEEP)
def test_calibration_and_digits(keep):
    X, y = load_digits(return_X_y=True)
    model = KernelPerceptron("poly", keep=keep, max_iter=20).fit(X[:800], y[:800])
    assert model.stop_reason_ == "separated"
    assert model.score(X[800:], y[800:]) > 0.9
    calibrated = CalibratedClassifierCV(model, cv=2).fit(X[:300], y[:300])
    np.testing.assert_allclose(calibrated.predict_proba(X[:50]).sum(axis=1), 1)


def test_weights_and_bad_input():
    X, y = integers(9, n=40)
    used = np.arange(40) % 3 > 0
    some = quiet(KernelPerceptron("poly", shuffle=False, max_iter=3), X, y, sample_weight=2.0 * used)
    gamma = some.gamma_
    rest = quiet(KernelPerceptron("poly", shuffle=False, max_iter=3, gamma=gamma), X[used], y[used])
    np.testing.assert_allclose(some.decision_function(X), 2 * rest.decision_function(X), rtol=1e-9)
    assert not hasattr(KernelPerceptron("precomputed"), "partial_fit")  # it needs rows
    with pytest.raises(ValueError, match="sparse input is not supported"):
        KernelPerceptron("precomputed").fit(sp.csr_array(np.eye(40)), y)
    with pytest.raises(ValueError, match="a square matrix"):
        KernelPerceptron("precomputed").fit(X, y)
    with pytest.raises(ValueError, match="overflowed"), np.errstate(over="ignore", invalid="ignore"):
        KernelPerceptron("poly", degree=9, gamma=1.0).fit(X * 1e40, y)
