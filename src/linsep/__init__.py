"""Linear separation and the perceptron: learn a plane, bound the mistakes, prove the verdict.

Data flows one way::

    read -> encode -> train (kernels) -> margin, separate, bounds (proof) -> estimators -> show, save -> report, explore

``Perceptron`` is the scikit-learn classifier, ``PassiveAggressive`` and ``KernelPerceptron`` are its relatives;
``separate`` decides and proves, ``largest_margin`` and ``mistake_bound`` measure, ``fit_source`` learns from files,
``report`` tells all of it. Names are loaded when they are first used: importing the package costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linsep.bounds import Audit, Bound, ErrorBound, Generalization, audit, generalization, mistake_bound
    from linsep.convert import from_liblinear, to_liblinear, to_onnx
    from linsep.document import from_json, to_json, verify
    from linsep.estimators import KernelPerceptron, MaxMarginClassifier, PassiveAggressive, Perceptron
    from linsep.explore import explore
    from linsep.margin import Margin, largest_margin
    from linsep.problem import NotSeparable, Plane
    from linsep.proof import Refutation, Separator, Verdict
    from linsep.read import read
    from linsep.report import report
    from linsep.save import load, save
    from linsep.separate import separate, separator
    from linsep.show import (
        BracketDisplay,
        MarginsDisplay,
        PassesDisplay,
        PlaneDisplay,
        PlanesDisplay,
        RegionsDisplay,
        TheoremDisplay,
    )
    from linsep.stream import fit_source
    from linsep.teacher import teacher

__version__ = "0.1.0"

_ROOMS = {
    "Audit": "bounds",
    "Bound": "bounds",
    "BracketDisplay": "show",
    "ErrorBound": "bounds",
    "Generalization": "bounds",
    "KernelPerceptron": "estimators",
    "Margin": "margin",
    "MarginsDisplay": "show",
    "MaxMarginClassifier": "estimators",
    "NotSeparable": "problem",
    "PassesDisplay": "show",
    "PassiveAggressive": "estimators",
    "Perceptron": "estimators",
    "Plane": "problem",
    "PlaneDisplay": "show",
    "PlanesDisplay": "show",
    "Refutation": "proof",
    "RegionsDisplay": "show",
    "Separator": "proof",
    "TheoremDisplay": "show",
    "Verdict": "proof",
    "audit": "bounds",
    "explore": "explore",
    "fit_source": "stream",
    "from_json": "document",
    "from_liblinear": "convert",
    "generalization": "bounds",
    "largest_margin": "margin",
    "load": "save",
    "mistake_bound": "bounds",
    "read": "read",
    "report": "report",
    "save": "save",
    "separate": "separate",
    "separator": "separate",
    "teacher": "teacher",
    "to_json": "document",
    "to_liblinear": "convert",
    "to_onnx": "convert",
    "verify": "document",
}

__all__ = [
    "Audit",
    "Bound",
    "BracketDisplay",
    "ErrorBound",
    "Generalization",
    "KernelPerceptron",
    "Margin",
    "MarginsDisplay",
    "MaxMarginClassifier",
    "NotSeparable",
    "PassesDisplay",
    "PassiveAggressive",
    "Perceptron",
    "Plane",
    "PlaneDisplay",
    "PlanesDisplay",
    "Refutation",
    "RegionsDisplay",
    "Separator",
    "TheoremDisplay",
    "Verdict",
    "audit",
    "explore",
    "fit_source",
    "from_json",
    "from_liblinear",
    "generalization",
    "largest_margin",
    "load",
    "mistake_bound",
    "read",
    "report",
    "save",
    "separate",
    "separator",
    "teacher",
    "to_json",
    "to_liblinear",
    "to_onnx",
    "verify",
]


class _Package(ModuleType):
    """A package in which a function wins over the room of the same name: ``linsep.save`` is always the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and _ROOMS.get(name) == name:
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name == "cluster":  # a room with names of its own
        return import_module("linsep.cluster")
    if name not in _ROOMS:
        raise AttributeError(f"module 'linsep' has no attribute {name!r}")
    value = getattr(import_module(f"linsep.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
