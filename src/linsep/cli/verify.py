"""``linsep verify``: checks a proof against data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import click

from linsep.cli.inputs import check_place, open_data, with_rows_named
from linsep.cli.options import OUTPUT, Argument, Data, Reading, Screen, command
from linsep.cli.screen import count, facts_table, headline, result
from linsep.data.files import is_url, replacing
from linsep.data.options import MISSING
from linsep.declared import Parameter

if TYPE_CHECKING:
    from linsep.data.source import Source
    from linsep.prove.claims import CheckResult

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
        str | None, Parameter("Write a Python program that checks proofs without linsep.", OUTPUT, "OUT")
    ] = None


@command("linsep verify proof.json data.csv --target species")
def verify(
    proof: Annotated[str, Argument("Proof file, as separate, errors, regression or fit writes it.")],
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

    check_place(check.checker, proof, *data)
    try:
        text = text_of(proof)
        verdict, content = opened(text)
    except ValueError as error:
        raise ValueError(f"{proof}: {error}") from None
    if verdict is not None:
        source = open_data(data, reading, screen, **_as_written(content["data"].get("reading"), reading))
        outcome, shape = _outcome(verdict, content, source, check.plain)
        outcome = outcome._replace(why=with_rows_named(outcome.why, source))
    elif len(data) > 1:
        raise ValueError(f"{proof}: a proof of separation is about one file: give only that file")
    else:
        outcome = _separation_outcome(content, data[0], check.plain)
    if check.checker is not None:
        from linsep.prove.documents import checker_program

        with replacing(check.checker) as file:
            file.write(checker_program().encode())
    claim = content["claim"] if verdict is None else verdict.kind
    facts = {
        "command": "verify",
        "proof": proof,
        "data": data,
        "verdict": claim,
        "meaning": content["meaning"],
        **({} if verdict is None else {"fit_intercept": verdict.fit_intercept}),
        "values": content["values"],
        "holds": outcome.holds,
        "why": outcome.why or None,
        "plain": check.plain,
        "checked": list(outcome.checked),
        "made": content["made"] if content["made"]["by"] else None,
    }

    def show(console: Any) -> None:
        if not outcome.holds:
            about, written = content["data"], ""
            if verdict is not None:
                features = count(about["n_features"], "feature")
                written = f"It was written for {count(about['n_rows'], 'row')} of {features}; this file has "
                written += f"{shape[0]} of {shape[1]}. "
            console.print(headline("the proof does not hold for these data"))
            console.print(f"{written}It fails because {outcome.why}.", markup=False)
            return
        kind = f"{claim}, " if verdict is not None else ""
        about = _about_rows(source, shape) if verdict is not None else _about_model(content, data[0])
        console.print(headline(f"the proof holds: {kind}{content['meaning']}"))
        console.print(facts_table(_lines(content, outcome, about)))

    result(facts, screen, show)
    raise click.exceptions.Exit(0 if outcome.holds else 1)


def _as_written(written: dict[str, Any] | None, reading: Reading) -> dict[str, Any]:
    """Return how the proof says that its data are read, nothing if the user says how."""
    from linsep.prove.numbers.text import layout_of

    if written is None or {"target", "ignore", "categorical", "text"} & set(reading.options):
        return {}
    layout = layout_of(written)
    known = {"layout": layout, "target": layout.target, "missing": written["missing"]}
    defaults = {
        "encoding": "utf-8",
        "decimal": ".",
        "skip_rows": None,
    }  # what is left to the reader, which finds it out
    known |= {name: value for name, value in _signs(written).items() if defaults.get(name) != value}
    return {name: known[name] for name in known if name not in reading.options}


def _signs(reading: dict[str, Any]) -> dict[str, Any]:
    """Return how the text of a table is written, as a proof says it."""
    known = {name: reading[name] for name in ("header", "encoding", "comment") if name in reading}
    return known | {
        "skip_rows": reading.get("skip"),
        "decimal": reading.get("point", "."),
        "gaps": tuple(reading.get("gaps", MISSING)),
    }


def _outcome(verdict: Any, content: dict[str, Any], source: Source, plain: bool) -> tuple[CheckResult, Any]:
    """Return the outcome of the check, and the shape of the data; the plain check reads CSV by itself."""
    from linsep.prove.check.linsep_check import ENCODINGS, Fails, check, table
    from linsep.prove.checking import check_document
    from linsep.prove.claims import CheckResult
    from linsep.prove.numbers.text import exact_table, reading_of

    reading = reading_of(source)
    paths = [file.path for file in source.files]
    readable = reading is not None and reading["encoding"] in ENCODINGS
    readable = readable and reading is not None and not any("hashed" in column for column in reading["columns"])
    if source.layout is not None and source.layout.words and not source.layout.categories:
        readable = False  # which words there are shows when they are read
    if not plain or not readable or any(path is None or is_url(path) or path.endswith(".zst") for path in paths):
        X, y = exact_table(source, content["values"], lazily=True)
        return check_document(verdict, content, X, y, plain=plain), X.shape
    content = {**content, "data": {**content["data"], "reading": reading}}
    rows, labels = table(content, paths)
    shape = (len(rows), len(reading["columns"]) if reading else 0)
    try:
        return CheckResult(True, "", tuple(check(content, rows, labels))), shape
    except Fails as error:
        return CheckResult(False, str(error)), shape


def _about_rows(source: Source, shape: tuple[int, int]) -> dict[str, str]:
    names = ", ".join(file.name for file in source.files[:3]) + (" and others" if len(source.files) > 3 else "")
    target = source.layout.target if source.layout is not None else None
    labels = "as the file has them" if target is None else f"taken from column {target!r}"
    return {"data": f"{names}: {shape[0]:,} rows of {count(shape[1], 'feature')}", "labels": labels}


def _about_model(content: dict[str, Any], data: str) -> dict[str, str]:
    about, reading = content["data"], content["data"]["reading"]
    columns = [] if reading is None else [reading["target"], *reading["others"]]
    labels = f"taken from {', '.join(map(repr, columns)) or 'the last columns of the file'}"
    if content["family"] == "ordinal":
        labels += f", in the order {', '.join(map(str, content['classes']))}"
    return {"data": f"{data}: {about['n_rows']:,} rows of {count(about['n_features'], 'feature')}", "labels": labels}


def _lines(content: dict[str, Any], outcome: CheckResult, about: dict[str, str]) -> dict[str, str]:
    lines = {**about, "values": _VALUES[content["values"]]}
    for k, line in enumerate(outcome.checked):
        lines["checked" if k == 0 else " " * k] = line
    lines["not checked"] = "who made the proof and when; what the columns mean; whether the table is the right one"
    made = content["made"]
    if made["by"]:
        lines["made"] = f"by {made['by']}, {made['time']}" + (f": {made['note']}" if made["note"] else "")
    return lines


# ---------------------------------------------------------------------------------------------------------------
# Proofs of separation in regression models


def _separation_outcome(content: dict[str, Any], data: str, plain: bool) -> Any:
    """Return the outcome of the check; the plain one reads CSV by itself."""
    from linsep.prove.check.linsep_check import Fails, check, table
    from linsep.prove.claims import CheckResult
    from linsep.prove.numbers.text import refuse_rounded
    from linsep.prove.regression.documents import check_separation_document, read_back

    base, known = data.removesuffix(".gz").lower(), content["data"]["reading"] is not None
    if plain and known and not base.endswith((".parquet", ".arrow", ".feather", ".zst")) and data != "-":
        try:
            return CheckResult(True, "", tuple(check(content, *table(content, [data]))))
        except Fails as error:
            return CheckResult(False, str(error))
    try:
        frame = _separation_table(content["data"]["reading"], data)
        refuse_rounded(frame.source, content["values"])
        formula = content["made"]["options"].get("formula")
        own = frame.columns[: content["n_features"]] == content["names"]
        if content["data"]["reading"] is None and formula and not own:
            raise ValueError(
                f"the formula {formula!r} computes columns that no checker can rebuild from {data}: check the proof "
                "against the table of its design, the .design.csv file that linsep regression wrote beside it"
            )
        X, columns = read_back(content, frame)
    except Fails as error:
        return CheckResult(False, str(error))
    return check_separation_document(content, X, columns, plain=plain)


def _separation_table(reading: dict[str, Any] | None, data: str) -> Any:
    """Return a table with the columns that a document uses, read as it says; a table of a design is one of numbers."""
    from linsep.data.schema import NUMBER, WORD
    from linsep.prove.regression.table import open_columns, read_table

    if reading is None:
        source = open_columns(data, decimal=".", thousands="", dates=False)
        names = source.column_names
        return read_table(source, dict.fromkeys(names, NUMBER), frozenset(names))
    source = open_columns(data, delimiter=reading["delimiter"], **_signs(reading))
    flat = [each for column in reading["columns"] for each in column.get("product", [column])]
    kinds = {each["column"]: each.get("kind", NUMBER) for each in flat if "level" not in each}
    for each in flat:
        kinds.setdefault(each["column"], each.get("kind", WORD))
    parts = [reading["target"], *reading["others"]]
    for name in parts:
        kinds.setdefault(name, NUMBER)
    missing = [name for name in kinds if name not in source.column_names]
    if missing:
        raise ValueError(f"{data}: there is no column {missing[0][:40]!r}")
    return read_table(source, kinds, frozenset(parts))
