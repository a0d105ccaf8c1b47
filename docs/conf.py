"""How the pages are built: ``make docs``. Nothing is fetched from elsewhere, neither now nor by a reader."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers.special import TextLexer

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import imports  # noqa: E402
import linsep  # noqa: E402

linsep.explore().save(HERE / "explorer.html")

project = "linsep"
copyright = "the linsep developers, BSD-3-Clause"  # noqa: A001
version = release = linsep.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns: list[str] = []
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
nitpicky = True
nitpick_ignore_regex = [("py:.*", r".*")]  # types of other projects would need the network; links of pages are checked
suppress_warnings = ["ref.python"]  # a type such as "array of shape (n, classes)" is no link

autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    "inherited-members": "BaseEstimator, ClassifierMixin, tuple, BaseException, OSError, ValueError",
    "exclude-members": "set_output, set_fit_request, set_score_request, set_partial_fit_request, get_metadata_routing",
}
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]  # several names may share a line; a name may end in _
napoleon_use_rtype = False
smartquotes = False  # options keep their two dashes, and JSON its quotes

html_theme = "furo"
html_title = "linsep"
html_static_path = ["pages.css"]
html_extra_path = ["explorer.html"]  # the page of linsep explore, as it is
html_css_files = ["pages.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"light_css_variables": {"font-stack": "system-ui, sans-serif"}}


def setup(app: Any) -> None:
    """Draw what is drawn from the code, and teach the words that the pages use."""
    app.add_lexer("output", TextLexer)
    app.connect("builder-inited", lambda _: imports.write(HERE / "imports.svg"))
    app.connect("doctree-resolved", _dashes)
    app.connect("autodoc-skip-member", _is_field)


def _is_field(_: Any, _what: str, _name: str, member: Any, _skip: bool, _options: Any) -> bool | None:
    """Leave out the fields of a named tuple, which its docstring describes."""
    return True if str(member.__doc__).startswith("Alias for field number") else None


def _dashes(_: Any, doctree: nodes.document, _name: str) -> None:
    """Write the dash between a parameter and its meaning, which Sphinx leaves to its smart quotes."""
    for text in [text for text in doctree.findall(nodes.Text) if " -- " in text]:
        if not isinstance(text.parent, nodes.literal | nodes.literal_block):
            text.parent.replace(text, nodes.Text(text.replace(" -- ", " – ")))
