"""Settings for all tests, and what it takes to run them with the compiler off (``make coverage``)."""

import os
import signal
import sys
import threading
import warnings

import matplotlib
import numpy as np
import pytest
from hypothesis import settings

from linsep.cli import main

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"

matplotlib.use("Agg")
settings.register_profile("linsep", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("linsep")

if not COMPILED:
    # Kernels are a hundred times slower and are run to see which lines are reached: a few examples will do.
    _init = settings.__init__

    def _fewer(self, parent=None, *, max_examples=5, **others):
        _init(self, parent, max_examples=min(5, max_examples), **others)

    settings.__init__ = _fewer
    settings.register_profile("linsep", deadline=None, max_examples=5, derandomize=True)
    settings.load_profile("linsep")

    # Hashes and parsers wrap around in 64 bits, filters of exact signs meet infinities: NumPy warns of both and
    # compiled code does not. A thread does not inherit the setting.
    np.seterr(all="ignore")
    _run = threading.Thread.run

    def _without_warnings(self):
        np.seterr(all="ignore")
        _run(self)

    threading.Thread.run = _without_warnings

    @pytest.fixture(autouse=True)
    def _programs_are_compiled(monkeypatch):
        """Let the programs that a test starts be fast: the other half of the count looks into them."""
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")


def _pages_skipped(config):
    """How many tests were skipped because there is no browser."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = [] if reporter is None else reporter.stats.get("skipped", [])
    return sum("chromium" in str(report.longrepr) for report in skipped)


def pytest_terminal_summary(terminalreporter, config):
    """Say in the last lines what was not tested, and what would bring it."""
    if number := _pages_skipped(config):
        terminalreporter.write_line(
            f"{number} groups of tests of the pages were skipped: apt-get install chromium brings them"
        )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Fail where the tests of the pages must run and did not."""
    if os.environ.get("LINSEP_PAGE_TESTS") == "required" and _pages_skipped(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


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
