"""Decides whether a plane separates labeled rows, proves the verdict, and trains perceptrons with bounded mistakes.

Data flows one way: ``data`` (bytes to rows), ``learn`` (rows to weights), ``prove`` (rows to certificates), ``models``
(scikit-learn classifiers), then ``figures``, ``pages``, ``cluster`` and ``cli``. Public names load on first use, so
importing the package is fast.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.2.0"

# the public names stand once, in the stub: each line is ``from linsep.module import name as name, ...``
_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOME = {
    name: module
    for module, names in re.findall(r"^from (linsep\.\S+) import (.*)$", _STUB, re.M)
    for name in re.findall(r"as (\w+)", names)
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name == "cluster":  # a package with names of its own
        return import_module("linsep.cluster")
    if name not in _HOME:
        raise AttributeError(f"module 'linsep' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
