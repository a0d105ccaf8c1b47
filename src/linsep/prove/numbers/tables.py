"""What users pass as rows and labels, with nothing rounded: arrays, frames, records, sources; and their classes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from linsep.clock import Clock
from linsep.data.arrays import check_cells, is_sparse, refuse_not_finite, to_rows
from linsep.data.labels import at_least_two_classes, check_same_length, class_labels
from linsep.data.matrices import as_matrix, is_table, named_matrix, native, table_source
from linsep.data.schema import DATE
from linsep.data.source import Source
from linsep.errors import DataError
from linsep.problem import Array, Rows, Values
from linsep.prove.check.linsep_check import Fails, class_numbers, fingerprint, whole
from linsep.prove.numbers.cells import LongDecimals, canonical, nearest_doubles
from linsep.prove.numbers.decimals import in_doubles
from linsep.prove.numbers.exact_numbers import BINARY, DECIMAL, all_finite, exact_rows, is_exact, is_float, number
from linsep.prove.numbers.fingerprints import Fingerprint

_WHOLE = 2**53  # floats hold integers up to here


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


def unrounded(X: Any) -> Any:
    """Return ``X`` itself, or an array of Python numbers where NumPy would round some; refuse what is no number."""
    X = native(X)
    if is_table(X):
        return exact_input(X, DECIMAL).X
    if isinstance(X, np.ma.MaskedArray):
        raise ValueError("X is a masked array: fill its gaps first, as X.filled(0) does")
    if is_sparse(X):
        _refuse(X.dtype)
        if X.dtype == np.longdouble and (X.astype(np.float64).astype(np.longdouble) != X).nnz:
            raise ValueError("X has long doubles that double precision would round: pass them as an array of Fraction")
        return X
    if hasattr(X, "columns") and any(hasattr(X, name) for name in ("iloc", "to_series", "column_names")):
        return _from_frame(X)
    try:
        A = np.asarray(X)
    except (ValueError, OverflowError):
        return X  # ragged: whoever validates says where
    _refuse(A.dtype)
    if A.ndim != 2:
        return X
    if A.dtype == object or A.dtype == np.longdouble or A.dtype.kind in "US":
        return _objects(A, X)
    if isinstance(X, list | tuple) and A.dtype.kind == "f":  # integers beside floats are rounded by now
        for i, j in np.argwhere(np.abs(A) >= _WHOLE).tolist():
            if X[i][j] != float(A[i, j]):  # Python compares them exactly
                return _objects(np.array([[*row] for row in X], dtype=object), X)
    return X


def refuse_rounding(X: Any) -> None:
    """Refuse numbers that double precision would round: what is proved of the rounded ones is not about these.

    Whole numbers of 64 bits are taken as they are, unless a column of fractions stands beside them, and moments as the
    doubles nearest to their days.
    """
    check_cells(X)
    X, moments = native(X), set[int]()
    if is_table(X):
        from linsep.prove.numbers.text import exact_features  # which loads pyarrow

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever learns from the table will say how it is read
            source = table_source(X)
            names, features = source.names, source.to_arrays()[0]
        kinds, known = dict(source.layout.columns), exact_columns(X)
        moments = {j for j, name in enumerate(source.layout.numbers) if kinds[name].startswith(DATE)}
        tables = [exact_features(source, features, values, Clock(), known) for values in (BINARY, DECIMAL)]
        rounded = [exact for exact in tables if exact is not features]
    else:
        exact, names = unrounded(X), None
        rounded = [exact] if exact is not X and is_exact(exact) else []
    for exact in rounded:
        for (i, j), cell in np.ndenumerate(exact):
            if j not in moments and not is_float(cell):
                text = str(cell) if len(str(cell)) < 60 else f"{str(cell)[:60]}…"
                advice = "does not fit into double precision: round it, or use linsep.separate, which takes it as it is"
                raise DataError(f"X, row {i}, column {j if names is None else repr(names[j])}", f"{text} {advice}")


class ExactInput(NamedTuple):
    """What users pass as ``X``, with the names of its columns, and how its floats are meant."""

    X: Any
    names: list[str] | None
    values: Values


def exact_input(X: Any, values: Values | None) -> ExactInput:
    """Return ``X``; a table becomes features, exact numbers where doubles would round.

    If ``values`` does not say how floats are meant, then as decimals where a column of numbers is one of texts.
    """
    X = native(X)
    if not is_table(X):
        return ExactInput(*named_matrix(X), values or BINARY)
    from linsep.prove.numbers.text import default_values, exact_features  # which load pyarrow

    source = table_source(X)
    features, values = source.to_arrays()[0], values or default_values(source)
    exact = exact_features(source, features, values, Clock(), exact_columns(X))
    return ExactInput(exact if exact is features else _objects(exact, features), source.names, values)


def exact_columns(X: Any) -> dict[str, Array]:
    """Return the columns of records, or of a frame of pandas, whose exact numbers of Python no type of Arrow holds."""
    if isinstance(X, list | tuple | Mapping):
        records = [X] if isinstance(X, Mapping) else X
        names = dict.fromkeys(key for record in records for key in record)
        columns = {str(name): [record.get(name) for record in records] for name in names}
    else:
        kept = [j for j in range(X.shape[1]) if X.iloc[:, j].dtype == object] if hasattr(X, "iloc") else []
        columns = {str(X.columns[j]): X.iloc[:, j].tolist() for j in kept}
    return {
        name: np.array([*cells, None], dtype=object)[:-1]
        for name, cells in columns.items()
        if all(isinstance(cell, Decimal | Fraction | int | float) and cell == cell for cell in cells)
        and not all(map(is_float, cells))
    }


def _refuse(kind: np.dtype[Any]) -> None:
    if kind.kind == "c":
        raise ValueError("Complex data not supported: X must be real numbers")
    if kind.kind in "mM":
        raise ValueError("X has dates or times: turn them into numbers first, such as days")


def _from_frame(X: Any) -> Any:
    """Return a frame itself, or its numbers where one type for all columns would round some."""
    nth = X.to_series if hasattr(X, "to_series") else X.column if hasattr(X, "column_names") else None
    columns = [np.asarray(X.iloc[:, j] if nth is None else nth(j)) for j in range(X.shape[1])]
    for column in columns:
        _refuse(column.dtype)
    if not columns or not any(column.dtype.kind == "O" for column in columns):
        common = np.result_type(*columns) if columns else np.dtype(float)
        large = (column for column in columns if column.dtype.kind in "iu" and column.dtype.itemsize == 8)
        if common.kind != "f" or not any(len(c) and max(abs(int(c.min())), abs(int(c.max()))) > _WHOLE for c in large):
            return X
    A = np.empty(X.shape, dtype=object)
    for j, column in enumerate(columns):
        A[:, j] = column.tolist()
    return _objects(A, X)


def _objects(A: Array, X: Any) -> Any:
    """Return Python numbers, unless doubles hold all of them or some cell is no number: then ``X`` itself."""
    exact = np.empty(A.shape, dtype=object)
    try:
        cells = zip(np.ndindex(A.shape), A.ravel().tolist() if A.dtype != np.longdouble else A.ravel(), strict=True)
        for place, cell in cells:
            exact[place] = number(cell)
    except (ValueError, TypeError, OverflowError):
        return X
    return X if all(is_float(value) for value in exact.ravel().tolist()) else exact


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
        return (exact_input(X, values).X if is_table(native(X)) else X), y
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
