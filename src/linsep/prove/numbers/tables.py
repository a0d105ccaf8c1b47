"""Tables with their labels, exactly as they are given, for checks and proofs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from linsep.data.arrays import is_sparse, refuse_not_finite, to_rows
from linsep.data.labels import at_least_two_classes, check_same_length, class_labels
from linsep.data.matrices import as_matrix, is_table, native
from linsep.data.source import Source
from linsep.problem import Array, Rows, Values
from linsep.prove.check.linsep_check import Fails, class_numbers, fingerprint, whole
from linsep.prove.numbers.cells import LongDecimals, canonical, nearest_doubles
from linsep.prove.numbers.decimals import in_doubles
from linsep.prove.numbers.fingerprints import Fingerprint
from linsep.prove.numbers.given import DECIMAL, all_finite, exact_rows, from_table, is_exact, unrounded


class LabeledTable(NamedTuple):
    """Data as they are given: an array or CSR matrix of exact numbers, labels, and their class numbers."""

    X: Any
    y: Any
    codes: Array
    classes: tuple[Any, ...]

    @property
    def labels(self) -> list[Any]:
        """The labels, as Python has them."""
        return list(self.y.tolist() if isinstance(self.y, np.ndarray) else self.y)

    def rows(self, values: Values) -> Iterator[tuple[list[int], int]]:
        """Yield the rows as integers, each with a denominator, as the plain check wants them."""
        return integer_rows(self.X, values)

    def fingerprint(self, values: Values) -> dict[str, Any]:
        """Return the fingerprint of the data."""
        return table_fingerprint(self.X, values, self.codes, self.classes, self.labels)

    def stored(self) -> Rows | None:
        """Return the numbers as they are stored, None if that is in Python's own."""
        return None if self.X.dtype == object else to_rows(self.X)


def integer_rows(X: Any, values: Values, names: Any = None) -> Iterator[tuple[list[int], int]]:
    """Yield rows as integers, each with a denominator; ``names`` are for errors."""
    return iter(X.rows()) if isinstance(X, LongDecimals) else map(whole, exact_rows(X, values, names))


def table_fingerprint(X: Any, values: Values, codes: Array, classes: tuple[Any, ...], labels: Any) -> dict[str, Any]:
    """Return the fingerprint of rows and labels, of which ``codes`` are the numbers among all different ones."""
    near = nearest_doubles(X)
    if X.dtype == object and not all_finite(near):  # numbers beyond the range of doubles
        n, d = X.shape
        return {"n_rows": n, "n_features": d, "sha256": fingerprint(integer_rows(X, values), labels)}
    hashed = Fingerprint(X.shape[1], classes)
    hashed.add(to_rows(in_doubles(near) if values == DECIMAL else near), codes)
    return hashed.result()


def rows_and_classes(X: Any, y: Any) -> tuple[Any, Array, Array]:
    """Return rows in numbers that nothing has rounded, the classes, at least two, and the class number of every row."""
    if not isinstance(X, LongDecimals):
        X = unrounded(X)
        X = X if is_exact(X) else as_matrix(X)
    y = class_labels(y)
    check_same_length(X, y)
    classes, codes = at_least_two_classes(y)
    return X, classes, codes.astype(np.intp, copy=False)


def table_from(X: Any, y: Any, values: Values) -> tuple[Any, Any]:
    """Return data as they are given, or all rows and labels of a source or table, the numbers as they are meant."""
    if not isinstance(X, Source):
        return (from_table(X, values).X if is_table(native(X)) else X), y
    if y is not None:
        raise ValueError("a source has its own labels: do not pass y")
    from linsep.prove.numbers.text import exact_table  # which loads pyarrow

    return exact_table(X, values, lazily=True)


def table_of(X: Any, y: Any, classes: tuple[Any, ...], *, spelled: bool = False) -> LabeledTable | None:
    """Return data exactly as they are given, or None if shapes or labels do not fit; refuse what is not finite.

    The classes must be exactly those of the labels. ``spelled``: labels may have another type, as the text ``"1"`` of
    a file has, if they are spelled the same.
    """
    X = X.settled() if isinstance(X, LongDecimals) else unrounded(X)
    if is_sparse(X):
        X = canonical(X.tocsr())
    elif not isinstance(X, LongDecimals):
        X = np.asarray(X)
        if X.dtype.kind not in "biuf" and not is_exact(X):
            X = X.astype(np.float64)
    labels = y if isinstance(y, list | tuple) and any(isinstance(label, tuple) for label in y) else np.ravel(y)
    codes = _codes(labels, classes, spelled)
    if X.ndim != 2 or X.shape[0] != len(labels) or codes is None:
        return None
    if X.dtype.kind == "f" and not all_finite(X.data if is_sparse(X) else X):
        refuse_not_finite(X, np.zeros(0))
    return LabeledTable(X, labels, codes, classes)


def design_of(X: Any, y: Any, values: Values) -> tuple[Any, list[list[Any]]]:
    """Return a design and the columns of its response, exactly as they are given."""
    X = unrounded(table_from(X, y, values)[0])
    matrix: Any
    if is_sparse(X):
        import scipy.sparse as sp

        matrix = sp.csr_array(X)
    else:
        matrix = np.asarray(X)
    if not is_sparse(matrix) and matrix.dtype.kind not in "biuf":
        matrix = matrix.astype(object)
    y = np.array(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)  # numbers beside words stay numbers
    return matrix, [y.tolist()] if y.ndim == 1 else [column.tolist() for column in y.T]


def _codes(labels: Any, classes: tuple[Any, ...], spelled: bool) -> Array | None:
    """Return class numbers, None if a label is no class or a class has no label."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iufbU" and len(classes) < 64:
        alike = str if labels.dtype.kind == "U" else (int, float)
        if all(isinstance(label, alike) for label in classes):
            numbers = np.full(len(labels), -1, dtype=np.intp)
            for code, label in enumerate(classes):
                numbers[labels == label] = code
            counts = np.bincount(numbers + 1, minlength=len(classes) + 1)
            if len(classes) > 1 and counts[0] == 0 and counts[1:].all():
                return numbers
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
