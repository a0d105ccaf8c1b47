"""How time grows with rows, columns, density and classes, and passes with 1/γ.

One pass of training and a verdict with proof, beside one pass of scikit-learn's Perceptron where it has one.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Perceptron as ScikitPerceptron

from benchmarks import Curve, Row, best, sized
from linsep import Perceptron, separate, teacher

Line = tuple[list[float], list[float]]


def run() -> Iterator[Row]:
    """Yield no rows: these are curves."""
    return iter(())


def one_pass(X: Any, y: Any) -> float:
    """Return the seconds of our shortest pass in order."""
    passes = [Perceptron(shuffle=False, max_iter=4).fit(X, y).history_["seconds"].min() for _ in range(2)]
    return float(min(passes))


def peer_pass(X: Any, y: Any) -> float:
    """Return the seconds that a pass costs scikit-learn: several passes less one, per pass."""

    def fit(passes: int) -> float:
        return best(lambda: ScikitPerceptron(shuffle=False, tol=None, max_iter=passes).fit(X, y), 2)

    return max((fit(4) - fit(1)) / 3, 1e-9)


def verdict(X: Any, y: Any) -> float:
    """Return the seconds of a verdict with its proof."""
    return best(lambda: separate(X, y), 2)


def grow(sizes: list[int], make: Any, **jobs: Any) -> dict[str, Line]:
    """Return a line per job: its seconds for every size."""
    lines: dict[str, Line] = {name.replace("_", " "): ([], []) for name in jobs}
    for size in sizes:
        X, y = make(size)
        for name, job in jobs.items():
            x, seconds = lines[name.replace("_", " ")]
            x.append(float(size))
            seconds.append(job(X, y))
    return lines


def curves() -> Iterator[Curve]:
    warnings.simplefilter("ignore")
    top = sized(7, 3)
    jobs = {"a_pass": one_pass, "a_pass_of_scikit-learn": peer_pass, "verdict_and_proof": verdict}

    def rows(n: int, d: int = 50) -> Any:
        return teacher(n, d, margin=0.01)[:2]

    sizes = [1000 * 3**k for k in range(min(top, 6))]
    yield Curve("time against rows, 50 columns, margin 0.01", "rows n", "seconds", grow(sizes, rows, **jobs))
    sizes = [4 * 3**k for k in range(min(top, 5))]
    n = sized(20_000, 300)
    lines = grow(sizes, lambda d: rows(n, d), **jobs)
    yield Curve(f"time against columns, {n:,} rows, margin 0.01", "columns d", "seconds", lines)

    def sparse(per_mille: int) -> Any:
        n, d = sized(20_000, 300), 1000
        rng = np.random.default_rng(0)
        X = sp.random_array((n, d), density=per_mille / 1000, format="csr", rng=rng, dtype=np.float64)
        return X, np.where(X @ rng.standard_normal(d) > 0, 1, -1)

    passes = {name: job for name, job in jobs.items() if "pass" in name}
    lines = grow([3**k for k in range(min(top, 6))], sparse, **passes)
    lines = {name: ([x / 1000 for x in where], seconds) for name, (where, seconds) in lines.items()}
    yield Curve(f"time of a pass against density, {n:,}×1000 CSR", "density", "seconds", lines)

    def classes(number: int) -> Any:
        rng = np.random.default_rng(0)
        n, d = sized(30_000, 300), 50
        X = rng.standard_normal((n, d))
        return X, (X @ rng.standard_normal((d, number))).argmax(axis=1)

    ours = {"argmax": one_pass, "scikit-learn,_one_against_rest": peer_pass}
    lines = grow([2 ** (k + 1) for k in range(min(top, 6))], classes, **ours)
    yield Curve(f"time of a pass against classes, {sized(30_000, 300):,}×50", "classes", "seconds", lines)
    yield mistakes()


def mistakes() -> Curve:
    """Return passes, mistakes and their bound against 1/γ, R being 1."""
    margins = [0.1 / 2**k for k in range(sized(7, 3))]
    lines: dict[str, Line] = {
        name: ([], []) for name in ("passes", "mistakes", "bound (R/γ)²", "verdict, milliseconds")
    }
    for margin in margins:
        X, y, _ = teacher(sized(3000, 200), 10, margin=margin, random_state=1)
        model = Perceptron(fit_intercept=False, shuffle=False, max_iter=20_000).fit(X, y)
        started = time.perf_counter()
        separate(X, y, fit_intercept=False)
        seconds = time.perf_counter() - started
        values = (model.n_iter_, model.mistakes_, (model.radius_ / margin) ** 2, 1000 * seconds)
        for (where, much), value in zip(lines.values(), values, strict=True):
            where.append(1 / margin)
            much.append(float(value))
    return Curve("passes and mistakes against 1/γ, R = 1, 3000×10", "1/γ", "how many", lines)
