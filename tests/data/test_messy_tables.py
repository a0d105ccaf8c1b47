"""Tables as people have them: words, gaps, dates, row numbers and wrong columns, against plain Python."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import SGDClassifier

from data import noted, read_rows, refusal
from linsep import Perceptron, fit_source, read, separate, separation
from linsep.cli import main
from linsep.data import delimited
from linsep.data.read import options_like
from linsep.data.schema import Layout
from linsep.errors import DataNote, ParameterError, ReadError

GAPS = ("", "NA", "NaN", "null", "?")
quick = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


def open_text(text: str | bytes, **options: Any) -> Any:
    return read(io.BytesIO(text.encode() if isinstance(text, str) else text), format="csv", **options)


def one_hot(table: list[list[str]], kinds: str) -> tuple[list[list[float]], list[tuple[int, str | None]]]:
    """Return features made by hand: numbers (n) first, then a column for each word (w), in order of appearance."""
    numbers = [j for j, kind in enumerate(kinds) if kind == "n"]
    words = [j for j, kind in enumerate(kinds) if kind == "w"]
    places: dict[tuple[int, str | None], int] = {}
    found = []
    for cells in table:
        row = {k: float(cells[j]) for k, j in enumerate(numbers)}
        for j in words:
            level = (j, None if cells[j] in GAPS else cells[j])
            row[places.setdefault(level, len(numbers) + len(places))] = 1.0
        found.append(row)
    width = len(numbers) + len(places)
    return [[row.get(j, 0.0) for j in range(width)] for row in found], list(places)


# ---------------------------------------------------------------------------------------------------------------
# Words

word = st.sampled_from(["red", "blue", "Ülm", "a b", "x,y", 'say "x"', "missing", "", "NA", "7"])
number = st.integers(-9, 9).map(str)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[str]], str]:
    kinds = "".join(draw(st.lists(st.sampled_from("nw"), min_size=1, max_size=4)))
    cells = st.tuples(*(number if kind == "n" else word for kind in kinds)).map(list)
    return draw(st.lists(cells, min_size=1, max_size=12)), kinds


@quick
@given(tables(), st.sampled_from([1, 30, 1 << 20]))
def test_words_are_one_hot_columns_made_by_hand(drawn: tuple[list[list[str]], str], block_bytes: int) -> None:
    table, kinds = drawn
    names = [f"c{j}" for j in range(len(kinds))]
    out = io.StringIO()
    csv.writer(out).writerows([[*names, "class"], *([*cells, f"k{i % 2}"] for i, cells in enumerate(table))])
    words = [name for name, kind in zip(names, kinds, strict=True) if kind == "w"]
    source = open_text(out.getvalue(), categorical=words, block_bytes=block_bytes, decimal=".")
    X, y = source.to_arrays()
    expected, levels = one_hot(table, kinds)
    assert (X.toarray() if words else X).tolist() == expected
    assert y.tolist() == [f"k{i % 2}" for i in range(len(table))]
    shown = [f"c{j}={'missing' if level is None else level}" for j, level in levels]
    assert source.names == [n for n, kind in zip(names, kinds, strict=True) if kind == "n"] + shown
    if words:
        assert X.has_canonical_format
    again = open_text(out.getvalue(), layout=Layout.from_state(source.state()), target="class")
    assert read_rows(again)[0] == expected  # as a model reads it


@quick
@given(tables())
def test_typed_tables_have_the_same_columns(tmp_path_factory: pytest.TempPathFactory, drawn: Any) -> None:
    table, kinds = drawn
    path = tmp_path_factory.mktemp("typed") / "t.parquet"
    columns: dict[str, Any] = {}
    for j, kind in enumerate(kinds):
        cells = [cells[j] for cells in table]
        columns[f"c{j}"] = [float(c) for c in cells] if kind == "n" else [None if c in GAPS else c for c in cells]
        if kind == "w":
            columns[f"c{j}"] = pa.array(columns[f"c{j}"], pa.string())
    pq.write_table(pa.table({**columns, "class": ["k"] * len(table)}), path)
    words = [f"c{j}" for j, kind in enumerate(kinds) if kind == "w"]
    found, _ = read_rows(read(path, categorical=words))
    assert found == one_hot(table, kinds)[0]


@pytest.mark.slow
def test_a_million_words_have_a_million_columns() -> None:
    n = 10**6
    text = "word,class\n" + "\n".join(f"w{i},{i % 2}" for i in range(n)) + "\n"
    X, _ = open_text(text, categorical="word").to_arrays()
    assert X.shape == (n, n)
    assert np.array_equal(X.indices, np.arange(n))


def test_a_level_never_seen_has_no_weight() -> None:
    train = open_text("x,town,class\n1,Ulm,a\n2,Bonn,b\n3,,a\n")
    model = fit_source(Perceptron(shuffle=False), train)
    assert model.feature_names_in_.tolist() == ["x", "town=Ulm", "town=Bonn", "town=missing"]
    test = open_text("town,x\nParis,1\nBonn,5\nRome,2\n", **options_like(train.state(), labels=False))
    with pytest.warns(DataNote, match="2 cells hold words that did not occur in training; linsep counts them as zero"):
        assert read_rows(test)[0] == [[1, 0, 0, 0], [5, 0, 1, 0], [2, 0, 0, 0]]
    more = open_text("town,x\nParis,1\n", **options_like(train.state(), labels=False), new_levels=True)
    assert read_rows(more)[0] == [[1, 0, 0, 0, 1]]  # as for training that goes on


# ---------------------------------------------------------------------------------------------------------------
# Kinds by content


def test_a_word_that_turns_up_late() -> None:
    """After the rows that are looked at first."""
    text = "cyl,z,class\n" + "4,1,a\n6,2,b\n" * 1000 + "rotary,1,b\n" + "4,1,a\n" * 1000
    for block_bytes in (4000, 1 << 22):
        source, notes = noted(text, block_bytes=block_bytes)
        assert len(notes) == 1
        assert notes[0].startswith("input:2002: linsep reads column 'cyl' as words, because 'rotary' is not a number")
        assert source.names == ["z", "cyl=4", "cyl=6", "cyl=rotary"]
        assert read_rows(source)[0] == one_hot([row.split(",")[:2] for row in text.split()[1:]], "wn")[0]
    with pytest.warns(DataNote):
        model = fit_source(Perceptron(shuffle=False, max_iter=3), open_text(text, block_bytes=4000))
    assert model.feature_names_in_.tolist() == ["z", "cyl=4", "cyl=6", "cyl=rotary"]
    measured = "z,class\n" + "".join(f"{i / 7},{i % 2}\n" for i in range(1500)) + "3.l4,1\n"
    said = refusal(measured)
    assert said.startswith("input:1502, column 'z': '3.l4' is not a number, and as words almost all cells")


def test_a_word_that_turns_up_too_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first 16 MB, which decide what a column is, an error names the option that helps."""
    assert delimited._DECIDING >= 16 << 20
    monkeypatch.setattr(delimited, "_DECIDING", 1 << 14)
    path = tmp_path / "large.csv"
    path.write_text("cyl,z,class\n" + "4,1,a\n6,2,b\n" * 2000 + "rotary,1,b\n")
    said = "'rotary' differs in kind from the cells above (categorical='cyl' reads the column as words)"
    for source in (read(path, block_bytes=1 << 12), read(path, block_bytes=1 << 12, target="class")):
        with pytest.raises(ReadError) as caught:
            source.to_arrays()
        assert str(caught.value) == f"{path}:4002, column 'cyl': {said}"
        with pytest.raises(ReadError) as caught:
            separation(source)
        assert str(caught.value) == f"{path}:4002, column 'cyl': {said}"
    path.write_text("cyl,z,class\n" + "4,1,a\n6,2,b\n" * 500 + "rotary,1,b\n" + "4,1,a\n" * 1500)
    with pytest.warns(DataNote, match="reads column 'cyl' as words"):
        assert read(path, block_bytes=1 << 12).to_arrays()[0].shape == (2501, 4)
    with pytest.warns(DataNote, match=f"{path}:1002: linsep reads column 'cyl' as words"):
        found = separation(read(path, block_bytes=1 << 12))
    assert found.names == ["Intercept", "cyl=6", "cyl=rotary", "z"]
    parts = [tmp_path / f"{k}.csv" for k in range(2)]
    for part, cell in zip(parts, ("4", "rotary"), strict=True):
        part.write_text(f"cyl,z,class\n{cell},1,a\n6,2,b\n")
    with pytest.warns(DataNote, match="1.csv:2: linsep reads column 'cyl' as words"):
        assert read(parts).to_arrays()[0].shape == (4, 4)


