"""Writes blocks of rows or columns to files, and the data of a source again, with some rows or labels changed."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from linsep.data.arrays import arrow_numbers, word, words
from linsep.data.cells import plain_numbers, without_missing
from linsep.data.files import masked, pieces, replacing
from linsep.data.options import FORMATS
from linsep.data.schema import NUMBER
from linsep.errors import DataError
from linsep.problem import Array, Floats

if TYPE_CHECKING:
    from linsep.data.source import Source

TABLES = ("csv", "tsv", "parquet", "arrow")
WRITTEN = (*TABLES, "libsvm", "npy", "npz")

_ENDINGS = {ending: name for name, form in FORMATS.items() for ending in form.endings if ending != "arrows"}
_ENDINGS |= {"tsv": "tsv", "tab": "tsv"}
_CODECS = {".gz": "gzip", ".zst": "zstd"}
_TEXT = ("csv", "tsv", "libsvm")

Path = str | os.PathLike[str]
WriteColumns = Callable[[Mapping[str, Array]], None]
WriteRows = Callable[[Floats, Array], None]


def format_of(path: Path, wanted: str | None = None, allowed: Sequence[str] = WRITTEN) -> str:
    """Return the format to write, by what the name ends in unless it is given; standard output is CSV."""
    name = os.path.basename(masked(os.fspath(path))).lower()
    stem, ending = os.path.splitext(name)
    packed = ending in _CODECS
    if packed:
        ending = os.path.splitext(stem)[1]
    form = wanted or ("csv" if name == "-" else _ENDINGS.get(ending.lstrip(".")))
    if form is None or form not in allowed:
        message = f"{ending or name!r} is not" if form is None else f"{form} is not"
        raise DataError(masked(str(path)), f"{message} a format to write here: {', '.join(allowed)}")
    if packed and form not in _TEXT:
        raise DataError(masked(str(path)), f"{form} has compression of its own: leave out the ending .gz or .zst")
    return form


class _Open(io.RawIOBase):
    """A file that stays open when a writer that was given it closes it: whoever opened it has more to do."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        whole = memoryview(data)
        rest = whole.cast("B") if whole.nbytes else b""  # what has no bytes cannot be cast
        while rest:  # an unbuffered standard output (python -u) may take a part only
            rest = rest[self._file.write(rest) :]
        return whole.nbytes


