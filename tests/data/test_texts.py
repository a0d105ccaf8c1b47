"""Small texts, each with what it is read as, written by hand: rows, labels, names, kinds, notes, or one line."""

from __future__ import annotations

import io
from typing import Any

import pytest

from data import noted, read_rows, refusal
from linsep import read

DROP = {"missing": "drop"}
PEOPLE = "name,x,class\n" + "".join(f"person {i},{i % 3},{i % 2}\n" for i in range(30))
NAMES = [f"{a} {b} van {c}" for a in ("Anna", "Ben", "Carl") for b in ("Ada", "Bo") for c in ("Dam", "Ende")]
SIGNS = "1 1:1 2:2\n1 1:nan 2:2\n-1 2:3\n"
TOWNS = "x,town,class\n1,Ulm,a\n,NA,b\nNA,Ulm,b\n4,?,a\n"
SIZES = "no,size,kind\n1,10,a\n2,20,b\n"


def column(*cells: str, name: str = "v", delimiter: str = ",") -> str:
    """Return a table of a column and labels."""
    return f"{name}{delimiter}class\n" + "".join(f"{cell}{delimiter}k{i}\n" for i, cell in enumerate(cells))


READ: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # the header
    ("1,2,0\n3,4,1\n", {}, {"rows": [[1, 2], [3, 4]], "labels": [0, 1], "names": None}),
    ("a,b,y\n1,2,0\n", {}, {"rows": [[1, 2]], "labels": [0], "names": ["a", "b"]}),
    ("1,2,0\n3,4,1\n", {"header": True}, {"rows": [[3, 4]], "labels": [1]}),
    ("x,y\nx,z\n", {"header": False}, {"labels": ["y", "z"]}),
    ("x,x,e\nx,y,p\n", {}, {"labels": ["e", "p"]}),  # a name twice: words, not names
    ("\ufeffa,y\n1,0\n", {"target": "a"}, {"rows": [[0]], "labels": [1]}),  # byte order mark
    ("[x],{y},c\n1,2,a\n3,4,b\n", {}, {"rows": [[1, 2], [3, 4]], "labels": ["a", "b"]}),
    ('"{x}",y\n1,a\n2,b\n', {}, {"rows": [[1], [2]]}),
    ("<x>,y\n1,a\n2,b\n", {}, {"names": ["<x>"]}),
    ("[1] x,y\n1,a\n2,b\n", {}, {"names": ["[1] x"]}),
    *((text, {}, {"names": None, "n": text.count("\n")}) for text in (
        "0,1,a\n1,0,b\n0,0,a\n1,1,b\n",  # the word above is a label below
        "0,1,2\n3,4,5\n6,7,8\n9,10,11\n",  # nothing repeats: no labels
        "0,1,1\n1,0,0\n0,0,0\n1,1,1\n",
        "0,1,2\n0,0,2\n1,1,0\n1,0,1\n",  # the number above is a label below
        "1,2,x\n3,4,y\n5,6,x\n",
        "0,y\n1,n\n0,y\n",
    )),
    ("1,2,x\n3,4,y\n5,6,y\n", {}, {"n": 3, "labels": ["x", "y", "y"], "notes": ["header=True"]}),  # too few to tell
    *(("a,b,y\n1.5,2,no\n3,4,yes\n".replace(",", sign), {}, {"rows": [[1.5, 2], [3, 4]], "labels": ["no", "yes"]})
      for sign in ",;\t| "),
    # the label
    (SIZES, {}, {"labels": ["a", "b"]}),
    (SIZES, {"target": "size", "ignore": "kind"}, {"rows": [[1], [2]], "labels": [10, 20]}),
    (SIZES, {"target": 0, "ignore": ["kind"]}, {"rows": [[10], [20]], "labels": [1, 2]}),
    (SIZES, {"target": "kind", "labels": False}, {"rows": [[1, 10], [2, 20]], "labels": None}),
    ("a,y\n1,no\n2,yes\n", {"positive": "yes"}, {"labels": ["no", "yes"]}),
    ("1 1:1\n-1 1:2\n", {"positive": "+1"}, {"labels": [1, -1]}),
    ("x,n\n" + "".join(f"{i % 3},{i % 60}\n" for i in range(900)), {}, {"n": 900}),
    (column(*NAMES, name="sex"), {"target": "class", "categorical": "sex"}, {"n": 12}),
    ("sex,who\n" + "".join(f"{k % 2},name{k}\n" for k in range(30)), {"target": "who"}, {"n": 30}),
    ("sex,who\n" + "".join(f"{k % 2},name{k}\n" for k in range(30)), {}, {
        "notes": ["the label is the last column, 'who', with 30 classes in 30 rows", "'sex'"]}),
    ("class;v\nk;(12.50)\nk;3\n", {}, {"labels": ["(12.50)", 3]}),
    # a comma behind a 0 alone is a decimal one; times are no pairs of LIBSVM
    ('x,y\n"0,512",a\n"0,250",b\n"1,250",a\n', {}, {"rows": [[0.512], [0.25], [1.25]], "notes": ["decimal marks"]}),
    ('x,y\n"1,512",a\n"2,250",b\n', {}, {"rows": [[1512], [2250]], "notes": ["thousands"]}),
    ("t\tx\ty\n12:30\t1\ta\n13:30\t2\tb\n", {}, {"rows": [[45000, 1], [48600, 2]], "notes": ["times of day"]}),
    ("class;v\nk;−12.5\nk;3\n", {}, {"labels": ["−12.5", 3]}),
    ("class;v\nk;5%\nk;0.2\n", {}, {"labels": ["5%", 0.2]}),
    # words
    ("town,class\nUlm,a\nBonn,b\n", {}, {"rows": [[1, 0], [0, 1]], "names": ["town=Ulm", "town=Bonn"]}),
    ("town,class\nUlm,a\nBonn,b\n", {"hash_bits": 4}, {"kinds": ["category"], "n": 2, "width": 16}),
    ("cyl,z,class\n" + "4,1,a\n6,2,b\n" * 5 + "rotary,1,b\n", {}, {
        "names": ["z", "cyl=4", "cyl=6", "cyl=rotary"],
        "notes": ["input:12: linsep reads column 'cyl' as words, because 'rotary' is not a number "
                  "(numeric='cyl' makes this an error)"]}),
    *((column(*cells), {}, {"kinds": ["word"]}) for cells in (
        ["30W", "32L"], ["1st", "2nd"], ["A12", "A7"], ["3 apples", "4 pears"], ["1.2.3", "1.2.4"], ["10-20", "20-30"],
        ['"1,234"', "5678"])),
    (column('"1,234"', '"5,678"'), {"thousands": ""}, {"kinds": ["word"]}),
    ("w,class\n" + "".join(f"w{i},{i % 2}\n" for i in range(50)), {"categorical": "w"}, {"n": 50, "width": 50}),
    # missing cells
    (TOWNS, {"missing": "zero"}, {"rows": [[1, 1, 0], [0, 0, 1], [0, 1, 0], [4, 0, 1]]}),
    (TOWNS, DROP, {"rows": [[1, 1]], "notes": ["linsep drops 3 of 4 rows"]}),
    (TOWNS, {"missing": "indicator"}, {
        "rows": [[1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 1, 0], [4, 0, 0, 1]],
        "names": ["x", "town=Ulm", "x=missing", "town=missing"]}),
    ("x,class\n1,a\n-9,b\n", {"gaps": ["-9"], "missing": "indicator"}, {"rows": [[1, 0], [0, 1]]}),
    ("x,class\n1,a\n2,b\n", {"missing": "indicator"}, {"rows": [[1], [2]]}),
    ("x,class\nNA,a\n2,b\n", {"gaps": [""]}, {"kinds": ["word"]}),
    ("a,t,y\n1,x,0\n,x,1\n3,,0\n4,z,1\n", DROP, {
        "rows": [[1, 1, 0], [4, 0, 1]],
        "notes": ["drops 2 of 4 rows because of missing cells: 1 in column 'a', 1 in column 't'"]}),
    # columns that only name the rows
    (PEOPLE, {}, {"names": ["x"], "notes": [
        "input: linsep leaves out column 'name': almost every row has a different word, as in an ID "
        "(categorical='name' keeps it)"]}),
    (PEOPLE, {"categorical": "name"}, {"n": 30, "width": 31}),
    ("who,x,y\n" + "".join(f'"{name}",{k},{k % 2}\n' for k, name in enumerate(NAMES)), {}, {
        "names": ["x"], "notes": ["leaves out column 'who'"]}),  # names are no texts
    ("id,class\n1,a\n2,b\n3,a\n", {}, {"names": ["id"]}),  # there is nothing else
    # LIBSVM text
    ("1 1:1 3:3\n-1 2:2\n", {}, {"rows": [[1, 0, 3], [0, 2, 0]], "labels": [1, -1]}),
    ("1 1:1 3:3\n-1 0:2\n", {"zero_based": True}, {"rows": [[0, 1, 0, 3], [2, 0, 0, 0]]}),
    ("1 1:1\n", {"zero_based": True}, {"rows": [[0, 1]]}),
    ("1 1:1\n", {"n_features": 3}, {"rows": [[1, 0, 0]]}),
    ("1 0:1\n", {"n_features": 3, "zero_based": True}, {"rows": [[1, 0, 0]]}),
    ("1 3:1\n", {"n_features": 3}, {"rows": [[0, 0, 1]]}),
    (SIGNS, {"missing": "zero"}, {"rows": [[1, 2], [0, 2], [0, 3]]}),
    (SIGNS, DROP, {"rows": [[1, 2], [0, 3]], "labels": [1, -1], "notes": ["linsep drops 1 of 3 rows"]}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "options", "expected"), READ)
