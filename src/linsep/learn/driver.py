"""The one driver of training: makes passes until a rule ends the run.

Arrays, files and shards differ only in how they build the problem and which process makes a pass.
"""

from __future__ import annotations

import math
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from linsep.learn.averaging import WeightTracker
from linsep.learn.evaluation import Evaluation
from linsep.learn.parameters import Parameters
from linsep.learn.passes import Hooks, Passes, ProofAttempt, State
from linsep.learn.rules import MispredictionRule, StrictRule
from linsep.learn.weights import Weights
from linsep.problem import Array, Problem, Run, Stop


class Fitted(NamedTuple):
    """What a run has learned, in the units of the user."""

    classes: Array
    weights: Weights  # the last ones
    tracker: WeightTracker  # of those that are returned
    run: Run
    evaluation: Evaluation  # of that hypothesis
    rows: int
    seed: int
    first: Weights | None = None  # the first weights, unless zero
    scaling: Any = None
    proof: ProofAttempt | None = None  # that no plane separates the rows


def fit(
    problem: Problem, parameters: Parameters, state: State, hooks: Hooks | None = None, passes: Passes | None = None
) -> Fitted:
    """Train until a rule ends the run.

    Parameters
    ----------
    problem : Problem
    parameters : Parameters
    state : State
        Where to begin: first weights, or all that an interrupted run had come to. It is changed in place.
    hooks : Hooks, default=None
    passes : Passes, default=None
        Who makes the passes, by default this process.

    Raises
    ------
    FloatingPointError
        When some score, or weight, is not finite.
    """
    hooks = hooks or Hooks()
    passes = passes or Passes(problem, parameters, hooks)
    with closing(passes), np.errstate(over="ignore", invalid="ignore"):
        run, proof = _run(parameters, state, passes)
        # one pass over some rows: if they overflow, so do the scores of these rows, which the evaluation visits
        seen = parameters.once and hooks.evaluate and state.tracker.by_column
        if not (seen or state.weights.finite):
            raise FloatingPointError("the weights overflowed to infinity")
        evaluation = passes.evaluate(state, run.stop)
    state.tracker.on_run_end()
    first = state.first
    learned: list[Any] = [state.weights, state.tracker, *([] if first is None else [first])]
    for one in learned:  # in the units of the user
        one.widen(state.weights.n_features)
        if problem.scaling is not None:
            one.unscale(problem.scaling)
    return Fitted(
        problem.classes, state.weights, state.tracker, run, evaluation, passes.rows, parameters.seed, first,
        problem.scaling, proof,
    )  # fmt: skip


def _run(parameters: Parameters, state: State, passes: Passes) -> tuple[Run, ProofAttempt | None]:
    """Make passes until a rule ends the run; return it, and the proof that ended it, if one did."""
    problem, hooks, attempt = passes.problem, passes.hooks, None
    if not parameters.once:
        state.tracker.on_run_start(passes.errors)
    if parameters.separate(problem.machines) and problem.allowed < math.inf and state.log.spent is None:
        state.log.spent = np.zeros(problem.machines)
    while (stop := stopped(problem, parameters, state)) is None:
        attempt = None if hooks.prover is None else hooks.prover(problem, state)
        if attempt is not None:
            if attempt.refutation is not None:
                stop = Stop.NOT_SEPARABLE
                break
            if not math.isnan(attempt.margin_bound):
                stop = Stop.MARGIN_REFUTED
                break
            state.log.searched(attempt)
            attempt = None
        passes.make(state)
        hooks.save(state)
    on_plane_is_right = isinstance(parameters.rule, MispredictionRule | StrictRule)
    if stop is Stop.SEPARATED and on_plane_is_right and not passes.training_loss(state).smallest > 0:
        stop = Stop.NO_MISTAKES
    if stop is Stop.VISITED and passes.training_loss(state).smallest > 0:
        stop = Stop.SEPARATED
    hooks.save(state, ended=True)
    if attempt is None:
        return state.log.run(stop), None
    state.log.searched(attempt)  # after the state was saved: a run that is resumed there finds the proof again
    return state.log.run(stop), None if attempt.refutation is None else attempt


def stopped(problem: Problem, parameters: Parameters, state: State) -> Stop | None:
    """Say whether the run ends here, and why."""
    log, passes = state.log, state.log.passes
    if parameters.max_updates == 0:
        return Stop.MAX_UPDATES
    if not passes or log.rows:  # before the first pass, or in the middle of one
        return None
    if passes[-1].mistakes == 0 and not parameters.listed:
        return Stop.SEPARATED
    if log.against_margin > problem.allowed:
        return Stop.MARGIN_REFUTED
    if parameters.max_updates is not None and log.made >= parameters.max_updates:
        return Stop.MAX_UPDATES
    if parameters.listed:
        return Stop.VISITED
    if not math.isnan(passes[-1].validation_error):
        if _stalled([p.validation_error for p in passes], parameters.tol or 0.0, parameters.n_iter_no_change):
            return Stop.VALIDATION
    elif parameters.tol is not None and _stalled([p.loss for p in passes], parameters.tol, parameters.n_iter_no_change):
        return Stop.LOSS_PLATEAU
    return Stop.MAX_ITER if len(passes) >= parameters.max_iter else None


def _stalled(values: list[float], tol: float, patience: int) -> bool:
    """Say whether none of the last ``patience`` values went below the best one before them by more than ``tol``."""
    best, waited = math.inf, 0
    for value in values:
        waited = 0 if value < best - tol else waited + 1
        best = min(best, value)
    return waited >= patience
