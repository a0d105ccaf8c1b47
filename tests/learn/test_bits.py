"""The bits of runs in exact arithmetic: integers, whose sums no order of additions can change.

``bits.json`` has what came out when it was recorded: the order of shuffled rows, ties, stop rules and everything else
that a seed decides must stay. ``python tests/learn/test_bits.py`` records a change that is meant; its diff shows it.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import linsep
from data import few, quiet, whole

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


CODECS = {"gz": "gzip", "zst": "zstd"}


def write(form, X, y, folder):
    """Write rows with labels in the last column, in a format that the ending says; return the path."""
    path, names = folder / f"data.{form}", [*"abcd", "label"]
    table = pa.table([*X.T, y], names)
    if form == "parquet":
        pq.write_table(table, path, row_group_size=50)
    elif form == "arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=50)
    elif form == "npy":
        np.save(path, np.column_stack((X, y)))
    elif form == "npz":
        np.savez(path, X=X, y=y)
    else:
        mark = "\t" if form.startswith("tsv") else ","
        text = "".join(
            mark.join(map(str, line)) + "\n" for line in [names, *(row.values() for row in table.to_pylist())]
        )
        if form.startswith("svm"):
            lines = ([f"{j + 1}:{v:.17g}" for j, v in enumerate(x) if v] for x in X)
            text = "".join(f"{code} {' '.join(cells)}\n" for cells, code in zip(lines, y, strict=True))
        with pa.CompressedOutputStream(str(path), CODECS[form[4:]]) if "." in form else open(path, "wb") as file:
            file.write(text.encode())
    return path


@pytest.mark.parametrize(
    "form", few(["csv", "svm", "parquet", "npy", "arrow", "npz", "tsv", "csv.gz", "svm.zst", "tsv.gz"], 4)
)
def test_every_format_gives_the_bits_of_arrays(form, tmp_path):
    X, y = whole(n=300, classes=3, noise=0.1, seed=60)
    path = write(form, X, y, tmp_path)
    for parameters in ({"shuffle": False}, {"shuffle": False, "keep": "average"}):
        parameters = {"max_iter": 5, "prove": False, "random_state": 0} | parameters
        wanted = bits(quiet(linsep.Perceptron(**parameters), X, y))
        for size in (900, 1 << 22):
            source = linsep.read(path, block_bytes=size, header=None if "svm" in form or "np" in form else True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = linsep.fit_source(linsep.Perceptron(**parameters), source)
            assert bits(model) == wanted


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(recorded(name))}" for name in RUNS]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
