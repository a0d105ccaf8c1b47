"""``linsep predict``: predicts the label of every row."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import click

from linsep.cli.inputs import check_place, open_like, open_model
from linsep.cli.options import OUTPUT, Data, Model, Place, ReadingAgain, Screen, command
from linsep.cli.screen import count, facts_table, headline, meter, result
from linsep.data.row_numbers import Dropped
from linsep.declared import Parameter
from linsep.errors import ReadError

if TYPE_CHECKING:
    from linsep.data.source import Source
    from linsep.problem import Array


@dataclass(frozen=True)
class PredictionTable:
    """The table to write: where, and what stands in it beside the label."""

    out: Annotated[
        str,
        Parameter("File to write: CSV, TSV, Parquet or Arrow; - is standard output (CSV).", OUTPUT, "OUT", short="-o"),
    ] = "-"
    score: Annotated[bool, Parameter("Add the score w·x + b.", OUTPUT)] = False
    distance: Annotated[bool, Parameter("Add the signed distance to the plane.", OUTPUT)] = False
    keep_column: Annotated[
        list[str] | None, Parameter("Copy this column of DATA, such as an ID; may be repeated.", OUTPUT, "COLUMN")
    ] = None

    def methods(self) -> dict[str, str]:
        """Return the columns, and the method of the model that each comes from."""
        asked = {"label": "predict"}
        asked |= {"score": "decision_function"} if self.score else {}
        return asked | ({"distance": "distance"} if self.distance else {})


@command("linsep predict species.linsep new.csv --score --out labels.csv")
def predict(
    model: Model, data: Data, table: PredictionTable, *, screen: Screen, reading: ReadingAgain, place: Place
) -> None:
    """Predict the label of every row, in the order of the rows.

    linsep reads DATA as it read the training data. It finds columns by name, so their order does not matter; a label
    column is optional. A row that lacks a number gets an empty label, unless the model learned to take such rows. With
    more than two classes, --score and --distance write one column per class.
    """
    from linsep.data import writing

    out, asked = table.out, table.methods()
    check_place(out, model, *data)
    shape = writing.format_of(out, None, writing.TABLES)
    if reading.options.get("missing") == "drop":
        raise click.BadParameter("--missing drop would leave rows without a label: --missing zero keeps them")
    if out == "-" and screen.json:
        raise click.BadParameter("--json prints to standard output: write the labels to a file with --out")
    fitted = open_model(model)
    if table.distance and not hasattr(fitted, "distance"):
        raise ValueError(f"--distance needs a linear model; {type(fitted).__name__} has no plane")
    source = open_like(fitted, data, reading, labels=False)
    methods = tuple(asked.values())
    answers = _predictions(fitted, source, methods, place)
    copied = table.keep_column or []
    cells = source.cells_of(copied) if copied else iter(())
    for name in copied:
        if name in asked:
            raise click.BadParameter(f"--keep-column {name}: the table has a column {name!r} of predictions already")
    labels: Counter[Any] = Counter()
    with meter("predicting", screen) as watching, writing.columns(out, shape) as put, closing(answers):
        for answer in answers:
            columns = _copied(copied, cells, len(answer[0]))
            for name, values in zip(asked, answer, strict=True):
                columns |= _by_class(name, values, fitted.classes_)
            labels.update(label for label in columns["label"].tolist() if label is not None)
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
        "unanswered": len(source.dropped),
        "seconds": watching.seconds,
    }

    def show(console: Any) -> None:
        lines = {str(label): count(number, "row") for label, number in labels.most_common(20)}
        lines |= {"no answer": count(len(source.dropped), "row")} if len(source.dropped) else {}
        console.print(headline(out, f": {count(watching.rows, 'label')} in {watching.seconds:.2f} s"))
        console.print(facts_table(lines))

    result(facts, replace(screen, quiet=screen.quiet or out == "-"), show)


def _predictions(
    fitted: Any, source: Source, methods: tuple[str, ...], place: Place
) -> Generator[tuple[Array, ...], None, None]:
    """Yield the results of the methods for the rows in their order, a block at a time."""
    from linsep.data.parallel import ahead
    from linsep.models.from_files import answers, unanswered

    if not place:
        dropped = []
        for results, left in answers(fitted, source, ahead(source.pieces(), owner=source), methods):
            dropped.append(left)
            yield results
        source.dropped = replace(Dropped.joined(dropped), cells=source.missing_cells())
        if source.dropped.rows == 0:
            raise ReadError(source.files[0].name, "no rows")
        if len(source.dropped):
            warnings.warn(unanswered(source, source.dropped), stacklevel=2)
        return
    with place.client() as client:
        from linsep import cluster

        yield from cluster.predict(fitted, source, client, methods=methods, shard_bytes=place.shard_bytes)


def _copied(names: list[str], cells: Iterator[list[Any]], rows: int) -> dict[str, Array]:
    """Return the next cells of the columns that are copied."""
    from linsep.data.labels import object_array

    copied = [[None if cell is None else str(cell) for cell in row] for row in (islice(cells, rows) if names else ())]
    return {name: object_array([row[j] for row in copied]) for j, name in enumerate(names)}


def _by_class(name: str, values: Array, classes: Array) -> dict[str, Array]:
    if values.ndim == 1:
        return {name: values}
    return {f"{name}_{label}": values[:, c] for c, label in enumerate(classes.tolist())}
