"""Stores all hypotheses of a run with their votes, as the mistakes that lead to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from linsep.data.arrays import as_scipy, is_sparse
from linsep.data.parallel import on_all_cores, quiet_algebra
from linsep.learn import dual
from linsep.learn.averaging import Arrays, Auto, Average, Best, KernelCall, WeightTracker, kept_beside, whole_numbers
from linsep.learn.weights import Weights
from linsep.problem import Array, Dense, Examples, Floats, Rows, Sparse, take

_BLOCK = 1 << 24  # bytes of inner products to vote on at a time: fewer make a slow product, more leave the cache
Sweep = Callable[[Any, Floats, Floats], None]  # inner products, scores of the first hypothesis, votes
_LISTS = ("codes", "steps", "offsets", "trace", "visits")


class Mistakes:
    """The mistakes of a run in order, and each row that they fell on once: every hypothesis is a sum of these rows.

    Each hypothesis is its predecessor and one mistake, so that two numbers for every mistake describe all of them.
    """

    def __init__(self, one_vs_rest: bool = False) -> None:
        self.one_vs_rest = one_vs_rest  # whether every weight vector is a machine of its own
        self.machines = 1
        self.visited = 0  # visits in all, mistakes or not
        self.rows: list[Rows] = []  # with mistakes, each once; none where only inner products are known
        self.n_rows = 0
        self.codes: list[Array] = []  # their classes; of one machine, 1 is on the positive side
        self.steps: list[Floats] = []
        self.offsets: list[Floats] = []  # what each adds to the offset for a step of 1
        self.trace: list[Array] = []  # place among these rows * machines + weight vector concerned
        self.visits: list[Array] = []  # before each mistake

    def add_rows(self, rows: Rows | None, codes: Array, steps: Floats, offset: float = 0.0) -> None:
        """Take in rows on which no mistake was made before."""
        if rows is not None:
            self.rows.append(rows)
        self.codes.append(codes.astype(np.int64))
        self.steps.append(steps)
        self.offsets.append(np.full(len(codes), offset))
        self.n_rows += len(codes)

    def add(self, places: Array, machines: Array, visits: Array, visited: int) -> None:
        """Take in some mistakes, with the visits of this stretch that came before each, and its visits in all."""
        if len(places):
            self.trace.append(places.astype(np.uint64) * np.uint64(self.machines) + machines.astype(np.uint64))
            self.visits.append(visits.astype(np.int64) + self.visited)
        self.visited += visited

    def matrix(self, d: int) -> Any:
        """Return the rows with mistakes as one matrix, and hold them as one from now on."""
        dense = all(isinstance(part, Dense) and part.data.shape[1] == d for part in self.rows)
        if len(self.rows) > 1 or (not dense and any(isinstance(part, Dense) for part in self.rows)):
            if dense:
                self.rows = [Dense(np.concatenate([part.data for part in self.rows]))]
            else:
                import scipy.sparse as sp

                parts = [sp.csr_array(as_scipy(part, d)) for part in self.rows]
                for part in parts:
                    part.resize(part.shape[0], d)  # dense rows, before there were more columns
                self.rows = [as_rows(sp.vstack(parts, format="csr"))]
        return as_scipy(self.rows[0], d) if self.rows else np.zeros((0, d))

    def row_offsets(self) -> Floats:
        """Return what each row adds to the offset for a step of 1."""
        return _join(self.offsets)

    def listed(self) -> tuple[Array, Array, Array, Floats, Array]:
        """Return of every mistake the row, its class, the weight vector concerned, the step, and the visits before."""
        m = np.uint64(self.machines)
        trace = _join(self.trace).astype(np.uint64)
        which, concerned = (trace // m).astype(np.intp), (trace % m).astype(np.intp)
        own, steps = _join(self.codes).astype(np.intp)[which], _join(self.steps)[which].astype(np.float64)
        return which, own, concerned, steps, _join(self.visits)

    def factors(self, average: bool = False) -> Floats:
        """Return the factor of each row in each weight vector, (machines, rows): of the last one, or of their mean."""
        which, own, concerned, steps, visits = self.listed()
        if average:
            steps = steps * ((self.visited - visits) / max(1, self.visited))
        own, shape = own if self.machines > 1 else np.where(own == 1, 0, -1), (self.machines, self.n_rows)
        one_vs_rest = self.machines == 1 or self.one_vs_rest
        return dual.dual_factors(which, own, concerned, steps, shape, one_vs_rest=one_vs_rest)

    def sweep(self, on_plane: int) -> Sweep:
        """Return what adds up the votes on some rows, of their inner products K and first scores S, into V."""
        which, own, concerned, steps, visits = self.listed()
        if self.machines > 1 and not self.one_vs_rest:
            moves, spans = np.column_stack((which, own, concerned)), _spans(visits, self.visited)
            return lambda K, S, V: dual.vote_argmax(K, moves, steps, spans, S, V)
        jobs = []
        for c in range(self.machines):
            mine = concerned == c
            signs = np.where(own[mine] == (1 if self.machines == 1 else c), 1.0, -1.0)
            jobs.append((which[mine], signs * steps[mine], _spans(visits[mine], self.visited)))

        def each(K: Any, S: Floats, V: Floats) -> None:
            for c, job in enumerate(jobs):
                column = np.zeros(len(V))
                dual.vote(K, *job, S[c], float(on_plane), column)
                V[:, c] += column

        return each

    def grow(self, places: Array, classes: int) -> None:
        """Make room for more classes, where the old ones take these places: a binary machine is two opposite ones."""
        trace, visits, codes = _join(self.trace).astype(np.uint64), _join(self.visits), _join(self.codes)
        codes = np.full_like(codes, places[0]) if len(places) == 1 else places[codes.astype(np.intp)]
        self.codes = [codes]
        if classes == 2:
            return
        m = np.uint64(self.machines)
        which, concerned = (trace // m).astype(np.intp), (trace % m).astype(np.intp)
        if self.machines > 1:
            concerned = places[concerned]
        elif len(places) == 1:  # a class alone has no rival: any other one will do
            concerned = np.full_like(which, places[0] if self.one_vs_rest else (places[0] + 1) % classes)
        elif self.one_vs_rest:
            which, visits = np.repeat(which, 2), np.repeat(visits, 2)
            concerned = np.tile(places, len(trace))
        else:
            concerned = places.sum() - codes[which]  # the other one of two
        self.trace = [which.astype(np.uint64) * np.uint64(classes) + concerned.astype(np.uint64)]
        self.visits, self.machines = [visits], classes

    def state(self) -> Arrays:
        """Return the rows and the mistakes as arrays."""
        self.matrix(_width(self.rows))
        arrays = {"numbers": np.array([self.one_vs_rest, self.visited, self.machines, self.n_rows])}
        arrays |= {name: _join(getattr(self, name)) for name in _LISTS}
        for rows in self.rows:
            arrays |= {f"rows_{name}": part for name, part in rows._asdict().items()}
        return arrays

    @classmethod
    def from_state(cls, arrays: Arrays, d: int) -> Self:
        """Return what was written as these arrays, of rows of ``d`` columns; refuse what does not fit together."""
        one_vs_rest, visited, machines, n_rows = whole_numbers(arrays["numbers"], 4)
        self = cls(bool(one_vs_rest))
        self.visited, self.machines, self.n_rows = visited, machines, n_rows
        for name in _LISTS:
            setattr(self, name, [arrays[name]])
        if "rows_indptr" in arrays:
            self.rows = [Sparse(arrays["rows_data"], arrays["rows_indices"], arrays["rows_indptr"])]
        elif "rows_data" in arrays:
            self.rows = [Dense(arrays["rows_data"])]
        for rows in self.rows:
            _check_rows(rows, n_rows, d)
        self._check_mistakes()
        return self

    def _check_mistakes(self) -> None:
        """Validate indices; kernels do not check them."""
        n, m = self.n_rows, self.machines
        codes, steps, offsets, trace, visits = (getattr(self, name)[0] for name in _LISTS)
        right = m > 0 and codes.shape == steps.shape == offsets.shape == (n,)
        right = right and trace.shape == visits.shape and trace.ndim == 1
        right = right and all(array.dtype.kind in "iuf" for array in (codes, steps, offsets, trace, visits))
        right = right and bool(((codes >= 0) & (codes < max(2, m))).all() and ((trace >= 0) & (trace < n * m)).all())
        right = right and bool(np.isfinite(steps).all() and np.isfinite(offsets).all())
        order = np.concatenate(([0], visits, [self.visited])).astype(np.float64)
        if not (right and bool((np.diff(order) >= 0).all())):
            raise ValueError("a mistake on a row or class that is not there")


class Vote(WeightTracker):
    """All hypotheses, each with one vote for every visit that left it behind (Freund & Schapire 1999).

    Memory grows with the mistakes, and with the rows that they fell on, for rows that come from a file too.
    """

    kind = "vote"

    def __init__(self, one_vs_rest: bool = False) -> None:
        self.mistakes = Mistakes(one_vs_rest)
        self.start: Weights | None = None  # of the run, unless zero
        self.ids = np.empty(0, np.int64)  # numbers in the problem of the rows that are kept, sorted
        self.places = np.empty(0, np.int64)  # and where each is kept

    def on_call_start(self, rule: Any, weights: Weights) -> Any:
        """Remember the first weights, unless they are zero."""
        if self.mistakes.visited == 0 and self.start is None and not weights.zeros:
            self.start = weights.plain().copy()
        self.mistakes.machines = weights.machines
        return rule

    def on_call_end(self, call: KernelCall, weights: Weights) -> None:
        """Keep the mistakes, and the rows on which none was made before."""
        m = np.uint64(weights.machines)
        local = (call.mistakes // m).astype(np.intp)
        visits = call.visits(weights.machines)
        ids = call.order[visits].astype(np.int64) + call.first_row
        known, first = np.unique(ids, return_index=True)
        new = ~np.isin(known, self.ids, assume_unique=True)
        self._keep(call, local[first[new]], known[new])
        self.mistakes.add(self.places[np.searchsorted(self.ids, ids)], call.mistakes % m, visits, call.visited)

    def _keep(self, call: KernelCall, local: Array, ids: Array) -> None:
        if len(ids) == 0:
            return
        y, kept = call.examples.y[local], self.mistakes.n_rows
        at = np.searchsorted(self.ids, ids)
        self.places = np.insert(self.places, at, np.arange(kept, kept + len(ids)))
        self.ids = np.insert(self.ids, at, ids)
        codes = (y + 1) // 2 if self.mistakes.machines == 1 else y
        self.mistakes.add_rows(take(call.examples.rows, local), codes, call.examples.step[local], call.rule.offset)

    def wrong(self, examples: Examples, weights: Weights, on_plane: int) -> int:
        """Return how many examples the vote predicts wrong."""
        V = self.votes(as_scipy(examples.rows, weights.n_features), on_plane)
        if weights.machines > 1:
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
        M = _as_floats(self.mistakes.matrix(d))
        offsets, V = self.mistakes.row_offsets(), np.zeros((n, self.mistakes.machines))
        sweep, size = self.mistakes.sweep(on_plane), max(16, _BLOCK // (8 * max(1, self.mistakes.n_rows)))

        def vote(begin: int) -> None:
            block = _as_floats(X[begin : begin + size])
            K = _product(M, block)
            if offsets.any():
                K += offsets[:, None]
            sweep(K, self._first_scores(block), V[begin : begin + size])

        with quiet_algebra():  # blocks side by side rather than all cores on one product: the sweep is half of the work
            on_all_cores(vote, range(0, n, size))
        return V

    def _first_scores(self, X: Any) -> Floats:
        """Return the scores of the first hypothesis, shape (machines, n)."""
        if self.start is None:
            return np.zeros((self.mistakes.machines, X.shape[0]))
        self.start.widen(X.shape[1])
        S = X @ self.start.W.T + self.start.b
        return np.ascontiguousarray(S.T)

    def on_run_end(self) -> None:
        """Forget the numbers of the rows: others will come under the same."""
        self.ids, self.places = np.empty(0, np.int64), np.empty(0, np.int64)

    def held(self) -> list[Weights]:
        """Return the first weights."""
        return [] if self.start is None else [self.start]

    def unscale(self, scaling: Any) -> None:
        """Change the rows, and what they add to the offset: a hypothesis is a sum of them."""
        super().unscale(scaling)
        mistakes = self.mistakes
        if mistakes.rows:
            X, offsets = scaling.undo(mistakes.matrix(_width(mistakes.rows)), mistakes.row_offsets())
            mistakes.rows, mistakes.offsets = [as_rows(X)], [offsets]

    def reorder(self, columns: Array) -> None:
        """Give the rows their columns in another order."""
        super().reorder(columns)
        if self.mistakes.rows:
            X = self.mistakes.matrix(len(columns))
            self.mistakes.rows = [as_rows(X[:, columns])]

    def grow(self, places: Array, classes: int) -> None:
        """Make room for more classes; while there was one class only, there was nothing to vote on."""
        if len(places) == 1 and classes > 2:
            self.mistakes, self.start = Mistakes(self.mistakes.one_vs_rest), None
            self.on_run_end()
            return
        super().grow(places, classes)
        self.mistakes.grow(places, classes)

    def state(self) -> Arrays:
        """Return the mistakes, the rows, and the first weights."""
        arrays = self.mistakes.state() | {"ids": self.ids, "places": self.places}
        if self.start is not None:
            arrays |= {"start_W": self.start.W, "start_b": self.start.b}
        return arrays

    @classmethod
    def from_state(cls, arrays: Arrays, like: Weights) -> Self:
        """Return the tracker that was written as these arrays."""
        self = cls()
        self.mistakes = Mistakes.from_state(arrays, like.n_features)
        self.ids, self.places = arrays["ids"], arrays["places"]
        self.start = kept_beside(arrays, "start", like)
        n = self.mistakes.n_rows
        if self.mistakes.machines != like.machines and self.mistakes.visited:
            raise ValueError("the number of machines of its vote")
        if not self.mistakes.rows and n:
            raise ValueError("no rows of its vote")
        right = self.ids.shape == self.places.shape in ((0,), (n,))
        right = right and bool(((self.places >= 0) & (self.places < n)).all() and (np.diff(self.ids) > 0).all())
        if not right:
            raise ValueError("numbers of the rows of its vote")
        return self


TRACKERS: dict[str, type[WeightTracker]] = {kind.kind: kind for kind in (WeightTracker, Average, Best, Vote, Auto)}


def new_tracker(kind: str, one_vs_rest: bool) -> WeightTracker:
    """Return what tracks the weights that are asked for."""
    return Vote(one_vs_rest) if kind == Vote.kind else TRACKERS[kind]()


def _join(parts: list[Array]) -> Array:
    """Make one array of a list of them, and leave it as the only one in the list."""
    if len(parts) != 1:
        parts[:] = [np.concatenate(parts) if parts else np.empty(0)]
    return parts[0]


def _spans(visits: Array, visited: int) -> Floats:
    """Return how many visits left behind each hypothesis, the first and the last included."""
    return np.diff(np.concatenate(([0], visits, [visited]))).astype(np.float64)


def _width(parts: list[Rows]) -> int:
    needed = [rows.data.shape[1] if isinstance(rows, Dense) else int(rows.indices.max(initial=0)) + 1 for rows in parts]
    return max(needed, default=0)


def as_rows(X: Any) -> Rows:
    """Return a matrix as rows."""
    if not is_sparse(X):
        return Dense(X)
    unsigned = np.dtype(f"u{X.indptr.dtype.itemsize}")
    return Sparse(X.data, X.indices.astype(unsigned), X.indptr.view(unsigned))


def _check_rows(rows: Rows, n: int, d: int) -> None:
    """Validate CSR bounds; kernels do not check them."""
    right = bool(np.isfinite(rows.data).all()) and rows.data.dtype.kind in "iuf"
    if isinstance(rows, Dense):
        right = right and rows.data.shape == (n, d)
    else:
        ends, indices = rows.indptr.astype(np.float64), rows.indices
        right = right and rows.indptr.dtype == indices.dtype and indices.dtype.kind == "u" and ends.ndim == 1
        right = right and len(ends) == n + 1 and ends[0] == 0 and bool((np.diff(ends) >= 0).all())
        right = right and ends[-1] == len(rows.data) == len(indices) and int(indices.max(initial=0)) < max(1, d)
    if not right:
        raise ValueError("rows with mistakes")


def _as_floats(X: Any) -> Any:
    """Return a matrix of float64, which has the fast product and exact sums of whole numbers."""
    return X if X.dtype == np.float64 else X.astype(np.float64)


def _product(M: Any, X: Any) -> Floats:
    """Return all inner products of the rows of M with those of X, shape (rows of M, rows of X)."""
    if is_sparse(X) and not is_sparse(M):
        return np.ascontiguousarray((X @ M.T).T)
    K = M @ X.T
    return np.ascontiguousarray(K.toarray() if is_sparse(K) else K)
