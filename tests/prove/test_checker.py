"""The checker in the browser judges as Python's do, and needs no network; forged proofs are judged under node."""

import base64
import io
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from test_separation import FAMILIES
from test_separation_proofs import proofs as separation_proofs

import linsep
from linsep.cli import main
from linsep.pages import checker
from linsep.prove.check.linsep_check import csv_lines

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
CHECK = """async (cases) => {
  const found = [];
  for (const {document, table} of cases) {
    const {holds, reason, steps} = await linsepChecker.checkProof(document, linsepChecker.tableOf(table));
    found.push([holds, reason ?? "", steps.map(({title, said}) => `${title}: ${said}`)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    """A page with nothing on it but the checker, and no network; a file, as a report is."""
    path = tmp_path_factory.mktemp("page") / "empty.html"
    path.write_text("<!doctype html><title>checker</title>")
    context = browser.new_context(offline=True)
    context.set_default_timeout(600_000)
    made = context.new_page()
    made.goto(path.as_uri())
    made.add_script_tag(content=checker.script().replace("const linsepChecker", "window.linsepChecker", 1))
    yield made
    context.close()


KINDS = ("overlap", "quasi", "separable")


def checked(page, cases):
    """Return what the browser says of (document, X, y)."""
    sent = [{"document": text, "table": checker.table_of(*rows)} for text, *rows in cases]
    return page.evaluate(CHECK, sent)


def problems():
    """Yield rows of every kind: integers, decimals, floats, dependent columns, several classes, repeated rows."""
    rng = np.random.default_rng(5)
    for t in range(60):
        n, d, classes = int(rng.integers(3, 14)), int(rng.integers(1, 5)), int(rng.integers(2, 5))
        X = rng.integers(-2, 3, (n, d)).astype(np.float64)
        if t % 3 == 1:
            X = X * 0.1 + 0.3
        if t % 3 == 2:
            X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-9, 9)
        if t % 4 == 0 and d > 1:
            X[:, 0] = 2 * X[:, 1]
        y = rng.integers(0, classes, n)
        if len(set(y.tolist())) > 1:
            yield X, y, {"fit_intercept": bool(t % 2)} | ({"values": "decimal"} if t % 5 == 0 else {})


def kind_of(text):
    content = json.loads(text)
    return content["kind"]


@pytest.fixture(scope="module")
def proofs():
    """Return (document, X, y) of many proofs, of all kinds."""
    found = []
    for X, y, options in problems():
        verdict = linsep.separate(X, y, **options)
        found.append((linsep.to_json(verdict, X, y), X, y))
    assert {kind_of(text) for text, *_ in found} == set(KINDS)
    return found


def test_proofs_that_hold(page, proofs):
    for (holds, reason, steps), (text, X, _) in zip(checked(page, proofs), proofs, strict=True):
        assert holds, reason
        kind = kind_of(text)
        assert f"{len(X)} rows" in steps[1]
        assert [step.split(":")[0] for step in steps[2:]] == {
            "separable": ["The plane"],
            "quasi": ["The plane", "The contradiction"],
            "overlap": ["The contradiction", "The span"],
        }[kind]


def believed(text, X, y):
    """Say whether Python accepts a document."""
    try:
        return linsep.verify(text, X, y)
    except (ValueError, OSError):  # what does not begin as a document is taken for a path
        return False


def test_changed_data(page, proofs):
    """Another label, another cell, another order: none of them are the data of the proof."""
    cases = []
    for text, X, y in proofs[:20]:
        other = X.copy()
        other[0, 0] = np.nextafter(other[0, 0], np.inf)
        cases += [(text, other, y), (text, X, np.roll(y, 1)), (text, X[::-1], y)]
    for (holds, reason, _), (text, X, y) in zip(checked(page, cases), cases, strict=True):
        assert holds == believed(text, X, y), reason


def test_storage_does_not_matter(page):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (30, 12)) * (rng.random((30, 12)) < 0.2)
    y = np.where(X[:, 0] > 0, "yes", "no")
    text = linsep.to_json(linsep.separate(X, y), X, y)
    forms = [X, X.astype(np.float32), X.astype(bool) if X.max() == 1 else X.astype(np.uint8), sp.csr_array(X)]
    assert [holds for holds, *_ in checked(page, [(text, form, y) for form in forms])] == [True] * 4
    large = np.array([[2**53 + 1], [2**53 - 1], [2**53 + 3]])  # some of which no double holds
    labels = ["a", "b", "a"]
    text = linsep.to_json(linsep.separate(large, labels), large, np.array(labels))
    (found,) = checked(page, [(text, large, np.array(labels))])
    assert found[0], found


def test_a_wide_problem_ends_in_time(page):
    """Exact elimination of many columns is given up, not waited for."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((300, 120)), 2, axis=0)
    X[:, -1] = X[:, 0] + X[:, 1]  # rounded: not quite dependent
    y = np.tile([0, 1], 300)
    text = linsep.to_json(linsep.separate(X, y), X, y)
    sent = {"document": text, "table": checker.table_of(X, y, 1 << 30)}
    check = "({document, table}) => linsepChecker.checkProof(document, linsepChecker.tableOf(table), () => {}, 2)"
    found = page.evaluate(check, sent)
    assert found["holds"] or "too long" in found["reason"]


