"""Passes over blocks of examples: the order they are looked at, the rules that end a run, what is recorded.

A problem is a re-iterable sequence of blocks. An array is one block, a file is many; the kernel, the weights and the
numbering of rows carry on from block to block, so that the split into blocks cannot show in the result.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from linsep.learn import kernels
from linsep.learn.kernels import Aggression, Rule
from linsep.problem import Array, Dense, Examples, Floats, Pass, Rows, Run, Sparse, Stop, count, take

Grow = Callable[[Floats, Floats], tuple[Floats, Floats]]  # weights and offsets, with room for more classes
Change = Callable[[Any, Floats], tuple[Any, Floats]]  # weights (dense or sparse) and offsets, in other units
Watch = Callable[[int, int, int, float], None]  # pass, rows looked at in it, mistakes of the run, loss of the pass

_CHUNK = 1 << 25  # bytes of rows for one call into compiled code, which nothing can interrupt
_GATHER = 1 << 20  # bytes of rows to bring into C order at a time


@dataclass(frozen=True)
class Plan:
    """How to train and when to stop."""

    kernel: Callable[..., tuple[int, int]]
    rule: Rule | Aggression
    order: str = "cyclic"  # "cyclic", "shuffled", "first" or "worst"
    max_iter: int = 1000
    max_updates: int | None = None
    tol: float | None = None
    n_iter_no_change: int = 5
    allowed: float = math.inf  # mistakes that a plane of the target margin allows, for each separate machine
    seed: int = 0


class Weights:
    """What is learnt: ``W`` (C, d) and ``b`` (C,), trained in place; larger arrays may take their place on the way."""

    def __init__(self, W: Floats, b: Floats) -> None:
        self.W, self.b = W, b


class Piece(NamedTuple):
    """What one call into compiled code looked at and found."""

    plan: Plan
    examples: Examples  # as the kernel saw them
    order: Array  # rows of the examples, in the order they were to be looked at
    looked: int  # how many of them were
    mistakes: Array  # row of the examples * (number of weight vectors) + the one concerned
    numbers: Array  # of the rows in `order`, in their block
    first_row: int  # of the block, in the whole problem

    def looks(self, machines: int) -> Array:
        """Return how many rows were looked at before each mistake."""
        rows = (self.mistakes // np.uint64(machines)).astype(np.intp)
        if self.plan.order == "cyclic":
            return np.searchsorted(self.order, rows.astype(self.order.dtype))
        place = np.empty(count(self.examples.rows), np.intp)
        place[self.order] = np.arange(len(self.order))
        return place[rows]


class Keeper:
    """Which weights a run hands over: here the last ones, for which nothing need be kept."""

    def before(self, rule: Rule | Aggression, weights: Weights) -> Rule | Aggression:  # noqa: ARG002
        """Get ready for a piece of work; return the rule to give to the kernel."""
        return rule

    def after(self, piece: Piece, weights: Weights) -> None:
        """Take note of a piece of work."""

    def close(self, weights: Weights, clean: bool) -> None:
        """End a pass, which was clean if no mistake was made."""

    def plane(self, weights: Weights) -> tuple[Floats, Floats]:
        """Return the weights and offsets to hand over."""
        return weights.W, weights.b

    def wrong(self, examples: Examples, weights: Weights, on_plane: int) -> int:
        """Return how many examples the kept hypothesis predicts wrong."""
        return view(examples, *self.plane(weights), on_plane=on_plane).wrong

    def done(self) -> None:
        """Let go of what only the run needed."""

    def copy(self) -> Keeper:
        """Return one that goes on from here with other examples."""
        return self

    def grow(self, grow: Grow, places: Array, classes: int) -> None:
        """Make room for more classes, where the old ones take these places."""

    def transform(self, change: Change, d: int) -> None:
        """Change the units of what is kept, of ``d`` features."""

    def arrays(self) -> dict[str, Array]:
        """Return all that is kept, to be written to a file."""
        return {}


@dataclass
class Ledger:
    """How far a run has come: all that is needed, beside the weights, to go on from the end of any block."""

    passes: list[Pass] = field(default_factory=list)
    trace: list[Array] = field(default_factory=list)
    longest_trace: float = math.inf  # a trace that would grow beyond this is given up
    made: int = 0  # mistakes
    begun: int = 0  # of them, those made before the present pass
    blocks: int = 0  # blocks done in the present pass
    loss: Floats = field(default_factory=lambda: np.zeros(1))  # of the present pass
    seconds: float = 0.0  # spent on the present pass

    def note(self, found: Array) -> None:
        """Take up some mistakes."""
        self.made += len(found)
        if self.made > self.longest_trace:
            self.trace.clear()
        elif len(found):
            self.trace.append(found.astype(np.uint32) if found.max() < 2**32 else found)

    def close(self, validation_error: float) -> None:
        """End the present pass."""
        self.passes.append(Pass(self.made - self.begun, float(self.loss[0]), validation_error, self.seconds))
        self.begun, self.blocks, self.loss, self.seconds = self.made, 0, np.zeros(1), 0.0

    def run(self, stop: Stop) -> Run:
        """Return what has been recorded, as a run that ended for this reason."""
        return Run(stop, tuple(self.passes), np.concatenate(self.trace) if self.trace else np.empty(0, np.uint32))


def train(
    blocks: Iterable[tuple[int, Examples]],
    weights: Weights,
    plan: Plan,
    *,
    ledger: Ledger | None = None,
    first_pass: int = 0,
    validation_error: Callable[[], float] | None = None,
    watch: Watch | None = None,
    after_block: Callable[[Ledger], None] | None = None,
    keeper: Keeper | None = None,
) -> Run:
    """Train the weights until a rule of the plan ends the run.

    Parameters
    ----------
    blocks : re-iterable of (number of the first row, examples)
    weights : Weights
    plan : Plan
    ledger : Ledger, default=None
        Of a run that was interrupted; blocks that it has done are passed over.
    first_pass : int, default=0
        How many passes were made before, for the seed of the shuffling.
    validation_error : callable, default=None
        Returns the error on held-out rows, asked after every pass.
    watch : callable, default=None
        Told after every piece of work: pass, rows looked at, mistakes, loss of the pass.
    after_block : callable, default=None
        Called with the ledger when a block is done.
    keeper : Keeper, default=None
        Told of everything that the weights to hand over depend on; by default these are the last ones.

    Raises
    ------
    FloatingPointError
        When some score is not finite.
    """
    if plan.kernel is kernels.one_vs_rest and plan.order in ("first", "worst"):
        return _train_each(list(blocks), weights, plan, validation_error=validation_error, watch=watch)
    ledger, keeper = ledger or Ledger(), keeper or Keeper()
    while True:
        if ledger.passes and ledger.blocks == 0:
            stop = stopped(plan, ledger, len(weights.b))
            if stop is not None:
                return ledger.run(stop)
        started, spent = time.perf_counter(), ledger.seconds
        limit = min(math.inf if plan.max_updates is None else plan.max_updates, _refuted_at(plan))
        if plan.order == "first":
            limit = min(limit, ledger.made + 1)
        looked = 0
        for number, (first_row, block) in enumerate(blocks):
            if number < ledger.blocks:
                continue
            order = _order(plan, block, first_pass + len(ledger.passes), number)
            if plan.order == "worst":
                v = separations(block, weights.W, weights.b)[order]
                ledger.loss[0] = np.maximum(0.0, -v).sum() - max(0.0, -v.min())  # the kernel adds that of the worst
                order = order[[np.argmin(v)]]  # the lowest of equals
            for piece in _look(block, first_row, order, plan, weights, ledger.loss, limit - ledger.made, keeper):
                keeper.after(piece, weights)
                ledger.note(_global(piece, len(weights.b)))
                looked += piece.looked
                if watch is not None:
                    watch(len(ledger.passes), looked, ledger.made, float(ledger.loss[0]))
                if ledger.made >= limit:
                    break
            ledger.blocks, ledger.seconds = number + 1, spent + time.perf_counter() - started
            if ledger.made >= limit:
                break
            if after_block is not None:
                after_block(ledger)
        keeper.close(weights, ledger.made == ledger.begun)
        error = math.nan if validation_error is None else validation_error()
        ledger.seconds = spent + time.perf_counter() - started
        ledger.close(error)
        if after_block is not None:
            after_block(ledger)


def _order(plan: Plan, block: Examples, number: int, block_number: int) -> Array:
    """Return the rows of a block in the order of pass ``number``, leaving out those of weight 0."""
    index = np.uint32 if len(block.step) < 2**32 else np.uint64
    used = block.step > 0
    order: Array = np.arange(len(used), dtype=index) if used.all() else np.flatnonzero(used).astype(index)
    if plan.order == "shuffled":
        np.random.default_rng((plan.seed, block_number, number)).shuffle(order)
    return order


def _look(
    block: Examples,
    first_row: int,
    order: Array,
    plan: Plan,
    weights: Weights,
    loss: Floats,
    room: float,
    keeper: Keeper,
) -> Iterator[Piece]:
    """Run the kernel over a block, yielding what it found piece by piece."""
    W, b = weights.W, weights.b
    contiguous, length = _piece(block.rows)
    for start in range(0, len(order), length):
        part = order[start : start + length]
        if contiguous:
            examples, local = block, part
        else:
            examples = Examples(take(block.rows, part), block.y[part], block.step[part])
            local = np.arange(len(part), dtype=part.dtype)
        mistakes = np.empty(int(min(room, len(part) * len(b))), dtype=np.uint64)
        rule = keeper.before(plan.rule, weights)
        looked, k = plan.kernel(examples, local, rule, W, b, mistakes, loss)
        if looked < len(part) and k < room:
            raise FloatingPointError(f"the score of row {part[looked]} is not finite")
        yield Piece(plan, examples, local, looked, mistakes[:k], part, first_row)
        room -= k


def _global(piece: Piece, machines: int) -> Array:
    """Return the mistakes of a piece with rows numbered as in the whole problem."""
    found, m = piece.mistakes, np.uint64(machines)
    if piece.order is not piece.numbers:
        found = piece.numbers[found // m].astype(np.uint64) * m + found % m
    return found + np.uint64(piece.first_row * machines)


def _piece(rows: Rows) -> tuple[bool, int]:
    """Say whether compiled code can take the rows as they lie, and how many to hand over at a time."""
    contiguous = not isinstance(rows, Dense) or rows.data.flags.c_contiguous
    row_bytes = sum(part.nbytes for part in rows) // max(1, count(rows))
    return contiguous, max(64, (_CHUNK if contiguous else _GATHER) // max(1, row_bytes))


def _refuted_at(plan: Plan) -> float:
    """Return the number of mistakes that refutes the target margin, where all mistakes are one machine's."""
    one_machine = plan.kernel is not kernels.one_vs_rest
    return math.floor(plan.allowed) + 1 if one_machine and plan.allowed < 2**62 else math.inf


