"""Chromium for the tests of pages; without it, or without Playwright, they are skipped."""

import contextlib
import shutil

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium brings it"
)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]


@contextlib.contextmanager
def chromium():
    """Yield a browser."""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
