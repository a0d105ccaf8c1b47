"""``linsep fit``: trains a model from files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import click
from click.core import ParameterSource

from linsep.cli.inputs import (
    check_line,
    check_place,
    kinds,
    kinds_line,
    label_facts,
    label_line,
    named_rows,
    open_data,
    open_model,
    write_proof,
)
from linsep.cli.options import OUTPUT, Data, Place, Reading, Screen, as_option, command
from linsep.cli.screen import Meter, count, facts_table, headline, meter, result
from linsep.clock import Clock
from linsep.data.options import MISSING, READING
from linsep.declared import Declared, Parameter, declared
from linsep.errors import DataError, Setting
from linsep.models.constructors import LEARNERS, LEARNING, OWN
from linsep.wording import largest_between, margin_line, stopped_words

if TYPE_CHECKING:
    from linsep.data.source import Source

_RUN = ("training_errors_", "training_rows_", "n_iter_", "stop_reason_", "mistakes_", "margin_", "radius_")
_CHECKPOINTS = "Checkpoints"
_KINDS = {learner.command: (learner, name) for name, learner in LEARNERS.items()}
ONLINE = tuple(learner.command for learner in LEARNERS.values() if learner.online)  # read files a block at a time
AUTO = "auto"  # keep: the weights that predict better, where nobody asks for those of the lecture
_LARGEST = 1 << 24  # bytes of a file of first weights


@dataclass(frozen=True)
class Chosen:
    """Which learner, and how its rows are scaled."""

    learner: Annotated[
        Literal[*_KINDS],  # type: ignore[valid-type]
        Parameter(
            f"Learner: {', '.join(_KINDS)}. Only {', '.join(ONLINE)} learn from files larger than memory.",
            LEARNING,
            "WHICH",
        ),
    ] = "perceptron"
    scale: Annotated[
        Literal["auto", "none", "unit", "standard"],
        Parameter(
            "Scale rows before learning: none, unit (divide by R, the longest row), standard (columns of mean 0 "
            "and deviation 1; columns of words keep their mean), or auto: standard if the sizes of the columns differ "
            "by a factor of more than 10. The model's weights are in the units of the file.",
            LEARNING,
            "HOW",
        ),
    ] = "auto"

    def made(self, parameters: Learning) -> Any:
        """Return the model that is asked for; refuse parameters that it does not have."""
        options = parameters.options
        if self.learner in ONLINE and options.get("order") not in ("first", "worst"):
            options = {"keep": AUTO, **options}
        return made(self.learner, options)


@dataclass(frozen=True)
class Started(Chosen):
    """Besides, what it starts from, and how its rows are weighted."""

    initial: Annotated[
        str | None,
        Parameter(
            'File with the first weights: a model of the same features and classes, or JSON such as {"coef": '
            '[...], "intercept": [...]}.',
            LEARNING,
            "FILE",
        ),
    ] = None
    sample_weight: Annotated[
        str | None,
        Parameter(
            "Column of row weights; linsep does not use it as a feature. Needs all rows in memory.", LEARNING, "COLUMN"
        ),
    ] = None
    offset: Annotated[bool | None, Parameter("", hidden=True)] = None  # --no-offset, in fewer keys

    def made(self, parameters: Learning) -> Any:
        """Return the model that is asked for; refuse parameters that it does not have."""
        return super().made(parameters if self.offset is None else parameters.also(fit_intercept=self.offset))

    def in_memory(self, model: Any) -> str:
        """Name the option that needs all rows in memory, if one does."""
        if self.learner not in ONLINE:
            return f"--learner {self.learner}"
        if getattr(model, "order", None) in ("first", "worst"):
            return f"--order {model.order}"
        return "--sample-weight" if self.sample_weight else "--initial" if self.initial else ""


def made(learner: str, options: dict[str, Any]) -> Any:
    """Return a model by the learner's name on the command line; refuse parameters that it does not have."""
    kind, name = _KINDS[learner]
    known = {each.name for each in declared(kind.parameters)}
    for each, value in options.items():
        if each not in known:
            option = as_option(Setting(each, False if value is False else ...))
            raise click.BadParameter(f"{option} does not apply to --learner {learner}")
    if "class_weight" in options:
        options = {**options, "class_weight": _class_weight(options["class_weight"])}
    return getattr(import_module(kind.module), name)(**options)


