"""``linsep predict`` and ``linsep score``: a model meets other files."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from linsep.cli.files import Data, Delimiter, Format, Header, Missing, Model, Target, ZeroBased, blocks, open_like
from linsep.cli.models import open_model
from linsep.cli.screen import Json, Quiet, count, facts_table, headline, meter, result
from linsep.cli.spread import Cluster, Place, ShardMegabytes, Workers

if TYPE_CHECKING:
    from linsep.problem import Array

_OUTPUT = "Output"


def predict(
    model: Model,
    data: Data,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", help="CSV, TSV, Parquet or Arrow; - is standard output (CSV).", rich_help_panel=_OUTPUT
        ),
    ] = "-",
    score: Annotated[bool, typer.Option("--score", help="Add the score w·x + b.", rich_help_panel=_OUTPUT)] = False,
    distance: Annotated[
        bool, typer.Option("--distance", help="Add the signed distance to the plane.", rich_help_panel=_OUTPUT)
    ] = False,
    target: Target = None,
    form: Format = None,
    delimiter: Delimiter = None,
    header: Header = None,
    zero_based: ZeroBased = None,
    missing: Annotated[
        Literal["error", "zero"], typer.Option(help="What becomes of missing cells.", rich_help_panel="Reading")
    ] = "error",
    cluster: Cluster = None,
    workers: Workers = None,
    shard_mb: ShardMegabytes = 64,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Predict the label of every row, in the order of the rows.

    Columns are found by their names, so their order does not matter, and a column with the labels may be there or
    not. With more than two classes --score and --distance give one column per class.
    """
    from linsep import write

    shape = write.format_of(out, None, write.TABLES)
    if out == "-" and as_json:
        raise typer.BadParameter("--json prints to standard output: write the labels to a file with --out")
    fitted = open_model(model)
    source = open_like(
        fitted, data, target=target, zero_based=zero_based, format=form, delimiter=delimiter, header=header,
        missing=missing, labels=False,
    )  # fmt: skip
    asked = {"label": "predict"}
    asked |= {"score": "decision_function"} if score else {}
    asked |= {"distance": "distance"} if distance else {}
    methods = tuple(asked.values())
    place = Place(cluster, workers, shard_mb)
    if place:
        answers = place.predictions(fitted, source, methods)
    else:
        answers = (tuple(getattr(fitted, method)(X) for method in methods) for X, _ in blocks(fitted, source))
    labels: Counter[Any] = Counter()
    with meter("predicting", quiet=quiet) as watching, write.columns(out, shape) as put, closing(answers):
        for answer in answers:
            columns: dict[str, Array] = {}
            for name, values in zip(asked, answer, strict=True):
                columns |= _by_class(name, values, fitted.classes_)
            labels.update(columns["label"].tolist())
            put(columns)
            watching.rows += len(columns["label"])
            watching.bytes = source.position
            watching.show(source.position, source.size)
    facts = {
        "command": "predict",
        "model": model,
        "data": data,
        "out": out,
        "rows": watching.rows,
        "labels": labels,
        "seconds": watching.seconds,
    }

    def show(console: Any) -> None:
        lines = {str(label): count(number, "row") for label, number in labels.most_common(20)}
        console.print(headline(out, f": {count(watching.rows, 'label')} in {watching.seconds:.2f} s"))
        console.print(facts_table(lines))

    result(facts, as_json=as_json, quiet=quiet or out == "-", show=show)


def _by_class(name: str, values: Array, classes: Array) -> dict[str, Array]:
    """Return one column for two classes, one for each class otherwise."""
    if values.ndim == 1:
        return {name: values}
    return {f"{name}_{label}": values[:, c] for c, label in enumerate(classes.tolist())}