# ---------------------------------------------------------------------------------------------------------------
# Pieces


def test_a_page_without_hashes_says_so(browser, proofs):
    """Browsers have SHA-256 in files and over secure connections; elsewhere the rows are checked, but not named."""
    context = browser.new_context(offline=True)
    empty = context.new_page()
    empty.add_script_tag(content=checker.script().replace("const linsepChecker", "window.linsepChecker", 1))
    text, X, y = proofs[0]
    for (holds, _, steps), wanted in zip(
        checked(empty, [(text, X, y), (text, X[::-1] + 1e6, y)]), (True, False), strict=True
    ):
        assert holds == wanted
        assert sum("this browser offers no SHA-256 here" in step for step in steps) == 2
    context.close()


def test_text_is_split_as_python_does(page):
    page.add_script_tag(content=checker.script().replace("const linsepChecker", "window.pieces", 1))
    floats = [0.1, 1e16, 1e15, 123456.789, 1e-4, 1e-5, 5e-324, 1.7976931348623157e308, -2.5, 3.0, 1e22]
    assert page.evaluate("(all) => all.map(pieces.pythonFloat)", floats) == list(map(repr, floats))
    rng = random.Random(1)
    for _ in range(300):
        text = "".join(rng.choice('ab",;\n\r ') for _ in range(rng.randrange(30)))
        try:
            wanted = list(csv_lines(io.BytesIO(text.encode()), None))
        except ValueError:
            wanted = None  # a quote is never closed
        split = "(text) => { try { return [...pieces.csvLines(text, ',')]; } catch { return null; } }"
        assert page.evaluate(split, text) == wanted, repr(text)


# ---------------------------------------------------------------------------------------------------------------
# On the report


def opened(browser, path):
    context = browser.new_context(offline=True)
    context.set_default_timeout(600_000)
    shown, said = context.new_page(), []
    shown.on("console", lambda message: said.append(message.text))
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.goto(path.as_uri())
    return shown, said


