"""The rows whose nearest point is sought: examples times labels, in each of the three forms, for two or more classes.

For two classes item ``i`` is ``z = y_i x_i``. For more (Kesler's construction, Duda & Hart 1973, section 5.12) item
``i * classes + r`` is the vector with ``x_i`` in the place of its own class and ``-x_i`` in that of its rival ``r``.
Offsets are further coordinates: ``unit`` times the signs, where the form counts them (augmented) or where they are made
so cheap that they count for nothing (affine, many classes).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.learn.driver import scores
from linsep.problem import Array, Dense, Floats, Rows, count, take


class Task(NamedTuple):
    """Examples, and the form of margin that is asked for."""

    rows: Rows
    y: Array  # (n,) signs for two classes, class numbers for more
    d: int
    classes: int  # 1 for two classes, which share one weight vector
    form: str
    unit: float  # of the offset coordinates; 0 where there are none

    @property
    def size(self) -> int:
        """Number of coordinates of an item."""
        return self.classes * (self.d + (self.unit > 0))

    @property
    def items(self) -> int:
        """Number of items."""
        return count(self.rows) * max(1, self.classes - 1)


class Heights(NamedTuple):
    """How far every row is on its right side: for many classes over its nearest rival."""

    values: Floats  # (n,)
    items: Array  # (n,) the item that gives the value


def row_numbers(task: Task, items: Array) -> Array:
    """Return the row that every item belongs to."""
    return items // task.classes


def coefficients(task: Task, items: Array) -> Array:
    """Return the signs (items, classes) with which a row goes into each weight vector."""
    if task.classes == 1:
        return task.y[items].astype(np.int64)[:, None]
    marks = np.zeros((len(items), task.classes), np.int64)
    places = np.arange(len(items))
    marks[places, task.y[items // task.classes]] = 1
    marks[places, items % task.classes] = -1
    return marks


def vectors(task: Task, items: Array) -> Floats:
    """Return items as dense rows, shape (items, size)."""
    part = take(task.rows, row_numbers(task, items))
    if isinstance(part, Dense):
        x = part.data.astype(np.float64)
    else:
        x = np.zeros((len(items), task.d))
        x[np.repeat(np.arange(len(items)), np.diff(part.indptr).astype(np.intp)), part.indices] = part.data
    marks = coefficients(task, items)
    if task.classes == 1:
        x *= marks
        return np.hstack((x, task.unit * marks)) if task.unit else x
    Z = (marks[:, :, None] * x[:, None, :]).reshape(len(items), task.classes * task.d)
    return np.hstack((Z, task.unit * marks)) if task.unit else Z


def sparse_vectors(task: Task, items: Array) -> sp.csr_array:
    """Return items as rows of a sparse matrix, shape (items, size)."""
    part = take(task.rows, row_numbers(task, items))
    if isinstance(part, Dense):
        x = sp.csr_array(part.data.astype(np.float64))
    else:
        index = np.int64 if part.indices.dtype.itemsize == 8 else np.int32
        arrays = (part.data.astype(np.float64), part.indices.view(index), part.indptr.view(index))
        x = sp.csr_array(arrays, shape=(len(items), task.d))
    marks = coefficients(task, items).astype(np.float64)
    blocks = [sp.diags_array(marks[:, c]) @ x for c in range(task.classes)]
    if task.unit:
        blocks.append(sp.csr_array(task.unit * marks))
    Z = sp.hstack(blocks, format="csr")
    Z.eliminate_zeros()
    return Z


def weights(task: Task, v: Floats, b: float = 0.0) -> tuple[Floats, Floats]:
    """Split a vector of the items' space into weights (classes, d) and offsets (classes,)."""
    W = v[: task.classes * task.d].reshape(task.classes, task.d)
    offsets = task.unit * v[task.classes * task.d :] if task.unit else np.full(task.classes, b)
    return np.ascontiguousarray(W), offsets


def heights(task: Task, W: Floats, b: Floats) -> Heights:
    """Return ``y (w·x + b)`` of every row, or its lead over the nearest rival; one pass over the rows."""
    S = scores(task.rows, W, b)
    n = len(S)
    if task.classes == 1:
        return Heights(task.y * S[:, 0], np.arange(n))
    every = np.arange(n)
    own = S[every, task.y].copy()
    S[every, task.y] = -np.inf
    rival = S.argmax(axis=1)
    return Heights(own - S[every, rival], every * task.classes + rival)
