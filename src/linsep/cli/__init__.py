"""The command line: ``linsep fit | predict | score | separate | regression | errors | verify | show | report | ...``.

Commands import heavy packages only when they need them, so ``linsep --help`` answers at once.
"""

from linsep.cli.app import main

__all__ = ["main"]
