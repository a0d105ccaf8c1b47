"""Converts arrays, SciPy matrices and columns of Arrow to each other and to rows.

Nothing here reads a large matrix from end to end: values are checked for NaN and infinity when their rows are visited.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from linsep.errors import DataError
from linsep.problem import Array, Dense, Floats, Rows, Sparse, take

if TYPE_CHECKING:
    import pyarrow as pa

# ---------------------------------------------------------------------------------------------------------------
# Sparse matrices; SciPy is imported only when there are any


_KINDS: dict[type, bool] = {}  # the answers so far: SciPy takes a while to find them


def is_sparse(X: Any) -> bool:
    """Say whether ``X`` is one of SciPy's sparse matrices, without loading SciPy to find out."""
    kind = type(X)
    if kind is np.ndarray:
        return False
    known = _KINDS.get(kind)
    if known is None:
        sparse = sys.modules.get("scipy.sparse")
        _KINDS[kind] = known = sparse is not None and bool(sparse.issparse(X))
    return known


def csr_array(parts: tuple[Array, Array, Array], shape: tuple[int, int]) -> Any:
    """Return SciPy's CSR array of values, column numbers and row pointers."""
    import scipy.sparse as sp  # slow to import, and not needed for dense rows

    return sp.csr_array(parts, shape=shape)


def sorted_csr(parts: tuple[Array, Array, Array], shape: tuple[int, int]) -> Any:
    """Return SciPy's CSR array of parts with columns in order; nothing is checked, and views are not copied."""
    import scipy.sparse as sp

    X = sp.csr_array(shape)
    X.data, X.indices, X.indptr = parts
    X.has_canonical_format = True
    return X


def count_matrix(rows: Array, columns: Array, shape: tuple[int, int]) -> Any:
    """Return a CSR array that counts how often each row and column occur together."""
    import scipy.sparse as sp

    return sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()


def stack(matrices: list[Any], n_features: int) -> Any:
    """Return the rows of CSR arrays with columns in order as one array with ``n_features`` features."""
    data, indices = (np.concatenate([getattr(X, part) for X in matrices]) for part in ("data", "indices"))
    lengths = np.concatenate([np.diff(X.indptr) for X in matrices])
    indptr = np.zeros(len(lengths) + 1, np.int32 if len(data) < 2**31 else np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return sorted_csr((data, indices, indptr), (len(lengths), n_features))


def as_scipy(rows: Rows, n_features: int) -> Any:
    """Return rows as an array, or as a CSR array of SciPy's, without a copy."""
    if isinstance(rows, Dense):
        return rows.data
    signed = np.dtype(f"i{rows.indices.dtype.itemsize}")
    parts = (rows.data, rows.indices.view(signed), rows.indptr.view(signed))
    return csr_array(parts, (len(rows.indptr) - 1, n_features))


# ---------------------------------------------------------------------------------------------------------------
# Matrices as rows


_READ_AS_IS = ("?", "b", "h", "i", "l", "q", "B", "H", "I", "L", "Q", "f", "d")
_SMALLER = {"e": np.float32, "g": np.float64}  # for 16 bits, and for more than 64
_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}  # by the bytes of an index


class CellTypeError(DataError, TypeError):
    """A cell of a type that no number can be made of; a TypeError, too, as scikit-learn's contract has it."""


def check_cells(X: Any) -> None:
    """Refuse what is no matrix of real numbers, as far as it shows without a look at every cell."""
    _refuse_kinds(X)
    if isinstance(X, list | tuple) and X and all(isinstance(row, list | tuple) for row in X):
        for i, row in enumerate(X):
            if len(row) != len(X[0]):
                raise DataError("", f"row {i} of X has {len(row)} values, row 0 has {len(X[0])}")


def _refuse_kinds(X: Any) -> None:
    """Refuse arrays that are no matrices of real numbers, whatever is in their cells."""
    if isinstance(X, str | bytes) or X is None:
        raise DataError("", f"X must be a matrix, rows and columns, got {type(X).__name__}")
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise DataError("", "X is a masked array, in which some cells have no value: fill them first")
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind == "c":
        raise DataError("", "Complex data not supported: X must be real numbers")
    if kind in ("M", "m"):
        raise DataError("", "X holds dates or times: turn them into numbers first, such as days")


def check_shape(shape: tuple[int, ...]) -> None:
    """Refuse what is not at least one row of at least one column."""
    if len(shape) != 2:
        raise DataError("", f"X must have two dimensions, rows and columns, got shape {shape}")
    if shape[0] == 0:
        raise DataError("", f"X has no rows: 0 sample(s) in shape {shape}, at least 1 is needed")
    if shape[1] == 0:
        raise DataError("", f"X has no columns: 0 feature(s) in shape {shape}, at least 1 is needed")


def to_rows(X: Any) -> Rows:
    """Return a real array or CSR matrix as rows, without a copy wherever its storage allows."""
    if is_sparse(X):
        unsigned = _UNSIGNED[X.indices.dtype.itemsize]
        rows = Sparse(*map(_read_only, (X.data, X.indices.view(unsigned), X.indptr.view(unsigned))))
        if X.has_canonical_format:
            return rows
        from linsep.data.repeated_cells import names_twice  # which loads the compiler

        if not names_twice(rows, X.shape[1]):
            return rows  # the order of the columns within a row does not matter
        X = X.copy()
        X.sum_duplicates()
        return to_rows(X)
    return Dense(_read_only(X))


