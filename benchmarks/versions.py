"""The same jobs beside an earlier version, in turns: ``LINSEP_BEFORE`` names the folder ``src`` of its checkout.

Each job runs in a process of its own, which prints its shortest time; without the variable there are no rows.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import QUICK, Row, at_most

BEFORE = os.environ.get("LINSEP_BEFORE")
TURNS = 1 if QUICK else 3
MORE_TIME = 1.05  # of the time of before
HEAD = f"""
import sys, time, warnings
import numpy as np, scipy.sparse as sp
import linsep
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
small = {QUICK}
def best(job, times):
    job()
    found = []
    for _ in range(1 if small else times):
        began = time.perf_counter()
        job()
        found.append(time.perf_counter() - began)
    print(min(found))
def learner(**given):
    known = linsep.Perceptron().get_params()
    return linsep.Perceptron(**(given | ({{"prove": False}} if "prove" in known else {{}})))
def passes(X, y, shuffle):
    print(min(learner(max_iter=5, shuffle=shuffle).fit(X, y).history_["seconds"].min() for _ in range(4)))
def problem(n, d):
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    side = np.where(X @ w + 0.3 > 0, 1, -1)
    X += side[:, None] * (3e-3 * np.sqrt(d) / np.linalg.norm(w) * w)
    return X, side
n = 2000 if small else 400_000
"""
DENSE = "X = rng.standard_normal((n, 128))\ny = rng.integers(0, 2, n)\n"
SPARSE = "X = sp.random_array((n, 20_000), density=1e-3, format='csr', rng=rng)\ny = rng.integers(0, 2, n)\n"
OVERLAP = "y[rng.permutation(len(y))[:1]] *= -1\n"
JOBS = {
    "a pass, float64, cyclic": DENSE + "passes(X, y, False)",
    "a pass, float64, shuffled": DENSE + "passes(X, y, True)",
    "a pass, float32, cyclic": DENSE + "passes(X.astype(np.float32), y, False)",
    "a pass, uint8, cyclic": DENSE + "passes((X * 40 + 128).clip(0, 255).astype(np.uint8), y, False)",
    "a pass, CSR, cyclic": SPARSE + "passes(X, y, False)",
    "a pass, CSR, shuffled": SPARSE + "passes(X, y, True)",
    "fit of 5 passes, float64": DENSE + "best(lambda: learner(max_iter=5).fit(X, y), 5)",
    "verdict, separable": "X, y = problem(n // 4, 50)\nbest(lambda: linsep.separate(X, y), 5)",
    "verdict, overlap": "X, y = problem(n // 4, 50)\n" + OVERLAP + "best(lambda: linsep.separate(X, y), 5)",
    "largest margin": "X, y, _ = linsep.teacher(n // 8, 50, margin=1e-3)\nbest(lambda: linsep.largest_margin(X, y), 5)",
    "LIBSVM text, one pass": "best(lambda: linsep.fit_source(learner(max_iter=1), linsep.read(sys.argv[1])), 3)",
    "CSV, one pass": "best(lambda: linsep.fit_source(learner(max_iter=1), linsep.read(sys.argv[2])), 3)",
}


def seconds(source: str, job: str, files: list[str]) -> float:
    """Return the time of a job with the version in a folder."""
    command = [sys.executable, "-c", HEAD + JOBS[job], *files]
    environment = os.environ | {"PYTHONPATH": source}
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(answer.stdout)


def write(folder: Path) -> list[str]:
    """Write the files: 20 columns of numbers as LIBSVM text and as CSV."""
    program = """
import sys
import numpy as np
rng = np.random.default_rng(0)
n = int(sys.argv[3])
X, y = rng.standard_normal((n, 20)), rng.integers(0, 2, n)
with open(sys.argv[1], "w") as text, open(sys.argv[2], "w") as table:
    table.write(",".join(f"x{j}" for j in range(20)) + ",y\\n")
    for row, label in zip(X.round(4).tolist(), y.tolist()):
        text.write(f"{label} " + " ".join(f"{j + 1}:{x}" for j, x in enumerate(row)) + "\\n")
        table.write(",".join(map(str, row)) + f",{label}\\n")
"""
    files = [str(folder / "rows.svm"), str(folder / "rows.csv")]
    subprocess.run([sys.executable, "-c", program, *files, "500" if QUICK else "500000"], check=True)
    return files


def run() -> Iterator[Row]:
    if not BEFORE:
        return
    now = str(Path(__file__).parent.parent / "src")
    with TemporaryDirectory() as folder:
        files = write(Path(folder))
        for job in JOBS:
            both = [[seconds(source, job, files) for source in (BEFORE, now)] for _ in range(TURNS)]
            before, ours = (min(times) for times in zip(*both, strict=True))
            yield at_most(job, ours, "the version before", before, MORE_TIME)
