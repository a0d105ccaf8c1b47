"""``linsep generate``: writes random data with a known plane, in any format and size."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

import click

from linsep.cli.inputs import check_place
from linsep.cli.options import Argument, Screen, command
from linsep.cli.screen import count, facts_table, headline, meter, result
from linsep.declared import Parameter


@dataclass(frozen=True)
class DataSize:
    """How many points in how many dimensions."""

    n: Annotated[int, Parameter("Number of rows.", short="-n", metavar="N", min=2)] = 1000
    d: Annotated[int, Parameter("Number of features.", short="-d", metavar="D", min=1)] = 10


@dataclass(frozen=True)
class Hidden:
    """The plane that labels the points, and how the points lie around it."""

    margin: Annotated[float, Parameter("Smallest distance of any point from the plane.")] = 0.1
    radius: Annotated[float, Parameter("Largest distance of any point from the origin.")] = 1.0
    offset: Annotated[str | None, Parameter("Offset of the plane. [default: 0]", metavar="NUMBER|random")] = None
    flip: Annotated[float, Parameter("Share of the labels to flip.")] = 0.0
    random_state: Annotated[int, Parameter("Random seed.", metavar="SEED", min=0)] = 0


@command("linsep generate data.csv --n 10000 --d 20 --margin 0.05")
def generate(
    out: Annotated[str, Argument("File to write; - is standard output (CSV).")],
    size: DataSize,
    hidden: Hidden,
    format: Annotated[  # noqa: A002 - the word that users know
        Literal["csv", "tsv", "parquet", "arrow", "libsvm", "npy", "npz"] | None,
        Parameter("Output format. [default: by the ending of OUT]"),
    ] = None,
    *,
    screen: Screen,
) -> None:
    """Write a file of random points, labeled -1 and +1 by a hidden plane.

    The ending of OUT sets the format: .csv, .tsv, .parquet, .arrow, .svm, .npy or .npz; text also with .gz or .zst. The
    features are named x1, x2 and so on; the label y is the last column. The file may be larger than memory.
    """
    from linsep.data import writing
    from linsep.data.plane import lessons

    shape = writing.format_of(out, format)
    if out == "-" and screen.json:
        raise click.BadParameter("--json prints to standard output: write the rows to a file")
    check_place(out)
    with meter("writing", screen) as watching:
        drawn = lessons(size.n, size.d, **asdict(hidden) | {"offset": _offset(hidden.offset)})
        first = next(drawn)  # bad numbers are refused before a file is begun
        with writing.rows(out, shape, size.n, size.d) as put:
            X, y, plane = first
            while True:
                put(X, y)
                watching.rows += len(X)
                watching.show(watching.rows, size.n)
                following = next(drawn, None)
                if following is None:
                    break
                X, y, _ = following
    margin, radius = hidden.margin, hidden.radius
    facts = {
        "command": "generate",
        "out": out,
        "format": shape,
        "rows": size.n,
        "features": size.d,
        "margin": margin,
        "radius": radius,
        "w": plane.w,
        "b": plane.b,
        "mistake_bound": (radius / margin) ** 2 if margin > 0 and plane.b == 0 and hidden.flip == 0 else None,
        "seconds": watching.seconds,
    }

    def show(console: Any) -> None:
        console.print(headline(out))
        console.print(facts_table(_lines(facts)))

    result(facts, replace(screen, quiet=screen.quiet or out == "-"), show)


def _lines(facts: dict[str, Any]) -> dict[str, str]:
    b = facts["b"]
    lines = {
        "rows": f"{facts['rows']:,} of {count(facts['features'], 'feature')}",
        "plane": f"{_vector(facts['w'])}·x {'+' if b >= 0 else '-'} {abs(b):.4g} = 0",
        "margin": f"{facts['margin']:g}: no point is nearer to this plane; radius R {facts['radius']:g}",
    }
    if facts["mistake_bound"]:
        lines["bound"] = f"(R/γ)² = {facts['mistake_bound']:.6g} mistakes at most, for a perceptron without offset"
    return lines


def _offset(text: str | None) -> float | bool:
    """Return the offset that was asked for: 0 for none, True for a random one."""
    if text is None or text == "random":
        return text is not None
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"--offset takes a number or random, got {text!r}") from None


def _vector(w: Any) -> str:
    """Return a vector as on a blackboard, the middle of a long one left out."""
    numbers = [f"{value:.3g}" for value in w.tolist()]
    return "(" + ", ".join(numbers if len(numbers) <= 6 else [*numbers[:4], "…", numbers[-1]]) + ")"
