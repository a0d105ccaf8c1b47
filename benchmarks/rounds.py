"""What a round costs: a model of it, fitted to rounds on 1 and 2 workers, and run forward to a thousand.

With N workers, S shards, d weights in each of C vectors and z non-zeros in all, at v non-zeros a second,

    seconds = z C / (N v) + a + c S + 8 C d (1 + S) / B

a and c are what scheduler and driver take for a round and for every shard; B is the rate at which the driver takes in
weights and mixes them. The simulation adds what the formula leaves out: workers of unequal speed, weights that are
passed on from worker to worker, and a driver that hears the shards in their order.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from benchmarks import Curve, Row, Table, sized
from linsep import Perceptron, cluster, read

LINK = 1.25e9  # bytes a second of a network of 10 Gbit/s
NONZEROS = 1e12
WIDE = 1 << 24
# Agarwal, Chapelle, Dudík & Langford (2014), section 4: 17e9 rows, 16 million weights, 1000 nodes, 70 minutes
THEIR_NONZEROS, THEIR_MINUTES = 2.1e12, 70
UNEVEN, JITTER = 0.1, 0.05  # deviation of the logarithm of a worker's speed: its own, and from round to round


class Timed(NamedTuple):
    """A round as it was measured."""

    workers: int
    shards: int
    d: int
    seconds: float


class Cost(NamedTuple):
    """The model."""

    a: float  # seconds for a round
    c: float  # seconds for a shard
    B: float  # bytes a second into the driver
    v: float  # non-zeros a second and core

    def overhead(self, shards: int, d: int, rate: float) -> float:
        """Return the seconds of a round in which next to nothing is learned."""
        return self.a + self.c * shards + 8 * d * (1 + shards) / rate


@cache
def measured() -> tuple[Timed, ...]:
    """Measure rounds without much to learn: equal rows of both classes, on which every pass errs."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for workers in (1, 2):
            with cluster.connect("local", workers) as client:
                for d in (1_000, 100_000, sized(1_000_000, 200_000)):
                    for shards in (2, 4, 8, 16)[: sized(4, 2)]:
                        path = str(Path(folder, "few.npy"))
                        np.save(path, np.tile(np.append(np.ones(d, np.float32), 0), (2 * shards, 1)))
                        np.load(path, mmap_mode="r+")[::2, -1] = 1
                        model = Perceptron(shuffle=False, max_iter=10)
                        size = -(-os.path.getsize(path) // shards)
                        cluster.fit(model, read(path), client, shard_bytes=size, evaluate=False)
                        moved = model.mixing_["mistakes"][1:].all(axis=1)  # rounds in which every shard sent weights
                        seconds = float(np.median(model.history_["seconds"][1:][moved]))
                        found.append(Timed(workers, model.mixing_["mistakes"].shape[1], d, seconds))
    return tuple(found)


@cache
def fitted() -> Cost:
    """Fit the model by non-negative least squares of relative residuals."""
    rounds = measured()
    terms = np.array([[1, r.shards, 8 * r.d * (1 + r.shards)] for r in rounds])
    seconds = np.array([r.seconds for r in rounds])
    (a, c, per_byte), _ = nnls(terms / seconds[:, None], np.ones(len(rounds)))
    return Cost(a, c, 1 / max(per_byte, 1e-12), speed())


def speed() -> float:
    """Return how many non-zeros a second a core learns from, spread over a million columns."""
    rng = np.random.default_rng(0)
    n, per_row, d = sized(500_000, 2000), 20, 1 << 20
    X = sp.csr_array((np.ones(n * per_row), rng.integers(0, d, n * per_row), np.arange(0, n * per_row + 1, per_row)))
    X.resize(n, d)
    X.sum_duplicates()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        passes = Perceptron(shuffle=False, max_iter=4).fit(X, rng.integers(0, 2, n)).history_["seconds"]
    return float(X.nnz / np.median(passes))


# ---------------------------------------------------------------------------------------------------------------
# The simulation


def simulated(cost: Cost, workers: int, d: int, nonzeros: float, seed: int = 0, rounds: int = 20) -> float:
    """Return the mean time of a round, event by event: one shard for each worker.

    The driver hands out one task after the other (half of c each). The weights reach the k-th worker after log2(k + 1)
    steps, as everybody who has them passes them on. A worker learns at its speed of this round. The driver takes the
    answers in the order of the shards: each waits for its worker, for the one before it, and for the link.
    """
    rng = np.random.default_rng(seed)
    own = rng.normal(0, UNEVEN, workers)
    rate = min(LINK, cost.B)
    total = 0.0
    for _ in range(rounds):
        pace = cost.v * np.exp(own + rng.normal(0, JITTER, workers))
        handed = cost.a + cost.c / 2 * np.arange(1, workers + 1)
        there = 8 * d / rate + np.ceil(np.log2(np.arange(1, workers + 1))) * 8 * d / LINK
        done = np.maximum(handed, there) + nonzeros / workers / pace
        now = 0.0
        for answer in done.tolist():
            now = max(now, answer) + cost.c / 2 + 8 * d / rate
        total += now
    return total / rounds


# ---------------------------------------------------------------------------------------------------------------
# What is told


def run() -> Iterator[Row]:
    """Yield no rows: these are curves and tables."""
    return iter(())


def curves() -> Iterator[Curve]:
    """Yield time per round and speed-up against workers."""
    cost = fitted()
    counts = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    lines, ups = {}, {}
    for name, d in (("d = 10⁵", 10**5), ("d = 10⁶", 10**6), ("d = 2²⁴", WIDE)):
        seconds = [simulated(cost, n, d, NONZEROS) for n in counts]
        lines[name] = ([float(n) for n in counts], seconds)
        ups[name] = ([float(n) for n in counts], [seconds[0] / each for each in seconds])
    ups["as many as there are workers"] = ([1.0, 1000.0], [1.0, 1000.0])
    yield Curve("a round over 10¹² non-zeros, simulated", "workers", "seconds", lines)
    yield Curve("times as fast as one worker, simulated", "workers", "times", ups)


def tables() -> Iterator[Table]:
    """Yield the measurements, the model, and what it says of a thousand workers."""
    cost, rounds = fitted(), measured()
    body = []
    for shards, d in dict.fromkeys((r.shards, r.d) for r in rounds):
        own = [r.seconds for r in rounds if (r.shards, r.d) == (shards, d)]
        model = cost.overhead(shards, d, cost.B)
        off = max(abs(model / seconds - 1) for seconds in own)
        cells = [f"{shards}", f"{d:,}", *(f"{1000 * seconds:.0f}" for seconds in own)]
        body.append([*cells, f"{1000 * model:.0f}", f"{off:.0%}"])
    yield Table("rounds", ["shards", "d", "1 worker, ms", "2 workers, ms", "model, ms", "off by"], body)
    numbers = [
        f"{1000 * cost.a:.1f} ms",
        f"{1000 * cost.c:.1f} ms",
        f"{cost.B / 1e9:.2f} GB/s",
        f"{cost.v / 1e6:.0f} million",
    ]
    names = ["a, for a round", "c, for a shard", "B, into the driver", "v, non-zeros per second and core"]
    yield Table("model", names, [numbers])
    body = []
    for d, nonzeros in ((10**5, NONZEROS), (10**6, NONZEROS), (WIDE, NONZEROS), (WIDE, THEIR_NONZEROS)):
        kernel, rate = nonzeros / 1000 / cost.v, min(LINK, cost.B)
        bytes_up = 8 * d * 1001
        paper = kernel + cost.overhead(1000, d, rate)
        dealt = simulated(cost, 1000, d, nonzeros)
        cells = [
            f"{kernel:.0f} s",
            f"{cost.a + 1000 * cost.c:.1f} s",
            f"{bytes_up / rate:.1f} s ({bytes_up / 1e9:.1f} GB)",
        ]
        within = f"{60 * THEIR_MINUTES / dealt:,.0f}"
        body.append([f"{nonzeros:.1e}", f"{d:,}", *cells, f"{paper:.0f} s", f"{dealt:.0f} s", within])
    head = [
        "non-zeros",
        "d",
        "kernel",
        "scheduling",
        "weights",
        "a round on paper",
        "simulated",
        "rounds in 70 minutes",
    ]
    yield Table("workers", head, body)


if __name__ == "__main__":
    for table in tables():
        print(*table, sep="\n")
