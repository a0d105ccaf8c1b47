"""Columns to rows against plain Python: the hash, words, missing cells, scaling and its undoing."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from linsep.data import tables
from linsep.data.arrays import to_rows
from linsep.data.scaling import Scaler
from linsep.data.schema import ColumnError, Layout, find
from linsep.data.words import WordIndex
from oracle import hash_name

words = st.text(min_size=1, max_size=8)


def rows_of(table: pa.Table, layout: Layout, missing: str) -> tuple[Any, Any]:
    """Return the rows of a table, and which ones are kept."""
    raw = tables.raw_rows(table, layout, missing)
    return tables.feature_rows(raw, layout, WordIndex(layout.first_category), missing), raw.kept


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-1e9, 1e9), words, words), min_size=1, max_size=10), st.integers(1, 20))
def test_categories_are_one_hot_at_their_hash(rows: list[tuple[float, str, str]], bits: int) -> None:
    table = pa.table({"a": [r[0] for r in rows], "s": [r[1] for r in rows], "t": [r[2] for r in rows]})
    layout = Layout((("a", "number"), ("s", "category"), ("t", "category")), bits)
    X, kept = rows_of(table, layout, "error")
    expected = np.zeros((len(rows), 1 + 2**bits))
    for i, (number, s, t) in enumerate(rows):
        expected[i, 0] = number
        for name in (f"s={s}", f"t={t}"):
            expected[i, 1 + hash_name(name) % 2**bits] += 1
    assert kept is None
    assert np.array_equal(X.toarray(), expected)
    assert X.has_canonical_format


@settings(deadline=None)
@given(st.lists(st.text(alphabet="aBç ,.'-_9“”ß\u00a0\n", max_size=30), min_size=1, max_size=6))
def test_texts_have_a_feature_for_each_word(texts: list[str]) -> None:
    table, layout = pa.table({"t": texts}), Layout((("t", "text"),))
    levels = WordIndex(0)
    X = tables.feature_rows(tables.raw_rows(table, layout, "error"), layout, levels, "error").toarray()
    words = [re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text.lower()) for text in texts]
    assert [word for _, word in levels.order] == list(dict.fromkeys(word for some in words for word in some))
    assert X.tolist() == [[some.count(word) for _, word in levels.order] for some in words]
    both = WordIndex(0)  # in pieces, with the same numbers
    for start in range(len(texts)):
        tables.feature_rows(tables.raw_rows(table.slice(start, 1), layout, "error"), layout, both, "error")
    assert both.order == levels.order


@settings(deadline=None)
@given(st.lists(st.text(alphabet="aBç ,.'-_9“”ß\u00a0\n", max_size=30), min_size=1, max_size=6))
def test_text_is_a_bag_of_its_words(texts: list[str]) -> None:
    layout = Layout((("t", "hashed text"),), 16)
    X, _ = rows_of(pa.table({"t": texts}), layout, "error")
    expected = np.zeros((len(texts), 2**16))
    for i, text in enumerate(texts):
        for word in re.findall(r"[\w']+", text.lower()):
            expected[i, hash_name(f"t={word}") % 2**16] += 1
    assert np.array_equal(X.toarray(), expected)


def test_numbers_keep_the_type_they_share() -> None:
    def dtype(**table: pa.Array) -> np.dtype:
        layout = Layout(tuple((name, "number") for name in table))
        return rows_of(pa.table(table), layout, "error")[0].dtype

    assert dtype(a=pa.array([1, 2], pa.uint8()), b=pa.array([1, 2], pa.uint8())) == np.uint8
    assert dtype(a=pa.array([1.0], pa.float32())) == np.float32
    assert dtype(a=pa.array([1.0], pa.float32()), b=pa.array([1], pa.int64())) == np.float64
    assert dtype(a=pa.array([True, False])) == np.bool_
    assert dtype(a=pa.array([1], pa.decimal128(5, 2))) == np.float64


def test_columns_are_found_by_name_or_number() -> None:
    names = ["age", "town", "7", "class"]
    assert [find(wanted, names) for wanted in ("town", 1, -1, "7", "2", "-1")] == [1, 1, 3, 2, 2, 3]
    with pytest.raises(ColumnError, match="'clas'; did you mean 'class'"):
        find("clas", names)
    with pytest.raises(ColumnError, match="there are 'age', 'town'"):
        find("xyzzy", names)
    with pytest.raises(ColumnError, match="number 9"):
        find(9, names)


def blocks(X: np.ndarray, size: int, sparse: bool) -> list[tuple[object, None, int]]:
    return [(sp.csr_array(X[i : i + size]) if sparse else X[i : i + size], None, i) for i in range(0, len(X), size)]


@pytest.mark.parametrize("sparse", [False, True])
def test_standard_scaling_is_scikit_learns(sparse: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 6)) * [1, 10, 1e-3, 1e6, 0, 1] + [0, 1000, 0, 0, 0.1, 0]
    X[rng.random((50, 6)) < 0.4] = 0
    X[:, 4] = 0.1
    scaler = Scaler.fit(blocks(X, 7, sparse), "standard")
    peer = StandardScaler(with_mean=not sparse).fit(X)
    scaled = scaler.apply(sp.csr_array(X) if sparse else X)
    assert np.allclose(scaled.toarray() if sparse else scaled, peer.transform(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", ["none", "unit", "standard"])
@pytest.mark.parametrize("sparse", [False, True])
def test_scaling_is_undone_and_blocks_do_not_show(kind: str, sparse: bool) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 5)) * [1, 10, 100, 1e-4, 1] + 3
    scalers = [Scaler.fit(blocks(X, size, sparse), kind) for size in (1, 7, 40)]
    assert all(np.array_equal(s.scale, scalers[0].scale) and np.array_equal(s.shift, scalers[0].shift) for s in scalers)
    rows = sp.csr_array(X) if sparse else X
    scaled = scalers[0].apply(rows)
    if kind == "unit":
        dense = scaled.toarray() if sparse else scaled
        assert np.linalg.norm(dense, axis=1).max() == pytest.approx(1)
    w, b = rng.standard_normal(5), 0.7
    raw_w, raw_b = scalers[0].undo(w, b)
    assert np.allclose(rows @ raw_w + raw_b, scaled @ w + b, rtol=1e-9)
    W, B = scalers[0].undo(np.stack([w, 2 * w]), np.array([b, b]))
    assert np.allclose(W[0], raw_w)
    assert np.allclose(rows @ W[1] + B[1], scaled @ (2 * w) + b, rtol=1e-9)


def test_scaling_of_extreme_values() -> None:
    huge = np.array([[3e200, 4e200], [0, 0]])
    assert Scaler.fit([(huge, None, 0)], "unit").scale[0] == pytest.approx(5e200, rel=1e-15)
    tiny = np.array([[3e-200, 4e-200]])
    assert Scaler.fit([(tiny, None, 0)], "unit").scale[0] == pytest.approx(5e-200, rel=1e-15)
    assert Scaler.fit([(np.zeros((2, 2)), None, 0)], "unit").scale[0] == 1
    with pytest.raises(ValueError, match="too large"):
        Scaler.fit([(huge, None, 0)], "standard")
    with pytest.raises(ValueError, match="'none', 'unit' or 'standard'"):
        Scaler.fit([(huge, None, 0)], "robust")


def test_wider_rows_keep_what_was_never_seen() -> None:
    narrow, wide = sp.csr_array([[2.0], [4.0]]), sp.csr_array([[2.0, 8.0]])
    assert Scaler.fit([(narrow, None, 0)], "standard").apply(wide).toarray().tolist() == [[2.0, 8.0]]
    growing = Scaler.fit([(narrow, None, 0), (wide, None, 2)], "standard")
    assert growing.scale[1] == pytest.approx(np.std([0, 0, 8]))


def test_rows_share_the_memory_of_the_matrix() -> None:
    for X in (np.ones((3, 2)), np.ones((3, 2), np.float32), np.ones((3, 2), np.uint8), np.ones((3, 2), bool)):
        assert np.shares_memory(to_rows(X).data, X)
    S = sp.csr_array(np.eye(3, dtype=np.float32))
    assert np.shares_memory(to_rows(S).data, S.data)
    assert np.shares_memory(to_rows(S).indices, S.indices)
