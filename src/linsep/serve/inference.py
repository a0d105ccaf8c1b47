"""The open inference protocol, version 2, as KServe, Triton and MLServer have it.

One input of shape (rows, columns) is the rows; several, of one column each, are named columns of numbers and words.
Tensors may come as binary data after the JSON, as Triton's client sends them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from linsep.data.bodies import LONGEST, Refused
from linsep.data.example_log import LARGEST, ExampleTable, encode
from linsep.serve.service import Service

_TYPES = {
    "BOOL": "?", "UINT8": "<u1", "UINT16": "<u2", "UINT32": "<u4", "UINT64": "<u8", "INT8": "<i1", "INT16": "<i2",
    "INT32": "<i4", "INT64": "<i8", "FP16": "<f2", "FP32": "<f4", "FP64": "<f8",
}  # fmt: skip
_BINARY = "Inference-Header-Content-Length"
VERSION = "1"


class Answer(Response):
    """An answer in JSON, a value or its text; Starlette's own way to its headers takes longer."""

    def __init__(self, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.body = (value if isinstance(value, str) else json.dumps(value)).encode()
        self.status_code, self.background = status, None
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), (b"content-type", b"application/json")]
        self.raw_headers += [(name.lower().encode(), text.encode()) for name, text in (headers or {}).items()]


def constant(value: Any) -> Callable[[Request], Awaitable[Response]]:
    """Return a route that always answers the same."""

    async def answer(_: Request) -> Response:
        return Answer(value)

    return answer


class Inference:
    """The routes of the protocol."""

    def __init__(self, service: Service, name: str) -> None:
        self.service, self.name = service, name

    async def about(self, _: Request) -> Response:
        """Say what a model takes and gives."""
        columns, labels = self.service.columns, self.service.labels
        kinds = {name: "BYTES" if isinstance(c, dict) else "FP64" for name, c in list(columns.names.items())[:1000]}
        inputs = [_tensor(name, kind, [-1, 1]) for name, kind in kinds.items()]
        if not inputs:
            inputs = [_tensor("input", "FP64", [-1, columns.width if columns.dense and columns.width else -1])]
        scores = [-1] if len(labels) <= 2 else [-1, len(labels)]
        outputs = [_tensor("label", _datatype(labels), [-1]), _tensor("score", "FP64", scores)]
        about = {"name": self.name, "versions": [VERSION], "platform": "linsep", "inputs": inputs, "outputs": outputs}
        return Answer(about)

    def infer(self, request: Request, body: bytes) -> Response:
        """Predict the labels of rows."""
        header = request.headers.get(_BINARY.lower())
        if header is not None and not (header.isdecimal() and int(header) <= len(body)):
            raise Refused("not the length of the JSON in the body", _BINARY)
        length = len(body) if header is None else int(header)
        try:
            asked = json.loads(body[:length])
        except (ValueError, RecursionError) as error:
            raise Refused(f"not JSON: {str(error)[:100]}") from None
        if not isinstance(asked, dict) or not isinstance(asked.get("inputs"), list) or not asked["inputs"]:
            raise Refused("a request has inputs, a list of tensors", "inputs")
        tensors = self._tensors(asked["inputs"], memoryview(body)[length:])
        predictor = self.service.predictor
        S = predictor.scores(encode(_rows(tensors), self.service.columns))
        labels = predictor.predict(S)
        if predictor.classes is None:
            labels, S = [""] * len(labels), np.zeros(len(labels))
        kind = _datatype(predictor.labels)
        available = {"label": (kind, [_word(each) for each in labels] if kind == "BYTES" else labels, [len(labels)])}
        available["score"] = ("FP64", S.ravel().tolist(), list(S.shape))
        return self._answer(asked, available, predictor.number)

    def _answer(self, asked: dict[str, Any], available: dict[str, Any], number: int) -> Response:
        """Return the outputs that are asked for, as JSON or binary."""
        wanted, parameters = asked.get("outputs"), asked.get("parameters")
        parameters = parameters if isinstance(parameters, dict) else {}
        if wanted is None:
            wanted = [
                {"name": name, "parameters": {"binary_data": parameters.get("binary_data_output")}}
                for name in available
            ]
        if not isinstance(wanted, list):
            raise Refused("outputs are a list", "outputs")
        outputs, tail = [], []
        for each in wanted:
            if not isinstance(each, dict) or each.get("name") not in available:
                raise Refused(f"the outputs are {', '.join(available)}", "outputs")
            kind, data, shape = available[each["name"]]
            parameters = each.get("parameters")
            output = _tensor(each["name"], kind, shape)
            if isinstance(parameters, dict) and parameters.get("binary_data"):
                tail.append(_binary(kind, data))
                output["parameters"] = {"binary_data_size": len(tail[-1])}
            else:
                output["data"] = data
            outputs.append(output)
        answer: dict[str, Any] = {"model_name": self.name, "model_version": VERSION, "outputs": outputs}
        answer["parameters"] = {"number": number}
        if isinstance(asked.get("id"), str):
            answer["id"] = asked["id"]
        head = json.dumps(answer).encode()
        if not tail:
            return Response(head, media_type="application/json")
        return Response(
            b"".join([head, *tail]), headers={_BINARY: str(len(head))}, media_type="application/octet-stream"
        )

    def _tensors(self, inputs: list[Any], tail: memoryview) -> dict[str, Any]:
        """Return the tensors of a request by name, of two dimensions: arrays, or lists of words."""
        arrays: dict[str, Any] = {}
        for place, each in enumerate(inputs):
            at = f"inputs[{place}]"
            if not isinstance(each, dict) or not isinstance(each.get("name"), str) or each["name"] in arrays:
                raise Refused("a tensor has a name of its own", at)
            kind, shape, about = each.get("datatype"), each.get("shape"), each.get("parameters")
            if kind not in _TYPES and kind != "BYTES":
                raise Refused(f"the data types are {', '.join(_TYPES)} and BYTES", f"{at}.datatype")
            if not isinstance(shape, list) or not all(type(n) is int and 0 < n < 2**31 for n in shape):
                raise Refused("a shape is a list of whole numbers above 0", f"{at}.shape")
            if len(shape) not in (1, 2) or shape[0] > self.service.limits.batch:
                raise Refused("a shape is (rows) or (rows, columns)", f"{at}.shape")
            size = about.get("binary_data_size") if isinstance(about, dict) else None
            if size is None:
                data = _from_json(kind, each.get("data"), f"{at}.data")
            elif type(size) is int and 0 <= size <= len(tail):
                data, tail = _from_binary(kind, tail[:size], at), tail[size:]
            else:
                raise Refused("more binary data than there is", at)
            if len(data) != math.prod(shape):
                raise Refused(f"{len(data)} values for the shape {shape}", f"{at}.data")
            if kind != "BYTES":
                data = data.reshape(shape[0], -1)
                if not (np.abs(data) <= LARGEST).all():
                    raise Refused("a number that is not finite, or too large", f"{at}.data")
            elif len(data) != shape[0] or not all(isinstance(word, str) and 0 < len(word) <= LONGEST for word in data):
                raise Refused(f"BYTES are words of 1 to {LONGEST} characters, one a row", f"{at}.data")
            arrays[each["name"]] = data
        if len({len(each) for each in arrays.values()}) > 1:
            raise Refused("the inputs have different numbers of rows", "inputs")
        return arrays


