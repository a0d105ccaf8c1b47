"""Every verdict is proved, the proof checked by fractions alone, and the verdict what an exact program says."""

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from threadpoolctl import threadpool_info

import linsep
from data import data_of, sealed
from javascript import judged
from linsep import Perceptron, Verdict, from_json, separate, separator, to_json, verify
from linsep.clock import Clock, OutOfTime
from linsep.data.parallel import in_parallel
from linsep.prove.check.integers import difference
from linsep.prove.core import exact_steps, facial_reduction, scaled_view, wide_rows
from linsep.prove.linear_algebra import algebra
from linsep.prove.verdict.decide import decide as decide_data
from oracles import inequalities, kind, proves


def decide(X, y, *, fit_intercept=True):
    """Separate, and have the proof confirmed by our check and the independent one."""
    X = np.asarray(X)
    verdict = separate(X, y, fit_intercept=fit_intercept)
    assert verdict.kind in ("separable", "quasi", "overlap")
    assert (verdict.separator is None) == (verdict.kind == "overlap")
    assert (verdict.refutation is None) == (verdict.kind == "separable")
    assert verdict.check(X, y)
    assert X.size > 50_000 or verdict.check(X, y, plain=True)
    assert proves(verdict, X, list(y))
    return verdict


def from_signed(Z):
    """Return rows and labels whose inequalities without offset are the rows of Z."""
    y = np.arange(len(Z)) % 2
    return np.where(y[:, None] == 1, Z, -Z), y


# ---------------------------------------------------------------------------------------------------------------
# Against an exact linear program


@st.composite
def small_problems(draw):
    classes = draw(st.sampled_from([2, 2, 3]))
    d = draw(st.integers(1, 3))
    n = draw(st.integers(classes, 8 if classes == 2 else 5))
    size = draw(st.integers(1, 3))
    X = draw(st.lists(st.lists(st.integers(-size, size), min_size=d, max_size=d), min_size=n, max_size=n))
    rest = draw(st.lists(st.integers(0, classes - 1), min_size=n - classes, max_size=n - classes))
    return X, [*range(classes), *rest], draw(st.booleans())


@given(small_problems())
@example(([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1], True))
@example(([[0], [0]], [0, 1], False))
@settings(deadline=None, max_examples=150)
def test_verdict_is_that_of_an_exact_program(problem):
    X, y, offset = problem
    verdict = decide(X, y, fit_intercept=offset)
    assert verdict.kind == kind(inequalities(X, y, verdict.classes, offset))


@given(small_problems(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_scales_do_not_matter(problem, seed):
    X, y, offset = problem
    rng = np.random.default_rng(seed)
    scaled = np.array(X) * 2.0 ** rng.integers(-300, 300, size=len(X[0]))
    if not offset:
        scaled = scaled * 2.0 ** rng.integers(-200, 200, size=(len(X), 1))
    assert decide(scaled, y, fit_intercept=offset).kind == separate(X, y, fit_intercept=offset).kind


@given(small_problems())
@settings(deadline=None, max_examples=40)
def test_storage_does_not_matter(problem):
    X, y, offset = problem
    want = separate(X, y, fit_intercept=offset).kind
    for stored in (
        np.asfortranarray(X, dtype=float),
        sp.csc_array(np.array(X, dtype=float)),
    ):
        verdict = separate(stored, y, fit_intercept=offset)
        assert verdict.kind == want
        assert proves(verdict, stored, y)


# ---------------------------------------------------------------------------------------------------------------
# Cases that are hard for floats


@pytest.mark.parametrize("g", [1e-3, 1e-6, 1e-9, 1e-12, 1e-14, 1e-15, 1e-16, 1e-17, 0.0])
def test_ladder_of_margins(g):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 12))
    u = rng.normal(size=12)
    u /= np.linalg.norm(u)
    X += 0.1 * np.sign(X @ u)[:, None] * u
    y = (X @ u > 0).astype(int)
    side = np.where(np.arange(80) % 2, 1, -1)
    X[:80] += (g * side - X[:80] @ u)[:, None] * u
    y[:80] = side > 0
    verdict = decide(X, y)  # below the last bit rounding decides, and whatever it decided must be proved
    if g >= 1e-14:
        assert verdict.kind == "separable"
    if g == 0.0:
        assert verdict.kind != "separable"


