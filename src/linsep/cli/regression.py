"""``linsep regression``: decides which coefficients of a regression model are infinite."""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import click

from linsep.cli.inputs import check_place
from linsep.cli.options import DECIDING, OUTPUT, Argument, ReadingAgain, Screen, as_option, command, reading_options
from linsep.cli.screen import count, facts_table, headline, result
from linsep.data.options import READING, Options
from linsep.declared import Declared, Parameter
from linsep.errors import Setting
from linsep.wording import digits, shown_number

_SHOWN = 40  # coefficients and rows on the screen


@dataclass(frozen=True)
class ModelOptions:
    """What the model is."""

    formula: Annotated[
        str | None,
        Parameter('Model formula, such as "HG ~ NV + PI + C(EH)".', panel=DECIDING, metavar="FORMULA"),
    ] = None
    target: Annotated[
        str | None,
        Parameter(
            "Response column; the model uses all other columns, with dummy columns for words.",
            panel=DECIDING,
            metavar="COLUMN",
        ),
    ] = None
    family: Annotated[
        str,
        Parameter(
            "Model family: binomial, poisson, negative-binomial, multinomial, ordinal, conditional or cox.",
            panel=DECIDING,
            metavar="FAMILY",
        ),
    ] = "binomial"
    fit_intercept: Annotated[bool, Parameter("Whether the model has an intercept.", panel=DECIDING)] = True
    order: Annotated[
        str | None,
        Parameter(
            "Labels of an ordinal model from the lowest to the highest, such as low,mid,high; of a multinomial "
            "model the first is the reference. [default: of numbers or ordered categories, their own]",
            panel=DECIDING,
            metavar="LABELS",
        ),
    ] = None
    absorb: Annotated[
        list[str] | None,
        Parameter(
            "Factor included in the model, with a coefficient for every level, but not listed; may be repeated.",
            panel=DECIDING,
            metavar="COLUMN",
        ),
    ] = None
    strata: Annotated[
        str | None,
        Parameter("Column with the groups of a conditional or cox model.", panel=DECIDING, metavar="COLUMN"),
    ] = None
    weights: Annotated[
        str | None,
        Parameter("Column with row weights; rows of weight 0 do not count.", panel=DECIDING, metavar="COLUMN"),
    ] = None
    event: Annotated[
        str | None,
        Parameter(
            "With cox: column that is 1 for an event and 0 for a censored time; the response is the time.",
            panel=DECIDING,
            metavar="COLUMN",
        ),
    ] = None
    failures: Annotated[
        str | None,
        Parameter(
            "With binomial: column with the number of failures; the response is the number of successes.",
            panel=DECIDING,
            metavar="COLUMN",
        ),
    ] = None
    values: Annotated[
        Literal["decimal", "binary"] | None,
        Parameter(
            "Read 0.1 as the decimal one tenth (default for text) or as the nearest double (binary).", panel=DECIDING
        ),
    ] = None
    alias: Annotated[
        Literal["drop", "keep"],
        Parameter("Drop or keep columns that depend linearly on earlier ones.", panel=DECIDING),
    ] = "drop"
    time_limit: Annotated[
        float | None,
        Parameter("Stop the search after this time.", panel=DECIDING, metavar="SECONDS", min=0),
    ] = None


def _table_options() -> tuple[Declared, ...]:
    """Return how a table can be read: fewer formats, and fewer ways to treat missing cells."""
    text = (
        "format",
        "delimiter",
        "header",
        "missing",
        "gaps",
        "encoding",
        "decimal",
        "thousands",
        "comment",
        "skip_rows",
    )
    columns = ("ignore", "categorical", "numeric", "dates", "keep_index")
    known = {each.name: each for each in reading_options(*text, *columns)}
    formats = replace(
        known["format"].about, help="File format. [default: by name]", typed=Literal["csv", "jsonl", "parquet", "arrow"]
    )
    about = Parameter("For empty cells: raise an error, or drop their rows.", READING)
    known["format"] = known["format"]._replace(about=formats)
    known["missing"] = Declared("missing", Literal["error", "drop"], "error", about)
    return tuple(known.values())


