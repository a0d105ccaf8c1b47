"""Words that appear late: the same bits as columns made by hand, wherever a model goes with them."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from linsep import Perceptron, fit_source, from_liblinear, load, read, save, to_liblinear, to_onnx
from linsep.errors import DataNote

ROOT = Path(__file__).parents[2]
ORDERS = ROOT / "examples" / "orders.csv"

Rows = list[tuple[int, str, str]]  # a number, and two words


def by_hand(table: Rows) -> np.ndarray[Any, Any]:
    """Return the number, then a column for each word of each column in the order in which they first appear."""
    places: dict[tuple[int, str], int] = {}
    for _, *words in table:
        for level in enumerate(words):
            places.setdefault(level, 1 + len(places))
    X = np.zeros((len(table), 1 + len(places)))
    for i, (x, *words) in enumerate(table):
        X[i, [0, *(places[level] for level in enumerate(words))]] = [x, 1, 1]
    return X


def as_text(table: Rows, labels: list[int]) -> str:
    return "x,a,b,class\n" + "".join(f"{x},{a},{b},{y}\n" for (x, a, b), y in zip(table, labels, strict=True))


def late_words(n: int) -> tuple[Rows, list[int]]:
    """Return rows in which a new word turns up every now and then."""
    rng = np.random.default_rng(8)
    drawn = rng.integers(0, 1 + np.arange(n) // 9, (3, n)).T
    table = [(int(x) - 3, f"town{a}", f"item{b % 5}") for x, a, b in drawn]
    return table, [int((x + len(a) + 3 * (b == "item2")) % 2) for x, a, b in table]


def same(model: Any, other: Any) -> bool:
    """Say whether two models have the same bits."""
    return (
        model.coef_.tobytes() == other.coef_.tobytes()
        and model.intercept_.tobytes() == other.intercept_.tobytes()
        and np.array_equal(model.trace_, other.trace_)
    )


# ---------------------------------------------------------------------------------------------------------------
# Learning on

row = st.tuples(st.integers(-4, 4), st.sampled_from(["red", "blue", "green", "gray"]), st.sampled_from("uvwxyz"))


@settings(max_examples=25)
@given(
    st.lists(st.tuples(row, st.integers(0, 1)), min_size=4, max_size=30),
    st.integers(20, 90),
    st.sampled_from(["last", "average", "best", "vote"]),
)
def test_partial_fit_with_late_levels(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[Any, int]], block_bytes: int, keep: str
) -> None:
    """Block by block, against rows that are as wide as the last one from the beginning."""
    table, labels = [one for one, _ in drawn], [0, 1, *(y for _, y in drawn[2:])]
    X = by_hand(table)
    model, whole = (Perceptron(keep=keep, random_state=0) for _ in range(2))
    text = io.BytesIO(as_text(table, labels).encode())
    words, expected = ["a", "b"], [0, 1]
    for block in read(text, format="csv", categorical=words, numeric="x", target="class", block_bytes=block_bytes):
        there = slice(block.first_row, block.first_row + len(block.y))
        model.partial_fit(block.X, block.y, classes=expected)
        whole.partial_fit(sp.csr_array(X[there]), labels[there], classes=expected)
    assert model.n_features_in_ == X.shape[1]
    assert same(model, whole)
    assert model.predict(X).tolist() == whole.predict(X).tolist()
    path = tmp_path_factory.mktemp("late") / "model"
    save(model, path)
    assert same(load(path), whole)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_only_sparse_rows_without_names_may_have_more_columns() -> None:
    model = Perceptron().partial_fit(np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="X has 3 features, but Perceptron is expecting 2 features"):
        model.partial_fit(np.eye(3), [0, 1, 1])
    with pytest.raises(ValueError, match="X has 1 features, but Perceptron is expecting 2 features"):
        model.partial_fit(sp.csr_array(np.ones((2, 1))), [0, 1])
    with pytest.raises(ValueError, match=r"NaN|not a number|finite"):
        model.partial_fit(sp.csr_array([[0, 0, np.nan]]), [1])
    assert (model.n_features_in_, model.coef_.shape) == (2, (1, 2))  # as if nothing had been tried
    assert model.partial_fit(sp.csr_array(np.eye(3)), [0, 1, 1]).coef_.shape == (1, 3)
    named = fit_source(Perceptron(), read(io.BytesIO(b"x,town,class\n1,Ulm,0\n2,Bonn,1\n"), format="csv"))
    with pytest.raises(ValueError, match="X has 4 features, but Perceptron is expecting 3 features"):
        named.partial_fit(sp.csr_array(np.eye(4)), [0, 1, 1, 0])


KILLED = """
import os, signal, sys
from linsep import Perceptron, fit_source, read, save

data, checkpoint, out, blocks = sys.argv[1:]
left = int(blocks)


def count(*_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)


