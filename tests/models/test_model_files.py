import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as from_bytes
from safetensors.numpy import save as to_bytes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import linsep
from linsep import Perceptron, load, save
from linsep.data.files import replacing

RNG = np.random.default_rng(5)
FITTED = ["coef_", "intercept_", "classes_", "n_iter_", "n_features_in_", "stop_reason_", "mistakes_"]
FITTED += ["mistake_counts_", "trace_", "history_", "radius_", "margin_"]


def same(a, b):
    """Equal in type, dtype, shape and every bit; NaN equals NaN."""
    if isinstance(a, np.ndarray):
        if a.dtype == object:
            return type(b) is np.ndarray and b.dtype == object and same(a.tolist(), b.tolist())
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, np.random.RandomState):
        return same(a.get_state(legacy=False), b.get_state(legacy=False))
    return a == b


def again(model, folder):
    path = Path(folder) / "model.linsep"
    save(model, path)
    assert os.listdir(folder) == ["model.linsep"]
    return load(path)


def assert_same_model(a, b, attributes=FITTED):
    assert type(a) is type(b)
    assert same(a.get_params(), b.get_params())
    for name in attributes:
        assert same(getattr(a, name), getattr(b, name)), name


def data(n=60, d=4, classes=2):
    X = RNG.normal(size=(n, d))
    return X, (np.arange(n) * 7) % classes