def _of_all_learners() -> tuple[Declared, ...]:
    """Return the parameters of all learners; of those that only some have, the help says which."""
    parameters: dict[str, Declared] = {}
    owners: dict[str, list[str]] = {}
    for learner in LEARNERS.values():
        for each in declared(learner.parameters):
            if each.about.typed is not None:
                parameters.setdefault(each.name, each)
                owners.setdefault(each.name, []).append(learner.command)
    parameters["keep"] = parameters["keep"]._replace(default=AUTO)  # of those that are online
    for name, each in parameters.items():
        if each.about.panel == OWN:
            meaning = each.about.help[0].lower() + each.about.help[1:]
            parameters[name] = each._replace(about=replace(each.about, help=f"{', '.join(owners[name])}: {meaning}"))
    return tuple(parameters.values())


class Learning:
    """The parameters of the learner, as far as they are given."""

    parameters_declared = _of_all_learners()

    def __init__(self, **values: Any) -> None:
        source = click.get_current_context().get_parameter_source
        self.options = {name: values[name] for name in values if source(name) is ParameterSource.COMMANDLINE}

    def also(self, **more: Any) -> Self:
        """Return these parameters and others."""
        others = copy(self)
        others.options = self.options | more
        return others


@dataclass(frozen=True)
class Learned:
    """The model to write, and which label is its +1."""

    model: Annotated[str, Parameter("File to write the model to.", OUTPUT, "OUT", short="-m")] = "model.linsep"
    proof: Annotated[str | None, Parameter("Write the proof that no plane separates the rows.", OUTPUT, "OUT")] = None
    positive: Annotated[str | None, Parameter("Label to treat as +1.", READING, "LABEL")] = None
    evaluate: Annotated[
        bool,
        Parameter("After the last pass, read the rows once more for the training errors, the margin and R.", OUTPUT),
    ] = True
    coef: Annotated[bool, Parameter("Print the weights w and offsets b.", OUTPUT)] = False
    trace: Annotated[
        bool,
        Parameter(
            "Print the row of each mistake in order, the mistakes of each row (α), and the theorem's bound.", OUTPUT
        ),
    ] = False


@dataclass(frozen=True)
class Saving:
    """Where to write what it takes to go on, and whether to."""

    checkpoint: Annotated[str | None, Parameter("File to save progress to, for --resume.", _CHECKPOINTS, "FILE")] = None
    every: Annotated[str, Parameter("Time between checkpoints, such as 30s or 5m.", _CHECKPOINTS, "TIME")] = "30s"
    resume: Annotated[bool, Parameter("Continue from the checkpoint, if there is one.", _CHECKPOINTS)] = False

    def __post_init__(self) -> None:
        if self.resume and self.checkpoint is None:
            raise click.BadParameter("--resume needs --checkpoint FILE, the checkpoint to continue from")


