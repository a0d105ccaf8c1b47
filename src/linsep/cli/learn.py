"""``linsep fit``: from files to a model."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from linsep.cli.files import (
    Data,
    Delimiter,
    Format,
    Header,
    Ignore,
    Missing,
    Target,
    ZeroBased,
    check_place,
    open_data,
    remember,
)
from linsep.cli.screen import Json, Meter, Quiet, count, facts_table, headline, meter, result
from linsep.cli.spread import Cluster, Place, ShardMegabytes, Workers, mixing_facts, mixing_lines

if TYPE_CHECKING:
    from linsep.read import Source

_LEARNING, _STOPPING, _READING, _OUTPUT = "Learning", "Stopping", "Reading", "Output"
_CHECKPOINTS = "Checkpoints"

_STOPPED = {
    "separated": "a full pass without a mistake",
    "max_iter": "the pass budget is spent",
    "max_updates": "the update budget is spent",
    "loss_plateau": "the loss does not go down any more",
    "validation": "the error on held-out rows does not improve any more",
    "margin_refuted": "so many mistakes prove that no plane has the target margin",
}


def fit(
    data: Data,
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="OUT", help="File for the model.", rich_help_panel=_OUTPUT)
    ] = "model.linsep",
    fit_intercept: Annotated[bool, typer.Option(help="Learn an offset.", rich_help_panel=_LEARNING)] = True,
    eta0: Annotated[float, typer.Option(help="Learning rate.", rich_help_panel=_LEARNING)] = 1.0,
    shuffle: Annotated[bool, typer.Option(help="A fresh order of rows each pass.", rich_help_panel=_LEARNING)] = True,
    order: Annotated[
        Literal["first", "worst"] | None,
        typer.Option(help="Instead of passes: always the first, or the worst, mistake.", rich_help_panel=_LEARNING),
    ] = None,
    keep: Annotated[
        str, typer.Option(help="What to hand over: last, best, average or vote.", rich_help_panel=_LEARNING)
    ] = "last",
    update_margin: Annotated[float, typer.Option(help="Update up to y·s <= this.", rich_help_panel=_LEARNING)] = 0.0,
    multi_class: Annotated[
        Literal["argmax", "ovr"],
        typer.Option(help="Many classes: one machine, or one against the rest.", rich_help_panel=_LEARNING),
    ] = "argmax",
    on_plane: Annotated[
        int, typer.Option(metavar="-1|1", help="Side to predict on the plane.", rich_help_panel=_LEARNING)
    ] = -1,
    class_weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="balanced|LABEL=WEIGHT",
            help="Factors of the learning rate, one option per label.",
            rich_help_panel=_LEARNING,
        ),
    ] = None,
    scale: Annotated[
        Literal["none", "unit", "standard"],
        typer.Option(
            help="Learn from rows divided by R, or from columns of mean 0 and deviation 1; the weights are handed over "
            "in the units of the file.",
            rich_help_panel=_LEARNING,
        ),
    ] = "none",
    random_state: Annotated[int, typer.Option(min=0, help="Seed.", rich_help_panel=_LEARNING)] = 0,
    max_iter: Annotated[int, typer.Option(help="Largest number of passes.", rich_help_panel=_STOPPING)] = 1000,
    max_updates: Annotated[
        int | None, typer.Option(help="Largest number of updates.", rich_help_panel=_STOPPING)
    ] = None,
    tol: Annotated[
        float | None, typer.Option(help="Stop when the loss goes down by no more.", rich_help_panel=_STOPPING)
    ] = None,
    n_iter_no_change: Annotated[
        int, typer.Option(help="Passes without improvement that end a run.", rich_help_panel=_STOPPING)
    ] = 5,
    early_stopping: Annotated[
        bool, typer.Option("--early-stopping", help="Stop by the error on held-out rows.", rich_help_panel=_STOPPING)
    ] = False,
    validation_fraction: Annotated[
        float, typer.Option(help="Share of rows to hold out.", rich_help_panel=_STOPPING)
    ] = 0.1,
    target_margin: Annotated[
        float | None, typer.Option(help="Stop when no plane can have this margin.", rich_help_panel=_STOPPING)
    ] = None,
    target: Target = None,
    positive: Annotated[str | None, typer.Option(help="The label to learn as +1.", rich_help_panel=_READING)] = None,
    form: Format = None,
    delimiter: Delimiter = None,
    header: Header = None,
    zero_based: ZeroBased = None,
    missing: Missing = "error",
    text: Annotated[
        list[str] | None, typer.Option(help="Column to take as a bag of words.", rich_help_panel=_READING)
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(help="Column to take as words, not numbers.", rich_help_panel=_READING)
    ] = None,
    ignore: Ignore = None,
    hash_bits: Annotated[
        int, typer.Option(help="Words are hashed into 2^this features.", rich_help_panel=_READING)
    ] = 18,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write there what it takes to go on.", rich_help_panel=_CHECKPOINTS),
    ] = None,
    every: Annotated[
        str, typer.Option(metavar="TIME", help="How often, such as 30s or 5m.", rich_help_panel=_CHECKPOINTS)
    ] = "30s",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint.", rich_help_panel=_CHECKPOINTS)
    ] = False,
    invert: Annotated[
        bool, typer.Option("--invert", help="Keep the names of hashed features.", rich_help_panel=_OUTPUT)
    ] = False,
    cluster: Cluster = None,
    workers: Workers = None,
    shard_mb: ShardMegabytes = 64,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn a plane from files with the perceptron, and save the model.

    Numbers are taken as they are, words are hashed. The files may be larger than memory. The run ends with a full pass
    without a mistake, or for the reason it reports; the exit code is 0 whether or not the rows turned out to be
    separated. After an interruption the same command with --resume ends with the bits of a run that was never
    interrupted.
    """
    from linsep.estimators import Perceptron
    from linsep.save import save

    learner = Perceptron(
        fit_intercept=fit_intercept, eta0=eta0, shuffle=shuffle, order=order, max_iter=max_iter,
        max_updates=max_updates, tol=tol, n_iter_no_change=n_iter_no_change, early_stopping=early_stopping,
        validation_fraction=validation_fraction, target_margin=target_margin, keep=keep, update_margin=update_margin,
        multi_class=multi_class, on_plane=on_plane, class_weight=_class_weight(class_weight), random_state=random_state,
    )  # fmt: skip
    source = open_data(
        data, format=form, target=target, positive=positive, delimiter=delimiter, header=header, zero_based=zero_based,
        hash_bits=hash_bits, text=text or (), categorical=categorical or (), ignore=ignore or (), missing=missing,
        invert=invert,
    )  # fmt: skip
    for path in (model, checkpoint):
        check_place(path)  # before hours of learning, not after
    if resume and checkpoint is None:
        raise typer.BadParameter("--resume goes on from a checkpoint: name its file with --checkpoint")
    place = Place(cluster, workers, shard_mb)
    with meter("learning", quiet=quiet) as watching:
        if order is None:
            how = {"scale": scale, "checkpoint": checkpoint, "every": _seconds(every), "resume": resume}
            (place.fit if place else _stream)(learner, source, watching, **how)
        elif positive is not None or scale != "none" or checkpoint is not None:
            raise typer.BadParameter(f"--order {order} does not go with --positive, --scale or --checkpoint")
        else:
            _hold(learner, source)
        seconds = watching.seconds
    remember(learner, source, invert=invert)
    save(learner, model)
    rows, wrong = int(learner._rows_seen), int(learner.training_errors_)
    size = (source.size or 0) * learner.n_iter_
    passing = float(learner.history_["seconds"].sum())
    facts = {
        "command": "fit",
        "data": data,
        "model": model,
        "rows": rows,
        "features": learner.n_features_in_,
        "classes": learner.classes_,
        "passes": learner.n_iter_,
        "scale": scale,
        "stop_reason": learner.stop_reason_,
        "mistakes": learner.mistakes_,
        "training_errors": wrong,
        "training_error": wrong / rows,
        "margin": learner.margin_,
        "radius": learner.radius_,
        "seconds": seconds,
        "megabytes_per_second": size / passing / 1e6 if passing > 0 else None,
        **mixing_facts(learner),
    }

    def show(console: Any) -> None:
        labels = [str(label) for label in learner.classes_.tolist()]
        listed = ", ".join(labels if len(labels) <= 8 else [*labels[:6], "…", labels[-1]])
        reason = learner.stop_reason_
        lines = {
            "rows": f"{rows:,} of {count(learner.n_features_in_, 'feature')}",
            "classes": f"{len(labels)}: {listed}",
            "passes": f"{learner.n_iter_:,}, stopped by {reason}: {_STOPPED.get(reason, '')}",
            "mistakes": f"{learner.mistakes_:,} in training",
            "error": f"{wrong / rows:.4%} of the training rows are wrong ({wrong:,})",
            "margin": f"{learner.margin_:.6g}, radius R {learner.radius_:.6g}",
            "time": f"{seconds:.2f} s" + (f", {size / passing / 1e6:,.1f} MB/s" if passing > 0 else ""),
        }
        lines |= mixing_lines(learner)
        if scale != "none":
            lines["scale"] = f"{scale} in training; weights, margin and R are in the units of the file"
        console.print(headline(model, f" learnt from {', '.join(data)}"))
        console.print(facts_table(lines))
        for line in _advice(reason, wrong, learner):
            console.print(line)

    result(facts, as_json=as_json, quiet=quiet, show=show)


