"""The colors and shapes of classes in figures and pages; does not import Matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

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
