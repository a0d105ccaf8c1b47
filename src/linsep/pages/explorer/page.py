"""The explorer as one HTML file: points and settings go in, the page computes all else itself."""

from __future__ import annotations

import math
import warnings
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.data.files import replacing
from linsep.data.read import read
from linsep.errors import DataNote
from linsep.pages.checker import as_data
from linsep.pages.script import bundle

MOST_ROWS, MOST_COLUMNS, MOST_CLASSES = 3000, 32, 10  # that the page takes: points.js says the same
SETTINGS = (  # that the page takes: settings.js declares them
    *("order", "visits", "eta0", "fit_intercept", "features", "mistake", "keep", "multi_class", "noise", "hold_out"),
    *("start", "on_plane", "update_margin", "max_iter", "max_updates", "tol", "target_margin", "early_stopping"),
    *("gamma", "random_state", "columns"),
)
_ENGINE, _PAGE = "explorer/engine/engine.js", "explorer/page/explore.js"


class Page:
    """The explorer with some points; a notebook shows it."""

    def __init__(
        self, points: dict[str, Any] | None = None, settings: dict[str, Any] | None = None, note: str = ""
    ) -> None:
        for name in settings or {}:
            if name not in SETTINGS:
                raise TypeError(f"the explorer has no setting {name!r}; it has {', '.join(SETTINGS)}")
        if settings and not isinstance(order := settings.get("order", ""), str):
            settings = settings | {"order": "list", "visits": [int(i) for i in order]}
        self.start: dict[str, Any] = {"points": points, "settings": settings or {}, "said": note}

    @property
    def html(self) -> str:
        """The page: one file, which loads nothing."""
        return _frame().replace("/*START*/", as_data(self.start))

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        with replacing(path) as file:
            file.write(self.html.encode())

    def __repr__(self) -> str:
        points = self.start["points"]
        return "the explorer, an example" if points is None else f"the explorer, {len(points['rows'])} points"

    def _repr_html_(self) -> str:
        frame = 'style="width: 100%; height: 860px; border: 0"'
        return f'<iframe {frame} title="linsep explore" srcdoc="{escape(self.html)}"></iframe>'


@cache
def _frame() -> str:
    part = files("linsep.pages.explorer").joinpath("page")
    engine = f"{bundle(_ENGINE)}const linsepEngine = explorer_engine_engine;\n"
    return (
        part.joinpath("index.html")
        .read_text(encoding="utf-8")
        .replace("/*STYLE*/", part.joinpath("explore.css").read_text(encoding="utf-8"))
        .replace("/*ENGINE*/", engine)
        .replace("/*PAGE*/", bundle(_PAGE, without=(_ENGINE,)))
    )


def points_of(X: Any, y: Any, names: Any = ()) -> dict[str, Any]:
    """Return rows and labels as the page takes them; refuse more than it can show."""
    table = X.toarray() if sp.issparse(X) else np.asarray(X)
    if not len(names) and hasattr(X, "columns"):
        names = [str(name) for name in X.columns]
    if table.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {table.ndim}")
    table, labels = table.astype(np.float64), [_label(label) for label in np.asarray(y).ravel().tolist()]
    if len(table) != len(labels):
        raise ValueError(f"{len(table)} points but {len(labels)} labels")
    for what, number, most in (
        ("points", len(table), MOST_ROWS),
        ("columns", table.shape[1], MOST_COLUMNS),
        ("classes", len(set(labels)), MOST_CLASSES),
    ):
        if number > most:
            raise ValueError(f"the page takes up to {most} {what}, got {number}")
    if not np.isfinite(table).all():
        raise ValueError("X contains NaN or infinity")
    return {"rows": table.tolist(), "labels": labels, "names": list(names)}


def _label(label: Any) -> int | str:
    """Return a label as a whole number if it is one, else as a word."""
    if isinstance(label, int | float) and not isinstance(label, bool) and math.isfinite(label) and label == int(label):
        return int(label)
    return str(label)


def points_of_file(path: Any, **options: Any) -> tuple[dict[str, Any], str]:
    """Read points as ``linsep.read`` does, the first ones of many; return what is to be said of it, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)  # the page says them in its own place
        source = read(path, **options)
        blocks: list[Any] = []
        labels: list[Any] = []
        notes = []
        for X, y, _ in source:
            assert y is not None  # labels were asked for
            left = MOST_ROWS - len(labels)
            blocks.append((X.toarray() if sp.issparse(X) else np.asarray(X))[:left])
            labels += y[:left].tolist()
            if len(y) > left:
                notes.append(f"the page shows the first {MOST_ROWS} rows")
                break
    points = points_of(np.vstack(blocks), labels, [str(name) for name in source.names or ()])
    return points, ". ".join([*notes, *map(str, source.notes)])
