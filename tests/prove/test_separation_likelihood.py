"""Separation in regression against the likelihood itself: limits, suprema and brute force over all directions."""

import os
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.optimize import linprog, minimize

import linsep
from likelihood_oracle import FAR, LINKS, Answers, Case, log_between, log_sum
from linsep.prove.regression.words import sentences

FAMILIES = ("binomial", "poisson", "negative-binomial", "multinomial", "ordinal", "conditional", "cox")
MANY = int(os.environ.get("LINSEP_DESIGNS", "0"))  # designs for each family instead of the usual number
WORDS = ("low", "mid", "high", "extreme")  # whose order is not the alphabet's


def random_case(family, rng, p, wide):
    """A small model with at most ``p`` coefficients, of zeros and ones unless ``wide``, and how linsep is given it."""
    n = int(rng.integers(3, 8))
    offset = bool(rng.random() < 0.6) and family not in ("ordinal", "conditional", "cox")
    classes = 0
    if family in ("multinomial", "ordinal"):
        classes = int(rng.integers(2, 5))
        most = p // (classes - 1) - offset if family == "multinomial" else p - (classes - 1)
    else:
        most = p - offset
    d = int(rng.integers(0 if offset or family == "ordinal" else 1, max(1, most) + 1)) if most > 0 else 0
    if d == 0 and not offset and family != "ordinal":
        d = 1
    X = rng.integers(-2, 3, (n, d)) if wide and rng.random() < 0.7 else rng.integers(0, 2, (n, d))
    if d > 1 and rng.random() < 0.25:
        X[:, -1] = rng.choice([X[:, 0], 1 - X[:, 0]])
    options, strata, link = {}, None, "logit"
    if family == "binomial":
        link = str(rng.choice(LINKS))
        y = rng.integers(0, 2, n).tolist()
        kind = rng.random()
        if kind < 0.3:
            y = [tuple(pair) for pair in rng.integers(0, 2, (n, 2)).tolist()]
        elif kind < 0.5:
            y = (rng.integers(0, 3, n) / 2).tolist()
    elif family in ("poisson", "negative-binomial"):
        y = (rng.integers(0, 3, n) * rng.integers(0, 2, n)).tolist()
    elif family in ("multinomial", "ordinal"):
        link = str(rng.choice(LINKS[:2])) if family == "ordinal" else "logit"
        y = rng.integers(0, classes, n).tolist()
        if rng.random() < 0.4:  # a class without rows
            y = [value if value != classes // 2 else 0 for value in y]
    elif family == "conditional":
        y, strata = rng.integers(0, 2, n).tolist(), rng.integers(0, 2, n).tolist()
    else:
        link = str(rng.choice(["breslow", "efron"]))
        y = [(int(t), int(e)) for t, e in zip(rng.integers(1, 5, n), rng.random(n) < 0.7, strict=True)]
        strata = rng.integers(0, 2, n).tolist() if rng.random() < 0.4 else None
    weights = rng.integers(0, 3, n).tolist() if rng.random() < 0.4 else None
    if family == "binomial" and isinstance(y[0], tuple):
        none = [w if sum(pair) else 0 for w, pair in zip(weights or [1] * n, y, strict=True)]
    else:
        none = weights
    beside = 0.2 * rng.normal(size=n) if rng.random() < 0.3 else None
    case = Case(family, X, y, offset=offset, weights=none, strata=strata, classes=classes, link=link, beside=beside)
    if strata is not None:
        spelled = rng.choice(["number", "word"])
        options["strata"] = strata if spelled == "number" else [f"s {value}" for value in strata]
    options |= {"family": family, "fit_intercept": offset, "weights": weights}
    given = np.array(y)
    if family in ("multinomial", "ordinal"):
        given, more = in_some_form(y, classes, rng, family)
        options |= more
    return case, X, given, options


def in_some_form(y, classes, rng, family):
    """Labels with an order, in one of the forms that people have."""
    words, numbers = list(WORDS[:classes]), [9, 10, 11, 100][:classes]
    form = rng.choice(["order", "numbers", "Series", "Categorical", "CategoricalIndex", "Enum", "arrow"])
    if form == "numbers" and set(y) == set(range(classes)):
        return np.array(numbers)[y], {}
    if family == "multinomial" or form in ("order", "numbers"):
        labels = words if rng.random() < 0.5 else numbers
        return np.array(labels)[y], {"order": labels}
    said = [words[k] for k in y]
    if form == "Enum":
        return pl.Series(said, dtype=pl.Enum(words)), {}
    if form == "arrow":
        made = pa.DictionaryArray.from_arrays(pa.array(y), pa.array(words), ordered=True)
        return (pa.chunked_array([made]) if rng.random() < 0.5 else made), {}
    found = pd.Categorical(said, categories=words, ordered=True)
    return {"Series": pd.Series, "Categorical": lambda c: c, "CategoricalIndex": pd.CategoricalIndex}[form](found), {}


def inside(case, rng):
    """Coefficients in the middle of the parameter space."""
    start = 0.3 * rng.normal(size=case.p)
    if case.family == "ordinal":
        start[: case.classes - 1] = np.sort(start[: case.classes - 1]) + np.arange(case.classes - 1)
    return start


def decided(X, y, options):
    """The result, or None where there is nothing to model."""
    nothing = ("constant", "nothing to model", "0 in every row", "leave the stratum out", "no row has", "weight 0")
    try:
        return linsep.separation(X, y, **options)
    except ValueError as error:
        if not any(each in str(error) for each in nothing):
            raise
        return None


def cases(family, count, seed, *, wide=False):
    """Random models that can be decided."""
    rng, found = np.random.default_rng([seed, *map(ord, family)]), 0
    while found < (MANY or count):
        case, X, y, options = random_case(family, rng, int(rng.choice([3, 3, 4])), wide)
        result = decided(X, y, options)
        if result is not None:
            found += 1
            yield rng, case, X, y, options, result


@pytest.mark.parametrize("family", FAMILIES)
def test_every_answer_is_what_the_likelihood_does(family):
    kinds, seen = set(), set()
    for rng, case, X, y, options, found in cases(family, 120, 1):
        assert len(found.names) == case.p
        start = inside(case, rng)
        every = Answers(case, start)
        dropped = every.dependent
        kept = Answers(case, start, dropped) if dropped else every
        assert found.kind == every.kind, (options, X, y)
        assert found.separated.tolist() == every.separated
        compared = [i for i, fate in case.fates(start[None]).items() if fate is not None]
        assert found.rest.tolist() == [i for i in case.counted if i not in every.separated or i not in compared]
        wanted = ["aliased" if j in dropped else kept.status(unit) for j, unit in enumerate(np.eye(case.p))]
        assert found.statuses == wanted, (options, X, y)
        assert found.rank == case.p - rank(every.lines)
        assert found.dimension == rank(every.cone) - rank(every.lines)
        direction = np.array(found.direction, dtype=float)
        assert np.abs(every.limits(direction[None])[0] - every.units).max() < 1e-6
        for c in rng.integers(-1, 2, (3, case.p)):
            expected = every.status(c) if any(c[j] for j in dropped) else kept.status(c)
            assert found.status(c.tolist()) == expected, (c, options, X, y)
        keeping = linsep.separation(X, y, **options, alias="keep")
        assert keeping.statuses == [every.status(unit) for unit in np.eye(case.p)]
        for each in found.certificate()["coefficients"]:
            for side in ("up", "down"):
                if side in each:  # along both the likelihood goes as high as anywhere from there
                    both = np.array([[float(v) for v in each[side]]]) * [[1], [2]]
                    levels = case.total(start + FAR * both)
                    assert levels[1] > levels[0] - 1e-6
        assert found.check()
        assert found.check(plain=True)
        kinds.add(found.kind)
        seen |= set(found.statuses)
    counts = family in ("poisson", "negative-binomial")
    assert kinds == {"overlap", "quasi", "complete"} - ({"complete"} if counts else set())
    assert seen >= {"finite", "+inf", "-inf"}


def rank(vectors):
    return int(np.linalg.matrix_rank(vectors)) if len(vectors) else 0


@pytest.mark.parametrize("family", FAMILIES)
def test_predictions_are_the_limits_of_fitted_probabilities(family):
    seen = set()
    for rng, case, _, _, _, found in cases(family, 80, 2):
        every = Answers(case, inside(case, rng))
        dropped = every.dependent
        kept = Answers(case, every.start, dropped) if dropped else every
        rows = np.array(list(product((0, 1), repeat=case.d)), dtype=float).reshape(2**case.d, case.d)
        rows = rows[rng.permutation(len(rows))[:5]]
        if family in ("multinomial", "ordinal") and dropped:
            continue
        said = found.predict_status(rows)
        full = np.column_stack((np.ones(len(rows)), rows)) if case.offset else rows
        for k, x in enumerate(full):
            if family in ("multinomial", "ordinal"):
                assert list(said[k]) == every.classes(x), (case.X, case.y, case.weights, x)
            else:
                status = (every if any(x[j] for j in dropped) else kept).status(x)
                top = {"binomial": "1", "conditional": "+inf", "cox": "+inf"}.get(family, "infinite")
                linear = family in ("conditional", "cox")
                names = {"finite": "finite", "-inf": "-inf"} if linear else {"finite": "inside", "-inf": "0"}
                wanted = {**names, "+inf": top}.get(status, status)
                assert said[k] == wanted
            seen |= set(np.ravel(said[k]).tolist())
    assert len(seen) >= 3


# ---------------------------------------------------------------------------------------------------------------
# The limiting model


def limiting(case, left):
    """The log-likelihood of the model that ``refit`` returns, a function of the coefficients of the whole model."""
    rows = left.rows.tolist()
    if len(rows) == 0:
        return lambda B: np.zeros(len(B))
    if case.family in ("multinomial", "ordinal"):
        return lambda B: of_choices(case, left, rows, B)
    part = Case(
        case.family, case.X[rows], [case.y[i] for i in rows], offset=case.offset, weights=case.weights[rows],
        strata=None if left.strata is None else left.strata.tolist(), link=case.link, beside=case.beside[rows],
    )  # fmt: skip
    return part.total


def of_choices(case, left, rows, B):
    if case.family == "multinomial":
        eta = np.where(left.choices, case.scores(B, case.full[rows]), -np.inf)
        own = np.array([case.y[i] for i in rows])
        found = eta[:, np.arange(len(rows)), own] - log_sum(eta)
        return (found * case.weights[rows]).sum(axis=1)
    eta, t, total = case.scores(B, case.full[rows]), case.cuts(B), np.zeros(len(B))
    for k, i in enumerate(rows):
        lower, upper = left.choices[k]
        high = t[:, case.y[i] + 1] - eta[:, k] if upper else np.full(len(B), np.inf)
        low = t[:, case.y[i]] - eta[:, k] if lower else np.full(len(B), -np.inf)
        total = total + case.weights[i] * log_between(high, low, case.link)
    return total


@pytest.mark.parametrize("family", FAMILIES)
def test_the_limiting_model_is_the_limit_and_has_a_finite_maximum(family):
    quasi = 0
    for rng, case, _, _, _, found in cases(family, 40, 3, wide=True):
        left = found.refit()
        limit = limiting(case, left)
        starts = np.array([inside(case, rng) for _ in range(4)])
        if family == "ordinal":
            close(case, found, starts)
        limits = case.total(starts + FAR * np.array(found.direction, dtype=float))
        assert np.abs(limits - limit(starts)).max() < 1e-6, (case.X, case.y, case.strata)
        names = [name for name in found.names if name in left.columns]
        assert names == left.columns
        assert set(left.columns) | set(left.dropped_columns) == set(found.names)
        assert set(left.rows.tolist()) | set(left.dropped_rows) == set(range(case.n))
        kept = [found.names.index(name) for name in left.columns]
        tied = ties(case, found)

        def spread(b, kept=kept, tied=tied, p=case.p):
            B = np.zeros((1, p))
            B[0, kept] = b
            for j, k in tied:
                B[0, j] = B[0, k]
            return B

        def loss(b, limit=limit, spread=spread):
            value = -limit(spread(b))[0]
            return min(value, 1e6 + np.abs(b).sum()) if np.isfinite(value) else 1e6 + np.abs(b).sum()

        first = rng.normal(size=len(kept))
        if family == "ordinal":
            first = inside(case, rng)[kept]
        best = minimize(loss, first, method="BFGS", options={"gtol": 1e-8}) if len(kept) else None
        top = -loss(np.zeros(0)) if best is None else -best.fun
        if best is not None:
            assert np.abs(best.x).max() < 60, (case.X, case.y, left.columns)
            curved = np.array([[curvature(loss, best.x, i, j) for j in range(len(kept))] for i in range(len(kept))])
            assert np.linalg.eigvalsh(curved).min() > 1e-5  # one maximum: no column is left over
        options = {"maxiter": 40}
        for start in starts[: 3 if MANY else 1]:  # the supremum of the whole model is not above
            whole = minimize(lambda b, case=case: least(-case.total(b[None])[0]), start, method="BFGS", options=options)
            assert -whole.fun < top + 1e-6
        reach = case.total(spread(best.x if best is not None else []) + 64 * np.array(found.direction, dtype=float))[0]
        assert abs(reach - top) < 1e-5
        quasi += found.kind == "quasi"
    assert quasi


def least(value):
    return value if np.isfinite(value) else 1e9


def curvature(f, x, i, j, step=1e-3):
    e, g = np.zeros(len(x)), np.zeros(len(x))
    e[i], g[j] = step, step
    return (f(x + e + g) - f(x + e - g) - f(x - e + g) + f(x - e - g)) / (4 * step**2)


def ties(case, found):
    """Pairs of thresholds around classes without rows that are one in the limiting model."""
    if case.family != "ordinal":
        return []
    direction, empty = found.direction, set(range(1, case.classes - 1)) - {case.y[i] for i in case.counted}
    return [(k, k - 1) for k in sorted(empty) if direction[k] == direction[k - 1]]


def close(case, found, starts):
    """Close the gaps of classes without rows, as every maximum does."""
    for j, k in ties(case, found):
        starts[:, j] = starts[:, k]
    starts[:, : case.classes - 1] = np.maximum.accumulate(starts[:, : case.classes - 1], axis=1)


def test_a_risk_set_loses_rows_that_are_infinitely_far_below():
    """The rows with 0 are far below the first event, and the only ones at risk at the second."""
    X = np.array([[0, 1], [1, 1], [-1, 1], [0, 0], [1, 0], [-1, 0]])
    y = np.column_stack(([1, 2, 2, 3, 4, 4], [1, 0, 0, 1, 0, 0]))
    found = linsep.separation(X, y, family="cox")
    assert (found.kind, found.statuses, found.separated.tolist()) == ("quasi", ["finite", "+inf"], [])
    left = found.refit()
    assert (left.columns, left.strata.tolist()) == (["x0"], [0, 0, 0, 1, 1, 1])
    assert left.dropped_columns == {"x1": "within the strata that are left it is constant"}
    case = Case("cox", X, [tuple(row) for row in y.tolist()])
    B = np.random.default_rng(0).normal(size=(5, 2))
    far = case.total(B + FAR * np.array(found.direction, dtype=float))
    assert np.abs(far - limiting(case, left)(B)).max() < 1e-9
    assert any("take the strata that refit() returns" in each for each in sentences(found))


def test_reasons_are_true_of_the_rows_that_are_left():
    """A column is said to be constant within strata where it is not zero, and to make no difference elsewhere."""
    pairs = linsep.separation(
        [[1, 1], [0, 0], [1, 0], [0, 1], [0, 1]], [1, 0, 1, 0, 1], family="conditional", strata=[0, 0, 1, 1, 1]
    )
    left = pairs.refit()
    assert (left.rows.tolist(), left.strata.tolist(), left.columns) == ([3, 4], [0, 0], [])
    assert set(left.dropped_columns.values()) == {"within the strata that are left it is constant"}
    many = linsep.separation([[0], [0], [1], [1], [2], [2]], [0, 1, 0, 1, 2, 2], family="multinomial").refit()
    assert set(many.dropped_columns.values()) == {"on the rows that are left it makes no difference"}
    zero = linsep.separation([[0], [0], [1], [1]], [0, 1, 1, 1]).refit()
    assert zero.dropped_columns == {"x0": "on the rows that are left it is zero"}
    rivals = linsep.separation([[0], [0], [1], [1]], [0, 1, 1, 2], family="multinomial")
    assert not rivals.refit().choices.all()
    assert any("no ordinary multinomial model" in each for each in sentences(rivals))


def test_a_class_that_several_rivals_rule_out_together_has_probability_0():
    """Each of the two rivals of class 0 may fall behind it at the new row, but never both."""
    X = np.array([[-2, 0, 0, 1], [2, -1, -2, -1], [0, -2, -2, -1], [-1, -1, 1, -2], [3, -5, -5, -6], [-1, 2, 2, 2]])
    y, x = [1, 1, 0, 0, 2, 2], np.array([2, -2, -4, -2])
    found = linsep.separation(X, y, family="multinomial", fit_intercept=False)
    case = Case("multinomial", X, y, classes=3)

    def ahead(rivals):
        """Coefficients that fit all rows, with class 0 as far ahead of some rivals at the new row as it can be."""
        units = np.concatenate((np.zeros((1, 8)), np.eye(8)))
        block = [np.zeros((4, 8)), units[1:5], units[5:9]]  # coefficients of a class from all of them
        rows = [-row @ (block[own] - block[k]) for row, own in zip(X, y, strict=True) for k in range(3) if k != own]
        least = [[*(x @ block[k]), 1] for k in rivals]  # t <= -x·β_k
        A = np.vstack((np.column_stack((rows, np.zeros(len(rows)))), least))
        best = linprog([0] * 8 + [-1], A, [-1] * len(rows) + [0] * len(rivals), bounds=[(-1e4, 1e4)] * 9)
        return best.x[:8], best.x[8]

    for rival in (1, 2):
        B, lead = ahead([rival])
        assert lead > 0
        assert case.total(B[None])[0] > -8  # a way on which all rows are fitted
        assert np.exp(case.total(FAR * B[None])[0]) > 1 - 1e-9
        assert case.probabilities(FAR * B[None], x[None])[0, 0, 0] < -FAR / 4
    assert ahead([1, 2])[1] < 0
    assert found.predict_status([x]).tolist() == [["0", "undetermined", "undetermined"]]
