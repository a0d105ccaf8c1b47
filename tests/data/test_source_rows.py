"""Rows keep the number and the line that they have in the user's file, whatever was dropped before.

The expected numbers come from Python's own csv module, which knows nothing of how linsep reads a table.
"""

from __future__ import annotations

import csv
import gzip
import html
import io
import json
import re
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import linsep
from linsep import fewest_errors, fit_source, read, separate, separation, verify
from linsep.data.row_numbers import Dropped
from linsep.errors import DataNote, ReadError
from linsep.prove.check import linsep_check

GAPS = ("", "NA", "?", "NaN")
FORMS = ("csv", "csv.gz", "tsv", "parquet", "arrow", "svm", "npy", "npz", "sparse.npz")
DROP = ("--missing", "drop")
YES = ("yes", "1", "1.0")


class Record(NamedTuple):
    """A row of a file, as plain Python reads it."""

    row: int
    line: int | None
    x: tuple[Fraction, ...] | None  # None if the row has a gap that drops it
    label: str


class Table(NamedTuple):
    """A file and what it holds."""

    path: Path
    records: list[Record]

    @property
    def kept(self) -> list[Record]:
        return [record for record in self.records if record.x is not None]

    @property
    def dropped(self) -> list[int]:
        return [record.row for record in self.records if record.x is None]


