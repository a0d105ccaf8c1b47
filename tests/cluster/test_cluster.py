"""Training, predicting and deciding on a Dask cluster, with workers that die at any moment."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from fractions import Fraction

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from benchmarks import mixing
from distributed import Client, LocalCluster
from distributed.core import Status
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import ConvergenceWarning

import linsep
from data import few
from linsep import Perceptron, cluster, fit_source, read, teacher
from linsep.cli import main
from linsep.cluster import cut
from linsep.cluster.workers import ClusterError, ShardPool
from linsep.data.arrays import is_sparse
from linsep.errors import DataNote, ReadError

pytestmark = [
    pytest.mark.filterwarnings("ignore:the cluster is stalled"),  # as workers are killed
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@contextmanager
def started(**how):
    how |= {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "silence_logs": 50}
    few = dask.config.set({"distributed.scheduler.allowed-failures": 2})  # so that tasks are given up
    with few, LocalCluster(n_workers=2, **how) as local, Client(local, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="module")
def client():
    with started() as connected:
        yield connected


@pytest.fixture
def mortal():
    """Make a cluster whose workers may be killed: one that dies while it starts is not started again."""
    with started() as connected:
        yield connected


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cluster")


def rows(n=600, d=5, classes=2, seed=0, noise=0.0):
    """Return whole numbers, of which all sums are exact, and labels of random planes, none of them close."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (4 * n, d)).astype(float)
    S = X @ rng.normal(size=(d, classes)) + noise * rng.normal(size=(4 * n, classes))
    clear = np.diff(np.sort(S, axis=1)[:, -2:], axis=1)[:, 0] > 2
    return X[clear][:n], S.argmax(axis=1)[clear][:n]


def saved(folder, X, y, name="data.npy"):
    path = str(folder / name)
    np.save(path, np.column_stack((X, y)))
    return path


def shard_bytes(path, parts):
    return -(-os.path.getsize(path) // parts)


def same(one, other):
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(one.intercept_, other.intercept_)
    assert np.array_equal(one.classes_, other.classes_)
    assert one.stop_reason_ == other.stop_reason_
    assert np.array_equal(one.history_["mistakes"], other.history_["mistakes"])
    assert np.array_equal(one.history_["loss"], other.history_["loss"])
    assert (one.margin_, one.radius_, one.training_errors_) == (other.margin_, other.radius_, other.training_errors_)


# ---------------------------------------------------------------------------------------------------------------
# Shards


@pytest.mark.parametrize("form", ["csv", "jsonl", "svm", "npy", "parquet", "arrow", "several"])
@pytest.mark.parametrize("parts", [1, 3, 7])
def test_shards_together_are_the_source(folder, form, parts):
    X, y = rows(n=200)
    path = str(folder / f"shards.{form}")
    if form == "csv":
        np.savetxt(path, np.column_stack((X, y)), delimiter=",", header="a,b,c,d,e,y", comments="", fmt="%d")
    elif form == "jsonl":
        lines = [
            json.dumps(dict(zip("abcdey", [*row, label], strict=True)))
            for row, label in zip(X.tolist(), y.tolist(), strict=True)
        ]
        (folder / "shards.jsonl").write_text("\n".join(lines) + "\n")
    elif form == "svm":
        dump_svmlight_file(X, y, path, zero_based=False)
    elif form == "npy":
        np.save(path, np.column_stack((X, y)))
    elif form == "several":
        path = [saved(folder, X[k::4], y[k::4], f"several{k}.npy") for k in range(4)]
    else:
        table = pa.table({f"c{j}": column for j, column in enumerate([*X.T, y])})
        if form == "parquet":
            pq.write_table(table, path, row_group_size=20)
        else:
            with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table, max_chunksize=20)
    whole = read(path)
    size = (
        sum(pq.ParquetFile(path).metadata.row_group(k).total_byte_size for k in range(10))
        if form == "parquet"
        else whole.size
    )
    source, shards = cut(whole, -(-size // parts) + 1)
    assert len(shards) == parts if form in ("csv", "jsonl", "svm", "npy") else 1 <= len(shards) <= 10
    assert [shard.number for shard in shards] == list(range(len(shards)))
    found = []
    for shard in shards:
        found += list(pickle.loads(pickle.dumps(shard)).read(pickle.loads(pickle.dumps(source))))
    expected, labels = whole.to_arrays()
    width = expected.shape[1]
    got = np.concatenate([(b.X.toarray() if is_sparse(b.X) else b.X)[:, :width] for b in found])
    assert np.array_equal(got, expected.toarray() if sp.issparse(expected) else expected)
    assert np.array_equal(np.concatenate([b.y for b in found]), labels)


def test_a_cut_spares_newlines_between_quotes(folder):
    path = str(folder / "quoted.csv")
    with open(path, "w") as file:
        file.write("words,y\n")
        for i in range(200):
            file.write(f'"first {i}\nsecond, ""third""\n{"x" * (i % 7)}",{i % 2}\n')
    whole = read(path, text="words")
    expected, labels = whole.to_arrays()
    most = 0
    for parts in range(2, 12):
        source, shards = cut(whole, shard_bytes(path, parts))
        found = [block for shard in shards for block in shard.read(source)]
        assert (sp.vstack([block.X for block in found]) != expected).nnz == 0
        assert np.concatenate([block.y for block in found]).tolist() == labels.tolist()
        most = max(most, len(shards))
    assert most > 1


def test_what_cannot_be_cut(folder):
    import gzip
    import io

    with gzip.open(folder / "a.svm.gz", "wt") as file:
        file.write("1 1:1\n-1 2:1\n" * 1000)
    assert len(cut(read(str(folder / "a.svm.gz")), 10)[1]) == 1
    with pytest.raises(ValueError, match="files that all workers can open"):
        cut(read(io.BytesIO(b"1 1:1\n"), format="libsvm"), 10)
    with pytest.raises(ValueError, match="shard_bytes must be positive"):
        cut(read(str(folder / "a.svm.gz")), 0)


# ---------------------------------------------------------------------------------------------------------------
# Mixing


def plain_mixing(X, y, shards, fit_intercept, max_iter):
    """Iterative parameter mixing with exact numbers: cyclic passes, shares by mistakes; also the exact average."""
    Z = [[*map(int, x), int(fit_intercept)] for x in X]
    signs = [1 if c else -1 for c in y]
    w = [Fraction(0)] * len(Z[0])
    total, looked, bound, history = [Fraction(0)] * len(w), 0, Fraction(0), []
    for _ in range(max_iter):
        ends, counts = [], []
        for part in shards:
            v, k = list(w), 0
            for i in part:
                if signs[i] * sum(a * b for a, b in zip(v, Z[i], strict=True)) <= 0:
                    v, k = [a + signs[i] * b for a, b in zip(v, Z[i], strict=True)], k + 1
                total = [a + b for a, b in zip(total, v, strict=True)]
                looked += 1
            ends.append(v)
            counts.append(k)
        history.append(counts)
        K = sum(counts)
        if K == 0:
            break
        w = [sum(Fraction(k, K) * v[j] for k, v in zip(counts, ends, strict=True)) for j in range(len(w))]
        bound += sum(Fraction(k * k, K) for k in counts)
    return w, [a / looked for a in total], history, bound


@pytest.mark.parametrize("keep", ["last", "average"])
@pytest.mark.parametrize("fit_intercept", few([True, False], 1))
def test_mixing_is_that_of_the_paper(client, folder, keep, fit_intercept):
    X, y = rows(n=90, d=3, noise=4.0)
    path = saved(folder, X, y, "paper.npy")
    model = Perceptron(shuffle=False, keep=keep, max_iter=4, fit_intercept=fit_intercept)
    cluster.fit(model, read(path), client, shard_bytes=shard_bytes(path, 3))
    parts = [range(30), range(30, 60), range(60, 90)]
    last, mean, history, bound = plain_mixing(X, y, parts, fit_intercept, 4)
    w = last if keep == "last" else mean
    expected = np.array([float(value) for value in w])
    np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_[0]), expected, rtol=1e-12, atol=1e-12)
    assert model.mixing_["mistakes"].tolist() == history
    assert model.mixing_["weighted"] == pytest.approx(float(bound), rel=1e-14)
    assert model.mistakes_ == sum(map(sum, history))
    assert model.stop_reason_ == "max_iter"


