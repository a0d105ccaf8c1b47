"""Makes commands and their options from declared parameters; options that several commands share."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass
from functools import wraps
from typing import Annotated, Any, Literal, get_type_hints

import click
from rich_click import RichArgument, RichCommand, RichOption, RichOptionPanel

from linsep.data.options import READING, Options
from linsep.declared import Declared, Parameter, declared
from linsep.errors import Setting

DECIDING, OUTPUT, CLUSTER = "Deciding", "Output", "Cluster"  # panels of the help


def shown(paragraphs: bool = False) -> dict[str, Any]:
    """Return how help is shown; of several paragraphs, a line is left free after the first."""
    first = (0, 0, int(paragraphs), 0)
    settings = {"max_width": 110, "padding_helptext_first_line": first}
    return {"help_option_names": ["-h", "--help"], "rich_help_config": settings}


@dataclass(frozen=True)
class Argument:
    """A value that is given by its place."""

    help: str


class ClosedPipe(BaseException):
    """Whoever reads the output has closed it."""


class Text(click.ParamType):  # type: ignore[type-arg]
    """A text; help does not say so."""

    name = ""


class Number(click.ParamType):  # type: ignore[type-arg]
    """A number, or one of a few words; it is checked as the library checks it."""

    def __init__(self, kind: type, declared: Declared) -> None:
        self.kind, self.declared, self.name = kind, declared, "N" if kind is int else "NUMBER"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the number that a text shows."""
        try:
            value = value if value in self.declared.choices else self.kind(value)
        except ValueError:
            self.fail(f"{value!r} is not a {'whole ' * (self.kind is int)}number", param, ctx)
        self.declared.check(value)
        return value


def command(example: str) -> Callable[[Callable[..., None]], RichCommand]:
    """Make a function a command; each of its parameters is declared, or a class of declared ones."""

    def made(function: Callable[..., None]) -> RichCommand:
        own = {each.name: each for each in declared(function)}
        names, hints = inspect.signature(function).parameters, get_type_hints(function)
        groups = {name: declared(hints[name]) for name in names if name not in own}
        params = [parameter(each) for name in names for each in groups.get(name) or (own[name],)]

        @wraps(function)
        def called(**values: Any) -> None:
            values = {
                name: list(value) or None if isinstance(value, tuple) else value for name, value in values.items()
            }
            for name, group in groups.items():
                values[name] = hints[name](**{each.name: values.pop(each.name) for each in group})
            try:
                function(**values)
            except BrokenPipeError:  # rich_click would exit with 1
                raise ClosedPipe from None

        return RichCommand(
            name=function.__name__,
            params=params,
            panels=[RichOptionPanel(each) for each in ("Arguments", "Options")],  # before all others
            callback=called,
            help=inspect.getdoc(function),
            epilog=f"Example: {example}",
            no_args_is_help=any(each.required for each in params),
            context_settings=shown(paragraphs="\n\n" in (function.__doc__ or "")),
        )

    return made


def parameter(each: Declared) -> click.Parameter:
    """Return an option or argument as it is declared."""
    about = each.about
    if getattr(about, "typed", ...) is not ...:
        each = each._replace(kind=about.typed)
    kind, numbers = each.members[0], [member for member in each.members if member in (int, float)]
    typed: dict[str, Any] = {"type": Text(), "required": each.default is MISSING}
    if not typed["required"]:
        typed["default"] = each.default
    if isinstance(about, Argument):
        return RichArgument([each.name], help=about.help, nargs=-1 if kind == list[str] else 1, **typed)
    dashed = each.name.replace("_", "-")
    name = about.name or f"--{dashed}"
    if kind is bool:
        typed |= {"type": bool, "is_flag": True}
        if not about.name and each.default is not False:
            name += f"/--no-{dashed}"
    elif numbers:
        typed["type"] = Number(numbers[0], each)
    elif each.choices:
        typed["type"] = click.Choice([str(choice) for choice in each.choices])
    repeated = " May be repeated." if kind == list[str] and "repeated" not in about.help else ""
    return RichOption(
        [each.name, name, *([about.short] if about.short else [])],
        help=about.help + repeated,
        panel=about.panel,
        metavar=about.metavar,
        hidden=about.hidden,
        multiple=kind == list[str],
        show_default=not (each.default is None or each.default is False),
        **typed,
    )


def as_option(setting: Setting) -> str:
    """Spell a parameter of the library as it is typed here: ``missing='zero'`` is ``--missing zero``."""
    name, value = setting.name.replace("_", "-"), setting.value
    if value is ... or value is True:
        return f"--{name}"
    return f"--no-{name}" if value is False else f"--{name} {shlex.quote(str(value))}"


