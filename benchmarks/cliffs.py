"""Ordinary tables without cliffs: square ones, long numbers, thousands of words or files, labels that are wrong."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.linalg
import scipy.sparse as sp
from sklearn.linear_model import Perceptron as ScikitPerceptron

from benchmarks import ENVIRONMENT, QUICK, Row, at_most, in_turns, sized
from linsep import Perceptron, separate

_TIMES = 1 if QUICK else 3


def command(*arguments: Any) -> float:
    """Return the shortest time of a whole command in seconds."""
    shortest = float("inf")
    for _ in range(_TIMES):
        started = time.perf_counter()
        line = [sys.executable, "-m", "linsep", *map(str, arguments), "--quiet"]
        done = subprocess.run(line, check=False, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert done.returncode != 2, done.stderr.decode()  # others tell the answer
        shortest = min(shortest, time.perf_counter() - started)
    return shortest


def square(rng: np.random.Generator) -> Iterator[Row]:
    """Yield the verdict on as many rows as columns."""
    n = sized(3000, 100)
    X, y = rng.integers(-9, 10, (n, n)), rng.integers(0, 2, n)
    ours, limit = in_turns(lambda: separate(X, y), lambda: scipy.linalg.lu_factor(X.astype(float)), times=_TIMES)
    yield at_most("separate, 3000×3000 integers", ours, "LU factorization", limit, 10)


def wrong_labels(rng: np.random.Generator) -> Iterator[Row]:
    """Yield a fit with all defaults of wide sparse rows, a tenth of the labels wrong."""
    n, d = sized(20_000, 500), sized(5000, 2100)
    X = sp.random_array((n, d), density=0.01, format="csr", rng=rng)
    X.data = np.ceil(3 * X.data)
    y = (X @ rng.standard_normal(d) > 0).astype(int)
    flipped = rng.choice(n, n // 10, replace=False)
    y[flipped] = 1 - y[flipped]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = in_turns(lambda: Perceptron().fit(X, y), lambda: ScikitPerceptron().fit(X, y), times=_TIMES)
    yield at_most("fit with defaults, 20k×5k CSR, a tenth of the labels wrong", ours, "scikit-learn", theirs, 10)
    started = time.perf_counter()
    kind = separate(X, y).kind
    assert kind == "overlap" or QUICK, kind
    seconds = time.perf_counter() - started
    yield at_most("separate, 20k×5k CSR, a tenth of the labels wrong: the exact answer", seconds, "a minute", 60, 1)


def many_words(rng: np.random.Generator, folder: Path) -> Iterator[Row]:
    """Yield commands about a factor of thousands of words, with a time limit that counts from their start."""
    n, words = sized(500_000, 2000), sized(5000, 50)
    table = pd.DataFrame(
        {
            "word": [f"w{k}" for k in rng.integers(0, words, n)],
            "kind": rng.choice(list("abc"), n),
            "number": rng.standard_normal(n).round(3),
            "y": rng.integers(0, 2, n),
        }
    )
    table.to_csv(path := folder / "words.csv", index=False)
    for name, limit in (("regression", 30), ("errors", 5)):
        seconds = command(name, path, "--target", "y", "--time-limit", limit)
        yield at_most(f"linsep {name}, 500k rows, 5,000 words", seconds, f"--time-limit {limit}", limit + 0.5, 1.1)
    proving = command("regression", path, "--target", "y", "--proof", proof := folder / "proof.json")
    yield at_most("linsep verify of its regression", command("verify", proof, path), "the regression", proving, 3)


def many_files(rng: np.random.Generator, folder: Path) -> Iterator[Row]:
    """Yield what a file costs beside its rows."""
    files = sized(1000, 10)
    X = rng.standard_normal((50 * files, 5)).round(4)
    table = pd.DataFrame(X, columns=list("abcde")).assign(y=(X[:, 0] > 0).astype(int))
    table.to_csv(whole := folder / "whole.csv", index=False)
    names = [folder / f"part-{k:04}.csv" for k in range(files)]
    for k, name in enumerate(names):
        table[50 * k : 50 * (k + 1)].to_csv(name, index=False)
    each = (command("separate", *names) - command("separate", whole)) / files
    yield at_most("linsep separate, 1,000 files of 50 rows, for each file", max(each, 0.0), "1 ms", 1e-3, 1)


def long_numbers(rng: np.random.Generator, folder: Path) -> Iterator[Row]:
    """Yield commands about text as pandas writes it, beside the same table with three digits."""
    n, d = sized(200_000, 500), 20
    X = rng.standard_normal((n, d))
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(d)])
    table["y"] = (X @ rng.standard_normal(d) + rng.standard_normal(n) > 0).astype(int)
    table.to_csv(long := folder / "long.csv", index=False)
    table.round(3).to_csv(short := folder / "short.csv", index=False)
    for name in ("separate", "regression"):
        ours, theirs = (command(name, path, "--target", "y") for path in (long, short))
        yield at_most(f"linsep {name}, 200k×20, 17 digits", ours, "3 digits", theirs, 1.6)


def run() -> Iterator[Row]:
    """Yield the rows."""
    rng = np.random.default_rng(0)
    yield from square(rng)
    yield from wrong_labels(rng)
    with tempfile.TemporaryDirectory() as folder:
        yield from many_words(rng, Path(folder))
        yield from many_files(rng, Path(folder))
        yield from long_numbers(rng, Path(folder))
