"""Figures are checked on what they drew."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp

from linsep import Perceptron, PlaneDisplay, teacher


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


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
    largest = np.concatenate((negative.get_sizes(), positive.get_sizes())).max()
    assert largest == pytest.approx(82)  # the row with most mistakes
    assert display.figure_ is display.ax_.figure


def test_plane_display_on_given_axes_and_other_rows():
    X, y, _ = teacher(50, 2, random_state=3)
    model = Perceptron().fit(X, y)
    _, ax = plt.subplots()
    display = PlaneDisplay.from_estimator(model, X[:20], y[:20], ax=ax)
    assert display.ax_ is ax
    assert not display.counts.any()  # mistakes of other rows say nothing of these


def test_nothing_to_draw_is_said():
    X, y, _ = teacher(50, 2, random_state=3)
    three = Perceptron().fit([[0, 0], [5, 0], [0, 5]], [0, 1, 2])
    with pytest.raises(ValueError, match="3 classes"):
        PlaneDisplay.from_estimator(three, [[0, 0], [5, 0]], [0, 1])
    model = Perceptron().fit(X, y)
    model.coef_ = np.zeros((1, 2))
    with pytest.raises(ValueError, match="w = 0"):
        PlaneDisplay.from_estimator(model, X, y)
