"""The pages tell the truth: commands print what they show, keys are those that are printed, names are all there."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

import numpy as np
import pytest

import linsep
from data import few
from linsep.cli.fit import mixing_facts
from linsep.serve.service import Service

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import imports  # noqa: E402
import options  # noqa: E402
import pages  # noqa: E402
import tables  # noqa: E402

COMMANDS = (
    "fit", "predict", "score", "separate", "regression", "errors", "verify", "show", "report", "convert", "generate",
    "explore", "compile", "serve", "replay",
)  # fmt: skip


PAGES = [str(page.relative_to(ROOT)) for page in pages.pages() if pages.BLOCK.search(page.read_text("utf-8"))]
PAGES.sort(key="docs/cluster.md".__eq__)  # it starts clusters


@pytest.mark.parametrize("page", few(PAGES, len(PAGES) - 1))
def test_what_a_page_shows_is_what_is_printed(page):
    """Where this fails and the new output is right, ``make pages`` writes it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert pages.settled(pages.run(text)) == pages.settled(text)


def test_a_page_that_lies_is_noticed():
    page = "```python\nprint(1)\n```\n\n```output\n{}\n```\n\n```console\n$ linsep --version\n{}\n$ echo $?\n{}\n```\n"
    said, true = page.format(2, "linsep 99", 7), page.format(1, f"linsep {linsep.__version__}", 0)
    assert pages.run(said) == true
    assert pages.settled("time 0.25 s, 3.1 MB/s") == pages.settled("time 12.00 s, 0.5 MB/s")
    assert pages.settled("12 rows") != pages.settled("13 rows")


def test_every_command_has_a_page_with_all_its_options():
    from linsep.cli.app import COMMANDS as NAMES

    names = list(NAMES)
    assert sorted(names) == sorted(COMMANDS)
    for name in names:
        page = (ROOT / "docs" / "commands" / f"{name}.md").read_text(encoding="utf-8")
        assert f"<!-- options: {name} -->" in page
        assert "$ linsep" in page or name in ("explore", "compile", "serve", "replay")
    assert "`--shuffle`, `--no-shuffle`" in options.table("fit")
    assert "`--header`, `--no-header`" in options.table("score")
    assert "| `--order` `cyclic`, `shuffled`, `first`, `worst` |" in options.table("fit")


SHELL = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)


def test_linsep_takes_the_commands_that_the_pages_do_not_run():
    """They need a cluster, a bucket or a browser, so only their options and values are checked here."""
    import click

    from linsep.cli.app import app

    lines = [
        shlex.split(line, comments=True)[1:]
        for page in pages.pages()
        for block in SHELL.findall(page.read_text("utf-8"))
        for line in block.splitlines()
        if line.startswith("linsep ")
    ]
    assert len(lines) > 10
    for name, *arguments in lines:
        command = app.get_command(click.Context(app), name)
        with command.make_context(name, arguments) as context:
            assert context.params


def documented():
    """The keys of every command, by the page."""
    sections = re.split(r"^## ", (ROOT / "docs" / "json.md").read_text(encoding="utf-8"), flags=re.M)[1:]
    return {section.split("\n")[0]: re.findall(r"^\| `(\w+)` \|", section, re.M) for section in sections}


def test_the_keys_of_json_are_the_documented_ones(tmp_path, monkeypatch):
    data, model = str(ROOT / "examples" / "setosa.csv"), "m.linsep"
    lines = {
        "fit": f"fit {data} --model {model}",
        "predict": f"predict {model} {data} --out labels.csv",
        "score": f"score {model} {data}",
        "separate": f"separate {data} --proof p.json",
        "regression": "regression overlap.csv --target y",
        "errors": f"errors {data}",
        "verify": f"verify p.json {data}",
        "show": f"show {model}",
        "show, with data": f"show {model} {data}",
        "report": f"report {data} --out r.html",
        "convert": f"convert {model} m.onnx",
        "generate": "generate g.csv --n 20 --d 2",
        "replay": "replay learner",
        "serve, with a check": "serve --check learner",
    }
    told = documented()
    assert sorted(told) == sorted([*lines, "fit, on a cluster"])
    mixed = {"mistakes": np.zeros((2, 3)), "weighted": 1.0, "margin_upper": 1.0, "holds": "holds"}
    assert list(mixing_facts(SimpleNamespace(mixing_=mixed))) == told["fit, on a cluster"]
    monkeypatch.chdir(tmp_path)
    Path("overlap.csv").write_text("x,y\n0,0\n0,1\n1,0\n1,1\n")
    Service("learner").close()
    with pages._calm():
        for name, line in lines.items():
            out, code = pages._linsep([*line.split(), "--json"])
            assert code == 0, out
            assert list(json.loads(out)) == told[name], name


def test_the_reference_has_every_public_name():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    named = re.findall(r"^\.\. auto(?:class|function|exception):: linsep\.([\w.]+)$", page, re.M)
    assert len(named) == len(set(named))
    assert {name for name in named if "." not in name} == set(linsep.__all__)


def test_the_graph_of_imports_is_drawn_from_the_code():
    packages = {package for line in imports.layers() for package in line}
    pairs = imports.edges(packages)
    assert {("cli", "pages"), ("models", "learn"), ("prove", "data"), ("learn", "problem")} <= pairs
    assert ("learn", "models") not in pairs
    assert imports.needed({("a", "b"), ("b", "c"), ("a", "c")}) == {("a", "b"), ("b", "c")}
    picture = imports.svg()
    assert all(f">{package}</text>" in picture for package in packages)


@pytest.mark.parametrize("path", tables.pages(), ids=lambda path: path.name)
def test_tables_are_made_from_the_code(path):
    page = path.read_text(encoding="utf-8")
    assert tables.fill(page) == page, "python docs/tables.py writes the tables anew"


@pytest.mark.slow
def test_the_pages_are_built_strictly_and_need_nothing_from_elsewhere(tmp_path):
    pytest.importorskip("sphinx")
    where = [ROOT / "docs", tmp_path / "site"]
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-d", tmp_path / "doctrees", "-b", "html", *where]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r'<(?:script|img|link|iframe)[^>]*(?:src|href)="(?:https?:)?//', text), page
        assert not re.search(r'<a [^>]*href="(?!https://[\w.-]+\.\w+)\w+:', text), page
        for link in re.findall(r'<a [^>]*href="(?!\w+:)([^"]+)"', text):
            path, _, anchor = unquote(link).partition("#")
            target = page.parent / path if path else page
            assert target.exists(), (page, link)
            assert not anchor or f'id="{anchor}"' in target.read_text(encoding="utf-8"), (page, link)
    assert (site / "_images" / "imports.svg").exists()
    options_of_fit = (site / "commands" / "fit.html").read_text(encoding="utf-8")
    assert "n-iter-no-change" in options_of_fit


LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)(?:#[\w-]+)?\)|!\[[^\]]*\]\(([^)\s]+)\)")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"])
def test_links_of_pages_outside_the_site_lead_somewhere(name):
    page = ROOT / name
    for found in LINK.finditer(page.read_text(encoding="utf-8")):
        target = found[1] or found[2]
        assert target.startswith("https://") or (page.parent / target).exists(), target
