"""Figures are checked on what they drew."""

import re
from dataclasses import replace
from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.colors import to_hex
from matplotlib.patches import StepPatch
from PIL import Image
from sklearn.datasets import load_digits

from data import quiet
from linsep import (
    BracketDisplay,
    KernelPerceptron,
    MarginsDisplay,
    MaxMarginClassifier,
    PassesDisplay,
    Perceptron,
    PlaneDisplay,
    PlanesDisplay,
    RegionsDisplay,
    TheoremDisplay,
    animate,
    audit,
    largest_margin,
    teacher,
    theme,
)
from linsep.figures.style import CLASSES, class_colors, short


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def lines(ax):
    """Return the curves of axes by their label."""
    return {line.get_label(): line for line in ax.lines}


# ---------------------------------------------------------------------------------------------------------------
# The plane


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("d", [2, 6])
def test_plane_display(d, storage):
    X, y, _ = teacher(80, d, margin=0.2, offset=0.3, random_state=2)
    model = Perceptron().fit(X, y)
    display = PlaneDisplay.from_estimator(model, storage(X), y)
    line = display.ax_.lines[0].get_xydata()
    assert np.abs(line @ display.w + display.b).max() < 1e-9 * np.linalg.norm(display.w)  # both ends are on the plane
    # distances of the points drawn are those of the rows, and the band just touches the nearest
    drawn = (display.points @ display.w + display.b) / np.linalg.norm(display.w)
    np.testing.assert_allclose(drawn, model.distance(X), atol=1e-12)
    assert display.margin_ == pytest.approx(model.margin_)
    band = display.ax_.patches[0].get_xy()[:4]
    np.testing.assert_allclose(
        np.abs(band @ display.w + display.b) / np.linalg.norm(display.w), model.margin_, rtol=1e-6
    )
    negative, positive = display.ax_.collections
    assert len(negative.get_offsets()) == np.count_nonzero(y == -1)
    assert len(positive.get_offsets()) == np.count_nonzero(y == 1)
    assert ("projection" in display.ax_.get_ylabel()) == (d > 2)
    assert ("projection of 6 features" in display.ax_.get_xlabel()) == (d > 2)
    largest = np.concatenate((negative.get_sizes(), positive.get_sizes())).max()
    assert largest == pytest.approx(82)  # the row with most mistakes
    assert display.figure_ is display.ax_.figure


def test_the_second_direction_is_the_widest_across_the_plane():
    X, y, _ = teacher(90, 7, margin=0.1, random_state=3)
    model = Perceptron().fit(X, y)
    unit = model.coef_[0] / np.linalg.norm(model.coef_)
    rest = X - np.outer(X @ unit, unit)
    widest = np.linalg.svd(rest - rest.mean(axis=0))[2][0]
    drawn = PlaneDisplay.from_estimator(model, sp.csr_array(X), y).points[:, 1]
    np.testing.assert_allclose(np.abs(np.corrcoef(drawn, X @ widest)[0, 1]), 1)
    assert drawn.std() == pytest.approx((X @ widest).std())


def test_rows_of_one_sum_still_spread():
    """All rows have the same sum, and so have the weights of both classes: a spread that a vector of ones misses."""
    X = sp.csr_array(np.eye(200, 400)[np.r_[0:100, 0:100]] + np.eye(400)[np.repeat([398, 399], 100)])
    y = np.repeat([0, 1], 100)
    drawn = PlaneDisplay.from_estimator(MaxMarginClassifier().fit(X, y), X, y).points[:, 1]
    assert drawn.std() > 0.01


@pytest.mark.parametrize("d", [1, 3])
def test_few_features_and_rows_without_spread(d):
    X = np.zeros((4, d))
    X[:, 0] = [-2, -1, 1, 2]
    display = PlaneDisplay.from_estimator(Perceptron().fit(X, [0, 0, 1, 1]), X, [0, 0, 1, 1])
    np.testing.assert_allclose(display.points, np.column_stack((X[:, 0], np.zeros(4))), atol=1e-9)


