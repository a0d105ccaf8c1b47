import io
import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data import dense
from linsep.data import writing
from linsep.data.read import read

X = np.array([[0.1, -2.0, 1e-300], [5e-324, 1.7976931348623157e308, 0.0], [3.0, -0.5, 123456789.125]])
Y = np.array([1, -1, 1])


@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
@pytest.mark.parametrize("ending", ["csv", "tsv", "svm", "parquet", "arrow", "feather", "npy", "npz"])
def test_rows_come_back_bit_for_bit(tmp_path, ending, packed):
    path = tmp_path / f"rows.{ending}{packed}"
    if packed and ending not in ("csv", "tsv", "svm"):
        with pytest.raises(ValueError, match="compression of its own"):
            writing.format_of(path)
        return
    form = writing.format_of(path)
    with writing.rows(path, form, 3, 3) as put:
        put(X[:2], Y[:2])
        assert not path.exists()  # it appears when it is complete
        put(X[:0], Y[:0])
        put(X[2:], Y[2:])
    assert os.listdir(tmp_path) == [path.name]
    rows, labels = read(path).to_arrays()
    assert dense(rows).tobytes() == X.tobytes()
    assert labels.tolist() == Y.tolist()


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.floats(-10, 10), st.sampled_from([-1, 1])),
        min_size=1,
        max_size=5,
    )
)
def test_libsvm_text_is_what_python_would_write(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "rows.svm"
    with writing.rows(path, "libsvm", len(rows), 2) as put:
        put(np.array([row[:2] for row in rows]), np.array([row[2] for row in rows]))
    lines = path.read_text().split("\n")
    assert lines.pop() == ""
    for line, (a, b, label) in zip(lines, rows, strict=True):
        word, *cells = line.split(" ")
        assert int(word) == label
        written = {int(cell.split(":")[0]): float(cell.split(":")[1]) for cell in cells}
        assert written == {j: value for j, value in ((1, a), (2, b)) if value != 0}


def test_columns_of_all_kinds_and_awkward_words(tmp_path):
    labels = np.array(['a,"b"', "tab\there", "line\nbreak", "ü"], dtype=object)
    columns = {
        "label": labels,
        'sc,"ore"': np.array([0.1, -math.inf, 2.0, 1e300]),
        "mixed": np.array([1, "x", 2.5, True], object),
    }
    import csv

    for name, delimiter in (("out.csv", ","), ("out.tsv", "\t")):
        with writing.columns(tmp_path / name, writing.format_of(name, None, writing.TABLES)) as put:
            put(columns)
        with open(tmp_path / name, newline="") as file:
            header, *rows = csv.reader(file, delimiter=delimiter)
        assert header == list(columns)
        assert [row[0] for row in rows] == labels.tolist()
        assert [float(row[1]) for row in rows] == columns['sc,"ore"'].tolist()
        assert [row[2] for row in rows] == ["1", "x", "2.5", "True"]
    import pyarrow.parquet as pq

    with writing.columns(tmp_path / "out.parquet", "parquet") as put:
        put(columns)
        put(columns)
    assert pq.read_table(tmp_path / "out.parquet").column("label").to_pylist() == 2 * labels.tolist()


def begin_and_stop(path):
    with writing.rows(path, writing.format_of(path), 3, 3) as put:
        put(X[:1], Y[:1])
        raise RuntimeError("stop")


def test_a_failure_leaves_nothing(tmp_path):
    for ending in ("csv", "csv.gz", "csv.zst", "parquet", "arrow", "npy", "npz", "svm"):
        path = tmp_path / f"rows.{ending}"
        with pytest.raises(RuntimeError, match="stop"):
            begin_and_stop(path)
        assert os.listdir(tmp_path) == []


def test_names_that_are_no_format():
    with pytest.raises(ValueError, match=r"'.xyz' is not a format|\.xyz is not a format"):
        writing.format_of("rows.xyz")
    with pytest.raises(ValueError, match="npy is not a format to write here: csv, tsv, parquet, arrow"):
        writing.format_of("labels.npy", None, writing.TABLES)
    assert writing.format_of("anything", "arrow") == "arrow"


def test_standard_output_that_takes_a_part_at_a_time_gets_everything(monkeypatch):
    """As an unbuffered one does when it is a pipe and a signal comes in between."""

    class Sluggish(io.BytesIO):
        def write(self, data):
            return super().write(data[:7])

    class Out:
        buffer = Sluggish()

    monkeypatch.setattr("sys.stdout", Out)
    with writing.rows("-", "csv", 3, 3) as put:
        put(X, Y)
    assert Out.buffer.getvalue().decode().count("\n") == 4
    assert np.array_equal(np.loadtxt(io.BytesIO(Out.buffer.getvalue()), delimiter=",", skiprows=1)[:, :3], X)
