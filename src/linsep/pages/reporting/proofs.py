"""The proofs in a report: the button that checks one, and the files to download."""

from __future__ import annotations

import base64

from linsep.pages.reporting.pieces import paragraph
from linsep.pages.reporting.study import Study
from linsep.prove.documents import checker_program


def checkable(found: Study, name: str, document: str | None) -> str:
    """Return the button that checks a proof, with the proof to take away; nothing if there is none."""
    if document is None:
        return ""
    first, file = not found.documents, "proof.json" if name == "verdict" else f"{name}.json"
    found.documents[name] = document
    words = (
        "You need not believe this page. The button checks the proof again in your browser, in whole numbers, with "
        "code that shares nothing with linsep's own. To check it elsewhere, take "
        f"{_link(file, 'application/json', document)} and "
        f"{_link('linsep_check.py', 'text/x-python', checker_program())}, a program that needs Python and nothing "
        f"else: <code>python linsep_check.py {file} DATA.csv</code>; or "
        f"<code>linsep verify {file} DATA</code>."
        if first
        else f"This can be checked in the same way; the proof is {_link(file, 'application/json', document)}."
    )
    return paragraph(words) + f'<div class="check" data-proof="{name}"></div>'


def _link(name: str, kind: str, text: str) -> str:
    return f'<a download="{name}" href="data:{kind};base64,{base64.b64encode(text.encode()).decode()}">{name}</a>'
