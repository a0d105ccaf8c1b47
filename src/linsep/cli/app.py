"""The program: loads each command on first use, runs it, and turns exceptions into one line and an exit code.

Exit code 1 does not occur here: it means that a command did its work and the answer is "no".
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
import warnings
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

import click
from rich_click import RichGroup

from linsep import __version__
from linsep.cli.options import ClosedPipe, as_option, shown
from linsep.cli.screen import clean
from linsep.clock import Interrupted
from linsep.errors import DataError, DataNote, ParameterError

COMMANDS = (
    "fit", "predict", "score", "separate", "regression", "errors", "verify", "show", "report", "convert", "generate",
    "explore", "compile", "serve", "replay",
)  # fmt: skip
BAD_INPUT, INTERNAL, INTERRUPTED, CLOSED_PIPE = 2, 3, 130, 141
_FORMER = {"separation": "regression"}  # names that still work, and are not listed
_LONG = 3.0  # seconds of compiling that are worth a note
_FAILED = {
    FileNotFoundError: "no such file",
    IsADirectoryError: "is a folder, not a file",
    PermissionError: "no permission",
}


class Commands(RichGroup):
    """All commands; the module of a command is imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command, which stands in the module of its name."""
        name = _FORMER.get(cmd_name, cmd_name)
        return getattr(import_module(f"linsep.cli.{name}"), name) if name in COMMANDS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command that is asked for; name those that are spelled alike if there is none."""
        if args[0] not in (*COMMANDS, *_FORMER):
            near = get_close_matches(args[0], COMMANDS)
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"No such command {args[0]!r}.{meant}", ctx)
        return super().resolve_command(ctx, args)


app = Commands(
    name="linsep",
    help="Decide whether a plane separates labeled rows, prove it, and train perceptrons from files.",
    epilog="Exit codes: 0 success; 1 the answer is no (the help of each command says when); 2 bad input or usage; "
    "3 a bug in linsep; 130 interrupted; 141 broken pipe.",
    no_args_is_help=True,
    context_settings=shown(),
)
click.version_option(__version__, message="linsep %(version)s")(app)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a command and exit: what goes wrong is one line on standard error."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, interrupt)
    started = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", DataNote)
            warnings.showwarning = notice
            code = app.main(arguments, prog_name="linsep", standalone_mode=False)
        sys.stdout.flush()
        if arguments is None and time.perf_counter() - started > _LONG and sys.stderr.isatty():
            from linsep.compiling import seconds

            if seconds() > _LONG:
                notice(f"{seconds():.0f} s went into compiling, once; linsep compile compiles everything in advance")
    except BaseException as error:
        code, text = failure(error, sys.argv[1:] if arguments is None else arguments)
        if text:
            print(f"linsep: {clean(' '.join(text.split()))}", file=sys.stderr)
    sys.exit(code if isinstance(code, int) else 0)


def interrupt(*_: object) -> NoReturn:
    """Take a signal: end the command."""
    raise Interrupted


def failure(error: BaseException, arguments: list[str]) -> tuple[int, str]:
    """Return the exit code of a command that ended with an error, and the line to print, if any."""
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        return BAD_INPUT, error.format_message() + (f" (see {context.command_path} --help)" if context else "")
    if isinstance(error, Interrupted | KeyboardInterrupt | click.Abort):
        saved = any(each.startswith("--checkpoint") for each in arguments)
        return INTERRUPTED, "interrupted" + ("; run the same command with --resume to continue" if saved else "")
    if isinstance(error, BrokenPipeError | ClosedPipe):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still to be flushed has no reader
        return CLOSED_PIPE, ""
    if isinstance(error, SystemExit):
        raise error
    if isinstance(error, ValueError | OSError | MemoryError | ModuleNotFoundError):
        return BAD_INPUT, _words(error)
    traceback.print_exception(error)
    return INTERNAL, f"a bug in linsep ({type(error).__name__}); please report the lines above"


def notice(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning as one line, without the place in the code."""
    words = getattr(message, "words", None)
    text = str(message) if words is None else words(as_option)
    print(f"linsep: note: {clean(' '.join(text.split()))}", file=sys.stderr)


def _words(error: Exception) -> str:
    if isinstance(error, DataError | ParameterError):
        return error.words(as_option)
    if isinstance(error, OSError) and error.strerror:
        reason = _FAILED.get(type(error), error.strerror)
        return f"{error.filename}: {reason}" if error.filename else reason
    if isinstance(error, MemoryError):
        return f"not enough memory {error}"
    return str(error) or type(error).__name__