@pytest.mark.parametrize("classes", [2, 3])
def test_the_simulation_of_shards_is_what_a_cluster_does(client, folder, classes):
    X, y = rows(n=300, classes=classes, noise=2.0)
    path = saved(folder, X / 7, y, "simulated.npy")
    model = cluster.fit(Perceptron(keep="average", max_iter=5), read(path), client, shard_bytes=shard_bytes(path, 3))
    here = mixing.fitted(Perceptron(keep="average", max_iter=5), *read(path).to_arrays(), 3)
    assert np.array_equal(here.coef_, model.coef_)
    assert np.array_equal(here.mixing_["mistakes"], model.mixing_["mistakes"])


@pytest.mark.parametrize(("keep", "classes", "shuffle"), [("average", 2, False), ("last", 4, True)])
def test_one_shard_is_the_ordinary_run(client, folder, keep, classes, shuffle):
    X, y = rows(classes=classes, noise=2.0)
    path = saved(folder, X / 7, y, "one.npy")
    kind = {"keep": keep, "shuffle": shuffle, "max_iter": 6}
    there = cluster.fit(Perceptron(**kind), read(path, block_bytes=3000), client)
    here = fit_source(Perceptron(**kind), read(path, block_bytes=3000))
    same(there, here)
    assert np.array_equal(there.trace_, here.trace_)
    if not shuffle:
        same(there, Perceptron(**kind).fit(*read(path).to_arrays()))
    there.partial_fit(X / 7, y)
    here.partial_fit(X / 7, y)
    assert np.array_equal(there.coef_, here.coef_)


@pytest.mark.parametrize(("max_iter", "noise", "stop"), [(6, 2.0, "max_iter"), (50, 9.0, "not_separable")])
def test_warns_as_a_run_of_one_machine_of_what_to_do_next(client, folder, max_iter, noise, stop):
    X, y = rows(n=300, noise=noise)
    path, kind = saved(folder, X / 7, y, "next.npy"), {"shuffle": False, "max_iter": max_iter}
    with pytest.warns(ConvergenceWarning) as here:
        Perceptron(**kind).fit(*read(path).to_arrays())
    for parts in (1, 3):
        with pytest.warns(ConvergenceWarning) as there:
            model = cluster.fit(Perceptron(**kind), read(path), client, shard_bytes=shard_bytes(path, parts))
        assert model.stop_reason_ == stop
        assert [there[0].filename, len(there)] == [__file__, 1]
        said, expected = (str(notes[0].message) for notes in (there, here))
        assert parts > 1 or said == expected
        assert re.sub(r"\d+", "", said) == re.sub(r"\d+", "", expected)  # other weights, other counts


@pytest.mark.parametrize(
    "how",
    [
        {"scale": "standard"},
        {"scale": "unit"},
        {"max_updates": 37},
        {"tol": 0.5, "n_iter_no_change": 2},
        {"early_stopping": True, "n_iter_no_change": 2, "keep": "average"},
        {"target_margin": 30.0},
        {"multi_class": "ovr", "class_weight": "balanced"},
        {"update_margin": 3.0, "eta0": 0.3},
    ],
    ids=str,
)
def test_one_shard_with_every_rule(client, folder, how):
    classes = 3 if "multi_class" in how else 2
    X, y = rows(n=300, noise=2.0, classes=classes)
    path = saved(folder, X / 3, y, "rules.npy")
    scale = how.pop("scale", "none") if "scale" in how else "none"
    there = cluster.fit(Perceptron(max_iter=5, **how), read(path), client, scale=scale)
    here = fit_source(Perceptron(max_iter=5, **how), read(path), scale=scale)
    same(there, here)
    if scale != "none":
        how["scale"] = scale


