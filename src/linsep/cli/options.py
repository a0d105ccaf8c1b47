"""Options that several commands share, defined once as dataclasses."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, Literal, get_type_hints

import typer

DECIDING, READING, OUTPUT = "Deciding", "Reading", "Output"  # panels of the help

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="One or more files, or a glob: CSV, TSV, LIBSVM, Parquet, Arrow, NPY or NPZ; text also as .gz or .zst; "
        "- is standard input.",
        show_default=False,
    ),
]
Values = Annotated[
    Literal["decimal", "binary"] | None,
    typer.Option(
        help="Read 0.1 as the decimal one tenth (default for text) or as the nearest double (binary).",
        rich_help_panel=DECIDING,
    ),
]
Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="Model file, as fit or convert writes it.", show_default=False)
]


class ClosedPipe(BaseException):
    """Whoever reads the output has closed it."""


def flag(name: str, meaning: str, panel: str | None = None, **others: Any) -> Any:
    """Return an option that is there or not, without a value."""
    return typer.Option(name, metavar="", help=meaning, rich_help_panel=panel, **others)


# how tables are read: options of all commands that do
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="CSV delimiter; write 'tab' for a tab. [default: detected]",
        rich_help_panel=READING,
    ),
]
Header = Annotated[
    bool | None,
    flag("--header/--no-header", "Whether the first line of a CSV names the columns. [default: detected]", READING),
]
Gaps = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help="Text that marks a missing value in CSV, such as -; may be repeated.",
        rich_help_panel=READING,
    ),
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="Text encoding of CSV. [default: UTF-8]", rich_help_panel=READING)
]
DecimalSign = Annotated[
    Literal[".", ","] | None,
    typer.Option(
        metavar="SIGN", help="Decimal mark in CSV, . or a comma. [default: detected]", rich_help_panel=READING
    ),
]
Thousands = Annotated[
    str | None,
    typer.Option(
        metavar="SIGN", help="Thousands separator in CSV; '' for none. [default: detected]", rich_help_panel=READING
    ),
]
Ignored = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Leave this column out; may be repeated.", rich_help_panel=READING),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Read this column as words, even if it holds numbers; may be repeated.",
        rich_help_panel=READING,
    ),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Read this column as numbers, and stop at a word; may be repeated.",
        rich_help_panel=READING,
    ),
]
Dates = Annotated[
    bool | None,
    flag(
        "--dates/--no-dates",
        "Read dates as days since 1970-01-01 and times of day as seconds, or both as words. [default: dates]",
        READING,
    ),
]


KeepIndex = Annotated[
    bool | None,
    flag(
        "--keep-index/--no-keep-index",
        "Keep columns that only name the rows: an index, an ID, a key. [default: no-keep-index]",
        READING,
    ),
]


def said(options: Any) -> dict[str, Any]:
    """Return the options of a group that have been given."""
    found = {name: value for name, value in asdict(options).items() if value is not None}
    if found.get("delimiter") in ("tab", "\\t"):
        found["delimiter"] = "\t"
    return found


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command be called with the options of its dataclasses one by one, as typer does.

    A parameter of the command whose type is a dataclass stands for one option per field.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    options: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name not in groups:
            options.append(parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        kind = groups[parameter.name]
        types = get_type_hints(kind, include_extras=True)
        options += [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name]
            )
            for field in fields(kind)
        ]

    @wraps(command)
    def spelled_out(**given: Any) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)}) for name, kind in groups.items()
        }
        try:
            command(**given, **made)
        except BrokenPipeError:  # typer would exit with 1
            raise ClosedPipe from None

    spelled_out.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    spelled_out.__annotations__ = {option.name: option.annotation for option in options}
    return spelled_out


@dataclass(frozen=True)
class Screen:
    """What a command prints."""

    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", metavar="", help="Print no progress bar and no report.", rich_help_panel=OUTPUT),
    ] = False
    json: Annotated[bool, flag("--json", "Print the result as one JSON object.", OUTPUT)] = False


@dataclass(frozen=True)
class ReadingAgain:
    """How to read data for a model: as those that it learned from, unless something else is said."""

    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Label column, by name or number. [default: the last]",
            rich_help_panel=READING,
        ),
    ] = None
    format: Annotated[
        Literal["csv", "libsvm", "parquet", "arrow", "npy", "npz"] | None,
        typer.Option(help="File format. [default: by name, then by content]", rich_help_panel=READING),
    ] = None
    delimiter: Delimiter = None
    header: Header = None
    zero_based: Annotated[
        bool | None,
        flag("--zero-based/--one-based", "Whether LIBSVM indices start at 0 or 1. [default: detected]", READING),
    ] = None
    missing: Annotated[
        Literal["error", "zero", "drop", "indicator"] | None,
        typer.Option(
            metavar="HOW",
            help="How to treat missing numbers: error, zero, drop (the row), or indicator (zero plus a 0/1 column "
            "that marks them). [default: error]",
            rich_help_panel=READING,
        ),
    ] = None
    gaps: Gaps = None
    encoding: Encoding = None
    decimal: DecimalSign = None
    thousands: Thousands = None

    def given(self) -> dict[str, Any]:
        """Return the arguments for `linsep.read`."""
        return said(self)


@dataclass(frozen=True)
class Reading(ReadingAgain):
    """How to read data that no model knows yet."""

    ignore: Ignored = None
    categorical: Categorical = None
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Split this column into a bag of words; may be repeated.", rich_help_panel=READING
        ),
    ] = None
    numeric: Numeric = None
    dates: Dates = None
    keep_index: KeepIndex = None
    hash_bits: Annotated[
        int | None,
        typer.Option(
            metavar="BITS",
            help="Hash words into 2^BITS features instead of one feature per word.",
            rich_help_panel=READING,
        ),
    ] = None
    max_features: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Refuse files with more features than this. [default: 2^24]", rich_help_panel=READING
        ),
    ] = None
    cache: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Where to cache rows between passes: auto (memory, then temporary files), none, or a folder. "
            "[default: auto]",
            rich_help_panel=READING,
        ),
    ] = None
    cache_mb: Annotated[
        int | None,
        typer.Option(
            metavar="MB",
            min=0,
            help="Megabytes of the cache to keep in memory. [default: 256]",
            rich_help_panel=READING,
        ),
    ] = None
    explain: Annotated[bool, flag("--explain", "Show how linsep reads each column, then exit.", READING)] = False

    def given(self) -> dict[str, Any]:
        """Return the arguments for `linsep.read`."""
        return {name: value for name, value in super().given().items() if name != "explain"}


@dataclass(frozen=True)
class Planes:
    """Which planes are looked for."""

    fit_intercept: Annotated[
        bool,
        flag("--fit-intercept/--no-fit-intercept", "Allow an offset, or only planes through the origin.", DECIDING),
    ] = True
    offset: Annotated[bool | None, typer.Option("--offset/--no-offset", hidden=True)] = None  # the same, in fewer keys

    @property
    def has_offset(self) -> bool:
        """Say whether planes may have an offset."""
        return self.fit_intercept if self.offset is None else self.offset
