"""``linsep predict`` and ``linsep score``: a model meets other files."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linsep.cli.cluster_options import Place
from linsep.cli.inputs import blocks, check_place, open_like, open_model
from linsep.cli.options import OUTPUT, Data, Model, ReadingAgain, Screen, flag, grouped
from linsep.cli.screen import count, facts_table, headline, meter, result

if TYPE_CHECKING:
    from linsep.problem import Array


@grouped
def predict(
    model: Model,
    data: Data,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="OUT",
            help="CSV, TSV, Parquet or Arrow; - is standard output (CSV).",
            rich_help_panel=OUTPUT,
        ),
    ] = "-",
    score: Annotated[bool, flag("--score", "Add the score w·x + b.", OUTPUT)] = False,
    distance: Annotated[bool, flag("--distance", "Add the signed distance to the plane.", OUTPUT)] = False,
    *,
    screen: Screen,
    reading: ReadingAgain,
    place: Place,
) -> None:
    """Predict the label of every row, in the order of the rows.

    DATA are read as those that the model learnt from. Columns are found by their names, so their order does not matter,
    and a column with the labels may be there or not. With more than two classes --score and --distance give one column
    per class.
    """
    from linsep.data import writing

    shape = writing.format_of(out, None, writing.TABLES)
    if reading.missing == "drop":
        raise typer.BadParameter("--missing drop would leave rows without a label: --missing zero keeps them")
    if out == "-" and screen.json:
        raise typer.BadParameter("--json prints to standard output: write the labels to a file with --out")
    check_place(out)
    fitted = open_model(model)
    if distance and not hasattr(fitted, "distance"):
        raise ValueError(f"--distance is the one to a plane, which a {type(fitted).__name__} has not")
    source = open_like(fitted, data, reading, labels=False)
    asked = {"label": "predict"}
    asked |= {"score": "decision_function"} if score else {}
    asked |= {"distance": "distance"} if distance else {}
    methods = tuple(asked.values())
    if place:
        answers = place.predictions(fitted, source, methods)
    else:
        answers = (tuple(getattr(fitted, method)(X) for method in methods) for X, _ in blocks(fitted, source))
    labels: Counter[Any] = Counter()
    with meter("predicting", screen) as watching, writing.columns(out, shape) as put, closing(answers):
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

    result(facts, replace(screen, quiet=screen.quiet or out == "-"), show)


def _by_class(name: str, values: Array, classes: Array) -> dict[str, Array]:
    """Return one column for two classes, one for each class otherwise."""
    if values.ndim == 1:
        return {name: values}
    return {f"{name}_{label}": values[:, c] for c, label in enumerate(classes.tolist())}


@grouped
def score(
    model: Model,
    data: Data,
    confidence: Annotated[float, typer.Option(help="Of the interval for the error.", rich_help_panel=OUTPUT)] = 0.95,
    at_most: Annotated[
        float | None,
        typer.Option(metavar="ERROR", help="Exit with code 1 if the error is larger.", rich_help_panel=OUTPUT),
    ] = None,
    *,
    screen: Screen,
    reading: ReadingAgain,
    place: Place,
) -> None:
    """Compare predicted with true labels: error, its exact interval, confusion matrix.

    DATA are read as those that the model learnt from. The interval is that of Clopper and Pearson; it holds if the rows
    were drawn independently of each other and were not used in training. The exit code is 1 if --at-most is given and
    the error is larger, 0 otherwise.
    """
    from linsep.prove.error_bounds import clopper_pearson

    if not 0 < confidence < 1:
        raise typer.BadParameter(f"--confidence must be between 0 and 1, got {confidence:g}")
    fitted = open_model(model)
    source = open_like(fitted, data, reading)
    pairs: Counter[tuple[Any, Any]] = Counter()
    with meter("scoring", screen) as watching:
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

    result(facts, screen, show)
    if at_most is not None and wrong / rows > at_most:
        raise typer.Exit(1)


def _as_spelled(pairs: Counter[tuple[Any, Any]], known: list[Any]) -> Counter[tuple[Any, Any]]:
    """Take true labels for those of the model that are spelled alike: one format may write words, another numbers."""
    from linsep.data.text_parsers import label

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
        table.add_column(Text(str(label)), justify="right", overflow="fold")
    for true, row in list(zip(true_labels, counts, strict=True))[:12]:
        cells = [Text(f"{n:,}", style="bold" if true == found else "") for found, n in zip(shown, row, strict=False)]
        table.add_row(Text(str(true)), *cells)
    if len(true_labels) > 12:
        table.caption = f"the first 12 of {len(true_labels)} labels; --json has them all"
    return table