@pytest.mark.parametrize(("fit_intercept", "scale", "keep"), [(False, "standard", "last"), (True, "auto", "auto")])
def test_standard_scaling_beside_words_on_one_shard(client, folder, fit_intercept, scale, keep):
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 80)
    lines = [f"{4000 + 300 * c + rng.integers(-99, 99)},{rng.choice(['u', 'v'])},{c}\n" for c in y]
    path = folder / "scaled.csv"
    path.write_text("mass,island,label\n" + "".join(lines))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [Perceptron(fit_intercept=fit_intercept, max_iter=20, keep=keep) for _ in range(2)]
        there = cluster.fit(models[0], read(path), client, scale=scale)
        here = fit_source(models[1], read(path), scale=scale)
    same(there, here)
    assert here.scaling_["kind"] == there.scaling_["kind"] == "standard"
    assert (here.training_errors_ == 0) == fit_intercept


def test_libsvm_and_words_on_shards(client, folder):
    rng = np.random.default_rng(0)
    sparse = sp.random_array((300, 400), density=0.02, rng=rng, format="csr")
    y = (sparse @ rng.normal(size=400) > 0).astype(int)
    path = str(folder / "one.svm")
    dump_svmlight_file(sparse, y, path, zero_based=False)
    source = read(path)
    there = cluster.fit(Perceptron(max_iter=100), source, client, shard_bytes=shard_bytes(path, 4))
    assert there.coef_.shape == (1, 400)
    assert (there.stop_reason_, there.training_errors_) == ("separated", 0)
    assert linsep.separator(there, sparse, y) is not None
    words = str(folder / "words.csv")
    with open(words, "w") as file:
        file.write("town,y\n" + "".join(f"{'Ulm' if c else 'Bonn'},{'yes' if c else 'no'}\n" for c in y))
    source = read(words, hash_bits=6, positive="no")
    there = cluster.fit(Perceptron(), source, client, shard_bytes=shard_bytes(words, 3))
    assert there.classes_.tolist() == ["yes", "no"]


def test_words_that_appear_in_one_shard_only_have_the_columns_of_one_machine(client, folder):
    towns = ["Ulm"] * 40 + ["Bonn", "Rom"] * 20 + ["Ulm", "Jena"] * 20
    cells = [(i % 7 - 3, towns[i]) for i in range(len(towns))]
    lines = [f"{x},{town},{'yes' if (x > 0) ^ (town == 'Rom') else 'no'}" for x, town in cells]
    path = folder / "towns.csv"
    path.write_text("x,town,class\n" + "\n".join(lines) + "\n")
    source = read(path)
    model = cluster.fit(Perceptron(shuffle=False, max_iter=3), source, client, shard_bytes=400)
    assert model.feature_names_in_.tolist() == ["x", "town=Ulm", "town=Bonn", "town=Rom", "town=Jena"]
    whole = read(path)
    whole.to_arrays()
    assert whole.names == source.names
    late = folder / "late.csv"
    late.write_text("c,z,class\n" + "4,1,a\n6,2,b\n" * 1000 + "rotary,1,a\n")
    source = read(late)
    with pytest.warns(
        DataNote, match="late.csv:2002: linsep reads column 'c' as words, because 'rotary' is not a number"
    ):
        model = cluster.fit(Perceptron(shuffle=False, max_iter=3), source, client, shard_bytes=3000)
    assert model.feature_names_in_.tolist() == ["z", "c=4", "c=6", "c=rotary"]


def test_separable_data_end_separated_within_the_bound(client, folder):
    for seed in range(3):
        X, y, _ = teacher(400, 4, margin=0.05, radius=1.0, offset=0.0, random_state=seed)
        path = saved(folder, X, y > 0, "teacher.npy")
        model = Perceptron(fit_intercept=False, random_state=seed)
        cluster.fit(model, read(path), client, shard_bytes=shard_bytes(path, 4))
        assert model.stop_reason_ == "separated"
        assert linsep.separator(model, X, (y > 0).astype(float)) is not None
        told = model.mixing_
        assert told["mistakes"].shape == (model.n_iter_, 4)
        assert told["mistakes"].sum() == model.mistakes_
        best = linsep.largest_margin(X, y, form="origin")
        assert told["weighted"] <= (model.radius_ / best.lower) ** 2
        assert best.lower <= told["margin_upper"]
        assert model.margin_ <= told["margin_upper"]


def test_many_classes_and_relatives_separate(client, folder):
    X, y = rows(n=400, d=4, classes=3)
    path = saved(folder, X, y, "three.npy")
    model = cluster.fit(Perceptron(), read(path), client, shard_bytes=shard_bytes(path, 3))
    assert model.stop_reason_ == "separated"
    assert linsep.separator(model, X, y) is not None
    relative = linsep.PassiveAggressive(max_iter=5)
    cluster.fit(relative, read(path), client, shard_bytes=shard_bytes(path, 3))
    assert relative.score(X, y) > 0.9
    assert "no such bound" in relative.mixing_["holds"]
    assert relative.mixing_["margin_upper"] == np.inf


def test_a_target_margin_is_refuted(client, folder):
    X, y = rows(n=300, noise=9.0)
    path = saved(folder, X, y, "refuted.npy")
    model = cluster.fit(Perceptron(target_margin=1.0), read(path), client, shard_bytes=shard_bytes(path, 3))
    assert model.stop_reason_ == "margin_refuted"
    squared = np.square(X).sum(axis=1).max() + 1
    assert model.mixing_["weighted"] > squared / 1.0**2


