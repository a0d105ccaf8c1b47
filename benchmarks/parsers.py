"""How fast text becomes rows: the LIBSVM parser alone, on one core, beside scikit-learn and Vowpal Wabbit.

Run ``python benchmarks/parsers.py [megabytes]``. Every reader gets the same rows from a file that is in the page
cache; the best of three runs counts. Vowpal Wabbit, measured where it is installed, reads its own format and cannot
read without learning; scikit-learn reads the file as a whole. Our parser is timed by itself and as ``read`` uses it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ["NUMBA_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np
from sklearn.datasets import load_svmlight_file

from linsep.libsvm import parse
from linsep.read import read

SHAPES = {  # how numbers are written, and how many features a row has of how many
    "six digits": ("{:.6g}", 60, 10_000),
    "ones": ("1", 60, 100_000),
    "four decimals": ("{:.4f}", 30, 100),
    "all digits": ("{!r}", 30, 1000),
}


def write(path: Path, size: int, pattern: str, k: int, d: int) -> None:
    """Write LIBSVM text of about ``size`` bytes, by repeating rows of which a few thousand differ."""
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(3000):
        columns = np.sort(rng.choice(d, k, replace=False)) + 1
        pairs = (f"{j}:{pattern.format(x)}" for j, x in zip(columns, rng.standard_normal(k).tolist(), strict=True))
        lines.append(f"{rng.choice([-1, 1]):+d} {' '.join(pairs)}\n")
    text = "".join(lines).encode()
    with path.open("wb") as file:
        for _ in range(max(1, size // len(text))):
            file.write(text)


def best(what: Callable[[], object]) -> float:
    """Return the shortest of three times."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        what()
        times.append(time.perf_counter() - started)
    return min(times)


def ours(path: Path) -> None:
    for _ in read(path, zero_based=False):
        pass


def vowpal_wabbit(path: Path) -> Callable[[], object] | None:
    """Return one pass of Vowpal Wabbit over the same rows in its own format, None if it is not installed."""
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        return None
    own = path.with_suffix(".vw")
    with path.open("rb") as source, own.open("wb") as out:
        for line in source:
            label, _, rest = line.partition(b" ")
            out.write(label.lstrip(b"+") + b" | " + rest)
    return lambda: Workspace(f"--quiet --bit_precision 20 --data {own} --loss_function hinge").finish()


def main() -> None:
    size = int(sys.argv[1]) * 1_000_000 if len(sys.argv) > 1 else 60_000_000
    parse(b"1 1:0.5\n")  # compile
    print(f"{'numbers':<14} {'reader':<34} {'MB/s':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (pattern, k, d) in SHAPES.items():
            path = Path(folder) / "data.svm"
            write(path, size, pattern, k, d)
            megabytes = path.stat().st_size / 1e6
            block = path.read_bytes()[: 1 << 22]
            block = block[: block.rfind(b"\n") + 1]
            figures = {
                "linsep parser, 4 MB in memory": len(block) / 1e6 / best(lambda block=block: parse(block)),
                "linsep read, file to rows": megabytes / best(lambda path=path: ours(path)),
                "scikit-learn load_svmlight_file": megabytes / best(lambda path=path: load_svmlight_file(str(path))),
            }
            learner = vowpal_wabbit(path)
            if learner is not None:
                figures["Vowpal Wabbit, with learning"] = path.with_suffix(".vw").stat().st_size / 1e6 / best(learner)
            for reader, speed in figures.items():
                print(f"{name:<14} {reader:<34} {speed:6.0f}")


if __name__ == "__main__":
    main()
