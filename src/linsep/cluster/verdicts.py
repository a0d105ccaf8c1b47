"""Verdicts on data on a cluster: the search runs here on a few rows, and every shard checks its answer."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from distributed import Client

from linsep.clock import Clock
from linsep.cluster.shard_passes import first_rows, summaries
from linsep.cluster.workers import LoadedShard, ShardPool
from linsep.data.arrays import to_floats, to_rows
from linsep.data.labels import class_codes, one_class_only
from linsep.data.source import Source
from linsep.learn.problems import classes_among
from linsep.problem import Array, Rows
from linsep.prove.claims import UNKNOWN, Decision
from linsep.prove.verdict.decide import decide as search
from linsep.prove.verdict.parts import Part, Parts, joined
from linsep.prove.verdict.working_set import Settled, Watch, settle
from linsep.prove.verdict.working_set import first_rows as working_rows
from linsep.prove.verdicts import Verdict


def as_part(shard: LoadedShard, numbers: tuple[int, int], form: tuple[Array, np.dtype[Any], int]) -> Part:
    """Return a shard as a part of all rows: with its first row and digest, and the classes, dtype and width of all."""
    (first_row, digest), (classes, dtype, n_features) = numbers, form
    shard.check(digest)
    y = [class_codes(block.y, classes) for block in shard.blocks if block.y is not None]
    parts: list[Rows] = []
    for X, *_ in shard.blocks:
        if hasattr(X, "indptr"):
            X.resize(X.shape[0], n_features)
        parts.append(to_rows(X.astype(dtype, copy=False)))
    return Part(first_row, joined(parts), np.concatenate(y).astype(np.intp), n_features)


def separate(
    source: Source,
    client: Client,
    *,
    fit_intercept: bool = True,
    time_limit: float | None = None,
    shard_bytes: int = 1 << 26,
    watch: Watch | None = None,
) -> Verdict:
    """Decide on a cluster whether some plane separates the classes, and prove it.

    The verdict is that of `linsep.separate` on all rows at once. Its proof is exact and has been checked against every
    row, each where it lies; a refutation names rows by their numbers in the whole source.

    Parameters
    ----------
    source : Source
        Of files that all workers can open under the same paths.
    client : distributed.Client
    fit_intercept : bool, default=True
        Whether planes may have an offset, or go through the origin.
    time_limit : float, default=None
        Seconds after which to give up with the verdict "unknown"; looked at between questions to the workers.
    shard_bytes : int
        How much a worker holds in one piece. Another proof may come out with another value, but no other verdict.
    watch : callable, optional
        Told of every round: its number, how many rows are being searched, and how many of all rows the last proof left
        uncovered.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from linsep import cluster, read, teacher
    >>> X, y, _ = teacher(300, 2, margin=0.1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder, cluster.connect("local", workers=1) as client:
    ...     np.save(f"{folder}/data.npy", np.column_stack((X, y)))
    ...     verdict = cluster.separate(read(f"{folder}/*.npy"), client)
    >>> verdict.kind, verdict.check(X, y)
    ('separable', True)
    """
    decision = decide(source, client, fit_intercept, Clock(time_limit), shard_bytes, watch)
    return Verdict.of(decision.verdict.in_source(source.dropped))


def decide(
    source: Source, client: Client, fit_intercept: bool, clock: Clock, shard_bytes: int, watch: Watch | None = None
) -> Decision:
    """Decide on a cluster whether some plane separates the classes; see `separate`."""
    pool = ShardPool(client, source, shard_bytes)
    shards = summaries(pool, source)
    classes = classes_among({label for one in shards for label in one.labels})
    if len(classes) < 2:
        raise one_class_only(classes)
    dtype = np.result_type(*(one.dtype for one in shards if one.rows))
    pool.keep([one.rows > 0 for one in shards])
    numbers = [(row, one.digest) for row, one in zip(first_rows(shards), shards, strict=True) if one.rows]
    ready = pool.then(as_part, numbers, (classes, dtype, source.n_features))
    parts, names = Parts(ready.ask, len(classes), fit_intercept), tuple(classes.tolist())
    settled = settle(parts, lambda _, data: search(data, names, clock), Clock(), *working_rows(parts), watch=watch)
    assert settled is not None
    return _decision(settled, classes, sum(one.rows for one in shards))


def _decision(settled: Settled, classes: Array, rows: int) -> Decision:
    verdict, data = settled.found, settled.data
    if verdict.kind == UNKNOWN:
        verdict = replace(verdict, bracket=(-math.inf, verdict.bracket[1]))
    if verdict.refutation is None:
        return Decision(verdict, rows, {}, {})
    which, named = verdict.refutation.rows, settled.refutation()
    cells = dict(zip(named.rows.tolist(), to_floats(data.rows, which, data.n_features), strict=True))
    labels = dict(zip(named.rows.tolist(), classes[data.y[which]].tolist(), strict=True))
    return Decision(replace(verdict, refutation=named), rows, cells, labels)
