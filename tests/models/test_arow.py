"""AROW against the definition in plain Python: Crammer, Kulesza & Dredze 2009, figure 1, with a diagonal matrix."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from data import few, quiet
from linsep import AROW, cluster, fit_source, load, read, save
from linsep.cli import main


def definition(X, y, classes, *, r=1.0, offset=True, ovr=False, passes=1, weight=None):
    """Return weights and variances, offsets last, of machines (signs +1, -1) or of compared classes."""
    rows = [[*x, 1.0] if offset else [*x] for x in X]
    machines, d = 1 if classes == 2 else classes, len(rows[0])
    W, S = [[0.0] * d for _ in range(machines)], [[1.0] * d for _ in range(machines)]

    def score(c, x):
        return sum(w * v for w, v in zip(W[c], x, strict=True))

    def move(pairs, m, x, share):
        beta = 1 / (sum(S[c][j] * x[j] ** 2 for c, _ in pairs for j in range(d)) + r / share)
        for c, sign in pairs:
            for j in range(d):
                W[c][j] += max(0.0, 1 - m) * beta * sign * S[c][j] * x[j]
                S[c][j] -= beta * (S[c][j] * x[j]) ** 2

    for _ in range(passes):
        for i, x in enumerate(rows):
            share = 1.0 if weight is None else weight[i]
            if share > 0 and (classes == 2 or ovr):
                for c in range(machines):
                    sign = 1.0 if y[i] == (1 if classes == 2 else c) else -1.0
                    if (m := sign * score(c, x)) < 1:
                        move([(c, sign)], m, x, share)
            elif share > 0:
                rival = max((c for c in range(classes) if c != y[i]), key=lambda c: score(c, x))
                if (m := score(y[i], x) - score(rival, x)) < 1:
                    move([(y[i], 1.0), (rival, -1.0)], m, x, share)
    return np.array(W), np.array(S)


def rows(classes, n=60, d=4):
    rng = np.random.default_rng(classes)
    X = np.where(rng.random((n, d)) < 0.4, 0.0, rng.normal(size=(n, d)))
    return X, np.where(rng.random(n) < 0.8, np.argmax(X[:, :classes], axis=1), rng.integers(0, classes, n))


@pytest.mark.parametrize(
    ("classes", "form", "storage"),  # each compiles a loop
    few(
        [(2, "argmax", sp.csr_array), (3, "argmax", sp.csr_array), (3, "argmax", np.asarray), (3, "ovr", np.asarray)], 2
    ),
)
@pytest.mark.parametrize("offset", [True, False])
def test_equals_the_definition(classes, form, offset, storage, tmp_path):
    X, y = rows(classes)
    parameters = {"r": 0.7, "fit_intercept": offset, "shuffle": False, "multi_class": form}
    W, S = definition(X, y, classes, r=0.7, offset=offset, ovr=form == "ovr", passes=3)
    whole = quiet(AROW(max_iter=3, **parameters), storage(X), y)
    parts = AROW(**parameters)
    for start in [*range(0, 60, 7)] * 3:  # row by row in parts, with a file between them
        parts.partial_fit(storage(X)[start : start + 7], y[start : start + 7], classes=range(classes))
        save(parts, tmp_path / "model")
        parts = load(tmp_path / "model")
    for model in (whole, parts):
        learned = np.column_stack((model.coef_, model.intercept_))[:, : W.shape[1]]
        np.testing.assert_allclose(learned, W, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.variance_, S[:, :4], rtol=1e-9)


def test_weights_average_and_late_classes_and_columns():
    X, y = rows(2)
    weight = np.arange(60) % 3 / 2.0
    model = quiet(AROW(shuffle=False, max_iter=2), X, y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, definition(X, y, 2, passes=2, weight=weight)[0][:, :4], rtol=1e-9)
    mean = quiet(AROW(shuffle=False, max_iter=1, keep="average"), X, y)
    seen = [definition(X[:t], y[:t], 2)[0] for t in range(1, 61)]
    np.testing.assert_allclose(mean.coef_, np.mean(seen, axis=0)[:, :4], rtol=1e-9)
    grown = AROW(shuffle=False).partial_fit(sp.csr_array(X), y)
    binary = grown.variance_
    grown.partial_fit(
        sp.csr_array(np.column_stack((X[:1], [[0.0]]))), [2], sample_weight=[1e-300]
    )  # so little that nothing moves
    np.testing.assert_allclose(grown.variance_, np.vstack([np.append(binary, 1.0)] * 2 + [np.ones(5)]), rtol=1e-9)


def test_files_checkpoints_commands_and_clusters(tmp_path):
    X, y = rows(2)
    np.savetxt(tmp_path / "t.csv", np.column_stack((X, y)), delimiter=",")
    whole = quiet(AROW(max_iter=6, shuffle=False, keep="best"), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for passes in (3, 6):
            how = {"checkpoint": tmp_path / "c", "resume": passes == 6}
            model = fit_source(AROW(max_iter=passes, shuffle=False, keep="best"), read(tmp_path / "t.csv"), **how)
        scaled = fit_source(AROW(max_iter=3), read(tmp_path / "t.csv"), scale="standard")
    assert model.last_weights() == whole.last_weights()
    assert scaled.score(X, y) > 0.5
    command = f"fit {tmp_path}/t.csv --learner arow --r 2 --max-iter 2 --no-shuffle -m {tmp_path}/m --quiet"
    with pytest.raises(SystemExit, match="0"):
        main(command.split())
    assert np.array_equal(
        load(tmp_path / "m").coef_, quiet(AROW(r=2, max_iter=2, shuffle=False, keep="auto"), X, y).coef_
    )
    with pytest.raises(ValueError, match="AROW keeps a variance beside every weight"):
        cluster.fit(AROW(), read(tmp_path / "t.csv"), None)
