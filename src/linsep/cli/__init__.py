"""The command line: ``linsep fit | predict | score | show | convert | generate | explore``.

Nothing heavy is imported before a command needs it, so that ``linsep --help`` answers at once.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import typer

from linsep.cli import apply, exploring, learn, models, teach

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
    (learn.fit, "linsep fit train.csv --target species --max-iter 100 --model species.linsep"),
    (apply.predict, "linsep predict species.linsep new.csv --score --out labels.csv"),
    (apply.score, "linsep score species.linsep test.csv --at-most 0.05"),
    (models.show, "linsep show species.linsep --top 20"),
    (models.convert, "linsep convert species.linsep species.onnx"),
    (teach.generate, "linsep generate data.csv --n 10000 --d 20 --margin 0.05"),
    (exploring.explore, "linsep explore species.csv --target species"),
):
    _needs = _command is not exploring.explore
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


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit: what goes wrong is one line on standard error."""
    warnings.showwarning = _notice
    try:
        code = app(arguments, prog_name="linsep", standalone_mode=False)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        hint = f" (see {context.command_path} --help)" if context is not None else ""
        if error.format_message():  # a command without arguments has already shown its help
            _complain(f"{error.format_message()}{hint}")
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except (ValueError, OSError, MemoryError, ModuleNotFoundError) as error:
        _complain(_words(error))
        code = 2
    if code == 130:
        _complain("interrupted")
    sys.exit(code if isinstance(code, int) else 0)


def _complain(text: str) -> None:
    """Print one line on standard error."""
    print(f"linsep: {' '.join(text.split())}", file=sys.stderr)


def _words(error: Exception) -> str:
    """Return what an error says."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return f"not enough memory {error}"
    return str(error) or type(error).__name__


def _notice(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning as one line, without the place in the code."""
    print(f"linsep: note: {' '.join(str(message).split())}", file=sys.stderr)
