"""Proofs: how long their documents are, how fast they are checked; beside those that version 0.1.0 wrote.

The fast check is measured in passes over the rows, one ``X @ w`` each; the plain one, fractions of Python, in seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from benchmarks import Row, Table, at_most, best, in_turns, sized
from benchmarks.verdicts import problem
from linsep import Perceptron, separate, verify
from linsep.prove.checking import to_json

# data, which of its classes (all if none), and the characters of the document that version 0.1.0 wrote
CASES = (
    ("wine", load_wine, (), 1495),
    ("cancer", load_breast_cancer, (), 1351),
    ("digits", load_digits, (), 17872),
    ("digits", load_digits, (0, 1), 2154),
    ("iris", load_iris, (), 1285),
    ("iris", load_iris, (0, 1), 589),
    ("iris", load_iris, (1, 2), 933),
)


def cases() -> Iterator[tuple[str, Any, np.ndarray, int]]:
    """Yield names, rows, labels, and how long the proof was."""
    for name, load, classes, before in CASES:
        X, y = load(return_X_y=True)
        some = np.isin(y, classes) if classes else np.ones(len(y), bool)
        yield f"{name} {'/'.join(map(str, classes)) or 'all'}", X[some], y[some], before


def run() -> Iterator[Row]:
    for name, X, y, before in cases():
        verdict = separate(X, y)
        document = to_json(verdict, X, y)
        job = f"proof of {name}, {verdict.kind}, in characters"
        yield at_most(job, len(document), "version 0.1.0", before, 1)
    for n, d in ((sized(1_000_000, 1000), 20), (sized(100_000, 1000), 100)):
        X, y, flipped = problem(n, d)
        for labels in (y, flipped):
            verdict = separate(X, labels)
            w = np.ones(d)
            ours, product = in_turns(lambda v=verdict, X=X, y=labels: v.check(X, y), lambda X=X, w=w: X @ w)
            job = f"fast check, {n:,} × {d}, {verdict.kind}: {ours / product:.1f} passes"
            yield at_most(job, ours, "X @ w", product, 10)
    n = sized(100_000, 1000)
    X, y, flipped = problem(n, 20)
    for labels in (y, flipped):
        verdict = separate(X, labels)
        document, learner = to_json(verdict, X, labels), Perceptron(max_iter=1, prove=False)
        ours, fit = in_turns(lambda y=labels, d=document: verify(d, X, y), lambda y=labels, m=learner: m.fit(X, y))
        job = f"a document verified, fingerprint and proof, {n:,} × 20, {verdict.kind}"
        yield at_most(job, ours, "a fit of one pass", fit, 5)


def tables() -> Iterator[Table]:
    """Yield what the checks of the same proofs take."""
    body = []
    for name, X, y, before in cases():
        verdict = separate(X, y)
        document = to_json(verdict, X, y)
        ours, product = in_turns(lambda v=verdict, X=X, y=y: v.check(X, y), lambda X=X: X @ np.ones(X.shape[1]))
        plain = best(lambda d=document, X=X, y=y: verify(d, X, y, plain=True), 3)
        cells = [name, verdict.kind, f"{before:,}", f"{len(document):,}", f"{ours / product:.0f}", f"{plain:.3f}"]
        body.append(cells)
    head = ["data", "verdict", "characters in 0.1.0", "now", "fast check, passes", "plain check, seconds"]
    yield Table("proofs", head, body)
