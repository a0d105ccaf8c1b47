"""From a file to a model, in one pass and in ten, beside Vowpal Wabbit and scikit-learn, with the memory each takes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import ENVIRONMENT, Row, at_least, at_most, sized

MEGABYTES = sized(540, 5)
FEATURES = 50_000
TABLE_ROWS = sized(1_800_000, 20_000)

# every program prints the seconds it takes once all is imported
OURS = """
import sys, time
from linsep import Perceptron, fit_source, read
started = time.perf_counter()
model = Perceptron(shuffle=False, max_iter=1)
fit_source(model, read(sys.argv[1]), evaluate=False)
print(time.perf_counter() - started)
"""

TEN_PASSES = """
import sys, time, warnings
warnings.simplefilter("ignore")
from linsep import Perceptron, fit_source, read
started = time.perf_counter()
fit_source(Perceptron(shuffle=False, max_iter=10, prove=False), read(sys.argv[1]), evaluate=False)
print(time.perf_counter() - started)
"""

# what a user waits for: the command, which by default also visits all rows once more for the training errors
COMMAND = """
import sys
print(0, flush=True)  # the process is what counts
path, passes, *more = sys.argv[1:]
given = ["--no-shuffle", "--no-prove", "--quiet", "--max-iter", passes, "--model", path + ".model", *more]
sys.argv = ["linsep", "fit", path, *given]
from linsep.cli import main
main()
"""

PREDICT = """
import sys, time
import numpy as np
from linsep import Perceptron, read
from linsep.data.parallel import ahead
from linsep.learn.weights import Weights
started = time.perf_counter()
d = int(sys.argv[2])
model = Perceptron()
model.start_with(np.array([-1, 1]), Weights(np.random.default_rng(0).standard_normal((1, d)), np.zeros(1)))
for X, y, first in ahead(read(sys.argv[1], n_features=d, zero_based=False)):
    model.predict(X)
print(time.perf_counter() - started)
"""

PEERS = {
    "Vowpal Wabbit": """
import sys, time
from vowpalwabbit import Workspace
started = time.perf_counter()
vw = Workspace(f"-d {sys.argv[1]} --loss_function hinge --quiet")
vw.finish()
print(time.perf_counter() - started)
""",
    "Vowpal Wabbit with its cache": """
import os, sys, time
from vowpalwabbit import Workspace
cache = sys.argv[1] + ".cache"
started = time.perf_counter()
vw = Workspace(f"-d {sys.argv[1]} --loss_function hinge --quiet --passes 10 --holdout_off -k --cache_file {cache}")
vw.finish()
print(time.perf_counter() - started)
os.unlink(cache)
""",
    "load_svmlight_file + partial_fit": """
import sys, time, warnings
warnings.simplefilter("ignore")
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Perceptron
started = time.perf_counter()
X, y = load_svmlight_file(sys.argv[1])
X.indices, X.indptr = X.indices.astype("i4"), X.indptr.astype("i4")  # its loader makes what its learner refuses
Perceptron(shuffle=False).partial_fit(X, y, classes=[-1, 1])
print(time.perf_counter() - started)
""",
    "pandas + scikit-learn": """
import sys, time, warnings
warnings.simplefilter("ignore")
import pandas
from sklearn.linear_model import Perceptron
started = time.perf_counter()
frame = pandas.read_csv(sys.argv[1]) if sys.argv[1].endswith("csv") else pandas.read_parquet(sys.argv[1])
Perceptron(shuffle=False).partial_fit(frame.iloc[:, :-1], frame.iloc[:, -1], classes=[-1, 1])
print(time.perf_counter() - started)
""",
    "polars + scikit-learn": """
import sys, time, warnings
warnings.simplefilter("ignore")
import polars
from sklearn.linear_model import Perceptron
started = time.perf_counter()
frame = polars.read_csv(sys.argv[1]) if sys.argv[1].endswith("csv") else polars.read_parquet(sys.argv[1])
Perceptron(shuffle=False).partial_fit(frame[:, :-1].to_numpy(), frame[:, -1].to_numpy(), classes=[-1, 1])
print(time.perf_counter() - started)
""",
}


class Cost(NamedTuple):
    """What a program took."""

    work: float  # seconds from file to model, with everything imported
    process: float  # seconds of the whole process, start and imports included
    memory: float  # largest private size, MB; pages of mapped files belong to the system

    def speed(self, path: Path, rows: int = 0) -> str:
        """Say how fast a file went by."""
        count = f"{rows / self.work / 1e6:.2g} million rows/s, " if rows else ""
        return f"{path.stat().st_size / self.work / 1e6:.0f} MB/s, {count}{self.memory:.0f} MB of memory"


def sparse_text(folder: Path, megabytes: int = MEGABYTES) -> tuple[Path, Path]:
    """Write the same rows as LIBSVM text and in Vowpal Wabbit's format: about 40 of 50 000 features a row."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal(FEATURES + 1)
    ours, theirs = folder / "data.svm", folder / "data.vw"
    with ours.open("w") as svm, theirs.open("w") as vw:
        for _ in range(10):  # a tenth of the rows are different, which no parser can tell
            lines, others = [], []
            for _ in range(3000):
                indices = np.unique(rng.integers(1, FEATURES + 1, 40))
                values = rng.random(len(indices)).round(6)
                label = 1 if values @ w[indices] > 0 else -1
                cells = " ".join(f"{j}:{v:g}" for j, v in zip(indices.tolist(), values.tolist(), strict=True))
                lines.append(f"{label} {cells}\n")
                others.append(f"{label} | {cells}\n")
            text, other = "".join(lines), "".join(others)
            for _ in range(max(1, megabytes * 100_000 // len(text))):
                svm.write(text)
                vw.write(other)
    os.sync()  # whoever writes a cache need not wait for these
    return ours, theirs


def count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 24), b""))


