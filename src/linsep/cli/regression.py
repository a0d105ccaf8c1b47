"""``linsep regression``: decides which coefficients of a regression model are infinite."""

from __future__ import annotations

import csv
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, Any, Literal

import click

from linsep.cli.inputs import check_line, check_place
from linsep.cli.options import (
    DECIDING,
    OUTPUT,
    TEXT,
    Argument,
    Proof,
    ReadingAgain,
    Screen,
    TimeLimit,
    Values,
    as_option,
    command,
    reading_options,
)
from linsep.cli.screen import count, facts_table, headline, result
from linsep.clock import Clock
from linsep.data.options import FORMATS, format_option
from linsep.declared import Parameter
from linsep.errors import DataNote
from linsep.wording import digits, shown_number

_SHOWN = 40  # coefficients and rows on the screen


def _column(text: str) -> Parameter:
    return Parameter(text, DECIDING, "COLUMN")


@dataclass(frozen=True)
class ModelOptions:
    """What the model is."""

    formula: Annotated[str | None, Parameter('Model formula, such as "HG ~ NV + PI + C(EH)".', DECIDING, "FORMULA")] = (
        None
    )
    target: Annotated[
        str | None, _column("Response column; the model uses all other columns, with dummy columns for words.")
    ] = None
    family: Annotated[
        str,
        Parameter(
            "Model family: binomial, poisson, negative-binomial, multinomial, ordinal, conditional or cox.",
            DECIDING,
            "FAMILY",
        ),
    ] = "binomial"
    fit_intercept: Annotated[bool, Parameter("Whether the model has an intercept.", DECIDING)] = True
    order: Annotated[
        str | None,
        Parameter(
            "Labels of an ordinal model from the lowest to the highest, such as low,mid,high; of a multinomial "
            "model the first is the reference. [default: of numbers or ordered categories, their own]",
            DECIDING,
            "LABELS",
        ),
    ] = None
    absorb: Annotated[
        list[str] | None,
        _column("Factor included in the model, with a coefficient for every level, but not listed; may be repeated."),
    ] = None
    strata: Annotated[str | None, _column("Column with the groups of a conditional or cox model.")] = None
    weights: Annotated[str | None, _column("Column with row weights; rows of weight 0 do not count.")] = None
    event: Annotated[
        str | None,
        _column("With cox: column that is 1 or true for an event, 0 or false if censored; the response is the time."),
    ] = None
    failures: Annotated[
        str | None,
        _column("With binomial: column with the number of failures; the response is the number of successes."),
    ] = None
    values: Values = None
    alias: Annotated[
        Literal["drop", "keep"], Parameter("Drop or keep columns that depend linearly on earlier ones.", DECIDING)
    ] = "drop"
    time_limit: TimeLimit = None


_TABLE = ("delimiter", "header", "missing", *TEXT, "ignore", "categorical", "numeric", "text", "dates", "keep_index")


class TableOptions(ReadingAgain):
    """How to read the table: fewer formats have names of columns."""

    parameters_declared = (
        reading_options("format")[0]._replace(
            about=format_option(*(n for n, form in FORMATS.items() if form.is_table))
        ),
        *reading_options(*_TABLE),
    )

    @property
    def missing(self) -> str:
        """What to do about missing cells."""
        return str(self.options.get("missing", "error"))


@command('linsep regression data.csv --formula "HG ~ NV + PI + EH"')
def regression(
    data: Annotated[str, Argument("CSV, TSV, JSON Lines, Parquet or Arrow; - is standard input.")],
    model: ModelOptions,
    rows: Annotated[bool, Parameter("List the separated rows, counted from 0.", OUTPUT)] = False,
    proof: Proof = None,
    *,
    table: TableOptions,
    screen: Screen,
) -> None:
    """Find which coefficients of a regression model are infinite and which rows cause it, and prove it.

    The exit code is 0 if the maximum likelihood estimate exists, 1 if it does not, and 2 for bad input or if the search
    ran out of time.
    """
    from linsep.clock import limited
    from linsep.prove.check.linsep_check import SEPARATED
    from linsep.prove.regression.separations import decide
    from linsep.prove.regression.words import sentences

    check_place(proof)
    check_place(_design_place(proof), data)
    started = time.perf_counter()
    with limited(model.time_limit) as clock, ExitStack() as stack:
        asked = RegressionInput.of(data, model, table, clock)
        clock.check()
        stack.enter_context(lines_named(asked.table))
        separation = decide(asked.model, clock)
        seconds = time.perf_counter() - started
        design = None if proof is None else _write(proof, separation, asked, model)
        texts = sentences(separation, asked.response)
        coefficients = separation.coefficients if screen.json else []  # evidence, which takes long if there are many
    dropped = asked.table.dropped
    separated = dropped.in_source(separation.separated)
    facts = {
        "command": "regression",
        "data": data,
        "family": separation.family,
        "rows": len(separation.separated) + len(separation.rest),
        "dropped": len(dropped),
        "columns": len(separation.names),
        "rank": separation.rank,
        "kind": separation.kind,
        "dimension": separation.dimension,
        "coefficients": [
            {"name": each.name, "status": each.status, "direction": digits(value), "rows": dropped.in_source(each.rows)}
            for each, value in zip(coefficients, separation.direction, strict=False)
        ],
        "separated": separated,
        "separated_lines": asked.table.lines(separated),
        "sentences": texts,
        "notes": separation.notes,
        "seconds": seconds,
        "proof": proof,
        "design": design,
    }

    def show(console: Any) -> None:
        console.print(headline(SEPARATED[separation.kind]))
        console.print(_statuses(separation))
        console.print(facts_table(_lines(separation, facts, rows)))
        for sentence in texts:
            console.print(f"{sentence}.", markup=False)

    result(facts, screen, show)
    raise click.exceptions.Exit(0 if separation.kind == "overlap" else 1)


