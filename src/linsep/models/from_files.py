"""Training from files: rows come a block at a time, as often as there are passes, and never all at once.

The kernel, the plan and the ledger are those of an array in memory, so for ``shuffle=False`` the weights have the same
bits, at any block size. Reading and parsing run in a thread of their own, ahead of the training.
"""

from __future__ import annotations

import math
import os
import queue
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from linsep.data.labels import (
    as_examples,
    check_class_weight,
    class_codes,
    class_labels,
    classes_and_codes,
    one_class_only,
)
from linsep.data.matrices import to_rows
from linsep.data.scaling import Scaler
from linsep.data.source import Block, Source, until_settled
from linsep.learn.checkpoints import Checkpoint, State
from linsep.learn.driver import (
    Keeper,
    Ledger,
    View,
    Watch,
    Weights,
    allowed_mistakes,
    errors,
    held_out,
    total,
    train,
    view,
)
from linsep.learn.hypotheses import KEEPERS, Best
from linsep.models.online import Online
from linsep.problem import Array, Examples, Floats, Run, Sparse, Stop, take

_POOL = 8  # blocks among which the next one is drawn when shuffling
_LONGEST_TRACE = 1 << 24  # mistakes; beyond it the trace is not kept, so that memory stays bounded

Item = TypeVar("Item")

in_a_hurry = threading.Event()  # the process is about to end: do not wait for input that may never come


def fit_source(
    model: Online,
    source: Source,
    *,
    scale: str = "none",
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 30.0,
    resume: bool = False,
    evaluate: bool = True,
    watch: Watch | None = None,
) -> Online:
    r"""Train a perceptron, or another online classifier, from files of any size in bounded memory.

    With ``shuffle=False`` the result is that of ``model.fit(*source.to_arrays())`` to the bit. With ``shuffle=True``
    the rows of a block are shuffled, and the next block is drawn from the few that have been read ahead.

    Parameters
    ----------
    model : Perceptron or PassiveAggressive
        Its parameters say how to train; it is fitted in place. With ``keep="best"`` the files are read once more after
        every pass that made a mistake; ``keep="vote"`` holds every row that erred in memory.
    source : Source
        What `read` returns.
    scale : {"none", "unit", "standard"}
        Train on the rows divided by the largest norm, or with mean and deviation of every column taken out (sparse
        columns keep their mean). Weights, radius and margin are handed over in the units of the file.
    checkpoint : path, optional
        Write there, every so many seconds, what it takes to go on after an interruption.
    every : float
        Seconds between two checkpoints.
    resume : bool
        Go on from the checkpoint if there is one; the end is that of a run that was never interrupted. A larger
        ``max_iter`` than before is fine: it is how a run that was out of passes gets more of them.
    evaluate : bool
        Read the files once more after a run that did not end with a clean pass, for radius, margin and training
        errors; without it these are not known then.
    watch : callable, optional
        Told of progress: pass, rows looked at in it, mistakes so far, loss of the pass.

    Returns
    -------
    model : the same
        With ``scaling_`` beside the usual attributes if rows were scaled: how they were for training. A trace of more
        than 16 million mistakes is not kept.

    Examples
    --------
    >>> import io
    >>> from linsep import Perceptron, fit_source, read
    >>> source = read(io.BytesIO(b"1 1:2 2:1\n-1 1:1 2:2\n"), format="libsvm")
    >>> fit_source(Perceptron(), source).stop_reason_
    'separated'
    """
    model._check_parameters()
    if model.order is not None:
        raise ValueError(f"order={model.order!r} goes back to the first row all the time: it needs an array, not files")
    if scale not in ("none", "unit", "standard"):
        raise ValueError(f"scale must be 'none', 'unit' or 'standard', got {scale!r}")
    saved = None
    if checkpoint is not None:
        about = {name: value for name, value in model.get_params().items() if name != "verbose"}
        saved = Checkpoint(checkpoint, every, {"data": source.fingerprint(), "scale": scale, **about})
    state = saved.load() if saved is not None and resume else None
    return until_settled(lambda: _fitted(_Fitting(model, source, scale, saved, watch), state, evaluate))


