"""Tracks the weights that a run returns: the last, the average, the best, or the last or average by how it ended.

Every visit to an example leaves exactly one hypothesis behind: the one that was there if it was right, the next one if
it was a mistake. So T visits make T hypotheses, counted with repetition, and a mistake at visit t (counted from 0) is
part of the last T - t of them. Average and vote are over these T.

A tracker is told of every kernel call. It goes on from one run to the next, and can be written as a state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from linsep.learn.evaluation import evaluate
from linsep.learn.parameters import Kernel
from linsep.learn.rules import UpdateSums
from linsep.learn.weights import AVERAGE, Kind, Weights
from linsep.problem import Array, Examples, count

Arrays = dict[str, Any]
Errors = Callable[[Weights], float]  # the weight of all examples that a plane predicts wrong


class KernelCall(NamedTuple):
    """What one call into compiled code visited and found."""

    kernel: Kernel
    rule: Any
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


class WeightTracker:
    """The last weights, for which nothing need be kept; other trackers are subclasses."""

    kind = "last"
    is_last = True  # whether the weights returned are the last ones
    last_if_clean = True  # whether they are after a pass without a mistake
    by_column = True  # whether each column of them follows from that column of the weights and what is beside them
    companions: tuple[Kind, ...] = ()  # what it keeps beside the weights

    def on_run_start(self, errors: Errors) -> None:
        """Begin a run in which ``errors`` evaluates weights on all examples."""

    def on_call_start(self, rule: Any, weights: Weights) -> Any:  # noqa: ARG002
        """Prepare for a kernel call; return the rule to give to the kernel."""
        return rule

    def on_call_end(self, call: KernelCall, weights: Weights) -> None:
        """Note what a kernel call did."""

    def on_pass_end(self, weights: Weights, clean: bool) -> None:
        """End a pass, which was clean if no mistake was made."""

    def on_run_end(self) -> None:
        """Drop what only the run needed: other rows may follow, and those of before cannot be visited again."""

    def plane(self, weights: Weights) -> Weights:
        """Return the weights to return."""
        return weights.plain()

    def wrong(self, examples: Examples, weights: Weights, on_plane: int) -> int:
        """Return how many examples the weights to return predict wrong."""
        plane = self.plane(weights)
        return evaluate(examples, plane.W, plane.b, on_plane=on_plane).wrong

    def held(self) -> list[Weights]:
        """Return the weights that are kept beside the last ones."""
        return []

    def widen(self, n_features: int) -> None:
        """Make room for more features."""
        for kept in self.held():
            kept.widen(n_features)

    def grow(self, places: Array, classes: int) -> None:
        """Make room for more classes, where the old ones take these places."""
        for kept in self.held():
            kept.grow(places, classes)

    def reorder(self, columns: Array) -> None:
        """Bring what is kept into another order of the columns."""
        for kept in self.held():
            kept.W = kept.W.take(columns, axis=1)

    def unscale(self, scaling: Any) -> None:
        """Bring what is kept into the units of the user."""
        for kept in self.held():
            kept.unscale(scaling)

    def state(self) -> Arrays:
        """Return all that is kept, as arrays."""
        return {}

    @classmethod
    def from_state(cls, arrays: Arrays, like: Weights) -> Self:  # noqa: ARG003
        """Return the tracker that was written as these arrays beside such weights; refuse what does not fit."""
        return cls()


class Average(WeightTracker):
    """The mean of the weights over all visits (Freund & Schapire 1999), at a cost for mistakes only.

    With ``A`` the sum of all updates, each times the number of visits before it, the mean after T visits is ``w - A/T``
    (Daumé 2006, section 1.5). These sums are a companion of the weights.
    """

    kind = "average"
    is_last = last_if_clean = False
    companions = (AVERAGE,)

    def __init__(self, visited: int = 0) -> None:
        self.visited = visited

    def on_call_start(self, rule: Any, weights: Weights) -> Any:
        """Give the sums to the kernel."""
        sums = weights.companion(AVERAGE)
        return rule._replace(sums=UpdateSums(sums.W, sums.b, float(self.visited)))

    def on_call_end(self, call: KernelCall, weights: Weights) -> None:  # noqa: ARG002
        """Count the visits."""
        self.visited += call.visited

    def plane(self, weights: Weights) -> Weights:
        """Return the mean."""
        T, sums = max(1, self.visited), weights.companion(AVERAGE)
        return Weights(weights.W - sums.W / T, weights.b - sums.b / T)

    def state(self) -> Arrays:
        """Return the number of visits."""
        return {"visited": np.array([self.visited])}

    @classmethod
    def from_state(cls, arrays: Arrays, like: Weights) -> Self:
        """Return the tracker that was written as these arrays."""
        if AVERAGE.name not in like.companions:
            raise ValueError("sums of its average")
        return cls(*whole_numbers(arrays["visited"], 1))


class Auto(Average):
    """The last weights after a run whose last pass was clean, otherwise the mean.

    Rows that are gone after one pass never show that a run has come to its end: of them it returns the mean.
    """

    kind = "auto"
    last_if_clean = True

    def __init__(self, visited: int = 0, is_last: bool = False) -> None:
        super().__init__(visited)
        self.is_last = is_last
        self.comes_back = False  # whether the run visits its rows until it ends

    def on_run_start(self, errors: Errors) -> None:  # noqa: ARG002
        """Begin a run of several passes."""
        self.comes_back = True

    def on_pass_end(self, weights: Weights, clean: bool) -> None:  # noqa: ARG002
        """Know whether the run ends here."""
        self.is_last = clean and self.comes_back

    def on_run_end(self) -> None:
        """End the run."""
        self.comes_back = False

    def plane(self, weights: Weights) -> Weights:
        """Return the last weights, or the mean."""
        return weights.plain() if self.is_last else super().plane(weights)

    def state(self) -> Arrays:
        """Return the number of visits, and whether the last weights are returned."""
        return super().state() | {"is_last": np.array([self.is_last])}

    @classmethod
    def from_state(cls, arrays: Arrays, like: Weights) -> Self:
        """Return the tracker that was written as these arrays."""
        self = super().from_state(arrays, like)
        self.is_last = bool(whole_numbers(arrays["is_last"], 1)[0])
        return self


class Best(WeightTracker):
    """The pocket with ratchet (Gallant 1990): of the hypotheses that were evaluated, that with fewest errors.

    To evaluate one costs a visit to all examples, so only few are: of each pass that with the longest run of right
    answers, the earliest of equals, and from the second pass on the last one too, so that the pocket is never worse.
    Where the examples cannot be visited again (``errors`` is None) the longest run alone decides, as in Gallant's
    pocket without ratchet. An error counts as much as the example weighs.
    """

    kind = "best"
    is_last = last_if_clean = by_column = False

    def __init__(self) -> None:
        self.errors: Errors | None = None
        self.start: Weights | None = None  # of a kernel call
        self.run = 0  # right answers of the present hypothesis
        self.longest = 0  # of this pass
        self.candidate: Weights | None = None  # which had the longest
        self.pocket: Weights | None = None
        self.fewest = math.inf  # errors of the pocket
        self.pocket_run = 0  # and its right answers

    def on_run_start(self, errors: Errors) -> None:
        """Take the function that evaluates weights."""
        self.errors = errors

    def on_call_start(self, rule: Any, weights: Weights) -> Any:
        """Remember where the call begins."""
        if self.pocket is not None and self.errors is None:  # a new run on other rows: the pocket competes by its run
            self.candidate, self.longest, self.pocket = self.pocket, self.pocket_run, None
        self.start = weights.copy()
        return rule

    def on_call_end(self, call: KernelCall, weights: Weights) -> None:
        """Find the longest run that ended; its hypothesis is what the kernel makes of the visits before."""
        assert self.start is not None
        at = np.unique(call.visits(weights.machines))
        if len(at) == 0:
            self.run += call.visited
            return
        begun = np.append(0, at[:-1] + 1)  # visits at which each hypothesis that ended began
        runs = at - begun
        runs[0] += self.run
        longest = int(runs.argmax())
        if runs[longest] > self.longest:
            self.longest = int(runs[longest])
            self.candidate = self.start
            part = call.order[: begun[longest]]
            mistakes = np.empty(len(part) * weights.machines + 1, np.uint64)
            rule = call.rule.bound(self.candidate)
            call.kernel(call.examples, part, rule, self.candidate.W, self.candidate.b, mistakes, np.zeros(1))
        self.run = int(call.visited - 1 - at[-1])

    def _front(self, weights: Weights) -> Weights:
        """Return the hypothesis with the longest run so far, the present one if none was right even once."""
        return weights if self.candidate is None or self.run > self.longest else self.candidate

    def on_pass_end(self, weights: Weights, clean: bool) -> None:
        """Evaluate the best of this pass, and the last; a clean pass needs no evaluation."""
        if self.errors is None:
            return
        fronts = [(weights.copy(), self.run)]
        if not clean and self.candidate is not None and self.run <= self.longest:
            fronts.insert(0, (self.candidate, self.longest))
            if self.pocket is None:  # one pass is what it is online
                fronts.pop()
        for front, run in fronts:
            front.widen(weights.n_features)
            wrong = 0.0 if clean else self.errors(front)
            if self.pocket is None or wrong < self.fewest:
                self.pocket, self.fewest, self.pocket_run = front, wrong, run
        self.longest, self.candidate = 0, None

    def on_run_end(self) -> None:
        """Let go of the examples."""
        self.errors = self.start = None

    def plane(self, weights: Weights) -> Weights:
        """Return the pocket."""
        best = (self.pocket or self._front(weights)).plain().copy()
        best.widen(weights.n_features)
        return best

    def held(self) -> list[Weights]:
        """Return the candidate and the pocket."""
        return [kept for kept in (self.candidate, self.pocket) if kept is not None]

    def state(self) -> Arrays:
        """Return the runs of right answers, and the weights they were of."""
        arrays: Arrays = {"runs": np.array([self.run, self.longest, self.pocket_run])}
        arrays["fewest"] = np.array([self.fewest])
        for name in ("candidate", "pocket"):
            held = getattr(self, name)
            if held is not None:
                arrays |= {f"{name}_W": held.W, f"{name}_b": held.b}
        return arrays

    @classmethod
    def from_state(cls, arrays: Arrays, like: Weights) -> Self:
        """Return the tracker that was written as these arrays."""
        self = cls()
        self.run, self.longest, self.pocket_run = whole_numbers(arrays["runs"], 3)
        self.fewest = float(arrays["fewest"][0])
        self.candidate, self.pocket = (kept_beside(arrays, name, like) for name in ("candidate", "pocket"))
        return self


def whole_numbers(array: Any, n: int) -> list[int]:
    """Return the counts in an array of this length; refuse anything else."""
    if not (isinstance(array, np.ndarray) and array.shape == (n,) and array.dtype.kind in "iub" and (array >= 0).all()):
        raise ValueError("counts of a hypothesis")
    return [int(number) for number in array.tolist()]


def kept_beside(arrays: Arrays, name: str, like: Weights) -> Weights | None:
    """Return weights that were saved beside others, with no more features than these; None if there are none."""
    if f"{name}_W" not in arrays:
        return None
    held = Weights.from_state({key: arrays[f"{name}_{key}"] for key in "Wb"}, like.machines)
    if held.n_features > like.n_features:
        raise ValueError(f"weights of {held.n_features} features are kept beside some of {like.n_features}")
    return held
