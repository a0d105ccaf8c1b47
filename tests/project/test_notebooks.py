"""The notebooks of examples/: every cell runs, and shows what the file says."""

import json
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import notebooks  # noqa: E402


def printed(notebook):
    """What the cells print, and what their last expressions show as text."""
    outputs = [out for cell in notebook["cells"] for out in cell.get("outputs", ())]
    return ["".join(out["text"]) if "text" in out else "".join(out["data"]["text/plain"]) for out in outputs]


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("path", notebooks.notebooks(), ids=lambda path: path.stem)
def test_cells_show_what_the_notebook_says(path):
    """Where this fails and the new output is right, ``python docs/notebooks.py`` writes it."""
    content = json.loads(path.read_text(encoding="utf-8"))
    said = printed(content)
    assert said
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert printed(notebooks.run(content)) == said
