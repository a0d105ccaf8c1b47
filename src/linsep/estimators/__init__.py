"""The scikit-learn face: classifiers with fit, predict and the record of their runs, each loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linsep.estimators.kernel_perceptron import KernelPerceptron
    from linsep.estimators.maxmargin import MaxMarginClassifier
    from linsep.estimators.passive_aggressive import PassiveAggressive
    from linsep.estimators.perceptron import Perceptron

__all__ = ["KernelPerceptron", "MaxMarginClassifier", "PassiveAggressive", "Perceptron"]

_FILES = {
    "KernelPerceptron": "kernel_perceptron",
    "MaxMarginClassifier": "maxmargin",
    "PassiveAggressive": "passive_aggressive",
    "Perceptron": "perceptron",
}


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f"module 'linsep.estimators' has no attribute {name!r}")
    value = getattr(import_module(f"linsep.estimators.{_FILES[name]}"), name)
    globals()[name] = value
    return value
