"""Prepares the run for the explorer: selected moments, passes, and the border of a vote."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.models.perceptron import Perceptron
from linsep.pages.explorer.json_values import plain
from linsep.pages.explorer.moments import Replay
from linsep.pages.explorer.projection import View
from linsep.problem import Array, Floats
from linsep.wording import STOPPED, squared_update, update_length

_FRAMES = 1000  # moments of a run that are sent; of a longer run evenly spaced ones
_NEAR = 60  # mistakes before and after the one that is looked at
_PASSES = 400  # passes that are sent
_SHOWN = 4  # numbers of a weight vector that are spelled out
_GRID = 72  # lines each way on which the border of a vote is looked for
_HALVINGS = 6  # of the gap in which it lies


def shown_run(replay: Replay, X: Floats, y: Array, view: View, around: int | None) -> dict[str, Any]:
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
        "margin": plain(model.margin_),
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
        "leads": plain(replay.leads[last]) if k else [0.0],
        "inputs": plain(X[:, :_SHOWN]),
        "columns": X.shape[1],
        "kept": _kept(model, view),
        "vote": _voted(model, view, X) if model.keep == "vote" else None,
        "planes": plain(view.planes(after[..., :-1], after[..., -1])),
        "before": plain(_head(before)),
        "after": plain(_head(after)),
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
        "growth": plain(np.square(after).sum(axis=(1, 2))),
        "growth_bound": plain(np.square(first).sum() + frames * step),
        "moved": plain(np.where(frames > 0, moved / (eta * np.maximum(frames, 1)), np.inf)),
    }


def _passes(model: Perceptron, passes: Array, ends: Array, errors: list[int]) -> dict[str, Any]:
    """Return some passes of the run."""
    history = model.history_
    return {
        "number": (passes + 1).tolist(),
        "end": ends[passes].tolist(),
        "mistakes": history["mistakes"][passes].tolist(),
        "loss": plain(history["loss"][passes]),
        "validation_error": plain(history["validation_error"][passes]),
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
    """Return the weights that the run returns, if they need not be the last ones; a vote is no plane."""
    if model.keep in ("last", "vote") or not np.isfinite(model.coef_).all():
        return None
    return plain(view.planes(model.coef_, model.intercept_))  # type: ignore[no-any-return]


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
    return plain((a + b) / 2)  # type: ignore[no-any-return]


def _head(W: Floats) -> Floats:
    """Return the first few weights and the offset."""
    return np.concatenate((W[..., :-1][..., :_SHOWN], W[..., -1:]), axis=-1)


def _thin(n: int, most: int) -> Array:
    """Return all numbers below n, or evenly spaced ones, first and last among them."""
    return np.arange(n) if n <= most else np.unique(np.linspace(0, n - 1, most).round().astype(np.intp))
