"""Options that commands share, a group of them as one dataclass: what they mean and read like is said here once."""

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
        help="CSV, TSV, LIBSVM, Parquet, Arrow, NPY or NPZ; text also as .gz or .zst; several files, or a glob; "
        "- is standard input.",
        show_default=False,
    ),
]
Values = Annotated[
    Literal["decimal", "binary"] | None,
    typer.Option(
        help="Numbers are the decimals that a text shows, its default, or the nearest doubles.",
        rich_help_panel=DECIDING,
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model that fit or convert wrote.", show_default=False)]


class ClosedPipe(BaseException):
    """Whoever reads the output has closed it."""


def flag(name: str, meaning: str, panel: str | None = None, **others: Any) -> Any:
    """Return an option that is there or not, without a value."""
    return typer.Option(name, metavar="", help=meaning, rich_help_panel=panel, **others)


# how tables are read: options of all commands that do
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER", help="Delimiter of CSV; detected by default; a tab is 'tab'.", rich_help_panel=READING
    ),
]
Header = Annotated[bool | None, flag("--header/--no-header", "Whether CSV has names; detected by default.", READING)]
Gaps = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="What CSV has where a value is missing.", rich_help_panel=READING),
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of CSV, by default UTF-8.", rich_help_panel=READING)
]
DecimalSign = Annotated[
    Literal[".", ","] | None,
    typer.Option(metavar="SIGN", help="Decimal sign in CSV; detected by default.", rich_help_panel=READING),
]
Thousands = Annotated[
    str | None,
    typer.Option(
        metavar="SIGN", help="Thousands separator in CSV, or ''; detected by default.", rich_help_panel=READING
    ),
]
Ignored = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out.", rich_help_panel=READING)
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Take a column as words, not numbers.", rich_help_panel=READING),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Take a column as numbers; a word is an error.", rich_help_panel=READING),
]
Dates = Annotated[bool | None, flag("--dates/--no-dates", "Take dates as days since 1970-01-01; the default.", READING)]


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
        typer.Option("--quiet", "-q", metavar="", help="No progress bar and no report.", rich_help_panel=OUTPUT),
    ] = False
    json: Annotated[bool, flag("--json", "Print one JSON object.", OUTPUT)] = False


@dataclass(frozen=True)
class ReadingAgain:
    """How to read data for a model: as those that it learned from, unless something else is said."""

    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with the labels, by name or number; by default the last one.",
            rich_help_panel=READING,
        ),
    ] = None
    format: Annotated[
        Literal["csv", "libsvm", "parquet", "arrow", "npy", "npz"] | None,
        typer.Option(help="By default what the name or the content says.", rich_help_panel=READING),
    ] = None
    delimiter: Delimiter = None
    header: Header = None
    zero_based: Annotated[
        bool | None, flag("--zero-based/--one-based", "First index of LIBSVM; detected by default.", READING)
    ] = None
    missing: Annotated[
        Literal["error", "zero", "drop", "indicator"] | None,
        typer.Option(
            metavar="HOW",
            help="Missing numbers: error (default), zero, drop the row, or indicator (zero and a column that says so).",
            rich_help_panel=READING,
        ),
    ] = None
    gaps: Gaps = None
    encoding: Encoding = None
    decimal: DecimalSign = None
    thousands: Thousands = None

    def given(self) -> dict[str, Any]:
        """Return what `linsep.read` is to be told."""
        return said(self)


@dataclass(frozen=True)
class Reading(ReadingAgain):
    """How to read data that no model knows yet."""

    ignore: Ignored = None
    categorical: Categorical = None
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Take a column as a bag of words.", rich_help_panel=READING),
    ] = None
    numeric: Numeric = None
    dates: Dates = None
    keep_index: Annotated[
        bool | None, flag("--keep-index/--no-keep-index", "Take in a column that only counts the rows.", READING)
    ] = None
    hash_bits: Annotated[
        int | None,
        typer.Option(metavar="BITS", help="Hash words into 2^BITS features.", rich_help_panel=READING),
    ] = None
    max_features: Annotated[
        int | None,
        typer.Option(metavar="N", help="Refuse more features than this; 2^24.", rich_help_panel=READING),
    ] = None
    cache: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Where to keep rows that are needed again: auto (memory, then temporary files), none, or a folder.",
            rich_help_panel=READING,
        ),
    ] = None
    cache_mb: Annotated[
        int | None,
        typer.Option(metavar="MB", min=0, help="How much of them to keep in memory; 256.", rich_help_panel=READING),
    ] = None
    explain: Annotated[bool, flag("--explain", "Show what becomes of every column, and stop.", READING)] = False

    def given(self) -> dict[str, Any]:
        """Return what `linsep.read` is to be told."""
        return {name: value for name, value in super().given().items() if name != "explain"}


@dataclass(frozen=True)
class Planes:
    """Which planes are looked for."""

    fit_intercept: Annotated[
        bool, flag("--fit-intercept/--no-fit-intercept", "Whether planes may have an offset.", DECIDING)
    ] = True
    offset: Annotated[bool | None, typer.Option("--offset/--no-offset", hidden=True)] = None  # the same, in fewer keys

    @property
    def has_offset(self) -> bool:
        """Say whether planes may have an offset."""
        return self.fit_intercept if self.offset is None else self.offset
