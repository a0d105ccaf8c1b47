"""Data with a known plane keep what was asked of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linsep import Plane, teacher
from linsep.data.plane import lessons


@given(
    n=st.integers(2, 200),
    d=st.integers(1, 60),
    margin=st.floats(0, 0.6),
    radius=st.sampled_from([1e-3, 1.0, 100.0]),
    offset=st.one_of(st.booleans(), st.floats(-0.39, 0.39)),
    seed=st.integers(0, 10**6),
)
def test_points_keep_margin_radius_and_both_labels(n, d, margin, radius, offset, seed):
    offset = offset if isinstance(offset, bool) else offset * radius
    X, y, plane = teacher(n, d, margin=margin * radius, radius=radius, offset=offset, random_state=seed)
    assert X.shape == (n, d)
    assert isinstance(plane, Plane)
    assert np.linalg.norm(plane.w) == pytest.approx(1)
    assert (y * (X @ plane.w + plane.b)).min() >= margin * radius
    assert np.linalg.norm(X, axis=1).max() <= radius
    assert set(y) == {-1, 1}
    if offset is False:
        assert plane.b == 0
    elif offset is not True:
        assert plane.b == offset


def test_what_is_drawn_is_as_asked():
    X, y, plane = teacher(5000, 2, margin=0.2, flip=0.15, random_state=0)
    distances = np.abs(X @ plane.w)
    assert np.count_nonzero(y != np.sign(X @ plane.w)) == 750  # exactly
    assert distances.min() < 0.201  # nearly the margin
    assert distances.max() > 0.95  # and the ball is filled
    assert np.linalg.norm(X, axis=1).max() > 0.95
    assert np.array_equal(X, teacher(5000, 2, margin=0.2, flip=0.15, random_state=0)[0])
    assert not np.array_equal(X, teacher(5000, 2, margin=0.2, flip=0.15, random_state=1)[0])


@pytest.mark.parametrize(("arguments", "message"), [
    ({"n": 1}, "n must be at least 2, got 1"), ({"d": 0}, "d must be at least 1, got 0"),
    ({"flip": 1.5}, "flip must be between 0 and 1"), ({"radius": 0.0}, "radius must be positive"),
    ({"margin": -0.1}, "margin must be 0 or more"), ({"margin": 1.0}, "no point can lie"),
    ({"offset": 0.95}, "no point can lie"),
])  # fmt: skip
def test_impossible_wishes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        teacher(**{"n": 10, "d": 2, **arguments})


@pytest.mark.parametrize("offset", [False, True, 0.25])
def test_lessons_have_one_plane_and_keep_the_margin(offset):
    parts = list(lessons(1001, 7, margin=0.05, radius=2.0, offset=offset, random_state=3, block=700))
    assert [len(X) for X, _, _ in parts] == [100] * 9 + [101]  # a last row by itself goes with the others
    planes = [plane for _, _, plane in parts]
    assert all(np.array_equal(plane.w, planes[0].w) and plane.b == planes[0].b for plane in planes)
    X, y = np.concatenate([X for X, _, _ in parts]), np.concatenate([y for _, y, _ in parts])
    assert (y * (X @ planes[0].w + planes[0].b) >= 0.05).all()
    assert (np.linalg.norm(X, axis=1) <= 2.0).all()
    assert len(np.unique(X, axis=0)) == 1001


def test_a_short_lesson_is_the_teachers():
    (lesson,) = lessons(50, 3, offset=True, flip=0.2, random_state=8)
    for one, other in zip(lesson, teacher(50, 3, offset=True, flip=0.2, random_state=8), strict=True):
        assert np.array_equal(np.hstack(one), np.hstack(other))
