"""The weights that are learned, with all that is kept beside them: one class owns their whole life.

``W`` (C, d) and ``b`` (C,) are trained in place. A companion is a pair of arrays of the same shapes that a rule or an
average keeps beside them, such as sums of updates or variances. It says what stands for a class or column that has not
been seen, and whether it changes its sign with the weights; so it can be grown, restricted, brought into other units,
saved and loaded together with them, and nobody else takes the weights apart for that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linsep.problem import Array, Floats, all_finite


class Kind(NamedTuple):
    """A sort of companion, and how it changes with the units of the columns.

    Where a column is divided by a scale, its weight is multiplied by it, and a companion by a power of it: 1 if it is
    linear in the weights, 2 for their squares or variances, -2 for squares of the column itself, 0 for counts.
    """

    name: str
    fill: float = 0.0  # where nothing has been learned yet
    power: int = 1  # of the units of the weights


AVERAGE = Kind("average")


@dataclass
class Companion:
    """Arrays beside the weights, of their shapes."""

    kind: Kind
    W: Floats
    b: Floats


class Weights:
    """What is learned: ``W`` (C, d), ``b`` (C,), and named companions."""

    def __init__(self, W: Floats, b: Floats, companions: Iterable[Companion] = ()) -> None:
        self.W, self.b = W, b
        self.companions = {held.kind.name: held for held in companions}

    @classmethod
    def zero(cls, machines: int, n_features: int = 0) -> Weights:
        """Return the weights that a run starts from unless others are given."""
        return cls(np.zeros((machines, n_features)), np.zeros(machines))

    def companion(self, kind: Kind) -> Companion:
        """Return the companion of a kind, a new one if there is none."""
        if kind.name not in self.companions:
            W, b = np.full(self.W.shape, kind.fill), np.full(self.b.shape, kind.fill)
            self.companions[kind.name] = Companion(kind, W, b)
        return self.companions[kind.name]

    def keep_only(self, kinds: Iterable[Kind]) -> None:
        """Drop the companions of all other kinds."""
        names = {kind.name for kind in kinds}
        self.companions = {name: held for name, held in self.companions.items() if name in names}

    # -----------------------------------------------------------------------------------------------------------
    # What they are

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.W.shape[1])

    @property
    def machines(self) -> int:
        """The number of weight vectors."""
        return len(self.b)

    @property
    def finite(self) -> bool:
        """Whether nothing has overflowed."""
        return all_finite(self.W) and all_finite(self.b)

    @property
    def zeros(self) -> bool:
        """Whether all weights and offsets are 0."""
        return not (self.W.any() or self.b.any())

    @property
    def norm(self) -> float:
        """The norm over all weights and offsets, without overflow."""
        return norm(np.column_stack((self.W, self.b)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Weights):
            return NotImplemented
        mine, theirs = self.state(), other.state()
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]

    # -----------------------------------------------------------------------------------------------------------
    # What becomes of them

    def copy(self) -> Weights:
        """Return weights of their own."""
        held = [Companion(one.kind, one.W.copy(), one.b.copy()) for one in self.companions.values()]
        return Weights(self.W.copy(), self.b.copy(), held)

    def plain(self) -> Weights:
        """Return the same weights without companions."""
        return Weights(self.W, self.b)

    def start_at(self, coef_init: Any, intercept_init: Any, offset: bool) -> None:
        """Take over first weights and offsets that a user gives; None leaves them as they are."""
        for name, first, target in (("coef_init", coef_init, self.W), ("intercept_init", intercept_init, self.b)):
            if first is not None:
                values = np.asarray(first, dtype=np.float64)
                if values.size != target.size or (values.ndim > 1 and values.shape != target.shape):
                    raise ValueError(f"{name} has shape {values.shape}, expected {target.shape}")
                if not np.isfinite(values).all():
                    raise ValueError(f"{name} contains NaN or infinity")
                target[...] = values.reshape(target.shape)
        if intercept_init is not None and not offset:
            raise ValueError("intercept_init is given, but fit_intercept=False learns no offset")

    def widen(self, n_features: int) -> None:
        """Make room for features that have not been seen before."""
        if n_features > self.n_features:
            self.W = _wide(self.W, n_features, 0.0)
            for held in self.companions.values():
                held.W = _wide(held.W, n_features, held.kind.fill)

    def grow(self, places: Array, classes: int) -> None:
        """Make room for more classes, where the old ones take these places.

        A binary machine is the one that compares two classes with ``W = (-w, w)``, and likewise two opposite binary
        ones: so training goes on as if there had been one weight vector per class from the start.
        """
        self.W, self.b = _grown(self.W, self.b, places, classes, 0.0, signed=True)
        for held in self.companions.values():
            fill, odd = held.kind.fill, held.kind.power % 2 == 1
            held.W, held.b = _grown(held.W, held.b, places, classes, fill, signed=odd)

    def restricted(self, columns: Array | slice) -> Weights:
        """Return a copy of some columns."""
        held = [Companion(one.kind, _columns(one.W, columns), one.b.copy()) for one in self.companions.values()]
        return Weights(_columns(self.W, columns), self.b.copy(), held)

    def unscale(self, scaling: Any) -> None:
        """Bring weights for scaled rows into the units of the user: they give the same scores there."""
        self.W, self.b = scaling.undo(self.W, self.b)
        for held in self.companions.values():
            if held.kind.power == 1:
                held.W, held.b = scaling.undo(held.W, held.b)
                continue
            scale, shift = _units(scaling, self.n_features)
            held.W = held.W / scale**held.kind.power
            if held.kind.power == 2:  # of independent weights, the variance of b - Σ shift·w/scale
                held.b = held.b + held.W @ shift**2

    def scaled(self, scaling: Any) -> Weights:
        """Return weights for scaled rows that give the same scores as these, without companions."""
        scale, shift = _units(scaling, self.n_features)
        return Weights(self.W * scale, self.b + self.W @ shift)

    # -----------------------------------------------------------------------------------------------------------
    # Files

    def state(self) -> dict[str, Any]:
        """Return what is to be saved: arrays, and of each companion its kind."""
        state: dict[str, Any] = {"W": self.W, "b": self.b, "companions": []}
        for name, held in self.companions.items():
            state["companions"].append([name, float(held.kind.fill), held.kind.power])
            state |= {f"{name}_W": held.W, f"{name}_b": held.b}
        return state

    @classmethod
    def from_state(cls, state: dict[str, Any], machines: int) -> Weights:
        """Return the weights that were saved; refuse those of another number of machines."""
        W, b = _pair(state["W"], state["b"], machines)
        held = []
        for name, fill, power in state.get("companions", ()):
            if not (isinstance(name, str) and type(fill) is float and type(power) is int and math.isfinite(fill)):
                raise ValueError("what is kept beside the weights")
            pair = _pair(state[f"{name}_W"], state[f"{name}_b"], machines)
            if pair[0].shape != W.shape:
                raise ValueError(f"shape {pair[0].shape} of {name} beside weights of shape {W.shape}")
            held.append(Companion(Kind(name, fill, power), *pair))
        return cls(W, b, held)


def _pair(W: Any, b: Any, machines: int) -> tuple[Floats, Floats]:
    """Return weights and offsets as read from a file; refuse what is none."""
    if not all(isinstance(array, np.ndarray) and array.dtype == np.float64 for array in (W, b)):
        raise ValueError("weights that are not float64")
    if W.ndim != 2 or len(W) != machines or b.shape != (machines,):
        raise ValueError(f"shapes {W.shape} and {b.shape} of weights and offsets of {machines} machines")
    if not (all_finite(W) and all_finite(b)):
        raise ValueError("weights that are not finite")
    return W, b


def _wide(W: Floats, n_features: int, fill: float) -> Floats:
    larger = np.full((len(W), n_features), fill)
    larger[:, : W.shape[1]] = W
    return larger


def _columns(W: Floats, columns: Array | slice) -> Floats:
    return np.ascontiguousarray(W[:, columns]) if isinstance(columns, slice) else W.take(columns, axis=1)


def _grown(W: Floats, b: Floats, places: Array, classes: int, fill: float, *, signed: bool) -> tuple[Floats, Floats]:
    """Return arrays with a row for each class, where the old ones take these places."""
    if classes == 2:  # of one class known so far, which was taken as the positive one
        sign = -1.0 if signed and places[0] == 0 else 1.0
        return sign * W + 0.0, sign * b + 0.0  # never -0.0: a column that comes later starts from 0, too
    if len(W) == 1:
        signs = np.array([1.0] if len(places) == 1 else [-1.0 if signed else 1.0, 1.0])
        W, b = signs[:, None] * W + 0.0, signs * b + 0.0
    grown_W, grown_b = np.full((classes, W.shape[1]), fill), np.full(classes, fill)
    grown_W[places], grown_b[places] = W, b
    return grown_W, grown_b


def _units(scaling: Any, d: int) -> tuple[Floats, Floats]:
    """Return by what a scaler divides each of the first columns, and what it takes off before."""
    scale = np.ones(d)
    known = np.broadcast_to(scaling.scale, d) if scaling.kind == "unit" else scaling.scale[:d]
    scale[: len(known)] = known
    shift = np.zeros(d)
    shift[: len(scaling.shift)] = scaling.shift[:d]
    return scale, shift


def norm(W: Floats) -> float:
    """Return the norm over all entries, without overflow."""
    scale = float(np.abs(W).max(initial=0.0))
    return scale * float(np.linalg.norm(W / scale)) if 0 < scale < math.inf else scale
