"""Absorbed factors: the graph of levels against double description on all columns, and scale in small."""

import json

import numpy as np
import pytest

import linsep
from javascript import judged
from linsep.clock import Clock
from linsep.prove.regression.absorbed import AbsorbedSeparation
from linsep.prove.regression.fixed_effects import Effects, with_columns
from linsep.prove.regression.inputs import gather
from regression_oracle import answers
from test_separation_proofs import CLAIMS, answer, forgeries


def on_the_graph(X, y, factors, family):
    """Decide on the graph of levels, however few they are."""
    options = {"family": family, "fit_intercept": True, "absorb": [(f"f{k}", f) for k, f in enumerate(factors)]}
    given = gather(X, y, options)
    base = with_columns(given, given.absorb[2:])
    return AbsorbedSeparation(given, Effects(base, list(given.absorb), X.shape[1], Clock()))


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


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_the_graph_of_levels_answers_as_all_columns_would(family):
    rng, seen, done = np.random.default_rng(len(family)), set(), 0
    while done < 120:
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
        for found in (on_the_graph(X, y, factors, family), linsep.separation(X, y, family=family, absorb=factors)):
            assert found.separated.tolist() == np.flatnonzero(separated).tolist()
            assert [status for _, status, _ in found.coefficients] == statuses
            assert found.rank == columns
            assert found.check()
            assert found.check(plain=True)
        kind = "overlap" if not any(separated) else "complete" if all(separated) else "quasi"
        assert on_the_graph(X, y, factors, family).kind == kind
        seen |= {kind, *statuses}
    assert seen >= {"overlap", "quasi", "finite", "+inf", "-inf", "aliased"}


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
        found = on_the_graph(X, y, factors, family)
        left = found.refit()
        rows = left.rows
        levels = np.column_stack([factor[rows] == level for factor in factors for level in (0, 1)]).astype(int)
        whole = np.linalg.matrix_rank(np.hstack((levels, X[rows]))) if len(rows) else 0
        own = np.linalg.matrix_rank(levels) if len(rows) else 0
        kept = [found.names.index(name) for name in left.columns]
        assert np.array_equal(left.X, X[rows][:, kept])
        assert len(kept) == whole - own
        assert np.linalg.matrix_rank(np.hstack((levels, left.X))) == whole if len(rows) else not kept
        assert set(left.columns) | set(left.dropped_columns) == set(found.names)
        mixed += any(found.statuses[j] != "finite" for j in kept)
    assert mixed  # a sum of columns is finite though neither is


def test_many_levels_in_no_time():
    rng = np.random.default_rng(0)
    n = 20_000
    firm, year = rng.integers(0, 3000, n), rng.integers(0, 30, n)
    X = rng.normal(size=(n, 2))
    y = rng.poisson(0.4, n)
    found = linsep.separation(X, y, family="poisson", absorb=[firm, year], names=["a", "b"])
    alone = {f for f in range(3000) if not y[firm == f].any()}
    assert set(found.separated.tolist()) == set(np.flatnonzero(np.isin(firm, list(alone))).tolist())
    assert (found.kind, found.statuses) == ("quasi", ["finite", "finite"])
    assert found.check()
    assert found.refit().X.shape == (len(found.rest), 2)
    switch = (rng.random(n) < 0.01).astype(float)
    y = np.where(switch == 1, 0, np.maximum(y, rng.integers(0, 2, n)))
    found = linsep.separation(np.column_stack((X, switch)), y, family="poisson", absorb=[firm, year])
    assert found.statuses == ["finite", "finite", "-inf"]
    assert set(np.flatnonzero(switch)) <= set(found.separated.tolist())
    assert found.check()


def test_a_walk_that_says_nothing_is_not_asked_for_again():
    """A row to a level of its own beside an equation: the first walk that moves it is zero on its column."""
    X = np.zeros((502, 1))
    X[0] = 1
    y = np.r_[1.0, np.full(501, 0.5)]
    factors = [np.r_[0, 0, np.arange(500)], np.r_[0, 0, np.ones(500, dtype=int)]]
    found = linsep.separation(X, y, absorb=factors, time_limit=60)
    assert (found.kind, found.statuses, found.separated.tolist()) == ("quasi", ["+inf"], [0])


def small_proofs(family, count):
    """Documents of small models decided on the graph, with design and response."""
    rng = np.random.default_rng([len(family), 5])
    found, seen = [], set()
    while len(found) < count or not seen >= {"finite", "+inf", "-inf", "undetermined", "aliased"}:
        X = rng.integers(-1, 2, (7, 2)) * (0.1 if len(found) % 2 else 1)
        factors = [rng.integers(0, 2, 7) for _ in range(int(rng.integers(1, 4)))]
        y, weights = rng.integers(0, 3, 7), np.r_[0, np.ones(6)]
        y = y / 2 if "binomial" in family else y
        if len(set(y[1:].tolist())) < 2:
            continue
        options = {"family": family, "fit_intercept": True, "alias": "keep" if len(found) % 3 == 0 else "drop"}
        options |= {"weights": weights, "absorb": factors}
        given = gather(X, y, options)
        result = AbsorbedSeparation(
            given, Effects(with_columns(given, given.absorb[2:]), list(given.absorb), 2, Clock())
        )
        if set(result.statuses) <= seen:
            continue
        seen |= set(result.statuses)
        found.append((result.to_json(), X, np.column_stack([y, weights, *factors])))
    return found


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_documents_hold_and_forged_ones_fail_all_checks(family):
    held = 0
    for text, X, y in small_proofs(family, 3):
        assert all(linsep.verify(text, X, y, plain=plain) for plain in (False, True))
        said, every = json.loads(text), list(forgeries(text))
        assert said["kind"] == "separation-absorbed"
        for (key, changed), (script, _) in zip(every, judged([changed for _, changed in every], X, y), strict=True):
            fast, plain = (answer(changed, X, y, plain) for plain in (False, True))
            assert (fast, script) == (plain, bool(plain)), (key, changed)
            if plain:  # another proof of the same
                other = json.loads(changed)
                assert all(other[name] == said[name] for name in CLAIMS), key
                assert [c["status"] for c in other["coefficients"]] == [c["status"] for c in said["coefficients"]]
            held += bool(plain)
        other = y.copy()
        other[1, -1] += 1
        assert not linsep.verify(text, X, other)
    assert held


def test_a_third_factor_of_too_many_levels_is_refused_in_one_line():
    rows = np.arange(2000)
    y = rows % 3
    few = linsep.separation(np.zeros((2000, 0)), y, family="poisson", absorb=[rows % 500, rows % 7, rows % 61])
    assert (few.kind, few.check()) == ("overlap", True)
    with pytest.raises(ValueError, match="have 251 levels, more than the 250 that 2,000 rows allow: leave one out"):
        linsep.separation(np.zeros((2000, 0)), y, family="poisson", absorb=[rows % 500, rows % 300, rows % 251])
