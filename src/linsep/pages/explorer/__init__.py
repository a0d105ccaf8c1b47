"""The explorer, where you drag points and watch the theorem: ``linsep explore``, or a notebook widget.

``engine`` computes everything that the page shows, with linsep's own functions; ``server`` sends it to a browser on
this machine, ``widget`` to a notebook; ``page`` holds the JavaScript and the styles.
"""

from __future__ import annotations

from typing import Any


def explore(X: Any = None, y: Any = None, **settings: Any) -> Any:
    """Show the explorer in a notebook, with your rows or with an example.

    Parameters
    ----------
    X : array-like of shape (n, d), default=None
    y : array-like of shape (n,), default=None
        Labels, of up to 10 classes.
    **settings
        Of the run, as those of ``Perceptron``: ``fit_intercept``, ``order`` ("cyclic", "shuffled", "first" or
        "worst"), ``eta0``, ``max_iter``, ``max_updates``, ``random_state`` and so on.

    Returns
    -------
    widget : anywidget.AnyWidget
        ``widget.points`` and ``widget.settings`` are the current points and settings of the page.

    Examples
    --------
    >>> import linsep
    >>> widget = linsep.explore([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1], fit_intercept=False)
    >>> widget.points["labels"]
    [1, -1, 1, -1]
    """
    try:
        from linsep.pages.explorer.widget import of_rows
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f"linsep.pages.explorer needs the package {missing.name}: pip install 'linsep[explore]'"
        ) from missing
    return of_rows(X, y, settings)