@pytest.mark.parametrize("g", [2.0**-40, 2.0**-60, 2.0**-200, 2.0**-1000])
def test_margins_below_the_last_bit(g):
    """One column tells the classes apart by g only; the others are as good as random."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 60)
    X = np.column_stack((rng.integers(-9, 10, size=(60, 3)), np.where(y == 1, g, -g)))
    X[0, :3] = 0  # amid the others
    assert decide(X, y).kind == "separable"
    X[0, 3] *= -1
    assert decide(X, y).kind == "quasi"
    X[0, 3] *= 2
    assert decide(X, y).kind == "overlap"


def test_last_bit_decides():
    x = np.array([1.0, np.nextafter(1.0, 2.0)])[:, None]
    assert decide(x, [0, 1]).kind == "separable"
    assert decide(np.vstack((x, x[1:])), [0, 1, 0]).kind == "quasi"
    assert decide(np.vstack((x, x)), [0, 1, 1, 0]).kind == "overlap"
    rng = np.random.default_rng(3)
    X = rng.integers(-50, 51, size=(200, 4)).astype(float)
    y = (X @ [1, 2, -3, 1] > 0).astype(int)
    X[0] = [1, 1, 1, 2e-12]  # 1 + 2 - 3 + 2e-12: on its side by 1e-14 of the radius
    y[0] = 1
    X[1], y[1] = [1, 1, 1, 0], 0
    X[2], y[2] = [-3, 3, 1, 0], 0
    assert decide(X, y).kind == "separable"
    X[0, 3] = 0.0
    assert decide(X, y).kind != "separable"


@pytest.mark.parametrize("factor", [1, 2])
@pytest.mark.parametrize("d", [8, 20])
def test_chain_of_faces(d, factor):
    rng = np.random.default_rng(4)
    rows, y = [], []
    for j in range(d - 1):
        row = np.zeros(d, dtype=int)
        row[j] = 1
        row[j + 1 :] = rng.integers(-3, 4, d - j - 1)
        rows += [row, factor * row]  # with factor 2 no two rows are equal: one level of faces for every pair
        y += [1, 0]
    rows.append(np.eye(d, dtype=int)[-1])
    verdict = decide(np.array(rows), [*y, 1], fit_intercept=False)
    assert verdict.kind == "quasi"
    rows.append(3 * np.eye(d, dtype=int)[-1])
    assert decide(np.array(rows), [*y, 1, 0], fit_intercept=False).kind == "overlap"


@pytest.mark.parametrize("d", [10, 30, 60])
def test_decision_lists_need_weights_that_double(d):
    Z = np.eye(d, dtype=int) - np.triu(np.ones((d, d), dtype=int), 1)
    assert decide(*from_signed(Z), fit_intercept=False).kind == "separable"
    Z = np.vstack((Z, -np.eye(d, dtype=int)[-1]))
    assert decide(*from_signed(Z), fit_intercept=False).kind == "quasi"


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("scales", ["columns", "rows"])
def test_wild_scales(scales, flipped):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 5))
    y = (X @ [1, 2, 3, 4, 5] > 0).astype(int)
    y[np.abs(X @ [1, 2, 3, 4, 5]).argmax()] ^= flipped
    X = X * 10.0 ** np.linspace(-150, 150, 5) if scales == "columns" else X * 10.0 ** rng.uniform(-100, 100, (120, 1))
    verdict = decide(X, y, fit_intercept=scales == "columns")
    assert verdict.kind == ("overlap" if flipped else "separable")


@pytest.mark.parametrize(
    ("X", "y", "offset", "want"),
    [
        ([[1.7e308, -1.7e308], [-1.7e308, 1.7e308], [1.6e308, 1.7e308]], [0, 1, 1], True, "separable"),
        ([[1.7e308], [-1.7e308], [1.7e308]], [0, 1, 1], True, "quasi"),
        ([[5e-324], [0.0]], [0, 1], True, "separable"),
        ([[5e-324, 1.7e308], [0.0, 1.7e308]], [0, 1], True, "separable"),
        ([[5e-324], [5e-324]], [0, 1], True, "overlap"),
        ([[5e-324], [1e300]], [0, 1], False, "overlap"),
        ([[5e-324], [-1e300]], [0, 1], False, "separable"),
        ([[0, 0], [1, 2], [2, 1]], [0, 0, 1], False, "quasi"),
        ([[0, 0], [1, 2], [2, 4]], [0, 0, 1], False, "overlap"),
        ([[0, 0], [0, 0], [0, 0]], [0, 1, 0], True, "overlap"),
        ([[3, 0], [3, 1], [3, 0], [3, 1]], [0, 1, 0, 1], True, "separable"),
        ([[3, 0], [3, 1], [3, 1], [3, 2]], [0, 1, 0, 1], True, "quasi"),
        ([[3, 0], [3, 2], [3, 1], [3, 3]], [0, 1, 1, 0], True, "overlap"),
        ([[0], [1], [1], [2]], [0, 0, 1, 1], True, "quasi"),
        ([[1], [2], [3]], ["a", "b", "c"], True, "separable"),
        ([[1], [2], [2]], ["a", "b", "c"], True, "quasi"),
        ([[1], [1], [1]], ["a", "b", "c"], True, "overlap"),
        ([[True, False], [False, True]], [False, True], True, "separable"),
    ],
)
def test_corners(X, y, offset, want):
    assert decide(np.array(X), y, fit_intercept=offset).kind == want


@pytest.mark.parametrize("size", [1e-306, 1e-307, 1e-310, 1e305])
def test_values_at_the_end_of_the_range_of_floats(size):
    for seed in range(20):  # some planes overflow on the way; the exact check refuses them, without a warning
        rng = np.random.default_rng(seed)
        X, w = rng.normal(size=(60, 3)), rng.normal(size=3)
        y = (X @ w + 0.3 > 0).astype(int)
        X += np.where(y == 1, 1, -1)[:, None] * 1e-3 * w
        assert decide(X * size, y).kind == "separable"


@pytest.mark.parametrize("sparse", [False, True])
def test_floats_hold_the_differences_of_many_planes(sparse):
    rng = np.random.default_rng(4)
    X = sp.random_array((60, 2500), density=0.01, format="csr", rng=rng) if sparse else rng.normal(size=(300, 4))
    y = (X @ rng.normal(size=(X.shape[1], 4)) + 0.1).argmax(axis=1)
    verdict = separate(X, y)
    assert verdict.check(X, y)
    plane = verdict.separator
    full = np.column_stack((plane.w, plane.b))
    for own, rival in itertools.permutations(range(4), 2):  # or the check of many columns would take minutes
        assert difference(full[own], full[rival]).dtype == np.float64


def test_integers_on_a_high_ground():
    rng = np.random.default_rng(6)
    X = rng.integers(-5, 6, size=(200, 6))
    s = X @ [1, -2, 3, -4, 5, 1]
    X, y = X[s != 0], (s[s != 0] > 0).astype(int)
    assert decide(X + 2.0**50, y).kind == "separable"
    assert decide(X + 2**60, y).kind == "separable"  # int64, beyond the integers that floats hold
    y[np.abs(X @ [1, -2, 3, -4, 5, 1]).argmax()] ^= 1
    assert decide(X + 2.0**50, y).kind == "overlap"
    assert decide(X + 2**60, y).kind == "overlap"


@pytest.mark.parametrize("e", [1e-8, 1e-13])
def test_nearly_dependent_columns(e):
    rng = np.random.default_rng(7)
    A, N = rng.normal(size=(150, 4)), rng.normal(size=(150, 4))
    y = (N @ [1, 2, 3, 4] > 0).astype(int)
    decide(np.hstack((A, A + e * N)), y)
    assert decide(np.hstack((A, e * N)), y).kind == "separable"
    y[np.abs(N @ [1, 2, 3, 4]).argmax()] ^= 1
    assert decide(np.hstack((A, A + e * N)), y).kind == "overlap"


def test_contradicting_duplicates():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] > 0).astype(int)
    nearest = np.abs(X[:, 0]).argmin()
    X[:, 0] += np.sign(X[:, 0])
    X[nearest, 0] = 0.0
    verdict = decide(np.vstack((X, X[nearest])), np.append(y, 1 - y[nearest]))
    assert verdict.kind == "quasi"
    assert verdict.refutation.rows.tolist() == [nearest, 300]
    assert verdict.refutation.multipliers == (1, 1)
    assert decide(np.vstack((X, X[:20])), np.append(y, 1 - y[:20])).kind == "overlap"


def test_simplex_around_the_origin():
    S = np.vstack((np.eye(6, dtype=int), -np.ones((1, 6), dtype=int)))
    verdict = decide(*from_signed(S), fit_intercept=False)
    assert verdict.kind == "overlap"
    assert verdict.refutation.multipliers == (1,) * 7
    assert decide(*from_signed(S[:-1]), fit_intercept=False).kind == "separable"
    facet = np.vstack((S[:, :5], np.eye(5, dtype=int)[0]))  # in a space of one dimension less, through the origin
    padded = np.column_stack((facet, np.append(np.zeros(7, dtype=int), 1)))
    assert decide(*from_signed(padded), fit_intercept=False).kind == kind(padded.tolist())


def test_grid():
    G = np.array(list(np.ndindex(8, 8, 8)))
    total = G.sum(axis=1)
    y = (total > 10).astype(int)
    assert decide(G, y).kind == "separable"
    corner = y.copy()
    corner[np.flatnonzero(total == 20)[0]] ^= 1
    assert decide(G, corner).kind == "overlap"
    inner = y.copy()
    inner[(G == [4, 4, 3]).all(axis=1)] ^= 1  # in the middle of its face
    assert decide(G, inner).kind != "separable"
    cut = y.copy()
    cut[G[:, 0] == 3] ^= 1
    assert decide(G, cut).kind == "overlap"


# ---------------------------------------------------------------------------------------------------------------
# Real data


@pytest.mark.parametrize(
    ("load", "target", "want"),
    [
        (load_iris, 0, "separable"),
        (load_iris, 1, "overlap"),
        (load_iris, 2, "overlap"),
        (load_wine, 0, "separable"),
        (load_wine, 1, "separable"),
        (load_wine, 2, "separable"),
        (load_breast_cancer, 1, "separable"),
        pytest.param(load_digits, 0, "separable", marks=pytest.mark.compiled),
        pytest.param(load_digits, 8, "quasi", marks=pytest.mark.compiled),
        pytest.param(load_digits, 9, "quasi", marks=[pytest.mark.compiled, pytest.mark.slow]),
    ],
)
def test_real_data(load, target, want):
    X, y = load(return_X_y=True)
    assert decide(X, (y == target).astype(int)).kind == want


def test_real_data_of_many_classes():
    assert decide(*load_wine(return_X_y=True)).kind == "separable"
    assert decide(*load_iris(return_X_y=True)).kind == "quasi"


def test_classes_that_only_all_weights_together_tell_apart():
    """Classes in the middle are beyond no plane; the teacher's weights separate them, and one row more leaves none."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(900, 6)) * 64) / 64
    scores = X @ rng.normal(size=(20, 6)).T + rng.normal(size=20)
    least = np.sort(scores, axis=1)
    X, y = X[least[:, -1] > least[:, -2] + 0.05], scores.argmax(axis=1)[least[:, -1] > least[:, -2] + 0.05]
    classes, counts = np.unique(y, return_counts=True)
    assert len(classes) > 15
    assert not all(separate(X, y == c).kind == "separable" for c in classes)
    assert decide_all(X, y) == "separable"
    few, many = classes[counts.argmin()], classes[counts.argmax()]
    between = X[y == many][:2].mean(axis=0)  # in the hull of a class that it is not of
    assert decide_all(np.vstack((X, between)), np.append(y, few)) == "overlap"


