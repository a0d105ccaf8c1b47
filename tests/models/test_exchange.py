import io
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from linsep import Perceptron, fit_source, from_liblinear, read, to_liblinear, to_onnx
from linsep.errors import DataNote


def model_of(W, b, classes, **parameters):
    """A Perceptron with weights made by hand."""
    model = Perceptron(**parameters).partial_fit(np.eye(len(W[0])), np.resize(np.arange(len(classes)), len(W[0])))
    model.classes_ = np.array(classes)
    model.coef_, model.intercept_ = np.array(W, dtype=float), np.array(b, dtype=float)
    return model


def whole(rng, *shape):
    return rng.integers(-2, 3, size=shape).astype(float)  # sums are exact and points on the plane are common


CASES = [
    ([[1, -2, 1]], [0], [-1, 1], {"on_plane": -1}),
    ([[1, -2, 1]], [0], [-1, 1], {"on_plane": 1}),
    ([[2, 1, -1]], [1], [3, 8], {"on_plane": 1}),
    ([[2, 1, -1]], [-1], [3, 8], {"on_plane": -1, "fit_intercept": True}),
    ([[0, 0, 0]], [0], [0, 1], {"fit_intercept": False}),
    ([[1, -1, 0], [0, 1, 0], [1, 0, -1], [0, 1, 0]], [0, 1, -1, 0], [-5, 0, 2, 7], {}),
    ([[1, -1, 0], [0, 1, 0], [1, 0, -1]], [0, 0, 0], [1, 2, 3], {"fit_intercept": False}),
]


# ---------------------------------------------------------------------------------------------------------------
# LIBLINEAR


@pytest.mark.parametrize(("W", "b", "classes", "parameters"), CASES)
def test_liblinear_text_read_by_liblinear_gives_our_labels(tmp_path, W, b, classes, parameters):
    liblinearutil = pytest.importorskip("liblinear.liblinearutil")
    model = model_of(W, b, classes, **parameters)
    path = tmp_path / "model.txt"
    to_liblinear(model, path)
    X = np.vstack([whole(np.random.default_rng(1), 200, 3), np.zeros((1, 3))])
    theirs, _, scores = liblinearutil.predict([], sp.csr_matrix(X), liblinearutil.load_model(str(path)), "-q")
    assert model.predict(X).tolist() == theirs
    ours = from_liblinear(path)
    assert ours.predict(X).tolist() == theirs
    assert ours.classes_.tolist() == classes
    assert ours.coef_.tolist() == model.coef_.tolist()
    assert ours.intercept_.tolist() == model.intercept_.tolist()
    if len(classes) == 2:
        assert np.abs(model.decision_function(X)).tolist() == np.abs(np.array(scores)[:, 0]).tolist()
        assert ours.on_plane == model.on_plane
    else:
        assert model.decision_function(X).tolist() == np.array(scores).tolist()


@pytest.mark.parametrize("bias", [-1, 0, 1, 2.5])
@pytest.mark.parametrize(
    ("solver", "labels"),
    [(solver, labels) for solver in range(8) for labels in ([1, -1], [-1, 1], [2, 1, 3], [9, 4, 7, 5])] + [(2, [6])],
)
def test_models_that_liblinear_trained_predict_the_same_here(tmp_path, solver, labels, bias):
    liblinearutil = pytest.importorskip("liblinear.liblinearutil")
    rng = np.random.default_rng(solver)
    X = rng.normal(size=(40, 5))
    y = np.resize(labels, 40).astype(float)  # the first label seen is LIBLINEAR's first, whatever its value
    trained = liblinearutil.train(y, sp.csr_matrix(X), f"-s {solver} -B {bias} -q -e 0.1")
    path = tmp_path / "model.txt"
    liblinearutil.save_model(str(path), trained)
    model = from_liblinear(path)
    rows = np.vstack([X, whole(rng, 100, 5), np.zeros((1, 5))])  # the origin is on every plane without offset
    theirs, _, scores = liblinearutil.predict([], sp.csr_matrix(rows), trained, "-q")
    assert model.predict(rows).tolist() == theirs
    if len(model.coef_) > 1:
        np.testing.assert_allclose(model.decision_function(rows), scores, rtol=1e-12, atol=1e-12)
    if len(labels) > 1:
        to_liblinear(model, tmp_path / "again.txt")
        assert from_liblinear(tmp_path / "again.txt").predict(rows).tolist() == theirs


