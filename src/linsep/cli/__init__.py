"""The command line: ``linsep fit | predict | score | separate | regression | errors | verify | show | report | ...``.

Commands import heavy packages only when they need them, so ``linsep --help`` answers at once.
"""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
import warnings

import typer

from linsep.cli.commands import Group
from linsep.cli.failures import failure, interrupt, leave, notice
from linsep.errors import DataNote

__all__ = ["app", "main"]

_LONG = 3.0  # seconds of compiling that are worth a note
_OBJECTS = 50_000  # new ones before garbage is collected: modules make many, and no garbage

app = typer.Typer(
    name="linsep",
    cls=Group,
    help="Decide whether a plane separates labeled rows, prove it, and train perceptrons from files.",
    epilog="Exit codes: 0 success; 1 the answer is no (the help of each command says when); 2 bad input or usage; "
    "3 a bug in linsep; 130 interrupted; 141 broken pipe.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


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
    """Decide whether a plane separates labeled rows, prove it, and train perceptrons from files."""


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit: what goes wrong is one line on standard error."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, interrupt)
    alone, started = arguments is None, time.perf_counter()  # alone: the process is ours
    if alone:
        gc.set_threshold(_OBJECTS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", DataNote)
            warnings.showwarning = notice
            code = app(arguments, prog_name="linsep", standalone_mode=False)
        sys.stdout.flush()
        if alone and time.perf_counter() - started > _LONG and sys.stderr.isatty():
            from linsep.compiling import seconds

            if seconds() > _LONG:
                notice(f"{seconds():.0f} s went into compiling, once; linsep compile compiles everything in advance")
    except BaseException as error:
        given = sys.argv[1:] if alone else arguments or []
        leave(*failure(error, given), alone=alone)
    leave(code if isinstance(code, int) else 0, "", alone=alone)
