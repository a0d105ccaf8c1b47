"""The perceptron in dual form: counts of mistakes on rows instead of weights, so that a kernel can take the product."""

from __future__ import annotations

import os
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from linsep import encode
from linsep.estimators.online import need, number, whole
from linsep.keep import Vote
from linsep.problem import Array, Floats, Stop

_BLOCK = 256  # rows whose scores are brought up to date together
_PENDING = 128  # support rows whose factors have changed since all scores were: fewer would make a slow product


class KernelPerceptron(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The perceptron with a kernel: planes in a space of features that are never computed.

    The weights are a sum of rows that erred, so a score is a sum of kernel values ``Σ alpha_i y_i k(x_i, x)``, and all
    that is learnt is how often each row erred. There is no offset: a kernel with a constant part has one.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear", "precomputed"} or callable, default="rbf"
        ``exp(-gamma ‖x - z‖²)``, ``(gamma x·z + coef0)^degree``, ``x·z``; "precomputed" takes kernel values for ``X``;
        a callable takes two matrices and returns the kernel values of all pairs of their rows.
    degree : int, default=2
        Of the polynomial.
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is 1 / (features times variance of X), "auto" is 1 / features.
    coef0 : float, default=1.0
        Of the polynomial; 0 leaves products of exactly ``degree`` features.
    shuffle : bool, default=True
        Whether every pass looks at the rows in a fresh random order, or in the order given.
    max_iter : int, default=1000
        Largest number of passes.
    keep : {"last", "average", "vote"}, default="last"
        Which hypothesis to hand over, as for `Perceptron`.
    multi_class : {"argmax", "ovr"}, default="argmax"
        More than two classes: one machine that compares all classes, or one binary machine per class.
    on_plane : {-1, 1}, default=-1
        The side to predict for a score of 0.
    class_weight : dict or "balanced", default=None
        Factors of the steps by class.
    budget : int, default=None
        Largest number of support rows. When one more errs, that whose last mistake is longest ago is forgotten. Only
        with ``keep="last"``: the other two remember everything.
    cache_size : float, default=200
        Megabytes of kernel values to hold at a time.
    random_state : int, RandomState or None, default=0
        Seed of the shuffling.

    Attributes
    ----------
    support_ : ndarray of shape (support,)
        Numbers of the rows that the hypothesis is made of.
    support_vectors_ : ndarray or sparse array of shape (support, d)
        These rows; none for a precomputed kernel.
    dual_coef_ : ndarray of shape (1, support) or (classes, support)
        The factor of each: for "last" its mistakes with the sign of its label, for "average" the mean of these over
        all looks; for "vote" those of the last hypothesis.
    classes_ : ndarray of shape (classes,)
    n_iter_, mistakes_, stop_reason_
        Passes and mistakes made, and why the run ended: "separated" or "max_iter".
    trace_ : ndarray of shape (mistakes,)
        Rows on which the mistakes fell, in order.
    history_ : dict of ndarray
        For each pass its mistakes.
    n_features_in_ : int

    Notes
    -----
    The dual form is that of Aizerman, Braverman & Rozonoer (1964); average and vote are those of Freund & Schapire
    (1999), whose polynomial kernel is ``gamma=1, coef0=1``. The mistake bound (R/γ)² holds in the space of features.
    The budget forgets as the Forgetron does (Dekel, Shalev-Shwartz & Singer 2008), but without its shrinking, so that
    its mistake bound does not hold.

    The scores of all rows are kept up to date, a block of rows at a time; kernel values are computed for rows that err,
    and held as far as ``cache_size`` allows.

    Examples
    --------
    >>> from linsep import KernelPerceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]  # exclusive or
    >>> model = KernelPerceptron(kernel="poly", degree=2, gamma=1.0).fit(X, y)
    >>> model.stop_reason_, model.predict(X)
    ('separated', array([0, 1, 1, 0]))
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        degree: int = 2,
        gamma: Any = "scale",
        coef0: float = 1.0,
        shuffle: bool = True,
        max_iter: int = 1000,
        keep: str = "last",
        multi_class: str = "argmax",
        on_plane: int = -1,
        class_weight: Any = None,
        budget: int | None = None,
        cache_size: float = 200,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shuffle = shuffle
        self.max_iter = max_iter
        self.keep = keep
        self.multi_class = multi_class
        self.on_plane = on_plane
        self.class_weight = class_weight
        self.budget = budget
        self.cache_size = cache_size
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # -----------------------------------------------------------------------------------------------------------
    # Training

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train until a pass is clean or ``max_iter`` passes are made.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or (n, n) for a precomputed kernel
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None
            Factors of the steps; a row of weight 0 is not looked at.

        Returns
        -------
        self : KernelPerceptron
        """
        self._check_parameters()
        X, y = self._rows_and_labels(X, y, reset=True)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"Precomputed metric requires shape (n, n): a square matrix, got {X.shape}")
        classes, codes = encode.several(y)
        weight = encode.weights(X, sample_weight, self.class_weight, classes, codes)
        self._forget(X, classes)
        self._learn(X, codes, weight, self.max_iter)
        if self.stop_reason_ == Stop.MAX_ITER:
            last = int(self._passes[-1])
            warnings.warn(
                f"max_iter={self.max_iter} ended the run while the last pass still made {last} "
                f"mistake{'s' * (last != 1)}. If the kernel can separate the rows, a larger max_iter will; if it "
                "cannot, keep='average' is the better choice.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    @available_if(lambda self: self.kernel != "precomputed")  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over some more rows; not for a precomputed kernel.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        classes : array-like, default=None
            Labels to expect. Not needed: a label that was never seen before starts a new class.
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        self : KernelPerceptron
        """
        self._check_parameters()
        if self.class_weight == "balanced":
            raise ValueError("class_weight 'balanced' is not supported for partial_fit: it needs all labels at once")
        fresh = not hasattr(self, "classes_")
        X, y = self._rows_and_labels(X, y, reset=fresh)
        known = [] if fresh else [self.classes_]
        expected = [] if classes is None else [encode.labels(classes)]
        merged, _ = encode.number(np.concatenate([*known, *expected, y]))
        if not fresh and len(merged) == len(self.classes_):
            merged = self.classes_
        codes = encode.codes(y, merged)
        weight = encode.weights(X, sample_weight, self.class_weight, merged, codes)
        if fresh:
            self._forget(X, merged)
        elif len(merged) > len(self.classes_):
            self._grow(merged)
        self._learn(X, codes, weight, 1)
        return self

    def _forget(self, X: Any, classes: Array) -> None:
        """Start a new record."""
        self.classes_ = classes
        self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self._gamma = self._gamma_for(X)
        self._support: Any = sp.csr_array(X[:0]) if sp.issparse(X) else X[:0].copy()
        self._codes, self._steps = np.empty(0, np.int64), np.empty(0)  # of the support rows
        self.support_ = np.empty(0, np.int64)
        # mistakes in order, of which every hypothesis is a sum: support row, weight vector concerned, looks before
        self._place, self._machine, self._look = (np.empty(0, np.int64) for _ in range(3))
        self._looked = self._rows_seen = 0
        self.trace_ = np.empty(0, np.int64)
        self._passes = np.empty(0, np.int64)

    def _grow(self, classes: Array) -> None:
        """Make room for classes that were not there before: one binary machine is two opposite ones."""
        places, old = encode.codes(self.classes_, classes), len(self.classes_)
        self.classes_ = classes
        self._codes = np.full_like(self._codes, places[0]) if old == 1 else places[self._codes]
        if len(classes) == 2:
            return
        if old > 2:
            self._machine = places[self._machine]
        elif old == 1:  # a class alone has no rival: any other one will do
            rival = places[0] if self.multi_class == "ovr" else (places[0] + 1) % len(classes)
            self._machine = np.full_like(self._machine, rival)
        elif self.multi_class == "argmax":
            self._machine = places.sum() - self._codes[self._place]  # the other one of two
        else:
            self._machine = np.tile(places, len(self._place))
            self._place, self._look = np.repeat(self._place, 2), np.repeat(self._look, 2)

    def _learn(self, X: Any, codes: Array, weight: Floats, max_iter: int) -> None:
        """Go on with so many passes over some rows, which join the support rows there are as they err."""
        old = self._support.shape[0]
        pool = X if old == 0 else _stack(self._support, X)
        run = _Run(self, pool, np.append(self._codes, codes), np.append(self._steps, weight), old)
        # most products are too small to be shared out: threads that wait for each other would cost more than they save
        with threadpool_limits(1, user_api="blas"):
            stop = run.train(max_iter, len(self._passes))
        rows = np.append(self.support_, np.arange(len(codes)) + self._rows_seen)

        kept, self._place = np.unique(run.place, return_inverse=True)
        self._machine, self._look, self._looked = (
            np.array(run.machine, np.int64),
            np.array(run.look, np.int64),
            run.looked,
        )
        self._support = sp.csr_array(pool[kept]) if sp.issparse(pool) else pool[kept]
        self._codes, self._steps = run.codes[kept], run.steps[kept]
        if self.kernel == "precomputed":
            self._support = X[:0]
        self.support_ = rows[kept]
        self.trace_ = np.append(self.trace_, rows[np.array(run.trace, np.int64)])
        self._passes = np.append(self._passes, run.passes)
        self._rows_seen += len(codes)
        self.stop_reason_ = str(stop)
        T = max(1, self._looked)
        share = (T - self._look) / T if self.keep == "average" else np.ones(len(self._look))
        self.dual_coef_ = self._dual(share)

    def _dual(self, share: Floats) -> Floats:
        """Return the factor of every support row in every machine, where each mistake counts for its share."""
        m = 1 if len(self.classes_) <= 2 else len(self.classes_)
        D = np.zeros((m, len(self._codes)))
        own, step = self._codes[self._place], self._steps[self._place] * share
        if m > 1 and self.multi_class == "argmax":
            np.add.at(D, (own, self._place), step)
            np.add.at(D, (self._machine, self._place), -step)
        else:
            mine = (
                np.ones(len(own))
                if len(self.classes_) == 1
                else np.where(own == (self._machine if m > 1 else 1), 1, -1)
            )
            np.add.at(D, (self._machine, self._place), mine * step)
        return D

    # -----------------------------------------------------------------------------------------------------------
    # Prediction

    def decision_function(self, X: Any) -> Floats:
        """Return the score of every row: shape (n,) for two classes, (n, classes) for more; votes for "vote".

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n) with all training rows

        Returns
        -------
        scores : ndarray of shape (m,) or (m, classes)
        """
        check_is_fitted(self, "dual_coef_")
        X = self._finite(encode.matrix(self, X, reset=False))
        S = np.zeros((X.shape[0], len(self.dual_coef_)))
        size = max(16, int(self.cache_size * 2**17) // max(1, len(self.support_)))
        sweep = self._vote().sweep(self.on_plane) if self.keep == "vote" else None
        for begin in range(0, len(S), size):
            block, part = X[begin : begin + size], S[begin : begin + size]
            K = block[:, self.support_].T if self.kernel == "precomputed" else self._gram(self._support, block)
            if sweep is None:
                part[:] = (self.dual_coef_ @ K).T
            else:
                sweep(np.ascontiguousarray(K, np.float64), np.zeros((len(self.dual_coef_), len(part))), part)
        return S[:, 0] if S.shape[1] == 1 else S

    def predict(self, X: Any) -> Any:
        """Return the label of every row.

        Parameters
        ----------
        X : array-like or sparse matrix, as for ``decision_function``

        Returns
        -------
        labels : ndarray of shape (m,)
        """
        S = self.decision_function(X)
        if S.ndim > 1:
            return np.take(self.classes_, S.argmax(axis=1))
        side = np.where(S == 0, self.on_plane, S) > 0
        return np.take(self.classes_, np.minimum(side, len(self.classes_) - 1))

    def _vote(self) -> Vote:
        """Return all hypotheses, each with its votes."""
        vote = Vote(self.multi_class == "ovr")
        vote.machines, vote.looked = len(self.dual_coef_), self._looked
        vote.codes = [np.ones_like(self._codes) if len(self.classes_) == 1 else self._codes]
        vote.steps, vote.looks = [self._steps], [self._look]
        vote.trace = [(self._place * vote.machines + self._machine).astype(np.uint64)]
        return vote

    def _gram(self, A: Any, B: Any) -> Floats:
        """Return the kernel values of all pairs of rows, shape (rows of A, rows of B)."""
        if callable(self.kernel):
            return np.asarray(self.kernel(A, B), dtype=np.float64)
        product = A @ B.T
        K: Floats = product.toarray() if sp.issparse(product) else np.asarray(product)
        if self.kernel == "poly":
            K *= self._gamma
            K += self.coef0
            K = np.square(K, out=K) if self.degree == 2 else K**self.degree
        elif self.kernel == "rbf":
            K *= -2.0
            K += _squares(A)[:, None]
            K += _squares(B)[None, :]
            K *= -self._gamma
            np.exp(K, out=K)
        return K

    def _gamma_for(self, X: Any) -> float:
        """Return gamma as a number."""
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        d = X.shape[1]
        if self.gamma == "auto" or callable(self.kernel) or self.kernel in ("linear", "precomputed"):
            return 1.0 / float(d)
        variance = float(X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var())
        gamma: float = 1.0 / (d * variance) if variance > 0 else 1.0
        return gamma

    # -----------------------------------------------------------------------------------------------------------
    # What a run recorded

    @property
    def support_vectors_(self) -> Any:
        """Rows that the hypothesis is made of."""
        return self._support

    @property
    def n_iter_(self) -> int:
        """Passes made."""
        return len(self._passes)

    @property
    def mistakes_(self) -> int:
        """Mistakes made in training."""
        return int(self._passes.sum())

    @property
    def mistake_counts_(self) -> Array:
        """Mistakes made on each row."""
        return np.bincount(self.trace_, minlength=self._rows_seen)

    @property
    def history_(self) -> dict[str, Array]:
        """For each pass its mistakes."""
        return {"mistakes": self._passes}

    # -----------------------------------------------------------------------------------------------------------
    # Checks

    def _rows_and_labels(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Array]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._finite(encode.matrix(self, X, reset=reset))
        y = encode.labels(y)
        encode.same_length(X, y)
        return X, y

    def _finite(self, X: Any) -> Any:
        """Return rows as float64, none of them NaN or infinite."""
        if self.kernel == "precomputed" and sp.issparse(X):
            raise ValueError("sparse input is not supported for a precomputed kernel: its values are dense")
        X = X.astype(np.float64, copy=False)
        if not np.isfinite(X.data if sp.issparse(X) else X).all():
            encode.refuse(X, np.zeros((1, 1)), getattr(self, "feature_names_in_", None))
        return X

    def _check_parameters(self) -> None:
        named = ("rbf", "poly", "linear", "precomputed")
        need(self, callable(self.kernel) or self.kernel in named, "kernel", f"a callable or one of {named}")
        need(self, whole(self.degree) and self.degree >= 1, "degree", "a positive whole number")
        gamma = self.gamma
        need(self, gamma in ("scale", "auto") or (number(gamma) and gamma > 0), "gamma", '"scale", "auto" or positive')
        need(self, number(self.coef0), "coef0", "a number")
        need(self, whole(self.max_iter) and self.max_iter >= 1, "max_iter", "a positive whole number")
        need(self, self.keep in ("last", "average", "vote"), "keep", '"last", "average" or "vote"')
        need(self, self.multi_class in ("argmax", "ovr"), "multi_class", '"argmax" or "ovr"')
        need(self, self.on_plane in (-1, 1), "on_plane", "-1 or +1")
        need(self, number(self.cache_size) and self.cache_size > 0, "cache_size", "a positive number")
        budget = self.budget
        need(self, budget is None or (whole(budget) and budget >= 1), "budget", "None or a positive whole number")
        if budget is not None and self.keep != "last":
            raise ValueError(f"keep={self.keep!r} needs every row that ever erred: it does not go with a budget")


class _Run:
    """Passes over the rows of a pool from some place on; those before it are support rows already."""

    def __init__(self, model: KernelPerceptron, pool: Any, codes: Array, steps: Floats, first: int) -> None:
        self.model, self.pool, self.codes, self.steps, self.first = model, pool, codes, steps, first
        self.machines = 1 if len(model.classes_) <= 2 else len(model.classes_)
        self.alone = self.machines == 1 or model.multi_class == "ovr"
        self.place, self.machine = model._place.tolist(), model._machine.tolist()
        self.look, self.looked = model._look.tolist(), model._looked
        self.trace: list[int] = []  # of this run
        self.passes: list[int] = []
        # support rows, that whose last mistake is longest ago first, with the factors that they have
        self.factors: OrderedDict[int, Floats] = OrderedDict()
        D = model._dual(np.ones(len(self.place)))
        for r in self.place:
            self.factors[r] = D[:, r].copy()
            self.factors.move_to_end(r)
        n = pool.shape[0]
        self.columns = _Columns(self._values, n, int(model.cache_size * 2**17) // n)
        self.S = np.zeros((self.machines, n))  # scores, all of them up to date but for what is pending:
        self.pending: dict[int, Floats] = {}  # changes of factors
        if first:
            new = slice(first, n)
            self.S[:, new] = D @ model._gram(pool[:first], pool[new])

    def _values(self, rows: list[int]) -> Floats:
        """Return the kernel values of some rows of the pool with all, on all cores."""
        if self.model.kernel == "precomputed":
            return np.asarray(self.pool[rows])
        some, n = self.pool[rows], self.pool.shape[0]
        length = n if callable(self.model.kernel) else max(1024, -(-n // (os.cpu_count() or 1)))
        parts = [self.pool[start : start + length] for start in range(0, n, length)]
        if len(parts) == 1:
            return self.model._gram(some, self.pool)
        with ThreadPoolExecutor(len(parts)) as threads:
            return np.concatenate(list(threads.map(lambda part: self.model._gram(some, part), parts)), axis=1)

    def train(self, max_iter: int, passes_before: int) -> Stop:
        """Make passes until one is clean."""
        for made in range(max_iter):
            order = (np.flatnonzero(self.steps[self.first :] > 0)).astype(np.uint32)
            if self.model.shuffle:  # the order of Perceptron
                np.random.default_rng((self.model._seed, 0, passes_before + made)).shuffle(order)
            before = len(self.trace)
            for start in range(0, len(order), _BLOCK):
                self._block(order[start : start + _BLOCK].astype(np.intp) + self.first)
            self.passes.append(len(self.trace) - before)
            if len(self.trace) == before:
                return Stop.SEPARATED
        return Stop.MAX_ITER

    def _block(self, rows: Array) -> None:
        """Look at some rows one after another."""
        near = self._near(rows)
        S, codes = self.S[:, rows], self.codes[rows]  # copies
        if self.pending:
            S += np.column_stack(list(self.pending.values())) @ near(list(self.pending), 0)
        p = 0
        while p < len(rows):
            wrong = self._wrong(S[:, p:], codes[p:])
            at = np.flatnonzero(wrong.any(axis=0))
            if len(at) == 0:
                break
            p += int(at[0])
            for r, change in self._mistake(int(rows[p]), S[:, p], np.flatnonzero(wrong[:, at[0]]), self.looked + p):
                self.pending[r] = self.pending.get(r, 0.0) + change
                if p + 1 < len(rows):
                    S[:, p + 1 :] += change[:, None] * near([r], p + 1)
            p += 1
        if not np.isfinite(S).all():
            raise ValueError("a score overflowed to infinity: scale X down, or choose a smaller gamma or degree")
        self.looked += len(rows)
        if len(self.pending) >= _PENDING:
            for some, K in self.columns.all(list(self.pending)):
                self.S += np.column_stack([self.pending[r] for r in some]) @ K
            self.pending.clear()

    def _near(self, rows: Array) -> Callable[[list[int], int], Floats]:
        """Return what gives the kernel values of support rows with those of a block from some place on."""
        model, slots, store = self.model, self.columns.slots, self.columns.store
        block = None if model.kernel == "precomputed" else self.pool[rows]

        def near(support: list[int], p: int) -> Floats:
            if all(r in slots for r in support):
                held: Floats = store[np.array([slots[r] for r in support])[:, None], rows[p:]]
                return held
            if block is None:
                return np.asarray(self.pool[np.array(support)[:, None], rows[p:]])
            return model._gram(self.pool[support], block[p:])

        return near

    def _signs(self, codes: Array) -> Floats:
        """Return +1 for the rows of every machine's own class, else -1, shape (machines, n)."""
        if self.machines > 1:
            return np.where(codes == np.arange(self.machines)[:, None], 1.0, -1.0)
        return np.where(codes == len(self.model.classes_) - 1, 1.0, -1.0)[None, :]

    def _wrong(self, S: Floats, codes: Array) -> Array:
        """Say which machines err on which rows; machines that compare classes err together, noted as the first."""
        if self.alone:
            wrong: Array = self._signs(codes) * S <= 0
            return wrong
        rivals = S.copy()
        columns = np.arange(S.shape[1])
        rivals[codes, columns] = -np.inf
        behind: Array = S[codes, columns] <= rivals.max(axis=0)
        return behind[None, :]

    def _mistake(self, i: int, scores: Floats, erred: Array, look: int) -> Iterator[tuple[int, Floats]]:
        """Learn from a row on which machines erred, yielding the rows whose factors change, and by how much."""
        change, own, step = np.zeros(self.machines), int(self.codes[i]), self.steps[i]
        if self.alone:
            change[erred] = step * self._signs(self.codes[i : i + 1])[erred, 0]
        else:
            rival = int(np.where(np.arange(self.machines) == own, -np.inf, scores).argmax())
            change[[own, rival]] = step, -step
            erred = np.array([rival])
        for c in erred.tolist():
            self.place.append(i)
            self.machine.append(c)
            self.look.append(look)
            self.trace.append(i)
        self.factors[i] = self.factors.get(i, 0.0) + change
        self.factors.move_to_end(i)
        yield i, change
        if self.model.budget is not None and len(self.factors) > self.model.budget:
            oldest, factor = self.factors.popitem(last=False)
            alive = [k for k, r in enumerate(self.place) if r != oldest]
            self.place, self.machine, self.look = (
                [part[k] for k in alive] for part in (self.place, self.machine, self.look)
            )
            yield oldest, -factor


class _Columns:
    """Kernel values of support rows with all rows, as many as there is room for, those used last."""

    def __init__(self, values: Callable[[list[int]], Floats], n: int, room: int) -> None:
        self.values, self.room = values, max(1, min(room, n))
        self.store = np.empty((self.room, n))
        self.slots: OrderedDict[int, int] = OrderedDict()

    def all(self, rows: list[int]) -> Iterator[tuple[list[int], Floats]]:
        """Yield the rows in parts that there is room for, with their values with all rows."""
        held = [r for r in rows if r in self.slots]
        if held:
            for r in held:
                self.slots.move_to_end(r)
            yield held, self.store[[self.slots[r] for r in held]]
        new = [r for r in rows if r not in self.slots]
        for start in range(0, len(new), self.room):
            part = new[start : start + self.room]
            K = self.values(part)
            for r, values in zip(part, K, strict=True):
                full = len(self.slots) == self.room
                self.slots[r] = self.slots.popitem(last=False)[1] if full else len(self.slots)
                self.store[self.slots[r]] = values
            yield part, K


def _squares(X: Any) -> Floats:
    """Return the squared norm of every row."""
    squares: Floats = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    return squares


def _stack(A: Any, B: Any) -> Any:
    """Return the rows of two matrices as one; sparse if either is."""
    if sp.issparse(A) or sp.issparse(B):
        return sp.vstack([sp.csr_array(A), sp.csr_array(B)], format="csr")
    return np.vstack((A, B))
