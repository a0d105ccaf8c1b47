"""``linsep replay``: makes the model of a served learner from its log alone."""

from __future__ import annotations

import sqlite3
from typing import Annotated, Any

import click

from linsep.cli.inputs import check_place
from linsep.cli.options import OUTPUT, Argument, Screen, command
from linsep.cli.screen import count, facts_table, headline, result
from linsep.declared import Parameter


@command("linsep replay learner --until 1000 --model then.linsep")
def replay(
    data: Annotated[str, Argument("Folder of linsep serve.")],
    until: Annotated[int | None, Parameter("Stop after this example. [default: the last]", OUTPUT, "N", min=0)] = None,
    model: Annotated[str | None, Parameter("File to write the model to.", OUTPUT, "OUT", short="-m")] = None,
    *,
    screen: Screen,
) -> None:
    """Learn a log again, from its first example, and compare the result with the newest snapshot, bit for bit.

    The server may go on meanwhile. Exit code 1 means that the snapshot differs.
    """
    from linsep.models.files import save
    from linsep.models.progressive import replay as again

    check_place(model)
    try:
        learner, columns, compared, same, _ = again(data, until)
    except sqlite3.DatabaseError as error:
        raise ValueError(f"{data}: the log is damaged: {error}") from None
    if model is not None:
        save(learner.saved(columns), model)
    facts = {
        "command": "replay", "data": data, "examples": learner.number, "mistakes": learner.mistakes,
        "snapshot": compared, "same": same if compared is not None else None, "model": model,
    }  # fmt: skip

    def show(console: Any) -> None:
        words = (
            "none to compare"
            if compared is None
            else f"of example {compared:,}, " + ("the same bits" if same else "DIFFERENT")
        )
        lines = {"mistakes": f"{learner.mistakes:,}", "snapshot": words, "model": model or ""}
        console.print(headline(data, f": {count(learner.number, 'example')} learned again"))
        console.print(facts_table(lines))

    result(facts, screen, show)
    if not same:
        raise click.exceptions.Exit(1)
