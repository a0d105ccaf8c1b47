"""Three checkers give one of three answers, the same, about proofs of every kind with anything in them changed.

The answers: the proof holds, it does not, it is not a proof. About files, a third answer is that they cannot be read.
"""

import copy
import json
import random
from contextlib import suppress
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from test_separation_proofs import FAMILIES
from test_separation_proofs import proofs as separation_proofs

import linsep
from data import sealed
from javascript import answered, answered_of_files
from linsep.prove.check import linsep_check
from linsep.prove.check.linsep_check import Fails, meaning_of, table

PAGE = Path(__file__).parents[2] / "docs" / "proof-format.md"
SCHEMA = jsonschema.Draft202012Validator(json.loads(PAGE.with_name("proof-schema.json").read_text(encoding="utf-8")))
WHOLE = [0, 1, 2, 3, -1, 9, 2**53 - 1, 2**53, 10**19, 10**20, 0.0, -0.0, 1.0, 0.5, 1e300, True, False, None]
WORDS = [
    "", " ", "0", "1", "-1", "2", "1/2", "-0", "+1", "1.50", "01", "0/5", "1/0", "1e3", "0x1", "0X1", "0x1.8p+0",
    "0x1.8P+0", "0x2.0p+0", "0x1.0p+1024", "0x1.0p-1080", "0x0.0000000000001p-1022", "0x1.8p-1074", "0xff/0x3",
    "0x1/0x0", "1_0", "１", "٣", "1\n", " 1", "nan", "Infinity", "true", "a", "b", "binary", "decimal", "quasi",
    "overlap", "separable", "separation", "not-separable", "fewest-errors", "complete", "finite", "+inf",
    "undetermined", "aliased", "keep", "linsep proof 1", "\ud800", "\x00", "é", "0" * 64, "poisson", "cox", "weight",
]  # fmt: skip
PARTS = [[], {}, [1], ["1"], [[0, 1]], [0, 0], {"a": 1}]
FIELDS = ["extra", "others", "equals", "product", "hashed", "rivals", "weights", "verdict", "up", "__proto__"]


def other(value, rng):
    """Return a value near another one, or anything at all."""
    near = []
    if isinstance(value, str):
        digits = [k for k, sign in enumerate(value) if sign.isdigit()] or [0]
        k = rng.choice(digits)
        near = [f"-{value}", value.removeprefix("-"), value[:k] + str(rng.randrange(10)) + value[k + 1 :], f"{value}0",
                f" {value}", f"{value}/1", value.upper()]  # fmt: skip
    elif isinstance(value, bool):
        near = [not value]
    elif isinstance(value, int | float):
        near = [value + 1, value - 1, float(value), str(value), int(value)]
    elif isinstance(value, list) and value:
        k = rng.randrange(len(value))
        near = [value[:k] + value[k + 1 :], [*value, value[k]], value[::-1], [value[k], *value[:k], *value[k + 1 :]]]
    elif isinstance(value, dict) and value:
        gone = rng.choice(sorted(value))
        near = [{name: part for name, part in value.items() if name != gone}]
        near += [{**value, rng.choice(FIELDS): rng.choice(WHOLE)}]
    return copy.deepcopy(rng.choice(near if near and rng.random() < 0.6 else [*WHOLE, *WORDS, *PARTS]))


def places(value, way=()):
    """Yield the ways to all parts of a document."""
    yield way
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*way, key))


def forged(content, rng):
    """Return a document with one to three things changed, sealed; every field has the same chance."""
    content = copy.deepcopy(content)
    for _ in range(rng.choice((1, 1, 2, 3))):
        field = rng.choice(sorted(set(content) - {"digest"}))
        *way, last = (field, *rng.choice(list(places(content[field]))))
        inside = content
        for key in way:
            inside = inside[key]
        inside[last] = other(inside[last], rng)
    if rng.random() < 0.7:
        with suppress(KeyError, TypeError, AttributeError):
            content["meaning"] = meaning_of(content)
    return sealed(content)


