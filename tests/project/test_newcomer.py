"""What a newcomer tries in the first hour, each as it would be typed."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Perceptron as ScikitPerceptron

import linsep
from linsep import KernelPerceptron, MaxMarginClassifier, PassiveAggressive, Perceptron, save, teacher
from linsep.cli.app import interrupt

ROOT = Path(__file__).parents[2]

MESSY = """name,signed_up,age,income,city,buys
"Smith, Anna",2024-01-05,34,52,"Paris, FR",yes
"Jones, Bob",2024-02-11,,41,London,no
Li Wei,2024-03-02,45,,Beijing,yes
"O""Hara, Pat",2024-03-09,29,39,Dublin,no
Kim,2024-04-21,51,83,Seoul,yes
"""


def test_a_messy_table(run):
    Path("messy.csv").write_text(MESSY)
    code, _, said = run("separate", "messy.csv")
    assert code == 2
    assert "column 'signed_up' holds dates or times" in said
    assert "messy.csv:3, column 'age': a missing value (--missing zero or --missing drop" in said
    left_out = ["--ignore", "signed_up", "--ignore", "name", "--ignore", "city"]
    code, told, _ = run("separate", "messy.csv", *left_out, "--missing", "drop", "--proof", "p.json", "--json")
    facts = json.loads(told)
    assert (code, facts["verdict"], facts["rows"], facts["classes"]) == (0, "separable", 3, ["no", "yes"])
    code, told, said = run("verify", "p.json", "messy.csv", *left_out, "--missing", "drop", "--quiet")
    assert (code, told) == (0, "")
    assert said.startswith("linsep: note: messy.csv: linsep drops 2 of 5 rows because of missing cells")


def test_a_model_reads_other_files_as_it_read_its_own(run):
    """What was said about missing cells and columns when it learned need not be said again."""
    Path("messy.csv").write_text(MESSY)
    options = ["--ignore", "signed_up", "--categorical", "name", "--hash-bits", "6", "--no-shuffle", "--quiet"]
    assert run("fit", "messy.csv", *options, "--missing", "zero", "--model", "zero.linsep")[0] == 0
    code, labels, _ = run("predict", "zero.linsep", "messy.csv")
    assert (code, labels.split()) == (0, ["label", "yes", "no", "yes", "no", "yes"])
    code, told, _ = run("score", "zero.linsep", "messy.csv", "--json")
    assert (code, json.loads(told)["errors"]) == (0, 0)
    assert run("show", "zero.linsep", "messy.csv", "--quiet")[0] == 0
    assert Path("figures/margins.png").exists()
    assert run("fit", "messy.csv", *options, "--missing", "drop", "--model", "drop.linsep")[0] == 0
    code, told, _ = run("score", "drop.linsep", "messy.csv", "--json")
    assert (code, json.loads(told)["rows"]) == (0, 3)
    code, labels, said = run("predict", "drop.linsep", "messy.csv")  # a line for every row, with a label or none
    assert (code, len(labels.splitlines())) == (0, 6)
    assert sum(line == "" for line in labels.splitlines()) == 2
    assert "there is none for 2 of 5 rows" in said
    code, _, said = run("predict", "drop.linsep", "messy.csv", "--missing", "drop")
    assert (code, "--missing zero keeps them" in said) == (2, True)


@pytest.mark.parametrize("make", [KernelPerceptron, MaxMarginClassifier, PassiveAggressive, Perceptron])
def test_commands_take_models_that_were_saved_in_python(run, make):
    X, y, _ = teacher(40, 2, margin=0.1)
    model = make().fit(X, y)
    save(model, "m.linsep")
    run("generate", "data.csv", "-n", 40, "-d", 2, "--quiet")  # the same rows
    code, told, _ = run("show", "m.linsep", "--json")
    assert (code, json.loads(told)["kind"]) == (0, make.__name__)
    assert make.__name__ in run("show", "m.linsep")[1]
    assert json.loads(run("score", "m.linsep", "data.csv", "--json")[1])["error"] == 0
    code, _, said = run("predict", "m.linsep", "data.csv")
    assert (code, "if one is the label, name it, such as --target y" in said) == (2, True)
    labels = run("predict", "m.linsep", "data.csv", "--target", "y")[1].split()[1:]
    assert labels == [str(label) for label in model.predict(X)]
    answers = [run("show", "m.linsep", "data.csv", "--quiet"), run("predict", "m.linsep", "data.csv", "--distance")]
    if make is KernelPerceptron:
        assert [code for code, *_ in answers] == [2, 2]
        assert ["plane" in said for *_, said in answers] == [True, True]
    else:
        assert answers[0] == (0, "", "")


def test_the_order_of_rows_is_named_where_a_proof_does_not_hold(run):
    Path("a.csv").write_text("x,class\n1,yes\n-1,no\n3,yes\n")
    Path("b.csv").write_text("x,class\n-1,no\n3,yes\n1,yes\n")
    run("separate", "a.csv", "--proof", "p.json", "--quiet")
    code, told, _ = run("verify", "p.json", "b.csv")
    assert (code, "order of the rows" in told) == (1, True)


def test_no_offset_is_short_for_no_fit_intercept(run):
    Path("a.csv").write_text("x,class\n1,yes\n2,no\n")  # a plane with an offset only
    assert [run("separate", "a.csv", option)[0] for option in ("--no-offset", "--no-fit-intercept")] == [1, 1]
    assert run("separate", "a.csv")[0] == 0
    for option in ("--no-offset", "--no-fit-intercept"):
        run("fit", "a.csv", option, "--max-iter", 3, "--model", f"{option}.linsep", "--quiet")
        assert not linsep.load(f"{option}.linsep").fit_intercept


def test_an_interrupted_run_says_how_to_go_on(run, monkeypatch):
    def interrupted(*_, **__):
        interrupt()  # as Ctrl-C does

    monkeypatch.setattr("linsep.models.from_files.fit_source", interrupted)
    Path("a.csv").write_text("x,class\n1,yes\n-1,no\n")
    assert run("fit", "a.csv") == (130, "", "linsep: interrupted\n")
    said = "linsep: interrupted; run the same command with --resume to continue\n"
    assert run("fit", "a.csv", "--checkpoint", "c") == (130, "", said)


def test_what_is_printed_into_a_pipe_has_no_width(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    names = [f"a_rather_long_name_{j}" for j in range(6)]
    Path("wide.csv").write_text(",".join([*names, "class"]) + "\n1,2,3,4,5,6,yes\n1,2,3,4,5,6,no\n")
    code, told, _ = run("separate", "wide.csv")
    assert code == 1
    assert all(name in told for name in names)
    assert not any(line.endswith(" ") for line in told.splitlines())


def test_weights_that_are_zero_are_not_strong(run):
    Path("a.csv").write_text("x,z,class\n1,0,yes\n-1,0,no\n")
    run("fit", "a.csv", "--model", "m.linsep", "--quiet")
    assert [weight["feature"] for weight in json.loads(run("show", "m.linsep", "--json")[1])["weights"]] == ["x"]


@pytest.mark.parametrize(("model", "name"), [
    (Perceptron, "penalty"), (Perceptron, "alpha"), (Perceptron, "l1_ratio"), (Perceptron, "n_jobs"),
    (PassiveAggressive, "loss"), (PassiveAggressive, "average"),
])  # fmt: skip
def test_a_parameter_of_scikit_learn_that_is_not_there_is_refused_with_advice(model, name):
    with pytest.raises(TypeError, match=f"{model.__name__} has no parameter {name}: "):
        model(**{name: 1})


def test_all_other_parameters_of_scikit_learn_are_taken():
    left = {"penalty", "alpha", "l1_ratio", "n_jobs"}
    given = {name: value for name, value in ScikitPerceptron().get_params().items() if name not in left}
    X, y = np.array([[1, 0], [0, -1], [0, 1], [-1, 0]]), np.array([1, -1, 1, -1])
    assert Perceptron(**given).fit(X, y).score(X, y) == 1


def test_a_wheel_has_all_it_needs_and_nothing_else(tmp_path):
    build = pytest.importorskip("hatchling.build")
    code = f"import hatchling.build; print(hatchling.build.build_wheel({str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert build is not None
    wheel = tmp_path / done.stdout.split()[-1]
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"linsep", f"linsep-{linsep.__version__}.dist-info"}
    ours = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "linsep").rglob("*") if path.is_file()
            and "__pycache__" not in path.parts}  # fmt: skip
    assert {name for name in names if name.startswith("linsep/")} == ours
    assert "linsep/py.typed" in ours


@pytest.mark.slow
@pytest.mark.compiled
def test_the_demo_runs_to_its_end(tmp_path):
    demo = Path(__file__).parents[2] / "examples" / "demo.py"
    done = subprocess.run([sys.executable, demo, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the best plane has 2 of 40 rows wrong: proved" in done.stdout
    assert (tmp_path / "report.html").stat().st_size > 100_000
