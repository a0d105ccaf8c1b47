"""Speed beside the peers and beside physical limits, measured in one run: best of several, and ratios."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple


class Row(NamedTuple):
    """One line of the table: ours against a peer; the target is the least (or with a negative sign, largest) ratio."""

    job: str
    ours: float  # seconds, unless the job says otherwise
    peer_name: str
    peer: float
    ratio: float  # peer / ours: above 1 we are faster
    target: str
    met: bool


def best(job: Callable[[], object], times: int = 5) -> float:
    """Return the shortest time of a job in seconds."""
    job()  # caches, compilation
    shortest = float("inf")
    for _ in range(times):
        started = time.perf_counter()
        job()
        shortest = min(shortest, time.perf_counter() - started)
    return shortest


def at_least(job: str, ours: float, peer_name: str, peer: float, target: float) -> Row:
    """Make a row for a job in which the peer should take at least ``target`` times as long as we do."""
    ratio = peer / ours
    return Row(job, ours, peer_name, peer, ratio, f"≥ {target:g}×", ratio >= target)


def at_most(job: str, ours: float, peer_name: str, peer: float, target: float) -> Row:
    """Make a row for a job in which we should take at most ``target`` times as long as a limit."""
    ratio = peer / max(ours, 1e-9)
    return Row(job, ours, peer_name, peer, ratio, f"≤ {target:g}× its time", ours <= target * peer)
