"""``linsep fit`` with every learner, first weights, weights of rows, and the quantities of the lectures."""

import json

import numpy as np
import pytest

from linsep import Perceptron, largest_margin, load, teacher
from linsep.cli import main


def run(capsys, *arguments, code=0):
    """Run a command in this process; return its JSON, or the line of its error."""
    with pytest.raises(SystemExit) as done:
        main([str(part) for part in arguments])
    out, err = capsys.readouterr()
    assert done.value.code == code, err
    return json.loads(out) if code == 0 else err


@pytest.fixture
def lecture(tmp_path):
    path = tmp_path / "lecture.csv"
    path.write_text("1,0,0\n0,1,1\n-1,-1,2\n")
    return path


@pytest.fixture
def two(tmp_path):
    path = tmp_path / "two.csv"
    path.write_text("a,b,w,y\n1,2,1,p\n2,1,3,p\n-1,-1,2,n\n-3,1,0,n\n")
    return path


def test_the_lectures_example_with_its_trace_and_weights(capsys, lecture, tmp_path):
    told = run(
        capsys, "fit", lecture, "--no-header", "--mistake", "prediction", "--no-fit-intercept", "--no-shuffle",
        "--coef", "--trace", "--json", "-m", tmp_path / "model",
    )  # fmt: skip
    assert told["trace"] == [1, 2]
    assert told["mistake_counts"] == [0, 1, 1]
    assert told["coef"] == [[1, 0], [0, 1], [-1, -1]]
    assert told["intercept"] == [0, 0, 0]
    assert told["bound"] >= told["mistakes"] == 2
    assert told["bound_formula"].startswith("2R²/γ² = ")


def test_weights_of_rows_come_from_a_column_that_is_no_feature(capsys, two, tmp_path):
    how = ("--target", "y", "--sample-weight", "w", "--no-shuffle", "--coef", "--trace", "--json")
    told = run(capsys, "fit", two, *how, "-m", tmp_path / "model")
    assert told["features"] == 2
    w, b, trace = np.zeros(2), 0.0, []  # the perceptron by hand; the row of weight 0 is not visited
    rows = [((1, 2), 1, 1), ((2, 1), 3, 1), ((-1, -1), 2, -1)]
    for _ in range(3):
        for i, (x, weight, y) in enumerate(rows):
            if y * (w @ x + b) <= 0:
                w, b = w + weight * y * np.array(x), b + weight * y
                trace.append(i)
    assert (told["coef"], told["intercept"], told["trace"]) == ([w.tolist()], [b], trace)
    said = run(capsys, "fit", two, "--target", "y", "--sample-weight", "nothing", "-m", tmp_path / "model", code=2)
    assert "nothing" in said
    assert said.count("\n") == 1
    for cell, words in (
        ("", "two.csv:3: the row has no weight"),
        ("x", "--sample-weight w: the column must hold numbers"),
    ):
        two.write_text(f"a,b,w,y\n1,2,1,p\n2,1,{cell},p\n-1,-1,2,n\n")
        assert words in run(capsys, "fit", two, *how[:-1], "-m", tmp_path / "model", code=2)
    two.write_text("a,b,w,y\n1,2,1,p\n,1,x,p\n2,1,3,p\n-1,-1,2,n\n")  # of a row that is dropped nothing is asked
    assert run(capsys, "fit", two, *how, "--missing", "drop", "-m", tmp_path / "model")["coef"] == told["coef"]


def test_a_run_goes_on_from_a_model_or_from_weights_in_json(capsys, two, tmp_path):
    model, again, weights = tmp_path / "model", tmp_path / "again", tmp_path / "weights.json"
    how = ("--target", "y", "--ignore", "w", "--no-shuffle", "--coef", "--trace", "--json")
    first = run(capsys, "fit", two, *how, "-m", model)
    told = run(capsys, "fit", two, *how, "--initial", model, "-m", again)
    assert (told["mistakes"], told["coef"]) == (0, first["coef"])  # which separates already
    assert load(again).warm_start is False
    weights.write_text('{"coef": [0, 5], "intercept": [1]}')
    told = run(capsys, "fit", two, *how, "--initial", weights, "-m", again)
    X, y = [[1, 2], [2, 1], [-1, -1], [-3, 1]], ["p", "p", "n", "n"]
    known = Perceptron(shuffle=False).fit(X, y, coef_init=[0, 5], intercept_init=[1])
    assert (told["coef"], told["trace"]) == (known.coef_.tolist(), known.trace_.tolist())
    weights.write_text('{"weights": 1}')
    assert '{"coef": [...]' in run(capsys, "fit", two, *how, "--initial", weights, "-m", again, code=2)


