"""Passes in dual form: the model counts the mistakes on each row, and rows enter only through a kernel.

The scores of all rows are kept up to date. Rows are visited block by block: within one, every mistake corrects the
scores of the rows that follow; the scores of all others are corrected for many mistakes at once, which is one product.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from linsep.learn import dual_kernels
from linsep.problem import Array, Floats, Stop

_BLOCK = 256  # rows that are visited with kernel values of their own
_PENDING = 64  # support rows whose factors have changed since all scores were: fewer would make a slow product
_PART = 2500  # rows whose scores one thread corrects at a time: not by the number of cores, which must not show


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
        K: Floats = product.toarray() if sp.issparse(product) else np.asarray(product)
        if self.kind == "poly":
            K += self.coef0
            K = np.square(K, out=K) if self.degree == 2 else K**self.degree
        elif self.kind == "rbf":
            K -= self.gamma * _squares(A)[:, None]
            K -= self.gamma * _squares(B)
            np.exp(K, out=K)
        return K

    def some(self, pool: Any, rows: Array, others: slice | Array) -> Floats:
        """Return the kernel values of some rows of a pool with others of it."""
        if self.kind != "precomputed":
            return self.values(pool[rows], pool[others])
        values: Floats = pool[rows, others] if isinstance(others, slice) else pool[rows[:, None], others]
        return values


class Machines(NamedTuple):
    """The weight vectors of a run: binary machines, each on its own, or one for each class, which are compared."""

    number: int
    alone: bool
    positive: int = 1  # the class on the positive side, where there is one machine

    def own(self, codes: Array) -> Array:
        """Return the machine of every row's own class, -1 if it has none."""
        return codes if self.number > 1 else np.where(codes == self.positive, 0, -1)

    def err(self, S: Floats, codes: Array) -> Array:
        """Say on which rows some machine errs."""
        own, columns = self.own(codes), np.arange(S.shape[1])
        if self.alone:
            signs = np.where(own == np.arange(self.number)[:, None], 1.0, -1.0)
            return np.asarray((signs * S <= 0).any(axis=0))
        rivals = S.copy()
        rivals[own, columns] = -np.inf
        behind: Array = S[own, columns] <= rivals.max(axis=0)
        return behind

    def change(self, codes: Array, steps: Floats, machine: Array) -> tuple[Array, Array, Floats]:
        """Return what mistakes change: number of the mistake, machine, and by how much the factor of its row."""
        own, each = self.own(codes), np.arange(len(codes))
        if self.alone:
            return each, machine, np.where(own == machine, steps, -steps)
        return np.append(each, each), np.append(own, machine), np.append(steps, -steps)

    def factors(self, codes: Array, steps: Floats, place: Array, machine: Array) -> Floats:
        """Return the factors of the rows ``place`` in every machine, after these mistakes on them: (number, rows)."""
        D = np.zeros((self.number, int(place.max(initial=-1)) + 1))
        mistake, changed, change = self.change(codes, steps, machine)
        np.add.at(D, (changed, place[mistake]), change)
        return D


class Pool(NamedTuple):
    """Rows that may become support rows; those before ``first`` are support rows already."""

    rows: Any
    codes: Array  # of their classes
    steps: Floats  # how far a mistake on each moves
    first: int = 0


@dataclass
class Mistakes:
    """The mistakes of a run in order, of which every hypothesis is a sum."""

    place: list[int]  # of the row, in the pool
    machine: list[int]  # concerned: of classes that are compared, the rival
    visit: list[int]  # visits before
    visited: int = 0  # visits in all, mistakes or not