def days(moment: datetime) -> float:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(days=1)


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d.%m.%y", "%Y-%m-%d %H:%M",
                                  "%d.%m.%Y %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.%f"])  # fmt: skip
def test_dates_are_days(form: str) -> None:
    moments = [datetime(1970, 1, 31, 18, 30, 15, tzinfo=UTC), datetime(2021, 12, 24, 6, 0, 1, tzinfo=UTC)]
    cells = [moment.strftime(form) for moment in moments]
    source, notes = noted(f"when,class\n{cells[0]},a\n{cells[1]},b\n")
    expected = [[days(datetime.strptime(cell, form).replace(tzinfo=UTC))] for cell in cells]
    assert np.allclose(read_rows(source)[0], expected, rtol=1e-15)
    assert len(notes) == 1
    assert "column 'when' holds dates or times, written as" in notes[0]
    assert open_text(f"when,class\n{cells[0]},a\n{cells[1]},b\n", dates=False).names is not None
    assert read_rows(open_text(f"when,class\n{cells[0]},a\n{cells[1]},b\n", dates=False))[0] == [[1, 0], [0, 1]]


def test_which_number_is_the_day() -> None:
    def first(*cells: str, **options: Any) -> float:
        text = "when,class\n" + "".join(f"{cell},a\n" for cell in cells)
        return float(read_rows(noted(text, **options)[0])[0][0][0])

    assert first("02/01/1970", "03/04/1970") == 31  # by default the month comes first
    assert first("02/01/1970", "13/01/1970") == 1
    assert first("02/01/1970", *["02/01/1970"] * 1000, "13/01/1970") == 1  # found out late
    assert first("02/01/1970", "03/04/1970", dates="%d/%m/%Y") == 1
    assert first("12:00", "06:30") == 43200  # a time of day in seconds
    assert first("1970-01-02T12:00:00Z", "1970-01-02T00:00:00+02:00") == 1.5


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_decimal_commas(delimiter: str) -> None:
    text = "size;weight;class\n1,5;2,25;yes\n-3;1.234,5;no\n0,5;7;no\n".replace(";", delimiter)
    source, notes = noted(text)
    assert read_rows(source)[0] == [[1.5, 2.25], [-3, 1234.5], [0.5, 7]]
    assert notes[0] == "input: linsep reads commas as decimal marks (decimal='.' turns this off)"
    assert open_text(text, decimal=".").layout.columns == (("size", "word"), ("weight", "word"))
    late = "a;class\n" + "1,5;x\n2;y\n" * 900 + "3,75;x\n"
    assert read_rows(noted(late, block_bytes=2000)[0])[0][-1] == [3.75]
    assert read_rows(open_text("a;b;class\n1,5;2;x\n", decimal=","))[0] == [[1.5, 2]]
    with pytest.raises(ParameterError, match="decimal must be"):
        open_text(text, decimal=":")


