"""Builds ``linsep_check.py``, the plain check as one file that needs only Python.

The file contains the modules of the plain check, so it cannot differ from them, in the order of docs/proof-format.md
and under its headings. To add a check for another kind of proof, add its module here; it adds its kind to ``KINDS``.
"""

from __future__ import annotations

import ast
import re
from importlib import resources

PARTS = ("plain_document", "plain_table", "plain", "plain_fewest", "plain_regression", "linsep_check")
OF_KINDS = {  # for these alone
    "plain_fewest": ("fewest-errors",),
    "plain_regression": ("separation",),
}
_RULE = re.compile(r"^# -+\n# (.+)\n", re.MULTILINE)


def program(kind: str | None = None) -> str:
    """Return the text of the program, for proofs of all kinds or as much of it as one of a kind needs.

    Examples
    --------
    >>> from linsep.prove.check.standalone import program
    >>> "import linsep" in program() or "from linsep" in program()
    False
    """
    folder = resources.files("linsep.prove.check")
    known: dict[str, str] = {}
    imports: dict[str, set[str]] = {}
    bodies, said = [], ""
    for name in PARTS:
        if kind is not None and kind not in OF_KINDS.get(name, (kind,)):
            continue
        source = folder.joinpath(f"{name}.py").read_text(encoding="utf-8")
        tree = ast.parse(source)
        for defined in _names(tree):
            if known.setdefault(defined, name) != name:
                raise AssertionError(f"{defined} is defined in {known[defined]} and in {name}")
        said = ast.get_docstring(tree) or ""
        body = _RULE.sub(lambda rule: f"# {f' {rule[1]} ':=^110}\n", _body(source, tree, imports))
        if name != PARTS[-1] and "\n\n" in said:  # the usage stands at the top, other explanations under a heading
            rule, _, rest = body.partition("\n")
            body = f'{rule}\n"""{said.partition(chr(10) * 2)[2]}"""\n{rest}'
        bodies.append(body)
    lines = [f"import {each}" for each in sorted(imports.pop("", ()))]
    lines += [f"from {each} import {', '.join(sorted(imports[each]))}" for each in sorted(imports)]
    head = f'"""{said}\n"""\n\nfrom __future__ import annotations\n\n' + "\n".join(lines)
    return re.sub(r"\n{3,}", "\n\n", "\n\n".join([head, *bodies])) + "\n"


def _names(tree: ast.Module) -> set[str]:
    """Return the names that a module defines."""
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def _body(source: str, tree: ast.Module, imports: dict[str, set[str]]) -> str:
    """Return a module without its docstring and its imports; those from outside the package are collected by module."""
    dropped: set[int] = set()
    for node in tree.body:
        if not isinstance(node, ast.Import | ast.ImportFrom) and node is not tree.body[0]:
            continue
        dropped |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        if isinstance(node, ast.Import | ast.ImportFrom) and module.partition(".")[0] not in ("linsep", "__future__"):
            imports.setdefault(module, set()).update(each.name for each in node.names)
    return "\n".join(line for number, line in enumerate(source.splitlines(), 1) if number not in dropped).strip()
