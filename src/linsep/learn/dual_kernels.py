"""Compiled loops of the dual form, which count mistakes per row and use only inner products.

``dual`` is the perceptron on kernel values; ``vote`` and ``vote_argmax`` ask all hypotheses of a run at once. As in
``kernels``, a compiled function calls only functions of its own file.
"""

from __future__ import annotations

import numpy as np

from linsep import compiling

compiled = compiling.compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@compiled
def dual(S, K, examples, alone, first, found):
    """Any classes on kernel values, Freund & Schapire 1999, section 3, from row ``first`` of a block on.

    S (C, n) are the scores of the block, K[place[x]] the kernel values of row x with it, own[x] the machine of its
    class. A mistake adds ``± eta k(x, z)`` to the scores of rows z that follow. Ends before one whose kernel values are
    not there (``place[x] < 0``). Writes (row, machine) of each mistake to ``found`` and returns (first row not visited,
    mistakes made).
    """
    place, own, step = examples
    k = 0
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
        for c in range(S.shape[0]):
            sign = 1.0 if c == own[x] else -1.0
            if sign * S[c, x] <= 0.0 if alone else (c == own[x] or c == rival):
                for z in range(x + 1, S.shape[1]):
                    S[c, z] += sign * step[x] * K[place[x], z]
                if alone or c == rival:
                    found[k] = x, c
                    k += 1
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
