"""Validates documents against ``proof-schema.json``, with as much of JSON Schema as that file uses."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "null": (type(None),),
    "integer": (int,), "number": (int, float),
}  # fmt: skip


@cache
def proof_schema() -> dict[str, Any]:
    """Return the schema of proofs."""
    text = resources.files("linsep.prove.check").joinpath("proof-schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def validate(content: Any) -> None:
    """Refuse a document that is not of the form that the schema lays down."""
    if content.get("format") == "linsep proof 1":  # in the words of format 2 by now
        content = {**content, "format": "linsep proof 2"}
    _check(content, proof_schema(), "the document")


def _check(value: Any, schema: dict[str, Any], where: str) -> None:
    """Raise ValueError unless a value is of the form asked."""
    if "$ref" in schema:
        return _check(value, proof_schema()["$defs"][schema["$ref"].rpartition("/")[2]], where)
    if "oneOf" in schema or "anyOf" in schema:
        return _one_of(value, schema.get("oneOf") or schema["anyOf"], where)
    if "enum" in schema and not (isinstance(value, str) and value in schema["enum"]):
        raise ValueError(f"{where} must be one of {', '.join(map(repr, schema['enum']))}")
    if "type" in schema:
        kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        if not any(
            isinstance(value, _TYPES[kind]) and isinstance(value, bool) == (kind == "boolean") for kind in kinds
        ):
            raise ValueError(f"{where} must be of type {' or '.join(kinds)}")
    if isinstance(value, str):
        _check_text(value, schema, where)
    elif isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            raise ValueError(f"{where} must have at least {schema['minItems']} items")
        if len(value) > schema.get("maxItems", len(value)):
            raise ValueError(f"{where} must have at most {schema['maxItems']} items")
        for item in value if "items" in schema else ():
            _check(item, schema["items"], f"an item of {where}")
    elif isinstance(value, dict):
        _check_object(value, schema, where)
    elif isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        raise ValueError(f"{where} is out of range")
    return None


def _one_of(value: Any, choices: list[dict[str, Any]], where: str) -> None:
    """Raise what a choice says unless one of them fits: of documents the one of its kind, else the last."""
    problem = None
    named = [choice for choice in choices if _is_of_kind(value, choice)]
    for choice in named or choices:
        try:
            return _check(value, choice, where)
        except ValueError as error:
            problem = error
    raise problem or ValueError(f"{where} matches no allowed form")


def _is_of_kind(value: Any, choice: dict[str, Any]) -> bool:
    """Say whether a choice is the one for documents of this kind."""
    known = proof_schema()["$defs"].get(choice.get("$ref", "").rpartition("/")[2], {})
    kinds = known.get("properties", {}).get("kind", {}).get("enum", ())
    return isinstance(value, dict) and isinstance(value.get("kind"), str) and value["kind"] in kinds


def _check_text(value: str, schema: dict[str, Any], where: str) -> None:
    if len(value) > schema.get("maxLength", len(value)):
        raise ValueError(f"{where} is longer than {schema['maxLength']} characters")
    if "pattern" in schema and not re.search(schema["pattern"].removesuffix("$") + r"\Z", value):
        raise ValueError(f"{where} is {value[:40]!r}, which does not have the required form")


def _check_object(value: dict[str, Any], schema: dict[str, Any], where: str) -> None:
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        raise ValueError(f"{where} has no field {missing[0]!r}")
    if not schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", len(value)):
        raise ValueError(f"{where} has too many or too few fields")
    known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    for name, item in value.items():
        if name not in known and others is False:
            raise ValueError(f"{where} has the field {name[:40]!r}, which is unknown")
        _check(item, known.get(name, others), f"the field {name[:40]!r}")