class TableOptions(ReadingAgain):
    """How to read the table."""

    parameters_declared = _table_options()

    def columns(self, name: str) -> list[str]:
        """Return the columns that an option names."""
        return list(self.given.get(name, ()))

    @property
    def missing(self) -> str:
        """What to do about missing cells."""
        return str(self.given["missing"])

    def options(self) -> Any:
        """Return the options for the reader of tables."""
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in self.given.items()
        }
        return Options(**{"format": ""} | given)


@command('linsep regression data.csv --formula "HG ~ NV + PI + EH"')
def regression(
    data: Annotated[str, Argument("CSV, TSV, Parquet or Arrow; - is standard input.")],
    model: ModelOptions,
    rows: Annotated[bool, Parameter("List the separated rows, counted from 0.", panel=OUTPUT)] = False,
    proof: Annotated[str | None, Parameter("Write the proof to this JSON file.", panel=OUTPUT, metavar="OUT")] = None,
    *,
    table: TableOptions,
    screen: Screen,
) -> None:
    """Find which coefficients of a regression model are infinite and which rows cause it, and prove it.

    The exit code is 0 if the maximum likelihood estimate exists, 1 if it does not, and 2 for bad input or if the search
    ran out of time.
    """
    from linsep.clock import limited
    from linsep.prove.regression.separations import decide
    from linsep.prove.regression.words import MEANING, sentences

    check_place(proof)
    check_place(_design_place(proof), data)
    started = time.perf_counter()
    with limited(model.time_limit) as clock, ExitStack() as stack:
        asked = RegressionInput.of(data, model, table)
        clock.check()
        stack.enter_context(lines_named(asked.table))
        found = decide(asked.given, clock)
        seconds = time.perf_counter() - started
        design = None if proof is None else _write(proof, found, asked, model)
        texts = sentences(found, asked.response)
        coefficients = found.coefficients if screen.json else []  # evidence, which takes long if there are many
    dropped = asked.table.dropped
    separated = dropped.in_source(found.separated)
    facts = {
        "command": "regression",
        "data": data,
        "family": found.family,
        "rows": len(found.separated) + len(found.rest),
        "dropped": len(dropped),
        "columns": len(found.names),
        "rank": found.rank,
        "kind": found.kind,
        "dimension": found.dimension,
        "coefficients": [
            {"name": each.name, "status": each.status, "direction": digits(value), "rows": dropped.in_source(each.rows)}
            for each, value in zip(coefficients, found.direction, strict=False)
        ],
        "separated": separated,
        "separated_lines": asked.table.lines(separated),
        "sentences": texts,
        "notes": found.notes,
        "seconds": seconds,
        "proof": proof,
        "design": design,
    }

    def show(console: Any) -> None:
        console.print(headline(MEANING[found.kind]))
        console.print(_statuses(found))
        console.print(facts_table(_lines(found, facts, rows)))
        for sentence in texts:
            console.print(f"{sentence}.", markup=False)

    result(facts, screen, show)
    raise click.exceptions.Exit(0 if found.kind == "overlap" else 1)


