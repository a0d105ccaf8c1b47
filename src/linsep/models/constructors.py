"""The constructors of the learners, which declare each parameter once: name, type, default, bounds, meaning.

The checks before a fit, the parameters of a run, the options of ``linsep fit`` and the tables of the documentation are
all made from here. The module is light, so that help on the command line is, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, ParamSpec

from linsep.declared import Parameter

LEARNING, STOPPING, OWN = "Learning", "Stopping", "Options of single learners"  # panels of the help
P = ParamSpec("P")

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


def advising(init: Callable[P, None]) -> Callable[P, None]:
    """Have a constructor say what to do about a parameter that scikit-learn's namesake has and ours has not."""

    @wraps(init)
    def checked(*given: P.args, **named: P.kwargs) -> None:
        for name in named:
            if name in _ELSEWHERE:
                raise TypeError(f"{type(given[0]).__name__} has no parameter {name}: {_ELSEWHERE[name]}")
        init(*given, **named)

    return checked


PARAMETERS = {
    "fit_intercept": Parameter("Learn an offset, or a plane through the origin.", LEARNING),
    "eta0": Parameter("Learning rate.", LEARNING, above=0),
    "shuffle": Parameter("Visit the rows in a new random order in every pass.", LEARNING),
    "order": Parameter("Make no passes: always update on the first row that is wrong, or on the worst.", LEARNING),
    "max_iter": Parameter("Largest number of passes.", STOPPING, "PASSES", min=1),
    "max_updates": Parameter("Largest number of updates.", STOPPING, "UPDATES", min=1),
    "tol": Parameter("Stop when the loss at the end of a pass improves by no more than this.", STOPPING, min=0),
    "n_iter_no_change": Parameter("End the run after this many passes without improvement.", STOPPING, "PASSES", min=1),
    "early_stopping": Parameter("Stop when the error on held-out rows stops improving.", STOPPING),
    "validation_fraction": Parameter(
        "Share of rows to hold out for --early-stopping.", STOPPING, "SHARE", above=0, below=1
    ),
    "target_margin": Parameter(
        "Stop when the mistakes prove that no plane has this margin (with an offset, the augmented one).",
        STOPPING,
        "MARGIN",
        above=0,
    ),
    "keep": Parameter("Weights to keep in the model: last, best (pocket), average or vote.", LEARNING, "WHICH"),
    "update_margin": Parameter(
        "Update on every row with y·(w·x + b) <= M, even if its prediction is right.", LEARNING, "M", min=0
    ),
    "multi_class": Parameter(
        "With more than two classes: learn all of them together (argmax), or each against the rest (ovr).", LEARNING
    ),
    "mistake": Parameter(
        "Update on every row that is not strictly on its side (violation), or only if the predicted label is "
        "wrong (prediction).",
        OWN,
    ),
    "on_plane": Parameter("Prediction for a score of exactly 0.", LEARNING, "-1|1", typed=int),
    "class_weight": Parameter(
        "Factor on the learning rate for one class; may be repeated. balanced makes rare classes count more.",
        LEARNING,
        "LABEL=WEIGHT",
        typed=list[str],
    ),
    "warm_start": Parameter("Continue from the current weights.", typed=None),
    "random_state": Parameter("Random seed.", LEARNING, "SEED", min=0, typed=int),
    "verbose": Parameter("1 shows a progress bar.", typed=None),
    "prove": Parameter("Search for a proof that no plane separates the rows, and stop when it is found.", STOPPING),
    "variant": Parameter("Update rule; pa1 and pa2 limit the step by C.", OWN),
    "C": Parameter("Aggressiveness, the limit on the step.", OWN, above=0),
    "r": Parameter("Regularization; the larger, the smaller the steps.", OWN, above=0),
    "kernel": Parameter("Kernel function.", OWN, typed=Literal["rbf", "poly", "linear"]),
    "degree": Parameter("Degree of poly.", OWN, min=1),
    "gamma": Parameter("Scale of rbf and poly.", OWN, "NUMBER|scale|auto", above=0),
    "coef0": Parameter("Constant term of poly.", OWN),
    "cache_size": Parameter("Megabytes of kernel values to hold at a time.", typed=None, above=0),
    "gap": Parameter("Stop at this relative gap between the bounds.", OWN, above=0, below=1),
    "on_overlap": Parameter("If no plane separates the rows, raise an error or drop the fewest rows.", OWN),
    "time_limit": Parameter("Time limit of the search.", OWN, "SECONDS", min=0),
    "max_nodes": Parameter("Largest number of nodes in the search tree.", OWN, "N", min=0),
}


