"""All compiled training loops, one short loop per kind of machine; read this file first.

Each loop is written once for dense and sparse rows and for every learner: ``row_operations`` picks the storage of the
rows by its type, ``rules`` what to do by that of the rule: the loops call only its ``loss``, ``is_mistake``, ``step``,
``update`` and ``accumulate``, and ``foresee`` where predictions before learning are asked for.
"""

from __future__ import annotations

import numpy as np

from linsep import compiling
from linsep.learn import row_operations, rules
from linsep.learn.row_operations import add, dot, dot_and_square, fetch, square
from linsep.learn.rules import accumulate, average, foresee, is_mistake, loss, step, update

# the machine code contains the inlined operations of these files
_INLINED = (row_operations.__file__, rules.__file__)
compiled = compiling.compiled(*_INLINED, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})

# ---------------------------------------------------------------------------------------------------------------
# Training: each loop visits the examples in `order`, changes W and b in place, writes its mistakes to `mistakes`,
# adds to losses[0], and returns (examples visited, mistakes made). It ends early when `mistakes` is full, or before an
# example whose score is not finite. A mistake is one number: row * (number of weight vectors) + the one concerned.
#
# Perceptron, Rosenblatt 1958: unless y s > 0, w <- w + eta y x and b <- b + eta y. Passive-aggressive, Crammer et al.
# 2006, figure 1: unless y s >= 1, w <- w + tau y x, the least change that makes it so, or goes far; the weight of the
# example is a factor of C.

LARGEST = np.finfo(np.float64).max  # neither NaN nor infinity is at most this; isfinite does not survive reassociation
AHEAD = 8  # rows to fetch in advance: shuffled passes are 1.2 (dense) to 2.5 times (sparse) as fast with it


@compiled
def two_classes(examples, order, rule, W, b, mistakes, losses):
    """One weight vector; ``y`` holds the signs -1 and +1."""
    rows, y, weight = examples
    k = 0
    for t in range(order.size):
        if t + AHEAD < order.size:
            fetch(rows, order[t + AHEAD])
        i = order[t]
        foresee(rule, rows, i, t, W, b)
        v = y[i] * (dot(rows, i, W, 0) + b[0])
        if not abs(v) <= LARGEST:
            return t, k
        losses[0] += loss(rule, v)
        if is_mistake(rule, v, y[i]):
            change = step(rule, rows, i, v, weight[i], 0, -1)
            update(rule, rows, i, y[i] * change, W, b, 0)
            average(rule, rows, i, y[i] * change, t, 0)
            accumulate(rule, rows, i, v, change, 0)
            mistakes[k] = i
            k += 1
            if k == mistakes.size:
                return t + 1, k
    return order.size, k


@compiled
def argmax(examples, order, rule, W, b, mistakes, losses):
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
        foresee(rule, rows, i, t, W, b)
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
        losses[0] += loss(rule, v)
        if is_mistake(rule, v, -1.0 if rival < y[i] else 1.0):
            change = step(rule, rows, i, v, weight[i], y[i], rival)
            for c, sign in ((y[i], 1.0), (rival, -1.0)):
                update(rule, rows, i, sign * change, W, b, c)
                average(rule, rows, i, sign * change, t, c)
                accumulate(rule, rows, i, v, change, c)
            mistakes[k] = np.uint64(i) * np.uint64(b.size) + np.uint64(rival)
            k += 1
            if k == mistakes.size:
                return t + 1, k
    return order.size, k


@compiled
def one_vs_rest(examples, order, rule, W, b, mistakes, losses):
    """Multiclass, one binary machine per class against all others, side by side over the same rows."""
    rows, y, weight = examples
    k = 0
    for t in range(order.size):
        i = order[t]
        if t + AHEAD < order.size:
            fetch(rows, order[t + AHEAD])
        foresee(rule, rows, i, t, W, b)
        for c in range(b.size):
            sign = 1.0 if c == y[i] else -1.0
            v = sign * (dot(rows, i, W, c) + b[c])
            if not abs(v) <= LARGEST:
                return t, k
            losses[0] += loss(rule, v)
            if is_mistake(rule, v, sign):
                change = step(rule, rows, i, v, weight[i], c, -1)
                update(rule, rows, i, sign * change, W, b, c)
                average(rule, rows, i, sign * change, t, c)
                accumulate(rule, rows, i, v, change, c)
                mistakes[k] = np.uint64(i) * np.uint64(b.size) + np.uint64(c)
                k += 1
                if k == mistakes.size:
                    return t + 1, k
    return order.size, k


# ---------------------------------------------------------------------------------------------------------------
# Visits without learning


@compiled
def score(rows, W, b, scores):
    """Scores ``W[c]·x_i + b[c]`` of every row and weight vector, into ``scores`` (n, C)."""
    for i in range(scores.shape[0]):
        if i + AHEAD < scores.shape[0]:
            fetch(rows, i + AHEAD)
        for c in range(b.size):
            scores[i, c] = dot(rows, i, W, c) + b[c]


@compiled
def replay(examples, trace, offset, W, b, margins):
    """Make the updates of a trace again, of one machine, and write the margin before each into ``margins``.

    A margin is ``y s`` for two classes, for more the score of the true class less that of the rival of the trace.
    """
    rows, y, steps = examples
    for t in range(trace.size):
        i = trace[t] // np.uint64(b.size)
        own, sign = (0, float(y[i])) if b.size == 1 else (y[i], 1.0)
        margins[t] = sign * (dot(rows, i, W, own) + b[own])
        add(rows, i, sign * steps[i], W, own)
        b[own] += sign * steps[i] * offset
        if b.size > 1:
            rival = trace[t] % np.uint64(b.size)
            margins[t] -= dot(rows, i, W, rival) + b[rival]
            add(rows, i, -steps[i], W, rival)
            b[rival] -= steps[i] * offset


@compiled
def norms(rows, squares):
    """Squared norm of every row, into ``squares`` (n,)."""
    for i in range(squares.size):
        squares[i] = square(rows, i)


@compiled
def evaluate(examples, W, b, on_plane, one_vs_rest):
    """Visit all examples once: largest squared norm, smallest margin, loss, wrong predictions, scores not finite.

    The margin is ``y s`` for two classes, for more the score of the true class less that of its highest rival. With
    ``one_vs_rest`` the loss is that of the machines. Examples with step 0 are visited for their values only.
    """
    rows, y, steps = examples
    largest, smallest, total, wrong, broken = 0.0, np.inf, 0.0, 0, 0
    for i in range(y.size):
        if i + AHEAD < y.size:
            fetch(rows, i + AHEAD)
        own, rival, highest, losses = 0.0, 0, -np.inf, 0.0
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
            losses += max(0.0, -s if c == y[i] else s)
        if steps[i] == 0.0:
            continue
        v = own - highest
        largest = max(largest, squared)
        smallest = min(smallest, v)
        total += losses if one_vs_rest and b.size > 1 else max(0.0, -v)
        if v < 0.0 or (v == 0.0 and (y[i] != on_plane if b.size == 1 else rival < y[i])):
            wrong += 1  # on the plane the rule decides; of classes that tie the lowest is predicted
    return largest, smallest, total, wrong, broken