Data = Annotated[
    list[str],
    Argument(
        "One or more files, or a glob: CSV, TSV, JSON Lines, LIBSVM, Parquet, Arrow, NPY or NPZ; text also as .gz or "
        ".zst; - is standard input."
    ),
]
Values = Annotated[
    Literal["decimal", "binary"] | None,
    Parameter("Read 0.1 as the decimal one tenth (default for text) or as the nearest double (binary).", DECIDING),
]
TimeLimit = Annotated[float | None, Parameter("Stop the search after this time.", DECIDING, "SECONDS", min=0)]
Proof = Annotated[str | None, Parameter("Write the proof to this JSON file.", OUTPUT, "OUT")]
Model = Annotated[str, Argument("Model file, as fit or convert writes it.")]


@dataclass(frozen=True)
class Screen:
    """What a command prints."""

    quiet: Annotated[bool, Parameter("Print no progress bar and no report.", OUTPUT, short="-q")] = False
    json: Annotated[bool, Parameter("Print the result as one JSON object.", OUTPUT)] = False


def reading_options(*names: str) -> tuple[Declared, ...]:
    """Return some of the options of `linsep.read` as options of a command: what is not given is left to it."""
    known = {each.name: each for each in declared(Options)}
    return tuple(known[name]._replace(default=None) for name in names)


TEXT = ("gaps", "encoding", "decimal", "thousands", "comment", "skip_rows")
_COLUMNS = ("numeric", "dates", "keep_index", "hash_bits", "max_features", "cache")


class ReadingAgain:
    """How to read data for a model: as those that it learned from, unless options differ."""

    parameters_declared = reading_options("target", "format", "delimiter", "header", "zero_based", "missing", *TEXT)

    def __init__(self, **values: Any) -> None:
        self.options = {
            name: value for name, value in values.items() if value is not None
        }  # arguments of `linsep.read`
        if self.options.get("delimiter") in ("tab", "\\t"):
            self.options["delimiter"] = "\t"


class Reading(ReadingAgain):
    """How to read data that no model knows yet."""

    parameters_declared = (
        *ReadingAgain.parameters_declared,
        *reading_options("ignore", "categorical", "text", *_COLUMNS),
        Declared("explain", bool, False, Parameter("Show how linsep reads each column, then exit.", READING)),
    )

    def __init__(self, explain: bool = False, **values: Any) -> None:
        super().__init__(**values)
        self.explain = explain

    def ignoring(self, column: str) -> Reading:
        """Return the same without a column."""
        return Reading(self.explain, **self.options | {"ignore": [*self.options.get("ignore", ()), column]})


@dataclass(frozen=True)
class Planes:
    """Which planes are looked for."""

    fit_intercept: Annotated[bool, Parameter("Allow an offset, or only planes through the origin.", DECIDING)] = True
    offset: Annotated[bool | None, Parameter("", hidden=True)] = None  # the same, in fewer keys

    @property
    def has_offset(self) -> bool:
        """Say whether planes may have an offset."""
        return self.fit_intercept if self.offset is None else self.offset


@dataclass(frozen=True)
class Document:
    """Where to write the proof, and what to add."""

    proof: Proof = None
    note: Annotated[str | None, Parameter("Your own remark, kept in the proof file.", OUTPUT, "TEXT")] = None


@dataclass(frozen=True)
class Place:
    """Where a command works: in this process, or on a cluster."""

    cluster: Annotated[
        str | None,
        Parameter(
            "Dask cluster to run on, such as tcp://host:8786; local starts processes on this machine.",
            CLUSTER,
            "ADDRESS",
        ),
    ] = None
    workers: Annotated[
        int | None, Parameter("Number of local processes. [default: one per core]", CLUSTER, "N", min=1)
    ] = None
    shard_mb: Annotated[float, Parameter("Size of the shards that files are split into.", CLUSTER, "MB", min=1e-6)] = 64

    def __post_init__(self) -> None:
        if self.workers is not None and self.cluster not in (None, "local"):
            raise click.BadParameter(
                "--workers needs --cluster local: an existing cluster sets its own number of workers"
            )

    @property
    def address(self) -> str | None:
        """Where the cluster is, None if there is none."""
        return "local" if self.cluster is None and self.workers is not None else self.cluster

    @property
    def shard_bytes(self) -> int:
        """About how many bytes of a file a worker gets at a time."""
        return max(1, round(self.shard_mb * 1e6))

    def __bool__(self) -> bool:
        return self.address is not None

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Connect to the cluster."""
        try:
            from linsep.cluster.workers import connect
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"--cluster needs the package {error.name}: pip install 'linsep[cluster]'"
            ) from None
        assert self.address is not None
        with connect(self.address, self.workers) as client:
            yield client
