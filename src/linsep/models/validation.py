"""Checks of what estimators are given, where the estimator itself takes part: its features are noted or compared."""

from __future__ import annotations

from typing import Any

from sklearn.utils import column_or_1d
from sklearn.utils.validation import validate_data

from linsep.data.labels import class_labels, measured, must_stay_objects
from linsep.data.matrices import check_cells, numeric, refuse_rounding
from linsep.errors import DataError
from linsep.problem import Array


def checked_matrix(estimator: Any, X: Any, *, reset: bool, exact: bool = False) -> Any:
    """Return ``X`` as a real 2-D array or CSR matrix, and have ``estimator`` note or check its features.

    ``exact``: something is proved of these numbers, so that none may be rounded.
    """
    check_cells(X)
    if exact:
        refuse_rounding(X)
    X = validate_data(
        estimator, X, reset=reset, accept_sparse="csr", accept_large_sparse=True, dtype=None, ensure_all_finite=False
    )
    return numeric(X, list(getattr(estimator, "feature_names_in_", [])))


def checked_labels(y: Any) -> Array:
    """Return ``y`` as a 1-D array of class labels; a column of them is taken with scikit-learn's warning."""
    found = class_labels(y if must_stay_objects(y) else column_or_1d(y, warn=True))
    what = measured(found)
    if what is not None:
        raise DataError("", what)
    return found