def decide_all(X, y):
    """Return the kind of a verdict that both checks confirm."""
    verdict = separate(X, y)
    assert verify(verdict, X, y)
    assert verify(verdict, X, y, plain=True)
    return verdict.kind


LIBRARIES = """
import numpy
from threadpoolctl import threadpool_info
from linsep.data.parallel import quiet_algebra, scipy_linalg
def threads():
    return sorted(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
with quiet_algebra():
    before = threads()
    import scipy.linalg  # as compiled code does for its first product
    loud = threads()
    scipy_linalg()
    print(before, loud, threads())
print(threads())
"""


def test_libraries_that_are_loaded_late_are_quiet_too():
    env = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", LIBRARIES], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[1] [1, 2] [1, 1]", "[2, 2]"]


def test_rounding_flips_verdicts():
    X, y = load_breast_cancer(return_X_y=True)
    assert [decide(np.round(X, digits), y).kind for digits in (0, 1, 2, 3)] == ["quasi", "quasi", "overlap", "overlap"]


# ---------------------------------------------------------------------------------------------------------------
# The last means


def limited(X, y, wide=2000, *, fit_intercept=True, clock=None):
    """Decide with another clock, or by conjugate gradients from another width on."""
    classes = tuple(sorted(set(np.asarray(y).tolist())))
    X = X if sp.issparse(X) else np.asarray(X)
    return Verdict.of(decide_data(data_of(X, y, classes, fit_intercept), classes, clock or Clock(), wide))


