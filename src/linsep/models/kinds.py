"""The learners by name: where each is defined without scikit-learn, and what the command line calls it."""

from __future__ import annotations

from typing import NamedTuple


class Learner(NamedTuple):
    """A kind of model."""

    command: str  # its name on the command line
    module: str
    online: bool = False  # whether it reads files a block at a time


LEARNERS = {
    "Perceptron": Learner("perceptron", "linsep.models.perceptron", online=True),
    "PassiveAggressive": Learner("passive-aggressive", "linsep.models.passive_aggressive", online=True),
    "AROW": Learner("arow", "linsep.models.arow", online=True),
    "KernelPerceptron": Learner("kernel", "linsep.models.kernel_perceptron"),
    "MaxMarginClassifier": Learner("max-margin", "linsep.models.max_margin"),
    "FewestErrorsClassifier": Learner("fewest-errors", "linsep.models.fewest_classifier"),
}
