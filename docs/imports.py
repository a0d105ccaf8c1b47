"""Draw who imports whom, from the code and the layers that import-linter checks."""

from __future__ import annotations

import tomllib
from pathlib import Path
from xml.sax.saxutils import escape

import grimp

ROOT = Path(__file__).parent.parent
WIDTH, STEP, HEIGHT, LETTER = 760, 62, 28, 7.6  # of the picture, of a layer, of a box, of a letter


def layers() -> list[list[str]]:
    """Return the packages in their layers, line by line from the top."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    lines = next(each["layers"] for each in settings["contracts"] if each["type"] == "layers")
    return [[package.strip() for package in line.split("|")] for line in lines if line != "__main__"]


def edges(packages: set[str]) -> set[tuple[str, str]]:
    """Return who imports whom, package by package."""
    graph = grimp.build_graph("linsep", cache_dir=None)
    for package in packages:
        graph.squash_module(f"linsep.{package}")
    return {
        (package, imported.removeprefix("linsep."))
        for package in packages
        for imported in graph.find_modules_directly_imported_by(f"linsep.{package}")
        if imported.removeprefix("linsep.") in packages - {package}
    }


def needed(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Leave out what follows from the rest: an import that is also reached through another package."""
    below: dict[str, set[str]] = {}

    def reach(package: str) -> set[str]:
        if package not in below:
            below[package] = set()
            for upper, lower in pairs:
                if upper == package:
                    below[package] |= {lower} | reach(lower)
        return below[package]

    return {
        (upper, lower)
        for upper, lower in pairs
        if not any(lower in reach(other) for first, other in pairs if first == upper and other != lower)
    }


def svg() -> str:
    """Return the picture: a line of boxes per layer, an arrow per import that does not follow from others."""
    lines = layers()
    pairs = edges({package for line in lines for package in line})
    place, boxes = {}, []
    for number, line in enumerate(lines):
        gap = WIDTH / (len(line) + 1)
        for position, package in enumerate(line, 1):
            shift = 45 * (number % 3 - 1)  # so that arrows of a single column do not hide each other
            x, y = gap * position + shift, STEP * number + 24
            place[package] = x, y
            width = LETTER * len(package) + 18
            boxes.append(
                f'<rect x="{x - width / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{width:.0f}" height="{HEIGHT}" rx="6"/>'
                f'<text x="{x:.0f}" y="{y + 4:.0f}">{escape(package)}</text>'
            )
    arrows = []
    for upper, lower in sorted(needed(pairs)):
        (x, y), (u, v) = place[upper], place[lower]
        y, v = y + HEIGHT / 2, v - HEIGHT / 2 - 5
        bend = (v - y) / 2
        arrows.append(f'<path d="M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} {u:.0f} {v - bend:.0f} {u:.0f} {v:.0f}"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {STEP * len(lines)}" role="img">'
        f"<title>Who imports whom: {len(place)} packages, {len(pairs)} imports</title>"
        "<style>rect{fill:#eef3fb;stroke:#4a6fa5}text{font:13px monospace;text-anchor:middle;fill:#1b2a41}"
        "path{fill:none;stroke:#7a8ca5;stroke-width:1.2;marker-end:url(#tip)}</style>"
        '<defs><marker id="tip" viewBox="0 0 6 6" refX="3" refY="3" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0L6 3L0 6z" style="fill:#7a8ca5;stroke:none;marker-end:none"/></marker></defs>'
        f'<rect width="{WIDTH}" height="{STEP * len(lines)}" style="fill:#fff;stroke:none"/>'
        + "".join(arrows)
        + "".join(boxes)
        + "</svg>\n"
    )


def write(path: Path) -> None:
    """Write the picture, unless it is already there."""
    picture = svg()
    if not path.exists() or path.read_text(encoding="utf-8") != picture:
        path.write_text(picture, encoding="utf-8")