@dataclass(frozen=True)
class RegressionInput:
    """A model that a file and options give, with the table that it is about."""

    model: Any
    table: Any  # the rows and columns that are used
    parts: list[str]  # columns of the response, of strata and of weights; none if it is computed
    response: str
    missing: str

    @classmethod
    def of(cls, data: str, model: ModelOptions, table: TableOptions, clock: Clock | None = None) -> RegressionInput:
        """Read a file as options say."""
        if (model.formula is None) == (model.target is None):
            raise ValueError("give either --formula or --target; --target y models column y by all others")
        if model.event is not None and model.family != "cox":
            raise ValueError("--event needs --family cox")
        if model.failures is not None and model.family != "binomial":
            raise ValueError("--failures needs --family binomial")
        from linsep.prove.regression.table import open_columns

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataNote)  # they become notes of the result
            source = open_columns(data, **table.options)
            build = _by_target if model.formula is None else _by_formula
            return build(source, model, table, clock)

    def reading(self, separation: Any) -> dict[str, Any] | None:
        """Return how others can make the rows of a proof from the file; None if a formula computes more."""
        from linsep.prove.regression.documents import reading_of

        return reading_of(separation.given, self.table, self.parts, self.missing)


def _named(source: Any, *wanted: str | None) -> list[str]:
    """Return the names of columns that are asked for by name or number, or an error with near names."""
    from linsep.data.schema import find

    return [source.column_names[find(each, source.column_names)] for each in wanted if each is not None]


def _modeled(X: Any, y: Any, options: dict[str, Any], model: ModelOptions, table: Any) -> Any:
    """Return the model of a design, or a formula, and a response; its notes are also those of the reading."""
    from linsep.prove.numbers.text import default_values
    from linsep.prove.regression.inputs import gather

    common = {
        "family": model.family,
        "values": model.values or default_values(table.source),
        "alias": model.alias,
        "fit_intercept": model.fit_intercept,
        "order": None,
    }
    if model.order is not None:  # labels with commas between them; quotes are those of CSV
        common["order"] = [each.strip() for each in next(csv.reader([model.order], skipinitialspace=True), [])]
    with lines_named(table):
        given = gather(X, y, {**options, **common})
    notes = [note.words(as_option) for note in table.source.notes]
    if len(table.dropped):
        notes.append(f"linsep drops {table.dropped.words()} (--missing drop)")
    return replace(given, notes=(*given.notes, *notes))


def _by_formula(probe: Any, model: ModelOptions, table: TableOptions, clock: Clock | None) -> RegressionInput:
    from linsep.data.schema import BOOLEAN
    from linsep.prove.regression.inputs import formula_table, response_columns

    assert model.formula is not None
    if table.missing == "indicator":
        raise ValueError("--missing indicator adds columns that no formula names: use --missing zero or --missing drop")
    strata, weights = _named(probe, model.strata), _named(probe, model.weights)
    absorb = _named(probe, *model.absorb or ())
    frame = formula_table(probe, model.formula, [*strata, *weights, *absorb], table.missing, clock)
    options = {
        "strata": strata[0] if strata else None,
        "weights": weights[0] if weights else None,
        "absorb": absorb or None,
    }
    left = model.formula.partition("~")[0].strip()
    response = response_columns(left)
    plain = all(each in frame.columns for each in response)
    if left.startswith("Surv") and plain and frame.kinds[response[1]] == BOOLEAN:
        plain = False  # a proof has them as 1 and 0
    parts = [*response, *strata, *weights] if plain else []
    return RegressionInput(_modeled(model.formula, frame, options, model, frame), frame, parts, left, table.missing)


