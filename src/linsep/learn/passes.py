"""Makes passes over the batches of a problem: the order of visits, the kernel calls, the record.

Kernel, weights and the numbering of rows carry on from batch to batch, so that the split into batches does not show in
the result of a cyclic pass.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.data.arrays import as_scipy, to_rows
from linsep.data.cache import RowStore, folder_of
from linsep.errors import DataError
from linsep.learn.averaging import KernelCall, WeightTracker
from linsep.learn.evaluation import (
    UNKNOWN,
    Evaluation,
    TrainingLoss,
    combine,
    count_errors,
    evaluate,
    piece,
    separations,
    sum_steps,
    training_loss,
)
from linsep.learn.parameters import Parameters
from linsep.learn.rules import Foresight
from linsep.learn.weights import Weights
from linsep.problem import Array, Batch, Dense, Examples, Floats, Pass, Problem, Rows, Run, Sparse, Stop, take

_HELD_ROWS = 1 << 16  # held-out rows that are evaluated at a time: enough for all cores
LONGEST_TRACE = 1 << 24  # mistakes of rows that are not all in memory; a longer trace is not kept, to bound memory

Watch = Callable[[int, int, int, float], None]  # pass, rows visited in it, mistakes of the run, loss of the pass


class ProofAttempt(NamedTuple):
    """What a search for a proof has come to."""

    work: float
    refutation: Any = None  # proves that no plane separates the rows
    machine: int | None = None  # of several that are separate, the one that it is about
    separable: bool = False  # whether it is proved that one does
    settled: tuple[int, ...] = ()  # questions about some of the classes to which the answer is that one does
    margin_bound: float = math.nan  # proved: no plane has a larger margin; NaN if that was not shown to be tiny


@dataclass
class TrainingLog:
    """How far a run has come: all that is needed, beside the weights, to go on from the end of any batch."""

    passes: list[Pass] = field(default_factory=list)
    trace: list[Array] = field(default_factory=list)
    longest_trace: float = math.inf  # a trace that would grow beyond this is given up
    made: int = 0  # mistakes
    begun: int = 0  # of them, those made before the present pass
    rows: int = 0  # visited in the present pass: where the last batch ended
    loss: Floats = field(default_factory=lambda: np.zeros(1))  # of the present pass
    seconds: float = 0.0  # spent on the present pass
    spent: Floats | None = None  # mistakes that count against a target margin, by machine, if not all of them do
    settled: tuple[int, ...] = ()  # questions of a search for a proof that need not be asked again
    visits: int = 0  # in all passes, which a falling learning rate counts

    @property
    def separable(self) -> bool:
        """Whether it is proved that some plane separates the rows."""
        return any(entry.separable for entry in self.passes)

    def note(self, mistakes: Array) -> None:
        """Take up some mistakes."""
        self.made += len(mistakes)
        if self.made > self.longest_trace:
            self.trace.clear()
        elif len(mistakes):
            self.trace.append(mistakes.astype(np.uint32) if mistakes[mistakes.argmax()] < 2**32 else mistakes)

    def close(self, validation_error: float) -> None:
        """End the present pass."""
        self.passes.append(Pass(self.made - self.begun, float(self.loss[0]), validation_error, self.seconds))
        self.begun, self.loss, self.seconds = self.made, np.zeros(1), 0.0
        self.rows = 0

    def searched(self, attempt: ProofAttempt) -> None:
        """Note a search for a proof after the last pass."""
        self.passes[-1] = self.passes[-1]._replace(
            proof_work=attempt.work, separable=attempt.separable, margin_bound=attempt.margin_bound
        )
        self.settled = attempt.settled

    @property
    def against_margin(self) -> float:
        """How many mistakes count against a target margin."""
        return self.made if self.spent is None else float(self.spent.max())

    def run(self, stop: Stop) -> Run:
        """Return what has been recorded, as a run that ended for this reason."""
        return Run(stop, tuple(self.passes), self._joined())

    def _joined(self) -> Array:
        if len(self.trace) == 1:
            return self.trace[0]
        return np.concatenate(self.trace) if self.trace else np.empty(0, np.uint32)

    def state(self) -> dict[str, Any]:
        """Return what is to be saved."""
        passes = np.array(self.passes, dtype=np.float64).reshape(-1, len(Pass._fields))
        numbers = np.array([self.made, self.begun, self.visits, self.rows, *self.settled])
        state = {"passes": passes, "trace": self._joined(), "numbers": numbers, "loss": self.loss}
        return state | {"seconds": float(self.seconds), "spent": self.spent}

    @classmethod
    def from_state(cls, state: dict[str, Any], machines: int) -> TrainingLog:
        """Return the log that was saved; refuse one for another number of machines."""
        passes, trace, numbers, loss, spent = (state[key] for key in ("passes", "trace", "numbers", "loss", "spent"))
        entries = Pass.from_table(passes)
        right = trace.ndim == 1 and trace.dtype in (np.uint32, np.uint64) and numbers.ndim == 1 and len(numbers) >= 4
        right = right and numbers.dtype.kind == "i" and bool((numbers >= 0).all())
        right = right and loss.shape == (1,) and loss.dtype == np.float64 and type(state["seconds"]) is float
        if spent is not None:
            right = right and spent.shape == (machines,) and spent.dtype == np.float64 and bool((spent >= 0).all())
        if not right:
            raise ValueError("the record of its run")
        made, begun, visits, rows, *settled = numbers.tolist()
        if sum(entry.mistakes for entry in entries) != begun or made < begun or len(trace) not in (0, made):
            raise ValueError("the mistakes of its run")
        log = cls(entries, [trace] if len(trace) else [], made=made, begun=begun, rows=rows, visits=visits, loss=loss)
        log.seconds, log.spent, log.settled = state["seconds"], spent, tuple(settled)
        return log


@dataclass
class State:
    """All that changes in a run."""

    weights: Weights
    tracker: WeightTracker
    log: TrainingLog = field(default_factory=TrainingLog)
    first_pass: int = 0  # passes made before this run, for the seed of the shuffling
    first_visit: int = 0  # rows visited before this run, for a falling learning rate
    first: Weights | None = None  # the first weights, unless zero

    @classmethod
    def begin(cls, weights: Weights, tracker: WeightTracker, **others: Any) -> State:
        """Return the beginning of a run that starts from these weights."""
        return cls(weights, tracker, first=None if weights.zeros else weights.plain().copy(), **others)

    def fit_to(self, batch: Batch) -> None:
        """Make room for features of a batch that were not there before; compiled code does not ask."""
        d = self.weights.n_features
        if isinstance(batch.examples.rows, Dense) and d not in (0, batch.n_features):
            raise ValueError(f"the weights have {d} features, the rows {batch.n_features}")
        self.weights.widen(batch.n_features)


class Hooks(NamedTuple):
    """Who is told of a run, or may end it."""

    watch: Watch | None = None
    clock: Clock | None = None  # asked after every piece of work
    checkpoint: Callable[[State, bool], None] | None = None  # called after every batch and pass, and at the end
    prover: Callable[[Problem, State], ProofAttempt | None] | None = None  # asked before every pass
    evaluate: bool = True  # whether all rows are visited once more for the evaluation, if that takes another pass
    foresight: Foresight | None = None  # where to note what was predicted for each row of a batch before learning

    def work_done(self, state: State, visited: int) -> None:
        """Tell of a piece of work."""
        log = state.log
        if self.watch is not None:
            self.watch(len(log.passes), visited, log.made, float(log.loss[0]))
        if self.clock is not None:
            self.clock.tell(passes=len(log.passes), rows=visited, mistakes=log.made, loss=float(log.loss[0]))
            self.clock.check()

    def save(self, state: State, ended: bool = False) -> None:
        """Have the state saved, if somebody wants it."""
        if self.checkpoint is not None:
            self.checkpoint(state, ended)


class Passes:
    """Passes in this process."""

    def __init__(self, problem: Problem, parameters: Parameters, hooks: Hooks) -> None:
        self.problem, self.parameters, self.hooks = problem, parameters, hooks
        self.kernel, self.rule = parameters.kernel(problem.machines), parameters.rule_for(problem.machines)
        self.held = None if problem.held_out is None else HeldOut(problem)
        self.rows = 0  # of the problem, known after the first whole pass
        self._clean: list[Evaluation] | None = None  # of the batches of the present pass, as long as it is clean

    def close(self) -> None:
        """Give back what the run took."""
        if self.held is not None:
            self.held.close()

    def make(self, state: State) -> None:
        """Make one pass: train the weights in place, and record it."""
        log = state.log
        started, spent = time.perf_counter(), log.seconds
        # in a clean pass the weights that are returned are there already: no other visit is needed
        self._clean = [] if log.passes and log.rows == 0 and state.tracker.last_if_clean else None
        limit, visited, rows = self._limit(log), 0, 0
        for number, batch in enumerate(self.problem.batches):
            rows = batch.first_row + len(batch.examples.y)
            if self.held is not None:
                self.held.add(batch)
            if rows <= log.rows:
                continue
            if batch.first_row < log.rows:  # an interrupted run has visited some: kept rows come in larger batches
                rest = slice(log.rows - batch.first_row, None)
                examples = Examples(take(batch.examples.rows, rest), batch.examples.y[rest], batch.examples.step[rest])
                batch = Batch(log.rows, examples, batch.n_features, take(batch.rows, rest))
            state.fit_to(batch)
            for part in self._visit(batch, number, state, limit):
                visited += part.visited
                self.hooks.work_done(state, visited)
            log.rows = rows
            log.seconds = spent + time.perf_counter() - started
            if log.made >= limit:
                break
            self._clean = None if log.made > log.begun or self._clean is None else self._clean
            if self._clean is not None:
                self._clean.append(self._evaluate(batch, batch.rows, state.weights.plain()))
            self.hooks.save(state)
        else:
            self.rows = rows
            if self.held is not None:
                self.held.complete = True
        state.tracker.on_pass_end(state.weights, log.made == log.begun)
        if self.parameters.tol is not None:
            log.loss[0] = self.training_loss(state).loss
        error = self.validation_error(state)
        log.seconds = spent + time.perf_counter() - started
        log.close(error)

    def _limit(self, log: TrainingLog) -> float:
        limit = math.inf if self.parameters.max_updates is None else self.parameters.max_updates
        if log.spent is None and self.problem.allowed < 2**62:  # all mistakes are one machine's
            limit = min(limit, math.floor(self.problem.allowed) + 1)
        return min(limit, log.made + 1) if self.parameters.picks else limit

    def _visit(self, batch: Batch, number: int, state: State, limit: float) -> Iterator[KernelCall]:
        """Run the kernel over a batch, yielding what it found piece by piece."""
        log, weights, tracker = state.log, state.weights, state.tracker
        data, order, loss = batch.examples, self.order(batch, number, state), log.loss
        if self.parameters.picks and self.parameters.order == "worst":
            order, loss[0] = self.worst(data, order, weights)
            loss = np.zeros(1)
        for part in self._parts(order, piece(data.rows)):
            data = batch.examples if self.parameters.learning_rate == "constant" else self.slowed(batch, part, state)
            mistakes = np.empty(int(min(limit - log.made, len(part) * weights.machines)), dtype=np.uint64)
            rule = tracker.on_call_start(self.rule.bound(weights), weights)
            if self.hooks.foresight is not None:
                rule = rule._replace(foresight=self.hooks.foresight)
            visited, k = self.kernel(data, part, rule, weights.W, weights.b, mistakes, loss)
            if visited < len(part) and k < len(mistakes):
                raise FloatingPointError("a score overflowed to infinity")
            call = KernelCall(self.kernel, self.rule, data, part, visited, mistakes[:k], batch.first_row)
            tracker.on_call_end(call, weights)
            log.visits += visited
            m = np.uint64(weights.machines)
            if log.spent is not None:
                log.spent += np.bincount((call.mistakes % m).astype(np.intp), minlength=weights.machines)
            log.note(call.mistakes + np.uint64(batch.first_row) * m)  # rows are numbered as in the whole problem
            yield call
            if log.made >= limit:
                return

    def _parts(self, order: Array, length: int) -> Iterator[Array]:
        """Yield the visits of a kernel call each; none visits a row twice, so that a mistake tells its visit."""
        start = 0
        while start < len(order):
            end = min(start + length, len(order))
            if self.parameters.listed:
                _, firsts = np.unique(order[start:end], return_index=True)
                again = np.setdiff1d(np.arange(end - start), firsts)
                end = start + int(again[0]) if len(again) else end
            yield order[start:end]
            start = end

    def worst(self, data: Examples, order: Array, weights: Weights) -> tuple[Array, float]:
        """Return the rows with the smallest ``y s(x)``, and the loss of all.

        Of equals the lowest that is a mistake is taken: on the plane a prediction may be right.
        """
        v = separations(data, weights.W, weights.b)[order]
        return order[v == v.min()], float(np.maximum(0.0, -v).sum())

    def slowed(self, batch: Batch, part: Array, state: State) -> Examples:
        """Return the examples with the learning rate of each visit, eta0 / √t."""
        step = batch.examples.step.copy()
        first = state.first_visit + state.log.visits + 1
        step[part] /= np.sqrt(np.arange(first, first + len(part)))
        return batch.examples._replace(step=step)

    def order(self, batch: Batch, number: int, state: State) -> Array:
        """Return the rows of a batch in the order of the present pass, leaving out those of weight 0."""
        step = batch.examples.step
        if self.parameters.listed:
            return self._listed(step)
        index = np.uint32 if len(step) < 2**32 else np.uint64
        everyone = len(step) > 0 and step[step.argmin()] > 0
        order: Array = np.arange(len(step), dtype=index) if everyone else np.flatnonzero(step > 0).astype(index)
        if self.parameters.shuffled and len(order) > 1:
            seed = (self.parameters.seed, number, state.first_pass + len(state.log.passes))
            np.random.default_rng(seed).shuffle(order)
        return order

    def _listed(self, step: Floats) -> Array:
        """Return the rows that are listed one by one, leaving out those of weight 0."""
        order = np.asarray(self.parameters.order)
        if order.size and not 0 <= order.min() <= order.max() < len(step):
            bad = int(order[(order < 0) | (order >= len(step))][0])
            raise DataError("", f"{{0}} names row {bad}, but the rows are 0 to {len(step) - 1}", ("order",))
        order = order[step[order] > 0]
        return np.asarray(order, dtype=np.uint32 if len(step) < 2**32 else np.uint64)

    # -----------------------------------------------------------------------------------------------------------
    # Visits without learning

    def validation_error(self, state: State) -> float:
        """Return the share of the held-out rows that is predicted wrong, NaN if there are none to be."""
        if self.held is None:
            return math.nan
        if not self.held.complete:  # the pass ended early
            self.held.close()
            self.held = HeldOut(self.problem)
            for batch in self.problem.batches:
                self.held.add(batch)
            self.held.complete = True
        if self.held.rows == 0:
            setting = ("validation_fraction", self.parameters.validation_fraction)
            raise DataError("", "{0} holds out no row: choose a larger share", setting)
        return self.held.wrong(state, self.parameters.on_plane) / self.held.rows

    def training_loss(self, state: State) -> TrainingLoss:
        """Visit all training rows with the present weights: their loss, and how near the plane the nearest is."""
        loss = TrainingLoss(0.0, math.inf)
        one_vs_rest = self.parameters.separate(self.problem.machines)
        for batch in self.problem.batches:
            state.fit_to(batch)
            loss = training_loss(batch.examples, state.weights, self.parameters.rule.target, one_vs_rest, loss)
        return loss

    def errors(self, plane: Weights) -> float:
        """Visit all rows and add up the weight of those that are predicted wrong."""
        counts: Counter[float] = Counter()
        for batch in self.problem.batches:
            counts += count_errors(batch.examples, plane.W, plane.b, self.parameters.on_plane)
        return sum_steps(counts)

    def evaluate(self, state: State, stop: Stop) -> Evaluation:
        """Return what the plane that is returned makes of the rows in the units of the user."""
        if stop in (Stop.SEPARATED, Stop.NO_MISTAKES) and self._clean:
            return combine(self._clean)
        if not self.hooks.evaluate:
            return UNKNOWN
        if self.parameters.once and not state.tracker.is_last and state.tracker.by_column:
            (batch,) = self.problem.batches
            self.rows = len(batch.examples.y)
            # a row of few columns costs no more than these
            columns, rows = narrow_sparse(batch.rows, state.weights.n_features)
            return self._evaluate(batch, rows, state.tracker.plane(state.weights.restricted(columns)))
        plane, parts = state.tracker.plane(state.weights), []
        for batch in self.problem.batches:
            parts.append(self._evaluate(batch, batch.rows, plane))
            self.rows = batch.first_row + len(batch.examples.y)
        return combine(parts)

    def _evaluate(self, batch: Batch, rows: Rows, plane: Weights) -> Evaluation:
        """Return what a plane makes of the rows of a batch, which are in the units of the user."""
        if self.problem.scaling is not None:
            plane = plane.plain()
            plane.unscale(self.problem.scaling)
        examples = Examples(rows, batch.examples.y, batch.examples.step)
        return evaluate(examples, plane.W, plane.b, on_plane=self.parameters.on_plane)


def narrow_sparse(rows: Rows, n_features: int) -> tuple[Array | slice, Rows]:
    """Return the columns that sparse rows use, if they are few, and the rows with these columns; else all of them."""
    if not isinstance(rows, Sparse) or 4 * rows.indptr[-1] >= n_features:
        return slice(None), rows
    end = rows.indptr[-1]
    numbers = np.arange(end, dtype=rows.indices.dtype)
    numbers.flags.writeable = False  # one compiled version serves all callers
    return rows.indices[:end], Sparse(rows.data[:end], numbers, rows.indptr)


class HeldOut:
    """Held-out rows; those of a problem that is not in memory are kept in mapped files."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.examples: list[Examples] = []
        self.store = None if problem.in_memory else RowStore(folder_of("auto"))
        self.rows = 0
        self.complete = False  # all of them are here

    def close(self) -> None:
        """Let go of the rows."""
        if self.store is not None:
            self.store.close()

    def add(self, batch: Batch) -> None:
        """Keep the held-out rows of a batch, unless they are here."""
        assert self.problem.held_out is not None
        if self.complete:
            return
        rows, y, _ = batch.examples
        numbers = np.flatnonzero(self.problem.held_out(batch.first_row, batch.first_row + len(y)))
        self.rows += len(numbers)
        if self.store is None:
            self.examples.append(Examples(take(rows, numbers), y[numbers], np.ones(len(numbers))))
        else:
            self.store.append(as_scipy(take(rows, numbers), batch.n_features), y[numbers])

    def wrong(self, state: State, on_plane: int) -> int:
        """Return how many of the rows are predicted wrong."""
        blocks = () if self.store is None else self.store.blocks(_HELD_ROWS)
        stored = (Examples(to_rows(X), y, np.ones(len(y))) for X, y, _ in blocks if y is not None)
        return sum(state.tracker.wrong(each, state.weights, on_plane) for each in chain(self.examples, stored))
