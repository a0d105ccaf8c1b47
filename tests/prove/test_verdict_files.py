"""Verdicts on files: those on the same numbers in memory, without holding all rows in memory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from linsep import largest_margin, read, separate, verify
from linsep.cli import main
from linsep.data.cache import IN_MEMORY, mapped_array, renumbered, some_columns, some_rows
from linsep.problem import Dense, Sparse
from linsep.prove.numbers import text as texts
from linsep.prove.verdict import separability, working_set

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
@pytest.mark.parametrize("cache", ["none", "auto"])
def test_a_source_is_decided_as_its_rows_are(tmp_path: Path, form: str, kind: str, cache: str) -> None:
    rows, y = KINDS[kind]
    X = np.array(rows, dtype=float) / 4
    source = read(
        write(tmp_path, form, X, y), block_bytes=20, target=None if form in ("svm", "npz") else -1, cache=cache
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


@pytest.mark.slow
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
    x = mapped_array((n, 10), np.float64)
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
print(separate(read(sys.argv[2])).kind)
done = True
thread.join()
print(most - before)
"""


@pytest.mark.slow
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


# ---------------------------------------------------------------------------------------------------------------
# Tables that count as large: the verdict is that of all rows, wherever in the file it is decided


def make_all_large(patch: pytest.MonkeyPatch) -> None:
    """Have few rows decide to begin with, and the others in small parts."""
    patch.setattr(separability, "LARGE", 0)
    patch.setattr(separability, "PART_CELLS", 1000)
    patch.setattr(working_set, "FIRST_ROWS", 20)


@pytest.fixture
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    make_all_large(monkeypatch)


def table(path: Path, X: np.ndarray, y: object) -> Path:
    """Write a table with the shortest decimals of its numbers."""
    lines = [",".join([*map(repr, row), str(label)]) for row, label in zip(X.tolist(), y, strict=True)]
    names = ",".join([*(f"x{j}" for j in range(X.shape[1])), "label"])
    path.write_text("\n".join([names, *lines]) + "\n")
    return path


def normal(rng: np.random.Generator, n: int = 4000, d: int = 3) -> np.ndarray:
    return rng.standard_normal((n, d)).round(3)


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.usefixtures("all_are_large")
def test_separable_rows(tmp_path: Path, offset: bool) -> None:
    X = normal(np.random.default_rng(0))
    heights = X @ [1.0, 2.0, -1.0] + (0.3 if offset else 0.0)
    X, y = X[abs(heights) > 1e-6], (heights[abs(heights) > 1e-6] > 0) * 2 - 1
    path = table(tmp_path / "t.csv", X, y)
    verdict = separate(read(path), fit_intercept=offset)
    assert (verdict.kind, verdict.classes) == ("separable", (-1, 1))
    for plain in (False, True):
        assert verify(verdict, read(path), plain=plain)


@pytest.mark.parametrize("wrong", [1, 3500, 3999])
@pytest.mark.usefixtures("all_are_large")
def test_one_wrong_label_wherever_it_is(tmp_path: Path, wrong: int) -> None:
    X = normal(np.random.default_rng(2))
    y = (X.sum(axis=1) > 0.0005).astype(int)
    wrong = int(np.flatnonzero(abs(X.sum(axis=1)) > 1)[wrong * 2 // 5])
    y[wrong] = 1 - y[wrong]
    path = table(tmp_path / "t.csv", X, y)
    verdict = separate(read(path))
    assert verdict.kind == "overlap"
    assert wrong in verdict.refutation.rows
    assert verify(verdict, read(path), plain=True)


@pytest.mark.usefixtures("all_are_large")
def test_rows_that_only_few_others_span(tmp_path: Path) -> None:
    """A column is zero but for the last row, which those that contradict each other do not span without it."""
    X = np.column_stack((normal(np.random.default_rng(4), d=2), np.zeros(4000)))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    y[:8] = [0, 1] * 4
    path = table(tmp_path / "t.csv", X, y)
    assert separate(read(path)).kind == "overlap"
    X[-1, 2] = 1
    verdict = separate(read(table(path, X, y)))
    assert verdict.kind == "quasi"
    assert verify(verdict, read(path), plain=True)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    digits=st.integers(0, 2),
    flips=st.integers(0, 2),
    classes=st.sampled_from([2, 2, 3]),
    sort=st.booleans(),
    form=st.sampled_from(["csv", "parquet", "svm"]),
)
def test_the_verdict_is_that_of_all_rows(
    tmp_path_factory: pytest.TempPathFactory, seed: int, digits: int, flips: int, classes: int, sort: bool, form: str
) -> None:
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((1500, 2)) * 3).round(digits)
    y = np.digitize(X @ rng.integers(-3, 4, 2), [0.5, 4.5][: classes - 1])
    y[rng.integers(0, len(y), flips)] = 0
    if len(set(y.tolist())) < 2:
        return
    order = np.argsort(X[:, 0], kind="stable") if sort else np.arange(len(X))
    X, y = X[order], y[order]
    path = write(tmp_path_factory.mktemp("t"), form, X, y.tolist())
    with pytest.MonkeyPatch.context() as patch:
        make_all_large(patch)
        verdict = separate(read(path, target=None if form == "svm" else -1))
    assert verdict.kind == separate(X, y, values=verdict.values).kind
    assert verdict.check(X, y, plain=True)


