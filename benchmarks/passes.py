"""One training pass, beside scikit-learn's in the same order and beside reading the memory once."""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Perceptron as ScikitPerceptron
from threadpoolctl import threadpool_limits

from benchmarks import Row, at_least, at_most, best, sized
from linsep import Perceptron

PASSES = 5

MEMORY = """
import resource, warnings
import numpy as np
from linsep import Perceptron
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
Perceptron(max_iter=2).fit(rng.integers(0, 255, (100, 8), np.uint8), np.arange(100) % 2)  # compiled before we measure
X, y = rng.integers(0, 255, (400_000, 128), np.uint8), np.arange(400_000) % 2
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
Perceptron(max_iter=2).fit(X, y)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / X.nbytes)
"""


def pass_time(X: object, y: np.ndarray, *, shuffle: bool) -> tuple[float, float]:
    """Return the seconds of our shortest pass, and of what fit spends outside its passes."""
    shortest, outside = float("inf"), float("inf")
    for _ in range(10):
        started = time.perf_counter()
        model = Perceptron(shuffle=shuffle, max_iter=PASSES).fit(X, y)
        whole = time.perf_counter() - started
        shortest = min(shortest, model.history_["seconds"].min())
        outside = min(outside, whole - model.history_["seconds"].sum())
    return shortest, outside


def peer_time(X: object, y: np.ndarray, *, shuffle: bool) -> float:
    """Return the seconds that one pass costs scikit-learn: many passes less one, per pass."""

    def fit(passes: int) -> float:
        return best(lambda: ScikitPerceptron(shuffle=shuffle, tol=None, max_iter=passes).fit(X, y), 3)

    return (fit(PASSES + 1) - fit(1)) / PASSES


def one_row(rng: np.random.Generator) -> float:
    """Return the seconds of a call of ``partial_fit`` with one row, the mean over a thousand calls."""
    n = sized(1000, 20)
    X, y = rng.standard_normal((n, 20)), np.where(rng.random(n) < 0.5, -1, 1)
    model = Perceptron().partial_fit(X, y)

    def calls() -> None:
        for i in range(n):
            model.partial_fit(X[i : i + 1], y[i : i + 1])

    return best(calls, 3) / n


def run() -> Iterator[Row]:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    n, d = sized(400_000, 2000), 128
    X = rng.standard_normal((n, d))
    w = rng.standard_normal(d)
    y = np.where(X @ w + 2 * rng.standard_normal(n) > 0, 1, -1)
    kinds = {
        "float64": X,
        "float32": X.astype(np.float32),
        "uint8": np.clip(40 * X + 128, 0, 255).astype(np.uint8),
    }
    for name, rows in kinds.items():
        for shuffle in (False, True):
            job = f"pass, 400k×128 {name}, {'shuffled' if shuffle else 'cyclic'}"
            ours, outside = pass_time(rows, y, shuffle=shuffle)
            yield at_least(job, ours, "scikit-learn", peer_time(rows, y, shuffle=shuffle), 3)
            yield at_most(f"fit outside its passes, {job[6:]}", outside, "one pass", ours, 1.0)
            if not shuffle:
                factor = w.astype(rows.dtype) if rows.dtype.kind == "f" else w
                with threadpool_limits(1):
                    limit = best(lambda rows=rows, factor=factor: rows @ factor)
                yield at_most(job, ours, "X @ w, one thread", limit, 1.4)
                if name == "float64":
                    yield at_most(job, ours, "X @ w, all threads", best(lambda rows=rows: rows @ w), 1.4)
    del X, kinds
    n, d = sized(300_000, 2000), 50_000
    S = sp.random_array((n, d), density=40 / d, format="csr", rng=rng, dtype=np.float64)
    w = rng.standard_normal(d)
    y = np.where(S @ w > 0, 1, -1)
    for shuffle in (False, True):
        job = f"pass, 300k×50k CSR, {'shuffled' if shuffle else 'cyclic'}"
        ours, outside = pass_time(S, y, shuffle=shuffle)
        yield at_least(job, ours, "scikit-learn", peer_time(S, y, shuffle=shuffle), 1.5)
        yield at_most(job, ours, "X @ w", best(lambda: S @ w), 3)
    yield at_most("fit outside its passes, CSR", outside, "one pass", ours, 1.0)

    yield at_most("partial_fit of one row of 20 columns", one_row(rng), "0.25 ms", 0.25e-3, 1.0)

    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    yield at_most("extra memory of fit on uint8, in sizes of X", float(done.stdout), "X", 1.0, 0.5)

    def start(code: str) -> float:
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True)) - best(
            lambda: subprocess.run([sys.executable, "-c", ""], check=True)
        )

    yield at_most("import linsep", start("import linsep"), "0.7 s", 0.7, 1.0)
    yield at_most("from linsep import Perceptron", start("from linsep import Perceptron"), "sklearn.linear_model",
                  start("import sklearn.linear_model"), 2.0)  # fmt: skip
