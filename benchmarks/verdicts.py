"""How long a verdict with a checked proof takes, beside one ``X @ w`` and a linear programme of SciPy.

Run ``python benchmarks/verdicts.py``; ``--quick`` leaves out the linear programmes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import linprog

from linsep import separate

SIZES = [(20_000, 50), (100_000, 100), (1_000_000, 20)]
PROGRAMME_ROWS = 20_000  # SciPy's linear programme takes a minute and more on the larger ones


def best(work: Callable[[], Any], times: int) -> tuple[float, Any]:
    seconds, result = float("inf"), None
    for _ in range(times):
        start = time.perf_counter()
        result = work()
        seconds = min(seconds, time.perf_counter() - start)
    return seconds, result


def problem(n: int, d: int, margin: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, labels and the normal of a plane that keeps ``margin`` times the radius from all rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    w = rng.normal(size=d)
    w /= np.linalg.norm(w)
    side = np.where(X @ w + 0.3 > 0, 1, -1)
    radius = np.sqrt(np.einsum("ij,ij->i", X, X).max())
    X += side[:, None] * (margin * radius * w)
    return X, (side > 0).astype(int), w


def programme(X: np.ndarray, y: np.ndarray) -> int:
    Z = np.where(y == 1, -1.0, 1.0)[:, None] * np.column_stack((X, np.ones(len(X))))
    zero = np.zeros(Z.shape[1])
    return int(linprog(zero, A_ub=Z, b_ub=-np.ones(len(Z)), bounds=(None, None), method="highs").status)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    X, y, _ = problem(200, 3, 1e-3)
    separate(X, y)
    separate(X, np.where(np.arange(200) == 7, 1 - y, y))  # compile
    print(f"{'rows':>9} {'columns':>7}  {'verdict':<9}  {'seconds':>8}  {'X @ w':>7}  {'ratio':>6}  linprog")
    for n, d in SIZES:
        X, y, w = problem(n, d, 1e-3)
        product, _ = best(lambda X=X, w=w: X @ w, 20)
        flipped = y.copy()
        flipped[np.argsort(np.abs(X @ w))[n // 2]] ^= 1
        for labels in (y, flipped):
            seconds, verdict = best(lambda X=X, labels=labels: separate(X, labels), 3)
            assert verdict.check(X, labels)
            peer = ""
            if n <= PROGRAMME_ROWS and not quick:
                slow, status = best(lambda X=X, labels=labels: programme(X, labels), 1)
                peer = f"{slow:.2f} s, {slow / seconds:.0f} times ours (status {status})"
            ratio = seconds / product
            print(f"{n:>9} {d:>7}  {verdict.kind:<9}  {seconds:8.4f}  {product:7.4f}  {ratio:6.1f}  {peer}", flush=True)


if __name__ == "__main__":
    main()
