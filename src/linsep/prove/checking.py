"""Checks whether a proof holds for given data, with the fast or the plain check."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linsep.data.arrays import as_scipy, is_sparse
from linsep.data.cache import IN_MEMORY
from linsep.data.files import open_bytes
from linsep.data.parallel import together
from linsep.data.source import Source
from linsep.problem import Array, Floats
from linsep.prove.check import check_fewest, linsep_check
from linsep.prove.check.fast_check import holds
from linsep.prove.check.plain import check_verdict
from linsep.prove.check.plain_document import LARGEST, Fails, Malformed, class_numbers
from linsep.prove.check.plain_fewest import check_errors
from linsep.prove.check.plain_table import fingerprint
from linsep.prove.claims import OVERLAP, SEPARABLE, Data, Verdict
from linsep.prove.documents import claim_of, opened
from linsep.prove.exact.fingerprints import Fingerprint
from linsep.prove.exact.given_numbers import BINARY, DECIMAL, Held, held, is_exact, rational_rows, unrounded
from linsep.prove.verdicts.rationals import Rationals, holds_rationally
from linsep.prove.verdicts.shorter import shorter


class Outcome(NamedTuple):
    """Whether a proof holds, why not if it does not, and what was checked."""

    holds: bool
    why: str = ""
    checked: tuple[str, ...] = ()


OTHER_DATA = Outcome(
    False, "these are not the data it was written for: a value or label differs, or the order of the rows"
)


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
            name = fingerprint(list(self.rows(values)), self.labels)
            return {"n_rows": n, "n_features": d, "sha256": name}
        found = Fingerprint(d, self.classes)
        found.add(rows.rows, self.codes)
        return found.result()

    def stored(self) -> Held | None:
        """Return the numbers as they are stored, None if that is in Python's own."""
        return None if self.X.dtype == object else held(self.X, "binary", offset=True)


def verify(proof: Any, X: Any, y: Any = None, *, plain: bool = False) -> bool:
    """Return whether a proof holds for these data, in exact arithmetic.

    Parameters
    ----------
    proof : Verdict, Fewest, path or str
        A verdict, a result of ``fewest_errors``, the path of a proof file, or its text.
    X : array-like or sparse matrix of shape (n, d), or Source
    y : array-like of shape (n,)
        None for a source, which has its own. For a proof of separation whose response has several columns (its field
        ``response``), all of them.
    plain : bool, default=False
        Check with the short integer checker only: slower, but with nothing compiled and no library to trust.

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
        X, y = table_from(X, y, proof.values)
        return check_claim(proof, X, y, plain=plain).holds
    if hasattr(proof, "check"):
        X, y = table_from(X, y, getattr(proof, "values", BINARY))
        return bool(proof.check(X, y, plain=plain))
    text = text_of(proof)
    if '"separation' in text:
        from linsep.prove.regression.documents import check_separation_document, separation_opened

        if (content := separation_opened(text)) is not None:
            table, columns = design_of(X, y)
            return bool(check_separation_document(content, table, columns, plain=plain).holds)
    if isinstance(X, Source):
        X, y = table_from(X, y, opened(text)[1].get("values", BINARY))
    return check_document(text, X, y, plain=plain).holds


def text_of(proof: Any) -> str:
    """Return the text of a proof that is given as its text or its path."""
    if isinstance(proof, str) and proof.lstrip().startswith("{"):
        return proof
    with open_bytes(os.fspath(proof)) as file:
        content = file.read(LARGEST + 1)
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ValueError("this is not a valid proof: it is not text") from None


def check_claim(verdict: Verdict, X: Any, y: Any, *, plain: bool) -> Outcome:
    """Check a verdict that is not bound to a fingerprint."""
    verdict = verdict.among_kept()
    if type(verdict.fit_intercept) is not bool or verdict.kind not in linsep_check.KINDS:
        return Outcome(False, "this verdict has no proof")
    found = table_of(X, y, verdict.classes)
    if found is None or found.X.shape[1] != verdict.n_features:
        return Outcome(False, "the classes, the number of rows or the number of features differ")
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
    check = _fast if isinstance(verdict, Verdict) else _fewest
    name, outcome = together(lambda: found.fingerprint(verdict.values), lambda: check(verdict, found))
    if name["sha256"] != about["sha256"]:
        return OTHER_DATA
    return outcome._replace(checked=("the fingerprint is that of these data", *outcome.checked))


def _fast(verdict: Verdict, found: Table) -> Outcome:
    """Check with compiled code, on integers or, if 64 bits do not hold the numbers, next to them."""
    inside = _inside(verdict, found)
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
        some = len(np.unique(verdict.refutation.rows))
        told = "rows with positive multipliers add up to zero: no plane has them all strictly on their sides"
        lines.append(f"{some} {told}")
    if verdict.kind == OVERLAP:
        lines.append("they span all rows: a plane with no row on the wrong side has all rows on it")
    return Outcome(True, "", tuple(lines))


def _inside(verdict: Verdict, found: Table) -> Held | None:
    """Return the numbers in 64 bits; None if these do not hold them, or a copy of many rows can be avoided."""
    if verdict.kind == SEPARABLE and verdict.values == DECIMAL and _many(found.X):
        return None  # a plane is checked next to the doubles
    return held(found.X, verdict.values, offset=verdict.fit_intercept)


def _many(X: Any) -> bool:
    """Say whether there are too many numbers to copy them."""
    return X.dtype.kind == "f" and bool((X.data if is_sparse(X) else X).nbytes > IN_MEMORY)


def table_from(X: Any, y: Any, values: str) -> tuple[Any, Any]:
    """Return data as they are given, or all rows and labels of a source, the numbers as they are meant."""
    if not isinstance(X, Source):
        return X, y
    if y is not None:
        raise ValueError("a source has its own labels: do not pass y")
    from linsep.prove.exact.exact_text import exact_table  # which loads pyarrow

    return exact_table(X, values)


def check_errors_claim(fewest: Any, X: Any, y: Any, *, plain: bool) -> Outcome:
    """Check a result about the fewest errors that is not bound to a fingerprint."""
    fewest = fewest.among_kept()
    found = table_of(X, y, fewest.classes)
    if found is None or found.X.shape[1] != fewest.n_features:
        return Outcome(False, "the classes, the number of rows or the number of features differ")
    if not plain:
        return _fewest(fewest, found)
    return _plainly(fewest, found)


def _counted(fewest: Any, found: Table) -> Array:
    """Return how much every row counts."""
    return np.ones(len(found.codes), dtype=np.int64) if fewest.weights is None else np.asarray(fewest.weights)


def _fewest(fewest: Any, found: Table) -> Outcome:
    """Check the fewest errors of any plane with compiled code; plainly, if 64 bits do not hold the numbers."""
    inside, n = held(found.X, fewest.values, offset=fewest.fit_intercept), len(found.codes)
    if inside is None:
        return _plainly(fewest, found)
    data = Data(inside.rows, found.codes, fewest.n_features, len(fewest.classes), fewest.fit_intercept)
    if not check_fewest.holds(replace(fewest, plane=inside.inside(fewest.plane)), data, _counted(fewest, found)):
        return Outcome(False, "the proof does not prove these bounds for these data")
    lines = (
        f"{n} rows of {fewest.n_features} features in {len(fewest.classes)} classes",
        f"every row is strictly on its side of the plane given, but for {len(fewest.rows)}",
        f"{len(fewest.certificate.refutations)} refutations add up to zero; no case leaves fewer errors",
    )
    return Outcome(True, "", lines)


def shortened(verdict: Any, found: Table) -> Any:
    """Return a verdict, or a result about the fewest errors, with a shorter plane, if one holds."""
    stored = found.stored()
    if stored is None:
        return verdict
    if not isinstance(verdict, Verdict):
        return _shortened_errors(verdict, found, stored)
    return shorter(verdict, found.codes, partial(_heights, stored), lambda other: _fast(other, found).holds)


def _heights(stored: Held, w: Floats) -> Floats:
    """Return w·x of every row, as far as floats tell."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(as_scipy(stored.rows, stored.shape[1]) @ w, dtype=np.float64)