@dataclass(frozen=True)
class RegressionInput:
    """A model that a file and options give, with the table that it is about."""

    given: Any
    table: Any  # the rows and columns that are used
    parts: list[str]  # columns of the response, of strata and of weights; none if a formula computes it
    response: str
    source: Any
    missing: str

    @classmethod
    def of(cls, data: str, model: ModelOptions, table: TableOptions) -> RegressionInput:
        """Read a file as options say."""
        from linsep.data.cells import is_time
        from linsep.data.frames import read_frame

        if (model.formula is None) == (model.target is None):
            raise ValueError("give either --formula or --target; --target y models column y by all others")
        if model.event is not None and model.family != "cox":
            raise ValueError("--event needs --family cox")
        if model.failures is not None and model.family != "binomial":
            raise ValueError("--failures needs --family binomial")
        frame = read_frame(data, table.options())
        values = model.values or ("decimal" if frame.text else None)
        common = {
            "family": model.family,
            "values": values,
            "alias": model.alias,
            "fit_intercept": model.fit_intercept,
            "order": None if model.order is None else _labels(model.order),
        }
        build = _by_target if model.formula is None else _by_formula
        given, kept, parts, response = build(frame, model, table, common)
        notes = ["linsep reads the first row as the names of columns (--no-header reads it as data)"] * frame.counted
        notes += [
            f"{frame.where(row)}: column {name!r} is read as words, because {cell!r} is not a number "
            f"(--numeric {name} makes this an error)"
            for name, (row, cell) in frame.odd.items()
            if any(each.startswith((f"{name}=", f"{name}[")) for each in given.names)
        ]
        notes += [
            f"column {name!r} has times of day: they are seconds since midnight"
            if is_time(kind)
            else f"column {name!r} has dates: they are days since 1970-01-01"
            for name, kind in kept.kinds.items()
            if kind.startswith("date") and name in given.names
        ]
        if len(kept.dropped):
            notes.append(f"linsep drops {kept.dropped.words()} (--missing drop)")
        given = replace(given, notes=(*given.notes, *notes))
        return cls(given, kept, parts, response, frame, table.missing)

    def reading(self, found: Any) -> dict[str, Any] | None:
        """Return how others can make the rows of a proof from the file; None if a formula computes more."""
        from linsep.prove.regression.reading import reading_of

        return reading_of(found._given, self.table, self.parts, self.source, self.missing)


def _by_formula(frame: Any, model: ModelOptions, table: TableOptions, common: dict[str, Any]) -> tuple[Any, ...]:
    """Return the model of a formula, its table, the columns of its response, and what to call it."""
    from linsep.prove.regression.inputs import gather

    assert model.formula is not None
    used = [each for each in frame.columns if re.search(rf"(?<![\w.]){re.escape(each)}(?![\w.])", model.formula)]
    beside = [frame.named(each) for each in (model.strata, model.weights) if each]
    absorb = [frame.named(each) for each in model.absorb or ()]
    kept = frame.only([*used, *absorb, *beside], missing=table.missing, others=True)  # names of others may be near
    options = {
        "strata": frame.named(model.strata) if model.strata else None,
        "weights": frame.named(model.weights) if model.weights else None,
        "absorb": absorb or None,
        **common,
    }
    left = model.formula.partition("~")[0].strip()
    two = re.fullmatch(r"(?:cbind|Surv)\s*\(\s*([^,]+?)\s*,\s*([^,]+?)\s*\)", left)
    own = list(two.groups()) if two else [left.strip("`")]
    parts = [*own, *beside] if all(each in kept.columns for each in own) else []
    with lines_named(kept):
        return gather(model.formula, kept, options), kept, parts, left


def _by_target(frame: Any, model: ModelOptions, table: TableOptions, common: dict[str, Any]) -> tuple[Any, ...]:
    """Return the model of a response and all other columns, its table, the columns of its response, and its name."""
    import numpy as np

    from linsep.prove.regression.inputs import gather

    assert model.target is not None
    target = frame.named(model.target)
    second = [frame.named(each) for each in (model.event, model.failures) if each]
    beside = [frame.named(each) for each in (model.strata, model.weights) if each]
    absorb = [frame.named(each) for each in model.absorb or ()]
    ignored = [frame.named(each) for each in table.columns("ignore")]
    features = [name for name in frame.columns if name not in (target, *second, *beside, *absorb, *ignored)]
    asked = {frame.named(each) for each in (*table.columns("categorical"), *table.columns("numeric"))}
    naming = frame.naming_rows([name for name in features if name not in asked])
    naming = {} if table.given.get("keep_index") or len(naming) == len(features) else naming
    features = [name for name in features if name not in naming]
    kept = frame.only([target, *second, *beside, *absorb, *features], missing=table.missing)
    y = kept[target] if not second else np.column_stack([kept[target], kept[second[0]]])
    X = kept.only(features, missing="error") if features else np.zeros((len(kept), 0))
    options = {
        "strata": kept[frame.named(model.strata)] if model.strata else None,
        "weights": kept[frame.named(model.weights)] if model.weights else None,
        "absorb": [(each, kept[each]) for each in absorb] or None,
        "categories": None if second else kept.categories.get(target),
        **common,
    }
    with lines_named(kept):
        given = gather(X, y, options)
    notes = [
        f"linsep leaves out column {name!r}: {why} ({as_option(Setting(*setting))} keeps it)"
        for name, (why, setting) in naming.items()
    ]
    return replace(given, notes=(*given.notes, *notes)), kept, [target, *second, *beside], target


