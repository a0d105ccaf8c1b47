"""A default fit that proves when it cannot succeed, beside scikit-learn's default fit; and what that costs otherwise.

``python -m benchmarks proving``. Real data is looked for in the folder that the environment variable ``LINSEP_DATA``
names, else in ``data``; what is missing is left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Perceptron as ScikitPerceptron

from benchmarks import DATA, Row, at_most, best
from benchmarks.family import Data, a9a, imdb, mnist
from linsep import Perceptron, separate, teacher


def libsvm(name: str) -> tuple[Any, np.ndarray] | None:
    """Return rows and labels of a file, if it is there."""
    if not (DATA / name).exists():
        return None
    X, y = load_svmlight_file(str(DATA / name))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # scikit-learn wants no others
    return X, y


def digits(a: int, b: int) -> Data | None:
    """Return the images of two digits, as bytes."""
    found = mnist()
    if found is None:
        return None
    X, y, X_test, y_test = found
    some, others = (y == a) | (y == b), (y_test == a) | (y_test == b)
    return as_bytes(X[some]), y[some], as_bytes(X_test[others]), y_test[others]


def as_bytes(X: np.ndarray) -> np.ndarray:
    """Return pixels as the files have them."""
    return np.rint(X * 255).astype(np.uint8)


def inseparable() -> Iterator[tuple[str, float, Any, np.ndarray, Any, np.ndarray | None]]:
    """Yield data that no plane separates: name, how many times scikit-learn's time is allowed, train and test rows."""
    if (found := a9a()) is not None:
        yield "a9a", 5, *found
    for name in ("w8a", "heart_scale"):
        if (rows := libsvm(name)) is not None:
            yield name, 20, *rows, None, None
    if (found := digits(3, 8)) is not None:
        yield "MNIST 3-8", 20, *found
    if (found := mnist()) is not None:
        X, y, X_test, y_test = found
        X, X_test = as_bytes(X), as_bytes(X_test)
        yield "MNIST ten classes, 20k", 10, X[:20_000], y[:20_000], X_test, y_test
        yield "MNIST ten classes, 60k", 10, X, y, X_test, y_test


def separable() -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield data that some plane separates."""
    for margin in (1e-1, 1e-2, 1e-3, 1e-4):
        X, y, _ = teacher(20_000, 20, margin=margin, random_state=0)
        yield f"teacher, margin {margin:g}", X, y
    if (found := imdb()) is not None:
        yield "IMDB", *found[:2]
    if (rows := libsvm("agaricus.txt.train")) is not None:
        yield "agaricus", *rows


def run() -> Iterator[Row]:
    warnings.simplefilter("ignore")
    for name, times, X, y, X_test, y_test in inseparable():
        model, theirs = Perceptron().fit(X, y), ScikitPerceptron().fit(X, y)
        again = 3 if len(y) < 50_000 else 1
        ours = best(lambda X=X, y=y: Perceptron().fit(X, y), again)
        other = best(lambda X=X, y=y: ScikitPerceptron().fit(X, y), again)
        job = f"default fit, {name}: {model.stop_reason_} after {model.n_iter_} passes"
        yield at_most(job, ours, "scikit-learn's default fit", other, times)
        if X_test is not None:
            score, other = model.score(X_test, y_test), theirs.score(X_test, y_test)
            yield Row(f"test accuracy, {name}", score, "scikit-learn's", other, score / other, "≥ 1×", score >= other)
    for name, X, y in separable():
        plain = best(lambda X=X, y=y: Perceptron(prove=False).fit(X, y), 5)
        ours = best(lambda X=X, y=y: Perceptron().fit(X, y), 5)
        yield at_most(f"fit that may look for a proof, {name}", ours, "prove=False", plain, 1.3)
    for a, b in ((3, 8), (4, 9), (3, 5)):
        if (found := digits(a, b)) is not None:
            seconds = best(lambda found=found: separate(*found[:2]), 2)
            yield at_most(f"verdict and proof, MNIST {a}-{b}", seconds, "3 seconds", 3.0, 1)
    if (found := mnist()) is not None:
        X, y = as_bytes(found[0][:20_000]), found[1][:20_000]
        yield at_most("verdict and proof, MNIST ten classes, 20k", best(lambda: separate(X, y), 1), "20 s", 20.0, 1)
