"""Draws many planes that separate the same rows beside the one with the largest margin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from linsep.figures.plane import ViewFrame, dense, draw_band, judged, name_axes, two_names
from linsep.figures.style import Display, Palette, below, draw_classes
from linsep.models.estimators import MaxMarginClassifier, Perceptron
from linsep.problem import Array, Floats

_ORDERS: dict[str, dict[str, Any]] = {
    "cyclic": {"shuffle": False},
    "first": {"order": "first"},
    "worst": {"order": "worst"},
}


@dataclass(eq=False, repr=False)
class PlanesDisplay(Display):
    """Separating planes found in different orders, beside the one of largest margin.

    Rows of two features are drawn with all planes as lines. With more features, the margin
    of each plane is drawn instead.

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
        Margin of each plane.
    largest : float
        The largest margin.
    labels : tuple
        The negative and the positive label.
    axes_names : tuple of str, default=("x₁", "x₂")
        Names of the two axes.

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

    planes: dict[str, tuple[Floats, float]]
    best: tuple[Floats, float]
    X: Floats | None
    positive: Array
    _: KW_ONLY
    margins: dict[str, float]
    largest: float
    labels: tuple[Any, Any]
    axes_names: tuple[str, str] = ("x₁", "x₂")

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
        ax, style
            As in `plot`.
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
        """Draw the planes of fitted classifiers of two classes, by name, beside that of largest margin."""
        if len(best.coef_) > 1:
            raise ValueError(f"a plane separates two classes, but the model has {len(best.classes_)}")
        rows, codes = judged(cls, best, X, y)
        display = cls(
            {name: (model.coef_[0], float(model.intercept_[0])) for name, model in models.items()},
            (best.coef_[0], float(best.intercept_[0])),
            dense(rows) if rows.shape[1] == 2 else None,
            codes == 1,
            margins={name: model.margin(X, y) for name, model in models.items()},
            largest=best.margin_upper_,
            labels=tuple(best.classes_.tolist()),
            axes_names=two_names(getattr(best, "feature_names_in_", None)) if rows.shape[1] == 2 else ("", ""),
        )
        return display.plot(ax=ax, style=style)

    @property
    def _size(self) -> tuple[float, float]:  # type: ignore[override]
        """Inches of a new figure: a square, or a line for every order."""
        return (5.6, 5.6) if self.X is not None else (5.2, 0.9 + 0.3 * len(self.margins))

    def _draw(self, ax: Axes, palette: Palette) -> None:
        if self.X is None:
            self._draw_margins(ax, palette)
            return
        frame = ViewFrame.around(self.X)
        w, b = self.best
        line, _ = frame.line(w, b)
        draw_band(ax, line, w, self.largest, color=palette.accent, alpha=0.16)
        for k, (v, c) in enumerate(self.planes.values()):
            label = f"{len(self.planes)} perceptrons, other orders" if k == 0 else None
            ax.plot(*frame.line(v, c)[0].T, color=palette.ink, linewidth=0.9, alpha=0.7, label=label)
        ax.plot(*line.T, color=palette.accent, linewidth=2.4, label=f"largest margin, {self.largest:.3g}")
        draw_classes(ax, self.X, self.positive, self.labels, palette)
        frame.fit(ax)
        name_axes(ax, self.axes_names, "")
        ax.set_title("All of these planes separate the rows")
        below(ax, 2, space=0.1)

    def _draw_margins(self, ax: Axes, palette: Palette) -> None:
        names = sorted(self.margins, key=lambda name: self.margins[name])
        values = [self.margins[name] for name in names]
        heights = np.arange(len(names))
        ax.hlines(heights, 0, values, color=palette.faint, linewidth=1.2, zorder=1)
        ax.scatter(values, heights, color=palette.positive, s=42, zorder=3, label="perceptron")
        ax.axvline(self.largest, color=palette.accent, linewidth=2.4, label=f"largest margin, {self.largest:.3g}")
        ax.set_yticks(heights, names)
        ax.set(xlim=(min(0, *values), 1.08 * self.largest), ylim=(-0.7, len(names) - 0.3))
        ax.set_xlabel("margin kept from the rows")
        ax.set_title("Planes found in different orders")
        below(ax, 2, space=0.75 / (0.9 + 0.3 * len(names)))
