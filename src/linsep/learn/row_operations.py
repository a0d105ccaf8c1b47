"""Compiled operations on one row: inner product, sum, norm, prefetch; one name for dense and sparse rows.

``dot``, ``add``, ``square``, ``dot_and_square`` and ``fetch`` pick the storage of the rows by its type; for anything
else that a rule does with a row, ``places``, ``column`` and ``value`` visit its stored numbers. They are inlined and
take the arithmetic flags of the loop around them: sums may be reassociated (which lets them be vectorized) while NaN
and infinity keep their meaning. Without a compiler (``NUMBA_DISABLE_JIT=1``) the loops run on the plain Python bodies
of these functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from linsep.problem import Dense, Sparse


def dot(rows: Any, i: int, W: Any, c: int) -> float:
    """Inner product of row ``i`` with the weights ``W[c]``."""
    if isinstance(rows, Dense):
        return float(np.dot(rows.data[i].astype(np.float64), W[c]))
    span = slice(int(rows.indptr[i]), int(rows.indptr[i + 1]))
    return float(np.dot(rows.data[span].astype(np.float64), W[c, rows.indices[span]]))


def add(rows: Any, i: int, step: float, W: Any, c: int) -> None:
    """Add ``step`` times row ``i`` to the weights ``W[c]``."""
    if isinstance(rows, Dense):
        W[c] += step * rows.data[i]
    else:
        span = slice(int(rows.indptr[i]), int(rows.indptr[i + 1]))
        W[c, rows.indices[span]] += step * rows.data[span]


def square(rows: Any, i: int) -> float:
    """Squared norm of row ``i``."""
    if isinstance(rows, Dense):
        x = rows.data[i].astype(np.float64)
    else:
        x = rows.data[int(rows.indptr[i]) : int(rows.indptr[i + 1])].astype(np.float64)
    return float(np.dot(x, x))


def dot_and_square(rows: Any, i: int, W: Any) -> tuple[float, float]:
    """Inner product of row ``i`` with the weights ``W[0]``, and its squared norm, reading it once."""
    return dot(rows, i, W, 0), square(rows, i)


def places(rows: Any, i: int) -> range:
    """Where the stored numbers of row ``i`` are: what ``column`` and ``value`` take."""
    if isinstance(rows, Dense):
        return range(rows.data.shape[1])
    return range(int(rows.indptr[i]), int(rows.indptr[i + 1]))


def column(rows: Any, p: int) -> int:
    """Column of the number at place ``p`` of a row."""
    return p if isinstance(rows, Dense) else int(rows.indices[p])


def value(rows: Any, i: int, p: int) -> float:
    """Return the number at place ``p`` of row ``i``."""
    return float(rows.data[i, p] if isinstance(rows, Dense) else rows.data[p])


def fetch(rows: Any, i: int) -> None:
    """Ask the memory for row ``i``, which is visited soon; costs nothing in plain Python."""


def _is(rows: Any, kind: type) -> bool:
    return getattr(rows, "instance_class", None) is kind


@overload(dot, inline="always")
def _dot(rows, i, W, c):
    if _is(rows, Dense):

        def dense(rows, i, W, c):
            s = 0.0
            for j in range(W.shape[1]):
                s += rows.data[i, j] * W[c, j]
            return s

        return dense

    if _is(rows, Sparse):

        def sparse(rows, i, W, c):
            s = 0.0
            for p in range(rows.indptr[i], rows.indptr[np.uint64(i) + np.uint64(1)]):
                s += rows.data[p] * W[c, rows.indices[p]]
            return s

        return sparse
    return None


@overload(add, inline="always")
def _add(rows, i, step, W, c):
    if _is(rows, Dense):

        def dense(rows, i, step, W, c):
            for j in range(W.shape[1]):
                W[c, j] += step * rows.data[i, j]

        return dense

    if _is(rows, Sparse):

        def sparse(rows, i, step, W, c):
            for p in range(rows.indptr[i], rows.indptr[np.uint64(i) + np.uint64(1)]):
                W[c, rows.indices[p]] += step * rows.data[p]

        return sparse
    return None


@overload(square, inline="always")
def _square(rows, i):
    if _is(rows, Dense):

        def dense(rows, i):
            s = 0.0
            for j in range(rows.data.shape[1]):
                x = float(rows.data[i, j])
                s += x * x
            return s

        return dense

    if _is(rows, Sparse):

        def sparse(rows, i):
            s = 0.0
            for p in range(rows.indptr[i], rows.indptr[np.uint64(i) + np.uint64(1)]):
                x = float(rows.data[p])
                s += x * x
            return s

        return sparse
    return None


@overload(dot_and_square, inline="always")
def _dot_and_square(rows, i, W):
    if _is(rows, Dense):

        def dense(rows, i, W):
            s, q = 0.0, 0.0
            for j in range(W.shape[1]):
                x = float(rows.data[i, j])
                s += x * W[0, j]
                q += x * x
            return s, q

        return dense

    if _is(rows, Sparse):

        def sparse(rows, i, W):
            s, q = 0.0, 0.0
            for p in range(rows.indptr[i], rows.indptr[np.uint64(i) + np.uint64(1)]):
                x = float(rows.data[p])
                s += x * W[0, rows.indices[p]]
                q += x * x
            return s, q

        return sparse
    return None


@overload(places, inline="always")
def _places(rows, i):
    if _is(rows, Dense):
        return lambda rows, i: range(rows.data.shape[1])
    if _is(rows, Sparse):
        return lambda rows, i: range(rows.indptr[i], rows.indptr[np.uint64(i) + np.uint64(1)])
    return None


@overload(column, inline="always")
def _column(rows, p):
    if _is(rows, Dense):
        return lambda rows, p: p
    if _is(rows, Sparse):
        return lambda rows, p: rows.indices[p]
    return None


@overload(value, inline="always")
def _value(rows, i, p):
    if _is(rows, Dense):
        return lambda rows, i, p: float(rows.data[i, p])
    if _is(rows, Sparse):
        return lambda rows, i, p: float(rows.data[p])
    return None


@intrinsic
def _touch(typing, array, position):
    """Start loading the cache line that holds item ``position`` of a contiguous array."""

    def emit(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(data, [arguments[1]]), pointer)
        builder.call(prefetch, [address, flag(0), flag(3), flag(1)])  # to read, to keep, data
        return context.get_dummy_value()

    return types.void(array, types.uint64), emit


FETCHED = 4096  # bytes of a row to ask for: the memory itself foresees the rest of a long one


@overload(fetch, inline="always")
def _fetch(rows, i):
    if _is(rows, Dense):

        def dense(rows, i):
            d = np.uint64(rows.data.shape[1])
            line = np.uint64(64 // rows.data.itemsize)
            p = np.uint64(i) * d
            end = p + min(d, line * np.uint64(FETCHED // 64))
            while p < end:
                _touch(rows.data, p)
                p += line

        return dense

    if _is(rows, Sparse):

        def sparse(rows, i):
            p = np.uint64(rows.indptr[i])
            end = np.uint64(rows.indptr[np.uint64(i) + np.uint64(1)])
            end = min(end, p + np.uint64(FETCHED // 8))
            while p < end:  # 16 indices of four bytes are a line, their values two
                _touch(rows.data, p)
                _touch(rows.data, p + np.uint64(8))
                _touch(rows.indices, p)
                p += np.uint64(16)

        return sparse
    return None