@contextmanager
def sink(path: Path) -> Iterator[Any]:
    """Open a file that appears when it is complete, compressed if its name says so; ``-`` is standard output."""
    if os.fspath(path) == "-":
        yield _Open(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    codec = _CODECS.get(os.path.splitext(masked(os.fspath(path)))[1].lower())
    with replacing(path) as file:
        if codec is None:
            yield _Open(file)
        elif codec == "gzip":
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as stream:
                yield _Open(stream)
        else:
            with pa.CompressedOutputStream(pa.PythonFile(_Open(file), "w"), codec) as stream:
                yield stream


@contextmanager
def columns(path: Path, form: str) -> Iterator[WriteColumns]:
    """Open a table to which columns are written some rows at a time; the first ones say what the columns are."""
    with sink(path) as file, ExitStack() as stack:
        writer: Any = None
        schema: Any = None

        def put(values: Mapping[str, Array]) -> None:
            nonlocal writer, schema
            batch = pa.record_batch([_column(array) for array in values.values()], names=list(values))
            if writer is None:
                schema = batch.schema
                writer = stack.enter_context(_table(file, form, schema))
            writer.write_batch(batch.cast(schema))

        yield put


def _column(array: Array) -> pa.Array:
    """Return values as a column, None and NaN as null; labels of several types become words."""
    if array.dtype == object or array.dtype.kind in "US":
        items = array.tolist()
        kinds = {type(item) for item in items if item is not None}
        if None in items and len(kinds) == 1 and kinds <= {int, float, bool}:
            return pa.array(items)
        if None in items:
            return pa.array([None if item is None else str(item) for item in items], pa.string())
        return words([item if isinstance(item, str) else str(item) for item in items])
    absent = np.isnan(array) if array.dtype.kind == "f" else np.zeros(1, dtype=bool)
    return pa.array(array, mask=absent) if absent.any() else arrow_numbers(array)


def _table(file: Any, form: str, schema: pa.Schema) -> Any:
    if form == "parquet":
        import pyarrow.parquet as pq  # slow to import

        return pq.ParquetWriter(file, schema)
    if form == "arrow":
        return pa.ipc.new_file(file, schema)
    return _Delimited(file, "\t" if form == "tsv" else ",", schema.names)


def write_table(file: Any, form: str, table: pa.Table) -> None:
    """Write a whole table to an open file; CSV has words for whatever is not a number, a date or a truth value."""
    if form in ("csv", "tsv"):
        texts = [field for field in table.schema if pa.types.is_dictionary(field.type)]
        for field in texts:  # CSV has their words
            place = table.schema.get_field_index(field.name)
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    with _table(file, form, table.schema) as writer:
        for batch in table.to_batches():
            writer.write_batch(batch)


class _Delimited:
    """A writer of CSV or TSV that puts in quotes only what needs them."""

    def __init__(self, file: Any, delimiter: str, names: list[str]) -> None:
        self._file, self._delimiter = file, delimiter
        header = io.StringIO()
        csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(names)
        file.write(header.getvalue().encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def write_batch(self, batch: pa.RecordBatch) -> None:
        texts = [column for column in batch.columns if pa.types.is_string(column.type)]
        special = f'[{self._delimiter}"\\r\\n]'
        quoted = any(pc.any(pc.match_substring_regex(column, special)).as_py() for column in texts)
        style = pa.csv.WriteOptions(
            include_header=False, delimiter=self._delimiter, quoting_style="needed" if quoted else "none"
        )
        text = pa.BufferOutputStream()
        pa.csv.write_csv(batch, text, style)
        self._file.write(text.getvalue())


@contextmanager
def rows(
    path: Path, form: str, n: int, d: int, names: Sequence[str] | None = None, target: str | None = None
) -> Iterator[WriteRows]:
    """Open a file for ``n`` rows of ``d`` features and their labels, to be written some rows at a time.

    In tables the features are called ``x1`` ... and the label ``y`` unless they have names; in NPY the label is the
    last column; in NPZ the arrays are ``X`` and ``y``.
    """
    if form in TABLES:
        named = [f"x{j + 1}" for j in range(d)] if names is None else names
        with columns(path, form) as put:
            yield lambda X, y: put({**{name: X[:, j] for j, name in enumerate(named)}, target or "y": y})
        return
    with sink(path) as file:
        if form == "libsvm":
            yield lambda X, y: _write_libsvm(file, X, y)
        elif form == "npy":
            _write_header(file, (n, d + 1))
            yield lambda X, y: _write_values(file, np.column_stack((X, y)))
        else:
            labels: list[Array] = []
            with zipfile.ZipFile(file, "w", allowZip64=True) as archive:
                with archive.open("X.npy", "w", force_zip64=True) as member:
                    _write_header(member, (n, d))

                    def put_rows(X: Floats, y: Array) -> None:
                        _write_values(member, X)
                        labels.append(y)

                    yield put_rows
                with archive.open("y.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.concatenate(labels), allow_pickle=False)


def _write_header(file: Any, shape: tuple[int, int]) -> None:
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})


def _write_values(file: Any, values: Array) -> None:
    file.write(np.ascontiguousarray(values, dtype="<f8").data)


def _write_libsvm(file: Any, X: Floats, y: Array) -> None:
    """Write rows as lines of LIBSVM text, indices from 1, zeros left out, every number in full."""
    if len(X) == 0:
        return
    cells = [_words(y)]
    for j in range(X.shape[1]):
        cell = pc.binary_join_element_wise(_word(f" {j + 1}"), _words(X[:, j]), _word(":"))
        cells.append(pc.if_else(arrow_numbers(X[:, j] != 0), cell, _word("")))
    lines = pc.binary_join_element_wise(*cells, _word("\n"), _word(""))
    _, _, text = lines.buffers()
    file.write(text)


def _words(values: Array) -> pa.Array:
    return pc.cast(arrow_numbers(values), pa.large_string())


def _word(text: str) -> pa.Scalar:
    return word(text).cast(pa.large_string())


# ---------------------------------------------------------------------------------------------------------------
# A source again
#
# Rows are numbered as in the source, from 0. A row that is to have another label gets it from a row that has it, as
# the file writes it. Tables stay tables with all their columns, LIBSVM text keeps its lines, arrays their types. A
# table that is written to a format without columns, or arrays that are written as a table, are the features and the
# label of the rows that were not dropped.


Changes = Mapping[int, int | None]  # a row -> the row whose label it gets, or None if it is left out
_BATCH = 1 << 16  # rows that are written together


def rewrite(path: str, source: Source, changes: Changes, X: Any, y: Array) -> None:
    """Write the data of a source to a file, whose name says in which format.

    ``X`` and ``y`` are the rows and labels that are not dropped, for formats that have no place for the rest.
    """
    form, source_form = format_of(path), source.options.format
    if source_form == "csv" and form in ("csv", "tsv"):
        _copy_text(path, "\t" if form == "tsv" else None, source, changes)
    elif FORMATS[source_form].is_table and form in TABLES:
        _copy_table(path, form, source, changes)
    elif source_form == form == "libsvm":
        _copy_lines(path, source, changes)
    elif source_form == form and form in ("npy", "npz"):
        (_copy_array if form == "npy" else _copy_arrays)(path, source, changes)
    else:
        _write_features(path, form, source, changes, X, y)


def _labels(changes: Changes) -> set[int]:
    return {row for row in changes.values() if row is not None}


# ---------------------------------------------------------------------------------------------------------------
# Text


def _copy_text(path: str, delimiter: str | None, source: Any, changes: Changes) -> None:
    """Copy the records of delimited text, in its encoding and, unless another is given, with its delimiter."""
    names, target = source.column_names if source.has_header else None, source.target
    assert target is not None
    wanted = _labels(changes)
    labels = {i: cells[target] for i, cells in enumerate(_records(source)) if i in wanted} if wanted else {}
    with sink(path) as raw:
        file = codecs.getwriter(source.options.encoding or "utf-8")(raw)  # which begins UTF-16 with its mark
        writer = csv.writer(file, delimiter=delimiter or source.delimiter, lineterminator="\n")
        if names is not None:
            writer.writerow(names)
        for i, cells in enumerate(_records(source)):
            new = changes.get(i, i)
            if new is None:
                continue
            if new != i:
                cells[target] = labels[new]
            writer.writerow(cells)


def _records(source: Any) -> Iterator[list[str]]:
    """Yield the cells of every row as they are written, in the order of the columns of the first file."""
    for block in source.cells(source.column_names):
        yield from map(list, zip(*(column.to_pylist() for column in block.columns), strict=True))


def _copy_lines(path: str, source: Source, changes: Changes) -> None:
    wanted = _labels(changes)
    labels = {i: line.split(None, 1)[0] for i, line in _svm_lines(source) if i in wanted} if wanted else {}
    with sink(path) as file:
        for i, line in _svm_lines(source):
            new = i if i is None else changes.get(i, i)
            if i is not None and new is None:
                continue
            if i is not None and new is not None and new != i:
                start = len(line) - len(line.lstrip())
                line = line[:start] + labels[new] + line[start + len(line.split(None, 1)[0]) :]
            file.write(line)


def _svm_lines(source: Source) -> Iterator[tuple[int | None, bytes]]:
    """Yield the lines of LIBSVM text, each with the number of its row, None if it is none."""
    row = 0
    for file in source.files:
        for piece in pieces(file, 1 << 20):
            for line in bytes(piece).split(b"\n")[:-1]:
                is_row = bool(line.partition(b"#")[0].strip())
                yield (row if is_row else None), line + b"\n"
                row += is_row


# ---------------------------------------------------------------------------------------------------------------
# Tables


def _copy_table(path: str, form: str, source: Any, changes: Changes) -> None:
    blocks = [block if isinstance(block, pa.Table) else pa.table(block) for block in source.cells(source.column_names)]
    table, target = pa.concat_tables(blocks, promote_options="permissive"), source.target
    if source.options.format == "csv":
        names = source.column_names if source.has_header else [f"x{j + 1}" for j in range(table.num_columns)]
        table = pa.table([_typed_column(column, source) for column in table.columns], names=names)
    kept, labels = map(arrow_numbers, _chosen(table.num_rows, changes))
    table = table.take(kept).set_column(target, table.schema.field(target), table.column(target).take(labels))
    with sink(path) as file:
        write_table(file, form, table)


def _typed_column(column: Any, source: Any) -> pa.Array:
    """Return cells of text as integers if all are, else as doubles if all are numbers, else as words, or null."""
    there = without_missing(pc.utf8_trim_whitespace(column.combine_chunks()), source.number_format.missing)
    plain = plain_numbers(there, NUMBER, source.number_format.point)
    for kind in () if plain is None else (pa.int64(), pa.float64()):
        with suppress(pa.ArrowInvalid):
            numbers = pc.utf8_ltrim(plain, "+").cast(kind)
            if not (kind == pa.float64() and pc.any(pc.is_nan(numbers)).as_py()):
                return numbers
    return there


# ---------------------------------------------------------------------------------------------------------------
# Arrays


def _copy_array(path: str, source: Any, changes: Changes) -> None:
    from linsep.data.numpy_files import mapped

    arrays = [np.asarray(mapped(file)[:]) for file in source.files]
    whole = np.concatenate(arrays) if len(arrays) > 1 else arrays[0]
    kept, labels = _chosen(len(whole), changes)
    written = whole[kept]
    written[:, source.target] = whole[labels, source.target]
    with sink(path) as file:
        np.lib.format.write_array(file, written, allow_pickle=False)


def _copy_arrays(path: str, source: Source, changes: Changes) -> None:
    """Copy the arrays of an NPZ file; those with one entry for each row lose the rows that are left out."""
    if len(source.files) > 1:
        raise DataError(source.files[0].name, "several NPZ files cannot be written as one: write CSV or Parquet")
    with np.load(source.files[0].whole(), allow_pickle=False) as archive:
        arrays = dict(archive)
    y = arrays["y"]
    kept, labels = _chosen(len(y), changes)
    sparse = {name: arrays.pop(name) for name in ("data", "indices", "indptr", "shape") if "indptr" in archive.files}
    arrays = {name: a[kept] if a.ndim and len(a) == len(y) else a for name, a in arrays.items()} | {"y": y[labels]}
    if sparse:
        from linsep.data.arrays import csr_array  # which loads a compiler

        X = csr_array((sparse["data"], sparse["indices"], sparse["indptr"]), tuple(sparse["shape"].tolist()))[kept]
        arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    with sink(path) as file:
        np.savez(file, **arrays)


def _chosen(n: int, changes: Changes) -> tuple[Array, Array]:
    """Return which of n rows are written, and the rows whose labels they get."""
    new = [changes.get(i, i) for i in range(n)]
    return (
        np.array([i for i, row in enumerate(new) if row is not None], dtype=np.intp),
        np.array([row for row in new if row is not None], dtype=np.intp),
    )


def _write_features(path: str, form: str, source: Source, changes: Changes, X: Any, y: Array) -> None:
    if form not in TABLES and not all(isinstance(label, int | float) for label in set(y.tolist())):
        message = f"a {form} file holds numbers, but the labels are words: write CSV, TSV, Parquet or Arrow"
        raise DataError(path, message)
    numbers = source.dropped.in_source(np.arange(len(y))).tolist()
    place = {row: i for i, row in enumerate(numbers)}
    new = [(i, changes.get(row, row)) for i, row in enumerate(numbers)]
    kept = [i for i, row in new if row is not None]
    labels = y[[place[row] for _, row in new if row is not None]]
    names = source.names if source.names is not None and len(source.names) == X.shape[1] else None
    target = source.layout.target if source.layout is not None and source.layout.named else None
    with rows(path, form, len(labels), X.shape[1], names, target) as put:
        for start in range(0, max(1, len(kept)), _BATCH):
            part = X[kept[start : start + _BATCH]]
            part = part.toarray() if hasattr(part, "toarray") else np.asarray(part)
            put(part.astype(np.float64), labels[start : start + _BATCH])
