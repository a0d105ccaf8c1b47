"""Writes blocks of rows or columns to files: CSV, Parquet, Arrow, LIBSVM, NPY and NPZ."""

from __future__ import annotations

import csv
import gzip
import io
import os
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from linsep.data.arrow_arrays import numbers, word, words
from linsep.data.atomic import replacing
from linsep.data.places import masked
from linsep.errors import DataError
from linsep.problem import Array, Floats

TABLES = ("csv", "tsv", "parquet", "arrow")
FORMATS = (*TABLES, "libsvm", "npy", "npz")

_ENDINGS = {
    "csv": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "svm": "libsvm",
    "libsvm": "libsvm",
    "svmlight": "libsvm",
    "parquet": "parquet",
    "pq": "parquet",
    "arrow": "arrow",
    "feather": "arrow",
    "ipc": "arrow",
    "npy": "npy",
    "npz": "npz",
}
_CODECS = {".gz": "gzip", ".zst": "zstd"}
_TEXT = ("csv", "tsv", "libsvm")

Path = str | os.PathLike[str]
WriteColumns = Callable[[Mapping[str, Array]], None]
WriteRows = Callable[[Floats, Array], None]


def format_of(path: Path, wanted: str | None = None, allowed: Sequence[str] = FORMATS) -> str:
    """Return the format to write, by what the name ends in unless it is given; standard output is CSV.

    Examples
    --------
    >>> from linsep.data.writing import format_of
    >>> format_of("rows.svm.gz"), format_of("-")
    ('libsvm', 'csv')
    """
    name = os.path.basename(masked(os.fspath(path))).lower()
    stem, ending = os.path.splitext(name)
    packed = ending in _CODECS
    if packed:
        ending = os.path.splitext(stem)[1]
    form = wanted or ("csv" if name == "-" else _ENDINGS.get(ending.lstrip(".")))
    if form is None or form not in allowed:
        what = f"{ending or name!r} is not" if form is None else f"{form} is not"
        raise DataError(masked(str(path)), f"{what} a format to write here: {', '.join(allowed)}")
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
    """Open a table to which columns are written some rows at a time; the first ones say what the columns are.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from linsep.data import writing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "labels.csv")
    ...     with writing.columns(path, "csv") as put:
    ...         put({"label": np.array(["yes", "no"]), "score": np.array([0.5, -2.0])})
    ...     with open(path) as file:
    ...         file.read().split()
    ['label,score', 'yes,0.5', 'no,-2']
    """
    with sink(path) as file, ExitStack() as stack:
        writer: Any = None

        def put(values: Mapping[str, Array]) -> None:
            nonlocal writer
            batch = pa.record_batch([_column(array) for array in values.values()], names=list(values))
            if writer is None:
                writer = stack.enter_context(_table(file, form, batch.schema))
            writer.write_batch(batch)

        yield put


def _column(array: Array) -> pa.Array:
    """Return values as a column; labels of several types become words."""
    if array.dtype == object or array.dtype.kind in "US":
        return words([item if isinstance(item, str) else str(item) for item in array.tolist()])
    return numbers(array)


def _table(file: Any, form: str, schema: pa.Schema) -> Any:
    """Return a writer of record batches, a context manager."""
    if form == "parquet":
        import pyarrow.parquet as pq  # slow to import

        return pq.ParquetWriter(file, schema)
    if form == "arrow":
        return pa.ipc.new_file(file, schema)
    return _Delimited(file, "\t" if form == "tsv" else ",", schema.names)


def write_table(file: Any, form: str, table: pa.Table) -> None:
    """Write a whole table to an open file; CSV has words for whatever is not a number, a date or a truth value."""
    if form in ("csv", "tsv"):
        table = table.cast(pa.schema([_as_text(field) for field in table.schema]))
    with _table(file, form, table.schema) as writer:
        for batch in table.to_batches():
            writer.write_batch(batch)


def _as_text(field: pa.Field) -> pa.Field:
    """Return a field as CSV can hold it: dictionaries as their values."""
    return field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field


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
        """Write some rows."""
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
    """Write the beginning of an NPY file of float64."""
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
        cells.append(pc.if_else(numbers(X[:, j] != 0), cell, _word("")))
    lines = pc.binary_join_element_wise(*cells, _word("\n"), _word(""))
    _, _, text = lines.buffers()
    file.write(text)


def _words(values: Array) -> pa.Array:
    """Return numbers as words that read as the same numbers."""
    return pc.cast(numbers(values), pa.large_string())


def _word(text: str) -> pa.Scalar:
    return word(text).cast(pa.large_string())