@pytest.mark.parametrize(("learner", "kind", "option", "without"), [
    ("passive-aggressive", "PassiveAggressive", ("--C", "0.5"), "--eta0=2"),
    ("kernel", "KernelPerceptron", ("--kernel", "poly"), "--no-fit-intercept"),
    ("max-margin", "MaxMarginClassifier", ("--gap", "1e-3"), "--max-iter=5"),
    ("fewest-errors", "FewestErrorsClassifier", ("--max-nodes", "50"), "--keep=best"),
])  # fmt: skip
def test_every_learner_has_its_own_options_and_no_others(capsys, two, tmp_path, learner, kind, option, without):
    how = ("fit", two, "--target", "y", "--ignore", "w", "--learner", learner, "-m", tmp_path / "model", "--json")
    told = run(capsys, *how, *option)
    assert told["rows"] == 4
    model = load(tmp_path / "model")
    assert type(model).__name__ == kind
    name = option[0].lstrip("-").replace("-", "_")
    assert str(model.get_params()[name]) == str(type(model.get_params()[name])(option[1]))
    assert run(capsys, "score", tmp_path / "model", two, "--json")["errors"] == 0
    with pytest.raises(SystemExit) as done:
        main([str(part) for part in (*how[:-1], *option)])
    assert (done.value.code, "learned from" in capsys.readouterr().out) == (0, True)
    said = run(capsys, *how, without, code=2)
    assert f"{without.partition('=')[0]} does not apply to --learner {learner}" in said
    said = run(capsys, "fit", two, *option, "-m", tmp_path / "model", code=2)
    assert f"{option[0]} does not apply to --learner perceptron" in said


def bound_by_definition(X, y, start, eta=1.0):
    """The largest k with w₀·u + kηγ ≤ √(‖w₀‖² + kη²R²), u the plane of largest margin through the origin."""
    margin = largest_margin(X, y, form="origin")
    u, R = margin.w / np.linalg.norm(margin.w), np.linalg.norm(X, axis=1).max()
    k = 0
    while start @ u + (k + 1) * eta * margin.lower <= (start @ start + (k + 1) * eta**2 * R**2) ** 0.5 + 1e-9:
        k += 1
    return k


@pytest.mark.parametrize("how", ["initial", "unit", "standard"])
def test_the_bound_is_told_for_first_weights_and_scaled_rows(capsys, tmp_path, how):
    X, y, _ = teacher(60, 2, margin=0.1, random_state=2)
    X, start = (9 * X).round(3), np.array([-5.0, 3.0])
    path, weights = tmp_path / "rows.csv", tmp_path / "weights.json"
    path.write_text("a,b,y\n" + "".join(f"{a},{b},{c}\n" for (a, b), c in zip(X.tolist(), y.tolist(), strict=True)))
    weights.write_text(json.dumps({"coef": start.tolist()}))
    options = ["--initial", weights] if how == "initial" else ["--scale", how]
    arguments = ("fit", path, "--no-fit-intercept", "--no-shuffle", "--trace", "-m", tmp_path / "m", *options)
    told = run(capsys, *arguments, "--json")
    scale = {"unit": np.linalg.norm(X, axis=1).max(), "standard": X.std(axis=0), "initial": 1.0}[how]
    expected = bound_by_definition(X / scale, y, start if how == "initial" else np.zeros(2))
    assert told["bound_missing"] is None
    assert abs(told["bound"] - expected) <= 1  # one more where rounding up passes a whole number
    assert told["bound"] >= told["mistakes"]
    assert ("scaled rows" in told["bound_formula"]) == (how != "initial")


@pytest.mark.parametrize(("options", "reason"), [
    (["--sample-weight", "w"], "steps of different length"),
    (["--ignore", "w", "--class-weight", "balanced"], "steps of different length"),
    (["--ignore", "w", "--max-updates", "1"], "the run ended max_updates"),
])  # fmt: skip
def test_a_bound_that_is_left_out_says_why(capsys, two, tmp_path, options, reason):
    arguments = ("fit", two, "--target", "y", "--trace", "-m", tmp_path / "m", *options)
    told = run(capsys, *arguments, "--json")
    assert told["bound"] is None
    assert reason in told["bound_missing"]
    with pytest.raises(SystemExit):
        main([str(part) for part in arguments])
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("bound"))
    assert line.split(None, 1)[1].startswith("none: ")
    assert reason in line


def test_one_against_rest_says_why_it_has_no_bound(capsys, lecture, tmp_path):
    told = run(capsys, "fit", lecture, "--no-header", "--multi-class", "ovr", "--trace", "--json", "-m", tmp_path / "m")
    assert "a run for each class" in told["bound_missing"]
