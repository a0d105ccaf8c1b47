"""The benchmarks run, keep what they measure, and the pages tell what was measured."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import Row, at_least, at_most, best, charts, features, results
from benchmarks.__main__ import arguments

ROOT = Path(__file__).parents[2]


def bench(*given, **options):
    command = [sys.executable, "-m", "benchmarks", *map(str, given)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize("page", sorted(results.PAGES))
def test_pages_tell_what_was_measured(page):
    """Where this fails, ``python -m benchmarks --pages`` writes them anew."""
    assert results.written(page, results.load(results.PATH)) == (ROOT / page).read_text(encoding="utf-8")


def test_the_table_of_features_tells_what_was_found_out():
    """Where this fails, ``python -m benchmarks.features`` writes it anew, with the peers of the extra ``bench``."""
    told = json.loads(features.PATH.read_text(encoding="utf-8"))
    for page in features.PAGES:
        assert features.written(page, told) == (ROOT / page).read_text(encoding="utf-8")
    each = features.checks()
    assert list(each) == list(told["features"])
    assert all(set(row) == set(features.PEERS) for row in each.values())  # no cell is unasked
    assert features.notes() == told["notes"]
    assert all(row["linsep"] for row in features.find_out("linsep").values())


def test_every_chart_is_there():
    told = results.load(results.PATH)["questions"]
    wanted = {f"{name}-{k + 1}.svg" for name, each in told.items() for k in range(len(each["curves"]))}
    wanted |= {f"{name}.svg" for name, each in told.items() if each["rows"]}
    assert {path.name for path in (ROOT / "benchmarks" / "charts").glob("*.svg")} == wanted


def test_rows_say_whether_their_targets_are_met():
    assert at_least("job", 1.0, "peer", 3.0, 3).met
    assert not at_least("job", 1.0, "peer", 2.9, 3).met
    assert at_most("job", 1.4, "limit", 1.0, 1.4).met
    assert not at_most("job", 1.5, "limit", 1.0, 1.4).met
    assert at_least("job", 2.0, "peer", 3.0, 3).ratio == 1.5
    shown = [results.compared(make("job", 2.0, "peer", 3.0, 3)._asdict()) for make in (at_least, at_most)]
    assert shown == ["1.5×", "0.67×"]
    assert best(lambda: None, 2) >= 0


def test_help_and_unknown_names():
    assert arguments(["passes"]).names == ["passes"]
    assert set(arguments(["all"]).names) == set(arguments([]).names) >= {"passes", "files", "scaling"}
    done = bench("--help")
    assert done.returncode == 0
    assert "usage: python -m benchmarks" in done.stdout
    done = bench("passess")
    assert done.returncode == 2
    assert "passess is not a question" in done.stderr


@pytest.mark.slow
def test_a_quick_run_replaces_its_rows_alone(tmp_path):
    out = tmp_path / "results.json"
    old = {"rows": [Row("old", 1.0, "peer", 2.0, 2.0, "≥ 1×", True)._asdict()], "curves": [], "failed": None}
    results.save({"questions": {"files": results.entry("files", old)}}, out)
    done = bench("scaling", "--quick", "--out", out)
    assert done.returncode == 0, done.stderr
    told = json.loads(out.read_text())["questions"]
    assert told["files"]["rows"][0]["job"] == "old"
    found = told["scaling"]
    assert found["failed"] is None
    assert found["quick"]
    assert found["versions"]["linsep"]
    assert found["machine"]["cores"] >= 1
    titles = [curve["title"] for curve in found["curves"]]
    for word in ("rows", "columns", "density", "classes", "1/γ"):
        assert sum(f"against {word}" in title for title in titles) == 1
    bound, made = (found["curves"][-1]["lines"][name][1] for name in ("bound (R/γ)²", "mistakes"))
    assert all(k <= most for k, most in zip(made, bound, strict=True))
    charts.draw({"questions": told}, tmp_path / "charts")
    assert len(list((tmp_path / "charts").glob("scaling-*.svg"))) == 5
    assert (tmp_path / "charts" / "files.svg").stat().st_size > 1000
