"""A verdict with a checked proof, beside one ``X @ w``, a linear program of SciPy, and training passes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from benchmarks import DATA, Row, at_least, at_most, best, in_turns
from linsep import Perceptron, read, separate


def problem(n: int, d: int, margin: float = 1e-3, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, labels, and labels of which one is flipped; the plane keeps ``margin`` times the radius."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    w = rng.normal(size=d)
    w /= np.linalg.norm(w)
    side = np.where(X @ w + 0.3 > 0, 1, -1)
    radius = np.sqrt(np.einsum("ij,ij->i", X, X).max())
    X += side[:, None] * (margin * radius * w)
    flipped = side.copy()
    flipped[np.argsort(np.abs(X @ w))[n // 2]] *= -1
    return X, side, flipped


def program(X: np.ndarray, y: np.ndarray) -> float:
    """Return the seconds that a linear program takes to decide the same, without a proof."""
    Z = -y[:, None] * np.column_stack((X, np.ones(len(X))))
    started = time.perf_counter()
    linprog(np.zeros(Z.shape[1]), A_ub=Z, b_ub=-np.ones(len(Z)), bounds=(None, None), method="highs")
    return time.perf_counter() - started


def real() -> Iterator[tuple[str, object, np.ndarray]]:
    """Yield the separable ones of the real data, if they are there."""
    if (DATA / "imdb_counts_train.npz").exists():
        parts = np.load(DATA / "imdb_counts_train.npz")
        yield (
            "IMDB",
            sp.csr_array((parts["data"], parts["indices"], parts["indptr"]), tuple(parts["shape"])),
            parts["y"],
        )
    if (DATA / "agaricus.txt.train").exists():
        yield "agaricus", *read(DATA / "agaricus.txt.train", format="libsvm").to_arrays()


def run() -> Iterator[Row]:
    warnings.simplefilter("ignore")
    for n, d, name in ((1_000_000, 20, "1M×20"), (100_000, 100, "100k×100")):
        X, y, flipped = problem(n, d)
        w = np.ones(d)
        for labels, target in ((y, 25), (flipped, 15)):
            kind = separate(X, labels).kind
            ours, product = in_turns(lambda X=X, labels=labels: separate(X, labels), lambda X=X, w=w: X @ w)
            yield at_most(f"verdict and proof, {name}, {kind}", ours, "X @ w", product, target)
    X, y, flipped = problem(20_000, 50)
    for labels in (y, flipped):
        kind = separate(X, labels).kind
        ours = best(lambda labels=labels: separate(X, labels), 5)
        yield at_least(f"verdict and proof, 20k×50, {kind}", ours, "linprog (HiGHS)", program(X, labels), 20)
    for name, rows, labels in real():
        ours = best(lambda rows=rows, labels=labels: separate(rows, labels), 3)
        kind = separate(rows, labels).kind
        mean = min(Perceptron().fit(rows, labels).history_["seconds"].mean() for _ in range(3))
        yield at_most(f"verdict and proof, {name}, {kind}", ours, "a pass of training, on average", mean, 20)
