"""Verdicts on linear separability and the parts of their proofs.

A proof is a statement about the numbers as they are given, every float being a rational number. Nothing has a
tolerance. Row ``i`` of class ``y`` asks of the weights ``W`` (one vector a class) and offsets ``b`` that
``(W[y] - W[r])·x_i + b[y] - b[r] > 0`` for every rival class ``r`` (Kesler's construction; Duda & Hart 1973, section
5.12). For two classes ``W = (0, w)``, which is the usual ``y (w·x + b) > 0``.

- A **Separator** meets all these inequalities: strictly for the verdict "separable"; with ``>=``, and ``>`` somewhere,
  for "quasi".
- A **Refutation** is a combination of them with positive multipliers whose left side vanishes identically. Then weights
  that meet all of them with ``>=`` meet those combined with equality, and none meets all with ``>``.
- If moreover the combined inequalities span all others, only weights without any effect meet all with ``>=``:
  "overlap".

Two checks decide whether a proof holds, and must agree: ``plain``, one page of integers that can be read in ten
minutes, and ``fast_check``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from linsep.data.row_numbers import Dropped
from linsep.problem import Array, Floats, Rows, Values
from linsep.prove.check.integers import Normal, difference, over_common

SEPARABLE, QUASI, OVERLAP, UNKNOWN = "separable", "quasi", "overlap", "unknown"
NOT_SEPARABLE = "not-separable"  # a refutation alone: "quasi" or "overlap", which of them is left open


class Data(NamedTuple):
    """What a proof is about: rows of ``n_features`` features, their class numbers, and whether planes have offsets."""

    rows: Rows
    y: Array  # (n,)
    n_features: int
    classes: int
    offset: bool

    @property
    def offset_column(self) -> int | None:
        """The column of the constant 1 that the offset multiplies, if there is one."""
        return self.n_features if self.offset else None


@dataclass(frozen=True, eq=False)
class Separator:
    """A plane ``w·x + b = 0``, or one weight vector and offset per class.

    Attributes
    ----------
    w : ndarray of shape (d,) or (classes, d)
        float64; dtype object with ``Fraction`` entries where floats cannot do it.
    b : float or Fraction, or ndarray of shape (classes,)

    Examples
    --------
    >>> import linsep
    >>> plane = linsep.separate([[0.0], [1.0], [2.0]], [0, 0, 1]).separator
    >>> bool(plane.w[0] * 1.0 + plane.b < 0 < plane.w[0] * 2.0 + plane.b)
    True
    """

    w: Array
    b: Any

    def __repr__(self) -> str:
        numbers = "rational" if self.w.dtype == object else "float"
        shape = f"{self.w.shape[0]} classes x {self.w.shape[1]}" if self.w.ndim == 2 else f"{self.w.shape[0]}"
        return f"Separator({numbers} w of {shape} feature{'s' * (self.w.shape[-1] != 1)})"

    def per_class(self) -> tuple[Array, Array]:
        """Return weights (classes, d) and offsets (classes,), both floats or both fractions, without rounding.

        Of two classes the first has weights 0.
        """
        W, b = _exact_numbers(np.atleast_2d(self.w)), _exact_numbers(np.atleast_1d(np.asarray(self.b)))
        if W.dtype == object or b.dtype == object:
            W, b = _fractions(W), _fractions(b)
        if np.ndim(self.w) == 2:
            return W, b
        zero = Fraction(0) if W.dtype == object else 0.0
        return np.concatenate((np.full_like(W, zero), W)), np.concatenate((np.full_like(b, zero), b))

    @cached_property
    def normals(self) -> Array:
        """Weights and offsets by class, (classes, d + 1), times a positive number: fractions as whole numbers."""
        full = np.column_stack(self.per_class())
        if full.dtype == object:
            full = np.array(over_common(full.ravel().tolist())[0], dtype=object).reshape(full.shape)
        return full

    def between(self, own: int, rival: int) -> Normal:
        """Return the difference of two classes' weights and offsets, times a positive number."""
        if (own, rival) not in self._between:
            self._between[own, rival] = Normal(difference(self.normals[own], self.normals[rival]))
        return self._between[own, rival]

    @cached_property
    def _between(self) -> dict[tuple[int, int], Normal]:
        return {}

    def exactly(self) -> tuple[list[list[Fraction]], list[Fraction]]:
        """Return the weights and offsets as fractions, one row and one offset for two classes."""
        W, b = np.atleast_2d(self.w), np.atleast_1d(np.asarray(self.b))
        return [[Fraction(value) for value in w] for w in W.tolist()], [Fraction(value) for value in b.tolist()]


