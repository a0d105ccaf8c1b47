"""Settings for all tests, and what it takes to run them with the compiler off (``make coverage``)."""

import os
import signal
import sys
import warnings

import matplotlib
import pytest
from hypothesis import settings

from linsep.cli import main

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
PATIENCE = 5.0  # seconds of processor time that a test gets with the compiler off

matplotlib.use("Agg")
settings.register_profile("linsep", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("linsep")

if not COMPILED:
    # Kernels are a hundred times slower and are run to see which lines are reached: a few examples will do, and what
    # takes long is left. Hashes and parsers wrap around in 64 bits, of which NumPy warns and compiled code does not.
    os.environ["PYTHONWARNINGS"] = "ignore:overflow encountered:RuntimeWarning"
    _init = settings.__init__

    def _fewer(self, parent=None, *, max_examples=5, **others):
        _init(self, parent, max_examples=min(5, max_examples), **others)

    settings.__init__ = _fewer
    settings.register_profile("linsep", deadline=None, max_examples=5, derandomize=True)
    settings.load_profile("linsep")

    def pytest_configure(config):
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(item):  # noqa: ARG001
        os.environ["NUMBA_DISABLE_JIT"] = "0"  # processes that a test starts are not looked into: let them be fast

        late = []

        def leave(*_):
            late.append(f"takes more than {PATIENCE:g} s with the compiler off")
            pytest.skip(late[0])

        before = signal.signal(signal.SIGVTALRM, leave)
        signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE, 1)
        try:
            return (yield)
        except BaseException:
            if late:  # whatever became of the interruption on its way up
                pytest.skip(late[0])
            raise
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)


@pytest.fixture(autouse=True)
def _no_figure_is_left():
    """Close what an example has drawn: later tests look at all figures that are open."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder; return its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def command(*arguments):
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return left.value.code, printed.out, printed.err

    return command
