"""A certificate of kind ``separation`` as plain data for a JSON document, and back."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from linsep.problem import Array
from linsep.prove.plain_regression import number

_LONG = 10_000  # bits; Python refuses to write more than 4300 decimal digits
_KEYS = {
    "kind": str, "claim": str, "family": str, "values": str, "fit_intercept": bool, "alias": str, "names": list,
    "n_rows": int, "n_constraints": int, "columns": list, "independent": list, "aliased": list, "direction": list,
    "separated": list, "rest": dict, "coefficients": list,
}  # fmt: skip


def written(value: Fraction | int) -> str:
    """Return a number as a text that reads back exactly."""
    value = Fraction(value)
    if max(abs(value.numerator), value.denominator).bit_length() < _LONG:
        return str(value)
    return f"{value.numerator:#x}/{value.denominator:#x}"


def certificate(result: Any) -> dict[str, Any]:
    """Return what a result claims, with its evidence; ``plain_regression`` has the table of its parts."""
    given, model, face = result._given, result._model, result._face
    ids = model.system.ids
    place = {unknown: j for j, unknown in enumerate(model.order)}
    aliased = []
    for v in result._alias_vectors():
        numbers = {str(j): written(value) for j, value in enumerate(v) if value}
        aliased.append({"column": result._alias_column(v), "combination": numbers})
    split = face.separated[ids]
    return {
        "kind": "separation",
        "claim": result.kind,
        "family": given.family,
        "values": given.values,
        "fit_intercept": given.offset,
        "alias": given.alias,
        "names": list(model.names),
        "n_rows": given.n,
        "n_constraints": len(ids),
        "columns": [place[unknown] for unknown in face.columns],
        "independent": np.searchsorted(ids, np.sort(face.independent)).tolist(),
        "aliased": aliased,
        "direction": [written(value) for value in result.direction],
        "separated": _stretches(np.flatnonzero(split)),
        "rest": _combination(face.contradiction, ids),
        "coefficients": [
            {"name": name, "status": status, **_evidence(result, proved, ids)}
            for name, status, proved in zip(result.names, result.statuses, result.evidence, strict=True)
        ],
    }


def _combination(found: Any, ids: Array) -> dict[str, Any]:
    return {
        "rows": np.searchsorted(ids, found.ids).tolist(),
        "multipliers": [written(value) for value in found.multipliers],
    }


def _evidence(result: Any, proved: Any, ids: Array) -> dict[str, Any]:
    if proved is None:
        return {}
    if proved.combination is not None:
        return _combination(proved.combination, ids)
    up, down = (result._public(g) for g in proved.directions)
    return {"up": [written(value) for value in up], "down": [written(value) for value in down]}


def _stretches(rows: Array) -> list[list[int]]:
    """Return sorted row numbers as stretches [first, last]."""
    if len(rows) == 0:
        return []
    breaks = np.flatnonzero(np.diff(rows) > 1)
    firsts, lasts = np.append(rows[0], rows[breaks + 1]), np.append(rows[breaks], rows[-1])
    return [[int(a), int(b)] for a, b in zip(firsts, lasts, strict=True)]


def separation_from_json(content: Any) -> dict[str, Any]:
    """Return the certificate in a document, all its parts of the right type; what it claims is not checked here."""
    if not isinstance(content, dict) or content.get("kind") != "separation":
        raise ValueError('it does not say "kind": "separation"')
    for key, kind in _KEYS.items():
        if not isinstance(content.get(key), kind) or (kind is int and isinstance(content[key], bool)):
            raise ValueError(f"{key!r} is missing or not what it should be")
    for value in content["direction"]:
        number(value)
    for part in (content["rest"], *content["coefficients"]):
        if not isinstance(part, dict):
            raise ValueError("a part of it is not what it should be")
        for value in (*part.get("multipliers", ()), *part.get("up", ()), *part.get("down", ())):
            number(value)
    return content