def _exact_numbers(values: Array) -> Array:
    """Return floats as float64, and integers too if it holds them, else fractions."""
    if values.dtype.kind == "f" and values.dtype.itemsize <= 8:
        return values.astype(np.float64)
    if values.dtype.kind in "biu" and not (values.astype(object) != values.astype(np.float64).astype(object)).any():
        return values.astype(np.float64)
    return _fractions(values)


def _fractions(values: Array) -> Array:
    exact: Array = np.empty(values.shape, dtype=object)
    exact.ravel()[:] = [Fraction(*value.as_integer_ratio()) for value in values.ravel().tolist()]
    return exact


@dataclass(frozen=True, eq=False)
class Refutation:
    """Rows that contradict each other: ``Σ λ_k y_i x_i = 0`` and ``Σ λ_k y_i = 0`` with ``i = rows[k]``.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Row numbers.
    multipliers : tuple of Fraction
        The ``λ_k``: positive and exact.
    rivals : ndarray of shape (m,)
        Number of the rival class of each row; with two classes the other one. With more classes, for each class, the
        sum over its rows minus the sum over rows that have it as rival vanishes.

    Examples
    --------
    >>> import linsep
    >>> refutation = linsep.separate([[0.0], [2.0], [1.0]], [0, 0, 1]).refutation  # 1 lies between 0 and 2
    >>> refutation.rows.tolist(), [str(multiplier) for multiplier in refutation.multipliers]
    ([0, 1, 2], ['1', '1', '2'])
    """

    rows: Array
    multipliers: tuple[Fraction, ...]
    rivals: Array

    def __repr__(self) -> str:
        return f"Refutation({len(self.rows)} rows: {np.array2string(self.rows, threshold=12)})"


@dataclass(frozen=True, eq=False)
class Claim:
    """What is claimed of the classes, and the evidence: the fields of a verdict."""

    kind: str
    separator: Separator | None
    refutation: Refutation | None
    classes: tuple[Any, ...]
    n_features: int
    fit_intercept: bool
    bracket: tuple[float, float] = (0.0, math.inf)
    values: Values = "binary"
    dropped: Dropped = field(default_factory=Dropped, repr=False)
    columns: tuple[Any, ...] = ()

    def in_source(self, dropped: Dropped) -> Claim:
        """Return this verdict on the rows that are left of a source with their numbers in the source."""
        refutation = self.refutation
        if refutation is not None:
            refutation = replace(refutation, rows=dropped.in_source(refutation.rows))
        return replace(self, refutation=refutation, dropped=dropped)

    def among_kept(self) -> Claim:
        """Return this verdict with the numbers that rows have among those that are left, as in arrays and documents."""
        if len(self.dropped) == 0 or self.refutation is None:
            return self
        rows = self.dropped.among_kept(self.refutation.rows)
        return replace(self, refutation=replace(self.refutation, rows=rows), dropped=Dropped())


class CheckResult(NamedTuple):
    """Whether a proof holds, why not if it does not, and what was checked."""

    holds: bool
    why: str = ""
    checked: tuple[str, ...] = ()


OTHER_DATA = CheckResult(
    False, "these are not the data it was written for: a value or label differs, or the order of the rows"
)


class Decision(NamedTuple):
    """A verdict on all rows of a source, and those rows that it speaks of."""

    verdict: Claim
    rows: int  # in all the data
    cells: dict[int, Floats]  # the rows of the refutation, by their numbers
    labels: dict[int, Any]
