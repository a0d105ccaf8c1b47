"""The work on one shard: what must be known of its rows, passes over them, the evaluation of weights."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from linsep.cluster.workers import LoadedShard, ShardPool
from linsep.data.row_numbers import Dropped
from linsep.data.scaling import Ranges, Sums, column_squares, column_sums, largest_norm
from linsep.data.source import Source
from linsep.learn import problems
from linsep.learn.averaging import Average, WeightTracker
from linsep.learn.driver import fit
from linsep.learn.evaluation import Evaluation, TrainingLoss, combine, evaluate
from linsep.learn.parameters import Parameters
from linsep.learn.passes import HeldOut, Hooks, Passes, State
from linsep.learn.problems import BatchEncoder, windows
from linsep.learn.weights import Weights
from linsep.models.proving import part_of
from linsep.problem import Array, Floats, Problem


class ShardSummary(NamedTuple):
    """What must be known of the rows of a shard beforehand."""

    labels: Counter[Any]
    n_features: int
    dtype: np.dtype[Any]
    radius: float  # for a target margin
    largest: float  # norm, for unit scaling
    sums: Sums | None  # for standard scaling
    ranges: Ranges | None  # to find out whether to scale
    digest: int
    notes: list[str]
    dropped: Dropped

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(self.labels.values())


def summarize(shard: LoadedShard, task: tuple[str, bool]) -> ShardSummary:
    """Return what must be known of a shard: how it may be scaled, and, if asked for, its radius."""
    scale, radius = task
    blocks, counts = shard.blocks, problems.class_counts(shard.blocks, radius)
    return ShardSummary(
        labels=counts.labels,
        n_features=shard.n_features,
        dtype=np.result_type(*(block.X.dtype for block in blocks)) if blocks else np.dtype(np.int8),
        radius=counts.radius,
        largest=largest_norm(blocks) if scale == "unit" else 0.0,
        sums=column_sums(blocks) if scale in ("standard", "auto") else None,
        ranges=Ranges.of(blocks) if scale == "auto" else None,
        digest=shard.digest,
        notes=shard.notes,
        dropped=shard.dropped,
    )


def summaries(pool: ShardPool, source: Source, scale: str = "none", *, radius: bool = False) -> list[ShardSummary]:
    """Return what must be known of each shard, and note its rows and width in the source."""
    shards: list[ShardSummary] = list(pool.ask(summarize, (scale, radius)))
    source.take_dropped(one.dropped for one in shards)
    if not any(one.rows for one in shards):
        raise pool.no_rows()
    for note in dict.fromkeys(note for one in shards for note in one.notes):
        warnings.warn(note, UserWarning, stacklevel=4)
    source.take_width(max(one.n_features for one in shards))
    return shards


def first_rows(shards: list[ShardSummary]) -> list[int]:
    """Return the number of the first row of each shard among all rows."""
    return list(accumulate((one.rows for one in shards[:-1]), initial=0))


class ShardNumbers(NamedTuple):
    """What tells a shard from all others."""

    first_row: int
    seed: int  # of its order of rows
    digest: int  # of what was read of it at first


class EncodedShard(NamedTuple):
    """A shard as a problem."""

    problem: Problem
    seed: int


class PassTask(NamedTuple):
    """What a round starts from."""

    parameters: Parameters
    allowed: float  # mistakes of this round that the target margin allows
    weights: Weights
    number: int  # of the round
    only: bool  # there is one shard only: nothing is mixed
    visited: int | None = None  # before, for the average, whose sums are beside the weights


class PassResult(NamedTuple):
    """What a pass over a shard has made of the weights."""

    counts: Array  # mistakes of each machine
    visited: int
    loss: float
    weights: Weights  # with the sums of the average if there is one
    trace: Array  # if nothing is mixed

    @property
    def mistakes(self) -> int:
        """How many mistakes were made."""
        return int(self.counts.sum())


def squares(shard: LoadedShard, mean: Floats) -> Floats:
    """Return the squared distances from the mean, summed over a shard."""
    return column_squares(shard.blocks, mean)


def encoded(shard: LoadedShard, numbers: ShardNumbers, encoder: BatchEncoder) -> EncodedShard:
    """Return a shard as a problem."""
    shard.check(numbers.digest)
    numbered = (block._replace(first_row=numbers.first_row + block.first_row) for block in shard.blocks)
    blocks = windows(numbered) if encoder.parameters.shuffled else numbered
    batches = [batch._replace(rows=batch.examples.rows) for batch in map(encoder.block, blocks)]
    return EncodedShard(encoder.problem(batches), numbers.seed)


def learn(shard: EncodedShard, task: PassTask) -> PassResult:
    """Make one pass over a shard from the shared weights."""
    tracker = WeightTracker() if task.visited is None else Average(task.visited)
    weights, visited = task.weights.copy(), 0
    weights.W = _aligned(weights.W)
    state = State(weights, tracker, first_pass=task.number)

    def watch(_pass: int, rows: int, _mistakes: int, _loss: float) -> None:
        nonlocal visited
        visited = rows

    parameters = task.parameters._replace(seed=shard.seed, max_iter=1, tol=None, once=True)
    problem = shard.problem._replace(allowed=task.allowed, held_out=None, scaling=None)
    run = fit(problem, parameters, state, Hooks(watch, evaluate=False)).run
    machines = state.weights.machines
    counts = np.bincount(run.trace.astype(np.intp) % machines, minlength=machines)
    trace = run.trace if task.only else run.trace[:0]
    return PassResult(counts, visited, float(run.passes[0].loss), state.weights, trace)


def _aligned(W: Floats) -> Floats:
    """Return a copy that begins with a cache line.

    Workers map large arrays one by one (Dask limits what malloc keeps), and those begin 16 bytes after a page: half of
    the loads of the kernel would then cross a line, which costs it a fifth of its speed.
    """
    memory = np.empty(W.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    copied: Floats = memory[start : start + W.nbytes].view(W.dtype).reshape(W.shape)
    copied[...] = W
    return copied


def training_loss_of(shard: EncodedShard, task: tuple[Weights, Parameters]) -> TrainingLoss:
    """Return the loss of weights on a shard, and how near the plane its nearest row is."""
    weights, parameters = task
    passes = Passes(shard.problem._replace(held_out=None), parameters, Hooks())
    return passes.training_loss(State(weights, WeightTracker()))


def held_wrong(shard: EncodedShard, task: tuple[Weights, int]) -> tuple[int, int]:
    """Return how many held-out rows of a shard a plane predicts wrong, and of how many."""
    (weights, on_plane), held = task, HeldOut(shard.problem)
    for batch in shard.problem.batches:
        held.add(batch)
    return held.wrong(State(weights, WeightTracker()), on_plane), held.rows


def swept(shard: EncodedShard, task: tuple[Callable[..., Any], Any]) -> list[Any]:
    """Return the results of a function of ``parts`` for the rows of a shard."""
    function, common = task
    return [function(part_of(batch, shard.problem.machines), common) for batch in shard.problem.batches]


def evaluation_of(shard: EncodedShard, task: tuple[Weights, int]) -> Evaluation:
    """Return the evaluation of a plane on a shard."""
    weights, on_plane = task
    return combine(evaluate(batch.examples, weights.W, weights.b, on_plane=on_plane) for batch in shard.problem.batches)
