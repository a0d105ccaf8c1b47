"""A chart per question, from the results: bars of ratios beside their targets, or curves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmarks.results import times

INK, MET, MISSED, LIMIT = "#1b2a41", "#2a6f97", "#c1502e", "#7a8ca5"


def draw(told: dict[str, Any], folder: Path) -> None:
    """Write the charts of all questions that have something to draw."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams |= {"svg.hashsalt": "linsep", "svg.fonttype": "none", "font.size": 9}  # the same bytes every time
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    for name, each in told["questions"].items():
        for number, curve in enumerate(each["curves"], 1):
            _curves(curve, folder / f"{name}-{number}.svg")
        if each["rows"]:
            _bars(each, folder / f"{name}.svg")


def _bars(each: dict[str, Any], path: Path) -> None:
    """Draw how many times as long the peers take, and the targets."""
    import matplotlib.pyplot as plt

    rows = each["rows"][::-1]
    figure, axes = plt.subplots(figsize=(8.5, 0.8 + 0.34 * len(rows)), layout="constrained")
    for place, row in enumerate(rows):
        axes.barh(place, row["ratio"], color=MET if row["met"] else MISSED, height=0.62)
        end, found = row["ratio"], re.match(r"([≥≤]) ([\d.]+)×", row["target"])
        if found:  # other targets, such as "proved in ≤ 2 s", are no ratios
            target = float(found[2]) if found[1] == "≥" else 1 / float(found[2])
            axes.plot([target, target], [place - 0.42, place + 0.42], color=INK, linewidth=2)
            end = max(end, target)
        axes.annotate(f" {times(row['ratio'])}", (end, place), va="center", color=INK)
    axes.set_yticks(range(len(rows)), [f"{_short(row['job'])} | {_short(row['peer_name'])}" for row in rows])
    axes.set_xscale("log")
    axes.axvline(1, color=LIMIT, linewidth=0.8, linestyle=":")
    low, high = axes.get_xlim()
    axes.set_xlim(low / 1.3, high * 1.6)
    axes.set_xlabel("ratio: above 1 linsep does better; black: the target", loc="right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _short(text: str) -> str:
    """Return a name without what stands in brackets, and not so long that it leaves no room for the bars."""
    plain = re.sub(r" \([^)]*\)", "", text)
    return plain if len(plain) <= 56 else f"{plain[:55]}…"


def _curves(curve: dict[str, Any], path: Path) -> None:
    """Draw how something grows, on logarithmic axes, with the slope at the far end."""
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.ticker import LogLocator, NullLocator

    figure, axes = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
    for name, (x, y) in curve["lines"].items():
        slope = np.log(y[-1] / y[-2]) / np.log(x[-1] / x[-2]) if len(x) > 1 and min(y[-2:]) > 0 else float("nan")
        axes.loglog(x, y, "o-", markersize=4, label=f"{name} (last slope {slope:.1f})")
    places = sorted({float(value) for x, _ in curve["lines"].values() for value in x})
    if places and places[-1] < 200 * places[0] and len(places) <= 8:  # few powers of ten: label the points themselves
        axes.set_xticks(places, [f"{place:,.0f}" if place >= 1 else f"{place:g}" for place in places])
        axes.set_xticks([], minor=True)
    heights = [float(value) for _, y in curve["lines"].values() for value in y if value > 0]
    if heights and max(heights) < 30 * min(heights):
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set(title=curve["title"], xlabel=curve["x_label"], ylabel=curve["y_label"])
    axes.grid(alpha=0.3, which="both")
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