# ---------------------------------------------------------------------------------------------------------------
# Columns that are no features, and labels


@pytest.mark.parametrize("form", ["svm", "npy", "npz"])
def test_labels_of_other_files(tmp_path: Path, form: str) -> None:
    path, y = tmp_path / f"t.{form}", np.array([0.5, 1.5, 0.5])
    if form == "svm":
        path.write_text("0.5 1:1\n1.5 1:2\n0.5 1:3\n")
    elif form == "npy":
        np.save(path, np.column_stack((np.eye(3), y)))
    else:
        np.savez(path, X=np.eye(3), y=y)
    with pytest.raises(ReadError, match="the labels are numbers with fractions"):
        read(path).to_arrays()
    if form == "npy":
        assert read_rows(read(path, target=-1))[1] == y.tolist()  # the user is right


def test_a_target_that_is_named_is_right() -> None:
    source = open_text("x,price\n1,0.5\n2,0.5\n5,1.5\n6,1.5\n", target="price")
    assert fit_source(Perceptron(), source).classes_.tolist() == [0.5, 1.5]
    X, y = source.to_arrays()
    assert separate(X, y).kind == "separable"
    with pytest.raises(ValueError, match="Unknown label type"):
        Perceptron().fit(X, y)  # as scikit-learn's contract has it
    with pytest.raises(ValueError, match="Unknown label type"):
        separate(np.arange(163.0)[:, None], np.arange(163) + 0.5)


