"""What golden runs are made of: a table of cases, data of exact sums, and results as plain, comparable values."""

import contextlib
import hashlib
import io
import json
import math
import os
import re
import signal
import threading
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import linsep
from linsep.cli import main

RECORD = Path(__file__).with_name("golden.json")

CASES = {}  # name: function without arguments, called in an empty folder
LATER = {"prove", "mistake"}  # parameters that came after 0.1.0


def case(name, *, machine=False):
    """Add a case, unless its sums depend on the ``machine``: only data of exact sums have the same bits everywhere."""

    def add(function):
        assert name not in CASES, name
        if not machine:
            CASES[name] = function
        return function

    return add


# ---------------------------------------------------------------------------------------------------------------
# Results as plain values


def digest(values):
    """Return shape, type, a digest of the bytes and the first numbers of an array."""
    if sp.issparse(values):
        values = values.tocsr()
        parts = {part: digest(getattr(values, part)) for part in ("data", "indices", "indptr")}
        return {"shape": list(values.shape), **parts}
    values = np.asarray(values)
    if values.dtype.kind not in "fiub":
        listed = values.ravel().tolist()
        content, kind = repr([str(value) for value in listed]).encode(), "object"
    else:
        if values.dtype.kind == "f":
            values = values + values.dtype.type(0)  # no -0.0
        listed, content, kind = values.ravel().tolist(), np.ascontiguousarray(values).tobytes(), str(values.dtype)
    few = " ".join(f"{value:.12g}" if isinstance(value, float) else str(value)[:24] for value in listed[:3])
    shape = "x".join(map(str, values.shape))
    return f"{kind} {shape} {hashlib.sha256(content).hexdigest()[:12]}: {few}"


def plain(value):
    """Return a value as JSON has it."""
    if isinstance(value, np.ndarray) or sp.issparse(value):
        return digest(value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def alike(found, recorded):
    """Yield the differences, one line each; floats need to be close only, the bits of arrays are digests."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        for key in [*recorded, *(key for key in found if key not in recorded)]:
            if key not in recorded or key not in found:
                yield f"{key}: only {'recorded' if key in recorded else 'found now'}"
            else:
                yield from (f"{key}.{line}" for line in alike(found[key], recorded[key]))
    elif isinstance(recorded, list) and isinstance(found, list) and len(found) == len(recorded):
        for number, (one, other) in enumerate(zip(found, recorded, strict=True)):
            yield from (f"{number}.{line}" for line in alike(one, other))
    elif isinstance(recorded, float) and isinstance(found, float):
        if not math.isclose(found, recorded, rel_tol=1e-9):
            yield f" {found!r}, recorded {recorded!r}"
    elif found != recorded or type(found) is not type(recorded):
        yield f" {found!r}, recorded {recorded!r}"


def run_of(model, X=None, y=None):
    """Return what a fitted online classifier learned and recorded; of some rows what it says."""
    found = {
        "classes": " ".join(map(str, model.classes_.tolist())),
        "stop": model.stop_reason_,
        "passes": model.n_iter_,
        "mistakes": model.mistakes_,
        "coef": model.coef_.copy(),  # partial_fit changes it in place
        "intercept": model.intercept_.copy(),
        "passes' mistakes": model.history_["mistakes"],
        "passes' loss": model.history_["loss"],
        "radius": model.radius_,
        "margin": model.margin_,
        "training errors": model.training_errors_,
    }
    with contextlib.suppress(AttributeError):  # not kept by a run on shards
        found["trace"] = model.trace_
    if not np.isnan(model.history_["validation_error"]).all():
        found["passes' validation error"] = model.history_["validation_error"]
    if hasattr(model, "feature_names_in_"):
        found["names"] = model.feature_names_in_.tolist()
    if X is not None:
        found |= {"predict": model.predict(X), "scores": model.decision_function(X)}
    if y is not None:
        found |= {"score": model.score(X, y), "loss": model.loss(X, y)}
    return found


def dual_of(model, X):
    """Return what a fitted kernel perceptron or classifier of largest margin learned, and says of some rows."""
    found = {"classes": " ".join(map(str, model.classes_.tolist()))}
    for name in ("stop_reason_", "n_iter_", "mistakes_", "trace_", "support_", "dual_coef_", "coef_", "intercept_",
                 "margin_lower_", "margin_upper_"):  # fmt: skip
        if hasattr(model, name):
            found[name] = getattr(model, name)
    return found | {"predict": model.predict(X), "scores": model.decision_function(X)}


def fitted(estimator, X, y, **how):
    """Fit without the warning that a budget is spent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y, **how)


def if_separable(work):
    """Return what comes of some work, or what is said where no plane separates the rows."""
    try:
        return work()
    except linsep.NotSeparable as error:
        return str(error)


def perceptron(**parameters):
    """Return a perceptron that runs as the lecture's: without a search for proofs, where that can be chosen."""
    if "prove" in linsep.Perceptron().get_params():
        parameters = {"prove": False, **parameters}
    return linsep.Perceptron(**parameters)


