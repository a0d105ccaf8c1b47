"""Decides when a run searches for a proof that no plane separates its rows, and for how long.

After 10 passes, and each time their number has doubled, a run that makes hardly fewer mistakes than before looks for a
proof that no plane separates its rows. All searches together take at most as much work as training has. Work is
counted: visits to rows, and for exact operations the visits that take as long on the machine where that was measured.
So a run ends with the same bits wherever it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from linsep.data.row_numbers import Dropped
from linsep.learn.parameters import Parameters
from linsep.learn.passes import ProofAttempt, State, TrainingLog
from linsep.learn.rules import MispredictionRule, StrictRule
from linsep.learn.serialization import must
from linsep.problem import Array, Problem

if TYPE_CHECKING:  # the search is loaded when there is something to search
    from linsep.prove.verdict.parts import Ask, Part
    from linsep.prove.verdict.refuting import Asked, RunProof
    from linsep.prove.verdict.run_refutations import RunRefutation

FIRST_PASSES = 10  # before the first search for a proof: most runs that separate end sooner
FIRST_UNEVEN = 640  # where rows have different weights: those that count most come right before the others
NEW_LOW = 0.85  # a pass with fewer mistakes than this share of the fewest before is a new low; less may be chance


def due(mistakes: Sequence[float]) -> bool:
    """Say whether to look for a proof after passes with these numbers of mistakes.

    The second half of them must have brought no new low. A run that gets better goes on without a search: one whose
    mistakes do not even become a fifth fewer while passes double would take thousands of times as many to end.
    """
    n = len(mistakes)
    times, rest = divmod(n, FIRST_PASSES)
    if rest or times == 0 or times & (times - 1):
        return False
    return min(mistakes[n // 2 :]) > NEW_LOW * min(mistakes[: n // 2])


class Prover:
    """Asked between the passes of a run whether it is of any use to go on.

    Parameters
    ----------
    parameters : Parameters
    asking : callable, optional
        Returns, for a problem, who answers questions about its rows; by default its batches are looked at here.
    """

    def __init__(self, parameters: Parameters, asking: Callable[[Problem], Ask] | None = None) -> None:
        self.parameters, self.asking = parameters, asking or asking_batches

    def __call__(self, problem: Problem, state: State) -> ProofAttempt | None:
        """Look for a proof if it is time to."""
        log = state.log
        if log.separable or log.rows or not due(_mistakes(problem, log)):  # a run resumed in a pass searched before it
            return None
        from linsep.prove.verdict.decide import NO_MARGIN
        from linsep.prove.verdict.refuting import Asked, RunSearch, run_mistakes

        made = run_mistakes(np.concatenate([np.empty(0, np.uint64), *log.trace]), problem.machines)
        separate = self.parameters.separate(problem.machines)
        asked = Asked(len(problem.classes), bool(self.parameters.rule.offset), separate)
        search = RunSearch(self.asking(problem), asked, made, log.settled)
        budget = len(log.passes) * search.training - sum(entry.proof_work for entry in log.passes)
        outcome, settled = search.within(budget), tuple(sorted(search.settled))
        if outcome is not None and outcome.refuted:
            useless = _useless(outcome, asked, self.parameters)
            return ProofAttempt(search.spent, outcome.proof if useless else None, outcome.machine, settled=settled)
        if outcome is None and search.margin_bound < NO_MARGIN * search.radius:
            return ProofAttempt(search.spent, settled=settled, margin_bound=search.margin_bound)
        return ProofAttempt(search.spent, separable=outcome is not None, settled=settled)


def _mistakes(problem: Problem, log: TrainingLog) -> Sequence[float]:
    """Return the mistakes of each pass; where rows have weights, those of the rows on which they fell, added up."""
    counts = [entry.mistakes for entry in log.passes]
    uneven = len(np.unique(problem.factors)) > 1
    if not due([1] * len(counts)) or not (uneven or problem.in_memory):
        return counts
    steps = np.concatenate([problem.factors[:0], *(batch.examples.step for batch in problem.batches)])
    if not (uneven or len(np.unique(steps[steps > 0])) > 1):
        return counts
    if len(counts) < FIRST_UNEVEN:
        return []
    if not (log.trace and len(steps)):  # too long to be kept, or on the workers of a cluster
        return counts
    rows = np.concatenate(log.trace) // np.uint64(problem.machines)
    return [float(steps[part].sum()) for part in np.split(rows.astype(np.intp), np.cumsum(counts)[:-1])]


def _useless(outcome: RunProof, asked: Asked, parameters: Parameters) -> bool:
    """Say whether a refutation means that no pass will be without a mistake.

    Where mistakes are wrong predictions, rows of one side may lie on the plane, so a row of the other must be among
    those that contradict each other. With an offset there always is one: it cancels, too. Where only rows strictly on
    the wrong side are mistakes, all of them may lie on the plane.
    """
    rule = parameters.rule
    if isinstance(rule, StrictRule):
        return False
    if not isinstance(rule, MispredictionRule) or asked.offset:
        return True
    labels, rivals = outcome.labels, outcome.proof.rivals
    if asked.classes > 2 and not asked.separate:
        return bool((rivals < labels).any())  # of tied classes the first is predicted
    return bool((labels == (1 if parameters.on_plane < 0 else 0)).any())


def asking_batches(problem: Problem) -> Ask:
    """Return who answers questions about the rows of a problem, batch by batch."""

    def ask(function: Callable[..., Any], task: Any) -> Iterator[Any]:
        for batch in problem.batches:
            yield function(part_of(batch, problem.machines), task)

    return ask


def part_of(batch: Any, machines: int) -> Part:
    """Return a batch as a part of all rows: as the user has them, with the numbers of their classes."""
    from linsep.prove.verdict.parts import Part

    y, step = batch.examples.y, batch.examples.step
    codes = (y > 0).astype(np.intp) if machines == 1 else y
    used = None if (step > 0).all() else np.flatnonzero(step > 0)
    return Part(batch.first_row, batch.rows, codes, batch.n_features, used)


# ---------------------------------------------------------------------------------------------------------------
# What a model keeps of it


def saved_proof(proof: ProofAttempt) -> dict[str, Any]:
    """Return a refutation as plain values that a file can hold."""
    refutation = proof.refutation
    numbers = [f"{value.numerator:x}/{value.denominator:x}" for value in refutation.multipliers]
    rows, rivals = (np.asarray(part, dtype=np.int64) for part in (refutation.rows, refutation.rivals))
    return {"rows": rows, "rivals": rivals, "multipliers": numbers, "machine": proof.machine}


def refutation_of(model: Any, proof: dict[str, Any], dropped: Dropped) -> RunRefutation:
    """Return the refutation that a model keeps, with the numbers that rows have in their source."""
    from linsep.prove.verdict.run_refutations import RunRefutation

    values = tuple(Fraction(*(int(part, 16) for part in number.split("/"))) for number in proof["multipliers"])
    labels = tuple(model.classes_.tolist())
    machine = None if proof["machine"] is None else labels[proof["machine"]]
    rows, rivals = dropped.in_source(proof["rows"]), proof["rivals"].astype(np.intp)
    return RunRefutation(
        rows, values, rivals, labels, model.n_features_in_, bool(model.fit_intercept), machine, dropped
    )


def check_kept(proof: Any, rows: int, classes: int) -> None:
    """Refuse what was read from a file and is no refutation; whether it holds is not asked here."""
    must(isinstance(proof, dict) and set(proof) == {"rows", "rivals", "multipliers", "machine"}, "its proof")
    which, rivals, numbers, machine = (proof[name] for name in ("rows", "rivals", "multipliers", "machine"))
    must(_indices(which, rows) and _indices(rivals, classes) and isinstance(numbers, list), "its proof")
    must(len(which) == len(rivals) == len(numbers) > 0, "its proof")
    must(all(isinstance(number, str) and number.count("/") == 1 for number in numbers), "its proof")
    must(all(int(part, 16) > 0 for number in numbers for part in number.split("/")), "multipliers of its proof")
    must(machine is None or (type(machine) is int and 0 <= machine < classes), "its proof")


def _indices(values: Any, stop: int) -> bool:
    right: Array = np.asarray(values)
    return right.ndim == 1 and right.dtype.kind == "i" and bool(((right >= 0) & (right < stop)).all())
