"""``errors --out`` and ``--relabel`` change the rows and labels that they name, and nothing else of a table."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from data import few

TABLES = ("csv", "csv.gz", "tsv", "parquet", "feather")
WAYS = {  # options of a reading
    "plain": [],
    "drop": ["--missing", "drop"],
    "zero": ["--missing", "zero"],
    "indicator": ["--missing", "indicator"],
    "words": ["--missing", "drop", "--categorical", "group"],
    "hashed": ["--missing", "drop", "--hash-bits", "4"],
    "ignored": ["--missing", "drop", "--ignore", "a"],
    "index": ["--missing", "drop", "--keep-index", "--ignore", "Name, first"],
}
LABELS = {"integers": [0, 1], "truth": [False, True], "words": ["", "x"], "words 2": ["no", "yes"], "signs": [-1, 1]}


def frame_of(labels: list[Any], gaps: bool, seed: int = 0) -> pd.DataFrame:
    """Return a table of which some labels stand in the way, the label in its middle."""
    rng = np.random.default_rng(seed)
    n = 30
    a, group = rng.integers(0, 9, n), rng.choice(["u", "v"], n)
    y = (a > 4).astype(int)
    y[[3, 11]] = 1 - y[[3, 11]]
    frame = pd.DataFrame({
        "patient id": rng.permutation(1000)[:n],
        "a": pd.array(a, dtype="Int64"),
        "y": [labels[c] for c in y],
        "group": group,
        "Name, first": [f"person {i}" for i in range(n)],
        "weight": rng.integers(0, 100, n) / 4,
    })  # fmt: skip
    if gaps:
        frame.loc[[0, 7, 20], "a"] = pd.NA
    return frame


def write(frame: pd.DataFrame, path: str) -> None:
    if path.endswith("parquet"):
        frame.to_parquet(path, index=False)
    elif path.endswith("feather"):
        frame.to_feather(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path else ",")


def cells(path: str) -> list[list[str]]:
    """Return the cells of a text, by plain means."""
    data = Path(path).read_bytes()
    text = (gzip.decompress(data) if path.endswith("gz") else data).decode()
    return list(csv.reader(io.StringIO(text, newline=""), delimiter="\t" if ".tsv" in path else ","))


def arrow(path: str) -> pa.Table:
    return pq.read_table(path) if path.endswith("parquet") else pa.ipc.open_file(path).read_all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", few(TABLES, 3))
def test_a_table_stays_as_it_is_but_for_the_rows_that_are_wrong(form: str, way: str, run: Any) -> None:
    path, out, relabel = f"rows.{form}", f"out.{form}", f"relabel.{form}"
    write(frame_of(["no", "yes"], gaps=way != "plain"), path)
    command = ["errors", path, "--target", "y", "--json", "--out", out, "--relabel", relabel, *WAYS[way]]
    code, text, err = run(*command)
    assert code in (0, 1), err
    found = json.loads(text)
    wrong = {each["row"]: each["other"] for each in found["wrong"]}
    assert wrong
    if form in ("parquet", "feather"):
        before, after, other = arrow(path), arrow(out), arrow(relabel)
        assert after.schema == other.schema == before.schema
        assert after.to_pylist() == [row for i, row in enumerate(before.to_pylist()) if i not in wrong]
        assert other.to_pylist() == [
            row | ({"y": wrong[i]} if i in wrong else {}) for i, row in enumerate(before.to_pylist())
        ]
    else:
        head, *before = cells(path)
        assert cells(out) == [head, *(row for i, row in enumerate(before) if i not in wrong)]
        assert cells(relabel) == [head, *([*row[:2], wrong.get(i, row[2]), *row[3:]] for i, row in enumerate(before))]
    for mended in (out, relabel):  # the rest is separable, read in the same way
        code, text, err = run("errors", mended, "--target", "y", "--json", *WAYS[way])
        assert code == 0, err
        assert json.loads(text)["upper"] == 0


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("form", ["csv", "parquet", "feather", "npz", "npy", "svm"])
@pytest.mark.parametrize("flip", [False, True])
def test_every_label_can_be_given_also_one_that_is_false(form: str, labels: list[Any], flip: bool, run: Any) -> None:
    if isinstance(labels[0], str) and (
        form in ("npy", "svm") or (labels[0] == "" and form != "parquet" and form != "feather")
    ):
        return  # an empty cell of a text is no label, and these hold numbers
    labels = labels[::-1] if flip else labels
    frame = frame_of(labels, gaps=False).drop(columns=["group", "Name, first"])
    path, out = f"rows.{form}", f"relabel.{form}"
    X, y = frame[["a", "weight"]].to_numpy(float), frame["y"].to_numpy()
    if form == "npz":
        y = y.astype(str) if isinstance(labels[0], str) else y
        np.savez(path, X=X, y=y, names=np.array(["a", "weight"]))
    elif form == "npy":
        np.save(path, np.column_stack((X, y.astype(float))))
    elif form == "svm":
        Path(path).write_text("".join(f"{int(c)} 1:{r[0]} 2:{r[1]}\n" for r, c in zip(X, y, strict=True)))
    else:
        write(frame, path)
    target = ["--target", "y"] if form in ("csv", "parquet", "feather") else []
    code, text, err = run("errors", path, *target, "--json", "--relabel", out)
    assert code == 0, err
    wrong = {each["row"]: each["other"] for each in json.loads(text)["wrong"]}
    assert set(wrong) == {3, 11}
    if form == "csv" and isinstance(labels[0], bool):
        wrong = {row: label == "True" for row, label in wrong.items()}  # a text has words
    expected = [wrong.get(i, label) for i, label in enumerate(y.tolist())]
    assert set(expected) == set(labels)
    if form == "npz":
        with np.load(out) as after:
            assert after["y"].dtype == y.dtype
            assert after["y"].tolist() == expected
            assert after["X"].tolist() == X.tolist()
            assert after["names"].tolist() == ["a", "weight"]
    elif form == "npy":
        assert np.load(out)[:, -1].tolist() == list(map(float, expected))
    elif form == "svm":
        assert [line.split()[0] for line in Path(out).read_text().splitlines()] == [str(int(each)) for each in expected]
    elif form == "csv":
        assert [row[2] for row in cells(out)[1:]] == list(map(str, expected))
    else:
        assert arrow(out).column("y").to_pylist() == expected
        assert arrow(out).schema == arrow(path).schema
    assert json.loads(run("errors", out, *target, "--json")[1])["upper"] == 0


def test_text_keeps_its_delimiter_its_encoding_and_its_spelling(run: Any) -> None:
    text = "größe;Ort;Klasse\n1,5;Köln;+1\n2,5;Ulm;+1\n3,5;Ulm;-1\n4,5;Köln;+1\n5,5;Ulm;-1\n6,5;Ulm;-1\n7,5;Ulm;-1\n"
    Path("rows.csv").write_bytes(text.encode("latin-1"))
    given = ["--encoding", "latin-1", "--ignore", "Ort"]
    code, out, err = run("errors", "rows.csv", *given, "--json", "--relabel", "r.csv", "--out", "o.csv.gz")
    assert code == 0, err
    (wrong,) = json.loads(out)["wrong"]
    lines = text.splitlines()
    line = lines[wrong["line"] - 1]
    new = line.replace("+1", "-1") if line.endswith("+1") else line.replace("-1", "+1")
    assert Path("r.csv").read_bytes().decode("latin-1").splitlines() == [
        each if each != line else new for each in lines
    ]
    left = gzip.decompress(Path("o.csv.gz").read_bytes()).decode("latin-1").splitlines()
    assert left == [each for each in lines if each != line]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le", "utf-8-sig"])
@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_text_with_a_mark_is_read_again(encoding: str, ending: str, run: Any) -> None:
    """What ``errors`` writes of a text that begins with a byte order mark has the same rows, and is read as it was."""
    text = "größe,y\n" + "".join(f"{i},{'+1' if i in (3, 7, 8) else '-1'}\n" for i in range(9))
    mark = "\ufeff" if encoding in ("utf-16-be", "utf-16-le") else ""
    Path("rows.csv").write_bytes((mark + text).encode(encoding))
    out, relabeled = f"o.csv{ending}", f"r.csv{ending}"
    code, found, err = run("errors", "rows.csv", "--json", "--out", out, "--relabel", relabeled)
    assert code == 0, err
    (wrong,) = json.loads(found)["wrong"]
    for path, rows in ((out, 8), (relabeled, 9)):
        code, found, err = run("errors", path, "--json")
        assert code == 0, err
        assert (json.loads(found)["rows"], json.loads(found)["upper"]) == (rows, 0)
    if not ending and encoding != "utf-8-sig":
        lines = Path(out).read_bytes().decode("utf-16").splitlines()
        assert lines == [line for number, line in enumerate(text.splitlines(), 1) if number != wrong["line"]]


def test_a_text_becomes_a_table_with_names_and_types(run: Any) -> None:
    write(frame_of(["no", "yes"], gaps=True), "rows.csv")
    found = json.loads(
        run("errors", "rows.csv", "--target", "y", "--missing", "drop", "--json", "--out", "o.parquet")[1]
    )
    wrong = {each["row"] for each in found["wrong"]}
    expected = pd.read_csv("rows.csv").drop(index=sorted(wrong)).reset_index(drop=True)
    after = arrow("o.parquet")
    assert after.column_names == list(expected.columns)
    kinds = [str(kind) for kind in after.schema.types]
    assert kinds == ["int64", "int64", "string", "string", "string", "double"]
    pd.testing.assert_frame_equal(after.to_pandas(), expected, check_dtype=False)


def test_a_typed_table_becomes_a_text(run: Any) -> None:
    frame = frame_of(["no", "yes"], gaps=True)
    frame["y"] = frame["y"].astype("category")
    write(frame, "rows.parquet")
    found = json.loads(
        run("errors", "rows.parquet", "--target", "y", "--missing", "drop", "--json", "--relabel", "r.csv")[1]
    )
    frame["y"] = frame["y"].astype(str)
    for each in found["wrong"]:
        frame.loc[each["row"], "y"] = each["other"]
    pd.testing.assert_frame_equal(pd.read_csv("r.csv"), frame, check_dtype=False)
    run("errors", "rows.parquet", "--target", "y", "--missing", "drop", "--relabel", "r.parquet", "--quiet")
    assert pa.types.is_dictionary(arrow("r.parquet").schema.field("y").type)


def test_libsvm_text_keeps_its_lines(run: Any) -> None:
    lines = [
        "# made by hand",
        "+1 0:1 2:5 # a remark",
        "",
        "  +1 0:2",
        "-1 0:3",
        "+1 0:4",
        "-1 0:5",
        "-1 0:6 2:nan",
        "-1 0:7",
    ]
    Path("rows.svm").write_text("\n".join(lines) + "\n")
    found = json.loads(
        run(
            "errors", "rows.svm", "--zero-based", "--missing", "drop", "--json", "--out", "o.svm", "--relabel", "r.svm"
        )[1]
    )
    (wrong,) = found["wrong"]
    line = lines[wrong["line"] - 1]
    assert Path("o.svm").read_text().splitlines() == [each for each in lines if each != line]
    new = line.replace("+1", "-1") if "+1" in line else line.replace("-1", "+1")
    assert Path("r.svm").read_text().splitlines() == [each if each != line else new for each in lines]


@pytest.mark.parametrize("target", [0, 1, 2])
def test_an_array_keeps_its_type_and_the_place_of_its_label(target: int, run: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (30, 2))
    y = (X[:, 0] > 4).astype(int)
    y[[3, 11]] = 1 - y[[3, 11]]
    whole = np.insert(X, target, y, axis=1).astype(np.int16)
    np.save("rows.npy", whole)
    given = ["--target", str(target), "--json", "--out", "o.npy", "--relabel", "r.npy"]
    wrong = [each["row"] for each in json.loads(run("errors", "rows.npy", *given)[1])["wrong"]]
    assert sorted(wrong) == [3, 11]
    out, relabel = np.load("o.npy"), np.load("r.npy")
    assert out.dtype == relabel.dtype == whole.dtype
    assert out.tolist() == np.delete(whole, wrong, axis=0).tolist()
    whole[wrong, target] = 1 - whole[wrong, target]
    assert relabel.tolist() == whole.tolist()


def test_sparse_arrays_stay_sparse(run: Any) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 9, 30)
    y = (a > 4).astype(int)
    y[3] = 1 - y[3]
    X = sp.csr_array(np.column_stack((a, np.zeros((30, 5)))).astype(np.float32))
    np.savez("rows.npz", data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)
    assert [e["row"] for e in json.loads(run("errors", "rows.npz", "--json", "--out", "o.npz")[1])["wrong"]] == [3]
    with np.load("o.npz") as after:
        found = sp.csr_array((after["data"], after["indices"], after["indptr"]), shape=tuple(after["shape"]))
        assert found.dtype == np.float32
        assert (found.toarray() == np.delete(X.toarray(), 3, axis=0)).all()
        assert after["y"].tolist() == np.delete(y, 3).tolist()


def test_words_do_not_fit_into_arrays(run: Any) -> None:
    write(frame_of(["no", "yes"], gaps=False), "rows.csv")
    for out in ("o.npy", "o.svm"):
        code, _, err = run("errors", "rows.csv", "--target", "y", "--out", out)
        assert code == 2
        assert len(err.strip().splitlines()[-1:]) == 1
        assert "the labels are words" in err
        assert not Path(out).exists()


def test_columns_of_several_files_stay_in_their_places(run: Any) -> None:
    Path("p1.csv").write_text("id,x,y\n7,1,a\n8,2,a\n9,8,a\n")
    Path("p2.csv").write_text("y,id,x\nb,1,7\nb,2,9\nb,3,10\n")
    found = json.loads(run("errors", "p1.csv", "p2.csv", "--json", "--out", "o.csv")[1])
    rows = [["7", "1", "a"], ["8", "2", "a"], ["9", "8", "a"], ["1", "7", "b"], ["2", "9", "b"], ["3", "10", "b"]]
    wrong = {each["row"] for each in found["wrong"]}
    assert cells("o.csv") == [["id", "x", "y"], *(row for i, row in enumerate(rows) if i not in wrong)]
