"""A default fit that proves when it cannot succeed, beside scikit-learn's default fit; and what that costs otherwise.

``python -m benchmarks proving``. Real data is looked for in the folder that the environment variable ``LINSEP_DATA``
names, else in ``data``; what is missing is left out.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import Perceptron as ScikitPerceptron

from benchmarks import QUICK, Row, at_most, best, in_turns, sized
from benchmarks.family import a9a, imdb, libsvm, mnist
from linsep import Perceptron, separate, teacher


def digits(a: int, b: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the images of two digits, as bytes."""
    found = mnist()
    if found is None:
        return None
    X, y = found[:2]
    some = (y == a) | (y == b)
    return as_bytes(X[some]), y[some]


def as_bytes(X: np.ndarray) -> np.ndarray:
    """Return pixels as the files have them."""
    return np.rint(X * 255).astype(np.uint8)


def inseparable() -> Iterator[tuple[Any, ...]]:
    """Yield data that no plane separates: name, how many times scikit-learn's time is allowed, rows, perhaps a test."""
    if (found := a9a()) is not None:
        yield "a9a", 5, *found
    for name in ("w8a", "heart_scale"):
        if (rows := libsvm(name)) is not None:
            yield name, 20, *rows
    if (found := digits(3, 8)) is not None:
        yield "MNIST 3-8", 20, *found


def separable() -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield data that some plane separates."""
    for margin in (1e-1, 1e-2, 1e-3, 1e-4):
        X, y, _ = teacher(sized(20_000, 1000), 20, margin=margin, random_state=0)
        yield f"teacher, margin {margin:g}", X, y
    if (found := imdb()) is not None:
        yield "IMDB", *found[:2]
    if (rows := libsvm("agaricus.txt.train")) is not None:
        yield "agaricus", *rows


CELLS = 10_000_000  # in all fits of a job; a larger one is made once
SEEDS = 400  # accuracies after some last mistake are a matter of chance: 20 of them differ by more than their means


def fits(name: str, times: float, X: Any, y: np.ndarray, *test: Any) -> Iterator[Row]:
    """Yield the time of a default fit beside scikit-learn's, in turns, and the mean accuracy of both on test rows."""
    some = np.arange(0, len(y), max(1, len(y) // 500))
    Perceptron(max_iter=1).fit(X[some], y[some])  # compiles
    turns = max(1, min(20, CELLS // X.size)) if not test else SEEDS
    turns = min(turns, 2) if QUICK else turns
    shortest, scores, stops = [np.inf, np.inf], np.zeros((turns, 2)), set()
    for seed in range(turns):
        for k, model in enumerate((Perceptron(random_state=seed), ScikitPerceptron(random_state=seed))):
            started = time.perf_counter()
            model.fit(X, y)
            shortest[k] = min(shortest[k], time.perf_counter() - started)
            scores[seed, k] = model.score(*test) if test else 0
            if k == 0:
                proved = np.flatnonzero(model.history_["separable"])
                also = f", proved separable after {proved[0] + 1}" if len(proved) else ""
                stops.add(f"{model.stop_reason_} after {model.n_iter_} passes{also}")
    job = f"default fit, {name}: {', '.join(sorted(stops))}"
    yield at_most(job, shortest[0], "scikit-learn's default fit", shortest[1], times)
    if test:
        (ours, theirs), error = scores.mean(axis=0).tolist(), np.std(scores[:, 0] - scores[:, 1]) / turns**0.5
        job = f"mean test accuracy of {turns} seeds, {name} (standard error of the difference {error:.4f})"
        yield Row(job, ours, "scikit-learn's", theirs, ours / theirs, "≥ 1×", ours >= theirs)


def run() -> Iterator[Row]:
    warnings.simplefilter("ignore")
    for data in inseparable():
        yield from fits(*data)
    for name, X, y in separable():
        jobs = [lambda X=X, y=y, prove=prove: Perceptron(prove=prove).fit(X, y) for prove in (True, False)]
        ours, plain = in_turns(*jobs, times=5)
        yield at_most(f"fit that may look for a proof, {name}", ours, "prove=False", plain, 1.3)
    for a, b in ((3, 8), (4, 9), (3, 5), (7, 9)):
        if (found := digits(a, b)) is not None:
            seconds = best(lambda found=found: separate(*found), 2)
            yield at_most(f"verdict and proof, MNIST {a}-{b}", seconds, "3 seconds", 3.0, 1)
    if not QUICK and (found := mnist()) is not None:
        X, y = as_bytes(found[0]), found[1]
        for n in (20_000, 60_000):
            yield from fits(f"MNIST ten classes, {n // 1000}k", 10, X[:n], y[:n])
        started = time.perf_counter()
        kind = separate(X[:20_000], y[:20_000], time_limit=40).kind
        seconds = time.perf_counter() - started
        yield at_most(f"verdict and proof, MNIST ten classes, 20k: {kind}", seconds, "20 s", 20.0, 1)