def outcome(shown):
    shown.wait_for_selector(".check-verdict:is([data-holds=true], [data-holds=false])")
    return shown.get_attribute(".check-verdict", "data-holds") == "true"


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A report on rows that a page carries."""
    path = tmp_path_factory.mktemp("reports") / "xor.html"
    X, y = np.array([[0, 0], [1, 1], [0, 1], [1, 0]] * 3), np.array(["</script>", "no"])[[0, 0, 1, 1] * 3]
    return path, linsep.report(X, y, path)


def test_a_report_checks_its_own_proof(browser, reported):
    shown, said = opened(browser, reported[0])
    shown.click("[data-do=check]")
    assert outcome(shown)
    steps = shown.locator(".check-steps li").all_text_contents()
    assert [step.split(":")[0] for step in steps] == ["The document", "The data", "The contradiction", "The span"]
    assert "every plane has rows on the wrong side" in shown.text_content(".check-verdict")
    assert said == []
    shown.context.close()


@pytest.mark.slow
def test_a_report_checks_all_its_proofs(browser, tmp_path):
    """About a table with words, decimals, quotes and semicolons, carried by the page or dropped onto it."""
    rows = ["size;color;kind", '0,1;red;"a;b"', '0,3;"dark ""blue""";c', "0,2;red;c", '0,25;red;"a;b"', "0,4;green;c"]
    rows += ["0,1;red;c", '0,5;green;"a;b"', '0,6;"dark ""blue""";"a;b"']
    data, path = tmp_path / "data.csv", tmp_path / "report.html"
    data.write_text("\n".join(rows) + "\n")
    with pytest.raises(SystemExit) as left:
        main(["report", str(data), "--out", str(path), "--quiet"])
    assert left.value.code == 0
    page = path.read_text()
    assert [*re.findall(r'id="linsep-proof-([^"]+)"', page)] == ["verdict", "fewest-errors", "separation"]
    dropped = re.sub(r'<script type="application/json" id="linsep-data">.*?</script>', "", page, flags=re.S)
    (tmp_path / "dropped.html").write_text(dropped)
    (tmp_path / "other.csv").write_text(data.read_text().replace("0,25", "0,26"))
    for name in ("report.html", "dropped.html"):
        shown, said = opened(browser, tmp_path / name)
        for host in shown.query_selector_all(".check"):
            for file, holds in (("data.csv", "true"), ("other.csv", "false")):
                if name == "dropped.html":
                    host.query_selector("input[type=file]").set_input_files(tmp_path / file)
                else:
                    holds = "true"
                    host.query_selector("[data-do=check]").click()
                found = host.wait_for_selector(".check-verdict:is([data-holds=true], [data-holds=false])")
                assert found.get_attribute("data-holds") == holds, found.text_content()
                host.query_selector("[data-do=check]:not([disabled])")
                found.evaluate("(node) => node.remove()")
        assert said == []
        shown.context.close()
    with saved(page) as folder:  # what the page offers to take away
        done = subprocess.run(
            [sys.executable, "-I", "-S", "linsep_check.py", "fewest-errors.json", str(data)],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@contextmanager
def saved(page):
    """Save the files that a page offers."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in re.findall(r'download="([^"]+)" href="data:[^;]+;base64,([^"]+)"', page):
            (Path(folder) / name).write_bytes(base64.b64decode(text))
        yield folder


@pytest.mark.parametrize(("old", "new"), [
    ('"n_features": 2,', '"n_features": 3,'),  # the document was changed
    ('"lines": ["0 0"', '"lines": ["0 1"'),  # a cell
    ('"labels": ["\\u003c/script>"', '"labels": ["no"'),  # a label
])  # fmt: skip
def test_a_report_that_was_tampered_with(browser, reported, tmp_path, old, new):
    path = tmp_path / "forged.html"
    assert old in reported[1]
    path.write_text(reported[1].replace(old, new, 1))
    shown, said = opened(browser, path)
    shown.click("[data-do=check]")
    assert not outcome(shown)
    assert said == []
    shown.context.close()


@pytest.mark.slow
def test_many_rows_are_asked_for(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(-9, 10, (3000, 200))
    y = X[:, 0] + 0.5 * X[:, 1] > 0.25
    assert checker.table_of(X, y) is None
    path = tmp_path / "many.html"
    labels = np.where(y, "yes", "no")
    linsep.report(X, labels, path, test_size=0.1)
    rows = "\n".join(",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), labels.tolist(), strict=True))
    header = ",".join([*(f"x{j}" for j in range(200)), "label"])
    (tmp_path / "data.csv").write_text(f"{header}\n{rows}\n")
    (tmp_path / "other.csv").write_text(f"{header}\n{rows}\n".replace("\n1,", "\n2,", 1))
    shown, said = opened(browser, path)
    for name, holds in (("data.csv", True), ("other.csv", False)):
        shown.set_input_files("input[type=file]", tmp_path / name)
        shown.wait_for_selector("[data-do=check]:not([disabled])")
        assert outcome(shown) == holds
    assert "not the data it was written for" in shown.text_content(".check-verdict")
    assert said == []
    shown.context.close()


def test_what_has_no_document_has_no_button():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.empty(4, dtype=object)
    y[:] = [(1, 2), (1, 2), (3, 4), (3, 4)]  # labels that JSON cannot hold
    assert checker.proof_of(linsep.separate(X, y), X, y) is None


# ---------------------------------------------------------------------------------------------------------------
# Separation in regression models


def test_proofs_of_separation(page):
    cases = [case for family in FAMILIES for case in separation_proofs(family, 2)]
    for holds, reason, steps in checked(page, cases):
        assert holds, reason
        assert [step.split(":")[0] for step in steps][-2:] == ["The rest", "The coefficients"]


def test_a_dropped_file_is_read_as_the_proof_of_a_model_says(page, tmp_path):
    lines = ["y,a,b,c,w", "1,0.1, north ,3,1", "0,0.7,south,2,2", "1,NA,south,1,1", "0,0.3,north,1,0"]
    plain = "\n".join([*lines, "1,1.1,south,2,1.5", "0,0.2,north,3,1", "1,0.9,north,1,1"])
    commas = plain.replace(",", ";").replace(".", ",")
    for values, text in (("decimal", plain), ("binary", plain), ("decimal", commas)):
        (tmp_path / "t.csv").write_text(text)
        options = ["--formula", "y ~ a + b", "--weights", "w", "--missing", "drop", "--values", values]
        with pytest.raises(SystemExit):
            main(["regression", str(tmp_path / "t.csv"), *options, "--proof", str(tmp_path / "p.json"), "--quiet"])
        document = (tmp_path / "p.json").read_text()
        inside = checker.script()
        page.add_script_tag(content=inside.replace("const linsepChecker", "window.readsModels", 1))
        for data in (text, text.replace("0.7", "0.8").replace("0,7", "0,8")):
            found = page.evaluate(
                """async ([source, data]) => {
                  const { checkProof, csvTable, open } = readsModels, bytes = new TextEncoder().encode(data);
                  const { holds, reason } = await checkProof(source, csvTable(await open(source), [bytes]));
                  return [holds, reason ?? ""];
                }""",
                [document, data],
            )
            assert found[0] == (data == text), found[1]
