"""Linear separation and the perceptron: learn a plane, bound the mistakes, prove the verdict.

Data flows one way::

    rows and labels -> encode -> train (kernels) -> estimators -> show

``Perceptron`` is the scikit-learn classifier, ``PassiveAggressive`` and ``KernelPerceptron`` are its relatives,
``teacher`` draws data with a known plane, ``PlaneDisplay`` draws the plane with its margin. Names are loaded when they
are first used: importing the package costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linsep.convert import from_liblinear, to_liblinear, to_onnx
    from linsep.estimators import KernelPerceptron, PassiveAggressive, Perceptron
    from linsep.problem import Plane
    from linsep.read import read
    from linsep.save import load, save
    from linsep.show import PlaneDisplay
    from linsep.stream import fit_source
    from linsep.teacher import teacher

__version__ = "0.1.0"

_ROOMS = {
    "KernelPerceptron": "estimators",
    "PassiveAggressive": "estimators",
    "Perceptron": "estimators",
    "Plane": "problem",
    "PlaneDisplay": "show",
    "fit_source": "stream",
    "from_liblinear": "convert",
    "load": "save",
    "read": "read",
    "save": "save",
    "teacher": "teacher",
    "to_liblinear": "convert",
    "to_onnx": "convert",
}

__all__ = [
    "KernelPerceptron",
    "PassiveAggressive",
    "Perceptron",
    "Plane",
    "PlaneDisplay",
    "fit_source",
    "from_liblinear",
    "load",
    "read",
    "save",
    "teacher",
    "to_liblinear",
    "to_onnx",
]


class _Package(ModuleType):
    """A package in which a function wins over the room of the same name: ``linsep.save`` is always the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and _ROOMS.get(name) == name:
            value = getattr(value, name)
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
