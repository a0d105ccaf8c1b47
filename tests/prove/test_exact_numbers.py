"""Numbers are used exactly as they are given, or refused in one line: none is rounded before an exact verdict."""

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from linsep import (
    MaxMarginClassifier,
    Perceptron,
    Refutation,
    Separator,
    Verdict,
    fewest_errors,
    largest_margin,
    mistake_bound,
    report,
    separate,
    separation,
    to_json,
    verify,
)
from oracles import inequalities, kind

BIG = 2**53
TWO = [0, 1]


@pytest.mark.parametrize(
    "X",
    [
        [[BIG], [BIG + 1]],
        [[BIG, 0.5], [BIG + 1, 0.5]],
        [[BIG + 1, 1], [BIG, 0.5]],
        [[10**30], [10**30 + 1]],
        [[Fraction(1, 3)], [Fraction(1, 3) + Fraction(1, 10**17)]],
        [[Decimal("0.1")], [Decimal("0.1000000000000000001")]],
        [[str(BIG)], [str(BIG + 1)]],
        np.array([[BIG], [BIG + 1]], dtype=object),
        np.array([[1], [np.longdouble(1) + np.finfo(np.longdouble).eps]], dtype=np.longdouble),
        pd.DataFrame({"code": [BIG, BIG + 1], "x": [0.5, 0.5]}),
        pl.DataFrame({"code": [BIG, BIG + 1], "x": [0.5, 0.5]}),
        pa.table({"code": [BIG, BIG + 1], "x": [0.5, 0.5]}),
        np.array([[2**64 - 2], [2**64 - 1]], dtype=np.uint64),
    ],
    ids=str,
)
def test_what_differs_is_separable(X):
    verdict = separate(X, TWO)
    assert verdict.kind == "separable"
    for plain in (False, True):
        assert verdict.check(X, TWO, plain=plain)
        assert verify(to_json(verdict, X, TWO), X, TWO, plain=plain)
    same = [X[0], X[0]] if isinstance(X, list) else None
    if same is not None:
        assert separate(same, TWO).kind == "overlap"
        assert not verdict.check(same, TWO)


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1j], [2]]),
        np.ma.masked_array([[1.0], [2.0]], mask=[[True], [False]]),
        np.array([["2020-01-01"], ["2021-01-01"]], dtype="M8[D]"),
        np.array([[1], [2]], dtype="m8[s]"),
        pd.DataFrame({"when": [pd.Period("2020-01", "M"), pd.Period("2021-01", "M")]}),
        sp.csr_array(np.array([[1j], [2]])),
        np.array([[1.0], [np.nan]]),
        np.array([[np.inf], [0.0]]),
    ],
    ids=str,
)
@pytest.mark.parametrize("values", ["binary", "decimal"])
def test_what_cannot_be_used_is_refused_in_one_line(X, values):
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        separate(X, TWO, values=values)


def test_digits_that_no_64_bits_hold():
    X = [[1, 10**40], [1, 10**40 + 1]]
    assert separate(X, TWO).kind == "separable"  # with an offset the columns can be moved to 0
    for far in (X, [[10**40, 0.1], [1, 0.2]], [[10**40, 0.1], [10**41, 0.2]]):
        verdict = separate(far, TWO, fit_intercept=False)
        assert verdict.kind == "separable"
        assert verdict.check(far, TWO)
        assert verdict.check(far, TWO, plain=True)


def test_decimals_add_up_where_doubles_do_not():
    X, y = np.array([[0.1, 0.2], [0.2, 0.1], [0.15, 0.15]]), [0, 0, 1]  # the last is the middle, in decimals only
    assert separate(X, y, values="binary").kind == "separable"
    verdict = separate(X, y, values="decimal")
    assert verdict.kind == "overlap"
    assert verdict.refutation.multipliers == (1, 1, 2)
    text = to_json(verdict, X, y)
    for plain in (False, True):
        assert verify(text, X, y, plain=plain)
        assert verify(text, sp.csr_array(X), y, plain=plain)
    other = json.loads(text)
    assert other["values"] == "decimal"


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.lists(st.decimals(-9, 9, places=2), min_size=2, max_size=2), st.integers(0, 1)),
        min_size=2,
        max_size=7,
    ),
    st.booleans(),
)
def test_decimals_against_an_exact_program(rows, offset):
    y = [label for _, label in rows]
    if len(set(y)) < 2:
        return
    exact = [[Fraction(cell) for cell in row] for row, _ in rows]
    X = np.array([[float(cell) for cell in row] for row in exact])
    for form in (X, sp.csr_array(X), np.array([[Decimal(str(c)) for c in row] for row in X.tolist()], dtype=object)):
        verdict = separate(form, y, fit_intercept=offset, values="decimal")
        assert verdict.kind == kind(inequalities(exact, y, [0, 1], offset))
        assert verdict.check(form, y)
        assert verdict.check(form, y, plain=True)