@command("linsep fit train.csv --target species --max-iter 100 --model species.linsep")
def fit(
    data: Data,
    chosen: Started,
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
    start = {} if chosen.initial is None else _start_from(learner, chosen.initial)
    about: dict[str, Any] = {"data": data, "model": learned.model, "rows": None}
    with meter("learning", screen) as watching:
        if not (needs_all := chosen.in_memory(learner)):
            options = {"scale": scale, "checkpoint": saving.checkpoint, "every": _seconds(saving.every)}
            options |= {"evaluate": learned.evaluate, "resume": saving.resume}
            if place:
                _fit_on_cluster(place, learner, source, watching, **options)
            else:
                _stream(learner, source, watching, **options)
        elif (
            place or saving.checkpoint or positive is not None or scale not in ("none", "auto") or not learned.evaluate
        ):
            beside = "--positive, --scale, --checkpoint, --no-evaluate, --cluster or --workers"
            raise click.BadParameter(f"{needs_all} cannot be combined with {beside}")
        else:
            about["rows"] = _hold(learner, source, start, chosen.sample_weight)
        about["seconds"] = watching.seconds
    if hasattr(learner, "warm_start"):
        learner.warm_start = False  # it was this run that went on, not those of the saved model
    save(learner, learned.model)
    refutation = getattr(learner, "refutation_", None)
    if (
        learned.proof is not None and refutation is not None and refutation.machine is None
    ):  # one machine of several has no format
        from linsep.prove.numbers.text import fingerprint_of

        verdict = refutation.verdict()
        write_proof(learned.proof, verdict, source, fingerprint_of(source, verdict), {"command": "fit"}, None)
    about["proof"] = learned.proof
    facts = _facts(learner, source, about) | _trace_facts(learner, source, learned.coef, learned.trace)
    if learned.trace:
        facts |= _bound(learner, source, chosen)
    result(facts, screen, lambda console: _display(console, learner, source, facts, learned.proof))


def _facts(learner: Any, source: Source, about: dict[str, Any]) -> dict[str, Any]:
    """Return the facts about a run, for ``--json``."""
    known = {name: getattr(learner, name, None) for name in _RUN}  # not every learner has a run
    if known["training_errors_"] == -1:  # there was no look at the rows after the last pass
        known |= dict.fromkeys(("training_errors_", "training_rows_", "margin_", "radius_"))
    rows = about["rows"] or learner.record_.rows
    wrong, trained, passes = map(known.get, _RUN[:3])
    guessed = trained - learner.majority_rows_ if trained else None
    size = (source.size or 0) * (passes or 0)
    passing = float(sum(getattr(learner, "history_", {}).get("seconds", ())))
    certified = ("margin_lower_", "margin_upper_", "errors_lower_", "errors_upper_")
    return {
        "command": "fit",
        "data": about["data"],
        "model": about["model"],
        "rows": rows,
        "dropped": len(source.dropped),
        "features": learner.n_features_in_,
        "columns": kinds(source),
        **label_facts(source),
        "classes": learner.classes_,
        "passes": passes,
        "scale": getattr(learner, "scaling_", {}).get("kind", "none"),
        "stop_reason": known["stop_reason_"],
        "mistakes": known["mistakes_"],
        "training_errors": wrong,
        "training_error": wrong / trained if trained else None,
        "majority_error": guessed / trained if trained else None,
        "margin": known["margin_"],
        "radius": known["radius_"],
        "seconds": about["seconds"],
        "megabytes_per_second": size / passing / 1e6 if passing > 0 else None,
        **_proof_facts(learner, source, about["proof"]),
        **{name.rstrip("_"): getattr(learner, name) for name in certified if hasattr(learner, name)},
        **mixing_facts(learner),
    }


def _display(console: Any, learner: Any, source: Source, facts: dict[str, Any], proof: str | None) -> None:
    labels = [str(label) for label in learner.classes_.tolist()]
    listed = ", ".join(labels if len(labels) <= 8 else [*labels[:6], "…", labels[-1]])
    reason, wrong, speed = facts["stop_reason"], facts["training_errors"], facts["megabytes_per_second"]
    large = (source.size or 0) * (facts["passes"] or 0) > 1e6
    lines = {
        "rows": f"{facts['rows']:,} of {count(learner.n_features_in_, 'feature')}",
        "columns": kinds_line(facts["columns"]),
        **label_line(source, len(labels)),
        "classes": f"{len(labels)}: {listed}",
        **_run_lines(learner, facts),
        "time": f"{facts['seconds']:.2f} s" + (f", {speed:,.1f} MB/s" if large and speed else ""),
    }
    lines |= _mixing_lines(facts, learner) | _trace_lines(facts)
    if facts["proof"] is not None:
        lines["proof"] = check_line(facts["proof"], *facts["data"])
    elif proof is not None:
        why = "the run found none" if facts["refutation"] is None else "one class against the rest has no format"
        lines["proof"] = f"not written: {why}"
    if facts["scale"] != "none":
        lines["scale"] = f"{facts['scale']} during training; weights, margin and R are in the units of the file"
    files = source.files
    names = ", ".join(file.name for file in files) if len(files) <= 8 else f"{len(files):,} files"
    console.print(headline(facts["model"], f" learned from {names}"))
    console.print(facts_table(lines))
    if wrong is not None or reason == "not_separable":
        from linsep.models.progress import advice_after

        line = advice_after(learner, command=True)
        if line:
            console.print(line)


def _run_lines(learner: Any, facts: dict[str, Any]) -> dict[str, str]:
    reason, wrong, lines = facts["stop_reason"], facts["training_errors"], {}
    if reason is not None:
        from linsep.models.progress import margin_bound

        lines["passes"] = f"{facts['passes']:,}, stopped: {reason}, {stopped_words(reason, margin_bound(learner))}"
        lines["mistakes"] = f"{facts['mistakes']:,} in training"
    if wrong is not None:
        trained = learner.training_rows_
        held = f" of {trained:,}; {facts['rows'] - trained:,} are held out" if learner.early_stopping else ""
        guessed = f"always the most frequent class would be wrong on {facts['majority_error']:.4%}"
        lines["error"] = f"{facts['training_error']:.4%} of the training rows are wrong ({wrong:,}{held}); {guessed}"
        lines["margin"] = margin_line(facts["margin"], facts["radius"], learner.fit_intercept, len(learner.classes_))
    if "margin_lower" in facts:
        lines["margin"] = largest_between(facts["margin_lower"], facts["margin_upper"], learner.fit_intercept)
    if "errors_lower" in facts:
        low, high = facts["errors_lower"], facts["errors_upper"]
        fewest = "the fewest, proved" if low == high else f"the fewest are {low:,} at least, proved"
        lines["error"] = f"{count(high, 'row')} of {facts['rows']:,} on the wrong side; {fewest}"
    return lines


def _stream(learner: Any, source: Source, watching: Meter, **how: Any) -> None:
    from linsep.models.from_files import fit_source

    def reading(read: int | None = None, **_: Any) -> None:
        if read is not None:
            watching.show(source.position, source.size, "reading")

    watch = _watch(watching, f"pass {{}}/{learner.max_iter:,}", source)
    fit_source(learner, source, watch=watch, clock=Clock(show=reading), **how)


def _fit_on_cluster(place: Place, learner: Any, source: Source, watching: Meter, **how: Any) -> None:
    with place.client() as client:
        from linsep import cluster

        watch = _watch(watching, f"round {{}}/{learner.max_iter:,}")
        cluster.fit(learner, source, client, shard_bytes=place.shard_bytes, watch=watch, **how)


def _watch(watching: Meter, words: str, source: Source | None = None) -> Callable[[int, int, int, float], None]:
    """Return what shows how far a run is: in the bytes of a source, or in the rows that the pass before had."""
    before, size = [0, 0], None if source is None else source.size  # passes that are over, and rows visited in them

    def watch(number: int, visited: int, mistakes: int, _: float) -> None:
        nonlocal size
        if number != before[0]:
            size = watching.rows - before[1] if source is None else size
            before[:] = [number, watching.rows]
        watching.rows, done = before[1] + visited, visited
        if source is not None:
            done = source.position
            watching.bytes = number * (size or 0) + done
        watching.show(done, size, f"{words.format(number + 1)}  {mistakes:,} mistakes")

    return watch


def _bound(learner: Any, source: Source, chosen: Started) -> dict[str, Any]:
    """Return how many mistakes the theorem allows, with the formula, or why there is no bound."""
    from linsep.errors import NotSeparable

    missing = _no_bound(learner, source, chosen)
    if missing:
        return {"bound": None, "bound_formula": None, "bound_missing": missing}
    from linsep.prove.bounds.audits import as_trained, first_of
    from linsep.prove.bounds.mistake_bounds import mistake_bound
    from linsep.wording import bound_in_numbers

    X, y = source.to_arrays()
    W, b = first_of(learner)
    parameters = {"fit_intercept": learner.fit_intercept, "eta0": learner.eta0, "update_margin": learner.update_margin}
    try:
        bound = mistake_bound(
            as_trained(learner, X), y, **parameters, coef_init=W, intercept_init=b if learner.fit_intercept else None
        )
    except NotSeparable:  # held-out rows are among them
        missing = "no plane separates all rows, with those held out"
        return {"bound": None, "bound_formula": None, "bound_missing": missing}
    margin = "augmented margin, that of the points (x, 1)" if learner.fit_intercept else "margin"
    if learner.update_margin or W.any() or b.any():
        formula = f"{bound.formula}, with R = {bound.radius:.6g} and γ = {bound.margin.lower:.6g}"
    else:
        formula = bound_in_numbers(bound.formula, radius=bound.radius, margin=bound.margin.lower, limit=bound.upper)
    formula += f", γ the largest {margin}" + (", both of the scaled rows" if hasattr(learner, "scaling_") else "")
    return {"bound": bound.mistakes, "bound_formula": formula, "bound_missing": None}


def _no_bound(learner: Any, source: Source, chosen: Started) -> str:
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


def _hold(learner: Any, source: Source, arguments: dict[str, Any], weights: str | None) -> int:
    """Train with all rows in memory, which learners and orders that go back to earlier rows need; return how many."""
    X, y = source.to_arrays()
    if weights is not None:
        arguments["sample_weight"] = _row_weights(source, weights, X.shape[0])
    learner.fit(X, y, **arguments)
    learner.remember(source)
    if hasattr(learner, "missing_rows_"):
        learner.missing_rows_ = source.dropped.numbers
    return int(X.shape[0])


def _seconds(text: str) -> float:
    unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:])
    try:
        seconds = float(text if unit is None else text[:-1]) * (unit or 1)
        if not 0 <= seconds < 1e9:
            raise ValueError
    except ValueError:
        raise click.BadParameter(f"--every takes a time such as 30s or 5m, got {text!r}") from None
    return seconds


