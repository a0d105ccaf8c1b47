"""One driver for arrays and files: when it updates, where it starts, who may end it, from what it goes on."""

import io
import itertools
import json
import warnings

import numpy as np
import pytest
import safetensors
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save as to_bytes

import oracle
from data import write
from linsep import Perceptron, fit_source, load, read, save
from linsep.clock import Cancelled, Clock
from linsep.learn.averaging import WeightTracker
from linsep.learn.driver import fit
from linsep.learn.passes import Hooks, ProofAttempt, State
from linsep.learn.problems import array_problem, source_problem, windows
from linsep.learn.weights import Weights
from linsep.problem import Stop

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def noise(n=200, d=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, (n, d)).astype(float), rng.integers(0, classes, n)


# ---------------------------------------------------------------------------------------------------------------
# Updates when the predicted label is wrong


def by_prediction(X, y, classes, *, on_plane=-1, passes=5, offset=True):
    """Update when the predicted class is not the true one, in plain Python; the first of equal scores is predicted."""
    rows = [[*map(int, x), 1] if offset else [*map(int, x)] for x in X]
    trace = []
    if classes == 2:
        w = [0] * len(rows[0])
        for _ in range(passes):
            for i, x in enumerate(rows):
                s = oracle.dot(x, w)
                sign = 1 if y[i] else -1
                predicted = (1 if s > 0 else -1) if s else on_plane
                if predicted != sign:
                    w = [a + sign * b for a, b in zip(w, x, strict=True)]
                    trace.append(i)
        return [w], trace
    W = [[0] * len(rows[0]) for _ in range(classes)]
    for _ in range(passes):
        for i, x in enumerate(rows):
            s = [oracle.dot(x, w) for w in W]
            predicted = s.index(max(s))
            if predicted != y[i]:
                W[y[i]] = [a + b for a, b in zip(W[y[i]], x, strict=True)]
                W[predicted] = [a - b for a, b in zip(W[predicted], x, strict=True)]
                trace.append(i)
    return W, trace


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([2, 3, 4]), st.sampled_from([-1, 1]), st.booleans())
def test_mistakes_of_prediction_are_those_of_the_lectures(seed, classes, on_plane, sparse):
    X, y = noise(40, 3, classes, seed)
    y[:classes] = range(classes)
    W, trace = by_prediction(X, y, classes, on_plane=on_plane)
    model = Perceptron(mistake="prediction", shuffle=False, on_plane=on_plane, max_iter=5)
    model.fit(sp.csr_array(X) if sparse else X, y)
    assert model.trace_.tolist() == trace[: len(model.trace_)]  # a clean pass may end it sooner
    assert model.mistakes_ == len(trace)
    assert np.column_stack((model.coef_, model.intercept_)).tolist() == W


def test_the_example_of_the_lecture():
    X, y = [[1.0, 0], [0, 1], [-1, -1]], [0, 1, 2]
    model = Perceptron(mistake="prediction", fit_intercept=False, shuffle=False).fit(X, y)
    assert model.trace_.tolist() == [1, 2]
    assert model.coef_.tolist() == [[1, 0], [0, 1], [-1, -1]]
    assert Perceptron(fit_intercept=False, shuffle=False).fit(X, y).trace_[0] == 0  # all classes tie: a violation


def test_prediction_and_update_margin_exclude_each_other():
    with pytest.raises(ValueError, match="mistake must be 'violation', 'strict' or 'prediction', got 'both'"):
        Perceptron(mistake="both").fit(*noise())
    with pytest.raises(ValueError, match="update_margin also updates"):
        Perceptron(mistake="prediction", update_margin=0.1).fit(*noise())


# ---------------------------------------------------------------------------------------------------------------
# Beginnings


def test_the_first_weights_are_remembered(tmp_path):
    X, y = noise()
    model = Perceptron(max_iter=3, shuffle=False).fit(X, y, coef_init=[1, 2, 3, 4], intercept_init=[5])
    save(model, tmp_path / "model")
    for each in (model, load(tmp_path / "model")):
        W, b = each.first_weights().W, each.first_weights().b
        assert (W.tolist(), b.tolist()) == ([[1, 2, 3, 4]], [5])
        signs = np.where(y == 1, 1, -1) * model.mistake_counts_
        assert np.array_equal(each.coef_, W + signs @ X)
    assert model.fit(X, y).first_weights().zeros


