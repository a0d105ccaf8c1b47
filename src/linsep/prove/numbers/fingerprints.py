"""Computes the fingerprint of a table, which depends only on its labels and the doubles nearest to its numbers.

What is hashed is laid down in docs/proof-format.md; ``linsep_check`` does the same in plain Python.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import numpy as np

from linsep.compiling import compiled
from linsep.data.arrays import as_scipy
from linsep.problem import Array, Dense, Rows, Sparse, count
from linsep.prove.check.linsep_check import label_text

_CELLS = 1 << 17  # that are hashed together: they stay in the cache of a processor


class Fingerprint:
    """The fingerprint of rows that come in parts."""

    def __init__(self, n_features: int, classes: tuple[Any, ...]) -> None:
        self.n_features, self.rows = n_features, 0
        self._labels = [_spelled(label) for label in classes]
        self._names, self._counts, self._cells = (hashlib.sha256() for _ in range(3))

    def add(self, rows: Rows, y: Array) -> None:
        """Take up some rows with their class numbers; refuse what is not finite."""
        n = count(rows)
        if isinstance(rows, Sparse):
            rows = _in_order(rows, self.n_features)
        step = max(1, min(n, _CELLS * n // max(1, rows.data.size)))
        words = np.empty(0)
        ends = np.arange(step + 1, dtype=np.uint64) * np.uint64(self.n_features)
        columns = np.tile(np.arange(self.n_features, dtype=np.uint32), step if isinstance(rows, Dense) else 0)
        for start in range(0, n, step):
            stop = min(start + step, n)
            self._names.update(self._spelled(y[start:stop]))
            counts = np.empty(stop - start, dtype="<i8")
            if isinstance(rows, Dense):
                part = Sparse(rows.data[start:stop].ravel(), columns, ends[: counts.size + 1])
            else:
                part = rows._replace(indptr=rows.indptr[start : stop + 1])
            words = _room(words, 2 * int(part.indptr[-1] - part.indptr[0]))
            length = _words(*part, self.n_features, counts, words)
            if length < 0:
                raise ValueError("X contains NaN or infinity")
            self._counts.update(counts.data)
            self._cells.update(words[:length].data)
        self.rows += n

    def _spelled(self, y: Array) -> bytes:
        """Return the labels of rows."""
        if len({len(text) for text in self._labels}) == 1:
            return bytes(np.array(self._labels, dtype=f"V{len(self._labels[0])}")[y].tobytes())
        return b"".join([self._labels[code] for code in y.tolist()])

    def result(self) -> dict[str, Any]:
        """Return the numbers of rows and features, and the hash."""
        parts = (self._names, self._counts, self._cells)
        name = hashlib.sha256(b"".join(part.digest() for part in parts)).hexdigest()
        return {"n_rows": self.rows, "n_features": self.n_features, "sha256": name}


def _spelled(label: Any) -> bytes:
    """Return a label, or all parts of one, with lengths before them."""
    texts = [label_text(each).encode() for each in (label if isinstance(label, tuple) else (label,))]
    return b"".join(struct.pack("<q", len(text)) + text for text in texts)


def _room(words: Array, most: int) -> Array:
    """Return the same array if it is long enough, else a longer one."""
    return words if len(words) >= most else np.empty(most, dtype="<f8")


def _in_order(rows: Sparse, n_features: int) -> Sparse:
    """Return rows with the columns of each in order."""
    matrix = as_scipy(rows, n_features)
    if matrix.has_sorted_indices:
        return rows
    matrix = matrix.copy()
    matrix.sort_indices()
    return rows._replace(data=matrix.data, indices=matrix.indices.view(rows.indices.dtype))


@compiled()
def _words(data, indices, indptr, n_features, counts, words):
    """Write what is hashed of rows, each with its columns in order, in words of 8 bytes.

    Return how many words, or -1 if a number is not finite.
    """
    numbers = words.view(np.int64)
    k = 0
    for i in range(counts.size):
        first, end = int(indptr[i]), int(indptr[i + 1])
        c = 0
        for p in range(first, end):
            c += data[p] != 0
            if not np.isfinite(data[p]):
                return -1
        counts[i] = c
        full = 2 * c > n_features
        if full:
            words[k : k + n_features] = 0.0
        for p in range(first, end):
            if data[p] == 0:
                continue
            if full:
                words[k + indices[p]] = float(data[p])
            else:
                numbers[k] = indices[p]
                words[k + 1] = float(data[p])
                k += 2
        if full:
            k += n_features
    return k
