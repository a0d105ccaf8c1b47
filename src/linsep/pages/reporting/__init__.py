"""The report on a data set, one self-contained HTML file.

``study`` computes the results, ``page`` writes them.
"""

from __future__ import annotations

import os
from typing import Any

from linsep.data.files import replacing
from linsep.pages.reporting.page import page
from linsep.pages.reporting.study import study


def report(
    X: Any,
    y: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    fit_intercept: bool = True,
    feature_names: Any = None,
    title: str = "Linear separation",
    delta: float = 0.05,
    test_size: float = 0.2,
    time_limit: float = 60.0,
    random_state: int = 0,
    learner: Any = None,
    scale: str = "auto",
) -> str:
    """Return a report on the linear separation of some rows, as one HTML page; write it to a file if asked to.

    The page needs no network and no other file. It has the verdict with its proof, a run of the perceptron beside the
    mistake bound, margins, errors on new rows, and a sentence on every term.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Any size; figures show a sample of very large data, and sparse data stays sparse.
    y : array-like of shape (n,)
        Labels of two or more classes.
    path : path-like, default=None
        File to write.
    fit_intercept : bool, default=True
        Whether planes may have an offset.
    feature_names : sequence of str or callable, default=None
        Names of the features, or a function from their number to their name; those of a frame by default.
    title : str, default="Linear separation"
    delta : float, default=0.05
        Probability that a bound on the error fails.
    test_size : float, default=0.2
        Share of the rows held out to measure the error; not for the verdict and the margins, which are about all rows.
    time_limit : float, default=60.0
        Seconds for all of the page, about: runs make fewer passes, and searches (for a proof, where the run has not
        found one, for the margins, or for the fewest errors) end early enough to leave time for the figures.
    random_state : int, default=0
        Seed.
    learner : Perceptron, PassiveAggressive or AROW, default=None
        The model of the page, whose weights are shown and whose error on new rows is bounded; it is fitted here. By
        default a perceptron in a fixed order with ``keep="auto"``.
    scale : {"none", "unit", "standard", "auto"}, default="auto"
        How its rows are scaled while it learns, as in `fit_source`. The run beside the mistake bound is not scaled.

    Examples
    --------
    >>> from linsep import report, teacher
    >>> X, y, _ = teacher(100, 2, margin=0.1)
    >>> html = report(X, y)
    >>> "separable" in html
    True
    """
    results = study(
        X, y, fit_intercept=fit_intercept, feature_names=feature_names, delta=delta, test_size=test_size,
        time_limit=time_limit, random_state=random_state, learner=learner, scale=scale,
    )  # fmt: skip
    html = page(results, title)
    if path is not None:
        with replacing(path) as file:
            file.write(html.encode())
    return html
