"""Linear separation and the perceptron: learn a plane, bound the mistakes, prove the verdict.

Data flows one way::

    rows and labels -> encode -> train (kernels) -> estimators -> show

``Perceptron`` is the scikit-learn classifier, ``teacher`` draws data with a known plane, ``PlaneDisplay`` draws the
plane with its margin. Names are loaded when they are first used: importing the package costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linsep.document import from_json, to_json, verify
    from linsep.estimators import Perceptron
    from linsep.margin import Margin, largest_margin
    from linsep.problem import NotSeparable, Plane
    from linsep.proof import Refutation, Separator, Verdict
    from linsep.separate import separate, separator
    from linsep.show import PlaneDisplay
    from linsep.teacher import teacher

__version__ = "0.1.0"

_ROOMS = {
    "Margin": "margin",
    "largest_margin": "margin",
    "NotSeparable": "problem",
    "Perceptron": "estimators",
    "Plane": "problem",
    "PlaneDisplay": "show",
    "Refutation": "proof",
    "Separator": "proof",
    "Verdict": "proof",
    "from_json": "document",
    "separate": "separate",
    "separator": "separate",
    "to_json": "document",
    "verify": "document",
    "teacher": "teacher",
}

__all__ = [
    "Margin",
    "NotSeparable",
    "Perceptron",
    "Plane",
    "PlaneDisplay",
    "Refutation",
    "Separator",
    "Verdict",
    "from_json",
    "largest_margin",
    "separate",
    "separator",
    "teacher",
    "to_json",
    "verify",
]


class _Package(ModuleType):
    """Keeps a room such as ``linsep.separate`` from hiding the function of the same name once it is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _ROOMS and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'linsep' has no attribute {name!r}")
    value = getattr(import_module(f"linsep.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
