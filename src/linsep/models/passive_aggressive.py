"""The passive-aggressive classifiers: the smallest change that gives each row a margin."""

from __future__ import annotations

import math
from typing import Any

from linsep.learn.rules import PassiveAggressiveRule, Rule
from linsep.models.online import Online, advising
from linsep.models.parameter_checks import need, number, one_of
from linsep.models.proving import Prover

_KEEP = ("last", "best", "average")


class PassiveAggressive(Online):
    """Passive-aggressive learning: no change if an example has margin 1, else the smallest change that gives it one.

    With the hinge loss ``l = max(0, 1 - y (w·x + b))`` every example of positive loss changes the weights to
    ``w + tau y x``, where tau is ``l/‖x‖²`` ("pa"), ``min(C, l/‖x‖²)`` ("pa1") or ``l/(‖x‖² + 1/(2C))`` ("pa2").

    Parameters
    ----------
    variant : {"pa1", "pa", "pa2"}, default="pa1"
        "pa" corrects every example fully: for data without noise. "pa1" limits a step to ``C``, "pa2" makes all steps
        smaller.
    C : float, default=1.0
        Aggressiveness: how far one example may move the weights. Not used by "pa".
    fit_intercept : bool, default=True
        Whether to learn an offset. It changes by ``tau y``, but does not count in the norm.
    shuffle : bool, default=True
        Whether every pass visits the rows in a new random order, or in the order given.
    max_iter : int, default=1000
        Largest number of passes.
    max_updates : int, default=None
        Largest number of updates.
    tol : float, default=None
        If given, stop when the hinge loss of the weights at the end of a pass has not gone down by more than this for
        ``n_iter_no_change`` passes; it takes one more visit to every row per pass.
    n_iter_no_change : int, default=5
        Passes without improvement that end a run, for ``tol`` and ``early_stopping``.
    early_stopping : bool, default=False
        Hold out rows and stop when the error on them has not improved for ``n_iter_no_change`` passes.
    validation_fraction : float, default=0.1
        Share of the rows to hold out.
    keep : {"last", "best", "average"}, default="last"
        Which hypothesis the run returns, as for `Perceptron`.
    multi_class : {"argmax", "ovr"}, default="argmax"
        More than two classes: the true class and its highest rival move apart, or one binary machine per class.
    on_plane : {-1, 1}, default=-1
        The side to predict for a point on the plane: -1 is the first class, +1 the second.
    class_weight : dict or "balanced", default=None
        Factors of ``C`` by class; sample weights are factors of ``C``, too. A row of weight 0 is skipped.
    warm_start : bool, default=False
        Whether ``fit`` continues from the current weights.
    random_state : int, RandomState or None, default=0
        Seed of the shuffling and of the rows held out.
    verbose : int, default=0
        1 shows a progress bar.
    prove : bool, default=True
        As for `Perceptron`; only "pa" uses it, because the others are meant for data that no plane separates.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, n_features_in_, feature_names_in_
        As those of `Perceptron`.
    stop_reason_ : str
        Why the run ended. "separated" is a pass that found every example right by the margin.
    mistakes_, mistake_counts_, trace_
        Examples without the margin, counted as mistakes. A row of zeros may be among them, but changes nothing.
    history_ : dict of ndarray
        For each pass its updates, hinge loss (of each row at the moment of its visit; with ``tol`` that of the weights
        at the end of the pass), validation error, seconds.
    radius_, margin_, training_errors_
        As those of `Perceptron`.

    Notes
    -----
    After Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006), *Online passive-aggressive algorithms*, JMLR 7. For a
    plane ``u`` that is right by a margin of 1 on every example, the squared losses of "pa" sum up to at most
    ``R² ‖u‖²`` (without offset). The steps need not end: a default run on separable data may end by ``max_iter``, and
    warns only if rows are wrong.

    The same order of examples gives the weights of scikit-learn's ``SGDClassifier(loss="hinge", penalty=None,
    learning_rate="pa1", eta0=C)`` and "pa2", offset included, for two classes and for ``multi_class="ovr"``, so this
    class can replace it and ``PassiveAggressiveClassifier``. Row weights differ: there they multiply the step, which
    can overshoot; here they multiply ``C``, as in the objective of the paper.

    Examples
    --------
    >>> from linsep import PassiveAggressive
    >>> X, y = [[1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [-1.0, 0.0]], [1, -1, 1, -1]
    >>> model = PassiveAggressive(fit_intercept=False, shuffle=False).fit(X, y)
    >>> model.coef_, model.stop_reason_
    (array([[1., 1.]]), 'separated')
    """

    @advising
    def __init__(
        self,
        *,
        variant: str = "pa1",
        C: float = 1.0,
        fit_intercept: bool = True,
        shuffle: bool = True,
        max_iter: int = 1000,
        max_updates: int | None = None,
        tol: float | None = None,
        n_iter_no_change: int = 5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        keep: str = "last",
        multi_class: str = "argmax",
        on_plane: int = -1,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = 0,
        verbose: int = 0,
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

    def _rule(self) -> Rule:
        """Return when an example changes the weights, and by how much."""
        return PassiveAggressiveRule(
            margin=1.0,
            offset=float(self.fit_intercept),
            cap=float(self.C) if self.variant == "pa1" else math.inf,
            soft=0.5 / self.C if self.variant == "pa2" else 0.0,
        )

    def _prover(self, *given: Any, **others: Any) -> Prover | None:
        """Return who looks for a proof: "pa" alone has to have every row right."""
        return super()._prover(*given, **others) if self.variant == "pa" else None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of(self, "variant", ("pa", "pa1", "pa2"))
        need(self, number(self.C) and self.C > 0, "C", "a positive number")
        one_of(self, "keep", _KEEP)
