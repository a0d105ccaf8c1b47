"""LIBSVM text against a parser in plain Python, numbers against Python's float, bit for bit."""

from __future__ import annotations

import math
import re
import struct
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from linsep.data.cache import Buffers
from linsep.data.labels import label
from linsep.data.libsvm import parse_libsvm
from linsep.data.text_parsers import LABEL, UNWANTED, LineError, parse_table

finite = st.floats(allow_nan=False, allow_infinity=False)


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


def plain(text: str, base: int) -> tuple[list[dict[int, float]], list[object]]:
    """Parse LIBSVM text as its description reads."""
    rows, labels = [], []
    for line in text.split("\n"):
        words = re.findall(r"[^ \t\r]+", line.partition("#")[0])
        if not words:
            continue
        labels.append(label(words[0]))
        pairs = [word.split(":") for word in words[1:] if not word.startswith("qid:")]
        rows.append({int(j) - base: float(v) for j, v in pairs})
    return rows, labels


@st.composite
def spellings(draw: st.DrawFn) -> str:
    """Write a number in one of the many ways it can be written."""
    kind = draw(st.integers(0, 6))
    x = draw(finite)
    if kind == 0:
        return repr(x)
    if kind == 1:
        return f"{x:.{draw(st.integers(0, 25))}e}"
    if kind == 2:
        return f"{x:.{draw(st.integers(1, 20))}g}"
    if kind == 3:
        return format(Decimal(draw(st.floats(-1e20, 1e20))), "f")  # every digit, up to hundreds of them
    if kind == 4:
        return draw(
            st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,2})?", fullmatch=True)
        )
    if kind == 5:
        return str(draw(st.integers(-(10**20), 10**20)))
    return f"{draw(st.integers(0, 10**19 - 1)):019d}e-{draw(st.integers(0, 22))}"


@settings(deadline=None, max_examples=150)
@given(st.lists(spellings().filter(lambda word: math.isfinite(float(word))), min_size=1, max_size=30))
@example(["9007199254740993", "9007199254740992.5", "0.30000000000000004", "1e22", "1e23", "-0", "-0.0"])
@example(["5e-324", "4.9e-324"])
@example(["123456789012345678e-22", "1797693134862315708.1", "9999999999999999999", "0.9999999999999999999"])
@example(["00000000000000000000001.5"])
def test_numbers_have_the_bits_of_pythons_float(written: list[str]) -> None:
    text = "1 " + " ".join(f"{j}:{word}" for j, word in enumerate(written)) + "\n"
    values = parse_libsvm(text.encode()).X.data
    assert [bits(v) for v in values] == [bits(float(word)) for word in written]


def test_halfway_cases_round_to_even() -> None:
    """Decimals that lie exactly between two doubles, or a hair beside the middle, are where a parser goes wrong."""
    rng = np.random.default_rng(0)
    written = []
    for _ in range(300):
        m = int(rng.integers(2**52, 2**53))
        k = int(rng.integers(1, 12))
        middle = Decimal(2 * m + 1) / Decimal(2) / Decimal(2**k)  # exact: a power of two ends in finitely many digits
        for shift in (0, 1, -1):
            digits = str(middle)
            written.append(digits if not shift else digits + "1" if shift > 0 else str(middle - Decimal("1e-19")))
        written.append(str(middle)[:19])
    text = "1 " + " ".join(f"{j}:{word}" for j, word in enumerate(written)) + "\n"
    assert [bits(v) for v in parse_libsvm(text.encode()).X.data] == [bits(float(word)) for word in written]


@st.composite
def files(draw: st.DrawFn) -> str:
    """Write a file with blanks, comments, query numbers and line ends of several kinds."""
    lines = []
    for _ in range(draw(st.integers(0, 8))):
        columns = draw(st.lists(st.integers(1, 300), unique=True, max_size=6))
        pairs = [f"{j}:{draw(finite)!r}" for j in columns]
        if draw(st.booleans()):
            pairs.insert(0, f"qid:{draw(st.integers(0, 9))}")
        name = draw(st.sampled_from(["+1", "-1", "0", "2.5", "1e3", "spam", "Ähre"]))
        blank = draw(st.sampled_from([" ", "  ", "\t"]))
        lines.append(
            draw(st.sampled_from(["", " "]))
            + blank.join([name, *pairs])
            + draw(st.sampled_from(["", " ", "# 3:4 x", " #"]))
        )
        lines += draw(st.sampled_from([[], [], [""], ["# 1 1:1"], ["  \t"]]))
    return "".join(line + draw(st.sampled_from(["\n", "\r\n"])) for line in lines) or "\n"


@settings(deadline=None, max_examples=100)
@given(files(), st.sampled_from([0, 1]))
def test_files_are_read_as_they_are_written(text: str, base: int) -> None:
    X, y, *_ = parse_libsvm(text.encode(), base=base)
    rows, labels = plain(text, base)
    assert [dict(zip(X[[i]].indices.tolist(), X[[i]].data.tolist(), strict=True)) for i in range(X.shape[0])] == rows
    assert y.tolist() == labels
    assert all((np.diff(X[[i]].indices) > 0).all() for i in range(X.shape[0]))  # sorted for those who rely on it
    assert X.shape == (len(rows), max((j + 1 for row in rows for j in row), default=0))


def test_notes_on_the_text() -> None:
    assert parse_libsvm(b"1 qid:7 1:1\n").qid
    assert not parse_libsvm(b"1 1:1 # qid:7\n").qid
    missing = parse_libsvm(b"1 1:NaN 2:3\n")
    assert missing.missing
    assert math.isnan(missing.X.data[0])
    assert parse_libsvm(b"1 1:1\n\n# x\n 2 1:2").starts.tolist() == [0, 12]


@pytest.mark.parametrize(("written", "expected", "kind"), [
    (["+1", "-1", "3"], [1, -1, 3], "i"),
    (["1", "2.5"], [1.0, 2.5], "f"),
    (["1", "one", "1.5"], [1, "one", 1.5], "O"),
    (["9007199254740993", "9007199254740992"], ["9007199254740993", "9007199254740992"], "O"),
    (["1,2", "b"], ["1,2", "b"], "O"),
])  # fmt: skip
def test_labels_stay_what_they_are(written: list[str], expected: list[object], kind: str) -> None:
    y = parse_libsvm("".join(f"{word} 1:1\n" for word in written).encode()).y
    assert y.tolist() == expected
    assert y.dtype.kind == kind


def test_labels_may_be_absent() -> None:
    X, y, *_ = parse_libsvm(b"1:2 3:4\n+1 2:1\nspam 1:1\n", labels=False)
    assert y is None
    assert X.toarray().tolist() == [[0, 2, 0, 4], [0, 0, 1, 0], [0, 1, 0, 0]]


@pytest.mark.parametrize(("line", "what"), [
    ("1 1:x", "'x' is not a number"),
    ("1 1:1_0", "'1_0' is not a number"),
    ("1 1:0x10", "'0x10' is not a number"),
    ("1 1:١", "is not a number"),
    ("1 1:1e999", "too large"),
    ("1 1:-inf", "not a finite number"),
    ("1 1:", "has no value"),
    ("1 1: 2", "has no value"),
    ("1 1:.", "'.' is not a number"),
    ("1 1:-", "'-' is not a number"),
    ("1 1:1e", "'1e' is not a number"),
    ("1 1:1:2", "'1:2' is not a number"),
    ("1 2", "'2' is not index:value"),
    ("1 -1:2", "'-1:2' is not index:value"),
    ("1 :2", "':2' is not index:value"),
    ("1 qi:2", "'qi:2' is not index:value"),
    ("1 q", "'q' is not index:value"),
    ("1 a:2", "'a:2' is not index:value"),
    ("1 1:1\x01", "'\\x01' is not"),
    ("1 3:1 1:1 3:2", "index 3 occurs twice"),
    ("1 3:1 3:2", "index 3 occurs twice"),
    ("1 2147483647:1", "above 2147483646"),
    ("1 99999999999999999999:1", "above 2147483646"),
    ("1 18446744073709551617:1", "above 2147483646"),
    ("1:1 2:1", "no label before '1:1'"),
    ("nan 1:1", "the label 'nan' is not a finite number"),
    ("\x00\x01 1:1", "is not text"),
])  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(line: str, what: str) -> None:
    before = b"1 1:1 # fine\n2 2:2\n"
    with pytest.raises(LineError) as caught:
        parse_libsvm(before + line.encode() + b"\n1 1:1\n")
    assert what in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(before) <= caught.value.offset <= len(before + line.encode())


def test_the_first_of_several_errors_is_the_one_named() -> None:
    with pytest.raises(LineError, match="'x' is not a number"):
        parse_libsvm(b"1 1:x\n1 2\n")
    with pytest.raises(LineError, match="'2' is not index"):
        parse_libsvm(b"1 2\n1 1:x\n")


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=60) | st.text(alphabet="0123456789:.eE+- \t\r\n#qid", max_size=60).map(str.encode))
def test_any_bytes_give_rows_or_one_line(text: bytes) -> None:
    try:
        X, y, *_ = parse_libsvm(text)
    except LineError as error:
        assert "\n" not in str(error)  # noqa: PT017
        assert 0 <= error.offset <= len(text)  # noqa: PT017
    else:
        assert X.shape[0] == len(y)
        rows, labels = plain(text.decode("utf-8", "replace"), 0)
        assert (len(rows), y.tolist()) == (X.shape[0], labels)


