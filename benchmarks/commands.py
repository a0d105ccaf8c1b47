"""What a user waits for each command on 150 rows, beside ``python -c "import numba"``."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import ENVIRONMENT, Row, at_most, in_turns, sized

RUN = "import sys; from linsep.cli import main; main()"
COMMANDS = (
    "generate rows.csv --n 150 --d 4",
    "fit rows.csv --model model.linsep",
    "predict model.linsep rows.csv --out labels.csv",
    "score model.linsep rows.csv",
    "separate rows.csv --proof proof.json",
    "verify proof.json rows.csv",
    "convert model.linsep model.txt",
)


def process(folder: Path, *code: str) -> Callable[[], object]:
    """Return a job: a process of Python, from its start to its end."""
    command = [sys.executable, "-c", *code]
    return lambda: subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, check=True)


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        jobs = [process(Path(name), RUN, *command.split()) for command in COMMANDS]
        *ours, numba = in_turns(*jobs, process(Path(name), "import numba"), times=sized(9, 1))
        for command, seconds in zip(COMMANDS, ours, strict=True):
            yield at_most(f"linsep {command.split()[0]}, 150 rows, whole process", seconds, "import numba", numba, 3)
