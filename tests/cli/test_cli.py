"""The command line as its users meet it: what it prints, what it leaves behind, how it exits."""

import csv
import inspect
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.stats
from click.testing import CliRunner

import linsep
from linsep import Perceptron, load, save, teacher
from linsep.cli.app import app
from linsep.cli.fit import fit
from oracle import hash_name

COMMANDS = ["fit", "predict", "score", "show", "report", "convert", "generate"]


def facts(answer):
    """The JSON object that a command printed, and nothing else."""
    code, out, err = answer
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    return json.loads(out)


def refused(answer, *words):
    """Bad input: exit code 2, one line that says these words, nothing on standard output."""
    code, out, err = answer
    assert code == 2
    assert out == ""
    assert err.startswith("linsep: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err


def separated(path="data.csv", n=300, d=4, **options):
    """Write data that a plane separates, as CSV with words for labels; return rows and labels."""
    X, y, _ = teacher(n, d, random_state=1, **options)
    words = np.where(y > 0, "yes", "no")
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*"abcdefgh"[:d], "class"])
        writer.writerows([*map(repr, row), word] for row, word in zip(X.tolist(), words, strict=True))
    return X, words


def column(path, name="label"):
    with open(path, newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


# ---------------------------------------------------------------------------------------------------------------
# Every command


def test_help_lists_the_commands_and_each_has_an_example():
    runner = CliRunner()
    listed = runner.invoke(app, ["--help"]).output
    for name in COMMANDS:
        assert name in listed
        shown = runner.invoke(app, [name, "--help"])
        assert shown.exit_code == 0
        text = " ".join(shown.output.split())
        assert f"Example: linsep {name} " in text
        assert "--json" in text
        assert "--quiet" in text
    assert "Exit codes" in listed


def test_the_options_of_fit_are_the_parameters_of_the_perceptron():
    options = {option.name: option for option in fit.params}
    for name, parameter in inspect.signature(Perceptron).parameters.items():
        if name not in ("warm_start", "verbose", "keep"):
            assert options[name].default == parameter.default, name
    assert (options["keep"].default, options["scale"].default) == ("auto", "auto")


def test_usage_errors_are_one_line(run):
    refused(run("fot"), "fot", "fit")
    refused(run("fit", "x.csv", "--max-iter", "many"), "--max-iter")
    refused(run("fit", "x.csv", "--cache-mb", "-1"), "--cache-mb")
    refused(run("generate", "x.csv", "--n", "1"), "--n")
    refused(run("generate", "x.csv", "--margin", "0,1"), "--margin")
    refused(run("fit", "x.csv", "--nonsense"), "--nonsense")
    refused(run("fit", "x.csv", "--order", "best"), "--order")
    refused(run("convert", "only-one"), "OUT")
    code, out, _ = run()
    assert (code, "Usage" in out) == (2, True)
    code, out, _ = run("--version")
    assert (code, out) == (0, f"linsep {linsep.__version__}\n")


def test_completion_works():
    environment = {**os.environ, "_LINSEP_COMPLETE": "bash_complete", "COMP_WORDS": "linsep pre", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-m", "linsep"], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["plain,predict"]
    environment |= {"COMP_WORDS": "linsep fit --max", "COMP_CWORD": "2"}
    done = subprocess.run([sys.executable, "-m", "linsep"], env=environment, capture_output=True, text=True)
    assert {"plain,--max-iter", "plain,--max-updates"} <= set(done.stdout.split())
    environment = {**os.environ, "_LINSEP_COMPLETE": "zsh_source"}
    done = subprocess.run([sys.executable, "-m", "linsep"], env=environment, capture_output=True, text=True)
    assert "#compdef linsep" in done.stdout


def test_help_imports_nothing_heavy():
    code = (
        "import sys, linsep.cli\n"
        "try: linsep.cli.main(['fit', '--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'numba', 'sklearn', 'scipy', 'pyarrow', 'safetensors'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


# ---------------------------------------------------------------------------------------------------------------
# From a file to a model and back


def test_fit_learns_what_python_learns(run):
    X, y = separated()
    told = facts(run("fit", "data.csv", "--model", "m.linsep", "--no-shuffle", "--eta0", "0.5", "--json"))
    ours = Perceptron(shuffle=False, eta0=0.5).fit(X, y)
    model = load("m.linsep")
    assert model.coef_.tobytes() == ours.coef_.tobytes()
    assert model.intercept_.tobytes() == ours.intercept_.tobytes()
    assert model.trace_.tolist() == ours.trace_.tolist()
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert told["rows"] == 300
    assert told["features"] == 4
    assert told["classes"] == ["no", "yes"]
    assert told["stop_reason"] == "separated"
    assert (told["mistakes"], told["passes"]) == (ours.mistakes_, ours.n_iter_)
    assert (told["training_errors"], told["training_error"]) == (0, 0.0)
    assert (told["margin"], told["radius"]) == (ours.margin_, ours.radius_)


def test_fit_reports_in_words_and_says_what_to_try_next(run):
    separated()
    code, out, err = run("fit", "data.csv", "--model", "m.linsep")
    assert (code, err) == (0, "")
    for word in ("300 of 4 features", "2: no, yes", "stopped: separated", "mistakes", "0.0000%", "radius R"):
        assert word in out
    assert "MB/s" not in out  # a small file has no speed worth telling
    run("generate", "large.npy", "--n", 20000, "--d", 10, "--margin", 0.1, "--quiet")
    assert "MB/s" in run("fit", "large.npy", "--model", "m.linsep")[1]
    assert "Not separated" not in out
    separated("noisy.csv", flip=0.2)
    code, out, err = run("fit", "noisy.csv", "--model", "m.linsep", "--max-iter", 3)
    assert (code, err) == (0, "")  # the warning of Python has become a line of the report
    assert "Not separated yet" in out
    assert "--max-iter" in out
    code, out, _ = run("fit", "noisy.csv", "--model", "m.linsep", "--target-margin", 0.5)
    assert "no plane has an augmented margin of 0.5" in out
    assert "margin_refuted" in out
    code, out, _ = run("fit", "noisy.csv", "--model", "m.linsep", "--tol", 1e9, "--max-iter", 500)
    assert "--tol ended the run early" in out
    assert run("fit", "noisy.csv", "--model", "m.linsep", "--max-iter", 3, "--quiet") == (0, "", "")


def test_fit_without_evaluation_tells_no_errors(run):
    separated("noisy.csv", flip=0.2)
    given = ("fit", "noisy.csv", "--max-iter", 1, "--no-shuffle")
    full = facts(run(*given, "--model", "full.linsep", "--json"))
    told = facts(run(*given, "--model", "m.linsep", "--json", "--no-evaluate"))
    assert full["training_errors"] > 0
    assert [told[name] for name in ("training_errors", "training_error", "margin", "radius")] == [None] * 4
    assert (told["mistakes"], told["rows"]) == (full["mistakes"], 300)
    assert load("m.linsep").coef_.tobytes() == load("full.linsep").coef_.tobytes()
    code, out, err = run(*given, "--model", "m.linsep", "--no-evaluate")
    assert (code, err) == (0, "")
    assert "error" not in out
    assert "margin" not in out
    code, out, _ = run("fit", "noisy.csv", "--model", "m.linsep", "--no-evaluate")
    assert "no plane separates these rows" in out  # a proof needs no evaluation
    refused(run("fit", "noisy.csv", "--order", "first", "--no-evaluate"), "--order first cannot be combined with")


def test_fit_passes_every_option_on(run):
    separated(flip=0.1)
    code, *_ = run(
        "fit", "data.csv", "--model", "m.linsep", "--no-fit-intercept", "--eta0", 2, "--order", "worst",
        "--max-iter", 9, "--max-updates", 8, "--tol", 0.5, "--n-iter-no-change", 3, "--early-stopping",
        "--validation-fraction", 0.2,
        "--target-margin", 1e-9, "--update-margin", 0.25, "--on-plane", 1,
        "--class-weight", "yes=2", "--class-weight", "no=0.5", "--random-state", 5, "--keep", "last",
    )  # fmt: skip
    assert code == 0
    changed = {
        "fit_intercept": False, "eta0": 2.0, "order": "worst", "max_iter": 9, "max_updates": 8, "tol": 0.5,
        "n_iter_no_change": 3, "early_stopping": True, "validation_fraction": 0.2, "target_margin": 1e-9,
        "update_margin": 0.25, "on_plane": 1, "class_weight": {"yes": 2.0, "no": 0.5},
        "random_state": 5,
    }  # fmt: skip
    assert load("m.linsep").get_params() == Perceptron(**changed).get_params()


def test_fit_of_a_scaled_file_is_handed_over_in_its_units(run):
    X, y = separated()
    X = X * [1e6, 1, 1e-3, 1] + [0, 50, 0, 0]
    np.savetxt("wide.csv", np.column_stack([X, y == "yes"]), delimiter=",", fmt="%.17g")
    told = facts(run("fit", "wide.csv", "--scale", "standard", "--model", "m.linsep", "--json"))
    assert (told["stop_reason"], told["training_errors"]) == ("separated", 0)
    model = load("m.linsep")
    assert model.predict(X).tolist() == (y == "yes").astype(int).tolist()
    assert told["radius"] == pytest.approx(np.linalg.norm(X, axis=1).max())
    assert told["margin"] == pytest.approx(
        np.abs(X @ model.coef_[0] + model.intercept_).min() / np.linalg.norm(model.coef_)
    )
    assert model.scaling_["kind"] == "standard"
    np.testing.assert_allclose(model.scaling_["shift"], X.mean(axis=0), rtol=1e-9, atol=1e-9)
    assert "units of the file" in run("fit", "wide.csv", "--scale", "unit", "--max-iter", 2)[1]


def test_the_positive_label_is_the_side_to_which_w_points(run):
    X, y = separated()
    for label, sign in (("no", -1), ("yes", 1)):
        run("fit", "data.csv", "--positive", label, "--no-shuffle", "--model", f"{label}.linsep")
        model = load(f"{label}.linsep")
        assert model.classes_[1] == label
        assert model.coef_.tolist() == (sign * Perceptron(shuffle=False).fit(X, y).coef_).tolist()
        assert facts(run("score", f"{label}.linsep", "data.csv", "--json"))["errors"] == 0


def test_a_checkpoint_goes_on_and_refuses_another_run(run):
    separated(flip=0.1)
    options = ["data.csv", "--max-iter", "7", "--checkpoint", "c", "--every", "0s", "--model"]
    straight = facts(run("fit", *options, "a.linsep", "--json"))
    resumed = facts(run("fit", *options, "b.linsep", "--resume", "--json"))
    a, b = load("a.linsep"), load("b.linsep")
    assert a.coef_.tobytes() == b.coef_.tobytes()
    assert a.trace_.tolist() == b.trace_.tolist()
    assert straight["mistakes"] == resumed["mistakes"]
    longer = facts(run("fit", *options, "b.linsep", "--resume", "--max-iter", "9", "--json"))
    assert longer["passes"] == 9
    refused(run("fit", *options, "b.linsep", "--resume", "--eta0", "2"), "eta0 was 1.0, is 2.0")
    separated(flip=0.2)
    refused(run("fit", *options, "b.linsep", "--resume"), "its data differ")


def test_predict_keeps_the_order_of_rows_and_finds_columns_by_name(run):
    X, y = separated()
    run("fit", "data.csv", "--model", "m.linsep")
    with open("data.csv") as file:
        rows = list(csv.DictReader(file))
    with open("turned.csv", "w", newline="") as file:  # columns in another order, one more, and no label
        writer = csv.DictWriter(file, ["d", "b", "more", "a", "c"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows({**row, "more": "x"} for row in rows)
    model = load("m.linsep")
    for data in ("data.csv", "turned.csv"):
        code, out, err = run("predict", "m.linsep", data)
        assert (code, err) == (0, "")
        assert out.split("\n") == ["label", *y, ""]
        told = facts(run("predict", "m.linsep", data, "--score", "--distance", "--out", "out.csv", "--json"))
        assert told["rows"] == 300
        assert told["labels"] == {label: int((y == label).sum()) for label in ("yes", "no")}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # names of features
            assert [float(s) for s in column("out.csv", "score")] == model.decision_function(X).tolist()
            assert [float(s) for s in column("out.csv", "distance")] == model.distance(X).tolist()
    import pyarrow.parquet as pq

    run("predict", "m.linsep", "data.csv", "--out", "out.parquet")
    assert pq.read_table("out.parquet").column("label").to_pylist() == y.tolist()


def test_predict_for_many_classes_has_a_column_for_each(run):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X.argmax(axis=1)
    np.savetxt("data.csv", np.column_stack([X, y]), delimiter=",", fmt="%.17g")
    run("fit", "data.csv", "--model", "m.linsep", "--tol", 1e9)
    code, out, _ = run("predict", "m.linsep", "data.csv", "--score", "--distance")
    assert code == 0
    header, *rows = csv.reader(out.splitlines())
    assert header == ["label", *(f"{what}_{c}" for what in ("score", "distance") for c in ("0", "1", "2"))]
    model = load("m.linsep")
    assert [int(row[0]) for row in rows] == model.predict(X).tolist()
    assert [[float(cell) for cell in row[1:4]] for row in rows] == model.decision_function(X).tolist()


@pytest.mark.parametrize("ending", ["csv", "svm.zst", "parquet", "npy"])
def test_generate_fit_score_in_every_format(run, ending):
    path = f"data.{ending}"
    told = facts(run("generate", path, "--n", 500, "--d", 6, "--margin", 0.2, "--random-state", 4, "--json"))
    X, y, plane = teacher(500, 6, margin=0.2, random_state=4)
    assert (told["rows"], told["features"], told["w"], told["b"]) == (500, 6, plane.w.tolist(), 0.0)
    assert told["mistake_bound"] == pytest.approx(25)
    learned = facts(run("fit", path, "--model", "m.linsep", "--no-fit-intercept", "--json"))
    assert learned["stop_reason"] == "separated"
    assert learned["mistakes"] <= 25
    ours = Perceptron(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(load("m.linsep").coef_, ours.coef_, rtol=1e-9)
    code, out, _ = run("predict", "m.linsep", path)
    assert (code, [int(label) for label in out.split()[1:]]) == (0, y.tolist())
    scored = facts(run("score", "m.linsep", path, "--json"))
    assert (scored["rows"], scored["errors"], scored["error"]) == (500, 0, 0.0)
    assert scored["confusion"] == [[int((y == -1).sum()), 0], [0, int((y == 1).sum())]]


def test_score_counts_errors_and_bounds_them(run):
    separated()
    run("fit", "data.csv", "--model", "m.linsep")
    X, y = separated("noisy.csv", flip=0.1)
    told = facts(run("score", "m.linsep", "noisy.csv", "--json", "--confidence", 0.9))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = load("m.linsep").predict(X)
    wrong = int((found != y).sum())
    assert wrong > 0
    assert (told["errors"], told["rows"]) == (wrong, 300)
    assert told["confusion"] == [[int(((y == t) & (found == f)).sum()) for f in ("no", "yes")] for t in ("no", "yes")]
    exact = scipy.stats.binomtest(wrong, 300).proportion_ci(0.9, method="exact")
    assert told["interval"] == pytest.approx([exact.low, exact.high], rel=1e-9)
    code, out, _ = run("score", "m.linsep", "noisy.csv", "--at-most", 0.01)
    assert code == 1
    assert f"{wrong} wrong" in out
    code, *_ = run("score", "m.linsep", "noisy.csv", "--at-most", 0.5, "--quiet")
    assert code == 0
    refused(run("score", "m.linsep", "noisy.csv", "--confidence", 1.5), "--confidence")


@pytest.mark.parametrize("words", [True, False])
def test_score_knows_a_label_by_its_spelling(run, words):
    """A Parquet file may hold the labels as words that a CSV file holds as numbers, and the other way round."""
    X, y, _ = teacher(60, 2, margin=0.2, random_state=1)
    y = np.where(y > 0, 10, 2)
    table = {"a": X[:, 0], "b": X[:, 1], "y": y.astype(str) if words else y}
    pq.write_table(pa.table(table), "learned.parquet")
    with open("seen.csv", "w") as file:
        file.writelines(["a,b,y\n", *(f"{a!r},{b!r},{c}\n" for (a, b), c in zip(X.tolist(), y, strict=True))])
    pq.write_table(pa.table(table | {"y": y if words else y.astype(str)}), "seen.parquet")
    facts(run("fit", "learned.parquet", "--model", "m.linsep", "--json"))
    for path in ("learned.parquet", "seen.csv", "seen.parquet"):
        told = facts(run("score", "m.linsep", path, "--json"))
        assert (told["errors"], told["true_labels"]) == (0, told["labels"])
        assert np.sum(told["confusion"]) == 60


def test_score_knows_truth_values_by_their_spelling(run):
    flags = [k % 3 > 0 for k in range(30)]
    pq.write_table(pa.table({"x": [float(flag) for flag in flags], "y": flags}), "t.parquet")
    with open("t.csv", "w") as file:
        file.writelines(["x,y\n", *(f"{float(flag)},{flag}\n" for flag in flags)])
    run("fit", "t.csv", "--model", "m.linsep")
    assert [facts(run("score", "m.linsep", path, "--json"))["errors"] for path in ("t.csv", "t.parquet")] == [0, 0]


def test_labels_that_the_model_does_not_know_are_errors_of_their_own(run):
    separated()
    run("fit", "data.csv", "--model", "m.linsep")
    with open("data.csv") as file:
        text = file.read()
    with open("more.csv", "w") as file:
        file.write(text + "0.5,0.5,0.5,0.5,perhaps\n")
    told = facts(run("score", "m.linsep", "more.csv", "--json"))
    assert told["true_labels"] == ["no", "yes", "perhaps"]
    assert told["errors"] == 1
    assert sum(told["confusion"][2]) == 1


def test_words_are_hashed_alike_in_training_and_prediction(run):
    with open("data.csv", "w") as file:
        file.write("town,size,class\n" + "Ulm,1,a\nBonn,2,b\n" * 20)
    with open("new.csv", "w") as file:
        file.write("size,town\n2,Bonn\n1,Ulm\n1,Jena\n")
    told = facts(run("fit", "data.csv", "--model", "m.linsep", "--hash-bits", 8, "--json"))
    assert (told["stop_reason"], told["features"]) == ("separated", 257)
    code, out, err = run("predict", "m.linsep", "new.csv")
    assert (code, err) == (0, "")
    assert out.split()[1:3] == ["b", "a"]
    shown = facts(run("show", "m.linsep", "--json", "--top", 3))
    names = {f"#{1 + hash_name(f'town={town}') % 256}" for town in ("Bonn", "Ulm")}
    assert {weight["feature"] for weight in shown["weights"]} == {"size", *names}


@pytest.mark.filterwarnings("ignore:the rows have more features")
def test_sparse_rows_may_be_wider_or_narrower_than_those_learnt_from(run):
    def write(path, text):
        with open(path, "w") as file:
            file.write(text)

    write("train.svm", "1 1:1 3:1\n-1 1:-1 2:1\n")
    write("new.svm", "1 1:5 9:100\n-1 1:-5\n")
    assert facts(run("fit", "train.svm", "--model", "m.linsep", "--json"))["features"] == 3
    code, out, _ = run("predict", "m.linsep", "new.svm")
    assert (code, out.split()) == (0, ["label", "1", "-1"])
    write("zero.svm", "1 0:1 2:1\n-1 0:-1 1:1\n")  # the same rows, counted from 0
    assert facts(run("fit", "zero.svm", "--zero-based", "--model", "z.linsep", "--json"))["features"] == 3
    assert load("z.linsep").coef_.tolist() == load("m.linsep").coef_.tolist()
    refused(run("fit", "zero.svm"), "zero.svm:1", "indices start at 1 unless --zero-based")
    write("new-zero.svm", "1 0:5\n-1 0:-5\n")
    assert run("predict", "z.linsep", "new-zero.svm")[1].split() == ["label", "1", "-1"]
    refused(run("predict", "m.linsep", "new-zero.svm"), "new-zero.svm:1", "index 0")


def test_a_model_made_in_python_reads_files_by_the_names_of_its_features(run):
    import pandas as pd

    X, y = separated()
    save(Perceptron().fit(pd.DataFrame(X, columns=list("abcd")), y), "m.linsep")
    assert facts(run("score", "m.linsep", "data.csv", "--json"))["errors"] == 0
    with open("data.csv") as file:
        text = file.read()
    with open("tabs.txt", "w") as file:
        file.write(text.replace(",", "\t"))
    _, out, _ = run("predict", "m.linsep", "tabs.txt", "--delimiter", "tab", "--target", "class")
    assert out.split()[1:] == y.tolist()
    np.save("narrow.npy", X[:, :2])
    refused(run("predict", "m.linsep", "narrow.npy"), "narrow.npy: the rows have 2 features, but the model has 4")


def test_names_are_shown_as_they_are(run):
    with open("[red].csv", "w") as file:
        file.write("[b]x[/b],class\n" + "1,[bold]\n-1,[/bold]é\n" * 5)
    code, out, _ = run("fit", "[red].csv", "--model", "[x].linsep", "--header")
    assert code == 0
    for word in ("[red].csv", "[x].linsep", "[bold]", "[/bold]é"):
        assert word in out
    code, out, _ = run("show", "[x].linsep")
    assert code == 0
    assert "[b]x[/b]" in out
    code, out, _ = run("score", "[x].linsep", "[red].csv")
    assert (code, "[/bold]é" in out) == (0, True)


def test_many_classes_are_shown_in_part(run):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 15))
    np.savetxt("data.csv", np.column_stack([X, X.argmax(axis=1)]), delimiter=",", fmt="%.17g")
    run("fit", "data.csv", "--model", "m.linsep", "--max-iter", 2)
    code, out, _ = run("score", "m.linsep", "data.csv")
    assert (code, "the first 12 of 15 labels" in out) == (0, True)
    told = facts(run("score", "m.linsep", "data.csv", "--json"))
    assert np.sum(told["confusion"]) == 300
    assert np.trace(told["confusion"]) == 300 - told["errors"]
    assert "15 in all" in run("show", "m.linsep")[1]


# ---------------------------------------------------------------------------------------------------------------
# Models


def test_a_plane_that_does_not_exist_has_no_margin(run):
    """After ten passes over XOR in this order, w = 0 and b = 0."""
    Path("xor.csv").write_text("x1,x2,y\n0,0,-1\n0,1,1\n1,0,1\n1,1,-1\n")
    out = run("fit", "xor.csv", "--no-shuffle", "--keep", "last", "--model", "m.linsep", "--coef")[1]
    assert "0, 0" in out
    for text in (out, run("show", "m.linsep")[1]):
        assert "none: all weights are 0; radius R 1.41421" in text
        assert "nan" not in text
    assert "all weights are 0" in run("show", "m.linsep")[1].splitlines()
    run("fit", "xor.csv", "--max-iter", 1, "--no-evaluate", "--model", "m.linsep")
    assert "unknown: the run was not evaluated" in run("show", "m.linsep")[1]


def test_show_lists_the_strongest_weights_first(run):
    separated()
    run("fit", "data.csv", "--model", "m.linsep", "--eta0", 0.5)
    model = load("m.linsep")
    told = facts(run("show", "m.linsep", "--json", "--top", 3))
    order = sorted(range(4), key=lambda j: -abs(model.coef_[0, j]))[:3]
    assert [weight["index"] for weight in told["weights"]] == order
    assert [weight["feature"] for weight in told["weights"]] == ["abcd"[j] for j in order]
    assert [weight["weights"] for weight in told["weights"]] == [[model.coef_[0, j]] for j in order]
    assert told["intercept"] == model.intercept_.tolist()
    assert (told["kind"], told["stop_reason"], told["classes"]) == ("Perceptron", "separated", ["no", "yes"])
    code, out, _ = run("show", "m.linsep")
    assert code == 0
    assert "eta0=0.5" in out
    assert out.index("abcd"[order[0]]) < out.index("offset")
    assert "w points to the side of yes" in out


def test_convert_there_and_back(run):
    assert "(R/γ)² = 100 mistakes" in run("generate", "data.csv", "--n", 200, "--d", 5)[1]
    run("fit", "data.csv", "--model", "m.linsep")
    assert facts(run("convert", "m.linsep", "m.txt", "--json"))["format"] == "liblinear"
    assert facts(run("convert", "m.txt", "again.linsep", "--json"))["format"] == "linsep"
    assert load("again.linsep").coef_.tobytes() == load("m.linsep").coef_.tobytes()
    run("generate", "rows.svm", "--n", 200, "--d", 5)
    for model in ("m.txt", "again.linsep"):  # LIBLINEAR's text can be used as it is
        assert facts(run("score", model, "rows.svm", "--json"))["errors"] == 0
    code, out, _ = run("show", "m.txt")
    assert (code, "were imported" in out) == (0, True)
    code, out, _ = run("convert", "m.linsep", "copy", "--to", "linsep")
    assert (code, "5 features, as linsep" in out) == (0, True)
    refused(run("convert", "m.linsep", "model.xyz"), "--to")
    refused(run("convert", "data.csv", "model.onnx"), "data.csv: not a linsep model")


def test_convert_to_onnx(run):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    X, y = separated()
    run("fit", "data.csv", "--model", "m.linsep")
    for option, dtype in ((), np.float64), (("--float32",), np.float32):
        assert facts(run("convert", "m.linsep", "m.onnx", "--json", *option))["format"] == "onnx"
        label, _ = runtime.InferenceSession("m.onnx").run(None, {"X": X.astype(dtype)})
        assert label.tolist() == y.tolist()
    run("convert", "m.linsep", "m.txt")
    assert json.loads(Path("m.txt.map.json").read_text())["labels"] == {"0": "no", "1": "yes"}


# ---------------------------------------------------------------------------------------------------------------
# What goes wrong


@pytest.mark.parametrize(("command", "words"), [
    ("fit nothing.csv", ["nothing.csv: no such file"]),
    ("fit bad.csv --numeric c --model new.linsep", ["bad.csv", "3", "'x'"]),
    ("fit data.csv --target klass --model new.linsep", ["klass", "class"]),
    ("fit data.csv --model no/folder/m", ["no/folder/m: no such folder: no/folder"]),
    ("fit data.csv --model ..", ["..: is a folder"]),
    ("fit folder", ["folder: is a folder, not a file"]),
    ("fit data.csv --resume", ["--checkpoint"]),
    ("fit data.csv --every soon", ["--every"]),
    ("fit data.csv --positive perhaps", ["'perhaps'", "'no', 'yes'"]),
    ("fit data.csv --order worst --scale unit", ["--order"]),
    ("fit data.csv --class-weight yes", ["LABEL=WEIGHT"]),
    ("fit data.csv --class-weight maybe=2", ["'maybe', which is not among the classes 'no', 'yes'"]),
    ("fit data.csv --max-iter 0", ["--max-iter must be a positive whole number, got 0"]),
    ("fit data.csv --eta0 0", ["--eta0 must be a positive number, got 0.0"]),
    ("fit data.csv --keep all", ["keep"]),
    ("fit one.csv --model new.linsep", ["there is only one class, 'yes'"]),
    ("predict m.linsep bad.csv --out out.csv", ["bad.csv", "3"]),
    ("predict m.linsep data.csv --out out.xlsx", ["xlsx"]),
    ("predict m.linsep data.csv --json", ["--out"]),
    ("predict nothing.linsep data.csv", ["nothing.linsep: no such file"]),
    ("predict folder data.csv", ["folder: is a folder, not a file"]),
    ("predict data.csv data.csv", ["data.csv: not a linsep model"]),
    ("predict m.linsep other.csv", ["other.csv: no column is named 'a'; there are 'p', 'q'"]),
    ("score m.linsep bad.csv", ["bad.csv", "3"]),
    ("show data.csv", ["data.csv"]),
    ("show m.linsep late.csv", ["y has the label 'maybe', which is not among the classes 'no', 'yes'"]),
    ("show m.linsep data.csv --out data.csv", ["data.csv: is a file; --out takes a folder"]),
    ("verify m.linsep data.csv", ["m.linsep: this is not a valid proof"]),
    ("verify data.csv data.csv", ["data.csv: this is not a valid proof"]),
    ("separate data.csv --proof nowhere/p.json", ["nowhere/p.json: no such folder: nowhere"]),
    ("separate data.csv --time-limit -1", ["--time-limit"]),
    ("separate nowhere.csv", ["nowhere.csv"]),
    ("separate data.csv --target clas", ["clas", "class"]),
    ("verify nowhere.json data.csv", ["nowhere.json"]),
    ("report one.csv", ["only one class"]),
    ("report nowhere.csv", ["nowhere.csv"]),
    ("report data.csv --out nowhere/r.html", ["nowhere/r.html: no such folder: nowhere"]),
    ("convert m.linsep nowhere/m.onnx", ["nowhere/m.onnx: no such folder: nowhere"]),
    ("generate nowhere/g.csv", ["nowhere/g.csv: no such folder: nowhere"]),
    ("generate out.csv --margin 3", ["margin"]),
    ("generate out.csv --offset much", ["--offset"]),
    ("generate - --json", ["--json"]),
])  # fmt: skip
def test_bad_input_is_one_line_and_leaves_nothing_behind(run, command, words):
    separated(n=30)
    run("fit", "data.csv", "--model", "m.linsep", "--quiet")
    Path("bad.csv").write_text("a,b,c,d,class\n1,2,3,4,yes\n1,2,x,4,no\n")
    Path("late.csv").write_text("a,b,c,d,class\n1,2,3,4,yes\n1,2,3,4,maybe\n")
    Path("one.csv").write_text("a,class\n1,yes\n2,yes\n")
    Path("other.csv").write_text("p,q\n1,2\n")
    Path("folder").mkdir()
    before = sorted(os.listdir())
    refused(run(*command.split()), *words)
    assert sorted(os.listdir()) == before


def test_generate_to_standard_output_is_csv(run):
    code, out, err = run("generate", "-", "--n", 3, "--d", 2)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "x1,x2,y"
    assert len(out.splitlines()) == 4


def test_a_real_process_with_pipes(tmp_path):
    def linsep_(*arguments, **options):
        return subprocess.run(
            [sys.executable, "-m", "linsep", *arguments], cwd=tmp_path, capture_output=True, **options
        )

    rows = linsep_("generate", "-", "--n", "400", "--d", "3").stdout
    done = linsep_("fit", "-", "--model", "m.linsep", "--json", input=rows)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["rows"] == 400
    done = linsep_("predict", "m.linsep", "-", input=rows)
    assert [line.decode() for line in done.stdout.split()[1:]] == [
        line.decode().split(",")[-1] for line in rows.split()[1:]
    ]
    wide = b"1 1:9 7:1\n"  # a warning becomes a line of its own
    done = linsep_("predict", "m.linsep", "-", input=wide)
    assert (done.returncode, done.stderr) == (
        0,
        b"linsep: note: the rows have more features than the model: linsep ignores all beyond the first 3\n",
    )
    done = linsep_("fit", "nothing.csv")
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"linsep: nothing.csv: no such file\n")


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("command", ["fit - --model new.linsep", "predict m.linsep - --target 1 --out new.csv"])
def test_an_interrupted_command_says_so_and_leaves_nothing(tmp_path, command):
    save(Perceptron().fit([[1.0], [2.0]], ["x", "y"]), tmp_path / "m.linsep")
    with subprocess.Popen(
        [sys.executable, "-m", "linsep", *command.split()],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        # a pipe holds far less than this: once it is written, most of it has been read
        process.stdin.write(b"1,x\n2,y\n" * 700_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        process.wait()  # although its input has not ended
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"linsep: interrupted\n")
    assert process.returncode == 130
    assert os.listdir(tmp_path) == ["m.linsep"]


def test_the_progress_bar_shows_itself_after_a_second_on_a_terminal_only(monkeypatch, capsys):
    from linsep.cli.options import Screen
    from linsep.cli.screen import meter

    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setenv("COLUMNS", "160")
    for terminal, quiet, shown in ((True, False, True), (True, True, False), (False, False, False)):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal, raising=False)
        now[0] = 0.0
        with meter("learning", Screen(quiet=quiet)) as watching:
            watching.show(0, 10)
            assert capsys.readouterr().err == ""
            now[0], watching.rows, watching.bytes = 2.0, 4000, 6_000_000
            watching.show(5, 10, "17 mistakes")
        text = capsys.readouterr().err
        assert ("2,000 rows/s" in text and "3.0 MB/s" in text and "17 mistakes" in text and "50%" in text) == shown
        assert ("learning" in text) == shown


def test_a_closed_pipe_is_no_answer(tmp_path):
    separated(tmp_path / "data.csv", n=20000)
    command = [sys.executable, "-m", "linsep"]
    subprocess.run([*command, "fit", "data.csv", "-q", "--max-iter", "2", "-m", "m"], cwd=tmp_path, check=True)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, "predict", "m", "data.csv"], cwd=tmp_path, **streams) as pipe:
        assert pipe.stdout.readline() == b"label\n"
        pipe.stdout.close()
        assert (pipe.wait(60), pipe.stderr.read()) == (141, b"")


def test_a_mistake_of_ours_is_not_the_answer_no(run, monkeypatch):
    separated()

    def broken(*_, **__):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("linsep.cli.separate.open_data", broken)
    code, out, err = run("separate", "data.csv")
    assert (code, out) == (3, "")
    assert "ZeroDivisionError" in err


@pytest.mark.parametrize("command", [
    "fit data.csv -m data.csv", "fit d*.csv -m data.csv", "fit data.csv --checkpoint data.csv",
    "predict m data.csv --out ./data.csv", "predict m data.csv --out m", "convert m m --to liblinear",
    "separate data.csv --proof data.csv", "report data.csv --out data.csv",
])  # fmt: skip
def test_an_output_never_replaces_an_input(run, command):
    separated()
    run("fit", "data.csv", "-q", "-m", "m")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    refused(run(*command.split()), "this command reads that file")
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_labels_cannot_steer_the_terminal(run):
    with open("data.csv", "w") as file:
        file.write("x,class\n1,\x1b[2Jred\n2,\x1b[2Jred\n3,blue\n1.5,blue\n")
    for command in ("fit data.csv -m m", "separate data.csv", "score m data.csv", "show m"):
        code, out, err = run(*command.split())
        assert code in (0, 1)
        assert "\x1b" not in out + err
    assert "\\x1b[2Jred" in run("score", "m", "data.csv")[1]


def test_a_terminal_without_unicode_gets_plain_characters(tmp_path):
    separated(tmp_path / "data.csv", n=50)
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    for command in ("separate", "fit"):
        done = subprocess.run(
            [sys.executable, "-m", "linsep", command, "data.csv"], cwd=tmp_path, env=environment, capture_output=True
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.isascii()
    (tmp_path / "twice.csv").write_text("x,y\n1,a\n1,b\n")
    done = subprocess.run(
        [sys.executable, "-m", "linsep", "separate", "twice.csv"], cwd=tmp_path, env=environment, capture_output=True
    )
    assert done.returncode == 1
    assert b"\\u" not in done.stdout  # the table is drawn with other lines, not with escapes
    assert b"| 0   | 2    | a" in done.stdout


# ---------------------------------------------------------------------------------------------------------------
# An ordinary table


def ordinary(n=120):
    """Write a table with an ID, dates, amounts and words, whose labels overlap."""
    rng = np.random.default_rng(0)
    amounts = rng.normal(3000, 900, n).round(2)
    rows = [
        f"{k},2024-0{1 + k % 9}-1{k % 9},{amount},{'DE' if k % 3 else 'FR'},{'ok' if amount + noise > 2500 else 'late'}"
        for k, (amount, noise) in enumerate(zip(amounts.tolist(), rng.normal(0, 400, n).tolist(), strict=True), 1)
    ]
    Path("orders.csv").write_text("\n".join(["id,day,amount,country,state", *rows]) + "\n")


def test_the_defaults_beat_a_guess(run):
    ordinary()
    told = json.loads(run("fit", "orders.csv", "--model", "m.linsep", "--json")[1])
    assert told["scale"] == "standard"
    assert told["label"] == "state"
    assert told["training_error"] < 0.5 * told["majority_error"]
    out = run("fit", "orders.csv", "--model", "m.linsep")[1]
    assert "label     state (last column), 2 classes" in out
    assert "always the most frequent class would be wrong on" in out
    lecture = ["--scale", "none", "--keep", "last", "--max-iter", 20]
    assert (
        "Hardly better than always saying the most frequent class. Try --scale standard"
        in (run("fit", "orders.csv", "--model", "m.linsep", *lecture)[1])
    )


def test_no_interval_for_the_rows_of_the_training(run):
    ordinary()
    run("fit", "orders.csv", "--model", "m.linsep", "--quiet")
    told = facts(run("score", "m.linsep", "orders.csv", "--json"))
    assert (told["interval"], told["training_files"]) == (None, ["orders.csv"])
    assert "none: the model learned from orders.csv" in run("score", "m.linsep", "orders.csv")[1]
    Path("new.csv").write_text("\n".join(Path("orders.csv").read_text().splitlines()[:40]) + "\n")
    told = facts(run("score", "m.linsep", "new.csv", "--json"))
    assert told["training_files"] == []
    assert len(told["interval"]) == 2


def test_columns_are_copied_beside_the_labels(run):
    ordinary(30)
    run("fit", "orders.csv", "--model", "m.linsep", "--quiet")
    copied = ["--keep-column", "id", "--keep-column", "country"]
    run("predict", "m.linsep", "orders.csv", *copied, "--out", "l.csv", "--quiet")
    lines = Path("l.csv").read_text().splitlines()
    assert lines[0] == "id,country,label"
    assert [line.split(",")[0] for line in lines[1:]] == [str(k) for k in range(1, 31)]
    refused(run("predict", "m.linsep", "orders.csv", "--keep-column", "nothing"), "no column is named 'nothing'")


@pytest.mark.slow
def test_a_report_is_about_the_model_that_is_asked_for(run):
    ordinary(60)
    how = ["--learner", "arow", "--scale", "unit", "--out", "r.html"]
    told = json.loads(run("report", "orders.csv", *how, "--json")[1])
    assert (told["learner"], told["scale"]) == ("AROW", "unit")
    assert "AROW, weights kept: average, scale: unit" in Path("r.html").read_text()
    refused(run("report", "orders.csv", "--learner", "max-margin"), "--learner must be")
