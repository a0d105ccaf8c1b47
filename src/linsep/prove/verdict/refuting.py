"""A fast refutation for training runs; it limits its work by counting, not by time.

In this order: equal rows of different classes, by hashing, if all rows can be held; then floats on a working set that
begins with the rows on which most mistakes were made, for the run has already found the trouble; exact multipliers.
One refuted pair of classes refutes them all, so pairs with the most mistakes come first; then all classes together, as
long as one weight vector for each will do, the other pairs, and at last Kesler's construction. A pair that some plane
separates is not asked about again. Of rows that are too many to be held, a working set is searched (``working_set``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock, OutOfTime
from linsep.data.parallel import quiet_algebra
from linsep.problem import Array, Sparse
from linsep.prove.check.fast_check import contradicts, separates
from linsep.prove.claims import Data, Refutation
from linsep.prove.core import newton
from linsep.prove.core.newton_cg import fits, likely_work
from linsep.prove.core.oracles import SEVERAL_UNKNOWNS
from linsep.prove.core.presolve import Certificate, fingerprints
from linsep.prove.core.scaled_view import WIDE
from linsep.prove.verdict.decide import VerdictSearch, worth_of_all
from linsep.prove.verdict.parts import Ask, Parts, RowsTask, RunMistakes, Size
from linsep.prove.verdict.working_set import settle

SPARSE_CELL = 4  # operations of a visit to a cell, of which a dense one takes 1
VECTOR, SPARSE_VECTOR = 0.1, 0.5  # of that, for every weight vector after the first
VISIT = 20  # and to a row, besides its cells
PASS = 50_000  # and for a pass, besides its rows


def pass_work(rows: int, cells: int, sparse: bool, vectors: int = 1) -> float:
    """Return the operations of one pass over some rows."""
    each, more = (SPARSE_CELL, SPARSE_VECTOR) if sparse else (1, VECTOR)
    return PASS + VISIT * rows + each * (1 + more * (vectors - 1)) * cells


class Work(Clock):
    """A clock that counts the operations announced to it instead of looking at the time: alike on every machine."""

    def __init__(self, budget: float) -> None:
        super().__init__()
        self.budget, self.spent = budget, 0.0

    @property
    def left(self) -> float:
        """Operations that may still be done."""
        return self.budget - self.spent

    @property
    def elapsed(self) -> float:
        """Operations done."""
        return self.spent

    def allows(self, operations: float) -> bool:
        """Return whether this number of operations may still be done."""
        return self.spent + operations <= self.budget

    def count(self, operations: float) -> None:
        """Count the operations of a step; raise if they are too many."""
        self.check()
        if not self.allows(operations):
            raise OutOfTime
        self.spent += operations


class Asked(NamedTuple):
    """What a run needs to know."""

    classes: int
    offset: bool
    separate: bool = False  # whether each class is a machine of its own, told from all others

    @property
    def several(self) -> bool:
        """Whether there are several machines, each with a question of its own."""
        return self.separate and self.classes > 2

    @property
    def machines(self) -> int:
        """How many weight vectors the run has."""
        return 1 if self.classes == 2 else self.classes


class RunProof(NamedTuple):
    """A proof, checked in exact arithmetic."""

    proof: Any  # Refutation or Separator; None if machines that are separate have planes of their own
    machine: int | None = None  # of several that are separate, the one that it is about
    labels: Array = np.empty(0, np.intp)  # class numbers of the rows of a refutation, as the rivals are numbered

    @property
    def refuted(self) -> bool:
        """Whether no plane separates the rows."""
        return isinstance(self.proof, Refutation)


class RunQuestion(NamedTuple):
    """Which classes are to be told from each other."""

    codes: Array  # (classes,) their numbers here, -1 for a class that is no part of it
    machine: int | None = None
    number: int = -1  # of a pair of classes, or a machine

    @property
    def all(self) -> bool:
        """Whether a plane for it is one for the run."""
        return self.machine is None and bool(self.codes.min() >= 0)


HELD_BYTES = 1 << 28  # values of the rows that are searched at a time, in bytes


def run_mistakes(trace: Array, machines: int) -> RunMistakes:
    """Return the mistakes of a trace."""
    pairs, counts = np.unique(trace, return_counts=True)
    rows, concerned = np.divmod(pairs.astype(np.int64), machines)
    return RunMistakes(rows, concerned, counts)


class RunSearch:
    """A search among rows that others have.

    Parameters
    ----------
    ask : callable
        Has a function of ``parts`` answer for every part of the rows.
    asked : Asked
    made : RunMistakes
        The mistakes of the run, as far as they are known.
    settled : iterable of int
        Numbers of pairs of classes, or of machines, that searches of before have found planes for.
    held : int
        Bytes of values that may be searched at a time.
    """

    def __init__(
        self, ask: Ask, asked: Asked, made: RunMistakes, settled: Iterable[int] = (), held: int = HELD_BYTES
    ) -> None:
        self.asked, self.made, self.settled = asked, made, set(settled)
        self.parts = Parts(ask, asked.classes, asked.offset, asked.machines, made)
        self.size: Size = self.parts.size
        amount = self.size.rows, self.size.cells, self.size.sparse
        self.parts.work, self.training = pass_work(*amount), pass_work(*amount, asked.machines)
        self.spent = 0.0
        self.margin_bound, self.radius = math.inf, 0.0  # proved: no plane has a larger margin; and of the rows searched
        self.capacity = max(
            1000, held * self.size.rows // max(1, self.size.cells * self.size.itemsize)
        )  # rows at a time

    def within(self, budget: float) -> RunProof | None:
        """Look for a proof with so much work; how much it has taken is in ``spent``."""
        work = Work(budget)
        proof = self.run(work)
        self.spent = work.spent
        return proof

    def run(self, clock: Work) -> RunProof | None:
        """Look for a proof that the run cannot end with all rows right, or that it can, until the clock ends it.

        None also if floats do not suffice. Rows have their numbers among all.
        """
        self.clock = clock
        with quiet_algebra():
            try:
                return self._equal_rows() or self._answers() if np.count_nonzero(self.size.members) > 1 else None
            except OutOfTime:
                return None

    def _answers(self) -> RunProof | None:
        """Ask one question after the other: one refuted is enough."""
        for question in self._questions():
            proof = None if question.number in self.settled else self._answer(question)
            if proof is not None and (proof.refuted or question.all):
                return proof
            if proof is not None:
                self.settled.add(question.number)
        return RunProof(None) if self.asked.several and len(self.settled) == self.asked.machines else None

    def _questions(self) -> Iterator[RunQuestion]:
        """Yield what to ask: the hardest pairs of classes first, or the hardest machines, and at last all classes."""
        C, between = self.asked.classes, self.size.between
        if self.asked.several:
            for c in np.argsort(-between.sum(axis=0), kind="stable").tolist():
                yield RunQuestion((np.arange(C) == c).astype(np.intp), c, c)
            return
        pairs = self._hardest() if C > 2 else []
        block = self.size.n_features + self.asked.offset
        first = len(pairs)
        if (C - 1) * block > SEVERAL_UNKNOWNS and fits(self.size.rows, C, block):
            first = worth_of_all(pairs, self.size.members)
        yield from (self._pair(a, b) for a, b in pairs[:first])
        if first < len(pairs):
            yield RunQuestion(np.arange(C))
        yield from (self._pair(a, b) for a, b in pairs[first:])
        if first == len(pairs):
            yield RunQuestion(np.arange(C))

    def _pair(self, a: int, b: int) -> RunQuestion:
        codes = np.full(self.asked.classes, -1)
        codes[[a, b]] = 0, 1
        return RunQuestion(codes, number=a * self.asked.classes + b)

    def _hardest(self) -> list[tuple[int, int]]:
        """Return pairs of classes with mistakes between them, those with most first."""
        made = self.size.between + self.size.between.T
        pairs = [(a, b) for b in range(self.asked.classes) for a in range(b) if self.size.members[[a, b]].all()]
        if made.any():
            pairs = [pair for pair in pairs if made[pair]]
        return sorted(pairs, key=lambda pair: -int(made[pair]))

    def _equal_rows(self) -> RunProof | None:
        """Return two equal rows of different classes, if there are such and all rows can be held."""
        self.clock.count(self.parts.work)
        if self.size.rows > self.capacity:
            return None
        numbers, data = self.parts.rows(RowsTask(np.arange(self.asked.classes)))
        pair = equal_rows(data)
        if pair is None:
            return None
        numbers, (a, b) = numbers[pair], data.y[pair].tolist()
        question = RunQuestion((np.arange(self.asked.classes) == a).astype(np.intp), a)
        if not self.asked.several:
            question = self._pair(min(a, b), max(a, b))
        numbers, data = self.parts.rows(RowsTask(question.codes, numbers))
        proof = Refutation(np.arange(2), (Fraction(1), Fraction(1)), 1 - data.y)
        return self._checked(question, numbers, data, proof)

    def _answer(self, question: RunQuestion) -> RunProof | None:
        """Search the rows of some classes: all at once, or, if they are too many, a working set that grows."""
        rows = int(self.size.members[question.codes >= 0].sum())
        capacity, first = self.capacity, None
        if rows > capacity:
            some = self.parts.sample(capacity // 4 * self.size.rows // rows)
            first = np.union1d(self._hard_rows(question)[: capacity // 2], some)
        how: dict[str, Any] = {"codes": question.codes, "limit": capacity, "any_refutation": True}
        settled = settle(self.parts, partial(self._searched, question), self.clock, first, capacity // 8, **how)
        if settled is None or settled.found is None:
            return None
        if settled.found.refutation is not None:
            return self._checked(question, settled.numbers, settled.data, settled.found.refutation)
        return RunProof(settled.found.separator, question.machine)

    def _hard_rows(self, question: RunQuestion) -> Array:
        """Return the rows with mistakes that the question is about, those with most first."""
        made = self.made
        which = np.arange(len(made.rows))
        if question.machine is not None:
            which = np.flatnonzero(made.machines == question.machine)
        elif self.asked.machines > 1:
            which = np.flatnonzero(question.codes[made.machines] >= 0)
        order = which[np.argsort(-made.counts[which], kind="stable")]
        rows = made.rows[order]
        return np.asarray(rows[np.sort(np.unique(rows, return_index=True)[1])])

    def _counts(self, question: RunQuestion, numbers: Array, data: Data) -> Array:
        """Return the mistakes on each inequality of some rows, (n, classes of the question)."""
        made, counts = self.made, np.zeros((len(numbers), data.classes), dtype=np.int64)
        place = np.minimum(np.searchsorted(numbers, made.rows), len(numbers) - 1)
        here = numbers[place] == made.rows
        if question.machine is not None:
            here &= made.machines == question.machine
        place = place[here]
        rivals = 1 - data.y[place]
        if self.asked.machines > 1 and question.machine is None:
            rivals = question.codes[made.machines[here]]
        fair = (rivals >= 0) & (rivals != data.y[place])
        np.add.at(counts, (place[fair], rivals[fair]), made.counts[here][fair])
        return counts

    def _searched(self, question: RunQuestion, numbers: Array, data: Data) -> Certificate | None:
        """Search rows that are here: a refutation of them is one of all, a plane is checked for them alone."""
        if len(np.unique(data.y)) < data.classes and data.classes == 2:
            return None
        certificate = self._decided(question, numbers, data)
        if certificate is None or certificate.refutation is not None:
            return certificate
        assert certificate.separator is not None
        self.clock.count(4 * pass_work(len(data.y), data.rows.data.size, isinstance(data.rows, Sparse)))
        return certificate if separates(certificate.separator, data, strictly=True) else None

    def _decided(self, question: RunQuestion, numbers: Array, data: Data) -> Certificate | None:
        """Look for a plane or a refutation; of very many sparse columns also for a bound on all margins."""
        expect_time(data, self.clock)
        counts = self._counts(question, numbers, data)
        search = VerdictSearch(data, self.clock, any_contradiction=True, exact=False, mistakes=counts)
        try:
            return search.certificate()
        finally:
            if question.all and data.classes == 2:
                self.margin_bound, self.radius = search.margin_bound()

    def _checked(self, question: RunQuestion, numbers: Array, data: Data, proof: Refutation) -> RunProof | None:
        """Return a refutation of some rows as one of all, if the exact check agrees."""
        self.clock.count(len(proof.rows) * 100 * self.size.cells / self.size.rows)
        if not contradicts(proof, data):
            return None
        names = np.arange(2)  # of the classes, in all
        if question.machine is None:
            names = np.argsort(question.codes, kind="stable")[np.count_nonzero(question.codes < 0) :]
        rows, labels = numbers[proof.rows], names[data.y[proof.rows]]
        return RunProof(Refutation(rows, proof.multipliers, names[proof.rivals]), question.machine, labels)


# ---------------------------------------------------------------------------------------------------------------
# Rows that are here


def equal_rows(data: Data) -> Array | None:
    """Return the places of two rows of different classes that have one hash, if there are such."""
    hashes = fingerprints(data.rows, data.n_features)
    order = np.argsort(hashes, kind="stable")  # equal ones in their order
    hashes, y = hashes[order], data.y[order]
    apart = np.flatnonzero((hashes[1:] == hashes[:-1]) & (y[1:] != y[:-1]))
    return order[(i := apart[np.argmin(order[apart])]) : i + 2] if len(apart) else None


def expect_time(data: Data, clock: Work) -> None:
    """Raise OutOfTime where a search will clearly not end within the work that is allowed."""
    block, n = data.n_features + data.offset, len(data.y)
    unknowns = (data.classes - 1) * block
    rows = min(n * (data.classes - 1), max(2000, 35 * unknowns))
    work = EXPECTED_STEPS * newton.PRODUCT * rows * unknowns**2
    if unknowns > SEVERAL_UNKNOWNS and fits(n, data.classes, block):
        work = likely_work(n, block)
    if isinstance(data.rows, Sparse) and data.n_features > WIDE:
        work = VISITS * max(data.rows.data.size, n * data.classes)
    if not clock.allows(work):
        raise OutOfTime


EXPECTED_STEPS = 12  # of Newton's method, at least; what would end without a result is not begun
VISITS = 150  # of all rows of very many sparse columns