def made(folder: Path, form: str, seed: int, n: int = 40) -> Table:
    """Write a table of two numbers, a remark and a label, with gaps in random places; read it back by plain means."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 7, (n, 2))
    y = np.where(x.sum(axis=1) + rng.integers(-2, 3, n) > 6, 1, 0)
    gap = rng.random((n, 3)) < [0.15, 0.1, 0.1 if form in ("csv", "csv.gz", "tsv", "parquet", "arrow") else 0.0]
    gap[:3] = [[True, False, False], [False, False, False], [False, True, False]]
    path = folder / f"rows.{form}"
    if form in ("csv", "csv.gz", "tsv"):
        return _made_text(path, x, y, gap, rng)
    values = np.where(gap[:, :2], np.nan, x.astype(float))
    if form in ("parquet", "arrow"):
        labels = [None if g else ["no", "yes"][c] for c, g in zip(y.tolist(), gap[:, 2].tolist(), strict=True)]
        table = pa.table({"a": values[:, 0], "remark": [f"r{i}" for i in range(n)], "b": values[:, 1], "y": labels})
        if form == "parquet":
            pq.write_table(table, path, row_group_size=7)
        else:
            with pa.ipc.new_file(path, table.schema) as file:
                file.write_table(table, max_chunksize=7)
        names = labels
    elif form == "svm":
        names = list(map(str, y.tolist()))
        lines, starts = ["# a comment\n", "\n"], []
        for i, row in enumerate(values.tolist()):
            starts.append(len(lines) + 1)
            lines.append(f"{names[i]} 1:{row[0]} 2:{row[1]}" + (" # why\n" if i % 5 == 0 else "\n"))
            lines += ["\n"] if i % 4 == 0 else []
        path.write_text("".join(lines))
        return Table(path, [_record(i, starts[i], values[i], names[i]) for i in range(n)])
    else:
        names = list(map(str, y.astype(float).tolist() if form == "npy" else y.tolist()))
        if form == "npy":
            np.save(path, np.column_stack((values, y)))
        elif form == "npz":
            np.savez(path, X=values, y=y)
        else:
            X = sp.csr_array(values)
            np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)
    return Table(path, [_record(i, None, values[i], names[i]) for i in range(n)])


def _record(row: int, line: int | None, values: Any, label: Any) -> Record:
    whole = label is not None and not np.isnan(values).any()
    return Record(row, line, tuple(map(Fraction, values.tolist())) if whole else None, str(label))


def _made_text(path: Path, x: Any, y: Any, gap: Any, rng: Any) -> Table:
    delimiter = "\t" if path.suffix == ".tsv" else ","
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["a", "remark", "b", "y"])
    for i in range(len(x)):
        cells = [str(x[i, 0]), f"r{i}", str(x[i, 1]), ["no", "yes"][y[i]]]
        cells[1] += ["", ' said "so"', "\nand\nmore", ", and"][rng.integers(0, 4)]
        for j, k in ((0, 0), (2, 1), (3, 2)):
            if gap[i, k]:
                cells[j] = GAPS[rng.integers(0, 4)]
        writer.writerow(cells)
        if rng.random() < 0.1:
            text.write("\n")  # an empty line is no row
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    records: list[Record] = []
    reader = csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter)
    before = 0
    for cells in reader:
        start, before = before + 1, reader.line_num
        if not cells or start == 1:
            continue
        whole = not any(cells[j] in GAPS for j in (0, 2, 3))
        records.append(
            Record(len(records), start, (Fraction(cells[0]), Fraction(cells[2])) if whole else None, cells[3])
        )
    return Table(path, records)


def options_of(table: Table) -> list[str]:
    return (
        [*DROP, "--ignore", "remark"] if table.path.name.endswith(("csv", "gz", "tsv", "parquet", "arrow")) else [*DROP]
    )


def kwargs_of(table: Table) -> dict[str, Any]:
    return {"missing": "drop", **({"ignore": "remark"} if len(options_of(table)) > 2 else {})}


def opened(table: Table, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        source = read(table.path, **kwargs_of(table), **options)
        source.to_arrays()
    return source


def _read_all(table: Table, block_bytes: int) -> tuple[Any, Any]:
    source = read(table.path, **kwargs_of(table), block_bytes=block_bytes)
    return source, source.to_arrays()[1]


def at(table: Table, found: dict[str, Any]) -> Record:
    """Return the record that a fact names; its number, line and label must agree."""
    record = table.records[found["row"]]
    assert record.x is not None
    assert found.get("line") == record.line
    if "label" in found:
        assert str(found["label"]) == record.label
    return record


def contradicts(table: Table, rows: list[int], multipliers: list[Fraction]) -> None:
    """Check a refutation by its definition, with the cells of these rows of the file."""
    total = [Fraction(0)] * 3
    for row, multiplier in zip(rows, multipliers, strict=True):
        record = table.records[row]
        assert record.x is not None
        assert multiplier > 0
        sign = 1 if record.label in YES else -1
        total = [t + sign * multiplier * v for t, v in zip(total, (*record.x, Fraction(1)), strict=True)]
    assert rows
    assert total == [0, 0, 0]


def wrong_under(table: Table, w: Any, b: Any) -> set[int]:
    """Return the rows of the file that are not strictly on their side of a plane."""
    found = set()
    for record in table.kept:
        assert record.x is not None
        s = sum((Fraction(a) * v for a, v in zip(w, record.x, strict=True)), Fraction(b))
        if (s if record.label in YES else -s) <= 0:
            found.add(record.row)
    return found


CASES = [(form, seed) for form in FORMS for seed in ((0, 1, 2) if form in ("csv", "svm") else (0,))]


@pytest.mark.parametrize(("form", "seed"), CASES)
def test_the_source_says_which_rows_it_drops(form: str, seed: int, tmp_path: Path) -> None:
    table = made(tmp_path, form, seed)
    for block_bytes in (1 << 22, 64):
        with pytest.warns(DataNote, match=rf"drops {len(table.dropped)} of {len(table.records)} rows"):
            source, y = _read_all(table, block_bytes)
        assert source.dropped.numbers.tolist() == table.dropped
        assert source.dropped.rows == len(table.records)
        kept = [record.row for record in table.kept]
        assert source.dropped.in_source(range(len(kept))).tolist() == kept
        assert source.dropped.among_kept(kept).tolist() == list(range(len(kept)))
        assert list(map(str, y.tolist())) == [record.label for record in table.kept]
        places = source.locate(kept)
        assert (places or [None]) == [None] if table.records[0].line is None else True
        if places is not None:
            assert [place.line for place in places] == [record.line for record in table.kept]


@pytest.mark.parametrize(("form", "seed"), CASES)
def test_separate_names_rows_of_the_file(form: str, seed: int, tmp_path: Path, run: Any) -> None:
    table = made(tmp_path, form, seed)
    code, out, err = run("separate", table.path, *options_of(table), "--json")
    found = json.loads(out)
    assert (code, found["verdict"]) == (1, "overlap")
    assert (found["rows"], found["dropped"]) == (len(table.kept), len(table.dropped))
    assert f"drops {len(table.dropped)} of {len(table.records)} rows" in err
    rows = [at(table, each).row for each in found["refutation"]]
    contradicts(table, rows, [Fraction(each["multiplier"]) for each in found["refutation"]])
    shown = run("separate", table.path, *options_of(table))[1]
    for each in found["refutation"][:12]:
        line = rf" +│ {each['line']}" if "line" in each else ""
        assert re.search(rf"│ {each['row']}{line} +│ {each['label']}", shown)


@pytest.mark.parametrize(("form", "seed"), CASES)
def test_errors_names_rows_of_the_file(form: str, seed: int, tmp_path: Path, run: Any) -> None:
    table = made(tmp_path, form, seed)
    code, out, err = run("errors", table.path, *options_of(table), "--json")
    found = json.loads(out)
    assert code == 0
    assert found["dropped"] == len(table.dropped)
    assert f"drops {len(table.dropped)} of {len(table.records)} rows" in err
    wrong = {at(table, each).row for each in found["wrong"]}
    assert wrong == wrong_under(table, found["w"][0], found["b"][0])
    shown = run("errors", table.path, *options_of(table))[1]
    for each in found["wrong"][:20]:
        line = rf" +│ {each['line']}" if "line" in each else ""
        assert re.search(rf"│ {each['row']}{line} +│ {each['label']}", shown)


@pytest.mark.parametrize(("form", "seed"), CASES)
def test_results_in_python_name_rows_of_the_file(form: str, seed: int, tmp_path: Path) -> None:
    table = made(tmp_path, form, seed)
    source = opened(table)
    verdict = separate(source)
    assert verdict.kind == "overlap"
    contradicts(table, verdict.refutation.rows.tolist(), list(verdict.refutation.multipliers))
    fewest = fewest_errors(source)
    assert set(fewest.rows.tolist()) == wrong_under(table, fewest.w, fewest.b)
    assert set(fewest.certain(source).tolist()) <= set(fewest.rows.tolist())
    X, y = source.to_arrays()
    for result in (verdict, fewest):
        assert result.check(source)
        assert result.check(source, plain=True)
        assert result.check(X, y)
        document = linsep.to_json(result, X, y)
        assert verify(document, X, y)
        assert verify(document, source)
    within = fewest_errors(X, y, values=fewest.values)  # arrays have rows of their own
    assert source.dropped.in_source(within.rows).tolist() == fewest.rows.tolist()
    assert source.dropped.in_source(within.certain(X, y)).tolist() == fewest.certain(source).tolist()


def perceptron(table: Table, passes: int) -> list[int]:
    """Return the rows of the mistakes of the lecture's algorithm, by plain fractions."""
    w, trace = [Fraction(0)] * 3, []
    for _ in range(passes):
        for record in table.kept:
            assert record.x is not None
            sign, x = 1 if record.label in YES else -1, (*record.x, Fraction(1))
            if sign * sum(map(lambda a, v: a * v, w, x)) <= 0:
                w = [a + sign * v for a, v in zip(w, x, strict=True)]
                trace.append(record.row)
    return trace


