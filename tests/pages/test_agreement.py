"""The page computes what the library computes: the same runs, verdicts, margins and errors on generated problems."""

import json
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import linsep

pytestmark = pytest.mark.filterwarnings("ignore")
HERE = Path(__file__).parent
NODE = shutil.which("node")
ORDERS = ("cyclic", "shuffled", "first", "worst", "list")


def problem(seed):
    """Draw points and settings: integers, or decimals that leave no ties; up to five classes."""
    rng = np.random.default_rng(seed)
    classes, d = int(rng.choice([2, 2, 2, 3, 5])), int(rng.integers(1, 5))
    n = int(rng.choice([6, 12, 25, 60]))  # few points make ties
    whole = seed % 2 == 0
    X = rng.integers(-6, 7, (n, d)).astype(float) if whole else rng.standard_normal((n, d)).round(9)
    planes = rng.standard_normal((classes, d))
    offsets = rng.standard_normal(classes) * (seed % 3 > 0)
    y = (X @ planes.T + offsets).argmax(axis=1)
    noisy = rng.random(n) < rng.choice([0, 0, 0.05, 0.3])
    y[noisy] = rng.integers(0, classes, noisy.sum())
    y[:classes] = np.arange(classes)
    order = str(rng.choice(ORDERS))
    settings = {
        "order": order,
        "fit_intercept": bool(rng.random() < 0.6),
        "eta0": float(rng.choice([1.0, 0.5, 2.0])),
        "mistake": str(rng.choice(["violation", "violation", "strict", "prediction"])),
        "on_plane": int(rng.choice([-1, 1])),
        "max_updates": int(rng.choice([50, 400])),
        "max_iter": 60,
        "random_state": int(rng.integers(0, 1000)),
    }
    if order == "list":
        settings["visits"] = rng.integers(0, n, 3 * n).tolist()
    if order in ("cyclic", "shuffled"):
        settings["keep"] = str(rng.choice(["last", "best", "average", "vote"]))
        settings["multi_class"] = str(rng.choice(["argmax", "argmax", "ovr"]))
        if rng.random() < 0.2 and n == 60:
            settings["early_stopping"] = True
        if rng.random() < 0.2:
            settings["tol"] = 0.5
    if settings["mistake"] == "violation" and rng.random() < 0.2:
        settings["update_margin"] = 1.0
    if rng.random() < 0.15:
        settings["target_margin"] = 0.5
    if classes == 2 and rng.random() < 0.3:
        settings["start"] = rng.integers(-3, 4, d + settings["fit_intercept"]).astype(float).tolist()
    return {"points": {"rows": X.tolist(), "labels": y.tolist()}, "settings": settings}


def same(page, given):
    """Compare what the page says with the library."""
    settings = dict(given["settings"])
    X, y = np.array(given["points"]["rows"]), np.array(given["points"]["labels"])
    whole = bool((X.round() == X).all())
    order, start, offset = settings.pop("order"), settings.pop("start", None), settings["fit_intercept"]
    first = {}
    if start is not None:
        d = X.shape[1]
        first = {"coef_init": [start[:d]], "intercept_init": start[d:] if offset else None}
    settings["order"] = settings.pop("visits") if order == "list" else order
    model = linsep.Perceptron(prove=False, **settings).fit(X, y, **first)

    def equal(found, expected):
        if whole:
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)

    assert page["stop"] == model.stop_reason_
    assert page["trace"] == model.trace_.tolist()
    assert page["counts"] == model.mistake_counts_.tolist()
    machines = len(model.coef_)
    equal(np.reshape(page["kept"], (machines, -1)), np.column_stack((model.coef_, model.intercept_)))
    assert page["errors"] == model.training_errors_
    np.testing.assert_allclose(page["radius"], model.radius_, rtol=1e-12)
    np.testing.assert_allclose(
        np.nan if page["margin"] is None else page["margin"], model.margin_, rtol=1e-9, atol=1e-12
    )
    mistakes, losses, tests = zip(*page["passes"], strict=True)
    assert list(mistakes) == model.history_["mistakes"].tolist()
    equal(losses, model.history_["loss"])
    if settings.get("early_stopping"):
        np.testing.assert_allclose(tests, model.history_["validation_error"], rtol=1e-12)
        return  # the rest is about the rows that are learned
    same_theory(page, X, y, offset, settings)


