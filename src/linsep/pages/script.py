"""Puts JavaScript modules into one script, for pages that are one file; there is no build step beside this."""

from __future__ import annotations

import posixpath
import re
from functools import cache
from importlib.resources import files

_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE)


@cache
def bundle(*entries: str, without: tuple[str, ...] = ()) -> str:
    """Return some modules and all that they import as one script; module ``a/b.js`` becomes the constant ``a_b``.

    Entries are paths within ``linsep/pages``, such as ``"checker/panel.js"``; those of ``without``, and what they
    import, are in a script that stands before this one in the page.
    """
    held = _modules(without)
    parts = []
    for path in _modules(entries):
        if path not in held:
            text = _text(path)
            exports = ", ".join(name for _, name in _EXPORT.findall(text))
            taken = _IMPORT.sub(
                lambda match, path=path: (  # type: ignore[misc]
                    f"const {{ {match[1].strip().replace(' as ', ': ')} }} = {_constant(_beside(path, match[2]))};\n"
                ),
                text,
            )
            body = _EXPORT.sub(r"\1", taken)
            parts.append(f"const {_constant(path)} = (() => {{\n{body}return {{ {exports} }};\n}})();\n")
    return "\n".join(parts).replace("</script", "<\\/script")


def _modules(entries: tuple[str, ...]) -> list[str]:
    """Return the paths of some modules and of all that they import, each after those that it imports."""
    paths: list[str] = []

    def add(path: str) -> None:
        if path not in paths:
            for _, other in _IMPORT.findall(_text(path)):
                add(_beside(path, other))
            paths.append(path)

    for entry in entries:
        add(entry)
    return paths


def _text(path: str) -> str:
    return files("linsep.pages").joinpath(path).read_text(encoding="utf-8")


def _beside(path: str, other: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), other))


def _constant(path: str) -> str:
    return re.sub(r"\W", "_", path.removesuffix(".js"))
