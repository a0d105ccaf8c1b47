"""Verdicts on files: those on the same numbers in memory, without holding all rows in memory."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from linsep import read, separate, verify
from linsep.data.scratch import IN_MEMORY, renumbered, scratch, some_columns, some_rows
from linsep.problem import Dense, Sparse

KINDS = {
    "separable": ([[0, 1, 2], [0, 2, 1], [0, -1, -1], [0, -2, 3]], [1, 1, -1, -1]),
    "quasi": ([[0, 1, 2], [0, 0, 1], [0, 0, 1], [0, -2, 3]], [1, 1, -1, -1]),
    "overlap": ([[0, 0, 0], [0, 1, 1], [0, 0, 1], [0, 1, 0]], [1, 1, -1, -1]),  # exclusive or
}


def write(folder: Path, form: str, X: np.ndarray, y: list[int]) -> Path:
    path = folder / f"rows.{form}"
    if form == "csv":
        path.write_text(
            "".join(f"{','.join(map(str, row))},{label}\n" for row, label in zip(X.tolist(), y, strict=True))
        )
    elif form == "svm":
        pairs = (" ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v) for row in X.tolist())
        path.write_text("".join(f"{label} {pair}\n" for pair, label in zip(pairs, y, strict=True)))
    elif form == "parquet":
        columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
        pa.parquet.write_table(pa.table(columns | {"y": y}), path)
    else:
        np.savez(path, X=X, y=y)
    return path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["csv", "svm", "parquet", "npz"])
@pytest.mark.parametrize("cache_mb", [0, 256])
def test_a_source_is_decided_as_its_rows_are(tmp_path: Path, form: str, kind: str, cache_mb: int) -> None:
    rows, y = KINDS[kind]
    X = np.array(rows, dtype=float) / 4
    source = read(
        write(tmp_path, form, X, y), block_bytes=20, target=None if form in ("svm", "npz") else -1, cache_mb=cache_mb
    )
    verdict = separate(source)
    assert verdict.kind == kind
    assert verdict.values == ("decimal" if form in ("csv", "svm") else "binary")
    assert verdict.check(source)
    assert verify(verdict, source, plain=True)
    assert verdict.check(X[:, : verdict.n_features], y)
    other = read(write(tmp_path, form, -X, y), target=None if form in ("svm", "npz") else -1)
    assert verdict.check(other) == (verdict.kind == "overlap")  # the plane is upside down now; a contradiction is not


def test_a_source_has_its_own_labels(tmp_path: Path) -> None:
    X, y = np.eye(2), [0, 1]
    source = read(write(tmp_path, "csv", X, y))
    with pytest.raises(ValueError, match="has its own labels"):
        separate(source, y)


def test_decimals_of_a_text(tmp_path: Path) -> None:
    """0.1 + 0.2 is 0.3 in the text, so three points are on a line, and not in binary."""
    X = np.array([[0.1, 0.1], [0.2, 0.2], [0.3, 0.30000000000000004]])
    X[2, 1] = 0.3
    table = np.column_stack((X[:, 0], [1.0, 1.0, 1.0], X[:, 1]))
    source = read(write(tmp_path, "csv", table, [1, -1, 1]))
    assert separate(source).kind == separate(source, values="binary").kind == "overlap"
    sums = np.array([[0.1, 0.2, 0.3], [0.2, 0.1, 0.3], [0.7, 0.1, 0.8], [0.3, 0.3, 0.6]])
    labels = [1, -1, 1, -1]
    exact = [[Fraction(str(value)) for value in row] for row in sums.tolist()]
    expected = separate(np.array(exact, dtype=object), labels).kind
    assert separate(read(write(tmp_path, "csv", sums, labels))).kind == expected


@pytest.mark.parametrize("other", ["7", "0.00001234567890123456", "135265231790886.16", "127.000.000.001.02"])
def test_numbers_of_many_digits_are_noticed(tmp_path: Path, other: str) -> None:
    path = tmp_path / "long.csv"
    path.write_text(f"{other},0.1000000000000000000001,1\n{other},0.1,-1\n")  # one double, two decimals
    assert separate(read(path, ignore=0)).kind == "separable"
    assert separate(read(path, ignore=0), values="binary").kind == "overlap"
    text = tmp_path / "long.svm"
    text.write_text("1 1:0.1000000000000000000001\n-1 1:0.1\n")
    with pytest.raises(ValueError, match="more digits than a double holds"):
        separate(read(text))


# ---------------------------------------------------------------------------------------------------------------
# Many rows


@pytest.fixture(scope="module")
def many() -> tuple[np.ndarray, np.ndarray]:
    """Rows of decimals that take more than what is simply allocated, and labels that a plane gives."""
    rng = np.random.default_rng(0)
    whole = rng.integers(-10_000, 10_000, size=(IN_MEMORY // 64 + 1000, 8))
    whole[:, 3] = 725  # has no say
    side = whole[:, 0] + whole[:, 1] - whole[:, 2]
    return whole[side != 0] / 100, np.where(side[side != 0] > 0, 1, -1)


@pytest.mark.parametrize("values", ["binary", "decimal"])
def test_many_rows(many: tuple[np.ndarray, np.ndarray], values: str) -> None:
    X, y = many
    verdict = separate(X, y, values=values)
    assert verdict.kind == "separable"
    assert verdict.check(X, y)
    flipped = y.copy()
    flipped[[5, 70, 900]] *= -1
    verdict = separate(X, flipped, values=values)
    assert verdict.kind == "overlap"
    assert verdict.check(X, flipped)
    assert not verdict.check(X, y)


def test_many_rows_on_both_sides_of_a_hair(many: tuple[np.ndarray, np.ndarray]) -> None:
    """Rows on the plane itself, in decimals only: no floats can tell, integers must."""
    X, y = many
    on = np.array([[0.1, 0.2, 0.3], [0.7, 0.1, 0.8], [0.3, 0.3, 0.6]])
    rows = np.zeros((6, 8))
    rows[:3, :3], rows[3:, :3], rows[:, 3] = on, on, 7.25
    X, y = np.vstack((X, rows)), np.concatenate((y, [1, 1, 1, -1, -1, -1]))
    verdict = separate(X, y, values="decimal")
    assert verdict.kind == "quasi"
    assert verdict.check(X, y)


def test_many_sparse_rows() -> None:
    rng = np.random.default_rng(1)
    n, k = IN_MEMORY // (8 * 20) + 1000, 20
    columns = np.sort(rng.integers(0, 12, (n, k)) + 12 * np.arange(k), axis=1).ravel()  # some have no say
    X = sp.csr_array((rng.integers(1, 100, n * k) / 10, columns, np.arange(0, n * k + 1, k)), (n, 300))
    side = X @ np.where(np.arange(300) % 2, 1.0, -1.0)
    X, y = X[np.abs(side) > 1], (side > 0)[np.abs(side) > 1]
    for values in ("binary", "decimal"):
        verdict = separate(X, y, values=values)
        assert verdict.kind == "separable"
        assert verdict.check(X, y)


def test_room_for_many_numbers() -> None:
    n = IN_MEMORY // 80 + 7
    x = scratch((n, 10), np.float64)
    x[:] = np.arange(10 * n).reshape(n, 10)
    which = np.arange(n)[::-1].copy()
    assert np.array_equal(some_rows(Dense(x), which).data, x[::-1])
    assert np.array_equal(some_columns(x, np.array([1, 7])), x[:, [1, 7]])
    indptr = (np.arange(n + 1) * 10).astype(np.uint32)
    rows = Sparse(x.reshape(-1), np.tile(np.arange(10, dtype=np.uint32), n), indptr)
    turned = some_rows(rows, which)
    assert np.array_equal(turned.data, x[::-1].reshape(-1))
    assert np.array_equal(turned.indices, rows.indices)
    position = np.full(10, -1)
    position[[1, 7]] = [0, 1]
    fewer = renumbered(rows, rows.indices, position)
    assert np.array_equal(fewer.data, x[:, [1, 7]].reshape(-1))
    assert np.array_equal(fewer.indices, np.tile(np.arange(2, dtype=np.uint32), n))
    assert np.array_equal(fewer.indptr, 2 * np.arange(n + 1))


WATCHED = """
import re, sys, threading, time
from linsep import read, separate
def private():
    return int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
separate(read(sys.argv[1]))  # compile
before, most, done = private(), 0, False
def watch():
    global most
    while not done:
        most = max(most, private())
        time.sleep(0.002)
thread = threading.Thread(target=watch)
thread.start()
print(separate(read(sys.argv[2], cache_mb=16)).kind)
done = True
thread.join()
print(most - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="private memory is not told here")
def test_private_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-1000, 1000, size=(400_000, 40)) / 100
    X[:, 5] = X[:, 6]  # a column to be left out
    columns = {f"x{j}": X[:, j] for j in range(40)} | {"y": np.where(X.sum(axis=1) > 0, 1, -1)}
    few, large = tmp_path / "few.csv", tmp_path / "large.csv"
    pa.csv.write_csv(pa.table(columns).slice(0, 2000), few)
    pa.csv.write_csv(pa.table(columns), large)
    told = subprocess.run([sys.executable, "-c", WATCHED, few, large], capture_output=True, text=True, check=True)
    kind, grown = told.stdout.split()
    assert kind == "separable"
    assert int(grown) < X.nbytes  # 128 MB; a copy of all rows would take more than that
