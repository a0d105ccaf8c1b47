"""Files to blocks of rows and labels: CSV, LIBSVM text, Parquet, Arrow, NPY and NPZ, whatever their size."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from linsep.data.byte_streams import File, files
from linsep.data.columns import Layout
from linsep.data.source import Options, Source

_FORMATS = {  # where each is read, loaded when the first file of its kind comes
    "csv": ("delimited", "DelimitedSource"),
    "libsvm": ("libsvm", "SvmSource"),
    "parquet": ("columnar", "TypedSource"),
    "arrow": ("columnar", "TypedSource"),
    "npy": ("numpy_files", "NpySource"),
    "npz": ("numpy_files", "NpzSource"),
}
_ENDINGS = {
    "csv": "csv", "tsv": "csv", "tab": "csv",
    "svm": "libsvm", "libsvm": "libsvm", "svmlight": "libsvm",
    "parquet": "parquet", "pq": "parquet",
    "arrow": "arrow", "feather": "arrow", "ipc": "arrow", "arrows": "arrow",
    "npy": "npy", "npz": "npz",
}  # fmt: skip
_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
}
_PAIR = re.compile(rb"\d+:[^,;|]+")


def read(
    path: Any,
    *,
    format: str | None = None,  # noqa: A002 - the word that users know
    target: str | int | None = None,
    positive: Any = None,
    delimiter: str | None = None,
    header: bool | None = None,
    zero_based: bool | None = None,
    hash_bits: int = 18,
    text: str | int | Iterable[str | int] = (),
    categorical: str | int | Iterable[str | int] = (),
    ignore: str | int | Iterable[str | int] = (),
    missing: str = "error",
    n_features: int | None = None,
    block_bytes: int = 1 << 22,
    labels: bool = True,
    layout: Layout | None = None,
    invert: bool = False,
    spool: bool = True,
) -> Source:
    r"""Open files as a source of blocks of rows and labels, of which one at a time is in memory.

    Parameters
    ----------
    path : str, path, binary stream, or list of them
        A file, a glob such as ``"part-*.csv"`` (in order of name), ``"-"`` for standard input. Several files are one
        source. Text may be compressed with gzip or zstd.
    format : {"csv", "libsvm", "parquet", "arrow", "npy", "npz"}, optional
        By default what the name ends in, or else what the content looks like. TSV is ``"csv"``, Feather ``"arrow"``.
    target : str or int, optional
        Column with the labels, by name or number from 0; the last one by default. LIBSVM has its own place for it.
    positive : label, optional
        The label to be learnt as +1; an iteration in which it does not occur ends with an error.
    delimiter : str, optional
        Of CSV; by default what cuts the first lines into equally many cells.
    header : bool, optional
        Whether CSV has a first row of names; by default it has if none of its cells is a number.
    zero_based : bool, optional
        Whether LIBSVM indices start at 0; by default they do if a 0 occurs anywhere, see `Source.features`.
    hash_bits : int
        String columns are hashed, one-hot, into ``2 ** hash_bits`` features.
    text : column or list of columns
        Columns to be taken as a hashed bag of words.
    categorical : column or list of columns
        Columns to be taken as words even if they look like numbers or dates.
    ignore : column or list of columns
        Columns to leave out.
    missing : {"error", "zero", "drop"}
        What becomes of missing cells: an error, a zero, or the row is left out.
    n_features : int, optional
        How many features there must be; by default as many as there are.
    block_bytes : int
        About how many bytes a block takes.
    labels : bool
        Whether there are labels; if not, ``y`` is None, and the target, if it is there, is left out.
    layout : Layout, optional
        ``layout`` of another source: take the same columns in the same way, whatever their order here.
    invert : bool
        Record the names that were hashed to each feature in ``seen``.
    spool : bool
        Keep a stream in a temporary file for later iterations; without it a stream can be read only once.

    Returns
    -------
    Source

    Raises
    ------
    ReadError
        A ValueError of one line that says what is wrong and where, here or while the blocks are read.

    Examples
    --------
    >>> import io
    >>> from linsep import read
    >>> source = read(io.BytesIO(b"+1 1:0.5 3:2\n-1 2:1\n"), zero_based=False)
    >>> for X, y, first_row in source:
    ...     print(X.toarray().tolist(), y.tolist(), first_row)
    [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]] [1, -1] 0
    """
    if missing not in ("error", "zero", "drop"):
        raise ValueError(f"missing must be 'error', 'zero' or 'drop', got {missing!r}")
    if not 1 <= hash_bits <= 30:
        raise ValueError(f"hash_bits must be between 1 and 30, got {hash_bits!r}")
    if block_bytes < 1:
        raise ValueError(f"block_bytes must be positive, got {block_bytes!r}")
    found = files(path, spool=spool)
    form = _format(found[0]) if format is None else format
    if form not in _FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, _FORMATS))}, got {form!r}")
    options = Options(
        form, target, positive, delimiter, header, zero_based, hash_bits, _several(text), _several(categorical),
        _several(ignore), missing, n_features, block_bytes, labels, layout,
    )  # fmt: skip
    module, kind = _FORMATS[form]
    source: Source = getattr(import_module(f"linsep.data.{module}"), kind)(found, options)
    source.seen = {} if invert else None
    return source


def _several(columns: str | int | Iterable[str | int]) -> tuple[str | int, ...]:
    """Return one column or several as a tuple."""
    return (columns,) if isinstance(columns, str | int) else tuple(columns)


def _format(file: File) -> str:
    """Return the format of a file by what its name ends in, or else by what it looks like."""
    name = os.path.basename(file.name).lower().removesuffix(".gz").removesuffix(".zst")
    ending = name.rpartition(".")[2] if "." in name else ""
    if file.path is not None and ending in _ENDINGS:
        return _ENDINGS[ending]
    head = file.head(1 << 16)
    for magic, form in _MAGIC.items():
        if head.startswith(magic):
            return form
    lines = [line.partition(b"#")[0].split() for line in head.splitlines()]
    return "libsvm" if any(_PAIR.fullmatch(word) for words in lines[:100] for word in words[:3]) else "csv"