def _fitted(started: _Fitting, state: State | None, evaluate: bool) -> Online:
    """Make a run over a source, from its beginning or from a checkpoint."""
    with closing(started) as fitting, _explained():
        if state is not None:
            fitting.go_on_from(state)
            run = fitting.run()
        else:
            fitting.start(_labels_of_first_block(fitting.source))
            try:
                run = fitting.run()
            except _NewLabelError:  # not in the first block: learn all labels first, then start again
                fitting.start(None)
                run = fitting.run()
        return fitting.hand_over(run, evaluate)


@contextmanager
def _explained() -> Iterator[None]:
    """Say of a score that is not finite that it has overflowed: readers let nothing pass that is not finite."""
    try:
        yield
    except FloatingPointError:
        raise ValueError(
            "a score overflowed to infinity: scale the rows (scale='unit') or choose a smaller eta0"
        ) from None


class _NewLabelError(Exception):
    """A label turned up that was not known when training began."""


class _Fitting:
    """One run over a source: a re-iterable of examples, the weights they train, and what else is learnt on the way."""

    def __init__(
        self, model: Online, source: Source, scale: str, saved: Checkpoint | None, watch: Watch | None
    ) -> None:
        self.model, self.source, self.scale, self.saved, self.watch = model, source, scale, saved, watch
        self.ledger = Ledger(longest_trace=_LONGEST_TRACE)
        self.keeper = model._new_keeper(self._errors)
        self.seed = model._draw_seed()
        self.rows = 0  # in the whole source, known after the first pass
        self.held: _Held | None = None
        self.scaler: Scaler | None = None
        self.allowed = math.inf
        self.class_weight = model.class_weight
        self.views: list[View] | None = None  # of the blocks of the present pass, as long as it is clean

    def close(self) -> None:
        """Give back what the run took."""
        if self.held is not None:
            self.held.file.close()
            self.held = None

    # -----------------------------------------------------------------------------------------------------------
    # Beginnings

    def start(self, classes: Array | None) -> None:
        """Begin with zero weights; read the files once beforehand where something must be known of all rows."""
        self.close()
        model = self.model
        census = None
        names = model.class_weight if isinstance(model.class_weight, dict) else {}
        if classes is not None and not set(names) <= set(classes.tolist()):
            classes = None  # the rest of them may come later
        if classes is None or model.class_weight == "balanced" or model.target_margin is not None:
            census = _Census(self.source)
            classes = classes_and_codes(class_labels(list(census.labels)))[0]
        assert classes is not None
        if len(classes) < 2:
            raise one_class_only(classes)
        check_class_weight(model.class_weight, classes)
        positive = self.source.positive
        if positive is not None:
            if len(classes) > 2:
                raise ValueError(f"a positive label is for two classes, but there are {len(classes)}")
            classes = classes if classes[1] == positive else classes[::-1].copy()
        self.classes = classes
        machines = 1 if len(classes) == 2 else len(classes)
        self.weights = Weights(np.zeros((machines, 0)), np.zeros(machines))
        self.ledger, self.keeper = Ledger(longest_trace=_LONGEST_TRACE), model._new_keeper(self._errors)
        if model.class_weight == "balanced":
            assert census is not None
            rows = sum(census.labels.values())
            self.class_weight = {c: rows / (len(classes) * census.labels[c]) for c in classes.tolist()}
        if self.scale != "none":
            self.scaler = Scaler.fit(self.source, self.scale)
        if model.target_margin is not None:
            assert census is not None
            if self.scaler is not None:
                raise ValueError("target_margin is a distance in the rows as they are: it does not go with scale")
            factors = self._factors()
            steps = (model.eta0 * factors.min(), model.eta0 * factors.max())
            plan = model._plan(machines, self.seed)
            self.allowed = allowed_mistakes(plan, census.radius, model.target_margin, steps, 0.0)

    def go_on_from(self, state: State) -> None:
        """Begin where a run was interrupted."""
        self.classes, self.weights, self.ledger, self.seed = state.classes, state.weights, state.ledger, state.seed
        self.ledger.longest_trace = _LONGEST_TRACE
        if self.model.keep in KEEPERS:
            self.keeper = KEEPERS[self.model.keep].of(state.kept)
        if isinstance(self.keeper, Best):
            self.keeper.errors = self._errors
        self.allowed, self.rows, self.class_weight = state.allowed, state.rows, state.class_weight
        if self.scale != "none":
            self.scaler = Scaler.fit(self.source, self.scale)
        if self.model.early_stopping and self.ledger.passes:
            self.held = _Held(self.model)
            for block in ahead(self.source):
                self._encoded(block)

    # -----------------------------------------------------------------------------------------------------------
    # Passes

    def run(self) -> Run:
        """Train until a rule ends the run."""
        model, plan = self.model, self.model._plan(len(self.weights.b), self.seed)
        if model.early_stopping and self.held is None:
            self.held = _Held(model)
        validation_error = None if self.held is None else lambda: self._held_error()
        with np.errstate(over="ignore", invalid="ignore"):
            run = train(
                self,
                self.weights,
                replace(plan, allowed=self.allowed),
                ledger=self.ledger,
                validation_error=validation_error,
                watch=self.watch,
                after_block=self._save,
                keeper=self.keeper,
            )
        if not (np.isfinite(self.weights.W).all() and np.isfinite(self.weights.b).all()):
            raise ValueError(
                "the weights overflowed to infinity: scale the rows (scale='unit') or choose a smaller eta0"
            )
        return run

    def _save(self, ledger: Ledger) -> None:
        """Write a checkpoint if it is time, and after every pass."""
        if self.saved is not None and (self.saved.due() or ledger.blocks == 0):
            weight = dict(self.class_weight or {})
            kept = self.keeper.arrays()
            self.saved.write(
                State(self.classes, self.weights, ledger, self.seed, self.rows, self.allowed, weight, kept)
            )

    def __iter__(self) -> Iterator[tuple[int, Examples]]:
        """Yield the examples of one pass, each block with the number of its first row."""
        number = len(self.ledger.passes)
        blocks: Iterable[Block] = ahead(self.source)
        if self.model.shuffle:
            blocks = mixed(blocks, self.seed, number)
        handed_over = self.model.keep in ("last", "vote")  # the weights of a clean pass are those to look with
        self.views = [] if self.ledger.blocks == 0 and handed_over else None
        rows = 0
        for block in blocks:
            examples = self._encoded(block)
            if self.views is not None and self.ledger.made == self.ledger.begun and number > 0:
                self.views.append(self._seen(block, examples))
            elif self.ledger.made > self.ledger.begun:
                self.views = None
            rows = max(rows, block.first_row + block.X.shape[0])
            yield block.first_row, examples
        self.rows = rows

    def _encoded(self, block: Block) -> Examples:
        """Return a block as examples, with room for it in the weights; rows to be held out get no weight."""
        X = block.X if self.scaler is None else self.scaler.apply(block.X)
        self._widen(X.shape[1])
        y = self._codes(block.y)
        step = self.model.eta0 * self._factors()[y]
        rows = to_rows(X)
        if self.held is not None:
            mask = held_out(self.seed, block.first_row, len(y), self.model.validation_fraction)
            step[mask] = 0.0
            if not self.held.complete:
                unseen = take(rows, np.flatnonzero(mask))
                self.held.add(as_examples(unseen, y[mask], len(self.weights.b), np.ones(mask.sum())))
        return as_examples(rows, y, len(self.weights.b), step)

    def _codes(self, y: Array | None) -> Array:
        if y is None:
            raise ValueError("there are no labels to learn from")
        try:
            return class_codes(y, self.classes)
        except ValueError:
            raise _NewLabelError from None

    def _factors(self) -> Floats:
        """Return the weight of every class."""
        given = self.class_weight or {}
        return np.array([float(given.get(label, 1.0)) for label in self.classes.tolist()])

    def _widen(self, d: int) -> None:
        W = self.weights.W
        if W.shape[1] < d:
            self.weights.W = np.zeros((len(W), d))
            self.weights.W[:, : W.shape[1]] = W

    def _held_error(self) -> float:
        assert self.held is not None
        self.held.complete = True
        return self.held.error(self.keeper, self.weights)

    def _errors(self, W: Floats, b: Floats) -> float:
        """Read all rows and add up the weight of those that are predicted wrong."""
        if self.held is not None:
            self.held.complete = True
        counts: Counter[float] = Counter()
        for block in ahead(self.source):
            examples = self._encoded(block)
            wide = np.zeros(self.weights.W.shape)
            wide[:, : W.shape[1]] = W
            counts += errors(examples, wide, b, self.model.on_plane)
        return total(counts)

    # -----------------------------------------------------------------------------------------------------------
    # Ends

    def _in_units_of_the_file(self, W: Any, b: Floats) -> tuple[Any, Floats]:
        return (W, b) if self.scaler is None else self.scaler.undo(W, b)

    def _seen(self, block: Block, examples: Examples) -> View:
        """Look at a block as it is in the file, with weights in its units."""
        W, b = self._in_units_of_the_file(*self.keeper.plane(self.weights))
        rows = to_rows(block.X)
        return view(Examples(rows, examples.y, examples.step), W, b, on_plane=self.model.on_plane)

    def hand_over(self, run: Run, evaluate: bool) -> Online:
        """Put what was learnt into the model."""
        model, source = self.model, self.source
        views = self.views if run.stop is Stop.SEPARATED else None
        if not views and evaluate:
            views, self.rows = [], 0
            for block in ahead(source):
                views.append(self._seen(block, self._encoded(block)))
                self.rows = max(self.rows, block.first_row + block.X.shape[0])
        seen = View(math.nan, math.nan, math.nan, -1)
        if views:
            radii, smallest, losses, wrong = zip(*views, strict=True)
            seen = View(max(radii), min(smallest), math.fsum(losses), sum(wrong))
        deliver(model, source, self.classes, self.weights, self.keeper, self.scaler, run, self.seed, self.rows, seen)
        return model


