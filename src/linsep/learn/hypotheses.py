"""Keeps the hypothesis that a run returns: the last, the average, or the best.

Every visit to an example leaves exactly one hypothesis behind: the one that was there if it was right, the next one if
it was a mistake. So T visits make T hypotheses, counted with repetition, and a mistake at visit t (counted from 0) is
part of the last T - t of them. Average and vote are over these T.

A keeper is told of every piece of work. It can be copied, grown to more classes, and written as a state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from linsep.learn.parameters import Kernel
from linsep.learn.rules import AnyRule, Sums
from linsep.learn.surveys import survey
from linsep.learn.touched import few_columns
from linsep.problem import Array, Examples, Floats, Rows, Weights, count, wide

Arrays = dict[str, Array]
Grow = Callable[[Floats, Floats], tuple[Floats, Floats]]  # weights and offsets, with room for more classes
Change = Callable[[Any, Floats], tuple[Any, Floats]]  # weights (dense or sparse) and offsets, in other units


class Piece(NamedTuple):
    """What one call into compiled code visited and found."""

    kernel: Kernel
    rule: AnyRule
    examples: Examples  # as the kernel saw them
    order: Array  # rows of the examples, in the order they were to be visited
    visited: int  # how many of them were
    mistakes: Array  # row of the examples * (number of weight vectors) + the one concerned
    first_row: int  # of the examples, in the whole problem

    def visits(self, machines: int) -> Array:
        """Return how many rows were visited before each mistake."""
        rows = (self.mistakes // np.uint64(machines)).astype(np.intp)
        if len(self.order) < 2 or bool((self.order[1:] > self.order[:-1]).all()):
            return np.searchsorted(self.order, rows.astype(self.order.dtype))
        place = np.empty(count(self.examples.rows), np.intp)
        place[self.order] = np.arange(len(self.order))
        return place[rows]


class Keeper:
    """The last weights, for which nothing need be kept; other hypotheses are subclasses."""

    kind = "last"
    is_last = True  # whether the weights returned are the last ones

    def begin(self, errors: Callable[[Floats, Floats], float]) -> None:
        """Begin a run in which ``errors`` can tell the weight of all examples that a plane predicts wrong."""

    def before(self, rule: AnyRule, weights: Weights, rows: Rows) -> AnyRule:  # noqa: ARG002
        """Get ready for a piece of work on some of the rows; return the rule to give to the kernel."""
        return rule

    def after(self, piece: Piece, weights: Weights) -> None:
        """Take note of a piece of work."""

    def close(self, weights: Weights, clean: bool) -> None:
        """End a pass, which was clean if no mistake was made."""

    def plane(self, weights: Weights) -> tuple[Floats, Floats]:
        """Return the weights and offsets to return."""
        return weights.W, weights.b

    def plane_at(self, columns: Array, weights: Weights) -> tuple[Floats, Floats]:
        """Return the same for some columns alone."""
        W, b = self.plane(weights)
        return W.take(columns, axis=1), b

    def wrong(self, examples: Examples, weights: Weights, on_plane: int) -> int:
        """Return how many examples the kept hypothesis predicts wrong."""
        return survey(examples, *self.plane(weights), on_plane=on_plane).wrong

    def done(self) -> None:
        """Let go of what only the run needed."""

    def copy(self) -> Keeper:
        """Return one that goes on from here with other examples."""
        return self

    def share(self) -> tuple[Keeper, list[Weights]]:
        """Return a copy, and what it shares with the original and changes where rows have features."""
        return self.copy(), []

    def grow(self, grow: Grow, places: Array, classes: int) -> None:
        """Make room for more classes, where the old ones take these places."""

    def transform(self, change: Change, d: int) -> None:
        """Change the units of what is kept, of ``d`` features."""

    def state(self) -> Arrays:
        """Return all that is kept, as arrays."""
        return {}

    @classmethod
    def from_state(cls, arrays: Arrays, like: Weights) -> Self:  # noqa: ARG003
        """Return the keeper that was written as these arrays beside such weights; refuse what does not fit."""
        return cls()


class Average(Keeper):
    """The mean of the weights over all visits (Freund & Schapire 1999), at a cost for mistakes only.

    With ``A`` the sum of all updates, each times the number of visits before it, the mean after T visits is ``w - A/T``
    (Daumé 2006, section 1.5).
    """

    kind = "average"
    is_last = False

    def __init__(self) -> None:
        self.visited = 0
        self.A, self.a = np.zeros((0, 0)), np.zeros(0)

    def before(self, rule: AnyRule, weights: Weights, rows: Rows) -> AnyRule:  # noqa: ARG002
        """Give the sums to the kernel."""
        self.A, self.a = wide(self.A, weights.W.shape), wide(self.a, weights.b.shape)
        return rule._replace(sums=Sums(self.A, self.a, float(self.visited)))

    def after(self, piece: Piece, weights: Weights) -> None:  # noqa: ARG002
        """Count the visits."""
        self.visited += piece.visited

    def plane(self, weights: Weights) -> tuple[Floats, Floats]:
        """Return the mean."""
        return self._mean(weights.W, wide(self.A, weights.W.shape), weights.b)

    def plane_at(self, columns: Array, weights: Weights) -> tuple[Floats, Floats]:
        """Return the mean for some columns alone, at a cost for these."""
        A = wide(self.A, weights.W.shape).take(columns, axis=1)
        return self._mean(weights.W.take(columns, axis=1), A, weights.b)

    def _mean(self, W: Floats, A: Floats, b: Floats) -> tuple[Floats, Floats]:
        T = max(1, self.visited)
        return W - A / T, b - wide(self.a, b.shape) / T

    def transform(self, change: Change, d: int) -> None:
        """Change the sums, which are linear in the weights."""
        self.A, self.a = change(wide(self.A, (len(self.A), d)), self.a)

    def grow(self, grow: Grow, places: Array, classes: int) -> None:  # noqa: ARG002
        """Make room for more classes: sums of updates grow as weights do."""
        self.A, self.a = grow(self.A, self.a)

    def copy(self) -> Average:
        """Return one that goes on from here."""
        return self.of(self.A.copy(), self.a.copy(), self.visited)

    def share(self) -> tuple[Keeper, list[Weights]]:
        """Return one that goes on from here with the same sums."""
        if not self.A.flags.writeable or not self.A.size:
            return super().share()
        return self.of(self.A, self.a, self.visited), [Weights(self.A, self.a)]

    def state(self) -> Arrays:
        """Return the sums and the number of visits."""
        return {"A": self.A.copy(), "a": self.a.copy(), "looked": np.array([self.visited])}

    @classmethod
    def from_state(cls, arrays: Arrays, like: Weights) -> Self:
        """Return the keeper that was written as these arrays."""
        visited = whole_numbers(arrays["looked"], 1)
        if arrays["A"].shape != (0, 0):
            held = fitting(arrays["A"], arrays["a"], like)
            return cls.of(held.W, held.b, visited[0])
        return cls.of(np.zeros((0, 0)), np.zeros(0), visited[0])

    @classmethod
    def of(cls, A: Floats, a: Floats, visited: int) -> Self:
        """Return the average with these sums after ``visited`` visits."""
        self = cls.__new__(cls)
        self.A, self.a, self.visited = A, a, visited
        return self


class Best(Keeper):
    """The pocket with ratchet (Gallant 1990): of the hypotheses that were evaluated, that with fewest errors.

    To evaluate one costs a visit to all examples, so only few are: of each pass that with the longest run of right
    answers, the earliest of equals, and from the second pass on the last one too, so that the pocket is never worse.
    Where the examples cannot be visited again (``errors`` is None) the longest run alone decides, as in Gallant's
    pocket without ratchet. An error counts as much as the example weighs.
    """

    kind = "best"
    is_last = False

    def __init__(self) -> None:
        self.errors: Callable[[Floats, Floats], float] | None = None
        self.run = 0  # right answers of the present hypothesis
        self.longest = 0  # of this pass
        self.candidate: Weights | None = None  # which had the longest
        self.pocket: Weights | None = None
        self.fewest = math.inf  # errors of the pocket
        self.pocket_run = 0  # and its right answers

    def begin(self, errors: Callable[[Floats, Floats], float]) -> None:
        """Take the function that evaluates a hypothesis."""
        self.errors = errors

    def before(self, rule: AnyRule, weights: Weights, rows: Rows) -> AnyRule:
        """Remember where the piece begins: the weights that it can change."""
        columns = few_columns(rows, weights.W.shape[1])
        self.columns: Any = slice(None) if columns is None else columns
        self.start = Weights(weights.W[:, self.columns].copy(), weights.b.copy())
        return rule

    def after(self, piece: Piece, weights: Weights) -> None:
        """Find the longest run that ended; its hypothesis is what the kernel makes of the visits before."""
        at = np.unique(piece.visits(len(weights.b)))
        if len(at) == 0:
            self.run += piece.visited
            return
        begun = np.append(0, at[:-1] + 1)  # visits at which each hypothesis that ended began
        runs = at - begun
        runs[0] += self.run
        longest = int(runs.argmax())
        if runs[longest] > self.longest:
            self.longest = int(runs[longest])
            W, b = weights.W.copy(), self.start.b
            W[:, self.columns] = self.start.W
            part = piece.order[: begun[longest]]
            mistakes = np.empty(len(part) * len(b) + 1, np.uint64)
            piece.kernel(piece.examples, part, piece.rule, W, b, mistakes, np.zeros(1))
            self.candidate = Weights(W, b)
        self.run = int(piece.visited - 1 - at[-1])

    def _front(self, weights: Weights) -> Weights:
        """Return the hypothesis with the longest run so far, the present one if none was right even once."""
        return weights if self.candidate is None or self.run > self.longest else self.candidate

    def close(self, weights: Weights, clean: bool) -> None:
        """Evaluate the best of this pass, and the last; a clean pass needs no evaluation."""
        if self.errors is None:
            return
        fronts = [(weights.copy(), self.run)]
        if not clean and self.candidate is not None and self.run <= self.longest:
            fronts.insert(0, (self.candidate, self.longest))
            if self.pocket is None:  # one pass is what it is online
                fronts.pop()
        for front, run in fronts:
            wrong = 0.0 if clean else self.errors(wide(front.W, weights.W.shape), front.b)
            if self.pocket is None or wrong < self.fewest:
                self.pocket, self.fewest, self.pocket_run = front, wrong, run
        self.longest, self.candidate = 0, None

    def plane(self, weights: Weights) -> tuple[Floats, Floats]:
        """Return the pocket."""
        best = self.pocket or self._front(weights)
        return wide(best.W, weights.W.shape).copy(), best.b.copy()

    def plane_at(self, columns: Array, weights: Weights) -> tuple[Floats, Floats]:
        """Return the pocket in some columns alone, at a cost for these."""
        best = self.pocket or self._front(weights)
        return wide(best.W, weights.W.shape).take(columns, axis=1), best.b.copy()

    def done(self) -> None:
        """Let go of the examples."""
        self.errors = None
        for name in ("start", "columns"):
            self.__dict__.pop(name, None)

    def transform(self, change: Change, d: int) -> None:
        """Change the weights."""
        self._replace(lambda held: Weights(*change(wide(held.W, (len(held.b), d)), held.b)))

    def grow(self, grow: Grow, places: Array, classes: int) -> None:  # noqa: ARG002
        """Make room for more classes."""
        self._replace(lambda held: Weights(*grow(held.W, held.b)))

    def _replace(self, change: Callable[[Weights], Weights]) -> None:
        self.candidate = None if self.candidate is None else change(self.candidate)
        self.pocket = None if self.pocket is None else change(self.pocket)

    def copy(self) -> Best:
        """Return one that goes on from here, where the examples of before cannot be visited again."""
        other = Best()
        other.__dict__ |= vars(self) | {"errors": None}
        if other.pocket is not None:
            other.candidate, other.longest, other.pocket = other.pocket, other.pocket_run, None
        return other

    def state(self) -> Arrays:
        """Return the runs of right answers, and the weights they were of."""
        arrays = {"runs": np.array([self.run, self.longest, self.pocket_run]), "fewest": np.array([self.fewest])}
        for name in ("candidate", "pocket"):
            held = getattr(self, name)
            if held is not None:
                arrays |= {f"{name}_W": held.W, f"{name}_b": held.b}
        return arrays

    @classmethod
    def from_state(cls, arrays: Arrays, like: Weights) -> Self:
        """Return the keeper that was written as these arrays."""
        self = cls()
        self.run, self.longest, self.pocket_run = whole_numbers(arrays["runs"], 3)
        self.fewest = float(arrays["fewest"][0])
        for name in ("candidate", "pocket"):
            if f"{name}_W" in arrays:
                setattr(self, name, fitting(arrays[f"{name}_W"], arrays[f"{name}_b"], like))
        return self


def whole_numbers(array: Any, n: int) -> list[int]:
    """Return the counts in an array of this length; refuse anything else."""
    if not (isinstance(array, np.ndarray) and array.shape == (n,) and array.dtype.kind in "iub" and (array >= 0).all()):
        raise ValueError("counts of a hypothesis")
    return [int(number) for number in array.tolist()]


def fitting(W: Any, b: Any, like: Weights) -> Weights:
    """Return weights that are kept beside others, with no more features than these; refuse anything else."""
    held = Weights.from_state({"W": W, "b": b}, len(like.b))
    if held.W.shape[1] > like.W.shape[1]:
        raise ValueError(f"weights of {held.W.shape[1]} features are kept beside some of {like.W.shape[1]}")
    return held


def grown(W: Floats, b: Floats, places: Array, classes: int) -> tuple[Floats, Floats]:
    """Return weights and offsets with room for more classes, where the old ones take these places.

    A binary machine is the one that compares two classes with ``W = (-w, w)``, and likewise two opposite binary ones:
    so training goes on as if there had been one weight vector per class from the start.
    """
    if classes == 2:  # of one class known so far, which was taken as the positive one
        sign = 1.0 if places[0] == 1 else -1.0
        return sign * W, sign * b
    if len(W) == 1:
        signs = np.array([1.0] if len(places) == 1 else [-1.0, 1.0])
        W, b = signs[:, None] * W, signs * b
    grown_W, grown_b = np.zeros((classes, W.shape[1])), np.zeros(classes)
    grown_W[places], grown_b[places] = W, b
    return grown_W, grown_b
