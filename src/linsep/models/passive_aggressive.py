"""The passive-aggressive classifiers: the smallest change that gives each row a margin."""

from __future__ import annotations

import math
from typing import Any

from linsep.learn.rules import PassiveAggressiveRule, Rule
from linsep.models.constructors import PassiveAggressiveParameters
from linsep.models.online import Online
from linsep.models.proving import Prover


class PassiveAggressive(PassiveAggressiveParameters, Online):
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
    keep : {"last", "best", "average", "auto"}, default="last"
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
    radius_, margin_, training_errors_, majority_rows_
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

    def rule(self) -> Rule:
        """Return the rule of the steps."""
        return PassiveAggressiveRule(
            margin=1.0,
            offset=float(self.fit_intercept),
            cap=float(self.C) if self.variant == "pa1" else math.inf,
            soft=0.5 / self.C if self.variant == "pa2" else 0.0,
        )

    def prover(self, *given: Any, **others: Any) -> Prover | None:
        """Return who looks for a proof: "pa" alone has to have every row right."""
        return super().prover(*given, **others) if self.variant == "pa" else None