def deliver(
    model: Online,
    source: Source,
    classes: Array,
    weights: Weights,
    keeper: Keeper,
    scaler: Scaler | None,
    run: Run,
    seed: int,
    rows: int,
    seen: View,
) -> None:
    """Put what a run over a source has learnt into the model, in the units of the file."""
    features = source.features

    def handed_over(W: Any, b: Floats) -> tuple[Any, Floats]:
        W, b = (W, b) if scaler is None else scaler.undo(W, b)
        return W[:, features] if sp.issparse(W) else np.ascontiguousarray(W[:, features]), b

    keeper.transform(handed_over, weights.W.shape[1])
    W, b = handed_over(weights.W, weights.b)
    model.n_features_in_ = W.shape[1]
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    if source.names is not None and len(source.names) == W.shape[1]:
        model.feature_names_in_ = np.array(source.names, dtype=object)
    model._forget(seed)
    model._adopt(classes, W, b, run, rows, seen, keeper)
    if math.isnan(seen.radius):
        model.radius_ = model.margin_ = math.nan
    if scaler is not None:
        d = weights.W.shape[1]
        shift = scaler.shift if len(scaler.shift) else np.zeros(d)
        factor = np.broadcast_to(scaler.scale, d) if scaler.kind == "unit" else scaler.scale
        model.scaling_ = {"kind": scaler.kind, "shift": shift[features], "scale": factor[features].copy()}


