"""Linear separation and the perceptron: learn a plane, bound the mistakes, prove the verdict.

Data flows one way::

    rows and labels -> encode -> train (kernels) -> estimators -> show

``Perceptron`` is the scikit-learn classifier, ``teacher`` draws data with a known plane, ``PlaneDisplay`` draws the
plane with its margin. Names are loaded when they are first used: importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linsep.estimators import MaxMarginClassifier, Perceptron
    from linsep.margin import Margin, largest_margin
    from linsep.problem import NotSeparable, Plane
    from linsep.show import PlaneDisplay
    from linsep.teacher import teacher

__version__ = "0.1.0"

_ROOMS = {
    "Margin": "margin",
    "MaxMarginClassifier": "estimators",
    "largest_margin": "margin",
    "NotSeparable": "problem",
    "Perceptron": "estimators",
    "Plane": "problem",
    "PlaneDisplay": "show",
    "teacher": "teacher",
}

__all__ = ["Margin", "MaxMarginClassifier", "NotSeparable", "Perceptron", "Plane", "PlaneDisplay", "largest_margin", "teacher"]


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'linsep' has no attribute {name!r}")
    value = getattr(import_module(f"linsep.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
