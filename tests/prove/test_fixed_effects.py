"""Absorbed factors: against double description on all columns, and scale in small."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import linsep
from regression_oracle import answers


def expected(X, y, factors, family):
    """Separated rows and statuses of the columns by double description with a column for every level."""
    rows, equal = [], []
    for i, x in enumerate(X.tolist()):
        levels = [int(factor[i] == level) for factor in factors for level in sorted(set(factor.tolist()))]
        full = levels + x
        sign = 1 if family == "binomial" and y[i] == 1 else -1
        rows.append([sign * v for v in full])
        equal.append(family == "poisson" and y[i] > 0)
    width, k = len(rows[0]), X.shape[1]
    columns = [list(col) for col in zip(*rows, strict=True)]
    kept = [j for j in range(width) if rank(columns[: j + 1]) > rank(columns[:j])]
    inner = [[row[j] for j in kept] for row in rows]
    units = [[int(j == c) for c in kept] for j in range(width - k, width)]
    separated, statuses = answers(inner, equal, len(kept), units)
    aliased = [j not in kept for j in range(width - k, width)]
    return separated, ["aliased" if a else s for a, s in zip(aliased, statuses, strict=True)], len(kept)


def rank(vectors):
    return np.linalg.matrix_rank(np.array(vectors)) if vectors else 0


@pytest.mark.slow
@pytest.mark.parametrize("family", ["binomial", "poisson"])
@pytest.mark.parametrize("unit", [1, 0.1])
def test_absorbed_factors_answer_as_columns_would(family, unit):
    """Columns of categories are eliminated from sparse rows; 0.1 and 0.2 are no integers, one is twice the other."""
    rng, seen, done = np.random.default_rng(len(family)), set(), 0
    while done < 80:
        n, k = int(rng.integers(4, 11)), int(rng.integers(0, 3))
        X = rng.integers(-1, 3, (n, k))
        factors = [rng.integers(0, 3, n) for _ in range(int(rng.integers(1, 4)))]
        if k and rng.random() < 0.2:
            X[:, -1] = factors[0] * 2  # depends on the factor
        y = rng.integers(0, 2, n) if family == "binomial" else rng.integers(0, 2, n) * rng.integers(1, 3, n)
        if len(set(y.tolist())) < 2:
            continue
        done += 1
        separated, statuses, columns = expected(X, y, factors, family)
        kind = "overlap" if not any(separated) else "complete" if all(separated) else "quasi"
        for design in (X * unit, sp.csr_array(X * unit)):
            found = linsep.separation(design, y, family=family, absorb=factors)
            assert found.separated.tolist() == np.flatnonzero(separated).tolist()
            assert [status for _, status, _ in found.coefficients] == statuses
            assert (found.rank, found.kind) == (columns, kind)
            assert found.check()
            assert found.check(plain=True)
            assert found.check(design, y, absorb=factors)
        seen |= {kind, *statuses}
    assert seen >= {"overlap", "quasi", "finite", "+inf", "-inf", "aliased"}


@pytest.mark.slow
def test_eliminated_categories_answer_as_other_columns_do():
    """Columns of dense rows, most of which are not 0, are not eliminated; those of sparse ones are."""
    rng, seen = np.random.default_rng(3), set()
    for trial in range(90):
        n = int(rng.integers(8, 40))
        factors = [rng.integers(0, int(rng.integers(2, 9)), n) for _ in range(2)]
        x = rng.integers(-3, 4, (n, 2)) if trial % 2 else rng.normal(size=(n, 2)) * [1, 1e60]
        X = np.column_stack([x, *(f == v for f in factors for v in np.unique(f)[1:])])
        y = rng.integers(0, 3, n) / 2 if trial % 3 == 0 else rng.integers(0, 2, n)
        y = np.where(factors[0] == 1, factors[1] % 2, y)
        options = {"alias": "keep" if trial % 5 == 0 else "drop", "fit_intercept": trial % 4 > 0}
        if len(set(y.tolist())) < 2:
            continue
        dense, sparse = (linsep.separation(each, y, **options) for each in (X, sp.csr_array(X)))
        for one in ("kind", "statuses", "rank", "dimension", "aliased"):
            assert getattr(dense, one) == getattr(sparse, one)
        assert dense.separated.tolist() == sparse.separated.tolist()
        assert dense.predict_status(X).tolist() == sparse.predict_status(sp.csr_array(X)).tolist()
        left, other = dense.refit(), sparse.refit()
        assert (left.rows.tolist(), left.columns) == (other.rows.tolist(), other.columns)
        assert np.array_equal(left.X, other.X.toarray() if sp.issparse(other.X) else other.X)
        assert left.dropped_columns == other.dropped_columns
        assert sparse.check()
        assert sparse.check(plain=True)
        assert linsep.verify(sparse.to_json(), sp.csr_array(X), y)
        seen |= {dense.kind, *dense.statuses}
    assert seen == {"overlap", "quasi", "complete", "finite", "+inf", "-inf", "undetermined", "aliased"}


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_the_limiting_model_keeps_all_that_its_rows_determine(family):
    """Beside the factors its columns are independent on the rows that are left, and as many as there can be."""
    rng, mixed = np.random.default_rng(7), 0
    for _ in range(150):
        n = int(rng.integers(6, 12))
        X, factors = rng.integers(0, 2, (n, 3)), [rng.integers(0, 2, n) for _ in range(2)]
        y = rng.integers(0, 2, n) if family == "binomial" else rng.integers(0, 2, n) * rng.integers(1, 3, n)
        if len(set(y.tolist())) < 2:
            continue
        found = linsep.separation(X, y, family=family, absorb=factors)
        left = found.refit()
        rows = left.rows
        levels = np.column_stack([factor[rows] == level for factor in factors for level in (0, 1)]).astype(int)
        whole = np.linalg.matrix_rank(np.hstack((levels, X[rows]))) if len(rows) else 0
        own = np.linalg.matrix_rank(levels) if len(rows) else 0
        kept = [int(name[1:]) for name in left.columns if name in ("x0", "x1", "x2")]
        assert len(kept) == whole - own
        assert np.linalg.matrix_rank(np.hstack((levels, X[rows][:, kept]))) == whole if len(rows) else not kept
        assert np.linalg.matrix_rank(left.X) == left.X.shape[1] == whole if len(rows) else not left.columns
        assert set(left.columns) | set(left.dropped_columns) >= {"x0", "x1", "x2"}
        mixed += any(found.statuses[j] != "finite" for j in kept)
    assert mixed  # a sum of columns is finite though neither is


@pytest.mark.slow
def test_hundreds_of_levels():
    rng = np.random.default_rng(0)
    n = 3000
    firm, year = rng.integers(0, 400, n), rng.integers(0, 10, n)  # their columns are eliminated
    X = rng.integers(-50, 50, size=(n, 2)) / 10
    y = rng.poisson(0.4, n)
    found = linsep.separation(X, y, family="poisson", absorb=[firm, year], names=["a", "b"])
    alone = [f for f in range(400) if not y[firm == f].any()]
    assert set(found.separated.tolist()) == set(np.flatnonzero(np.isin(firm, alone)).tolist())
    assert (found.kind, found.statuses[:2]) == ("quasi", ["finite", "finite"])
    assert [each.name for each in found.coefficients] == ["a", "b"]
    with pytest.raises(ValueError, match="a column for every level of the absorbed factors is among them"):
        found.predict_status(X)
    with pytest.raises(ValueError, match="the model has 15,001 coefficients, those of absorbed factors among them"):
        linsep.separation(X[:, :1], y, family="poisson", absorb=[np.arange(n) * 5 + k for k in range(5)])


@pytest.mark.parametrize("values", ["decimal", "binary"])
def test_a_factor_beside_numbers_is_no_harder_than_its_rows(values):
    """All rows of one level have one response, the others overlap: facial reduction took 20 s for its 200 columns."""
    rng, n = np.random.default_rng(0), 3000
    X, f, g = np.round(rng.normal(size=(n, 2)), 1), rng.integers(0, 200, n), rng.integers(0, 10, n)
    y = rng.integers(0, 2, n)
    y[f == 3] = 1
    found = linsep.separation(X, y, absorb=[f, g], values=values, time_limit=10)
    infinite = {name: status for name, status in zip(found.names, found.statuses, strict=True) if status != "finite"}
    assert (found.kind, found.rank, infinite) == ("quasi", 211, {"factor0=3": "+inf", "factor1=9": "aliased"})
    assert found.separated.tolist() == np.flatnonzero(f == 3).tolist()
    assert found.check()


def test_two_factors_of_many_levels():
    """The columns of the larger factor are eliminated; all rows of a level of the other are 0."""
    rng, n = np.random.default_rng(0), 20_000
    f, g = rng.integers(0, 500, n), rng.integers(0, 150, n)
    y = rng.poisson(0.5, n)
    y[g == 3] = 0
    found = linsep.separation(rng.normal(size=(n, 2)), y, family="poisson", absorb=[f, g], time_limit=30)
    assert (found.kind, found.rank, found.statuses[:2]) == ("quasi", 651, ["finite", "finite"])
    assert found.separated.tolist() == np.flatnonzero(g == 3).tolist()


def test_a_column_of_categories_that_depends_on_the_intercept():
    rng = np.random.default_rng(0)
    X, y = np.column_stack((np.ones(50), rng.normal(size=50))), rng.integers(0, 2, 50)
    for some in ([0], [0, 1]):
        dense, sparse = (linsep.separation(each[:, some], y) for each in (X, sp.csr_array(X)))
        assert (dense.statuses, dense.aliased) == (sparse.statuses, sparse.aliased)
        assert sparse.statuses[1] == "aliased"
        assert sparse.check()


def test_a_row_with_a_level_of_its_own_beside_equations():
    X = np.zeros((502, 1))
    X[0] = 1
    y = np.r_[1.0, np.full(501, 0.5)]
    factors = [np.r_[0, 0, np.arange(500)], np.r_[0, 0, np.ones(500, dtype=int)]]
    found = linsep.separation(X, y, absorb=factors, time_limit=60)
    assert (found.kind, found.statuses[:1], found.separated.tolist()) == ("quasi", ["+inf"], [0])


def test_words_of_a_table_by_the_thousand(tmp_path, run):
    """A factor of 2,000 words: those of one response are infinite, all others finite."""
    rng = np.random.default_rng(5)
    word, x = np.repeat(np.arange(2000), 4), rng.integers(-99, 100, 8000) / 10
    y = np.tile([0, 1, 0, 1], 2000)
    y[word == 7] = 1
    lines = [f"w{a},{b},{c}" for a, b, c in zip(word.tolist(), x.tolist(), y.tolist(), strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["word,x,y", *lines]) + "\n")
    code, out, _ = run("regression", "t.csv", "--target", "y", "--time-limit", 60, "--json", "--proof", "p.json")
    told = json.loads(out)
    assert [code, *(told[name] for name in ("kind", "columns", "rank", "notes"))] == [1, "quasi", 2001, 2001, []]
    infinite = {each["name"]: each["status"] for each in told["coefficients"] if each["status"] != "finite"}
    assert infinite == {"word=w7": "+inf"}
    assert told["separated"] == np.flatnonzero(word == 7).tolist()
    columns = json.loads((tmp_path / "p.json").read_text())["data"]["reading"]["columns"]
    assert {"column": "word", "level": "w7"} in columns
