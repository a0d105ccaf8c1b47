"""Recognizes and builds SciPy's sparse matrices, and imports SciPy only when there are any."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from linsep.problem import Array, Dense, Rows


class Csr:
    """Sparse rows whose columns are in order, as SciPy's CSR arrays have them.

    Readers make these, and training needs no more than their parts: SciPy is loaded when something else is asked.

    Examples
    --------
    >>> import numpy as np
    >>> from linsep.data.sparse import Csr
    >>> X = Csr((np.array([3.0, 4.0]), np.array([0, 1]), np.array([0, 1, 2])), (2, 2))
    >>> X.shape, X.tocsr().toarray().tolist()
    ((2, 2), [[3.0, 0.0], [0.0, 4.0]])
    """

    format, ndim = "csr", 2
    has_canonical_format = True

    def __init__(self, parts: tuple[Array, Array, Array], shape: tuple[int, int]) -> None:
        self.data, self.indices, self.indptr = parts
        self.shape = shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.data.dtype

    @property
    def size(self) -> int:
        """How many values are stored."""
        return len(self.data)

    def resize(self, rows: int, columns: int) -> None:
        """Make the rows wider, or leave out columns beyond a number."""
        if rows != self.shape[0] or columns < self.shape[1]:
            X = self.tocsr()
            X.resize(rows, columns)
            self.data, self.indices, self.indptr = X.data, X.indices, X.indptr
        self.shape = (rows, columns)

    def tocsr(self) -> Any:
        """Return SciPy's array; the parts, which nobody need check, stay where they are: SciPy would copy views."""
        import scipy.sparse as sp  # slow to import

        X = sp.csr_array(self.shape)
        X.data, X.indices, X.indptr = self.data, self.indices, self.indptr
        X.has_canonical_format = True
        return X

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.tocsr(), name)

    def __getitem__(self, place: Any) -> Any:
        return self.tocsr()[place]

    def __matmul__(self, other: Any) -> Any:
        return self.tocsr() @ other

    def __array__(self, *_: Any, **__: Any) -> Array:
        raise TypeError("sparse rows are no array: tocsr() makes them SciPy's")  # NumPy would make an object of them


_KINDS: dict[type, bool] = {Csr: True}  # the answers so far: SciPy takes a while to find them


def is_sparse(X: Any) -> bool:
    """Say whether ``X`` is one of SciPy's sparse matrices, or ours, without loading SciPy to find out."""
    kind = type(X)
    if kind is np.ndarray:
        return False
    found = _KINDS.get(kind)
    if found is None:
        sparse = sys.modules.get("scipy.sparse")
        _KINDS[kind] = found = sparse is not None and bool(sparse.issparse(X))
    return found


def csr_array(parts: tuple[Array, Array, Array], shape: tuple[int, int]) -> Any:
    """Return SciPy's CSR array of values, column numbers and row pointers."""
    import scipy.sparse as sp  # slow to import, and not needed for dense rows

    return sp.csr_array(parts, shape=shape)


def stack(matrices: list[Any], n_features: int) -> Csr:
    """Return the rows of CSR arrays with columns in order as one array with ``n_features`` features."""
    data, indices = (np.concatenate([getattr(X, part) for X in matrices]) for part in ("data", "indices"))
    lengths = np.concatenate([np.diff(X.indptr) for X in matrices])
    indptr = np.zeros(len(lengths) + 1, np.int32 if len(data) < 2**31 else np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return Csr((data, indices, indptr), (len(lengths), n_features))


def to_scipy(rows: Rows, n_features: int) -> Any:
    """Return rows as an array, or as a CSR array of SciPy's, without a copy."""
    if isinstance(rows, Dense):
        return rows.data
    signed = np.dtype(f"i{rows.indices.dtype.itemsize}")
    parts = (rows.data, rows.indices.view(signed), rows.indptr.view(signed))
    return csr_array(parts, (len(rows.indptr) - 1, n_features))
