"""Tables of the pages that are made from the code: ``python docs/tables.py`` writes them into the pages.

A page says where: ``<!-- options: fit -->``, then the table, then ``<!-- end -->``. A test compares, so that the plain
files are complete and cannot go stale.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

import imports  # noqa: E402
import linsep  # noqa: E402
import options  # noqa: E402


def modules() -> str:
    """Return every module with the first line of its docstring, package by package from the bottom."""
    lines = ["| module | contents |", "|---|---|"]
    source = ROOT / "src" / "linsep"
    for package in (package for layer in reversed(imports.layers()) for package in layer):
        paths = sorted((source / package).rglob("*.py")) or [source / f"{package}.py"]
        for path in sorted(paths, key=lambda path: path != source / package / "__init__.py"):
            name = str(path.relative_to(source)).removesuffix("/__init__.py").removesuffix(".py")
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            lines.append(_row(f"**{name}**" if name == package else f"`{name}`", text))
    return "\n".join(lines)


def names(*wanted: str) -> str:
    """Return public names with the first line of what is said of each."""
    lines = ["| name | what it is |", "|---|---|"]
    for name in wanted:
        thing = linsep
        for part in name.split("."):
            thing = getattr(thing, part)
        lines.append(_row(f"`{name}`", inspect.getdoc(thing) or ""))
    return "\n".join(lines)


def _row(name: str, text: str) -> str:
    first = text.split("\n")[0].replace("|", "\\|")
    return f"| {name} | {first} |"


def fill(page: str) -> str:
    """Return the text of a page with its tables as the code has them now."""

    def table(found: re.Match[str]) -> str:
        kind, *wanted = found[1].replace(",", " ").split()
        made = {"modules": modules, "names": names, "options": options.table}[kind.rstrip(":")](*wanted)
        return f"<!-- {found[1]} -->\n\n{made}\n\n<!-- end -->"

    return re.sub(r"<!-- ((?:modules|names|options)\b[^>]*?) -->\n.*?<!-- end -->", table, page, flags=re.S)


def pages() -> list[Path]:
    """Return the pages."""
    return sorted((ROOT / "docs").rglob("*.md"))


if __name__ == "__main__":
    for path in pages():
        path.write_text(fill(path.read_text(encoding="utf-8")), encoding="utf-8")
