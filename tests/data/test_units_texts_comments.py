"""Cells with units, columns of sentences, lines that are no rows, labels that nobody meant."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import SGDClassifier

from linsep import Perceptron, fit_source, read, separate
from linsep.cli import main
from linsep.errors import DataNote, ReadError


def opened(text: str, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        return read(io.BytesIO(text.encode()), format="csv", **options)


@pytest.mark.parametrize(("cells", "numbers"), [
    (["12.30 kg", "-3kg", "0 kg"], [12.3, -3, 0]),
    (["$12.30", "-$1.50", "$ 7"], [12.3, -1.5, 7]),
    (["12,30 €", "7 €", "1.234,50 €"], [12.3, 7, 1234.5]),
    (["3,5 %", "4 %", "12,25 %"], [3.5, 4, 12.25]),
    (["45 min", "7 min", "120 min"], [45, 7, 120]),
    (["USD 1'200", "USD 3", "USD 12"], [1200, 3, 12]),
    (["1 234 km/h", "5 km/h", "77 km/h"], [1234, 5, 77]),
])  # fmt: skip
def test_numbers_with_one_unit_are_numbers(cells: list[str], numbers: list[float]) -> None:
    text = "a;y\n" + "".join(f"{cell};{k % 2}\n" for k, cell in enumerate(cells))
    source = opened(text)
    assert source.to_arrays()[0].ravel().tolist() == numbers
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        read(io.BytesIO(text.encode()), format="csv")
    assert any("column 'a' holds" in str(note.message) for note in notes)


def test_several_units_of_one_quantity_are_an_error() -> None:
    text = "a,y\n3 kg,0\n500 g,1\n"
    with pytest.raises(ReadError, match=r"column 'a': mixes the units 'kg', 'g'.*categorical='a'.*ignore='a'"):
        opened(text)
    assert opened(text, categorical="a").to_arrays()[0].toarray().tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("cells", [["(12.50)", "3"], ["−12.5", "3"], ["12.50-", "3"], ["5%", "0.2"], ["–3", "(4)"]])
def test_numbers_in_another_notation_are_an_error_and_no_words(cells: list[str]) -> None:
    text = "a;y\n" + "".join(f"{cell};{k % 2}\n" for k, cell in enumerate(cells))
    with pytest.raises(ReadError, match=r"column 'a': .* looks like a number .*categorical='a'.*ignore='a'"):
        opened(text)
    assert opened(text, categorical="a").to_arrays()[0].toarray().tolist() == [[1, 0], [0, 1]]
    labels = opened("x;y\n" + "".join(f"{k};{cell}\n" for k, cell in enumerate(cells)))
    assert [str(label) for label in labels.to_arrays()[1]] == cells


@pytest.mark.parametrize(
    "cells",
    [["30W", "32L"], ["1st", "2nd"], ["A12", "A7"], ["3 apples", "4 pears"], ["1.2.3", "1.2.4"], ["10-20", "20-30"]],
)
def test_codes_are_words(cells: list[str]) -> None:
    assert opened("a,y\n" + "".join(f"{cell},{k}\n" for k, cell in enumerate(cells))).layout.columns[0][1] == "word"


def words(text: str) -> list[str]:
    return text.split()


def messages(n: int = 300) -> tuple[list[str], list[int]]:
    rng = np.random.default_rng(0)
    ham = words("are you coming home for dinner tonight i will be late see you at the station thanks for the lift")
    spam = words("free prize call now win cash claim your award urgent mobile number guaranteed reply stop")
    labels = (rng.random(n) < 0.4).astype(int).tolist()
    return [
        " ".join(rng.choice(spam if label and rng.random() < 0.5 else ham) for _ in range(rng.integers(6, 14)))
        for label in labels
    ], labels


def test_a_column_of_sentences_is_a_text() -> None:
    texts, labels = messages()
    text = "message,spam\n" + "".join(f'"{each}!",{label}\n' for each, label in zip(texts, labels, strict=True))
    with pytest.warns(DataNote, match=r"holds texts: a feature for each word.*categorical='message'.*ignore='message'"):
        source = read(io.BytesIO(text.encode()), format="csv")
    X, y = source.to_arrays()
    counter = CountVectorizer(token_pattern=r"\w+")
    theirs = counter.fit_transform(texts)
    own = [name.removeprefix("message=") for name in source.names]
    assert sorted(own) == sorted(counter.vocabulary_)
    assert (X[:, [own.index(word) for word in counter.get_feature_names_out()]] != theirs).nnz == 0
    half = len(y) // 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = fit_source(Perceptron(keep="auto"), opened("\n".join(text.split("\n")[: half + 1]) + "\n"), scale="auto")
        found = [ours.predict({"message": each}) for each in texts[half:]]
    sgd = SGDClassifier(average=True, random_state=0).fit(theirs[:half], y[:half])
    assert np.mean(np.array(found) != y[half:]) <= np.mean(sgd.predict(theirs[half:]) != y[half:]) + 0.03


def test_names_and_ids_are_no_texts() -> None:
    names = [f"{a} {b} van {c}" for a in ("Anna", "Ben", "Carl") for b in ("Ada", "Bo") for c in ("Dam", "Ende")]
    rows = "".join(f'"{name}",{k},{k % 2}\n' for k, name in enumerate(names))
    assert [name for name, _ in opened("who,x,y\n" + rows).layout.columns] == ["x"]


def test_lines_that_are_no_rows() -> None:
    table = "a,y\n1,0\n2,1\n"
    with pytest.warns(DataNote, match="skips the first 2 lines, which begin with #"):
        source = read(io.BytesIO(f"# made by hand\n# 2024\n{table}".encode()), format="csv")
    assert source.to_arrays()[0].tolist() == [[1], [2]]
    assert [place.line for place in source.locate([0, 1])] == [4, 5]
    assert opened(f"title of the export\n\n{table}", skip_rows=1).to_arrays()[0].tolist() == [[1], [2]]
    inside = opened("a,y\n1,0\n# a remark, with a comma\n2,1\n", comment="#")
    assert inside.to_arrays()[0].tolist() == [[1], [2]]
    assert inside.locate([1])[0].line == 4
    assert opened("#a,y\n1,0\n2,1\n").names == ["#a"]  # a header
    late = opened("# x\n# y\na,y\n1,0\nNA,1\n")
    with pytest.raises(ReadError, match="input:5, column 'a'"):
        late.to_arrays()
    assert opened("# x\n1,0\n2,1\n").to_arrays()[0].tolist() == [[1], [2]]  # without a header


@pytest.mark.filterwarnings("ignore::linsep.errors.DataNote")
def test_a_proof_knows_the_lines_that_are_no_rows(tmp_path: Path) -> None:
    path, proof = tmp_path / "t.csv", tmp_path / "p.json"
    path.write_text("# one\n# two\nw,t,y\n3 kg,a b,0\n# three\n5 kg,b b c,1\n")
    for end, options in ((0, ["--proof", str(proof)]), (0, None)):
        arguments = ["separate", str(path), "--text", "t", "--comment", "#", "--quiet", *(options or [])]
        if options is None:
            arguments = ["verify", str(proof), str(path), "--plain", "--quiet"]
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == end
    reading = json.loads(proof.read_text())["data"]["reading"]
    assert reading["comment"] == "#"
    assert {"column": "t", "kind": "text", "level": "b"} in reading["columns"]
    assert {"column": "w", "kind": "unit:kg"} in reading["columns"]


def test_a_label_that_nobody_meant() -> None:
    rows = "".join(f"{k % 2},name{k}\n" for k in range(30))
    with pytest.warns(DataNote, match=r"the label is the last column, 'who', with 30 classes in 30 rows.*'sex'"):
        read(io.BytesIO(f"sex,who\n{rows}".encode()), format="csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(io.BytesIO(f"sex,who\n{rows}".encode()), format="csv", target="who")
    with pytest.raises(ValueError, match="Unknown label type"):
        separate(np.arange(163.0)[:, None], np.arange(163) + 0.5)


def test_dropped_rows_have_gaps_among_words_too() -> None:
    with pytest.warns(DataNote, match="drops 2 of 4 rows because of missing cells: 1 in column 'a', 1 in column 't'"):
        X, _ = read(io.BytesIO(b"a,t,y\n1,x,0\n,x,1\n3,,0\n4,z,1\n"), format="csv", missing="drop").to_arrays()
    assert X.toarray().tolist() == [[1, 1, 0], [4, 0, 1]]
