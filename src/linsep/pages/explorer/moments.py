"""Computes the weights at selected moments of a run from its trace."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linsep.models.estimators import Perceptron
from linsep.problem import Array, Floats
from linsep.prove.bounds.audits import Trail, retrace, retrace_each


class Replay(NamedTuple):
    """A run made again: one trail, or for one-against-rest one for each class."""

    model: Perceptron
    trails: list[Trail]
    others: Array  # (k,) the class that lost; for one-against-rest the class whose machine it was; 0 for two classes

    @classmethod
    def of(cls, model: Perceptron, X: Floats, y: Array, first: Floats | None, offset: Floats | None) -> Replay:
        """Make a run again, on its rows in their order and from its first weights."""
        machines = len(model.coef_)
        if machines > 1 and model.multi_class == "ovr":
            others, trails = retrace_each(model, X, y)
            return cls(model, trails, others)
        trail = retrace(model, X, y, coef_init=first, intercept_init=offset)
        return cls(model, [trail], trail.trace.astype(np.intp) % machines)

    @property
    def apart(self) -> bool:
        """Whether every class has a machine of its own."""
        return len(self.trails) > 1

    @property
    def leads(self) -> Floats:
        """What made each a mistake, ``y s(x)`` or the lead over the class that lost; shape (k,)."""
        if not self.apart:
            return self.trails[0].leads
        leads = np.empty(len(self.others))
        for c, trail in enumerate(self.trails):
            leads[self.others == c] = trail.leads
        return leads

    @property
    def longest(self) -> float:
        """Squared length of the longest update at learning rate 1."""
        return max(float(trail.squares.max()) for trail in self.trails)

    def weights(self, counts: Array) -> Floats:
        """Return the weights after these numbers of mistakes, offsets last: shape (len(counts), machines, d + 1)."""
        wanted, places = np.unique(counts, return_inverse=True)
        parts = []
        for c, trail in enumerate(self.trails):
            own = np.concatenate(([0], np.cumsum(self.others == c)))[wanted] if self.apart else wanted
            parts.append([np.column_stack(weights) for weights in trail.weights_after(own.tolist())])
        found = np.concatenate([np.array(part) for part in parts], axis=1)
        if self.model.keep == "last" and wanted[-1] == len(self.others):  # to the bit, however sums were rounded
            found[-1] = np.column_stack((self.model.coef_, self.model.intercept_))
        return np.asarray(found[places])
