"""Compiled loops of the dual form, which count mistakes per row and use only inner products.

``dual`` is the perceptron on kernel values; ``vote`` and ``vote_argmax`` ask all hypotheses of a run at once, and
``sparse_vote`` and ``sparse_vote_argmax`` do so where most inner products are zero. As in ``kernels``, a compiled
function calls only functions of its own file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linsep import compiling

compiled = compiling.compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
inlined = compiling.compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"}, inline="always")


@compiled
def dual(S, K, examples, alone, first, most, found):
    """Any classes on kernel values, Freund & Schapire 1999, section 3, from row ``first`` of a block on.

    S (C, n) are the scores of the block, K[place[x]] the kernel values of row x with it, own[x] the machine of its
    class. A mistake adds ``± eta k(x, z)`` to the scores of rows z that follow. Ends after ``most`` rows that erred, or
    before one whose kernel values are not there (``place[x] < 0``). Writes (row, machine) of each mistake to ``found``
    and returns (first row not looked at, mistakes made).
    """
    place, own, step = examples
    k, erred = 0, 0
    for x in range(first, S.shape[1]):
        rival, wrong = -1, False
        for c in range(S.shape[0]):
            if alone:
                wrong |= (S[c, x] if c == own[x] else -S[c, x]) <= 0.0
            elif c != own[x] and (rival < 0 or S[c, x] > S[rival, x]):
                rival = c
        if not (wrong if alone else S[own[x], x] <= S[rival, x]):
            continue
        if place[x] < 0:
            return x, k
        erred += 1
        for c in range(S.shape[0]):
            sign = 1.0 if c == own[x] else -1.0
            if sign * S[c, x] <= 0.0 if alone else (c == own[x] or c == rival):
                for z in range(x + 1, S.shape[1]):
                    S[c, z] += sign * step[x] * K[place[x], z]
                if alone or c == rival:
                    found[k] = x, c
                    k += 1
        if erred == most:
            return x + 1, k
    return S.shape[1], k


# ---------------------------------------------------------------------------------------------------------------
# Voting: all hypotheses of a run, each of them its predecessor and one mistake, on some rows x at once. K[r, x] is the
# inner product of mistaken row r with x; S holds the scores of the first hypothesis and is used up; hypothesis k, which
# ends with mistake k, has spans[k] votes.


@compiled
def vote(K, which, steps, spans, S, on_plane, votes):
    """Two classes, Freund & Schapire 1999, figure 1: ``Σ c_k sign(v_k·x)`` into ``votes``; S and votes are (n,)."""
    for k in range(spans.size):
        for x in range(S.size):
            s = S[x]
            votes[x] += spans[k] * (1.0 if s > 0.0 else (-1.0 if s < 0.0 else on_plane))
        if k < which.size:
            r = which[k]
            for x in range(S.size):
                S[x] += steps[k] * K[r, x]


@compiled
def vote_argmax(K, moves, steps, spans, S, votes):
    """Multiclass: every hypothesis gives its votes to the class it predicts; S is (C, n), votes (n, C).

    Move k is (mistaken row, its class, the rival): the score of the class goes up, that of the rival down. The votes of
    a class are counted when another takes its place: few rows change their class at once, so that the rest is loops
    without a branch.
    """
    n = S.shape[1]
    top, winner, now, since, past = np.empty(n), np.zeros(n, np.int64), np.empty(n, np.int64), np.zeros(n), 0.0
    for k in range(spans.size):
        top[:] = S[0]
        now[:] = 0
        for c in range(1, S.shape[0]):
            for x in range(n):
                higher = S[c, x] > top[x]
                top[x] = S[c, x] if higher else top[x]
                now[x] = c if higher else now[x]
        for x in range(n):
            if now[x] != winner[x]:
                votes[x, winner[x]] += past - since[x]
                winner[x], since[x] = now[x], past
        past += spans[k]
        if k < moves.shape[0]:
            r, own, rival = moves[k]
            for x in range(n):
                S[own, x] += steps[k] * K[r, x]
            for x in range(n):
                S[rival, x] -= steps[k] * K[r, x]
    for x in range(n):
        votes[x, winner[x]] += past - since[x]


# ---------------------------------------------------------------------------------------------------------------
# The same where most inner products are zero: P is their matrix in CSR, a row for each x and a column for each mistaken
# row. Few mistakes change the inner product of x with the weights; between them only the offsets move, which are the
# same for all x. So hypotheses come in blocks, small enough for the cache, and in each block a row meets few mistakes,
# or none. Two classes are compared like more, where the first has the score 0 throughout.

BLOCK = 256  # hypotheses


class Voters(NamedTuple):
    """The hypotheses of a run: hypothesis k + 1 is hypothesis k and mistake k."""

    starts: Any  # (R + 1,) mistakes on row r are order[starts[r] : starts[r + 1]]
    order: Any  # (K,)
    steps: Any  # (K,)
    shifts: Any  # (K,) what each mistake adds to an offset
    moves: Any  # (K, 2) the classes whose scores go up and down; the number of classes stands for none
    past: Any  # (K + 2,) votes of all hypotheses before each


@compiled
def sparse_vote(P, voters, scores, votes):
    """Every hypothesis gives its votes to the class it predicts, the lowest of equals; scores are (n, C + 1)."""
    n, C = votes.shape
    ends, events, change = _met(P, voters, n)
    hypotheses = voters.past.size - 1
    b, offsets, past = np.zeros((C, BLOCK)), np.zeros(C + 1), np.zeros(BLOCK + 1)
    low, high = np.empty(C), np.empty(C)
    e = 0
    for block in range(ends.size):
        first, size = block * BLOCK, min(BLOCK, hypotheses - block * BLOCK)
        past[: size + 1] = voters.past[first : first + size + 1]
        for k in range(size):
            if first + k > 0:
                up, down = voters.moves[first + k - 1]
                offsets[up] += voters.shifts[first + k - 1]
                offsets[down] -= voters.shifts[first + k - 1]
            b[:, k] = offsets[:C]
        for c in range(C):
            low[c], high[c] = b[c, :size].min(), b[c, :size].max()
        for x in range(np.uint64(n)):
            begun = 0
            while e < ends[block] and events[e, 0] == x:
                k = events[e, 1] - first
                _share(x, begun, k, (b, low, high, past), scores, votes)
                up, down = voters.moves[first + k - 1]
                scores[x, up] += change[e]
                scores[x, down] -= change[e]
                begun = k
                e += 1
            _share(x, begun, size, (b, low, high, past), scores, votes)


@compiled
def _met(P, voters, n):
    """Return the mistakes that change scores: by block, then row, then hypothesis; and where each block ends.

    An event is (row, first hypothesis with the new score); how much the score changes stands beside it.
    """
    data, indices, indptr = P
    ends = np.zeros((voters.past.size - 2) // BLOCK + 1, np.int64)
    for p in range(indptr[n]):
        for q in range(voters.starts[indices[p]], voters.starts[indices[p] + 1]):
            ends[(voters.order[q] + 1) // BLOCK] += 1
    ends = np.cumsum(ends)
    place = np.zeros(ends.size, np.int64)
    place[1:] = ends[:-1]
    events, change = np.empty((ends[-1], 2), np.int64), np.empty(ends[-1])
    for x in range(n):
        for p in range(indptr[x], indptr[x + 1]):
            for q in range(voters.starts[indices[p]], voters.starts[indices[p] + 1]):
                k = voters.order[q]
                block = (k + 1) // BLOCK
                e = place[block]
                floor = ends[block - 1] if block > 0 else 0
                while e > floor and events[e - 1, 0] == x and events[e - 1, 1] > k + 1:  # few of a row are in a block
                    events[e], change[e] = events[e - 1], change[e - 1]
                    e -= 1
                events[e, 0], events[e, 1] = x, k + 1
                change[e] = voters.steps[k] * data[p]
                place[block] += 1
    return ends, events, change


@inlined
def _share(x, begin, end, block, s, votes):
    """Give the votes of some hypotheses of a block to the classes they predict, between two changes of the scores.

    A class whose highest score is below the lowest of another predicts nothing; mostly one or two classes are left.
    """
    b, low, high, past = block
    C = np.uint64(low.size)
    floor = -np.inf
    for c in range(C):
        floor = max(floor, s[x, c] + low[c])
    one, two, left = C, C, 0
    for c in range(C):
        if s[x, c] + high[c] >= floor:
            left += 1
            one, two = (c, two) if left == 1 else (one, c if left == 2 else two)
    gained = 0.0
    if left == 2:
        s1, s2 = s[x, one], s[x, two]
        for k in range(np.uint64(begin), np.uint64(end)):
            gained += past[k + np.uint64(1)] - past[k] if s2 + b[two, k] > s1 + b[one, k] else 0.0
        votes[x, two] += gained
    if left <= 2:
        votes[x, one] += past[end] - past[begin] - gained
    else:
        for k in range(np.uint64(begin), np.uint64(end)):
            best, top = one, s[x, one] + b[one, k]
            for c in range(two, C):
                now = s[x, c] + b[c, k]
                best, top = (c, now) if now > top else (best, top)
            votes[x, best] += past[k + np.uint64(1)] - past[k]
