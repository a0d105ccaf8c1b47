"""What it costs to keep the average or the vote, and what they are worth: test errors of the family on real data.

``python -m benchmarks family`` measures the cost; ``python -m benchmarks.family`` prints the tables of test errors, or
those named after it: ``linear``, ``polynomial``, ``a9a``, ``imdb``, ``keep`` (what to keep of ten passes). Real data
is looked for in the folder that the environment variable ``LINSEP_DATA`` names, else in ``data``; what is missing is
left out.
"""

from __future__ import annotations

import gzip
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Perceptron as ScikitPerceptron
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC

from benchmarks import DATA, Row, at_most, best
from linsep import KernelPerceptron, PassiveAggressive, Perceptron

PASSES = (0.1, 1, 2, 4, 10)
KEEP = ("vote", "average", "best", "last")
Data = tuple[Any, np.ndarray, Any, np.ndarray]  # rows and labels to learn from, rows and labels to test on


def mnist() -> Data | None:
    """Return the digits with pixels between 0 and 1, if they are there; their order is random already."""

    def read(name: str, skip: int) -> np.ndarray:
        with gzip.open(DATA / name) as file:
            return np.frombuffer(file.read(), np.uint8, offset=skip)

    if not (DATA / "train-images-idx3-ubyte.gz").exists():
        return None
    X, X_test = (read(f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 784) / 255 for part in ("train", "t10k"))
    return X, read("train-labels-idx1-ubyte.gz", 8), X_test, read("t10k-labels-idx1-ubyte.gz", 8)


def libsvm(name: str, n_features: int | None = None) -> tuple[Any, np.ndarray] | None:
    """Return rows and labels of a file, if it is there."""
    if not (DATA / name).exists():
        return None
    X, y = load_svmlight_file(str(DATA / name), n_features=n_features)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # scikit-learn wants no others
    return X, y


def a9a() -> Data | None:
    """Return the census data, if it is there."""
    train, test = libsvm("a9a", 123), libsvm("a9a.t", 123)
    return None if train is None or test is None else (*train, *test)


def imdb() -> Data | None:
    """Return the word counts of film reviews in random order, if they are there."""

    def read(part: str) -> tuple[Any, np.ndarray]:
        with np.load(DATA / f"imdb_counts_{part}.npz") as file:
            parts = (file["data"].astype(np.float64), file["indices"].astype(np.int32), file["indptr"].astype(np.int32))
            return sp.csr_matrix(parts, shape=tuple(file["shape"])), file["y"]

    if not (DATA / "imdb_counts_train.npz").exists():
        return None
    X, y = read("train")
    mixed = np.random.default_rng(0).permutation(len(y))
    return X[mixed], y[mixed], *read("test")


def w8a() -> Data | None:
    """Return the web pages, every fifth to test on, if they are there."""
    found = libsvm("w8a")
    if found is None:
        return None
    X, y = found
    test = np.arange(len(y)) % 5 == 0
    return X[~test], y[~test], X[test], y[test]


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
    yield vote("128 features", X[:40_000], y[:40_000], X[:5000])
    digits = mnist()
    if digits is not None:
        X, y, X_test, _ = digits
        yield vote("ten digits", X[:10_000], y[:10_000], X_test[:2500])


def vote(name: str, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Row:
    """Return what a vote costs beside the product that it needs."""
    model = Perceptron(keep="vote", max_iter=2).fit(X, y)
    job = f"vote of {model.mistakes_ + 1} hypotheses on {len(new)} rows, {name}"
    erred = X[np.flatnonzero(model.mistake_counts_)]
    seconds = best(lambda: model.decision_function(new), 5)
    return at_most(job, seconds, "product with the rows that erred", best(lambda: new @ erred.T, 5), 2)


# ---------------------------------------------------------------------------------------------------------------
# Test errors


def errors(make: Callable[[int], Any], data: Data) -> list[float]:
    """Return test errors in percent by number of passes; a tenth of a pass is one over a tenth of the rows."""
    X, y, X_test, y_test = data
    seen: dict[tuple[int, str], float] = {}
    result = []
    for passes in PASSES:
        rows, model = len(y) if passes >= 1 else int(len(y) * passes), make(max(1, int(passes)))
        key = rows, repr(model)  # what does not count passes need not be trained again
        if key not in seen:
            seen[key] = 100 * (1 - model.fit(X[:rows], y[:rows]).score(X_test, y_test))
        result.append(seen[key])
    return result


def table(title: str, entries: dict[str, Callable[[int], Any]], data: Data) -> None:
    """Print the errors of some models, in the layout of Freund & Schapire 1999, table 2."""
    print(f"\n### {title}\n\n| passes | " + " | ".join(f"{passes:g}" for passes in PASSES) + " |", flush=True)
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
        "scikit-learn Perceptron": lambda passes: ScikitPerceptron(max_iter=passes, tol=None, random_state=0),
        "SGDClassifier(average=True)": lambda passes: SGDClassifier(
            average=True, max_iter=passes, tol=None, random_state=0
        ),
        "LinearSVC (to its own end)": lambda _: LinearSVC(random_state=0),
    }


def dual(**parameters: Any) -> dict[str, Callable[[int], Any]]:
    """Return the kernel perceptrons that differ in what they keep, with the polynomial of Freund & Schapire."""
    common = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0, "cache_size": 2000} | parameters
    return {
        keep: lambda passes, keep=keep: KernelPerceptron(keep=keep, max_iter=passes, **common)
        for keep in ("vote", "average", "last")
    }


KEPT: dict[str, Callable[[], Any]] = {
    **{keep: lambda keep=keep: Perceptron(keep=keep, max_iter=10) for keep in ("last", "best", "average", "vote")},
    "passive-aggressive": lambda: PassiveAggressive(C=0.01, max_iter=10),
    "passive-aggressive, average": lambda: PassiveAggressive(C=0.01, keep="average", max_iter=10),
}


def keep_table() -> None:
    """Print test accuracy and training time of all that can be kept of ten passes."""
    sets = {"a9a": a9a(), "MNIST, 20,000 digits": _first(mnist(), 20_000), "IMDB": imdb(), "w8a": w8a()}
    there = {name: data for name, data in sets.items() if data is not None}
    print("\n### What to keep\n\n| keep | " + " | ".join(there) + " |", flush=True)
    print("|---|" + "---|" * len(there))
    for name, make in KEPT.items():
        cells = []
        for X, y, X_test, y_test in there.values():
            model = make().fit(X, y)
            seconds = best(lambda make=make, X=X, y=y: make().fit(X, y), 2)
            cells.append(f"{100 * model.score(X_test, y_test):.2f}%, {seconds:.2f}\N{NO-BREAK SPACE}s")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def _first(data: Data | None, rows: int) -> Data | None:
    """Return data with fewer rows to learn from."""
    return None if data is None else (data[0][:rows], data[1][:rows], *data[2:])


def compare(*names: str) -> None:
    """Print the tables of test errors."""
    warnings.simplefilter("ignore")
    for name, title, read, entries in (
        ("linear", "MNIST, linear, one against rest", mnist, family(multi_class="ovr")),
        ("polynomial", "MNIST, polynomial of degree 2, one against rest", mnist, dual(multi_class="ovr")),
        ("a9a", "a9a", a9a, family()),
        ("imdb", "IMDB", imdb, family()),
    ):
        data = read() if name in names or not names else None
        if data is not None:
            table(title, entries, data)
    if "keep" in names or not names:
        keep_table()


if __name__ == "__main__":
    compare(*sys.argv[1:])
