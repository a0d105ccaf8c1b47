"""The command line: ``linsep fit | predict | score | separate | verify | show | report | convert | ...``.

Nothing heavy is imported before a command needs it, so that ``linsep --help`` answers at once.
"""

from __future__ import annotations

import inspect
import os
import re
import shlex
import signal
import sys
import threading
import warnings
from typing import Any, NoReturn

import typer

from linsep.cli import convert, explore, fit, generate, predict, report, score, separate, show, verify

__all__ = ["app", "main"]

app = typer.Typer(
    name="linsep",
    help="Linear separation and the perceptron: learn a plane from a file, use it, look at it.",
    epilog="Exit codes: 0 done, 1 the answer is no (each command says when), 2 bad input or usage, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for _command, _example in (
    (fit.fit, "linsep fit train.csv --target species --max-iter 100 --model species.linsep"),
    (predict.predict, "linsep predict species.linsep new.csv --score --out labels.csv"),
    (score.score, "linsep score species.linsep test.csv --at-most 0.05"),
    (separate.separate, "linsep separate data.csv --target species --proof proof.json"),
    (verify.verify, "linsep verify proof.json data.csv --target species"),
    (show.show, "linsep show species.linsep train.csv --out figures"),
    (report.report, "linsep report data.csv --target species --out report.html"),
    (convert.convert, "linsep convert species.linsep species.onnx"),
    (generate.generate, "linsep generate data.csv --n 10000 --d 20 --margin 0.05"),
    (explore.explore, "linsep explore species.csv --target species"),
):
    _needs = _command is not explore.explore
    app.command(epilog=f"Example: `{_example}`", no_args_is_help=_needs)(_command)


def _print_version(asked: bool) -> None:
    if asked:
        from linsep import __version__

        print(f"linsep {__version__}")
        raise typer.Exit


@app.callback()
def _start(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Linear separation and the perceptron: learn a plane from a file, use it, look at it."""


class _Interrupted(BaseException):
    """The user has pressed Ctrl-C."""


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit: what goes wrong is one line on standard error."""
    warnings.showwarning = _notice
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _interrupt)
    alone = arguments is None  # the process is ours
    try:
        code = app(arguments, prog_name="linsep", standalone_mode=False)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context is not None else ""
        text = error.format_message()
        _leave(2, text and text + hint, alone)  # without arguments there is no text: help has been shown
    except (_Interrupted, KeyboardInterrupt, typer.Abort):
        given = sys.argv[1:] if arguments is None else arguments
        saved = any(each.startswith("--checkpoint") for each in given)
        _leave(130, "interrupted" + ("; the same command with --resume goes on" if saved else ""), alone)
    except (ValueError, OSError, MemoryError, ModuleNotFoundError) as error:
        _leave(2, _words(error), alone)
    sys.exit(code if isinstance(code, int) else 0)


def _interrupt(*_: object) -> NoReturn:
    if "linsep.models.from_files" in sys.modules:
        sys.modules["linsep.models.from_files"].in_a_hurry.set()
    raise _Interrupted


def _leave(code: int, text: str, alone: bool) -> NoReturn:
    """Print one line on standard error, if there is something to say, and exit."""
    if text:
        print(f"linsep: {' '.join(text.split())}", file=sys.stderr)
    if alone and threading.active_count() > 1:
        # A thread waits for standard input, perhaps for ever: do not wait for it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _words(error: Exception) -> str:
    """Return what an error says, in the words of the command line."""
    if isinstance(error, OSError) and error.strerror:
        what = _FAILED.get(type(error), error.strerror)
        return f"{error.filename}: {what}" if error.filename else what
    if isinstance(error, MemoryError):
        return f"not enough memory {error}"
    return _as_options(str(error) or type(error).__name__)


_FAILED = {
    FileNotFoundError: "no such file",
    IsADirectoryError: "is a folder, not a file",
    PermissionError: "no permission",
}


def _as_options(text: str) -> str:
    """Name parameters of the library as they are typed here: ``missing='zero'`` is ``--missing zero``."""
    commands = [each.callback for each in app.registered_commands if each.callback is not None]
    names = {name for command in commands for name in inspect.signature(command).parameters}
    for name in sorted(names, key=len, reverse=True):
        dashed, here = name.replace("_", "-"), rf"(?<![\w./'\"-]){name}"
        text = re.sub(rf"{here}='([^']*)'", lambda found: f"--{dashed} {shlex.quote(found[1])}", text)  # noqa: B023
        text = re.sub(rf"{here}=False\b", f"--no-{dashed}", text)
        text = re.sub(rf"{here}=(\d[\w.+-]*)", rf"--{dashed} \1", text)
        if "_" in name or text.startswith(f"{name} must be "):  # what could be nothing but a parameter
            text = re.sub(rf"{here}(?![\w./'\"=-])", f"--{dashed}", text)
    return text


def _notice(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning as one line, without the place in the code."""
    print(f"linsep: note: {' '.join(str(message).split())}", file=sys.stderr)
