"""What linsep does, in a minute: a proof, a refutation, a stream, a report. Every step is a command you can type.

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
    """Prove, refute, learn, tell."""
    started = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    setosa, iris = (os.path.relpath(EXAMPLES / name) for name in ("setosa.csv", "iris.csv"))

    say("1  Separable: proved and drawn", "Is there a plane between setosa and the other irises? The first answer "
        "compiles what it needs, once.")  # fmt: skip
    run(f"linsep separate {setosa} --proof {folder}/proof.json")
    run(f"linsep verify {folder}/proof.json {setosa}")
    run(f"linsep fit {setosa} --model {folder}/setosa.linsep")
    run(f"linsep show {folder}/setosa.linsep {setosa} --out {folder}/figures")

    say("2  Not separable: refuted", "Versicolor and virginica: no plane, and these rows prove it.")
    run(f"grep -v setosa {iris} | linsep separate -")

    say(
        "3  A stream",
        "Two hundred thousand rows through a pipe, learned as they come; on a terminal with a progress bar.",
    )
    run(f"linsep generate - --n 200000 --d 20 --margin 0.02 | linsep fit - --max-iter 5 --model {folder}/stream.linsep")

    say("4  A report", "All there is to know about a file, on one page that needs no network.")
    run(f"linsep report {setosa} --out {folder}/report.html")

    console.print(f"\nOpen [bold]{(folder / 'report.html').resolve()}[/] in a browser.", soft_wrap=True)
    console.print(f"Figures are in [bold]{folder}/figures[/]. All of it took {time.perf_counter() - started:.0f} s.")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