def verdicts_and_errors():
    """Yield documents about verdicts and the fewest errors, of two and more classes, in both kinds of values."""
    for X, y, offset, values in (
        ([[0, 1], [1, 3], [4, 2], [5, 7]], [0, 0, 1, 1], True, "binary"),
        ([[0.5, 1], [1, 1], [1, 1], [2, 0.25]], ["a", "a", "b", "b"], True, "decimal"),
        ([[0.1, 0.2], [0.3, 0.3], [0.2, 0.25], [0.1, 0.4], [0.7, 0.1]], [1.5, 1.5, 2, 2, 1.5], True, "decimal"),
        ([[1, 2], [2, 4], [3, 6]], [True, False, True], False, "binary"),
        ([[0], [0], [0], [2], [2], [2]], ["a", "b", "c", "a", "b", "c"], True, "binary"),
    ):
        X, y = np.array(X), np.array(y)
        found = linsep.separate(X, y, fit_intercept=offset, values=values)
        weights = [1 + i % 2 for i in range(len(y))] if offset else None
        errors = linsep.fewest_errors(X, y, fit_intercept=offset, values=values, sample_weight=weights)
        for result in (found, errors):
            yield linsep.to_json(result, X, y, note="mine"), X, y


def told(document, X, y, *, plain):
    try:
        return linsep.verify(document, X, y, plain=plain)
    except ValueError:
        return None


@pytest.mark.parametrize("changes", [40, pytest.param(600, marks=pytest.mark.slow)])
def test_three_answers_about_every_kind(changes):
    SCHEMA.check_schema(SCHEMA.schema)
    rng, reading = random.Random(changes), {"target": "y", "delimiter": ",", "header": True, "missing": "error"}
    genuine = [*verdicts_and_errors(), *(each for family in FAMILIES for each in separation_proofs(family, 1, seed=5))]
    tried = held = 0
    for k, (text, X, y) in enumerate(genuine):
        content = json.loads(text)
        SCHEMA.validate(content)
        if k % 3 == 0:  # it does not matter for rows that are given, but it has a form
            columns = [{"column": f"c{j}", "kind": "percent"} for j in range(X.shape[1])]
            more = {"others": ["o"]} if content["kind"] == "separation" else {}
            marks = {"point": ".", "gaps": ["NA"], "encoding": "utf-8"}
            content["data"]["reading"] = {**reading, "columns": columns, **marks, **more}
        texts = [forged(content, rng) for _ in range(changes)]
        for document, (found, why) in zip(texts, answered(texts, X, y), strict=True):
            for plain in (False, True):
                assert told(document, X, y, plain=plain) is found, (why, plain, document)
            assert found is None or SCHEMA.is_valid(json.loads(document)), document
            tried, held = tried + 1, held + (found is True)
    assert tried >= changes * len(genuine) >= 17 * changes  # of 17 kinds of documents
    assert 0.05 * tried < held < 0.3 * tried  # some changes leave a proof


def test_what_was_once_accepted_or_judged_unlike():
    X, y = [[0], [1], [2], [3]], [0, 1, 0, 1]
    errors = json.loads(linsep.to_json(linsep.fewest_errors(X, y), X, y))
    separable = json.loads(linsep.to_json(linsep.separate(X, [0, 0, 1, 1]), X, [0, 0, 1, 1]))
    tiny = {**separable, "separator": {"w": [["1"]], "b": ["0x1.8p-1080"]}}  # no double, and not 0
    deep = {**separable, "made": None}
    for _ in range(700):
        deep["made"] = [deep["made"]]
    for content, labels in ((tiny, [0, 0, 1, 1]), (deep, [0, 0, 1, 1])):
        document = sealed(content)
        assert [told(document, X, labels, plain=plain) for plain in (False, True)] == [None, None]
        assert [found for found, _ in answered([document], X, labels)] == [None]
    negative = json.dumps(errors).replace("[[0, ", "[[-0, ")  # which is 0
    assert "-0" in negative
    assert [told(negative, X, y, plain=plain) for plain in (False, True)] == [True, True]
    assert [found for found, _ in answered([negative], X, y)] == [True]


