"""JSON Lines are tables like CSV."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from data import noted, refusal
from linsep import read, separate, separation

pytestmark = pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
ROWS = [
    {"x": 1, "day": "2024-01-02", "weight": "1.5 kg", "town": "Ulm", "y": "a"},
    {"x": 2.5, "day": "2024-02-02", "weight": "3 kg", "town": "Bonn", "y": "b"},
    {"x": -3, "day": "2024-03-02", "weight": "2 kg", "y": "a"},
]


def lines(rows: Any = ROWS) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def as_csv() -> bytes:
    names = list(ROWS[0])
    return "\n".join([",".join(names), *(",".join(str(row.get(name, "")) for name in names) for row in ROWS)]).encode()


def complaint(text: bytes, **options: Any) -> str:
    return refusal(text, format="jsonl", **options)


def test_the_rows_are_those_of_the_same_csv(tmp_path: Path) -> None:
    csv = read(io.BytesIO(as_csv()))
    X, y = csv.to_arrays()
    path, packed = tmp_path / "a.ndjson", tmp_path / "b.json.gz"
    path.write_bytes(lines())
    packed.write_bytes(gzip.compress(lines()))
    for given in (path, packed, io.BytesIO(lines())):
        source = read(given)
        found, labels = source.to_arrays()
        assert found.toarray().tolist() == X.toarray().tolist()
        assert labels.tolist() == y.tolist()
        assert source.names == csv.names
        assert separate(source).kind == separate(csv).kind


@pytest.mark.parametrize("late", [{"note": "seen"}, {"note": "seen", "more": "m"}])
def test_a_key_that_comes_late_is_no_label(late: dict[str, Any]) -> None:
    """The last key of the first row is the label, as it is without the late ones; a note tells of it."""
    rows = [{"x": k, "z": k * k % 5, "y": "ab"[k % 2]} for k in range(20)]
    rows[15] |= late
    source, notes = noted(lines(rows), format="jsonl")
    X, y = source.to_arrays()
    assert y.tolist() == [row["y"] for row in rows]
    assert X[:, :2].toarray().tolist() == [[row["x"], row["z"]] for row in rows]
    assert sum("the last key of the first row, 'y'" in note and "target=" in note for note in notes) == 1
    named, notes = noted(lines(rows), format="jsonl", target="y")
    assert not any("last key" in note for note in notes)
    assert named.to_arrays()[1].tolist() == y.tolist()


def test_blocks_do_not_show() -> None:
    rows = [{"x": k, "w": f"w{k % 7}", "y": k % 2} if k % 5 else {"x": k + 0.5, "y": 1} for k in range(500)]
    X, y = read(io.BytesIO(lines(rows)), target="y").to_arrays()
    small, labels = read(io.BytesIO(lines(rows)), target="y", block_bytes=300).to_arrays()
    assert (small != X).nnz == 0
    assert y.tolist() == labels.tolist()


def test_lines_are_named() -> None:
    text = lines(ROWS[:1]) + b"\n" + lines([{"x": None, "day": "2024-01-01", "weight": "1 kg", "y": "b"}])
    for size in (10, 1 << 20):
        assert complaint(text, block_bytes=size).startswith("input:3, column 'x': a missing value")
    assert "input:2" in complaint(lines(ROWS[:1]) + b'{"x": \n')
    assert "column 'x' holds" in complaint(b'{"x": 1, "y": 0}\n{"x": "two", "y": 1}\n')
    assert read(io.BytesIO(text), missing="zero").locate([0, 1])[1].line == 3


def test_nested_objects_are_refused_by_name() -> None:
    text = lines([{"x": {"a": 1}, "z": 1, "y": 0}, {"x": {"a": 2}, "z": 2, "y": 1}])
    assert complaint(text).startswith("input: column 'x' has type struct")
    assert read(io.BytesIO(text), ignore="x").to_arrays()[0].tolist() == [[1], [2]]
    assert "2^53" in complaint(lines([{"x": 2**60, "y": 0}, {"x": 1, "y": 1}]))


def test_decimals_that_doubles_round_are_refused(tmp_path: Path) -> None:
    """JSON Lines is text, whose numbers are decimals; of longer ones only the doubles are known."""
    path = tmp_path / "t.jsonl"
    for cell, kind in (("0.3", "quasi"), ("0.30000000000000000001", None)):
        cells = ["0.1", cell, "0.2", "0.3", "0.1", "0.2"]
        path.write_text("".join(f'{{"a": {a}, "y": {k % 2}}}\n' for k, a in enumerate(cells)))
        for ask in (lambda: separate(read(path)), lambda: separation(read(path)), lambda: separation("y ~ a", path)):
            if kind is None:
                with pytest.raises(ValueError, match="has numbers of more digits than a double holds"):
                    ask()
            else:
                assert ask().kind == kind
