"""``linsep separate`` and ``linsep verify``: verdicts, exit codes, proofs that stand and proofs that fall."""

import json
import os
import re
import signal

import numpy as np
import pytest
from sklearn.datasets import load_iris

from linsep import Perceptron, separate, separator, teacher
from linsep.cli import main
from linsep.clock import Clock
from linsep.prove import documents


@pytest.fixture
def files(tmp_path):
    """Write a separable file, one with two contradicting rows, and exclusive or."""
    X, y, _ = teacher(60, 2, margin=0.1, offset=0.2, random_state=0)
    rows = [f"{a!r},{b!r},{'yes' if label > 0 else 'no'}" for (a, b), label in zip(X.tolist(), y, strict=True)]
    (tmp_path / "good.csv").write_text("\n".join(["a,b,class", *rows, ""]))
    (tmp_path / "twice.csv").write_text("a,b,class\n0,0,no\n1,3,no\n2,0,yes\n1,3,yes\n")
    (tmp_path / "xor.csv").write_text("a,b,class\n0,0,n\n1,1,n\n0,1,p\n1,0,p\n")
    return tmp_path


def test_separable(run, files):
    code, out, _ = run("separate", files / "good.csv", "--proof", files / "proof.json")
    assert code == 0
    assert out.startswith("separable: ")
    low, high = map(float, re.search(r"between ([\d.e-]+) and ([\d.e-]+)", out).groups())
    assert 0.1 <= low <= high
    code, out, _ = run("verify", files / "proof.json", files / "good.csv")
    assert code == 0
    assert out.startswith("the proof holds: separable")


def test_rows_that_contradict_each_other_are_shown(run, files):
    code, out, _ = run("separate", files / "twice.csv", "--proof", files / "proof.json")
    assert code == 1
    assert out.startswith("quasi: ")
    assert re.search(r"│ 1 +│ 3 +│ no +│ +1 │ 1 │ 3 │", out)
    assert re.search(r"│ 3 +│ 5 +│ yes +│ +1 │ 1 │ 3 │", out)
    assert run("verify", files / "proof.json", files / "twice.csv")[0] == 0


def test_json(run, files):
    code, out, _ = run("separate", files / "xor.csv", "--json")
    facts = json.loads(out)
    assert code == 1
    assert facts["verdict"] == "overlap"
    assert [(entry["row"], entry["multiplier"]) for entry in facts["refutation"]] == [(i, "1") for i in range(4)]
    code, out, _ = run("separate", files / "good.csv", "--json", "--no-offset")
    facts = json.loads(out)
    assert facts["fit_intercept"] is False
    assert (code == 0) == (facts["verdict"] == "separable")


def test_any_altered_digit_or_cell_is_noticed(run, files):
    proof = files / "proof.json"
    run("separate", files / "xor.csv", "--proof", proof)
    text = proof.read_text()
    for place in [match.start() for match in re.finditer(r"[0-9a-f]", text)][:: len(text) // 40]:
        digit = "1" if text[place] != "1" else "2"
        (files / "altered.json").write_text(text[:place] + digit + text[place + 1 :])
        code, _, error = run("verify", files / "altered.json", files / "xor.csv")
        assert code in (1, 2)
        assert "Traceback" not in error
    good = (files / "xor.csv").read_text()
    for old, new in (("0,0,n", "0,0.5,n"), ("1,1,n", "1,1,p"), ("1,0,p", "1,1e-300,p")):
        (files / "other.csv").write_text(good.replace(old, new))
        code, out, _ = run("verify", proof, files / "other.csv")
        assert (code, out.splitlines()[0]) == (1, "the proof does not hold for these data")


def test_many_classes_name_the_class_a_row_is_held_against(run, tmp_path):
    iris = load_iris(as_frame=True)
    iris.frame.assign(target=iris.target_names[iris.target]).to_csv(tmp_path / "iris.csv", index=False)
    code, out, _ = run("separate", tmp_path / "iris.csv", "--json")
    facts = json.loads(out)
    assert code == 1
    assert {(entry["label"], entry["against"]) for entry in facts["refutation"]} == {
        ("versicolor", "virginica"),
        ("virginica", "versicolor"),
    }


def test_what_the_table_of_contradicting_rows_shows(run, tmp_path):
    (tmp_path / "three.csv").write_text("a,kind\n1,x\n1,y\n1,z\n5,x\n")
    _, out, _ = run("separate", tmp_path / "three.csv")
    assert "against" in out  # of many classes
    simplex = np.vstack((31 * np.eye(30), np.zeros(30), np.ones(30)))  # and its centre, which needs all corners
    np.save(tmp_path / "simplex.npy", np.column_stack((simplex, np.arange(32) == 31)))
    _, out, _ = run("separate", tmp_path / "simplex.npy")
    assert "32 rows that contradict each other" in out
    shown = [line for line in out.splitlines() if "…" in line]
    assert len(shown) == 1
    assert "20 more" in shown[0]


def test_a_margin_below_double_precision_is_said(run, tmp_path):
    np.save(tmp_path / "thin.npy", [[1.0, 5e-324, 1], [1.0, 0.0, 0]])
    code, out, _ = run("separate", tmp_path / "thin.npy")
    assert code == 0
    assert "positive, but too small to be found in double precision" in out


def test_a_spent_time_limit_says_what_is_known(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 40))
    np.save(tmp_path / "rows.npy", np.column_stack((X, np.sign(X @ rng.standard_normal(40)))))
    code, out, _ = run("separate", tmp_path / "rows.npy", "--time-limit", "1e-9")
    assert code == 1
    assert out.startswith("unknown: ")
    assert "known so far: between" in out


def test_a_separated_run_is_a_proof_for_free():
    X, y, _ = teacher(200, 5, margin=0.05, offset=True, random_state=1)
    model = Perceptron().fit(X, y)
    plane = separator(model, X, y)
    assert np.array_equal(plane.w, model.coef_[0])
    assert separate(X, y).kind == "separable"
    assert separator(model, X, -y) is None


@pytest.mark.parametrize("where", ["in the search", "while the proof is written"])
def test_an_interrupt_leaves_nothing_behind(capsys, files, monkeypatch, where):
    def interrupt(*_, **__):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10**6):  # the handler runs between two steps of the interpreter
            pass
        raise AssertionError("not interrupted")

    if where == "in the search":
        monkeypatch.setattr(Clock, "check", interrupt)
    else:
        monkeypatch.setattr(documents, "written", interrupt)
    (files / "proof.json").write_text("an older proof")
    before, handler = sorted(files.iterdir()), signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as left:
            main(["separate", str(files / "good.csv"), "--proof", str(files / "proof.json")])
    finally:
        signal.signal(signal.SIGINT, handler)
    assert (left.value.code, *capsys.readouterr()) == (130, "", "linsep: interrupted\n")
    assert sorted(files.iterdir()) == before
    assert (files / "proof.json").read_text() == "an older proof"
