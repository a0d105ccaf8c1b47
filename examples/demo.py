"""What linsep does, in a minute: the story of a messy table. Every step is a command that you can type.

Run it with ``make demo``, or with ``python examples/demo.py [FOLDER]``; figures and report go to FOLDER (``demo``).
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console

EXAMPLES = Path(__file__).resolve().parent
console = Console(highlight=False)


def say(title: str, text: str) -> None:
    """Begin a step."""
    console.print()
    console.rule(f"[bold]{title}", align="left")
    console.print(text + "\n")


def run(command: str) -> None:
    """Show a command, run it, and go on whatever its answer is: 1 only means no."""
    console.print(f"[bold]$ {command}", soft_wrap=True)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(command, shell=True, env=os.environ | {"PATH": path}, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)


def main(folder: Path) -> None:
    """Tell the story of a table: the verdict, the rows in the way, the regression, the learner, the report."""
    started = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    setosa, orders, cures = (os.path.relpath(EXAMPLES / f"{name}.csv") for name in ("setosa", "orders", "cures"))
    table = f"{orders} --encoding latin-1 --target returned --missing indicator --ignore date --ignore town"

    say("1  A messy table", "Semicolons, decimal commas, percent signs, row numbers, words and gaps: which orders come "
        "back? The first answer compiles some functions, once.")  # fmt: skip
    run(f"head -n 4 {orders}")
    run(f"linsep separate {table} --proof {folder}/proof.json")
    run(f"linsep verify {folder}/proof.json {orders}")

    say("2  How far from separable, and which rows?", "The fewest errors of any plane, proved from both sides.")
    run(f"linsep errors {table} 2> {folder}/notes.txt")

    say("3  The regression view", "Everybody with dose = 1 was cured: does a logistic regression have a finite answer?")
    run(f"linsep regression {cures} --target cured")

    say("4  The learner and its bound", "On separable rows the perceptron must stop; the theorem says when.")
    run(f"linsep fit {setosa} --no-shuffle --trace --model {folder}/setosa.linsep")
    run(f"linsep show {folder}/setosa.linsep {setosa} --out {folder}/figures")

    say("5  The report", "Everything about a file on one page, with its proofs and a checker that runs in the browser.")
    run(f"linsep report {setosa} --out {folder}/report.html")

    console.print(f"\nOpen [bold]{(folder / 'report.html').resolve()}[/] in a browser.", soft_wrap=True)
    console.print(f"Figures are in [bold]{folder}/figures[/]. The demo took {time.perf_counter() - started:.0f} s.")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
