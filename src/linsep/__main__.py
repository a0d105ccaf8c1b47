"""``python -m linsep`` is the command ``linsep``."""

from linsep.cli import main

main()
