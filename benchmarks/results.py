"""What was measured, on which machine, when, with which versions: kept in ``results.json``, and told in the pages."""

from __future__ import annotations

import ast
import datetime
import json
import os
import platform
import re
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PATH = ROOT / "benchmarks" / "results.json"
PACKAGES = (
    "linsep", "numpy", "scipy", "numba", "scikit-learn", "pyarrow", "pandas", "polars", "liblinear-official",
    "vowpalwabbit", "river", "mlpack", "dask",
)  # fmt: skip
_RATE = re.compile(r" \([^)]*MB/s[^)]*\)")  # rates and memory, which only the page with all results tells
BEGIN, END = "<!-- made by make bench: {} -->", "<!-- end -->"
# what the front page tells: questions, and words that the job and the peer must have
HEADLINES = (
    ("passes", "float64, cyclic", "scikit-learn"),
    ("passes", "uint8, cyclic", "scikit-learn"),
    ("passes", "CSR, cyclic", "scikit-learn"),
    ("files", "LIBSVM text", "Vowpal Wabbit"),
    ("files", "LIBSVM text", "load_svmlight_file"),
    ("files", "csv", "pandas"),
    ("files", "parquet", "polars"),
    ("verdicts", "20k×50, separable", "linprog"),
    ("verdicts", "20k×50, overlap", "linprog"),
    ("margins", "affine", "LinearSVC"),
    ("kernel", "fit", "SVC"),
)


def machine() -> dict[str, Any]:
    """Say what machine this is."""
    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": model or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(pages * size / 1e9, 1),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Return the versions of what is measured, of those that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def entry(name: str, found: dict[str, Any], *, quick: bool = False) -> dict[str, Any]:
    """Return what is kept of an answer: the question, where and when it was answered, and all rows."""
    text = ast.get_docstring(ast.parse((ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8"))) or name
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return {
        "question": " ".join(text.split("\n\n")[0].split()),
        "date": now,
        "quick": quick,
        "machine": machine(),
        "versions": versions(),
        **found,
    }


def load(path: Path) -> dict[str, Any]:
    """Read results, or begin with none."""
    if not path.exists():
        return {"questions": {}}
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return told


def save(told: dict[str, Any], path: Path) -> None:
    """Write results, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(path)


def headlines(told: dict[str, Any]) -> list[str]:
    """Return the lines of the front page's table."""
    lines = ["| job | linsep | compared with | its time | ratio |", "|---|---:|---|---:|---:|"]
    for name, job, peer in HEADLINES:
        rows = told["questions"].get(name, {"rows": []})["rows"]
        row = next((row for row in rows if job in row["job"] and peer in row["peer_name"]), None)
        if row is not None:
            what, other = (_RATE.sub("", row[text]) for text in ("job", "peer_name"))
            ours, peers = (f"{row[time]:.3g}\N{NO-BREAK SPACE}s" for time in ("ours", "peer"))
            lines.append(f"| {what} | {ours} | {other} | {peers} | {times(row['ratio'])} |")
    dates = sorted({each["date"].split()[0] for each in told["questions"].values()})
    machines = {_machine(each["machine"]) for each in told["questions"].values()}
    rows = [row for each in told["questions"].values() for row in each["rows"]]
    met = sum(row["met"] for row in rows)
    when = " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else ""
    if when:
        lines += ["", f"Best of several runs of `make bench` ({when}) on {' and '.join(sorted(machines))}. "
                  f"[The benchmarks](docs/benchmarks.md) have all {len(rows)} comparisons, each with a target: "
                  f"{met} are met, {len(rows) - met} missed."]  # fmt: skip
    return lines


def everything(told: dict[str, Any]) -> list[str]:
    """Return the lines of the page with all results."""
    lines = []
    # curves without a target come last
    for name, each in sorted(told["questions"].items(), key=lambda pair: not pair[1]["rows"]):
        versions = ", ".join(f"{package} {number}" for package, number in each["versions"].items())
        lines += [f"## {name}", "", each["question"], ""]
        if each["rows"]:
            lines += ["| job | linsep | compared with | its value | ratio | target |", "|---|---:|---|---:|---:|---|"]
            lines += [_line(row) for row in each["rows"]]
            lines += [""]
        if each["failed"]:
            lines += [f"Not all of it: {each['failed']}.", ""]
        charts = [name] * bool(each["rows"]) + [f"{name}-{number}" for number in range(1, len(each["curves"]) + 1)]
        for chart in charts:
            lines += [f"![{each['question']}](../benchmarks/charts/{chart}.svg)", ""]
        lines += [f"{each['date']}, {_machine(each['machine'])}; {versions}.", ""]
    return lines


def times(ratio: float) -> str:
    """Return a ratio in two digits, or as many as stand before the point."""
    return f"{ratio:.0f}×" if ratio >= 10 else f"{ratio:.2g}×"


def compared(row: dict[str, Any]) -> str:
    """Return the ratio that the target speaks of: how many times as fast, or how many times the other's value."""
    if re.fullmatch(r"≤ [\d.]+×", row["target"]):
        return times(row["ours"] / row["peer"]) if row["peer"] else "–"
    return times(row["ratio"])


def _line(row: dict[str, Any]) -> str:
    """Return a row of a table."""
    mark = "met" if row["met"] else "**missed**"
    return (
        f"| {row['job']} | {row['ours']:.3g} | {row['peer_name']} | {row['peer']:.3g} | {compared(row)} "
        f"| {row['target']}, {mark} |"
    )


def _machine(about: dict[str, Any]) -> str:
    """Return a machine in words."""
    return f"{about['cores']} cores of {about['processor']}, {about['memory_gb']:.0f} GB, Python {about['python']}"


def filled(text: str, name: str, lines: list[str]) -> str:
    """Return a page with what stands between the marks written anew."""
    begin = BEGIN.format(name)
    before, _, rest = text.partition(begin)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the page has no marks for {name}")
    return f"{before}{begin}\n\n" + "\n".join(lines).strip() + f"\n\n{END}{after}"


def table(question: str, name: str) -> Callable[[dict[str, Any]], list[str]]:
    """Return what writes a table that a question has yielded."""

    def lines(told: dict[str, Any]) -> list[str]:
        found = told["questions"].get(question, {}).get("tables", [])
        for each in found:
            if each["name"] == name:
                rule = ["---"] * len(each["head"])
                return [f"| {' | '.join(cells)} |" for cells in (each["head"], rule, *each["body"])]
        return ["(not measured)"]

    return lines


# for every page: its marks, and what is written between each of them and the end
PAGES: dict[str, dict[str, Callable[[dict[str, Any]], list[str]]]] = {
    "README.md": {"speed": headlines},
    "docs/benchmarks.md": {"everything": everything},
    "docs/cluster.md": {
        "mixing": table("mixing", "real data"),
        "rounds": table("rounds", "rounds"),
        "model": table("rounds", "model"),
        "workers": table("rounds", "workers"),
    },
}


def written(page: str, told: dict[str, Any]) -> str:
    """Return a page with its tables written anew."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for mark, lines in PAGES[page].items():
        text = filled(text, mark, lines(told))
    return text


def write_pages(told: dict[str, Any]) -> None:
    """Write the tables of the pages anew."""
    for page in PAGES:
        (ROOT / page).write_text(written(page, told), encoding="utf-8")
