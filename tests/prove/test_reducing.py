"""A verdict looks at what is there: columns and rows without a say, planes of one column, classes by way of two."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from data import data_of
from linsep import separate
from linsep.clock import Clock
from linsep.prove.check.fast_check import separates
from linsep.prove.core import facial_reduction, presolve
from linsep.prove.verdict.decide import VerdictSearch, nearest_classes
from oracles import inequalities, kind, proves


def fat(rng, X, storage):
    """Add zero, constant and equal columns to some rows, and repeat some of the rows."""
    n, d = X.shape
    columns = [X, np.zeros((n, 2)), np.full((n, 1), 3), X[:, rng.integers(0, d, 2)]]
    wide = np.hstack(columns)[:, rng.permutation(d + 5)]
    rows = np.concatenate((np.arange(n), rng.integers(0, n, n)))
    return storage(wide[rows]), rows


@pytest.mark.parametrize("storage", [np.array, sp.csr_array])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_what_has_no_say_does_not_change_a_verdict(storage, offset, classes):
    rng = np.random.default_rng(classes)
    seen = set()
    for _ in range(12):
        n, d = int(rng.integers(classes + 1, 9)), int(rng.integers(1, 4))
        X = rng.integers(-2, 3, size=(n, d))
        y = np.append(np.arange(classes), rng.integers(0, classes, n - classes))
        wide, rows = fat(rng, X, storage)
        verdict = separate(wide, y[rows], fit_intercept=offset)  # the constant column is as good as an offset
        assert verdict.kind == kind(inequalities(X.tolist(), y.tolist(), tuple(range(classes)), True))
        assert verdict.check(wide, y[rows])
        assert proves(verdict, wide, y[rows].tolist())
        seen.add(verdict.kind)
    assert len(seen) > 1


@pytest.mark.parametrize("storage", [np.array, sp.csr_array])
def test_columns_and_rows_that_are_left(storage):
    X = np.array([[0, 1, 7, 1, 0, 2], [0, 2, 7, 2, 5, 4], [0, 1, 7, 1, 0, 2], [0, 3, 7, 3, 0, 6], [0, 1, 7, 1, 0, 2]])
    data = data_of(storage(X), [0, 1, 0, 1, 1], (0, 1), True)
    left = presolve.presolved(data, Clock())
    assert left.columns.tolist() == ([1, 4, 5] if storage is np.array else [1, 2, 4, 5])  # sparse constants stay
    assert left.rows.tolist() == [0, 1, 3, 4]
    assert left.contradicting.tolist() == [[0, 3]]
    origin = presolve.presolved(data._replace(offset=False), Clock())  # a constant is as good as an offset then
    assert origin.columns.tolist() == [1, 2, 4, 5]


def test_all_columns_constant():
    assert separate(np.ones((4, 3)), [0, 1, 0, 1]).kind == "overlap"
    assert separate(sp.csr_array(np.zeros((4, 3))), [0, 1, 0, 1]).kind == "overlap"


@pytest.mark.parametrize("width", [2**18, 2**40])
@pytest.mark.parametrize(("levels", "classes"), [(2, 2), (4, 3), (4, 22), (30, 22)])
def test_the_width_of_the_index_space_does_not_matter(width, levels, classes):
    """Words hashed into very many columns are decided as they are in as many columns as they use."""
    rng = np.random.default_rng(levels)
    places = rng.choice(width, (3, levels)) if width < 2**32 else rng.integers(0, width, (3, levels))
    words = np.array([places[c, rng.integers(0, levels, 32)] for c in range(3)]).T
    y = np.append(np.arange(classes), rng.integers(0, classes, 32 - classes))
    used, indices = np.unique(words, return_inverse=True)
    lines = np.repeat(np.arange(32), 3)
    narrow = sp.csr_array((np.ones(96), (lines, indices.ravel())), (32, len(used)))
    want = separate(narrow, y)
    assert proves(want, narrow, y.tolist())
    wide = sp.csr_array((np.ones(96), words.ravel(), np.arange(0, 97, 3)), (32, width))
    wide.sort_indices()
    if width < 2**32:
        verdict = separate(wide, y)
        assert verdict.check(wide, y)
        assert verdict.kind == want.kind
    else:  # a dense vector of weights does not fit into memory: what is left is decided all the same
        left = presolve.presolved(data_of(wide, y, tuple(range(classes)), True), Clock())
        assert left.data.n_features <= len(used)
        found = VerdictSearch(left.data, Clock()).certificate()
        assert found.kind == want.kind
        if found.separator is not None:
            with pytest.raises(MemoryError, match="of the columns matter"):
                separate(wide, y)
        else:
            assert separate(wide, y).kind == "overlap"


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([2, 3]), st.sampled_from([np.array, sp.csr_array]))
@settings(deadline=None, max_examples=150)
def test_planes_of_one_column(seed, offset, classes, storage):
    """Found exactly when brute force finds a threshold between a class and the others; weakly right."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(6, 2)) if seed % 2 else np.abs(rng.integers(-3, 2, size=(6, 2)))
    y = np.append(np.arange(classes), rng.integers(0, classes, 6 - classes))
    data = data_of(storage(X), y.tolist(), tuple(range(classes)), offset)
    plane = presolve.weakly_beyond(data, Clock())
    exists = False
    for x in X.T:
        for c in range(classes):
            for upper in (y == c, y != c):
                low, high = x[~upper].max(), x[upper].min()
                fits = low <= high if offset else low <= 0 <= high
                exists |= bool(fits and x.min() < x.max())
    assert (plane is not None) == exists
    if plane is not None and classes == 3:
        assert separates(plane, data, strictly=False)


