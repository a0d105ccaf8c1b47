"""Update rules: when a machine updates, how far it moves and in which direction, and what it accumulates.

A rule is one small class, a tuple of numbers with methods that compiled code takes as they are: ``loss``,
``is_mistake``, ``step``, ``update`` and ``accumulate``. The functions of these names pick the method by the type of the
rule and are inlined into the loops of ``kernels``, so each loop is written once for every rule.

In all of them ``v`` is ``y·s``, or by how much the true class leads its highest rival. Class ``own`` moves toward row
``i``, and its ``rival`` away from it unless that is -1.
"""

# ruff: noqa: ARG002 - all rules are called with the same arguments
from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from numba import types
from numba.extending import overload

from linsep.learn.row_operations import add, column, dot, places, square, value
from linsep.learn.weights import Kind, Weights


class UpdateSums(NamedTuple):
    """What the average of the weights needs: every update times the number of visits before it."""

    A: Any  # (C, d)
    a: Any  # (C,)
    visited: float  # visits before this call


class Foresight(NamedTuple):
    """Where to note what was predicted for a row just before it was learned from."""

    codes: Any  # (n,) class number for each row of the batch
    on_plane: float  # the side predicted for a score of 0


class Beside(NamedTuple):
    """A companion as rules take it; they must write to its fields: of unpacked parts Numba drops the last write."""

    W: Any  # (C, d)
    b: Any  # (C,)


class Rule:
    """What most rules have in common: they move along the row, and keep nothing beside the weights.

    At a mistake the loops call ``step`` once; then, for each class that moves, ``update`` for the weights and, where an
    average is kept, with another amount for the sums of it; then ``accumulate``. What a rule must note before it moves,
    it notes in ``step``.
    """

    __slots__ = ()
    margin: float  # up to which ``v`` is a mistake
    offset: float  # 1.0 with offset, 0.0 without
    sums: UpdateSums | None  # for the average of the weights, where it is asked for
    foresight: Foresight | None  # for the predictions before learning, where they are asked for
    companions: ClassVar[tuple[Kind, ...]] = ()  # arrays that it keeps beside the weights
    textbook: ClassVar[bool] = False  # whether the steps are those of the mistake bound

    @property
    def target(self) -> float:
        """The ``v`` from which on an example has no loss."""
        return self.margin

    def bound(self, weights: Weights) -> Any:
        """Return the rule with the arrays that it keeps beside these weights."""
        return self

    def loss(self, v):
        """Return the loss of an example: by how much it lacks the margin."""
        return max(0.0, self.margin - v)

    def is_mistake(self, v, side):
        """Say whether to update; ``side`` is positive where a score of 0, or a tie, is predicted right."""
        return v < self.margin

    def update(self, rows, i, amount, W, b, c):
        """Move the weights of class ``c`` along row ``i``."""
        add(rows, i, amount, W, c)
        b[c] += amount * self.offset

    def accumulate(self, rows, i, v, change, c):
        """Note beside the weights of class ``c`` that it moved by ``change``."""


class _Margin(NamedTuple):
    margin: float
    offset: float
    sums: UpdateSums | None = None
    foresight: Foresight | None = None


class MarginRule(_Margin, Rule):
    """The perceptron: update if ``y·s <= margin`` (a violation)."""

    __slots__ = ()
    textbook = True

    @property
    def target(self) -> float:
        """The ``v`` from which on an example has no loss."""
        return 0.0

    def loss(self, v):
        """Return the loss of an example."""
        return max(0.0, -v)

    def is_mistake(self, v, side):
        """Say whether the example is not right by more than the margin."""
        return v <= self.margin

    def step(self, rows, i, v, weight, own, rival):
        """Return how far to move: the learning rate times the weight of the example."""
        return weight


class StrictRule(_Margin, Rule):
    """The perceptron by the subgradient 0 at a loss of 0: a row on the plane is no mistake."""

    __slots__ = ()
    textbook = True
    loss, step, target = MarginRule.loss, MarginRule.step, MarginRule.target

    def is_mistake(self, v, side):
        """Say whether the example is strictly on the wrong side."""
        return v < 0.0


class _Misprediction(NamedTuple):
    on_plane: float  # the side predicted for a score of 0; 1.0 where classes are compared: ties have a side there
    offset: float
    sums: UpdateSums | None = None
    margin: float = 0.0
    foresight: Foresight | None = None


class MispredictionRule(_Misprediction, Rule):
    """The perceptron that updates only if the predicted label is wrong."""

    __slots__ = ()
    textbook = True
    loss, step, target = MarginRule.loss, MarginRule.step, MarginRule.target

    def is_mistake(self, v, side):
        """Say whether the predicted label is wrong."""
        return v < 0.0 or (v == 0.0 and side * self.on_plane < 0.0)


class _PassiveAggressive(NamedTuple):
    margin: float
    offset: float
    cap: float  # C for PA-I, else infinity
    soft: float  # 1/(2C) for PA-II, else 0
    sums: UpdateSums | None = None
    foresight: Foresight | None = None


class PassiveAggressiveRule(_PassiveAggressive, Rule):
    """When and how far a passive-aggressive machine moves: ``tau = min(cap, (margin - y·s) / (‖x‖² + soft))``."""

    __slots__ = ()

    def step(self, rows, i, v, weight, own, rival):
        """Return the least step that gives the example its margin, or a smaller one; none for a row of zeros."""
        squared = (1.0 if rival < 0 else 2.0) * square(rows, i)
        if squared == math.inf:
            return math.inf  # so that the weights overflow, which is an error
        return min(self.cap * weight, (self.margin - v) / (squared + self.soft / weight)) if squared > 0.0 else 0.0