@pytest.mark.parametrize("scale", ["none", "unit", "standard"])
@pytest.mark.parametrize("form", ["csv", "svm"])
def test_a_warm_start_from_files_goes_on_from_the_weights(tmp_path, scale, form):
    X, y = noise(120, 5)
    path = write(tmp_path, form, X, y)
    model = fit_source(Perceptron(shuffle=False, max_iter=2, warm_start=True), read(path, block_bytes=600))
    W, b = model.coef_.copy(), model.intercept_.copy()
    again = Perceptron(shuffle=False, max_iter=2).fit(X, y, coef_init=W, intercept_init=b)
    fit_source(model, read(path, block_bytes=600), scale=scale)
    np.testing.assert_allclose(model.first_weights().W, W, rtol=1e-12)
    np.testing.assert_allclose(model.first_weights().b, b, rtol=1e-12, atol=1e-12)
    if scale == "none":
        assert np.array_equal(model.coef_, again.coef_)
        assert np.array_equal(model.trace_, again.trace_)
    model.classes_ = np.array(["a", "b"])
    with pytest.raises(ValueError, match="warm_start needs the same classes"):
        fit_source(model, read(path))


def test_none_is_no_label():
    X = [[1.0], [2.0], [3.0]]
    for labels in (["a", None, "b"], np.array(["a", None, "b"], object), [1, None, 2]):
        with pytest.raises(ValueError, match="y has no label at row 1: it is None"):
            Perceptron().fit(X, labels)


def test_a_model_fitted_from_a_file_can_read_others(tmp_path):
    (tmp_path / "a.csv").write_text("size,color,class\n1,red,yes\n-1,blue,no\n")
    model = fit_source(Perceptron(), read(tmp_path / "a.csv", hash_bits=4))
    assert model.reading_["names"].tolist() == ["size", "color"]
    save(model, tmp_path / "model")
    memory = load(tmp_path / "model").reading_
    assert (memory["format"], memory["hash_bits"], memory["target"]) == ("csv", 4, "class")
    assert not hasattr(model.fit([[1.0], [-1.0]], [0, 1]), "reading_")


# ---------------------------------------------------------------------------------------------------------------
# The order of rows


def test_the_shuffled_order_depends_on_the_rows_alone(tmp_path):
    X, y = noise(400, 6)
    expected = Perceptron(max_iter=4).fit(X, y)
    files = [("csv", 1 << 22), ("csv", 700), ("parquet", 1 << 22), ("npy", 3000)]
    for form, size in files:
        source = read(write(tmp_path, form, X, y), block_bytes=size)
        model = fit_source(Perceptron(max_iter=4), source)
        assert np.array_equal(model.trace_, expected.trace_)
        assert np.array_equal(model.coef_, expected.coef_)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.booleans(), st.integers(1, 12), st.integers(1, 60))