def test_decimals_of_seventeen_digits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    for y in (np.sign(X @ [1, 2, 3, 4]), rng.integers(0, 2, 300)):
        verdict = separate(X, y, values="decimal")
        assert verdict.kind == separate(X, y).kind
        assert verdict.check(X, y)
        assert verdict.check(X, y, plain=True)
    y = (np.arange(300) % 2).tolist()
    X[1] = X[0]
    X[1, 0] = np.nextafter(X[0, 0], 9)
    assert separate(X, y, values="decimal").check(X, y, plain=True)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_a_quasi_verdict_on_long_decimals(storage):
    """Fourteen places take integers beyond 2**53; one column of words touches, so nothing may be rounded."""
    rng = np.random.default_rng(3)
    long = np.round(rng.normal(size=60) * 5, 14)
    word = (np.arange(60) % 3 == 0).astype(float)
    y = np.where(word > 0, 1, rng.integers(0, 2, 60))  # rows with the word are all of one class
    X = np.column_stack((long, word))
    verdict = separate(storage(X), y, values="decimal")
    assert (
        verdict.kind == "quasi" == kind(inequalities([[Fraction(str(c)) for c in r] for r in X.tolist()], y, TWO, True))
    )
    assert verdict.check(storage(X), y)
    assert verdict.check(storage(X), y, plain=True)


def test_a_refutation_with_several_relations_on_decimals_beyond_64_bits():
    X = np.random.default_rng(5).normal(size=(40, 2)) * [1e6, 1e-6]
    X = np.concatenate((X, X))  # each point in both classes: forty relations
    y = np.repeat([0, 1], 40)
    verdict = separate(X, y, values="decimal")
    assert verdict.kind == "overlap"
    assert verdict.check(X, y)
    assert verdict.check(X, y, plain=True)


def test_a_plane_is_not_rounded_to_the_type_of_its_weights():
    X, y = np.array([[10**17 + 6], [10**17 + 8]]), [1, 1]
    plane = Separator(np.array([1.0]), -(10**17 + 7))
    for rows, labels, holds in ((X, [0, 1], True), (X[::-1], [0, 1], False), (X, y, False)):
        verdict = Verdict("separable", plane, None, (0, 1), 1, True)
        assert verdict.check(rows, labels) == verdict.check(rows, labels, plain=True) == holds
    whole = Verdict("separable", Separator(np.array([BIG + 1]), -(BIG + 1) * (10**17 + 7)), None, (0, 1), 1, True)
    assert whole.check(X, [0, 1])
    assert whole.check(X, [0, 1], plain=True)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_no_cell_is_overlooked(storage):
    X, y = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), [0, 0, 1]
    verdict = separate(X, y)
    ignoring = Verdict("separable", Separator(np.array([2.0, 0.0]), -3.0), None, (0, 1), 2, True)
    assert ignoring.check(X, y)
    X[1, 1] = np.nan  # under weight 0
    for claim in (verdict, ignoring):
        for plain in (False, True):
            with pytest.raises(ValueError, match="NaN at row 1, column 1"):
                claim.check(storage(X), y, plain=plain)


def test_rows_of_a_refutation_are_whole_numbers():
    X, y = [[0.0], [1.0], [1.0]], [0, 0, 1]
    right = separate(X, y)
    found = right.refutation
    for rows in (found.rows + 0.9, found.rows.astype(object) + 0.9):
        wrong = replace(right, refutation=Refutation(rows, found.multipliers, found.rivals))
        assert not wrong.check(X, y)
        assert not wrong.check(X, y, plain=True)


LONG = [
    [[10**30], [10**30 + 1]],
    [[BIG, 0.5], [BIG + 1, 0.5]],
    [[BIG + 1, 1], [BIG, 0.5]],
    [[Fraction(1, 3)], [Fraction(1, 3) + Fraction(1, 10**40)]],
    [[Decimal("0.1")], [Decimal("0.10000000000000000000001")]],
    np.array([[1], [np.longdouble(1) + np.finfo(np.longdouble).eps]], dtype=np.longdouble),
    pd.DataFrame({"code": [BIG, BIG + 1], "x": [0.5, 0.5]}),
    pl.DataFrame({"code": [BIG, BIG + 1], "x": [0.5, 0.5]}),
    pa.table({"code": [BIG, BIG + 1], "x": [0.5, 0.5]}),
]


