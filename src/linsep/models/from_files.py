"""Trains from files, one block of rows at a time.

The driver is that of an array in memory, so for ``shuffle=False`` the weights have the same bits, at any block size.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from linsep.clock import Clock
from linsep.data.arrays import is_sparse
from linsep.data.row_numbers import Dropped
from linsep.data.scaling import Ranges
from linsep.data.source import Piece, Source, left_out
from linsep.errors import DataError, DataNote, ParameterError
from linsep.learn import driver
from linsep.learn.checkpoints import Checkpoint, Saved
from linsep.learn.driver import Fitted
from linsep.learn.parameters import Parameters
from linsep.learn.passes import LONGEST_TRACE, Hooks, State, TrainingLog, Watch
from linsep.learn.problems import BatchEncoder, automatic_scale, class_counts, known_problem, scaler_of, source_problem
from linsep.learn.weights import Weights
from linsep.models.learner import spread
from linsep.models.online import Online
from linsep.models.progress import advice_after
from linsep.problem import Array, Problem


def fit_source(
    model: Online,
    source: Source,
    *,
    scale: Literal["none", "unit", "standard", "auto"] = "none",
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 30.0,
    resume: bool = False,
    evaluate: bool = True,
    watch: Watch | None = None,
    clock: Clock | None = None,
    cache: str | None = None,
) -> Online:
    r"""Train a perceptron, or another online classifier, from files of any size in bounded memory.

    With ``shuffle=False`` the result is that of ``model.fit(*source.to_arrays())`` to the bit. With ``shuffle=True``
    the rows are shuffled in windows of 65,536 rows (fewer where these hold more than 8 million numbers), one after the
    other: the order depends on the seed, the pass and the rows alone, not on the format of the files or on how they
    are read, and for rows that fit in one window it is that of ``fit``.

    Parameters
    ----------
    model : Perceptron or PassiveAggressive
        Its parameters say how to train; it is fitted in place. With ``keep="best"`` the files are read once more after
        every pass that made a mistake; ``keep="vote"`` holds every row that erred in memory.
    source : Source
        The return value of `read`.
    scale : {"none", "unit", "standard", "auto"}
        Train on the rows divided by the largest norm, or with mean and deviation of every column taken out (columns of
        words, and those of LIBSVM text, keep their mean; without an offset all do; words of texts stay as they are).
        ``"auto"`` is ``"standard"``, with a note, if the largest number is more than 10 times the range of some column
        (of more than 10 columns: of a tenth of them), otherwise ``"none"``; so it is with ``target_margin``, and where
        the files are read only once. Weights, radius and margin are returned in the units of the file.
    checkpoint : path, optional
        File to save progress to, every ``every`` seconds and at the end, so that an interrupted run can resume.
    every : float
        Seconds between two checkpoints.
    resume : bool
        Continue from the checkpoint, if there is one; the result is that of a run without interruption. ``max_iter``
        may be larger than before, to give a run more passes.
    evaluate : bool
        Read the files once more after a run that did not end with a clean pass, for radius, margin and training
        errors; otherwise these stay unknown, and no warning tells that a budget ended the run.
    watch : callable, optional
        Called with the progress: pass, rows visited in it, mistakes so far, loss of the pass.
    clock : Clock, optional
        May end the run: it is checked after every piece of work.
    cache : str, optional
        Where rows are kept for later passes, by default as `read` was told: ``"auto"``, ``"none"`` or a folder.

    Returns
    -------
    model : the same
        With ``scaling_`` beside the usual attributes if rows were scaled: how they were for training. ``reading_``
        records how to read other files in the same way. A trace of more than 16 million mistakes is not kept. If a
        budget or a proof ended the run, a ``ConvergenceWarning`` says in one line what to do next, as that of ``fit``.

    Examples
    --------
    >>> import io
    >>> from linsep import Perceptron, fit_source, read
    >>> source = read(io.BytesIO(b"1 1:2 2:1\n-1 1:1 2:2\n"), format="libsvm")
    >>> fit_source(Perceptron(), source).stop_reason_
    'separated'
    """
    check_scale(model, scale)
    saved = None
    if checkpoint is not None:
        saved = Checkpoint(checkpoint, every, {**about(model), "data": source.fingerprint(), "scale": scale})
    resumed = saved.load() if saved is not None and resume else None

    cache = source.options.cache if cache is None else cache
    once = model.max_iter == 1 and not evaluate and scale in ("none", "auto") and cache in ("auto", "none")
    with source.caching("none" if once else cache, clock=clock), overflow_explained():
        parameters = model.run_parameters(model.draw_seed() if resumed is None else resumed.seed)
        scaling: str = scale
        if scaling == "auto":
            fixed = once or model.target_margin is not None
            scaling = "none" if fixed else automatic_scale(source, Ranges.of(source))
        if resumed is None:
            start = model.last_weights() if model.warm_start and hasattr(model, "coef_") else None
            size = 0.0 if start is None else start.norm
            problem = source_problem(source, parameters, scaling, size, all_labels=not once)
            state = _begin(model, problem, start)
        else:
            problem, state = _resumed(source, parameters, scaling, resumed, str(checkpoint)), resumed.state

        def keep(state: State, ended: bool) -> None:
            if saved is not None and (ended or saved.due()):
                saved.keep(problem, parameters.seed, state)

        hooks = Hooks(watch, clock, keep, model.prover(parameters), evaluate)
        adopted(model, source, driver.fit(problem, parameters, state, hooks))
    model.advise(advice_after(model))
    return model


def check_scale(model: Online, scale: str) -> None:
    """Refuse parameters that files cannot be learned with."""
    model.check_parameters()
    if model.order not in (None, "cyclic", "shuffled") if isinstance(model.order, str) else model.order is not None:
        message = "{0} visits rows out of their order: it needs an array, not files"
        raise DataError("", message, ("order", model.order if isinstance(model.order, str) else ...))
    if scale not in ("none", "unit", "standard", "auto"):
        raise ParameterError("scale", scale, "'none', 'unit', 'standard' or 'auto'")


def about(model: Online) -> dict[str, Any]:
    """Return what says whether two runs are the same, as far as the model goes."""
    return {name: value for name, value in model.get_params().items() if name != "verbose"}


@contextmanager
def overflow_explained() -> Iterator[None]:
    """Say what to do about a number that has overflowed: readers let nothing pass that is not finite."""
    try:
        yield
    except FloatingPointError as error:
        raise DataError("", f"{error}: scale the rows ({{0}})", ("scale", "unit")) from None


def adopted(model: Online, source: Source, fitted: Fitted) -> Online:
    """Return the model with what a run over a source has learned."""
    model.n_features_in_ = fitted.weights.n_features
    model.adopt(fitted)
    model.missing_rows_ = np.asarray(source.dropped.numbers, dtype=np.int64)
    model.remember(source)
    return model


def _begin(model: Online, problem: Problem, start: Weights | None) -> State:
    """Return the beginning of a run: from weights 0, or from those there are."""
    tracker, log = model.new_tracker(), TrainingLog(longest_trace=LONGEST_TRACE)
    if start is None:
        return State(Weights.zero(problem.machines), tracker, log)
    if not np.array_equal(model.classes_, problem.classes):
        raise DataError("", "{0} needs the same classes and number of features as the previous fit", ("warm_start",))
    if problem.scaling is not None:
        start = start.scaled(problem.scaling)
    return State.begin(start.copy(), tracker, log=log)


def _resumed(source: Source, parameters: Parameters, scale: str, saved: Saved, name: str) -> Problem:
    labels = class_counts(source.blocks(), radius=False).labels
    if not set(labels) <= set(saved.classes.tolist()):
        raise DataError(name, "damaged checkpoint file: the data have labels that are not among its classes")
    encoder = BatchEncoder(saved.classes, saved.factors, parameters, scaler_of(source, parameters, scale))
    return known_problem(source, encoder, saved.allowed)


def answers(
    model: Any, source: Source, pieces: Iterable[Piece], methods: tuple[str, ...]
) -> Iterator[tuple[tuple[Array, ...], Dropped]]:
    """Yield what methods of a model say of the rows of each piece, and which rows cannot be read.

    These have None for a label, and NaN for a number.
    """
    for X, _, kept in fitted_rows(model, source, pieces):
        some = X if X.shape[0] else np.zeros((1, model.n_features_in_))  # an answer about nothing has its shape, too
        results = [getattr(model, method)(some)[: X.shape[0]] for method in methods]
        if kept is not None:
            results = [spread(each, kept, method == "predict") for each, method in zip(results, methods, strict=True)]
        yield tuple(results), left_out(X.shape[0], kept)


def unanswered(source: Source, dropped: Dropped) -> DataNote:
    """Return the note that some rows of a source get no label; it names the first of them."""
    row = int(dropped.numbers[0])
    return DataNote(source.place(row), f"this is the first row without an answer; there is none for {dropped.words()}")


def fitted_rows(model: Any, source: Source, blocks: Iterable[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the rows of some blocks, or pieces, of a source with as many features as the model has."""
    d = model.n_features_in_
    warned = False
    with warnings.catch_warnings():
        # the columns are already those of the model, in its order
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        for X, y, last in blocks:
            if is_sparse(X) and X.shape[1] != d and source.layout is None:
                if X.shape[1] > d and not warned:  # as LIBLINEAR does: what was never seen has no weight
                    warnings.warn(
                        f"the rows have more features than the model: linsep ignores all beyond the first {d}",
                        UserWarning,
                        stacklevel=2,
                    )
                    warned = True
                X.resize(X.shape[0], d)
            elif source.options.format == "npy" and y is None and X.shape[1] == d + 1:
                X = np.delete(X, int(source.options.target or -1), axis=1)  # the labels are still there
            elif X.shape[1] != d:
                message, settings = f"the rows have {X.shape[1]} features, but the model has {d}", []
                if X.shape[1] == d + 1 and y is None and source.names:
                    message += "; if one is the label, name it, such as {0}"
                    settings = [("target", source.names[-1])]
                raise DataError(source.files[0].name, message, *settings)
            yield X, y, last
