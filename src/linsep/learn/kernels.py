"""All compiled training loops: row operations, update rules, and one short loop per kind of machine.

``dot``, ``add``, ``square``, ``dot_and_square`` and ``fetch`` pick the storage of the rows by its type; ``lacking``,
``erred``, ``stride`` and ``tally`` what to do by the type of the rule. So a loop is written once for dense and sparse
data and for every learner. The operations are inlined and take the arithmetic flags of the loop they stand in: sums may
be reassociated (which lets them be vectorized) while NaN and infinity keep their meaning.

A compiled function here calls only functions of this file: the on-disk cache would not notice a change elsewhere.
Without a compiler (``NUMBA_DISABLE_JIT=1``) the same loops run on the plain Python bodies of these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from linsep import compiling
from linsep.problem import Dense, Sparse

compiled = compiling.compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


class Rule(NamedTuple):
    """The perceptron: update if ``y·s <= margin`` (a violation); the offset moves ``offset`` times the step."""

    margin: float
    offset: float  # 1.0 with offset, 0.0 without
    sums: Sums | None = None  # for the average of the weights, where it is asked for


class Prediction(NamedTuple):
    """The perceptron that updates only if the predicted label is wrong."""

    on_plane: float  # the side predicted for a score of 0; 1.0 where classes are compared: ties have a side there
    offset: float
    sums: Sums | None = None
    margin: float = 0.0


class Aggression(NamedTuple):
    """When and how far a passive-aggressive machine moves: ``tau = min(cap, (margin - y·s) / (‖x‖² + soft))``."""

    margin: float
    offset: float
    cap: float  # C for PA-I, else infinity
    soft: float  # 1/(2C) for PA-II, else 0
    sums: Sums | None = None


AnyRule = Rule | Prediction | Aggression


class Sums(NamedTuple):
    """What the average of the weights needs: every update times the number of visits before it."""

    A: Any  # (C, d)
    a: Any  # (C,)
    visited: float  # visits before this call


# ---------------------------------------------------------------------------------------------------------------
# Rows


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


def tally(rule: Any, rows: Any, i: int, step: float, t: int, c: int) -> None:
    """Note for the average that visit ``t`` of this call added ``step`` times row ``i`` to the weights ``W[c]``."""
    if rule.sums is not None:
        late = step * (rule.sums.visited + t)
        add(rows, i, late, rule.sums.A, c)
        rule.sums.a[c] += late * rule.offset


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


@overload(tally, inline="always")
def _tally(rule, rows, i, step, t, c):
    if isinstance(rule.types[rule.fields.index("sums")], types.NoneType):

        def nothing(rule, rows, i, step, t, c):
            pass

        return nothing

    def average(rule, rows, i, step, t, c):
        late = step * (rule.sums.visited + t)
        add(rows, i, late, rule.sums.A, c)
        rule.sums.a[c] += late * rule.offset

    return average


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


# ---------------------------------------------------------------------------------------------------------------
# Rules: ``v`` is ``y·s``, or by how much the true class leads its highest rival; the ``side`` of an example is positive
# if a score of 0, or a tie, is predicted right where the rule's ``on_plane`` is


def _by_rule(*ways: Any) -> Any:
    """Return an operation that each kind of rule does its own way: violation, prediction, aggression."""

    def way(rule: Any, *_: Any) -> Any:
        return ways[(Rule, Prediction, Aggression).index(getattr(rule, "instance_class", type(rule)))]

    def operation(rule: Any, *given: Any) -> Any:
        return way(rule)(rule, *given)

    overload(operation, inline="always", strict=False)(way)
    return operation


lacking = _by_rule(  # loss of an example
    lambda rule, v: max(0.0, -v),
    lambda rule, v: max(0.0, -v),
    lambda rule, v: max(0.0, rule.margin - v),
)
erred = _by_rule(  # whether to update
    lambda rule, v, side: v <= rule.margin,
    lambda rule, v, side: v < 0.0 or (v == 0.0 and side * rule.on_plane < 0.0),
    lambda rule, v, side: v < rule.margin,
)


def _least(rule, rows, i, v, weight, vectors):
    squared = vectors * square(rows, i)  # a row of zeros cannot be helped
    return min(rule.cap * weight, (rule.margin - v) / (squared + rule.soft / weight)) if squared > 0.0 else 0.0


stride = _by_rule(  # how far to move along row i, so many weight vectors at a time
    lambda rule, rows, i, v, weight, vectors: weight,
    lambda rule, rows, i, v, weight, vectors: weight,
    _least,
)


# ---------------------------------------------------------------------------------------------------------------
# Training: each loop visits the examples in `order`, changes W and b in place, writes what it erred on to `mistakes`,
# adds to loss[0], and returns (examples visited, mistakes made). It ends early when `mistakes` is full, or before an
# example whose score is not finite. A mistake is one number: row * (number of weight vectors) + the one concerned.
#
# Perceptron, Rosenblatt 1958: unless y s > 0, w <- w + eta y x and b <- b + eta y. Passive-aggressive, Crammer et al.
# 2006, figure 1: unless y s >= 1, w <- w + tau y x, the least change that makes it so, or goes far; the weight of the
# example is a factor of C.

LARGEST = np.finfo(np.float64).max  # neither NaN nor infinity is at most this; isfinite does not survive reassociation
AHEAD = 8  # rows to fetch in advance: shuffled passes are 1.2 (dense) to 2.5 times (sparse) as fast with it


@compiled
def two_classes(examples, order, rule, W, b, mistakes, loss):
    """One weight vector; ``y`` holds the signs -1 and +1."""
    rows, y, weight = examples
    k = 0
    for t in range(order.size):
        if t + AHEAD < order.size:
            fetch(rows, order[t + AHEAD])
        i = order[t]
        v = y[i] * (dot(rows, i, W, 0) + b[0])
        if not abs(v) <= LARGEST:
            return t, k
        loss[0] += lacking(rule, v)
        if erred(rule, v, y[i]):
            step = y[i] * stride(rule, rows, i, v, weight[i], 1.0)
            add(rows, i, step, W, 0)
            b[0] += step * rule.offset
            tally(rule, rows, i, step, t, 0)
            mistakes[k] = i
            k += 1
            if k == mistakes.size:
                return t + 1, k
    return order.size, k


@compiled
def argmax(examples, order, rule, W, b, mistakes, loss):
    """Multiclass by comparison: Kesler's construction in Duda & Hart 1973, section 5.12; Crammer, section 8.

    Unless the true class ``y`` scores highest: ``W[y] <- W[y] + eta x`` and ``W[r] <- W[r] - eta x`` for its highest
    rival ``r``, offsets likewise. The mistake is noted under ``r``. Two weight vectors move: ``2‖x‖²`` for ``‖x‖²``.
    """
    k = 0
    rows, y, weight = examples
    for t in range(order.size):
        if t + AHEAD < order.size:
            fetch(rows, order[t + AHEAD])
        i = order[t]
        own, rival, highest = 0.0, 0, -np.inf
        for c in range(b.size):
            s = dot(rows, i, W, c) + b[c]
            if c == y[i]:
                own = s
            elif s > highest:
                rival, highest = c, s
        v = own - highest
        if not abs(v) <= LARGEST:
            return t, k
        loss[0] += lacking(rule, v)
        if erred(rule, v, -1.0 if rival < y[i] else 1.0):
            step = stride(rule, rows, i, v, weight[i], 2.0)
            for c, sign in ((y[i], 1.0), (rival, -1.0)):
                add(rows, i, sign * step, W, c)
                b[c] += sign * step * rule.offset
                tally(rule, rows, i, sign * step, t, c)
            mistakes[k] = np.uint64(i) * np.uint64(b.size) + np.uint64(rival)
            k += 1
            if k == mistakes.size:
                return t + 1, k
    return order.size, k


@compiled
def one_vs_rest(examples, order, rule, W, b, mistakes, loss):
    """Multiclass, one binary machine per class against all others, side by side over the same rows."""
    rows, y, weight = examples
    k = 0
    for t in range(order.size):
        i = order[t]
        if t + AHEAD < order.size:
            fetch(rows, order[t + AHEAD])
        for c in range(b.size):
            sign = 1.0 if c == y[i] else -1.0
            v = sign * (dot(rows, i, W, c) + b[c])
            if not abs(v) <= LARGEST:
                return t, k
            loss[0] += lacking(rule, v)
            if erred(rule, v, sign):
                step = sign * stride(rule, rows, i, v, weight[i], 1.0)
                add(rows, i, step, W, c)
                b[c] += step * rule.offset
                tally(rule, rows, i, step, t, c)
                mistakes[k] = np.uint64(i) * np.uint64(b.size) + np.uint64(c)
                k += 1
                if k == mistakes.size:
                    return t + 1, k
    return order.size, k


# ---------------------------------------------------------------------------------------------------------------
# Looking without learning


@compiled
def score(rows, W, b, scores):
    """Scores ``W[c]·x_i + b[c]`` of every row and weight vector, into ``scores`` (n, C)."""
    for i in range(scores.shape[0]):
        if i + AHEAD < scores.shape[0]:
            fetch(rows, i + AHEAD)
        for c in range(b.size):
            scores[i, c] = dot(rows, i, W, c) + b[c]


@compiled
def replay(examples, trace, offset, W, b, leads):
    """Make the updates of a trace again, of one machine, and write the lead that each found into ``leads``.

    A lead is ``y s`` for two classes, and that of the true class over the rival of the trace for more.
    """
    rows, y, step = examples
    for t in range(trace.size):
        i = trace[t] // np.uint64(b.size)
        own, sign = (0, float(y[i])) if b.size == 1 else (y[i], 1.0)
        leads[t] = sign * (dot(rows, i, W, own) + b[own])
        add(rows, i, sign * step[i], W, own)
        b[own] += sign * step[i] * offset
        if b.size > 1:
            rival = trace[t] % np.uint64(b.size)
            leads[t] -= dot(rows, i, W, rival) + b[rival]
            add(rows, i, -step[i], W, rival)
            b[rival] -= step[i] * offset


@compiled
def norms(rows, squares):
    """Squared norm of every row, into ``squares`` (n,)."""
    for i in range(squares.size):
        squares[i] = square(rows, i)


@compiled
def survey(examples, W, b, on_plane, alone):
    """Look at all examples once: largest squared norm, smallest lead, loss, wrong predictions, rows not finite.

    The lead is ``y s`` for two classes, for more that of the true class over its highest rival. ``alone`` says that
    each weight vector is a machine of its own, for the loss. Examples with step 0 are visited for their values only.
    """
    rows, y, step = examples
    largest, smallest, loss, wrong, broken = 0.0, np.inf, 0.0, 0, 0
    for i in range(y.size):
        if i + AHEAD < y.size:
            fetch(rows, i + AHEAD)
        own, rival, highest, lacking = 0.0, 0, -np.inf, 0.0
        s, squared = dot_and_square(rows, i, W)
        for c in range(b.size):
            s = (dot(rows, i, W, c) if c > 0 else s) + b[c]
            if b.size == 1:
                own, highest = s * y[i], 0.0
            elif c == y[i]:
                own = s
            elif s > highest:
                rival, highest = c, s
            if not abs(s) <= LARGEST:
                broken += 1
            lacking += max(0.0, -s if c == y[i] else s)
        if step[i] == 0.0:
            continue
        v = own - highest
        largest = max(largest, squared)
        smallest = min(smallest, v)
        loss += lacking if alone and b.size > 1 else max(0.0, -v)
        if v < 0.0 or (v == 0.0 and (y[i] != on_plane if b.size == 1 else rival < y[i])):
            wrong += 1  # on the plane the rule decides; of classes that tie the lowest is predicted
    return largest, smallest, loss, wrong, broken
