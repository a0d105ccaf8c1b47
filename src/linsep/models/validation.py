"""Checks of what estimators are given, where the estimator itself takes part: its features are noted or compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import validate_data

from linsep.data.labels import class_labels, classes_and_codes, measured, must_stay_objects
from linsep.data.matrices import check_cells, numeric
from linsep.errors import DataError
from linsep.problem import Array


def checked_matrix(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return ``X`` as a real 2-D array or CSR matrix, and have ``estimator`` note or check its features."""
    check_cells(X)
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


def merged_classes(known: Array | None, expected: Any, y: Array) -> Array:
    """Return the classes of a model after it has met some labels; where none is new, in the order they have."""
    parts = [*([] if known is None else [known]), *([] if expected is None else [checked_labels(expected)]), y]
    merged, _ = classes_and_codes(np.concatenate(parts))
    return known if known is not None and len(merged) == len(known) else merged
