"""Golden runs on arrays: verdicts, bounds, models for other programs, figures."""

import os
import tempfile

import numpy as np
import scipy.sparse as sp

import linsep
from golden_tools import case, certificate, fitted, masked, perceptron, real, verdict_of, whole

# ---------------------------------------------------------------------------------------------------------------
# Verdicts

XOR = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]]), np.array([0, 0, 1, 1])
TOUCHING = np.array([[0.0, 0], [2, 1], [1, 2], [1, 2], [3, 3], [2, 1]]), np.array([0, 0, 0, 1, 1, 1])


def corners():
    """Return three classes of which two touch."""
    X, y = whole(n=60, classes=3, seed=30)
    return np.vstack((X, X[:1], X[:1])), np.append(y, [y[0], (y[0] + 1) % 3])


def huge():
    """Return rows that only a plane of fractions separates."""
    return np.array([[1e300, 1.0], [1e300, 1 + 2.0**-52], [1e-300, 0.0], [0.0, 5e-324]]), np.array([0, 1, 0, 1])


VERDICTS = {
    "separable": lambda: whole(seed=31),
    "quasi": lambda: TOUCHING,
    "overlap": lambda: XOR,
    "separable, three classes": lambda: whole(classes=3, seed=32),
    "quasi, three classes": corners,
    "overlap, three classes": lambda: whole(n=60, classes=3, noise=0.3, seed=33),
    "overlap, many rows": lambda: whole(n=400, d=6, noise=0.02, seed=34),
    "separable, fractions": huge,
    "separable, floats": lambda: real(seed=35),
    "overlap, floats": lambda: real(seed=36, apart=0.2),
    "separable, wide": lambda: real(n=30, d=80, seed=37, apart=0.0),
    "worked example": lambda: (np.array([[1.0, 0], [0, -1], [0, 1], [-1, 0]]), np.array([1, -1, 1, -1])),
}


def add_verdict(name, data):
    @case(f"verdict/{name}", machine=True)
    def _():
        X, y = data()
        found = {}
        for offset in (True, False):
            for kind, rows in (("dense", X), ("sparse", sp.csr_array(X))):
                verdict = linsep.separate(rows, y, fit_intercept=offset)
                text = linsep.to_json(verdict, rows, y)
                again, about = linsep.from_json(text)
                found[f"{kind}, offset {offset}"] = verdict_of(verdict) | {
                    "checks": [verdict.check(rows, y), linsep.verify(text, X, y), linsep.verify(again, X, y)],
                    "of other labels": linsep.verify(text, X, y[::-1].copy()),
                    "fingerprint": about,
                    "repr": masked(repr(verdict)) if verdict.refutation is None else verdict.kind,
                }
        return found

    @case(f"document/{name}", machine=True)
    def _():
        X, y = data()
        return masked(linsep.to_json(linsep.separate(X, y), X, y)[:3000]).splitlines()


for name, data in VERDICTS.items():
    add_verdict(name, data)


@case("verdict/unknown")
def _():
    X, y = real(n=3000, d=300, seed=38, apart=0.2)
    verdict = linsep.separate(X, y, time_limit=0.0)
    return {"kind": verdict.kind, "check": verdict.check(X, y), "proofs": [verdict.separator, verdict.refutation]}


@case("verdict/of a model")
def _():
    X, y = whole(seed=31)
    plane = linsep.separator(perceptron(max_iter=100).fit(X, y), X, y)
    return {"w": plane.w, "b": plane.b, "of noisy rows": linsep.separator(fitted(perceptron(max_iter=2), *XOR), *XOR)}


# ---------------------------------------------------------------------------------------------------------------
# Bounds


def bound_of(bound):
    names = ("mistakes", "lower", "upper", "radius", "largest_update")
    return {name: getattr(bound, name) for name in names} | {"margin": certificate(bound.margin)["rows"]}


def audit_of(audit):
    arrays = ("progress", "progress_bound", "squared_norm", "squared_norm_bound", "cosine", "cosine_bound",
              "margin_upper", "leads")  # fmt: skip
    found = {name: getattr(audit, name) for name in ("holds", "violation", "step", "mistakes", *arrays)}
    return found | {"bound": None if audit.bound is None else bound_of(audit.bound)}


# ---------------------------------------------------------------------------------------------------------------
# Models elsewhere, figures


def text_of(write, *arguments):
    """Return what a function wrote to a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        write(*arguments, path)
        with open(path, encoding="utf-8") as file:
            return file.read()


@case("exchange/liblinear")
def _():
    found = {}
    for classes in (2, 3):
        X, y = whole(classes=classes, seed=50)
        model = fitted(perceptron(max_iter=9), X, y)
        found[str(classes)] = text_of(linsep.to_liblinear, model)
        linsep.to_liblinear(model, "model.txt")
        again = linsep.from_liblinear("model.txt")
        found[f"{classes} again"] = {"classes": again.classes_, "coef": again.coef_, "predict": again.predict(X)}
    return found


@case("exchange/onnx")
def _():
    import onnxruntime

    X, y = whole(classes=3, seed=50)
    linsep.to_onnx(fitted(perceptron(max_iter=9), X, y), "model.onnx")
    session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    names = [each.name for each in (*session.get_inputs(), *session.get_outputs())]
    answers = session.run(None, {names[0]: X})
    return {"names": names, "labels": answers[0], "scores": np.asarray(answers[1])}


def display_of(display):
    """Return what a figure shows, not how it looks."""
    drawn = ("ax_", "axes_", "figure_", "audit")
    return {name: value for name, value in vars(display).items() if not name.startswith("_") and name not in drawn}
