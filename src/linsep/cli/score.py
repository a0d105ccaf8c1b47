"""``linsep score``: measures the error of a model on labeled rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any

import click

from linsep.cli.inputs import blocks, open_like, open_model
from linsep.cli.options import OUTPUT, Data, Model, Place, ReadingAgain, Screen, command
from linsep.cli.screen import facts_table, meter, plain_text, result
from linsep.declared import Parameter


@dataclass(frozen=True)
class Judging:
    """How sure the interval is to be, and which error is too large."""

    confidence: Annotated[float, Parameter("Confidence level of the interval for the error.", OUTPUT)] = 0.95
    at_most: Annotated[float | None, Parameter("Exit with code 1 if the error is larger.", OUTPUT, "ERROR")] = None


@command("linsep score species.linsep test.csv --at-most 0.05")
def score(model: Model, data: Data, judging: Judging, *, screen: Screen, reading: ReadingAgain, place: Place) -> None:
    """Compare predicted with true labels: the error, a confidence interval for it, the confusion matrix.

    linsep reads DATA as it read the training data. The interval is Clopper and Pearson's, which is exact; it is valid
    for independent rows that were not used in training, so there is none for files that the model learned from. The
    exit code is 1 if the error is larger than --at-most, otherwise 0.
    """
    from linsep.prove.bounds.intervals import clopper_pearson

    confidence = judging.confidence
    if not 0 < confidence < 1:
        raise click.BadParameter(f"--confidence must be between 0 and 1, got {confidence:g}")
    fitted = open_model(model)
    source = open_like(fitted, data, reading)
    pairs: Counter[tuple[Any, Any]] = Counter()
    with meter("scoring", screen) as watching:
        if place:
            with place.client() as client:
                from linsep.cluster.predicting import confusion

                pairs = confusion(fitted, source, client, shard_bytes=place.shard_bytes)
        for X, y in () if place else blocks(fitted, source):
            pairs.update(zip(y.tolist(), fitted.predict(X).tolist(), strict=True))
            watching.rows += X.shape[0]
            watching.bytes = source.position
            watching.show(source.position, source.size)
    known = fitted.classes_.tolist()
    pairs = _as_spelled(pairs, known)
    rows = sum(pairs.values())
    wrong = sum(number for (true, predicted), number in pairs.items() if true != predicted)
    learned = set(getattr(fitted, "reading_", {}).get("fingerprints", ()))
    seen = [file.name for file in source.files if learned and file.path is not None and file.fingerprint() in learned]
    low, high = clopper_pearson(wrong, rows, confidence)
    true_labels = known + sorted({true for true, _ in pairs} - set(known), key=str)
    facts = {
        "command": "score",
        "model": model,
        "data": data,
        "rows": rows,
        "dropped": len(source.dropped),
        "errors": wrong,
        "error": wrong / rows,
        "accuracy": 1 - wrong / rows,
        "confidence": confidence,
        "interval": None if seen else [low, high],
        "training_files": seen,
        "labels": known,
        "true_labels": true_labels,
        "confusion": [[pairs[true, predicted] for predicted in known] for true in true_labels],
        "seconds": watching.seconds,
    }

    def show(console: Any) -> None:
        lines = {
            "rows": f"{rows:,}",
            "error": f"{wrong / rows:.4%} ({wrong:,} wrong)",
            "interval": f"{low:.4%} to {high:.4%} at confidence {confidence:g}, for rows not used in training",
        }
        if seen:
            lines["interval"] = f"none: the model learned from {', '.join(seen)}; score rows that it has not seen"
        console.print(facts_table(lines))
        console.print(_confusion(facts["confusion"], true_labels, known))

    result(facts, screen, show)
    if judging.at_most is not None and wrong / rows > judging.at_most:
        raise click.exceptions.Exit(1)


def _as_spelled(pairs: Counter[tuple[Any, Any]], known: list[Any]) -> Counter[tuple[Any, Any]]:
    """Take true labels for those of the model that are spelled alike: one format may write words, another numbers."""
    from linsep.prove.check.linsep_check import label_text

    def spelled(name: Any) -> Any:
        return label_text(name) if isinstance(name, str | bool | int | float) else name

    alike: dict[Any, list[Any]] = {}
    for name in known:
        alike.setdefault(spelled(name), []).append(name)
    respelled: Counter[tuple[Any, Any]] = Counter()
    for (true, predicted), number in pairs.items():
        names = alike.get(spelled(true), [])
        respelled[true if true in known or len(names) != 1 else names[0], predicted] += number
    return respelled


def _confusion(counts: list[list[int]], true_labels: list[Any], known: list[Any]) -> Any:
    """Return the confusion matrix as a table: a row per true label, a column per predicted one."""
    from rich.table import Table

    shown = known[:12]
    table = Table(title="rows are true labels, columns predicted ones", title_justify="left", title_style="dim")
    table.add_column("")
    for label in shown:
        table.add_column(plain_text(str(label)), justify="right", overflow="fold")
    for true, row in list(zip(true_labels, counts, strict=True))[:12]:
        cells = [
            plain_text(f"{n:,}", style="bold" if true == predicted else "")
            for predicted, n in zip(shown, row, strict=False)
        ]
        table.add_row(plain_text(str(true)), *cells)
    if len(true_labels) > 12:
        table.caption = f"the first 12 of {len(true_labels)} labels; --json has them all"
    return table
