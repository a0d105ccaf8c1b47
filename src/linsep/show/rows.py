"""How far the rows keep from the plane."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from linsep import encode
from linsep.estimators.linear import Linear
from linsep.problem import Array, Floats
from linsep.show.style import Display, below, theme
from linsep.train import norm, separations


class MarginsDisplay(Display):
    """The margins of all rows as a histogram: how far each is on its right side, or on the wrong one.

    Parameters
    ----------
    margins : ndarray of shape (n,)
        ``y s(x)/‖w‖`` of every row; for many classes the lead of the true class divided by the norm of all weights.
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

    def __init__(self, margins: Floats, groups: Array, labels: tuple[Any, ...]) -> None:
        self.margins, self.groups, self.labels = margins, groups, labels
        self.smallest_ = float(margins.min())
        self.wrong_ = int(np.count_nonzero(margins <= 0))

    @classmethod
    def from_estimator(cls, model: Linear, X: Any, y: Any, *, ax: Axes | None = None, style: str = "light") -> Self:
        """Draw the margins of some rows under the plane of a fitted classifier.

        Parameters
        ----------
        model : fitted linear classifier
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        ax : matplotlib Axes, default=None
        style : {"light", "dark"}, default="light"

        Returns
        -------
        display : MarginsDisplay
        """
        X = encode.matrix(model, X, reset=False)
        codes = encode.codes(encode.labels(y), model.classes_)
        encode.same_length(X, codes)
        data = encode.examples(encode.to_rows(X), codes, len(model.coef_), np.ones(len(codes)))
        size = norm(model.coef_)
        if size == 0:
            raise ValueError("there is no plane: w = 0")
        margins = separations(data, model.coef_, model.intercept_) / size
        return cls(margins, codes, tuple(model.classes_.tolist())).plot(ax=ax, style=style)

    def plot(self, *, ax: Axes | None = None, style: str = "light") -> Self:
        """Draw on ``ax``, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        style : {"light", "dark"}, default="light"

        Returns
        -------
        self : MarginsDisplay
        """
        with theme(style) as palette:
            ax = self._open(ax, (5.2, 3.6))
            two = len(self.labels) == 2
            groups = [self.margins[self.groups == c] for c in range(2)] if two else [self.margins]
            colours = [palette.negative, palette.positive] if two else [palette.positive]
            names = [f"rows of {label}" for label in self.labels] if two else ["rows"]
            bins = min(60, max(8, math.ceil(2 * len(self.margins) ** (1 / 3))))
            edges = np.histogram_bin_edges(self.margins, bins).tolist()
            drawn: Any = ax.hist(groups, edges, stacked=True, color=colours, label=names, linewidth=0)[2]
            if two:
                for patch in drawn[1]:
                    patch.set_hatch("///")  # told apart in print
                    patch.set_edgecolor(palette.paper)
            ax.axvline(0, color=palette.ink, linewidth=1.4)
            ax.axvline(
                self.smallest_,
                color=palette.accent,
                linewidth=1.8,
                linestyle="--",
                label=f"smallest, {self.smallest_:.3g}",
            )
            if self.smallest_ < 0:
                ax.axvspan(min(self.smallest_, edges[0]), 0, color=palette.ink, alpha=0.08, linewidth=0, zorder=0)
            ax.set(xlabel="margin y·s(x)/‖w‖" if two else "lead of the true class / ‖w‖", ylabel="rows")
            wrong = "no row is wrong"
            if self.wrong_:
                touching = " or on the plane" if (self.margins == 0).any() else ""
                wrong = f"{self.wrong_:,} of {len(self.margins):,} are wrong{touching}"
            ax.set_title(f"Margins of the rows: {wrong}")
            ax.yaxis.set_major_locator(MaxNLocator(integer=True))
            below(ax, 3, space=0.18)
        return self
