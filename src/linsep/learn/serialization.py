"""The file format of models and checkpoints: safetensors for numbers, JSON for the rest, no pickle.

The metadata of the safetensors file has one entry, ``linsep``: a JSON object with the version of the format, the kind
of thing that was saved, and its values. A value that is an array is written as a tensor and named in the JSON. Every
value that JSON cannot hold is an object with one key, its tag. Nothing in a file can name code.

A file may come from anywhere, so reading trusts nothing: sizes are checked before anything is read, and what is read
must fit together; that is for the class to check whose state it is.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import safetensors
from safetensors.numpy import save as to_bytes

from linsep import __version__
from linsep.data.files import is_url, local_copy, masked, open_bytes, replacing, size
from linsep.data.labels import object_array
from linsep.problem import Array

FORMAT = 1  # raised when older readers would misunderstand the file

_LARGEST_HEADER = 8 << 20  # bytes; names and labels are tensors, so an honest header is short
_PADDED = 1 << 20  # bytes that the unused width of fixed-width strings may take
_TENSOR_TYPES = frozenset("?bhilqBHILQefd")

Path = str | os.PathLike[str]


class RefusedError(ValueError):
    """Why a file is refused, as the user reads it."""


def must(right: bool, message: str) -> None:
    """Refuse a file in which something does not fit."""
    if not right:
        raise RefusedError(f"damaged: {message}")


def write(path: Path, kind: str, parts: Mapping[str, Mapping[str, Any]]) -> None:
    """Write values, in named parts, to a file; an older file of that name is replaced in one step, or left as it is."""
    out = TensorWriter()
    content: dict[str, Any] = {"format": FORMAT, "linsep": __version__, "kind": kind}
    for name, values in parts.items():
        content[name] = {key: out.value(key, value) for key, value in values.items()}
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    if len(text) > _LARGEST_HEADER // 2:
        raise ValueError(f"the labels and parameters take {len(text)} bytes of JSON, more than a model file may have")
    with replacing(path) as file:
        file.write(to_bytes(out.tensors, metadata={"linsep": text}))


@contextmanager
def open_tensors(path: Path, noun: str) -> Iterator[tuple[dict[str, Any], TensorReader]]:
    """Open a file to read its content, with a reader for its values; errors are one line that begins with this noun."""
    _check_size(path, noun)
    name = masked(str(path))
    try:
        with local_copy(path) as here, safetensors.safe_open(here, framework="numpy") as file:
            text = (file.metadata() or {}).get("linsep")
            if text is None:
                raise RefusedError("a safetensors file, but not written by linsep")
            yield _parse(text, noun), TensorReader(file)
    except RecursionError:
        raise ValueError(f"{name}: damaged {noun} file: nested too deeply") from None
    except RefusedError as error:
        text = str(error)
        raise ValueError(f"{name}: {text.replace('damaged:', f'damaged {noun} file:', 1)}") from None
    except safetensors.SafetensorError as error:
        raise ValueError(f"{name}: not a {_ours(noun)}, or a damaged one: {error}") from None
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        if type(error) is ValueError:
            raise ValueError(f"{name}: damaged {noun} file: {error}") from None
        raise ValueError(f"{name}: damaged {noun} file ({type(error).__name__}: {error})") from error


def _ours(noun: str) -> str:
    """Return what nobody else has the noun for."""
    return "linsep model" if noun == "model" else noun


def _check_size(path: Path, noun: str) -> None:
    """Refuse what cannot be such a file by its size and first bytes, before anything is read into memory."""
    name = masked(str(path))
    if not is_url(path) and not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError(f"{name}: not a file")
    with open_bytes(path) as file:
        start = file.read(9)
    length = int.from_bytes(start[:8], "little")
    if len(start) < 9 or start[8:] != b"{" or length > size(path) - 8:
        raise ValueError(f"{name}: not a {_ours(noun)}, or a damaged one")
    if length > _LARGEST_HEADER:
        raise ValueError(f"{name}: not a {_ours(noun)}: its header takes {length} bytes")


def _parse(text: str, noun: str) -> dict[str, Any]:
    """Return the JSON object of a file, if it is of a version that we read."""

    def refuse(constant: str) -> None:
        raise RefusedError(f"damaged: {constant} in its JSON")

    try:
        content = json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise RefusedError(f"damaged: {error}") from None
    must(isinstance(content, dict), "its JSON is not an object")
    number = content.get("format")
    must(type(number) is int and number >= 1, f"the version of its format is {number!r}")
    if number > FORMAT:
        raise RefusedError(
            f"written by linsep {content.get('linsep')} in {noun} format {number}; "
            f"this is linsep {__version__}, which reads formats up to {FORMAT}: install a newer one"
        )
    must("kind" in content, "no kind")
    content["kind"] = str(content["kind"])
    return content  # type: ignore[no-any-return]


# ---------------------------------------------------------------------------------------------------------------
# Values


class TensorWriter:
    """Values as JSON, and the tensors that their arrays become."""

    def __init__(self) -> None:
        self.tensors: dict[str, Array] = {}

    def value(self, name: str, value: Any) -> Any:
        """Return a value as JSON; its arrays become tensors under its name, NumPy's numbers those of Python."""
        if isinstance(value, np.generic) and value.dtype.kind in "biufU":
            value = value.item()
        if value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
            return value
        kind = type(value)
        if kind is float:  # nan, inf, -inf
            return {"float": repr(value)}
        if kind is list:
            return {"list": self._items(name, value)}
        if kind is dict:
            names = [f"{name}.{key if isinstance(key, str) else i}" for i, key in enumerate(value)]
            items = map(self.value, names, value.values())
            return {"dict": [list(pair) for pair in zip(self._items(name, value), items, strict=True)]}
        if kind is np.ndarray:
            return {"array": self._array(name, value)}
        if kind is np.random.RandomState:
            state = value.get_state(legacy=False)
            if state["bit_generator"] != "MT19937":
                raise ValueError(f"{name} is a RandomState of {state['bit_generator']}, which a model file cannot hold")
            self.tensors[name] = state["state"]["key"]
            return {"random_state": [name, state["state"]["pos"], state["has_gauss"], float(state["gauss"])]}
        raise ValueError(f"{name} holds {value!r} of type {kind.__name__}, which a model file cannot hold")

    def _items(self, name: str, values: Iterable[Any]) -> list[Any]:
        return [self.value(f"{name}.{i}", value) for i, value in enumerate(values)]

    def _array(self, name: str, array: Array) -> list[Any]:
        """Write an array by its kind: numbers as they are, strings as UTF-8, labels of several types one by one."""
        if array.dtype.char in _TENSOR_TYPES:
            self.tensors[name] = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
            return ["numbers", name]
        if array.ndim == 1 and (array.dtype.kind == "U" or all(type(item) is str for item in array)):
            parts = [item.encode("utf-8", "surrogatepass") for item in array.tolist()]
            width = 0  # an array of objects
            if array.dtype.kind == "U":
                longest = max(map(len, array.tolist()), default=0)
                width = array.dtype.itemsize // 4 if array.nbytes <= _PADDED else longest
            self.tensors[name] = np.frombuffer(b"".join(parts), dtype=np.uint8)
            self.tensors[f"{name}.ends"] = np.cumsum([len(part) for part in parts], dtype=np.int64)
            return ["strings", name, width]
        if array.ndim == 1 and array.dtype == object:
            return ["objects", self._items(name, array)]
        raise ValueError(f"{name} is an array of {array.dtype}, which a model file cannot hold")


