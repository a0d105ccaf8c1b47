"""Restricts a wide model to the columns that some sparse rows use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from linsep.problem import Array, Problem, Rows, Sparse, Weights

_FEW = 4  # stored numbers are few if there are so many times as many columns


def few_columns(rows: Rows, n_features: int) -> Array | None:
    """Return the columns of sparse rows, some of them repeatedly, if they are few; None if not."""
    if isinstance(rows, Sparse):
        stored = rows.indices[int(rows.indptr[0]) : int(rows.indptr[-1])]
        if _FEW * len(stored) < n_features:
            return stored
    return None


def finite(weights: Weights, problem: Problem) -> bool:
    """Say whether no weight has overflowed in a run that began with finite ones."""
    batches = problem.batches
    if isinstance(batches, list) and len(batches) == 1:
        columns = few_columns(batches[0].examples.rows, weights.W.shape[1])
        if columns is not None:
            return bool(np.isfinite(weights.W[:, columns]).all() and np.isfinite(weights.b).all())
    return weights.finite


@contextmanager
def all_or_nothing(weights: Weights, columns: Array) -> Iterator[None]:
    """Let weights of some columns change; after an error they are as they were."""
    before, offsets = weights.W[:, columns].copy(), weights.b.copy()
    try:
        yield
    except BaseException:
        weights.W[:, columns], weights.b[:] = before, offsets
        raise
