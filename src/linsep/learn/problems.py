"""Builds problems from arrays, files and shards: counts classes and encodes blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from linsep.data.arrays import is_sparse, sorted_csr, to_rows
from linsep.data.cache import folder_of
from linsep.data.labels import (
    as_examples,
    check_class_weight,
    class_codes,
    class_factors,
    class_labels,
    classes_and_codes,
    one_class_only,
)
from linsep.data.parallel import ahead
from linsep.data.scaling import Ranges, Scaler
from linsep.data.source import Block, Source, join_blocks
from linsep.errors import DataError
from linsep.learn.evaluation import evaluate, held_out
from linsep.learn.parameters import Parameters
from linsep.learn.weights import Weights
from linsep.problem import Array, Batch, Examples, Floats, Problem, machines_for

WINDOW_ROWS = 1 << 16  # rows of a file that are shuffled among each other
WINDOW_CELLS = 1 << 23  # stored numbers of a window, if it has these sooner
MANY = 1000  # labels from which on it pays to ask whether all weigh the same


# ---------------------------------------------------------------------------------------------------------------
# What must be known of all rows


class ClassCounts(NamedTuple):
    """How often each label occurs, and the largest norm of a row."""

    labels: Counter[Any]
    radius: float


def class_counts(blocks: Iterable[Block], radius: bool = True) -> ClassCounts:
    """Look at all rows; norms only if asked to."""
    labels: Counter[Any] = Counter()
    largest = 0.0
    for block in blocks:
        classes, codes = classes_and_codes(block_labels(block))
        for label, number in zip(classes.tolist(), np.bincount(codes).tolist(), strict=True):
            labels[label] += number
        if radius:
            plain = Examples(to_rows(block.X), np.ones(len(codes), np.int8), np.ones(len(codes)))
            largest = max(largest, evaluate(plain, np.zeros((1, block.X.shape[1])), np.zeros(1)).radius)
    return ClassCounts(labels, largest)


def classes_among(labels: Iterable[Any]) -> Array:
    """Return the classes among labels that occur, sorted where they have an order."""
    return classes_and_codes(class_labels(list(labels)))[0]


def counts_by_class(labels: Mapping[Any, int], classes: Array) -> Array:
    """Return how often each class occurs."""
    return np.array([labels.get(label, 0) for label in classes.tolist()])


def block_labels(block: Block) -> Array:
    """Return the labels of a block, which must have some."""
    if block.y is None:
        raise DataError("", "the data have no labels to learn from")
    return class_labels(block.y.tolist())


def settled(classes: Array, positive: Any, class_weight: Any) -> Array:
    """Return the classes in the order in which they are learned; refuse labels that cannot be learned."""
    if len(classes) < 2:
        raise one_class_only(classes)
    check_class_weight(class_weight, classes)
    if positive is None:
        return classes
    if len(classes) > 2:
        raise DataError("", f"a positive label needs two classes, but there are {len(classes)}")
    return classes if classes[1] == positive else classes[::-1].copy()


# ---------------------------------------------------------------------------------------------------------------
# Blocks as batches


class BatchEncoder(NamedTuple):
    """What all batches of a problem have in common."""

    classes: Array
    factors: Floats
    parameters: Parameters
    scaler: Scaler | None = None

    @property
    def scaling(self) -> Scaler | None:
        """How rows are scaled, None if they are not."""
        return None if self.scaler is None or self.scaler.kind == "none" else self.scaler

    @property
    def machines(self) -> int:
        """How many weight vectors there are."""
        return machines_for(len(self.classes))

    def held_out(self, first_row: int, end: int) -> Array:
        """Say of rows which are held out."""
        return held_out(self.parameters.seed, first_row, end - first_row, self.parameters.validation_fraction)

    def block(self, block: Block) -> Batch:
        """Return a block of a source as a batch."""
        y = block_labels(block) if block.y is None else block.y
        try:
            codes = class_codes(y, self.classes)
        except DataError as error:
            message = f"{error.what}, those of the first block: {{0}} reads all labels before it learns"
            raise DataError("", message, ("cache", folder_of("auto"))) from None
        return self.batch(block.X, codes, block.first_row)

    def batch(self, X: Any, codes: Array, first_row: int, weight: Floats | None = None) -> Batch:
        """Return rows with their class numbers, and weights of their own if they have any."""
        eta, factors = self.parameters.eta0, self.factors
        if weight is not None:
            step = eta * (weight * factors[codes])
        elif len(codes) > MANY and (factors == factors[0]).all():
            step = np.full(len(codes), eta * factors[0])
        else:
            step = (eta * factors)[codes]
        if self.parameters.early_stopping:
            step[self.held_out(first_row, first_row + len(codes))] = 0.0
        if len(self.classes) == 1:
            codes = np.ones_like(codes)  # a class without a rival is the positive one until a second class is seen
        X = X if is_sparse(X) else np.ascontiguousarray(X)  # once, rather than in every pass
        rows = to_rows(X)
        scaled = rows if self.scaling is None else to_rows(self.scaling.apply(X))
        return Batch(first_row, as_examples(scaled, codes, self.machines, step), X.shape[1], rows)

    def allowed(self, radius: float, start: float = 0.0) -> float:
        """Return how many mistakes the target margin allows, if there is one."""
        parameters, factors = self.parameters, self.factors
        if parameters.target_margin is not None and self.scaling is not None:
            message = "{0} is a distance between unscaled rows: it cannot be combined with {1}"
            raise DataError("", message, ("target_margin",), ("scale",))
        steps = (parameters.eta0 * float(factors.min()), parameters.eta0 * float(factors.max()))
        return parameters.allowed_mistakes(radius, steps, start, self.machines)

    def problem(self, batches: Iterable[Batch], **others: Any) -> Problem:
        """Return the problem that these batches are of."""
        held = self.held_out if self.parameters.early_stopping else None
        return Problem(self.classes, batches, self.factors, self.scaling, held, **others)


def array_problem(
    X: Any,
    codes: Array,
    classes: Array,
    weight: Floats | None,
    parameters: Parameters,
    start: Weights,
    scaler: Scaler | None = None,
) -> Problem:
    """Return the problem of rows in memory, their class numbers and weights; it is trained from ``start``."""
    balanced = parameters.class_weight == "balanced"
    counts = np.bincount(codes, minlength=len(classes)) if balanced else np.empty(0, np.intp)
    factors = class_factors(parameters.class_weight, classes, counts)
    encoder = BatchEncoder(classes, factors, parameters, scaler)
    if parameters.early_stopping:
        held = int(np.count_nonzero(encoder.held_out(0, len(codes))))
        if not 0 < held < len(codes):
            message = f"{{0}} holds out {held} of {len(codes)} rows: choose another share"
            raise DataError("", message, ("validation_fraction", parameters.validation_fraction))
    batch = encoder.batch(X, codes, 0, weight)
    step = batch.examples.step
    if not step[step.argmax()] > 0:
        raise DataError("", "every row has weight 0: nothing to learn from")
    allowed = float("inf")
    if parameters.target_margin is not None:
        used = step[step > 0]
        with np.errstate(over="ignore", invalid="ignore"):
            radius = evaluate(batch.examples, start.W, start.b).radius
        allowed = parameters.allowed_mistakes(radius, (used.min(), used.max()), start.norm, start.machines)
    return encoder.problem([batch], allowed=allowed)


# ---------------------------------------------------------------------------------------------------------------
# Files


class SourceBatches:
    """The batches of a source: read in a thread of their own, ahead of the training, and never all at once."""

    def __init__(self, source: Source, encoder: BatchEncoder) -> None:
        self.source, self.encoder = source, encoder

    def __iter__(self) -> Iterator[Batch]:
        shuffled = self.encoder.parameters.shuffled
        blocks = self.source.blocks((16 if shuffled else 2) * WINDOW_ROWS)  # windows are cut from them, mostly
        made = map(self.encoder.block, windows(blocks) if shuffled else blocks)
        with closing(ahead(made, depth=1 if shuffled else 2, owner=self.source)) as batches:
            yield from batches


def source_problem(
    source: Source, parameters: Parameters, scale: str, start: float = 0.0, *, all_labels: bool = True
) -> Problem:
    """Return the problem of a source; ``start`` is the norm of the first weights.

    All rows are read beforehand where something must be known of them, such as all labels; otherwise those of the
    first block are the classes, and a label that is not among them is an error later.
    """
    weights, summary = parameters.class_weight, ClassCounts(Counter(), 0.0)
    classes = np.empty(0)
    if not all_labels:
        classes, _ = classes_and_codes(block_labels(source.first_block()))
        all_labels = len(classes) < 2 or (isinstance(weights, dict) and not set(weights) <= set(classes.tolist()))
    if all_labels or weights == "balanced" or parameters.target_margin is not None:
        summary = class_counts(ahead(source.blocks(), owner=source), radius=parameters.target_margin is not None)
        classes = classes_among(summary.labels)
    classes = settled(classes, source.positive, weights)
    factors = class_factors(weights, classes, counts_by_class(summary.labels, classes))
    encoder = BatchEncoder(classes, factors, parameters, scaler_of(source, parameters, scale))
    return known_problem(source, encoder, encoder.allowed(summary.radius, start))


def known_problem(source: Source, encoder: BatchEncoder, allowed: float) -> Problem:
    """Return the problem of a source of which all is known that must be."""
    batches: Iterable[Batch] = SourceBatches(source, encoder)
    if source.is_cached:
        first = list(islice(batches, 2))
        batches = first if len(first) == 1 else batches  # what is in memory as a whole stays there
    return encoder.problem(batches, allowed=allowed, in_memory=False)


def automatic_scale(source: Source, ranges: Ranges) -> str:
    """Return how rows with these ranges are to be scaled; a note says so if they are."""
    if not ranges.uneven(source.word_counts):
        return "none"
    message = "the sizes of the columns differ by a factor of more than 10, so linsep scales them while it learns"
    source.note(source.files[0].name, f"{message} ({{0}} does not)", ("scale", "none"))
    return "standard"


def scaler_of(source: Source, parameters: Parameters, scale: str) -> Scaler:
    """Return how to scale the rows of a source; they are read for it."""
    scaler = Scaler.fit(source, scale, numbers=source.n_numbers, center=centers(source, parameters, scale))
    return scaler.sparing(source.word_counts)


def centers(source: Source, parameters: Parameters, scale: str) -> bool:
    """Say whether standard scaling takes off the means; a plane without offset could not make up for them: note it."""
    offset = bool(parameters.rule.offset)
    if scale == "standard" and not offset:
        message = "linsep does not center the columns: without an offset a plane cannot make up for their means"
        source.note(source.files[0].name, f"{message} ({{0}} centers them)", ("fit_intercept", True))
    return offset


def windows(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the rows of some blocks in windows, which end at a number of rows or of stored numbers."""
    parts: list[Block] = []
    rows = cells = 0
    for block in blocks:
        done, n = 0, block.X.shape[0]
        ends = block.X.indptr[1:] if is_sparse(block.X) else None
        while done < n:
            if ends is None:
                fitting = -(-(WINDOW_CELLS - cells) // max(1, block.X.shape[1]))
            else:
                before = int(ends[done - 1]) if done else 0
                fitting = int(np.searchsorted(ends, before + WINDOW_CELLS - cells)) + 1 - done
            end = min(n, done + max(1, min(WINDOW_ROWS - rows, fitting)))
            parts.append(_rows(block, done, end))
            rows += end - done
            cells += parts[-1].X.size
            if rows >= WINDOW_ROWS or cells >= WINDOW_CELLS:
                yield join_blocks(parts)
                parts, rows, cells = [], 0, 0
            done = end
    if parts:
        yield join_blocks(parts)


def _rows(block: Block, start: int, end: int) -> Block:
    if (start, end) == (0, block.X.shape[0]):
        return block
    X, y = block.X, None if block.y is None else block.y[start:end]
    if not is_sparse(X):
        return Block(X[start:end], y, block.first_row + start)
    stored = slice(int(X.indptr[start]), int(X.indptr[end]))  # SciPy would copy these
    parts = (X.data[stored], X.indices[stored], X.indptr[start : end + 1] - X.indptr[start])
    return Block(sorted_csr(parts, (end - start, X.shape[1])), y, block.first_row + start)