def _stream(learner: Any, source: Source, watching: Meter, **how: Any) -> None:
    """Train from the files, a block at a time."""
    from linsep.stream import fit_source

    size = source.size
    before = [0, 0]  # passes that are over, and the rows looked at in them

    def watch(number: int, looked: int, mistakes: int, _: float) -> None:
        if number != before[0]:
            before[:] = [number, watching.rows]
        watching.rows = before[1] + looked
        position = source.position
        watching.bytes = number * (size or 0) + position
        watching.show(position, size, f"pass {number + 1}/{learner.max_iter:,}  {mistakes:,} mistakes")

    fit_source(learner, source, watch=watch, **how)


def _hold(learner: Any, source: Source) -> None:
    """Train with all rows in memory, which an order that goes back to the first row needs."""
    X, y = source.to_arrays()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"max_(iter|updates)=\d+ ended the run")  # the report says it
        learner.fit(X, y)


def _seconds(text: str) -> float:
    """Return a time such as 30s, 5m or 1h in seconds."""
    unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:])
    try:
        seconds = float(text if unit is None else text[:-1]) * (unit or 1)
        if not 0 <= seconds < 1e9:
            raise ValueError
    except ValueError:
        raise typer.BadParameter(f"--every takes a time such as 30s or 5m, got {text!r}") from None
    return seconds


