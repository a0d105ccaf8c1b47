"""Which hypothesis is kept: average, best and vote against the papers in plain Python, however the rows come."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from data import few, integers, quiet, write
from linsep import Perceptron, fit_source, load, read, save, to_liblinear

KEEP = ["average", "best", "vote"]
STORAGE = [np.asarray, np.asfortranarray, sp.csr_array]


def same(one, other, X):
    """Say whether two models hand over the same bits, and would go on from the same ones."""
    return (
        np.array_equal(one.coef_, other.coef_)
        and np.array_equal(one.intercept_, other.intercept_)
        and np.array_equal(one.decision_function(X), other.decision_function(X))
        and one.last_weights() == other.last_weights()
    )


# ---------------------------------------------------------------------------------------------------------------
# To the letter


@pytest.mark.parametrize("storage", STORAGE)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), offset=st.booleans(), margin=st.integers(0, 3), on_plane=st.sampled_from([-1, 1]))
def test_two_classes(storage, seed, offset, margin, on_plane):
    X, y = integers(seed)
    signs = (2 * y - 1).tolist()
    looks = list(oracle.looks(X.tolist(), signs, offset=offset, passes=4, margin=margin))
    common = {"fit_intercept": offset, "shuffle": False, "max_iter": 4, "update_margin": margin, "on_plane": on_plane}
    last = quiet(Perceptron(**common), X, y)
    looks = looks[: last.n_iter_ * len(X)]  # the textbook goes on after a clean pass
    rows = storage(X)

    average = quiet(Perceptron(keep="average", **common), rows, y)
    np.testing.assert_allclose(average.coef_[0], np.mean([w for _, w, _ in looks], axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(average.intercept_[0], np.mean([b for *_, b in looks]), rtol=1e-12, atol=1e-12)

    vote = quiet(Perceptron(keep="vote", **common), rows, y)
    expected = [oracle.vote(looks, x, on_plane) for x in X.tolist()]
    assert vote.decision_function(rows).tolist() == expected
    assert vote.predict(rows).tolist() == [int((total or on_plane) > 0) for total in expected]
    assert np.array_equal(vote.coef_, last.coef_)

    def errors(w, b):
        return sum(((s > 0) - (s < 0) or on_plane) != sign for s, sign in zip((X @ w + b).tolist(), signs, strict=True))

    w, b = oracle.pocket(looks, len(X), errors)
    best = quiet(Perceptron(keep="best", **common), rows, y)
    assert best.coef_[0].tolist() == w
    assert best.intercept_[0] == b
    assert best.training_errors_ == errors(w, b)

    for model in (average, vote, best):  # training itself is the same
        assert np.array_equal(model.trace_, last.trace_)
        assert np.array_equal(model.last_weights().W, last.coef_)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), offset=st.booleans(), classes=st.integers(3, 4))
def test_many_classes(seed, offset, classes):
    X, y = integers(seed, classes=classes)
    looks = list(oracle.looks_argmax(X.tolist(), y.tolist(), classes, offset=offset, passes=3))
    common = {"fit_intercept": offset, "shuffle": False, "max_iter": 3}
    looks = looks[: quiet(Perceptron(**common), X, y).n_iter_ * len(X)]
    for storage in STORAGE:
        rows = storage(X)
        average = quiet(Perceptron(keep="average", **common), rows, y)
        np.testing.assert_allclose(average.coef_, np.mean([W for _, W, _ in looks], axis=0), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(average.intercept_, np.mean([b for *_, b in looks], axis=0), rtol=0, atol=1e-12)
        vote = quiet(Perceptron(keep="vote", **common), rows, y)
        assert vote.decision_function(rows).tolist() == [oracle.vote_argmax(looks, x, classes) for x in X.tolist()]

        def errors(W, b):
            return int(np.count_nonzero((X @ np.transpose(W) + b).argmax(axis=1) != y))

        W, b = oracle.pocket(looks, len(X), errors)
        best = quiet(Perceptron(keep="best", **common), rows, y)
        assert best.coef_.tolist() == W
        assert best.intercept_.tolist() == b
        assert best.training_errors_ == errors(W, b)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("keep", ["average", "vote"])
def test_one_against_rest_is_binary_machines(keep, shuffle):
    X, y = integers(5, n=60, classes=3)
    model = Perceptron(keep=keep, multi_class="ovr", max_iter=4, shuffle=shuffle)
    together = quiet(model, X, y)
    assert together.n_iter_ == 4
    for c in range(3):
        alone = quiet(Perceptron(keep=keep, max_iter=4, shuffle=shuffle), X, y == c)
        assert alone.n_iter_ == 4
        assert np.array_equal(alone.coef_[0], together.coef_[c])
        assert np.array_equal(alone.decision_function(X), together.decision_function(X)[:, c])


def test_best_of_one_against_rest_is_the_best_of_all_machines_together():
    saved = 0
    for seed in range(5):
        X, y = integers(seed, n=60, classes=3)
        last = quiet(Perceptron(multi_class="ovr", max_iter=10), X, y)
        best = quiet(Perceptron(multi_class="ovr", max_iter=10, keep="best"), X, y)
        assert best.training_errors_ == np.count_nonzero(best.predict(X) != y)
        saved += last.training_errors_ - best.training_errors_
    assert saved > 5


def test_weights_scale_the_steps_and_rows_of_weight_zero_are_not_looked_at():
    X, y = integers(8, n=40)
    weight = np.random.default_rng(0).integers(0, 3, 40)
    used = np.flatnonzero(weight)
    for keep in KEEP:
        some = quiet(Perceptron(keep=keep, max_iter=3, shuffle=False), X, y, sample_weight=weight)
        without = quiet(Perceptron(keep=keep, max_iter=3, shuffle=False), X[used], y[used], sample_weight=weight[used])
        assert same(some, without, X)


def test_first_weights_count():
    X, y = integers(9, n=30)
    start = quiet(Perceptron(shuffle=False, max_iter=1), X, y)
    both = quiet(Perceptron(shuffle=False, max_iter=3), X, y)
    looks = list(oracle.looks(X.tolist(), (2 * y - 1).tolist(), passes=3))[len(X) :]
    assert both.n_iter_ == 3
    init = {"coef_init": start.coef_, "intercept_init": start.intercept_}
    vote = quiet(Perceptron(shuffle=False, max_iter=2, keep="vote"), X, y, **init)
    assert vote.decision_function(X).tolist() == [oracle.vote(looks, x) for x in X.tolist()]
    average = quiet(Perceptron(shuffle=False, max_iter=2, keep="average"), X, y, **init)
    np.testing.assert_allclose(average.coef_[0], np.mean([w for _, w, _ in looks], axis=0), rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------------------------------------------------------
# One answer however the rows come


@pytest.mark.parametrize("keep", ["last", *KEEP])
@pytest.mark.parametrize(("classes", "multi_class"), [(2, "argmax"), (3, "argmax"), (3, "ovr")])
def test_partial_fit_row_by_row_is_one_pass(keep, classes, multi_class):
    X, y = integers(11, n=40, classes=classes)
    whole = quiet(Perceptron(shuffle=False, max_iter=1, keep=keep, multi_class=multi_class), X, y)
    online = Perceptron(shuffle=False, keep=keep, multi_class=multi_class)
    for i in range(len(X)):
        online.partial_fit(X[i : i + 1], y[i : i + 1], classes=range(classes))
    assert same(online, whole, X)
    assert oracle.alike(online, whole)
    assert online.radius_ == whole.radius_
    assert online.n_iter_ == len(X)
    if classes == 2:  # no labels given in advance: the first class waits for the second
        online = Perceptron(shuffle=False, keep=keep)
        for i in range(len(X)):
            online.partial_fit(X[i : i + 1], y[i : i + 1])
        assert same(online, whole, X)


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("multi_class", ["argmax", "ovr"])
def test_classes_may_appear_late(keep, multi_class):
    """Binary weights are those of two opposite machines: so are all hypotheses that were kept."""
    X, y = integers(12, n=40)
    late = Perceptron(shuffle=False, keep=keep, multi_class=multi_class).partial_fit(X, np.array([1, 3])[y])
    early = Perceptron(shuffle=False, keep=keep, multi_class=multi_class)
    early.partial_fit(X, np.array([1, 3])[y], classes=[0, 1, 3])
    more, labels = integers(13, n=30, classes=3)
    for model in (late, early):
        model.partial_fit(more, np.array([0, 1, 3])[labels])
    assert late.classes_.tolist() == [0, 1, 3]
    assert late.decision_function(X).shape == (40, 3)
    if multi_class == "ovr":  # a machine of the new class alone had nothing to learn yet
        assert np.array_equal(late.coef_[1:], early.coef_[1:])
    else:  # a third class that scores 0 can be the rival in the one, not in the other
        assert late.coef_.shape == early.coef_.shape
    alone = Perceptron(keep=keep, multi_class=multi_class).partial_fit([[1.0, 2.0]], ["b"])
    alone.partial_fit([[1.0, 0.0], [0.0, 1.0]], ["a", "c"])
    assert alone.decision_function([[1.0, 1.0]]).shape == (1, 3)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_vote_of_a_grown_machine_is_the_vote_of_its_hypotheses(seed):
    X, y = integers(seed, n=15)
    model = Perceptron(shuffle=False, keep="vote").partial_fit(X, y)
    W = [([[-p for p in w], w, [0] * 3], [-b, b, 0]) for _, w, b in oracle.looks(X.tolist(), (2 * y - 1).tolist())]
    model.partial_fit(np.zeros((1, 3)), [2])  # on every plane: the first two classes rival, the offsets move
    last_W, last_b = model.last_weights().W, model.last_weights().b
    looks = [(None, *pair) for pair in W] + [(None, last_W.tolist(), last_b.tolist())]
    assert model.decision_function(X).tolist() == [oracle.vote_argmax(looks, x, 3) for x in X.tolist()]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("form", ["svm", "npy"])
def test_scaled_streams_hand_over_in_the_units_of_the_file(tmp_path, keep, form):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((200, 5)) * [1, 10, 0.1, 3, 1] + [0, 5, 0, 1, 2], rng.integers(0, 2, 200)
    path = write(tmp_path, form, X, y)
    model = fit_source(Perceptron(shuffle=False, keep=keep, max_iter=3), read(path), scale="standard")
    scaled = (X - model.scaling_["shift"]) / model.scaling_["scale"]
    expected = quiet(Perceptron(shuffle=False, keep=keep, max_iter=3), scaled, y)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(scaled), rtol=1e-8, atol=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("keep", KEEP)
def test_an_interruption_does_not_show(tmp_path, keep):
    rng = np.random.default_rng(2)
    path = write(tmp_path, "npy", rng.standard_normal((200, 5)), rng.integers(0, 3, 200))
    X = read(path).to_arrays()[0]
    expected = fit_source(Perceptron(shuffle=False, keep=keep, max_iter=4), read(path, block_bytes=1000))

    class InterruptionError(Exception):
        pass

    def interrupt(number, looked, *_):
        if number == 2 and looked > 100:
            raise InterruptionError

    model = Perceptron(shuffle=False, keep=keep, max_iter=4)
    with pytest.raises(InterruptionError):
        fit_source(model, read(path, block_bytes=1000), checkpoint=tmp_path / "state", every=0.0, watch=interrupt)
    fit_source(model, read(path, block_bytes=1000), checkpoint=tmp_path / "state", resume=True)
    assert same(model, expected, X)


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_files_keep_it(tmp_path, keep, classes, storage):
    X, y = integers(20, n=60, classes=classes)
    for start in (None, np.ones((1 if classes == 2 else 3, 3))):
        model = quiet(Perceptron(keep=keep, max_iter=3), storage(X), y, coef_init=start)
        save(model, tmp_path / "model")
        loaded = load(tmp_path / "model")
        assert same(model, loaded, storage(X))
        for each in (model, loaded):
            each.partial_fit(storage(X), (y + 1) % 4)
        assert same(model, loaded, storage(X))


def test_damaged_votes_are_refused(tmp_path):
    X, y = integers(21)
    model = quiet(Perceptron(keep="vote", max_iter=2), X, y)
    vote = model.record_.tracker.mistakes
    for name, value in (
        ("trace", [vote.trace[0] + np.uint64(1000)]),
        ("codes", [vote.codes[0] + 5]),
        ("visits", [vote.visits[0][::-1]]),
        ("steps", [vote.steps[0][1:]]),
        ("n_rows", 1),
        ("machines", 4),
    ):
        old = getattr(vote, name)
        setattr(vote, name, value)
        save(model, tmp_path / "model")
        setattr(vote, name, old)
        with pytest.raises(
            ValueError, match=r"damaged model file: (the number of machines of its vote|a mistake on a row|rows with)"
        ):
            load(tmp_path / "model")


# ---------------------------------------------------------------------------------------------------------------
# The contract


@pytest.mark.parametrize("multi_class", ["argmax", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_votes_do_not_depend_on_storage_or_pieces(monkeypatch, classes, multi_class):
    X, y = integers(9, n=60, classes=classes)
    model = quiet(Perceptron(keep="vote", multi_class=multi_class, max_iter=3), X, y)
    whole = model.decision_function(X)
    assert np.array_equal(model.decision_function(sp.csr_array(X)), whole)
    monkeypatch.setattr("linsep.learn.voting._BLOCK", 1)  # sixteen rows at a time, side by side
    assert len(X) > 16
    assert np.array_equal(model.decision_function(X), whole)


@pytest.mark.parametrize("offset", few([True, False], 1))
@pytest.mark.parametrize("classes", [2, 4])
def test_votes_of_rows_that_meet_few_mistakes(classes, offset):
    rng = np.random.default_rng(classes)
    n, d, passes = 200, 60, 5
    X = np.zeros((n, d))
    np.put_along_axis(X, rng.integers(0, d, (n, 2)), rng.integers(-3, 4, (n, 2)), 1)
    y = rng.integers(0, classes, n)
    rows, common = sp.csr_array(X), {"fit_intercept": offset, "shuffle": False, "max_iter": passes, "prove": False}
    model = quiet(Perceptron(keep="vote", **common), rows, y)
    assert model.mistakes_ > 300  # blocks of hypotheses are smaller
    if classes == 2:
        run = list(oracle.looks(X.tolist(), (2 * y - 1).tolist(), offset=offset, passes=passes))
        S = X @ np.array([w for _, w, _ in run]).T + np.array([b for *_, b in run])
        for model.on_plane in (-1, 1):
            votes = np.where(S == 0, model.on_plane, np.sign(S)).sum(axis=1)
            assert np.array_equal(model.decision_function(rows), votes)
    else:
        run = list(oracle.looks_argmax(X.tolist(), y.tolist(), classes, offset=offset, passes=passes))
        S = np.einsum("id,tcd->itc", X, np.array([W for _, W, _ in run])) + np.array([b for *_, b in run])
        winners = S.argmax(axis=2)
        assert np.array_equal(model.decision_function(rows), [np.bincount(each, minlength=classes) for each in winners])
    alone = quiet(Perceptron(keep="vote", multi_class="ovr", **common), X, y)
    assert np.array_equal(alone.decision_function(rows), alone.decision_function(X))


def test_bad_input():
    X, y = integers(1)
    with pytest.raises(ValueError, match="keep must be 'last', 'best', 'average', 'vote' or 'auto', got 'all'"):
        Perceptron(keep="all").fit(X, y)
    with pytest.raises(ValueError, match="keep='vote' needs passes over all rows, and order='first' makes none"):
        Perceptron(keep="vote", order="first").fit(X, y)
    vote = quiet(Perceptron(keep="vote", max_iter=2), X, y)
    with pytest.raises(ValueError, match="NaN at row 0, column 1"):
        vote.predict([[1.0, np.nan, 0.0]])
    with pytest.raises(ValueError, match="holds one plane, but a vote uses many"):
        to_liblinear(vote, "never written")


def test_another_keep_later_starts_from_the_last_weights():
    X, y = integers(2, n=40)
    last = Perceptron(shuffle=False).partial_fit(X, y)
    average = Perceptron(shuffle=False, keep="average").partial_fit(X, y)
    for model in (last, average.set_params(keep="last")):
        model.partial_fit(X, y)
    assert same(last, average, X)
    mixed = Perceptron(shuffle=False, keep="vote").partial_fit(X, y).partial_fit(sp.csr_array(X), y)
    both = Perceptron(shuffle=False, keep="vote").partial_fit(X, y).partial_fit(X, y)
    assert np.array_equal(mixed.decision_function(X), both.decision_function(X))


def test_warm_start_goes_on_from_the_last_weights():
    X, y = integers(3, n=40)
    model = quiet(Perceptron(keep="average", warm_start=True, shuffle=False, max_iter=2), X, y)
    W, b = model.last_weights().W, model.last_weights().b
    again = quiet(Perceptron(keep="average", shuffle=False, max_iter=2), X, y, coef_init=W, intercept_init=b)
    assert same(quiet(model, X, y), again, X)
