"""What it costs to keep the average or the vote, and what they are worth: test errors of the family on real data.

``python -m benchmarks family`` measures the cost; ``python -m benchmarks.family`` prints the tables of test errors.
Real data is looked for in the folder that the environment variable ``LINSEP_DATA`` names; what is missing is left out.
"""

from __future__ import annotations

import gzip
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Perceptron as ScikitPerceptron
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

from benchmarks import Row, at_most, best
from linsep import KernelPerceptron, PassiveAggressive, Perceptron

DATA = Path(os.environ.get("LINSEP_DATA", "data"))
PASSES = (0.1, 1, 2, 4, 10)
KEEP = ("vote", "average", "best", "last")
Data = tuple[Any, np.ndarray, Any, np.ndarray]  # rows and labels to learn from, rows and labels to test on


def mnist() -> Data | None:
    """Return the digits with pixels between 0 and 1, if they are there."""

    def read(name: str, skip: int) -> np.ndarray:
        with gzip.open(DATA / name) as file:
            return np.frombuffer(file.read(), np.uint8, offset=skip)

    if not (DATA / "train-images-idx3-ubyte.gz").exists():
        return None
    X, X_test = (read(f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 784) / 255 for part in ("train", "t10k"))
    return X, read("train-labels-idx1-ubyte.gz", 8), X_test, read("t10k-labels-idx1-ubyte.gz", 8)


def a9a() -> Data | None:
    """Return the census data, if it is there."""
    if not (DATA / "a9a").exists():
        return None
    X, y = load_svmlight_file(str(DATA / "a9a"), n_features=123)
    X_test, y_test = load_svmlight_file(str(DATA / "a9a.t"), n_features=123)
    return X, y, X_test, y_test


def imdb() -> Data | None:
    """Return the word counts of film reviews, if they are there."""

    def read(part: str) -> tuple[Any, np.ndarray]:
        with np.load(DATA / f"imdb_counts_{part}.npz") as file:
            parts = (file["data"].astype(np.float64), file["indices"].astype(np.int32), file["indptr"].astype(np.int32))
            return sp.csr_matrix(parts, shape=tuple(file["shape"])), file["y"]

    return (*read("train"), *read("test")) if (DATA / "imdb_counts_train.npz").exists() else None


def run() -> Iterator[Row]:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    n, d = 200_000, 128
    X = rng.standard_normal((n, d))
    y = np.where(X @ rng.standard_normal(d) + 2 * rng.standard_normal(n) > 0, 1, -1)
    S = sp.random_array((n, 50_000), density=40 / 50_000, format="csr", rng=rng, dtype=np.float64)
    z = np.where(S @ rng.standard_normal(50_000) > 0, 1, -1)
    for name, rows, labels in (("200k×128 dense", X, y), ("200k×50k CSR", S, z)):
        shortest = {"last": np.inf, "average": np.inf}
        for _ in range(5):  # in turn, so that a noisy moment hits both
            for keep in shortest:
                model = Perceptron(keep=keep, max_iter=4, shuffle=False).fit(rows, labels)
                shortest[keep] = min(shortest[keep], model.history_["seconds"].min())
        yield at_most(f"pass that keeps the average, {name}", shortest["average"], "last", shortest["last"], 1.25)
    model = Perceptron(keep="vote", max_iter=2).fit(X[:40_000], y[:40_000])
    new, erred = X[:5000], X[np.unique(model.trace_)]
    job = f"vote of {model.mistakes_ + 1} hypotheses on 5000 rows"
    yield at_most(job, best(lambda: model.decision_function(new), 3), "product with the rows that erred",
                  best(lambda: new @ erred.T, 3), 2)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------
# Test errors


def errors(make: Callable[[int], Any], data: Data) -> list[float]:
    """Return test errors in per cent by number of passes; a tenth of a pass is one over a tenth of the rows."""
    X, y, X_test, y_test = data
    result = []
    for passes in PASSES:
        rows = slice(0, len(y) if passes >= 1 else int(len(y) * passes))
        result.append(100 * (1 - make(max(1, int(passes))).fit(X[rows], y[rows]).score(X_test, y_test)))
    return result


def table(title: str, entries: dict[str, Callable[[int], Any]], data: Data) -> None:
    """Print the errors of some models, in the layout of Freund & Schapire 1999, table 2."""
    print(f"\n{title}\n\n| passes | " + " | ".join(f"{passes:g}" for passes in PASSES) + " |", flush=True)
    print("|---|" + "---|" * len(PASSES))
    for name, make in entries.items():
        print(f"| {name} | " + " | ".join(f"{error:.2f}" for error in errors(make, data)) + " |", flush=True)


def family(**parameters: Any) -> dict[str, Callable[[int], Any]]:
    """Return the perceptrons that differ in what they keep, beside those of scikit-learn."""
    ours = {keep: lambda passes, keep=keep: Perceptron(keep=keep, max_iter=passes, **parameters) for keep in KEEP}
    return ours | {
        "PA-I, C=0.01, average": lambda passes: PassiveAggressive(
            C=0.01, keep="average", max_iter=passes, **parameters
        ),
        "scikit-learn Perceptron": lambda passes: ScikitPerceptron(max_iter=passes, tol=None),
        "SGDClassifier(average=True)": lambda passes: SGDClassifier(average=True, max_iter=passes, tol=None),
        "LinearSVC (to its own end)": lambda _: LinearSVC(),
    }


def compare() -> None:
    """Print the tables of test errors."""
    warnings.simplefilter("ignore")
    digits = mnist()
    if digits is not None:
        X, y, X_test, y_test = digits
        some = (X[:10_000], y[:10_000], X_test[:2500], y_test[:2500])
        table("MNIST, first 10,000 rows, linear, one against rest", family(multi_class="ovr"), some)
        dual = {
            keep: lambda passes, keep=keep: KernelPerceptron(
                "poly", degree=2, gamma=1.0, keep=keep, max_iter=passes, multi_class="ovr", cache_size=500
            )
            for keep in ("vote", "average", "last")
        }
        table("MNIST, first 10,000 rows, polynomial of degree 2, one against rest", dual, some)
    census = a9a()
    if census is not None:
        table("a9a", family(), census)
    reviews = imdb()
    if reviews is not None:
        X, y, X_test, y_test = reviews
        mixed = np.random.default_rng(0).permutation(len(y))
        some = np.random.default_rng(1).permutation(len(y_test))[:5000]
        X, X_test = X[mixed], X_test[some]
        table("IMDB, 5,000 of the test rows", family(), (X, y[mixed], X_test, y_test[some]))


if __name__ == "__main__":
    compare()
