"""Does a proof hold for these data? The fast check, or the page of plain integers alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from linsep.clock import Clock
from linsep.problem import Array, Dense, Floats
from linsep.prove import linsep_check
from linsep.prove.claims import OVERLAP, QUASI, SEPARABLE, Data, Refutation, Verdict
from linsep.prove.documents import claim_of, opened
from linsep.prove.fast_check import holds
from linsep.prove.fingerprints import Fingerprint, first_fingerprints
from linsep.prove.given_numbers import Held, held, is_exact, rational_rows, unrounded
from linsep.prove.plain import Fails, Malformed, check_verdict
from linsep.prove.rationals import Rationals, holds_rationally
from linsep.prove.shorter import shorter


class Outcome(NamedTuple):
    """Whether a proof holds, why not if it does not, and what was checked."""

    holds: bool
    why: str = ""
    checked: tuple[str, ...] = ()


class Table(NamedTuple):
    """Data as they are given: an array or CSR matrix of exact numbers, labels, and their class numbers."""

    X: Any
    y: Any
    codes: Array
    classes: tuple[Any, ...]

    @property
    def labels(self) -> list[Any]:
        """The labels, as Python has them."""
        return list(self.y.tolist() if isinstance(self.y, np.ndarray) else self.y)

    def rows(self, values: str) -> Iterator[list[Any]]:
        """Yield the rows as exact Python numbers."""
        return rational_rows(self.X, values)

    def fingerprint(self, values: str) -> dict[str, Any]:
        """Return the fingerprint of the data."""
        n, d = self.X.shape
        rows = self.stored()
        if rows is None:
            name = linsep_check.fingerprint(list(self.rows(values)), self.labels)
            return {"n_rows": n, "n_features": d, "sha256": name}
        found = Fingerprint(d, self.classes)
        found.add(rows.rows, self.codes)
        return found.result()

    def stored(self) -> Held | None:
        """Return the numbers as they are stored, None if that is in Python's own."""
        return None if self.X.dtype == object else held(self.X, "binary", offset=True)


class Given(Sequence[list[Any]]):
    """Rows of an array or CSR matrix as exact Python numbers, one at a time: all together take much memory."""

    def __init__(self, X: Any, values: str) -> None:
        self.X, self.values = X, values

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __getitem__(self, i: Any) -> Any:
        return next(rational_rows(self.X[[range(len(self))[i]]], self.values))


def verify(proof: Any, X: Any, y: Any, *, plain: bool = False) -> bool:
    """Return whether a proof holds for these data, in exact arithmetic.

    Parameters
    ----------
    proof : Verdict, Fewest, path or str
        A verdict, a result of ``fewest_errors``, the path of a proof file, or its text.
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
    plain : bool, default=False
        Check with the page of plain integers alone: slower, with nothing compiled and no library to trust.

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
    >>> linsep.verify(linsep.separate(X, y), X, y, plain=True)
    True
    """
    if isinstance(proof, Verdict):
        return check_claim(proof, X, y, plain=plain).holds
    if hasattr(proof, "check"):
        return bool(proof.check(X, y, plain=plain))
    return check_document(text_of(proof), X, y, plain=plain).holds


def text_of(proof: Any) -> str:
    """Return the text of a proof that is given as its text or its path."""
    if isinstance(proof, str) and proof.lstrip().startswith("{"):
        return proof
    with open(os.fspath(proof), "rb") as file:
        content = file.read(linsep_check.LARGEST + 1)
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ValueError("this is not a valid proof: it is not text") from None


def check_claim(verdict: Verdict, X: Any, y: Any, *, plain: bool) -> Outcome:
    """Check a verdict that is not bound to a fingerprint."""
    if type(verdict.fit_intercept) is not bool or verdict.kind not in linsep_check.KINDS:
        return Outcome(False, "this is not a verdict that has a proof")
    found = table_of(X, y, verdict.classes)
    if found is None or found.X.shape[1] != verdict.n_features:
        return Outcome(False, "the classes, or the numbers of rows or features, differ")
    return _plainly(verdict, found) if plain else _fast(verdict, found)