def _by_target(probe: Any, model: ModelOptions, table: TableOptions, clock: Clock | None) -> RegressionInput:
    import numpy as np

    from linsep.data.schema import BOOLEAN
    from linsep.prove.regression.table import read_table

    (target,) = _named(probe, model.target)
    second = _named(probe, model.event, model.failures)
    strata, weights = _named(probe, model.strata), _named(probe, model.weights)
    absorb = _named(probe, *model.absorb or ())
    others = [target, *second, *strata, *weights, *absorb]
    ignored = (*_named(probe, *table.options.get("ignore", ())), *others[1:])
    source = probe.with_options(layout=None, labels=True, target=target, ignore=ignored)
    beside = probe.with_options(
        layout=None, keep_index=True, ignore=tuple(name for name in probe.column_names if name not in others)
    )
    features = dict(source.layout.columns)
    event = _named(probe, model.event)  # numbers, or true and false
    frame = read_table(source, features | dict(beside.layout.columns), frozenset(others) - {*event}, clock)
    frame = frame.complete(others, table.missing)
    options = {
        "strata": frame[strata[0]] if strata else None,
        "weights": frame[weights[0]] if weights else None,
        "absorb": [(each, frame[each]) for each in absorb] or None,
        "categories": None if second else frame.categories.get(target),
        "response": [target, *second],
    }
    X = frame.only(list(features)) if features else np.zeros((len(frame), 0))
    y = frame[target] if not second else np.column_stack([frame[target], frame[second[0]]])
    modeled = _modeled(X, y, options, model, frame)
    parts = [] if any(frame.kinds[each] == BOOLEAN for each in event) else [target, *second, *strata, *weights]
    return RegressionInput(modeled, frame, parts, target, table.missing)


@contextmanager
def lines_named(table: Any) -> Iterator[None]:
    """Name the file and the line where an error names a row of a table."""
    from linsep.errors import DataError

    try:
        yield
    except DataError as error:
        match = re.fullmatch(r"row (\d+)(.*)", error.where)
        if match is None:
            raise
        raise DataError(f"{table.where(int(match[1]))}{match[2]}", error.what, *error.settings) from None


def _statuses(separation: Any) -> Any:
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("coefficient", "status"):
        shown.add_column(name)
    shown.add_column("direction", justify="right")
    entries = zip(separation.names, separation.statuses, separation.direction, strict=True)
    for name, status, value in islice(entries, min(_SHOWN, separation.listed)):
        shown.add_row(Text(name), status, shown_number(value))
    if separation.listed > _SHOWN:
        shown.add_row(f"… {separation.listed - _SHOWN} more", "", "")
    return shown


def _lines(separation: Any, facts: dict[str, Any], rows: bool) -> dict[str, str]:

    listed = " (--rows lists them)" if len(separation.separated) and not rows else ""
    lines = {
        "rows": f"{facts['rows']:,}, of which {len(separation.separated):,} separated{listed}",
        "columns": f"{len(separation.names):,} of rank {separation.rank:,}",
    }
    if separation.dimension:
        lines["directions"] = f"the likelihood rises forever in {count(separation.dimension, 'direction')}"
    if rows:
        lines["separated"] = ", ".join(map(str, facts["separated"].tolist())) or "none"
        if facts["separated_lines"]:
            lines["lines"] = ", ".join(map(str, facts["separated_lines"]))
    if separation.notes:
        lines["note"] = "; ".join(separation.notes)
    lines["time"] = f"{facts['seconds']:.2f} s, decided in exact arithmetic"
    if facts["proof"] is not None:
        about = facts["design"] or facts["data"]
        lines["proof"] = check_line(facts["proof"], about)
    if facts["design"] is not None:
        lines["design"] = f"{about} has the columns computed from the table; no proof says that they are computed so"
    return lines


# ---------------------------------------------------------------------------------------------------------------
# Proofs


def _design_place(proof: str | None) -> str | None:
    """Return where the design of a proof stands if a formula computes some of it."""
    return None if proof is None else f"{proof.removesuffix('.json')}.design.csv"


def _write(path: str, separation: Any, asked: RegressionInput, model: ModelOptions) -> str | None:
    """Write the proof in one step, and the design that it is about if the file alone does not tell it."""
    from linsep.data.files import replacing
    from linsep.data.schema import BOOLEAN, NUMBER, WORD
    from linsep.prove.regression.documents import design_text, document

    plain = (NUMBER, BOOLEAN, WORD)
    odd = next((name for name in asked.parts if asked.table.kinds[name] not in plain), None)
    if odd is not None:
        raise ValueError(f"column {odd!r}: a proof needs a response written in plain numbers")
    options = {"formula": model.formula} if model.formula else {"target": str(model.target)}
    reading = asked.reading(separation)
    place = _design_place(path) if reading is None else None
    texts = {path: document(separation, reading, options), **({place: design_text(separation)} if place else {})}
    for each, text in texts.items():
        with replacing(each) as file:
            file.write(text.encode())
    return place
