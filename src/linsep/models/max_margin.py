"""The plane of largest margin as a classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from linsep.data.arrays import to_rows
from linsep.data.labels import at_least_two_classes
from linsep.errors import NotSeparable
from linsep.learn.serialization import must
from linsep.models.constructors import MaxMarginParameters
from linsep.models.learner import Field
from linsep.models.linear import Linear
from linsep.problem import Array, Floats
from linsep.prove.numbers.tables import refuse_rounding

if TYPE_CHECKING:
    from linsep.prove.bounds import margins


class MaxMarginClassifier(MaxMarginParameters, Linear):
    """The plane with the largest distance to all training rows: the hard-margin support vector machine, certified.

    Its margin comes with bounds that hold in exact arithmetic. If no plane separates the data, ``fit`` raises
    ``NotSeparable``, which carries the proof.

    Parameters
    ----------
    gap
        Largest relative gap between the bounds on the margin. linsep warns if double precision does not reach it.
    on_overlap
        What to do with data that no plane separates: raise ``NotSeparable``, or drop the fewest rows that leave the
        rest separable, as few as ``fewest_errors`` finds in ``time_limit``.
    time_limit
        Seconds for finding the rows to drop; None waits until the rows are proved to be the fewest.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (classes, d)
        Weights, scaled so that the nearest rows score 1; for more than two classes, so that they lead by 1.
    margin_lower_, margin_upper_ : float
        The plane keeps at least the first from every training row, and no plane keeps more than the second.
    support_ : ndarray of shape (k,)
        Support rows, which determine the plane.
    dropped_ : ndarray of shape (m,)
        Rows that were left out because no plane separates all of them.
    dual_coef_ : ndarray of shape (1, k) or (classes, k)
        Their signed multipliers: ``coef_`` is ``dual_coef_ @ X[support_]``, up to the gap.

    See Also
    --------
    linsep.largest_margin : the same as a function, with a third form of margin.
    linsep.Perceptron : finds some plane, and also fits data that none separates.

    Notes
    -----
    After Boser, Guyon & Vapnik (1992), *A training algorithm for optimal margin classifiers*, COLT. With more than two
    classes, one weight vector per class, with the smallest total norm (Weston & Watkins 1999).

    Examples
    --------
    >>> from linsep import MaxMarginClassifier
    >>> model = MaxMarginClassifier().fit([[0, 0], [1, 0], [3, 0], [3, 2]], [-1, -1, 1, 1])
    >>> model.coef_, model.intercept_, model.support_
    (array([[1., 0.]]), array([-2.]), array([1, 2]))
    >>> model.margin_lower_ <= 1 <= model.margin_upper_
    True
    """

    on_plane = -1  # scikit-learn's rule

    saved_fields = Linear.saved_fields | {
        "margin_lower_": Field(float),
        "margin_upper_": Field(float),
        "support_": Field("i"),
        "dual_coef_": Field("f", 2),
        "dropped_": Field("i", optional=True),
    }

    def fit(self, X: Any, y: Any) -> Self:
        """Find the plane of largest margin.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)

        Raises
        ------
        NotSeparable
            If no plane separates the classes; its ``refutation`` proves it.
        """
        self.check_parameters()
        refuse_rounding(X)
        X, y = self.rows_and_labels(X, y, reset=True)
        classes, codes = at_least_two_classes(y)
        try:
            margin, self.dropped_ = self._largest(X, codes, len(classes)), np.zeros(0, dtype=np.intp)
            kept = np.arange(len(codes))
        except NotSeparable:
            if self.on_overlap == "raise":
                raise
            from linsep.prove.fewest.results import fewest_errors  # slow to import

            fewest = fewest_errors(X, codes, fit_intercept=bool(self.fit_intercept), time_limit=self.time_limit)
            self.dropped_ = np.sort(fewest.rows)
            kept = np.setdiff1d(np.arange(len(codes)), self.dropped_)
            if len(np.unique(codes[kept])) < len(classes):
                raise NotSeparable(
                    "no plane separates the classes, and dropping the fewest rows leaves a class without any: there is "
                    "no margin to find; linsep.FewestErrorsClassifier takes such data."
                ) from None
            margin = self._largest(X[kept], codes[kept], len(classes))
        if margin.w.dtype == object:
            raise NotSeparable(
                f"some plane separates the classes, but by a margin of at most {margin.upper:.3g}, too small "
                "for double precision: linsep.separate returns such a plane.",
                upper=margin.upper,
            )
        from linsep.prove.bounds import margins  # slow to import, and not needed by other models

        margins.warn_if_wide(margin, float(self.gap))
        self.classes_ = classes
        self.margin_lower_, self.margin_upper_ = margin.lower, margin.upper
        self.coef_, self.intercept_ = _scored(margin)
        support, self.dual_coef_ = _duals(margin, codes[kept], len(self.coef_))
        self.support_ = kept[support]
        return self

    def _largest(self, X: Any, codes: Array, classes: int) -> margins.Margin:
        from linsep.prove.bounds import margins
        from linsep.prove.claims import Data

        data = Data(to_rows(X), codes.astype(np.intp), X.shape[1], classes, bool(self.fit_intercept))
        try:
            return margins.of_data(data, "affine" if self.fit_intercept else "origin", float(self.gap), in_doubles=True)
        except FloatingPointError:
            self._explain(X, np.zeros(1))

    def _check_state(self) -> None:
        super()._check_state()
        must(bool((self.support_ >= 0).all()), "support rows")
        must(self.dual_coef_.shape == (len(self.coef_), len(self.support_)), "factors")


def _scored(margin: margins.Margin) -> tuple[Floats, Floats]:
    """Scale a plane so that the nearest rows score 1, unless that overflows."""
    scale = margin.lower if margin.lower > 0 else 1.0
    with np.errstate(over="ignore"):
        W, b = np.atleast_2d(margin.w) / scale, np.atleast_1d(margin.b) / scale
    if np.isfinite(W).all() and np.isfinite(b).all():
        return W, b
    return np.atleast_2d(margin.w), np.atleast_1d(margin.b)


def _duals(margin: margins.Margin, codes: Array, machines: int) -> tuple[Array, Floats]:
    """Gather the multipliers by row, with the sign by which the row enters each vector of weights."""
    support, positions = np.unique(margin.rows, return_inverse=True)
    dual = np.zeros((machines, len(support)))
    multipliers = margin.multipliers / margin.upper / (margin.lower if margin.lower > 0 else 1.0)
    if margin.rivals is None:
        dual[0, positions] = np.where(codes[margin.rows] == 1, multipliers, -multipliers)
    else:
        np.add.at(dual, (codes[margin.rows], positions), multipliers)
        np.add.at(dual, (margin.rivals, positions), -multipliers)
    return support, dual
