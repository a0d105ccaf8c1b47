"""The base class of linear classifiers: scores, labels, distances, loss and margin."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from linsep.data.arrays import refuse_not_finite, to_rows
from linsep.data.labels import as_examples, class_codes
from linsep.data.plane import Plane
from linsep.learn.evaluation import Evaluation, evaluate, scores
from linsep.learn.serialization import must
from linsep.learn.weights import Weights, norm
from linsep.models.learner import Field, Learner, takes_records
from linsep.problem import Floats, all_finite, machines_for


class Linear(Learner):
    """What every linear classifier shares: a plane for two classes, one weight vector per class for more.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (classes, d)
        Weights.
    intercept_ : ndarray of shape (1,) or (classes,)
        Offsets.
    """

    coef_: Floats
    intercept_: Floats
    saved_fields = Learner.saved_fields | {"coef_": Field("f", 2), "intercept_": Field("f")}

    @takes_records
    def decision_function(self, X: Any) -> Floats:
        """Return the score ``w·x + b`` of every row: shape (n,) for two classes, (n, classes) for more."""
        self._check_fitted("coef_")
        X = self._matrix(X, reset=False)
        S = scores(to_rows(X), self.coef_, self.intercept_)
        if not all_finite(S):
            self._explain(X, self.coef_)
        return S[:, 0] if S.shape[1] == 1 else S

    @takes_records
    def distance(self, X: Any) -> Floats:
        """Return the signed distance of every row to the plane, ``s(x)/‖w‖``; NaN where ``w = 0`` is no plane.

        For more than two classes column ``c`` is the distance to the nearest boundary of class ``c``, the smallest
        of ``(s_c - s_r)/‖w_c - w_r‖`` over its rivals ``r``: positive for the predicted class only.
        """
        S = self.decision_function(X)
        if S.ndim == 1:
            return S / (norm(self.coef_) or math.nan)
        distances = np.full(S.shape, np.inf)
        for c in range(S.shape[1]):
            for r in range(S.shape[1]):
                if r != c:
                    length = norm(self.coef_[c] - self.coef_[r]) or math.nan
                    distances[:, c] = np.minimum(distances[:, c], (S[:, c] - S[:, r]) / length)
        return distances

    @property
    def plane_(self) -> Plane:
        """The plane of a model of two classes, with ``w`` on the side of the second one."""
        self._check_fitted("coef_")
        if len(self.coef_) > 1:
            raise AttributeError(f"a plane separates two classes, but the model has {len(self.classes_)}: see coef_")
        return Plane(self.coef_[0], float(self.intercept_[0]))

    def loss(self, X: Any, y: Any) -> float:
        """Return the perceptron loss ``Σ max(0, -y s(x))``; for more classes what the true class lacks."""
        return self._evaluate(X, y).loss

    def margin(self, X: Any, y: Any) -> float:
        """Return the smallest ``y s(x)/‖w‖``: how far the plane keeps from the rows, negative if some are wrong.

        For more than two classes the smallest lead of the true class over a rival, divided by the norm of all
        weights together. NaN if there is no plane, that is ``w = 0``.
        """
        return self._evaluate(X, y).smallest / (norm(self.coef_) or math.nan)

    def _evaluate(self, X: Any, y: Any) -> Evaluation:
        self._check_fitted("coef_")
        X, y = self.rows_and_labels(X, y, reset=False)
        y = class_codes(y, self.classes_)
        data = as_examples(to_rows(X), y, len(self.coef_), np.ones(len(y)))
        one_vs_rest = getattr(self, "multi_class", None) == "ovr"
        try:
            return evaluate(data, self.coef_, self.intercept_, on_plane=self.on_plane, one_vs_rest=one_vs_rest)
        except FloatingPointError:
            self._explain(X, self.coef_)

    def _check_state(self) -> None:
        super()._check_state()
        W, b = self.coef_, self.intercept_
        Weights.from_state({"W": W, "b": b}, machines_for(len(self.classes_)))
        must(W.shape == (len(b), self.n_features_in_), "shapes of its weights")

    def _explain(self, X: Any, W: Floats) -> NoReturn:
        """Say of a score that is not finite which value, or which overflow, is to blame."""
        refuse_not_finite(X, W, getattr(self, "feature_names_in_", None))
