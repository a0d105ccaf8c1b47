"""Writes the data of a source again, without some rows or with other labels; everything else stays as it was.

Rows are numbered as in the source, from 0. A row that is to have another label gets it from a row that has it, so that
it is written as the file writes it. Tables stay tables with all their columns, LIBSVM text keeps its lines, arrays
their types. A table that is written to a format without columns, or arrays that are written as a table, are the
features and the label of the rows that were not dropped.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from linsep.data import writing
from linsep.data.byte_streams import File
from linsep.data.cells import number_pattern
from linsep.data.delimited import DelimitedSource
from linsep.data.source import Source
from linsep.data.sparse import is_sparse
from linsep.errors import DataError
from linsep.problem import Array

Changes = Mapping[int, int | None]  # a row -> the row whose label it gets, or None if it is left out
_BATCH = 1 << 16  # rows that are written together


def rewrite(path: str, source: Source, changes: Changes, X: Any, y: Array) -> None:
    """Write the data of a source to a file, whose name says in which format.

    Parameters
    ----------
    path : str
    source : Source
    changes : mapping of int to int or None
        Which rows get the label of another row, and which are left out (None).
    X, y : array of shape (n, d), array of shape (n,)
        The rows and labels that are not dropped, for formats that have no place for the rest.
    """
    form, given = writing.format_of(path), source.options.format
    if given == "csv" and form in ("csv", "tsv"):
        assert isinstance(source, DelimitedSource)
        _copy_text(path, "\t" if form == "tsv" else None, source, changes)
    elif given in ("csv", "parquet", "arrow") and form in writing.TABLES:
        _copy_table(path, form, source, changes)
    elif given == form == "libsvm":
        _copy_lines(path, source, changes)
    elif given == form and form in ("npy", "npz"):
        (_copy_array if form == "npy" else _copy_arrays)(path, source, changes)
    else:
        _write_features(path, form, source, changes, X, y)


def _labels(changes: Changes) -> set[int]:
    """Return the rows whose labels are given to others."""
    return {row for row in changes.values() if row is not None}


# ---------------------------------------------------------------------------------------------------------------
# Text


def _copy_text(path: str, delimiter: str | None, source: DelimitedSource, changes: Changes) -> None:
    """Copy the records of delimited text, in its encoding and, unless another is given, with its delimiter."""
    names, target = source.table_names, source.target
    assert target is not None
    wanted = _labels(changes)
    spelled = {i: cells[target] for i, cells in enumerate(source.records()) if i in wanted} if wanted else {}
    with writing.sink(path) as raw:
        file = io.TextIOWrapper(raw, encoding=source.options.encoding or "utf-8", newline="", write_through=True)
        writer = csv.writer(file, delimiter=delimiter or source.delimiter, lineterminator="\n")
        if names is not None:
            writer.writerow(names)
        for i, cells in enumerate(source.records()):
            new = changes.get(i, i)
            if new is None:
                continue
            if new != i:
                cells[target] = spelled[new]
            writer.writerow(cells)
        file.flush()
        file.detach()


def _copy_lines(path: str, source: Source, changes: Changes) -> None:
    """Copy the lines of LIBSVM text, with their comments."""
    wanted = _labels(changes)
    spelled = {i: line.split(None, 1)[0] for i, line in _svm_lines(source) if i in wanted} if wanted else {}
    with writing.sink(path) as file:
        for i, line in _svm_lines(source):
            new = i if i is None else changes.get(i, i)
            if i is not None and new is None:
                continue
            if i is not None and new is not None and new != i:
                start = len(line) - len(line.lstrip())
                line = line[:start] + spelled[new] + line[start + len(line.split(None, 1)[0]) :]
            file.write(line)


def _svm_lines(source: Source) -> Iterator[tuple[int | None, bytes]]:
    """Yield the lines of LIBSVM text, each with the number of its row, None if it is none."""
    row = 0
    for file in source.files:
        with file.open() as stream:
            for line in _lines(stream):
                is_row = bool(line.partition(b"#")[0].strip())
                yield (row if is_row else None), line
                row += is_row


def _lines(stream: Any) -> Iterator[bytes]:
    """Yield the lines of a stream, each with its newline."""
    rest = b""
    while piece := stream.read(1 << 20):
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if rest:
        yield rest + b"\n"


# ---------------------------------------------------------------------------------------------------------------
# Tables


def _copy_table(path: str, form: str, source: Any, changes: Changes) -> None:
    """Copy a table with all its columns, each of its own type."""
    table, target = (_typed_text(source) if source.options.format == "csv" else _typed(source)), source.target
    rows = np.arange(table.num_rows)
    kept = np.array([changes.get(i, i) is not None for i in rows.tolist()], dtype=bool)
    labels = [new for i in rows[kept].tolist() if (new := changes.get(i, i)) is not None]
    column = table.column(target).take(pa.array(labels, pa.int64()))
    table = table.take(pa.array(rows[kept], pa.int64())).set_column(target, table.schema.field(target), column)
    with writing.sink(path) as file:
        writing.write_table(file, form, table)


def _typed(source: Any) -> pa.Table:
    """Return all columns of Parquet or Arrow files, in the order of the first one."""
    from linsep.data.columnar import opened

    parts: list[pa.Table] = []
    for file in source.files:
        with opened(file, source.options.format) as table:
            part = table.read() if source.options.format == "parquet" else table.read_all()
        parts.append(part if not parts else part.select([n for n in parts[0].column_names if n in part.column_names]))
    return pa.concat_tables(parts, promote_options="permissive") if len(parts) > 1 else parts[0]


def _typed_text(source: DelimitedSource) -> pa.Table:
    """Return all columns of a text: whole numbers, numbers or words, gaps where the text has them."""
    records = list(source.records())
    names = source.table_names or [f"x{j + 1}" for j in range(len(records[0]))]
    columns = [_typed_column([record[j].strip() for record in records], source) for j in range(len(names))]
    return pa.table(columns, names=names)


def _typed_column(cells: Sequence[str], source: DelimitedSource) -> pa.Array:
    """Return cells of text as integers if all are, else as doubles if all are numbers, else as words."""
    point, gaps = source.spelling.point, set(source.spelling.gaps)
    there = [None if cell in gaps else cell for cell in cells]
    pattern = number_pattern(point)
    if all(cell is None or pattern.fullmatch(cell) for cell in there):
        plain = pa.array(
            [None if cell is None else cell.replace(point, ".").lstrip("+") for cell in there], pa.string()
        )
        for kind in (pa.int64(), pa.float64()):
            try:
                return plain.cast(kind)
            except pa.ArrowInvalid:
                continue
    return pa.array(there, pa.string())


# ---------------------------------------------------------------------------------------------------------------
# Arrays


def _copy_array(path: str, source: Any, changes: Changes) -> None:
    """Copy the rows of NPY files, the label in its own column."""
    from linsep.data.numpy_files import mapped

    arrays = [np.asarray(mapped(file)[:]) for file in source.files]
    whole = np.concatenate(arrays) if len(arrays) > 1 else arrays[0]
    kept, labels = _chosen(len(whole), changes)
    found = whole[kept]
    found[:, source.target] = whole[labels, source.target]
    with writing.sink(path) as file:
        np.lib.format.write_array(file, found, allow_pickle=False)


def _copy_arrays(path: str, source: Source, changes: Changes) -> None:
    """Copy the arrays of an NPZ file; those with one entry for each row lose the rows that are left out."""
    if len(source.files) > 1:
        raise DataError(source.files[0].name, "several NPZ files cannot be written as one: write CSV or Parquet")
    with np.load(_whole(source.files[0]), allow_pickle=False) as archive:
        arrays = dict(archive)
    y = arrays["y"]
    kept, labels = _chosen(len(y), changes)
    if "indptr" in arrays:
        import scipy.sparse as sp

        parts = (arrays.pop("data"), arrays.pop("indices"), arrays.pop("indptr"))
        X = sp.csr_array(parts, shape=tuple(arrays.pop("shape").tolist()))[kept]
        arrays = {name: a[kept] if a.ndim and len(a) == len(y) else a for name, a in arrays.items()}
        arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    else:
        arrays = {name: a[kept] if a.ndim and len(a) == len(y) else a for name, a in arrays.items()}
    arrays["y"] = y[labels]
    with writing.sink(path) as file:
        np.savez(file, **arrays)


def _whole(file: File) -> Any:
    return file.whole()


def _chosen(n: int, changes: Changes) -> tuple[Array, Array]:
    """Return which of n rows are written, and the rows whose labels they get."""
    new = [changes.get(i, i) for i in range(n)]
    return (
        np.array([i for i, row in enumerate(new) if row is not None], dtype=np.intp),
        np.array([row for row in new if row is not None], dtype=np.intp),
    )


def _write_features(path: str, form: str, source: Source, changes: Changes, X: Any, y: Array) -> None:
    """Write the features and the label of the rows that are not dropped."""
    if form not in writing.TABLES and not all(isinstance(label, int | float) for label in set(y.tolist())):
        what = f"a {form} file holds numbers, but the labels are words: write CSV, TSV, Parquet or Arrow"
        raise DataError(path, what)
    numbers = source.dropped.in_source(np.arange(len(y))).tolist()
    place = {row: i for i, row in enumerate(numbers)}
    new = [(i, changes.get(row, row)) for i, row in enumerate(numbers)]
    kept = [i for i, row in new if row is not None]
    labels = y[[place[row] for _, row in new if row is not None]]
    names = source.names if source.names is not None and len(source.names) == X.shape[1] else None
    target = source.layout.target if source.layout is not None and source.layout.named else None
    with writing.rows(path, form, len(labels), X.shape[1], names, target) as put:
        for start in range(0, max(1, len(kept)), _BATCH):
            part = X[kept[start : start + _BATCH]]
            part = part.toarray() if is_sparse(part) else np.asarray(part)
            put(part.astype(np.float64), labels[start : start + _BATCH])
