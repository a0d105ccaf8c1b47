"""The benchmarks run, keep what they measure, and the pages tell what was measured."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import Row, at_least, at_most, best, charts, features, results, rounds
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


def test_a_question_that_fails_is_told_and_the_others_go_on(tmp_path, monkeypatch):
    import benchmarks.__main__ as runner
    from rich.console import Console

    quiet = Console(quiet=True)
    monkeypatch.setattr(runner, "ROOT", tmp_path)  # where nothing can be imported from
    found = runner.ask("passes", 60, True, quiet)
    assert "No module named" in found["failed"]
    assert found["rows"] == []
    package = tmp_path / "benchmarks"
    package.mkdir()
    (package / "__init__.py").write_text("")
    line = json.dumps({"row": Row("job", 1.0, "peer", 2.0, 2.0, "≥ 1×", True)._asdict()})
    (package / "__main__.py").write_text(f"print({line!r}, flush=True)\nraise ModuleNotFoundError('no peer')")
    found = runner.ask("passes", 60, True, quiet)
    assert found["failed"] == "ModuleNotFoundError: no peer"
    assert found["rows"][0]["job"] == "job"  # what was measured before is kept
    (package / "__main__.py").write_text("while True: pass")
    assert runner.ask("passes", 1, True, quiet)["failed"] == "stopped after 1 s"
    (package / "__main__.py").write_text("")
    assert "nothing measured" in runner.ask("passes", 60, True, quiet)["failed"]


def test_the_cost_of_rounds_is_fitted_and_run_forward(monkeypatch):
    true = rounds.Cost(0.02, 0.003, 1e9, 1e8)
    grid = [(workers, shards, d) for workers in (1, 2) for shards in (2, 8, 16) for d in (10**3, 10**6)]
    timed = tuple(rounds.Timed(*place, true.overhead(*place[1:], true.B)) for place in grid)
    monkeypatch.setattr(rounds, "measured", lambda: timed)
    monkeypatch.setattr(rounds, "speed", lambda: 1e8)
    rounds.fitted.cache_clear()
    assert rounds.fitted() == pytest.approx(true, rel=1e-6)
    for d in (10**5, rounds.WIDE):
        seconds = [rounds.simulated(true, workers, d, 1e12) for workers in (1, 10, 100)]
        assert seconds == sorted(seconds, reverse=True)
        assert all(each > 1e12 / workers / true.v * 0.8 for each, workers in zip(seconds, (1, 10, 100), strict=True))
    wide = rounds.simulated(true, 1000, rounds.WIDE, 1e12)
    assert wide > 8 * rounds.WIDE * 1000 / true.B  # all of it goes through one link
    assert [table.name for table in rounds.tables()] == ["rounds", "model", "workers"]
    rounds.fitted.cache_clear()