# ---------------------------------------------------------------------------------------------------------------
# Files

TABLE = """day,share,size,color,label
2020-01-02,50%,"1,000",red,a
2021-05-06,2%,"2,500",blue,1
1999-12-31,7.5%,3,red,a
2020-02-29,0%,400,,1
"""
FILES = [  # what stands in place of what, and whether the proof then holds, or the file cannot be read
    ("red", "red", True), ("\n", "\r\n", True), ("day,", "\ufeffday,", True), (",a\n", ", a \n", True),
    (",1\n", ",1.0\n", True), ("red,a", '"red",a', True), ("day,", " day ,", True), ("400,,1\n", "400,,1", True),
    ("400,,1\n", "400,,1\n\n\n", True), ("7.5%", "7.50 %", True), ("50%", "+5e1%", True), ("50%", "\u00a050%", True),
    ("400,,1", "400,?,1", True), ("400,,1", "400, NA,1", True),
    ("50%", "51%", False), ("red,a", "Red,a", False), ("1999-12-31", "1999-12-30", False), (",a\n", ",A\n", False),
    ("400,,1", "400,blue,1", False), ("red,a", " red,a", False), ("1,000", "1,001", False),
    ("0%,400", "1e-400%,400", True),
    ("50%", "50", None), ("50%", "٥%", None), ("50%", "1e400%", None), ("50%", "nan%", None), ("1,000", "1,00,0", None),
    ("1,000", "1000", None), ("2020-02-29", "2021-02-29", None), ("2020-02-29", "2020-2-30", None),
    ("2020-02-29", "٢٠٢٠-02-29", None), ("red,a", "red,a,b", None), ("red,a", '"red,a', None),
    ("red,a", "r\0d,a", None),
    ("day,", "date,", None), ("color", "size", None), ("0%,400", ",400", None),
]  # fmt: skip


NUMBERS = """size,weight,color,label
1.50,-2,red,a
2,1e3,blue,1
.5,+3.,red,a
400,0,,1
"""
NUMBER_FILES = [
    ("red", "red", True), ("\n", "\r\n", True), ("size,", "\ufeffsize,", True), (",a\n", ", a \n", True),
    (",1\n", ",1.0\n", True), ("red,a", '"red",a', True), ("size,", " size ,", True), ("400,0,,1\n", "400,0,,1", True),
    ("1.50", " 1.5\t", True), ("1e3", "1E+0003", True), ("400,0,,1", "400,-0.0, NA,1", True),
    ("1.50", "1.51", False), ("red,a", "Red,a", False), ("red,a", " red,a", False), (",a\n", ",A\n", False),
    ("400,0,", "400,1e-400,", True), ("1.50", "1.5000000000000000000001", True), ("0,,1", "0,blue,1", False),
    ("1.50", "\u00a01.5", None), ("1.50", "1,5", None), ("1.50", "nan", None), ("1.50", "1e400", None),
    ("1.50", "", None), ("1.50", "0x1", None), ("1.50", "٥", None), ("red,a", "red,a,b", None),
    ("blue,1", '"blue,1', None), ("red,a", "r\0d,a", None), ("size,", "length,", None), ("color", "size", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "files"), [(TABLE, FILES), (NUMBERS, NUMBER_FILES)], ids=["units", "numbers"])
