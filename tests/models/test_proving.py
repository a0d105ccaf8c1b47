"""Runs that look for a proof: separable rows end as the plain algorithm, others with a proof that checks."""

import io
import json
import os
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import linsep
from data import few, quiet, sealed
from javascript import judged
from linsep import (
    PassiveAggressive,
    Perceptron,
    fit_source,
    from_json,
    load,
    read,
    save,
    separate,
    teacher,
    to_json,
    verify,
)
from linsep.cli.app import app
from linsep.prove.verdict.parts import Part
from linsep.prove.verdict.refuting import Asked, RunSearch, Work, made_of
from oracles import inequalities, kind

XOR = np.array([[0, 0], [1, 1], [0, 1], [1, 0]]), np.array([0, 0, 1, 1])


def cancels(found, X, y):
    """Say by fractions alone whether the rows of a refutation, class against class, add up to zero."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    labels = [False, True] if found.machine is not None else list(found.classes)
    y = [label == found.machine for label in y] if found.machine is not None else list(y)
    total = {}
    for row, multiplier, rival in zip(found.rows.tolist(), found.multipliers, found.rivals.tolist(), strict=True):
        assert multiplier > 0
        assert labels.index(y[row]) != rival
        for c, sign in ((labels.index(y[row]), 1), (rival, -1)):
            for j, value in enumerate([*X[row].tolist(), *[1] * found.fit_intercept]):
                total[c, j] = total.get((c, j), 0) + sign * multiplier * type(multiplier)(value)
    return not any(total.values())


def checked(model, X, y):
    """Return the stop reason of a run, after a look at its proof by three checks."""
    found = model.refutation_
    assert (found is not None) == (model.stop_reason_ == "not_separable")
    if found is not None:
        assert found.check(X, y)
        assert found.check(X, y, plain=True)
        assert cancels(found, X, np.asarray(y).tolist())
        assert verify(found, X, y)
        assert model.history_["proof_work"][-1] > 0
    return model.stop_reason_


def truth(X, y, offset):
    """Return what exact arithmetic says, by an oracle that shares no code."""
    return kind(inequalities(np.asarray(X).tolist(), y.tolist(), tuple(np.unique(y).tolist()), offset))


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    classes=st.sampled_from([2, 3]),
    offset=st.booleans(),
    margin=st.sampled_from([0.0, 0.0, 1.0]),
    order=st.sampled_from([{}, {"shuffle": False}, {"order": "first"}, {"order": "worst"}]),
    mistake=st.sampled_from(["violation", "violation", "prediction"]),
)
@settings(deadline=None, max_examples=1000)
def test_ends_as_the_rows_are(seed, classes, offset, margin, order, mistake):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(classes + 1, 12)), int(rng.integers(1, 4))
    X = rng.integers(-3, 4, size=(n, d)).astype(rng.choice([np.int64, np.float64]))
    y = np.append(np.arange(classes), rng.integers(0, classes, n - classes))
    how = {"fit_intercept": offset, "mistake": mistake, "update_margin": margin * (mistake == "violation"), **order}
    plain = quiet(Perceptron(prove=False, max_iter=41, **how), X, y)
    model = quiet(Perceptron(max_iter=41, **how), X, y)
    stop = checked(model, X, y)
    separable = truth(X, y, offset) == "separable"
    assert not (separable and stop == "not_separable")
    if plain.stop_reason_ == "separated":
        assert stop == "separated"
    elif not separable:  # rows on the plane may be predicted right
        assert stop in ("not_separable", "max_iter", *["no_mistakes"] * (mistake == "prediction"))
    if stop != "not_separable":
        assert stop == plain.stop_reason_
        assert model.trace_.tolist() == plain.trace_.tolist()
        assert np.array_equal(model.coef_, plain.coef_)
    else:
        assert model.trace_.tolist() == plain.trace_.tolist()[: model.mistakes_]


@pytest.mark.parametrize("margin", [0.1, 0.01, 0.003])
def test_separable_rows_end_with_the_trace_of_the_plain_run(margin):
    X, y, _ = teacher(2000, 6, margin=margin, random_state=1)
    plain, model = (Perceptron(prove=prove, max_iter=5000).fit(X, y) for prove in (False, True))
    assert model.stop_reason_ == plain.stop_reason_ == "separated"
    assert np.array_equal(model.trace_, plain.trace_)
    assert np.array_equal(model.coef_, plain.coef_)
    assert model.refutation_ is None


def noisy(n=600, d=5, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    return np.round(rng.normal(size=(n, d)), 3), rng.integers(0, classes, n)


WAYS = [
    {}, {"shuffle": False}, {"fit_intercept": False}, {"update_margin": 0.5}, {"mistake": "prediction"},
    {"multi_class": "ovr"}, {"order": "first"}, {"order": "worst"}, {"class_weight": {0: 2.0, 1: 0.5}},
    {"keep": "average"}, {"keep": "best"},
]  # fmt: skip


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("way", few(WAYS, 4), ids=str)
def test_noise_is_refuted(way, classes):
    X, y = noisy(classes=classes)
    for rows in (X, sp.csr_array(X)):
        model = quiet(Perceptron(**way), rows, y)
        assert checked(model, rows, y) == "not_separable"
        again = quiet(Perceptron(**way), rows, y)
        assert same(model, again)
    assert checked(quiet(PassiveAggressive(variant="pa"), X, y), X, y) == "not_separable"


def same(one, other):
    """Say whether two runs have the same bits."""
    a, b = one.refutation_, other.refutation_
    return (
        a.rows.tolist() == b.rows.tolist()
        and a.multipliers == b.multipliers
        and a.rivals.tolist() == b.rivals.tolist()
        and np.array_equal(one.coef_, other.coef_)
        and np.array_equal(one.history_["proof_work"], other.history_["proof_work"])
        and one.n_iter_ == other.n_iter_
    )


def test_softer_steps_and_partial_fit_do_not_look_for_a_proof():
    X, y = noisy()
    model = quiet(PassiveAggressive(max_iter=50), X, y)
    assert (model.stop_reason_, model.refutation_) == ("max_iter", None)
    for _ in range(30):
        model = (model if hasattr(model, "trace_") else Perceptron()).partial_fit(X, y)
    assert model.refutation_ is None
    assert not model.history_["proof_work"].any()


def test_rows_without_weight_and_rows_held_out_are_no_part_of_it():
    X, y, _ = teacher(400, 3, margin=0.2, random_state=0)
    y = y.copy()
    y[::7] *= -1
    weight = np.ones(len(y))
    weight[::7] = 0
    model = quiet(Perceptron(), X, y, sample_weight=weight)
    assert (model.stop_reason_, model.refutation_) == ("separated", None)
    model = quiet(Perceptron(early_stopping=True, n_iter_no_change=10_000), X, y)
    assert checked(model, X, y) == "not_separable"
    other = Perceptron(early_stopping=True, n_iter_no_change=10_000, prove=False, max_iter=1)
    from linsep.learn.evaluation import held_out

    held = held_out(quiet(other, X, y).record_.seed, 0, len(y), 0.1)
    assert held.any()
    assert not held[model.refutation_.rows].any()


def test_on_the_plane_may_be_right_where_mistakes_are_wrong_predictions():
    """A row of zeros is never strictly right without an offset, but its prediction is."""
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    strict = Perceptron(fit_intercept=False)
    assert checked(quiet(strict, X, y), X, y) == "not_separable"
    assert quiet(Perceptron(fit_intercept=False, mistake="prediction"), X, y).stop_reason_ == "no_mistakes"


def test_all_searches_take_at_most_the_work_of_training():
    X, y, _ = teacher(300, 40, margin=0.001, flip=0.02, random_state=3)
    model = quiet(Perceptron(max_iter=1000), X, y)
    work = model.history_["proof_work"]
    pass_work = 50_000 + 300 * 20 + X.size  # operations
    spent = np.cumsum(work)
    assert (spent <= pass_work * np.arange(1, len(work) + 1) + 1).all()
    assert checked(model, X, y) == "not_separable"
    assert set(np.flatnonzero(work) + 1) <= {10, 20, 40, 80, 160, 320, 640}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("way", [{}, {"multi_class": "ovr"}, {"keep": "average"}], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_files_as_arrays_and_resumed(way, classes, tmp_path):
    X, y = noisy(classes=classes)
    lines = [",".join([*map(repr, row), str(label)]) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["a,b,c,d,e,label", *lines]) + "\n")
    whole = quiet(Perceptron(shuffle=False, **way), X, y)
    for size in (997, 1 << 20):
        source = read(path, block_bytes=size)
        assert same(fit_source(Perceptron(shuffle=False, **way), source), whole)
    scaled = fit_source(Perceptron(**way), read(path), scale="standard")
    assert checked(scaled, X, y) == "not_separable"
    state = tmp_path / "state"
    for passes in (4, whole.n_iter_, 1000, 1000):
        model = Perceptron(shuffle=False, max_iter=passes, **way)
        model = fit_source(model, read(path), checkpoint=state, resume=state.exists())
    assert same(model, whole)
    save(model, tmp_path / "model")
    assert same(load(tmp_path / "model"), whole)
    assert checked(load(tmp_path / "model"), X, y) == "not_separable"


def test_more_rows_than_are_held_are_asked_in_parts():
    X, y, _ = teacher(3000, 4, margin=0.05, random_state=2)
    wrong = y.copy()
    wrong[[77, 1500]] *= -1
    for labels, refuted in ((y, False), (wrong, True)):
        codes = ((labels + 1) // 2).astype(np.intp)
        found = []
        for cut in (100, 3000):
            parts = [Part(i, read_rows(X[i : i + cut]), codes[i : i + cut], 4) for i in range(0, 3000, cut)]
            search = RunSearch(
                lambda function, told, parts=parts: [function(part, told) for part in parts],
                Asked(2, True),
                made_of(np.array([5, 5, 77]), 1),
                held=4000,
            )
            found.append(search.run(Work(1e11)))
            assert found[-1].refuted == refuted
        if refuted:
            one, other = found
            assert one.proof.rows.tolist() == other.proof.rows.tolist()
            assert one.proof.multipliers == other.proof.multipliers


def read_rows(X):
    from linsep.data.arrays import to_rows

    return to_rows(np.ascontiguousarray(X))


def test_equal_rows_of_different_classes_are_enough():
    X, y, _ = teacher(500, 3, margin=0.1, random_state=0)
    X[400], y[400] = X[17], -y[17]
    model = quiet(Perceptron(), X, y)
    assert model.refutation_.rows.tolist() == [17, 400]
    assert [int(value) for value in model.refutation_.multipliers] == [1, 1]


NEXT = [
    (Perceptron(), "not_separable", "no plane separates these rows, proved by 4 of them; keep='average' usually"),
    (Perceptron(max_iter=5), "max_iter", "max_iter=5 ended the run .* linsep.separate tells which, with a proof"),
    (Perceptron(max_updates=9), "max_updates", "max_updates=9 ended the run .* linsep.separate tells which"),
    (PassiveAggressive(max_iter=5), "max_iter", "max_iter=5 ended the run .* linsep.separate tells which"),
]


@pytest.mark.parametrize(("model", "stop", "next_step"), NEXT)
def test_arrays_and_files_warn_once_of_what_to_do_next(model, stop, next_step, tmp_path):
    np.savez(tmp_path / "xor.npz", X=XOR[0], y=XOR[1])
    with pytest.warns(ConvergenceWarning, match=next_step) as of_array:
        assert model.fit(*XOR).stop_reason_ == stop
    with pytest.warns(ConvergenceWarning) as of_file:
        assert fit_source(model, read(tmp_path / "xor.npz")).stop_reason_ == stop
    assert [str(note.message) for note in of_file] == [str(note.message) for note in of_array]
    assert len(of_file) == 1
    assert of_file[0].filename == of_array[0].filename == __file__


def test_a_run_warns_of_a_proof_without_a_last_visit_to_the_rows_but_not_of_a_budget(tmp_path):
    np.savez(tmp_path / "xor.npz", X=XOR[0], y=XOR[1])
    with pytest.warns(ConvergenceWarning, match="proved by 4 of them"):
        fit_source(Perceptron(), read(tmp_path / "xor.npz"), evaluate=False)
    assert fit_source(Perceptron(max_iter=5), read(tmp_path / "xor.npz"), evaluate=False).stop_reason_ == "max_iter"


def test_a_run_that_ends_with_no_row_wrong_needs_only_a_pass_without_a_mistake(tmp_path):
    """By hand: w = 0 errs on the first row, w = 1 on none."""
    with pytest.warns(ConvergenceWarning, match=r"made 1 mistake; now no row is on the wrong side. A larger max_iter"):
        model = Perceptron(max_iter=1, fit_intercept=False, shuffle=False).fit([[1.0], [-1.0]], [1, -1])
    assert model.training_errors_ == 0
    (tmp_path / "two.csv").write_text("x,y\n1,1\n-1,-1\n")
    options = ["--max-iter", "1", "--no-fit-intercept", "--no-shuffle", "--model", str(tmp_path / "model")]
    said = CliRunner().invoke(app, ["fit", str(tmp_path / "two.csv"), *options])
    assert once(said, "No row is on the wrong side now; a larger --max-iter lets the run end", "wrong side")


@pytest.mark.filterwarnings("ignore:.*does not center the columns")
@pytest.mark.parametrize(("scale", "size"), [("unit", 1e-170), ("unit", 1e200), ("standard", 1e-170)])
def test_rows_that_were_scaled_are_not_said_to_underflow_or_to_need_a_scaler(scale, size, tmp_path):
    np.savez(tmp_path / "xor.npz", X=XOR[0] * size, y=XOR[1])
    with pytest.warns(ConvergenceWarning, match="max_iter=5 ended the run while the last pass") as notes:
        fit_source(Perceptron(max_iter=5, fit_intercept=False), read(tmp_path / "xor.npz"), scale=scale)
    said = [str(note.message) for note in notes if note.category is ConvergenceWarning]
    assert ("StandardScaler" in said[0]) == (scale == "unit")


@pytest.mark.parametrize("within", [False, True])
def test_a_run_that_was_proved_separable_is_resumed(within, tmp_path):
    X, y, _ = teacher(60, 3, margin=0.02, random_state=1)
    np.save(tmp_path / "rows.npy", np.column_stack((X + 3, y)))

    def run(**how):
        source, model = read(tmp_path / "rows.npy", block_bytes=1000), Perceptron(shuffle=False, max_iter=16)
        with suppress(KeyboardInterrupt, ConvergenceWarning):
            fit_source(model, source, **how)
        return model

    def interrupt(number, visited, *_):
        if number == 12 and (visited > 40 or not within):
            raise KeyboardInterrupt

    whole = run()
    run(watch=interrupt, checkpoint=tmp_path / "state", every=0)
    model = run(resume=True, checkpoint=tmp_path / "state")
    assert np.array_equal(model.history_["proof_work"], whole.history_["proof_work"])
    assert np.flatnonzero(model.history_["separable"]).tolist() == [9]  # proved after pass 10, interrupted in pass 13
    assert np.array_equal(model.trace_, whole.trace_)
    assert np.array_equal(model.coef_, whole.coef_)


def four_classes():
    """Return rows far from the origin that weights of four classes separate, but not soon."""
    rng = np.random.default_rng(2)
    X = np.round(rng.normal(size=(1200, 40)), 2)
    S = X @ rng.normal(size=(4, 40)).T
    best = np.sort(S, axis=1)
    some = np.flatnonzero(best[:, -1] - best[:, -2] > 0.01)[:300]
    return X[some] + 15, S[some].argmax(axis=1)


def test_several_classes_are_proved_separable_and_questions_settled_once(tmp_path):
    X, y = four_classes()
    with pytest.warns(ConvergenceWarning, match="has proved that some plane separates these rows"):
        model = Perceptron(shuffle=False, max_iter=60).fit(X, y)
    plain = quiet(Perceptron(shuffle=False, max_iter=60, prove=False), X, y)
    assert model.stop_reason_ == plain.stop_reason_ == "max_iter"
    assert np.array_equal(model.trace_, plain.trace_)
    searched, proved = (np.flatnonzero(model.history_[name]) + 1 for name in ("proof_work", "separable"))
    assert len(searched) > 1
    assert proved.tolist() == searched[-1:].tolist()
    assert separate(X, y).kind == "separable"
    path, state = tmp_path / "rows.npz", tmp_path / "state"
    np.savez(path, X=X, y=y)
    for passes in (searched[0] + 1, 60):
        again = Perceptron(shuffle=False, max_iter=int(passes))
        with pytest.warns(ConvergenceWarning):
            again = fit_source(again, read(path), checkpoint=state, resume=state.exists())
    save(again, tmp_path / "model")
    for name in ("proof_work", "separable"):
        assert np.array_equal(load(tmp_path / "model").history_[name], model.history_[name])


def test_a_proof_document_of_the_kind():
    X, y = XOR
    found = quiet(Perceptron(), X, y).refutation_
    text = to_json(found.verdict(), X, y)
    verdict, _ = from_json(text)
    assert (verdict.kind, verdict.separator) == ("not-separable", None)
    for plain in (False, True):
        assert verify(text, X, y, plain=plain)
        assert not verify(text, X, [0, 1, 0, 1], plain=plain)
    forged = json.loads(text)
    assert forged["meaning"] == "no plane has every row strictly on its side"


def forgeries(text):
    """Yield documents that claim too much, or prove it by rows that do not cancel."""
    for place, value in [
        (("refutation", "multipliers", 0), "7/3"),
        (("refutation", "multipliers", 0), "0"),
        (("refutation", "multipliers", 0), "-1"),
        (("refutation", "rows", 0), 10**6),
        (("refutation", "rivals", 0), 10**6),
        (("refutation",), None),
        (("fit_intercept",), None),
        (("data", "sha256"), "0" * 64),
    ]:
        content = json.loads(text)
        part = content
        for name in place[:-1]:
            part = part[name]
        part[place[-1]] = value
        yield sealed(content)
    content = json.loads(text)
    for part in content["refutation"].values():
        part.pop()
    yield sealed(content)
    sentences = {
        "separable": "a plane has every row strictly on its side",
        "quasi": "no plane has every row strictly on its side, but one has none on the wrong side",
    }
    for other, meaning in sentences.items():  # either needs a plane, too
        yield sealed(json.loads(text) | {"kind": other, "meaning": meaning})
    yield sealed(json.loads(text) | {"meaning": sentences["separable"]})
    plane = {"w": [["1"] * json.loads(text)["n_features"]], "b": ["0"]}
    yield sealed(json.loads(text) | {"separator": plane})
    yield text.replace('"rows"', '"Rows"')


@pytest.mark.parametrize("classes", [2, 3])
def test_other_checkers_accept_the_kind_and_refuse_forged_ones(classes):
    X, y = noisy(n=40, d=2, classes=classes)
    text = to_json(quiet(Perceptron(), X, y).refutation_.verdict(), X, y)
    documents = [text, sealed(json.loads(text)), *forgeries(text)]
    believed = [True] * 2 + [False] * (len(documents) - 2)
    assert [holds for holds, _ in judged(documents, X, y)] == believed
    for plain in (False, True):
        assert [accepted(document, X, y, plain) for document in documents] == believed
    assert [holds for holds, _ in judged([text], X, 1 - y)] == [False]


def accepted(document, X, y, plain):
    """Say whether Python believes a document."""
    try:
        return verify(document, X, y, plain=plain)
    except ValueError:
        return False


BITS = """
import hashlib, sys, warnings
import numpy as np
from linsep import Perceptron
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
for classes, d in ((2, 30), (3, 6)):
    X, y = np.round(rng.normal(size=(3000, d)), 3), rng.integers(0, classes, 3000)
    model = Perceptron().fit(X, y)
    found = model.refutation_
    bits = [model.coef_.tobytes(), model.history_["proof_work"].tobytes(), found.rows.tolist(), found.multipliers]
    print(model.stop_reason_, model.n_iter_, hashlib.sha256(repr(bits).encode()).hexdigest())
