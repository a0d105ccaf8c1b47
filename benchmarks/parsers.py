"""How fast text becomes rows: the LIBSVM parser alone, on one core, beside scikit-learn and Vowpal Wabbit.

Every reader gets the same rows from a file that is in the page cache. Vowpal Wabbit, measured where it is installed,
reads its own format and cannot read without learning; scikit-learn reads the file as a whole.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks import Row, at_least, at_most, best
from linsep.data.libsvm import parse_libsvm
from linsep.data.read import read

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


def run(megabytes: int = 60) -> Iterator[Row]:
    parse_libsvm(b"1 1:0.5\n")  # compile
    with tempfile.TemporaryDirectory() as folder, one_core():
        for name, (pattern, k, d) in SHAPES.items():
            path = Path(folder) / "data.svm"
            write(path, megabytes * 1_000_000, pattern, k, d)
            size = path.stat().st_size / 1e6
            block = path.read_bytes()[: 1 << 22]
            block = block[: block.rfind(b"\n") + 1]
            alone = best(lambda block=block: parse_libsvm(block), 3) / (len(block) / 1e6) * size
            job = f"parser alone, {name} ({size / alone:.0f} MB/s)"
            yield at_most(job, alone, "400 MB/s", size / 400, 1)
            reading = best(lambda path=path: ours(path), 3)
            job = f"read, {name} ({size / reading:.0f} MB/s)"
            theirs = best(lambda path=path: load_svmlight_file(str(path)), 1)
            yield at_least(job, reading, f"load_svmlight_file ({size / theirs:.0f} MB/s)", theirs, 15)
            learner = vowpal_wabbit(path)
            if learner is not None:
                yield at_least(job, reading, "Vowpal Wabbit, with learning", best(learner, 2), 3)


@contextmanager
def one_core() -> Iterator[None]:
    """Keep to one core."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
