"""The proof that a run of ``linsep fit`` found: its line in the report, and its file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from linsep.cli.inputs import named_rows
from linsep.wording import refuted_words

if TYPE_CHECKING:
    from linsep.data.source import Source


def said_of_proof(learner: Any) -> str:
    """Return what was proved, and the next step to take, in one line."""
    found = learner.refutation_
    said = refuted_words(len(found.rows), learner.keep, found.machine)
    return (said[0].upper() + said[1:]).replace("keep='average'", "--keep average") + "."


def proof_facts(learner: Any, source: Source, path: str | None) -> dict[str, Any]:
    """Return what is to be told of the proof, if there is one."""
    found = getattr(learner, "refutation_", None)
    work = float(sum(getattr(learner, "history_", {}).get("proof_work", ())))
    if found is None:
        return {"refutation": None, "proof_work": work, "proof": None}
    labels = list(found.classes) if found.machine is None else [False, True]
    from linsep.prove.documents import claim_of

    numbers = claim_of(found.verdict())["refutation"]["multipliers"]
    parts = zip(named_rows(source, found.dropped.among_kept(found.rows)), found.rivals.tolist(), numbers, strict=True)
    listed = [{**row.facts(), "against": labels[rival], "multiplier": number} for row, rival, number in parts]
    return {"refutation": listed, "proof_work": work, "proof": path if found.machine is None else None}


def proof_line(facts: dict[str, Any], asked: str | None) -> str:
    """Return where the proof is, and how to check it; why there is none, if it was asked for."""
    if facts["proof"] is None:
        why = "the run found none" if facts["refutation"] is None else "one class against the rest has no format"
        return f"not written: {why}" if asked is not None else ""
    return f"{facts['proof']}; check it with: linsep verify {facts['proof']} {' '.join(facts['data'])}"


def write_proof(learner: Any, source: Source, path: str | None) -> None:
    """Write the proof in one step, if it is asked for and there is one; one machine of several has no format."""
    found = getattr(learner, "refutation_", None)
    if path is None or found is None or found.machine is not None:
        return
    from linsep.data.atomic import replacing
    from linsep.prove.documents import written
    from linsep.prove.numbers.text import fingerprint_of, reading_of

    verdict = found.verdict()
    about = fingerprint_of(source, verdict)
    files = [os.path.basename(file.name) for file in source.files]
    options = {"command": "fit", "fit_intercept": str(verdict.fit_intercept)}
    text = written(verdict, {**about, "files": files, "reading": reading_of(source)}, options=options)
    with replacing(path) as file:
        file.write(text.encode())
