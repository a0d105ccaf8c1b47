"""Commands load what they use and nothing else: each is run in a process of its own, which then lists its modules."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

IRIS = Path(__file__).parents[1] / "examples" / "iris.csv"
NEVER = {"sklearn", "matplotlib", "distributed", "dask", "pandas", "scipy.stats", "pydantic"}
DENSE = {"scipy.sparse", "scipy.linalg"}  # which rows without zeros do not need
COMMANDS = {
    "generate rows.csv --n 150 --d 4": DENSE | {"flint", "highspy", "numba"},
    "fit iris.csv -m again.linsep --max-iter 20": DENSE | {"flint", "highspy"},
    "predict iris.linsep iris.csv": DENSE | {"flint", "highspy", "rich"},
    "score iris.linsep iris.csv --quiet": DENSE | {"flint", "highspy", "rich"},
    "convert model.linsep model.txt": DENSE | {"flint", "highspy", "pyarrow"},
    "separate iris.csv --proof proof.json --quiet": {"rich"},
    "verify proof.json iris.csv": {"highspy"},
    "errors iris.csv --time-limit 5": set(),
}
LISTED = """
import atexit, sys
from linsep.cli import main
atexit.register(lambda: print("LOADED", *sys.modules, file=sys.stderr))
main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the commands have been run once: what they write is there, and compiled code is kept."""
    place = tmp_path_factory.mktemp("light")
    (place / "iris.csv").write_bytes(IRIS.read_bytes())
    first = ("generate rows.csv --n 40 --d 2", "fit rows.csv", "fit iris.csv -m iris.linsep --max-iter 9")
    for command in (*first, "predict iris.linsep iris.csv", "separate iris.csv --proof proof.json"):
        run(place, command)
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


@pytest.mark.compiled
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_loads_only_what_it_uses(folder, command):
    loaded = run(folder, command)
    assert "linsep.cli" in loaded
    assert loaded & (NEVER | COMMANDS[command]) == set()


def test_the_library_without_its_estimators_needs_no_scikit_learn():
    code = "import sys, linsep; linsep.read; linsep.separate; linsep.fit_source; linsep.save; print(*sys.modules)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & NEVER