def _labels(text: str) -> list[str]:
    """Return the labels of a list with commas between them; quotes are those of CSV."""
    return [each.strip() for each in next(csv.reader([text], skipinitialspace=True), [])]


@contextmanager
def lines_named(table: Any) -> Iterator[None]:
    """Name the file and the line where an error names a row of a table."""
    from linsep.errors import DataError

    try:
        yield
    except DataError as error:
        found = re.fullmatch(r"row (\d+)(.*)", error.where)
        if found is None:
            raise
        raise DataError(f"{table.where(int(found[1]))}{found[2]}", error.what, *error.settings) from None


def _statuses(found: Any) -> Any:
    """Return the coefficients as a table."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("coefficient", "status"):
        shown.add_column(name)
    shown.add_column("direction", justify="right")
    for name, status, value in list(zip(found.names, found.statuses, found.direction, strict=True))[
        : min(_SHOWN, found.listed)
    ]:
        shown.add_row(Text(name), status, shown_number(value))
    if found.listed > _SHOWN:
        shown.add_row(f"… {found.listed - _SHOWN} more", "", "")
    return shown


def _lines(found: Any, facts: dict[str, Any], rows: bool) -> dict[str, str]:
    from linsep.prove.regression.words import columns_told

    listed = " (--rows lists them)" if len(found.separated) and not rows else ""
    lines = {
        "rows": f"{facts['rows']:,}, of which {len(found.separated):,} separated{listed}",
        "columns": columns_told(found),
    }
    if found.dimension:
        lines["directions"] = f"the likelihood rises forever in {count(found.dimension, 'direction')}"
    if rows:
        lines["separated"] = ", ".join(map(str, facts["separated"].tolist())) or "none"
        if facts["separated_lines"]:
            lines["lines"] = ", ".join(map(str, facts["separated_lines"]))
    if found.notes:
        lines["note"] = "; ".join(found.notes)
    lines["time"] = f"{facts['seconds']:.2f} s, decided in exact arithmetic"
    if facts["proof"] is not None:
        about = facts["design"] or facts["data"]
        lines["proof"] = f"{facts['proof']}; check it with: linsep verify {facts['proof']} {about}"
    if facts["design"] is not None:
        lines["design"] = f"{about} has the columns that the formula computes; no proof says that it computes them so"
    return lines


# ---------------------------------------------------------------------------------------------------------------
# Proofs


def _design_place(proof: str | None) -> str | None:
    """Return where the design of a proof stands if a formula computes some of it."""
    return None if proof is None else f"{proof.removesuffix('.json')}.design.csv"


def _write(path: str, found: Any, asked: RegressionInput, model: ModelOptions) -> str | None:
    """Write the proof in one step, and the design that it is about if the file alone does not tell it."""
    from linsep.data.files import replacing
    from linsep.prove.regression.documents import design_text, document

    odd = next((name for name in asked.parts if name in asked.table.kinds), None)
    if odd is not None:
        raise ValueError(f"column {odd!r}: a proof needs a response written in plain numbers")
    options = {"formula": model.formula} if model.formula else {"target": str(model.target)}
    reading = asked.reading(found)
    place = _design_place(path) if reading is None else None
    texts = {path: document(found, reading, options), **({place: design_text(found)} if place else {})}
    for each, text in texts.items():
        with replacing(each) as file:
            file.write(text.encode())
    return place