def test_files_are_read_alike(run, tmp_path, text, files):
    """The script on a page reads numbers and words, and says so of all else; the others read both tables."""
    path, proof = tmp_path / "data.csv", tmp_path / "proof.json"
    path.write_text(text)
    run("separate", path, "--proof", proof, "--quiet")
    document, texts = proof.read_text(), [text.replace(old, new) for old, new, _ in files]
    script = answered_of_files([(document, each.encode()) for each in texts])
    for each, (in_script, why), (*change, wanted) in zip(texts, script, files, strict=True):
        path.write_bytes(each.encode())
        code, _, error = run("verify", proof, path, "--quiet")
        assert {0: True, 1: False, 2: None}[code] is wanted, (change, error)
        assert (in_script is None and "cannot read" in why) if text is TABLE else in_script is wanted, (change, why)
        assert by_files(document, each.encode(), path) is wanted, change


# ---------------------------------------------------------------------------------------------------------------
# Readings

ENCODINGS = [
    "utf-8", "utf-16", "latin-1", "cp1252", "zip", "rot13", "hex", "bz2", "base64", "uu", "quopri", "idna", "punycode",
    "undefined", "unicode_escape", "raw_unicode_escape", "utf-7", "utf-32", "mbcs", "UTF-8", "utf8", "latin1", "cp037",
    "shift_jis", "", " ", "a\nb", "a\0b", "x" * 41, 5, None, True, ["utf-8"],
]  # fmt: skip
KINDS = [
    "number", "boolean", "percent", "category", "text", "word", "grouped:,", "grouped:.", "grouped:'", "grouped:1",
    "grouped:-", "grouped:\n", "grouped:", "grouped", "date:iso", "date:%Y-%m-%d", "date:%d.%m.%y %H:%M",
    "date:%m/%d/%Y %H:%M:%S", "date:%H:%M", "date:%Y-%Y-%d", "date:%d%d%d", "date:%d.%d.%Y", "date:%", "date:%%",
    "date:%Q", "date:%p", "date:%Z", "date:%j", "date:%c", "date:%b", "date:%Y", "date:%m", "date:(", "date:[",
    "date:%Y*",
    "date:", "date", "date:%Y-%m-%d\n", "date:" + "%d " * 20, "Number", "", " number", 7, None, ["number"],
]  # fmt: skip
CELLS = {
    "number": ["1", "2.5", " 3", "0x1", "1e5", ""], "grouped": ["1,000", "1'000", "1.000", "1000", "5,15,5"],
    "date": ["2020-01-02", "01.02.20 03:04", "12:30", "2020-01-02T03:04:05Z", "1/2/2020 1:02:03", "31.12.99", "2020"],
    "percent": ["5%", "5", "5%%"], "boolean": ["true", "FALSE", "1"],
}  # fmt: skip


def by_files(document, data, path):
    """The answers of the plain check and of the command about a file: True, False, or None for a line that says why."""
    path.write_bytes(data)
    (path.parent / "proof.json").write_text(document)
    try:
        content = linsep_check.load(document)
        plain = bool(linsep_check.check(content, *table(content, [str(path)])))
    except Fails:
        plain = False
    except ValueError:
        plain = None
    return plain


