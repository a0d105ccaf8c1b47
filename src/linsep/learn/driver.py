"""The one driver of training: makes passes until a rule ends the run.

Arrays, files and shards differ only in how they build the problem and which process makes a pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from linsep.learn.hypotheses import Keeper
from linsep.learn.parameters import Parameters
from linsep.learn.passes import Hooks, Passes, Search, State
from linsep.learn.rules import Prediction
from linsep.learn.surveys import Survey
from linsep.learn.touched import finite
from linsep.problem import Array, Batch, Floats, Pass, Problem, Run, Stop, Weights


class Fitted(NamedTuple):
    """What a run has learned, in the units of the user."""

    classes: Array
    weights: Weights  # the last ones
    keeper: Keeper  # of the hypothesis that is returned
    run: Run
    survey: Survey  # of that hypothesis
    rows: int
    seed: int
    first: Weights | None = None  # the first weights, unless zero
    scaling: Any = None
    proof: Search | None = None  # that no plane separates the rows
    levels: Any = None


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
        if parameters.order in ("first", "worst") and parameters.separate(problem.machines):
            run, proof = _run_each(problem, parameters, state, passes)
        else:
            run, proof = _run(parameters, state, passes)
        if not finite(state.weights, problem):
            raise FloatingPointError("the weights overflowed to infinity")
        survey = passes.survey(state, run.stop)
    state.keeper.done()
    first = _returned(problem, state)
    return Fitted(
        problem.classes, state.weights, state.keeper, run, survey, passes.rows, parameters.seed, first,
        problem.scaling, proof,
    )  # fmt: skip


def _run(parameters: Parameters, state: State, passes: Passes) -> tuple[Run, Search | None]:
    """Make passes until a rule ends the run; return it, and the proof that ended it, if one did."""
    problem, hooks, found = passes.problem, passes.hooks, None
    if not parameters.once:
        state.keeper.begin(passes.errors)
    if parameters.separate(problem.machines) and problem.allowed < math.inf and state.ledger.spent is None:
        state.ledger.spent = np.zeros(problem.machines)
    while (stop := stopped(problem, parameters, state)) is None:
        if hooks.prover is not None:
            found = hooks.prover(problem, state)
        if found is not None and found.refutation is not None:
            stop = Stop.NOT_SEPARABLE
            break
        if found is not None:
            state.ledger.searched(found)
            found = None
        passes.make(state)
        hooks.save(state)
    if stop is Stop.SEPARATED and isinstance(parameters.rule, Prediction) and not passes.evaluate(state).smallest > 0:
        stop = Stop.NO_MISTAKES  # a row on the plane may be predicted right
    hooks.save(state, ended=True)
    if found is None:
        return state.ledger.run(stop), None
    state.ledger.searched(found)  # after the state was saved: a run that is resumed there finds the proof again
    return state.ledger.run(stop), found


def stopped(problem: Problem, parameters: Parameters, state: State) -> Stop | None:
    """Say whether the run ends here, and why."""
    ledger, passes = state.ledger, state.ledger.passes
    if not passes or ledger.blocks:  # before the first pass, or in the middle of one
        return None
    if passes[-1].mistakes == 0:
        return Stop.SEPARATED
    if ledger.against_margin > problem.allowed:
        return Stop.MARGIN_REFUTED
    if parameters.max_updates is not None and ledger.made >= parameters.max_updates:
        return Stop.MAX_UPDATES
    if not math.isnan(passes[-1].validation_error):
        if _stalled([p.validation_error for p in passes], parameters.tol or 0.0, parameters.patience):
            return Stop.VALIDATION
    elif parameters.tol is not None and _stalled([p.loss for p in passes], parameters.tol, parameters.patience):
        return Stop.LOSS_PLATEAU
    return Stop.MAX_ITER if len(passes) >= parameters.max_iter else None


def _stalled(values: list[float], tol: float, patience: int) -> bool:
    """Say whether none of the last ``patience`` values went below the best one before them by more than ``tol``."""
    best, waited = math.inf, 0
    for value in values:
        waited = 0 if value < best - tol else waited + 1
        best = min(best, value)
    return waited >= patience


def _returned(problem: Problem, state: State) -> Weights | None:
    """Bring all that was learned into the units of the user; return the first weights in these units."""
    scaling, features = problem.scaling, problem.features
    if scaling is None and features is None:
        return state.first
    columns = slice(None) if features is None else features()

    def change(W: Any, b: Floats) -> tuple[Any, Floats]:
        W, b = (W, b) if scaling is None else scaling.undo(W, b)
        return W[:, columns] if not isinstance(W, np.ndarray) else np.ascontiguousarray(W[:, columns]), b

    state.keeper.transform(change, state.weights.W.shape[1])
    first = state.first
    if first is not None:
        first.widen(state.weights.W.shape[1])
        first = Weights(*change(first.W, first.b))
    state.weights.W, state.weights.b = change(state.weights.W, state.weights.b)
    return first


def _run_each(problem: Problem, parameters: Parameters, state: State, passes: Passes) -> tuple[Run, Search | None]:
    """One-against-rest in an order that depends on the machine: one run after another, merged into one."""
    W, b = state.weights.W, state.weights.b
    runs: list[Run] = []
    proofs: list[Search] = []
    left = parameters.max_updates
    for c in range(len(b)):
        if left == 0:
            runs.append(Run(Stop.MAX_UPDATES, (), np.empty(0, np.uint32)))
            continue
        signed = problem._replace(classes=problem.classes[:2], batches=_Against(problem, c))
        own = _Machine(signed, parameters._replace(max_updates=left), passes, state)
        run, proof = _run(own.parameters, State(Weights(W[c : c + 1], b[c : c + 1]), Keeper()), own)
        runs.append(run)
        proofs += [] if proof is None else [proof._replace(machine=c)]
        left = None if left is None else left - runs[-1].mistakes
    merged = [
        Pass(
            sum(p.mistakes for p in side),
            sum(p.loss for p in side),
            side[-1].validation_error,
            sum(p.seconds for p in side),
            sum(p.proof_work for p in side),
        )
        for side in zip_longest(*(run.passes for run in runs), fillvalue=Pass(0, 0.0, math.nan, 0.0))
    ]
    # the first machine that ended with mistakes, else one with rows on its plane
    stop = min((run.stop for run in runs), key=lambda stop: (stop is Stop.SEPARATED, stop is Stop.NO_MISTAKES))
    trace = [run.trace.astype(np.uint64) * np.uint64(len(b)) + np.uint64(c) for c, run in enumerate(runs)]
    if proofs:
        stop = Stop.NOT_SEPARABLE
    return Run(stop, tuple(merged), np.concatenate(trace)), proofs[0] if proofs else None


class _Against:
    """The batches of a problem with one class against all others."""

    def __init__(self, problem: Problem, c: int) -> None:
        self.problem, self.c = problem, c

    def __iter__(self) -> Iterator[Batch]:
        for batch in self.problem.batches:
            signs = np.where(batch.examples.y == self.c, 1, -1).astype(np.int8)
            yield batch._replace(examples=batch.examples._replace(y=signs))


class _Machine(Passes):
    """Passes of one machine of several; held-out rows are judged by all of them."""

    def __init__(self, problem: Problem, parameters: Parameters, whole: Passes, state: State) -> None:
        super().__init__(problem._replace(held_out=None), parameters, whole.hooks._replace(checkpoint=None))
        self.whole, self.state = whole, state

    def validation_error(self, state: State) -> float:  # noqa: ARG002
        """Return the error of all machines together."""
        return self.whole.validation_error(self.state)
