"""Passes over blocks of examples: the order they are looked at, the rules that end a run, what is recorded.

A problem is a re-iterable sequence of blocks. An array is one block, a file is many; the kernel, the weights and the
numbering of rows carry on from block to block, so that the split into blocks cannot show in the result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from linsep import kernels
from linsep.kernels import Rule
from linsep.problem import Array, Dense, Examples, Floats, Pass, Rows, Run, Stop, count, take

Watch = Callable[[int, int, int, float], None]  # pass, rows looked at in it, mistakes of the run, loss of the pass

_CHUNK = 1 << 25  # bytes of rows for one call into compiled code, which nothing can interrupt
_GATHER = 1 << 20  # bytes of rows to bring into C order at a time


@dataclass(frozen=True)
class Plan:
    """How to train and when to stop."""

    kernel: Callable[..., tuple[int, int]]
    rule: Rule
    order: str = "cyclic"  # "cyclic", "shuffled", "first" or "worst"
    max_iter: int = 1000
    max_updates: int | None = None
    tol: float | None = None
    n_iter_no_change: int = 5
    allowed: float = math.inf  # mistakes that a plane of the target margin allows, for each separate machine
    seed: int = 0


def train(
    blocks: Iterable[Examples],
    W: Floats,
    b: Floats,
    plan: Plan,
    *,
    first_pass: int = 0,
    validation_error: Callable[[], float] | None = None,
    watch: Watch | None = None,
) -> Run:
    """Train ``W`` (C, d) and ``b`` (C,) in place until a rule of the plan ends the run.

    Raises FloatingPointError when some score is not finite.
    """
    if plan.kernel is kernels.one_vs_rest and plan.order in ("first", "worst"):
        return _train_each(blocks, W, b, plan, first_pass=first_pass, validation_error=validation_error, watch=watch)
    trace: list[Array] = []
    passes: list[Pass] = []
    made = 0
    while True:
        started = time.perf_counter()
        begun, loss = made, np.zeros(1)
        limit = min(math.inf if plan.max_updates is None else plan.max_updates, _refuted_at(plan))
        if plan.order == "first":
            limit = min(limit, made + 1)
        first_row = looked = 0
        for number, block in enumerate(blocks):
            order = _order(plan, block, W, b, first_pass + len(passes), number)
            for done, found in _look(block, order, plan, W, b, loss, limit - made):
                trace.append(found + np.uint64(first_row * len(b)))
                made += len(found)
                looked += done
                if watch is not None:
                    watch(len(passes), looked, made, float(loss[0]))
                if made >= limit:
                    break
            if made >= limit:
                break
            first_row += count(block.rows)
        error = math.nan if validation_error is None else validation_error()
        passes.append(Pass(made - begun, float(loss[0]), error, time.perf_counter() - started))
        stop = _stop(plan, passes, made, trace, len(b))
        if stop is not None:
            return Run(stop, tuple(passes), np.concatenate(trace) if trace else np.empty(0, np.uint64))


def _order(plan: Plan, block: Examples, W: Floats, b: Floats, number: int, block_number: int) -> Array:
    """Return the rows of a block in the order in which pass ``number`` looks at them; those of weight 0 are left out."""
    if plan.order == "worst":
        v = np.where(block.step > 0, separations(block, W, b), np.inf)
        return np.array([np.argmin(v)], dtype=np.uint32)  # argmin takes the lowest of equals
    index = np.uint32 if len(block.step) < 2**32 else np.uint64
    order: Array = np.flatnonzero(block.step > 0).astype(index)
    if plan.order == "shuffled":
        np.random.default_rng((plan.seed, block_number, number)).shuffle(order)
    return order


def _look(
    block: Examples, order: Array, plan: Plan, W: Floats, b: Floats, loss: Floats, room: float
) -> Iterator[tuple[int, Array]]:
    """Run the kernel over a block piece by piece, yielding how many rows it looked at and its mistakes."""
    contiguous = not isinstance(block.rows, Dense) or block.rows.data.flags.c_contiguous
    for part in _pieces(order, block.rows, _CHUNK if contiguous else _GATHER):
        if contiguous:
            examples, local = block, part
        else:
            examples = Examples(take(block.rows, part), block.y[part], block.step[part])
            local = np.arange(len(part), dtype=part.dtype)
        mistakes = np.empty(int(min(room, len(part) * len(b))), dtype=np.uint64)
        looked, k = plan.kernel(examples, local, plan.rule, W, b, mistakes, loss)
        if looked < len(part) and k < room:
            raise FloatingPointError(f"the score of row {part[looked]} is not finite")
        found = mistakes[:k]
        if not contiguous:
            machines = np.uint64(len(b))
            found = part[found // machines].astype(np.uint64) * machines + found % machines
        yield looked, found
        room -= k


def _pieces(order: Array, rows: Rows, size: int) -> Iterator[Array]:
    """Cut an order into pieces whose rows take about ``size`` bytes; at least one piece, and none larger than needed."""
    n = max(1, count(rows))
    per_row = (rows.data.nbytes if isinstance(rows, Dense) else rows.data.nbytes + rows.indices.nbytes) // n
    length = max(64, size // max(1, per_row))
    for start in range(0, len(order), length):
        yield order[start : start + length]


def _refuted_at(plan: Plan) -> float:
    """Return the number of mistakes that refutes the target margin, where all mistakes are one machine's."""
    return (
        math.inf
        if plan.kernel is kernels.one_vs_rest
        else math.floor(plan.allowed) + 1
        if plan.allowed < 2**62
        else math.inf
    )


