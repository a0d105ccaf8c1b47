"""Typed tables and arrays as files: what their columns become, labels, and one clear line for what does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from data import dense, refusal
from linsep.data import numpy_files, schema, tables
from linsep.data.read import read
from linsep.data.schema import BOOLEAN, DATE, NUMBER, TEXT, WORD
from oracle import hash_name


def parquet(path: Path, **columns_of: Any) -> Path:
    pq.write_table(pa.table(columns_of), path)
    return path


# ---------------------------------------------------------------------------------------------------------------
# Tables


@pytest.mark.filterwarnings("ignore:.*linsep drops:linsep.errors.DataNote")
def test_labels_that_are_missing_or_infinite(tmp_path: Path) -> None:
    path = parquet(tmp_path / "t.parquet", a=[1.0, 2.0, 3.0, 4.0], y=["no", None, "yes", "no"])
    assert refusal(path) == "t.parquet: row 1, column 'y': a missing label (missing='drop' allows it)"
    X, y = read(path, missing="drop").to_arrays()
    assert (X.tolist(), y.tolist()) == ([[1.0], [3.0], [4.0]], ["no", "yes", "no"])
    path = parquet(tmp_path / "f.parquet", a=[1.0, 2.0, 3.0], y=[0.0, np.nan, np.inf])
    assert refusal(path) == "f.parquet: row 1, column 'y': a missing label (missing='drop' allows it)"
    assert refusal(path, missing="drop") == "f.parquet: row 2, column 'y': an infinite label"


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_words_of_a_table_are_categories_or_texts(tmp_path: Path, kind: pa.DataType) -> None:
    words = pa.array(["red hat", "hat"], pa.string()).cast(kind)
    path = parquet(tmp_path / "t.parquet", a=[1, 2], s=words, y=[0, 1])
    X = dense(read(path, hash_bits=12).to_arrays()[0])
    assert X[:, 0].tolist() == [1, 2]
    assert X[0, 1 + hash_name("s=red hat") % 2**12] == 1
    assert X.sum() == 3 + 2
    X = dense(read(path, hash_bits=12, text=["s"]).to_arrays()[0])
    assert X[:, 1 + hash_name("s=hat") % 2**12].tolist() == [1, 1]
    assert X.sum() == 3 + 3  # three words


def test_what_becomes_of_a_column() -> None:
    def kind(of: pa.DataType, asked: str | None = None) -> str:
        return tables.typed_kind("c", of, asked)

    assert kind(pa.bool_()) == BOOLEAN
    assert kind(pa.int32()) == kind(pa.decimal128(5, 2)) == kind(pa.null()) == NUMBER
    assert kind(pa.int32(), WORD) == kind(pa.string()) == WORD
    assert kind(pa.date32()) == kind(pa.timestamp("s")) == kind(pa.time32("s")) == kind(pa.duration("s")) == DATE
    assert kind(pa.dictionary(pa.int8(), pa.int64())) == NUMBER
    assert kind(pa.large_string(), TEXT) == TEXT
    with pytest.raises(schema.ColumnError, match="column 'c' cannot be split into words: its type is int32"):
        kind(pa.int32(), TEXT)
    with pytest.raises(schema.ColumnError, match=r"column 'c' has type list<.*>, which is neither a number nor a"):
        kind(pa.list_(pa.int8()))


def test_tables_that_do_not_agree(tmp_path: Path) -> None:
    one = parquet(tmp_path / "1.parquet", a=[1.0], s=["x"], y=[0])
    words = parquet(tmp_path / "2.parquet", a=["one"], s=["x"], y=[1])
    other = parquet(tmp_path / "3.parquet", b=[1.0], s=["x"], y=[1])
    what = "2.parquet: row 0, column 'a': 'one' is not a number, as the cells above are (categorical='a' allows it)"
    assert refusal([one, words]) == what
    assert refusal([one, other]) == "3.parquet: no column is named 'a'; there are 'b', 's', 'y'"
    assert refusal(one, n_features=7).startswith("1.parquet: has ")
    assert refusal(one, n_features=7).endswith(" features, but 7 are expected")
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0]), pa.array([0])], names=["a", "a", "y"])
    pa.feather.write_feather(table, str(tmp_path / "twice.feather"))
    assert refusal(tmp_path / "twice.feather") == "twice.feather: two columns have the same name"


# ---------------------------------------------------------------------------------------------------------------
# Arrays


def test_arrays_whose_shapes_or_labels_do_not_fit(tmp_path: Path) -> None:
    np.save(tmp_path / "2.npy", np.eye(3, 2))
    np.save(tmp_path / "3.npy", np.eye(3))
    assert refusal([tmp_path / "3.npy", tmp_path / "2.npy"]) == "2.npy: has 2 columns, but 3.npy has 3"
    assert refusal(tmp_path / "3.npy", n_features=9) == "3.npy: has 2 features, but 9 are expected"
    assert refusal(tmp_path / "3.npy", target=7).startswith("3.npy: ")
    np.save(tmp_path / "nan.npy", [[1.0, 0.0], [2.0, np.nan]])
    assert refusal(tmp_path / "nan.npy") == "nan.npy: row 1: the label is not a finite number"


def test_pages_that_have_been_read_are_given_back_and_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = np.random.default_rng(0).standard_normal((3000, 5))
    np.save(tmp_path / "rows.npy", table)
    given_back = []
    release = numpy_files._release
    monkeypatch.setattr(numpy_files, "_RELEASE", 1 << 14)
    monkeypatch.setattr(numpy_files, "_release", lambda array: given_back.append(array.shape) or release(array))
    source = read(tmp_path / "rows.npy", block_bytes=4096, target=-1)
    for _ in range(2):
        assert np.array_equal(np.vstack([block.X for block in source]), table[:, :4])
    assert len(given_back) >= 10


def test_archives_must_have_the_same_features(tmp_path: Path) -> None:
    one, other = tmp_path / "1.npz", tmp_path / "2.npz"
    np.savez(one, X=np.eye(2), y=[0, 1])
    np.savez(other, X=np.eye(2, 3), y=[0, 1])
    assert refusal([one, other]) == "2.npz: has other features than 1.npz"
    assert refusal(one, n_features=3) == "1.npz: has 2 features, but 3 are expected"


def test_labels_of_bytes_are_words(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=np.eye(2), y=np.array([b"ja", "größer".encode()]))
    assert read(tmp_path / "a.npz").to_arrays()[1].tolist() == ["ja", "größer"]


def test_a_source_says_what_it_reads(tmp_path: Path) -> None:
    np.save(tmp_path / "1.npy", np.eye(2))
    np.save(tmp_path / "2.npy", np.eye(2))
    assert repr(read(tmp_path / "1.npy")) == f"<Source {tmp_path / '1.npy'}, npy>"
    assert repr(read([tmp_path / "1.npy", tmp_path / "2.npy"])) == "<Source 2 files, npy>"
