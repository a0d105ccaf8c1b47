"""Hostile documents: the fast check, the plain program and JavaScript refuse them, in bounded time and memory."""

import json
import subprocess
import sys

import numpy as np
import pytest

import linsep
from data import few, sealed
from javascript import answers
from linsep.pages import checker
from linsep.prove.check.linsep_check import LARGEST
from linsep.prove.documents import checker_program

X, Y = [[0], [1], [2], [1]], [0, 0, 1, 1]  # quasi: a plane and a refutation
MOST = 512 << 20  # bytes of address space of the plain program
MORE = 1 << 30  # bytes that the fast check may take beyond what linsep takes


GENUINE = linsep.to_json(linsep.separate(X, Y), X, Y)


def genuine():
    return json.loads(GENUINE)


def changed(**fields):
    return sealed({**genuine(), **fields})


def multipliers(*numbers):
    content = genuine()
    content["refutation"]["multipliers"] = list(numbers)
    return sealed(content)


def canceling(*numbers):
    """Return a proof with a row for each of many multipliers."""
    parts = {"rows": [1] * len(numbers), "rivals": [1] * len(numbers), "multipliers": list(numbers)}
    return changed(refutation=parts)


def nested(depth):
    """Return a genuine document with a field nested so deeply, its digest that of the text."""
    text = json.dumps(genuine())
    return text.replace('"note": null', f'"note": {"[" * depth}{"]" * depth}')


