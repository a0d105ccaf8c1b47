"""Writes and reads fewest-errors results as proof documents."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from linsep.prove.check.check_fewest import HEAVIEST
from linsep.prove.check.plain_document import meaning_of, numbers, whole
from linsep.prove.claims import Separator
from linsep.prove.numbers.given import exact_array, number_written

if TYPE_CHECKING:
    from linsep.prove.fewest.results import Fewest


def fewest_to_json(fewest: Fewest) -> dict[str, Any]:
    """Return what a document says about a result, without the data."""
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
                "multipliers": [number_written(Fraction(value)) for value in each.multipliers],
            }
            for each in fewest.certificate.refutations
        ],
        "common": [list(pair) for pair in fewest.certificate.common],
        "tree": _flat(fewest.certificate.tree),
    }
    return content | {"meaning": meaning_of(content)}


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

    classes, plane, wrong = tuple(content["classes"]), content["separator"], content["wrong"]
    table = exact_array([value for texts in (*plane["w"], plane["b"]) for value in numbers(texts)])
    W, b = table[: -len(plane["b"])].reshape(len(plane["w"]), -1), table[-len(plane["b"]) :]
    refutations = []
    for each in content["refutations"]:
        multipliers = whole(numbers(each["multipliers"]))[0]
        refutations.append(Combination(tuple(each["rows"]), tuple(each.get("rivals", ())), tuple(multipliers)))
    counted, common = content["sample_weight"], tuple((k, u) for k, u in content["common"])
    if counted is not None and not sum(counted) < HEAVIEST:
        raise ValueError("its weights add up to 2^53 or more")
    return Fewest(
        content["lower"],
        content["upper"],
        np.array(wrong, dtype=np.intp),
        np.full(len(wrong), np.nan),
        Separator(W[0], b.tolist()[0]) if len(classes) == 2 else Separator(W, b),
        Proof(tuple(refutations), common, _nested(content["tree"]), content["bits"]),
        classes,
        content["n_features"],
        content["fit_intercept"],
        None if counted is None else np.array(counted, dtype=np.int64),
        note,
        content["values"],
    )


def _nested(nodes: list[dict[str, Any]]) -> Any:
    """Return a tree that is written node by node: the number of a refutation, pairs, or ``[row, right, wrong]``."""
    top: list[Any] = [None]
    places = [(top, 0)]  # of the nodes to come
    for node in nodes:
        into, place = places.pop()
        if "row" in node:
            into[place] = [node["row"], None, None]
            places += [(into[place], 2), (into[place], 1)]
        else:
            into[place] = node["dead"] if "dead" in node else node["packing"]
    return top[0]


def fewest_size(fewest: Fewest) -> int:
    """Return how many bytes the certificate takes as a document, about."""
    return len(json.dumps(fewest_to_json(fewest), separators=(",", ":"), default=str))