class TensorReader:
    """The tensors of an open file, each to be taken once: a file cannot ask for more memory than it has bytes."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.left = set(file.keys())

    def take(self, name: Any, kinds: str = "biuf", ndim: int | None = None) -> Array:
        """Return a tensor as an array of one of these kinds of dtype and this number of dimensions."""
        must(isinstance(name, str) and name in self.left, f"tensor {name!r} is missing, or used twice")
        self.left.remove(name)
        array: Array = self.file.get_tensor(name)
        must(array.dtype.kind in kinds, f"tensor {name!r} is of type {array.dtype}")
        must(ndim is None or array.ndim == ndim, f"tensor {name!r} has shape {array.shape}")
        return array

    def values(self, part: Any) -> dict[str, Any]:
        """Return the values of a part of the content."""
        must(isinstance(part, dict), "a part that is none")
        return {key: self.value(value) for key, value in part.items()}

    def value(self, value: Any) -> Any:
        """Return the value that was written as this JSON."""
        if not isinstance(value, dict):
            must(not isinstance(value, list), "a list without a tag")
            return value
        must(len(value) == 1, "a value that is not a tag and its content")
        ((tag, content),) = value.items()
        read: dict[str, Callable[[Any], Any]] = {"float": float, "list": self._items, "dict": self._dict}
        read |= {"array": self._array, "random_state": self._generator}
        must(tag in read, f"a value with the unknown tag {tag!r}")
        return read[tag](content)

    def _items(self, content: Any) -> list[Any]:
        must(isinstance(content, list), "a list that is none")
        return [self.value(value) for value in content]

    def _dict(self, content: Any) -> dict[Any, Any]:
        return dict(self._items(item) for item in content)

    def _array(self, content: Any) -> Array:
        storage, *details = content
        must(storage in ("numbers", "strings", "objects"), f"an array stored as {storage!r}")
        if storage == "strings":
            return self._strings(*details)
        (content,) = details
        return self.take(content) if storage == "numbers" else object_array(self._items(content))

    def _strings(self, name: Any, width: Any) -> Array:
        data, ends = self.take(name, "u", 1), self.take(f"{name}.ends", "i", 1)
        bounds = [0, *ends.tolist()]
        must(data.dtype == np.uint8 and all(a <= b for a, b in pairwise(bounds)), "strings that overlap")
        must(bounds[-1] == len(data), "strings longer or shorter than their text")
        text = data.tobytes()
        parts = [text[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(bounds)]
        longest = max(map(len, parts), default=0)
        must(type(width) is int and (width == 0 or width >= longest), f"strings of width {width!r}")
        must(width <= longest or width * len(parts) * 4 <= _PADDED, f"strings of width {width}")
        return np.array(parts, dtype=f"U{width}") if width else object_array(parts)

    def _generator(self, content: Any) -> np.random.RandomState:
        name, position, has_gauss, gauss = content
        key = self.take(name, "u", 1)
        must(type(position) is int and 0 <= position <= 624 and has_gauss in (0, 1), "the state of a random generator")
        generator = np.random.RandomState(0)
        generator.set_state(("MT19937", key, position, has_gauss, gauss))
        return generator
