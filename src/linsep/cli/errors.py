"""``linsep errors``: finds the fewest errors of any plane, and the rows in the way."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import click

from linsep.cli.inputs import (
    RowName,
    check_line,
    check_place,
    label_facts,
    label_line,
    named_rows,
    open_data,
    rows_table,
    write_proof_for,
)
from linsep.cli.options import DECIDING, OUTPUT, Data, Document, Planes, Reading, Screen, Values, command
from linsep.cli.screen import count, facts_table, headline, meter, one_column_lines, plain_text, result, while_reading
from linsep.declared import Parameter
from linsep.errors import DataError

_SHOWN = 20  # rows of the table on the screen
_ROUNDED = "the numbers have more digits than 64 bits hold: linsep counts the errors for the nearest doubles"


@dataclass(frozen=True)
class Effort:
    """When to stop the search, and for which numbers it is."""

    time_limit: Annotated[
        float,
        Parameter(
            "Stop this long after the start, reading included, and print the bounds known by then.",
            DECIDING,
            "SECONDS",
            min=0,
        ),
    ] = 10.0
    max_nodes: Annotated[int | None, Parameter("Largest number of nodes in the search tree.", DECIDING, "N", min=1)] = (
        None
    )
    values: Values = None


@dataclass(frozen=True)
class Files:
    """Files to write: the data mended in one way or the other; and how long a proof may be."""

    out: Annotated[
        str | None, Parameter("Write the data without the rows that the plane gets wrong.", OUTPUT, "OUT", short="-o")
    ] = None
    relabel: Annotated[
        str | None, Parameter("Write the data with those rows relabeled as the plane predicts.", OUTPUT, "OUT")
    ] = None
    max_proof_mb: Annotated[
        float | None,
        Parameter(
            "Largest size of the proof file; if the proof would be larger, linsep proves a weaker bound.",
            OUTPUT,
            "MB",
            min=0,
        ),
    ] = None


@command("linsep errors data.csv --target species --time-limit 10 --out clean.csv")
def errors(
    data: Data, planes: Planes, effort: Effort, files: Files, *, document: Document, screen: Screen, reading: Reading
) -> None:
    """Find the plane with the fewest errors, with proved bounds on how few are possible.

    The exit code is 0 if the number of errors is proved to be the smallest possible, even if it is 0, and 1 if the
    bounds still differ when the time is up. Ctrl-C ends the search early and prints the bounds known by then.
    """
    from linsep.data.writing import rewrite
    from linsep.prove.fewest.results import fewest_errors
    from linsep.prove.numbers.cells import nearest_doubles
    from linsep.prove.numbers.exact_numbers import BINARY
    from linsep.prove.numbers.text import default_values, exact_table
    from linsep.prove.verdict.one_column import class_numbers, telling_columns

    for path in (files.out, files.relabel, document.proof):
        check_place(path, *data)
    started = time.perf_counter()  # reading counts, too
    source = open_data(data, reading, screen)
    meant = effort.values or default_values(source)
    with while_reading(source, screen):
        X, y = exact_table(source, meant, lazily=True)
    with meter("searching", screen) as watching:

        def progress(lower: int, upper: int) -> None:
            watching.show(watching.seconds, effort.time_limit, f"between {lower:,} and {upper:,} errors")

        search = partial(
            fewest_errors,
            y=y,
            fit_intercept=planes.has_offset,
            max_nodes=effort.max_nodes,
            max_proof_mb=files.max_proof_mb,
            progress=progress,
        )

        def left() -> float:
            return max(0.0, effort.time_limit - (time.perf_counter() - started))

        try:
            fewest = search(X, values=meant, time_limit=left())
        except DataError as error:
            if effort.values is not None or "values" not in {each.name for each in error.settings}:
                raise
            warnings.warn(_ROUNDED, stacklevel=2)
            X = nearest_doubles(X)
            fewest = search(X, values=BINARY, time_limit=left())
    seconds = time.perf_counter() - started
    labels = _other_labels(fewest, X)
    wrong = source.dropped.in_source(fewest.rows).tolist()
    if document.proof is not None:
        write_proof_for(document.proof, fewest, X, y, source, "errors", document.note)
    if files.out is not None:
        rewrite(files.out, source, dict.fromkeys(wrong), X, y)
    if files.relabel is not None:
        first = {label: int(source.dropped.in_source((y == label).argmax())) for label in set(labels)}
        rewrite(files.relabel, source, {row: first[label] for row, label in zip(wrong, labels, strict=True)}, X, y)
    written = {"out": files.out, "relabel": files.relabel, "proof": document.proof}
    names = named_rows(source, fewest.rows if screen.json else fewest.rows[:_SHOWN])
    facts = {"command": "errors", "data": data, **_facts(fewest, X, y, labels, names, source), "seconds": seconds}
    rules = telling_columns(X, class_numbers(y, fewest.classes), fewest.classes, source.names)
    facts |= written | {"alone": [rule.sentence(source.options.target) for rule in rules]}

    def show(console: Any) -> None:
        console.print(headline(_sentence(fewest, len(y))))
        console.print(facts_table(_lines(fewest, facts, X, source)))
        if len(fewest.rows):
            console.print(_table(fewest, X, y, labels, names, source.names))

    result(facts, screen, show)
    raise click.exceptions.Exit(0 if fewest.proved else 1)


def _sentence(fewest: Any, n: int) -> str:
    if fewest.upper == 0:
        return f"a plane has all of {count(n, 'row')} right: proved"
    if fewest.proved:
        return f"the best plane has {fewest.upper:,} of {count(n, 'row')} wrong: proved"
    bounds = f"at least {fewest.lower:,} and at most {fewest.upper:,}"
    return f"the best plane has {bounds} of {count(n, 'row')} wrong: both bounds are proved"


def _facts(fewest: Any, X: Any, y: Any, labels: list[Any], names: list[RowName], source: Any) -> dict[str, Any]:
    """Return everything known, for ``--json``."""
    rows = zip(fewest.rows.tolist(), fewest.depths.tolist(), labels, names, strict=False)  # those that have names
    return {
        "rows": X.shape[0],
        "dropped": len(source.dropped),
        "features": X.shape[1],
        **label_facts(source),
        "classes": list(fewest.classes),
        "fit_intercept": fewest.fit_intercept,
        "values": fewest.values,
        "lower": fewest.lower,
        "upper": fewest.upper,
        "proved": fewest.proved,
        "note": fewest.note or None,
        "wrong": [{**name.facts(), "label": y[i], "other": other, "depth": depth} for i, depth, other, name in rows],
        "w": [[float(v) for v in row] for row in (fewest.w.tolist() if fewest.w.ndim == 2 else [fewest.w.tolist()])],
        "b": [float(v) for v in (fewest.b.tolist() if fewest.w.ndim == 2 else [fewest.b])],
    }


def _lines(fewest: Any, facts: dict[str, Any], X: Any, source: Any) -> dict[str, str]:
    lines = {"rows": f"{X.shape[0]:,} of {count(X.shape[1], 'feature')}, {len(fewest.classes)} classes"}
    lines |= label_line(source, len(fewest.classes))
    lines["time"] = f"{facts['seconds']:.2f} s for both bounds and their exact proof"
    lines |= one_column_lines(facts["alone"])
    if fewest.note:
        lines["note"] = fewest.note
    if not fewest.proved:
        lines["more"] = "a longer --time-limit may close the bracket"
    for name in ("out", "relabel"):
        if facts[name] is not None:
            kept = f"; the {count(len(source.dropped), 'dropped row')} stay in it" if len(source.dropped) else ""
            lines[name] = f"{facts[name]}{kept}"
    if facts["proof"] is not None:
        lines["proof"] = check_line(facts["proof"], *facts["data"])
    return lines


def _other_labels(fewest: Any, X: Any) -> list[Any]:
    """Return the label that the plane gives each wrong row; of two classes the other one, also on the plane."""
    import numpy as np

    if len(fewest.rows) == 0:
        return []
    W, b = fewest.plane.per_class()
    part = getattr(X, "near", X)[fewest.rows]  # long decimals need not be read again
    part = part if hasattr(part, "toarray") else np.asarray(part)
    scores = np.asarray(part.astype(float) @ W.astype(float).T) + b.astype(float)
    return [fewest.classes[c] for c in scores.argmax(axis=1).tolist()]


def _table(fewest: Any, X: Any, y: Any, labels: list[Any], rows: list[RowName], names: Any) -> Any:
    fold: dict[str, Any] = {"overflow": "fold"}
    heads = {"label": fold, "plane says": fold, "depth": {"justify": "right", "no_wrap": True}}
    which = fewest.rows[:_SHOWN]
    cells = [[plain_text(y[i]), plain_text(labels[k]), f"{fewest.depths[k]:.4g}"] for k, i in enumerate(which.tolist())]
    title = "rows that stand in the way, the deepest on the wrong side first"
    return rows_table(title, rows, heads, cells, X[which], names, len(fewest.rows))