def test_labels_of_typed_tables(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": range(4), "sex": list("mffm"), "price": [1.5, 2.0, 2.5, 3.0]}), path)
    with pytest.raises(ReadError, match=r"'price', but it holds numbers with fractions.*target='sex'"):
        read(path)
    with pytest.warns(DataNote, match="leaves out column 'id': it only numbers the rows"):
        assert read(path, target="sex").names == ["price"]


# ---------------------------------------------------------------------------------------------------------------
# Texts, and lines that are no rows


def quiet_text(text: str, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        return open_text(text, **options)


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
        ours = fit_source(
            Perceptron(keep="auto"), quiet_text("\n".join(text.split("\n")[: half + 1]) + "\n"), scale="auto"
        )
        found = [ours.predict({"message": each}) for each in texts[half:]]
    sgd = SGDClassifier(average=True, random_state=0).fit(theirs[:half], y[:half])
    assert np.mean(np.array(found) != y[half:]) <= np.mean(sgd.predict(theirs[half:]) != y[half:]) + 0.03


def test_lines_that_are_no_rows() -> None:
    table = "a,y\n1,0\n2,1\n"
    with pytest.warns(DataNote, match="skips the first 2 lines, which begin with #"):
        source = read(io.BytesIO(f"# made by hand\n# 2024\n{table}".encode()), format="csv")
    assert source.to_arrays()[0].tolist() == [[1], [2]]
    assert [place.line for place in source.locate([0, 1])] == [4, 5]
    assert quiet_text(f"title of the export\n\n{table}", skip_rows=1).to_arrays()[0].tolist() == [[1], [2]]
    inside = quiet_text("a,y\n1,0\n# a remark, with a comma\n2,1\n", comment="#")
    assert inside.to_arrays()[0].tolist() == [[1], [2]]
    assert inside.locate([1])[0].line == 4
    assert quiet_text("#a,y\n1,0\n2,1\n").names == ["#a"]  # a header
    late = quiet_text("# x\n# y\na,y\n1,0\nNA,1\n")
    with pytest.raises(ReadError, match="input:5, column 'a'"):
        late.to_arrays()
    assert quiet_text("# x\n1,0\n2,1\n").to_arrays()[0].tolist() == [[1], [2]]  # without a header


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


# ---------------------------------------------------------------------------------------------------------------
# Encodings and several files


def test_encodings() -> None:
    text = "größe,ort,class\n1,Köln,ä\n2,Ulm,b\n"
    for encoding in ("utf-8", "utf-8-sig"):
        assert read_rows(open_text(text.encode(encoding)))[1] == ["ä", "b"]
    for encoding in ("latin-1", "cp1252", "utf-16", "utf-16-le"):
        source = open_text(text.encode(encoding), encoding=encoding)
        assert (read_rows(source)[1], source.names) == (["ä", "b"], ["größe", "ort=Köln", "ort=Ulm"])
    source, notes = noted(text.encode("utf-16"))
    assert source.names == ["größe", "ort=Köln", "ort=Ulm"]
    assert notes == ["input: the text is UTF-16 (encoding='utf-8' reads it as UTF-8)"]
    said = "the text is not UTF-8: give its encoding, such as encoding='latin-1'"
    assert refusal(text.encode("latin-1")) == f"input:1: {said}"
    late = b"x,ort,class\n" + b"1,Ulm,a\n" * 90_000 + "2,Köln,b\n".encode("latin-1")
    assert refusal(late) == f"input:90002: {said}"
    assert refusal(text.encode("utf-16")[:-1], encoding="utf-16").startswith("input: the text is not utf-16")
    with pytest.raises(ParameterError, match="encoding must be a known one"):
        open_text(text, encoding="klingon")


def test_files_whose_columns_are_in_another_order(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("x,town,class\n1,Ulm,a\n2,Bonn,b\n")
    (tmp_path / "2.csv").write_text("class,more,town,x\nb,0,Rom,3\na,0,Ulm,4\n")
    source = read([tmp_path / "1.csv", tmp_path / "2.csv"])
    assert read_rows(source) == ([[1, 1, 0, 0], [2, 0, 1, 0], [3, 0, 0, 1], [4, 1, 0, 0]], ["a", "b", "b", "a"])
    (tmp_path / "1.csv").write_text("x,z,class\n1,5,a\n")
    (tmp_path / "2.csv").write_text("class,x,z\nb,2,6\n")
    assert read_rows(read(str(tmp_path / "*.csv"))) == ([[1, 5], [2, 6]], ["a", "b"])
    (tmp_path / "2.csv").write_text("class,x\nb,2\n")
    with pytest.raises(ReadError, match=r"2\.csv:1: the header differs from that of .*: no column is named 'z'"):
        read([tmp_path / "1.csv", tmp_path / "2.csv"]).to_arrays()
    (tmp_path / "2.csv").write_text("")
    with pytest.raises(ReadError, match=r"2\.csv: is empty"):
        read([tmp_path / "1.csv", tmp_path / "2.csv"]).to_arrays()


def test_shards_agree_on_their_words(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    from linsep.cluster.shards import cut
    from linsep.cluster.workers import load, words_of

    towns = ["Ulm"] * 30 + ["Bonn"] * 30 + ["Rom", "Ulm"] * 30
    path = tmp_path / "t.csv"
    path.write_text("x,town,class\n" + "".join(f"{i % 7},{town},{i % 2}\n" for i, town in enumerate(towns)))
    whole, _ = read(path).to_arrays()
    source, shards = cut(read(path), 300)
    assert len(shards) > 3
    source.take_categories([words_of((source, shard)) for shard in shards])
    parts = [block.X.tocsr() for shard in shards for block in load(shard, source).blocks]
    assert np.array_equal(sp.vstack(parts).toarray(), whole.toarray())


# ---------------------------------------------------------------------------------------------------------------
# What became of the columns


def test_a_table_of_columns() -> None:
    text = "id,x,town,when,class\n1,5,Ulm,2020-01-01,a\n2,,Bonn,2020-01-03,b\n3,-1,,2020-01-02,a\n"
    source, _ = noted(text, missing="zero")
    found = {column.name: column for column in source.describe()}
    assert list(found) == ["id", "x", "town", "when", "class"]
    assert found["id"].usage == "left out: it only numbers the rows"
    assert found["x"][1:] == ("number", None, (-1.0, 5.0), 1, "1 feature")
    assert found["town"][1:] == ("word", 3, None, 1, "3 features, 1 for each word")
    assert found["when"][1:5] == ("date", None, (18262.0, 18264.0), 0)
    assert found["class"][1:] == ("label", 2, None, 0, "the label")


def test_a_layout_that_is_damaged() -> None:
    state = open_text("x,town,class\n1,Ulm,a\n").state()
    for name, wrong in [("kinds", ["number", "verb"]), ("hash_bits", 99), ("names", ["x"]), ("hash_bits", "many"),
                        ("level_columns", [7]), ("level_words", 3)]:  # fmt: skip
        damaged = {**state, "level_columns": np.array([1]), "level_words": ["Ulm"], name: wrong}
        with pytest.raises(ValueError, match="the model's record of its columns is damaged"):
            Layout.from_state(damaged)
    del state["names"]
    with pytest.raises(ValueError, match="damaged"):
        Layout.from_state(state)


@pytest.mark.parametrize("form", ["csv", "libsvm", "npy"])
def test_reading_loads_no_more_than_it_needs(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{form}"
    if form == "npy":
        np.save(path, np.eye(3))
    else:
        path.write_text("1,2,a\n3,4,b\n" if form == "csv" else "1 1:2\n-1 2:1\n")
    code = f"import sys, linsep; linsep.read({str(path)!r}).to_arrays(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"sklearn", "scipy.stats", "matplotlib", "pandas", "pyarrow.parquet", "rich", "distributed"}
    assert not heavy & set(loaded)
    assert ("pyarrow" in loaded) == (form == "csv")
    assert ("scipy.sparse" in loaded) == (form == "libsvm")


# ---------------------------------------------------------------------------------------------------------------
# Anything at all

messy = st.sampled_from(
    ["1", "-2.5", "3,5", "1.234,5", '"1,234"', "12%", "true", "FALSE", "2020-01-31", "31.1.2020", "1/2/20", "10:30", "",
     "NA", "?", "red", "blue", '"a\nb"', '"', "Ä", " x", "1e9", "inf", "nan", "\x00", "1 000", "=", "0x1"]
)  # fmt: skip


@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.lists(messy, min_size=1, max_size=4), min_size=1, max_size=14),
    st.sampled_from([",", ";", "\t", ";;"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]),
    st.sampled_from(["error", "zero", "drop", "indicator"]),
)
def test_any_cells_in_any_encoding(
    tmp_path_factory: pytest.TempPathFactory, table: list[list[str]], delimiter: str, encoding: str, missing: str
) -> None:
    """Rows or one line that names the file; the size of the blocks does not show."""
    path = tmp_path_factory.mktemp("any") / "any.csv"
    path.write_bytes("".join(delimiter.join(cells) + "\n" for cells in table).encode(encoding))
    outcomes = []
    for block_bytes in (7, 1 << 20):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataNote)
            try:
                found: Any = read_rows(read(path, missing=missing, block_bytes=block_bytes, target=-1))
            except ReadError as error:
                assert "\n" not in str(error)  # noqa: PT017
                assert str(error).startswith(str(path))  # noqa: PT017
                found = None
        outcomes.append(found)
    assert outcomes[0] == outcomes[1]


# ---------------------------------------------------------------------------------------------------------------
# Sizes that lie


def test_an_index_that_asks_for_too_many_features(tmp_path: Path) -> None:
    path = tmp_path / "t.svm"
    path.write_text("1 268435456:1\n-1 1:1\n")
    with pytest.raises(
        ReadError, match=r"t\.svm:1: the index of '268435456:1' is above the limit on features \(max_feat"
    ):
        read(path).to_arrays()
    assert read(path, max_features=2**29).to_arrays()[0].shape == (2, 2**28)
    assert read(path, n_features=2**28).to_arrays()[0].shape == (2, 2**28)


def test_a_factor_of_thousands_of_words_is_not_an_id(tmp_path):
    """In the first thousand rows nine words in ten differ, but each comes a dozen times in the file."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, 5000, 60_000)
    lines = [f"w{word},{word % 2 ^ (k % 7 == 0)}" for k, word in enumerate(words.tolist())]
    (tmp_path / "words.csv").write_text("\n".join(["word,y", *lines]) + "\n")
    X, _ = read(tmp_path / "words.csv", target="y").to_arrays()
    assert X.shape[1] > 4900
