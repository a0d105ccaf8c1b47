"""How data are read, declared once: the options of ``linsep.read`` that commands have, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from linsep.declared import Parameter

READING = "Reading"  # a panel of the help
MISSING = ("", "?", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None")
REMEMBERED = ("decimal", "thousands", "encoding", "comment", "skip_rows")  # by a model, for the texts it reads
_Columns = tuple[str | int, ...]


@dataclass(frozen=True)
class Options:
    """How a source is to be read; what each of them means is said at `read`.

    On the command line none of them has a default of its own: what is not given is left to `read`, or to a model that
    knows how its own rows were read.
    """

    format: Annotated[
        str,
        Parameter(
            "File format. [default: by name, then by content]",
            READING,
            typed=Literal["csv", "jsonl", "libsvm", "parquet", "arrow", "npy", "npz", "log"],
        ),
    ]
    target: Annotated[
        str | int | None,
        Parameter("Label column, by name or number. [default: the last]", READING, "COLUMN", typed=str),
    ] = None
    positive: Any = None
    delimiter: Annotated[
        str | None, Parameter("CSV delimiter; write 'tab' for a tab. [default: detected]", READING, "CHARACTER")
    ] = None
    header: Annotated[
        bool | None, Parameter("Whether the first line of a CSV names the columns. [default: detected]", READING)
    ] = None
    zero_based: Annotated[
        bool,
        Parameter(
            "Whether LIBSVM indices start at 0 or 1. [default: one-based]", READING, name="--zero-based/--one-based"
        ),
    ] = False
    hash_bits: Annotated[
        int | None, Parameter("Hash words into 2^BITS features instead of one feature per word.", READING, "BITS")
    ] = None
    text: Annotated[
        _Columns,
        Parameter("Split this column into a bag of words; may be repeated.", READING, "COLUMN", typed=list[str]),
    ] = ()
    categorical: Annotated[
        _Columns,
        Parameter(
            "Read this column as words, even if it holds numbers; may be repeated.",
            READING,
            "COLUMN",
            typed=list[str],
        ),
    ] = ()
    ignore: Annotated[
        _Columns, Parameter("Leave this column out; may be repeated.", READING, "COLUMN", typed=list[str])
    ] = ()
    missing: Annotated[
        str,
        Parameter(
            "How to treat missing numbers: error, zero, drop (the row), or indicator (zero plus a 0/1 column that "
            "marks them). [default: error]",
            READING,
            "HOW",
            typed=Literal["error", "zero", "drop", "indicator"],
        ),
    ] = "error"
    n_features: int | None = None
    block_bytes: int = 1 << 22
    labels: bool = True
    layout: Any = None  # a `Layout`
    new_levels: bool = False
    numeric: Annotated[
        _Columns,
        Parameter(
            "Read this column as numbers, and stop at a word; may be repeated.", READING, "COLUMN", typed=list[str]
        ),
    ] = ()
    keep_index: Annotated[
        bool,
        Parameter(
            "Keep columns that only name the rows: an index, an ID, a key. [default: no-keep-index]",
            READING,
            typed=bool,
        ),
    ] = False
    encoding: Annotated[str | None, Parameter("Text encoding of CSV. [default: UTF-8]", READING, "NAME")] = None
    decimal: Annotated[
        str | None,
        Parameter("Decimal mark in CSV, . or a comma. [default: detected]", READING, "SIGN", typed=Literal[".", ","]),
    ] = None
    thousands: Annotated[
        str | None, Parameter("Thousands separator in CSV; '' for none. [default: detected]", READING, "SIGN")
    ] = None
    dates: Annotated[
        str | bool,
        Parameter(
            "Read dates as days since 1970-01-01 and times of day as seconds, or both as words. [default: dates]",
            READING,
            typed=bool,
        ),
    ] = True
    gaps: Annotated[
        tuple[str, ...],
        Parameter(
            "Text that marks a missing value in CSV, such as -; may be repeated.", READING, "TEXT", typed=list[str]
        ),
    ] = MISSING
    comment: Annotated[
        str | None,
        Parameter("Sign at the beginning of lines of CSV that are no rows, such as '#'.", READING, "SIGN"),
    ] = None
    skip_rows: Annotated[
        int | None,
        Parameter("Lines before the table to skip in CSV. [default: lines that begin with #]", READING, "N", min=0),
    ] = None
    max_features: Annotated[
        int, Parameter("Refuse files with more features than this. [default: 2^24]", READING, "N")
    ] = 1 << 24
    cache: Annotated[
        str,
        Parameter(
            "Where to cache rows between passes: auto (temporary files), none, or a folder. [default: auto]",
            READING,
            "WHERE",
        ),
    ] = "auto"
