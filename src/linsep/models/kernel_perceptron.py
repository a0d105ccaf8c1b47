"""The kernel perceptron: counts mistakes per row instead of storing weights."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from linsep.data.arrays import refuse_not_finite
from linsep.data.labels import at_least_two_classes, class_codes, example_weights, labels_of
from linsep.learn.state_files import must
from linsep.learn.voting import Vote
from linsep.models.constructors import KernelPerceptronParameters
from linsep.models.dual_passes import Kernel, Machines, Mistakes, Pool, Run
from linsep.models.learner import Learner
from linsep.problem import Array, Floats, Stop


class KernelPerceptron(KernelPerceptronParameters, Learner):
    """The perceptron with a kernel: planes in a space of features that are never computed.

    The weights are a sum of rows with mistakes, so a score is a sum of kernel values ``Σ alpha_i y_i k(x_i, x)``, and
    the model learns only the number of mistakes on each row. It has no offset: use a kernel with a constant part.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear", "precomputed"} or callable, default="rbf"
        ``exp(-gamma ‖x - z‖²)``, ``(gamma x·z + coef0)^degree``, ``x·z``; "precomputed" takes kernel values for ``X``;
        a callable takes two matrices and returns the kernel values of all pairs of their rows.
    degree : int, default=2
        Degree of the polynomial.
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is 1 / (features times variance of X), "auto" is 1 / features.
    coef0 : float, default=1.0
        Constant term of the polynomial; 0 leaves products of exactly ``degree`` features.
    shuffle : bool, default=True
        Whether every pass visits the rows in a new random order, or in the order given.
    max_iter : int, default=1000
        Largest number of passes.
    keep : {"last", "average", "vote"}, default="last"
        Which hypothesis to return, as for `Perceptron`.
    multi_class : {"argmax", "ovr"}, default="argmax"
        More than two classes: one machine that compares all classes, or one binary machine per class.
    on_plane : {-1, 1}, default=-1
        The side to predict for a score of 0.
    class_weight : dict or "balanced", default=None
        Factors of the steps by class.
    cache_size : float, default=200
        Megabytes of kernel values to hold at a time.
    random_state : int, RandomState or None, default=0
        Seed of the shuffling.

    Attributes
    ----------
    support_ : ndarray of shape (support,)
        Numbers of the support rows: those with mistakes.
    support_vectors_ : ndarray or sparse array of shape (support, d)
        These rows; none for a precomputed kernel.
    dual_coef_ : ndarray of shape (1, support) or (classes, support)
        The factor of each: for "last" its mistakes with the sign of its label, for "average" the mean of these over
        all visits; for "vote" those of the last hypothesis.
    classes_ : ndarray of shape (classes,)
    n_iter_, mistakes_, stop_reason_
        Passes and mistakes made, and why the run ended: "separated" or "max_iter".
    trace_ : ndarray of shape (mistakes,)
        The row of each mistake, in order.
    history_ : dict of ndarray
        For each pass its mistakes.
    n_features_in_ : int

    Notes
    -----
    The dual form is that of Aizerman, Braverman & Rozonoer (1964); average and vote are those of Freund & Schapire
    (1999), whose polynomial kernel is ``gamma=1, coef0=1``. The mistake bound (R/γ)² holds in the space of features.

    The scores of all rows are updated for many mistakes at a time; kernel values are computed for rows with mistakes,
    and kept as far as ``cache_size`` allows.

    Examples
    --------
    >>> from linsep import KernelPerceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]  # exclusive or
    >>> model = KernelPerceptron(kernel="poly", degree=2, gamma=1.0).fit(X, y)
    >>> model.stop_reason_, model.predict(X)
    ('separated', array([0, 1, 1, 0]))
    """

    _needs = frozenset(
        {
            "dual_coef_",
            "support_",
            "classes_",
            "n_features_in_",
            "stop_reason_",
            "trace_",
            "_support",
            "_codes",
            "_steps",
        }
    )
    _needs |= {"_steps", "_place", "_machine", "_look", "_looked", "_rows_seen", "_seed", "_gamma", "_passes"}

    # -----------------------------------------------------------------------------------------------------------
    # Training

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train until a pass is clean or ``max_iter`` passes are made.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or (n, n) for a precomputed kernel
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None
            Factors of the steps; a row of weight 0 is not visited.

        Returns
        -------
        self : KernelPerceptron
        """
        self._check_parameters()
        X, y = self._rows_and_labels(X, y, reset=True)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"Precomputed metric requires shape (n, n): a square matrix, got {X.shape}")
        classes, codes = at_least_two_classes(y)
        weight = example_weights(X, sample_weight, self.class_weight, classes, codes)
        self._forget(X, classes)
        self._learn(X, codes, weight, self.max_iter)
        if self.stop_reason_ == Stop.MAX_ITER:
            last = int(self._passes[-1])
            self._advise(
                f"max_iter={self.max_iter} ended the run while the last pass still made {last} "
                f"mistake{'s' * (last != 1)}. If the kernel can separate the rows, a larger max_iter will; if it "
                "cannot, keep='average' is the better choice."
            )
        return self

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
        merged, codes = self._classes_and_codes(None if fresh else self.classes_, classes, y)
        weight = example_weights(X, sample_weight, self.class_weight, merged, codes)
        if fresh:
            self._forget(X, merged)
        elif len(merged) > len(self.classes_):
            self._grow(merged)
        self._learn(X, codes, weight, 1)
        return self

    def _forget(self, X: Any, classes: Array) -> None:
        """Start a new record."""
        self.classes_ = classes
        self._seed = self._draw_seed()
        self._gamma = self._gamma_for(X)
        self._support: Any = sp.csr_array(X[:0]) if sp.issparse(X) else X[:0].copy()
        self._codes, self._steps = np.empty(0, np.int64), np.empty(0)  # of the support rows
        self.support_ = np.empty(0, np.int64)
        # mistakes in order, of which every hypothesis is a sum: support row, weight vector concerned, visits before
        self._place, self._machine, self._look = (np.empty(0, np.int64) for _ in range(3))
        self._looked = self._rows_seen = 0
        self.trace_ = np.empty(0, np.int64)
        self._passes = np.empty(0, np.int64)

    def _grow(self, classes: Array) -> None:
        """Take in classes that were not there before: one binary machine is two opposite ones."""
        places, old = class_codes(self.classes_, classes), len(self.classes_)
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
        """Make more passes over some rows, which join the support rows as they err."""
        old, passes_before = self._support.shape[0], len(self._passes)
        pool = X if old == 0 else _stack(self._support, X)
        run = Run(
            self._kernel(),
            Pool(pool, np.append(self._codes, codes), np.append(self._steps, weight), first=old),
            self._machines(),
            Mistakes(self._place.tolist(), self._machine.tolist(), self._look.tolist(), self._looked),
            capacity=self._capacity(pool.shape[0]),
        )

        def shuffle(number: int, order: Array) -> None:  # as Perceptron does
            if self.shuffle:
                np.random.default_rng((self._seed, 0, passes_before + number)).shuffle(order)

        self.stop_reason_ = str(run.train(max_iter, shuffle))
        kept, self._place = np.unique(np.array(run.mistakes.place, np.int64), return_inverse=True)
        self._machine, self._look = np.array(run.mistakes.machine, np.int64), np.array(run.mistakes.visit, np.int64)
        self._looked = run.mistakes.visited
        self._support = sp.csr_array(pool[kept]) if sp.issparse(pool) else pool[kept]
        if self.kernel == "precomputed":
            self._support = X[:0]
        self._codes, self._steps = run.codes[kept], run.steps[kept]
        rows = np.append(self.support_, np.arange(len(codes)) + self._rows_seen)
        self.support_ = rows[kept]
        self.trace_ = np.append(self.trace_, rows[np.array(run.trace, np.int64)])
        self._passes = np.append(self._passes, run.passes)
        self._rows_seen += len(codes)
        T = max(1, self._looked)
        share = (T - self._look) / T if self.keep == "average" else np.ones(len(self._look))
        own, steps = self._codes[self._place], self._steps[self._place]
        self.dual_coef_ = self._machines().factors(own, steps * share, self._place, self._machine)

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self._gamma, float(self.coef0), self.degree)

    def _machines(self) -> Machines:
        classes = len(self.classes_)
        if classes > 2:
            return Machines(classes, self.multi_class == "ovr")
        return Machines(1, True, classes - 1)

    def _capacity(self, columns: int) -> int:
        """Return how many rows the cache holds, each with this number of kernel values."""
        return int(self.cache_size * 2**17) // max(1, columns)

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
        self._check_fitted("dual_coef_")
        X = self._finite(self._matrix(X, reset=False))
        S = np.zeros((X.shape[0], len(self.dual_coef_)))
        kernel, size = self._kernel(), max(16, self._capacity(len(self.support_)))
        sweep = self._vote().sweep(self.on_plane) if self.keep == "vote" else None
        for begin in range(0, len(S), size):
            block, part = X[begin : begin + size], S[begin : begin + size]
            K = block[:, self.support_].T if self.kernel == "precomputed" else kernel.values(self._support, block)
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
        return labels_of(self.decision_function(X), self.classes_, self.on_plane)

    def _vote(self) -> Vote:
        """Return all hypotheses, each with its votes."""
        vote = Vote(self.multi_class == "ovr")
        vote.machines, vote.visited = len(self.dual_coef_), self._looked
        vote.codes = [np.ones_like(self._codes) if len(self.classes_) == 1 else self._codes]
        vote.steps, vote.looks = [self._steps], [self._look]
        vote.trace = [(self._place * vote.machines + self._machine).astype(np.uint64)]
        return vote

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
        self._check_fitted("_support")
        return self._support

    @property
    def n_iter_(self) -> int:
        """Passes made."""
        self._check_fitted("_passes")
        return len(self._passes)

    @property
    def mistakes_(self) -> int:
        """Mistakes made in training."""
        self._check_fitted("_passes")
        return int(self._passes.sum())

    @property
    def mistake_counts_(self) -> Array:
        """Mistakes made on each row."""
        self._check_fitted("_passes")
        return np.bincount(self.trace_, minlength=self._rows_seen)

    @property
    def history_(self) -> dict[str, Array]:
        """For each pass its mistakes."""
        self._check_fitted("_passes")
        return {"mistakes": self._passes}

    # -----------------------------------------------------------------------------------------------------------
    # Checks

    def _rows_and_labels(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Array]:
        X, y = super()._rows_and_labels(X, y, reset=reset)
        return self._finite(X), y

    def _finite(self, X: Any) -> Any:
        """Return rows as float64, none of them NaN or infinite."""
        if self.kernel == "precomputed" and sp.issparse(X):
            raise ValueError("sparse input is not supported for a precomputed kernel: its values are dense")
        X = X.astype(np.float64, copy=False)
        if not np.isfinite(X.data if sp.issparse(X) else X).all():
            refuse_not_finite(X, np.zeros((1, 1)), getattr(self, "feature_names_in_", None))
        return X

    def _check_state(self) -> None:
        """Refuse support rows, factors and mistakes that do not belong together."""
        super()._check_state()
        classes, support, dual, d = len(self.classes_), self.support_, self.dual_coef_, self.n_features_in_
        m = 1 if classes <= 2 else classes
        codes, place, machine, look = self._codes, self._place, self._machine, self._look
        whole_numbers = (codes, support, place, machine, look, self.trace_, self._passes)
        must(all(isinstance(a, np.ndarray) and a.ndim == 1 and a.dtype.kind == "i" for a in whole_numbers), "mistakes")
        must(isinstance(dual, np.ndarray) and dual.dtype == np.float64 and dual.shape == (m, len(support)), "factors")
        must(isinstance(self._steps, np.ndarray) and self._steps.dtype == np.float64, "steps")
        must(bool(np.isfinite(dual).all()), "factors that are not finite")
        must(codes.shape == self._steps.shape == support.shape, "its mistakes")
        must(place.shape == machine.shape == look.shape, "its mistakes")
        for numbers, end in ((codes, classes), (support, self._rows_seen), (place, len(support)), (machine, m)):
            must(bool(((numbers >= 0) & (numbers < end)).all()), "a mistake on a row or class that is not there")
        must(bool((np.diff(np.concatenate(([0], look, [self._looked]))) >= 0).all()), "the order of its mistakes")
        kept = self._support
        must(isinstance(self._gamma, float), "numbers")
        must(type(kept) in (np.ndarray, sp.csr_array) and kept.dtype == np.float64, "support rows")
        must(kept.shape == (0 if self.kernel == "precomputed" else len(support), d), "number of support rows")
        must(bool(np.isfinite(kept if isinstance(kept, np.ndarray) else kept.data).all()), "support rows")


def _stack(A: Any, B: Any) -> Any:
    """Return the rows of two matrices as one; sparse if either is."""
    if sp.issparse(A) or sp.issparse(B):
        return sp.vstack([sp.csr_array(A), sp.csr_array(B)], format="csr")
    return np.vstack((A, B))
