"""Assembles the HTML page of a report, for any screen width and for print."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import Any

from linsep.pages import checker
from linsep.pages.reporting import sections
from linsep.pages.reporting.study import Study
from linsep.pages.reporting.words import CSS

_MOUNT = """
const read = (name) => document.getElementById(name)?.textContent;
const data = linsepChecker.tableOf(JSON.parse(read("linsep-data") ?? "null"));
for (const host of document.querySelectorAll(".check")) {
  linsepChecker.mountChecker(host, { proof: () => read(`linsep-proof-${host.dataset.proof}`), data: () => data });
}
"""


def page(study: Study, title: str) -> str:
    """Return the page."""
    with study.timed("figures"):
        parts = [
            sections.summary(study),
            sections.verdict(study),
            sections.fewest(study),
            sections.run(study),
            sections.bound(study),
            sections.margins(study),
            sections.unseen(study),
            sections.regression(study),
            sections.weights(study),
            sections.terms(),
        ]
    parts.append(sections.colophon(study))
    script = f"{checker.script()}{_MOUNT}".replace("</script", "<\\/script") if study.documents else ""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escape(title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n<h1>{escape(title)}</h1>\n"
        + "\n".join(parts)
        + f"\n</main>\n{_carried(study)}"
        + (f"<script>{script}</script>\n" if script else "")
        + "</body>\n</html>\n"
    )


def _carried(study: Study) -> str:
    """Return the proofs and, if they are not too many, the rows that they are about, as data of the page."""
    if not study.documents:
        return ""
    parts: list[tuple[str, Any]] = [(f"linsep-proof-{name}", text) for name, text in study.documents.items()]
    parts.append(("linsep-data", study.table))
    return "".join(
        f'<script type="application/json" id="{name}">{checker.as_data(content)}</script>\n'
        for name, content in parts
        if content is not None
    )
