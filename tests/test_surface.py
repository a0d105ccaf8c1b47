"""What the package shows to the world: its names, their documentation, and what an import costs."""

import doctest
import importlib
import inspect
import subprocess
import sys

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


@pytest.mark.parametrize("name", sorted(set(linsep._ROOMS.values())))
def test_examples_run(name):
    module = importlib.import_module(f"linsep.{name}")
    modules = [module]
    if name == "estimators":
        modules = [importlib.import_module(f"linsep.estimators.{family}") for family in ("perceptron", "maxmargin")]
    for each in modules:
        assert doctest.testmod(each, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


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
