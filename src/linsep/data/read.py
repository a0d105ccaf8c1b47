"""Opens files of any supported format as a source: ``linsep.read``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, Literal

from linsep.data.cache import check_cache
from linsep.data.files import File, files
from linsep.data.matrices import is_frame, is_records, native
from linsep.data.options import FORMATS, LOG, MISSING, REMEMBERED, Options
from linsep.data.schema import Layout
from linsep.data.sniffing import is_encoding, is_json_lines, refuse_other_formats
from linsep.data.source import Source
from linsep.errors import ParameterError, ReadError

_PAIR = re.compile(rb"\d+:[^,;|]+")


def read(
    path: Any,
    *,
    format: str | None = None,  # noqa: A002
    target: str | int | None = None,
    positive: Any = None,
    delimiter: str | None = None,
    header: bool | None = None,
    zero_based: bool = False,
    hash_bits: int | None = None,
    text: str | int | Iterable[str | int] = (),
    categorical: str | int | Iterable[str | int] = (),
    numeric: str | int | Iterable[str | int] = (),
    ignore: str | int | Iterable[str | int] = (),
    keep_index: bool = False,
    missing: Literal["error", "zero", "drop", "indicator"] = "error",
    gaps: Iterable[str] = MISSING,
    decimal: Literal[".", ","] | None = None,
    thousands: str | None = None,
    dates: bool | str = True,
    encoding: str | None = None,
    comment: str | None = None,
    skip_rows: int | None = None,
    n_features: int | None = None,
    max_features: int = 1 << 24,
    block_bytes: int = 1 << 22,
    labels: bool = True,
    layout: Layout | None = None,
    new_levels: bool = False,
    spool: bool = True,
    cache: str = "auto",
) -> Source:
    r"""Open files as a source of blocks of rows and labels, with one block in memory at a time.

    Parameters
    ----------
    path : str, path, binary stream, or list of them; frame or list of dicts
        A file, a glob such as ``"part-*.csv"`` (in order of name), ``"-"`` for standard input. Several files are one
        source. Text may be compressed with gzip or zstd. Or a frame: of pandas, polars, Arrow, or any library that
        exports Arrow's stream. The folder of a served learner is its log.
    format : {"csv", "jsonl", "libsvm", "parquet", "arrow", "npy", "npz", "log"}, optional
        By default taken from the ending of the name, or else from the content. TSV is ``"csv"``, Feather ``"arrow"``.
    target : str or int, optional
        Column with the labels, by name or number from 0; the last one by default. LIBSVM has its own place for it.
    positive : label, optional
        The label to treat as +1; iterating over the source raises an error if it does not occur.
    delimiter : str, optional
        CSV delimiter; by default the one that splits the first lines into equal numbers of cells.
    header : bool, optional
        Whether CSV has a first row of names; by default it has if none of its cells is a number.
    zero_based : bool
        Whether LIBSVM indices start at 0; otherwise they start at 1, and an index 0 is an error.
    hash_bits : int, optional
        Hash words into ``2 ** hash_bits`` features. By default every word of a column has a feature of its own,
        ``column=word``, numbered in the order in which the words first appear.
    text : column or list of columns
        Columns to read as texts: a feature for each word, in lower case, that counts how often it occurs. By default
        columns of sentences are, in which almost all cells differ.
    categorical : column or list of columns
        Columns to read as words even if they look like numbers, dates, or IDs, which are left out otherwise.
    numeric : column or list of columns
        Columns to read as numbers: a word in them is an error. By default a word makes it a column of words.
    ignore : column or list of columns
        Columns to leave out.
    keep_index : bool
        Keep columns that only name the rows: those without a name, or named like an index, an ID or a key, that hold
        distinct integers; those with almost as many words as rows; the index of a pandas frame.
    missing : {"error", "zero", "drop", "indicator"}
        What to do with missing numbers: raise an error, use zero, drop the row, or use zero and a 1 in a feature
        ``column=missing``. A missing word is the word ``column=missing``, unless rows are dropped.
    gaps : list of str
        Texts that mark a missing value in CSV.
    decimal : {".", ","}, optional
        Decimal mark in CSV; by default a comma if the cells are numbers only then.
    thousands : str, optional
        Thousands separator in CSV, ``""`` for none; by default one that fits all cells of a column.
    dates : bool or str
        Whether columns of dates in CSV become days since 1970-01-01, and times of day seconds since midnight; a string
        is their format.
    encoding : str, optional
        Text encoding of CSV; by default UTF-8, or UTF-16 if the text starts with its mark.
    comment : str, optional
        Sign with which lines of CSV begin that are no rows, such as ``"#"``.
    skip_rows : int, optional
        How many lines of CSV come before the table; by default those that begin with ``#``, but for a header.
    n_features : int, optional
        Number of features that the data must have; by default any number.
    max_features : int
        Refuse more features than this: their weights take memory, whatever the size of the file.
    block_bytes : int
        Approximate size of a block.
    labels : bool
        Whether to read labels; if not, ``y`` is None, and the label column, if any, is left out.
    layout : Layout, optional
        ``layout`` of another source: read the same columns in the same way, in whatever order they are here.
    new_levels : bool
        Whether words that are not in the layout get new features after the existing ones, or none.
    spool : bool
        Keep a stream in a temporary file for later iterations; without it a stream can be read only once.
    cache : str
        Where to keep rows that are needed more than once: ``"auto"`` keeps them in temporary files, of which the system
        holds in memory what it has room for; a folder is the place for these files; ``"none"`` reads the files again
        each time.

    Returns
    -------
    Source

    Raises
    ------
    ReadError
        A ValueError of one line that says what is wrong and where; also raised while the blocks are read.

    Examples
    --------
    >>> import io
    >>> from linsep import read
    >>> source = read(io.BytesIO(b"+1 1:0.5 3:2\n-1 2:1\n"))
    >>> for X, y, first_row in source:
    ...     print(X.toarray().tolist(), y.tolist(), first_row)
    [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]] [1, -1] 0
    """
    asked = {name: value for name, value in locals().items() if name not in ("path", "format", "spool")}
    _check(asked)
    if isinstance(path, str | os.PathLike) and os.path.isfile(os.path.join(path, LOG)):
        path, format = os.path.join(path, LOG), "log"  # noqa: A001
    path = native(path)
    if is_frame(path) or is_records(path):
        from linsep.data.columnar import HeldTable, arrow_table  # which load pyarrow

        inputs: list[File] = [HeldTable(arrow_table(path), read=True)]
        form = "arrow"
    else:
        inputs = files(path, spool=spool)
        form = _format(inputs[0]) if format is None else str(format)
    if form not in FORMATS:
        raise ParameterError("format", form, f"one of {', '.join(map(repr, FORMATS))}")
    for name in ("text", "categorical", "numeric", "ignore"):
        asked[name] = (asked[name],) if isinstance(asked[name], str | int) else tuple(asked[name])
    options = Options(form, **asked | {"gaps": tuple(gaps)})
    if missing == "indicator" and not FORMATS[form].is_table:
        message = f"missing values of {form} files have no column of their own: use {{0}} or {{1}}"
        raise ReadError(inputs[0].name, message, ("missing", "zero"), ("missing", "drop"))
    module = import_module(f"linsep.data.{FORMATS[form].module}")
    source: Source = getattr(module, FORMATS[form].source)(inputs, options)
    return source


def options_like(state: Mapping[str, Any], *, labels: bool = True) -> dict[str, Any]:
    """Return options of ``read`` for data that are to be read as those of a source with this ``state``.

    Without labels each row is to get one: a row in which a number is missing is skipped, but for those that training
    would have taken.
    """
    known = {name: state[name] for name in REMEMBERED if name in state}
    if "gaps" in state:
        known["gaps"] = tuple(map(str, state["gaps"]))
    missing = str(state.get("missing", "error"))
    known["missing"] = "skip" if missing == "error" and not labels else missing
    known["zero_based"] = bool(state.get("zero_based"))
    if "names" in state:
        known["layout"] = layout = Layout.from_state(state)
        known["target"] = layout.target
    return known | {"labels": labels}


def _check(asked: Mapping[str, Any]) -> None:
    how = ("error", "zero", "drop", "indicator", "skip")  # the last one is of `options_like`
    bits, comment, skip = asked["hash_bits"], asked["comment"], asked["skip_rows"]
    is_sign = comment is None or (len(comment) == 1 and comment not in '"\r\n' and comment.isascii())
    for name, fits, must_be in (
        ("missing", asked["missing"] in how, "'error', 'zero', 'drop' or 'indicator'"),
        ("hash_bits", bits is None or 1 <= bits <= 30, "between 1 and 30"),
        ("block_bytes", asked["block_bytes"] >= 1, "positive"),
        ("decimal", asked["decimal"] in (None, ".", ","), "'.' or ','"),
        ("encoding", is_encoding(asked["encoding"]), "a known one, such as 'latin-1' or 'utf-16'"),
        ("comment", is_sign, "one character"),
        ("skip_rows", skip is None or skip >= 0, "a whole number that is not negative"),
    ):
        if not fits:
            raise ParameterError(name, asked[name], must_be)
    check_cache(asked["cache"])


def _format(file: File) -> str:
    """Return the format of a file by what its name ends in, or else by what it looks like."""
    name = os.path.basename(file.name).lower().removesuffix(".gz").removesuffix(".zst")
    ending = name.rpartition(".")[2] if "." in name else ""
    for name, form in FORMATS.items():
        if file.path is not None and ending in form.endings:
            return name
    head = file.head(1 << 16)
    if is_json_lines(head):
        return "jsonl"
    refuse_other_formats(file.name, head)
    for name, form in FORMATS.items():
        if form.magic and head.startswith(form.magic):
            return name
    lines = [line.partition(b"#")[0].split() for line in head.splitlines()]
    return "libsvm" if any(map(_has_pairs, lines[:100])) else "csv"


def _has_pairs(words: list[bytes]) -> bool:
    """Say whether a line is like one of LIBSVM: pairs to its end, perhaps a label and qid before; a time is no pair."""
    first = next((k for k, word in enumerate(words[:3]) if _PAIR.fullmatch(word)), len(words))
    return first < len(words) and all(_PAIR.fullmatch(word) for word in words[first : first + 3])