@pytest.mark.parametrize(("form", "seed"), CASES)
def test_fit_names_rows_of_the_file(form: str, seed: int, tmp_path: Path, run: Any) -> None:
    table = made(tmp_path, form, seed)
    fit = ["fit", table.path, *options_of(table), "--no-shuffle", "--model", "m.model", "--json"]
    found = json.loads(run(*fit, "--max-iter", "3", "--trace")[1])
    assert found["dropped"] == len(table.dropped)
    assert found["trace"] == perceptron(table, 3)
    counts = [None if record.x is None else found["trace"].count(record.row) for record in table.records]
    assert found["mistake_counts"] == counts
    found = json.loads(run(*fit, "--proof", "p.json")[1])
    assert found["stop_reason"] == "not_separable"
    rows = [at(table, each).row for each in found["refutation"]]
    contradicts(table, rows, [Fraction(int(m, 0)) if "x" in m else Fraction(m) for m in _multipliers(found)])
    assert run("verify", "p.json", table.path, *options_of(table))[0] == 0
    assert json.loads(run("score", "m.model", table.path, *DROP, "--json")[1])["dropped"] == len(table.dropped)


def _multipliers(found: dict[str, Any]) -> list[str]:
    return [each["multiplier"] for each in found["refutation"]]


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet", "arrow"])
@pytest.mark.parametrize("seed", [0, 3])
def test_separation_names_rows_of_the_file(form: str, seed: int, tmp_path: Path, run: Any) -> None:
    table = made(tmp_path, form, seed)
    path = tmp_path / f"some.{form}"  # of few rows, so that some are separated
    frame = pd.DataFrame(
        {"a": [float(r.x[0]) if r.x else None for r in table.records], "y": [r.label for r in table.records]}
    )
    frame.loc[frame["a"] > 4, "y"] = "yes"
    frame.loc[frame["a"] < 2, "y"] = "no"
    frame["y"] = frame["y"].where(~frame["y"].isin(GAPS) & (frame["y"] != "None"), None)
    if form.startswith("csv"):
        frame.to_csv(path, index=False)
    elif form == "parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_feather(path)
    kept = [i for i, (a, y) in enumerate(zip(frame["a"], frame["y"], strict=True)) if not (pd.isna(a) or pd.isna(y))]
    expected = separation(frame.loc[kept, ["a"]].to_numpy(), (frame.loc[kept, "y"] == "yes").to_numpy())
    code, out, _ = run("regression", path, "--target", "y", *DROP, "--json", "--proof", "p.json")
    found = json.loads(out)
    assert code == (0 if expected.kind == "overlap" else 1)
    assert found["separated"] == [kept[i] for i in expected.separated]
    assert found["dropped"] == len(frame) - len(kept)
    assert any(f"drops {len(frame) - len(kept)} of {len(frame)} rows" in note for note in found["notes"])
    assert found["separated_lines"] == ([row + 2 for row in found["separated"]] if form.startswith("csv") else None)
    assert [each["rows"] for each in found["coefficients"]] == [
        [kept[i] for i in each.rows] for each in expected.coefficients
    ]
    if found["separated"]:
        shown = run("regression", path, "--target", "y", *DROP, "--rows")[1]
        assert ", ".join(map(str, found["separated"])) in shown
    for plain in ([], ["--plain"]):
        assert run("verify", "p.json", path, *plain)[0] == 0


