"""The proof checker in JavaScript, for report and explorer; it shares no code with the Python checkers.

In: a verdict and its rows. Out: the script, and the proof and the rows as a page carries them. Read ``check.js`` first.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import scipy.sparse as sp

from linsep.pages.script import bundle
from linsep.prove.checking import about_data
from linsep.prove.documents import written

_LARGEST = 1 << 20  # characters of rows that a page carries
_EXACT = 2**53  # floats hold integers up to here


def script() -> str:
    """Return the checker as one constant, ``linsepChecker``, with its functions."""
    parts = ", ".join(f"...checker_{name}" for name in ("document", "table", "check", "panel"))
    return f"const linsepChecker = (() => {{\n{bundle('checker/panel.js')}return {{ {parts} }};\n}})();\n"


def proof_of(verdict: Any, X: Any, y: Any, reading: dict[str, Any] | None = None) -> str | None:
    """Return the proof of a verdict as a document, None if there is none that a page can carry.

    ``reading`` says how the file becomes these rows, for visitors who drop it onto the page.
    """
    try:
        verdict, about = about_data(verdict, X, y)
        document = written(verdict, {**about, "reading": reading})
    except ValueError:  # nothing is proved, or JSON cannot hold its labels
        return None
    return carried(document)


def carried(document: str) -> str | None:
    """Return a document unless it is longer than a page should carry."""
    return document if len(document) <= 2 * _LARGEST else None


def table_of(X: Any, y: Any, largest: int = _LARGEST) -> dict[str, Any] | None:
    """Return rows and labels for the checker, every number exactly; None if they are too large for a page."""
    cells = X.nnz if sp.issparse(X) else X.size
    if 2 * cells > largest or (X.data.dtype if sp.issparse(X) else X.dtype).kind not in "iufb":
        return None
    lines = _sparse_lines(X) if sp.issparse(X) else [" ".join(map(_text, row)) for row in _plain(X)]
    if sum(map(len, lines)) > largest:
        return None
    return {"labels": np.asarray(y).tolist(), "lines": lines, "features": X.shape[1]}


def as_data(content: Any) -> str:
    """Return JSON that can stand in a script of a page: nothing in it ends the script."""
    text = content if isinstance(content, str) else json.dumps(content, allow_nan=False)
    return text.replace("<", "\\u003c")


def _sparse_lines(X: Any) -> list[str]:
    X = sp.csr_array(X)
    X.sort_indices()
    values = [_text(value) for value in _plain(X.data)]
    words = [f"{j}:{value}" for j, value in zip(X.indices.tolist(), values, strict=True)]
    return [" ".join(words[start:stop]) for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True)]


def _plain(values: Any) -> list[Any]:
    values = np.asarray(values)
    if values.dtype.kind == "b":
        values = values.astype(np.int8)
    return (values.astype(np.float64) if values.dtype.kind == "f" else values).tolist()  # type: ignore[no-any-return]


def _text(value: float) -> str:
    """Return a number so that it reads back exactly; whole numbers that no double holds end in n."""
    if isinstance(value, int):
        return str(value) if abs(value) <= _EXACT else f"{value}n"
    return str(int(value)) if value.is_integer() and abs(value) < _EXACT else repr(value)
