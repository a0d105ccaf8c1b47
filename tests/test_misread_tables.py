"""Tables that look like something else: other formats, columns that only name the rows, scaling beside words, times."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import sqlite3
import zipfile
from typing import Any

import pytest

from linsep import read
from linsep.errors import ReadError

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
    "lines": (LINES, "JSON Lines", ("jsonl", "ndjson", "json", "csv", "")),
    "tight lines": (LINES.replace(b": ", b":").replace(b", ", b","), "JSON Lines", ("jsonl", "csv")),
    "lists": (LISTS, "JSON Lines", ("jsonl", "csv")),
    "blank first": (b"\n  " + LINES, "JSON Lines", ("jsonl",)),
    "marked": (b"\xef\xbb\xbf" + LINES, "JSON Lines", ("jsonl",)),
    "long line": (json.dumps({"text": "x" * 400_000}).encode() + b"\n" + LINES, "JSON", ("jsonl",)),
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
    for command in (["separate", path], ["fit", path, "--model", "m.model"], ["separation", path, "--target", "species"]):
        code, out, err = run(*command)
        assert (code, out) == (2, ""), command
        assert len(err.splitlines()) == 1
        assert path in err
        assert f"is {name}" in err, err
        assert "CSV" in err  # what to do


@pytest.mark.parametrize("kind", ["lines", "records", "page", "base", "pickle"])
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


def test_the_second_of_several_files_is_refused_too(tmp_path: Any) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,b\n")
    (tmp_path / "b.csv").write_bytes(LINES)
    with pytest.raises(ReadError, match="b.csv: is JSON Lines"):
        read([tmp_path / "a.csv", tmp_path / "b.csv"]).to_arrays()


@pytest.mark.parametrize(
    "text", ["[x],{y},c\n1,2,a\n3,4,b\n", '"{x}",y\n1,a\n2,b\n', "<x>,y\n1,a\n2,b\n", "[1] x,y\n1,a\n2,b\n"]
)
def test_a_table_may_have_brackets_in_its_names(text: str) -> None:
    X, y = read(io.BytesIO(text.encode()), format="csv").to_arrays()
    assert X.shape[0] == len(y) == 2
