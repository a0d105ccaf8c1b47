"""Tables that look like something else: other formats, columns that only name the rows, scaling beside words, times."""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import pickle
import re
import signal
import sqlite3
import threading
import warnings
import zipfile
from datetime import datetime, time, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.exceptions import ConvergenceWarning

from data import dense, noted
from javascript import answered_of_files
from linsep import Perceptron, audit, fewest_errors, fit_source, read, separate
from linsep.clock import Clock, OutOfTime
from linsep.errors import DataNote, ReadError
from linsep.prove.fewest import results
from linsep.prove.numbers.cells import cells

RECORDS = [{"bill": 39.1 + i, "island": "Biscoe" if i % 2 else "Dream", "species": "ab"[i % 2]} for i in range(12)]


def _sqlite() -> bytes:
    with sqlite3.connect(":memory:") as base:
        base.execute("create table t (x real, y text)")
        return base.serialize()


def _xlsx() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return file.getvalue()


def _zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("rows.csv", "x,y\n1,a\n2,b\n")
    return file.getvalue()


LINES = "".join(json.dumps(record) + "\n" for record in RECORDS).encode()
LISTS = "".join(json.dumps(list(record.values())) + "\n" for record in RECORDS).encode()
COLUMNS = {name: [record[name] for record in RECORDS] for name in RECORDS[0]}
PAGE = b"<table border=1><tr><th>x</th><th>y</th></tr><tr><td>1</td><td>a</td></tr></table>\n"
OTHERS = {  # what a file holds: the name of its format, and the usual endings
    "lines": (LINES, "JSON Lines", ("csv",)),
    "tight lines": (LINES.replace(b": ", b":").replace(b", ", b","), "JSON Lines", ("csv",)),
    "lists": (LISTS, "JSON Lines", ("csv", "")),
    "records": (json.dumps(RECORDS).encode(), "JSON", ("json", "csv", "")),
    "indented": (json.dumps(RECORDS, indent=2).encode(), "JSON", ("json", "csv")),
    "columns": (json.dumps(COLUMNS, indent=1).encode(), "JSON", ("json",)),
    "one object": (json.dumps(COLUMNS).encode(), "JSON", ("json",)),
    "page": (b"<!DOCTYPE html>\n<html><body>" + PAGE, "HTML", ("html", "csv", "")),
    "table": (PAGE, "HTML", ("html", "htm")),
    "xml": (b'<?xml version="1.0"?>\n<data><row x="1"/></data>\n', "XML", ("xml", "csv")),
    "excel": (_xlsx(), "Excel", ("xlsx", "csv", "")),
    "old excel": (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "Excel", ("xls", "csv")),
    "base": (_sqlite(), "SQLite", ("db", "sqlite", "csv", "")),
    "pickle": (pickle.dumps(COLUMNS), "a pickle", ("pkl", "csv", "")),
    "pickle 2": (pickle.dumps(COLUMNS, protocol=2), "a pickle", ("pickle",)),
    "archive": (_zipped(), "a zip archive", ("zip", "csv")),
}


def other_files() -> list[Any]:
    return [
        pytest.param(content, name, ending, id=f"{kind}-{ending or 'none'}")
        for kind, (content, name, endings) in OTHERS.items()
        for ending in endings
    ]


@pytest.mark.parametrize(("content", "name", "ending"), other_files())
def test_other_formats_are_refused_by_name_in_one_line(content: bytes, name: str, ending: str, run: Any) -> None:
    path = f"data.{ending}" if ending else "data"
    with open(path, "wb") as file:
        file.write(content)
    for command in (
        ["separate", path],
        ["fit", path, "--model", "m.model"],
        ["regression", path, "--target", "species"],
    ):
        code, out, err = run(*command)
        assert (code, out) == (2, ""), command
        assert len(err.splitlines()) == 1
        assert path in err
        assert f"is {name}" in err, err
        assert "CSV" in err  # what to do


