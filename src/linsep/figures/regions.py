"""Draws the region of each class for more than two classes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from linsep.data.arrays import to_rows
from linsep.figures.plane import (
    ViewFrame,
    dense,
    draw_crosses,
    judged,
    mistake_sizes,
    name_axes,
    records,
    some_rows,
    two_names,
)
from linsep.figures.style import Display, Palette, below, draw_classes, plain
from linsep.learn.evaluation import scores
from linsep.models.linear import Linear
from linsep.problem import Array, Floats


@dataclass(eq=False, repr=False)
class RegionsDisplay(Display):
    """The regions of a multiclass classifier, with the rows and the mistakes made on them.

    Rows of one or two features are drawn as they are. Others are projected on the two directions in which the weight
    vectors of the classes differ most: with three classes nothing is lost by it, with more the regions are those at
    the mean of the directions left out.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        Rows as drawn.
    groups : ndarray of shape (n,)
        Class number of every row.
    W, b : ndarray of shape (classes, 2), ndarray of shape (classes,)
        Weights and offsets in the coordinates drawn.
    counts : ndarray of shape (n,)
        Mistakes made on each row, which give the size of its mark.
    wrong : ndarray of bool of shape (n,)
        Rows that the classifier predicts wrong, which have a cross.
    labels : tuple
        Labels of the classes.
    axes_names : tuple of str
    caption : str, default=""

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from linsep import Perceptron, RegionsDisplay
    >>> X, y = [[0, 0], [1, 0], [5, 0], [6, 0], [0, 5], [0, 6]], ["a", "a", "b", "b", "c", "c"]
    >>> display = RegionsDisplay.from_estimator(Perceptron().fit(X, y), X, y)
    >>> display.labels
    ('a', 'b', 'c')
    """

    points: Floats
    groups: Array
    W: Floats
    b: Floats
    _: KW_ONLY
    counts: Array
    wrong: Array
    labels: tuple[Any, ...]
    axes_names: tuple[str, str]
    caption: str = ""

    @classmethod
    def from_estimator(cls, model: Linear, X: Any, y: Any, *, ax: Axes | None = None, style: str = "light") -> Self:
        """Draw the regions of a fitted classifier of three or more classes; ``ax`` and ``style`` as in `plot`."""
        X, groups = judged(cls, model, X, y)
        if len(model.coef_) == 1:
            raise ValueError("two classes have a plane between them: draw it with PlaneDisplay")
        counts, _ = records(model, X.shape[0])
        rows = some_rows(np.arange(X.shape[0], dtype=float), counts)
        part = X[rows]
        W, b = model.coef_, model.intercept_
        wrong = scores(to_rows(part), W, b).argmax(axis=1) != groups[rows]
        caption = f"{len(rows):,} of {X.shape[0]:,} rows" if len(rows) < X.shape[0] else ""
        given = getattr(model, "feature_names_in_", None)
        if X.shape[1] == 1:  # on a line, which the second coordinate does not matter to
            points, W = np.pad(dense(part), ((0, 0), (0, 1))), np.pad(W, ((0, 0), (0, 1)))
            names = ("x" if given is None else str(given[0]), "")
        elif X.shape[1] == 2:
            points, names = dense(part), two_names(given)
        else:
            directions = np.linalg.svd(W - W.mean(axis=0), full_matrices=False)[2][:2]  # (2, d)
            points = np.asarray(part @ directions.T, dtype=np.float64)
            middle = np.asarray(X.mean(axis=0)).ravel()
            middle = middle - directions.T @ (directions @ middle)  # what the projection takes for granted
            W, b = W @ directions.T, b + W @ middle
            names = ("first direction between classes", "second direction (projection)")
            caption = f"projection of {X.shape[1]:,} features" + (f", {caption}" if caption else "")
            if len(W) > 3:
                caption += "; regions at the mean of the rest"
        display = cls(
            points, groups[rows], W, b, counts=counts[rows], wrong=wrong, labels=tuple(model.classes_.tolist()),
            axes_names=names, caption=caption,
        )  # fmt: skip
        return display.plot(ax=ax, style=style)

    def _draw(self, ax: Axes, palette: Palette) -> None:
        frame = ViewFrame.around(self.points)
        frame.fit(ax)
        x, y = np.meshgrid(*(np.linspace(m - r, m + r, 500) for m, r in zip(*frame, strict=True)))
        region = (np.stack((x, y), axis=-1) @ self.W.T + self.b).argmax(axis=-1)
        colors = ListedColormap([mark["color"] for mark in palette.marks(self.labels)])
        levels = np.arange(len(self.labels) + 1) - 0.5
        ax.imshow(
            region, origin="lower", extent=(*ax.get_xlim(), *ax.get_ylim()), cmap=colors, vmin=levels[0],
            vmax=levels[-1], alpha=0.22, interpolation="nearest", zorder=0,
        )  # fmt: skip
        if len(np.unique(region)) > 1:
            ax.contour(x, y, region, levels=levels[1:-1], colors=palette.ink, linewidths=0.9)
        marks: dict[str, Any] = {"size": mistake_sizes(self.counts), "linewidth": 0.4, "edgecolor": palette.paper}
        draw_classes(ax, self.points, self.groups, self.labels, palette, **marks)
        if self.wrong.any():
            draw_crosses(ax, self.points[self.wrong], palette, "wrong")
        if 5 < len(self.labels) <= 12:  # many to look up in a legend: name them where they are
            for c in np.unique(self.groups):
                x, y = np.median(self.points[self.groups == c], axis=0)
                box = {"facecolor": palette.paper, "edgecolor": "none", "alpha": 0.75, "boxstyle": "round,pad=0.15"}
                ax.annotate(plain(self.labels[c]), (x, y), ha="center", va="center", fontsize=10, zorder=6, bbox=box)
        name_axes(ax, self.axes_names, self.caption)
        ax.set_title("Regions" + ("; larger marks: more mistakes" if self.counts.any() else ""))
        below(ax, min(5, len(self.labels) + 1), space=0.17 if self.caption else 0.11)
