"""What users hand over becomes rows, class numbers and weights; the only place that validates input.

Nothing here reads a large matrix from end to end: whether every value is finite shows when its row is looked at.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numba import njit
from sklearn.utils import check_array, column_or_1d, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from linsep.problem import Array, Dense, Examples, Floats, Rows, Sparse

_READ_AS_IS = ("?", "b", "h", "i", "l", "q", "B", "H", "I", "L", "Q", "f", "d")
_SMALLER = {np.dtype(np.float16): np.float32, np.dtype(np.longdouble): np.float64}


def matrix(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return ``X`` as a real 2-D array or CSR matrix, and have ``estimator`` note or check its features."""
    _even(X)
    X = validate_data(
        estimator, X, reset=reset, accept_sparse="csr", accept_large_sparse=True, dtype=None, ensure_all_finite=False
    )
    return _numeric(X, list(getattr(estimator, "feature_names_in_", [])))


def table(X: Any) -> Any:
    """Return ``X`` as a real 2-D array or CSR matrix, where no estimator is there to note its features."""
    _even(X)
    X = check_array(X, accept_sparse="csr", accept_large_sparse=True, dtype=None, ensure_all_finite=False)
    return _numeric(X, [])


def to_rows(X: Any) -> Rows:
    """Return a real array or CSR matrix as rows, without a copy wherever its storage allows."""
    if sp.issparse(X):
        unsigned = np.dtype(f"u{X.indices.dtype.itemsize}")
        rows = Sparse(_read_only(X.data), X.indices.view(unsigned), X.indptr.view(unsigned))
        if X.has_canonical_format or not _repeats(rows, np.full(X.shape[1], -1, np.int64)):
            return rows  # the order of the columns within a row does not matter
        X = X.copy()
        X.sum_duplicates()
        return to_rows(X)
    return Dense(_read_only(X))


@njit(cache=True, nogil=True)
def _repeats(rows: Sparse, last: Array) -> bool:
    """Say whether a sparse row names a column twice; ``last`` has room for every column and starts at -1."""
    for i in range(rows.indptr.size - 1):
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            if last[rows.indices[p]] == i:
                return True
            last[rows.indices[p]] = i
    return False


def _read_only(values: Array) -> Array:
    """Return a read-only view in a dtype that compiled code takes: one compiled version serves all callers."""
    if values.dtype == bool:
        values = values.view(np.uint8)
    elif values.dtype in _SMALLER:
        values = values.astype(_SMALLER[values.dtype])
    elif not (values.dtype.isnative and values.flags.aligned):
        values = np.require(values, values.dtype.newbyteorder("="), "A")
    view = values.view()
    view.flags.writeable = False
    return view


def _even(X: Any) -> None:
    """Refuse a list of rows that are not of one length."""
    if isinstance(X, list | tuple) and X and all(isinstance(row, list | tuple) for row in X):
        for i, row in enumerate(X):
            if len(row) != len(X[0]):
                raise ValueError(f"row {i} of X has {len(row)} values, row 0 has {len(X[0])}")


def _numeric(X: Any, names: list[str]) -> Any:
    """Return ``X`` unless some cell is not a real number; object cells that are numbers become float64."""
    if sp.issparse(X):
        X.data = _numeric(X.data, names)
        return X
    if X.dtype.char in _READ_AS_IS or X.dtype in _SMALLER:
        return X
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{X}\n")
    try:
        return X.astype(np.float64)
    except ValueError:
        for i, j in np.ndindex(X.shape):
            try:
                float(X[i, j])
            except ValueError:
                column = repr(names[j]) if names else j
                raise ValueError(
                    f"X has a cell that is not a number: {X[i, j : j + 1].tolist()[0]!r} at row {i}, column {column}"
                ) from None
        raise


def refuse(X: Any, W: Floats, names: Any = None) -> NoReturn:
    """Say what kept a score from being finite: a value of ``X``, or weights that have overflowed."""
    for start in range(0, X.shape[0], 4096):
        block = X[start : start + 4096]
        block = block.tocoo() if sp.issparse(block) else block
        values = block.data if sp.issparse(block) else block
        bad = np.argwhere(~np.isfinite(values)) if values.dtype.kind == "f" else np.empty((0, 2))
        if len(bad):
            place = bad[0] if values.ndim == 2 else (block.coords[0][bad[0, 0]], block.coords[1][bad[0, 0]])
            value = values[tuple(bad[0])]
            what = "NaN" if np.isnan(value) else "infinity"
            column = int(place[1]) if names is None else repr(str(names[place[1]]))
            raise ValueError(f"Input X contains {what} at row {start + int(place[0])}, column {column}")
    if np.isfinite(W).all():
        raise ValueError("a score overflowed to infinity: the values of X are too large for the weights; scale X down")
    raise ValueError("the weights overflowed to infinity: scale X down or choose a smaller eta0")


