"""Golden runs on arrays: arrays of every kind, parameters, all estimators."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

import linsep
from golden_tools import case, dual_of, fitted, if_separable, perceptron, run_of, verdict_of, whole

# ---------------------------------------------------------------------------------------------------------------
# Arrays of every kind


def wide_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def frame(make):
    return lambda X: make({f"column {j}": X[:, j] for j in range(X.shape[1])})


KINDS = {
    "float64": lambda X: X,
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "float32 fortran": lambda X: np.asfortranarray(X.astype(np.float32)),
    "int64": lambda X: X.astype(np.int64),
    "int32": lambda X: X.astype(np.int32),
    "int8": lambda X: X.astype(np.int8),
    "uint8": lambda X: (X + 6).astype(np.uint8),
    "bool": lambda X: np.hstack([k < X for k in range(-6, 6)]),
    "list": lambda X: X.tolist(),
    "csr matrix": sp.csr_matrix,
    "csr array": sp.csr_array,
    "csc matrix": sp.csc_matrix,
    "csc array": sp.csc_array,
    "csr int": lambda X: sp.csr_array(X.astype(np.int16)),
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csr 64-bit": lambda X: wide_indices(sp.csr_array(X)),
    "csc 64-bit": lambda X: wide_indices(sp.csc_matrix(X)),
    "pandas": frame(pd.DataFrame),
    "pandas mixed": lambda X: pd.DataFrame({"a": X[:, 0].astype(int), "b": X[:, 1], "c": X[:, 2] > 0, "d": X[:, 3]}),
    "polars": frame(pl.DataFrame),
}


def add_kind(kind, change):
    @case(f"arrays/{kind}")
    def _():
        found = {}
        for classes in (2, 3):
            X, y = whole(classes=classes, seed=1)
            X = change(X)
            found[f"{classes} classes"] = run_of(fitted(perceptron(max_iter=9), X, y), X, y)
            found[f"{classes} classes, cyclic"] = run_of(fitted(perceptron(max_iter=9, shuffle=False), X, y))
        return found

    @case(f"arrays/relatives/{kind}", machine=True)
    def _():
        X, y = whole(n=60, seed=2)
        X = change(X)
        return {
            "passive-aggressive": run_of(fitted(linsep.PassiveAggressive(max_iter=5), X, y), X),
            "kernel": dual_of(fitted(linsep.KernelPerceptron("poly", max_iter=5), X, y), X),
            "largest margin": if_separable(lambda: dual_of(linsep.MaxMarginClassifier().fit(X, y), X)),
            "verdict": verdict_of(linsep.separate(X, y)),
        }


for kind, change in KINDS.items():
    add_kind(kind, change)

LABELS = {
    "words": np.array(["no", "yes"]),
    "signs": np.array([-1, 1]),
    "floats": np.array([1.0, 2.0]),
    "bools": np.array([False, True]),
    "bytes": np.array([b"a", b"b"]),
}


@case("arrays/labels")
def _():
    X, y = whole(seed=3)
    found = {kind: run_of(perceptron().fit(X, names[y]), X) for kind, names in LABELS.items()}
    mixed = [("a", 1), "b"]
    return found | {"tuples": run_of(perceptron().fit(X, [mixed[code] for code in y]), X)}


# ---------------------------------------------------------------------------------------------------------------
# Parameters of the perceptron; at most nine passes where no plane separates

RUNS = {
    "separated": {},
    "cyclic": {"shuffle": False},
    "first": {"order": "first", "max_updates": 400},
    "worst": {"order": "worst", "max_updates": 400},
    "no offset": {"fit_intercept": False, "max_iter": 9},
    "seed": {"random_state": 7},
    "eta0": {"eta0": 0.25},
    "update margin": {"update_margin": 20.0},
    "on plane": {"on_plane": 1, "max_iter": 3},
    "max_iter": {"max_iter": 2},
    "max_updates": {"max_updates": 17},
    "loss_plateau": {"tol": 1e9, "n_iter_no_change": 2, "max_iter": 9},
    "validation": {"early_stopping": True, "validation_fraction": 0.25, "n_iter_no_change": 2, "max_iter": 9},
    "target margin": {"target_margin": 4.0, "max_iter": 9},
    "best": {"keep": "best", "max_iter": 6},
    "average": {"keep": "average", "max_iter": 6},
    "vote": {"keep": "vote", "max_iter": 6},
    "vote cyclic on plane": {"keep": "vote", "max_iter": 4, "shuffle": False, "on_plane": 1},
    "average validated": {"keep": "average", "early_stopping": True, "validation_fraction": 0.2, "max_iter": 9},
    "class weight": {"class_weight": {0: 2.0, 1: 0.5}, "max_iter": 6},
    "balanced": {"class_weight": "balanced", "max_iter": 6},
    "best balanced": {"keep": "best", "class_weight": "balanced", "max_iter": 6},
}


def add_runs(name, parameters):
    @case(f"perceptron/{name}", machine=parameters.get("class_weight") == "balanced")
    def _():
        found = {}
        for classes, noise in ((2, 0.0), (2, 0.15), (4, 0.0), (4, 0.15)):
            X, y = whole(classes=classes, noise=noise, seed=10 + classes)
            for form in ("argmax", "ovr") if classes > 2 and "order" not in parameters else ("argmax",):
                model = perceptron(**{"max_iter": 9, **parameters}, multi_class=form)
                found[f"{classes} {form} {'noisy' if noise else 'clean'}"] = run_of(fitted(model, X, y), X, y) | {
                    "mistake counts": model.mistake_counts_
                }
        return found


for name, parameters in RUNS.items():
    add_runs(name, parameters)


@case("perceptron/sample weight")
def _():
    found = {}
    for classes in (2, 4):
        X, y = whole(classes=classes, noise=0.1, seed=5)
        weight = np.arange(len(y)) % 4 / 2
        for keep in ("last", "best", "average", "vote"):
            model = perceptron(max_iter=5, keep=keep, class_weight={1: 2.0})
            found[f"{classes} {keep}"] = run_of(fitted(model, X, y, sample_weight=weight), X, y)
    return found


@case("perceptron/first weights")
def _():
    found = {}
    for classes in (2, 4):
        X, y = whole(classes=classes, seed=6)
        machines = 1 if classes == 2 else classes
        W = np.arange(machines * 4.0).reshape(machines, 4) - 3
        b = np.full(machines, 2.0)
        model = perceptron(warm_start=True, max_iter=9)
        found[f"{classes} given"] = run_of(fitted(model, X, y, coef_init=W, intercept_init=b), X)
        found[f"{classes} warm"] = run_of(fitted(model, X[::-1], y[::-1]), X)
    return found


def late_classes(estimator):
    """Return a model that learned from four batches, of which each has a new class; one class alone first."""
    X, y = whole(n=200, classes=4, seed=8)
    found = {}
    for step, known in enumerate((1, 2, 3, 4)):
        own = np.flatnonzero(y < known)[step::2]
        estimator.partial_fit(X[own], y[own])
        if step:
            found[f"{known} classes"] = run_of(estimator, X)
    return found | {"again": run_of(estimator.partial_fit(X, y, sample_weight=1 + np.arange(len(y)) % 2), X, y)}


def add_late(keep, form):
    @case(f"perceptron/late classes/{keep} {form}")
    def _():
        return late_classes(perceptron(keep=keep, multi_class=form))


for keep in ("last", "average", "vote"):
    for form in ("argmax", "ovr"):
        add_late(keep, form)


@case("perceptron/announced classes")
def _():
    X, y = whole(classes=3, seed=9)
    model = perceptron(shuffle=False)
    for start in range(0, 160, 40):
        model.partial_fit(X[start : start + 40], y[start : start + 40], classes=[0, 1, 2, 5])
    return run_of(model, X, y)


@case("perceptron/warnings")
def _():
    X, y = whole(noise=0.2, seed=4)
    found = {}
    for name, parameters in {"max_iter": {"max_iter": 2}, "max_updates": {"max_updates": 3}}.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            perceptron(**parameters).fit(X, y)
        found[name] = [f"{each.category.__name__}: {each.message}" for each in caught]
    return found
