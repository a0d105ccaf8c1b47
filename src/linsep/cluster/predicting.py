"""Predictions and errors of a fitted model on a cluster, in the order of the rows."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any

from distributed import Client

from linsep.cluster.shards import Shard
from linsep.cluster.workers import ShardPool, repeat
from linsep.data.row_numbers import Dropped
from linsep.data.source import Source
from linsep.errors import ParameterError
from linsep.models.from_files import answers, fitted_rows, unanswered
from linsep.problem import Array

METHODS = ("predict", "decision_function", "distance")


def predict(
    model: Any, source: Source, client: Client, *, methods: tuple[str, ...] = ("predict",), shard_bytes: int = 1 << 26
) -> Iterator[tuple[Array, ...]]:
    """Predict the label of every row on a cluster.

    Parameters
    ----------
    model : fitted linear classifier
    source : Source
        Of files that all workers can open under the same paths, read as the model's own were.
    client : distributed.Client
    methods : tuple of {"predict", "decision_function", "distance"}
        What to ask of the model.
    shard_bytes : int
        How much a worker takes at a time; it does not change the result.

    Yields
    ------
    results : tuple of ndarray
        What each method says of the rows of a shard, in the order of the rows; None or NaN of a row that lacks a value.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from linsep import Perceptron, cluster, read, teacher
    >>> X, y, _ = teacher(300, 2, margin=0.1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder, cluster.connect("local", workers=1) as client:
    ...     np.save(f"{folder}/data.npy", np.column_stack((X, y)))
    ...     model = Perceptron().fit(X, y)
    ...     parts = [labels for (labels,) in cluster.predict(model, read(f"{folder}/*.npy"), client)]
    >>> bool((np.concatenate(parts) == y).all())
    True
    """
    for method in methods:
        if method not in METHODS:
            raise ParameterError("methods", method, f"among {', '.join(METHODS)}")
    pool, rows = ShardPool(client, source, shard_bytes), 0
    dropped: list[Dropped] = []
    for blocks, notes, left in pool.ask_once(predicted, (model, methods)):
        repeat(notes)
        yield from blocks
        dropped.append(left)
        rows += sum(len(first) for first, *_ in blocks)
    if rows == 0:
        raise pool.no_rows()
    source.dropped = Dropped.joined(dropped)
    if len(source.dropped):
        warnings.warn(unanswered(source, source.dropped), stacklevel=2)


def confusion(model: Any, source: Source, client: Client, *, shard_bytes: int = 1 << 26) -> Counter[tuple[Any, Any]]:
    """Count on a cluster how often each true label met each predicted one: return a Counter of these pairs.

    The parameters are those of `predict`; the source has labels.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from linsep import Perceptron, cluster, read, teacher
    >>> X, y, _ = teacher(300, 2, margin=0.1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder, cluster.connect("local", workers=1) as client:
    ...     np.save(f"{folder}/data.npy", np.column_stack((X, y)))
    ...     pairs = cluster.confusion(Perceptron().fit(X, y), read(f"{folder}/*.npy"), client)
    >>> sum(pairs.values())
    300
    """
    pairs: Counter[tuple[Any, Any]] = Counter()
    pool = ShardPool(client, source, shard_bytes)
    dropped: list[Dropped] = []
    for counted, notes, left in pool.ask_once(confused, model):
        repeat(notes)
        pairs.update(counted)
        dropped.append(left)
    source.take_dropped(dropped)
    if not pairs:
        raise pool.no_rows()
    return pairs


def score(model: Any, source: Source, client: Client, *, shard_bytes: int = 1 << 26) -> float:
    """Return the share of rows that are predicted right: the share on the diagonal of `confusion`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from linsep import Perceptron, cluster, read, teacher
    >>> X, y, _ = teacher(300, 2, margin=0.1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder, cluster.connect("local", workers=1) as client:
    ...     np.save(f"{folder}/data.npy", np.column_stack((X, y)))
    ...     accuracy = cluster.score(Perceptron().fit(X, y), read(f"{folder}/*.npy"), client)
    >>> accuracy
    1.0
    """
    pairs = confusion(model, source, client, shard_bytes=shard_bytes)
    return sum(number for (true, found), number in pairs.items() if true == found) / sum(pairs.values())


def predicted(shard: Shard, task: tuple[Source, tuple[Any, tuple[str, ...]]]) -> tuple[list[Any], list[str], Dropped]:
    """Ask the model about the rows of a shard, block by block; return also the warnings and the dropped rows."""
    source, (model, methods) = copy(task[0]), task[1]
    with warnings.catch_warnings(record=True) as notes:
        results = list(answers(model, source, shard.pieces_of(source), methods))
    dropped = replace(Dropped.joined(left for _, left in results), cells=source.missing_cells())
    return [blocks for blocks, _ in results], [str(note.message) for note in notes], dropped


def confused(shard: Shard, task: tuple[Source, Any]) -> tuple[Counter[tuple[Any, Any]], list[str], Dropped]:
    """Count the pairs of true and predicted labels of a shard; return also the warnings and the dropped rows."""
    source, model = copy(task[0]), task[1]
    pairs: Counter[tuple[Any, Any]] = Counter()
    with warnings.catch_warnings(record=True) as notes:
        for X, y, _ in fitted_rows(model, source, shard.read(source)):
            pairs.update(zip(y.tolist(), model.predict(X).tolist(), strict=True))
    return pairs, [str(note.message) for note in notes], source.dropped
