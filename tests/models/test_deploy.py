"""From a table to a prediction in four ways, with the same labels: command, frame, dicts, ONNX."""

from __future__ import annotations

import csv
import io
import json
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from data import command
from linsep import Perceptron, fit_source, from_liblinear, load, read, to_liblinear, to_onnx
from linsep.data.schema import Layout, is_numeric

TABLES = sorted((Path(__file__).parents[1] / "data" / "tables").glob("deploy_*.csv"))


def by_onnx(path: Path, table: pd.DataFrame) -> list[Any]:
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(str(path))
    kinds = {each["input"]: each for each in json.loads(session.get_modelmeta().custom_metadata_map["columns"])}
    given = {}
    for each in session.get_inputs():
        column = table[kinds[each.name]["column"]]
        if each.type == "tensor(string)":
            cells = column.astype(object).where(column.notna(), "").astype(str)
            given[each.name] = cells.to_numpy(dtype=object)[:, None]
        else:
            given[each.name] = column.astype(float).to_numpy()[:, None]
    return session.run(["label"], given)[0].tolist()


@pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_the_same_labels_in_every_way(path: Path, tmp_path: Path) -> None:
    model, labels, graph = tmp_path / "m.linsep", tmp_path / "labels.csv", tmp_path / "m.onnx"
    how = ("--missing", "indicator", "--max-iter", 20, "--no-prove", "--quiet")
    assert command("fit", path, "--model", model, *how)[0] == 0
    assert command("predict", model, path, "--out", labels, "--quiet")[0] == 0
    with labels.open() as file:
        wanted = [row["label"] for row in csv.DictReader(file)]
    loaded, table = load(model), pd.read_csv(path)
    assert list(map(str, loaded.predict(table))) == wanted
    records = table.astype(object).where(table.notna(), None).to_dict("records")
    assert list(map(str, loaded.predict(records))) == wanted
    assert [str(loaded.predict(record)) for record in records[:20]] == wanted[:20]
    with path.open() as file:
        assert list(map(str, loaded.predict(list(csv.DictReader(file))))) == wanted
    layout = Layout.from_state(loaded.reading_)
    assert all(is_numeric(kind) or kind == "word" for _, kind in layout.columns)
    to_onnx(loaded, graph, raw=True)
    assert list(map(str, by_onnx(graph, table))) == wanted


@pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"])
def test_a_graph_reads_dates_as_they_are_written(form: str, tmp_path: Path) -> None:
    days = [date(1600, 2, 29), date(1900, 2, 28), date(1969, 12, 31), date(1970, 1, 1), date(2000, 2, 29)]
    days += [date(2000, 3, 1), date(2026, 11, 18), date(2100, 12, 31)]
    table = pd.DataFrame({"day": [day.strftime(form) for day in days], "town": [*"uvuvuvuv"], "y": [*"abababab"]})
    table.to_csv(tmp_path / "t.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit_source(Perceptron(max_iter=2, shuffle=False), read(tmp_path / "t.csv", missing="zero"))
    to_onnx(model, tmp_path / "m.onnx")
    session = pytest.importorskip("onnxruntime").InferenceSession(str(tmp_path / "m.onnx"))
    rows = pd.concat([table, pd.DataFrame({"day": [""], "town": ["u"]})])  # of the last one the day is missing
    given = {name: rows[name].to_numpy(dtype=object)[:, None] for name in ("day", "town")}
    scores = session.run(["scores"], given)[0]
    w, (u, v), b = model.coef_[0][0], model.coef_[0][1:3], model.intercept_[0]
    numbers = [(day - date(1970, 1, 1)).days for day in days]
    wanted = [w * number + (u, v)[k % 2] + b for k, number in enumerate(numbers)] + [u + b]
    assert scores == pytest.approx(wanted, rel=1e-12)


def test_there_are_ten_tables() -> None:
    assert len(TABLES) == 10


def trained(table: bytes, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit_source(Perceptron(max_iter=5), read(io.BytesIO(table), format="csv", **options))


def test_liblinear_has_a_map_beside_it(tmp_path: Path) -> None:
    model = trained(b"x,town,y\n1,Ulm,no\n2,Bonn,yes\n3,Ulm,yes\n")
    to_liblinear(model, tmp_path / "m.txt")
    content = json.loads((tmp_path / "m.txt.map.json").read_text())
    assert content == {"labels": {"0": "no", "1": "yes"}, "features": {"1": "x", "2": "town=Ulm", "3": "town=Bonn"}}
    raw = [{"x": 1, "town": "Ulm"}, {"x": 2, "town": "Bonn"}, {"x": 3, "town": "Ulm"}]
    X = np.array([[1.0, 1, 0], [2, 0, 1], [3, 1, 0]])
    numbers = from_liblinear(tmp_path / "m.txt").predict(X)
    assert [content["labels"][str(number)] for number in numbers] == model.predict(raw).tolist()
    to_liblinear(Perceptron().fit([[0.0], [1.0]], [1, 2]), tmp_path / "plain.txt")
    assert not (tmp_path / "plain.txt.map.json").exists()


def test_texts_are_no_columns_of_a_graph(tmp_path: Path) -> None:
    model = trained(b"t,y\nfree money,1\nhello you,0\n", text="t")
    with pytest.raises(ValueError, match=r"cut the texts of column 't' into words.*raw=False"):
        to_onnx(model, tmp_path / "m.onnx", raw=True)
    to_onnx(model, tmp_path / "m.onnx")
