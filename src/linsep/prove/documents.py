"""Writes and reads proofs as JSON documents; docs/proof-format.md defines the fields.

Numbers are exact: whole numbers, fractions and short decimals as they are, other floats in hexadecimal. The document
carries a digest of its own content, so that no digit can change unnoticed, and a fingerprint of the data, which
depends on their values alone and not on their storage. Neither replaces the check of the proof.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import numpy as np

from linsep.errors import DataError
from linsep.prove.check import linsep_check
from linsep.prove.check.check_fewest import HEAVIEST
from linsep.prove.check.linsep_check import ENCODINGS, KIND, LARGEST, label_text, meaning_of, numbers, whole
from linsep.prove.claims import Claim, Refutation, Separator
from linsep.prove.fewest.certificates import Combination, ErrorsClaim, Proof
from linsep.prove.numbers.cells import exact_plane
from linsep.prove.numbers.exact_numbers import number_written

_CUT = "lower bound"  # an option of a document: where the proof of a lower bound was cut short


def written(
    verdict: Any, about: dict[str, Any], *, note: str | None = None, options: dict[str, str] | None = None
) -> str:
    """Return a verdict with its proof as a JSON document about data with this fingerprint."""
    if verdict.kind not in linsep_check.KINDS:
        raise ValueError(f"the verdict {verdict.kind!r} has no proof to write")
    if len({label_text(label) for label in verdict.classes}) < len(verdict.classes):
        raise ValueError("two classes are spelled the same: a proof file cannot tell them apart")
    options = (options or {}) | ({_CUT: verdict.note} if getattr(verdict, "note", "") else {})
    return sealed(claim_of(verdict), {"reading": None, **about}, options, note)


def sealed(claim: dict[str, Any], about: dict[str, Any], options: dict[str, str], note: str | None) -> str:
    """Return a claim as a document about data, with its digest: a line for each field."""
    from linsep import __version__

    _refuse_reading(about["reading"])
    time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    made = {"by": f"linsep {__version__}", "time": time, "options": options, "note": note}
    content = {"format": "linsep proof 1", **claim, "data": about, "made": made}
    content["digest"] = linsep_check.digest_of(content)
    lines = (f" {json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in content.items())
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    if claim["kind"] == "separation" and len(text) > LARGEST:
        raise DataError("", f"the proof takes {len(text):,} characters, more than {LARGEST:,}: list fewer coefficients")
    return text


def _refuse_reading(reading: dict[str, Any] | None) -> None:
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


def claim_of(verdict: Any) -> dict[str, Any]:
    """Return what a document says about a verdict, without the data; it counts the rows that are not dropped."""
    verdict = verdict.among_kept()
    claim: dict[str, Any] = {
        "kind": verdict.kind,
        "meaning": "",
        "fit_intercept": verdict.fit_intercept,
        "classes": list(verdict.classes),
        "n_features": verdict.n_features,
        "values": verdict.values,
    }
    if isinstance(verdict, Claim):
        plane, refutation = verdict.separator, verdict.refutation
        claim["separator"] = None if plane is None else _plane_written(plane)
        claim["refutation"] = refutation and {
            "rows": refutation.rows.tolist(),
            "rivals": refutation.rivals.tolist(),
            "multipliers": numbers_written(refutation.multipliers),
        }
    else:
        proof = verdict.certificate
        claim |= {
            "lower": verdict.lower,
            "upper": verdict.upper,
            "sample_weight": None if verdict.weights is None else verdict.weights.tolist(),
            "separator": _plane_written(verdict.plane),
            "wrong": verdict.rows.tolist(),
            "bits": proof.bits,
            "refutations": [
                {"rows": list(each.rows), "multipliers": numbers_written(each.multipliers)}
                | ({"rivals": list(each.rivals)} if len(verdict.classes) > 2 else {})
                for each in proof.refutations
            ],
            "common": [list(pair) for pair in proof.common],
            "tree": proof.tree,
        }
    return claim | {"meaning": meaning_of(claim)}


def numbers_written(values: Iterable[Any]) -> list[str]:
    """Return exact numbers as texts that read back as they are."""
    return [number_written(value) for value in values]


def _plane_written(plane: Separator) -> dict[str, Any]:
    W, b = plane.exactly()
    return {"w": [numbers_written(w) for w in W], "b": numbers_written(b)}


def checker_program() -> str:
    """Return the text of the plain check, which is a program that needs Python alone."""
    return inspect.getsource(linsep_check)


def opened(text: str) -> tuple[Any, dict[str, Any]]:
    """Return the verdict in a document, None of a separation, and all of its content; nothing it claims is checked."""
    try:
        content = linsep_check.load(text)
        read = {"separation": lambda _: None, "fewest-errors": fewest_from}.get(content["kind"], _verdict_from)
        return read(content), content
    except ValueError as error:
        raise ValueError(f"this is not a valid proof: {error}") from None


def _verdict_from(content: dict[str, Any]) -> Claim:
    plane, parts, refutation = content["separator"], content["refutation"], None
    if parts is not None:
        rows, rivals = (np.array(parts[name], dtype=np.intp) for name in ("rows", "rivals"))
        refutation = Refutation(rows, tuple(numbers(parts["multipliers"])), rivals)
    return Claim(
        content["kind"],
        None if plane is None else _plane_from(content),
        refutation,
        tuple(content["classes"]),
        content["n_features"],
        content["fit_intercept"],
        (-math.inf, math.inf),
        content["values"],
    )


def fewest_from(content: dict[str, Any]) -> Any:
    """Return the result about the fewest errors that a document tells; depths are not in it, and NaN."""
    refutations = []
    for each in content["refutations"]:
        multipliers = whole(numbers(each["multipliers"]))[0]
        refutations.append(Combination(tuple(each["rows"]), tuple(each.get("rivals", ())), tuple(multipliers)))
    wrong, weights, common = content["wrong"], content["sample_weight"], tuple((k, u) for k, u in content["common"])
    if weights is not None and not sum(weights) < HEAVIEST:
        raise ValueError("its weights add up to 2^53 or more")
    return ErrorsClaim(
        content["lower"],
        content["upper"],
        np.array(wrong, dtype=np.intp),
        np.full(len(wrong), np.nan),
        _plane_from(content),
        Proof(tuple(refutations), common, content["tree"], content["bits"]),
        tuple(content["classes"]),
        content["n_features"],
        content["fit_intercept"],
        None if weights is None else np.array(weights, dtype=np.int64),
        content.get("made", {}).get("options", {}).get(_CUT, ""),
        content["values"],
    )


def _plane_from(content: dict[str, Any]) -> Separator:
    plane = content["separator"]
    W, b = [numbers(w) for w in plane["w"]], numbers(plane["b"])
    return exact_plane(W, b, 1 if len(content["classes"]) == 2 else 2)
