"""Writes and reads checkpoints, from which an interrupted run continues."""

from __future__ import annotations

import glob
import json
import math
import os
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from linsep.data.files import exists, is_url, masked
from linsep.learn.passes import LONGEST_TRACE, State, TrainingLog
from linsep.learn.serialization import RefusedError, must, open_tensors, write
from linsep.learn.voting import TRACKERS
from linsep.learn.weights import Weights
from linsep.problem import Array, Floats, Problem, machines_for

KIND = "checkpoint"


@dataclass
class Saved:
    """How far a run over files has come, and what is known of its rows beforehand."""

    classes: Array
    factors: Floats  # weight of each class
    allowed: float  # mistakes that the target margin allows
    seed: int
    state: State
    more: dict[str, Any] = field(default_factory=dict)  # of those who make the passes

    def parts(self) -> dict[str, dict[str, Any]]:
        """Return all of it as named values."""
        state, first = self.state, self.state.first
        return {
            "problem": {"classes": self.classes, "factors": self.factors, "allowed": self.allowed, "seed": self.seed},
            "weights": state.weights.state(),
            "first": {} if first is None else {f"first_{key}": value for key, value in first.state().items()},
            "log": state.log.state(),
            "kept": {"kind": state.tracker.kind, "kept": state.tracker.state()},
            "more": self.more,
        }

    @classmethod
    def from_parts(cls, parts: dict[str, dict[str, Any]]) -> Saved:
        """Return what was saved as these values; refuse what does not fit together, before compiled code sees it."""
        problem, kept, first = parts["problem"], parts["kept"], parts["first"]
        classes, factors, allowed, seed = (problem[key] for key in ("classes", "factors", "allowed", "seed"))
        must(isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 1, "its classes")
        must(len(set(classes.tolist())) == len(classes), "a class that occurs twice")
        must(isinstance(factors, np.ndarray) and factors.shape == classes.shape, "weights of its classes")
        must(factors.dtype == np.float64 and bool((factors >= 0).all() and (factors < math.inf).all()), "weights")
        must(type(allowed) is float and type(seed) is int and 0 <= seed < 2**32, "its numbers")
        machines = machines_for(len(classes))
        weights = Weights.from_state(parts["weights"], machines)
        log = TrainingLog.from_state(parts["log"], machines)
        log.longest_trace = LONGEST_TRACE
        must(kept["kind"] in TRACKERS and isinstance(kept["kept"], dict), "what it keeps")
        must(all(isinstance(array, np.ndarray) for array in kept["kept"].values()), "what it keeps")
        tracker = TRACKERS[kept["kind"]].from_state(kept["kept"], weights)
        state = State(weights, tracker, log)
        if first:
            state.first = Weights.from_state({key.removeprefix("first_"): first[key] for key in first}, machines)
        return cls(classes, factors, allowed, seed, state, parts["more"])


class Checkpoint:
    """A file that holds the state of one run, of certain data with certain parameters.

    Parameters
    ----------
    path : path
    every : float
        Seconds between two writes.
    about : dict
        What the run is: to go on with another one is refused, and the difference is named. ``max_iter`` alone may be
        another one, as no pass depends on how many may follow.
    """

    def __init__(self, path: str | os.PathLike[str], every: float, about: dict[str, Any]) -> None:
        self.path, self.every = path, every
        self.name = masked(os.fspath(path))  # without secrets
        self.about: dict[str, Any] = json.loads(json.dumps(about, default=repr))
        self.written = time.monotonic()

    def due(self) -> bool:
        """Say whether it is time to write again."""
        return time.monotonic() - self.written >= self.every

    def keep(self, problem: Problem, seed: int, state: State, more: dict[str, Any] | None = None) -> None:
        """Replace the file by one that holds this state; a run goes on though it cannot be written."""
        saved = Saved(problem.classes, problem.factors, float(problem.allowed), seed, state, more or {})
        try:
            write(self.path, KIND, {"about": self.about, **saved.parts()})
        except OSError as error:
            reason = error.strerror or error
            warnings.warn(f"{self.name}: linsep cannot write the checkpoint: {reason}", UserWarning, stacklevel=2)
        self.written = time.monotonic()

    def load(self) -> Saved | None:
        """Return the state to go on from, None if there is no file; what a killed writer left behind is removed."""
        if not is_url(self.path):
            here = Path(self.path)
            for part in here.parent.glob(f".{glob.escape(here.name[:200])}.*.part"):
                part.unlink(missing_ok=True)
        if not exists(self.path):
            warnings.warn(f"{self.name}: no checkpoint yet; the run starts from pass 1", UserWarning, stacklevel=3)
            return None
        with open_tensors(self.path, KIND) as (content, reader):
            if content["kind"] != KIND:
                raise RefusedError(f"not a checkpoint, but a {content['kind']}")
            parts = {
                name: reader.values(content[name])
                for name in ("about", "problem", "weights", "first", "log", "kept", "more")
            }
            about = parts["about"]
            for name in sorted((self.about.keys() | about.keys()) - {"max_iter"}):
                was, now = about.get(name), self.about.get(name)
                if was != now:
                    difference = "its data differ" if name == "data" else f"{name} was {was!r}, is {now!r}"
                    raise RefusedError(f"a checkpoint of another run: {difference}")
            saved = Saved.from_parts(parts)
            log = saved.state.log
            begun, allowed = len(log.passes) + (log.rows > 0), self.about.get("max_iter", math.inf)
            if begun > allowed:
                raise RefusedError(f"a checkpoint of another run: it is in pass {begun}, but max_iter is {allowed}")
        return saved