class Constructor:
    """A class whose constructor takes some of these parameters."""

    about_parameters = PARAMETERS


class PerceptronParameters(Constructor):
    """Those of `Perceptron`."""

    @advising
    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        eta0: float = 1.0,
        shuffle: bool = True,
        order: Literal["first", "worst"] | None = None,
        max_iter: int = 1000,
        max_updates: int | None = None,
        tol: float | None = None,
        n_iter_no_change: int = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        target_margin: float | None = None,
        keep: Literal["last", "best", "average", "vote"] = "last",
        update_margin: float = 0.0,
        multi_class: Literal["argmax", "ovr"] = "argmax",
        mistake: Literal["violation", "prediction"] = "violation",
        on_plane: Literal[-1, 1] = -1,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = 0,
        verbose: int | bool = 0,
        prove: bool = True,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.eta0 = eta0
        self.shuffle = shuffle
        self.order = order
        self.max_iter = max_iter
        self.max_updates = max_updates
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.target_margin = target_margin
        self.keep = keep
        self.update_margin = update_margin
        self.multi_class = multi_class
        self.mistake = mistake
        self.on_plane = on_plane
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.prove = prove


class PassiveAggressiveParameters(Constructor):
    """Those of `PassiveAggressive`."""

    @advising
    def __init__(
        self,
        *,
        variant: Literal["pa", "pa1", "pa2"] = "pa1",
        C: float = 1.0,
        fit_intercept: bool = True,
        shuffle: bool = True,
        max_iter: int = 1000,
        max_updates: int | None = None,
        tol: float | None = None,
        n_iter_no_change: int = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        keep: Literal["last", "best", "average"] = "last",
        multi_class: Literal["argmax", "ovr"] = "argmax",
        on_plane: Literal[-1, 1] = -1,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = 0,
        verbose: int | bool = 0,
        prove: bool = True,
    ) -> None:
        self.variant = variant
        self.C = C
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.max_iter = max_iter
        self.max_updates = max_updates
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.keep = keep
        self.multi_class = multi_class
        self.on_plane = on_plane
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.prove = prove


class AROWParameters(Constructor):
    """Those of `AROW`."""

    @advising
    def __init__(
        self,
        *,
        r: float = 1.0,
        fit_intercept: bool = True,
        shuffle: bool = True,
        max_iter: int = 1000,
        max_updates: int | None = None,
        tol: float | None = None,
        n_iter_no_change: int = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        keep: Literal["last", "best", "average"] = "last",
        multi_class: Literal["argmax", "ovr"] = "argmax",
        on_plane: Literal[-1, 1] = -1,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = 0,
        verbose: int | bool = 0,
    ) -> None:
        self.r = r
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.max_iter = max_iter
        self.max_updates = max_updates
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.keep = keep
        self.multi_class = multi_class
        self.on_plane = on_plane
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose


class KernelPerceptronParameters(Constructor):
    """Those of `KernelPerceptron`."""

    def __init__(
        self,
        kernel: Literal["rbf", "poly", "linear", "precomputed"] | Callable[..., Any] = "rbf",
        *,
        degree: int = 2,
        gamma: Literal["scale", "auto"] | float = "scale",
        coef0: float = 1.0,
        shuffle: bool = True,
        max_iter: int = 1000,
        keep: Literal["last", "average", "vote"] = "last",
        multi_class: Literal["argmax", "ovr"] = "argmax",
        on_plane: Literal[-1, 1] = -1,
        class_weight: Any = None,
        cache_size: float = 200,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shuffle = shuffle
        self.max_iter = max_iter
        self.keep = keep
        self.multi_class = multi_class
        self.on_plane = on_plane
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.random_state = random_state


class MaxMarginParameters(Constructor):
    """Those of `MaxMarginClassifier`."""

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        gap: float = 1e-6,
        on_overlap: Literal["raise", "drop"] = "raise",
        time_limit: float | None = 10.0,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.gap = gap
        self.on_overlap = on_overlap
        self.time_limit = time_limit


class FewestErrorsParameters(Constructor):
    """Those of `FewestErrorsClassifier`."""

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        time_limit: float | None = 10.0,
        max_nodes: int | None = None,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.time_limit = time_limit
        self.max_nodes = max_nodes