def test_of_many_sparse_rows_some_are_drawn_and_none_made_dense():
    rng = np.random.default_rng(5)
    X = sp.random_array((5000, 40_000), density=2e-4, rng=rng, format="csr")
    X = sp.hstack((X, rng.standard_normal((5000, 1))), format="csr")
    y = X[:, [40_000]].toarray().ravel() > 0
    model = quiet(Perceptron(max_iter=3), X, y)
    display = PlaneDisplay.from_estimator(model, X, y)
    assert 2000 < len(display.points) <= 3000
    assert display.margin_ == pytest.approx(np.abs(model.distance(X)).min())  # the nearest row is among them
    assert display.counts.max() == model.mistake_counts_.max()
    assert f"{len(display.points):,} of 5,000 rows" in display.ax_.get_xlabel()


def test_plane_display_on_given_axes_and_other_rows():
    X, y, _ = teacher(50, 2, random_state=3)
    model = Perceptron().fit(X, y)
    _, ax = plt.subplots()
    display = PlaneDisplay.from_estimator(model, X[:20], y[:20], ax=ax)
    assert display.ax_ is ax
    assert not display.counts.any()  # mistakes of other rows say nothing of these


def test_support_rows_have_rings_and_wrong_ones_crosses():
    X, y, _ = teacher(50, 2, margin=0.1, offset=0.1, random_state=3)
    model = MaxMarginClassifier().fit(X, y)
    rings = PlaneDisplay.from_estimator(model, X, y).ax_.collections[2]
    np.testing.assert_array_equal(rings.get_offsets(), X[model.support_])
    flipped = np.where(np.arange(50) == 7, -y, y)
    crosses = PlaneDisplay.from_estimator(Perceptron().fit(X, y), X, flipped).ax_.collections[2]
    np.testing.assert_array_equal(crosses.get_offsets(), X[[7]])


def test_what_cannot_be_drawn_is_said():
    X, y, _ = teacher(50, 2, random_state=3)
    other = KernelPerceptron().fit(X, y)
    for display in (PlaneDisplay, MarginsDisplay, RegionsDisplay):
        with pytest.raises(TypeError, match=f"{display.__name__} draws a fitted linear .* KernelPerceptron has none"):
            display.from_estimator(other, X, y)
        with pytest.raises(TypeError, match="Perceptron is not fitted"):
            display.from_estimator(Perceptron(), X, y)
        with pytest.raises(ValueError, match="keep='vote'"):
            display.from_estimator(Perceptron(keep="vote").fit(X, y), X, y)
    for model in (MaxMarginClassifier().fit(X, y), Perceptron()):
        with pytest.raises(TypeError, match=r"records its passes, not a (MaxMarginClassifier|Perceptron)"):
            PassesDisplay.from_estimator(model, X, y)
    for display in (TheoremDisplay, BracketDisplay, PassesDisplay):
        with pytest.raises(ValueError, match="KernelPerceptron has no trace"):
            display.from_estimator(other, X, y)
    with pytest.raises(ValueError, match="KernelPerceptron has no trace"):
        animate(other, X, y)
    with pytest.raises(ValueError, match=r"50.*49|49.*50"):
        PlaneDisplay.from_estimator(Perceptron().fit(X, y), X, y[:49])


def test_nothing_to_draw_is_said():
    X, y, _ = teacher(50, 2, random_state=3)
    three = Perceptron().fit([[0, 0], [5, 0], [0, 5]], [0, 1, 2])
    with pytest.raises(ValueError, match="the model has 3"):
        PlaneDisplay.from_estimator(three, [[0, 0], [5, 0]], [0, 1])
    with pytest.raises(ValueError, match="the model has 3"):
        PlanesDisplay.from_data([[0, 0], [5, 0], [0, 5]], [0, 1, 2])
    model = Perceptron().fit(X, y)
    with pytest.raises(ValueError, match="draw it with PlaneDisplay"):
        RegionsDisplay.from_estimator(model, X, y)
    model.coef_ = np.zeros((1, 2))
    for display in (PlaneDisplay, MarginsDisplay):
        with pytest.raises(ValueError, match="w = 0"):
            display.from_estimator(model, X, y)


