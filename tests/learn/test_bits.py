"""The bits of runs in exact arithmetic: integers, whose sums no order of additions can change.

``bits.json`` has what came out when it was recorded: the order of shuffled rows, ties, stop rules and everything else
that a seed decides must stay. ``python tests/learn/test_bits.py`` records a change that is meant; its diff shows it.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import linsep
from data import few, quiet, whole, write

RECORD = Path(__file__).with_name("bits.json")


def bits(model):
    """Return what a run learned; integers but for averages, which are one quotient of integers each."""
    return {
        "stop": model.stop_reason_,
        "mistakes": int(model.mistakes_),
        "coef": model.coef_.tolist(),
        "intercept": model.intercept_.tolist(),
        "by pass": np.asarray(model.history_["mistakes"]).tolist(),
    }


RUNS = {
    "shuffled": {},
    "cyclic": {"shuffle": False},
    "first": {"order": "first", "max_updates": 400},
    "worst": {"order": "worst", "max_updates": 400},
    "no offset": {"fit_intercept": False},
    "another seed": {"random_state": 7},
    "eta0": {"eta0": 0.25},
    "update margin": {"update_margin": 20.0},
    "mispredictions": {"mistake": "prediction"},
    "max_updates": {"max_updates": 17},
    "plateau": {"tol": 1e9, "n_iter_no_change": 2},
    "validation": {"early_stopping": True, "validation_fraction": 0.25, "n_iter_no_change": 2},
    "best": {"keep": "best"},
    "average": {"keep": "average"},
    "vote": {"keep": "vote", "max_iter": 4},
    "class weight": {"class_weight": {0: 2.0, 1: 0.5}},
}


def recorded(name):
    found = {}
    for classes, noise in ((2, 0.0), (2, 0.15), (4, 0.15)):
        X, y = whole(classes=classes, noise=noise, seed=10 + classes)
        for form in ("argmax", "ovr") if classes > 2 and "order" not in RUNS[name] else ("argmax",):
            parameters = {"max_iter": 6, "prove": False, "multi_class": form, "random_state": 0} | RUNS[name]
            found[f"{classes} {form} {noise}"] = bits(quiet(linsep.Perceptron(**parameters), X, y))
    return found


@pytest.mark.compiled
@pytest.mark.parametrize("name", RUNS)
def test_runs_have_the_bits_that_were_recorded(name):
    assert recorded(name) == json.loads(RECORD.read_text())[name]


@pytest.mark.parametrize(
    "form", few(["csv", "svm", "parquet", "npy", "arrow", "npz", "tsv", "csv.gz", "svm.zst", "tsv.gz"], 4)
)
def test_every_format_gives_the_bits_of_arrays(form, tmp_path):
    X, y = whole(n=300, classes=3, noise=0.1, seed=60)
    path = write(tmp_path, form, X, y)
    for parameters in ({"shuffle": False}, {"shuffle": False, "keep": "average"}):
        parameters = {"max_iter": 5, "prove": False, "random_state": 0} | parameters
        wanted = bits(quiet(linsep.Perceptron(**parameters), X, y))
        for size in (900, 1 << 22):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = linsep.fit_source(linsep.Perceptron(**parameters), linsep.read(path, block_bytes=size))
            assert bits(model) == wanted


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(recorded(name))}" for name in RUNS]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
