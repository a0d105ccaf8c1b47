"""What a cluster costs and what it brings: overhead of a round, two workers beside one, memory of the driver.

``python -m benchmarks.cluster compare TRAIN [TEST]`` compares mixing with one machine and with one-shot averaging on
files of yours; ``python -m benchmarks.cluster rounds`` measures what the cost model in docs/cluster.md is fitted to.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from benchmarks import Row, at_least, at_most
from linsep import Perceptron, cluster, read
from linsep.cluster.farm import load as load_shard
from linsep.cluster.passes import Lesson, Orders, Own, encoded, learn
from linsep.cluster.shards import cut
from linsep.read.source import Source

ROWS, FEATURES, CLASSES, SHARDS, ROUNDS = 240_000, 100, 600, 4, 8

# the program prints the largest memory of the driver in megabytes; that of the workers is not in it
DRIVER = """
import re, sys
from linsep import Perceptron, cluster, read
if __name__ == "__main__":
    with cluster.connect("local", 2) as client:
        cluster.fit(Perceptron(max_iter=2), read(sys.argv[1]), client, shard_bytes=int(sys.argv[2]))
    with open("/proc/self/status") as status:  # getrusage would count what the parent had when it forked
        print(int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1]) / 1024)
"""


def table(path: Path, n: int, d: int, classes: int, seed: int = 0) -> str:
    """Write rows of noise with labels that no plane explains, so that every pass has its full share of mistakes."""
    rng = np.random.default_rng(seed)
    array = np.lib.format.open_memmap(path, "w+", np.float32, (n, d + 1))
    for start in range(0, n, 10_000):
        block = rng.normal(size=(min(10_000, n - start), d + 1))
        block[:, -1] = rng.integers(0, classes, len(block))
        array[start : start + len(block)] = block
    array.flush()
    return str(path)


def bare(path: str, size: int) -> float:
    """Return the time of the kernel alone: the passes of one round, shard after shard, in this process."""
    source, shards = cut(read(path), size)
    model = Perceptron(shuffle=False)
    classes = np.arange(CLASSES, dtype=np.float32)
    W, b = np.zeros((CLASSES, FEATURES)), np.zeros(CLASSES)
    lesson = Lesson(model, classes, CLASSES, {}, None)
    ready = []
    for shard in shards:
        raw = load_shard(shard, source)
        ready.append(encoded(raw, Own(0, 0, 0, raw.digest), lesson))
    shortest = float("inf")
    for _ in range(ROUNDS - 1):
        orders = Orders(model, model._plan(CLASSES, 0), W, b, 0, False, {})
        started = time.perf_counter()
        ends = [learn(one, orders) for one in ready]
        shortest = min(shortest, time.perf_counter() - started)
        W = W + sum((end.W - W) / len(ends) for end in ends)
    return shortest


def rounds(path: str, size: int, workers: int) -> float:
    """Return the shortest round of a run on so many workers."""
    with cluster.connect("local", workers) as client:
        model = Perceptron(shuffle=False, max_iter=ROUNDS)
        cluster.fit(model, read(path), client, shard_bytes=size, evaluate=False)
    return float(model.history_["seconds"][1:].min())  # in the first one the shards are made ready


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = table(Path(folder, "data.npy"), ROWS, FEATURES, CLASSES)
        size = os.path.getsize(path) // SHARDS
        kernel = bare(path, size)
        one, two = rounds(path, size, 1), rounds(path, size, 2)
        yield at_most(f"a round, 1 worker, {SHARDS} shards", one, "kernel alone", kernel, 1.15)
        yield at_least("a round, 2 workers", two, "1 worker", one, 1.7)
        megabytes = []
        for n in (50_000, 400_000):
            file = table(Path(folder, f"{n}.npy"), n, 50, 2)
            command = [sys.executable, "-c", DRIVER, file, str(4_000_000)]
            megabytes.append(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
        yield at_most("driver memory in MB, 8 times the rows", megabytes[1], "the rows once", megabytes[0], 1.1)


# ---------------------------------------------------------------------------------------------------------------
# For the pages


def measure() -> None:
    """Print the time of a round without much to learn: d weights, S shards, N workers."""
    print("workers shards d seconds")
    with tempfile.TemporaryDirectory() as folder:
        for workers in (1, 2):
            with cluster.connect("local", workers) as client:
                for d in (1_000, 100_000, 1_000_000):
                    for shards in (2, 8):
                        path = str(Path(folder, "few.npy"))  # equal rows of both classes: every pass errs
                        np.save(path, np.tile(np.append(np.ones(d, np.float32), 0), (2 * shards, 1)))
                        np.load(path, mmap_mode="r+")[::2, -1] = 1
                        size = -(-os.path.getsize(path) // shards)
                        model = Perceptron(shuffle=False, max_iter=8)
                        cluster.fit(model, read(path), client, shard_bytes=size, evaluate=False)
                        moved = model.mixing_["mistakes"][1:].all(axis=1)  # rounds in which every shard sent weights
                        seconds = model.history_["seconds"][1:][moved]
                        print(workers, shards, d, f"{np.median(seconds) if len(seconds) else np.nan:.4f}", flush=True)


def compare(train: str, test: str | None, most: int) -> None:
    """Print passes, mistakes and errors of one machine, of mixing, and of one-shot averaging; rows in random order."""
    rng = np.random.default_rng(0)
    X, y = load(train)
    order = rng.permutation(X.shape[0])
    X, y = X[order], y[order]
    if test is None:
        held = X.shape[0] // 5
        X, y, Z, z = X[held:], y[held:], X[:held], y[:held]
    else:
        Z, z = load(test)
        X.resize(X.shape[0], max(X.shape[1], Z.shape[1]))
        Z.resize(Z.shape[0], X.shape[1])
    with tempfile.TemporaryDirectory() as folder, cluster.connect("local", 2) as client:
        path = os.path.join(folder, "train.svm")
        dump_svmlight_file(X, y, path, zero_based=True)
        for keep in ("last", "average"):
            for shards in (1, 2, 8):
                model = Perceptron(keep=keep, max_iter=most)
                size = -(-os.path.getsize(path) // shards) + 1
                cluster.fit(model, opened(path, X.shape[1]), client, shard_bytes=size)
                print(f"{keep:8} mixing, {shards} shards: {told(model, X, y, Z, z)}", flush=True)
            for shards in (2, 8):
                parts = np.array_split(np.arange(X.shape[0]), shards)
                models = []
                for part in parts:
                    model = Perceptron(keep=keep, max_iter=most)
                    file = os.path.join(folder, "part.svm")
                    dump_svmlight_file(X[part], y[part], file, zero_based=True)
                    models.append(cluster.fit(model, opened(file, X.shape[1]), client, shard_bytes=1 << 40))
                passes, mistakes = max(m.n_iter_ for m in models), sum(m.mistakes_ for m in models)
                model.coef_ = np.mean([m.coef_ for m in models], axis=0)
                model.intercept_ = np.mean([m.intercept_ for m in models], axis=0)
                errors = f"{1 - model.score(X, y):.2%} of training, {1 - model.score(Z, z):.2%} of test rows wrong"
                print(f"{keep:8} one-shot, {shards} shards: {passes} passes, {mistakes} mistakes, {errors}", flush=True)


def opened(path: str, d: int) -> Source:
    return read(path, zero_based=True, n_features=d)


def told(model: Perceptron, X: Any, y: Any, Z: Any, z: Any) -> str:
    errors = f"{1 - model.score(X, y):.2%} of training, {1 - model.score(Z, z):.2%} of test rows wrong"
    return f"{model.n_iter_} passes ({model.stop_reason_}), {model.mistakes_} mistakes, {errors}"


def load(path: str) -> tuple[Any, Any]:
    """Read LIBSVM text, an NPZ of CSR arrays, or the text of Vowpal Wabbit with numbers for names."""
    if path.endswith(".npz"):
        return read(path).to_arrays()
    if not path.endswith(".dat"):
        return load_svmlight_file(path)
    with tempfile.NamedTemporaryFile("w", suffix=".svm") as file, open(path) as lines:
        for line in lines:
            label, _, rest = line.partition("|")
            pairs = sorted((int(j), v) for j, _, v in (word.partition(":") for word in rest.split()[0:] if ":" in word))
            file.write(f"{float(label.split()[0]):g} " + " ".join(f"{j}:{v}" for j, v in pairs) + "\n")
        file.flush()
        return load_svmlight_file(file.name)


if __name__ == "__main__":
    if sys.argv[1:2] == ["rounds"]:
        measure()
    elif sys.argv[1:2] == ["compare"]:
        compare(sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None, 20)
    else:
        for row in run():
            print(row)