def stopped(plan: Plan, ledger: Ledger, machines: int) -> Stop | None:
    """Say whether the run ends after these passes, and why."""
    passes = ledger.passes
    if passes[-1].mistakes == 0:
        return Stop.SEPARATED
    if plan.kernel is not kernels.one_vs_rest:
        most: float = ledger.made
    elif plan.allowed < math.inf:
        most = np.bincount(np.concatenate(ledger.trace).astype(np.intp) % machines).max()
    else:
        most = 0
    if most > plan.allowed:
        return Stop.MARGIN_REFUTED
    if plan.max_updates is not None and ledger.made >= plan.max_updates:
        return Stop.MAX_UPDATES
    if not math.isnan(passes[-1].validation_error):
        if _stalled([p.validation_error for p in passes], plan.tol or 0.0, plan.n_iter_no_change):
            return Stop.VALIDATION
    elif plan.tol is not None and _stalled([p.loss for p in passes], plan.tol, plan.n_iter_no_change):
        return Stop.LOSS_PLATEAU
    return Stop.MAX_ITER if len(passes) >= plan.max_iter else None


def _stalled(values: list[float], tol: float, patience: int) -> bool:
    """Say whether none of the last ``patience`` values went below the best one before them by more than ``tol``."""
    best, waited = math.inf, 0
    for value in values:
        waited = 0 if value < best - tol else waited + 1
        best = min(best, value)
    return waited >= patience


