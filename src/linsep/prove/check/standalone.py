"""Joins the modules of the plain check into ``linsep_check.py``, one file that needs only Python."""

from __future__ import annotations

import re
from importlib import resources

PARTS = ("plain_document", "plain_table", "plain_facts", "plain", "plain_fewest", "plain_regression", "linsep_check")


def program() -> str:
    """Return the text of the program: the modules one after the other, under one list of imports.

    Examples
    --------
    >>> from linsep.prove.check.standalone import program
    >>> "import linsep" in program() or "from linsep" in program()
    False
    """
    imports: dict[str, set[str]] = {}
    bodies, doc = [], ""
    for name in PARTS:
        text = resources.files("linsep.prove.check").joinpath(f"{name}.py").read_text(encoding="utf-8")
        doc, rest = text.split("from __future__ import annotations\n")
        head, body = re.split(r"^(?=[A-Z]\w* ?[:=]|def )", rest, maxsplit=1, flags=re.MULTILINE)  # after all imports
        for module, names in re.findall(r"^(import|from (?!linsep)\S+ import) (.+)$", head, re.MULTILINE):
            imports.setdefault(module, set()).update(names.split(", "))
        if name != PARTS[-1]:  # whose text stands at the top
            bodies.append("\n".join(f"# {line}".rstrip() for line in doc.strip().strip('"').splitlines()))
        bodies.append(body)
    lines = "\n".join(f"{module} {', '.join(sorted(names))}" for module, names in sorted(imports.items(), reverse=True))
    text = "\n\n".join([f"{doc}from __future__ import annotations", lines, *bodies])
    return re.sub("\n{3,}", "\n\n", text)
