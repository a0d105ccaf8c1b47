"""Frames and records: read as the file with the same columns would be, by every function, and predicted raw."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import ConvergenceWarning

import linsep
from linsep.cli import main
from linsep.errors import DataError, DataNote

COUNTRIES = ["DE", "FR", "IT"]


def frame(n: int = 40) -> tuple[pd.DataFrame, list[str]]:
    """Return an ordinary table: a number of the row, dates, amounts, a category, a truth value; and labels."""
    rng = np.random.default_rng(0)
    amount = rng.normal(50, 30, n).round(2)
    table = pd.DataFrame(
        {
            "id": range(1, n + 1),
            "day": [(dt.date(2024, 1, 1) + dt.timedelta(days=int(k))).isoformat() for k in rng.integers(0, 300, n)],
            "amount": amount,
            "country": np.array(COUNTRIES)[rng.integers(0, 3, n)],
            "new": rng.random(n) < 0.5,
        }
    )
    labels = ["high" if a + 10 * (c == "DE") > 55 else "low" for a, c in zip(amount, table["country"], strict=True)]
    return table, labels


def of_file(table: pd.DataFrame, labels: list[str], folder: Path) -> Any:
    path = folder / "table.csv"
    table.assign(label=labels).to_csv(path, index=False)
    return linsep.read(path)


@pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "arrow", "records", "typed"])
def test_a_frame_has_the_rows_of_its_file(kind: str, tmp_path: Path) -> None:
    table, labels = frame()
    X, y = of_file(table, labels, tmp_path).to_arrays()
    typed = table.assign(day=pd.to_datetime(table["day"]), country=table["country"].astype("category"))
    given: Any = {
        "pandas": lambda: table,
        "polars": lambda: pl.from_pandas(table),
        "lazy": lambda: pl.from_pandas(table).lazy(),
        "arrow": lambda: pa.Table.from_pandas(table),
        "records": lambda: table.to_dict("records"),
        "typed": lambda: typed,
    }[kind]()
    model = linsep.Perceptron(max_iter=30, keep="average", prove=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = model.fit(given, labels).coef_, linsep.Perceptron(**model.get_params()).fit(X, y).coef_
    assert ours.tolist() == theirs.tolist()
    assert model.feature_names_in_.tolist()[:3] == ["day", "amount", "new"]
    assert model.predict(given).tolist() == model.predict(table).tolist()


@pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
@pytest.mark.parametrize("time", ["7:05", "7:05:09", "7:05:09.25"])
def test_times_of_day_are_seconds_in_strings_of_any_type(time: str, kind: pa.DataType) -> None:
    hours, minutes, seconds = map(float, [*time.split(":"), "0"][:3])
    table = pa.table({"at": pa.array([time, time.replace("7", "8")], kind), "y": ["a", "b"]})
    X, _ = linsep.read(table).to_arrays()
    assert X[:, 0].tolist() == [3600 * (hours + k) + 60 * minutes + seconds for k in (0, 1)]


def test_a_word_after_the_first_rows_makes_a_column_of_words() -> None:
    source = linsep.read(pa.table({"x": [*map(str, range(5))] * 300 + ["many"], "y": ["a"] * 1500 + ["b"]}))
    X, _ = source.to_arrays()
    assert source.names == ["x=0", "x=1", "x=2", "x=3", "x=4", "x=many"]
    assert X.sum() == 1501


def test_notes_are_those_of_the_file(tmp_path: Path) -> None:
    table, labels = frame()
    with pytest.warns(DataNote) as told:
        linsep.separate(table, labels)
    with pytest.warns(DataNote) as of_text:
        of_file(table, labels, tmp_path)
    said = [note.message.what for note in of_text]
    assert "true and false" in said.pop()  # a frame knows that by itself
    assert [note.message.what.replace("linsep.read(X, {0})", "{0}") for note in told] == said
    assert "linsep.read(X, keep_index=True) keeps it" in str(told[0].message)


@pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
def test_every_question_takes_a_frame(tmp_path: Path) -> None:
    table, labels = frame()
    source = of_file(table, labels, tmp_path)
    X, y = source.to_arrays()
    verdict = linsep.separate(table, labels)
    assert verdict.kind == linsep.separate(X, y).kind == linsep.separate(source).kind
    assert verdict.check(table, labels)
    assert linsep.fewest_errors(table, labels).upper == linsep.fewest_errors(X, y).upper
    if verdict.kind == "separable":
        assert linsep.largest_margin(table, labels).lower == linsep.largest_margin(X, y).lower
    names = [rule.name for rule in linsep.separate(table.assign(copy=labels), labels).columns]
    assert names == ["copy=low", "copy=high"] or set(names) == {"copy=low", "copy=high"}


def test_a_frame_of_numbers_is_a_matrix_but_for_names_of_rows() -> None:
    labels = [0, 0, 1, 1]
    plain = pd.DataFrame({"grid": [4, 3, 2, 1], "x": [0.0, 1.0, 2.0, 3.0]})
    model = linsep.Perceptron().fit(plain, labels)
    assert model.feature_names_in_.tolist() == ["grid", "x"]  # as in scikit-learn
    assert not hasattr(model, "reading_")
    for name in ("id", "Unnamed: 0"):
        table = plain.rename(columns={"grid": name})
        for each in (table, pl.from_pandas(table), pa.Table.from_pandas(table)):
            with pytest.warns(DataNote, match=f"leaves out column '{name}': it only numbers the rows"):
                model = linsep.Perceptron().fit(each, labels)
            assert model.feature_names_in_.tolist() == ["x"]
            assert model.predict(each).tolist() == labels == model.predict(table[["x"]]).tolist()
            with pytest.warns(DataNote, match=r"linsep.read\(X, keep_index=True\) keeps it"):
                assert linsep.separate(each, labels).n_features == 1
    assert linsep.Perceptron().fit(plain.rename(columns={"grid": "id"})[["id"]], labels).n_features_in_ == 1


def test_a_table_that_lacks_cells_is_predicted_row_by_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Labels of the command are those of Python: none for a row without a number, whatever the format and the label."""
    table, words = frame()
    for labels in (words, [int(word == "high") for word in words]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = linsep.Perceptron(max_iter=30).fit(table, labels)
            holed = table.astype({"amount": object, "country": object})
            holed.loc[[1, 7], "amount"] = None
            holed.loc[3, "country"] = None  # a missing word is a word that did not occur
            holed.loc[4, "country"] = "US"
            wanted = model.predict(holed).tolist()
        assert [k for k, label in enumerate(wanted) if label is None] == [1, 7]
        linsep.save(model, tmp_path / "m.linsep")
        holed.to_csv(tmp_path / "new.csv", index=False)
        holed.astype({"amount": float}).to_parquet(tmp_path / "new.parquet", index=False)
        holed.to_json(tmp_path / "new.jsonl", orient="records", lines=True)
        for name in ("new.csv", "new.parquet", "new.jsonl"):
            for out in ("out.csv", "out.parquet"):
                asked = ["predict", "m.linsep", name, "--out", out, "--score", "--keep-column", "id", "--json"]
                asked = [str(tmp_path / each) if "." in each else each for each in asked]
                with pytest.raises(SystemExit):
                    main(asked)
                told = capsys.readouterr()
                assert json.loads(told.out)["unanswered"] == 2
                assert "there is none for 2 of 40 rows because of missing cells: 2 in column 'amount'" in told.err
                assert ("new.csv:3: this is the first" in told.err) == (name == "new.csv")
                found = pd.read_csv(asked[4]) if out == "out.csv" else pd.read_parquet(asked[4])
                given = [None if pd.isna(label) else type(labels[0])(label) for label in found["label"]]
                assert given == wanted
                assert found["score"].isna().tolist() == [label is None for label in wanted]
                assert list(map(int, found["id"])) == table["id"].tolist()


@pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
def test_gaps_and_cells_that_do_not_fit_are_named() -> None:
    table, labels = frame()
    table.loc[3, "amount"] = None
    with pytest.raises(DataError, match=r"X: row 3, column 'amount': a missing value; linsep.read\(X, missing=...\)"):
        linsep.separate(table, labels)
    source = linsep.read(table.assign(label=labels), missing="drop")
    assert source.to_arrays()[0].shape[0] == len(labels) - 1
    odd = table.drop(columns="amount").assign(odd=[object() for _ in labels])
    with pytest.raises(DataError, match="column 'odd'"):
        linsep.separate(odd, labels)


@pytest.fixture
def model() -> Any:
    table, labels = frame()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return linsep.Perceptron(max_iter=30, keep="auto").fit(table, labels)


def test_records_are_predicted_raw(model: Any, tmp_path: Path) -> None:
    table, _ = frame()
    records = table.to_dict("records")
    wanted = model.predict(table)
    linsep.save(model, tmp_path / "m.linsep")
    loaded = linsep.load(tmp_path / "m.linsep")
    assert [loaded.predict(record) for record in records] == wanted.tolist()
    assert loaded.predict(records).tolist() == wanted.tolist()
    assert loaded.predict(table[table.columns[::-1]]).tolist() == wanted.tolist()  # in any order
    texts = [{name: str(cell) for name, cell in record.items()} for record in records]
    assert loaded.predict(texts).tolist() == wanted.tolist()  # as csv.DictReader has them
    typed = table.assign(day=pd.to_datetime(table["day"]))
    assert loaded.predict(typed).tolist() == wanted.tolist()
    assert np.array_equal(loaded.decision_function(records), loaded.decision_function(table))
    assert np.array_equal(loaded.distance(records), loaded.distance(table))


def test_a_gap_costs_its_row_alone(model: Any) -> None:
    table, _ = frame()
    records = table.to_dict("records")
    wanted = model.predict(table).tolist()
    records[1]["amount"] = None
    del records[2]["amount"]
    with pytest.warns(DataNote, match="2 rows get no answer: row 1 has no value in column 'amount'"):
        assert model.predict(records).tolist() == [wanted[0], None, None, *wanted[3:]]
    with pytest.warns(DataNote, match="1 row gets no answer"):
        assert model.predict(records[1]) is None
    with pytest.warns(DataNote):
        assert np.isnan(model.decision_function(records)).tolist() == [k in (1, 2) for k in range(len(records))]


def test_an_unknown_word_has_no_weight(model: Any) -> None:
    record = frame()[0].to_dict("records")[0]
    with pytest.warns(DataNote, match="1 cell holds a word that did not occur in training"):
        found = model.decision_function(record | {"country": "US"})
    place = model.feature_names_in_.tolist().index(f"country={record['country']}")
    assert found == pytest.approx(model.decision_function(record) - model.coef_[0, place])


def test_what_cannot_be_predicted_is_named(model: Any) -> None:
    table, _ = frame()
    with pytest.raises(DataError, match="no column is named 'amount'"):
        model.predict(table.drop(columns="amount"))
    with pytest.raises(DataError, match="row 0, column 'amount': 'much' is not a number"):
        model.predict(table.to_dict("records")[0] | {"amount": "much"})
    with pytest.raises(DataError, match="column 'amount' is a date here, but a number was expected"):
        model.predict(table.assign(amount=pd.Timestamp("2024-01-01")))


class Stream:
    """A frame of a library that nobody knows: it exports Arrow's stream and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self.table, self.columns = table, table.column_names

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


class Tensor:
    """A tensor of a library that nobody knows."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **how: Any) -> Any:
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
def test_any_library() -> None:
    table, labels = frame()
    kind = linsep.separate(table, labels).kind
    assert linsep.separate(Stream(pa.Table.from_pandas(table)), labels).kind == kind
    nw = pytest.importorskip("narwhals")
    assert linsep.separate(nw.from_native(pl.from_pandas(table).lazy()), labels).kind == kind
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    assert linsep.separate(Tensor(X), [0, 0, 1]).kind == linsep.separate(X, [0, 0, 1]).kind
    assert linsep.Perceptron().fit(Tensor(X), [0, 0, 1]).score(X, [0, 0, 1]) == 1


@pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
def test_moments_train_and_no_rows_have_no_answers():
    when = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=4, freq="7h"), "word": list("aabb")})
    model = linsep.MaxMarginClassifier().fit(when, [0, 0, 1, 1])
    assert model.score(when, [0, 0, 1, 1]) == 1
    with pytest.warns(ConvergenceWarning):
        model = linsep.Perceptron().fit(when.iloc[[0, 1, 2, 3, 0, 3]], [0, 0, 1, 1, 1, 0])
    assert model.stop_reason_ == "not_separable"
    assert len(model.predict(when.head(0))) == 0
    assert linsep.largest_margin(when, [0, 0, 1, 1]).lower > 0
