"""Converts rows to float64 arrays and SciPy matrices; ``matrices.to_rows`` goes the other way."""

from __future__ import annotations

from typing import Any

import numpy as np

from linsep.problem import Array, Dense, Floats, Rows, take


def to_floats(rows: Rows, which: Array, n_features: int) -> Floats:
    """Return some rows as float64 with all their columns."""
    part = take(rows, which)
    if isinstance(part, Dense):
        return part.data.astype(np.float64)
    x = np.zeros((len(which), n_features))
    x[np.repeat(np.arange(len(which)), np.diff(part.indptr).astype(np.intp)), part.indices] = part.data
    return x


def to_scipy(rows: Rows, n_features: int) -> Any:
    """Return rows as a sparse matrix of float64."""
    import scipy.sparse as sp

    if isinstance(rows, Dense):
        return sp.csr_array(rows.data.astype(np.float64))
    index = np.int64 if max(rows.indices.dtype.itemsize, rows.indptr.dtype.itemsize) == 8 else np.int32
    arrays = (rows.data.astype(np.float64), rows.indices.astype(index), rows.indptr.astype(index))
    return sp.csr_array(arrays, shape=(len(rows.indptr) - 1, n_features))