def test_planes_of_other_orders_beside_the_best():
    X, y, _ = teacher(60, 2, margin=0.15, offset=0.1, random_state=4)
    display = PlanesDisplay.from_data(X, y, shuffles=2)
    assert list(display.margins) == ["cyclic", "first", "worst", "shuffled 0", "shuffled 1"]
    margin = largest_margin(X, y)
    assert max(display.margins.values()) <= margin.upper == pytest.approx(display.largest)
    drawn = display.ax_.lines
    assert len(drawn) == 6
    for line, (w, b) in zip(drawn, [*display.planes.values(), display.best], strict=True):
        assert np.abs(line.get_xydata() @ w + b).max() < 1e-9 * np.linalg.norm(w)
        assert (np.where(y > 0, 1, -1) * (X @ w + b) > 0).all()
    assert sum(len(c.get_offsets()) for c in display.ax_.collections) == 60


def test_planes_in_many_dimensions_are_shown_by_their_margins():
    X, y, _ = teacher(60, 5, margin=0.15, random_state=4)
    display = PlanesDisplay.from_data(X, y, shuffles=1)
    dots = display.ax_.collections[1].get_offsets()
    np.testing.assert_allclose(dots[:, 0], sorted(display.margins.values()))
    assert display.ax_.lines[0].get_xdata()[0] == display.largest


# ---------------------------------------------------------------------------------------------------------------
# The run


def test_passes():
    X, y, _ = teacher(400, 6, margin=0.01, offset=0.1, random_state=5)
    train, test = slice(0, 300), slice(300, 400)
    model = Perceptron().fit(X[train], y[train])
    display = PassesDisplay.from_estimator(model, X[train], y[train], X[test], y[test])
    mistakes, loss, errors = display.axes_
    np.testing.assert_array_equal(mistakes.lines[0].get_ydata(), model.history_["mistakes"])
    np.testing.assert_array_equal(loss.lines[0].get_ydata(), model.history_["loss"])
    assert display.at[0] == 1
    assert display.at[-1] == model.n_iter_
    for place, k in enumerate(display.at):  # the weights after k passes, from a run of k passes
        short = quiet(Perceptron(max_iter=int(k)), X[train], y[train])
        assert display.training_error[place] == pytest.approx(1 - short.score(X[train], y[train]))
        assert display.test_error[place] == pytest.approx(1 - short.score(X[test], y[test]))
    np.testing.assert_allclose(errors.lines[0].get_ydata(), 100 * display.training_error)
    np.testing.assert_allclose(errors.lines[1].get_ydata(), 100 * display.test_error)
    assert display.ax_ is errors
    best = display.at[np.argmin(display.test_error)]
    assert f"after pass {best}" in errors.get_legend().get_texts()[1].get_text()


def test_passes_with_what_the_run_recorded():
    X, y, _ = teacher(200, 4, margin=0.01, random_state=5)
    model = quiet(Perceptron(max_iter=200, early_stopping=True, n_iter_no_change=50), X, y)
    display = PassesDisplay.from_estimator(model)
    assert display.training_error is None
    np.testing.assert_array_equal(display.test_error, model.history_["validation_error"][display.at - 1])
    assert len(PassesDisplay.from_estimator(Perceptron().fit(X, y)).axes_) == 2
    _, axes = plt.subplots(1, 2)
    assert PassesDisplay.from_estimator(model, ax=axes[1]).figure_ is axes[0].figure


@pytest.mark.parametrize("start", [None, [0.5, -2.0, 1.0]])
def test_the_theorem(start):
    X, y, _ = teacher(150, 3, margin=0.1, random_state=6)
    model = Perceptron(fit_intercept=False, eta0=0.5).fit(X, y, coef_init=start)
    display = TheoremDisplay.from_estimator(model, X, y, coef_init=start)
    found = audit(model, X, y, coef_init=start)
    drawn = lines(display.ax_)
    np.testing.assert_allclose(drawn["‖w‖"].get_ydata() ** 2, found.squared_norm)
    np.testing.assert_allclose(drawn["w·u"].get_ydata(), found.progress)
    most = next(line for name, line in drawn.items() if "at most" in name)
    least = next(line for name, line in drawn.items() if "at least" in name)
    k = most.get_xdata()
    inside = (k > 0) & (k < found.bound.lower)
    assert (most.get_ydata()[inside] > least.get_ydata()[inside]).all()
    assert (most.get_ydata()[k > found.bound.upper] < least.get_ydata()[k > found.bound.upper]).all()
    at = [line.get_xdata()[0] for line in display.ax_.lines if len(line.get_xdata()) == 2]
    assert found.bound.upper in at  # the bound is a vertical line
    assert f"{model.mistakes_} of at most {found.bound.mistakes:,} mistakes" in display.ax_.get_title(loc="left")


