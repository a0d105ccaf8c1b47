"""``linsep fit``: from files to a model."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from linsep.cli.files import Data, Delimiter, Format, Header, Missing, Target, ZeroBased, blocks, open_data, remember
from linsep.cli.screen import Json, Meter, Quiet, count, facts_table, meter, result

if TYPE_CHECKING:
    from linsep.read import Source

_LEARNING, _STOPPING, _READING, _OUTPUT = "Learning", "Stopping", "Reading", "Output"

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
    ignore: Annotated[list[str] | None, typer.Option(help="Column to leave out.", rich_help_panel=_READING)] = None,
    hash_bits: Annotated[
        int, typer.Option(help="Words are hashed into 2^this features.", rich_help_panel=_READING)
    ] = 18,
    invert: Annotated[
        bool, typer.Option("--invert", help="Keep the names of hashed features.", rich_help_panel=_OUTPUT)
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Learn a plane from files with the perceptron, and save the model.

    Numbers are taken as they are, words are hashed. The run ends with a full pass without a mistake, or for the
    reason it reports. The exit code is 0 whether or not the rows turned out to be separated.
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
    with meter("learning", quiet=quiet) as watching:
        _train(learner, source, watching)
        seconds = watching.seconds
        wrong, rows = _training_errors(learner, source)
    remember(learner, source, invert=invert)
    save(learner, model)
    size = (source.size or 0) * learner.n_iter_
    facts = {
        "command": "fit",
        "data": data,
        "model": model,
        "rows": rows,
        "features": learner.n_features_in_,
        "classes": learner.classes_,
        "passes": learner.n_iter_,
        "stop_reason": learner.stop_reason_,
        "mistakes": learner.mistakes_,
        "training_errors": wrong,
        "training_error": wrong / rows,
        "margin": learner.margin_,
        "radius": learner.radius_,
        "seconds": seconds,
        "megabytes_per_second": size / seconds / 1e6,
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
            "time": f"{seconds:.2f} s, {facts['megabytes_per_second']:,.1f} MB/s",
        }
        console.print(f"[bold]{model}[/bold] learnt from {', '.join(data)}")
        console.print(facts_table(lines))
        for line in _advice(reason, wrong, learner):
            console.print(line)

    result(facts, as_json=as_json, quiet=quiet, show=show)


def _train(learner: Any, source: Source, watching: Meter) -> None:  # noqa: ARG001
    """Train on all rows of the source."""
    X, y = source.to_arrays()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"max_(iter|updates)=\d+ ended the run")  # the report says it
        learner.fit(X, y)


def _training_errors(learner: Any, source: Source) -> tuple[int, int]:
    """Return how many rows are predicted wrong, and how many there are."""
    wrong = rows = 0
    for X, y in blocks(learner, source):
        wrong += int((learner.predict(X) != y).sum())
        rows += len(y)
    return wrong, rows


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
            f"Not separated yet. If some plane separates the rows, a larger {option} will find one. If none does, no "
            "number of passes will: --early-stopping or --tol stops sooner."
        ]
    return [f"Not separated: the run ended early. Without --{_ENDED_BY[reason]} it would go on."]


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
