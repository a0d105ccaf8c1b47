"""Update rules: when a machine updates, how far it moves, and what it notes for the average of its weights.

``lacking``, ``erred``, ``stride`` and ``tally`` pick what to do by the type of the rule. They are inlined into the
loops of ``kernels``, so each loop is written once for every learner.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types
from numba.extending import overload

from linsep.learn.row_operations import add, square


class Rule(NamedTuple):
    """The perceptron: update if ``y·s <= margin`` (a violation); the offset moves ``offset`` times the step."""

    margin: float
    offset: float  # 1.0 with offset, 0.0 without
    sums: Sums | None = None  # for the average of the weights, where it is asked for


class Prediction(NamedTuple):
    """The perceptron that updates only if the predicted label is wrong."""

    on_plane: float  # the side predicted for a score of 0; 1.0 where classes are compared: ties have a side there
    offset: float
    sums: Sums | None = None
    margin: float = 0.0


class Aggression(NamedTuple):
    """When and how far a passive-aggressive machine moves: ``tau = min(cap, (margin - y·s) / (‖x‖² + soft))``."""

    margin: float
    offset: float
    cap: float  # C for PA-I, else infinity
    soft: float  # 1/(2C) for PA-II, else 0
    sums: Sums | None = None


AnyRule = Rule | Prediction | Aggression


class Sums(NamedTuple):
    """What the average of the weights needs: every update times the number of visits before it."""

    A: Any  # (C, d)
    a: Any  # (C,)
    visited: float  # visits before this call


# ``v`` is ``y·s``, or by how much the true class leads its highest rival; the ``side`` of an example is positive
# if a score of 0, or a tie, is predicted right where the rule's ``on_plane`` is


def _by_rule(*ways: Any) -> Any:
    """Return an operation that each kind of rule does its own way: violation, prediction, aggression."""

    def way(rule: Any, *_: Any) -> Any:
        return ways[(Rule, Prediction, Aggression).index(getattr(rule, "instance_class", type(rule)))]

    def operation(rule: Any, *given: Any) -> Any:
        return way(rule)(rule, *given)

    overload(operation, inline="always", strict=False)(way)
    return operation


lacking = _by_rule(  # loss of an example
    lambda rule, v: max(0.0, -v),
    lambda rule, v: max(0.0, -v),
    lambda rule, v: max(0.0, rule.margin - v),
)
erred = _by_rule(  # whether to update
    lambda rule, v, side: v <= rule.margin,
    lambda rule, v, side: v < 0.0 or (v == 0.0 and side * rule.on_plane < 0.0),
    lambda rule, v, side: v < rule.margin,
)


def _least(rule, rows, i, v, weight, vectors):
    squared = vectors * square(rows, i)  # a row of zeros cannot be helped
    return min(rule.cap * weight, (rule.margin - v) / (squared + rule.soft / weight)) if squared > 0.0 else 0.0


stride = _by_rule(  # how far to move along row i, so many weight vectors at a time
    lambda rule, rows, i, v, weight, vectors: weight,
    lambda rule, rows, i, v, weight, vectors: weight,
    _least,
)


def tally(rule: Any, rows: Any, i: int, step: float, t: int, c: int) -> None:
    """Note for the average that visit ``t`` of this call added ``step`` times row ``i`` to the weights ``W[c]``."""
    if rule.sums is not None:
        late = step * (rule.sums.visited + t)
        add(rows, i, late, rule.sums.A, c)
        rule.sums.a[c] += late * rule.offset


@overload(tally, inline="always")
def _tally(rule, rows, i, step, t, c):
    if isinstance(rule.types[rule.fields.index("sums")], types.NoneType):

        def nothing(rule, rows, i, step, t, c):
            pass

        return nothing

    def average(rule, rows, i, step, t, c):
        late = step * (rule.sums.visited + t)
        add(rows, i, late, rule.sums.A, c)
        rule.sums.a[c] += late * rule.offset

    return average
