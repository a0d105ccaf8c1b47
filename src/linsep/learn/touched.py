"""Restricts a wide model to the columns that some sparse rows use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from linsep.problem import Array, Problem, Rows, Sparse, Weights

_FEW = 4  # stored numbers are few if there are so many times as many columns


def few_columns(rows: Any, n_features: int) -> Array | None:
    """Return the columns of sparse rows or a CSR matrix, some of them repeatedly, if they are few; None if not."""
    if hasattr(rows, "indptr"):
        stored: Array = rows.indices[: rows.indptr[-1]]
        if _FEW * len(stored) < n_features:
            return stored
    return None


def renumbered(rows: Rows) -> Sparse:
    """Return sparse rows whose stored numbers are in columns of their own, in the order in which they are stored."""
    assert isinstance(rows, Sparse)
    end = rows.indptr[-1]
    return Sparse(rows.data[:end], np.arange(end, dtype=rows.indices.dtype), rows.indptr)


def touched(problem: Problem, n_features: int) -> Array | None:
    """Return the columns of the rows of a problem, if they are few and in memory; None if not."""
    batches = problem.batches
    if not isinstance(batches, list) or len(batches) != 1:
        return None
    return few_columns(batches[0].examples.rows, n_features)


def finite(weights: Weights, problem: Problem) -> bool:
    """Say whether no weight has overflowed in a run that began with finite ones."""
    columns = touched(problem, weights.W.shape[1])
    if columns is None:
        return weights.finite
    return Weights(weights.W.take(columns, axis=1), weights.b).finite


class AllOrNothing:
    """Lets weights of some columns change; after an error they are as they were."""

    def __init__(self, several: Iterable[Weights], columns: Array) -> None:
        self.columns = columns
        self.before = [(weights, weights.W.take(columns, axis=1), weights.b.copy()) for weights in several]

    def __enter__(self) -> None:
        pass

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            for weights, old, offsets in self.before:
                weights.W[:, self.columns], weights.b[:] = old, offsets
