"""Answers people come for: columns that give the label away, pairs of classes, what is left of a regression model."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris

import linsep
from linsep.prove.verdict.one_column import telling_columns


def fewest_wrong(x, y):
    """Return the fewest rows on the wrong side of any threshold, by trying all."""
    found = [len(x)]
    for threshold in sorted(set(x))[:-1]:
        found += [sum((v <= threshold) != (label == c) for v, label in zip(x, y, strict=True)) for c in (0, 1)]
    return min(found)


@given(st.integers(0, 2**32 - 1))
def test_a_column_is_named_if_and_only_if_a_threshold_has_few_rows_wrong(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 200)), 4
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    X = rng.integers(-3, 4, (n, d)).astype(float)
    X[:, 1] = 10 * y + rng.integers(0, 3, n)
    flipped = rng.choice(n, int(rng.integers(0, 4)), replace=False)
    X[flipped, 1] = 10 * (1 - y[flipped]) + 1
    few = int(min(0.02 * n, 0.1 * np.bincount(y).min()))
    wanted = {j: fewest_wrong(X[:, j].tolist(), y.tolist()) for j in range(d)}
    for rows in (X, sp.csr_array(X)):
        rules = telling_columns(rows, y, (0, 1))
        assert {rule.column: rule.errors for rule in rules} == {j: k for j, k in wanted.items() if k <= few}
        for rule in rules:
            x = X[:, rule.column]
            side = x <= rule.thresholds[0] if rule.below else x >= rule.thresholds[0]
            assert side.sum() == rule.rows
            assert (side != (y == rule.labels[0])).sum() == rule.errors


def test_many_rows_are_sampled_first_and_nothing_is_missed():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50_000, 6))
    y = (X[:, 2] > 0.3).astype(int)
    y[rng.choice(50_000, 300, replace=False)] ^= 1
    (rule,) = telling_columns(X, y, (0, 1))
    assert (rule.column, rule.errors) == (2, 300)


def test_several_classes_in_one_column():
    iris = load_iris(as_frame=True)
    assert linsep.separate(iris.data, iris.target).columns == ()
    X = iris.data.assign(leak=iris.target * 2.5)
    (rule,) = linsep.separate(X, iris.target).columns
    assert rule.sentence("species") == (
        "leak alone separates: species = 0 up to 0, species = 1 up to 2.5, species = 2 above"
    )


def birth_weights(folder):
    rng = np.random.default_rng(0)
    weight = rng.permutation(np.r_[rng.integers(900, 2496, 58), 2495, rng.integers(2496, 4800, 130)])
    frame = pd.DataFrame({"age": rng.integers(15, 40, 189), "bwt": weight, "low": (weight < 2500).astype(int)})
    frame.to_csv(path := folder / "births.csv", index=False)
    return path


WORDS = "bwt alone separates: all 59 rows with bwt ≤ 2495 are low = 1, all others low = 0"


@pytest.mark.parametrize("command", ["separate", "errors", "regression"])
def test_commands_name_a_column_that_gives_the_label_away(command, run, tmp_path):
    path = birth_weights(tmp_path)
    _, out, _ = run(command, path, "--target", "low")
    assert WORDS in " ".join(out.split())


def test_the_report_names_it(run, tmp_path):
    run("report", birth_weights(tmp_path), "--target", "low", "--out", tmp_path / "page.html")
    assert "bwt alone separates" in (tmp_path / "page.html").read_text()


def test_pairs_of_classes_have_their_verdicts_and_errors(run, tmp_path):
    iris = load_iris(as_frame=True)
    pairs = linsep.separate(iris.data, iris.target).pairs(iris.data, iris.target)
    assert [(p.first, p.second, p.kind, p.lower, p.upper) for p in pairs] == [
        (0, 1, "separable", 0, 0), (0, 2, "separable", 0, 0), (1, 2, "overlap", 1, 1),
    ]  # fmt: skip
    assert pairs.to_frame()["rows"].tolist() == [100, 100, 100]
    iris.frame.to_csv(path := tmp_path / "iris.csv", index=False)
    code, out, _ = run("separate", path, "--target", "target", "--pairs", "--json")
    assert code == 1
    assert [pair["upper"] for pair in json.loads(out)["pairs"]] == [0, 0, 1]


def test_what_is_left_is_fitted_with_its_names():
    pytest.importorskip("statsmodels")
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.integers(0, 2, 80)})
    y = (frame["a"] + rng.normal(size=80) > 0).astype(int)
    y[frame["b"] == 1] = 1
    found = linsep.separation(frame, y)
    left = found.refit()
    import statsmodels.api as sm

    kept = frame["b"] == 0
    ours = left.fit(disp=False).params
    theirs = sm.Logit(y[kept], sm.add_constant(frame.loc[kept, ["a"]])).fit(disp=False).params
    assert list(ours.index) == ["Intercept", "a"]
    assert ours.to_numpy() == pytest.approx(theirs.to_numpy(), abs=1e-6)
    with pytest.raises(ValueError, match="no row is left"):
        linsep.separation([[0.0], [1.0]], [0, 1]).refit().fit()


def test_fewest_errors_ends_by_itself():
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    found = linsep.fewest_errors(X[:, :8], rng.permutation(y), time_limit=1.0)
    assert found.lower < found.upper
    assert linsep.fewest_errors.__kwdefaults__["time_limit"] == 10.0


def test_probabilities_are_asked_for_with_advice():
    model = linsep.Perceptron().fit([[0.0], [1.0]], [0, 1])
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match=r"CalibratedClassifierCV\(model\)"):
        model.predict_proba([[0.0]])
