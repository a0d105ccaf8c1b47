"""The page on which points are dragged and the theorem is watched: ``linsep explore``, or a widget in a notebook.

``engine`` turns points and settings into everything that is shown, with linsep's own functions; ``server`` hands it to
a browser on this machine, ``widget`` to a notebook; ``page`` holds the one module that draws, and its styles.
"""

from __future__ import annotations

from typing import Any


def explore(X: Any = None, y: Any = None, **settings: Any) -> Any:
    """Show the page in a notebook, with some rows or with a first example.

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
        ``widget.points`` and ``widget.settings`` say what is on the page, whatever has been dragged.

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