def separable(tmp_path: Path, change: str) -> Path:
    """Write separable rows, with one line changed, and return the path."""
    X = normal(np.random.default_rng(5))
    path = table(tmp_path / "t.csv", X, (X.sum(axis=1) > 0.0005).astype(int))
    lines = path.read_text().splitlines()
    lines[3000] = change
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.usefixtures("all_are_large")
def test_late_surprises(tmp_path: Path) -> None:
    """Another class, a long decimal, a number out of range."""
    assert separate(read(separable(tmp_path, "90,90,90,2"))).classes == (0, 1, 2)
    path = separable(tmp_path, "0.10000000000000000001,9,9,1")
    assert separate(read(path)).kind == separate(read(path), values="binary").kind == "separable"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=r"1e999|infinity|finite"):
            separate(read(separable(tmp_path, "1e999,9,9,1")))


@pytest.mark.usefixtures("all_are_large")
def test_rows_that_floats_cannot_tell_from_the_plane(tmp_path: Path) -> None:
    """Columns far from zero and close together, and a last row 12 units on the wrong side."""
    rng = np.random.default_rng(0)
    i, side = rng.integers(-50, 50, 1200), rng.choice([-1, 1], 1200)
    k = -997 * i + side
    i[-1], k[-1], side[-1] = 48, -47868, 1  # 997 i + k is -12
    cells = [[f"{v // 10}.{v % 10}" for v in (99_999_999_900_000 + column).tolist()] for column in (k, i)]
    path = tmp_path / "t.csv"
    path.write_text("x,z,y\n" + "".join(f"{a},{b},{c}\n" for a, b, c in zip(*cells, side.tolist(), strict=True)))
    assert separate(read(path)).kind == "overlap"


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-20, 1e300])
@pytest.mark.parametrize("values", ["binary", "decimal"])
@pytest.mark.usefixtures("all_are_large")
def test_columns_of_any_size(tmp_path: Path, scale: float, values: str) -> None:
    rng = np.random.default_rng(10)
    y = rng.integers(0, 2, 2000)
    X = np.column_stack(((2 * y - 1) * rng.integers(1, 9, 2000) * scale, rng.standard_normal(2000).round(3)))
    verdict = separate(read(table(tmp_path / "t.csv", X, y)), values=values)
    assert verdict.kind == "separable"
    assert verdict.check(X, y)


def test_several_typed_files(tmp_path: Path) -> None:
    """Whole numbers above 2^53 in the second file are not rounded to the floats of the first."""
    y = np.arange(600, dtype=np.int32) % 2
    pa.parquet.write_table(pa.table({"x": y - 0.5, "y": y}), tmp_path / "a.parquet")
    large = np.where(y, 2**53 + 1, -(2**53) - 1)
    pa.parquet.write_table(pa.table({"x": large, "y": y}), tmp_path / "b.parquet")
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    assert separate(read(files)).kind == "separable"
    pa.parquet.write_table(
        pa.table({"x": [2**53, 2**53 + 1], "y": pa.array([0, 1], pa.int32())}), tmp_path / "c.parquet"
    )
    verdict = separate(read([*files, tmp_path / "c.parquet"]))
    assert verdict.kind == "overlap"
    assert verdict.check(read([*files, tmp_path / "c.parquet"]), plain=True)


