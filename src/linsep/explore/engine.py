"""Points and settings in, everything that the page shows out; what is computed here, linsep's own functions compute."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from linsep.bounds.steps import Trail, audit, retrace
from linsep.estimators import Perceptron
from linsep.explore.asked import KEEPS, Points, Settings
from linsep.margin import Margin, largest_margin
from linsep.problem import Array, Floats, NotSeparable
from linsep.proof import Refutation, Verdict
from linsep.separate import separate

_FRAMES = 1000  # moments of a run that are sent; of a longer run evenly spaced ones
_PASSES = 400  # passes that are sent
_CURVE = 80  # points of a curve that is known by its formula
_SHOWN = 4  # numbers of a weight vector that are spelled out
_SECONDS = 60.0  # that the search for a verdict may take; the first one compiles, which counts


def answer(points: Points, settings: Settings) -> dict[str, Any]:
    """Return all that the page shows of some points: the run, the verdict, the theorem, as plain JSON values.

    Parameters
    ----------
    points : Points
    settings : Settings

    Returns
    -------
    shown : dict
        ``run`` is None and ``note`` says why if there is nothing to learn yet.

    Examples
    --------
    >>> from linsep.explore.asked import Points, Settings
    >>> from linsep.explore.engine import answer
    >>> rows = ((1, 0), (0, -1), (0, 1), (-1, 0))
    >>> shown = answer(Points(rows, (1, -1, 1, -1)), Settings(fit_intercept=False, order="cyclic"))
    >>> shown["run"]["mistakes"], shown["theorem"]["allowed"], shown["verdict"]["kind"]
    (2, 2, 'separable')
    """
    X, names = _columns(points, settings)
    y = np.array(points.labels, dtype=object)
    classes = sorted(set(points.labels))
    shown: dict[str, Any] = {
        "classes": classes,
        "keeps": KEEPS,
        "run": None,
        "verdict": None,
        "margin": None,
        "theorem": None,
        "note": "",
    }
    if len(classes) < 2:
        view = _view(X, names, None)
        shown["note"] = "Place points of at least two classes, and the run begins."
        return shown | {"view": view.words, "points": _plain(view.points(X))}
    y = np.array(points.labels)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # a budget that is spent, a wide bracket: the page says so in its own words
        first, offset = _first_weights(settings, X.shape[1], len(classes))
        model = Perceptron(**settings.parameters()).fit(X, y, coef_init=first, intercept_init=offset)
        trail = retrace(model, X, y, coef_init=first, intercept_init=offset)
        verdict = separate(X, y, fit_intercept=settings.fit_intercept, time_limit=_SECONDS)
        margin = _margin(X, y, verdict)
        view = _view(X, names, model.coef_[0] if len(classes) == 2 else None)
        shown |= {"view": view.words, "points": _plain(view.points(X))}
        shown["run"] = _run(model, trail, X, y, view)
        shown["verdict"] = _verdict(verdict, X, y, view)
        shown["margin"] = _drawn_margin(margin, view)
        if margin is not None:
            shown["theorem"], shown["note"] = _theorem(model, X, y, first, offset, shown["run"]["frames"])
    return shown


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


def _margin(X: Floats, y: Array, verdict: Verdict) -> Margin | None:
    """Return the largest margin of separable points, as people draw it; None where double precision finds none."""
    if verdict.kind != "separable":
        return None
    try:
        return largest_margin(X, y, form="affine" if verdict.fit_intercept else "origin")
    except NotSeparable:
        return None


# ---------------------------------------------------------------------------------------------------------------
# What is seen of more than two columns


class View(NamedTuple):
    """A window of two directions onto the points: ``x`` is drawn at ``basis (x - origin)``."""

    origin: Floats  # (d,)
    basis: Floats  # (2, d)
    kind: str  # "columns" or "projection"
    axes: tuple[str, str]

    @property
    def words(self) -> dict[str, Any]:
        """What the page says about the view."""
        said = ""
        if self.kind == "projection":
            said = (
                f"{len(self.origin)} columns, projected: points may look misplaced, lines are cuts through the view. "
                "Choose two columns to move points."
            )
        return {"kind": self.kind, "axes": list(self.axes), "said": said}

    def points(self, X: Floats) -> Floats:
        """Return where rows are drawn, shape (n, 2)."""
        return (X - self.origin) @ self.basis.T

    def planes(self, W: Floats, b: Any) -> Floats:
        """Return planes as they cut the view: weights of shape (..., d) become two weights and an offset, (..., 3)."""
        return np.concatenate((W @ self.basis.T, (W @ self.origin + b)[..., None]), axis=-1)


def _view(X: Floats, names: list[str], w: Floats | None) -> View:
    """Return the view of one or two columns as they are; of more, along w and along what varies most across it."""
    d = X.shape[1]
    if d <= 2:
        return View(
            np.zeros(d), np.eye(2, d), "columns", (names[0], names[1]) if d == 2 else (names[0] if d else "", "")
        )
    origin = X.mean(axis=0)
    centred = X - origin
    basis = []
    if w is not None and np.linalg.norm(w) > 0:
        basis.append(w / np.linalg.norm(w))
        centred = centred - np.outer(centred @ basis[0], basis[0])
    directions = np.linalg.svd(centred, full_matrices=True)[2][: 2 - len(basis)]
    basis += [v * (1 if v[np.abs(v).argmax()] > 0 else -1) for v in directions]  # the sign is free: fix it
    axes = (
        ("along the last w", "most varied across it") if w is not None else ("1st principal axis", "2nd principal axis")
    )
    return View(origin, np.array(basis), "projection", axes)


# ---------------------------------------------------------------------------------------------------------------
# The run


def _run(model: Perceptron, trail: Trail, X: Floats, y: Array, view: View) -> dict[str, Any]:
    """Return the run, moment by moment."""
    machines, k = len(trail.start), len(trail.trace)
    path = _path(trail)
    if model.keep == "last":  # to the bit, where sums rounded differently on the way
        path[-1] = np.column_stack((model.coef_, model.intercept_))
    frames = _thin(k + 1, _FRAMES)
    after, before = path[frames], path[np.maximum(frames - 1, 0)]
    ends = np.cumsum(model.history_["mistakes"])
    passes = _thin(len(ends), _PASSES)
    squares = np.square(path).sum(axis=(1, 2))
    return {
        "stop": model.stop_reason_,
        "mistakes": k,
        "passes": model.n_iter_,
        "errors": model.training_errors_,
        "rows": len(X),
        "radius": model.radius_,
        "margin": _plain(model.margin_),
        "eta": float(model.eta0),
        "offset": bool(model.fit_intercept),
        "update_margin": float(model.update_margin),
        "trace": model.trace_.tolist(),
        "counts": model.mistake_counts_.tolist(),
        "frames": frames.tolist(),
        "planes": _plain(view.planes(after[..., :-1], after[..., -1])),
        "before": _plain(_head(before)),
        "after": _plain(_head(after)),
        "rivals": (trail.trace[np.maximum(frames - 1, 0)] % machines).tolist() if k and machines > 1 else [],
        "leads": _plain(trail.leads[np.maximum(frames - 1, 0)]) if k else [0.0],
        "inputs": _plain(X[:, :_SHOWN]),
        "columns": X.shape[1],
        "growth": _plain(squares[frames]),
        "moved": _plain(_running_bound(trail)[frames]),
        "growth_bound": _plain(_growth_bound(trail, frames)),
        "kept": _kept(model, view),
        "pass": {
            "number": (passes + 1).tolist(),
            "end": ends[passes].tolist(),
            "mistakes": model.history_["mistakes"][passes].tolist(),
            "loss": _plain(model.history_["loss"][passes]),
            "validation_error": _plain(model.history_["validation_error"][passes]),
            "errors": _errors(model, path[ends[passes]], X, y),
        },
    }


def _path(trail: Trail) -> Floats:
    """Return the weights after every mistake, offsets last, shape (k + 1, machines, d + 1)."""
    machines, k = len(trail.start), len(trail.trace)
    rows, rivals = np.divmod(trail.trace.astype(np.intp), machines)
    x = np.column_stack((trail.examples.rows.data, np.full(len(trail.examples.y), trail.rule.offset)))[rows]
    steps = np.zeros((k + 1, *trail.start.shape))
    steps[0] = trail.start
    labels, moment = trail.examples.y[rows], np.arange(1, k + 1)
    if machines == 1:
        steps[1:, 0] = trail.eta * labels[:, None] * x
    else:
        steps[moment, labels] += trail.eta * x
        steps[moment, rivals] -= trail.eta * x
    return np.cumsum(steps, axis=0)


def _running_bound(trail: Trail) -> Floats:
    """Return the upper bound on the largest margin that the run itself proves, for every k."""
    k = np.arange(len(trail.trace) + 1.0)
    return np.where(k > 0, trail.moved / (trail.eta * np.maximum(k, 1)), np.inf)


def _growth_bound(trail: Trail, k: Array) -> Floats:
    """Return what the squared norm is at most after k mistakes."""
    step = trail.eta**2 * float(trail.squares.max()) + 2 * trail.eta * trail.rule.margin
    return float(np.square(trail.start).sum()) + k * step


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
    """Return the weights that the run hands over, if they need not be the last ones."""
    if model.keep == "last" or not np.isfinite(model.coef_).all():
        return None
    return _plain(view.planes(model.coef_, model.intercept_))  # type: ignore[no-any-return]


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
    plane = None
    if verdict.separator is not None and verdict.separator.w.ndim == 1:
        w, b = verdict.separator.w.astype(np.float64), float(verdict.separator.b)
        plane = _plain(view.planes(w, b))
    refuted = verdict.refutation
    return {
        "kind": verdict.kind,
        "checked": verdict.check(X, y),
        "plane": plane,
        "refutation": None if refuted is None else _refutation(refuted, verdict.classes, X, y, view),
    }


def _refutation(found: Refutation, classes: tuple[Any, ...], X: Floats, y: Array, view: View) -> dict[str, Any]:
    """Return rows, weights, and for each class (one of two is enough) the partial sums of the rows as they cancel."""
    codes = np.searchsorted(np.array(classes), y)[found.indices]
    weights = np.array([float(weight / sum(found.weights)) for weight in found.weights])
    drawn = X[found.indices] @ view.basis.T
    walks = []
    for c in range(len(classes)) if len(classes) > 2 else (1,):
        signs = (codes == c).astype(int) - (found.rivals == c)
        used = np.flatnonzero(signs)
        if len(used):
            used = used[np.argsort(np.arctan2(*(signs[used, None] * drawn[used]).T[::-1]), kind="stable")]
            steps = weights[used, None] * signs[used, None] * drawn[used]
            sums = np.vstack((np.zeros((1, 2)), np.cumsum(steps, axis=0)))
            walks.append(
                {"class": c, "sums": _plain(sums), "rows": found.indices[used].tolist(), "signs": signs[used].tolist()}
            )
    return {
        "rows": found.indices.tolist(),
        "rivals": found.rivals.tolist(),
        "weights": [str(weight) for weight in found.weights],
        "shares": _plain(weights),
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
        "support": np.unique(margin.support).tolist(),
    }


def _theorem(
    model: Perceptron, X: Floats, y: Array, first: Floats | None, offset: Floats | None, frames: list[int]
) -> tuple[dict[str, Any] | None, str]:
    """Return the proof of the mistake bound with the numbers of this run, or why there is none."""
    try:
        checked = audit(model, X, y, coef_init=first, intercept_init=offset)
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
        "radius": bound.largest_update,
        "margin": bound.margin.lower,
        "margin_upper": bound.margin.upper,
        "form": bound.margin.form,
        "from_zero": first is None or not (first.any() or (offset is not None and offset.any())),
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


def _plain(values: Any) -> Any:
    """Return numbers as JSON has them: what is not finite is null."""
    array = np.asarray(values)
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return array.tolist()
    numbers = array.astype(object)
    numbers[~np.isfinite(array)] = None
    return numbers.tolist()
