"""Writes and reads proofs as JSON documents; docs/proof-format.md defines the fields.

Numbers are exact: whole numbers, fractions and short decimals as they are, other floats in hexadecimal. The document
carries a digest of its own content, so that no digit can change unnoticed, and a fingerprint of the data, which
depends on their values alone and not on their storage. Neither replaces the check of the proof.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import numpy as np

from linsep.prove.check import linsep_check
from linsep.prove.check.plain_document import ENCODINGS, KIND, label_text, meaning_of, numbers
from linsep.prove.claims import Refutation, Separator, Verdict
from linsep.prove.fewest.certificates import fewest_from_json, fewest_to_json
from linsep.prove.numbers.given import exact_array, number_written

FORMAT = "linsep proof 1"
_CUT = "lower bound"  # an option of a document: where the proof of a lower bound was cut short


def written(
    verdict: Any, about: dict[str, Any], *, note: str | None = None, options: dict[str, str] | None = None
) -> str:
    """Return a verdict with its proof as a JSON document about data with this fingerprint."""
    from linsep import __version__

    if verdict.kind not in linsep_check.KINDS:
        raise ValueError(f"the verdict {verdict.kind!r} has no proof to write")
    made = {
        "by": f"linsep {__version__}",
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "options": (options or {}) | ({_CUT: verdict.note} if getattr(verdict, "note", "") else {}),
        "note": note,
    }
    check_reading(about.get("reading"))
    content = {"format": FORMAT, **claim_of(verdict), "data": {"reading": None, **about}, "made": made}
    if len({label_text(label) for label in verdict.classes}) < len(verdict.classes):
        raise ValueError("two classes are spelled the same: a proof file cannot tell them apart")
    content["digest"] = linsep_check.digest_of(content)
    return laid_out(content)


def check_reading(reading: dict[str, Any] | None) -> None:
    """Refuse a way of reading a text that documents have no words for: checkers know a closed list."""
    if reading is None:
        return
    if reading["encoding"] not in ENCODINGS:
        known = "UTF-8, UTF-16, Latin-1 or cp1252"
        raise ValueError(
            f"a proof can be about a text in {known}, not {reading['encoding']}: convert the file to UTF-8"
        )
    for column in (factor for part in reading["columns"] for factor in part.get("product", [part])):
        if not KIND.fullmatch(column.get("kind", "number")):
            raise ValueError(
                f"a proof has no word for how column {column['column']!r} is written ({column['kind']}): write its "
                "dates as 2024-12-31, its numbers without signs between thousands, or leave it out"
            )


def laid_out(content: dict[str, Any]) -> str:
    """Return JSON with a line for each field."""
    lines = (f" {json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in content.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def claim_of(verdict: Any) -> dict[str, Any]:
    """Return what a document says about a verdict, without the data; it counts the rows that are not dropped."""
    verdict = verdict.among_kept()
    if verdict.kind == "fewest-errors":
        return fewest_to_json(verdict)
    plane, refutation = verdict.separator, verdict.refutation
    claim: dict[str, Any] = {
        "kind": verdict.kind,
        "meaning": "",
        "fit_intercept": verdict.fit_intercept,
        "classes": list(verdict.classes),
        "n_features": verdict.n_features,
        "values": verdict.values,
        "separator": None,
        "refutation": None,
    }
    if plane is not None:
        W, b = plane.exactly()
        claim["separator"] = {"w": [[number_written(v) for v in w] for w in W], "b": [number_written(v) for v in b]}
    if refutation is not None:
        claim["refutation"] = {
            "rows": refutation.rows.tolist(),
            "rivals": refutation.rivals.tolist(),
            "multipliers": [number_written(value) for value in refutation.multipliers],
        }
    return claim | {"meaning": meaning_of(claim)}


def opened(text: str) -> tuple[Any, dict[str, Any]]:
    """Return the verdict in a document, and all of its content."""
    try:
        content = linsep_check.load(text)
        if content["kind"] == "fewest-errors":
            return fewest_from_json(content, content["made"]["options"].get(_CUT, "")), content
        classes = content["classes"]
        plane, refutation = content["separator"], content["refutation"]
        verdict = Verdict(
            content["kind"],
            None if plane is None else _plane(plane, len(classes)),
            None if refutation is None else _refutation(refutation),
            tuple(classes),
            content["n_features"],
            content["fit_intercept"],
            (-math.inf, math.inf),
            content["values"],
        )
    except ValueError as error:
        raise ValueError(f"this is not a valid proof: {error}") from None
    return verdict, content


def _plane(plane: dict[str, Any], classes: int) -> Separator:
    W, b = plane["w"], plane["b"]
    table = exact_array([value for texts in (*W, b) for value in numbers(texts)])
    w, c = table[: -len(b)].reshape(len(W), -1), table[-len(b) :]
    return Separator(w[0], c.tolist()[0]) if classes == 2 else Separator(w, c)


def _refutation(parts: dict[str, Any]) -> Refutation:
    return Refutation(
        np.array(parts["rows"], dtype=np.intp),
        tuple(numbers(parts["multipliers"])),
        np.array(parts["rivals"], dtype=np.intp),
    )
