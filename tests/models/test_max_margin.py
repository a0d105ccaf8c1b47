import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from linsep import MaxMarginClassifier, NotSeparable, largest_margin


class OnSeparableRows(MaxMarginClassifier):
    """The classifier, but of data that no plane separates it keeps one row of each class: all else can be checked."""

    def fit(self, X, y):
        try:
            return super().fit(X, y)
        except NotSeparable:
            X, y = X.tocsr() if sp.issparse(X) else np.asarray(X), np.asarray(y).ravel()
            rows = np.unique(y, return_index=True)[1]
            return super().fit(X[rows], y[rows])


def test_scikit_learns_contract_where_a_plane_can_be_found():
    allowed = {"check_classifiers_train": "asks for accuracy on rows that no plane separates"}
    results = check_estimator(OnSeparableRows(), expected_failed_checks=allowed, on_skip=None, on_fail=None)
    assert {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"} == {}


def test_two_classes_against_a_support_vector_machine():
    X, y = load_iris(return_X_y=True)
    y = np.array(["other", "setosa"])[(y == 0).astype(int)]
    model = MaxMarginClassifier().fit(X, y)
    peer = SVC(kernel="linear", C=1e8, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-4)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, rtol=1e-4)
    np.testing.assert_array_equal(model.support_, np.sort(peer.support_))
    np.testing.assert_allclose(model.dual_coef_[0], peer.dual_coef_[0][np.argsort(peer.support_)], rtol=1e-4)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_the_plane_is_the_one_that_the_bracket_speaks_of(load, fit_intercept):
    X, y = load(return_X_y=True)
    model = MaxMarginClassifier(fit_intercept=fit_intercept).fit(X, y)
    margin = largest_margin(X, y, form="affine" if fit_intercept else "origin")
    assert (model.margin_lower_, model.margin_upper_) == (margin.lower, margin.upper)
    assert model.margin(X, y) == pytest.approx(model.margin_lower_, rel=1e-6)
    assert model.margin_upper_ <= model.margin_lower_ * (1 + 1.01e-6)
    assert model.score(X, y) == 1.0
    scores = model.decision_function(X)
    if scores.ndim == 1:
        nearest = (np.where(y == model.classes_[1], 1, -1) * scores).min()
    else:
        own = np.arange(scores.shape[1]) == np.searchsorted(model.classes_, y)[:, None]
        nearest = (scores[own] - np.where(own, -np.inf, scores).max(axis=1)).min()
    assert nearest == pytest.approx(1.0, rel=1e-6)  # scores, or leads, of 1
    scale = np.abs(model.dual_coef_).max() * np.abs(X).max()
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, atol=1e-9 * scale)
    if fit_intercept:
        np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0, atol=1e-9 * np.abs(model.dual_coef_).max())
    else:
        assert not model.intercept_.any()


def test_sparse_rows_give_the_same_plane():
    X, y = load_wine(return_X_y=True)
    X = np.where(X < 2, 0, X)
    dense, sparse = (MaxMarginClassifier().fit(Y, y) for Y in (X, sp.csr_array(X)))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(sparse.predict(sp.csc_array(X)), dense.predict(X))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_data_that_no_plane_separates(fit_intercept):
    model = MaxMarginClassifier(fit_intercept=fit_intercept)
    X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    with pytest.raises(NotSeparable, match="contradict each other") as caught:
        model.fit(X, y)
    assert caught.value.upper == 0.0
    proof = caught.value.refutation
    assert min(proof.multipliers) > 0
    signed = [weight * (1 if y[i] else -1) for i, weight in zip(proof.rows, proof.multipliers, strict=True)]
    for j in range(2):
        assert sum(a * Fraction(X[i][j]) for i, a in zip(proof.rows, signed, strict=True)) == 0
    if fit_intercept:
        assert sum(signed) == 0
    assert not hasattr(model, "coef_")
    with pytest.raises(NotFittedError):
        model.predict([[0.0, 0.0]])


def test_a_plane_that_doubles_cannot_place_is_not_denied():
    d = 60  # row j asks that weight j outweigh all later ones: the weights double, and the margin is about 2**-d
    X = np.eye(d) - np.triu(np.ones((d, d)), 1)
    X = np.vstack((X, -X[:1]))
    with pytest.raises(NotSeparable, match="some plane separates") as caught:
        MaxMarginClassifier(fit_intercept=False).fit(X, np.r_[np.ones(d), -1])
    assert caught.value.refutation is None
    assert 0 < caught.value.upper < 1e-15


def test_frames_pipelines_and_pickles():
    frame, y = load_wine(return_X_y=True, as_frame=True)
    model = MaxMarginClassifier().fit(frame, y)
    assert list(model.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(frame), y)
    assert make_pipeline(StandardScaler(), MaxMarginClassifier()).fit(frame, y).score(frame, y) == 1.0
    with pytest.raises(ValueError, match="NaN at row 0, column 'ash'"):
        MaxMarginClassifier().fit(frame.assign(ash=pd.Series([math.nan])), y)


def test_labels_of_any_type():
    X, y = [[0.0], [1.0], [5.0]], [("a", 1), ("a", 1), ("b", 2)]
    assert MaxMarginClassifier().fit(X, y).predict([[4.0]])[0] == ("b", 2)
