"""Decimals of a text that doubles round: the nearest doubles, and the text for the few rows that need its digits.

The sign of a sum of products is known from the nearest doubles unless it is about zero, and a certificate names few
rows. Only for these the text is read again.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from linsep.problem import Array

_MOST_READINGS = 50  # of the text, for some rows each, before all of it is kept
_MOST_SHARE = 0.05  # of the rows, from which on all are kept


class LongDecimals:
    """A table of decimals: rows that are asked for are fractions, as in an array of objects.

    Parameters
    ----------
    near : ndarray of shape (n, d)
        The doubles nearest to them.
    read : callable
        Returns the exact rows of some numbers, which are sorted, as lists of fractions.
    read_all : callable
        Returns the whole table: floats, if each is the shortest decimal that reads back as it, or fractions.
    """

    dtype = np.dtype(object)

    def __init__(self, near: Array, read: Callable[[list[int]], list[Any]], read_all: Callable[[], Any]) -> None:
        self.near, self._read, self._read_all = near, read, read_all
        self.shape, self.ndim = near.shape, 2
        self._known: dict[int, Any] = {}
        self._readings = 0
        self._all: Any = None

    def __len__(self) -> int:
        return int(self.shape[0])

    def whole(self) -> Any:
        """Return all of the table, as a program would give it with ``values="decimal"``."""
        if self._all is None:
            self._all = self._read_all()
        return self._all

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, int | np.integer):
            return self[[int(which)]][0]
        numbers = np.arange(len(self))[which].tolist()
        new = sorted(set(numbers) - self._known.keys())
        self._readings += bool(new)
        if self._readings > _MOST_READINGS or len(new) > _MOST_SHARE * len(self) + 100:
            self.whole()
        if self._all is not None:
            rows = self._all[numbers]
            return rows if rows.dtype == object else _shortest(rows)
        if new:
            rows = self._read(new)
            if len(rows) != len(new) or (np.array(rows, dtype=np.float64) != self.near[new]).any():
                raise ArithmeticError("a text was not read again as before: has the file changed?")
            self._known |= zip(new, rows, strict=True)
        found = np.empty((len(numbers), self.shape[1]), dtype=object)
        for k, i in enumerate(numbers):
            found[k] = self._known[i]
        return found

    def astype(self, _: Any) -> Array:
        """Return the nearest doubles."""
        return self.near


def whole(X: Any) -> Any:
    """Return all of a table that may be one of long decimals."""
    return X.whole() if isinstance(X, LongDecimals) else X


def _shortest(rows: Array) -> Array:
    """Return floats as the shortest decimals that read back as they."""
    found = np.empty(rows.shape, dtype=object)
    for k, row in enumerate(rows.tolist()):
        found[k] = [Fraction(repr(value)) for value in row]
    return found