@pytest.mark.parametrize("kind", ["lists", "records", "page", "base", "pickle"])
def test_streams_and_compressed_files_are_refused_too(kind: str, tmp_path: Any) -> None:
    content, name, _ = OTHERS[kind]
    with pytest.raises(ReadError, match=f"is {name}"):
        read(io.BytesIO(content))
    with pytest.raises(ReadError, match=f"is {name}"):
        read(io.BytesIO(content), format="csv")
    path = tmp_path / "data.gz"
    path.write_bytes(gzip.compress(content))
    with pytest.raises(ReadError, match=f"is {name}"):
        read(path)


@pytest.mark.parametrize("content", [LINES, b"\n  " + LINES, b"\xef\xbb\xbf" + LINES], ids=["plain", "blank", "marked"])
def test_json_lines_are_a_table(content: bytes, run: Any) -> None:
    for name in ("data.jsonl", "data.ndjson", "data.json", "data"):
        with open(name, "wb") as file:
            file.write(content)
        assert run("separate", name)[0] in (0, 1)
        assert run("regression", name, "--target", "species")[0] in (0, 1)


def test_the_second_of_several_files_is_refused_too(tmp_path: Any) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,b\n")
    (tmp_path / "b.csv").write_bytes(LINES)
    with pytest.raises(ReadError, match=r"b\.csv: is JSON Lines"):
        read([tmp_path / "a.csv", tmp_path / "b.csv"]).to_arrays()


# ---------------------------------------------------------------------------------------------------------------
# Columns that only name the rows

ROW_NAMES = (
    "", "Unnamed: 0", "Unnamed: 0.1", "index", "Index", "id", "ID", "Id", "rownames", "row.names", "row_id",
    "patient_id", "PassengerId", "customerKey", "key", "ID number", "id_patient", "orderID", "userid", "record-key",
    "uid", "__index_level_0__", "level_0",
)  # fmt: skip
NO_ROW_NAMES = ("paid", "grid", "x", "keys pressed", "idea", "monkey", "bid", "acid", "index of prices", "identity")


def shuffled(n: int = 30, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).permutation(10 * n)[:n].tolist()  # as train_test_split leaves an index


def table_of(name: str, numbers: list[int], place: int = 0) -> str:
    rows = [[str(v), "ab"[i % 2]] for i, v in enumerate(np.random.default_rng(1).integers(0, 9, len(numbers)))]
    for row, number in zip(rows, numbers, strict=True):
        row.insert(place, str(number))
    head = ["v", "y"]
    head.insert(place, name)
    return "\n".join(",".join(row) for row in [head, *rows]) + "\n"


@pytest.mark.parametrize("name", ROW_NAMES)
@pytest.mark.parametrize("place", [0, 1])
def test_a_column_that_only_names_the_rows_is_left_out(name: str, place: int) -> None:
    text = table_of(name, shuffled(), place)
    source, (note,) = noted(text)
    assert source.names == ["v"]
    assert f"leaves out column {name!r}" in note
    assert "keep_index=True keeps it" in note
    for options in ({"keep_index": True}, {"numeric": [name] if name else [place]}):
        source, notes = noted(text, **options)
        assert sorted(source.names) == sorted([name, "v"])
        assert not notes


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        *((name, shuffled()) for name in NO_ROW_NAMES),
        ("id", [1, 1, 2, 2, 3, 3] * 5),
        ("id", [k / 4 for k in range(30)]),
    ],
)
def test_other_columns_stay(name: str, numbers: Any) -> None:
    """Of distinct integers under other names, and of numbers that do not name single rows."""
    source, notes = noted(table_of(name, numbers))
    assert source.names == [name, "v"]
    assert not notes


def test_long_ids_are_left_out() -> None:
    assert noted(table_of("id", [10**18 + 7 * k for k in range(30)]))[0].names == ["v"]