def _start_from(learner: Any, path: str) -> dict[str, Any]:
    """Have a learner go on from a model; return weights that a JSON file has, as ``fit`` takes them."""
    if not hasattr(learner, "warm_start"):
        raise click.BadParameter(f"--initial needs --learner {' or '.join(ONLINE)}")
    with open(path, "rb") as file:
        text = file.read(_LARGEST) if os.path.getsize(path) < _LARGEST else b""
    if text.lstrip()[:1] == b"{":
        try:
            content = json.loads(text)
            if not (isinstance(content, dict) and "coef" in content and set(content) <= {"coef", "intercept"}):
                raise ValueError
        except (ValueError, RecursionError):
            message = 'expected JSON of the form {"coef": [...], "intercept": [...]}'
            raise ValueError(f"{path}: {message}") from None
        return {f"{name}_init": values for name, values in content.items()}
    model = open_model(path)
    if not hasattr(model, "last_weights"):
        raise ValueError(f"{path}: a {type(model).__name__} has no weights to start from; give a linear model")
    learner.start_with(model.classes_, model.last_weights())
    learner.warm_start = True
    if hasattr(model, "reading_"):
        learner.reading_ = model.reading_
    return {}


def _row_weights(source: Source, column: str, rows: int) -> list[float]:
    """Return the weights of the rows that are not dropped, from a column of the files."""
    import numpy as np

    cells = [cell for (cell,) in source.cells_of([column])]
    numbers = source.dropped.in_source(np.arange(rows)).tolist()
    missing = next((row for row in numbers if cells[row] in (None, *MISSING)), None)
    if missing is not None:
        raise DataError(source.place(missing), "the row has no weight: drop it or fill in the weight")
    try:
        return [float(cells[row]) for row in numbers]
    except ValueError:
        raise ValueError(f"--sample-weight {column}: the column must hold numbers") from None