def same_theory(page, X, y, offset, settings):
    """Compare verdict, margins, fewest errors, and check the proof of the page from its definition."""
    verdict = linsep.separate(X, y, fit_intercept=offset)
    assert page["verdict"] == verdict.kind
    classes = np.unique(y)
    proof_holds(page, X, y, offset, classes)
    apart = settings.get("multi_class") == "ovr" and len(classes) > 2
    if apart:
        for c, (kind, margin) in zip(classes, page["rest"], strict=True):
            assert kind == linsep.separate(X, y == c, fit_intercept=offset).kind
            if kind == "separable":
                within(margin, linsep.largest_margin(X, y == c, form="augmented" if offset else "origin"))
    elif verdict.kind == "separable":
        within(page["drawn"], linsep.largest_margin(X, y, form="affine" if offset else "origin"))
        within(page["bounding"], linsep.largest_margin(X, y, form="augmented" if offset else "origin"))
    else:
        lower, upper, rows = page["fewest"]
        library = linsep.fewest_errors(X, y, fit_intercept=offset, time_limit=0.2)
        assert lower <= library.upper
        assert library.lower <= upper
        if len(classes) == 2 and X.shape[1] <= 2:
            assert lower == upper
            assert library.lower <= upper <= library.upper
        assert len(rows) == upper
        keep = np.setdiff1d(np.arange(len(y)), rows)
        assert separable(X[keep], y[keep], offset)


def separable(X, y, offset):
    """Say whether rows can all be right; those of one class, through the origin, if they lie on one side of a plane."""
    if len(set(y)) < 2 and not offset and len(y):
        X, y = np.vstack((X, -X)), np.repeat((0, 1), len(y))
    return len(set(y)) < 2 or linsep.separate(X, y, fit_intercept=offset).kind == "separable"


def within(margin, library):
    """Compare a margin with the library's certified bracket."""
    assert margin[0] <= library.upper * (1 + 1e-9)
    assert margin[0] >= library.lower * (1 - 1e-9)
    assert margin[1] - margin[0] <= 1e-9 * margin[1]


def proof_holds(page, X, y, offset, classes):
    """Check in fractions that the plane is right, or that the multipliers add up to zero."""
    rows = [[Fraction(v) for v in row] + [Fraction(1)] * offset for row in X.tolist()]
    width = len(rows[0])
    if page["verdict"] in ("separable", "quasi"):
        g = [Fraction(v) for v in page["direction"]]
        weights = [[Fraction(0)] * width, *(g[c * width : (c + 1) * width] for c in range(len(classes) - 1))]
        scores = [[sum(a * b for a, b in zip(w, row, strict=True)) for w in weights] for row in rows]
        leads = [s[c] - v for s, c in zip(scores, y, strict=True) for r, v in enumerate(s) if r != c]
        assert min(leads) > 0 if page["verdict"] == "separable" else min(leads) == 0 < max(leads)
    if page["verdict"] in ("quasi", "overlap"):
        sums = [[Fraction(0)] * width for _ in classes]
        for i, rival, multiplier in page["refutation"]:
            assert int(multiplier) > 0
            assert rival != y[i]
            for j, v in enumerate(rows[i]):
                sums[y[i]][j] += int(multiplier) * v
                sums[rival][j] -= int(multiplier) * v
        assert not any(map(any, sums))


def by_node(problems, tmp_path):
    """Have Node answer some problems."""
    path = tmp_path / "problems.json"
    path.write_text(json.dumps(problems))
    done = subprocess.run([NODE, HERE / "summary.js", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="no Node on this machine")
def test_a_hundred_problems_in_node(tmp_path):
    problems = [problem(seed) for seed in range(100)]
    for number, (page, given) in enumerate(zip(by_node(problems, tmp_path), problems, strict=True)):
        try:
            same(page, given)
        except AssertionError as error:
            raise AssertionError(f"problem {number}, {given['settings']}: {error}") from error
