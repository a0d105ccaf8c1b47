"""The refutation that ended a training run, in row numbers of the training data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from linsep.data.row_numbers import Dropped
from linsep.prove.claims import NOT_SEPARABLE, Refutation
from linsep.prove.verdicts import Verdict


@dataclass(frozen=True, eq=False)
class RunRefutation(Refutation):
    """A proof that no plane separates the rows that a run was trained on, and so none all rows it was given.

    Attributes
    ----------
    rows, multipliers, rivals
        As those of `Refutation`.
    classes : tuple
        Labels of the run.
    n_features : int
    fit_intercept : bool
    machine : label or None
        One-against-rest: the class that no plane separates from all others; there the classes are False and True.
    dropped : Dropped
        Rows of the files that were left out of training: the rows of the refutation have their numbers in the files.

    Examples
    --------
    >>> import warnings
    >>> from linsep import Perceptron
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]  # exclusive or
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     model = Perceptron().fit(X, y)
    >>> model.stop_reason_, model.refutation_, model.refutation_.check(X, y)
    ('not_separable', Refutation(4 rows: [0 1 2 3]), True)
    """

    classes: tuple[Any, ...] = ()
    n_features: int = 0
    fit_intercept: bool = True
    machine: Any = None
    dropped: Dropped = field(default_factory=Dropped, repr=False)

    def __repr__(self) -> str:
        return super().__repr__()

    def verdict(self) -> Verdict:
        """Return the claim as a verdict: ``linsep.to_json`` makes a document of it."""
        classes = self.classes if self.machine is None else (False, True)
        plain = Refutation(self.rows, self.multipliers, self.rivals)
        return Verdict(NOT_SEPARABLE, None, plain, classes, self.n_features, self.fit_intercept, dropped=self.dropped)

    def check(self, X: Any, y: Any, *, plain: bool = False) -> bool:
        """Return whether the proof holds for these data, in exact arithmetic.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The rows that the run was given: of files those that were not left out, as ``read(...).to_arrays()``.
        y : array-like of shape (n,)
        plain : bool, default=False
            Check with the short integer checker only: slower, but with nothing compiled and no library to trust.

        Returns
        -------
        holds : bool

        Examples
        --------
        >>> import warnings
        >>> from linsep import Perceptron
        >>> X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     refutation = Perceptron().fit(X, y).refutation_
        >>> refutation.check(X, y, plain=True), refutation.check(X, [0, 0, 1])
        (True, False)
        """
        if self.machine is not None:
            labels = y.tolist() if hasattr(y, "tolist") else list(y)
            y = [label == self.machine for label in labels]
        return self.verdict().check(X, y, plain=plain)