HOSTILE = {
    "nothing": "",
    "blanks": " " * 1_000_000,
    "a number": "7",
    "no end of lists": "[" * 1_000_000,
    "no end of objects": '{"a":' * 1_000_000,
    "no end of a text": '"' + "x" * 5_000_000,
    "deep lists": "[" * 100_000 + "]" * 100_000,
    "a deep field": nested(500),
    "a very deep field": nested(100_000),
    "a million numbers": '{"a": [' + "0," * 1_000_000 + "0]}",
    "very many fields": "{" + ",".join(f'"{k}":0' for k in range(100_000)) + "}",
    "a long key": json.dumps({**genuine(), "x" * 5_000_000: 0}),
    "a long text": changed(meaning="x" * 5_000_000),
    "longer than any": json.dumps(genuine()) + " " * LARGEST,
    "a key twice": json.dumps(genuine()).replace('"kind"', '"kind": "separable", "kind"', 1),
    "a key of keys twice": json.dumps(genuine()).replace('"rows"', '"rows": [0], "rows"', 1),
    "a digest twice": json.dumps(genuine()).replace('"digest"', '"digest": "", "digest"', 1),
    "NaN": json.dumps(genuine()).replace('"note": null', '"note": NaN'),
    "Infinity": json.dumps(genuine()).replace('"n_features": 1', '"n_features": Infinity', 1),
    "-Infinity": json.dumps(genuine()).replace('"n_features": 1', '"n_features": -Infinity', 1),
    "beyond doubles": json.dumps(genuine()).replace('"n_features": 1', '"n_features": 1e999', 1),
    "a million digits": json.dumps(genuine()).replace('"n_features": 1', f'"n_features": {"9" * 1_000_000}', 1),
    "a leading zero": json.dumps(genuine()).replace('"n_features": 1', '"n_features": 01', 1),
    "a comma too many": json.dumps(genuine())[:-1] + ",}",
    "a remark": "// a proof\n" + json.dumps(genuine()),
    "other quotes": json.dumps(genuine()).replace('"', "'"),
    "two documents": json.dumps(genuine()) * 2,
    "cut short": json.dumps(genuine())[:-20],
    "no character": json.dumps(genuine()) + "\0",
    "a byte order mark": "\ufeff" + json.dumps(genuine()),
    "a long multiplier": multipliers("1", "9" * 200_000),
    "a long fraction": multipliers("1", f"1/{'9' * 4001}"),
    "long hexadecimal": multipliers("1", "0x" + "f" * 100_001),
    "a power of powers": multipliers("1", "0x1p99999999999"),
    "a decimal power": multipliers("1", "1e300000000"),
    "long denominators": canceling(*(f"0x1/{(1 << 100_000) + 2 * k + 1:#x}" for k in range(800))),
    "fractions to reduce": canceling(*(f"{3**99_000:#x}/{2**190_000 + k:#x}" for k in range(1, 60, 2))),
    "a denominator of 0": multipliers("1", "1/0"),
    "no number": multipliers("1", "nan"),
    "numbers, not texts": multipliers(1, 1),
    "other digits": multipliers("１", "１"),
    "a row beyond 64 bits": changed(refutation={**genuine()["refutation"], "rows": [1, 2**64 + 3]}),
    "a row of half": changed(refutation={**genuine()["refutation"], "rows": [1, 3.5]}),
    "a row that is true": changed(refutation={**genuine()["refutation"], "rows": [True, 3]}),
    "a row below 0": changed(refutation={**genuine()["refutation"], "rows": [1, -1]}),
    "rows beyond 64 bits": changed(data={**genuine()["data"], "n_rows": 2**64 + 4}),
    "prototypes": changed(kind="__proto__"),
    "methods": changed(kind="toString"),
    "many classes": changed(classes=list(range(150_000))),
    "classes alike": changed(classes=[0, "0.0"]),
}  # of each: it is not a proof
BYTES = {
    "UTF-16": json.dumps(genuine()).encode("utf-16"),
    "UTF-16, big": json.dumps(genuine()).encode("utf-16-be"),
    "UTF-32": json.dumps(genuine()).encode("utf-32"),
    "UTF-7": b"+AHs-",
    "Latin-1": json.dumps({**genuine(), "made": "é"}, ensure_ascii=False).encode("latin-1"),
    "overlong": json.dumps(genuine()).encode().replace(b"{", b"\xc1\xbb", 1),
    "half a character": json.dumps(genuine()).encode() + b"\xc3",
    "compressed": b"\x1f\x8b" + b"\0" * 1000,
    "zeros": b"\0" * 1_000_000,
}
FAILING = {  # well-formed documents whose sums are right only modulo 2**64, or 2**32, or by rounding
    "modulo 2**64": multipliers("1", str(1 + 2**64)),
    "modulo 2**32": multipliers("1", str(1 + 2**32)),
    "modulo 2**63 - 25": multipliers("1", str(2**63 - 24)),
    "rounded": multipliers(str(10**30), str(10**30 + 1)),
    "a long sum": multipliers("9" * 4000, "9" * 3999 + "8"),
    "below 0": multipliers("-1", "-1"),
    "zero": multipliers("0", "0"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """All documents as files, the table, and the plain program."""
    folder = tmp_path_factory.mktemp("hostile")
    table = "x,y\n" + "".join(f"{row[0]},{label}\n" for row, label in zip(X, Y, strict=True))
    (folder / "table.csv").write_text(table)
    (folder / "linsep_check.py").write_text(checker_program())
    texts = {name: text.encode() for name, text in (HOSTILE | FAILING).items()}
    for k, data in enumerate([*texts.values(), *BYTES.values()]):
        (folder / f"{k}.json").write_bytes(data)
    (folder / "good.json").write_text(GENUINE)
    return folder, [*texts, *BYTES]


PLAIN = """
import contextlib, io, json, resource, runpy, sys
folder, count, most = json.loads(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (most, most))
found = []
for k in [*range(count), "good"]:
    sys.argv, told = ["linsep_check.py", f"{folder}/{k}.json", f"{folder}/table.csv"], io.StringIO()
    try:
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            runpy.run_path(folder + "/linsep_check.py", run_name="__main__")
        code = 0
    except SystemExit as ended:
        code = ended.code
    found.append((code or 0, told.getvalue()))
print(json.dumps(found))
"""


def test_the_plain_program(files):
    """As ``python linsep_check.py`` runs it, with all documents in one process."""
    folder, names = files
    asked = json.dumps([str(folder), len(names), MOST])
    done = subprocess.run(
        [sys.executable, "-I", "-c", PLAIN, asked], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for name, (code, told) in zip([*names, "good"], json.loads(done.stdout), strict=True):
        assert code == (0 if name == "good" else 1 if name in FAILING else 2), (name, told[-300:])
        assert name == "good" or (told.count("\n") == 1 and len(told) < 400), (name, told[:1000])


FAST = """
import json, re, resource, sys
import linsep
X, y, folder, count, more, plain = json.loads(sys.argv[1])
assert linsep.verify(folder + "/good.json", X, y, plain=plain)  # all code is loaded now
status = open("/proc/self/status").read()
most = 1024 * int(re.search(r"VmSize:\\s+([0-9]+)", status)[1]) + more
resource.setrlimit(resource.RLIMIT_AS, (most, most))
found = []
for k in range(count):
    try:
        found.append(linsep.verify(f"{folder}/{k}.json", X, y, plain=plain))
    except ValueError as error:
        assert "\\n" not in str(error), error
        assert len(str(error)) < 400, error
        assert str(error).startswith("this is not a valid proof: "), error
        found.append(None)
print(json.dumps(found))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("plain", few([False, True], 1))
def test_linsep(files, plain):
    folder, names = files
    asked = json.dumps([X, Y, str(folder), len(names), MORE, plain])
    done = subprocess.run([sys.executable, "-c", FAST, asked], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    for name, answer in zip(names, json.loads(done.stdout), strict=True):
        assert answer is (False if name in FAILING else None), name


def test_javascript():
    named = HOSTILE | FAILING
    cases = [{"document": text, "table": 0} for text in (json.dumps(genuine()), *named.values())]
    (good, _), *found = answers(cases, [checker.table_of(np.array(X), np.array(Y))])
    assert good is True
    for name, (answer, why) in zip(named, found, strict=True):
        assert answer is (False if name in FAILING else None), (name, why)
        assert "\n" not in why, (name, why)
        assert len(why) < 400, (name, why)


def test_sums_beyond_64_bits():
    """Whole numbers whose products and sums wrap around in 64 bits, with the signs that they have."""
    rows, labels = np.array([[2**62, 1], [-(2**62), 1], [2**61, 5]], dtype=np.int64), np.array([1, 0, 1])
    base = json.loads(linsep.to_json(linsep.separate(rows, labels), rows, labels))
    documents, truths = [], []
    for w, b in ((4, 0), (-4, 0), (2**62, -1), (-(2**62), 1), (2**70, 2**130), (1, -(2**61)), (8, 2**65)):
        scores = [w * int(x) + b for x in rows[:, 0]]
        truths.append(all((score > 0) if label else (score < 0) for score, label in zip(scores, labels, strict=True)))
        documents.append(sealed({**base, "separator": {"w": [[str(w), "0"]], "b": [str(b)]}}))
    assert True in truths
    assert False in truths
    for plain in (False, True):
        assert [linsep.verify(document, rows, labels, plain=plain) for document in documents] == truths
    cases = [{"document": document, "table": 0} for document in documents]
    assert [found for found, _ in answers(cases, [checker.table_of(rows, labels)])] == truths
