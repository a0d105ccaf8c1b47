"""Points and settings in, everything that the page shows out; what is computed here, linsep's own functions compute."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from linsep.errors import NotSeparable
from linsep.figures.colors import class_colors
from linsep.models.estimators import Perceptron
from linsep.pages.checker import proof_of
from linsep.pages.explorer.moments import Replay
from linsep.pages.explorer.projection import View
from linsep.pages.explorer.requests import KEEPS, MOST_UPDATES, Points, Settings
from linsep.problem import Array, Floats
from linsep.prove.audits import audit_trail
from linsep.prove.claims import Refutation, Verdict
from linsep.prove.fewest import fewest_errors
from linsep.prove.margins import Margin, largest_margin
from linsep.prove.mistake_bounds import Bound, mistake_bound
from linsep.prove.separability import separate
from linsep.wording import (
    INEXACT,
    STOPPED,
    bound_in_numbers,
    squared_update,
    update_length,
    verdict_meaning,
    verdict_title,
)

_FRAMES = 1000  # moments of a run that are sent; of a longer run evenly spaced ones
_NEAR = 60  # mistakes before and after the one that is looked at
_PASSES = 400  # passes that are sent
_CURVE = 80  # points of a curve that is known by its formula
_SHOWN = 4  # numbers of a weight vector that are spelled out
_GRID = 72  # lines each way on which the border of a vote is looked for
_HALVINGS = 6  # of the gap in which it lies
_MOMENT = 0.25  # seconds for the fewest errors, while a point is being dragged
_SECONDS = 60.0  # that the search for a verdict may take; the first one compiles, which counts


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
        raise ValueError(f"around: a mistake from 0 to {MOST_UPDATES} is expected")
    if len(classes) < 2:
        view = view or View.of(X, names, None)
        shown["note"] = "Place points of at least two classes, and the run begins."
        return shown | {"view": view.words, "points": _plain(view.points(X))}
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
    return proof_of(separate(X, y, fit_intercept=settings.fit_intercept, time_limit=_SECONDS), X, y)


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
    verdict = separate(X, y, fit_intercept=settings.fit_intercept, time_limit=_SECONDS)
    view = view or View.of(X, names, model.coef_[0] if len(classes) == 2 else None)
    shown |= {"view": view.words, "points": _plain(view.points(X))}
    shown["run"] = _run(replay, X, y, view, around)
    shown["verdict"] = _verdict(verdict, X, y, view)
    if replay.apart:
        shown["rest"] = [_against_rest(replay, X, y, c) for c in range(len(classes))]
        margins = [_margin(X, y == label, settings.fit_intercept) for label in classes]
        shown["margin"] = _drawn_margins(margins, view)
        return
    if verdict.refutation is not None:
        shown["fewest"] = _fewest(X, y, settings.fit_intercept, view)
    margin = _margin(X, y, settings.fit_intercept) if verdict.kind == "separable" else None
    shown["margin"] = _drawn_margin(margin, view)
    if margin is not None:
        shown["theorem"], shown["note"] = _theorem(replay, X, y, shown["run"]["frames"])


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
        raise ValueError(f"start weights: {wanted} numbers are needed, a weight a column{offset}")
    start = np.array(settings.start, dtype=np.float64)
    return start[None, :d], start[d:] if settings.fit_intercept else None


def _margin(X: Floats, y: Array, offset: bool) -> Margin | None:
    """Return the largest margin as people draw it; None where double precision finds none."""
    try:
        return largest_margin(X, y, form="affine" if offset else "origin")
    except NotSeparable:
        return None


# ---------------------------------------------------------------------------------------------------------------
# The run


def _run(replay: Replay, X: Floats, y: Array, view: View, around: int | None) -> dict[str, Any]:
    """Return the run, moment by moment."""
    model, k, machines = replay.model, len(replay.others), len(replay.model.coef_)
    frames = _thin(k + 1, _FRAMES)
    if around is not None:
        frames = np.union1d(frames, np.arange(max(0, around - _NEAR), min(k, around + _NEAR) + 1))
    last = np.maximum(frames - 1, 0)  # the mistake that led to each
    counts, ends = model.mistake_counts_, np.cumsum(model.history_["mistakes"])
    passes = _thin(len(ends), _PASSES)
    after, before, at_ends = np.split(  # all weights that are shown, in one go
        replay.weights(np.concatenate((frames, last, ends[passes]))), np.cumsum((len(frames), len(last)))
    )
    return {
        "stop": model.stop_reason_,
        "stopped": STOPPED[model.stop_reason_],
        "mistakes": k,
        "passes": model.n_iter_,
        "errors": model.training_errors_,
        "rows": len(X),
        "radius": model.radius_,
        "margin": _plain(model.margin_),
        "eta": float(model.eta0),
        "offset": bool(model.fit_intercept),
        "apart": replay.apart,
        "update_margin": float(model.update_margin),
        "from_zero": not any(trail.start.any() for trail in replay.trails),
        "formulas": _formulas(bool(model.fit_intercept), machines > 1 and not replay.apart),
        "trace": model.trace_.tolist(),
        "counts": counts.tolist(),
        "most": int(counts.max()),
        "frames": frames.tolist(),
        "machines": replay.others.tolist() if replay.apart else [],
        "rivals": replay.others[last].tolist() if k and machines > 1 else [],
        "leads": _plain(replay.leads[last]) if k else [0.0],
        "inputs": _plain(X[:, :_SHOWN]),
        "columns": X.shape[1],
        "kept": _kept(model, view),
        "vote": _voted(model, view, X) if model.keep == "vote" else None,
        "planes": _plain(view.planes(after[..., :-1], after[..., -1])),
        "before": _plain(_head(before)),
        "after": _plain(_head(after)),
        "pass": _passes(model, passes, ends, _errors(model, at_ends, X, y)),
    } | _growth(replay, frames, after)


def _formulas(offset: bool, multiclass: bool) -> dict[str, str]:
    """Return what a mistake adds to the squared norm at most, what k mistakes do, and the length of an update."""
    return {
        "step": squared_update(offset, multiclass, "η²"),
        "growth": squared_update(offset, multiclass, "kη²"),
        "length": update_length(offset, multiclass),
    }


def _growth(replay: Replay, frames: Array, after: Floats) -> dict[str, Any]:
    """Return how long the weights have grown at some moments, how far they have moved, and what bounds it."""
    eta, first = float(replay.model.eta0), after[0]
    step = eta**2 * replay.longest + 2 * eta * replay.model.update_margin
    moved = np.sqrt(np.square(after - first).sum(axis=(1, 2)))
    return {
        "growth": _plain(np.square(after).sum(axis=(1, 2))),
        "growth_bound": _plain(np.square(first).sum() + frames * step),
        "moved": _plain(np.where(frames > 0, moved / (eta * np.maximum(frames, 1)), np.inf)),
    }


def _passes(model: Perceptron, passes: Array, ends: Array, errors: list[int]) -> dict[str, Any]:
    """Return some passes of the run."""
    history = model.history_
    return {
        "number": (passes + 1).tolist(),
        "end": ends[passes].tolist(),
        "mistakes": history["mistakes"][passes].tolist(),
        "loss": _plain(history["loss"][passes]),
        "validation_error": _plain(history["validation_error"][passes]),
        "errors": errors,
    }


def _errors(model: Perceptron, path: Floats, X: Floats, y: Array) -> list[int]:
    """Return how many rows some weights of the run get wrong; ties to the side that the model says."""
    codes = np.searchsorted(model.classes_, y)
    wrong = []
    for W in path:
        S = X @ W[:, :-1].T + W[:, -1]
        side = S.argmax(axis=1) if S.shape[1] > 1 else np.where(S[:, 0] == 0, model.on_plane, S[:, 0]) > 0
        wrong.append(int(np.count_nonzero(side != codes)))
    return wrong


def _kept(model: Perceptron, view: View) -> list[Any] | None:
    """Return the weights that the run hands over, if they need not be the last ones; a vote is no plane."""
    if model.keep in ("last", "vote") or not np.isfinite(model.coef_).all():
        return None
    return _plain(view.planes(model.coef_, model.intercept_))  # type: ignore[no-any-return]


def _voted(model: Perceptron, view: View, X: Floats) -> list[Any]:
    """Return spots of the view between which the vote changes its mind, close to each other."""
    Z = view.points(X)
    middle, reach = (Z.max(axis=0) + Z.min(axis=0)) / 2, np.ptp(Z, axis=0).max() or 1.0
    side = np.linspace(-reach, reach, _GRID if model.mistakes_ < 2000 else _GRID // 2)
    grid = np.stack(np.meshgrid(middle[0] + side, middle[1] + side), axis=-1)  # (m, m, 2)

    def voted(spots: Floats) -> Array:
        labels = model.predict(view.rows(spots.reshape(-1, 2)))
        return np.asarray(np.searchsorted(model.classes_, labels).reshape(spots.shape[:-1]))

    said = voted(grid)
    across, up = said[:, 1:] != said[:, :-1], said[1:] != said[:-1]
    a = np.concatenate((grid[:, :-1][across], grid[:-1][up]))
    b = np.concatenate((grid[:, 1:][across], grid[1:][up]))
    before = np.concatenate((said[:, :-1][across], said[:-1][up]))
    for _ in range(_HALVINGS if len(a) else 0):
        between = (a + b) / 2
        same = (voted(between) == before)[:, None]
        a, b = np.where(same, between, a), np.where(same, b, between)
    return _plain((a + b) / 2)  # type: ignore[no-any-return]


def _head(W: Floats) -> Floats:
    """Return the first few weights and the offset."""
    return np.concatenate((W[..., :-1][..., :_SHOWN], W[..., -1:]), axis=-1)


def _thin(n: int, most: int) -> Array:
    """Return all numbers below n, or evenly spaced ones, first and last among them."""
    return np.arange(n) if n <= most else np.unique(np.linspace(0, n - 1, most).round().astype(np.intp))


# ---------------------------------------------------------------------------------------------------------------
# The verdict and the theorem


def _verdict(verdict: Verdict, X: Floats, y: Array, view: View) -> dict[str, Any]:
    """Return the verdict; if there is a refutation, the rows that cancel and the walk of their sum back to zero."""
    plane, multiclass = None, len(verdict.classes) > 2
    if verdict.separator is not None and verdict.separator.w.ndim == 1:
        w, b = verdict.separator.w.astype(np.float64), float(verdict.separator.b)
        plane = _plain(view.planes(w, b))
    refuted = verdict.refutation
    return {
        "kind": verdict.kind,
        "title": verdict_title(verdict.kind, verdict.fit_intercept),
        "said": verdict_meaning(verdict.kind, verdict.fit_intercept, multiclass),
        "offset_helps": verdict.refutation is not None and not verdict.fit_intercept and _separable(X, y),
        "checked": verdict.check(X, y),
        "plane": plane,
        "refutation": None if refuted is None else _refutation(refuted, verdict.classes, X, y, view),
    }


def _separable(X: Floats, y: Array) -> bool:
    """Return whether some plane with an offset separates the points."""
    return separate(X, y, time_limit=_SECONDS).kind == "separable"


def _fewest(X: Floats, y: Array, offset: bool, view: View) -> dict[str, Any]:
    """Return the plane with the fewest errors that is found in a moment, between proved bounds, and its wrong rows."""
    found = fewest_errors(X, y, fit_intercept=offset, time_limit=_MOMENT)
    W, b = (np.asarray(part, dtype=np.float64) for part in (found.w, found.b))
    S = X[found.rows] @ np.atleast_2d(W).T + np.atleast_1d(b)
    own = np.searchsorted(np.array(found.classes), y[found.rows])
    if S.shape[1] > 1:
        S[np.arange(len(own)), own] = -np.inf
    told = S.argmax(axis=1) if S.shape[1] > 1 else 1 - own
    return {
        "lower": found.lower,
        "upper": found.upper,
        "rows": found.rows.tolist(),
        "labels": [found.classes[c] for c in told.tolist()],  # to flip them to
        "planes": _plain(np.atleast_2d(view.planes(W, b))),
    }


def _refutation(found: Refutation, classes: tuple[Any, ...], X: Floats, y: Array, view: View) -> dict[str, Any]:
    """Return rows, multipliers, and for each class (one of two is enough) the sums of the rows as they cancel."""
    codes = np.searchsorted(np.array(classes), y)[found.rows]
    shares = np.array([float(multiplier / sum(found.multipliers)) for multiplier in found.multipliers])
    drawn = X[found.rows] @ view.basis.T
    walks = []
    for c in range(len(classes)) if len(classes) > 2 else (1,):
        signs = (codes == c).astype(int) - (found.rivals == c)
        used = np.flatnonzero(signs)
        if len(used):
            used = used[np.argsort(np.arctan2(*(signs[used, None] * drawn[used]).T[::-1]), kind="stable")]
            steps = shares[used, None] * signs[used, None] * drawn[used]
            sums = np.vstack((np.zeros((1, 2)), np.cumsum(steps, axis=0)))
            walks.append(
                {"class": c, "sums": _plain(sums), "rows": found.rows[used].tolist(), "signs": signs[used].tolist()}
            )
    return {
        "rows": found.rows.tolist(),
        "rivals": found.rivals.tolist(),
        "multipliers": [str(multiplier) for multiplier in found.multipliers],
        "shares": _plain(shares),
        "walks": walks,
    }


def _drawn_margin(margin: Margin | None, view: View) -> dict[str, Any] | None:
    """Return the plane of largest margin and how far it keeps from the points."""
    if margin is None:
        return None
    return {
        "lower": margin.lower,
        "upper": margin.upper,
        "form": margin.form,
        "planes": _plain(np.atleast_2d(view.planes(margin.w, np.asarray(margin.b)))),
        "support": np.unique(margin.rows).tolist(),
    }


def _drawn_margins(found: list[Margin | None], view: View) -> dict[str, Any] | None:
    """Return for each class the plane of largest margin that parts it from the rest, where there is one."""
    known = [margin for margin in found if margin is not None]
    if not known:
        return None
    drawn = [None if margin is None else _plain(view.planes(margin.w, np.asarray(margin.b))) for margin in found]
    whole = len(known) == len(found)
    return {
        "lower": min(margin.lower for margin in known) if whole else None,
        "upper": min(margin.upper for margin in known) if whole else None,
        "form": known[0].form,
        "planes": drawn,
        "apart": True,
        "support": np.unique(np.concatenate([margin.rows for margin in known])).tolist(),
    }


def _against_rest(replay: Replay, X: Floats, y: Array, c: int) -> dict[str, Any]:
    """Return the verdict on one class against the rest, and the mistake bound of its own perceptron."""
    model = replay.model
    own = y == model.classes_[c]
    verdict = separate(X, own, fit_intercept=model.fit_intercept, time_limit=_SECONDS)
    told = {"class": c, "kind": verdict.kind, "checked": verdict.check(X, own)}
    told |= {"mistakes": len(replay.trails[c].trace), "allowed": None, "limit_said": ""}
    if verdict.refutation is not None:
        return told | {"rows": np.unique(verdict.refutation.rows).tolist()}
    try:
        bound = mistake_bound(
            X, own, fit_intercept=model.fit_intercept, eta0=model.eta0, update_margin=model.update_margin
        )
    except ValueError:  # separable, but double precision cannot say by how much
        return told
    return told | {
        "allowed": _plain(bound.mistakes),
        "margin": bound.margin.lower,
        "radius": bound.radius,
        "limit_said": _limit_said(model, bound, 0.0, 0.0),
    }


def _theorem(replay: Replay, X: Floats, y: Array, frames: list[int]) -> tuple[dict[str, Any] | None, str]:
    """Return the proof of the mistake bound with the numbers of this run, or why there is none."""
    model, trail = replay.model, replay.trails[0]
    try:
        checked = audit_trail(model, trail, X, y)
    except ValueError as error:
        return None, str(error)
    bound = checked.bound
    if bound is None:
        return None, ""
    limit = bound.upper if math.isfinite(bound.upper) else float(checked.mistakes)
    k = np.linspace(0.0, max(limit, checked.mistakes, 1.0) * 1.02, _CURVE)
    start, first_square = float(checked.progress_bound[0]), float(checked.squared_norm_bound[0])
    growth = first_square + k * (model.eta0**2 * bound.largest_update**2 + 2 * model.eta0 * model.update_margin)
    progress = start + k * model.eta0 * bound.margin.lower
    return {
        "holds": checked.holds,
        "violation": checked.violation,
        "allowed": _plain(bound.mistakes),
        "limit": _plain(bound.upper),
        "radius": bound.radius,
        "margin": bound.margin.lower,
        "margin_upper": bound.margin.upper,
        "form": bound.margin.form,
        "doubt": "" if bound.covers_floats else INEXACT,
        "start": {"along": start, "square": first_square},
        "limit_said": _limit_said(model, bound, start, first_square),
        "progress": _plain(checked.progress[frames]),
        "progress_bound": _plain(checked.progress_bound[frames]),
        "growth": _plain(checked.squared_norm[frames]),
        "growth_bound": _plain(checked.squared_norm_bound[frames]),
        "cosine": _plain(checked.cosine[frames]),
        "cosine_bound": _plain(checked.cosine_bound[frames]),
        "running": _plain(checked.margin_upper[frames]),
        "curve": {
            "k": _plain(k),
            "progress": _plain(progress),
            "norm": _plain(np.sqrt(growth)),
            "growth": _plain(growth),
            "cosine": _plain(np.clip(progress / np.sqrt(np.maximum(growth, 1e-300)), -1.0, 1.0)),
        },
    }, ""


def _limit_said(model: Perceptron, bound: Bound, along: float, square: float) -> str:
    """Return the bound as a formula with the numbers that give it; ``along`` is w₀·u and ``square`` is ‖w₀‖²."""
    if not math.isfinite(bound.upper):
        return "∞: double precision does not bound γ from below"
    margin, kind = bound.margin, (bool(model.fit_intercept), np.ndim(bound.margin.w) > 1)
    if square == 0 and model.update_margin == 0:
        return bound_in_numbers(bound.formula, radius=bound.radius, margin=margin.lower, limit=bound.upper)
    eta, gamma = float(model.eta0), margin.lower
    # u is known up to the angle that the bracket on γ leaves it
    along -= 2 * math.sqrt(max(0.0, 1 - (gamma / margin.upper) ** 2)) * math.sqrt(square)
    half = (bound.largest_update**2 + 2 * model.update_margin / eta) / (2 * gamma**2) - along / (eta * gamma)
    rest = (square - along**2) / (eta * gamma) ** 2
    more = " + 2m/η" if model.update_margin else ""
    top = squared_update(*kind) + more
    return (
        f"h + √(h² + r) = {bound.upper:.6g}, with h = {f'({top})' if more else top}/(2γ²) − w₀·u/(ηγ) = {half:.8g} and "
        f"r = (‖w₀‖² − (w₀·u)²)/(ηγ)² = {rest:.8g}"
    )


def _plain(values: Any) -> Any:
    """Return numbers as JSON has them: what is not finite is null."""
    array = np.asarray(values)
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return array.tolist()
    numbers = array.astype(object)
    numbers[~np.isfinite(array)] = None
    return numbers.tolist()
