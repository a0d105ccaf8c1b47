"""Run the benchmarks named on the command line, or all of them, and print one table."""

from __future__ import annotations

import importlib
import pkgutil
import sys

from rich.console import Console
from rich.table import Table

import benchmarks


def main(names: list[str]) -> None:
    known = [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name != "__main__"]
    console = Console(width=max(120, Console().width))
    table = Table("job", "ours", "peer or limit", "its time", "ratio", "target", "", title="seconds, best of several")
    for name in names or known:
        for row in importlib.import_module(f"benchmarks.{name}").run():
            cells = (row.job, f"{row.ours:.4g}", row.peer_name, f"{row.peer:.4g}", f"{row.ratio:.2f}×", row.target)
            console.print("  ".join(cells), style="dim")
            table.add_row(*cells, "[green]met[/]" if row.met else "[red]missed[/]")
    console.print(table)


main(sys.argv[1:])
