"""Words that linsep does not use, and where they stand: ``python docs/words.py`` (part of ``make lint``).

Looks at the pages, the texts and comments of the package, and the examples; see docs/style.md for what to write.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
WRITE = {  # what not to write: what to write
    r"learnt": "learned",
    r"hand(?:s|ed|ing)? over": "return",
    r"rooms?(?! for)": "module, package",
    r"many classes": "multiclass, more than two classes",
    r"epochs?": "pass",
    r"so many": "the number itself",
    r"colours?|behaviours?|centres?|labelled|recognis\w+|normalis\w+|initialis\w+|generalis\w+": "American spelling",
    r"per cent": "percent, %",
    r"stopped by": "stopped:",
    r"is found out|found out": "detected",
    r"of yours|of ours": "your, our",
}
UNSAID = {"docs/style.md", "docs/words.py", "docs/benchmarks.md"}  # the rule itself; a page made from results


def offenses() -> list[str]:
    """Return the places with such words, each with what to write instead."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md", "src", "examples", "docs"],
        cwd=ROOT, text=True, capture_output=True, check=True,
    ).stdout.split()  # fmt: skip
    found = []
    for name in sorted(set(listed) - UNSAID):
        if not name.endswith((".md", ".py", ".js", ".html", ".pyi")) or not (ROOT / name).exists():
            continue
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").split("\n"), 1):
            for bad, good in WRITE.items():
                word = re.search(rf"\b(?:{bad})\b", line, re.IGNORECASE)
                if word:
                    found.append(f"{name}:{number}: {word[0]!r}: write {good}")
    return found


if __name__ == "__main__":
    found = offenses()
    print("\n".join(found) or "no words to replace")
    sys.exit(bool(found))