def _trace_facts(learner: Any, source: Source, coef: bool, trace: bool) -> dict[str, Any]:
    """Return the quantities of the lectures that are asked for: w and b, the trace, and α, the mistakes of each row.

    Rows have the numbers that they have in the source; a row that was dropped has None for α.
    """
    facts: dict[str, Any] = {}
    if coef:
        asked: Iterable[str] = ("coef_", "intercept_", "dual_coef_", "support_")
        facts |= {name.rstrip("_"): getattr(learner, name) for name in asked if hasattr(learner, name)}
        if "support" in facts:
            facts["support"] = source.dropped.in_source(facts["support"])
    if trace:
        if not hasattr(learner, "trace_"):
            raise ValueError(f"--trace needs a learner that records its mistakes; {type(learner).__name__} does not")
        dropped, rows, counts = source.dropped, learner.trace_, learner.mistake_counts_.astype(object)
        counts[dropped.numbers] = None
        facts |= {"trace": rows, "mistake_counts": counts}
    return facts


def _trace_lines(facts: dict[str, Any]) -> dict[str, str]:
    """Return them in lines; long ones are cut, --json has all."""

    def some(values: Any) -> str:
        listed = ["dropped" if value is None else f"{value:.6g}" for value in values[:20]]
        return ", ".join(listed) + (f", … ({len(values):,} in all)" if len(values) > 20 else "")

    lines: dict[str, str] = {}
    classes = facts["classes"].tolist()
    for c, row in enumerate(facts.get("coef", ())):
        lines["w" if len(classes) <= 2 else f"w of {classes[c]}"] = some(row)
    if "intercept" in facts:
        lines["b"] = some(facts["intercept"])
    if "trace" in facts:
        lines["trace"] = f"{some(facts['trace'])}: rows of the mistakes in order, from 0"
        lines["α"] = f"{some(facts['mistake_counts'])}: mistakes on each row"
    if facts.get("bound") is not None:
        lines["bound"] = f"at most {facts['bound']:,} mistakes in any order: {facts['bound_formula']}"
    elif facts.get("bound_missing"):
        lines["bound"] = f"none: {facts['bound_missing']}"
    return lines


