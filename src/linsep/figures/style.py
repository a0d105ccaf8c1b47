"""The light and dark styles of all figures."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from linsep.errors import ParameterError
from linsep.figures.colors import CLASSES, class_colors, class_shapes
from linsep.problem import Array, Floats


class Palette(NamedTuple):
    """Colors of a theme."""

    style: str
    paper: str
    ink: str
    faint: str
    negative: str
    positive: str
    accent: str
    classes: tuple[str, ...]

    def marks(self, labels: Sequence[Any]) -> list[dict[str, Any]]:
        """Return color and shape of every class."""
        colors, shapes = class_colors(labels, self.style), class_shapes(len(labels))
        return [{"color": color, "marker": shape} for color, shape in zip(colors, shapes, strict=True)]


LIGHT = Palette("light", "#ffffff", "#2b2b2b", "#d0d0d0", *CLASSES["light"][:3], CLASSES["light"])
DARK = Palette("dark", "#15181d", "#e8e8e8", "#444a54", *CLASSES["dark"][:3], CLASSES["dark"])


@contextmanager
def theme(style: str = "light") -> Iterator[Palette]:
    """Context manager that draws in the light or the dark theme.

    Parameters
    ----------
    style : {"light", "dark"}, default="light"

    Yields
    ------
    palette : Palette
        The colors of the theme.

    Examples
    --------
    >>> from linsep import theme
    >>> with theme("dark") as palette:
    ...     palette.paper
    '#15181d'
    """
    if style not in ("light", "dark"):
        raise ParameterError("style", style, "'light' or 'dark'")
    palette = LIGHT if style == "light" else DARK
    settings: dict[Any, Any] = {
        "figure.facecolor": palette.paper,
        "axes.facecolor": palette.paper,
        "savefig.facecolor": palette.paper,
        "text.color": palette.ink,
        "axes.labelcolor": palette.ink,
        "axes.edgecolor": palette.ink,
        "axes.titlecolor": palette.ink,
        "axes.titlesize": 12,
        "axes.titlelocation": "left",
        "axes.labelsize": 11,
        "xtick.color": palette.ink,
        "ytick.color": palette.ink,
        "xtick.labelsize": 10,
        "ytick.labelsize": 10,
        "grid.color": palette.faint,
        "grid.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "legend.fontsize": 10,
        "legend.labelcolor": palette.ink,
        "lines.linewidth": 1.8,
        "figure.constrained_layout.h_pad": 0.08,
        "figure.constrained_layout.w_pad": 0.08,
    }
    with mpl.rc_context(settings):
        yield palette


class Display(ABC):
    """What all figures share: where they are drawn, and in which colors."""

    figure_: Figure
    ax_: Axes
    _size: tuple[float, float] = (5.6, 5.6)  # inches of a new figure

    def plot(self, *, ax: Axes | None = None, style: str = "light") -> Self:
        """Draw on some Matplotlib axes, or on a new figure; ``style`` is "light" or "dark"."""
        with theme(style) as palette:
            if ax is None:
                _, ax = plt.subplots(figsize=self._size, layout="constrained")
            self.ax_ = ax
            self.figure_ = ax.figure  # type: ignore[assignment]  # or a SubFigure, which serves as well
            self._draw(ax, palette)
        return self

    @abstractmethod
    def _draw(self, ax: Axes, palette: Palette) -> None:
        """Draw on some axes."""


def below(ax: Axes, columns: int = 2, *, space: float = 0.16) -> None:
    """Put the legend under the axes, where it hides nothing, in as many columns as fit into the figure."""
    layout: dict[str, Any] = {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, -space),
        "columnspacing": 1.4,
        "handletextpad": 0.5,
    }
    whole = ax.get_figure(root=True)
    for count in range(columns, 0, -1):
        legend = ax.legend(ncols=count, **layout)
        if whole is None or legend.get_window_extent().width <= 0.95 * whole.bbox.width:
            return


def draw_classes(
    ax: Axes,
    points: Floats,
    groups: Array,
    labels: tuple[Any, ...],
    palette: Palette,
    *,
    size: Any = 24.0,
    **style: Any,
) -> None:
    """Draw points in the colors and shapes of their classes; if there are very many, the legend shows some of them."""
    sizes, style = np.broadcast_to(size, len(points)), {"linewidth": 0, "zorder": 3} | style
    for c, (label, mark) in enumerate(zip(labels, palette.marks(labels), strict=True)):
        own = groups == c
        named = c < 15 or len(labels) <= 20
        rest = f"… {len(labels)} classes" if c == 15 else None
        x, y = points[own].T
        ax.scatter(
            x, y, s=sizes[own], label=plain(label) if named else rest,
            **mark, **style,
        )  # fmt: skip


def plain(label: Any, longest: int = 30) -> str:
    """Return a label or a name as text that Matplotlib shows as it is: no formula, not hidden, not endless."""
    text = str(label)
    text = (text if len(text) <= longest else f"{text[: longest - 1]}…").replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def logarithmic(axis: Axis) -> None:
    """Write the powers of ten of a logarithmic axis, and numbers between them if they are few, as plain text."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 200 * low else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value, 1e4)))
    axis.set_minor_locator(NullLocator())


def short(number: float, large: float = 1e7) -> str:
    """Return a positive number to three digits as it is read best, large ones with a power of ten."""
    if not math.isfinite(number):
        return "∞"
    if number == 0 or 1e-4 <= number < large:
        return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"
    digits, power = f"{number:.2e}".split("e")
    digits = digits.rstrip("0").rstrip(".")
    ten = "10" + str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return ten if digits == "1" else f"{digits}×{ten}"
