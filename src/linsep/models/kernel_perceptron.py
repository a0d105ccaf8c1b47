"""The kernel perceptron: counts mistakes per row instead of storing weights."""

from __future__ import annotations

import math
import time
from typing import Any, Self

import numpy as np

from linsep.data.arrays import is_sparse, refuse_not_finite
from linsep.data.labels import at_least_two_classes, class_codes, example_weights
from linsep.data.parallel import quiet_algebra
from linsep.learn.dual import Kernel, KernelRows, dual_pass
from linsep.learn.passes import TrainingLog
from linsep.learn.serialization import must
from linsep.learn.voting import Mistakes, as_rows
from linsep.models.constructors import KernelPerceptronParameters
from linsep.models.learner import Field, Learner, takes_records
from linsep.models.record import Recorded, TrainingRecord
from linsep.problem import Array, Floats, Run, Stop, machines_for


class KernelPerceptron(KernelPerceptronParameters, Recorded, Learner):
    """The perceptron with a kernel: planes in a space of features that are never computed.

    The weights are a sum of rows with mistakes, so a score is a sum of kernel values ``Σ alpha_i y_i k(x_i, x)``, and
    the model learns only the number of mistakes on each row. It has no offset: use a kernel with a constant part.

    Parameters
    ----------
    kernel
        ``exp(-gamma ‖x - z‖²)``, ``(gamma x·z + coef0)^degree``, ``x·z``; "precomputed" takes kernel values for ``X``;
        a callable takes two matrices and returns the kernel values of all pairs of their rows.
    keep
        Which hypothesis the run returns, as for `Perceptron`.
    class_weight : dict or "balanced"
    random_state : int, RandomState or None

    Attributes
    ----------
    support_ : ndarray of shape (support,)
        Numbers of the support rows: those with mistakes.
    dual_coef_ : ndarray of shape (1, support) or (classes, support)
        The factor of each: for "last" its mistakes with the sign of its label, for "average" the mean of these over
        all visits; for "vote" those of the last hypothesis.

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

    gamma_: float  # as a number
    support_: Array
    dual_coef_: Floats
    record_: TrainingRecord
    _mistakes: Mistakes  # in order, of which every hypothesis is a sum
    saved_fields = Learner.saved_fields | {"support_": Field("i"), "gamma_": Field(float), "missing_rows_": Field("i")}

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
        """
        self.check_parameters()
        X, y = self.rows_and_labels(X, y, reset=True)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"Precomputed metric requires shape (n, n): a square matrix, got {X.shape}")
        classes, codes = at_least_two_classes(y)
        weight = example_weights(X, sample_weight, self.class_weight, classes, codes)
        self._forget(X, classes)
        self._learn(X, codes, weight, self.max_iter)
        if self.stop_reason_ == Stop.MAX_ITER:
            last = self.record_.passes[-1].mistakes
            self.advise(
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
        """
        self.check_parameters()
        if self.class_weight == "balanced":
            raise ValueError("class_weight 'balanced' is not supported for partial_fit: it needs all labels at once")
        fresh = not hasattr(self, "classes_")
        X, y = self.rows_and_labels(X, y, reset=fresh)
        merged, codes = self._classes_and_codes(None if fresh else self.classes_, classes, y)
        weight = example_weights(X, sample_weight, self.class_weight, merged, codes)
        if fresh:
            self._forget(X, merged)
        elif len(merged) > len(self.classes_):
            self._mistakes.grow(class_codes(self.classes_, merged), len(merged))
            self.classes_ = merged
        self._learn(X, codes, weight, 1)
        return self

    def _forget(self, X: Any, classes: Array) -> None:
        self.classes_, self.gamma_ = classes, self._gamma_for(X)
        self.record_ = TrainingRecord(seed=self.draw_seed())
        self._mistakes = Mistakes(self.multi_class == "ovr")
        self._mistakes.machines = machines_for(len(classes))
        self.support_, self.missing_rows_ = np.empty(0, np.int64), np.empty(0, np.int64)

    def _learn(self, X: Any, codes: Array, weight: Floats, max_iter: int) -> None:
        """Make more passes over some rows, which join the support rows as they err."""
        mistakes, record = self._mistakes, self.record_
        m, first_row = mistakes.machines, record.rows
        codes = codes if len(self.classes_) > 1 else np.ones_like(codes)
        signs = codes if m > 1 else np.where(codes == 1, 0, -1)
        with quiet_algebra():
            S = np.zeros((m, X.shape[0]))
            if mistakes.n_rows:
                S += mistakes.factors() @ self._kernel().values(self.support_vectors_, X)
            run, visits = self._run(KernelRows(self._kernel(), X, self._capacity()), S, signs, weight, max_iter)
        record.add(run, m, len(codes))
        rows, machines = (run.trace // m).astype(np.intp), run.trace % m
        wrong, positions = np.unique(rows, return_inverse=True)
        positions, visited = positions + mistakes.n_rows, len(run.passes) * int(np.count_nonzero(weight > 0))
        kept = None if self.kernel == "precomputed" or len(wrong) == 0 else as_rows(X[wrong])
        mistakes.add_rows(kept, codes[wrong], weight[wrong])
        mistakes.add(positions, machines, visits, visited)
        self.support_ = np.append(self.support_, wrong + first_row)
        self.dual_coef_ = mistakes.factors(average=self.keep == "average")

    def _run(self, cache: KernelRows, S: Floats, signs: Array, steps: Floats, max_iter: int) -> tuple[Run, Array]:
        """Make passes until one is clean; return them, and how many rows were visited before each mistake."""
        log, before, stop = TrainingLog(), [np.empty(0, np.int64)], Stop.MAX_ITER
        rows = np.flatnonzero(steps > 0).astype(np.uint32)
        for number in range(max_iter):
            started, order = time.perf_counter(), rows.copy()
            if self.shuffle:  # as Perceptron does
                np.random.default_rng((self.record_.seed, 0, self.record_.n_passes + number)).shuffle(order)
            one_vs_rest = len(S) == 1 or self.multi_class == "ovr"
            left = None if self.max_updates is None else self.max_updates - log.made
            before_pass = None if left is None else S.copy()
            visits, machines = dual_pass(cache, S, signs, steps, order, one_vs_rest=one_vs_rest)
            if left is not None and before_pass is not None and len(visits) >= left:  # again, up to the last update
                S[:] = before_pass
                order = order[: int(visits[left - 1]) + 1 if left else 0]
                visits, machines = dual_pass(cache, S, signs, steps, order, one_vs_rest=one_vs_rest)
                stop = Stop.MAX_UPDATES
            if not np.isfinite(S).all():
                raise ValueError("a score overflowed to infinity: scale X down, or choose a smaller gamma or degree")
            log.note(order[visits].astype(np.uint64) * np.uint64(len(S)) + machines.astype(np.uint64))
            log.seconds = time.perf_counter() - started
            log.close(math.nan)
            before.append(visits + number * len(rows))
            if stop is Stop.MAX_UPDATES:
                break
            if len(visits) == 0:
                stop = Stop.SEPARATED
                break
        return log.run(stop), np.concatenate(before)

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self.gamma_, float(self.coef0), self.degree)

    def _capacity(self) -> int:
        return int(self.cache_size * 2**17)

    # -----------------------------------------------------------------------------------------------------------
    # Prediction

    @takes_records
    def decision_function(self, X: Any) -> Floats:
        """Return the score of every row: shape (n,) for two classes, (n, classes) for more; votes for "vote".

        For a precomputed kernel ``X`` has the kernel values with all training rows.
        """
        self._check_fitted("dual_coef_")
        X = self._finite(self._matrix(X, reset=False))
        S = np.zeros((X.shape[0], len(self.dual_coef_)))
        kernel, size = self._kernel(), max(16, self._capacity() // max(1, len(self.support_)))
        sweep = self._mistakes.sweep(self.on_plane) if self.keep == "vote" else None
        support = self.support_vectors_
        for begin in range(0, len(S), size):
            block, part = X[begin : begin + size], S[begin : begin + size]
            K = block[:, self.support_].T if self.kernel == "precomputed" else kernel.values(support, block)
            if sweep is None:
                part[:] = (self.dual_coef_ @ K).T
            else:
                sweep(np.ascontiguousarray(K, np.float64), np.zeros((len(self.dual_coef_), len(part))), part)
        return S[:, 0] if S.shape[1] == 1 else S

    def _gamma_for(self, X: Any) -> float:
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        d = X.shape[1]
        if self.gamma == "auto" or callable(self.kernel) or self.kernel in ("linear", "precomputed"):
            return 1.0 / float(d)
        variance = float(X.multiply(X).mean() - X.mean() ** 2 if is_sparse(X) else X.var())
        gamma: float = 1.0 / (d * variance) if variance > 0 else 1.0
        return gamma

    # -----------------------------------------------------------------------------------------------------------
    # What a run recorded

    @property
    def support_vectors_(self) -> Any:
        """The support rows; none for a precomputed kernel."""
        self._check_fitted("_mistakes")
        return self._mistakes.matrix(self.n_features_in_)

    @property
    def history_(self) -> dict[str, Array]:
        """For each pass its mistakes."""
        return {"mistakes": super().history_["mistakes"]}

    # -----------------------------------------------------------------------------------------------------------
    # Checks

    def rows_and_labels(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Array]:
        """Return rows and labels that can be learned from; refuse numbers that are not finite."""
        X, y = super().rows_and_labels(X, y, reset=reset)
        return self._finite(X), y

    def _finite(self, X: Any) -> Any:
        """Return rows as float64, none of them NaN or infinite."""
        if self.kernel == "precomputed" and is_sparse(X):
            raise ValueError("sparse input is not supported for a precomputed kernel: its values are dense")
        X = X.astype(np.float64, copy=False)
        if not np.isfinite(X.data if is_sparse(X) else X).all():
            refuse_not_finite(X, np.zeros((1, 1)), getattr(self, "feature_names_in_", None))
        return X

    def saved_state(self) -> dict[str, Any]:
        """Return the values to save: besides, the record and the mistakes."""
        return super().saved_state() | {**self.record_.state(), "mistakes": self._mistakes.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over values that were saved; refuse, besides, mistakes that do not belong to them."""
        record = {name: state.pop(name) for name in ("seed", "rows", "runs", "mistakes")}
        super().restore(state)
        self.record_ = TrainingRecord.from_state(record)
        must(isinstance(record["mistakes"], dict), "its mistakes")
        self._mistakes = mistakes = Mistakes.from_state(record["mistakes"], self.n_features_in_)
        must(mistakes.machines == machines_for(len(self.classes_)), "its mistakes")
        must(bool(mistakes.rows) == (self.kernel != "precomputed" and mistakes.n_rows > 0), "support rows")
        must(self.support_.shape == (mistakes.n_rows,), "support rows")
        must(bool(((self.support_ >= 0) & (self.support_ < self.record_.rows)).all()), "support rows")
        self.dual_coef_ = mistakes.factors(average=self.keep == "average")
