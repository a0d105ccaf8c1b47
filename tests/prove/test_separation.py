"""Separation in regression models against double description, published examples, forged proofs and bad input."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import linsep
from oracles import rank
from regression_oracle import answers

FAMILIES = ("binomial", "poisson", "negative-binomial", "multinomial", "ordinal", "conditional", "cox")
COUNTS = ("poisson", "negative-binomial")  # a row with y > 0 is an equation: never complete


def expected_rows(family, X, y, strata, keep, offset):
    """Rows of a family by the table of the specification, with the observations of each."""
    full = [([1] if offset else []) + row for row in X]
    neg = lambda row: [-value for value in row]  # noqa: E731
    rows, equal, owners = [], [], []

    def add(row, is_equation, *who):
        rows.append(row)
        equal.append(is_equation)
        owners.append(who)

    for i in keep:
        if family == "binomial":
            s, f = y[i] if isinstance(y[i], tuple) else (y[i], 1 - y[i])
            add(full[i] if f == 0 else neg(full[i]), s > 0 and f > 0, i)
        elif family in COUNTS:
            add(neg(full[i]), y[i] > 0, i)
        elif family == "multinomial":
            C, p = max(y) + 1, len(full[0])
            for k in range(C):
                if k != y[i]:
                    row = [0] * (C * p)
                    row[y[i] * p : y[i] * p + p] = full[i]
                    row[k * p : k * p + p] = neg(full[i])
                    add(row[p:], False, i)
        elif family == "ordinal":
            cuts = max(y)
            if y[i] < cuts:
                add([int(k == y[i]) for k in range(cuts)] + neg(X[i]), False, i)
            if y[i] > 0:
                add([-int(k == y[i] - 1) for k in range(cuts)] + X[i], False, i)
        else:
            for j in keep:
                same = strata is None or strata[i] == strata[j]
                if family == "conditional":
                    fair = same and y[i] == 1 and y[j] == 0
                else:
                    fair = same and i != j and y[i][1] == 1 and y[j][0] >= y[i][0]
                if fair:
                    add([a - b for a, b in zip(X[i], X[j], strict=True)], False, i, j)
    for k in range(1, max(y)) if family == "ordinal" else ():
        add([(j == k) - (j == k - 1) for j in range(max(y) + len(X[0]))], False)
    return rows, equal, owners


def random_model(family, rng):
    n, d = int(rng.integers(3, 9)), int(rng.integers(1, 4))
    X = rng.integers(-2, 3, (n, d))
    if rng.random() < 0.25 and d > 1:
        X[:, -1] = 2 * X[:, 0] - 1
    if rng.random() < 0.25:
        X[0] = X[-1]
    strata = None
    if family in COUNTS:
        y = (rng.integers(0, 3, n) * rng.integers(0, 2, n)).tolist()
    elif family in ("multinomial", "ordinal"):
        y, X = np.unique(rng.integers(0, 3, n), return_inverse=True)[1].tolist(), X[:, :2]
    elif family == "cox":
        y = list(zip(rng.integers(1, 5, n).tolist(), rng.integers(0, 2, n).tolist(), strict=True))
        strata = rng.integers(0, 2, n).tolist() if rng.random() < 0.3 else None
    elif family == "binomial" and rng.random() < 0.4:
        y = [tuple(pair) for pair in rng.integers(0, 2, (n, 2)).tolist()]
    else:
        y = rng.integers(0, 2, n).tolist()
        strata = rng.integers(0, 2, n).tolist() if family == "conditional" else None
    weights = (rng.random(n) < 0.85).astype(int).tolist() if rng.random() < 0.3 else None
    return X, y, strata, weights, bool(rng.random() < 0.7)


def dependent(rows, width):
    """Columns that depend on earlier ones."""
    ranks = [rank([list(map(Fraction, row[:j])) for row in rows]) for j in range(width + 1)]
    return [j for j in range(width) if ranks[j] == ranks[j + 1]]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_answer_is_that_of_double_description(family):
    rng, done, kinds, seen = np.random.default_rng(sum(map(ord, family))), 0, set(), set()
    while done < 150:
        X, y, strata, weights, offset = random_model(family, rng)
        offset = offset and family not in ("ordinal", "conditional", "cox")
        alias = "keep" if rng.random() < 0.3 else "drop"
        keep = [i for i in range(len(X)) if weights is None or weights[i] > 0]
        if family == "binomial":
            keep = [i for i in keep if y[i] != (0, 0)]
        try:
            found = linsep.separation(
                X, np.array(y), family=family, strata=strata, weights=weights, fit_intercept=offset, alias=alias
            )
        except ValueError:  # constant, or no pair in a stratum
            continue
        done += 1
        rows, equal, owners = expected_rows(family, X.tolist(), y, strata, keep, offset)
        width = len(rows[0])
        assert len(found.names) == width
        later = dependent(rows, width)
        kept = [j for j in range(width) if j not in later]
        inner = rows if alias == "keep" else [[row[j] for j in kept] for row in rows]
        columns = list(range(width)) if alias == "keep" else kept
        units = [[int(a == b) for a in columns] for b in columns]
        extra = rng.integers(-2, 3, (2, len(columns))).tolist()
        separated, statuses = answers(inner, equal, len(columns), units + extra)
        wanted = dict(zip(columns, statuses, strict=False))
        assert found.statuses == [wanted.get(j, "aliased") for j in range(width)]
        for c, status in zip(extra, statuses[len(units) :], strict=True):
            function = [0] * width
            for j, value in zip(columns, c, strict=True):
                function[j] = value
            assert found.status(function) == status
        kind = "overlap" if not any(separated) else "complete" if all(separated) else "quasi"
        assert found.kind == kind
        still = {i for who, s in zip(owners, separated, strict=True) if not s for i in who}
        touched = {i for who in owners for i in who}
        assert found.separated.tolist() == sorted(touched - still)
        assert found.rest.tolist() == [i for i in keep if i in still or i not in touched]
        heights = [sum(a * b for a, b in zip(row, found.direction, strict=True)) for row in rows]
        assert [height > 0 for height in heights] == separated
        assert math.gcd(*found.direction) in (0, 1)
        assert found.rank == len(kept)
        assert len(found.estimable) == found.rank - found.dimension
        for function in found.estimable:
            assert found.status(function) == "finite"
        assert found.check()
        assert found.check(plain=True)
        kinds.add(kind)
        seen |= set(found.statuses)
    assert kinds == {"overlap", "quasi", "complete"} - ({"complete"} if family in COUNTS else set())
    assert seen >= {"finite", "+inf", "-inf"}


def test_the_four_rows_that_linear_programs_get_wrong():
    found = linsep.separation([[0, 2], [1, -2], [1, -1], [-1, 0]], [1, 1, 0, 1])
    assert found.kind == "complete"
    assert dict(zip(found.names, found.statuses, strict=True)) == {"Intercept": "+inf", "x0": "-inf", "x1": "-inf"}
    name, status, rows = found.coefficients[2]
    assert (name, status, rows) == ("x1", "-inf", (1, 2))  # z_2 + z_3 = (0, 0, -1)
    assert found.check()
    assert found.check(plain=True)
    assert found.check([[0, 2], [1, -2], [1, -1], [-1, 0]], [1, 1, 0, 1], plain=True)
    assert not found.check([[0, 2], [1, -2], [1, -1], [-1, 1]], [1, 1, 1, 0])


# ---------------------------------------------------------------------------------------------------------------
# Nothing that does not matter matters


@pytest.mark.parametrize("seed", range(12))
def test_statuses_stand_permutations_scales_and_redundant_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (9, 3)).astype(float)
    X[:, 2] = X[:, 2] > 0
    y = (X[:, 0] + X[:, 2] + rng.normal(size=9) > 0.5).astype(int)
    if len(set(y)) < 2:
        y[0] = 1 - y[0]
    first = linsep.separation(X, y)
    order = rng.permutation(9)
    again = linsep.separation(X[order], y[order])
    assert again.statuses == first.statuses
    assert sorted(order[again.separated]) == first.separated.tolist()
    opposite = {"+inf": "-inf", "-inf": "+inf"}
    for scale in (1e-300, 1e-9, 0.1, 3.7, 1e12, 1e300):
        found = linsep.separation(X * np.array([scale, 1.0, -(2.0**-40)]), y)
        assert found.statuses == [*first.statuses[:3], opposite.get(first.statuses[3], first.statuses[3])]
        assert found.separated.tolist() == first.separated.tolist()
    longer = linsep.separation(np.vstack((X, X[:4])), np.concatenate((y, y[:4])))
    assert longer.separated[longer.separated < 9].tolist() == first.separated.tolist()
    stretched = linsep.separation(np.column_stack((np.ones(9), X)) * rng.integers(1, 9, (9, 1)), y, fit_intercept=False)
    assert longer.statuses == stretched.statuses == linsep.separation(sp.csr_matrix(X), y).statuses == first.statuses
    recoded = linsep.separation(X @ np.array([[1, 2, 0], [0, 1, -1], [1, 0, 3]]), y)
    assert recoded.separated.tolist() == first.separated.tolist()


@pytest.mark.parametrize("family", ["binomial", "poisson", "conditional", "cox"])
def test_proofs_stand_columns_of_any_unit(family):
    """Rows of whole numbers and rows of fractions side by side, without an intercept."""
    rng, tried = np.random.default_rng(9), set()
    while len(tried) < 40:
        X, y, strata, weights, _ = random_model(family, rng)
        units = 2.0 ** rng.integers(-30, 30, X.shape[1])
        others = {"family": family, "strata": strata, "weights": weights, "fit_intercept": False}
        try:
            plain = linsep.separation(X, np.array(y), **others)
        except ValueError:  # constant, or no pair in a stratum
            continue
        found = linsep.separation(X * units, np.array(y), **others)
        assert found.statuses == plain.statuses
        assert found.separated.tolist() == plain.separated.tolist()
        assert found.check()
        assert found.check(plain=True)
        tried.add((found.kind, *units))


def test_depth_and_bad_conditioning_do_not_hurt():
    d = 20
    chain = np.eye(d) + np.triu(np.random.default_rng(0).integers(-3, 4, (d, d)), 1)
    X = np.vstack((np.repeat(chain[:-1], 2, axis=0), chain[-1:]))
    y = np.append(np.tile([0, 1], d - 1), 1)  # each row with both labels, the last once
    found = linsep.separation(X, y, fit_intercept=False)
    assert (found.kind, found.separated.tolist(), found.dimension) == ("quasi", [2 * d - 2], 1)
    assert found.check()
    A = np.random.default_rng(1).integers(-5, 6, (12, 3)).astype(float)
    agrees(np.column_stack((A, A[:, 0] + 1e-13 * A[:, 1])), A[:, 2] > 0)


def agrees(X, y):
    """Compare statuses and separated rows with double description of the exact numbers; return the result."""
    found, d = linsep.separation(X, y), len(X[0]) + 1
    rows = [[Fraction(1), *map(Fraction, row)] for row in X]
    scale = math.lcm(*(value.denominator for row in rows for value in row))
    signed = [[int(value * scale) * (1 if s else -1) for value in row] for row, s in zip(rows, y, strict=True)]
    separated, statuses = answers(signed, [False] * len(rows), d, np.eye(d, dtype=int).tolist())
    assert found.statuses == statuses
    assert found.split.tolist() == separated
    assert found.check()
    assert found.check(plain=True)


# ---------------------------------------------------------------------------------------------------------------
# Decimals


def test_decimals_add_up_and_binary_numbers_do_not():
    X = [["0.1", "0.2", "0.3"], ["1", "0", "1"], ["0", "1", "1"], ["0.7", "0.1", "0.8"], ["-1", "3", "2"]]
    y = [0, 1, 0, 1, 1]
    decimal = linsep.separation(X, y)
    floats = linsep.separation(np.array(X, dtype=float), y)
    assert (decimal.rank, decimal.statuses[3]) == (3, "aliased")
    assert decimal.aliased == {"x2": {"x0": 1, "x1": 1}}
    assert floats.rank == 4
    assert "rank 3" in decimal.notes[0]
    assert "rank 4" in floats.notes[0]
    as_decimal = linsep.separation(np.array(X, dtype=float), y, values="decimal")
    objects = linsep.separation([[Decimal(v) for v in row] for row in X], y)
    assert as_decimal.statuses == objects.statuses == decimal.statuses
    assert decimal.check()
    assert decimal.check(plain=True)
    assert linsep.separation(X, y, values="binary").statuses == floats.statuses


def test_numbers_longer_than_a_cell_are_exact():
    long = 10**40
    agrees([[Decimal(long + 1), Decimal(1)], [Decimal(long), Decimal(0)], [Decimal(long + 2), Decimal(1)]], [1, 0, 1])
    options = {"family": "conditional", "strata": [0, 0, 0]}
    twice = linsep.separation([[1e-30, 1.0], [1.0, 1e30], [3.0, 1.0]], [1, 0, 0], **options)
    assert twice.check()  # differences that no float holds
    assert twice.check(plain=True)


# ---------------------------------------------------------------------------------------------------------------
# Proofs


def test_contradictions_have_at_most_twice_the_rank_rows():
    rng = np.random.default_rng(5)
    for _ in range(60):
        X, y = rng.integers(-2, 3, (15, 4)), rng.integers(0, 2, 15)
        if len(set(y)) == 2:
            parts = linsep.separation(X, y).certificate()
            assert len(parts["rest"]["rows"]) <= 2 * len(parts["columns"])


@pytest.mark.parametrize("X", [[[0], [1]], [[0, 0], [1, 0], [0, 1], [1, 0]]])
def test_rows_of_zeros_may_be_counted(X):
    """A row of zeros has the mean 1 whatever the coefficients: its count asks nothing of them."""
    y = [1, 0, 2, 0][: len(X)]
    for rows in (np.array(X), sp.csr_array(X)):
        found = linsep.separation(rows, y, family="poisson", fit_intercept=False)
        assert found.kind == "quasi"
        assert found.statuses[0] == "-inf"
        assert found.separated.tolist() == [i for i, row in enumerate(X) if row[0]]
        assert found.check()
