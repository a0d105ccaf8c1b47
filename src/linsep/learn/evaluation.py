"""Evaluates weights on rows: scores, norms, losses, wrong predictions, held-out rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from linsep.data.parallel import on_all_cores
from linsep.learn import kernels
from linsep.learn.weights import Weights
from linsep.learn.weights import norm as norm
from linsep.problem import Array, Dense, Examples, Floats, Rows, Sparse, all_finite, count, take

CHUNK = 1 << 25  # bytes of rows for one call into compiled code, which nothing can interrupt
GATHER = 1 << 20  # bytes of rows to bring into C order at a time
LEAST = 64  # rows for one call, however large they are


class Evaluation(NamedTuple):
    """What a plane makes of some examples."""

    radius: float  # largest norm of a row
    smallest: float  # smallest y·s, for more classes smallest margin of the true class
    loss: float
    wrong: int  # rows predicted wrong
    rows: int  # of positive weight, which alone count
    counts: tuple[int, ...] = ()  # of them, the rows of each class


UNKNOWN = Evaluation(math.nan, math.nan, math.nan, -1, 0)


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
    """Return ``y·s`` of every row; for more classes the score of the true class less that of its highest rival."""
    return _margins(scores(examples.rows, W, b), examples.y)


def _margins(S: Floats, y: Array) -> Floats:
    """Return ``y·s``, or the margin of the true class over the others, from scores."""
    if S.shape[1] == 1:
        margins: Floats = y * S[:, 0]
        return margins
    rivals = S.copy()
    np.put_along_axis(rivals, y[:, None], -np.inf, 1)
    margins = np.take_along_axis(S, y[:, None], 1)[:, 0]
    margins -= rivals.max(axis=1)
    return margins


def evaluate(examples: Examples, W: Floats, b: Floats, *, on_plane: int = -1, one_vs_rest: bool = False) -> Evaluation:
    """Visit all examples of positive weight once; raises FloatingPointError at a score that is not finite."""
    rows, y, step = examples

    def visit(part: slice) -> Evaluation:
        piece = Examples(_ready(rows, part), y[part], step[part])
        largest, smallest, loss, wrong, broken = kernels.evaluate(piece, W, b, on_plane, one_vs_rest)
        if broken:
            raise FloatingPointError("a score is not finite")
        used = int(np.count_nonzero(piece.step))
        own = piece.y if used == len(piece.y) else piece.y[piece.step > 0]
        counts = np.bincount(own > 0 if len(b) == 1 else own, minlength=2).tolist()
        return Evaluation(_norm_from(largest, piece), smallest, loss, wrong, used, tuple(counts))

    return combine(_on_all_cores(rows, visit))


def combine(evaluations: Iterable[Evaluation]) -> Evaluation:
    """Return what a plane makes of several stretches of rows; unknown if there are none."""
    parts = list(evaluations)
    if len(parts) < 2:
        return parts[0] if parts else UNKNOWN
    radii, smallest, losses, wrong, used, counts = zip(*parts, strict=True)
    by_class = tuple(map(sum, zip_longest(*counts, fillvalue=0)))
    return Evaluation(max(radii), min(smallest), math.fsum(losses), sum(wrong), sum(used), by_class)


class TrainingLoss(NamedTuple):
    """What a rule makes of weights on some examples of positive weight."""

    loss: float
    smallest: float  # y·s, or margin, of any machine


def training_loss(
    examples: Examples, weights: Weights, target: float, one_vs_rest: bool, before: TrainingLoss
) -> TrainingLoss:
    """Return the loss ``Σ max(0, target - v)`` and the smallest ``v``, going on from those of the rows before.

    ``v`` is ``y·s``, for more classes the margin of the true class, or ``y·s`` of each machine of one-against-rest. The
    sum runs in the order of the rows, so that it has the same bits however they come in blocks.
    """
    S, used = scores(examples.rows, weights.W, weights.b), examples.step > 0
    if one_vs_rest:
        own = examples.y[:, None] == np.arange(S.shape[1])
        v = np.where(own, S, -S)[used].ravel()
    else:
        v = _margins(S, examples.y)[used]
    if not all_finite(v):
        raise FloatingPointError("a score is not finite")
    loss = np.cumsum(np.concatenate(([before.loss], np.maximum(0.0, target - v))))[-1]
    return TrainingLoss(float(loss), min(before.smallest, float(v.min(initial=math.inf))))


def count_errors(examples: Examples, W: Floats, b: Floats, on_plane: int) -> Counter[float]:
    """Count the examples of positive weight that are predicted wrong, by their steps."""
    S, y = scores(examples.rows, W, b), examples.y
    wrong = S.argmax(axis=1) != y if S.shape[1] > 1 else np.where(S[:, 0] == 0, on_plane, S[:, 0]) * y < 0
    steps, counts = np.unique(examples.step[wrong & (examples.step > 0)], return_counts=True)
    return Counter(dict(zip(steps.tolist(), counts.tolist(), strict=True)))


def sum_steps(counts: Counter[float]) -> float:
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
        return Sparse(rows.data, rows.indices, rows.indptr[part.start : part.stop + 1])
    return Dense(rows.data[part]) if rows.data.flags.c_contiguous else take(rows, part)


def _on_all_cores(rows: Rows, job: Callable[[slice], Any]) -> list[Any]:
    """Do a job on every piece of the rows, side by side: compiled code runs without the interpreter's lock."""
    length = piece(rows)
    length = min(length, max(LEAST, length // 8))  # many pieces for each core, so that all end together
    n = count(rows)
    if n <= length:
        return [job(slice(0, n))] if n else []
    parts = [slice(start, min(start + length, n)) for start in range(0, n, length)]
    results: list[Any] = [None] * len(parts)

    def work(number: int) -> None:
        results[number] = job(parts[number])

    on_all_cores(work, range(len(parts)))
    return results


def held_out(seed: int, first_row: int, n: int, share: float) -> Array:
    """Say which rows to hold out, drawn by their numbers alone with SplitMix64 (Steele et al. 2014)."""
    z = np.arange(first_row, first_row + n, dtype=np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in (
        (30, 0xBF58476D1CE4E5B9),
        (27, 0x94D049BB133111EB),
        (31, 1),
    ):  # SplitMix64, Steele et al. 2014
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    held: Array = z < np.uint64(share * 2**64)
    return held


def piece(rows: Rows) -> int:
    """Return how many rows to take at a time; fewer where each piece must be brought into C order."""
    n = count(rows)
    if n <= LEAST:
        return LEAST
    contiguous = not isinstance(rows, Dense) or rows.data.flags.c_contiguous
    row_bytes = sum(part.nbytes for part in rows) // n
    return max(LEAST, (CHUNK if contiguous else GATHER) // max(1, row_bytes))
