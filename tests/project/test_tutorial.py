"""The tutorial is run as it stands, and prints what it says it prints."""

import contextlib
import io
import re
from pathlib import Path

import matplotlib.pyplot as plt

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(python|output)\n(.*?)^```$", re.M | re.S)


def blocks():
    """Return pairs of code and the output that is written under it."""
    found = [(kind, body) for kind, body in BLOCK.findall(TUTORIAL.read_text(encoding="utf-8"))]
    pairs = []
    for kind, body in found:
        if kind == "python":
            pairs.append([body, ""])
        else:
            pairs[-1][1] = body
    return pairs


def test_every_block_runs_and_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    pairs = blocks()
    assert len(pairs) > 10
    for number, (code, said) in enumerate(pairs, 1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"tutorial block {number}", "exec"), names)
        assert printed.getvalue() == said, f"block {number}"
    plt.close("all")
    assert {path.name for path in tmp_path.iterdir()} == {"theorem.png", "planes.png", "regions.png", "report.html"}


def test_the_outputs_are_found():
    pairs = blocks()
    assert sum(bool(said) for _, said in pairs) >= 10
    assert all(said.endswith("\n") for _, said in pairs if said)