def check_document(text: str, X: Any, y: Any, *, plain: bool) -> Outcome:
    """Check a document, by its fingerprint and its claim; raise ValueError if it is no proof."""
    verdict, content = opened(text)
    about = content["data"]
    found = table_of(X, y, verdict.classes, spelled=True)
    if found is None:
        return Outcome(False, "the labels are not those of its classes, or there are not as many as rows")
    if plain:
        try:
            lines = linsep_check.check(content, list(found.rows(verdict.values)), found.labels)
        except (Fails, Malformed) as error:
            return Outcome(False, str(error))
        return Outcome(True, "", tuple(lines))
    n, d = found.X.shape
    if (n, d) != (about["n_rows"], about["n_features"]):
        return Outcome(False, f"it was written for {about['n_rows']} rows of {about['n_features']} features")
    if content["format"] == "linsep proof 1":
        rows = found.stored()
        same = rows is not None and about["sha256"] in first_fingerprints(rows.rows, found.codes, d)
    else:
        same = about["sha256"] == found.fingerprint(verdict.values)["sha256"]
    if not same:
        return Outcome(
            False, "these are not the data it was written for: a value or label differs, or the order of the rows"
        )
    outcome = _fast(verdict, found) if isinstance(verdict, Verdict) else verdict.outcome(found)
    return outcome._replace(checked=("the fingerprint is that of these data", *outcome.checked))


def _fast(verdict: Verdict, found: Table) -> Outcome:
    """Check with compiled code, on integers or, if 64 bits do not hold the numbers, next to them."""
    inside = held(found.X, verdict.values, offset=verdict.fit_intercept)
    plane, n, classes = verdict.separator, len(found.codes), len(verdict.classes)
    try:
        if inside is None:
            rows = Rationals(found.X, verdict.values, verdict.fit_intercept)
            right = holds_rationally(verdict, rows, found.codes)
        else:
            data = Data(inside.rows, found.codes, verdict.n_features, classes, verdict.fit_intercept)
            carried = plane if plane is None else inside.inside(plane)
            right = holds(replace(verdict, separator=carried), data, certain=True)
    except (OverflowError, TypeError, AttributeError):
        return Outcome(False, "the plane is not one of finite numbers")
    if not right:
        return Outcome(False, "the proof does not prove this verdict for these data")
    lines = [f"{n} rows of {verdict.n_features} features in {classes} classes"]
    if plane is not None:
        strictly = verdict.kind == SEPARABLE
        lines.append(
            "every row is strictly on its side" if strictly else "no row is on the wrong side, and not all on the plane"
        )
    if verdict.refutation is not None:
        lines.append(f"{len(verdict.refutation.rows)} leads with positive multipliers add up to zero")
    if verdict.kind == OVERLAP:
        lines.append("they span the leads of all rows")
    return Outcome(True, "", tuple(lines))


def shortened(verdict: Verdict, found: Table) -> Verdict:
    """Return a verdict with a shorter plane, if one holds."""
    stored = found.stored()

    def heights(w: Floats) -> Floats:
        assert stored is not None
        rows = stored.rows
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(rows, Dense):
                return np.asarray(rows.data @ w, dtype=np.float64)
            signed = np.dtype(f"i{rows.indices.dtype.itemsize}")
            parts = (rows.data, rows.indices.view(signed), rows.indptr.view(signed))
            return np.asarray(sp.csr_array(parts, shape=found.X.shape) @ w, dtype=np.float64)

    if stored is None:
        return verdict
    if verdict.kind == QUASI and verdict.refutation is not None and len(verdict.refutation.rows) > 2:
        verdict = _with_two_rows(verdict, found)
    return shorter(verdict, found.codes, heights, lambda other: _fast(other, found).holds)