# ---------------------------------------------------------------------------------------------------------------
# The same bits, whoever works and whoever dies


class Killer:
    """Kills a worker at certain calls: the same one again and again, or one after the other."""

    def __init__(self, local, moments, repeatedly):
        self.local, self.moments, self.repeatedly = local, set(moments), repeatedly
        self.calls, self.kills = 0, 0

    def __call__(self, *_):
        if self.calls in self.moments:
            name = 0 if self.repeatedly else self.kills % 2
            nanny = self.local.workers[name]
            while nanny.process is None or nanny.process.status is not Status.running:
                time.sleep(0.05)  # a worker that dies before it has started is not started again
            os.kill(nanny.process.pid, signal.SIGKILL)
            self.kills += 1
        self.calls += 1


@pytest.fixture(scope="module")
def undisturbed(client, folder):
    X, y = rows(n=3000, d=8, classes=3, noise=1.0, seed=5)
    path = saved(folder, X / 3, y, "bits.npy")
    model = Perceptron(keep="average", max_iter=12)
    return path, cluster.fit(model, read(path), client, shard_bytes=shard_bytes(path, 5))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_workers_does_not_show(undisturbed, workers):
    path, expected = undisturbed
    with cluster.connect("local", workers) as client:
        model = Perceptron(keep="average", max_iter=12)
        same(cluster.fit(model, read(path), client, shard_bytes=shard_bytes(path, 5)), expected)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "repeatedly"), [(0, False), (1, False), (2, True)])
def test_dead_workers_do_not_show(mortal, undisturbed, seed, repeatedly):
    path, expected = undisturbed
    moments = np.random.default_rng(seed).choice(55, 4, replace=False).tolist()
    killer = Killer(mortal.cluster, moments, repeatedly)
    model = Perceptron(keep="average", max_iter=12)
    same(cluster.fit(model, read(path), mortal, shard_bytes=shard_bytes(path, 5), watch=killer), expected)
    assert killer.kills >= 2


@pytest.mark.slow
def test_a_shard_at_which_workers_die_again_and_again_is_named(mortal, folder):
    path = saved(folder, *rows(), "again.npy")
    mark = str(folder / "deaths")
    assert list(ShardPool(mortal, read(path), 10**9).ask(die_at_first, (mark, 2))) == ["alive"]
    with pytest.raises(ClusterError, match=r"several workers died|lost all its workers"):
        list(ShardPool(mortal, read(path), 10**9).ask(die_at_first, (mark, 10**6)))


def die_at_first(_, task):
    mark, times = task
    with open(mark, "a+") as file:
        file.seek(0)
        if len(file.read()) >= times:
            return "alive"
        file.write("x")
    time.sleep(1)  # a worker that dies before its nanny knows that it has started is not started again
    return os.kill(os.getpid(), signal.SIGKILL)


def refuted(model, X, y):
    """Return the rows of a refutation and their multipliers, after a look at it by two checks."""
    assert model.stop_reason_ == "not_separable"
    found = model.refutation_
    assert found.check(X, y)
    assert found.check(X, y, plain=True)
    assert not found.check(X, np.roll(y, 1))  # with other labels it proves nothing
    return found.rows.tolist(), found.multipliers, found.rivals.tolist()


