"""Whole jobs from files: passes over rows that are kept, a verdict, a fit to the end, predictions."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import DATA, Row, at_least, at_most, sized
from benchmarks.files import measure, sparse_text
from linsep import Perceptron, fit_source, read, save

# every program prints the seconds it takes once all is imported
VERDICT = """
import sys, time
from linsep import read, separate
started = time.perf_counter()
assert separate(read(sys.argv[1])).kind != "unknown"
print(time.perf_counter() - started)
"""

SEPARATE = """
import sys
print(0, flush=True)  # the process is what counts
from linsep.cli import main
sys.argv = ["linsep", "separate", sys.argv[1], "--quiet"]
main()
"""

READING = """
import sys, time
from linsep import read
started = time.perf_counter()
for block in read(sys.argv[1]):
    pass
print(time.perf_counter() - started)
"""


TO_THE_END = """
import sys, time, warnings
warnings.simplefilter("ignore")
from linsep import Perceptron, fit_source, read
started = time.perf_counter()
kept = sys.argv[2] == "kept"
fit_source(Perceptron(prove=kept), read(sys.argv[1], format="libsvm", cache="auto" if kept else "none"))
print(time.perf_counter() - started)
"""

PREDICT = """
import sys, time
started = time.perf_counter()
from linsep.cli import main
try:
    main(["predict", *sys.argv[1:], "--quiet"])
except SystemExit as done:
    assert not done.code
print(time.perf_counter() - started)
"""

PANDAS = """
import sys, time
started = time.perf_counter()
import numpy, pandas
frame = pandas.read_csv(sys.argv[1])
w = numpy.ones(frame.shape[1] - 1)
labels = numpy.where(frame.iloc[:, :-1].to_numpy() @ w > 0, 1, -1)
pandas.DataFrame({"label": labels}).to_csv(sys.argv[2], index=False)
print(time.perf_counter() - started)
"""


def csv(path: Path, rows: int) -> Path:
    """Write a table of 30 numbers of six places and a label that a plane gives."""
    import pyarrow as pa
    import pyarrow.csv

    rng = np.random.default_rng(2)
    step = 200_000
    with path.open("wb") as file:
        for start in range(0, rows, step):
            X = rng.standard_normal((min(step, rows - start), 30)).round(6)
            columns = {f"x{j}": X[:, j] for j in range(30)} | {"y": np.where(X.sum(axis=1) > 0, 1, -1)}
            pyarrow.csv.write_csv(pa.table(columns), file, pyarrow.csv.WriteOptions(include_header=start == 0))
    os.sync()
    return path


def passes(path: Path, told: str) -> Iterator[Row]:
    """Yield how long a later pass takes over cached rows, beside rows of an array."""
    X, y = read(path, cache="none").to_arrays()
    for shuffle in (False, True):
        seconds = {}
        for name in ("mapped", "array"):
            model, shortest = Perceptron(shuffle=shuffle, max_iter=6, prove=False), []
            for _ in range(sized(3, 1)):
                if name == "array":
                    model.fit(X, y)
                else:
                    fit_source(model, read(path), evaluate=False)
                shortest.append(float(model.history_["seconds"][1:].min()))
            seconds[name] = min(shortest)
        order = "shuffled" if shuffle else "cyclic"
        yield at_most(f"later pass, {told}, {order}", seconds["mapped"], "array", seconds["array"], 1.5)


def run() -> Iterator[Row]:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = csv(folder / "small.csv", sized(700_000, 5000))
        yield from passes(small, "CSV of 200 MB")
        svm, vw = sparse_text(folder, sized(240, 4))
        vw.unlink()
        yield from passes(svm, "LIBSVM text of 240 MB")
        svm.unlink()
        model, out = folder / "model.linsep", folder / "out.csv"
        save(fit_source(Perceptron(max_iter=1), read(small)), model)
        theirs = measure(PANDAS, small, out)
        ours = measure(PREDICT, model, small, "--out", out)
        job = f"linsep predict, CSV of {small.stat().st_size / 1e6:.0f} MB, whole process"
        yield at_least(job, ours.process, "pandas + X @ w", theirs.process, 1)
        shared = measure(PREDICT, model, small, "--out", out, "--workers", 2)
        yield at_most("the same with --workers 2", shared.process, "without", ours.process, 1.1)
        small.unlink()
        large = csv(folder / "large.csv", sized(4_240_000, 20_000))
        told = f"verdict and proof, CSV of {large.stat().st_size / 1e6:.0f} MB"
        verdict, reading = measure(VERDICT, large), measure(READING, large)
        yield at_most(f"{told}, whole process", verdict.process, "reading it", reading.process, 2.5)
        yield at_most("private memory of that, MB", verdict.memory, "400 MB", 400, 1)
        job = f"linsep separate with the largest margin, {told[19:]}, whole process"
        yield at_most(job, measure(SEPARATE, large).process, "reading it", reading.process, 3)
    if (DATA / "a9a").exists():
        ours, before = (measure(TO_THE_END, DATA / "a9a", how, times=1) for how in ("kept", "anew"))
        yield at_least("default fit to its end, a9a from its file", ours.work, "no proof, no cache", before.work, 5)
