"""The light and dark styles of all figures, and the colors and shapes of classes."""

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
from linsep.problem import Array, Floats

# after Okabe & Ito (2008): told apart by color-blind readers and in print; of two classes the negative one is first
CLASSES = {
    "light": ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C7A00", "#444444"),
    "dark": ("#E69F00", "#56B4E9", "#2FBF94", "#E39CC3", "#F0E442", "#3D8FCF", "#FF7F3F", "#BBBBBB"),
}
SHAPES = ("o", "^", "s", "D", "v", "P", "X", "*")  # shapes say the same as colors

_NAMED = {  # a class that is called after a color has it, in a shade that can be seen on light and on dark paper
    "red": ("#D62728", "#FF6B6B"),
    "orange": ("#E67E00", "#FFA94D"),
    "yellow": ("#C9A800", "#FFE14D"),
    "green": ("#1E8A3C", "#51CF66"),
    "blue": ("#1F5FD0", "#6EA8FE"),
    "purple": ("#7B3FA0", "#C58AF0"),
    "violet": ("#7B3FA0", "#C58AF0"),
    "pink": ("#D6569A", "#FF9FCF"),
    "brown": ("#8B5A2B", "#C99A6B"),
    "black": ("#111111", "#A8A8A8"),
    "white": ("#B8B8B8", "#F5F5F5"),
    "gray": ("#7A7A7A", "#9A9A9A"),
    "grey": ("#7A7A7A", "#9A9A9A"),
}


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


def class_colors(labels: Sequence[Any], style: str = "light") -> list[str]:
    """Return a color for each class: the one that its label names, else one that no other class has or resembles."""
    theme, shade = CLASSES[style], 0 if style == "light" else 1
    names = [str(label).strip().lower() for label in labels]
    taken = [_NAMED[name][shade] for name in names if name in _NAMED]
    if not taken:
        return [theme[c % len(theme)] for c in range(len(labels))]
    free = [color for color in theme if all(_distance(color, other) > 90 for other in taken)] or list(theme)
    colors: list[str] = []
    for name in names:
        others = len(colors) - sum(color in taken for color in colors)
        colors.append(_NAMED[name][shade] if name in _NAMED else free[others % len(free)])
    return colors


def class_shapes(classes: int) -> list[str]:
    """Return a shape for each class; with the colors they tell 64 classes apart."""
    return [SHAPES[(c + c // len(SHAPES)) % len(SHAPES)] for c in range(classes)]


def _distance(one: str, other: str) -> float:
    """Return how far two colors are apart, as points of a cube of 256 a side."""
    parts = [[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in (one, other)]
    return math.dist(*parts)