def test_a_text_is_read_as(text: str, options: dict[str, Any], expected: dict[str, Any]) -> None:
    source, notes = noted(text, **options)
    rows, labels = read_rows(source)
    there = {
        "rows": rows,
        "labels": labels,
        "names": source.names,
        "kinds": source.layout and [kind for _, kind in source.layout.columns],
        "n": len(rows),
        "width": len(rows[0]),
    }
    parts = expected.get("notes", [])
    assert {**there, "notes": parts} | expected == {**there, "notes": parts}
    assert len(notes) == bool(parts)
    assert all(part in notes[0] for part in parts)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    # nothing to read
    ("", {}, "input: is empty"),
    ("\n\n", {}, "input: is empty"),
    ("a,b\n", {}, "input: no rows"),
    ("# only words\n", {"format": "libsvm"}, "input: no rows"),
    ("", {"format": "libsvm"}, "input: no rows"),
    ("a,y\n1,\n", DROP, "input: no row is left: linsep drops 1 of 1 rows because of missing cells: 1 in column 'y' "
     "(missing='drop')"),
    # columns and labels
    ("a,a,y\n1,2,3\n", {}, "two columns are named 'a'"),
    (SIZES, {"target": "knd"}, "input: no column is named 'knd'; did you mean 'kind'?"),
    (SIZES, {"target": 7}, "no column has the number 7"),
    ("a,y\n1,no\n2,yes\n", {"positive": "maybe"}, "no row has the label 'maybe'; there are 'no', 'yes'"),
    ("sex,size,price\n" + "".join(f"{'mf'[i % 2]},{i % 40},{i * 1.5}\n" for i in range(80)), {},
     "input: the label would be the last column, 'price', but it holds numbers with fractions, such as 1.5: name "
     "the label column with target='sex'; columns with few values: 'sex'"),
    ("x,n\n" + "".join(f"{i % 3},{i % 60}\n" for i in range(120)), {}, "it holds 60 different numbers in 120 rows"),
    ("three,two,price\n" + "".join(f"{i % 3},{i % 2},{i * 1.5}\n" for i in range(80)), {},
     "target='two'; columns with few values: 'two', 'three'"),
    # cells, named with the line that an editor shows
    (TOWNS, {}, "input:3, column 'x': a missing value (missing='zero' or missing='drop' or missing="),
    ('a,b,y\n\n1,"two\nlines",1\n\n2,x,0\nx,x,1\n', {"numeric": "a"}, "input:7, column 'a': 'x' is not a number"),
    ("1,2,0\n3,x,1\n5,6,1\n", {"header": False, "numeric": 1}, "input:2, column 1: 'x' is not a number"),
    ("cyl,z,class\n" + "4,1,a\n6,2,b\n" * 5 + "rotary,1,b\n", {"numeric": "cyl"},
     "input:12, column 'cyl': 'rotary' is not a number"),
    ("w,class\n" + "".join(f"w{i},{i % 2}\n" for i in range(50)), {"categorical": "w", "max_features": 20},
     "more than 20 features, one for each word (hash_bits=18 hashes words"),
    # LIBSVM text
    ("1 1:1\n1 0:1\n", {}, "input:2: '0:1' has index 0, but indices start at 1 unless zero_based=True"),
    ("1 4:1\n", {"n_features": 3}, "input:1: the index of '4:1' is beyond"),
    ("1 0:1\n1 3:1\n", {"n_features": 3, "zero_based": True}, "input:2: the index of '3:1' is beyond"),
    (SIGNS, {}, "input:2: nan is a missing value"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "options", "message"), REFUSED)
