"""The parameters of a training run as plain data."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from linsep.learn import kernels
from linsep.learn.rules import MispredictionRule

Kernel = Callable[..., tuple[int, int]]


class Parameters(NamedTuple):
    """How to train and when to stop, by the names that the classifiers' parameters have."""

    rule: Any  # when an example changes the weights, and by how much
    multi_class: str = "argmax"  # or "ovr": of more than two classes, each is a machine of its own
    shuffle: bool = False
    order: Any = None  # "cyclic", "shuffled", "first", "worst", or the rows to visit; None: ``shuffle`` decides
    eta0: float = 1.0
    learning_rate: str = "constant"  # or "invscaling": eta0 / √t at visit t, counted from 1
    max_iter: int = 1000
    max_updates: int | None = None
    tol: float | None = None
    n_iter_no_change: int = 5
    early_stopping: bool = False
    validation_fraction: float = 0.1
    target_margin: float | None = None
    keep: str = "last"  # or "best", "average", "vote", "auto"
    on_plane: int = -1
    class_weight: Any = None
    seed: int = 0
    once: bool = False  # whether the rows are gone after a pass, so that nothing can be evaluated on them

    @property
    def shuffled(self) -> bool:
        """Whether every pass visits the rows in a random order of its own."""
        return self.shuffle if self.order is None else self._named("shuffled")

    @property
    def picks(self) -> bool:
        """Whether every update picks its row among all, instead of passes over them."""
        return self._named("first", "worst")

    @property
    def listed(self) -> bool:
        """Whether the rows to visit are listed one by one."""
        return self.order is not None and not isinstance(self.order, str)

    def _named(self, *orders: str) -> bool:
        return isinstance(self.order, str) and self.order in orders

    def kernel(self, machines: int) -> Kernel:
        """Return the compiled loop for this number of weight vectors."""
        several: Kernel = kernels.one_vs_rest if self.separate(machines) else kernels.argmax
        return kernels.two_classes if machines == 1 else several

    def separate(self, machines: int) -> bool:
        """Say whether each weight vector is a machine of its own."""
        return machines > 1 and self.multi_class == "ovr"

    def rule_for(self, machines: int) -> Any:
        """Return the rule for a number of weight vectors: where classes are compared, ties have a side of their own."""
        compared = machines > 1 and not self.separate(machines)
        return self.rule._replace(on_plane=1.0) if compared and isinstance(self.rule, MispredictionRule) else self.rule

    @property
    def textbook(self) -> bool:
        """Whether the steps are those of the mistake bound."""
        return bool(self.rule.textbook) and self.learning_rate == "constant"

    def allowed_mistakes(self, radius: float, steps: tuple[float, float], start: float, machines: int) -> float:
        """Return how many mistakes are possible if some plane has the target margin: Novikoff's bound, generalized.

        With steps between ``low`` and ``high``, updates up to ``y s <= m`` and first weights of norm ``start``, after
        k mistakes ``k low g - start <= ‖w‖`` and ``‖w‖² <= start² + k (high² R² + 2 high m)``. The first says that
        progress is made toward the plane, the second that the weights cannot grow fast. Together they bound k. A
        mistake where classes are compared moves two weight vectors: 2R² for R².
        """
        if self.target_margin is None or not self.textbook:
            return math.inf
        low, high = steps
        squared = radius**2 + self.rule.offset
        if machines > 1 and not self.separate(machines):
            squared *= 2
        gain = low * self.target_margin
        bound = (high**2 * squared + 2 * high * self.rule.margin + 2 * gain * start) / gain**2
        return float(bound * (1 + 1e-12))  # rounding must not refute what is true
