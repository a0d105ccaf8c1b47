"""Every line of docs/lectures.md: the Python is true, the command runs, the place is on the page."""

from __future__ import annotations

import re
import shlex
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "lectures.md"
TEXT = PAGE.read_text(encoding="utf-8")
LINES = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith("| in the notes")
]


@cache
def prepared() -> dict[str, Any]:
    """Run the set-up of the page."""
    found = re.search(r"```python\n(.*?)```", TEXT, re.S)
    assert found is not None
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        exec(found[1], names)
    return names


def test_the_page_has_its_lines() -> None:
    assert len(LINES) >= 75
    assert all(len(line) == 4 for line in LINES)


@pytest.mark.parametrize("line", LINES, ids=[line[0] for line in LINES])
def test_the_python_is_true(line: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert eval(line[1].strip("`"), prepared())


@pytest.mark.slow
def test_the_commands_run(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("points.csv").write_text("x1,x2,label\n1,0,1\n0,-1,-1\n0,1,1\n-1,0,-1\n")
    Path("xor.csv").write_text("x1,x2,label\n0,0,0\n0,1,1\n1,0,1\n1,1,0\n")
    assert run("fit", "points.csv")[0] == 0
    for said in dict.fromkeys(line[2].strip("`") for line in LINES if line[2]):
        out = [] if " fit " not in said else ["--model", "other.linsep"]
        code, _, error = run(*shlex.split(said)[1:], *out)
        assert code in (0, 1), (said, error)  # 1: no plane separates the rows
        assert code == 0 or "xor" in said, (said, error)


def test_the_places_are_on_the_page(run: Any, tmp_path: Path) -> None:
    assert run("explore", "--out", tmp_path / "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8").lower()
    assert [line[3] for line in LINES if line[3] and line[3].lower() not in page] == []
