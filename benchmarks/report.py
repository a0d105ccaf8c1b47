"""A whole report, figures and all, beside the training and the verdict that it tells of."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import matplotlib as mpl
import numpy as np

from benchmarks import Row, at_most, best
from benchmarks.verdicts import real
from linsep import Perceptron, report, separate
from linsep.cli import main


def command(path: Path) -> None:
    """Write the report on a file as ``linsep report`` does."""
    with suppress(SystemExit):
        main(["report", str(path), "--out", str(path.with_suffix(".html")), "--quiet"])


def run() -> Iterator[Row]:
    warnings.simplefilter("ignore")
    mpl.use("Agg")
    for name, rows, labels in real():
        if name != "IMDB":
            continue
        basis = best(lambda rows=rows, labels=labels: Perceptron().fit(rows, labels), 3)
        basis += best(lambda rows=rows, labels=labels: separate(rows, labels), 3)
        ours = best(lambda rows=rows, labels=labels: report(rows, labels), 3)
        yield at_most("report, IMDB counts", ours, "training + verdict", basis, 3)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "imdb.npz"
            parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": rows.shape}
            np.savez(path, **parts, y=labels)
            ours = best(lambda path=path: command(path), 3)
        yield at_most("linsep report, IMDB counts, from a file", ours, "training + verdict", basis, 3)
