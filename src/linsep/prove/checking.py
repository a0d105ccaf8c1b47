"""Checks whether a proof holds for given data, with the fast or the plain check, and writes proofs of given data."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from linsep.data.arrays import as_scipy, is_sparse
from linsep.data.cache import IN_MEMORY
from linsep.data.files import open_bytes
from linsep.data.parallel import together
from linsep.problem import Floats, Rows
from linsep.prove.check import check_fewest, linsep_check
from linsep.prove.check.fast_check import holds
from linsep.prove.check.linsep_check import KINDS, LARGEST, Fails, Malformed, form
from linsep.prove.claims import OTHER_DATA, OVERLAP, SEPARABLE, CheckResult, Claim, Data
from linsep.prove.documents import claim_of, opened, written
from linsep.prove.fewest.certificates import ErrorsClaim, row_counts
from linsep.prove.numbers.cells import Cells, ExactRows, LongDecimals, cells
from linsep.prove.numbers.exact_numbers import BINARY, DECIMAL
from linsep.prove.numbers.tables import LabeledTable, design_of, table_from, table_of
from linsep.prove.verdict.rationals import holds_rationally
from linsep.prove.verdict.shorter import shorter


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
    if isinstance(proof, Claim | ErrorsClaim):
        X, y = table_from(X, y, proof.values)
        return check_claim(proof, X, y, plain=plain).holds
    if hasattr(proof, "check"):
        X, y = table_from(X, y, getattr(proof, "values", BINARY))
        return bool(proof.check(X, y, plain=plain))
    verdict, content = opened(text_of(proof))
    if verdict is None:
        from linsep.prove.regression.documents import check_separation_document

        return check_separation_document(content, *design_of(X, y, content["values"]), plain=plain).holds
    X, y = table_from(X, y, verdict.values)
    return check_document(verdict, content, X, y, plain=plain).holds


def to_json(verdict: Any, X: Any, y: Any, *, note: str | None = None, short: bool = True) -> str:
    """Return a verdict with its proof as a JSON document about these data.

    Parameters
    ----------
    verdict : Verdict or Fewest
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
    note : str, optional
        Your own remark, kept in the document.
    short : bool, default=True
        Round the weights of a plane to as few digits as still prove the verdict.

    Returns
    -------
    text : str

    Examples
    --------
    >>> import json, linsep
    >>> X, y = [[0.0], [1.0], [1.0]], ["no", "no", "yes"]
    >>> text = linsep.to_json(linsep.separate(X, y), X, y)
    >>> json.loads(text)["kind"], json.loads(text)["refutation"]["multipliers"]
    ('quasi', ['1', '1'])
    """
    if hasattr(verdict, "to_json"):  # a separation, which has its data
        if not verdict.check(X, y):
            raise ValueError("these are not the data that the result is about")
        return str(verdict.to_json(note=note))
    verdict, about = about_data(verdict, X, y, short=short)
    return written(verdict, about, note=note)


def about_data(verdict: Any, X: Any, y: Any, *, short: bool = True) -> tuple[Any, dict[str, Any]]:
    """Return a verdict, perhaps with a shorter proof, and the fingerprint of the data that it is about."""
    verdict = verdict.among_kept()
    table = table_of(*table_from(X, y, verdict.values), verdict.classes)
    if table is None or table.X.shape[1] != verdict.n_features:
        raise ValueError("these are not the data of the verdict: the labels or the number of features differ")
    for label in verdict.classes:
        if not (isinstance(label, str | bool | int) or (isinstance(label, float) and math.isfinite(label))):
            raise ValueError(f"a proof file can hold labels that are text or numbers, not {label!r}")
    return shortened(verdict, table) if short else verdict, table.fingerprint(verdict.values)


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


def check_claim(claim: Any, X: Any, y: Any, *, plain: bool) -> CheckResult:
    """Check a verdict, or a result about the fewest errors, that is not bound to a fingerprint."""
    claim = claim.among_kept()
    if type(claim.fit_intercept) is not bool or claim.kind not in KINDS:
        return CheckResult(False, "this verdict has no proof")
    table = table_of(X, y, claim.classes)
    if table is None or table.X.shape[1] != claim.n_features:
        return CheckResult(False, "the classes, the number of rows or the number of features differ")
    return _plainly(claim, table) if plain else _fast(claim, table)


def check_document(verdict: Any, content: dict[str, Any], X: Any, y: Any, *, plain: bool) -> CheckResult:
    """Check the verdict and the content of a document, by its fingerprint and its claim."""
    about = content["data"]
    table = table_of(X, y, verdict.classes, spelled=True)
    if table is None:
        return CheckResult(False, "the labels are not those of its classes, or there are not as many as rows")
    if plain:
        try:
            lines = linsep_check.check(content, list(table.rows(verdict.values)), table.labels)
        except (Fails, Malformed) as error:
            return CheckResult(False, str(error))
        return CheckResult(True, "", tuple(lines))
    n, d = table.X.shape
    if (n, d) != (about["n_rows"], about["n_features"]):
        return CheckResult(False, f"it was written for {about['n_rows']} rows of {about['n_features']} features")
    name, outcome = together(lambda: table.fingerprint(verdict.values), lambda: _fast(verdict, table))
    if name["sha256"] != about["sha256"]:
        return OTHER_DATA
    return outcome._replace(checked=("the fingerprint is that of these data", *outcome.checked))


def _fast(claim: Any, table: LabeledTable) -> CheckResult:
    """Check with compiled code, on integers or, if 64 bits do not hold the numbers, next to them."""
    inside, n, classes = _inside(claim, table), len(table.codes), len(claim.classes)
    lines = [f"{n} rows of {claim.n_features} features in {classes} classes"]
    if not isinstance(claim, Claim):
        if inside is None:
            return _plainly(claim, table)
        data = _data(inside, table, claim)
        if not check_fewest.holds(replace(claim, plane=inside.inside(claim.plane)), data, row_counts(claim.weights, n)):
            return CheckResult(False, "the proof does not prove these bounds for these data")
        lines.append(f"every row is strictly on its side of the plane given, but for {len(claim.rows)}")
        count = linsep_check.many(len(claim.certificate.refutations), "refutation")
        return CheckResult(True, "", (*lines, f"{count} of sum zero; no case leaves fewer errors"))
    plane = claim.separator
    try:
        if inside is None:
            right = holds_rationally(claim, ExactRows(table.X, claim.values), table.codes)
        else:
            carried = plane if plane is None else inside.inside(plane)
            right = holds(replace(claim, separator=carried), _data(inside, table, claim), certain=True)
    except (OverflowError, TypeError, AttributeError):
        return CheckResult(False, "the plane is not one of finite numbers")
    if not right:
        return CheckResult(False, "the proof does not prove this verdict for these data")
    if plane is not None:
        weakly = "no row is on the wrong side, and not all on the plane"
        lines.append("every row is strictly on its side" if claim.kind == SEPARABLE else weakly)
    if claim.refutation is not None:
        some = len(np.unique(claim.refutation.rows))
        what = "rows with positive multipliers add up to zero: no plane has them all strictly on their sides"
        lines.append(f"{some} {what}")
    if claim.kind == OVERLAP:
        lines.append("they span all rows: a plane with no row on the wrong side has all rows on it")
    return CheckResult(True, "", tuple(lines))


def _inside(claim: Any, table: LabeledTable) -> Cells | None:
    """Return the numbers in 64 bits; None if these do not hold them, or a copy of many rows can be avoided."""
    X = table.X
    if isinstance(claim, Claim):
        if isinstance(X, LongDecimals):
            return None
        many = X.dtype.kind == "f" and (X.data if is_sparse(X) else X).nbytes > IN_MEMORY
        if many and claim.kind == SEPARABLE and claim.values == DECIMAL:
            return None  # a plane is checked next to the doubles
    return cells(X, claim.values, offset=claim.fit_intercept)


def _data(inside: Cells, table: LabeledTable, claim: Any) -> Data:
    return Data(inside.rows, table.codes, claim.n_features, len(claim.classes), claim.fit_intercept)


def shortened(verdict: Any, table: LabeledTable) -> Any:
    """Return a verdict, or a result about the fewest errors, with a shorter plane, if one holds."""
    stored = table.stored()
    if stored is None:
        return verdict
    if not isinstance(verdict, Claim):
        return _shortened_errors(verdict, table, stored)
    return shorter(verdict, table.codes, partial(_scores, stored), lambda other: _fast(other, table).holds)


def _scores(stored: Rows, w: Floats) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(as_scipy(stored, len(w)) @ w, dtype=np.float64)


def _shortened_errors(fewest: Any, table: LabeledTable, stored: Rows) -> Any:
    """Return a result about the fewest errors with a shorter plane that has the same rows wrong."""
    weights = row_counts(fewest.weights, len(table.codes))
    right = weights > 0
    right[fewest.rows] = False
    if len(np.unique(table.codes[right])) < len(fewest.classes):
        return fewest
    inside = cells(table.X, fewest.values, offset=fewest.fit_intercept)
    if inside is None:
        return fewest
    data = _data(inside, table, fewest)

    def same(other: Claim) -> bool:
        assert other.separator is not None
        return check_fewest.upper_holds(inside.inside(other.separator), fewest.rows, fewest.upper, data, weights)

    of_others = Claim(SEPARABLE, fewest.plane, None, fewest.classes, fewest.n_features, fewest.fit_intercept)
    short = shorter(of_others, table.codes[right], lambda w: _scores(stored, w)[right], same)
    return replace(fewest, plane=short.separator)


def _plainly(verdict: Any, table: LabeledTable) -> CheckResult:
    """Check a verdict, or a result about the fewest errors, with the page of plain integers."""
    try:
        claim, (fields, form_of_kind, check) = claim_of(verdict), KINDS[verdict.kind]
        form({name: claim[name] for name in fields}, fields)
        form_of_kind(claim)
        lines = check(claim, list(table.rows(verdict.values)), table.codes.tolist())
    except (Fails, ValueError, OverflowError, TypeError, AttributeError, IndexError) as error:
        return CheckResult(False, str(error))
    return CheckResult(True, "", tuple(lines))
