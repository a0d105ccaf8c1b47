"""The largest margin to a gap of 1e-6, beside LIBLINEAR to its own tolerance, and how its time grows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks import QUICK, Curve, Row, at_least, best, sized
from linsep import largest_margin, teacher

ROWS = (3_000, 10_000, 30_000, 100_000, 300_000)
COLUMNS = (10, 20, 50, 100, 200, 400)


def run() -> Iterator[Row]:
    X, y, _ = teacher(sized(100_000, 1000), 100, margin=1e-3)
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


def curves() -> Iterator[Curve]:
    """Growth of the time with rows and with columns."""

    def seconds(n: int, d: int) -> float:
        X, y, _ = teacher(n, d, margin=1e-3)
        return best(lambda: largest_margin(X, y), 2)

    n = sized(20_000, 300)
    rows, columns = [sized(size, 300) for size in ROWS], COLUMNS if not QUICK else COLUMNS[:2]
    lines = {"gap 1e-6": ([float(size) for size in rows], [seconds(size, 50) for size in rows])}
    yield Curve("largest margin, 50 columns", "rows n", "seconds", lines)
    lines = {"gap 1e-6": ([float(d) for d in columns], [seconds(n, d) for d in columns])}
    yield Curve(f"largest margin, {n:,} rows", "columns d", "seconds", lines)
