"""Computes everything that the explorer shows, from points and settings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from linsep.figures.colors import class_colors
from linsep.models.estimators import Perceptron
from linsep.pages.checker import proof_of
from linsep.pages.explorer.json_values import plain
from linsep.pages.explorer.moments import Replay
from linsep.pages.explorer.projection import View
from linsep.pages.explorer.requests import KEEPS, MOST_UPDATES, Points, Settings
from linsep.pages.explorer.shown_run import shown_run
from linsep.pages.explorer.shown_theory import (
    SECONDS,
    against_rest,
    margin_or_none,
    shown_fewest,
    shown_margin,
    shown_margins,
    shown_theorem,
    shown_verdict,
)
from linsep.problem import Array, Floats
from linsep.prove.verdicts.separability import separate


def answer(points: Points, settings: Settings, held: Any = None, around: Any = None) -> dict[str, Any]:
    """Return all that the page shows of some points: the run, the verdict, the theorem, as plain JSON values.

    Parameters
    ----------
    points : Points
    settings : Settings
    held : dict, default=None
        The projection to show more than two columns on; None makes one.
    around : int, default=None
        The mistake near which every moment of a long run is wanted.

    Returns
    -------
    shown : dict
        ``run`` is None and ``note`` says why if there is nothing to learn yet.

    Examples
    --------
    >>> from linsep.pages.explorer.requests import Points, Settings
    >>> from linsep.pages.explorer.engine import answer
    >>> rows = ((1, 0), (0, -1), (0, 1), (-1, 0))
    >>> shown = answer(Points(rows, (1, -1, 1, -1)), Settings(fit_intercept=False, order="cyclic"))
    >>> shown["run"]["mistakes"], shown["theorem"]["allowed"], shown["verdict"]["kind"]
    (2, 2, 'separable')
    """
    X, names = _columns(points, settings)
    classes = sorted(set(points.labels))
    shown: dict[str, Any] = {
        "classes": classes,
        "keeps": KEEPS,
        "colors": _colors(classes),
        "run": None,
        "verdict": None,
        "margin": None,
        "theorem": None,
        "rest": None,
        "fewest": None,
        "note": "",
    }
    view = View.held(held, X.shape[1])
    if around is not None and (type(around) is not int or not 0 <= around <= MOST_UPDATES):
        raise ValueError(f"around must be the number of a mistake, from 0 to {MOST_UPDATES}")
    if len(classes) < 2:
        view = view or View.of(X, names, None)
        shown["note"] = "Place points of at least two classes to start the run."
        return shown | {"view": view.words, "points": plain(view.points(X))}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # a budget that is spent, a wide bracket: the page says so in its own words
        _study(shown, X, np.array(points.labels), settings, names, view, around)
    return shown


def proof(points: Points, settings: Settings) -> str | None:
    """Return the proof of the verdict as a document, None if there is none."""
    X, _ = _columns(points, settings)
    if len(set(points.labels)) < 2:
        return None
    y = np.array(points.labels)
    return proof_of(separate(X, y, fit_intercept=settings.fit_intercept, time_limit=SECONDS), X, y)


def _study(
    shown: dict[str, Any],
    X: Floats,
    y: Array,
    settings: Settings,
    names: list[str],
    view: View | None,
    around: int | None,
) -> None:
    """Run the perceptron, decide whether a plane separates the points, and add what the page shows of it."""
    classes = shown["classes"]
    first, offset = _first_weights(settings, X.shape[1], len(classes))
    model = Perceptron(**settings.parameters()).fit(X, y, coef_init=first, intercept_init=offset)
    replay = Replay.of(model, X, y, first, offset)
    verdict = separate(X, y, fit_intercept=settings.fit_intercept, time_limit=SECONDS)
    view = view or View.of(X, names, model.coef_[0] if len(classes) == 2 else None)
    shown |= {"view": view.words, "points": plain(view.points(X))}
    shown["run"] = shown_run(replay, X, y, view, around)
    shown["verdict"] = shown_verdict(verdict, X, y, view)
    if replay.apart:
        shown["rest"] = [against_rest(replay, X, y, c) for c in range(len(classes))]
        margins = [margin_or_none(X, y == label, settings.fit_intercept) for label in classes]
        shown["margin"] = shown_margins(margins, view)
        return
    if verdict.refutation is not None:
        shown["fewest"] = shown_fewest(X, y, settings.fit_intercept, view)
    margin = margin_or_none(X, y, settings.fit_intercept) if verdict.kind == "separable" else None
    shown["margin"] = shown_margin(margin, view)
    if margin is not None:
        shown["theorem"], shown["note"] = shown_theorem(replay, X, y, shown["run"]["frames"])


def _colors(classes: list[Any]) -> dict[str, list[str]]:
    """Return colors on light and on dark paper, by label, if some class is called after a color."""
    shades = [class_colors(classes, style) for style in ("light", "dark")]
    usual = [class_colors(range(len(classes)), style) for style in ("light", "dark")]
    return {} if shades == usual else {str(label): [*pair] for label, *pair in zip(classes, *shades, strict=True)}


def _columns(points: Points, settings: Settings) -> tuple[Floats, list[str]]:
    """Return the columns that the run sees, and their names."""
    X = np.array(points.rows, dtype=np.float64) if points.rows else np.zeros((0, 2))
    names = list(points.names) or [f"x{j + 1}" for j in range(X.shape[1])]
    if settings.columns is not None and X.shape[1] > 2:
        chosen = list(settings.columns)
        if max(chosen) >= X.shape[1]:
            raise ValueError(f"there is no column {max(chosen)}: the points have {X.shape[1]}")
        return np.ascontiguousarray(X[:, chosen]), [names[j] for j in chosen]
    return X, names


def _first_weights(settings: Settings, d: int, classes: int) -> tuple[Floats | None, Floats | None]:
    """Return the weights to start from, None for zero."""
    if not settings.start or classes > 2:
        return None, None
    wanted = d + settings.fit_intercept
    if len(settings.start) != wanted:
        offset = " and an offset" if settings.fit_intercept else ""
        raise ValueError(f"start weights must be {wanted} numbers, one per column{offset}")
    start = np.array(settings.start, dtype=np.float64)
    return start[None, :d], start[d:] if settings.fit_intercept else None