def _tensor(name: str, kind: str, shape: list[int]) -> dict[str, Any]:
    return {"name": name, "datatype": kind, "shape": shape}


def _rows(tensors: dict[str, Any]) -> Any:
    """Return tensors as a table, or as rows with words."""
    if len(tensors) == 1 and not isinstance(only := next(iter(tensors.values())), list):
        name = next(iter(tensors))
        return ExampleTable((name,) if only.shape[1] == 1 and name != "input" else None, only)
    if any(not isinstance(each, list) and each.shape[1] != 1 for each in tensors.values()):
        raise Refused("several inputs have one column each", "inputs")
    if not any(isinstance(each, list) for each in tensors.values()):
        return ExampleTable(tuple(tensors), np.hstack(list(tensors.values())))
    columns = [each if isinstance(each, list) else each[:, 0].tolist() for each in tensors.values()]
    return [dict(zip(tensors, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _from_json(kind: str, data: Any, at: str) -> Any:
    """Return values that may come in nested lists."""
    while isinstance(data, list) and data and all(isinstance(each, list) for each in data):
        data = [value for each in data for value in each]
    if not isinstance(data, list):
        raise Refused("no data", at)
    if kind == "BYTES":
        return data
    if not all(type(value) in (int, float, bool) and abs(value) <= LARGEST for value in data):
        raise Refused("a value that is not a number, or is too large", at)
    return np.array(data, np.float64)


def _from_binary(kind: str, data: memoryview, at: str) -> Any:
    """Return the values of binary data; words have their length before them."""
    if kind != "BYTES":
        width = np.dtype(_TYPES[kind]).itemsize
        if len(data) % width:
            raise Refused("binary data of another length", at)
        return np.frombuffer(data, _TYPES[kind]).astype(np.float64)
    words, place = [], 0
    while place < len(data):
        length = int.from_bytes(data[place : place + 4], "little")
        word = bytes(data[place + 4 : place + 4 + length])
        if len(word) < length or place + 4 > len(data):
            raise Refused("binary data that end within a word", at)
        words.append(word.decode("utf-8", "replace"))
        place += 4 + length
    return words


def _binary(kind: str, data: list[Any]) -> bytes:
    if kind != "BYTES":
        return np.array(data, _TYPES[kind]).tobytes()
    words = [word.encode() for word in data]
    return b"".join(len(word).to_bytes(4, "little") + word for word in words)


def _datatype(labels: list[Any]) -> str:
    kinds = {type(label) for label in labels}
    return "BOOL" if kinds == {bool} else "INT64" if kinds == {int} else "BYTES"


def _word(label: Any) -> str:
    return label if isinstance(label, str) else json.dumps(label)
