"""The description of the HTTP interface, in OpenAPI 3.1: what is written here is what requests are tested against."""

from __future__ import annotations

from typing import Any

from linsep import __version__
from linsep.serve.parsing import ARROW, CSV, JSON, LIBSVM, LONGEST, NDJSON

_TEXT = {"type": "string", "minLength": 1, "maxLength": LONGEST, "pattern": "^[\\x20-\\x7e]+$"}
_NUMBER = {"type": "number", "minimum": -1e100, "maximum": 1e100}
_X = {
    "description": "A list of numbers, or an object of numbers and words",
    "oneOf": [
        {"type": "array", "items": _NUMBER, "minItems": 1, "maxItems": 1000},
        {"type": "object", "propertyNames": _TEXT, "additionalProperties": {"oneOf": [_NUMBER, _TEXT]}},
    ],
}
_LABEL = {"oneOf": [_TEXT, {"type": "integer", "minimum": -(2**53) + 1, "maximum": 2**53 - 1}, {"type": "boolean"}]}
_KNOWN = {"oneOf": [*_LABEL["oneOf"], {"type": "null"}]}
_COUNT = {"type": "integer", "minimum": 0}
_MAYBE = {"type": ["number", "null"]}
_SHARE: dict[str, Any] = {
    "error": _MAYBE,
    "errors": _COUNT,
    "interval": {
        "description": "Exact (Clopper-Pearson) interval at 95%",
        "oneOf": [{"type": "null"}, {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}],
    },
}
_SCHEMAS: dict[str, Any] = {
    "Error": {
        "type": "object",
        "required": ["error", "at"],
        "properties": {"error": {"type": "string"}, "at": {"type": ["string", "null"]}},
    },
    "LabeledExample": {
        "type": "object",
        "required": ["y"],
        "anyOf": [{"required": ["x"]}, {"required": ["id"]}],
        "properties": {"x": _X, "y": _LABEL, "id": _TEXT},
        "additionalProperties": False,
    },
    "Row": {
        "type": "object",
        "required": ["x"],
        "properties": {"x": _X, "id": _TEXT},
        "additionalProperties": False,
    },
    "Learned": {
        "type": "object",
        "required": ["examples"],
        "properties": {
            "examples": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["number", "predicted", "mistake"],
                    "properties": {
                        "number": {"type": "integer", "minimum": 1, "description": "In the log, from 1"},
                        "predicted": _KNOWN,
                        "mistake": {"type": "boolean"},
                    },
                },
            }
        },
    },
    "Predicted": {
        "type": "object",
        "required": ["labels", "number"],
        "properties": {
            "labels": {"type": "array", "items": _KNOWN},
            "number": {**_COUNT, "description": "Examples that the model had learned from"},
            "scores": {"type": "array"},
            "classes": {"type": "array", "items": _LABEL},
            "distances": {"type": ["array", "null"]},
        },
    },
    "Stats": {
        "type": "object",
        "required": ["examples", "mistakes", "classes", "error"],
        "properties": {
            "examples": _COUNT,
            "mistakes": _COUNT,
            **_SHARE,
            "windows": {"type": "array", "items": {"type": "object", "properties": {"last": _COUNT, **_SHARE}}},
            "classes": {"type": "array", "items": _LABEL},
            "features": _COUNT,
            "radius": _MAYBE,
            "norm": _MAYBE,
            "margin_at_most": {**_MAYBE, "description": "‖w‖/(ηk): no plane has a larger margin on these examples"},
            "snapshot": _COUNT,
            "predicting_with": _COUNT,
            "waiting": _COUNT,
        },
    },
    "Mistakes": {
        "type": "object",
        "required": ["mistakes"],
        "properties": {
            "mistakes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["number", "predicted", "y"],
                    "properties": {"number": _COUNT, "predicted": _KNOWN, "y": _LABEL},
                },
            }
        },
    },
    "Inference": {
        "type": "object",
        "required": ["inputs"],
        "properties": {
            "id": {"type": "string"},
            "inputs": {
                "type": "array",
                "minItems": 1,
                "maxItems": 1,
                "items": {
                    "type": "object",
                    "required": ["name", "shape", "datatype", "data"],
                    "properties": {
                        "name": {"const": "input"},
                        "shape": {"const": [1, 2]},
                        "datatype": {"enum": ["FP32", "FP64"]},
                        "data": {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2},
                    },
                    "additionalProperties": False,
                },
            },
        },
        "additionalProperties": False,
    },
    "Inferred": {
        "type": "object",
        "required": ["model_name", "outputs"],
        "properties": {
            "model_name": {"type": "string"},
            "outputs": {
                "type": "array",
                "items": {"type": "object", "required": ["name", "shape", "datatype", "data"]},
            },
        },
    },
}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _many(name: str) -> dict[str, Any]:
    return {"oneOf": [_ref(name), {"type": "array", "items": _ref(name), "minItems": 1, "maxItems": 100}]}


def _answers(name: str, what: str, *statuses: int) -> dict[str, Any]:
    """Return the answers of a route: a document, or an error with one of these statuses."""
    words = {
        400: "Bad input: where and why; nothing of it was learned", 401: "No token", 403: "The token does not allow it",
        404: "Not there", 408: "Took too long", 413: "Too large", 415: "Of a type that is not taken",
        422: "The key was used for another request", 429: "Too much at once: wait, then try again",
        503: "The disk is full, or the server is stopping",
    }  # fmt: skip
    found: dict[str, Any] = {"200": {"description": what, "content": {JSON: {"schema": _ref(name)}}}}
    for status in (*statuses, 401, 403, 408, 429, 503):
        found[str(status)] = {"description": words[status], "content": {JSON: {"schema": _ref("Error")}}}
    return found


def _body(name: str) -> dict[str, Any]:
    text = {"schema": {"type": "string"}}
    content = {JSON: {"schema": _many(name)}, NDJSON: text, CSV: text, LIBSVM: text, ARROW: {"schema": {}}}
    return {"required": True, "content": content}


def _query(name: str, schema: dict[str, Any], what: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": what}


def _plain(what: str, kind: str = JSON, *statuses: int) -> dict[str, Any]:
    found = _answers("Error", what, *statuses)
    found["200"] = {"description": what, "content": {kind: {"schema": {} if kind == JSON else {"type": "string"}}}}
    return found


def description(name: str) -> dict[str, Any]:
    """Return the description for a model of this name."""
    target = _query("target", {"type": "string", "maxLength": 100}, "Column of the labels in a table, y by default")
    flag = {"type": "boolean"}
    key = {
        "name": "Idempotency-Key", "in": "header", "required": False,
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[\\x21-\\x7e]+$"},
        "description": "Makes a retry safe: the same answer, learned once",
    }  # fmt: skip
    model = f"/v2/models/{name}"
    paths: dict[str, Any] = {
        "/v1/learn": {
            "post": {
                "summary": "Learn from examples, in order; answered when they are durable",
                "parameters": [key, target],
                "requestBody": _body("LabeledExample"),
                "responses": _answers("Learned", "What was predicted before learning", 400, 413, 415, 422),
            }
        },
        "/v1/predict": {
            "post": {
                "summary": "Predict labels; rows with an id are kept until their label comes",
                "parameters": [
                    _query("scores", flag, "Add the scores"), _query("distances", flag, "Add the distances"), target,
                ],
                "requestBody": _body("Row"),
                "responses": _answers("Predicted", "Labels", 400, 413, 415),
            }
        },
        "/v1/stats": {"get": {"summary": "Where the learner stands", "responses": _answers("Stats", "Statistics")}},
        "/v1/mistakes": {
            "get": {
                "summary": "Mistakes after an example of the log",
                "parameters": [
                    _query("after", {**_COUNT, "maximum": 10**17}, "Number of an example"),
                    _query("limit", {**_COUNT, "maximum": 10**17}, "How many at most"),
                ],
                "responses": _answers("Mistakes", "Mistakes in order", 400),
            }
        },
        "/v1/model": {
            "get": {
                "summary": "The model, a file that linsep predict reads",
                "responses": _plain("The file", "application/octet-stream", 404),
            }
        },
        "/v1/events": {
            "get": {"summary": "Statistics as they change", "responses": _plain("Events", "text/event-stream")}
        },
        "/metrics": {"get": {"summary": "Counters for Prometheus", "responses": _plain("Counters", "text/plain")}},
        "/v2": {"get": {"summary": "The open inference protocol: the server", "responses": _plain("The server")}},
        "/v2/health/live": {"get": {"summary": "Whether the server runs", "responses": _plain("It runs")}},
        "/v2/health/ready": {"get": {"summary": "Whether it can predict", "responses": _plain("It can")}},
        model: {"get": {"summary": "What the model takes and gives", "responses": _plain("The model", JSON, 404)}},
        f"{model}/ready": {"get": {"summary": "Whether it can predict", "responses": _plain("It can", JSON, 404)}},
        f"{model}/infer": {
            "post": {
                "summary": "Predict labels by the open inference protocol",
                "requestBody": {"required": True, "content": {JSON: {"schema": _ref("Inference")}}},
                "responses": _answers("Inferred", "Labels and scores", 400, 404, 413, 415),
            }
        },
    }  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {"title": "linsep serve", "version": __version__, "summary": "A linear classifier that learns online"},
        "paths": paths,
        "components": {"schemas": _SCHEMAS, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }
