"""The figures of ``linsep show``."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from linsep.cli.inputs import blocks, open_like
from linsep.cli.options import ReadingAgain, Screen
from linsep.cli.screen import count, facts_table, headline, result
from linsep.data.files import is_url
from linsep.declared import Parameter


@dataclass(frozen=True)
class Pictures:
    """Which figures to write, and where."""

    out: Annotated[str, Parameter("Folder to write the figures to.", short="-o", metavar="DIR")] = "figures"
    image: Annotated[Literal["png", "svg", "pdf"], Parameter("Image format of the figures.")] = "png"
    style: Annotated[Literal["light", "dark"], Parameter("Color theme of the figures.")] = "light"
    animate: Annotated[bool, Parameter("Also write the run as an animation, run.gif.")] = False


def draw(model: Any, data: list[str], reading: ReadingAgain, screen: Screen, pictures: Pictures) -> None:
    """Write the figures of a model among some rows into a folder, and say which."""
    import matplotlib as mpl

    mpl.use("Agg")  # files only: no window, no screen needed
    out, image = pictures.out, pictures.image
    folder = out.rstrip("/") or "/"
    if not is_url(out) and os.path.exists(out) and not os.path.isdir(out):
        raise ValueError(f"{out}: is a file; --out takes a folder")
    X, y, numbers = _rows(model, data, reading)
    written: list[str] = []
    left_out: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")  # they are in its order
        for name, figure in _figures(model, X, y, numbers, folder, pictures):
            try:
                drawn = figure()
            except ValueError as error:  # not all models and rows have all figures: say why
                left_out[name] = str(error)
                continue
            path = f"{folder}/{name}.{image}" if name != "run" else f"{folder}/run.gif"
            if name != "run":
                _write(drawn.figure_, path, image)
            written.append(path)
    if not written:
        raise ValueError(next(iter(left_out.values())))
    facts = {"command": "show", "data": data, "rows": X.shape[0], "figures": written, "left_out": left_out}

    def show(console: Any) -> None:
        console.print(headline(out, f": {count(len(written), 'figure')}"))
        lines = {os.path.basename(path): "written" for path in written}
        console.print(facts_table(lines | {name: f"left out: {reason}" for name, reason in left_out.items()}))

    result(facts, screen, show)


def _rows(model: Any, data: list[str], reading: ReadingAgain) -> tuple[Any, Any, Any]:
    """Read rows and labels as the model did; return also the numbers of the rows in the data."""
    import numpy as np

    from linsep.data.arrays import is_sparse, stack

    source = open_like(model, data, reading)
    parts, labels = zip(*blocks(model, source), strict=True)
    if labels[0] is None:
        raise ValueError(f"{source.files[0].name}: has no labels; the figures need them")
    sparse = is_sparse(parts[0])
    X = stack(list(parts), parts[0].shape[1]).tocsr() if sparse else np.concatenate(parts)
    return X, np.concatenate(labels), source.dropped.in_source(np.arange(X.shape[0]))


def _figures(
    model: Any, X: Any, y: Any, numbers: Any, folder: str, pictures: Pictures
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of every figure and a function that draws it."""
    import linsep
    from linsep.pages.reporting.study import theorem_margin
    from linsep.prove.bounds.audits import audit_trail, own_trail

    style = pictures.style
    if not hasattr(model, "coef_"):
        raise ValueError(f"a {type(model).__name__} has no plane to draw")
    two = len(model.coef_) == 1
    place = linsep.PlaneDisplay if two else linsep.RegionsDisplay
    yield "plane" if two else "regions", lambda: place.from_estimator(model, X, y, style=style)
    yield "margins", lambda: linsep.MarginsDisplay.from_estimator(model, X, y, style=style)
    if not hasattr(model, "update_margin"):
        return  # nothing was run, or not a perceptron
    yield "passes", lambda: linsep.PassesDisplay.from_estimator(model, X, y, style=style)

    def theorem() -> Any:
        trail = own_trail(model, X, y)
        margin, _ = theorem_margin(model, trail, X, y)
        if margin is None:
            raise ValueError("the bound needs a margin, which linsep does not search for in this many features")
        return linsep.TheoremDisplay(audit_trail(model, trail, X, y, margin=margin)).plot(style=style)

    def bracket() -> Any:
        from linsep.errors import NotSeparable

        trail = own_trail(model, X, y)
        try:
            margin, _ = theorem_margin(model, trail, X, y)
        except NotSeparable:
            margin = None
        bounds = None if margin is None else (margin.lower, margin.upper)
        return linsep.BracketDisplay.from_trail(model, trail, bounds).plot(style=style)

    yield "theorem", theorem
    yield "bracket", bracket
    if pictures.animate:
        film = partial(linsep.animate, model, X, y, f"{folder}/run.gif", row_numbers=numbers, style=style)
        yield "run", lambda: _film(film())


def _film(film: Any) -> Any:
    """Close the figure of an animation that has been written."""
    import matplotlib.pyplot as plt

    plt.close(film._fig)
    return film


def _write(figure: Any, path: str, image: str) -> None:
    """Write a figure whole or not at all, and close it."""
    import matplotlib.pyplot as plt

    from linsep.data.files import replacing

    if not is_url(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=image, dpi=150)
    plt.close(figure)
    with replacing(path) as file:
        file.write(buffer.getvalue())
