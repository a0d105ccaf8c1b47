"""Turns exceptions into one line on standard error and an exit code.

Exit code 1 does not occur here: it means that a command did its work and the answer is "no".
"""

from __future__ import annotations

import atexit
import os
import shlex
import sys
import traceback
from typing import Any, NoReturn

import typer

from linsep.cli.options import ClosedPipe
from linsep.cli.screen import clean
from linsep.errors import DataError, ParameterError, Setting

BAD_INPUT, INTERNAL, INTERRUPTED, CLOSED_PIPE = 2, 3, 130, 141

_FAILED = {
    FileNotFoundError: "no such file",
    IsADirectoryError: "is a folder, not a file",
    PermissionError: "no permission",
}


class _Interrupted(BaseException):
    """The user has pressed Ctrl-C."""


def interrupt(*_: object) -> NoReturn:
    """Take a signal: end the command."""
    raise _Interrupted


def failure(error: BaseException, arguments: list[str]) -> tuple[int, str]:
    """Return the exit code of a command that ended with an error, and the line to print, if any."""
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context is not None else ""
        text = error.format_message()
        text = text.replace(": Value error, ", ": ")  # typer names its own exception
        return BAD_INPUT, text and text + hint  # without arguments there is no text: help has been shown
    if isinstance(error, _Interrupted | KeyboardInterrupt | typer.Abort):
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


def leave(code: int, text: str, *, alone: bool) -> NoReturn:
    """Print one line on standard error, if there is something to say, and exit.

    A process of our own ends at once. The interpreter would take its modules apart first, which is a fifth of the time
    of a command on small data, and wait for threads, one of which may read a standard input that never ends.
    """
    if text:
        print(f"linsep: {clean(' '.join(text.split()))}", file=sys.stderr)
    if alone:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def notice(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning as one line, without the place in the code."""
    words = getattr(message, "words", None)
    text = str(message) if words is None else words(as_option)
    print(f"linsep: note: {clean(' '.join(text.split()))}", file=sys.stderr)


def as_option(setting: Setting) -> str:
    """Spell a parameter of the library as it is typed here: ``missing='zero'`` is ``--missing zero``."""
    name, value = setting.name.replace("_", "-"), setting.value
    if value is ... or value is True:
        return f"--{name}"
    return f"--no-{name}" if value is False else f"--{name} {shlex.quote(str(value))}"


def _words(error: Exception) -> str:
    """Return what an error says, in the words of the command line."""
    if isinstance(error, DataError | ParameterError):
        return error.words(as_option)
    if isinstance(error, OSError) and error.strerror:
        what = _FAILED.get(type(error), error.strerror)
        return f"{error.filename}: {what}" if error.filename else what
    if isinstance(error, MemoryError):
        return f"not enough memory {error}"
    return str(error) or type(error).__name__