# ---------------------------------------------------------------------------------------------------------------
# There and back


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_of_largest_margin(tmp_path, classes):
    X = RNG.normal(size=(30, 3)) + 20 * np.eye(3)[np.arange(30) % classes]
    model = linsep.MaxMarginClassifier().fit(X, np.arange(30) % classes)
    names = ["coef_", "intercept_", "classes_", "margin_lower_", "margin_upper_", "support_", "dual_coef_"]
    assert_same_model(again(model, tmp_path), model, names)
    model.dual_coef_ = model.dual_coef_[:, 1:]
    with pytest.raises(ValueError, match="damaged model file: factors"):
        again(model, tmp_path)


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("parameters", [
    {},
    {"shuffle": False, "eta0": 0.1, "on_plane": 1},
    {"multi_class": "ovr", "early_stopping": True},
    {"fit_intercept": False, "order": "worst", "max_updates": 7},
    {"target_margin": 0.5, "update_margin": 0.25, "keep": "last"},
    {"class_weight": {0: 2.0, 1: 0.5}, "random_state": 3, "eta0": 0.3},
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_fitted_attribute_comes_back_with_the_same_bits(tmp_path, classes, parameters):
    X, y = data(classes=classes)
    model = Perceptron(max_iter=6, **parameters).fit(X, y)
    loaded = again(model, tmp_path)
    assert_same_model(model, loaded)
    assert same(model.predict(X), loaded.predict(X))
    assert same(model.decision_function(X), loaded.decision_function(X))


@pytest.mark.parametrize("shuffle", [False, True])
def test_training_goes_on_as_if_nothing_had_happened(tmp_path, shuffle):
    X, y = data(n=90, classes=3)
    model = Perceptron(shuffle=shuffle, random_state=np.random.RandomState(4))
    model.partial_fit(X[:30], y[:30] % 2).partial_fit(X[30:60], y[30:60])  # the third class arrives late
    loaded = again(model, tmp_path)
    for part in (slice(60, 75), slice(75, 90), slice(0, 90)):
        model.partial_fit(X[part], y[part])
        loaded.partial_fit(X[part], y[part])
    timeless = [name for name in FITTED if name != "history_"]  # seconds differ
    assert_same_model(model, loaded, timeless)
    assert same(model.history_["mistakes"], loaded.history_["mistakes"])
    assert same(model.history_["loss"], loaded.history_["loss"])
    assert_same_model(loaded, again(loaded, tmp_path))


def test_a_class_without_a_rival_and_a_warm_start_come_back(tmp_path):
    X, y = data()
    lonely = Perceptron().partial_fit(X, np.full(len(y), "only"))
    loaded = again(lonely, tmp_path)
    assert same(loaded.predict(X), lonely.predict(X))
    assert_same_model(
        lonely.partial_fit(X, np.where(y, "a", "only")), loaded.partial_fit(X, np.where(y, "a", "only")), ["coef_"]
    )
    warm = Perceptron(max_updates=5, warm_start=True, random_state=np.random.RandomState(2))
    with pytest.warns(UserWarning, match="max_updates"):
        warm.fit(X, y)
    loaded = again(warm, tmp_path)
    for model in (warm, loaded):
        with pytest.warns(UserWarning, match="max_updates"):
            model.fit(X, y)
    assert_same_model(warm, loaded, ["coef_", "trace_"])


LABELS = [
    ["", "ß∂ \n\0x", "\ud800"],
    ["y", 3, 2.5, True],
    np.array([3, 200], np.uint8),
    np.array([3, 2], ">i4"),
    np.array([0.5, 1.5], np.float32),
    np.array(["wide", "w"], "U100"),
]


@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: str(list(labels)).encode("ascii", "replace").decode())
def test_labels_keep_type_and_value(tmp_path, labels):
    if isinstance(labels, np.ndarray):
        known = labels
    else:
        known = np.empty(len(labels), object)
        known[:] = labels
        if len({type(label) for label in labels}) == 1:
            known = np.array(labels)
    X, _ = data()
    model = Perceptron(tol=1e9).fit(X, np.resize(np.arange(len(known)), len(X)))
    model.classes_ = known
    loaded = again(model, tmp_path)
    assert loaded.classes_.dtype == known.dtype.newbyteorder("=")
    assert loaded.classes_.tolist() == known.tolist()
    assert [type(label) for label in loaded.classes_.tolist()] == [type(label) for label in known.tolist()]
    assert loaded.predict(X).tolist() == model.predict(X).tolist()


simple = st.one_of(st.text(max_size=5), st.integers(), st.floats(allow_nan=False), st.booleans(), st.none())


@settings(deadline=None, max_examples=60)
@given(labels=st.lists(simple, min_size=2, max_size=6, unique_by=lambda value: value))
def test_labels_of_any_plain_type(tmp_path_factory, labels):
    model = Perceptron().fit(np.eye(len(labels)), np.arange(len(labels)))
    model.classes_ = np.empty(len(labels), object)
    model.classes_[:] = labels
    assert same(again(model, tmp_path_factory.mktemp("labels")).classes_, model.classes_)


def test_feature_names_come_back_and_other_attributes_do_not(tmp_path):
    import pandas as pd

    X, y = data()
    model = Perceptron(tol=1e9).fit(pd.DataFrame(X, columns=["a", "b b", "ç", ""]), y)
    model.note_ = "a file holds what a fit sets, and nothing else"
    loaded = again(model, tmp_path)
    assert_same_model(model, loaded, [*FITTED, "feature_names_in_"])
    assert not hasattr(loaded, "note_")


def test_only_our_own_classes_are_saved_and_a_pipeline_gets_a_hint(tmp_path):
    class Other(Perceptron):
        """Somebody's own class, which a file could not name."""

    X, y = np.eye(2), [0, 1]
    with pytest.raises(ValueError, match="Other cannot be saved"):
        save(Other().fit(X, y), tmp_path / "model")
    pipeline = make_pipeline(StandardScaler(), Perceptron()).fit(X, y)
    with pytest.raises(ValueError, match=r"Pipeline cannot be saved.* save its last step"):
        save(pipeline, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_the_same_model_gives_the_same_bytes(tmp_path):
    model = Perceptron(tol=1e9).fit(*data(classes=3))
    save(model, tmp_path / "a")
    save(load(tmp_path / "a"), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_cannot_be_kept_is_said_and_leaves_nothing(tmp_path):
    X, y = np.eye(2), [0, 1]
    path = tmp_path / "model"
    with pytest.raises(ValueError, match="not fitted"):
        save(Perceptron(), path)
    with pytest.raises(ValueError, match="str cannot be saved"):
        save("model", path)

    class Perceptron_(Perceptron):  # noqa: N801
        pass

    Perceptron_.__name__ = "Perceptron"
    with pytest.raises(ValueError, match="cannot be saved"):
        save(Perceptron_().fit(X, y), path)
    for label in (frozenset({1}), (1, "a"), b"a"):
        labels = np.empty(2, object)
        labels[:] = [label, "b"]
        with pytest.raises(ValueError, match=f"of type {type(label).__name__}, which a model file cannot hold"):
            save(Perceptron().fit(np.eye(2), labels), path)
    days = np.array(["2020-01-01", "2021-05-01"], "M8[D]")
    with pytest.raises(ValueError, match=r"array of datetime64\[D\], which a model file cannot hold"):
        save(Perceptron().fit(np.eye(2), days), path)
    assert not os.listdir(tmp_path)


# ---------------------------------------------------------------------------------------------------------------
# Whole or not at all


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(b"old")

    def fail(_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save(Perceptron(tol=1e9).fit(*data()), path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]


def test_replacing_follows_links_keeps_permissions_and_writes_to_pipes(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    os.chmod(tmp_path / "real", 0o640)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with replacing(tmp_path / "link") as file:
        file.write(b"new")
        assert (tmp_path / "real").read_bytes() == b"old"
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    assert os.stat(tmp_path / "real").st_mode & 0o777 == 0o640
    with replacing("/dev/null") as file:
        file.write(b"gone")
    with pytest.raises(IsADirectoryError), replacing(tmp_path):
        pass
    with pytest.raises(FileNotFoundError, match="no such folder"), replacing(tmp_path / "not" / "there"):
        pass


# ---------------------------------------------------------------------------------------------------------------
# Files from strangers


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    path = tmp_path_factory.mktemp("honest") / "model"
    X, y = data(classes=3)
    model = Perceptron(tol=1e9).fit(X, np.array(["a", "b", "c"])[y])
    save(model, path)
    return path.read_bytes()


def refused(tmp_path, content, match="."):
    path = tmp_path / "hostile"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=match) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 2


def altered(honest, change):
    """Return the file with its JSON content and tensors changed by a function."""
    length = int.from_bytes(honest[:8], "little")
    content = json.loads(json.loads(honest[8 : 8 + length])["__metadata__"]["linsep"])
    tensors = from_bytes(honest)
    replaced = change(content, tensors)
    text = json.dumps(content if replaced is None else replaced) if not isinstance(replaced, str) else replaced
    return to_bytes(tensors, metadata={"linsep": text})


def test_files_that_are_no_models(tmp_path, honest):
    for content in (b"", b"\0", b"solver_type L2R_LR\n", b"\x80\x04\x95cos\nsystem\n", honest[:-1], honest + b"x"):
        refused(tmp_path, content, "not a linsep model")
    refused(tmp_path, (2**63).to_bytes(8, "little") + honest[8:], "not a linsep model")
    refused(tmp_path, to_bytes({"coef_": np.zeros(3)}), "not written by linsep")
    refused(tmp_path, struct.pack("<Q", 9 << 20) + b"{" + b" " * (9 << 20), "header takes")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="not a file"):
        load(tmp_path)


def set_attribute(name, value):
    return lambda content, _: content["attributes"].update({name: value})


def set_parameter(name, value):
    return lambda content, _: content["parameters"].update({name: value})


def set_tensor(name, value):
    return lambda _, tensors: tensors.update({name: value})


@pytest.mark.parametrize(("change", "match"), [
    (lambda content, _: content.update(format=99, linsep="9.0"), "written by linsep 9.0 in model format 99"),
    (lambda content, _: content.update(format="1"), "version of its format"),
    (lambda content, _: content.update(format=True), "version of its format"),
    (lambda content, _: content.update(kind="os.system"), "does not know"),
    (lambda content, _: content.update(kind=["Perceptron"]), "does not know"),
    (lambda content, _: content.pop("kind") and None, "damaged"),
    (lambda content, _: content.update(attributes=[]), "damaged"),
    (lambda content, _: content["attributes"].pop("seed") and None, "no seed"),
    (lambda *_: [], "not an object"),
    (lambda *_: "[" * 200_000 + "]" * 200_000, "nested too deeply"),
    (lambda *_: "NaN", "NaN"),
    (lambda *_: "{", "damaged"),
    (lambda *_: '{"format": ' + "9" * 5000 + "}", "."),
    (set_parameter("__class__", "x"), "no parameter"),
    (set_parameter("eta0", "x"), "eta0"),
    (set_parameter("eta0", {"list": [{"list": [[1]]}]}), "damaged"),
    (set_parameter("on_plane", 0), "on_plane"),
    (set_parameter("class_weight", {"dict": [[{"list": []}, 1]]}), "damaged"),
    (set_attribute("predict", 1), "attribute 'predict'"),
    (set_attribute("__class__", 1), "attribute '__class__'"),
    (set_attribute("n_iter_", 1), "attribute 'n_iter_'"),
    (set_attribute("eta0", 1), "attribute 'eta0'"),
    (set_attribute("a b", 1), "attribute 'a b'"),
    (set_attribute("x_", {"pickle": "gASV"}), "unknown tag"),
    (set_attribute("x_", {"array": ["numbers", "weights.W"]}), "used twice"),
    (set_attribute("x_", {"array": ["numbers", "no"]}), "missing"),
    (set_attribute("x_", {"array": ["moments", "no", "O"]}), "stored as 'moments'"),
    (set_attribute("x_", {"float": "os"}), "."),
    (set_attribute("x_", {"list": {}}), "damaged"),
    (set_attribute("x_", {"random_state": ["weights.W", 0, 0, 0]}), "damaged"),
    (set_attribute("x_", [[]]), "without a tag"),
    (set_attribute("classes_", {"array": ["strings", "classes_", 10**12]}), "width"),
    (set_attribute("classes_", {"array": ["strings", "classes_", -1]}), "width"),
    (set_attribute("n_features_in_", 10**12), "shapes"),
    (set_attribute("n_features_in_", 4.0), "n_features_in_ is of the wrong type"),
    (set_attribute("rows", 3), "row that was not seen"),
    (set_attribute("rows", 10**30), "number of rows"),
    (set_attribute("rows", "3"), "number of rows"),
    (set_attribute("seed", -1), "seed"),
    (set_attribute("runs", 1), "its run"),
    (set_attribute("runs", {"list": [1]}), "its run"),
    (set_attribute("radius_", None), "radius"),
    (set_attribute("weights", 1.5), "weights"),
    (set_attribute("coef_", 1.5), "attribute 'coef_'"),
    (set_attribute("feature_names_in_", 5), "names"),
    (set_attribute("feature_names_in_", None), "names"),
    (set_tensor("weights.W", np.zeros((3, 4), np.float32)), "float64"),
    (set_tensor("weights.W", np.zeros((3, 4), np.int64)), "float64"),
    (set_tensor("weights.W", np.zeros((2, 4))), "shapes"),
    (set_tensor("weights.W", np.full((3, 4), np.nan)), "not finite"),
    (set_tensor("weights.b", np.zeros((3, 1))), "shapes"),
    (set_tensor("classes_.ends", np.array([2, 1, 3])), "overlap"),
    (set_tensor("classes_.ends", np.array([0, 1, 2**40])), "text"),
    (set_tensor("classes_.ends", np.array([1, 2])), "."),
    (set_tensor("classes_", np.frombuffer(b"aab", np.uint8)), "twice"),
    (set_tensor("classes_", np.frombuffer(b"ab\xff", np.uint8)), "."),
    (set_tensor("classes_", np.zeros(3)), "type float64"),
    (set_tensor("runs.table", np.array([[0, 1, 2, 0, 0]])), "negative"),
    (set_tensor("runs.table", np.array([[9, 0, 0, 1, 0]])), "counts"),
    (set_tensor("runs.table", np.array([[0, 2**62, 2**62, 1, 0]] * 4)), "counts"),
    (set_tensor("runs.trace", np.full(3, 2**63, np.uint64)), "."),
    (set_tensor("runs.passes", np.full((1, 4), np.nan)), "."),
    (set_tensor("runs.passes", np.zeros((0, 9))), "its run"),
])  # fmt: skip
def test_files_whose_parts_do_not_fit(tmp_path, honest, change, match):
    refused(tmp_path, altered(honest, change), match)


def test_an_altered_file_without_alterations_is_read(tmp_path, honest):
    (tmp_path / "model").write_bytes(altered(honest, lambda *_: None))
    assert load(tmp_path / "model").predict([[0.0] * 4]).shape == (1,)


def read_or_refused(path):
    try:
        return load(path)
    except ValueError as error:
        if str(path) not in str(error):
            raise
        return None


mutation = st.tuples(st.sampled_from(["flip", "cut", "insert", "repeat"]), st.floats(0, 1), st.integers(0, 255))


@settings(deadline=None, max_examples=300)
@given(mutations=st.lists(mutation, min_size=1, max_size=4), in_header=st.booleans())
def test_mutated_files_are_read_or_refused(tmp_path_factory, honest, mutations, in_header):
    content = bytearray(honest)
    for action, where, byte in mutations:
        reach = 8 + int.from_bytes(honest[:8], "little") if in_header else len(content)
        place = int(where * (min(reach, len(content)) - 1))
        if action == "flip":
            content[place] ^= byte
        elif action == "cut":
            del content[place : place + byte]
        elif action == "insert":
            content.insert(place, byte)
        else:
            content[place:place] = content[place : place + byte]
        if len(content) < 2:
            break
    path = tmp_path_factory.getbasetemp() / "mutated"
    path.write_bytes(content)
    model = read_or_refused(path)
    if model is not None:  # whatever was read is a model that works
        assert len(model.predict(np.zeros((2, model.n_features_in_)))) == 2


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_json_of_any_shape_is_read_or_refused(tmp_path_factory, honest, data):
    tag = st.sampled_from(["float", "list", "dict", "array", "random_state"])
    leaf = st.one_of(simple, st.sampled_from(["numbers", "strings", "objects", "weights.W", "classes_", "d", "U"]))
    value = st.recursive(
        leaf, lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(tag, inner, min_size=1, max_size=1))
    )

    def change(content, _):
        part = data.draw(st.sampled_from(["parameters", "attributes"]))
        name = data.draw(st.sampled_from(sorted(content[part])))
        content[part][name] = data.draw(value)

    path = tmp_path_factory.getbasetemp() / "shaped"
    try:
        path.write_bytes(altered(honest, change))
    except UnicodeEncodeError:  # a lone surrogate cannot be in a file's header
        return
    read_or_refused(path)


def test_no_pickle_anywhere():
    source = Path(linsep.__file__).parent
    own = source / "compiling.py"  # Numba keeps compiled code by pickle, in a folder of the user's own
    for path in set(source.rglob("*.py")) - {own}:
        for line in path.read_text().splitlines():
            assert not line.strip().startswith(("import pickle", "from pickle", "import joblib", "from joblib")), path