@pytest.mark.parametrize("how", few([{}, {"multi_class": "ovr"}, {"keep": "average"}], 1), ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_what_no_plane_separates_is_proved_by_rows_of_the_whole_source(client, folder, classes, how):
    """Only the last shard has rows that contradict each other, so its rows must have their numbers among all."""
    X, y = rows(n=400, classes=classes, seed=3)
    y[X.shape[0] - 60 :] = np.arange(60) % classes
    path = saved(folder, X, y, "inseparable.npy")
    found = []
    for parts in (1, 4):
        model = cluster.fit(Perceptron(**how), read(path), client, shard_bytes=shard_bytes(path, parts))
        found.append(refuted(model, X, y))
        assert max(found[-1][0]) >= 340
    one = fit_source(Perceptron(shuffle=False, **how), read(path))
    alone = cluster.fit(Perceptron(shuffle=False, **how), read(path), client, shard_bytes=shard_bytes(path, 1))
    same(one, alone)
    assert refuted(one, X, y) == refuted(alone, X, y)


@pytest.mark.slow
def test_a_search_for_a_proof_leaves_separable_runs_as_they_are(client, folder):
    """They end with the bits of the plain algorithm, also where the run has looked for a proof."""
    X, y, _ = teacher(300, 4, margin=0.001, random_state=2)
    path = saved(folder, X, y, "narrow.npy")
    for parts, stop in ((1, "separated"), (3, "max_iter")):  # three shards take more rounds
        how = {"shuffle": False, "max_iter": 170}
        plain, model = (
            cluster.fit(Perceptron(prove=prove, **how), read(path), client, shard_bytes=shard_bytes(path, parts))
            for prove in (False, True)
        )
        assert plain.stop_reason_ == stop
        same(plain, model)
        assert model.refutation_ is None
        assert model.history_["proof_work"].any()
        assert not plain.history_["proof_work"].any()


@pytest.mark.slow
def test_a_proof_with_dead_workers(mortal, client, folder):
    """One worker dies as the tenth round ends: its shards are read anew for the search."""
    X, y = rows(n=600, noise=9.0, seed=4)
    path = saved(folder, X, y, "mortal.npy")
    expected = cluster.fit(Perceptron(), read(path), client, shard_bytes=shard_bytes(path, 4))
    killer = Killer(mortal.cluster, [39], repeatedly=False)
    model = cluster.fit(Perceptron(), read(path), mortal, shard_bytes=shard_bytes(path, 4), watch=killer)
    assert killer.kills == 1
    same(model, expected)
    assert refuted(model, X, y) == refuted(expected, X, y)
    assert np.array_equal(model.history_["proof_work"], expected.history_["proof_work"])


DRIVER = """
import os, signal, sys
from distributed import Client
from linsep import Perceptron, cluster, read

path, size, address, saved = sys.argv[1:]
def watch(number, *_):
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
with Client(address, set_as_default=False) as client:
    model = Perceptron(keep="average", max_iter=12)
    cluster.fit(model, read(path), client, shard_bytes=int(size), checkpoint=saved, every=0, watch=watch)
"""


@pytest.mark.slow
def test_a_killed_driver_is_gone_on_with(client, undisturbed, folder):
    path, expected = undisturbed
    saved_as, size = str(folder / "driver.checkpoint"), shard_bytes(path, 5)
    command = [sys.executable, "-c", DRIVER, path, str(size), client.scheduler.address, saved_as]
    assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode == -signal.SIGKILL
    model, rounds = Perceptron(keep="average", max_iter=12), []
    how = {"shard_bytes": size, "checkpoint": saved_as, "resume": True}
    cluster.fit(model, read(path), client, watch=lambda number, *_: rounds.append(number), **how)
    assert min(rounds) == 7
    same(model, expected)
    assert np.array_equal(model.mixing_["mistakes"], expected.mixing_["mistakes"])
    assert model.mixing_["weighted"] == expected.mixing_["weighted"]
    with pytest.raises(ValueError, match="another run: shards was"):
        cluster.fit(Perceptron(keep="average", max_iter=12), read(path), client, **{**how, "shard_bytes": 2 * size})
    with pytest.raises(ValueError, match="another run: it is in pass 12, but max_iter is 5"):
        cluster.fit(Perceptron(keep="average", max_iter=5), read(path), client, **how)
    more = cluster.fit(Perceptron(keep="average", max_iter=14), read(path), client, **how)
    same(more, cluster.fit(Perceptron(keep="average", max_iter=14), read(path), client, shard_bytes=size))
    with pytest.raises(ValueError, match="another run"):
        fit_source(Perceptron(keep="average", max_iter=14), read(path), checkpoint=saved_as, resume=True)


@pytest.mark.slow
def test_a_lost_scheduler_leaves_a_checkpoint(undisturbed, folder, caplog):
    path, expected = undisturbed
    saved_as, size = str(folder / "lost.checkpoint"), shard_bytes(path, 5)
    program = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    address_file = str(folder / "scheduler.json")
    scheduler = subprocess.Popen([*program, "--scheduler-file", address_file], stderr=subprocess.PIPE, text=True)
    for line in scheduler.stderr:
        if "Scheduler at:" in line:
            address = line.split()[-1]
            break
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"],
        stderr=subprocess.DEVNULL,
    )
    try:

        def watch(number, *_):
            if number == 5:
                scheduler.kill()

        how = {"shard_bytes": size, "checkpoint": saved_as, "every": 1e6}
        with cluster.connect(address) as client, pytest.raises(ClusterError) as caught:
            cluster.fit(Perceptron(keep="average", max_iter=12), read(path), client, watch=watch, **how)
        assert "connection to the scheduler" in str(caught.value)
        assert not [record for record in caplog.records if record.levelname == "ERROR"]  # one line is enough
        assert "5 rounds had been made; resume from" in str(caught.value)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
        scheduler.stderr.close()
    with cluster.connect("local", 2) as client:
        how = {"shard_bytes": size, "checkpoint": saved_as, "resume": True}
        same(cluster.fit(Perceptron(keep="average", max_iter=12), read(path), client, **how), expected)


def eat_at_first(mark):
    """Take more memory than a worker has, and keep it until somebody ends the process; a second time do nothing."""
    if not os.path.exists(mark):
        with open(mark, "w"):
            pass
        held = np.ones(1 << 27)
        threading.Event().wait(timeout=None if held.any() else 1)


def limit_memory():
    import resource  # not on every system

    _, most = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + (1 << 26), most))


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_workers_out_of_memory(undisturbed, folder):
    path, expected = undisturbed
    with started(memory_limit="900MB") as client:
        mark = str(folder / "eaten")
        eaten = []

        def watch(number, *_):
            if number == 3 and not eaten:
                where = {"workers": [min(client.nthreads())], "allow_other_workers": True}
                eaten.append(client.submit(eat_at_first, mark, priority=9, **where))

        before = set(client.nthreads())
        model = Perceptron(keep="average", max_iter=12)
        same(cluster.fit(model, read(path), client, shard_bytes=shard_bytes(path, 5), watch=watch), expected)
        assert eaten[0].result() is None
        assert os.path.exists(mark)
        assert set(client.nthreads()) != before  # the nanny has ended one, and started another
        large = str(folder / "large.npy")  # next to nothing on the disk, but not when it is read
        np.lib.format.open_memmap(large, "w+", np.float64, (1 << 20, 32))[::2, -1] = 1
        client.run(limit_memory)
        with pytest.raises(ClusterError, match=r"shard 0 \(.*large.npy\): not enough memory on a worker to read"):
            cluster.fit(Perceptron(max_iter=2), read(large), client, shard_bytes=1 << 30)


def test_a_file_that_changes_is_noticed_when_it_is_read_again(client, folder):
    """Not by its size, nor by samples: one cell differs."""
    path = saved(folder, *rows(n=40_000), "changes.npy")
    pool = ShardPool(client, read(path), shard_bytes(path, 3))
    digests = [raw.digest for raw in pool.ask(as_read)]
    assert list(pool.then(checked, digests, None).ask(as_read)) == [True] * 3
    np.load(path, mmap_mode="r+")[5000, 1] = 77
    pool.release()
    with pytest.raises(ReadError, match=r"shard 0 \(.*\): the file has changed since the run began"):
        list(pool.then(checked, digests, None).ask(as_read))