@pytest.mark.parametrize("X", LONG, ids=str)
@pytest.mark.parametrize(
    "prove",
    [
        lambda X, y: Perceptron(target_margin=0.5).fit(X, y),
        lambda X, y: MaxMarginClassifier().fit(X, y),
        lambda X, y: largest_margin(X, y),
        lambda X, y: mistake_bound(X, y),
        lambda X, y: report(X, y),
    ],
    ids=["perceptron", "max-margin", "margin", "bound", "report"],
)
def test_nothing_is_proved_of_rounded_numbers(prove, X):
    with pytest.raises(ValueError, match="does not fit into double precision") as refused:
        prove(X, TWO)
    assert "\n" not in str(refused.value)


@pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
@pytest.mark.parametrize(("cell", "below"), [(BIG + 1, 1), (Decimal("0.10000000000000000000001"), "1e-23")])
def test_nothing_is_proved_of_rounded_numbers_beside_words(cell, below):
    frame = pd.DataFrame({"word": ["a", "a"], "x": [cell - type(cell)(below), cell], "y": [0.5, 0.5]})
    for X in (frame, pl.from_pandas(frame), frame.to_dict("records")):
        verdict = separate(X, TWO)
        assert verdict.kind == "separable"
        assert verdict.check(X, TWO)
        assert verdict.check(X, TWO, plain=True)
        with pytest.raises(ValueError, match="does not fit into double precision"):
            largest_margin(X, TWO)


@pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
def test_numbers_that_are_no_features_may_be_long():
    frame = pd.DataFrame({"id": [BIG + 1, BIG + 2], "word": ["a", "b"], "y": [0.5, 0.25]})
    for X in (frame, pl.from_pandas(frame), frame.to_dict("records")):
        assert Perceptron().fit(X, TWO).score(X, TWO) == 1
        assert largest_margin(X, TWO).lower > 0


@pytest.mark.parametrize("X", LONG, ids=str)
def test_the_fewest_errors_are_those_of_the_numbers_given(X):
    found = fewest_errors(X, TWO)
    assert (found.upper, found.check(X, TWO), found.check(X, TWO, plain=True)) == (0, True, True)


def test_whole_numbers_of_64_bits_are_used_as_they_are():
    X = np.array([[BIG], [BIG + 1]])
    assert largest_margin(X, TWO).lower > 0.49
    assert fewest_errors(X, TWO).upper == 0
    assert "<html" in report(np.array([[BIG, 1], [BIG + 1, 1], [BIG + 5, 0]]), [0, 1, 1])


def test_masked_cells_have_no_status():
    with pytest.raises(ValueError, match="masked"):
        separation(np.ma.masked_array([[1.0], [2.0]], mask=[[True], [False]]), TWO)


def test_the_fewest_errors_of_decimals():
    X, y = [[0.1, 0.2, 0.3], [0.2, 0.4, 0.6], [0.3, 0.3, 0.6]], [0, 1, 0]
    for values in ("decimal", "binary"):  # in decimals x1 + x2 = x3, so that the rows are in a plane
        verdict, found = separate(X, y, values=values), fewest_errors(X, y, values=values)
        assert (found.upper == 0) == (verdict.kind == "separable")
        assert verify(to_json(found, X, y), X, y)
        assert verify(to_json(found, X, y), X, y, plain=True)
        assert json.loads(to_json(found, X, y))["values"] == values


@pytest.mark.parametrize("seed", range(12))
def test_ties_that_only_long_decimals_decide(seed):
    """One column of thirds: the exact answer follows from the order of the decimals, most of them above 2^53."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-6, 7, int(rng.integers(4, 300))) / 3
    y = (x > rng.integers(-3, 4) / 3).astype(int)
    y[0], y[1] = 0, 1
    verdict = separate(x[:, None], y, values="decimal")
    low, high = ([Fraction(repr(v)) for v in x[y == c].tolist()] for c in (0, 1))
    apart = max(low) < min(high) or max(high) < min(low)
    touching = max(low) <= min(high) or max(high) <= min(low)
    same = {*low, *high} == {low[0]}
    expected = "separable" if apart else "quasi" if touching and not same else "overlap"
    assert verdict.kind == expected
    assert verdict.check(x[:, None], y)
