"""What it takes to go on with a run after an interruption, on disk: safetensors and JSON, written in one step."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors
from safetensors.numpy import save as to_bytes

from linsep.data.atomic import replacing
from linsep.data.labels import object_array
from linsep.learn.driver import Ledger, Weights
from linsep.problem import Array, Pass

FORMAT = 1
_FIELDS = ("made", "begun", "blocks", "seconds")


class State(NamedTuple):
    """How far a run over files has come."""

    classes: Array
    weights: Weights
    ledger: Ledger
    seed: int
    rows: int  # in the whole source, 0 before the end of the first pass
    allowed: float  # mistakes that the target margin allows
    class_weight: dict[Any, float]
    kept: dict[str, Array]  # beside the last weights


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
        self.path, self.every = Path(path), every
        self.about: dict[str, Any] = json.loads(json.dumps(about, default=repr))
        self.written = time.monotonic()

    def due(self) -> bool:
        """Say whether it is time to write again."""
        return time.monotonic() - self.written >= self.every

    def write(self, state: State) -> None:
        """Replace the file by one that holds this state."""
        ledger = state.ledger
        kinds = {type(label) for label in state.classes.tolist()}
        if not kinds <= {str, int, float, bool}:
            raise ValueError(f"a checkpoint cannot keep labels such as {state.classes[0]!r}")
        content = {
            "format": FORMAT,
            "about": self.about,
            "classes": state.classes.tolist(),
            "dtype": state.classes.dtype.str,
            "seed": state.seed,
            "rows": state.rows,
            "class_weight": list(state.class_weight.items()),
            "ledger": {name: getattr(ledger, name) for name in _FIELDS},
        }
        tensors = {
            "W": state.weights.W,
            "b": state.weights.b,
            "loss": ledger.loss,
            "passes": np.array(ledger.passes, dtype=np.float64).reshape(-1, len(Pass._fields)),
            "trace": np.concatenate(ledger.trace) if ledger.trace else np.empty(0, np.uint32),
            "allowed": np.array([state.allowed]),
        }
        tensors |= {f"keep_{name}": np.ascontiguousarray(array) for name, array in state.kept.items()}
        with replacing(self.path) as file:
            file.write(to_bytes(tensors, metadata={"linsep-checkpoint": json.dumps(content)}))
        self.written = time.monotonic()

    def load(self) -> State | None:
        """Return the state to go on from, None if there is no file; what a killed writer left behind is removed."""
        for part in self.path.parent.glob(f".{self.path.name[:200]}.*.part"):
            part.unlink(missing_ok=True)
        if not self.path.exists():
            return None
        try:
            with safetensors.safe_open(self.path, framework="numpy") as file:
                content = json.loads((file.metadata() or {})["linsep-checkpoint"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dict
            if content["format"] != FORMAT:
                raise ValueError("written by another version")
            self._compare(content["about"])
            passes = [Pass(int(made), *rest) for made, *rest in tensors["passes"].tolist()]
            ledger = Ledger(passes=passes, loss=tensors["loss"], **content["ledger"])
            begun, allowed_passes = len(passes) + (ledger.blocks > 0), self.about.get("max_iter", math.inf)
            if begun > allowed_passes:
                raise _OtherRunError(f"it is in pass {begun} already, max_iter is {allowed_passes}")
            ledger.trace = [tensors["trace"]] if len(tensors["trace"]) else []
            labels = content["classes"]
            classes = object_array(labels) if content["dtype"] == "|O" else np.array(labels, dtype=content["dtype"])
            weights = Weights(tensors["W"], tensors["b"])
            allowed = float(tensors["allowed"][0])
            pairs = dict(content["class_weight"])
            kept = {name.removeprefix("keep_"): tensors[name] for name in tensors if name.startswith("keep_")}
            return State(classes, weights, ledger, content["seed"], content["rows"], allowed, pairs, kept)
        except _OtherRunError as difference:
            raise ValueError(f"{self.path}: a checkpoint of another run: {difference}") from None
        except (safetensors.SafetensorError, ValueError, KeyError, TypeError, IndexError, OSError) as error:
            raise ValueError(f"{self.path}: not a checkpoint, or a damaged one: {error}") from None

    def _compare(self, about: dict[str, Any]) -> None:
        for name in sorted((self.about.keys() | about.keys()) - {"max_iter"}):
            was, now = about.get(name), self.about.get(name)
            if was != now:
                raise _OtherRunError(
                    "the data is not the same" if name == "data" else f"{name} was {was!r}, is {now!r}"
                )


class _OtherRunError(Exception):
    """How a run differs from that of the checkpoint."""