def _shortened_errors(fewest: Any, found: Table, stored: Held) -> Any:
    """Return a result about the fewest errors with a shorter plane that has the same rows wrong."""
    weights = _counted(fewest, found)
    right = weights > 0
    right[fewest.rows] = False
    if len(np.unique(found.codes[right])) < len(fewest.classes):
        return fewest
    inside = held(found.X, fewest.values, offset=fewest.fit_intercept)
    if inside is None:
        return fewest
    data = Data(inside.rows, found.codes, fewest.n_features, len(fewest.classes), fewest.fit_intercept)

    def same(other: Verdict) -> bool:
        assert other.separator is not None
        return check_fewest.upper_holds(inside.inside(other.separator), fewest.rows, fewest.upper, data, weights)

    of_others = Verdict(SEPARABLE, fewest.plane, None, fewest.classes, fewest.n_features, fewest.fit_intercept)
    short = shorter(of_others, found.codes[right], lambda w: _heights(stored, w)[right], same)
    return replace(fewest, plane=short.separator)


def _plainly(verdict: Any, found: Table) -> Outcome:
    """Check a verdict, or a result about the fewest errors, with the page of plain integers."""
    check = check_verdict if isinstance(verdict, Verdict) else check_errors
    try:
        lines = check(claim_of(verdict), list(found.rows(verdict.values)), found.codes.tolist())
    except (Fails, Malformed, ValueError, OverflowError, TypeError, AttributeError, IndexError) as error:
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
    if is_sparse(X):
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


def design_of(X: Any, y: Any) -> tuple[Any, list[list[Any]]]:
    """Return a design and the columns of its response, exactly as they are given."""
    X = unrounded(X)
    matrix: Any
    if is_sparse(X):
        import scipy.sparse as sp

        matrix = sp.csr_array(X)
    else:
        matrix = np.asarray(X)
    if not is_sparse(matrix) and matrix.dtype.kind not in "biuf":
        matrix = matrix.astype(object)
    y = np.asarray(y)
    return matrix, [y.tolist()] if y.ndim == 1 else [column.tolist() for column in y.T]


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
            return np.array(class_numbers(labels, classes), dtype=np.intp)
        except (Fails, ValueError, TypeError, OverflowError):
            return None
    codes = np.array([index.get(label, -1) for label in labels], dtype=np.intp)
    present = set(codes.tolist())
    return codes if len(classes) > 1 and present == set(range(len(classes))) else None


def _finite(X: Any) -> None:
    """Refuse NaN and infinity, wherever they are."""
    values = X.data if is_sparse(X) else X
    if values.dtype.kind != "f":
        return
    for start in range(0, len(values), 1 << 16):
        part = values[start : start + (1 << 16)]
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(part.sum()):  # twice as fast as a look at each
                continue
        bad = ~np.isfinite(part)
        if bad.any():
            place = np.argwhere(bad)[0]
            i, j = start + int(place[0]), int(place[-1])
            if is_sparse(X):
                i, j = int(np.searchsorted(X.indptr, i, side="right")) - 1, int(X.indices[i])
            raise ValueError(f"X contains NaN or infinity at row {i}, column {j}")
