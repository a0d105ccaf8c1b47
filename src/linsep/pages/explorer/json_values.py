"""Converts arrays to JSON values."""

from __future__ import annotations

from typing import Any

import numpy as np


def plain(values: Any) -> Any:
    """Return numbers as JSON has them: what is not finite is null."""
    array = np.asarray(values)
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return array.tolist()
    numbers = array.astype(object)
    numbers[~np.isfinite(array)] = None
    return numbers.tolist()
