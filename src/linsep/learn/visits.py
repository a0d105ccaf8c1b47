"""Makes a run again, one visit at a time, with the compiled loops that made it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from linsep.learn.parameters import Parameters
from linsep.learn.passes import Hooks, Passes, State
from linsep.learn.weights import Weights
from linsep.problem import Array, Problem, Run, Stop


class Visit(NamedTuple):
    """A visit to a row."""

    passed: int  # passes before this one
    row: int
    mistakes: Array  # weight vectors: the rival for two that are compared, 0 for one, those that erred if separate
    before: Weights
    after: Weights  # the same object if there was no mistake


def visits(problem: Problem, parameters: Parameters, state: State, run: Run) -> Iterator[Visit]:
    """Yield the visits of a run over rows in memory, which began in this state."""
    passes, log = Passes(problem, parameters, Hooks()), state.log
    (batch,) = problem.batches
    state.fit_to(batch)
    weights, found = state.weights, np.empty(state.weights.machines, np.uint64)
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
            _, k = passes.kernel(data, part, passes.rule.bound(weights), weights.W, weights.b, found, log.loss)
            log.visits += 1
            log.made += k
            after = weights.plain().copy() if k else before
            yield Visit(
                len(log.passes), int(part[0]), (found[:k] % np.uint64(weights.machines)).astype(int), before, after
            )
            if (k and parameters.picks) or log.made == budget:
                break
        log.close(float("nan"))