def _train_each(blocks: list[tuple[int, Examples]], weights: Weights, plan: Plan, **extra: Any) -> Run:
    """One-against-rest in an order that depends on the machine: one run after another, merged into one."""
    W, b = weights.W, weights.b
    runs: list[Run] = []
    left = plan.max_updates
    for c in range(len(b)):
        if left == 0:
            runs.append(Run(Stop.MAX_UPDATES, (), np.empty(0, np.uint32)))
            continue
        own = replace(plan, kernel=kernels.perceptron, max_updates=left)
        signed = [(first, e._replace(y=np.where(e.y == c, 1, -1).astype(np.int8))) for first, e in blocks]
        runs.append(train(signed, Weights(W[c : c + 1], b[c : c + 1]), own, **extra))
        left = None if left is None else left - runs[-1].mistakes
    passes = [
        Pass(
            sum(p.mistakes for p in side),
            sum(p.loss for p in side),
            side[-1].validation_error,
            sum(p.seconds for p in side),
        )
        for side in zip_longest(*(run.passes for run in runs), fillvalue=Pass(0, 0.0, math.nan, 0.0))
    ]
    stop = next((run.stop for run in runs if run.stop is not Stop.SEPARATED), Stop.SEPARATED)
    trace = [run.trace.astype(np.uint64) * np.uint64(len(b)) + np.uint64(c) for c, run in enumerate(runs)]
    return Run(stop, tuple(passes), np.concatenate(trace))