def clouds():
    """Three clouds, whose bound is far beyond the run."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((20, 2)) + c for c in ([-9, -9], [9, 0], [0, 9])])
    return X, np.repeat([0, 1, 2], 20)


@pytest.mark.parametrize("multiclass", [False, True])
@pytest.mark.parametrize("offset", [False, True])
def test_the_bound_is_drawn_where_it_is_at_every_mistake(multiclass, offset):
    X, y = clouds() if multiclass else teacher(100, 2, margin=0.1, random_state=2)[:2]
    model = quiet(Perceptron(fit_intercept=offset, max_iter=5000, eta0=0.5), X, y)
    display = TheoremDisplay.from_estimator(model, X, y)
    Q = (np.square(X).sum(axis=1).max() + offset) * (2 if multiclass else 1)
    for ax in (display.ax_, *display.ax_.child_axes):
        drawn = lines(ax)
        (most,) = (line for name, line in drawn.items() if "at most" in name)
        k, high = most.get_xdata(), most.get_ydata()
        np.testing.assert_allclose(high, 0.5 * np.sqrt(k * Q), rtol=1e-9)
        steps, norms = drawn["‖w‖"].get_xdata(), drawn["‖w‖"].get_ydata()
        assert np.isin(steps[1:], k).all()  # a chord between two points of a root would lie below it
        assert (norms[1:] <= high[np.searchsorted(k, steps[1:])] * (1 + 1e-9)).all()


def evaluated(text):
    """Return the value of a formula as it is printed: ``2(10.9² + 1)/0.83²``."""
    text = re.sub(r"(?<=\d)\(", "*(", text.replace("·", "*").replace("²", "**2"))
    return eval(text, {"__builtins__": {}})


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("multiclass", "offset", "formula", "root"), [
    (False, False, "R²/γ²", "√k ηR"), (False, True, "(R² + 1)/γ²", "√k η√(R² + 1)"),
    (True, True, "2(R² + 1)/γ²", "√k η√(2R² + 2)"),
])  # fmt: skip
def test_the_printed_formula_gives_the_printed_bound(multiclass, offset, formula, root, storage):
    X, y = clouds() if multiclass else teacher(100, 2, margin=0.02, random_state=2)[:2]
    model = quiet(Perceptron(fit_intercept=offset, max_iter=5000), X, y)
    display = TheoremDisplay.from_estimator(model, storage(X), y)
    said = display.ax_.get_xlabel().split("\n")[1].split(" = ")
    assert said[0] == formula
    radius = float(re.search(r"[\d.]+(?=²)", said[1])[0])
    assert radius == pytest.approx(np.linalg.norm(X, axis=1).max(), rel=1e-5)  # R is the longest row, offset or not
    assert evaluated(said[1]) == pytest.approx(float(said[2]), rel=2e-4)
    assert int(evaluated(said[1])) == display.audit.bound.mistakes
    assert any(name.startswith(f"{root}: ") for name in lines(display.ax_))


def test_first_weights_are_in_the_formula():
    X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    start = {"coef_init": [[-3.0, 1.0]]}
    model = Perceptron(fit_intercept=False, shuffle=False).fit(X, y, **start)
    names = list(lines(TheoremDisplay.from_estimator(model, X, y, **start).ax_))
    assert names[0].startswith("√(‖w₀‖² + kη²R²): ")
    assert names[2].startswith("w₀·u + kηγ: ")


def test_the_theorem_with_a_bound_far_away():
    X, y, _ = teacher(100, 2, margin=1e-4, random_state=2)
    found = TheoremDisplay.from_estimator(Perceptron().fit(X, y), X, y)
    assert found.ax_.get_xscale() == "log"
    assert not found.ax_.child_axes


def test_the_bracket():
    X, y, _ = teacher(150, 3, margin=0.1, offset=0.2, random_state=6)
    model = Perceptron().fit(X, y)
    display = BracketDisplay.from_estimator(model, X, y)
    assert (display.upper[1:] >= display.margin[0]).all()
    assert display.achieved <= display.margin[1]
    w = np.append(model.coef_, model.intercept_)
    assert display.upper[-1] == pytest.approx(np.linalg.norm(w) / model.mistakes_)
    assert display.achieved == pytest.approx(
        (np.where(y > 0, 1, -1) * (np.c_[X, np.ones(150)] @ w)).min() / np.linalg.norm(w)
    )
    curve = display.ax_.lines[0]
    np.testing.assert_array_equal(curve.get_ydata(), display.upper[1:])


def test_no_bound_to_draw_is_said():
    X, y, _ = teacher(50, 3, margin=0.1, random_state=6)
    found = audit(Perceptron().fit(X, y), X, y)
    for bound, reason in ((None, "no plane separates"), (replace(found.bound, upper=np.inf), "from below")):
        with pytest.raises(ValueError, match=reason):
            TheoremDisplay(replace(found, bound=bound))


def test_a_long_run_is_thinned_but_not_changed():
    upper = np.concatenate(([np.inf], 1 / np.arange(1.0, 100_001)))
    line = BracketDisplay(upper, None, (1e-6, 2e-6)).plot().ax_.lines[0]
    assert 1000 < len(line.get_xdata()) < 5000
    np.testing.assert_allclose(line.get_ydata(), 1 / line.get_xdata())
    assert line.get_xdata()[[0, -1]].tolist() == [1, 100_000]


def test_the_bracket_without_a_plane():
    X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
    display = BracketDisplay.from_estimator(quiet(Perceptron(max_iter=300), X, y), X, y)
    assert display.margin is None
    assert display.achieved is None
    assert display.upper[-1] < 0.05 * display.upper[1]
    assert "could have" in display.ax_.get_title(loc="left")


# ---------------------------------------------------------------------------------------------------------------
# Rows and regions


def test_margins():
    X, y, _ = teacher(200, 4, margin=0.05, flip=0.05, random_state=7)
    model = quiet(Perceptron(max_iter=20), X, y)
    display = MarginsDisplay.from_estimator(model, X, y)
    np.testing.assert_allclose(display.margins, y * model.distance(X))
    assert display.wrong_ == np.count_nonzero(display.margins <= 0)
    steps = [patch.get_data() for patch in display.ax_.patches if isinstance(patch, StepPatch)]
    rows = [int((step.values - step.baseline).sum()) for step in steps]
    assert rows == [np.count_nonzero(y < 0), np.count_nonzero(y > 0)]  # every row is in a bar of its class
    np.testing.assert_array_equal(steps[1].values, np.histogram(display.margins, steps[1].edges)[0])
    assert f"{display.wrong_} of 200 are wrong" in display.ax_.get_title(loc="left")
    assert display.ax_.lines[1].get_xdata()[0] == display.margins.min()


def test_margins_of_many_classes():
    X, y = [[0, 0], [5, 0], [0, 5], [0, 6]], [0, 1, 2, 2]
    model = Perceptron().fit(X, y)
    display = MarginsDisplay.from_estimator(model, X, y)
    assert display.smallest_ == pytest.approx(model.margin(X, y))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_regions(d):
    rng = np.random.default_rng(8)
    centres = np.eye(d)[:2] * 6 if d > 1 else np.array([[9.0], [-9.0]])
    X = np.concatenate([rng.standard_normal((30, d)) + c for c in [np.zeros(d), *centres]])
    y = np.repeat(["a", "b", "c"], 30)
    model = quiet(Perceptron(max_iter=50), X, y)
    display = RegionsDisplay.from_estimator(model, X, y)
    # with three classes the projection keeps every prediction
    predicted = model.classes_[(display.points @ display.W.T + display.b).argmax(axis=1)]
    np.testing.assert_array_equal(predicted, model.predict(X))
    image = display.ax_.images[0]
    left, right, bottom, top = image.get_extent()
    colours = image.get_array()
    for x, label in zip(display.points[::7], model.predict(X)[::7], strict=True):
        row = min(int((x[1] - bottom) / (top - bottom) * 500), 499)
        column = min(int((x[0] - left) / (right - left) * 500), 499)
        near = colours[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2]
        assert list(model.classes_).index(label) in near
    np.testing.assert_array_equal(display.wrong, model.predict(X) != y)
    own = [len(c.get_offsets()) for c in display.ax_.collections if c.get_label() in ("a", "b", "c")]
    assert own == [30, 30, 30]


def test_ten_classes_are_told_apart():
    X, y = load_digits(return_X_y=True)
    model = quiet(Perceptron(max_iter=5), X[:300], y[:300])
    display = RegionsDisplay.from_estimator(model, X[:300], y[:300])
    drawn = {c.get_label(): c for c in display.ax_.collections if c.get_label() in "0123456789"}
    looks = {(to_hex(c.get_facecolor()[0]), c.get_paths()[0].vertices.tobytes()) for c in drawn.values()}
    assert len(drawn) == len(looks) == 10
    named = {text.get_text(): text.xy for text in display.ax_.texts}  # the names stand among their rows
    for label, place in named.items():
        np.testing.assert_allclose(place, np.median(drawn[label].get_offsets().data, axis=0))
    assert len(named) == 10


def test_the_legend_of_very_many_classes_stays_short():
    X = np.random.default_rng(1).standard_normal((60, 2))
    display = RegionsDisplay.from_estimator(quiet(Perceptron(max_iter=5), X, np.arange(60)), X, np.arange(60))
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names[14:16] == ["14", "… 60 classes"]
    assert len(names) <= 17


def test_labels_and_names_are_shown_as_they_are():
    X, y, _ = teacher(50, 2, random_state=3)
    labels = np.where(y > 0, "_costs $5 or $6", "a label that is longer than any legend should be")
    frame = pd.DataFrame(X, columns=["$x$", "_y"])
    display = PlaneDisplay.from_estimator(Perceptron().fit(frame, labels), frame, labels)
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert r" _costs \$5 or \$6" in names  # neither a formula nor hidden
    assert "a label that is longer than a…" in names
    assert display.ax_.get_xlabel() == r"\$x\$"
    display.figure_.canvas.draw()


def test_classes_called_after_colors_have_them():
    X, _ = clouds()
    y = np.repeat(["red", "green", "blue"], 20)
    model = Perceptron().fit(X, y)
    for style in ("light", "dark"):
        display = RegionsDisplay.from_estimator(model, X, y, style=style)
        for drawn in display.ax_.collections:
            if drawn.get_label() in ("red", "green", "blue"):
                color = drawn.get_facecolor()[0][:3]
                assert ["red", "green", "blue"][int(np.argmax(color))] == drawn.get_label()
                assert np.sort(color)[1] < 0.75 * color.max()
    # the others keep away from the colors that are taken
    colors = class_colors(["blue", "other", "more"])
    assert len(set(colors)) == 3
    assert int(colors[1][5:], 16) < int(colors[1][1:3], 16)
    assert class_colors(["a", "b"]) == list(CLASSES["light"][:2])


def test_figures_and_page_draw_classes_alike():
    page = files("linsep.pages.explorer") / "page"
    style = (page / "explore.css").read_text()
    for c in range(10):
        pair = re.search(rf"\.c{c} \{{ --c: var\(--n{c}, light-dark\((#\w+), (#\w+)\)\)", style).groups()
        assert pair == (CLASSES["light"][c % 8], CLASSES["dark"][c % 8])
    model = Perceptron().fit([[0, 0], [1, 1]], [-1, 1])
    negative, positive = PlaneDisplay.from_estimator(model, [[0, 0], [1, 1]], [-1, 1]).ax_.collections
    assert to_hex(negative.get_facecolor()[0]).upper() == CLASSES["light"][0]
    assert to_hex(positive.get_facecolor()[0]).upper() == CLASSES["light"][1]
    assert len(positive.get_paths()[0].vertices) == 4  # a triangle, as on the page
    assert '"0 -1.15 1.05 .8 -1.05 .8"' in (page / "elements.js").read_text().split("null, ")[1][:30]


def test_a_plane_outside_the_view_is_not_in_the_legend():
    X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
    seen = set()
    for passes in range(1, 8):
        model = quiet(Perceptron(max_iter=passes, shuffle=False), X, y)
        if not model.coef_.any():
            continue
        ax = PlaneDisplay.from_estimator(model, X, y).ax_
        (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        corners = np.array([(x, y) for x in (left, right) for y in (bottom, top)])
        sides = corners @ model.coef_[0] + model.intercept_[0]
        inside = bool(sides.min() <= 0 <= sides.max())
        named = [text.get_text() for text in ax.get_legend().get_texts()]
        assert ("plane" in named) == inside
        assert ("the plane is outside this view" in ax.get_xlabel()) != inside
        seen.add(inside)
    assert False in seen


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (0.02, "0.02"), (17, "17"), (2500, "2,500"), (1.45e16, "1.45×10¹⁶"), (1e-5, "10⁻⁵"), (np.inf, "∞")],
)
def test_numbers_are_short(number, text):
    assert short(number) == text


# ---------------------------------------------------------------------------------------------------------------
# Motion and style


@pytest.mark.parametrize(("d", "classes"), [(2, 2), (4, 2), (2, 3)])
def test_animation_has_a_frame_for_every_mistake(tmp_path, d, classes):
    if classes == 2:
        X, y, _ = teacher(40, d, margin=0.15, random_state=9)
    else:
        X, y = np.array([[0, 0], [5, 0], [0, 5], [0, 6]]), [0, 1, 2, 2]
    model = Perceptron().fit(X, y)
    animate(model, X, y, tmp_path / "run.gif")
    with Image.open(tmp_path / "run.gif") as film:
        assert 1 < film.n_frames <= model.mistakes_ + 1
        assert film.n_frames > model.mistakes_ / 2  # frames that look the same may be one


def test_the_last_frame_is_the_plane_of_the_model(tmp_path):
    X, y, _ = teacher(40, 2, margin=0.1, offset=0.2, random_state=9)
    model = Perceptron().fit(X, y)
    film = animate(model, sp.csr_array(X), y, tmp_path / "run.html", max_frames=5)
    film._draw_frame(4)
    ax = film._fig.axes[0]
    line = lines(ax)["plane"].get_xydata()
    assert np.abs(line @ model.coef_[0] + model.intercept_[0]).max() < 1e-9 * np.linalg.norm(model.coef_)
    assert f"mistake {model.mistakes_} of {model.mistakes_}, on row {model.trace_[-1]}" in ax.get_title(loc="left")
    page = (tmp_path / "run.html").read_text()
    assert page.count("data:image/png;base64") == 5
    assert not re.findall(r"https?://|<link|class=.fa", page)  # nothing comes from the network
    assert "⏮" in page
    assert "numbered from 0" in ax.get_xlabel()


def test_animation_says_what_it_cannot_write(tmp_path, monkeypatch):
    X, y, _ = teacher(40, 2, margin=0.15, random_state=9)
    model = Perceptron().fit(X, y)
    with pytest.raises(ValueError, match=r"\.gif, \.html or \.mp4, not \.avi"):
        animate(model, X, y, tmp_path / "run.avi")
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(ValueError, match="needs the program ffmpeg"):
        animate(model, X, y, tmp_path / "run.mp4")


def test_dark_and_light():
    X, y, _ = teacher(40, 2, margin=0.15, random_state=9)
    model = Perceptron().fit(X, y)
    for style, paper in (("light", "#ffffff"), ("dark", "#15181d")):
        for display in (PlaneDisplay, MarginsDisplay, TheoremDisplay, BracketDisplay):
            drawn = display.from_estimator(model, X, y, style=style)
            assert to_hex(drawn.figure_.get_facecolor()) == paper
            assert to_hex(drawn.ax_.xaxis.label.get_color()) != paper
    with pytest.raises(ValueError, match="'light' or 'dark'"):
        PlaneDisplay.from_estimator(model, X, y, style="pink")


def test_colors_can_be_told_apart():
    """Classes differ in lightness or hue also when red and green look the same, and text has contrast enough."""

    def luminance(colour):
        values = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for style in ("light", "dark"):
        with theme(style) as palette:
            paper, ink = luminance(palette.paper), luminance(palette.ink)
            assert (max(paper, ink) + 0.05) / (min(paper, ink) + 0.05) > 7
            # deuteranopia leaves blue against yellow: the two classes must differ there
            blue = [
                int(c[5:7], 16) - (int(c[1:3], 16) + int(c[3:5], 16)) / 2 for c in (palette.negative, palette.positive)
            ]
            assert abs(blue[0] - blue[1]) > 80
            assert len(set(palette.classes)) == 8
