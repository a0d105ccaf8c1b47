"""``linsep report`` and the figures of ``linsep show``: what there is to see of some rows."""

from __future__ import annotations

import io
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from linsep.cli.inputs import all_at_once, blocks, check_place, open_data, open_like
from linsep.cli.options import DECIDING, OUTPUT, Data, Planes, Reading, ReadingAgain, Screen, grouped
from linsep.cli.screen import count, facts_table, headline, result


@grouped
def report(
    data: Data,
    planes: Planes,
    delta: Annotated[
        float, typer.Option(help="Probability with which a bound on the error may fail.", rich_help_panel=DECIDING)
    ] = 0.05,
    test_size: Annotated[
        float, typer.Option(help="Share of the rows held out to measure the error.", rich_help_panel=DECIDING)
    ] = 0.2,
    time_limit: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="For the search for a proof.", rich_help_panel=DECIDING)
    ] = 60.0,
    random_state: Annotated[
        int, typer.Option(metavar="SEED", min=0, help="Seed of what is random.", rich_help_panel=DECIDING)
    ] = 0,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="OUT", help="HTML file to write.", rich_help_panel=OUTPUT)
    ] = "report.html",
    title: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Of the page; by default the name of the file.", rich_help_panel=OUTPUT),
    ] = None,
    *,
    screen: Screen,
    reading: Reading,
) -> None:
    """Write one HTML page about the data: verdict and proof, run and bound, margins, errors on new rows, figures.

    The page needs no network and no other file. The exit code is 0 whatever the verdict.
    """
    import matplotlib as mpl

    from linsep.data.atomic import replacing
    from linsep.pages.reporting.page import page
    from linsep.pages.reporting.study import study

    mpl.use("Agg")  # files only: no window, no screen needed
    started = time.perf_counter()
    check_place(out)
    source = open_data(data, reading)
    X, y = all_at_once(source)
    names = list(source.names) if source.names is not None and len(source.names) == X.shape[1] else None
    found = study(
        X, y, fit_intercept=planes.with_offset, feature_names=names, delta=delta, test_size=test_size,
        time_limit=time_limit, random_state=random_state,
    )  # fmt: skip
    html = page(found, title or os.path.basename(source.files[0].name))
    with replacing(out) as file:
        file.write(html.encode())
    held = None if found.unseen is None else found.unseen.held_out
    facts = {
        "command": "report",
        "data": data,
        "out": out,
        "rows": found.rows,
        "features": found.features,
        "classes": found.classes,
        "verdict": found.verdict.kind,
        "stop_reason": found.model.stop_reason_,
        "mistakes": found.model.mistakes_,
        "mistake_bound": None if found.bound is None else found.bound.mistakes,
        "margin_lower": None if found.margin is None else found.margin.lower,
        "margin_upper": None if found.margin is None else found.margin.upper,
        "audit": None if found.audit is None else found.audit.holds,
        "error_interval": None if held is None else [held.lower, held.value],
        "seconds": time.perf_counter() - started,
    }

    def show(console: Any) -> None:
        lines = {
            "rows": f"{found.rows:,} of {count(found.features, 'feature')}, {count(len(found.classes), 'class')}",
            "verdict": found.verdict.kind,
            "run": f"{count(found.model.mistakes_, 'mistake')}, stopped by {found.model.stop_reason_}",
        }
        if found.bound is not None:
            lines["bound"] = f"at most {found.bound.mistakes:,.0f} mistakes"
        if held is not None:
            lines["error"] = f"{held.lower:.2%} to {held.value:.2%} on new rows, at confidence {1 - delta:g}"
        console.print(headline(out, f": {len(html) / 1024:,.0f} KB in {facts['seconds']:.2f} s"))
        console.print(facts_table(lines))

    result(facts, screen, show)


# ---------------------------------------------------------------------------------------------------------------
# Figures of a model


def draw(
    model: Any,
    data: list[str],
    out: str,
    screen: Screen,
    reading: ReadingAgain,
    *,
    image: str,
    style: str,
    animate: bool,
) -> None:
    """Write the figures of a model among some rows into a folder, and say which."""
    import matplotlib as mpl

    mpl.use("Agg")  # files only: no window, no screen needed
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{out}: is a file, not a folder")
    X, y = _rows(model, data, reading)
    written: list[str] = []
    left_out: dict[str, str] = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")  # they are in its order
        for name, figure in _figures(model, X, y, folder, style, animate):
            try:
                drawn = figure()
            except ValueError as error:  # not all models and rows have all figures: say why
                left_out[name] = str(error)
                continue
            path = folder / (f"{name}.{image}" if name != "run" else "run.gif")
            if name != "run":
                _write(drawn.figure_, path, image)
            written.append(str(path))
    if not written:
        raise ValueError(next(iter(left_out.values())))
    facts = {"command": "show", "data": data, "rows": X.shape[0], "figures": written, "left_out": left_out}

    def show(console: Any) -> None:
        console.print(headline(out, f": {count(len(written), 'figure')}"))
        lines = {Path(path).name: "written" for path in written}
        console.print(facts_table(lines | {name: f"left out: {reason}" for name, reason in left_out.items()}))

    result(facts, screen, show)


def _rows(model: Any, data: list[str], reading: ReadingAgain) -> tuple[Any, Any]:
    """Read rows and labels as the model did."""
    import numpy as np
    import scipy.sparse as sp

    source = open_like(model, data, reading)
    parts, labels = zip(*blocks(model, source), strict=True)
    if labels[0] is None:
        raise ValueError(f"{source.files[0].name}: there are no labels")
    X = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
    return X, np.concatenate(labels)


def _figures(
    model: Any, X: Any, y: Any, folder: Path, style: str, animate: bool
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of every figure and a function that draws it."""
    import linsep
    from linsep.pages.reporting.study import theorem_margin
    from linsep.prove.audits import follow, own_trail
    from linsep.prove.mistake_bounds import mistake_bound

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
            raise ValueError(
                "the largest margin of so many features is not searched for, and the run did not end separated"
            )
        bound = mistake_bound(
            X, y, fit_intercept=model.fit_intercept, eta0=model.eta0, update_margin=model.update_margin, margin=margin
        )
        return linsep.TheoremDisplay(follow(model, trail, bound)).plot(style=style)

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
    if animate:
        yield "run", lambda: _film(linsep.animate(model, X, y, folder / "run.gif", style=style))


def _film(film: Any) -> Any:
    """Close the figure of an animation that has been written."""
    import matplotlib.pyplot as plt

    plt.close(film._fig)
    return film


def _write(figure: Any, path: Path, image: str) -> None:
    """Write a figure whole or not at all, and close it."""
    import matplotlib.pyplot as plt

    from linsep.data.atomic import replacing

    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=image, dpi=150)
    plt.close(figure)
    with replacing(path) as file:
        file.write(buffer.getvalue())
