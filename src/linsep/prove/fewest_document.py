"""A fewest-errors result as the content of a proof document, and back; docs/proof-format.md has the fields."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from linsep.prove.certificates import Combination, Proof
from linsep.prove.plain_fewest import FEWEST_MEANING, multiplier, natural

if TYPE_CHECKING:
    from linsep.prove.fewest import Fewest

_PLAIN = 1 << 53  # larger integers are written as hexadecimal text: other languages read numbers as floats


def fewest_claim(fewest: Fewest) -> dict[str, Any]:
    """Return what a document says about a result, without the data."""
    from linsep.prove.documents import plane_written

    through = "" if fewest.fit_intercept else " through the origin"
    proof, two = fewest.certificate, len(fewest.classes) == 2
    return {
        "kind": fewest.kind,
        "meaning": FEWEST_MEANING.format(through, lower=fewest.lower, upper=fewest.upper),
        "fit_intercept": fewest.fit_intercept,
        "classes": list(fewest.classes),
        "n_features": fewest.n_features,
        "values": fewest.values,
        "lower": fewest.lower,
        "upper": fewest.upper,
        "wrong": fewest.rows.tolist(),
        "weights": None if fewest.weights is None else fewest.weights.tolist(),
        "separator": plane_written(fewest.plane),
        "refutations": [
            [list(each.rows), *([] if two else [list(each.rivals)]), [_integer(value) for value in each.multipliers]]
            for each in proof.refutations
        ],
        "common": [list(pair) for pair in proof.common],
        "tree": proof.tree,
    }


def fewest_from(content: dict[str, Any]) -> Fewest:
    """Return the result that the content of a document is; nothing it claims is checked here."""
    from linsep.prove.documents import plane_from
    from linsep.prove.fewest import Fewest

    classes, two = tuple(content["classes"]), len(content["classes"]) == 2
    refutations = []
    for parts in content["refutations"]:
        if len(parts) != 3 - two:
            raise ValueError("a refutation has not the parts that it must have")
        multipliers = tuple(multiplier(value) for value in parts[-1])
        refutations.append(Combination(tuple(parts[0]), () if two else tuple(parts[1]), multipliers))
    common = tuple((natural(k), natural(units)) for k, units in content["common"])
    rows = np.array(content["wrong"], dtype=np.intp)
    weights = content["weights"]
    return Fewest(
        content["lower"],
        content["upper"],
        rows,
        np.full(len(rows), np.nan),
        plane_from(content["separator"], len(classes), content["n_features"]),
        Proof(tuple(refutations), common, content["tree"]),
        classes,
        content["n_features"],
        content["fit_intercept"],
        None if weights is None else np.array(weights, dtype=np.int64),
        content["made"]["note"] or "",
        content["values"],
    )


def fewest_size(fewest: Fewest) -> int:
    """Return how many bytes the certificate takes as a document, about."""
    return len(json.dumps(fewest_claim(fewest), default=str))


def _integer(value: int) -> int | str:
    return value if abs(value) < _PLAIN else f"{value:#x}"
