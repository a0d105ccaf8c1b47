"""Stores all hypotheses of a run with their votes, as the mistakes that lead to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np

from linsep.data.arrays import as_scipy, is_sparse
from linsep.learn import dual_kernels
from linsep.learn.averaging import Arrays, Average, Best, KernelCall, WeightTracker, kept_beside, whole_numbers
from linsep.learn.weights import Weights
from linsep.problem import Array, Dense, Examples, Floats, Rows, Sparse, take

_BLOCK = 1 << 24  # bytes of inner products to vote on at a time: fewer make a slow product, more leave the cache
Sweep = Callable[[Any, Floats, Floats], None]  # inner products, scores of the first hypothesis, votes
_LISTS = ("codes", "steps", "offsets", "trace", "looks")


class Vote(WeightTracker):
    """All hypotheses, each with one vote for every visit that left it behind (Freund & Schapire 1999).

    They are not stored: each is its predecessor and one mistake, so two numbers for every mistake are, and once every
    row that erred. Memory therefore grows with the mistakes, for rows that come from a file too.
    """

    kind = "vote"

    def __init__(self, alone: bool = False) -> None:
        self.alone = alone  # whether every weight vector is a machine of its own
        self._reset()

    def _reset(self) -> None:
        """Forget everything."""
        self.visited = 0
        self.start: Weights | None = None  # of the run, unless zero
        self.machines = 1
        self.rows: list[Rows] = []  # that erred, each once
        self.codes: list[Array] = []  # their classes
        self.steps: list[Floats] = []
        self.offsets: list[Floats] = []  # what each adds to the offset for a step of 1
        self.trace: list[Array] = []  # place among these rows * machines + weight vector concerned
        self.looks: list[Array] = []  # before each mistake
        self.ids = np.empty(0, np.int64)  # numbers in the problem of the rows that are kept, sorted
        self.places = np.empty(0, np.int64)  # and where each is kept
        self.rows_kept = 0

    def on_call_start(self, rule: Any, weights: Weights) -> Any:
        """Remember the first weights, unless they are zero."""
        if self.visited == 0 and self.start is None and not weights.zeros:
            self.start = weights.plain().copy()
        self.machines = weights.machines
        return rule

    def on_call_end(self, call: KernelCall, weights: Weights) -> None:
        """Keep the mistakes, and the rows that had not erred before."""
        if len(call.mistakes):
            m = np.uint64(weights.machines)
            local = (call.mistakes // m).astype(np.intp)
            looks = call.visits(weights.machines)
            ids = call.order[looks].astype(np.int64) + call.first_row
            erred, first = np.unique(ids, return_index=True)
            new = ~np.isin(erred, self.ids, assume_unique=True)
            self._keep(call, local[first[new]], erred[new])
            places = self.places[np.searchsorted(self.ids, ids)].astype(np.uint64)
            self.trace.append(places * m + call.mistakes % m)
            self.looks.append(looks + self.visited)
        self.visited += call.visited

    def _keep(self, call: KernelCall, local: Array, ids: Array) -> None:
        """Keep some rows of a call under their numbers."""
        examples = call.examples
        y = examples.y[local]
        self.rows.append(take(examples.rows, local))
        self.codes.append(((y + 1) // 2 if self.machines == 1 else y).astype(np.int64))
        self.steps.append(examples.step[local])
        self.offsets.append(np.full(len(local), call.rule.offset))
        at = np.searchsorted(self.ids, ids)
        self.places = np.insert(self.places, at, np.arange(self.rows_kept, self.rows_kept + len(ids)))
        self.ids = np.insert(self.ids, at, ids)
        self.rows_kept += len(ids)

    def wrong(self, examples: Examples, weights: Weights, on_plane: int) -> int:
        """Return how many examples the vote predicts wrong."""
        V = self.votes(as_scipy(examples.rows, weights.n_features), on_plane)
        if self.machines > 1:
            wrong = V.argmax(axis=1) != examples.y
        else:
            wrong = np.where(V[:, 0] == 0, on_plane, V[:, 0]) * examples.y < 0
        return int(np.count_nonzero(wrong))

    def votes(self, X: Any, on_plane: int) -> Floats:
        """Return the votes of all hypotheses on some rows, shape (n, machines).

        One weight vector: the votes for the positive side less those for the other. Many: the votes for each class,
        or if each is a machine of its own, for it less those against it.
        """
        n, d = X.shape
        M = _as_floats(self._erred(d))
        offsets, V = _join(self.offsets), np.zeros((n, self.machines))
        sweep, size = self.sweep(on_plane), max(16, _BLOCK // (8 * max(1, self.rows_kept)))
        ends = np.append(np.arange(size, n, size), n)

        def vote(begin: int, end: int) -> None:
            block = _as_floats(X[begin:end])
            K = _product(M, block)
            if offsets.any():
                K += offsets[:, None]
            sweep(K, self._first_scores(block), V[begin:end])

        if len(ends) == 1:
            vote(0, n)
        else:  # side by side rather than all cores on one product: the sweep is half of the work
            from threadpoolctl import threadpool_limits

            with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(os.cpu_count()) as threads:
                list(threads.map(vote, np.append(0, ends[:-1]).tolist(), ends.tolist()))
        return V

    def sweep(self, on_plane: int) -> Sweep:
        """Return what adds up the votes on some rows, of their inner products K and first scores S, into V."""
        which, own, concerned, steps, looks = self._mistakes()
        if self.machines > 1 and not self.alone:
            moves, spans = np.column_stack((which, own, concerned)), _spans(looks, self.visited)
            return lambda K, S, V: dual_kernels.vote_argmax(K, moves, steps, spans, S, V)
        jobs = [
            (which[mine], signs * steps[mine], _spans(looks[mine], self.visited))
            for mine, signs in self._by_machine(own, concerned)
        ]
        return _each(lambda K, c, S, column: dual_kernels.vote(K, *jobs[c], S, float(on_plane), column))

    def _mistakes(self) -> tuple[Array, Array, Array, Floats, Array]:
        """Return of every mistake the row, its class, the weight vector concerned, the step, and the looks before."""
        m = np.uint64(self.machines)
        trace = _join(self.trace).astype(np.uint64)
        which, concerned = (trace // m).astype(np.intp), (trace % m).astype(np.intp)
        own, steps = _join(self.codes).astype(np.intp)[which], _join(self.steps)[which].astype(np.float64)
        return which, own, concerned, steps, _join(self.looks)

    def _by_machine(self, own: Array, concerned: Array) -> Iterator[tuple[Array, Floats]]:
        """Yield which mistakes each machine made, and their signs."""
        for c in range(self.machines):
            mine = concerned == c
            yield mine, np.where(own[mine] == (1 if self.machines == 1 else c), 1.0, -1.0)

    def _first_scores(self, X: Any) -> Floats:
        """Return the scores of the first hypothesis, shape (machines, n)."""
        if self.start is None:
            return np.zeros((self.machines, X.shape[0]))
        self.start.widen(X.shape[1])
        S = X @ self.start.W.T + self.start.b
        return np.ascontiguousarray(S.T)

    def _erred(self, d: int) -> Any:
        """Return the rows that erred as one matrix, and hold them as one from now on."""
        if len(self.rows) > 1:
            if all(isinstance(part, Dense) for part in self.rows):
                self.rows = [Dense(np.concatenate([part.data for part in self.rows]))]
            else:
                import scipy.sparse as sp

                parts = [sp.csr_array(as_scipy(part, d)) for part in self.rows]
                self.rows = [_rows(sp.vstack(parts, format="csr"))]
        return as_scipy(self.rows[0], d) if self.rows else np.zeros((0, d))

    def on_run_end(self) -> None:
        """Forget the numbers of the rows: others will come under the same."""
        self.ids, self.places = np.empty(0, np.int64), np.empty(0, np.int64)

    def held(self) -> list[Weights]:
        """Return the first weights."""
        return [] if self.start is None else [self.start]

    def unscale(self, scaling: Any) -> None:
        """Change the rows, and what they add to the offset: a hypothesis is a sum of them."""
        super().unscale(scaling)
        if self.rows:
            X, offsets = scaling.undo(self._erred(_width(self.rows)), _join(self.offsets))
            self.rows, self.offsets = [_rows(X)], [offsets]

    def grow(self, places: Array, classes: int) -> None:
        """Make room for more classes: a mistake of a binary machine is one of two opposite ones."""
        if len(places) == 1 and classes > 2:  # while there was one class only, there was nothing to vote on
            self._reset()
            return
        super().grow(places, classes)
        trace, looks, codes = _join(self.trace).astype(np.uint64), _join(self.looks), _join(self.codes)
        codes = np.full_like(codes, places[0]) if len(places) == 1 else places[codes.astype(np.intp)]
        self.codes = [codes]
        if classes > 2:
            m = np.uint64(self.machines)
            which, concerned = (trace // m).astype(np.intp), (trace % m).astype(np.intp)
            if self.machines > 1:
                concerned = places[concerned]
            elif self.alone:
                which, looks = np.repeat(which, 2), np.repeat(looks, 2)
                concerned = np.tile(places, len(trace))
            else:
                concerned = places.sum() - codes[which]  # the other one of two
            self.trace = [which.astype(np.uint64) * np.uint64(classes) + concerned.astype(np.uint64)]
            self.looks, self.machines = [looks], classes

    def state(self) -> Arrays:
        """Return the rows that erred, the mistakes in order, and the first weights."""
        self._erred(_width(self.rows))
        arrays = {"numbers": np.array([self.alone, self.visited, self.machines, self.rows_kept])}
        arrays |= {"ids": self.ids, "places": self.places}
        arrays |= {name: _join(getattr(self, name)) for name in _LISTS}
        for rows in self.rows:
            arrays |= {f"rows_{name}": part for name, part in rows._asdict().items()}
        if self.start is not None:
            arrays |= {"start_W": self.start.W, "start_b": self.start.b}
        return arrays

    @classmethod
    def from_state(cls, arrays: Arrays, like: Weights) -> Self:
        """Return the tracker that was written as these arrays."""
        alone, visited, machines, rows_kept = whole_numbers(arrays["numbers"], 4)
        self = cls(bool(alone))
        self.visited, self.machines, self.rows_kept = visited, machines, rows_kept
        self.ids, self.places = arrays["ids"], arrays["places"]
        for name in _LISTS:
            setattr(self, name, [arrays[name]])
        if "rows_indptr" in arrays:
            self.rows = [Sparse(arrays["rows_data"], arrays["rows_indices"], arrays["rows_indptr"])]
        elif "rows_data" in arrays:
            self.rows = [Dense(arrays["rows_data"])]
        self.start = kept_beside(arrays, "start", like)
        if machines != len(like.b) and visited:
            raise ValueError("the number of machines of its vote")
        self._check_rows(like.W.shape[1])
        self._check_mistakes()
        return self

    def _check_rows(self, d: int) -> None:
        """Refuse rows that are none: compiled code would follow them anywhere."""
        rows = self.rows_kept
        kept = self.rows[0] if self.rows else Dense(np.zeros((0, d)))
        right = bool(np.isfinite(kept.data).all()) and kept.data.dtype.kind in "iuf"
        if isinstance(kept, Dense):
            right = right and kept.data.shape == (rows, d)
        else:
            ends, indices = kept.indptr.astype(np.float64), kept.indices
            right = right and kept.indptr.dtype == indices.dtype and indices.dtype.kind == "u" and ends.ndim == 1
            right = right and len(ends) == rows + 1 and ends[0] == 0 and bool((np.diff(ends) >= 0).all())
            right = right and ends[-1] == len(kept.data) == len(indices) and int(indices.max(initial=0)) < max(1, d)
        if not right:
            raise ValueError("rows of its vote")

    def _check_mistakes(self) -> None:
        """Refuse mistakes that point outside the rows or classes."""
        rows, m = self.rows_kept, self.machines
        (codes, steps, offsets, trace, looks), numbers = (
            (getattr(self, name)[0] for name in _LISTS),
            (self.ids, self.places),
        )
        right = (
            codes.shape == steps.shape == offsets.shape == (rows,) and trace.shape == looks.shape and trace.ndim == 1
        )
        right = right and all(array.dtype.kind in "iuf" for array in (codes, steps, offsets, trace, looks))
        right = right and bool(((codes >= 0) & (codes < max(2, m))).all() and ((trace >= 0) & (trace < rows * m)).all())
        right = right and bool(np.isfinite(steps).all() and np.isfinite(offsets).all())
        right = right and numbers[0].shape == numbers[1].shape in ((0,), (rows,))
        right = right and bool(((numbers[1] >= 0) & (numbers[1] < rows)).all() and (np.diff(numbers[0]) > 0).all())
        visits = np.concatenate(([0], looks, [self.visited])).astype(np.float64)
        if not (right and bool((np.diff(visits) >= 0).all())):
            raise ValueError("mistakes of its vote")


TRACKERS: dict[str, type[WeightTracker]] = {kind.kind: kind for kind in (WeightTracker, Average, Best, Vote)}


def new_tracker(kind: str, alone: bool) -> WeightTracker:
    """Return what tracks the weights that are asked for; ``alone``: each weight vector is a machine of its own."""
    return Vote(alone) if kind == Vote.kind else TRACKERS[kind]()


def _join(parts: list[Array]) -> Array:
    """Make one array of a list of them, and leave it as the only one in the list."""
    if len(parts) != 1:
        parts[:] = [np.concatenate(parts) if parts else np.empty(0)]
    return parts[0]


def _each(vote: Callable[[Any, int, Floats, Floats], None]) -> Sweep:
    """Return what has every machine vote by itself."""

    def each(K: Any, S: Floats, V: Floats) -> None:
        for c in range(len(S)):
            column = np.zeros(len(V))
            vote(K, c, S[c], column)
            V[:, c] += column

    return each


def _spans(looks: Array, visited: int) -> Floats:
    """Return how many visits left behind each hypothesis, the first and the last included."""
    return np.diff(np.concatenate(([0], looks, [visited]))).astype(np.float64)


def _width(parts: list[Rows]) -> int:
    """Return how many columns the rows need."""
    needed = [rows.data.shape[1] if isinstance(rows, Dense) else int(rows.indices.max(initial=0)) + 1 for rows in parts]
    return max(needed, default=0)


def _rows(X: Any) -> Rows:
    """Return a matrix as rows."""
    if not is_sparse(X):
        return Dense(X)
    unsigned = np.dtype(f"u{X.indptr.dtype.itemsize}")
    return Sparse(X.data, X.indices.astype(unsigned), X.indptr.view(unsigned))


def _as_floats(X: Any) -> Any:
    """Return a matrix of float64, which has the fast product and exact sums of whole numbers."""
    return X if X.dtype == np.float64 else X.astype(np.float64)


def _product(M: Any, X: Any) -> Floats:
    """Return all inner products of the rows of M with those of X, shape (rows of M, rows of X)."""
    if is_sparse(X) and not is_sparse(M):
        return np.ascontiguousarray((X @ M.T).T)
    K = M @ X.T
    return np.ascontiguousarray(K.toarray() if is_sparse(K) else K)