learner, source = Perceptron(max_iter=6, shuffle=False), read(data, block_bytes=700, cache="none")
model = fit_source(learner, source, checkpoint=checkpoint, every=0, resume=True, watch=count)
save(model, out)
"""


@pytest.mark.slow
def test_killed_while_words_are_still_new(tmp_path: Path) -> None:
    table, labels = late_words(400)
    path, saved, out = tmp_path / "t.csv", tmp_path / "run.checkpoint", tmp_path / "model"
    path.write_text(as_text(table, labels))
    assert len(list(read(path, block_bytes=700))) > 8
    for blocks in (3, 12, 0):  # first within the first pass, while words are still new
        command = [sys.executable, "-c", KILLED, path, saved, out, str(blocks)]
        assert subprocess.run(command, check=False).returncode == (-signal.SIGKILL if blocks else 0)
        assert saved.exists()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = fit_source(Perceptron(max_iter=6, shuffle=False), read(path, block_bytes=700))
        whole = Perceptron(max_iter=6, shuffle=False).fit(sp.csr_array(by_hand(table)), labels)
    model = load(out)
    assert same(model, expected)
    assert same(model, whole)
    assert model.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
    assert sorted(os.listdir(tmp_path)) == ["model", "run.checkpoint", "t.csv"]


# ---------------------------------------------------------------------------------------------------------------
# Elsewhere


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_levels_in_other_programs(tmp_path: Path) -> None:
    """Their answers on columns made by hand are ours on the file."""
    liblinearutil = pytest.importorskip("liblinear.liblinearutil")
    runtime = pytest.importorskip("onnxruntime")
    table, labels = late_words(200)
    path, X = tmp_path / "t.csv", by_hand(table)
    path.write_text(as_text(table, labels))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit_source(Perceptron(max_iter=5), read(path, block_bytes=700))
    ours = model.predict(read(path).to_arrays()[0]).tolist()
    to_liblinear(model, tmp_path / "m.txt")
    theirs = liblinearutil.load_model(str(tmp_path / "m.txt"))
    assert liblinearutil.predict([], sp.csr_matrix(X), theirs, "-q")[0] == ours
    assert from_liblinear(tmp_path / "m.txt").coef_.tobytes() == model.coef_.tobytes()
    to_onnx(model, tmp_path / "m.onnx", raw=False)
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    assert session.run(None, {"X": X})[0].tolist() == ours
    levels = dict.fromkeys(f"{name}={word}" for _, *words in table for name, word in zip("ab", words, strict=True))
    assert json.loads(session.get_modelmeta().custom_metadata_map["feature_names"]) == ["x", *levels]


# ---------------------------------------------------------------------------------------------------------------
# Commands


def test_a_table_of_twenty_rows(run: Any) -> None:
    """Every command says what the columns are taken for, and does no more work than there is."""
    towns = ["Ulm", "Bonn", "Rom"]
    lines = [f"{i % 7},{towns[i % 3]},{'yes' if i % 7 > 2 else 'no'}" for i in range(20)]
    Path("t.csv").write_text("\n".join(["x,town,class", *lines]) + "\n")
    told = {}
    for command, *more in (("separate",), ("fit", "--model", "m.linsep"), ("report", "--out", "r.html")):
        code, out, _ = run(command, "t.csv", *more, "--json")
        told[command] = json.loads(out)
        assert code == 0
        assert told[command]["columns"] == {"numbers": ["x"], "words": ["town"]}
        assert (told[command]["rows"], told[command]["features"]) == (20, 4)
        code, out, _ = run(command, "t.csv", *more)
        told_columns = [" ".join(line.split()) for line in out.splitlines() if line.startswith("columns")]
        assert told_columns == ["columns 1 column of numbers: x; 1 column of words: town"]
    assert told["separate"]["verdict"] == told["report"]["verdict"] == "separable"
    assert told["fit"]["stop_reason"] == "separated"
    assert Path("m.linsep").stat().st_size < 20_000
    assert Path("r.html").stat().st_size < 2_000_000


# ---------------------------------------------------------------------------------------------------------------
# Decisions


def decisions(**options: Any) -> tuple[list[DataNote], dict[str, tuple[str, str]]]:
    """Read the orders; return the notes, and the kind and the usage of each column."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        source = read(ORDERS, **{"encoding": "latin-1", "target": "returned", "missing": "indicator", **options})
        columns = {column.name: (column.kind, column.usage) for column in source.describe()}
    return source.notes, columns


def test_every_decision_can_be_forbidden() -> None:
    """The option that a note names undoes what the note says, and silences it."""
    notes, columns = decisions()
    decided = {setting.name for note in notes for setting in note.settings}
    assert decided == {"keep_index", "categorical", "decimal", "dates", "thousands"}
    for note in notes:
        (setting,) = note.settings
        others, changed = decisions(**{setting.name: setting.value})
        assert str(note) not in list(map(str, others))
        assert changed != columns


@pytest.mark.parametrize(("options", "column", "kind"), [
    ({"keep_index": True}, "", "number"),
    ({"categorical": "order"}, "order", "word"),
    ({"categorical": "days late"}, "days late", "word"),
    ({"decimal": ","}, "kg", "number"),
    ({"dates": "%d.%m.%Y"}, "date", "date"),
    ({"thousands": "."}, "paid", "number (1.000)"),
    ({"hash_bits": 6}, "town", "category"),
])  # fmt: skip
def test_every_decision_can_be_forced(options: dict[str, Any], column: str, kind: str) -> None:
    notes, columns = decisions(**options)
    found, usage = columns[column]
    assert found == kind
    assert not usage.startswith("left out")
    assert "decimal" not in options or not any("decimal points" in str(note) for note in notes)


def test_the_command_names_its_own_options(run: Any) -> None:
    command = ["fit", ORDERS, "--encoding", "latin-1", "--target", "returned", "--missing", "indicator", "--explain"]
    said = [line for line in run(*command)[2].splitlines() if "note:" in line]
    undone = [["--keep-index"], ["--categorical", "order"], ["--decimal", "."], ["--no-dates"],
              ["--categorical", "discount"], ["--thousands", ""]]  # fmt: skip
    assert len(said) == len(undone)
    for line, option in zip(said, undone, strict=True):
        assert f"({option[0]} " in line
        code, _, rest = run(*command, *option)
        assert code == 0
        assert line not in rest.splitlines()
