"""Run what the pages show, and write what it really prints: ``python docs/pages.py`` (or ``make pages``).

A ```` ```console ```` block holds commands after ``$`` and what they print; a ```` ```python ```` block may be followed
by an ```` ```output ```` block. A page runs from top to bottom, in a folder of its own that has ``examples/`` in it.
The tests run the pages too, and compare; how long something took, and how much that is per second, may differ.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(console|python|output)\n(.*?)^```$", re.M | re.S)
DIFFERS = re.compile(
    r"[\d.,]+(?:e-?\d+)?(?= (?:s|ms|MB/s|KB|rows/s)\b)|(?<=_per_second\": )[\d.e+-]+|(?<=\"seconds\": )[\d.e+-]+"
    r"|(?<=\bgap=)[\d.e+-]+|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
)
WIDTH = "100"


def pages() -> list[Path]:
    """Return the pages whose commands and code are run."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def settled(text: str) -> str:
    """Return a text without what differs from run to run."""
    return DIFFERS.sub("#", text)


def run(text: str, pictures: Path | None = None) -> str:
    """Return a page with the outputs that its commands and its code have now; keep its pictures in a folder."""
    names: dict[str, Any] = {"__name__": "__main__"}  # a page is a program
    printed = ""

    def block(found: re.Match[str]) -> str:
        nonlocal printed
        kind, body = found[1], found[2]
        if kind == "console":
            body = _commands(body)
        elif kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(body, "page", "exec"), names)
            printed = out.getvalue()
        else:
            body = printed
        return f"```{kind}\n{body}```"

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), _calm():
        shutil.copytree(ROOT / "examples", "examples", ignore=shutil.ignore_patterns("__pycache__"))
        now = BLOCK.sub(block, text)
        for picture in Path().glob("*.png") if pictures else ():
            pictures.mkdir(exist_ok=True)
            shutil.copy(picture, pictures)
        return now


def _commands(body: str) -> str:
    """Return the commands of a block, each with what it prints."""
    lines: list[str] = []
    code = 0
    for entry in re.split(r"^(?=\$ )", body, flags=re.M):
        if not entry.startswith("$ "):
            continue
        command, rest = entry[2:], ""
        while (line := command.split("\n", 1))[0].endswith("\\"):  # goes on in the next line
            rest += line[0] + "\n"
            command = line[1]
        command = rest + line[0]
        if command == "echo $?":
            out = f"{code}\n"
        elif re.search(r"[|<>;&*]", command) or not command.startswith("linsep "):
            out, code = _shell(command)
        else:
            out, code = _linsep(shlex.split(command.replace("\\\n", " "))[1:])
        lines.append(f"$ {command}\n{out}\n" if entry.endswith("\n\n") else f"$ {command}\n{out}")
    return "".join(lines)


def _linsep(arguments: list[str]) -> tuple[str, int]:
    """Return what a linsep command prints, and its exit code; without a process of its own, which takes longer."""
    from linsep.cli import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main(arguments)
        except SystemExit as left:
            return _trimmed(out.getvalue()), int(left.code or 0)
    raise AssertionError("a command always exits")


def _shell(command: str) -> tuple[str, int]:
    """Return what a line of shell prints, and its exit code."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "COLUMNS": WIDTH}
    done = subprocess.run(
        command, shell=True, text=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return _trimmed(done.stdout), done.returncode


def _trimmed(text: str) -> str:
    """Return a text without blanks at the ends of its lines."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


@contextlib.contextmanager
def _calm() -> Any:
    """Give back what a command of ours changes in this process."""
    import matplotlib as mpl

    width, backend = os.environ.get("COLUMNS"), mpl.get_backend()
    handler = signal.getsignal(signal.SIGINT)
    os.environ["COLUMNS"] = WIDTH
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            yield
    finally:
        signal.signal(signal.SIGINT, handler)
        mpl.use(backend)
        del os.environ["COLUMNS"]
        if width is not None:
            os.environ["COLUMNS"] = width


def main(names: list[str]) -> None:
    """Write the pages anew where what they show is not what is printed."""
    for page in map(Path, names) if names else pages():
        text = page.read_text(encoding="utf-8")
        if not BLOCK.search(text):
            continue
        now = run(text, page.resolve().with_suffix("") if page.name == "gallery.md" else None)
        if settled(now) != settled(text):
            page.write_text(now, encoding="utf-8")
            print(f"{page}: written")


if __name__ == "__main__":
    main(sys.argv[1:])
