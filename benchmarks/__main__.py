"""Measure, keep the results, draw the charts and write the tables of the pages: ``python -m benchmarks --help``."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import Row, charts, results

ROOT = Path(__file__).parent.parent
# in the order in which they are run: what is asked most often first, what takes longest last
ORDER = (
    "commands",
    "passes",
    "verdicts",
    "proofs",
    "separation",
    "margins",
    "parsers",
    "files",
    "from_files",
    "wide",
    "cliffs",
    "family",
    "kernel",
    "cluster",
    "rounds",
    "mixing",
    "report",
    "scaling",
    "memory",
    "versions",
)


def questions() -> list[str]:
    """Return the modules that measure something, in order; new ones come before those that take longest."""
    found = [path.stem for path in (ROOT / "benchmarks").glob("*.py") if "\ndef run(" in path.read_text("utf-8")]
    return sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else ORDER.index("scaling") - 0.5, name))


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """Return what was asked for."""
    known = questions()
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure linsep beside its peers; a part of the questions replaces their results alone.",
        epilog=f"Questions: {', '.join(known)}. Real data is looked for where LINSEP_DATA says.",
    )
    parser.add_argument("names", nargs="*", metavar="QUESTION", help="what to measure; all by default")
    parser.add_argument("--out", type=Path, default=results.PATH, help="results to update (benchmarks/results.json)")
    parser.add_argument("--minutes", type=float, default=12.0, help="stop when they are up (12)")
    parser.add_argument("--limit", type=float, default=240.0, help="seconds for one question (240)")
    parser.add_argument("--quick", action="store_true", help="small data, once: to see that it runs; writes no pages")
    parser.add_argument("--pages", action="store_true", help="measure nothing; write charts and tables anew")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(given)
    unknown = sorted(set(asked.names) - {*known, "all"})
    if unknown:
        parser.error(f"{unknown[0]} is not a question: {', '.join(known)}, or all")
    asked.names = known if not asked.names or "all" in asked.names else asked.names
    return asked


def child(name: str) -> None:
    """Answer one question: a JSON object per line, as soon as it is known."""
    module = importlib.import_module(f"benchmarks.{name}")
    for row in module.run() if hasattr(module, "run") else ():
        print(json.dumps({"row": row._asdict() | {"ratio": float(row.ratio), "met": bool(row.met)}}), flush=True)
    for curve in module.curves() if hasattr(module, "curves") else ():
        print(json.dumps({"curve": curve._asdict()}), flush=True)
    for table in module.tables() if hasattr(module, "tables") else ():
        print(json.dumps({"table": table._asdict()}), flush=True)


def ask(name: str, limit: float, quick: bool, console: Console) -> dict[str, Any]:
    """Have a process answer a question; what goes wrong is part of the answer."""
    environment = os.environ | {"LINSEP_BENCH_QUICK": "1" if quick else "0"}
    command = [sys.executable, "-m", "benchmarks", "--child", name]
    started = time.perf_counter()
    found: dict[str, Any] = {"rows": [], "curves": [], "tables": [], "failed": None}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        try:
            out, errors = running.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            running.kill()
            out, errors = running.communicate()
            found["failed"] = f"stopped after {limit:.0f} s"
    for line in out.splitlines():
        if not line.startswith('{"'):
            continue
        fact = json.loads(line)
        kind = next(iter(fact))
        found[kind + "s"].append(fact[kind])
        if kind == "row":
            row = Row(**fact["row"])
            told = f"  {row.job}: {results.compared(row._asdict())} ({row.target}), {row.peer_name}"
            console.print(told, style="dim", highlight=False)
    if running.returncode and found["failed"] is None:
        found["failed"] = (errors.strip().splitlines() or [f"exit code {running.returncode}"])[-1]
    if not found["failed"] and not any(found[kind] for kind in ("rows", "curves", "tables")):
        found["failed"] = "nothing measured: its data, or a peer, are not on this machine"
    return found | {"seconds": round(time.perf_counter() - started, 1)}


def show(told: dict[str, Any], names: list[str], console: Console) -> None:
    """Print the results as one table."""
    table = Table("job", "ours", "peer or limit", "its time", "ratio", "target", "", title="seconds, best of several")
    for name in names:
        entry = told["questions"].get(name, {"rows": [], "failed": "not measured"})
        table.add_section()
        for row in entry["rows"]:
            mark = "[green]met[/]" if row["met"] else "[red]missed[/]"
            cells = (row["job"], f"{row['ours']:.4g}", row["peer_name"], f"{row['peer']:.4g}", results.compared(row))
            table.add_row(*cells, row["target"], mark)
        if entry["failed"]:
            table.add_row(f"[red]{name}: {entry['failed']}[/]", *[""] * 6)
    console.print(table)


def main() -> None:
    """Do what was asked for."""
    asked = arguments()
    if asked.child:
        child(asked.names[0])
        return
    console = Console(width=max(120, Console().width))
    told = results.load(asked.out)
    deadline = time.perf_counter() + 60 * asked.minutes
    for name in () if asked.pages else asked.names:
        left = deadline - time.perf_counter()
        console.print(f"[bold]{name}[/]")
        if left > 5:
            found = ask(name, min(asked.limit, left), asked.quick, console)
        else:
            found = {"rows": [], "curves": [], "tables": [], "failed": "not measured: the time was up", "seconds": 0.0}
        if found["failed"]:
            console.print(f"  [red]{found['failed']}[/]", highlight=False)
        told["questions"][name] = results.entry(name, found, quick=asked.quick)
        results.save(told, asked.out)  # what is measured is kept, whatever comes
    show(told, asked.names, console)
    if not asked.quick:
        charts.draw(told, asked.out.parent / "charts")
        results.write_pages(told)


if __name__ == "__main__":
    main()
