"""Converts pieces of an Arrow table to rows of features.

A piece is worked on in two steps. ``parts`` can run in any thread and in any order; ``finished`` gives new words their
features and must see the pieces in their order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from linsep.data import cells
from linsep.data.arrow_arrays import numbers, numpy_view, zero
from linsep.data.layout import CATEGORY, DATE, NUMBER, TEXT, WORD, CellError, ColumnError, Layout, is_numeric
from linsep.data.levels import Coded, Levels, assemble
from linsep.data.sparse import Csr
from linsep.problem import Array


class WrongKindError(CellError):
    """A cell that is not of the kind that its column is taken for."""


class Parts(NamedTuple):
    """Rows of a piece of a table, before words have features."""

    numbers: Array  # (n, p)
    coded: list[Coded]  # words, and gaps among the numbers
    hashed: Any  # CSR rows of what is hashed, or None
    kept: Array | None  # (rows of the table,) which ones are left, None for all of them
    gaps: dict[str, int]  # cells without a value, by column


def parts(table: Any, layout: Layout, missing: str, *, point: str = ".") -> Parts:
    """Return the rows of a piece of a table, as far as they do not depend on the pieces before.

    Parameters
    ----------
    table : pyarrow.Table or pyarrow.RecordBatch
        At least the columns of the layout; others are not looked at.
    layout : Layout
        What becomes of them.
    missing : {"error", "zero", "drop", "indicator"}
        What becomes of a cell without a value in a column of numbers.
    point : str
        The sign before fractions in numbers that are strings.
    """
    gaps: dict[str, Array] = {}
    X = _numbers(table, layout, point, gaps)
    kept = None
    coded: list[Coded] = []
    for name, absent in gaps.items():
        if missing == "error":
            settings = (("missing", "zero"), ("missing", "drop"), ("missing", "indicator"))
            raise CellError(int(np.argmax(absent)), name, "a missing value", *settings)
        if missing == "drop":
            kept = ~absent if kept is None else kept & ~absent
    counts = {name: int(absent.sum()) for name, absent in gaps.items()}
    if kept is not None:
        X, table = X[kept], table.filter(numbers(kept))
    for place, (name, kind) in enumerate(layout.columns):
        if kind == WORD:
            coded.append(code(_whole(table.column(name)), place))
            if None in coded[-1].words:
                counts[name] = int(
                    np.isin(coded[-1].places, [j for j, w in enumerate(coded[-1].words) if w is None]).sum()
                )
        elif missing == "indicator" and name in gaps:
            coded.append(Coded(place, [None], np.where(gaps[name], 0, -1)))
    hashed = None
    if layout.hashed:
        from linsep.data.hashing import hashed_rows

        hashed = hashed_rows(table, layout)
    return Parts(X, coded, hashed, kept, counts)


def finished(found: Parts, layout: Layout, levels: Levels, missing: str) -> Any:
    """Return the rows with a feature for every word: an array, or a CSR array where there are words."""
    if not (found.coded or layout.words or layout.hashed or missing == "indicator"):
        return found.numbers
    n = len(found.numbers)
    features = levels.features(found.coded) if found.coded else np.empty((n, 0), dtype=np.int64)
    X = Csr(assemble(found.numbers, features), (n, levels.first + len(levels)))
    if found.hashed is None:
        return X
    found.hashed.resize(X.shape)
    return X.tocsr() + found.hashed


def code(column: Any, place: int) -> Coded:
    """Return the words of a column, and the place of each cell's word; nothing and an empty cell are gaps."""
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.large_string()).dictionary_encode()
    words: list[str | None] = [word or None for word in column.dictionary.cast(pa.large_string()).to_pylist()]
    indices = column.indices
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(len(words))
        words.append(None)
    return Coded(place, words, numpy_view(indices))


def _numbers(table: Any, layout: Layout, point: str, gaps: dict[str, Array]) -> Array:
    """Return the columns that are numbers side by side, in a dtype that holds them all; 0 for gaps, which are noted."""
    part = table.select(layout.numbers)
    plain = len(part.schema) and set(part.schema.types) in ({pa.float64()}, {pa.float32()})
    batches = (part.combine_chunks().to_batches() if isinstance(part, pa.Table) else [part]) if plain else []
    if batches:  # the usual case, and quick
        return _finite(batches[0].to_tensor(null_to_nan=True, row_major=True).to_numpy(), layout.numbers, gaps)
    found = []
    for name, kind in layout.columns:
        if is_numeric(kind):
            found.append(_number_column(_whole(table.column(name)), name, kind, point, gaps))
    X = np.empty((table.num_rows, len(found)), dtype=np.result_type(*found) if found else np.dtype(float))
    for j, values in enumerate(found):
        X[:, j] = values
    return _finite(X, layout.numbers, gaps)


def _number_column(column: pa.Array, name: str, kind: str, point: str, gaps: dict[str, Array]) -> Array:
    """Return a column of numbers, 0 for gaps."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if _is_string(column.type):
        values = cells.values(column, kind, point)
        if values is None:
            raise _odd_cell(column, name, kind, point)
        return values
    if pa.types.is_temporal(column.type):
        column = cells.days(column)
    elif not _is_plain(column.type):
        column = column.cast(pa.float64())
    if column.null_count:
        gaps[name] = numpy_view(column.is_null())
        column = column.fill_null(zero(column.type))
    return numpy_view(column)


def _odd_cell(column: pa.Array, name: str, kind: str, point: str) -> WrongKindError:
    """Find the cell that is not of its column's kind."""
    for row, cell in enumerate(column.to_pylist()):
        if cell is not None and not cells.fits(kind, cell, point):
            return WrongKindError(row, name, cell)
    return WrongKindError(0, name, str(column[0]))


def _finite(X: Array, names: list[str], gaps: dict[str, Array]) -> Array:
    """Note NaN as gaps, and refuse infinity."""
    if X.dtype.kind != "f" or np.isfinite(X).all():
        return X
    X = X.copy()
    for j, name in enumerate(names):
        absent = np.isnan(X[:, j])
        if absent.any():
            gaps[name] = gaps[name] | absent if name in gaps else absent
            X[absent, j] = 0
    bad = np.argwhere(np.isinf(X))
    if len(bad):
        raise CellError(int(bad[0, 0]), names[bad[0, 1]], "an infinite number")
    return X


def _is_plain(kind: pa.DataType) -> bool:
    """Say whether NumPy has the same type of number."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _is_string(kind: pa.DataType) -> bool:
    """Say whether a column holds strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view")


def _whole(column: Any) -> pa.Array:
    """Return a column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def labels(column: Any, name: str, missing: str) -> tuple[Array, Array | None]:
    """Return the labels in a column of a table as they are, and which rows are kept, None for all of them."""
    column = _whole(column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if not (_is_plain(column.type) or pa.types.is_null(column.type)):
        column = column.cast(pa.string())
    gaps = column.is_null(nan_is_null=True)
    absent = numpy_view(gaps)
    if absent.any():
        if missing != "drop":
            raise CellError(int(np.argmax(absent)), name, "a missing label", ("missing", "drop"))
        column = column.filter(numbers(~absent))
    y = numpy_view(column)
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise CellError(int(np.flatnonzero(~absent)[np.argmax(np.isinf(y))]), name, "an infinite label")
    return y, ~absent if absent.any() else None


def kind_of(name: str, kind: pa.DataType, *, category: bool = False, text: bool = False, hashed: bool = False) -> str:
    """Return what becomes of a column of a typed table; words are ``hashed`` only if asked for."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if text:
        if not _is_string(kind):
            raise ColumnError(f"column {name!r} cannot be split into words: its type is {kind}")
        return TEXT
    if _is_string(kind) or category:
        return CATEGORY if hashed else WORD
    if _is_plain(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return NUMBER
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return DATE
    raise ColumnError(f"column {name!r} has type {kind}, which is neither a number nor a string", ("ignore", name))
