"""Files of every format: the same rows whatever the block size, and one clear line for whatever is wrong."""

from __future__ import annotations

import csv
import gc
import gzip
import io
import itertools
import os
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data import read_rows, refusal
from linsep.data.files import File, pieces
from linsep.data.parallel import cores, side_by_side
from linsep.data.read import read
from linsep.errors import ReadError
from oracle import hash_name

quick = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


# ---------------------------------------------------------------------------------------------------------------
# What every source does


@pytest.fixture
def data(tmp_path: Path) -> dict[str, Path]:
    """Write the same table in every format: twelve rows, three numbers, a label."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3))
    X[rng.random((12, 3)) < 0.3] = 0
    y = np.where(X[:, 0] > 0, 1, -1)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    paths = {
        name: tmp_path / f"data.{name}" for name in ("csv", "tsv", "parquet", "feather", "arrows", "npy", "npz", "svm")
    }
    for name, delimiter in (("csv", ","), ("tsv", "\t")):
        lines = [delimiter.join([*map(repr, row), str(label)]) for row, label in zip(X.tolist(), y, strict=True)]
        paths[name].write_text(delimiter.join("abcy") + "\n" + "\n".join(lines) + "\n")
    pq.write_table(table, paths["parquet"], row_group_size=5)
    pa.feather.write_feather(table, str(paths["feather"]), chunksize=5)
    with pa.ipc.new_stream(str(paths["arrows"]), table.schema) as stream:
        stream.write_table(table, max_chunksize=5)
    np.save(paths["npy"], np.column_stack([X, y]))
    np.savez(paths["npz"], X=X, y=y)
    lines = [
        f"{label:+d} " + " ".join(f"{j + 1}:{x!r}" for j, x in enumerate(row) if x)
        for row, label in zip(X.tolist(), y, strict=True)
    ]
    paths["svm"].write_text("\n".join(lines) + "\n")
    for name in ("csv", "svm"):
        paths[f"{name}.gz"] = tmp_path / f"data.{name}.gz"
        paths[f"{name}.gz"].write_bytes(gzip.compress(paths[name].read_bytes()))
        paths[f"{name}.zst"] = tmp_path / f"data.{name}.zst"
        paths[f"{name}.zst"].write_bytes(pa.Codec("zstd").compress(paths[name].read_bytes(), asbytes=True))
    matrix = sp.csr_array(X)
    paths["csr.npz"] = tmp_path / "data.csr.npz"
    np.savez_compressed(
        paths["csr.npz"], data=matrix.data, indices=matrix.indices, indptr=matrix.indptr, shape=matrix.shape, y=y
    )
    paths["F.npz"] = tmp_path / "data.F.npz"
    np.savez(paths["F.npz"], X=np.asfortranarray(X), y=y)
    return paths


def test_every_format_gives_the_same_rows_at_any_block_size(data: dict[str, Path]) -> None:
    X, y = read(data["csv"]).to_arrays()
    for name, path in data.items():
        for block_bytes in (1, 50, 300, 1 << 22):
            source = read(path, block_bytes=block_bytes)
            assert read_rows(source) == (X.tolist(), y.tolist()), (name, block_bytes)
            assert source.n_features == 3
            assert source.size == path.stat().st_size
            assert source.position == source.size
            blocks = list(source)
            assert [block.first_row for block in blocks] == list(
                itertools.accumulate((block.X.shape[0] for block in blocks[:-1]), initial=0)
            )
            assert all(sp.issparse(block.X) or block.X.flags.c_contiguous for block in blocks)
            assert all(not sp.issparse(block.X) or block.X.has_canonical_format for block in blocks)
            assert (
                len(blocks) == 1
                if block_bytes > 300 and name not in ("parquet", "feather", "arrows")
                else len(blocks) > 1 or block_bytes > 1
            )


def test_every_format_can_come_from_a_stream(data: dict[str, Path]) -> None:
    expected = read_rows(read(data["csv"]))
    for path in data.values():
        source = read(io.BytesIO(path.read_bytes()))
        assert read_rows(source) == expected
        assert read_rows(source) == expected
        assert source.fingerprint() == read(io.BytesIO(path.read_bytes())).fingerprint()
        assert source.size == path.stat().st_size


def test_several_files_and_globs_are_one_source(data: dict[str, Path], tmp_path: Path) -> None:
    X, y = read_rows(read(data["csv"]))
    os.link(data["csv"], tmp_path / "data-2.csv")
    for path in (tmp_path / "data*.csv", [data["csv"], tmp_path / "data-2.csv"]):
        source = read(path)
        assert read_rows(source) == (X + X, y + y)
        assert source.size == 2 * data["csv"].stat().st_size == source.position
    odd = tmp_path / "[x].csv"  # a name that looks like a glob
    os.link(data["csv"], odd)
    assert read_rows(read(odd)) == (X, y)
    with pytest.raises(ReadError, match=r"nothing\*: no file"):
        read(tmp_path / "nothing*")


def test_work_side_by_side_keeps_its_order() -> None:
    asked: list[int] = []

    def items() -> Iterator[int]:
        for item in range(50):
            asked.append(item)
            yield item
        raise ReadError("rows.csv", "the end is damaged")

    work = side_by_side(items(), lambda item: item**2)
    for number in range(50):
        item, result = next(work)
        assert (item, result.result()) == (number, number**2)
        assert len(asked) - number <= cores() + 1  # so many buffers do
    with pytest.raises(ReadError, match="the end is damaged"):  # only now that all before it is done
        next(work)


def test_pieces_stay_as_they_are_for_so_many_more() -> None:
    text = b"".join(b"%d\n" % k for k in range(200)) + b"x" * 500 + b"\n" + b"".join(b"%d\n" % k for k in range(200))
    for buffers in (1, 2, 3):
        kept: list[tuple[memoryview, bytes]] = []
        for piece in pieces(File(io.BytesIO(text)), 50, buffers=buffers):
            kept = [*kept, (piece, bytes(piece))][-buffers:]
            assert all(view == copy for view, copy in kept)
        assert b"".join(map(bytes, pieces(File(io.BytesIO(text)), 50, buffers=buffers))) == text


def test_a_stream_that_is_not_kept_is_read_once() -> None:
    class Pipe(io.RawIOBase):
        """Bytes that come a few at a time."""

        def __init__(self) -> None:
            self.left = b"1 1:1\n-1 2:1\n" * 100

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            part, self.left = self.left[:7], self.left[7:]
            buffer[: len(part)] = part
            return len(part)

    source = read(Pipe(), spool=False, format="libsvm", block_bytes=64)
    whole = read(io.BytesIO(Pipe().left), block_bytes=64)
    assert [block.first_row for block in source] == [block.first_row for block in whole]
    with pytest.raises(ReadError, match="input: this stream can be read only once"):
        list(source)
    assert source.size is None
    twice = read(Pipe(), block_bytes=64)
    assert read_rows(twice) == read_rows(twice) == read_rows(whole)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are not everywhere")
def test_a_named_pipe_is_a_stream(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"a,y\n1,0\n2,1\n",))
    writer.start()
    source = read(pipe)
    writer.join()
    assert read_rows(source) == read_rows(source) == ([[1], [2]], [0, 1])


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1 1:1\n-1 2:x\n")))
    with pytest.raises(ReadError, match=r"^input:2: 'x' is not a number$"):
        read("-").to_arrays()


def test_what_is_left_open_is_closed(data: dict[str, Path]) -> None:
    """A reader that stops in the middle leaves no file open; warnings are errors, so that it would show."""

    def open_files() -> int:
        for path in data.values():
            iterator = iter(read(path, block_bytes=1))
            next(iterator)
            del iterator
        gc.collect()
        return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    first = open_files()  # libraries keep a few of their own
    assert open_files() == first


def test_fingerprints_name_the_data_and_how_it_is_read(data: dict[str, Path], tmp_path: Path) -> None:
    name = read(data["csv"]).fingerprint()
    other = tmp_path / "other.csv"
    other.write_bytes(data["csv"].read_bytes())
    assert read(other).fingerprint() == name
    assert read(other, positive=1).fingerprint() == name
    assert read(other, missing="zero").fingerprint() != name
    other.write_bytes(data["csv"].read_bytes() + b"1,2,3,1\n")
    assert read(other).fingerprint() != name


def test_bad_paths_and_options(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"gone\.csv: no such file"):
        read(tmp_path / "gone.csv")
    with pytest.raises(ReadError, match="is a folder, not a file"):
        read(tmp_path)
    with pytest.raises(ReadError, match="no files"):
        read([])
    with pytest.raises(TypeError, match="binary stream"):
        read(io.StringIO("a,b\n"))
    for wrong in ({"missing": "never"}, {"hash_bits": 0}, {"format": "xls"}, {"block_bytes": 0}, {"cache": "nowhere"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            read(io.BytesIO(b"a,b\n1,2\n"), **wrong)


# ---------------------------------------------------------------------------------------------------------------
# LIBSVM text


def test_query_numbers_are_ignored_with_one_notice() -> None:
    source = read(io.BytesIO(b"1 qid:1 1:1\n" * 10), block_bytes=1)
    with pytest.warns(UserWarning, match="qid") as caught:
        source.to_arrays()
    assert len(caught) == 1
    source.to_arrays()  # warnings are errors: there is no second one


@pytest.mark.compiled
def test_one_long_line() -> None:
    text = b"1 " + b" ".join(b"%d:1" % j for j in range(1, 1_000_000)) + b"\n"
    assert len(text) > 8 << 20
    X, _ = read(io.BytesIO(text), block_bytes=1000).to_arrays()
    assert X.shape == (1, 999_999)
    assert "is not index:value" in refusal(b"1 " + b"x" * (10 << 20), format="libsvm")
    assert "is not a number" in refusal(b"1 1:" + b"9" * (10 << 20) + b"x")


# ---------------------------------------------------------------------------------------------------------------
# CSV

cells = st.text(
    alphabet=st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029"),
    max_size=6,
)


@quick
@given(st.data())
def test_csv_is_read_as_pythons_csv_module_reads_it(draw: st.DataObject) -> None:
    """Numbers, quoted words with delimiters, quotes and newlines in them, and any line end."""
    n = draw.draw(st.integers(1, 8))
    numbers = draw.draw(st.lists(st.floats(-1e9, 1e9), min_size=n, max_size=n))
    words = draw.draw(
        st.lists(st.sampled_from(["x", 'say "x"', "a,b;c\td", "two\nlines", "Ü"]), min_size=n, max_size=n)
    )
    labels = draw.draw(st.lists(st.sampled_from(["yes", "no, never", "+1", "2.5"]), min_size=n, max_size=n))
    delimiter = draw.draw(st.sampled_from([",", ";", "\t", "|"]))
    out = io.StringIO(newline="")
    writer = csv.writer(
        out,
        delimiter=delimiter,
        lineterminator=draw.draw(st.sampled_from(["\n", "\r\n"])),
        quoting=draw.draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
    )
    writer.writerow(["size", "kind", "class"])
    writer.writerows(zip(map(repr, numbers), words, labels, strict=True))
    known = {"yes": "yes", "no, never": "no, never", "+1": 1, "2.5": 2.5}
    for block_bytes in (1, 40, 1 << 20):
        X, y = read(
            io.BytesIO(out.getvalue().encode()),
            format="csv",
            delimiter=delimiter,
            target="class",
            hash_bits=10,
            decimal=".",
            block_bytes=block_bytes,
        ).to_arrays()
        expected = np.zeros((n, 1 + 1024))
        for i in range(n):
            expected[i, 0] = numbers[i]
            expected[i, 1 + hash_name(f"kind={words[i]}") % 1024] = 1
        assert np.array_equal(X.toarray(), expected)
        assert y.tolist() == [known[label] for label in labels]


@pytest.mark.compiled
def test_later_blocks_may_hold_other_numbers() -> None:
    """Integers for longer than the first look, then a decimal point, then an exponent."""
    text = "a,b\n" + "1,0\n" * 100_000 + "2.5,1\n-1e-3,0\n"
    X, _ = read(io.BytesIO(text.encode())).to_arrays()
    assert X[-2:, 0].tolist() == [2.5, -1e-3]
    assert refusal(text + "two,1\n", numeric="a").startswith("input:100004, column 'a': 'two' is not a number")
    assert refusal(text + "1,1\n,1\n").startswith("input:100005, column 'a': a missing value")
    assert refusal(text + "1,1,1\n") == "input:100004: the row has 3 cells, but the table has 2 columns"
    assert refusal(text + "1\n") == "input:100004: the row has 1 cell, but the table has 2 columns"
    assert refusal(text + "inf,1\n") == "input:100004, column 'a': an infinite number"
    assert refusal(text + "1e999,1\n") == "input:100004, column 'a': an infinite number"
    assert refusal(text + "1,\n") == "input:100004, column 'b': a missing label (missing='drop' allows it)"
    assert (
        refusal(text.encode() + b"\xff,1\n")
        == "input:100004: the text is not UTF-8: give its encoding, such as encoding='latin-1'"
    )
    assert refusal(text + '1,"1\n2,2\n') == "input:100004: a quote opens but never closes"


def test_other_data_is_read_in_the_same_way() -> None:
    train = read(io.BytesIO(b"a,s,y\n1,x,0\n2,y,1\n"), hash_bits=18)
    test = b"y,extra,s,a\n1,0,7,3\n"  # other order, another column, a category that looks like a number
    X, y = read(io.BytesIO(test), layout=train.layout, target="y").to_arrays()
    assert X[0, 0] == 3
    assert X[0, 1 + hash_name("s=7") % 2**18] == 1
    assert y.tolist() == [1]
    X, y = read(io.BytesIO(b"s,a\n7,3\n"), layout=train.layout, labels=False).to_arrays()
    assert X[0, 0] == 3
    assert y is None
    assert (
        refusal(b"a,t\n1,2\n", layout=train.layout, labels=False) == "input: no column is named 's'; there are 'a', 't'"
    )
    plain = read(io.BytesIO(b"1,2,0\n3,4,1\n"))
    assert read_rows(b"5,6\n", layout=plain.layout, labels=False) == ([[5, 6]], None)
    assert read_rows(b"5,6,1\n", layout=plain.layout, labels=False, target=-1) == ([[5, 6]], None)


# ---------------------------------------------------------------------------------------------------------------
# Typed tables and arrays


@pytest.mark.filterwarnings("ignore:.*linsep drops:linsep.errors.DataNote")
def test_a_table_keeps_its_types(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table = pa.table(
        {
            "a": pa.array([1, 2, None], pa.uint8()),
            "b": pa.array([1, 2, 3], pa.uint8()),
            "y": pa.array(["u", "v", "u"]).dictionary_encode(),
        }
    )
    pq.write_table(table, path)
    with pytest.raises(ReadError, match=r"t\.parquet: row 2, column 'a': a missing value"):
        read(path).to_arrays()
    X, y = read(path, missing="drop").to_arrays()
    assert X.dtype == np.uint8
    assert (X.tolist(), y.tolist()) == ([[1, 1], [2, 2]], ["u", "v"])
    assert read_rows(read(path, target="b", missing="zero", ignore="y")) == ([[1], [2], [0]], [1, 2, 3])
    with pytest.raises(ReadError, match="did you mean 'b'"):
        read(path, target="bb")


def test_arrays_are_mapped_and_never_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.arange(6, dtype=np.int16).reshape(3, 2))
    blocks = list(read(path, labels=False))
    assert not blocks[0].X.flags.owndata
    assert blocks[0].X.dtype == np.int16
    np.save(path, np.array([[object()]]), allow_pickle=True)
    with pytest.raises(ReadError, match="not an NPY file of numbers"):
        read(path)
    np.savez(tmp_path / "x.npz", X=np.zeros((1, 1)), y=np.array([object()]))
    with pytest.raises(ReadError, match="holds Python objects"):
        read(tmp_path / "x.npz").to_arrays()
    for wrong in (np.zeros(3), np.zeros((2, 2), complex), np.array([["a"]])):
        np.save(path, wrong)
        with pytest.raises(ReadError, match="two-dimensional array of real numbers"):
            read(path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_sparse_rows_of_an_archive_may_be_out_of_order_and_twice(tmp_path, save):
    parts = {"data": np.array([1.0, 2.0, 4.0, 8.0]), "indices": np.array([2, 0, 1, 1]), "indptr": np.array([0, 2, 4])}
    save(tmp_path / "x.npz", **parts, shape=np.array([2, 3]), y=np.array([0, 1]))
    X, _ = read(tmp_path / "x.npz").to_arrays()
    np.testing.assert_array_equal(X.toarray(), [[2, 0, 1], [0, 12, 0]])


@pytest.mark.filterwarnings("ignore:.*linsep drops:linsep.errors.DataNote")
@pytest.mark.parametrize("name", ["x.npy", "x.npz", "csr.npz"])
def test_missing_values_of_arrays(tmp_path: Path, name: str) -> None:
    X = np.array([[1.0, 2.0, 0.0], [np.nan, 1.0, 1.0], [1.0, 1.0, 1.0]])
    path = tmp_path / name
    if name == "x.npy":
        np.save(path, X)
    elif name == "x.npz":
        np.savez(path, X=X[:, :2], y=X[:, 2])
    else:
        matrix = sp.csr_array(X[:, :2])
        np.savez(path, data=matrix.data, indices=matrix.indices, indptr=matrix.indptr, shape=matrix.shape, y=X[:, 2])
    for block_bytes in (1, 1 << 20):
        with pytest.raises(ReadError, match="row 1, column 0: a missing value"):
            read(path, block_bytes=block_bytes).to_arrays()
        assert read_rows(read(path, missing="zero", block_bytes=block_bytes))[0] == [[1, 2], [0, 1], [1, 1]]
        assert read_rows(read(path, missing="drop", block_bytes=block_bytes)) == ([[1, 2], [1, 1]], [0, 1])


# ---------------------------------------------------------------------------------------------------------------
# Anything at all

GARBAGE = [
    b"\x00", b"\xff\xfe", b"nan", b"1e999", b'"', b"\r\n", b"\n", b",", b":", b"99999999999:1 ", b"1:1 1:1 ",
    "ü\u2028".encode(), b"#", b" ",
]  # fmt: skip


def check(path: Path, **options: Any) -> list[list[float]] | None:
    """Read a file: either rows come out, or one line that names the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # query numbers
        try:
            X, y = read(path, **options).to_arrays()
        except ReadError as error:
            assert str(error).startswith(str(path))  # noqa: PT017
            assert "\n" not in str(error)  # noqa: PT017
            return None
    assert y is None or len(y) == X.shape[0] > 0
    assert np.isfinite(X.data if sp.issparse(X) else X).all()
    return [X.shape, X.sum()]