def _stop(plan: Plan, passes: list[Pass], made: int, trace: list[Array], machines: int) -> Stop | None:
    """Say whether the run ends after these passes, and why."""
    if passes[-1].mistakes == 0:
        return Stop.SEPARATED
    if plan.kernel is not kernels.one_vs_rest:
        most: float = made
    elif plan.allowed < math.inf:
        most = np.bincount(np.concatenate(trace).astype(np.intp) % machines).max()
    else:
        most = 0
    if most > plan.allowed:
        return Stop.MARGIN_REFUTED
    if plan.max_updates is not None and made >= plan.max_updates:
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


def _train_each(blocks: Iterable[Examples], W: Floats, b: Floats, plan: Plan, **extra: Any) -> Run:
    """One-against-rest in an order that depends on the machine: one run after another, merged into one."""
    runs: list[Run] = []
    left = plan.max_updates
    for c in range(len(b)):
        signed = [Examples(e.rows, np.where(e.y == c, 1, -1).astype(np.int8), e.step) for e in blocks]
        own = replace(plan, kernel=kernels.perceptron, max_updates=left)
        runs.append(train(signed, W[c : c + 1], b[c : c + 1], own, **extra))
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
    stops = [run.stop for run in runs if run.stop is not Stop.SEPARATED] or [Stop.SEPARATED]
    machines = np.uint64(len(b))
    return Run(
        stops[0], tuple(passes), np.concatenate([run.trace * machines + np.uint64(c) for c, run in enumerate(runs)])
    )


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
    for part, ready in _in_pieces(rows):
        kernels.score(ready, W, b, S[part])
    return S


def squared_norms(rows: Rows, d: int) -> Floats:
    """Return ``‖x‖²`` of every row, infinite where it overflows."""
    squares = np.empty(count(rows))
    for part, ready in _in_pieces(rows):
        size = count(ready)
        kernels.survey(ready, np.empty((0, d)), np.empty(0), np.empty((size, 0)), squares[part])
    return squares


def separations(examples: Examples, W: Floats, b: Floats) -> Floats:
    """Return ``y·s`` of every row; for many classes the lead of the true class over its highest rival."""
    return _leads(scores(examples.rows, W, b), examples.y)


def _leads(S: Floats, y: Array) -> Floats:
    if S.shape[1] == 1:
        return y * S[:, 0]
    own = np.take_along_axis(S, y[:, None], 1)[:, 0]
    rivals = S.copy()
    np.put_along_axis(rivals, y[:, None], -np.inf, 1)
    return own - rivals.max(axis=1)


def view(examples: Examples, W: Floats, b: Floats, *, on_plane: int = -1, one_vs_rest: bool = False) -> View:
    """Look once at all examples of positive weight; raises FloatingPointError at a score that is not finite."""
    radius, smallest, loss, wrong = 0.0, math.inf, 0.0, 0
    for part, rows in _in_pieces(examples.rows):
        S, squares = np.empty((count(rows), len(b))), np.empty(count(rows))
        kernels.survey(rows, W, b, S, squares)
        if not np.isfinite(S).all():
            raise FloatingPointError("a score is not finite")
        looked = examples.step[part] > 0
        if not looked.any():
            continue
        y, S, squares = examples.y[part][looked], S[looked], squares[looked]
        v = _leads(S, y)
        radius = max(radius, _root(rows, looked, squares))
        smallest = min(smallest, float(v.min()))
        if one_vs_rest and len(b) > 1:
            own = np.arange(len(b)) == y[:, None]
            loss += float(np.maximum(0.0, np.where(own, -S, S)).sum())
        else:
            loss += float(np.maximum(0.0, -v).sum())
        if len(b) == 1:
            wrong += int(np.count_nonzero(np.where(S[:, 0] == 0, on_plane, np.sign(S[:, 0])) != y))
        else:
            wrong += int(np.count_nonzero(S.argmax(axis=1) != y))
    return View(radius, smallest, loss, wrong)


def _root(rows: Rows, looked: Array, squares: Floats) -> float:
    """Return the largest norm, by way of scaled values where the squares overflow or underflow."""
    largest = float(squares.max())
    if 1e-280 < largest < math.inf or (largest == 0 and not np.any(rows.data)):
        return math.sqrt(largest)
    kept = take(rows, np.flatnonzero(looked))
    values = kept.data.astype(np.float64)
    scale = float(np.abs(values).max(initial=0.0)) or 1.0
    scaled = np.square(values / scale)
    if isinstance(kept, Dense):
        return scale * math.sqrt(scaled.sum(axis=1).max())
    ends = np.concatenate(([0.0], np.cumsum(scaled)))
    return scale * math.sqrt(float(np.diff(ends[kept.indptr.astype(np.intp)]).max()))


def _in_pieces(rows: Rows) -> Iterator[tuple[slice, Rows]]:
    """Yield the rows a piece at a time, in C order, each with its place."""
    contiguous = not isinstance(rows, Dense) or rows.data.flags.c_contiguous
    n = count(rows)
    size = max(64, (_CHUNK if contiguous else _GATHER) // max(1, rows.data.nbytes // max(1, n)))
    for start in range(0, n, size):
        part = slice(start, start + size)
        if isinstance(rows, Dense):
            yield part, Dense(rows.data[part]) if contiguous else take(rows, part)
        else:
            yield part, rows._replace(indptr=rows.indptr[start : start + size + 1])


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
