"""Data files as commands take them: options for reading, and what a model remembers of the file it learnt from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from linsep.columns import Layout
    from linsep.read import Source

_PANEL = "Reading"

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="CSV, TSV, LIBSVM, Parquet, Arrow, NPY or NPZ; text also as .gz or .zst; several files, or a glob; "
        "- is standard input.",
        show_default=False,
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model that fit wrote.", show_default=False)]
Format = Annotated[
    Literal["csv", "libsvm", "parquet", "arrow", "npy", "npz"] | None,
    typer.Option("--format", help="By default what the name or the content says.", rich_help_panel=_PANEL),
]
Target = Annotated[
    str | None, typer.Option(help="Column with the labels, by name or number; the last one.", rich_help_panel=_PANEL)
]
Delimiter = Annotated[
    str | None, typer.Option(help="Of CSV; by default found out. A tab is 'tab'.", rich_help_panel=_PANEL)
]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether CSV has names; found out.", rich_help_panel=_PANEL)
]
ZeroBased = Annotated[
    bool | None,
    typer.Option("--zero-based/--one-based", help="First index of LIBSVM text; found out.", rich_help_panel=_PANEL),
]
Missing = Annotated[
    Literal["error", "zero", "drop"], typer.Option(help="What becomes of missing cells.", rich_help_panel=_PANEL)
]

Ignore = Annotated[list[str] | None, typer.Option(help="Column to leave out.", rich_help_panel=_PANEL)]


def check_place(path: str | None) -> None:
    """Refuse a file that could not be written."""
    if path is None:
        return
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise ValueError(f"{path}: there is no folder {os.path.dirname(path)}")
    if os.path.isdir(path):
        raise ValueError(f"{path}: is a folder, not a file")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: no permission to write there")


def open_data(paths: list[str], **options: Any) -> Source:
    """Open the data to learn from."""
    from linsep.read import read

    if options.get("delimiter") in ("tab", "\\t"):
        options["delimiter"] = "\t"
    return read(paths if len(paths) > 1 else paths[0], **options)


def open_like(model: Any, paths: list[str], *, target: str | None, zero_based: bool | None, **options: Any) -> Source:
    """Open data to be read as that which the model learnt from: the same columns, whatever their order now."""
    memory = getattr(model, "reading_", {})
    layout = _layout(model, memory)
    if target is None and layout is not None:
        target = layout.target
    if zero_based is None:  # whoever wrote the weights, LIBLINEAR for one, counted from 1 unless we know better
        zero_based = bool(memory.get("zero_based"))
    return open_data(paths, target=target, zero_based=zero_based, layout=layout, **options)


def remember(model: Any, source: Source, *, invert: bool) -> None:
    """Have the model keep what it takes to read other data in the same way."""
    import numpy as np

    memory: dict[str, Any] = {"format": source.options.format}
    layout = source.layout
    if layout is not None:
        names, kinds = zip(*layout.columns, strict=True) if layout.columns else ((), ())
        memory["names"] = np.array(names, dtype=object)
        memory["kinds"] = np.array(kinds, dtype=object)
        memory["hash_bits"], memory["named"], memory["target"] = layout.hash_bits, layout.named, layout.target
    if source.options.format == "libsvm":
        memory["zero_based"] = bool(getattr(source, "zero_based", False))
    if invert and source.seen:
        places = sorted(source.seen)
        memory["seen"] = np.array(places, dtype=np.int64)
        memory["seen_names"] = np.array([" ".join(sorted(source.seen[j])) for j in places], dtype=object)
    model.reading_ = memory
    if source.names is not None and len(source.names) == model.n_features_in_:
        model.feature_names_in_ = np.array(source.names, dtype=object)


def _layout(model: Any, memory: dict[str, Any]) -> Layout | None:
    """Return the layout of the table that the model learnt from, None if it was no table."""
    from linsep.columns import NUMBER, Layout

    if "names" in memory:
        pairs = tuple(zip(memory["names"].tolist(), memory["kinds"].tolist(), strict=True))
        return Layout(pairs, memory["hash_bits"], memory["named"], memory["target"])
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else Layout(tuple((str(name), NUMBER) for name in names))


def feature_names(model: Any) -> Any:
    """Return a function from the number of a feature to its name."""
    memory = getattr(model, "reading_", {})
    names = getattr(model, "feature_names_in_", None)
    if names is None and "names" in memory and memory["named"]:
        names = memory["names"][memory["kinds"] == "number"]
    seen = dict(zip(memory["seen"].tolist(), memory["seen_names"].tolist(), strict=True)) if "seen" in memory else {}
    first = 1 if memory.get("format") == "libsvm" and not memory.get("zero_based") else 0

    def name(j: int) -> str:
        if names is not None and j < len(names):
            return str(names[j])
        return str(seen.get(j, f"#{j + first}"))

    return name


def blocks(model: Any, source: Source) -> Iterator[tuple[Any, Any]]:
    """Yield rows of as many features as the model has, and their labels."""
    from linsep.stream import ahead, fitted_rows

    return fitted_rows(model, source, ahead(source))