def test_a_plane_of_one_column_makes_quasi_of_a_refutation():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 6))
    y = rng.integers(0, 2, 300)
    X[:, 2] = 0
    X[np.flatnonzero(y == 1)[:3], 2] = (0.5, 1.0, 2.0)
    verdict = separate(X, y)
    assert verdict.kind == "quasi"
    assert proves(verdict, X, y.tolist())
    assert np.flatnonzero(verdict.separator.w).tolist() == [2]
    several = np.where((y == 1) & (np.arange(300) % 2 == 0), 2, y)
    assert separate(X, several).kind == "quasi"


def test_peelings_put_together():
    """Rows that fall to one column after the other: a decision list, separable only by large weights."""
    d = 12
    X = np.vstack([np.eye(d)[j] * (1 + j % 3) + np.eye(d)[j + 1 :].sum(axis=0) for j in range(d)])
    y = np.arange(d) % 2
    data = data_of(X, y.tolist(), (0, 1), True)
    found = presolve.peel(data, Clock())
    assert sum(map(len, found.gone)) + len(found.left) == d
    verdict = separate(X, y)
    assert verdict.kind == "separable"
    assert proves(verdict, X, y.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_levels_in_floats_and_exact_ones_agree(classes, monkeypatch):
    rng = np.random.default_rng(4)
    kinds = []
    for k in range(24):
        n = int(rng.integers(5, 25))
        X = rng.integers(0, 2, size=(n, 5)) if k % 2 else rng.integers(-3, 4, size=(n, 3))
        y = np.append(np.arange(classes), rng.integers(0, classes, n - classes))
        kinds.append((X, y, separate(X, y).kind))
        assert kinds[-1][2] == kind(inequalities(X.tolist(), y.tolist(), tuple(range(classes)), True))
    with monkeypatch.context() as patch:
        patch.setattr(facial_reduction._FloatSteps, "run", lambda _: None)
        assert all(separate(X, y).kind == found for X, y, found in kinds)
    assert len({found for _, _, found in kinds}) == 3


def test_several_classes_by_way_of_two():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(200, 30)), np.repeat(np.arange(5), 40)
    X[y == 1] = X[y == 0] + 1e-3 * rng.normal(size=(40, 30))
    X[y == 1, 0] = X[y == 0, 0][::-1]
    X[0], X[41] = (X[40] + X[42]) / 2, X[41]
    X = np.round(X * 64) / 64
    X[0] = (X[40] + X[42]) / 2
    X[43] = 2 * X[0] - X[1]
    data = data_of(X, y.tolist(), tuple(range(5)), True)
    assert nearest_classes(data)[0] == (0, 1)
    verdict = separate(X, y)
    assert verdict.refutation is not None
    assert proves(verdict, X, y.tolist())


def test_peeling_finds_what_is_rare():
    """A column that is zero in all rows of the sample, and is not in a few others, is peeled like any other."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 3)), rng.integers(0, 2, 5000)
    rare = np.flatnonzero(y == 1)[[1, 500, 1501]]
    X[:, 0] = 0
    X[rare, 0] = 1
    found = presolve.peel(data_of(X, y, (0, 1), True), Clock())
    assert len(found.planes) == 1
    assert found.gone[0].tolist() == rare.tolist()


def test_a_contradiction_between_two_of_many_classes_that_are_not_near():
    rng = np.random.default_rng(3)
    d, C = 30, 8
    X, y = rng.integers(-9, 10, size=(40 * C, d)).astype(float), np.repeat(np.arange(C), 40)
    X[:, :C] += 60.0 * np.eye(C)[y] * (y >= 2)[:, None]  # all but the first two stand apart
    X[80, 10:20] = X[120, 10:20] = 3000.0  # the means of other classes are nearer, and those of the first two far
    X[0, 8], X[40, 8] = 4000.0, -4000.0
    X[:, -2] = np.where(y == C - 1, 5.0, 0.0)  # a column that one class is beyond
    X[41] = 2 * X[2] - X[42]  # a row in the middle of two of the other class
    assert (0, 1) not in nearest_classes(data_of(X, y.tolist(), tuple(range(C)), True))
    verdict = separate(X, y)
    assert verdict.kind == "quasi"
    assert set(y[verdict.refutation.rows]) == {0, 1}
    assert proves(verdict, X, y.tolist())


@pytest.mark.parametrize(("levels", "n", "seed"), [(100, 3000, 6), (60, 2000, 0), (60, 2000, 4)])
def test_contrasts_of_a_factor_need_no_exact_steps(monkeypatch, levels, n, seed):
    """Rows of balanced designs depend on each other in many ways: a basis must not take rounding for a pivot."""

    def never(*_args):
        raise AssertionError

    monkeypatch.setattr(facial_reduction, "exact_steps", never)
    rng = np.random.default_rng(seed)
    level = rng.integers(0, levels, n)
    contrasts = (level[:, None] == np.arange(levels - 1)) - (level == levels - 1)[:, None].astype(int)
    X, y = np.hstack((contrasts, rng.integers(-9, 10, (n, 20)))), rng.integers(0, 2, n)
    y[level < 3] = level[level < 3] % 2  # the rows of three levels have one label each
    verdict = separate(X, y)
    assert verdict.kind == "quasi"
    W, b = verdict.separator.exactly()
    side = [sum(w * int(x) for w, x in zip(W[0], row, strict=True)) + b[0] for row in X]
    signed = [value if label else -value for value, label in zip(side, y, strict=True)]
    assert min(signed) == 0 < max(signed)
    assert verdict.check(X, y)
