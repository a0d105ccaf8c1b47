"""The options of a command as a table, from the command itself."""

from __future__ import annotations

from typing import Any

import click

from linsep.cli.app import app


def table(name: str) -> str:
    """Return arguments and options of a command as a Markdown table."""
    command = app.get_command(click.Context(app), name)
    assert command is not None
    lines = ["| option | default | meaning |", "|---|---|---|"]
    for each in command.params:
        if getattr(each, "hidden", False):
            continue
        # a default that the command works out is told in the help
        meaning, _, told = each.help.removesuffix("]").partition(" [default: ")  # type: ignore[attr-defined]
        cells = (_names(each), told or _default(each), meaning)
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines)


def _names(each: Any) -> str:
    """Return what is typed to give an option."""
    if isinstance(each, click.Argument):
        return f"`{each.name.upper()}`"
    choices = getattr(each.type, "choices", ())
    value = f" {each.metavar}" if each.metavar and not choices else ""
    names = ", ".join(f"`{name}{value}`" for name in (*each.opts, *each.secondary_opts))
    return names + (" " + ", ".join(f"`{choice}`" for choice in choices) if choices else "")


def _default(each: Any) -> str:
    if not getattr(each, "show_default", False):
        return ""
    if each.is_flag:
        return f"`{each.opts[0]}`"
    return f"`{each.default}`"
