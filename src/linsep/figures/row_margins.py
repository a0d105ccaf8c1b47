"""Draws the distances of the rows from the plane."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from linsep.data.arrays import to_rows
from linsep.data.labels import as_examples
from linsep.figures.plane import judged
from linsep.figures.style import Display, Palette, below, plain
from linsep.learn.evaluation import separations
from linsep.learn.weights import norm
from linsep.models.linear import Linear
from linsep.problem import Array, Floats


@dataclass(eq=False, repr=False)
class MarginsDisplay(Display):
    """A histogram of the margins of all rows: how far each is on the correct side, or on the wrong one.

    Parameters
    ----------
    margins : ndarray of shape (n,)
        ``y s(x)/‖w‖`` of every row; for more than two classes the lead of the true class divided by the norm of all
        weights.
    groups : ndarray of shape (n,)
        Class number of every row.
    labels : tuple
        Labels of the classes.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    smallest_ : float
        The smallest margin of a row, which is that of the plane.
    wrong_ : int
        Rows of margin 0 or less.

    Examples
    --------
    >>> from linsep import MarginsDisplay, Perceptron, teacher
    >>> X, y, _ = teacher(100, 3)
    >>> MarginsDisplay.from_estimator(Perceptron().fit(X, y), X, y).wrong_
    0
    """

    _size = 5.2, 3.6

    margins: Floats
    groups: Array
    labels: tuple[Any, ...]

    def __post_init__(self) -> None:
        self.smallest_ = float(self.margins.min())
        self.wrong_ = int(np.count_nonzero(self.margins <= 0))

    @classmethod
    def from_estimator(cls, model: Linear, X: Any, y: Any, *, ax: Axes | None = None, style: str = "light") -> Self:
        """Draw the margins of some rows under the plane of a classifier; ``ax`` and ``style`` as in `plot`."""
        X, codes = judged(cls, model, X, y)
        data = as_examples(to_rows(X), codes, len(model.coef_), np.ones(len(codes)))
        size = norm(model.coef_)
        if size == 0:
            raise ValueError("there is no plane: w = 0")
        margins = separations(data, model.coef_, model.intercept_) / size
        return cls(margins, codes, tuple(model.classes_.tolist())).plot(ax=ax, style=style)

    def _draw(self, ax: Axes, palette: Palette) -> None:
        """Draw the histogram, both classes on top of each other, with the smallest margin."""
        two = len(self.labels) == 2
        bins = min(60, max(8, math.ceil(2 * len(self.margins) ** (1 / 3))))
        edges = np.histogram_bin_edges(self.margins, bins)
        height = np.zeros(bins)
        bars: list[tuple[Any, str, dict[str, Any]]] = [(slice(None), "rows", {"facecolor": palette.positive})]
        if two:  # told apart in print as well
            negative, positive = (mark["color"] for mark in palette.marks(self.labels))
            hatched = {"facecolor": positive, "hatch": "///", "edgecolor": palette.paper}
            names = [f"rows of {plain(label)}" for label in self.labels]
            bars = [(self.groups == 0, names[0], {"facecolor": negative}), (self.groups == 1, names[1], hatched)]
        for own, name, bar in bars:
            rows = np.histogram(self.margins[own], edges)[0]
            ax.stairs(height + rows, edges, baseline=height, fill=True, linewidth=0, label=name, **bar)
            height = height + rows
        ax.axvline(0, color=palette.ink, linewidth=1.4)
        name = f"smallest, {self.smallest_:.3g}"
        ax.axvline(self.smallest_, color=palette.accent, linewidth=1.8, linestyle="--", label=name)
        if self.smallest_ < 0:
            ax.axvspan(min(self.smallest_, edges[0]), 0, color=palette.ink, alpha=0.08, linewidth=0, zorder=0)
        ax.set(xlabel="margin y·s(x)/‖w‖" if two else "lead of the true class / ‖w‖", ylabel="rows")
        wrong = "no row is wrong"
        if self.wrong_:
            touching = " or on the plane" if (self.margins == 0).any() else ""
            wrong = f"{self.wrong_:,} of {len(self.margins):,} are wrong{touching}"
        ax.set_title(f"Margins of the rows: {wrong}")
        ax.set_ylim(0, 1.05 * height.max())
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        below(ax, 3, space=0.18)
