"""Many planes separate the same rows: why the one that the perceptron finds is not the best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes

from linsep import encode
from linsep.estimators import MaxMarginClassifier, Perceptron
from linsep.problem import Array, Floats
from linsep.show.plane import Frame
from linsep.show.style import SHAPES, Display, below, theme

_ORDERS: dict[str, dict[str, Any]] = {
    "cyclic": {"shuffle": False},
    "first": {"order": "first"},
    "worst": {"order": "worst"},
}


class PlanesDisplay(Display):
    """Separating planes found in different orders, beside the one of largest margin.

    Rows of two features are drawn with all planes as lines. For more features there is no paper on which all planes are
    lines; then the margin that each plane keeps is drawn instead.

    Parameters
    ----------
    planes : dict of str to (w, b)
        Planes by the name of their order.
    best : tuple (w, b)
        The plane of largest margin.
    X : ndarray of shape (n, 2) or None
        Rows, where they can be drawn.
    positive : ndarray of bool of shape (n,)
    margins : dict of str to float
        Margin that each plane keeps.
    largest : float
        The largest margin.
    labels : tuple
        The negative and the positive label.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> from linsep import PlanesDisplay, teacher
    >>> X, y, _ = teacher(60, 2, margin=0.2)
    >>> display = PlanesDisplay.from_data(X, y)
    >>> display.largest >= max(display.margins.values())
    True
    """

    def __init__(
        self,
        planes: Mapping[str, tuple[Floats, float]],
        best: tuple[Floats, float],
        X: Floats | None,
        positive: Array,
        *,
        margins: Mapping[str, float],
        largest: float,
        labels: tuple[Any, Any],
    ) -> None:
        self.planes, self.best, self.X, self.positive = dict(planes), best, X, positive
        self.margins, self.largest, self.labels = dict(margins), largest, labels

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        fit_intercept: bool = True,
        shuffles: int = 6,
        gap: float = 1e-6,
        ax: Axes | None = None,
        style: str = "light",
    ) -> Self:
        """Train perceptrons in several orders, find the plane of largest margin, and draw them all.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
            Labels of two classes that some plane separates.
        fit_intercept : bool, default=True
        shuffles : int, default=6
            How many shuffled orders to try, beside cyclic, first and worst.
        gap : float, default=1e-6
            Relative accuracy of the largest margin.
        ax : matplotlib Axes, default=None
        style : {"light", "dark"}, default="light"

        Returns
        -------
        display : PlanesDisplay
        """
        best = MaxMarginClassifier(fit_intercept=fit_intercept, gap=gap).fit(X, y)
        orders = _ORDERS | {f"shuffled {seed}": {"random_state": seed} for seed in range(shuffles)}
        models = {
            name: Perceptron(fit_intercept=fit_intercept, max_iter=100_000, **order).fit(X, y)
            for name, order in orders.items()
        }
        return cls.from_estimators(models, best, X, y, ax=ax, style=style)

    @classmethod
    def from_estimators(
        cls,
        models: Mapping[str, Any],
        best: MaxMarginClassifier,
        X: Any,
        y: Any,
        *,
        ax: Axes | None = None,
        style: str = "light",
    ) -> Self:
        """Draw the planes of fitted classifiers beside that of largest margin.

        Parameters
        ----------
        models : dict of str to fitted linear classifier of two classes
        best : fitted MaxMarginClassifier
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        ax : matplotlib Axes, default=None
        style : {"light", "dark"}, default="light"

        Returns
        -------
        display : PlanesDisplay
        """
        if len(best.coef_) > 1:
            raise ValueError(f"a plane separates two classes, the model has {len(best.classes_)} classes")
        table = encode.table(X)
        shown = None
        if table.shape[1] == 2:
            shown = np.asarray(table.todense() if sp.issparse(table) else table, dtype=np.float64)
        display = cls(
            {name: (model.coef_[0], float(model.intercept_[0])) for name, model in models.items()},
            (best.coef_[0], float(best.intercept_[0])),
            shown,
            encode.codes(encode.labels(y), best.classes_) == 1,
            margins={name: model.margin(X, y) for name, model in models.items()},
            largest=best.margin_upper_,
            labels=tuple(best.classes_.tolist()),
        )
        return display.plot(ax=ax, style=style)

    def plot(self, *, ax: Axes | None = None, style: str = "light") -> Self:
        """Draw on ``ax``, or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        style : {"light", "dark"}, default="light"

        Returns
        -------
        self : PlanesDisplay
        """
        if self.X is None:
            return self._plot_margins(ax, style)
        with theme(style) as palette:
            ax = self._open(ax, (5.6, 5.6))
            frame = Frame.around(self.X)
            (w, b), length = self.best, float(np.linalg.norm(self.best[0]))
            line, _ = frame.line(w, b)
            shift = self.largest * w / length
            band = np.array([line[0] - shift, line[1] - shift, line[1] + shift, line[0] + shift])
            ax.fill(*band.T, color=palette.accent, alpha=0.16, linewidth=0)
            for k, (v, c) in enumerate(self.planes.values()):
                label = f"{len(self.planes)} perceptrons, other orders" if k == 0 else None
                ax.plot(*frame.line(v, c)[0].T, color=palette.ink, linewidth=0.9, alpha=0.7, label=label)
            ax.plot(*line.T, color=palette.accent, linewidth=2.4, label=f"largest margin, {self.largest:.3g}")
            for side, colour, marker, name in (
                (~self.positive, palette.negative, SHAPES[0], self.labels[0]),
                (self.positive, palette.positive, SHAPES[1], self.labels[1]),
            ):
                ax.scatter(
                    self.X[side, 0],
                    self.X[side, 1],
                    s=24,
                    c=colour,
                    marker=marker,
                    linewidth=0,
                    label=f"{name}",
                    zorder=3,
                )
            frame.fit(ax)
            ax.set(xlabel="x₁", ylabel="x₂")
            ax.set_title("All of these planes separate the rows")
            below(ax, 2, space=0.1)
        return self

    def _plot_margins(self, ax: Axes | None, style: str) -> Self:
        """Draw the margin that each plane keeps as a dot."""
        with theme(style) as palette:
            ax = self._open(ax, (5.2, 0.9 + 0.3 * len(self.margins)))
            names = sorted(self.margins, key=lambda name: self.margins[name])
            values = [self.margins[name] for name in names]
            places = np.arange(len(names))
            ax.hlines(places, 0, values, color=palette.faint, linewidth=1.2, zorder=1)
            ax.scatter(values, places, color=palette.positive, s=42, zorder=3, label="perceptron")
            ax.axvline(self.largest, color=palette.accent, linewidth=2.4, label=f"largest margin, {self.largest:.3g}")
            ax.set_yticks(places, names)
            ax.set(
                xlabel="margin kept from the rows",
                xlim=(min(0, *values), 1.08 * self.largest),
                ylim=(-0.7, len(names) - 0.3),
            )
            ax.set_title("Planes found in different orders")
            below(ax, 2, space=0.75 / (0.9 + 0.3 * len(names)))
        return self
