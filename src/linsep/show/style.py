"""Colours and shapes of all figures, in a light and a dark theme."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure


class Palette(NamedTuple):
    """Colours of a theme; classes after Okabe & Ito (2008): told apart by colour-blind readers and in print."""

    paper: str
    ink: str
    faint: str
    negative: str
    positive: str
    accent: str
    classes: tuple[str, ...]


LIGHT = Palette(
    "#ffffff", "#2b2b2b", "#d0d0d0", "#D55E00", "#0072B2", "#009E73",
    ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C7A00", "#444444"),
)  # fmt: skip
DARK = Palette(
    "#15181d", "#e8e8e8", "#444a54", "#E69F00", "#56B4E9", "#2FBF94",
    ("#E69F00", "#56B4E9", "#2FBF94", "#E39CC3", "#F0E442", "#3D8FCF", "#FF7F3F", "#BBBBBB"),
)  # fmt: skip
SHAPES = ("o", "^", "s", "D", "v", "P", "X", "*")  # shapes say the same as colours


@contextmanager
def theme(style: str = "light") -> Iterator[Palette]:
    """Draw in the light or the dark theme while the context lasts.

    Parameters
    ----------
    style : {"light", "dark"}, default="light"

    Yields
    ------
    palette : Palette
        The colours of the theme.

    Examples
    --------
    >>> from linsep.show import theme
    >>> with theme("dark") as palette:
    ...     palette.paper
    '#15181d'
    """
    if style not in ("light", "dark"):
        raise ValueError(f"style must be 'light' or 'dark', got {style!r}")
    palette = LIGHT if style == "light" else DARK
    settings: dict[Any, Any] = {
        "figure.facecolor": palette.paper,
        "axes.facecolor": palette.paper,
        "savefig.facecolor": palette.paper,
        "text.color": palette.ink,
        "axes.labelcolor": palette.ink,
        "axes.edgecolor": palette.ink,
        "axes.titlecolor": palette.ink,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.labelsize": 10,
        "xtick.color": palette.ink,
        "ytick.color": palette.ink,
        "xtick.labelsize": 9,
        "ytick.labelsize": 9,
        "grid.color": palette.faint,
        "grid.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "legend.fontsize": 9,
        "legend.labelcolor": palette.ink,
        "lines.linewidth": 1.8,
    }
    with mpl.rc_context(settings):
        yield palette


class Display:
    """What all figures share: where they were drawn."""

    figure_: Figure
    ax_: Axes

    def _open(self, ax: Axes | None, size: tuple[float, float]) -> Axes:
        """Return the axes to draw on, those given or new ones."""
        if ax is None:
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_ = ax
        self.figure_ = ax.figure  # type: ignore[assignment]  # or a SubFigure, which serves as well
        return ax


def below(ax: Axes, columns: int = 2, *, space: float = 0.16) -> None:
    """Put the legend under the axes, where it hides nothing."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -space), ncols=columns, columnspacing=1.4, handletextpad=0.5)
