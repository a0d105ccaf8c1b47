"""Commands load what they use and nothing else: each is run in a process of its own, which then lists its modules."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from data import few
from linsep.cli.app import COMMANDS as NAMES

IRIS = Path(__file__).parents[2] / "examples" / "iris.csv"
NEVER = {"sklearn", "matplotlib", "distributed", "dask", "pandas", "formulaic", "scipy.stats", "pydantic"}
SPARSE = {"scipy.sparse", "scipy.special", "scipy.optimize"}  # which rows without zeros do not need
DENSE = SPARSE | {"flint", "highspy"}  # nor do those who prove nothing
PLAIN = DENSE - {"scipy.sparse"}  # sparse rows are SciPy's
COMMANDS = {
    "generate rows.csv --n 150 --d 4": DENSE | {"numba"},
    "fit rows.csv -m again.linsep --max-iter 20": DENSE,
    "separate rows.csv --no-margin": SPARSE | {"highspy"},
    "regression rows.csv --target y": {"highspy"},
    "fit rows.svm -m sparse.linsep --max-iter 20": PLAIN | {"pyarrow"},
    "predict iris.linsep iris.csv": DENSE | {"rich"},
    "predict sparse.linsep rows.svm": PLAIN | {"rich"},
    "score iris.linsep iris.csv --quiet": SPARSE | {"highspy", "rich"},
    "convert model.linsep model.txt": DENSE | {"pyarrow"},
    "separate iris.csv --proof proof.json --quiet": SPARSE | {"highspy", "rich"},
    "verify proof.json iris.csv": SPARSE | {"highspy"},
    "errors iris.csv --time-limit 5": SPARSE,
}
LISTED = """
import atexit, sys
from linsep.cli import main
atexit.register(lambda: print("LOADED", *sys.modules, file=sys.stderr))
main()
"""


MADE = {  # what commands need, and what makes it
    "rows.csv": "generate rows.csv --n 40 --d 2",
    "rows.svm": "generate rows.svm --n 40 --d 2",
    "model.linsep": "fit rows.csv",
    "iris.linsep": "fit iris.csv -m iris.linsep --max-iter 9",
    "sparse.linsep": "fit rows.svm -m sparse.linsep",
    "proof.json": "separate iris.csv --proof proof.json",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("light")
    (place / "iris.csv").write_bytes(IRIS.read_bytes())
    return place


def run(place, command):
    """Run a command; return the modules that it has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", LISTED, *command.split()],
        cwd=place,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return set(done.stderr.rpartition("LOADED ")[2].split())


def make(place, command):
    """Make the files that a command needs, unless they are there."""
    for name, maker in MADE.items():
        if name in command and not (place / name).exists() and command != maker and not command.startswith("generate"):
            make(place, maker)
            run(place, maker)


@pytest.mark.compiled
@pytest.mark.parametrize("command", few(COMMANDS, 4))
def test_a_command_loads_only_what_it_uses(folder, command):
    make(folder, command)
    unwanted = NEVER | COMMANDS[command]
    loaded = run(folder, command)
    if loaded & unwanted:  # what compiles loads more; its code is kept by now
        loaded = run(folder, command)
    assert loaded & unwanted == set()
    assert [name for name in NAMES if f"linsep.cli.{name}" in loaded] == [command.split()[0]]


def test_the_library_without_its_estimators_needs_no_scikit_learn():
    code = "import sys, linsep; linsep.read; linsep.separate; linsep.fit_source; linsep.save; print(*sys.modules)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & NEVER
