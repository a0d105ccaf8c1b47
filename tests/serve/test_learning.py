"""The served learner without a network: its bits, its log, its files, and what it does when writing fails."""

import json
import os
import shutil
import sqlite3
import warnings

import numpy as np
import pytest

import linsep
from data import few
from linsep.data.bodies import ARROW, CSV, JSON, LIBSVM, NDJSON, Limits, Refused, parse_body
from linsep.data.example_log import LogRows
from linsep.data.read import LOG
from linsep.errors import DataError
from linsep.models.files import load_plain
from linsep.models.passive_aggressive import PassiveAggressive
from linsep.models.perceptron import Perceptron
from linsep.models.progressive import replay
from linsep.serve import service as services
from linsep.serve.service import Service

pytestmark = pytest.mark.compiled


def learn(service, examples, key=None, kind=JSON):
    body = examples if isinstance(examples, bytes) else json.dumps(examples).encode()
    parsed = parse_body(body, kind, {}, service.limits, service.columns, labeled=True)
    (answer,) = service.learn([services.Request(parsed, key, body)])
    if isinstance(answer, Exception):
        raise answer
    return json.loads(answer)["examples"]


def rows_of(n, d, classes, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    noise = 0.3 * generator.normal(size=(n, classes))
    return X, np.array(list("abcd"))[(X @ generator.normal(size=(d, classes)) + noise).argmax(axis=1)]


def in_pieces(service, X, y, seed=0):
    """Teach in batches of random sizes; return what was answered."""
    generator, answers, done = np.random.default_rng(seed), [], 0
    while done < len(y):
        n = int(generator.integers(1, 20))
        some = slice(done, done + n)
        rows = zip(X[some].tolist(), y[some].tolist(), strict=True)
        answers += learn(service, [{"x": x, "y": label} for x, label in rows])
        done += n
    return answers


OTHERS = [
    (PassiveAggressive(shuffle=False), 3),
    (Perceptron(shuffle=False, mistake="prediction", multi_class="ovr"), 3),
]
KINDS = [(Perceptron(shuffle=False, keep=keep), 3) for keep in ("last", "vote", "average", "best")] + OTHERS
KINDS += [(model, 2) for model, _ in KINDS]


@pytest.mark.parametrize(("model", "classes"), few(KINDS, 2))  # of the others each compiles a loop
def test_it_predicts_then_learns_as_the_classifier_does_one_row_at_a_time(model, classes, tmp_path):
    X, y = rows_of(120, 4, classes)
    service = Service(tmp_path, model)
    answers = in_pieces(service, X, y)
    service.export(str(tmp_path / "model.linsep"))
    stats = service.stats()
    service.close()
    offline = getattr(linsep, type(model).__name__)(**model.get_params())
    predicted, mistakes = [], []
    for x, label in zip(X, y, strict=True):
        predicted.append(str(offline.predict(x[None])[0]) if predicted else None)
        before = offline.mistakes_ if predicted[1:] else 0
        offline.partial_fit(x[None], [label])
        mistakes.append(offline.mistakes_ > before)
    assert [each["predicted"] for each in answers] == predicted
    assert [each["mistake"] for each in answers] == mistakes
    assert [each["number"] for each in answers] == list(range(1, 121))
    assert stats["errors"] == sum(a != b for a, b in zip(predicted, y.tolist(), strict=True))
    assert stats["mistakes"] == offline.mistakes_
    served = linsep.load(tmp_path / "model.linsep")
    assert np.array_equal(served.coef_, offline.coef_)
    assert np.array_equal(served.intercept_, offline.intercept_)
    assert served.predict(X).tolist() == offline.predict(X).tolist()
    found = replay(tmp_path, check=True)
    assert (found.same, found.problems) == (True, [])


def test_it_equals_a_fit_of_one_pass_on_the_rows_and_on_the_log(tmp_path):
    X, y = rows_of(300, 5, 2)
    service = Service(tmp_path, Perceptron(shuffle=False))
    in_pieces(service, X, y)
    service.export(str(tmp_path / "model.linsep"))
    service.close()
    served = linsep.load(tmp_path / "model.linsep")
    log = linsep.read(tmp_path)
    logged, labels = log.to_arrays()
    assert np.array_equal(logged, X)
    assert labels.tolist() == y.tolist()
    how = {"shuffle": False, "max_iter": 1, "prove": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (linsep.Perceptron(**how).fit(X, y), linsep.fit_source(linsep.Perceptron(**how), log)):
            assert np.array_equal(model.coef_, served.coef_)
            assert np.array_equal(model.intercept_, served.intercept_)


WORDS = [
    {"x": [1, 0], "y": "a"},
    {"x": {"color": "red", "size": 3}, "y": "b"},
    {"x": {"size": -1, "color": "blue"}, "y": "b"},
    {"x": {"weight": 2.5, "color": "red"}, "y": "a"},  # a number after words
    {"x": [0, 2, 3], "y": "c"},
]


@pytest.mark.parametrize("keep", ["last", "average", "vote"])
def test_lists_and_words_grow_the_model(keep, tmp_path):
    service = Service(tmp_path / "one", Perceptron(shuffle=False, keep=keep))
    answers = [learn(service, [example])[0] for example in WORDS]
    assert answers[0] == {"number": 1, "predicted": None, "mistake": True}
    service.export(str(tmp_path / "one.linsep"))
    service.close()
    service = Service(tmp_path / "all", Perceptron(shuffle=False, keep=keep))
    assert learn(service, WORDS) == answers  # how examples come together does not matter
    service.export(str(tmp_path / "all.linsep"))
    rows = services.encode([each["x"] for each in WORDS], service.columns)
    labels = service.predictor.predict(service.predictor.scores(rows))
    service.close()
    one, both = (linsep.load(tmp_path / f"{name}.linsep") for name in ("one", "all"))
    assert np.array_equal(one.coef_, both.coef_)
    X, y = linsep.read(tmp_path / "all").to_arrays()
    assert y.tolist() == [each["y"] for each in WORDS]
    names = ["0", "1", "size", "weight", "2", "color=red", "color=blue"]
    assert one.feature_names_in_.tolist() == names == linsep.read(tmp_path / "all").names
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert one.predict(X).tolist() == labels
    assert X.toarray()[3].tolist() == [0, 0, 0, 2.5, 0, 1, 0]


def test_every_format_teaches_the_same(tmp_path):
    import pyarrow as pa

    X = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]])
    y = ["yes", "no", "yes"]
    named = [{"x": {"u": u, "v": v}, "y": label} for (u, v), label in zip(X.tolist(), y, strict=True)]
    table = pa.table({"u": X[:, 0], "v": X[:, 1], "y": y})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    lines = "".join(f"{u},{v},{label}\n" for (u, v), label in zip(X.tolist(), y, strict=True))
    svm = "".join(f"{label} 1:{u} 2:{v}\n" for (u, v), label in zip(X.tolist(), y, strict=True))
    bodies = {
        JSON: json.dumps(named).encode(),
        NDJSON: "\n".join(map(json.dumps, named)).encode(),
        CSV: f"u,v,y\n{lines}".encode(),
        ARROW: sink.getvalue().to_pybytes(),
        LIBSVM: svm.encode(),
    }
    found = {}
    for kind, body in bodies.items():
        service = Service(tmp_path / kind.replace("/", "-"), Perceptron(shuffle=False))
        answers = learn(service, body, kind=kind)
        found[kind] = (answers, service.predictor.plane.W.tolist(), service.predictor.plane.b.tolist())
        service.close()
    assert all(each == found[JSON] for each in found.values())


