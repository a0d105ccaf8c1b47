"""Speed beside the peers and beside physical limits, measured in one run: best of several, and ratios.

A module per question. Its ``run()`` yields rows as it gets them; its ``curves()`` and ``tables()``, where it has
them, yield curves and tables.
``python -m benchmarks`` runs them, each in a process of its own, and keeps what they found in ``results.json``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

DATA = Path(os.environ.get("LINSEP_DATA", "data"))  # larger real data, where they are
MOST = 1000.0  # times less than a limit: whatever is less counts as this
# of a process that is measured: linsep's bytecode is on disk, as that of a package that pip has installed
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
QUICK = os.environ.get("LINSEP_BENCH_QUICK", "0") != "0"  # small data, once: to see that it runs


class Row(NamedTuple):
    """One line of the table: ours against a peer; the target is the least ratio, or the most of a limit's time."""

    job: str
    ours: float  # seconds, unless the job says otherwise
    peer_name: str
    peer: float
    ratio: float  # peer / ours: above 1 we are faster
    target: str
    met: bool


class Curve(NamedTuple):
    """How something grows: points to be drawn on logarithmic axes."""

    title: str
    x_label: str
    y_label: str
    lines: dict[str, tuple[list[float], list[float]]]  # by name: where, and how much


class Table(NamedTuple):
    """What a page tells beside times: cells as they are to be shown."""

    name: str
    head: list[str]
    body: list[list[str]]


def sized(number: int, quick: int) -> int:
    """Return how large to make something: less where it is only to be seen that it runs."""
    return quick if QUICK else number


def best(job: Callable[[], object], times: int = 5) -> float:
    """Return the shortest time of a job in seconds."""
    job()  # caches, compilation
    shortest = float("inf")
    for _ in range(1 if QUICK else times):
        started = time.perf_counter()
        job()
        shortest = min(shortest, time.perf_counter() - started)
    return shortest


def in_turns(*jobs: Callable[[], object], times: int = 20) -> list[float]:
    """Return the shortest time of each of some jobs that take turns: caches and disturbances are then alike for all."""
    shortest = [float("inf")] * len(jobs)
    for turn in range(2 if QUICK else times + 1):
        for k, job in enumerate(jobs):
            started = time.perf_counter()
            job()
            if turn > 0:  # the first one fills caches, and compiles
                shortest[k] = min(shortest[k], time.perf_counter() - started)
    return shortest


def at_least(job: str, ours: float, peer_name: str, peer: float, target: float) -> Row:
    """Make a row for a job in which the peer should take at least ``target`` times as long as we do."""
    ratio = peer / ours
    return Row(job, ours, peer_name, peer, ratio, f"≥ {target:g}×", ratio >= target)


def at_most(job: str, ours: float, peer_name: str, peer: float, target: float) -> Row:
    """Make a row for a job in which we should take at most ``target`` times as long as a limit."""
    ratio = peer / max(ours, peer / MOST) if peer else float(ours <= 0)  # where nothing is allowed
    return Row(job, ours, peer_name, peer, ratio, f"≤ {target:g}×", ours <= target * peer)