# ---------------------------------------------------------------------------------------------------------------
# Labels and weights


def labels(y: Any) -> Array:
    """Return ``y`` as a 1-D array of class labels of any hashable type."""
    kinds = {type(label) for label in y} if isinstance(y, list | tuple) else set()
    if tuple in kinds or (str in kinds and len(kinds) > 1):
        return objects(list(y))  # as they are: NumPy would make columns of tuples, and a string of 1 beside "one"
    column: Array = column_or_1d(y, warn=True)
    if column.dtype.kind == "f":
        check_array(column, ensure_2d=False, dtype=None, input_name="y")
        check_classification_targets(column)
    return column


def same_length(X: Any, y: Array) -> None:
    """Refuse rows and labels that do not go together."""
    if X.shape[0] != len(y):
        raise ValueError(f"X has {X.shape[0]} rows but y has {len(y)} labels: inconsistent numbers of samples")


def number(y: Array) -> tuple[Array, Array]:
    """Return the classes in ``y``, sorted where they have an order, and the class number of every label."""
    lowest, highest = (int(y.min()), int(y.max())) if y.dtype.kind in "iub" and len(y) else (0, 2**62)
    if highest - lowest < 4096 and highest < 2**62:
        places = np.subtract(y, lowest, dtype=np.int64)
        present = np.bincount(places) > 0  # ten times as fast as sorting
        classes = (np.flatnonzero(present) + lowest).astype(y.dtype)
        if len(classes) == 2:
            return classes, (y == classes[1]).astype(np.intp)
        return classes, (np.cumsum(present) - 1)[places]
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError:  # labels of several types have no order: first seen, first numbered
        index: dict[Any, int] = {}
        codes = np.array([index.setdefault(label, len(index)) for label in y])
        classes = objects(list(index))
    return classes, codes


def several(y: Array) -> tuple[Array, Array]:
    """Return the classes and class numbers that ``number`` finds; one class alone is an error."""
    classes, codes = number(y)
    if len(classes) < 2:
        raise one_class(classes)
    return classes, codes


def one_class(classes: Array) -> ValueError:
    """Return the error that there is one class only."""
    return ValueError(f"there is one class only, {classes.tolist()[0]!r}: nothing to separate")


def objects(items: list[Any]) -> Array:
    """Return a 1-D array of the items themselves, whatever they are."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def codes(y: Array, classes: Array) -> Array:
    """Return the number that each label has among ``classes``; a label that is not there is an error."""
    index = {label: code for code, label in enumerate(classes.tolist())}
    found, inverse = number(y)
    try:
        table = np.array([index[label] for label in found.tolist()], dtype=np.intp)
    except KeyError as unknown:
        raise ValueError(
            f"y has the label {unknown.args[0]!r}, which is not among the classes {_named(classes)}"
        ) from None
    return table[inverse]


def _named(classes: Array) -> str:
    """Return the first classes in words."""
    shown = ", ".join(map(repr, classes[:8].tolist()))
    return shown if len(classes) <= 8 else f"{shown} and {len(classes) - 8} more"


def check_class_weight(class_weight: Any, classes: Array) -> None:
    """Refuse weights by class where one is misspelt: a name that is no class, while some class has no weight."""
    if not isinstance(class_weight, dict):
        return
    known = set(classes.tolist())
    unknown = [label for label in class_weight if label not in known]
    if unknown and not known <= set(class_weight):
        raise ValueError(f"class_weight has the label {unknown[0]!r}, which is not among the classes {_named(classes)}")


def weights(X: Any, sample_weight: Any, class_weight: Any, classes: Array, y: Array) -> Floats:
    """Return the weight of every example: its own times that of its class."""
    weight: Floats = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if class_weight is not None:
        check_class_weight(class_weight, classes)
        weight = weight * compute_class_weight(class_weight, classes=classes, y=classes[y])[y]
    if not weight.any():
        raise ValueError("every example has weight 0: nothing to learn from")
    return weight


def examples(rows: Rows, codes: Array, machines: int, step: Floats) -> Examples:
    """Put rows, class numbers and steps together as the kernels want them: signs for one weight vector."""
    if machines == 1:
        signs = (codes == 1).astype(np.int8)
        signs += signs - np.int8(1)
        return Examples(rows, signs, step)
    return Examples(rows, codes.astype(np.intp), step)
