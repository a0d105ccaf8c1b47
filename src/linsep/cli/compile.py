"""``linsep compile``: compiles all functions in advance."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from typing import Any

from linsep.cli.options import Screen, command
from linsep.cli.screen import count, headline, meter, result


@command("linsep compile")
def compile(*, screen: Screen) -> None:  # noqa: A001 - the command's name
    """Compile all functions now, so that other commands start without delay.

    Functions otherwise compile on first use, which takes a few seconds, once. The compiled code stays on disk.
    """
    started = time.perf_counter()
    with meter("compiling", screen) as watching, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jobs = list(_jobs())
        for number, (name, job) in enumerate(jobs):
            watching.show(number, len(jobs), name)
            job()
    from linsep.compiling import seconds

    facts = {"command": "compile", "seconds": time.perf_counter() - started, "compiling": seconds()}

    def show(console: Any) -> None:
        console.print(headline("compiled", f": {count(len(jobs), 'job')} in {facts['seconds']:.1f} s"))

    result(facts, screen, show)


def _jobs() -> Any:
    """Yield a name and a function for everything that is compiled: reading, learning, deciding, dense and sparse."""
    import numpy as np
    import scipy.sparse as sp

    import linsep

    X, y, _ = linsep.teacher(60, 3, margin=0.05, random_state=0)
    three = np.where(y < 0, 0, np.where(X[:, 0] > 0, 1, 2))
    flipped = np.where(np.arange(len(y)) % 7 == 0, -y, y)
    for kind, rows in (("dense", X), ("bytes", (X * 100 + 128).astype(np.uint8)), ("sparse", sp.csr_array(X))):
        for labels in (y, three):
            yield f"learn, {kind}", lambda rows=rows, labels=labels: linsep.Perceptron(max_iter=20).fit(rows, labels)
        for labels in (y, flipped, three):
            yield f"decide, {kind}", lambda rows=rows, labels=labels: linsep.separate(rows, labels).check(rows, labels)
    yield "separation", lambda: linsep.separation(X, flipped > 0).check()
    yield "margin", lambda: linsep.largest_margin(X, y)
    for labels in (flipped, three):
        yield "fewest errors", lambda labels=labels: linsep.fewest_errors(X, labels, max_nodes=2).check(X, labels)
    for ending in ("csv", "svm"):
        for labels in (flipped, three):
            yield f"commands, {ending}", lambda ending=ending, labels=labels: _commands(ending, X.round(2), labels)


_EACH = (
    "fit {data} -m {model}",
    "fit {data} -m {model} --keep average --scale standard",
    "score {model} {data}",
    "separate {data} --proof {proof}",
    "verify {proof} {data}",
    "errors {data} --time-limit 2",
)
_TABLES = ("report {data} --out {page}", "separation {data} --target y --family multinomial")


def _commands(ending: str, X: Any, y: Any) -> None:
    from linsep.cli import main

    with tempfile.TemporaryDirectory() as folder:
        files = {name: os.path.join(folder, name) for name in ("model", "proof", "page")}
        files["data"] = os.path.join(folder, f"data.{ending}")
        with open(files["data"], "w", encoding="utf-8") as file:
            print("x1,x2,x3,y" if ending == "csv" else "", file=file)
            for x, label in zip(X.tolist(), y.tolist(), strict=True):
                sparse = " ".join(f"{j + 1}:{value}" for j, value in enumerate(x))
                print(*x, label, sep=",", file=file) if ending == "csv" else print(label, sparse, file=file)
        for command in _EACH + (_TABLES if ending == "csv" else ()):
            try:
                main([*command.format(**files).split(), "--quiet"])
            except SystemExit as done:
                if done.code not in (0, 1):
                    raise RuntimeError(f"this installation cannot run: linsep {command}") from None
