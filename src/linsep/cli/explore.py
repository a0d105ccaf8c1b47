"""``linsep explore``: serves the explorer page to a browser on this machine."""

from __future__ import annotations

import signal
from typing import Annotated

from linsep.cli.options import Argument, Reading, command
from linsep.declared import Parameter


@command("linsep explore species.csv --target species")
def explore(
    data: Annotated[str | None, Argument("File with the points to start from.")] = None,
    port: Annotated[int, Parameter("Port to listen on; 0 picks a free one.", metavar="PORT", min=0, max=65535)] = 0,
    browser: Annotated[bool, Parameter("Open the page in a browser.")] = True,
    *,
    reading: Reading,
) -> None:
    """Open a page in the browser where you drag points, run the perceptron step by step, and watch the proof.

    The server listens on this machine only and answers only at the address it prints, which has a random part. The page
    loads nothing from the network. Press Ctrl-C to stop the server.
    """
    try:
        from linsep.pages.explorer.server import serve
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"explore needs the package {error.name}: pip install 'linsep[explore]'") from None
    from linsep.pages.explorer.requests import Points, Settings

    first = None
    if data is not None:
        points, notes = Points.of_source(data, **reading.given)
        first = {"points": points.plain(), "settings": Settings().plain(), "said": notes}
    # the server ends well by itself when it is interrupted, and then passes the signal on
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        serve(
            first,
            port=port,
            browser=browser,
            told=lambda address: print(f"linsep explore: {address} (press Ctrl-C to stop)", flush=True),
        )
    except KeyboardInterrupt:
        print()
