"""``linsep separate``: decides whether a plane separates the classes, and proves it."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import click

from linsep.cli.inputs import (
    RowName,
    check_line,
    check_place,
    kinds,
    kinds_line,
    label_facts,
    label_line,
    named_rows,
    open_data,
    rows_table,
    write_proof,
    write_proof_for,
)
from linsep.cli.options import DECIDING, Data, Document, Place, Planes, Reading, Screen, TimeLimit, Values, command
from linsep.cli.screen import count, facts_table, headline, meter, one_column_lines, plain_text, result, while_reading
from linsep.clock import Clock, OutOfTime
from linsep.declared import Parameter
from linsep.wording import largest_between, margin_form, verdict_meaning

_SHOWN = 12  # rows of a table on the screen
_PAIRS_SECONDS = 10.0  # for all pairs of classes, unless there is a time limit
_CANCEL_TWO = (
    "With these multipliers, the rows of both classes add up to the same point, which would have to lie on both sides "
    "of the plane."
)
_CANCEL = "With these multipliers, the rows of each class and its rivals cancel, so no weights get all rows right."


@dataclass(frozen=True)
class Deciding:
    """How to decide, and for which numbers."""

    margin: Annotated[bool, Parameter("Also find the largest margin.", DECIDING)] = True
    pairs: Annotated[
        bool,
        Parameter("Also decide every pair of classes alone, with the fewest errors of a plane between them.", DECIDING),
    ] = False
    gap: Annotated[float, Parameter("Stop at this relative gap between the bounds on the margin.", DECIDING)] = 1e-6
    time_limit: TimeLimit = None
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
    from linsep.prove.class_pairs import tied_classes
    from linsep.prove.verdict.separability import encoded, with_columns

    clock, proof = Clock(deciding.time_limit), document.proof
    check_place(proof, *data)
    source = open_data(data, reading, screen)
    offset = planes.has_offset
    if place:
        decision = _decided_there(place, source, offset, deciding, clock, screen)
    else:
        decision = _decided(source, offset, deciding, clock, screen)
    X, y, verdict = decision.X, decision.y, decision.verdict
    best, no_margin, started = None, "", time.perf_counter()
    if deciding.margin and not place and verdict.kind == "separable":
        best, no_margin = _largest_margin(decision, offset, deciding, clock)
    margin_seconds = time.perf_counter() - started if best is not None or no_margin else 0.0
    if proof is not None and verdict.kind != "unknown":
        if place:
            from linsep.prove.numbers.text import fingerprint_of  # the rows are read here once more

            about = fingerprint_of(source, verdict)
            write_proof(proof, verdict, source, about, {"command": "separate"}, document.note)
        else:
            write_proof_for(proof, verdict, X, y, source, "separate", document.note)
    pairs = None
    if deciding.pairs and not place and verdict.classes:
        from linsep.prove.class_pairs import class_pairs

        pairs = class_pairs(verdict, X, y, _PAIRS_SECONDS if deciding.time_limit is None else max(0.0, clock.left))
    rows = [] if verdict.refutation is None else named_rows(source, verdict.refutation.rows)
    meaning = verdict_meaning(verdict.kind, offset, len(verdict.classes) > 2)
    ties = None if place else tied_classes(verdict, X, y, clock)
    rules = () if place or not verdict.classes else with_columns(verdict, encoded(X, y), source.names, clock).columns
    alone = [rule.sentence(source.options.target) for rule in rules]
    facts = {
        "command": "separate",
        "data": data,
        "rows": X.shape[0] if verdict.classes else None,  # unknown if the time was up before all were read
        "dropped": len(source.dropped),
        "features": X.shape[1],
        "columns": kinds(source),
        **label_facts(source),
        "classes": list(verdict.classes),
        "verdict": verdict.kind,
        "meaning": meaning,
        "fit_intercept": offset,
        "values": verdict.values,
        "margin_lower": None if best is None else best.lower,
        "margin_upper": None if best is None else best.upper,
        "support_rows": None if best is None else source.dropped.in_source(best.rows),
        "refutation": _contradiction(verdict, y, rows),
        "ties": None if ties is None else ties.facts(),
        "alone": alone,
        "pairs": None if pairs is None else [pair._asdict() for pair in pairs],
        "bracket": verdict.bracket if verdict.kind == "unknown" else None,
        "seconds": decision.seconds,
        "reading_seconds": decision.reading,
        "proof": proof,
    }

    def show(console: Any) -> None:
        console.print(headline(f"{verdict.kind}: {meaning}"))
        console.print(facts_table(_lines(verdict, source, X, facts, best, no_margin, ties, margin_seconds)))
        if pairs is not None:
            console.print(_pairs_table(pairs))
        if verdict.refutation is not None:
            console.print(_table(verdict, X, y, rows, source.names))
            console.print(_CANCEL_TWO if len(verdict.classes) == 2 else _CANCEL)
            same = "" if not reading.options and offset else ", with the same options"
            command = f"linsep errors {' '.join(data)}{same}"
            console.print(f"How far from separable, and which rows stand in the way: {command}")

    result(facts, screen, show)
    raise click.exceptions.Exit(0 if verdict.kind == "separable" else 1)


class Picked(dict[int, Any]):
    """Some rows of a matrix, by their numbers; its shape is that of all of it."""

    def __init__(self, rows: dict[int, Any], shape: tuple[int, int]) -> None:
        super().__init__(rows)
        self.shape = shape


class _Decision(NamedTuple):
    """A verdict, and the rows that it is about, or only those that its proof names."""

    X: Any
    y: Any
    verdict: Any
    seconds: float
    reading: float | None = None  # seconds; None on a cluster, where workers read while they search


def _decided(source: Any, offset: bool, deciding: Deciding, clock: Clock, screen: Screen) -> _Decision:
    from linsep.prove.numbers.text import default_values, exact_table
    from linsep.prove.verdict.separability import decide_table, encoded, undecided

    values, started = deciding.values or default_values(source), time.perf_counter()
    try:
        with while_reading(source, screen):
            X, y = exact_table(source, values, clock, lazily=True)
    except OutOfTime:
        verdict, nothing = undecided((), source.n_features, offset, values), Picked({}, (0, source.n_features))
        return _Decision(nothing, {}, verdict, 0.0, time.perf_counter() - started)
    read = time.perf_counter()
    verdict = decide_table(encoded(X, y), values, offset, clock, mapped=True)
    return _Decision(X, y, verdict, time.perf_counter() - read, read - started)


def _decided_there(
    place: Place, source: Any, offset: bool, deciding: Deciding, clock: Clock, screen: Screen
) -> _Decision:
    """Return the same as `_decided`, from a cluster; of the rows only those that the proof names."""
    if deciding.values == "decimal":
        raise ValueError("--values decimal does not work with --cluster: workers read numbers as the nearest doubles")
    with meter("deciding", screen) as watching:

        def watch(number: int, rows: int, left: int) -> None:
            watching.show(None, None, f"round {number + 1}  {count(rows, 'row')} searched, {left:,} not covered")

        with place.client() as client:
            from linsep.cluster.verdicts import decide

            verdict, rows, cells, y = decide(source, client, offset, clock, place.shard_bytes, watch)
    return _Decision(Picked(cells, (rows, verdict.n_features)), y, verdict, watching.seconds)


def _lines(
    verdict: Any,
    source: Any,
    X: Any,
    facts: dict[str, Any],
    best: Any,
    no_margin: str,
    ties: Any,
    margin_seconds: float,
) -> dict[str, str]:
    rows, features = facts["rows"], facts["features"]
    lines = {"rows": "not all were read in the time given"}
    if rows is not None:
        lines["rows"] = f"{rows:,} of {count(features, 'feature')}, {len(verdict.classes)} classes"
    if facts["columns"]:
        lines["columns"] = kinds_line(facts["columns"])
    lines |= label_line(source, len(verdict.classes))
    if best is not None:
        rounded = "" if X.dtype != object else ", for the doubles nearest to these numbers"
        lines["margin"] = largest_between(best.lower, best.upper, facts["fit_intercept"]) + rounded
        lines["support"] = f"{count(len(best.rows), 'row')} on the band of that plane"
    elif no_margin:
        lines["margin"] = no_margin
    if verdict.kind == "unknown":
        lines["margin"] = f"known so far: between {verdict.bracket[0]:.6g} and {verdict.bracket[1]:.6g}"
    lines |= {} if ties is None else ties.words()
    lines |= one_column_lines(facts["alone"])
    if verdict.refutation is not None:
        lines["refuted by"] = f"{count(len(verdict.refutation.rows), 'row')} that contradict each other"
    reading = facts["reading_seconds"]
    done = "reading, the verdict and its exact proof" if reading is None else "the verdict and its exact proof"
    lines["time"] = "" if reading is None else f"{reading:.2f} s for reading, "
    lines["time"] += f"{facts['seconds']:.2f} s for {done}"
    lines["time"] += f", {margin_seconds:.2f} s for the margin" if "margin" in lines and margin_seconds else ""
    if facts["proof"] is not None and verdict.kind != "unknown":
        lines["proof"] = check_line(facts["proof"], *facts["data"])
    return lines


def _largest_margin(decision: _Decision, offset: bool, deciding: Deciding, clock: Clock) -> tuple[Any, str]:
    """Return the largest margin in the time that is left, or None and why there is none."""
    from linsep.errors import NotSeparable
    from linsep.prove.bounds.margins import largest_margin
    from linsep.prove.numbers.cells import nearest_doubles

    X, form = nearest_doubles(decision.X), margin_form(offset)
    try:
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always", RuntimeWarning)
            best = largest_margin(X, decision.y, form=form, gap=deciding.gap, clock=clock)
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
    refutation = verdict.refutation
    if refutation is None:
        return None
    rows = zip(refutation.rows.tolist(), refutation.rivals.tolist(), refutation.multipliers, names, strict=True)
    return [
        {**name.facts(), "label": y[i], "against": verdict.classes[rival], "multiplier": str(multiplier)}
        for i, rival, multiplier, name in rows
    ]


def _pairs_table(pairs: Any) -> Any:
    from rich.table import Table

    from linsep.prove.class_pairs import HEAD

    table = Table(*HEAD, title="pairs of classes, each alone", title_justify="left")
    for pair in pairs:
        table.add_row(*map(plain_text, pair.cells()))
    return table


def _table(verdict: Any, X: Any, y: Any, rows: list[RowName], names: Any) -> Any:
    """Return the rows that contradict each other as a table, those of largest multiplier first."""
    import numpy as np

    refutation, two = verdict.refutation, len(verdict.classes) == 2
    longest = max(len(str(y[i])) for i in refutation.rows.tolist())
    heads: dict[str, dict[str, Any]] = {"label": {"overflow": "fold", "no_wrap": longest <= 16}}
    heads |= {} if two else {"against": {}}
    heads |= {"multiplier": {"justify": "right", "no_wrap": True}}
    order = np.argsort([-multiplier for multiplier in refutation.multipliers], kind="stable").tolist()
    long = max(len(str(multiplier)) for multiplier in refutation.multipliers) > 12
    whole = sum(refutation.multipliers) if long else 1  # what is too long to be shown exactly is shown as a share
    cells, shown = [], order[:_SHOWN]
    for k in shown:
        multiplier = refutation.multipliers[k]
        against = [] if two else [plain_text(verdict.classes[refutation.rivals[k]])]
        share = f"≈ {float(multiplier / whole):.4g}" if long else str(multiplier)
        cells.append([plain_text(y[int(refutation.rows[k])]), *against, share])
    which = refutation.rows[shown].tolist()
    picked = X[which] if not isinstance(X, Picked) else np.array([X[i] for i in which])
    title, shown_rows = "rows that contradict each other", [rows[k] for k in shown]
    return rows_table(title, shown_rows, heads, cells, picked, names, len(order))
