"""Writes and reads proofs as JSON documents; docs/proof-format.md defines the fields.

Numbers are exact: whole numbers, fractions and short decimals as they are, other floats in hexadecimal. The document
carries a digest of its own content, so that no digit can change unnoticed, and a fingerprint of the data, which
depends on their values alone and not on their storage. Neither replaces the check of the proof.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np

from linsep.prove.check import linsep_check
from linsep.prove.check.plain_document import ENCODINGS, KIND, label_text, meaning_of, numbers
from linsep.prove.claims import Refutation, Separator, Verdict
from linsep.prove.exact.given_numbers import exact_array, is_float
from linsep.prove.fewest.document import fewest_from_json, fewest_to_json

FORMAT = "linsep proof 1"
_LONG = 128  # binary digits, from which on hexadecimal ones are shorter, and nobody reads them anyway
_CUT = "lower bound"  # an option of a document: where the proof of a lower bound was cut short


def to_json(verdict: Any, X: Any, y: Any, *, note: str | None = None, short: bool = True) -> str:
    """Return a verdict with its proof as a JSON document about these data.

    Parameters
    ----------
    verdict : Verdict or Fewest
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
    note : str, optional
        Your own remark, kept in the document.
    short : bool, default=True
        Round the weights of a plane to as few digits as still prove the verdict.

    Returns
    -------
    text : str

    Examples
    --------
    >>> import json, linsep
    >>> X, y = [[0.0], [1.0], [1.0]], ["no", "no", "yes"]
    >>> text = linsep.to_json(linsep.separate(X, y), X, y)
    >>> json.loads(text)["kind"], json.loads(text)["refutation"]["multipliers"]
    ('quasi', ['1', '1'])
    """
    if hasattr(verdict, "to_json"):  # a separation, which has its data
        if not verdict.check(X, y):
            raise ValueError("these are not the data that the result is about")
        return str(verdict.to_json(note=note))
    verdict, about = about_data(verdict, X, y, short=short)
    return written(verdict, about, note=note)


def about_data(verdict: Any, X: Any, y: Any, *, short: bool = True) -> tuple[Any, dict[str, Any]]:
    """Return a verdict, perhaps with a shorter proof, and the fingerprint of the data that it is about."""
    from linsep.prove.checking import shortened, table_of

    verdict = verdict.among_kept()
    found = table_of(X, y, verdict.classes)
    if found is None or found.X.shape[1] != verdict.n_features:
        raise ValueError("these are not the data of the verdict: the labels or the number of features differ")
    for label in verdict.classes:
        _plain(label)
    return shortened(verdict, found) if short else verdict, found.fingerprint(verdict.values)


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


def from_json(text: str) -> tuple[Any, dict[str, Any]]:
    """Return the verdict in a document and the fingerprint of its data, without checking the proof.

    Parameters
    ----------
    text : str

    Returns
    -------
    verdict : Verdict or Fewest
    fingerprint : dict

    Raises
    ------
    ValueError
        If the text is not a proof, or was changed after it was written.

    Examples
    --------
    >>> import linsep
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 0, 1]
    >>> verdict, fingerprint = linsep.from_json(linsep.to_json(linsep.separate(X, y), X, y))
    >>> verdict.kind, fingerprint["n_rows"]
    ('separable', 3)
    """
    from linsep.prove.regression.documents import separation_opened

    if (content := separation_opened(text)) is not None:
        raise ValueError(f"a proof of separation ({content['claim']}) can be checked with verify, but not loaded")
    verdict, content = opened(text)
    return verdict, {name: content["data"][name] for name in ("n_rows", "n_features", "sha256")}


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


def _plain(label: Any) -> None:
    """Refuse a label that JSON cannot hold."""
    if not (isinstance(label, str | bool | int) or (isinstance(label, float) and math.isfinite(label))):
        raise ValueError(f"a proof file can hold labels that are text or numbers, not {label!r}")


def number_written(value: Fraction) -> str:
    """Return a number so that it reads back exactly: as a short decimal, a float in hexadecimal, or a fraction."""
    p, q = value.as_integer_ratio()
    if q == 1 and abs(p) < 10**17:
        return str(p)
    places = next((k for k in range(1, 13) if 10**k % q == 0), None)
    if places is not None and abs(p) * 10**places < 10**16 * q:
        digits = f"{abs(p) * (10**places // q):0{places + 1}d}"
        return f"{'-' * (p < 0)}{digits[:-places]}.{digits[-places:]}"
    if is_float(value):
        return float(value).hex()
    if max(abs(p), q).bit_length() < _LONG:
        return str(value)
    return f"{p:#x}" if q == 1 else f"{p:#x}/{q:#x}"
