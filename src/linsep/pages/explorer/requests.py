"""Validates the points and settings that the page sends."""

from __future__ import annotations

import io
import math
import warnings
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from linsep.data.read import read
from linsep.errors import DataNote

MOST_ROWS = 3000
MOST_COLUMNS = 32
MOST_CLASSES = 10
MOST_UPDATES = 20_000  # so many moments of a run can be shown
_LARGEST = 1e12  # coordinate
_LONGEST = 40  # characters of a label or a name

Label = int | str


ORDERS = ("cyclic", "shuffled", "first", "worst")
KEEPS = ("last", "best", "average", "vote")
CHOICES: dict[str, tuple[Any, ...]] = {
    "order": ORDERS,
    "multi_class": ("argmax", "ovr"),
    "mistake": ("violation", "prediction"),
    "on_plane": (-1, 1),
    "keep": KEEPS,
}


@dataclass(frozen=True)
class Points:
    """Rows with their labels; all labels are whole numbers, or all are words."""

    rows: tuple[tuple[float, ...], ...]
    labels: tuple[Label, ...]
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, asked: Any) -> Self:
        """Check what a page sent; ValueError says what is wrong with it."""
        if not isinstance(asked, dict):
            raise ValueError("points must be an object with rows and labels")
        rows, labels, names = (_sequence(asked.get(key, []), key) for key in ("rows", "labels", "names"))
        if len(rows) > MOST_ROWS:
            raise ValueError(f"this page shows up to {MOST_ROWS} points, got {len(rows)}")
        if len(rows) != len(labels):
            raise ValueError(f"{len(rows)} points but {len(labels)} labels")
        width = len(_sequence(rows[0], "a row")) if rows else 0
        if rows and not 1 <= width <= MOST_COLUMNS:
            raise ValueError(f"this page takes 1 to {MOST_COLUMNS} columns, got {width}")
        if names and rows and len(names) != width:
            raise ValueError(f"{len(names)} names for {width} columns")
        table = tuple(
            tuple(_number(value, f"point {i + 1}") for value in _sequence(row, f"point {i + 1}"))
            for i, row in enumerate(rows)
        )
        for i, row in enumerate(table):
            if len(row) != width:
                raise ValueError(f"point {i + 1} has {len(row)} coordinates, but the first point has {width}")
        return cls(table, _labels(labels), tuple(str(name)[:_LONGEST] for name in names))

    @classmethod
    def of_arrays(cls, X: Any, y: Any, names: Any = ()) -> Self:
        """Take rows and labels from Python; refuse more than the page can show."""
        table = X.toarray() if sp.issparse(X) else np.asarray(X)
        if not names and hasattr(X, "columns"):
            names = [str(name) for name in X.columns]
        if table.ndim != 2:
            raise ValueError(f"X must have two dimensions, got {table.ndim}")
        labels = np.asarray(y).ravel().tolist()
        return cls.of({"rows": table.astype(np.float64).tolist(), "labels": labels, "names": list(names or ())})

    @classmethod
    def of_source(cls, path: Any, **options: Any) -> tuple[Self, str]:
        """Read points from a file or stream as ``linsep.read`` does, the first ones of many; say what was left out."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataNote)  # the page says them in its own place
            source = read(path, **options)
            blocks: list[Any] = []
            labels: list[Any] = []
            said = ""
            for X, y, _ in source:
                assert y is not None  # labels were asked for
                if X.shape[1] > MOST_COLUMNS:
                    raise ValueError(f"this page takes up to {MOST_COLUMNS} features, got {X.shape[1]}")
                room = MOST_ROWS - len(labels)
                blocks.append((X.toarray() if sp.issparse(X) else np.asarray(X))[:room])
                labels += y[:room].tolist()
                if len(y) > room:
                    said = f"this page shows the first {MOST_ROWS} rows"
                    break
        said = ". ".join([*filter(None, [said]), *map(str, source.notes)])
        names = source.names or ()
        return cls.of_arrays(np.vstack(blocks), labels, [str(name) for name in names]), said

    @classmethod
    def of_text(cls, text: str) -> tuple[Self, str]:
        """Read pasted lines: coordinates, then the label."""
        if not text.strip():
            raise ValueError("nothing to read: write one point per line, its label last")
        return cls.of_source(io.BytesIO(text.encode()), format="csv")

    def plain(self) -> dict[str, Any]:
        """Return the points as JSON has them."""
        return {"rows": [list(row) for row in self.rows], "labels": list(self.labels), "names": list(self.names)}


@dataclass(frozen=True)
class Settings:
    """How to run the perceptron, and which two columns to look at if there are more."""

    fit_intercept: bool = True
    order: str = "cyclic"
    multi_class: str = "argmax"
    mistake: str = "violation"
    on_plane: int = -1
    eta0: float = 1.0
    max_iter: int = 1000
    max_updates: int = 5000
    tol: float | None = None
    early_stopping: bool = False
    target_margin: float | None = None
    update_margin: float = 0.0
    keep: str = "last"
    random_state: int = 0
    start: tuple[float, ...] = ()
    columns: tuple[int, int] | None = None

    @classmethod
    def of(cls, asked: Any) -> Self:
        """Check what a page sent; ValueError says what is wrong with it."""
        if not isinstance(asked, dict):
            raise ValueError("settings must be an object")
        unknown = sorted(set(map(str, asked)) - {item.name for item in fields(cls)})
        if unknown:
            raise ValueError(f"there is no setting {unknown[0][:_LONGEST]!r}")
        value = {**asdict(cls()), **asked}
        for name in ("fit_intercept", "early_stopping"):
            if not isinstance(value[name], bool):
                raise ValueError(f"{name} must be true or false")
        for name, choices in CHOICES.items():
            if value[name] not in choices or type(value[name]) is not type(choices[0]):
                raise ValueError(f"{name} must be one of {', '.join(map(str, choices))}")
        for name, least, most in (
            ("max_iter", 1, 10_000),
            ("max_updates", 1, MOST_UPDATES),
            ("random_state", 0, 2**31 - 1),
        ):
            if not isinstance(value[name], int) or isinstance(value[name], bool) or not least <= value[name] <= most:
                raise ValueError(f"{name} must be a whole number from {least} to {most}")
        for name, smallest in (("eta0", 1e-6), ("update_margin", 0.0), ("target_margin", 1e-6), ("tol", 0.0)):
            if value[name] is not None or name in ("eta0", "update_margin"):
                value[name] = _number(value[name], name)
                if not smallest <= value[name] <= 1e6:
                    raise ValueError(f"{name} must be a number from {smallest:g} to 1000000")
        value["start"] = tuple(numbers(value["start"], "start weights"))
        if value["columns"] is not None:
            pair = _sequence(value["columns"], "columns")
            if len(pair) != 2 or not all(type(j) is int and 0 <= j < MOST_COLUMNS for j in pair) or pair[0] == pair[1]:
                raise ValueError("columns must be two different column numbers, counted from 0")
            value["columns"] = (pair[0], pair[1])
        return cls(**value)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the perceptron."""
        return {
            "fit_intercept": self.fit_intercept,
            "multi_class": self.multi_class,
            "mistake": self.mistake,
            "on_plane": self.on_plane,
            "eta0": self.eta0,
            "shuffle": self.order == "shuffled",
            "order": self.order if self.order in ("first", "worst") else None,
            "max_iter": self.max_iter,
            "max_updates": self.max_updates,
            "tol": self.tol,
            "early_stopping": self.early_stopping,
            "target_margin": self.target_margin,
            "keep": self.keep,
            "update_margin": self.update_margin,
            "prove": False,  # the lecture's algorithm and nothing else; the page has a verdict of its own
            "random_state": self.random_state,
        }

    def plain(self) -> dict[str, Any]:
        """Return the settings as JSON has them."""
        value = asdict(self)
        return value | {"start": list(self.start), "columns": None if self.columns is None else list(self.columns)}


def _sequence(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{what} must be a list")
    return list(value)


def numbers(value: Any, what: str) -> list[float]:
    """Check a list of numbers."""
    return [_number(each, what) for each in _sequence(value, what)]


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{what} must be a number")
    if not abs(value) <= _LARGEST or not math.isfinite(value):
        raise ValueError(
            f"{what} must be a number up to {_LARGEST:g}" + (f", got {value:.3g}" if abs(value) < 1e300 else "")
        )
    return float(value) + 0.0  # no negative zero


def _labels(labels: list[Any]) -> tuple[Label, ...]:
    """Return labels as whole numbers if all are, and as words otherwise."""
    for label in labels:
        if not isinstance(label, int | float | str) or (isinstance(label, float) and not math.isfinite(label)):
            raise ValueError("a label must be a whole number or a word")
    whole = all(not isinstance(label, str) and abs(label) < 2**53 and label == int(label) for label in labels)
    found = tuple(int(label) if whole else str(label)[:_LONGEST] for label in labels)
    if len(set(found)) > MOST_CLASSES:
        raise ValueError(f"this page shows up to {MOST_CLASSES} classes, got {len(set(found))} different labels")
    return found
