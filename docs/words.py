"""Words that linsep does not use, and where they stand: ``python docs/words.py`` (part of ``make lint``).

Looks at the pages and at every text in the package and the examples: docstrings, messages, help. docs/style.md says
what to write instead.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
WRITE = {  # what not to write: what to write
    r"learnt": "learned",
    r"hand(?:s|ed|ing)? over": "return",
    r"(?:a|the|each|every|this|another) room|rooms": "module, package",
    r"many classes": "multiclass, more than two classes",
    r"epochs?": "pass",
    r"so many": "the number itself",
    r"per cent": "percent, %",
    r"stopped by": "stopped:",
    r"found out": "detected, decided",
    r"an X has not|a plane would have to have it": "a plain sentence",
}
UNSAID = {"docs/style.md", "docs/words.py", "docs/benchmarks.md"}  # the rules themselves; a page made from results


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page, or of the texts in a program, with their numbers."""
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from enumerate(content.split("\n"), 1)
        return
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from enumerate(node.value.split("\n"), node.lineno)


def offenses() -> list[str]:
    """Return the places with such words, each with what to write instead."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md", "src", "examples", "docs"],
        cwd=ROOT, text=True, capture_output=True, check=True,
    ).stdout.split()  # fmt: skip
    paths = [ROOT / name for name in sorted(set(listed) - UNSAID) if name.endswith((".md", ".py", ".pyi"))]
    return [
        f"{path.relative_to(ROOT)}:{number}: {word[0]!r}: write {good}"
        for path in paths
        if path.exists()
        for number, line in texts(path)
        for bad, good in WRITE.items()
        if (word := re.search(rf"\b(?:{bad})\b", line, re.IGNORECASE))
    ]


if __name__ == "__main__":
    found = offenses()
    print("\n".join(found) or "no words to replace")
    sys.exit(bool(found))
