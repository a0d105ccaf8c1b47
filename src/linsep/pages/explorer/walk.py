"""The weights of a run after every mistake, from its trace."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linsep.models.perceptron import Perceptron
from linsep.problem import Array, Floats
from linsep.prove.audits import retrace


class Walk(NamedTuple):
    """A run made again, every moment of it."""

    weights: Floats  # (k + 1, machines, d + 1) offsets last
    others: Array  # (k,) the class that lost; for one-against-rest the class whose machine it was; 0 for two classes
    leads: Floats  # (k,) what made it a mistake: y s(x), or the lead over the class that lost
    longest: float  # squared norm of the longest update at learning rate 1

    @property
    def squares(self) -> Floats:
        """Squared norm of all weights together after k mistakes, for every k."""
        return np.asarray(np.square(self.weights).sum(axis=(1, 2)))

    @property
    def moved(self) -> Floats:
        """Distance of the weights from the first ones after k mistakes, for every k."""
        return np.asarray(np.sqrt(np.square(self.weights - self.weights[0]).sum(axis=(1, 2))))


def walk(model: Perceptron, X: Floats, y: Array, first: Floats | None, offset: Floats | None) -> Walk:
    """Make the updates of a fitted perceptron again, on its rows in their order and from its first weights."""
    machines, d = model.coef_.shape
    (stretch,) = model._stretches  # one fit; its codes are row * machines + the other class
    rows, others = np.divmod(stretch.run.trace.astype(np.intp), machines)
    x = np.column_stack((X, np.full(len(X), float(model.fit_intercept))))
    longest, x = float(np.square(x).sum(axis=1).max()), x[rows]
    labels, t = np.searchsorted(model.classes_, y)[rows], np.arange(len(rows))
    steps = np.zeros((len(rows) + 1, machines, d + 1))
    steps[0, :, :-1] = 0.0 if first is None else first
    steps[0, :, -1] = 0.0 if offset is None else offset
    if machines > 1 and model.multi_class == "argmax":
        steps[t + 1, labels] += model.eta0 * x
        steps[t + 1, others] -= model.eta0 * x
        longest *= 2
    else:
        signs = np.where(labels == (others if machines > 1 else 1), 1.0, -1.0)
        steps[t + 1, others] = model.eta0 * signs[:, None] * x
    weights = np.cumsum(steps, axis=0)
    if machines > 1 and model.multi_class == "ovr":
        leads = signs * np.einsum("ij,ij->i", x, weights[t, others])
    else:
        leads = retrace(model, X, y, coef_init=first, intercept_init=offset).leads
    if model.keep == "last":  # to the bit, where sums were rounded differently on the way
        weights[-1] = np.column_stack((model.coef_, model.intercept_))
    return Walk(weights, others, leads, longest)