def test_a_text_is_refused_in_one_line(text: str, options: dict[str, Any], message: str) -> None:
    refused = refusal(text, **options)
    assert message in refused
    assert refusal(text, block_bytes=7, **options).partition("(")[0] == refused.partition("(")[0]


# cells -> numbers, and what the note says that they hold
SPELLINGS = [
    (["12%", "3.5%"], [12, 3.5], "percentages"),
    (["25 %", " 5 %"], [25, 5], "percentages"),
    (["TRUE", "False"], [1, 0], "true and false"),
    (["1,234", "-12,345.5", "7"], [1234, -12345.5, 7], "numbers with ',' as thousands separator"),
    (["1'234", "12"], [1234, 12], "as thousands separator"),
    (["1 234 567", "12"], [1234567, 12], "as thousands separator"),
    (["12.30 kg", "-3kg", "0 kg"], [12.3, -3, 0], "numbers with the unit kg"),
    (["$12.30", "-$1.50", "$ 7"], [12.3, -1.5, 7], "numbers with the unit $"),
    (["12,30 €", "7 €", "1.234,50 €"], [12.3, 7, 1234.5], "numbers with the unit €"),
    (["3,5 %", "4 %", "12,25 %"], [3.5, 4, 12.25], "percentages"),
    (["45 min", "7 min", "120 min"], [45, 7, 120], "numbers with the unit min"),
    (["USD 1'200", "USD 3", "USD 12"], [1200, 3, 12], "numbers with the unit USD"),
    (["1 234 km/h", "5 km/h", "77 km/h"], [1234, 5, 77], "numbers with the unit km/h"),
]


