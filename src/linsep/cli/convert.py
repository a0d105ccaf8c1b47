"""``linsep convert``: converts a model to the format of another program."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

import click

from linsep.cli.inputs import check_place, open_model
from linsep.cli.options import Argument, Screen, command
from linsep.cli.screen import count, headline, result
from linsep.data.files import masked
from linsep.declared import Parameter

_ENDINGS = {
    ".linsep": "linsep",
    ".safetensors": "linsep",
    ".onnx": "onnx",
    ".liblinear": "liblinear",
    ".model": "liblinear",
    ".txt": "liblinear",
}


@command("linsep convert species.linsep species.onnx")
def convert(
    model: Annotated[str, Argument("Model to read: linsep's own or LIBLINEAR's; detected from the content.")],
    out: Annotated[str, Argument("File to write: .linsep, .onnx, or .txt (LIBLINEAR).")],
    to: Annotated[
        Literal["linsep", "liblinear", "onnx"] | None, Parameter("Output format. [default: by the ending of OUT]")
    ] = None,
    float32: Annotated[bool, Parameter("Make an ONNX graph whose input is float32, not float64.")] = False,
    matrix: Annotated[
        bool, Parameter("Make an ONNX graph with one input of all features, not one for each column of the table.")
    ] = False,
    *,
    screen: Screen,
) -> None:
    """Convert a model between the formats of linsep, LIBLINEAR and ONNX."""
    import numpy as np

    from linsep.models.exchange import to_liblinear, to_onnx
    from linsep.models.files import save

    kind = to or _ENDINGS.get(os.path.splitext(masked(out))[1].lower())
    if kind is None:
        raise click.BadParameter(f"cannot tell the format from the name {out}: give --to linsep, liblinear or onnx")
    check_place(out, model)
    fitted = open_model(model)
    if kind == "onnx":
        to_onnx(fitted, out, dtype=np.float32 if float32 else np.float64, raw=False if matrix else None)
    elif kind == "liblinear":
        to_liblinear(fitted, out)
    else:
        save(fitted, out)
    facts = {
        "command": "convert",
        "model": model,
        "out": out,
        "format": kind,
        "classes": fitted.classes_,
        "features": fitted.n_features_in_,
    }

    def display(console: Any) -> None:
        sizes = f"{count(len(fitted.classes_), 'class')}, {count(fitted.n_features_in_, 'feature')}"
        console.print(headline(out, f": {sizes}, as {kind}"))

    result(facts, screen, display)
