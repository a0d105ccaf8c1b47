"""The scikit-learn face of the algorithms, one file per family."""

from linsep.estimators.kernel_perceptron import KernelPerceptron
from linsep.estimators.maxmargin import MaxMarginClassifier
from linsep.estimators.passive_aggressive import PassiveAggressive
from linsep.estimators.perceptron import Perceptron

__all__ = ["KernelPerceptron", "MaxMarginClassifier", "PassiveAggressive", "Perceptron"]
