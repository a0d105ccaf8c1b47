"""``linsep explore``: the page in a browser, served by this machine to itself."""

from __future__ import annotations

import signal
from typing import Annotated

import typer

from linsep.cli.options import Reading, flag, grouped


@grouped
def explore(
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="File with points to begin with.", show_default=False)
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 0,
    browser: Annotated[bool, flag("--browser/--no-browser", "Open the page in a browser.")] = True,
    *,
    reading: Reading,
) -> None:
    """Drag points, run the perceptron step by step, and watch the proof: a page in the browser.

    The server listens on the loopback address alone and answers only the address it prints, which has a random part.
    It loads nothing from elsewhere. Ctrl-C ends it.
    """
    try:
        from linsep.pages.explorer.server import serve
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"explore needs the package {error.name}: pip install 'linsep[explore]'") from None
    from linsep.pages.explorer.requests import Points, Settings

    first = None
    if data is not None:
        points, said = Points.of_source(data, **reading.given())
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
