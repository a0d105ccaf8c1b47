"""Writes and reads fewest-errors results as proof documents."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from linsep.prove.check.plain_fewest import errors_claim, meaning_of_errors
from linsep.prove.claims import Separator
from linsep.prove.exact.given_numbers import exact_array

if TYPE_CHECKING:
    from linsep.prove.fewest.results import Fewest

_LONG = 10_000  # bits; Python refuses to write more than 4300 decimal digits


def fewest_to_json(fewest: Fewest) -> dict[str, Any]:
    """Return what a document says about a result, without the data."""
    from linsep.prove.documents import number_written

    W, b = fewest.plane.exactly()
    two = len(fewest.classes) == 2
    content: dict[str, Any] = {
        "kind": fewest.kind,
        "meaning": "",
        "fit_intercept": fewest.fit_intercept,
        "classes": list(fewest.classes),
        "n_features": fewest.n_features,
        "values": fewest.values,
        "lower": fewest.lower,
        "upper": fewest.upper,
        "sample_weight": None if fewest.weights is None else fewest.weights.tolist(),
        "separator": {"w": [[number_written(v) for v in w] for w in W], "b": [number_written(v) for v in b]},
        "wrong": fewest.rows.tolist(),
        "bits": fewest.certificate.bits,
        "refutations": [
            {
                "rows": list(each.rows),
                **({} if two else {"rivals": list(each.rivals)}),
                "multipliers": [_written(value) for value in each.multipliers],
            }
            for each in fewest.certificate.refutations
        ],
        "common": [list(pair) for pair in fewest.certificate.common],
        "tree": _flat(fewest.certificate.tree),
    }
    return content | {"meaning": meaning_of_errors(content)}


def _flat(tree: Any) -> list[dict[str, Any]]:
    """Return the nodes of a tree one after the other, the case that a row is right before the one that it is wrong."""
    found: list[dict[str, Any]] = []
    stack = [tree]
    while stack:
        here = stack.pop()
        if isinstance(here, int):
            found.append({"dead": here})
        elif here and isinstance(here[0], int):
            found.append({"row": here[0]})
            stack += [here[2], here[1]]
        else:
            found.append({"packing": [list(pair) for pair in here]})
    return found


def fewest_from_json(content: dict[str, Any], note: str = "") -> Fewest:
    """Return the result that a document tells; nothing it claims is checked here. Depths are not in it, and NaN."""
    from linsep.prove.fewest.certificates import Combination, Proof
    from linsep.prove.fewest.results import Fewest

    claim, classes = errors_claim(content), tuple(content["classes"])
    numbers = exact_array([value for w in claim["w"] for value in w] + claim["b"])
    W, b = numbers[: -len(claim["b"])].reshape(len(claim["w"]), -1), numbers[-len(claim["b"]) :]
    refutations = (Combination(tuple(r), tuple(c), tuple(m)) for r, c, m in claim["refutations"])
    counted = claim["weights"]
    return Fewest(
        claim["lower"],
        claim["upper"],
        np.array(claim["wrong"], dtype=np.intp),
        np.full(len(claim["wrong"]), np.nan),
        Separator(W[0], b.tolist()[0]) if len(classes) == 2 else Separator(W, b),
        Proof(tuple(refutations), tuple((k, u) for k, u in claim["common"]), claim["tree"], claim["bits"]),
        classes,
        content["n_features"],
        content["fit_intercept"],
        None if counted is None else np.array(counted, dtype=np.int64),
        note,
        content["values"],
    )


def fewest_claim(fewest: Fewest) -> dict[str, Any]:
    """Return what ``plain_fewest`` checks: numbers as numbers."""
    W, b = np.atleast_2d(fewest.plane.w), np.atleast_1d(fewest.plane.b)
    return {
        "classes": len(fewest.classes),
        "fit_intercept": fewest.fit_intercept,
        "weights": None if fewest.weights is None else fewest.weights.tolist(),
        "lower": fewest.lower,
        "upper": fewest.upper,
        "wrong": fewest.rows.tolist(),
        "w": W.tolist(),
        "b": b.tolist(),
        "bits": fewest.certificate.bits,
        "refutations": [
            [list(each.rows), list(each.rivals), list(each.multipliers)] for each in fewest.certificate.refutations
        ],
        "common": [list(pair) for pair in fewest.certificate.common],
        "tree": fewest.certificate.tree,
    }


def fewest_size(fewest: Fewest) -> int:
    """Return how many bytes the certificate takes as a document, about."""
    return len(json.dumps(fewest_to_json(fewest), separators=(",", ":"), default=str))


def _written(value: int) -> str:
    """Return a multiplier, a long one in hexadecimal."""
    return str(Fraction(value)) if abs(value).bit_length() < _LONG else f"{value:#x}"
