"""``linsep verify``: does a proof hold for these data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from linsep.cli.inputs import all_at_once, check_place, open_data
from linsep.cli.options import OUTPUT, Data, Reading, Screen, flag, grouped
from linsep.cli.screen import count, facts_table, headline, result
from linsep.cli.separation import separation_document, verify_separation
from linsep.data.atomic import replacing
from linsep.data.places import is_url
from linsep.wording import verdict_meaning

if TYPE_CHECKING:
    from linsep.data.source import Source
    from linsep.prove.checking import Outcome

_VALUES = {
    "decimal": "each number is the decimal that the text shows",
    "binary": "each number is the double that is stored, or nearest to the text",
}


@grouped
def verify(
    proof: Annotated[
        str, typer.Argument(metavar="PROOF", help="A file that separate or separation wrote.", show_default=False)
    ],
    data: Data,
    plain: Annotated[
        bool, flag("--plain", "Check with one page of plain integers alone: slower, and nothing else to trust.")
    ] = False,
    checker: Annotated[
        str | None,
        typer.Option(
            metavar="OUT", help="Write the plain check as a Python program that needs nothing.", rich_help_panel=OUTPUT
        ),
    ] = None,
    *,
    screen: Screen,
    reading: Reading,
) -> None:
    """Check a proof against the data, in exact arithmetic.

    The exit code is 0 if the proof holds and 1 if it does not hold for these data.
    """
    from linsep.prove.checking import text_of
    from linsep.prove.documents import opened
    from linsep.prove.exact_text import layout_of
    from linsep.prove.fewest_document import fewest_opened
    from linsep.prove.standalone import program

    check_place(checker, proof, *data)
    try:
        text = text_of(proof)
        if (other := separation_document(text)) is not None:
            verify_separation(proof, other, data, screen)
        if (fewest := fewest_opened(text)) is not None:
            _verify_fewest(proof, text, fewest[0], all_at_once(open_data(data, reading, screen)), screen)
        verdict, content = opened(text)
    except ValueError as error:
        raise ValueError(f"{proof}: {error}") from None
    how = content["data"].get("reading")
    asked = any((reading.target, reading.ignore, reading.categorical, reading.text))
    layout = None if how is None or asked else layout_of(how)
    others = {} if layout is None else _as_written(how) | {"layout": layout, "target": layout.target}
    source = open_data(data, reading, screen, **{name: others[name] for name in others if name not in reading.given()})
    outcome, shape = _outcome(text, content, source, plain)
    if checker is not None:
        with replacing(checker) as file:
            file.write(program().encode())
    meaning = verdict_meaning(verdict.kind, verdict.fit_intercept)
    facts = {
        "command": "verify",
        "proof": proof,
        "data": data,
        "verdict": verdict.kind,
        "meaning": meaning,
        "fit_intercept": verdict.fit_intercept,
        "values": verdict.values,
        "holds": outcome.holds,
        "why": outcome.why or None,
        "plain": plain,
        "checked": list(outcome.checked),
        "made": content["made"] or None,
    }

    def show(console: Any) -> None:
        if outcome.holds:
            console.print(headline(f"the proof holds: {verdict.kind}, {meaning}"))
            console.print(facts_table(_lines(content, outcome, source, shape)))
        else:
            about = content["data"]
            console.print(headline("the proof does not hold for these data"))
            console.print(
                f"It was written for {about['n_rows']} rows of {about['n_features']} features; these are {shape[0]} "
                f"of {shape[1]}. It fails because {outcome.why}."
            )

    result(facts, screen, show)
    raise typer.Exit(0 if outcome.holds else 1)


def _as_written(how: dict[str, Any]) -> dict[str, Any]:
    """Return the options by which a table is read as a proof says that it was."""
    known: dict[str, Any] = {"missing": how["missing"]}
    if how.get("point", ".") != ".":
        known["decimal"] = how["point"]
    if how.get("encoding", "utf-8") != "utf-8":
        known["encoding"] = how["encoding"]
    return known | ({"gaps": tuple(how["gaps"])} if "gaps" in how else {})


def _verify_fewest(proof: str, text: str, fewest: Any, rows: tuple[Any, Any], screen: Screen) -> NoReturn:
    """Check a proof of the fewest errors, say so and exit."""
    from linsep.prove.checking import verify as check

    holds = check(text, *rows)
    meaning = f"at least {fewest.lower:,} and at most {fewest.upper:,} rows are wrong under any plane"
    facts = {"command": "verify", "proof": proof, "verdict": fewest.kind, "meaning": meaning, "holds": holds}
    said = f"the proof holds: {fewest.kind}, {meaning}" if holds else "the proof does not hold for these data"
    result(facts, screen, lambda console: console.print(headline(said)))
    raise typer.Exit(0 if holds else 1)


def _outcome(text: str, content: dict[str, Any], source: Source, plain: bool) -> tuple[Outcome, tuple[int, int]]:
    """Return the outcome of the check, and the shape of the data; the plain check reads CSV by itself."""
    from linsep.prove import linsep_check
    from linsep.prove.checking import Outcome, check_document
    from linsep.prove.exact_text import exact_table, reading_of
    from linsep.prove.plain import Fails

    reading = reading_of(source)
    paths = [file.path for file in source.files]
    readable = reading is not None and not any("hashed" in column for column in reading["columns"])
    if source.layout is not None and source.layout.words and not source.layout.levels:
        readable = False  # which words there are shows when they are read
    if not plain or not readable or any(path is None or is_url(path) or path.endswith(".zst") for path in paths):
        X, y = exact_table(source, content["values"])
        return check_document(text, X, y, plain=plain), X.shape
    content = {**content, "data": {**content["data"], "reading": reading}}
    rows, labels = linsep_check.table(content, paths)
    shape = (len(rows), len(reading["columns"]) if reading else 0)
    try:
        return Outcome(True, "", tuple(linsep_check.check(content, rows, labels))), shape
    except Fails as error:
        return Outcome(False, str(error)), shape


def _lines(content: dict[str, Any], outcome: Outcome, source: Source, shape: tuple[int, int]) -> dict[str, str]:
    """Return what has been verified about which file, and what has not."""
    names = ", ".join(file.name for file in source.files[:3]) + (" and others" if len(source.files) > 3 else "")
    lines = {"data": f"{names}: {shape[0]:,} rows of {count(shape[1], 'feature')}"}
    target = source.layout.target if source.layout is not None else None
    lines["labels"] = "as the file has them" if target is None else f"taken from column {target!r}"
    lines["values"] = _VALUES[content["values"]]
    for k, line in enumerate(outcome.checked):
        lines["checked" if k == 0 else " " * k] = line
    lines["not checked"] = "who made the proof and when; what the columns mean; whether the table is the right one"
    made = content["made"]
    if made:
        lines["made"] = f"by {made['by']}, {made['time']}" + (f": {made['note']}" if made["note"] else "")
    return lines
