"""Is it separable? A search for proofs; it is never trusted, its proofs are always checked by ``proof``."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.clock import Clock
from linsep.data.labels import at_least_two_classes, check_same_length, class_labels
from linsep.data.matrices import as_matrix, refuse_not_finite, to_rows
from linsep.data.threads import quiet_algebra
from linsep.prove.claims import Data, Separator, Verdict, read, separates
from linsep.prove.search import decide


def separate(X: Any, y: Any, *, fit_intercept: bool = True, time_limit: float | None = None) -> Verdict:
    """Decide whether some plane separates the classes, and prove it.

    The verdict is exact: it is about the numbers as they are stored, without any tolerance, and its proof has been
    checked in exact arithmetic before it is returned.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Any real numbers; not copied.
    y : array-like of shape (n,)
        Labels of any hashable type, at least two different ones. More than two classes are separable when one weight
        vector and offset per class give the true class of every row the strictly highest score.
    fit_intercept : bool, default=True
        Whether planes may have an offset, or go through the origin.
    time_limit : float, default=None
        Seconds after which to give up with the verdict "unknown". Its ``bracket`` then bounds the largest margin.
        The clock is looked at between steps, and no step is begun that seems too long; but what has to be compiled, at
        the first call ever, is compiled.

    Returns
    -------
    verdict : Verdict
        ``kind`` is "separable", "quasi" or "overlap", and without a time limit never "unknown".

    Examples
    --------
    >>> import linsep
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]  # exclusive or
    >>> verdict = linsep.separate(X, y)
    >>> verdict
    Verdict(overlap, Refutation(4 rows: [0 1 2 3]))
    >>> verdict.refutation.multipliers
    (Fraction(1, 1), Fraction(1, 1), Fraction(1, 1), Fraction(1, 1))
    >>> verdict.check(X, y)
    True
    """
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"time_limit must be a number of seconds not below 0, got {time_limit!r}")
    X = as_matrix(X)
    y = class_labels(y)
    check_same_length(X, y)
    classes, codes = at_least_two_classes(y)
    data = Data(to_rows(X), codes.astype(np.intp), X.shape[1], len(classes), bool(fit_intercept))
    try:
        with quiet_algebra():
            return decide(data, tuple(classes.tolist()), Clock(time_limit))
    except FloatingPointError:
        refuse_not_finite(X, np.zeros(0))


def separator(model: Any, X: Any, y: Any) -> Separator | None:
    """Return the plane of a fitted linear classifier as a Separator, if it separates the data exactly.

    A perceptron that ended ``separated`` has found one already, so that no search is needed.

    Parameters
    ----------
    model : fitted classifier with ``coef_``, ``intercept_`` and ``classes_``
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)

    Returns
    -------
    separator : Separator or None
        None if some row is on the wrong side of the plane, or on it.

    Examples
    --------
    >>> import linsep
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 0, 1]
    >>> model = linsep.Perceptron().fit(X, y)
    >>> linsep.separator(model, X, y)
    Separator(float w of 1 features)
    """
    data = read(X, y, tuple(model.classes_.tolist()), True)
    if data is None or data.n_features != model.coef_.shape[1] or len(model.classes_) < 2:
        return None
    two = len(model.coef_) == 1
    plane = Separator(model.coef_[0], float(model.intercept_[0])) if two else Separator(model.coef_, model.intercept_)
    return plane if separates(plane, data, strictly=True) else None