def _labels_of_first_block(source: Source) -> Array | None:
    """Return the labels of the first block, None if there is only one or there may be better reason to read all."""
    for block in source:
        if block.y is None:
            raise ValueError("there are no labels to learn from")
        classes, _ = classes_and_codes(class_labels(block.y.tolist()))
        return classes if len(classes) > 1 else None
    return None


class _Census:
    """What one look at all rows finds out: how often each label occurs, and the largest norm."""

    def __init__(self, source: Source) -> None:
        self.labels: Counter[Any] = Counter()
        self.radius = 0.0
        for block in ahead(source):
            if block.y is None:
                raise ValueError("there are no labels to learn from")
            classes, codes = classes_and_codes(class_labels(block.y.tolist()))
            for label, number in zip(classes.tolist(), np.bincount(codes).tolist(), strict=True):
                self.labels[label] += number
            plain = Examples(to_rows(block.X), np.ones(len(codes), np.int8), np.ones(len(codes)))
            self.radius = max(self.radius, view(plain, np.zeros((1, block.X.shape[1])), np.zeros(1)).radius)


class _Held:
    """Held-out rows, kept in a temporary file so that they take no memory."""

    def __init__(self, model: Online) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115  closed with this object
        self.blocks = self.rows = 0
        self.complete = False
        self.on_plane = model.on_plane
        self.share = model.validation_fraction

    def add(self, examples: Examples) -> None:
        """Keep some rows."""
        self.file.seek(0, os.SEEK_END)
        sparse = isinstance(examples.rows, Sparse)
        for array in (np.array(sparse), *examples.rows, examples.y):
            np.save(self.file, array, allow_pickle=False)
        self.blocks += 1
        self.rows += len(examples.y)

    def error(self, keeper: Keeper, weights: Weights) -> float:
        """Return the share of the rows that are predicted wrong."""
        if self.rows == 0:
            raise ValueError(f"validation_fraction={self.share} holds out no row")
        self.file.seek(0)
        wrong = 0
        for _ in range(self.blocks):
            sparse = bool(np.load(self.file, allow_pickle=False))
            *parts, y = (np.load(self.file, allow_pickle=False) for _ in range(4 if sparse else 2))
            rows = to_rows(parts[0]) if not sparse else Sparse(*parts)
            if len(y):
                wrong += keeper.wrong(Examples(rows, y, np.ones(len(y))), weights, self.on_plane)
        return wrong / self.rows


