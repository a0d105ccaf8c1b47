"""Builds ``linsep_check.py``, the plain check as one file that needs only Python.

The file contains the modules of the plain check verbatim, so it cannot differ from them. To add a check for another
kind of proof, add its module here and its kind to ``linsep_check.KINDS``.
"""

from __future__ import annotations

import ast
from importlib import resources

PARTS = ("plain", "plain_fewest", "plain_regression", "linsep_check")  # in this order: what is used comes first


def program() -> str:
    """Return the text of the program.

    Examples
    --------
    >>> from linsep.prove.check.standalone import program
    >>> "import linsep" in program() or "from linsep" in program()
    False
    """
    folder = resources.files("linsep.prove.check")
    sources = [folder.joinpath(f"{name}.py").read_text(encoding="utf-8") for name in PARTS]
    usage = ast.get_docstring(ast.parse(sources[-1]), clean=False)
    imports: set[str] = set()
    bodies = []
    known: dict[str, str] = {}
    for name, source in zip(PARTS, sources, strict=True):
        for defined in _names(ast.parse(source)):
            if known.setdefault(defined, name) != name:
                raise AssertionError(f"{defined} is defined in {known[defined]} and in {name}")
        bodies.append(f"{_bar(name)}\n\n{_body(source, imports)}")
    head = f'"""{usage}"""\n\nfrom __future__ import annotations\n\n' + "\n".join(sorted(imports))
    return head + "\n\n" + "\n\n\n".join(bodies) + "\n"


def _names(tree: ast.Module) -> set[str]:
    """Return the names that a module defines."""
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def _bar(name: str) -> str:
    return f"# {'=' * 100}\n# {name}"


def _body(source: str, imports: set[str]) -> str:
    """Return a module without its imports, which are collected, those of the package left out."""
    lines, tree = source.splitlines(), ast.parse(source)
    dropped: set[int] = set()
    for node in tree.body:
        outside = isinstance(node, ast.Import)
        if isinstance(node, ast.ImportFrom):
            outside = node.module not in ("__future__",) and not (node.module or "").startswith("linsep")
        if outside:
            imports.add(ast.unparse(node))
        if outside or isinstance(node, ast.ImportFrom):
            dropped |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    kept = "\n".join(line for number, line in enumerate(lines, 1) if number not in dropped)
    while "\n\n\n\n" in kept:
        kept = kept.replace("\n\n\n\n", "\n\n\n")
    return kept.strip()
