"""The perceptron as a classifier."""

from __future__ import annotations

from linsep.errors import DataError
from linsep.learn.rules import MarginRule, MispredictionRule, Rule, StrictRule
from linsep.models.constructors import PerceptronParameters
from linsep.models.online import Online


class Perceptron(PerceptronParameters, Online):
    """The perceptron, to the letter.

    It visits one example at a time. If ``y (w·x + b) <= 0``, that is a mistake; then ``w <- w + eta0 y x`` and
    ``b <- b + eta0 y``. A run on separable data ends with a full pass without a mistake, unless it runs out of passes
    first; then it warns. It uses dense and sparse rows of any real dtype directly, without a float copy.

    Parameters
    ----------
    eta0
        Learning rate. From zero weights it scales the weights and changes nothing else.
    learning_rate
        "invscaling": the learning rate of visit t, counted from 1, is ``eta0 / √t``, that of stochastic subgradient
        descent. Then no number of mistakes bounds all runs; see the notes.
    order
        "cyclic": every pass visits the rows as they are given. "shuffled": every pass has a random order of its own.
        None: one of these, by ``shuffle``. "first": after every update start again from the first row. "worst": take
        the row with the smallest ``y s(x)`` each time. Both make at most one update a pass, and neither goes with
        ``multi_class="ovr"``. A list: visit exactly these rows, one after the other, and stop.
    max_updates
        Largest number of updates; 0 returns the first weights.
    tol
        If given, stop when the loss ``Σ max(0, -y s(x))`` of the weights at the end of a pass has not gone down by
        more than this for ``n_iter_no_change`` passes; it takes one more visit to every row per pass.
    target_margin
        If given, stop as soon as the number of mistakes proves that no plane has this margin. With an offset it is
        the margin of the points ``(x, 1)``.
    keep
        Which hypothesis the run returns: the last weights; those with the fewest training errors among the ones
        that were evaluated, one of each pass (the pocket); their mean over all examples looked at; all of them, each
        with one vote for every example that it survived; or ("auto") the last weights if the run ended with a pass
        without a mistake, otherwise the mean. ``partial_fit`` always continues from the last weights.
    update_margin
        Update also when ``y s(x)`` is positive but at most this: the perceptron with margins.
    mistake
        When to update. "violation": unless ``y s(x) > 0``, so that a row on the plane, or with tied classes, is a
        mistake; at a loss of 0 this takes the subgradient ``-y x``. "strict": only if ``y s(x) < 0``; there it takes
        the subgradient 0, so a run from zero weights never leaves them. "prediction": only if the predicted label is
        wrong, where ``on_plane`` decides on the plane, and of tied classes the first is predicted. The mistake bound
        holds for all three.
    prove
        Whether a run that makes no progress searches for a proof that no plane separates the rows, and stops if it
        finds one: first after 10 passes, then each time their number has doubled, with at most the work of training.

    Notes
    -----
    After Rosenblatt (1958), *The perceptron*, Psychological Review 65. On data that some plane separates with margin
    γ and whose norms are at most R, at most (R/γ)² mistakes are made (Novikoff 1962). ``update_margin`` is the
    perceptron with margins of Krauth & Mézard (1987), *Learning algorithms with optimal stability in neural networks*.

    Average and vote are those of Freund & Schapire (1999), *Large margin classification using the perceptron
    algorithm*. A hypothesis counts once for every visit after which it was current, so the mistake at visit t (from
    0) is part of T - t hypotheses of T. The mean costs one more addition per mistake. The vote keeps two numbers for
    every mistake, and each row with a mistake; it predicts with one product of the new rows with those rows.

    "best" is the pocket with ratchet of Gallant (1990), *Perceptron-based learning algorithms*, with one difference:
    runs of right answers compete within a pass, and the winner is evaluated once, at its end. So it costs at most
    one more visit to all rows per pass. ``partial_fit`` has no rows to evaluate on: there the longest run decides.

    With ``learning_rate="invscaling"`` the proof of the bound gives ``γ Σ η <= R √(Σ η²)``, both sums over the mistakes
    of T visits, hence at most ``(R/γ) √(T (1 + ln T))`` of them: their share of the visits goes to 0, but no bound on
    their number holds for all T.

    ``partial_fit`` counts rows and passes from its first call on: a row given twice is two rows.

    Examples
    --------
    >>> from linsep import Perceptron
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> model = Perceptron(fit_intercept=False, shuffle=False).fit(X, y)
    >>> model.coef_, model.mistakes_, model.stop_reason_
    (array([[1., 1.]]), 2, 'separated')
    """

    def rule(self) -> Rule:
        """Return the rule of the steps."""
        if self.mistake == "prediction":
            return MispredictionRule(float(self.on_plane), float(self.fit_intercept))
        if self.mistake == "strict":
            return StrictRule(0.0, float(self.fit_intercept))
        return MarginRule(float(self.update_margin), float(self.fit_intercept))

    def check_parameters(self) -> None:
        """Refuse parameters that do not go together."""
        super().check_parameters()
        picks = isinstance(self.order, str) and self.order in ("first", "worst")
        if self.keep != "last" and picks:
            message = "{0} needs passes over all rows, and {1} makes none"
            raise DataError("", message, ("keep", self.keep), ("order", self.order))
        if picks and self.multi_class == "ovr":
            message = (
                "{0} picks one row for all classes together, and {1} has a machine of its own for each: leave out one"
            )
            raise DataError("", message, ("order", self.order), ("multi_class", "ovr"))
        if self.mistake != "violation" and self.update_margin > 0:
            message = "{0} also updates on correctly predicted rows, which {1} excludes"
            raise DataError("", message, ("update_margin",), ("mistake", self.mistake))
        if self.learning_rate != "constant" and self.target_margin is not None:
            message = "{0} is refuted by the number of mistakes, which {1} leaves without a bound"
            raise DataError("", message, ("target_margin",), ("learning_rate", self.learning_rate))
