"""What reports, pages and the docs say of runs and verdicts, against the mathematics."""

import itertools
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import linsep
from linsep import fewest_errors, report, separate
from linsep.clock import Clock
from linsep.pages.reporting.words import SEVERAL, VERDICTS
from linsep.prove.class_pairs import tied_classes
from oracles import inequalities, kind

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


# ---------------------------------------------------------------------------------------------------------------
# Verdicts


def planes(rows, offset):
    """All planes with small whole numbers."""
    for w in itertools.product(range(-3, 4), repeat=len(rows[0])):
        for b in range(-3, 4) if offset else (0,):
            if any(w) or b:
                yield w, b


def test_the_words_for_overlap_hold_where_all_rows_may_lie_on_a_plane():
    """(0,0)a, (1,1)b, (2,2)a: no plane separates them even weakly, but one holds all of them."""
    X, y = [[0, 0], [1, 1], [2, 2]], ["a", "b", "a"]
    assert separate(X, y).kind == "overlap"
    sides = [[(1 if c == "b" else -1) * (w[0] * x + w[1] * z + b) for (x, z), c in zip(X, y, strict=True)]
             for w, b in planes(X, True)]  # fmt: skip
    on_one = [side for side in sides if min(side) >= 0]
    assert on_one  # so "even if rows may lie on the plane" would be false
    assert all(not any(side) for side in on_one)  # "every plane has rows on the wrong side, or all rows on it"
    assert "Every plane has rows on the wrong side, or all rows on it." in VERDICTS["overlap"]
    page = str(report(X, y, time_limit=5))
    assert "even if rows may lie on the plane" not in page


@pytest.mark.parametrize("seed", range(25))
def test_ties_of_a_quasi_verdict_on_several_classes(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-2, 3, (12, 2)), np.arange(12) % 3
    X[y == 2] += [6, 0] if seed % 2 else [0, 0]
    verdict = separate(X, y, fit_intercept=bool(seed % 5))
    ties = tied_classes(verdict, X, y, Clock())
    if verdict.kind != "quasi":
        assert ties is None
        return
    W, b = verdict.separator.exactly()
    scores = [[sum(a * Fraction(int(v)) for a, v in zip(w, x, strict=True)) + c for w, c in zip(W, b, strict=True)]
              for x in X]  # fmt: skip
    tied = [(i, c) for i, s in enumerate(scores) for c in range(3) if c != y[i] and s[c] == s[y[i]]]
    assert ties.rows == len({i for i, _ in tied})
    assert ties.strict == [c for c in range(3) if not any(c in (y[i], r) for i, r in tied)]
    assert sorted(ties.pairs) == sorted(
        (first, second, kind(inequalities(X[some].tolist(), y[some].tolist(), (first, second), bool(seed % 5))))
        for first, second in {tuple(sorted((int(y[i]), c))) for i, c in tied}
        for some in [np.isin(y, (first, second))]
    )
    for c in ties.strict:  # strictly split off: its rows against all others are separable
        assert kind(inequalities(X.tolist(), (y == c).astype(int).tolist(), (0, 1), True)) == "separable" or c not in y


def test_the_verdict_on_iris_says_what_quasi_means(run):
    path = ROOT / "examples" / "iris.csv"
    told = json.loads(run("separate", path, "--json")[1])
    assert told["verdict"] == "quasi"
    assert told["ties"]["strict"] == ["setosa"]
    assert told["ties"]["pairs"] == [{"classes": ["versicolor", "virginica"], "verdict": "overlap"}]
    assert told["ties"]["rows"] == 100
    shown = run("separate", path)[1]
    assert "one has none on the wrong side" not in shown
    assert "no weight vectors score the true class of every row strictly highest" in shown
    assert "versicolor and virginica overlap" in shown
    assert "setosa: split off strictly" in shown
    X, y = linsep.read(path).to_arrays()
    page = str(report(X, y, time_limit=20))
    assert "versicolor and virginica overlap" in page
    assert SEVERAL["quasi"][:60] in page


def test_the_time_limit_holds_for_pairs_too():
    X, y = linsep.read(ROOT / "examples" / "iris.csv").to_arrays()
    verdict = separate(X, y)
    ties = tied_classes(verdict, X, y, Clock(0.0))
    assert ties.pairs == [("versicolor", "virginica", "unknown")]


@pytest.mark.parametrize("seed", range(8))
def test_what_the_page_on_errors_says_of_the_data_that_it_writes(seed):
    """With an offset the rows that are left, or relabeled by the plane, are separable unless one class is left."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-3, 4, (14, 2)), rng.integers(0, 2, 14)
    found = fewest_errors(X, y)
    wrong = np.isin(np.arange(14), found.rows)
    predicted = (X @ np.array(found.w, dtype=float) + float(found.b) > 0).astype(int)
    for rows, labels in ((X[~wrong], y[~wrong]), (X, np.where(wrong, predicted, y))):
        assert len(set(labels.tolist())) == 1 or separate(rows, labels).kind == "separable"
    zero = [[0, 0], [1, 0], [-1, 0]]  # without an offset a row of zeros is on every plane, whatever its label
    assert all(separate(zero, [label, 1, 0], fit_intercept=False).kind != "separable" for label in (0, 1))
    said = " ".join((DOCS / "commands" / "errors.md").read_text().split())
    assert "either way the written data are separable. Delimited" not in said
