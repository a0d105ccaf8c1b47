"""The learners by name: where each is defined without scikit-learn, and what the command line calls it."""

from __future__ import annotations

from typing import NamedTuple

from linsep.models import constructors


class Learner(NamedTuple):
    """A kind of model."""

    command: str  # its name on the command line
    module: str
    parameters: type  # which has its constructor
    online: bool = False  # whether it reads files a block at a time


LEARNERS = {
    "Perceptron": Learner("perceptron", "linsep.models.perceptron", constructors.PerceptronParameters, online=True),
    "PassiveAggressive": Learner(
        "passive-aggressive", "linsep.models.passive_aggressive", constructors.PassiveAggressiveParameters, online=True
    ),
    "AROW": Learner("arow", "linsep.models.arow", constructors.AROWParameters, online=True),
    "KernelPerceptron": Learner("kernel", "linsep.models.kernel_perceptron", constructors.KernelPerceptronParameters),
    "MaxMarginClassifier": Learner("max-margin", "linsep.models.max_margin", constructors.MaxMarginParameters),
    "FewestErrorsClassifier": Learner(
        "fewest-errors", "linsep.models.fewest_classifier", constructors.FewestErrorsParameters
    ),
}
