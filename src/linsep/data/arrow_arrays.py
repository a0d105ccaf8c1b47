"""Arrow arrays to NumPy arrays: pyarrow's own way loads pandas wherever it is installed, which takes half a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linsep.problem import Array

if TYPE_CHECKING:
    import pyarrow as pa


def numpy_view(array: pa.Array) -> Array:
    """Return a column of numbers without gaps, not copied."""
    kind = np.dtype(array.type.to_pandas_dtype())
    data = array.buffers()[1]
    if array.null_count or kind.kind not in "iuf" or data is None:
        return np.asarray(array.to_numpy(zero_copy_only=False))
    return np.frombuffer(data, dtype=kind, count=len(array), offset=array.offset * kind.itemsize)