# ---------------------------------------------------------------------------------------------------------------
# Retries


def test_a_key_or_an_id_makes_a_retry_safe_also_after_a_restart(tmp_path):
    X, y = rows_of(40, 3, 2)
    examples = [{"x": x, "y": label} for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    named = [{**each, "id": f"e{i}"} for i, each in enumerate(examples[20:])]
    service = Service(tmp_path)
    first = learn(service, examples[:20], key="k")
    second = learn(service, named)
    assert learn(service, examples[:20], key="k") == first
    assert learn(service, named[::-1]) == second[::-1]
    mixed = learn(service, [named[3], {"x": [1, 2, 3], "y": "a", "id": "new"}, named[7]])
    assert [each["number"] for each in mixed] == [24, 41, 28]
    with pytest.raises(Refused, match="another request") as refused:
        learn(service, examples[:19], key="k")
    assert refused.value.status == 422
    service.close()
    service = Service(tmp_path)
    assert learn(service, examples[:20], key="k") == first
    assert learn(service, named) == second
    assert service.stats()["examples"] == 41
    service.close()


def test_a_row_is_predicted_now_and_labeled_later(tmp_path):
    service = Service(tmp_path)
    learn(service, [{"x": [1, 0], "y": "a"}, {"x": [0, 1], "y": "b"}])
    service.keep([[("o-1", [2, 0], "a"), ("o-2", [0, 2], "b")]])
    for _ in range(3):
        learn(service, [{"x": [2, 0], "y": "b"}])  # the model changes its mind
    assert service.predictor.predict(service.predictor.scores(LogRows(np.array([[2.0, 0.0]])))) == ["b"]
    errors = service.stats()["errors"]
    service.close()
    service = Service(tmp_path)
    (answer,) = learn(service, [{"id": "o-1", "y": "b"}])
    assert answer == {"number": 6, "predicted": "a", "mistake": True}  # judged by the label that was served
    assert service.stats()["errors"] == errors + 1
    assert learn(service, [{"id": "o-1", "y": "b"}]) == [answer]
    with pytest.raises(Refused, match="no row waits"):
        learn(service, [{"id": "o-3", "y": "b"}])
    service.close()
    assert linsep.read(tmp_path).to_arrays()[0][-1].tolist() == [2.0, 0.0]
    assert replay(tmp_path, check=True).problems == []


def test_rows_that_wait_too_long_are_dropped(tmp_path):
    service = Service(tmp_path, pending_days=1e-9)
    service.keep([[("old", [1, 2], None)]])
    with pytest.raises(Refused, match="no row waits"):
        learn(service, [{"id": "old", "y": "b"}])
    service.close()


# ---------------------------------------------------------------------------------------------------------------
# Bad input


BAD = [
    (JSON, b"", "not JSON"), (JSON, b"[", "not JSON"), (JSON, b"[]", "no examples"), (JSON, b"3", "an example is"),
    (JSON, b'[{"x": [1], "y": "a"}, {"x": [1, "b"], "y": "a"}]', "not a number"),
    (JSON, b'[{"x": [1], "y": "a"}, {"x": [NaN], "y": "a"}]', "NaN"),
    (JSON, b'[{"x": [1], "y": "a"}, {"x": [1]}]', "no label"), (JSON, b'[{"x": [1e300], "y": "a"}]', "too large"),
    (JSON, b'[{"x": [1], "y": 1.5}]', "fraction"), (JSON, b'[{"x": {"u": null}, "y": 1}]', "neither"),
    (JSON, b'[{"x": [1], "y": "a", "z": 1}]', "unknown field"), (JSON, b'[{"y": "a"}]', "no x"),
    (JSON, b'{"x": {"u": 1}, "y": "a", "id": 3}', "an id is"), (JSON, b"[" * 100_000, "not JSON"),
    (JSON, b'[{"x": [1' + b"0" * 400 + b'], "y": 1}]', "too large"), (JSON, b'[{"x": [], "y": 1}]', "without numbers"),
    (JSON, b'[{"x": {"u": 1}, "y": 1}, {"x": {"u": "w"}, "y": 1}]', "was a number"),
    (JSON, b'[{"x": [1], "y": 1}, {"x": [1], "y": true}]', "beside"), (JSON, b"\xff\xfe", "not JSON"),
    (NDJSON, b'{"x": [1], "y": 1}\n{', "not JSON"), (CSV, b"u,y\n1,a\nb,a\n", "not CSV"),
    (CSV, b"u,v\n1,2\n", "no column is named"), (CSV, b"u,y\n1\n", "not CSV"), (CSV, b"", "not CSV"),
    (CSV, b"u,y\n,a\n", "missing"), (LIBSVM, b"1 1:2\n-1 0:3\n", "index"),
    (LIBSVM, b"1 1:2\n-1 a:3\n", "a:3|index|whole"),
    (LIBSVM, b"1 1:nan\n", "nan|missing"),
    (LIBSVM, b"1 99999999:1\n", "99999999|features"), (ARROW, b"nonsense", "not an Arrow"),
    ("text/plain", b"1", "content type"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "body", "words"), BAD, ids=range(len(BAD)))
def test_bad_input_is_refused_and_nothing_of_it_is_learned(kind, body, words, tmp_path):
    service = Service(tmp_path)
    learn(service, [{"x": {"u": 1, "w": "red"}, "y": "a"}])
    before = (service.columns.width, list(service.labels), service.number)
    with pytest.raises(DataError, match=words):
        learn(service, body, kind=kind)
    assert (service.columns.width, list(service.labels), service.number) == before
    assert learn(service, [{"x": {"u": 1, "w": "red"}, "y": "a"}])[0]["number"] == 2
    service.close()


def test_limits(tmp_path):
    service = Service(tmp_path, limits=Limits(features=3, words=2, classes=2, batch=5))
    learn(service, [{"x": [1, 2], "y": "a"}, {"x": [1, 2], "y": "b"}])
    for example in ({"x": [1, 2, 3, 4], "y": "a"}, {"x": {"u": 1, "v": 2, "w": 3}, "y": "a"}, {"x": [1], "y": "c"}):
        with pytest.raises(DataError, match="more than"):
            learn(service, [example])
    with pytest.raises(DataError, match="more than 5"):
        learn(service, [{"x": [1, 2], "y": "a"}] * 6)
    assert learn(service, [{"x": [1, 2], "y": "a"}])[0]["number"] == 3
    service.close()


# ---------------------------------------------------------------------------------------------------------------
# Disks that fail


def test_a_torn_tail_is_cut_back_to_what_was_committed(tmp_path):
    X, y = rows_of(60, 3, 2)
    service = Service(tmp_path / "whole")
    for i in range(0, 60, 5):
        rows = zip(X[i : i + 5].tolist(), y[i : i + 5].tolist(), strict=True)
        learn(service, [{"x": x, "y": label} for x, label in rows])
    wal = (tmp_path / "whole" / f"{LOG}-wal").read_bytes()
    generator, seen = np.random.default_rng(0), set()
    for cut in [len(wal), len(wal) - 1, *generator.integers(len(wal) // 2, len(wal), 10).tolist()]:
        folder = tmp_path / f"cut{cut}"
        shutil.copytree(tmp_path / "whole", folder, ignore=shutil.ignore_patterns("*-shm", "snapshot*"))
        (folder / f"{LOG}-wal").write_bytes(wal[:cut] + b"\0" * (0 if cut == len(wal) else 7))
        again = Service(folder)
        n = again.number
        assert n % 5 == 0
        assert bool(again.notes) == (cut != len(wal))
        assert all("cut back to example" in note for note in again.notes)
        again.close()
        if n:
            assert np.array_equal(linsep.read(folder).to_arrays()[0], X[:n])
        assert replay(folder, check=True).problems == []
        seen.add(n)
    service.close()
    assert max(seen) == 60
    assert len(seen) > 2


def test_a_second_instance_is_refused(tmp_path):
    service = Service(tmp_path)
    with pytest.raises(ValueError, match="another linsep serve"):
        Service(tmp_path)
    service.close()
    Service(tmp_path).close()


def test_a_damaged_log_is_found(tmp_path):
    service = Service(tmp_path)
    learn(service, [{"x": [1, 0], "y": "a"}, {"x": [0, 1], "y": "b"}])
    service.close()
    with sqlite3.connect(tmp_path / LOG) as log:
        (body,) = log.execute("SELECT body FROM batches").fetchone()
        log.execute("UPDATE batches SET body = ?", (body[:30] + b"\x01" + body[31:],))
    log.close()
    with pytest.raises(ValueError, match="checksum"):
        replay(tmp_path)
    with sqlite3.connect(tmp_path / LOG) as log:
        log.execute("UPDATE batches SET body = ?", (body,))
        log.execute("UPDATE batches SET answers = ?", (np.array([7, 7], np.int32).tobytes(),))
    log.close()
    assert replay(tmp_path, check=True).problems == ["the answer to example 1 is not the one that the log gives"]


def test_nothing_depends_on_a_snapshot(tmp_path):
    X, y = rows_of(40, 3, 2)
    service = Service(tmp_path)
    for start in (0, 20):
        in_pieces(service, X[start : start + 20], y[start : start + 20])
        service.snapshot()
    plane, stats = service.predictor.plane, service.stats()
    service.close()
    for snapshot in ("snapshot-40.linsep", "snapshot-20.linsep"):
        (tmp_path / snapshot).write_bytes(b"torn")
        service = Service(tmp_path)
        assert any(snapshot in note for note in service.notes)
        assert service.predictor.plane == plane
        assert service.stats() == stats | {"snapshot": service.snapshot_number}
        service.store.close()


def test_examples_that_would_overflow_the_weights_are_refused(tmp_path):
    service = Service(tmp_path, Perceptron(shuffle=False, eta0=1e300), ["a", "b"])
    requests = []
    for value in (1.0, -1e50, 2.0):
        body = json.dumps({"x": [value], "y": "a"}).encode()
        requests.append(services.Request(parse_body(body, JSON, {}, service.limits, service.columns, labeled=True)))
    answers = service.learn(requests)
    assert [isinstance(each, Refused) for each in answers] == [False, True, False]
    assert isinstance(service.learn(requests[1:2])[0], Refused)
    assert "overflow" in str(answers[1])
    assert (service.number, service.stats()["examples"], service.export(str(tmp_path / "model.linsep"))) == (2, 2, 2)
    service.close()
    assert replay(tmp_path, check=True).problems == []


# ---------------------------------------------------------------------------------------------------------------
# Folders


def test_it_goes_on_from_a_saved_model_with_its_columns(tmp_path, run):
    (tmp_path / "train.csv").write_text("size,color,kind\n1,red,a\n3,blue,b\n2,red,a\n4,blue,b\n")
    assert run("fit", tmp_path / "train.csv", "--model", tmp_path / "m.linsep", "--quiet")[0] == 0
    before = linsep.load(tmp_path / "m.linsep")
    service = Service(tmp_path / "learner", load_plain(tmp_path / "m.linsep"))
    assert service.predictor.plane.W.tolist() == before.coef_.tolist()
    (answer,) = learn(service, [{"x": {"color": "green", "size": 2}, "y": "b"}])
    assert answer["predicted"] in ("a", "b")
    service.export(str(tmp_path / "more.linsep"))
    service.close()
    after = linsep.load(tmp_path / "more.linsep")
    assert after.feature_names_in_.tolist() == ["size", "color=red", "color=blue", "color=green"]
    (tmp_path / "new.csv").write_text("color,size\nred,1\nblue,4\n")
    code, out, _ = run("predict", tmp_path / "more.linsep", tmp_path / "new.csv")
    assert (code, out.split()) == (0, ["label", "a", "b"])
    assert replay(tmp_path / "learner", check=True).problems == []
    Service(tmp_path / "learner", load_plain(tmp_path / "m.linsep")).close()  # the same command again
    with pytest.raises(ValueError, match="has a learner already"):
        Service(tmp_path / "learner", Perceptron(shuffle=False))


@pytest.mark.parametrize("head", ["size,weight,age,kind\n", ""])
def test_a_list_means_the_columns_of_the_model_in_their_order(head, tmp_path, run):
    X, y = rows_of(60, 3, 3)
    names = ["size", "weight", "age"] if head else ["0", "1", "2"]
    rows, labels = X.tolist(), y.tolist()
    lines = [",".join([*map(str, x), label]) for x, label in zip(rows[:30], labels[:30], strict=True)]
    (tmp_path / "train.csv").write_text(head + "\n".join(lines) + "\n")
    run("fit", tmp_path / "train.csv", "--model", tmp_path / "m.linsep", "--quiet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these rows have no names
        wanted = linsep.load(tmp_path / "m.linsep").predict(X[30:]).tolist()
    planes = []
    for kind in ("lists", "objects", "libsvm", "objects after a restart"):
        service = Service(tmp_path / kind.partition(" ")[0] / kind, load_plain(tmp_path / "m.linsep"))
        given = rows[30:] if kind == "lists" else [dict(zip(names, row, strict=True)) for row in rows[30:]]
        assert service.predictor.predict(service.predictor.scores(services.encode(given, service.columns))) == wanted
        for k, (x, label) in enumerate(zip(given, labels[30:], strict=True)):
            if kind == "libsvm":
                written = " ".join(f"{j}:{value!r}" for j, value in enumerate(rows[30 + k], 1))
                learn(service, f"{label} {written}\n".encode(), kind=LIBSVM)
                continue
            if k == 15 and kind.endswith("restart"):
                service.close()
                service = Service(service.store.folder)
            learn(service, [{"x": x if k < 15 or kind == "objects" else rows[30 + k], "y": label}])
        assert service.stats()["features"] == 3
        planes.append(service.predictor.plane)
        service.export(str(tmp_path / "more.linsep"))
        service.close()
        assert linsep.load(tmp_path / "more.linsep").n_features_in_ == 3
        assert replay(service.store.folder, check=True).problems == []
    assert all(plane == planes[0] for plane in planes)
    assert [each for each in ("lists", "objects") if linsep.read(tmp_path / each / each).names != names] == []


@pytest.mark.parametrize(
    ("table", "body", "kind", "words"),
    [
        ("a,b,y\n1,2,u\n3,0,v\n", b'{"x": [1], "y": "u"}', JSON, "length 1, but the model has 2 columns"),
        ("a,b,y\n1,2,u\n3,0,v\n", b'{"x": [1, 2, 3], "y": "u"}', JSON, "length 3, but the model has 2 columns"),
        ("a,b,y\n1,2,u\n3,0,v\n", b'[{"x": {"a": 1}, "y": "u"}, {"x": [1], "y": "u"}]', JSON, "example 2"),
        ("a,b,y\n1,2,u\n3,0,v\n", b"u 1:1 3:2\n", LIBSVM, "length 3, but the model has 2 columns"),
        ("a,b,y\n1,red,u\n3,blue,v\n", b'{"x": [1, 0, 1], "y": "u"}', JSON, "send objects with names"),
    ],
)
def test_a_list_that_cannot_mean_the_columns_of_the_model_is_refused(table, body, kind, words, tmp_path, run):
    (tmp_path / "train.csv").write_text(table)
    assert run("fit", tmp_path / "train.csv", "--model", tmp_path / "m.linsep", "--quiet")[0] == 0
    service = Service(tmp_path / "learner", load_plain(tmp_path / "m.linsep"))
    features = service.stats()["features"]
    parsed = parse_body(body, kind, {}, service.limits, service.columns, labeled=True)
    with pytest.raises(DataError, match=words):
        services.encode(parsed.x, service.columns)
    with pytest.raises(DataError, match=words):
        learn(service, body, kind=kind)
    assert (service.number, service.stats()["features"]) == (0, features)
    service.close()


def test_old_examples_are_dropped_up_to_a_snapshot(tmp_path):
    X, y = rows_of(90, 3, 2)
    service = Service(tmp_path, keep_days=1.0)
    for start in range(0, 90, 30):
        in_pieces(service, X[start : start + 30], y[start : start + 30])
        service.snapshot()
        service.store.log.execute("UPDATE batches SET time = time - 86400")
        service.store.log.execute("UPDATE snapshots SET time = time - 86400")
    in_pieces(service, X[:5], y[:5])
    service.snapshot()
    first = service.store.first
    plane = service.predictor.plane
    service.close()
    assert first == 91
    assert len(linsep.read(tmp_path).to_arrays()[1]) == 95 - first + 1
    found = replay(tmp_path, check=True)
    assert (found.problems, found.learner.number, found.compared) == ([], 95, 95)
    service = Service(tmp_path)
    assert service.predictor.plane == plane
    assert learn(service, [{"x": [1, 2, 3], "y": "a"}])[0]["number"] == 96
    service.close()


def test_commands(tmp_path, run):
    X, y = rows_of(50, 3, 2)
    service = Service(tmp_path / "learner")
    in_pieces(service, X, y)
    service.close()
    code, out, _ = run("replay", tmp_path / "learner", "--json", "--model", tmp_path / "m.linsep")
    facts = json.loads(out)
    assert (code, facts["examples"], facts["snapshot"], facts["same"]) == (0, 50, 50, True)
    code, out, _ = run("replay", tmp_path / "learner", "--until", "20", "--model", tmp_path / "m20.linsep")
    assert code == 0
    early = linsep.Perceptron(shuffle=False, max_iter=1)
    for x, label in zip(X[:20], y[:20], strict=True):
        early.partial_fit(x[None], [label])
    assert np.array_equal(linsep.load(tmp_path / "m20.linsep").coef_, early.coef_)
    assert run("replay", tmp_path / "learner", "--until", "51")[0] == 2
    code, out, _ = run("serve", "--check", tmp_path / "learner")
    assert (code, "everything fits together" in out) == (0, True)
    how = (
        "--no-shuffle",
        "--max-iter",
        "1",
        "--keep",
        "last",
        "--scale",
        "none",
        "--model",
        tmp_path / "f.linsep",
        "--quiet",
    )
    assert run("fit", tmp_path / "learner", *how)[0] == 0
    served, fitted = (linsep.load(tmp_path / name) for name in ("m.linsep", "f.linsep"))
    assert np.array_equal(served.coef_, fitted.coef_)
    snapshot = tmp_path / "learner" / "snapshot-50.linsep"
    shutil.copy(tmp_path / "m20.linsep", snapshot)
    assert run("replay", tmp_path / "learner")[0] == 1
    assert run("serve", "--check", tmp_path / "learner")[0] == 1
    os.remove(snapshot)
    assert run("serve")[0] == 2
    assert run("replay", tmp_path)[0] == 2
