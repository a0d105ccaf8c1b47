"""What training has learned and recorded: one record for each model, which is saved and checked as a whole."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from linsep.data.row_numbers import Dropped
from linsep.learn.averaging import WeightTracker
from linsep.learn.serialization import must
from linsep.learn.voting import TRACKERS
from linsep.learn.weights import Weights
from linsep.models.proving import check_kept
from linsep.problem import Array, Pass, Run, Stop, machines_for

_TABLES = ("trace", "passes", "table")


class PartialRun(NamedTuple):
    """A run that is part of a longer one: with one call of fit the whole, with partial_fit one of many."""

    run: Run
    machines: int
    first_row: int


@dataclass(kw_only=True)
class TrainingRecord:
    """The runs of a model: why each ended, its passes, and its mistakes in order."""

    seed: int
    rows: int = 0  # seen in all runs
    runs: list[PartialRun] = field(default_factory=list)
    n_passes: int = 0

    def add(self, run: Run, machines: int, rows: int) -> None:
        """Take in a run over rows that were not seen before."""
        self.runs.append(PartialRun(run, machines, self.rows))
        self.rows += rows
        self.n_passes += len(run.passes)

    @property
    def passes(self) -> list[Pass]:
        """All passes in order."""
        return [entry for part in self.runs for entry in part.run.passes]

    @property
    def mistakes(self) -> int:
        """How many mistakes were made."""
        return sum(part.run.mistakes for part in self.runs)

    def trace(self) -> Array:
        """Return the row of each mistake, in order; an error if not all were kept."""
        parts = [part.run.trace // np.uint64(part.machines) + np.uint64(part.first_row) for part in self.runs]
        rows: Array = np.concatenate([np.empty(0, np.uint64), *parts]).astype(np.intp)
        if len(rows) != self.mistakes:
            why = "it is too long, or several workers made them at the same time"
            raise AttributeError(f"the model does not hold the trace of its {self.mistakes} mistakes: {why}")
        return rows

    def state(self) -> dict[str, Any]:
        """Return what is to be saved."""
        stops = list(Stop)
        table = [(stops.index(p.run.stop), len(p.run.passes), len(p.run.trace), *p[1:]) for p in self.runs]
        tables = {
            "trace": np.concatenate([np.empty(0, np.uint32), *(part.run.trace for part in self.runs)]),
            "passes": np.array(self.passes, dtype=np.float64).reshape(-1, len(Pass._fields)),
            "table": np.array(table, dtype=np.int64).reshape(-1, 5),
        }
        return {"seed": self.seed, "rows": self.rows, "runs": tables}

    @classmethod
    def from_state(cls, state: dict[str, Any], **others: Any) -> Self:
        """Return the record that was saved; refuse what does not fit together."""
        seed, rows, tables = state["seed"], state["rows"], state["runs"]
        must(type(seed) is int and 0 <= seed < 2**32, "seed")
        must(type(rows) is int and 0 <= rows < 2**62, "number of rows")
        must(isinstance(tables, dict) and set(tables) == set(_TABLES), "its run")
        trace, passes, table = (tables[name] for name in _TABLES)
        must(all(isinstance(part, np.ndarray) for part in (trace, passes, table)), "its run")
        must(table.shape[1:] == (5,) and table.dtype == np.int64 and trace.ndim == 1, "its run")
        must(trace.dtype in (np.uint32, np.uint64), "its run")
        must(bool((table >= 0).all()) and bool((table[:, 3] > 0).all()), "negative counts in its run")
        # as Python integers, which cannot overflow
        counted = sum(table[:, 1].tolist()) == len(passes) and sum(table[:, 2].tolist()) == len(trace)
        must(counted, "the counts of its run")
        record = cls(seed=seed, rows=rows, n_passes=len(passes), **others)
        stops, entries = list(Stop), Pass.from_table(passes)
        first_pass, first_mistake = 0, 0
        for stop, made, kept, machines, first_row in table.tolist():
            mistakes = trace[first_mistake : first_mistake + kept]
            run = Run(stops[stop], tuple(entries[first_pass : first_pass + made]), mistakes)
            record.runs.append(PartialRun(run, machines, first_row))
            first_pass, first_mistake = first_pass + made, first_mistake + kept
            must(first_row <= rows, "its run")
            seen = kept == 0 or first_row + int(mistakes.max()) // machines < rows
            must(seen, "a mistake on a row that was not seen")
        return record


@dataclass(kw_only=True)
class FittedRecord(TrainingRecord):
    """What an online classifier has learned: its weights, and the runs that led to them."""

    weights: Weights  # the last ones, with what is kept beside them
    tracker: WeightTracker  # of those that are returned
    first: Weights | None = None  # the first ones, unless zero
    smallest: float = math.nan  # y s(x) of the training rows
    proof: dict[str, Any] | None = None  # that no plane separates the rows
    plane: Weights | None = None  # the weights that are returned, once they were asked for
    state_fields: ClassVar = frozenset({"seed", "rows", "runs", "smallest", "proof", "weights", "first", "tracker"})

    def returned(self) -> Weights:
        """Return the weights that the model predicts with; after ``partial_fit`` they are worked out on demand."""
        if self.plane is None:
            self.plane = self.tracker.plane(self.weights)
        return self.plane

    def state(self) -> dict[str, Any]:
        """Return what is to be saved."""
        state = super().state() | {"smallest": self.smallest, "proof": self.proof, "weights": self.weights.state()}
        state["first"] = None if self.first is None else self.first.state()
        return state | {"tracker": {"kind": self.tracker.kind, **self.tracker.state()}}

    @classmethod
    def from_fields(cls, state: dict[str, Any], classes: int, n_features: int) -> FittedRecord:
        """Return the record that was saved, of a model with these numbers of classes and features; refuse any other."""
        weights, first, tracker = (state[name] for name in ("weights", "first", "tracker"))
        must(isinstance(weights, dict) and isinstance(tracker, dict), "its weights")
        machines = machines_for(classes)
        held = Weights.from_state(weights, machines)
        must(held.W.shape == (machines, n_features), "shapes of its weights")
        kept = {name: value for name, value in tracker.items() if name != "kind"}
        must(tracker["kind"] in TRACKERS, "what it keeps")
        must(all(isinstance(array, np.ndarray) for array in kept.values()), "what it keeps")
        must(isinstance(state["smallest"], float), "radius and margin")
        record = cls.from_state(
            state,
            weights=held,
            tracker=TRACKERS[tracker["kind"]].from_state(kept, held),
            first=None if first is None else Weights.from_state(first, machines),
            smallest=state["smallest"],
            proof=state["proof"],
        )
        if record.proof is not None:
            check_kept(record.proof, record.rows, classes)
        record.returned()
        return record


class Recorded:
    """What a model says of its training; ``record_`` is its record.

    Attributes
    ----------
    missing_rows_ : ndarray
        Rows of the files that were left out of training because of missing cells.
    """

    record_: TrainingRecord
    missing_rows_: Array

    def recorded(self) -> TrainingRecord:
        """Return the record; refuse a model that is not fitted."""
        if not hasattr(self, "record_"):
            self._check_fitted("record_")  # type: ignore[attr-defined]
        return self.record_

    @property
    def n_iter_(self) -> int:
        """Passes made."""
        return self.recorded().n_passes

    @property
    def stop_reason_(self) -> str:
        """Why the run ended: "separated", "max_iter" or "max_updates"."""
        runs = self.recorded().runs
        if not runs:
            raise AttributeError("the weights of this model were imported: there was no run")
        return str(runs[-1].run.stop)

    @property
    def mistakes_(self) -> int:
        """Mistakes made in training, which is also the number of updates."""
        return self.recorded().mistakes

    @property
    def trace_(self) -> Array:
        """The row of each mistake, in order, shape (mistakes,), with the number that it has in the arrays or files.

        So it is also where ``missing="drop"`` left out rows between them.
        """
        return self.dropped_rows().in_source(self.recorded().trace())

    @property
    def mistake_counts_(self) -> Array:
        """Mistakes made on each row, shape (n,); 0 on a row that was left out because of missing cells."""
        return np.bincount(self.trace_, minlength=self.dropped_rows().rows)

    @property
    def history_(self) -> dict[str, Array]:
        """For each pass its mistakes, loss, validation error and seconds, and what a search for a proof made of it.

        The loss is that of each row at the moment of its visit; with ``tol`` that of the weights at the end of the
        pass. ``proof_work`` is what a search after the pass took, in operations, which are counted; ``separable``
        says whether it proved that some plane separates the rows.
        """
        passes = self.recorded().passes
        return {name: np.array([getattr(entry, name) for entry in passes]) for name in Pass._fields}

    def dropped_rows(self) -> Dropped:
        """Return the rows of the files that are not among those that were learned."""
        rows = self.recorded().rows
        return Dropped(self.missing_rows_, rows + len(self.missing_rows_))
