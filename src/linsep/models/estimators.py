"""The public classifiers: linsep's models combined with scikit-learn's base classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep.data.arrays import is_sparse
from linsep.data.labels import must_stay_objects
from linsep.models import arow, fewest_classifier, kernel_perceptron, max_margin, passive_aggressive, perceptron
from linsep.models.visit_records import Steps
from linsep.problem import Array


class _Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What scikit-learn asks of a classifier; stands before the model among the base classes."""

    _warning = ConvergenceWarning

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _validated(self, X: Any, *, reset: bool) -> Any:
        if not reset and not hasattr(self, "feature_names_in_"):
            plain = X.format == "csr" if is_sparse(X) else type(X) is np.ndarray and X.dtype.kind in "fiub"
            if plain and len(shape := X.shape) == 2 and shape[0] > 0 and shape[1] == self.n_features_in_:
                return X  # scikit-learn finds the same, in several times the time that learning from a row takes
        rules = {"accept_sparse": "csr", "accept_large_sparse": True, "dtype": None, "ensure_all_finite": False}
        return validate_data(self, X, reset=reset, **rules)

    def _labels(self, y: Any) -> Array:
        """Return ``y`` as a 1-D array of class labels; a column of them is taken with scikit-learn's warning."""
        plain = type(y) is np.ndarray and y.ndim == 1
        found: Array = super()._labels(y if plain or must_stay_objects(y) else column_or_1d(y, warn=True))
        return found

    @property
    def predict_proba(self) -> Any:
        """Not there: scores of these classifiers are no probabilities."""
        raise AttributeError(
            f"{type(self).__name__} has scores, but no probabilities: `from sklearn.calibration import "
            "CalibratedClassifierCV`, then `CalibratedClassifierCV(model).fit(X, y).predict_proba(X)`"
        )

    def _check_fitted(self, attribute: str) -> None:
        check_is_fitted(self, attribute)

    def _generator(self) -> np.random.RandomState:
        generator: np.random.RandomState = check_random_state(self.random_state)
        return generator


class Perceptron(_Classifier, perceptron.Perceptron):  # noqa: D101
    __doc__ = perceptron.Perceptron.__doc__


class PassiveAggressive(_Classifier, passive_aggressive.PassiveAggressive):  # noqa: D101
    __doc__ = passive_aggressive.PassiveAggressive.__doc__


class AROW(_Classifier, arow.AROW):  # noqa: D101
    __doc__ = arow.AROW.__doc__


class MaxMarginClassifier(_Classifier, max_margin.MaxMarginClassifier):  # noqa: D101
    __doc__ = max_margin.MaxMarginClassifier.__doc__


class FewestErrorsClassifier(_Classifier, fewest_classifier.FewestErrorsClassifier):  # noqa: D101
    __doc__ = fewest_classifier.FewestErrorsClassifier.__doc__


class KernelPerceptron(_Classifier, kernel_perceptron.KernelPerceptron):  # noqa: D101
    __doc__ = kernel_perceptron.KernelPerceptron.__doc__

    @available_if(lambda self: self.kernel != "precomputed")  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:  # noqa: D102
        return super().partial_fit(X, y, classes, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def steps(X: Any, y: Any, *, plane: Any = "best", **parameters: Any) -> Steps:
    """Return the visits of a perceptron's run, one record each.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
    plane : Plane, (w, b), "best" or None, default="best"
        The plane to measure the angle to: by default that of largest margin.
    **parameters
        Those of `Perceptron`.

    Returns
    -------
    steps : Steps
        An iterable of `Step`, with ``weights()`` and ``to_frame()``.

    Examples
    --------
    >>> from linsep import steps
    >>> steps([[2, 0], [-1, 1]], ["yes", "no"], fit_intercept=False, shuffle=False)
    visit  pass  row  label  score  mistake   w after  b after
        1     1    0    yes      0      yes  [2., 0.]        0
        2     1    1     no     -2           [2., 0.]        0
        3     2    0    yes      4           [2., 0.]        0
        4     2    1     no     -2           [2., 0.]        0
    """
    return Perceptron(**parameters).steps(X, y, plane=plane)
