"""``linsep verify``: checks a proof against data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import click

from linsep.cli.inputs import check_place, open_data, with_rows_named
from linsep.cli.options import OUTPUT, Argument, Data, Reading, Screen, command
from linsep.cli.screen import count, facts_table, headline, result
from linsep.data.atomic import replacing
from linsep.data.places import is_url
from linsep.declared import Parameter

if TYPE_CHECKING:
    from linsep.data.source import Source
    from linsep.prove.claims import Outcome

_VALUES = {
    "decimal": "each number is the decimal that the text shows",
    "binary": "each number is the stored double, or the double nearest to the text",
}


@dataclass(frozen=True)
class Check:
    """Which code is to be trusted."""

    plain: Annotated[
        bool, Parameter("Use only the short integer checker: slower, but you need to trust nothing else.")
    ] = False
    checker: Annotated[
        str | None,
        Parameter("Write a Python program that checks proofs without linsep.", panel=OUTPUT, metavar="OUT"),
    ] = None


@command("linsep verify proof.json data.csv --target species")
def verify(
    proof: Annotated[
        str,
        Argument("Proof file, as separate, errors, regression or fit writes it."),
    ],
    data: Data,
    check: Check,
    *,
    screen: Screen,
    reading: Reading,
) -> None:
    """Check a proof against the data, in exact arithmetic.

    The exit code is 0 if the proof holds for these data, and 1 if it does not.
    """
    from linsep.prove.checking import text_of
    from linsep.prove.documents import opened
    from linsep.prove.regression.documents import separation_opened

    check_place(check.checker, proof, *data)
    try:
        text = text_of(proof)
        if (other := separation_opened(text)) is not None:
            _write_checker(check.checker)
            from linsep.cli.regression import verify_separation

            verify_separation(proof, other, data, check.plain, screen)
        verdict, content = opened(text)
    except ValueError as error:
        raise ValueError(f"{proof}: {error}") from None
    source = open_data(data, reading, screen, **_as_written(content["data"].get("reading"), reading))
    outcome, shape = _outcome(text, content, source, check.plain)
    outcome = outcome._replace(why=with_rows_named(outcome.why, source))
    _write_checker(check.checker)
    facts = {
        "command": "verify",
        "proof": proof,
        "data": data,
        "verdict": verdict.kind,
        "meaning": content["meaning"],
        "fit_intercept": verdict.fit_intercept,
        "values": verdict.values,
        "holds": outcome.holds,
        "why": outcome.why or None,
        "plain": check.plain,
        "checked": list(outcome.checked),
        "made": content["made"] if content["made"]["by"] else None,
    }

    def show(console: Any) -> None:
        if outcome.holds:
            console.print(headline(f"the proof holds: {verdict.kind}, {facts['meaning']}"))
            console.print(facts_table(_lines(content, outcome, source, shape)))
        else:
            console.print(headline("the proof does not hold for these data"))
            console.print(_why_not(content["data"], outcome, shape))

    result(facts, screen, show)
    raise click.exceptions.Exit(0 if outcome.holds else 1)


def _why_not(about: dict[str, Any], outcome: Outcome, shape: tuple[int, int]) -> str:
    """Return why a proof fails, and for which data it was written."""
    return (
        f"It was written for {about['n_rows']} rows of {about['n_features']} features; this file has {shape[0]} of "
        f"{shape[1]}. It fails because {outcome.why}."
    )


def _write_checker(path: str | None) -> None:
    """Write the plain check as one program."""
    from linsep.prove.check.standalone import program

    if path is not None:
        with replacing(path) as file:
            file.write(program().encode())


def _as_written(how: dict[str, Any] | None, reading: Reading) -> dict[str, Any]:
    """Return how the proof says that its data are read, nothing if the user says how."""
    from linsep.prove.numbers.text import layout_of

    if how is None or {"target", "ignore", "categorical", "text"} & set(reading.given):
        return {}
    layout = layout_of(how)
    known: dict[str, Any] = {"layout": layout, "target": layout.target, "missing": how["missing"]}
    known["header"] = how["header"]
    if how.get("point", ".") != ".":
        known["decimal"] = how["point"]
    if how.get("encoding", "utf-8") != "utf-8":
        known["encoding"] = how["encoding"]
    if how.get("gaps"):
        known["gaps"] = tuple(how["gaps"])
    return {name: known[name] for name in known if name not in reading.given}


def _outcome(text: str, content: dict[str, Any], source: Source, plain: bool) -> tuple[Outcome, tuple[int, int]]:
    """Return the outcome of the check, and the shape of the data; the plain check reads CSV by itself."""
    from linsep.prove.check import linsep_check
    from linsep.prove.check.plain_document import ENCODINGS, Fails
    from linsep.prove.check.plain_table import table
    from linsep.prove.checking import check_document
    from linsep.prove.claims import Outcome
    from linsep.prove.numbers.text import exact_table, reading_of

    reading = reading_of(source)
    paths = [file.path for file in source.files]
    readable = reading is not None and reading["encoding"] in ENCODINGS
    readable = readable and reading is not None and not any("hashed" in column for column in reading["columns"])
    if source.layout is not None and source.layout.words and not source.layout.levels:
        readable = False  # which words there are shows when they are read
    if not plain or not readable or any(path is None or is_url(path) or path.endswith(".zst") for path in paths):
        X, y = exact_table(source, content["values"], lazily=True)
        return check_document(text, X, y, plain=plain), X.shape
    content = {**content, "data": {**content["data"], "reading": reading}}
    rows, labels = table(content, paths)
    shape = (len(rows), len(reading["columns"]) if reading else 0)
    try:
        return Outcome(True, "", tuple(linsep_check.check(content, rows, labels))), shape
    except Fails as error:
        return Outcome(False, str(error)), shape


def _lines(content: dict[str, Any], outcome: Outcome, source: Source, shape: tuple[int, int]) -> dict[str, str]:
    """Return what has been verified about which file, and what has not."""
    names = ", ".join(file.name for file in source.files[:3]) + (" and others" if len(source.files) > 3 else "")
    target = source.layout.target if source.layout is not None else None
    labels = "as the file has them" if target is None else f"taken from column {target!r}"
    return told(content, outcome, f"{names}: {shape[0]:,} rows of {count(shape[1], 'feature')}", labels)


def told(content: dict[str, Any], outcome: Outcome, data: str, labels: str) -> dict[str, str]:
    """Return what has been verified, what has not, and who made the proof."""
    lines = {"data": data, "labels": labels, "values": _VALUES[content["values"]]}
    for k, line in enumerate(outcome.checked):
        lines["checked" if k == 0 else " " * k] = line
    lines["not checked"] = "who made the proof and when; what the columns mean; whether the table is the right one"
    made = content["made"]
    if made["by"]:
        lines["made"] = f"by {made['by']}, {made['time']}" + (f": {made['note']}" if made["note"] else "")
    return lines