@pytest.mark.parametrize("form", ["csv", "parquet", "svm"])
def test_the_report_names_rows_of_the_file(form: str, tmp_path: Path, run: Any) -> None:
    table = made(tmp_path, form, 1)
    code, out, _ = run("report", table.path, *options_of(table), "--time-limit", "20", "--json")
    assert code == 0
    assert json.loads(out)["dropped"] == len(table.dropped)
    text = Path("report.html").read_text()
    assert f"{len(table.dropped)} of {len(table.records)} rows" in text
    for name in ("verdict", "fewest"):
        part = text[text.index(f'id="{name}"') :]
        part = part[part.index("<table") : part.index("</table>")]
        head = re.findall("<th>(.*?)</th>", part)
        rows = [re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", part, re.DOTALL)]
        rows = [dict(zip(head, map(html.unescape, row), strict=True)) for row in rows if row]
        assert rows
        for row in rows:
            record = table.records[int(row["row"])]
            assert record.x is not None
            assert row.get("line") == (None if record.line is None else str(record.line))
            assert row["label"] == record.label
            assert [float(row[name]) for name in head[head.index("label") + 1 :][:2]] == list(map(float, record.x))


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet", "svm", "npy"])
def test_proofs_are_checked_with_the_same_file_and_options(form: str, tmp_path: Path, run: Any) -> None:
    table = made(tmp_path, form, 2)
    for command in ("separate", "errors"):
        run(command, table.path, *options_of(table), "--proof", "p.json", "--quiet")
        for plain in ([], ["--plain"]):
            again = options_of(table) if form in ("svm", "npy", "parquet") else []  # a text's proof says how it is read
            code, out, err = run("verify", "p.json", table.path, *again, *plain)
            assert code == 0, out + err


def test_a_proof_that_fails_names_the_row_of_the_file(tmp_path: Path, run: Any) -> None:
    (tmp_path / "rows.csv").write_text('x,y\n,a\n\n1,"a"\nNA,b\n2,a\n5,b\n6,b\n')
    run("separate", "rows.csv", *DROP, "--proof", "p.json", "--quiet", "--no-margin")
    content = json.loads(Path("p.json").read_text())
    content["separator"]["w"] = [["1"]]
    content["separator"]["b"] = ["-2"]  # row 3 of the file, 2,a, lies on that plane
    content["digest"] = linsep_check.digest_of(content)
    Path("p.json").write_text(json.dumps(content))
    code, out, _ = run("verify", "p.json", "rows.csv", "--plain", "--json")
    assert code == 1
    assert json.loads(out)["why"].startswith("row 3 (rows.csv:6)")


def test_several_files_count_their_rows_together(tmp_path: Path, run: Any) -> None:
    (tmp_path / "p1.csv").write_text("x,y\n1,a\n,a\n3,a\n")
    (tmp_path / "p2.csv").write_text("y,x\nb,\nb,3\nb,4\n\na,9\n")
    found = json.loads(run("errors", "p1.csv", "p2.csv", *DROP, "--json")[1])
    named = {(each["row"], each["file"], each["line"]) for each in found["wrong"]}
    lines = {0: ("p1.csv", 2), 2: ("p1.csv", 4), 4: ("p2.csv", 3), 5: ("p2.csv", 4), 6: ("p2.csv", 6)}
    assert len(named) == 2
    assert named <= {(row, *place) for row, place in lines.items()}
    shown = run("errors", "p1.csv", "p2.csv", *DROP)[1]
    for _, file, line in named:
        assert f"{file}:{line}" in shown


def test_an_error_behind_a_dropped_row_names_its_own_line(tmp_path: Path) -> None:
    text = "x,z,y\n1,2,a\n3,4,\n5,6,b\n7,inf,b\n"
    with pytest.raises(ReadError, match=r"^input:5, column 'z': an infinite number"):
        read(io.BytesIO(text.encode()), format="csv", missing="drop").to_arrays()
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"z": [2.0, 4.0, float("inf")], "y": ["a", None, "b"]}), path)
    with pytest.raises(ReadError, match=r"row 2, column 'z': an infinite number"):
        read(path, missing="drop").to_arrays()


