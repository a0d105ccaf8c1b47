"""Opens data and model files for the commands, and checks output paths."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from linsep.cli.options import Reading, ReadingAgain, Screen
from linsep.cli.screen import count, plain_text, result
from linsep.data.files import check_writable, is_url, masked, open_bytes

if TYPE_CHECKING:
    from linsep.data.source import Source

_FEATURES_SHOWN = 6


def check_place(path: str | None, *inputs: str) -> None:
    """Refuse a file that could not be written, or that would replace an input, before hours of work and not after."""
    if path is None or path == "-":
        return
    if is_url(path):
        if path in inputs:
            raise ValueError(f"{masked(path)}: this command reads that file; write the output to another one")
        check_writable(path)
        return
    for pattern in inputs:
        for name in glob.glob(pattern) or [pattern]:
            if os.path.exists(path) and os.path.exists(name) and os.path.samefile(path, name):
                raise ValueError(f"{path}: this command reads that file; write the output to another one")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise ValueError(f"{path}: no such folder: {os.path.dirname(path)}")
    if os.path.isdir(path):
        raise ValueError(f"{path}: is a folder, not a file")
    if os.path.exists(path) and not os.path.isfile(path):
        return  # a pipe or a terminal, which is written to as it is
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: no permission to write there")


def check_line(proof: str, *data: str) -> str:
    """Return where a proof is, and how to check it."""
    return f"{proof}; check it with: linsep verify {proof} {' '.join(data)}"


def open_data(paths: list[str], reading: Reading, screen: Screen, **others: Any) -> Source:
    """Open data that no model knows yet; if only asked what becomes of the columns, say it and stop."""
    from linsep.data.read import read

    source = read(paths if len(paths) > 1 else paths[0], **reading.options, **others)
    if reading.explain:
        explain(source, screen)
        raise click.exceptions.Exit
    return source


class RowName(NamedTuple):
    """What a row is called: its number in the source, from 0, and for text its line."""

    row: int
    file: str | None = None  # where there are several
    line: int | None = None

    def facts(self) -> dict[str, Any]:
        """Return the name for ``--json``."""
        parts = {"row": self.row, "file": self.file, "line": self.line}
        return {name: value for name, value in parts.items() if value is not None}

    def cells(self) -> list[str]:
        """Return the name as cells of a table, below `row_columns`."""
        line = [] if self.line is None else [str(self.line) if self.file is None else f"{self.file}:{self.line}"]
        return [str(self.row), *line]


def row_columns(rows: list[RowName]) -> list[str]:
    """Return the heads of the columns that name rows."""
    return ["row", "line"] if rows and rows[0].line is not None else ["row"]


def named_rows(source: Source, rows: Any) -> list[RowName]:
    """Return what rows are called that are numbered among those that were not dropped."""
    numbers = source.dropped.in_source(rows).tolist()
    locations = source.locate(numbers) if numbers else []
    if locations is None:
        return [RowName(number) for number in numbers]
    several = len(source.files) > 1
    return [
        RowName(n, place.file if several else None, place.line) for n, place in zip(numbers, locations, strict=True)
    ]


def rows_table(
    title: str,
    rows: list[RowName],
    heads: dict[str, dict[str, Any]],
    cells: list[list[Any]],
    X: Any,
    names: Any,
    total: int,
) -> Any:
    """Return some rows as a table: their names, a cell under each head, and their features where these are few.

    ``rows``, ``cells`` and ``X`` are about the rows to show, of ``total`` that there are.
    """
    from rich.table import Table

    table = Table(*row_columns(rows), title=title, title_justify="left")
    for head, style in heads.items():
        table.add_column(head, **style)
    shown = _telling(X)
    for j in shown:
        name = names[j] if names is not None and j < len(names) else f"#{j}"
        table.add_column(plain_text(name), justify="right", overflow="fold")
    for k, more_cells in enumerate(cells):
        values = X[[k]].toarray()[0] if hasattr(X, "toarray") else X[k]
        table.add_row(*rows[k].cells(), *more_cells, *(f"{float(values[j]):.6g}" for j in shown))
    if len(shown) < X.shape[1]:
        hidden = X.shape[1] - len(shown)
        table.caption = f"the {len(shown)} features that differ most among these rows; {hidden:,} more are hidden"
        table.caption_justify = "left"
    if total > len(cells):
        more = [""] * (len(rows[0].cells()) - 1)
        table.add_row("…", *more, f"{total - len(cells)} more", *[""] * (len(table.columns) - 2 - len(more)))
    return table


def _telling(X: Any) -> list[int]:
    """Return the features to show of some rows: all if they are few, else those that differ most for their size."""
    if X.shape[1] <= _FEATURES_SHOWN:
        return list(range(X.shape[1]))
    import numpy as np

    values = np.asarray(X.toarray() if hasattr(X, "toarray") else X).astype(np.float64)
    spread = values.std(axis=0) / np.maximum(np.abs(values).max(axis=0), np.finfo(float).tiny)
    return sorted(np.argsort(-spread, kind="stable")[:_FEATURES_SHOWN].tolist())


def with_rows_named(text: str, source: Source) -> str:
    """Return a text with its first "row 7", which counts the rows that were not dropped, as the source numbers it."""
    match = re.search(r"\brow (\d+)\b", text)
    if match is None:
        return text
    if source.options.missing == "drop" and source.dropped.rows == 0:
        for _ in source.blocks():
            pass
    (name,) = named_rows(source, [int(match[1])])
    line = f" ({name.file or source.files[0].name}:{name.line})" if name.line is not None else ""
    return f"{text[: match.start()]}row {name.row}{line}{text[match.end() :]}"


def explain(source: Source, screen: Screen) -> None:
    """Show what becomes of every column of a table."""
    from rich.table import Table

    columns = source.describe()
    facts = {"command": "explain", "columns": [column._asdict() for column in columns]}

    def show(console: Any) -> None:
        table = Table("column", "kind", "levels or range", "gaps", "becomes")
        for name, kind, levels, span, gaps, usage in columns:
            size = f"{levels:,}" if levels is not None else f"{span[0]:.6g} to {span[1]:.6g}" if span else ""
            table.add_row(*(plain_text(cell) for cell in (name, kind, size, f"{gaps:,}" if gaps else "", usage)))
        console.print(table if columns else f"{source.files[0].name}: no named columns; all of them are numbers")

    result(facts, screen, show)


def kinds(source: Source) -> dict[str, list[str]]:
    """Return the names of the columns by what they are taken for, empty where there is no table."""
    from linsep.data.schema import HASHED_TEXT, TEXT, is_numeric

    layout = source.layout
    names: dict[str, list[str]] = {}
    for name, kind in layout.columns if layout is not None else ():
        names.setdefault(
            "numbers" if is_numeric(kind) else "text" if kind in (TEXT, HASHED_TEXT) else "words", []
        ).append(name)
    return names


def kinds_line(names: dict[str, list[str]]) -> str:
    """Return in one line which columns are numbers and which are words."""
    listed = {kind: ", ".join(some if len(some) <= 8 else [*some[:7], "…"]) for kind, some in names.items()}
    return "; ".join(f"{count(len(names[kind]), 'column')} of {kind}: {listed[kind]}" for kind in names)


def label_facts(source: Source) -> dict[str, Any]:
    """Return the name of the column with the labels, for ``--json``."""
    return {"label": None if source.layout is None else source.layout.target}


def label_line(source: Source, classes: int) -> dict[str, str]:
    """Return the line about the label of a table: which column it is, and the number of classes."""
    layout = source.layout
    if layout is None or layout.target is None:
        return {}
    name = layout.target if layout.named else f"column {layout.target}"
    last = " (last column)" if source.options.target is None else ""
    return {"label": f"{name}{last}, {count(classes, 'class')}"}


def open_like(model: Any, paths: list[str], reading: ReadingAgain, *, labels: bool = True) -> Source:
    """Open data to be read as those that the model learned from: the same columns, whatever their order now."""
    from linsep.data.read import options_like, read
    from linsep.data.schema import NUMBER, Layout

    known = options_like(getattr(model, "reading_", {}), labels=labels)
    names = getattr(model, "feature_names_in_", None)
    if "layout" not in known and names is not None:
        known["layout"] = Layout(tuple((str(name), NUMBER) for name in names))
    return read(paths if len(paths) > 1 else paths[0], **known | reading.options)


def open_model(path: str) -> Any:
    """Read a model of linsep or of LIBLINEAR, whichever it is."""
    from linsep.models.exchange import read_liblinear
    from linsep.models.files import load_plain
    from linsep.models.perceptron import Perceptron

    with open_bytes(path) as file:
        text = file.read(12) == b"solver_type "
    return read_liblinear(path, Perceptron) if text else load_plain(path)


def feature_names(model: Any) -> Any:
    """Return a function from the number of a feature to its name."""
    from linsep.data.schema import Layout

    memory = getattr(model, "reading_", {})
    names = getattr(model, "feature_names_in_", None)
    if names is None and "names" in memory and memory["named"]:
        names = Layout.from_state(memory).names
    first = 1 if memory.get("format") == "libsvm" and not memory.get("zero_based") else 0

    def name(j: int) -> str:
        return str(names[j]) if names is not None and j < len(names) else f"#{j + first}"

    return name


def blocks(model: Any, source: Source) -> Iterator[tuple[Any, Any]]:
    """Yield rows of as many features as the model has, and their labels."""
    from linsep.data.parallel import ahead
    from linsep.models.from_files import fitted_rows

    rows = fitted_rows(model, source, ahead(source.blocks(), owner=source))
    return ((X, y) for X, y, _ in rows)


def write_proof(path: str, verdict: Any, source: Source, about: Any, options: dict[str, str], note: str | None) -> None:
    """Write a proof in one step; ``about`` is the fingerprint of the data."""
    from linsep.data.files import replacing
    from linsep.prove.documents import written
    from linsep.prove.numbers.text import reading_of

    files = [os.path.basename(file.name) for file in source.files]
    options = {**options, "fit_intercept": str(verdict.fit_intercept), "values": verdict.values}
    about = {**about, "files": files, "reading": reading_of(source)}
    with replacing(path) as file:
        file.write(written(verdict, about, note=note, options=options).encode())


def write_proof_for(path: str, verdict: Any, X: Any, y: Any, source: Source, command: str, note: str | None) -> None:
    """Write the proof of a verdict on rows in memory."""
    from linsep.prove.checking import about_data

    verdict, about = about_data(verdict, X, y)
    write_proof(path, verdict, source, about, {"command": command}, note)