class Run:
    """Passes over the rows of a pool that are not support rows from the start.

    The kernel values of ``capacity`` support rows with all rows are kept.
    """

    def __init__(
        self, kernel: Kernel, pool: Pool, machines: Machines, mistakes: Mistakes, *, capacity: int = 1
    ) -> None:
        rows, codes, steps, first = pool
        self.codes, self.steps, self.first = codes, steps, first
        self.machines, self.mistakes = machines, mistakes
        self.trace: list[int] = []  # of this run
        self.passes: list[int] = []  # mistakes of each
        self.columns = _Columns(kernel, rows, capacity)
        n = rows.shape[0]
        self.S = np.zeros((machines.number, n))  # scores, all of them up to date but for what is pending:
        self.pending: dict[int, Floats] = {}  # changes of factors
        if first:
            place = np.array(mistakes.place, np.int64)
            D = machines.factors(codes[place], steps[place], place, np.array(mistakes.machine, np.int64))
            self.S[:, first:] = D @ kernel.some(rows, np.arange(first), slice(first, n))

    def train(self, max_iter: int, order: Callable[[int, Array], None]) -> Stop:
        """Make passes until one is clean; ``order`` brings the rows into that of a pass."""
        # most products are too small to be shared out: threads that wait for each other would cost more than they save
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(os.cpu_count()) as threads:
            for number in range(max_iter):
                rows = np.flatnonzero(self.steps[self.first :] > 0).astype(np.uint32)
                order(number, rows)
                before = len(self.trace)
                for start in range(0, len(rows), _BLOCK):
                    self._block(rows[start : start + _BLOCK].astype(np.intp) + self.first)
                    if len(self.pending) >= _PENDING:
                        self.columns.add(self.pending, self.S, threads)
                        self.pending.clear()
                self.passes.append(len(self.trace) - before)
                if len(self.trace) == before:
                    return Stop.SEPARATED
        return Stop.MAX_ITER

    def _block(self, rows: Array) -> None:
        """Look at some rows one after another."""
        n, S, codes, near = len(rows), self.S[:, rows], self.codes[rows], _Near(self.columns, rows)
        if self.pending:
            S += np.column_stack(list(self.pending.values())) @ near.values(list(self.pending))
        likely = np.flatnonzero(self.machines.err(S, codes))  # to err, so that one product will do for all of them
        known = len(likely)
        K, place = np.empty((n, n)), np.full(n, -1)  # kernel values of rows of the block with it, and of which rows
        if known:
            K[:known], place[likely] = near.values(rows[likely].tolist()), np.arange(known)
        examples, alone = (place, self.machines.own(codes), self.steps[rows]), self.machines.alone
        found = np.empty((n * self.machines.number, 2), np.int64)
        x = 0
        while x < n:
            x, k = dual_kernels.dual(S, K, examples, alone, x, found)
            self._note(rows, found[:k])
            if x < n:  # an unlikely mistake
                K[known], place[x] = near.values([int(rows[x])])[0], known
                known += 1
        if not np.isfinite(S).all():
            raise ValueError("a score overflowed to infinity: scale X down, or choose a smaller gamma or degree")
        self.mistakes.visited += n

    def _note(self, rows: Array, found: Array) -> None:
        """Take up mistakes, each of which is a place in the block and the machine concerned."""
        at, machine = found.T
        i = rows[at]
        self.mistakes.place += i.tolist()
        self.mistakes.machine += machine.tolist()
        self.mistakes.visit += (at + self.mistakes.visited).tolist()
        self.trace += i.tolist()
        mistake, changed, change = self.machines.change(self.codes[i], self.steps[i], machine)
        for r, c, value in zip(i[mistake].tolist(), changed.tolist(), change.tolist(), strict=True):
            self.pending.setdefault(r, np.zeros(self.machines.number))[c] += value


class _Columns:
    """Kernel values of support rows with all rows, of at most ``capacity`` of them, those used last."""

    def __init__(self, kernel: Kernel, pool: Any, capacity: int) -> None:
        n = pool.shape[0]
        self.kernel, self.pool, self.capacity = kernel, pool, max(1, min(capacity, n))
        self.store = np.empty((self.capacity, n))
        self.slots: OrderedDict[int, int] = OrderedDict()

    def add(self, changes: dict[int, Floats], S: Floats, threads: ThreadPoolExecutor) -> None:
        """Correct the scores of all rows for changes of factors."""
        n, held = self.pool.shape[0], [r for r in changes if r in self.slots]
        new = [r for r in changes if r not in self.slots]
        length = n if callable(self.kernel.kind) else _PART
        for rows in (held, *(new[start : start + self.capacity] for start in range(0, len(new), self.capacity))):
            if rows:
                D = np.column_stack([changes[r] for r in rows])
                work = partial(self._add, np.array(rows), self._places(rows), rows is held, D, S)
                list(threads.map(work, [slice(begin, begin + length) for begin in range(0, n, length)]))

    def _add(self, rows: Array, slots: Array, held: bool, D: Floats, S: Floats, part: slice) -> None:
        """Correct the scores of one part for changes of the factors of rows that are all held, or all not yet."""
        K = self.store[slots, part] if held else self.kernel.some(self.pool, rows, part)
        S[:, part] += D @ K
        if not held:
            self.store[slots, part] = K

    def _places(self, rows: list[int]) -> Array:
        """Return where in the store rows are, or are to be: in place of those used longest ago."""
        for r in rows:
            if r in self.slots:
                self.slots.move_to_end(r)
            else:
                full = len(self.slots) == self.capacity
                self.slots[r] = self.slots.popitem(last=False)[1] if full else len(self.slots)
        return np.array([self.slots[r] for r in rows], np.intp)


class _Near:
    """Kernel values of support rows with the rows of one block, computed where they are not held already."""

    def __init__(self, columns: _Columns, rows: Array) -> None:
        self.columns, self.rows = columns, rows
        self.block: Any = None
        self.known: dict[int, Floats] = {}

    def values(self, support: list[int]) -> Floats:
        """Return those of some support rows, shape (support, rows)."""
        kernel, pool, slots = self.columns.kernel, self.columns.pool, self.columns.slots
        new = []
        for r in support:
            if r not in self.known:
                if r in slots:
                    self.known[r] = self.columns.store[slots[r], self.rows]
                else:
                    new.append(r)
        if new and kernel.kind == "precomputed":
            self.known.update(zip(new, kernel.some(pool, np.array(new), self.rows), strict=True))
        elif new:
            if self.block is None:
                self.block = pool[self.rows]
            self.known.update(zip(new, kernel.values(pool[new], self.block), strict=True))
        return np.array([self.known[r] for r in support])


def _squares(X: Any) -> Floats:
    """Return the squared norm of every row."""
    squares: Floats = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    return squares
