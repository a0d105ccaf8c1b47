"""What a cluster costs and what it brings: overhead of a round, two workers beside one, memory of the driver."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import Row, at_least, at_most
from linsep import Perceptron, cluster, read
from linsep.cluster.shard_passes import PassTask, ShardNumbers, encoded, learn
from linsep.cluster.shards import cut
from linsep.cluster.workers import load as load_shard
from linsep.learn.problems import BatchEncoder
from linsep.learn.weights import Weights

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
    parameters = Perceptron(shuffle=False).run_parameters(0)
    classes = np.arange(CLASSES, dtype=np.float32)
    W, b = np.zeros((CLASSES, FEATURES)), np.zeros(CLASSES)
    encoder = BatchEncoder(classes, np.ones(CLASSES), parameters)
    ready = []
    for shard in shards:
        loaded = load_shard(shard, source)
        ready.append(encoded(loaded, ShardNumbers(0, 0, loaded.digest), encoder))
    shortest = float("inf")
    for _ in range(ROUNDS - 1):
        task = PassTask(parameters, math.inf, Weights(W, b), 0, only=False)
        started = time.perf_counter()
        ends = [learn(one, task) for one in ready]
        shortest = min(shortest, time.perf_counter() - started)
        W = W + sum((end.weights.W - W) / len(ends) for end in ends)
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