@pytest.fixture
def without_floats(monkeypatch):
    monkeypatch.setattr(facial_reduction._FloatSteps, "run", lambda _: None)


@pytest.mark.parametrize("rationals", [False, True])
@pytest.mark.usefixtures("without_floats")
def test_search_without_floats(rationals, monkeypatch):
    """Without float steps the exact ones decide; without floats in these, Wolfe's algorithm in rationals does."""
    if rationals:
        monkeypatch.setattr(exact_steps, "_chase", lambda _, pairs, __: (False, None, pairs, None))
    rng = np.random.default_rng(9)
    seen = set()
    for _ in range(60):
        n, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
        X, y = rng.integers(-2, 3, size=(n, d)), np.append([0, 1], rng.integers(0, 2, n - 2))
        verdict = limited(X, y)
        seen.add(verdict.kind)
        assert proves(verdict, X, y.tolist())
        assert verdict.kind == kind(inequalities(X.tolist(), y.tolist(), (0, 1), True))
    assert seen == {"separable", "quasi", "overlap"}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("storage", [np.array, sp.csr_array])
def test_more_columns_than_an_exact_basis_may_have(storage, offset, classes, monkeypatch):
    monkeypatch.setattr(exact_steps, "UNKNOWNS", 40)
    seen = set()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.integers(-2, 3, size=(12, 3)) @ rng.integers(-2, 3, size=(3, 60)) * (1.0 if seed % 2 else 0.1)
        y = np.append(np.arange(classes), rng.integers(0, classes, 12 - classes))
        X[: 4 * (seed // 3)] = X[0]  # rows of all classes in one place
        verdict = limited(storage(X), y, fit_intercept=offset)
        assert verdict.check(X, y)
        assert proves(verdict, X, y.tolist())
        seen.add(verdict.kind)
        assert separate(X, y, fit_intercept=offset).kind == verdict.kind
    assert len(seen) > 1


@pytest.mark.usefixtures("without_floats")
def test_too_many_columns_for_memory_are_refused(monkeypatch):
    monkeypatch.setattr(exact_steps, "UNKNOWNS", 4)
    X = np.arange(40.0).reshape(8, 5) % 7
    X[1] = X[0]
    size = "an exact search in 6 unknowns takes about 1 GB: leave out columns"
    with pytest.raises(MemoryError, match=size):
        limited(X, np.arange(8) % 2)


def test_exact_nearest_point():
    A = algebra.fmpz_mat([[3, 1], [1, 3], [5, 5]])
    x, found = algebra.nearest(A, [], np.empty(0), Clock())
    assert found is None
    assert all(value > 0 for value in (A * x.transpose()).entries())
    x, found = algebra.nearest(algebra.fmpz_mat([[3, 1], [-1, 3], [-1, -5]]), [0, 1], np.array([0.5, 0.5]), Clock())
    assert x is None
    total = sum(w * np.array(row) for w, row in zip(found.multipliers, [[3, 1], [-1, 3], [-1, -5]], strict=True))
    assert len(found.rows) == 3
    assert not total.any()


# ---------------------------------------------------------------------------------------------------------------
# Input, time, documents


def test_bad_input():
    with pytest.raises(ValueError, match="only one class"):
        separate([[1.0], [2.0]], [1, 1])
    with pytest.raises(ValueError, match="0 sample"):
        separate(np.empty((0, 2)), [])
    with pytest.raises(ValueError, match="NaN at row 1, column 0"):
        separate([[1.0], [np.nan], [2.0]], [0, 1, 1])
    with pytest.raises(ValueError, match="infinity at row 2, column 1"):
        separate(sp.csr_matrix([[1.0, 0.0], [0.0, 1.0], [0.0, np.inf]]), [0, 1, 1])
    with pytest.raises(ValueError, match="3 rows but y has 2"):
        separate([[1.0], [2.0], [3.0]], [0, 1])


def test_nan_is_found_although_other_rows_contradict():
    X = np.ones((5000, 3))
    X[4000, 2] = np.nan
    with pytest.raises(ValueError, match="NaN at row 4000, column 2"):
        separate(X, np.arange(5000) % 2)


def test_a_clock_looks_at_the_time_alone():
    clock = Clock(10.0)
    clock.check()
    clock.count(1e15)  # what a step takes counts only where work is limited
    with pytest.raises(OutOfTime):
        clock.sooner(11.0).check()
    clock.deadline -= 11.0
    with pytest.raises(OutOfTime):
        clock.count(0.0)
    X, y, _ = linsep.teacher(300, 4, random_state=0)
    assert limited(X, y, clock=Clock(0.0)).kind == "unknown"


@pytest.mark.parametrize("limit", [-1, -0.5, float("nan")])
def test_a_time_limit_is_a_number_of_seconds(limit):
    with pytest.raises(ValueError, match="time_limit must be a number of seconds not below 0, got"):
        separate([[0.0], [1.0]], [0, 1], time_limit=limit)


@pytest.mark.parametrize("offset", [False, True])
def test_spent_time_leaves_a_bracket(offset):
    rng = np.random.default_rng(10)
    X = rng.normal(size=(50, 2)) + 3.0 * (np.arange(50) % 2 * 2 - 1)[:, None]
    y = np.arange(50) % 2
    verdict = separate(X, y, fit_intercept=offset, time_limit=0.0)
    assert verdict.kind == "unknown"
    assert not verdict.check(X, y)
    best = linsep.largest_margin(X, y, form="affine" if offset else "origin")
    assert verdict.bracket[0] <= best.lower <= best.upper <= verdict.bracket[1]
    assert separate(X, y, fit_intercept=offset, time_limit=1000.0).kind == "separable"


class Impatient(Clock):
    """A clock that runs out at the look after so many."""

    def __init__(self, looks):
        super().__init__(1000.0)
        self.looks = itertools.count(-looks)

    def check(self):
        if next(self.looks) >= 0:
            raise OutOfTime
        super().check()


def test_out_of_time_in_the_middle():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(3000, 10))
    X[:, 0] += 0.2 * np.sign(X[:, 0])
    X, y = X @ rng.normal(size=(10, 10)), (X[:, 0] > 0).astype(int)  # no column separates by itself
    best, kinds = linsep.largest_margin(X, y), []
    for looks in itertools.count():
        verdict = limited(X, y, clock=Impatient(looks))
        kinds.append(verdict.kind)
        if verdict.kind != "unknown":
            break
        assert verdict.bracket[0] <= best.lower <= best.upper <= verdict.bracket[1]
    assert kinds[-1] == "separable"
    assert len(kinds) > 3


DATA = {
    "separable": ([[0.1, 1.0], [1.3, -2.0], [2.7, 0.3]], ["no", "no", "yes"]),
    "quasi": ([[0.1, 1.0], [1.3, -2.0], [1.3, -2.0]], ["no", "no", "yes"]),
    "overlap": ([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]),
    "rational": ([[5e-324, 0.0], [0.0, 0.0]], [True, False]),
    "classes": ([[1.0, 0.5], [2.0, 0.25], [3.5, 0.125], [4.0, 1.0]], [1.0, 2.0, 3.0, 3.0]),
}


@pytest.mark.parametrize("name", DATA)
def test_documents(name, tmp_path):
    X, y = DATA[name]
    verdict = separate(X, y)
    text = to_json(verdict, X, y)
    path = tmp_path / "proof.json"
    path.write_text(text)
    assert verify(verdict, X, y)
    assert verify(text, X, y)
    assert verify(path, X, y)
    assert verify(path, sp.csr_matrix(np.array(X)), y)
    again, _ = from_json(text)
    new, old = json.loads(to_json(again, X, y)), json.loads(text)
    assert all(new[name] == old[name] for name in old if name not in ("made", "digest"))


@pytest.mark.parametrize("name", DATA)
def test_altered_data_are_refused(name):
    X, y = DATA[name]
    text = to_json(separate(X, y), X, y)
    for i, j in np.ndindex(np.array(X).shape):
        changed = np.array(X, dtype=float)
        changed[i, j] = np.nextafter(changed[i, j], 9.0)
        assert not verify(text, changed, y)
    swapped = list(y)
    swapped[0], swapped[-1] = swapped[-1], swapped[0]
    assert not verify(text, X, swapped)


def test_forged_documents_are_refused():
    X, y = DATA["overlap"]
    content = json.loads(to_json(separate(X, y), X, y))
    content["refutation"]["multipliers"][0] = "2"
    content.pop("digest")
    assert not verify(sealed(content), X, y)
    with pytest.raises(ValueError, match="not a valid proof"):
        verify("{}", X, y)
    with pytest.raises(ValueError, match="labels that are text or numbers"):
        to_json(separate([[0], [1]], [("a", 1), ("b", 2)]), [[0], [1]], [("a", 1), ("b", 2)])


def test_perceptron_has_a_separator():
    X, y = load_iris(return_X_y=True)
    model = Perceptron().fit(X, y == 0)
    found = separator(model, X, y == 0)
    assert np.array_equal(found.w, model.coef_[0])
    assert separator(model, X, y == 1) is None
    many = Perceptron().fit([[1.0], [2.0], [4.0]], [0, 1, 2])
    assert separator(many, [[1.0], [2.0], [4.0]], [0, 1, 2]) is not None
    assert separator(many, [[1.0], [2.0], [4.0]], [0, 2, 1]) is None


# ---------------------------------------------------------------------------------------------------------------
# Sparse data of many columns


def words(rng, n=60, d=150):
    """Rows of a few counts each: columns of very different frequency, as in text."""
    X = np.zeros((n, d), dtype=np.int64)
    for i in range(n):
        X[i, np.unique((d * rng.random(15) ** 2).astype(int))] = 1 + rng.integers(0, 3)
    return sp.csr_array(X)


@pytest.mark.parametrize("offset", [False, True])
def test_many_columns(offset):
    wide = 100
    rng = np.random.default_rng(12)
    X = words(rng)
    y = rng.integers(0, 2, X.shape[0])
    verdict = limited(X, y, wide, fit_intercept=offset)
    assert verdict.kind == "separable"
    assert proves(verdict, X, y.tolist())
    both = sp.vstack((X, X[[7]], X[[7]])).tocsr()
    labels = [*y.tolist(), 1 - y[7], y[7]]
    verdict = limited(both, labels, wide, fit_intercept=offset)
    assert verdict.kind == "quasi"
    assert verdict.check(both, labels)
    assert proves(verdict, both, labels)


def test_many_columns_and_classes():
    wide = 100
    rng = np.random.default_rng(13)
    X = words(rng)
    y = rng.integers(0, 3, X.shape[0])
    verdict = limited(X, y, wide)
    assert verdict.kind == "separable"
    assert proves(verdict, X, y.tolist())
    X, y = sp.vstack((X[:20], X[[7]], X[[7]])).tocsr(), [*y[:20].tolist(), 0, 1]
    verdict = limited(X, y, wide)
    assert verdict.kind == "quasi"
    assert proves(verdict, X, y)


def test_many_columns_in_use_by_few():
    X = sp.csr_array((np.ones(8), (np.arange(8) % 4, [3, 3, 9, 9, 9, 2999, 2999, 3])), (4, 3000))
    y = [0, 1, 1, 0]
    verdict = separate(X, y)
    dense = X.toarray()[:, [3, 9, 2999]]
    assert verdict.kind == kind(inequalities(dense.tolist(), y, (0, 1), True))
    assert proves(verdict, X, y)


@pytest.mark.compiled
def test_ctrl_c_leaves_no_thread_and_no_limit(monkeypatch):
    X, y, _ = linsep.teacher(50_000, 30, margin=0.01, random_state=0)
    separate(X, y)  # which starts the threads that stay
    sweep, calls = scaled_view.ScaledView.sweep, []

    def interrupted(_, w):
        calls.append(w)
        raise KeyboardInterrupt

    threads, libraries = threading.active_count(), [(lib["filepath"], lib["num_threads"]) for lib in threadpool_info()]
    with monkeypatch.context() as patch:
        patch.setattr(scaled_view.ScaledView, "sweep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            separate(X, y)
    assert calls
    assert threading.active_count() == threads
    assert [(lib["filepath"], lib["num_threads"]) for lib in threadpool_info()] == libraries
    assert scaled_view.ScaledView.sweep is sweep
    assert separate(X, y).check(X, y)


def test_an_exception_in_one_stretch_is_not_lost():
    done = []

    def work(start, stop):
        done.append((start, stop))
        if start == 0:
            raise KeyboardInterrupt

    in_parallel(lambda *_: None, 2**20, 2**6)  # which starts the threads that stay
    threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        in_parallel(work, 2**20, 2**6)
    assert threading.active_count() == threads
    assert (0, 2**14) in done


def test_every_row_is_worked_on_once():
    seen = np.zeros(10**6, dtype=int)

    def work(start, stop):
        seen[start:stop] += 1

    in_parallel(work, len(seen), 17)
    assert (seen == 1).all()


@pytest.mark.parametrize("offset", [True, False])
def test_labels_in_a_pattern(offset):
    """Every other row is of the other class: a sample of every second row shows one class only."""
    rng = np.random.default_rng(0)
    for d in (1, 3):
        X, y = rng.standard_normal((1100, d)), np.arange(1100) % 2
        assert linsep.separate(X, y, fit_intercept=offset).kind == "overlap"
        X[:, 0] = 2 * y - 1
        assert linsep.separate(X, y, fit_intercept=offset).kind == "separable"


def test_rows_that_depend_on_each_other_but_for_rounding():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = (1e9 + rng.integers(-30, 31, (1250, 6)) / 10).round(1)
        y = rng.integers(0, 2, 1250)
        verdict = linsep.separate(X, y, values="decimal", fit_intercept=False)
        assert (verdict.kind, verdict.check(X, y)) == ("overlap", True)


def test_half_precision_as_decimals():
    X, y = np.array([[0.5], [1.5], [2.5], [0.1]], dtype=np.float16), [0, 1, 1, 0]
    verdict = linsep.separate(X, y, values="decimal")
    assert (verdict.kind, verdict.check(X, y)) == ("separable", True)


# ---------------------------------------------------------------------------------------------------------------
# Sparse rows of low rank


def low_rank(seed, n, d, r):
    """Rows that are combinations of r patterns, and the combinations: these have the same verdict."""
    rng = np.random.default_rng(seed)
    while True:
        A = rng.integers(-2, 3, (n, r)) * (rng.random((n, r)) < 0.6)
        B = rng.integers(-2, 3, (r, d)) * (rng.random((r, d)) < rng.choice([0.01, 0.5]))
        if np.linalg.matrix_rank(B) == r:
            break
    s = A @ rng.integers(-2, 3, r)
    y = np.where(s > 0, 1, np.where(s < 0, 0, rng.integers(0, 2, n)))
    y[:2] = 0, 1
    return sp.csr_array((A @ B).astype(float)), A, y


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d", "r"), [(300, 3000, 5), (60, 1500, 2), (40, 2000, 3)])
@pytest.mark.parametrize("offset", [True, False])
def test_wide_sparse_rows_of_low_rank_but_for_rounding(n, d, r, offset):
    """Decimals times small integers: in doubles the columns that a contradiction uses determine each other."""
    rng = np.random.default_rng(7)
    A = rng.integers(-2, 3, (n, r)) * (rng.random((n, r)) < 0.5)
    B = rng.normal(size=(r, d)).round(2) * (rng.random((r, d)) < 0.5)
    X, y = sp.csr_array(A @ B), rng.integers(0, 2, n)
    verdict = separate(X, y, fit_intercept=offset)
    assert verdict.check(X, y)  # kinds exclude each other: a proof that holds cannot be of the wrong one


@pytest.mark.parametrize("seed", range(30))
def test_sparse_rows_of_low_rank(seed):
    rng = np.random.default_rng(seed)
    X, A, y = low_rank(seed, int(rng.integers(8, 20)), int(rng.integers(500, 900)), int(rng.integers(1, 4)))
    for offset in (True, False):
        verdict = separate(X, y, fit_intercept=offset)
        assert verdict.kind == kind(inequalities(A.tolist(), y.tolist(), (0, 1), offset))
        assert verdict.check(X, y)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("shape", [(4, 2), (40, 1000)])
def test_rows_of_zeros_only(shape, classes):
    y = np.arange(shape[0]) % classes
    for X in (np.zeros(shape), sp.csr_array(shape)):
        for offset in (True, False):
            assert separate(X, y, fit_intercept=offset).kind == "overlap"


def counts_with_wrong_labels(n, d, density=0.01):
    """Sparse counts, of which no few contradict each other: a fifth of the labels of a plane are wrong."""
    rng = np.random.default_rng(0)
    X = sp.random(n, d, density=density, format="csr", random_state=1)
    X.data = np.ceil(3 * X.data)
    y = X @ rng.normal(size=d) > 0
    flipped = rng.choice(n, n // 5, replace=False)
    y[flipped] = ~y[flipped]
    return X, y.astype(int)


@pytest.mark.parametrize("offset", [False, True])
def test_wide_sparse_rows_that_all_cancel_together(offset, monkeypatch):
    """Many more rows than there are columns get multipliers, all of them at once; the sum and the rank are exact."""
    monkeypatch.setattr(wide_rows, "_ROWS_TO_CONTRADICT", (20,))
    X, y = counts_with_wrong_labels(500, 60, density=0.2)
    verdict = limited(X, y, 50, fit_intercept=offset)
    assert verdict.kind == "overlap"
    assert len(verdict.refutation.rows) > 150
    assert verdict.check(X, y)
    assert proves(verdict, X, y.tolist())
    assert verify(verdict, X, y, plain=True)
    rows, signs = X.toarray()[verdict.refutation.rows].astype(int), 2 * y[verdict.refutation.rows] - 1
    rows = np.column_stack((rows, np.ones(len(rows), dtype=int))) if offset else rows
    assert min(verdict.refutation.multipliers) > 0
    assert not (np.array(verdict.refutation.multipliers, dtype=object) * signs @ rows).any()
    assert np.linalg.matrix_rank(rows) == rows.shape[1]
    forged = replace(verdict.refutation, multipliers=(Fraction(1), *verdict.refutation.multipliers[1:]))
    forged = replace(verdict, refutation=forged)
    assert not forged.check(X, y)
    assert not verify(forged, X, y, plain=True)
    documents = [to_json(each, X, y) for each in (verdict, forged)]
    assert [holds for holds, _ in judged(documents, X.toarray(), y)] == [True, False]


@pytest.mark.parametrize("multiple", [0.1, 1 / 3])
def test_wide_sparse_rows_of_long_numbers_have_their_answer_too(multiple, monkeypatch):
    monkeypatch.setattr(wide_rows, "_ROWS_TO_CONTRADICT", (20,))
    X, y = counts_with_wrong_labels(500, 60, density=0.2)
    X.data *= multiple * (1 + np.arange(len(X.data)) % 7)
    verdict = limited(X, y, 50)
    assert verdict.kind == "overlap"
    assert verdict.check(X, y)


def test_wide_sparse_rows_that_all_cancel_but_in_a_column(monkeypatch):
    """Only rows of one class have the last column: its weight puts these on their side, the others on the plane."""
    monkeypatch.setattr(wide_rows, "_ROWS_TO_CONTRADICT", (20,))
    X, y = counts_with_wrong_labels(500, 60, density=0.2)
    column = sp.csr_array(((y == 1) * (np.arange(500) % 3 == 0)).astype(float)[:, None])
    X = sp.hstack((X, column)).tocsr()
    verdict = limited(X, y, 50)
    assert verdict.kind == "quasi"
    assert verdict.check(X, y)
    assert verify(verdict, X, y, plain=True)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 60])
def test_wide_sparse_rows_that_do_not_separate_have_a_certified_bound(limit):
    """Without the time for an exact answer a proof that every margin is tiny: that of a hull in floats."""
    X, y = counts_with_wrong_labels(9000, 2200)
    verdict = linsep.separate(X, y, time_limit=limit)
    if verdict.kind == "unknown":
        radius = float(np.sqrt(X.multiply(X).sum(axis=1).max()))
        low, high = verdict.bracket
        assert low <= 0 < high < 1e-6 * radius
    else:
        assert verdict.kind == "overlap"
        assert verdict.check(X, y)


@pytest.mark.slow
def test_thousands_of_sparse_classes_take_no_gigabytes():
    """Each row has an inequality for each class: 150,000 rows of 3000 classes are not written out for a search."""
    rng = np.random.default_rng(0)
    X = sp.random_array((150_000, 2500), density=0.004, format="csr", rng=rng)
    y = rng.integers(0, 3000, X.shape[0])
    columns = np.flatnonzero(np.bincount(X.indices, minlength=2500))
    started = time.perf_counter()
    verdict = separate(X[:, columns], y, time_limit=5)
    assert time.perf_counter() - started < 6
    assert verdict.kind == "unknown" or verdict.check(X[:, columns], y)


@pytest.mark.slow
def test_rows_that_all_cancel_are_those_of_the_file_by_its_own_labels(tmp_path):
    """Each line of a file with comments, times its label and its multiplier, in plain integers: nothing is left."""
    X, y = counts_with_wrong_labels(7000, 2010)
    lines, path = [], tmp_path / "counts.svm"
    for i, label in enumerate(np.where(y == 1, "-3", "7").tolist()):
        cells = " ".join(f"{j + 1}:{int(v)}" for j, v in zip(X[[i]].indices, X[[i]].data, strict=True))
        lines += [*(["# a comment"] if i % 7 == 0 else []), f"{label} {cells}"]
    path.write_text("\n".join(lines) + "\n")
    verdict = separate(linsep.read(path, cache="none"))
    assert verdict.kind == "overlap"
    written = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    left = dict.fromkeys(range(2011), 0)
    for row, multiplier in zip(verdict.refutation.rows.tolist(), verdict.refutation.multipliers, strict=True):
        label, *cells = written[row]
        for j, value in (("0", "1"), *(cell.split(":") for cell in cells)):
            left[int(j)] += multiplier * int(value) * (1 if label == "7" else -1)
    assert len(verdict.refutation.rows) > 2011
    assert min(verdict.refutation.multipliers) > 0
    assert not any(left.values())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("where", [0, 700, 1999])
def test_no_value_that_is_not_finite_is_proved_on(bad, kind, where):
    """One column alone separates, or does so weakly: others must be looked at all the same."""
    rng = np.random.default_rng(where)
    X = rng.normal(size=(2000, 6)).astype(kind)
    X[:, 2] = np.rint(X[:, 2])
    X[where, 4] = bad
    labels = [
        X[:, 3] > 0,
        np.where(X[:, 2] == 0, rng.random(2000) < 0.5, X[:, 2] > 0),
        np.searchsorted([-1, 1], X[:, 3]),
    ]
    for y in labels:
        for offset in (True, False):
            with pytest.raises(ValueError, match=f"at row {where}, column 4"):
                separate(X, y.astype(int), fit_intercept=offset)
    with pytest.raises(ValueError, match="NaN at row 0, column 1"):
        separate([[1, np.nan], [2, 3], [3, 4.0]], [0, 1, 1])


def test_values_whose_sum_overflows_are_finite():
    X = np.array([[1e308, 1.0], [1e308, 2.0], [1.7e308, 3.0], [1e308, 4.0]] * 600)
    assert separate(X, (X[:, 1] > 2.5).astype(int)).kind == "separable"
