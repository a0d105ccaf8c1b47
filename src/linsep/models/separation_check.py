"""A pipeline step that checks for separation before a regression."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from linsep.errors import DataError, ParameterError
from linsep.prove.check.linsep_check import SEPARATED
from linsep.prove.regression.separations import separation
from linsep.prove.regression.words import sentences


class SeparationCheck(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Check for separation when a pipeline is fitted; rows pass through unchanged.

    Parameters
    ----------
    action : {"warn", "raise"}, default="warn"
        What to do when the maximum likelihood estimate does not exist.
    family : str, default="binomial"
        As for ``separation``; labels of more than two classes need "multinomial" or "ordinal".
    fit_intercept : bool, default=True
    order : list, default=None
        Labels of an ordinal model from the lowest to the highest, as for ``separation``.

    Attributes
    ----------
    separation_ : Separation
    n_features_in_ : int

    Examples
    --------
    >>> import warnings
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from linsep import SeparationCheck
    >>> pipeline = make_pipeline(SeparationCheck(), LogisticRegression())
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = pipeline.fit([[0], [0], [1], [1]], [0, 1, 1, 1])
    >>> print(str(caught[0].message)[:55])
    quasi-complete separation: the maximum likelihood estim
    """

    def __init__(
        self, *, action: str = "warn", family: str = "binomial", fit_intercept: bool = True, order: Any = None
    ) -> None:
        self.action, self.family, self.fit_intercept, self.order = action, family, fit_intercept, order

    def fit(self, X: Any, y: Any) -> SeparationCheck:
        """Decide whether the maximum likelihood estimate exists, and warn or raise if not."""
        if self.action not in ("warn", "raise"):
            raise ParameterError("action", self.action, "'warn' or 'raise'")
        matrix = validate_data(self, X, accept_sparse="csr", dtype="numeric")
        names = getattr(self, "feature_names_in_", None)
        self.separation_ = separation(
            matrix, y, family=self.family, names=names, fit_intercept=self.fit_intercept, order=self.order
        )
        if self.separation_.kind != "overlap":
            details = "; ".join(sentences(self.separation_))
            text = f"{SEPARATED[self.separation_.kind]}; {details}"
            if self.action == "raise":
                raise DataError("", text)
            warnings.warn(text, UserWarning, stacklevel=2)
        return self

    def transform(self, X: Any) -> Any:
        """Return the rows as they are."""
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=False)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns, which stay the same."""
        from sklearn.utils.validation import _check_feature_names_in

        return _check_feature_names_in(self, input_features)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags
