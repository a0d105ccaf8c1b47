"""The page of a report: HTML with everything in it, for a screen of any width and for paper."""

from __future__ import annotations

from html import escape

from linsep.pages.reporting import sections
from linsep.pages.reporting.study import Study
from linsep.pages.reporting.words import CSS


def page(found: Study, title: str) -> str:
    """Return the page."""
    with found.timed("figures"):
        parts = [
            sections.summary(found),
            sections.verdict(found),
            sections.run(found),
            sections.bound(found),
            sections.margins(found),
            sections.unseen(found),
            sections.weights(found),
            sections.terms(),
        ]
    parts.append(sections.colophon(found))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
        f"<title>{escape(title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n<h1>{escape(title)}</h1>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )
