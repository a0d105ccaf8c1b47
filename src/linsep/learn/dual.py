"""The dual form: mistakes are counted for each row, and rows enter only by inner products, such as those of a kernel.

``dual`` is the perceptron on kernel values; ``vote`` and ``vote_argmax`` ask all hypotheses of a run at once. As in
``kernels``, a compiled function calls only functions of its own file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from linsep import compiling
from linsep.data.arrays import is_sparse
from linsep.data.parallel import on_all_cores
from linsep.problem import Array, Floats

_BLOCK = 512  # rows that are visited before the scores of all others are corrected for their mistakes, in one product
_PART = 2500  # scores that one thread corrects at a time: not by the number of cores, which must not show

compiled = compiling.compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@compiled
def dual(S, K, place, examples, first, one_vs_rest, mistakes):
    """Any classes on kernel values, Freund & Schapire 1999, section 3, from row ``first`` of a block on.

    S (C, n) are the scores of the block, K[place[x]] the kernel values of row x with it, own[x] the machine of its
    class. A mistake adds ``± step k(x, z)`` to the scores of rows z that follow. Ends before one whose kernel values
    are not there (``place[x] < 0``). Writes (row, machine) of each mistake, and returns (first row not visited,
    mistakes made).
    """
    own, step = examples
    k = 0
    for x in range(first, S.shape[1]):
        rival, wrong = -1, False
        for c in range(S.shape[0]):
            if one_vs_rest:
                wrong |= (S[c, x] if c == own[x] else -S[c, x]) <= 0.0
            elif c != own[x] and (rival < 0 or S[c, x] > S[rival, x]):
                rival = c
        if not (wrong if one_vs_rest else S[own[x], x] <= S[rival, x]):
            continue
        if place[x] < 0:
            return x, k
        for c in range(S.shape[0]):
            sign = 1.0 if c == own[x] else -1.0
            if sign * S[c, x] <= 0.0 if one_vs_rest else (c == own[x] or c == rival):
                for z in range(x + 1, S.shape[1]):
                    S[c, z] += sign * step[x] * K[place[x], z]
                if one_vs_rest or c == rival:
                    mistakes[k] = x, c
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


# ---------------------------------------------------------------------------------------------------------------
# Passes on kernel values


@dataclass(frozen=True)
class Kernel:
    """An inner product of rows in a space of features."""

    kind: Any  # "rbf", "poly", "linear", "precomputed" or a callable
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 2

    def values(self, A: Any, B: Any) -> Floats:
        """Return the kernel values of all pairs of rows, shape (rows of A, rows of B)."""
        if callable(self.kind):
            return np.asarray(self.kind(A, B), dtype=np.float64)
        factor = {"poly": self.gamma, "rbf": 2.0 * self.gamma}.get(self.kind, 1.0)
        product = (A if factor == 1.0 else A * factor) @ B.T
        K: Floats = product.toarray() if is_sparse(product) else np.asarray(product)
        if self.kind == "poly":
            K += self.coef0
            K = np.square(K, out=K) if self.degree == 2 else K**self.degree
        elif self.kind == "rbf":
            K -= self.gamma * _squares(A)[:, None]
            K -= self.gamma * _squares(B)
            np.exp(K, out=K)
        return K


class KernelRows:
    """A cache of kernel values, of some training rows with all training rows.

    ``capacity`` is how many kernel values may be held, or computed at a time.
    """

    def __init__(self, kernel: Kernel, X: Any, capacity: int) -> None:
        n = X.shape[0]
        self.kernel, self.X, self.block = kernel, X, max(16, min(_BLOCK, math.isqrt(capacity)))
        self._values = np.empty((max(1, min(capacity // max(1, n), n)), n))
        self._slot = np.full(n, -1)  # of each row, where its values are; -1 if they are not there
        self._owner = np.full(len(self._values), -1)  # of each slot
        self._next = 0  # slot to be filled: that of the row that has been there longest
        length = n if callable(kernel.kind) else _PART
        self._parts = [(slice(start, start + length), X[start : start + length]) for start in range(0, n, length)]

    def among(self, rows: Array, others: Array) -> Floats:
        """Return the kernel values of some rows with others, without the cache."""
        if self.kernel.kind == "precomputed":
            values: Floats = self.X[rows[:, None], others]
            return values
        return self.kernel.values(self.X[rows], self.X[others])

    def add(self, rows: Array, factors: Floats, S: Floats) -> None:
        """Add ``Σ factor k(row, x)`` to the scores of all rows x; ``factors`` is (machines, rows)."""
        known = self._slot[rows] >= 0
        self._add(rows[known], factors[:, known], S, new=False)
        missing, size = np.flatnonzero(~known), len(self._values)
        for start in range(0, len(missing), size):
            part = missing[start : start + size]
            slots = (self._next + np.arange(len(part))) % size
            dropped = self._owner[slots]
            self._slot[dropped[dropped >= 0]] = -1
            self._slot[rows[part]], self._owner[slots], self._next = slots, rows[part], int(slots[-1] + 1) % size
            self._add(rows[part], factors[:, part], S, new=True)

    def _add(self, rows: Array, factors: Floats, S: Floats, *, new: bool) -> None:
        """Add as ``add`` does, for rows that have slots; ``new`` ones are computed first."""
        slots, A = self._slot[rows], self.X[rows[: len(rows) if new else 0]]

        def correct(part: tuple[slice, Any]) -> None:
            columns, B = part
            if new:
                computed = A[:, columns] if self.kernel.kind == "precomputed" else self.kernel.values(A, B)
                self._values[slots, columns] = computed
            S[:, columns] += factors @ self._values[slots, columns]

        if len(rows):
            on_all_cores(correct, self._parts)


def dual_pass(
    cache: KernelRows, S: Floats, own: Array, steps: Floats, order: Array, *, one_vs_rest: bool
) -> tuple[Array, Array]:
    """Visit rows in an order, keeping the scores ``S`` of all rows up to date; return visit and machine of mistakes.

    ``own`` is the machine of each row's class, -1 if it has none. Within a block, mistakes correct the scores of the
    rows that follow; after it, those of all rows at once.
    """
    pairs = [np.empty((0, 2), np.int64)]
    for start in range(0, len(order), cache.block):
        block = order[start : start + cache.block]
        scores, examples = S[:, block], (own[block], steps[block])
        likely = np.flatnonzero(_are_mistakes(scores, own[block], one_vs_rest))  # one product for all of them
        known, place = len(likely), np.full(len(block), -1)
        K, place[likely] = np.empty((len(block), len(block))), np.arange(known)
        if known:
            K[:known] = cache.among(block[likely], block)
        mistakes, x = np.empty((len(block) * len(S), 2), np.int64), 0
        here = [mistakes[:0]]
        while x < len(block):
            x, k = dual(scores, K, place, examples, x, one_vs_rest, mistakes)
            here.append(mistakes[:k].copy())
            if x < len(block):  # a mistake that was none before those of the block
                K[known], place[x] = cache.among(block[x : x + 1], block)[0], known
                known += 1
        visits, machines = np.concatenate(here).T
        rows, which = np.unique(block[visits], return_inverse=True)
        mistaken = which, own[block[visits]], machines, steps[block[visits]]
        cache.add(rows, dual_factors(*mistaken, (len(S), len(rows)), one_vs_rest=one_vs_rest), S)
        pairs.append(np.column_stack((visits + start, machines)))
    visits, machines = np.concatenate(pairs).T
    return visits, machines


def dual_factors(
    which: Array, own: Array, concerned: Array, steps: Floats, shape: tuple[int, int], *, one_vs_rest: bool
) -> Floats:
    """Return the factor of each row in each machine after mistakes on the rows, (machines, rows).

    Of each mistake: its row, the machine of the row's class or -1, the machine concerned, the step. Where machines are
    compared, the one concerned is the rival.
    """
    D = np.zeros(shape)
    if one_vs_rest:
        np.add.at(D, (concerned, which), np.where(own == concerned, steps, -steps))
    else:
        np.add.at(D, (np.append(own, concerned), np.append(which, which)), np.append(steps, -steps))
    return D


def _are_mistakes(S: Floats, own: Array, one_vs_rest: bool) -> Array:
    """Say on which rows some machine errs, of their scores (machines, rows)."""
    columns = np.arange(S.shape[1])
    if one_vs_rest:
        signs = np.where(own == np.arange(len(S))[:, None], 1.0, -1.0)
        return np.asarray((signs * S <= 0).any(axis=0))
    rivals = S.copy()
    rivals[own, columns] = -np.inf
    behind: Array = S[own, columns] <= rivals.max(axis=0)
    return behind


def _squares(X: Any) -> Floats:
    squares: Floats = np.asarray(X.multiply(X).sum(axis=1)).ravel() if is_sparse(X) else np.einsum("ij,ij->i", X, X)
    return squares
