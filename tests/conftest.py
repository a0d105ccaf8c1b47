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
FULL = os.environ.get("LINSEP_EXAMPLES") == "full"  # as `make slow` says

matplotlib.use("Agg")
_init = settings.__init__


def _examples(self, parent=None, *, max_examples=40, **others):
    """Try all examples of a property in the slow tests, a third of them in others, five without compiled loops."""
    _init(self, parent, max_examples=max_examples if FULL else max(5, max_examples // 3 * COMPILED), **others)


settings.__init__ = _examples
settings.register_profile("linsep", deadline=None, derandomize=True)
settings.load_profile("linsep")


def pytest_collection_modifyitems(items):
    """Mark the tests of properties, which `make slow` runs again with all of their examples."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("examples")


if not COMPILED:
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
