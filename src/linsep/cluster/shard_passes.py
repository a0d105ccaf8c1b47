"""The work of one worker in training: reads a shard, passes over its rows, evaluates weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linsep.cluster.workers import Raw
from linsep.data.row_numbers import Dropped
from linsep.data.scaling import Sums, column_squares, column_sums, largest_norm
from linsep.learn import problems
from linsep.learn.averaging import Average, WeightTracker
from linsep.learn.driver import fit
from linsep.learn.parameters import Parameters
from linsep.learn.passes import HeldOut, Hooks, Passes, State
from linsep.learn.problems import BatchEncoder, windows
from linsep.learn.surveys import Evaluation, Survey, survey, together
from linsep.learn.weights import AVERAGE, Weights
from linsep.models.proving import part_of
from linsep.problem import Array, Batch, Floats, Problem


class Census(NamedTuple):
    """What one look at a shard finds out."""

    labels: Counter[Any]
    n_features: int
    radius: float  # for a target margin
    largest: float  # norm, for unit scaling
    sums: Sums | None  # for standard scaling
    digest: int
    notes: list[str]
    dropped: Dropped


class Wanted(NamedTuple):
    """What a census is to find out beside labels and widths."""

    radius: bool
    scale: str


class Own(NamedTuple):
    """What is a shard's own."""

    first_row: int
    seed: int  # of its order of rows
    digest: int  # of what was read of it at first


class Ready(NamedTuple):
    """A shard as a problem."""

    problem: Problem
    seed: int


class Orders(NamedTuple):
    """What a round starts from."""

    parameters: Parameters
    allowed: float  # mistakes of this round that the target margin allows
    weights: Weights
    number: int  # of the round
    alone: bool  # there is one shard only: nothing is mixed
    visited: int | None = None  # before, for the average, whose sums are beside the weights


class Answer(NamedTuple):
    """What a pass over a shard has made of the weights, where it changed them."""

    counts: Array  # mistakes of each machine
    visited: int
    loss: float
    columns: Array | slice  # where anything has changed
    W: Floats
    b: Floats
    A: Floats  # of the average
    a: Floats
    trace: Array

    @property
    def mistakes(self) -> int:
        """How many mistakes were made."""
        return int(self.counts.sum())


def census(raw: Raw, wanted: Wanted) -> Census:
    """Look at a shard as it was read."""
    found = problems.census(raw.blocks, wanted.radius)
    largest = largest_norm(raw.blocks) if wanted.scale == "unit" else 0.0
    sums = column_sums(raw.blocks) if wanted.scale == "standard" else None
    return Census(found.labels, raw.n_features, found.radius, largest, sums, raw.digest, raw.notes, raw.dropped)


def squares(raw: Raw, mean: Floats) -> Floats:
    """Return the squared distances from the mean, summed over a shard."""
    return column_squares(raw.blocks, mean)


def encoded(raw: Raw, own: Own, encoder: BatchEncoder) -> Ready:
    """Return a shard as a problem."""
    raw.check(own.digest)
    numbered = (block._replace(first_row=own.first_row + block.first_row) for block in raw.blocks)
    blocks = windows(numbered) if encoder.parameters.shuffled else numbered
    batches = [batch._replace(rows=batch.examples.rows) for batch in map(encoder.block, blocks)]
    return Ready(encoder.problem(batches), own.seed)


def learn(ready: Ready, orders: Orders) -> Answer:
    """Make one pass over a shard from the shared weights."""
    tracker = WeightTracker() if orders.visited is None else Average(orders.visited)
    weights = orders.weights.copy()
    weights.W = _aligned(weights.W)
    state = State(weights, tracker, first_pass=orders.number)
    visited = 0

    def watch(_pass: int, rows: int, _mistakes: int, _loss: float) -> None:
        nonlocal visited
        visited = rows

    parameters = orders.parameters._replace(seed=ready.seed, max_iter=1, tol=None, once=True)
    problem = ready.problem._replace(allowed=orders.allowed, held_out=None, scaling=None)
    run = fit(problem, parameters, state, Hooks(watch, evaluate=False)).run
    weights, machines = state.weights, len(state.weights.b)
    columns: Array | slice = slice(0, 0)
    A, a = np.zeros((machines, 0)), np.zeros(machines)
    if len(run.trace):
        changed = (weights.W != orders.weights.W).any(axis=0)
        if orders.visited is not None:
            sums = weights.companion(AVERAGE)
            A, a = sums.W, sums.b
            changed |= (orders.weights.companion(AVERAGE).W != A).any(axis=0)
        columns = np.flatnonzero(changed)
        if 2 * len(columns) > len(changed):  # then their numbers would take more than they save
            columns = slice(None)
    return Answer(
        np.bincount(run.trace.astype(np.intp) % machines, minlength=machines),
        visited,
        float(run.passes[0].loss),
        columns,
        weights.W[:, columns],
        weights.b,
        A[:, columns] if orders.visited is not None else A[:, :0],
        a,
        run.trace if orders.alone else run.trace[:0],
    )


def _aligned(W: Floats) -> Floats:
    """Return a copy that begins with a cache line.

    Workers map large arrays one by one (Dask limits what malloc keeps), and those begin 16 bytes after a page: half of
    the loads of the kernel would then cross a line, which costs it a fifth of its speed.
    """
    room = np.empty(W.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copied: Floats = room[start : start + W.nbytes].view(W.dtype).reshape(W.shape)
    copied[...] = W
    return copied


class Judged(NamedTuple):
    """A plane to be judged by the rows of all shards."""

    weights: Weights
    on_plane: int


def evaluated(ready: Ready, told: tuple[Weights, Parameters]) -> Evaluation:
    """Return the loss of weights on a shard, and how near the plane its nearest row is."""
    weights, parameters = told
    passes = Passes(ready.problem._replace(held_out=None), parameters, Hooks())
    return passes.evaluate(State(weights, WeightTracker()))


def held_wrong(ready: Ready, told: Judged) -> tuple[int, int]:
    """Return how many held-out rows of a shard a plane predicts wrong, and of how many."""
    held = HeldOut(ready.problem)
    for batch in ready.problem.batches:
        held.add(batch)
    return held.wrong(State(told.weights, WeightTracker()), told.on_plane), held.rows


def swept(ready: Ready, told: tuple[Callable[..., Any], Any]) -> list[Any]:
    """Return what a function of ``parts`` answers for the rows of a shard."""
    function, about = told
    return [function(part_of(batch, ready.problem.machines), about) for batch in ready.problem.batches]


def look(ready: Ready, told: Judged) -> Survey:
    """Return what a plane makes of a shard."""
    W, b = told.weights.W, told.weights.b

    def visit(batch: Batch) -> Survey:
        return survey(batch.examples, W, b, on_plane=told.on_plane)

    return together(map(visit, ready.problem.batches))
