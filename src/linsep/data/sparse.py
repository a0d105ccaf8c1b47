"""Recognizes and builds SciPy's sparse matrices, and imports SciPy only when there are any."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from linsep.problem import Array, Dense, Rows

_KINDS: dict[type, bool] = {}  # the answers so far: SciPy takes a while to find them


def is_sparse(X: Any) -> bool:
    """Say whether ``X`` is one of SciPy's sparse matrices, without loading SciPy to find out."""
    kind = type(X)
    if kind is np.ndarray:
        return False
    found = _KINDS.get(kind)
    if found is None:
        sparse = sys.modules.get("scipy.sparse")
        _KINDS[kind] = found = sparse is not None and bool(sparse.issparse(X))
    return found


def csr_array(parts: tuple[Array, Array, Array], shape: tuple[int, int], *, canonical: bool = False) -> Any:
    """Return a CSR array of values, column numbers and row pointers; ``canonical`` says that columns are in order.

    Such parts, which nobody need check, stay where they are: SciPy itself copies those that are views of larger arrays.
    """
    import scipy.sparse as sp  # slow to import, and not needed for dense rows

    if not canonical:
        return sp.csr_array(parts, shape=shape)
    X = sp.csr_array(shape)
    X.data, X.indices, X.indptr = parts
    X.has_canonical_format = True
    return X


def stack(matrices: list[Any], n_features: int) -> Any:
    """Return the rows of CSR arrays with columns in order as one array with ``n_features`` features."""
    import scipy.sparse as sp

    wide = [csr_array((X.data, X.indices, X.indptr), (X.shape[0], n_features)) for X in matrices]
    X = sp.vstack(wide, format="csr")
    X.has_canonical_format = True
    return X


def to_scipy(rows: Rows, n_features: int) -> Any:
    """Return rows as an array, or as a CSR array of SciPy's, without a copy."""
    if isinstance(rows, Dense):
        return rows.data
    signed = np.dtype(f"i{rows.indices.dtype.itemsize}")
    parts = (rows.data, rows.indices.view(signed), rows.indptr.view(signed))
    return csr_array(parts, (len(rows.indptr) - 1, n_features))