@pytest.mark.parametrize("form", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("index", [None, "patient", "id"])
def test_an_index_that_pandas_wrote_is_no_feature(form: str, index: str | None, tmp_path: Any) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"v": rng.integers(0, 9, 40), "y": rng.choice(["a", "b"], 40)}, index=shuffled(40))
    frame.index.name = index
    path = tmp_path / f"rows.{form}"
    if form == "csv":
        if index == "patient":
            return  # nothing in a text says that this is an index
        frame.to_csv(path)
    elif form == "parquet":
        frame.to_parquet(path)
    else:
        with pa.ipc.new_file(path, pa.Table.from_pandas(frame).schema) as file:
            file.write_table(pa.Table.from_pandas(frame))
    source, (note,) = noted(path)
    assert source.names == ["v"]
    assert "keep_index=True" in note
    assert len(noted(path, keep_index=True)[0].names) == 2


def test_the_index_decides_nothing(run: Any) -> None:
    """Rows of noise stay inseparable, whatever their order; the numbers of the rows would separate them."""
    rng = np.random.default_rng(5)
    y = np.repeat(["a", "b"], 20)
    frame = pd.DataFrame({"v": rng.integers(0, 3, 40), "y": y}, index=np.arange(40) + 100)
    frame.to_csv("rows.csv")
    assert run("separate", "rows.csv", "--json", "--no-margin")[0] == 1
    code, out, _ = run("regression", "rows.csv", "--target", "y", "--json")
    assert code == 0
    found = json.loads(out)
    assert [each["name"] for each in found["coefficients"]] == ["Intercept", "v"]
    assert any("leaves out column ''" in note and "--keep-index" in note for note in found["notes"])
    code, out, _ = run("regression", "rows.csv", "--target", "y", "--json", "--keep-index")
    assert code == 1
    assert [each["name"] for each in json.loads(out)["coefficients"]] == ["Intercept", "", "v"]


# ---------------------------------------------------------------------------------------------------------------
# Scaling beside words


def far_table(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Rows that a plane separates, far from the origin, with words beside the numbers, and some zeros among these."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return pd.DataFrame({
        "mass": 4000 + 300 * y + rng.integers(-100, 100, n),
        "island": rng.choice(["Biscoe", "Dream", "Torgersen"], n),
        "year": 2008.5 + rng.integers(-1, 2, n),
        "eggs": rng.integers(0, 3, n),
        "sex": rng.choice(["f", "m"], n),
        "species": np.where(y == 1, "a", "b"),
    })  # fmt: skip


def standardized(frame: pd.DataFrame, center: bool = True) -> tuple[Any, list[str], Any, Any]:
    """Return the same rows by plain means: numbers with mean 0 and deviation 1, words as 0/1 over their deviation."""
    numbers = [name for name in frame.columns[:-1] if frame[name].dtype.kind in "if"]
    columns = {name: frame[name].to_numpy(float) for name in numbers}
    seen: dict[str, None] = {}
    for _, row in frame.iterrows():
        for name in frame.columns[:-1]:
            if name not in numbers:
                seen[f"{name}={row[name]}"] = None
    for each in seen:
        name, _, word = each.partition("=")
        columns[each] = (frame[name] == word).to_numpy(float)
    names = list(columns)
    X = np.column_stack([columns[name] for name in names])
    shift = np.array([columns[name].mean() if center and name in numbers else 0.0 for name in names])
    deviation = X.std(axis=0)
    return (X - shift) / deviation, names, shift, deviation


