"""Finds cells that sparse rows name twice, in compiled code."""

from __future__ import annotations

import numpy as np

from linsep.compiling import compiled
from linsep.problem import Array, Sparse


def names_twice(rows: Sparse, n_features: int) -> bool:
    """Say whether a row has more than one cell in a column; the cells may be in any order."""
    if len(rows.indices) >= n_features:
        return bool(_repeats(rows, np.full(n_features, -1, np.int64)))
    ends = rows.indptr.astype(np.int64)
    start, numbers = int(ends[0]), np.repeat(np.arange(len(ends) - 1), ends[1:] - ends[:-1])
    cells = np.sort(numbers * n_features + rows.indices[start : start + len(numbers)].astype(np.int64))
    return bool((cells[1:] == cells[:-1]).any())


@compiled()
def _repeats(rows: Sparse, last: Array) -> bool:
    """Say whether a sparse row names a column twice; ``last`` has an entry for every column, -1 at first."""
    for i in range(rows.indptr.size - 1):
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            if last[rows.indices[p]] == i:
                return True
            last[rows.indices[p]] = i
    return False