def test_a_file_that_has_changed_is_not_gone_on_with(client, folder):
    path, saved_as = saved(folder, *rows(n=40_000, noise=5.0), "changed.npy"), str(folder / "changed.checkpoint")
    how = {"shard_bytes": shard_bytes(path, 3), "checkpoint": saved_as, "every": 0}
    with pytest.raises(KeyboardInterrupt):
        cluster.fit(Perceptron(max_iter=5), read(path), client, watch=interrupt, **how)
    np.load(path, mmap_mode="r+")[5000, 1] = 77
    with pytest.raises(ValueError, match=r"shard 0 \(.*\): the file has changed since the checkpoint"):
        cluster.fit(Perceptron(max_iter=5), read(path), client, resume=True, **how)


def interrupt(number, *_):
    if number == 3:
        raise KeyboardInterrupt


def as_read(raw, _):
    return raw


def checked(raw, digest, _):
    raw.check(digest)
    return True


def test_a_seed_that_was_drawn_is_kept_in_the_checkpoint(client, folder):
    X, y = rows(n=300, noise=5.0)
    path, saved_as = saved(folder, X / 3, y, "drawn.npy"), str(folder / "drawn.checkpoint")
    how = {"shard_bytes": shard_bytes(path, 2), "checkpoint": saved_as, "every": 0}

    first = Perceptron(max_iter=6, random_state=np.random.RandomState(7))
    whole = cluster.fit(Perceptron(max_iter=6, random_state=np.random.RandomState(7)), read(path), client, **how)
    with pytest.raises(KeyboardInterrupt):
        cluster.fit(first, read(path), client, watch=interrupt, **how)
    same(cluster.fit(first, read(path), client, resume=True, **how), whole)  # which would draw another seed now


# ---------------------------------------------------------------------------------------------------------------
# Bad shards and bad wishes


def test_a_line_is_that_of_the_whole_file(client, folder):
    for name, good, bad in (("csv", "1,2,0\n2,1,1\n", "3,1\n"), ("svm", "1 1:1\n-1 2:1\n", "1 2:x\n")):
        path = str(folder / f"lines.{name}")
        with open(path, "w") as file:
            file.write(good * 200 + bad + good * 200)
        for work in (cluster.fit, cluster.score):
            model = Perceptron().fit(np.eye(2), [0, 1])
            with pytest.raises(ReadError, match=f"lines.{name}:401: "):
                work(model, read(path), client, shard_bytes=500)


def test_no_rows(client, folder):
    path = str(folder / "no_rows.csv")
    with open(path, "w") as file:
        file.write("a,y\n")
    model = Perceptron().fit([[0.0], [1.0]], [0, 1])
    for work in (
        lambda: cluster.fit(Perceptron(), read(path), client),
        lambda: cluster.separate(read(path), client),
        lambda: cluster.score(model, read(path), client),
        lambda: list(cluster.predict(model, read(path, labels=False, target="y"), client)),
    ):
        with pytest.raises(ReadError, match=r"no_rows.csv: no rows"):
            work()


def test_warnings_of_workers_are_repeated_here(client, folder):
    path = str(folder / "queries.svm")
    with open(path, "w") as file:
        file.write("1 qid:1 1:1\n-1 qid:2 2:1\n" * 9)
    for work in (lambda: cluster.fit(Perceptron(), read(path), client), lambda: cluster.separate(read(path), client)):
        with pytest.warns(UserWarning, match="query numbers"):
            work()


def test_a_cluster_with_another_linsep_is_refused(client, folder, monkeypatch):
    path = saved(folder, *rows(n=50), "versions.npy")
    found = client.get_versions(packages=["linsep"])
    for version, words in ((None, "does not have linsep"), ("0.0.1", "has linsep 0.0.1")):
        found["workers"][min(found["workers"])]["packages"]["linsep"] = version
        monkeypatch.setattr(client, "get_versions", lambda **_: found)
        with pytest.raises(ClusterError, match=f"the worker tcp://.* {words}: install linsep {linsep.__version__}"):
            cluster.fit(Perceptron(), read(path), client)


@pytest.mark.slow
def test_a_bad_shard_is_named(client, folder):
    X, y = rows(n=100)
    good = saved(folder, X, y, "good.npy")
    bad = str(folder / "bad.npy")
    for content, words in ((None, "no such file on"), (b"\x93NUMPY nonsense", "not an NPY file")):
        np.save(bad, np.column_stack((X, y)))
        source = read([good, bad])
        pool = ShardPool(client, source, 10)
        os.unlink(bad)
        if content is not None:
            with open(bad, "wb") as file:
                file.write(content)
        with pytest.raises(ValueError, match=f"bad.npy: {words}"):
            list(pool.ask(lambda raw, _: len(raw.blocks)))
    assert cluster.fit(Perceptron(max_iter=2), read(good), client).n_iter_ >= 1  # the cluster is as it was


def test_a_bad_cell_is_named_and_nothing_is_written(client, folder, capsys):
    path = str(folder / "cell.csv")
    with open(path, "w") as file:
        file.write("a,y\n" + "1,0\n2,1\n" * 100 + "word,1\n")
    out, saved_as = folder / "none.linsep", folder / "none.checkpoint"
    with pytest.raises(SystemExit) as exit_code:
        main(
            ["fit", path, "--numeric", "a", "--cluster", client.scheduler.address, "--shard-mb", "0.0003",
             "--model", str(out), "--checkpoint", str(saved_as), "--every", "0s"]
        )  # fmt: skip
    assert exit_code.value.code == 2
    message = capsys.readouterr().err
    assert "cell.csv:202, column 'a': 'word' is not a number" in message
    assert message.count("\n") == 1
    assert not out.exists()
    assert not saved_as.exists()


