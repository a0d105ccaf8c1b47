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
from linsep import PassiveAggressive, Perceptron

ROOT = Path(__file__).parent.parent

# the public contract, and what it has grown by: every name is in the reference
CONTRACT = {
    "Perceptron", "PassiveAggressive", "KernelPerceptron", "MaxMarginClassifier", "separate", "verify",
    "largest_margin", "mistake_bound", "audit", "generalization", "teacher", "read", "save", "load", "explore",
}  # fmt: skip
MESSY = """name,signed_up,age,income,city,buys
"Smith, Anna",2024-01-05,34,52,"Paris, FR",yes
"Jones, Bob",2024-02-11,,41,London,no
Li Wei,2024-03-02,45,,Beijing,yes
"O""Hara, Pat",2024-03-09,29,39,Dublin,no
Kim,2024-04-21,51,83,Seoul,yes
"""


def linsep_command(*arguments, cwd):
    command = [sys.executable, "-m", "linsep", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_the_contract_is_kept():
    assert set(linsep.__all__) >= CONTRACT
    assert (Path(linsep.__file__).parent / "py.typed").exists()


def test_a_messy_table(tmp_path):
    (tmp_path / "messy.csv").write_text(MESSY)
    done = linsep_command("separate", "messy.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert "column 'signed_up' holds dates" in done.stderr
    assert "ignore" in done.stderr
    left_out = ["--ignore", "signed_up", "--ignore", "name", "--ignore", "city"]
    done = linsep_command("separate", "messy.csv", *left_out, cwd=tmp_path)
    assert done.returncode == 2
    assert "messy.csv:3" in done.stderr  # where the first cell is missing
    done = linsep_command(
        "separate", "messy.csv", *left_out, "--missing", "drop", "--proof", "p.json", "--json", cwd=tmp_path
    )
    facts = json.loads(done.stdout)
    assert (facts["verdict"], facts["rows"], facts["classes"]) == ("separable", 3, ["no", "yes"])
    done = linsep_command("verify", "p.json", "messy.csv", *left_out, "--missing", "drop", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


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
