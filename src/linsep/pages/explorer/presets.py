"""The example data sets of the explorer."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from linsep.data.datasets import teacher
from linsep.pages.explorer.requests import Points, Settings
from linsep.problem import Array, Floats


class Preset(NamedTuple):
    """Points with settings, and what there is to see in them."""

    title: str
    said: str
    points: Points
    settings: Settings


def _points(X: Any, y: Any) -> Points:
    return Points.of_arrays(
        np.round(np.asarray(X, dtype=np.float64) * 256) / 256, y
    )  # short binary fractions: short proofs


def _blobs(centers: Any, spread: float, each: int, seed: int) -> tuple[Floats, Array]:
    """Draw points around some centers, numbered."""
    rng = np.random.default_rng(seed)
    numbers = np.repeat(np.arange(len(centers)), each)
    return np.asarray(centers, dtype=np.float64)[numbers] + spread * rng.standard_normal((len(numbers), 2)), numbers


def worked(**_: Any) -> Preset:
    """Two mistakes, and the bound met with equality."""
    points = Points(((1.0, 0.0), (0.0, -1.0), (0.0, 1.0), (-1.0, 0.0)), (1, -1, 1, -1))
    said = "Two mistakes, and the bound R²/γ² is two: the run attains it."
    return Preset("Worked example", said, points, Settings(fit_intercept=False))


def taught(margin: float = 0.15, seed: int = 0, n: int = 40) -> Preset:
    """Draw points in a disc that a hidden plane separates with the margin asked for."""
    X, y, _ = teacher(n, 2, margin=margin, offset=False, random_state=seed)
    said = "A hidden plane gave the labels. The smaller the margin, the more mistakes the bound allows."
    return Preset("Teacher with your margin", said, Points.of_arrays(X, y), Settings(fit_intercept=False))


def touching(**_: Any) -> Preset:
    """Return two classes that share a line: weakly separable only."""
    X = [(-1.5, 0.5), (-1, -0.75), (-0.75, 1), (0, -0.5), (0, 0.75), (0, 0.125), (0.75, 0.75), (1, -0.5), (1.5, 0.25)]
    said = "Only one line has no point on the wrong side, and three points lie on it."
    return Preset("Two touching classes", said, _points(X, [-1] * 5 + [1] * 4), Settings(max_updates=300))


def xor(**_: Any) -> Preset:
    """Return exclusive or: no plane."""
    said = "Exclusive or: the diagonals cross, so no line separates their ends."
    return Preset("XOR", said, _points([(0, 0), (1, 1), (0, 1), (1, 0)], [-1, -1, 1, 1]), Settings(max_updates=200))


def duplicate(**_: Any) -> Preset:
    """Return one point with both labels among points that are easily separated."""
    X, number = _blobs([(-1, -0.5), (1, 0.5)], 0.3, 10, 3)
    X, y = np.vstack((X, [(0.25, 0.25), (0.25, 0.25)])), np.append(2 * number - 1, [1, -1])
    said = "One point has both labels. Move one copy, and a line separates the classes."
    return Preset("One contradicting duplicate", said, _points(X, y), Settings(max_updates=300))


def three(**_: Any) -> Preset:
    """Return three clouds."""
    X, y = _blobs([(-1.2, -0.8), (1.2, -0.7), (0, 1.2)], 0.3, 12, 1)
    return Preset("Three classes", "One weight vector per class; the highest score wins.", _points(X, y), Settings())


def ring(**_: Any) -> Preset:
    """Return five clouds around a circle."""
    angles = 2 * np.pi * np.arange(5) / 5 + 0.3
    X, y = _blobs(1.5 * np.column_stack((np.cos(angles), np.sin(angles))), 0.2, 8, 2)
    return Preset("Five classes", "A plane separates each class from all others.", _points(X, y), Settings())


def iris(**_: Any) -> Preset:
    """Return Fisher's iris: four columns, three classes."""
    points, _ignored = Points.of_text(files("linsep.pages.explorer").joinpath("page", "iris.csv").read_text())
    said = "Fisher's iris (1936), four columns. Setosa lies apart; the other two overlap."
    return Preset("Iris", said, points, Settings(max_updates=1000))


def scaled(**_: Any) -> Preset:
    """Return columns of very different scale, which cost many mistakes."""
    X, y, _plane = teacher(30, 2, margin=0.2, offset=False, random_state=4)
    said = "One column is a hundred times the other: just as separable, but with many more mistakes."
    points = _points(X * (1.0, 100.0), y)
    return Preset("Badly scaled columns", said, points, Settings(fit_intercept=False))


PRESETS: dict[str, Callable[..., Preset]] = {
    "worked": worked,
    "teacher": taught,
    "touching": touching,
    "xor": xor,
    "duplicate": duplicate,
    "three": three,
    "five": ring,
    "iris": iris,
    "scaled": scaled,
}


def preset(asked: Any) -> Preset:
    """Return the preset that a page asked for; the teacher's takes a margin, a seed and a number of points."""
    if not isinstance(asked, dict) or asked.get("name") not in PRESETS:
        raise ValueError(f"the preset must be one of {', '.join(PRESETS)}")
    margin, seed, n = asked.get("margin", 0.15), asked.get("seed", 0), asked.get("n", 40)
    if type(margin) not in (int, float) or not 0 <= margin <= 0.9:
        raise ValueError("margin must be a number from 0 to 0.9")
    if type(seed) is not int or not 0 <= seed < 2**31 or type(n) is not int or not 2 <= n <= 1000:
        raise ValueError("seed and n must be whole numbers, n from 2 to 1000")
    return PRESETS[asked["name"]](margin=float(margin), seed=seed, n=n)
