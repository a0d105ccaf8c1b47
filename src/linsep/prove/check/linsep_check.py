"""Checks a linsep proof against a table without linsep: python linsep_check.py PROOF.json DATA.csv.

Several files are one table. It needs Python 3.11 and nothing else, reads CSV text (also .gz), and follows
docs/proof-format.md section by section. The exit code is 0 if the proof holds, 1 if it does not hold for these data,
2 if the document or the data cannot be used.

To see why a proof is to be believed, read part 3, the four facts, then the part of its kind: 4 for verdicts, 5 for the
fewest errors, 6 for separation in regression models. They define the claims and say which facts each needs. The other
parts turn the document and the table into numbers, and refuse what is not of the form that the page lays down.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from linsep.prove.check.plain import VERDICT, check_verdict, form_of_verdict
from linsep.prove.check.plain_document import (
    COMMON,
    LARGEST,
    Exact,
    Fails,
    Malformed,
    class_numbers,
    form,
    label_text,
    meaning_of,
    require,
    well,
)  # fmt: skip
from linsep.prove.check.plain_fewest import ERRORS, check_errors, form_of_errors
from linsep.prove.check.plain_regression import SEPARATION, answers, check_separation, form_of_separation
from linsep.prove.check.plain_table import fingerprint, table

VERDICTS = ("separable", "quasi", "overlap", "not-separable")
KINDS: dict[str, tuple[Any, ...]] = {  # by kind: its own fields, whether all go together, the check
    **dict.fromkeys(VERDICTS, (VERDICT, form_of_verdict, check_verdict)),
    "fewest-errors": (ERRORS, form_of_errors, check_errors),
    "separation": (SEPARATION, form_of_separation, check_separation),
}


def load(text: str) -> dict[str, Any]:
    """Return the content of a document; raise Malformed if it is not a proof."""
    well(len(text) <= LARGEST, f"it is longer than {LARGEST} characters")
    try:
        real = partial(numeral, kind=float, most=40)
        hooks: dict[str, Any] = {"parse_int": numeral, "parse_float": real, "parse_constant": real}
        found: Any = json.loads(text, object_pairs_hook=unique, **hooks)
        sealed = type(found) is dict and found.get("digest") == digest_of(found)
    except RecursionError:
        raise Malformed("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise Malformed(f"it is not JSON: {error}") from None
    well(sealed, "it has no digest, or was altered: its digest does not fit its content")
    content: dict[str, Any] = found
    kind = str(content.get("kind"))
    well(kind in KINDS, f"the kind {kind[:40]!r} is not one that this program checks")
    fields, form_of_kind, _ = KINDS[kind]
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


def numeral(text: str, kind: type = int, most: int = 20) -> Any:
    """Return a number of the document that is none of the proof: whole ones have at most 20 digits, none is NaN."""
    well(len(text) <= most and math.isfinite(value := kind(text)), f"{text[:40]} is too long, or not a number")
    return value


def digest_of(content: dict[str, Any]) -> str:
    """Return the digest of a document: of all fields but itself, as JSON with sorted keys and without blanks."""
    rest = {name: value for name, value in content.items() if name != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def check(content: dict[str, Any], rows: Sequence[Exact], labels: Sequence[Any]) -> list[str]:
    """Return what has been checked, line by line; raise Fails or Malformed if the proof does not hold."""
    about, d = content["data"], content["n_features"]
    fits = about["n_rows"] == len(rows) and all(len(row) == d for row, _ in rows)
    require(fits, f"it was written for {about['n_rows']} rows of {d} features, these are {len(rows)}")
    model = content["kind"] == "separation"
    response: Sequence[Any] = answers(content, labels) if model else class_numbers(labels, content["classes"])
    what = "these are not the data it was written for: a value or label differs, or the order of the rows"
    require(about["sha256"] == fingerprint(rows, labels), what)
    return ["the fingerprint is that of these data", *KINDS[content["kind"]][-1](content, rows, response)]


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
