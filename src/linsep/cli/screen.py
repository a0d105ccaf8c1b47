"""Prints progress bars and results, as text or JSON; only the command line prints."""

from __future__ import annotations

import io
import json
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from linsep.cli.options import Screen
from linsep.data.files import masked

if TYPE_CHECKING:
    from linsep.data.source import Source

_PLAINER = {
    "≈": "~", "…": "...", "·": "*", "²": "^2", "γ": "gamma", "α": "alpha", "η": "eta", "‖": "||", "≤": "<=", "—": "-",
}  # fmt: skip
_PATIENCE = 1.0  # seconds without a progress bar
_ENDLESS = 10_000  # columns of what has no width, a file or a pipe


def result(facts: Mapping[str, Any], screen: Screen, show: Callable[[Any], None]) -> None:
    """Print the facts as one JSON object, or have them shown on the console, or neither."""
    if screen.json:
        print(json.dumps(_plain(facts), allow_nan=False))
    elif not screen.quiet:
        from rich.console import Console
        from rich.segment import Segment

        encoding = sys.stdout.encoding or "utf-8"

        class Plain(Console):
            """A console on which nothing but our own styles can move the cursor or change a color."""

            def render(self, renderable: Any, options: Any = None) -> Any:
                for text, style, control in super().render(renderable, options):
                    yield Segment(text if control else clean(text, encoding), style, control)

        console = Plain(highlight=False)
        if console.is_terminal:
            show(console)
            return
        console = Plain(highlight=False, file=_EncodedText(encoding), width=_ENDLESS, soft_wrap=True)
        show(console)
        lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
        print("\n".join(clean(line.rstrip(), encoding) for line in lines))


class _EncodedText(io.StringIO):
    """Text that will be written in an encoding: tables are drawn with characters that it has."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._written_as = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._written_as


def clean(text: str, encoding: str = "utf-8") -> str:
    r"""Return a text with control characters spelled out, with none that the encoding cannot write, without secrets.

    Examples
    --------
    >>> from linsep.cli.screen import clean
    >>> clean("a\x1b[31mb"), clean("≈ 2 rows", "ascii")
    ('a\\x1b[31mb', '~ 2 rows')
    """
    text = masked(text)
    text = "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        for fancy, plain in _PLAINER.items():
            text = text.replace(fancy, plain)
        text = text.encode(encoding, "backslashreplace").decode(encoding)
    return text


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: NumPy's numbers as numbers, what is not finite as null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return masked(value)
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def headline(name: str, rest: str = "") -> Any:
    """Return a headline: a name in bold, and a text after it."""
    from rich.text import Text

    return Text.assemble((clean(name), "bold"), clean(rest))


def plain_text(value: Any, style: str = "") -> Any:
    """Return a text in which nothing is markup and nothing is a control character."""
    from rich.text import Text

    return Text(clean(str(value)), style=style)


def one_column_lines(sentences: list[str]) -> dict[str, str]:
    """Return the line about columns that tell the classes apart alone, if there are such."""
    if not sentences:
        return {}
    more = f"; and {count(len(sentences) - _ALONE, 'more column')}" if len(sentences) > _ALONE else ""
    return {"one column": "; ".join(sentences[:_ALONE]) + more}


_ALONE = 3  # columns that are named


def facts_table(rows: Mapping[str, str]) -> Any:
    """Return names and values as two columns; what has no value is left out."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        if value:
            table.add_row(plain_text(name), plain_text(value))
    return table


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it has to be.

    Examples
    --------
    >>> from linsep.cli.screen import count
    >>> count(1, "row"), count(12345, "row")
    ('1 row', '12,345 rows')
    """
    return f"{number:,} {noun if number == 1 else noun + ('es' if noun.endswith(('s', 'ss')) else 's')}"


class Meter:
    """A progress bar that shows itself only when it is worth it: on a terminal, after a second."""

    def __init__(self, what: str, *, quiet: bool) -> None:
        self.what = what
        self.started = time.perf_counter()
        self.rows = 0  # looked at, in all passes
        self.bytes = 0
        self._silent = quiet or not sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None
        self._looked = 0.0

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.perf_counter() - self.started

    def show(self, done: float | None, total: float | None, words: str = "") -> None:
        """Say how far the work has come."""
        now = time.perf_counter()
        if self._silent or now - self.started < _PATIENCE or now - self._looked < 0.1:
            return
        self._looked = now
        if self._bar is None:
            self._bar, self._task = _bar(self.what)
        speed = f"{self.rows / self.seconds:,.0f} rows/s  " if self.rows else ""
        if self.bytes:
            speed += f"{self.bytes / self.seconds / 1e6:,.1f} MB/s"
        self._bar.update(self._task, completed=done or 0, total=total, speed=speed, words=words)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


def _bar(what: str) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.fields[speed]}"),
        TextColumn("{task.fields[words]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(what, total=None, speed="", words="")
    bar.start()
    return bar, task


@contextmanager
def meter(what: str, screen: Screen) -> Iterator[Meter]:
    """Watch a piece of work with a progress bar."""
    watching = Meter(what, quiet=screen.quiet)
    try:
        yield watching
    finally:
        watching.close()


@contextmanager
def while_reading(source: Source, screen: Screen) -> Iterator[None]:
    """Show how much of a file has been read, while a function of the library reads it."""
    with meter("reading", screen) as watching:
        ended = threading.Event()

        def look() -> None:
            while not ended.wait(0.2):
                watching.bytes = source.position
                watching.show(watching.bytes, source.size)

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
