"""Rows that are cached for later passes: the same bits as without, and never a full disk."""

from __future__ import annotations

import os
import pickle
import shutil
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data import dense
from linsep import Perceptron, fit_source, read
from linsep.data.arrays import is_sparse

ROWS = 60


def write(folder: Path, form: str) -> Path:
    path = folder / f"rows.{form}"
    rng = np.random.default_rng(5)
    X = rng.integers(-3, 4, size=(ROWS, 3)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    towns = [["Ulm", "Bonn", "Rom", ""][int(rng.integers(0, 1 + i // 15))] for i in range(ROWS)]
    if form == "csv":
        lines = [f"{a},{b},{t},{c}" for (a, b, _), t, c in zip(X, towns, y, strict=True)]
        path.write_text("a,b,town,class\n" + "\n".join(lines) + "\n")
    elif form == "svm":
        lines = [f"{c} 1:{a} {2 + i % 40}:{b}" for i, ((a, b, _), c) in enumerate(zip(X, y, strict=True))]
        path.write_text("\n".join(lines) + "\n")
    elif form == "parquet":
        pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "class": y}), path)
    else:
        np.savez(path, X=X, y=y)
    return path


def together(blocks: Iterable[Any]) -> tuple[list[Any], list[Any], list[int]]:
    """Return the rows and labels of blocks, and where these begin."""
    blocks = list(blocks)
    width = max(block.X.shape[1] for block in blocks)
    rows = [block.X.toarray() if is_sparse(block.X) else block.X for block in blocks]
    X = np.vstack([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in rows])
    assert [block.first_row for block in blocks] == np.cumsum([0, *map(len, rows[:-1])]).tolist()
    return X.tolist(), [label for block in blocks for label in block.y.tolist()], [len(part) for part in rows]


@pytest.mark.parametrize("form", ["csv", "svm", "parquet", "npz"])
def test_cached_rows_are_those_of_the_files(tmp_path: Path, form: str) -> None:
    path = write(tmp_path, form)
    expected = together(read(path, block_bytes=300))[:2]
    source = read(path, block_bytes=300)
    with source.caching(str(tmp_path)):
        os.rename(path, tmp_path / "gone")  # nobody reads it any more
        for _ in range(2):
            assert together(source)[:2] == expected
        for most in (1, 7, 40, ROWS):
            *found, lengths = together(source.blocks(most))
            assert tuple(found) == expected
            assert max(lengths) <= most
            for one, other in zip(source.blocks(most), source.blocks(most), strict=True):  # a pass copies no numbers
                values = [X.data if is_sparse(X) else X for X in (one.X, other.X)]
                assert np.shares_memory(*values)
                assert not values[0].flags.writeable
        os.rename(tmp_path / "gone", path)
        assert source.position == source.size
        assert sorted(os.listdir(tmp_path)) == [path.name]  # the file has no name
    assert together(source)[:2] == expected  # read again


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", ["none", "unit"])
@pytest.mark.parametrize("moment", [3, 7])
def test_a_run_resumes_where_blocks_are_larger(tmp_path: Path, scale: str, moment: int) -> None:
    """With a scale the rows are kept before the first pass, so the run goes on from within a larger block."""
    path, calls = write(tmp_path, "svm"), []

    def stop(*_: object) -> None:
        calls.append(1)
        if len(calls) == moment:
            raise KeyError

    def go(cache: str, **extra: Any) -> Perceptron:
        model, source = Perceptron(max_iter=6, shuffle=False, prove=False), read(path, block_bytes=300)
        return fit_source(model, source, scale=scale, cache=cache, checkpoint=tmp_path / "half", every=0, **extra)

    with pytest.raises(KeyError):
        go("none", watch=stop)
    resumed = go("auto", resume=True)
    (tmp_path / "half").unlink()
    whole = go("none")
    assert np.array_equal(resumed.coef_, whole.coef_)
    assert np.array_equal(resumed.trace_, whole.trace_)


def test_a_disk_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = read(write(tmp_path, "svm"), block_bytes=300)
    expected = together(source)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        with source.caching(str(tmp_path)):
            assert together(source) == expected
        assert source.to_arrays()[0].toarray().tolist() == expected[0]
    assert [str(note.message).partition("for the rows: ")[2] for note in notes] == [
        "every pass reads them again",
        "all of them are held in memory",
    ]


def test_a_copy_keeps_nothing(tmp_path: Path) -> None:
    source = read(write(tmp_path, "csv"))
    with source.caching():
        first = together(source)
        assert not pickle.loads(pickle.dumps(source)).is_cached
        assert [column.name for column in source.describe()] == ["a", "b", "town", "class"]
        assert together(source) == first


def test_no_cache(tmp_path: Path) -> None:
    path = write(tmp_path, "csv")
    source = read(path)
    with source.caching("none"):
        first = together(source)
        path.write_text(path.read_text() + "1,1,Ulm,yes\n")
        assert together(source) != first


@pytest.mark.parametrize("form", ["csv", "svm", "parquet", "npz"])
@pytest.mark.parametrize("cache", ["folder", "auto", "none"])
def test_all_rows_at_once(tmp_path: Path, form: str, cache: str) -> None:
    """The blocks one after another, wherever they are kept; arrays outlive the files that they are maps of."""
    path, folder = write(tmp_path, form), tmp_path / "kept"
    folder.mkdir()
    parts = list(read(path, block_bytes=300))
    X, y = read(path, block_bytes=300, cache=str(folder) if cache == "folder" else cache).to_arrays()
    assert not os.listdir(folder)
    assert (dense(X).tolist(), y.tolist()) == together(parts)[:2]
    assert X.dtype == parts[0].X.dtype
    (X.data if is_sparse(X) else X)[:1] = 7  # they are the caller's own


def test_rows_of_several_types(tmp_path: Path) -> None:
    """Blocks that differ in type cannot lie side by side as they are, and become one array all the same."""
    for k, values in enumerate(([1, 2], [0.5, 1.5])):
        pq.write_table(pa.table({"a": values, "b": values, "class": ["x", "y"]}), tmp_path / f"{k}.parquet")
    X, y = read(str(tmp_path / "*.parquet")).to_arrays()
    assert X.tolist() == [[1, 1], [2, 2], [0.5, 0.5], [1.5, 1.5]]
    assert y.tolist() == ["x", "y"] * 2