@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(draw=st.data())
def test_damaged_files_give_rows_or_one_line(data: dict[str, Path], tmp_path: Path, draw: st.DataObject) -> None:
    name = draw.draw(st.sampled_from(sorted(data)))
    content = bytearray(data[name].read_bytes())
    for _ in range(draw.draw(st.integers(1, 3))):
        place = draw.draw(st.integers(0, len(content)))
        what = draw.draw(st.sampled_from(["cut", "flip", "insert", "remove", "repeat"]))
        if what == "cut":
            del content[place:]
        elif what == "flip" and place < len(content):
            content[place] ^= 1 << draw.draw(st.integers(0, 7))
        elif what == "insert":
            content[place:place] = draw.draw(st.sampled_from(GARBAGE) | st.binary(max_size=20))
        elif what == "remove":
            del content[place : place + draw.draw(st.integers(1, 20))]
        else:
            content[place:place] = content[place : place + 30]
    path = tmp_path / f"damaged.{name}"
    path.write_bytes(bytes(content))
    outcome = check(path)
    assert outcome == check(path, block_bytes=draw.draw(st.integers(1, 200)))
    plain = tmp_path / "damaged"  # the format is to be guessed
    plain.write_bytes(bytes(content))
    check(plain)
    assert sorted(os.listdir(tmp_path)) == sorted(
        [*(p.name for p in data.values()), f"damaged.{name}", "damaged"]
        + [p.name for p in tmp_path.glob("damaged.*") if p != path]
    )


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["csv", "tsv", "svm", "parquet", "feather", "npy", "npz", "csv.gz", "svm.zst", "x"]),
    st.binary(max_size=200) | st.text(alphabet='01.,;:"\n\r -+eanq#', max_size=80).map(str.encode),
)
def test_any_bytes_under_any_name(tmp_path: Path, ending: str, content: bytes) -> None:
    path = tmp_path / f"any.{ending}"
    path.write_bytes(content)
    assert check(path) == check(path, block_bytes=7)


@pytest.mark.compiled
def test_a_long_single_line_of_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_bytes(b"1," * (1 << 14) + b"1\n")
    X, _ = read(path).to_arrays()
    assert X.shape == (1, 1 << 14)
    path.write_bytes(b"1," * (5 << 20) + b"1\n")
    with pytest.raises(ReadError, match=r"long\.csv:1: the line has more than 131,072 columns"):
        read(path)
    path.write_bytes(b"a,b\n" + b"x" * (10 << 20) + b",1\n")
    assert read(path).to_arrays()[0].sum() == 1
    path.write_bytes(b"\x00" * (1 << 20))
    assert check(path) is None