@pytest.mark.parametrize(("cells", "values", "kind"), SPELLINGS)
def test_numbers_in_other_spellings(cells: list[str], values: list[float], kind: str) -> None:
    text = column(*cells, delimiter=";")
    source, notes = noted(text)
    assert [row[0] for row in read_rows(source)[0]] == values
    assert "column 'v' holds" in notes[-1]
    assert kind in notes[-1]
    assert len(notes) == 1 + ("commas as decimal marks" in notes[0])
    one_hot = [[float(i == j) for j in range(len(cells))] for i in range(len(cells))]
    assert read_rows(noted(text, categorical="v")[0])[0] == one_hot
    source, notes = noted("v;class\n" + f"{cells[0]};a\n" * 1500 + "odd;b\n")
    assert source.layout.columns == (("v", "word"),)
    assert "because 'odd' is not a number" in notes[-1]


@pytest.mark.parametrize(("cells", "message"), [
    (["3 kg", "500 g"], "mixes the units 'kg', 'g'"),
    *((cells, "looks like a number") for cells in (
        ["(12.50)", "3"], ["−12.5", "3"], ["12.50-", "3"], ["5%", "0.2"], ["–3", "(4)"], ["12%", "13"])),
])  # fmt: skip
def test_notations_that_nobody_can_read_for_sure(cells: list[str], message: str) -> None:
    text = column(*cells, delimiter=";")
    refused = refusal(text)
    assert refused.startswith("input, column 'v': ")
    assert message in refused
    assert "categorical='v'" in refused
    assert "ignore='v'" in refused
    assert read_rows(text, categorical="v")[0] == [[1, 0], [0, 1]]


@pytest.mark.parametrize(("cells", "message"), [
    (['"1,249.50"', "12.25"], "numbers with fractions, such as 1249.5"),
    (["12.5%", "3%"], "numbers with fractions, such as 12.5"),
    ([f"2026-{m:02}-{d:02}" for m in range(1, 7) for d in range(1, 13)], "72 different dates in 144 rows"),
])  # fmt: skip
def test_labels_that_are_measurements_in_other_spellings(cells: list[str], message: str) -> None:
    text = "kind,v\n" + "".join(f"{'ab'[i % 2]},{cell}\n" for i, cell in enumerate(cells * 2))
    refused = refusal(text)
    assert message in refused
    assert "target='kind'" in refused
    assert len(set(read_rows(text, target="v")[1])) == len(cells)


def test_rows_grow_wider() -> None:
    source = read(io.BytesIO(b"1 1:1\n1 5:1\n1 2:1\n"), block_bytes=1)
    assert source.n_features == 0
    assert [block.X.shape[1] for block in source] == [1, 5, 5]
    assert [block.X.shape[1] for block in source] == [5, 5, 5]
    assert source.n_features == 5
