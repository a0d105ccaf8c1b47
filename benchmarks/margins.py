"""The largest margin to a gap of 1e-6, beside LIBLINEAR to its own tolerance, and how its time grows.

``python -m benchmarks.margins growth.png`` draws the growth.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks import Row, at_least, best
from linsep import largest_margin, teacher

ROWS = (3_000, 10_000, 30_000, 100_000, 300_000)  # at 50 columns
COLUMNS = (10, 20, 50, 100, 200, 400)  # at 20 000 rows


def run() -> Iterator[Row]:
    X, y, _ = teacher(100_000, 100, margin=1e-3)
    pass_time = best(lambda: X @ np.ones(100))
    for form in ("affine", "origin", "augmented"):
        ours = best(lambda form=form: largest_margin(X, y, form=form), 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer = LinearSVC(C=1e6, loss="hinge", fit_intercept=form != "origin")
            theirs = best(lambda peer=peer: peer.fit(X, y), 1)
        bracket = largest_margin(X, y, form=form)
        distance = (y * peer.decision_function(X)).min() / np.linalg.norm(
            np.append(peer.coef_, peer.intercept_ if form == "augmented" else 0.0)
        )
        job = f"{form} margin, 100k×100, gap {bracket.gap:.0e} ({ours / pass_time:.0f} passes)"
        yield at_least(job, ours, f"LinearSVC ({distance / bracket.lower:.1%} of the margin)", theirs, 1)


def growth() -> tuple[list[float], list[float]]:
    """Return the seconds for each number of rows and each number of columns."""

    def seconds(n: int, d: int) -> float:
        X, y, _ = teacher(n, d, margin=1e-3)
        return best(lambda: largest_margin(X, y), 2)

    return [seconds(n, 50) for n in ROWS], [seconds(20_000, d) for d in COLUMNS]


def draw(path: str) -> None:
    """Draw the growth of time on logarithmic axes, with its slope at the far end."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
    for axis, sizes, times, name in zip(
        axes, (ROWS, COLUMNS), growth(), ("rows, at 50 columns", "columns, at 20 000 rows"), strict=True
    ):
        slope = np.log(times[-1] / times[-2]) / np.log(sizes[-1] / sizes[-2])
        axis.loglog(sizes, times, "o-", label=f"gap 1e-6, last slope {slope:.1f}")
        axis.set_xlabel(name)
        axis.legend(frameon=False)
        axis.grid(alpha=0.3, which="both")
    axes[0].set_ylabel("seconds")
    figure.suptitle("largest margin, affine form")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    draw(sys.argv[1] if len(sys.argv) > 1 else "benchmarks/margins.png")
