"""How data are read, declared once: formats of files, and the options of ``linsep.read`` that commands have, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from linsep.declared import Parameter

READING = "Reading"  # a panel of the help
MISSING = ("", "?", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None")
REMEMBERED = ("decimal", "thousands", "encoding", "comment", "skip_rows")  # by a model, for the texts it reads


class Format(NamedTuple):
    """Where files of a format are read, and by what they are known."""

    module: str  # of linsep.data, loaded when the first file of its kind comes
    source: str
    endings: tuple[str, ...] = ()
    magic: tuple[bytes, ...] = ()
    is_table: bool = False  # whether its columns have names and kinds
    is_text: bool = False  # whether its numbers are the decimals that it shows, unless somebody says otherwise
    by_lines: bool = False  # whether a reader may begin at any line, so that workers can share a file


FORMATS = {
    "csv": Format("delimited", "DelimitedSource", ("csv", "tsv", "tab"), is_table=True, is_text=True, by_lines=True),
    "jsonl": Format("json_lines", "JsonSource", ("jsonl", "ndjson"), is_table=True, is_text=True, by_lines=True),
    "libsvm": Format("libsvm", "SvmSource", ("svm", "libsvm", "svmlight"), is_text=True, by_lines=True),
    "parquet": Format("columnar", "TypedSource", ("parquet", "pq"), (b"PAR1",), is_table=True),
    "arrow": Format(
        "columnar",
        "TypedSource",
        ("arrow", "feather", "ipc", "arrows"),
        (b"ARROW1", b"\xff\xff\xff\xff"),
        is_table=True,
    ),
    "npy": Format("numpy_files", "NpySource", ("npy",), (b"\x93NUMPY",)),
    "npz": Format("numpy_files", "NpzSource", ("npz",), (b"PK\x03\x04",)),
    "log": Format("example_log", "LogSource"),
}
LOG = "log.db"  # in the folder of a served learner


def format_option(*formats: str) -> Parameter:
    """Return the option that names one of these formats."""
    text = "File format. [default: by name, then by content]"
    return Parameter(text, READING, typed=Literal[formats])


def _option(text: str, metavar: str | None = None, typed: Any = ..., **more: Any) -> Parameter:
    return Parameter(text, READING, metavar, typed=typed, **more)


def _columns(text: str) -> Parameter:
    return _option(f"{text}; may be repeated.", "COLUMN", list[str])


Columns = tuple[str | int, ...]


@dataclass(frozen=True)
class Options:
    """How a source is to be read; what each of them means is said at `read`.

    On the command line none of them has a default of its own: what is not given is left to `read`, or to a model that
    knows how its own rows were read.
    """

    format: Annotated[str, format_option(*FORMATS)]
    target: Annotated[
        str | int | None, _option("Label column, by name or number. [default: the last]", "COLUMN", str)
    ] = None
    positive: Any = None
    delimiter: Annotated[
        str | None, _option("CSV delimiter; write 'tab' for a tab. [default: detected]", "CHARACTER")
    ] = None
    header: Annotated[
        bool | None, _option("Whether the first line of a CSV names the columns. [default: detected]")
    ] = None
    zero_based: Annotated[
        bool, _option("Whether LIBSVM indices start at 0 or 1. [default: one-based]", name="--zero-based/--one-based")
    ] = False
    hash_bits: Annotated[
        int | None, _option("Hash words into 2^BITS features instead of one feature per word.", "BITS")
    ] = None
    text: Annotated[Columns, _columns("Split this column into a bag of words")] = ()
    categorical: Annotated[Columns, _columns("Read this column as words, even if it holds numbers")] = ()
    numeric: Annotated[Columns, _columns("Read this column as numbers, and stop at a word")] = ()
    ignore: Annotated[Columns, _columns("Leave this column out")] = ()
    keep_index: Annotated[
        bool,
        _option("Keep columns that only name the rows: an index, an ID, a key. [default: no-keep-index]", typed=bool),
    ] = False
    missing: Annotated[
        str,
        _option(
            "How to treat missing numbers: error, zero, drop (the row), or indicator (zero plus a 0/1 column that "
            "marks them). [default: error]",
            "HOW",
            Literal["error", "zero", "drop", "indicator"],
        ),
    ] = "error"
    gaps: Annotated[
        tuple[str, ...],
        _option("Text that marks a missing value in CSV, such as -; may be repeated.", "TEXT", list[str]),
    ] = MISSING
    encoding: Annotated[str | None, _option("Text encoding of CSV. [default: UTF-8]", "NAME")] = None
    decimal: Annotated[
        str | None, _option("Decimal mark in CSV, . or a comma. [default: detected]", "SIGN", Literal[".", ","])
    ] = None
    thousands: Annotated[
        str | None, _option("Thousands separator in CSV; '' for none. [default: detected]", "SIGN")
    ] = None
    dates: Annotated[
        str | bool,
        _option(
            "Read dates as days since 1970-01-01 and times of day as seconds, or both as words. [default: dates]",
            typed=bool,
        ),
    ] = True
    comment: Annotated[
        str | None, _option("Sign at the beginning of lines of CSV that are no rows, such as '#'.", "SIGN")
    ] = None
    skip_rows: Annotated[
        int | None, _option("Lines before the table to skip in CSV. [default: lines that begin with #]", "N", min=0)
    ] = None
    max_features: Annotated[int, _option("Refuse files with more features than this. [default: 2^24]", "N")] = 1 << 24
    cache: Annotated[
        str,
        _option(
            "Where to cache rows between passes: auto (temporary files), none, or a folder. [default: auto]", "WHERE"
        ),
    ] = "auto"
    n_features: int | None = None
    block_bytes: int = 1 << 22
    labels: bool = True
    layout: Any = None  # a `Layout`
    new_levels: bool = False