# ---------------------------------------------------------------------------------------------------------------
# Looking without learning


class View(NamedTuple):
    """What a plane makes of some examples."""

    radius: float  # largest norm of a row
    smallest: float  # smallest y·s, for many classes smallest lead of the true class
    loss: float
    wrong: int  # rows predicted wrong


def scores(rows: Rows, W: Floats, b: Floats) -> Floats:
    """Return ``W·x + b`` of every row, shape (n, C)."""
    S = np.empty((count(rows), len(b)))
    _on_all_cores(rows, lambda part: kernels.score(_ready(rows, part), W, b, S[part]))
    return S


def squared_norms(rows: Rows) -> Floats:
    """Return ``‖x‖²`` of every row, infinite where it overflows."""
    squares = np.empty(count(rows))
    _on_all_cores(rows, lambda part: kernels.norms(_ready(rows, part), squares[part]))
    return squares


def separations(examples: Examples, W: Floats, b: Floats) -> Floats:
    """Return ``y·s`` of every row; for many classes the lead of the true class over its highest rival."""
    return _leads(scores(examples.rows, W, b), examples.y)


def _leads(S: Floats, y: Array) -> Floats:
    """Return ``y·s`` or the lead of the true class, from scores."""
    if S.shape[1] == 1:
        lead: Floats = y * S[:, 0]
        return lead
    rivals = S.copy()
    np.put_along_axis(rivals, y[:, None], -np.inf, 1)
    leads: Floats = np.take_along_axis(S, y[:, None], 1)[:, 0]
    leads -= rivals.max(axis=1)
    return leads


def view(examples: Examples, W: Floats, b: Floats, *, on_plane: int = -1, one_vs_rest: bool = False) -> View:
    """Look once at all examples of positive weight; raises FloatingPointError at a score that is not finite."""
    rows, y, step = examples

    def look(part: slice) -> tuple[float, float, float, int]:
        piece = Examples(_ready(rows, part), y[part], step[part])
        largest, smallest, loss, wrong, broken = kernels.survey(piece, W, b, on_plane, one_vs_rest)
        if broken:
            raise FloatingPointError("a score is not finite")
        return _norm_from(largest, piece), smallest, loss, wrong

    radii, smallest, losses, wrong = zip(*_on_all_cores(rows, look), strict=True)
    return View(max(radii), min(smallest), math.fsum(losses), sum(wrong))


