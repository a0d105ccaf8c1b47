"""What workers do in training: look at a shard as it was read, make examples of it, pass over them, judge a plane."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linsep.cluster.workers import Raw
from linsep.data.labels import as_examples, class_codes, class_labels, classes_and_codes, object_array
from linsep.data.matrices import to_rows
from linsep.data.scaling import Scaler, Sums, column_squares, column_sums, largest_norm
from linsep.learn.driver import Keeper, Plan, View, Weights, held_out, train, view
from linsep.learn.hypotheses import Average
from linsep.models.from_files import mixed
from linsep.models.online import Online
from linsep.problem import Array, Examples, Floats, take


class Census(NamedTuple):
    """What one look at a shard finds out."""

    labels: Counter[Any]
    extent: tuple[int, bool]
    radius: float  # for a target margin
    largest: float  # norm, for unit scaling
    sums: Sums | None  # for standard scaling
    seen: dict[int, set[str]] | None
    digest: int
    notes: list[str]


class Wanted(NamedTuple):
    """What a census is to find out beside labels and widths."""

    radius: bool
    scale: str


class Lesson(NamedTuple):
    """What all shards must agree on before they can be learnt from."""

    model: Online
    classes: Array
    machines: int
    class_weight: dict[Any, float]
    scaler: Scaler | None


class Own(NamedTuple):
    """What is a shard's own."""

    first_row: int
    seed: int  # of its order of rows
    seed_held: int  # of the rows held out, which all shards share
    digest: int  # of what was read of it at first


class Ready(NamedTuple):
    """A shard as examples."""

    blocks: list[tuple[int, Examples]]  # number of the first row, in all the data
    held: list[Examples]  # out, for validation
    seed: int


class Orders(NamedTuple):
    """What a round starts from."""

    model: Online
    plan: Plan
    W: Floats
    b: Floats
    number: int  # of the round
    alone: bool  # there is one shard only: nothing is mixed
    kept: dict[str, Array]  # sums of the average to go on with, if alone


class Answer(NamedTuple):
    """What a pass over a shard has made of the weights, where it changed them."""

    counts: Array  # mistakes of each machine
    looked: int
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


def all_classes(labels: list[Any]) -> Array:
    """Return the classes among labels that occur, each of which has been found to be one."""
    mixed_kinds = len({isinstance(label, str) for label in labels}) > 1
    return classes_and_codes(object_array(labels) if mixed_kinds else np.array(labels))[0]


def census(raw: Raw, wanted: Wanted) -> Census:
    """Look at a shard as it was read."""
    labels: Counter[Any] = Counter()
    radius = 0.0
    for block in raw.blocks:
        if block.y is None:
            raise ValueError("there are no labels to learn from")
        classes, codes = classes_and_codes(class_labels(block.y.tolist()))
        labels.update(dict(zip(classes.tolist(), np.bincount(codes).tolist(), strict=True)))
        if wanted.radius:
            plain = Examples(to_rows(block.X), np.ones(len(codes), np.int8), np.ones(len(codes)))
            radius = max(radius, view(plain, np.zeros((1, block.X.shape[1])), np.zeros(1)).radius)
    largest = largest_norm(raw.blocks) if wanted.scale == "unit" else 0.0
    sums = column_sums(raw.blocks) if wanted.scale == "standard" else None
    return Census(labels, raw.extent, radius, largest, sums, raw.seen, raw.digest, raw.notes)


def squares(raw: Raw, mean: Floats) -> Floats:
    """Return the squared distances from the mean, summed over a shard."""
    return column_squares(raw.blocks, mean)


def encoded(raw: Raw, own: Own, lesson: Lesson) -> Ready:
    """Return a shard as examples; rows to be held out get no weight."""
    raw.check(own.digest)
    model, classes, machines, given, scaler = lesson
    factors = np.array([float(given.get(label, 1.0)) for label in classes.tolist()])
    blocks, held = [], []
    for X, y, first in raw.blocks:
        assert y is not None  # the census has seen to it
        codes = class_codes(y, classes)
        step = model.eta0 * factors[codes]
        rows = to_rows(X if scaler is None else scaler.apply(X))
        first_row = own.first_row + first
        if model.early_stopping:
            mask = held_out(own.seed_held, first_row, len(codes), model.validation_fraction)
            step[mask] = 0.0
            unseen = take(rows, np.flatnonzero(mask))
            held.append(as_examples(unseen, codes[mask], machines, np.ones(mask.sum())))
        blocks.append((first_row, as_examples(rows, codes, machines, step)))
    return Ready(blocks, held, own.seed)


def learn(ready: Ready, orders: Orders) -> Answer:
    """Make one pass over a shard from the shared weights."""
    keeper = Average.of({name: array.copy() for name, array in orders.kept.items()}) if orders.kept else Keeper()
    weights = Weights(_aligned(orders.W), orders.b.copy())
    blocks = list(mixed(ready.blocks, ready.seed, orders.number)) if orders.model.shuffle else ready.blocks
    looked = 0

    def watch(_pass: int, rows: int, _mistakes: int, _loss: float) -> None:
        nonlocal looked
        looked = rows

    plan = replace(orders.plan, seed=ready.seed, max_iter=1)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            run = train(blocks, weights, plan, first_pass=orders.number, keeper=keeper, watch=watch)
    except FloatingPointError:
        raise ValueError(
            "a score overflowed to infinity: scale the rows (scale='unit') or choose a smaller eta0"
        ) from None
    machines = len(weights.b)
    columns: Array | slice = slice(0, 0)
    A, a = np.zeros((machines, 0)), np.zeros(machines)
    if len(run.trace):
        changed = (weights.W != orders.W).any(axis=0)
        if isinstance(keeper, Average):
            A, a = keeper.A, keeper.a
            changed |= (orders.kept["A"] != A).any(axis=0)
        else:
            A = np.zeros((machines, len(changed)))
        columns = np.flatnonzero(changed)
        if 2 * len(columns) > len(changed):  # then their numbers would take more than they save
            columns = slice(None)
    return Answer(
        np.bincount(run.trace.astype(np.intp) % machines, minlength=machines),
        looked,
        float(run.passes[0].loss),
        columns,
        weights.W[:, columns],
        weights.b,
        A[:, columns] if orders.kept else A[:, :0],
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


def held_wrong(ready: Ready, told: tuple[Floats, Floats, int]) -> tuple[int, int]:
    """Return how many held-out rows of a shard a plane predicts wrong, and of how many."""
    W, b, on_plane = told
    views = [view(examples, W, b, on_plane=on_plane) for examples in ready.held if len(examples.y)]
    return sum(seen.wrong for seen in views), sum(len(examples.y) for examples in ready.held)


def look(ready: Ready, told: tuple[Floats, Floats, int]) -> View | None:
    """Return what a plane makes of a shard, None if it has no rows."""
    W, b, on_plane = told
    return together([view(examples, W, b, on_plane=on_plane) for _, examples in ready.blocks])


def together(views: list[View]) -> View | None:
    """Return what a plane makes of several stretches of rows."""
    if not views:
        return None
    radii, smallest, losses, wrong = zip(*views, strict=True)
    return View(max(radii), min(smallest), math.fsum(losses), sum(wrong))