def table(folder: Path) -> tuple[Path, Path]:
    """Write a table of 30 numbers and a label as CSV and as Parquet."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(1)
    X = rng.standard_normal((TABLE_ROWS, 30)).round(6)
    columns = {f"x{j}": X[:, j] for j in range(30)} | {"y": np.where(X.sum(axis=1) > 0, 1, -1)}
    csv, parquet = folder / "table.csv", folder / "table.parquet"
    pyarrow.csv.write_csv(pa.table(columns), csv)
    pyarrow.parquet.write_table(pa.table(columns), parquet, row_group_size=50_000)
    os.sync()
    return csv, parquet


# runs a program, and prints the seconds that the process took and the most private memory that it had
LAUNCHER = """
import re, resource, subprocess, sys, time
started = time.perf_counter()
process = subprocess.Popen([sys.executable, "-c", *sys.argv[1:]])
most = 0
while process.poll() is None:
    try:
        with open(f"/proc/{process.pid}/status") as status:
            most = max(most, int(re.search(r"RssAnon:\\s+(\\d+)", status.read())[1]))
    except (OSError, TypeError):  # no such file on this system, or the process has just ended
        pass
    time.sleep(0.01)
seconds = time.perf_counter() - started
if process.returncode:
    sys.exit(process.returncode)
print(seconds, (most or resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024)
"""


def measure(code: str, *arguments: object, times: int = 3) -> Cost:
    """Return the shortest times of a program, and its peak memory."""
    costs = []
    for _ in range(times):
        command = [sys.executable, "-c", LAUNCHER, code, *map(str, arguments)]
        said = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT).stdout.split()
        costs.append(Cost(*map(float, said)))
    works, processes, memories = zip(*costs, strict=True)
    return Cost(min(works), min(processes), max(memories))


def beside(job: str, path: Path, rows: int, ours: Cost, peer: str, theirs: Cost, target: float) -> Iterator[Row]:
    """Yield how long it takes from file to model once all is imported, and how long the whole process.

    Ours is the command ``linsep fit``, which needs no scikit-learn.
    """
    passes = 10 if job.startswith("ten") else 1
    told = f"{job}, {path.stat().st_size / 1e6:.0f} MB"
    yield at_least(
        f"{told} ({ours.speed(path, rows)})", ours.work, f"{peer} ({theirs.speed(path)})", theirs.work, target
    )
    for option in ("--no-evaluate", "--evaluate"):  # the peers do not evaluate
        command = measure(COMMAND, path, passes, option, times=6)
        name = f"{told}, whole process, linsep fit {option}"
        yield at_least(name, command.process, peer, theirs.process, target)


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        svm, vw = sparse_text(Path(name))
        rows = count_lines(svm)
        ours = measure(OURS, svm, times=5)
        for peer, path, times, target in (
            ("Vowpal Wabbit", vw, 3, 2),
            ("load_svmlight_file + partial_fit", svm, 1, 12),
        ):
            theirs = measure(PEERS[peer], path, times=times)
            yield from beside("one pass, LIBSVM text", svm, rows, ours, peer, theirs, target)
        yield at_most("private memory of that, MB", ours.memory, "400 MB", 400, 1)
        ten = measure(TEN_PASSES, svm)
        peer = "Vowpal Wabbit with its cache"
        yield from beside("ten passes, LIBSVM text", svm, 10 * rows, ten, peer, measure(PEERS[peer], vw, times=3), 6)
        yield at_most("private memory of that, MB, beside the mapped cache", ten.memory, "400 MB", 400, 1)
        guess = measure(PREDICT, svm, FEATURES, times=5)
        yield at_most(f"predict from it ({guess.speed(svm, rows)})", guess.work, "training from it", ours.work, 1)
        yield at_most("predict, whole process with imports", guess.process, "training", ours.process, 1)
        for path in table(Path(name)):
            ours = measure(OURS, path)
            for peer, target in (("pandas + scikit-learn", 1.0), ("polars + scikit-learn", 1.2)):
                theirs = measure(PEERS[peer], path)
                yield from beside(f"one pass, {path.suffix[1:]}", path, TABLE_ROWS, ours, peer, theirs, target)
            yield at_most(f"private memory of that, {path.suffix[1:]}, MB", ours.memory, "400 MB", 400, 1)
