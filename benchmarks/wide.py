"""Rows as people have them: columns like words, frames, a million columns, many classes, votes."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Perceptron as ScikitPerceptron

from benchmarks import Row, at_least, at_most, in_turns, sized
from linsep import Perceptron, fit_source, read


def words(rng: np.random.Generator) -> Iterator[Row]:
    """Yield fits of rows whose columns are as frequent as words, 300k×60k."""
    n, d, each = sized(300_000, 2000), 60_000, 60
    columns = rng.zipf(1.4, n * each) - 1
    kept = columns < d
    places = (np.repeat(np.arange(n), each)[kept], columns[kept])
    X = sp.coo_array((rng.random(int(kept.sum())), places), shape=(n, d)).tocsr()
    X.sum_duplicates()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    y = np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1, -1)
    ours, theirs = in_turns(
        lambda: Perceptron(max_iter=8).fit(X, y),
        lambda: ScikitPerceptron(max_iter=8, tol=None).fit(X, y),
        times=4,
    )
    yield at_least("fit, 8 passes, 300k×60k CSR, Zipf columns", ours, "scikit-learn", theirs, 2)
    outside, shortest = [], []
    for _ in range(sized(4, 1)):
        started = time.perf_counter()
        seconds = Perceptron(max_iter=8).fit(X, y).history_["seconds"]
        outside.append(time.perf_counter() - started - seconds.sum())
        shortest.append(seconds.min())
    yield at_most("fit outside its passes, Zipf columns", min(outside), "one pass", min(shortest), 1)


def frames(rng: np.random.Generator) -> Iterator[Row]:
    """Yield a fit of a frame, whose columns lie one after the other."""
    import pandas as pd

    n, d = sized(300_000, 2000), 20
    X = rng.standard_normal((n, d))
    y = np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1, -1)
    frame = pd.DataFrame({f"x{j}": X[:, j] for j in range(d)})
    ours, theirs = in_turns(
        lambda: Perceptron(max_iter=20, prove=False).fit(frame, y),
        lambda: ScikitPerceptron(max_iter=20, tol=None).fit(frame, y),
        times=4,
    )
    yield at_least("fit of a DataFrame, 20 passes, 300k×20", ours, "scikit-learn", theirs, 1.5)


def one_row(rng: np.random.Generator, **options: Any) -> float:
    """Return the seconds of ``partial_fit`` of a row of 8 numbers in a million columns, after the first call."""
    d, classes = 1_000_000, options.pop("classes", 2)
    indptr = np.array([0, 8], np.int32)
    model, shortest = Perceptron(**options), float("inf")
    for k in range(sized(400, 20)):
        columns = np.sort(rng.choice(d, 8, replace=False)).astype(np.int32)
        row = sp.csr_array((rng.standard_normal(8), columns, indptr), shape=(1, d))
        label = np.array([k % classes])
        started = time.perf_counter()
        model.partial_fit(row, label, classes=range(classes) if k == 0 else None)
        shortest = min(shortest, time.perf_counter() - started) if k > 10 else shortest
    return shortest


def votes(rng: np.random.Generator) -> Iterator[Row]:
    """Yield predictions by the vote of all hypotheses, of 40 numbers in a million columns each."""
    n, d = sized(100_000, 1000), 1_000_000
    X = sp.random_array((n, d), density=40 / d, format="csr", rng=rng)
    y = np.where(X @ rng.standard_normal(d) > 0, 1, -1)
    model = Perceptron(max_iter=5, keep="vote", prove=False).fit(X, y)
    (ours,) = in_turns(lambda: model.predict(X), times=2)
    yield at_most("predict by vote, 100k rows of 10^6 columns", ours, "4 s", 4.0, 1)


def classes(rng: np.random.Generator) -> Iterator[Row]:
    """Yield a later pass over a file of 32 rows, 22 classes and 2^18 columns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "few.svm"
        cells = [" ".join(f"{j}:{rng.random():.4f}" for j in np.unique(rng.integers(1, 2**18, 10))) for _ in range(16)]
        # each row twice with different labels, which no plane separates
        path.write_text("".join(f"{k % 22} {cells[k % 16]}\n" for k in range(32)))
        model = Perceptron(max_iter=20, prove=False)
        fit_source(model, read(path, n_features=2**18))
        shortest = float(model.history_["seconds"].min())
    yield at_most("pass from a file, 32 rows, 22 classes, 2^18 columns", shortest, "1 ms", 0.001, 1)


def run() -> Iterator[Row]:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    yield from words(rng)
    yield from frames(rng)
    for name, options in (("", {}), (", average", {"keep": "average"}), (", 5 classes", {"classes": 5})):
        job = f"partial_fit of one sparse row, 10^6 columns{name}"
        yield at_most(job, one_row(rng, **options), "0.1 ms", 0.0001, 1)
    yield from classes(rng)
    yield from votes(rng)
