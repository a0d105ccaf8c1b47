"""SciPy's sparse matrices, loaded only where there are any."""

from __future__ import annotations

import sys
from typing import Any

from linsep.problem import Array


def is_sparse(X: Any) -> bool:
    """Say whether ``X`` is one of SciPy's sparse matrices, without loading SciPy to find out."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def csr_array(parts: tuple[Array, Array, Array], shape: tuple[int, int], *, canonical: bool = False) -> Any:
    """Return a CSR array of values, column numbers and row pointers; ``canonical`` says that columns are in order."""
    import scipy.sparse as sp  # slow to import, and not needed for dense rows

    X = sp.csr_array(parts, shape=shape)
    if canonical:
        X.has_canonical_format = True
    return X
