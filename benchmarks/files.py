"""From a file to a model in one pass, beside Vowpal Wabbit and scikit-learn, with the memory each takes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import Row, at_least, at_most

MEGABYTES = 540
FEATURES = 50_000

OURS = """
import sys
from linsep import Perceptron, fit_source, read
model = Perceptron(shuffle=False, max_iter=1)
fit_source(model, read(sys.argv[1]), evaluate=False)
"""

PREDICT = """
import sys
import numpy as np
from linsep import Perceptron, read
from linsep.stream import ahead
model = Perceptron().fit(np.eye(2), [0, 1])
d = int(sys.argv[2])
model.coef_, model.n_features_in_ = np.random.default_rng(0).standard_normal((1, d)), d
for X, y, first in ahead(read(sys.argv[1], n_features=d, zero_based=False)):
    X.resize(X.shape[0], d)
    model.predict(X)
"""

PEERS = {
    "Vowpal Wabbit": """
import sys
from vowpalwabbit import Workspace
vw = Workspace(f"-d {sys.argv[1]} --loss_function hinge --quiet")
vw.finish()
""",
    "scikit-learn": """
import sys, warnings
warnings.simplefilter("ignore")
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Perceptron
X, y = load_svmlight_file(sys.argv[1])
X.indices, X.indptr = X.indices.astype("i4"), X.indptr.astype("i4")  # its loader makes what its learner refuses
Perceptron(shuffle=False).partial_fit(X, y, classes=[-1, 1])
""",
    "pandas": """
import sys, warnings
warnings.simplefilter("ignore")
import pandas
from sklearn.linear_model import Perceptron
frame = pandas.read_csv(sys.argv[1]) if sys.argv[1].endswith("csv") else pandas.read_parquet(sys.argv[1])
Perceptron(shuffle=False).partial_fit(frame.iloc[:, :-1], frame.iloc[:, -1], classes=[-1, 1])
""",
    "polars": """
import sys, warnings
warnings.simplefilter("ignore")
import polars
from sklearn.linear_model import Perceptron
frame = polars.read_csv(sys.argv[1]) if sys.argv[1].endswith("csv") else polars.read_parquet(sys.argv[1])
Perceptron(shuffle=False).partial_fit(frame[:, :-1].to_numpy(), frame[:, -1].to_numpy(), classes=[-1, 1])
""",
}


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
            for _ in range(megabytes * 100_000 // len(text)):
                svm.write(text)
                vw.write(other)
    return ours, theirs


def table(folder: Path) -> tuple[Path, Path]:
    """Write a table of 30 numbers and a label as CSV and as Parquet."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(1)
    X = rng.standard_normal((400_000, 30)).round(6)
    columns = {f"x{j}": X[:, j] for j in range(30)} | {"y": np.where(X.sum(axis=1) > 0, 1, -1)}
    csv, parquet = folder / "table.csv", folder / "table.parquet"
    pyarrow.csv.write_csv(pa.table(columns), csv)
    pyarrow.parquet.write_table(pa.table(columns), parquet, row_group_size=50_000)
    return csv, parquet


def measure(code: str, *arguments: object, times: int = 3) -> tuple[float, float]:
    """Return the shortest time of a program in seconds, start-up taken out, and its peak memory in MB."""
    launcher = (
        "import resource, subprocess, sys, time\n"
        "started = time.perf_counter()\n"
        "subprocess.run([sys.executable, '-c', *sys.argv[1:]], check=True)\n"
        "print(time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)\n"
    )
    shortest, memory = float("inf"), 0.0
    for _ in range(times):
        command = [sys.executable, "-c", launcher, code, *map(str, arguments)]
        seconds, peak = map(float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
        shortest, memory = min(shortest, seconds), max(memory, peak)
    return shortest, memory


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        svm, vw = sparse_text(Path(name))
        size = svm.stat().st_size / 1e6
        ours, memory = measure(OURS, svm)
        job = f"one pass, LIBSVM text of {size:.0f} MB ({size / ours:.0f} MB/s)"
        yield at_least(job, ours, "Vowpal Wabbit", measure(PEERS["Vowpal Wabbit"], vw)[0], 3)
        theirs, _ = measure(PEERS["scikit-learn"], svm, times=1)
        yield at_least(job, ours, "load_svmlight_file + partial_fit", theirs, 15)
        yield at_most("peak memory of that, MB", memory, "400 MB", 400, 1)
        yield at_most("predict from that file", measure(PREDICT, svm, FEATURES)[0], "training from it", ours, 1)
        for path in table(Path(name)):
            ours, memory = measure(OURS, path)
            size = path.stat().st_size / 1e6
            for peer in ("pandas", "polars"):
                job = f"one pass, {path.suffix[1:]} of {size:.0f} MB ({size / ours:.0f} MB/s, {memory:.0f} MB)"
                yield at_least(job, ours, f"{peer} + scikit-learn", measure(PEERS[peer], path)[0], 1)
