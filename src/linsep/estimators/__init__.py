"""The scikit-learn face of the algorithms, one file per family."""

from linsep.estimators.maxmargin import MaxMarginClassifier
from linsep.estimators.perceptron import Perceptron

__all__ = ["MaxMarginClassifier", "Perceptron"]