def _class_weight(items: list[str]) -> Any:
    """Return the class weights: "balanced", or a dict."""
    if items == ["balanced"]:
        return "balanced"
    from linsep.data.labels import label

    weights: dict[Any, float] = {}
    for item in items:
        name, equals, number = item.rpartition("=")
        try:
            if not equals:
                raise ValueError
            weights[label(name)] = float(number)
        except ValueError:
            raise click.BadParameter(f"--class-weight takes balanced or LABEL=WEIGHT, got {item!r}") from None
    return weights


def mixing_facts(learner: Any) -> dict[str, Any]:
    """Return what is to be reported of a run on a cluster, nothing of one here."""
    mixing = getattr(learner, "mixing_", None)
    if mixing is None:
        return {}
    by_shard = mixing["mistakes"].sum(axis=0)
    facts = {"shards": len(by_shard), "mistakes_by_shard": by_shard, "weighted_mistakes": mixing["weighted"]}
    return facts | {"margin_upper": mixing["margin_upper"], "bound_holds": mixing["holds"]}


def _mixing_lines(facts: dict[str, Any], learner: Any) -> dict[str, str]:
    """Return the lines of the report about a run on a cluster, none about one here."""
    if "shards" not in facts:
        return {}
    mistakes = facts["mistakes_by_shard"]
    lines = {"shards": f"{facts['shards']:,}, with {mistakes.min():,} to {mistakes.max():,} mistakes each"}
    if facts["margin_upper"] < float("inf"):
        margin = "an augmented margin" if learner.fit_intercept else "a margin"
        lines["bound"] = (
            f"no plane has {margin} above {facts['margin_upper']:.6g}, by {facts['weighted_mistakes']:,.1f} weighted "
            f"mistakes ({facts['bound_holds']})"
        )
    return lines


def _proof_facts(learner: Any, source: Source, path: str | None) -> dict[str, Any]:
    refutation = getattr(learner, "refutation_", None)
    work = float(sum(getattr(learner, "history_", {}).get("proof_work", ())))
    if refutation is None:
        return {"refutation": None, "proof_work": work, "proof": None}
    labels = list(refutation.classes) if refutation.machine is None else [False, True]
    from linsep.prove.documents import claim_of

    numbers = claim_of(refutation.verdict())["refutation"]["multipliers"]
    parts = zip(
        named_rows(source, refutation.dropped.among_kept(refutation.rows)),
        refutation.rivals.tolist(),
        numbers,
        strict=True,
    )
    listed = [{**row.facts(), "against": labels[rival], "multiplier": number} for row, rival, number in parts]
    return {"refutation": listed, "proof_work": work, "proof": path if refutation.machine is None else None}