@settings(deadline=None, max_examples=40)
@given(
    W=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
    b=st.floats(allow_nan=False, allow_infinity=False),
    on_plane=st.sampled_from([-1, 1]),
)
def test_weights_keep_every_bit_in_text(tmp_path_factory, W, b, on_plane):
    path = tmp_path_factory.getbasetemp() / "bits.txt"
    to_liblinear(model_of([W], [b], [0, 1], on_plane=on_plane), path)
    again = from_liblinear(path)
    assert again.coef_.tolist() == [W]
    assert again.intercept_.tolist() == [b]
    assert again.on_plane == on_plane


def test_a_model_from_liblinear_learns_on(tmp_path):
    (tmp_path / "model.txt").write_text(
        "solver_type L2R_LR\nnr_class 3\nlabel 7 2 5\nnr_feature 2\nbias 1\nw\n1 2 3 \n4 5 6 \n0 0 0.5 \n"
    )
    model = from_liblinear(tmp_path / "model.txt")
    assert model.classes_.tolist() == [7, 2, 5]  # a tie goes to the first, as it does in LIBLINEAR
    assert model.n_iter_ == model.mistakes_ == len(model.trace_) == 0
    assert not hasattr(model, "stop_reason_")
    model.partial_fit([[1.0, 0.0]], [5])  # no mistake
    assert model.coef_.tolist() == [[1, 4], [2, 5], [3, 6]]
    model.partial_fit([[1.0, 0.0]], [2])  # a mistake: 3.5 for class 5 against 2
    assert model.classes_.tolist() == [7, 2, 5]
    assert model.coef_.tolist() == [[1, 4], [3, 5], [2, 6]]
    assert (model.n_iter_, model.mistakes_, model.trace_.tolist()) == (2, 1, [1])
    model.partial_fit([[0.0, 0.0]], [6])  # a class that was not there: now all are in order
    assert model.classes_.tolist() == [2, 5, 6, 7]
    assert model.coef_.tolist() == [[3, 5], [2, 6], [0, 0], [1, 4]]


HEADER = "solver_type {}\nnr_class {}\nlabel {}\nnr_feature {}\nbias {}\nw\n{}"


@pytest.mark.parametrize(("text", "match"), [
    ("", "no line 'w'"),
    ("a\n" * 50, "no line 'w'"),
    ("w\n1\n", "solver_type"),
    (HEADER.format("L2R_L2LOSS_SVR", 2, "1 -1", 1, -1, "1\n"), "not a classifier"),
    (HEADER.format("ONECLASS_SVM", 2, "1 -1", 1, -1, "1\n"), "not a classifier"),
    (HEADER.format("L2R_LR", 3, "1 -1", 1, -1, "1\n"), "do not agree"),
    (HEADER.format("L2R_LR", 2, "1 1", 1, -1, "1\n"), "do not agree"),
    (HEADER.format("L2R_LR", 2, "1 a", 1, -1, "1\n"), "invalid literal"),
    (HEADER.format("L2R_LR", 2, "1 -1", 10**15, -1, "1\n"), "announced, in a file of"),
    (HEADER.format("L2R_LR", 2, "1 -1", 0, -1, "1\n"), "do not agree"),
    (HEADER.format("L2R_LR", 2, "1 -1", 2, -1, "1\n"), "2 lines of 1 weights announced, 1 of 1 found"),
    (HEADER.format("L2R_LR", 2, "1 -1", 2, -1, ""), "weights announced"),
    (HEADER.format("L2R_LR", 2, "1 -1", 2, -1, "1\nx\n"), "could not convert"),
    (HEADER.format("L2R_LR", 2, "1 -1", 2, -1, "1\nnan\n"), "not finite"),
    (HEADER.format("L2R_LR", 2, "1 -1", 2, -1, "1 2\n1\n"), "columns"),
    (HEADER.format("L2R_LR", 2, "1 -1", 1, "inf", "1\n1\n"), "not finite"),
    ("\x00\xff" * 100, "no line 'w'"),
])  # fmt: skip
def test_text_that_is_no_model(tmp_path, text, match):
    path = tmp_path / "model.txt"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=match) as caught:
        from_liblinear(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@settings(deadline=None, max_examples=150)
@given(cut=st.integers(0, 90), junk=st.binary(max_size=6), back=st.integers(0, 6))
def test_mutated_text_is_read_or_refused(tmp_path_factory, cut, junk, back):
    text = HEADER.format("L2R_LR", 3, "1 -1 4", 2, 1, "1 2 3\n4 5 6\n0 0 0.5\n").encode()
    path = tmp_path_factory.getbasetemp() / "mutated.txt"
    path.write_bytes(text[:cut] + junk + text[cut + back :])
    try:
        model = from_liblinear(path)
    except ValueError as error:
        if str(path) not in str(error):
            raise
    else:
        assert len(model.predict(np.zeros((1, model.n_features_in_)))) == 1


@pytest.mark.parametrize("classes", [["a", "b"], [False, True], [0.5, 1.0], [2**40, 1]])
def test_labels_that_liblinear_does_not_have(tmp_path, classes):
    to_liblinear(model_of([[1, 2]], [0], classes), tmp_path / "model.txt")
    named = json.loads((tmp_path / "model.txt.map.json").read_text())["labels"]
    assert named == {"0": classes[0], "1": classes[1]}
    assert from_liblinear(tmp_path / "model.txt").classes_.tolist() == [0, 1]


@pytest.mark.parametrize("export", [to_liblinear, to_onnx])
def test_what_is_not_fitted_is_not_exported(tmp_path, export):
    if export is to_onnx:
        pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="not fitted"):
        export(Perceptron(), tmp_path / "model")


