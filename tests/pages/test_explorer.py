"""The explorer as a file: what Python puts into it. What it computes is tested by Node and in a browser."""

import json
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import linsep
from linsep.pages.explorer.page import MOST_CLASSES, MOST_COLUMNS, MOST_ROWS, SETTINGS, points_of, points_of_file

NODE = shutil.which("node")
HERE = Path(__file__).parent
ENGINE = files("linsep.pages.explorer") / "engine"


@pytest.mark.skipif(NODE is None, reason="no Node on this machine")
def test_the_engine_by_its_own_tests():
    done = subprocess.run([NODE, "--test", str(HERE / "engine.test.js")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]


def start(html):
    """Return the points and settings that a page begins with."""
    return json.loads(re.search(r'id="linsep-start">(.*?)</script>', html).group(1))


def test_a_page_begins_with_the_rows_of_python():
    X = pd.DataFrame({"a": [0.5, 1.0], "b": [1, 2]})
    page = linsep.explore(X, ["x", "y"], fit_intercept=False, order="worst")
    assert start(page.html) == {
        "points": {"rows": [[0.5, 1.0], [1.0, 2.0]], "labels": ["x", "y"], "names": ["a", "b"]},
        "settings": {"fit_intercept": False, "order": "worst"},
        "said": "",
    }
    assert start(linsep.explore(eta0=2.0).html) == {"points": None, "settings": {"eta0": 2.0}, "said": ""}
    assert points_of(np.eye(2), np.array([1.0, 2.5]))["labels"] == [1, "2.5"]
    assert points_of(np.eye(2), [True, False])["labels"] == ["True", "False"]


def test_a_page_holds_everything_and_no_label_ends_its_script():
    html = linsep.explore([[0.0], [1.0]], ["</script><b>", "y"]).html
    assert html.count("</script>") == 3
    assert start(html)["points"]["labels"][0] == "</script><b>"
    assert not re.search(r'(?:src|href)="(?!data:)', html)
    assert "default-src 'none'" in html
    assert "/*" not in re.sub(r"/\*.*?\*/", "", html, flags=re.DOTALL)  # nothing was left to be put in


def test_an_order_may_be_a_list_of_rows():
    page = linsep.explore([[0.0], [1.0]], [0, 1], order=np.array([1, 0, 1]))
    assert start(page.html)["settings"] == {"order": "list", "visits": [1, 0, 1]}


def test_a_notebook_shows_the_page_in_a_frame():
    page = linsep.explore([[0.0], [1.0]], [0, 1])
    shown = page._repr_html_()
    assert shown.startswith("<iframe")
    assert "srcdoc=" in shown
    assert "<script" not in shown


def test_files_are_read_as_everywhere(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("a,b,kind\n" + "".join(f"{i},{i % 7},{'xy'[i % 2]}\n" for i in range(MOST_ROWS + 10)))
    points, note = points_of_file(str(path))
    assert len(points["rows"]) == len(points["labels"]) == MOST_ROWS
    assert points["names"] == ["a", "b"]
    assert f"the first {MOST_ROWS} rows" in note


@pytest.mark.parametrize(("X", "y", "message"), [
    (np.zeros((MOST_ROWS + 1, 1)), np.zeros(MOST_ROWS + 1), "up to 3000 points"),
    (np.zeros((1, MOST_COLUMNS + 1)), [0], "up to 32 columns"),
    (np.zeros((MOST_CLASSES + 1, 1)), range(MOST_CLASSES + 1), "up to 10 classes"),
    ([[np.nan]], [0], "NaN"),
    ([1.0, 2.0], [0, 1], "two dimensions"),
    ([[1.0], [2.0]], [0], "2 points but 1 labels"),
    ([[1.0]], None, "both X and y"),
])  # fmt: skip
def test_what_the_page_cannot_show_is_said(X, y, message):
    with pytest.raises(ValueError, match=message):
        linsep.explore(X, y)


def test_settings_are_those_that_the_page_declares():
    declared = re.findall(r"^  (\w+): (?:choice|number|check|\{)", (ENGINE / "settings.js").read_text(), re.MULTILINE)
    assert {*declared, "columns"} == set(SETTINGS)
    limits = dict(re.findall(r"export const (MOST_\w+) = (\d+);", (ENGINE / "points.js").read_text()))
    assert {name: int(value) for name, value in limits.items()} == {
        "MOST_POINTS": MOST_ROWS,
        "MOST_COLUMNS": MOST_COLUMNS,
        "MOST_CLASSES": MOST_CLASSES,
    }
    with pytest.raises(TypeError, match="no setting 'speed'"):
        linsep.explore([[0.0], [1.0]], [0, 1], speed=3)


def command(*arguments, **others):
    return subprocess.run(
        [sys.executable, "-m", "linsep", "explore", *arguments], capture_output=True, text=True, check=False, **others
    )


def test_the_command_writes_one_file_and_starts_nothing(tmp_path):
    data, out = tmp_path / "points.csv", tmp_path / "page.html"
    data.write_text("x,y,label\n0,0,a\n1,1,b\n")
    done = command(str(data), "--out", str(out))
    assert (done.returncode, done.stdout) == (0, f"wrote {out}\n")
    assert start(out.read_text())["points"] == {"rows": [[0, 0], [1, 1]], "labels": ["a", "b"], "names": ["x", "y"]}
    done = command(str(data), "--out", str(data))
    assert done.returncode == 2
    assert data.read_text().startswith("x,y")


def test_without_a_place_a_browser_opens_a_temporary_file(tmp_path, monkeypatch):
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = command()
    assert done.returncode == 0
    path = done.stdout.removeprefix("linsep explore: ").strip()
    assert opened.read_text().strip() == Path(path).as_uri()
    assert start(Path(path).read_text())["points"] is None