def test_weights_stay_with_their_rows(tmp_path: Path, run: Any) -> None:
    """A row without a label is dropped with its weight, one without a weight is an error that names it."""
    (tmp_path / "rows.csv").write_text("x,w,y\n1,1,a\n2,5,\n3,1,a\n4,7,b\n5,1,b\n")
    given = [
        "fit", "rows.csv", "--sample-weight", "w", *DROP, "--no-shuffle", "--max-iter", "1", "--keep", "last",
        "--model", "m", "--json",
    ]  # fmt: skip
    found = json.loads(run(*given, "--coef", "--trace")[1])
    model = linsep.Perceptron(shuffle=False, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit([[1], [3], [4], [5]], list("aabb"), sample_weight=[1, 1, 7, 1])
    assert found["coef"] == model.coef_.tolist()
    assert found["trace"] == [[0, 2, 3, 4][i] for i in model.trace_]
    (tmp_path / "rows.csv").write_text("x,w,y\n1,1,a\n2,5,\n3,,a\n4,7,b\n5,1,b\n")
    code, _, err = run(*given)
    assert code == 2
    assert "rows.csv:4: the row has no weight" in err


def test_gaps_of_arrays_have_no_column_of_their_own(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.array([[1, np.nan, 0], [2, 3, 1.0]]))
    with pytest.raises(ReadError, match="no column of their own"):
        read(tmp_path / "rows.npy", missing="indicator")


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("form", ["csv", "parquet", "svm", "npy"])
def test_a_model_from_files_names_their_rows(tmp_path: Path, form: str, saved: bool) -> None:
    table = made(tmp_path, form, 0)
    source = opened(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit_source(linsep.Perceptron(shuffle=False, max_iter=3, keep="average"), source)
        if saved:
            linsep.save(model, tmp_path / "m.linsep")
            model = linsep.load(tmp_path / "m.linsep")
    rows = perceptron(table, 3)
    assert model.missing_rows_.tolist() == table.dropped != []
    assert model.trace_.tolist() == rows
    assert model.mistake_counts_.tolist() == [rows.count(record.row) for record in table.records]
    X, y = source.to_arrays()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        model.partial_fit(X[:1], y[:1])  # rows that follow have the numbers that follow
    assert set(model.trace_[len(rows) :].tolist()) <= {len(table.records)}
    assert len(model.mistake_counts_) == len(table.records) + 1


@pytest.mark.parametrize("saved", [False, True])
def test_the_refutation_of_a_run_names_rows_of_the_file(tmp_path: Path, saved: bool) -> None:
    path = tmp_path / "xor.csv"
    path.write_text("a,b,y\n,0,p\n0,0,p\n1,1,p\n7,,q\n0,1,q\n,,q\n1,0,q\n")
    source = read(path, missing="drop")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit_source(linsep.Perceptron(shuffle=False), source)
    if saved:
        linsep.save(model, tmp_path / "m.linsep")
        model = linsep.load(tmp_path / "m.linsep")
    found = model.refutation_
    assert sorted(found.rows.tolist()) == [1, 2, 4, 6]  # the four of exclusive or
    X, y = source.to_arrays()
    assert found.check(X, y)
    assert found.check(X, y, plain=True)
    assert not found.check(X, y[::-1][[0, 2, 1, 3]])
    assert sorted(found.verdict().refutation.rows.tolist()) == [1, 2, 4, 6]
    assert sorted(json.loads(linsep.to_json(found.verdict(), X, y))["refutation"]["rows"]) == [0, 1, 2, 3]


@pytest.mark.parametrize("change", ["[3, 3]", "[2, 1]", "[-1]", "[900]"])
def test_a_saved_model_with_impossible_rows_is_refused(tmp_path: Path, change: str) -> None:
    model = linsep.Perceptron().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    model.missing_rows_ = np.array(json.loads(change), dtype=np.int64)
    linsep.save(model, tmp_path / "m.linsep")
    with pytest.raises(Exception, match="left out"):
        linsep.load(tmp_path / "m.linsep")


@pytest.mark.slow
def test_the_animation_names_rows_of_the_file(tmp_path: Path, run: Any, monkeypatch: Any) -> None:
    table = made(tmp_path, "csv", 0)
    run("fit", table.path, *options_of(table), "--no-shuffle", "--max-iter", "3", "--model", "m", "--quiet")
    films = []
    animate = linsep.animate
    monkeypatch.setattr(
        linsep, "animate", lambda *given, **options: films.append(animate(*given, **options)) or films[0]
    )
    code, _, err = run("show", "m", table.path, *DROP, "--animate", "--quiet")
    assert code == 0, err
    titles = []
    for k in range(1, 5):
        films[0]._func(k)
        titles.append(films[0]._fig.axes[0].get_title())
    assert titles == [
        f"mistake {k} of {len(perceptron(table, 3))}, on row {row}" for k, row in enumerate(perceptron(table, 3)[:4], 1)
    ]


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("shift", [0, 1], ids=["numbers", "and words"])
def test_every_missing_cell_is_counted(form: str, shift: int, tmp_path: Path, run: Any) -> None:
    """Also those beside a missing label; the columns with the most come first, and the same in all commands."""
    frame = pd.DataFrame(
        {"a": [1, 2, 3, 4, None, 6], "b": [None, None, 3, 4, 5, 6], "w": ["u"] * 4 + [None, "v"], "y": [*" xxz z"]}
    ).replace({"y": {" ": None}})
    if not shift:
        frame = frame.drop(columns="w")
    path = tmp_path / f"t.{form}"
    if form == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path, index=False)
    words = ", 1 in column 'w'" if shift else ""
    told = f"drops 3 of 6 rows because of missing cells: 2 in column 'b', 2 in column 'y', 1 in column 'a'{words} "
    for command in ("separate", "errors", "regression", "report"):
        out = {"report": ("--out", tmp_path / "r.html"), "regression": ("--target", "y")}.get(command, ())
        _, shown, err = run(command, path, *DROP, *out)
        assert told in " ".join((err + shown).split()), command
    with pytest.warns(DataNote, match="drops 3"):
        some = {each.name: each.gaps for each in read(path, missing="drop").describe()}
    assert some == {name: int(frame[name].isna().sum()) for name in frame}


def test_a_note_counts_the_columns_that_it_does_not_name() -> None:
    """One more column, two more columns."""
    cells = tuple((name, 1) for name in "abcdefg")
    assert Dropped(rows=9, cells=cells[:6]).words().endswith("'e', 1 more column")
    assert Dropped(rows=9, cells=cells).words().endswith("'e', 2 more columns")
