"""The exact check: right on right proofs, wrong on every wrong one, and signs as fractions give them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from flint import fmpz_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from linsep import Verdict
from linsep.data.arrays import to_rows
from linsep.problem import Dense
from linsep.prove.check import fast_check
from linsep.prove.check.exact_signs import signs
from linsep.prove.check.fast_check import separates
from linsep.prove.check.fast_facts import sparse_rank
from linsep.prove.check.integers import difference
from linsep.prove.claims import Claim, Data, Refutation, Separator
from oracles import proves

XOR = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
XOR_LABELS = [0, 0, 1, 1]


def verdict(kind, separator=None, refutation=None, classes=(0, 1), d=2, offset=True):
    return Verdict(kind, separator, refutation, classes, d, offset)


def refutation(rows, multipliers, rivals):
    return Refutation(np.array(rows, int), tuple(map(Fraction, multipliers)), np.array(rivals, int))


def plane(w, b=0.0):
    return Separator(np.array(w, dtype=float), b)


def exact_signs(X, w):
    values = [sum(Fraction(a) * Fraction(c) for a, c in zip([*x, 1], w.tolist(), strict=True)) for x in X.tolist()]
    return [(value > 0) - (value < 0) for value in values]


# ---------------------------------------------------------------------------------------------------------------
# Signs


def cells(rng, kind):
    shape = (60, 5)
    return {
        "normal": lambda: rng.normal(size=shape),
        "float32": lambda: rng.normal(size=shape).astype(np.float32),
        "columns": lambda: np.asfortranarray(rng.normal(size=shape)),
        "small": lambda: rng.integers(-3, 4, size=shape),
        "uint8": lambda: rng.integers(0, 256, size=shape).astype(np.uint8),
        "int64": lambda: rng.integers(-(2**62), 2**62, size=shape),
        "near 2**53": lambda: 2**53 + rng.integers(-3, 4, size=shape),
        "uint64": lambda: rng.integers(2**63, 2**64 - 1, size=shape, dtype=np.uint64),
        "wild": lambda: rng.normal(size=shape) * 10.0 ** rng.integers(-320, 300, size=shape),
        "subnormal": lambda: rng.integers(-3, 4, size=shape) * 5e-324,
        "canceling": lambda: np.repeat(rng.normal(size=(60, 1)), 5, axis=1) * [1, -1, 1, -1, 1],
    }[kind]()


def weights(rng, kind):
    return {
        "normal": lambda: rng.normal(size=6),
        "small": lambda: rng.integers(-3, 4, size=6).astype(float),
        "wild": lambda: rng.normal(size=6) * 10.0 ** rng.integers(-320, 300, size=6),
        "equal": lambda: np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0]),
        "fractions": lambda: np.array([Fraction(int(p), int(q)) for p, q in rng.integers(1, 9, (6, 2))], dtype=object),
        "huge fractions": lambda: np.array([Fraction(int(p)) * Fraction(2) ** 2000 for p in rng.integers(-3, 4, 6)]),
        "mixed fractions": lambda: np.array([Fraction(2) ** int(e) for e in rng.integers(-1200, 1200, 6)]),
    }[kind]()


@pytest.mark.parametrize(
    "kind", ["normal", "float32", "columns", "small", "uint8", "int64", "uint64", "wild", "subnormal", "canceling"]
)
@pytest.mark.parametrize("how", ["normal", "small", "wild", "equal", "fractions", "huge fractions", "mixed fractions"])
def test_signs_are_exact(kind, how):
    rng = np.random.default_rng(len(kind) * 31 + len(how))
    X, w = cells(rng, kind), weights(rng, how)
    want = exact_signs(X, w)
    everyone = np.arange(len(X))
    assert signs(Dense(X), everyone, w).tolist() == want
    assert signs(to_rows(sp.csr_array(X)), everyone, w).tolist() == want


def test_integers_beyond_floats_are_not_rounded():
    X = np.array([[2**53 + 1, -(2**53)], [2**62 + 1, -(2**62)]])  # as floats both rows sum to zero
    assert signs(Dense(X), np.arange(2), np.array([1.0, 1.0, 0.0])).tolist() == [1, 1]


def test_many_rows_are_looked_at_in_chunks():
    rng = np.random.default_rng(0)
    X = rng.integers(-9, 10, size=(700_000, 4)).astype(np.int8)
    w = np.array([3.0, -1.0, 2.0, -5.0, 1.0])
    found = signs(Dense(X), np.arange(len(X)), w)
    assert np.array_equal(found, np.sign(X.astype(np.int64) @ w[:4].astype(np.int64) + 1))


@given(
    st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e9, 1e9)), min_size=1, max_size=6)
)
@settings(deadline=None, max_examples=200)
def test_difference_is_exact(pairs):
    u, v = np.array(pairs).T
    got = difference(u, v)
    assert [Fraction(value) for value in got.tolist()] == [Fraction(a) - Fraction(c) for a, c in pairs]


# ---------------------------------------------------------------------------------------------------------------
# Proofs


def test_right_proofs_hold():
    xor = verdict("overlap", refutation=refutation([0, 1, 2, 3], [1, 1, 1, 1], [1, 1, 0, 0]))
    touching = verdict("quasi", plane([1.0], -1.0), refutation([1, 2], [1, 1], [1, 0]), d=1)
    line = verdict("separable", plane([2.0], -3.0), d=1)
    for claim, X, y in (
        (xor, XOR, XOR_LABELS),
        (touching, np.array([[0.0], [1.0], [1.0]]), [0, 0, 1]),
        (line, np.array([[0.0], [1.0], [2.0]]), [0, 0, 1]),
    ):
        assert claim.check(X, y)
        assert claim.check(sp.csc_matrix(X), y)
        assert claim.check(X.tolist(), np.array(y))
        assert proves(claim, X, y)


@pytest.mark.parametrize(
    "claim",
    [
        verdict("overlap", refutation=refutation([0, 1, 2, 3], [1, 1, 1, 2], [1, 1, 0, 0])),
        verdict("overlap", refutation=refutation([0, 1, 2, 3], [1, 1, 1, Fraction(10**30 + 1, 10**30)], [1, 1, 0, 0])),
        verdict("overlap", refutation=refutation([0, 1, 2, 3], [-1, -1, -1, -1], [1, 1, 0, 0])),
        verdict("overlap", refutation=refutation([0, 1, 2, 3], [0, 0, 0, 0], [1, 1, 0, 0])),
        verdict("overlap", refutation=refutation([], [], [])),
        verdict("overlap", refutation=refutation([0, 1, 2, 4], [1, 1, 1, 1], [1, 1, 0, 0])),
        verdict("overlap", refutation=refutation([0, 1, 2, -1], [1, 1, 1, 1], [1, 1, 0, 0])),
        verdict("overlap", refutation=refutation([0, 1, 2, 3], [1, 1, 1, 1], [1, 1, 0, 1])),
        verdict("overlap", refutation=refutation([0, 1, 2], [1, 1, 1, 1], [1, 1, 0, 0])),
        verdict("overlap", plane([1.0, 0.0]), refutation([0, 1, 2, 3], [1, 1, 1, 1], [1, 1, 0, 0])),
        verdict("overlap"),
        verdict("quasi", plane([0.0, 0.0]), refutation([0, 1, 2, 3], [1, 1, 1, 1], [1, 1, 0, 0])),
        verdict("quasi", None, refutation([0, 1, 2, 3], [1, 1, 1, 1], [1, 1, 0, 0])),
        verdict("separable", plane([1.0, 1.0], -0.5)),
        verdict("separable", plane([np.nan, 1.0])),
        verdict("separable", plane([np.inf, 1.0])),
        verdict("separable", plane([1.0, 1.0, 1.0])),
        verdict("separable"),
        verdict("unknown"),
        verdict("certain", refutation=refutation([0, 1, 2, 3], [1, 1, 1, 1], [1, 1, 0, 0])),
    ],
)
def test_wrong_proofs_fail(claim):
    assert not claim.check(XOR, XOR_LABELS)


def test_quasi_is_not_overlap_and_not_separable():
    X, y = np.array([[0.0], [1.0], [1.0]]), [0, 0, 1]
    pair = refutation([1, 2], [1, 1], [1, 0])
    assert not verdict("overlap", None, pair, d=1).check(X, y)  # the row 0 is not in the span of the other two
    assert not verdict("separable", plane([1.0], -1.0), d=1).check(X, y)
    assert not verdict("quasi", plane([0.0], 0.0), pair, d=1).check(X, y)  # nowhere strict
    assert verdict("quasi", plane([1.0], -1.0), pair, d=1).check(X, y)


def test_offset_is_refused_where_there_is_none():
    X, y = np.array([[1.0], [2.0]]), [0, 1]
    assert verdict("separable", plane([1.0], -1.5), d=1).check(X, y)
    assert not verdict("separable", plane([1.0], -1.5), d=1, offset=False).check(X, y)


def test_data_must_be_those_of_the_proof():
    line = verdict("separable", plane([2.0], -3.0), d=1)
    assert not line.check([[0.0], [2.0], [2.0]], [0, 0, 1])
    assert not line.check([[0.0], [1.0], [2.0]], [0, 1, 1])
    assert not line.check([[0.0], [1.0], [2.0]], [0, 0, 2])
    assert not line.check([[0.0], [1.0]], [0, 0, 1])
    assert not line.check([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]], [0, 0, 1])
    with pytest.raises(ValueError, match="NaN at row 1, column 0"):
        line.check([[0.0], [np.nan], [2.0]], [0, 0, 1])


def test_many_classes():
    X, y = np.array([[0.0], [1.0], [2.0]]), ["a", "b", "c"]
    W, b = np.array([[0.0], [2.0], [4.0]]), np.array([0.0, -1.0, -4.0])
    right = Verdict("separable", Separator(W, b), None, ("a", "b", "c"), 1, True)
    assert right.check(X, y)
    assert proves(right, X, y)
    assert not replace(right, separator=Separator(W, b[::-1])).check(X, y)
    # x is of all three classes at once: a against b, b against c, c against a
    turn = Verdict("overlap", None, refutation([0, 1, 2], [1, 1, 1], [1, 2, 0]), ("a", "b", "c"), 1, False)
    assert turn.check(np.ones((3, 1)), y)
    assert proves(turn, np.ones((3, 1)), y)
    pair = replace(turn, refutation=refutation([0, 1], [1, 1], [1, 0]))  # leaves open on which side of them c is
    assert not pair.check(np.ones((3, 1)), y)
    assert not replace(turn, refutation=refutation([0, 1, 2], [1, 1, 1], [1, 2, 1])).check(np.ones((3, 1)), y)


def test_rank_deficient_rows_need_not_fill_the_space():
    X = np.column_stack((XOR, XOR[:, 0], np.zeros(4), np.full(4, 7.0)))
    X = np.vstack((X, X, X))
    claim = verdict("overlap", refutation=refutation([0, 1, 2, 3], [1, 1, 1, 1], [1, 1, 0, 0]), d=5)
    assert claim.check(X, XOR_LABELS * 3)
    X[11, 3] = 5e-324  # now one row is outside the span of the four
    assert not claim.check(X, XOR_LABELS * 3)


def test_strictness():
    data = Data(Dense(np.array([[0.0], [1.0]])), np.array([0, 1]), 1, 2, True)
    assert separates(plane([1.0], 0.0), data, strictly=False)
    assert not separates(plane([1.0], 0.0), data, strictly=True)
    assert separates(plane([1.0], -5e-324), data, strictly=True)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 30), st.sampled_from([0.05, 0.15, 0.6]))
def test_sparse_rows_have_the_rank_that_they_have_as_a_matrix(seed, n, d, share):
    rng = np.random.default_rng(seed)
    A = rng.integers(-3, 4, (n, d)) * (rng.random((n, d)) < share) * rng.choice([1, 10**6], (n, 1))
    A[n // 2 :] = A[: n - n // 2] + A[n // 2 - 1] if n > 1 else A  # rows that depend on others
    rows = [{j: int(value) for j, value in enumerate(row) if value} for row in A.tolist()]
    assert sparse_rank(rows) == fmpz_mat(A.tolist()).rank()


@pytest.mark.parametrize("seed", range(30))
def test_no_rank_is_larger_than_the_number_of_different_columns(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, rng.integers(2, 8, 2)).astype([np.int8, np.int64, float][seed % 3])
    rows, offset = sp.csr_array(X), bool(seed % 2)
    rows.data[:1] = 0  # which is stored
    Z = np.column_stack((rows.toarray(), np.ones(len(X), X.dtype)))[:, : X.shape[1] + offset]
    different = {tuple(column) for column in Z.T.tolist() if any(column)}
    assert fast_check._most_rank(Data(to_rows(rows), np.zeros(len(X), int), X.shape[1], 2, offset)) == len(different)


def test_columns_that_are_equal_leave_an_overlap_one():
    """2000 rows of 300 columns, one of them twice: those combined span all rows, though not all columns."""
    rng = np.random.default_rng(0)
    X = sp.random_array((2000, 300), density=0.05, format="csr", rng=rng)
    X.data = np.ceil(3 * X.data)
    X, y = sp.hstack((X, X[:, [7]])).tocsr(), rng.integers(0, 2, 2000)
    both = Data(to_rows(sp.vstack((X, X)).tocsr()), np.append(y, 1 - y), 301, 2, True)
    refutation = Refutation(np.arange(4000), (Fraction(1),) * 4000, 1 - both.y)
    assert fast_check.holds(Claim("overlap", None, refutation, (0, 1), 301, True), both)
    new = sp.csr_array(([1.0], ([4000], [7])), (4001, 301))  # a row that tells the two columns apart
    more = Data(to_rows((sp.vstack((X, X, X[:1])) + new).tocsr()), np.append(both.y, 1), 301, 2, True)
    assert not fast_check.holds(Claim("overlap", None, refutation, (0, 1), 301, True), more)
