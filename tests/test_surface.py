"""What the package shows to the world: its names, their documentation, and what an import costs."""

import doctest
import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import linsep


def test_every_public_name_is_there_and_documented_with_an_example():
    assert sorted(linsep.__all__) == linsep.__all__
    for name in linsep.__all__:
        thing = getattr(linsep, name)
        assert inspect.getdoc(thing), name
        if callable(thing) and name not in ("Plane",):
            assert ">>>" in inspect.getdoc(thing), name
    assert set(linsep.__all__) <= set(dir(linsep))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        linsep.nonsense  # noqa: B018


SOURCE = Path(linsep.__file__).parent
EXAMPLES = [
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8") and "cluster" not in path.parts  # which has its own workers
]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert done.attempted > 0
    assert done.failed == 0
    assert os.listdir(tmp_path) == []  # an example cleans up


def test_importing_loads_and_compiles_nothing():
    code = "import linsep, sys; print(sorted({'numba', 'sklearn', 'scipy', 'matplotlib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    code = (
        "from linsep import kernels\n"
        "print(sum(len(f.signatures) for f in vars(kernels).values() if hasattr(f, 'signatures')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
