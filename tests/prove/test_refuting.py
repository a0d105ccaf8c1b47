"""A fast refutation by counted work: right, deterministic, and within its budget."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from data import data_of
from linsep import Verdict, teacher
from linsep.clock import OutOfTime
from linsep.prove.claims import Refutation, Separator
from linsep.prove.verdict.parts import Part
from linsep.prove.verdict.refuting import Asked, RunSearch, Work, pass_work, run_mistakes
from oracles import inequalities, kind, proves

PLENTY = 1e12


def refute(data, clock, mistakes=None):
    """Return what a search finds, or None; mistakes, as a run counts them, are (n,), or (n, classes) by rival."""
    made = run_mistakes(np.empty(0, np.intp), 1)
    if mistakes is not None:
        machines = 1 if mistakes.ndim == 1 else mistakes.shape[1]
        made = run_mistakes(np.repeat(np.arange(mistakes.size), mistakes.ravel()), machines)
    part = Part(0, data.rows, data.y, data.n_features)
    found = RunSearch(lambda function, told: [function(part, told)], Asked(data.classes, data.offset), made).run(clock)
    return None if found is None else found.proof


def refutes(found, X, y, classes):
    """Have a refutation confirmed by fractions alone: as part of a verdict, with any weak plane left out."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    total = {}
    for row, multiplier, rival in zip(found.rows.tolist(), found.multipliers, found.rivals.tolist(), strict=True):
        assert multiplier > 0
        assert y[row] != rival
        for c, sign in ((y[row], 1), (rival, -1)):
            for j, value in enumerate([*X[row].tolist(), 1]):
                total[c, j] = total.get((c, j), 0) + sign * multiplier * type(multiplier)(value)
    assert set(total) <= {(c, j) for c in range(classes) for j in range(X.shape[1] + 1)}
    return not any(total.values())


@pytest.mark.slow
@given(st.integers(0, 10**6), st.sampled_from([2, 3, 4]), st.sampled_from([np.array, sp.csr_array]), st.booleans())
@settings(deadline=None, max_examples=120)
def test_what_it_finds_is_true(seed, classes, storage, hinted):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(classes + 1, 14)), int(rng.integers(1, 4))
    X = rng.integers(-3, 4, size=(n, d))
    y = np.append(np.arange(classes), rng.integers(0, classes, n - classes))
    data = data_of(storage(X), y.tolist(), tuple(range(classes)), True)
    mistakes = rng.integers(0, 3, n if classes == 2 else (n, classes)) if hinted else None
    found = refute(data, Work(PLENTY), mistakes)
    truth = kind(inequalities(X.tolist(), y.tolist(), tuple(range(classes)), True))
    if truth == "separable":
        assert found is None or isinstance(found, Separator)
    else:
        assert found is None or isinstance(found, Refutation)
        assert found is not None or classes > 2
    if isinstance(found, Refutation):
        assert refutes(found, X, y.tolist(), classes)
    if isinstance(found, Separator):
        verdict = Verdict("separable", found, None, tuple(range(classes)), d, True)
        assert proves(verdict, X, y.tolist())


def noisy(n=2000, d=8, flip=0.05, seed=0):
    X, y, _ = teacher(n, d, margin=0.02, flip=flip, random_state=seed)
    return X, y


def test_the_same_work_and_rows_twice_and_within_the_budget():
    X, y = noisy()
    data = data_of(X, y.tolist(), (-1, 1), True)
    mistakes = np.random.default_rng(0).integers(0, 5, len(y))
    first, second = Work(PLENTY), Work(PLENTY)
    a, b = refute(data, first, mistakes), refute(data, second, mistakes)
    assert first.spent == second.spent > 0
    assert a.rows.tolist() == b.rows.tolist()
    assert a.multipliers == b.multipliers
    assert refutes(a, X, ((y + 1) // 2).tolist(), 2)
    for share in (0.0, 0.1, 0.5, 0.9):
        less = Work(share * first.spent)
        assert refute(data, less, mistakes) is None
        assert less.spent <= less.budget
    assert refute(data, Work(first.spent), mistakes) is not None


def test_equal_rows_cost_one_pass():
    X, y = noisy(n=5000)
    X[4000], y[4000] = X[17], -y[17]
    data = data_of(X, y.tolist(), (-1, 1), True)
    work = Work(1.5 * pass_work(len(data.y), data.rows.data.size, False))
    assert refute(data, work).rows.tolist() == [17, 4000]


def test_hints_make_it_cheaper():
    """Rows known to contradict each other are found among many others with less work than without a hint."""
    X, y, _ = teacher(20_000, 10, margin=0.05, random_state=1)
    y = y.copy()
    y[:5] *= -1
    data = data_of(X, y.tolist(), (-1, 1), True)
    hints = np.zeros(len(y), dtype=int)
    hints[:5] = 9
    near = np.argsort(((X[:, None] - X[None, :5]) ** 2).sum(axis=2).min(axis=1))[:200]
    hints[near] += 1
    with_hints, without = Work(PLENTY), Work(PLENTY)
    assert refute(data, with_hints, hints) is not None
    assert refute(data, without) is not None
    assert with_hints.spent < without.spent


def test_work_is_counted_and_not_timed():
    work = Work(1.0)
    work.count(0.75)
    assert (work.left, work.elapsed) == (0.25, 0.75)
    with pytest.raises(OutOfTime):
        work.count(0.5)
    work.count(0.25)
    assert work.left == 0