# ---------------------------------------------------------------------------------------------------------------
# Time


def test_the_time_limit_counts_reading(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X = normal(np.random.default_rng(4))
    path = table(tmp_path / "t.csv", X, (X[:, 0] > 0).astype(int))
    verdict = separate(read(path, block_bytes=4096), time_limit=0)
    assert (verdict.kind, verdict.classes) == ("unknown", ())
    with pytest.raises(SystemExit) as left:
        main(["separate", str(path), "--time-limit", "0"])
    assert left.value.code == 1
    assert re.search("rows +not all were read in the time given", capsys.readouterr().out)


def test_reading_and_search_are_timed_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reading of half a second, and a search of a quarter."""
    path = table(tmp_path / "t.csv", np.arange(40.0)[:, None], np.arange(40) >= 20)
    reading, search = texts.exact_table, separability.decide

    def slow_reading(*given: object, **options: object) -> object:
        time.sleep(0.5)
        return reading(*given, **options)

    def slow_search(*given: object) -> object:
        time.sleep(0.25)
        return search(*given)

    monkeypatch.setattr(texts, "exact_table", slow_reading)
    monkeypatch.setattr(separability, "decide", slow_search)
    with pytest.raises(SystemExit):
        main(["separate", str(path), "--json", "--no-margin"])
    facts = json.loads(capsys.readouterr().out)
    assert facts["reading_seconds"] >= 0.5
    assert facts["seconds"] >= 0.25
    with pytest.raises(SystemExit):
        main(["separate", str(path)])
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("time"))
    assert re.fullmatch(r"time +\d+\.\d\d s for reading, \d+\.\d\d s for the verdict and its exact proof.*", line)


# ---------------------------------------------------------------------------------------------------------------
# A file that is large enough


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Write 70 MB of rows, the same 3000 again and again, and a copy with one wrong label near the end."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((3000, 30)).round(6)
    y = (X.sum(axis=1) > 0).astype(int)
    folder = tmp_path_factory.mktemp("large")
    head, text = table(folder / "some.csv", X, y).read_text().split("\n", 1)
    times = -(-(70 << 20) // len(text))
    for name, last in (("right.csv", ""), ("wrong.csv", ",".join(map(repr, (X[0] * 0 + 1).tolist())) + ",0\n")):
        with (folder / name).open("w") as file:
            file.write(head + "\n")
            for _ in range(times):
                file.write(text)
            file.write(last)
    return folder, 3000 * times


@pytest.mark.compiled
def test_a_large_file(large: tuple[Path, int], capsys: pytest.CaptureFixture[str]) -> None:
    folder, n = large
    for name, kind, rows, code in (("right.csv", "separable", n, 0), ("wrong.csv", "overlap", n + 1, 1)):
        verdict = separate(read(folder / name))
        assert verdict.kind == kind
        assert verify(verdict, read(folder / name))
        with pytest.raises(SystemExit) as left:
            main(["separate", str(folder / name), "--no-margin", "--json"])
        told = json.loads(capsys.readouterr().out)
        assert (left.value.code, told["verdict"], told["rows"]) == (code, kind, rows)
        if kind == "overlap":
            assert [each["row"] for each in told["refutation"]] == verdict.refutation.rows.tolist()
            assert n in verdict.refutation.rows
        if kind == "separable":
            with pytest.raises(SystemExit):
                main(["separate", str(folder / name), "--json"])
            told = json.loads(capsys.readouterr().out)
            best = largest_margin(*read(folder / "some.csv").to_arrays())  # the same rows, once each
            assert told["margin_lower"] <= best.upper
            assert told["margin_upper"] >= best.lower
            assert told["margin_upper"] <= told["margin_lower"] * (1 + 2e-6)
            assert {row % 3000 for row in told["support_rows"]} == set(best.rows.tolist())
    with pytest.raises(SystemExit):
        main(["separate", str(folder / "wrong.csv"), "--no-margin"])
    shown = capsys.readouterr().out
    assert re.search(r"\d s for reading, [\d.]+ s for the verdict and its exact proof", shown)
    assert "rows that contradict each other" in shown
