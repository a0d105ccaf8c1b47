"""The explorer, where you drag points and watch the theorem: ``linsep explore``, or a cell of a notebook.

It is one HTML file that computes everything itself. ``engine`` holds the JavaScript that computes (read ``engine.js``
first), ``page`` what draws (``explore.js``); ``page.py`` puts both into one file.
"""

from __future__ import annotations

from typing import Any

from linsep.pages.explorer.page import Page, points_of


def explore(X: Any = None, y: Any = None, **settings: Any) -> Page:
    """Return the explorer with your rows or with an example; a notebook shows it.

    Parameters
    ----------
    X : array-like of shape (n, d), default=None
    y : array-like of shape (n,), default=None
        Labels, of up to 10 classes.
    **settings
        Of the run, as those of ``Perceptron``: ``fit_intercept``, ``order`` ("cyclic", "shuffled", "first", "worst"
        or a list of row numbers), ``eta0``, ``max_iter``, ``max_updates``, ``random_state`` and so on; and
        ``features`` ("columns", "quadratic", "poly kernel" or "rbf kernel"), ``hold_out`` and ``noise``, shares of the
        points.

    Returns
    -------
    page : Page
        ``page.save("page.html")`` writes it as one file that needs nothing else, ``page.html`` is its text.

    Examples
    --------
    >>> import linsep
    >>> page = linsep.explore([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1], fit_intercept=False)
    >>> page.start["points"]["labels"]
    [1, -1, 1, -1]
    """
    if (X is None) != (y is None):
        raise ValueError("give both X and y, or neither")
    return Page(None if X is None else points_of(X, y), settings)
