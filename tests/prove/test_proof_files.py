"""Proof files: hostile ones are refused at once, and the same table is the same data in whatever file it is."""

import json
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from test_forged_proofs import sentence

from data import sealed
from javascript import judged
from linsep import fewest_errors, read, separate, to_json, verify
from linsep.data.arrays import to_rows
from linsep.prove.check.linsep_check import fingerprint
from linsep.prove.documents import checker_program
from linsep.prove.numbers.fingerprints import Fingerprint
from linsep.prove.numbers.tables import table_of
from oracles import in_integers

XOR = ([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
PAGE = Path(__file__).parents[2] / "docs" / "proof-format.md"


@pytest.fixture(scope="module")
def checker(tmp_path_factory):
    """Return the plain check as a program, in a folder of its own."""
    path = tmp_path_factory.mktemp("checker") / "linsep_check.py"
    path.write_text(checker_program())
    return lambda *files: subprocess.run(
        [sys.executable, "-I", "-S", path, *files], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture
def table(tmp_path):
    """Write a table with a column of many digits as CSV and as Parquet."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "short": [0.1, 0.25, 3, -7.5, 0],
            "long": rng.normal(size=5),
            "whole": [3, 0, 0, 1, 2],
            "kind": ["b", "a", "b", "a", "a"],
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "t.csv.gz", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_feather(tmp_path / "t.feather")
    return frame


def test_classes_without_rows_prove_nothing():
    genuine = json.loads(to_json(separate(*XOR), *XOR))
    forged = {
        **genuine,
        "kind": "quasi",
        "meaning": sentence("quasi", True, [0, 1, 2]),
        "classes": [0, 1, 2],
        "separator": {"w": [["0", "0"]] * 3, "b": ["0", "0", "-1"]},
    }
    for plain in (False, True):
        assert not verify(sealed(forged), *XOR, plain=plain)


def test_planes_through_the_origin_are_said_to_be_so():
    X, y = [[1], [2], [3], [4]], ["a", "a", "b", "b"]
    verdict = separate(X, y, fit_intercept=False)
    content = json.loads(to_json(verdict, X, y))
    assert content["meaning"] == "every plane through the origin has rows on the wrong side, or all rows on it"
    content["meaning"] = "every plane has rows on the wrong side, or all rows on it"
    with pytest.raises(ValueError, match="its sentence does not match what it proves"):
        verify(sealed(content), X, y)


def test_several_classes_have_a_sentence_of_their_own():
    for X, y, kind in (
        ([[0, 1], [1, 0], [-1, -1]], ["a", "b", "c"], "separable"),
        ([[0], [0], [0]], ["a", "b", "c"], "overlap"),
    ):
        found = json.loads(to_json(separate(X, y), X, y))
        assert (found["kind"], found["meaning"]) == (kind, sentence(kind, True, y))
        assert found["meaning"] in separate(X, y)._repr_html_()
        found["meaning"] = sentence(kind, True, y[:2])
        with pytest.raises(ValueError, match="its sentence does not match what it proves"):
            verify(sealed(found), X, y)
    errors = json.loads(to_json(fewest_errors(X, y), X, y))
    assert errors["meaning"] == "of all weight vectors the best have at least 2 and at most 2 errors"


def test_a_prime_in_the_data_does_not_fool_a_rank():
    verdict = separate(*XOR)  # holds for any multiple of the rows
    for prime in (2**61 - 1, 2**63 - 25):
        X, y = np.array(XOR[0], dtype=np.int64) * prime, XOR[1]
        assert verdict.check(X, y)
        assert verdict.check(X, y, plain=True)


# ---------------------------------------------------------------------------------------------------------------
# One table, one fingerprint


def test_every_storage_has_the_same_fingerprint():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((5000, 3)) < 0.5, rng.integers(-4, 5, (5000, 3)), 0)
    X[0] = 2**60, 0, -1
    y = rng.integers(0, 2, 5000)
    text = to_json(separate(X, y), X, y)
    forms = [X.astype(float), X.astype(object), X.tolist(), np.asfortranarray(X)]
    forms += [sp.csr_array(X), sp.csc_matrix(X.astype(float)), pd.DataFrame(X), pd.DataFrame(X).astype({0: float})]
    for form in forms:
        assert verify(text, form, y)
    for labels in (y.astype(float), y.astype(str), y.astype(bool).astype(int).tolist()):
        assert verify(text, X, labels)
    assert not verify(text, X + np.array([0, 0, 1]), y)
    zeros = sp.csr_array(X)
    zeros.data[5] = 0  # stored, but nothing
    assert verify(to_json(separate(zeros, y), zeros, y), zeros.toarray(), y)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("values", ["binary", "decimal"])
def test_all_checks_read_floats_of_any_width_alike(kind, values):
    """As decimals, 0.1 in 32 bits is 0.1, whose nearest double is another than that of 32 bits."""
    X, y = np.array([[0.1, 3.0], [0.2, 1.0], [0.3, 2.0], [0.7, 2.5]], dtype=kind), [0, 1, 0, 1]
    text = to_json(separate(X, y, values=values), X, y)
    for plain in (False, True):
        assert verify(text, X, y, plain=plain)
    shown = np.array([[float(str(cell)) for cell in row] for row in X])
    assert verify(text, shown, y) == (values == "decimal" or kind is np.float64)


def test_the_plain_fingerprint_is_the_fast_one():
    rng = np.random.default_rng(1)
    for density, d in ((0.1, 9), (0.5, 4), (1.0, 3), (0.0, 2)):
        wild = rng.normal(size=(200, d)) * 10.0 ** rng.integers(-300, 300, (200, d))
        X = np.where(rng.random((200, d)) < density, wild, 0)
        X[0, 0] = -0.0
        y = rng.integers(0, 3, 200)
        found = Fingerprint(d, ("a", "b", 3))
        found.add(to_rows(X), y)
        labels = [("a", "b", 3)[code] for code in y]
        assert found.result()["sha256"] == fingerprint(in_integers(X.tolist()), labels)


def test_numbers_that_doubles_round_have_the_fingerprint_of_the_doubles():
    """The doubles nearest to them name a table; what the digits beyond decide, the facts are checked with."""
    rng = np.random.default_rng(5)
    texts = ["1e-400", "-1e-400", "0.30000000000000000001", "123456789012345678901", "-0", "2.5", "1e308", "7e400"]
    for most in (6, 8):
        X = rng.choice(texts[:most], (40, 3))
        exact = np.array([[Decimal(cell) for cell in row] for row in X], dtype=object)
        known = table_of(exact, [0, 1] * 20, (0, 1))
        assert known is not None
        found = known.fingerprint("decimal")["sha256"]
        assert found == fingerprint(in_integers(exact.tolist()), [0, 1] * 20)
        if most == 6:
            assert found == fingerprint(in_integers(X.astype(float).tolist()), [0, 1] * 20)


@pytest.mark.parametrize("values", ["decimal", "binary"])
def test_a_proof_about_one_file_holds_for_the_others(run, table, tmp_path, values, checker):
    proof = tmp_path / "proof.json"
    assert run("separate", tmp_path / "t.csv", "--proof", proof, "--values", values, "--quiet")[0] in (0, 1)
    for name in ("t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.feather"):
        for option in ((), ("--plain",)):
            assert run("verify", proof, tmp_path / name, *option)[0] == 0
    done = checker(proof, tmp_path / "t.csv")
    assert (done.returncode, done.stderr) == (0, "")
    X, y = table[["short", "long", "whole"]], table["kind"]
    assert verify(proof, X, y)
    assert verify(proof, X.to_numpy(), y.tolist(), plain=True)
    for i in range(5):
        changed = table.copy()
        changed.loc[i, "short"] += 0.5
        changed.to_csv(tmp_path / "changed.csv", index=False)
        assert run("verify", proof, tmp_path / "changed.csv")[0] == 1
        assert run("verify", proof, tmp_path / "changed.csv", "--plain")[0] == 1
        assert checker(proof, tmp_path / "changed.csv").returncode == 1 if i == 0 else True


def test_long_numbers_of_a_text_are_not_rounded(run, tmp_path):
    for text in ("9007199254740992,a\n9007199254740993,b\n", "0.10000000000000000001,a\n0.1,b\n"):
        (tmp_path / "long.csv").write_text("x,y\n" + text)
        code, out, _ = run("separate", tmp_path / "long.csv", "--proof", tmp_path / "p.json", "--no-margin")
        assert (code, out.split(":")[0]) == (0, "separable")
        assert run("verify", tmp_path / "p.json", tmp_path / "long.csv")[0] == 0
        assert run("verify", tmp_path / "p.json", tmp_path / "long.csv", "--plain")[0] == 0
        assert run("separate", tmp_path / "long.csv", "--values", "binary", "--quiet")[0] == 1
    (tmp_path / "long.svm").write_text("+1 1:9007199254740992\n-1 1:9007199254740993\n")
    code, _, error = run("separate", tmp_path / "long.svm")
    assert code == 2
    assert len(error.splitlines()) == 1
    pd.DataFrame({"i": [2**53, 2**53 + 1], "x": [0.5, 0.5], "y": ["a", "b"]}).to_parquet(tmp_path / "long.parquet")
    code, out, _ = run("separate", tmp_path / "long.parquet", "--proof", tmp_path / "p.json", "--no-margin")
    assert (code, out.split(":")[0]) == (0, "separable")
    assert run("verify", tmp_path / "p.json", tmp_path / "long.parquet")[0] == 0
    assert run("verify", tmp_path / "p.json", tmp_path / "long.parquet", "--plain")[0] == 0


def test_lines_with_a_comment_sign_that_were_read_are_read_again(run, tmp_path, checker):
    (tmp_path / "t.csv").write_text("#a,b,y\n#1,2,0\n3,4,1\n5,6,0\n7,1,1\n")
    assert run("separate", "t.csv", "--skip-rows", 0, "--no-header", "--proof", "p.json")[0] == 0
    for how in ((), ("--plain",)):
        assert run("verify", "p.json", "t.csv", *how)[0] == 0
    assert checker(tmp_path / "p.json", tmp_path / "t.csv").returncode == 0


@pytest.mark.usefixtures("table")
def test_the_document_keeps_who_made_it(run, tmp_path):
    run("separate", tmp_path / "t.csv", "--proof", tmp_path / "p.json", "--note", "for the referee", "--quiet")
    made = json.loads((tmp_path / "p.json").read_text())["made"]
    assert made["note"] == "for the referee"
    assert made["by"].startswith("linsep ")
    assert made["options"]["fit_intercept"] == "True"
    code, out, _ = run("verify", tmp_path / "p.json", tmp_path / "t.csv", "--json")
    told = json.loads(out)
    assert (code, told["holds"], told["made"]["note"]) == (0, True, "for the referee")
    assert "the labels" not in out
    _, out, _ = run("verify", tmp_path / "p.json", tmp_path / "t.csv")
    assert "taken from column 'kind'" in out
    assert "for the referee" in out


def test_the_examples_of_the_page_hold(tmp_path, checker):
    page = PAGE.read_text()
    examples = re.findall(r"```text\n(.*?)```\n\n```json\n(.*?)```", page, re.S)
    assert len(examples) == 3
    for text, proof in examples:
        (tmp_path / "data.csv").write_text(text)
        (tmp_path / "proof.json").write_text(proof)
        assert checker(tmp_path / "proof.json", tmp_path / "data.csv").returncode == 0
        X, y = read(tmp_path / "data.csv").to_arrays()
        assert verify(proof, X, y)
        assert [holds for holds, _ in judged([proof], X, y)] == [True]