"""


@pytest.mark.slow
def test_the_same_bits_on_one_and_two_threads():
    """Of all libraries that count threads: a search that shared out its sums differently would find other floats."""
    said = []
    for threads in ("1", "2"):
        names = ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        env = os.environ | dict.fromkeys(names, threads)
        done = subprocess.run([sys.executable, "-c", BITS], env=env, capture_output=True, text=True, check=True)
        said.append(done.stdout)
    assert said[0] == said[1]
    assert said[0].count("not_separable") == 2


def test_command_line(tmp_path):
    X, y = noisy(n=200, d=2)
    X[y == 1] += 1  # better than a guess
    path, proof = tmp_path / "rows.csv", tmp_path / "proof.json"
    lines = [f"{a},{b},{label}" for (a, b), label in zip(X.tolist(), y.tolist(), strict=True)]
    path.write_text("a,b,label\n" + "\n".join(lines) + "\n")
    common = ["fit", str(path), "--model", str(tmp_path / "model")]
    said = CliRunner().invoke(app, [*common, "--keep", "last", "--proof", str(proof)])
    assert said.exit_code == 0
    next_step = "of them; --keep average usually predicts better"
    assert "Stopped: no plane separates these rows, proved by" in said.output
    assert once(said, next_step, "no plane separates these")
    assert once(CliRunner().invoke(app, [*common, "--order", "worst"]), next_step, "no plane separates these")
    for way in ("shuffle", "order=worst"):  # from files, and from rows in memory
        said = CliRunner().invoke(app, [*common, *f"--{way}".split("="), "--max-iter", "3"])
        assert once(said, "Not separated yet. linsep separate tells you whether a plane exists", "linsep separate")
    assert CliRunner().invoke(app, ["verify", str(proof), str(path)]).exit_code == 0
    facts = json.loads(CliRunner().invoke(app, [*common, "--json"]).stdout)
    assert facts["stop_reason"] == "not_separable"
    assert len(facts["refutation"]) > 1
    assert facts["proof_work"] > 0
    said = CliRunner().invoke(app, [*common, "--proof", str(proof), "--max-iter", "3"])
    assert "not written: the run found none" in said.output
    plain = json.loads(CliRunner().invoke(app, [*common, "--json", "--no-prove", "--max-iter", "30"]).stdout)
    assert (plain["stop_reason"], plain["refutation"], plain["proof_work"]) == ("max_iter", None, 0.0)


def once(said, advice, of_it):
    """Say whether a command has given an advice, and no other wording of the same."""
    return " ".join(said.stdout.split()).count(advice) == said.output.count(of_it) == 1 and not said.stderr


@pytest.mark.filterwarnings("ignore:stopped. no plane")
def test_standard_input_and_sparse_text():
    text = "".join(f"{label} 1:{a} 2:{b}\n" for a, b, label in [(1, 1, 1), (2, 2, -1), (3, 3, 1)])
    model = fit_source(Perceptron(), read(io.BytesIO(text.encode()), format="libsvm"))
    assert model.stop_reason_ == "not_separable"
    assert model.refutation_.check([[1, 1], [2, 2], [3, 3]], [1, -1, 1])


def test_a_run_on_wide_sparse_rows_ends_when_all_margins_are_proved_tiny(tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random(9000, 2200, density=0.01, format="csr", random_state=1)
    X.data = np.ceil(3 * X.data)
    y = (X @ rng.normal(size=2200) > 0).astype(int)
    flipped = rng.choice(9000, 1800, replace=False)
    y[flipped] = 1 - y[flipped]
    with pytest.warns(ConvergenceWarning, match="no plane has a margin above"):
        model = Perceptron().fit(X, y)
    bound, radius = model.history_["margin_bound"][-1], np.sqrt(X.multiply(X).sum(axis=1).max() + 1)
    assert model.stop_reason_ == "margin_refuted"
    assert model.refutation_ is None
    assert model.n_iter_ < 1000
    assert 0 < bound < 1e-6 * radius
    assert np.isnan(model.history_["margin_bound"][:-1]).all()
    linsep.save(model, tmp_path / "m.linsep")
    assert linsep.load(tmp_path / "m.linsep").history_["margin_bound"][-1] == bound
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        assert Perceptron(prove=False, max_iter=5).fit(X, y).stop_reason_ == "max_iter"