def errors(examples: Examples, W: Floats, b: Floats, on_plane: int) -> Counter[float]:
    """Count the examples of positive weight that are predicted wrong, by their steps."""
    S, y = scores(examples.rows, W, b), examples.y
    wrong = S.argmax(axis=1) != y if S.shape[1] > 1 else np.where(S[:, 0] == 0, on_plane, S[:, 0]) * y < 0
    steps, counts = np.unique(examples.step[wrong & (examples.step > 0)], return_counts=True)
    return Counter(dict(zip(steps.tolist(), counts.tolist(), strict=True)))


def total(counts: Counter[float]) -> float:
    """Return the sum of counted steps, the same in whatever parts they were counted."""
    return math.fsum(step * n for step, n in counts.items())


def _norm_from(largest: float, piece: Examples) -> float:
    """Return the largest norm from its square, by way of scaled values where squares overflow or underflow."""
    if 1e-280 < largest < math.inf:
        return math.sqrt(largest)
    kept = take(piece.rows, np.flatnonzero(piece.step))
    values = kept.data.astype(np.float64)
    scale = float(np.abs(values).max(initial=0.0)) or 1.0
    scaled = np.square(values / scale)
    if isinstance(kept, Dense):
        return scale * math.sqrt(scaled.sum(axis=1).max(initial=0.0))
    ends = np.concatenate(([0.0], np.cumsum(scaled)))
    return scale * math.sqrt(float(np.diff(ends[kept.indptr.astype(np.intp)]).max(initial=0.0)))


def _ready(rows: Rows, part: slice) -> Rows:
    """Return some rows as compiled code wants them, without a copy where they lie in C order."""
    if isinstance(rows, Sparse):
        return rows._replace(indptr=rows.indptr[part.start : part.stop + 1])
    return Dense(rows.data[part]) if rows.data.flags.c_contiguous else take(rows, part)


def _on_all_cores(rows: Rows, job: Callable[[slice], Any]) -> list[Any]:
    """Do a job on every piece of the rows, side by side: compiled code runs without the interpreter's lock."""
    _, length = _piece(rows)
    length = min(length, max(64, length // 8))  # many pieces for each core, so that all end together
    parts = [slice(start, start + length) for start in range(0, count(rows), length)]
    found: list[Any] = [None] * len(parts)
    waiting = iter(enumerate(parts))

    def work() -> None:
        for number, part in waiting:
            found[number] = job(part)

    cores = min(os.cpu_count() or 1, len(parts))
    if cores == 1:
        work()
        return found
    with ThreadPoolExecutor(cores - 1) as pool:
        helpers = [pool.submit(work) for _ in range(cores - 1)]
        work()
        for helper in helpers:
            helper.result()
    return found


def held_out(seed: int, first_row: int, n: int, share: float) -> Array:
    """Say which rows to hold out, each drawn by its own number: how the rows come in blocks does not matter."""
    z = np.arange(first_row, first_row + n, dtype=np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in (
        (30, 0xBF58476D1CE4E5B9),
        (27, 0x94D049BB133111EB),
        (31, 1),
    ):  # SplitMix64 (Steele et al. 2014)
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    held: Array = z < np.uint64(share * 2**64)
    return held


def norm(W: Floats) -> float:
    """Return the norm over all entries, without overflow."""
    scale = float(np.abs(W).max(initial=0.0))
    return scale * float(np.linalg.norm(W / scale)) if 0 < scale < math.inf else scale


def allowed_mistakes(plan: Plan, radius: float, margin: float, steps: tuple[float, float], start: float) -> float:
    """Return how many mistakes are possible if some plane has the margin: Novikoff's bound, a little generalised.

    With steps between ``low`` and ``high``, updates up to ``y s <= m`` and first weights of norm ``start``, after k
    mistakes ``k low g - start <= ‖w‖`` and ``‖w‖² <= start² + k (high² R² + 2 high m)``. The first says that progress
    is made towards the plane, the second that the weights cannot grow fast. Together they bound k. A mistake of
    argmax moves two weight vectors: 2R² for R².
    """
    low, high = steps
    squared = radius**2 + plan.rule.offset
    if plan.kernel is kernels.argmax:
        squared *= 2
    gain = low * margin
    bound = (high**2 * squared + 2 * high * plan.rule.margin + 2 * gain * start) / gain**2
    return bound * (1 + 1e-12)  # rounding must not refute what is true