def test_long_unsorted_row_is_sorted() -> None:
    order = np.random.default_rng(0).permutation(100_000)
    X = parse_libsvm(b"1 " + b" ".join(b"%d:%d" % (j, j) for j in order.tolist())).X
    assert X.indices.tolist() == list(range(100_000))
    assert X.data.tolist() == list(range(100_000))


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_a_plain_table_is_read_as_python_reads_it(draw: st.DataObject) -> None:
    """Every cell to the same bits as Python's float, or the whole text is left to others."""
    width = draw.draw(st.integers(2, 5))
    delimiter, newline = draw.draw(st.sampled_from([",", ";", "\t"])), draw.draw(st.sampled_from(["\n", "\r\n"]))
    finite_words = spellings().filter(lambda word: math.isfinite(float(word)))
    table = draw.draw(st.lists(st.lists(finite_words, min_size=width, max_size=width), min_size=1, max_size=8))
    label_at, unwanted = draw.draw(st.permutations(range(width)))[:2]
    numbers = [j for j in range(width) if j not in (label_at, unwanted)]
    places = np.full(width, UNWANTED)
    places[label_at], places[numbers] = LABEL, np.arange(len(numbers))
    text = "".join(delimiter.join(row) + newline for row in table)
    found = parse_table(text.encode(), ord(delimiter), places)
    if found is None:  # a leading plus or point, which programs do not write
        assert any(row[j].lstrip("-")[0] in "+." for row in table for j in numbers)
        return
    X, labels, longest = found
    cells = [row[j] for row in table for j in numbers]
    rounded = longest == 1000 and any(abs(float(cell)) < 1e-290 for cell in cells)  # a double may not hold a tiny one
    assert rounded or longest == max(map(len, cells), default=0)
    assert [[bits(x) for x in row] for row in X.tolist()] == [[bits(float(row[j])) for j in numbers] for row in table]
    assert labels.to_pylist() == [row[label_at] for row in table]


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet='01.,-e"\r\n x\xe4', max_size=25))
@example("1,2\r3,4")
@example("1,2\n\n")
@example("1,")
@example("1,2,3")
@example("1e999,2")
def test_a_table_that_is_not_plain_is_left_to_others(text: str) -> None:
    found = parse_table((text + "\n").encode(), ord(","), np.array([0, LABEL]))
    if found is not None:
        cells = [line.split(",") for line in (text + "\n").replace("\r\n", "\n").split("\n")[:-1]]
        assert found[0].tolist() == [[float(cell)] for cell, _ in cells]
        assert found[1].to_pylist() == [word for _, word in cells]
        assert all(word and word.isascii() and not set(word) & set('"\r') for _, word in cells)


def test_recycled_memory_never_belongs_to_two_blocks():
    """A block of which somebody holds a view stays as it is; the memory of the others is used again."""
    texts = [b"".join(b"%d 1:%d 7:%d.5\n" % (i % 2, i, k) for i in range(k, k + 50)) for k in range(30)]
    memory, rng, held, places = Buffers(), np.random.default_rng(0), {}, set()

    def views(X):
        return [X.data[3:], X.indices[::2], X.data.reshape(-1, 2)[:, 1], memoryview(X.data)]

    for k, text in enumerate(texts):
        X = parse_libsvm(text, empty=memory.empty).X
        places.add(X.data.ctypes.data)
        held[k] = views(X)
        for gone in rng.choice(list(held), len(held) // 3, replace=False):
            del held[gone]
    assert len(held) < len(places) < len(texts)
    for k, parts in held.items():
        for part, expected in zip(parts, views(parse_libsvm(texts[k]).X), strict=True):
            np.testing.assert_array_equal(part, expected)
    assert len({parts[0].ctypes.data for parts in held.values()}) == len(held)


def test_recycled_memory_for_many_threads():
    """Threads take and give back memory at once: every array is whole, and its thread's own until it is gone."""
    memory = Buffers()

    def work(number: int) -> bool:
        alone = True
        for size in range(300):
            array = memory.empty(size, np.int64)
            array[:] = number
            alone &= bool((array == number).all()) and len(array) == size
        return alone

    every = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(8)))
    finally:
        sys.setswitchinterval(every)
