"""``linsep show``: shows a model, how its run ended, its largest weights, and figures."""

from __future__ import annotations

from typing import Annotated, Any

from linsep.cli.drawing import Pictures, draw
from linsep.cli.inputs import feature_names, open_model
from linsep.cli.options import Argument, Model, ReadingAgain, Screen, command
from linsep.cli.screen import count, facts_table, plain_text, result
from linsep.declared import Parameter
from linsep.wording import largest_between, margin_found


@command("linsep show species.linsep train.csv --out figures")
def show(
    model: Model,
    data: Annotated[
        list[str] | None,
        Argument("Rows to draw together with the model; figures go to --out."),
    ] = None,
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
        draw(fitted, data, reading, screen, pictures)
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
            lines["margin"] = margin_found(fitted.margin_, fitted.radius_, fitted.fit_intercept, len(labels))
    elif hasattr(fitted, "margin_lower_"):
        lines["margin"] = largest_between(fitted.margin_lower_, fitted.margin_upper_, fitted.fit_intercept)
    else:
        lines["run"] = "none: the weights were imported"
    if hasattr(fitted, "support_"):
        lines["support"] = count(len(fitted.support_), "row")
    return lines


def _weights(strongest: list[dict[str, Any]], b: Any, labels: list[Any]) -> Any:
    """Return the strongest weights and the offsets as a table."""
    from rich.table import Table

    columns = ["weight"] if len(b) == 1 else labels
    title = f"the {count(len(strongest), 'strongest weight')}" if strongest else "all weights are 0"
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
