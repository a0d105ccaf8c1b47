"""Checks a linsep proof against a table without linsep: python linsep_check.py PROOF.json DATA.csv.

Several files are one table. It needs Python 3.11 and nothing else, reads CSV text (also .gz), and follows
docs/proof-format.md section by section. The exit code is 0 if the proof holds, 1 if it does not hold for these data,
2 if the document or the data cannot be used.

To see why a verdict ("separable", "quasi", "overlap") is to be believed, read the section "What has to be checked, and
why that suffices": it defines the claims and checks them. "The fewest errors" and "Separation in regression models" are
about two other kinds of proofs, each section about its own; they are left out of a program that was written for another
kind. All other sections turn the document and the table into numbers, and refuse what is not of the form that the page
lays down; ``check`` at the end calls them all.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import struct
import sys
from collections.abc import Sequence
from typing import Any

from linsep.prove.check import plain_fewest, plain_regression  # noqa: F401 (which add their kinds)
from linsep.prove.check.plain import VERDICTS
from linsep.prove.check.plain_document import (
    COMMON,
    KINDS,
    LARGEST,
    Fails,
    Malformed,
    Row,
    form,
    label_text,
    meaning_of,
    require,
    well,
)
from linsep.prove.check.plain_table import fingerprint, nearest, table

# ---------------------------------------------------------------------------------------------------------------
# Versions


def renewed(old: dict[str, Any]) -> dict[str, Any]:
    """Return a document of format 1 in the words of format 2."""
    content = {name: value for name, value in old.items() if name not in ("verdict", "bracket")}
    kind = old.get("verdict") if old.get("verdict") in VERDICTS else None
    content |= {"kind": kind, "values": "binary", "meaning": ""}
    content |= {"made": {"by": "", "time": "", "options": {}, "note": None}}
    if type(refutation := old.get("refutation")) is dict:
        content["refutation"] = {"multipliers" if name == "weights" else name: v for name, v in refutation.items()}
    if type(old.get("data")) is dict:
        content["data"] = {**old["data"], "reading": None}
    return content | ({"meaning": meaning_of(content)} if kind and "fit_intercept" in content else {})


def first_fingerprints(rows: Sequence[Row], codes: Sequence[int], d: int) -> list[str]:
    """Return the hashes of format 1, which took some rows together; large whole numbers were integers or not."""
    hashes = []
    for step, long in ((step, long) for step in (max(1, (1 << 20) // max(1, d)), 4096) for long in (False, True)):
        found = hashlib.sha256(struct.pack(f"<{len(codes)}q", *codes))
        for start in range(0, len(rows), step):
            some = [(i, j, v) for i in range(start, min(len(rows), start + step)) for j, v in enumerate(rows[i]) if v]
            for column in (0, 1):
                found.update(struct.pack(f"<{len(some)}q", *(cell[column] for cell in some)))
            if long and any(abs(nearest(v)) >= 2**53 for _, _, v in some):
                found.update(repr([v.as_integer_ratio() for _, _, v in some]).encode())
            else:
                found.update(struct.pack(f"<{len(some)}d", *(nearest(v) for _, _, v in some)))
        hashes.append(found.hexdigest())
    return hashes


# ---------------------------------------------------------------------------------------------------------------
# The program


def load(text: str) -> dict[str, Any]:
    """Return the content of a document, in the words of format 2; raise Malformed if it is not a proof."""
    well(len(text) <= LARGEST, f"it is longer than {LARGEST} characters")
    try:
        reads: dict[str, Any] = {"parse_int": short, "parse_float": finite, "parse_constant": finite}
        found: Any = json.loads(text, object_pairs_hook=unique, **reads)
        sealed = type(found) is dict and found.get("digest") == digest_of(found)
    except RecursionError:
        raise Malformed("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise Malformed(f"it is not JSON: {error}") from None
    well(sealed, "it has no digest, or was altered: its digest does not fit its content")
    content: dict[str, Any] = renewed(found) if found.get("format") == "linsep proof 1" else found
    kind: Any = content.get("kind")
    well(type(kind) is str and kind in KINDS, f"the kind {str(kind)[:40]!r} is not one that this program checks")
    fields, form_of_kind, *_ = KINDS[kind]
    form(content, COMMON | fields)
    well(len(set(map(label_text, content["classes"]))) == len(content["classes"]), "two classes have the same name")
    well(content["data"]["n_features"] == content["n_features"], "its numbers of features differ")
    well(content["meaning"] == meaning_of(content), "its sentence does not match what it proves")
    form_of_kind(content)
    return content


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, in which no key stands twice."""
    found = dict(pairs)
    well(len(found) == len(pairs), "a key stands twice in an object")
    return found


def short(text: str) -> int:
    """Return a whole number of at most 20 digits."""
    well(len(text) <= 20, "a whole number is too long")
    return int(text)


def finite(text: str) -> float:
    """Return a float that is a number."""
    well(len(text) <= 40 and math.isfinite(float(text)), f"{text[:40]} is not a number")
    return float(text)


def digest_of(content: dict[str, Any]) -> str:
    """Return the digest of a document: of all fields but itself, as JSON with sorted keys and without blanks."""
    rest = {name: value for name, value in content.items() if name != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def check(content: dict[str, Any], rows: Sequence[Row], labels: Sequence[Any]) -> list[str]:
    """Return what has been checked, line by line; raise Fails or Malformed if the proof does not hold."""
    about, d = content["data"], content["n_features"]
    *_, meant, check_kind = KINDS[content["kind"]]
    fits = about["n_rows"] == len(rows) and all(len(row) == d for row in rows)
    require(fits, f"it was written for {about['n_rows']} rows of {d} features, these are {len(rows)}")
    codes: Sequence[Any] = meant(content, labels)
    first = content["format"] == "linsep proof 1"
    known = first_fingerprints(rows, codes, d) if first else [fingerprint(rows, labels)]
    what = "these are not the data it was written for: a value or label differs, or the order of the rows"
    require(about["sha256"] in known, what)
    return ["the fingerprint is that of these data", *check_kind(content, rows, codes)]


def main(arguments: Sequence[str]) -> int:
    """Check a proof; print what was checked."""
    if len(arguments) < 2:
        print(__doc__.splitlines()[0])
        return 2
    try:
        with open(arguments[0], "rb") as file:
            content = load(file.read(LARGEST + 1).decode("utf-8"))
        lines = check(content, *table(content, arguments[1:]))
    except Fails as error:
        print(f"the proof does not hold: {error}")
        return 1
    except (OSError, EOFError, ValueError, csv.Error) as error:
        print(f"not usable: {error}", file=sys.stderr)
        return 2
    print(f"the proof holds: {content['kind']}, {content['meaning']}")
    print(*(f"- {line}" for line in lines), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
