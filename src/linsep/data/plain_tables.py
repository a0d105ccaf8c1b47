"""The fast reader for plain tables of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from linsep.data.arrow_arrays import numpy_view, rounded_length
from linsep.data.compiled_parsers import LABEL as LABEL
from linsep.data.compiled_parsers import UNWANTED as UNWANTED
from linsep.data.compiled_parsers import cut, measure, walk_table
from linsep.problem import Array, Floats


def parse_table(
    text: Any, delimiter: int, places: Array, empty: Callable[..., Array] = np.empty
) -> tuple[Floats, pa.StringArray, int] | None:
    r"""Read a table of plain numbers, written as most programs write them.

    Parameters
    ----------
    text : bytes-like
        Whole lines, the last of which ends in a newline as well.
    delimiter : int
        The byte between cells.
    places : ndarray of int
        For every cell of a row the column that its number goes to, or `LABEL`, or `UNWANTED`.
    empty : callable
        Allocates the numbers, as `numpy.empty` does.

    Returns
    -------
    X, labels, longest : ndarray of shape (n, d), pyarrow.StringArray, int
        The last one is the number of characters of the longest number.
        None if something needs a closer look: quotes, a missing cell or one too many, letters beyond ASCII.

    Examples
    --------
    >>> import numpy as np
    >>> from linsep.data.plain_tables import LABEL, parse_table
    >>> X, labels, longest = parse_table(b"0.5,1,yes\n2,1e-3,no\n", ord(","), np.array([0, 1, LABEL]))
    >>> X.tolist(), labels.to_pylist(), longest
    ([[0.5, 1.0], [2.0, 0.001]], ['yes', 'no'], 4)
    """
    view = np.frombuffer(text, dtype=np.uint8)
    n, d = measure(view)[0], max(0, int(places.max()) + 1)
    X = empty(n * d).reshape(n, d)
    label, bounds = np.zeros((n, 2), np.int32), np.empty((X.size, 2), np.int32)  # where words begin and end
    late = np.empty(X.size, np.int64)
    rows, postponed, longest = walk_table(view, np.uint8(delimiter), places, X, label, late, bounds)
    if rows != n:
        return None
    if postponed:
        try:
            X.ravel()[late[:postponed]] = values = numpy_view(_strings(view, bounds[:postponed]).cast(pa.float64()))
        except pa.ArrowInvalid:
            return None
        if not np.isfinite(values).all():
            return None
        longest = max(longest, rounded_length(values))
    return X, _strings(view, label), int(longest)


def _strings(text: Array, bounds: Array) -> pa.StringArray:
    """Return the words between bounds."""
    offsets = np.zeros(len(bounds) + 1, np.int32)
    np.cumsum(bounds[:, 1] - bounds[:, 0], out=offsets[1:])
    words = np.empty(offsets[-1], np.uint8)
    cut(text, bounds, words)
    return pa.StringArray.from_buffers(len(bounds), pa.py_buffer(offsets), pa.py_buffer(words))
