"""``linsep fit``: trains a model from files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import click

from linsep.cli.cluster_options import Place, mixing_facts, mixing_lines
from linsep.cli.inputs import check_place, dropped_fact, kinds, kinds_line, open_data
from linsep.cli.learners import Chosen, Learning, read_weights, start_from, trace_facts, trace_lines, weights_of
from linsep.cli.options import OUTPUT, Data, Reading, Screen, command
from linsep.cli.run_proofs import proof_facts, proof_line, said_of_proof, write_proof
from linsep.cli.screen import Meter, count, facts_table, headline, meter, result
from linsep.clock import Clock
from linsep.data.options import READING
from linsep.declared import Parameter
from linsep.wording import largest_between, margin_found, stopped_words, tiny_margin_words

if TYPE_CHECKING:
    from linsep.data.source import Source

_RUN = (
    "_rows_seen",
    "training_errors_",
    "training_rows_",
    "n_iter_",
    "stop_reason_",
    "mistakes_",
    "margin_",
    "radius_",
)
_CHECKPOINTS = "Checkpoints"


@dataclass(frozen=True)
class Learned:
    """The model to write, and which label is its +1."""

    model: Annotated[str, Parameter("File to write the model to.", panel=OUTPUT, short="-m", metavar="OUT")] = (
        "model.linsep"
    )
    proof: Annotated[
        str | None,
        Parameter("Write the proof that no plane separates the rows.", panel=OUTPUT, metavar="OUT"),
    ] = None
    positive: Annotated[str | None, Parameter("Label to treat as +1.", panel=READING, metavar="LABEL")] = None
    evaluate: Annotated[
        bool,
        Parameter(
            "After the last pass, read the rows once more for the training errors, the margin and R.", panel=OUTPUT
        ),
    ] = True
    coef: Annotated[bool, Parameter("Print the weights w and offsets b.", panel=OUTPUT)] = False
    trace: Annotated[
        bool,
        Parameter(
            "Print the row of each mistake in order, the mistakes of each row (α), and the theorem's bound.",
            panel=OUTPUT,
        ),
    ] = False


@dataclass(frozen=True)
class Saving:
    """Where to write what it takes to go on, and whether to."""

    checkpoint: Annotated[
        str | None,
        Parameter("File to save progress to, for --resume.", panel=_CHECKPOINTS, metavar="FILE"),
    ] = None
    every: Annotated[
        str,
        Parameter("Time between checkpoints, such as 30s or 5m.", panel=_CHECKPOINTS, metavar="TIME"),
    ] = "30s"
    resume: Annotated[bool, Parameter("Continue from the checkpoint, if there is one.", panel=_CHECKPOINTS)] = False

    def __post_init__(self) -> None:
        if self.resume and self.checkpoint is None:
            raise click.BadParameter("--resume needs --checkpoint FILE, the checkpoint to continue from")


@command("linsep fit train.csv --target species --max-iter 100 --model species.linsep")
def fit(
    data: Data,
    chosen: Chosen,
    learning: Learning,
    learned: Learned,
    *,
    screen: Screen,
    reading: Reading,
    saving: Saving,
    place: Place,
) -> None:
    """Learn a plane from files with the perceptron, and save the model.

    The files may be larger than memory. The run ends after a full pass without a mistake, or for another reason that
    the report names; the exit code is 0 either way. With --checkpoint, an interrupted run can continue: the same
    command with --resume gives exactly the model of a run without interruption.
    """
    from linsep.models.files import save

    learner, scale, positive = chosen.made(learning), chosen.scale, learned.positive
    if chosen.sample_weight is not None:
        reading = reading.ignoring(chosen.sample_weight)
    source = open_data(data, reading, screen, positive=positive)
    for path in (learned.model, saving.checkpoint, learned.proof):
        check_place(path, *data)
    given = {} if chosen.initial is None else start_from(learner, chosen.initial)
    if chosen.sample_weight is not None:
        given["sample_weight"] = read_weights(data, reading, chosen.sample_weight)
    about: dict[str, Any] = {"data": data, "model": learned.model, "scale": scale}
    with meter("learning", screen) as watching:
        if not (needs_all := chosen.in_memory(learner)):
            how = {"scale": scale, "checkpoint": saving.checkpoint, "every": _seconds(saving.every)}
            how["evaluate"] = learned.evaluate
            (place.fit if place else _stream)(learner, source, watching, resume=saving.resume, **how)
        elif place or positive is not None or scale != "none" or saving.checkpoint is not None or not learned.evaluate:
            beside = "--positive, --scale, --checkpoint, --no-evaluate, --cluster or --workers"
            raise click.BadParameter(f"{needs_all} cannot be combined with {beside}")
        else:
            about["rows"] = _hold(learner, source, given)
        about["seconds"] = watching.seconds
    if hasattr(learner, "warm_start"):
        learner.warm_start = False  # it was this run that went on, not those of the saved model
    save(learner, learned.model)
    write_proof(learner, source, learned.proof)
    about["proof"] = learned.proof
    facts = _facts(learner, source, about) | trace_facts(learner, source, learned.coef, learned.trace)
    if learned.trace:
        facts |= _bound(learner, source, chosen)
    result(facts, screen, lambda console: _display(console, learner, source, facts, learned.proof))


def _facts(learner: Any, source: Source, about: dict[str, Any]) -> dict[str, Any]:
    """Return what is to be told of a run."""
    known = {name: getattr(learner, name, None) for name in _RUN}  # not every learner has a run
    if known["training_errors_"] == -1:  # there was no look at the rows after the last pass
        known |= dict.fromkeys(("training_errors_", "training_rows_", "margin_", "radius_"))
    rows, wrong, trained, passes = about.get("rows", known["_rows_seen"]), *map(known.get, _RUN[1:4])
    size = (source.size or 0) * (passes or 0)
    passing = float(sum(getattr(learner, "history_", {}).get("seconds", ())))
    certified = ("margin_lower_", "margin_upper_", "errors_lower_", "errors_upper_")
    return {
        "command": "fit",
        "data": about["data"],
        "model": about["model"],
        "rows": rows,
        **dropped_fact(source),
        "features": learner.n_features_in_,
        "columns": kinds(source),
        "classes": learner.classes_,
        "passes": passes,
        "scale": about["scale"],
        "stop_reason": known["stop_reason_"],
        "mistakes": known["mistakes_"],
        "training_errors": wrong,
        "training_error": wrong / trained if trained else None,
        "margin": known["margin_"],
        "radius": known["radius_"],
        "seconds": about["seconds"],
        "megabytes_per_second": size / passing / 1e6 if passing > 0 else None,
        **proof_facts(learner, source, about["proof"]),
        **{name.rstrip("_"): getattr(learner, name) for name in certified if hasattr(learner, name)},
        **mixing_facts(learner),
    }


def _display(console: Any, learner: Any, source: Source, facts: dict[str, Any], proof: str | None) -> None:
    """Show what is to be told of a run, and what to try next."""
    labels = [str(label) for label in learner.classes_.tolist()]
    listed = ", ".join(labels if len(labels) <= 8 else [*labels[:6], "…", labels[-1]])
    reason, wrong, speed = facts["stop_reason"], facts["training_errors"], facts["megabytes_per_second"]
    large = (source.size or 0) * (facts["passes"] or 0) > 1e6
    lines = {
        "rows": f"{facts['rows']:,} of {count(learner.n_features_in_, 'feature')}",
        "columns": kinds_line(facts["columns"]),
        "classes": f"{len(labels)}: {listed}",
        **_run_lines(learner, facts),
        "time": f"{facts['seconds']:.2f} s" + (f", {speed:,.1f} MB/s" if large and speed else ""),
    }
    lines |= mixing_lines(learner) | trace_lines(facts)
    lines["proof"] = proof_line(facts, proof)
    if facts["scale"] != "none":
        lines["scale"] = f"{facts['scale']} during training; weights, margin and R are in the units of the file"
    files = source.files
    names = ", ".join(file.name for file in files) if len(files) <= 8 else f"{len(files):,} files"
    console.print(headline(facts["model"], f" learned from {names}"))
    console.print(facts_table({name: line for name, line in lines.items() if line}))
    for line in [] if wrong is None and reason != "not_separable" else _advice(reason, wrong, facts["scale"], learner):
        console.print(line)


def _run_lines(learner: Any, facts: dict[str, Any]) -> dict[str, str]:
    """Return what is to be said of how the plane was found."""
    reason, wrong, lines = facts["stop_reason"], facts["training_errors"], {}
    if reason is not None:
        lines["passes"] = f"{facts['passes']:,}, stopped: {reason}, {stopped_words(reason, _margin_bound(learner))}"
        lines["mistakes"] = f"{facts['mistakes']:,} in training"
    if wrong is not None:
        trained = learner.training_rows_
        held = f" of {trained:,}; {facts['rows'] - trained:,} are held out" if learner.early_stopping else ""
        lines["error"] = f"{facts['training_error']:.4%} of the training rows are wrong ({wrong:,}{held})"
        lines["margin"] = margin_found(facts["margin"], facts["radius"], learner.fit_intercept, len(learner.classes_))
    if "margin_lower" in facts:
        lines["margin"] = largest_between(facts["margin_lower"], facts["margin_upper"], learner.fit_intercept)
    if "errors_lower" in facts:
        low, high = facts["errors_lower"], facts["errors_upper"]
        fewest = "the fewest, proved" if low == high else f"the fewest are {low:,} at least, proved"
        lines["error"] = f"{count(high, 'row')} of {facts['rows']:,} on the wrong side; {fewest}"
    return lines


def _stream(learner: Any, source: Source, watching: Meter, **how: Any) -> None:
    """Train from the files, a block at a time."""
    from linsep.models.from_files import fit_source

    size = source.size
    before = [0, 0]  # passes that are over, and the rows visited in them

    def watch(number: int, visited: int, mistakes: int, _: float) -> None:
        if number != before[0]:
            before[:] = [number, watching.rows]
        watching.rows = before[1] + visited
        position = source.position
        watching.bytes = number * (size or 0) + position
        watching.show(position, size, f"pass {number + 1}/{learner.max_iter:,}  {mistakes:,} mistakes")

    def reading(read: int | None = None, **_: Any) -> None:
        if read is not None:
            watching.show(source.position, size, "reading")

    fit_source(learner, source, watch=watch, clock=Clock(show=reading), **how)


def _bound(learner: Any, source: Source, chosen: Chosen) -> dict[str, Any]:
    """Return how many mistakes the theorem allows, and how, or why that is not told."""
    from linsep.errors import NotSeparable

    missing = _no_bound(learner, source, chosen)
    if missing:
        return {"bound": None, "bound_formula": None, "bound_missing": missing}
    from linsep.prove.bounds.audits import as_trained, first_of
    from linsep.prove.bounds.mistake_bounds import mistake_bound
    from linsep.wording import bound_in_numbers

    X, y = source.to_arrays()
    W, b = first_of(learner)
    own = {"fit_intercept": learner.fit_intercept, "eta0": learner.eta0, "update_margin": learner.update_margin}
    try:
        found = mistake_bound(
            as_trained(learner, X), y, **own, coef_init=W, intercept_init=b if learner.fit_intercept else None
        )
    except NotSeparable:  # held-out rows are among them
        return {
            "bound": None,
            "bound_formula": None,
            "bound_missing": "no plane separates all rows, with those held out",
        }
    margin = "augmented margin, that of the points (x, 1)" if learner.fit_intercept else "margin"
    if learner.update_margin or W.any() or b.any():
        formula = f"{found.formula}, with R = {found.radius:.6g} and γ = {found.margin.lower:.6g}"
    else:
        formula = bound_in_numbers(found.formula, radius=found.radius, margin=found.margin.lower, limit=found.upper)
    formula += f", γ the largest {margin}" + (", both of the scaled rows" if hasattr(learner, "scaling_") else "")
    return {"bound": found.mistakes, "bound_formula": formula, "bound_missing": None}


def _no_bound(learner: Any, source: Source, chosen: Chosen) -> str:
    """Say why there is no mistake bound to tell, if there is none."""
    if chosen.learner != "perceptron":
        return "the theorem is about the perceptron"
    if chosen.sample_weight is not None or learner.class_weight is not None:
        return "rows of different weight take steps of different length, and the theorem is about equal ones"
    if len(learner.classes_) > 2 and learner.multi_class != "argmax":
        return "one-against-rest makes a run for each class, each with a bound of its own"
    if learner.stop_reason_ == "not_separable":
        return "no plane separates the rows, so mistakes never end"
    if learner.stop_reason_ != "separated":
        return f"the run ended {learner.stop_reason_}, so it has not shown that a plane separates the rows"
    if source.files[0].name == "-":
        return "standard input cannot be read again"
    return ""


def _hold(learner: Any, source: Source, given: dict[str, Any]) -> int:
    """Train with all rows in memory, which learners and orders that go back to earlier rows need; return how many."""
    X, y = source.to_arrays()
    if "sample_weight" in given:
        given["sample_weight"] = weights_of(source, given["sample_weight"], X.shape[0])
    learner.fit(X, y, **given)
    learner.remember(source)
    if hasattr(learner, "missing_rows_"):
        learner.missing_rows_ = source.dropped.numbers
    return int(X.shape[0])


def _seconds(text: str) -> float:
    """Return a time such as 30s, 5m or 1h in seconds."""
    unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:])
    try:
        seconds = float(text if unit is None else text[:-1]) * (unit or 1)
        if not 0 <= seconds < 1e9:
            raise ValueError
    except ValueError:
        raise click.BadParameter(f"--every takes a time such as 30s or 5m, got {text!r}") from None
    return seconds


def _margin_bound(learner: Any) -> float:
    """Return what the last search of a run proved of all margins, NaN if nothing."""
    bounds = getattr(learner, "history_", {}).get("margin_bound", ())
    return float(bounds[-1]) if len(bounds) else math.nan


def _advice(reason: str, wrong: int | None, scale: str, learner: Any) -> list[str]:
    """Say what to try next when the rows are not separated."""
    if wrong == 0 and reason in ("max_iter", "max_updates") and hasattr(learner, "update_margin"):
        larger = f"a larger --{reason.replace('_', '-')}"
        return [f"No row is on the wrong side now; {larger} lets the run end with a pass without a mistake."]
    if reason == "separated" or (wrong == 0 and reason != "margin_refuted"):
        return []
    bound = _margin_bound(learner)
    if reason == "margin_refuted" and not math.isnan(bound):
        said = tiny_margin_words(bound, math.hypot(learner.radius_, float(learner.fit_intercept)), learner.keep)
        said = said.replace("keep='average'", "--keep average").replace("prove=False goes on", "--no-prove goes on")
        return [said[0].upper() + said[1:]]
    if reason == "margin_refuted":
        margin = "an augmented margin" if learner.fit_intercept else "a margin"
        return [f"The number of mistakes proves that no plane has {margin} of {learner.target_margin:g} on these rows."]
    if reason == "not_separable":
        return [said_of_proof(learner)]
    if reason in ("max_iter", "max_updates"):
        option = "--" + reason.replace("_", "-")
        scale = "" if scale == "standard" else " or --scale standard"
        if learner.history_["separable"].any():
            return [
                "Not separated yet, but the run has proved that some plane separates these rows: a larger "
                f"{option}{scale} will find one; linsep separate or --learner max-margin finds one sooner."
            ]
        return [
            "Not separated yet. linsep separate tells you whether a plane exists, with a proof. If one does, --learner "
            f"max-margin finds it; you can also try a larger {option}{scale}. If none does, --early-stopping or --tol "
            "stops sooner."
        ]
    return [
        f"Not separated: --{_ENDED_BY[reason]} ended the run early. linsep separate tells you whether a plane exists, "
        "with a proof."
    ]


_ENDED_BY = {"loss_plateau": "tol", "validation": "early-stopping"}
