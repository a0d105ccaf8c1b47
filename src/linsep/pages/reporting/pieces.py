"""The HTML pieces of a report: paragraphs, tables, figures and numbers."""

from __future__ import annotations

import base64
import io
import math
from html import escape
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG


def section(name: str, heading: str, *content: str) -> str:
    """Return a section with its heading."""
    return f'<section id="{name}">\n<h2>{heading}</h2>\n' + "\n".join(content) + "\n</section>"


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph."""
    return f'<p class="{kind}">{text}</p>' if kind else f"<p>{text}</p>"


def facts_list(rows: list[tuple[str, str]]) -> str:
    """Return names and values side by side."""
    return "<dl>" + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows) + "</dl>"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table that can be moved sideways where it is too wide."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def figure(display: Any, caption: str, *, points: bool = False) -> str:
    """Return a figure as data of the page: lines as SVG, clouds of points as PNG."""
    figure, buffer = display.figure_, io.BytesIO()
    canvas: Any = FigureCanvasAgg(figure)
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")  # once is enough: savefig would draw all of it twice, for the layout and to write
    if points:
        figure.set_dpi(150)
        canvas.print_png(buffer)
        kind = "image/png"
    else:
        canvas = FigureCanvasSVG(figure)
        with mpl.rc_context({"svg.hashsalt": "linsep"}):
            canvas.print_svg(buffer, metadata={"Date": None})
        kind = "image/svg+xml"
    plt.close(figure)
    data = base64.b64encode(buffer.getvalue()).decode()
    plain = escape(caption.replace("<b>", "").replace("</b>", ""))
    return f'<figure><img alt="{plain}" src="data:{kind};base64,{data}"><figcaption>{caption}</figcaption></figure>'


def number(value: float) -> str:
    """Return a number as it is read best: whole numbers in full, others to six digits, with all digits on demand."""
    if value != value or math.isinf(value):
        return "∞" if value == math.inf else "not known"
    if float(value).is_integer() and abs(value) < 1e12:
        return f"{int(value):,}"
    return f'<span title="{value!r}">{value:,.6g}</span>'


def percent(value: float) -> str:
    """Return a share in percent."""
    return f"{100 * value:.3g}%"


def between(low: float, high: float) -> str:
    """Return an interval, as one number where it is a narrow one."""
    if low == high or not math.isfinite(high):
        return number(low) if low == high else f"at least {number(low)}"
    width = (high - low) / max(abs(low), abs(high))
    if width < 1e-5:
        return f'<span title="between {low!r} and {high!r}">{high:.6g}</span> (relative gap {width:.1g})'
    return f"between {number(low)} and {number(high)}"


def fraction(weight: Any) -> str:
    """Return a fraction, a long one by its first digits, with all of them on demand."""
    text = str(weight)
    if len(text) <= 24:
        return escape(text)
    return f'<span title="{escape(text)}">{escape(text[:10])}… ({sum(c.isdigit() for c in text)} digits)</span>'
