"""Training from files: the same bits as from arrays, bounded memory, and nothing lost in an interruption."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from data import few, write
from linsep import Perceptron, fit_source, load, read, teacher
from linsep.data.parallel import ahead
from oracle import alike

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def same(one, other):
    """Say whether two fitted models made the same mistakes, have the same bits, and recorded the same."""
    return (
        alike(one, other)
        and np.array_equal(one.classes_, other.classes_)
        and np.array_equal(one.history_["loss"], other.history_["loss"])
        and np.array_equal(one.history_["validation_error"], other.history_["validation_error"], equal_nan=True)
        and one.stop_reason_ == other.stop_reason_
        and one.radius_ == other.radius_
        and one.margin_ == other.margin_
        and one.training_errors_ == other.training_errors_
    )


def numbers(classes, n=400, d=7):
    rng = np.random.default_rng(classes)
    X = np.where(rng.random((n, d)) < 0.4, 0.0, rng.standard_normal((n, d)))
    X[0] = 1.0
    return X, rng.integers(0, classes, n)


@pytest.mark.parametrize(
    ("form", "keep"),
    few(
        [("svm", "last"), ("csv", "last"), ("npy", "average"), ("npy", "best"), ("csv", "vote"), ("svm", "average")], 5
    ),
)
@pytest.mark.parametrize("parameters", [
    {"max_iter": 3},
    {"max_iter": 3, "multi_class": "ovr"},
    {"early_stopping": True, "validation_fraction": 0.25},
    {"tol": 1e-3, "n_iter_no_change": 2},
    {"max_updates": 333},
    {"max_iter": 2, "class_weight": "balanced", "fit_intercept": False},
    {"target_margin": 0.5},
])  # fmt: skip
@pytest.mark.parametrize("classes", few([3, 2], 1))
def test_same_bits_as_in_memory_at_any_block_size(tmp_path, form, keep, parameters, classes):
    path = write(tmp_path, form, *numbers(classes))
    X, y = read(path).to_arrays()
    expected = Perceptron(shuffle=False, keep=keep, **parameters).fit(X, y)
    for size in (700, 1 << 22):
        model = fit_source(Perceptron(shuffle=False, keep=keep, **parameters), read(path, block_bytes=size))
        assert same(model, expected), size
        assert model.n_features_in_ == 7
    assert np.array_equal(model.predict(X), expected.predict(X))
    assert np.array_equal(model.decision_function(X), expected.decision_function(X))


def test_separable_files_end_separated_without_another_look(tmp_path):
    X, y, _ = teacher(500, 6, margin=0.05, offset=True, random_state=1)
    path = write(tmp_path, "npy", X, y)
    expected = Perceptron(shuffle=False).fit(X, y)
    reads = []

    class Counted(type(read(path))):
        def blocks(self, most=None):
            reads.append(1)
            return super().blocks(most)

    source = read(path, block_bytes=2000)
    source.__class__ = Counted
    model = fit_source(Perceptron(shuffle=False), source, cache="none", evaluate=False)
    assert same(model, expected)
    assert len(reads) == 1 + model.n_iter_  # the labels, and the passes


def test_without_evaluation_unknown_is_unknown(tmp_path):
    path = write(tmp_path, "csv", *numbers(2))
    model = fit_source(Perceptron(max_iter=2), read(path), evaluate=False)
    assert np.isnan(model.margin_)
    assert np.isnan(model.radius_)
    assert model.training_errors_ == -1


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 2], None])
def test_labels_that_turn_up_late(tmp_path, order):
    X, y = numbers(len(order or [0, 1, 2]))
    y = np.sort(y) if order else np.concatenate((y[y < 2], y[y == 2]))  # the first block has one, or two of three
    path = write(tmp_path, "svm", X, y)
    expected = Perceptron(shuffle=False, max_iter=3).fit(*read(path).to_arrays())
    assert same(fit_source(Perceptron(shuffle=False, max_iter=3), read(path, block_bytes=700)), expected)


def test_a_single_pass_takes_the_labels_of_the_first_block(tmp_path):
    X, y = numbers(3)
    y = np.concatenate((y[y < 2], y[y == 2]))
    path = write(tmp_path, "svm", X, y)
    model = Perceptron(shuffle=False, max_iter=1)
    with pytest.raises(ValueError, match=r"the label 2, which is not among .* reads all labels before it learns"):
        fit_source(model, read(path, block_bytes=700), evaluate=False)
    fit_source(model, read(path, block_bytes=700, cache=str(tmp_path)), evaluate=False)
    assert model.classes_.tolist() == [0, 1, 2]


def test_a_source_without_labels_teaches_nothing(tmp_path):
    path = write(tmp_path, "csv", *numbers(2))
    for model in (Perceptron(), Perceptron(class_weight="balanced")):  # which looks at all labels first
        with pytest.raises(ValueError, match="the data have no labels to learn from"):
            fit_source(model, read(path, labels=False))


@pytest.mark.parametrize("rows", ["0,1\n1e10,0\n", "1e200,1\n1e200,0\n1e201,1\n"])
@pytest.mark.parametrize("max_iter", [1, 9])
def test_overflow_is_an_error(tmp_path, rows, max_iter):
    """Of the weights by the last update, or of a score by the next look."""
    path = tmp_path / "large.csv"
    path.write_text(rows)
    model = Perceptron(eta0=1e300, shuffle=False, fit_intercept=False, max_iter=max_iter)
    with pytest.raises(ValueError, match=r"overflowed to infinity: scale the rows \(scale='unit'\)"):
        fit_source(model, read(path))
    model = fit_source(Perceptron(max_iter=5, tol=0), read(path), scale="unit")
    assert np.isfinite(model.coef_).all()


def test_names_of_features_do_not_outlive_them(tmp_path):
    (tmp_path / "named.csv").write_text("a,b,y\n0,1,1\n1,0,0\n")
    (tmp_path / "nameless.svm").write_text("1 1:1\n0 2:1\n")
    model = fit_source(Perceptron(), read(tmp_path / "named.csv"))
    assert model.feature_names_in_.tolist() == ["a", "b"]
    fit_source(model, read(tmp_path / "nameless.svm"))
    assert not hasattr(model, "feature_names_in_")


def test_features_that_turn_up_late(tmp_path):
    path = tmp_path / "late.svm"
    path.write_text("".join(f"{1 if i % 2 else -1} {1 + i // 50}:{1 + i % 3}\n" for i in range(300)))
    expected = Perceptron(shuffle=False, max_iter=2).fit(*read(path).to_arrays())
    model = fit_source(Perceptron(shuffle=False, max_iter=2), read(path, block_bytes=100))
    assert same(model, expected)
    assert model.n_features_in_ == 6


def test_positive_label(tmp_path):
    X, y = numbers(2)
    path = write(tmp_path, "csv", X, y)
    model = fit_source(Perceptron(shuffle=False, max_iter=2), read(path, positive="0"))
    other = fit_source(Perceptron(shuffle=False, max_iter=2), read(path))
    assert model.classes_.tolist() == [1, 0]
    assert np.array_equal(model.coef_, -other.coef_)
    clear = model.decision_function(X) != 0  # on the plane the negative class is predicted, which is not the same one
    assert clear.any()
    assert np.array_equal(model.predict(X)[clear], other.predict(X)[clear])
    path = write(tmp_path, "csv", *numbers(3))
    with pytest.raises(ValueError, match="positive label needs two classes"):
        fit_source(Perceptron(), read(path, positive="0"))


@pytest.mark.parametrize("scale", ["unit", "standard"])
@pytest.mark.parametrize("form", ["csv", "svm"])
def test_scaled_training_hands_over_the_units_of_the_file(tmp_path, scale, form):
    X, y, _ = teacher(300, 4, margin=0.1, offset=0.2, random_state=3)
    X = X * [1e-3, 1.0, 50.0, 1e4] + ([5.0, -2.0, 0.0, 100.0] if form == "csv" else 0.0)
    path = write(tmp_path, form, X, y)
    model = fit_source(Perceptron(shuffle=False), read(path, block_bytes=2000), scale=scale)
    assert model.scaling_["kind"] == scale
    if scale == "unit":
        Z = X / np.linalg.norm(X, axis=1).max()
    else:
        Z = (X - (X.mean(axis=0) if form == "csv" else 0.0)) / X.std(axis=0)
        assert model.stop_reason_ == "separated"
        np.testing.assert_allclose(model.scaling_["scale"], X.std(axis=0), rtol=1e-9)
    trained = Perceptron(shuffle=False).fit(Z if form == "csv" else sp.csr_array(Z), y)
    assert np.array_equal(trained.trace_, model.trace_)
    np.testing.assert_allclose(model.decision_function(X), trained.decision_function(Z), rtol=1e-7, atol=1e-9)
    assert model.radius_ == pytest.approx(np.linalg.norm(X, axis=1).max())
    assert model.margin_ == pytest.approx(model.margin(X, y), rel=1e-9)


@pytest.mark.parametrize(("model", "extra", "message"), [
    (Perceptron(order="first"), {}, "needs an array"),
    (Perceptron(), {"scale": "log"}, "scale must be"),
    (Perceptron(eta0=-1), {}, "eta0 must be"),
    (Perceptron(target_margin=0.1), {"scale": "unit"}, "cannot be combined with scale"),
    (Perceptron(early_stopping=True, validation_fraction=1e-12), {}, "holds out no row"),
])  # fmt: skip
def test_what_cannot_be_is_refused(tmp_path, model, extra, message):
    path = write(tmp_path, "csv", *numbers(2))
    with pytest.raises(ValueError, match=message):
        fit_source(model, read(path), **extra)


def test_one_class_and_overflow_are_refused(tmp_path):
    X, y = numbers(2)
    with pytest.raises(ValueError, match="there is only one class"):
        fit_source(Perceptron(), read(write(tmp_path, "csv", X, np.zeros(len(X)))))
    with pytest.raises((ValueError, FloatingPointError), match=r"overflowed|not finite"):
        fit_source(Perceptron(), read(write(tmp_path, "csv", np.full_like(X, 1e308), y)))


# ---------------------------------------------------------------------------------------------------------------
# Checkpoints


class InterruptedRunError(Exception):
    pass


PARAMETERS = [
    {"shuffle": False, "max_iter": 6},
    {"shuffle": True, "max_iter": 6},
    {"shuffle": True, "early_stopping": True, "validation_fraction": 0.3, "n_iter_no_change": 3},
    {"shuffle": False, "multi_class": "ovr", "max_iter": 4, "class_weight": "balanced"},
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*no checkpoint yet")  # it was interrupted before the first one
@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scale", ["none", "standard"])
def test_an_interrupted_run_ends_like_one_that_was_not(tmp_path, monkeypatch, parameters, classes, scale):
    monkeypatch.setattr("linsep.learn.problems.WINDOW_ROWS", 17)  # that are shuffled among each other
    path = write(tmp_path, "svm", *numbers(classes))
    saved = tmp_path / "run.checkpoint"

    def go(watch=None, **extra):
        source = read(path, block_bytes=1500)
        return fit_source(Perceptron(**parameters), source, scale=scale, watch=watch, **extra)

    expected = go()
    rng = np.random.default_rng(0)
    for attempt in range(60):
        left = int(rng.integers(1, 20))

        def watch(*_):
            nonlocal left
            left -= 1
            if left == 0:
                raise InterruptedRunError

        try:
            model = go(watch, checkpoint=saved, every=0, resume=attempt > 0)
            break
        except InterruptedRunError:
            continue
    assert attempt > 1
    assert same(model, expected)
    assert same(go(checkpoint=saved, resume=True), expected)  # and once more from the end


@pytest.mark.parametrize("keep", ["last", "best", "average", "vote"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_run_that_was_out_of_passes_gets_more_of_them(tmp_path, keep, classes):
    path = write(tmp_path, "csv", *numbers(classes))
    saved = tmp_path / "run.checkpoint"

    def go(passes, **extra):
        model = Perceptron(max_iter=passes, keep=keep, early_stopping=classes == 3, n_iter_no_change=100)
        return fit_source(model, read(path, block_bytes=1500), **extra)

    assert go(2, checkpoint=saved).stop_reason_ == "max_iter"
    for passes in (3, 7):
        longer, expected = go(passes, checkpoint=saved, resume=True), go(passes)
        assert same(longer, expected)
        assert longer.n_iter_ == passes
        assert longer.predict(numbers(classes)[0]).tolist() == expected.predict(numbers(classes)[0]).tolist()
    with pytest.raises(ValueError, match="another run: it is in pass 7, but max_iter is 6"):
        go(6, checkpoint=saved, resume=True)


KILLED = """
import os, signal, sys
from linsep import Perceptron, fit_source, read, save
from linsep.learn import problems

