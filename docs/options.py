"""The options of a command as a table, from the command itself."""

from __future__ import annotations

import inspect
import typing
from typing import Any

import typer

from linsep.cli.commands import function


def table(name: str) -> str:
    """Return arguments and options of a command as a Markdown table."""
    command = function(name)
    hints = typing.get_type_hints(command, include_extras=True)
    lines = ["| option | default | meaning |", "|---|---|---|"]
    for parameter in inspect.signature(command).parameters.values():
        kind, info = typing.get_args(hints[parameter.name])
        if info.hidden:
            continue
        option = isinstance(info, typer.models.OptionInfo)
        shown = _names(parameter.name, kind, info) if option else f"`{info.metavar or parameter.name.upper()}`"
        choices = [choice for choice in _choices(kind) if choice is not None]
        shown += " " + ", ".join(f"`{choice}`" for choice in choices) if choices else ""
        default = parameter.default
        pair = shown.split(", ")
        if isinstance(default, bool) and len(pair) == 2 and "--no-" in pair[1]:
            default = pair[not default].strip("`")
        unsaid = default is inspect.Parameter.empty or default is None or isinstance(default, bool)
        # a default that the command works out is told in the help
        meaning, _, told = (info.help or "").removesuffix("]").partition(" [default: ")
        cells = (shown, told if unsaid else f"`{default}`", meaning)
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines)


def _names(name: str, kind: Any, info: Any) -> str:
    """Return what is typed to give an option."""
    dashed = name.replace("_", "-")
    given = [info.default, *(info.param_decls or ())]  # the first name stands where a default would
    names = [each for each in given if str(each).startswith("-")]
    names = names or [f"--{dashed}/--no-{dashed}" if kind is bool else f"--{dashed}"]
    value = f" {info.metavar}" if info.metavar and not any(_choices(kind)) else ""
    return ", ".join(f"`{each}{value}`" for pair in names for each in pair.split("/"))


def _choices(kind: Any) -> tuple[Any, ...]:
    """Return what an option can be, if that is a list of words."""
    if typing.get_origin(kind) is typing.Literal:
        return typing.get_args(kind)
    return tuple(choice for part in typing.get_args(kind) for choice in _choices(part))
