"""The scikit-learn face of the algorithms, one file per family."""

from linsep.estimators.passive_aggressive import PassiveAggressive
from linsep.estimators.perceptron import Perceptron

__all__ = ["PassiveAggressive", "Perceptron"]
