"""A proof as a JSON document, and its verification against data.

Numbers are exact: floats in hexadecimal, fractions as ``"p/q"``. The document carries a digest of its own content, so
that no digit can change unnoticed, and a fingerprint of the data, which depends on their values alone and not on
their storage. Neither replaces the check of the proof.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from fractions import Fraction
from typing import Any

import numpy as np

from linsep.problem import Array, Dense, Rows, Sparse, count, take
from linsep.prove.claims import Data, Refutation, Separator, Verdict, holds, read
from linsep.prove.fewest_document import fewest_from_json, fewest_to_json

_FORMAT = "linsep proof 1"


def to_json(verdict: Any, X: Any, y: Any) -> str:
    """Return a verdict with its proof as a JSON document about these data.

    Parameters
    ----------
    verdict : Verdict or Fewest
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)

    Returns
    -------
    text : str

    Examples
    --------
    >>> import json, linsep
    >>> X, y = [[0.0], [1.0], [1.0]], ["no", "no", "yes"]
    >>> text = linsep.to_json(linsep.separate(X, y), X, y)
    >>> json.loads(text)["verdict"], json.loads(text)["refutation"]["weights"]
    ('quasi', ['1', '1'])
    """
    data = read(X, y, verdict.classes, verdict.fit_intercept)
    if data is None or data.n_features != verdict.n_features:
        raise ValueError("these are not the data of the verdict: labels or numbers of features differ")
    if verdict.kind == "fewest-errors":
        content = {"format": _FORMAT, **fewest_to_json(verdict), "data": fingerprint(data)}
        content["classes"] = [_plain(label) for label in verdict.classes]
        return json.dumps({**content, "digest": _digest(content)}, separators=(",", ":"), allow_nan=False) + "\n"
    return written(verdict, fingerprint(data))


def written(verdict: Verdict, about: dict[str, Any]) -> str:
    """Return a verdict with its proof as a JSON document about data with this fingerprint."""
    content: dict[str, Any] = {
        "format": _FORMAT,
        "verdict": verdict.kind,
        "fit_intercept": verdict.fit_intercept,
        "classes": [_plain(label) for label in verdict.classes],
        "n_features": verdict.n_features,
        "separator": None,
        "refutation": None,
        "bracket": [_written(float(bound)) for bound in verdict.bracket],
        "data": about,
    }
    if verdict.separator is not None:
        W, b = np.atleast_2d(verdict.separator.w), np.atleast_1d(verdict.separator.b)
        content["separator"] = {
            "w": [[_written(value) for value in row] for row in W.tolist()],
            "b": [_written(value) for value in b.tolist()],
        }
    if verdict.refutation is not None:
        content["refutation"] = {
            "rows": verdict.refutation.rows.tolist(),
            "rivals": verdict.refutation.rivals.tolist(),
            "weights": [_written(weight) for weight in verdict.refutation.multipliers],
        }
    return json.dumps({**content, "digest": _digest(content)}, indent=1, allow_nan=False) + "\n"


def from_json(text: str) -> tuple[Any, dict[str, Any]]:
    """Return the verdict in a document and the fingerprint of its data; what it claims is not checked here.

    Parameters
    ----------
    text : str

    Returns
    -------
    verdict : Verdict or Fewest
    fingerprint : dict

    Raises
    ------
    ValueError
        If the text is not a proof, or was changed after it was written.

    Examples
    --------
    >>> import linsep
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 0, 1]
    >>> verdict, fingerprint = linsep.from_json(linsep.to_json(linsep.separate(X, y), X, y))
    >>> verdict.kind, fingerprint["n_rows"]
    ('separable', 3)
    """
    try:
        content = json.loads(text)
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise ValueError(f'it does not say "format": "{_FORMAT}"')
        digest = content.pop("digest", None)
        if digest != _digest(content):
            raise ValueError("it was altered: its digest does not fit its content")
        if content.get("kind") == "fewest-errors":
            return fewest_from_json(content), content["data"]
        plane, contradiction = content["separator"], content["refutation"]
        verdict = Verdict(
            content["verdict"],
            None if plane is None else _plane(plane, len(content["classes"])),
            None if contradiction is None else _contradiction(contradiction),
            tuple(content["classes"]),
            content["n_features"],
            content["fit_intercept"],
            (_number(content["bracket"][0]), _number(content["bracket"][1])),  # type: ignore[arg-type]
        )
        return verdict, content["data"]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, ZeroDivisionError) as error:
        raise ValueError(f"this is not a valid proof: {error}") from error


def verify(proof: Any, X: Any, y: Any) -> bool:
    """Return whether a proof holds for these data, in exact arithmetic.

    Parameters
    ----------
    proof : Verdict, Fewest, path or str
        A verdict or a result of ``fewest_errors``, the path of a proof file, or its text.
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)

    Returns
    -------
    holds : bool
        False if the data are not those the proof was written for, or the proof fails.

    Raises
    ------
    ValueError
        If a document is not a proof, or was changed after it was written.

    Examples
    --------
    >>> import linsep
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 0, 1]
    >>> linsep.verify(linsep.separate(X, y), X, y)
    True
    """
    if hasattr(proof, "check"):
        return bool(proof.check(X, y))
    if not (isinstance(proof, str) and proof.lstrip().startswith("{")):
        with open(os.fspath(proof), encoding="utf-8") as file:
            proof = file.read()
    verdict, written_for = from_json(proof)
    data = read(X, y, verdict.classes, verdict.fit_intercept)
    if data is None or data.n_features != verdict.n_features or fingerprint(data) != written_for:
        return False
    return verdict.check(X, y) if verdict.kind == "fewest-errors" else holds(verdict, data)


def fingerprint(data: Data) -> dict[str, Any]:
    """Return the numbers of rows and features, and a hash of class numbers and values wherever they are not zero."""
    hashed = Fingerprint(data.n_features, isinstance(data.rows, Sparse))
    hashed.add_classes(data.y)
    for start in range(0, len(data.y), hashed.step):
        hashed.add_rows(take(data.rows, slice(start, start + hashed.step)))
    return hashed.result()


class Fingerprint:
    """The fingerprint of data that come in parts: first all class numbers, then all rows."""

    def __init__(self, n_features: int, sparse: bool) -> None:
        self.n_features, self.rows = n_features, 0
        self.step = 4096 if sparse else max(1, (1 << 20) // max(1, n_features))  # rows that are hashed together
        self._digest = hashlib.sha256()
        self._waiting: list[tuple[Array, Array, Array]] = []  # row, column, value

    def add_classes(self, y: Array) -> None:
        """Take up some class numbers."""
        self._digest.update(np.ascontiguousarray(y, dtype="<i8").tobytes())

    def add_rows(self, rows: Rows) -> None:
        """Take up some rows."""
        start = 0
        while start < count(rows):
            stop = min(count(rows), start + self.step - self.rows % self.step)
            part = rows if stop - start == count(rows) else take(rows, slice(start, stop))
            if isinstance(part, Dense):
                i, j = np.nonzero(part.data)
                values = part.data[i, j]
            else:
                i = np.repeat(np.arange(len(part.indptr) - 1), np.diff(part.indptr).astype(np.intp))
                keep = part.data != 0
                i, j, values = i[keep], part.indices[keep], part.data[keep]
            self._waiting.append((i + self.rows, j, values))
            self.rows += stop - start
            if self.rows % self.step == 0:
                self._flush()
            start = stop

    def _flush(self) -> None:
        if self._waiting:
            i, j, values = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
            for array in (i, j):
                self._digest.update(array.astype("<i8").tobytes())
            self._digest.update(_value_bytes(values))
            self._waiting = []

    def result(self) -> dict[str, Any]:
        """Return the numbers of rows and features, and the hash."""
        self._flush()
        return {"n_rows": self.rows, "n_features": self.n_features, "sha256": self._digest.hexdigest()}


def _value_bytes(values: Array) -> bytes:
    """Return the same bytes for the same numbers, whatever type holds them."""
    with np.errstate(over="ignore"):
        floats = values.astype("<f8")
    if values.dtype.kind == "f" or not len(values) or float(np.abs(floats).max()) < 2.0**53:
        return bytes(floats.tobytes())
    return repr([value.as_integer_ratio() for value in values.tolist()]).encode()


def _digest(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(label: Any) -> Any:
    if isinstance(label, str | bool | int) or (isinstance(label, float) and math.isfinite(label)):
        return label
    raise ValueError(f"a proof file can hold labels that are text or numbers, not {label!r}")


def _written(value: Any) -> str:
    if not isinstance(value, Fraction):
        return float(value).hex()
    if max(abs(value.numerator), value.denominator).bit_length() < 10_000:
        return str(value)
    return f"{value.numerator:#x}/{value.denominator:#x}"  # Python refuses to write more than 4300 decimal digits


def _number(text: str) -> float | Fraction:
    if "p" in text or "inf" in text:
        return float.fromhex(text)
    if "x" in text:
        return Fraction(*(int(part, 16) for part in text.split("/")))
    return Fraction(text)


def _plane(plane: dict[str, Any], classes: int) -> Separator:
    texts = [value for row in plane["w"] for value in row] + plane["b"]
    numbers = [_number(text) for text in texts]
    if any(isinstance(number, Fraction) for number in numbers):
        table = np.array([Fraction(number) for number in numbers], dtype=object)
    else:
        table = np.array(numbers)
    W, b = table[: -len(plane["b"])].reshape(len(plane["w"]), -1), table[-len(plane["b"]) :]
    return Separator(W[0], b.tolist()[0]) if classes == 2 else Separator(W, b)


def _contradiction(parts: dict[str, Any]) -> Refutation:
    return Refutation(
        np.array(parts["rows"], dtype=np.intp),
        tuple(Fraction(_number(weight)) for weight in parts["weights"]),
        np.array(parts["rivals"], dtype=np.intp),
    )