class _Arow(NamedTuple):
    r: float  # the larger, the smaller the steps
    offset: float
    variance: Beside | None = None  # of the weights, once the rule is bound to some
    sums: UpdateSums | None = None
    margin: float = 1.0
    foresight: Foresight | None = None


class AROWRule(_Arow, Rule):
    """Adaptive regularization of weights, Crammer, Kulesza & Dredze 2009, figure 1, with a diagonal matrix Σ.

    With ``β = 1 / (x'Σx + r)`` and ``α = (1 - y·s) β`` the weights move by ``α y Σx``, and Σ shrinks by ``β (Σx)²``.
    Where classes are compared, ``x'Σx`` is the sum of those of the class and its rival.
    """

    __slots__ = ()
    companions = (Kind("variance", fill=1.0, power=2),)

    def bound(self, weights: Weights) -> AROWRule:
        """Return the rule with the variances beside these weights."""
        held = weights.companion(self.companions[0])
        return self._replace(variance=Beside(held.W, held.b))

    def step(self, rows, i, v, weight, own, rival):
        """Return α; the weight of an example divides r."""
        S, s = self.variance.W, self.variance.b
        spread = self.offset * (s[own] if rival < 0 else s[own] + s[rival])
        for p in places(rows, i):
            j, x = column(rows, p), value(rows, i, p)
            spread += (S[own, j] if rival < 0 else S[own, j] + S[rival, j]) * x * x
        return (self.margin - v) / (spread + self.r / weight)

    def update(self, rows, i, amount, W, b, c):
        """Move the weights of class ``c`` along Σx."""
        for p in places(rows, i):
            W[c, column(rows, p)] += amount * self.variance.W[c, column(rows, p)] * value(rows, i, p)
        b[c] += amount * self.variance.b[c] * self.offset

    def accumulate(self, rows, i, v, change, c):
        """Shrink the variances of class ``c``; none becomes negative by rounding."""
        beta = change / (self.margin - v)
        for p in places(rows, i):
            moved = self.variance.W[c, column(rows, p)] * value(rows, i, p)
            self.variance.W[c, column(rows, p)] = max(0.0, self.variance.W[c, column(rows, p)] - beta * moved * moved)
        self.variance.b[c] = max(0.0, self.variance.b[c] - beta * self.variance.b[c] ** 2 * self.offset)


def _method(name: str) -> Any:
    """Return the function that calls a method of a rule, whatever its type, in Python and in compiled code."""

    def call(rule: Any, *arguments: Any) -> Any:
        return getattr(type(rule), name)(rule, *arguments)

    def typed(rule: Any, *_: Any) -> Any:
        return getattr(rule.instance_class, name)

    overload(call, inline="always", strict=False)(typed)
    return call


loss, is_mistake, step = _method("loss"), _method("is_mistake"), _method("step")
update, accumulate = _method("update"), _method("accumulate")


_CALLED: Any = {"jit_options": {"fastmath": {"reassoc", "contract", "nsz"}, "error_model": "numpy"}}  # as `kernels`


def _by_field(field: str, present: Any, absent: Any, **how: Any) -> Any:
    """Return a function that is one of two, by whether a field of the rule is None, in Python and in compiled code."""

    def call(rule: Any, *arguments: Any) -> Any:
        return (absent if getattr(rule, field) is None else present)(rule, *arguments)

    def typed(rule: Any, *_: Any) -> Any:
        return absent if isinstance(rule.types[rule.fields.index(field)], types.NoneType) else present

    overload(call, strict=False, **how)(typed)
    return call


def _summed(rule, rows, i, amount, t, c):
    update(rule, rows, i, amount * (rule.sums.visited + t), rule.sums.A, rule.sums.a, c)


def _not_summed(rule, rows, i, amount, t, c):
    pass


# notes for the average that visit ``t`` of this call updated the weights of class ``c`` by an amount
average = _by_field("sums", _summed, _not_summed, inline="always")


def _score_of_mean(rule, rows, i, T, W, b, c):
    s = b[c] - rule.sums.a[c] / T
    for p in places(rows, i):
        j = column(rows, p)
        s += value(rows, i, p) * (W[c, j] - rule.sums.A[c, j] / T)
    return s


def _score_of_last(rule, rows, i, T, W, b, c):
    return dot(rows, i, W, c) + b[c]


# the score of a row under the weights that are returned after T visits: their mean, or the last ones
_score = _by_field("sums", _score_of_mean, _score_of_last, **_CALLED)
_visits = _by_field("sums", lambda rule, t: max(1.0, rule.sums.visited + t), lambda rule, t: 1.0, **_CALLED)


def _foreseen(rule, rows, i, t, W, b):
    T = _visits(rule, t)
    best, highest = 0, 0.0
    for c in range(b.size):
        s = _score(rule, rows, i, T, W, b, c)
        if c == 0 or s > highest:
            best, highest = c, s
    if b.size == 1:
        best = 1 if highest > 0.0 or (highest == 0.0 and rule.foresight.on_plane > 0.0) else 0
    rule.foresight.codes[i] = best


def _not_foreseen(rule, rows, i, t, W, b):
    pass


# notes what the weights that are returned predict for row ``i`` before visit ``t``
foresee = _by_field("foresight", _foreseen, _not_foreseen, **_CALLED)
