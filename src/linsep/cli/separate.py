"""``linsep separate``: decides whether a plane separates the classes, and proves it."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import click

from linsep.cli.cluster_options import Picked, Place
from linsep.cli.documents import Document
from linsep.cli.inputs import RowName, check_place, dropped_fact, kinds, kinds_line, named_rows, open_data, row_columns
from linsep.cli.options import DECIDING, Data, Planes, Reading, Screen, Values, command
from linsep.cli.screen import count, facts_table, headline, meter, plain_text, result, while_reading
from linsep.clock import Clock, OutOfTime
from linsep.declared import Parameter
from linsep.wording import largest_between, margin_form, verdict_meaning

_SHOWN = 12  # rows and columns of a table on the screen
_CANCEL_TWO = (
    "With these multipliers, the rows of both classes add up to the same point, which would have to lie on both sides "
    "of the plane."
)
_CANCEL = "With these multipliers, the rows of each class and its rivals cancel, so no weights get all rows right."


@dataclass(frozen=True)
class Deciding:
    """How to decide, and for which numbers."""

    margin: Annotated[bool, Parameter("Also find the largest margin.", panel=DECIDING)] = True
    gap: Annotated[
        float,
        Parameter("Stop at this relative gap between the bounds on the margin.", panel=DECIDING),
    ] = 1e-6
    time_limit: Annotated[
        float | None,
        Parameter("Stop the search after this time.", panel=DECIDING, metavar="SECONDS", min=0),
    ] = None
    values: Values = None


@command("linsep separate data.csv --target species --proof proof.json")
def separate(
    data: Data,
    planes: Planes,
    deciding: Deciding,
    document: Document,
    *,
    screen: Screen,
    reading: Reading,
    place: Place,
) -> None:
    """Decide whether a plane separates the classes, exactly, and prove it.

    The exit code is 0 if the classes are separable, and 1 if they are not or if the search ran out of time.
    """
    from linsep.prove.verdicts.tied_classes import tied_classes

    clock, proof = Clock(deciding.time_limit), document.proof
    check_place(proof, *data)
    source = open_data(data, reading, screen)
    offset = planes.has_offset
    if place:
        found = _decided_there(place, source, offset, deciding, clock, screen)
    else:
        found = _decided(source, offset, deciding, clock, screen)
    X, y, verdict = found.X, found.y, found.verdict
    best, lacks, started = None, "", time.perf_counter()
    if deciding.margin and not place and verdict.kind == "separable":
        best, lacks = _largest_margin(found, offset, deciding, clock)
    margin_seconds = time.perf_counter() - started if best is not None or lacks else 0.0
    if proof is not None and verdict.kind != "unknown":
        about = place.fingerprint(verdict, source) if place else None
        document.write(verdict, X, y, source, about, {"command": "separate"})
    rows = [] if verdict.refutation is None else named_rows(source, verdict.refutation.rows)
    meaning = verdict_meaning(verdict.kind, offset, len(verdict.classes) > 2)
    ties = None if place else tied_classes(verdict, X, y, clock)
    facts = {
        "command": "separate",
        "data": data,
        "rows": X.shape[0] if verdict.classes else None,  # unknown if the time was up before all were read
        **dropped_fact(source),
        "features": X.shape[1],
        "columns": kinds(source),
        "classes": list(verdict.classes),
        "verdict": verdict.kind,
        "meaning": meaning,
        "fit_intercept": offset,
        "values": verdict.values,
        "margin_lower": None if best is None else best.lower,
        "margin_upper": None if best is None else best.upper,
        "support_rows": None if best is None else source.dropped.in_source(best.rows),
        "refutation": _contradiction(verdict, y, rows),
        "ties": None if ties is None else ties.told(),
        "bracket": verdict.bracket if verdict.kind == "unknown" else None,
        "seconds": found.seconds,
        "reading_seconds": found.reading,
        "proof": proof,
    }

    def show(console: Any) -> None:
        console.print(headline(f"{verdict.kind}: {meaning}"))
        console.print(facts_table(_lines(verdict, facts, best, lacks, ties, margin_seconds)))
        if verdict.refutation is not None:
            console.print(_table(verdict, X, y, rows, source.names))
            console.print(_CANCEL_TWO if len(verdict.classes) == 2 else _CANCEL)
            same = "" if not reading.given and offset else ", with the same options"
            command = f"linsep errors {' '.join(data)}{same}"
            console.print(f"How far from separable, and which rows stand in the way: {command}")

    result(facts, screen, show)
    raise click.exceptions.Exit(0 if verdict.kind == "separable" else 1)


class _Found(NamedTuple):
    """A verdict, and the rows that it is about, or only those that its proof names."""

    X: Any
    y: Any
    verdict: Any
    seconds: float
    reading: float | None = None  # seconds; None on a cluster, where workers read while they search


def _decided(source: Any, offset: bool, deciding: Deciding, clock: Clock, screen: Screen) -> _Found:
    """Return the verdict on a source."""
    from linsep.prove.numbers.text import default_values, exact_table
    from linsep.prove.verdicts.separability import decide_arrays, undecided

    values, started = deciding.values or default_values(source), time.perf_counter()
    try:
        with while_reading(source, screen):
            X, y = exact_table(source, values, clock, lazily=True)
    except OutOfTime:
        verdict, nothing = undecided((), source.n_features, offset, values), Picked({}, (0, source.n_features))
        return _Found(nothing, {}, verdict, 0.0, time.perf_counter() - started)
    read = time.perf_counter()
    verdict = decide_arrays(X, y, values, offset, clock, mapped=True)
    return _Found(X, y, verdict, time.perf_counter() - read, read - started)


def _decided_there(place: Place, source: Any, offset: bool, deciding: Deciding, clock: Clock, screen: Screen) -> _Found:
    """Return the same as `_decided`, from a cluster; of the rows only those that the proof names."""
    if deciding.values == "decimal":
        raise ValueError("--values decimal does not work with --cluster: workers read numbers as the nearest doubles")
    with meter("deciding", screen) as watching:
        verdict, rows, cells, y = place.decide(source, offset, clock, watching)
    return _Found(Picked(cells, (rows, verdict.n_features)), y, verdict, watching.seconds)


def _lines(
    verdict: Any, facts: dict[str, Any], best: Any, lacks: str, ties: Any, margin_seconds: float
) -> dict[str, str]:
    """Return what is to be said of a verdict, line by line."""
    rows, features = facts["rows"], facts["features"]
    lines = {"rows": "not all were read in the time given"}
    if rows is not None:
        lines["rows"] = f"{rows:,} of {count(features, 'feature')}, {len(verdict.classes)} classes"
    if facts["columns"]:
        lines["columns"] = kinds_line(facts["columns"])
    if best is not None:
        lines["margin"] = largest_between(best.lower, best.upper, facts["fit_intercept"])
        lines["support"] = f"{count(len(best.rows), 'row')} on the band of that plane"
    elif lacks:
        lines["margin"] = lacks
    if verdict.kind == "unknown":
        lines["margin"] = f"known so far: between {verdict.bracket[0]:.6g} and {verdict.bracket[1]:.6g}"
    lines |= {} if ties is None else ties.words()
    if verdict.refutation is not None:
        lines["refuted by"] = f"{count(len(verdict.refutation.rows), 'row')} that contradict each other"
    reading = facts["reading_seconds"]
    told = "reading, the verdict and its exact proof" if reading is None else "the verdict and its exact proof"
    lines["time"] = "" if reading is None else f"{reading:.2f} s for reading, "
    lines["time"] += f"{facts['seconds']:.2f} s for {told}"
    lines["time"] += f", {margin_seconds:.2f} s for the margin" if "margin" in lines and margin_seconds else ""
    if facts["proof"] is not None and verdict.kind != "unknown":
        lines["proof"] = f"{facts['proof']}; check it with: linsep verify {facts['proof']} {' '.join(facts['data'])}"
    return lines


def _largest_margin(found: _Found, offset: bool, deciding: Deciding, clock: Clock) -> tuple[Any, str]:
    """Return the largest margin in the time that is left, or None and why there is none."""
    from linsep.errors import NotSeparable
    from linsep.prove.bounds.margins import largest_margin
    from linsep.prove.numbers.cells import nearest_doubles

    X, form = nearest_doubles(found.X), margin_form(offset)
    try:
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always", RuntimeWarning)
            best = largest_margin(X, found.y, form=form, gap=deciding.gap, clock=clock)
    except NotSeparable:
        best, notes = None, []
    except OutOfTime:
        return None, "positive; a longer --time-limit may find its value"
    if best is None or not best.lower > 0:
        return None, "positive, but too small to be found in double precision"
    for note in notes:
        warnings.warn(note.message, stacklevel=2)
    return best, ""


def _contradiction(verdict: Any, y: Any, names: list[RowName]) -> list[dict[str, Any]] | None:
    """Return the rows of a refutation with their labels and multipliers."""
    found = verdict.refutation
    if found is None:
        return None
    rows = zip(found.rows.tolist(), found.rivals.tolist(), found.multipliers, names, strict=True)
    return [
        {**name.facts(), "label": y[i], "against": verdict.classes[rival], "multiplier": str(multiplier)}
        for i, rival, multiplier, name in rows
    ]


def _table(verdict: Any, X: Any, y: Any, rows: list[RowName], names: Any) -> Any:
    """Return the rows that contradict each other as a table."""
    import numpy as np
    from rich.table import Table

    found, two = verdict.refutation, len(verdict.classes) == 2
    wide = X.shape[1] > _SHOWN // 2
    table = Table(*row_columns(rows), title="rows that contradict each other", title_justify="left")
    longest = max(len(str(y[i])) for i in found.rows.tolist())
    table.add_column("label", overflow="fold", no_wrap=longest <= 16)
    if not two:
        table.add_column("against")
    table.add_column("multiplier", justify="right", no_wrap=True)
    for j in range(0 if wide else X.shape[1]):
        name = names[j] if names is not None and j < len(names) else f"#{j}"
        table.add_column(plain_text(name), justify="right", overflow="fold")
    order = np.argsort([-multiplier for multiplier in found.multipliers], kind="stable")
    long = max(len(str(multiplier)) for multiplier in found.multipliers) > 12
    whole = sum(found.multipliers) if long else 1  # what is too long to be shown exactly is shown as a share
    for k in order[:_SHOWN].tolist():
        i, multiplier = int(found.rows[k]), found.multipliers[k]
        against = [] if two else [plain_text(verdict.classes[found.rivals[k]])]
        cells: list[Any] = [*rows[k].cells(), plain_text(y[i]), *against]
        cells.append(f"≈ {float(multiplier / whole):.4g}" if long else str(multiplier))
        if not wide:
            row = X[[i]].toarray()[0] if hasattr(X, "toarray") else X[i]
            cells += [f"{float(value):.6g}" for value in row.tolist()]
        table.add_row(*cells)
    if len(order) > _SHOWN:
        more = [""] * (len(rows[0].cells()) - 1)
        table.add_row("…", *more, f"{len(order) - _SHOWN} more", *[""] * (len(table.columns) - 2 - len(more)))
    return table