def mixed(blocks: Iterable[Item], seed: int, number: int) -> Iterator[Item]:
    """Yield the blocks of pass ``number`` in a random order, each drawn from the few that have been read ahead."""
    rng = np.random.default_rng((seed, number))
    pool: list[Item] = []
    for block in blocks:
        pool.append(block)
        if len(pool) > _POOL:
            yield pool.pop(int(rng.integers(len(pool))))
    while pool:
        yield pool.pop(int(rng.integers(len(pool))))


def fitted_rows(model: Any, source: Source, blocks: Iterable[Block]) -> Iterator[tuple[Any, Any]]:
    """Yield the rows of some blocks of a source with as many features as the model has, and their labels."""
    d = model.n_features_in_
    told = False
    with warnings.catch_warnings():
        # the columns are already those of the model, in its order
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        for X, y, _ in blocks:
            if sp.issparse(X) and X.shape[1] != d and source.layout is None:
                if X.shape[1] > d and not told:  # as LIBLINEAR does: what was never seen has no weight
                    warnings.warn(f"features beyond the {d} of the model are left out", UserWarning, stacklevel=2)
                    told = True
                X.resize(X.shape[0], d)
            elif source.options.format == "npy" and y is None and X.shape[1] == d + 1:
                X = np.delete(X, int(source.options.target or -1), axis=1)  # the labels are still there
            elif X.shape[1] != d:
                name = source.files[0].name
                hint = ""
                if X.shape[1] == d + 1 and y is None and source.names:
                    hint = f"; if one is the label, name it, such as target={source.names[-1]!r}"
                raise ValueError(f"{name}: rows have {X.shape[1]} features, the model has {d}{hint}")
            yield X, y


def ahead(items: Iterable[Item], depth: int = 2) -> Iterator[Item]:
    """Yield the items while a thread gets the next ones ready."""
    ready: queue.Queue[Any] = queue.Queue(depth)
    unwanted = threading.Event()
    end = object()

    def put(item: Any) -> None:
        while not unwanted.is_set():
            with suppress(queue.Full):
                ready.put(item, timeout=0.1)
                return

    def work() -> None:
        try:
            for item in items:
                put(item)
                if unwanted.is_set():
                    return
            put(end)
        except BaseException as error:  # raised again in the caller's thread
            put(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not end:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        unwanted.set()
        while thread.is_alive() and not in_a_hurry.is_set():
            thread.join(0.1)  # the items may be asked for again, which must not happen while the thread is at them
