"""HTML tables of results for notebooks, light and dark."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

_MOST = 24  # lines of a table
# colors are those of the page, whichever theme it has
_STYLE = (
    "border-collapse: collapse; color: inherit; background: transparent; font-variant-numeric: tabular-nums; "
    "margin: 0.4em 0"
)
_CELL = "text-align: left; padding: 0.15em 1em 0.15em 0; border-bottom: 1px solid rgba(128, 128, 128, 0.35)"


def notebook_html(headline: str, proof: str, rows: Iterable[Sequence[Any]], head: Sequence[str] = ()) -> str:
    """Return HTML of a result: a sentence, a table, what is proved; texts are escaped, and long tables are cut."""
    lines = [list(map(str, row)) for row in rows]
    cut = f"<p>and {len(lines) - _MOST:,} more</p>" if len(lines) > _MOST else ""
    body = "".join(_line(row, "td") for row in lines[:_MOST])
    table = f'<table style="{_STYLE}">{_line(head, "th") if head else ""}{body}</table>' if body else ""
    return f"<div><p><b>{html.escape(headline)}</b></p>{table}{cut}<p><i>{html.escape(proof)}</i></p></div>"


def _line(cells: Iterable[str], kind: str) -> str:
    inner = "".join(f'<{kind} style="{_CELL}">{html.escape(cell)}</{kind}>' for cell in cells)
    return f"<tr>{inner}</tr>"
