"""Why a run ends: the loss L(w) at the end of each pass, and planes that rows lie on."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from data import few, quiet
from linsep import KernelPerceptron, PassiveAggressive, Perceptron, load, read, save, teacher
from linsep.models.from_files import fit_source


def noisy(seed=0, n=80, classes=2):
    """Whole numbers, so that sums have no rounding."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-6, 7, (n, 3)).astype(float)
    scores = X @ rng.integers(-5, 6, (3, classes))
    y = scores.argmax(axis=1)
    flipped = rng.random(n) < 0.2
    return X, np.where(flipped, rng.integers(0, classes, n), y)


def loss(W, b, X, y, multi_class="argmax", target=0):
    """Σ max(0, target - y s), what the true class lacks, or Σ over machines, row by row from the definition."""
    total = 0
    for x, c in zip(np.asarray(X).tolist(), y, strict=True):
        s = [sum(p * q for p, q in zip(w, x, strict=True)) + o for w, o in zip(W.tolist(), b.tolist(), strict=True)]
        if len(s) == 1:
            total += max(0, target - (s[0] if c == 1 else -s[0]))
        elif multi_class == "ovr":
            total += sum(max(0, target - (v if k == c else -v)) for k, v in enumerate(s))
        else:
            total += max(0, target - (s[c] - max(v for k, v in enumerate(s) if k != c)))
    return total


def stalls_after(losses, tol, patience):
    """The first pass at whose end none of the last ``patience`` losses was below the best before by more than tol."""
    best, waited = float("inf"), 0
    for number, value in enumerate(losses, 1):
        waited = 0 if value < best - tol else waited + 1
        best = min(best, value)
        if waited >= patience:
            return number
    return None


MODELS = {
    "two": (2, {}),
    "shuffled": (2, {"shuffle": True}),
    "three": (3, {}),
    "ovr": (3, {"multi_class": "ovr"}),
    "prediction": (2, {"mistake": "prediction"}),
    "margin": (2, {"update_margin": 3.0}),
    "worst": (2, {"order": "worst"}),
    "average": (2, {"keep": "average"}),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("sparse", few([False, True], 1))
def test_tol_watches_the_loss_of_the_weights_after_each_pass(name, sparse):
    classes, given = MODELS[name]
    X, y = noisy(1, classes=classes)
    rows = sp.csr_matrix(X) if sparse else X
    own = {"shuffle": False, "prove": False, **given}
    model = quiet(Perceptron(tol=5, n_iter_no_change=3, max_iter=200, **own), rows, y)
    losses = []
    for passes in range(1, model.n_iter_ + 1):
        short = quiet(Perceptron(max_iter=passes, **{**own, "keep": "last"}), rows, y)
        losses.append(loss(short.coef_, short.intercept_, X, y, own.get("multi_class", "argmax")))
    assert model.history_["loss"].tolist() == losses
    assert model.stop_reason_ == "loss_plateau"
    assert stalls_after(losses, 5, 3) == model.n_iter_


def test_tol_of_the_passive_aggressive_machine_is_about_its_hinge_loss():
    X, y = noisy(2)
    model = quiet(PassiveAggressive(variant="pa1", tol=1e-3, n_iter_no_change=2, shuffle=False), X, y)
    short = quiet(PassiveAggressive(variant="pa1", max_iter=model.n_iter_, shuffle=False), X, y)
    expected = loss(short.coef_, short.intercept_, X, y, target=1)
    assert model.history_["loss"][-1] == pytest.approx(expected)


def test_rows_of_weight_0_and_held_out_rows_have_no_part_in_the_loss():
    X, y = noisy(3)
    weight = np.ones(80)
    weight[:30] = 0
    own = {"tol": 5, "n_iter_no_change": 3, "shuffle": False, "prove": False}
    some, alone = quiet(Perceptron(**own), X, y, sample_weight=weight), quiet(Perceptron(**own), X[30:], y[30:])
    assert some.history_["loss"].tolist() == alone.history_["loss"].tolist()


def test_without_tol_nothing_changes():
    X, y = noisy(4)
    model = quiet(Perceptron(shuffle=False, prove=False, max_iter=5, fit_intercept=False), X, y)
    w, visits = np.zeros(3), []
    for _ in range(5):
        total = 0
        for x, c in zip(X, np.where(y == 1, 1, -1), strict=True):
            v = c * (w @ x)
            total += max(0, -v)
            w = w + c * x if v <= 0 else w
        visits.append(total)
    assert model.history_["loss"].tolist() == visits


@pytest.mark.parametrize("block", [97, 1 << 20])
def test_a_file_has_the_losses_of_an_array(tmp_path, block):
    X, y, _ = teacher(300, 4, margin=0.01, flip=0.2, random_state=3)
    path = tmp_path / "rows.csv"
    path.write_text(
        "a,b,c,d,y\n" + "".join(f"{','.join(map(repr, x.tolist()))},{c}\n" for x, c in zip(X, y, strict=True))
    )
    own = {"tol": 0.5, "n_iter_no_change": 3, "shuffle": False, "prove": False}
    array = quiet(Perceptron(**own), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = fit_source(Perceptron(**own), read(path, block_bytes=block))
    assert array.history_["loss"].tolist() == file.history_["loss"].tolist()
    assert array.stop_reason_ == file.stop_reason_ == "loss_plateau"
    assert array.coef_.tolist() == file.coef_.tolist()


RECORDS = ("coef_", "intercept_", "margin_", "n_iter_", "stop_reason_", "refutation_", "mistakes_", "trace_")


@pytest.mark.parametrize("kind", [Perceptron, PassiveAggressive, KernelPerceptron])
def test_a_model_that_is_not_fitted_says_so(kind):
    own = ("n_iter_", "mistakes_", "history_", "mistake_counts_", "support_vectors_")
    for name in own if kind is KernelPerceptron else (*RECORDS, "mistake_counts_", "history_"):
        assert not hasattr(kind(), name)
        with pytest.raises(NotFittedError, match=f"This {kind.__name__} instance is not fitted yet"):
            getattr(kind(), name)
    with pytest.raises(AttributeError, match="has no attribute 'stop_reasons_'"):
        _ = kind().stop_reasons_


@pytest.mark.parametrize("keep", ["last", "average", "vote", "best"])
def test_what_is_computed_on_demand_survives_copies(keep, tmp_path):
    X, y, _ = teacher(60, 2, margin=0.1)
    model = Perceptron(keep=keep)
    for part in (slice(0, 30), slice(30, 60)):
        model.partial_fit(X[part], y[part])
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    save(model, tmp_path / "m")
    copies.append(load(tmp_path / "m"))
    for each in copies:
        assert np.array_equal(each.coef_, model.coef_)
        assert np.array_equal(each.intercept_, model.intercept_)
        assert each.margin_ == model.margin_


# ---------------------------------------------------------------------------------------------------------------
# Rows on the plane


@pytest.mark.parametrize("on_plane", [-1, 1])
def test_separated_is_said_of_a_plane_that_separates_strictly(on_plane):
    X, y = [[0, 0], [1, 0], [-1, 0]], [on_plane, 1, -1]
    model = Perceptron(mistake="prediction", on_plane=on_plane, fit_intercept=False, shuffle=False).fit(X, y)
    assert model.score(X, y) == 1
    assert model.margin_ == 0
    assert model.stop_reason_ == "no_mistakes"
    strict = Perceptron(mistake="prediction", on_plane=on_plane, fit_intercept=False, shuffle=False).fit(X[1:], y[1:])
    assert (strict.stop_reason_, strict.margin_ > 0) == ("separated", True)


def test_three_classes_that_tie():
    X, y = [[1.0, 0], [0, 1], [0, 0]], [1, 2, 0]
    model = Perceptron(mistake="prediction", fit_intercept=False, shuffle=False).fit(X, y)
    assert model.score(X, y) == 1
    assert model.stop_reason_ == "no_mistakes"  # the row of zeros has all scores 0, and the first class is predicted
    each = Perceptron(mistake="prediction", fit_intercept=False, shuffle=False, multi_class="ovr", max_iter=50)
    assert quiet(each, X, y).stop_reason_ != "separated"


def test_rows_of_weight_0_may_lie_on_the_plane():
    X, y = [[0.0, 0], [1, 0], [-1, 0]], [-1, 1, -1]
    model = Perceptron(mistake="prediction", fit_intercept=False, shuffle=False).fit(X, y, sample_weight=[0, 1, 1])
    assert model.stop_reason_ == "separated"


@pytest.mark.parametrize("seed", range(30))
def test_the_reason_and_the_margin_agree(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-2, 3, (12, 2)), rng.integers(0, 2 + seed % 2, 12)
    y[:3] = [0, 1, seed % 2 * 2]
    model = quiet(Perceptron(mistake="prediction", fit_intercept=seed % 3 > 0, max_iter=60), X, y)
    if model.stop_reason_ in ("separated", "no_mistakes"):
        assert model.score(X, y) == 1
        assert (model.stop_reason_ == "separated") == (model.margin(X, y) > 0)
