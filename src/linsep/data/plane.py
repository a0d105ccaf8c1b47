"""A plane as an object of its own: predictions, errors, loss, margin, distances and projections."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from linsep.errors import DataError
from linsep.problem import Array, Floats


class Plane(NamedTuple):
    """The plane ``w·x + b = 0``; ``w`` points to its positive side.

    Labels are -1 and +1, or any two of which the second in sorted order is the positive one. As everywhere in linsep, a
    row on the plane is on the negative side when it is predicted, and has a margin of 0.

    Parameters
    ----------
    w : array-like of shape (d,)
    b : float, default=0.0

    Examples
    --------
    >>> from linsep import Plane
    >>> plane = Plane([3.0, 4.0], -5.0)
    >>> plane.predict([[1, 1], [0, 0]]), plane.distance([[1, 1], [0, 0]])
    (array([ 1, -1]), array([ 0.4, -1. ]))
    >>> plane.project([[0, 0]]), plane.threshold
    (array([[0.6, 0.8]]), 5.0)
    """

    w: Floats  # (d,)
    b: float = 0.0

    @property
    def threshold(self) -> float:
        """The number θ of the form ``w·x > θ``: the offset with the other sign."""
        return -self.b

    @property
    def norm(self) -> float:
        """The length of ``w``."""
        return float(np.linalg.norm(self.w))

    def score(self, X: Any) -> Floats:
        """Return ``w·x + b`` of every row of ``X``, an array-like or sparse matrix of shape (n, d)."""
        X = _matrix(X)
        w = np.asarray(self.w, dtype=np.float64)
        if X.shape[1] != len(w):
            raise DataError("", f"X has {X.shape[1]} columns, but the plane has {len(w)} weights")
        return np.asarray(X @ w + self.b, dtype=np.float64)

    def predict(self, X: Any, labels: tuple[Any, Any] = (-1, 1)) -> Array:
        """Return the label of the side on which every row lies: the second one where ``w·x + b > 0``."""
        return np.asarray(labels)[(self.score(X) > 0).astype(np.intp)]

    def distance(self, X: Any) -> Floats:
        """Return the signed distance of every row to the plane, ``(w·x + b)/‖w‖``; NaN where ``w = 0``."""
        return self.score(X) / (self.norm or math.nan)

    def project(self, X: Any) -> Floats:
        """Return the point of the plane nearest to each row: ``x - (w·x + b)/‖w‖² w``."""
        if self.norm == 0:
            raise DataError("", "there is no plane to project on: w = 0")
        X = _matrix(X)
        X = X.toarray() if hasattr(X, "toarray") else X
        w = np.asarray(self.w, dtype=np.float64)
        return np.asarray(X - np.outer(self.score(X) / float(w @ w), w))

    def errors(self, X: Any, y: Any) -> int:
        """Return how many rows lie on the other side than their label says, or on the plane if that is positive."""
        signs, scores = _signs(y, X), self.score(X)
        return int(np.count_nonzero((scores > 0) != (signs > 0)))

    def loss(self, X: Any, y: Any) -> float:
        """Return the perceptron loss ``Σ max(0, -y (w·x + b))``."""
        return float(np.maximum(0.0, -_signs(y, X) * self.score(X)).sum())

    def margin(self, X: Any, y: Any) -> float:
        """Return the smallest ``y (w·x + b)/‖w‖``: negative if some row is wrong, NaN where ``w = 0``."""
        return float((_signs(y, X) * self.distance(X)).min())


def weights_from_counts(
    counts: Any, X: Any, y: Any, *, fit_intercept: bool = True, eta0: float = 1.0, start: Any = None
) -> Plane:
    """Return the weights of a perceptron from the mistakes on each row: ``w = η Σ α y x`` and ``b = η Σ α y``.

    This is the dual form: the counts α alone determine the weights, in whatever order the mistakes were made.

    Parameters
    ----------
    counts : array-like of shape (n,)
        Mistakes on each row, ``model.mistake_counts_``.
    X, y : array-like of shape (n, d), array-like of shape (n,)
        The rows, with two labels.
    fit_intercept : bool, default=True
    eta0 : float, default=1.0
    start : Plane, default=None
        The first weights, zero by default.

    Returns
    -------
    plane : Plane

    Examples
    --------
    >>> from linsep import Perceptron, weights_from_counts
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> model = Perceptron(shuffle=False).fit(X, y)
    >>> weights_from_counts(model.mistake_counts_, X, y).w, model.coef_[0]
    (array([1., 1.]), array([1., 1.]))
    """
    X, counts = _matrix(X), np.asarray(counts, dtype=np.float64)
    factors = eta0 * counts * _signs(y, X)
    if counts.shape != (X.shape[0],):
        raise DataError("", f"there are {counts.size} counts for {X.shape[0]} rows")
    first = Plane(np.zeros(X.shape[1]), 0.0) if start is None else start
    return Plane(np.asarray(first.w + X.T @ factors), first.b + fit_intercept * float(factors.sum()))


def _matrix(X: Any) -> Any:
    """Return rows as an array of numbers or a CSR matrix."""
    from linsep.data.matrices import as_matrix  # slow to load, and a plane alone needs none

    return as_matrix(X)


def _signs(y: Any, X: Any) -> Array:
    """Return labels as -1 and +1."""
    from linsep.data.labels import check_same_length, class_codes, class_labels, classes_and_codes

    labels = class_labels(y)
    check_same_length(_matrix(X), labels)
    if set(labels.tolist()) <= {-1, 1}:
        return labels.astype(np.int8)
    classes, _ = classes_and_codes(labels)
    if len(classes) != 2:
        raise DataError("", f"a plane has two sides, but there are {len(classes)} labels")
    return (2 * class_codes(labels, classes) - 1).astype(np.int8)
