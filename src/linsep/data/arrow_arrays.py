"""Converts Arrow arrays to NumPy and back, without loading pandas or a compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from linsep.problem import Array

if TYPE_CHECKING:
    import pyarrow as pa


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


def rounded_length(values: Array) -> int:
    """Return how long the texts of numbers may count: tiny ones are rounded, even if they have few characters."""
    return 1000 if (np.abs(values) < 1e-290).any() else 0


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
