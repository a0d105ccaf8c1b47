"""Animates a run, one frame per mistake."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from matplotlib.animation import FFMpegWriter, FuncAnimation, PillowWriter

from linsep.data.files import replacing
from linsep.figures.plane import ViewFrame
from linsep.figures.style import draw_classes, plain, theme
from linsep.learn.evaluation import separations
from linsep.learn.weights import norm
from linsep.problem import Floats, take
from linsep.prove.bounds.audits import Trail, own_trail

_ROWS = 3000  # rows drawn at most
_SIGNS = {  # on the buttons of a page, by the name of the icon that Matplotlib would load from the network
    "fa-minus": "−", "fa-fast-backward": "⏮", "fa-step-backward": "‹", "fa-play fa-flip-horizontal": "◀",
    "fa-pause": "⏸", "fa-play": "▶", "fa-step-forward": "›", "fa-fast-forward": "⏭", "fa-plus": "+",
}  # fmt: skip


def animate(
    model: Any,
    X: Any,
    y: Any,
    path: Any = None,
    *,
    max_frames: int = 120,
    fps: int = 4,
    coef_init: Any = None,
    intercept_init: Any = None,
    row_numbers: Any = None,
    style: str = "light",
) -> FuncAnimation:
    """Show the run of a perceptron, one frame for every mistake.

    Rows of two features are drawn with the plane as it moves; the row of the mistake has a ring, and the plane before
    the update is shown as well. For more features, or more classes, the frames show how far every row is on its side.

    Parameters
    ----------
    model : fitted Perceptron
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
        The rows it was trained on, in their order.
    path : path-like, default=None
        File to write: .gif; .html, a page with controls; or .mp4, which needs ffmpeg.
    max_frames : int, default=120
        Longer runs show an even selection of mistakes.
    fps : int, default=4
        Frames per second.
    coef_init, intercept_init : array-like, default=None
        The first weights, if ``fit`` received any.
    row_numbers : array-like of shape (n,), default=None
        What the rows are called, by default 0, 1, ...: their numbers in a file of which some were dropped.
    style : {"light", "dark"}, default="light"

    Examples
    --------
    >>> import os, tempfile
    >>> from linsep import Perceptron, animate, teacher
    >>> X, y, _ = teacher(60, 2, margin=0.2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     animation = animate(Perceptron().fit(X, y), X, y, f"{folder}/run.gif")
    ...     print(os.listdir(folder))
    ['run.gif']
    """
    ending = None if path is None else os.path.splitext(os.fspath(path))[1].lower()
    if ending not in (None, ".gif", ".mp4", ".html"):
        raise ValueError(f"an animation is written as .gif, .html or .mp4, not {ending}")
    if ending == ".mp4" and shutil.which("ffmpeg") is None:
        raise ValueError("writing .mp4 needs the program ffmpeg, which is not installed: write .gif or .html")
    trail = own_trail(model, X, y, coef_init=coef_init, intercept_init=intercept_init)
    frames = np.unique(np.linspace(0, len(trail.trace), min(max_frames, len(trail.trace) + 1)).round().astype(int))
    flat = len(model.coef_) == 1 and model.coef_.shape[1] == 2
    with theme(style):
        labels = tuple(model.classes_.tolist())
        if flat:
            names = np.arange(len(trail.examples.y)) if row_numbers is None else np.asarray(row_numbers)
            film = _moving_plane(trail, frames, labels, style, 1000 / fps, names)
        else:
            film = _margins(trail, frames, labels, style, 1000 / fps)
        if ending == ".html":
            with replacing(path) as file:
                file.write(_offline(film.to_jshtml(fps=fps)).encode())
        elif ending is not None:
            writer = PillowWriter(fps=fps) if ending == ".gif" else FFMpegWriter(fps=fps)
            with tempfile.TemporaryDirectory() as draft, replacing(path) as file:
                film.save(os.path.join(draft, f"film{ending}"), writer=writer, dpi=100)
                with open(os.path.join(draft, f"film{ending}"), "rb") as made:
                    shutil.copyfileobj(made, file)
    return film


def _offline(page: str) -> str:
    """Return the page of an animation with plain signs on its buttons instead of a font from the network."""
    page = re.sub(r"<link\b[^>]*>", "", page)
    for icon, sign in _SIGNS.items():
        page = page.replace(f'<i class="fa {icon}"></i>', sign)
    return page


def _moving_plane(
    trail: Trail, frames: Any, labels: tuple[Any, ...], style: str, interval: float, names: Any
) -> FuncAnimation:
    points = _dense(trail)
    weights = list(trail.weights_after(frames.tolist()))
    shown = np.random.default_rng(0).permutation(len(points))[:_ROWS]
    with theme(style) as palette:
        figure, ax = plt.subplots(figsize=(5.2, 5.4), layout="constrained")
        frame = ViewFrame.around(points)
        draw_classes(ax, points[shown], trail.examples.y[shown] > 0, labels, palette, size=26)
        (before,) = ax.plot([], [], color=palette.ink, linewidth=1, linestyle=":", label="plane before")
        (line,) = ax.plot([], [], color=palette.ink, linewidth=2, label="plane")
        ring = ax.scatter(
            [], [], s=190, facecolors="none", edgecolors=palette.accent, linewidths=2.2, zorder=5, label="mistake"
        )
        arrow = ax.annotate(
            "", (0, 0), (0, 0), arrowprops={"arrowstyle": "-|>", "color": palette.ink, "lw": 1.8}, zorder=6
        )
        frame.fit(ax)
        ax.set(xlabel="x₁ (rows are numbered from 0)", ylabel="x₂")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.11), ncols=5, columnspacing=1.0, handletextpad=0.4)

    def draw(t: int) -> list[Any]:
        k = int(frames[t])
        for artist, place in ((line, t), (before, t - 1)):
            W, b = weights[max(place, 0)]
            ends = frame.line(W[0], float(b[0])) if W.any() and place >= 0 else None
            artist.set_data(*(ends[0].T if ends is not None else ([], [])))
            if artist is line:
                arrow.set_visible(ends is not None)
                if ends is not None:
                    arrow.set_position(ends[1][0])
                    arrow.xy = ends[1][1]
        ring.set_offsets(points[int(trail.trace[k - 1])] if k else np.empty((0, 2)))
        row = f", on row {names[int(trail.trace[k - 1])]}" if k else ""
        ax.set_title(f"mistake {k} of {len(trail.trace)}{row}")
        return [line, before, ring, arrow]

    return FuncAnimation(figure, draw, frames=len(frames), interval=interval, blit=False)


def _margins(trail: Trail, frames: Any, labels: tuple[Any, ...], style: str, interval: float) -> FuncAnimation:
    rng = np.random.default_rng(0)
    shown = np.sort(rng.permutation(len(trail.examples.y))[:_ROWS])
    some = trail.examples._replace(
        rows=take(trail.examples.rows, shown), y=trail.examples.y[shown], step=trail.examples.step[shown]
    )
    margins = []
    for W, b in trail.weights_after(frames.tolist()):
        margins.append(separations(some, W, b) / (norm(W) or 1.0))
    # the first planes can be far from all rows: rows further out than in most frames are drawn at the edge
    reach = 1.05 * float(np.quantile([np.abs(m).max() for m in margins], 0.75)) or 1.0
    groups = np.where(some.y > 0, 1, 0) if len(trail.start) == 1 else some.y
    heights = groups + 0.7 * (rng.random(len(shown)) - 0.5)
    with theme(style) as palette:
        figure, ax = plt.subplots(figsize=(5.6, 1.6 + 0.8 * len(labels)), layout="constrained")
        drawn = []
        for c, mark in enumerate(palette.marks(labels)):
            own = groups == c
            dots = ax.scatter(margins[0][own], heights[own], s=16, linewidth=0, alpha=0.7, **mark)
            drawn.append((dots, own))
        ax.axvspan(-reach, 0, color=palette.ink, alpha=0.08, linewidth=0)
        ax.axvline(0, color=palette.ink, linewidth=1.6)
        ax.set_yticks(range(len(labels)), [plain(label) for label in labels])
        measure = "margin y·s(x)/‖w‖" if len(trail.start) == 1 else "lead of the true class / ‖w‖"
        ax.set(xlim=(-reach, reach), xlabel=f"wrong side   ←   {measure}   →   right side")

    def draw(t: int) -> list[Any]:
        for dots, own in drawn:
            dots.set_offsets(np.column_stack((np.clip(margins[t][own], -reach, reach), heights[own])))
        wrong = int(np.count_nonzero(margins[t] <= 0))
        part = "" if len(shown) == len(trail.examples.y) else f" of the {len(shown):,} rows shown"
        ax.set_title(f"mistake {int(frames[t]):,} of {len(trail.trace):,}: {wrong:,} wrong{part}")
        return [dots for dots, _ in drawn]

    return FuncAnimation(figure, draw, frames=len(frames), interval=interval, blit=False)


def _dense(trail: Trail) -> Floats:
    rows = trail.examples.rows
    if len(rows) == 1:
        return np.asarray(rows.data, dtype=np.float64)
    index = np.dtype(f"i{rows.indices.dtype.itemsize}")
    whole = sp.csr_array(
        (rows.data, rows.indices.view(index), rows.indptr.view(index)), shape=(len(trail.examples.y), 2)
    )
    return np.asarray(whole.todense(), dtype=np.float64)
