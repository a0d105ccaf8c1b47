"""A run one visit at a time: what the student does on paper, made by the loops that train."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linsep.data.labels import class_codes
from linsep.data.plane import Plane
from linsep.errors import NotSeparable
from linsep.learn.averaging import WeightTracker
from linsep.learn.passes import Hooks, Passes, State
from linsep.learn.problems import array_problem
from linsep.learn.weights import Weights
from linsep.problem import Array, Floats, Stop

if TYPE_CHECKING:
    from linsep.models.online import Online

_SHOWN = 12  # visits that a repr has


class Step(NamedTuple):
    """One visit to a row.

    Attributes
    ----------
    visit : int
        Its number, from 1.
    passed : int
        The number of its pass, from 1.
    row : int
        The row of the data, from 0.
    label
        Its label.
    score : float or ndarray of shape (classes,)
        ``w·x + b`` with the weights before.
    mistake : bool
        Whether the weights changed.
    w, b
        Weights and offset before; for more than two classes a row and a number for each class.
    w_after, b_after
        Those after.
    rival
        The class that the weights moved away from, where more than two are compared; None without a mistake.
    cosine : float
        Cosine of the angle between the weights after it and those of a plane, offsets included; NaN without one.

    Examples
    --------
    >>> from linsep import steps
    >>> first = next(iter(steps([[2, 0], [-1, 1]], ["yes", "no"], shuffle=False)))
    >>> first.row, first.label, first.mistake, first.w_after
    (0, 'yes', True, array([2., 0.]))
    """

    visit: int
    passed: int
    row: int
    label: Any
    score: Any
    mistake: bool
    w: Floats
    b: Any
    w_after: Floats
    b_after: Any
    rival: Any
    cosine: float


class Steps:
    """The visits of a run, one after the other; iterate over it as often as you like.

    Examples
    --------
    >>> from linsep import steps
    >>> run = steps([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1], fit_intercept=False, shuffle=False)
    >>> [(step.row, step.score, step.mistake) for step in run][:3]
    [(0, 0.0, True), (1, 0.0, True), (2, 1.0, False)]
    >>> run.weights()
    array([[0., 0.],
           [1., 0.],
           [1., 1.]])
    """

    def __init__(self, model: Online, X: Any, y: Array, start: tuple[Any, Any], plane: Any) -> None:
        self._model, self._X, self._y, self._start, self._plane = model, X, y, start, plane

    def __iter__(self) -> Iterator[Step]:
        model, plane = self._model, self._known_plane()
        u = None if plane is None else np.append(plane.w, plane.b)
        compared = len(model.classes_) > 2 and model.multi_class != "ovr"
        for number, (passed, row, mistakes, before, after) in enumerate(self._visits(), 1):
            x = self._X[[row]]
            x = x.toarray()[0] if hasattr(x, "toarray") else x[0]
            S = before.W @ x + before.b
            one = len(S) == 1
            v = np.append(after.W[0], after.b[0])
            length = 0.0 if u is None else float(np.linalg.norm(u) * np.linalg.norm(v))
            yield Step(
                number,
                passed + 1,
                row,
                _plain(self._y[row]),
                float(S[0]) if one else S,
                len(mistakes) > 0,
                before.W[0] if one else before.W,
                float(before.b[0]) if one else before.b,
                after.W[0] if one else after.W,
                float(after.b[0]) if one else after.b,
                _plain(model.classes_[mistakes[0]]) if compared and len(mistakes) else None,
                math.nan if length == 0 or u is None else float(u @ v) / length,
            )

    def _visits(self) -> Iterator[tuple[int, int, Array, Weights, Weights]]:
        """Make the run again, visit by visit: passes before it, row, machines that erred, weights before and after.

        Of two weight vectors that are compared, the rival's is the one that is named.
        """
        model, X, classes = self._model, self._X, self._model.classes_
        run, parameters = model.record_.runs[0].run, model.run_parameters(model.record_.seed)
        state = State(model.start_weights(X.shape[1], classes, *self._start), WeightTracker())
        problem = array_problem(X, class_codes(self._y, classes), classes, None, parameters, state.weights)
        passes, log = Passes(problem, parameters, Hooks()), state.log
        (batch,) = problem.batches
        state.fit_to(batch)
        weights, mistakes = state.weights, np.empty(state.weights.machines, np.uint64)
        budget = run.mistakes if run.stop in (Stop.MAX_UPDATES, Stop.MARGIN_REFUTED) else -1
        for _ in run.passes:
            order = passes.order(batch, 0, state)
            if parameters.picks and parameters.order == "worst":
                order, _ = passes.worst(batch.examples, order, weights)
            for t in range(len(order)):
                part, before = order[t : t + 1], weights.plain().copy()
                data = batch.examples
                if parameters.learning_rate != "constant":
                    data = passes.slowed(batch, part, state)
                _, k = passes.kernel(data, part, passes.rule.bound(weights), weights.W, weights.b, mistakes, log.loss)
                log.visits += 1
                log.made += k
                machines = (mistakes[:k] % np.uint64(weights.machines)).astype(int)
                yield len(log.passes), int(part[0]), machines, before, weights.plain().copy() if k else before
                if (k and parameters.picks) or log.made == budget:
                    break
            log.close(math.nan)

    def _known_plane(self) -> Plane | None:
        """Return the plane to measure the angle to; by default that of largest margin, None if there is none."""
        if not isinstance(self._plane, str):
            known = self._plane
            return None if known is None else Plane(np.asarray(known[0], dtype=np.float64), float(known[1]))
        from linsep.prove.bounds.margins import largest_margin  # slow to import

        if len(self._model.classes_) != 2:
            return None
        try:
            best = largest_margin(self._X, self._y, form="augmented" if self._model.fit_intercept else "origin")
        except NotSeparable:
            return None
        return Plane(np.asarray(best.w, dtype=np.float64), float(best.b))

    def weights(self) -> Floats:
        """Return the weights ``w_k`` after k mistakes, for every k from 0: shape (mistakes + 1, d), or with classes."""
        weights: list[Floats] = []
        for step in self:
            if not weights:
                weights.append(step.w)
            if step.mistake:
                weights.append(step.w_after)
        return np.array(weights)

    def to_frame(self) -> Any:
        """Return the visits as a pandas frame."""
        import pandas as pd

        return pd.DataFrame([step._asdict() for step in self], columns=Step._fields)

    def __repr__(self) -> str:
        shown = list(islice(self, _SHOWN + 1))
        lines = [("visit", "pass", "row", "label", "score", "mistake", "w after", "b after")]
        lines += [
            (
                str(step.visit), str(step.passed), str(step.row), str(step.label), _short(step.score),
                "yes" if step.mistake else "", _short(step.w_after), _short(step.b_after),
            )
            for step in shown[:_SHOWN]
        ]  # fmt: skip
        widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
        text = "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines
        )
        return text + ("\n..." if len(shown) > _SHOWN else "")


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return " ".join(np.array2string(value, precision=4, separator=", ").split())
    return f"{value:.4g}"