def _advice(reason: str, wrong: int, learner: Any) -> list[str]:
    """Say what to try next when the rows are not separated."""
    if reason == "separated" or (wrong == 0 and reason != "margin_refuted"):
        return []
    if reason == "margin_refuted":
        return [
            f"No plane keeps a margin of {learner.target_margin:g} from these rows: that is proved by the mistakes."
        ]
    if reason in ("max_iter", "max_updates"):
        option = "--" + reason.replace("_", "-")
        return [
            f"Not separated yet. If some plane separates the rows, a larger {option} or --scale standard will find "
            "one. If none does, no number of passes will: --early-stopping or --tol stops sooner. "
            "linsep separate tells which, with a proof."
        ]
    return [
        f"Not separated: the run ended early. Without --{_ENDED_BY[reason]} it would go on. "
        "linsep separate tells whether a plane exists, with a proof."
    ]


_ENDED_BY = {"loss_plateau": "tol", "validation": "early-stopping"}


def _class_weight(given: list[str] | None) -> Any:
    """Return the class weights: None, "balanced", or a dict."""
    if not given:
        return None
    if given == ["balanced"]:
        return "balanced"
    from linsep.libsvm import label

    weights: dict[Any, float] = {}
    for item in given:
        name, equals, number = item.rpartition("=")
        try:
            if not equals:
                raise ValueError
            weights[label(name)] = float(number)
        except ValueError:
            raise typer.BadParameter(f"--class-weight takes balanced or LABEL=WEIGHT, got {item!r}") from None
    return weights