@pytest.mark.parametrize("block_bytes", [1 << 22, 300])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_standard_scaling_centers_numbers_beside_words(form: str, block_bytes: int, tmp_path: Any) -> None:
    frame = far_table()
    path = tmp_path / f"rows.{form}"
    frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path, index=False)
    model = fit_source(Perceptron(shuffle=False), read(path, block_bytes=block_bytes), scale="standard")
    assert model.stop_reason_ == "separated"
    assert model.training_errors_ == 0
    X, names, shift, deviation = standardized(frame)
    plain = Perceptron(shuffle=False).fit(X, frame["species"])
    assert list(model.feature_names_in_) == names
    assert model.mistakes_ == plain.mistakes_
    assert model.trace_.tolist() == plain.trace_.tolist()
    w = plain.coef_ / deviation
    np.testing.assert_allclose(model.coef_, w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, plain.intercept_ - w @ shift, rtol=1e-9)
    raw = pd.DataFrame(X * deviation + shift, columns=names)  # the model is one for rows as they are in the file
    np.testing.assert_allclose(model.decision_function(raw), plain.decision_function(X), rtol=1e-6, atol=1e-6)
    assert audit(model, raw, frame["species"]).holds
    assert (model.predict(raw) == frame["species"]).all()


@pytest.mark.parametrize("words", [False, True])
def test_without_an_offset_nothing_is_centered_and_a_note_says_so(words: bool, tmp_path: Any) -> None:
    frame = far_table() if words else far_table().drop(columns=["island", "sex"])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = Perceptron(shuffle=False, fit_intercept=False, max_iter=3)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        fit_source(model, read(tmp_path / "rows.csv"), scale="standard")
    (note,) = [str(note.message) for note in notes if note.category is DataNote]
    assert re.search(r"does not center.*fit_intercept=True", note)
    assert (model.intercept_ == 0).all()
    X, _, _, deviation = standardized(frame, center=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = Perceptron(shuffle=False, fit_intercept=False, max_iter=3).fit(X, frame["species"])
    np.testing.assert_allclose(model.coef_, plain.coef_ / deviation, rtol=1e-9, atol=1e-12)


def test_a_run_goes_on_from_weights_of_a_scaled_run(tmp_path: Any) -> None:
    frame = far_table(seed=2)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    model = fit_source(Perceptron(shuffle=False), read(tmp_path / "rows.csv"), scale="standard")
    before = model.coef_.copy(), model.intercept_.copy()
    model.set_params(warm_start=True)
    fit_source(model, read(tmp_path / "rows.csv"), scale="standard")
    assert model.mistakes_ == 0  # in the units of training, these weights still separate
    np.testing.assert_allclose(model.coef_, before[0], rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, before[1], rtol=1e-9)


# ---------------------------------------------------------------------------------------------------------------
# Times of day, and the clock of exact searches


def times(form: str, n: int, seed: int = 0) -> list[time]:
    rng = np.random.default_rng(seed)
    found = [
        (datetime(2000, 1, 1) + timedelta(microseconds=int(us))).time() for us in rng.integers(0, 86_400 * 10**6, n)
    ]
    if form.endswith("%f"):
        return found
    return [each.replace(microsecond=0, second=each.second if "%S" in form else 0) for each in found]


def seconds(moment: time) -> Fraction:
    return moment.hour * 3600 + moment.minute * 60 + moment.second + Fraction(moment.microsecond, 10**6)


def time_table(form: str, n: int = 60) -> tuple[str, list[time], list[str]]:
    start, y = times(form, n), np.random.default_rng(1).choice(["a", "b"], n).tolist()
    lines = [
        f"{moment.strftime(form)},{i % 7},{label}\n" for i, (moment, label) in enumerate(zip(start, y, strict=True))
    ]
    return "start,x,y\n" + "".join(lines), start, y


@pytest.mark.parametrize("form", ["%H:%M", "%H:%M:%S", "%H:%M:%S.%f"])
def test_times_of_day_count_seconds(form: str) -> None:
    text, start, _ = time_table(form)
    with pytest.warns(DataNote, match="holds times of day, written as .*: read as seconds since midnight"):
        X, _ = read(io.BytesIO(text.encode()), format="csv").to_arrays()
    assert X[:, 0].tolist() == [float(seconds(moment)) for moment in start]
    assert form.endswith("%f") or (X.astype(int) == X).all()


@pytest.mark.parametrize("kind", [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")])
def test_times_of_day_of_a_typed_table_are_those_of_a_text(kind: Any, tmp_path: Any) -> None:
    text, start, y = time_table("%H:%M:%S")
    path = tmp_path / "rows.parquet"
    moments = pa.array(start, pa.time64("us")).cast(kind)
    pq.write_table(pa.table({"start": moments, "x": [i % 7 for i in range(len(y))], "y": y}), path)
    with pytest.warns(DataNote, match="times of day: read as seconds since midnight"):
        typed, _ = read(path).to_arrays()
    with pytest.warns(DataNote, match="times of day"):
        plain, _ = read(io.BytesIO(text.encode()), format="csv").to_arrays()
    assert typed.tolist() == plain.tolist()


@pytest.mark.parametrize("form", ["%H:%M", "%H:%M:%S", "%H:%M:%S.%f"])
def test_proofs_about_times_of_day_are_checked_everywhere(form: str, run: Any) -> None:
    text, start, y = time_table(form)
    Path("rows.csv").write_text(text)
    proofs = []
    for command in (["separate", "rows.csv"], ["regression", "rows.csv", "--target", "y"]):
        code, out, err = run(*command, "--json", "--proof", "p.json")
        assert code in (0, 1), err
        for plain in ([], ["--plain"]):
            assert run("verify", "p.json", "rows.csv", *plain)[0] == 0
        proofs.append((Path("p.json").read_text(), text.encode()))
        if command[0] == "separate":  # the refutation, by its definition
            total = [Fraction(0)] * 3
            for each in json.loads(out)["refutation"]:
                i, sign = each["row"], 1 if each["label"] == "b" else -1
                row = (seconds(start[i]), Fraction(i % 7), Fraction(1))
                assert each["label"] == y[i]
                total = [t + sign * Fraction(each["multiplier"]) * v for t, v in zip(total, row, strict=True)]
            assert total == [0, 0, 0]
        else:
            assert "seconds since midnight" in " ".join(json.loads(out)["notes"])
    assert [holds for holds, _ in answered_of_files(proofs)] == [None, None]  # pages read numbers and words only
    other = text.replace(start[5].strftime(form), start[6].strftime(form))
    Path("other.csv").write_text(other)
    Path("p.json").write_text(proofs[0][0])
    assert run("verify", "p.json", "other.csv", "--plain")[0] == 1


def test_a_model_reads_times_in_its_own_unit(run: Any) -> None:
    _, start, y = time_table("%H:%M:%S")
    rows = [f"{moment},{i % 7},{'late' if moment.hour >= 12 else 'early'}\n" for i, moment in enumerate(start)]
    Path("rows.csv").write_text("start,x,y\n" + "".join(rows))
    run("fit", "rows.csv", "--scale", "standard", "--model", "m", "--quiet")
    assert json.loads(run("score", "m", "rows.csv", "--json")[1])["errors"] == 0
    frame = pd.DataFrame({"start": start, "x": [i % 7 for i in range(len(y))]})
    frame["y"] = ["late" if moment.hour >= 12 else "early" for moment in start]
    frame.to_parquet("rows.parquet", index=False)
    assert json.loads(run("score", "m", "rows.parquet", "--json")[1])["errors"] == 0


def stamps(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Return moments in days, whose decimals have 16 digits and more, and labels."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 10**9, (n, 2)) / 86400 + 19000, rng.choice(["a", "b"], n)


def test_the_clock_is_asked_while_numbers_become_exact() -> None:
    X, y = stamps(200)
    with pytest.raises(OutOfTime):
        cells(X, "decimal", offset=True, clock=Clock(0))
    with pytest.raises(OutOfTime):
        cells(np.array([[Fraction(1, 3)], [Fraction(2, 7)]]), "binary", offset=True, clock=Clock(0))
    verdict = separate(X, y, values="decimal", time_limit=0)
    assert verdict.kind == "unknown"
    known = fewest_errors(X, y, values="decimal", time_limit=0)
    assert (known.lower, known.upper) == (0, min(np.unique(y, return_counts=True)[1]))
    assert known.check(X, y)
    assert fewest_errors(X, y, values="decimal", time_limit=0, fit_intercept=False).check(X, y)


def test_long_decimals_are_the_same_integers_as_fractions_make_them() -> None:
    rng = np.random.default_rng(3)
    for X in (
        stamps(50)[0],
        rng.normal(size=(50, 2)),
        rng.integers(0, 9, (50, 2)) / 8 + 1e15,
        np.array([[5e-324], [1e-5]]),
    ):
        found = cells(X, "decimal", offset=True)
        exact = [[Fraction(repr(value)) for value in row] for row in X.tolist()]
        columns = list(zip(*exact, strict=True))
        if found is None:
            sizes = [max(abs(v) for v in column) * math.lcm(*(v.denominator for v in column)) for column in columns]
            assert max(sizes) >= 2**62
            continue
        scale, shift = found.scales, found.shifts
        back = [[Fraction(v) / scale[j] + shift[j] for j, v in enumerate(row)] for row in found.rows.data.tolist()]
        assert back == exact


def test_ctrl_c_returns_bounds_while_numbers_become_exact(monkeypatch: Any) -> None:
    """A signal that comes in the exact phase ends the search with what is known."""
    X, y = stamps(300)
    checked = Clock.check
    asked: list[int] = []

    def check(clock: Any) -> None:
        if threading.current_thread() is threading.main_thread():  # others may still end what tests before began
            asked.append(0)
            if len(asked) == 2:
                os.kill(os.getpid(), signal.SIGINT)
        checked(clock)

    monkeypatch.setattr(Clock, "check", check)
    known = fewest_errors(X, y, values="decimal")
    assert known.lower == 0
    assert known.upper == min(np.unique(y, return_counts=True)[1])


@pytest.mark.filterwarnings("ignore:the numbers have more digits")
def test_a_second_search_gets_only_the_time_that_is_left(run: Any, monkeypatch: Any) -> None:
    """Numbers of too many digits are searched again as doubles, within the same limit."""
    Path("rows.csv").write_text("x,y\n" + "".join(f"0.{k}{'7' * 40},{'ab'[k % 2]}\n" for k in range(10, 20)))
    limits = []
    search = results.fewest_errors

    def noted(*given: Any, **options: Any) -> Any:
        limits.append(options["time_limit"])
        return search(*given, **options)

    monkeypatch.setattr(results, "fewest_errors", noted)
    code, out, _ = run("errors", "rows.csv", "--time-limit", "2", "--json")
    assert code in (0, 1)
    assert json.loads(out)["values"] == "binary"
    assert 2 > limits[0] > limits[1] > 0  # reading counts, too


# ---------------------------------------------------------------------------------------------------------------
# Columns without names, as pandas numbers them


def _numbered_frames() -> dict[str, tuple[pd.DataFrame, dict[str, Any]]]:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    plain, words = pd.DataFrame(X), np.array(["no", "yes"])[y]
    return {
        "words": (plain.assign(y=words), {"index": False}),
        "words and index": (plain.assign(y=words), {"index": True}),
        "numbers": (plain.assign(y=y), {"index": False}),
        "numbers and index": (plain.assign(y=y), {"index": True}),
        "no names": (pd.DataFrame(np.column_stack([X, y])), {"index": False}),
        "no names, index": (pd.DataFrame(np.column_stack([X, y])), {"index": True}),
        "one column": (pd.DataFrame(X[:, :1]).assign(y=words), {"index": False}),
        "label first": (plain.assign(y=y)[["y", 0, 1, 2]], {"index": False}),
        "integers": (pd.DataFrame(rng.integers(5, 9, size=(30, 3))).assign(y=words), {"index": False}),
    }


@pytest.mark.parametrize("case", _numbered_frames())
def test_numbered_columns_of_pandas_are_a_header(case: str, tmp_path: Path) -> None:
    """The file has as many rows, the labels and the cells of the frame; one note says how to read it otherwise."""
    frame, options = _numbered_frames()[case]
    path = tmp_path / "t.csv"
    frame.to_csv(path, **options)
    target = "y" if "y" in frame else str(frame.columns[-1])
    source, notes = noted(path, target=target)
    assert sum("first row as the names of columns" in note for note in notes) == 1
    X, labels = source.to_arrays()
    wanted = frame.loc[:, [column for column in frame if str(column) != target]]
    assert np.array_equal(X, wanted.to_numpy())
    assert [str(label) for label in labels] == [
        str(value) for value in frame.iloc[:, [str(name) for name in frame].index(target)]
    ]


def _measured(names: str, n: int = 12) -> tuple[list[str], list[list[str]]]:
    """Return a header and rows: a column named y or region has labels, country different words, others numbers."""

    def cell(name: str, i: int) -> str:
        if name == "y":
            return "yn"[i % 2]
        return {"region": "EAWS"[i % 4], "country": f"c{i}", "1": "1"}.get(name, str(3 + i * len(name) % 7))

    header = names.split(",")
    return header, [[cell(name, i) for name in header] for i in range(n)]


@pytest.mark.parametrize(
    "names",
    ["1990,2000,2010,region", "country,1990,2000,2010,region", "age,weight,1,y", "y,1990,2000,2001,mean", "10,x,20"],
)
def test_a_header_with_numbers_among_its_names(names: str, tmp_path: Path) -> None:
    """Every row below is one of the table, as in Parquet and JSON Lines; a note names the option for the other case."""
    header, rows = _measured(names)
    frame = pd.read_csv(io.StringIO("\n".join(map(",".join, rows))), header=None, names=header)
    target = {"y" in header: "y", "region" in header: "region"}.get(True, header[-1])
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    options = {"target": target, "ignore": ["country"] if "country" in header else []}
    source, notes = noted(tmp_path / "t.csv", **options)
    assert [note for note in notes if "first row as the names" in note and "header=False" in note]
    X, y = source.to_arrays()
    assert len(y) == len(rows)
    for other in ("t.parquet", "t.jsonl"):
        Z, z = noted(tmp_path / other, **options)[0].to_arrays()
        assert np.array_equal(dense(X), dense(Z))
        assert [str(label) for label in y] == [str(label) for label in z]
    without = noted(tmp_path / "t.csv", header=False, target=header.index(target))[0]
    assert without.to_arrays()[0].shape[0] == len(rows) + 1


@pytest.mark.parametrize("names", ["a,b,region", "country,a,b,region", "region,1,y", "a,country", "a,b", "region,a"])
@pytest.mark.parametrize("first", [(), ("unheard",)])
def test_rows_with_words_are_no_header(names: str, first: tuple[str, ...], tmp_path: Path) -> None:
    """The first row is data as ever where its words occur below, or say nothing since every word differs."""
    _, rows = _measured(names)
    if first and "country" in names:
        rows[0][names.split(",").index("country")] = first[0]
    (tmp_path / "t.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, _ = read(tmp_path / "t.csv", target=len(rows[0]) - 1, categorical=[]).to_arrays()
    assert X.shape[0] == len(rows)


def test_a_note_tells_of_a_first_row_that_may_be_names() -> None:
    """Of few rows none says whether the first word is a name or the only label of its kind; a word below decides."""
    text = "1990,2000,y\n1,2,a\n3,4,b\n5,5,b\n"
    source, notes = noted(text.encode(), format="csv")
    assert source.to_arrays()[0].shape[0] == 4
    assert sum("reads the first row as data" in note and "header=True" in note for note in notes) == 1
    for told in (True, False):
        assert not any("first row" in note for note in noted(text.encode(), format="csv", header=told)[1])
    assert not any("first row" in note for note in noted((text + "5,6,y\n").encode(), format="csv")[1])
