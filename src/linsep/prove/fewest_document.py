"""A fewest-errors result as plain data for JSON, and back."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from linsep.prove import linsep_check
from linsep.prove.certificates import Combination, Proof
from linsep.prove.claims import Separator

if TYPE_CHECKING:
    from linsep.prove.fewest import Fewest

_PLAIN = 1 << 53  # larger integers are written as hexadecimal text: other languages read numbers as floats


def fewest_to_json(fewest: Fewest) -> dict[str, Any]:
    """Return the claim and its evidence as plain data.

    ``refutations`` is a list of ``[rows, multipliers]``, or ``[rows, multipliers, rivals]`` for more than two classes;
    integers from ``2**53`` on are hexadecimal texts. ``tree`` is as in ``Proof``.
    """
    W, b = np.atleast_2d(fewest.plane.w), np.atleast_1d(fewest.plane.b)
    two = len(fewest.classes) == 2
    content = {
        "kind": "fewest-errors",
        "lower": fewest.lower,
        "upper": fewest.upper,
        "wrong": fewest.rows.tolist(),
        "depths": [float(depth).hex() for depth in fewest.depths.tolist()],
        "separator": {
            "w": [[_number(value) for value in row] for row in W.tolist()],
            "b": [_number(value) for value in b.tolist()],
        },
        "classes": list(fewest.classes),
        "n_features": fewest.n_features,
        "fit_intercept": fewest.fit_intercept,
        "weights": None if fewest.weights is None else fewest.weights.tolist(),
        "bits": fewest.certificate.bits,
        "refutations": [
            [list(each.rows), [_integer(value) for value in each.multipliers], *([] if two else [list(each.rivals)])]
            for each in fewest.certificate.refutations
        ],
        "common": [list(pair) for pair in fewest.certificate.common],
        "tree": fewest.certificate.tree,
    }
    if fewest.note:
        content["note"] = fewest.note
    return content


def fewest_from_json(content: dict[str, Any]) -> Fewest:
    """Return the result that plain data are; nothing it claims is checked here.

    Raises KeyError, TypeError, ValueError or IndexError if they are none.
    """
    from linsep.prove.fewest import Fewest

    if content["kind"] != "fewest-errors":
        raise ValueError(f"the kind is {content['kind']!r}, not 'fewest-errors'")
    classes = tuple(content["classes"])
    plane, weights = content["separator"], content["weights"]
    numbers = [_read(text) for row in plane["w"] for text in row] + [_read(text) for text in plane["b"]]
    if any(isinstance(number, Fraction) for number in numbers):
        table = np.array([Fraction(number) for number in numbers], dtype=object)
    else:
        table = np.array(numbers, dtype=np.float64)
    W = table[: len(numbers) - len(plane["b"])].reshape(len(plane["w"]), -1)
    b = table[len(numbers) - len(plane["b"]) :]
    refutations = []
    for parts in content["refutations"]:
        rows, multipliers = tuple(int(i) for i in parts[0]), tuple(_whole(value) for value in parts[1])
        rivals = tuple(int(c) for c in parts[2]) if len(parts) > 2 else ()
        refutations.append(Combination(rows, rivals, multipliers))
    proof = Proof(
        tuple(refutations), tuple((int(k), int(u)) for k, u in content["common"]), content["tree"], int(content["bits"])
    )
    return Fewest(
        int(content["lower"]),
        int(content["upper"]),
        np.array(content["wrong"], dtype=np.intp),
        np.array([float.fromhex(text) for text in content["depths"]]),
        Separator(W[0], b.tolist()[0]) if len(classes) == 2 else Separator(W, b),
        proof,
        classes,
        int(content["n_features"]),
        bool(content["fit_intercept"]),
        None if weights is None else np.array(weights, dtype=np.int64),
        str(content.get("note", "")),
    )


def fewest_written(fewest: Fewest, X: Any, y: Any) -> str:
    """Return the document of a proof about these data."""
    from linsep.prove.checking import table_of

    found = table_of(X, y, fewest.classes)
    if found is None or found.X.shape[1] != fewest.n_features:
        raise ValueError("these are not the data of the result: labels or numbers of features differ")
    content = {"format": "linsep proof 2", **fewest_to_json(fewest), "data": found.fingerprint("binary")}
    content["digest"] = linsep_check.digest_of(content)
    return json.dumps(content, separators=(",", ":"), allow_nan=False) + "\n"


def fewest_opened(text: str) -> tuple[Fewest, dict[str, Any]] | None:
    """Return the result in a document and the fingerprint of its data, None if the document is of another kind."""
    if '"fewest-errors"' not in text:
        return None
    try:
        content = json.loads(text, object_pairs_hook=linsep_check.unique)
        if content.get("kind") != "fewest-errors":
            return None
        if content.get("format") != "linsep proof 2" or content.get("digest") != linsep_check.digest_of(content):
            raise ValueError("it was altered: its digest does not fit its content")
        return fewest_from_json(content), content["data"]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"this is not a valid proof: {error}") from None


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


def _number(value: Any) -> str:
    """Return a float in hexadecimal or a fraction as ``p/q``."""
    if not isinstance(value, Fraction):
        return float(value).hex()
    if max(abs(value.numerator), value.denominator).bit_length() < 10_000:
        return str(value)
    return f"{value.numerator:#x}/{value.denominator:#x}"


def _read(text: str) -> float | Fraction:
    if "p" in text or "inf" in text or "nan" in text:
        return float.fromhex(text)
    if "x" in text:
        return Fraction(*(int(part, 16) for part in text.split("/")))
    return Fraction(text)


def _integer(value: int) -> int | str:
    return value if abs(value) < _PLAIN else f"{value:#x}"


def _whole(value: Any) -> int:
    if isinstance(value, str):
        return int(value, 16)
    if type(value) is not int:
        raise ValueError(f"a multiplier must be an integer, got {value!r}")
    return value
