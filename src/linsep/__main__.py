"""Runs the command line as ``python -m linsep``."""

from linsep.cli import main

main()