@pytest.mark.parametrize("name", ["encoding", "kind"])
def test_hostile_readings_are_refused_in_one_line(run, tmp_path, name):
    """Every checker knows the same encodings and kinds, and nothing else ends in a traceback."""
    genuine = json.loads(linsep.to_json(linsep.separate([[0.0], [1.0]], [0, 1]), [[0.0], [1.0]], [0, 1]))
    reading = {
        "columns": [{"column": "x"}], "target": "y", "delimiter": ";", "header": True, "missing": "error", "point": ".",
        "gaps": [""], "encoding": "utf-8",
    }  # fmt: skip
    pairs = []
    for k, value in enumerate(ENCODINGS if name == "encoding" else KINDS):
        told = {**reading, "encoding": value} if name == "encoding" else reading
        told = told if name == "encoding" else {**told, "columns": [{"column": "x", "kind": value}]}
        content = {**genuine, "data": {**genuine["data"], "reading": told}}
        document = sealed(content)
        cells = [("0", "1")] if name == "encoding" else [(a, b) for each in CELLS.values() for a in each for b in each]
        encoded = value if value in ("utf-16", "cp1252") and name == "encoding" else "utf-8"
        for a, b in random.Random(k).sample(cells, min(12, len(cells))):
            pairs.append((document, f"x;y\n{a};0\n{b};1\n".encode(encoded), value))
    script = answered_of_files([pair[:2] for pair in pairs])
    path = tmp_path / "data.csv"
    for (document, data, value), (in_script, why) in zip(pairs, script, strict=True):
        found = by_files(document, data, path)
        assert found is in_script or "cannot read" in why, (value, data, found, in_script, why)
    for document, data in {document: data for document, data, _ in pairs}.items():
        path.write_bytes(data)
        (tmp_path / "proof.json").write_text(document)
        for plain in ([], ["--plain"]):
            code, _, error = run("verify", tmp_path / "proof.json", path, "--quiet", *plain)
            assert code in (0, 1, 2), (document, error)
            assert code != 2 or error.count("\n") == 1, error


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1", "cp1252"])
def test_texts_in_every_known_encoding(run, tmp_path, encoding):
    text = "größe,farbe\n1,grün\n2,blau\n3,blau\n" + ("4,„grün“\n" if encoding != "latin-1" else "")
    (tmp_path / "data.csv").write_bytes(text.encode(encoding))
    other = {"latin-1": "ISO-8859-1", "cp1252": "windows-1252", "utf-8": "UTF8"}.get(encoding, encoding)
    code, _, error = run("separate", "data.csv", "--encoding", other, "--proof", "proof.json", "--quiet")
    assert code in (0, 1), error
    document = (tmp_path / "proof.json").read_text()
    assert json.loads(document)["data"]["reading"]["encoding"] == encoding
    assert answered_of_files([(document, text.encode(encoding))])[0][0] is True
    for plain in ([], ["--plain"]):
        assert run("verify", "proof.json", "data.csv", "--quiet", *plain)[0] == 0
    if encoding == "cp1252":  # a byte that it does not have
        assert answered_of_files([(document, text.encode(encoding).replace(b"4", b"\x81"))])[0][0] is None


def test_what_a_proof_has_no_word_for_is_said_when_it_is_written(run, tmp_path):
    (tmp_path / "data.csv").write_bytes("x,y\n1,ж\n2,б\n".encode("cp1251"))
    code, _, error = run("separate", "data.csv", "--encoding", "cp1251", "--proof", "proof.json")
    assert (code, error.count("\n")) == (2, 1)
    assert "not cp1251: convert the file to UTF-8" in error
    assert not (tmp_path / "proof.json").exists()
    assert run("separate", "data.csv", "--encoding", "cp1251", "--quiet")[0] == 0


@pytest.mark.parametrize("encoding", ["rot13", "zip", "hex", "undefined", "no-such"])
def test_an_encoding_that_is_not_one_of_texts(run, tmp_path, encoding):
    (tmp_path / "data.csv").write_text("x,y\n1,a\n2,b\n")
    code, _, error = run("separate", "data.csv", "--encoding", encoding)
    assert (code, error.count("\n")) == (2, 1)
    assert "encoding" in error


def test_a_regression_of_a_text_in_latin_1(run, tmp_path):
    (tmp_path / "data.csv").write_bytes("größe,y\n1,0\n2,1\n3,0\n4,1\n".encode("latin-1"))
    code, _, error = run("regression", "data.csv", "--target", "y", "--encoding", "ISO-8859-1", "--proof", "proof.json")
    assert code == 0, error
    assert json.loads((tmp_path / "proof.json").read_text())["data"]["reading"]["encoding"] == "latin-1"
    for plain in ([], ["--plain"]):
        assert run("verify", "proof.json", "data.csv", "--quiet", *plain)[0] == 0
    code, _, error = run("regression", "data.csv", "--target", "y", "--encoding", "cp1250", "--proof", "other.json")
    assert (code, error.count("\n")) == (2, 1)
    assert "not cp1250" in error
