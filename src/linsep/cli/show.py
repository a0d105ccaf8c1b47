"""``linsep show``: shows a model, how its run ended, its largest weights, and figures."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from linsep.cli.inputs import blocks, feature_names, open_like, open_model
from linsep.cli.options import Argument, Model, ReadingAgain, Screen, command
from linsep.cli.screen import count, facts_table, headline, plain_text, result
from linsep.data.files import is_url
from linsep.declared import Parameter
from linsep.wording import largest_between, margin_line


@dataclass(frozen=True)
class Pictures:
    """Which figures to write, and where."""

    out: Annotated[str, Parameter("Folder to write the figures to.", short="-o", metavar="DIR")] = "figures"
    image: Annotated[Literal["png", "svg", "pdf"], Parameter("Image format of the figures.")] = "png"
    style: Annotated[Literal["light", "dark"], Parameter("Color theme of the figures.")] = "light"
    animate: Annotated[bool, Parameter("Also write the run as an animation, run.gif.")] = False


@command("linsep show species.linsep train.csv --out figures")
def show(
    model: Model,
    data: Annotated[list[str] | None, Argument("Rows to draw together with the model; figures go to --out.")] = None,
    *,
    pictures: Pictures,
    top: Annotated[int, Parameter("Number of weights to show, largest first.", metavar="N", min=1)] = 20,
    screen: Screen,
    reading: ReadingAgain,
) -> None:
    """Show a model: its kind, how its run ended, and its largest weights; with DATA, draw figures.

    linsep reads DATA as it read the training data. If DATA is the training data, the figures also show the run: pass by
    pass, and mistake by mistake beside the theorem's bound.
    """
    import numpy as np

    fitted = open_model(model)
    if data:
        _draw(fitted, data, reading, screen, pictures)
        return
    W, b = getattr(fitted, "coef_", np.empty((1, 0))), getattr(fitted, "intercept_", np.empty(0))  # a kernel has none
    strength = np.abs(W).max(axis=0)
    strongest = np.argsort(-strength, kind="stable")[: min(top, np.count_nonzero(strength))].tolist()
    name = feature_names(fitted)
    stopped = getattr(fitted, "stop_reason_", None)
    facts = {
        "command": "show",
        "model": model,
        "kind": type(fitted).__name__,
        "parameters": fitted.get_params(),
        "classes": fitted.classes_.tolist(),
        "features": fitted.n_features_in_,
        "stop_reason": stopped,
        "passes": getattr(fitted, "n_iter_", None),
        "mistakes": getattr(fitted, "mistakes_", None),
        "radius": getattr(fitted, "radius_", None) if stopped else None,
        "margin": getattr(fitted, "margin_", None) if stopped else None,
        "intercept": b,
        "weights": [{"feature": name(j), "index": j, "weights": W[:, j]} for j in strongest],
    }

    def display(console: Any) -> None:
        console.print(facts_table(_lines(fitted, int(np.count_nonzero(strength)))))
        if W.shape[1]:
            console.print(_weights(facts["weights"], b, facts["classes"]))

    result(facts, screen, display)


def _lines(fitted: Any, weights: int) -> dict[str, str]:
    """Return the lines about a model, of which ``weights`` features have a weight."""
    labels, stopped = fitted.classes_.tolist(), getattr(fitted, "stop_reason_", None)
    defaults = type(fitted)().get_params()
    changed = (f"{key}={value}" for key, value in fitted.get_params().items() if value != defaults[key])
    lines = {
        "kind": " ".join([type(fitted).__name__, *changed]),
        "classes": ", ".join(map(str, labels[:12])) + (f" … {len(labels)} in all" if len(labels) > 12 else ""),
        "features": f"{fitted.n_features_in_:,}" + (f", {weights:,} of them with a weight" if weights else ""),
    }
    if stopped:
        passes, mistakes = count(fitted.n_iter_, "pass"), count(fitted.mistakes_, "mistake")
        lines["run"] = f"{passes}, {mistakes}, stopped: {stopped}"
        if hasattr(fitted, "radius_"):
            lines["margin"] = margin_line(fitted.margin_, fitted.radius_, fitted.fit_intercept, len(labels))
    elif hasattr(fitted, "margin_lower_"):
        lines["margin"] = largest_between(fitted.margin_lower_, fitted.margin_upper_, fitted.fit_intercept)
    else:
        lines["run"] = "none: the weights were imported"
    if hasattr(fitted, "support_"):
        lines["support"] = count(len(fitted.support_), "row")
    return lines


def _weights(strongest: list[dict[str, Any]], b: Any, labels: list[Any]) -> Any:
    from rich.table import Table

    columns = ["weight"] if len(b) == 1 else labels
    number = f"{len(strongest)} " if len(strongest) > 1 else ""
    title = f"the {number}strongest weight{'s' * (len(strongest) > 1)}" if strongest else "all weights are 0"
    table = Table("feature", title=title, title_justify="left")
    for column in columns[:12]:
        table.add_column(plain_text(column), justify="right")
    for each in strongest:
        table.add_row(plain_text(each["feature"]), *(f"{w:.6g}" for w in each["weights"][:12]))
    table.add_section()
    table.add_row(plain_text("offset", style="dim"), *(f"{each:.6g}" for each in b[:12]))
    if len(columns) == 1:
        table.caption = plain_text(f"w points to the side of {labels[-1]}")
    return table


# ---------------------------------------------------------------------------------------------------------------
# Figures


def _draw(model: Any, data: list[str], reading: ReadingAgain, screen: Screen, pictures: Pictures) -> None:
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

    def display(console: Any) -> None:
        console.print(headline(out, f": {count(len(written), 'figure')}"))
        lines = {os.path.basename(path): "written" for path in written}
        console.print(facts_table(lines | {name: f"left out: {reason}" for name, reason in left_out.items()}))

    result(facts, screen, display)


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

        def film() -> None:
            import matplotlib.pyplot as plt

            linsep.animate(model, X, y, f"{folder}/run.gif", row_numbers=numbers, style=style)
            plt.close("all")

        yield "run", film


def _write(figure: Any, path: str, image: str) -> None:
    import matplotlib.pyplot as plt

    from linsep.data.files import replacing

    if not is_url(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=image, dpi=150)
    plt.close(figure)
    with replacing(path) as file:
        file.write(buffer.getvalue())
