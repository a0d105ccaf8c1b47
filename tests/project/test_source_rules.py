"""Rules of form that every file of the package keeps, read from its syntax tree."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2] / "src" / "linsep"
FILES = sorted(ROOT.rglob("*.py"))


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def functions(body: list[ast.stmt], inside: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield every function with its name, of methods and inner functions ``outer.name``."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield inside + node.name, node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from functions(node.body, f"{inside}{node.name}.")
        else:
            for field in ("body", "orelse", "finalbody"):
                yield from functions(getattr(node, field, []), inside)


def test_the_plain_check_uses_the_standard_library_alone():
    text = (ROOT / "prove" / "check" / "linsep_check.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        modules = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert node.module is not None
            modules = [node.module]
        assert all(module.partition(".")[0] in sys.stdlib_module_names for module in modules)


def test_files_that_the_makefile_and_the_recipes_name():
    project = ROOT.parent.parent
    loops = (project / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    listed = next(line for line in loops.splitlines() if line.startswith("LOOPS := ")).split()[2:]
    assert listed
    for name in listed:
        assert (project / "tests" / f"{name}.py").is_file(), name
    recipes = (project / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = [path for path in re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./<>]+)`", recipes) if "<" not in path]
    assert len(named) > 10
    for path in [*named, *re.findall(r"pytest (tests/\S+)", recipes)]:
        assert (project / path).exists(), path


def imported(module: str) -> set[str]:
    """Return the modules of linsep that are loaded with one, itself left out."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        here = waiting.pop()
        found.add(here)
        file = ROOT / f"{here}.py"
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("linsep."):
                base = node.module.removeprefix("linsep.").replace(".", "/")
                parts = {f"{base}/{each.name}" for each in node.names} if (ROOT / base).is_dir() else {base}
                waiting += [each for each in parts if each not in found]
    return found - {module}


def test_checks_import_what_the_design_says():
    text = (ROOT.parent.parent / "docs" / "design.md").read_text(encoding="utf-8")
    plain, fast = (
        next(line for line in text.splitlines() if line.startswith(f"| `verify({way}")) for way in ("…, plain", "…)`")
    )
    assert "`prove/check/linsep_check.py`" in plain
    for check in ("prove/check/fast_check", "prove/check/check_fewest"):
        assert all(f"`{each}.py`" in fast for each in {check} | imported(check))


def test_the_walk_names_functions_that_exist():
    text = (ROOT.parent.parent / "docs" / "design.md").read_text(encoding="utf-8")
    walk = text[text.index("## One row") : text.index("## What has to be trusted")]
    file, named = "", 0
    for word in re.findall(r"`([^`]+)`", walk):
        if word.endswith(".py"):
            file = word
            continue
        if not file or not re.fullmatch(r"[A-Za-z_][\w.]*", word):
            continue
        body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
        classes = {node.name for node in body if isinstance(node, ast.ClassDef)}
        if word not in ("data", "learn", "Fitted"):
            assert word in classes | {name for name, _ in functions(body)}, f"{file} has no {word}"
            named += 1
    assert named > 25


def test_no_import_hides_a_cycle():
    """Imports inside functions count, too."""
    graph = grimp.build_graph("linsep", exclude_type_checking_imports=True)
    modules = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    TopologicalSorter(modules).prepare()  # raises CycleError, with a cycle


def test_no_module_reads_private_names_of_another():
    """What begins with _ belongs to the module that defines it, or to a class that the module extends."""
    libraries = {"_replace", "_asdict", "_fields", "_make", "_cache", "_cache_file", "_exog_grp", "_endog_grp"}
    for file in FILES:
        nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
        own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        own |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
        own |= {
            node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
        for node in nodes:
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
                extended = ast.unparse(node.value) in ("self", "cls", "super()")
                assert extended or node.attr in own | libraries, f"{name_of(file)}: {ast.unparse(node)}"
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("linsep"):
                private = [each.name for each in node.names if each.name.startswith("_") and each.name != "__version__"]
                assert not private, f"{name_of(file)}: {private}"
