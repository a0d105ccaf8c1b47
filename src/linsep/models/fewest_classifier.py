"""The plane with the fewest training errors as a classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from linsep.data.labels import at_least_two_classes
from linsep.learn.serialization import must
from linsep.models.constructors import FewestErrorsParameters
from linsep.models.learner import Field
from linsep.models.linear import Linear
from linsep.problem import Array
from linsep.prove.numbers.tables import refuse_rounding

if TYPE_CHECKING:
    from linsep.prove.fewest.results import Fewest


class FewestErrorsClassifier(FewestErrorsParameters, Linear):
    """The plane with the fewest errors on the training rows, between proved bounds.

    It works on any data. If no plane separates the classes, it finds a plane with as few errors as the time allows, and
    proves a lower bound on the errors of every plane.

    Parameters
    ----------
    time_limit
        Seconds for the search; then the best plane found is used. None waits until it is proved to be the best.
    max_nodes
        Largest number of nodes in the search tree: with ``time_limit=None`` the same plane on every machine.

    Attributes
    ----------
    errors_lower_, errors_upper_ : int
        No plane has fewer training errors than the first; this one has as many as the second.
    wrong_ : ndarray of shape (k,)
        Training rows that are wrong, the most doubtful first.
    fewest_ : Fewest
        The result with its certificate; not saved with the model, ``linsep.to_json`` writes it.

    See Also
    --------
    linsep.fewest_errors : the same as a function.
    linsep.MaxMarginClassifier : the largest margin, of data that a plane separates.

    Examples
    --------
    >>> from linsep import FewestErrorsClassifier
    >>> model = FewestErrorsClassifier().fit([[0], [1], [2], [3], [9]], [0, 0, 1, 1, 0])
    >>> model.errors_lower_, model.errors_upper_, model.wrong_
    (1, 1, array([4]))
    >>> model.predict([[0.5], [2.5]])
    array([0, 1])
    """

    on_plane = -1  # scikit-learn's rule

    saved_fields = Linear.saved_fields | {
        "errors_lower_": Field(int),
        "errors_upper_": Field(int),
        "wrong_": Field("i"),
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the plane.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None
            Integers: how often each row counts.
        """
        self.check_parameters()
        refuse_rounding(X)
        X, y = self.rows_and_labels(X, y, reset=True)
        classes, _ = at_least_two_classes(y)
        from linsep.prove.fewest.results import fewest_errors  # slow to import, and not needed by other models

        fewest = fewest_errors(
            X,
            y,
            fit_intercept=bool(self.fit_intercept),
            time_limit=self.time_limit,
            sample_weight=sample_weight,
            max_nodes=self.max_nodes,
        )
        self.classes_: Array = classes
        self.coef_ = np.atleast_2d(_floats(fewest.w))
        self.intercept_ = np.atleast_1d(_floats(np.asarray(fewest.b)))
        self.errors_lower_, self.errors_upper_ = fewest.lower, fewest.upper
        self.wrong_ = fewest.rows
        self.fewest_: Fewest = fewest
        return self

    def _check_state(self) -> None:
        super()._check_state()
        must(0 <= self.errors_lower_ <= self.errors_upper_, "bounds of its errors")
        must(bool((self.wrong_ >= 0).all()), "wrong rows")


def _floats(values: Array) -> Array:
    return np.asarray(values, dtype=np.float64) if values.dtype != object else values.astype(np.float64)