def test_bad_wishes(client, folder):
    path = saved(folder, *rows(n=50), "wishes.npy")
    for model, words in (
        (Perceptron(order="first"), "out of their order"),
        (Perceptron(keep="vote"), "keep must be"),
        (Perceptron(keep="best"), "keep must be"),
    ):
        with pytest.raises(ValueError, match=words):
            cluster.fit(model, read(path), client)
    with pytest.raises(ValueError, match="scale must be"):
        cluster.fit(Perceptron(), read(path), client, scale="some")
    one = saved(folder, np.ones((9, 2)), np.ones(9), "one_class.npy")
    with pytest.raises(ValueError, match="only one class"):
        cluster.fit(Perceptron(), read(one), client)
    with pytest.raises(ValueError, match="only one class"):
        cluster.separate(read(one), client)
    with pytest.raises(ValueError, match="no row has the label 7"):
        cluster.fit(Perceptron(), read(path, positive=7), client)
    with pytest.raises(ValueError, match="workers needs address 'local'"), cluster.connect("tcp://h:1", 2):
        pass
    huge = saved(folder, np.array([[1e300, 1e300], [-1e300, 1e300], [1e300, -1e300]] * 3), [0, 1, 1] * 3, "huge.npy")
    with pytest.raises(ValueError, match="overflowed to infinity"):
        cluster.fit(Perceptron(eta0=1e10), read(huge), client)


@pytest.mark.parametrize("classes", few([2, 3], 1))
def test_tol_watches_the_loss_of_the_mixed_weights(client, folder, classes):
    X, y = rows(n=300, classes=classes, noise=5.0)
    path = saved(folder, X, y, f"tol-{classes}.npy")
    own = {"tol": 1.0, "n_iter_no_change": 2, "shuffle": False, "prove": False}
    model = cluster.fit(Perceptron(**own), read(path), client, shard_bytes=shard_bytes(path, 3))
    assert model.stop_reason_ == "loss_plateau"
    assert model.history_["loss"][-1] == pytest.approx(model.loss(X, y))
    same(
        cluster.fit(Perceptron(**own), read(path), client, shard_bytes=os.path.getsize(path)),
        fit_source(Perceptron(**own), read(path)),
    )


def test_rows_on_the_plane_of_a_clean_round(client, folder):
    path = saved(folder, np.array([[0, 0], [1, 0], [-1, 0]] * 4), [-1, 1, -1] * 4, "on.npy")
    model = Perceptron(mistake="prediction", fit_intercept=False, shuffle=False)
    found = cluster.fit(model, read(path), client, shard_bytes=shard_bytes(path, 2))
    assert (found.stop_reason_, found.margin_, found.training_errors_) == ("no_mistakes", 0, 0)


# ---------------------------------------------------------------------------------------------------------------
# Predicting, and deciding


def test_predictions_are_those_of_one_machine(client, folder):
    X, y = rows(n=500, classes=3, noise=2.0)
    path = saved(folder, X, y, "predict.npy")
    model = Perceptron(tol=1e9, n_iter_no_change=2, keep="average").fit(X, y)
    source = read(path, labels=False, target=-1)
    parts = list(cluster.predict(model, source, client, methods=("predict", "decision_function"), shard_bytes=3000))
    assert np.array_equal(np.concatenate([labels for labels, _ in parts]), model.predict(X))
    assert np.array_equal(np.concatenate([scores for _, scores in parts]), model.decision_function(X))
    assert cluster.score(model, read(path), client, shard_bytes=3000) == model.score(X, y)
    with pytest.raises(ValueError, match="methods must be among"):
        next(cluster.predict(model, source, client, methods=("fit",)))


def hard_cases():
    rng = np.random.default_rng(1)
    X, y = rows(n=900, d=4)
    yield "separable", X, y
    yield "overlap", *rows(n=900, d=4, noise=3.0)
    on = X @ np.ones(4, int) == 0
    quasi = X @ np.ones(4, int) > 0
    quasi[on] = rng.integers(0, 2, on.sum())
    yield "quasi", X, quasi
    dependent = np.column_stack((X, X[:, 0] + X[:, 1]))
    yield "overlap", dependent, rng.integers(0, 2, 900)
    rare = np.zeros((900, 3), int)  # a single row, in the last shard, tells quasi from overlap
    rare[:, 0], rare[-1, 2] = rng.integers(-9, 10, 900), 1
    yield "quasi", rare, rng.integers(0, 2, 900)
    yield "separable", *rows(n=900, d=3, classes=3)
    yield "overlap", *rows(n=900, d=3, classes=3, noise=3.0)
    yield "separable", X * np.array([1, 1e-9, 1e9, 1]), y


@pytest.mark.parametrize("case", few(range(8), 4))
def test_the_verdict_is_that_of_one_machine(client, folder, case):
    kind, X, y = list(hard_cases())[case]
    path = saved(folder, X, y, f"verdict{case}.npy")
    X, y = read(path).to_arrays()
    for offset in (True, False):
        expected = linsep.separate(X, y, fit_intercept=offset)
        for parts in (1, 4):
            seen: list[tuple[int, int, int]] = []
            verdict = cluster.separate(
                read(path), client, fit_intercept=offset, shard_bytes=shard_bytes(path, parts),
                watch=lambda *told, seen=seen: seen.append(told),
            )  # fmt: skip
            assert verdict.kind == expected.kind
            assert linsep.verify(verdict, X, y)
            assert len(seen) <= 12
    assert linsep.separate(X, y).kind == kind


def test_sparse_verdicts(client, folder):
    rng = np.random.default_rng(0)
    X = sp.random_array((400, 3000), density=0.01, rng=rng, format="csr")
    for name, y in (("separable", (X @ rng.normal(size=3000) > 0)), ("contradicting", rng.integers(0, 2, 400))):
        Z, labels = X, y.astype(int)
        if name == "contradicting":
            Z, labels = sp.vstack((X, X[:1]), format="csr"), np.append(labels, 1 - labels[0])
        path = str(folder / f"{name}.svm")
        dump_svmlight_file(Z, labels, path, zero_based=False)
        verdict = cluster.separate(read(path), client, shard_bytes=shard_bytes(path, 3))
        Z, labels = read(path).to_arrays()
        assert linsep.verify(verdict, Z, labels)
        assert verdict.kind == linsep.separate(Z, labels).kind