def certificate(found):
    """Return rows and numbers of a refutation or margin, whose attributes have had several names."""

    def first(*names):
        return next(getattr(found, name) for name in names if hasattr(found, name))

    numbers = first("multipliers", "weights")
    exact = all(isinstance(number, Fraction) for number in numbers)
    return {
        "rows": np.asarray(first("rows", "indices", "support")).astype(np.int64),
        "rivals": None if found.rivals is None else np.asarray(found.rivals).astype(np.int64),
        "multipliers": " ".join(map(str, numbers)) if exact else np.asarray(numbers),
    }


def plane_of(separator):
    """Return weights and offsets of a separator."""
    exact = np.asarray(separator.w).dtype == object
    return {name: digest(np.asarray(getattr(separator, name))) for name in "wb"} | {"fractions": exact}


def verdict_of(verdict):
    """Return a verdict and its certificates."""
    return {
        "kind": verdict.kind,
        "classes": [str(label) for label in verdict.classes],
        "fit_intercept": verdict.fit_intercept,
        "n_features": verdict.n_features,
        "bracket": list(verdict.bracket),
        "separator": None if verdict.separator is None else plane_of(verdict.separator),
        "refutation": None if verdict.refutation is None else certificate(verdict.refutation),
    }


def margin_of(margin):
    """Return a bracket of the largest margin and its certificates."""
    found = {name: getattr(margin, name) for name in ("lower", "upper", "form", "w", "b")}
    return found | {"classes": margin.classes} | certificate(margin)


# ---------------------------------------------------------------------------------------------------------------
# The command line

_TIMES = (
    (r"\b(\d[\d.,]*)?\d s\b", "# s"),
    (r", # s, [\d.,]+ MB/s", ", # s"),
    (r"# s, [\d.,]+ MB/s", "# s"),
    (r"[\d,]+ KB in", "# KB in"),
    (r"\blinsep \d+\.\d+\.\d+", "linsep #"),
    (r"earnt\b", "earned"),  # American after 0.1.0
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "#"),
    (r'"digest": "\w+"', '"digest": "#"'),  # of a document that has the time in it
)


def masked(text):
    """Return text without times and sizes of pages."""
    for pattern, instead in _TIMES:
        text = re.sub(pattern, instead, text)
    return text


def _bare(facts):
    """Return what ``--json`` printed without times, in the names of today."""
    facts |= {name: "#" for name in ("seconds", "megabytes_per_second") if name in facts}
    if isinstance(facts.get("made"), dict):
        facts["made"] = {**facts["made"], "time": "#"}
    if isinstance(facts.get("refutation"), list):
        renamed = {"weight": "multiplier"}
        facts["refutation"] = [{renamed.get(key, key): row[key] for key in row} for row in facts["refutation"]]
    if isinstance(facts.get("parameters"), dict):
        facts["parameters"] = {key: value for key, value in facts["parameters"].items() if key not in LATER}
    return {"keys": " ".join(facts), "facts": facts}


def linsep_command(*arguments):
    """Run a command here; return its exit code and what it printed."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", newline=""), io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _handlers():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        try:
            main([str(argument) for argument in arguments])
            code = 0
        except SystemExit as left:
            code = left.code
    out.flush()
    printed = out.buffer.getvalue().decode()
    if "--json" in arguments and printed:
        return {"code": code, "json": _bare(json.loads(printed)), "err": masked(err.getvalue())}
    return {"code": code, "out": masked(printed).splitlines(), "err": masked(err.getvalue())}


@contextlib.contextmanager
def _handlers():
    """Let the handler of Ctrl-C be what it was, and the screen as wide as always."""
    before, columns = signal.getsignal(signal.SIGINT), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "200"
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns


# ---------------------------------------------------------------------------------------------------------------
# Data: whole numbers, of which all sums are exact; drawn by a generator whose numbers never change


def whole(n=160, d=4, classes=2, seed=0, noise=0.0, gap=3.0):
    """Return whole numbers with labels of random planes, none of them close unless there is noise."""
    rng = np.random.RandomState(seed)
    X = rng.randint(-6, 7, (8 * n, d))
    S = X @ rng.randint(-8, 9, (d, classes)) + rng.randint(-5, 6, classes)
    two = np.sort(S, axis=1)
    clear = np.flatnonzero(two[:, -1] - two[:, -2] > gap)[:n]
    y = S.argmax(axis=1)[clear]
    y = np.where(rng.random_sample(n) < noise, rng.randint(0, classes, n), y)
    return X[clear].astype(np.float64), y


def real(n=120, d=5, classes=2, seed=0, apart=4.0):
    """Return clouds of floats, whose sums are rounded."""
    rng = np.random.RandomState(seed)
    y = rng.randint(0, classes, n)
    y[:classes] = np.arange(classes)
    return rng.standard_normal((n, d)) + apart * rng.standard_normal((classes, d))[y], y