def score(
    model: Model,
    data: Data,
    confidence: Annotated[float, typer.Option(help="Of the interval for the error.", rich_help_panel=_OUTPUT)] = 0.95,
    at_most: Annotated[
        float | None,
        typer.Option(metavar="ERROR", help="Exit with code 1 if the error is larger.", rich_help_panel=_OUTPUT),
    ] = None,
    target: Target = None,
    form: Format = None,
    delimiter: Delimiter = None,
    header: Header = None,
    zero_based: ZeroBased = None,
    missing: Missing = "error",
    cluster: Cluster = None,
    workers: Workers = None,
    shard_mb: ShardMegabytes = 64,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compare predicted with true labels: error, its exact interval, confusion matrix.

    The interval is that of Clopper and Pearson; it holds if the rows were drawn independently of each other and were
    not used in training. The exit code is 1 if --at-most is given and the error is larger, 0 otherwise.
    """
    from linsep.bounds import clopper_pearson

    if not 0 < confidence < 1:
        raise typer.BadParameter(f"--confidence is between 0 and 1, got {confidence:g}")
    fitted = open_model(model)
    source = open_like(
        fitted, data, target=target, zero_based=zero_based, format=form, delimiter=delimiter, header=header,
        missing=missing,
    )  # fmt: skip
    pairs: Counter[tuple[Any, Any]] = Counter()
    place = Place(cluster, workers, shard_mb)
    with meter("scoring", quiet=quiet) as watching:
        if place:
            pairs = place.confusion(fitted, source)
        for X, y in () if place else blocks(fitted, source):
            pairs.update(zip(y.tolist(), fitted.predict(X).tolist(), strict=True))
            watching.rows += X.shape[0]
            watching.bytes = source.position
            watching.show(source.position, source.size)
    known = fitted.classes_.tolist()
    pairs = _as_spelled(pairs, known)
    rows = sum(pairs.values())
    wrong = sum(number for (true, found), number in pairs.items() if true != found)
    low, high = clopper_pearson(wrong, rows, confidence)
    true_labels = known + sorted({true for true, _ in pairs} - set(known), key=str)
    facts = {
        "command": "score",
        "model": model,
        "data": data,
        "rows": rows,
        "errors": wrong,
        "error": wrong / rows,
        "accuracy": 1 - wrong / rows,
        "confidence": confidence,
        "interval": [low, high],
        "labels": known,
        "true_labels": true_labels,
        "confusion": [[pairs[true, found] for found in known] for true in true_labels],
        "seconds": watching.seconds,
    }

    def show(console: Any) -> None:
        lines = {
            "rows": f"{rows:,}",
            "error": f"{wrong / rows:.4%} ({wrong:,} wrong)",
            "interval": f"{low:.4%} to {high:.4%} at confidence {confidence:g}, for rows not used in training",
        }
        console.print(facts_table(lines))
        console.print(_confusion(facts["confusion"], true_labels, known))

    result(facts, as_json=as_json, quiet=quiet, show=show)
    if at_most is not None and wrong / rows > at_most:
        raise typer.Exit(1)


def _as_spelled(pairs: Counter[tuple[Any, Any]], known: list[Any]) -> Counter[tuple[Any, Any]]:
    """Take true labels for those of the model that are spelled alike: one format may write words, another numbers."""
    from linsep.libsvm import label

    def spelled(name: Any) -> Any:
        return label(name) if isinstance(name, str) else name

    alike: dict[Any, list[Any]] = {}
    for name in known:
        alike.setdefault(spelled(name), []).append(name)
    found: Counter[tuple[Any, Any]] = Counter()
    for (true, predicted), number in pairs.items():
        names = alike.get(spelled(true), [])
        found[true if true in known or len(names) != 1 else names[0], predicted] += number
    return found


def _confusion(counts: list[list[int]], true_labels: list[Any], known: list[Any]) -> Any:
    """Return the confusion matrix as a table: a row per true label, a column per predicted one."""
    from rich.table import Table
    from rich.text import Text

    shown = known[:12]
    table = Table(title="rows are true labels, columns predicted ones", title_justify="left", title_style="dim")
    table.add_column("")
    for label in shown:
        table.add_column(Text(str(label)), justify="right")
    for true, row in list(zip(true_labels, counts, strict=True))[:12]:
        cells = [Text(f"{n:,}", style="bold" if true == found else "") for found, n in zip(shown, row, strict=False)]
        table.add_row(Text(str(true)), *cells)
    if len(true_labels) > 12:
        table.caption = f"the first 12 of {len(true_labels)} labels; --json has them all"
    return table