@pytest.mark.slow
def test_a_wide_verdict_takes_few_rounds(client, folder):
    """There is room in the working set by the values that rows have, not by their columns."""
    rng = np.random.default_rng(0)
    n, d = 2000, 200_000
    columns, ends = rng.integers(0, d, 20 * n, dtype=np.int32), np.arange(0, 20 * n + 1, 20, dtype=np.int32)
    X = sp.csr_array((rng.integers(1, 9, 20 * n).astype(float), columns, ends), (n, d))
    X.sum_duplicates()
    path = str(folder / "wide.svm")
    dump_svmlight_file(X, X @ rng.normal(size=d) > 0, path, zero_based=False)
    seen = []
    verdict = cluster.separate(
        read(path, zero_based=False, n_features=d), client, shard_bytes=shard_bytes(path, 4),
        watch=lambda *told: seen.append(told),
    )  # fmt: skip
    assert verdict.kind == "separable"
    assert len(seen) <= 3


def test_the_command_line(client, folder, capsys):
    X, y = rows(n=300, d=3, noise=9.0)
    path = str(folder / "line.csv")
    np.savetxt(path, np.column_stack((X, y)), delimiter=",", header="a,b,c,y", comments="", fmt="%d")
    there = ["--cluster", client.scheduler.address, "--shard-mb", "0.001"]

    def run(*arguments, code=0):
        with pytest.raises(SystemExit) as done:
            main(list(arguments))
        output = capsys.readouterr()
        assert done.value.code == code, output.err
        return output.out

    model = str(folder / "line.linsep")
    assert "shards" in run("fit", path, "--max-iter", "5", "--model", model, *there)
    loaded = linsep.load(model)
    assert loaded.mixing_["mistakes"].shape[0] == 5
    here, away = run("score", model, path, "--json"), run("score", model, path, "--json", *there)
    assert here.split('"seconds"')[0] == away.split('"seconds"')[0]
    assert run("predict", model, path, "--score") == run("predict", model, path, "--score", *there)
    proof = str(folder / "line.json")
    assert "overlap" in run("separate", path, "--proof", proof, *there, code=1)
    assert "the proof holds" in run("verify", proof, path)
    run("fit", path, "--cluster", "tcp://h:1", "--workers", "2", code=2)
    run("fit", path, "--order", "first", "--model", model, *there, code=2)  # which would be learned here


def test_rows_of_shards_have_the_numbers_of_the_files(client, tmp_path):
    rows = []
    for k in range(3):
        lines = ["a,b,y"]
        for i in range(12):
            a, b, gap = (7 * i + k) % 5, (3 * i + 2 * k) % 4, (i + k) % 5 == 0
            lines.append(f"{'' if gap else a},{b},{'pq'[(a + b + i) % 2]}")
            rows.append(None if gap else (a, b, "pq"[(a + b + i) % 2]))
        (tmp_path / f"{k}.csv").write_text("\n".join(lines) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cluster.fit(Perceptron(), read(f"{tmp_path}/*.csv", missing="drop"), client)
        verdict = cluster.separate(read(f"{tmp_path}/*.csv", missing="drop"), client)
    assert model.missing_rows_.tolist() == [i for i, row in enumerate(rows) if row is None]
    kept = [row for row in rows if row is not None]
    X, y = [row[:2] for row in kept], [row[2] for row in kept]
    for found, proof in ((model.refutation_, model.refutation_), (verdict, verdict.refutation)):
        assert found.check(X, y)
        signs = [(1 if rows[i][2] == "q" else -1) * m for i, m in zip(proof.rows, proof.multipliers, strict=True)]
        for column in range(2):  # the multipliers cancel the rows of the files, and those of the offset
            assert sum(s * rows[i][column] for i, s in zip(proof.rows, signs, strict=True)) == 0
        assert sum(signs) == 0


def test_a_shard_all_of_whose_rows_are_dropped(client, tmp_path):
    """The verdict is that of the other rows, and its proof names them by their numbers in the files."""
    for k, lines in enumerate(("1,2,p\n2,1,q\n", ",1,p\n,2,q\n", "2,1,p\n5,5,q\n")):
        (tmp_path / f"{k}.csv").write_text(f"a,b,y\n{lines}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = read(f"{tmp_path}/*.csv", missing="drop")
        assert len(cut(source, 1)[1]) == 9  # a line each, and a head without a row
        verdict = cluster.separate(source, client, shard_bytes=1)
    X, y = [[1, 2], [2, 1], [2, 1], [5, 5]], ["p", "q", "p", "q"]
    assert verdict.kind == linsep.separate(X, y).kind != "separable"
    assert verdict.check(X, y)
    assert set(verdict.refutation.rows.tolist()) == {1, 4}  # the same point with two labels


@pytest.mark.parametrize("command", ["fit", "predict m.linsep", "score m.linsep", "separate"])
@pytest.mark.parametrize(("options", "asked"), [
    ("--workers 2", ("local", 2)), ("--cluster local", ("local", None)), ("--cluster tcp://h:1", ("tcp://h:1", None)),
])  # fmt: skip
def test_either_option_asks_for_a_cluster(run, monkeypatch, command, options, asked):
    """As docs/cluster.md says, everything also runs on the processes of one machine: ``--workers 2``."""

    def connect(*where):
        raise ClusterError(f"asked for {where}")

    monkeypatch.setattr("linsep.cluster.workers.connect", connect)
    with open("data.csv", "w") as file:
        file.write("a,y\n1,p\n-1,q\n")
    run("fit", "data.csv", "-m", "m.linsep", "-q")
    code, _, said = run(*command.split(), "data.csv", *options.split())
    assert (code, said) == (2, f"linsep: asked for {asked}\n")
