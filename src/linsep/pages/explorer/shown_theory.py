"""Prepares the theory for the explorer: verdict, fewest errors, largest margin, and bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linsep.errors import NotSeparable
from linsep.models.perceptron import Perceptron
from linsep.pages.explorer.json_values import plain
from linsep.pages.explorer.moments import Replay
from linsep.pages.explorer.projection import View
from linsep.problem import Array, Floats
from linsep.prove.bounds.audits import audit_trail
from linsep.prove.bounds.margins import Margin, largest_margin
from linsep.prove.bounds.mistake_bounds import Bound, mistake_bound
from linsep.prove.claims import Refutation, Verdict
from linsep.prove.fewest.results import fewest_errors
from linsep.prove.verdicts.separability import separate
from linsep.wording import INEXACT, bound_in_numbers, squared_update, verdict_meaning, verdict_title

_CURVE = 80  # points of a curve that is known by its formula
_MOMENT = 0.25  # seconds for the fewest errors, while a point is being dragged
SECONDS = 60.0  # that the search for a verdict may take; the first one compiles, which counts


def shown_verdict(verdict: Verdict, X: Floats, y: Array, view: View) -> dict[str, Any]:
    """Return the verdict; if there is a refutation, the rows that cancel and the walk of their sum back to zero."""
    plane, multiclass = None, len(verdict.classes) > 2
    if verdict.separator is not None and verdict.separator.w.ndim == 1:
        w, b = verdict.separator.w.astype(np.float64), float(verdict.separator.b)
        plane = plain(view.planes(w, b))
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
    return separate(X, y, time_limit=SECONDS).kind == "separable"


def shown_fewest(X: Floats, y: Array, offset: bool, view: View) -> dict[str, Any]:
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
        "planes": plain(np.atleast_2d(view.planes(W, b))),
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
                {"class": c, "sums": plain(sums), "rows": found.rows[used].tolist(), "signs": signs[used].tolist()}
            )
    return {
        "rows": found.rows.tolist(),
        "rivals": found.rivals.tolist(),
        "multipliers": [str(multiplier) for multiplier in found.multipliers],
        "shares": plain(shares),
        "walks": walks,
    }


def shown_margin(margin: Margin | None, view: View) -> dict[str, Any] | None:
    """Return the plane of largest margin and how far it keeps from the points."""
    if margin is None:
        return None
    return {
        "lower": margin.lower,
        "upper": margin.upper,
        "form": margin.form,
        "planes": plain(np.atleast_2d(view.planes(margin.w, np.asarray(margin.b)))),
        "support": np.unique(margin.rows).tolist(),
    }


def shown_margins(found: list[Margin | None], view: View) -> dict[str, Any] | None:
    """Return for each class the plane of largest margin that parts it from the rest, where there is one."""
    known = [margin for margin in found if margin is not None]
    if not known:
        return None
    drawn = [None if margin is None else plain(view.planes(margin.w, np.asarray(margin.b))) for margin in found]
    whole = len(known) == len(found)
    return {
        "lower": min(margin.lower for margin in known) if whole else None,
        "upper": min(margin.upper for margin in known) if whole else None,
        "form": known[0].form,
        "planes": drawn,
        "apart": True,
        "support": np.unique(np.concatenate([margin.rows for margin in known])).tolist(),
    }


def against_rest(replay: Replay, X: Floats, y: Array, c: int) -> dict[str, Any]:
    """Return the verdict on one class against the rest, and the mistake bound of its own perceptron."""
    model = replay.model
    own = y == model.classes_[c]
    verdict = separate(X, own, fit_intercept=model.fit_intercept, time_limit=SECONDS)
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
        "allowed": plain(bound.mistakes),
        "margin": bound.margin.lower,
        "radius": bound.radius,
        "limit_said": _limit_said(model, bound, 0.0, 0.0),
    }


def shown_theorem(replay: Replay, X: Floats, y: Array, frames: list[int]) -> tuple[dict[str, Any] | None, str]:
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
        "allowed": plain(bound.mistakes),
        "limit": plain(bound.upper),
        "radius": bound.radius,
        "margin": bound.margin.lower,
        "margin_upper": bound.margin.upper,
        "form": bound.margin.form,
        "doubt": "" if bound.covers_floats else INEXACT,
        "start": {"along": start, "square": first_square},
        "limit_said": _limit_said(model, bound, start, first_square),
        "progress": plain(checked.progress[frames]),
        "progress_bound": plain(checked.progress_bound[frames]),
        "growth": plain(checked.squared_norm[frames]),
        "growth_bound": plain(checked.squared_norm_bound[frames]),
        "cosine": plain(checked.cosine[frames]),
        "cosine_bound": plain(checked.cosine_bound[frames]),
        "running": plain(checked.margin_upper[frames]),
        "curve": {
            "k": plain(k),
            "progress": plain(progress),
            "norm": plain(np.sqrt(growth)),
            "growth": plain(growth),
            "cosine": plain(np.clip(progress / np.sqrt(np.maximum(growth, 1e-300)), -1.0, 1.0)),
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

    def numbers(along: float) -> tuple[float, float]:
        step = (bound.largest_update**2 + 2 * model.update_margin / eta) / (2 * gamma**2)
        return _less(step, along / (eta * gamma)), _less(square, along**2) / (eta * gamma) ** 2

    half, rest = numbers(along)
    if f"{half + math.sqrt(max(0.0, half**2 + rest)):.6g}" != f"{bound.upper:.6g}":
        # u is known up to the angle that the bracket on γ leaves it, and here that shows
        half, rest = numbers(along - 2 * math.sqrt(max(0.0, 1 - (gamma / margin.upper) ** 2)) * math.sqrt(square))
    more = " + 2m/η" if model.update_margin else ""
    top = squared_update(*kind) + more
    return (
        f"h + √(h² + r) = {bound.upper:.6g}, with h = {f'({top})' if more else top}/(2γ²) − w₀·u/(ηγ) = {half:.6g} and "
        f"r = (‖w₀‖² − (w₀·u)²)/(ηγ)² = {rest:.6g}"
    )


def _less(a: float, b: float) -> float:
    """Return a - b, 0 where only rounding is left of it."""
    return a - b if abs(a - b) > 1e-12 * (abs(a) + abs(b)) else 0.0


def margin_or_none(X: Floats, y: Array, offset: bool) -> Margin | None:
    """Return the largest margin as people draw it; None where double precision finds none."""
    try:
        return largest_margin(X, y, form="affine" if offset else "origin")
    except NotSeparable:
        return None
