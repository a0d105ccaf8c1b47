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
    variant
        "pa" corrects every example fully: for data without noise. "pa1" limits a step to ``C``, "pa2" makes all steps
        smaller.
    C
        Aggressiveness: how far one example may move the weights. Not used by "pa".
    fit_intercept
        Whether to learn an offset. It changes by ``tau y``, but does not count in the norm.
    tol
        If given, stop when the hinge loss of the weights at the end of a pass has not gone down by more than this for
        ``n_iter_no_change`` passes; it takes one more visit to every row per pass.
    multi_class
        More than two classes: the true class and its highest rival move apart, or one binary machine per class.
    class_weight
        Factors of ``C`` by class; sample weights are factors of ``C``, too. A row of weight 0 is skipped.
    prove
        As for `Perceptron`; only "pa" uses it, because the others are meant for data that no plane separates.

    Attributes
    ----------
    stop_reason_ : str
        Why the run ended, as for `Perceptron`. "separated" is a pass that found every example right by the margin.
    mistakes_ : int
        Examples without the margin. A row of zeros may be among them, but changes nothing.

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
