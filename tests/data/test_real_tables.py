"""Real tables as people have them, each with what a person expects of its columns, written by hand."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from linsep import read
from linsep.cli.options import as_option
from linsep.cli.regression import ModelOptions, RegressionInput, TableOptions
from linsep.data.schema import is_numeric

FOLDER = Path(__file__).parent / "tables"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text("utf-8"))


def described(path: Path, options: dict[str, Any]) -> dict[str, str]:
    """Return of each column what ``--explain`` says: its kind, its words or classes, its gaps."""
    found = {}
    for column in read(path, **options).describe():
        kind = "left out" if column.usage.startswith("left out") else column.kind
        found[column.name] = kind + (f", {column.levels}" if column.levels is not None else "")
        found[column.name] += f", {column.gaps} gaps" if column.gaps else ""
    return found


def test_all_tables_have_an_expectation() -> None:
    there = {path.name for path in FOLDER.iterdir()} - {"expected.json"}
    assert there == set(EXPECTED) | {name for name in there if name.startswith("deploy_")}
    assert len(EXPECTED) >= 30


@pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
@pytest.mark.parametrize("name", EXPECTED)
def test_a_table_is_read_as_expected(name: str) -> None:
    expected = EXPECTED[name]
    assert described(FOLDER / name, expected["options"]) == expected["columns"]
    X, y = read(FOLDER / name, **{"missing": "zero"} | expected["options"]).to_arrays()
    assert X.shape[0] == len(y) == expected["rows"]


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir() if path.name != "expected.json"))
def test_a_regression_reads_the_table_that_other_questions_read(name: str) -> None:
    """The same columns, but for the first category of each factor, the same numbers, rows and notes."""
    options = {"missing": "drop", **EXPECTED.get(name, {"options": {}})["options"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = read(FOLDER / name, labels=False).column_names
        source: Any = read(FOLDER / name, **{"target": names[-1]} | options)
        X, y = source.to_arrays()
        X = X.toarray() if hasattr(X, "toarray") else X
    options.pop("target", None)
    model = ModelOptions(target=source.layout.target, family="multinomial")
    found = RegressionInput.of(str(FOLDER / name), model, TableOptions(**options))
    table, layout = found.table, source.layout
    assert [(each, table.kinds[each]) for each, _ in layout.columns] == list(layout.columns)
    assert table.dropped.numbers.tolist() == source.dropped.numbers.tolist()
    assert list(map(str, table[layout.target].tolist())) == list(map(str, y.tolist()))
    for j, column in enumerate(layout.numbers):
        assert [float(cell) for cell in table[column].tolist()] == X[:, j].tolist()
    for j, feature in enumerate(source.names[len(layout.numbers) :], len(layout.numbers)):
        place, word = layout.categories[j - len(layout.numbers)]
        column, kind = layout.columns[place]
        if kind == "word":
            assert [cell == word for cell in table[column].tolist()] == X[:, j].astype(bool).tolist(), feature
    said = [note.words(as_option) for note in source.notes]
    assert [note for note in found.model.notes if "linsep drops" not in note] == [n for n in said if "drops" not in n]
    factors = [column for column, kind in layout.columns if not is_numeric(kind) and kind != "text"]
    assert len(found.model.names) == X.shape[1] - len(factors)