def _with_two_rows(verdict: Verdict, found: Table) -> Verdict:
    """Return the shortest refutation there is, one row with two labels, if the data have such."""
    from linsep.prove.reducing import reduced

    inside = held(found.X, verdict.values, offset=verdict.fit_intercept)
    if inside is None:
        return verdict
    data = Data(inside.rows, found.codes, verdict.n_features, len(verdict.classes), verdict.fit_intercept)
    known = reduced(data, Clock())
    if len(known.contradicting) == 0:
        return verdict
    rows = known.contradicting[0] if known.rows is None else known.rows[known.contradicting[0]]
    other = replace(verdict, refutation=Refutation(rows, (Fraction(1), Fraction(1)), found.codes[rows[::-1]]))
    return other if _fast(other, found).holds else verdict


def _plainly(verdict: Verdict, found: Table) -> Outcome:
    """Check with the page of plain integers."""
    try:
        lines = check_verdict(claim_of(verdict), list(found.rows(verdict.values)), found.codes.tolist())
    except (Fails, Malformed, ValueError, OverflowError, TypeError, AttributeError) as error:
        if isinstance(error, ValueError) and str(error).startswith("X contains"):
            raise
        return Outcome(False, str(error))
    return Outcome(True, "", tuple(lines))


# ---------------------------------------------------------------------------------------------------------------
# Data as they are given


def table_of(X: Any, y: Any, classes: tuple[Any, ...], *, spelled: bool = False) -> Table | None:
    """Return data exactly as they are given, or None if shapes or labels do not fit; refuse what is not finite.

    The classes must be exactly those of the labels. ``spelled``: labels may have another type, as the text ``"1"`` of
    a file has, if they are spelled the same.
    """
    X = unrounded(X)
    if sp.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.asarray(X)
        if X.dtype.kind not in "biuf" and not is_exact(X):
            X = X.astype(np.float64)
    labels = y if isinstance(y, list | tuple) and any(isinstance(label, tuple) for label in y) else np.ravel(y)
    codes = _codes(labels, classes, spelled)
    if X.ndim != 2 or X.shape[0] != len(labels) or codes is None:
        return None
    _finite(X)
    return Table(X, labels, codes, classes)


def data_of(X: Any, y: Any, classes: tuple[Any, ...], offset: bool) -> Data | None:
    """Return data that are stored in machine numbers, or None if shapes or labels do not fit."""
    found = table_of(X, y, classes)
    rows = None if found is None else found.stored()
    if found is None or rows is None:
        return None
    return Data(rows.rows, found.codes, found.X.shape[1], len(classes), offset)


def _codes(labels: Any, classes: tuple[Any, ...], spelled: bool) -> Array | None:
    """Return class numbers, None if a label is no class or a class has no label."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iufbU" and len(classes) < 64:
        alike = str if labels.dtype.kind == "U" else (int, float)
        if all(isinstance(label, alike) for label in classes):
            found = np.full(len(labels), -1, dtype=np.intp)
            for code, label in enumerate(classes):
                found[labels == label] = code
            counts = np.bincount(found + 1, minlength=len(classes) + 1)
            if len(classes) > 1 and counts[0] == 0 and counts[1:].all():
                return found
    labels = labels.tolist() if isinstance(labels, np.ndarray) else labels
    index = {label: code for code, label in enumerate(classes)}
    if spelled and not all(label in index for label in set(labels)):
        try:
            return np.array(linsep_check.class_numbers(labels, classes), dtype=np.intp)
        except (Fails, ValueError, TypeError, OverflowError):
            return None
    codes = np.array([index.get(label, -1) for label in labels], dtype=np.intp)
    present = set(codes.tolist())
    return codes if len(classes) > 1 and present == set(range(len(classes))) else None


def _finite(X: Any) -> None:
    """Refuse NaN and infinity, wherever they are."""
    values = X.data if sp.issparse(X) else X
    if values.dtype.kind != "f":
        return
    for start in range(0, len(values), 1 << 16):
        bad = ~np.isfinite(values[start : start + (1 << 16)])
        if bad.any():
            place = np.argwhere(bad)[0]
            i, j = start + int(place[0]), int(place[-1])
            if sp.issparse(X):
                i, j = int(np.searchsorted(X.indptr, i, side="right")) - 1, int(X.indices[i])
            raise ValueError(f"X contains NaN or infinity at row {i}, column {j}")
