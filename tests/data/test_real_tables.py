"""Real tables as people have them, each with what a person expects of its columns, written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from linsep import read

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
