"""Kesler's construction (Duda & Hart 1973, section 5.12): multiclass problems as inequalities in one vector.

Row ``i`` of class ``c`` asks of the weights ``W`` (one vector a class) that ``(W[c] - W[r])·x_i > 0`` for each rival
``r``. Such a pair of row and rival is the number ``i * classes + r``; as a vector it has ``x_i`` in the block of the
own class and ``-x_i`` in that of the rival. Only differences of the weights count, so those of class 0 may be fixed
at zero, which leaves ``classes - 1`` blocks: of two classes one, and the vector is ``y x``. Where the norm over all
classes matters every class keeps its block.
"""

from __future__ import annotations

import numpy as np

from linsep.problem import Array


def all_pairs(y: Array, classes: int) -> Array:
    """Return the number of every pair of row and rival."""
    return np.flatnonzero(np.tile(np.arange(classes), len(y)) != np.repeat(y, classes))


def marks(pairs: Array, y: Array, classes: int, blocks: int) -> Array:
    """Return the signs (pairs, blocks) with which a row goes into each block."""
    signs = np.zeros((len(pairs), classes), np.int64)
    every = np.arange(len(pairs))
    signs[every, y[pairs // classes]] = 1
    signs[every, pairs % classes] = -1
    return signs[:, classes - blocks :]


def differences(t: Array, signs: Array) -> Array:
    """Return rows ``t`` (m, d) times their signs in each block, shape (m, blocks * d); floats or integers."""
    if signs.shape[1] == 1:
        return signs.astype(t.dtype) * t
    vectors = signs.astype(t.dtype)[:, :, None] * t[:, None, :]
    return np.ascontiguousarray(vectors.reshape(len(t), signs.shape[1] * t.shape[1]))