def _read_only(values: Array) -> Array:
    """Return a read-only view in a dtype that compiled code takes: one compiled version serves all callers."""
    kind = values.dtype.char
    if kind == "?":
        values = values.view(np.uint8)
    elif kind in _SMALLER:
        values = values.astype(_SMALLER[kind])
    elif not (values.dtype.isnative and values.flags.aligned):
        values = np.require(values, values.dtype.newbyteorder("="), "A")
    view = values.view()
    view.flags.writeable = False
    return view


def numeric(X: Any, names: Any = None) -> Any:
    """Return ``X`` unless some cell is not a real number; object cells that are numbers become float64."""
    if is_sparse(X):
        X.data = numeric(X.data, names)
        return X
    if X.dtype.char in _READ_AS_IS or X.dtype.char in _SMALLER:
        return X
    _refuse_kinds(X)
    try:
        return X.astype(np.float64)
    except (ValueError, TypeError, OverflowError):
        for place in np.ndindex(X.shape):
            try:
                float(X[place])
            except (ValueError, TypeError, OverflowError) as error:
                column = place[-1] if names is None else repr(str(names[place[-1]]))
                cell = X[place].item() if isinstance(X[place], np.generic) else X[place]
                where = f"at row {place[0]}, column {column}" if X.ndim == 2 else "among its values"
                message = f"X has a cell that is not a number: {cell!r} {where}"
                raise (
                    CellTypeError("", f"{message} ({error})")
                    if isinstance(error, TypeError)
                    else DataError("", message)
                ) from None
        raise


def refuse_not_finite(X: Any, W: Floats, names: Any = None) -> NoReturn:
    """Say what kept a score from being finite: a value of ``X``, or weights that have overflowed."""
    for start in range(0, X.shape[0], 4096):
        block = X[start : start + 4096]
        block = block.tocoo() if is_sparse(block) else block
        values = block.data if is_sparse(block) else block
        bad = np.argwhere(~np.isfinite(values)) if values.dtype.kind == "f" else np.empty((0, 2))
        if len(bad):
            place = bad[0] if values.ndim == 2 else (block.coords[0][bad[0, 0]], block.coords[1][bad[0, 0]])
            value = values[tuple(bad[0])]
            message = "NaN" if np.isnan(value) else "infinity"
            column = int(place[1]) if names is None else repr(str(names[place[1]]))
            raise DataError("", f"Input X contains {message} at row {start + int(place[0])}, column {column}")
    if np.isfinite(W).all():
        message = "a score overflowed to infinity: the values of X are too large for the weights; scale X down"
        raise DataError("", message)
    raise DataError("", "the weights overflowed to infinity: scale X down")


# ---------------------------------------------------------------------------------------------------------------
# Rows as floats


def to_floats(rows: Rows, which: Array, n_features: int) -> Floats:
    """Return some rows as float64 with all their columns."""
    part = take(rows, which)
    if isinstance(part, Dense):
        return part.data.astype(np.float64)
    x = np.zeros((len(which), n_features))
    x[np.repeat(np.arange(len(which)), np.diff(part.indptr).astype(np.intp)), part.indices] = part.data
    return x


def to_scipy(rows: Rows, n_features: int) -> Any:
    """Return rows as a sparse matrix of float64, without a copy wherever their storage allows."""
    import scipy.sparse as sp

    if isinstance(rows, Dense):
        return sp.csr_array(rows.data.astype(np.float64))
    index = np.int64 if max(rows.indices.dtype.itemsize, rows.indptr.dtype.itemsize) == 8 else np.int32
    wide = np.dtype(index).itemsize
    places = (part.view(index) if part.dtype.itemsize == wide else part.astype(index) for part in rows[1:])
    arrays = (rows.data.astype(np.float64, copy=False), *places)
    return sp.csr_array(arrays, shape=(len(rows.indptr) - 1, n_features))


# ---------------------------------------------------------------------------------------------------------------
# Columns of Arrow; nothing here loads pandas, as pyarrow's own conversions do where it is installed


def arrow_numbers(values: Array) -> pa.Array:
    """Return numbers or truth values as a column, numbers not copied if they lie in order."""
    import pyarrow as pa

    values = np.ascontiguousarray(values)
    if values.dtype == bool:
        bits = np.packbits(values, bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])
    if values.dtype.kind not in "iuf" or not values.dtype.isnative:
        return pa.array(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def words(values: Sequence[str]) -> pa.Array:
    """Return words as a column."""
    import pyarrow as pa

    parts = [word.encode() for word in values]
    ends = np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype=np.int64)))
    if ends[-1] >= 2**31:  # more than a column of 32-bit offsets can hold
        return pa.array(values, pa.string())
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(pa.string(), len(parts), buffers)


def word(text: str) -> pa.Scalar:
    """Return a word as pyarrow's functions take it beside columns."""
    return words([text])[0]


def zero(kind: pa.DataType) -> pa.Scalar:
    """Return 0, or False, of a type."""
    return arrow_numbers(np.zeros(1, dtype=np.int8)).cast(kind)[0]


def decoded(column: pa.Array) -> pa.Array:
    """Return a column whose cells are not those of a dictionary."""
    import pyarrow as pa

    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def numpy_view(array: pa.Array) -> Array:
    """Return a column of numbers, not copied unless some are missing, or of truth values."""
    import pyarrow as pa

    if pa.types.is_boolean(array.type) and not array.null_count:
        return numpy_view(array.cast(pa.uint8())).astype(bool)
    kind = np.dtype(array.type.to_pandas_dtype())
    data = array.buffers()[1]
    if array.null_count or kind.kind not in "iuf" or data is None:
        return np.asarray(array.to_numpy(zero_copy_only=False))
    return np.frombuffer(data, dtype=kind, count=len(array), offset=array.offset * kind.itemsize)
