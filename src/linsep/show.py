"""Figures, as scikit-learn style Display classes; the only room that draws."""

from __future__ import annotations

from typing import Any, Self

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from linsep import encode
from linsep.estimators.linear import Linear
from linsep.problem import Array, Floats

# Okabe & Ito (2008): told apart by colour-blind readers and in print; shapes say the same again.
NEGATIVE, POSITIVE, INK = "#D55E00", "#0072B2", "#444444"


class PlaneDisplay:
    """The plane of a binary classifier with its margin band, its normal and the rows.

    Rows of two features are drawn as they are. Others are projected on ``w`` and on the direction across it in which
    they spread most, so that the plane is a straight line and distances to it are true.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        Rows as drawn.
    positive : ndarray of bool of shape (n,)
        Which rows have the positive label.
    w, b
        The plane in the coordinates drawn.
    counts : ndarray of shape (n,)
        Mistakes made on each row, which give the size of its mark.
    labels : tuple
        The negative and the positive label.
    axes_names : tuple of str
        What the two axes are.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    margin_ : float
        Half the width of the band: the smallest distance of a row to the plane.

    Examples
    --------
    >>> from linsep import Perceptron, PlaneDisplay, teacher
    >>> X, y, _ = teacher(100, 2)
    >>> display = PlaneDisplay.from_estimator(Perceptron().fit(X, y), X, y)
    >>> display.figure_.savefig("plane.png")  # doctest: +SKIP
    """

    figure_: Figure
    ax_: Axes

    def __init__(
        self,
        points: Floats,
        positive: Array,
        w: Floats,
        b: float,
        *,
        counts: Array,
        labels: tuple[Any, Any],
        axes_names: tuple[str, str],
    ) -> None:
        self.points, self.positive, self.w, self.b = points, positive, w, b
        self.counts, self.labels, self.axes_names = counts, labels, axes_names
        self.margin_ = float(np.abs(points @ w + b).min() / np.linalg.norm(w))

    @classmethod
    def from_estimator(cls, model: Linear, X: Any, y: Any, *, ax: Axes | None = None) -> Self:
        """Draw the plane of a fitted binary classifier among rows.

        Parameters
        ----------
        model : fitted linear classifier with two classes
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        ax : matplotlib Axes, default=None
            Where to draw; a new figure unless given.

        Returns
        -------
        display : PlaneDisplay
        """
        if len(model.classes_) != 2:
            raise ValueError(f"a plane has two sides, but the model knows {len(model.classes_)} classes")
        X = encode.matrix(model, X, reset=False)
        X = np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=np.float64)
        positive = encode.codes(encode.labels(y), model.classes_) == 1
        counts = getattr(model, "mistake_counts_", np.zeros(0))
        if len(counts) != len(X):
            counts = np.zeros(len(X))
        w, b = model.coef_[0], float(model.intercept_[0])
        length = float(np.linalg.norm(w))
        if length == 0:
            raise ValueError("there is no plane to draw: w = 0")
        if X.shape[1] == 2:
            names = tuple(getattr(model, "feature_names_in_", ["x₁", "x₂"]))
            points, plane = X, w
        else:
            along = X @ w / length
            rest = X - along[:, None] * (w / length)
            _, _, directions = np.linalg.svd(rest - rest.mean(axis=0), full_matrices=False)
            points = np.column_stack((along, rest @ directions[0]))
            plane, names = np.array([length, 0.0]), ("along w", "across w, widest spread (projection)")
        display = cls(
            points, positive, plane, b, counts=counts, labels=tuple(model.classes_.tolist()), axes_names=names
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw on ``ax``, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        self : PlaneDisplay
        """
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
        self.ax_ = ax
        self.figure_ = ax.figure  # type: ignore[assignment]  # or a SubFigure, which serves as well
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        middle, reach = (low + high) / 2, 0.56 * float((high - low).max() or 1.0)

        unit, length = self.w / np.linalg.norm(self.w), float(np.linalg.norm(self.w))
        foot = middle - (unit @ middle + self.b / length) * unit  # the point of the plane nearest to the middle
        along = np.array([-unit[1], unit[0]]) * 4 * reach
        sides = [foot - along, foot + along]
        shift = self.margin_ * unit
        band = np.array([sides[0] - shift, sides[1] - shift, sides[1] + shift, sides[0] + shift])
        ax.fill(*band.T, color=INK, alpha=0.12, linewidth=0, label=f"margin band, 2 × {self.margin_:.3g}")
        ax.plot(*np.array(sides).T, color=INK, linewidth=1.6, label="plane")
        ax.annotate("", foot + 0.35 * reach * unit, foot, arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.6})
        ax.annotate("w", foot + 0.41 * reach * unit, color=INK, fontsize=12, ha="center", va="center")

        size = 22 + 60 * np.sqrt(self.counts / max(1, self.counts.max(initial=0)))
        for side, colour, marker, label in (
            (~self.positive, NEGATIVE, "o", self.labels[0]),
            (self.positive, POSITIVE, "^", self.labels[1]),
        ):
            x, y = self.points[side].T
            ax.scatter(x, y, s=size[side], c=colour, marker=marker, alpha=0.85, linewidth=0, label=f"{label}")
        ax.set(
            xlim=(middle[0] - reach, middle[0] + reach),
            ylim=(middle[1] - reach, middle[1] + reach),
            xlabel=self.axes_names[0],
            ylabel=self.axes_names[1],
            aspect="equal",
        )
        title = "Plane and margin"
        if self.counts.any():
            title += "; larger marks: more mistakes in training"
        ax.set_title(title, fontsize=11)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=4, frameon=False, fontsize=9)
        return self
