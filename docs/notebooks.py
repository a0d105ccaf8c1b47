"""Run the notebooks of ``examples/`` and write what their cells show now: ``python docs/notebooks.py``.

Cells run from top to bottom in one program, without a notebook server; what they print, and what the last expression of
a cell shows (HTML, a figure, or text), is stored as a notebook stores it. The tests run the cells too.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def notebooks() -> list[Path]:
    """Return the notebooks."""
    return sorted((ROOT / "examples").glob("*.ipynb"))


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with the outputs that its cells have now."""
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                cell["execution_count"] = count
                cell["outputs"] = _outputs("".join(cell["source"]), names, count)
    return notebook


def _outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Run a cell; return what it prints and what its last expression shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    found: list[dict[str, Any]] = []
    if out.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": out.getvalue().splitlines(keepends=True)})
    if value is not None:
        found.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": _shown(value)})
    return found


def _shown(value: Any) -> dict[str, Any]:
    """Return the forms in which a notebook shows a value."""
    if hasattr(value, "savefig"):
        buffer = io.BytesIO()
        value.savefig(buffer, format="png", dpi=80, bbox_inches="tight")
        return {"image/png": base64.b64encode(buffer.getvalue()).decode(), "text/plain": ["a figure"]}
    text = repr(value).split("\n")[0]
    shown: dict[str, Any] = {"text/plain": [f"a {type(value).__name__}" if " at 0x" in text else text]}
    if hasattr(value, "_repr_html_"):
        shown["text/html"] = value._repr_html_().splitlines(keepends=True)
    return shown


if __name__ == "__main__":
    for path in notebooks():
        made = run(json.loads(path.read_text(encoding="utf-8")))
        path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{path.name}: written")