def test_windows_do_not_depend_on_blocks(sizes, sparse, rows, cells):
    n = sum(sizes)
    rng = np.random.default_rng(n)
    X = np.where(rng.random((n, 5)) < 0.5, 0.0, rng.standard_normal((n, 5)))
    y = np.arange(n)

    def cut(sizes):
        ends = np.cumsum([0, *sizes])
        for a, b in itertools.pairwise(ends):
            yield type(block)(sp.csr_array(X[a:b]) if sparse else X[a:b], y[a:b], int(a))

    block = next(iter(read_one()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linsep.learn.problems.WINDOW_ROWS", rows)
        patch.setattr("linsep.learn.problems.WINDOW_CELLS", cells)
        one, other = list(windows(cut(sizes))), list(windows(cut([n])))
    assert [w.first_row for w in one] == [w.first_row for w in other]
    assert np.concatenate([w.y for w in one]).tolist() == y.tolist()
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(*(w.X.toarray() if sparse else w.X for w in (a, b)))
        assert a.X.shape[0] <= rows
        stored = a.X.nnz if sparse else a.X.size
        assert stored - (np.diff(a.X.indptr)[-1] if sparse else 5) < cells  # without its last row it was not full


def read_one():
    return read(io.BytesIO(b"1,2,0\n3,4,1\n"), format="csv")


def test_early_stopping_counts_errors_of_the_training_rows(tmp_path):
    X, y = noise(500, 3)
    for model in (
        Perceptron(early_stopping=True, validation_fraction=0.3).fit(X, y),
        fit_source(Perceptron(early_stopping=True, validation_fraction=0.3), read(write(tmp_path, "csv", X, y))),
    ):
        assert 300 < model.training_rows_ < 400
        held_out = 500 - model.training_rows_
        wrong_there = round(model.history_["validation_error"][-1] * held_out)  # of the last weights, which are kept
        assert model.training_errors_ + wrong_there == np.count_nonzero(model.predict(X) != y)


# ---------------------------------------------------------------------------------------------------------------
# Who may end a run


def small_problem(parameters):
    X, y = noise(60, 3)
    return array_problem(X, y, np.array([0, 1]), np.ones(60), parameters, Weights.zero(1, 3))


def test_a_proof_ends_a_run():
    asked = []

    def prover(problem, state):
        asked.append(len(state.log.passes))
        assert problem.machines == 1
        return ProofAttempt(0.5, "a proof" if len(asked) == 4 else None) if len(asked) % 2 == 0 else None

    parameters = Perceptron(max_iter=50).run_parameters(0)
    found = fit(small_problem(parameters), parameters, State(Weights.zero(1, 3), WeightTracker()), Hooks(prover=prover))
    assert asked == [0, 1, 2, 3]
    assert (found.run.stop, found.proof, len(found.run.passes)) == (Stop.NOT_SEPARABLE, ProofAttempt(0.5, "a proof"), 3)
    assert [entry.proof_work for entry in found.run.passes] == [0.5, 0.0, 0.5]


def test_a_clock_ends_a_run():
    clock = Clock()
    parameters = Perceptron(max_iter=50).run_parameters(0)
    hooks = Hooks(watch=lambda number, *_: number == 3 and clock.cancel(), clock=clock)
    state = State(Weights.zero(1, 3), WeightTracker())
    with pytest.raises(Cancelled):
        fit(small_problem(parameters), parameters, state, hooks)
    assert len(state.log.passes) == 3


def test_batches_can_be_left_and_iterated_again(tmp_path):
    X, y = noise(300, 4)
    source = read(write(tmp_path, "csv", X, y), block_bytes=500)
    problem = source_problem(source, Perceptron(shuffle=False).run_parameters(0), "standard")
    first = next(iter(problem.batches))
    for _ in range(2):
        rows = [batch.examples.rows.data for batch in problem.batches]
        assert np.array_equal(rows[0], first.examples.rows.data)
        assert sum(map(len, rows)) == 300


# ---------------------------------------------------------------------------------------------------------------
# Checkpoints


@pytest.fixture
def checkpoint(tmp_path):
    """A path, a function that goes on from it, and one that rewrites its tensors and JSON."""
    path, saved = write(tmp_path, "csv", *noise(100, 4, 3)), tmp_path / "run.checkpoint"

    def go(keep="average", **extra):
        return fit_source(Perceptron(max_iter=3, keep=keep), read(path), checkpoint=saved, **extra)

    def change(tensors=None, content=None):
        with safetensors.safe_open(saved, framework="numpy") as file:
            held = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            text = json.loads(file.metadata()["linsep"])
        held, text = (tensors or (lambda t: t))(held), (content or (lambda c: c))(text)
        saved.write_bytes(to_bytes(held, metadata={"linsep": text if isinstance(text, str) else json.dumps(text)}))

    go()
    return saved, go, change


W = "W"


@pytest.mark.parametrize("keep", ["last", "average", "best", "vote"])
def test_every_array_of_a_hostile_checkpoint_is_checked(checkpoint, keep):
    saved, go, change = checkpoint
    go(keep)
    good = saved.read_bytes()

    def spoiled(array):
        yield array[: len(array) // 2] if array.ndim else array
        yield np.nan_to_num(array).astype(np.int8)
        yield np.full_like(array, -7) if array.dtype.kind != "u" else array[::2]
        if array.dtype.kind == "f":
            yield np.full_like(array, np.nan)
        if array.ndim == 2:
            yield array[:, :-1].copy()
            yield np.hstack((array, array))
        yield np.zeros((3, 2, 2))

    with safetensors.safe_open(saved, framework="numpy") as file:
        names = sorted(file.keys())
    assert {"W", "b", "trace", "passes"} <= set(names)
    for name in names:
        saved.write_bytes(good)
        with safetensors.safe_open(saved, framework="numpy") as file:
            array = file.get_tensor(name)
        for bad in spoiled(array):
            if bad.shape == array.shape and bad.dtype == array.dtype and np.array_equal(bad, array):
                continue
            saved.write_bytes(good)
            change(lambda t, name=name, bad=bad: t | {name: np.ascontiguousarray(bad)})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                said = ""
                try:
                    go(keep, resume=True)
                except ValueError as error:
                    said = str(error)
                assert "\n" not in said


@pytest.mark.parametrize(("spoil", "said"), [
    (lambda t: t | {W: t[W][:2]}, "shapes .* of 3 machines"),
    (lambda t: t | {W: t[W].astype(np.int8)}, "weights that are not float64"),
    (lambda t: t | {W: t[W] * np.nan}, "weights that are not finite"),
    (lambda t: t | {W: np.hstack((t[W], t[W]))}, "the weights have 8 features, the rows 4"),
    (lambda t: t | {"trace": t["trace"][:-1]}, "the mistakes of its run"),
    (lambda t: t | {"classes": np.array([0, 1, 5])}, "labels that are not among its classes"),
    (lambda t: t | {"classes": np.array([0, 0, 1])}, "a class that occurs twice"),
    (lambda t: {name: t[name] for name in t if name != W}, "tensor 'W' is missing"),
])  # fmt: skip
def test_hostile_checkpoints_are_refused(checkpoint, spoil, said):
    saved, go, change = checkpoint
    go("last")
    change(spoil)
    with pytest.raises(ValueError, match=said) as told:
        fit_source(Perceptron(max_iter=9), read(saved.parent / "data.csv"), checkpoint=saved, resume=True)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("content", [
    lambda _: "[" * 200_000,
    lambda _: '{"a":' * 200_000,
    lambda c: [c],
    lambda c: c | {"weights": [1, 2]},
    lambda c: c | {"kept": {}},
    lambda c: c | {"kept": {"kind": ["last"], "kept": 3}},
    lambda c: c | {"problem": {"classes": None}},
    lambda c: c | {"format": 99},
    lambda c: c | {"kind": "Perceptron"},
    lambda c: {name: c[name] for name in c if name != "log"},
])  # fmt: skip
def test_hostile_json_in_a_checkpoint_is_one_line(checkpoint, content):
    _, go, change = checkpoint
    change(content=content)
    with pytest.raises(ValueError, match=r"run\.checkpoint: ") as told:
        go(resume=True)
    assert "\n" not in str(told.value)


def test_a_checkpoint_is_no_model_and_a_model_no_checkpoint(checkpoint):
    saved, go, _ = checkpoint
    with pytest.raises(ValueError, match="a model of kind 'checkpoint'"):
        load(saved)
    save(go(), saved)
    with pytest.raises(ValueError, match="not a checkpoint, but a Perceptron"):
        go(resume=True)


def test_a_checkpoint_that_is_not_there_or_cannot_be_written_is_said(tmp_path):
    path = write(tmp_path, "csv", *noise(100))
    with pytest.warns(UserWarning, match=r"c: no checkpoint yet"):
        fit_source(Perceptron(max_iter=2), read(path), checkpoint=tmp_path / "c", resume=True)
    with pytest.warns(UserWarning, match="linsep cannot write the checkpoint"):
        model = fit_source(Perceptron(max_iter=2), read(path), checkpoint=tmp_path / "no" / "c")
    assert model.n_iter_ == 2


def test_parts_of_other_checkpoints_are_left_alone(tmp_path):
    path = write(tmp_path, "csv", *noise(100))
    other = tmp_path / ".ab.123.part"
    other.write_text("somebody else's")
    with pytest.warns(UserWarning, match="no checkpoint yet"):
        fit_source(Perceptron(max_iter=1), read(path), checkpoint=tmp_path / "a*", resume=True)
    assert other.exists()
