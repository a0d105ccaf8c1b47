"""Loads each command on first use, and lets plain option values bypass typer's validation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

EXAMPLES = {
    "fit": "linsep fit train.csv --target species --max-iter 100 --model species.linsep",
    "predict": "linsep predict species.linsep new.csv --score --out labels.csv",
    "score": "linsep score species.linsep test.csv --at-most 0.05",
    "separate": "linsep separate data.csv --target species --proof proof.json",
    "regression": 'linsep regression data.csv --formula "HG ~ NV + PI + EH"',
    "errors": "linsep errors data.csv --target species --time-limit 10 --out clean.csv",
    "verify": "linsep verify proof.json data.csv --target species",
    "show": "linsep show species.linsep train.csv --out figures",
    "report": "linsep report data.csv --target species --out report.html",
    "convert": "linsep convert species.linsep species.onnx",
    "generate": "linsep generate data.csv --n 10000 --d 20 --margin 0.05",
    "explore": "linsep explore species.csv --target species",
    "compile": "linsep compile",
}
_FORMER = {"separation": "regression"}  # names that still work, and are not listed
_BARE = ("explore", "compile")  # commands that do something without arguments
_NUMBERS: dict[Any, str] = {int: r"\d+", float: r"\d+(\.\d+)?(e-?\d+)?"}
_DOUBTFUL = object()
_TYPES = {"<bool>": None, "<str>": None, "<list[str]>": None, "<float>": "NUMBER", "<int>": "N"}  # as help shows them


def function(name: str) -> Callable[..., None]:
    """Return the function of a command, which stands in the module of its name."""
    return getattr(import_module(f"linsep.cli.{name}"), name)  # type: ignore[no-any-return]


class _Light:
    """A part of the command line that leaves only doubtful values to typer.

    Typer loads pydantic and builds a validator for every option, given or not, which takes a third of the time that a
    command on small data has. Plain values need neither, and typer words the errors of all others.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Turn arguments into values."""
        kinds = inspect.get_annotations(self.callback)  # type: ignore[attr-defined]
        for option in self.get_params(ctx):  # type: ignore[attr-defined]
            option.process_value = partial(_value, option, kinds.get(option.name), option.process_value)
            option.display_type_rich = partial(_type_shown, option.display_type_rich)
        return super().parse_args(ctx, args)  # type: ignore[misc,no-any-return]


class _Command(_Light, TyperCommand):
    """One command."""


class Group(_Light, TyperGroup):
    """All commands."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given | {"commands": _Commands()})


class _Commands(Mapping[str, TyperCommand]):
    """The commands by name; a command's module is imported when it is asked for."""

    def __getitem__(self, name: str) -> TyperCommand:
        name = _FORMER.get(name, name)
        if name not in EXAMPLES:
            raise KeyError(name)
        app = typer.Typer(rich_markup_mode="markdown", add_completion=False)
        epilog = f"Example: `{EXAMPLES[name]}`"
        app.command(cls=_Command, epilog=epilog, no_args_is_help=name not in _BARE)(function(name))
        return typer.main.get_command(app)  # type: ignore[return-value]

    def __iter__(self) -> Iterator[str]:
        return iter(EXAMPLES)

    def __len__(self) -> int:
        return len(EXAMPLES)


def _type_shown(shown: Callable[..., str | None], ctx: Any) -> str | None:
    """Return the type of an option for its line of help, in words that need no Python."""
    text = shown(ctx)
    return _TYPES.get(text, text) if text else text


def _value(option: Any, kind: Any, otherwise: Callable[..., Any], ctx: Any, given: Any) -> Any:
    """Return the value of an option: what was given if that is plainly good, or else what typer says."""
    value = _plain(kind, given)
    if given is None and not option.required:
        value = () if option.multiple or option.nargs == -1 else None
    if value is _DOUBTFUL:
        return otherwise(ctx, given)
    return value if option.callback is None else option.callback(ctx, option, value)


def _plain(kind: Any, given: Any) -> Any:
    """Return a value of the type that an option has, if what was given is one beyond doubt."""
    if not hasattr(kind, "__metadata__"):
        return _DOUBTFUL
    type_, info = kind.__origin__, kind.__metadata__[0]
    members = [each for each in get_args(type_) if each is not NoneType]
    if NoneType in get_args(type_) and len(members) == 1:
        type_ = members[0]
    if type_ == list[str]:
        good = isinstance(given, list | tuple) and all(isinstance(each, str) for each in given)
        return list(given) if good else _DOUBTFUL
    if get_origin(type_) is Literal:
        return given if isinstance(given, str) and given in get_args(type_) else _DOUBTFUL
    if type_ in _NUMBERS and (type(given) is int or re.fullmatch(_NUMBERS[type_], str(given), re.ASCII)):
        given = type_(given)
    good = type(given) is type_ and (info.min is None or given >= info.min) and (info.max is None or given <= info.max)
    return given if good else _DOUBTFUL
