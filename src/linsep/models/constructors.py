"""The constructors of the learners, which declare each parameter once: name, type, default, bounds, meaning.

The checks before a fit, the parameters of a run, the options of ``linsep fit`` and the tables of the documentation are
all made from here. The module is light, so that help on the command line is, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from difflib import get_close_matches
from functools import wraps
from typing import Any, Literal, NamedTuple, TypeVar, dataclass_transform

from linsep.declared import Parameter

LEARNING, STOPPING, OWN = "Learning", "Stopping", "Options of single learners"  # panels of the help
Class = TypeVar("Class")

_NO_PENALTY = (
    'linsep has no penalty; where classes overlap use keep="average" or PassiveAggressive(C=...), or '
    "scikit-learn's SGDClassifier for a penalty"
)
_ELSEWHERE = {
    "penalty": _NO_PENALTY,
    "alpha": _NO_PENALTY,
    "l1_ratio": _NO_PENALTY,
    "n_jobs": "leave it out: a run visits one row at a time",
    "average": 'say keep="average"',
    "loss": 'use PassiveAggressive(variant="pa1") for the hinge loss, "pa2" for its square',
}


@dataclass_transform(kw_only_default=True)
def constructor(kind: type[Class]) -> type[Class]:
    """Give a class the constructor that its fields describe; others than these are refused with advice."""
    made = dataclass(eq=False, repr=False, kw_only=True)(kind)
    init, known = made.__init__, {each.name for each in fields(made)}  # type: ignore[arg-type]

    @wraps(init)
    def checked(self: Class, *values: Any, **named: Any) -> None:
        for name in named.keys() - known:
            near = get_close_matches(name, known, n=1)
            advice = f": {_ELSEWHERE[name]}" if name in _ELSEWHERE else f"; did you mean {near[0]}?" if near else ""
            raise TypeError(f"{type(self).__name__} has no parameter {name}{advice}")
        init(self, *values, **named)

    made.__init__ = checked  # type: ignore[method-assign, assignment]
    return made


PARAMETERS = {
    "fit_intercept": Parameter("Learn an offset; without one the plane goes through the origin.", LEARNING),
    "eta0": Parameter("Learning rate.", LEARNING, above=0),
    "shuffle": Parameter("Visit the rows in a new random order in every pass.", LEARNING),
    "learning_rate": Parameter(
        "Keep the learning rate, or divide it by the square root of the visits so far.", LEARNING
    ),
    "order": Parameter(
        "Order of the visits: cyclic, shuffled, or no passes: always update on the first wrong row, or the worst.",
        LEARNING,
        typed=Literal["cyclic", "shuffled", "first", "worst"] | None,
    ),
    "max_iter": Parameter("Largest number of passes.", STOPPING, "PASSES", min=1),
    "max_updates": Parameter("Largest number of updates.", STOPPING, "UPDATES", min=0),
    "tol": Parameter("Stop when the loss at the end of a pass improves by no more than this.", STOPPING, min=0),
    "n_iter_no_change": Parameter(
        "End the run after this many passes without improvement, of the loss or of the error on held-out rows.",
        STOPPING,
        "PASSES",
        min=1,
    ),
    "early_stopping": Parameter(
        "Hold out rows, and stop when the error on them has not improved for some passes.", STOPPING
    ),
    "validation_fraction": Parameter(
        "Share of the rows that early stopping holds out, drawn by their numbers and the seed.",
        STOPPING,
        "SHARE",
        above=0,
        below=1,
    ),
    "target_margin": Parameter(
        "Stop when the mistakes prove that no plane has this margin (with an offset, the augmented one).",
        STOPPING,
        "MARGIN",
        above=0,
    ),
    "keep": Parameter(
        "Weights to keep in the model: last, best (pocket), average, vote, or auto: the last if the run ended without "
        "a mistake, otherwise the average.",
        LEARNING,
        "WHICH",
    ),
    "update_margin": Parameter(
        "Update on every row with y·(w·x + b) <= M, even if its prediction is right.", LEARNING, "M", min=0
    ),
    "multi_class": Parameter(
        "More than two classes: one machine that compares all (argmax), or one for each against the rest (ovr).",
        LEARNING,
    ),
    "mistake": Parameter(
        "Update on every row that is not strictly on its side (violation), only if it is strictly on the wrong one "
        "(strict), or only if the predicted label is wrong (prediction).",
        OWN,
    ),
    "on_plane": Parameter(
        "The side to predict for a point on the plane: -1 is the first class, 1 the second.",
        LEARNING,
        "-1|1",
        typed=int,
    ),
    "class_weight": Parameter(
        "Factors of the learning rate by class; balanced makes rare classes count more.",
        LEARNING,
        "LABEL=WEIGHT",
        typed=list[str],
    ),
    "warm_start": Parameter("Continue from the current weights.", typed=None),
    "random_state": Parameter("Seed of the shuffling, and of the rows held out.", LEARNING, "SEED", min=0, typed=int),
    "verbose": Parameter("1 shows a progress bar.", typed=None),
    "prove": Parameter("Search for a proof that no plane separates the rows, and stop when it is found.", STOPPING),
    "variant": Parameter("Update rule; pa1 and pa2 limit the step by C.", OWN),
    "C": Parameter("Aggressiveness, the limit on the step.", OWN, above=0),
    "r": Parameter("Regularization; the larger, the smaller the steps.", OWN, above=0),
    "kernel": Parameter("Kernel function.", OWN, typed=Literal["rbf", "poly", "linear"]),
    "degree": Parameter("Degree of the polynomial.", OWN, min=1),
    "gamma": Parameter(
        "Scale of rbf and poly: scale is 1 / (features times variance of X), auto is 1 / features.",
        OWN,
        "NUMBER|scale|auto",
        above=0,
    ),
    "coef0": Parameter(
        "Constant term of the polynomial; 0 leaves products of exactly as many features as its degree.", OWN
    ),
    "cache_size": Parameter("Megabytes of kernel values to hold at a time.", typed=None, above=0),
    "gap": Parameter("Stop at this relative gap between the bounds.", OWN, above=0, below=1),
    "on_overlap": Parameter("If no plane separates the rows, raise an error or drop the fewest rows.", OWN),
    "time_limit": Parameter("Time limit of the search.", OWN, "SECONDS", min=0),
    "max_nodes": Parameter("Largest number of nodes in the search tree.", OWN, "N", min=0),
}


class Constructor:
    """A class whose constructor takes some of these parameters."""

    about_parameters = PARAMETERS


@constructor
class OnlineParameters(Constructor):
    """Those that all online classifiers have.

    Parameters
    ----------
    validation_fraction
        Share of the rows to hold out: each is drawn by its number and the seed, so that reading the rows from a file,
        in blocks of any size, holds out the same.
    keep
        Which hypothesis the run returns, as for `Perceptron`.
    class_weight : dict or "balanced"
    random_state : int, RandomState or None
    """

    fit_intercept: bool = True
    shuffle: bool = True
    max_iter: int = 1000
    max_updates: int | None = None
    tol: float | None = None
    n_iter_no_change: int = 5
    early_stopping: bool = False
    validation_fraction: float = 0.1
    keep: Literal["last", "best", "average", "auto"] = "last"
    multi_class: Literal["argmax", "ovr"] = "argmax"
    on_plane: Literal[-1, 1] = -1
    class_weight: Any = None
    warm_start: bool = False
    random_state: Any = 0
    verbose: int | bool = 0


@constructor
class PerceptronParameters(OnlineParameters):
    """Those of `Perceptron`."""

    eta0: float = 1.0
    order: Literal["cyclic", "shuffled", "first", "worst"] | list[int] | None = None
    target_margin: float | None = None
    keep: Literal["last", "best", "average", "vote", "auto"] = "last"  # type: ignore[assignment]
    update_margin: float = 0.0
    mistake: Literal["violation", "strict", "prediction"] = "violation"
    prove: bool = True
    learning_rate: Literal["constant", "invscaling"] = "constant"


@constructor
class PassiveAggressiveParameters(OnlineParameters):
    """Those of `PassiveAggressive`."""

    variant: Literal["pa", "pa1", "pa2"] = "pa1"
    C: float = 1.0
    prove: bool = True


@constructor
class AROWParameters(OnlineParameters):
    """Those of `AROW`."""

    r: float = 1.0


@dataclass(eq=False, repr=False)
class KernelPerceptronParameters(Constructor):
    """Those of `KernelPerceptron`."""

    kernel: Literal["rbf", "poly", "linear", "precomputed"] | Callable[..., Any] = "rbf"
    _: KW_ONLY
    degree: int = 2
    gamma: Literal["scale", "auto"] | float = "scale"
    coef0: float = 1.0
    shuffle: bool = True
    max_iter: int = 1000
    max_updates: int | None = None
    keep: Literal["last", "average", "vote"] = "last"
    multi_class: Literal["argmax", "ovr"] = "argmax"
    on_plane: Literal[-1, 1] = -1
    class_weight: Any = None
    cache_size: float = 200
    random_state: Any = 0


@constructor
class MaxMarginParameters(Constructor):
    """Those of `MaxMarginClassifier`."""

    fit_intercept: bool = True
    gap: float = 1e-6
    on_overlap: Literal["raise", "drop"] = "raise"
    time_limit: float | None = 10.0


@constructor
class FewestErrorsParameters(Constructor):
    """Those of `FewestErrorsClassifier`."""

    fit_intercept: bool = True
    time_limit: float | None = 10.0
    max_nodes: int | None = None


class LearnerKind(NamedTuple):
    """A kind of model."""

    command: str  # its name on the command line
    module: str  # where it is defined, without scikit-learn
    parameters: Any  # the class that has its constructor
    online: bool = False  # whether it reads files a block at a time


LEARNERS = {
    "Perceptron": LearnerKind("perceptron", "linsep.models.perceptron", PerceptronParameters, online=True),
    "PassiveAggressive": LearnerKind(
        "passive-aggressive", "linsep.models.passive_aggressive", PassiveAggressiveParameters, online=True
    ),
    "AROW": LearnerKind("arow", "linsep.models.arow", AROWParameters, online=True),
    "KernelPerceptron": LearnerKind("kernel", "linsep.models.kernel_perceptron", KernelPerceptronParameters),
    "MaxMarginClassifier": LearnerKind("max-margin", "linsep.models.max_margin", MaxMarginParameters),
    "FewestErrorsClassifier": LearnerKind("fewest-errors", "linsep.models.fewest_classifier", FewestErrorsParameters),
}