problems.WINDOW_ROWS = 50
data, checkpoint, out, blocks, calls = sys.argv[1:]
blocks, calls = int(blocks), int(calls)


def count_calls(*_):
    global calls
    calls -= 1
    if calls == 0:
        os.kill(os.getpid(), signal.SIGKILL)


def count_blocks(*_):
    global blocks
    blocks -= 1
    if blocks == 0:
        sys.setprofile(count_calls)


model = fit_source(Perceptron(max_iter=40, prove=False), read(data, block_bytes=3000), checkpoint=checkpoint, every=0,
                   resume=True, watch=count_blocks)
save(model, out)
"""


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path, monkeypatch):
    """A moment is so many blocks and then so many calls and returns, within a block or while a checkpoint is written:
    random, yet the same on a slow machine.
    """
    monkeypatch.setattr("linsep.learn.problems.WINDOW_ROWS", 50)
    path = write(tmp_path, "svm", *numbers(2, n=800))
    expected = fit_source(Perceptron(max_iter=40, prove=False), read(path, block_bytes=3000))
    rng = np.random.default_rng(5)
    moments = [(int(rng.integers(2, 150)), int(rng.integers(1, 250))) for _ in range(5)]
    for blocks, calls in [*moments, (0, 0)]:
        arguments = [path, tmp_path / "run.checkpoint", tmp_path / "model", str(blocks), str(calls)]
        done = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False)
        assert done.returncode == (-signal.SIGKILL if blocks else 0)
        assert (tmp_path / "model").exists() == (blocks == 0)
    assert same(load(tmp_path / "model"), expected)
    assert sorted(os.listdir(tmp_path)) == ["data.svm", "model", "run.checkpoint"]


KILLED_COMMAND = """
import os, signal, sys
from linsep.cli import main

