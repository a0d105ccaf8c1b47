"""The state of one search for a verdict: the data, their floats, and the results so far.

A *float search* ends with a plane, with inequalities that seem to contradict each other, or with nothing. A *strategy*
takes a case and a clock and returns a certificate, which the exact check has confirmed, or None.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.problem import Array, Floats
from linsep.prove.check.fast_check import holds
from linsep.prove.claims import Data, Refutation, Separator, Verdict
from linsep.prove.verdicts import kesler
from linsep.prove.verdicts.scaled import WIDE, ScaledView

_WRITTEN_CELLS = 1 << 25  # of the rows that a working set grows by


@dataclass(frozen=True)
class Limits:
    """Sizes from which on a search goes another way."""

    wide: int = WIDE  # columns of sparse rows from which on working sets are not written out
    unknowns: int = 12_000  # an exact basis of more takes gigabytes
    exact_views: int = 10  # tried before the search goes on without floats
    float_searches: bool = True


class Certificate(NamedTuple):
    """A verdict and its proof."""

    kind: str
    separator: Separator | None
    refutation: Refutation | None

    def holds(self, data: Data) -> bool:
        """Return whether the exact check agrees."""
        return holds(Verdict(*self, (), data.n_features, data.offset), data)


class Plane(NamedTuple):
    """Weights, in scaled columns, that all rows are above as far as floats tell."""

    w: Floats


class Contradiction(NamedTuple):
    """Inequalities that no weights meet, as far as floats tell, and multipliers that about cancel them."""

    pairs: Array
    multipliers: Floats


FloatSearch = Callable[["Case", Clock], Plane | Contradiction | None]
Strategy = Callable[["Case", Clock], Certificate | None]


class Best(NamedTuple):
    """The last plane tried, with the inequalities that hold it in its place."""

    w: Floats
    pairs: Array
    multipliers: Floats


class Case:
    """Data with their scaled view, a source of random numbers, and what is known so far.

    Raises FloatingPointError when some value turns out not to be finite.
    """

    def __init__(self, data: Data, limits: Limits | None = None) -> None:
        self.data, self.limits = data, limits or Limits()
        self.weak: Separator | None = None  # a plane that all rows are on the right side of or on, if one is known
        self.contradicting = np.empty((0, 2), np.intp)  # equal rows of different classes, as far as they are known
        self.rng = np.random.default_rng(0)
        self.best: Best | None = None
        self.preferred = np.empty(0, np.intp)  # inequalities that working sets begin with
        self._see(whole=False)

    def _see(self, *, whole: bool) -> None:
        self.view = ScaledView(self.data, self.rng, whole=whole, wide=self.limits.wide)
        self.working = self.sample(min(4 * self.view.dimension + 8, self.room()))  # the last working set, or the first

    def attempt(self, strategy: Strategy, clock: Clock) -> Certificate | None:
        """Use a strategy, once more if a sample of the rows gave a wrong view of them."""
        found = strategy(self, clock)
        if found is None and self.view.misled:
            self._see(whole=True)
            found = strategy(self, clock)
        return found

    def room(self) -> int:
        """Return how many inequalities can be written out at a time without taking much memory."""
        return max(100, _WRITTEN_CELLS // max(1, self.view.dimension))

    def sample(self, most: int) -> Array:
        """Return ``most`` random inequalities, or all if there are not more."""
        data, rng, n = self.data, self.rng, len(self.data.y)
        if n * (data.classes - 1) <= most:
            return kesler.all_pairs(data.y, data.classes)
        if len(self.preferred):
            hard = self.preferred[:most]
            others = rng.integers(0, n, most - len(hard))
            rivals = (data.y[others] + rng.integers(1, data.classes, len(others))) % data.classes
            return np.unique(np.concatenate((hard, others * data.classes + rivals)))
        i = np.sort(rng.choice(n, most, replace=False)) if n > most else rng.integers(0, n, most)
        if data.classes == 2:
            return i * 2 + 1 - data.y[i]
        rival = (data.y[i] + rng.integers(1, data.classes, len(i))) % data.classes
        return np.unique(i * data.classes + rival)

    def prefer(self, pairs: Array) -> None:
        """Have working sets begin with some inequalities, the most important first."""
        self.preferred = pairs
        self.working = self.sample(min(4 * self.view.dimension + 8, self.room()))

    def confirmed(self, kind: str, plane: Separator | None, refutation: Refutation | None) -> Certificate | None:
        """Return a certificate if the exact check agrees."""
        self.view.look()
        certificate = Certificate(kind, plane, refutation)
        return certificate if certificate.holds(self.data) else None

    def certain(self, kind: str, plane: Separator | None, refutation: Refutation | None) -> Certificate:
        """Return a certificate that exact means have led to, hence must be confirmed but for one chance in 2**60."""
        found = self.confirmed(kind, plane, refutation)
        if found is None:
            raise ArithmeticError(f"linsep found a proof of {kind!r} that does not hold: please report these data")
        return found


def refutation(data: Data, pairs: Array, multipliers: list[int], shifts: list[int]) -> Refutation:
    """Return multipliers of integer rows as multipliers of the rows as given, in integers without a common divisor."""
    highest = max(shifts)
    exact = [value << (highest - shift) for value, shift in zip(multipliers, shifts, strict=True)]
    divisor = math.gcd(*exact)
    order = np.argsort(pairs, kind="stable")
    return Refutation(
        (pairs[order] // data.classes).astype(np.intp),
        tuple(Fraction(exact[k] // divisor) for k in order.tolist()),
        (pairs[order] % data.classes).astype(np.intp),
    )
