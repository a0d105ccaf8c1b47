"""``linsep explore``: writes the explorer as one HTML page, and opens it in a browser."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

from linsep.cli.inputs import check_place
from linsep.cli.options import OUTPUT, Argument, Reading, command
from linsep.declared import Parameter


@command("linsep explore species.csv --target species --out page.html")
def explore(
    data: Annotated[str | None, Argument("File with the points to start from.")] = None,
    out: Annotated[
        str | None,
        Parameter("HTML file to write. [default: a temporary one, which a browser opens]", OUTPUT, "OUT", short="-o"),
    ] = None,
    *,
    reading: Reading,
) -> None:
    """Write a page where you drag points, run the perceptron step by step, and watch the proof.

    The page is one file that computes everything itself: it needs no server and no network, and works from a disk, a
    web server or a phone.
    """
    from linsep.pages.explorer.page import Page, points_of_file

    if out is not None:
        check_place(out, *([data] if data else []))
    points, notes = (None, "") if data is None else points_of_file(data, **reading.options)
    if out is None:
        with tempfile.NamedTemporaryFile(prefix="linsep-explore-", suffix=".html", delete=False) as file:
            out = file.name
        Page(points, note=notes).save(out)
        print(f"linsep explore: {out}")
        webbrowser.open(Path(out).as_uri())
        return
    Page(points, note=notes).save(out)
    print(f"wrote {out}")
