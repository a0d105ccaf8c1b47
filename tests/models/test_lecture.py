"""The library in a student's words: visits, orders, planes, counts, and what the theorem says of each."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from linsep import (
    AROW,
    KernelPerceptron,
    PassiveAggressive,
    Perceptron,
    Plane,
    PlaneDisplay,
    audit,
    generalization,
    hardest_order,
    load,
    mistake_bound,
    save,
    steps,
    teacher,
    weights_from_counts,
)
from linsep.errors import DataError

X4, Y4 = np.array([[1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [-1.0, 0.0]]), np.array([1, -1, 1, -1])


def by_hand(X, y, *, order, offset, eta=1, mistake="violation", start=None):
    """The textbook in exact numbers: every visit of passes in some orders, one list of rows each."""
    w = [Fraction(0)] * (len(X[0]) + 1) if start is None else [Fraction(v) for v in start]
    found = []
    for rows in order:
        for i in rows:
            x = [*map(Fraction, X[i]), Fraction(int(offset))]
            lead = y[i] * sum(a * c for a, c in zip(w, x, strict=True))
            wrong = lead <= 0 if mistake == "violation" else lead < 0
            if wrong:
                w = [a + Fraction(eta) * y[i] * c for a, c in zip(w, x, strict=True)]
            found.append((i, wrong, list(w)))
    return found


@pytest.mark.parametrize("mistake", ["violation", "strict"])
@pytest.mark.parametrize("offset", [True, False])
def test_visits_are_those_of_the_textbook(mistake, offset):
    rng = np.random.default_rng(1)
    for _ in range(30):
        n, d = rng.integers(2, 7), rng.integers(1, 4)
        X, y = rng.integers(-3, 4, (n, d)).astype(float), rng.permutation([-1, 1, *rng.choice([-1, 1], n - 2)])
        start = rng.integers(-2, 3, d + 1) * (mistake == "strict")
        start[-1] *= offset
        run = Perceptron(
            order="cyclic", fit_intercept=offset, max_iter=4, mistake=mistake, prove=False
        ).steps(X, y, coef_init=start[:-1], intercept_init=start[-1:] if offset else None, plane=None)  # fmt: skip
        made = list(run)
        passes = made[-1].passed
        wanted = by_hand(
            X.tolist(), y.tolist(), order=[range(n)] * passes, offset=offset, mistake=mistake, start=start.tolist()
        )
        assert [(step.row, step.mistake) for step in made] == [(i, wrong) for i, wrong, _ in wanted]
        for step, (i, _, w) in zip(made, wanted, strict=True):
            assert [*step.w_after, step.b_after] == w
            assert step.score == X[i] @ step.w + step.b
            assert step.label == y[i]


@pytest.mark.parametrize("order", ["cyclic", "shuffled", "first", "worst", [2, 2, 0, 1, 3, 0]])
@pytest.mark.parametrize("classes", [2, 3])
def test_visits_lead_to_the_model(order, classes):
    rng = np.random.default_rng(2)
    for kept in (None, 3):
        X, y = rng.normal(size=(20, 3)), rng.integers(0, classes, 20)
        model = Perceptron(order=order, max_iter=5, max_updates=kept, prove=False)
        made = list(model.steps(X, y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        last = made[-1]
        assert np.array_equal(np.atleast_2d(last.w_after), model.coef_)
        assert np.array_equal(np.atleast_1d(last.b_after), model.intercept_)
        assert [step.row for step in made if step.mistake] == model.trace_.tolist()
        if isinstance(order, list) and kept is None:
            assert [step.row for step in made] == order
            assert model.n_iter_ == 1
        if classes == 3:
            assert all((step.rival is None) != step.mistake and step.rival != step.label for step in made)


@pytest.mark.parametrize("learner", [PassiveAggressive(max_iter=3), AROW(max_iter=3)])
def test_other_learners_have_visits_too(learner):
    X, y, _ = teacher(30, 2, flip=0.1)
    made = list(learner.steps(sp.csr_array(X), y))
    with pytest.warns(UserWarning, match="max_iter"):
        learner.fit(X, y)
    assert np.array_equal(made[-1].w_after, learner.coef_[0])
    assert sum(step.mistake for step in made) == learner.mistakes_


def test_steps_as_a_table_and_as_text():
    run = steps(X4, Y4, fit_intercept=False, shuffle=False)
    frame = run.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.row.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert frame.mistake.sum() == 2
    assert run.weights().tolist() == [[0, 0], [1, 0], [1, 1]]
    assert frame.cosine.iloc[-1] == pytest.approx(1)
    assert len(repr(run).splitlines()) == 9
    assert math.isnan(next(iter(run)).cosine) is False
    given = next(iter(Perceptron(fit_intercept=False, shuffle=False).steps(X4, Y4, plane=([0.0, 1.0], 0.0))))
    assert given.cosine == 0


def test_a_list_visits_exactly_these_rows():
    model = Perceptron(fit_intercept=False, order=[2]).fit(X4, Y4)
    assert (model.coef_.tolist(), model.trace_.tolist(), model.stop_reason_) == ([[0, 1]], [2], "visited")
    model = Perceptron(fit_intercept=False, order=[0, 1]).fit(X4, Y4)
    assert model.stop_reason_ == "separated"
    average = Perceptron(fit_intercept=False, order=[0, 0, 1, 0], keep="average").fit(X4, Y4)
    assert average.coef_.tolist() == [[1, 0.5]]  # (1,0), (1,0), (1,1), (1,1)
    with pytest.raises(DataError, match="row 9"):
        Perceptron(order=[9]).fit(X4, Y4)
    with pytest.raises(ValueError, match="row numbers"):
        Perceptron(order=[0.5]).fit(X4, Y4)


def test_orders_have_the_same_words_everywhere(run, tmp_path):
    for order, shuffle in (("cyclic", False), ("shuffled", True)):
        one, two = Perceptron(order=order), Perceptron(shuffle=shuffle)
        X, y, _ = teacher(60, 3, margin=0.05)
        assert np.array_equal(one.fit(X, y).coef_, two.fit(X, y).coef_)
    pd.DataFrame(X).add_prefix("x").assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    code, out, _ = run("fit", tmp_path / "t.csv", "--order", "cyclic", "--scale", "none", "--keep", "last", "--json")
    assert code == 0
    assert f'"mistakes": {Perceptron(order="cyclic").fit(X, y).mistakes_}' in out


def test_a_list_is_saved(tmp_path):
    model = Perceptron(order=np.array([0, 1, 2])).fit(X4, Y4)
    save(model, tmp_path / "m.linsep")
    assert list(load(tmp_path / "m.linsep").order) == [0, 1, 2]


def test_no_updates_are_the_first_weights():
    model = Perceptron(max_updates=0).fit(X4, Y4)
    assert (model.coef_.any(), model.mistakes_, model.stop_reason_, model.n_iter_) == (False, 0, "max_updates", 0)
    for k in range(5):
        exact = Perceptron(shuffle=False, max_updates=k, fit_intercept=False, prove=False)
        X, y, _ = teacher(40, 2, margin=0.01)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it did not end
            counts = exact.fit(X, y).mistake_counts_
        assert counts.sum() == k
        dual = KernelPerceptron("linear", shuffle=False, max_updates=k)
        assert np.array_equal(dual.fit(X, y).mistake_counts_, counts)


def test_strict_mistakes_never_leave_zero():
    model = Perceptron(mistake="strict", fit_intercept=False).fit(X4, Y4)
    assert (model.mistakes_, model.stop_reason_) == (0, "no_mistakes")
    X, y, _ = teacher(50, 2)
    model = Perceptron(mistake="strict", shuffle=False).fit(X, y, coef_init=[[1e-3, 0.0]])
    assert audit(model, X, y, coef_init=[[1e-3, 0.0]]).holds


def test_a_falling_learning_rate():
    """The steps are η0/√t at visit t, and what the theorem then says holds along every run."""
    for seed in range(10):
        X, y, _ = teacher(40, 3, margin=0.02, random_state=seed)
        model = Perceptron(learning_rate="invscaling", fit_intercept=False, random_state=seed, prove=False)
        w = np.zeros(3)
        for t, step in enumerate(model.steps(X, y, plane=None), 1):
            if step.mistake:
                w = w + y[step.row] * X[step.row] / math.sqrt(t)
            assert step.w_after == pytest.approx(w, abs=1e-12)
        model.fit(X, y)
        visits = 40 * model.n_iter_
        R, gamma = np.linalg.norm(X, axis=1).max(), mistake_bound(X, y, fit_intercept=False).margin.lower
        assert model.mistakes_ <= R / gamma * math.sqrt(visits * (1 + math.log(visits)))
    part = Perceptron(learning_rate="invscaling", shuffle=False)
    for rows in np.array_split(np.arange(40), 4):
        part.partial_fit(X[rows], y[rows], classes=[-1, 1])
    whole = Perceptron(learning_rate="invscaling", order=list(range(40))).fit(X, y)
    assert np.array_equal(part.coef_, whole.coef_)
    with pytest.raises(ValueError, match="steps"):
        audit(whole, X, y)
    with pytest.raises(DataError, match="target_margin"):
        Perceptron(learning_rate="invscaling", target_margin=0.1).fit(X, y)


def test_basis_vectors_attain_the_bound():
    for d in (1, 2, 5, 16):
        X, y, plane = teacher(max(2, d), d, kind="basis", radius=3.0)
        if d > 1:
            bound = mistake_bound(X, y, fit_intercept=False)
            assert plane.margin(X, y) == pytest.approx(3 / math.sqrt(d))
            assert Perceptron(fit_intercept=False).fit(X, y).mistakes_ == bound.mistakes == d


def test_a_hard_order_is_what_it_says():
    X, y, _ = teacher(25, 2, margin=0.02, random_state=3)
    found = hardest_order(X, y, fit_intercept=False, time_limit=0.3)
    model = Perceptron(order=found.order, fit_intercept=False).fit(X, y)
    assert model.mistakes_ == found.mistakes == len(found.order) <= found.bound.mistakes
    assert model.stop_reason_ == "separated"
    typical = [Perceptron(fit_intercept=False, random_state=s).fit(X, y).mistakes_ for s in range(5)]
    assert found.mistakes > max(typical)
    with pytest.raises(ValueError, match="separates"):
        hardest_order([[0], [1], [2]], [0, 1, 0])


def test_a_plane_is_an_object():
    plane = Plane([3.0, 4.0], -5.0)
    X, y = np.array([[1, 1], [0, 0], [3, -1]]), np.array(["a", "b", "b"])
    assert plane.score(X).tolist() == [2, -5, 0]
    assert plane.predict(X, ("a", "b")).tolist() == ["b", "a", "a"]
    assert plane.errors(X, y) == 3
    assert plane.loss(X, y) == 2 + 5
    assert plane.margin(X, y) == -1
    assert plane.distance(sp.csr_array(X)).tolist() == [0.4, -1, 0]
    feet = plane.project(X)
    assert plane.score(feet) == pytest.approx([0, 0, 0], abs=1e-12)
    assert np.linalg.norm(X - feet, axis=1) == pytest.approx(abs(plane.distance(X)))
    X, y, same = teacher(100, 2, plane=plane, radius=4.0, margin=0.3)
    assert same.w.tolist() == [3, 4]
    assert same.b == -5
    assert plane.margin(X, y) >= 0.3
    model = Perceptron(shuffle=False).fit(X, y)
    assert (model.plane_.w == model.coef_[0]).all()
    assert model.plane_.errors(X, y) == model.training_errors_
    assert model.plane_.margin(X, y) == pytest.approx(model.margin_)
    with pytest.raises(DataError, match="2 weights"):
        plane.score([[1, 2, 3]])
    drawn, modeled = PlaneDisplay.from_plane(model.plane_, X, y), PlaneDisplay.from_estimator(model, X, y)
    assert drawn.margin_ == modeled.margin_
    assert drawn.labels == modeled.labels == (-1, 1)


def test_counts_are_weights():
    for seed in range(5):
        X, y, _ = teacher(50, 3, margin=0.05, random_state=seed)
        for offset in (True, False):
            model = Perceptron(fit_intercept=offset, eta0=0.5, random_state=seed).fit(X, y)
            found = weights_from_counts(model.mistake_counts_, X, y, fit_intercept=offset, eta0=0.5)
            assert found.w == pytest.approx(model.coef_[0])
            assert found.b == pytest.approx(model.intercept_[0])
    kernel = KernelPerceptron("linear", shuffle=False).fit(X, y)
    again = Perceptron(fit_intercept=False, order=kernel.trace_).fit(X, y)
    assert np.array_equal(again.mistake_counts_, kernel.mistake_counts_)
    assert audit(again, X, y).holds


def test_bounds_of_all_halfspaces_hold():
    """The VC bound and that of finite classes beside their formulas; vacuous on few rows, and never below the error."""
    for n, wanted in ((20, True), (200_000, False)):
        X, y, plane = teacher(n, 2, margin=0.01, random_state=1)
        found = generalization(Perceptron(shuffle=False).fit(X, y), X, y)
        growth = sum(math.comb(2 * n, i) for i in range(4))
        assert found.vc.value == pytest.approx(
            min(2 * math.log2(4 * growth / 0.05) / n, math.sqrt(8 * math.log(8 * growth / 0.05) / n))
        )
        assert found.finite_class.value == pytest.approx((192 * math.log(2) + math.log(40)) / n) or n == 20
        assert found.vc.vacuous == wanted
        assert "infinitely many" in found.finite_class.assumptions[1]
        new, labels, _ = teacher(20_000, 2, margin=0.01, plane=plane, random_state=9)
        assert np.mean(Perceptron(shuffle=False).fit(X, y).predict(new) != labels) <= found.vc.value
