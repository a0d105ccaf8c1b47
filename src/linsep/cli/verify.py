"""``linsep verify``: does a proof hold for these data."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from linsep.cli.inputs import all_at_once, open_data
from linsep.cli.options import Data, Reading, Screen, grouped
from linsep.cli.screen import headline, result
from linsep.cli.separation import separation_document, verify_separation
from linsep.wording import verdict_meaning


@grouped
def verify(
    proof: Annotated[
        str,
        typer.Argument(metavar="PROOF", help="A file that separate, separation or errors wrote.", show_default=False),
    ],
    data: Data,
    *,
    screen: Screen,
    reading: Reading,
) -> None:
    """Check a proof against the data, in exact arithmetic.

    The exit code is 0 if the proof holds and 1 if it does not hold for these data.
    """
    from linsep.prove.documents import from_json
    from linsep.prove.documents import verify as check

    with open(proof, "rb") as file:
        text = file.read().decode("utf-8", "replace")
    if (content := separation_document(text)) is not None:
        verify_separation(proof, content, data, screen)
    try:
        verdict, written_for = from_json(text)
    except ValueError as error:
        raise ValueError(f"{proof}: {error}") from None
    X, y = all_at_once(open_data(data, reading, screen))
    holds = check(text, X, y)
    claim = f"{verdict.kind}, {_meaning(verdict)}"
    facts = {"command": "verify", "proof": proof, "data": data, "verdict": verdict.kind, "holds": holds}

    def show(console: Any) -> None:
        if holds:
            console.print(headline(f"the proof holds: {claim}"))
        else:
            console.print(headline("the proof does not hold for these data"))
            console.print(
                f"It was written for {written_for.get('n_rows')} rows of {written_for.get('n_features')} features; "
                f"these are {X.shape[0]} of {X.shape[1]}. Some value or label differs, or the order of the rows, or "
                "the proof is wrong."
            )

    result(facts, screen, show)
    raise typer.Exit(0 if holds else 1)


def _meaning(verdict: Any) -> str:
    """Return what a proof claims."""
    if verdict.kind == "fewest-errors":
        return f"at least {verdict.lower:,} and at most {verdict.upper:,} rows are wrong under any plane"
    return verdict_meaning(verdict.kind, verdict.fit_intercept)
