"""AROW: every weight has a variance of its own, which shrinks as the weight is confirmed."""

from __future__ import annotations

from linsep.learn.rules import AROWRule, Rule
from linsep.models.constructors import AROWParameters
from linsep.models.online import Online
from linsep.problem import Floats


class AROW(AROWParameters, Online):
    """Adaptive regularization of weights: features that were seen often move less than rare ones.

    Every example with ``m = y (w·x + b) < 1`` changes the weights to ``w + α y Σx`` and the variances Σ, one for each
    weight, to ``Σ - β (Σx)²``, where ``β = 1 / (x'Σx + r)`` and ``α = (1 - m) β``. All variances begin at 1.

    Parameters
    ----------
    r
        Regularization: the larger, the smaller the steps, and the slower the variances shrink.
    fit_intercept
        Whether to learn an offset, as the weight of one more feature that is always 1.
    class_weight
        Divides ``r`` by class, as sample weights do by row. A row of weight 0 is skipped.
    warm_start
        Whether ``fit`` continues from the current weights; the variances begin at 1 again.

    Notes
    -----
    After Crammer, Kulesza & Dredze (2009), *Adaptive regularization of weight vectors*, NIPS 22, with a diagonal
    matrix. ``partial_fit`` and model files keep the variances.

    Examples
    --------
    >>> from linsep import AROW
    >>> X, y = [[1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [-1.0, 0.0]], [1, -1, 1, -1]
    >>> model = AROW(fit_intercept=False, shuffle=False, max_iter=1, tol=0.0).fit(X, y)
    >>> model.coef_.round(3), model.variance_.round(3)
    (array([[0.667, 0.667]]), array([[0.333, 0.333]]))
    """

    def rule(self) -> Rule:
        """Return the rule of the steps."""
        return AROWRule(float(self.r), float(self.fit_intercept))

    @property
    def variance_(self) -> Floats:
        """The variance of each weight, of the same shape as ``coef_``."""
        return self.beside("variance").W
