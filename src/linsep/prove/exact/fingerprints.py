"""Computes the fingerprint of a table, which depends only on its numbers and labels.

What is hashed is laid down in docs/proof-format.md; ``linsep_check`` does the same in plain Python.
"""

from __future__ import annotations

import hashlib
import itertools
import struct
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from linsep.problem import Array, Dense, Rows, count, take
from linsep.prove.check.linsep_check import label_text

_CELLS = 1 << 20  # that are hashed together


class Fingerprint:
    """The fingerprint of rows that come in parts."""

    def __init__(self, n_features: int, classes: tuple[Any, ...]) -> None:
        self.n_features, self.rows = n_features, 0
        self._labels = [_spelled(label) for label in classes]
        self._names, self._counts, self._cells, self._rest = (hashlib.sha256() for _ in range(4))

    def add(self, rows: Rows, y: Array) -> None:
        """Take up some rows with their class numbers; refuse what is not finite."""
        step = max(1, _CELLS // max(1, self.n_features if isinstance(rows, Dense) else 64))
        for start in range(0, count(rows), step):
            self._names.update(self._spelled(y[start : start + step]))
            self._add(take(rows, slice(start, start + step)), self.rows + start)
        self.rows += count(rows)

    def _spelled(self, y: Array) -> bytes:
        """Return the labels of rows."""
        if len({len(text) for text in self._labels}) == 1:
            return bytes(np.array([[*text] for text in self._labels], dtype=np.uint8)[y].tobytes())
        return b"".join([self._labels[code] for code in y.tolist()])

    def _add(self, rows: Rows, first: int) -> None:
        """Take up a few rows, the first of which has this number."""
        if rows.data.dtype.kind == "f" and not np.isfinite(rows.data).all():
            raise ValueError("X contains NaN or infinity")
        if isinstance(rows, Dense) and rows.data.dtype.kind == "f":  # the usual case, and quick
            counts = np.count_nonzero(rows.data, axis=1)
            if (2 * counts > self.n_features).all():
                self._counts.update(counts.astype("<i8").tobytes())
                self._cells.update((rows.data.astype("<f8") + 0.0).tobytes())  # there is no -0 in it then
                return
        i, j, values = _nonzero(rows)
        near = values.astype("<f8")
        ends = np.searchsorted(i, np.arange(count(rows) + 1))
        counts = np.diff(ends)
        self._counts.update(counts.astype("<i8").tobytes())
        full = 2 * counts > self.n_features
        for start, stop in _runs(full):
            cells = slice(int(ends[start]), int(ends[stop]))
            if full[start]:
                block = np.zeros((stop - start, self.n_features), dtype="<f8")
                block[i[cells] - start, j[cells]] = near[cells]
                self._cells.update(block.tobytes())
            else:
                pairs = np.empty(cells.stop - cells.start, dtype=[("j", "<i8"), ("value", "<f8")])
                pairs["j"], pairs["value"] = j[cells], near[cells]
                self._cells.update(pairs.tobytes())
        if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
            for k in np.flatnonzero(np.abs(near) >= 2.0**53).tolist():
                value, float_value = int(values[k]), float(near[k])
                if value not in (Fraction(float_value), Fraction(repr(float_value))):
                    self._rest.update(f"{first + int(i[k])},{int(j[k])},{value}/1\n".encode())

    def result(self) -> dict[str, Any]:
        """Return the numbers of rows and features, and the hash."""
        parts = (self._names, self._counts, self._cells, self._rest)
        name = hashlib.sha256(b"".join(part.digest() for part in parts)).hexdigest()
        return {"n_rows": self.rows, "n_features": self.n_features, "sha256": name}


def _spelled(label: Any) -> bytes:
    """Return a label, or all parts of one, with lengths before them."""
    texts = [label_text(each).encode() for each in (label if isinstance(label, tuple) else (label,))]
    return b"".join(struct.pack("<q", len(text)) + text for text in texts)


def _nonzero(rows: Rows) -> tuple[Array, Array, Array]:
    """Return row, column and value of what is not zero, in order."""
    if isinstance(rows, Dense):
        i, j = np.nonzero(rows.data)
        return i, j, rows.data[i, j]
    i = np.repeat(np.arange(count(rows)), np.diff(rows.indptr).astype(np.intp))
    order = np.lexsort((rows.indices, i))
    order = order[rows.data[order] != 0]
    return i[order], rows.indices[order].astype(np.int64), rows.data[order]


def _runs(marks: Array) -> Iterator[tuple[int, int]]:
    """Yield where stretches of equal marks begin and end."""
    edges = [0, *(np.flatnonzero(marks[1:] != marks[:-1]) + 1).tolist(), len(marks)]
    for start, stop in itertools.pairwise(edges):
        if stop > start:
            yield start, stop


def first_fingerprints(rows: Rows, y: Array, n_features: int) -> list[str]:
    """Return the hashes that format 1 may have for these data, which depended on their storage."""
    found = []
    for step in (max(1, (1 << 20) // max(1, n_features)), 4096):
        for long in (False, True):
            digest = hashlib.sha256(y.astype("<i8").tobytes())
            for start in range(0, count(rows), step):
                i, j, values = _nonzero(take(rows, slice(start, start + step)))
                digest.update((i + start).astype("<i8").tobytes())
                digest.update(j.astype("<i8").tobytes())
                near = values.astype("<f8")
                if long and len(near) and float(np.abs(near).max()) >= 2.0**53:
                    digest.update(repr([value.as_integer_ratio() for value in values.tolist()]).encode())
                else:
                    digest.update(near.tobytes())
            found.append(digest.hexdigest())
    return found