renames = int(sys.argv.pop(1))


def count(event, arguments):
    global renames
    if event == "os.rename" and ".checkpoint" in str(arguments[0]):
        renames -= 1
        if renames == 0:
            os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(count)
main()
"""


@pytest.mark.slow
def test_the_command_is_killed_and_resumes(tmp_path):
    """Through the command line: killed when a checkpoint is written but has not its name yet, until it may end."""
    path = write(tmp_path, "svm", *numbers(2, n=800))
    saved, out = tmp_path / "run.checkpoint", tmp_path / "model.linsep"
    command = [
        "fit", path, "--max-iter", "60", "--model", out, "--checkpoint", saved, "--every", "0s", "--resume",
        "--no-prove", "--keep", "last", "--scale", "none",
    ]  # fmt: skip
    for renames in (3, 40, -1):
        done = subprocess.run(
            [sys.executable, "-c", KILLED_COMMAND, str(renames), *map(str, command), "--quiet"], check=False
        )
        assert done.returncode == (0 if renames < 0 else -signal.SIGKILL)
        assert len(list(tmp_path.glob(".run.checkpoint.*.part"))) == (renames > 0)
        assert out.exists() == (renames < 0)
    assert same(load(out), fit_source(Perceptron(max_iter=60, prove=False), read(path)))
    assert sorted(os.listdir(tmp_path)) == ["data.svm", "model.linsep", "run.checkpoint"]


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    path = write(tmp_path, "csv", *numbers(2))
    saved = tmp_path / "run.checkpoint"
    fit_source(Perceptron(max_iter=2), read(path), checkpoint=saved)
    with pytest.raises(ValueError, match=r"another run: eta0 was 1.0, is 0.5"):
        fit_source(Perceptron(max_iter=2, eta0=0.5), read(path), checkpoint=saved, resume=True)
    with pytest.raises(ValueError, match=r"another run: scale was 'none', is 'unit'"):
        fit_source(Perceptron(max_iter=2), read(path), scale="unit", checkpoint=saved, resume=True)
    write(tmp_path, "csv", *numbers(3))
    with pytest.raises(ValueError, match="another run: its data differ"):
        fit_source(Perceptron(max_iter=2), read(path), checkpoint=saved, resume=True)
    saved.write_bytes(saved.read_bytes()[:-9])
    with pytest.raises(ValueError, match="not a checkpoint, or a damaged one"):
        fit_source(Perceptron(max_iter=2), read(path), checkpoint=saved, resume=True)
    saved.write_bytes(b"rubbish")
    with pytest.raises(ValueError, match="not a checkpoint, or a damaged one"):
        fit_source(Perceptron(max_iter=2), read(path), checkpoint=saved, resume=True)


def test_long_traces_are_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("linsep.models.from_files.LONGEST_TRACE", 100)
    path = write(tmp_path, "csv", *numbers(2))
    model = fit_source(Perceptron(max_iter=3), read(path))
    assert model.mistakes_ > 100
    assert not hasattr(model, "trace_")


def test_ahead_passes_errors_on_and_ends_its_thread():
    def items():
        yield 1
        yield 2
        raise KeyError("three")

    got = ahead(items())
    assert [next(got), next(got)] == [1, 2]
    with pytest.raises(KeyError, match="three"):
        next(got)
    before = set(threading.enumerate())
    endless = ahead(iter(int, 1))
    assert next(endless) == 0
    assert set(threading.enumerate()) - before
    endless.close()
    assert not set(threading.enumerate()) - before