# ---------------------------------------------------------------------------------------------------------------
# ONNX


def run(path: Path, X):
    runtime = pytest.importorskip("onnxruntime")
    return runtime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"X": X})


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("labels", ["int", "str", "float", "bool", "mixed width"])
@pytest.mark.parametrize(("W", "b", "classes", "parameters"), CASES)
def test_onnx_gives_our_labels_and_scores(tmp_path, W, b, classes, parameters, labels, dtype):
    pytest.importorskip("onnx")
    names = {
        "int": classes,
        "str": [f"class {c}" for c in classes],
        "float": [c + 0.5 for c in classes],
        "bool": [False, True] if len(classes) == 2 else classes,
        "mixed width": ["é" * (i + 1) for i in range(len(classes))],
    }[labels]
    model = model_of(W, b, names, **parameters)
    path = tmp_path / "model.onnx"
    to_onnx(model, path, dtype=dtype)
    X = np.vstack([whole(np.random.default_rng(1), 200, 3), np.zeros((1, 3))]).astype(dtype)
    label, scores = run(path, X)
    assert label.tolist() == model.predict(X).tolist()
    assert [type(one) for one in label.tolist()] == [type(one) for one in model.predict(X).tolist()]
    assert scores.dtype == np.float64
    assert scores.tolist() == model.decision_function(X).tolist()  # whole numbers: exact
    empty = (0,) if len(classes) == 2 else (0, len(classes))
    assert [part.shape for part in run(path, X[:0])] == [(0,), empty]


def test_onnx_of_one_class_and_of_labels_it_does_not_have(tmp_path):
    pytest.importorskip("onnx")
    lonely = Perceptron().partial_fit(np.eye(2), ["only", "only"])
    to_onnx(lonely, tmp_path / "model.onnx")
    assert run(tmp_path / "model.onnx", -np.eye(2))[0].tolist() == ["only", "only"]
    mixed = model_of([[1, 2]], [0], [0, 1])
    mixed.classes_ = np.array(["a", 1], object)
    with pytest.raises(ValueError, match="one type"):
        to_onnx(mixed, tmp_path / "mixed.onnx")
    with pytest.raises(ValueError, match="float64 or float32"):
        to_onnx(lonely, tmp_path / "mixed.onnx", dtype=np.int8)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_words_keep_their_names_in_onnx_and_hashed_ones_have_none(tmp_path):
    onnx = pytest.importorskip("onnx")
    text = b"x,town,class\n1,Ulm,0\n2,Bonn,1\n3,Rom,1\n"
    source = read(io.BytesIO(text), format="csv")
    model = fit_source(Perceptron(), source)
    model.reading_ = source.state()
    to_onnx(model, tmp_path / "m.onnx", raw=False)
    properties = {one.key: one.value for one in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert json.loads(properties["feature_names"]) == ["x", "town=Ulm", "town=Bonn", "town=Rom"]
    to_liblinear(model, tmp_path / "m.txt")
    assert from_liblinear(tmp_path / "m.txt").coef_.tolist() == model.coef_.tolist()
    source = read(io.BytesIO(text), format="csv", hash_bits=4)
    model = fit_source(Perceptron(), source)
    model.reading_ = source.state()
    for write, name in ((to_onnx, "m.onnx"), (to_liblinear, "m.txt")):
        with pytest.warns(DataNote, match="the model hashes words"):
            write(model, tmp_path / name)
