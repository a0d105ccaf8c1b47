"""A fast refutation for a run of training: less than a verdict, and its work is counted, never timed.

In this order: equal rows of different classes, by hashing; then floats on a working set that begins with the rows on
which most mistakes were made, for the run has already found the trouble; exact multipliers. One refuted pair of
classes refutes them all, so pairs with the most mistakes come first, and all classes together at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linsep.clock import Cancelled, Clock, OutOfTime
from linsep.data.threads import quiet_algebra
from linsep.problem import Array, Dense, take
from linsep.prove import faces
from linsep.prove.case import Case, Contradiction, Plane
from linsep.prove.claims import Data, Refutation, Separator
from linsep.prove.fast_check import contradicts, separates
from linsep.prove.float_searches import by_long_descent, by_nearest_point, by_newton
from linsep.prove.one_column import peeled, with_peelings
from linsep.prove.reducing import first_contradiction, reduced
from linsep.prove.search import nearest_classes

CELL = 1e-9  # seconds that stand for a visit to one cell of a dense row
SPARSE_CELL = 2e-9
VISIT = 2e-8  # and to a row, besides its cells
PASS = 5e-5  # and for a pass, besides its rows


def pass_work(data: Data) -> float:
    """Return the work of one pass over some rows, in seconds that stand for it on every machine."""
    cell = CELL if isinstance(data.rows, Dense) else SPARSE_CELL
    return PASS + VISIT * len(data.y) + cell * data.rows.data.size


class Work(Clock):
    """A clock that counts the work announced to it instead of looking at the time."""

    def __init__(self, budget: float) -> None:
        super().__init__()
        self.budget, self.spent = budget, 0.0

    @property
    def left(self) -> float:
        """Work that may still be done."""
        return self.budget - self.spent

    @property
    def elapsed(self) -> float:
        """Work done."""
        return self.spent

    def check(self, seconds: float = 0.0) -> None:
        """Count a step that takes so much work; raise if it is too much."""
        if self._cancelled.is_set():
            raise Cancelled
        if self.spent + seconds > self.budget:
            raise OutOfTime
        self.spent += seconds


def refute(data: Data, clock: Clock, mistakes: Array | None = None) -> Refutation | Separator | None:
    """Look for a proof that no plane separates the rows, or that one does.

    Parameters
    ----------
    data : Data
    clock : Clock
        A ``Work`` to spend so much work and no more.
    mistakes : ndarray of shape (n,) or (n, classes), default=None
        Mistakes that a run has made on each row, for more than two classes by rival.

    Returns
    -------
    found : Refutation, Separator or None
        Checked in exact arithmetic; None if the clock ends the search first, or floats do not suffice.
    """
    with quiet_algebra():
        try:
            return _equal_rows(data, clock) or _by_classes(data, clock, mistakes)
        except OutOfTime:
            return None


def _equal_rows(data: Data, clock: Clock) -> Refutation | None:
    """Return two equal rows of different classes, if there are such."""
    clock.check(pass_work(data))
    pair = first_contradiction(data)
    if pair is None:
        return None
    i, j = pair
    C, y = data.classes, data.y
    found = faces.as_refutation(data, faces.Exact(np.array([i * C + y[j], j * C + y[i]]), [1, 1]))
    return found if contradicts(found, data) else None


def _by_classes(data: Data, clock: Clock, mistakes: Array | None) -> Refutation | Separator | None:
    """Search two classes at a time, then all."""
    if data.classes == 2:
        found = _of_two(data, clock, mistakes)
        return found if isinstance(found, Separator) else _checked(data, found, clock)
    for a, b in _hardest(data, mistakes):
        which = np.flatnonzero((data.y == a) | (data.y == b))
        codes = (data.y[which] == b).astype(np.intp)
        counts = None
        if mistakes is not None:
            counts = mistakes[which] if mistakes.ndim == 1 else mistakes[which, np.where(codes == 1, a, b)]
        exact = _of_two(data._replace(rows=take(data.rows, which), y=codes, classes=2), clock, counts)
        if isinstance(exact, faces.Exact):
            rows, rivals = np.divmod(exact.pairs, 2)
            pairs = which[rows] * data.classes + np.where(rivals == 1, b, a)
            return _checked(data, faces.Exact(pairs, exact.multipliers), clock)
    case = Case(data)
    if mistakes is not None and mistakes.ndim == 2:
        case.prefer(np.argsort(-mistakes.ravel(), kind="stable")[: np.count_nonzero(mistakes)])
    together = _searched(case, clock)
    if isinstance(together, Plane):
        plane = case.view.plane(together.w)
        return plane if separates(plane, data, strictly=True) else None
    return _checked(data, None if together is None else faces.exact_multipliers(data, together, clock), clock)


def _hardest(data: Data, mistakes: Array | None) -> list[tuple[int, int]]:
    """Return pairs of classes, those with the most mistakes between them first."""
    pairs = nearest_classes(data)
    if mistakes is None or mistakes.ndim == 1:
        return pairs
    made = np.array([mistakes[data.y == c].sum(axis=0) for c in range(data.classes)])
    made = made + made.T
    return sorted((pair for pair in pairs if made[pair]), key=lambda pair: -int(made[pair]))


def _of_two(data: Data, clock: Clock, mistakes: Array | None) -> faces.Exact | Separator | None:
    """Search two classes, without the rows that a plane of one column has strictly on their side."""
    known = reduced(data, clock)
    peelings = peeled(known.data, clock)
    left, y = peelings.left, known.data.y[peelings.left]
    if len(np.unique(y)) < 2:
        return None
    inner = reduced(known.data._replace(rows=take(known.data.rows, left), y=y), clock)
    numbers = left if inner.rows is None else left[inner.rows]
    numbers = numbers if known.rows is None else known.rows[numbers]
    case = Case(inner.data)
    if mistakes is not None:
        counts = mistakes[numbers]
        rows = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        case.prefer(rows * 2 + 1 - case.data.y[rows])
    found = _searched(case, clock)
    if isinstance(found, Plane):
        plane = inner.plane(case.view.plane(found.w))
        plane = known.plane(with_peelings(known.data, peelings, plane))
        clock.check(4 * pass_work(data))
        return plane if separates(plane, data, strictly=True) else None
    exact = None if found is None else faces.exact_multipliers(case.data, found, clock)
    if exact is None:
        return None
    rows, rivals = np.divmod(exact.pairs, 2)
    return faces.Exact(numbers[rows] * 2 + rivals, exact.multipliers)


def _searched(case: Case, clock: Clock) -> Plane | Contradiction | None:
    """Search with floats."""
    if case.view.wide and case.data.classes == 2:
        return by_long_descent(case, clock)
    return by_newton(case, clock) or by_nearest_point(case, clock)


def _checked(data: Data, found: faces.Exact | None, clock: Clock) -> Refutation | None:
    """Return a contradiction as a refutation that the exact check agrees with."""
    if found is None:
        return None
    clock.check(CELL * len(found.pairs) * data.n_features * 100)
    refutation = faces.as_refutation(data, found)
    return refutation if contradicts(refutation, data) else None


# ---------------------------------------------------------------------------------------------------------------
# A hook for runs

FIRST_PASSES = 10


class Prover:
    """Looks, now and then in the course of a run, for a proof that going on is useless.

    After ten passes, and each time their number has doubled, if mistakes per pass have had no new low since the last
    time: then all searches together may take as much work as training has. Once a plane is known there are none.

    Parameters
    ----------
    data : Data
        The rows of the run.
    """

    def __init__(self, data: Data) -> None:
        self.data = data
        self.due = FIRST_PASSES
        self.spent: list[tuple[int, float]] = []  # after which pass, how much work
        self.separator: Separator | None = None

    def __call__(self, mistakes_per_pass: Sequence[int], trace: Array) -> Refutation | None:
        """Return a refutation if it is time to look for one, and one is found.

        ``trace`` holds the mistakes so far: rows for two classes, ``row * classes + rival`` for more.
        """
        passes = len(mistakes_per_pass)
        if passes < self.due or self.separator is not None:
            return None
        before = self.due // 2 if self.spent else FIRST_PASSES // 2
        self.due = 2 * passes
        if min(mistakes_per_pass[before:]) < min(mistakes_per_pass[:before]):
            return None
        work = Work(passes * pass_work(self.data) - sum(done for _, done in self.spent))
        n, C = len(self.data.y), self.data.classes
        counts: Any = np.bincount(trace.astype(np.intp), minlength=n if C == 2 else n * C)
        found = refute(self.data, work, counts if C == 2 else counts.reshape(n, C))
        self.spent.append((passes, work.spent))
        if isinstance(found, Separator):
            self.separator = found
            return None
        return found
