"""``linsep explore``: the page in a browser, served by this machine to itself."""

from __future__ import annotations

import signal
from typing import Annotated

import typer

from linsep.cli.files import Delimiter, Format, Header, Missing, Target, ZeroBased


def explore(
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="File with points to begin with.", show_default=False)
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    target: Target = None,
    form: Format = None,
    delimiter: Delimiter = None,
    header: Header = None,
    zero_based: ZeroBased = None,
    missing: Missing = "error",
) -> None:
    """Drag points, run the perceptron step by step, and watch the proof: a page in the browser.

    The server listens on the loopback address alone and answers only the address it prints, which has a random part.
    It loads nothing from elsewhere. Ctrl-C ends it.
    """
    try:
        from linsep.explore.server import serve
    except ModuleNotFoundError as missing_package:
        raise ModuleNotFoundError(
            f"linsep explore needs {missing_package.name}: pip install 'linsep[explore]'"
        ) from missing_package
    from linsep.explore.asked import Points, Settings

    first = None
    if data is not None:
        options = {"target": target, "format": form, "header": header, "zero_based": zero_based, "missing": missing}
        delimiter = "\t" if delimiter in ("tab", "\\t") else delimiter
        points, said = Points.of_source(data, delimiter=delimiter, **options)
        first = {"points": points.plain(), "settings": Settings().plain(), "said": said}
    # the server ends well by itself when it is interrupted, and then passes the signal on
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        serve(
            first,
            port=port,
            browser=browser,
            told=lambda address: print(f"linsep explore: {address} (Ctrl-C ends it)", flush=True),
        )
    except KeyboardInterrupt:
        print()
