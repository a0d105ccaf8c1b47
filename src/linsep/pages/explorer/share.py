"""Exports from the explorer: points as CSV, the run as Python, the page as one HTML file."""

from __future__ import annotations

import csv
import inspect
import io
import json
import re
from importlib.resources import files
from typing import Any

from linsep.models.estimators import Perceptron
from linsep.pages.checker import script
from linsep.pages.explorer.engine import answer, proof
from linsep.pages.explorer.presets import preset
from linsep.pages.explorer.requests import Points, Settings

_MODULES = (
    "elements",
    "structure",
    "plane",
    "words",
    "charts",
    "editing",
    "undoing",
    "sharing",
    "explore",
)  # each uses those before
# what a saved page may do: run what is in it, and talk to nobody
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


def page(name: str) -> str:
    """Return a file of the page."""
    return files("linsep.pages.explorer").joinpath("page", name).read_text(encoding="utf-8")


def module() -> str:
    """Return the page's modules as one, for a server, a notebook and a saved page alike."""
    text = "\n".join(page(f"{name}.js") for name in _MODULES)
    text = re.sub(r"^export (?=const|function)|^import .*\n", "", text, flags=re.MULTILINE)
    return f"{script()}{text}export {{ mount }};\n"


def as_csv(points: Points) -> str:
    """Return the points as CSV with a header, the label last."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = points.names or tuple(f"x{j + 1}" for j in range(len(points.rows[0]) if points.rows else 0))
    writer.writerow([*names, "label"])
    for row, label in zip(points.rows, points.labels, strict=True):
        writer.writerow([*map(repr, row), label])
    return out.getvalue()


def as_python(points: Points, settings: Settings) -> str:
    """Return a script that makes the same run."""
    rows = [list(row) for row in points.rows]
    if settings.columns is not None and rows and len(rows[0]) > 2:
        rows = [[row[j] for j in settings.columns] for row in rows]
    defaults = {name: each.default for name, each in inspect.signature(Perceptron).parameters.items()}
    given = {key: value for key, value in settings.parameters().items() if defaults[key] != value}
    fit = "X, y"
    if settings.start and len(set(points.labels)) == 2:
        weights = list(settings.start)
        if settings.fit_intercept:
            fit += f", coef_init=[{weights[:-1]}], intercept_init=[{weights[-1]}]"
        else:
            fit += f", coef_init=[{weights}]"
    lines = "".join(f"    {row},\n" for row in rows)
    return (
        "from linsep import Perceptron, separate\n\n"
        f"X = [\n{lines}]\n"
        f"y = {list(points.labels)}\n\n"
        f"model = Perceptron({', '.join(f'{key}={value!r}' for key, value in given.items())})\n"
        f"model.fit({fit})\n"
        "print(model.coef_, model.intercept_, model.mistakes_, model.stop_reason_)\n"
        f"print(separate(X, y, fit_intercept={settings.fit_intercept}))\n"
    )


def as_html(points: Points, settings: Settings) -> str:
    """Return one file that replays the run in any browser, without a server and without Python."""
    content = {
        "points": points.plain(),
        "settings": settings.plain(),
        "shown": answer(points, settings),
        "proof": proof(points, settings),
        "csv": as_csv(points),
        "python": as_python(points, settings),
    }
    # "<" cannot end the script that holds it when it is written as an escape
    data = json.dumps(content, allow_nan=False).replace("<", "\\u003c")
    whole = module().replace("</script", "<\\/script")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<title>A run of the perceptron</title>\n<link rel="icon" href="data:,">\n'
        f"<style>\n{page('explore.css')}\n</style>\n</head>\n<body>\n"
        '<main data-linsep="replay"></main>\n'
        f'<script type="application/json" id="linsep-run">{data}</script>\n'
        f'<script type="module">\n{whole}\n</script>\n</body>\n</html>\n'
    )


def answered(kind: str, asked: Any) -> dict[str, Any]:
    """Answer one question of a page; what cannot be answered is an ``error`` in words.

    Parameters
    ----------
    kind : {"compute", "preset", "read", "proof", "export"}
    asked : object
        As the page sent it.

    Returns
    -------
    answer : dict
    """
    try:
        if not isinstance(asked, dict):
            raise ValueError("it must be an object")
        if kind == "preset":
            chosen = preset(asked)
            return {"points": chosen.points.plain(), "settings": chosen.settings.plain(), "said": chosen.said}
        if kind == "read":
            text = asked.get("text")
            if not isinstance(text, str):
                raise ValueError("it must be text")
            points, said = Points.of_text(text)
            return {"points": points.plain(), "said": said}
        points, settings = Points.of(asked.get("points")), Settings.of(asked.get("settings", {}))
        if kind == "compute":
            return answer(points, settings, asked.get("view"), asked.get("around"))
        if kind == "proof":
            return {"document": proof(points, settings)}
        wanted = asked.get("as")
        if kind == "export" and wanted == "csv":
            return {"text": as_csv(points)}
        if kind == "export" and wanted == "python":
            return {"text": as_python(points, settings)}
        if kind == "export" and wanted == "html":
            return {"text": as_html(points, settings)}
        raise ValueError("unknown request")
    except (ValueError, ArithmeticError) as error:
        return {"error": " ".join(str(error).split())[:400] or type(error).__name__}
